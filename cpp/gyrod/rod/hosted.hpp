// Ends of rods that bodies hold: what the body does to the cells there, and what it feels of them.
#pragma once

#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/staggered.hpp"

namespace gyrod {

// At an end that a body holds: derivatives of the forces of the cells next to it by the motion of the body, and of the
// wrench on the body (torque, force) by the cells and by its own motion. Cells are counted from the end.
struct HostedEnd {
  static constexpr int most = 3;
  Eigen::Matrix<double, 6, 6> by_place[most], by_speed[most], own_place, own_speed;
  Eigen::Matrix<double, 6, 7> wrench_q[most], wrench_v[most];
  EndBlocks end;
};

// What a body that holds an end does to the cells there and feels of them. With its turn V and place dx, spin and
// velocity, all in space, an end at the arm r moves by
//   turn R_end' V, x: dx + V x r, spin R_end' (d omega + omega x V), x': dv + d omega x r + omega x (V x r).
inline void host_rows(const StaggeredGrid& grid, const RodState<double>& s, const EndMotion& motion,
                      const HostMotion& m, int e, double t, const StaggeredGrid::Blocks& blocks, HostedEnd& h) {
  const RodDescription& d = grid.description();
  const RodEnd& end = d.ends[e];
  const int n = e ? d.segments : 0,
            segment = e ? 0 : 1; // of the two cells at the end, counted from it, the segment's one
  if (end.clamped)
    grid.end_blocks(t, s, e, motion, h.end);
  else
    h.end.clear();
  const Vec3<double> arm = m.R * end.point, f = s.f[std::size_t(n)];
  const Mat3<double> R = matrix_from_quaternion<double>(motion.p), Ea = cross_matrix<double>(arm);
  const Mat3<double> EO = cross_matrix<double>(m.omega), none = Mat3<double>::Zero(), one = Mat3<double>::Identity();
  using M36 = Eigen::Matrix<double, 3, 6>;
  M36 turn_p, x_p, spin_p, v_p, spin_v, v_v;
  turn_p << R.transpose(), none;
  x_p << -Ea, one;
  spin_p << R.transpose() * EO, none;
  v_p << -EO * Ea, none;
  spin_v << R.transpose(), none;
  v_v << -Ea, one;
  const auto side = [&](int k) { return k == segment ? 1 : 0; }; // in EndBlocks
  for (int k = 0; k <= blocks.reach(); ++k) {
    const int c = e ? n - k : k;
    if (c < 0 || c > d.segments) break;
    Eigen::Matrix<double, 6, 3> qx = blocks.q(c, n).rightCols<3>();
    Eigen::Matrix<double, 6, 3> vx = blocks.v(c, n).rightCols<3>();
    Eigen::Matrix<double, 6, 3> qt = Eigen::Matrix<double, 6, 3>::Zero(), vt = qt;
    Eigen::Matrix<double, 3, 7> fq = blocks.q(n, c).bottomRows<3>();
    Eigen::Matrix<double, 3, 7> fv = blocks.v(n, c).bottomRows<3>();
    Eigen::Matrix<double, 3, 7> mq = Eigen::Matrix<double, 3, 7>::Zero(), mv = mq;
    if (k < 2)
      qt = h.end.turn[side(k)], vt = h.end.spin[side(k)], mq = h.end.moment_q[side(k)], mv = h.end.moment_v[side(k)];
    if (k == 0) { // its vertex is the body's: rows and columns of its own go there
      const M36 fp = qx.bottomRows<3>() * x_p + vx.bottomRows<3>() * v_p + qt.bottomRows<3>() * turn_p +
                     vt.bottomRows<3>() * spin_p;
      const M36 fs = vx.bottomRows<3>() * v_v + vt.bottomRows<3>() * spin_v;
      const M36 mp =
          mq.rightCols<3>() * x_p + mv.rightCols<3>() * v_p + h.end.moment_turn * turn_p + h.end.moment_spin * spin_p;
      const M36 ms = mv.rightCols<3>() * v_v + h.end.moment_spin * spin_v;
      h.own_place << Ea * fp + R * mp, fp;
      h.own_speed << Ea * fs + R * ms, fs;
      // (V x r) x f + V x (R m)
      h.own_place.topLeftCorner<3, 3>() += cross_matrix<double>(f) * Ea;
      if (end.clamped) h.own_place.topLeftCorner<3, 3>() -= cross_matrix<double>(R * s.end_moment[e]);
      qx.bottomRows<3>().setZero(), vx.bottomRows<3>().setZero();
      qt.bottomRows<3>().setZero(), vt.bottomRows<3>().setZero();
      fq.rightCols<3>().setZero(), fv.rightCols<3>().setZero();
      mq.rightCols<3>().setZero(), mv.rightCols<3>().setZero();
    }
    const std::size_t i = std::size_t(k);
    h.by_place[i] = qx * x_p + vx * v_p + qt * turn_p + vt * spin_p;
    h.by_speed[i] = vx * v_v + vt * spin_v;
    h.wrench_q[i] << Ea * fq + R * mq, fq;
    h.wrench_v[i] << Ea * fv + R * mv, fv;
  }
}

} // namespace gyrod
