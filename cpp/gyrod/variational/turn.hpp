// One step of one body without joints under its weight alone: three equations for the rotation, an explicit one for the
// translation. Nothing is allocated; this is the path of tops and of free bodies.
#pragma once

#include <algorithm>
#include <vector>

#include "gyrod/rigid/body.hpp"
#include "gyrod/variational/increment.hpp"

namespace gyrod::variational {

// Position and momenta of a body at a node: linear momentum in space axes, angular momentum about the centre of mass,
// or the fixed point of a pinned body, in body axes. `w`, `dx`: the last two increments, newest first.
struct BodyState {
  V3 x = V3::Zero(), P = V3::Zero(), L = V3::Zero();
  V4 r = V4::Unit(0);
  V3 w[2], dx[2];
  int known = 0; // how many of them there are

  void push(const V3& w_new, const V3& dx_new) {
    w[1] = w[0], dx[1] = dx[0], w[0] = w_new, dx[0] = dx_new;
    known = std::min(known + 1, 2);
  }
  V3 predict(const V3* list) const { return known == 2 ? V3(2.0 * list[0] - list[1]) : list[0]; }
};

// What Newton's method did: its residuals are over the inertia, so that they are angles and lengths over the size of
// the system.
struct Newton {
  static constexpr int most = 30;
  int iterations = 0;
  double before = 0.0; // the last change
  // A body would turn by more than half a turn in the step: which way is not known any more.
  bool turned = false;
  // The momentum falls with the turn at the solution: it is one beyond the largest momentum that a step can have, and
  // not the one that the motion would take.
  bool folded = false;
  bool keep = false; // the history, of a step that has failed before
  std::vector<double> history{};

