#include "gyrod/variational/rods.hpp"

#include "gyrod/rod/elements.hpp"
#include "gyrod/rod/lobatto.hpp"

namespace gyrod {
std::unique_ptr<Discretization> make_staggered(const RodDescription& d); // staggered.cpp
}

namespace gyrod::variational {
namespace {
// Of the strains at the other end of a step in a stress, twice Newmark's beta: 1/2 is the mean, 0 the potential at the
// nodes. With it vibrations turn by at most arccos(1 - 1/far) in a step, here 115 degrees, however stiff they are.
constexpr double far_end = 0.7;
// d(c W)/dTheta and d(W c)/dTheta of an imaginary c = Theta/2.
using M43 = Matrix<double, 4, 3>;
M43 behind(const V4& W) { return 0.5 * quaternion_matrix<double>(W).rightCols<3>(); }
M43 before(const V4& W) { return -0.5 * quaternion_matrix_right<double>(W).rightCols<3>(); }

template <int N> void add(double* r, const Matrix<double, N, 1>& x) {
  for (int i = 0; i < N; ++i) r[i] += x[i];
}
} // namespace

std::vector<int> add_cells(const RodDescription& d, const std::vector<double>& sigma, std::vector<RigidBody>& bodies,
                           std::vector<double>& sigmas) {
  std::vector<int> cells;
  for (int c = 0; c <= d.segments; ++c) {
    const int j = d.frame_of(c);
    const bool held = (c == 0 && d.ends[0].held) || (c == d.segments && d.ends[1].held);
    const bool turns = j >= 0 && !d.holds(j);
    cells.push_back(held && !turns ? -1 : int(bodies.size()));
    if (cells.back() < 0) continue;
    RigidBody b;
    b.mass = d.mass[std::size_t(c)], b.pinned = held;
    if (turns) b.moments = d.J[std::size_t(j)]; // else it has a frame that nothing turns
    bodies.push_back(b), sigmas.push_back(turns ? sigma[std::size_t(j)] : 1.0);
  }
  return cells;
}

RodLinks::RodLinks(const RodDescription& d, std::vector<int> cells, const std::vector<RigidBody>& bodies,
                   const std::vector<double>& sigma, std::vector<Contact> contacts)
    : d_(d), cells_(std::move(cells)), bodies_(bodies), contacts_(std::move(contacts)) {
  d_.finish();
  const int N = d_.segments, p = d_.degree;
  const auto station = [&](bool bends, int point, double weight, int vertex, int vertices, int frame, int frames) {
    Station s{bends, std::size_t(point), weight, vertex, frame, {}, nodes_.size()};
    const auto entry = [&](int node) {
      if (node < 0) return -1;
      for (std::size_t i = s.first; i < nodes_.size(); ++i)
        if (nodes_[i] == node) return int(i);
      nodes_.push_back(node);
      return int(nodes_.size()) - 1;
    };
    for (int k = 0; k < vertices; ++k) s.entries[0][k] = entry(vertex_node(vertex + k));
    for (int k = 0; k < frames; ++k) s.entries[1][k] = entry(frame_node(frame + k));
    s.last = nodes_.size();
    stations_.push_back(s);
  };
  for (int g = 0; g < N && p; ++g)
    for (const bool bends : {false, true})
      station(bends, g, d_.quadrature[std::size_t(g)], g / p * p, bends ? 0 : p + 1, g / p * p, p + 1);
  for (int j = 0; j < N && !p; ++j) station(false, j, d_.ds[std::size_t(j)], j, 2, j, 1);
  for (int n = 0; n <= N && !p; ++n)
    if (d_.weight[std::size_t(n)] > 0.0) station(true, n, d_.weight[std::size_t(n)], n, 0, n - 1, 2);
  if (d_.coupled)
    for (std::size_t a = 0; a < stations_.size(); ++a)
      for (std::size_t b = 0; b < stations_.size() && !stations_[a].bends; ++b) {
        const std::size_t j = stations_[a].point, n = stations_[b].point;
        if (stations_[b].bends && (p ? n == j : n == j || n == j + 1))
          crosses_.push_back({a, b, (p ? 1.0 : 0.5) * stations_[a].weight});
      }
  for (Level* o : {&now_, &next_}) {
    o->x.resize(std::size_t(N) + 1), o->p.resize(std::size_t(d_.frames()));
    o->E.resize(stations_.size()), o->rate.resize(stations_.size()), o->B.resize(nodes_.size());
    for (int e = 0; e < 2; ++e) o->ends[e] = d_.ends[e].at;
  }
  S_.resize(stations_.size()), nu_.resize(stations_.size()), turned_.resize(nodes_.size());
  middle_.resize(nodes_.size());
  for (int e = 0; e < 2; ++e) {
    const RodEnd& end = d_.ends[e];
    if (end.host < 0) continue;
    const std::size_t n = std::size_t(e ? N : 0);
    HeldMass m{end.host, arm(e), d_.mass[n], 0.0, d_.tributary[n] * d_.gravity, V3::Zero(), M3::Identity()};
    if (p && end.clamped) m.J = d_.J[n], m.sigma = sigma[n], m.turn = matrix_from_quaternion<double>(end.turn);
    masses_.push_back(m);
  }
  if (d_.framed() || !d_.supports.empty() || !contacts_.empty()) {
    grid_ = p ? make_elements(d_) : make_staggered(d_);
    s_ = std::make_unique<RodState<double>>(d_);
    blocks_ = std::make_unique<Discretization::Blocks>(N + 1, 1, p);
  }
}

int RodLinks::vertex_node(int n) const { return moves(n) ? cells_[std::size_t(n)] : d_.ends[n ? 1 : 0].host; }

int RodLinks::frame_node(int j) const {
  if (j < 0 || j >= d_.frames() || d_.holds(j)) return d_.ends[j <= 0 ? 0 : 1].host;
  return cells_[std::size_t(d_.cell_of(j))];
}

void RodLinks::put_held(const std::vector<Matrix<double, 3, 6>>& strains) {
  each_held([&](int k, std::size_t at) {
    const Station& o = stations_[at];
    for (std::size_t a = o.first; a < o.last; ++a) {
      const Grid<double> up = lu_->block(nodes_[a], first_ + k), down = lu_->block(first_ + k, nodes_[a]);
      const int skip = pinned(nodes_[a]) ? 3 : 0;
      for (int i = 0; i < d_.held; ++i)
        for (int c = skip; c < 6; ++c) up(c - skip, i) += strains[a](i, c), down(i, c - skip) += turned_[a](i, c);
    }
  });
}

void RodLinks::pairs(int first, std::vector<std::pair<int, int>>& out, std::vector<std::vector<int>>& after) {
  first_ = first;
  each_held([&](int k, std::size_t at) {
    for (std::size_t a = stations_[at].first; a < stations_[at].last; ++a)
      out.emplace_back(nodes_[a], first_ + k), after[std::size_t(first_ + k)].push_back(nodes_[a]);
  });
  for (int n = 0; n < d_.segments && d_.blended; ++n)
    if (vertex_node(n) >= 0 && vertex_node(n + 1) >= 0) out.emplace_back(vertex_node(n), vertex_node(n + 1));
  for (const Station& s : stations_)
    for (std::size_t a = s.first; a < s.last; ++a)
      for (std::size_t b = s.first; b < s.last; ++b) out.emplace_back(nodes_[a], nodes_[b]);
  for (const Cross& c : crosses_)
    for (std::size_t a = stations_[c.strain].first; a < stations_[c.strain].last; ++a)
      for (std::size_t b = stations_[c.bend].first; b < stations_[c.bend].last; ++b)
        out.emplace_back(nodes_[a], nodes_[b]);
  if (grid_)
    for (int r = 0; r <= d_.segments; ++r)
      for (int c = blocks_->first(r); c <= blocks_->last(r); ++c)
        if (cells_[std::size_t(r)] >= 0 && cells_[std::size_t(c)] >= 0)
          out.emplace_back(cells_[std::size_t(r)], cells_[std::size_t(c)]);
}

void RodLinks::bind(BlockLu<double>& lu) {
  lu_ = &lu, targets_.clear();
  const auto blocks = [&](const Station& a, const Station& b) {
    const std::size_t at = targets_.size();
    for (std::size_t i = a.first; i < a.last; ++i)
      for (std::size_t j = b.first; j < b.last; ++j) targets_.push_back(lu.block(nodes_[i], nodes_[j]));
    return at;
  };
  for (Station& s : stations_) s.target = blocks(s, s);
  for (Cross& c : crosses_) {
    c.target[0] = blocks(stations_[c.strain], stations_[c.bend]);
    c.target[1] = blocks(stations_[c.bend], stations_[c.strain]);
  }
}

// --- strains

V3 RodLinks::arm(int e) const {
  const RigidBody& b = bodies_[std::size_t(d_.ends[e].host)];
  return b.pinned ? V3(b.arm + d_.ends[e].point) : d_.ends[e].point;
}

V4 RodLinks::end_frame(int e, const Pose* poses, const Level& o) const {
  const RodEnd& end = d_.ends[e];
  return end.host < 0 ? o.ends[e].p : multiply<double>(poses[end.host].r, end.turn);
}

void RodLinks::measure(double t, const Pose* poses, Level& o) {
  if (o.t != t) { // what leads may be a function of the user: once for each time
    for (int e = 0; e < 2; ++e)
      if (d_.ends[e].led()) d_.ends[e].move(t, o.ends[e]);
    if (d_.stretch) {
      Jet g;
      d_.stretch.jets(t, &g);
      o.stretch = g.x, o.stretching = g.v;
    }
    o.t = t;
  }
  const int N = d_.segments, frames = d_.frames();
  for (int n = 0; n <= N; ++n) {
    const int node = vertex_node(n), e = n ? 1 : 0;
    if (node < 0)
      o.x[std::size_t(n)] = o.ends[e].x;
    else if (moves(n))
      o.x[std::size_t(n)] = poses[node].x;
    else
      o.x[std::size_t(n)] = (pinned(node) ? bodies_[std::size_t(node)].point : poses[node].x) + poses[node].R * arm(e);
  }
  for (int j = 0; j < frames; ++j)
    if (!d_.holds(j)) o.p[std::size_t(j)] = poses[frame_node(j)].r;
  for (int e = 0; e < 2 && d_.degree; ++e)
    if (d_.ends[e].clamped) { // on the side of its neighbour: elements interpolate between quaternions
      const std::size_t j = std::size_t(e ? N : 0);
      const V4 p = end_frame(e, poses, o);
      o.p[j] = p.dot(o.p[e ? j - 1 : 1]) < 0.0 ? V4(-p) : p;
    }
  for (M36& B : o.B) B.setZero();
  if (d_.degree == 2) return points<2>(poses, o);
  if (d_.degree == 3) return points<3>(poses, o);
  if (d_.degree == 4) return points<4>(poses, o);
  for (std::size_t s = 0; s < stations_.size(); ++s) stations_[s].bends ? bend(s, poses, o) : segment(s, poses, o);
}

void RodLinks::fold(std::size_t at, const M3* by_x, int vertices, const M3* by_turn, int frames, const Pose* poses,
                    Level& o) const {
  const Station& s = stations_[at];
  o.rate[at] = V3(0.0, 0.0, s.bends ? 0.0 : -o.stretching * d_.G0[s.point][2]);
  for (int k = 0; k < vertices; ++k) {
    const int entry = s.entries[0][k], n = s.vertex + k;
    if (entry < 0) o.rate[at] += by_x[k] * o.ends[n ? 1 : 0].v;
    if (entry < 0) continue;
    M36& B = o.B[std::size_t(entry)];
    B.leftCols<3>() += by_x[k];
    if (!moves(n)) B.rightCols<3>() -= by_x[k] * poses[vertex_node(n)].R * skew<double>(arm(n ? 1 : 0));
  }
  for (int k = 0; k < frames; ++k) {
    const int entry = s.entries[1][k], j = s.frame + k;
    if (entry < 0) o.rate[at] += by_turn[k] * o.ends[j <= 0 ? 0 : 1].Omega;
    if (entry < 0) continue;
    M36& B = o.B[std::size_t(entry)];
    if (j < 0 || j >= d_.frames() || d_.holds(j))
      B.rightCols<3>() += by_turn[k] * matrix_from_quaternion<double>(d_.ends[j <= 0 ? 0 : 1].turn).transpose();
    else
      B.rightCols<3>() += by_turn[k];
  }
}

void RodLinks::segment(std::size_t at, const Pose* poses, Level& o) const {
  const std::size_t j = stations_[at].point;
  const M3 R = matrix_from_quaternion<double>(o.p[j]);
  const V3 u = d_.inverse_ds[j] * (o.x[j + 1] - o.x[j]), G = R.transpose() * u, rest = at_rest(j, o);
  o.E[at] = G - rest;
  M3 by_x[2], by_turn = skew<double>(G);
  by_x[1] = d_.inverse_ds[j] * R.transpose();
  if (d_.strain == Strain::stretch) {
    const double length = u.norm();
    o.E[at][2] = length - rest[2];
    by_x[1].row(2) = (d_.inverse_ds[j] / length) * u.transpose(), by_turn.row(2).setZero();
  }
  by_x[0] = -by_x[1];
  fold(at, by_x, 2, &by_turn, 1, poses, o);
}

void RodLinks::bend(std::size_t at, const Pose* poses, Level& o) const {
  const int n = int(stations_[at].point), N = d_.segments;
  const V4 a = n ? o.p[std::size_t(n - 1)] : end_frame(0, poses, o),
           b = n < N ? o.p[std::size_t(n)] : end_frame(1, poses, o);
  V4 W = multiply<double>(conjugate<double>(a), b);
  M43 dW[2] = {before(W), behind(W)};
  if (n == 0 || n == N) { // the ghost beyond the clamp
    const Mat4<double> both = quaternion_matrix<double>(W) + quaternion_matrix_right<double>(W);
    for (M43& d : dW) d = both * d;
    W = multiply<double>(W, W);
  }
  const Zeta<double> z = d_.law(W[0]);
  const double kappa = d_.kappa[std::size_t(n)];
  const V3 h = W.tail<3>();
  o.E[at] = (kappa * z.z) * h - d_.K0[std::size_t(n)];
  M3 by_turn[2];
  for (int k = 0; k < 2; ++k) by_turn[k] = (kappa * z.z) * dW[k].bottomRows<3>() + (kappa * z.z1) * (h * dW[k].row(0));
  fold(at, nullptr, 0, by_turn, 2, poses, o);
}

// As ElementKernel has them, of which this is the gradient: dG = G x Im eta + R' du, dK = Im(zeta - eta kappa/2).
template <int p> void RodLinks::points(const Pose* poses, Level& o) const {
  const auto& t = Lobatto<p>::get();
  for (std::size_t at = 0; at < stations_.size(); at += 2) {
    const std::size_t g = stations_[at].point, first = g / p * p;
    double length = 0.0;
    for (std::size_t k = 0; k < p; ++k) length += d_.ds[first + k];
    const double slope = 2.0 / length, *I = t.I[g - first], *D = t.D[g - first];
    V3 u = V3::Zero();
    V4 P = V4::Zero(), Q = V4::Zero();
    for (std::size_t a = 0; a <= p; ++a) {
      u += (slope * D[a]) * (o.x[first + a] - o.x[first]);
      P += I[a] * o.p[first + a], Q += (slope * D[a]) * (o.p[first + a] - o.p[first]);
    }
    const double inverse = 1.0 / P.dot(P);
    const M3 R = inverse * matrix_from_quaternion<double>(P);
    const V3 G = R.transpose() * u, rest = at_rest(g, o);
    const V4 kappa = (2.0 * inverse) * multiply<double>(conjugate<double>(P), Q);
    const V3 K = kappa.tail<3>();
    o.E[at] = G - rest, o.E[at + 1] = K - d_.K0[g];
    M3 by_x[p + 1], by_turn[p + 1], bent[p + 1];
    const M3 across = skew<double>(G);
    M3 half = 0.5 * skew<double>(K);
    half.add_to_diagonal(-0.5 * kappa[0]);
    for (std::size_t a = 0; a <= p; ++a) {
      const V4 q = multiply<double>(conjugate<double>(P), o.p[first + a]);
      const M43 eta = inverse * quaternion_matrix<double>(q).rightCols<3>();
      by_x[a] = (slope * D[a]) * R.transpose(), by_turn[a] = I[a] * (across * eta.bottomRows<3>());
      bent[a] =
          (slope * D[a]) * eta.bottomRows<3>() + I[a] * (half * eta.bottomRows<3>()) - (0.5 * I[a]) * (K * eta.row(0));
    }
    if (d_.strain == Strain::stretch) {
      const double norm = u.norm();
      o.E[at][2] = norm - rest[2];
      for (std::size_t a = 0; a <= p; ++a)
        by_x[a].row(2) = (slope * D[a] / norm) * u.transpose(), by_turn[a].row(2).setZero();
    }
    fold(at, by_x, p + 1, by_turn, p + 1, poses, o);
    fold(at + 1, nullptr, 0, bent, p + 1, poses, o);
  }
}

// --- stresses

V3 RodLinks::elastic(const Station& s, const V3& E) const {
  return s.weight * ((s.bends ? d_.CK : d_.CG)[s.point] * E);
}

void RodLinks::stress(double h, bool nodes, bool at_end) {
  const double far = nodes ? 0.0 : far_end;
  const auto strain = [&](std::size_t at) {
    return V3((at_end ? far : 1.0 - far) * now_.E[at] + (at_end ? 1.0 - far : far) * next_.E[at]);
  };
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& s = stations_[at];
    S_[at] = elastic(s, strain(at));
    if (d_.damped)
      S_[at] += (2.0 * s.weight / h) * (s.bends ? d_.cK : d_.cG)[s.point].cwiseProduct(next_.E[at] - now_.E[at]);
  }
  for (const Cross& c : crosses_) {
    const M3& X = d_.CX[stations_[c.strain].point];
    S_[c.strain] += c.weight * (X * strain(c.bend)), S_[c.bend] += c.weight * (X.transpose() * strain(c.strain));
  }
}

