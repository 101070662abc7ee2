#include "gyrod/rod/touches.hpp"

#include "gyrod/rod/set.hpp"

namespace gyrod {

namespace {
using V3 = Vec3<double>;
using M3 = Mat3<double>;

// The turn from one frame to another, by its sine.
V3 turn_between(const M3& from, const M3& to) {
  const M3 T = to * from.transpose();
  return 0.5 * V3(T(2, 1) - T(1, 2), T(0, 2) - T(2, 0), T(1, 0) - T(0, 1));
}
} // namespace

GYROD_COLD void RodSet::add_contacts() {
  std::size_t stations = 0;
  for (Contact& c : contacts_) {
    c.memory = size_, c.first = stations;
    if (c.body >= 0) c.host = host_of(c.body);
    for (Station& s : c.stations) {
      if (s.body >= 0) s.host = host_of(s.body);
      if (c.law.bounces()) latches_.push_back(size_ + std::size_t(c.law.memory()) - 1);
      if (c.law.hard)
        for (std::size_t n = 3; n < Impact::memory; ++n) latches_.push_back(size_ + n);
      size_ += std::size_t(c.law.memory()), ++stations;
    }
  }
  away_.resize(stations);
  slots_ = size_, size_ += Crossings::slot_size * crossings_.slots();
  for (std::size_t k = 0; k < crossings_.slots(); ++k)
    for (std::size_t i = 3; i < Crossings::slot_size; ++i) latches_.push_back(slots_ + Crossings::slot_size * k + i);
  add_pairs();
  std::size_t recalls = 0, levers = 0;
  const auto remember = [&](const Contact& c) {
    for (const Station& s : c.stations)
      if (c.law.sticks() || c.law.hard) ++recalls, levers += std::size_t(s.rod >= 0 ? 2 * s.count : 1) + (c.body >= 0);
  };
  for (std::size_t i : always_) remember(contacts_[i]);
  if (!memories_.empty()) recalls += 16 * hosts_.size(), levers += 32 * hosts_.size();
  const std::size_t most = std::min<std::size_t>(crossings_.slots(), 64); // a step seldom asks for more
  recalls_.reserve(recalls + crossings_.slots()), grips_.reserve(levers + 16 * most), idle_.reserve(crossings_.slots());
}

// Contacts between two bodies of which each lies in a ball about its centre of mass.
GYROD_COLD void RodSet::add_pairs() {
  std::vector<NearPairs::Pair> pairs;
  sizes_of_hosts_.assign(hosts_.size(), 0.0), centres_.resize(hosts_.size());
  for (const Contact& c : contacts_) {
    const std::size_t i = std::size_t(&c - contacts_.data());
    const double extent = c.body < 0 ? 1.0 / 0.0 : c.surface->extent() + c.at.norm();
    bool bodies = std::isfinite(extent) && c.surface->exact && !c.stations.empty();
    for (const Station& s : c.stations) bodies = bodies && s.body >= 0 && s.body == c.stations[0].body;
    if (!bodies) {
      always_.push_back(i);
      continue;
    }
    const int a = c.stations[0].host;
    double& of = sizes_of_hosts_[std::size_t(a)];
    for (const Station& s : c.stations) of = std::max(of, s.offset.norm() + s.radius);
    double& on = sizes_of_hosts_[std::size_t(c.host)];
    on = std::max(on, extent);
    margin_ = std::max(margin_, c.law.smoothing), gravity_ = std::max(gravity_, c.gravity);
    pairs.push_back({a, c.host, i});
    const std::size_t each = std::size_t(c.law.memory()), to = c.memory + each * c.stations.size();
    if (!each) continue;
    if (memories_.empty() || memories_.back().to != c.memory || memories_.back().each != each)
      memories_.push_back({c.memory, c.memory, each, c.law.hard});
    memories_.back().to = to;
  }
  pairs_ = NearPairs(sizes_of_hosts_, std::move(pairs));
  close_.reserve(always_.size() + std::min(contacts_.size() - always_.size(), 16 * hosts_.size()));
}

// Contacts that may be felt; the others are too far away.
const std::vector<std::size_t>& RodSet::close() {
  if (pairs_.empty()) return always_;
  for (std::size_t h = 0; h < hosts_.size(); ++h) centres_[h] = motions_[h].x;
  const std::vector<std::size_t>& found = pairs_.within(margin_ + 2.0 * gravity_ * fall_ * fall_, centres_);
  close_.clear();
  std::merge(always_.begin(), always_.end(), found.begin(), found.end(), std::back_inserter(close_));
  return close_;
}

// Nodes of the graph that a station and its surface have to do with.
std::vector<int> RodSet::nodes_of(const Contact& c, const Station& s) const {
  std::vector<int> nodes;
  if (c.body >= 0) see_host(c.host, nodes);
  if (s.body >= 0) see_host(s.host, nodes);
  for (int k = 0; k < s.count; ++k) see_cell(s.rod, s.cells[k], nodes);
  return nodes;
}

V3 RodSet::place_of(const Station& s) const {
  if (s.body >= 0) return host(s.host).x + host(s.host).R * s.offset;
  const RodState<double>& rod = state(s.rod);
  if (s.share[0] == 1.0) return rod.x[std::size_t(s.cells[0])];
  V3 x = V3::Zero();
  for (int k = 0; k < s.count; ++k)
    if (s.share[k] != 0.0) x += s.share[k] * rod.x[std::size_t(s.cells[k])];
  return x;
}

void RodSet::locate(const Contact& c, const V3& x, ContactPlace& o) const {
  o.x = x;
  if (c.body < 0) {
    o.Q = c.turn, o.r = x, o.p = c.turn.transpose() * (x - c.at);
    return;
  }
  const HostMotion& b = host(c.host);
  o.Q = b.R * c.turn, o.r = x - b.x, o.p = o.Q.transpose() * (o.r - b.R * c.at);
}

// Whether a station is so near to the surface that it may feel it; where it is, if so.
bool RodSet::near(const Contact& c, const Station& s, std::size_t i, ContactPlace& o, space::Near& found) const {
  const V3 x = place_of(s);
  const bool ground = c.body < 0 && !c.law.hard; // distances are those in space, which is quicker
  Away& away = away_[i];
  if (ground && (x - away.p).squaredNorm() < away.by * away.by) return false;
  locate(c, x, o);
  if (!ground && (o.p - away.p).squaredNorm() < away.by * away.by) return false;
  found = c.surface->near(o.p);
  const double free = found.distance - s.radius - c.law.smoothing - 2.0 * c.gravity * fall_ * fall_;
  if (free < 0.0) return true;
  away.p = ground ? x : o.p, away.by = c.surface->exact ? free : 0.0;
  return false;
}

// Its velocity and spin; at rest how far it has come.
void RodSet::follow(const Contact& c, const Station& s, std::size_t i, ContactPlace& o) const {
  const bool turns = c.turns();
  o.v.setZero(), o.w.setZero(), o.v_b.setZero(), o.w_b.setZero(), o.u.setZero(), o.W.setZero();
  if (still_) {
    if (rest_place_.empty()) return;
    o.u = o.p - rest_place_[i];
    if (!turns) return;
    for (int k = 0; k < s.count; ++k)
      if (s.turn[k] != 0.0) {
        const std::size_t r = std::size_t(s.rod), j = std::size_t(rods_[r]->d.frame_of(s.cells[k]));
        o.w += s.turn[k] * turn_between(rest_frames_[r][j], state(s.rod).R[j]);
      }
    if (s.body >= 0) o.w = turn_between(rest_bodies_[std::size_t(s.host)], host(s.host).R);
    if (c.body >= 0) o.w_b = turn_between(rest_bodies_[std::size_t(c.host)], host(c.host).R);
    o.W = o.Q.transpose() * (o.w - o.w_b);
    return;
  }
  if (s.body >= 0) {
    const HostMotion& a = host(s.host);
    o.v = a.v + a.omega.cross(a.R * s.offset), o.w = a.omega;
  } else {
    const RodState<double>& rod = state(s.rod);
    const RodDescription& d = rods_[std::size_t(s.rod)]->d;
    for (int k = 0; k < s.count; ++k) {
      if (s.share[k] != 0.0) o.v += s.share[k] * rod.v[std::size_t(s.cells[k])];
      if (!turns || s.turn[k] == 0.0) continue;
      const std::size_t j = std::size_t(d.frame_of(s.cells[k]));
      o.w += s.turn[k] * (rod.R[j] * V3(rod.w[j].tail<3>()));
    }
  }
  if (c.body >= 0) o.v_b = host(c.host).v, o.w_b = host(c.host).omega;
  o.u = o.Q.transpose() * (o.v - o.v_b - o.w_b.cross(o.r));
  if (turns) o.W = o.Q.transpose() * (o.w - o.w_b);
}

ContactState RodSet::state_of(const Contact& c, const Station& s, const ContactPlace& o, const space::Near& near,
                              const double* memory) const {
  const bool sticks = c.law.sticks();
  if (still_ && !rest_memory_.empty()) // that of the last rest, whatever a search makes of the state
    memory =
        rest_memory_.data() + c.memory - memory_ + std::size_t(&s - c.stations.data()) * std::size_t(c.law.memory());
  const V3 z = sticks ? V3(memory) : V3(V3::Zero());
  const double damping = c.law.bounces() ? memory[sticks ? 3 : 0] : c.law.damping;
  return {near, s.radius, s.weight, o.u, o.W, z, damping, still_};
}

void RodSet::press(const double* y, double* dy) {
  ContactPlace o;
  space::Near found;
  ContactForce f;
  if (hard()) {
    for (const Contact& c : contacts_) press_held(c, y, dy);
    return;
  }
  const std::vector<std::size_t>& felt = close();
  if (dy)
    far_memory([&](const Loose& run) {
      const bool bends = run.each >= 3 && !still_;
      for (std::size_t at = run.from; at < run.to; at += run.each)
        for (std::size_t n = 0; n < run.each; ++n) dy[at + n] = bends && n < 3 ? -y[at + n] / ContactLaw::release : 0.0;
    });
  for (std::size_t i : felt) {
    const Contact& c = contacts_[i];
    const std::size_t each = std::size_t(c.law.memory());
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      const Station& s = c.stations[k];
      const double* memory = y + c.memory + k * each;
      double* rate = dy && each ? dy + c.memory + k * each : nullptr;
      if (!near(c, s, c.first + k, o, found)) {
        if (rate && c.law.sticks() && !still_)
          for (int n = 0; n < 3; ++n) rate[n] = -memory[n] / ContactLaw::release;
        else if (rate)
          std::fill(rate, rate + each, 0.0);
      } else {
        follow(c, s, c.first + k, o);
        if (touch(c.law, state_of(c, s, o, found, memory), f)) press(c, s, o, f);
        if (rate && c.law.sticks())
          for (int n = 0; n < 3; ++n) rate[n] = still_ ? 0.0 : f.rate[n];
      }
      if (rate && c.law.bounces()) rate[each - 1] = 0.0;
    }
  }
}

