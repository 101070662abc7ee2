// Rods, the bodies that hold them and the links between them, whatever form their equations have: the forces of a
// state, what can be read of it, held strains, and the derivatives of forces. `RodStage` solves with these.
//
// An end that a body holds has no unknowns of its own: its vertex and its frame move with the body, its mass is part of
// the body's inertia. In the graph of a stage the body is two nodes (turn and place; spin and velocity) that are left
// when all cells are gone: what remains there is a dynamic stiffness between bodies, which the mechanism adds to its
// own. Bodies that links pull at are there too, whether they hold an end or not.
#pragma once

#include <set>

#include "gyrod/contact/search.hpp"
#include "gyrod/linear/block_pattern.hpp"
#include "gyrod/linear/threads.hpp"
#include "gyrod/rod/held.hpp"
#include "gyrod/rod/touches.hpp"

namespace gyrod {

class RodSet : public RodEquations {
public:
  std::size_t size() const override { return size_; }
  bool autonomous() const override { return !timed_; }
  int rods() const override { return int(rods_.size()); }
  const RodDescription& rod(int r) const override { return rods_[std::size_t(r)]->d; }
  std::size_t offset(int r) const override { return rods_[std::size_t(r)]->at; }
  void revise(int r, const RodNumbers& numbers) override;
  const char* apart() const override;
  RodLayout layout(int r) const override;

  void rhs(double t, const double* y, double* dy) override {
    act(t, y, dy);
    rates(y, dy);
  }
  void time_derivative(double t, const double* y, double* ft) override;
  bool project(double t, double* y) override;
  void quasistatic(bool on) override;
  // A displacement that bends a rod does not stretch it: see retract.hpp.
  void retract(double t, const double* y, const double* d, double by, double* out) override;
  // Has a rod folded?
  const char* trouble(double t, const double* y) const override;

  const std::vector<int>& hosts() const override { return hosts_; }
  std::vector<std::pair<int, int>> met() const override;
  bool met_others() const override { return met_others_; }
  void host(int h, const HostMotion& m) override;
  void mark() override;
  // Forces of ties are not among those of the rods before they have been released.
  void act(double t, const double* y, double* dy) override;
  void wrench(int h, Vec3<double>& torque, Vec3<double>& force) const override;
  void rates(const double* y, double* dy) override;

  // --- ties: held strains next to ends on bodies. A row is a component of one of them.
  int ties() const override { return int(ties_.size()); }
  TieLinks tie_links() const override;
  Tie tie(int i) const override;
  void tie_row(int i, int row, Matrix<double, 6, 1>& g) const override;
  double tie_value(int i, int row) const override;
  double tie_compliance(int i, int row, int j, int column) const override;
  double measure_ties(bool positions, double t, const double* y) override;
  void move_ties(bool positions, const double* mu, double* y) override;
  void release_ties(const double* mu) override;

  // --- contacts (touches.cpp)
  int contacts() const override { return int(contacts_.size()); }
  std::size_t stations(int contact) const override { return contacts_[std::size_t(contact)].stations.size(); }
  std::size_t memory() const override { return memory_; }
  void contacts(double t, const double* y, const std::vector<int>& listed, double* rows, ContactBudget* sums) override;
  int crossings() const override { return int(crossings_.pairs().size()); }
  void crossings(double t, const double* y, std::vector<Crossings::Reading>& out, Crossings::Budget* sums) override;
  bool accepted(double t, double* y) override;
  void aim(double t, const double* to) override;
  double reach(double t, const double* y) override;
  double reach(double t, const double* y, const double* to) override { return aim(t, to), reach(t, y); }
  double horizon() const override { return horizon_; }
  double overshoot(double t, const double* y) override;
  void impacts(double t, const double* y, double time, std::vector<Impact>& out) override;
  void revisit(double t, const double* y, std::vector<Impact>& them) override;
  void rest(double t, double* y, bool remember) override;
  bool soften(double factor) override;

  // --- points that slide
  int slides() const override { return slides_; }
  void slide_rows(double t, const double* y, double* rows) override;

  // --- readings (readings.cpp)
  void look(double t, const double* y) override;
  const RodState<double>& state(int index) override;
  RodMeasures measures(int index) override;
  void reactions(int index, double* out) override;
  Vec4<double> vertex_frame(int index, int n) const override;
  void multipliers(int index, double* out) override;
  void residual(const double* y, double& position, double& velocity) const override;
  void dense_jacobian_dual(double t, const double* y, double* J) override;
  Counted::Tally operations(double t, const double* y) override;

