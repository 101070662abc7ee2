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
                   const std::vector<double>& sigma)
    : d_(d), cells_(std::move(cells)), bodies_(bodies) {
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
  if (d_.framed() || !d_.supports.empty() || !d_.obstacles.empty()) {
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

template <class F> void RodLinks::each_held(F&& f) const {
  for (std::size_t at = 0, k = 0; at < stations_.size() && d_.held; ++at)
    if (!stations_[at].bends) f(int(k++), at);
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
  lu_ = &lu;
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
    V += grid_->support_energy(*s_);
    for (const RodLoad& l : d_.loads)
      if (!l.follow && l.constant() && l.F)
        for (const auto& h : l.force) V -= h.weight.cwiseProduct(l.F.vector(s.t)).dot(s_->x[std::size_t(h.vertex)]);
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
}

template <class F> void RodLinks::each_outside(const Trial& s, F&& f) const {
  const V3 none = V3::Zero();
  const auto held = [&](int e, const V3& force, const V3& moment) { // moment in the axes of the end
    const RodEnd& end = d_.ends[e];
    if (end.host < 0) return;
    f(end.host, force, V3(arm(e).cross(s.half[end.host].transpose() * force) + rotate<double>(end.turn, moment)));
  };
  for (int n = 0; n <= d_.segments; ++n) {
    if (moves(n))
      f(cells_[std::size_t(n)], s_->f[std::size_t(n)], none);
    else
      held(n ? 1 : 0, s_->f[std::size_t(n)], none);
  }
  for (int j = 0; j < d_.frames(); ++j) {
    if (d_.holds(j))
      held(j ? 1 : 0, none, s_->mu[std::size_t(j)]);
    else
      f(frame_node(j), none, s_->mu[std::size_t(j)]);
  }
  for (int e = 0; e < 2 && !d_.degree; ++e) held(e, none, s_->end_moment[e]);
}

// Derivatives between cells; what bodies that hold ends do to them is left to the iteration.
void RodLinks::outside_blocks(const Trial& s) {
  const int N = d_.segments;
  for (int r = 0; r <= N; ++r) blocks_->clear_row(r);
  grid_->add_outside_blocks(0.5 * (s.t + s.t_next), *s_, *blocks_);
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

// --- steps that keep energy and momenta

M3 RodLinks::axes(int j, const Pose* poses, const Level& o) const {
  const bool held = j < 0 || j >= d_.frames() || d_.holds(j);
  return matrix_from_quaternion<double>(held ? end_frame(j <= 0 ? 0 : 1, poses, o) : o.p[std::size_t(j)]);
}

V3 RodLinks::arm_of(int n, const Pose* poses) const {
  if (moves(n) || vertex_node(n) < 0) return V3::Zero();
  return poses[vertex_node(n)].R * arm(n ? 1 : 0);
}

// K = kappa f(T) axial(Q) - K0 with Q = a'b and its trace T: products of directors, whose changes are exact with the
// means of both ends, and f by its secant.
RodLinks::Bent RodLinks::bent(std::size_t at, const Trial& s) const {
  const int n = int(stations_[at].point), N = d_.segments;
  const bool ghost = n == 0 || n == N;
  Bent o;
  double c[2];
  V3 axial[2];
  Zeta<double> z[2];
  for (int k = 0; k < 2; ++k) {
    const Level& level = k ? next_ : now_;
    const Pose* poses = k ? s.next : s.now;
    o.a[2 * k] = axes(n - 1, poses, level), o.b[2 * k] = axes(n, poses, level);
    const V4 a = n ? level.p[std::size_t(n - 1)] : end_frame(0, poses, level),
             b = n < N ? level.p[std::size_t(n)] : end_frame(1, poses, level);
    V4 W = multiply<double>(conjugate<double>(a), b);
    if (ghost) W = multiply<double>(W, W);
    c[k] = W[0], axial[k] = W.tail<3>() * (ghost ? 1.0 : 2.0 * W[0]), z[k] = d_.law(W[0]);
  }
  o.a[1] = 0.5 * (o.a[0] + o.a[2]), o.b[1] = 0.5 * (o.b[0] + o.b[2]);
  const double change = c[1] - c[0];
  const double secant = std::abs(change) > 1e-3 ? (z[1].z - z[0].z) / change
                                                : 0.5 * (z[0].z1 + z[1].z1) - change * (z[1].z2 - z[0].z2) / 12.0;
  const double kappa = d_.kappa[stations_[at].point], mean = 0.5 * (z[0].z + z[1].z);
  o.mean = 0.5 * (axial[0] + axial[1]);
  if (ghost) // T = 2 c + 1
    o.factor = kappa * mean, o.slope = 0.5 * kappa * secant, o.end_slope = 0.5 * kappa * z[1].z1;
  else { // T = 4 c² - 1, f = z/(2 c)
    const double sum = c[0] + c[1];
    o.factor = 0.25 * kappa * (z[0].z / c[0] + z[1].z / c[1]);
    o.slope = kappa * (0.5 * secant * sum - mean) / (8.0 * c[0] * c[1] * sum);
    o.end_slope = kappa * (z[1].z1 * c[1] - z[1].z) / (16.0 * c[1] * c[1] * c[1]);
  }
  return o;
}

M3 RodLinks::Bent::pair(const V3& S) const {
  M3 B = (0.5 * factor) * skew<double>(S);
  B.add_to_diagonal(slope * S.dot(mean));
  return B;
}

void RodLinks::middle(const Trial& s) {
  for (M36& B : middle_) B.setZero();
  const auto put = [&](int entry, int row, const V3& force, const V3& moment) {
    if (entry < 0) return;
    const V3 body = s.now[nodes_[std::size_t(entry)]].R.transpose() * moment;
    for (int i = 0; i < 3; ++i)
      middle_[std::size_t(entry)](row, i) += force[i], middle_[std::size_t(entry)](row, 3 + i) += body[i];
  };
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& o = stations_[at];
    if (o.bends) {
      const Bent k = bent(at, s);
      for (int row = 0; row < 3; ++row) {
        const M3 on_b = k.a[1] * k.pair(V3::Unit(row));
        V3 moment = V3::Zero();
        for (int j = 0; j < 3; ++j) moment += k.b[1].col(j).cross(on_b.col(j));
        put(o.entries[1][1], row, V3::Zero(), moment), put(o.entries[1][0], row, V3::Zero(), -moment);
      }
      continue;
    }
    const std::size_t j = o.point;
    const double c = d_.inverse_ds[j];
    const V3 before = now_.x[j + 1] - now_.x[j], after = next_.x[j + 1] - next_.x[j], d = (0.5 * c) * (before + after);
    const M3 R = 0.5 * (axes(int(j), s.now, now_) + axes(int(j), s.next, next_));
    for (int row = 0; row < 3; ++row) {
      const bool length = row == 2 && d_.strain == Strain::stretch;
      const V3 g = length ? V3(d * (2.0 / (before.norm() + after.norm()))) : V3(c * R.col(row));
      for (int k = 0; k < 2; ++k) {
        const V3 r = 0.5 * (arm_of(o.vertex + k, s.now) + arm_of(o.vertex + k, s.next)), force = k ? g : V3(-g);
        put(o.entries[0][k], row, force, r.cross(force));
      }
      if (!length) put(o.entries[1][0], row, V3::Zero(), R.col(row).cross(d));
    }
  }
}

void RodLinks::assemble_conserving(const Trial& s, const BlockPattern& pattern, double* r) {
  measure(s.t_next, s.next, next_);
  stress_conserving(s.h);
  middle(s);
  const double f = 0.5 * s.h * s.h;
  each_held([&](int k, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) r[pattern.offset(first_ + k) + i] = next_.E[at][i];
  });
  blend(pattern, r, true);
  // Moments as the equations have them, times 1 - u^, which varies too.
  for (std::size_t b = 0; b < nodes_.size(); ++b) {
    turned_[b].leftCols<3>() = next_.B[b].leftCols<3>();
    turned_[b].rightCols<3>() = next_.B[b].rightCols<3>() * s.turn[nodes_[b]];
  }
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& o = stations_[at];
    const std::size_t count = o.last - o.first;
    V3 total = S_[at];
    for (int i = 0; i < d_.held && !o.bends; ++i) total[i] += nu_[at][i] / f;
    for (std::size_t a = o.first; a < o.last; ++a) {
      const int node = nodes_[a], skip = pinned(node) ? 3 : 0;
      const V3& w = s.w[node];
      const V3 u = half_angle(w), moment = middle_[a].rightCols<3>().transpose() * total;
      const M3 K = f * (skew<double>(moment) * half_angle_matrix(w));
      targets_[o.target + (a - o.first) * count + (a - o.first)].block(3 - skip, 3 - skip, 3, 3) += K;
      middle_[a].rightCols<3>() = middle_[a].rightCols<3>() * (M3::Identity() + skew<double>(u));
      const Matrix<double, 6, 1> x = f * (middle_[a].transpose() * S_[at]);
      double* to = r + pattern.offset(node);
      if (!skip) add<3>(to, x.head<3>()), to += 3;
      add<3>(to, x.tail<3>());
    }
    S_[at] = total;
    o.bends ? bend_geometry(at, s, f) : segment_geometry(at, s, f);
    M3 C = (0.5 * f * o.weight) * (o.bends ? d_.CK : d_.CG)[o.point];
    if (d_.damped) C.diagonal() += (2.0 * f * o.weight / s.h) * (o.bends ? d_.cK : d_.cG)[o.point];
    link(middle_, o, C, o, o.target);
  }
  put_held(middle_);
  for (const Cross& c : crosses_) {
    const M3 X = (0.5 * f * c.weight) * d_.CX[stations_[c.strain].point];
    link(middle_, stations_[c.strain], X, stations_[c.bend], c.target[0]);
    link(middle_, stations_[c.bend], X.transpose().eval(), stations_[c.strain], c.target[1]);
  }
  if (!grid_) return;
  outside(s);
  each_outside(s, [&](int node, const V3& force, const V3& moment) {
    double* to = r + pattern.offset(node);
    if (!pinned(node)) add<3>(to, -f * force), to += 3;
    const V3 V = s.now[node].R.transpose() * (s.half[node] * moment);
    add<3>(to, -f * (V - half_angle(s.w[node]).cross(V)));
  });
  outside_blocks(s);
}

