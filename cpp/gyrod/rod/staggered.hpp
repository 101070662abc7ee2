// The discrete Cosserat rod on a staggered grid with what its owner asks beyond forces: energies, powers, and the
// Jacobian of the forces.
//
// Everything is said in local increments: a frame p moves by dp = p c/2 with the quaternion c = (e, Theta), a turn
// Theta in material axes and a stretch e; its rate is p' = p w/2 with w = (w0, Omega). On the unit sphere e and w0
// vanish, but integrators leave it within a step, and a Rosenbrock method needs the derivative in that direction too.
// With these, for unit quaternions or not,
//   dG = G x Theta + e G + R' du,  G = R'u = conj(p) u p,
//   dW = (W c_b + conj(c_a) W)/2,  W = conj(p_a) p_b.
// At a clamped end the ghost quaternion makes W = V², V = conj(p_0) p_b or conj(p_a) p_0.
#pragma once

#include "gyrod/rod/staggered_forces.hpp"

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

class StaggeredGrid : public StaggeredForces<double> {
public:
  // Rows mu, f. Cell c holds segment c - 1 and vertex c; second neighbours only if the section is coupled.
  using Blocks = CellBlocks<6>;
  using KBlock = Blocks::Block;

  using StaggeredForces<double>::StaggeredForces;

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

private:
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
};

} // namespace gyrod

#include "gyrod/rod/staggered_blocks.hpp"