  // --- what links ask for: see link_blocks.hpp
  const RodState<double>& state(int r) const { return rods_[std::size_t(r)]->s; }
  const HostMotion& host(int h) const { return motions_[std::size_t(h)]; }
  PointMotion motion(const LinkPoint& p) const {
    return motion_of(p, p.rod < 0 ? nullptr : &state(p.rod), p.body < 0 ? nullptr : &host(p.host));
  }

protected:
  using Rod = RodPart;

  // block: unknowns of a node of the graph.
  RodSet(std::vector<RodDescription> rods, FormulationOptions options, std::vector<RodLink> between,
         ContactSet contacts, Turning form, bool held, int block);

  // The graph anew where points have slid to other vertices, or other things touch, than it knows of.
  bool weave();
  bool weaves() const { return slides_ > 0 || !crossings_.empty() || meets_; }

  // Derivatives of all forces: `blocks` and `hosted` of the rods, `far_` of the links. The form then adds inertia.
  void linearise(double t, const double* y);
  virtual void add_inertia(Rod& r) = 0;
  // Of moments in the rows of a cell.
  static double moment_scale(const Rod& r, int c) {
    return r.absolute() && r.turns(c) ? 1.0 / (r.norm[r.frame(c)] * r.norm[r.frame(c)]) : 1.0;
  }

  // --- the graph. Rods between which nothing but bodies is make a group: of one, or, where there are links, of all.
  // Their steps of the elimination follow each other.
  struct Group {
    std::size_t rods, rods_end; // of rods_
    std::size_t steps, steps_end;
  };
  // Of a body that holds ends: its place, its speed and, where strains are held, its acceleration.
  int place_node(int h) const { return cells_ + host_nodes_ * h; }
  int speed_node(int h) const { return place_node(h) + 1; }
  int acceleration_node(int h) const { return place_node(h) + 2; }
  int tie_node(const Rod& r) const { return cells_ + host_nodes_ * int(hosts_.size()) + r.tie; }
  std::uint32_t at(int i, int j) const { return std::uint32_t(pattern_.block(i, j) / std::size_t(block_ * block_)); }
  // The node of what carries a point, of a body that of its place.
  int node_of(const Carrier& c) const {
    return c.body() ? place_node(c.index) : rods_[std::size_t(c.rod)]->at_node(c.index);
  }

  // Rods that follow each other, which one thread takes at a time: at most 64 chunks, of 96 segments or more, however
  // many threads there are. Functions of time are called by the thread of the caller: they may be Python's.
  struct Chunk {
    std::size_t rods, rods_end;
    double segments;
    bool led;
  };
  // Compiled once, whoever calls it: with and without threads the same instructions give the same bits.
  template <class F, class X> GYROD_OUTLINE static void once(F& f, const X& x) { f(x); }
  template <class F> void each_chunk(F&& f) const {
    if (!threads() || chunks_.size() == 1) {
      for (const Chunk& c : chunks_) once(f, c);
      return;
    }
    for (const Chunk& c : chunks_)
      if (c.led) once(f, c);
    gyrod::share(threads(), chunks_.size(), [&](std::size_t k) {
      if (!chunks_[k].led) once(f, chunks_[k]);
    });
  }
  template <class F> void each_rod(F&& f) const {
    each_chunk([&](const Chunk& c) {
      for (std::size_t r = c.rods; r < c.rods_end; ++r) f(*rods_[r]);
    });
  }
  template <class F> void each_group(F&& f) const {
    if (tangled_) return f(groups_[0]);
    each_chunk([&](const Chunk& c) {
      for (std::size_t r = c.rods; r < c.rods_end; ++r) f(groups_[r]);
    });
  }
  // Hosts, behind them ties: nodes that stay and have rows.
  template <class F> void each_rest(F&& f) const {
    share_all(threads(), hosts_.size() + tied_.size(), 32, [&](std::size_t k) { once(f, k); });
  }
  template <class F> void for_rods(const Group& g, F&& f) {
    for (std::size_t r = g.rods; r < g.rods_end; ++r) f(*rods_[r]);
  }