// Stresses S_ turn with the step; f scales the equations.
void RodLinks::bend_geometry(std::size_t at, const Trial& s, double f) {
  const Station& o = stations_[at];
  const Bent k = bent(at, s);
  const M3 B = k.pair(S_[at]), on_b = k.a[1] * B, on_a = k.b[1] * B.transpose();
  M3 by[2] = {M3::Zero(), M3::Zero()}; // moments on a by turns of a, on b by turns of b; and less that on the other
  for (int j = 0; j < 3; ++j) {
    by[0] += 0.5 * (skew<double>(on_a.col(j)) * skew<double>(k.a[2].col(j)));
    by[1] += 0.5 * (skew<double>(on_b.col(j)) * skew<double>(k.b[2].col(j)));
  }
  // The mean of f and that of the axial vector vary with the end too; the secant's own change is smaller.
  const auto moments = [](const M3& b, const M3& a) {
    V3 sum = V3::Zero();
    for (int j = 0; j < 3; ++j) sum += b.col(j).cross(a.col(j));
    return sum;
  };
  const M3 half = 0.5 * skew<double>(S_[at]);
  const M3 more = (0.5 * k.end_slope) * (moments(k.b[1], k.a[1] * half) * moments(k.b[2], k.a[2]).transpose()) +
                  (0.5 * k.slope) * (moments(k.b[1], k.a[1]) * moments(k.b[2], k.a[2] * half).transpose());
  by[0] += more, by[1] += more;
  const std::size_t count = o.last - o.first;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column) {
      const int a = o.entries[1][row], b = o.entries[1][column];
      if (a < 0 || b < 0) continue;
      const int on = nodes_[std::size_t(a)], of = nodes_[std::size_t(b)];
      const M3 left = (M3::Identity() - skew<double>(half_angle(s.w[on]))) * s.now[on].R.transpose();
      const M3 K = (row == column ? f : -f) * (left * by[column] * s.next[of].R * s.turn[of]);
      const Grid<double>& to = targets_[o.target + (std::size_t(a) - o.first) * count + std::size_t(b) - o.first];
      to.block(pinned(on) ? 0 : 3, pinned(of) ? 0 : 3, 3, 3) += K;
    }
}

