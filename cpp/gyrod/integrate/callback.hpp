// A system given by functions, with a dense Jacobian: the door for any small system of equations.
#pragma once

#include <functional>
#include <vector>

#include "gyrod/integrate/equations.hpp"
#include "gyrod/linear/block_lu.hpp"

namespace gyrod {

class CallbackEquations final : public Equations {
public:
  using Function = std::function<void(double, const double*, double*)>; // y' or the row-major Jacobian
  CallbackEquations(std::size_t n, Function rhs, Function jacobian);

  std::size_t size() const override { return n_; }
  void rhs(double t, const double* y, double* dy) override { rhs_(t, y, dy); }
  bool autonomous() const override { return false; }

  void time_derivative(double t, const double* y, double* ft) override;
  void jacobian(double t, const double* y) override;
  bool factor(double shift) override;
  bool factor(Complex shift) override;
  void solve(double* b) override;
  void solve_transposed(double* b) override;
  void solve(Complex* b) override;

private:
  std::size_t n_;
  Function rhs_, jacobian_;
  std::vector<double> J_;
  BlockPattern pattern_;
  BlockLu<double> real_;
  BlockLu<Complex> complex_;
  std::vector<double> f0_, f1_, y_;
};

} // namespace gyrod
