// Radau IIA of order 5 with the Newton iteration and the step control of the code RADAU5 (Hairer, Wanner II, IV.8):
// three stages, L-stable, stiffly accurate, dense output of order 3 by the collocation polynomial.
//
// The stages z_i = Y_i - y satisfy z = h (A x I) F(z). In the variables w = (T^-1 x I) z the inverse of A falls into a
// real number gamma and a pair alpha +- i beta, and an iteration costs one real and one complex system of size n.
// Differential-algebraic systems M y' = f with a diagonal M of zeros and ones are solved too; components of index 2 and
// 3 count h and h² times in the norms, as in the published code. Counted as in the published code: the real and the
// complex factor together as one factorization, both solutions of an iteration as one solve, those of the error
// estimate not at all. Unlike there, a step whose iteration fails or whose matrix is singular counts as rejected.
#pragma once

#include <stdexcept>

#include "gyrod/integrate/integrator.hpp"

namespace gyrod {

struct RadauIIA5 {
  static constexpr double c[2] = {0.15505102572168219, 0.64494897427831781}; // (4 -+ sqrt 6)/10; the third is 1
  static constexpr double gamma = 3.6378342527444957, alpha = 2.6810828736277521, beta = 3.0504301992474106;
  static constexpr double T[3][3] = {{0.091232394870892943, -0.14125529502095421, -0.030029194105147425},
                                     {0.24171793270710702, 0.20412935229379993, 0.38294211275726194},
                                     {0.96604818261509294, 1, 0}};
  static constexpr double T_inverse[3][3] = {{4.3255798900631554, 0.33919925181580987, 0.54177053993587487},
                                             {-4.1787185915519047, -0.32768282076106239, 0.47662355450055045},
                                             {-0.50287263494578688, 2.5719269498556054, -0.59603920482822493}};
  static constexpr double e[3] = {-10.048809399827416, 1.3821427331607489, -1. / 3}; // (-13 -+ 7 sqrt 6)/3, -1/3
};

class Radau5 final : public Integrator {
  using R = RadauIIA5;
  static constexpr double epsilon = std::numeric_limits<double>::epsilon();
  static constexpr double theta_keep = 1e-3; // the Jacobian stays while Newton contracts better than this

public:
  Radau5(Equations& e, const StepOptions& o)
      : Integrator(e, o), z_(3 * n_), w_(3 * n_), f_(3 * n_), f0_(n_), work_(n_), defect_(n_), cont_(4 * n_),
        y_jacobian_(n_), pair_(n_), max_iterations_(o.step > 0 ? 20 : 7), mass_(e.mass()), index_(e.index()),
        settles_(!mass_ && reads_forces(o)) {
    if (!(o.rtol > 10.0 * epsilon)) throw std::invalid_argument("Radau5: rtol must be larger than 10 rounding units");
    // The error estimate is of order 3 only; this makes the error of order 5 follow the tolerance.
    options_.rtol = 0.1 * std::pow(o.rtol, 2.0 / 3.0);
    for (double& a : options_.atol) a *= options_.rtol / o.rtol;
    newton_tolerance_ = std::max(10.0 * epsilon / options_.rtol, std::min(0.03, std::sqrt(options_.rtol)));
  }

  bool advance() override {
    const bool fixed = options_.step > 0;
    rejected_ = false;
    if (!fresh_) rhs(t_, y_.data(), f0_.data());
    fresh_ = true;
    double h = planned_step();
    for (;;) {
      if (too_small(h)) return false;
      const bool last = t_ + 1.0001 * h >= t_end_;
      if (last) h = t_end_ - t_;
      weigh(y_.data(), y_.data());
      if (index_)
        for (std::size_t i = 0; i < n_; ++i) weights_[i] *= index_[i] == 3 ? h * h : index_[i] == 2 ? h : 1.0;
      shrink_ = 0.5;
      const bool solved = prepare(h) && iterate(h);
      const double err = solved && !fixed ? error_of(h) : 0.0;
      if (solved && err < 1.0) {
        accept(h, last, err);
        return true;
      }
      if (fixed && jacobian_current_) return false; // neither a shorter step nor a newer Jacobian can help
      if (solved) shrink_ = first_ || !std::isfinite(err) ? 0.1 : 1.0 / quotient(err);
      if (!fixed) h *= shrink_;
      h_ = h;
      renew_ = !jacobian_current_;
      rejected_ = true;
      ++stats_.rejected;
    }
  }

