// One step of rotation from the moments of the angular velocity over the step.
//
//   b0 = integral of w,  b1 = 1/h integral of (t - tm) w,  b2 = 1/h² integral of (t - tm)² w,  tm the
//   midpoint.
//
// The Magnus expansion on so(3), whose commutator is the cross product; `side` is +1 for spatial rates (the
// step multiplies from the left) and -1 for body rates (from the right), which flips the sign of single
// commutators. Formulas of order 4 and 6: Blanes, Casas, Ros, BIT 40 (2000) 434.
//
// Written on plain doubles without branches, so that a loop over many steps becomes vector code.
#pragma once

#include <cmath>

#include "gyrod/math/removable.hpp"

namespace gyrod {

struct Triple {
  double x, y, z;
};

inline Triple operator+(Triple a, Triple b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Triple operator*(double s, Triple a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Triple a, Triple b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Triple cross(Triple a, Triple b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

struct Quat {
  double w, x, y, z;
};

inline Quat multiply(Quat p, Quat q) {
  return {p.w * q.w - (p.x * q.x + p.y * q.y + p.z * q.z), p.w * q.x + p.x * q.w + (p.y * q.z - p.z * q.y),
          p.w * q.y + p.y * q.w + (p.z * q.x - p.x * q.z), p.w * q.z + p.z * q.w + (p.x * q.y - p.y * q.x)};
}

inline Quat normalize(Quat p) {
  const double s = 1.0 / std::sqrt(p.w * p.w + p.x * p.x + p.y * p.y + p.z * p.z);
  return {s * p.w, s * p.x, s * p.y, s * p.z};
}

struct Moments {
  Triple b0, b1, b2;
};

// Rotation increments. `points`: samples the rates are interpolated with; `series_limit`: squared length of
// the vector up to which `quaternion_series` (branch-free) may replace `quaternion`.
struct Exponential {
  static constexpr double series_limit = 4.0 * switch_trig;
  static Quat quaternion(Triple v) {
    const double quarter = 0.25 * dot(v, v), s = 0.5 * sinc_sq(quarter);
    return {cos_sq(quarter), s * v.x, s * v.y, s * v.z};
  }
  static Quat quaternion_series(Triple v) {
    const double quarter = 0.25 * dot(v, v), s = 0.5 * horner(quarter, sinc_series);
    return {horner(quarter, cos_series), s * v.x, s * v.y, s * v.z};
  }
};

struct Magnus4 : Exponential {
  static constexpr int points = 6;
  static Triple vector(const Moments& m, double side) { return m.b0 + (-side) * cross(m.b0, m.b1); }
};

struct Magnus6 : Exponential {
  static constexpr int points = 8;
  static Triple vector(const Moments& m, double side) {
    const Triple a1 = 2.25 * m.b0 + (-15.0) * m.b2;
    const Triple a2 = 12.0 * m.b1;
    const Triple a3 = (-15.0) * m.b0 + 180.0 * m.b2;
    const Triple c1 = side * cross(a1, a2);
    const Triple c2 = (-side / 60.0) * cross(a1, 2.0 * a3 + c1);
    return m.b0 + (side / 240.0) * cross((-20.0) * a1 + (-1.0) * a3 + c1, a2 + c2);
  }
};

// The midpoint rules of Zupan and Saje: linear interpolation, Cayley map.
struct Cayley {
  static constexpr double series_limit = INFINITY;
  static constexpr int points = 2;
  static Triple vector(const Moments& m, double) { return m.b0; }
};

struct MidpointMatrix : Cayley { // MP-R: (1 + V/2)(1 - V/2)^-1 is the rotation by 2 atan(|v|/2)
  static Quat quaternion(Triple v) { return normalize({1.0, 0.5 * v.x, 0.5 * v.y, 0.5 * v.z}); }
  static Quat quaternion_series(Triple v) { return quaternion(v); }
};

struct MidpointQuaternion : Cayley { // MP-q: (1 + v/4)(1 - v/4)^-1 in quaternions
  static Quat quaternion(Triple v) {
    const double n = dot(v, v) / 16.0, s = 1.0 / (1.0 + n);
    return {(1.0 - n) * s, 0.5 * s * v.x, 0.5 * s * v.y, 0.5 * s * v.z};
  }
  static Quat quaternion_series(Triple v) { return quaternion(v); }
};

} // namespace gyrod
