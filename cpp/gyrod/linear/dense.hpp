// Dense matrices of any size, column by column: LU with row pivots, products, and what rests on them.
#pragma once

#include <stdexcept>
#include <vector>

#include "gyrod/math/matrix.hpp"

namespace gyrod {

// A <- LU in place, n x n; false: singular or not finite, and A is of no use.
template <class S> [[nodiscard]] bool factor_dense(int n, S* A, int* pivots);
// b <- A^-1 b after factor_dense.
template <class S> void solve_dense(int n, const S* A, const int* pivots, S* b);
// The same of A'.
template <class S> void solve_dense_transposed(int n, const S* A, const int* pivots, S* b);
// y -= A' x, with A (m x n).
template <class S> void subtract_transposed(int m, int n, const S* A, const S* x, S* y);
// C -= A B, with A (m x k), B (k x n).
template <class S> void subtract_product(int m, int k, int n, const S* A, const S* B, S* C);

// a of M a = psi - G' lambda, G a = -second, for G of any rank: by a numerical null space of its rows. M (n x n), Gt (n
// x rows). false: M is singular there.
[[nodiscard]] bool accelerate_by_nullspace(int n, int rows, const double* M, const double* Gt, const double* second,
                                           const double* psi, double* a);

// df/dy, row by row, of a system that solves (shift M - df/dy) x = b, from the solutions for all unit vectors; M is
// diagonal or null. For tests, spectra and comparisons.
template <class System> void jacobian_by_solutions(System& system, double t, const double* y, double* J) {
  const std::size_t n = system.size();
  system.jacobian(t, y);
  double shift = 1.0;
  bool factored = system.factor(shift);
  for (int k = 0; k < 60 && !factored; ++k) factored = system.factor(shift *= 1.7);
  std::vector<double> X(n * n, 0.0), column(n);
  std::vector<int> pivots(n);
  for (std::size_t j = 0; j < n && factored; ++j) {
    X[j * n + j] = 1.0;
    system.solve(X.data() + j * n);
  }
  if (!factored || !factor_dense(int(n), X.data(), pivots.data()))
    throw std::domain_error("the matrix of the system is singular or not finite here");
  for (std::size_t j = 0; j < n; ++j) {
    column.assign(n, 0.0);
    column[j] = 1.0;
    solve_dense(int(n), X.data(), pivots.data(), column.data());
    for (std::size_t i = 0; i < n; ++i) J[i * n + j] = -column[i];
    J[j * n + j] += shift * (system.mass() ? system.mass()[j] : 1.0);
  }
}

} // namespace gyrod
