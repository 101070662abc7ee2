#include "gyrod/rod/set.hpp"

#include <atomic>

#include "gyrod/rod/retract.hpp"

namespace gyrod {
namespace {
// A number, vector or row-major matrix; returns what comes behind it.
const double* read(double& to, const double* from) { return to = *from, from + 1; }
template <class M> const double* read(M& to, const double* from) {
  for (int i = 0; i < to.rows(); ++i)
    for (int j = 0; j < to.cols(); ++j) to(i, j) = *from++;
  return from;
}
} // namespace

RodState<double>& RodPart::States::of_rod(const RodDescription& d) {
  auto& made = of[{int(chunk), d.segments, d.degree, d.ends[0].clamped, d.ends[1].clamped, d.damped}];
  if (made.empty() || !shared) made.push_back(std::make_unique<RodState<double>>(d));
  return *made.back();
}

GYROD_COLD RodPart::RodPart(RodDescription description, Turning form, States& states)
    : RodChain(std::move(description), form), grid(make_discretization(d)), s(states.of_rod(d)),
      blocks(N + 1, d.coupled ? 2 : 1, d.degree), alpha(std::size_t(d.frames())), p(alpha.size()), w(alpha.size()),
      norm(alpha.size()), turnings(form.plain() ? 0 : alpha.size()) {
  for (const RodEnd& end : d.ends) led = led || end.led(), timed = timed || end.timed();
  for (const RodLoad& l : d.loads) led = led || !l.constant(), timed = timed || l.timed();
  led = led || bool(d.stretch), timed = timed || d.stretch.timed();
  drifts = timed && !d.stretch.timed() && !d.blended && !d.held && (form.plain() || absolute());
  for (const RodLoad& l : d.loads) drifts = drifts && !l.timed();
  for (const RodEnd& end : d.ends) drifts = drifts && (end.held || !end.timed());
  for (int e = 0; e < 2; ++e)
    if (drifts && d.ends[e].timed()) hosted[e].cells.resize(std::size_t(blocks.reach()) + 1);
  rest = d.G0;
  predicted.resize(std::size_t(N)), kept.resize(std::size_t(N));
  if (!d.held) return;
  for (int n = 0; n <= N; ++n) free_mass.push_back(moves(n) ? inverse[std::size_t(n)] : 0.0);
  hold = std::make_unique<HeldStrains<double>>(d, free_mass);
  acceleration.resize(free_mass.size()), turned.resize(s.p.size());
  for (int e = 0; e < 2; ++e)
    if (d.ends[e].host >= 0) hold->tie(e), tie_end = e;
  tie_force.resize(std::size_t(3 * hold->ties()));
  rows.resize(std::size_t(N * hold->cells()));
  if (tie_end < 0) last = N; // strain j belongs to cell j + 1, whatever else that has
}

void RodPart::drift(int e, double t) {
  // The end is that of a body which moves as it does.
  const EndMotion& end = ends[e];
  const Mat3<double> R = matrix_from_quaternion<double>(end.p);
  const HostMotion m{end.x, end.v, R * end.Omega, R, end.a, R * end_spin_rate(e, t)};
  grid->hosted(t, s, e, end, m, blocks, hosted[e]);
  Matrix<double, 6, 1> speed, acceleration;
  speed << m.omega, m.v;
  acceleration << m.alpha, m.a;
  for (HostedEnd::Cell& k : hosted[e].cells) k.drift = k.by_place * speed + k.by_speed * acceleration;
}

void RodPart::add_drift(double* ft) const {
  for (int e = 0; e < 2; ++e)
    if (d.ends[e].timed())
      near(e, [&](int k, int c) {
        const std::size_t n = std::size_t(c);
        const Matrix<double, 6, 1>& by = hosted[e][k].drift;
        for (int i = 0; i < 3 && moves(c); ++i) ft[at + v_at[n] + i] += inverse[n] * by[3 + i];
        if (!turns(c)) return;
        const Vec3<double> alpha = d.inverse_J[frame(c)].cwiseProduct(by.head<3>());
        double* to = ft + at + w_at[n];
        if (absolute()) {
          const double scale = 0.5 / (norm[frame(c)] * norm[frame(c)]);
          const Vec4<double> turn = multiply<double>(p[frame(c)], Vec4<double>(0.0, alpha[0], alpha[1], alpha[2]));
          for (int i = 0; i < 4; ++i) to[i] += scale * turn[i];
        } else {
          for (int i = 0; i < 3; ++i) to[i] += alpha[i];
        }
      });
}

namespace {
// Nodes that all see each other.
void join(const std::vector<int>& nodes, std::vector<std::pair<int, int>>& edges) {
  for (int a : nodes)
    for (int b : nodes)
      if (a < b) edges.emplace_back(a, b);
}
} // namespace

GYROD_COLD RodSet::RodSet(std::vector<RodDescription> rods, FormulationOptions options, std::vector<RodLink> between,
                          ContactSet contacts, Turning form, bool held, int block)
    : form_(form), held_(held), options_(options), links_(std::move(between)),
      contacts_(std::move(contacts.with_surfaces)), crossings_(std::move(contacts.among_rods)),
      tangled_(!links_.empty() || !contacts_.empty() || !crossings_.empty()), block_(block), host_nodes_(held ? 3 : 2),
      states_{!held && !tangled_, 0, {}} {
  add_rods(std::move(rods), sizes_, edges_);
  add_hosts(sizes_, edges_);
  memory_ = size_;
  for (RodLink& link : links_) {
    timed_ = timed_ || link.timed();
    if (link.slides()) {
      LinkPoint& p = link.ends[1];
      p.memory = size_++, latches_.push_back(p.memory), ++slides_;
      place_at(p, p.at);
    }
    const int counted = link.ends[link.ends[0].rod < 0].rod;
    rods_[std::size_t(counted)]->counts.push_back(int(&link - links_.data()));
    const std::vector<int> nodes = nodes_of(link);
    if (!link.slides()) join(nodes, edges_);
  }
  for (const auto& r : rods_) curves_.push_back({r->s.x.data(), r->s.v.data(), r->s.R.data(), r->s.w.data()});
  add_contacts();
  for (const Contact& c : contacts_) {
    meets_ = meets_ || c.body >= 0; // then who feels whom depends on what touches
    for (const Station& station : c.stations)
      if (c.body < 0) join(nodes_of(c, station), edges_);
  }
  drifts_ = timed_ && !tangled_ && hosts_.empty();
  for (const auto& r : rods_) drifts_ = drifts_ && (r->drifts || !r->timed);
  add_ties(sizes_, edges_);
  make_pattern();
}

GYROD_COLD void RodSet::make_pattern() {
  std::vector<std::pair<int, int>> edges = edges_;
  for (RodLink& link : links_) {
    if (!link.slides()) continue;
    LinkPoint& p = link.ends[1];
    p.woven[0] = p.segment, p.woven[1] = p.count;
    join(nodes_of(link), edges);
  }
  edges.insert(edges.end(), touching_edges_.begin(), touching_edges_.end());
  // Forces on a body act at its place; of its velocities nothing but columns are asked for.
  std::vector<int> rows = sizes_;
  for (int h = 0; h < int(hosts_.size()); ++h)
    for (int k = 1; k < host_nodes_; ++k) rows[std::size_t(place_node(h) + k)] = 0;
  pattern_ = BlockPattern(std::move(rows), sizes_, edges, {}, hosts_.empty() ? -1 : cells_);
  make_groups();
  for (auto& r : rods_) find_slots(*r);
  find_left();
}

bool RodSet::weave() {
  const bool known = std::all_of(links_.begin(), links_.end(), [](const RodLink& l) {
    const LinkPoint& p = l.ends[1];
    return !p.slides() || (p.woven[0] == p.segment && p.woven[1] == p.count);
  });
  find_touching_edges();
  const bool same = found_edges_ == touching_edges_;
  met_others_ = false;
  if (known && same) return false;
  touching_edges_ = found_edges_;
  const std::set<std::pair<int, int>> before = joined_;
  const TieLinks tied = tie_links_;
  make_pattern();
  met_others_ = before != joined_ || tied.bodies != tie_links_.bodies || tied.ties != tie_links_.ties;
  return true;
}

// Of all nodes that see each other through what touches.
void RodSet::find_touching_edges() {
  auto& windows = windows_;
  windows.clear();
  for (const Crossings::Touch& o : crossings_.found()) {
    const int* rods = crossings_.pairs()[std::size_t(o.crossing)].rods;
    windows.push_back({rods[0], o.on[0].first, o.on[0].count, rods[1], o.on[1].first, o.on[1].count});
  }
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  found_edges_.clear();
  for (const auto& w : windows) {
    window_nodes_.clear();
    for (std::size_t e = 0; e < 6; e += 3)
      for (int k = 0; k < w[e + 2]; ++k) see_cell(w[e], w[e + 1] + k, window_nodes_);
    join(window_nodes_, found_edges_);
  }
  for (std::size_t k = first_touch_; meets_ && k < last_touch_; ++k) {
    const FarBlock& f = far_[k];
    const int a = node_of(f.row), b = node_of(f.column);
    for (int i = 0; i < (f.column.body() ? host_nodes_ : 1); ++i)
      if (a != b + i) found_edges_.emplace_back(std::min(a, b + i), std::max(a, b + i));
  }
  std::sort(found_edges_.begin(), found_edges_.end());
  found_edges_.erase(std::unique(found_edges_.begin(), found_edges_.end()), found_edges_.end());
}

// Cells, and which of them see each other.
GYROD_COLD void RodSet::add_rods(std::vector<RodDescription> rods, std::vector<int>& sizes,
                                 std::vector<std::pair<int, int>>& edges) {
  for (const RodLink& link : links_)
    for (const LinkPoint& p : link.ends) {
      if (p.rod >= 0) rods[std::size_t(p.rod)].pulled = true;
      if (p.body >= 0) hosts_.push_back(p.body);
    }
  for (const Contact& c : contacts_) {
    if (c.body >= 0) hosts_.push_back(c.body);
    for (const Station& s : c.stations) {
      if (s.rod >= 0 && c.turns()) rods[std::size_t(s.rod)].pulled = true;
      if (s.body >= 0) hosts_.push_back(s.body);
    }
  }
  for (const RodPair& c : crossings_.pairs())
    for (int r : c.rods) rods[std::size_t(r)].pulled = rods[std::size_t(r)].pulled || c.rubs();
  double segments = 0.0;
  for (const RodDescription& d : rods) segments += d.segments;
  for (RodDescription& d : rods) {
    states_.chunk = chunk_of(d, segments);
    rods_.push_back(std::make_unique<Rod>(std::move(d), form_, states_));
    Rod& r = *rods_.back();
    chunks_.back().rods_end = rods_.size(), chunks_.back().led = chunks_.back().led || r.led;
    r.index = int(rods_.size()) - 1;
    r.at = size_, size_ += std::size_t(r.size);
    r.node = int(sizes.size());
    for (int c = r.begin; c <= r.last; ++c) {
      sizes.push_back(block_);
      for (int o = c - 1; o >= r.first(c); --o) edges.emplace_back(r.at_node(o), r.at_node(c));
    }
    led_ = led_ || r.led, timed_ = timed_ || r.timed;
    for (const RodEnd& end : r.d.ends)
      if (end.host >= 0) hosts_.push_back(end.host);
  }
  cells_ = int(sizes.size());
}

// Bodies that hold ends, and the cells that feel them.
GYROD_COLD void RodSet::add_hosts(std::vector<int>& sizes, std::vector<std::pair<int, int>>& edges) {
  std::sort(hosts_.begin(), hosts_.end());
  hosts_.erase(std::unique(hosts_.begin(), hosts_.end()), hosts_.end());
  motions_.resize(hosts_.size()), guests_.resize(hosts_.size()), felt_.resize(hosts_.size());
  if (!hosts_.empty()) pulls_.resize(2 * rods_.size());
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    sizes.insert(sizes.end(), std::size_t(host_nodes_), block_);
    for (int k = 1; k < host_nodes_; ++k) edges.emplace_back(place_node(int(h)), place_node(int(h)) + k);
  }
  for (auto& part : rods_)
    for (int e = 0; e < 2; ++e) {
      Rod& r = *part;
      if (r.d.ends[e].host < 0) continue;
      r.port[e] = host_of(r.d.ends[e].host);
      guests_[std::size_t(r.port[e])].emplace_back(&r, e);
      r.hosted[e].cells.resize(std::size_t(r.blocks.reach()) + 1);
      r.near(e, [&](int, int c) {
        for (int k = 0; k < host_nodes_; ++k) edges.emplace_back(r.at_node(c), place_node(r.port[e]) + k);
      });
    }
}

