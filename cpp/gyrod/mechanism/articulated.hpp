// Articulated inertias in space axes at the centre of mass (Featherstone's algorithm, written for twists whose axes
// never turn with the body: shifting an inertia to the parent then costs cross products only).
//
//   force  = M v' + H w' + f        torque = H' v' + J w' + m
#pragma once

#include "gyrod/math/rotation.hpp"

namespace gyrod {

using V3 = Vec3<double>;
using M3 = Mat3<double>;

GYROD_INLINE V3 cross(const V3& a, const V3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
// [r]x A and A [r]x
GYROD_INLINE M3 cross_left(const V3& r, const M3& A) {
  M3 B;
  for (int j = 0; j < 3; ++j) {
    B(0, j) = r[1] * A(2, j) - r[2] * A(1, j);
    B(1, j) = r[2] * A(0, j) - r[0] * A(2, j);
    B(2, j) = r[0] * A(1, j) - r[1] * A(0, j);
  }
  return B;
}
GYROD_INLINE M3 cross_right(const M3& A, const V3& r) {
  M3 B;
  for (int i = 0; i < 3; ++i) {
    B(i, 0) = A(i, 1) * r[2] - A(i, 2) * r[1];
    B(i, 1) = A(i, 2) * r[0] - A(i, 0) * r[2];
    B(i, 2) = A(i, 0) * r[1] - A(i, 1) * r[0];
  }
  return B;
}
GYROD_INLINE M3 product(const M3& A, const M3& B) {
  M3 C;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) C(i, j) = A(i, 0) * B(0, j) + A(i, 1) * B(1, j) + A(i, 2) * B(2, j);
  return C;
}
GYROD_INLINE M3 product_transposed(const M3& A, const M3& B) { // A B'
  M3 C;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) C(i, j) = A(i, 0) * B(j, 0) + A(i, 1) * B(j, 1) + A(i, 2) * B(j, 2);
  return C;
}
GYROD_INLINE V3 times(const M3& A, const V3& x) {
  return {A(0, 0) * x[0] + A(0, 1) * x[1] + A(0, 2) * x[2], A(1, 0) * x[0] + A(1, 1) * x[1] + A(1, 2) * x[2],
          A(2, 0) * x[0] + A(2, 1) * x[1] + A(2, 2) * x[2]};
}
GYROD_INLINE V3 transposed_times(const M3& A, const V3& x) {
  return {A(0, 0) * x[0] + A(1, 0) * x[1] + A(2, 0) * x[2], A(0, 1) * x[0] + A(1, 1) * x[1] + A(2, 1) * x[2],
          A(0, 2) * x[0] + A(1, 2) * x[1] + A(2, 2) * x[2]};
}
// Inverse of a symmetric positive definite matrix.
GYROD_INLINE M3 inverse_symmetric(const M3& A) {
  const double a = A(0, 0), b = A(0, 1), c = A(0, 2), d = A(1, 1), e = A(1, 2), f = A(2, 2);
  const double p = d * f - e * e, q = c * e - b * f, r = b * e - c * d;
  const double k = 1.0 / (a * p + b * q + c * r);
  M3 B;
  B(0, 0) = k * p, B(0, 1) = B(1, 0) = k * q, B(0, 2) = B(2, 0) = k * r;
  B(1, 1) = k * (a * f - c * c), B(1, 2) = B(2, 1) = k * (b * c - a * e), B(2, 2) = k * (a * d - b * b);
  return B;
}

struct Articulated {
  M3 M, H, J;

  GYROD_INLINE void add_shifted(const M3& m, const M3& h, const M3& j,
                                const V3& d) { // A' (m, h; h', j) A, A = shift by d
    const M3 hd = h - cross_right(m, d);
    M += m;
    H += hd;
    // J + [d]x h - h' [d]x - [d]x m [d]x = j + [d]x hd - h' [d]x
    J += j + cross_left(d, hd) - cross_right(M3(h.transpose()), d);
  }
  GYROD_INLINE void add_force_only(const M3& m, const V3& l) { // of a joint that passes a force at l and no torque
    const M3 ml = cross_right(m, l);
    M += m;
    H -= ml;
    J -= cross_left(l, ml);
  }
};

} // namespace gyrod
