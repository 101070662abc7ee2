// What a formulation makes of its unknowns, and what forces give back: the meeting point of the two.
#pragma once

#include <limits>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

// A rigid body in its principal axes. A pinned body turns about a fixed point of space; its moments are about that
// point, `arm` leads from the point to the centre of mass (body axes).
struct RigidBody {
  double mass = 1.0;
  Vec3<double> moments = Vec3<double>::Ones();
  Vec3<double> inverse_moments = Vec3<double>::Ones(); // set by the system
  bool pinned = false;
  Vec3<double> point = Vec3<double>::Zero(); // of space
  Vec3<double> arm = Vec3<double>::Zero();
};

// Position and velocity of the centre of mass, frame (columns: directors) and material angular velocity.
template <class S> struct BodyMotion {
  Vec3<S> x, v, Omega;
  Mat3<S> R;
};

// Force (space axes), director forces (column n acts on director n: a force F at a body point r gives F r') and
// torque (body axes).
template <class S> struct Wrench {
  Vec3<S> force;
  Mat3<S> directors;
  Vec3<S> torque;
  bool loaded; // directors may differ from zero

  void clear() { force.setZero(), directors.setZero(), torque.setZero(), loaded = false; }
  void add_moment(const Vec3<S>& F, const Vec3<double>& at) {
    for (int n = 0; n < 3; ++n) directors.col(n) += F * S(at[n]);
    loaded = true;
  }
  void add(const Vec3<S>& F, const Vec3<double>& at) {
    force += F;
    add_moment(F, at);
  }
};

// T_d' psi (Lang 2010, 25): the moment in body axes of director forces.
template <class S> Vec3<S> moment_of_directors(const Mat3<S>& R, const Mat3<S>& P) {
  const auto c = [&](int i, int j) { return R.col(i).dot(P.col(j)); };
  return {c(2, 1) - c(1, 2), c(0, 2) - c(2, 0), c(1, 0) - c(0, 1)};
}

} // namespace gyrod