// Held strains that stay to the last.
GYROD_COLD void RodSet::add_ties(std::vector<int>& sizes, std::vector<std::pair<int, int>>& edges) {
  for (auto& part : rods_)
    if (Rod& r = *part; r.tied()) {
      r.tie = int(tied_.size()), tied_.push_back(&r);
      sizes.push_back(block_);
      for (int k = 0; k < host_nodes_; ++k) edges.emplace_back(tie_node(r), place_node(r.port[r.tie_end]) + k);
      const int j = r.tie_end ? r.N - 1 : 0;
      for (int o = r.hold->first(j); o < r.hold->first(j) + r.hold->cells(); ++o)
        if (r.in_graph(o)) edges.emplace_back(r.at_node(o), tie_node(r));
      for (int e = 0; e < 2; ++e) {
        if (r.port[e] < 0) continue;
        ties_.push_back({&r, e, r.port[0] >= 0 && r.port[1] >= 0 ? int(ties_.size()) + (e ? -1 : 1) : -1});
        r.held_by[e].resize(std::size_t(r.hold->cells() - 1));
      }
    }
}

// Who of those that stay feels whom: through rods, and through the links between them.
GYROD_COLD void RodSet::find_left() {
  joined_.clear(), left_.clear(), tie_links_ = {};
  for (int h = 0; h < int(hosts_.size()); ++h) {
    joined_.emplace(h, h);
    for (int v : pattern_.later(place_node(h)))
      if (const int o = (v - cells_) / host_nodes_; o < int(hosts_.size()) && v == place_node(o))
        joined_.emplace(h, o), joined_.emplace(o, h);
  }
  for (const auto& [a, b] : joined_) {
    const int columns[] = {place_node(b), speed_node(b), held_ ? acceleration_node(b) : place_node(b)};
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

void RodSet::revise(int r, const RodNumbers& numbers) {
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

const char* RodSet::apart() const {
  if (!form_.plain() || held_) return "the rods are in other coordinates, or some of their strains are held";
  if (!hosts_.empty() || !links_.empty())
    return "bodies hold a rod, or a cable, tendon, spring or bushing pulls at one";
  if (led_) return "something is a function of time or an input";
  if (!contacts_.empty() || !crossings_.empty()) return "a rod may touch something";
  return nullptr;
}

RodLayout RodSet::layout(int r) const {
  const Rod& o = *rods_[std::size_t(r)];
  const auto of_frames = [&](const std::vector<int>& at) {
    return std::vector<int>(at.begin() + o.d.cell_of(0), at.end());
  };
  return {of_frames(o.p_at), of_frames(o.w_at), o.x_at, o.v_at};
}

GYROD_COLD std::vector<std::pair<int, int>> RodSet::met() const {
  std::vector<std::pair<int, int>> out;
  for (const auto& [a, b] : joined_)
    if (a < b) out.emplace_back(hosts_[std::size_t(a)], hosts_[std::size_t(b)]);
  return out;
}

void RodSet::host(int h, const HostMotion& m) {
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

void RodSet::mark() {
  for (auto& r : rods_)
    for (int e = 0; e < 2; ++e) r->before[e] = r->ends[e];
}

void RodSet::act(double t, const double* y, double* dy) {
  each_rod([&](Rod& r) {
    gather_forces(r, t, y);
    if (!tangled_) conclude(r, t, y, dy);
  });
  if (!tangled_) return;
  for (auto& w : felt_) w = {};
  pull_links(t, y, dy);
  press(y, dy);
  if (!crossings_.empty()) {
    crossings_.still = still_;
    see_moves();
    crossings_.find(curves_, slots(y));
    crossings_.press(
        curves_,
        [&](int rod, int vertex, const Vec3<double>& F) { rods_[std::size_t(rod)]->s.f[std::size_t(vertex)] += F; },
        [&](int rod, int frame, const Vec3<double>& M) {
          Rod& r = *rods_[std::size_t(rod)];
          twist(frame, r.s.R[std::size_t(frame)].transpose() * M, r.d, r.s);
        },
        dy ? dy + slots_ : nullptr);
  }
  each_rod([&](Rod& r) { conclude(r, t, y, dy); });
}

void RodSet::wrench(int h, Vec3<double>& torque, Vec3<double>& force) const {
  torque = felt_[std::size_t(h)].torque, force = felt_[std::size_t(h)].force;
  for (const auto& [r, e] : guests_[std::size_t(h)]) {
    const Felt& o = pulls_[std::size_t(2 * r->index + e)];
    torque += o.torque, force += o.force;
  }
}

void RodSet::rates(const double* y, double* dy) {
  for (Rod* r : tied_) r->finish<double>(r->s, y + r->at, dy + r->at, options_);
}

void RodSet::quasistatic(bool on) {
  still_ = on;
  for (auto& r : rods_) { // what moved before must not be remembered
    for (int e = 0; e < 2; ++e)
      if (r->port[e] < 0) r->ends[e] = r->d.ends[e].at;
    if (r->hold) r->hold->still = on;
  }
}

void RodSet::time_derivative(double t, const double* y, double* ft) {
  if (timed_ && !drifts_) return difference_in_time(t, y, ft, scratch_);
  std::fill_n(ft, size_, 0.0);
  for (const auto& r : rods_)
    if (r->drifts) r->add_drift(ft);
}

bool RodSet::project(double t, double* y) {
  std::atomic<bool> any = false;
  each_rod([&](Rod& r) {
    bool moved = false;
    for (int n = r.begin; n <= r.last; ++n) {
      if (!r.turns(n)) continue;
      double *q = y + r.at + r.p_at[std::size_t(n)], *v = y + r.at + r.w_at[std::size_t(n)];
      const bool here = form_.project(q, v, options_);
      moved = moved || here;
    }
    if (r.d.held && !r.tied()) {
      move_ends(r, t);
      restore(r, y + r.at);
      moved = true;
    }
    if (moved) any.store(true, std::memory_order_relaxed);
  });
  return any;
}

TieLinks RodSet::tie_links() const {
  TieLinks of_bodies = tie_links_;
  for (auto& [tie, h] : of_bodies.bodies) h = hosts_[std::size_t(h)];
  return of_bodies;
}

Tie RodSet::tie(int i) const {
  const TieEnd& o = ties_[std::size_t(i)];
  const Rod& r = *o.rod;
  const std::size_t n = std::size_t(o.e ? r.N - 1 : 1), j = std::size_t(o.e ? r.N - 1 : 0);
  const double mobility = r.d.inverse_ds[j] * r.d.inverse_ds[j] * r.inverse[n];
  const int rows = 3 * (r.hold->cells() - 1);
  return {r.d.ends[o.e].host, rows, o.partner, mobility, o.e ? rows - 3 : 0, r.d.quadrature[j]};
}

void RodSet::tie_row(int i, int row, Matrix<double, 6, 1>& g) const {
  const TieEnd& o = ties_[std::size_t(i)];
  const Rod& r = *o.rod;
  const int j = r.next_to(o.e, row / 3);
  const HeldLink<double>& l = r.hold->link(j, (o.e ? r.N : 0) - r.hold->first(j));
  const Vec3<double> move = l.move.row(row % 3).transpose();
  const HostMotion& m = motions_[std::size_t(r.port[o.e])];
  Vec3<double> turn = (m.R * r.d.ends[o.e].point).cross(move);
  if (r.d.degree && r.d.ends[o.e].clamped)
    turn += matrix_from_quaternion<double>(r.ends[o.e].p) * Vec3<double>(l.turn.row(row % 3).transpose());
  g << move, turn;
}

double RodSet::tie_value(int i, int row) const {
  const TieEnd& o = ties_[std::size_t(i)];
  return o.rod->hold->tie_value(o.rod->tie_of(o.e) + row / 3)[row % 3];
}

double RodSet::tie_compliance(int i, int row, int j, int column) const {
  const TieEnd &a = ties_[std::size_t(i)], &b = ties_[std::size_t(j)];
  return a.rod->hold->compliance(a.rod->tie_of(a.e) + row / 3, b.rod->tie_of(b.e) + column / 3)(row % 3, column % 3);
}

double RodSet::measure_ties(bool positions, double t, const double* y) {
  double largest = 0.0;
  for (Rod* r : tied_) {
    move_ends(*r, t);
    largest = std::max(largest, measure(*r, y + r->at, positions));
    r->hold->eliminate();
  }
  return largest;
}

void RodSet::move_ties(bool positions, const double* mu, double* y) {
  for (Rod* r : tied_) {
    r->hold->finish(mu), mu += 3 * r->hold->ties();
    displace(*r, y + r->at, positions);
  }
}

void RodSet::release_ties(const double* mu) {
  for (Rod* r : tied_) {
    std::copy_n(mu, r->tie_force.size(), r->tie_force.begin()), mu += r->tie_force.size();
    release(*r);
  }
}

void RodSet::retract(double t, const double* y, const double* d, double by, double* out) {
  for (const RodLink& link : links_)
    if (link.slides()) out[link.ends[1].memory] = y[link.ends[1].memory];
  if (!form_.plain()) {
    Equations::retract(t, y, d, by, out);
    return keep_slides(t, out);
  }
  each_rod([&](Rod& r) {
    move_ends(r, t);
    for (int e = 0; e < 2; ++e)
      if (r.port[e] < 0) r.before[e] = r.ends[e]; // held by nobody who could have moved
    RodRetraction(r, r.before, y + r.at, d + r.at, by, out + r.at).run(r.predicted);
    if (r.d.held && !r.tied()) restore(r, out + r.at); // what was spread between two ends
    r.reached.assign(out + r.at, out + r.at + r.nq);
  });
  keep_slides(t, out);
}

const char* RodSet::trouble(double t, const double* y) const {
  for (const auto& r : rods_) {
    EndMotion ends[2];
    for (int e = 0; e < 2; ++e) {
      ends[e] = r->port[e] >= 0 ? r->ends[e] : r->d.ends[e].at;
      if (r->d.ends[e].clamped && r->d.ends[e].led()) r->d.ends[e].move(t, ends[e]);
    }
    frames_.resize(r->p.size());
    for (std::size_t j = 0; j < frames_.size(); ++j) {
      const std::size_t n = std::size_t(r->d.cell_of(int(j)));
      const double* q = y + r->at + (r->p_at[n] < 0 ? 0 : r->p_at[n]);
      if (r->p_at[n] < 0)
        frames_[j] = ends[j ? 1 : 0].p;
      else if (r->plain())
        frames_[j] = Part<4>::of(q);
      else
        r->read<double>(y + r->at, n, j, frames_, nullptr);
      if (const char* lost = r->p_at[n] < 0 ? nullptr : form_.trouble(q)) return lost;
    }
    trouble_ = r->grid->folds(frames_, ends);
    if (!trouble_.empty()) return trouble_.c_str();
  }
  for (const RodLink& link : links_) {
    if (!link.slides()) continue;
    for (const LinkPoint& p : link.ends)
      if (p.rod >= 0) rods_[std::size_t(p.rod)]->gather<double>(rods_[std::size_t(p.rod)]->s, y + offset(p.rod));
    LinkPoint p = link.ends[1];
    gyrod::slide(p, state(p.rod).x, motion(link.ends[0]).x, y[p.memory]);
    if (p.at >= 0.0 && p.at <= 1.0) continue;
    trouble_ = run_out(link, p.at);
    return trouble_.c_str();
  }
  return nullptr;
}

void RodSet::move_ends(Rod& r, double t) const {
  for (int e = 0; e < 2; ++e)
    if (r.d.ends[e].led()) {
      r.d.ends[e].move(t, r.ends[e]);
      if (still_) r.ends[e].v.setZero(), r.ends[e].a.setZero(), r.ends[e].Omega.setZero();
    }
  if (!r.d.stretch) return;
  const double g = r.d.stretch.number(t);
  for (std::size_t j = 0; j < r.rest.size(); ++j) r.d.G0[j][2] = g * r.rest[j][2];
}

void RodSet::gather_forces(Rod& r, double t, const double* y) const {
  move_ends(r, t);
  r.gather<double>(r.s, y + r.at);
  r.grid->forces(t, r.s, r.ends);
}

void RodSet::linearise(double t, const double* y) {
  if (tangled_) act(t, y, nullptr);
  each_rod([&](Rod& r) { linearise(r, t, y); });
  far_.clear();
  for (const RodLink& link : links_) link_blocks(link, t, *this, [&](const FarBlock& b) { land(b); });
  recalls_.clear(), grips_.clear(), idle_.clear(), loose_.clear();
  first_touch_ = far_.size();
  if (!contacts_.empty()) touch_blocks(y);
  last_touch_ = far_.size();
  if (!crossings_.empty()) crossing_blocks(y);
}

void RodSet::linearise(Rod& r, double t, const double* y) {
  if (!tangled_) gather_forces(r, t, y), hold(r, t);
  release(r);
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
  if (r.d.held) r.grid->adopt(r.s), r.links = r.hold->links();
  if (still_ && r.d.held == 2) r.axial = r.hold->axial();
  r.grid->blocks(t, r.s, r.ends, r.blocks);
  if (predicted) r.s.F.swap(r.kept);
  for (std::size_t i = 0; i < r.p.size(); ++i) {
    r.p[i] = r.s.p[i], r.w[i] = r.s.w[i], r.norm[i] = r.s.p[i].squaredNorm();
    r.alpha[i] =
        held_ && r.d.holds(int(i)) ? held_spin<double>(r, i ? 1 : 0, t) : r.spin<double>(r.s, int(i), options_);
    if (r.plain() || r.d.holds(int(i))) continue;
    const std::size_t n = std::size_t(r.d.cell_of(int(i)));
    const double* q = y + r.at;
    const Vec3<double> alpha = r.alpha[i].tail<3>() + r.w[i][0] * r.w[i].tail<3>();
    form_.blocks(q + r.p_at[n], q + r.w_at[n], alpha, options_, r.absolute(), r.turnings[i]);
  }
  for (int e = 0; e < 2; ++e)
    if (r.port[e] >= 0) {
      r.grid->hosted(t, r.s, e, r.ends[e], motions_[std::size_t(r.port[e])], r.blocks, r.hosted[e]);
      if (r.absolute())
        r.near(e, [&](int k, int c) {
          for (auto* by : {&r.hosted[e][k].by_place, &r.hosted[e][k].by_speed}) by->topRows<3>() *= moment_scale(r, c);
        });
    }
  for (int e = 0; e < 2; ++e)
    if (drifts_ && r.drifts && r.d.ends[e].timed() && !still_) r.drift(e, t);
  add_inertia(r);
  if (!r.d.held) return;
  constraint_rows(r, still_);
  for (int e = 0; e < 2; ++e)
    for (std::size_t k = 0; k < r.held_by[e].size(); ++k)
      r.held_by[e][k] = held_host(r, e, r.next_to(e, int(k)), motions_[std::size_t(r.port[e])], still_);
  if (still_ && r.d.held == 2)
    for (int e = 0; e < 2; ++e) {
      r.pulled_by[e].resize(r.held_by[e].size());
      for (std::size_t k = 0; k < r.pulled_by[e].size(); ++k)
        r.pulled_by[e][k] = pulling_host(r, e, r.next_to(e, int(k)), motions_[std::size_t(r.port[e])]);
    }
}

// What is left when all but ties have pulled: held strains, what bodies feel, rates.
void RodSet::conclude(Rod& r, double t, const double* y, double* dy) const {
  hold(r, t);
  for (int e = 0; e < 2; ++e)
    if (r.port[e] >= 0) {
      Felt& o = pulls_[std::size_t(2 * r.index + e)];
      o.force = r.s.f[std::size_t(e ? r.N : 0)];
      o.torque = (motions_[std::size_t(r.port[e])].R * r.d.ends[e].point).cross(o.force);
      if (r.d.ends[e].clamped) o.torque += matrix_from_quaternion<double>(r.ends[e].p) * r.s.end_moment[e];
    }
  if (dy && !r.tied()) r.finish<double>(r.s, y + r.at, dy + r.at, options_);
}

// Nodes of the graph that a link has to do with.
// Nodes of the graph that a body is, and those that a cell belongs to.
void RodSet::see_host(int host, std::vector<int>& nodes) const {
  for (int k = 0; k < host_nodes_; ++k) nodes.push_back(place_node(host) + k);
}
void RodSet::see_cell(int rod, int cell, std::vector<int>& nodes) const {
  const Rod& r = *rods_[std::size_t(rod)];
  if (r.in_graph(cell)) nodes.push_back(r.at_node(cell));
  if (const int e = r.held_end(cell); e >= 0) see_host(r.port[e], nodes);
}

std::vector<int> RodSet::nodes_of(RodLink& link) const {
  std::vector<int> nodes;
  for (LinkPoint& p : link.ends) {
    if (p.body >= 0) see_host(p.host = host_of(p.body), nodes);
    for (int k = 0; k < p.cells(); ++k) see_cell(p.rod, p.cell(k), nodes);
  }
  return nodes;
}

void RodSet::pull_links(double t, const double* y, double* dy) {
  for (RodLink& link : links_) {
    if (link.slides()) slide(link, y);
    if (link.slides() && dy) dy[link.ends[1].memory] = 0.0;
    const PointMotion m[2] = {motion(link.ends[0]), motion(link.ends[1])};
    const LinkPush p = std::visit([&](const auto& law) { return force_of(law, t, m); }, link.law);
    feel(link.ends[0], m[0], p), feel(link.ends[1], m[1], {-p.F});
  }
}

void RodSet::feel(const LinkPoint& p, const PointMotion& m, const LinkPush& w) {
  if (p.rod >= 0) push(p, w.F, w.M, rods_[std::size_t(p.rod)]->d, rods_[std::size_t(p.rod)]->s);
  if (p.body < 0) return;
  Felt& to = felt_[std::size_t(p.host)];
  to.force += w.F, to.torque += (m.R * p.offset).cross(w.F) + w.M;
}

// A block of a link to where it belongs: what is held has neither rows nor columns, but the body that holds it.
void RodSet::land(FarBlock b) {
  if (!b.column.body()) {
    const Rod& r = *rods_[std::size_t(b.column.rod)];
    const int c = b.column.index;
    if (const int e = r.held_end(c); e >= 0)
      land_rows(held_columns(b, r.port[e], end_map(r, e), r.d.degree && r.d.ends[e].clamped));
    if (!r.in_graph(c)) return;
    if (!r.moves(c)) b.q.rightCols<3>().setZero(), b.v.rightCols<3>().setZero();
    if (!r.turns(c)) b.q.leftCols<4>().setZero(), b.v.leftCols<4>().setZero();
  }
  land_rows(b);
}

void RodSet::land_rows(FarBlock b) {
  if (!b.row.body()) {
    const Rod& r = *rods_[std::size_t(b.row.rod)];
    const int c = b.row.index;
    if (const int e = r.held_end(c); e >= 0)
      far_.push_back(held_rows(b, r.port[e], end_map(r, e), r.d.degree && r.d.ends[e].clamped));
    if (!r.in_graph(c)) return;
    if (!r.moves(c)) b.q.bottomRows<3>().setZero(), b.v.bottomRows<3>().setZero();
    const double scale = r.turns(c) ? moment_scale(r, c) : 0.0;
    b.q.topRows<3>() *= scale, b.v.topRows<3>() *= scale;
    const int o = b.column.index;
    if (b.column.rod == b.row.rod && o >= r.first(c) && o <= r.behind(c)) {
      Rod& mine = *rods_[std::size_t(b.row.rod)];
      mine.blocks.q(c, o) += b.q, mine.blocks.v(c, o) += b.v;
      return;
    }
  }
  far_.push_back(b);
}

void RodSet::make_groups() {
  const std::vector<int>& order = pattern_.order();
  if (tangled_) {
    groups_.clear();
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

GYROD_COLD void RodSet::find_slots(Rod& r) const {
  r.slots.resize(r.blocks.blocks());
  for (int c = r.begin; c <= r.last; ++c)
    for (int o = r.first(c); o <= r.behind(c); ++o) r.slots[r.blocks.slot(c, o)] = at(r.at_node(c), r.at_node(o));
  for (int e = 0; e < 2; ++e) {
    if (r.port[e] < 0) continue;
    const int place = place_node(r.port[e]), speed = speed_node(r.port[e]);
    r.host_slots[e].resize(r.hosted[e].cells.size());
    r.near(e, [&](int k, int c) {
      const int cell = r.at_node(c);
      r.host_slots[e][std::size_t(k)] = {at(cell, place), at(cell, speed), at(place, cell)};
    });
  }
}

std::size_t RodSet::chunk_of(const RodDescription& d, double all) {
  if (chunks_.empty() || chunks_.back().segments >= std::max(96.0, all / 64.0))
    chunks_.push_back({rods_.size(), rods_.size(), 0.0, false});
  chunks_.back().segments += d.segments;
  return chunks_.size() - 1;
}

// Whether two nodes that stay feel each other.
bool RodSet::linked(int a, int b) const {
  const auto has = [&](int i, int j) {
    const auto& later = pattern_.later(i);
    return std::find(later.begin(), later.end(), j) != later.end();
  };
  return has(a, b) || has(b, a);
}

} // namespace gyrod
