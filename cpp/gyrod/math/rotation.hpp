// Finite rotations, templated on the scalar: the algebra of gyrod.rotations for the compiled core.
//
// Quaternions are scalar first and map body to space; directors are the columns of R. Equation numbers: Lang
// 2010 (L), Zupan and Saje 2011 (Z), misprints corrected.
#pragma once

#include "gyrod/math/matrix.hpp"

#include "gyrod/math/removable.hpp"

// The compiler leaves these small functions out of line in large kernels, which doubles the time of a rod.
#if defined(__GNUC__)
#define GYROD_INLINE [[gnu::always_inline]] inline
#else
#define GYROD_INLINE inline
#endif

namespace gyrod {

template <class S> using Vec3 = Matrix<S, 3, 1>;
template <class S> using Vec4 = Matrix<S, 4, 1>;
template <class S> using Vec9 = Matrix<S, 9, 1>;
template <class S> using Mat3 = Matrix<S, 3, 3>;
template <class S> using Mat4 = Matrix<S, 4, 4>;

// --- quaternions

template <class S> GYROD_INLINE Vec4<S> multiply(const Vec4<S>& p, const Vec4<S>& q) { // (L 30)
  return {
      p[0] * q[0] - (p[1] * q[1] + p[2] * q[2] + p[3] * q[3]), p[0] * q[1] + p[1] * q[0] + (p[2] * q[3] - p[3] * q[2]),
      p[0] * q[2] + p[2] * q[0] + (p[3] * q[1] - p[1] * q[3]), p[0] * q[3] + p[3] * q[0] + (p[1] * q[2] - p[2] * q[1])};
}

template <class S> GYROD_INLINE Vec4<S> conjugate(const Vec4<S>& p) { return {p[0], -p[1], -p[2], -p[3]}; }

template <class S> Vec4<S> normalize(const Vec4<S>& p) { // (L 63)
  using std::sqrt;
  return p / sqrt(p.dot(p));
}

template <class S> Vec3<S> rotate(const Vec4<S>& p, const Vec3<S>& x) {
  const Vec3<S> v = p.template tail<3>();
  const Vec3<S> t = S(2) * v.cross(x);
  return x + p[0] * t + v.cross(t);
}

template <class S> Vec4<S> exp_quaternion(const Vec3<S>& v) {
  const S quarter = S(0.25) * v.dot(v);
  const S s = S(0.5) * sinc_sq<S>(quarter);
  return {cos_sq<S>(quarter), s * v[0], s * v[1], s * v[2]};
}

template <class S> Vec3<S> log_quaternion(const Vec4<S>& p) {
  const Vec4<S> q = p[0] < S(0) ? Vec4<S>(-p) : p;
  const Vec3<S> v = q.template tail<3>();
  return S(2) * angle_over_sine<S>(v.dot(v), q[0]) * v;
}

template <class S> GYROD_INLINE Mat4<S> quaternion_matrix(const Vec4<S>& p) { // Q(p) q = p q (L 30)
  Mat4<S> Q;
  Q(0, 0) = Q(1, 1) = Q(2, 2) = Q(3, 3) = p[0];
  Q(1, 0) = Q(3, 2) = p[1], Q(0, 1) = Q(2, 3) = -p[1];
  Q(2, 0) = Q(1, 3) = p[2], Q(0, 2) = Q(3, 1) = -p[2];
  Q(3, 0) = Q(2, 1) = p[3], Q(0, 3) = Q(1, 2) = -p[3];
  return Q;
}

template <class S> GYROD_INLINE Mat4<S> quaternion_matrix_right(const Vec4<S>& p) { // q p (Z 14)
  Mat4<S> Q;
  Q(0, 0) = Q(1, 1) = Q(2, 2) = Q(3, 3) = p[0];
  Q(1, 0) = Q(2, 3) = p[1], Q(0, 1) = Q(3, 2) = -p[1];
  Q(2, 0) = Q(3, 1) = p[2], Q(0, 2) = Q(1, 3) = -p[2];
  Q(3, 0) = Q(1, 2) = p[3], Q(0, 3) = Q(2, 1) = -p[3];
  return Q;
}

template <class S> Matrix<S, 4, 3> quaternion_nullspace(const Vec4<S>& p) { // T_p (L 41)
  return S(0.5) * quaternion_matrix<S>(p).template rightCols<3>();
}

template <class S> Matrix<S, 4, 3> quaternion_nullspace_space(const Vec4<S>& p) { // T_p* (L 46)
  return S(0.5) * quaternion_matrix_right<S>(p).template rightCols<3>();
}

// --- Euler map

template <class S> Matrix<S, 9, 4> euler_differential(const Vec4<S>& p) { // Dphi (L 48)
  const S &w = p[0], &x = p[1], &y = p[2], &z = p[3];
  Matrix<S, 9, 4> D;
  D << w, x, -y, -z, z, y, x, w, -y, z, -w, x, //
      -z, y, x, -w, w, -x, y, -z, x, w, z, y,  //
      y, z, w, x, -x, -w, z, y, w, -x, -y, z;
  return S(2) * D;
}

template <class S> Vec9<S> euler_map(const Vec4<S>& p) { return S(0.5) * euler_differential<S>(p) * p; } // phi (L 47)

template <class S> Matrix<S, 4, 9> euler_differential_pinv(const Vec4<S>& p) { // (L 55)
  const S n = p.dot(p);
  const Mat4<S> factor = S(0.5) * Mat4<S>::Identity() - p * p.transpose() / (S(6) * n);
  return factor * euler_differential<S>(p).transpose() / (S(4) * n);
}

template <class S>
GYROD_INLINE Mat3<S> matrix_from_quaternion(const Vec4<S>& p) { // (L 27, 28); |p| = 1, stretched otherwise
  const S ww = p[0] * p[0], xx = p[1] * p[1], yy = p[2] * p[2], zz = p[3] * p[3];
  const S two_w = p[0] + p[0], two_x = p[1] + p[1], two_y = p[2] + p[2];
  const S wx = two_w * p[1], wy = two_w * p[2], wz = two_w * p[3];
  const S xy = two_x * p[2], xz = two_x * p[3], yz = two_y * p[3];
  const S a = ww - zz, b = ww + zz, c = xx - yy, e = xx + yy;
  Mat3<S> R;
  R(0, 0) = a + c, R(0, 1) = xy - wz, R(0, 2) = xz + wy;
  R(1, 0) = xy + wz, R(1, 1) = a - c, R(1, 2) = yz - wx;
  R(2, 0) = xz - wy, R(2, 1) = yz + wx, R(2, 2) = b - e;
  return R;
}

// Spurrier-Klumpp extraction (L, section 6), p0 >= 0, normalised.
template <class S> Vec4<S> spurrier_klumpp(const Mat3<S>& R) {
  using std::sqrt;
  const S trace = R(0, 0) + R(1, 1) + R(2, 2);
  int n = 0;
  S largest = trace;
  for (int i = 0; i < 3; ++i)
    if (R(i, i) > largest) largest = R(i, i), n = i + 1;
  Vec4<S> p;
  if (n == 0) {
    p[0] = S(0.5) * sqrt(S(1) + trace);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      p[1 + i] = (R(k, j) - R(j, k)) / (S(4) * p[0]);
    }
  } else {
    const int i = n - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    const S pi = S(0.5) * sqrt(S(1) + R(i, i) - R(j, j) - R(k, k));
    p[1 + i] = pi;
    p[0] = (R(k, j) - R(j, k)) / (S(4) * pi);
    p[1 + j] = (R(j, i) + R(i, j)) / (S(4) * pi);
    p[1 + k] = (R(k, i) + R(i, k)) / (S(4) * pi);
  }
  p = normalize<S>(p);
  return p[0] < S(0) ? Vec4<S>(-p) : p;
}

