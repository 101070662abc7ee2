#include "gyrod/variational/system.hpp"

namespace gyrod::variational {

static constexpr double singular = 1e-13; // a moment of inertia over the largest

System::System(Model model, double h)
    : m_(std::move(model)), links_(make_links(m_)), points_(std::move(m_.points), links_, m_.bodies),
      step_{h, m_.nodes}, h_(h), states_(m_.bodies.size()), frames_(m_.bodies.size()), next_(m_.bodies.size()),
      motions_(m_.bodies.size()), wrenches_(m_.bodies.size()), dual_motions_(m_.bodies.size()),
      dual_wrenches_(m_.bodies.size()), kicks_(m_.bodies.size()) {
  lay_out();
}
System::~System() = default;

void System::start(double t, const double* rows) {
  t_ = t, step_.h = h_, driven_at_ = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t b = 0; b < bodies(); ++b) {
    const double* s = rows + 13 * b;
    BodyState& y = states_[b];
    y.x = V3(s[0], s[1], s[2]), y.r = normalize<double>(V4(s[3], s[4], s[5], s[6]));
    const V3 v(s[7], s[8], s[9]), Omega(s[10], s[11], s[12]);
    y.P = m_.bodies[b].mass * v, y.L = m_.bodies[b].moments.cwiseProduct(Omega);
    y.w[0] = (0.25 * step_.h) * Omega, y.dx[0] = step_.h * v, y.known = 1;
    frames_[b] = matrix_from_quaternion<double>(y.r);
  }
  for (const RodLinks& rod : links_)
    for (const HeldMass& m : rod.masses()) {
      const double* s = rows + 13 * m.body + 7;
      BodyState& y = states_[std::size_t(m.body)];
      const M3& R = frames_[std::size_t(m.body)];
      const V3 Omega(s[3], s[4], s[5]), turned = R * Omega.cross(m.at);
      const V3 p = m.mass * (m_.bodies[std::size_t(m.body)].pinned ? turned : V3(V3(s[0], s[1], s[2]) + turned));
      y.P += p;
      y.L += m.at.cross(R.transpose() * p) + m.turn * m.J.cwiseProduct(m.turn.transpose() * Omega);
    }
  std::vector<double>& places = points_.places();
  std::copy_n(rows + 13 * bodies(), places.size(), places.begin());
  if (!places.empty()) weave();
  stand();
  if (m_.conserving) {
    points_.settle(links_, poses_.data());
    if (points_.strayed()) weave(), stand();
  }
  for (const RodLinks& rod : links_) rod.share(rows, states_.data());
  if (joined_) rows_at(t_, gradient_);
  kick();
}

bool System::advance(double t_next) {
  if (!m_.composed) return advance_by(t_next);
  // Suzuki 1990: four steps forward and a shorter one back make the order four.
  constexpr double part = 0.41449077179437573714;
  const double from = t_, h = t_next - t_;
  double at = 0.0;
  int iterations = 0;
  for (int k = 0; k < 5; ++k) {
    const double by = k == 2 ? 1.0 - 4.0 * part : part, ratio = by * h / step_.h;
    for (BodyState& y : states_) y.w[0] *= ratio, y.dx[0] *= ratio, y.known = 1;
    for (Kick& kick : kicks_) kick.P *= ratio, kick.L *= ratio;
    step_.h = by * h, at += by;
    if (!advance_by(k == 4 ? t_next : from + at * h)) return false;
    iterations += newton_.iterations;
  }
  newton_.iterations = iterations;
  return true;
}

bool System::advance_by(double t_next) {
  t_next_ = t_next;
  const bool done = independent_ ? advance_independent() : advance_joined();
  if (done) t_ = t_next, trouble_ = points_.trouble();
  return done && trouble_.empty();
}

void System::exchange(Archive& a) {
  a(t_, middle_, node_energy_, mu_, newton_.keep, step_.h);
  a.plain(states_), a.plain(frames_), a.plain(kicks_), a.plain(gradient_);
  for (RodLinks& rod : links_) a.plain(rod.multipliers());
  a(points_.places(), points_.windows());
  a.finish();
  if (!a.reading()) return;
  if (!points_.places().empty()) weave();
  driven_at_ = std::numeric_limits<double>::quiet_NaN();
  stand();
}

