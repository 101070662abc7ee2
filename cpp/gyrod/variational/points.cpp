#include "gyrod/variational/points.hpp"

namespace gyrod::variational {

namespace {
// f(node, B) for all nodes that move a point, B by its displacement and turn; returns where it is. Its frame, of which
// f(node, turn) says with which body it turns, is given too.
template <class F, class G>
V3 visit(const LinkPoint& p, const std::vector<RodLinks>& rods, const std::vector<RigidBody>& bodies, const Pose* poses,
         bool next, M3& R, F&& f, G&& g, int d = 0) {
  if (p.rod >= 0) return rods[std::size_t(p.rod)].point(p, poses, next, R, f, g, d);
  R = M3::Identity();
  if (p.body < 0) return p.offset;
  const RigidBody& b = bodies[std::size_t(p.body)];
  const Pose& at = poses[p.body];
  const V3 arm = b.pinned ? V3(b.arm + p.offset) : p.offset;
  R = at.R;
  M36 B;
  B.leftCols<3>().setIdentity(), B.rightCols<3>() = -(R * skew<double>(arm));
  f(p.body, B), g(p.body, M3(M3::Identity()));
  return (b.pinned ? b.point : at.x) + R * arm;
}
} // namespace

PointLinks::PointLinks(std::vector<RodLink> links, const std::vector<RodLinks>& rods,
                       const std::vector<RigidBody>& bodies)
    : links_(std::move(links)), bodies_(bodies) {
  for (std::size_t k = 0; k < links_.size(); ++k) {
    for (LinkPoint& p : links_[k].ends) p.node = p.rod >= 0 && rods[std::size_t(p.rod)].elements();
    if (!links_[k].slides()) continue;
    sliding_.push_back(k), places_.push_back(links_[k].ends[1].at);
    windows_.insert(windows_.end(), {0, 0});
  }
  reached_ = places_;
  weave(rods);
}

void PointLinks::weave(const std::vector<RodLinks>& rods) {
  for (std::size_t i = 0; i < sliding_.size(); ++i) {
    LinkPoint& p = links_[sliding_[i]].ends[1];
    const int last = int(rods[std::size_t(p.rod)].cells().size()) - 1;
    const int *w = windows_.data() + 2 * i, from = w[0], to = w[0] + w[1];
    if (strayed_ && w[1]) open(i, std::min(from, p.segment), std::max(to, p.segment + p.count), last);
    place_at(p, places_[i]);
    spare_ = 1;
    if (!known(i, p)) open(i, p.segment, p.segment + p.count, last);
  }
  strayed_ = false;
  const std::vector<Pose> poses(bodies_.size(), Pose{V3::Zero(), V4(1.0, 0.0, 0.0, 0.0), M3::Identity()});
  nodes_.clear(), target_.clear(), targets_.clear(), first_.assign(1, 0);
  std::size_t slides = 0;
  for (const RodLink& link : links_) {
    const auto add = [&](int node, const auto&) {
      if (std::find(nodes_.begin() + std::ptrdiff_t(first_.back()), nodes_.end(), node) == nodes_.end())
        nodes_.push_back(node);
    };
    for (const LinkPoint& p : link.ends) {
      M3 R;
      V3 arm;
      if (!p.slides()) {
        visit(p, rods, bodies_, poses.data(), false, R, add, add);
        continue;
      }
      const int* w = windows_.data() + 2 * slides++;
      for (int n = w[0]; n < w[0] + w[1]; ++n)
        if (const int node = rods[std::size_t(p.rod)].carrier(n, arm); node >= 0) add(node, arm);
    }
    first_.push_back(nodes_.size());
  }
  for (Level* o : {&now_, &next_}) {
    o->E.resize(links_.size()), o->B.resize(nodes_.size());
    if (sliding_.empty()) continue;
    o->tangent.resize(links_.size()), o->bend.resize(links_.size()), o->slope.resize(nodes_.size());
  }
}

void PointLinks::open(std::size_t slide, int from, int to, int last) {
  from = std::max(from - 2, 0), to = std::min(to + 2, last + 1);
  windows_[2 * slide] = from, windows_[2 * slide + 1] = to - from;
}

bool PointLinks::known(std::size_t i, const LinkPoint& p) {
  const int last = int(p.curve->mesh.size()) - 1, *w = windows_.data() + 2 * i;
  const bool inside =
      std::max(p.segment - spare_, 0) >= w[0] && std::min(p.segment + p.count - 1 + spare_, last) < w[0] + w[1];
  strayed_ = strayed_ || !inside;
  return inside;
}

std::string PointLinks::trouble() const {
  for (std::size_t i = 0; i < sliding_.size(); ++i)
    if (!(places_[i] >= 0.0 && places_[i] <= 1.0)) return run_out(links_[sliding_[i]], places_[i]);
  return {};
}

void PointLinks::pairs(std::vector<std::pair<int, int>>& out) const {
  for (std::size_t k = 0; k < links_.size(); ++k)
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a)
      for (std::size_t b = first_[k]; b < first_[k + 1]; ++b) out.emplace_back(nodes_[a], nodes_[b]);
}

