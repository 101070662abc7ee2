// Scalars for the templated kernels beside double: dual numbers, for exact derivatives and for counts of operations.
#pragma once

#include "gyrod/math/matrix.hpp"

#include <array>
#include <cmath>

// Dual numbers are loops over many derivatives: inlining them gains nothing and takes the compiler minutes.
#if defined(__GNUC__)
#define GYROD_OUTLINE [[gnu::noinline]]
#define GYROD_COLD [[gnu::noinline, gnu::cold]]
#else
#define GYROD_OUTLINE
#define GYROD_COLD
#endif

namespace gyrod {

// Value and N directional derivatives. As with double, `Dual x;` is not initialised and `Dual x{};` is zero.
template <int N> struct Dual {
  double v;
  std::array<double, N> d;

  Dual() = default;
  GYROD_OUTLINE Dual(double value) : v(value), d{} {} // NOLINT: numbers are constants
  GYROD_OUTLINE Dual(const Dual& b) : v(b.v), d(b.d) {}
  GYROD_OUTLINE Dual& operator=(const Dual& b) {
    v = b.v, d = b.d;
    return *this;
  }
  static Dual seed(double value, int direction) {
    Dual x(value);
    x.d[std::size_t(direction)] = 1.0;
    return x;
  }

  template <class F> static Dual make(double v, F&& derivative) {
    Dual r;
    r.v = v;
    for (int i = 0; i < N; ++i) r.d[std::size_t(i)] = derivative(std::size_t(i));
    return r;
  }

  GYROD_OUTLINE Dual& operator+=(const Dual& b) {
    v += b.v;
    for (std::size_t i = 0; i < N; ++i) d[i] += b.d[i];
    return *this;
  }
  GYROD_OUTLINE Dual& operator-=(const Dual& b) {
    v -= b.v;
    for (std::size_t i = 0; i < N; ++i) d[i] -= b.d[i];
    return *this;
  }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }

  GYROD_OUTLINE friend Dual operator-(const Dual& a) {
    return make(-a.v, [&](std::size_t i) { return -a.d[i]; });
  }
  GYROD_OUTLINE friend Dual operator+(const Dual& a, const Dual& b) {
    return make(a.v + b.v, [&](std::size_t i) { return a.d[i] + b.d[i]; });
  }
  GYROD_OUTLINE friend Dual operator-(const Dual& a, const Dual& b) {
    return make(a.v - b.v, [&](std::size_t i) { return a.d[i] - b.d[i]; });
  }
  GYROD_OUTLINE friend Dual operator*(const Dual& a, const Dual& b) {
    return make(a.v * b.v, [&](std::size_t i) { return a.d[i] * b.v + a.v * b.d[i]; });
  }
  GYROD_OUTLINE friend Dual operator/(const Dual& a, const Dual& b) {
    const double q = a.v / b.v;
    return make(q, [&](std::size_t i) { return (a.d[i] - q * b.d[i]) / b.v; });
  }
  GYROD_OUTLINE friend Dual sqrt(const Dual& a) {
    const double r = std::sqrt(a.v);
    return make(r, [&](std::size_t i) { return 0.5 * a.d[i] / r; });
  }
  GYROD_OUTLINE friend Dual sin(const Dual& a) {
    const double c = std::cos(a.v);
    return make(std::sin(a.v), [&](std::size_t i) { return c * a.d[i]; });
  }
  GYROD_OUTLINE friend Dual cos(const Dual& a) {
    const double s = std::sin(a.v);
    return make(std::cos(a.v), [&](std::size_t i) { return -s * a.d[i]; });
  }
  GYROD_OUTLINE friend Dual atan2(const Dual& a, const Dual& b) {
    const double n = a.v * a.v + b.v * b.v;
    return make(std::atan2(a.v, b.v), [&](std::size_t i) { return (b.v * a.d[i] - a.v * b.d[i]) / n; });
  }
  friend Dual abs(const Dual& a) { return a.v < 0.0 ? -a : a; }
  friend bool operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.v > b.v; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.v <= b.v; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.v >= b.v; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.v != b.v; }
};

