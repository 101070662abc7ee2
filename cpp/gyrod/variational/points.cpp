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

} // namespace gyrod::variational