void RodSet::press(const Contact& c, const Station& s, const ContactPlace& o, const ContactForce& f) {
  const V3 F = o.Q * f.F;
  const bool turns = c.turns();
  const V3 M = turns ? V3(o.Q * f.M) : V3(V3::Zero());
  for (int k = 0; k < s.count; ++k) {
    Rod& r = *rods_[std::size_t(s.rod)];
    const int cell = s.cells[k];
    if (s.share[k] != 0.0) r.s.f[std::size_t(cell)] += s.share[k] * F;
    if (!turns || s.turn[k] == 0.0) continue;
    const int j = r.d.frame_of(cell);
    twist(j, s.turn[k] * (r.s.R[std::size_t(j)].transpose() * M), r.d, r.s);
  }
  if (s.body >= 0) {
    Felt& to = felt_[std::size_t(s.host)];
    to.force += F, to.torque += (host(s.host).R * s.offset).cross(F) + M;
  }
  if (c.body < 0) return;
  Felt& to = felt_[std::size_t(c.host)];
  to.force -= F, to.torque -= o.r.cross(F) + M;
}

// --- derivatives

int RodSet::levers_of(const Contact& c, const Station& s, const ContactPlace& o, Lever* out) const {
  const M3 &Q = o.Q, Qt = Q.transpose(), swing = cross_matrix<double>(o.w_b);
  const bool turns = c.turns();
  int count = 0;
  for (int k = 0; k < s.count; ++k) {
    const double share = s.share[k], turn = turns ? s.turn[k] : 0.0;
    if (share == 0.0 && turn == 0.0) continue;
    Lever& l = out[count++];
    l.clear({s.rod, s.cells[k]});
    if (share != 0.0) {
      const M3 move = share * Qt;
      l.action.bottomLeftCorner<3, 3>() = share * Q;
      l.q.block<3, 3>(0, 4) = move;
      if (still_)
        l.q.block<3, 3>(3, 4) = move;
      else
        l.q.block<3, 3>(3, 4) = -(move * swing), l.v.block<3, 3>(3, 4) = move;
    }
    if (turn == 0.0) continue;
    const std::size_t j = std::size_t(rods_[std::size_t(s.rod)]->d.frame_of(s.cells[k]));
    const RodState<double>& rod = state(s.rod);
    const M3 &R = rod.R[j], QtR = turn * (Qt * R);
    l.action.topRightCorner<3, 3>() = QtR.transpose();
    if (still_) {
      l.q.block<3, 3>(6, 1) = QtR;
      continue;
    }
    const V3 Omega = rod.w[j].tail<3>();
    l.q.block<3, 1>(6, 0) = QtR * Omega, l.q.block<3, 3>(6, 1) = -(QtR * cross_matrix<double>(Omega));
    l.v.block<3, 3>(6, 1) = QtR;
  }
  if (s.body >= 0) {
    Lever& l = out[count++];
    const HostMotion& a = host(s.host);
    const M3 arm = cross_matrix<double>(a.R * s.offset), lift = Qt * arm;
    l.clear({-1, s.host});
    l.action << arm * Q, Q, Q, M3::Zero();
    l.q.block<3, 3>(0, 0) = -lift, l.q.block<3, 3>(0, 3) = Qt;
    if (still_) {
      l.q.block<3, 3>(3, 0) = -lift, l.q.block<3, 3>(3, 3) = Qt, l.q.block<3, 3>(6, 0) = Qt;
    } else {
      l.q.block<3, 3>(3, 0) = Qt * (swing - cross_matrix<double>(a.omega)) * arm;
      l.q.block<3, 3>(3, 3) = -(Qt * swing);
      l.v.block<3, 3>(3, 0) = -lift, l.v.block<3, 3>(3, 3) = Qt, l.v.block<3, 3>(6, 0) = Qt;
    }
  }
  if (c.body >= 0) {
    Lever& l = out[count++];
    const M3 arm = cross_matrix<double>(o.r), lift = Qt * arm;
    l.clear({-1, c.host});
    l.action << -(arm * Q), -Q, -Q, M3::Zero();
    l.q.block<3, 3>(0, 0) = lift, l.q.block<3, 3>(0, 3) = -Qt;
    if (still_) {
      l.q.block<3, 3>(3, 0) = lift, l.q.block<3, 3>(3, 3) = -Qt, l.q.block<3, 3>(6, 0) = -Qt;
    } else {
      l.q.block<3, 3>(3, 0) = Qt * cross_matrix<double>(V3(o.v - o.v_b - o.w_b.cross(o.r)));
      l.q.block<3, 3>(3, 3) = Qt * swing;
      l.q.block<3, 3>(6, 0) = Qt * cross_matrix<double>(V3(o.w - o.w_b));
      l.v.block<3, 3>(3, 0) = lift, l.v.block<3, 3>(3, 3) = -Qt, l.v.block<3, 3>(6, 0) = -Qt;
    }
  }
  return count;
}

