// Geometrically exact rod elements of degree p: p + 1 Gauss-Lobatto nodes, each with a position and a quaternion, and p
// Gauss points with strains and curvatures. One element, or as many as S has lanes.
//
// At a Gauss point, with u = sum D x_a, P = sum I p_a, Q = sum D p_a (the derivative of P) and n = |P|²,
//   G = conj(P) u P/n = R'u (at rest e3),  kappa = 2 conj(P) Q/n,  K = Im kappa.
// Both are homogeneous of degree 0 in P: an element need not be normalised. Increments and rates are those of the
// staggered grid: dp = p c/2 with c = (e, Theta), p' = p w/2 with w = (w0, Omega), on the unit sphere or off it. In the
// axes of a point they are eta = 2 conj(P) dP/n, zeta = 2 conj(P) dQ/n and g = R' du, in which
//   dG = G x Im eta + g,  dkappa = zeta - eta kappa/2,
// and second derivatives follow from d(eta) = -eta_2 eta/2, d(zeta) = -eta_2 zeta/2, dg = g x Im eta_2.
#pragma once

#include "gyrod/math/rotation.hpp"
#include "gyrod/rod/description.hpp"
#include "gyrod/rod/lobatto.hpp"

namespace gyrod {

template <int p, class S> struct ElementKernel {
  static constexpr int nodes = p + 1;
  using V3 = Vec3<S>;
  using V4 = Vec4<S>;
  using M3 = Mat3<S>;
  using M4 = Mat4<S>;
  using M43 = Matrix<S, 4, 3>;
  using Block = Matrix<S, 6, 7>; // rows mu, f; columns e, Theta, x (or w0, Omega, x'), as on the grid

  struct Point { // of the rod, at a Gauss point
    M3 CG, CK, CX;
    V3 cG, cK, G0, K0;
  };
  struct Parameters {
    S slope;     // 2/h
    S weight[p]; // h/2 times those of the Gauss points
    Point point[p];
    bool damped = false, coupled = false; // not coupled: CG, CK are diagonal and CX is none
    Strain strain = Strain::cosserat;
  };
  struct State { // of nodes; w = (w0, Omega)
    V3 x[nodes], v[nodes];
    V4 p_[nodes], w[nodes];
  };
  // At Gauss points. `strains` fills all but F and M.
  struct Values {
    V3 u[p], G[p], K[p], E[p], F[p], M[p]; // K: total; E: strain less its rest value
    V4 P[p], Q[p];
    S n[p], inverse[p], kappa0[p]; // |P|², its reciprocal; the scalar of kappa
    M3 R[p];
    // only if damped: rates of E and K, and in the axes of the point those of u, P and Q
    V3 Ed[p], Kd[p], y[p];
    V4 omega[p], sigma[p];
  };
  // Derivatives of the forces of node a by increments (q) and rates (v) of node b.
  struct Blocks {
    Block q[nodes][nodes], v[nodes][nodes];
  };

  static void strains(const Parameters& c, const State& s, Values& o) {
    using std::sqrt;
    V3 x[nodes], v[nodes];
    V4 q[nodes], rate[nodes];
    less_first(s.x, x), less_first(s.p_, q);
    if (c.damped) {
      V4 turned[nodes];
      for (int a = 0; a < nodes; ++a) turned[a] = S(0.5) * multiply<S>(s.p_[a], s.w[a]);
      less_first(s.v, v), less_first(turned, rate);
    }
    for (int k = 0; k < p; ++k) {
      V3 u;
      V4 P, Q;
      interpolate(k, c.slope, x, q, u, P, Q);
      const S n = P.dot(P), inverse = S(1) / n;
      const M3 R = inverse * matrix_from_quaternion<S>(P);
      const V3 G = R.transpose() * u;
      const V4 kappa = (inverse + inverse) * multiply<S>(conjugate<S>(P), Q);
      o.u[k] = u, o.P[k] = P, o.Q[k] = Q, o.n[k] = n, o.inverse[k] = inverse, o.R[k] = R, o.G[k] = G;
      o.kappa0[k] = kappa[0], o.K[k] = kappa.template tail<3>();
      o.E[k] = G - c.point[k].G0;
      if (c.strain == Strain::stretch) o.E[k][2] = sqrt(u.dot(u)) - c.point[k].G0[2];
      if (!c.damped) continue;

      V4 Pd, Qd;
      interpolate(k, c.slope, v, rate, u, Pd, Qd);
      const V4 omega = (inverse + inverse) * multiply<S>(conjugate<S>(P), Pd);
      const V4 sigma = (inverse + inverse) * multiply<S>(conjugate<S>(P), Qd);
      const V3 y = R.transpose() * u, Omega = omega.template tail<3>();
      o.omega[k] = omega, o.sigma[k] = sigma, o.y[k] = y;
      o.Kd[k] = (sigma - S(0.5) * multiply<S>(omega, kappa)).template tail<3>();
      o.Ed[k] = y + cross(G, Omega);
      if (c.strain == Strain::stretch) o.Ed[k][2] = G.dot(y) / (o.E[k][2] + c.point[k].G0[2]);
    }
  }

  // F = CG E + CX K + 2 cG E', M = CX' E + CK K + 2 cK K', K less its rest value.
  static void stresses(const Parameters& c, Values& o) {
    for (int k = 0; k < p; ++k) {
      const Point& d = c.point[k];
      const V3 E = o.E[k], K = o.K[k] - d.K0;
      V3 F, M;
      if (c.coupled)
        F = d.CG * E + d.CX * K, M = d.CX.transpose() * E + d.CK * K;
      else
        F = d.CG.diagonal().cwiseProduct(E), M = d.CK.diagonal().cwiseProduct(K);
      if (c.damped) F += S(2) * d.cG.cwiseProduct(o.Ed[k]), M += S(2) * d.cK.cwiseProduct(o.Kd[k]);
      o.F[k] = F, o.M[k] = M;
    }
  }

  // Forces f and gradient gp of the energy in the quaternions, of nodes; mu = -Im(conj(p) gp)/2 of their sums.
  static void forces(const Parameters& c, const Values& o, V3* f, V4* gp) {
    V3 to_u[p];
    V4 to_P[p], to_Q[p];
    for (int k = 0; k < p; ++k) {
      const S w = c.weight[k], twice = S(2) * w * o.inverse[k];
      const V3 &G = o.G[k], &K = o.K[k], &M = o.M[k];
      V3 F = o.F[k], t = V3::Zero();
      if (c.strain == Strain::stretch) t = (F[2] / (o.E[k][2] + c.point[k].G0[2])) * o.u[k], F[2] = S(0);
      to_u[k] = (w * c.slope) * (o.R[k] * F + t);
      const V3 g = cross(F, G) + S(0.5) * (cross(M, K) - o.kappa0[k] * M);
      to_P[k] = twice * multiply<S>(o.P[k], V4(S(-0.5) * M.dot(K), g[0], g[1], g[2]));
      to_Q[k] = (twice * c.slope) * multiply<S>(o.P[k], V4(S(0), M[0], M[1], M[2]));
    }
    const auto& t = Lobatto<p>::get();
    for (int a = 0; a < nodes; ++a) {
      V3 sum = S(-t.D[0][a]) * to_u[0];
      V4 g = S(t.I[0][a]) * to_P[0] + S(t.D[0][a]) * to_Q[0];
      for (int k = 1; k < p; ++k) {
        sum -= S(t.D[k][a]) * to_u[k];
        g += S(t.I[k][a]) * to_P[k] + S(t.D[k][a]) * to_Q[k];
      }
      f[a] = sum, gp[a] = g;
    }
  }

  // At values as `stresses` left them. Not damped: v is left as it is. What gp does on the diagonal is the share of
  // this element.
  static void blocks(const Parameters& c, const State& s, const Values& o, Blocks& out) {
    Parts parts;
    if (c.damped) {
      for (int k = 0; k < p; ++k) damping(c, o, k, parts);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a <= b; ++a) pair<true>(parts, s, a, b, false, out.v);
      for (int k = 0; k < p; ++k) stiffness<false>(c, o, k, parts);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a < nodes; ++a) {
          pair<false>(parts, s, a, b, c.coupled, out.q);
          add_turned(s.w[b], out.v[a][b], out.q[a][b]);
        }
    } else {
      for (int k = 0; k < p; ++k) stiffness<true>(c, o, k, parts);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a <= b; ++a) pair<true>(parts, s, a, b, c.coupled, out.q);
    }
    V3 f[nodes];
    V4 gp[nodes];
    forces(c, o, f, gp);
    for (int a = 0; a < nodes; ++a) { // mu = -Im(conj(p) gp)/2: the change of p is -Im(conj(c) m)/4, m = conj(p) gp
      const V4 m = S(0.25) * multiply<S>(conjugate<S>(s.p_[a]), gp[a]);
      Block& q = out.q[a][a];
      for (int i = 0; i < 3; ++i) q(i, 0) -= m[i + 1], q(i, i + 1) += m[0];
      q(0, 2) += m[3], q(0, 3) -= m[2], q(1, 1) -= m[3], q(1, 3) += m[1], q(2, 1) += m[2], q(2, 2) -= m[1];
    }
  }

