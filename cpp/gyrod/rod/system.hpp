// The equations of motion of rods in the null-space form (x, p; x', Omega) or the absolute form (x, p; x', p').
//
// Implicit stages use the second-order structure: with dq = (shift - D)^-1 (b_q + T dv) the linear system
//   (shift I - df/dy) (dq, dv) = (b_q, b_v)
// becomes one for dv alone, of one 6 x 6 (7 x 7 in absolute form) block a cell, block tridiagonal along the rod. Cells
// of all rods are the nodes of one graph with one elimination.
//
// An end that a body holds has no unknowns of its own: its vertex and its frame move with the body, its mass is part of
// the body's inertia. In the graph the body is two nodes (turn and place; spin and velocity) that are left when all
// cells are gone: what remains there is a dynamic stiffness between bodies, which the mechanism adds to its own. Bodies
// that links pull at are there too, whether they hold an end or not.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/rigid/formulations.hpp"
#include "gyrod/rod/chain.hpp"
#include "gyrod/rod/discretization.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/held.hpp"
#include "gyrod/rod/link_blocks.hpp"
#include "gyrod/rod/retract.hpp"

namespace gyrod {

// Constrained: rods whose strains may be held; three more unknowns in a cell, the increments of lambda.
template <bool Absolute, bool Constrained = false> class RodSystem final : public RodEquations {
  static_assert(!(Absolute && Constrained));
  // Rows of a cell: balance of moments and forces, held strains.
  static constexpr int turn = Absolute ? 4 : 3, R = turn + 3, B = R + (Constrained ? 3 : 0);
  static constexpr int forces = turn - 3;       // its first row of (mu, f)
  static constexpr bool own_blocks = !Absolute; // the grid writes its blocks where they are used
  template <class S> using Local = Matrix<S, 4, turn>;
  using KBlocks = CellBlocks<R>;

  using Chain = RodChain<double, Absolute>;

  using D = Dual<1>; // one direction at a time: a test's oracle, quick to compile
  struct States {
    bool shared;
    std::size_t chunk = 0; // that shares them
    std::map<std::array<int, 6>, std::vector<std::unique_ptr<RodState<double>>>> of;
  };

  struct Rod : Chain {
    using Chain::d, Chain::N, Chain::x_at, Chain::moves, Chain::turns;

    GYROD_COLD Rod(RodDescription description, States& states)
        : Chain(std::move(description)), grid(make_discretization(d)), s(state_of(d, states)),
          blocks(own_blocks ? 1 : N + 1, d.coupled ? 2 : 1, own_blocks ? 0 : d.degree),
          k(N + 1, d.coupled ? 2 : 1, d.degree), alpha(std::size_t(d.frames())), p(alpha.size()), w(alpha.size()),
          norm(alpha.size()) {
      for (const RodEnd& end : d.ends) led = led || end.led(), timed = timed || end.timed();
      for (const RodLoad& l : d.loads) led = led || !l.constant(), timed = timed || l.timed();
      led = led || bool(d.stretch), timed = timed || d.stretch.timed();
      rest = d.G0;
      predicted.resize(std::size_t(N)), kept.resize(std::size_t(N));
      if constexpr (Constrained)
        if (d.held) {
          for (int n = 0; n <= N; ++n)
            free_mass.push_back(x_at[std::size_t(n)] >= 0 ? this->inverse[std::size_t(n)] : 0.0);
          hold = std::make_unique<HeldStrains<double>>(d, free_mass);
          hold_dual = std::make_unique<HeldStrains<D>>(d, free_mass);
          acceleration.resize(free_mass.size()), turned.resize(s.p.size());
          for (int e = 0; e < 2; ++e)
            if (d.ends[e].host >= 0) hold->tie(e), tie_end = e;
          tie_force.resize(std::size_t(3 * hold->ties()));
          rows.resize(std::size_t(N * hold->cells()));
          if (tie_end < 0) this->last = N; // strain j belongs to cell j + 1, whatever else that has
        }
    }
    bool tied() const { return tie_end >= 0; }
    // In the graph the strain next to the end of the tie stays to the last, when its body is there to be moved; all
    // others belong to a cell each, away from there.
    bool stays(int j) const { return tied() && j == (tie_end ? N - 1 : 0); }
    int cell_of_strain(int j) const { return tie_end == 0 ? j : j + 1; }
    bool has_strain(int c) const {
      const int j = tie_end == 0 ? c : c - 1;
      return d.held && j >= 0 && j < N && !stays(j);
    }

    // What is computed from a state serves one rod after the other, where nothing looks at several of them at once:
    // it stays in the cache. Those share it that fill the same parts of it.
    static RodState<double>& state_of(const RodDescription& d, States& states) {
      auto& made = states.of[{int(states.chunk), d.segments, d.degree, d.ends[0].clamped, d.ends[1].clamped, d.damped}];
      if (made.empty() || !states.shared) made.push_back(std::make_unique<RodState<double>>(d));
      return *made.back();
    }

    // Cell number k from an end, -1: there is none.
    int cell(int e, int k) const { return e ? (k <= N ? N - k : -1) : (k <= N ? k : -1); }
    // Its node in the graph.
    int at_node(int c) const { return node + c - this->begin; }
    bool in_graph(int c) const { return c >= this->begin && c <= this->last; }
    // The frame of a cell that turns.
    std::size_t frame(int c) const { return std::size_t(d.frame_of(c)); }

    int node = 0;       // number of its first cell in the graph
    std::size_t at = 0; // of its state in y
    // Where its blocks are in the factors: those of k; of a cell next to an end with the place and the speed of the
    // body there, and of that place with the cell.
    std::vector<std::uint32_t> slots;
    std::vector<std::array<std::uint32_t, 3>> host_slots[2];
    std::uint32_t slot(int c, int o) const { return slots[k.slot(c, o)]; }
    std::unique_ptr<Discretization> grid;
    RodState<double>& s;
    Discretization::Blocks blocks;
    KBlocks k;
    int port[2] = {-1, -1}; // the host of an end among all hosts
    HostedEnd hosted[2];
    Vec3<double> pull[2], moment[2];           // on the bodies that hold ends, of the last `act`
    EndMotion before[2];                       // where the ends were when they were marked
    std::vector<Vec3<double>> rest;            // G0 without stretch
    std::vector<Vec3<double>> predicted, kept; // R'x' as `retract` has predicted it; forces meanwhile
    std::vector<double> reached;               // positions where that was
    bool led = false, timed = false;           // something is no constant, or a function of time
    std::vector<Vec3<double>> force, falls;    // of vertices, for reactions: forces, accelerations
    std::vector<Vec4<double>> alpha, p, w;     // at the last Jacobian
    std::vector<double> norm;
    std::vector<double> free_mass; // inverse masses, 0 where held
    std::vector<Vec3<double>> acceleration;
    std::vector<Vec3<double>> turned;    // by held strains
    std::vector<HeldLink<double>> links; // at the last Jacobian
    std::vector<HeldRow> rows;
    std::vector<HeldHost> held_by[2]; // of the strains next to an end on a body
    int tie_end = -1, tie = -1;       // the end whose tie stays in the graph, and which of all ties that is
    std::vector<double> tie_force;    // w lambda of the ties, as the bodies have found them
    std::unique_ptr<HeldStrains<double>> hold;
    std::unique_ptr<HeldStrains<D>> hold_dual;
  };

public:
  GYROD_COLD RodSystem(std::vector<RodDescription> rods, FormulationOptions options, std::vector<RodLink> between = {})
      : options_(options), links_(std::move(between)), states_{!Constrained && links_.empty(), 0, {}} {
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> links;
    for (const RodLink& link : links_)
      for (const LinkPoint& p : link.ends) {
        if (p.rod >= 0) rods[std::size_t(p.rod)].pulled = true;
        if (p.body >= 0) hosts_.push_back(p.body);
      }
    double segments = 0.0;
    for (const RodDescription& d : rods) segments += d.segments;
    for (RodDescription& d : rods) {
      states_.chunk = chunk_of(d, segments);
      rods_.push_back(std::make_unique<Rod>(std::move(d), states_));
      Rod& r = *rods_.back();
      chunks_.back().rods_end = rods_.size(), chunks_.back().led = chunks_.back().led || r.led;
      r.at = size_, size_ += std::size_t(r.size);
      r.node = int(sizes.size());
      for (int c = r.begin; c <= r.last; ++c) {
        sizes.push_back(B);
        for (int o = c - 1; o >= std::max(r.begin, r.k.first(c)); --o) links.emplace_back(r.at_node(o), r.at_node(c));
      }
      led_ = led_ || r.led, timed_ = timed_ || r.timed;
      for (const RodEnd& end : r.d.ends)
        if (end.host >= 0) hosts_.push_back(end.host);
    }
    std::sort(hosts_.begin(), hosts_.end());
    hosts_.erase(std::unique(hosts_.begin(), hosts_.end()), hosts_.end());
    motions_.resize(hosts_.size()), guests_.resize(hosts_.size()), felt_.resize(hosts_.size());
    cells_ = int(sizes.size());
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      sizes.insert(sizes.end(), host_nodes, B);
      for (int k = 1; k < host_nodes; ++k) links.emplace_back(place_node(int(h)), place_node(int(h)) + k);
    }
    for (auto& part : rods_)
      for (int e = 0; e < 2; ++e) {
        Rod& r = *part;
        if (r.d.ends[e].host < 0) continue;
        r.port[e] = host_of(r.d.ends[e].host);
        guests_[std::size_t(r.port[e])].emplace_back(&r, e);
        r.hosted[e].cells.resize(std::size_t(r.k.reach()) + 1);
        for_cells(r, e, [&](int, int c) {
          for (int k = 0; k < host_nodes; ++k) links.emplace_back(r.at_node(c), place_node(r.port[e]) + k);
        });
      }
    for (RodLink& link : links_) {
      const std::vector<int> nodes = nodes_of(link);
      for (int a : nodes)
        for (int b : nodes)
          if (a < b) links.emplace_back(a, b);
      timed_ = timed_ || link.timed();
    }
    for (auto& part : rods_)
      if (Rod& r = *part; r.tied()) {
        r.tie = int(tied_.size()), tied_.push_back(&r);
        sizes.push_back(B);
        for (int k = 0; k < host_nodes; ++k) links.emplace_back(tie_node(r), place_node(r.port[r.tie_end]) + k);
        const int j = r.tie_end ? r.N - 1 : 0;
        for (int o = r.hold->first(j); o < r.hold->first(j) + r.hold->cells(); ++o)
          if (r.in_graph(o)) links.emplace_back(r.at_node(o), tie_node(r));
        for (int e = 0; e < 2; ++e) {
          if (r.port[e] < 0) continue;
          ties_.push_back({&r, e, r.port[0] >= 0 && r.port[1] >= 0 ? int(ties_.size()) + (e ? -1 : 1) : -1});
          r.held_by[e].resize(std::size_t(r.hold->cells() - 1));
        }
      }
    pattern_ = BlockPattern(sizes, links, {}, hosts_.empty() ? -1 : cells_);
    make_groups();
    for (auto& r : rods_) find_slots(*r);
    for (int h = 0; h < int(hosts_.size()); ++h) { // through rods, and through the links between them
      joined_.emplace(h, h);
      for (int v : pattern_.later(place_node(h)))
        if (const int o = (v - cells_) / host_nodes; o < int(hosts_.size()) && v == place_node(o))
          joined_.emplace(h, o), joined_.emplace(o, h);
    }
    for (const auto& [a, b] : joined_) {
      const int columns[] = {place_node(b), speed_node(b), Constrained ? acceleration_node(b) : place_node(b)};
      left_.push_back(
          {a, b, {at(place_node(a), columns[0]), at(place_node(a), columns[1]), at(place_node(a), columns[2])}});
    }
    for (const Rod* r : tied_) {
      for (int h = 0; h < int(hosts_.size()); ++h)
        if (linked(tie_node(*r), place_node(h))) tie_links_.bodies.emplace_back(r->tie, h);
      for (const Rod* o : tied_)
        if (o == r || linked(tie_node(*r), tie_node(*o))) tie_links_.ties.emplace_back(r->tie, o->tie);
    }
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
    o.grid->revise();
    o.rest = o.d.G0;
    for (std::size_t n = 0; n < o.free_mass.size(); ++n) o.free_mass[n] = o.x_at[n] >= 0 ? o.inverse[n] : 0.0;
  }
  const char* apart() const override {
    if (Absolute || Constrained) return "the rods are in absolute coordinates, or some of their strains are held";
    if (!hosts_.empty() || !links_.empty())
      return "bodies hold a rod, or a cable, tendon, spring or bushing pulls at one";
    if (led_) return "something is a function of time or an input";
    for (const auto& r : rods_)
      if (!r->d.obstacles.empty()) return "a rod may touch an obstacle";
    return nullptr;
  }
  RodLayout layout(int r) const override {
    const Rod& o = *rods_[std::size_t(r)];
    const auto of_frames = [&](const std::vector<int>& at) {
      return std::vector<int>(at.begin() + o.d.cell_of(0), at.end());
    };
    return {of_frames(o.p_at), of_frames(o.w_at), o.x_at, o.v_at};
  }

