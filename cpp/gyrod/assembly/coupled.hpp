// Bodies and the rods that they hold as one system of equations. The rods act on the bodies as a force; in implicit
// stages their cells are eliminated first and leave a dynamic stiffness between the bodies.
#pragma once

#include "gyrod/integrate/composite.hpp"
#include "gyrod/mechanism/model.hpp"
#include "gyrod/rod/equations.hpp"

namespace gyrod {

// Rods as a force on the bodies that hold them.
class RodGuest final : public ForceElement {
public:
  struct Bound { // set by `Coupled` before anything is asked
    const double* y = nullptr;
    double* dy = nullptr; // null unless rates are asked for
  };
  RodGuest(RodEquations& rods, const Bound& state) : rods_(rods), state_(state) {}
  const std::vector<int>& bodies() const override { return rods_.hosts(); }
  bool explicit_time() const override { return !rods_.autonomous(); }
  void apply(double t, const BodyMotion<double>* m, Wrench<double>* w) const override {
    const std::vector<int>& hosts = rods_.hosts();
    share_all(rods_.threads(), hosts.size(), 32, [&](std::size_t h) {
      const BodyMotion<double>& b = m[hosts[h]];
      rods_.host(int(h), {b.x, b.v, b.R * b.Omega, b.R});
    });
    rods_.act(t, state_.y, state_.dy);
    share_all(rods_.threads(), hosts.size(), 32, [&](std::size_t h) {
      Vec3<double> torque, force;
      rods_.wrench(int(h), torque, force);
      w[hosts[h]].force += force, w[hosts[h]].torque += m[hosts[h]].R.transpose() * torque;
    });
  }
  void apply(double, const BodyMotion<BodyDual>*, Wrench<BodyDual>*) const override {}
  bool by_guests() const override { return true; }

private:
  RodEquations& rods_;
  const Bound& state_; // of the rods
};

class Coupled final : public Equations, public HostTies {
public:
  explicit Coupled(RodEquations& rods) : rods_(rods) {}

  // What the mechanism needs of the rods: their force and the inertia of the ends.
  void prepare(MechanismModel& m) {
    m.forces.push_back(std::make_shared<RodGuest>(rods_, state_));
    m.met = rods_.met();
    m.lumps.resize(m.bodies.size());
    for (int r = 0; r < rods_.rods(); ++r)
      for (int e = 0; e < 2; ++e) {
        const RodDescription& d = rods_.rod(r);
        const RodEnd& end = d.ends[e];
        if (end.host < 0) continue;
        const std::size_t n = std::size_t(e ? d.segments : 0);
        Lump& lump = m.lumps[std::size_t(end.host)];
        lump.add(d.mass[n], end.point);
        if (d.degree && end.clamped) lump.turn(d.J[n], matrix_from_quaternion<double>(end.turn)); // its node turns too
      }
    if (rods_.ties()) m.ties = this;
  }
  void carry(MechanismEquations& m) {
    bodies_ = &m, at_ = m.size(), motions_.resize(m.model().bodies.size());
    algebraic_.add(m), algebraic_.add(rods_);
  }

  // The state that the mechanism is asked about next.
  void bind(const double* y, double* dy = nullptr) { state_ = {y + at_, dy ? dy + at_ : nullptr}; }
  // Ends of the rods where the bodies are, with their accelerations: found for the state, or those that are stated.
  void place(double t, const double* y, bool stated = false) {
    bind(y);
    accelerations_.resize(6 * motions_.size());
    if (stated)
      bodies_->stated_accelerations(t, y, accelerations_.data());
    else
      bodies_->accelerations(t, y, accelerations_.data());
    bodies_->host_motion(t, y, motions_.data());
    for (std::size_t h = 0; h < rods_.hosts().size(); ++h) {
      const std::size_t b = std::size_t(rods_.hosts()[h]);
      const BodyMotion<double>& m = motions_[b];
      const double* z = accelerations_.data() + 6 * b;
      rods_.host(int(h), {m.x, m.v, m.R * m.Omega, m.R, {z[0], z[1], z[2]}, m.R * Vec3<double>(z[3], z[4], z[5])});
    }
  }

  std::size_t size() const override { return at_ + rods_.size(); }
  bool autonomous() const override { return bodies_->autonomous() && rods_.autonomous(); }
  void rhs(double t, const double* y, double* dy) override {
    bind(y, dy); // rods fill their part while their forces are in the cache
    bodies_->rhs(t, y, dy);
    rods_.rates(y + at_, dy + at_);
  }
  void time_derivative(double t, const double* y, double* ft) override {
    if (autonomous()) return Equations::time_derivative(t, y, ft);
    difference_in_time(t, y, ft, scratch_);
  }
  void jacobian(double t, const double* y) override {
    bind(y);
    bodies_->jacobian(t, y);
    if (rods_.ties()) place(t, y, true); // held strains feel accelerations
    rods_.jacobian(t, y + at_);
    if (!rods_.met_others()) return;
    bodies_->meet(rods_.met());
    bodies_->jacobian(t, y);
  }
  bool factor(double shift) override { return factor_with(shift, real_); }
  bool factor(Complex shift) override { return factor_with(shift, complex_); }
  void solve(double* b) override { solve_with(b, real_); }
  void solve(Complex* b) override { solve_with(b, complex_); }
  void solve_transposed(double* b) override {
    rods_.expand_transposed(b + at_, real_.hosts, real_.ties);
    bodies_->solve_transposed_with_guests(b, real_.hosts, real_.ties);
    rods_.reduce_transposed(b + at_, real_.hosts, real_.ties);
  }

