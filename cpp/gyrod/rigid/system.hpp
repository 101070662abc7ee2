// The equations of motion of rigid bodies and forces in one formulation.
//
// State: body after body, each (x, q, v, w): position (not for a pinned body), rotation coordinates, velocity of the
// centre of mass (not pinned), rotational velocities. The Jacobian is exact: the same source in dual numbers, one
// body's state at a time, so that its cost grows with the number of bodies and of forces.
#pragma once

#include <memory>
#include <vector>

#include "gyrod/linear/block_lu.hpp"
#include "gyrod/linear/solve_small.hpp"
#include "gyrod/rigid/equations.hpp"
#include "gyrod/rigid/forces.hpp"
#include "gyrod/rigid/formulations.hpp"

namespace gyrod {

// Calls g(i, j, block) for all blocks of a Jacobian. Of the pattern alone, as the factors are: compiled once, not once
// a formulation.
template <class G> void for_blocks(const BlockPattern& pattern, const double* blocks, G&& g) {
  for (int v = 0; v < pattern.nodes(); ++v) {
    g(v, v, blocks + pattern.block(v, v));
    for (int a : pattern.later(v)) {
      g(v, a, blocks + pattern.block(v, a));
      g(a, v, blocks + pattern.block(a, v));
    }
  }
}
template <class S> bool factor_shifted(const BlockPattern& pattern, const double* blocks, BlockLu<S>& lu, S shift) {
  for_blocks(pattern, blocks, [&](int i, int j, const double* block) {
    const auto to = lu.block(i, j);
    const Grid<const double> from(block, pattern.size(i), pattern.size(j));
    for (int c = 0; c < to.cols(); ++c)
      for (int r = 0; r < to.rows(); ++r) to(r, c) = (i == j && r == c ? shift : S(0)) - from(r, c);
  });
  return lu.factor();
}

template <class F> class RigidSystem final : public RigidEquations {
public:
  GYROD_COLD RigidSystem(std::vector<RigidBody> bodies, Forces forces, Vec3<double> gravity, FormulationOptions options)
      : bodies_(std::move(bodies)), forces_(std::move(forces)), gravity_(gravity), options_(options),
        motions_(bodies_.size()), wrenches_(bodies_.size()), dual_motions_(bodies_.size()),
        dual_wrenches_(bodies_.size()), acting_(bodies_.size()) {
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> links;
    for (RigidBody& b : bodies_) {
      b.inverse_moments = b.moments.cwiseInverse();
      offsets_.push_back(size_);
      const std::size_t n = (b.pinned ? 0 : 6) + F::nq + F::nv;
      size_ += n;
      sizes.push_back(int(n));
    }
    for (std::size_t f = 0; f < forces_.size(); ++f) {
      const auto& on = forces_[f]->bodies();
      for (int a : on) {
        acting_[std::size_t(a)].push_back(f);
        for (int b : on)
          if (a < b) links.emplace_back(a, b);
      }
      timed_ = timed_ || forces_[f]->explicit_time();
    }
    pattern_ = BlockPattern(sizes, links);
  }

  std::size_t size() const override { return size_; }
  std::size_t offset(int body) const override { return offsets_[std::size_t(body)]; }
  std::size_t state_size(int body) const override { return std::size_t(pattern_.size(body)); }
  bool autonomous() const override { return !timed_; }

  void rhs(double t, const double* y, double* dy) override {
    load(t, y);
    for (std::size_t b = 0; b < bodies_.size(); ++b)
      derivative(bodies_[b], y + offsets_[b], motions_[b], wrenches_[b], dy + offsets_[b]);
  }

  void time_derivative(double t, const double* y, double* ft) override {
    if (!timed_) return Equations::time_derivative(t, y, ft);
    difference_in_time(t, y, ft, scratch_);
  }

  void jacobian(double t, const double* y) override {
    prepare();
    std::fill(blocks_.begin(), blocks_.end(), 0.0);
    BodyDual s[max_directions];
    for (std::size_t b = 0; b < bodies_.size(); ++b) read_dual(y, int(b), false, s);
    for (std::size_t b = 0; b < bodies_.size(); ++b) column(t, y, int(b));
  }

  bool factor(double shift) override { return factor_shifted(pattern_, blocks_.data(), *real_, shift); }
  bool factor(Complex shift) override { return factor_shifted(pattern_, blocks_.data(), *complex_, shift); }
  void solve(double* b) override { real_->solve(b); }
  void solve_transposed(double* b) override { real_->solve_transposed(b); }
  void solve(Complex* b) override { complex_->solve(b); }

  // Velocities come last in a body's state; of their pivots, times the masses, those of a symmetric matrix are left.
  int negative_pivots() const override {
    int count = 0;
    if constexpr (F::nv == 3)
      for (std::size_t b = 0; b < bodies_.size(); ++b) {
        const int n = pattern_.size(int(b)), m = bodies_[b].pinned ? 3 : 6;
        double inverse[36];
        for (int j = 0; j < m; ++j) {
          double x[max_directions] = {};
          x[n - m + j] = j < m - 3 ? 1.0 / bodies_[b].mass : bodies_[b].inverse_moments[j - m + 3];
          real_->solve_pivot(int(b), x);
          std::copy_n(x + n - m, m, inverse + m * j);
        }
        count += negative_eigenvalues(inverse, m);
      }
    return count;
  }

  bool project(double, double* y) override {
    bool moved = false;
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      double* s = y + offsets_[b];
      const int shift = bodies_[b].pinned ? 0 : 3;
      moved = F::project(s + shift, s + 2 * shift + F::nq, options_) || moved;
    }
    return moved;
  }