// What a given force and moment in the axes of the surface do otherwise when the carriers have moved.
void RodSet::turn_blocks(const Contact& c, const Station& s, const ContactPlace& o, const V3& F, const V3& M) {
  const M3 EF = cross_matrix<double>(F), EM = cross_matrix<double>(M);
  const Carrier b{-1, c.host}, a{-1, s.host};
  const bool turns = c.turns();
  const auto block = [](Carrier row, Carrier column) {
    FarBlock out{row, column, {}, {}};
    out.q.setZero(), out.v.setZero();
    return out;
  };
  for (int k = 0; k < s.count; ++k) {
    const Carrier cell{s.rod, s.cells[k]};
    const double share = s.share[k], turn = turns ? s.turn[k] : 0.0;
    if (turn != 0.0) {
      const M3& R = state(s.rod).R[std::size_t(rods_[std::size_t(s.rod)]->d.frame_of(s.cells[k]))];
      const V3 m = turn * (R.transpose() * M);
      FarBlock own = block(cell, cell);
      own.q.block<3, 1>(0, 0) = m, own.q.block<3, 3>(0, 1) = cross_matrix<double>(m);
      land(own);
      if (c.body >= 0) {
        FarBlock by = block(cell, b);
        by.q.block<3, 3>(0, 0) = -turn * (R.transpose() * EM);
        land(by);
      }
    }
    if (share == 0.0 || c.body < 0) continue;
    FarBlock by = block(cell, b), back = block(b, cell);
    by.q.block<3, 3>(3, 0) = -share * EF;
    back.q.block<3, 3>(0, 4) = share * EF;
    land(by), land(back);
  }
  if (s.body >= 0) {
    const M3 arm = cross_matrix<double>(host(s.host).R * s.offset);
    FarBlock own = block(a, a);
    own.q.block<3, 3>(0, 0) = EF * arm;
    land(own);
    if (c.body >= 0) {
      FarBlock by = block(a, b), back = block(b, a);
      by.q.block<3, 3>(0, 0) = -(arm * EF) - EM, by.q.block<3, 3>(3, 0) = -EF;
      back.q.block<3, 3>(0, 0) = -(EF * arm), back.q.block<3, 3>(0, 3) = EF;
      land(by), land(back);
    }
  }
  if (c.body < 0) return;
  FarBlock own = block(b, b);
  own.q.block<3, 3>(0, 0) = cross_matrix<double>(o.r) * EF + EM, own.q.block<3, 3>(0, 3) = -EF;
  own.q.block<3, 3>(3, 0) = EF;
  land(own);
}