double RodLinks::energy(bool nodes) const {
  const double far = nodes ? 0.0 : far_end;
  const auto product = [&](const std::vector<V3>& E, const std::vector<V3>& F) {
    double V = 0.0;
    for (std::size_t at = 0; at < stations_.size(); ++at) V += 0.5 * E[at].dot(elastic(stations_[at], F[at]));
    for (const Cross& c : crosses_) {
      const M3& X = d_.CX[stations_[c.strain].point];
      V += 0.5 * c.weight * (E[c.strain].dot(X * F[c.bend]) + F[c.strain].dot(X * E[c.bend]));
    }
    return V;
  };
  return 0.5 * (1.0 - far) * (product(now_.E, now_.E) + product(next_.E, next_.E)) + far * product(now_.E, next_.E);
}

void RodLinks::share(const double* rows, BodyState* states) const {
  for (int n = 0; n < d_.segments && d_.blended; ++n)
    for (const auto& [a, b] : {std::pair{n, n + 1}, std::pair{n + 1, n}}) {
      const int node = vertex_node(b);
      const double* v = rows + 13 * node + 7;
      if (vertex_node(a) >= 0)
        states[vertex_node(a)].P += d_.off[std::size_t(n)] * (node < 0 ? now_.ends[b ? 1 : 0].v : V3(v[0], v[1], v[2]));
    }
}