void System::stand() {
  for (std::size_t b = 0; b < poses_.size(); ++b) poses_[b] = {states_[b].x, states_[b].r, frames_[b]};
  for (RodLinks& rod : links_) rod.start(t_, poses_.data());
  points_.start(links_, poses_.data());
}

Trial System::place(bool matrix) {
  for (std::size_t b = 0; b < bodies(); ++b) {
    const Increment e(w_[b]);
    poses_next_[b] = {states_[b].x + dx_[b], multiply<double>(states_[b].r, e.quaternion()), frames_next_[b]};
    if (matrix) turns_[b] = e.end_turn();
  }
  return {t_, t_next_, step_.h, m_.nodes, poses_.data(), poses_next_.data(), w_.data(), half_.data(), turns_.data()};
}

std::vector<RodLinks> System::make_links(Model& m) {
  std::vector<std::vector<int>> cells;
  for (std::size_t r = 0; r < m.rods.size(); ++r)
    cells.push_back(add_cells(m.rods[r], m.rod_sigma[r], m.bodies, m.sigma));
  std::vector<RodLinks> links;
  links.reserve(m.rods.size()); // they are referred to
  for (std::size_t r = 0; r < m.rods.size(); ++r) {
    std::vector<Contact> near;
    for (const Contact& c : m.contacts)
      if (!c.stations.empty() && c.stations.front().rod == int(r)) near.push_back(c);
    links.emplace_back(m.rods[r], std::move(cells[r]), m.bodies, m.rod_sigma[r], std::move(near));
  }
  return links;
}

void System::read(double* rows) {
  // What keeps the energy meets the joints in the middle of steps: its velocities are those of its momenta, but for
  // spins without inertia.
  const bool solved = joined_ || carries_, tangent = solved && !m_.conserving;
  const bool massless = m_.conserving && std::find(massless_.begin(), massless_.end(), true) != massless_.end();
  std::vector<double> held;
  if (massless) velocities(), held = rhs_;
  if (solved && (tangent || carries_)) velocities(tangent);
  for (std::size_t b = 0; b < bodies(); ++b) {
    const RigidBody& body = m_.bodies[b];
    const BodyState& y = states_[b];
    V3 v = y.P / body.mass, Omega = y.L.cwiseQuotient(body.moments);
    const double* u = rhs_.data() + pattern_.offset(int(b));
    if ((tangent || carries_) && !body.pinned)
      v = V3(u[0], u[1], u[2]), Omega = V3(u[3], u[4], u[5]);
    else if (carries_)
      Omega = V3(u[0], u[1], u[2]);
    for (int i = 0; i < 3; ++i)
      if (massless && massless_[b] && whole_[b].J(i, i) <= singular * body.moments.maxCoeff())
        Omega[i] = held[std::size_t(pattern_.offset(int(b)) + 3 + i)];
    V3 x = y.x;
    if (body.pinned) x = body.point + frames_[b] * body.arm, v = frames_[b] * Omega.cross(body.arm);
    double* s = rows + 13 * b;
    for (int i = 0; i < 3; ++i) s[i] = x[i], s[7 + i] = v[i], s[10 + i] = Omega[i];
    for (int i = 0; i < 4; ++i) s[3 + i] = y.r[i];
  }
  std::fill(rows + 13 * bodies(), rows + 13 * this->rows(), 0.0);
  std::copy(points_.places().begin(), points_.places().end(), rows + 13 * bodies());
}

