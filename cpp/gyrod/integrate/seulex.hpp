// Extrapolation of the linearly implicit Euler method with the order and step size control of the code SEULEX and its
// dense output (Hairer, Wanner II, IV.9; Hairer, Ostermann 1990). Differential-algebraic systems of index 1 are solved
// too.
#pragma once

#include "gyrod/integrate/integrator.hpp"
#include "gyrod/integrate/order_control.hpp"

namespace gyrod {

class Seulex final : public Integrator {
  static constexpr int km = 12, fixed_column = 4;
  static constexpr double dense_slack = 10.0; // tolerance of the dense output over that of the solution, as in ODEX
  using Control = OrderControl<km>;

public:
  Seulex(Equations& e, const StepOptions& o)
      : Integrator(e, o), control_({0.6, 0.93, 0.1, 4.0, 0.7, 0.9, 1.0, 4.0, 1}, sequence(), work()),
        autonomous_(e.autonomous()), reuse_(std::min(1e-4, o.rtol)), f_(n_), y_old_(n_), u_(n_), delta_(n_), g_(n_),
        middle_(n_), table_(std::size_t(km) * n_), derivatives_(std::size_t(km * (km + 1) / 2) * n_),
        kept_(std::size_t(km + 1) * n_), y_jacobian_(n_), mass_(e.mass()), settles_(!mass_ && reads_forces(o)) {}

  bool advance() override {
    const bool fixed = options_.step > 0;
    begin_step(fixed);
    for (;;) {
      double h = fixed ? options_.step : std::min(h_, longest());
      if (too_small(h)) return false;
      const bool last = t_ + 1.01 * h >= t_end_;
      if (last) h = t_end_ - t_;
      if (fixed ? build(h) : converges(h, last)) {
        if (!fixed) h_ = control_.accepted();
        finish(h, last);
        return true;
      }
      if (fixed) return false; // the matrix is singular, and the step may not be changed
      h_ = control_.rejected();
      ++stats_.rejected;
      if (!current_) renew_jacobian();
    }
  }

  void changed() override { fresh_ = false; } // f is evaluated when the next step begins

  // Extrapolation is linear: a mean of states that lie on a curved manifold to which stiff forces hold the solution, as
  // strains do in a rod, leaves it by what the tolerance allows; stiffness makes forces of that. One step of Newton's
  // method for f(t, y) = y', with y' as extrapolated and the last matrix, leads back; it is exact for linear systems,
  // and so leaves the stability of the method as it is.
  bool settle() override {
    if (!settles_) return false;
    rhs(t_, y_.data(), g_.data());
    for (std::size_t i = 0; i < n_; ++i) g_[i] -= derivative(1, 1)[i] / (t_ - t_old_);
    solve(g_.data());
    for (std::size_t i = 0; i < n_; ++i) y_[i] += g_[i];
    changed();
    return true;
  }

  std::size_t dense_rows() const override { return km + 2; }

  // The polynomial of degree k + 1 with y at both ends and the derivatives 1..k at the right one, these from backward
  // differences in each row, extrapolated like the solution (SEULEX, lambda = 0). Order k: that of the solution.
  // No slope f is used: in stiff components f multiplies the error by the stiffness, and a Hermite cubic overshoots.
  // What the smooth part at the right end cannot explain, a transient at the left, is left to the highest power of
  // 1 - theta.
  void dense(double* rows) override {
    std::copy(entry(1), entry(1) + n_, rows);
    for (int m = 1; m <= columns_; ++m) std::copy(derivative(m, m), derivative(m, m) + n_, rows + std::size_t(m) * n_);
    std::fill(rows + std::size_t(columns_ + 1) * n_, rows + dense_rows() * n_, 0.0);
    remainder(y_old_.data(), columns_, rows + std::size_t(columns_ + 1) * n_);
  }

  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      const double s = theta - 1.0;
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int m = km + 1; m >= 0; --m) sum = sum * s + rows[std::size_t(m) * n + i];
        y[i] = sum;
      }
    };
  }