  bool project(double t, double* y) override {
    bind(y);
    own_ = y + at_;
    const bool moved = rods_.project(t, y + at_);
    return bodies_->project(t, y) || moved; // with the ties
  }
  const char* trouble(double t, const double* y) const override {
    const char* reason = bodies_->trouble(t, y);
    return reason ? reason : rods_.trouble(t, y + at_);
  }
  void retract(double t, const double* y, const double* d, double by, double* out) override {
    host(t, y);
    rods_.mark();
    bodies_->loosen(true);
    bodies_->retract(t, y, d, by, out); // first, for the ends that they hold
    bodies_->loosen(false);
    host(t, out);
    rods_.retract(t, y + at_, d + at_, by, out + at_);
    if (rods_.ties()) project(t, out);
  }
  const double* mass() const override { return algebraic_.mass(); }
  const int* index() const override { return algebraic_.index(); }
  bool accepted(double t, double* y) override {
    if (!rods_.contacts() && !rods_.crossings() && !rods_.slides()) return false;
    host(t, y);
    return rods_.accepted(t, y + at_);
  }
  double horizon() const override { return rods_.horizon(); }
  double overshoot(double t, const double* y) override {
    if (!rods_.contacts()) return std::numeric_limits<double>::infinity();
    host(t, y);
    return rods_.overshoot(t, y + at_);
  }
  void impacts(double t, const double* y, double time, std::vector<Impact>& out) override {
    if (!rods_.contacts()) return;
    host(t, y);
    std::size_t i = out.size();
    rods_.impacts(t, y + at_, time, out);
    for (; i < out.size(); ++i) out[i].at += at_;
  }
  void revisit(double t, const double* y, std::vector<Impact>& them) override {
    if (them.empty()) return;
    host(t, y);
    rods_.revisit(t, y + at_, them);
  }
  void quasistatic(bool on) override { bodies_->quasistatic(on), rods_.quasistatic(on); }
  bool soften(double factor) override { return rods_.soften(factor); }
  void rest(double t, double* y, bool remember) override {
    host(t, y);
    rods_.rest(t, y + at_, remember);
  }
  double reach(double t, const double* y, const double* to) override {
    if (!rods_.contacts() && !rods_.crossings()) return std::numeric_limits<double>::infinity();
    host(t, to);
    rods_.aim(t, to + at_);
    host(t, y);
    return rods_.reach(t, y + at_);
  }
  void share(Threads* threads) override {
    Equations::share(threads);
    bodies_->share(threads), rods_.share(threads);
  }
  int negative_pivots() const override { return rods_.negative_pivots() + bodies_->negative_pivots(); }

  int ties() const override { return rods_.ties(); }
  Tie tie(int i) const override { return rods_.tie(i); }
  TieLinks tie_links() const override { return rods_.tie_links(); }
  void tie_row(int i, int row, Matrix<double, 6, 1>& g) const override { rods_.tie_row(i, row, g); }
  double tie_value(int i, int row) const override { return rods_.tie_value(i, row); }
  double tie_compliance(int i, int row, int j, int column) const override {
    return rods_.tie_compliance(i, row, j, column);
  }
  double measure_ties(Level level, double t, const BodyMotion<double>* bodies) override {
    host(bodies);
    return rods_.measure_ties(level == gap, t, state_.y);
  }
  void release_ties(Level level, const double* mu) override {
    if (level == second) return rods_.release_ties(mu);
    rods_.move_ties(level == gap, mu, own_);
  }

  // Ends of the rods where the bodies are.
  void host(double t, const double* y) {
    bodies_->host_motion(t, y, motions_.data());
    host(motions_.data());
  }

private:
  void host(const BodyMotion<double>* bodies) {
    for (std::size_t h = 0; h < rods_.hosts().size(); ++h) {
      const BodyMotion<double>& m = bodies[rods_.hosts()[h]];
      rods_.host(int(h), {m.x, m.v, m.R * m.Omega, m.R});
    }
  }
  // What bodies and rods tell each other in a stage.
  template <class S> struct Exchange {
    std::vector<HostBlock<S>> blocks;
    TieBlocks<S> tie_blocks;
    std::vector<HostVector<S>> hosts;
    std::vector<Vec3<S>> ties;
  };
  template <class S> bool factor_with(S shift, Exchange<S>& x) {
    if (!rods_.factor(shift)) return false;
    rods_.host_blocks(x.blocks);
    rods_.tie_blocks(x.tie_blocks);
    return bodies_->factor_with_guests(shift, x.blocks, x.tie_blocks);
  }
  template <class S> void solve_with(S* b, Exchange<S>& x) {
    rods_.reduce(b + at_, x.hosts, x.ties);
    bodies_->solve_with_guests(b, x.hosts, x.ties);
    rods_.expand(b + at_, x.hosts, x.ties);
  }

  RodEquations& rods_;
  MechanismEquations* bodies_ = nullptr;
  std::size_t at_ = 0; // where the rods' state begins
  AlgebraicParts algebraic_;
  RodGuest::Bound state_;
  std::vector<BodyMotion<double>> motions_;
  double* own_ = nullptr; // the same, while it may be moved
  Exchange<double> real_;
  Exchange<Complex> complex_;
  std::vector<double> scratch_, accelerations_;
};

} // namespace gyrod
