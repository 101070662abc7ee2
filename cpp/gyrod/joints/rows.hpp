// The scalar constraints that joints are made of, in director form: functions of the positions x and directors d of two
// bodies (Lang 2010, section 5). Each gives its value, its gradient with respect to (x, d) of both bodies and the part
// of its second time derivative that holds no acceleration. Everything else (quaternions, body twists) follows by
// pull-back: this is the one place where a constraint is written.
#pragma once

#include <array>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

// What a row is, and the joint axes of a and b that it refers to.
struct RowKind {
  enum Type { point, plane, dot, length, angle, slide, screw } type;
  int i = 0, j = 0;
};

// Position, directors and their time derivatives of one side of a joint. Ground stands still.
template <class S> struct Side {
  Vec3<S> x, v;
  Mat3<S> R, V; // columns: directors, their rates
};

// Joint point and joint axes on both sides, in space, with rates; made once for all rows of a joint.
template <class S> struct JointGeometry {
  Vec3<S> offset, rate; // from the point of a to that of b
  Mat3<S> Ea, Eb, Ea_rate, Eb_rate;
};

// Gradient with respect to x and to the directors (column n: to director n) of one body.
template <class S> struct SideGradient {
  Vec3<S> x;
  Mat3<S> d;
};

template <class S> struct Row {
  S g, rate_in_time, second; // g; dg/dt at rest; g'' without accelerations
  SideGradient<S> a, b;
};

struct JointPlace {
  int a = -1, b = -1; // bodies, -1 for ground
  Vec3<double> at_a = Vec3<double>::Zero(), at_b = Vec3<double>::Zero();
  Mat3<double> frame_a = Mat3<double>::Identity(), frame_b = Mat3<double>::Identity();
  double parameter = 0.0; // metres per radian of a screw, length of a distance
};

template <class S> JointGeometry<S> geometry(const JointPlace& p, const Side<S>& a, const Side<S>& b) {
  const Mat3<S> Fa = p.frame_a.cast<S>(), Fb = p.frame_b.cast<S>();
  const Vec3<S> ra = p.at_a.cast<S>(), rb = p.at_b.cast<S>();
  return {b.x + b.R * rb - a.x - a.R * ra, b.v + b.V * rb - a.v - a.V * ra, a.R * Fa, b.R * Fb, a.V * Fa, b.V * Fb};
}

// The value u(t) that a driven row follows, with two time derivatives.
using Driven = std::array<double, 3>;

namespace rows {

// g += s <point difference, e>, e constant: gradients by (x, d) of both sides.
template <class S> void add_offset(const JointPlace& p, const Vec3<S>& e, Row<S>& r) {
  r.b.x += e, r.a.x -= e;
  for (int n = 0; n < 3; ++n) r.b.d.col(n) += e * S(p.at_b[n]), r.a.d.col(n) -= e * S(p.at_a[n]);
}
// g += <axis i of a, w>, w constant.
template <class S> void add_axis_a(const JointPlace& p, int i, const Vec3<S>& w, Row<S>& r) {
  for (int n = 0; n < 3; ++n) r.a.d.col(n) += w * S(p.frame_a(n, i));
}
template <class S> void add_axis_b(const JointPlace& p, int j, const Vec3<S>& w, Row<S>& r) {
  for (int n = 0; n < 3; ++n) r.b.d.col(n) += w * S(p.frame_b(n, j));
}

} // namespace rows

// The angle of b against a about axis 3, in (-pi, pi], and the turn that makes it nearest to `near`.
inline double turned(double angle, double near) {
  constexpr double turn = 6.283185307179586;
  return angle + turn * std::round((near - angle) / turn);
}

