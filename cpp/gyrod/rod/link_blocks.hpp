// What links between points do: forces, energies, and their derivatives by the cells of rods and the bodies that carry
// the points. A point moves with one or two cells, or with a body.
#pragma once

#include <array>

#include "gyrod/rod/hosted.hpp"
#include "gyrod/rod/slide.hpp"

namespace gyrod {

// A point and the frame that it belongs to; of a point of space those of space.
struct PointMotion {
  Vec3<double> x, v, Omega;
  Mat3<double> R;
};
// `s` and `m`: the rod or the body that it is of, whichever it is.
inline PointMotion motion_of(const LinkPoint& p, const RodState<double>* s, const HostMotion* m) {
  if (m) {
    const Vec3<double> arm = m->R * p.offset;
    return {m->x + arm, m->v + m->omega.cross(arm), m->R.transpose() * m->omega, m->R};
  }
  const Vec3<double> none = Vec3<double>::Zero();
  if (!s) return {p.offset, none, none, Mat3<double>::Identity()};
  const std::size_t j = std::size_t(p.segment);
  PointMotion o{none, none, s->w[j].tail<3>(), s->R[j]};
  if (!p.offset.isZero()) o.x = o.R * p.offset, o.v = o.R * o.Omega.cross(p.offset);
  for (int k = 0; k < p.cells(); ++k) {
    const std::size_t n = std::size_t(p.cell(k));
    o.x += p.share(k) * s->x[n], o.v += p.share(k) * s->v[n];
  }
  return o;
}

// Force and moment on the first point and their derivatives; dM = dd x F + d x dF where there is a moment.
struct LinkForce {
  PointForce by;
  bool turns = false;        // with the frame of the first point, and feels a moment there
  Matrix<double, 3, 4> turn; // of the force, by (e, Theta)
  Mat3<double> spin;         // by Omega
};

// Laws by the motion of both points: force and moment on the first one, with their derivatives; what the link stores,
// dissipates and takes from who sets its tension.
struct LinkPush {
  Vec3<double> F, M = Vec3<double>::Zero();
};
struct LinkBudget {
  double energy = 0.0, dissipation = 0.0, power = 0.0;
};
template <class Law> LinkPush force_of(const Law& law, double t, const PointMotion m[2]) {
  const Vec3<double> d = m[1].x - m[0].x, v = m[1].v - m[0].v;
  if constexpr (std::is_same_v<Law, TendonLaw>)
    return {law.tension.number(t) / d.norm() * d};
  else if constexpr (std::is_same_v<Law, BushingLaw>) {
    const Vec3<double> u = m[0].R.transpose() * d;
    const Vec3<double> F = m[0].R * (law.k * u + law.c * (m[0].R.transpose() * v - m[0].Omega.cross(u)));
    return {F, d.cross(F)};
  } else
    return {law.template force<double>(d, v)};
}
template <class Law> LinkForce slopes_of(const Law& law, double t, const PointMotion m[2]) {
  const Vec3<double> d = m[1].x - m[0].x, v = m[1].v - m[0].v;
  LinkForce o;
  if constexpr (std::is_same_v<Law, TendonLaw>)
    o.by = Line(d, v).pull(law.tension.number(t), 0.0, 0.0);
  else if constexpr (std::is_same_v<Law, BushingLaw>) {
    const Mat3<double>&R = m[0].R, Rt = R.transpose(), spin = cross_matrix<double>(m[0].Omega);
    const Vec3<double> u = Rt * d, w = Rt * v, f = law.k * u + law.c * (w - m[0].Omega.cross(u));
    const Mat3<double> by_u = law.k - law.c * spin, Eu = cross_matrix<double>(u);
    o.by = {R * f, R * by_u * Rt, R * law.c * Rt};
    o.turns = true;
    o.turn << 2.0 * o.by.F, R * (by_u * Eu + law.c * cross_matrix<double>(w) - cross_matrix<double>(f));
    o.spin = R * law.c * Eu;
  } else
    o.by = law.slopes(d, v);
  return o;
}
template <class Law> LinkBudget budget_of(const Law& law, double t, const PointMotion m[2]) {
  const Vec3<double> d = m[1].x - m[0].x, v = m[1].v - m[0].v;
  if constexpr (std::is_same_v<Law, TendonLaw>)
    return {0.0, 0.0, -law.tension.number(t) * d.dot(v) / d.norm()};
  else if constexpr (std::is_same_v<Law, BushingLaw>) {
    const Vec3<double> u = m[0].R.transpose() * d, rate = m[0].R.transpose() * v - m[0].Omega.cross(u);
    return {0.5 * u.dot(law.k * u), rate.dot(law.c * rate)};
  } else
    return {law.energy(d), law.dissipation(d, v)};
}

// A moment on a frame of a rod, in its axes.
inline void twist(int frame, const Vec3<double>& m, const RodDescription& d, RodState<double>& s) {
  s.mu[std::size_t(frame)] += m;
  if (d.holds(frame)) s.end_moment[frame ? 1 : 0] = s.mu[std::size_t(frame)];
}

// A force F and a moment M (space axes) on a point of a rod.
inline void push(const LinkPoint& p, const Vec3<double>& F, const Vec3<double>& M, const RodDescription& d,
                 RodState<double>& s) {
  const int j = p.segment;
  const Mat3<double>& R = s.R[std::size_t(j)];
  for (int k = 0; k < p.cells(); ++k) s.f[std::size_t(p.cell(k))] += p.share(k) * F;
  if (!p.offset.isZero()) s.mu[std::size_t(j)] += p.offset.cross(R.transpose() * F);
  if (!M.isZero()) s.mu[std::size_t(j)] += R.transpose() * M;
  if (d.holds(j)) s.end_moment[j ? 1 : 0] = s.mu[std::size_t(j)];
}

// What carries a point: a cell of a rod, or (rod < 0) a body.
struct Carrier {
  int rod, index;
  bool body() const { return rod < 0; }
};

// How a point and its frame move with a carrier, and what a force and a moment there do to it. A cell has increments
// (e, Theta, x) and rates (w0, Omega, x') and feels (mu, f); a body turns and moves by (V, x), has the rates (omega,
// v), all in space, and feels (torque, force). Of seven columns a body needs six.
struct Handle {
  using M37 = Matrix<double, 3, 7>;
  Carrier on;
  int end;
  M37 place_q, speed_q, speed_v;       // of the point
  Matrix<double, 4, 7> frame_q;        // (e, Theta) of its frame
  M37 spin_q, spin_v;                  // Omega of its frame
  Matrix<double, 6, 3> action, couple; // of a force, of a moment
  double slope;                        // of its share in a point that slides
  M37 turning;                         // of mu or the torque, at a fixed force and moment

