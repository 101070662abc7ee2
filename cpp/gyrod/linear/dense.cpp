#include "gyrod/linear/dense.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "gyrod/linear/solve_small.hpp"

namespace gyrod {
namespace {

template <class S> void subtract_multiple(int n, S factor, const S* __restrict x, S* __restrict y) {
  for (int i = 0; i < n; ++i) y[i] -= factor * x[i];
}

double dot(std::size_t n, const double* x, const double* y) {
  double s = 0.0;
  for (std::size_t i = 0; i < n; ++i) s += x[i] * y[i];
  return s;
}

// A P = Q R by Householder's reflections with column pivoting. Rank: diagonal entries of R above `threshold` of the
// largest.
struct PivotedQr {
  std::size_t n, rank = 0;
  std::vector<double> A;                // R above, reflections below (and on) the diagonal
  std::vector<double> diagonal, beta;   // of R, of the reflections
  std::vector<std::size_t> permutation; // column of A that stands at a place

  PivotedQr(const double* a, std::size_t rows, std::size_t cols, double threshold)
      : n(rows), A(a, a + rows * cols), permutation(cols) {
    std::iota(permutation.begin(), permutation.end(), std::size_t(0));
    for (std::size_t k = 0; k < std::min(rows, cols); ++k) {
      const auto rest = [&](std::size_t j) { return dot(n - k, &A[j * n + k], &A[j * n + k]); };
      std::size_t best = k;
      for (std::size_t j = k + 1; j < cols; ++j)
        if (rest(j) > rest(best)) best = j;
      std::swap(permutation[k], permutation[best]);
      if (best != k) std::swap_ranges(&A[k * n], &A[k * n] + n, &A[best * n]);
      double* v = &A[k * n + k];
      const double length = std::sqrt(rest(k));
      if (!(length > threshold * (diagonal.empty() ? 0.0 : std::abs(diagonal[0])))) break;
      diagonal.push_back(v[0] > 0.0 ? -length : length);
      v[0] -= diagonal[k];
      beta.push_back(2.0 / dot(n - k, v, v));
      for (std::size_t j = k + 1; j < cols; ++j) reflect(k, &A[j * n]);
      ++rank;
    }
  }
  void reflect(std::size_t k, double* x) const {
    const double* v = &A[k * n + k];
    subtract_multiple(int(n - k), beta[k] * dot(n - k, v, x + k), v, x + k);
  }
  // Column j of Q.
  void column(std::size_t j, double* q) const {
    std::fill_n(q, n, 0.0);
    q[j] = 1.0;
    for (std::size_t k = rank; k-- > 0;) reflect(k, q);
  }
};

} // namespace

// Four columns of A at a time, so that C is loaded and stored a quarter as often.
template <class S>
void subtract_product(int m, int k, int n, const S* __restrict A, const S* __restrict B, S* __restrict C) {
  for (int j = 0; j < n; ++j) {
    S* __restrict c = C + j * m;
    const S* b = B + j * k;
    int l = 0;
    for (; l + 4 <= k; l += 4) {
      const S b0 = b[l], b1 = b[l + 1], b2 = b[l + 2], b3 = b[l + 3];
      const S *a0 = A + l * m, *a1 = a0 + m, *a2 = a1 + m, *a3 = a2 + m;
      for (int i = 0; i < m; ++i) c[i] -= a0[i] * b0 + a1[i] * b1 + a2[i] * b2 + a3[i] * b3;
    }
    for (; l < k; ++l) subtract_multiple(m, b[l], A + l * m, c);
  }
}

template <class S> bool factor_dense(int n, S* A, int* pivots) {
  for (int k = 0; k < n; ++k) {
    S* col = A + k * n;
    int best = k;
    double largest = magnitude(col[k]);
    for (int i = k + 1; i < n; ++i)
      if (const double v = magnitude(col[i]); v > largest) largest = v, best = i;
    pivots[k] = best;
    if (!(largest > 0.0) || !std::isfinite(largest)) return false;
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(A[k + j * n], A[best + j * n]);
    const S inverse = S(1) / col[k];
    for (int i = k + 1; i < n; ++i) col[i] *= inverse;
    for (int j = k + 1; j < n; ++j)
      if (const S f = A[k + j * n]; f != S(0)) subtract_multiple(n - k - 1, f, col + k + 1, A + j * n + k + 1);
  }
  return true;
}

template <class S> void solve_dense(int n, const S* A, const int* pivots, S* b) {
  for (int k = 0; k < n; ++k)
    if (pivots[k] != k) std::swap(b[k], b[pivots[k]]);
  for (int k = 0; k < n; ++k)
    if (b[k] != S(0)) subtract_multiple(n - k - 1, b[k], A + k * n + k + 1, b + k + 1);
  for (int k = n - 1; k >= 0; --k) {
    b[k] /= A[k * n + k];
    subtract_multiple(k, b[k], A + k * n, b);
  }
}

template <class S> void solve_dense_transposed(int n, const S* A, const int* pivots, S* b) {
  const auto less = [&](int k, int from, int to) {
    for (int i = from; i < to; ++i) b[k] -= A[i + k * n] * b[i];
  };
  for (int k = 0; k < n; ++k) less(k, 0, k), b[k] /= A[k * n + k];
  for (int k = n - 1; k >= 0; --k) less(k, k + 1, n);
  for (int k = n - 1; k >= 0; --k)
    if (pivots[k] != k) std::swap(b[k], b[pivots[k]]);
}
template <class S> void subtract_transposed(int m, int n, const S* A, const S* x, S* y) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) y[j] -= A[i + j * m] * x[i];
}

