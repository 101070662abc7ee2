// The only loop: steps, projection, outputs, events, and the reasons to stop. It can pause after any step, be saved
// there to the last bit, and hand over what has come so far: neither outputs nor pauses shape the steps.
#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gyrod/integrate/integrator.hpp"

namespace gyrod {

enum class Status { finished, event, underflow, not_finite, interrupted, too_many_steps, refused, failed, paused };

struct EventFunction {
  std::function<double(double, const double*)> g;
  bool terminal = false;
  int direction = 0; // +1: rising zeros only, -1: falling ones, 0: all
};

struct RunOptions {
  bool project = true;
  bool keep_dense = true;
  std::vector<double> output; // times at which the solution is wanted; empty: every accepted step
  std::vector<EventFunction> events;
  long max_steps = 100'000'000;
  // Called every few steps with time and step size; false ends the run.
  std::function<bool(double, double)> tick;
  long tick_every = 256;
};

struct Crossing {
  std::size_t event;
  double t;
  std::vector<double> y;
};

// The solution as a function of time: rows of dense output of every step, evaluated and projected on demand.
struct Trajectory {
  std::vector<double> t; // ends of the steps, the start first
  std::vector<double> rows;
  std::size_t n = 0, rows_per_step = 0;
  DenseEvaluator evaluator = nullptr;

  void evaluate(double time, double* y) const {
    const std::size_t last = t.size() - 1;
    std::size_t i = std::size_t(std::upper_bound(t.begin(), t.end(), time) - t.begin());
    i = std::clamp<std::size_t>(i, 1, last) - 1;
    const double h = t[i + 1] - t[i];
    evaluator(rows.data() + i * rows_per_step * n, n, (time - t[i]) / h, h, y);
  }
};

struct Run {
  std::vector<double> t, y; // outputs, y row by row
  Trajectory trajectory;
  std::vector<Crossing> crossings;
  Stats stats;
  std::vector<double> step_ends; // times of all accepted steps
  Status status = Status::finished;
  double t_stop = 0.0, h_stop = 0.0;
  std::vector<double> y_stop;
  std::string reason;         // of Status::refused
  std::exception_ptr failure; // of Status::failed: what a right-hand side, an event or a tick threw
};

class Driver {
public:
  Driver(Equations& equations, Integrator& integrator, const RunOptions& options)
      : equations_(equations), integrator_(integrator), options_(options), n_(equations.size()), work_(n_),
        rows_(integrator.dense_rows() * n_), before_(options.events.size()), start_(n_) {}

  Run run(double t0, const double* y0, double t_end);

  void begin(double t0, const double* y0, double t_end);

  // Steps to the end or to a reason to stop, at most so many, and none after one that has reached `pause`.
  void advance(long steps = std::numeric_limits<long>::max(), double pause = std::numeric_limits<double>::infinity());

  // What has come since the beginning or since the last call.
  Run take();

  // Go on to another end, after a finished or a failed part; forces may have changed in between.
  void go_on(double t_end);

  // Save or restore everything that the rest of the run depends on; between steps, after `begin`.
  void exchange(Archive& a);

private:
  void open(double t);

  template <class F> void guarded(F&& f) {
    try {
      f();
    } catch (...) {
      result_.failure = std::current_exception();
      stop(Status::failed);
    }
  }

  void step();

  void stop(Status status) { result_.status = status; }

  void emit(double t, const double* y);

  // The projected solution inside the last step.
  const double* inside(double t);

  void emit_until(double t);

  // Zeros of the event functions in the last step, in order of time; returns the end of the run if one is terminal.
  // A long step of a high-order method may hold several: signs are compared at as many points as its dense output has
  // rows.
  double locate_events();

  // Bracketed secant with bisection (Illinois) on the projected dense output, to rounding.
  double root(const EventFunction& event, double a, double ga, double b, double gb);

  Equations& equations_;
  Integrator& integrator_;
  const RunOptions& options_;
  std::size_t n_;
  // Of the time: steps into trouble are not made shorter than this.
  static constexpr double smallest_retry = 1e-8;
  std::vector<double> work_, rows_, before_, start_; // start_: unknowns before the step
  std::size_t next_ = 0;
  double t_end_ = 0.0, planned_ = 0.0;
  Run result_;
};

} // namespace gyrod
