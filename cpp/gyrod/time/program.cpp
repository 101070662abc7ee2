#include "gyrod/time/program.hpp"

#include <algorithm>
#include <stdexcept>

namespace gyrod {
namespace {
using Trouble = Program::Trouble;

double value_of(double x) { return x; }
double value_of(const Jet& u) { return u.x; }

// f(u): in doubles its derivatives f1, f2 are never asked for.
template <class F1, class F2> double through(double, double f, F1&&, F2&&) { return f; }
template <class F1, class F2> Jet through(const Jet& u, double f, F1&& f1, F2&& f2) { return u.through(f, f1(), f2()); }

double still(double u) { return u; }
Jet still(const Jet& u) { return {u.x}; }

double sign_of(double x) { return x == 0.0 ? 0.0 : std::copysign(1.0, x); }

// What Python's math module would say of a result that is not finite.
Trouble judged(double result, double x, double y = 0.0) {
  if (std::isfinite(result) || !std::isfinite(x) || !std::isfinite(y)) return Trouble::none;
  return std::isnan(result) ? Trouble::outside_of_domain : Trouble::too_large;
}

double raised(double x, double n) { return n == 2.0 ? x * x : n == 1.0 ? x : n == 0.0 ? 1.0 : std::pow(x, n); }

// u^n for a number n; factors that are zero leave their term out.
double to_the(double u, double n) { return raised(u, n); }
Jet to_the(const Jet& u, double n) {
  const double f1 = n == 0.0 ? 0.0 : n * raised(u.x, n - 1.0), c = n * (n - 1.0);
  return u.through(raised(u.x, n), f1, c == 0.0 ? 0.0 : c * raised(u.x, n - 2.0));
}
double to_the_led(double u, double n) { return raised(u, n); }
Jet to_the_led(const Jet& u, const Jet& n) {
  const double l = std::log(u.x), f = raised(u.x, n.x), p1 = raised(u.x, n.x - 1.0), p2 = raised(u.x, n.x - 2.0);
  const double v = n.v * l * f + n.x * p1 * u.v, p1_rate = n.v * l * p1 + (n.x - 1.0) * p2 * u.v;
  const double a =
      n.a * l * f + n.v * (u.v / u.x) * f + n.v * l * v + n.v * p1 * u.v + n.x * p1_rate * u.v + n.x * p1 * u.a;
  return {f, v, a};
}
template <class S> Trouble power(S& u, const S& n, bool frozen) {
  const double x = value_of(u), y = value_of(n);
  u = frozen ? to_the(u, y) : to_the_led(u, n);
  if (x == 0.0 && y < 0.0) return Trouble::outside_of_domain;
  return judged(value_of(u), x, y);
}

double angle_of(double y, double x) { return std::atan2(y, x); }
Jet angle_of(const Jet& y, const Jet& x) {
  const double n = x.x * x.x + y.x * y.x, turn = x.x * y.v - y.x * x.v, rate = turn / n;
  const double second = x.x * y.a - y.x * x.a - rate * 2.0 * (x.x * x.v + y.x * y.v);
  return {std::atan2(y.x, x.x), rate, second / n};
}

// The smaller or larger one; of equal ones the mean of their derivatives.
double chosen(double u, double w, double side) { return side * u <= side * w ? u : w; }
Jet chosen(const Jet& u, const Jet& w, double side) {
  if (u.x == w.x) return {u.x, 0.5 * (u.v + w.v), 0.5 * (u.a + w.a)};
  return side * u.x < side * w.x ? u : w;
}

// 10 s³ - 15 s⁴ + 6 s⁵ and its derivatives, lowest power first.
constexpr int ramps = 6;
constexpr double ramp_rows[ramps][6] = {{0, 0, 0, 10, -15, 6},    {0, 0, 30, -60, 30, 0},  {0, 60, -180, 120, 0, 0},
                                        {60, -360, 360, 0, 0, 0}, {-360, 720, 0, 0, 0, 0}, {720, 0, 0, 0, 0, 0}};
double ramp_at(double s, int order, double width) {
  if (order >= ramps || s <= 0.0) return 0.0;
  if (s >= 1.0) return order == 0 ? 1.0 : 0.0;
  double sum = 0.0;
  for (int k = 5; k >= 0; --k) sum = sum * s + ramp_rows[order][k];
  return sum / std::pow(width, order);
}

// A function of one number.
template <class S> Trouble apply(Op op, S& top) {
  const double x = value_of(top);
  const auto set = [&](double f, auto&& f1, auto&& f2) { top = through(top, f, f1, f2); };
  switch (op) {
  case Op::sin:
  case Op::cos: {
    const bool sine = op == Op::sin;
    const double s = std::sin(x), c = std::cos(x);
    set(sine ? s : c, [&] { return sine ? c : -s; }, [&] { return sine ? -s : -c; });
    return std::isinf(x) ? Trouble::outside_of_domain : Trouble::none;
  }
  case Op::tan: {
    const double f = std::tan(x), f1 = 1.0 + f * f;
    set(f, [&] { return f1; }, [&] { return 2.0 * f * f1; });
    return std::isinf(x) ? Trouble::outside_of_domain : Trouble::none;
  }
  case Op::asin:
  case Op::acos: {
    const double side = op == Op::asin ? 1.0 : -1.0, rest = 1.0 - x * x;
    const auto f1 = [&] { return side / std::sqrt(rest); };
    set(op == Op::asin ? std::asin(x) : std::acos(x), f1, [&] { return x * f1() / rest; });
    return std::abs(x) > 1.0 ? Trouble::outside_of_domain : Trouble::none;
  }
  case Op::atan: {
    const double f1 = 1.0 / (1.0 + x * x);
    set(std::atan(x), [&] { return f1; }, [&] { return -2.0 * x * f1 * f1; });
    return Trouble::none;
  }
  case Op::sinh:
  case Op::cosh: {
    const double s = std::sinh(x), c = std::cosh(x), f = op == Op::sinh ? s : c;
    set(f, [&] { return op == Op::sinh ? c : s; }, [&] { return f; });
    return judged(f, x);
  }
  case Op::tanh: {
    const double f = std::tanh(x), f1 = 1.0 - f * f;
    set(f, [&] { return f1; }, [&] { return -2.0 * f * f1; });
    return Trouble::none;
  }
  case Op::exp: {
    const double f = std::exp(x);
    set(f, [&] { return f; }, [&] { return f; });
    return judged(f, x);
  }
  case Op::log:
  case Op::log10: {
    const double base = op == Op::log ? 1.0 : std::log(10.0);
    const double f = op == Op::log ? std::log(x) : std::log10(x);
    set(f, [&] { return 1.0 / (base * x); }, [&] { return -1.0 / (base * x * x); });
    return x <= 0.0 ? Trouble::outside_of_domain : Trouble::none;
  }
  case Op::sqrt: {
    const double f = std::sqrt(x);
    set(f, [&] { return 0.5 / f; }, [&] { return -0.25 / (f * x); });
    return x < 0.0 ? Trouble::outside_of_domain : Trouble::none;
  }
  case Op::abs:
    set(std::abs(x), [&] { return sign_of(x); }, [] { return 0.0; });
    return Trouble::none;
  default: // sign
    top = S(sign_of(x));
    return Trouble::none;
  }
}

// What takes the two on top and leaves one, in the lower place.
template <class S> Trouble combine(Op op, S& u, const S& w) {
  switch (op) {
  case Op::add:
    u = u + w;
    return Trouble::none;
  case Op::subtract:
    u = u - w;
    return Trouble::none;
  case Op::multiply:
    u = u * w;
    return Trouble::none;
  case Op::divide:
    u = u / w;
    return value_of(w) == 0.0 ? Trouble::division_by_zero : Trouble::none;
  case Op::power:
  case Op::power_still:
    return power<S>(u, w, op == Op::power_still);
  case Op::atan2:
    u = angle_of(u, w);
    return Trouble::none;
  default: // min, max
    u = chosen(u, w, op == Op::min ? 1.0 : -1.0);
    return Trouble::none;
  }
}

template <class S> void ramp(const Instruction& i, S& top) {
  const double s = (value_of(top) - i.a) / i.b;
  const auto at = [&](int more) { return ramp_at(s, i.c + more, i.b); };
  top = through(top, at(0), [&] { return at(1); }, [&] { return at(2); });
}

// How many numbers an instruction takes from the stack and leaves there.
std::pair<int, int> taken_and_left(Op op) {
  switch (op) {
  case Op::number:
  case Op::variable:
    return {0, 1};
  case Op::copy:
    return {1, 2};
  case Op::swap:
    return {2, 2};
  case Op::add:
  case Op::subtract:
  case Op::multiply:
  case Op::divide:
  case Op::power:
  case Op::power_still:
  case Op::atan2:
  case Op::min:
  case Op::max:
    return {2, 1};
  default:
    return {1, 1};
  }
}

double variable(double t, double) { return t; }
Jet variable(double t, const Jet&) { return {t, 1.0}; }
double scaled(double u, double c) { return c * u; }
Jet scaled(const Jet& u, double c) { return {c * u.x, c * u.v, c * u.a}; }
} // namespace

Program::Program(std::vector<Instruction> code) : code_(std::move(code)) {
  int depth = 0;
  for (const Instruction& i : code_) {
    const auto [takes, leaves] = taken_and_left(i.op);
    if (depth < takes) throw std::invalid_argument("a program takes more from its stack than is there");
    depth += leaves - takes;
    if (depth > deepest) throw std::invalid_argument("a program needs too deep a stack");
  }
  if (depth != 1) throw std::invalid_argument("a program must leave one number");
}

template <class S> Program::Trouble Program::evaluate(double t, S& out) const {
  S stack[deepest];
  S* top = stack - 1;
  for (const Instruction& i : code_) {
    Trouble trouble = Trouble::none;
    switch (i.op) {
    case Op::number:
      *++top = S(i.a);
      break;
    case Op::variable:
      ++top, *top = variable(t, *top);
      break;
    case Op::copy:
      ++top, *top = top[-1];
      break;
    case Op::swap:
      std::swap(top[0], top[-1]);
      break;
    case Op::negate:
      *top = -*top;
      break;
    case Op::scale:
      *top = scaled(*top, i.a);
      break;
    case Op::still:
      *top = still(*top);
      break;
    case Op::step:
      *top = S(value_of(*top) >= i.a ? 1.0 : 0.0);
      break;
    case Op::ramp:
      ramp(i, *top);
      break;
    default:
      if (taken_and_left(i.op).first == 2)
        --top, trouble = combine<S>(i.op, top[0], top[1]);
      else
        trouble = apply<S>(i.op, *top);
    }
    if (trouble != Trouble::none) return trouble;
  }
  out = *top;
  return std::isfinite(value_of(out)) ? Trouble::none : Trouble::not_finite;
}

template Program::Trouble Program::evaluate<double>(double, double&) const;
template Program::Trouble Program::evaluate<Jet>(double, Jet&) const;

} // namespace gyrod
