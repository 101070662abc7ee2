// The discrete Cosserat rod on a staggered grid (Lang, Linn, Arnold 2011, section 3), written once as energies per
// segment and per vertex: strains (23), curvatures (24)-(26), their rates, the forces that follow, and the Jacobian of
// these forces.
//
// Everything is said in local increments: a frame p moves by dp = p c/2 with the quaternion c = (e, Theta), a turn
// Theta in material axes and a stretch e; its rate is p' = p w/2 with w = (w0, Omega). On the unit sphere e and w0
// vanish, but integrators leave it within a step, and a Rosenbrock method needs the derivative in that direction too.
// With these, for unit quaternions or not,
//   dG = G x Theta + e G + R' du,  G = R'u = conj(p) u p,
//   dW = (W c_b + conj(c_a) W)/2,  W = conj(p_a) p_b.
// At a clamped end the ghost quaternion makes W = V², V = conj(p_0) p_b or conj(p_a) p_0.
#pragma once

#include "gyrod/rod/state.hpp"
#include "gyrod/scalar.hpp"

namespace gyrod {

template <class S> GYROD_INLINE Mat3<S> cross_matrix(const Vec3<S>& u) {
  Mat3<S> E;
  E(0, 0) = E(1, 1) = E(2, 2) = S(0);
  E(2, 1) = u[0], E(0, 2) = u[1], E(1, 0) = u[2];
  E(1, 2) = -u[0], E(2, 0) = -u[1], E(0, 1) = -u[2];
  return E;
}

// Blocks (r, c), |r - c| <= reach, of a band of cells: derivatives of the forces of cell r with respect to the
// increments (q) and the rates (v) of cell c, which are e, Theta, x and w0, Omega, x'.
template <int Rows> class CellBlocks {
public:
  using Block = Eigen::Matrix<double, Rows, 7>;
  CellBlocks(int cells, int reach) : cells_(cells), reach_(reach) {
    q_.resize(std::size_t(cells) * std::size_t(2 * reach_ + 1)), v_.resize(q_.size());
  }
  Block& q(int r, int c) { return q_[slot(r, c)]; }
  Block& v(int r, int c) { return v_[slot(r, c)]; }
  const Block& q(int r, int c) const { return q_[slot(r, c)]; }
  const Block& v(int r, int c) const { return v_[slot(r, c)]; }
  int reach() const { return reach_; }
  int cells() const { return cells_; }
  int first(int r) const { return std::max(0, r - reach_); }
  int last(int r) const { return std::min(cells_ - 1, r + reach_); }
  void clear_row(int r) {
    const std::size_t from = std::size_t(r * (2 * reach_ + 1)), to = from + std::size_t(2 * reach_ + 1);
    for (std::size_t k = from; k < to; ++k) q_[k].setZero(), v_[k].setZero();
  }

private:
  std::size_t slot(int r, int c) const { return std::size_t(r * (2 * reach_ + 1) + c - r + reach_); }
  int cells_, reach_;
  std::vector<Block> q_, v_;
};

// At a clamped end of segment j: derivatives of the forces (mu, f) of cells j and j + 1 by turn and spin of the end's
// frame (its own axes), and of the moment on the clamp by these and by the increments and rates of the two cells.
struct EndBlocks {
  Eigen::Matrix<double, 6, 3> turn[2], spin[2];
  Eigen::Matrix<double, 3, 7> moment_q[2], moment_v[2];
  Mat3<double> moment_turn, moment_spin;
  void clear() {
    for (int k = 0; k < 2; ++k) turn[k].setZero(), spin[k].setZero(), moment_q[k].setZero(), moment_v[k].setZero();
    moment_turn.setZero(), moment_spin.setZero();
  }
};

class StaggeredGrid {
public:
  // Rows mu, f. Cell c holds segment c - 1 and vertex c; second neighbours only if the section is coupled.
  using Blocks = CellBlocks<6>;
  using KBlock = Blocks::Block;

