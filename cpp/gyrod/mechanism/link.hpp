// One link of a tree: how it hangs on its parent, its kinematics, and the pose that its joint allows.
#pragma once

#include "gyrod/mechanism/articulated.hpp"
#include "gyrod/mechanism/model.hpp"
#include "gyrod/rigid/coordinates.hpp"
#include "gyrod/rigid/formulations.hpp"

namespace gyrod {

// How a link hangs on its parent: everything about its joint that does not move.
struct LinkJoint {
  enum Kind { free, ball, relative } kind = free;
  bool flipped = false; // the parent is b
  Turns turns = Turns::ball;
  Slides slides = Slides::none;
  int n = 6; // velocities
  V3 at_p = V3::Zero(), at_c = V3::Zero();
  M3 frame_p = M3::Identity(), frame_c = M3::Identity();
  Vec4<double> turn_p = Vec4<double>::Zero(), turn_c = Vec4<double>::Zero(); // the frames as quaternions
  double pitch = 0.0;
  ShortList<MotionAxis> motion;
  bool driven = false;

  LinkJoint() = default;
  LinkJoint(const Joint& j, bool parent_is_b)
      : kind(j.type->turns == Turns::ball ? ball : relative), flipped(parent_is_b), turns(j.type->turns),
        slides(j.type->slides), pitch(j.place.parameter), motion(j.type->motion), driven(j.driven()) {
    const JointPlace& p = j.place;
    at_p = flipped ? p.at_b : p.at_a, at_c = flipped ? p.at_a : p.at_b;
    frame_p = flipped ? p.frame_b : p.frame_a, frame_c = flipped ? p.frame_a : p.frame_b;
    turn_p = spurrier_klumpp<double>(frame_p), turn_c = spurrier_klumpp<double>(frame_c);
    n = driven ? 0 : kind == ball ? 3 : motion.size;
  }
  // Whether an axis is fixed in the parent. An axis that both bodies share is taken from the parent.
  bool on_parent(const MotionAxis& m) const { return turns != Turns::universal || m.on_b == flipped; }
};

// Kinematics of one link from its own pose and its parent's motion.
template <class S> struct LinkMotion {
  Vec3<S> x, v, w; // centre of mass; angular velocity in space
  Mat3<S> R;
  Vec3<S> l, r;   // from the centres of parent and link to the joint point
  Vec3<S> cv, cw; // accelerations that hold neither those of the parent nor nu'
  Mat3<S> Sv, Sw; // motion subspace, one column for each of up to three velocities
};

GYROD_INLINE void link_kinematics(const LinkJoint& k, const LinkMotion<double>* parent, const double* nu,
                                  const Driven& u, LinkMotion<double>& m) {
  const auto turn = [](const V3& a, const V3& b) -> V3 {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  const V3 zero = V3::Zero();
  if (k.kind == LinkJoint::free) {
    m.v = V3(nu[0], nu[1], nu[2]);
    m.w = m.R * V3(nu[3], nu[4], nu[5]);
    m.cv = m.cw = m.l = m.r = zero;
    return;
  }
  m.r = m.R * k.at_c;
  const V3 wp = parent ? parent->w : zero;
  const V3 at = parent ? V3(parent->R * k.at_p) : k.at_p;
  // Where nothing slides, the joint and not the state says where the link is: stages of a step then have no gaps.
  if (k.slides == Slides::none) m.x = parent ? V3(parent->x + at - m.r) : V3(at - m.r);
  if (k.kind == LinkJoint::ball) {
    m.l = at;
    m.w = m.R * V3(nu[0], nu[1], nu[2]);
    m.cw = zero;
    const V3 child = turn(m.w, m.r);
    if (parent) {
      const V3 arm = turn(wp, m.l);
      m.v = parent->v + arm - child;
      m.cv = turn(wp, arm) - turn(m.w, child);
    } else {
      m.v = -child;
      m.cv = -turn(m.w, child);
    }
    return;
  }
  const bool slides = k.slides != Slides::none;
  m.l = slides ? V3(m.x + m.r - (parent ? parent->x : zero)) : at;
  m.w = wp, m.cw = zero;
  V3 slip = zero, push = zero; // relative velocity of the points; its change by a drive
  // The axes first: that of a second turn moves with the angular velocity that the first has made.
  for (int i = 0; i < k.motion.size; ++i) {
    const MotionAxis& a = k.motion[i];
    const bool mine = !k.on_parent(a);
    const V3 axis = mine ? k.frame_c.col(a.axis) : k.frame_p.col(a.axis);
    const V3 e = mine ? V3(m.R * axis) : parent ? V3(parent->R * axis) : axis;
    const double sign = k.flipped ? -1.0 : 1.0;
    const double rate = k.driven ? sign * u[1] : nu[i];
    const V3 lever = turn(m.r, e);
    if (a.type == MotionAxis::slide) {
      m.Sv.col(i) = e, m.Sw.col(i) = zero;
      slip += e * rate;
      if (k.driven) push += e * (sign * u[2]);
    } else {
      m.Sw.col(i) = e;
      m.Sv.col(i) = a.type == MotionAxis::screw ? V3(lever + e * k.pitch) : lever;
      m.w += e * rate;
      if (k.driven) m.cw += e * (sign * u[2]);
      if (a.type == MotionAxis::screw) {
        slip += e * (k.pitch * rate);
        if (k.driven) push += e * (k.pitch * sign * u[2]);
      }
    }
  }
  for (int i = 0; i < k.motion.size; ++i) {
    const MotionAxis& a = k.motion[i];
    if (a.type == MotionAxis::slide) continue;
    const double rate = k.driven ? (k.flipped ? -1.0 : 1.0) * u[1] : nu[i];
    m.cw += turn(k.on_parent(a) ? wp : m.w, m.Sw.col(i)) * rate;
  }
  const V3 arm = turn(wp, m.l), child = turn(m.w, m.r);
  m.v = arm - child + slip;
  if (parent) m.v += parent->v;
  m.cv = turn(wp, V3(arm + slip + slip)) - turn(m.w, child) - turn(m.cw, m.r) + push;
}

// Rates of the rotation coordinates, from Omega or from omega. Directors take omega x d_n: a point of the body then
// moves by exactly omega x r even where they have drifted, and joints that are linear in (x, d) do not drift at all.
GYROD_INLINE void rotation_rates(Coordinates kind, const double* q, const M3& R, const V3& Omega, const V3& w,
                                 double* dq) {
  if (kind == Coordinates::angles) return Part<3>::put(dq, V3(EulerAngles::rates(q) * w));
  if (kind == Coordinates::directors) {
    for (int n = 0; n < 3; ++n)
      for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        dq[3 * n + i] = w[j] * R(k, n) - w[k] * R(j, n);
      }
    return;
  }
  const double h0 = 0.5 * Omega[0], h1 = 0.5 * Omega[1], h2 = 0.5 * Omega[2];
  dq[0] = -(q[1] * h0 + q[2] * h1 + q[3] * h2);
  dq[1] = q[0] * h0 + (q[2] * h2 - q[3] * h1);
  dq[2] = q[0] * h1 + (q[3] * h0 - q[1] * h2);
  dq[3] = q[0] * h2 + (q[1] * h1 - q[2] * h0);
}

// R from the rotation coordinates. Of a quaternion that has drifted the direction counts: joints then stay exact.
GYROD_INLINE M3 link_frame(Coordinates kind, const double* q) {
  if (kind == Coordinates::directors) return frame_of(q);
  if (kind == Coordinates::angles) return EulerAngles::frame<double>(q);
  const double scale = 1.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  M3 R = NullspaceQuaternion::frame<double>(q);
  for (int n = 0; n < 9; ++n) R(n % 3, n / 3) = R(n % 3, n / 3) * scale;
  return R;
}

// R^-1 w: R is a rotation for quaternions, directors may have drifted.
inline V3 in_body(bool directors, const M3& R, const V3& w) {
  return directors ? V3(R.inverse() * w) : transposed_times(R, w);
}

// q = (turn about 3)(turn about 1), the nearest of this kind.
inline Vec4<double> nearest_universal(const Vec4<double>& q, bool inverse) {
  const double a =
      0.5 * std::atan2(2.0 * (q[0] * q[3] + q[1] * q[2]), q[0] * q[0] + q[1] * q[1] - q[3] * q[3] - q[2] * q[2]);
  const double c = std::cos(a), s = std::sin(a), d = q[0] * c + q[3] * s, e = q[1] * c + q[2] * s;
  const double n = std::hypot(d, e);
  const Vec4<double> out(c * d / n, c * e / n, s * e / n, s * d / n);
  return inverse ? conjugate<double>(out) : out;
}

// The pose of a link that its joint allows, next to the given one.
inline void pose(const LinkJoint& k, const Driven& u, const Vec4<double>& pp, const V3& xp, Vec4<double>& p, V3& x) {
  const double sign = k.flipped ? -1.0 : 1.0;
  const Vec4<double> base = multiply<double>(pp, k.turn_p);
  double angle = 0.0;
  if (k.turns != Turns::ball) {
    Vec4<double> q = multiply<double>(conjugate<double>(base), multiply<double>(p, k.turn_c));
    if (k.turns == Turns::none)
      q = Vec4<double>(1, 0, 0, 0);
    else if (k.turns == Turns::universal)
      q = nearest_universal(k.flipped ? conjugate<double>(q) : q, k.flipped);
    else if (k.driven && k.slides != Slides::along) {
      angle = sign * u[0];
      q = Vec4<double>(std::cos(0.5 * angle), 0, 0, std::sin(0.5 * angle));
    } else {
      const double n = std::hypot(q[0], q[3]);
      q = Vec4<double>(q[0] / n, 0, 0, q[3] / n);
      angle = 2.0 * std::atan2(q[3], q[0]);
    }
    const Vec4<double> next = multiply<double>(multiply<double>(base, q), conjugate<double>(k.turn_c));
    p = next.dot(p) < 0.0 ? Vec4<double>(-next) : next;
    p /= p.norm();
  }
  const M3 Rp = matrix_from_quaternion<double>(pp), R = matrix_from_quaternion<double>(p), E = Rp * k.frame_p;
  V3 w = V3::Zero();
  if (k.slides != Slides::none) {
    const V3 offset = E.transpose() * V3(x + R * k.at_c - xp - Rp * k.at_p);
    if (k.slides == Slides::plane) w = V3(offset[0], offset[1], 0);
    if (k.slides == Slides::space) w = offset;
    if (k.slides == Slides::along) w[2] = k.driven ? sign * u[0] : offset[2];
    if (k.slides == Slides::screw) w[2] = k.pitch * (k.driven ? angle : turned(angle, offset[2] / k.pitch));
  }
  x = xp + Rp * k.at_p + E * w - R * k.at_c;
}

} // namespace gyrod
