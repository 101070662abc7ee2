// The coordinate of a joint with one freedom, from its axes and points: an angle about axis 3 of a, or the displacement
// along it.
#pragma once

#include "gyrod/math/rotation.hpp"

namespace gyrod {

// In (-pi, pi].
template <class S> S joint_angle(const Mat3<S>& Ea, const Mat3<S>& Eb) {
  using std::atan2;
  const Vec3<S> b1 = Eb.col(0);
  return S(atan2(b1.dot(Ea.col(1)), b1.dot(Ea.col(0))));
}

template <class S> S joint_displacement(const Mat3<S>& Ea, const Vec3<S>& offset) { return S(Ea.col(2).dot(offset)); }

} // namespace gyrod