void PointLinks::bind(BlockLu<double>& lu) {
  for (std::size_t k = 0; k < links_.size(); ++k) {
    target_.push_back(targets_.size());
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a)
      for (std::size_t b = first_[k]; b < first_[k + 1]; ++b) targets_.push_back(lu.block(nodes_[a], nodes_[b]));
  }
}

void PointLinks::measure(const std::vector<RodLinks>& rods, const Pose* poses, bool next, Level& o) const {
  for (std::size_t k = 0; k < links_.size(); ++k) measure(k, rods, poses, next, o);
}

void PointLinks::measure(std::size_t k, const std::vector<RodLinks>& rods, const Pose* poses, bool next,
                         Level& o) const {
  const RodLink& link = links_[k];
  for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) o.B[a].setZero();
  V3 x[2];
  M3 R[2];
  const auto skip = [](int, const M3&) {};
  for (int e = 0; e < 2; ++e) {
    const double sign = e ? 1.0 : -1.0;
    x[e] = visit(
        link.ends[e], rods, bodies_, poses, next, R[e],
        [&](int node, const M36& B) { o.B[entry(k, node)] += sign * B; }, skip);
  }
  o.E[k] = x[1] - x[0];
  if (link.slides()) {
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) o.slope[a].setZero();
    const auto add = [&](int node, const M36& B) { o.slope[entry(k, node)] += B; };
    o.tangent[k] = visit(link.ends[1], rods, bodies_, poses, next, R[1], add, skip, 1);
    o.bend[k] = visit(link.ends[1], rods, bodies_, poses, next, R[1], [](int, const M36&) {}, skip, 2);
  }
  if (!std::holds_alternative<BushingLaw>(link.law)) return;
  o.E[k] = R[0].transpose() * o.E[k];
  for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) o.B[a] = R[0].transpose() * o.B[a];
  const M3 across = skew<double>(o.E[k]);
  visit(
      link.ends[0], rods, bodies_, poses, next, R[0], [](int, const M36&) {},
      [&](int node, const M3& turn) { o.B[entry(k, node)].rightCols<3>() += across * turn; });
}

V3 PointLinks::ring(std::size_t k, const std::vector<RodLinks>& rods, const Pose* poses, bool next) const {
  M3 R;
  const auto none = [](int, const auto&) {};
  return visit(links_[k].ends[0], rods, bodies_, poses, next, R, none, none);
}

void PointLinks::settle(const std::vector<RodLinks>& rods, const Pose* poses) {
  for (std::size_t i = 0; i < sliding_.size(); ++i) {
    LinkPoint& p = links_[sliding_[i]].ends[1];
    slide(p, rods[std::size_t(p.rod)].vertices(false), ring(sliding_[i], rods, poses, false), places_[i]);
    places_[i] = p.at, known(i, p);
  }
}

