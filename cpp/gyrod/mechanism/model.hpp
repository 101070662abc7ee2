// A mechanism as the core gets it: bodies, joints, which joints carry the tree and which close loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gyrod/joints/kinds.hpp"
#include "gyrod/rigid/equations.hpp"
#include "gyrod/rigid/forces.hpp"
#include "gyrod/rigid/host.hpp"
#include "gyrod/rigid/options.hpp"

namespace gyrod {

struct Joint {
  const JointType* type = nullptr;
  JointPlace place;
  Signal drive;       // nothing: not driven
  bool still = false; // a drive stands where it is

  bool driven() const { return bool(drive); }
  // What drive or length say at t. A length that is constant is the parameter of the joint.
  Driven value(double t) const {
    if (!drive) return {place.parameter, 0.0, 0.0};
    if (still) return {drive.number(t), 0.0, 0.0};
    Jet u;
    drive.jets(t, &u);
    return {u.x, u.v, u.a};
  }
  int size() const { return type->rows.size + (adds_row() ? 1 : 0); }
  RowKind row(int i) const { return i < type->rows.size ? type->rows[i] : type->drive[0]; }
  // The same constraint along the axes of a instead of those of space: what is redundant in a loop stays redundant
  // while the loop turns.
  RowKind loop_row(int i) const {
    const RowKind k = row(i);
    return k.type == RowKind::point ? RowKind{RowKind::plane, k.i} : k;
  }

private:
  bool adds_row() const { return driven() && type->drive.size > 0; }
};

// A body and the joint that carries it. Links are sorted: a parent comes before its children.
struct TreeLink {
  int body = 0;
  int parent = -1; // link; -1: ground, or nothing for a free body
  int joint = -1;  // -1: free
};

// Point masses that move with a body, in its axes: their sum, sum m r and sum m (r² - r r').
struct Lump {
  double mass = 0.0;
  Vec3<double> first = Vec3<double>::Zero();
  Mat3<double> second = Mat3<double>::Zero();
  void add(double m, const Vec3<double>& r) {
    mass += m, first += m * r;
    second += m * (r.squaredNorm() * Mat3<double>::Identity() - r * r.transpose());
  }
  void turn(const Vec3<double>& J, const Mat3<double>& R) { second += R * J.asDiagonal() * R.transpose(); }
};

// Joints, and how they carry bodies.
struct JointTree {
  std::vector<Joint> joints;
  std::vector<TreeLink> links;
  std::vector<int> cuts;              // joints that close loops
  std::vector<std::vector<int>> kept; // for each cut: its rows, without those that say nothing in any position
  std::vector<int> ranks;             // how many of them are independent, beside those of the cuts before; empty: all
  int rank(int cut) const { return ranks.empty() ? int(kept[std::size_t(cut)].size()) : ranks[std::size_t(cut)]; }
  bool overconstrained(int cut) const { return rank(cut) < int(kept[std::size_t(cut)].size()); }
};

struct MechanismModel : JointTree {
  std::vector<RigidBody> bodies;
  std::vector<Lump> lumps; // of each body; empty: none. Inertia only: their weight is among the forces
  Forces forces;
  Vec3<double> gravity = Vec3<double>::Zero();
  FormulationOptions options;
  HostTies* ties = nullptr;             // constraints with guests
  std::vector<std::pair<int, int>> met; // bodies that feel each other through guests
};

using Twist = Matrix<double, 6, 1>; // velocity of the centre of mass and angular velocity, space axes

// Of dual numbers compiled once, in model.cpp.
extern template JointGeometry<BodyDual> geometry(const JointPlace&, const Side<BodyDual>&, const Side<BodyDual>&);
extern template Row<BodyDual> evaluate_row(const RowKind&, const JointPlace&, const JointGeometry<BodyDual>&,
                                           const Driven&);

// A side of a joint from the kinematics of its body.
template <class S> Side<S> side_of(const Vec3<S>& x, const Mat3<S>& R, const Vec3<S>& v, const Vec3<S>& omega) {
  Side<S> s{x, v, R, Mat3<S>()};
  for (int n = 0; n < 3; ++n) s.V.col(n) = omega.cross(R.col(n));
  return s;
}
template <class S> Side<S> ground_side() {
  return {Vec3<S>::Zero(), Vec3<S>::Zero(), Mat3<S>::Identity(), Mat3<S>::Zero()};
}

// Gradient with respect to the twist of a body: a director moves by omega x d.
template <class S> Matrix<S, 6, 1> twist_gradient(const SideGradient<S>& g, const Mat3<S>& R) {
  Vec3<S> w = Vec3<S>::Zero();
  for (int n = 0; n < 3; ++n) w += R.col(n).cross(g.d.col(n));
  Matrix<S, 6, 1> out;
  out << g.x, w;
  return out;
}
// What the centripetal accelerations omega x (omega x d) add to the second derivative of a constraint.
template <class S> S centripetal(const SideGradient<S>& g, const Side<S>& side, const Vec3<S>& omega) {
  S sum(0);
  for (int n = 0; n < 3; ++n) sum += g.d.col(n).dot(omega.cross(side.V.col(n)));
  return sum;
}

// The rows of a joint, as they are or (loop) along the axes of a, where its sides turn by omega.
struct JointRow {
  int joint;
  double g, rate_in_time, second; // dg/dt at rest, g'' without accelerations
  Twist a, b;                     // gradients by the twists (v, omega in space axes)
};
struct JointRows {
  int size;
  JointRow row[8];
  const JointRow* begin() const { return row; }
  const JointRow* end() const { return row + size; }
};
struct MovingSide {
  Side<double> side = ground_side<double>();
  Vec3<double> omega = Vec3<double>::Zero();
};
JointRows evaluate_rows(const Joint& joint, int number, bool loop, const Driven& u, const MovingSide& a,
                        const MovingSide& b);

// What the outside needs of a mechanism beyond rigid bodies.
class MechanismEquations : public RigidEquations {
public:
  // `factor` and `solve` with guests; only forms that serve them have these.
  virtual bool factor_with_guests(double, const std::vector<HostBlock<double>>&, const TieBlocks<double>&) {
    throw unserved();
  }
  virtual bool factor_with_guests(Complex, const std::vector<HostBlock<Complex>>&, const TieBlocks<Complex>&) {
    throw unserved();
  }
  virtual void solve_with_guests(double*, std::vector<HostVector<double>>&, std::vector<Vec3<double>>&) {
    throw unserved();
  }
  virtual void solve_with_guests(Complex*, std::vector<HostVector<Complex>>&, std::vector<Vec3<Complex>>&) {
    throw unserved();
  }