private:
  static constexpr double most_unforeseen = 10.0; // over the tolerances
  static constexpr int substeps(int j) { return j + 1; }
  static std::array<int, km + 1> sequence() {
    std::array<int, km + 1> n{};
    for (int j = 1; j <= km; ++j) n[j] = substeps(j);
    return n;
  }
  // In units of one f: the Jacobian counts 5, a factorization 1, a solve 1, as in SEULEX.
  static std::array<double, km + 1> work() {
    std::array<double, km + 1> a{5.0};
    for (int j = 1; j <= km; ++j) a[j] = a[j - 1] + 1.0 + 2.0 * substeps(j);
    return a;
  }

  void start() override {
    control_.start(options_.rtol, options_.max_step);
    rhs(t_, y_.data(), f_.data());
    fresh_ = true;
    h_ = first_step(control_.aim(), f_.data(), u_.data(), g_.data());
    theta_ = 2.0 * reuse_;
  }

  void state(Archive& a) override {
    a(f_, control_, fresh_, theta_, t_jacobian_, y_jacobian_);
    if (a.reading() && theta_ <= reuse_) equations_.jacobian(t_jacobian_, y_jacobian_.data());
  }

  void begin_step(bool fixed) {
    if (autonomous_ && !fresh_) rhs(t_, y_.data(), f_.data());
    fresh_ = true;
    current_ = false;
    if (fixed || theta_ > reuse_) renew_jacobian();
  }

  void renew_jacobian() {
    t_jacobian_ = t_, y_jacobian_ = y_;
    equations_.jacobian(t_, y_.data());
    ++stats_.jacobians;
    current_ = true;
  }

  bool build(double h) {
    for (int j = 1; j <= fixed_column; ++j)
      if (!row(j, h, false)) return false;
    columns_ = fixed_column;
    return true;
  }

  bool converges(double h, bool last) {
    control_.attempt(h, last);
    weigh(y_.data(), y_.data());
    theta_ = 0.0;
    for (int j = 1;; ++j) {
      if (!row(j, h, j <= 2)) {
        control_.diverge(std::isfinite(theta_));
        theta_ = 2.0 * reuse_;
        return false;
      }
      const double middle = want_dense ? middle_error(j) / dense_slack : 0.0;
      if (j == 1) continue;
      weigh(y_.data(), entry(1));
      for (std::size_t i = 0; i < n_; ++i) g_[i] = entry(1)[i] - entry(2)[i];
      columns_ = j;
      const auto verdict = control_.judge(j, norm(g_.data()), middle);
      if (verdict == Control::Verdict::accept && !ends_as_foreseen(h)) {
        control_.diverge(true);
        return false;
      }
      if (verdict != Control::Verdict::go_on) return verdict == Control::Verdict::accept;
    }
  }

  // f is taken where substeps begin. Where something touches late in a step none of them has seen it, and all rows
  // agree on a free flight: the correction of `settle` tells.
  bool ends_as_foreseen(double h) {
    if (mass_ || !(horizon_ < 1e300)) return true;
    rhs(t_ + h, entry(1), g_.data());
    for (std::size_t i = 0; i < n_; ++i) g_[i] -= derivative(1, 1)[i] / h;
    solve(g_.data());
    return norm(g_.data()) < most_unforeseen;
  }

  // (1/h_j - J)(u_(m+1) - u_m) = f(t_(m+1), u_m): with the later time it is the implicit Euler method for all linear
  // systems with constant J, forced ones included. False: the matrix is singular, or Newton would not converge.
  bool row(int j, double h, bool check) {
    const int n = substeps(j);
    const double hj = h / n;
    ++stats_.factorizations;
    if (!equations_.factor(1.0 / hj)) return false;
    std::copy(y_.begin(), y_.end(), u_.begin());
    std::copy(f_.begin(), f_.end(), g_.begin());
    bool known = autonomous_;
    for (int m = 1; m <= n; ++m) {
      if (known)
        std::swap(delta_, g_);
      else
        rhs(t_ + m * hj, u_.data(), delta_.data());
      known = false;
      solve(delta_.data());
      for (std::size_t i = 0; i < n_; ++i) u_[i] += delta_[i];
      if (n - m <= j) std::copy(u_.begin(), u_.end(), kept_.begin() + std::ptrdiff_t(std::size_t(n - m) * n_));
      if (check && m == 1) {
        if (!contracts(hj)) return false;
        known = autonomous_;
      }
    }
    extrapolate(j);
    return true;
  }

  // One more simplified Newton iteration for the first implicit Euler step; theta is its rate of contraction. Above 1
  // the step is hopeless; far below 1 the Jacobian is good enough to be kept. Leaves f(t + h_j, u) in g_.
  bool contracts(double hj) {
    rhs(t_ + hj, u_.data(), g_.data());
    const double first = norm(delta_.data());
    for (std::size_t i = 0; i < n_; ++i) delta_[i] = g_[i] - (mass_ ? mass_[i] : 1.0) * delta_[i] / hj;
    solve(delta_.data());
    const double theta = norm(delta_.data()) / std::max(1.0, first);
    if (!(theta <= theta_)) theta_ = theta; // keeps NaN
    return theta_ <= 1.0;
  }

  void solve(double* b) {
    equations_.solve(b);
    ++stats_.solves;
  }

  // Aitken and Neville with an expansion in h; entry(1) is the best value.
  void extrapolate(int j) {
    std::copy(u_.begin(), u_.end(), entry(j));
    for (int l = j; l > 1; --l) combine(j, l, entry(l - 1), entry(l));
    differentiate(j);
  }

  void combine(int j, int l, double* high, const double* low) const {
    const double factor = 1.0 / (double(substeps(j)) / substeps(l - 1) - 1.0);
    for (std::size_t i = 0; i < n_; ++i) high[i] = low[i] + (low[i] - high[i]) * factor;
  }

  // h^m y^(m)/m! at the end of the step for m <= j, from backward differences in row j, extrapolated.
  void differentiate(int j) {
    double factor = 1.0;
    for (int m = 1; m <= j; ++m) {
      factor *= double(substeps(j)) / m;
      for (std::size_t i = 0; i < std::size_t(j - m + 1) * n_; ++i) kept_[i] -= kept_[i + n_];
      for (std::size_t i = 0; i < n_; ++i) derivative(m, j)[i] = factor * kept_[i];
      for (int l = j; l > m; --l) combine(j, l, derivative(m, l - 1), derivative(m, l));
    }
  }

  // The coefficient of (theta - 1)^(k + 1) in the dense output that starts at y. What is algebraic may begin with a
  // value that a change of the state has made wrong, by an amount that no step makes smaller: it starts where the
  // polynomial of its derivatives does.
  void remainder(const double* y, int k, double* c) const {
    for (std::size_t i = 0; i < n_; ++i) c[i] = y[i] - entry(1)[i];
    double sign = -1.0;
    for (int m = 1; m <= k; ++m, sign = -sign)
      for (std::size_t i = 0; i < n_; ++i) c[i] -= sign * derivative(m, m)[i];
    for (std::size_t i = 0; i < n_; ++i) c[i] *= mass_ ? sign * mass_[i] : sign;
  }

  // How far row j > 1 has moved the dense output in the middle of the step. Stiff components that follow their forcing
  // are exact at the substeps whatever the step, so that it would grow until the solution between is lost; this stops
  // it.
  double middle_error(int j) {
    constexpr double s = -0.5;
    remainder(y_.data(), j, g_.data());
    for (int m = j; m >= 0; --m) {
      const double* c = m > 0 ? derivative(m, m) : entry(1);
      for (std::size_t i = 0; i < n_; ++i) g_[i] = g_[i] * s + c[i];
    }
    std::swap(g_, middle_);
    for (std::size_t i = 0; i < n_; ++i) g_[i] -= middle_[i];
    return norm(g_.data());
  }

  void finish(double h, bool last) {
    t_old_ = t_;
    t_ = last ? t_end_ : t_ + h;
    std::swap(y_old_, y_);
    std::copy(entry(1), entry(1) + n_, y_.begin());
    fresh_ = false;
    ++stats_.steps;
  }

  double* entry(int j) { return table_.data() + std::size_t(j - 1) * n_; }
  const double* entry(int j) const { return table_.data() + std::size_t(j - 1) * n_; }
  // m <= j: the m-th derivative from rows m to j
  double* derivative(int m, int j) { return derivatives_.data() + std::size_t((j - 1) * j / 2 + m - 1) * n_; }
  const double* derivative(int m, int j) const {
    return derivatives_.data() + std::size_t((j - 1) * j / 2 + m - 1) * n_;
  }

  Control control_;
  bool autonomous_, fresh_ = false, current_ = false; // f belongs to y; the Jacobian too
  double reuse_, theta_ = 0.0;
  std::vector<double> f_, y_old_, u_, delta_, g_, middle_, table_, derivatives_, kept_;
  double t_jacobian_ = 0.0; // where the Jacobian was evaluated
  std::vector<double> y_jacobian_;
  int columns_ = fixed_column;
  const double* mass_;
  bool settles_;
};

} // namespace gyrod