void PointLinks::seek(const std::vector<RodLinks>& rods, const Trial& s) {
  for (std::size_t i = 0; i < sliding_.size(); ++i) {
    const std::size_t k = sliding_[i];
    LinkPoint& p = links_[k].ends[1];
    const std::vector<V3>&a = rods[std::size_t(p.rod)].vertices(false), &b = rods[std::size_t(p.rod)].vertices(true);
    mean_.resize(a.size());
    for (std::size_t n = 0; n < a.size(); ++n) mean_[n] = 0.5 * (a[n] + b[n]);
    slide(p, mean_, 0.5 * (ring(k, rods, s.now, false) + ring(k, rods, s.next, true)), places_[i]);
    reached_[i] = p.at;
    if (!known(i, p)) place_at(p, places_[i]);
    measure(k, rods, s.now, false, now_);
  }
}

PointForce PointLinks::force(std::size_t k, const Trial& s) const {
  const auto across = [&](PointForce f) { // along the rod there is nothing but rounding
    if (!links_[k].slides()) return f;
    const V3 t = 0.5 * (now_.tangent[k] + next_.tangent[k]);
    f.F -= (t.dot(f.F) / t.squaredNorm()) * t;
    return f;
  };
  const V3 E = 0.5 * (now_.E[k] + next_.E[k]), rate = (next_.E[k] - now_.E[k]) / s.h;
  return std::visit(
      [&](const auto& law) -> PointForce {
        using Law = std::decay_t<decltype(law)>;
        if constexpr (std::is_same_v<Law, TendonLaw>)
          return Line(E, rate).pull(law.tension.number(0.5 * (s.t + s.t_next)), 0.0, 0.0);
        else if constexpr (std::is_same_v<Law, BushingLaw>)
          return {law.k * E + law.c * rate, law.k, law.c};
        else {
          PointForce f = law.slopes(E, rate);
          f.F = law.template force<double>(E, rate);
          return across(f);
        }
      },
      links_[k].law);
}

void PointLinks::assemble(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r,
                          bool matrix) {
  spare_ = 1;
  seek(rods, s);
  measure(rods, s.next, true, next_);
  const double f = 0.5 * s.h * s.h;
  const auto pinned = [&](std::size_t a) { return bodies_[std::size_t(nodes_[a])].pinned; };
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const PointForce by = force(k, s);
    const M3 C = f * (0.5 * by.K + by.C * (1.0 / s.h));
    V3 tangent = V3::Zero(), pull = tangent; // of a point that slides, which goes with the end of the step
    double stiffness = 0.0;
    if (links_[k].slides()) {
      tangent = 0.5 * (now_.tangent[k] + next_.tangent[k]), pull = by.K * tangent;
      const V3 E = 0.5 * (now_.E[k] + next_.E[k]), bend = 0.5 * (now_.bend[k] + next_.bend[k]);
      stiffness = pull.dot(tangent) * nearness(E, tangent, bend) / tangent.squaredNorm();
    }
    std::size_t target = target_[k];
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) {
      const Matrix<double, 6, 1> x = f * (now_.B[a].transpose() * by.F);
      const int skip = pinned(a) ? 3 : 0;
      double* to = r + pattern.offset(nodes_[a]);
      for (int i = skip; i < 6; ++i) to[i - skip] += x[i];
      const Matrix<double, 6, 3> left = now_.B[a].transpose() * C;
      Matrix<double, 6, 1> by_way;
      if (stiffness != 0.0)
        by_way = (-0.5 * f / stiffness) * (now_.B[a].transpose() * pull + now_.slope[a].transpose() * by.F);
      for (std::size_t b = first_[k]; b < first_[k + 1] && matrix; ++b, ++target) {
        M36 turned = next_.B[b];
        turned.rightCols<3>() = M3(next_.B[b].rightCols<3>() * s.turn[nodes_[b]]);
        M66 K = left * turned;
        if (stiffness != 0.0) {
          M36 slope = next_.slope[b];
          slope.rightCols<3>() = M3(next_.slope[b].rightCols<3>() * s.turn[nodes_[b]]);
          K += by_way * (pull.transpose() * turned + by.F.transpose() * slope);
        }
        const int over = pinned(b) ? 3 : 0;
        for (int j = over; j < 6; ++j)
          for (int i = skip; i < 6; ++i) targets_[target](i - skip, j - over) += K(i, j);
      }
    }
  }
}

