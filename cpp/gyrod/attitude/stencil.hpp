// Moments of a sampled signal over an interval, by local polynomial interpolation.
//
// Samples: the polynomial through the values at `points` neighbouring nodes. Increments (integrals between
// neighbouring nodes): the polynomial whose integrals they are. Weights of the moments b0, b1, b2 of
// magnus.hpp over [a, b], in units in which the nodes are given; multiply by the unit of time.
#pragma once

#include <algorithm>
#include <cstddef>

namespace gyrod {

inline constexpr int max_points = 8;

struct StencilWeights {
  double w[3][max_points] = {};
};

namespace detail {
// Gauss-Legendre on [-1, 1], five points: exact for degree 9 = interpolant (7) times square (2). Padded to
// eight lanes of zero weight, so that the loops over them become whole vectors.
inline constexpr int lanes = 8;
inline constexpr double gauss_x[lanes] = {
    -0.90617984593866399280, -0.53846931010568309104, 0.0, 0.53846931010568309104, 0.90617984593866399280, 0, 0, 0};
inline constexpr double gauss_w[lanes] = {0.23692688505618908751,
                                          0.47862867049936646804,
                                          0.56888888888888888889,
                                          0.47862867049936646804,
                                          0.23692688505618908751,
                                          0,
                                          0,
                                          0};

// Values of all Lagrange polynomials of n nodes at the lanes' abscissae, by prefix and suffix products.
// `Fixed` is n where the compiler can know it (it then unrolls the loops), else 0.
template <int Fixed> void lagrange(const double* node, int size, const double* x, double (*L)[lanes]) {
  const int n = Fixed ? Fixed : size;
  double prefix[lanes], suffix[lanes];
  for (int g = 0; g < lanes; ++g) prefix[g] = suffix[g] = 1.0;
  for (int k = 0; k < n; ++k)
    for (int g = 0; g < lanes; ++g) {
      L[k][g] = prefix[g];
      prefix[g] *= x[g] - node[k];
    }
  for (int k = n - 1; k >= 0; --k) {
    double denominator = 1.0;
    for (int j = 0; j < n; ++j) denominator *= j == k ? 1.0 : node[k] - node[j];
    const double scale = 1.0 / denominator;
    for (int g = 0; g < lanes; ++g) {
      L[k][g] *= suffix[g] * scale;
      suffix[g] *= x[g] - node[k];
    }
  }
}
} // namespace detail

// Samples at node[0..size).
template <int Fixed = 0> StencilWeights sample_weights(const double* node, int size, double a, double b) {
  using namespace detail;
  const int n = Fixed ? Fixed : size;
  double x[lanes], L[max_points + 1][lanes];
  const double centre = 0.5 * (a + b), half = 0.5 * (b - a);
  for (int g = 0; g < lanes; ++g) x[g] = centre + half * gauss_x[g];
  lagrange<Fixed>(node, n, x, L);
  StencilWeights s;
  for (int k = 0; k < n; ++k) {
    double m0 = 0, m1 = 0, m2 = 0;
    for (int g = 0; g < 5; ++g) {
      const double u = 0.5 * gauss_x[g], c = half * gauss_w[g] * L[k][g]; // (t - tm)/h = u
      m0 += c;
      m1 += c * u;
      m2 += c * u * u;
    }
    s.w[0][k] = m0, s.w[1][k] = m1, s.w[2][k] = m2;
  }
  return s;
}

// Increments between node[0..size], `size` of them. The primitive C is interpolated and the moments follow by
// parts: int (t - tm) C' = [(t - tm) C] - int C, int (t - tm)² C' = [(t - tm)² C] - 2 int (t - tm) C.
template <int Fixed = 0> StencilWeights increment_weights(const double* node, int size, double a, double b) {
  using namespace detail;
  const int n = Fixed ? Fixed : size;
  double x[lanes], L[max_points + 1][lanes];
  const double centre = 0.5 * (a + b), half = 0.5 * (b - a);
  for (int g = 0; g < lanes; ++g) x[g] = centre + half * gauss_x[g];
  x[5] = a, x[6] = b;
  lagrange<Fixed ? Fixed + 1 : 0>(node, n + 1, x, L);
  double tail[3] = {0, 0, 0};
  StencilWeights s;
  for (int k = n; k > 0; --k) { // C_k = sum of the increments before node k
    const double at_a = L[k][5], at_b = L[k][6];
    double i0 = 0, i1 = 0;
    for (int g = 0; g < 5; ++g) {
      i0 += 0.5 * gauss_w[g] * L[k][g]; // 1/h int C
      i1 += 0.25 * gauss_w[g] * gauss_x[g] * L[k][g];
    }
    tail[0] += at_b - at_a;
    tail[1] += 0.5 * (at_a + at_b) - i0;
    tail[2] += 0.25 * (at_b - at_a) - 2.0 * i1;
    for (int m = 0; m < 3; ++m) s.w[m][k - 1] = tail[m];
  }
  return s;
}

} // namespace gyrod
