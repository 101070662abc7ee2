// Points of bodies: how they move with the body, and what forces there do. All that acts between points (springs,
// cables, bushings) has its derivatives from here: the force by the motion of the points is its own affair.
#pragma once

#include "gyrod/rigid/body.hpp"

namespace gyrod {

inline constexpr int ground = -1;

// How a rotation varies: by a turn in space, or by the nine entries of R, director by director.
struct QuaternionTurns { // dR = [theta]x R
  static constexpr int count = 3;
  using M = Matrix<double, 3, count>;
  static M of(const Mat3<double>& R, const Vec3<double>& u) { return cross_matrix<double>(-(R * u)); } // d(R u)
  static M of_transposed(const Mat3<double>& R, const Vec3<double>& z) {                               // d(R' z)
    return R.transpose() * cross_matrix<double>(z);
  }
  static M turn(const Mat3<double>&) { return M::Identity(); } // in space, of the columns
  template <class D> static void seed(const Mat3<double>& R, int from, Mat3<D>& out) {
    for (int k = 0; k < 3; ++k)
      for (int n = 0; n < 3; ++n) {
        const Vec3<double> d = Vec3<double>(Vec3<double>::Unit(k)).cross(Vec3<double>(R.col(n)));
        for (int i = 0; i < 3; ++i) out(i, n).d[std::size_t(from + k)] = d[i];
      }
  }
};
struct DirectorTurns { // dR as it is
  static constexpr int count = 9;
  using M = Matrix<double, 3, count>;
  static M of(const Mat3<double>&, const Vec3<double>& u) {
    M out = M::Zero();
    for (int n = 0; n < 3; ++n)
      for (int i = 0; i < 3; ++i) out(i, 3 * n + i) = u[n];
    return out;
  }
  static M of_transposed(const Mat3<double>&, const Vec3<double>& z) {
    M out = M::Zero();
    for (int n = 0; n < 3; ++n)
      for (int i = 0; i < 3; ++i) out(n, 3 * n + i) = z[i];
    return out;
  }
  static M turn(const Mat3<double>& R) { // sum d_n x dd_n / 2
    M E;
    for (int n = 0; n < 3; ++n) E.template middleCols<3>(3 * n) = 0.5 * cross_matrix<double>(Vec3<double>(R.col(n)));
    return E;
  }
  template <class D> static void seed(const Mat3<double>&, int from, Mat3<D>& out) {
    for (int k = 0; k < 9; ++k) out(k % 3, k / 3).d[std::size_t(from + k)] = 1.0;
  }
};

// Derivatives of the wrench on a body (force, torque about the centre of mass) by the motion of a body, all in space.
template <class Turn> struct WrenchBlock {
  Matrix<double, 6, 3> place, velocity, spin;
  Matrix<double, 6, Turn::count> turn;
  void setZero() { place.setZero(), velocity.setZero(), spin.setZero(), turn.setZero(); }
};
// Of an element that acts on one or two bodies: [on][by], in the order of its `bodies()`.
template <class Turn> using ForceBlocks = WrenchBlock<Turn>[2][2];

// A point of a body, at an arm a in its axes, or of ground. With angular velocity w in space
//   x_p = x + R a, v_p = v + R (R'w x a); a force F there has the torque R (a x R'F).
template <class Turn> struct BodyPoint {
  using M3r = Matrix<double, 3, Turn::count>;
  int body;
  Vec3<double> a, x, v, w;
  Mat3<double> R, arm; // [R a]x: v_p by w is -arm, the torque by F is arm
  M3r x_turn, v_turn;

  BodyPoint(const BodyMotion<double>* motions, int of, const Vec3<double>& at) : body(of), a(at), x(at) {
    if (body == ground) return;
    const BodyMotion<double>& m = motions[body];
    const Vec3<double> r = m.R * a, swing = m.Omega.cross(a);
    R = m.R, w = R * m.Omega, x = m.x + r, v = m.v + R * swing;
    arm = cross_matrix<double>(r);
    x_turn = Turn::of(R, a);
    v_turn = Turn::of(R, swing) - (R * cross_matrix<double>(a)) * Turn::of_transposed(R, w);
  }
  Vec3<double> velocity() const { return body == ground ? Vec3<double>(Vec3<double>::Zero()) : v; }
  M3r torque_turn(const Vec3<double>& F) const { // of a given force
    const Vec3<double> f = R.transpose() * F;
    return Turn::of(R, a.cross(f)) + (R * cross_matrix<double>(a)) * Turn::of_transposed(R, F);
  }
};

// A force F on the first point and -F on the second, with dF = K (dx_q - dx_p) + C (dv_q - dv_p).
template <class Turn>
void pull_blocks(const BodyPoint<Turn>& p, const BodyPoint<Turn>& q, const Vec3<double>& F, const Mat3<double>& K,
                 const Mat3<double>& C, ForceBlocks<Turn>& out) {
  const BodyPoint<Turn>* points[2] = {&p, &q};
  int row = 0;
  for (int r = 0; r < 2; ++r) {
    if (points[r]->body == ground) continue;
    const BodyPoint<Turn>& on = *points[r];
    int column = 0;
    for (int c = 0; c < 2; ++c) {
      if (points[c]->body == ground) continue;
      const BodyPoint<Turn>& by = *points[c];
      WrenchBlock<Turn>& b = out[row][column];
      const double sign = r == c ? -1.0 : 1.0;
      const auto put = [&](auto& to, const auto& force) {
        to.template topRows<3>() = force, to.template bottomRows<3>() = on.arm * force;
      };
      put(b.place, Mat3<double>(sign * K));
      put(b.velocity, Mat3<double>(sign * C));
      put(b.spin, Mat3<double>(-sign * (C * by.arm)));
      put(b.turn, typename BodyPoint<Turn>::M3r(sign * (K * by.x_turn + C * by.v_turn)));
      if (r == c) b.turn.template bottomRows<3>() += on.torque_turn(r ? Vec3<double>(-F) : F);
      ++column;
    }
    ++row;
  }
}

} // namespace gyrod
