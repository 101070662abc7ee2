// Equilibria of y' = f(t, y) with y = (q, v): Newton's method on the accelerations at rest, through the linear systems
// of implicit stages and nothing else.
//
// At v = 0 the solution of (shift I - df/dy) d = (0, a) is d_q = (shift² M - dF/dq)^-1 F with F = M a: Newton's step
// for F(q) = 0, regularised by shift². A small shift leaves Newton's convergence and keeps motions that nothing holds
// finite; a large one makes the implicit Euler step of a motion that is stopped after every step (relaxation).
//
// Whole steps first: rods predict their forces themselves (`retract`), and a test of monotony with a frozen matrix does
// not know of that. Then damping after Deuflhard (2004), section 3.3: the natural level function |K^-1 F| decides, so
// that neither units nor the spread of the stiffnesses matter.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gyrod/integrate/equations.hpp"

namespace gyrod {

struct StaticOptions {
  double tolerance = 1e-11; // of the last step, over the scales
  double shift = 1.0;       // 1/s, small against the lowest frequency
  double rate = 1.0;        // 1/s, about the lowest frequency: where relaxation begins
  int iterations = 60;
  int relaxations = 400;
  int short_steps = 100;  // that end where something would pass through what it touches
  double smallest = 1e-4; // damping factor
  double largest = 1.0;   // step over the scales that one iteration may take
};

struct StaticStep {
  double size, damping, shift; // |d| over the scales, the factor taken, the shift
};

enum class StaticStatus { converged, failed, singular, not_finite };

class StaticSolver {
public:
  // `scale` of every unknown; 0 for those that are velocities.
  StaticSolver(Equations& equations, std::vector<double> scale, StaticOptions options)
      : e_(equations), scale_(std::move(scale)), o_(options), n_(e_.size()), b_(n_), d_(n_), next_(n_), bar_(n_),
        last_(n_) {
    for (double s : scale_) unknowns_ += s > 0.0;
  }

  StaticStatus newton(double t, std::vector<double>& y);

  // Newton's method without damping. It must not lead to an equilibrium that is less stable than where it began.
  StaticStatus whole_steps(double t, std::vector<double>& y);

  // The same with contacts that are soft at first, and end as stiff as they are.
  StaticStatus hardened(double t, std::vector<double>& y);

  // Steps of a motion that is stopped after each of them, until Newton's method takes over.
  StaticStatus relax(double t, std::vector<double>& y);

  std::vector<StaticStep> history;

private:
  // Whether it is as stable as the start, of which so many pivots were negative.
  StaticStatus accepted(int unstable, double shift);
  double reach(double t, const std::vector<double>& y, double part);
  void settle(double t, std::vector<double>& y);
  void advance(double t, const std::vector<double>& y, const std::vector<double>& d, double by,
               std::vector<double>& out);
  double norm(const std::vector<double>& d) const;
  double peak(const std::vector<double>& d) const;
  double distance(const std::vector<double>& a, const std::vector<double>& b) const;
  bool stalled(double size) const;

  Equations& e_;
  std::vector<double> scale_;
  StaticOptions o_;
  std::size_t n_;
  double unknowns_ = 0.0;
  std::vector<double> b_, d_, next_, bar_, last_;
};

} // namespace gyrod
