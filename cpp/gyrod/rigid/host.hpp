// Where bodies and the rods that they hold meet in a linear system.
#pragma once

#include <vector>

#include "gyrod/math/matrix.hpp"
#include "gyrod/rigid/body.hpp"

namespace gyrod {

// What guests (rods whose ends are held by bodies) make of a stage: the derivative of the wrench (torque about the
// centre of mass, force) on one body by turn, place, angular velocity and velocity of another, and by its angular
// acceleration and acceleration, all in space axes.
template <class S> struct HostBlock {
  int row, column; // bodies
  Matrix<S, 6, 12> D;
  Matrix<S, 6, 6> A = Matrix<S, 6, 6>::Zero();
};
// A wrench on a body, and what a solution makes of the body: turn, place, angular velocity, velocity; and angular
// acceleration, acceleration.
template <class S> struct HostVector {
  int body;
  Matrix<S, 6, 1> wrench;
  Matrix<S, 12, 1> motion;
  Matrix<S, 6, 1> acceleration;
};

// A constraint of three rows between a guest and bodies in a stage: its rows by the motion of a body, and the wrench
// on the body by the multipliers.
template <class S> struct TieBlock {
  int tie, body;
  Matrix<S, 3, 12> D;
  Matrix<S, 3, 6> A;
  Matrix<S, 6, 3> wrench;
};
template <class S> struct TieBlocks {
  struct Own { // of a tie by the multipliers of another, or its own
    int row, column;
    Matrix<S, 3, 3> D;
  };
  std::vector<TieBlock<S>> on;
  std::vector<Own> own;
};
// Which ties of stages have to do with which bodies, and with which others.
struct TieLinks {
  std::vector<std::pair<int, int>> bodies, ties;
};

// Constraints between bodies and what they hold that a right-hand side cannot do without: section forces of rods whose
// strains are held, next to ends on bodies. The guest eliminates what is its own; for a body that does not move it
// leaves values r and a mobility C of the rows, and with a the twist rates of the bodies G a + r = (G M^-1 G' + C) mu.
struct Tie {
  int body, rows;
  int partner;     // of the same guest, -1: none
  double mobility; // about the largest entry of C
  // Where it is the one that stages keep: the first of three rows, of the section force that its guest is cut at, and
  // by what that is multiplied.
  int stays;
  double weight;
};
class HostTies {
public:
  enum Level { gap, rate, second };
  virtual ~HostTies() = default;
  virtual int ties() const = 0;
  virtual Tie tie(int i) const = 0;                                           // which never changes
  virtual TieLinks tie_links() const = 0;                                     // in stages, which have one a guest
  virtual void tie_row(int i, int row, Matrix<double, 6, 1>& g) const = 0;    // by the twist (v, omega)
  virtual double tie_value(int i, int row) const = 0;                         // r
  virtual double tie_compliance(int i, int row, int j, int column) const = 0; // C
  // Gaps or their rates at the motions of the bodies, the largest of all that the guests hold; those of the second
  // derivative are at hand when the guests have acted as forces.
  virtual double measure_ties(Level level, double t, const BodyMotion<double>* bodies) = 0;
  // What the guests make of the multipliers: they move, or have their forces.
  virtual void release_ties(Level level, const double* mu) = 0;
};

} // namespace gyrod
