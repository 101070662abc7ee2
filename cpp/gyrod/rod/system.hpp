// The equations of motion of rods in the null-space form (x, p; x', Omega) or the absolute form (x, p; x', p').
//
// Implicit stages use the second-order structure: with dq = (shift - D)^-1 (b_q + T dv) the linear system
//   (shift I - df/dy) (dq, dv) = (b_q, b_v)
// becomes one for dv alone, of one 6 x 6 (7 x 7 in absolute form) block a cell, block tridiagonal along the rod. Cells
// of all rods are the nodes of one graph with one elimination.
//
// An end that a body holds has no unknowns of its own: its vertex and its frame move with the body, its mass is part of
// the body's inertia. In the graph the body is two nodes (turn and place; spin and velocity) that are left when all
// cells are gone: what remains there is a dynamic stiffness between bodies, which the mechanism adds to its own.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/rigid/formulations.hpp"
#include "gyrod/rod/chain.hpp"
#include "gyrod/rod/constraints.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/hosted.hpp"
#include "gyrod/rod/staggered.hpp"
#include "gyrod/rod/strings.hpp"

namespace gyrod {

// Constrained: rods whose strains may be held; three more unknowns in a cell, the increments of lambda.
template <bool Absolute, bool Constrained = false> class RodSystem final : public RodEquations {
  static_assert(!(Absolute && Constrained));
  static constexpr int turn = Absolute ? 4 : 3, B = turn + 3 + (Constrained ? 3 : 0);
  static constexpr bool own_blocks = !Absolute && !Constrained; // the grid writes its blocks where they are used
  static constexpr bool hosting = own_blocks;                   // serves ends that bodies hold
  template <class S> using Local = Eigen::Matrix<S, 4, turn>;
  using KBlocks = CellBlocks<B>;

  using Chain = RodChain<double, Absolute>;

  struct Rod : Chain {
    using Chain::d, Chain::N, Chain::x_at;

    explicit Rod(RodDescription description)
        : Chain(std::move(description)), grid(d), s(N), dual(N), blocks(own_blocks ? 1 : N + 1, d.coupled ? 2 : 1),
          k(N + 1, d.coupled ? 2 : 1), alpha(std::size_t(N)), p(std::size_t(N)), w(std::size_t(N)),
          norm(std::size_t(N)) {
      for (const RodEnd& end : d.ends) timed = timed || bool(end.move);
      for (const RodLoad& l : d.loads) timed = timed || bool(l.function);
      timed = timed || bool(d.stretch);
      rest = d.G0;
      predicted.resize(std::size_t(N)), kept.resize(std::size_t(N));
      if constexpr (Constrained)
        if (d.held) {
          for (int n = 0; n <= N; ++n)
            free_mass.push_back(x_at[std::size_t(n)] >= 0 ? this->inverse[std::size_t(n)] : 0.0);
          hold = std::make_unique<HeldStrains<double>>(d, free_mass);
          hold_dual = std::make_unique<HeldStrains<D>>(d, free_mass);
          acceleration.resize(free_mass.size());
        }
    }

    // Cell number k from an end, -1: there is none.
    int cell(int e, int k) const { return e ? (k <= N ? N - k : -1) : (k <= N ? k : -1); }

    int node = 0;       // number of its first cell in the graph
    std::size_t at = 0; // of its state in y
    StaggeredGrid grid;
    RodState<double> s;
    using D = Dual<1>; // one direction at a time: a test's oracle, quick to compile
    RodState<D> dual;
    StaggeredGrid::Blocks blocks;
    KBlocks k;
    int port[2] = {-1, -1}; // the host of an end among all hosts
    HostedEnd hosted[2];
    Vec3<double> before[2];                    // where the ends were when they were marked
    std::vector<Vec3<double>> rest;            // G0 without stretch
    std::vector<Vec3<double>> predicted, kept; // R'x' as `retract` has predicted it; forces meanwhile
    std::vector<double> reached;               // positions where that was
    bool timed = false;
    std::vector<Vec4<double>> alpha, p, w; // at the last Jacobian
    std::vector<double> norm;
    std::vector<double> free_mass; // inverse masses, 0 where held
    std::vector<Vec3<double>> acceleration;
    std::unique_ptr<HeldStrains<double>> hold;
    std::unique_ptr<HeldStrains<D>> hold_dual;
  };

public:
  RodSystem(std::vector<RodDescription> rods, FormulationOptions options, std::vector<RodString> strings = {})
      : options_(options), strings_(std::move(strings)) {
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> links;
    for (RodDescription& d : rods) {
      rods_.push_back(std::make_unique<Rod>(std::move(d)));
      Rod& r = *rods_.back();
      r.at = size_, size_ += std::size_t(r.size);
      r.node = int(sizes.size());
      const int cells = r.N + 1 - r.begin;
      for (int c = 0; c < cells; ++c) {
        sizes.push_back(B);
        for (int reach = 1; reach <= r.k.reach() && reach <= c; ++reach)
          links.emplace_back(r.node + c - reach, r.node + c);
      }
      timed_ = timed_ || r.timed;
      for (const RodEnd& end : r.d.ends)
        if (end.host >= 0) hosts_.push_back(end.host);
    }
    if (!hosting && !strings_.empty()) throw std::invalid_argument("this form of rods has no cables and tendons");
    for (const RodString& piece : strings_) {
      std::vector<int> nodes;
      for (const StringPoint& p : piece.ends)
        if (p.rod >= 0)
          for (int c : {p.segment, p.segment + 1})
            if (const Rod& r = *rods_[std::size_t(p.rod)]; c >= r.begin) nodes.push_back(r.node + c - r.begin);
      for (int a : nodes)
        for (int b : nodes)
          if (a < b) links.emplace_back(a, b);
      timed_ = timed_ || bool(piece.function);
    }
    std::sort(hosts_.begin(), hosts_.end());
    hosts_.erase(std::unique(hosts_.begin(), hosts_.end()), hosts_.end());
    if (!hosting && !hosts_.empty()) throw std::invalid_argument("this form of rods cannot be held by bodies");
    motions_.resize(hosts_.size());
    cells_ = int(sizes.size());
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      sizes.insert(sizes.end(), 2, B);
      links.emplace_back(place_node(int(h)), speed_node(int(h)));
    }
    for (auto& part : rods_)
      for (int e = 0; e < 2; ++e) {
        Rod& r = *part;
        if (r.d.ends[e].host < 0) continue;
        r.port[e] = int(std::lower_bound(hosts_.begin(), hosts_.end(), r.d.ends[e].host) - hosts_.begin());
        for_cells(r, e, [&](int, int c) {
          links.emplace_back(r.node + c - r.begin, place_node(r.port[e]));
          links.emplace_back(r.node + c - r.begin, speed_node(r.port[e]));
        });
        if (e && r.port[0] >= 0) joined_.emplace(r.port[0], r.port[1]), joined_.emplace(r.port[1], r.port[0]);
        joined_.emplace(r.port[e], r.port[e]);
      }
    pattern_ = BlockPattern(sizes, links, {}, hosts_.empty() ? -1 : cells_);
  }

  std::size_t size() const override { return size_; }
  bool autonomous() const override { return !timed_; }
  int rods() const override { return int(rods_.size()); }
  const RodDescription& rod(int r) const override { return rods_[std::size_t(r)]->d; }
  std::size_t offset(int r) const override { return rods_[std::size_t(r)]->at; }
  void revise(int r, const RodNumbers& numbers) override {
    Rod& o = *rods_[std::size_t(r)];
    for_numbers(o.d, numbers, [](auto& to, const double* from) {
      for (std::size_t k = 0; from && k < to.size(); ++k) from = read(to[k], from);
    });
    if (numbers.gravity) read(o.d.gravity, numbers.gravity);
    if (numbers.damped) o.d.damped = *numbers.damped != 0.0;
    o.prepare();
    o.rest = o.d.G0;
    for (std::size_t n = 0; n < o.free_mass.size(); ++n) o.free_mass[n] = o.x_at[n] >= 0 ? o.inverse[n] : 0.0;
  }
  const char* apart() const override {
    if (!own_blocks) return "the rods are in absolute coordinates, or some of their strains are held";
    if (!hosts_.empty() || !strings_.empty()) return "bodies hold a rod, or a cable or tendon pulls at one";
    if (timed_) return "something is a function of time";
    for (const auto& r : rods_)
      if (!r->d.obstacles.empty()) return "a rod may touch an obstacle";
    return nullptr;
  }
  RodLayout layout(int r) const override {
    const Rod& o = *rods_[std::size_t(r)];
    return {o.p_at, o.w_at, o.x_at, o.v_at};
  }