void RodLinks::segment_geometry(std::size_t at, const Trial& s, double f) {
  const Station& o = stations_[at];
  const std::size_t j = o.point;
  const double c = d_.inverse_ds[j];
  const V3 before = now_.x[j + 1] - now_.x[j], after = next_.x[j + 1] - next_.x[j], d = (0.5 * c) * (before + after);
  const M3 end = axes(int(j), s.next, next_), mean = 0.5 * (axes(int(j), s.now, now_) + end);
  V3 S = S_[at];
  double along = 0.0;
  if (d_.strain == Strain::stretch) along = 2.0 * c * S[2] / (before.norm() + after.norm()), S[2] = 0.0;
  const V3 pull = mean * S, pull_end = end * S, force = c * pull + (along / c) * d;
  // Of the frame and both vertices: where they act, and how they move.
  struct Slot {
    int entry;
    double sign; // of the force, 0: a frame
    V3 mean, end;
  } slots[3] = {{o.entries[1][0], 0.0, V3::Zero(), V3::Zero()}};
  for (int k = 0; k < 2; ++k) {
    const V3 r0 = arm_of(o.vertex + k, s.now), r1 = arm_of(o.vertex + k, s.next);
    slots[1 + k] = {o.entries[0][k], k ? 1.0 : -1.0, 0.5 * (r0 + r1), r1};
  }
  const std::size_t count = o.last - o.first;
  for (const Slot& row : slots)
    for (const Slot& column : slots) {
      if (row.entry < 0 || column.entry < 0) continue;
      M66 K = M66::Zero(); // by displacements and turns, space axes
      if (column.sign == 0.0) {
        const M3 by = (-0.5 * c) * skew<double>(pull_end);
        if (row.sign == 0.0)
          K.block<3, 3>(3, 3) = -(skew<double>(d) * by) / c;
        else
          K.block<3, 3>(0, 3) = row.sign * by, K.block<3, 3>(3, 3) = row.sign * (skew<double>(row.mean) * by);
      } else {
        M3 by = M3::Zero(), turned = M3::Zero();
        if (row.sign == 0.0)
          turned = (0.5 * c * column.sign) * skew<double>(pull);
        else {
          by.add_to_diagonal(0.5 * along * row.sign * column.sign);
          turned = skew<double>(row.mean) * by;
        }
        const M3 swing = skew<double>(column.end);
        K.block<3, 3>(0, 0) = by, K.block<3, 3>(0, 3) = -(by * swing);
        K.block<3, 3>(3, 0) = turned, K.block<3, 3>(3, 3) = -(turned * swing);
        if (&row == &column) K.block<3, 3>(3, 3) += (0.5 * row.sign) * (skew<double>(force) * swing);
      }
      const int on = nodes_[std::size_t(row.entry)], of = nodes_[std::size_t(column.entry)];
      const M3 left = (M3::Identity() - skew<double>(half_angle(s.w[on]))) * s.now[on].R.transpose();
      const M3 right = s.next[of].R * s.turn[of];
      const Grid<double>& to =
          targets_[o.target + (std::size_t(row.entry) - o.first) * count + std::size_t(column.entry) - o.first];
      const int r0 = pinned(on) ? 0 : 3, c0 = pinned(of) ? 0 : 3;
      if (r0 && c0) to.block(0, 0, 3, 3) += f * K.block<3, 3>(0, 0);
      if (r0) to.block(0, c0, 3, 3) += f * (K.block<3, 3>(0, 3) * right);
      if (c0) to.block(r0, 0, 3, 3) += f * (left * K.block<3, 3>(3, 0));
      to.block(r0, c0, 3, 3) += f * (left * K.block<3, 3>(3, 3) * right);
    }
}