  const Turning form_; // coordinates of frames
  const bool held_;    // there are held strains
  FormulationOptions options_;
  std::vector<RodLink> links_;
  std::vector<Contact> contacts_;
  Crossings crossings_;
  const bool tangled_;        // something acts on rods that is not theirs alone
  std::vector<FarBlock> far_; // of the links and contacts, beyond what a rod has itself
  std::vector<Recall> recalls_;
  std::vector<Grip> grips_;
  std::vector<std::size_t> latches_; // numbers of the state that change between steps only
  std::vector<std::size_t> idle_;    // bristles that nobody has, as three numbers each
  // Memory of contacts that are far: `each` numbers of a station, the first three of which are bristles or a force.
  struct Loose {
    std::size_t from, to, each;
    bool hard;
  };
  std::vector<Loose> loose_;
  std::vector<std::unique_ptr<Rod>> rods_;
  std::size_t size_ = 0;
  bool led_ = false, timed_ = false, still_ = false;
  bool drifts_ = false;    // time enters by the motion of ends alone
  int cells_ = 0;          // nodes of the graph before those of the hosts
  std::vector<int> hosts_; // bodies
  std::vector<HostMotion> motions_;
  std::vector<std::vector<std::pair<Rod*, int>>> guests_; // of each host: rods and which of their ends
  struct Left { // hosts that feel each other, and where blocks of the first are by place, speed, acceleration
    int row, column;
    std::uint32_t slots[3];
  };
  std::vector<Left> left_;
  TieLinks tie_links_;
  std::vector<Rod*> tied_; // rods with held strains that bodies hold
  BlockPattern pattern_;
  std::vector<Group> groups_;

private:
  struct TieEnd {
    Rod* rod;
    int e, partner;
  };
  struct Felt {
    Vec3<double> torque = Vec3<double>::Zero(), force = Vec3<double>::Zero();
  };

  void add_rods(std::vector<RodDescription> rods, std::vector<int>& sizes, std::vector<std::pair<int, int>>& edges);
  void add_hosts(std::vector<int>& sizes, std::vector<std::pair<int, int>>& edges);
  void add_ties(std::vector<int>& sizes, std::vector<std::pair<int, int>>& edges);
  void find_left();
  void make_pattern();
  void find_touching_edges();
  std::size_t chunk_of(const RodDescription& d, double all);
  void make_groups();
  void find_slots(Rod& r) const;
  int host_of(int body) const { return int(std::lower_bound(hosts_.begin(), hosts_.end(), body) - hosts_.begin()); }
  bool linked(int a, int b) const;
  void see_host(int host, std::vector<int>& nodes) const;
  void see_cell(int rod, int cell, std::vector<int>& nodes) const;
  std::vector<int> nodes_of(RodLink& link) const;

  void move_ends(Rod& r, double t) const;
  void gather_forces(Rod& r, double t, const double* y) const;
  void conclude(Rod& r, double t, const double* y, double* dy) const;
  void hold(Rod& r, double t) const {
    if (r.d.held) hold_strains<double>(r, r.s, *r.hold, t, options_);
  }
  void release(Rod& r) const {
    if (r.tied()) r.hold->finish(r.tie_force.data()), r.hold->apply(r.s);
  }
  void linearise(Rod& r, double t, const double* y);
  void pull_links(double t, const double* y, double* dy);
  void slide(RodLink& link, const double* y) const {
    gyrod::slide(link.ends[1], state(link.ends[1].rod).x, motion(link.ends[0]).x, y[link.ends[1].memory]);
  }
  void keep_slides(double t, double* y);
  void add_contacts();
  void add_pairs();
  bool hard() const { return !contacts_.empty() && contacts_[0].law.hard; } // all of them are, or none
  const std::vector<std::size_t>& close();
  // f(run) of what is remembered of contacts that are not close.
  template <class F> void far_memory(F&& f) const {
    std::size_t k = 0;
    for (const Loose& run : memories_) {
      Loose part = run;
      const auto give = [&](std::size_t to) {
        part.to = to;
        if (part.from < to) f(part);
      };
      for (; k < close_.size() && contacts_[close_[k]].memory < run.to; ++k) {
        const Contact& c = contacts_[close_[k]];
        if (c.memory < part.from) continue;
        give(c.memory);
        part.from = c.memory + c.stations.size() * run.each;
      }
      give(run.to);
    }
  }
  std::vector<int> nodes_of(const Contact& c, const Station& s) const;
  Vec3<double> place_of(const Station& s) const;
  void locate(const Contact& c, const Vec3<double>& x, ContactPlace& o) const;
  void follow(const Contact& c, const Station& s, std::size_t i, ContactPlace& o) const;
  ContactState state_of(const Contact& c, const Station& s, const ContactPlace& o, const space::Near& near,
                        const double* memory) const;
  bool near(const Contact& c, const Station& s, std::size_t i, ContactPlace& o, space::Near& found) const;
  void press(const double* y, double* dy);
  void press(const Contact& c, const Station& s, const ContactPlace& o, const ContactForce& f);
  void touch_blocks(const double* y);
  void ground_blocks(const Contact& c, const Station& s, const ContactPlace& o, const ContactSlopes& by);
  // Hard contacts (impacts.cpp): a force that is given, and what it does to carriers.
  void press_held(const Contact& c, const double* y, double* dy);
  void held_blocks(const Contact& c);
  double read_held(const Station& s, const ContactPlace& o, const space::Near& found, const double* memory,
                   ContactForce& f) const;
  bool passes(const Contact& c, const Station& s, std::size_t i, const Vec3<double>& p, double least);
  void meet(const Station& s, const ContactPlace& o, const space::Near& found, Impact& out) const;
  int levers_of(const Contact& c, const Station& s, const ContactPlace& o, Lever* out) const;
  void turn_blocks(const Contact& c, const Station& s, const ContactPlace& o, const Vec3<double>& F,
                   const Vec3<double>& M);
  void land(Lever l, const ContactSlopes& by);
  void gather_contacts(double t, const double* y);
  ContactBudget read_contact(const Contact& c, const double* y, double* rows) const;
  void see_moves();
  const double* slots(const double* y) const; // what rods remember of friction among themselves
  void crossing_blocks(const double* y);
  void feel(const LinkPoint& p, const PointMotion& m, const LinkPush& w);
  void land(FarBlock b);
  void land_rows(FarBlock b);
  EndMap end_map(const Rod& r, int e) const { return EndMap(r.d.ends[e], r.ends[e], host(r.port[e])); }
  template <class S> void derivative(const Rod& r, RodState<S>& s, HeldStrains<S>* held, double t, const S* y, S* dy);