void RodLinks::velocities(const BlockPattern& pattern, double* r, bool tangent) const {
  for (int n = 0; n < d_.segments && d_.blended; ++n)
    for (const auto& [a, b] : {std::pair{n, n + 1}, std::pair{n + 1, n}}) {
      const int to = vertex_node(a), from = vertex_node(b);
      const double off = d_.off[std::size_t(n)];
      if (to < 0 || off == 0.0) continue;
      if (from < 0)
        add<3>(r + pattern.offset(to), -off * now_.ends[b ? 1 : 0].v);
      else
        lu_->block(to, from).block(0, 0, 3, 3).add_to_diagonal(off);
    }
  each_held([&](int k, std::size_t at) {
    if (!tangent) return lu_->block(first_ + k, first_ + k).add_to_diagonal(1.0);
    const Station& s = stations_[at];
    for (std::size_t a = s.first; a < s.last; ++a) {
      const Grid<double> up = lu_->block(nodes_[a], first_ + k), down = lu_->block(first_ + k, nodes_[a]);
      const int skip = pinned(nodes_[a]) ? 3 : 0;
      for (int i = 0; i < d_.held; ++i)
        for (int c = skip; c < 6; ++c) up(c - skip, i) += now_.B[a](i, c), down(i, c - skip) += now_.B[a](i, c);
    }
    for (int i = 0; i < d_.held; ++i) r[pattern.offset(first_ + k) + i] = -now_.rate[at][i];
  });
}

