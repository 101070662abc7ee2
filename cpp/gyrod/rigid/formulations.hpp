// The five formulations of the rotation of a rigid body (Lang 2010), each as one struct:
//
//   nq, nv          numbers of rotation coordinates q and of rotational velocities v
//   frame           R from q
//   spin            material angular velocity from (q, v)
//   wants_directors whether `derivative` takes director forces P and torque tau, or the moment mu in body axes
//   derivative      (q', v') from (q, v) and these
//   alone           the same with the moment, or the generalised forces, given: what Table 1 of the paper counts
//   project         back to the manifold; true if anything changed
//   multipliers     how many internal constraints have a multiplier in this form, and their values
//   trouble         reason why the coordinates cannot go on, or null
//   residual        constraint on the level of position and of velocity (largest entry)
//
// To add one: a struct here, its name in rigid/system.cpp and in src/gyrod/runs/formulations.py.
#pragma once

#include "gyrod/linear/solve_small.hpp"
#include "gyrod/rigid/body.hpp"
#include "gyrod/rigid/options.hpp"

namespace gyrod {

template <class S> Vec3<S> euler_equations(const RigidBody& b, const Vec3<S>& Omega, const Vec3<S>& mu) {
  const Vec3<double>&I = b.moments, &J = b.inverse_moments;
  return {(mu[0] - S(I[2] - I[1]) * Omega[1] * Omega[2]) * S(J[0]),
          (mu[1] - S(I[0] - I[2]) * Omega[2] * Omega[0]) * S(J[1]),
          (mu[2] - S(I[1] - I[0]) * Omega[0] * Omega[1]) * S(J[2])};
}

template <class S> Mat3<S> frame_of(const S* d) {
  Mat3<S> R;
  for (int n = 0; n < 9; ++n) R(n % 3, n / 3) = d[n];
  return R;
}
template <class S> void put_frame(S* d, const Mat3<S>& R) {
  for (int n = 0; n < 9; ++n) d[n] = R(n % 3, n / 3);
}

// Twice the skew part of a matrix.
template <class S> Vec3<S> axial(const Mat3<S>& M) { return {M(2, 1) - M(1, 2), M(0, 2) - M(2, 0), M(1, 0) - M(0, 1)}; }
inline Mat3<double> unit(int k) { // of directors
  Mat3<double> E = Mat3<double>::Zero();
  E(k % 3, k / 3) = 1.0;
  return E;
}
// The polar factor of directors, by Newton's iteration; quadratic from any drift a step can cause.
template <class S> Mat3<S> polar_factor(Mat3<S> U) {
  for (int k = 0; k < 20; ++k) {
    const Mat3<S> next = S(0.5) * (U + U.inverse().transpose());
    double change = 0.0;
    for (int i = 0; i < 9; ++i) change = std::max(change, std::abs(value_of(next(i % 3, i / 3) - U(i % 3, i / 3))));
    U = next;
    if (!(change > 1e-12)) break;
  }
  return U;
}
// By which turn, in its axes, the polar factor R follows the directors D.
inline Matrix<double, 3, 9> polar_turn(const Mat3<double>& D, const Mat3<double>& R) {
  const Mat3<double> S = R.transpose() * D;
  Mat3<double> H = -0.5 * (S + S.transpose());
  H.add_to_diagonal(S.diagonal().sum());
  const Mat3<double> inverse = H.inverse();
  Matrix<double, 3, 9> turn;
  for (int k = 0; k < 9; ++k) turn.col(k) = inverse * axial<double>(R.transpose() * unit(k));
  return turn;
}

struct NullspaceQuaternion { // (42)
  static constexpr int nq = 4, nv = 3;
  static constexpr int multipliers = 0;
  static constexpr bool wants_directors = false;

