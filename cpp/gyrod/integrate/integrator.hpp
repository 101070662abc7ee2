// The common face of the integrators: one accepted step at a time, dense output over it, counters.
//
// Rules for a method (one file each):
//  1. `start` is called once, with `t_`, `y_` and `t_end_` set: evaluate f, choose the first step.
//  2. `advance` makes one accepted step, not beyond `t_end_`, rejecting internally as often as needed; it sets
//     `t_old_`, `t_`, `y_` and returns false if the step size falls below rounding.
//  3. `changed`: the driver has altered `y_` (projection); what was computed from the old value must be renewed and
//     counted.
//  4. Dense output: after `advance`, `dense(rows)` writes `dense_rows()` vectors of length n, from which the static
//     function `evaluator()` gives y(t_old + theta h). They are valid until the next `advance` and for the state
//     before `changed`.
//  5. `settle` may mend `y_` once more after the driver has projected it, and says whether it did.
//  6. With `options.step > 0` every step has that length (the last one may be shorter) and no error is controlled.
//  7. All memory is taken in the constructor.
//  8. `state` names to an archive all members that the next step depends on; a kept Jacobian is made anew from the
//     point it belongs to.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gyrod/integrate/archive.hpp"
#include "gyrod/integrate/equations.hpp"

namespace gyrod {

struct Stats {
  long steps = 0, rejected = 0, rhs = 0, jacobians = 0, factorizations = 0, solves = 0;
};

struct StepOptions {
  double rtol = 1e-6;
  std::vector<double> atol;  // one for each component
  std::vector<double> scale; // empty: the "plain" norm of the published codes; else physical scales, one for each
  double first_step = 0.0;   // 0: chosen
  double max_step = std::numeric_limits<double>::infinity();
  double step = 0.0;      // > 0: constant
  bool classical = false; // step control by the error of one step, where the method would look at two
  // Of methods for hard contact: what each component is, and where between its ends a step looks at forces.
  enum Role : unsigned char { position, velocity, memory, force };
  std::vector<unsigned char> roles;
  double theta = 0.5;
};

// y(t_old + theta h) from the rows that a method wrote; n components, `rows` vectors of length n one after the other.
using DenseEvaluator = void (*)(const double* rows, std::size_t n, double theta, double h, double* y);

class Integrator {
public:
  Integrator(Equations& equations, const StepOptions& options)
      : equations_(equations), options_(options), n_(equations.size()), lanes_(equations.lanes()), y_(n_),
        weights_(n_) {}
  virtual ~Integrator() = default;
  Integrator(const Integrator&) = delete;
  Integrator& operator=(const Integrator&) = delete;

  void begin(double t, const double* y, double t_end) {
    t_ = t_old_ = t, t_end_ = t_end;
    stats_ = {};
    std::copy(y, y + n_, y_.begin());
    start();
  }

  // Save or restore, between two steps, everything that the next step depends on, but the end of the interval.
  void exchange(Archive& a) {
    a(t_, t_old_, h_, y_, stats_);
    state(a);
  }

  // Go on from here to another end with a step of length h; forces may have changed.
  void go_on(double t_end, double h) {
    t_end_ = t_end;
    if (options_.step <= 0) h_ = h;
    restart();
  }

  // Take back the last step, and go on from its start with one of length h; false where steps are constant.
  bool retry(double t, const double* y, double h) {
    if (options_.step > 0) return false;
    t_ = t_old_ = t, h_ = h;
    std::copy(y, y + n_, y_.begin());
    --stats_.steps, ++stats_.rejected;
    restart();
    return true;
  }

  // Take back the last step whatever its length, and end one at t_end: constant steps may have a shorter one there.
  void retake(double t, const double* y, double t_end, double h) {
    std::copy(y, y + n_, y_.begin());
    t_ = t_old_ = t, --stats_.steps, ++stats_.rejected;
    go_on(t_end, h);
  }
  // Where the interval ends.
  void aim(double t_end) { t_end_ = t_end; }

  virtual bool advance() = 0;
  virtual void changed() = 0;
  virtual bool settle() { return false; }
  virtual std::size_t dense_rows() const = 0;
  virtual void dense(double* rows) = 0;
  virtual DenseEvaluator evaluator() const = 0;

  // No step may be longer than this, from now on.
  void look_ahead(double horizon) { horizon_ = horizon; }

  // Set to false before `begin` if nobody will ask for dense output: methods that pay for it may then save that.
  bool want_dense = true;

