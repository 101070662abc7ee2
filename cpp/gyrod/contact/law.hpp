// What a station, a point with a radius, feels of a surface: normal force, friction, rolling and spinning resistance,
// and how its memory of friction changes. Everything is told in the axes of the surface, so that no rigid motion of
// both changes anything.
//
// Normal force of the gap g = phi - r, of its depth D(g) with an onset over `smoothing`, and of the closing speed d':
//   N = w k D^m (1 + c d')+      (Hunt and Crossley: no jump at touch, never a pull)
// Friction acts at the contact point, l = r + g/2 below the station along -n, where the slip is v. Either it knows the
// slip alone, T = -mu N v/sqrt(v^2 + eps^2), or it remembers how far bristles of the length z0 are bent, z:
//   T = -mu N (z_t + tau f z_t'),  z' = (v - a(S) (z^.v)+ z_t/S0)/z0 - |v|/z0 n (n.z),  f = 1/(1 + (tau v/z0)^2)
// with z_t = z - n (n.z), z^ its direction, S = |z_t|/S0, S0 = mu(v)/mu, a from 0 at S = 0.95 to 1 at S = 1. Below 0.95
// it is elastic: what sticks does not creep.
//
// At rest displacements since the last rest stand for velocities: z = z_old + v/z0, cut to |z| <= 1.
#pragma once

#include "gyrod/geometry/surface.hpp"
#include "gyrod/math/rotation.hpp"

namespace gyrod {

struct FrictionLaw {
  enum Kind { none, slipping, sticking } kind = none;
  double coefficient = 0.0;                                // at rest
  double kinetic = 1.0;                                    // of that, what is left when it slips fast
  double stribeck = 1.0;                                   // m/s over which it falls to that
  double presliding = 1e-6;                                // z0, m
  double damping = 0.0;                                    // tau, s
  double slip_speed = 1e-6;                                // eps, m/s
  double rolling = 0.0, spinning = 0.0, spin_speed = 1e-3; // lengths, m; rad/s
};

// Friction as a function of the normal force N, the slip v and, where it has a memory, the bent bristles z_t.
struct Tangential {
  Vec3<double> T, by_N, e; // e: v less what slips away, z0 z_t'; at rest z itself
  Mat3<double> T_v, T_z, e_v, e_z;
};
Tangential friction(const FrictionLaw& law, FrictionLaw::Kind kind, double N, const Vec3<double>& slip,
                    const Vec3<double>& bent, bool still);

struct ContactLaw {
  double stiffness = 0.0, exponent = 1.0, damping = 0.0, smoothing = 0.0;
  double impact = 0.0; // > 0: the damping is this over the speed of an impact, from touch to lift-off
  double slow = 1.0;   // the least such speed, m/s
  double slack = 0.0;  // how deep a touch may be found, m
  FrictionLaw friction;
  // Hard: nothing yields, and the state has the force. `smoothing` is then how far away counts as touching.
  bool hard = false;
  double restitution = 0.0;
  static constexpr double release = 1e-3; // s in which bristles straighten in the air

  bool sticks() const { return friction.kind == FrictionLaw::sticking && !hard; }
  bool bounces() const { return impact > 0.0; }
  static constexpr int hard_memory = 6; // the force, energies
  int memory() const { return hard ? hard_memory : (sticks() ? 3 : 0) + (bounces() ? 1 : 0); }
  // Depth, and its slope by the gap, which is negative.
  double depth(double gap, double& slope) const {
    const double u = smoothing - gap;
    if (u <= 0.0) return slope = 0.0;
    if (u < smoothing) return slope = -u / smoothing, 0.5 * u * u / smoothing;
    return slope = -1.0, u - 0.5 * smoothing;
  }
  double energy(double gap, double weight) const;
};

// A station and a surface as they are: velocity u of the station and its spin W, seen from the surface; at rest how far
// they have come since the last rest.
struct ContactState {
  space::Near near;
  double radius, weight;
  Vec3<double> u, W, z; // z: the memory of friction
  double damping;       // c
  bool still;
  double gap() const { return near.distance - radius; }
};

// On the station: force, moment about it; the rate of z, at rest z itself; the normal force, what the bristles, the
// bending of the normal aside, take from the motion.
struct ContactForce {
  Vec3<double> F, M, rate, slip;
  double normal, elastic; // elastic: without damping
};
// Derivatives of (F, M) and of the rate by (p, u, W) and by z.
struct ContactSlopes {
  Matrix<double, 6, 9> force;
  Matrix<double, 6, 3> force_z;
  Matrix<double, 3, 9> rate;
  Matrix<double, 3, 3> rate_z;
};

// False: nothing touches, and bristles straighten.
bool touch(const ContactLaw& law, const ContactState& s, ContactForce& out);
// The same with derivatives; `bend` is that of the surface.
bool touch(const ContactLaw& law, const ContactState& s, const space::Bend& bend, ContactForce& out, ContactSlopes& by);

} // namespace gyrod