  template <class S> static Mat3<S> frame(const S* q) { return matrix_from_quaternion<S>(Part<4>::of(q)); }
  template <class S> static Vec3<S> spin(const S* q, const S* v, const FormulationOptions& o) {
    const Vec3<S> w = Part<3>::of(v);
    return o.spatial ? Vec3<S>(frame(q).transpose() * w) : w;
  }
  template <class S>
  static void derivative(const RigidBody& b, const S* q, const S* v, const Mat3<S>& R, const Vec3<S>& mu,
                         const FormulationOptions& o, S* dq, S* dv) {
    const Vec4<S> p = Part<4>::of(q);
    const Vec3<S> w = Part<3>::of(v);
    if (!o.spatial) {
      const S h0 = S(0.5) * w[0], h1 = S(0.5) * w[1], h2 = S(0.5) * w[2]; // p' = p Omega/2
      dq[0] = -(p[1] * h0 + p[2] * h1 + p[3] * h2);
      dq[1] = p[0] * h0 + (p[2] * h2 - p[3] * h1);
      dq[2] = p[0] * h1 + (p[3] * h0 - p[1] * h2);
      dq[3] = p[0] * h2 + (p[1] * h1 - p[2] * h0);
      Part<3>::put(dv, euler_equations<S>(b, w, mu));
    } else { // omega' = R Omega'
      Part<4>::put(dq, Vec4<S>(quaternion_nullspace_space<S>(p) * w));
      const Vec3<S> Omega = R.transpose() * w;
      Part<3>::put(dv, Vec3<S>(R * euler_equations<S>(b, Omega, mu)));
    }
  }
  template <class S>
  static void alone(const RigidBody& b, const S* q, const S* v, const S& given, const FormulationOptions& o, S* dq,
                    S* dv) {
    const Mat3<S> R = o.spatial ? frame<S>(q) : Mat3<S>::Identity();
    derivative<S>(b, q, v, R, {given, given, given}, o, dq, dv);
  }
  static const char* trouble(const double*) { return nullptr; }
  static bool project(double* q, double*, const FormulationOptions&) { return normalise(q); }
  static void residual(const double* q, const double*, const FormulationOptions&, double& position, double& velocity) {
    position = 0.5 * std::abs(Part<4>::of(q).squaredNorm() - 1.0), velocity = 0.0;
  }

  static bool normalise(double* q) {
    const double n = std::sqrt(Part<4>::of(q).squaredNorm());
    if (std::abs(n - 1.0) < 4e-16) return false;
    for (int i = 0; i < 4; ++i) q[i] /= n;
    return true;
  }
};

struct NullspaceDirectors { // (25)
  static constexpr int nq = 9, nv = 3;
  static constexpr int multipliers = 0;
  static constexpr bool wants_directors = false;

  template <class S> static Mat3<S> frame(const S* q) { return frame_of(q); }
  template <class S> static Vec3<S> spin(const S* q, const S* v, const FormulationOptions& o) {
    const Vec3<S> w = Part<3>::of(v);
    return o.spatial ? Vec3<S>(frame(q).transpose() * w) : w;
  }
  template <class S>
  static void derivative(const RigidBody& b, const S*, const S* v, const Mat3<S>& R, const Vec3<S>& mu,
                         const FormulationOptions& o, S* dq, S* dv) {
    const Vec3<S> w = Part<3>::of(v);
    for (int n = 0; n < 3; ++n) { // d_n' = R (Omega x e_n), or omega x d_n
      const int j = (n + 1) % 3, k = (n + 2) % 3;
      const Vec3<S> d = o.spatial ? Vec3<S>(w.cross(R.col(n))) : Vec3<S>(R.col(j) * w[k] - R.col(k) * w[j]);
      Part<3>::put(dq + 3 * n, d);
    }
    if (!o.spatial)
      Part<3>::put(dv, euler_equations<S>(b, w, mu));
    else
      Part<3>::put(dv, Vec3<S>(R * euler_equations<S>(b, Vec3<S>(R.transpose() * w), mu)));
  }
  template <class S>
  static void alone(const RigidBody& b, const S* q, const S* v, const S& given, const FormulationOptions& o, S* dq,
                    S* dv) {
    derivative<S>(b, q, v, frame<S>(q), {given, given, given}, o, dq, dv);
  }
  static const char* trouble(const double*) { return nullptr; }
  static bool project(double* q, double*, const FormulationOptions& o) { return orthonormalise(q, o); }
  static void residual(const double* q, const double*, const FormulationOptions&, double& position, double& velocity) {
    const Mat3<double> R = frame_of(q), C = R * R.transpose() - Mat3<double>::Identity();
    position =
        std::max({0.5 * C.diagonal().cwiseAbs().maxCoeff(), std::abs(C(0, 1)), std::abs(C(0, 2)), std::abs(C(1, 2))});
    velocity = 0.0;
  }

  static bool orthonormalise(double* q, const FormulationOptions& o) {
    const Mat3<double> R = frame_of(q);
    if ((R.transpose() * R - Mat3<double>::Identity()).cwiseAbs().maxCoeff() < 1e-15) return false;
    if (o.polar) {
      put_frame<double>(q, polar_factor<double>(R));
    } else {
      put_frame<double>(q, matrix_from_quaternion<double>(spurrier_klumpp<double>(R)));
    }
    return true;
  }
};

struct AbsoluteQuaternion { // (40)
  static constexpr int nq = 4, nv = 4;
  static constexpr int multipliers = 1;
  static constexpr bool wants_directors = true;

