// The state of a rod on a staggered grid and everything computed from it.
#pragma once

#include "gyrod/rod/description.hpp"

namespace gyrod {

// Configuration, rates, strains and forces; memory is taken once.
template <class S> struct RodState {
  explicit RodState(int N)
      : x(std::size_t(N) + 1), v(x.size()), f(x.size()), K(x.size()), M(x.size()), gW(x.size()), W(x.size()),
        Wd(x.size()), V(2), Vd(2), zeta(x.size()), p(std::size_t(N)), w(p.size()), R(p.size()), u(p.size()),
        ud(p.size()), G(p.size()), y(p.size()), E(p.size()), Ed(p.size()), F(p.size()), mu(p.size()) {}
  std::vector<Vec3<S>> x, v, f, K, M; // vertices: position, velocity, force; curvature less its rest value, moment
  std::vector<Vec4<S>> gW, W, Wd;     // gradient of the energy in W
  std::vector<Vec4<S>> V, Vd;         // square roots of W at clamped ends
  std::vector<Zeta<S>> zeta;
  std::vector<Vec4<S>> p, w; // segments: quaternion, (w0, Omega)
  std::vector<Mat3<S>> R;
  std::vector<Vec3<S>> u, ud, G, y, E, Ed, F, mu; // x', its rate, R'x', R'(x')', strain less rest, rate, force, moment
  Vec3<S> end_moment[2];                          // on clamps, in the clamp's axes
};

} // namespace gyrod
