// Points that slide along a rod without friction. Where such a point is has no inertia: it is where the energy of its
// link is stationary, the place on the rod nearest to where the link pulls it. The force along the rod vanishes then by
// itself, and in the derivatives of forces the place is eliminated (see `link_blocks`).
// The rod is the spline of contact/spline.hpp. On the polygon of its vertices a kink of the angle a would make a force
// of up to a^2/2 of the tension; here it is a tenth of that, which vanishes quickly where vertices resolve the bend.
#pragma once

#include <algorithm>
#include <cmath>

#include "gyrod/contact/spline.hpp"
#include "gyrod/rod/links.hpp"

namespace gyrod {

// Puts a point at a fraction of the length.
inline void place_at(LinkPoint& p, double at) {
  const SplineShares s = spline_at(*p.mesh, at);
  p.at = at, p.segment = s.first, p.count = s.count;
  for (int d = 0; d < 3; ++d) std::copy_n(s.by[d], LinkPoint::most, p.shares[d]);
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