  template <class S> static Mat3<S> frame(const S* q) { return matrix_from_quaternion<S>(Part<4>::of(q)); }
  template <class S> static Vec3<S> spin(const S* q, const S* v, const FormulationOptions&) {
    const Vec4<S> w = multiply<S>(conjugate<S>(Part<4>::of(q)), Part<4>::of(v));
    return S(2) * w.template tail<3>();
  }
  // psi^p of (33): forces pulled back by the Euler map, torque and the mass skew derivative 8 Q(v) I Q(v)' p.
  template <class S>
  static Vec4<S> generalised_force(const Vec3<double>& I, const Vec4<S>& p, const Vec4<S>& v, const Mat3<S>& P,
                                   const Vec3<S>& tau) {
    Vec9<S> psi_d;
    for (int n = 0; n < 9; ++n) psi_d[n] = P(n % 3, n / 3);
    Vec4<S> psi = euler_differential<S>(p).transpose() * psi_d;
    psi += S(2) * multiply<S>(p, Vec4<S>(S(0), tau[0], tau[1], tau[2]));
    const Vec4<S> u = multiply<S>(conjugate<S>(v), p);
    return psi + S(8) * multiply<S>(v, Vec4<S>(S(0), S(I[0]) * u[1], S(I[1]) * u[2], S(I[2]) * u[3]));
  }
  template <class S>
  static void derivative(const RigidBody& body, const S* q, const S* v, const Mat3<S>&, const Mat3<S>& P,
                         const Vec3<S>& tau, const FormulationOptions& o, S* dq, S* dv) {
    const Vec4<S> p = Part<4>::of(q), w = Part<4>::of(v);
    Part<4>::put(dq, w);
    accelerate<S>(body, p, w, generalised_force<S>(body.moments, p, w, P, tau), o, dv);
  }
  template <class S>
  static void alone(const RigidBody& b, const S* q, const S* v, const S& given, const FormulationOptions& o, S* dq,
                    S* dv) {
    Part<4>::put(dq, Part<4>::of(v));
    accelerate<S>(b, Part<4>::of(q), Part<4>::of(v), {given, given, given, given}, o, dv);
  }
  // v' of (40) from psi of (33).
  template <class S>
  static void accelerate(const RigidBody& body, const Vec4<S>& p, const Vec4<S>& w, const Vec4<S>& psi,
                         const FormulationOptions& o, S* dv) {
    const Vec3<double>& I = body.moments;
    const S n = p.dot(p), ww = w.dot(w);
    S radial = -ww; // <p, v'>
    if (o.baumgarte_omega > 0.0)
      radial = radial - S(2.0 * o.baumgarte_r) * p.dot(w) - S(0.5 * o.baumgarte_omega * o.baumgarte_omega) * (n - S(1));
    if (o.fictive_moment) { // the full mass-constraint matrix (38) with I0 = trace/2
      const double I0 = 0.5 * I.sum();
      const Mat4<S> Q = quaternion_matrix<S>(p);
      const double diagonal[4] = {I0, I[0], I[1], I[2]};
      S K[25] = {}, b[5];
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j)
          for (int k = 0; k < 4; ++k) K[5 * i + j] += S(4.0 * diagonal[k]) * Q(i, k) * Q(j, k);
        K[5 * i + 4] = K[20 + i] = p[i];
        b[i] = psi[i] - S(4.0 * I0) * ww * p[i];
      }
      b[4] = radial;
      solve_small<5>(K, b);
      for (int i = 0; i < 4; ++i) dv[i] = b[i];
      return;
    }
    const Vec4<S> m = multiply<S>(conjugate<S>(p), psi);
    const Vec4<S> tangential = multiply<S>(p, Vec4<S>(S(0), m[1] / S(I[0]), m[2] / S(I[1]), m[3] / S(I[2])));
    const S scale = S(0.25) / (n * n), along = o.printed ? radial : radial / n;
    for (int i = 0; i < 4; ++i) dv[i] = scale * tangential[i] + along * p[i];
  }
  // lambda = <p, psi>/|p|² (40); with I0 = 0
  static void multiplier(const RigidBody& body, const double* q, const double* v, const Mat3<double>&,
                         const Mat3<double>& P, const Vec3<double>& tau, const FormulationOptions&, double* lambda) {
    const Vec4<double> p = Part<4>::of(q);
    *lambda = p.dot(generalised_force<double>(body.moments, p, Part<4>::of(v), P, tau)) / p.dot(p);
  }
  static const char* trouble(const double*) { return nullptr; }
  // (63), and before it p' times |p|: normalising p then leaves Omega = 2 conj(p) p' and the kinetic energy as they
  // were, which (63) alone does not (section 6). On the heavy top DOP853 at 1e-12 gains a factor 5, DOPRI5 at 1e-6
  // loses 2.
  static bool project(double* q, double* v, const FormulationOptions&) {
    const double n = Part<4>::of(q).norm();
    const bool moved = NullspaceQuaternion::normalise(q);
    if (moved)
      for (int i = 0; i < 4; ++i) v[i] *= n;
    const double s = Part<4>::of(q).dot(Part<4>::of(v));
    if (std::abs(s) <= 4e-16 * Part<4>::of(v).norm()) return moved;
    for (int i = 0; i < 4; ++i) v[i] -= s * q[i];
    return true;
  }
  static void residual(const double* q, const double* v, const FormulationOptions&, double& position,
                       double& velocity) {
    position = 0.5 * std::abs(Part<4>::of(q).squaredNorm() - 1.0);
    velocity = std::abs(Part<4>::of(q).dot(Part<4>::of(v)));
  }
};