  explicit StaggeredGrid(const RodDescription& d) : d_(d), N_(d.segments) {}

  const RodDescription& description() const { return d_; }

  // Frames and strains only.
  template <class S> void configuration(RodState<S>& s) const { strains(s); }

  // Internal forces and moments and those of gravity, drag and loads, from x, v, p, w of the state.
  template <class S> void forces(double t, RodState<S>& s, const EndMotion* ends) const {
    strains(s);
    curvatures(s, ends);
    stresses(s);
    for (int n = 0; n <= N_; ++n) s.f[i(n)] = (d_.tributary[i(n)] * d_.gravity).template cast<S>();
    for (int j = 0; j < N_; ++j) segment_forces(s, j);
    for (int n = 0; n <= N_; ++n)
      if (d_.weight[i(n)] > 0.0) vertex_moments(s, n);
    if (!d_.drag.empty() || !d_.spin_drag.empty()) drag_forces(s);
    for (const RodLoad& load : d_.loads) apply(load, t, s, ends);
    for (const RodSupport& k : d_.supports)
      for (int c = 0; c < 3; ++c)
        s.f[i(k.vertex)][c] -=
            S(k.stiffness[c]) * (s.x[i(k.vertex)][c] - S(k.at[c])) + S(k.damping[c]) * s.v[i(k.vertex)][c];
    for (const RodObstacle& o : d_.obstacles)
      for (int n = 0; n <= N_; ++n) s.f[i(n)] -= pressed<S>(o, n, s.x[i(n)]);
    if (d_.spins) frame_forces(s);
  }

  // Derivatives of these, at the state as `forces` left it.
  void blocks(double t, const RodState<double>& s, const EndMotion* ends, Blocks& out) const;
  // The same by the motion of a clamped end, and of the moment there.
  void end_blocks(double t, const RodState<double>& s, int e, const EndMotion& end, EndBlocks& out) const;

  // Energy of the centrifugal forces in a frame that turns.
  double centrifugal_energy(const RodState<double>& s) const {
    double V = 0.0;
    for (int n = 0; n <= N_ && d_.spins; ++n) V -= 0.5 * d_.tributary[i(n)] * d_.spin.cross(s.x[i(n)]).squaredNorm();
    for (int j = 0; j < N_ && d_.spins; ++j) V -= 0.5 * d_.J[i(j)].dot((s.R[i(j)].transpose() * d_.spin).cwiseAbs2());
    return V;
  }

  // Energy of supports and obstacles.
  double support_energy(const RodState<double>& s) const {
    double V = 0.0;
    for (const RodSupport& k : d_.supports) V += 0.5 * k.stiffness.dot((s.x[i(k.vertex)] - k.at).cwiseAbs2());
    for (const RodObstacle& o : d_.obstacles)
      for (int n = 0; n <= N_; ++n) {
        Vec3<double> normal;
        double r, e, e1, e2;
        o.law(gap<double>(o, n, s.x[i(n)], normal, r), e, e1, e2);
        V += o.length[i(n)] * e;
      }
    return V;
  }

  double strain_energy(const RodState<double>& s) const { return energy(s, true); }
  double curvature_energy(const RodState<double>& s) const { return energy(s, false); }

  // Dissipated power 2 D of internal damping, and of drag.
  double dissipation(const RodState<double>& s) const {
    double power = 0.0;
    for (int j = 0; j < N_ && d_.damped; ++j) power += 2.0 * d_.ds[i(j)] * s.Ed[i(j)].cwiseAbs2().dot(d_.cG[i(j)]);
    for (int n = 0; n <= N_ && d_.damped; ++n)
      if (d_.weight[i(n)] > 0.0) power += 2.0 * d_.weight[i(n)] * curvature_rate(s, n).cwiseAbs2().dot(d_.cK[i(n)]);
    for (const RodSupport& k : d_.supports) power += k.damping.dot(s.v[i(k.vertex)].cwiseAbs2());
    for (int j = 0; j < N_; ++j) {
      if (!d_.drag.empty())
        for (int n : {j, j + 1})
          power += 0.5 * d_.ds[i(j)] * d_.drag[i(j)].dot((s.R[i(j)].transpose() * s.v[i(n)]).cwiseAbs2());
      if (!d_.spin_drag.empty()) power += d_.ds[i(j)] * d_.spin_drag[i(j)].dot(s.w[i(j)].tail<3>().cwiseAbs2());
    }
    return power;
  }