double PointLinks::finish(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states) {
  spare_ = 0;
  seek(rods, s);
  measure(rods, s.next, true, next_);
  double V = 0.0;
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const V3 S = force(k, s).F, E = 0.5 * (now_.E[k] + next_.E[k]);
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) {
      const Matrix<double, 6, 1> x = (0.5 * s.h) * (next_.B[a].transpose() * S);
      states[nodes_[a]].P -= V3(x.head<3>()), states[nodes_[a]].L -= V3(x.tail<3>());
    }
    V += std::visit(
        [&](const auto& law) {
          using Law = std::decay_t<decltype(law)>;
          if constexpr (std::is_same_v<Law, TendonLaw>)
            return 0.0;
          else if constexpr (std::is_same_v<Law, BushingLaw>)
            return 0.5 * E.dot(law.k * E);
          else
            return law.energy(E);
        },
        links_[k].law);
  }
  std::swap(now_, next_);
  places_ = reached_;
  return V;
}

// --- steps that keep energy and momenta

PointLinks::Drawn PointLinks::draw(std::size_t k, const std::vector<RodLinks>& rods, const Trial& s,
                                   std::vector<Lever>& levers) {
  const RodLink& link = links_[k];
  if (link.slides()) return draw_sliding(k, rods, s, levers);
  Drawn o;
  levers.clear();
  const auto none = [](int, const auto&) {};
  V3 x[2][2];
  M3 R[2][2];
  for (int e = 0; e < 2; ++e) {
    const LinkPoint& p = link.ends[e];
    const double sign = e ? 1.0 : -1.0;
    x[0][e] = visit(p, rods, bodies_, s.now, false, R[0][e], none, none);
    x[1][e] = visit(p, rods, bodies_, s.next, true, R[1][e], none, none);
    const auto lever = [&](int node, double share, const V3& arm) {
      const V3 r0 = s.now[node].R * arm, r1 = s.next[node].R * arm;
      levers.push_back({entry(k, node), sign, share, 0.5 * (r0 + r1), r1});
    };
    const auto turns = [&](int node) {
      if (e == 0) o.frame = int(entry(k, node));
    };
    if (p.rod >= 0)
      rods[std::size_t(p.rod)].levers(p, lever, turns);
    else if (p.body >= 0) {
      const RigidBody& b = bodies_[std::size_t(p.body)];
      lever(p.body, 1.0, b.pinned ? V3(b.arm + p.offset) : p.offset), turns(p.body);
    }
  }
  const V3 d0 = x[0][1] - x[0][0], d1 = x[1][1] - x[1][0];
  o.d = 0.5 * (d0 + d1);
  // Along the line with a mean tension T, which grows with the length at the end.
  const double sum = d0.norm() + d1.norm();
  const auto along = [&](double T, double growth) {
    o.S = (2.0 * T / sum) * o.d;
    o.K = ((2.0 / sum) * (growth - T / sum) / d1.norm()) * (o.d * d1.transpose());
    o.K.add_to_diagonal(T / sum);
  };
  std::visit(
      [&](const auto& law) {
        using Law = std::decay_t<decltype(law)>;
        if constexpr (std::is_same_v<Law, TendonLaw>)
          along(law.tension.number(0.5 * (s.t + s.t_next)), 0.0);
        else if constexpr (std::is_same_v<Law, BushingLaw>) {
          const M3 mean = 0.5 * (R[0][0] + R[1][0]), C = 0.5 * law.k + law.c * (1.0 / s.h);
          const V3 u0 = R[0][0].transpose() * d0, u1 = R[1][0].transpose() * d1,
                   f = 0.5 * (law.k * (u0 + u1)) + law.c * ((u1 - u0) / s.h);
          o.S = mean * f, o.K = mean * C * R[1][0].transpose();
          o.turn = o.K * skew<double>(d1) - 0.5 * skew<double>(V3(R[1][0] * f));
          o.energy = 0.25 * (u0.dot(law.k * u0) + u1.dot(law.k * u1));
        } else {
          const V3 S = law.template secant<double>(d0, d1, s.h);
          const PointForce by = law.slopes(o.d, (d1 - d0) / s.h);
          if (sum > 0.0 && o.d.norm() > 0.0) {
            const V3 u = o.d / o.d.norm(); // Newton's matrix asks for its growth to first order only
            along(S.dot(u) * sum / (2.0 * o.d.norm()), 0.5 * u.dot(by.K * u) + u.dot(by.C * u) / s.h);
          } else
            o.K = 0.5 * by.K;
          o.S = S, o.energy = 0.5 * (law.energy(d0) + law.energy(d1));
        }
      },
      link.law);
  if (!std::holds_alternative<BushingLaw>(link.law)) o.frame = -1;
  return o;
}

