// The forces of a discrete Cosserat rod on a staggered grid (Lang, Linn, Arnold 2011, section 3), written once as
// energies per segment and per vertex: strains (23), curvatures (24)-(26), their rates, and what follows.
//
// S is the scalar of the state, P that of stiffness, damping and masses: doubles, or lanes with one member of an
// ensemble each. Branches are taken on what members share.
#pragma once

#include "gyrod/rod/loads.hpp"

namespace gyrod {

template <class P, class Base = RodLoads<P>> class StaggeredForces : public Base {
public:
  using Base::Base;

  // Frames and strains only.
  template <class S> void configuration(RodState<S>& s) const { strains(s); }

  // Internal forces and moments and those of gravity, drag and loads, from x, v, p, w of the state.
  template <class S> void forces(double t, RodState<S>& s, const EndMotion* ends) const {
    strains(s);
    curvatures(s, ends);
    stresses(s);
    this->weigh(s);
    for (int j = 0; j < N_; ++j) segment_forces(s, j);
    for (int n = 0; n <= N_; ++n)
      if (d_.weight[i(n)] > 0.0) vertex_moments(s, n);
    this->add_loads(t, s, ends);
  }

  template <class S> Vec3<S> curvature_rate(const RodState<S>& s, int n) const {
    const Vec3<S> h = s.W[i(n)].template tail<3>(), hd = s.Wd[i(n)].template tail<3>();
    const Zeta<S>& z = s.zeta[i(n)];
    return S(d_.kappa[i(n)]) * (z.z * hd + (z.z1 * s.Wd[i(n)][0]) * h);
  }

protected:
  using Base::d_, Base::N_, Base::i;

  template <class S> void strains(RodState<S>& s) const {
    using std::sqrt;
    for (int j = 0; j < N_; ++j) {
      const S inverse(d_.inverse_ds[i(j)]);
      const Mat3<S>& R = s.R[i(j)] = matrix_from_quaternion<S>(s.p[i(j)]);
      s.u[i(j)] = inverse * (s.x[i(j + 1)] - s.x[i(j)]);
      const Vec3<S> G = s.G[i(j)] = R.transpose() * s.u[i(j)];
      Vec3<S>& E = s.E[i(j)] = G - d_.G0[i(j)].template cast<S>();
      if (d_.strain == Strain::stretch) E[2] = sqrt(s.u[i(j)].dot(s.u[i(j)])) - S(d_.G0[i(j)][2]);
      if (!d_.damped) continue;
      s.ud[i(j)] = inverse * (s.v[i(j + 1)] - s.v[i(j)]);
      s.y[i(j)] = R.transpose() * s.ud[i(j)];
      const Vec3<S> Omega = s.w[i(j)].template tail<3>();
      s.Ed[i(j)] = s.y[i(j)] + G.cross(Omega) + s.w[i(j)][0] * G;
      if (d_.strain == Strain::stretch) s.Ed[i(j)][2] = s.u[i(j)].dot(s.ud[i(j)]) / (E[2] + S(d_.G0[i(j)][2]));
    }
  }

  template <class S> void curvatures(RodState<S>& s, const EndMotion* ends) const {
    for (int n = 1; n < N_; ++n) {
      const Vec4<S>&a = s.p[i(n - 1)], &b = s.p[i(n)];
      s.W[i(n)] = multiply<S>(conjugate<S>(a), b);
      if (d_.damped) s.Wd[i(n)] = rate<S>(s.W[i(n)], s.w[i(n - 1)], s.w[i(n)]);
      curvature(s, n);
    }
    for (int e = 0; e < 2; ++e) {
      const int n = e ? N_ : 0;
      if (!d_.ends[e].clamped) continue;
      const Vec4<S> p0 = ends[e].p.template cast<S>();
      const Vec4<S> w0(S(0), S(ends[e].Omega[0]), S(ends[e].Omega[1]), S(ends[e].Omega[2]));
      const Vec4<S> V = s.V[i(e)] =
          e ? multiply<S>(conjugate<S>(s.p[i(N_ - 1)]), p0) : multiply<S>(conjugate<S>(p0), s.p[0]);
      s.W[i(n)] = multiply<S>(V, V);
      if (d_.damped) {
        const Vec4<S> Vd = s.Vd[i(e)] = e ? rate<S>(V, s.w[i(N_ - 1)], w0) : rate<S>(V, w0, s.w[0]);
        s.Wd[i(n)] = multiply<S>(V, Vd) + multiply<S>(Vd, V);
      }
      curvature(s, n);
    }
  }

  template <class S> static Vec4<S> rate(const Vec4<S>& W, const Vec4<S>& a, const Vec4<S>& b) {
    return S(0.5) * (multiply<S>(W, b) + multiply<S>(conjugate<S>(a), W));
  }

  template <class S> void curvature(RodState<S>& s, int n) const {
    const Zeta<S>& z = s.zeta[i(n)] = d_.law(s.W[i(n)][0]);
    s.K[i(n)] = (S(d_.kappa[i(n)]) * z.z) * s.W[i(n)].template tail<3>() - d_.K0[i(n)].template cast<S>();
  }

  template <class S> Vec3<S> times(const Mat3<P>& C, const Vec3<S>& e) const {
    if (!d_.coupled) return {S(C(0, 0)) * e[0], S(C(1, 1)) * e[1], S(C(2, 2)) * e[2]};
    return C.template cast<S>() * e;
  }
  // F = C Gamma + 2 c Gamma', M = C K + 2 c K'; a coupled section exchanges means over half cells.
  template <class S> void stresses(RodState<S>& s) const {
    for (int j = 0; j < N_; ++j) {
      s.F[i(j)] = times<S>(d_.CG[i(j)], s.E[i(j)]);
      if (d_.damped) s.F[i(j)] += Base::template twice<S>(d_.cG[i(j)], s.Ed[i(j)]);
      if (d_.coupled)
        for (int n : {j, j + 1})
          if (d_.weight[i(n)] > 0.0) s.F[i(j)] += S(0.5) * (d_.CX[i(j)].template cast<S>() * s.K[i(n)]);
    }
    for (int n = 0; n <= N_; ++n) {
      if (!(d_.weight[i(n)] > 0.0)) continue;
      Vec3<S>& M = s.M[i(n)] = times<S>(d_.CK[i(n)], s.K[i(n)]);
      if (d_.damped) M += Base::template twice<S>(d_.cK[i(n)], curvature_rate(s, n));
      if (d_.coupled)
        for (int j : {n - 1, n})
          if (j >= 0 && j < N_) M += S(share(j, n)) * (d_.CX[i(j)].transpose().template cast<S>() * s.E[i(j)]);
    }
  }
  double share(int j, int n) const { return 0.5 * d_.ds[i(j)] / d_.weight[i(n)]; }

  template <class S> void segment_forces(RodState<S>& s, int j) const {
    const Vec3<S>& F = s.F[i(j)];
    Vec3<S> force;
    if (d_.strain == Strain::stretch) {
      const Vec3<S> across(F[0], F[1], S(0));
      force = s.R[i(j)] * across + (F[2] / (s.E[i(j)][2] + S(d_.G0[i(j)][2]))) * s.u[i(j)];
      s.mu[i(j)] = S(d_.ds[i(j)]) * s.G[i(j)].cross(across);
    } else {
      force = s.R[i(j)] * F;
      s.mu[i(j)] = S(d_.ds[i(j)]) * s.G[i(j)].cross(F);
    }
    s.f[i(j)] += force;
    s.f[i(j + 1)] -= force;
  }

  // mu = -(dW/dTheta)' dU/dW, from gW = dU/dW = weight (2/span) (zeta' <M, Im W>, zeta M).
  template <class S> void vertex_moments(RodState<S>& s, int n) const {
    const Zeta<S>& z = s.zeta[i(n)];
    const Vec3<S>& M = s.M[i(n)];
    const Vec4<S>& W = s.W[i(n)];
    const S k(d_.pull[i(n)]);
    const S m = k * z.z1 * (M[0] * W[1] + M[1] * W[2] + M[2] * W[3]), kz = k * z.z;
    const Vec4<S> g(m, kz * M[0], kz * M[1], kz * M[2]);
    s.gW[i(n)] = g;
    if (n > 0 && n < N_) {
      s.mu[i(n - 1)] += before<S>(g, W);
      s.mu[i(n)] += behind<S>(g, W);
      return;
    }
    const int e = n ? 1 : 0;
    const Vec4<S>& V = s.V[i(e)];
    const Vec4<S> Vc = conjugate<S>(V), gV = multiply<S>(g, Vc) + multiply<S>(Vc, g);
    if (e)
      s.mu[i(N_ - 1)] += before<S>(gV, V), s.end_moment[1] = behind<S>(gV, V);
    else
      s.mu[0] += behind<S>(gV, V), s.end_moment[0] = before<S>(gV, V);
  }
  // Moments on the frames before and behind a quotient W with gradient g.
  template <class S> GYROD_INLINE static Vec3<S> before(const Vec4<S>& g, const Vec4<S>& W) {
    return S(0.5) * multiply<S>(g, conjugate<S>(W)).template tail<3>();
  }
  template <class S> GYROD_INLINE static Vec3<S> behind(const Vec4<S>& g, const Vec4<S>& W) {
    return S(-0.5) * multiply<S>(conjugate<S>(W), g).template tail<3>();
  }
};

} // namespace gyrod