// What stations of a rod on ground, which is still, do to its cells: the products of levers without their zeros.
void RodSet::ground_blocks(const Contact& c, const Station& s, const ContactPlace& o, const ContactSlopes& by) {
  const M3 &Q = o.Q, Qt = Q.transpose();
  const bool turns = c.turns();
  const M3 K = Q * by.force.block<3, 3>(0, 0) * Qt, C = Q * by.force.block<3, 3>(0, 3) * Qt;
  const M3 by_move = still_ ? M3(K + C) : K; // at rest u is what has become of p
  M3 M_move, M_rate, F_spin, M_spin;
  if (turns) {
    M_move = Q * by.force.block<3, 3>(3, 0) * Qt, M_rate = Q * by.force.block<3, 3>(3, 3) * Qt;
    F_spin = Q * by.force.block<3, 3>(0, 6) * Qt, M_spin = Q * by.force.block<3, 3>(3, 6) * Qt;
    if (still_) M_move += M_rate;
  }
  for (int l = 0; l < s.count; ++l) {
    const double share = s.share[l], turn = turns ? s.turn[l] : 0.0;
    M3 X;
    V3 Omega;
    if (turn != 0.0) {
      const std::size_t j = std::size_t(rods_[std::size_t(s.rod)]->d.frame_of(s.cells[l]));
      X = turn * state(s.rod).R[j], Omega = state(s.rod).w[j].tail<3>();
    }
    for (int r = 0; r < s.count; ++r) {
      const double mine = s.share[r], twist = turns ? s.turn[r] : 0.0;
      FarBlock b{{s.rod, s.cells[r]}, {s.rod, s.cells[l]}, {}, {}};
      b.q.setZero(), b.v.setZero();
      const auto add = [&]<int row>(std::integral_constant<int, row>, const M3& move, const M3& rate, const M3& spin) {
        if (share != 0.0) {
          b.q.block<3, 3>(row, 4) = share * move;
          if (!still_) b.v.block<3, 3>(row, 4) = share * rate;
        }
        if (turn == 0.0) return;
        const M3 turned = spin * X;
        if (still_) {
          b.q.block<3, 3>(row, 1) = turned;
          return;
        }
        b.q.block<3, 1>(row, 0) = turned * Omega, b.q.block<3, 3>(row, 1) = -(turned * cross_matrix<double>(Omega));
        b.v.block<3, 3>(row, 1) = turned;
      };
      if (mine != 0.0) add(std::integral_constant<int, 3>(), mine * by_move, mine * C, mine * F_spin);
      if (twist != 0.0) {
        const std::size_t j = std::size_t(rods_[std::size_t(s.rod)]->d.frame_of(s.cells[r]));
        const M3 back = twist * state(s.rod).R[j].transpose();
        add(std::integral_constant<int, 0>(), back * M_move, back * M_rate, back * M_spin);
      }
      if (mine != 0.0 || twist != 0.0) land(b);
    }
  }
}

