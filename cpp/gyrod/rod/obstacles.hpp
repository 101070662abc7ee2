// Frictionless obstacles: how far a vertex is from each kind, and the smooth penalty. The force per length sets in at
// the distance `smoothing` from the surface and has its full slope `stiffness` from the surface on: approximate, and as
// deep as load over stiffness. To add a kind: its name, its gap and the derivative of its normal here; its description
// in src/gyrod/model/elements.py.
#pragma once

#include <string_view>
#include <vector>

#include "gyrod/math/rotation.hpp"

namespace gyrod {

struct RodObstacle {
  enum Kind { plane, sphere, cylinder } kind = plane;
  static constexpr std::string_view names[] = {"plane", "sphere", "cylinder"};

  Vec3<double> point, axis;
  double radius, stiffness, smoothing;
  std::vector<double> length, thickness; // of vertices

  // Gap between a vertex n at x and the obstacle, the normal there and the distance from its centre or axis.
  template <class S> S gap(std::size_t n, const Vec3<S>& x, Vec3<S>& normal, S& r) const {
    using std::sqrt;
    const Vec3<S> along = axis.template cast<S>(), d = x - point.template cast<S>();
    if (kind == plane) {
      normal = along, r = S(1);
      return d.dot(along) - S(thickness[n]);
    }
    const Vec3<S> across = kind == sphere ? d : Vec3<S>(d - along * d.dot(along));
    r = sqrt(across.dot(across));
    normal = across * (S(1) / r);
    return r - S(radius) - S(thickness[n]);
  }
  // Derivative of the normal by x.
  Mat3<double> bend(const Vec3<double>& normal, double r) const {
    if (kind == plane) return Mat3<double>::Zero();
    Mat3<double> across = Mat3<double>::Identity();
    if (kind == cylinder) across -= axis * axis.transpose();
    return (across - normal * normal.transpose()) / r;
  }

  // Energy per length, its derivative and second derivative by the gap, of a gap d.
  void law(double d, double& e, double& e1, double& e2) const {
    const double u = smoothing - d, s = smoothing;
    if (u <= 0.0)
      e = e1 = e2 = 0.0;
    else if (u < s)
      e = stiffness * u * u * u / (6.0 * s), e1 = -stiffness * u * u / (2.0 * s), e2 = stiffness * u / s;
    else
      e = stiffness * (0.5 * u * (u - s) + s * s / 6.0), e1 = -stiffness * (u - 0.5 * s), e2 = stiffness;
  }
};

} // namespace gyrod
