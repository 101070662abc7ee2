// The state of a rod and everything computed from it.
#pragma once

#include "gyrod/math/scalar.hpp"
#include "gyrod/rod/description.hpp"

namespace gyrod {

// Configuration, rates, strains and forces; memory is taken once.
template <class S> struct RodState {
  template <class P> GYROD_COLD explicit RodState(const BasicRodDescription<P>& d);
  std::vector<Vec3<S>> x, v, f; // vertices: position, velocity, force
  std::vector<Vec3<S>> K, M;    // curvature less its rest value, moment
  std::vector<Vec4<S>> p, w;    // frames: quaternion, (w0, Omega)
  std::vector<Mat3<S>> R;
  std::vector<Vec3<S>> mu;                    // moment on a frame, material axes
  std::vector<Vec3<S>> u, ud, G, y, E, Ed, F; // x', its rate, R'x', R'(x')', strain less rest, rate, force
  Vec3<S> end_moment[2];                      // on clamps, in the clamp's axes
  // of a staggered grid: gradient of the energy in W; square roots of W at clamped ends
  std::vector<Vec4<S>> gW, W, Wd, V, Vd;
  std::vector<Zeta<S>> zeta;
  // of elements: gradient of the energy in the quaternions of nodes; rate of curvature
  std::vector<Vec4<S>> gp;
  std::vector<Vec3<S>> Kd;
};

template <class S>
template <class P>
RodState<S>::RodState(const BasicRodDescription<P>& d)
    : x(std::size_t(d.segments) + 1), v(x.size()), f(x.size()), K(std::size_t(d.bends())), M(K.size()),
      p(std::size_t(d.frames())), w(p.size()), R(p.size()), mu(p.size()), u(std::size_t(d.segments)), ud(u.size()),
      G(u.size()), y(u.size()), E(u.size()), Ed(u.size()), F(u.size()) {
  if (d.degree)
    gp.resize(p.size()), Kd.resize(u.size());
  else
    gW.resize(x.size()), W.resize(x.size()), Wd.resize(x.size()), V.resize(2), Vd.resize(2), zeta.resize(x.size());
}

extern template RodState<double>::RodState(const RodDescription&); // rods.cpp
extern template RodState<Dual<1>>::RodState(const RodDescription&);

} // namespace gyrod
