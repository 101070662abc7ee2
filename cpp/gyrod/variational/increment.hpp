// The rotation of a body over one step, and the discrete Lagrangian of Xu and Zhong 2016, (66)-(71), in terms of it.
//
// With r, s the unit quaternions at both ends of a step, conj(r) s = (c, z) is the rotation in between; both schemes of
// the paper depend on it alone, because the internal constraints hold at the nodes:
//   quaternion   L'q' = 2 z/h,   |q'|² = 2 (1 - c)/h²,   h T = (4/h) (sigma (1 - c) + 1/2 z'J z)
//   directors    L'q' = 2 c z/h, |q'|² = 8 |z|²/h²,      h T = (2/h) (sigma |z|² + c² z'J z)
// with J = diag(J1, J2, J3) - sigma. Derivatives along q δθ/2 (rotations δθ in body axes at an end) are what the null
// space of the internal constraints leaves of the discrete Euler-Lagrange equations: their multipliers are gone, and
// the update r (c, z) keeps the constraints exactly. The unknown is w = z/(1 + c), the tangent of a quarter of the
// angle times the axis: rational, and a chart of all rotations below a full turn.
#pragma once

#include "gyrod/math/rotation.hpp"

namespace gyrod::variational {

using V3 = Vec3<double>;
using V4 = Vec4<double>;
using M3 = Mat3<double>;

struct Increment {
  V3 w, z;
  double q, c; // q = 1 + |w|²

  explicit Increment(const V3& w_) : w(w_) {
    const double n = w.dot(w);
    q = 1.0 + n, c = (1.0 - n) / q, z = w * (2.0 / q);
  }
  V4 quaternion() const { return {c, z[0], z[1], z[2]}; }
  // Rotation over half the step: the midpoint of both coordinates, made orthonormal.
  M3 half() const {
    const double n = q - 1.0;
    M3 H = (2.0 * w) * w.transpose() + 2.0 * skew<double>(w);
    H.add_to_diagonal(1.0 - n);
    return H / q;
  }
  M3 dz() const { // dz/dw
    M3 D = (-4.0 / (q * q)) * (w * w.transpose());
    D.add_to_diagonal(2.0 / q);
    return D;
  }
  V3 dc() const { return (-4.0 / (q * q)) * w; } // dc/dw
  // Rotation in body axes at the end of the step, and at its middle, for a change of w.
  M3 end_turn() const { return (4.0 / q) * half().transpose(); }
  M3 middle_turn() const { return (2.0 / q) * (M3::Identity() - skew<double>(w)); }
};

// The tangent of half the angle, u of R_1 = R_0 cay(u), and its derivative.
inline V3 half_angle(const V3& w) { return w * (2.0 / (1.0 - w.dot(w))); }
inline M3 half_angle_matrix(const V3& w) {
  const double n = 1.0 - w.dot(w);
  M3 D = (4.0 / (n * n)) * (w * w.transpose());
  D.add_to_diagonal(2.0 / n);
  return D;
}

// Momenta of the kinetic part at both ends, body axes there: begin = -D1 (h T), end = D2 (h T). With h = 1; divide.
struct Kinetic {
  V3 begin, end;
};

template <bool directors> Kinetic kinetic(const Increment& e, const V3& J, double sigma) {
  const V3 Jz = J.cwiseProduct(e.z), cross = Jz.cross(e.z);
  const double c = e.c;
  if constexpr (directors) {
    const V3 b = (2.0 * c) * ((sigma - e.z.dot(Jz)) * e.z + (c * c) * Jz), k = (2.0 * c * c) * cross;
    return {b - k, b + k};
  } else {
    const V3 b = 2.0 * (sigma * e.z + c * Jz), k = 2.0 * cross;
    return {b - k, b + k};
  }
}

// d begin/dw
template <bool directors> M3 kinetic_matrix(const Increment& e, const V3& J, double sigma) {
  const V3 z = e.z, Jz = J.cwiseProduct(z);
  const double c = e.c;
  const M3 turn = skew<double>(Jz) - skew<double>(z) * J.asDiagonal(); // d(Jz x z)/dz
  if constexpr (directors) {
    const double zJz = z.dot(Jz);
    M3 Z = (-2.0 * c * z) * Jz.transpose() - (c * c) * turn;
    Z.diagonal() += (c * c * c) * J;
    Z.add_to_diagonal(c * (sigma - zJz));
    const V3 C = (sigma - zJz) * z + (3.0 * c * c) * Jz - (2.0 * c) * Jz.cross(z);
    return 2.0 * (Z * e.dz() + C * e.dc().transpose());
  } else {
    M3 Z = -turn;
    Z.diagonal() += c * J;
    Z.add_to_diagonal(sigma);
    return 2.0 * (Z * e.dz() + Jz * e.dc().transpose());
  }
}

// h² T
template <bool directors> double kinetic_energy(const Increment& e, const V3& J, double sigma) {
  const double zJz = e.z.dot(J.cwiseProduct(e.z)), n = e.z.dot(e.z);
  if constexpr (directors) return 2.0 * (sigma * n + e.c * e.c * zJz);
  // 1 - c = |z|²/(1 + c): no digits are lost for small steps
  return 4.0 * (sigma * n / (1.0 + e.c) + 0.5 * zJz);
}

// A force F at the body point a has the potential -F.R a; with R = phi((r + s)/2), the stretched rotation of the
// quaternion's midpoint, its generalised forces at both ends follow from g = R'F (body axes of the middle).
struct Weight {
  V3 g, begin, end;
};
inline Weight weight(const Increment& e, const V3& f, const V3& a) { // f: the force in body axes at the beginning
  const double n = e.q - 1.0, inverse = 1.0 / (e.q * e.q);
  Weight o;
  o.g = ((1.0 - n) * f + (2.0 * e.w.dot(f)) * e.w - 2.0 * e.w.cross(f)) * inverse;
  const V3 t = a.cross(o.g), turn = e.w.cross(t), stretch = e.w * o.g.dot(a);
  o.begin = 0.5 * (t + turn + stretch), o.end = 0.5 * (t - turn - stretch);
  return o;
}
inline M3 weight_matrix(const Increment& e, const V3& f, const V3& a, const V3& g) { // d begin/dw
  const V3& w = e.w;
  const double inverse = 1.0 / (e.q * e.q);
  M3 G = inverse * (2.0 * (w * f.transpose() - f * w.transpose()) + 2.0 * skew<double>(f)) -
         (4.0 / e.q) * (g * w.transpose());
  G.add_to_diagonal(2.0 * inverse * w.dot(f));
  const M3 A = skew<double>(a) * G;
  M3 D = A + skew<double>(w) * A - skew<double>(V3(a.cross(g))) + w * (a.transpose() * G);
  D.add_to_diagonal(g.dot(a));
  return 0.5 * D;
}

// x with A x = b by the adjugate, and the determinant; x is not finite if A is singular.
inline double solve3(const M3& A, const V3& b, V3& x) {
  const V3 c0 = A.col(1).cross(A.col(2)), c1 = A.col(2).cross(A.col(0)), c2 = A.col(0).cross(A.col(1));
  const double det = A.col(0).dot(c0);
  x = V3(c0.dot(b), c1.dot(b), c2.dot(b)) / det;
  return det;
}

} // namespace gyrod::variational