  // Power of the loads that have no potential: all but dead constant forces.
  double load_power(double t, const RodState<double>& s, const EndMotion* ends) const {
    double power = 0.0;
    for (const RodLoad& load : d_.loads) {
      Vec3<double> F, M;
      value(load, t, F, M);
      if (load.follow || load.function)
        for (const auto& h : load.force) power += s.v[i(h.vertex)].dot(turned<double>(load, s, h, F));
      for (const auto& h : load.moment) {
        const Vec3<double> m = h.weight.cwiseProduct(M);
        if (h.segment < 0) { // on a clamp
          const EndMotion& end = ends[h.segment == -1 ? 0 : 1];
          power += end.Omega.dot(on_clamp(load, end, m));
          continue;
        }
        const Mat3<double>& R = s.R[i(h.segment)];
        power += s.w[i(h.segment)].tail<3>().dot(load.follow ? m : Vec3<double>(R.transpose() * m));
      }
    }
    return power;
  }

  template <class S> Vec3<S> curvature_rate(const RodState<S>& s, int n) const {
    const Vec3<S> h = s.W[i(n)].template tail<3>(), hd = s.Wd[i(n)].template tail<3>();
    const Zeta<S>& z = s.zeta[i(n)];
    return S(d_.kappa[i(n)]) * (z.z * hd + (z.z1 * s.Wd[i(n)][0]) * h);
  }

private:
  static constexpr std::size_t i(int n) { return std::size_t(n); }

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

  template <class S> Vec3<S> times(const Mat3<double>& C, const Vec3<S>& e) const {
    if (!d_.coupled) return {S(C(0, 0)) * e[0], S(C(1, 1)) * e[1], S(C(2, 2)) * e[2]};
    return C.template cast<S>() * e;
  }
  template <class S> static Vec3<S> twice(const Vec3<double>& c, const Vec3<S>& e) {
    return {S(2.0 * c[0]) * e[0], S(2.0 * c[1]) * e[1], S(2.0 * c[2]) * e[2]};
  }