void RodLinks::take(const BlockPattern& pattern, const double* x) {
  each_held([&](int k, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) nu_[at][i] = x[pattern.offset(first_ + k) + i];
  });
}

void RodLinks::blend(const BlockPattern& pattern, double* r, bool matrix) const {
  for (int n = 0; n < d_.segments && d_.blended; ++n)
    for (const auto& [a, b] : {std::pair{n, n + 1}, std::pair{n + 1, n}})
      if (const int to = vertex_node(a), from = vertex_node(b); to >= 0) {
        const double off = d_.off[std::size_t(n)];
        add<3>(r + pattern.offset(to), off * moved(b));
        if (matrix && from >= 0) lu_->block(to, from).block(0, 0, 3, 3).add_to_diagonal(off);
      }
}

void RodLinks::assemble(const Trial& s, const BlockPattern& pattern, double* r, bool matrix) {
  measure(s.t_next, s.next, next_);
  stress(s.h, s.nodes, false);
  const double f = 0.5 * s.h * s.h;
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& o = stations_[at];
    for (std::size_t a = o.first; a < o.last; ++a) {
      const Matrix<double, 6, 1> x = f * (now_.B[a].transpose() * S_[at]);
      double* to = r + pattern.offset(nodes_[a]);
      if (!pinned(nodes_[a])) add<3>(to, x.head<3>()), to += 3;
      add<3>(to, x.tail<3>());
    }
  }
  each_held([&](int k, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) r[pattern.offset(first_ + k) + i] = next_.E[at][i];
  });
  blend(pattern, r, matrix);
  if (matrix) {
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
      turned_[b].leftCols<3>() = next_.B[b].leftCols<3>();
      turned_[b].rightCols<3>() = next_.B[b].rightCols<3>() * s.turn[nodes_[b]];
    }
    for (const Station& o : stations_) {
      M3 C = (s.nodes ? 0.0 : far_end * f * o.weight) * (o.bends ? d_.CK : d_.CG)[o.point];
      if (d_.damped) C.diagonal() += (2.0 * f * o.weight / s.h) * (o.bends ? d_.cK : d_.cG)[o.point];
      link(now_.B, o, C, o, o.target);
    }
    put_held(now_.B);
    for (const Cross& c : crosses_) {
      const M3 X = (s.nodes ? 0.0 : far_end * f * c.weight) * d_.CX[stations_[c.strain].point];
      link(now_.B, stations_[c.strain], X, stations_[c.bend], c.target[0]);
      link(now_.B, stations_[c.bend], X.transpose().eval(), stations_[c.strain], c.target[1]);
    }
  }
  if (!grid_) return;
  outside(s);
  each_outside(s, [&](int node, const V3& force, const V3& moment) {
    double* to = r + pattern.offset(node);
    if (!pinned(node)) add<3>(to, -f * force), to += 3;
    add<3>(to, -f * (moment + s.w[node].cross(moment)));
  });
  if (matrix) outside_blocks(s);
}

