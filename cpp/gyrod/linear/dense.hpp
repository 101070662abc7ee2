// Dense matrices of any size, row-major: for tests, spectra and comparisons only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gyrod {

// Inverse by Gauss-Jordan elimination with partial pivoting.
inline std::vector<double> inverse_dense(std::vector<double> A, std::size_t n) {
  std::vector<double> X(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) X[i * n + i] = 1.0;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(&A[k * n], &A[k * n] + n, &A[pivot * n]);
      std::swap_ranges(&X[k * n], &X[k * n] + n, &X[pivot * n]);
    }
    const double scale = 1.0 / A[k * n + k];
    for (std::size_t j = 0; j < n; ++j) A[k * n + j] *= scale, X[k * n + j] *= scale;
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = A[i * n + k];
      if (i == k || factor == 0.0) continue;
      for (std::size_t j = 0; j < n; ++j) A[i * n + j] -= factor * A[k * n + j], X[i * n + j] -= factor * X[k * n + j];
    }
  }
  return X;
}

// df/dy of a system that solves (shift M - df/dy) x = b, from the solutions for all unit vectors; M diagonal or null.
template <class System> void jacobian_by_solutions(System& system, double t, const double* y, double* J) {
  const std::size_t n = system.size();
  system.jacobian(t, y);
  double shift = 1.0;
  for (int k = 0; k < 60 && !system.factor(shift); ++k) shift *= 1.7;
  std::vector<double> X(n * n), column(n);
  for (std::size_t j = 0; j < n; ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    column[j] = 1.0;
    system.solve(column.data());
    for (std::size_t i = 0; i < n; ++i) X[i * n + j] = column[i];
  }
  const std::vector<double> D = inverse_dense(std::move(X), n);
  for (std::size_t i = 0; i < n * n; ++i) J[i] = -D[i];
  for (std::size_t i = 0; i < n; ++i) J[i * n + i] += shift * (system.mass() ? system.mass()[i] : 1.0);
}

} // namespace gyrod
