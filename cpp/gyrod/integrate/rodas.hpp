// RODAS: Rosenbrock method of order 4(3) with six stages, stiffly accurate, and the step control of the published code
// (Hairer, Wanner II, IV.7 and IV.10). Stages solve
//   (1/(h gamma) - J) k_i = f(t + c_i h, y + sum a_ij k_j) + sum (C_ij/h) k_j + h d_i df/dt.
// Differential-algebraic systems M y' = f of index 1 are solved too: M stands before 1/(h gamma) and C_ij/h.
#pragma once

#include <utility>

#include "gyrod/integrate/integrator.hpp"

namespace gyrod {

class Rodas final : public Integrator {
  static constexpr int stages = 6;
  static constexpr double gamma = 0.25;
  static constexpr double c[6] = {0, 0.386, 0.21, 0.63, 1, 1};
  static constexpr double d[6] = {0.25, -0.1043, 0.1035, -0.0362, 0, 0};
  static constexpr double a[6][5] = {
      {},
      {1.544},
      {0.9466785280815826, 0.2557011698983284},
      {3.314825187068521, 2.896124015972201, 0.9986419139977817},
      {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895},
      {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0}};
  static constexpr double C[6][5] = {
      {},
      {-5.6688},
      {-2.430093356833875, -0.2063599157091915},
      {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
      {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616},
      {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}};
  static constexpr double dense2[5] = {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
                                       1.025137723295662};
  static constexpr double dense3[5] = {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
                                       -6.594389125716872};

public:
  Rodas(Equations& e, const StepOptions& o)
      : Integrator(e, o), k_(std::size_t(stages) * n_), f0_(n_), ft_(n_), stage_(n_), y_old_(n_), mass_(e.mass()) {}

  bool advance() override {
    const bool fixed = options_.step > 0;
    rhs(t_, y_.data(), f0_.data());
    equations_.jacobian(t_, y_.data());
    equations_.time_derivative(t_, y_.data(), ft_.data());
    ++stats_.jacobians;
    bool rejected = false;
    for (;;) {
      double h = fixed ? options_.step : std::min(h_, longest());
      if (too_small(h)) return false;
      const bool last = t_ + 1.0001 * h >= t_end_;
      if (last) h = t_end_ - t_;
      ++stats_.factorizations;
      double err = std::numeric_limits<double>::quiet_NaN();
      if (equations_.factor(1.0 / (h * gamma))) {
        stages_of(h);
        weigh(y_.data(), stage_.data());
        err = fixed ? 0.0 : norm(k(5));
      } else if (fixed) {
        return false;
      }
      if (err <= 1.0) {
        accept(h, err, last, rejected);
        return true;
      }
      h_ = std::isfinite(err) ? h / std::clamp(std::pow(err, 0.25) / safety, grow, shrink) : 0.1 * h;
      rejected = true;
      ++stats_.rejected;
    }
  }

  void changed() override {} // f and the Jacobian are evaluated at the beginning of every step

  std::size_t dense_rows() const override { return 4; }

  void dense(double* rows) override {
    for (std::size_t i = 0; i < n_; ++i) {
      double second = 0.0, third = 0.0;
      for (int s = 0; s < 5; ++s) {
        second += dense2[s] * k_[std::size_t(s) * n_ + i];
        third += dense3[s] * k_[std::size_t(s) * n_ + i];
      }
      rows[i] = y_old_[i];
      rows[n_ + i] = stage_[i];
      rows[2 * n_ + i] = second;
      rows[3 * n_ + i] = third;
    }
  }

  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      const double *y0 = rows, *y1 = rows + n, *second = rows + 2 * n, *third = rows + 3 * n;
      for (std::size_t i = 0; i < n; ++i)
        y[i] = (1.0 - theta) * y0[i] + theta * (y1[i] + (1.0 - theta) * (second[i] + theta * third[i]));
    };
  }

private:
  static constexpr double safety = 0.9, shrink = 5.0, grow = 1.0 / 6.0;

  void start() override {
    h_ = options_.step > 0         ? options_.step
         : options_.first_step > 0 ? options_.first_step
                                   : std::min(1e-6, t_end_ - t_);
    accepted_ = false;
  }

  void state(Archive& a) override { a(accepted_, h_accepted_, err_accepted_); }

  double* k(int s) { return k_.data() + std::size_t(s) * n_; }

  // On return `stage_` is the new solution and k(5) the error estimate.
  void stages_of(double h) {
    [&]<int... s>(std::integer_sequence<int, s...>) { (stage<s>(h), ...); }(std::make_integer_sequence<int, stages>());
    for (std::size_t i = 0; i < n_; ++i) stage_[i] += k(5)[i];
  }

  // Stage s; its number is known to the compiler, which makes the sums one pass over memory.
  template <int s> void stage(double h) {
    const double *k0 = k(0), *k1 = k(1), *k2 = k(2), *k3 = k(3), *k4 = k(4);
    const auto sum = [&](const double (&w)[5], std::size_t i) {
      double x = 0.0;
      if constexpr (s > 0) x += w[0] * k0[i];
      if constexpr (s > 1) x += w[1] * k1[i];
      if constexpr (s > 2) x += w[2] * k2[i];
      if constexpr (s > 3) x += w[3] * k3[i];
      if constexpr (s > 4) x += w[4] * k4[i];
      return x;
    };
    double* __restrict b = k(s);
    double* __restrict stage = stage_.data();
    if constexpr (s == 0) {
      std::copy(f0_.begin(), f0_.end(), b);
    } else {
      over_state([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) stage[i] = y_[i] + sum(a[s], i);
      });
      rhs(t_ + c[s] * h, stage_.data(), b);
    }
    const double inverse = 1.0 / h;
    over_state([&](std::size_t begin, std::size_t end) {
      if (mass_)
        for (std::size_t i = begin; i < end; ++i) b[i] += inverse * mass_[i] * sum(C[s], i) + h * d[s] * ft_[i];
      else
        for (std::size_t i = begin; i < end; ++i) b[i] += inverse * sum(C[s], i) + h * d[s] * ft_[i];
    });
    equations_.solve(b);
    ++stats_.solves;
  }

  void accept(double h, double err, bool last, bool rejected) {
    double fac = std::clamp(std::pow(err, 0.25) / safety, grow, shrink);
    if (accepted_ && !options_.classical) { // Gustafsson's predictive controller
      const double predicted = (h_accepted_ / h) * std::pow(err * err / err_accepted_, 0.25) / safety;
      fac = std::max(fac, std::clamp(predicted, grow, shrink));
    }
    accepted_ = true, h_accepted_ = h, err_accepted_ = std::max(1e-2, err);
    h_ = h / fac;
    if (rejected) h_ = std::min(h_, h);
    t_old_ = t_;
    t_ = last ? t_end_ : t_ + h;
    std::swap(y_old_, y_);
    std::copy(stage_.begin(), stage_.end(), y_.begin());
    ++stats_.steps;
  }

  std::vector<double> k_, f0_, ft_, stage_, y_old_;
  const double* mass_;
  bool accepted_ = false;
  double h_accepted_ = 0.0, err_accepted_ = 0.0;
};

} // namespace gyrod