void RodLinks::link(const std::vector<M36>& B, const Station& rows, const M3& C, const Station& columns,
                    std::size_t target) {
  for (std::size_t a = rows.first; a < rows.last; ++a) {
    const Matrix<double, 6, 3> left = B[a].transpose() * C;
    const int skip = pinned(nodes_[a]) ? 3 : 0;
    for (std::size_t b = columns.first; b < columns.last; ++b, ++target) {
      const M66 K = left * turned_[b];
      const Grid<double>& to = targets_[target];
      const int over = pinned(nodes_[b]) ? 3 : 0;
      for (int j = over; j < 6; ++j)
        for (int i = skip; i < 6; ++i) to(i - skip, j - over) += K(i, j);
    }
  }
}

double RodLinks::finish(const Trial& s, BodyState* states) {
  measure(s.t_next, s.next, next_);
  stress(s.h, s.nodes, true);
  each_held([&](int, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) S_[at][i] += nu_[at][i] / (0.5 * s.h * s.h);
  });
  for (std::size_t at = 0; at < stations_.size(); ++at)
    for (std::size_t b = stations_[at].first; b < stations_[at].last; ++b) {
      const Matrix<double, 6, 1> x = (0.5 * s.h) * (next_.B[b].transpose() * S_[at]);
      states[nodes_[b]].P -= V3(x.head<3>()), states[nodes_[b]].L -= V3(x.tail<3>());
    }
  double V = energy(s.nodes);
  if (grid_) {
    outside(s);
    each_outside(s, [&](int node, const V3& force, const V3& moment) {
      states[node].P += (0.5 * s.h) * force;
      states[node].L += (0.5 * s.h) * (moment - s.w[node].cross(moment));
    });
    V += outside_energy(s.t);
  }
  for (int n = 0; n <= d_.segments; ++n) {
    const std::size_t i = std::size_t(n);
    const V3 mean = 0.5 * (now_.x[i] + next_.x[i]);
    if (vertex_node(n) < 0) V += 0.5 * d_.mass[i] * moved(n).squaredNorm() / (s.h * s.h);
    if (n < d_.segments && d_.blended) {
      const double off = d_.off[i];
      if (const int a = vertex_node(n); a >= 0) states[a].P += (off / s.h) * moved(n + 1);
      if (const int b = vertex_node(n + 1); b >= 0) states[b].P += (off / s.h) * moved(n);
      V += off * moved(n).dot(moved(n + 1)) / (s.h * s.h);
    }
    if (!moves(n)) V -= d_.tributary[i] * d_.gravity.dot(mean);
  }
  std::swap(now_, next_);
  return V;
}

