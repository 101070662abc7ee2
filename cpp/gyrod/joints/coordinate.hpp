// The coordinate of a joint with one freedom, from its axes and points: an angle about axis 3 of a, or the displacement
// along it.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod {

// In (-pi, pi].
template <class S> S joint_angle(const Mat3<S>& Ea, const Mat3<S>& Eb) {
  using std::atan2;
  const Vec3<S> b1 = Eb.col(0);
  return S(atan2(b1.dot(Ea.col(1)), b1.dot(Ea.col(0))));
}

template <class S> S joint_displacement(const Mat3<S>& Ea, const Vec3<S>& offset) { return S(Ea.col(2).dot(offset)); }

// That of a kind of joint; the displacement of a screw tells its turns.
inline double joint_coordinate(const JointType& type, double lead, const Mat3<double>& Ea, const Mat3<double>& Eb,
                               const Vec3<double>& offset) {
  const double moved = joint_displacement<double>(Ea, offset);
  if (type.motion[0].type == MotionAxis::slide) return moved;
  const double angle = joint_angle<double>(Ea, Eb);
  return type.motion[0].type == MotionAxis::screw ? turned(angle, moved / lead) : angle;
}

} // namespace gyrod
