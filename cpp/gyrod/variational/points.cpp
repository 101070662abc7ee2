#include "gyrod/variational/points.hpp"

namespace gyrod::variational {

namespace {
// f(node, B) for all nodes that move a point, B by its displacement and turn; returns where it is. Its frame, of which
// f(node, turn) says with which body it turns, is given too.
template <class F, class G>
V3 visit(const LinkPoint& p, const std::vector<RodLinks>& rods, const std::vector<RigidBody>& bodies, const Pose* poses,
         bool next, M3& R, F&& f, G&& g) {
  if (p.rod >= 0) return rods[std::size_t(p.rod)].point(p, poses, next, R, f, g);
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
  const std::vector<Pose> poses(bodies.size(), Pose{V3::Zero(), V4(1.0, 0.0, 0.0, 0.0), M3::Identity()});
  first_.push_back(0);
  for (RodLink& link : links_) {
    for (LinkPoint& p : link.ends) {
      p.node = p.rod >= 0 && rods[std::size_t(p.rod)].elements();
      M3 R;
      const auto add = [&](int node, const auto&) {
        if (std::find(nodes_.begin() + std::ptrdiff_t(first_.back()), nodes_.end(), node) == nodes_.end())
          nodes_.push_back(node);
      };
      visit(p, rods, bodies_, poses.data(), false, R, add, add);
    }
    first_.push_back(nodes_.size());
  }
  for (Level* o : {&now_, &next_}) o->E.resize(links_.size()), o->B.resize(nodes_.size());
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
  for (M36& B : o.B) B.setZero();
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const bool turns = std::holds_alternative<BushingLaw>(links_[k].law);
    const auto entry = [&](int node) -> M36& {
      std::size_t at = first_[k];
      while (nodes_[at] != node) ++at;
      return o.B[at];
    };
    V3 x[2];
    M3 R[2];
    const auto skip = [](int, const M3&) {};
    for (int e = 0; e < 2; ++e) {
      const double sign = e ? 1.0 : -1.0;
      x[e] = visit(
          links_[k].ends[e], rods, bodies_, poses, next, R[e], [&](int node, const M36& B) { entry(node) += sign * B; },
          skip);
    }
    o.E[k] = x[1] - x[0];
    if (!turns) continue;
    o.E[k] = R[0].transpose() * o.E[k];
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) o.B[a] = R[0].transpose() * o.B[a];
    const M3 across = skew<double>(o.E[k]);
    visit(
        links_[k].ends[0], rods, bodies_, poses, next, R[0], [](int, const M36&) {},
        [&](int node, const M3& turn) { entry(node).rightCols<3>() += across * turn; });
  }
}

PointForce PointLinks::force(std::size_t k, const Trial& s) const {
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
          return f;
        }
      },
      links_[k].law);
}

void PointLinks::assemble(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r,
                          bool matrix) {
  measure(rods, s.next, true, next_);
  const double f = 0.5 * s.h * s.h;
  const auto pinned = [&](std::size_t a) { return bodies_[std::size_t(nodes_[a])].pinned; };
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const PointForce by = force(k, s);
    const M3 C = f * (0.5 * by.K + by.C * (1.0 / s.h));
    std::size_t target = target_[k];
    for (std::size_t a = first_[k]; a < first_[k + 1]; ++a) {
      const Matrix<double, 6, 1> x = f * (now_.B[a].transpose() * by.F);
      const int skip = pinned(a) ? 3 : 0;
      double* to = r + pattern.offset(nodes_[a]);
      for (int i = skip; i < 6; ++i) to[i - skip] += x[i];
      const Matrix<double, 6, 3> left = now_.B[a].transpose() * C;
      for (std::size_t b = first_[k]; b < first_[k + 1] && matrix; ++b, ++target) {
        M36 turned = next_.B[b];
        turned.rightCols<3>() = M3(next_.B[b].rightCols<3>() * s.turn[nodes_[b]]);
        const M66 K = left * turned;
        const int over = pinned(b) ? 3 : 0;
        for (int j = over; j < 6; ++j)
          for (int i = skip; i < 6; ++i) targets_[target](i - skip, j - over) += K(i, j);
      }
    }
  }
}

double PointLinks::finish(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states) {
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
  return V;
}

// --- steps that keep energy and momenta

PointLinks::Drawn PointLinks::draw(std::size_t k, const std::vector<RodLinks>& rods, const Trial& s,
                                   std::vector<Lever>& levers) const {
  const RodLink& link = links_[k];
  Drawn o;
  levers.clear();
  const auto entry = [&](int node) {
    std::size_t at = first_[k];
    while (nodes_[at] != node) ++at;
    return at;
  };
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
      levers.push_back({entry(node), sign, share, 0.5 * (r0 + r1), r1});
    };
    const auto turns = [&](int node) {
      if (e == 0) o.frame = int(entry(node));
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

void PointLinks::assemble_conserving(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern,
                                     double* r) {
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
        const M36 force = (a.sign * a.share) * dS;
        M36 moment = a.sign * (skew<double>(a.mean) * dS);
        if (&a == own) moment.rightCols<3>() += (0.5 * a.sign) * (skew<double>(o.S) * skew<double>(a.end));
        vary(a.entry, b, force, moment);
      }
      if (o.frame >= 0)
        vary(std::size_t(o.frame), b, M36::Zero(), 0.5 * (skew<double>(o.S) * dd) - skew<double>(o.d) * dS);
    };
    for (const Lever& b : levers_) {
      M36 dd;
      dd.leftCols<3>() = (b.sign * b.share) * M3::Identity(), dd.rightCols<3>() = -b.sign * skew<double>(b.end);
      by_column(b.entry, dd, o.K * dd, &b);
    }
    if (o.frame < 0) continue;
    M36 dS = M36::Zero();
    dS.rightCols<3>() = o.turn;
    by_column(std::size_t(o.frame), M36::Zero(), dS, nullptr);
  }
}

double PointLinks::finish_conserving(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states) {
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
  return V;
}

} // namespace gyrod::variational