void RodSet::touch_blocks(const double* y) {
  ContactPlace o;
  space::Near found;
  ContactForce f;
  ContactSlopes by;
  Lever levers[Station::most + 2];
  for (std::size_t i : close()) {
    const Contact& c = contacts_[i];
    if (c.law.hard) {
      held_blocks(c);
      continue;
    }
    const std::size_t each = std::size_t(c.law.memory());
    const bool recalls = c.law.sticks() && !still_;
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      const Station& s = c.stations[k];
      const std::size_t at = c.memory + k * each;
      const std::size_t from = grips_.size();
      bool touches = near(c, s, c.first + k, o, found);
      if (touches) {
        follow(c, s, c.first + k, o);
        const ContactState now = state_of(c, s, o, found, y + at);
        touches = touch(c.law, now, c.surface->bend(o.p, found), f, by);
      }
      if (touches && c.body < 0 && s.rod >= 0) {
        ground_blocks(c, s, o, by);
        if (c.turns()) turn_blocks(c, s, o, o.Q * f.F, o.Q * f.M);
        const int count = recalls ? levers_of(c, s, o, levers) : 0;
        for (int l = 0; l < count; ++l) land(levers[l], by);
      } else if (touches) {
        const int count = levers_of(c, s, o, levers);
        for (int r = 0; r < count; ++r) {
          const Matrix<double, 6, 9> felt = levers[r].action * by.force;
          for (int l = 0; l < count; ++l) {
            FarBlock b{levers[r].on, levers[l].on, {}, {}};
            b.q = felt * levers[l].q;
            if (still_)
              b.v.setZero();
            else
              b.v = felt * levers[l].v;
            land(b);
          }
        }
        if (c.turns() || c.body >= 0 || s.body >= 0) turn_blocks(c, s, o, o.Q * f.F, o.Q * f.M);
        for (int l = 0; l < count && recalls; ++l) land(levers[l], by);
      }
      if (!recalls) continue;
      recalls_.push_back({at, from, grips_.size(), touches ? by.rate_z : M3(M3::Zero())});
      if (!touches) recalls_.back().own.add_to_diagonal(-1.0 / ContactLaw::release);
    }
  }
  far_memory([&](const Loose& run) {
    if (run.each >= 3 && (run.hard || !still_)) loose_.push_back(run);
  });
}

// Of rods among themselves.
void RodSet::crossing_blocks(const double* y) {
  struct Held { // what a cell has to do with a slot
    Carrier on;
    Crossings::Push push;
    Crossings::Pull q, v;
  };
  std::array<Held, 20> cells;
  std::size_t count = 0;
  const auto conclude = [&] {
    ContactSlopes slopes;
    slopes.rate.setZero(), slopes.rate.block<3, 3>(0, 0).setIdentity();
    for (std::size_t k = 0; k < count; ++k) {
      Lever l;
      l.clear(cells[k].on);
      l.action.setIdentity(), slopes.force_z = cells[k].push;
      l.q.topRows<3>() = cells[k].q, l.v.topRows<3>() = cells[k].v;
      land(l, slopes);
    }
    if (count) recalls_.back().to = grips_.size();
    count = 0;
  };
  crossings_.blocks(
      curves_,
      [&](int rod, int cell, int by, int of, const auto& q, const auto& v, bool places) {
        land(FarBlock{{rod, cell}, {by, of}, q, v, places});
      },
      [&](int slot, const M3& own) {
        conclude();
        const std::size_t from = grips_.size();
        recalls_.push_back({slots_ + Crossings::slot_size * std::size_t(slot), from, from, own});
      },
      [&](int rod, int cell, const Crossings::Push& push, const Crossings::Pull& q, const Crossings::Pull& v) {
        std::size_t k = 0;
        while (k < count && (cells[k].on.rod != rod || cells[k].on.index != cell)) ++k;
        if (k == count)
          cells[count++] = {{rod, cell}, push, q, v};
        else
          cells[k].push += push, cells[k].q += q, cells[k].v += v;
      });
  conclude();
  for (std::size_t k = 0; k < crossings_.slots() && !still_; ++k) {
    const std::size_t at = slots_ + Crossings::slot_size * k;
    if (crossings_.used(k)) continue;
    if (y[at + 3] == 0.0) {
      idle_.push_back(at);
      continue;
    }
    recalls_.push_back({at, grips_.size(), grips_.size(), M3::Zero()});
    recalls_.back().own.add_to_diagonal(-1.0 / ContactLaw::release);
  }
}