  const char* trouble(double, const double* y) const override {
    for (std::size_t b = 0; b < bodies_.size(); ++b)
      if (const char* reason = F::trouble(y + offsets_[b] + (bodies_[b].pinned ? 0 : 3))) return reason;
    return nullptr;
  }

  void motion(double, const double* y, BodyMotion<double>* out) override {
    for (std::size_t b = 0; b < bodies_.size(); ++b) read(bodies_[b], y + offsets_[b], out[b]);
  }

  void residual(double, const double* y, double& position, double& velocity) override {
    position = velocity = 0.0;
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      double p = 0.0, v = 0.0;
      const double* s = y + offsets_[b];
      const int shift = bodies_[b].pinned ? 0 : 3;
      F::residual(s + shift, s + 2 * shift + F::nq, options_, p, v);
      position = std::max(position, p), velocity = std::max(velocity, v);
    }
  }

  double potential(double t, const double* y) override {
    motion(t, y, motions_.data());
    double V = 0.0;
    for (std::size_t b = 0; b < bodies_.size(); ++b) V -= bodies_[b].mass * gravity_.dot(motions_[b].x);
    for (auto& f : forces_) V += f->potential(t, motions_.data());
    return V;
  }

  int multiplier_count() const override { return F::multipliers; }
  void multipliers(double t, const double* y, double* lambda) override {
    if constexpr (F::multipliers > 0) {
      load(t, y);
      for (std::size_t b = 0; b < bodies_.size(); ++b) {
        const RigidBody& body = bodies_[b];
        Wrench<double>& w = wrenches_[b];
        const int shift = body.pinned ? 0 : 3;
        const double* s = y + offsets_[b];
        if (body.pinned) w.add_moment(w.force, body.arm);
        F::multiplier(body, s + shift, s + 2 * shift + F::nq, motions_[b].R, w.directors, w.torque, options_,
                      lambda + b * F::multipliers);
      }
    }
  }

  void dense_jacobian(double t, const double* y, double* J) override {
    jacobian(t, y);
    std::fill(J, J + size_ * size_, 0.0);
    for_blocks(pattern_, blocks_.data(), [&](int i, int j, const double* block) {
      for (int r = 0; r < pattern_.size(i); ++r)
        for (int c = 0; c < pattern_.size(j); ++c)
          J[(offsets_[std::size_t(i)] + std::size_t(r)) * size_ + offsets_[std::size_t(j)] + std::size_t(c)] =
              block[c * pattern_.size(i) + r];
    });
  }

  // Operations of one right-hand side, counted by evaluating it; of the rotation alone, moments or forces given.
  GYROD_COLD Counted::Tally operations(const double* y, bool alone) override {
    std::vector<Counted> s(size_), ds(size_);
    for (std::size_t i = 0; i < size_; ++i) s[i] = Counted::variable(y[i]);
    Counted::tally() = {};
    BodyMotion<Counted> m;
    Wrench<Counted> w;
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      if (alone) {
        const std::size_t q = offsets_[b] + (bodies_[b].pinned ? 0 : 3), v = q + F::nq + (bodies_[b].pinned ? 0 : 3);
        F::template alone<Counted>(bodies_[b], &s[q], &s[v], Counted::variable(1.0), options_, &ds[q], &ds[v]);
        continue;
      }
      read(bodies_[b], s.data() + offsets_[b], m);
      start_wrench(bodies_[b], w);
      derivative(bodies_[b], s.data() + offsets_[b], m, w, ds.data() + offsets_[b]);
    }
    return Counted::tally();
  }

