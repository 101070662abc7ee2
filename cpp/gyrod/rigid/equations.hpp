// What the outside needs of rigid bodies beyond Equations, the same for every formulation.
#pragma once

#include "gyrod/integrate/equations.hpp"
#include "gyrod/rigid/body.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

class RigidEquations : public Equations {
public:
  virtual std::size_t offset(int body) const = 0;
  virtual std::size_t state_size(int body) const = 0;
  virtual void motion(double t, const double* y, BodyMotion<double>* out) = 0;
  virtual void residual(double t, const double* y, double& position, double& velocity) = 0;
  virtual double potential(double t, const double* y) = 0;
  virtual void dense_jacobian(double t, const double* y, double* J) = 0; // row-major, for tests
  virtual Counted::Tally operations(const double* y) = 0;
  virtual int multiplier_count() const = 0; // of each body
  virtual void multipliers(double t, const double* y, double* lambda) = 0;
};

} // namespace gyrod