// Dual<1> carries one derivative and counts what is done to it: one scalar for all that is asked for once, so that the
// kernels are compiled once for it. Multiplication with a known 0 or 1 and addition of a known 0 cost nothing, because
// no hand-written right-hand side would contain them. Cold: the compiler then makes kernels of it short, not fast.
template <> struct Dual<1> {
  struct Tally {
    long add = 0, subtract = 0, multiply = 0, divide = 0, square = 0, root = 0, sine = 0, cosine = 0, arctangent = 0;
    Tally& operator+=(const Tally& b) {
      add += b.add, subtract += b.subtract, multiply += b.multiply, divide += b.divide, square += b.square;
      root += b.root, sine += b.sine, cosine += b.cosine, arctangent += b.arctangent;
      return *this;
    }
  };
  static Tally& tally() {
    static thread_local Tally t;
    return t;
  }
  double v = 0.0;
  std::array<double, 1> d{};
  bool known = true; // a literal constant
  Dual() = default;
  Dual(double value) : v(value) {} // NOLINT
  static Dual variable(double value) { return result(value, 0.0, false); }
  static Dual seed(double value, int) { return result(value, 1.0, false); }
  static Dual result(double value, double derivative, bool known) {
    Dual x(value);
    x.d[0] = derivative, x.known = known;
    return x;
  }
  bool is(double value) const { return known && v == value && d[0] == 0.0; }

  GYROD_COLD friend Dual operator-(const Dual& a) { return result(-a.v, -a.d[0], a.known); }
  GYROD_COLD friend Dual operator+(const Dual& a, const Dual& b) {
    if (a.is(0.0)) return b;
    if (b.is(0.0)) return a;
    if (!a.known || !b.known) ++tally().add;
    return result(a.v + b.v, a.d[0] + b.d[0], a.known && b.known);
  }
  GYROD_COLD friend Dual operator-(const Dual& a, const Dual& b) {
    if (b.is(0.0)) return a;
    if (a.is(0.0)) return -b;
    if (!a.known || !b.known) ++tally().subtract;
    return result(a.v - b.v, a.d[0] - b.d[0], a.known && b.known);
  }
  GYROD_COLD friend Dual operator*(const Dual& a, const Dual& b) {
    if (a.is(0.0) || b.is(0.0)) return Dual(0.0);
    if (a.is(1.0)) return b;
    if (b.is(1.0)) return a;
    if (a.is(-1.0)) return -b;
    if (b.is(-1.0)) return -a;
    if (!a.known || !b.known) ++(&a == &b ? tally().square : tally().multiply);
    return result(a.v * b.v, a.d[0] * b.v + a.v * b.d[0], a.known && b.known);
  }
  GYROD_COLD friend Dual operator/(const Dual& a, const Dual& b) {
    if (a.is(0.0)) return a;
    if (b.is(1.0)) return a;
    if (!a.known || !b.known) ++tally().divide;
    const double q = a.v / b.v;
    return result(q, (a.d[0] - q * b.d[0]) / b.v, a.known && b.known);
  }
  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }
  GYROD_COLD friend Dual sqrt(const Dual& a) {
    const double r = std::sqrt(a.v);
    return ++tally().root, result(r, 0.5 * a.d[0] / r, false);
  }
  GYROD_COLD friend Dual sin(const Dual& a) {
    return ++tally().sine, result(std::sin(a.v), std::cos(a.v) * a.d[0], false);
  }
  GYROD_COLD friend Dual cos(const Dual& a) {
    return ++tally().cosine, result(std::cos(a.v), -std::sin(a.v) * a.d[0], false);
  }
  GYROD_COLD friend Dual atan2(const Dual& a, const Dual& b) {
    const double n = a.v * a.v + b.v * b.v;
    return ++tally().arctangent, result(std::atan2(a.v, b.v), (b.v * a.d[0] - a.v * b.d[0]) / n, false);
  }
  friend Dual abs(const Dual& a) { return a.v < 0.0 ? result(-a.v, -a.d[0], a.known) : a; }
  friend bool operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.v > b.v; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.v <= b.v; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.v >= b.v; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.v != b.v; }
};
using Counted = Dual<1>;

// Whether a scalar is several numbers, one for each member of an ensemble; see lanes.hpp.
template <class S> inline constexpr bool is_lanes = false;

// The value of any scalar.
inline double value_of(double x) { return x; }
template <int N> double value_of(const Dual<N>& x) { return x.v; }

} // namespace gyrod