struct AbsoluteDirectors { // (23)
  static constexpr int nq = 9, nv = 9;
  static constexpr int multipliers = 6;
  static constexpr bool wants_directors = true;

  template <class S> static Mat3<S> frame(const S* q) { return frame_of(q); }
  template <class S> static Vec3<S> spin(const S* q, const S* v, const FormulationOptions&) { // (15), averaged
    const Mat3<S> W = frame_of(q).transpose() * frame_of(v);
    return {S(0.5) * (W(2, 1) - W(1, 2)), S(0.5) * (W(0, 2) - W(2, 0)), S(0.5) * (W(1, 0) - W(0, 1))};
  }

  // The constraint (19), its rate and g^II as symmetric matrices: R R' - 1, R V' + V R', 2 V V'.
  template <class S>
  static void derivative(const RigidBody& body, const S*, const S* v, const Mat3<S>& R, const Mat3<S>& P,
                         const Vec3<S>& tau, const FormulationOptions& o, S* dq, S* dv) {
    for (int n = 0; n < 9; ++n) dq[n] = v[n];
    accelerate<S>(body, v, R, P, tau, o, dv, nullptr);
  }
  template <class S>
  static void alone(const RigidBody& b, const S* q, const S* v, const S& given, const FormulationOptions& o, S* dq,
                    S* dv) {
    Mat3<S> P;
    for (int n = 0; n < 9; ++n) P(n % 3, n / 3) = given;
    derivative<S>(b, q, v, frame<S>(q), P, Vec3<S>::Zero(), o, dq, dv);
  }
  static void multiplier(const RigidBody& body, const double*, const double* v, const Mat3<double>& R,
                         const Mat3<double>& P, const Vec3<double>& tau, const FormulationOptions& o, double* lambda) {
    double dv[9];
    accelerate<double>(body, v, R, P, tau, o, dv, lambda);
  }

  template <class S>
  static void accelerate(const RigidBody& body, const S* v, const Mat3<S>& R, const Mat3<S>& P, const Vec3<S>& tau,
                         const FormulationOptions& o, S* dv, S* lambda) {
    const Vec3<double>& I = body.moments;
    const Mat3<S> V = frame_of(v);
    Mat3<S> force = P; // the torque acts through half of T_d
    for (int n = 0; n < 3; ++n) {
      const int j = (n + 1) % 3, k = (n + 2) % 3;
      force.col(n) += S(0.5) * (R.col(j) * tau[k] - R.col(k) * tau[j]);
    }
    const double E[3] = {0.5 * (I[1] + I[2] - I[0]), 0.5 * (I[2] + I[0] - I[1]), 0.5 * (I[0] + I[1] - I[2])};
    Mat3<S> second = V * V.transpose(); // half of g^II as a symmetric matrix
    if (o.baumgarte_omega > 0.0) {
      const Mat3<S> rate = R * V.transpose() + V * R.transpose(), defect = R * R.transpose() - Mat3<S>::Identity();
      second += S(o.baumgarte_r) * rate + S(0.5 * o.baumgarte_omega * o.baumgarte_omega) * defect;
    }
    solve<S>(E, R, force, second, dv, lambda);
  }