  double t() const { return t_; }
  double t_old() const { return t_old_; }
  double step_size() const { return h_; } // proposed for the next step
  double* y() { return y_.data(); }
  const Stats& stats() const { return stats_; }
  std::size_t size() const { return n_; }

protected:
  virtual void start() = 0;
  virtual void state(Archive&) = 0;
  // Whether forces of stiff members will be read of states that a coarse tolerance leaves too far off for them: not
  // where a published code is to be met, nor where tolerances make them good enough.
  static bool reads_forces(const StepOptions& o) { return !o.scale.empty() && o.rtol > 1e-6; }
  // The right-hand side may have jumped: what was foreseen from the last step does not hold.
  virtual void restart() { changed(); }

  void rhs(double t, const double* y, double* dy) {
    equations_.rhs(t, y, dy);
    ++stats_.rhs;
  }

  // f(begin, end) for all numbers of a state, in parts that threads share.
  template <class F> void over_state(F&& f) const {
    if (!equations_.threads()) return f(std::size_t(0), n_);
    constexpr std::size_t each = 8192;
    share(equations_.threads(), (n_ + each - 1) / each,
          [&](std::size_t k) { f(k * each, std::min(n_, (k + 1) * each)); });
  }

  // Weights of the error norm for a step from a to b: plain atol + rtol max(|a|, |b|), physical scale (atol + rtol).
  void weigh(const double* a, const double* b) {
    if (options_.scale.empty())
      for (std::size_t i = 0; i < n_; ++i)
        weights_[i] = 1.0 / (options_.atol[i] + options_.rtol * std::max(std::abs(a[i]), std::abs(b[i])));
    else
      for (std::size_t i = 0; i < n_; ++i) weights_[i] = 1.0 / (options_.scale[i] * (options_.atol[i] + options_.rtol));
  }

  // Root mean square of the weighted components, the largest of all lanes; NaN stays NaN.
  double norm(const double* x) const {
    if (lanes_ > 1) return norm_of_lanes(x);
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double v = x[i] * weights_[i];
      sum += v * v;
    }
    return std::sqrt(sum / double(n_));
  }

  double norm_of_lanes(const double* x) const {
    double largest = 0.0;
    for (std::size_t l = 0; l < lanes_; ++l) {
      double sum = 0.0;
      for (std::size_t i = l; i < n_; i += lanes_) {
        const double v = x[i] * weights_[i];
        sum += v * v;
      }
      if (!(sum <= largest)) largest = sum;
      if (std::isnan(sum)) break;
    }
    return std::sqrt(largest * double(lanes_) / double(n_));
  }

  // First step of the published codes (Hairer, Norsett, Wanner I, II.4): f0 is f(t, y), two work vectors.
  double first_step(int order, const double* f0, double* y1, double* f1) {
    if (options_.step > 0) return options_.step;
    if (options_.first_step > 0) return std::min(options_.first_step, t_end_ - t_);
    const double h_max = std::min(longest(), t_end_ - t_);
    weigh(y_.data(), y_.data());
    const double norm_f = std::sqrt(double(n_)) * norm(f0), norm_y = std::sqrt(double(n_)) * norm(y_.data());
    double h = norm_f * norm_f <= 1e-10 || norm_y * norm_y <= 1e-10 ? 1e-6 : 0.01 * norm_y / norm_f;
    h = std::min(h, h_max);
    for (std::size_t i = 0; i < n_; ++i) y1[i] = y_[i] + h * f0[i];
    rhs(t_ + h, y1, f1);
    for (std::size_t i = 0; i < n_; ++i) f1[i] -= f0[i];
    const double second = std::sqrt(double(n_)) * norm(f1) / h;
    const double largest = std::max(second, norm_f);
    const double h1 = largest <= 1e-15 ? std::max(1e-6, 1e-3 * h) : std::pow(0.01 / largest, 1.0 / order);
    return std::min({100.0 * h, h1, h_max});
  }

  double longest() const { return std::min(options_.max_step, horizon_); }
  bool too_small(double h) const { return 0.1 * std::abs(h) <= std::abs(t_) * 2.3e-16 || !(h > 0.0); }

  Equations& equations_;
  StepOptions options_;
  std::size_t n_, lanes_;
  double t_ = 0.0, t_old_ = 0.0, t_end_ = 0.0, h_ = 0.0, horizon_ = std::numeric_limits<double>::infinity();
  std::vector<double> y_, weights_;
  Stats stats_;
};

} // namespace gyrod
