#include "gyrod/integrate/driver.hpp"

namespace gyrod {

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
  integrator_.want_dense = options_.keep_dense || inside || !options_.events.empty();
  open(t0);
  guarded([&] {
    if (options_.output.empty() || options_.output.front() <= t0) emit(t0, y0);
    integrator_.begin(t0, y0, t_end);
    planned_ = integrator_.step_size();
    for (std::size_t e = 0; e < before_.size(); ++e) before_[e] = options_.events[e].g(t0, y0);
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
    for (std::size_t e = 0; e < before_.size(); ++e)
      before_[e] = options_.events[e].g(integrator_.t(), integrator_.y());
  });
}

void Driver::exchange(Archive& a) {
  integrator_.exchange(a);
  a(planned_, next_, before_);
  a.finish();
  if (a.reading()) open(integrator_.t());
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
  if (integrator_.want_dense) integrator_.dense(rows_.data());
  if (options_.keep_dense) {
    auto& rows = result_.trajectory.rows;
    rows.insert(rows.end(), rows_.begin(), rows_.end());
    result_.trajectory.t.push_back(t);
  }
  if (options_.project && equations_.project(t, integrator_.y())) integrator_.changed();
  // A step cut short by the end of the interval says nothing against the one that was planned.
  planned_ = t == t_end_ && integrator_.stats().rejected == rejected ? proposed : integrator_.step_size();
  double until = t;
  if (!options_.events.empty()) until = locate_events();
  emit_until(until);
  result_.step_ends.push_back(until);
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

double Driver::locate_events() {
  const double t0 = integrator_.t_old(), t1 = integrator_.t();
  const int parts = std::max(4, int(integrator_.dense_rows()));
  std::vector<std::pair<double, std::size_t>> found;
  for (int part = 1; part <= parts; ++part) {
    const double a = t0 + (t1 - t0) * (part - 1) / parts, b = part == parts ? t1 : t0 + (t1 - t0) * part / parts;
    for (std::size_t e = 0; e < before_.size(); ++e) {
      const EventFunction& event = options_.events[e];
      const double ga = before_[e], gb = event.g(b, part == parts ? integrator_.y() : inside(b));
      before_[e] = gb;
      const bool rising = ga < 0.0 && gb >= 0.0, falling = ga > 0.0 && gb <= 0.0;
      if ((rising && event.direction >= 0) || (falling && event.direction <= 0))
        found.emplace_back(root(event, a, ga, b, gb), e);
    }
  }
  std::sort(found.begin(), found.end());
  for (const auto& [time, e] : found) {
    const double* y = time == t1 ? integrator_.y() : inside(time);
    result_.crossings.push_back({e, time, std::vector<double>(y, y + n_)});
    if (options_.events[e].terminal) {
      stop(Status::event);
      return time;
    }
  }
  return t1;
}

double Driver::root(const EventFunction& event, double a, double ga, double b, double gb) {
  if (gb == 0.0) return b;
  const double tolerance = 4.0 * 2.2e-16 * std::max(std::abs(a), std::abs(b));
  int side = 0;
  for (int k = 0; k < 200 && b - a > tolerance; ++k) {
    double m = (ga * b - gb * a) / (ga - gb);
    if (!(m > a && m < b) || k % 4 == 3) m = 0.5 * (a + b);
    const double gm = event.g(m, inside(m));
    if (gm == 0.0) return m;
    if ((gm < 0.0) == (gb < 0.0)) {
      b = m, gb = gm;
      if (side == -1) ga *= 0.5;
      side = -1;
    } else {
      a = m, ga = gm;
      if (side == 1) gb *= 0.5;
      side = 1;
    }
  }
  return b;
}

} // namespace gyrod
