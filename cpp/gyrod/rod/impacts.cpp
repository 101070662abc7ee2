// Hard contacts: their forces are numbers of the state, in axes of the surface, which act as they are. Who chooses them
// asks here how fast the points move that touch; see integrate/moreau.hpp.
#include <string>
#include <utility>

#include "gyrod/rod/set.hpp"

namespace gyrod {

static_assert(Impact::memory == ContactLaw::hard_memory);

namespace {
using V3 = Vec3<double>;
using M3 = Mat3<double>;

// How far below the station the force acts, along the normal.
double depth_of(const Station& s, const space::Near& found) { return s.radius + 0.5 * (found.distance - s.radius); }
} // namespace

void RodSet::press_held(const Contact& c, const double* y, double* dy) {
  ContactPlace o;
  ContactForce f;
  for (std::size_t k = 0; k < c.stations.size(); ++k) {
    const Station& s = c.stations[k];
    const std::size_t at = c.memory + k * Impact::memory;
    if (dy) std::fill(dy + at, dy + at + Impact::memory, 0.0);
    f.F = Part<3>::of(y + at);
    if (f.F.squaredNorm() == 0.0) continue;
    locate(c, place_of(s), o);
    const space::Near found = c.surface->near(o.p);
    f.M = -depth_of(s, found) * found.normal.cross(f.F);
    press(c, s, o, f);
  }
}

// What the force of a station does to its carriers, where it touches; nothing does anything to the force.
void RodSet::held_blocks(const Contact& c) {
  ContactPlace o;
  space::Near found;
  ContactSlopes by;
  by.rate.setZero(), by.force_z.setZero();
  Lever levers[Station::most + 2];
  for (std::size_t k = 0; k < c.stations.size(); ++k) {
    const Station& s = c.stations[k];
    const std::size_t from = grips_.size();
    if (near(c, s, c.first + k, o, found)) {
      follow(c, s, c.first + k, o);
      by.force_z.topRows<3>() = M3::Identity();
      by.force_z.bottomRows<3>() = -depth_of(s, found) * cross_matrix<double>(found.normal);
      const int count = levers_of(c, s, o, levers);
      for (int l = 0; l < count; ++l) {
        levers[l].q.setZero(), levers[l].v.setZero();
        land(levers[l], by);
      }
    }
    recalls_.push_back({c.memory + k * Impact::memory, from, grips_.size(), M3(M3::Zero()), true});
  }
}

// The power that friction takes.
double RodSet::read_held(const Station& s, const ContactPlace& o, const space::Near& found, const double* memory,
                         ContactForce& f) const {
  f.F = Part<3>::of(memory), f.normal = f.F.dot(found.normal), f.slip.setZero();
  if (f.F.squaredNorm() == 0.0) return 0.0;
  Impact i;
  meet(s, o, found, i);
  f.slip = i.velocity - found.normal.dot(i.velocity) * found.normal;
  return -f.F.dot(f.slip);
}

void RodSet::meet(const Station& s, const ContactPlace& o, const space::Near& found, Impact& out) const {
  const V3& n = found.normal;
  const double l = depth_of(s, found);
  out.gap = found.distance - s.radius, out.normal = n;
  out.velocity = o.u - l * o.W.cross(n);
  out.carried = -out.velocity;
  if (s.rod >= 0) {
    const V3 w_b = o.Q.transpose() * o.w_b;
    out.carried = o.Q.transpose() * (o.v_b + o.w_b.cross(o.r)) - l * w_b.cross(n);
  }
}

// Whether a station has gone through the surface since it was asked last, as it does through thin things in long steps:
// it came further than it was away at both ends, and was deep inside in between. `least` is no more than its gap at p.
bool RodSet::passes(const Contact& c, const Station& s, std::size_t i, const V3& p, double least) {
  constexpr int looks = 8;
  const V3 from = std::exchange(came_from_[i], p), way = p - from;
  const double length = way.norm();
  if (!(length > std::max(least, c.reach)) || least <= 0.0) return false;
  const auto gap = [&](const V3& at) { return c.surface->near(at).distance - s.radius; };
  const double before = gap(from), after = gap(p);
  if (before <= 0.0 || after <= 0.0 || length <= before + after) return false;
  for (int k = 1; k < looks; ++k) {
    const double along = before + (length - before - after) * k / looks;
    if (gap(V3(from + along / length * way)) < -c.reach) return true;
  }
  return false;
}

void RodSet::impacts(double t, const double* y, double time, std::vector<Impact>& out) {
  if (!hard()) return;
  fall_ = time;
  gather_contacts(t, y);
  const double since = t - std::exchange(came_at_, t);
  if (came_from_.empty() || !(since > 0.0 && since < 2.0 * time)) // another run, or another part of it
    came_from_.assign(away_.size(), V3::Constant(std::numeric_limits<double>::quiet_NaN()));
  ContactPlace o;
  space::Near found;
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    const Contact& c = contacts_[i];
    const FrictionLaw& f = c.law.friction;
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      const Station& s = c.stations[k];
      const bool close = near(c, s, c.first + k, o, found);
      const Away& away = away_[c.first + k];
      if (passes(c, s, c.first + k, o.p, close ? found.distance - s.radius : away.by - (o.p - away.p).norm()))
        throw std::runtime_error("pair " + std::to_string(i) +
                                 ": one has passed through the other within a step; take a smaller step");
      if (!close) continue;
      follow(c, s, c.first + k, o);
      Impact& m = out.emplace_back();
      m.at = c.memory + k * Impact::memory, m.contact = i, m.station = k;
      m.friction = f.kind == FrictionLaw::none ? 0.0 : f.coefficient, m.kinetic = m.friction * f.kinetic;
      m.stribeck = f.stribeck, m.restitution = c.law.restitution, m.slow = c.law.slow, m.slack = c.law.smoothing;
      meet(s, o, found, m);
    }
  }
}

void RodSet::revisit(double t, const double* y, std::vector<Impact>& them) {
  gather_contacts(t, y);
  ContactPlace o;
  for (Impact& m : them) {
    const Contact& c = contacts_[m.contact];
    const Station& s = c.stations[m.station];
    locate(c, place_of(s), o);
    follow(c, s, c.first + m.station, o);
    meet(s, o, c.surface->near(o.p), m);
  }
}

} // namespace gyrod
