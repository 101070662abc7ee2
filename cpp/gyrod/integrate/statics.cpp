#include "gyrod/integrate/statics.hpp"

namespace gyrod {

StaticStatus StaticSolver::newton(double t, std::vector<double>& y) {
  settle(t, y);
  last_ = y;
  if (whole_steps(t, y) == StaticStatus::converged) return StaticStatus::converged;
  y = last_;
  if (e_.soften(1.0)) {
    if (hardened(t, y) == StaticStatus::converged) return StaticStatus::converged;
    y = last_;
  }
  double damping = 1.0, before = 0.0, bar = 0.0, taken = 1.0;
  for (int k = 0; k < o_.iterations; ++k) {
    e_.rhs(t, y.data(), b_.data());
    e_.jacobian(t, y.data());
    if (!e_.factor(o_.shift)) return StaticStatus::singular;
    d_ = b_;
    e_.solve(d_.data());
    const double size = norm(d_);
    if (!std::isfinite(size)) return StaticStatus::not_finite;
    if (k > 0) { // the factor that the last two steps suggest
      const double moved = distance(bar_, d_);
      const double guess = moved > 0.0 ? before * bar / (moved * size) * taken : 1.0;
      damping = std::min(1.0, guess);
    }
    damping = std::min(damping, o_.largest / std::max(peak(d_), 1e-300));
    if (size <= o_.tolerance) {
      advance(t, y, d_, 1.0, y);
      history.push_back({size, 1.0, o_.shift});
      return e_.trouble(t, y.data()) ? StaticStatus::failed : StaticStatus::converged;
    }
    bool reduced = false;
    while (true) {
      damping *= reach(t, y, damping);
      e_.rhs(t, next_.data(), bar_.data());
      e_.solve(bar_.data());
      bar = norm(bar_);
      const bool folded = e_.trouble(t, next_.data()) != nullptr;
      if (!folded && std::isfinite(bar) && bar <= (1.0 - 0.25 * damping) * size) break;
      double guess = 0.5 * damping;
      if (!folded && std::isfinite(bar)) {
        double excess = 0.0;
        for (std::size_t i = 0; i < n_; ++i)
          if (scale_[i] > 0.0) {
            const double w = (bar_[i] - (1.0 - damping) * d_[i]) / scale_[i];
            excess += w * w;
          }
        guess = std::min(guess, 0.5 * size * damping * damping / std::sqrt(excess / unknowns_));
      }
      // The end of the digits: the step is small and no longer shrinks.
      if (size < 1e3 * o_.tolerance && stalled(size)) {
        advance(t, y, d_, 1.0, y);
        history.push_back({size, 1.0, o_.shift});
        return StaticStatus::converged;
      }
      if (reduced && damping <= o_.smallest) {
        history.push_back({size, damping, o_.shift});
        return StaticStatus::failed;
      }
      damping = std::max(guess, 0.1 * damping), reduced = true;
    }
    history.push_back({size, damping, o_.shift});
    y = next_, before = size, taken = damping;
    if (damping == 1.0 && bar <= o_.tolerance) {
      advance(t, y, bar_, 1.0, y);
      return StaticStatus::converged;
    }
  }
  return StaticStatus::failed;
}

StaticStatus StaticSolver::whole_steps(double t, std::vector<double>& y) {
  int unstable = 0;
  double best = 0.0, before = 0.0, shift = o_.shift;
  int short_steps = 0; // that end where something would pass through what it may touch
  for (int k = 0; k < std::min(o_.iterations, 30) + short_steps; ++k) {
    e_.rhs(t, y.data(), b_.data());
    e_.jacobian(t, y.data());
    if (!e_.factor(shift)) return StaticStatus::singular;
    d_ = b_;
    e_.solve(d_.data());
    const double size = norm(d_);
    if (!std::isfinite(size)) return StaticStatus::not_finite;
    if (k == 0) unstable = e_.negative_pivots();
    // What nothing holds is moved by rounding: when steps were as small as that, a larger one says no more.
    if (k > 0 && best <= 1e3 * o_.tolerance && size > best) return accepted(unstable, shift);
    best = k == 0 ? size : std::min(best, size);
    if (k >= 6 + short_steps && size > 30.0 * best) return StaticStatus::failed;
    // Where a force sets in smoothly, steps shrink by less than usual on the way to the end of the digits.
    const bool still = !history.empty() && size > 0.5 * history.back().size;
    const bool done = size <= o_.tolerance || (size < 1e3 * o_.tolerance && still);
    const double far = reach(t, y, std::min(1.0, o_.largest / std::max(peak(d_), 1e-300)));
    if (far < 1.0 && ++short_steps > o_.short_steps) return StaticStatus::failed;
    y.swap(next_);
    history.push_back({size, far, shift});
    if (e_.trouble(t, y.data())) return StaticStatus::failed;
    if (done) return accepted(unstable, shift);
    // What nothing holds is moved by rounding over the square of the shift. Where that is all that is left of a step,
    // a larger shift quiets it; what is held then converges linearly, by two digits or more a step.
    if (k > 1 && size < 1e-3 && size > 0.3 * before && shift < 0.03 * o_.rate) shift *= 10.0;
    before = size;
  }
  return StaticStatus::failed;
}

StaticStatus StaticSolver::hardened(double t, std::vector<double>& y) {
  std::vector<double> reached = y;
  double factor = 0.1, step = std::sqrt(10.0);
  StaticStatus status = StaticStatus::failed;
  for (; factor > 1e-9; factor *= 0.1) { // from where contacts are so soft that it converges
    e_.soften(factor);
    y = reached;
    if ((status = whole_steps(t, y)) == StaticStatus::converged) break;
  }
  for (reached = y; status == StaticStatus::converged && factor < 1.0;) {
    const double next = std::min(factor * step, 1.0);
    e_.soften(next);
    y = reached;
    if (whole_steps(t, y) == StaticStatus::converged)
      reached = y, factor = next, step = std::min(step * step, 10.0);
    else if ((step = std::sqrt(step)) < 1.05)
      status = StaticStatus::failed;
  }
  e_.soften(1.0);
  return status;
}

StaticStatus StaticSolver::relax(double t, std::vector<double>& y) {
  settle(t, y);
  double shift = 3.0 * o_.rate;
  bool tried = false;
  for (int k = 0; k < o_.relaxations; ++k) {
    e_.rhs(t, y.data(), b_.data());
    e_.jacobian(t, y.data());
    double size = 0.0;
    for (int tries = 0;; ++tries) {
      if (tries == 60) return StaticStatus::failed;
      const bool sound = e_.factor(shift) && e_.negative_pivots() == 0;
      if (sound) {
        d_ = b_;
        e_.solve(d_.data());
        size = norm(d_);
        advance(t, y, d_, 1.0, next_);
      }
      if (sound && std::isfinite(size) && peak(d_) <= 0.3 && !e_.trouble(t, next_.data()) &&
          e_.reach(t, y.data(), next_.data()) >= 1.0)
        break;
      shift *= 2.0;
    }
    y = next_;
    history.push_back({size, 0.0, shift});
    // Where Newton's method only wanders along what nothing holds, which rounding moves, the motion has come to rest.
    if (tried && size <= o_.tolerance && shift <= o_.rate) return StaticStatus::converged;
    shift = std::max(peak(d_) < 0.1 ? 0.5 * shift : shift, 0.03 * o_.rate);
    if (shift <= 0.1 * o_.rate && size < 1e-2) {
      const std::vector<double> before = y;
      const StaticStatus s = newton(t, y);
      if (s == StaticStatus::converged) return s;
      y = before, shift = o_.rate, tried = true;
    }
  }
  return StaticStatus::failed;
}

StaticStatus StaticSolver::accepted(int unstable, double shift) {
  if (shift > o_.shift && !e_.factor(10.0 * o_.shift)) return StaticStatus::singular;
  return e_.negative_pivots() <= unstable ? StaticStatus::converged : StaticStatus::failed;
}

// next_: y moved along a part of d_, or along the part of that which is returned, that nothing be passed through.
double StaticSolver::reach(double t, const std::vector<double>& y, double part) {
  advance(t, y, d_, part, next_);
  const double far = e_.reach(t, y.data(), next_.data());
  if (far < 1.0) advance(t, y, d_, part * far, next_);
  return std::min(far, 1.0);
}

void StaticSolver::settle(double t, std::vector<double>& y) {
  for (std::size_t i = 0; i < n_; ++i)
    if (scale_[i] == 0.0) y[i] = 0.0;
  e_.project(t, y.data());
}

void StaticSolver::advance(double t, const std::vector<double>& y, const std::vector<double>& d, double by,
                           std::vector<double>& out) {
  e_.retract(t, y.data(), d.data(), by, out.data());
  for (std::size_t i = 0; i < n_; ++i)
    if (scale_[i] == 0.0) out[i] = 0.0;
}

double StaticSolver::norm(const std::vector<double>& d) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < n_; ++i)
    if (scale_[i] > 0.0) sum += d[i] / scale_[i] * d[i] / scale_[i];
  return std::sqrt(sum / unknowns_);
}

double StaticSolver::peak(const std::vector<double>& d) const {
  double most = 0.0;
  for (std::size_t i = 0; i < n_; ++i)
    if (scale_[i] > 0.0) most = std::max(most, std::abs(d[i]) / scale_[i]);
  return most;
}

double StaticSolver::distance(const std::vector<double>& a, const std::vector<double>& b) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < n_; ++i)
    if (scale_[i] > 0.0) sum += (a[i] - b[i]) / scale_[i] * (a[i] - b[i]) / scale_[i];
  return std::sqrt(sum / unknowns_);
}

bool StaticSolver::stalled(double size) const {
  const std::size_t k = history.size();
  return k >= 1 && size > 0.1 * history[k - 1].size;
}

} // namespace gyrod
