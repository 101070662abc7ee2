// A system given by functions, with a dense Jacobian: the door for any small system of equations.
#pragma once

#include <functional>
#include <vector>

#include "gyrod/integrate/equations.hpp"
#include "gyrod/linear/block_lu.hpp"

namespace gyrod {

class CallbackEquations final : public Equations {
public:
  using Function = std::function<void(double, const double*, double*)>; // y' or the row-major Jacobian
  CallbackEquations(std::size_t n, Function rhs, Function jacobian)
      : n_(n), rhs_(std::move(rhs)), jacobian_(std::move(jacobian)), J_(n * n), pattern_({int(n)}, {}), real_(pattern_),
        complex_(pattern_), f0_(n), f1_(n), y_(n) {}

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
      for (std::size_t i = 0; i < n_; ++i) // it came row by row
        for (std::size_t j = 0; j < i; ++j) std::swap(J_[i * n_ + j], J_[j * n_ + i]);
      return;
    }
    rhs_(t, y, f0_.data());
    std::copy(y, y + n_, y_.begin());
    for (std::size_t j = 0; j < n_; ++j) {
      const double d = std::sqrt(2.2e-16 * std::max(1e-5, std::abs(y[j])));
      y_[j] = y[j] + d;
      rhs_(t, y_.data(), f1_.data());
      for (std::size_t i = 0; i < n_; ++i) J_[j * n_ + i] = (f1_[i] - f0_[i]) / d;
      y_[j] = y[j];
    }
  }

  bool factor(double shift) override { return factor_with(real_, shift); }
  bool factor(Complex shift) override { return factor_with(complex_, shift); }
  void solve(double* b) override { real_.solve(b); }
  void solve_transposed(double* b) override { real_.solve_transposed(b); }
  void solve(Complex* b) override { complex_.solve(b); }

private:
  template <class S> bool factor_with(BlockLu<S>& lu, S shift) {
    auto A = lu.block(0, 0);
    for (int j = 0; j < A.cols(); ++j)
      for (int i = 0; i < A.rows(); ++i) A(i, j) = (i == j ? shift : S(0)) - J_[std::size_t(j) * n_ + std::size_t(i)];
    return lu.factor();
  }

  std::size_t n_;
  Function rhs_, jacobian_;
  std::vector<double> J_;
  BlockPattern pattern_;
  BlockLu<double> real_;
  BlockLu<Complex> complex_;
  std::vector<double> f0_, f1_, y_;
};

} // namespace gyrod