  // d'' = M^-1 (psi - G' lambda) with G d'' = -g^II. G' lambda is the symmetric matrix Lambda times R.
  template <class S>
  static void solve(const double* E, const Mat3<S>& R, const Mat3<S>& force, const Mat3<S>& second, S* dv, S* lambda) {
    static constexpr int row[6] = {0, 1, 2, 0, 2, 1}, col[6] = {0, 1, 2, 1, 0, 2}; // order of (19)
    const double smallest = std::min({E[0], E[1], E[2]}), trace = E[0] + E[1] + E[2];
    if (smallest > 1e-9 * trace) {
      // Schur complement: with A = M^-1 force and C = sum_n d_n d_n'/E_n, (C Lambda + Lambda C) = A R' + R A' + 2 V V'.
      Mat3<S> A, C = Mat3<S>::Zero();
      for (int n = 0; n < 3; ++n) {
        A.col(n) = force.col(n) / S(E[n]);
        C += R.col(n) * R.col(n).transpose() / S(E[n]);
      }
      const Mat3<S> B = A * R.transpose();
      S K[36] = {}, b[6];
      for (int r = 0; r < 6; ++r) {
        const int i = row[r], j = col[r];
        b[r] = B(i, j) + B(j, i) + S(2) * second(i, j);
        for (int s = 0; s < 6; ++s) {
          const int k = row[s], l = col[s];
          S& entry = K[6 * r + s]; // (C L + L C)_ij for the unit symmetric L with ones at (k, l), (l, k)
          if (l == j) entry += C(i, k);
          if (k == i) entry += C(l, j);
          if (k != l) {
            if (k == j) entry += C(i, l);
            if (l == i) entry += C(k, j);
          }
        }
      }
      solve_small<6>(K, b);
      if (lambda) std::copy(b, b + 6, lambda);
      Mat3<S> L;
      for (int s = 0; s < 6; ++s) L(row[s], col[s]) = L(col[s], row[s]) = b[s];
      for (int n = 0; n < 3; ++n) {
        const Vec3<S> a = A.col(n) - L * R.col(n) / S(E[n]);
        Part<3>::put(dv + 3 * n, a);
      }
      return;
    }
    // A flat or slender body has a singular M_d: the whole matrix of (23).
    S K[225] = {}, b[15];
    for (int n = 0; n < 9; ++n) K[16 * n] = S(E[n / 3]), b[n] = force(n % 3, n / 3);
    for (int r = 0; r < 6; ++r) {
      const int i = row[r], j = col[r];
      const auto add = [&](int unknown, const S& g) { K[15 * (9 + r) + unknown] += g, K[15 * unknown + 9 + r] += g; };
      for (int n = 0; n < 3; ++n) {
        add(3 * n + i, S(i == j ? 0.5 : 1.0) * R(j, n));
        add(3 * n + j, S(i == j ? 0.5 : 1.0) * R(i, n));
      }
      b[9 + r] = S(i == j ? -1.0 : -2.0) * second(i, j);
    }
    solve_small<15>(K, b);
    if (lambda) std::copy(b + 9, b + 15, lambda);
    for (int n = 0; n < 9; ++n) dv[n] = b[n];
  }

  static const char* trouble(const double*) { return nullptr; }
  static bool project(double* q, double* v, const FormulationOptions& o) {
    const bool moved = NullspaceDirectors::orthonormalise(q, o);
    const Mat3<double> R = frame_of(q), V = frame_of(v), tangent = R * skew<double>(spin<double>(q, v, o));
    if ((tangent - V).cwiseAbs().maxCoeff() <= 1e-15 * V.cwiseAbs().maxCoeff()) return moved;
    put_frame<double>(v, tangent);
    return true;
  }
  static void residual(const double* q, const double* v, const FormulationOptions& o, double& position,
                       double& velocity) {
    NullspaceDirectors::residual(q, v, o, position, velocity);
    const Mat3<double> R = frame_of(q), V = frame_of(v), C = R * V.transpose() + V * R.transpose();
    velocity =
        std::max({0.5 * C.diagonal().cwiseAbs().maxCoeff(), std::abs(C(0, 1)), std::abs(C(0, 2)), std::abs(C(1, 2))});
  }
};

struct EulerAngles { // (66), sequence 3-1-3
  static constexpr int nq = 3, nv = 3;
  static constexpr int multipliers = 0;
  static constexpr bool wants_directors = false;