// --- vectors

template <class S> Mat3<S> skew(const Vec3<S>& v) { // (Z 3)
  Mat3<S> E;
  E << S(0), -v[2], v[1], v[2], S(0), -v[0], -v[1], v[0], S(0);
  return E;
}

template <class S> Mat3<S> rotation_vector_tangent(const Vec3<S>& v) { // T: omega = T theta'
  const S x = v.dot(v);
  const Mat3<S> E = skew<S>(v);
  return Mat3<S>::Identity() + cosc_sq<S>(x) * E + sinc3_sq<S>(x) * (E * E);
}

template <class S> Mat3<S> rotation_vector_tangent_inverse(const Vec3<S>& v) { // (Z 8)
  const Mat3<S> E = skew<S>(v);
  return Mat3<S>::Identity() - S(0.5) * E + cotc_sq<S>(v.dot(v)) * (E * E);
}

template <class S> Mat3<S> tangential_tangent(const Vec3<S>& psi) { // U: omega = U psi'
  return (S(2) / (S(1) + psi.dot(psi))) * (Mat3<S>::Identity() + skew<S>(psi));
}

template <class S> Mat3<S> tangential_tangent_inverse(const Vec3<S>& psi) { // (Z 11)
  const Mat3<S> E = skew<S>(psi);
  return S(0.5) * ((S(1) + psi.dot(psi)) * Mat3<S>::Identity() - E + E * E);
}

// --- directors, d = (d1, d2, d3)

template <class S> Matrix<S, 9, 3> director_nullspace(const Vec9<S>& d) { // T_d (L 24)
  const View<const S, 3, 3, 1, 3> R(d.data());
  Matrix<S, 9, 3> T = Matrix<S, 9, 3>::Zero();
  for (int n = 0; n < 3; ++n) { // d_n' = R (Omega x e_n)
    const int j = (n + 1) % 3, k = (n + 2) % 3;
    T.template block<3, 1>(3 * n, j) = -R.col(k);
    T.template block<3, 1>(3 * n, k) = R.col(j);
  }
  return T;
}

template <class S> Matrix<S, 9, 3> director_nullspace_space(const Vec9<S>& d) { // T_d* (L 45)
  Matrix<S, 9, 3> T;
  for (int n = 0; n < 3; ++n) T.template block<3, 3>(3 * n, 0) = -skew<S>(d.template segment<3>(3 * n));
  return T;
}

// --- Euler angles 3-1-3

template <class S> Mat3<S> euler_tangent_inverse(const Vec3<S>& theta) { // T_theta (L 66)
  using std::cos, std::sin;
  const S s2 = sin(theta[1]), c2 = cos(theta[1]), s3 = sin(theta[2]), c3 = cos(theta[2]);
  Mat3<S> T;
  T << s3 / s2, c3 / s2, S(0), c3, -s3, S(0), -c2 * s3 / s2, -c2 * c3 / s2, S(1);
  return T;
}

// [u]x
template <class S> GYROD_INLINE Mat3<S> cross_matrix(const Vec3<S>& u) {
  Mat3<S> E;
  E(0, 0) = E(1, 1) = E(2, 2) = S(0);
  E(2, 1) = u[0], E(0, 2) = u[1], E(1, 0) = u[2];
  E(1, 2) = -u[0], E(2, 0) = -u[1], E(0, 1) = -u[2];
  return E;
}

} // namespace gyrod
