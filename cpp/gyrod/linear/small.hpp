// Gaussian elimination with partial pivoting for a few unknowns in any scalar; A is row-major and destroyed, b becomes
// the solution. Plain loops: Eigen's LU takes the compiler a minute in dual numbers and is no faster at these sizes.
#pragma once

#include <cmath>
#include <utility>

#include "gyrod/scalar.hpp"

namespace gyrod {

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

} // namespace gyrod