  void rhs(double t, const double* y, double* dy) override {
    act(t, y, dy);
    rates(y, dy);
  }

  const std::vector<int>& hosts() const override { return hosts_; }
  GYROD_COLD std::vector<std::vector<int>> parties() const override {
    std::vector<std::vector<int>> out;
    for (const auto& [a, b] : joined_)
      if (a == b)
        out.push_back({hosts_[std::size_t(a)]});
      else if (a < b)
        out.push_back({hosts_[std::size_t(a)], hosts_[std::size_t(b)]});
    return out;
  }
  void host(int h, const HostMotion& m) override {
    motions_[std::size_t(h)] = m;
    const Vec4<double> p = spurrier_klumpp<double>(m.R);
    for (const auto& [r, e] : guests_[std::size_t(h)]) {
      const RodEnd& end = r->d.ends[e];
      EndMotion& to = r->ends[e];
      const Vec3<double> arm = m.R * end.point, swing = m.omega.cross(arm);
      to.x = m.x + arm, to.v = m.v + swing;
      to.a = m.a + m.alpha.cross(arm) + m.omega.cross(swing);
      to.p = multiply<double>(p, end.turn);
      const Mat3<double> R = matrix_from_quaternion<double>(to.p);
      to.Omega = R.transpose() * m.omega, to.alpha = R.transpose() * m.alpha;
    }
  }
  void mark() override {
    for (auto& r : rods_)
      for (int e = 0; e < 2; ++e) r->before[e] = r->ends[e];
  }
  // Forces of ties are not among those of the rods before they have been released.
  void act(double t, const double* y, double* dy) override {
    each_rod([&](Rod& r) {
      gather_forces(r, t, y);
      if (links_.empty()) conclude(r, t, y, dy);
    });
    if (links_.empty()) return;
    pull_links(t);
    each_rod([&](Rod& r) { conclude(r, t, y, dy); });
  }
  void wrench(int h, Vec3<double>& torque, Vec3<double>& force) const override {
    torque = felt_[std::size_t(h)].torque, force = felt_[std::size_t(h)].force;
    const HostMotion& m = motions_[std::size_t(h)];
    for (const auto& [r, e] : guests_[std::size_t(h)]) {
      force += r->pull[e];
      torque += (m.R * r->d.ends[e].point).cross(r->pull[e]);
      if (r->d.ends[e].clamped) torque += matrix_from_quaternion<double>(r->ends[e].p) * r->moment[e];
    }
  }
  void rates(const double* y, double* dy) override {
    for (Rod* r : tied_) r->template finish<double>(r->s, y + r->at, dy + r->at, options_);
  }

  void quasistatic(bool on) override {
    still_ = on;
    for (auto& r : rods_) // what moved before must not be remembered
      for (int e = 0; e < 2; ++e)
        if (r->port[e] < 0) r->ends[e] = r->d.ends[e].at;
  }
  // Of forces that hold strains there is one for each of them (Haynsworth), however stable the rods are; ties are
  // eliminated with the bodies, and counted there.
  int negative_pivots() const override {
    int n = real_->negative_pivots();
    for (const auto& r : rods_) n -= r->d.held * (r->N - r->tied());
    return n;
  }

  void time_derivative(double t, const double* y, double* ft) override {
    if (!timed_) return Equations::time_derivative(t, y, ft);
    this->difference_in_time(t, y, ft, scratch_);
  }

  void jacobian(double t, const double* y) override {
    if (!real_) prepare(real_, real_work_);
    if (!links_.empty()) act(t, y, nullptr);
    each_rod([&](Rod& r) { linearise(r, t, y); });
    far_.clear();
    for (const RodLink& link : links_) link_blocks(link, t, *this, [&](const FarBlock& b) { land(b); });
  }

  void host_blocks(std::vector<HostBlock<double>>& out) const override { left_over<double>(*real_, out); }
  void host_blocks(std::vector<HostBlock<Complex>>& out) const override { left_over<Complex>(*complex_, out); }
  void tie_blocks(TieBlocks<double>& out) const override { tie_left_over<double>(*real_, out); }
  void tie_blocks(TieBlocks<Complex>& out) const override { tie_left_over<Complex>(*complex_, out); }
  void reduce(const double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) override {
    reduce_with(*real_, b, out, ties);
  }
  void reduce(const Complex* b, std::vector<HostVector<Complex>>& out, std::vector<Vec3<Complex>>& ties) override {
    reduce_with(*complex_, b, out, ties);
  }
  void expand(double* b, const std::vector<HostVector<double>>& in, const std::vector<Vec3<double>>& ties) override {
    expand_with(*real_, b, in, ties);
  }
  void expand(Complex* b, const std::vector<HostVector<Complex>>& in, const std::vector<Vec3<Complex>>& ties) override {
    expand_with(*complex_, b, in, ties);
  }

