// Points that slide along a rod without friction. Where such a point is has no inertia: it is where the energy of its
// link is stationary, the place on the rod nearest to where the link pulls it. The force along the rod vanishes then by
// itself, and in the derivatives of forces the place is eliminated (see `link_blocks`).
//
// Between vertices x_n at fractions s_n the rod is the cubic spline in s whose coefficient at n is that of the parabola
// through three vertices there, on even meshes x_n - (x_(n-1) - 2 x_n + x_(n+1))/6: of third order, on even meshes of
// fourth, and twice differentiable, so that the place moves smoothly from cell to cell. A polygon would have favourite
// places: along it a kink of the angle a makes a force of up to a^2/2 of the tension, here of a tenth of that, which
// vanishes quickly where vertices resolve the bend. Beyond the ends vertices are mirrored.
#pragma once

#include <algorithm>
#include <cmath>

#include "gyrod/rod/links.hpp"

namespace gyrod {

// Puts a point at a fraction of the length.
inline void place_at(LinkPoint& p, double at) {
  const std::vector<double>& mesh = *p.mesh;
  const int last = int(mesh.size()) - 1;
  const auto knot = [&](auto&& self, int n) -> double {
    if (n >= 0 && n <= last) return mesh[std::size_t(n)];
    const int end = n < 0 ? 0 : last;
    return 2.0 * mesh[std::size_t(end)] - self(self, 2 * end - n);
  };
  const int i = std::clamp(int(std::upper_bound(mesh.begin(), mesh.end(), at) - mesh.begin()) - 1, 0, last - 1);
  double s[7]; // knots i - 3 ... i + 3; splines about i - 1 ... i + 2 do not vanish here
  for (int k = 0; k < 7; ++k) s[k] = knot(knot, i - 3 + k);
  double splines[4][3] = {{1.0}}; // each with its derivatives, by de Boor's recursion
  const auto times = [](const double* f, double x, double slope, double* to) { // a linear function
    to[0] += f[0] * x, to[1] += f[1] * x + f[0] * slope, to[2] += f[2] * x + 2.0 * f[1] * slope;
  };
  for (int j = 1; j <= 3; ++j) {
    double next[4][3] = {};
    for (int r = 0; r < j; ++r) {
      const double low = s[3 + r + 1 - j], high = s[3 + r + 1], inverse = 1.0 / (high - low);
      times(splines[r], (high - at) * inverse, -inverse, next[r]);
      times(splines[r], (at - low) * inverse, inverse, next[r + 1]);
    }
    std::copy_n(next[0], 12, splines[0]);
  }
  p.at = at, p.segment = std::max(i - 2, 0), p.count = std::min(i + 3, last) - p.segment + 1;
  for (double* shares : p.shares) std::fill(shares, shares + LinkPoint::most, 0.0);
  const auto add = [&](auto&& self, int n, double share, const double* spline) -> void {
    if (n >= 0 && n <= last) {
      for (int d = 0; d < 3; ++d) p.shares[d][n - p.segment] += share * spline[d];
      return;
    }
    const int end = n < 0 ? 0 : last;
    self(self, end, 2.0 * share, spline), self(self, 2 * end - n, -share, spline);
  };
  for (int k = 0; k < 4; ++k) {
    const double a = s[k + 2] - s[k + 1], b = s[k + 3] - s[k + 2];
    const double before = -b * b / (3.0 * a * (a + b)), behind = -a * a / (3.0 * b * (a + b));
    const int n = i - 1 + k;
    add(add, n - 1, before, splines[k]), add(add, n, 1.0 - before - behind, splines[k]);
    add(add, n + 1, behind, splines[k]);
  }
}

// The point (d = 0) and its derivatives by `at`.
inline Vec3<double> along(const LinkPoint& p, const std::vector<Vec3<double>>& x, int d) {
  Vec3<double> sum = Vec3<double>::Zero();
  for (int k = 0; k < p.count; ++k) sum += p.shares[d][k] * x[std::size_t(p.segment + k)];
  return sum;
}

// Of what is nearest: tangent^2 + distance * bend, which far away is kept positive.
inline double nearness(const Vec3<double>& distance, const Vec3<double>& tangent, const Vec3<double>& bend) {
  const double square = tangent.squaredNorm();
  return std::max(square + distance.dot(bend), 0.1 * square);
}

// Moves a point along a rod to the place that is nearest to `to`, from where it was, to the last digit; no further than
// a cell beyond an end.
inline void slide(LinkPoint& p, const std::vector<Vec3<double>>& x, const Vec3<double>& to, double from) {
  const double cell = 1.0 / double(x.size() - 1);
  double before = 1.0;
  for (int k = 0; k < 100; ++k) {
    place_at(p, from);
    const Vec3<double> d = along(p, x, 0) - to, tangent = along(p, x, 1);
    const double by = std::clamp(-d.dot(tangent) / nearness(d, tangent, along(p, x, 2)), -0.5 * cell, 0.5 * cell);
    if (!(std::abs(by) > 1e-15) || (std::abs(by) < 1e-10 && std::abs(by) > 0.5 * before)) return;
    before = std::abs(by), from = std::clamp(from + by, -cell, 1.0 + cell);
  }
}

} // namespace gyrod