// As that of a block: what is held has no lever, but the body that holds it.
void RodSet::land(Lever l, const ContactSlopes& slopes) {
  const auto keep = [&](const Lever& o) {
    grips_.push_back({o.on, o.action * slopes.force_z, slopes.rate * o.q, slopes.rate * o.v});
  };
  if (!l.on.body()) {
    const Rod& r = *rods_[std::size_t(l.on.rod)];
    const int c = l.on.index;
    if (const int e = r.held_end(c); e >= 0) {
      const EndMap map = end_map(r, e);
      const bool turns = r.d.degree && r.d.ends[e].clamped;
      Lever by;
      by.clear({-1, r.port[e]});
      by.action << map.arm * l.action.bottomRows<3>(), l.action.bottomRows<3>();
      by.q.leftCols<6>() = l.q.rightCols<3>() * map.x_p + l.v.rightCols<3>() * map.v_p;
      by.v.leftCols<6>() = l.v.rightCols<3>() * map.v_v;
      if (turns) {
        by.action.topRows<3>() += map.R * l.action.topRows<3>();
        by.q.leftCols<6>() += l.q.middleCols<3>(1) * map.turn_p + l.v.middleCols<3>(1) * map.spin_p;
        by.v.leftCols<6>() += l.v.middleCols<3>(1) * map.spin_v;
      }
      keep(by);
    }
    if (!r.in_graph(c)) return;
    if (!r.moves(c)) l.q.rightCols<3>().setZero(), l.v.rightCols<3>().setZero(), l.action.bottomRows<3>().setZero();
    if (!r.turns(c)) l.q.leftCols<4>().setZero(), l.v.leftCols<4>().setZero();
    l.action.topRows<3>() *= r.turns(c) ? moment_scale(r, c) : 0.0;
  }
  keep(l);
}

// --- between steps, and readings

void RodSet::gather_contacts(double t, const double* y) {
  for (auto& r : rods_) {
    move_ends(*r, t);
    r->gather<double>(r->s, y + r->at);
    for (std::size_t j = 0; j < r->s.p.size(); ++j) r->s.R[j] = matrix_from_quaternion<double>(r->s.p[j]);
  }
}

const double* RodSet::slots(const double* y) const {
  return still_ && !rest_memory_.empty() ? rest_memory_.data() + (slots_ - memory_) : y + slots_;
}

// At rest what has moved and turned since the last rest stands for velocities and spins.
void RodSet::see_moves() {
  const bool moves = still_ && !rest_vertices_.empty();
  for (std::size_t r = 0; r < rods_.size() && crossings_.slots(); ++r) {
    const RodState<double>& s = rods_[r]->s;
    curves_[r].v = s.v.data(), curves_[r].turn = nullptr;
    if (!moves) continue;
    for (std::size_t n = 0; n < s.x.size(); ++n) moved_[r][n] = s.x[n] - rest_vertices_[r][n];
    for (std::size_t j = 0; j < s.R.size(); ++j) turned_[r][j] = turn_between(rest_frames_[r][j], s.R[j]);
    curves_[r].v = moved_[r].data(), curves_[r].turn = turned_[r].data();
  }
}

// What is remembered of points that slide: from there their search begins.
void RodSet::keep_slides(double t, double* y) {
  if (!slides_) return;
  gather_contacts(t, y);
  for (RodLink& link : links_) {
    if (!link.slides()) continue;
    slide(link, y);
    double& kept = y[link.ends[1].memory];
    if (std::abs(link.ends[1].at - kept) > 1e-9) kept = link.ends[1].at; // rounding would not stay as it is
  }
}

void RodSet::slide_rows(double t, const double* y, double* rows) {
  act(t, y, nullptr);
  for (const RodLink& link : links_) {
    if (!link.slides()) continue;
    const LinkPoint& p = link.ends[1];
    const PointMotion m[2] = {motion(link.ends[0]), motion(p)};
    *rows++ = p.at, Part<3>::put(rows, m[1].x), rows += 3;
    Part<3>::put(rows, V3(-std::visit([&](const auto& law) { return force_of(law, t, m).F; }, link.law))), rows += 3;
  }
}