  void rhs(double t, const double* y, double* dy) override {
    act(t, y);
    rates(y, dy);
  }

  const std::vector<int>& hosts() const override { return hosts_; }
  std::vector<std::vector<int>> parties() const override {
    std::vector<std::vector<int>> out;
    for (const auto& r : rods_) {
      std::vector<int> bodies;
      for (const RodEnd& end : r->d.ends)
        if (end.host >= 0 && std::find(bodies.begin(), bodies.end(), end.host) == bodies.end())
          bodies.push_back(end.host);
      if (!bodies.empty()) out.push_back(std::move(bodies));
    }
    return out;
  }
  void host(int h, const HostMotion& m) override {
    motions_[std::size_t(h)] = m;
    const Vec4<double> p = spurrier_klumpp<double>(m.R);
    for (auto& r : rods_)
      for (int e = 0; e < 2; ++e) {
        if (r->port[e] != h) continue;
        const RodEnd& end = r->d.ends[e];
        EndMotion& to = r->ends[e];
        const Vec3<double> arm = m.R * end.point, swing = m.omega.cross(arm);
        to.x = m.x + arm, to.v = m.v + swing;
        to.a = m.a + m.alpha.cross(arm) + m.omega.cross(swing);
        to.p = multiply<double>(p, end.frame);
        to.Omega = matrix_from_quaternion<double>(to.p).transpose() * m.omega;
      }
  }
  void mark() override {
    for (auto& r : rods_)
      for (int e = 0; e < 2; ++e) r->before[e] = r->ends[e].x;
  }
  void act(double t, const double* y) override {
    for (auto& r : rods_) {
      move_ends(*r, t);
      r->template gather<double>(r->s, y + r->at);
      balance<double>(*r, r->s, t);
    }
    if constexpr (hosting)
      for (const RodString& piece : strings_) {
        const StringState k = string_state(piece, t);
        for (int e = 0; e < 2; ++e)
          if (const StringPoint& p = piece.ends[e]; p.rod >= 0)
            string_force(p, e ? Vec3<double>(-k.force) : k.force, rods_[std::size_t(p.rod)]->s);
      }
  }
  void wrench(int h, Vec3<double>& torque, Vec3<double>& force) const override {
    torque.setZero(), force.setZero();
    const HostMotion& m = motions_[std::size_t(h)];
    for (const auto& r : rods_)
      for (int e = 0; e < 2; ++e) {
        if (r->port[e] != h) continue;
        const Vec3<double>& f = r->s.f[std::size_t(e ? r->N : 0)];
        force += f;
        torque += (m.R * r->d.ends[e].point).cross(f);
        if (r->d.ends[e].clamped) torque += matrix_from_quaternion<double>(r->ends[e].p) * r->s.end_moment[e];
      }
  }
  void rates(const double* y, double* dy) override {
    for (auto& r : rods_) r->template finish<double>(r->s, y + r->at, dy + r->at, options_);
  }

  void quasistatic(bool on) override {
    still_ = on;
    for (auto& r : rods_) // what moved before must not be remembered
      for (int e = 0; e < 2; ++e)
        if (r->port[e] < 0) r->ends[e] = r->d.ends[e].at;
  }
  int negative_pivots() const override { return real_->negative_pivots(); }

  void time_derivative(double t, const double* y, double* ft) override {
    if (!timed_) return Equations::time_derivative(t, y, ft);
    this->difference_in_time(t, y, ft, scratch_);
  }

  void jacobian(double t, const double* y) override {
    prepare();
    for (auto& r : rods_) {
      move_ends(*r, t);
      r->template gather<double>(r->s, y + r->at);
      balance<double>(*r, r->s, t);
      const bool predicted =
          still_ && int(r->reached.size()) == r->nq && std::equal(r->reached.begin(), r->reached.end(), y + r->at);
      if (predicted) // forces enter the blocks as geometric stiffness only
        for (std::size_t j = 0; j < std::size_t(r->N); ++j) {
          r->kept[j] = r->s.F[j];
          r->s.F[j] += r->d.CG[j] * (r->predicted[j] - r->s.G[j]);
        }
      if constexpr (own_blocks)
        r->grid.blocks(t, r->s, r->ends, r->k);
      else
        r->grid.blocks(t, r->s, r->ends, r->blocks);
      if (predicted) r->s.F.swap(r->kept);
      for (int j = 0; j < r->N; ++j) {
        const std::size_t i = std::size_t(j);
        r->p[i] = r->s.p[i], r->w[i] = r->s.w[i], r->norm[i] = r->s.p[i].squaredNorm();
        r->alpha[i] = r->template spin<double>(r->s, j, options_);
      }
      for (int e = 0; e < 2; ++e)
        if (r->port[e] >= 0) {
          const HostMotion& m = motions_[std::size_t(r->port[e])];
          if constexpr (hosting) host_rows(r->grid, r->s, r->ends[e], m, e, t, r->k, r->hosted[e]);
        }
      inertia_rows(*r);
    }
    if constexpr (hosting) {
      far_.clear();
      for (const RodString& piece : strings_)
        string_blocks(piece, t, [&](int i) -> const auto& { return rods_[std::size_t(i)]->s; }, far_);
      for (FarBlock& b : far_) { // held vertices have neither rows nor columns
        if (rods_[std::size_t(b.row_rod)]->x_at[std::size_t(b.row)] < 0)
          b.q.template bottomRows<3>().setZero(), b.v.template bottomRows<3>().setZero();
        if (rods_[std::size_t(b.column_rod)]->x_at[std::size_t(b.column)] < 0)
          b.q.template rightCols<3>().setZero(), b.v.template rightCols<3>().setZero();
      }
    }
  }

  void host_blocks(std::vector<HostBlock<double>>& out) const override { left_over<double>(*real_, out); }
  void host_blocks(std::vector<HostBlock<Complex>>& out) const override { left_over<Complex>(*complex_, out); }
  void reduce(const double* b, std::vector<HostVector<double>>& out) override { reduce_with(*real_, b, out); }
  void reduce(const Complex* b, std::vector<HostVector<Complex>>& out) override { reduce_with(*complex_, b, out); }
  void expand(double* b, const std::vector<HostVector<double>>& in) override { expand_with(*real_, b, in); }
  void expand(Complex* b, const std::vector<HostVector<Complex>>& in) override { expand_with(*complex_, b, in); }

  bool factor(double shift) override { return factor_with(*real_, shift); }
  bool factor(Complex shift) override { return factor_with(*complex_, shift); }
  void solve(double* b) override { solve_with(*real_, b); }
  void solve(Complex* b) override { solve_with(*complex_, b); }

  bool project([[maybe_unused]] double t, double* y) override {
    bool moved = false;
    for (auto& r : rods_)
      for (int n = 1; n <= r->N; ++n) {
        double *q = y + r->at + r->p_at[std::size_t(n)], *v = y + r->at + r->w_at[std::size_t(n)];
        if constexpr (Absolute)
          moved = AbsoluteQuaternion::project(q, v, options_) || moved;
        else
          moved = NullspaceQuaternion::normalise(q) || moved;
      }
    if constexpr (Constrained)
      for (auto& r : rods_)
        if (r->d.held) moved = restore(*r, t, y + r->at) || moved;
    return moved;
  }