  void clear(Carrier of, int e) {
    on = of, end = e;
    for (M37* m : {&place_q, &speed_q, &speed_v, &spin_q, &spin_v, &turning}) m->setZero();
    frame_q.setZero(), action.setZero(), couple.setZero(), slope = 0.0;
  }
  // Cell k of a point of a rod.
  void of_cell(const LinkPoint& p, const RodState<double>& s, int k, int e, const Vec3<double>& F,
               const Vec3<double>& M) {
    clear({p.rod, p.cell(k)}, e);
    const double share = p.share(k);
    place_q.rightCols<3>().diagonal().setConstant(share);
    speed_v.rightCols<3>().diagonal().setConstant(share);
    action.bottomRows<3>().diagonal().setConstant(share);
    if (p.slides()) slope = p.shares[1][k];
    if (k + 1 < p.cells() || p.slides()) return;
    const std::size_t j = std::size_t(p.segment);
    const Mat3<double>&R = s.R[j], Rt = R.transpose();
    frame_q.leftCols<4>().setIdentity(), spin_v.middleCols<3>(1).setIdentity();
    couple.topRows<3>() = Rt;
    const Vec3<double> Omega = s.w[j].tail<3>(), swing = Omega.cross(p.offset), f = Rt * F, m = Rt * M;
    const Mat3<double> Ea = cross_matrix<double>(p.offset);
    place_q.col(0) = R * p.offset, place_q.middleCols<3>(1) = -R * Ea;
    speed_q.col(0) = R * swing, speed_q.middleCols<3>(1) = -R * cross_matrix<double>(swing);
    speed_v.middleCols<3>(1) = -R * Ea;
    action.topRows<3>() = Ea * Rt;
    turning.col(0) = Ea * f + m, turning.middleCols<3>(1) = Ea * cross_matrix<double>(f) + cross_matrix<double>(m);
  }
  void of_body(const LinkPoint& p, const HostMotion& m, int e, const Vec3<double>& F) {
    clear({-1, p.host}, e);
    const Mat3<double> arm = cross_matrix<double>(m.R * p.offset), EO = cross_matrix<double>(m.omega);
    const Mat3<double> Rt = m.R.transpose(), one = Mat3<double>::Identity();
    place_q.leftCols<3>() = -arm, place_q.middleCols<3>(3) = one;
    speed_q.leftCols<3>() = -EO * arm;
    speed_v.leftCols<3>() = -arm, speed_v.middleCols<3>(3) = one;
    frame_q.bottomRows<3>().leftCols<3>() = Rt;
    spin_q.leftCols<3>() = Rt * EO, spin_v.leftCols<3>() = Rt;
    action << arm, one;
    couple.topRows<3>() = one;
    turning.leftCols<3>() = cross_matrix<double>(F) * arm;
  }
};

// Derivatives of what one carrier feels by the increments (q) and rates (v) of another.
struct FarBlock {
  Carrier row, column;
  Matrix<double, 6, 7> q, v;
  bool places = false; // of cells: nothing but a force by places and velocities
};
// The part of a block in a cell whose end a body holds that is the body's: its columns, its rows. `turns`: the frame
// too.
inline FarBlock held_columns(const FarBlock& b, int host, const EndMap& map, bool turns) {
  FarBlock o{b.row, {-1, host}, {}, {}};
  o.q.setZero(), o.v.setZero();
  o.q.leftCols<6>() = b.q.rightCols<3>() * map.x_p + b.v.rightCols<3>() * map.v_p;
  o.v.leftCols<6>() = b.v.rightCols<3>() * map.v_v;
  if (!turns) return o;
  o.q.leftCols<6>() += b.q.middleCols<3>(1) * map.turn_p + b.v.middleCols<3>(1) * map.spin_p;
  o.v.leftCols<6>() += b.v.middleCols<3>(1) * map.spin_v;
  return o;
}
inline FarBlock held_rows(const FarBlock& b, int host, const EndMap& map, bool turns) {
  FarBlock o{{-1, host}, b.column, {}, {}};
  const auto wrench = [&](const Matrix<double, 6, 7>& from, Matrix<double, 6, 7>& to) {
    to << map.arm * from.bottomRows<3>(), from.bottomRows<3>();
    if (turns) to.topRows<3>() += map.R * from.topRows<3>();
  };
  wrench(b.q, o.q), wrench(b.v, o.v);
  return o;
}

// Calls out(FarBlock) for all blocks of a link; `at.state(r)`, `at.host(h)` and `at.motion(point)` are rods, bodies and
// points as they are.
template <class At, class Out> void link_blocks(const RodLink& link, double t, const At& at, Out&& out) {
  const PointMotion m[2] = {at.motion(link.ends[0]), at.motion(link.ends[1])};
  const LinkForce f = std::visit([&](const auto& law) { return slopes_of(law, t, m); }, link.law);
  const Vec3<double>&F = f.by.F, d = m[1].x - m[0].x, none = Vec3<double>::Zero();
  std::array<Handle, LinkPoint::most + 2> handles;
  std::size_t count = 0;
  for (int e = 0; e < 2; ++e) {
    const LinkPoint& p = link.ends[e];
    const Vec3<double> push = e ? Vec3<double>(-F) : F, moment = f.turns && !e ? Vec3<double>(d.cross(F)) : none;
    for (int k = 0; k < p.cells(); ++k) handles[count++].of_cell(p, at.state(p.rod), k, e, push, moment);
    if (p.body >= 0) handles[count++].of_body(p, at.host(p.host), e, push);
  }
  // A point that slides moves on by ds = -(its pull on who moves)/stiffness.
  const LinkPoint& way = link.ends[1];
  Vec3<double> pull = none;
  double stiffness = 0.0;
  if (link.slides()) {
    const std::vector<Vec3<double>>& x = at.state(way.rod).x;
    const Vec3<double> tangent = along(way, x, 1);
    pull = f.by.K * tangent;
    stiffness = pull.dot(tangent) * nearness(d, tangent, along(way, x, 2)) / tangent.squaredNorm();
  }
  const Mat3<double> arm = cross_matrix<double>(d), back = cross_matrix<double>(F);
  for (std::size_t i = 0; i < count; ++i) {
    const Handle& r = handles[i];
    Matrix<double, 6, 3> action = r.end ? Matrix<double, 6, 3>(-r.action) : r.action;
    const bool feels = f.turns && !r.end;
    if (feels) action += r.couple * arm;
    const Matrix<double, 6, 3> K = action * f.by.K, C = action * f.by.C;
    Matrix<double, 6, 1> by_way;
    if (link.slides()) by_way = action * pull;
    if (r.slope != 0.0) by_way.tail<3>() -= r.slope * F;
    for (std::size_t j = 0; j < count; ++j) {
      const Handle& c = handles[j];
      const double sign = c.end ? 1.0 : -1.0;
      FarBlock b{r.on, c.on, {}, {}};
      b.q = sign * (K * c.place_q + C * c.speed_q);
      b.v = sign * (C * c.speed_v);
      if (feels) b.q -= (sign * r.couple * back) * c.place_q;
      if (f.turns && !c.end) {
        b.q += action * (f.turn * c.frame_q + f.spin * c.spin_q);
        b.v += action * (f.spin * c.spin_v);
      }
      if (i == j) b.q.topRows<3>() += r.turning;
      if (link.slides()) {
        Matrix<double, 7, 1> way_by = sign * (c.place_q.transpose() * pull);
        if (c.slope != 0.0) way_by.tail<3>() += c.slope * F;
        b.q -= by_way * (way_by.transpose() * (1.0 / stiffness));
      }
      out(b);
    }
  }
}

} // namespace gyrod