bool RodSet::accepted(double t, double* y) {
  horizon_ = std::numeric_limits<double>::infinity();
  keep_slides(t, y);
  if (contacts_.empty() && crossings_.empty()) return false;
  gather_contacts(t, y);
  if (!crossings_.empty()) {
    crossings_.still = still_;
    see_moves();
    crossings_.remember(curves_, y + slots_);
    horizon_ = crossings_.horizon(curves_);
  }
  bool changed = false;
  ContactPlace o;
  const auto look = [&](const Contact& c) {
    const std::size_t each = std::size_t(c.law.memory());
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      const Station& s = c.stations[k];
      locate(c, place_of(s), o);
      follow(c, s, c.first + k, o);
      // Not by `away_`, which knows what was looked at before: the same state must have the same horizon.
      const space::Near found = c.surface->near(o.p);
      const double gap = found.distance - s.radius, towards = -found.normal.dot(o.u);
      const double closing = gap > c.reach ? o.u.norm() : towards; // from far away it may turn to the surface
      if (gap > 0.0) {
        const double a = c.gravity, v = std::max(closing, 0.0), way = gap + c.reach;
        const double time = a > 0.0 ? (std::sqrt(v * v + 2.0 * a * way) - v) / a : v > 0.0 ? way / v : 1e300;
        horizon_ = std::min(horizon_, time);
      }
      if (!c.law.bounces()) continue;
      double& damping = y[c.memory + (k + 1) * each - 1];
      if (gap > 0.0 && damping != 0.0)
        damping = 0.0, changed = true;
      else if (gap <= 0.0 && damping == 0.0)
        damping = closing > c.law.slow ? c.law.impact / closing : slow_impact / c.law.slow, changed = true;
    }
  };
  if (hard()) return changed;
  for (std::size_t i : close()) look(contacts_[i]);
  if (pairs_.empty()) return changed;
  far_memory([&](const Loose& run) { // what has come apart within a step
    for (std::size_t at = run.from + run.each - 1; (run.each == 1 || run.each == 4) && at < run.to; at += run.each)
      if (y[at] != 0.0) y[at] = 0.0, changed = true;
  });
  // Of what is further away, what may come sooner all the same.
  double fast = 0.0, spin = 0.0;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    const double w = motions_[h].omega.norm();
    fast = std::max(fast, motions_[h].v.norm() + w * sizes_of_hosts_[h]), spin = std::max(spin, w);
  }
  const double wide = 3.0 * pairs_.largest();
  const auto late = [&](double gap, double reach, double v, double w) {
    return gap >= (1.0 + 1e-9) * ((v + w * reach) * horizon_ + 0.5 * gravity_ * horizon_ * horizon_);
  };
  if (!late(pairs_.beyond(), pairs_.beyond() + wide, 2.0 * fast, spin))
    pairs_.each(centres_, [&](std::size_t i, double gap, double distance) {
      const Contact& c = contacts_[i];
      const HostMotion &a = motions_[std::size_t(c.stations[0].host)], &b = motions_[std::size_t(c.host)];
      const double size = sizes_of_hosts_[std::size_t(c.stations[0].host)];
      if (!late(gap, distance + size, a.v.norm() + b.v.norm() + a.omega.norm() * size, b.omega.norm())) look(c);
    });
  return changed;
}

double RodSet::overshoot(double t, const double* y) {
  double least = std::numeric_limits<double>::infinity();
  if (int(latches_.size()) == slides_) return least;
  gather_contacts(t, y);
  ContactPlace o;
  const auto look = [&](const Contact& c) {
    if (!c.law.bounces()) return;
    const std::size_t each = std::size_t(c.law.memory());
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      if (y[c.memory + (k + 1) * each - 1] != 0.0) continue;
      locate(c, place_of(c.stations[k]), o);
      least = std::min(least, c.surface->near(o.p).distance - c.stations[k].radius + c.law.slack);
    }
  };
  for (std::size_t i : close()) look(contacts_[i]);
  if (!pairs_.empty() && least > pairs_.beyond())
    pairs_.each(centres_, [&](std::size_t i, double gap, double) {
      if (!(gap > least)) look(contacts_[i]);
    });
  return least;
}

void RodSet::rest(double t, double* y, bool remember) {
  if (contacts_.empty() && !crossings_.slots()) return;
  gather_contacts(t, y);
  ContactPlace o;
  space::Near found;
  ContactForce f;
  remember = remember && !rest_memory_.empty();
  std::vector<Vec3<double>> places(away_.size());
  for (const Contact& c : contacts_) {
    const std::size_t each = std::size_t(c.law.memory());
    for (std::size_t k = 0; k < c.stations.size(); ++k) {
      const Station& s = c.stations[k];
      double* memory = y + c.memory + k * each;
      const bool close = near(c, s, c.first + k, o, found);
      if (!close) locate(c, place_of(s), o);
      places[c.first + k] = o.p;
      if (!remember || !c.law.sticks()) continue;
      if (close) follow(c, s, c.first + k, o);
      const bool touches = close && touch(c.law, state_of(c, s, o, found, memory), f);
      for (int n = 0; n < 3; ++n) memory[n] = touches ? f.rate[n] : 0.0;
    }
  }
  if (crossings_.slots() && remember) {
    crossings_.still = true;
    see_moves();
    std::copy_n(slots(y), size_ - slots_, y + slots_);
    crossings_.remember(curves_, y + slots_);
  }
  rest_vertices_.resize(rods_.size()), moved_.resize(rods_.size()), turned_.resize(rods_.size());
  for (std::size_t r = 0; r < rods_.size(); ++r) {
    rest_vertices_[r] = rods_[r]->s.x;
    moved_[r].resize(rods_[r]->s.x.size()), turned_[r].resize(rods_[r]->s.R.size());
  }
  rest_place_.swap(places);
  rest_memory_.assign(y + memory_, y + size_);
  rest_frames_.resize(rods_.size());
  for (std::size_t r = 0; r < rods_.size(); ++r) rest_frames_[r] = rods_[r]->s.R;
  rest_bodies_.clear();
  for (const HostMotion& m : motions_) rest_bodies_.push_back(m.R);
}

bool RodSet::soften(double factor) {
  bool any = false;
  for (Contact& c : contacts_) {
    if (c.surface->passable()) continue; // soft ones would be, as strands by each other
    c.law.stiffness *= factor / softened_, any = true;
  }
  softened_ = factor;
  return any;
}

void RodSet::crossings(double t, const double* y, std::vector<Crossings::Reading>& out, Crossings::Budget* sums) {
  gather_contacts(t, y);
  crossings_.still = still_;
  out.clear();
  see_moves();
  for (const Crossings::Touch& o : crossings_.find(curves_, slots(y)))
    sums[o.crossing] += crossings_.read(o, curves_, out.emplace_back());
}