  // F = C Gamma + 2 c Gamma', M = C K + 2 c K'; a coupled section exchanges means over half cells.
  template <class S> void stresses(RodState<S>& s) const {
    for (int j = 0; j < N_; ++j) {
      s.F[i(j)] = times<S>(d_.CG[i(j)], s.E[i(j)]);
      if (d_.damped) s.F[i(j)] += twice<S>(d_.cG[i(j)], s.Ed[i(j)]);
      if (d_.coupled)
        for (int n : {j, j + 1})
          if (d_.weight[i(n)] > 0.0) s.F[i(j)] += S(0.5) * (d_.CX[i(j)].template cast<S>() * s.K[i(n)]);
    }
    for (int n = 0; n <= N_; ++n) {
      if (!(d_.weight[i(n)] > 0.0)) continue;
      Vec3<S>& M = s.M[i(n)] = times<S>(d_.CK[i(n)], s.K[i(n)]);
      if (d_.damped) M += twice<S>(d_.cK[i(n)], curvature_rate(s, n));
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
    const Vec4<S> g = s.gW[i(n)] = Vec4<S>(m, kz * M[0], kz * M[1], kz * M[2]);
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

  template <class S> void drag_forces(RodState<S>& s) const {
    for (int j = 0; j < N_; ++j) {
      if (!d_.drag.empty())
        for (int n : {j, j + 1}) {
          const Vec3<S> local = s.R[i(j)].transpose() * s.v[i(n)];
          s.f[i(n)] -= s.R[i(j)] * Vec3<S>(twice<S>(0.25 * d_.ds[i(j)] * d_.drag[i(j)], local));
        }
      if (!d_.spin_drag.empty()) {
        const Vec3<S> Omega = s.w[i(j)].template tail<3>();
        s.mu[i(j)] -= twice<S>(0.5 * d_.ds[i(j)] * d_.spin_drag[i(j)], Omega);
      }
    }
  }

  // Centrifugal and Coriolis forces; with h = R' spin a segment turns by Omega + h.
  template <class S> void frame_forces(RodState<S>& s) const {
    const Vec3<S> w = d_.spin.template cast<S>();
    for (int n = 0; n <= N_; ++n)
      s.f[i(n)] -= S(d_.tributary[i(n)]) * Vec3<S>(w.cross(Vec3<S>(w.cross(s.x[i(n)]) + S(2) * s.v[i(n)])));
    for (int j = 0; j < N_; ++j) {
      const Vec3<S> h = s.R[i(j)].transpose() * w, Omega = s.w[i(j)].template tail<3>(), both = Omega + h;
      const Vec3<S> J = d_.J[i(j)].template cast<S>();
      s.mu[i(j)] -= J.cwiseProduct(Vec3<S>(h.cross(Omega))) + both.cross(Vec3<S>(J.cwiseProduct(both))) -
                    Omega.cross(Vec3<S>(J.cwiseProduct(Omega)));
    }
  }

  // Gap between a vertex and an obstacle, the normal there and the distance from its centre or axis.
  template <class S> static S gap(const RodObstacle& o, int n, const Vec3<S>& x, Vec3<S>& normal, S& r) {
    using std::sqrt;
    const Vec3<S> axis = o.axis.template cast<S>(), d = x - o.point.template cast<S>();
    const S thickness(o.thickness[i(n)]);
    if (o.kind == RodObstacle::plane) {
      normal = axis, r = S(1);
      return d.dot(axis) - thickness;
    }
    const Vec3<S> across = o.kind == RodObstacle::sphere ? d : Vec3<S>(d - axis * d.dot(axis));
    r = sqrt(across.dot(across));
    normal = across * (S(1) / r);
    return r - S(o.radius) - thickness;
  }
  // The force of a vertex on an obstacle.
  template <class S> static Vec3<S> pressed(const RodObstacle& o, int n, const Vec3<S>& x) {
    Vec3<S> normal;
    S r;
    const S d = gap<S>(o, n, x, normal, r);
    double e, e1, e2;
    o.law(value_of(d), e, e1, e2);
    if (e1 == 0.0) return Vec3<S>::Zero();
    const S force = S(e1) + S(e2) * (d - S(value_of(d))); // exact to first order, all that duals carry
    return normal * (S(o.length[i(n)]) * force);
  }

  static void value(const RodLoad& load, double t, Vec3<double>& F, Vec3<double>& M) {
    F = load.F, M = load.M;
    if (load.function) load.function(t, F, M);
  }

  // A moment on a clamp, in the clamp's axes.
  static Vec3<double> on_clamp(const RodLoad& load, const EndMotion& end, const Vec3<double>& m) {
    return load.follow ? m : Vec3<double>(matrix_from_quaternion<double>(end.p).transpose() * m);
  }

  // The share of a force in space axes.
  template <class S>
  static Vec3<S> turned(const RodLoad& load, const RodState<S>& s, const RodLoad::Share& h, const Vec3<double>& F) {
    const Vec3<S> f = h.weight.cwiseProduct(F).template cast<S>();
    return load.follow ? Vec3<S>(s.R[i(h.segment)] * f) : f;
  }

  template <class S> static void apply(const RodLoad& load, double t, RodState<S>& s, const EndMotion* ends) {
    Vec3<double> F, M;
    value(load, t, F, M);
    for (const auto& h : load.force) s.f[i(h.vertex)] += turned<S>(load, s, h, F);
    for (const auto& h : load.moment) {
      const Vec3<S> m = h.weight.cwiseProduct(M).template cast<S>();
      if (h.segment < 0) { // straight to what holds the end
        const int e = h.segment == -1 ? 0 : 1;
        s.end_moment[e] += on_clamp(load, ends[e], h.weight.cwiseProduct(M)).template cast<S>();
        continue;
      }
      s.mu[i(h.segment)] += load.follow ? m : Vec3<S>(s.R[i(h.segment)].transpose() * m);
    }
  }

  double energy(const RodState<double>& s, bool strain) const {
    double V = 0.0;
    for (int j = 0; j < N_ && strain; ++j) {
      V += 0.5 * d_.ds[i(j)] * s.E[i(j)].dot(d_.CG[i(j)] * s.E[i(j)]);
      if (d_.coupled) // the coupling counts with the strains
        for (int n : {j, j + 1})
          if (d_.weight[i(n)] > 0.0) V += 0.5 * d_.ds[i(j)] * s.E[i(j)].dot(d_.CX[i(j)] * s.K[i(n)]);
    }
    for (int n = 0; n <= N_ && !strain; ++n)
      if (d_.weight[i(n)] > 0.0) V += 0.5 * d_.weight[i(n)] * s.K[i(n)].dot(d_.CK[i(n)] * s.K[i(n)]);
    return V;
  }

  // --- derivatives -----------------------------------------------------------------------------------------------

  using M3 = Mat3<double>;
  using M4 = Mat4<double>;
  using M34 = Eigen::Matrix<double, 3, 4>;

  void segment_blocks(const RodState<double>& s, int j, Blocks& out) const;
  void vertex_blocks(const RodState<double>& s, int n, Blocks& out) const;
  void clamp_blocks(const RodState<double>& s, int e, const EndMotion& end, Blocks& out) const;
  void coupling_blocks(const RodState<double>& s, Blocks& out) const;
  void drag_blocks(const RodState<double>& s, Blocks& out) const;
  void load_blocks(double t, const RodState<double>& s, Blocks& out) const;
  void support_blocks(const RodState<double>& s, Blocks& out) const;
  void frame_blocks(const RodState<double>& s, Blocks& out) const;
  // Derivatives of gW with respect to W and W'.
  void gradient_derivative(const RodState<double>& s, int n, M4& gq, M4& gv) const;
  // Derivatives of the moments before and behind a quotient W with gradient g, given those of g.
  // As whole 4 x 4 products, of which the lower three rows count: these are the fast ones.
  static M4 before_derivative(const Vec4<double>& g, const Vec4<double>& W, const M4& dg) {
    const M4 R = 0.5 * quaternion_matrix_right<double>(conjugate<double>(W));
    M4 out = conjugate_columns(M4(0.5 * quaternion_matrix<double>(g)));
    out.noalias() += R * dg;
    return out;
  }
  static M4 behind_derivative(const Vec4<double>& g, const Vec4<double>& W, const M4& dg) {
    const M4 L = -0.5 * quaternion_matrix<double>(conjugate<double>(W));
    M4 out = conjugate_columns(M4(-0.5 * quaternion_matrix_right<double>(g)));
    out.noalias() += L * dg;
    return out;
  }
  static M34 rows(const M4& A) { return A.bottomRows<3>(); }
  // Adds the rows of a product to the moments of a block.
  static void add_moments(KBlock& block, const M4& a, const M4& b) {
    const M4 product = a * b;
    for (int c = 0; c < 4; ++c)
      for (int r = 0; r < 3; ++r) block(r, c) += product(r + 1, c);
  }
  template <class A> static A conjugate_columns(A a) {
    a.template rightCols<3>() *= -1.0;
    return a;
  }

  const RodDescription& d_;
  int N_;
};

} // namespace gyrod

#include "gyrod/rod/staggered_blocks.hpp"