  bool factor(double shift) override { return factor_with(*real_, shift); }
  bool factor(Complex shift) override {
    if (!complex_) prepare(complex_, complex_work_); // twice the memory, which real methods do not need
    return factor_with(*complex_, shift);
  }
  void solve(double* b) override { solve_with(*real_, b); }
  void solve(Complex* b) override { solve_with(*complex_, b); }
  void solve_transposed(double* b) override {
    clear_staying<double>();
    for (const Group& g : groups_) {
      recover_transposed(g, b);
      real_->backward_transposed(real_work_.x.data(), part(*real_, g));
      real_->forward_transposed(real_work_.x.data(), part(*real_, g));
      right_sides_transposed(g, b);
    }
  }
  void expand_transposed(double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) override {
    auto& x = real_work_.x;
    clear_staying<double>();
    for (const Group& g : groups_) {
      recover_transposed(g, b);
      real_->backward_transposed(x.data(), part(*real_, g));
    }
    out.resize(hosts_.size()), ties.resize(tied_.size());
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      const auto of = [&](int node) { return x[std::size_t(node)].template head<6>(); };
      out[h].body = hosts_[h];
      out[h].motion << of(place_node(int(h))), of(speed_node(int(h)));
      if constexpr (Constrained)
        out[h].acceleration = of(acceleration_node(int(h)));
      else
        out[h].acceleration.setZero();
    }
    for (const Rod* r : tied_) ties[std::size_t(r->tie)] = x[std::size_t(tie_node(*r))].template head<3>();
  }
  void reduce_transposed(double* b, const std::vector<HostVector<double>>& in,
                         const std::vector<Vec3<double>>& ties) override {
    auto& x = real_work_.x;
    clear_staying<double>();
    for (std::size_t h = 0; h < hosts_.size(); ++h)
      x[std::size_t(place_node(int(h)))].template head<6>() = in[h].wrench;
    for (const Rod* r : tied_) x[std::size_t(tie_node(*r))].template head<3>() = ties[std::size_t(r->tie)];
    for (const Group& g : groups_) {
      real_->forward_transposed(x.data(), part(*real_, g));
      right_sides_transposed(g, b);
    }
  }

  bool project([[maybe_unused]] double t, double* y) override {
    std::atomic<bool> any = false;
    each_rod([&](Rod& r) {
      bool moved = false;
      for (int n = r.begin; n <= r.last; ++n) {
        if (!r.turns(n)) continue;
        double *q = y + r.at + r.p_at[std::size_t(n)], *v = y + r.at + r.w_at[std::size_t(n)];
        if constexpr (Absolute)
          moved = AbsoluteQuaternion::project(q, v, options_) || moved;
        else
          moved = NullspaceQuaternion::normalise(q) || moved;
      }
      if constexpr (Constrained)
        if (r.d.held && !r.tied()) {
          move_ends(r, t);
          restore(r, y + r.at);
          moved = true;
        }
      if (moved) any.store(true, std::memory_order_relaxed);
    });
    return any;
  }

  // --- ties: held strains next to ends on bodies. A row is a component of one of them.
  int ties() const override { return int(ties_.size()); }
  TieLinks tie_links() const override {
    TieLinks of_bodies = tie_links_;
    for (auto& [tie, h] : of_bodies.bodies) h = hosts_[std::size_t(h)];
    return of_bodies;
  }
  Tie tie(int i) const override {
    const TieEnd& o = ties_[std::size_t(i)];
    const Rod& r = *o.rod;
    const std::size_t n = std::size_t(o.e ? r.N - 1 : 1), j = std::size_t(o.e ? r.N - 1 : 0);
    const double mobility = r.d.inverse_ds[j] * r.d.inverse_ds[j] * r.inverse[n];
    return {r.d.ends[o.e].host, 3 * (r.hold->cells() - 1), o.partner, mobility};
  }
  void tie_row(int i, int row, Matrix<double, 6, 1>& g) const override {
    if constexpr (Constrained) {
      const TieEnd& o = ties_[std::size_t(i)];
      const Rod& r = *o.rod;
      const int j = next_to(r, o.e, row / 3);
      const HeldLink<double>& l = r.hold->link(j, (o.e ? r.N : 0) - r.hold->first(j));
      const Vec3<double> move = l.move.row(row % 3).transpose();
      const HostMotion& m = motions_[std::size_t(r.port[o.e])];
      Vec3<double> turn = (m.R * r.d.ends[o.e].point).cross(move);
      if (r.d.degree && r.d.ends[o.e].clamped)
        turn += matrix_from_quaternion<double>(r.ends[o.e].p) * Vec3<double>(l.turn.row(row % 3).transpose());
      g << move, turn;
    }
  }
  double tie_value(int i, int row) const override {
    const TieEnd& o = ties_[std::size_t(i)];
    return o.rod->hold->tie_value(tie_of(*o.rod, o.e) + row / 3)[row % 3];
  }
  double tie_compliance(int i, int row, int j, int column) const override {
    const TieEnd &a = ties_[std::size_t(i)], &b = ties_[std::size_t(j)];
    return a.rod->hold->compliance(tie_of(*a.rod, a.e) + row / 3, tie_of(*b.rod, b.e) + column / 3)(row % 3,
                                                                                                    column % 3);
  }
  double measure_ties(bool positions, double t, const double* y) override {
    double largest = 0.0;
    if constexpr (Constrained)
      for (Rod* r : tied_) {
        move_ends(*r, t);
        largest = std::max(largest, measure(*r, y + r->at, positions));
        r->hold->eliminate();
      }
    return largest;
  }
  void move_ties(bool positions, const double* mu, double* y) override {
    if constexpr (Constrained)
      for (Rod* r : tied_) {
        r->hold->finish(mu), mu += 3 * r->hold->ties();
        displace(*r, y + r->at, positions);
      }
  }
  void release_ties(const double* mu) override {
    if constexpr (Constrained)
      for (Rod* r : tied_) {
        std::copy_n(mu, r->tie_force.size(), r->tie_force.begin()), mu += r->tie_force.size();
        r->hold->finish(r->tie_force.data()), r->hold->apply(r->s);
      }
  }

  // A displacement that bends a rod does not stretch it: see retract.hpp.
  void retract(double t, const double* y, const double* d, double by, double* out) override {
    each_rod([&](Rod& r) {
      move_ends(r, t);
      for (int e = 0; e < 2; ++e)
        if (r.port[e] < 0) r.before[e] = r.ends[e]; // held by nobody who could have moved
      RodRetraction<Absolute>(r, r.before, y + r.at, d + r.at, by, out + r.at).run(r.predicted);
      if constexpr (Constrained)
        if (r.d.held && !r.tied()) restore(r, out + r.at); // what was spread between two ends
      r.reached.assign(out + r.at, out + r.at + r.nq);
    });
  }

  // Has a rod folded?
  const char* trouble(double t, const double* y) const override {
    for (const auto& r : rods_) {
      EndMotion ends[2];
      for (int e = 0; e < 2; ++e) {
        ends[e] = r->port[e] >= 0 ? r->ends[e] : r->d.ends[e].at;
        if (r->d.ends[e].clamped && r->d.ends[e].led()) r->d.ends[e].move(t, ends[e]);
      }
      trouble_ = r->grid->folds(y + r->at, r->p_at, ends);
      if (!trouble_.empty()) return trouble_.c_str();
    }
    return nullptr;
  }

  const RodState<double>& state(int index, double t, const double* y) override {
    Rod& r = *rods_[std::size_t(index)];
    if (!links_.empty()) { // which may pull on it from others
      act(t, y, nullptr);
    } else {
      move_ends(r, t);
      r.template gather<double>(r.s, y + r.at);
      balance<double>(r, r.s, t);
    }
    if constexpr (Constrained)
      if (r.tied()) r.hold->finish(r.tie_force.data()), r.hold->apply(r.s); // as the bodies were asked last
    if (!r.d.held) r.grid->publish(r.s);                                    // held strains have done so
    return r.s;
  }

  RodMeasures measures(int index, double t, const double* y) override {
    Rod& r = *rods_[std::size_t(index)];
    state(index, t, y);
    RodMeasures m;
    m.strain = r.grid->strain_energy(r.s), m.curvature = r.grid->curvature_energy(r.s);
    m.dissipation = r.grid->dissipation(r.s), m.load_power = r.grid->load_power(t, r.s, r.ends);
    for (int n = 0; n <= r.N; ++n) {
      const std::size_t i = std::size_t(n);
      m.translation += 0.5 * r.d.mass[i] * r.s.v[i].squaredNorm();
      if (r.d.blended && n < r.N) m.translation += r.d.off[i] * r.s.v[i].dot(r.s.v[i + 1]);
      m.gravity -= r.d.tributary[i] * r.d.gravity.dot(r.s.x[i]);
    }
    for (std::size_t j = 0; j < r.s.w.size(); ++j)
      m.rotation += 0.5 * r.d.J[j].dot(r.s.w[j].template tail<3>().cwiseAbs2());
    for (const RodLoad& l : r.d.loads) // dead constant forces have a potential
      if (!l.follow && l.constant() && l.F)
        for (const auto& h : l.force) m.loads -= h.weight.cwiseProduct(l.F.vector(t)).dot(r.s.x[std::size_t(h.vertex)]);
    m.loads += r.grid->support_energy(r.s) + r.grid->centrifugal_energy(r.s);
    for (const RodLink& link : links_) { // counted once, with the first rod that they touch
      if ((link.ends[0].rod >= 0 ? link.ends[0].rod : link.ends[1].rod) != index) continue;
      const PointMotion ends[2] = {motion(link.ends[0]), motion(link.ends[1])};
      const LinkBudget b = std::visit([&](const auto& law) { return budget_of(law, t, ends); }, link.law);
      m.loads += b.energy, m.dissipation += b.dissipation, m.load_power += b.power;
      const LinkPush p = std::visit([&](const auto& law) { return force_of(law, t, ends); }, link.law);
      if (link.ends[0].body >= 0) m.load_power -= p.F.dot(ends[0].v) + p.M.dot(ends[0].R * ends[0].Omega);
      if (link.ends[1].body >= 0) m.load_power += p.F.dot(ends[1].v);
    }
    if (r.d.stretch && !still_) { // who changes the rest length works on the rod
      Jet g;
      r.d.stretch.jets(t, &g);
      for (std::size_t j = 0; j < r.rest.size(); ++j)
        m.load_power -= r.d.quadrature[j] * r.s.F[j][2] * g.v * r.rest[j][2];
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
    std::vector<Vec3<double>>&force = r.force, &a = r.falls;
    force = r.s.f;
    a = r.inertial(r.s);
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
      if (r.d.ends[e].clamped) {
        Vec3<double> needed = -r.s.end_moment[e];
        if (r.d.degree && !still_) { // the frame that is held has its own inertia
          const Vec3<double>&J = r.d.J[n], &Omega = r.ends[e].Omega;
          needed += J.cwiseProduct(angular_acceleration(r, e, t)) + Omega.cross(J.cwiseProduct(Omega));
        }
        moment = matrix_from_quaternion<double>(r.ends[e].p) * needed;
      }
      Part<3>::put(out + 6 * e, hold), Part<3>::put(out + 6 * e + 3, moment);
    }
  }

  Vec4<double> vertex_frame(int index, int n) const override {
    const Rod& r = *rods_[std::size_t(index)];
    return r.grid->vertex_frame(r.s, r.ends, n);
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
      for (int n = r->begin; n <= r->last; ++n) {
        if (!r->turns(n)) continue;
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
        r->grid->configuration(r->s);
        r->hold->configure(r->s);
        for (int j = 0; j < r->N; ++j) {
          position = std::max(position, r->hold->strain(j).cwiseAbs().maxCoeff());
          velocity = std::max(velocity, r->hold->strain_rate(j).cwiseAbs().maxCoeff());
        }
      }
  }

  void dense_jacobian(double t, const double* y, double* J) override {
    if constexpr (Constrained) return dense_jacobian_dual(t, y, J); // held strains make it a full matrix
    jacobian(t, y);
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) dense_rod(*r, J);
  }

  GYROD_COLD void dense_jacobian_dual(double t, const double* y, double* J) override {
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) {
      move_ends(*r, t);
      RodState<D> s(r->d);
      std::vector<D> q(std::size_t(r->size)), dq(q.size());
      for (std::size_t c = 0; c < q.size(); ++c) {
        for (std::size_t k = 0; k < q.size(); ++k) q[k] = k == c ? D::seed(y[r->at + k], 0) : D(y[r->at + k]);
        derivative<D>(*r, s, t, q.data(), dq.data());
        for (std::size_t k = 0; k < q.size(); ++k) J[(r->at + k) * size_ + r->at + c] = dq[k].d[0];
      }
    }
  }

  GYROD_COLD Counted::Tally operations(double t, const double* y) override {
    Counted::tally() = {};
    Counted::Tally total;
    for (auto& r : rods_) {
      RodState<Counted> s(r->d);
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
  // Omega' of a held frame, in its axes.
  static Vec3<double> angular_acceleration(const Rod& r, int e, double t) {
    if (!r.d.ends[e].frame) return r.ends[e].alpha;
    EndMotion m = r.ends[e];
    r.d.ends[e].move(t, m, true);
    return m.alpha;
  }

  void move_ends(Rod& r, double t) const {
    for (int e = 0; e < 2; ++e)
      if (r.d.ends[e].led()) {
        r.d.ends[e].move(t, r.ends[e]);
        if (still_) r.ends[e].v.setZero(), r.ends[e].a.setZero(), r.ends[e].Omega.setZero();
      }
    if (!r.d.stretch) return;
    const double g = r.d.stretch.number(t);
    for (std::size_t j = 0; j < r.rest.size(); ++j) r.d.G0[j][2] = g * r.rest[j][2];
  }

  // A number, vector or row-major matrix; returns what comes behind it.
  static const double* read(double& to, const double* from) { return to = *from, from + 1; }
  template <class M> static const double* read(M& to, const double* from) {
    for (int i = 0; i < to.rows(); ++i)
      for (int j = 0; j < to.cols(); ++j) to(i, j) = *from++;
    return from;
  }

  void gather_forces(Rod& r, double t, const double* y) const {
    move_ends(r, t);
    r.template gather<double>(r.s, y + r.at);
    r.grid->forces(t, r.s, r.ends);
  }
  // Blocks of the Jacobian of one rod.
  void linearise(Rod& r, double t, const double* y) {
    if (links_.empty()) gather_forces(r, t, y), hold_strains<double>(r, r.s, t);
    if constexpr (Constrained)
      if (r.tied()) r.hold->finish(r.tie_force.data()), r.hold->apply(r.s);
    const bool predicted =
        still_ && int(r.reached.size()) == r.nq && std::equal(r.reached.begin(), r.reached.end(), y + r.at);
    if (predicted) {                       // forces enter the blocks as geometric stiffness only
      if (!r.d.held) r.grid->publish(r.s); // held strains have done so, and added theirs
      for (std::size_t j = 0; j < r.kept.size(); ++j) {
        r.kept[j] = r.s.F[j];
        r.s.F[j] += r.d.CG[j] * (r.predicted[j] - r.s.G[j]);
      }
      r.grid->adopt(r.s);
    }
    if constexpr (Constrained)
      if (r.d.held) r.grid->adopt(r.s), r.links = r.hold->links();
    if constexpr (own_blocks)
      r.grid->blocks(t, r.s, r.ends, r.k);
    else
      r.grid->blocks(t, r.s, r.ends, r.blocks);
    if (predicted) r.s.F.swap(r.kept);
    for (std::size_t i = 0; i < r.p.size(); ++i) {
      r.p[i] = r.s.p[i], r.w[i] = r.s.w[i], r.norm[i] = r.s.p[i].squaredNorm();
      r.alpha[i] = r.template spin<double>(r.s, int(i), options_);
      if (Constrained && r.d.holds(int(i))) r.alpha[i] = held_spin<double>(r, i ? 1 : 0, t);
    }
    for (int e = 0; e < 2; ++e)
      if (r.port[e] >= 0) {
        const HostMotion& m = motions_[std::size_t(r.port[e])];
        if constexpr (own_blocks)
          r.grid->hosted(t, r.s, e, r.ends[e], m, r.k, r.hosted[e]);
        else
          r.grid->hosted(t, r.s, e, r.ends[e], m, r.blocks, r.hosted[e]);
        if constexpr (Absolute)
          for_cells(r, e, [&](int k, int c) {
            for (auto* by : {&r.hosted[e][k].by_place, &r.hosted[e][k].by_speed})
              by->template topRows<3>() *= moment_scale(r, c);
          });
      }
    inertia_rows(r);
    if constexpr (Constrained) {
      if (!r.d.held) return;
      constraint_rows(r, still_);
      for (int e = 0; e < 2; ++e)
        for (std::size_t k = 0; k < r.held_by[e].size(); ++k)
          r.held_by[e][k] = held_host(r, e, next_to(r, e, int(k)), motions_[std::size_t(r.port[e])], still_);
    }
  }
  // What is left when all but ties have pulled: held strains, what bodies feel, rates.
  void conclude(Rod& r, double t, const double* y, double* dy) const {
    hold_strains<double>(r, r.s, t);
    for (int e = 0; e < 2; ++e)
      if (r.port[e] >= 0) feel(r, e);
    if (dy && !r.tied()) r.template finish<double>(r.s, y + r.at, dy + r.at, options_);
  }
  static void feel(Rod& r, int e) { r.pull[e] = r.s.f[std::size_t(e ? r.N : 0)], r.moment[e] = r.s.end_moment[e]; }

  // --- links: see link_blocks.hpp
public:
  const RodState<double>& state(int r) const { return rods_[std::size_t(r)]->s; }
  const HostMotion& host(int h) const { return motions_[std::size_t(h)]; }
  PointMotion motion(const LinkPoint& p) const {
    return motion_of(p, p.rod < 0 ? nullptr : &state(p.rod), p.body < 0 ? nullptr : &host(p.host));
  }

private:
  int host_of(int body) const { return int(std::lower_bound(hosts_.begin(), hosts_.end(), body) - hosts_.begin()); }
  // Which end of a rod that a body holds is in a cell, -1: none.
  static int held_end(const Rod& r, int c) {
    return c == 0 && r.port[0] >= 0 ? 0 : c == r.N && r.port[1] >= 0 ? 1 : -1;
  }
  // Nodes of the graph that a link has to do with.
  std::vector<int> nodes_of(RodLink& link) const {
    std::vector<int> nodes;
    const auto add = [&](int host) {
      for (int k = 0; k < host_nodes; ++k) nodes.push_back(place_node(host) + k);
    };
    for (LinkPoint& p : link.ends) {
      if (p.body >= 0) add(p.host = host_of(p.body));
      for (int k = 0; k < p.cells(); ++k) {
        const Rod& r = *rods_[std::size_t(p.rod)];
        if (r.in_graph(p.cell(k))) nodes.push_back(r.at_node(p.cell(k)));
        if (const int e = held_end(r, p.cell(k)); e >= 0) add(r.port[e]);
      }
    }
    return nodes;
  }
  void pull_links(double t) {
    for (auto& w : felt_) w = {};
    for (const RodLink& link : links_) {
      const PointMotion m[2] = {motion(link.ends[0]), motion(link.ends[1])};
      const LinkPush p = std::visit([&](const auto& law) { return force_of(law, t, m); }, link.law);
      feel(link.ends[0], m[0], p), feel(link.ends[1], m[1], {-p.F});
    }
  }
  void feel(const LinkPoint& p, const PointMotion& m, const LinkPush& w) {
    if (p.rod >= 0) push(p, w.F, w.M, rods_[std::size_t(p.rod)]->d, rods_[std::size_t(p.rod)]->s);
    if (p.body < 0) return;
    Felt& to = felt_[std::size_t(p.host)];
    to.force += w.F, to.torque += (m.R * p.offset).cross(w.F) + w.M;
  }
  // A block of a link to where it belongs: what is held has neither rows nor columns, but the body that holds it.
  void land(FarBlock b) {
    if (!b.column.body()) {
      const Rod& r = *rods_[std::size_t(b.column.rod)];
      const int c = b.column.index;
      if (const int e = held_end(r, c); e >= 0)
        land_rows(held_columns(b, r.port[e], end_map(r, e), r.d.degree && r.d.ends[e].clamped));
      if (!r.in_graph(c)) return;
      if (!r.moves(c)) b.q.template rightCols<3>().setZero(), b.v.template rightCols<3>().setZero();
      if (!r.turns(c)) b.q.template leftCols<4>().setZero(), b.v.template leftCols<4>().setZero();
    }
    land_rows(b);
  }
  void land_rows(FarBlock b) {
    if (!b.row.body()) {
      const Rod& r = *rods_[std::size_t(b.row.rod)];
      const int c = b.row.index;
      if (const int e = held_end(r, c); e >= 0)
        far_.push_back(held_rows(b, r.port[e], end_map(r, e), r.d.degree && r.d.ends[e].clamped));
      if (!r.in_graph(c)) return;
      if (!r.moves(c)) b.q.template bottomRows<3>().setZero(), b.v.template bottomRows<3>().setZero();
      const double scale = r.turns(c) ? moment_scale(r, c) : 0.0;
      b.q.template topRows<3>() *= scale, b.v.template topRows<3>() *= scale;
    }
    far_.push_back(b);
  }
  EndMap end_map(const Rod& r, int e) const { return EndMap(r.d.ends[e], r.ends[e], host(r.port[e])); }
  // Its node in the graph, of a body that of its place; the first of its rows that are forces.
  int node_of(const Carrier& c) const {
    return c.body() ? place_node(c.index) : rods_[std::size_t(c.rod)]->at_node(c.index);
  }
  static int first_row(const Carrier& c) { return c.body() ? 0 : forces; }

  // Rods between which nothing but bodies is: of one, or, where there are links, of all. Their steps of the
  // elimination follow each other.
  struct Group {
    std::size_t rods, rods_end; // of rods_
    std::size_t steps, steps_end;
  };
  void make_groups() {
    const std::vector<int>& order = pattern_.order();
    if (!links_.empty()) {
      groups_.push_back({0, rods_.size(), 0, order.size()});
      return;
    }
    for (std::size_t r = 0; r < rods_.size(); ++r) groups_.push_back({r, r + 1, 0, 0});
    std::vector<std::size_t> rod_of(std::size_t(cells_), 0);
    for (std::size_t r = 0; r < rods_.size(); ++r)
      for (int c = rods_[r]->begin; c <= rods_[r]->last; ++c) rod_of[std::size_t(rods_[r]->at_node(c))] = r;
    for (std::size_t k = 0; k < order.size(); ++k) {
      Group& g = groups_[rod_of[std::size_t(order[k])]];
      if (g.steps == g.steps_end) g.steps = k;
      g.steps_end = k + 1;
    }
  }
  GYROD_COLD void find_slots(Rod& r) const {
    r.slots.resize(r.k.blocks());
    for (int c = r.begin; c <= r.last; ++c)
      for (int o = first(r, c); o <= last(r, c); ++o) r.slots[r.k.slot(c, o)] = at(r.at_node(c), r.at_node(o));
    for (int e = 0; e < 2; ++e) {
      if (r.port[e] < 0) continue;
      const int place = place_node(r.port[e]), speed = speed_node(r.port[e]);
      r.host_slots[e].resize(r.hosted[e].cells.size());
      for_cells(r, e, [&](int k, int c) {
        const int cell = r.at_node(c);
        r.host_slots[e][std::size_t(k)] = {at(cell, place), at(cell, speed), at(place, cell)};
      });
    }
  }
  template <class S> static auto part(const UniformLu<S, B>& lu, const Group& g) {
    return lu.part(g.steps, g.steps_end);
  }

  // Rods that follow each other, which one thread takes at a time: at most 64 chunks, of 96 segments or more, however
  // many threads there are. Functions of time are called by the thread of the caller: they may be Python's.
  struct Chunk {
    std::size_t rods, rods_end;
    double segments;
    bool led;
  };
  std::size_t chunk_of(const RodDescription& d, double all) {
    if (chunks_.empty() || chunks_.back().segments >= std::max(96.0, all / 64.0))
      chunks_.push_back({rods_.size(), rods_.size(), 0.0, false});
    chunks_.back().segments += d.segments;
    return chunks_.size() - 1;
  }
  template <class F> void each_chunk(F&& f) const {
    if (!threads() || chunks_.size() == 1) {
      for (const Chunk& c : chunks_) f(c);
      return;
    }
    for (const Chunk& c : chunks_)
      if (c.led) f(c);
    gyrod::share(threads(), chunks_.size(), [&](std::size_t k) {
      if (!chunks_[k].led) f(chunks_[k]);
    });
  }
  template <class F> void each_rod(F&& f) const {
    each_chunk([&](const Chunk& c) {
      for (std::size_t r = c.rods; r < c.rods_end; ++r) f(*rods_[r]);
    });
  }
  template <class F> void each_group(F&& f) const {
    if (!links_.empty()) return f(groups_[0]);
    each_chunk([&](const Chunk& c) {
      for (std::size_t r = c.rods; r < c.rods_end; ++r) f(groups_[r]);
    });
  }
  // Hosts, behind them ties: nodes that stay and have rows.
  template <class F> void each_rest(F&& f) const {
    share_all(threads(), hosts_.size() + tied_.size(), 32, [&](std::size_t k) { f(k); });
  }
  template <class F> void for_rods(const Group& g, F&& f) {
    for (std::size_t r = g.rods; r < g.rods_end; ++r) f(*rods_[r]);
  }

  // Of a body that holds ends: its place, its speed and, where strains are held, its acceleration.
  static constexpr int host_nodes = Constrained ? 3 : 2;
  int place_node(int h) const { return cells_ + host_nodes * h; }
  int speed_node(int h) const { return place_node(h) + 1; }
  int acceleration_node(int h) const { return place_node(h) + 2; }
  // Whether two nodes that stay feel each other.
  bool linked(int a, int b) const {
    const auto has = [&](int i, int j) {
      const auto& later = pattern_.later(i);
      return std::find(later.begin(), later.end(), j) != later.end();
    };
    return has(a, b) || has(b, a);
  }
  int tie_node(const Rod& r) const { return cells_ + host_nodes * int(hosts_.size()) + r.tie; }
  std::uint32_t at(int i, int j) const { return UniformLu<double, B>::at(pattern_, i, j); }
  // Strain k of those next to an end on a body; where the ties of an end begin among those of the rod.
  static int next_to(const Rod& r, int e, int k) { return e ? r.N - r.hold->cells() + 1 + k : k; }
  static int tie_of(const Rod& r, int e) { return e && r.port[0] >= 0 ? r.hold->cells() - 1 : 0; }
  // Cells of the graph that cell c couples to.
  static int first(const Rod& r, int c) { return std::max(r.begin, r.k.first(c)); }
  static int last(const Rod& r, int c) { return std::min(r.last, r.k.last(c)); }
  // Calls f(k, c) for the cells c of the graph within reach of an end, k cells from it.
  template <class G> static void for_cells(const Rod& r, int e, G&& f) {
    for (int k = 0; k <= r.k.reach(); ++k)
      if (const int c = r.cell(e, k); c >= 0 && r.in_graph(c)) f(k, c);
  }

  // Forces and moments of the state, those of held strains among them; links act on several rods and are left out.
  template <class S> void balance(const Rod& r, RodState<S>& s, double t) const {
    r.grid->forces(t, s, r.ends);
    hold_strains<S>(r, s, t);
  }
  // Forces that hold strains against all others.
  template <class S> void hold_strains(const Rod& r, RodState<S>& s, double t) const {
    if constexpr (Constrained) {
      if (!r.d.held) return;
      HeldStrains<S>& hold = held<S>(r);
      const std::size_t N = std::size_t(r.N);
      static thread_local std::vector<Vec3<S>> a;
      static thread_local std::vector<Vec4<S>> spins;
      a.resize(N + 1), spins.resize(s.p.size());
      for (std::size_t n = 0; n <= N; ++n)
        a[n] = r.x_at[n] >= 0 ? Vec3<S>(S(r.free_mass[n]) * s.f[n]) : Vec3<S>(r.ends[n ? 1 : 0].a.template cast<S>());
      for (std::size_t j = 0; j < spins.size(); ++j)
        spins[j] = r.d.holds(int(j)) ? held_spin<S>(r, j ? 1 : 0, t) : r.template spin<S>(s, int(j), options_);
      hold.configure(s);
      hold.factor();
      hold.second_rates(a, spins);
      if constexpr (std::is_same_v<S, double>) {
        r.grid->publish(s);
        if (r.tied()) return hold.eliminate(); // the bodies say how they pull
      }
      hold.solve(hold.lambda);
      hold.apply(s);
    }
  }
  // (0, Omega') of a frame that is held.
  template <class S> static Vec4<S> held_spin(const Rod& r, int e, double t) {
    const Vec3<double> a = angular_acceleration(r, e, t);
    return Vec4<S>(S(0), S(a[0]), S(a[1]), S(a[2]));
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
  // <p, dL/dp> for each frame: the constraint force of (30).
  void radial_forces(const Rod& r, double* out) const {
    r.grid->radial(r.s, out);
    for (std::size_t j = 0; j < r.s.w.size(); ++j) {
      const Vec3<double>& w = r.s.w[j].template tail<3>();
      out[j] =
          -out[j] + 2.0 * w.dot(r.d.J[j].cwiseProduct(w)); // the kinetic energy is quadratic with the opposite sign
    }
  }

  // --- the linear system ---------------------------------------------------------------------------------------------

  // Of moments in the rows of a cell.
  static double moment_scale(const Rod& r, int c) {
    return Absolute && r.turns(c) ? 1.0 / (r.norm[r.frame(c)] * r.norm[r.frame(c)]) : 1.0;
  }

  // Rows of the balance of moments, with inertia; rows and columns of held positions become those of the identity.
  void inertia_rows(Rod& r) const {
    for (int c = r.begin; c <= r.last; ++c) {
      const double factor = moment_scale(r, c);
      for (int o = first(r, c); o <= last(r, c); ++o) {
        auto &q = r.k.q(c, o), &v = r.k.v(c, o);
        if constexpr (!own_blocks) {
          q.setZero(), v.setZero();
          q.template middleRows<3>(turn - 3) = factor * r.blocks.q(c, o).template topRows<3>();
          v.template middleRows<3>(turn - 3) = factor * r.blocks.v(c, o).template topRows<3>();
          q.template middleRows<3>(turn) = r.blocks.q(c, o).template bottomRows<3>();
          v.template middleRows<3>(turn) = r.blocks.v(c, o).template bottomRows<3>();
        }
        if (!r.moves(c)) q.template middleRows<3>(turn).setZero(), v.template middleRows<3>(turn).setZero();
        if (!r.moves(o)) q.template rightCols<3>().setZero(), v.template rightCols<3>().setZero();
        if (!r.turns(c)) q.template topRows<turn>().setZero(), v.template topRows<turn>().setZero();
        if (!r.turns(o)) q.template leftCols<4>().setZero(), v.template leftCols<4>().setZero();
      }
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
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
  }

  template <class S> void left_over(const UniformLu<S, B>& lu, std::vector<HostBlock<S>>& out) const {
    out.resize(left_.size());
    share_all(threads(), left_.size(), 64, [&](std::size_t i) {
      HostBlock<S>& k = out[i];
      const Left& l = left_[i];
      k.row = hosts_[std::size_t(l.row)], k.column = hosts_[std::size_t(l.column)];
      const auto left = [&](int part) { // of B x B numbers a host has six
        return -lu.block(l.slots[part]).template topLeftCorner<6, 6>();
      };
      k.D.template leftCols<6>() = left(0), k.D.template rightCols<6>() = left(1);
      if constexpr (Constrained) k.A = left(2);
    });
  }
  template <class S> void tie_left_over(const UniformLu<S, B>& lu, TieBlocks<S>& out) const {
    out.on.clear(), out.own.clear();
    for (const auto& [tie, h] : tie_links_.bodies) {
      const int node = tie_node(*tied_[std::size_t(tie)]);
      TieBlock<S> k;
      k.tie = tie, k.body = hosts_[std::size_t(h)];
      k.D.template leftCols<6>() = lu.block(at(node, place_node(h))).template topLeftCorner<3, 6>();
      k.D.template rightCols<6>() = lu.block(at(node, speed_node(h))).template topLeftCorner<3, 6>();
      k.A = lu.block(at(node, acceleration_node(h))).template topLeftCorner<3, 6>();
      k.wrench = lu.block(at(place_node(h), node)).template topLeftCorner<6, 3>();
      out.on.push_back(k);
    }
    for (const auto& [a, b] : tie_links_.ties) {
      const int row = tie_node(*tied_[std::size_t(a)]), column = tie_node(*tied_[std::size_t(b)]);
      out.own.push_back({a, b, lu.block(at(row, column)).template topLeftCorner<3, 3>()});
    }
  }
  template <class S>
  void reduce_with(const UniformLu<S, B>& lu, const S* b, std::vector<HostVector<S>>& out, std::vector<Vec3<S>>& ties) {
    auto& k = work<S>();
    clear_staying<S>();
    each_group([&](const Group& g) {
      right_sides<S>(g, b);
      lu.forward(k.x.data(), part(lu, g));
    });
    out.resize(hosts_.size()), ties.resize(tied_.size());
    each_rest([&](std::size_t h) {
      if (h < hosts_.size()) host_side<S>(h);
      lu.forward_rest(k.x.data(), h);
      if (h < hosts_.size())
        out[h].body = hosts_[h], out[h].wrench = k.x[std::size_t(place_node(int(h)))].template head<6>();
    });
    for (const Rod* r : tied_) ties[std::size_t(r->tie)] = k.x[std::size_t(tie_node(*r))].template head<3>();
  }
  template <class S>
  void expand_with(const UniformLu<S, B>& lu, S* b, const std::vector<HostVector<S>>& in,
                   const std::vector<Vec3<S>>& ties) {
    auto& k = work<S>();
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      k.x[std::size_t(place_node(int(h)))].template head<6>() = in[h].motion.template head<6>();
      k.x[std::size_t(speed_node(int(h)))].template head<6>() = in[h].motion.template tail<6>();
      if constexpr (Constrained) k.x[std::size_t(acceleration_node(int(h)))].template head<6>() = in[h].acceleration;
    }
    for (const Rod* r : tied_) k.x[std::size_t(tie_node(*r))].template head<3>() = ties[std::size_t(r->tie)];
    each_group([&](const Group& g) {
      lu.backward(k.x.data(), part(lu, g));
      for_rods(g, [&](const Rod& r) { recover<S>(r, shift_of<S>(), b + r.at, k); });
    });
  }
  template <class S> S shift_of() const {
    if constexpr (std::is_same_v<S, double>)
      return real_shift_;
    else
      return complex_shift_;
  }
  template <class S> void clear_staying() {
    auto& k = work<S>();
    for (std::size_t i = std::size_t(cells_); i < k.x.size(); ++i) k.x[i].setZero();
  }
  template <class S> void right_sides(const Group& g, const S* b) {
    auto& k = work<S>();
    for_rods(g, [&](const Rod& r) {
      right_side<S>(r, shift_of<S>(), b + r.at, k);
      if constexpr (Constrained)
        if (r.d.held) held_sides<S>(r, b + r.at, k);
    });
    for (const FarBlock& b : far_)
      if (!b.column.body())
        k.x[std::size_t(node_of(b.row))].template segment<6>(first_row(b.row)) +=
            known_force<S>(*rods_[std::size_t(b.column.rod)], b.column.index, b.q, b.v);
  }
  template <class S> void host_side(std::size_t h) {
    auto wrench = work<S>().x[std::size_t(place_node(int(h)))].template head<6>();
    for (const auto& [r, e] : guests_[h])
      for_cells(*r, e, [&, rod = r, end = e](int i, int c) {
        wrench += known_force<S>(*rod, c, rod->hosted[end][i].wrench_q, rod->hosted[end][i].wrench_v);
      });
  }
  // What follows from b_q alone: derivatives by increments and rates of cell c, times what is known of them.
  template <class S>
  Matrix<S, 6, 1> known_force(const Rod& r, int c, const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v) {
    const auto& k = work<S>();
    const std::size_t cell = std::size_t(r.at_node(c));
    Matrix<S, 6, 1> f = q.template cast<S>() * k.known[cell];
    if constexpr (Absolute)
      if (r.turns(c)) f += v.template leftCols<4>().template cast<S>() * k.rates[cell].template head<4>();
    return f;
  }

  // Where the rows and columns of a held strain are: a node and how many of its rows come before them.
  std::pair<int, int> place_of(const Rod& r, int j) const {
    if (r.stays(j)) return {tie_node(r), 0};
    return {r.at_node(r.cell_of_strain(j)), R};
  }

  // Columns of lambda and rows of E'' in the matrix of a stage; at rest rows of a symmetric matrix.
  template <class S> void constraint_blocks(const Rod& r, UniformLu<S, B>& lu, S shift) {
    const auto block = [&](int a, int b) -> auto& { return lu.block(at(a, b)); };
    for (int c = r.begin; c <= r.last; ++c)
      if (!r.has_strain(c)) block(r.at_node(c), r.at_node(c)).template bottomRightCorner<3, 3>().setIdentity();
    Local<S> Tc, Tw;
    for (int j = 0; j < r.N && r.d.held; ++j) {
      const auto [node, from] = place_of(r, j);
      const double w = r.d.quadrature[std::size_t(j)];
      const S by = still_ ? S(w) : shift, inverse = S(1) / shift;
      for (int k = 0; k < r.hold->cells(); ++k) {
        const int o = r.hold->first(j) + k;
        if (!r.in_graph(o)) continue;
        const std::size_t n = std::size_t(j * r.hold->cells() + k);
        const HeldLink<double>& l = r.links[n];
        const HeldRow& row = r.rows[n];
        auto &mine = block(node, r.at_node(o)), &theirs = block(r.at_node(o), node);
        if (r.turns(o)) {
          maps<S>(r, r.frame(o), shift, work<S>().scale[std::size_t(r.at_node(o))], Tc, Tw);
          mine.template block<3, 3>(from, 0) += by * l.turn.template cast<S>() -
                                                row.q.template leftCols<4>().template cast<S>() * Tc -
                                                row.v.template middleCols<3>(1).template cast<S>();
          theirs.template block<3, 3>(0, from) += (w * l.turn.transpose()).template cast<S>();
        }
        if (!r.moves(o)) continue;
        mine.template block<3, 3>(from, 3) +=
            by * l.move.template cast<S>() - inverse * row.q.template rightCols<3>() - row.v.template rightCols<3>();
        theirs.template block<3, 3>(3, from) += (w * l.move.transpose()).template cast<S>();
      }
      if (r.d.held == 2) block(node, node)(from + 2, from + 2) = still_ && r.stays(j) ? S(-1) : S(1);
    }
    for (int e = 0; e < 2; ++e)
      for (std::size_t k = 0; k < r.held_by[e].size(); ++k) {
        const HeldHost& h = r.held_by[e][k];
        const int j = next_to(r, e, int(k)), place = place_node(r.port[e]);
        const auto [node, from] = place_of(r, j);
        const double w = r.d.quadrature[std::size_t(j)];
        const S by = still_ ? w * shift : S(1);
        block(node, place).template block<3, 6>(from, 0) += by * h.place.template cast<S>();
        block(node, place + 1).template block<3, 6>(from, 0) += h.speed.template cast<S>();
        block(node, place + 2).template block<3, 6>(from, 0) += h.acceleration.template cast<S>();
        const Matrix<double, 3, 6>& G = still_ ? h.place : h.acceleration;
        block(place, node).template block<6, 3>(0, from) += (w * G.transpose()).template cast<S>();
      }
  }
  // c = Tc nu + c_b and w = Tw nu + w_b for the unknown nu (Omega, or 2 conj(p) p'/|p|²) of frame j.
  template <class S>
  GYROD_INLINE void maps(const Rod& r, std::size_t j, S shift, S scale, Local<S>& Tc, Local<S>& Tw) const {
    const Vec4<double>& w = r.w[j];
    const S inverse = S(1) / shift;
    if constexpr (Absolute) {
      Tc.setZero(), Tc.diagonal().setConstant(inverse);
      Tw = (S(-0.5) * inverse) * quaternion_matrix_right<double>(w).template cast<S>();
      Tw.add_to_diagonal(S(1));
    } else {
      const S h0 = S(0.5) * scale * w[1], h1 = S(0.5) * scale * w[2], h2 = S(0.5) * scale * w[3], d = shift * scale;
      Tc(0, 0) = -h0, Tc(0, 1) = -h1, Tc(0, 2) = -h2; // (0, nu)(shift + Omega/2) scale
      Tc(1, 0) = d, Tc(1, 1) = h2, Tc(1, 2) = -h1;
      Tc(2, 0) = -h2, Tc(2, 1) = d, Tc(2, 2) = h0;
      Tc(3, 0) = h1, Tc(3, 1) = -h0, Tc(3, 2) = d;
    }
  }

  template <class S> bool factor_with(UniformLu<S, B>& lu, S shift) {
    if constexpr (std::is_same_v<S, double>)
      real_shift_ = shift;
    else
      complex_shift_ = shift;
    lu.clear_staying();
    std::atomic<bool> regular = true;
    each_group([&](const Group& g) {
      if (!regular.load(std::memory_order_relaxed)) return;
      lu.clear(part(lu, g));
      for_rods(g, [&](const Rod& r) { fill<S>(r, shift, lu); });
      if (!links_.empty()) fill_far<S>(shift, lu);
      if (!lu.factor(part(lu, g))) regular.store(false, std::memory_order_relaxed);
    });
    if (!regular) return false;
    each_rest([&](std::size_t k) {
      if (k < hosts_.size()) fill_host<S>(int(k), lu);
      lu.factor_rest(k);
    });
    lu.conclude();
    return true;
  }
  // What ends do to the body that holds them, and feel of it, by its own motion.
  template <class S> void fill_host(int h, UniformLu<S, B>& lu) const {
    const auto block = [&](int column) { return lu.block(at(place_node(h), column)).template topLeftCorner<6, 6>(); };
    for (const auto& [r, e] : guests_[std::size_t(h)]) {
      block(place_node(h)) -= r->hosted[e].own_place.template cast<S>();
      block(speed_node(h)) -= r->hosted[e].own_speed.template cast<S>();
    }
  }
  template <class S> void fill(const Rod& r, S shift, UniformLu<S, B>& lu) {
    const S inverse = S(1) / shift;
    Local<S> Tc, Tw;
    for (int o = r.begin; o <= r.last; ++o) { // column by column: the maps belong to columns
      if (r.turns(o)) {
        const S scale = S(1) / (shift * shift + S(0.25 * r.w[r.frame(o)].squaredNorm()));
        work<S>().scale[std::size_t(r.at_node(o))] = scale;
        maps<S>(r, r.frame(o), shift, scale, Tc, Tw);
      }
      const std::size_t i = std::size_t(o);
      for (int c = first(r, o); c <= last(r, o); ++c) {
        auto& whole = lu.block(r.slot(c, o));
        auto a = whole.template topRows<R>();
        const auto &q = r.k.q(c, o), &v = r.k.v(c, o);
        if (r.turns(o)) {
          if constexpr (Absolute)
            a.template leftCols<4>() =
                -inverse * q.template leftCols<4>() - v.template leftCols<4>().template cast<S>() * Tw;
          else
            a.template leftCols<3>() =
                -(q.template leftCols<4>().template cast<S>() * Tc) - v.template middleCols<3>(1).template cast<S>();
        }
        a.template middleCols<3>(turn) = -inverse * q.template rightCols<3>() - v.template rightCols<3>();
        if (r.d.blended && std::abs(c - o) == 1 && r.moves(c) && r.moves(o))
          a.template block<3, 3>(turn, turn).add_to_diagonal(shift * r.d.off[std::size_t(std::min(c, o))]);
      }
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0) host_column<S>(r, e, o, shift, Tc, Tw, lu);
      auto& a = lu.block(r.slot(o, o));
      for (int k = 0; k < turn; ++k) a(k, k) += r.turns(o) ? shift * weight(r, r.frame(o), k) : S(1);
      a.template block<3, 3>(turn, turn).add_to_diagonal(r.moves(o) ? shift * r.d.mass[i] : S(1));
    }
    if constexpr (Constrained) constraint_blocks<S>(r, lu, shift);
  }
  template <class S> void fill_far(S shift, UniformLu<S, B>& lu) {
    const S inverse = S(1) / shift;
    Local<S> Tc, Tw;
    for (const FarBlock& b : far_) {
      const int row = node_of(b.row), column = node_of(b.column), from = first_row(b.row);
      auto& a = lu.block(at(row, column));
      if (b.column.body()) {
        a.template block<6, 6>(from, 0) -= b.q.template leftCols<6>().template cast<S>();
        lu.block(at(row, column + 1)).template block<6, 6>(from, 0) -= b.v.template leftCols<6>().template cast<S>();
        continue;
      }
      const Rod& o = *rods_[std::size_t(b.column.rod)];
      const int c = b.column.index;
      if (o.turns(c)) {
        maps<S>(o, o.frame(c), shift, work<S>().scale[std::size_t(column)], Tc, Tw);
        a.template block<6, turn>(from, 0) -= by_spin<S>(b.q, b.v, Tc, Tw);
      }
      a.template block<6, 3>(from, turn) -= inverse * b.q.template rightCols<3>() + b.v.template rightCols<3>();
    }
  }
  // Derivatives by the unknown of a frame, from those by its increments and rates.
  template <class S>
  static Matrix<S, 6, turn> by_spin(const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v, const Local<S>& Tc,
                                    const Local<S>& Tw) {
    const Matrix<S, 6, turn> by_turn = q.template leftCols<4>().template cast<S>() * Tc;
    if constexpr (Absolute)
      return by_turn + v.template leftCols<4>().template cast<S>() * Tw;
    else
      return by_turn + v.template middleCols<3>(1).template cast<S>();
  }
  // Blocks of a cell with the body that holds the end next to it.
  template <class S>
  void host_column(const Rod& r, int e, int o, S shift, const Local<S>& Tc, const Local<S>& Tw,
                   UniformLu<S, B>& lu) const {
    const int k = e ? r.N - o : o;
    if (k > r.k.reach()) return;
    const HostedEnd& h = r.hosted[e];
    const auto& [place, speed, wrench] = r.host_slots[e][std::size_t(k)];
    lu.block(place).template block<6, 6>(forces, 0) -= h[k].by_place.template cast<S>();
    lu.block(speed).template block<6, 6>(forces, 0) -= h[k].by_speed.template cast<S>();
    auto& w = lu.block(wrench);
    if (r.turns(o)) w.template topLeftCorner<6, turn>() -= by_spin<S>(h[k].wrench_q, h[k].wrench_v, Tc, Tw);
    w.template block<6, 3>(0, turn) -= (S(1) / shift) * h[k].wrench_q.template rightCols<3>().template cast<S>() +
                                       h[k].wrench_v.template rightCols<3>().template cast<S>();
  }
  static double weight(const Rod& r, std::size_t j, int k) { // of a row of rotation
    if constexpr (Absolute) return k ? r.d.J[j][k - 1] : 1.0;
    return r.d.J[j][k];
  }

  template <class S> void solve_with(const UniformLu<S, B>& lu, S* b) {
    Work<S>& k = work<S>();
    each_group([&](const Group& g) { // no body holds one of them
      right_sides<S>(g, b);
      lu.forward(k.x.data(), part(lu, g));
      lu.backward(k.x.data(), part(lu, g));
      for_rods(g, [&](const Rod& r) { recover<S>(r, shift_of<S>(), b + r.at, k); });
    });
  }

  template <class S> using Increment = Matrix<S, 7, 1>;
  // For every cell: increments and rates that follow from b_q alone, the unknowns, and 1/(shift² + |Omega|²/4).
  template <class S> struct Work {
    std::vector<Increment<S>> known, rates;
    std::vector<Matrix<S, B, 1>> x;
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

  // Right-hand sides of the rows of held strains.
  template <class S> void held_sides(const Rod& r, const S* b, Work<S>& to) const {
    for (int j = 0; j < r.N; ++j) {
      Vec3<S> f = still_ ? Vec3<S>(Vec3<S>::Zero()) : given_strain_rate<S>(r, j, b);
      for (int k = 0; k < r.hold->cells(); ++k) {
        const int o = r.hold->first(j) + k;
        if (!r.in_graph(o)) continue;
        f += r.rows[std::size_t(j * r.hold->cells() + k)].q.template cast<S>() * to.known[std::size_t(r.at_node(o))];
      }
      if (r.d.held == 2) f[2] = S(0);
      const auto [node, from] = place_of(r, j);
      to.x[std::size_t(node)].template segment<3>(from) = f;
    }
  }

  template <class S> void right_side(const Rod& r, S shift, const S* b, Work<S>& k) const {
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      Increment<S>& q = k.known[cell];
      Matrix<S, B, 1>& f = k.x[cell];
      if (r.moves(c)) {
        q.template tail<3>() = inverse * Part<3>::of(b + r.x_at[i]);
        f.template segment<3>(turn) = r.d.mass[i] * Part<3>::of(b + r.v_at[i]);
        if (r.d.blended)
          for (int o : {c - 1, c + 1})
            if (o >= 0 && o <= r.N && r.moves(o))
              f.template segment<3>(turn) +=
                  r.d.off[std::size_t(std::min(c, o))] * Part<3>::of(b + r.v_at[std::size_t(o)]);
      } else {
        q.template tail<3>().setZero(), f.template segment<3>(turn).setZero();
      }
      if constexpr (Constrained) f.template tail<3>().setZero();
      if (!r.turns(c)) {
        q.template head<4>().setZero(), f.template head<turn>().setZero();
        continue;
      }
      const std::size_t j = r.frame(c);
      const Vec4<S> beta = local(r, j, b + r.p_at[i]);
      if constexpr (Absolute) {
        const Vec4<S> turned = inverse * beta, bv = local(r, j, b + r.w_at[i]);
        q.template head<4>() = turned;
        k.rates[cell].template head<4>() = S(-0.5) * multiply<S>(turned, r.w[j].template cast<S>());
        for (int n = 0; n < 4; ++n) f[n] = weight(r, j, n) * bv[n];
      } else {
        q.template head<4>() = resolved<S>(beta, r.w[j], shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) f[n] = weight(r, j, n) * b[r.w_at[i] + n];
      }
    }
    for (int c = r.begin; c <= r.last; ++c) {
      auto f = k.x[node + std::size_t(c)].template head<R>();
      for (int o = first(r, c); o <= last(r, c); ++o) {
        const std::size_t other = node + std::size_t(o);
        f += r.k.q(c, o).template cast<S>() * k.known[other];
        if constexpr (Absolute)
          if (r.turns(o))
            f += r.k.v(c, o).template leftCols<4>().template cast<S>() * k.rates[other].template head<4>();
      }
    }
  }

  template <class S> void recover(const Rod& r, S shift, S* b, const Work<S>& k) const {
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      const Matrix<S, B, 1>& d = k.x[cell];
      if (r.moves(c))
        for (int n = 0; n < 3; ++n) {
          b[r.v_at[i] + n] = d[turn + n];
          b[r.x_at[i] + n] = inverse * (b[r.x_at[i] + n] + d[turn + n]);
        }
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      const Vec4<S> p = r.p[j].template cast<S>();
      if constexpr (Absolute) {
        const Vec4<S> rate = S(0.5) * multiply<S>(p, Vec4<S>(d[0], d[1], d[2], d[3]));
        for (int n = 0; n < 4; ++n) {
          b[r.w_at[i] + n] = rate[n];
          b[r.p_at[i] + n] = inverse * (b[r.p_at[i] + n] + rate[n]);
        }
      } else {
        const Vec4<S> turned = k.known[cell].template head<4>() +
                               resolved<S>(Vec4<S>(S(0), d[0], d[1], d[2]), r.w[j], shift, k.scale[cell]);
        Part<4>::put(b + r.p_at[i], Vec4<S>(S(0.5) * multiply<S>(p, turned)));
        for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] = d[n];
      }
    }
  }

  // `recover` and `right_sides` transposed: from weights of the solution in b to those of the unknowns, from these on
  // to weights of b. Those of `known` and `rates` are kept there in between.
  void recover_transposed(const Group& g, double* b) {
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for_rods(g, [&](const Rod& r) {
      double* mine = b + r.at;
      for (int c = r.begin; c <= r.last; ++c) {
        const std::size_t i = std::size_t(c), cell = std::size_t(r.at_node(c));
        Matrix<double, B, 1>& d = k.x[cell];
        Increment<double>& q = k.known[cell];
        d.setZero(), q.setZero(), k.rates[cell].setZero();
        if (r.moves(c))
          for (int n = 0; n < 3; ++n) {
            mine[r.x_at[i] + n] *= inverse;
            d[turn + n] = mine[r.v_at[i] + n] + mine[r.x_at[i] + n];
            mine[r.v_at[i] + n] = 0.0;
          }
        if (!r.turns(c)) continue;
        const std::size_t j = r.frame(c);
        const Vec4<double> back = 0.5 * conjugate<double>(r.p[j]);
        if constexpr (Absolute) {
          const Vec4<double> turned = inverse * Part<4>::of(mine + r.p_at[i]);
          const Vec4<double> rate = multiply<double>(back, Vec4<double>(turned + Part<4>::of(mine + r.w_at[i])));
          for (int n = 0; n < 4; ++n) d[n] = rate[n], mine[r.w_at[i] + n] = 0.0;
          Part<4>::put(mine + r.p_at[i], turned);
        } else {
          const Vec4<double> turned = multiply<double>(back, Part<4>::of(mine + r.p_at[i]));
          q.template head<4>() = turned;
          const Vec4<double> spin = resolved<double>(turned, conjugate<double>(r.w[j]), shift, k.scale[cell]);
          for (int n = 0; n < 3; ++n) {
            d[n] = spin[n + 1] + mine[r.w_at[i] + n];
            mine[r.w_at[i] + n] = 0.0;
          }
          for (int n = 0; n < 4; ++n) mine[r.p_at[i] + n] = 0.0;
        }
      }
    });
  }
  void known_force_transposed(const Rod& r, int c, const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v,
                              const Matrix<double, 6, 1>& weight) {
    const std::size_t cell = std::size_t(r.at_node(c));
    real_work_.known[cell] += q.transpose() * weight;
    if constexpr (Absolute)
      if (r.turns(c)) real_work_.rates[cell].template head<4>() += v.template leftCols<4>().transpose() * weight;
  }
  void right_sides_transposed(const Group& g, double* b) {
    Work<double>& k = real_work_;
    for (const FarBlock& f : far_)
      if (!f.column.body())
        known_force_transposed(*rods_[std::size_t(f.column.rod)], f.column.index, f.q, f.v,
                               k.x[std::size_t(node_of(f.row))].template segment<6>(first_row(f.row)));
    for_rods(g, [&](const Rod& r) {
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0)
          for_cells(r, e, [&](int i, int c) {
            known_force_transposed(r, c, r.hosted[e][i].wrench_q, r.hosted[e][i].wrench_v,
                                   k.x[std::size_t(place_node(r.port[e]))].template head<6>());
          });
      if constexpr (Constrained)
        if (r.d.held) held_sides_transposed(r, b + r.at);
      right_side_transposed(r, b + r.at);
    });
  }
  void held_sides_transposed(const Rod& r, double* b) {
    for (int j = 0; j < r.N; ++j) {
      const auto [node, from] = place_of(r, j);
      Vec3<double> weight = real_work_.x[std::size_t(node)].template segment<3>(from);
      if (r.d.held == 2) weight[2] = 0.0;
      if (!still_) add_strain_rate(r, j, weight, b);
      for (int k = 0; k < r.hold->cells(); ++k)
        if (const int o = r.hold->first(j) + k; r.in_graph(o))
          real_work_.known[std::size_t(r.at_node(o))] +=
              r.rows[std::size_t(j * r.hold->cells() + k)].q.transpose() * weight;
    }
  }
  void right_side_transposed(const Rod& r, double* b) {
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o), cell = std::size_t(r.at_node(o));
      const Matrix<double, B, 1>& f = k.x[cell];
      Increment<double>& q = k.known[cell];
      Vec4<double> rates = k.rates[cell].template head<4>();
      for (int c = first(r, o); c <= last(r, o); ++c) {
        const Matrix<double, R, 1> row = k.x[std::size_t(r.at_node(c))].template head<R>();
        q += r.k.q(c, o).transpose() * row;
        if constexpr (Absolute)
          if (r.turns(o)) rates += r.k.v(c, o).template leftCols<4>().transpose() * row;
      }
      if (r.moves(o)) {
        const Vec3<double> push = f.template segment<3>(turn);
        for (int n = 0; n < 3; ++n) b[r.x_at[i] + n] += inverse * q[4 + n], b[r.v_at[i] + n] += r.d.mass[i] * push[n];
        if (r.d.blended)
          for (int c : {o - 1, o + 1})
            if (c >= 0 && c <= r.N && r.moves(c))
              for (int n = 0; n < 3; ++n)
                b[r.v_at[std::size_t(c)] + n] += r.d.off[std::size_t(std::min(c, o))] * push[n];
      }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      const Vec4<double> back = (2.0 / r.norm[j]) * r.p[j];
      Vec4<double> beta = q.template head<4>();
      if constexpr (Absolute) {
        Vec4<double> spin;
        for (int n = 0; n < 4; ++n) spin[n] = weight(r, j, n) * f[n];
        beta = inverse * Vec4<double>(beta - 0.5 * multiply<double>(rates, conjugate<double>(r.w[j])));
        Part<4>::put(b + r.w_at[i], Vec4<double>(Part<4>::of(b + r.w_at[i]) + multiply<double>(back, spin)));
      } else {
        beta = resolved<double>(beta, conjugate<double>(r.w[j]), shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] += weight(r, j, n) * f[n];
      }
      Part<4>::put(b + r.p_at[i], Vec4<double>(Part<4>::of(b + r.p_at[i]) + multiply<double>(back, beta)));
    }
  }

  template <class S> Work<S>& work() {
    if constexpr (std::is_same_v<S, double>)
      return real_work_;
    else
      return complex_work_;
  }

  // df/dy of a rod from its blocks, for tests and small problems.
  GYROD_COLD void dense_rod(const Rod& r, double* J) const {
    const auto entry = [&](int row, int column) -> double& {
      return J[(r.at + std::size_t(row)) * size_ + r.at + std::size_t(column)];
    };
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c);
      if (r.moves(c))
        for (int k = 0; k < 3; ++k) entry(r.x_at[i] + k, r.v_at[i] + k) = 1.0;
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      if constexpr (Absolute) {
        for (int k = 0; k < 4; ++k) entry(r.p_at[i] + k, r.w_at[i] + k) = 1.0;
      } else {
        const Vec4<double> half = 0.5 * r.w[j];
        const Mat4<double> D = quaternion_matrix_right<double>(half);
        const auto T = quaternion_nullspace<double>(r.p[j]);
        for (int a = 0; a < 4; ++a) {
          for (int k = 0; k < 4; ++k) entry(r.p_at[i] + a, r.p_at[i] + k) = D(a, k);
          for (int k = 0; k < 3; ++k) entry(r.p_at[i] + a, r.w_at[i] + k) = T(a, k);
        }
      }
    }
    // columns: a unit vector of the state as increments of its cell, times the column's blocks, through the inertia
    std::vector<Vec3<double>> f(std::size_t(r.N) + 1);
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o);
      const auto column = [&](int where, const Increment<double>& q, const Increment<double>& v) {
        for (auto& x : f) x.setZero();
        for (int c = first(r, o); c <= last(r, o); ++c) {
          const Matrix<double, R, 1> d = r.k.q(c, o) * q + r.k.v(c, o) * v;
          f[std::size_t(c)] = d.template segment<3>(turn);
          if (!r.turns(c)) continue;
          const std::size_t m = std::size_t(c);
          Vec4<double> a = Vec4<double>::Zero();
          for (int k = 0; k < turn; ++k) a[k + 4 - turn] = d[k] / weight(r, r.frame(c), k);
          if constexpr (Absolute) {
            const Vec4<double> b = 0.5 * multiply<double>(r.p[r.frame(c)], a);
            for (int k = 0; k < 4; ++k) entry(r.w_at[m] + k, where) = b[k];
          } else {
            for (int k = 0; k < 3; ++k) entry(r.w_at[m] + k, where) = a[k + 1];
          }
        }
        r.accelerate(f);
        for (int c = r.begin; c <= r.last; ++c)
          if (r.moves(c))
            for (int k = 0; k < 3; ++k) entry(r.v_at[std::size_t(c)] + k, where) = f[std::size_t(c)][k];
      };
      if (r.moves(o))
        for (int k = 0; k < 3; ++k) {
          const Increment<double> unit = Increment<double>::Unit(4 + k), none = Increment<double>::Zero();
          column(r.x_at[i] + k, unit, none), column(r.v_at[i] + k, none, unit);
        }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      const Vec4<double>& w = r.w[j];
      const Mat4<double> A = 2.0 / r.norm[j] * quaternion_matrix<double>(conjugate<double>(r.p[j]));
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

  template <class S> void prepare(std::unique_ptr<UniformLu<S, B>>& lu, Work<S>& k) const {
    // Forces on a body act at its place; of its velocities nothing but columns are asked for.
    const int ties = cells_ + host_nodes * int(hosts_.size());
    lu = std::make_unique<UniformLu<S, B>>(
        pattern_, [&](int v) { return v >= cells_ && v < ties && (v - cells_) % host_nodes != 0; });
    k.resize(std::size_t(pattern_.nodes()));
  }

  FormulationOptions options_;
  std::vector<RodLink> links_;
  States states_;
  std::vector<FarBlock> far_; // of the links
  std::vector<std::unique_ptr<Rod>> rods_;
  std::size_t size_ = 0;
  bool led_ = false, timed_ = false, still_ = false;
  int cells_ = 0;          // nodes of the graph before those of the hosts
  std::vector<int> hosts_; // bodies
  std::vector<HostMotion> motions_;
  struct Felt {
    Vec3<double> torque = Vec3<double>::Zero(), force = Vec3<double>::Zero();
  };
  std::vector<Felt> felt_;                                // by the hosts, of the links that end on them
  std::vector<std::vector<std::pair<Rod*, int>>> guests_; // of each host: rods and which of their ends
  std::set<std::pair<int, int>> joined_;                  // hosts that feel each other
  struct Left { // of them, and where blocks of the first are by place, speed and acceleration of the second
    int row, column;
    std::uint32_t slots[3];
  };
  std::vector<Left> left_;
  struct TieEnd {
    Rod* rod;
    int e, partner;
  };
  std::vector<TieEnd> ties_; // ends on bodies of rods with held strains
  TieLinks tie_links_;
  std::vector<Rod*> tied_; // these rods
  BlockPattern pattern_;
  std::vector<Group> groups_;
  std::vector<Chunk> chunks_;
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
