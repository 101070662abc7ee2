// A formula of time as a small stack program, evaluated in doubles or in jets, which bring exact derivatives.
//
// It computes what the formulas of model files mean, to rounding: kinks (min, max, abs, ramp, step) have the slopes
// that are given there, and what has no value there has none here.
#pragma once

#include <string>
#include <vector>

#include "gyrod/time/jet.hpp"

namespace gyrod {

enum class Op {
  number,   // push a
  variable, // push t
  negate,
  add,
  subtract,
  multiply,
  divide,
  scale,       // times a
  power,       // of the two on top
  power_still, // the same; the exponent has no derivative
  copy,
  swap, // of the top, of the two on top
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  exp,
  log,
  log10,
  sqrt,
  abs,
  sign,
  atan2,
  min,
  max,   // of the two on top
  step,  // 0 before a, 1 from a on
  ramp,  // derivative of order c of the ramp from 0 to 1 that begins at a and takes b
  still, // the top without derivatives: they are zero by form, whatever the chain rule makes of them
};
inline constexpr int operations = int(Op::still) + 1;

struct Instruction {
  Op op;
  double a = 0.0, b = 0.0;
  int c = 0;
};

class Program {
public:
  static constexpr int deepest = 256;
  enum class Trouble { none, division_by_zero, too_large, outside_of_domain, not_finite };

  // Throws std::invalid_argument if the instructions do not leave exactly one number, or need too deep a stack.
  explicit Program(std::vector<Instruction> code);

  // Double or Jet; the derivatives of a jet may be infinite or NaN where the value is none.
  template <class S> [[nodiscard]] Trouble evaluate(double t, S& out) const;

private:
  std::vector<Instruction> code_;
};

extern template Program::Trouble Program::evaluate<double>(double, double&) const;
extern template Program::Trouble Program::evaluate<Jet>(double, Jet&) const;

} // namespace gyrod