// --- from outside

void RodLinks::outside(const Trial& s) {
  RodState<double>& o = *s_;
  for (std::size_t n = 0; n < o.x.size(); ++n) {
    o.x[n] = 0.5 * (now_.x[n] + next_.x[n]), o.v[n] = (next_.x[n] - now_.x[n]) / s.h;
    o.f[n].setZero();
  }
  for (std::size_t j = 0; j < o.p.size(); ++j) {
    const V4 e = multiply<double>(conjugate<double>(now_.p[j]), next_.p[j]);
    const double side = e[0] < 0.0 ? -1.0 : 1.0;
    o.p[j] = V4(now_.p[j] + side * next_.p[j]).normalized();
    const V3 Omega = (2.0 * side / s.h) * V3(e.tail<3>());
    o.w[j] = V4(0.0, Omega[0], Omega[1], Omega[2]);
    o.R[j] = matrix_from_quaternion<double>(o.p[j]), o.mu[j].setZero();
  }
  EndMotion ends[2];
  for (int e = 0; e < 2; ++e) {
    const RodEnd& end = d_.ends[e];
    o.end_moment[e].setZero();
    if (end.host >= 0)
      ends[e].p = multiply<double>(spurrier_klumpp<double>(s.half[end.host]), end.turn);
    else
      ends[e].p = now_.ends[e].p; // what acts on such a clamp moves nothing
  }
  grid_->add_outside(0.5 * (s.t + s.t_next), o, ends);
  each_near([&](const Contact& c, const gyrod::Station& at, const V3&, const ContactState& near) {
    ContactForce felt;
    if (!touch(c.law, near, felt)) return;
    const V3 F = c.turn * felt.F;
    for (int k = 0; k < at.count; ++k) o.f[std::size_t(at.cells[k])] += at.share[k] * F;
  });
}