  // Of an impact without speed: what touches then stays there.
  static constexpr double slow_impact = 20.0;

  const int block_, host_nodes_;
  double looked_at_ = 0.0; // by `look`
  const double* looked_ = nullptr;
  int slides_ = 0;
  std::vector<Crossings::Curve> curves_;            // of rods
  bool meets_ = false, met_others_ = false;         // contacts couple bodies; they do it otherwise than before
  std::size_t first_touch_ = 0, last_touch_ = 0;    // blocks of contacts among far_
  std::vector<std::pair<int, int>> touching_edges_; // of the graph as it is
  std::vector<std::vector<Vec3<double>>> aims_;     // of their vertices
  std::vector<Vec3<double>> goals_;                 // of stations, in the axes of their surfaces
  std::size_t slots_ = 0;                           // where the state has what they remember of each other
  std::vector<std::pair<int, int>> found_edges_;    // of what touches now
  std::vector<std::array<int, 6>> windows_;
  std::vector<int> window_nodes_;
  std::vector<int> sizes_;                 // of nodes
  std::vector<std::pair<int, int>> edges_; // of the graph without points that slide
  RodPart::States states_;
  mutable std::vector<Felt> pulls_;      // of the ends of all rods, on the bodies that hold them
  std::vector<Felt> felt_;               // by the hosts, of the links that end on them
  std::set<std::pair<int, int>> joined_; // hosts that feel each other
  std::vector<TieEnd> ties_;             // ends on bodies of rods with held strains
  std::size_t memory_ = 0;               // where that of contacts begins
  double softened_ = 1.0;
  double fall_ = 0.0;                   // s: hard contacts are near that could close within it
  std::vector<Vec3<double>> came_from_; // of stations of hard contacts: where they were in the last step, and when
  double came_at_ = 0.0;
  double horizon_ = std::numeric_limits<double>::infinity();
  using V3 = Vec3<double>;
  struct Away { // nothing is nearer to p than this: it only saves work
    Vec3<double> p = Vec3<double>::Zero();
    double by = 0.0;
  };
  mutable std::vector<Away> away_;       // of stations
  NearPairs pairs_;                      // contacts between bodies, which are balls about their centres of mass
  std::vector<std::size_t> always_;      // contacts that are not among them
  std::vector<std::size_t> close_;       // what may touch where the bodies are, in its order
  std::vector<V3> centres_;              // of hosts
  std::vector<double> sizes_of_hosts_;   // radii of the balls
  std::vector<Loose> memories_;          // of contacts among `pairs_`
  double margin_ = 0.0, gravity_ = 0.0;  // how far away they may feel each other, and how fast they may come
  std::vector<Vec3<double>> rest_place_; // of stations at the last rest, and frames and bodies there
  std::vector<std::vector<Mat3<double>>> rest_frames_;
  std::vector<Mat3<double>> rest_bodies_;
  std::vector<double> rest_memory_;
  std::vector<std::vector<Vec3<double>>> rest_vertices_, moved_, turned_; // of rods; since then, of vertices and frames
  std::vector<Chunk> chunks_;
  std::vector<double> scratch_;
  mutable std::string trouble_;
  mutable std::vector<Vec4<double>> frames_;
};

} // namespace gyrod
