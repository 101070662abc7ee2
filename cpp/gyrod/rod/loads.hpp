// What acts on a rod from outside, on vertices and on frames, however it is divided: weight, drag, loads, supports,
// and the forces of a frame of reference that turns.
#pragma once

#include "gyrod/math/scalar.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

template <class P> class RodLoads {
public:
  explicit RodLoads(const BasicRodDescription<P>& d) : d_(d), N_(d.segments) {}

  const BasicRodDescription<P>& description() const { return d_; }

protected:
  static constexpr std::size_t i(int n) { return std::size_t(n); }

  // The weight, as the first of the forces.
  template <class S> void weigh(RodState<S>& s) const {
    for (int n = 0; n <= N_; ++n) s.f[i(n)] = Vec3<P>(d_.tributary[i(n)] * d_.gravity).template cast<S>();
  }

  // Everything else, added to the forces and moments of the state.
  template <class S> void add_loads(double t, RodState<S>& s, const EndMotion* ends) const {
    if (!d_.drag.empty() || !d_.spin_drag.empty()) drag_forces(s);
    for (const RodLoad& load : d_.loads) apply(load, t, s, ends);
    for (const RodSupport& k : d_.supports)
      for (int c = 0; c < 3; ++c)
        s.f[i(k.vertex)][c] -=
            S(k.stiffness[c]) * (s.x[i(k.vertex)][c] - S(k.at[c])) + S(k.damping[c]) * s.v[i(k.vertex)][c];
    if (d_.spins) frame_forces(s);
  }

  template <class S> static Vec3<S> twice(const Vec3<P>& c, const Vec3<S>& e) {
    return {S(P(2) * c[0]) * e[0], S(P(2) * c[1]) * e[1], S(P(2) * c[2]) * e[2]};
  }

  template <class S> void drag_forces(RodState<S>& s) const {
    for (const auto& h : d_.dragged) {
      const Mat3<S>& R = s.R[i(h.frame)];
      const Vec3<S> local = R.transpose() * s.v[i(h.vertex)];
      s.f[i(h.vertex)] -= R * Vec3<S>(twice<S>(Vec3<P>(P(0.5 * h.length) * d_.drag[i(h.frame)]), local));
    }
    for (int j = 0; j < d_.frames() && !d_.spin_drag.empty(); ++j) {
      const Vec3<S> Omega = s.w[i(j)].template tail<3>();
      s.mu[i(j)] -= twice<S>(Vec3<P>(P(0.5 * d_.lengths[i(j)]) * d_.spin_drag[i(j)]), Omega);
    }
  }

  // Centrifugal and Coriolis forces; with h = R' spin a frame turns by Omega + h.
  template <class S> void frame_forces(RodState<S>& s) const {
    const Vec3<S> w = d_.spin.template cast<S>();
    for (int n = 0; n <= N_; ++n)
      s.f[i(n)] -= S(d_.tributary[i(n)]) * Vec3<S>(w.cross(Vec3<S>(w.cross(s.x[i(n)]) + S(2) * s.v[i(n)])));
    for (int j = 0; j < d_.frames(); ++j) {
      const Vec3<S> h = s.R[i(j)].transpose() * w, Omega = s.w[i(j)].template tail<3>(), both = Omega + h;
      const Vec3<S> J = d_.J[i(j)].template cast<S>();
      s.mu[i(j)] -= J.cwiseProduct(Vec3<S>(h.cross(Omega))) + both.cross(Vec3<S>(J.cwiseProduct(both))) -
                    Omega.cross(Vec3<S>(J.cwiseProduct(Omega)));
    }
  }

  // A moment on a clamp, in the clamp's axes.
  static Vec3<double> on_clamp(const RodLoad& load, const EndMotion& end, const Vec3<double>& m) {
    return load.follow ? m : Vec3<double>(matrix_from_quaternion<double>(end.p).transpose() * m);
  }

  // The share of a force in space axes.
  template <class S>
  static Vec3<S> turned(const RodLoad& load, const RodState<S>& s, const RodLoad::Share& h, const Vec3<double>& F) {
    const Vec3<S> f = h.weight.cwiseProduct(F).template cast<S>();
    return load.follow ? Vec3<S>(s.R[i(h.frame)] * f) : f;
  }

  // A place of a load, as its law sees it.
  template <class S> static RodPlace<S> place(const RodLoad::Share& h, const RodState<S>& s) {
    return {s.x[i(h.vertex)], s.v[i(h.vertex)], s.R[i(h.frame)], s.w[i(h.frame)].template tail<3>()};
  }

  template <class S> static void push(const RodLoad& load, const Vec3<double>& F, RodState<S>& s) {
    for (const auto& h : load.force) {
      const RodPush<S> p = load.law->push(load.numbers.data(), F, place(h, s));
      s.f[i(h.vertex)] += S(h.weight[0]) * p.force, s.mu[i(h.frame)] += S(h.weight[0]) * p.moment;
    }
  }

  template <class S> static void apply(const RodLoad& load, double t, RodState<S>& s, const EndMotion* ends) {
    Vec3<double> F, M;
    load.value(t, F, M);
    if (load.law) return push(load, F, s);
    for (const auto& h : load.force) s.f[i(h.vertex)] += turned<S>(load, s, h, F);
    for (const auto& h : load.moment) {
      const Vec3<S> m = h.weight.cwiseProduct(M).template cast<S>();
      if (h.frame < 0) { // straight to what holds the end
        const int e = h.frame == -1 ? 0 : 1;
        s.end_moment[e] += on_clamp(load, ends[e], h.weight.cwiseProduct(M)).template cast<S>();
        continue;
      }
      s.mu[i(h.frame)] += load.follow ? m : Vec3<S>(s.R[i(h.frame)].transpose() * m);
    }
  }

  const BasicRodDescription<P>& d_;
  int N_;
};

} // namespace gyrod
