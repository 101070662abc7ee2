// The only loop: steps, projection, outputs, events, and the reasons to stop. It can pause after any step, be saved
// there to the last bit, and hand over what has come so far: neither outputs nor pauses shape the steps.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gyrod/integrate/integrator.hpp"
#include "gyrod/integrate/interruption.hpp"

namespace gyrod {

enum class Status {
  finished,
  event,
  underflow,
  not_finite,
  interrupted,
  too_many_steps,
  too_many_rows,
  refused,
  failed,
  paused
};

struct EventFunction {
  std::function<double(double, const double*)> g;
  bool terminal = false;
  int direction = 0; // +1: rising zeros only, -1: falling ones, 0: all
  // What happens at a zero: y changes, and the run goes on from there. False: nothing does.
  std::function<bool(double, double*)> action;
};

// Quantities of a state with edges that end a run, or are reported, where one is passed. One call gives all of them, at
// the end of every step; between the ends they are looked at only where an edge may have been reached.
class Watch {
public:
  struct Edge {
    std::size_t quantity;
    double value;
    int direction; // +1: it is passed upwards, -1: downwards
    bool terminal; // whether the run ends there
  };
  virtual ~Watch() = default;
  virtual std::size_t quantities() const = 0;
  virtual void values(double t, const double* y, double* q) = 0;
  const std::vector<Edge>& edges() const { return edges_; }

protected:
  std::vector<Edge> edges_;
};

struct RunOptions {
  bool project = true;
  bool keep_dense = true;
  bool keep_knots = false;    // the accepted states beside outputs and events, two on either side
  std::vector<double> output; // times at which the solution is wanted; empty: every accepted step
  std::vector<EventFunction> events;
  std::shared_ptr<Watch> watch; // its edges are counted as events after those
  long max_steps = 100'000'000;
  // Bytes of dense output beyond which it is given up, and of rows beyond which the run stops.
  std::size_t dense_bytes = std::numeric_limits<std::size_t>::max(), row_bytes = dense_bytes;
  // Called every few steps with time and step size; false, or an Interruption, ends the run.
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
  std::vector<double> t, y;             // outputs, y row by row
  std::vector<double> knots_t, knots_y; // accepted states beside them
  Trajectory trajectory;
  std::vector<Crossing> crossings;
  Stats stats;
  std::vector<double> step_ends; // times of all accepted steps
  bool dense_given_up = false;
  Status status = Status::finished;
  double t_stop = 0.0, h_stop = 0.0;
  std::vector<double> y_stop;
  std::string reason;         // of Status::refused
  std::exception_ptr failure; // of Status::failed: what a right-hand side, an event or a tick threw; of an Interruption
};

class Driver {
public:
  Driver(Equations& equations, Integrator& integrator, const RunOptions& options);

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
    } catch (const Interruption& signal) {
      result_.failure = signal.reason;
      stop(Status::interrupted);
    } catch (...) {
      result_.failure = std::current_exception();
      stop(Status::failed);
    }
  }

  void step();

  void keep_dense(double t);
  // `inside`: there was an output or an event in the last step.
  void keep_knots(bool inside);

  void stop(Status status) { result_.status = status; }

  void emit(double t, const double* y);

  // The projected solution inside the last step.
  const double* inside(double t);
  // Whether a time of output lies inside of the last step.
  bool output_inside() const;

  // Whether an edge of what is watched may have been passed in the last step. A quantity is taken to move at most twice
  // as far beyond what it was at the ends as it would at the largest speed of the last steps.
  bool near_edge();
  // Event e, of the caller or an edge, at a state; `fresh`: what is watched has not been asked there yet.
  double event_value(std::size_t e, double t, const double* y, bool fresh);
  bool terminal(std::size_t e) const {
    const std::size_t own = options_.events.size();
    return e < own ? options_.events[e].terminal : options_.watch->edges()[e - own].terminal;
  }
  int direction(std::size_t e) const;

  void emit_until(double t);

  // Zeros of the event functions in the last step, in order of time; returns the end of the run if one is terminal.
  // A long step of a high-order method may hold several: signs are compared at as many points as its dense output has
  // rows.
  double locate_events(bool near);
  // The first zero in the last step of an event that acts, before any that ends the run: the step is taken back, and
  // one will end there.
  bool aims_at_action();
  // An event that has just acted, and so is zero at a: where it has a sign, the other one than at b if it is zero again
  // before.
  void leave(std::size_t e, double& a, double& ga, double b, double gb);
  // At the end of a step: the event that it was to end at acts.
  void act();

  Equations& equations_;
  Integrator& integrator_;
  const RunOptions& options_;
  std::size_t n_;
  std::vector<double> work_, rows_, before_, after_, start_; // before_, after_: event functions; start_: of the step
  static constexpr double unknown = -1.0;
  std::vector<double> seen_, last_, speed_; // what is watched: now, at the end of the step before, its speed
  // Of the time: steps into trouble are not made shorter than this.
  static constexpr double smallest_retry = 1e-8;
  // The accepted states before the last one and the last one; whether the next one is a knot; the last one that was.
  std::vector<double> past_[2];
  double past_t_[2] = {}, knot_ = 0.0;
  bool follows_ = false;
  std::size_t next_ = 0;
  double t_end_ = 0.0, planned_ = 0.0;
  // How often the step has been taken back because it went past a jump: each time it ends nearer to it.
  static constexpr int most_passed = 20;
  int passed_ = 0;
  // The event that is going to act, and when; how often the same has acted in next to no time.
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();
  static constexpr int most_at_once = 3;
  static constexpr double at_once = 1e-7; // of the time
  static constexpr double stops = 1e-4;   // of its rate before: an event that has been stopped
  std::size_t acting_ = nobody;
  double acts_at_ = 0.0, paced_ = 0.0, acted_at_ = -std::numeric_limits<double>::infinity();
  int acted_ = 0;
  std::size_t last_acted_ = nobody;
  double rate_ = 0.0; // of the event that acted last, before
  bool acts_ = false; // whether there is such an event at all
  Run result_;
};

} // namespace gyrod
