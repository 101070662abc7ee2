// What a rod on a staggered grid is made of: plain arrays, computed once by the caller, never changed.
//
// N segments, N + 1 vertices. Positions live on vertices, frames on segments; strains on segments, curvatures on
// vertices. At a vertex without curvature (a free or hinged end) `weight` is 0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyrod/rod/curvature.hpp"
#include "gyrod/rotation.hpp"

namespace gyrod {

// Motion of a held end: position with its first two derivatives, frame with its material angular velocity.
struct EndMotion {
  Vec3<double> x = Vec3<double>::Zero(), v = Vec3<double>::Zero(), a = Vec3<double>::Zero();
  Vec4<double> p{1.0, 0.0, 0.0, 0.0};
  Vec3<double> Omega = Vec3<double>::Zero();
};

struct RodEnd {
  bool held = false;    // position prescribed
  bool clamped = false; // frame prescribed, by a ghost quaternion beyond the end
  EndMotion at;
  std::function<void(double, EndMotion&)> move; // null: at rest
  // The body that holds the end, -1: none; the point and the frame of the end in its axes.
  int host = -1;
  Vec3<double> point = Vec3<double>::Zero();
  Vec4<double> frame{1.0, 0.0, 0.0, 0.0};
};

// Springs and dampers of a vertex towards a point of space, along the axes of space.
struct RodSupport {
  int vertex;
  Vec3<double> at, stiffness, damping;
};

// A frictionless obstacle: a smooth penalty. The force per length sets in at the distance `smoothing` from the surface
// and has its full slope `stiffness` from the surface on: approximate, and as deep as load over stiffness.
struct RodObstacle {
  enum Kind { plane, sphere, cylinder } kind = plane;
  Vec3<double> point, axis;
  double radius, stiffness, smoothing;
  std::vector<double> length, thickness; // of vertices

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

// A force and a moment, spread over vertices and segments by weights; in space axes, or following the frames.
struct RodLoad {
  struct Share {
    int segment, vertex;
    Vec3<double> weight; // of each component
  };
  bool follow = false;
  std::vector<Share> force;  // segment: whose frame it follows
  std::vector<Share> moment; // segment: on which it acts; -1, -2: the clamp at the start, at the end
  Vec3<double> F = Vec3<double>::Zero(), M = Vec3<double>::Zero();
  std::function<void(double, Vec3<double>&, Vec3<double>&)> function; // null: constant
};

enum class Strain { cosserat, stretch }; // Gamma3 = <d3, x'> - 1, or |x'| - 1

struct RodDescription {
  std::string name;
  int segments = 0;
  std::vector<double> ds;                   // of segments
  std::vector<double> span, weight;         // of vertices: length in K, quadrature weight
  std::vector<Mat3<double>> CG, CK, CX;     // CX: strain (rows) with curvature, of segments
  std::vector<Vec3<double>> cG, cK;         // the paper's damping
  std::vector<Vec3<double>> G0, K0;         // R'x' (with its 1 along d3) and K without stress
  std::vector<Vec3<double>> J;              // moments of inertia of segments
  std::vector<double> mass, tributary, off; // diagonal, row sums and off-diagonal of the mass matrix
  std::vector<Vec3<double>> drag;           // N s/m² along d1, d2, d3, of segments; empty: none
  std::vector<Vec3<double>> spin_drag;      // N s about d1, d2, d3, of segments; empty: none
  bool damped = false, coupled = false, blended = false;
  Strain strain = Strain::cosserat;
  int held = 0; // strains kept at rest: none, both shears (2), all (3)
  CurvatureLaw law;
  RodEnd ends[2];
  std::vector<RodLoad> loads;
  std::vector<RodSupport> supports;
  std::vector<RodObstacle> obstacles;
  std::function<double(double)> stretch; // factor of the rest length as a function of time; null: 1
  Vec3<double> gravity = Vec3<double>::Zero();
  Vec3<double> spin = Vec3<double>::Zero(); // of the frame in which everything is told, about its origin
  bool spins = false;

  // Reciprocals, so that nothing is divided in a step.
  std::vector<double> inverse_ds, kappa, pull; // 1/ds; 2/span, 2 weight/span
  std::vector<Vec3<double>> inverse_J;
  void finish() {
    for (double x : ds) inverse_ds.push_back(1.0 / x);
    for (std::size_t n = 0; n < span.size(); ++n)
      kappa.push_back(2.0 / span[n]), pull.push_back(2.0 * weight[n] / span[n]);
    for (const auto& x : J) inverse_J.push_back(x.cwiseInverse());
  }
};

} // namespace gyrod