  // Strains change along a straight line and frames along great circles; positions follow from both. A displacement
  // that bends a rod then does not stretch it, and Newton's method is not slowed down by stiff extension. Between two
  // held ends the gap that is left is spread over the length.
  void retract(double t, const double* y, const double* d, double by, double* out) override {
    if constexpr (Constrained) return Equations::retract(t, y, d, by, out);
    std::vector<Vec3<double>> x;
    for (auto& part : rods_) {
      Rod& r = *part;
      move_ends(r, t);
      for (int e = 0; e < 2; ++e)
        if (r.port[e] < 0) r.before[e] = r.ends[e].x; // held by nobody who could have moved
      const std::size_t N = std::size_t(r.N);
      const double *q = y + r.at, *dq = d + r.at;
      double* o = out + r.at;
      const auto given = [&](std::size_t n) { // vertices that have no unknowns are where they are already
        return r.x_at[n] >= 0 ? Vec3<double>(Part<3>::of(q + r.x_at[n])) : r.before[n ? 1 : 0];
      };
      const auto moved = [&](std::size_t n) {
        return r.x_at[n] >= 0 ? Vec3<double>(Part<3>::of(dq + r.x_at[n]))
                              : Vec3<double>((r.ends[n ? 1 : 0].x - r.before[n ? 1 : 0]) / by);
      };
      x.assign(N + 1, Vec3<double>::Zero());
      for (std::size_t j = 0; j < N; ++j) {
        const Vec4<double> p = Part<4>::of(q + r.p_at[j + 1]).normalized();
        const Vec3<double> turn_by =
            2.0 * multiply<double>(conjugate<double>(p), Part<4>::of(dq + r.p_at[j + 1])).template tail<3>();
        const Mat3<double> R = matrix_from_quaternion<double>(p);
        const Vec3<double> u = given(j + 1) - given(j), G = R.transpose() * u;
        const Vec3<double> strain = R.transpose() * (moved(j + 1) - moved(j)) + G.cross(turn_by);
        r.predicted[j] = r.d.inverse_ds[j] * (G + by * strain);
        const Vec4<double> next = multiply<double>(p, exp_quaternion<double>(by * turn_by));
        x[j + 1] = x[j] + matrix_from_quaternion<double>(next) * (G + by * strain);
        Part<4>::put(o + r.p_at[j + 1], next);
        if constexpr (Absolute)
          Part<4>::put(o + r.w_at[j + 1], Vec4<double>(Vec4<double>::Zero()));
        else
          Part<3>::put(o + r.w_at[j + 1], Vec3<double>(Vec3<double>::Zero()));
      }
      const bool start = r.x_at[0] < 0, end = r.x_at[N] < 0;
      Vec3<double> from = start ? r.ends[0].x : Vec3<double>(given(0) + by * moved(0)), gap = Vec3<double>::Zero();
      if (end && start) gap = r.ends[1].x - from - x[N];
      if (end && !start) from = r.ends[1].x - x[N];
      double s = 0.0, length = 0.0;
      for (double ds : r.d.ds) length += ds;
      for (std::size_t n = 0; n <= N; ++n) {
        if (r.x_at[n] >= 0) {
          Part<3>::put(o + r.x_at[n], Vec3<double>(from + x[n] + (s / length) * gap));
          Part<3>::put(o + r.v_at[n], Vec3<double>(Vec3<double>::Zero()));
        }
        if (n < N) s += r.d.ds[n];
      }
      r.reached.assign(o, o + r.nq);
    }
  }

  // Has the rod folded between two frames?
  const char* trouble(double t, const double* y) const override {
    for (const auto& r : rods_) {
      const double limit = r->d.law.limit();
      const auto check = [&](int n, double w, double norm) {
        if (w > limit * norm) return false;
        char text[256];
        std::snprintf(
            text, sizeof text,
            "rod '%s' folds at s = %.4g: neighbouring frames turn by %.0f degrees, more than its curvature can "
            "represent; use more segments or another curvature",
            r->d.name.c_str(), position(r->d, n), 360.0 / M_PI * std::acos(std::clamp(w / norm, -1.0, 1.0)));
        trouble_ = text;
        return true;
      };
      const auto p = [&](int j) { return Part<4>::of(y + r->at + r->p_at[std::size_t(j + 1)]); };
      for (int n = 1; n < r->N; ++n) {
        const Vec4<double> a = p(n - 1), b = p(n);
        if (check(n, a.dot(b), a.norm() * b.norm())) return trouble_.c_str();
      }
      for (int e = 0; e < 2; ++e) {
        if (!r->d.ends[e].clamped) continue;
        EndMotion end = r->port[e] >= 0 ? r->ends[e] : r->d.ends[e].at;
        if (r->d.ends[e].move) r->d.ends[e].move(t, end);
        const Vec4<double> b = p(e ? r->N - 1 : 0);
        const double v = end.p.dot(b), n2 = b.squaredNorm();
        if (check(e ? r->N : 0, 2.0 * v * v - n2, n2)) return trouble_.c_str();
      }
    }
    return nullptr;
  }

  const RodState<double>& state(int index, double t, const double* y) override {
    Rod& r = *rods_[std::size_t(index)];
    if (!strings_.empty()) { // which may pull on it from others
      act(t, y);
      return r.s;
    }
    move_ends(r, t);
    r.template gather<double>(r.s, y + r.at);
    balance<double>(r, r.s, t);
    return r.s;
  }

  RodMeasures measures(int index, double t, const double* y) override {
    Rod& r = *rods_[std::size_t(index)];
    state(index, t, y);
    RodMeasures m;
    m.strain = r.grid.strain_energy(r.s), m.curvature = r.grid.curvature_energy(r.s);
    m.dissipation = r.grid.dissipation(r.s), m.load_power = r.grid.load_power(t, r.s, r.ends);
    for (int n = 0; n <= r.N; ++n) {
      const std::size_t i = std::size_t(n);
      m.translation += 0.5 * r.d.mass[i] * r.s.v[i].squaredNorm();
      if (r.d.blended && n < r.N) m.translation += r.d.off[i] * r.s.v[i].dot(r.s.v[i + 1]);
      m.gravity -= r.d.tributary[i] * r.d.gravity.dot(r.s.x[i]);
    }
    for (int j = 0; j < r.N; ++j)
      m.rotation += 0.5 * r.d.J[std::size_t(j)].dot(r.s.w[std::size_t(j)].template tail<3>().cwiseAbs2());
    for (const RodLoad& l : r.d.loads) // dead constant forces have a potential
      if (!l.follow && !l.function)
        for (const auto& h : l.force) m.loads -= h.weight.cwiseProduct(l.F).dot(r.s.x[std::size_t(h.vertex)]);
    m.loads += r.grid.support_energy(r.s) + r.grid.centrifugal_energy(r.s);
    if constexpr (hosting)
      for (const RodString& piece : strings_) { // counted once, with the first rod that they touch
        if ((piece.ends[0].rod >= 0 ? piece.ends[0].rod : piece.ends[1].rod) != index) continue;
        const StringState k = string_state(piece, t);
        m.loads += k.pull.energy, m.dissipation += k.pull.dissipation;
        if (piece.tendon) m.load_power -= k.pull.T * k.rate;
      }
    if (r.d.stretch && !still_) { // who changes the rest length works on the rod
      const double h = 1e-5 * std::max(1.0, std::abs(t)), low = std::max(t - h, std::min(t, 0.0));
      const double rate = (r.d.stretch(t + h) - r.d.stretch(low)) / (t + h - low);
      for (std::size_t j = 0; j < r.rest.size(); ++j) m.load_power -= r.d.ds[j] * r.s.F[j][2] * rate * r.rest[j][2];
    }
    double hold[12];
    reactions(index, t, y, hold);
    for (int e = 0; e < 2; ++e) {
      if (r.d.ends[e].held) m.end_power += Vec3<double>(hold + 6 * e).dot(r.ends[e].v);
      if (r.d.ends[e].clamped)
        m.end_power +=
            Vec3<double>(hold + 6 * e + 3).dot(matrix_from_quaternion<double>(r.ends[e].p) * r.ends[e].Omega);
    }
    return m;
  }