void System::linearise(double t_next, const double* increments, double* residual, double* matrix) {
  t_next_ = t_next;
  for (std::size_t b = 0; b < bodies(); ++b) {
    const double* u = increments + pattern_.offset(int(b));
    const bool pinned = m_.bodies[b].pinned;
    dx_[b] = pinned ? V3(V3::Zero()) : V3(u[0], u[1], u[2]);
    const double* r = pinned ? u : u + 3;
    w_[b] = V3(r[0], r[1], r[2]);
  }
  if (m_.conserving)
    lead(t_), driven_before_ = driven_, assemble_conserving();
  else
    with_scheme([&](auto directors) { assemble<directors.value>(true, true); });
  const int n = pattern_.total();
  for (int i = 0; i < n; ++i) residual[i] = rhs_[std::size_t(i)];
  std::fill(matrix, matrix + n * n, 0.0);
  const auto copy = [&](int i, int j) {
    auto B = lu_->block(i, j);
    for (int r = 0; r < B.rows(); ++r)
      for (int c = 0; c < B.cols(); ++c) matrix[(pattern_.offset(i) + r) * n + pattern_.offset(j) + c] = B(r, c);
  };
  for (int v = 0; v < pattern_.nodes(); ++v) {
    copy(v, v);
    for (int a : pattern_.later(v)) copy(v, a), copy(a, v);
  }
}

void System::lay_out() {
  const std::size_t n = bodies(), joints = m_.joints.size();
  for (const RigidBody& b : m_.bodies) {
    sizes_.push_back(b.pinned ? 3 : 6);
    massless_.push_back(!b.pinned && b.moments.minCoeff() <= singular * b.moments.maxCoeff());
  }
  rows_.resize(joints), joints_of_.resize(n), driven_.resize(joints);
  int held = 0;
  for (const RodLinks& rod : links_) held += rod.held_nodes();
  std::vector<std::vector<int>>& after = after_;
  after.resize(n + joints + std::size_t(held));
  const std::vector<int> carried = order(after);
  std::vector<std::pair<int, int>>& pairs = pairs_;
  for (std::size_t j = 0; j < joints; ++j) {
    const int rows = int(rows_[j].size()), with = carried[j];
    first_.push_back(rows_total_);
    rows_total_ += rows;
    node_.push_back(with < 0 ? int(n + j) : with), base_.push_back(with < 0 ? 0 : 6);
    sizes_.push_back(with < 0 ? rows : 0);
    if (with >= 0) sizes_[std::size_t(with)] += rows;
    if (rows)
      for (int body : {m_.joints[j].place.a, m_.joints[j].place.b})
        if (body >= 0) pairs.emplace_back(body, node_[j]), joints_of_[std::size_t(body)].push_back(j);
    if (rows && m_.conserving && std::min(m_.joints[j].place.a, m_.joints[j].place.b) >= 0)
      pairs.emplace_back(m_.joints[j].place.a, m_.joints[j].place.b);
  }
  std::set<std::pair<int, int>> touched;
  for (const Acting& f : m_.forces)
    for (int a : f.element->bodies())
      for (int b : f.element->bodies()) touched.emplace(a, b);
  force_pairs_.assign(touched.begin(), touched.end());
  pairs.insert(pairs.end(), touched.begin(), touched.end());
  for (const RigidBody& b : m_.bodies) weights_.push_back(b.mass * m_.gravity);
  for (std::size_t r = 0; r < links_.size(); ++r) {
    links_[r].pairs(int(sizes_.size()), pairs, after);
    sizes_.insert(sizes_.end(), std::size_t(links_[r].held_nodes()), links_[r].held());
    carries_ = carries_ || !links_[r].masses().empty() || links_[r].held() || links_[r].blended();
    for (std::size_t c = 0; c < links_[r].cells().size(); ++c)
      if (const int node = links_[r].cells()[c]; node >= 0)
        weights_[std::size_t(node)] =
            m_.bodies[std::size_t(node)].pinned ? 0.0 * m_.gravity : V3(m_.rods[r].tributary[c] * m_.rods[r].gravity);
  }
  weave();
  joined_ = rows_total_ > 0;
  independent_ = !joined_ && m_.forces.empty() && links_.empty();
  if (!links_.empty()) poses_.resize(n), poses_next_.resize(n), turns_.resize(n);
  const std::size_t rows = std::size_t(rows_total_);
  mu_.resize(rows), value_.resize(rows), in_time_.resize(rows);
  gradient_.resize(rows), gradient_next_.resize(rows);
  if (m_.conserving) gather(), begins_.resize(n), ends_.resize(n), dual_begins_.resize(n), dual_ends_.resize(n);
  dx_.resize(n), w_.resize(n), frames_next_.resize(n), half_.resize(n);
}

