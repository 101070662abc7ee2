// What an integrator sees, and all it sees: a system of ordinary differential equations y' = f(t, y).
//
// Rules for a system:
//  1. `size` and `rhs` are required. Everything else has a default.
//  2. Stiff methods need `jacobian` (evaluate and keep df/dy), `factor` (shift I - df/dy, real and complex kept apart)
//     and `solve` (in place). They may be called in any order after `jacobian`.
//  3. `time_derivative` is df/dt where `jacobian` was evaluated last; the default says that time does not appear
//     explicitly.
//  4. `project` moves y back to the manifold on which the exact solution stays and says whether it changed anything.
//  5. `trouble` names a reason why the solution cannot be continued from here (a coordinate singularity), or null.
//  6. `quasistatic` asks for the balance of forces at rest: what is led as a function of time stands still.
//  7. `lanes` > 1 says that the state is that of several systems side by side, component by component; their errors
//     are judged one by one, and the largest counts.
//  8. No call may allocate after the first one of its kind.
//  9. `share` lends threads (null: none any more), which may be used inside of each call; what comes out is the same.
// 10. `accepted` is called at the start and after each accepted step. It may change what the state remembers (true: it
//     did, and the right-hand side may have jumped); from then on `horizon` is the longest sensible step. `overshoot`
//     is negative where a step has gone too far past a jump: it is taken back, and made to end where this was zero.
// 11. `rest` says that y is at rest: what depends on the way to there is counted from it and, if wanted, remembered in
//     it first. `reach` is the largest part of the way to another state at rest on which nothing passes through what
//     it may touch.
// 12. `impacts` lists what touches where contacts are hard, or is so near that it could within `time` under its weight:
//     forces that act there are numbers of the state, which the right-hand side applies and nothing but an integrator
//     changes; a Jacobian that follows knows what they do. `revisit` finds gaps and velocities of the same at another
//     state.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include "gyrod/linear/threads.hpp"
#include "gyrod/math/matrix.hpp"
#include "gyrod/math/rotation.hpp"

namespace gyrod {

// A point and the rigid surface that it touches. Vectors are in axes of that surface.
struct Impact {
  std::size_t at;                     // where the state has the force on the point; behind it what the contact has cost
  std::size_t contact, station;       // for `revisit`
  double gap, slack;                  // touching from this gap on
  Vec3<double> normal;                // from the surface
  Vec3<double> velocity;              // of the point against the surface
  Vec3<double> carried;               // what of the force does work for bodies, as a velocity
  double friction, kinetic, stribeck; // at rest, when it slips fast, the speed over which it falls
  double restitution, slow;           // and below which speed there is none
  static constexpr std::size_t memory = 6; // force, then the energy that friction and impacts took, and that of bodies
};

class Equations {
public:
  virtual ~Equations() = default;

  virtual std::size_t size() const = 0;
  virtual void rhs(double t, const double* y, double* dy) = 0;
  virtual std::size_t lanes() const { return 1; }

  virtual bool autonomous() const { return true; }
  virtual void time_derivative(double, const double*, double* ft) {
    for (std::size_t i = 0; i < size(); ++i) ft[i] = 0.0;
  }

  virtual void jacobian(double, const double*) { throw std::logic_error("this system has no Jacobian"); }
  // false: the matrix is singular to working precision
  [[nodiscard]] virtual bool factor(double) { throw std::logic_error("this system has no Jacobian"); }
  [[nodiscard]] virtual bool factor(Complex) { throw std::logic_error("this system has no Jacobian"); }
  virtual void solve(double*) {}
  virtual void solve(Complex*) {}
  // Of the transposed of the real matrix factored last: for gradients.
  virtual void solve_transposed(double*) { throw std::logic_error("this system has no transposed solutions"); }

  // For differential-algebraic systems M y' = f: the diagonal of M, zeros and ones, and the index of each component;
  // null for ordinary differential equations. `factor` is then of shift M - df/dy.
  virtual const double* mass() const { return nullptr; }
  virtual const int* index() const { return nullptr; }

  virtual bool project(double, double*) { return false; }
  virtual const char* trouble(double, const double*) const { return nullptr; }

  virtual bool accepted(double, double*) { return false; }
  virtual double horizon() const { return std::numeric_limits<double>::infinity(); }
  virtual double overshoot(double, const double*) { return std::numeric_limits<double>::infinity(); }

  virtual void impacts(double, const double*, double, std::vector<Impact>&) {}
  virtual void revisit(double, const double*, std::vector<Impact>&) {}

  virtual void quasistatic(bool) {}
  virtual void rest(double, double*, bool) {}
  virtual double reach(double, const double*, const double*) { return std::numeric_limits<double>::infinity(); }
  // Stiffness of contacts times a factor, for statics on the way to 1; false: there are none.
  virtual bool soften(double) { return false; }
  virtual void share(Threads* threads) { threads_ = threads; }
  Threads* threads() const { return threads_; }
  // out = y moved along a part of a tangent d, on the manifold: straight and projected, or along the curve that keeps
  // what is stiff. `out` may be y.
  virtual void retract(double t, const double* y, const double* d, double by, double* out) {
    for (std::size_t i = 0; i < size(); ++i) out[i] = y[i] + by * d[i];
    project(t, out);
  }
  // Of the real matrix factored last, scaled to be symmetric at rest: how many of its eigenvalues are negative on what
  // the constraints allow. Of null-space forms, which statics takes.
  virtual int negative_pivots() const { return 0; }

protected:
  // df/dt by central differences. Runs begin at t = 0: nobody's function is asked for a time before that.
  void difference_in_time(double t, const double* y, double* ft, std::vector<double>& scratch) {
    scratch.resize(size());
    const double d = 1.5e-8 * std::max(1.0, std::abs(t)), low = t >= 0.0 ? std::max(t - d, 0.0) : t - d;
    rhs(low, y, scratch.data());
    rhs(t + d, y, ft);
    for (std::size_t i = 0; i < size(); ++i) ft[i] = (ft[i] - scratch[i]) / (t + d - low);
  }

private:
  Threads* threads_ = nullptr;
};

} // namespace gyrod