private:
  GYROD_INLINE static V3 cross(const V3& a, const V3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
  GYROD_INLINE static M3 cross_matrix(const V3& u, const S& diagonal) {
    M3 E;
    E(0, 0) = diagonal, E(1, 1) = diagonal, E(2, 2) = diagonal;
    E(2, 1) = u[0], E(0, 2) = u[1], E(1, 0) = u[2];
    E(1, 2) = -u[0], E(2, 0) = -u[1], E(0, 1) = -u[2];
    return E;
  }
  GYROD_INLINE static V4 quaternion(const S& scalar, const V3& v) { return {scalar, v[0], v[1], v[2]}; }
  // Number by number: blocks of lanes are copied in pieces.
  template <class A> GYROD_INLINE static V3 column(const A& from, int j) {
    return {from(0, j), from(1, j), from(2, j)};
  }
  template <class A, class V> GYROD_INLINE static void put(A& to, int row, int j, const V& x) {
    for (int i = 0; i < V::size(); ++i) to(row + i, j) = x[i];
  }
  template <class A, class V> GYROD_INLINE static void put_row(A& to, int i, const V& x) {
    for (int j = 0; j < V::size(); ++j) to(i, j) = x[j];
  }

  // From values of nodes less those of the first one, which keep more digits; of q that of the first is itself.
  template <class V> GYROD_INLINE static void less_first(const V* from, V* to) {
    to[0] = from[0];
    for (int a = 1; a < nodes; ++a) to[a] = from[a] - from[0];
  }
  GYROD_INLINE static void interpolate(int k, const S& slope, const V3* x, const V4* q, V3& u, V4& P, V4& Q) {
    const auto& t = Lobatto<p>::get();
    S I(t.I[k][1]), D(t.D[k][1]);
    V3 du = D * x[1];
    V4 value = q[0] + I * q[1], derivative = D * q[1];
    for (int a = 2; a < nodes; ++a) {
      I = S(t.I[k][a]), D = S(t.D[k][a]);
      du += D * x[a], value += I * q[a], derivative += D * q[a];
    }
    u = slope * du, P = value, Q = slope * derivative;
  }

  // Derivatives at a point by its increments: columns eta, zeta, g.
  using M3z = Matrix<S, 3, 11>;

  // Of the strains,
  //   dE = G x Im eta + g,  dK = Im zeta + (K x Im eta - kappa0 Im eta - eta0 K)/2,
  // of a stretched rod dE3 = t g; and what the transposes make of F and M.
  struct Strains {
    V3 G, K, t;
    S kappa0; // it and K are halved
    bool stretch;
    M3 E_eta, E_g, K_eta; // by Im eta and g
    Strains(const Parameters& c, const Values& o, int k)
        : G(o.G[k]), K(S(0.5) * o.K[k]), t(o.G[k]), kappa0(S(0.5) * o.kappa0[k]), stretch(c.strain == Strain::stretch),
          E_eta(cross_matrix(G, S(0))), E_g(cross_matrix(V3(S(0), S(0), S(0)), S(1))), K_eta(cross_matrix(K, -kappa0)) {
      if (!stretch) return;
      t = (S(1) / (o.E[k][2] + c.point[k].G0[2])) * G;
      for (int j = 0; j < 3; ++j) E_eta(2, j) = S(0), E_g(2, j) = t[j];
    }
    GYROD_INLINE V3 across(const V3& F) const { return {F[0], F[1], stretch ? S(0) : F[2]}; }
    GYROD_INLINE V4 to_eta(const V3& F, const V3& M) const {
      return quaternion(-K.dot(M), cross(across(F), G) + cross(M, K) - kappa0 * M);
    }
    GYROD_INLINE V3 to_g(const V3& F) const {
      return stretch ? V3(F[0] + t[0] * F[2], F[1] + t[1] * F[2], t[2] * F[2]) : F;
    }
  };

  // Of F and M, with the stiffness or damping of a section.
  static void diagonal(const Strains& B, const V3& CG, const V3& CK, M3z& F, M3z& M) {
    for (int i = 0; i < 3; ++i) {
      F(i, 0) = S(0), F(i, 4) = S(0), M(i, 0) = -CK[i] * B.K[i], M(i, 4) = S(0);
      for (int j = 0; j < 3; ++j) {
        F(i, j + 1) = CG[i] * B.E_eta(i, j), F(i, j + 5) = S(0), F(i, j + 8) = CG[i] * B.E_g(i, j);
        M(i, j + 1) = CK[i] * B.K_eta(i, j), M(i, j + 5) = i == j ? CK[i] : S(0), M(i, j + 8) = S(0);
      }
    }
  }
  static void coupled(const Strains& B, const Point& d, M3z& F, M3z& M) {
    const V3 none(S(0), S(0), S(0));
    put(F, 0, 0, V3(-(d.CX * B.K))), put(F, 0, 4, none), put(M, 0, 0, V3(-(d.CK * B.K))), put(M, 0, 4, none);
    for (int j = 0; j < 3; ++j) {
      const V3 E = column(B.E_eta, j), K = column(B.K_eta, j), g = column(B.E_g, j);
      put(F, 0, j + 1, V3(d.CG * E + d.CX * K)), put(M, 0, j + 1, V3(d.CX.transpose() * E + d.CK * K));
      put(F, 0, j + 5, column(d.CX, j)), put(M, 0, j + 5, column(d.CK, j));
      put(F, 0, j + 8, V3(d.CG * g)), put(M, 0, j + 8, V3(d.CX.transpose() * g));
    }
  }
  // Damping, at fixed rates of P, Q and u: E' = G x Omega + y, kappa' = sigma - omega kappa/2.
  static void add_rates(const Parameters& c, const Values& o, int k, const Strains& B, M3z& F, M3z& M) {
    const V4 &omega = o.omega[k], &sigma = o.sigma[k], kappa = quaternion(o.kappa0[k], o.K[k]);
    const V3 cG = S(2) * c.point[k].cG, cK = S(2) * c.point[k].cK, Omega(omega[1], omega[2], omega[3]);
    const V3 &G = B.G, &y = o.y[k], along = S(-0.5) * cross(G, Omega), rest = y - (S(0.5) * omega[0]) * G;
    const M3 E = cross_matrix(rest, S(0.5) * G.dot(Omega)), W = cross_matrix(Omega, S(0));
    for (int i = 0; i < (B.stretch ? 2 : 3); ++i) {
      F(i, 0) += cG[i] * along[i];
      for (int j = 0; j < 3; ++j) {
        F(i, j + 1) += cG[i] * (E(i, j) + S(0.5) * Omega[i] * G[j] - G[i] * Omega[j]);
        F(i, j + 8) -= cG[i] * W(i, j);
      }
    }
    if (B.stretch) {
      const V3 turn = (cG[2] / B.t.dot(G)) * (y - B.t.dot(y) * B.t);
      for (int j = 0; j < 3; ++j) F(2, j + 8) += turn[j];
    }
    for (int j = 0; j < 4; ++j) { // (eta omega + omega eta) kappa/4 - (eta sigma + omega zeta)/2
      V4 eta;
      for (int i = 0; i < 4; ++i) eta[i] = S(i == j ? 0.5 : 0.0);
      const V4 before = multiply<S>(omega, eta), both = S(0.5) * (before + multiply<S>(eta, omega));
      const V4 x = multiply<S>(both, kappa) - multiply<S>(eta, sigma);
      for (int i = 0; i < 3; ++i) M(i, j) += cK[i] * x[i + 1], M(i, j + 4) -= cK[i] * before[i + 1];
    }
  }

  // Of the gradient, in the axes of the point and for weight 1: rows eta, zeta, g.
  struct Local {
    Matrix<S, 4, 11> e, z;
    Matrix<S, 11, 3> g; // transposed
    Local(const Strains& B, const M3z& F, const M3z& M) {
      for (int j = 0; j < 11; ++j) {
        const V3 f = column(F, j), m = column(M, j);
        put(e, 0, j, B.to_eta(f, m)), put(z, 0, j, quaternion(S(0), m)), put_row(g, j, B.to_g(f));
      }
    }
    // Second derivatives of the strains, times F and M.
    void add_geometric(const Strains& B, const V3& stress, const V3& M) {
      const V3 &G = B.G, F = B.across(stress), hM = S(0.5) * M, hF = S(0.5) * F;
      const S half = M.dot(B.K), work = F.dot(G) + half;
      const V3 m = B.kappa0 * M - cross(hF, G) - cross(M, B.K);
      const M3 EM = cross_matrix(hM, S(0)), EF = cross_matrix(F, S(0));
      e(0, 0) += half;
      for (int i = 0; i < 3; ++i) {
        e(0, i + 1) += m[i], e(i + 1, 0) += m[i], e(i + 1, i + 1) -= work;
        e(0, i + 5) -= hM[i], e(i + 1, 4) -= hM[i], z(0, i + 1) -= hM[i], z(i + 1, 0) -= hM[i];
        for (int j = 0; j < 3; ++j) {
          e(i + 1, j + 1) += hF[i] * G[j] + hF[j] * G[i];
          e(i + 1, j + 5) += EM(i, j), z(i + 1, j + 1) -= EM(i, j);
          e(i + 1, j + 8) += EF(i, j), g(i + 1, j) += EF(i, j);
        }
      }
      if (!B.stretch) return;
      const S pull = stress[2] / B.t.dot(G);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) g(i + 8, j) += pull * (S(i == j ? 1.0 : 0.0) - B.t[i] * B.t[j]);
    }
  };

  // The same of all points, weighted and in axes that points share: rows and columns P, Q and u, less the factors I
  // and D. If symmetric, QP, uP and uQ are left out; if not coupled, Qu and uQ.
  struct Parts {
    M4 PP[p], PQ[p], QP[p], QQ[p];
    M43 Pu[p], Qu[p], uP[p], uQ[p]; // the last two transposed
    M3 uu[p];

    template <bool symmetric> void put(const Parameters& c, const Values& o, int k, bool coupled, const Local& h) {
      const V4 P = o.inverse[k] * o.P[k], Ps = c.slope * P, wP = c.weight[k] * P, wPs = c.weight[k] * Ps;
      const M3 R = c.slope * o.R[k], wR = c.weight[k] * R;
      turn(wP, &h.e(0, 0), P, PP[k]), turn(wP, &h.e(0, 4), Ps, PQ[k]), turn(wPs, &h.z(0, 4), Ps, QQ[k]);
      turn(wP, &h.e(0, 8), 4, R, Pu[k]);
      M3 left;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          left(i, j) = wR(i, 0) * h.g(j + 8, 0) + wR(i, 1) * h.g(j + 8, 1) + wR(i, 2) * h.g(j + 8, 2);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) uu[k](i, j) = left(i, 0) * R(j, 0) + left(i, 1) * R(j, 1) + left(i, 2) * R(j, 2);
      if (coupled) turn(wPs, &h.z(0, 8), 4, R, Qu[k]);
      if constexpr (symmetric) return;
      turn(wPs, &h.z(0, 0), P, QP[k]), turn(wP, &h.g(0, 0), 11, R, uP[k]);
      if (coupled) turn(wPs, &h.g(4, 0), 11, R, uQ[k]);
    }

  private:
    // L(a) A L(b)', L(a) A R'.
    static void turn(const V4& a, const S* A, const V4& b, M4& out) {
      M4 left;
      for (int j = 0; j < 4; ++j)
        ElementKernel::put(left, 0, j, multiply<S>(a, V4(A[4 * j], A[4 * j + 1], A[4 * j + 2], A[4 * j + 3])));
      for (int i = 0; i < 4; ++i) put_row(out, i, multiply<S>(b, V4(left(i, 0), left(i, 1), left(i, 2), left(i, 3))));
    }
    static void turn(const V4& a, const S* A, int stride, const M3& R, M43& out) {
      M43 left;
      for (int j = 0; j < 3; ++j, A += stride)
        ElementKernel::put(left, 0, j, multiply<S>(a, V4(A[0], A[1], A[2], A[3])));
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 3; ++j) out(i, j) = left(i, 0) * R(j, 0) + left(i, 1) * R(j, 1) + left(i, 2) * R(j, 2);
    }
  };

  template <bool symmetric> static void stiffness(const Parameters& c, const Values& o, int k, Parts& out) {
    const Point& d = c.point[k];
    const Strains B(c, o, k);
    M3z F, M;
    if (c.coupled)
      coupled(B, d, F, M);
    else
      diagonal(B, d.CG.diagonal(), d.CK.diagonal(), F, M);
    if constexpr (!symmetric) add_rates(c, o, k, B, F, M);
    Local h(B, F, M);
    h.add_geometric(B, o.F[k], o.M[k]);
    out.template put<symmetric>(c, o, k, c.coupled, h);
  }
  static void damping(const Parameters& c, const Values& o, int k, Parts& out) {
    const Strains B(c, o, k);
    M3z F, M;
    diagonal(B, S(2) * c.point[k].cG, S(2) * c.point[k].cK, F, M);
    out.template put<true>(c, o, k, false, Local(B, F, M));
  }

  // The block of nodes a and b, and if symmetric that of b and a.
  template <bool symmetric>
  static void pair(const Parts& h, const State& s, int a, int b, bool coupled, Block (*out)[nodes]) {
    const auto& t = Lobatto<p>::get();
    const V4 pa = -conjugate<S>(s.p_[a]), pb = conjugate<S>(s.p_[b]), pn = -pb;
    Block &q = out[a][b], &r = out[b][a];
    S II[p], ID[p], DI[p], DD[p];
    for (int k = 0; k < p; ++k) {
      II[k] = S(t.I[k][a] * t.I[k][b]), ID[k] = S(t.I[k][a] * t.D[k][b]);
      DI[k] = S(t.D[k][a] * t.I[k][b]), DD[k] = S(t.D[k][a] * t.D[k][b]);
    }
    M4 left;
    for (int j = 0; j < 4; ++j) {
      V4 x;
      for (int i = 0; i < 4; ++i) {
        S sum = II[0] * h.PP[0](i, j);
        for (int k = 0; k < p; ++k) {
          if (k) sum += II[k] * h.PP[k](i, j);
          sum += ID[k] * h.PQ[k](i, j);
          sum += DI[k] * (symmetric ? h.PQ[k](j, i) : h.QP[k](i, j));
          sum += DD[k] * h.QQ[k](i, j);
        }
        x[i] = sum;
      }
      put(left, 0, j, multiply<S>(pa, x));
    }
    for (int i = symmetric ? 0 : 1; i < 4; ++i) {
      const V4 x = multiply<S>(pb, V4(left(i, 0), left(i, 1), left(i, 2), left(i, 3)));
      if (i) put_row(q, i - 1, x);
      if (symmetric) put(r, 0, i, V3(x[1], x[2], x[3]));
    }
    for (int j = 0; j < 3; ++j) {
      V4 x, y;
      for (int i = 0; i < 4; ++i) {
        x[i] = ID[0] * h.Pu[0](i, j), y[i] = DI[0] * (symmetric ? h.Pu : h.uP)[0](i, j);
        for (int k = 1; k < p; ++k) x[i] += ID[k] * h.Pu[k](i, j), y[i] += DI[k] * (symmetric ? h.Pu : h.uP)[k](i, j);
        for (int k = 0; k < p && coupled; ++k)
          x[i] += DD[k] * h.Qu[k](i, j), y[i] += DD[k] * (symmetric ? h.Qu : h.uQ)[k](i, j);
      }
      x = multiply<S>(pa, x), y = multiply<S>(pn, y);
      put(q, 0, j + 4, V3(x[1], x[2], x[3])), put_row(q, j + 3, y);
      if (symmetric) put(r, 0, j + 4, V3(y[1], y[2], y[3])), put_row(r, j + 3, x);
      for (int i = 0; i < 3; ++i) {
        S z = -(DD[0] * h.uu[0](i, j));
        for (int k = 1; k < p; ++k) z -= DD[k] * h.uu[k](i, j);
        q(i + 3, j + 4) = z;
        if (symmetric) r(j + 3, i + 4) = z;
      }
    }
  }

  // d(p') = (dp) w/2 + p dw/2: a turn c acts as the rate c w/2 too.
  static void add_turned(const V4& w, const Block& v, Block& q) {
    const V4 half = S(0.5) * conjugate<S>(w);
    for (int i = 0; i < 6; ++i) {
      const V4 x = multiply<S>(V4(v(i, 0), v(i, 1), v(i, 2), v(i, 3)), half);
      for (int j = 0; j < 4; ++j) q(i, j) += x[j];
    }
  }
};

} // namespace gyrod