void System::weave() {
  points_.weave(links_);
  std::vector<std::pair<int, int>> pairs = pairs_;
  points_.pairs(pairs);
  pattern_ = BlockPattern(sizes_, pairs, after_);
  lu_ = std::make_unique<BlockLu<double>>(pattern_);
  for (RodLinks& rod : links_) rod.bind(*lu_);
  points_.bind(*lu_);
  rhs_.resize(std::size_t(pattern_.total()));
  if (!m_.forces.empty()) stiff_.resize(pattern_.storage());
}

std::vector<int> System::order(std::vector<std::vector<int>>& after) {
  const std::size_t n = bodies();
  std::vector<bool> cut(m_.joints.size(), false);
  std::vector<int> link_of(n, -1), carried(m_.joints.size(), -1);
  for (std::size_t l = 0; l < m_.links.size(); ++l) link_of[std::size_t(m_.links[l].body)] = int(l);
  for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
    const std::size_t j = std::size_t(m_.cuts[c]);
    cut[j] = true;
    for (int r : m_.kept[c]) rows_[j].push_back(m_.joints[j].loop_row(r));
    for (int body : {m_.joints[j].place.a, m_.joints[j].place.b}) // the whole loop goes first
      for (int l = body < 0 ? -1 : link_of[std::size_t(body)]; l >= 0; l = m_.links[std::size_t(l)].parent)
        after[n + j].push_back(m_.links[std::size_t(l)].body);
  }
  const auto pinned = [&](int body) { return body >= 0 && m_.bodies[std::size_t(body)].pinned; };
  for (std::size_t j = 0; j < m_.joints.size(); ++j) {
    const Joint& joint = m_.joints[j];
    if (cut[j] || pinned(joint.place.a) || pinned(joint.place.b)) continue; // the fixed point is no constraint
    for (int r = 0; r < joint.size(); ++r) rows_[j].push_back(joint.row(r));
  }
  // A body without inertia about some axis cannot be eliminated alone: it goes together with the joint that carries
  // it, and after what it carries.
  for (const TreeLink& l : m_.links) {
    if (l.joint < 0) continue;
    after[n + std::size_t(l.joint)].push_back(l.body);
    if (massless_[std::size_t(l.body)]) carried[std::size_t(l.joint)] = l.body;
    const int up = l.parent < 0 ? -1 : m_.links[std::size_t(l.parent)].body;
    if (up >= 0 && massless_[std::size_t(up)])
      after[std::size_t(up)].push_back(massless_[std::size_t(l.body)] ? l.body : int(n) + l.joint);
  }
  return carried;
}

bool System::advance_independent() {
  return with_scheme([&](auto directors) {
    return m_.conserving ? independent<ConservingTurn<directors.value>>()
                         : independent<VariationalTurn<directors.value>>();
  });
}

bool System::advance_joined() {
  bool done = solve_joined();
  for (int n = 0; n < 4 && points_.strayed(); ++n) {
    weave();
    points_.start(links_, poses_.data());
    done = solve_joined();
  }
  if (!done || points_.strayed()) return false;
  if (m_.conserving)
    finish_conserving();
  else
    with_scheme([&](auto directors) { finish<directors.value>(); });
  return true;
}

bool System::solve_joined() {
  points_.stay();
  for (std::size_t b = 0; b < bodies(); ++b)
    dx_[b] = states_[b].predict(states_[b].dx), w_[b] = states_[b].predict(states_[b].w);
  if (m_.conserving) lead(t_), driven_before_ = driven_;
  newton_.begin(false);
  bool done = with_scheme([&](auto directors) { return iterate<directors.value>(); });
  if (!done && !points_.strayed()) { // once more, from the velocities at the node
    std::vector<double> rows(13 * this->rows());
    read(rows.data());
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = rows.data() + 13 * b;
      dx_[b] = step_.h * V3(s[7], s[8], s[9]), w_[b] = (0.25 * step_.h) * V3(s[10], s[11], s[12]);
    }
    newton_.begin(true);
    done = with_scheme([&](auto directors) { return iterate<directors.value>(); });
    newton_.keep = false;
  }
  return done;
}