  template <class S> static Mat3<S> frame(const S* q) {
    using std::cos, std::sin;
    const S c1 = cos(q[0]), s1 = sin(q[0]), c2 = cos(q[1]), s2 = sin(q[1]), c3 = cos(q[2]), s3 = sin(q[2]);
    Mat3<S> R;
    R << c1 * c3 - s1 * c2 * s3, -c1 * s3 - s1 * c2 * c3, s1 * s2, //
        s1 * c3 + c1 * c2 * s3, -s1 * s3 + c1 * c2 * c3, -c1 * s2, //
        s2 * s3, s2 * c3, c2;
    return R;
  }
  template <class S> static Vec3<S> last_row(const S* q) {
    using std::cos, std::sin;
    const S s2 = sin(q[1]);
    return {s2 * sin(q[2]), s2 * cos(q[2]), cos(q[1])};
  }
  template <class S> static Vec3<S> spin(const S*, const S* v, const FormulationOptions&) { return Part<3>::of(v); }
  template <class S>
  static void derivative(const RigidBody& b, const S* q, const S* v, const Mat3<S>& R, const Vec3<S>& mu,
                         const FormulationOptions&, S* dq, S* dv) {
    using std::sin;
    const Vec3<S> w = Part<3>::of(v);
    // The last row of R is (s2 s3, s2 c3, c2): T_theta without further sines.
    const S s2 = sin(q[1]), first = (R(2, 0) * w[0] + R(2, 1) * w[1]) / (s2 * s2);
    dq[0] = first;
    dq[1] = (R(2, 1) * w[0] - R(2, 0) * w[1]) / s2;
    dq[2] = w[2] - R(2, 2) * first;
    Part<3>::put(dv, euler_equations<S>(b, w, mu));
  }
  template <class S>
  static void alone(const RigidBody& b, const S* q, const S* v, const S& given, const FormulationOptions& o, S* dq,
                    S* dv) {
    Mat3<S> R = Mat3<S>::Zero();
    const Vec3<S> row = last_row<S>(q);
    for (int i = 0; i < 3; ++i) R(2, i) = row[i];
    derivative<S>(b, q, v, R, {given, given, given}, o, dq, dv);
  }
  static const char* trouble(const double* q) {
    // theta2 starts between 0 and pi: outside, a step has jumped over the lock.
    const bool lost = std::abs(std::sin(q[1])) < 1e-4 || !(q[1] > 0.0 && q[1] < 3.14159265358979);
    return lost ? "the Euler angles 3-1-3 are at gimbal lock (sin theta2 = 0), use a formulation without that "
                  "singularity"
                : nullptr;
  }
  static bool project(double*, double*, const FormulationOptions&) { return false; }
  static void residual(const double*, const double*, const FormulationOptions&, double& position, double& velocity) {
    position = velocity = 0.0;
  }
  // Angles of R next to those in q.
  static void put(const Mat3<double>& R, double* q) {
    const auto near = [](double angle, double to) {
      return angle + 2.0 * M_PI * std::round(0.5 / M_PI * (to - angle));
    };
    q[0] = near(std::atan2(R(0, 2), -R(1, 2)), q[0]), q[2] = near(std::atan2(R(2, 0), R(2, 1)), q[2]);
    q[1] = std::atan2(std::hypot(R(2, 0), R(2, 1)), R(2, 2));
  }
  // q' by the angular velocity in space.
  static Mat3<double> rates(const double* q) {
    const double c1 = std::cos(q[0]), s1 = std::sin(q[0]), c2 = std::cos(q[1]), s2 = std::sin(q[1]);
    Mat3<double> Z;
    Z << -c2 * s1 / s2, c2 * c1 / s2, 1.0, c1, s1, 0.0, s1 / s2, -c1 / s2, 0.0;
    return Z;
  }
  // dq'/dq where that turns with w.
  static Mat3<double> rates_turned(const double* q, const Vec3<double>& w) {
    const Vec3<double> rate = rates(q) * w;
    const double c2 = std::cos(q[1]), s2 = std::sin(q[1]);
    Mat3<double> K = Mat3<double>::Zero();
    K.col(0) = Vec3<double>(-c2 / s2 * rate[1], -s2 * rate[2], rate[1] / s2);
    K.col(1) = Vec3<double>(rate[2] / s2, 0.0, -c2 / s2 * rate[2]);
    return K;
  }
};

} // namespace gyrod