  // `solve_transposed`, from weights of their motions and of the multipliers of ties to those of wrenches and rows.
  virtual void solve_transposed_with_guests(double*, std::vector<HostVector<double>>&, std::vector<Vec3<double>>&) {
    throw unserved();
  }

  // Other bodies feel each other through guests from now on, and ties may be linked otherwise.
  virtual void meet(std::vector<std::pair<int, int>>) { throw unserved(); }
  // Whether `project` leaves constraints with guests alone, who are to follow.
  void loosen(bool on) { loose_ = on; }
  // Motions as guests see them: R is a rotation, whatever the state is.
  virtual void host_motion(double t, const double* y, BodyMotion<double>* out) { motion(t, y, out); }

  const char* trouble(double, const double*) const override {
    return torn_ ? "the joints cannot be held together" : nullptr;
  }
  // Accelerations of the bodies: v' in space axes, Omega' in body axes; 6 for each.
  virtual void accelerations(double t, const double* y, double* out) = 0;
  // The same at the state of the last Jacobian: those that it has found, or, where they are unknowns, those of the
  // state.
  virtual void stated_accelerations(double t, const double* y, double* out) { accelerations(t, y, out); }
  // Force and torque (space axes) of a on b at the joint point of b, 6 for each joint; those of joints with redundant
  // rows are one choice of many.
  virtual void reactions(double t, const double* y, double* out) = 0;
  // Number of velocities of the tree, and the twists (v space, Omega body) of all bodies for each: (6 bodies, n).
  virtual int tree_freedoms() const = 0;
  virtual void nullspace(double t, const double* y, double* T) = 0;
  // Gradient of the rows of the cut joints with respect to the tree's velocities, all rows or the kept ones.
  virtual int loop_rows(bool all) const = 0;
  virtual void loop_gradient(double t, const double* y, bool all, double* G) = 0;
  // Complete a state whose positions are set by what follows from velocities of the bodies (v space, Omega body; 6 for
  // each): those of the tree, or accelerations and multipliers.
  virtual void complete(double t, const double* velocities, double* y) = 0;
  virtual const MechanismModel& model() const = 0;

protected:
  static std::logic_error unserved() { return std::logic_error("this formulation has no rods on bodies"); }
  static constexpr double largest_gap_allowed = 1e-6; // over the size of the mechanism, after projection
  bool torn_ = false, loose_ = false;
};

// Equations of a mechanism in the formulation of that name.
std::unique_ptr<MechanismEquations> make_mechanism(const std::string& formulation, MechanismModel model);
// All rows of all joints at given motions of the bodies.
std::vector<JointRow> joint_rows(const JointTree& tree, double t, const BodyMotion<double>* motions);

} // namespace gyrod