PointLinks::Drawn PointLinks::draw_sliding(std::size_t k, const std::vector<RodLinks>& rods, const Trial& s,
                                           std::vector<Lever>& levers) {
  using Row = Matrix<double, 1, 6>;
  const RodLink& link = links_[k];
  const std::size_t i = std::size_t(std::lower_bound(sliding_.begin(), sliding_.end(), k) - sliding_.begin());
  const double stiffness = std::get<SpringLaw>(link.law).k;
  LinkPoint& p = links_[k].ends[1];
  const RodLinks& rod = rods[std::size_t(p.rod)];
  const std::vector<V3>&x0 = rod.vertices(false), &x1 = rod.vertices(true);
  const V3 a0 = ring(k, rods, s.now, false), a1 = ring(k, rods, s.next, true);
  LinkPoint before = p, after = p;
  place_at(before, places_[i]);
  slide(after, x1, a1, places_[i]);
  p = after;
  if (!known(i, after)) after = p = before;
  reached_[i] = after.at;
  const V3 E_before = along(before, x0, 0) - a0, E_after = along(after, x1, 0) - a1, t_after = along(after, x1, 1);
  const double moved = after.at - before.at;
  const double gain = 0.5 * stiffness * (E_after - E_before).dot(E_after + E_before);
  const bool moves = std::abs(moved) > 1e-6;
  V3 E0, E1, t0, t1;
  double slope = 0.0, at = 0.5 * (before.at + after.at); // slope: of the gain at one place, by that
  for (int n = 0;; ++n) {
    place_at(p, at);
    E0 = along(p, x0, 0) - a0, E1 = along(p, x1, 0) - a1, t0 = along(p, x0, 1), t1 = along(p, x1, 1);
    slope = stiffness * (E1.dot(t1) - E0.dot(t0));
    const double by = (gain - 0.5 * stiffness * (E1 - E0).dot(E1 + E0)) / slope;
    if (!moves || n == 8 || !(std::abs(by) > 1e-9 * std::abs(moved))) break;
    at = std::clamp(at + by, std::min(before.at, after.at), std::max(before.at, after.at));
  }
  Drawn o;
  o.d = 0.5 * (E0 + E1);
  // The force is that of the mean. Its part along the rod is small, and of a stiff ring the rounding of s may not make
  // it: it follows from the gain, and where there is hardly any from what s has moved and the rod has turned.
  const V3 t = 0.5 * (t0 + t1), change = E1 - E0;
  const double square = t.squaredNorm(), drift = t.dot(change);
  o.S = stiffness * o.d;
  double pull = t.dot(o.S) / square;
  o.S -= pull * t;
  if (!moves) {
    const double bent = E1.dot(along(p, x1, 2)) - E0.dot(along(p, x0, 2));
    pull = (-0.25 * stiffness / square) * (moved * (t1.dot(t1) - t0.dot(t0) + bent) + change.dot(t1 - t0));
  } else if (std::abs(drift) > 0.5 * square * std::abs(moved)) {
    pull = (gain - o.S.dot(change)) / drift;
  }
  o.S += pull * t;
  o.K = (0.5 * stiffness) * M3::Identity(), o.by_way = stiffness * t;
  o.energy = 0.25 * stiffness * (E_before.squaredNorm() + E_after.squaredNorm());
  const double far = nearness(E_after, t_after, along(after, x1, 2));
  // Of a difference that moves by c (dx - r x dturn), c at the place of the step, at that of its end, and by the
  // latter.
  const auto row = [](const V3& v, const V3& r) {
    const V3 m = r.cross(v);
    Row to;
    to << v[0], v[1], v[2], m[0], m[1], m[2];
    return to;
  };
  const auto way = [&](const V3& r, double here, double there, double growth) {
    if (moves) return Row((stiffness / slope) * row(V3(there * E_after - here * E1), r));
    return Row((-0.5 / far) * row(V3(there * t_after + growth * E_after), r));
  };
  levers.clear();
  const auto hold = [&](int node, double share, const V3& arm) {
    const V3 r0 = s.now[node].R * arm, r1 = s.next[node].R * arm;
    levers.push_back({entry(k, node), -1.0, share, 0.5 * (r0 + r1), r1});
    // Of one with its share in the arm: the turn has it, the displacement has not.
    Row to = way(r1, -1.0, -1.0, 0.0);
    for (int c = 0; c < 3; ++c) to(0, c) *= share;
    levers.back().way = to;
  };
  const LinkPoint& end = link.ends[0];
  if (end.rod >= 0)
    rods[std::size_t(end.rod)].levers(end, hold, [](int) {});
  else if (end.body >= 0) {
    const RigidBody& b = bodies_[std::size_t(end.body)];
    hold(end.body, 1.0, b.pinned ? V3(b.arm + end.offset) : end.offset);
  }
  const auto of = [](const LinkPoint& q, int n, int d) {
    return n < q.segment || n >= q.segment + q.count ? 0.0 : q.shares[d][n - q.segment];
  };
  const int last = std::max(p.segment + p.count, after.segment + after.count);
  for (int n = std::min(p.segment, after.segment); n < last; ++n) {
    V3 arm;
    const int node = rod.carrier(n, arm);
    if (node < 0) continue;
    const V3 r1 = s.next[node].R * arm, mean = 0.5 * (s.now[node].R * arm + r1);
    const double share = of(p, n, 0), by = of(p, n, 1);
    levers.push_back({entry(k, node), 1.0, share, share * mean, share * r1,
                      way(r1, share, of(after, n, 0), of(after, n, 1)), by, by * mean});
  }
  return o;
}