  // The polynomial stays: it starts the next iteration from the new value, and is still the one of the last step.
  void changed() override { fresh_ = false; } // f is evaluated when the next step begins

  std::size_t dense_rows() const override { return 4; }
  void dense(double* rows) override { std::copy(cont_.begin(), cont_.end(), rows); }
  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      for (std::size_t i = 0; i < n; ++i) y[i] = rows[i] + beyond(rows, n, i, theta - 1.0);
    };
  }

private:
  void start() override {
    first_ = renew_ = true;
    h_factored_ = h_accepted_ = 0.0;
    contraction_ = 1.0;
    theta_ = theta_keep;
    rhs(t_, y_.data(), f0_.data());
    fresh_ = true;
    if (mass_) { // slopes are known of the differential components only
      const double h = std::min(longest(), t_end_ - t_);
      h_ = options_.step > 0 ? options_.step : std::min(h, options_.first_step > 0 ? options_.first_step : 1e-6 * h);
    } else
      h_ = first_step(4, f0_.data(), work_.data(), defect_.data());
  }
  void state(Archive& a) override {
    a(f0_, cont_, contraction_, theta_, h_factored_, h_accepted_, err_accepted_, iterations_, first_, renew_, fresh_);
    a(jacobian_current_, t_jacobian_, y_jacobian_);
    if (!a.reading() || renew_) return;
    equations_.jacobian(t_jacobian_, y_jacobian_.data());
    if (h_factored_ > 0.0) factor(h_factored_);
  }
  void restart() override {
    first_ = true; // nothing is extrapolated over a jump, or over a multiple of the last step
    changed();
  }
  double mass(std::size_t i) const { return mass_ ? mass_[i] : 1.0; }

  // The collocation polynomial in Newton's form with the nodes 0, c2 - 1, c1 - 1, -1: difference to the value at the
  // end of the step at s steps from there.
  static double beyond(const double* rows, std::size_t n, std::size_t i, double s) {
    return s * (rows[n + i] + (s - R::c[1] + 1.0) * (rows[2 * n + i] + (s - R::c[0] + 1.0) * rows[3 * n + i]));
  }

  // The proposed step, or the last one if it is only a little smaller and its factors can be used again.
  double planned_step() const {
    if (options_.step > 0) return options_.step;
    const double h = std::min(h_, longest());
    const bool last = t_ + 1.0001 * h >= t_end_;
    return !renew_ && !last && h >= h_factored_ && h <= 1.2 * h_factored_ ? h_factored_ : h;
  }

  // Jacobian and factors, if those at hand do not serve.
  bool prepare(double h) {
    if (renew_) {
      t_jacobian_ = t_, y_jacobian_ = y_;
      equations_.jacobian(t_, y_.data());
      ++stats_.jacobians;
      renew_ = false, jacobian_current_ = true;
      h_factored_ = 0.0;
    }
    if (h == h_factored_) return true;
    ++stats_.factorizations;
    const bool regular = factor(h);
    h_factored_ = regular ? h : 0.0;
    return regular;
  }
  bool factor(double h) {
    return equations_.factor(R::gamma / h) && equations_.factor(Complex(R::alpha / h, R::beta / h));
  }

  // Starting values: the polynomial of the last step, continued.
  void predict(double h) {
    if (first_) {
      std::fill(z_.begin(), z_.end(), 0.0);
      std::fill(w_.begin(), w_.end(), 0.0);
      return;
    }
    const double q = h / h_accepted_;
    for (std::size_t i = 0; i < n_; ++i) {
      z_[i] = beyond(cont_.data(), n_, i, R::c[0] * q);
      z_[n_ + i] = beyond(cont_.data(), n_, i, R::c[1] * q);
      z_[2 * n_ + i] = beyond(cont_.data(), n_, i, q);
    }
    transform(R::T_inverse, z_.data(), w_.data());
  }

  // b = (M x I) a for three vectors each; a and b may be the same.
  void transform(const double (&M)[3][3], const double* a, double* b) const {
    for (std::size_t i = 0; i < n_; ++i) {
      const double a0 = a[i], a1 = a[n_ + i], a2 = a[2 * n_ + i];
      for (std::size_t r = 0; r < 3; ++r) b[r * n_ + i] = M[r][0] * a0 + M[r][1] * a1 + M[r][2] * a2;
    }
  }

  // Simplified Newton iteration. If it fails, `shrink_` is the advice for the step. The rate of contraction is known
  // from the second iteration on; before, that of the last step is used, with some doubt (power 0.8).
  bool iterate(double h) {
    predict(h);
    contraction_ = std::pow(std::max(contraction_, epsilon), 0.8);
    theta_ = theta_keep;
    double size_old = 0.0, rate_old = 0.0;
    for (int k = 1; k <= max_iterations_; ++k) {
      const double size = correct(h);
      if (!std::isfinite(size)) return false;
      if (k > 1 && k < max_iterations_) {
        const double rate = size / size_old;
        theta_ = k == 2 ? rate : std::sqrt(rate * rate_old);
        rate_old = rate;
        if (!(theta_ < 0.99)) return false;
        contraction_ = theta_ / (1.0 - theta_);
        const int left = max_iterations_ - 1 - k;
        const double expected = contraction_ * size * std::pow(theta_, left) / newton_tolerance_;
        if (expected >= 1.0) {
          shrink_ = 0.8 * std::pow(std::clamp(expected, 1e-4, 20.0), -1.0 / (4.0 + left));
          return false;
        }
      }
      size_old = std::max(size, epsilon);
      for (std::size_t i = 0; i < 3 * n_; ++i) w_[i] += f_[i];
      transform(R::T, w_.data(), z_.data());
      iterations_ = k;
      // What an optimistic guess of the contraction leaves of a constraint, no shorter step takes away again; and the
      // guess of a free flight says nothing of the touch that ends it.
      const bool known = k > 1 || (!mass_ && !(horizon_ < 1e300)) || size <= 1.0;
      if (known && contraction_ * size <= newton_tolerance_) return true;
    }
    return false;
  }

  // One correction of w, left in `f_`; returns its size.
  double correct(double h) {
    const double times[3] = {t_ + R::c[0] * h, t_ + R::c[1] * h, t_ + h};
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t i = 0; i < n_; ++i) work_[i] = y_[i] + z_[s * n_ + i];
      rhs(times[s], work_.data(), f_.data() + s * n_);
    }
    transform(R::T_inverse, f_.data(), f_.data());
    double *f1 = f_.data(), *f2 = f1 + n_, *f3 = f2 + n_;
    const double *w1 = w_.data(), *w2 = w1 + n_, *w3 = w2 + n_;
    const double gamma = R::gamma / h, alpha = R::alpha / h, beta = R::beta / h;
    for (std::size_t i = 0; i < n_; ++i) {
      const double m = mass(i);
      f1[i] -= m * gamma * w1[i];
      pair_[i] = {f2[i] - m * (alpha * w2[i] - beta * w3[i]), f3[i] - m * (beta * w2[i] + alpha * w3[i])};
    }
    equations_.solve(f1);
    equations_.solve(pair_.data());
    ++stats_.solves;
    for (std::size_t i = 0; i < n_; ++i) f2[i] = pair_[i].real(), f3[i] = pair_[i].imag();
    const double a = norm(f1), b = norm(f2), c = norm(f3);
    return std::sqrt((a * a + b * b + c * c) / 3.0);
  }

  // Difference to an embedded formula of order 3, filtered by (gamma/h - J)^-1 so that it stays bounded for stiff
  // components; filtered twice where it is known to be too large, in the first step and after a rejection.
  double error_of(double h) {
    const double *z1 = z_.data(), *z2 = z1 + n_, *z3 = z2 + n_;
    for (std::size_t i = 0; i < n_; ++i) {
      defect_[i] = mass(i) * (R::e[0] * z1[i] + R::e[1] * z2[i] + R::e[2] * z3[i]) / h;
      work_[i] = defect_[i] + f0_[i];
    }
    equations_.solve(work_.data());
    double err = norm(work_.data());
    if (err >= 1.0 && (first_ || rejected_)) {
      for (std::size_t i = 0; i < n_; ++i) work_[i] += y_[i];
      rhs(t_, work_.data(), f_.data());
      for (std::size_t i = 0; i < n_; ++i) work_[i] = defect_[i] + f_[i];
      equations_.solve(work_.data());
      err = norm(work_.data());
    }
    return err < 1e-10 ? 1e-10 : err; // keeps NaN
  }

  // h / h_new of the elementary controller; more caution after many iterations.
  double quotient(double err) const {
    const double budget = 2.0 * max_iterations_;
    const double safety = 0.9 * std::min(1.0, (1.0 + budget) / (iterations_ + budget));
    return std::clamp(std::pow(err, 0.25) / safety, 0.125, 5.0);
  }

  // Gustafsson's predictive controller: the trend of the error over the last two steps may ask for a smaller one.
  double next_step(double h, double err) {
    if (options_.step > 0) return options_.step;
    double q = quotient(err);
    if (h_accepted_ > 0.0 && !options_.classical) {
      const double trend = h_accepted_ / h * std::pow(err * err / err_accepted_, 0.25) / 0.9;
      q = std::max(q, std::clamp(trend, 0.125, 5.0));
    }
    err_accepted_ = std::max(1e-2, err);
    return rejected_ ? std::min(h / q, h) : h / q;
  }

  void accept(double h, bool last, double err) {
    h_ = next_step(h, err);
    h_accepted_ = h;
    t_old_ = t_;
    t_ = last ? t_end_ : t_ + h;
    const double *z1 = z_.data(), *z2 = z1 + n_, *z3 = z2 + n_;
    for (std::size_t i = 0; i < n_; ++i) {
      const double d1 = (z2[i] - z3[i]) / (R::c[1] - 1.0), d2 = (z1[i] - z2[i]) / (R::c[0] - R::c[1]);
      const double dd1 = (d2 - d1) / (R::c[0] - 1.0), dd2 = (d2 - z1[i] / R::c[0]) / R::c[1];
      y_[i] += z3[i];
      cont_[i] = y_[i];
      cont_[n_ + i] = d1;
      cont_[2 * n_ + i] = dd1;
      cont_[3 * n_ + i] = dd1 - dd2;
    }
    ++stats_.steps;
    first_ = jacobian_current_ = false;
    renew_ = theta_ > theta_keep;
    fresh_ = false;
    if (settles_) settle(h);
  }

  // What the iteration leaves of its error is within the tolerance in positions, and stiffness makes forces of it: the
  // end of the step, where they are read, is corrected once more, by its slope against that of the polynomial.
  void settle(double h) {
    rhs(t_, y_.data(), work_.data());
    const double *first = cont_.data() + n_, *second = first + n_, *third = second + n_;
    for (std::size_t i = 0; i < n_; ++i)
      work_[i] -= (first[i] + (1.0 - R::c[1]) * (second[i] + (1.0 - R::c[0]) * third[i])) / h;
    equations_.solve(work_.data());
    for (std::size_t i = 0; i < n_; ++i) y_[i] += work_[i];
  }

  std::vector<double> z_, w_, f_, f0_, work_, defect_, cont_, y_jacobian_;
  std::vector<Complex> pair_;
  int max_iterations_, iterations_ = 0;
  double t_jacobian_ = 0.0; // where the Jacobian was evaluated
  double newton_tolerance_ = 0.0, contraction_ = 1.0, theta_ = theta_keep, shrink_ = 0.5;
  double h_factored_ = 0.0, h_accepted_ = 0.0, err_accepted_ = 1e-2;
  bool first_ = true, rejected_ = false, renew_ = true, jacobian_current_ = false;
  bool fresh_ = false; // f0_ is that of y_
  const double* mass_;
  const int* index_;
  bool settles_;
};

} // namespace gyrod
