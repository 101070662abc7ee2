// Nodes and points of a rod element of degree p on [-1, 1]: Gauss-Lobatto nodes, Gauss points, and the Lagrange
// polynomials of the nodes.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace gyrod {

template <int p> struct Lobatto {
  static_assert(p >= 1 && p <= 4); // 1: tests compare it with the grid
  static constexpr int nodes = p + 1, points = p;
  std::array<double, p + 1> node, weight;
  std::array<double, p> gauss, gauss_weight;
  double I[p][p + 1], D[p][p + 1]; // values and derivatives of the polynomials at the Gauss points

  static const Lobatto& get() {
    static const Lobatto e;
    return e;
  }

  // Values and derivatives of all polynomials at xi.
  void lagrange(double xi, double* value, double* slope) const {
    for (std::size_t i = 0; i <= p; ++i) {
      double v = 1.0, d = 0.0;
      for (std::size_t j = 0; j <= p; ++j) {
        if (j == i) continue;
        const double s = 1.0 / (node[i] - node[j]), f = (xi - node[j]) * s;
        d = d * f + v * s, v *= f;
      }
      value[i] = v, slope[i] = d;
    }
  }

private:
  Lobatto() {
    using std::sqrt;
    if constexpr (p == 1) {
      node = {-1.0, 1.0}, weight = {1.0, 1.0};
      gauss = {0.0}, gauss_weight = {2.0};
    } else if constexpr (p == 2) {
      const double a = sqrt(1.0 / 3.0);
      node = {-1.0, 0.0, 1.0}, weight = {1.0 / 3.0, 4.0 / 3.0, 1.0 / 3.0};
      gauss = {-a, a}, gauss_weight = {1.0, 1.0};
    } else if constexpr (p == 3) {
      const double a = sqrt(0.2), b = sqrt(0.6);
      node = {-1.0, -a, a, 1.0}, weight = {1.0 / 6.0, 5.0 / 6.0, 5.0 / 6.0, 1.0 / 6.0};
      gauss = {-b, 0.0, b}, gauss_weight = {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0};
    } else {
      const double a = sqrt(3.0 / 7.0), r = 2.0 / 7.0 * sqrt(1.2), b = sqrt(3.0 / 7.0 + r), c = sqrt(3.0 / 7.0 - r);
      const double wb = (18.0 - sqrt(30.0)) / 36.0, wc = (18.0 + sqrt(30.0)) / 36.0;
      node = {-1.0, -a, 0.0, a, 1.0}, weight = {0.1, 49.0 / 90.0, 32.0 / 45.0, 49.0 / 90.0, 0.1};
      gauss = {-b, -c, c, b}, gauss_weight = {wb, wc, wc, wb};
    }
    for (std::size_t k = 0; k < p; ++k) lagrange(gauss[k], I[k], D[k]);
  }
};

// Calls f with the table of a degree known at run time.
template <class F> auto with_degree(int degree, F&& f) {
  if (degree == 2) return f(Lobatto<2>::get());
  if (degree == 3) return f(Lobatto<3>::get());
  return f(Lobatto<4>::get());
}

// Values and derivatives of the polynomials at Gauss point k, for a degree known at run time.
struct Shapes {
  const double *I, *D;
};
inline Shapes shapes_at(int degree, int k) {
  return with_degree(degree, [&](const auto& table) { return Shapes{table.I[k], table.D[k]}; });
}

// Weights of the Gauss points, for a degree known at run time.
inline const double* gauss_weights(int degree) {
  return degree == 2   ? Lobatto<2>::get().gauss_weight.data()
         : degree == 3 ? Lobatto<3>::get().gauss_weight.data()
                       : Lobatto<4>::get().gauss_weight.data();
}

} // namespace gyrod