  void begin(bool keep_history) {
    iterations = 0, turned = folded = false, keep = keep_history;
    history.clear();
  }
  // Whether a change of the increments, which are of this size, was the last one. Convergence is quadratic: the square
  // of the change is the error that is left; it is to be at rounding of the increments. Where rounding of the
  // equations keeps changes from falling further, that is enough.
  bool done(double change, double size) {
    const bool stuck = iterations > 1 && change <= 1e-9 && change > 0.1 * before;
    before = change;
    return change * change <= 1e-17 * size + 1e-32 || stuck;
  }
  // The same with a matrix that was made before: the error that is left follows from how fast changes fall. `slow`
  // asks for a new one, and goes before.
  bool slow(double change) const { return iterations > 1 && change > 0.1 * before && change > 1e-9; }
  // `far`: how far away nodes are, whose positions are rounded.
  bool settled(double change, double size, double far) {
    const double rate = iterations > 1 ? std::min(change / before, 1.0) : 1.0;
    const bool stuck = rate > 0.3 && change <= 1e-11 * size + 1e-14 * (1.0 + far);
    before = change;
    return change * rate <= 1e-16 * size + 1e-32 || stuck;
  }
  void note(double residual) {
    if (keep) history.push_back(residual);
  }
  bool accepts(const V3& w) { return !(turned = turned || !(w.squaredNorm() < 1.0)); }
};

struct Step {
  double h = 0.0;
  bool nodes = false; // potential at the nodes
};

template <bool directors> class VariationalTurn {
public:
  static bool solve(const RigidBody& b, double sigma, const Step& s, const V3& f, const V3& L, V3& w, Newton& n) {
    const V3 J = b.moments - V3::Constant(sigma);
    const double h = s.h, largest = b.moments.maxCoeff();
    // The base vectors' midpoint is linear in both ends: their potential there is that at the nodes.
    const bool curved = !directors && !s.nodes && b.pinned;
    V3 known = h * L;
    if (!curved && b.pinned) known += (0.5 * h * h) * b.arm.cross(f);
    for (n.iterations = 0; n.iterations < Newton::most;) {
      const Increment e(w);
      V3 residual = kinetic<directors>(e, J, sigma).begin - known;
      M3 K = kinetic_matrix<directors>(e, J, sigma);
      if (curved) {
        const Weight u = weight(e, f, b.arm);
        residual -= (h * h) * u.begin;
        K -= (h * h) * weight_matrix(e, f, b.arm, u.g);
      }
      n.note(residual.norm() / largest);
      V3 d;
      const double det = solve3(K, residual, d);
      w -= d;
      ++n.iterations;
      if (n.done(d.norm(), w.norm())) return !(n.folded = !(det > 0.0));
      if (!(w.squaredNorm() < 1e6)) return false;
    }
    return false;
  }

  // Momentum at the end of the step; f_end is the weight in body axes there. Returns h² times the energy at the middle.
  static double finish(const RigidBody& b, double sigma, const Step& s, const V3& f, const V3& f_end, const V3& w,
                       V3& L) {
    const V3 J = b.moments - V3::Constant(sigma);
    const Increment e(w);
    double energy = kinetic_energy<directors>(e, J, sigma);
    L = kinetic<directors>(e, J, sigma).end / s.h;
    if (!b.pinned) return energy;
    if (directors || s.nodes) {
      L += (0.5 * s.h) * b.arm.cross(f_end);
      return energy - s.h * s.h * 0.5 * (f + f_end).dot(b.arm);
    }
    const Weight u = weight(e, f, b.arm);
    L += s.h * u.end;
    return energy - s.h * s.h * u.g.dot(b.arm);
  }
};

// The schemes that conserve energy and momentum, written for the Hamiltonian 1/2 pi'J^-1 pi with pi bilinear in
// coordinates and momenta: mean values and increments (quaternion: Nielsen and Krenk 2012, Betsch and Siebert 2009;
// directors: Krenk and Nielsen 2014, Betsch and Steinmann 2001). The constraints follow by themselves:
//   quaternion   q' = 1/2 q_mid Omega: increment with w = h Omega/4, spatial momentum + h R (a x g), R the half turn
//   directors    R' = R_mid Omega^:    increment with z/c = h Omega/2, spatial momentum + h (R_mid a) x F
// with Omega = J^-1 of the mean of pi at both ends.
template <bool directors> class ConservingTurn {
public:
  static bool solve(const RigidBody& b, double, const Step& s, const V3& f, const V3& L, V3& w, Newton& n) {
    const double h = s.h, largest = b.moments.maxCoeff();
    const V3& J = b.moments;
    // u = h Omega/2 or h Omega/4. In body axes of the middle: pi_end - E' pi_begin = impulse, pi_end = 2 J Omega - pi.
    V3 u = directors ? V3(w * (2.0 / (1.0 - w.dot(w)))) : w;
    const double factor = directors ? 4.0 : 8.0;
    for (n.iterations = 0; n.iterations < Newton::most;) {
      const double m = u.dot(u), q = 1.0 + m;
      const V3 Ju = factor * J.cwiseProduct(u);
      V3 residual;
      M3 K;
      const M3 outer = u * u.transpose();
      if constexpr (directors) {
        // (1 + u^)(4 J u - h pi) = (1 - u^) h pi + h² impulse: both sides times the inverse of (1 - u^) are R_end'.
        const V3 torque = b.pinned ? impulse(b, f, u, q) : V3(V3::Zero());
        residual = Ju + u.cross(Ju) - (2.0 * h) * L - (h * h) * torque;
        K = M3::Identity() + skew<double>(u);
        K = factor * (K * J.asDiagonal());
        K -= skew<double>(Ju);
        if (b.pinned) K -= (h * h) * impulse_matrix(b, f, u, q);
      } else {
        // Times 1 + |u|²: (1 - |u|²) x + 2 u (u.x) ± 2 u x x turns by half the step.
        const V3 known = (2.0 * h) * L;
        residual = (1.0 - m) * (Ju - known) + (2.0 * u.dot(Ju - known)) * u + 2.0 * u.cross(Ju);
        const V3 d = Ju - known;
        M3 inner = 2.0 * outer + 2.0 * skew<double>(u);
        inner.add_to_diagonal(1.0 - m);
        K = factor * (inner * J.asDiagonal());
        K += 2.0 * (u * d.transpose() - d * u.transpose()) - 2.0 * skew<double>(Ju);
        K.add_to_diagonal(2.0 * u.dot(d));
        if (b.pinned) {
          const V3 t = impulse(b, f, u, q);
          residual -= (h * h) * t;
          K -= (h * h) * impulse_matrix(b, f, u, q);
        }
      }
      n.note(residual.norm() / largest);
      V3 d;
      solve3(K, residual, d);
      u -= d;
      ++n.iterations;
      if (n.done(d.norm(), u.norm())) {
        // the quarter angle from the half angle
        w = directors ? V3(u / (1.0 + std::sqrt(1.0 + u.dot(u)))) : u;
        return true;
      }
      if (!(u.squaredNorm() < 1e6)) return false;
    }
    return false;
  }

  static double finish(const RigidBody& b, double, const Step& s, const V3& f, const V3& f_end, const V3& w, V3& L) {
    const V3 u = directors ? V3(w * (2.0 / (1.0 - w.dot(w)))) : w;
    const V3 Omega = u * ((directors ? 2.0 : 4.0) / s.h);
    const double energy = 0.5 * Omega.dot(b.moments.cwiseProduct(Omega)) * s.h * s.h;
    // Turned, not 2 J Omega - L, which would keep rounding errors for ever.
    const Increment e(w);
    const M3 back = e.half().transpose();
    L = back * L;
    if (!b.pinned) {
      L = back * L;
      return energy;
    }
    if constexpr (directors) {
      L = back * L + s.h * (0.5 * (back * (back * b.arm) + b.arm)).cross(f_end);
      return energy - s.h * s.h * 0.5 * (f + f_end).dot(b.arm);
    } else {
      const V3 g = weight(e, f, b.arm).g;
      L = back * (L + s.h * b.arm.cross(g));
      return energy - s.h * s.h * g.dot(b.arm);
    }
  }

private:
  // Of the weight, in the form that the residual wants.
  static V3 impulse(const RigidBody& b, const V3& f, const V3& u, double q) {
    if constexpr (directors) {
      // (1 + u^) ((E' + 1)/2 a) x E'f with E the Cayley map of u
      const V3 end = cayley_transposed(u, f, q), half = 0.5 * (cayley_transposed(u, b.arm, q) + b.arm);
      const V3 t = half.cross(end);
      return t + u.cross(t);
    } else
      return q * b.arm.cross(weight(Increment(u), f, b.arm).g);
  }
  static M3 impulse_matrix(const RigidBody& b, const V3& f, const V3& u, double q) {
    if constexpr (directors) {
      const V3 end = cayley_transposed(u, f, q), half = 0.5 * (cayley_transposed(u, b.arm, q) + b.arm);
      const V3 t = half.cross(end);
      const M3 D = skew<double>(half) * cayley_matrix(u, f, q) - 0.5 * (skew<double>(end) * cayley_matrix(u, b.arm, q));
      return D + skew<double>(u) * D - skew<double>(t);
    } else {
      const V3 g = weight(Increment(u), f, b.arm).g;
      M3 G = (2.0 * (u * f.transpose() - f * u.transpose()) + 2.0 * skew<double>(f)) / q;
      G.add_to_diagonal(2.0 * u.dot(f) / q);
      G -= 2.0 * (g * u.transpose());
      return skew<double>(b.arm) * G;
    }
  }
  // E'x = ((1 - |u|²) x + 2 u (u.x) - 2 u x x)/(1 + |u|²), and its derivative by u.
  static V3 cayley_transposed(const V3& u, const V3& x, double q) {
    return ((2.0 - q) * x + (2.0 * u.dot(x)) * u - 2.0 * u.cross(x)) / q;
  }
  static M3 cayley_matrix(const V3& u, const V3& x, double q) {
    M3 D = 2.0 * (u * x.transpose() - x * u.transpose()) + 2.0 * skew<double>(x);
    D.add_to_diagonal(2.0 * u.dot(x));
    return (D - 2.0 * cayley_transposed(u, x, q) * u.transpose()) / q;
  }
};

} // namespace gyrod::variational
