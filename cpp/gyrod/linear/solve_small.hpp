// Gaussian elimination with partial pivoting for a few unknowns in any scalar; A is row-major and destroyed, b becomes
// the solution. Plain loops, which is as fast as anything at these sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "gyrod/math/scalar.hpp"

namespace gyrod {

// By what pivots are chosen.
inline double magnitude(double x) { return std::abs(x); }
inline double magnitude(const Complex& x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <int N, class S> void solve_small(S* A, S* b) {
  for (int k = 0; k < N; ++k) {
    int pivot = k;
    for (int i = k + 1; i < N; ++i)
      if (std::abs(value_of(A[i * N + k])) > std::abs(value_of(A[pivot * N + k]))) pivot = i;
    if (pivot != k) {
      for (int j = k; j < N; ++j) std::swap(A[k * N + j], A[pivot * N + j]);
      std::swap(b[k], b[pivot]);
    }
    const S inverse = S(1) / A[k * N + k];
    for (int i = k + 1; i < N; ++i) {
      const S factor = A[i * N + k] * inverse;
      for (int j = k + 1; j < N; ++j) A[i * N + j] -= factor * A[k * N + j];
      b[i] -= factor * b[k];
    }
  }
  for (int i = N - 1; i >= 0; --i) {
    for (int j = i + 1; j < N; ++j) b[i] -= A[i * N + j] * b[j];
    b[i] = b[i] / A[i * N + i];
  }
}

// Eigenvalues of the symmetric part of a small n x n matrix by Jacobi's rotations, into `values`.
inline void symmetric_eigenvalues(const double* from, int n, double* values) {
  double a[16][16];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] = 0.5 * (from[i * n + j] + from[j * n + i]);
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0.0, on = 0.0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) (i == j ? on : off) += a[i][j] * a[i][j];
    if (off <= 1e-24 * on) break;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        if (a[p][q] == 0.0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
        const double t = (theta < 0.0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
        }
      }
  }
  for (int i = 0; i < n; ++i) values[i] = a[i][i];
}

// Negative ones, given the inverse. Those that are zero to rounding do not count.
inline int negative_eigenvalues(const double* inverse, int n) {
  double values[16];
  symmetric_eigenvalues(inverse, n, values);
  int count = 0;
  double least = std::abs(values[0]);
  for (int i = 1; i < n; ++i) least = std::min(least, std::abs(values[i]));
  for (int i = 0; i < n; ++i) count += values[i] < 0.0 && -values[i] < 1e13 * least;
  return count;
}

} // namespace gyrod
