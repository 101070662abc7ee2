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

#include "gyrod/rod/description.hpp"
#include "gyrod/rod/lobatto.hpp"
#include "gyrod/rotation.hpp"

namespace gyrod {

template <int p, class S> struct ElementKernel {
  static constexpr int nodes = p + 1;
  using V3 = Vec3<S>;
  using V4 = Vec4<S>;
  using M3 = Mat3<S>;
  using M4 = Mat4<S>;
  using M34 = Eigen::Matrix<S, 3, 4>;
  using M43 = Eigen::Matrix<S, 4, 3>;
  using Block = Eigen::Matrix<S, 6, 7>; // rows mu, f; columns e, Theta, x (or w0, Omega, x'), as on the grid

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
  // At Gauss points. `strains` fills all but F and M; what is below `damped` only if damped.
  struct Values {
    V3 u[p], G[p], K[p], E[p], F[p], M[p]; // K: total; E: strain less its rest value
    V4 P[p], Q[p];
    S n[p], inverse[p], kappa0[p]; // |P|², its reciprocal; the scalar of kappa
    M3 R[p];
    // damped: rates of E and K, and in the axes of the point those of P, Q and u
    V3 Ed[p], Kd[p], y[p];
    V4 omega[p], sigma[p];
  };
  // Derivatives of the forces of node a by increments (q) and rates (v) of node b.
  struct Blocks {
    Block q[nodes][nodes], v[nodes][nodes];
  };

  static void strains(const Parameters& c, const State& s, Values& o) {
    using std::sqrt;
    V4 rate[nodes];
    if (c.damped)
      for (int a = 0; a < nodes; ++a) rate[a] = S(0.5) * multiply<S>(s.p_[a], s.w[a]);
    for (int k = 0; k < p; ++k) {
      V3 u;
      V4 P, Q;
      interpolate(k, c.slope, s.x, s.p_, u, P, Q);
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
      interpolate(k, c.slope, s.v, rate, u, Pd, Qd);
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
      V3 F = o.F[k];
      V3 t = V3::Zero();
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
      for (int k = 0; k < p; ++k) parts.template put<true>(k, c, o, damping(c, o, k), false);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a <= b; ++a) spread<true>(parts, s, a, b, false, out.v);
      for (int k = 0; k < p; ++k) parts.template put<false>(k, c, o, stiffness(c, o, k), c.coupled);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a < nodes; ++a) {
          spread<false>(parts, s, a, b, c.coupled, out.q);
          add_turned(out.v[a][b], s.w[b], out.q[a][b]);
        }
    } else {
      for (int k = 0; k < p; ++k) parts.template put<true>(k, c, o, stiffness(c, o, k), c.coupled);
      for (int b = 0; b < nodes; ++b)
        for (int a = 0; a <= b; ++a) spread<true>(parts, s, a, b, c.coupled, out.q);
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
  static V3 cross(const V3& a, const V3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
  static M3 cross_matrix(const V3& u) {
    M3 E;
    E(0, 0) = S(0), E(1, 1) = S(0), E(2, 2) = S(0);
    E(2, 1) = u[0], E(0, 2) = u[1], E(1, 0) = u[2];
    E(1, 2) = -u[0], E(2, 0) = -u[1], E(0, 1) = -u[2];
    return E;
  }

  static void interpolate(int k, const S& slope, const V3* x, const V4* q, V3& u, V4& P, V4& Q) {
    const auto& t = Lobatto<p>::get();
    S I(t.I[k][0]), D(t.D[k][0]);
    V3 du = D * x[0];
    V4 value = I * q[0], derivative = D * q[0];
    for (int a = 1; a < nodes; ++a) {
      I = S(t.I[k][a]), D = S(t.D[k][a]);
      du += D * x[a], value += I * q[a], derivative += D * q[a];
    }
    u = slope * du, P = value, Q = slope * derivative;
  }

  // Derivatives of F and M at a point by eta, zeta and g. What is zero without coupling is not set then.
  struct Stresses {
    M34 Fe, Me, Mz;
    M3 Fg, Fz, Mg; // by Im zeta
  };
  // Derivative of the gradient at a point, in its axes and for weight 1: rows and columns eta, zeta, g.
  struct Local {
    M4 ee, ez, ze;
    M34 zz, ge; // rows Im zeta
    M43 eg;
    M3 gg, gz, zg;
  };

  static V3 column(const M34& A, int j) { return {A(0, j), A(1, j), A(2, j)}; }
  static V3 column(const M3& A, int j) { return {A(0, j), A(1, j), A(2, j)}; }
  template <class A> static void put(A& to, int row, int j, const V3& x) {
    to(row, j) = x[0], to(row + 1, j) = x[1], to(row + 2, j) = x[2];
  }
  template <class A> static void add(A& to, int row, int j, const V3& x) {
    to(row, j) += x[0], to(row + 1, j) += x[1], to(row + 2, j) += x[2];
  }

  // From (dF, dM) at a column to the rows eta and g: Im eta gets -G x dF + (dK/dIm eta)' dM.
  struct Rows {
    V3 G, K, t; // t: direction of the third strain if stretched
    S kappa0;
    bool stretch;
    Rows(const Parameters& c, const Values& o, int k)
        : G(o.G[k]), K(S(0.5) * o.K[k]), kappa0(S(0.5) * o.kappa0[k]), stretch(c.strain == Strain::stretch) {
      if (stretch) t = (S(1) / (o.E[k][2] + c.point[k].G0[2])) * G;
    }
    V3 force(V3 F) const {
      if (stretch) F[2] = S(0);
      return cross(F, G);
    }
    V3 position(const V3& F) const {
      if (!stretch) return F;
      return {F[0] + t[0] * F[2], F[1] + t[1] * F[2], t[2] * F[2]};
    }
    V3 moment(const V3& M) const { return cross(M, K) - kappa0 * M; }
    S scalar(const V3& M) const { return -K.dot(M); }
    // Derivatives of the strains.
    M3 strain() const {
      M3 E = cross_matrix(G);
      if (stretch) E(2, 0) = S(0), E(2, 1) = S(0);
      return E;
    }
    M3 position() const {
      M3 E = M3::Identity();
      if (stretch) E(2, 0) = t[0], E(2, 1) = t[1], E(2, 2) = t[2];
      return E;
    }
    M34 curvature() const {
      M34 E;
      for (int i = 0; i < 3; ++i) E(i, 0) = -K[i], E(i, i + 1) = -kappa0;
      E(2, 2) = K[0], E(0, 3) = K[1], E(1, 1) = K[2];
      E(1, 3) = -K[0], E(2, 1) = -K[1], E(0, 2) = -K[2];
      return E;
    }
  };

  static Local gradient(const Rows& B, const Stresses& d, bool coupled) {
    Local h;
    for (int j = 0; j < 4; ++j) {
      const V3 F = column(d.Fe, j), M = column(d.Me, j), Mz = column(d.Mz, j);
      h.ee(0, j) = B.scalar(M), put(h.ee, 1, j, B.force(F) + B.moment(M));
      h.ez(0, j) = B.scalar(Mz), put(h.ez, 1, j, B.moment(Mz));
      h.ze(0, j) = S(0), put(h.ze, 1, j, M), put(h.zz, 0, j, Mz), put(h.ge, 0, j, B.position(F));
    }
    for (int j = 0; j < 3; ++j) {
      const V3 F = column(d.Fg, j);
      h.eg(0, j) = S(0), put(h.eg, 1, j, B.force(F)), put(h.gg, 0, j, B.position(F));
      if (!coupled) continue;
      const V3 M = column(d.Mg, j), Fz = column(d.Fz, j);
      h.eg(0, j) = B.scalar(M), add(h.eg, 1, j, B.moment(M)), put(h.zg, 0, j, M);
      add(h.ez, 1, j + 1, B.force(Fz)), put(h.gz, 0, j, B.position(Fz));
    }
    return h;
  }

  static Stresses diagonal(const V3& CG, const V3& CK, const Rows& B) {
    Stresses d;
    const M3 E = B.strain(), g = B.position();
    const M34 K = B.curvature();
    for (int i = 0; i < 3; ++i) {
      d.Fe(i, 0) = S(0), d.Mz(i, 0) = S(0);
      for (int j = 0; j < 3; ++j) {
        d.Fe(i, j + 1) = CG[i] * E(i, j), d.Fg(i, j) = CG[i] * g(i, j);
        d.Mz(i, j + 1) = i == j ? CK[i] : S(0);
      }
      for (int j = 0; j < 4; ++j) d.Me(i, j) = CK[i] * K(i, j);
    }
    return d;
  }

  static Local stiffness(const Parameters& c, const Values& o, int k) {
    const Point& d = c.point[k];
    const Rows B(c, o, k);
    Stresses s;
    if (c.coupled) {
      const M3 E = B.strain(), g = B.position();
      const M34 K = B.curvature();
      s.Fe = d.CX * K, s.Fe.template rightCols<3>() += d.CG * E;
      s.Me = d.CK * K, s.Me.template rightCols<3>() += d.CX.transpose() * E;
      s.Mz.col(0).setZero(), s.Mz.template rightCols<3>() = d.CK;
      s.Fg = d.CG * g, s.Mg = d.CX.transpose() * g, s.Fz = d.CX;
    } else
      s = diagonal(d.CG.diagonal(), d.CK.diagonal(), B);
    if (c.damped) add_rates(c, o, k, s);
    Local h = gradient(B, s, c.coupled);
    add_geometric(c, o, k, h);
    return h;
  }

  static Local damping(const Parameters& c, const Values& o, int k) {
    const Rows B(c, o, k);
    return gradient(B, diagonal(S(2) * c.point[k].cG, S(2) * c.point[k].cK, B), false);
  }

  // 2 c times the derivatives of the rates of the strains, at fixed rates of P, Q and u.
  static void add_rates(const Parameters& c, const Values& o, int k, Stresses& s) {
    const V3 cG = S(2) * c.point[k].cG, cK = S(2) * c.point[k].cK, Omega = o.omega[k].template tail<3>();
    const V3 &G = o.G[k], &y = o.y[k];
    M34 e;
    M3 g = -cross_matrix(Omega);
    const S half = S(0.5) * G.dot(Omega);
    e.col(0) = S(-0.5) * cross(G, Omega);
    e.template rightCols<3>() =
        S(0.5) * (Omega * G.transpose()) - G * Omega.transpose() + cross_matrix(y - (S(0.5) * o.omega[k][0]) * G);
    for (int i = 0; i < 3; ++i) e(i, i + 1) += half;
    if (c.strain == Strain::stretch) {
      const S inverse = S(1) / (o.E[k][2] + c.point[k].G0[2]);
      const V3 t = inverse * G, across = inverse * (y - t.dot(y) * t);
      e.row(2).setZero(), g.row(2) = across.transpose();
    }
    s.Fe += cG.asDiagonal() * e, s.Fg += cG.asDiagonal() * g;

    const V4 kappa(o.kappa0[k], o.K[k][0], o.K[k][1], o.K[k][2]);
    const M4 L = quaternion_matrix<S>(o.omega[k]), both = L + quaternion_matrix_right<S>(o.omega[k]);
    const M4 byeta =
        S(0.25) * (quaternion_matrix_right<S>(kappa) * both) - S(0.5) * quaternion_matrix_right<S>(o.sigma[k]);
    s.Me += cK.asDiagonal() * byeta.template bottomRows<3>();
    s.Mz -= (S(0.5) * cK).asDiagonal() * L.template bottomRows<3>();
  }

  // Second derivatives of the strains, times F and M.
  static void add_geometric(const Parameters& c, const Values& o, int k, Local& h) {
    const V3 &G = o.G[k], &K = o.K[k], &M = o.M[k];
    V3 F = o.F[k];
    if (c.strain == Strain::stretch) {
      const S inverse = S(1) / (o.E[k][2] + c.point[k].G0[2]), pull = F[2] * inverse;
      const V3 t = inverse * G;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) h.gg(i, j) -= pull * t[i] * t[j];
      for (int i = 0; i < 3; ++i) h.gg(i, i) += pull;
      F[2] = S(0);
    }
    const S half = S(0.5) * M.dot(K), work = F.dot(G) + half;
    const V3 m = S(-0.5) * (cross(F, G) + cross(M, K) - o.kappa0[k] * M), hM = S(0.5) * M, hF = S(0.5) * F;
    h.ee(0, 0) += half;
    for (int i = 0; i < 3; ++i) {
      h.ee(0, i + 1) += m[i], h.ee(i + 1, 0) += m[i], h.ee(i + 1, i + 1) -= work;
      for (int j = 0; j < 3; ++j) h.ee(i + 1, j + 1) += hF[i] * G[j] + hF[j] * G[i];
      h.ez(0, i + 1) -= hM[i], h.ez(i + 1, 0) -= hM[i], h.ze(0, i + 1) -= hM[i], h.ze(i + 1, 0) -= hM[i];
    }
    const M3 EM = cross_matrix(hM), EF = cross_matrix(F);
    h.ez.template bottomRightCorner<3, 3>() += EM, h.ze.template bottomRightCorner<3, 3>() -= EM;
    h.eg.template bottomRows<3>() += EF, h.ge.template rightCols<3>() -= EF;
  }

  // The same of all points, weighted and in axes that points share: rows and columns P, Q, u less the factors I and D.
  struct Parts {
    M4 PP[p], PQ[p], QP[p], QQ[p];  // QP, uP, uQ only if not symmetric
    M43 Pu[p], Qu[p], uP[p], uQ[p]; // the last two transposed

    template <bool symmetric> void put(int k, const Parameters& c, const Values& o, const Local& h, bool coupled) {
      const V4 P = o.inverse[k] * o.P[k], Ps = c.slope * P, wP = c.weight[k] * P, wPs = c.weight[k] * Ps;
      const M3 R = c.slope * o.R[k], wR = c.weight[k] * R;
      both(wP, h.ee, P, PP[k]), both(wP, h.ez, Ps, PQ[k]);
      M4 zz;
      for (int j = 0; j < 4; ++j) zz(0, j) = S(0), ElementKernel::put(zz, 1, j, column(h.zz, j));
      both(wPs, zz, Ps, QQ[k]);
      mixed(wP, h.eg, R, Pu[k]);
      uu[k] = wR * h.gg * R.transpose();
      if constexpr (!symmetric) both(wPs, h.ze, P, QP[k]), mixed(P, h.ge.transpose(), wR, uP[k]);
      if (!coupled) return;
      M43 zg;
      for (int j = 0; j < 3; ++j) zg(0, j) = S(0), ElementKernel::put(zg, 1, j, column(h.zg, j));
      mixed(wPs, zg, R, Qu[k]);
      if constexpr (!symmetric) {
        for (int j = 0; j < 3; ++j)
          for (int i = 0; i < 3; ++i) zg(i + 1, j) = h.gz(j, i);
        mixed(Ps, zg, wR, uQ[k]);
      }
    }
    M3 uu[p];

  private:
    // L(a) A L(b)' and L(a) A R'.
    GYROD_INLINE static void both(const V4& a, const M4& A, const V4& b, M4& out) {
      M4 left;
      for (int j = 0; j < 4; ++j) {
        const V4 x = multiply<S>(a, V4(A(0, j), A(1, j), A(2, j), A(3, j)));
        for (int i = 0; i < 4; ++i) left(i, j) = x[i];
      }
      for (int i = 0; i < 4; ++i) {
        const V4 x = multiply<S>(b, V4(left(i, 0), left(i, 1), left(i, 2), left(i, 3)));
        for (int j = 0; j < 4; ++j) out(i, j) = x[j];
      }
    }
    GYROD_INLINE static void mixed(const V4& a, const M43& A, const M3& R, M43& out) {
      M43 left;
      for (int j = 0; j < 3; ++j) {
        const V4 x = multiply<S>(a, V4(A(0, j), A(1, j), A(2, j), A(3, j)));
        for (int i = 0; i < 4; ++i) left(i, j) = x[i];
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 3; ++j) out(i, j) = left(i, 0) * R(j, 0) + left(i, 1) * R(j, 1) + left(i, 2) * R(j, 2);
    }
  };

  // The block of nodes a and b; if symmetric, that of b and a too.
  template <bool symmetric>
  static void spread(const Parts& h, const State& s, int a, int b, bool coupled, Block (*out)[nodes]) {
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
        x[i] = S(0);
        for (int k = 0; k < p; ++k)
          x[i] += II[k] * h.PP[k](i, j) + ID[k] * h.PQ[k](i, j) + DI[k] * (symmetric ? h.PQ[k](j, i) : h.QP[k](i, j)) +
                  DD[k] * h.QQ[k](i, j);
      }
      x = multiply<S>(pa, x);
      for (int i = 0; i < 4; ++i) left(i, j) = x[i];
    }
    for (int i = symmetric ? 0 : 1; i < 4; ++i) {
      const V4 x = multiply<S>(pb, V4(left(i, 0), left(i, 1), left(i, 2), left(i, 3)));
      if (i)
        for (int j = 0; j < 4; ++j) q(i - 1, j) = x[j];
      if (symmetric)
        for (int j = 1; j < 4; ++j) r(j - 1, i) = x[j];
    }
    for (int j = 0; j < 3; ++j) {
      V4 x, y;
      for (int i = 0; i < 4; ++i) {
        x[i] = S(0), y[i] = S(0);
        for (int k = 0; k < p; ++k) {
          x[i] += ID[k] * h.Pu[k](i, j), y[i] += DI[k] * (symmetric ? h.Pu : h.uP)[k](i, j);
          if (coupled) x[i] += DD[k] * h.Qu[k](i, j), y[i] += DD[k] * (symmetric ? h.Qu : h.uQ)[k](i, j);
        }
      }
      x = multiply<S>(pa, x), y = multiply<S>(pn, y);
      for (int i = 1; i < 4; ++i) q(i - 1, j + 4) = x[i];
      for (int i = 0; i < 4; ++i) q(j + 3, i) = y[i];
      if (symmetric) {
        for (int i = 1; i < 4; ++i) r(i - 1, j + 4) = y[i];
        for (int i = 0; i < 4; ++i) r(j + 3, i) = x[i];
      }
      for (int i = 0; i < 3; ++i) {
        S z = S(0);
        for (int k = 0; k < p; ++k) z -= DD[k] * h.uu[k](i, j);
        q(i + 3, j + 4) = z;
        if (symmetric) r(j + 3, i + 4) = z;
      }
    }
  }

  // d(p') = (dp) w/2 + p dw/2: a turn acts as the rate c w/2 too.
  static void add_turned(const Block& v, const V4& w, Block& q) {
    const V4 half = S(0.5) * conjugate<S>(w);
    for (int i = 0; i < 6; ++i) {
      const V4 x = multiply<S>(V4(v(i, 0), v(i, 1), v(i, 2), v(i, 3)), half);
      for (int j = 0; j < 4; ++j) q(i, j) += x[j];
    }
  }
};

} // namespace gyrod
