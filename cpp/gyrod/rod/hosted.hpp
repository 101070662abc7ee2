// Ends of rods that bodies hold: what the body does to the cells there, and what it feels of them.
#pragma once

#include "gyrod/rod/cells.hpp"
#include "gyrod/rod/equations.hpp"

namespace gyrod {

// At an end that a body holds: derivatives of the forces of the cells next to it by the motion of the body, and of the
// wrench on the body (torque, force) by the cells and by its own motion. Cells are counted from the end.
struct HostedEnd {
  struct Cell {
    Matrix<double, 6, 6> by_place, by_speed;
    Matrix<double, 6, 7> wrench_q, wrench_v;
    Matrix<double, 6, 1> drift; // of the forces in time, at an end that is led
  };
  Matrix<double, 6, 6> own_place, own_speed;
  std::vector<Cell> cells;
  Cell& operator[](int k) { return cells[std::size_t(k)]; }
  const Cell& operator[](int k) const { return cells[std::size_t(k)]; }
};

// How an end moves with the body that holds it: with turn V and place dx, spin and velocity of the body, all in space,
// an end at the arm r moves by
//   turn R_end' V, x: dx + V x r, spin R_end' (d omega + omega x V), x': dv + d omega x r + omega x (V x r).
struct EndMap {
  using M36 = Matrix<double, 3, 6>;
  Mat3<double> R, arm; // of the end; the arm as a cross product
  M36 turn_p, x_p, spin_p, v_p, spin_v, v_v;

  EndMap(const RodEnd& end, const EndMotion& motion, const HostMotion& m)
      : R(matrix_from_quaternion<double>(motion.p)), arm(cross_matrix<double>(m.R * end.point)) {
    const Mat3<double> EO = cross_matrix<double>(m.omega), none = Mat3<double>::Zero(), one = Mat3<double>::Identity();
    turn_p << R.transpose(), none;
    x_p << -arm, one;
    spin_p << R.transpose() * EO, none;
    v_p << -EO * arm, none;
    spin_v << R.transpose(), none;
    v_v << -arm, one;
  }
};

} // namespace gyrod
