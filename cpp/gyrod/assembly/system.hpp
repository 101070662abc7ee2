// Bodies, joints, forces and rods in one formulation, as one system of equations and what can be read of a state.
#pragma once

#include <array>
#include <memory>

#include "gyrod/assembly/coupled.hpp"
#include "gyrod/assembly/description.hpp"
#include "gyrod/assembly/owner.hpp"
#include "gyrod/integrate/composite.hpp"

namespace gyrod {

class System {
public:
  explicit System(SystemDescription description);

  Equations& equations() { return all_.all(); }
  const Equations& equations() const { return all_.all(); }
  std::size_t size() const { return all_.size(); }
  std::size_t bodies() const { return count_; }
  RodEquations* rods() const { return rods_.get(); }
  RigidEquations* rigid() const { return rigid_.get(); }
  std::size_t rods_at() const { return rods_at_; } // where the unknowns of the rods begin
  MechanismEquations& mechanism() const;           // throws where bodies are not joined
  // Why members of an ensemble cannot go in lanes; null if they can.
  const char* apart() const;

  // df/dy, row by row; dual: by dual numbers of the right-hand side, where there are such.
  void dense_jacobian(double t, const double* y, double* J, bool dual);
  Counted::Tally operations(const double* y, bool alone = false);
  std::vector<RodLayout> layout() const; // of each rod, in the state of the system

  // Completes a state of which the bodies' positions and the rods are set; see MechanismEquations.
  void complete(double t, const double* velocities, double* y);

  // --- readings of a state; those of bodies that hold rods ask both
  // Moves y back to its constraints if wanted, and puts the ends of rods where their bodies are.
  void place(double t, double* y, bool project);
  void motions(double t, const double* y, BodyMotion<double>* out);
  void accelerations(double t, const double* y, double* out);
  void reactions(double t, const double* y, double* out);
  struct Residual {
    double position = 0.0, velocity = 0.0;
  };
  Residual residual(double t, const double* y);
  double potential(double t, const double* y); // of the bodies
  // Of all rods of a placed state.
  RodMeasures rod_measures(double t, const double* y) const;

  mutable Owner owner; // of the workspace, into which all that takes a state writes

private:
  void bind(const double* y) {
    if (coupled_) coupled_->bind(y);
  }

  std::size_t count_;
  bool linked_; // something acts between points of rods and others
  std::unique_ptr<RigidEquations> rigid_;
  MechanismEquations* mechanism_ = nullptr; // the same, where bodies are joined
  std::unique_ptr<RodEquations> rods_;
  std::unique_ptr<Coupled> coupled_; // rods that bodies hold
  Composite all_;
  std::size_t rods_at_ = 0;
};

} // namespace gyrod
