// The centre line of a rod between its vertices x_n at fractions s_n: the cubic spline in s whose coefficient at n is
// that of the parabola through three vertices there, on even meshes x_n - (x_(n-1) - 2 x_n + x_(n+1))/6. It is of third
// order, on even meshes of fourth, and twice differentiable: what slides or presses along it moves smoothly from cell
// to cell, where a polygon would have favourite places. Beyond the ends vertices are mirrored.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

namespace gyrod {

// Shares of the vertices from `first` on in a point, and in its derivatives by the fraction.
struct SplineShares {
  static constexpr int most = 6;
  int first = 0, count = 0;
  double by[4][most] = {};
};

// A spline of the basis at a place, with its derivatives.
using BasisSpline = std::array<double, 4>;

// Those of a degree that do not vanish between the knots s[degree] and s[degree + 1] of 2 degree + 1, by de Boor.
template <std::size_t degree>
std::array<BasisSpline, degree + 1> basis_splines(const std::array<double, 2 * degree + 1>& s, double at) {
  std::array<BasisSpline, degree + 1> splines{BasisSpline{1.0, 0.0, 0.0, 0.0}};
  const auto times = [](const BasisSpline& f, double x, double slope, BasisSpline& to) { // a linear function
    to[0] += f[0] * x;
    for (std::size_t d = 1; d < 4; ++d) to[d] += f[d] * x + double(d) * f[d - 1] * slope;
  };
  for (std::size_t j = 1; j <= degree; ++j) {
    std::array<BasisSpline, degree + 1> next{};
    for (std::size_t r = 0; r < j; ++r) {
      const double low = s[degree + r + 1 - j], high = s[degree + r + 1], inverse = 1.0 / (high - low);
      times(splines[r], (high - at) * inverse, -inverse, next[r]);
      times(splines[r], (at - low) * inverse, inverse, next[r + 1]);
    }
    splines = next;
  }
  return splines;
}

inline SplineShares spline_at(const std::vector<double>& mesh, double at) {
  const int last = int(mesh.size()) - 1;
  const auto knot = [&](auto&& self, int n) -> double {
    if (n >= 0 && n <= last) return mesh[std::size_t(n)];
    const int end = n < 0 ? 0 : last;
    return 2.0 * mesh[std::size_t(end)] - self(self, 2 * end - n);
  };
  const int i = std::clamp(int(std::upper_bound(mesh.begin(), mesh.end(), at) - mesh.begin()) - 1, 0, last - 1);
  std::array<double, 7> s; // knots i - 3 ... i + 3; splines about i - 1 ... i + 2 do not vanish here
  for (int k = 0; k < 7; ++k) s[std::size_t(k)] = knot(knot, i - 3 + k);
  const auto splines = basis_splines<3>(s, at);
  SplineShares o;
  o.first = std::max(i - 2, 0), o.count = std::min(i + 3, last) - o.first + 1;
  const auto add = [&](auto&& self, int n, double share, const BasisSpline& spline) -> void {
    if (n >= 0 && n <= last) {
      for (std::size_t d = 0; d < 4; ++d) o.by[d][n - o.first] += share * spline[d];
      return;
    }
    const int end = n < 0 ? 0 : last;
    self(self, end, 2.0 * share, spline), self(self, 2 * end - n, -share, spline);
  };
  for (std::size_t k = 0; k < 4; ++k) {
    const double a = s[k + 2] - s[k + 1], b = s[k + 3] - s[k + 2];
    const double before = -b * b / (3.0 * a * (a + b)), behind = -a * a / (3.0 * b * (a + b));
    const int n = i - 1 + int(k);
    add(add, n - 1, before, splines[k]), add(add, n, 1.0 - before - behind, splines[k]);
    add(add, n + 1, behind, splines[k]);
  }
  return o;
}

} // namespace gyrod
