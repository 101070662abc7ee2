#include "gyrod/integrate/callback.hpp"

#include <algorithm>
#include <cmath>

namespace gyrod {
namespace {
template <class S> bool factor_with(BlockLu<S>& lu, S shift, const std::vector<double>& J) {
  auto A = lu.block(0, 0);
  const double* at = J.data();
  for (int j = 0; j < A.cols(); ++j)
    for (int i = 0; i < A.rows(); ++i) A(i, j) = (i == j ? shift : S(0)) - *at++;
  return lu.factor();
}
} // namespace

CallbackEquations::CallbackEquations(std::size_t n, Function rhs, Function jacobian)
    : n_(n), rhs_(std::move(rhs)), jacobian_(std::move(jacobian)), J_(n * n), pattern_({int(n)}, {}), real_(pattern_),
      complex_(pattern_), f0_(n), f1_(n), y_(n) {}

void CallbackEquations::time_derivative(double t, const double* y, double* ft) {
  const double d = std::sqrt(2.2e-16 * std::max(1e-5, std::abs(t)));
  rhs_(t, y, f0_.data());
  rhs_(t + d, y, ft);
  for (std::size_t i = 0; i < n_; ++i) ft[i] = (ft[i] - f0_[i]) / d;
}

void CallbackEquations::jacobian(double t, const double* y) {
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

bool CallbackEquations::factor(double shift) { return factor_with(real_, shift, J_); }
bool CallbackEquations::factor(Complex shift) { return factor_with(complex_, shift, J_); }
void CallbackEquations::solve(double* b) { real_.solve(b); }
void CallbackEquations::solve_transposed(double* b) { real_.solve_transposed(b); }
void CallbackEquations::solve(Complex* b) { complex_.solve(b); }

} // namespace gyrod
