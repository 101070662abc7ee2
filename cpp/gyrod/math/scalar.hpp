// Scalars for the templated kernels beside double: dual numbers, for exact derivatives, and a counter of operations.
#pragma once

#include "gyrod/math/matrix.hpp"

#include <array>
#include <cmath>

// Dual numbers are loops over many derivatives, counting needs no speed: inlining them gains nothing and takes the
// compiler minutes.
#if defined(__GNUC__)
#define GYROD_OUTLINE [[gnu::noinline]]
#else
#define GYROD_OUTLINE
#endif

namespace gyrod {

// Value and N directional derivatives.
template <int N> struct Dual {
  double v = 0.0;
  std::array<double, N> d{};

  Dual() = default;
  Dual(double value) : v(value) {} // NOLINT: numbers are constants
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

  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
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

// Counts what is done to it; multiplication with a known 0 or 1 and addition of a known 0 cost nothing, because no
// hand-written right-hand side would contain them.
struct Counted {
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
  bool known = true; // a literal constant
  Counted() = default;
  Counted(double value) : v(value) {} // NOLINT
  static Counted variable(double value) {
    Counted x(value);
    x.known = false;
    return x;
  }
  static Counted result(double value, bool known) {
    Counted x(value);
    x.known = known;
    return x;
  }
  bool is(double value) const { return known && v == value; }

  GYROD_OUTLINE friend Counted operator-(const Counted& a) { return result(-a.v, a.known); }
  GYROD_OUTLINE friend Counted operator+(const Counted& a, const Counted& b) {
    if (a.is(0.0)) return b;
    if (b.is(0.0)) return a;
    if (!a.known || !b.known) ++tally().add;
    return result(a.v + b.v, a.known && b.known);
  }
  GYROD_OUTLINE friend Counted operator-(const Counted& a, const Counted& b) {
    if (b.is(0.0)) return a;
    if (a.is(0.0)) return -b;
    if (!a.known || !b.known) ++tally().subtract;
    return result(a.v - b.v, a.known && b.known);
  }
  GYROD_OUTLINE friend Counted operator*(const Counted& a, const Counted& b) {
    if (a.is(0.0) || b.is(0.0)) return Counted(0.0);
    if (a.is(1.0)) return b;
    if (b.is(1.0)) return a;
    if (a.is(-1.0)) return -b;
    if (b.is(-1.0)) return -a;
    if (!a.known || !b.known) ++(&a == &b ? tally().square : tally().multiply);
    return result(a.v * b.v, a.known && b.known);
  }
  GYROD_OUTLINE friend Counted operator/(const Counted& a, const Counted& b) {
    if (a.is(0.0)) return a;
    if (b.is(1.0)) return a;
    if (!a.known || !b.known) ++tally().divide;
    return result(a.v / b.v, a.known && b.known);
  }
  Counted& operator+=(const Counted& b) { return *this = *this + b; }
  Counted& operator-=(const Counted& b) { return *this = *this - b; }
  Counted& operator*=(const Counted& b) { return *this = *this * b; }
  Counted& operator/=(const Counted& b) { return *this = *this / b; }
  GYROD_OUTLINE friend Counted sqrt(const Counted& a) { return ++tally().root, variable(std::sqrt(a.v)); }
  GYROD_OUTLINE friend Counted sin(const Counted& a) { return ++tally().sine, variable(std::sin(a.v)); }
  GYROD_OUTLINE friend Counted cos(const Counted& a) { return ++tally().cosine, variable(std::cos(a.v)); }
  GYROD_OUTLINE friend Counted atan2(const Counted& a, const Counted& b) {
    return ++tally().arctangent, variable(std::atan2(a.v, b.v));
  }
  friend Counted abs(const Counted& a) { return result(std::abs(a.v), a.known); }
  friend bool operator<(const Counted& a, const Counted& b) { return a.v < b.v; }
  friend bool operator>(const Counted& a, const Counted& b) { return a.v > b.v; }
  friend bool operator<=(const Counted& a, const Counted& b) { return a.v <= b.v; }
  friend bool operator>=(const Counted& a, const Counted& b) { return a.v >= b.v; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.v == b.v; }
  friend bool operator!=(const Counted& a, const Counted& b) { return a.v != b.v; }
};

// Whether a scalar is several numbers, one for each member of an ensemble; see lanes.hpp.
template <class S> inline constexpr bool is_lanes = false;

// The value of any scalar.
inline double value_of(double x) { return x; }
template <int N> double value_of(const Dual<N>& x) { return x.v; }
inline double value_of(const Counted& x) { return x.v; }

} // namespace gyrod