double System::residual() const {
  double most = 0.0;
  for (std::size_t b = 0; b < bodies(); ++b) {
    const double* r = rhs_.data() + pattern_.offset(int(b));
    const RigidBody& body = m_.bodies[b];
    V3 lin = V3::Zero();
    if (!body.pinned) lin = V3(r[0], r[1], r[2]), r += 3;
    V3 rot(r[0], r[1], r[2]);
    for (std::size_t j : joints_of_[b])
      for (std::size_t k = std::size_t(first_[j]); k < std::size_t(first_[j]) + rows_[j].size(); ++k) {
        const Gradient& g = gradient_[k];
        const bool a = m_.joints[j].place.a == int(b);
        lin -= mu_[k] * (a ? g.ax : g.bx), rot -= mu_[k] * (a ? g.aw : g.bw);
      }
    const double inertia = massless_[b] ? body.mass * m_.length * m_.length : body.moments.maxCoeff();
    most = std::max({most, lin.norm() / (body.mass * m_.length), rot.norm() / inertia});
  }
  for (double g : value_) most = std::max(most, std::abs(g) / m_.length);
  return most;
}

void System::constrain(bool matrix) {
  rows_at(t_next_, gradient_next_);
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].empty()) continue;
    const int node = node_[j], base = base_[j];
    const JointPlace& p = m_.joints[j].place;
    for (int side = 0; side < 2 && matrix; ++side) {
      const int body = side ? p.b : p.a;
      if (body < 0) continue;
      auto up = lu_->block(body, node), down = lu_->block(node, body);
      const Increment e(w_[std::size_t(body)]);
      const M3 turn = e.end_turn();
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const std::size_t at = std::size_t(first_[j]) + k;
        const Gradient &old = gradient_[at], &now = gradient_next_[at];
        const V3 w = turn.transpose() * (side ? now.bw : now.aw);
        const V3 &ox = side ? old.bx : old.ax, &ow = side ? old.bw : old.aw, &nx = side ? now.bx : now.ax;
        for (int i = 0; i < 3; ++i) {
          up(i, base + int(k)) = -ox[i], up(3 + i, base + int(k)) = -ow[i];
          down(base + int(k), i) = nx[i], down(base + int(k), 3 + i) = w[i];
        }
      }
    }
    for (std::size_t k = 0; k < rows_[j].size(); ++k)
      rhs_[std::size_t(pattern_.offset(node) + base) + k] = value_[std::size_t(first_[j]) + k];
  }
}

void System::rows_at(double t, std::vector<Gradient>& out) {
  const bool now = &out == &gradient_;
  lead(t);
  const auto side = [&](int body) {
    if (body < 0) return ground_side<double>();
    const std::size_t b = std::size_t(body);
    return Side<double>{now ? states_[b].x : V3(states_[b].x + dx_[b]), V3::Zero(), now ? frames_[b] : frames_next_[b],
                        M3::Zero()};
  };
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].empty()) continue;
    const Joint& joint = m_.joints[j];
    const Side<double> a = side(joint.place.a), b = side(joint.place.b);
    const JointGeometry<double> q = geometry<double>(joint.place, a, b);
    const Driven& u = driven_[j];
    for (std::size_t k = 0; k < rows_[j].size(); ++k) {
      const Row<double> row = evaluate_row<double>(rows_[j][k], joint.place, q, u);
      const std::size_t at = std::size_t(first_[j]) + k;
      value_[at] = row.g, in_time_[at] = row.rate_in_time;
      out[at] = {row.a.x, moment_of_directors<double>(a.R, row.a.d), row.b.x,
                 moment_of_directors<double>(b.R, row.b.d)};
    }
  }
}