  void reactions(int index, double t, const double* y, double* out) override {
    Rod& r = *rods_[std::size_t(index)];
    state(index, t, y);
    const std::vector<Vec3<double>> force = r.s.f;
    std::vector<Vec3<double>> a = r.inertial(r.s);
    r.accelerate(a);
    for (int e = 0; e < 2; ++e) {
      Vec3<double> hold = Vec3<double>::Zero(), moment = Vec3<double>::Zero();
      const std::size_t n = std::size_t(e ? r.N : 0), next = e ? n - 1 : 1;
      if (r.d.ends[e].held) {
        hold = r.d.mass[n] * r.ends[e].a - force[n];
        if (r.d.blended) {
          const bool opposite = r.N == 1 && r.d.ends[1 - e].held;
          hold += r.d.off[e ? n - 1 : 0] * (opposite ? r.ends[1 - e].a : a[next]);
        }
      }
      if (r.d.ends[e].clamped) moment = -(matrix_from_quaternion<double>(r.ends[e].p) * r.s.end_moment[e]);
      Part<3>::put(out + 6 * e, hold), Part<3>::put(out + 6 * e + 3, moment);
    }
  }

  Vec4<double> vertex_frame(int index, int n) const override {
    const Rod& r = *rods_[std::size_t(index)];
    if (n > 0 && n < r.N) return (r.s.p[std::size_t(n - 1)] + r.s.p[std::size_t(n)]).normalized();
    const int e = n ? 1 : 0;
    const Vec4<double> near = r.s.p[std::size_t(e ? r.N - 1 : 0)].normalized();
    if (!r.d.ends[e].clamped) return near;
    return r.ends[e].p.dot(near) < 0.0 ? Vec4<double>(-r.ends[e].p) : r.ends[e].p;
  }

  // lambda_nu of (30), of the constraint (|p|² - 1)/2.
  void multipliers(int index, double t, const double* y, double* out) override {
    Rod& r = *rods_[std::size_t(index)];
    state(index, t, y);
    radial_forces(r, out);
  }

  void residual(const double* y, double& position, double& velocity) const override {
    position = velocity = 0.0;
    for (const auto& r : rods_)
      for (int n = 1; n <= r->N; ++n) {
        const double *q = y + r->at + r->p_at[std::size_t(n)], *v = y + r->at + r->w_at[std::size_t(n)];
        double g = 0.0, rate = 0.0;
        if constexpr (Absolute)
          AbsoluteQuaternion::residual(q, v, options_, g, rate);
        else
          NullspaceQuaternion::residual(q, v, options_, g, rate);
        position = std::max(position, g), velocity = std::max(velocity, rate);
      }
    if constexpr (Constrained)
      for (const auto& r : rods_) {
        if (!r->d.held) continue;
        r->template gather<double>(r->s, y + r->at); // ends as they were moved last
        r->grid.configuration(r->s);
        for (std::size_t j = 0; j < std::size_t(r->N); ++j) {
          position = std::max(position, r->s.E[j].head(r->d.held).cwiseAbs().maxCoeff());
          velocity = std::max(velocity, r->hold->strain_rate(r->s, j).head(r->d.held).cwiseAbs().maxCoeff());
        }
      }
  }

  void dense_jacobian(double t, const double* y, double* J) override {
    if constexpr (Constrained) return dense_jacobian_dual(t, y, J); // held strains make it a full matrix
    jacobian(t, y);
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) dense_rod(*r, J);
  }

  void dense_jacobian_dual(double t, const double* y, double* J) override {
    using D = Dual<1>;
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) {
      move_ends(*r, t);
      std::vector<D> q(std::size_t(r->size)), dq(q.size());
      for (std::size_t c = 0; c < q.size(); ++c) {
        for (std::size_t k = 0; k < q.size(); ++k) q[k] = k == c ? D::seed(y[r->at + k], 0) : D(y[r->at + k]);
        derivative<D>(*r, r->dual, t, q.data(), dq.data());
        for (std::size_t k = 0; k < q.size(); ++k) J[(r->at + k) * size_ + r->at + c] = dq[k].d[0];
      }
    }
  }

  Counted::Tally operations(double t, const double* y) override {
    Counted::tally() = {};
    Counted::Tally total;
    for (auto& r : rods_) {
      RodState<Counted> s(r->N);
      std::vector<Counted> q(std::size_t(r->size)), dq(q.size());
      for (std::size_t k = 0; k < q.size(); ++k) q[k] = Counted::variable(y[r->at + k]);
      move_ends(*r, t);
      Counted::tally() = total;
      if constexpr (!Constrained) derivative<Counted>(*r, s, t, q.data(), dq.data());
      total = Counted::tally();
    }
    return total;
  }