private:
  // Kinematics of all bodies and what acts on them.
  void load(double t, const double* y) {
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      read(bodies_[b], y + offsets_[b], motions_[b]);
      start_wrench(bodies_[b], wrenches_[b]);
    }
    for (auto& f : forces_) f->apply(t, motions_.data(), wrenches_.data());
  }

  // Kinematics of one body from its state.
  template <class S> void read(const RigidBody& b, const S* s, BodyMotion<S>& m) const {
    const int shift = b.pinned ? 0 : 3;
    const S *q = s + shift, *v = s + 2 * shift + F::nq;
    m.R = F::template frame<S>(q);
    m.Omega = F::template spin<S>(q, v, options_);
    if (b.pinned) {
      const Vec3<S> arm = b.arm.template cast<S>();
      m.x = b.point.template cast<S>() + m.R * arm;
      m.v = m.R * m.Omega.cross(arm);
    } else {
      m.x = Part<3>::of(s);
      m.v = Part<3>::of(s + 3 + F::nq);
    }
  }

  template <class S> void start_wrench(const RigidBody& b, Wrench<S>& w) const {
    w.clear();
    w.force = (b.mass * gravity_).template cast<S>();
  }

  template <class S>
  void derivative(const RigidBody& b, const S* s, const BodyMotion<S>& m, Wrench<S>& w, S* ds) const {
    const int shift = b.pinned ? 0 : 3;
    const S *q = s + shift, *v = s + 2 * shift + F::nq;
    if (!b.pinned)
      for (int i = 0; i < 3; ++i) {
        ds[i] = m.v[i];
        ds[3 + F::nq + i] = w.force[i] / S(b.mass);
      }
    S *dq = ds + shift, *dv = ds + 2 * shift + F::nq;
    // About the fixed point of a pinned body the resultant acts at the centre of mass.
    if constexpr (F::wants_directors) {
      if (b.pinned) w.add_moment(w.force, b.arm);
      F::template derivative<S>(b, q, v, m.R, w.directors, w.torque, options_, dq, dv);
    } else {
      Vec3<S> mu = w.torque;
      if (w.loaded) mu += moment_of_directors<S>(m.R, w.directors);
      if (b.pinned) mu += b.arm.template cast<S>().cross(m.R.transpose() * w.force);
      F::template derivative<S>(b, q, v, m.R, mu, options_, dq, dv);
    }
  }

  // Column block of the Jacobian: derivatives with respect to the state of body b.
  void column(double t, const double* y, int b) {
    const std::size_t n = state_size(b);
    BodyDual s[max_directions], fixed[max_directions];
    read_dual(y, b, true, s);
    affected_.assign(1, b);
    for (std::size_t f : acting_[std::size_t(b)])
      for (int a : forces_[f]->bodies())
        if (std::find(affected_.begin(), affected_.end(), a) == affected_.end()) affected_.push_back(a);
    for (int a : affected_) start_wrench(bodies_[std::size_t(a)], dual_wrenches_[std::size_t(a)]);
    for (std::size_t f : acting_[std::size_t(b)]) forces_[f]->apply(t, dual_motions_.data(), dual_wrenches_.data());
    for (int a : affected_) {
      BodyDual state[max_directions], ds[max_directions];
      for (std::size_t i = 0; i < state_size(a); ++i) state[i] = a == b ? s[i] : BodyDual(y[offset(a) + i]);
      derivative(bodies_[std::size_t(a)], state, dual_motions_[std::size_t(a)], dual_wrenches_[std::size_t(a)], ds);
      double* block = blocks_.data() + pattern_.block(a, b);
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t r = 0; r < state_size(a); ++r) block[c * state_size(a) + r] = ds[r].d[c];
    }
    read_dual(y, b, false, fixed); // the others see this body as a constant again
  }

  // State and kinematics of body b in dual numbers, as variables or as constants.
  void read_dual(const double* y, int b, bool variable, BodyDual* s) {
    for (std::size_t i = 0; i < state_size(b); ++i) {
      const double v = y[offset(b) + i];
      s[i] = variable ? BodyDual::seed(v, int(i)) : BodyDual(v);
    }
    read<BodyDual>(bodies_[std::size_t(b)], s, dual_motions_[std::size_t(b)]);
  }

  void prepare() {
    if (real_) return;
    blocks_.resize(pattern_.storage());
    real_ = std::make_unique<BlockLu<double>>(pattern_);
    complex_ = std::make_unique<BlockLu<Complex>>(pattern_);
    affected_.reserve(bodies_.size());
  }

  std::vector<RigidBody> bodies_;
  Forces forces_;
  Vec3<double> gravity_;
  FormulationOptions options_;
  std::size_t size_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<BodyMotion<double>> motions_;
  std::vector<Wrench<double>> wrenches_;
  std::vector<BodyMotion<BodyDual>> dual_motions_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
  std::vector<std::vector<std::size_t>> acting_; // forces on each body
  bool timed_ = false;
  BlockPattern pattern_;
  std::vector<double> blocks_, scratch_;
  std::vector<int> affected_;
  std::unique_ptr<BlockLu<double>> real_;
  std::unique_ptr<BlockLu<Complex>> complex_;
};

} // namespace gyrod