template <class S>
Row<S> evaluate_row(const RowKind& kind, const JointPlace& p, const JointGeometry<S>& q, const Driven& u) {
  Row<S> r;
  r.a.x.setZero(), r.a.d.setZero(), r.b.x.setZero(), r.b.d.setZero();
  r.rate_in_time = r.second = S(0);
  const int i = kind.i, j = kind.j;
  switch (kind.type) {
  case RowKind::point: { // component i of the point difference
    Vec3<S> e = Vec3<S>::Zero();
    e[i] = S(1);
    r.g = q.offset[i];
    rows::add_offset<S>(p, e, r);
    break;
  }
  case RowKind::plane: // <axis i of a, point difference> (= u for a driven slide)
  case RowKind::slide: {
    const Vec3<S> e = q.Ea.col(i);
    r.g = e.dot(q.offset);
    r.second = S(2) * q.Ea_rate.col(i).dot(q.rate);
    if (kind.type == RowKind::slide) r.g = r.g - S(u[0]), r.rate_in_time = S(-u[1]), r.second = r.second - S(u[2]);
    rows::add_offset<S>(p, e, r);
    rows::add_axis_a<S>(p, i, q.offset, r);
    break;
  }
  case RowKind::dot: // <axis i of a, axis j of b>
    r.g = q.Ea.col(i).dot(q.Eb.col(j));
    r.second = S(2) * q.Ea_rate.col(i).dot(q.Eb_rate.col(j));
    rows::add_axis_a<S>(p, i, q.Eb.col(j), r);
    rows::add_axis_b<S>(p, j, q.Ea.col(i), r);
    break;
  case RowKind::length: // (|difference|² - l²)/(2 l): in metres
  {
    const double l = u[0];
    r.g = (q.offset.dot(q.offset) - S(l * l)) / S(2.0 * l);
    // The factor 1/l is kept constant in the derivatives of the constraint: g = 0 and g' = 0 hold exactly all the same.
    r.rate_in_time = S(-u[1]);
    r.second = (q.rate.dot(q.rate) - S(u[1] * u[1] + l * u[2])) / S(l);
    rows::add_offset<S>(p, Vec3<S>(q.offset / S(l)), r);
    break;
  }
  case RowKind::angle: { // <axis 1 of b, axis 2 of a turned by u>
    const double c = std::cos(u[0]), s = std::sin(u[0]), w = u[1];
    const Vec3<S> along = q.Ea.col(0) * S(c) + q.Ea.col(1) * S(s), across = q.Ea.col(1) * S(c) - q.Ea.col(0) * S(s);
    const Vec3<S> along_rate = q.Ea_rate.col(0) * S(c) + q.Ea_rate.col(1) * S(s);
    const Vec3<S> across_rate = q.Ea_rate.col(1) * S(c) - q.Ea_rate.col(0) * S(s);
    const Vec3<S> b1 = q.Eb.col(0), b1_rate = q.Eb_rate.col(0);
    r.g = b1.dot(across);
    r.rate_in_time = -b1.dot(along) * S(w);
    r.second = S(2) * b1_rate.dot(across_rate - along * S(w)) -
               b1.dot(along_rate * S(2.0 * w) + along * S(u[2]) + across * S(w * w));
    rows::add_axis_b<S>(p, 0, across, r);
    rows::add_axis_a<S>(p, 1, Vec3<S>(b1 * S(c)), r);
    rows::add_axis_a<S>(p, 0, Vec3<S>(b1 * S(-s)), r);
    break;
  }
  case RowKind::screw: { // displacement along axis 3 of a less pitch times angle
    using std::atan2;
    const Vec3<S> e = q.Ea.col(2), b1 = q.Eb.col(0), b1_rate = q.Eb_rate.col(0);
    const S c = b1.dot(q.Ea.col(0)), s = b1.dot(q.Ea.col(1)), n = c * c + s * s;
    const S c_rate = b1_rate.dot(q.Ea.col(0)) + b1.dot(q.Ea_rate.col(0));
    const S s_rate = b1_rate.dot(q.Ea.col(1)) + b1.dot(q.Ea_rate.col(1));
    const S c_second = S(2) * b1_rate.dot(q.Ea_rate.col(0)), s_second = S(2) * b1_rate.dot(q.Ea_rate.col(1));
    const double h = p.parameter;
    const S moved = e.dot(q.offset), wrapped = atan2(s, c);
    // The displacement tells the number of turns.
    const double turns = turned(value_of(wrapped), value_of(moved) / h) - value_of(wrapped);
    r.g = moved - S(h) * (wrapped + S(turns));
    const S turn = c * s_rate - s * c_rate;
    const S angle_second = (c * s_second - s * c_second) / n - turn * S(2) * (c * c_rate + s * s_rate) / (n * n);
    r.second = S(2) * q.Ea_rate.col(2).dot(q.rate) - S(h) * angle_second;
    rows::add_offset<S>(p, e, r);
    rows::add_axis_a<S>(p, 2, q.offset, r);
    const S ks = S(-h) * c / n, kc = S(h) * s / n; // -h dangle = ks ds + kc dc
    rows::add_axis_b<S>(p, 0, Vec3<S>(q.Ea.col(1) * ks + q.Ea.col(0) * kc), r);
    rows::add_axis_a<S>(p, 1, Vec3<S>(b1 * ks), r);
    rows::add_axis_a<S>(p, 0, Vec3<S>(b1 * kc), r);
    break;
  }
  }
  return r;
}

} // namespace gyrod
