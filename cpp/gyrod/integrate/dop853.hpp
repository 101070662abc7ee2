// Dormand-Prince 8(5,3) with the step control of the code DOP853 (Hairer, Norsett, Wanner I): an error estimate that
// joins order 5 and order 3, elementary controller, root mean square norm, dense output of order 7.
#pragma once

#include "gyrod/integrate/integrator.hpp"
#include "gyrod/integrate/tableau853.hpp"

namespace gyrod {

class Dop853 final : public Integrator {
  using Pair = DormandPrince853;
  static constexpr int stages = Pair::stages, all_stages = Pair::all_stages;

public:
  Dop853(Equations& e, const StepOptions& o)
      : Integrator(e, o), k_(std::size_t(all_stages) * n_), y_old_(n_), y_new_(n_), error_(n_) {}

  bool advance() override {
    constexpr double safety = 0.9, exponent = 1.0 / Pair::control_order, shrink = 1.0 / 0.333, grow = 1.0 / 6.0;
    const bool fixed = options_.step > 0;
    bool rejected = false;
    take_over();
    for (;;) {
      double h = fixed ? options_.step : std::min(h_, longest());
      if (too_small(h)) return false;
      const bool last = t_ + 1.01 * h >= t_end_;
      if (last) h = t_end_ - t_;
      stages_of(h, std::make_integer_sequence<int, stages - 1>());
      const double err = fixed ? 0.0 : error_of(h);
      const double fac = std::pow(err, exponent) / safety;
      if (err <= 1.0) {
        h_ = fixed ? options_.step : h / std::clamp(fac, rejected ? 1.0 : grow, shrink);
        accept(h, last);
        return true;
      }
      h_ = std::isfinite(err) ? h / std::min(shrink, fac) : 0.1 * h;
      rejected = true;
      ++stats_.rejected;
    }
  }

  void changed() override { rhs(t_, y_.data(), fresh_ ? k(stages) : k(0)); }

  std::size_t dense_rows() const override { return Pair::dense_rows; }

  void dense(double* rows) override {
    const double h = h_done_;
    for (int s = stages + 1; s < all_stages; ++s) { // what only the dense output needs
      argument(s, h, y_old_.data(), y_new_.data());
      rhs(t_old_ + Pair::c[s] * h, y_new_.data(), k(s));
    }
    const double *f_old = k_.data(), *f_new = k_.data() + std::size_t(stages) * n_;
    for (std::size_t i = 0; i < n_; ++i) {
      const double step = y_[i] - y_old_[i], bend = h * f_old[i] - step;
      rows[i] = y_old_[i];
      rows[n_ + i] = step;
      rows[2 * n_ + i] = bend;
      rows[3 * n_ + i] = step - h * f_new[i] - bend;
    }
    for (std::size_t m = 0; m < 4; ++m) {
      double* row = rows + (4 + m) * n_;
      weighted(Pair::dense[m], all_stages, row);
      for (std::size_t i = 0; i < n_; ++i) row[i] *= h;
    }
  }

  // r0 + s (r1 + (1-s) (r2 + s (r3 + (1-s) (r4 + ...))))
  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int m = Pair::dense_rows - 1; m > 0; --m)
          sum = (sum + rows[std::size_t(m) * n + i]) * (m % 2 ? theta : 1.0 - theta);
        y[i] = rows[i] + sum;
      }
    };
  }

private:
  void start() override {
    fresh_ = false;
    rhs(t_, y_.data(), k(0));
    h_ = first_step(Pair::order, k(0), y_new_.data(), k(1));
  }

  void state(Archive& a) override { a(k_, fresh_); }

  double* k(int s) { return k_.data() + std::size_t(s) * n_; }

  // f at the new point becomes the first stage only when the next step begins, so that the stages of this one stay
  // for the dense output.
  void take_over() {
    if (fresh_) std::copy(k(stages), k(stages) + n_, k(0));
    fresh_ = false;
  }

  // Weighted sum of the first `count` stages; the outer loop is over stages because many weights are zero.
  void weighted(const double* weights, int count, double* sum) const {
    std::fill(sum, sum + n_, 0.0);
    for (int j = 0; j < count; ++j) {
      if (weights[j] == 0.0) continue;
      const double w = weights[j], *kj = k_.data() + std::size_t(j) * n_;
      for (std::size_t i = 0; i < n_; ++i) sum[i] += w * kj[i];
    }
  }

  // y + h (row s of the tableau)
  void argument(int s, double h, const double* y, double* result) const {
    weighted(Pair::a[s], s, result);
    for (std::size_t i = 0; i < n_; ++i) result[i] = y[i] + h * result[i];
  }

  // The same with the number of the stage known to the compiler, which leaves out what has no weight: for small systems
  // these sums take as long as their right-hand sides.
  template <int s, int... j> static double row(const double* k, std::size_t n, std::integer_sequence<int, j...>) {
    double sum = 0.0;
    ((Pair::a[s][j] == 0.0 ? void() : void(sum += Pair::a[s][j] * k[std::size_t(j) * n])), ...);
    return sum;
  }
  template <int s> void next(double h) {
    const double* k0 = k_.data();
    for (std::size_t i = 0; i < n_; ++i)
      y_new_[i] = y_[i] + h * row<s>(k0 + i, n_, std::make_integer_sequence<int, s>());
  }
  template <int... s> void stages_of(double h, std::integer_sequence<int, s...>) {
    ((next<s + 1>(h), rhs(t_ + Pair::c[s + 1] * h, y_new_.data(), k(s + 1))), ...);
    next<stages>(h);
  }

  // The estimate of order 5, damped by the one of order 3: h e5^2 / sqrt(e5^2 + (e3/10)^2) behaves like h^8.
  double error_of(double h) {
    weigh(y_.data(), y_new_.data());
    weighted(Pair::e5, stages, error_.data());
    const double five = norm(error_.data());
    weighted(Pair::e3, stages, error_.data());
    const double both = std::sqrt(five * five + 0.01 * std::pow(norm(error_.data()), 2));
    return both == 0.0 ? 0.0 : h * five * (five / both);
  }

  void accept(double h, bool last) {
    t_old_ = t_, h_done_ = h;
    t_ = last ? t_end_ : t_ + h;
    std::swap(y_old_, y_);
    std::swap(y_, y_new_);
    ++stats_.steps;
    rhs(t_, y_.data(), k(stages));
    fresh_ = true;
  }

  std::vector<double> k_, y_old_, y_new_, error_;
  double h_done_ = 0.0;
  bool fresh_ = false;
};

} // namespace gyrod
