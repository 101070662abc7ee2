// Where bodies and the rods that they hold meet in a linear system.
#pragma once

#include "gyrod/math/matrix.hpp"

namespace gyrod {

// What guests (rods whose ends are held by bodies) make of a stage: the derivative of the wrench (torque about the
// centre of mass, force) on one body by turn, place, angular velocity and velocity of another, all in space axes.
template <class S> struct HostBlock {
  int row, column; // bodies
  Matrix<S, 6, 12> D;
};
// A wrench on a body, and what a solution makes of the body: turn, place, angular velocity, velocity.
template <class S> struct HostVector {
  int body;
  Matrix<S, 6, 1> wrench;
  Matrix<S, 12, 1> motion;
};

} // namespace gyrod
