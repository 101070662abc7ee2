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

// a <- a^-1, n x n with n <= 6, column by column, by Gauss and Jordan with row pivots; false: singular or not finite.
template <class S> bool invert(int n, S* a) {
  int pivots[6];
  const auto at = [&](int i, int j) -> S& { return a[i + j * n]; };
  for (int k = 0; k < n; ++k) {
    int best = k;
    double largest = magnitude(at(k, k));
    for (int i = k + 1; i < n; ++i)
      if (const double v = magnitude(at(i, k)); v > largest) largest = v, best = i;
    if (!(largest > 0.0) || !std::isfinite(largest)) return false;
    pivots[k] = best;
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
    const S pivot = S(1) / at(k, k);
    S column[6];
    for (int i = 0; i < n; ++i) column[i] = i == k ? S(0) : at(i, k), at(i, k) = S(0);
    at(k, k) = S(1);
    for (int j = 0; j < n; ++j) {
      const S x = at(k, j) * pivot;
      for (int i = 0; i < n; ++i) at(i, j) -= column[i] * x;
      at(k, j) = x;
    }
  }
  for (int k = n - 1; k >= 0; --k)
    if (pivots[k] != k)
      for (int i = 0; i < n; ++i) std::swap(at(i, k), at(i, pivots[k]));
  return true;
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
