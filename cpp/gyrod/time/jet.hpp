// Numbers with their first two derivatives in time: second-order Taylor arithmetic.
#pragma once

#include <cmath>

namespace gyrod {

struct Jet {
  double x, v, a; // value, first and second derivative

  Jet() = default; // uninitialised
  constexpr Jet(double value, double rate = 0.0, double second = 0.0) : x(value), v(rate), a(second) {}

  friend Jet operator-(const Jet& u) { return {-u.x, -u.v, -u.a}; }
  friend Jet operator+(const Jet& u, const Jet& w) { return {u.x + w.x, u.v + w.v, u.a + w.a}; }
  friend Jet operator-(const Jet& u, const Jet& w) { return {u.x - w.x, u.v - w.v, u.a - w.a}; }
  friend Jet operator*(const Jet& u, const Jet& w) {
    return {u.x * w.x, u.v * w.x + u.x * w.v, u.a * w.x + 2.0 * (u.v * w.v) + u.x * w.a};
  }
  friend Jet operator/(const Jet& u, const Jet& w) {
    const double q = u.x / w.x, d = (u.v - q * w.v) / w.x;
    return {q, d, (u.a - 2.0 * (d * w.v) - q * w.a) / w.x};
  }
  // f(u) from f and its first two derivatives at u.
  Jet through(double f, double f1, double f2) const { return {f, f1 * v, f2 * v * v + f1 * a}; }
};

inline bool operator<=(const Jet& u, const Jet& w) { return u.x <= w.x; }
inline Jet sin(const Jet& u) { return u.through(std::sin(u.x), std::cos(u.x), -std::sin(u.x)); }
inline Jet cos(const Jet& u) { return u.through(std::cos(u.x), -std::sin(u.x), -std::cos(u.x)); }
inline Jet sqrt(const Jet& u) {
  const double f = std::sqrt(u.x);
  return u.through(f, 0.5 / f, -0.25 / (f * u.x));
}
inline bool finite(const Jet& u) { return std::isfinite(u.x) && std::isfinite(u.v) && std::isfinite(u.a); }

} // namespace gyrod
