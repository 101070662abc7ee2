#include "gyrod/assembly/members.hpp"

#include <ctime>

#include "gyrod/integrate/methods.hpp"
#include "gyrod/math/lanes.hpp"

namespace gyrod {
namespace {
constexpr std::size_t width = std::size_t(Lanes::width);

// Of a run in lanes that of one member.
Run lane_of(const Run& all, std::size_t lane, std::size_t n) {
  Run one;
  const auto pick = [&](const std::vector<double>& from) {
    std::vector<double> to(from.size() / width);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i * width + lane];
    return to;
  };
  one.t = all.t, one.y = pick(all.y), one.step_ends = all.step_ends, one.y_stop = pick(all.y_stop);
  one.trajectory.t = all.trajectory.t, one.trajectory.rows = pick(all.trajectory.rows), one.trajectory.n = n;
  one.trajectory.rows_per_step = all.trajectory.rows_per_step, one.trajectory.evaluator = all.trajectory.evaluator;
  one.stats = all.stats, one.status = all.status, one.t_stop = all.t_stop, one.h_stop = all.h_stop;
  return one;
}

class Runs {
public:
  Runs(Equations& equations, RodEquations* rods, const Members& m)
      : equations_(equations), rods_(rods), m_(m), n_(equations.size()), steps_(m.steps), options_(m.options) {
    if (m.lanes && (!rods || rods->size() != n_ || rods->apart()))
      throw std::invalid_argument("these members cannot go in lanes");
    options_.tick = [this](double, double) { return !m_.tick || m_.tick(done_); };
    if (m.lanes) wide_ = make_lanes(*rods);
  }

  std::vector<MemberRun> all() {
    while (found_.size() < m_.count) {
      done_ = found_.size();
      if (wide_)
        together(done_);
      else
        found_.push_back(alone(done_));
      // What a tick throws ends them all; runs without Python have nothing else to throw.
      if (found_.back().run.failure || found_.back().run.status == Status::interrupted) break;
    }
    return std::move(found_);
  }

private:
  MemberRun alone(std::size_t m) {
    const double begin = thread_seconds();
    for (std::size_t r = 0; r < m_.rows.size(); ++r)
      if (!m_.rows[r].empty()) rods_->revise(int(r), m_.rows[r][m]);
    if (m_.scales) steps_.scale.assign(m_.scales + m * n_, m_.scales + (m + 1) * n_);
    Run run = driven(equations_, steps_, m_.y0 + m * n_);
    return {std::move(run), thread_seconds() - begin};
  }

  // As many members as there are lanes from m on; beyond the last, the last again.
  void together(std::size_t m) {
    const double begin = thread_seconds();
    const std::size_t count = std::min(width, m_.count - m);
    std::vector<double> start(width * n_);
    StepOptions steps = m_.steps;
    steps.atol = widened(m_.steps.atol), steps.scale.clear();
    if (m_.scales) steps.scale.resize(width * n_);
    for (std::size_t l = 0; l < width; ++l) {
      const std::size_t who = m + std::min(l, count - 1);
      for (std::size_t r = 0; r < m_.rows.size(); ++r)
        if (!m_.rows[r].empty()) wide_->revise(int(r), int(l), m_.rows[r][who]);
      for (std::size_t i = 0; i < n_; ++i) start[i * width + l] = m_.y0[who * n_ + i];
      for (std::size_t i = 0; m_.scales && i < n_; ++i) steps.scale[i * width + l] = m_.scales[who * n_ + i];
    }
    wide_->prepare();
    const Run run = driven(*wide_, steps, start.data());
    const double each = (thread_seconds() - begin) / double(count);
    const bool ended = run.status == Status::interrupted || run.status == Status::failed;
    for (std::size_t l = 0; l < count; ++l) // where one of them fails each goes by itself
      found_.push_back(ended                            ? MemberRun{run, each}
                       : run.status == Status::finished ? MemberRun{lane_of(run, l, n_), each}
                                                        : alone(m + l));
  }

  Run driven(Equations& equations, const StepOptions& steps, const double* y0) {
    const auto integrator = make_integrator(m_.method, equations, steps);
    return Driver(equations, *integrator, options_).run(0.0, y0, m_.t_end);
  }

  Equations& equations_;
  RodEquations* rods_;
  const Members& m_;
  std::size_t n_, done_ = 0;
  StepOptions steps_;
  RunOptions options_;
  std::unique_ptr<RodLanes> wide_;
  std::vector<MemberRun> found_;
};
} // namespace

std::vector<MemberRun> run_members(Equations& equations, RodEquations* rods, const Members& members) {
  return Runs(equations, rods, members).all();
}

double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
#else
  return double(std::clock()) / CLOCKS_PER_SEC;
#endif
}

std::vector<double> widened(const std::vector<double>& x) {
  std::vector<double> out(width * x.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i / width];
  return out;
}

} // namespace gyrod
