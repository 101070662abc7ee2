// The discrete Cosserat rod on a staggered grid with what its owner asks beyond forces: energies, powers, and the
// Jacobian of the forces.
//
// In the increments of discretization.hpp, for unit quaternions or not,
//   dG = G x Theta + e G + R' du,  G = R'u = conj(p) u p,
//   dW = (W c_b + conj(c_a) W)/2,  W = conj(p_a) p_b.
// At a clamped end the ghost quaternion makes W = V², V = conj(p_0) p_b or conj(p_a) p_0.
#pragma once

#include <cstdio>

#include "gyrod/rod/discretization.hpp"
#include "gyrod/rod/hosted.hpp"
#include "gyrod/rod/staggered_forces.hpp"

namespace gyrod {

// At a clamped end of segment j: derivatives of the forces (mu, f) of cells j and j + 1 by turn and spin of the end's
// frame (its own axes), and of the moment on the clamp by these and by the increments and rates of the two cells.
struct EndBlocks {
  Matrix<double, 6, 3> turn[2], spin[2];
  Matrix<double, 3, 7> moment_q[2], moment_v[2];
  Mat3<double> moment_turn, moment_spin;
  void clear() {
    for (int k = 0; k < 2; ++k) turn[k].setZero(), spin[k].setZero(), moment_q[k].setZero(), moment_v[k].setZero();
    moment_turn.setZero(), moment_spin.setZero();
  }
};

// Cell c holds segment c - 1 and vertex c; second neighbours only if the section is coupled.
class StaggeredGrid final : public StaggeredForces<double, Discretization> {
  using Forces = StaggeredForces<double, Discretization>;

public:
  using KBlock = Blocks::Block;

  using Forces::Forces;

  void configuration(RodState<double>& s) const override { Forces::strains(s); }
  void forces(double t, RodState<double>& s, const EndMotion* ends) const override { Forces::forces(t, s, ends); }
  void forces(double t, RodState<Dual<1>>& s, const EndMotion* ends) const override { Forces::forces(t, s, ends); }
  void blocks(double t, const RodState<double>& s, const EndMotion* ends, Blocks& out) const override;
  void hosted(double t, const RodState<double>& s, int e, const EndMotion& end, const HostMotion& m,
              const Blocks& blocks, HostedEnd& out) const override;

  double strain_energy(const RodState<double>& s) const override { return energy(s, true); }
  double curvature_energy(const RodState<double>& s) const override { return energy(s, false); }

  double internal_dissipation(const RodState<double>& s) const override {
    double power = 0.0;
    for (int j = 0; j < N_ && d_.damped; ++j) power += 2.0 * d_.ds[i(j)] * s.Ed[i(j)].cwiseAbs2().dot(d_.cG[i(j)]);
    for (int n = 0; n <= N_ && d_.damped; ++n)
      if (d_.weight[i(n)] > 0.0) power += 2.0 * d_.weight[i(n)] * curvature_rate(s, n).cwiseAbs2().dot(d_.cK[i(n)]);
    return power;
  }

  // Homogeneity: W is linear and G quadratic in p.
  void radial(const RodState<double>& s, double* out) const override {
    for (int j = 0; j < N_; ++j) {
      Vec3<double> F = s.F[i(j)];
      if (d_.strain == Strain::stretch) F[2] = 0.0;
      out[j] = 2.0 * d_.ds[i(j)] * F.dot(s.G[i(j)]);
    }
    for (int n = 0; n <= N_; ++n) {
      if (!(d_.weight[i(n)] > 0.0)) continue;
      const double g = s.gW[i(n)].dot(s.W[i(n)]);
      if (n > 0 && n < N_)
        out[n - 1] += g, out[n] += g;
      else
        out[n ? N_ - 1 : 0] += 2.0 * g;
    }
  }

  // Between its segments, of the clamp, or of the only segment.
  Vec4<double> vertex_frame(const RodState<double>& s, const EndMotion* ends, int n) const override {
    if (n > 0 && n < N_) return (s.p[i(n - 1)] + s.p[i(n)]).normalized();
    const int e = n ? 1 : 0;
    const Vec4<double> near = s.p[i(e ? N_ - 1 : 0)].normalized();
    if (!d_.ends[e].clamped) return near;
    return ends[e].p.dot(near) < 0.0 ? Vec4<double>(-ends[e].p) : ends[e].p;
  }

  std::string folds(const std::vector<Vec4<double>>& p, const EndMotion* ends) const override {
    const double limit = d_.law.limit();
    for (int n = 1; n < N_; ++n) {
      const Vec4<double>&a = p[i(n - 1)], &b = p[i(n)];
      const double w = a.dot(b), norm = a.norm() * b.norm();
      if (!(w > limit * norm)) return fold(n, w, norm);
    }
    for (int e = 0; e < 2; ++e) {
      if (!d_.ends[e].clamped) continue;
      const Vec4<double>& b = p[i(e ? N_ - 1 : 0)];
      const double v = ends[e].p.dot(b), n2 = b.squaredNorm(), w = 2.0 * v * v - n2;
      if (!(w > limit * n2)) return fold(e ? N_ : 0, w, n2);
    }
    return {};
  }

private:
  std::string fold(int n, double w, double norm) const {
    double at = 0.0;
    for (int j = 0; j < n; ++j) at += d_.ds[i(j)];
    char text[256];
    std::snprintf(text, sizeof text,
                  "rod '%s' folds at s = %.4g: neighbouring frames turn by %.0f degrees, more than its curvature can "
                  "represent; use more segments or another curvature",
                  d_.name.c_str(), at, 360.0 / M_PI * std::acos(std::clamp(w / norm, -1.0, 1.0)));
    return text;
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
  using M34 = Matrix<double, 3, 4>;

  void segment_blocks(const RodState<double>& s, int j, Blocks& out) const;
  void vertex_blocks(const RodState<double>& s, int n, Blocks& out) const;
  void clamp_blocks(const RodState<double>& s, int e, const EndMotion& end, Blocks& out) const;
  void coupling_blocks(const RodState<double>& s, Blocks& out) const;
  // Derivatives by the motion of a clamped end, and of the moment there.
  void end_blocks(double t, const RodState<double>& s, int e, const EndMotion& end, EndBlocks& out) const;
  // Derivatives of gW with respect to W and W'.
  void gradient_derivative(const RodState<double>& s, int n, M4& gq, M4& gv) const;
  // Derivatives of the moments before and behind a quotient W with gradient g, given those of g.
  // As whole 4 x 4 products, of which the lower three rows count: these are the fast ones.
  static M4 before_derivative(const Vec4<double>& g, const Vec4<double>& W, const M4& dg) {
    const M4 R = 0.5 * quaternion_matrix_right<double>(conjugate<double>(W));
    M4 out = conjugate_columns(M4(0.5 * quaternion_matrix<double>(g)));
    out += R * dg;
    return out;
  }
  static M4 behind_derivative(const Vec4<double>& g, const Vec4<double>& W, const M4& dg) {
    const M4 L = -0.5 * quaternion_matrix<double>(conjugate<double>(W));
    M4 out = conjugate_columns(M4(-0.5 * quaternion_matrix_right<double>(g)));
    out += L * dg;
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
