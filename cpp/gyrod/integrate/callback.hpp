// A system given by functions, with a dense Jacobian: the door for any small system of equations.
#pragma once

#include <Eigen/Dense>

#include <functional>
#include <vector>

#include "gyrod/equations.hpp"

namespace gyrod {

class CallbackEquations final : public Equations {
public:
  using Function = std::function<void(double, const double*, double*)>; // y' or the row-major Jacobian
  CallbackEquations(std::size_t n, Function rhs, Function jacobian)
      : n_(n), rhs_(std::move(rhs)), jacobian_(std::move(jacobian)), J_(n, n), f0_(n), f1_(n), y_(n) {}

  std::size_t size() const override { return n_; }
  void rhs(double t, const double* y, double* dy) override { rhs_(t, y, dy); }
  bool autonomous() const override { return false; }

  void time_derivative(double t, const double* y, double* ft) override {
    const double d = std::sqrt(2.2e-16 * std::max(1e-5, std::abs(t)));
    rhs_(t, y, f0_.data());
    rhs_(t + d, y, ft);
    for (std::size_t i = 0; i < n_; ++i) ft[i] = (ft[i] - f0_[i]) / d;
  }

  void jacobian(double t, const double* y) override {
    if (jacobian_) {
      jacobian_(t, y, J_.data());
      J_.transposeInPlace(); // it came row by row
      return;
    }
    rhs_(t, y, f0_.data());
    std::copy(y, y + n_, y_.begin());
    for (std::size_t j = 0; j < n_; ++j) {
      const double d = std::sqrt(2.2e-16 * std::max(1e-5, std::abs(y[j])));
      y_[j] = y[j] + d;
      rhs_(t, y_.data(), f1_.data());
      for (std::size_t i = 0; i < n_; ++i) J_(Eigen::Index(i), Eigen::Index(j)) = (f1_[i] - f0_[i]) / d;
      y_[j] = y[j];
    }
  }

  bool factor(double shift) override {
    A_ = -J_;
    A_.diagonal().array() += shift;
    real_.compute(A_);
    return regular(real_.matrixLU().diagonal().cwiseAbs());
  }
  bool factor(Complex shift) override {
    B_ = -J_.cast<Complex>();
    B_.diagonal().array() += shift;
    complex_.compute(B_);
    return regular(complex_.matrixLU().diagonal().cwiseAbs());
  }
  void solve(double* b) override {
    Eigen::Map<Eigen::VectorXd> x(b, Eigen::Index(n_));
    a_ = real_.solve(x);
    x = a_;
  }
  void solve(Complex* b) override {
    Eigen::Map<Eigen::VectorXcd> x(b, Eigen::Index(n_));
    b_ = complex_.solve(x);
    x = b_;
  }

private:
  template <class V> static bool regular(const V& pivots) { return pivots.minCoeff() > 0.0 && pivots.allFinite(); }

  std::size_t n_;
  Function rhs_, jacobian_;
  Eigen::MatrixXd J_, A_;
  Eigen::MatrixXcd B_;
  Eigen::VectorXd a_;
  Eigen::VectorXcd b_;
  std::vector<double> f0_, f1_, y_;
  Eigen::PartialPivLU<Eigen::MatrixXd> real_;
  Eigen::PartialPivLU<Eigen::MatrixXcd> complex_;
};

} // namespace gyrod