private:
  static double position(const RodDescription& d, int n) {
    double s = 0.0;
    for (int j = 0; j < n; ++j) s += d.ds[std::size_t(j)];
    return s;
  }

  void move_ends(Rod& r, double t) const {
    for (int e = 0; e < 2; ++e)
      if (r.d.ends[e].move) {
        r.d.ends[e].move(t, r.ends[e]);
        if (still_) r.ends[e].v.setZero(), r.ends[e].a.setZero(), r.ends[e].Omega.setZero();
      }
    if (!r.d.stretch) return;
    const double g = r.d.stretch(t);
    for (std::size_t j = 0; j < r.rest.size(); ++j) r.d.G0[j][2] = g * r.rest[j][2];
  }

  // A number, vector or row-major matrix; returns what comes behind it.
  static const double* read(double& to, const double* from) { return to = *from, from + 1; }
  template <class M> static const double* read(M& to, const double* from) {
    for (int i = 0; i < to.rows(); ++i)
      for (int j = 0; j < to.cols(); ++j) to(i, j) = *from++;
    return from;
  }

  StringState string_state(const RodString& piece, double t) const {
    Vec3<double> x[2], v[2];
    for (int e = 0; e < 2; ++e) {
      const StringPoint& p = piece.ends[e];
      string_point(p, p.rod < 0 ? nullptr : &rods_[std::size_t(p.rod)]->s, x[e], v[e]);
    }
    return StringState(piece, t, x, v);
  }

  int place_node(int h) const { return cells_ + 2 * h; }
  int speed_node(int h) const { return cells_ + 2 * h + 1; }
  // Calls f(k, c) for the cells c of the graph within reach of an end, k cells from it.
  template <class G> static void for_cells(const Rod& r, int e, G&& f) {
    for (int k = 0; k <= r.k.reach(); ++k)
      if (const int c = r.cell(e, k); c >= r.begin) f(k, c);
  }

  // Held strains and their rates back to zero, along M^-1 B.
  bool restore(Rod& r, double t, double* y) const {
    const std::size_t N = std::size_t(r.N);
    auto& mu = r.hold->lambda;
    const auto place = [&](bool positions) {
      for (std::size_t n = 0; n <= N; ++n) {
        if (n) {
          const Vec3<double> turn_by = r.d.ds[n - 1] * r.d.inverse_J[n - 1].cwiseProduct(r.s.G[n - 1].cross(mu[n - 1]));
          if (positions)
            Part<4>::put(y + r.p_at[n], multiply<double>(r.s.p[n - 1], exp_quaternion<double>(turn_by)));
          else
            Part<3>::put(y + r.w_at[n], Vec3<double>(r.s.w[n - 1].template tail<3>() + turn_by));
        }
        if (r.x_at[n] < 0) continue;
        Vec3<double> by = Vec3<double>::Zero();
        if (n < N) by += r.s.R[n] * mu[n];
        if (n) by -= r.s.R[n - 1] * mu[n - 1];
        const Vec3<double> to = (positions ? r.s.x[n] : r.s.v[n]) + r.free_mass[n] * by;
        Part<3>::put(y + (positions ? r.x_at[n] : r.v_at[n]), to);
      }
    };
    move_ends(r, t);
    for (int k = 0; k < 8; ++k) {
      r.template gather<double>(r.s, y);
      r.grid.configuration(r.s);
      double largest = 0.0;
      for (std::size_t j = 0; j < N; ++j) {
        mu[j] = r.s.E[j];
        largest = std::max(largest, mu[j].head(r.d.held).cwiseAbs().maxCoeff());
      }
      r.hold->factor(r.s);
      if (largest < 1e-14) break;
      r.hold->solve(r.s, mu);
      place(true);
    }
    for (std::size_t j = 0; j < N; ++j) mu[j] = r.hold->strain_rate(r.s, j);
    r.hold->solve(r.s, mu);
    place(false);
    return true;
  }

  // Forces and moments of the state, those of held strains among them.
  template <class S> void balance(const Rod& r, RodState<S>& s, double t) const {
    r.grid.forces(t, s, r.ends);
    if constexpr (Constrained) {
      if (!r.d.held) return;
      HeldStrains<S>& hold = held<S>(r);
      const std::size_t N = std::size_t(r.N);
      static thread_local std::vector<Vec3<S>> a;
      static thread_local std::vector<Vec4<S>> spins;
      a.resize(N + 1), spins.resize(N);
      for (std::size_t n = 0; n <= N; ++n)
        a[n] = r.x_at[n] >= 0 ? Vec3<S>(S(r.free_mass[n]) * s.f[n]) : Vec3<S>(r.ends[n ? 1 : 0].a.template cast<S>());
      for (std::size_t j = 0; j < N; ++j) spins[j] = r.template spin<S>(s, int(j), options_);
      hold.factor(s);
      hold.second_rates(s, a, spins);
      hold.solve(s, hold.lambda);
      hold.apply(s);
    }
  }
  template <class S> static HeldStrains<S>& held(const Rod& r) {
    if constexpr (std::is_same_v<S, double>)
      return *r.hold;
    else
      return *r.hold_dual;
  }

  template <class S> void derivative(const Rod& r, RodState<S>& s, double t, const S* y, S* dy) const {
    r.template gather<S>(s, y);
    balance<S>(r, s, t);
    r.template finish<S>(s, y, dy, options_);
  }
  // <p, dL/dp> for each segment: the constraint force of (30).
  void radial_forces(const Rod& r, double* out) const {
    const auto& s = r.s;
    for (int j = 0; j < r.N; ++j) {
      const std::size_t i = std::size_t(j);
      const Vec3<double>& w = s.w[i].template tail<3>();
      // homogeneity: W is linear and G quadratic in p, the kinetic energy quadratic with the opposite sign
      Vec3<double> F = s.F[i];
      if (r.d.strain == Strain::stretch) F[2] = 0.0;
      out[j] = -2.0 * r.d.ds[i] * F.dot(s.G[i]) + 2.0 * w.dot(r.d.J[i].cwiseProduct(w));
    }
    for (int n = 0; n <= r.N; ++n) {
      const std::size_t i = std::size_t(n);
      if (!(r.d.weight[i] > 0.0)) continue;
      const double g = s.gW[i].dot(s.W[i]);
      if (n > 0 && n < r.N)
        out[n - 1] -= g, out[n] -= g;
      else
        out[n ? r.N - 1 : 0] -= 2.0 * g;
    }
  }

  // --- the linear system ---------------------------------------------------------------------------------------------

  // Rows of the balance of moments, with inertia; rows and columns of held positions become those of the identity.
  void inertia_rows(Rod& r) const {
    const int N = r.N;
    for (int c = r.begin; c <= N; ++c) {
      const double factor = c && Absolute ? 1.0 / (r.norm[std::size_t(c - 1)] * r.norm[std::size_t(c - 1)]) : 1.0;
      for (int o = std::max(r.begin, r.k.first(c)); o <= r.k.last(c); ++o) {
        auto &q = r.k.q(c, o), &v = r.k.v(c, o);
        if constexpr (!own_blocks) {
          q.setZero(), v.setZero();
          q.template middleRows<3>(turn - 3) = factor * r.blocks.q(c, o).template topRows<3>();
          v.template middleRows<3>(turn - 3) = factor * r.blocks.v(c, o).template topRows<3>();
          q.template middleRows<3>(turn) = r.blocks.q(c, o).template bottomRows<3>();
          v.template middleRows<3>(turn) = r.blocks.v(c, o).template bottomRows<3>();
        }
        if (r.x_at[std::size_t(c)] < 0)
          q.template middleRows<3>(turn).setZero(), v.template middleRows<3>(turn).setZero();
        if (r.x_at[std::size_t(o)] < 0) q.template rightCols<3>().setZero(), v.template rightCols<3>().setZero();
      }
      if (c == 0) continue;
      const std::size_t j = std::size_t(c - 1);
      const Vec3<double> J = r.d.J[j], Omega = r.w[j].template tail<3>(), L = J.cwiseProduct(Omega);
      const Mat3<double> gyro = cross_matrix<double>(L) - cross_matrix<double>(Omega) * J.asDiagonal();
      auto &q = r.k.q(c, c), &v = r.k.v(c, c);
      if constexpr (Absolute) {
        const double w0 = r.w[j][0], n = r.norm[j];
        v.template block<3, 3>(1, 1) += gyro;
        v.template block<3, 3>(1, 1) -= (w0 * J).asDiagonal();
        v.template block<3, 1>(1, 0) -= L;
        v(0, 0) -= w0 + 2.0 * (options_.baumgarte_omega > 0.0 ? options_.baumgarte_r : 0.0);
        v.template block<1, 3>(0, 1) -= Omega.transpose();
        Mat4<double> turn_of = 0.5 * quaternion_matrix_right<double>(r.alpha[j]);
        turn_of.bottomRows<3>() = J.asDiagonal() * turn_of.bottomRows<3>().eval();
        q.template topLeftCorner<4, 4>() += turn_of;
        q(0, 0) -= options_.baumgarte_omega * options_.baumgarte_omega / n;
        q.template block<3, 1>(1, 0) -= 2.0 / (n * n) * r.s.mu[j];
      } else {
        v.template block<3, 3>(0, 1) += gyro;
      }
    }
    if constexpr (Constrained)
      if (r.d.held) constraint_rows(r);
  }

  template <class S> void left_over(const UniformLu<S, B>& lu, std::vector<HostBlock<S>>& out) const {
    if constexpr (hosting) {
      out.resize(joined_.size());
      std::size_t i = 0;
      for (const auto& [a, b] : joined_) {
        HostBlock<S>& k = out[i++];
        k.row = hosts_[std::size_t(a)], k.column = hosts_[std::size_t(b)];
        k.D.template leftCols<6>() = -lu.block(UniformLu<S, B>::at(pattern_, place_node(a), place_node(b)));
        k.D.template rightCols<6>() = -lu.block(UniformLu<S, B>::at(pattern_, place_node(a), speed_node(b)));
      }
    }
  }
  template <class S> void reduce_with(const UniformLu<S, B>& lu, const S* b, std::vector<HostVector<S>>& out) {
    if constexpr (hosting) {
      auto& k = work<S>();
      right_sides<S>(b);
      lu.forward(k.x.data());
      out.resize(hosts_.size());
      for (std::size_t h = 0; h < hosts_.size(); ++h)
        out[h].body = hosts_[h], out[h].wrench = k.x[std::size_t(place_node(int(h)))];
    }
  }
  template <class S> void expand_with(const UniformLu<S, B>& lu, S* b, const std::vector<HostVector<S>>& in) {
    if constexpr (hosting) {
      auto& k = work<S>();
      for (std::size_t h = 0; h < hosts_.size(); ++h) {
        k.x[std::size_t(place_node(int(h)))] = in[h].motion.template head<6>();
        k.x[std::size_t(speed_node(int(h)))] = in[h].motion.template tail<6>();
      }
      lu.backward(k.x.data());
      for (auto& r : rods_) recover<S>(*r, shift_of<S>(), b + r->at, k);
    }
  }
  template <class S> S shift_of() const {
    if constexpr (std::is_same_v<S, double>)
      return real_shift_;
    else
      return complex_shift_;
  }
  template <class S> void right_sides(const S* b) {
    auto& k = work<S>();
    for (std::size_t i = std::size_t(cells_); i < k.x.size(); ++i) k.x[i].setZero();
    for (auto& part : rods_) {
      const Rod& r = *part;
      right_side<S>(r, shift_of<S>(), b + r.at, k);
      if constexpr (hosting)
        for (int e = 0; e < 2; ++e)
          if (r.port[e] >= 0)
            for_cells(r, e, [&](int i, int c) {
              k.x[std::size_t(place_node(r.port[e]))].noalias() +=
                  r.hosted[e].wrench_q[i].template cast<S>() * k.known[std::size_t(r.node + c - r.begin)];
            });
    }
    if constexpr (hosting)
      for (const FarBlock& b : far_) {
        const Rod &r = *rods_[std::size_t(b.row_rod)], &o = *rods_[std::size_t(b.column_rod)];
        if (b.row < r.begin || b.column < o.begin) continue;
        k.x[std::size_t(r.node + b.row - r.begin)].noalias() +=
            b.q.template cast<S>() * k.known[std::size_t(o.node + b.column - o.begin)];
      }
  }

  // Rows of -dE''/d(q, v) with accelerations as they are.
  void constraint_rows(Rod& r) const {
    for (std::size_t n = 0; n <= std::size_t(r.N); ++n)
      r.acceleration[n] = r.x_at[n] >= 0 ? Vec3<double>(r.free_mass[n] * r.s.f[n]) : r.ends[n ? 1 : 0].a;
    for (int c = 1; c <= r.N; ++c) {
      const std::size_t j = std::size_t(c - 1);
      const double scale = r.d.inverse_ds[j];
      const Vec3<double>& G = r.s.G[j];
      const Vec3<double> Omega = r.w[j].template tail<3>(), spin_rate = r.alpha[j].template tail<3>();
      const Vec3<double> y = r.hold->rate(r.s, j), turning = G.cross(Omega);
      const Mat3<double> Rt = r.s.R[j].transpose();
      const Vec3<double> z = scale * (Rt * (r.acceleration[j + 1] - r.acceleration[j]));
      const Mat3<double> EO = cross_matrix<double>(Omega), EG = cross_matrix<double>(G), Ey = cross_matrix<double>(y);
      const Mat3<double> square = EO * EO - cross_matrix<double>(spin_rate);
      const Mat3<double> qT = cross_matrix<double>(z) - 2.0 * EO * Ey + square * EG, qx = scale * square * Rt;
      const Mat3<double> vx = -2.0 * scale * EO * Rt, vO = 2.0 * Ey - EO * EG + cross_matrix<double>(turning);
      auto &q = r.k.q(c, c), &v = r.k.v(c, c);
      q.template block<3, 1>(6, 0) = -(z + 2.0 * y.cross(Omega) + turning.cross(Omega) + G.cross(spin_rate));
      q.template block<3, 3>(6, 1) = -qT;
      v.template block<3, 3>(6, 1) = -vO;
      if (r.x_at[std::size_t(c)] >= 0) q.template block<3, 3>(6, 4) = -qx, v.template block<3, 3>(6, 4) = -vx;
      if (c > r.begin && r.x_at[std::size_t(c - 1)] >= 0)
        r.k.q(c, c - 1).template block<3, 3>(6, 4) = qx, r.k.v(c, c - 1).template block<3, 3>(6, 4) = vx;
      if (r.d.held == 2)
        for (int o = std::max(r.begin, c - 1); o <= c; ++o) r.k.q(c, o).row(8).setZero(), r.k.v(c, o).row(8).setZero();
    }
  }

  // Columns of lambda and the rows of E'' in terms of accelerations, in the matrix of a stage.
  template <class S> void constraint_blocks(const Rod& r, UniformLu<S, B>& lu, S shift) const {
    const auto at = [&](int c, int o) -> auto& {
      return lu.block(UniformLu<S, B>::at(pattern_, r.node + c - r.begin, r.node + o - r.begin));
    };
    for (int c = r.begin; c <= r.N; ++c) {
      auto& own = at(c, c);
      if (c == 0 || !r.d.held) {
        own.template bottomRightCorner<3, 3>().setIdentity();
        continue;
      }
      const std::size_t j = std::size_t(c - 1);
      const Mat3<S> R = r.s.R[j].template cast<S>(), EG = cross_matrix<double>(r.s.G[j]).template cast<S>();
      const Mat3<S> a = (shift * r.d.inverse_ds[j]) * R.transpose();
      own.template block<3, 3>(6, 0) += shift * EG;
      own.template block<3, 3>(0, 6) = S(-r.d.ds[j]) * EG;
      if (r.x_at[std::size_t(c)] >= 0) own.template block<3, 3>(6, 3) += a, own.template block<3, 3>(3, 6) = R;
      const bool before = c > r.begin && r.x_at[std::size_t(c - 1)] >= 0;
      if (before) at(c, c - 1).template block<3, 3>(6, 3) -= a, at(c - 1, c).template block<3, 3>(3, 6) = -R;
      if (r.d.held == 3) continue;
      own.row(8).setZero(), own.col(8).setZero(), own(8, 8) = S(1);
      if (before) at(c, c - 1).row(8).setZero(), at(c - 1, c).col(8).setZero();
    }
  }

  // c = Tc nu + c_b and w = Tw nu + w_b for the unknown nu (Omega, or 2 conj(p) p'/|p|²) of segment j.
  template <class S> GYROD_INLINE void maps(const Rod& r, int j, S shift, S scale, Local<S>& Tc, Local<S>& Tw) const {
    const Vec4<double>& w = r.w[std::size_t(j)];
    const S inverse = S(1) / shift;
    if constexpr (Absolute) {
      Tc.setZero(), Tc.diagonal().setConstant(inverse);
      Tw = (S(-0.5) * inverse) * quaternion_matrix_right<double>(w).template cast<S>();
      Tw.diagonal().array() += S(1);
    } else {
      const S h0 = S(0.5) * scale * w[1], h1 = S(0.5) * scale * w[2], h2 = S(0.5) * scale * w[3], d = shift * scale;
      Tc(0, 0) = -h0, Tc(0, 1) = -h1, Tc(0, 2) = -h2; // (0, nu)(shift + Omega/2) scale
      Tc(1, 0) = d, Tc(1, 1) = h2, Tc(1, 2) = -h1;
      Tc(2, 0) = -h2, Tc(2, 1) = d, Tc(2, 2) = h0;
      Tc(3, 0) = h1, Tc(3, 1) = -h0, Tc(3, 2) = d;
    }
  }

  template <class S> bool factor_with(UniformLu<S, B>& lu, S shift) {
    const S inverse = S(1) / shift;
    if constexpr (std::is_same_v<S, double>)
      real_shift_ = shift;
    else
      complex_shift_ = shift;
    lu.clear();
    Local<S> Tc, Tw;
    for (auto& part : rods_) {
      Rod& r = *part;
      for (int o = r.begin; o <= r.N; ++o) { // column by column: the maps belong to columns
        if (o) {
          const S scale = S(1) / (shift * shift + S(0.25 * r.w[std::size_t(o - 1)].squaredNorm()));
          work<S>().scale[std::size_t(r.node + o - r.begin)] = scale;
          maps<S>(r, o - 1, shift, scale, Tc, Tw);
        }
        const std::size_t i = std::size_t(o);
        for (int c = std::max(r.begin, r.k.first(o)); c <= r.k.last(o); ++c) {
          auto& a = lu.block(UniformLu<S, B>::at(pattern_, r.node + c - r.begin, r.node + o - r.begin));
          const auto &q = r.k.q(c, o), &v = r.k.v(c, o);
          if (o) {
            if constexpr (Absolute)
              a.template leftCols<4>() =
                  -inverse * q.template leftCols<4>() - v.template leftCols<4>().template cast<S>() * Tw;
            else
              a.template leftCols<3>() =
                  -(q.template leftCols<4>().template cast<S>() * Tc) - v.template middleCols<3>(1).template cast<S>();
          }
          a.template middleCols<3>(turn) = -inverse * q.template rightCols<3>() - v.template rightCols<3>();
          if (r.d.blended && std::abs(c - o) == 1 && r.x_at[std::size_t(c)] >= 0 && r.x_at[i] >= 0)
            a.template block<3, 3>(turn, turn).diagonal().array() += shift * r.d.off[std::size_t(std::min(c, o))];
        }
        if constexpr (hosting)
          for (int e = 0; e < 2; ++e)
            if (r.port[e] >= 0) host_column<S>(r, e, o, shift, Tc, lu);
        auto& a = lu.block(UniformLu<S, B>::at(pattern_, r.node + o - r.begin, r.node + o - r.begin));
        for (int k = 0; k < turn; ++k) a(k, k) += o ? shift * weight(r, o - 1, k) : S(1);
        a.template block<3, 3>(turn, turn).diagonal().array() += r.x_at[i] >= 0 ? shift * r.d.mass[i] : S(1);
      }
      if constexpr (Constrained) constraint_blocks<S>(r, lu, shift);
    }
    if constexpr (hosting)
      for (const FarBlock& b : far_) {
        const Rod &r = *rods_[std::size_t(b.row_rod)], &o = *rods_[std::size_t(b.column_rod)];
        if (b.row < r.begin || b.column < o.begin) continue;
        const int column = o.node + b.column - o.begin;
        auto& a = lu.block(UniformLu<S, B>::at(pattern_, r.node + b.row - r.begin, column));
        if (b.column) {
          maps<S>(o, b.column - 1, shift, work<S>().scale[std::size_t(column)], Tc, Tw);
          a.template leftCols<3>() -=
              b.q.template leftCols<4>().template cast<S>() * Tc + b.v.template middleCols<3>(1).template cast<S>();
        }
        a.template rightCols<3>() -= inverse * b.q.template rightCols<3>() + b.v.template rightCols<3>();
      }
    return lu.factor();
  }
  // Blocks of a cell with the body that holds the end next to it; with the end itself those of the body alone.
  template <class S>
  void host_column(const Rod& r, int e, int o, S shift, const Local<S>& Tc, UniformLu<S, B>& lu) const {
    const int k = e ? r.N - o : o, place = place_node(r.port[e]), speed = speed_node(r.port[e]);
    const HostedEnd& h = r.hosted[e];
    const auto at = [&](int a, int b) -> auto& { return lu.block(UniformLu<S, B>::at(pattern_, a, b)); };
    if (k == (e ? 0 : 1)) { // once
      at(place, place) -= h.own_place.template cast<S>();
      at(place, speed) -= h.own_speed.template cast<S>();
    }
    if (k > r.k.reach()) return;
    const int cell = r.node + o - r.begin;
    at(cell, place) -= h.by_place[k].template cast<S>();
    at(cell, speed) -= h.by_speed[k].template cast<S>();
    auto& w = at(place, cell);
    if (o)
      w.template leftCols<3>() -= h.wrench_q[k].template leftCols<4>().template cast<S>() * Tc +
                                  h.wrench_v[k].template middleCols<3>(1).template cast<S>();
    w.template rightCols<3>() -= (S(1) / shift) * h.wrench_q[k].template rightCols<3>().template cast<S>() +
                                 h.wrench_v[k].template rightCols<3>().template cast<S>();
  }
  static double weight(const Rod& r, int j, int k) { // of a row of rotation
    if constexpr (Absolute) return k ? r.d.J[std::size_t(j)][k - 1] : 1.0;
    return r.d.J[std::size_t(j)][k];
  }

  template <class S> void solve_with(const UniformLu<S, B>& lu, S* b) {
    Work<S>& k = work<S>();
    right_sides<S>(b);
    lu.solve(k.x.data());
    for (auto& r : rods_) recover<S>(*r, shift_of<S>(), b + r->at, k);
  }

  template <class S> using Increment = Eigen::Matrix<S, 7, 1>;
  // For every cell: increments and rates that follow from b_q alone, the unknowns, and 1/(shift² + |Omega|²/4).
  template <class S> struct Work {
    std::vector<Increment<S>> known, rates;
    std::vector<Eigen::Matrix<S, B, 1>> x;
    std::vector<S> scale;
    void resize(std::size_t n) { known.resize(n), rates.resize(n), x.resize(n), scale.resize(n); }
  };

  // p c/2 with c = beta (shift + Omega/2) scale solves (shift - D) dp = p beta/2, where D dp = dp Omega/2.
  template <class S>
  GYROD_INLINE static Vec4<S> resolved(const Vec4<S>& beta, const Vec4<double>& w, S shift, S scale) {
    const Vec4<S> back(shift, S(0.5 * w[1]), S(0.5 * w[2]), S(0.5 * w[3]));
    return scale * multiply<S>(beta, back);
  }
  template <class S> static Vec4<S> local(const Rod& r, std::size_t j, const S* b) {
    return S(2.0 / r.norm[j]) * multiply<S>(conjugate<double>(r.p[j]).template cast<S>(), Part<4>::of(b));
  }

  template <class S> void right_side(const Rod& r, S shift, const S* b, Work<S>& k) const {
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.N; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      Increment<S>& q = k.known[cell];
      Eigen::Matrix<S, B, 1>& f = k.x[cell];
      if (r.x_at[i] >= 0) {
        q.template tail<3>() = inverse * Part<3>::of(b + r.x_at[i]);
        f.template segment<3>(turn) = r.d.mass[i] * Part<3>::of(b + r.v_at[i]);
        if (r.d.blended)
          for (int o : {c - 1, c + 1})
            if (o >= r.begin && o <= r.N && r.x_at[std::size_t(o)] >= 0)
              f.template segment<3>(turn) +=
                  r.d.off[std::size_t(std::min(c, o))] * Part<3>::of(b + r.v_at[std::size_t(o)]);
      } else {
        q.template tail<3>().setZero(), f.template segment<3>(turn).setZero();
      }
      if constexpr (Constrained) f.template tail<3>().setZero();
      if (c == 0) {
        q.template head<4>().setZero(), f.template head<turn>().setZero();
        continue;
      }
      if constexpr (Constrained)
        if (r.d.held) { // E'' of b_v as an acceleration
          const Vec3<S> none = Vec3<S>::Zero();
          const auto given = [&](std::size_t n) { return r.x_at[n] >= 0 ? Vec3<S>(Part<3>::of(b + r.v_at[n])) : none; };
          const Vec3<S> across = given(i) - given(i - 1), spin_rate = Part<3>::of(b + r.w_at[i]);
          f.template tail<3>() =
              r.d.inverse_ds[i - 1] * (r.s.R[i - 1].transpose().template cast<S>() * across) +
              cross_matrix<double>(r.s.G[i - 1]).template cast<S>() * spin_rate; // Eigen's cross conjugates
          if (r.d.held == 2) f[8] = S(0);
        }
      const Vec4<S> beta = local(r, i - 1, b + r.p_at[i]);
      if constexpr (Absolute) {
        const Vec4<S> turned = inverse * beta, bv = local(r, i - 1, b + r.w_at[i]);
        q.template head<4>() = turned;
        k.rates[cell].template head<4>() = S(-0.5) * multiply<S>(turned, r.w[i - 1].template cast<S>());
        for (int n = 0; n < 4; ++n) f[n] = weight(r, c - 1, n) * bv[n];
      } else {
        q.template head<4>() = resolved<S>(beta, r.w[i - 1], shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) f[n] = weight(r, c - 1, n) * b[r.w_at[i] + n];
      }
    }
    for (int c = r.begin; c <= r.N; ++c) {
      Eigen::Matrix<S, B, 1>& f = k.x[node + std::size_t(c)];
      for (int o = std::max(r.begin, r.k.first(c)); o <= r.k.last(c); ++o) {
        const std::size_t other = node + std::size_t(o);
        f.noalias() += r.k.q(c, o).template cast<S>() * k.known[other];
        if constexpr (Absolute)
          if (o)
            f.noalias() += r.k.v(c, o).template leftCols<4>().template cast<S>() * k.rates[other].template head<4>();
      }
    }
  }

  template <class S> void recover(const Rod& r, S shift, S* b, const Work<S>& k) const {
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.N; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      const Eigen::Matrix<S, B, 1>& d = k.x[cell];
      if (r.x_at[i] >= 0)
        for (int n = 0; n < 3; ++n) {
          b[r.v_at[i] + n] = d[turn + n];
          b[r.x_at[i] + n] = inverse * (b[r.x_at[i] + n] + d[turn + n]);
        }
      if (c == 0) continue;
      const Vec4<S> p = r.p[i - 1].template cast<S>();
      if constexpr (Absolute) {
        const Vec4<S> rate = S(0.5) * multiply<S>(p, Vec4<S>(d[0], d[1], d[2], d[3]));
        for (int n = 0; n < 4; ++n) {
          b[r.w_at[i] + n] = rate[n];
          b[r.p_at[i] + n] = inverse * (b[r.p_at[i] + n] + rate[n]);
        }
      } else {
        const Vec4<S> turned = k.known[cell].template head<4>() +
                               resolved<S>(Vec4<S>(S(0), d[0], d[1], d[2]), r.w[i - 1], shift, k.scale[cell]);
        Part<4>::put(b + r.p_at[i], Vec4<S>(S(0.5) * multiply<S>(p, turned)));
        for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] = d[n];
      }
    }
  }

  template <class S> Work<S>& work() {
    if constexpr (std::is_same_v<S, double>)
      return real_work_;
    else
      return complex_work_;
  }

  // df/dy of a rod from its blocks, for tests and small problems.
  void dense_rod(const Rod& r, double* J) const {
    const auto entry = [&](int row, int column) -> double& {
      return J[(r.at + std::size_t(row)) * size_ + r.at + std::size_t(column)];
    };
    for (int c = r.begin; c <= r.N; ++c) {
      const std::size_t i = std::size_t(c);
      if (r.x_at[i] >= 0)
        for (int k = 0; k < 3; ++k) entry(r.x_at[i] + k, r.v_at[i] + k) = 1.0;
      if (c == 0) continue;
      if constexpr (Absolute) {
        for (int k = 0; k < 4; ++k) entry(r.p_at[i] + k, r.w_at[i] + k) = 1.0;
      } else {
        const Vec4<double> half = 0.5 * r.w[i - 1];
        const Mat4<double> D = quaternion_matrix_right<double>(half);
        const auto T = quaternion_nullspace<double>(r.p[i - 1]);
        for (int a = 0; a < 4; ++a) {
          for (int k = 0; k < 4; ++k) entry(r.p_at[i] + a, r.p_at[i] + k) = D(a, k);
          for (int k = 0; k < 3; ++k) entry(r.p_at[i] + a, r.w_at[i] + k) = T(a, k);
        }
      }
    }
    // columns: a unit vector of the state as increments of its cell, times the column's blocks, through the inertia
    std::vector<Vec3<double>> f(std::size_t(r.N) + 1);
    for (int o = r.begin; o <= r.N; ++o) {
      const std::size_t i = std::size_t(o);
      const auto column = [&](int where, const Increment<double>& q, const Increment<double>& v) {
        for (auto& x : f) x.setZero();
        for (int c = std::max(r.begin, r.k.first(o)); c <= r.k.last(o); ++c) {
          const Eigen::Matrix<double, B, 1> d = r.k.q(c, o) * q + r.k.v(c, o) * v;
          f[std::size_t(c)] = d.template segment<3>(turn);
          if (c == 0) continue;
          const std::size_t m = std::size_t(c);
          Vec4<double> a = Vec4<double>::Zero();
          for (int k = 0; k < turn; ++k) a[k + 4 - turn] = d[k] / weight(r, c - 1, k);
          if constexpr (Absolute) {
            const Vec4<double> b = 0.5 * multiply<double>(r.p[m - 1], a);
            for (int k = 0; k < 4; ++k) entry(r.w_at[m] + k, where) = b[k];
          } else {
            for (int k = 0; k < 3; ++k) entry(r.w_at[m] + k, where) = a[k + 1];
          }
        }
        r.accelerate(f);
        for (int c = r.begin; c <= r.N; ++c)
          if (r.x_at[std::size_t(c)] >= 0)
            for (int k = 0; k < 3; ++k) entry(r.v_at[std::size_t(c)] + k, where) = f[std::size_t(c)][k];
      };
      if (r.x_at[i] >= 0)
        for (int k = 0; k < 3; ++k) {
          const Increment<double> unit = Increment<double>::Unit(4 + k), none = Increment<double>::Zero();
          column(r.x_at[i] + k, unit, none), column(r.v_at[i] + k, none, unit);
        }
      if (o == 0) continue;
      const Vec4<double>& w = r.w[i - 1];
      const Mat4<double> A = 2.0 / r.norm[i - 1] * quaternion_matrix<double>(conjugate<double>(r.p[i - 1]));
      for (int k = 0; k < 4; ++k) {
        Increment<double> q = Increment<double>::Zero(), v = q;
        q.head<4>() = A.col(k);
        if constexpr (Absolute) v.template head<4>() = -0.5 * multiply<double>(Vec4<double>(A.col(k)), w);
        column(r.p_at[i] + k, q, v);
      }
      for (int k = 0; k < turn; ++k) {
        Increment<double> v = Increment<double>::Zero();
        if constexpr (Absolute)
          v.template head<4>() = A.col(k);
        else
          v[1 + k] = 1.0;
        column(r.w_at[i] + k, Increment<double>::Zero(), v);
      }
    }
  }

  void prepare() {
    if (real_) return;
    const int last = hosts_.empty() ? -1 : cells_;
    real_ = std::make_unique<UniformLu<double, B>>(pattern_, last);
    complex_ = std::make_unique<UniformLu<Complex, B>>(pattern_, last);
    real_work_.resize(std::size_t(pattern_.nodes())), complex_work_.resize(std::size_t(pattern_.nodes()));
  }

  FormulationOptions options_;
  std::vector<RodString> strings_;
  std::vector<FarBlock> far_; // of the strings
  std::vector<std::unique_ptr<Rod>> rods_;
  std::size_t size_ = 0;
  bool timed_ = false, still_ = false;
  int cells_ = 0;          // nodes of the graph before those of the hosts
  std::vector<int> hosts_; // bodies
  std::vector<HostMotion> motions_;
  std::set<std::pair<int, int>> joined_; // hosts that feel each other
  BlockPattern pattern_;
  std::unique_ptr<UniformLu<double, B>> real_;
  std::unique_ptr<UniformLu<Complex, B>> complex_;
  double real_shift_ = 0.0;
  Complex complex_shift_ = 0.0;
  Work<double> real_work_;
  Work<Complex> complex_work_;
  std::vector<double> scratch_;
  mutable std::string trouble_;
};

} // namespace gyrod