void PointLinks::assemble_conserving(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern,
                                     double* r) {
  spare_ = 1;
  const double f = 0.5 * s.h * s.h;
  const auto node = [&](std::size_t entry) { return nodes_[entry]; };
  const auto pinned = [&](std::size_t entry) { return bodies_[std::size_t(nodes_[entry])].pinned; };
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const Drawn o = draw(k, rods, s, levers_);
    const std::size_t count = first_[k + 1] - first_[k];
    const auto block = [&](std::size_t a, std::size_t b) -> const Grid<double>& {
      return targets_[target_[k] + (a - first_[k]) * count + (b - first_[k])];
    };
    // Adds a force and a moment on a node, space axes, with derivatives by displacement and turn of others.
    const auto left = [&](std::size_t a) {
      return M3((M3::Identity() - skew<double>(half_angle(s.w[node(a)]))) * s.now[node(a)].R.transpose());
    };
    const auto push = [&](std::size_t a, const V3& force, const V3& moment) {
      double* to = r + pattern.offset(node(a));
      const int skip = pinned(a) ? 0 : 3;
      for (int i = 0; i < skip; ++i) to[i] += f * force[i];
      const V3 M = left(a) * moment;
      for (int i = 0; i < 3; ++i) to[skip + i] += f * M[i];
      const M3 K = f * (skew<double>(V3(s.now[node(a)].R.transpose() * moment)) * half_angle_matrix(s.w[node(a)]));
      block(a, a).block(skip, skip, 3, 3) += K;
    };
    const auto vary = [&](std::size_t a, std::size_t b, const M36& force, const M36& moment) {
      const M3 right = s.next[node(b)].R * s.turn[node(b)];
      const int row = pinned(a) ? 0 : 3, column = pinned(b) ? 0 : 3;
      const Grid<double>& to = block(a, b);
      const M36 turned = left(a) * moment;
      if (row && column) to.block(0, 0, 3, 3) += f * M3(force.leftCols<3>());
      if (row) to.block(0, column, 3, 3) += f * (M3(force.rightCols<3>()) * right);
      if (column) to.block(row, 0, 3, 3) += f * M3(turned.leftCols<3>());
      to.block(row, column, 3, 3) += f * (M3(turned.rightCols<3>()) * right);
    };
    for (const Lever& a : levers_) push(a.entry, (a.sign * a.share) * o.S, a.sign * a.mean.cross(o.S));
    if (o.frame >= 0) push(std::size_t(o.frame), V3::Zero(), o.S.cross(o.d));
    const auto by_column = [&](std::size_t b, const M36& dd, const M36& dS, const Lever* own) {
      for (const Lever& a : levers_) {
        M36 force = (a.sign * a.share) * dS, moment = a.sign * (skew<double>(a.mean) * dS);
        if (own && a.slope != 0.0) force += (a.slope * o.S) * own->way, moment += a.swing.cross(o.S) * own->way;
        if (&a == own) moment.rightCols<3>() += (0.5 * a.sign) * (skew<double>(o.S) * skew<double>(a.end));
        vary(a.entry, b, force, moment);
      }
      if (o.frame >= 0)
        vary(std::size_t(o.frame), b, M36::Zero(), 0.5 * (skew<double>(o.S) * dd) - skew<double>(o.d) * dS);
    };
    for (const Lever& b : levers_) {
      M36 dd;
      dd.leftCols<3>() = (b.sign * b.share) * M3::Identity(), dd.rightCols<3>() = -b.sign * skew<double>(b.end);
      by_column(b.entry, dd, o.K * dd + o.by_way * b.way, &b);
    }
    if (o.frame < 0) continue;
    M36 dS = M36::Zero();
    dS.rightCols<3>() = o.turn;
    by_column(std::size_t(o.frame), M36::Zero(), dS, nullptr);
  }
}

double PointLinks::finish_conserving(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states) {
  spare_ = 0;
  double V = 0.0;
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const Drawn o = draw(k, rods, s, levers_);
    const auto push = [&](std::size_t entry, const V3& force, const V3& moment) {
      const int node = nodes_[entry];
      states[node].P -= s.h * force, states[node].L -= s.h * (s.now[node].R.transpose() * moment);
    };
    for (const Lever& a : levers_) push(a.entry, (a.sign * a.share) * o.S, a.sign * a.mean.cross(o.S));
    if (o.frame >= 0) push(std::size_t(o.frame), V3::Zero(), o.S.cross(o.d));
    V += o.energy;
  }
  places_ = reached_;
  return V;
}

} // namespace gyrod::variational
