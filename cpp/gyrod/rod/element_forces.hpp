// The forces of rod elements, one element after the other.
//
// S is the scalar of the state, P that of stiffness, damping and masses, as on the staggered grid.
#pragma once

#include "gyrod/rod/element_kernel.hpp"
#include "gyrod/rod/loads.hpp"

namespace gyrod {

template <int p, class P, class Base = RodLoads<P>> class ElementForces : public Base {
public:
  static constexpr int nodes = p + 1;
  template <class S> using Kernel = ElementKernel<p, S>;

  explicit ElementForces(const BasicRodDescription<P>& d) : Base(d), count_(d.segments / p) {}

  // Internal forces and moments and those of gravity, drag and loads, from x, v, p, w of the state.
  template <class S> void forces(double t, RodState<S>& s, const EndMotion* ends) const {
    typename Kernel<S>::Parameters c;
    run(t, s, ends, [&](int e) -> const auto& {
      fill<S>(e, c, [](S& to, const P& x) { to = S(x); });
      return c;
    });
  }

protected:
  using Base::d_, Base::N_, Base::i;

  // The same where parameters(e) of an element are known.
  template <class S, class F> void run(double t, RodState<S>& s, const EndMotion* ends, F&& parameters) const {
    using K = Kernel<S>;
    typename K::State o;
    typename K::Values values;
    Vec3<S> f[nodes];
    Vec4<S> gp[nodes];
    this->weigh(s);
    for (Vec4<S>& g : s.gp) g.setZero();
    for (int e = 0; e < count_; ++e) {
      const typename K::Parameters& c = parameters(e);
      for (int a = 0; a < nodes; ++a) {
        const std::size_t n = i(p * e + a);
        o.x[a] = s.x[n], o.p_[a] = s.p[n];
        if (d_.damped) o.v[a] = s.v[n], o.w[a] = s.w[n];
      }
      K::strains(c, o, values);
      K::stresses(c, values);
      K::forces(c, values, f, gp);
      for (int a = 0; a < nodes; ++a) s.f[i(p * e + a)] += f[a], s.gp[i(p * e + a)] += gp[a];
    }
    finish(t, s, ends);
  }

  // Numbers of element e, each by put(where, what).
  template <class S, class Put> void fill(int e, typename Kernel<S>::Parameters& c, Put&& put) const {
    double h = 0.0;
    for (int k = 0; k < p; ++k) h += d_.ds[i(p * e + k)];
    c.damped = d_.damped, c.coupled = d_.coupled, c.strain = d_.strain;
    put(c.slope, P(2.0 / h));
    for (int k = 0; k < p; ++k) {
      const std::size_t g = i(p * e + k);
      put(c.weight[k], P(d_.quadrature[g]));
      auto& o = c.point[k];
      for (int r = 0; r < 3; ++r) {
        for (int l = 0; l < 3; ++l)
          put(o.CG(r, l), d_.CG[g](r, l)), put(o.CK(r, l), d_.CK[g](r, l)), put(o.CX(r, l), d_.CX[g](r, l));
        put(o.cG[r], d_.cG[g][r]), put(o.cK[r], d_.cK[g][r]), put(o.G0[r], d_.G0[g][r]), put(o.K0[r], d_.K0[g][r]);
      }
    }
  }

  template <class S> void frames(RodState<S>& s) const {
    for (std::size_t n = 0; n < s.p.size(); ++n) s.R[n] = matrix_from_quaternion<S>(s.p[n]);
  }

  // Moments from the gradient, and what acts from outside.
  template <class S> void finish(double t, RodState<S>& s, const EndMotion* ends) const {
    for (std::size_t n = 0; n < s.p.size(); ++n) {
      const Vec4<S>&q = s.p[n], &g = s.gp[n]; // -Im(conj(p) g)/2
      s.mu[n] = S(-0.5) * Vec3<S>(q[0] * g[1] - g[0] * q[1] + q[3] * g[2] - q[2] * g[3],
                                  q[0] * g[2] - g[0] * q[2] + q[1] * g[3] - q[3] * g[1],
                                  q[0] * g[3] - g[0] * q[3] + q[2] * g[1] - q[1] * g[2]);
    }
    if (d_.framed()) frames(s);
    this->add_loads(t, s, ends);
    for (int e = 0; e < 2; ++e)
      if (d_.ends[e].clamped) s.end_moment[e] = s.mu[i(e ? N_ : 0)];
  }

  int count_; // elements
};

// Neighbouring nodes of an element that turn by less than this cosine² of half the angle are no reason to look closer:
// together they turn by less than half a turn.
template <int p> double near_enough() { return std::pow(std::cos(M_PI / (2 * p)), 2); }

} // namespace gyrod