double RodLinks::outside_energy(double t) const {
  double V = grid_->load_energy(t, *s_);
  each_near([&](const Contact& c, const gyrod::Station&, const V3&, const ContactState& near) {
    V += c.law.energy(near.gap(), near.weight);
  });
  return V;
}

// Derivatives between cells; what bodies that hold ends do to them is left to the iteration.
void RodLinks::outside_blocks(const Trial& s) {
  const int N = d_.segments;
  for (int r = 0; r <= N; ++r) blocks_->clear_row(r);
  grid_->add_outside_blocks(0.5 * (s.t + s.t_next), *s_, *blocks_);
  each_near([&](const Contact& c, const gyrod::Station& at, const V3& p, const ContactState& near) {
    ContactForce felt;
    ContactSlopes by;
    if (!touch(c.law, near, c.surface->bend(p, near.near), felt, by)) return;
    const M3 K = c.turn * by.force.block<3, 3>(0, 0) * c.turn.transpose();
    const M3 C = c.turn * by.force.block<3, 3>(0, 3) * c.turn.transpose();
    for (int k = 0; k < at.count; ++k)
      for (int l = 0; l < at.count; ++l) {
        const double share = at.share[k] * at.share[l];
        if (share == 0.0) continue;
        blocks_->q(at.cells[k], at.cells[l]).bottomRightCorner<3, 3>() += share * K;
        blocks_->v(at.cells[k], at.cells[l]).bottomRightCorner<3, 3>() += share * C;
      }
  });
  const double f = 0.5 * s.h * s.h;
  for (int r = 0; r <= N; ++r)
    for (int c = blocks_->first(r); c <= blocks_->last(r); ++c) {
      const int a = cells_[std::size_t(r)], b = cells_[std::size_t(c)];
      if (a < 0 || b < 0) continue;
      const auto &q = blocks_->q(r, c), &v = blocks_->v(r, c);
      const Increment e(s.w[b]);
      M66 K = M66::Zero(); // rows f, mu at the middle; columns x, w
      Matrix<double, 6, 3> by_x = 0.5 * q.rightCols<3>() + v.rightCols<3>() / s.h;
      Matrix<double, 6, 3> by_w = q.middleCols<3>(1) * e.middle_turn() + (2.0 / s.h) * (v.middleCols<3>(1) * e.dz());
      if (moves(r) && moves(c)) K.block<3, 3>(0, 0) = by_x.bottomRows<3>();
      if (moves(r) && turns(c)) K.block<3, 3>(0, 3) = by_w.bottomRows<3>();
      M3 share = skew<double>(s.w[a]);
      share.add_to_diagonal(1.0);
      if (turns(r) && moves(c)) K.block<3, 3>(3, 0) = share * by_x.topRows<3>();
      if (turns(r) && turns(c)) K.block<3, 3>(3, 3) = share * by_w.topRows<3>();
      if (r == c && turns(r)) K.block<3, 3>(3, 3) -= skew<double>(s_->mu[std::size_t(d_.frame_of(r))]);
      const Grid<double> to = lu_->block(a, b);
      const int skip = pinned(a) ? 3 : 0, over = pinned(b) ? 3 : 0;
      for (int j = over; j < 6; ++j)
        for (int i = skip; i < 6; ++i) to(i - skip, j - over) -= f * K(i, j);
    }
}

} // namespace gyrod::variational
