// A rod in the state of a system: where its unknowns are, its masses, and its equations of motion between the forces
// of its grid and the rates of its state.
//
// State: q = p and x of one cell after the other, and then its velocities in the same order; what is held is left out.
// On the staggered grid that is (x_0), p_1/2, x_1, p_3/2, x_2, ... Frames may have other coordinates: see turning.hpp.
#pragma once

#include "gyrod/rod/state.hpp"
#include "gyrod/rod/turning.hpp"

namespace gyrod {

template <class P> struct RodChain {
  GYROD_COLD explicit RodChain(BasicRodDescription<P> description, Turning coordinates = {})
      : d(std::move(description)), N(d.segments), form(coordinates) {
    for (int n = 0, at = 0; n <= N; ++n) {
      const int j = d.frame_of(n);
      p_at.push_back(j >= 0 && !d.holds(j) ? at : -1);
      if (p_at.back() >= 0) at += form.coordinates();
      const bool held = (n == 0 && d.ends[0].held) || (n == N && d.ends[1].held);
      x_at.push_back(held ? -1 : at);
      if (!held) at += 3;
      nq = at;
    }
    for (int n = 0, at = nq; n <= N; ++n) {
      w_at.push_back(turns(n) ? at : -1);
      if (turns(n)) at += form.velocities();
      v_at.push_back(moves(n) ? at : -1);
      if (moves(n)) at += 3;
      size = at;
    }
    for (int e = 0; e < 2; ++e) ends[e] = d.ends[e].at;
    begin = turns(0) || moves(0) ? 0 : 1;
    last = turns(N) || moves(N) ? N : N - 1;
    prepare();
  }

  // What follows from the description; again after its numbers have changed.
  void prepare() {
    d.finish();
    factor_mass();
  }

  // Whether frames are (p; Omega), or (p; p') as they are, on the unit sphere or not. Lanes have nothing but the first:
  // the compiler need not see others there.
  bool plain() const { return !std::is_same_v<P, double> || form.plain(); }
  bool absolute() const { return std::is_same_v<P, double> && form.raw(d.held); }
  // Whether cell n has a frame, a position that is free.
  bool turns(int n) const { return p_at[std::size_t(n)] >= 0; }
  bool moves(int n) const { return x_at[std::size_t(n)] >= 0; }

  template <class S> void gather(RodState<S>& s, const S* y) const {
    const std::size_t lead = std::size_t(d.cell_of(0)); // cells before the first frame
    for (int n = 0; n <= N; ++n) {
      const std::size_t i = std::size_t(n);
      if (x_at[i] >= 0) {
        s.x[i] = Part<3>::of(y + x_at[i]), s.v[i] = Part<3>::of(y + v_at[i]);
      } else {
        const EndMotion& e = ends[n ? 1 : 0];
        s.x[i] = e.x.template cast<S>(), s.v[i] = e.v.template cast<S>();
      }
      if (!turns(n)) continue;
      const std::size_t j = i - lead;
      if (plain()) {
        s.p[j] = Part<4>::of(y + p_at[i]);
        s.w[j] = Vec4<S>(S(0), y[w_at[i]], y[w_at[i] + 1], y[w_at[i] + 2]);
      } else if (absolute()) {
        s.p[j] = Part<4>::of(y + p_at[i]);
        s.w[j] = (S(2) / s.p[j].dot(s.p[j])) * multiply<S>(conjugate<S>(s.p[j]), Part<4>::of(y + w_at[i]));
      } else {
        read<S>(y, i, j, s.p, &s.w);
      }
    }
    for (int e = 0; e < 2 && d.degree; ++e)
      if (d.ends[e].clamped) hold(s, e);
  }

  // A frame that is free, whatever its coordinates are, on the side of the one before.
  template <class S>
  void read(const S* y, std::size_t i, std::size_t j, std::vector<Vec4<S>>& p, std::vector<Vec4<S>>* w) const {
    if constexpr (!is_lanes<S>) {
      Vec3<S> Omega;
      form.read<S>(y + p_at[i], y + w_at[i], p[j], Omega);
      if (form.kind != Coordinates::quaternion && j > 0 && turns(int(i) - 1) && value_of(p[j].dot(p[j - 1])) < 0.0)
        p[j] = -p[j];
      if (w) (*w)[j] = Vec4<S>(S(0), Omega[0], Omega[1], Omega[2]);
    }
  }

  // A frame that is held, on the side of its neighbour: elements interpolate between quaternions.
  template <class S> void hold(RodState<S>& s, int e) const {
    const std::size_t j = std::size_t(e ? N : 0), next = e ? j - 1 : 1;
    const Vec3<double>& Omega = ends[e].Omega;
    s.p[j] = ends[e].p.template cast<S>();
    s.w[j] = Vec4<S>(S(0), S(Omega[0]), S(Omega[1]), S(Omega[2]));
    const S side = s.p[j].dot(s.p[next]);
    if constexpr (is_lanes<S>) {
      S sign(1.0);
      for (int lane = 0; lane < S::width; ++lane)
        if (side[lane] < 0.0) sign.set(lane, -1.0);
      s.p[j] *= sign;
    } else if (value_of(side) < 0.0) {
      s.p[j] = -s.p[j];
    }
  }

  // alpha with p'' = p alpha/2 (absolute), or (0, Omega').
  template <class S> Vec4<S> spin(const RodState<S>& s, int j, const FormulationOptions& options) const {
    const Vec3<P>&J = d.J[std::size_t(j)], &I = d.inverse_J[std::size_t(j)];
    const Vec4<S>& w = s.w[std::size_t(j)];
    const Vec3<S>& mu = s.mu[std::size_t(j)];
    Vec4<S> a;
    if (absolute()) {
      const S n = s.p[std::size_t(j)].dot(s.p[std::size_t(j)]), inverse = S(1) / n, square = inverse * inverse;
      a[1] = (square * mu[0] - S(J[2] - J[1]) * w[2] * w[3]) * S(I[0]) - w[0] * w[1];
      a[2] = (square * mu[1] - S(J[0] - J[2]) * w[3] * w[1]) * S(I[1]) - w[0] * w[2];
      a[3] = (square * mu[2] - S(J[1] - J[0]) * w[1] * w[2]) * S(I[2]) - w[0] * w[3];
      a[0] = S(-0.5) * w.dot(w);
      if (options.baumgarte_omega > 0.0)
        a[0] = a[0] - S(2.0 * options.baumgarte_r) * w[0] -
               S(options.baumgarte_omega * options.baumgarte_omega) * (S(1) - inverse);
    } else {
      a[0] = S(0);
      a[1] = (mu[0] - S(J[2] - J[1]) * w[2] * w[3]) * S(I[0]);
      a[2] = (mu[1] - S(J[0] - J[2]) * w[3] * w[1]) * S(I[1]);
      a[3] = (mu[2] - S(J[1] - J[0]) * w[1] * w[2]) * S(I[2]);
    }
    return a;
  }

  // y' from the forces of the state, which become accelerations.
  template <class S> void finish(RodState<S>& s, const S* y, S* dy, const FormulationOptions& options) const {
    const std::size_t lead = std::size_t(d.cell_of(0));
    accelerate(inertial(s.f));
    for (int n = 0; n <= N; ++n) {
      const std::size_t i = std::size_t(n);
      if (x_at[i] >= 0) Part<3>::put(dy + x_at[i], s.v[i]), Part<3>::put(dy + v_at[i], s.f[i]);
      if (!turns(n)) continue;
      const std::size_t j = i - lead;
      const Vec4<S> a = spin<S>(s, int(j), options);
      const Vec4<S>& p = s.p[j];
      if (absolute()) {
        for (int k = 0; k < 4; ++k) dy[p_at[i] + k] = y[w_at[i] + k];
        Part<4>::put(dy + w_at[i], Vec4<S>(S(0.5) * multiply<S>(p, a)));
      } else if (!plain()) {
        if constexpr (!is_lanes<S>)
          form.rates<S>(y + p_at[i], y + w_at[i], a.template tail<3>(), options, dy + p_at[i], dy + w_at[i]);
      } else {
        const S h0 = S(0.5) * s.w[j][1], h1 = S(0.5) * s.w[j][2], h2 = S(0.5) * s.w[j][3];
        S* dq = dy + p_at[i];
        dq[0] = -(p[1] * h0 + p[2] * h1 + p[3] * h2);
        dq[1] = p[0] * h0 + (p[2] * h2 - p[3] * h1);
        dq[2] = p[0] * h1 + (p[3] * h0 - p[1] * h2);
        dq[3] = p[0] * h2 + (p[1] * h1 - p[2] * h0);
        for (int k = 0; k < 3; ++k) dy[w_at[i] + k] = a[k + 1];
      }
    }
  }

  // Forces less the inertia of moving ends that a blended mass couples to their neighbours.
  template <class S> std::vector<Vec3<S>>& inertial(std::vector<Vec3<S>>& f) const {
    if (d.blended)
      for (int e = 0; e < 2; ++e)
        if (d.ends[e].held) {
          const std::size_t next = std::size_t(e ? N - 1 : 1), link = std::size_t(e ? N - 1 : 0);
          f[next] -= S(d.off[link]) * ends[e].a.template cast<S>();
        }
    return f;
  }

  // M^-1 f on the free vertices.
  template <class S> void accelerate(std::vector<Vec3<S>>& f) const {
    const int from = moves(0) ? 0 : 1, to = moves(N) ? N : N - 1;
    for (int n = from + 1; n <= to && d.blended; ++n)
      f[std::size_t(n)] -= S(ratio[std::size_t(n)]) * f[std::size_t(n - 1)];
    for (int n = from; n <= to; ++n) f[std::size_t(n)] *= S(inverse[std::size_t(n)]);
    for (int n = to - 1; n >= from && d.blended; --n)
      f[std::size_t(n)] -= S(ratio[std::size_t(n + 1)]) * f[std::size_t(n + 1)];
  }

  BasicRodDescription<P> d;
  int N;
  Turning form;                              // coordinates of frames
  int nq = 0, size = 0, begin = 0, last = 0; // begin, last: cells that have something free
  EndMotion ends[2];
  std::vector<int> x_at, p_at, v_at, w_at; // offsets of vertex and frame of cell n in the rod's state, or -1
  std::vector<P> pivot, inverse, ratio;    // LDL' of the tridiagonal mass of the free vertices

private:
  void factor_mass() {
    pivot.assign(std::size_t(N) + 1, P(1)), ratio.assign(std::size_t(N) + 1, P(0));
    for (int n = 0, before = -1; n <= N; ++n) {
      if (x_at[std::size_t(n)] < 0) continue;
      pivot[std::size_t(n)] = d.mass[std::size_t(n)];
      if (before >= 0 && d.blended) {
        ratio[std::size_t(n)] = d.off[std::size_t(n - 1)] / pivot[std::size_t(before)];
        pivot[std::size_t(n)] -= ratio[std::size_t(n)] * d.off[std::size_t(n - 1)];
      }
      before = n;
    }
    inverse.resize(pivot.size());
    for (std::size_t n = 0; n < pivot.size(); ++n) inverse[n] = P(1) / pivot[n];
  }
};

} // namespace gyrod