template void solve_dense_transposed(int, const double*, const int*, double*);
template void solve_dense_transposed(int, const Complex*, const int*, Complex*);
template void subtract_transposed(int, int, const double*, const double*, double*);
template void subtract_transposed(int, int, const Complex*, const Complex*, Complex*);
template bool factor_dense(int, double*, int*);
template bool factor_dense(int, Complex*, int*);
template void solve_dense(int, const double*, const int*, double*);
template void solve_dense(int, const Complex*, const int*, Complex*);
template void subtract_product(int, int, int, const double*, const double*, double*);
template void subtract_product(int, int, int, const Complex*, const Complex*, Complex*);

bool accelerate_by_nullspace(int size, int rows, const double* M, const double* Gt, const double* second,
                             const double* psi, double* a) {
  const std::size_t n = std::size_t(size);
  const PivotedQr qr(Gt, n, std::size_t(rows), 1e-9);
  const std::size_t rank = qr.rank, free = n - rank;
  // G a = -second by a combination of the first columns of Q: R' z = P' second.
  std::vector<double> z(rank), q(n), T(n * free), MT(n * free), rest(psi, psi + n);
  std::fill_n(a, n, 0.0);
  for (std::size_t k = 0; k < rank; ++k) {
    const double* column = &qr.A[k * n];
    z[k] = (second[qr.permutation[k]] - dot(k, column, z.data())) / qr.diagonal[k];
    qr.column(k, q.data());
    subtract_multiple(size, z[k], q.data(), a);
  }
  // Along the null space T of G: T' M T nu = T' (psi - M a).
  subtract_product(size, size, 1, M, a, rest.data());
  std::vector<double> K(free * free), nu(free);
  std::vector<int> pivots(free);
  for (std::size_t j = 0; j < free; ++j) qr.column(rank + j, &T[j * n]);
  subtract_product(size, size, int(free), M, T.data(), MT.data());
  for (std::size_t j = 0; j < free; ++j) {
    nu[j] = dot(n, &T[j * n], rest.data());
    for (std::size_t i = 0; i < free; ++i) K[j * free + i] = -dot(n, &T[i * n], &MT[j * n]);
  }
  if (!factor_dense(int(free), K.data(), pivots.data())) return false;
  solve_dense(int(free), K.data(), pivots.data(), nu.data());
  for (std::size_t j = 0; j < free; ++j) subtract_multiple(size, -nu[j], &T[j * n], a);
  return true;
}

} // namespace gyrod
