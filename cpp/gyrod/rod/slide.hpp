// Points that slide along a rod without friction. Where such a point is has no inertia: it is where the energy of its
// link is stationary, the place on the rod nearest to where the link pulls it. The force along the rod vanishes then by
// itself, and in the derivatives of forces the place is eliminated (see `link_blocks`).
// The rod is the spline of contact/spline.hpp. On the polygon of its vertices a kink of the angle a would make a force
// of up to a^2/2 of the tension; here it is a tenth of that, which vanishes quickly where vertices resolve the bend.
// In a sleeve, which bends the rod, that would still be a fifth of M^2/(2 EI), the force that drives it out. There the
// curve is the spline of degree 15 through places at equal distances: what its points weigh is so smooth that the rod
// does not feel where the vertices are, to 1e-6 of that force.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "gyrod/contact/spline.hpp"
#include "gyrod/rod/links.hpp"

namespace gyrod {

// What a point slides along: the spline between vertices at fractions of the length, or a smoother one.
struct SlideCurve {
  std::vector<double> mesh;
  std::vector<SplineShares> samples; // of the smooth one: the places k/(samples - 1) of the rod

  static constexpr std::size_t degree = 15;

  SlideCurve(std::vector<double> vertices, bool smooth) : mesh(std::move(vertices)) {
    const std::size_t n = smooth ? mesh.size() : 0;
    const auto even = [&](std::size_t k) { return double(k) / double(n - 1); };
    bool vertices_do = true; // on even meshes vertices are the places
    for (std::size_t k = 0; k < n; ++k) vertices_do = vertices_do && std::abs(mesh[k] - even(k)) < 1e-9;
    for (std::size_t k = 0; k < n; ++k)
      samples.push_back(vertices_do ? SplineShares{int(k), 1, {{1.0}}} : spline_at(mesh, even(k)));
  }
};

// Puts a point at a fraction of the length.
inline void place_at(LinkPoint& p, double at) {
  const SlideCurve& c = *p.curve;
  p.at = at;
  if (c.samples.empty()) {
    const SplineShares s = spline_at(c.mesh, at);
    p.segment = s.first, p.count = s.count;
    for (int d = 0; d < 3; ++d) std::copy_n(s.by[d], s.count, p.shares[d]);
    return;
  }
  constexpr std::size_t degree = SlideCurve::degree;
  const int last = int(c.samples.size()) - 1;
  const int i = std::clamp(int(std::floor(at * last)), 0, last - 1);
  std::array<double, 2 * degree + 1> knots;
  for (std::size_t k = 0; k < knots.size(); ++k) knots[k] = double(i + int(k) - int(degree)) / last;
  const auto splines = basis_splines<degree>(knots, at);
  const int from = i - int(degree) / 2; // the place of the first of them; beyond the ends places are mirrored
  const auto inside = [&](int n) { return std::clamp(n < 0 ? -n : n > last ? 2 * last - n : n, 0, last); };
  int first = last, end = 0;
  const auto see = [&](int n) {
    const SplineShares& s = c.samples[std::size_t(n)];
    first = std::min(first, s.first), end = std::max(end, s.first + s.count);
  };
  for (int n = from; n <= from + int(degree); ++n) {
    see(inside(n));
    if (n < 0 || n > last) see(n < 0 ? 0 : last);
  }
  if (end - first > LinkPoint::most)
    throw std::length_error("too many vertices within a sleeve: its mesh is too uneven");
  p.segment = first, p.count = end - first;
  for (auto& by : p.shares) std::fill_n(by, p.count, 0.0);
  const auto add = [&](int n, double share, const BasisSpline& spline) {
    const SplineShares& s = c.samples[std::size_t(n)];
    for (int d = 0; d < 3; ++d)
      for (int k = 0; k < s.count; ++k) p.shares[d][s.first + k - first] += share * s.by[0][k] * spline[std::size_t(d)];
  };
  for (int k = 0; k <= int(degree); ++k) {
    const int n = from + k;
    const bool out = n < 0 || n > last;
    add(inside(n), out ? -1.0 : 1.0, splines[std::size_t(k)]);
    if (out) add(n < 0 ? 0 : last, 2.0, splines[std::size_t(k)]);
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

inline std::string run_out(const RodLink& link, double at) {
  return "the rod has run out of " + link.name + " by its " + (at < 0.0 ? "start" : "end") +
         "; give a longer rod, end the run before, or hold the rod with a clip that does not slide";
}

} // namespace gyrod
