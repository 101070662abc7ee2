// Dormand-Prince 5(4) with the step control of the code DOPRI5 (Hairer, Norsett, Wanner I): PI controller, root mean
// square norm, dense output of order 4.
#pragma once

#include "gyrod/integrate/integrator.hpp"
#include "gyrod/integrate/tableau.hpp"

namespace gyrod {

class Dopri5 final : public Integrator {
  using Pair = DormandPrince54;
  static constexpr int stages = Pair::stages;

public:
  Dopri5(Equations& e, const StepOptions& o)
      : Integrator(e, o), k_(std::size_t(stages) * n_), y_old_(n_), y_new_(n_), error_(n_) {}

  bool advance() override {
    constexpr double safety = 0.9, beta = 0.04, exponent = 0.2 - 0.75 * beta, shrink = 5.0, grow = 0.1;
    const bool fixed = options_.step > 0;
    bool rejected = false;
    for (;;) {
      double h = fixed ? options_.step : std::min(h_, longest());
      if (too_small(h)) return false;
      const bool last = t_ + 1.01 * h >= t_end_;
      if (last) h = t_end_ - t_;
      stages_of(h);
      weigh(y_.data(), y_new_.data());
      const double err = fixed ? 0.0 : norm(error_.data());
      const double fac11 = std::pow(err, exponent);
      if (err <= 1.0) {
        const double fac = std::clamp(fac11 / std::pow(err_old_, beta) / safety, grow, shrink);
        err_old_ = std::max(err, 1e-4);
        h_ = fixed ? options_.step : h / fac;
        if (rejected) h_ = std::min(h_, h);
        t_old_ = t_;
        t_ = last ? t_end_ : t_ + h;
        std::swap(y_old_, y_);
        std::swap(y_, y_new_);
        ++stats_.steps;
        fresh_ = true;
        return true;
      }
      h_ = std::isfinite(err) ? h / std::min(shrink, fac11 / safety) : 0.1 * h;
      rejected = true;
      ++stats_.rejected;
    }
  }

  void changed() override { rhs(t_, y_.data(), f_next()); }

  std::size_t dense_rows() const override { return 1 + Pair::dense_degree; }

  void dense(double* rows) override {
    for (std::size_t i = 0; i < n_; ++i) {
      rows[i] = y_old_[i];
      for (int m = 0; m < Pair::dense_degree; ++m) {
        double sum = 0.0;
        for (int s = 0; s < stages; ++s) sum += Pair::dense[s][m] * k_[std::size_t(s) * n_ + i];
        rows[std::size_t(m + 1) * n_ + i] = sum;
      }
    }
  }

  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double h, double* y) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int m = Pair::dense_degree; m > 0; --m) sum = (sum + rows[std::size_t(m) * n + i]) * theta;
        y[i] = rows[i] + h * sum;
      }
    };
  }

private:
  void start() override {
    rhs(t_, y_.data(), k(0));
    fresh_ = false;
    err_old_ = 1e-4;
    h_ = first_step(Pair::order, k(0), y_new_.data(), k(1));
  }

  void state(Archive& a) override { a(k_, err_old_, fresh_); }

  double* k(int s) { return k_.data() + std::size_t(s) * n_; }
  // The last stage is f at the new point; it moves to the front when the next step begins, so that the stages of
  // this one stay for the dense output.
  double* f_next() { return fresh_ ? k(stages - 1) : k(0); }

  void stages_of(double h) {
    if (fresh_) {
      std::copy(k(stages - 1), k(stages - 1) + n_, k(0));
      fresh_ = false;
    }
    stage<1>(h), stage<2>(h), stage<3>(h), stage<4>(h), stage<5>(h), stage<6>(h);
    const double* k0 = k_.data();
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = 0.0;
      for (int s = 0; s < stages; ++s) sum += Pair::e[s] * k0[std::size_t(s) * n_ + i];
      error_[i] = h * sum;
    }
  }

  // The number of the stage is known to the compiler: the sum over the earlier ones is unrolled.
  template <int s> void stage(double h) {
    const double* k0 = k_.data();
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = 0.0;
      for (int j = 0; j < s; ++j) sum += Pair::a[s][j] * k0[std::size_t(j) * n_ + i];
      y_new_[i] = y_[i] + h * sum;
    }
    rhs(t_ + Pair::c[s] * h, y_new_.data(), k(s));
  }

  std::vector<double> k_, y_old_, y_new_, error_;
  double err_old_ = 1e-4;
  bool fresh_ = false;
};

} // namespace gyrod
