#include "gyrod/integrate/driver.hpp"

namespace gyrod {
namespace {
// A zero between a and b by bracketed secants with bisection (Illinois), to rounding.
template <class F> double root(F&& f, double a, double fa, double b, double fb) {
  if (fb == 0.0) return b;
  const double tolerance = 4.0 * 2.2e-16 * std::max(std::abs(a), std::abs(b));
  int side = 0;
  for (int k = 0; k < 200 && b - a > tolerance; ++k) {
    double m = (fa * b - fb * a) / (fa - fb);
    if (!(m > a && m < b) || k % 4 == 3) m = 0.5 * (a + b);
    const double fm = f(m);
    if (fm == 0.0) return m;
    if ((fm < 0.0) == (fb < 0.0)) {
      b = m, fb = fm;
      if (side == -1) fa *= 0.5;
      side = -1;
    } else {
      a = m, fa = fm;
      if (side == 1) fb *= 0.5;
      side = 1;
    }
  }
  return b;
}
} // namespace

Driver::Driver(Equations& equations, Integrator& integrator, const RunOptions& options)
    : equations_(equations), integrator_(integrator), options_(options), n_(equations.size()), work_(n_),
      rows_(integrator.dense_rows() * n_), before_(options.events.size()), start_(n_) {
  if (options.watch) {
    for (std::vector<double>* v : {&seen_, &last_, &speed_}) v->resize(options.watch->quantities());
    before_.resize(before_.size() + options.watch->edges().size());
  }
  after_.resize(before_.size());
  for (const EventFunction& e : options.events) acts_ = acts_ || e.action;
  for (std::vector<double>& y : past_) y.resize(options.keep_knots ? n_ : 0);
}

Run Driver::run(double t0, const double* y0, double t_end) {
  begin(t0, y0, t_end);
  advance();
  return take();
}

void Driver::begin(double t0, const double* y0, double t_end) {
  t_end_ = t_end;
  // Seen from the whole run: some methods choose steps that their dense output can follow.
  const bool inside =
      std::any_of(options_.output.begin(), options_.output.end(), [&](double t) { return t > t0 && t < t_end; });
  integrator_.want_dense = options_.keep_dense || inside || !options_.events.empty() || options_.watch;
  open(t0);
  guarded([&] {
    std::copy_n(y0, n_, start_.begin());
    equations_.accepted(t0, start_.data());
    integrator_.look_ahead(equations_.horizon());
    const double* y = start_.data();
    if (options_.output.empty() || options_.output.front() <= t0) emit(t0, y);
    integrator_.begin(t0, y, t_end);
    knot_ = past_t_[0] = -std::numeric_limits<double>::infinity(); // no such state yet
    past_t_[1] = t0, std::copy_n(y, past_[1].size(), past_[1].begin());
    planned_ = integrator_.step_size();
    for (std::size_t e = 0; e < options_.events.size(); ++e) before_[e] = options_.events[e].g(t0, y);
    if (options_.watch) options_.watch->values(t0, y, last_.data());
    std::fill(speed_.begin(), speed_.end(), unknown);
  });
}

void Driver::advance(long steps, double pause) {
  guarded([&] {
    while (result_.status == Status::finished && integrator_.t() < t_end_ && integrator_.t() < pause && steps-- > 0)
      step();
  });
}

Run Driver::take() {
  if (result_.status == Status::finished && integrator_.t() < t_end_) stop(Status::paused);
  result_.stats = integrator_.stats();
  result_.t_stop = result_.step_ends.back();
  result_.h_stop = integrator_.step_size();
  result_.y_stop.assign(integrator_.y(), integrator_.y() + n_);
  Run done = std::move(result_);
  open(integrator_.t());
  return done;
}

void Driver::go_on(double t_end) {
  t_end_ = t_end;
  guarded([&] {
    integrator_.go_on(t_end, std::max(planned_, integrator_.step_size()));
    for (std::size_t e = 0; e < options_.events.size(); ++e)
      before_[e] = options_.events[e].g(integrator_.t(), integrator_.y());
  });
}

void Driver::exchange(Archive& a) {
  integrator_.exchange(a);
  a(planned_, next_, before_, last_, speed_, past_[0], past_[1], past_t_, knot_, follows_);
  a(acting_, acts_at_, paced_, acted_at_, acted_, last_acted_, rate_);
  a.finish();
  if (!a.reading()) return;
  if (acting_ != nobody) integrator_.aim(acts_at_);
  equations_.accepted(integrator_.t(), integrator_.y()); // as it was: for the horizon
  integrator_.look_ahead(equations_.horizon());
  open(integrator_.t());
}

void Driver::open(double t) {
  result_ = Run();
  result_.trajectory.n = n_;
  result_.trajectory.rows_per_step = integrator_.dense_rows();
  result_.trajectory.evaluator = integrator_.evaluator();
  result_.trajectory.t.push_back(t);
  result_.step_ends.push_back(t);
}

void Driver::step() {
  const long rejected = integrator_.stats().rejected;
  const double proposed = integrator_.step_size();
  if (integrator_.stats().steps >= options_.max_steps) return stop(Status::too_many_steps);
  if (result_.y.size() * sizeof(double) > options_.row_bytes) return stop(Status::too_many_rows);
  if (options_.tick && integrator_.stats().steps % options_.tick_every == 0 &&
      !options_.tick(integrator_.t(), integrator_.step_size()))
    return stop(Status::interrupted);
  const double start = integrator_.t();
  std::copy_n(integrator_.y(), n_, start_.begin());
  if (!integrator_.advance()) return stop(Status::underflow);
  const double t = integrator_.t();
  for (std::size_t i = 0; i < n_; ++i)
    if (!std::isfinite(integrator_.y()[i])) return stop(Status::not_finite);
  if (const char* reason = equations_.trouble(t, integrator_.y())) {
    result_.reason = reason; // before `trouble` is asked again: its words hold until then
    // A step may jump over what a shorter one would stop before, or go past.
    const double h = 0.5 * (t - start);
    if (h > smallest_retry * std::max(std::abs(t), t_end_ - start) && !equations_.trouble(start, start_.data()) &&
        integrator_.retry(start, start_.data(), h)) {
      result_.reason.clear();
      return;
    }
    return stop(Status::refused);
  }
  if (passed_ < most_passed && equations_.overshoot(t, integrator_.y()) < 0.0) {
    integrator_.dense(rows_.data());
    const auto ahead = [&](double time) { return equations_.overshoot(time, inside(time)); };
    const double before = equations_.overshoot(start, start_.data()), after = ahead(t);
    const double until = before > 0.0 && after < 0.0 ? root(ahead, start, before, t, after) : t;
    if (until < t && integrator_.retry(start, start_.data(), until - start)) {
      ++passed_;
      return;
    }
  }
  passed_ = 0;
  if (acts_ && acting_ == nobody && aims_at_action()) return;
  const bool near = options_.watch && near_edge(), kept = options_.keep_dense && !result_.dense_given_up;
  if (kept || near || !options_.events.empty() || output_inside()) integrator_.dense(rows_.data());
  if (kept) keep_dense(t);
  if (options_.project && equations_.project(t, integrator_.y())) integrator_.changed();
  if (integrator_.settle() && options_.project) equations_.project(t, integrator_.y());
  const bool jumped = equations_.accepted(t, integrator_.y());
  integrator_.look_ahead(equations_.horizon());
  if (jumped) integrator_.go_on(t_end_, integrator_.step_size());
  // A step cut short by the end of the interval says nothing against the one that was planned.
  planned_ = t == t_end_ && integrator_.stats().rejected == rejected ? proposed : integrator_.step_size();
  double until = t;
  const std::size_t outputs = next_, crossings = result_.crossings.size();
  if (near || !options_.events.empty()) until = locate_events(near);
  if (acting_ != nobody && t == acts_at_ && result_.status == Status::finished) act();
  emit_until(until);
  if (options_.keep_knots) keep_knots(next_ > outputs || result_.crossings.size() > crossings);
  result_.step_ends.push_back(until);
}

void Driver::keep_knots(bool inside) {
  const auto keep = [&](double t, const double* y) {
    if (t <= knot_) return;
    result_.knots_t.push_back(knot_ = t);
    result_.knots_y.insert(result_.knots_y.end(), y, y + n_);
  };
  if (inside)
    for (int k = 0; k < 2; ++k) keep(past_t_[k], past_[k].data());
  if (inside || follows_) keep(integrator_.t(), integrator_.y());
  follows_ = inside;
  std::swap(past_[0], past_[1]), past_t_[0] = past_t_[1];
  std::copy_n(integrator_.y(), n_, past_[1].begin()), past_t_[1] = integrator_.t();
}

void Driver::keep_dense(double t) {
  std::vector<double>& rows = result_.trajectory.rows;
  if ((rows.size() + rows_.size()) * sizeof(double) > options_.dense_bytes) {
    rows = std::vector<double>(); // its memory goes back
    result_.trajectory.t.resize(1);
    result_.dense_given_up = true;
    return;
  }
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  result_.trajectory.t.push_back(t);
}

void Driver::emit(double t, const double* y) {
  result_.t.push_back(t);
  result_.y.insert(result_.y.end(), y, y + n_);
}

const double* Driver::inside(double t) {
  const double h = integrator_.t() - integrator_.t_old();
  integrator_.evaluator()(rows_.data(), n_, (t - integrator_.t_old()) / h, h, work_.data());
  if (options_.project) equations_.project(t, work_.data());
  return work_.data();
}

void Driver::emit_until(double t) {
  if (options_.output.empty()) {
    if (t == integrator_.t())
      emit(t, integrator_.y());
    else
      emit(t, inside(t));
    return;
  }
  while (next_ < options_.output.size() && options_.output[next_] <= t) {
    const double time = options_.output[next_];
    if (time > integrator_.t_old()) emit(time, time == integrator_.t() ? integrator_.y() : inside(time));
    ++next_;
  }
}

bool Driver::output_inside() const {
  const auto& times = options_.output;
  std::size_t i = next_;
  while (i < times.size() && times[i] <= integrator_.t_old()) ++i;
  return i < times.size() && times[i] < integrator_.t();
}

bool Driver::near_edge() {
  const double h = integrator_.t() - integrator_.t_old();
  options_.watch->values(integrator_.t(), integrator_.y(), seen_.data());
  bool near = false;
  for (std::size_t k = 0; k < seen_.size(); ++k) {
    near = near || speed_[k] == unknown;
    speed_[k] = std::max(std::abs(seen_[k] - last_[k]) / h, 0.7 * speed_[k]);
  }
  for (const Watch::Edge& edge : options_.watch->edges()) {
    const std::size_t k = edge.quantity;
    const double furthest = std::max(edge.direction * seen_[k], edge.direction * last_[k]);
    near = near || !(furthest + 2.0 * h * speed_[k] < edge.direction * edge.value);
  }
  if (near) return true;
  std::swap(last_, seen_);
  return false;
}

double Driver::event_value(std::size_t e, double t, const double* y, bool fresh) {
  const std::size_t own = options_.events.size();
  if (e < own) return options_.events[e].g(t, y);
  if (fresh) options_.watch->values(t, y, seen_.data());
  const Watch::Edge& edge = options_.watch->edges()[e - own];
  return seen_[edge.quantity] - edge.value;
}

int Driver::direction(std::size_t e) const {
  const std::size_t own = options_.events.size();
  return e < own ? options_.events[e].direction : options_.watch->edges()[e - own].direction;
}

double Driver::locate_events(bool near) {
  const double t0 = integrator_.t_old(), t1 = integrator_.t();
  const int parts = std::max(4, int(integrator_.dense_rows()));
  const std::size_t own = options_.events.size(), all = own + (near ? options_.watch->edges().size() : 0);
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t e = own; e < all; ++e) {
    const Watch::Edge& edge = options_.watch->edges()[e - own];
    before_[e] = last_[edge.quantity] - edge.value;
  }
  for (int part = 1; part <= parts; ++part) {
    const double a = t0 + (t1 - t0) * (part - 1) / parts, b = part == parts ? t1 : t0 + (t1 - t0) * part / parts;
    const double* y = part == parts ? integrator_.y() : inside(b);
    for (std::size_t e = 0; e < all; ++e) after_[e] = event_value(e, b, y, e == own);
    if (near && part == parts) std::copy(seen_.begin(), seen_.end(), last_.begin());
    for (std::size_t e = 0; e < all; ++e) {
      if (e == acting_) continue; // it is recorded when it acts
      const double ga = before_[e], gb = after_[e];
      const bool rising = ga < 0.0 && gb >= 0.0, falling = ga > 0.0 && gb <= 0.0;
      if ((rising && direction(e) >= 0) || (falling && direction(e) <= 0))
        found.emplace_back(root([&](double m) { return event_value(e, m, inside(m), true); }, a, ga, b, gb), e);
    }
    std::swap(before_, after_);
  }
  std::sort(found.begin(), found.end());
  for (const auto& [time, e] : found) {
    const double* y = time == t1 ? integrator_.y() : inside(time);
    result_.crossings.push_back({e, time, std::vector<double>(y, y + n_)});
    if (terminal(e)) {
      stop(Status::event);
      return time;
    }
  }
  return t1;
}