void RodLinks::stress_conserving(double h) {
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& s = stations_[at];
    S_[at] = elastic(s, 0.5 * (now_.E[at] + next_.E[at]));
    if (d_.damped)
      S_[at] += (2.0 * s.weight / h) * (s.bends ? d_.cK : d_.cG)[s.point].cwiseProduct(next_.E[at] - now_.E[at]);
  }
  for (const Cross& c : crosses_) {
    const M3& X = d_.CX[stations_[c.strain].point];
    const V3 strain = 0.5 * (now_.E[c.strain] + next_.E[c.strain]), bend = 0.5 * (now_.E[c.bend] + next_.E[c.bend]);
    S_[c.strain] += c.weight * (X * bend), S_[c.bend] += c.weight * (X.transpose() * strain);
  }
}

double RodLinks::finish_conserving(const Trial& s, BodyState* states) {
  measure(s.t_next, s.next, next_);
  stress_conserving(s.h);
  middle(s);
  each_held([&](int, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) S_[at][i] += nu_[at][i] / (0.5 * s.h * s.h);
  });
  for (std::size_t at = 0; at < stations_.size(); ++at)
    for (std::size_t b = stations_[at].first; b < stations_[at].last; ++b) {
      const Matrix<double, 6, 1> x = s.h * (middle_[b].transpose() * S_[at]);
      states[nodes_[b]].P -= V3(x.head<3>()), states[nodes_[b]].L -= V3(x.tail<3>());
    }
  double V = energy(true);
  if (grid_) {
    outside(s);
    each_outside(s, [&](int node, const V3& force, const V3& moment) {
      states[node].P += s.h * force;
      states[node].L += s.h * (s.now[node].R.transpose() * (s.half[node] * moment));
    });
    V += grid_->support_energy(*s_);
    for (const RodLoad& l : d_.loads)
      if (!l.follow && l.constant() && l.F)
        for (const auto& h : l.force) V -= h.weight.cwiseProduct(l.F.vector(s.t)).dot(s_->x[std::size_t(h.vertex)]);
  }
  for (int n = 0; n <= d_.segments; ++n)
    if (!moves(n))
      V -= 0.5 * d_.tributary[std::size_t(n)] * d_.gravity.dot(now_.x[std::size_t(n)] + next_.x[std::size_t(n)]);
  std::swap(now_, next_);
  return V;
}

} // namespace gyrod::variational