void System::kick() {
  node_energy_ = 0.0;
  if (!m_.nodes || m_.forces.empty()) return;
  for (std::size_t b = 0; b < bodies(); ++b) {
    const RigidBody& B = m_.bodies[b];
    motions_[b] = {B.pinned ? V3(B.point + frames_[b] * B.arm) : states_[b].x, V3::Zero(), V3::Zero(), frames_[b]};
    wrenches_[b].clear();
  }
  for (const Acting& f : m_.forces)
    if (f.potential) {
      f.element->apply(t_, motions_.data(), wrenches_.data());
      node_energy_ += f.element->potential(t_, motions_.data());
    }
  for (std::size_t b = 0; b < bodies(); ++b)
    kicks_[b] = {(0.5 * step_.h) * wrenches_[b].force,
                 (0.5 * step_.h) * moment<double>(m_.bodies[b], frames_[b], wrenches_[b])};
}

void System::velocities(bool tangent) {
  rows_at(t_, gradient_);
  lu_->clear();
  std::fill(rhs_.begin(), rhs_.end(), 0.0);
  for (std::size_t b = 0; b < bodies(); ++b) {
    const RigidBody& body = m_.bodies[b];
    auto block = lu_->block(int(b), int(b));
    double* r = rhs_.data() + pattern_.offset(int(b));
    if (!body.pinned) {
      for (int i = 0; i < 3; ++i) block(i, i) = body.mass, r[i] = states_[b].P[i];
      for (int i = 0; i < 3; ++i) block(3 + i, 3 + i) = body.moments[i], r[3 + i] = states_[b].L[i];
    } else
      for (int i = 0; i < 3; ++i) block(i, i) = body.moments[i], r[i] = states_[b].L[i];
  }
  for (const RodLinks& rod : links_)
    for (const HeldMass& m : rod.masses()) {
      M36 moves;
      moves.leftCols<3>().setIdentity(), moves.rightCols<3>() = -(frames_[std::size_t(m.body)] * skew<double>(m.at));
      M66 M = m.mass * (moves.transpose() * moves);
      M.block<3, 3>(3, 3) += m.turn * m.J.asDiagonal() * m.turn.transpose();
      auto block = lu_->block(m.body, m.body);
      const int skip = m_.bodies[std::size_t(m.body)].pinned ? 3 : 0;
      for (int j = skip; j < 6; ++j)
        for (int i = skip; i < 6; ++i) block(i - skip, j - skip) += M(i, j);
    }
  for (std::size_t b = 0; b < bodies() && !tangent; ++b) // what has no inertia stands
    for (int i = 0; i < (m_.bodies[b].pinned ? 3 : 6); ++i)
      if (auto block = lu_->block(int(b), int(b)); block(i, i) == 0.0) block(i, i) = 1.0;
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].empty()) continue;
    const int node = node_[j], base = base_[j];
    const JointPlace& p = m_.joints[j].place;
    for (std::size_t k = 0; k < rows_[j].size(); ++k) {
      const std::size_t at = std::size_t(first_[j]) + k;
      const Gradient& g = gradient_[at];
      if (!tangent) lu_->block(node, node)(base + int(k), base + int(k)) = 1.0;
      if (!tangent) continue;
      rhs_[std::size_t(pattern_.offset(node) + base) + k] = -in_time_[at];
      for (int side = 0; side < 2; ++side) {
        const int body = side ? p.b : p.a;
        if (body < 0) continue;
        auto up = lu_->block(body, node), down = lu_->block(node, body);
        for (int i = 0; i < 3; ++i) {
          up(i, base + int(k)) = down(base + int(k), i) = side ? g.bx[i] : g.ax[i];
          up(3 + i, base + int(k)) = down(base + int(k), 3 + i) = side ? g.bw[i] : g.aw[i];
        }
      }
    }
  }
  for (const RodLinks& rod : links_) rod.velocities(pattern_, rhs_.data(), tangent);
  if (!lu_->factor()) throw std::runtime_error("the constraints are singular here");
  lu_->solve(rhs_.data());
}

} // namespace gyrod::variational