bool Driver::aims_at_action() {
  const double t0 = integrator_.t_old(), t1 = integrator_.t();
  integrator_.dense(rows_.data());
  double first = std::numeric_limits<double>::infinity();
  std::size_t which = nobody;
  const int parts = std::max(4, int(integrator_.dense_rows()));
  for (std::size_t e = 0; e < options_.events.size(); ++e) {
    const EventFunction& event = options_.events[e];
    if (!event.action && !event.terminal) continue;
    const auto g = [&](double time) { return event.g(time, inside(time)); };
    double a = t0, ga = before_[e];
    for (int part = 1; part <= parts && a < first; ++part) {
      const double b = part == parts ? t1 : t0 + (t1 - t0) * part / parts, gb = g(b);
      if (part == 1 && ga == 0.0 && t0 == acted_at_ && event.action) leave(e, a, ga, b, gb);
      const bool crossed =
          (ga < 0.0 && gb >= 0.0 && event.direction >= 0) || (ga > 0.0 && gb <= 0.0 && event.direction <= 0);
      if (const double zero = crossed ? root(g, a, ga, b, gb) : first; zero < first) first = zero, which = e;
      a = b, ga = gb;
    }
  }
  if (which == nobody || !options_.events[which].action) return false;
  // No step is shorter than rounding allows.
  acting_ = which, acts_at_ = std::min(std::max(first, t0 + 1e-13 * std::max(1.0, std::abs(t0))), t1), paced_ = t1 - t0;
  if (acts_at_ == t1) return false;
  integrator_.retake(t0, start_.data(), acts_at_, acts_at_ - t0);
  return true;
}