namespace {
// Of a straight way of a point that leads to where the surface would push it out on its other side, the part on which
// it comes no deeper than it may come unseen, and half as deep as to there.
double passage(const Contact& c, double radius, const V3& p, const V3& way) {
  const double length = way.norm();
  V3 normal = V3::Zero();
  double touched = 0.0, before = 0.0;
  for (double at = 0.0; at < 1.0;) {
    const space::Near near = c.surface->near(p + at * way);
    const double gap = near.distance - radius;
    if (gap > 0.0) {
      normal.setZero();
    } else if (normal.dot(near.normal) < 0.0) {
      double turned = at;
      for (int k = 0; k < 20; ++k) {
        const double middle = 0.5 * (before + turned);
        (normal.dot(c.surface->near(p + middle * way).normal) < 0.0 ? turned : before) = middle;
      }
      return touched + std::min(0.5 * (before - touched), c.reach / length);
    } else if (normal.isZero()) {
      normal = near.normal, touched = at;
    }
    before = at, at += std::max(std::abs(gap), c.reach) / length;
  }
  return std::numeric_limits<double>::infinity();
}
} // namespace

void RodSet::aim(double t, const double* to) {
  gather_contacts(t, to);
  ContactPlace o;
  goals_.resize(away_.size());
  for (const Contact& c : contacts_)
    for (std::size_t k = 0; k < c.stations.size(); ++k)
      locate(c, place_of(c.stations[k]), o), goals_[c.first + k] = o.p;
  if (crossings_.empty()) return;
  aims_.resize(rods_.size());
  for (std::size_t r = 0; r < rods_.size(); ++r) aims_[r] = rods_[r]->s.x;
}

double RodSet::reach(double t, const double* y) {
  gather_contacts(t, y);
  double least = std::numeric_limits<double>::infinity();
  ContactPlace o;
  for (const Contact& c : contacts_)
    for (std::size_t k = 0; k < c.stations.size() && c.surface->passable() && !c.law.hard; ++k) {
      locate(c, place_of(c.stations[k]), o);
      least = std::min(least, passage(c, c.stations[k].radius, o.p, goals_[c.first + k] - o.p));
    }
  if (crossings_.empty()) return least;
  std::vector<Crossings::Curve> ways = curves_;
  for (std::size_t r = 0; r < rods_.size(); ++r) {
    for (std::size_t n = 0; n < aims_[r].size(); ++n) aims_[r][n] -= rods_[r]->s.x[n];
    ways[r].v = aims_[r].data();
  }
  return std::min(least, crossings_.reach(ways));
}

void RodSet::contacts(double t, const double* y, const std::vector<int>& listed, double* rows, ContactBudget* sums) {
  gather_contacts(t, y);
  for (const Contact& c : contacts_) {
    const bool wanted = std::binary_search(listed.begin(), listed.end(), int(&c - contacts_.data()));
    *sums++ = read_contact(c, y, wanted ? rows : nullptr);
    if (wanted) rows += c.stations.size() * contact_columns;
  }
}
ContactBudget RodSet::read_contact(const Contact& c, const double* y, double* rows) const {
  const std::size_t each = std::size_t(c.law.memory());
  ContactBudget b;
  ContactPlace o;
  for (std::size_t k = 0; k < c.stations.size(); ++k) {
    const Station& s = c.stations[k];
    locate(c, place_of(s), o);
    follow(c, s, c.first + k, o);
    const space::Near found = c.surface->near(o.p);
    ContactForce f;
    const double* memory = y + c.memory + k * each;
    const double gap = found.distance - s.radius;
    const bool touches = c.law.hard || touch(c.law, state_of(c, s, o, found, memory), f);
    if (c.law.hard) {
      b.friction += read_held(s, o, found, memory, f);
    } else if (touches) {
      const double closing = still_ ? 0.0 : -found.normal.dot(o.u);
      const double power = still_ ? 0.0 : -(f.F.dot(o.u) + f.M.dot(o.W)); // taken from the motion
      b.energy += c.law.energy(gap, s.weight);
      b.impact += (f.normal - f.elastic) * closing;
      b.friction += power - f.normal * closing;
      const V3 F = o.Q * f.F, M = o.Q * f.M;
      if (s.body >= 0) b.work -= F.dot(o.v) + M.dot(o.w);
      if (c.body >= 0) b.work += F.dot(V3(o.v_b + o.w_b.cross(o.r))) + M.dot(o.w_b);
    } else {
      b.energy += c.law.energy(gap, s.weight);
      if (f.elastic > 0.0) b.impact += f.elastic * found.normal.dot(o.u); // let go of
    }
    if (!rows) continue;
    const V3 normal = o.Q * found.normal, none = V3::Zero();
    Part<3>::put(rows, V3(o.x - (s.radius + 0.5 * gap) * normal)), Part<3>::put(rows + 3, normal);
    Part<3>::put(rows + 6, touches ? V3(o.Q * f.F) : none), Part<3>::put(rows + 9, touches ? V3(o.Q * f.slip) : none);
    rows[12] = gap, rows[13] = f.normal;
    rows += contact_columns;
  }
  return b;
}

} // namespace gyrod
