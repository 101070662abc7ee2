// What the outside needs of rigid bodies beyond Equations, the same for every formulation.
#pragma once

#include <memory>
#include <string>

#include "gyrod/integrate/equations.hpp"
#include "gyrod/rigid/forces.hpp"
#include "gyrod/rigid/options.hpp"

namespace gyrod {

class RigidEquations : public Equations {
public:
  virtual std::size_t offset(int body) const = 0;
  virtual std::size_t state_size(int body) const = 0;
  virtual void motion(double t, const double* y, BodyMotion<double>* out) = 0;
  virtual void residual(double t, const double* y, double& position, double& velocity) = 0;
  virtual double potential(double t, const double* y) = 0;
  virtual void dense_jacobian(double t, const double* y, double* J) = 0; // row-major, for tests
  virtual Counted::Tally operations(const double* y, bool alone) = 0;
  virtual int multiplier_count() const = 0; // of each body
  virtual void multipliers(double t, const double* y, double* lambda) = 0;
};

// Equations of bodies without joints in the formulation of that name.
std::unique_ptr<RigidEquations> make_rigid(const std::string& formulation, std::vector<RigidBody> bodies, Forces forces,
                                           const Vec3<double>& gravity, const FormulationOptions& options);

} // namespace gyrod