void Driver::leave(std::size_t e, double& a, double& ga, double b, double gb) {
  const double start = a;
  const auto g = [&](double time) { return options_.events[e].g(time, inside(time)); };
  double part = b - start;
  for (int k = 0; k < 40; ++k) {
    part *= 0.5;
    const double value = g(start + part);
    if (value * gb < 0.0) {
      a = start + part, ga = value;
      return;
    }
    if (k == 19 && std::abs(value) < stops * rate_ * part)
      throw std::runtime_error("event " + std::to_string(e) +
                               " has been stopped by its action, and the next force takes it through its zero; end the "
                               "run there (terminal), or give it a way back");
  }
  ga = gb; // it went through
}

void Driver::act() {
  const std::size_t e = acting_;
  const double t = integrator_.t();
  double* y = integrator_.y();
  acting_ = nobody;
  result_.crossings.push_back({e, t, std::vector<double>(y, y + n_)});
  acted_ = e == last_acted_ && t - acted_at_ <= at_once * t_end_ ? acted_ + 1 : 0;
  last_acted_ = e, acted_at_ = t;
  if (acted_ >= most_at_once) {
    result_.reason =
        "event " + std::to_string(e) + " acts again and again without any time between: let its action end it";
    return stop(Status::refused);
  }
  const double short_before = 1e-6 * (t - integrator_.t_old());
  rate_ = std::abs(options_.events[e].g(t - short_before, inside(t - short_before))) / short_before;
  if (!options_.events[e].action(t, y)) rate_ = 0.0;
  if (options_.project) equations_.project(t, y);
  equations_.accepted(t, y);
  integrator_.look_ahead(equations_.horizon());
  for (std::size_t k = 0; k < options_.events.size(); ++k) before_[k] = options_.events[k].g(t, y);
  before_[e] = 0.0; // it is there, whatever rounding says
  if (options_.watch) options_.watch->values(t, y, last_.data());
  std::fill(speed_.begin(), speed_.end(), unknown);
  integrator_.go_on(t_end_, paced_);
}

} // namespace gyrod
