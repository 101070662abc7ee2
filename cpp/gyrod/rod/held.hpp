// What held strains ask of a rod of `RodSystem`: projection, and their rows in the linear system of a stage.
#pragma once

#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/rigid/formulations.hpp"
#include "gyrod/rod/constraints.hpp"
#include "gyrod/rod/hosted.hpp"

namespace gyrod {

// Moves positions, or velocities, along M^-1 B' by the forces in lambda.
template <class Rod> void displace(Rod& r, double* y, bool positions) {
  std::vector<Vec3<double>>&shift = r.acceleration, &turned = r.turned;
  for (Vec3<double>& x : shift) x.setZero();
  for (Vec3<double>& x : turned) x.setZero();
  for (int j = 0; j < r.N; ++j)
    r.hold->pull(j, r.hold->lambda[std::size_t(j)], [&](int c, const Vec3<double>& moment, const Vec3<double>& force) {
      shift[std::size_t(c)] += force;
      if (r.turns(c)) turned[r.frame(c)] += moment;
    });
  for (int c = 0; c <= r.N; ++c) {
    const std::size_t n = std::size_t(c);
    if (r.turns(c)) {
      const std::size_t j = r.frame(c);
      const Vec3<double> by = r.d.inverse_J[j].cwiseProduct(turned[j]);
      if (positions)
        Part<4>::put(y + r.p_at[n], multiply<double>(r.s.p[j], exp_quaternion<double>(by)));
      else
        Part<3>::put(y + r.w_at[n], Vec3<double>(r.s.w[j].template tail<3>() + by));
    }
    if (!r.moves(c)) continue;
    const Vec3<double> to = (positions ? r.s.x[n] : r.s.v[n]) + r.free_mass[n] * shift[n];
    Part<3>::put(y + (positions ? r.x_at[n] : r.v_at[n]), to);
  }
}

// Held strains, or their rates, of a state into lambda, with the factors of their mobility; returns the largest.
template <class Rod> double measure(Rod& r, const double* y, bool positions) {
  r.template gather<double>(r.s, y);
  r.grid->configuration(r.s);
  r.hold->configure(r.s);
  double largest = 0.0;
  for (int j = 0; j < r.N; ++j) {
    Vec3<double>& to = r.hold->lambda[std::size_t(j)] = positions ? r.hold->strain(j) : r.hold->strain_rate(j);
    largest = std::max(largest, to.cwiseAbs().maxCoeff());
  }
  r.hold->factor();
  return largest;
}

// Held strains and their rates back to zero, along M^-1 B'.
template <class Rod> void restore(Rod& r, double* y) {
  for (int k = 0; k < 8 && measure(r, y, true) >= 1e-14; ++k) {
    r.hold->solve(r.hold->lambda);
    displace(r, y, true);
  }
  for (int j = 0; j < r.N; ++j) r.hold->lambda[std::size_t(j)] = r.hold->strain_rate(j);
  r.hold->solve(r.hold->lambda);
  displace(r, y, false);
}

// -dE''/d(increments, rates) of a held strain by one of its cells, with accelerations as they are.
struct HeldRow {
  Matrix<double, 3, 7> q, v;
};

// Rows of a grid.
template <class Rod> void segment_rows(Rod& r) {
  for (int c = 1; c <= r.N; ++c) {
    const std::size_t j = std::size_t(c - 1);
    const double scale = r.d.inverse_ds[j];
    const Vec3<double>& G = r.s.G[j];
    const Vec3<double> Omega = r.w[j].template tail<3>(), spin_rate = r.alpha[j].template tail<3>();
    const Vec3<double> y = r.hold->place(c - 1).y, turning = G.cross(Omega);
    const Mat3<double> Rt = r.s.R[j].transpose();
    const Vec3<double> z = scale * (Rt * (r.acceleration[j + 1] - r.acceleration[j]));
    const Mat3<double> EO = cross_matrix<double>(Omega), EG = cross_matrix<double>(G), Ey = cross_matrix<double>(y);
    const Mat3<double> square = EO * EO - cross_matrix<double>(spin_rate);
    const Mat3<double> qT = cross_matrix<double>(z) - 2.0 * EO * Ey + square * EG, qx = scale * square * Rt;
    const Mat3<double> vx = -2.0 * scale * EO * Rt, vO = 2.0 * Ey - EO * EG + cross_matrix<double>(turning);
    HeldRow &before = r.rows[2 * j], &behind = r.rows[2 * j + 1];
    behind.q.col(0) = -(z + 2.0 * y.cross(Omega) + turning.cross(Omega) + G.cross(spin_rate));
    behind.q.template middleCols<3>(1) = -qT, behind.q.template rightCols<3>() = -qx;
    behind.v.template middleCols<3>(1) = -vO, behind.v.template rightCols<3>() = -vx;
    before.q.template rightCols<3>() = qx, before.v.template rightCols<3>() = vx;
  }
}

// Of elements by dual numbers, node by node: directions (e, Theta, x) and (Omega, x').
template <class Rod> void point_rows(Rod& r) {
  using D = Dual<13>;
  constexpr int most = 5; // nodes of an element
  const int p = r.d.degree;
  for (int e = 0; e * p < r.N; ++e) {
    double h = 0.0;
    for (int k = 0; k < p; ++k) h += r.d.ds[std::size_t(e * p + k)];
    for (int b = 0; b <= p; ++b) {
      const int o = e * p + b;
      Vec3<D> x[most], v[most];
      Vec4<D> q[most], w[most];
      for (int a = 0; a <= p; ++a) {
        const std::size_t n = std::size_t(e * p + a);
        x[a] = r.s.x[n].template cast<D>(), v[a] = r.s.v[n].template cast<D>();
        q[a] = r.s.p[n].template cast<D>(), w[a] = r.s.w[n].template cast<D>();
      }
      const Mat4<double> L = 0.5 * quaternion_matrix<double>(r.s.p[std::size_t(o)]);
      for (std::size_t c = 0; c < 4; ++c)
        for (int i = 0; i < 4; ++i) q[b][i].d[c] = L(i, int(c));
      for (std::size_t i = 0; i < 3; ++i)
        w[b][int(i) + 1].d[7 + i] = 1.0, x[b][int(i)].d[4 + i] = 1.0, v[b][int(i)].d[10 + i] = 1.0;
      for (int k = 0; k < p; ++k) {
        const HeldPoint<D> at(p, k, h, x, v, q, w);
        Vec3<D> rate = at.free(q, w);
        for (int a = 0; a <= p; ++a) {
          const HeldLink<D> l = at.link(a, q);
          const std::size_t n = std::size_t(e * p + a);
          const Vec3<double> turned = r.alpha[n].template tail<3>();
          rate += l.move * r.acceleration[n].template cast<D>() + l.turn * turned.template cast<D>();
        }
        HeldRow& row = r.rows[std::size_t((e * p + k) * (p + 1) + b)];
        for (int i = 0; i < 3; ++i) {
          for (int m = 0; m < 7; ++m) row.q(i, m) = -rate[i].d[std::size_t(m)];
          for (int m = 0; m < 6; ++m) row.v(i, m + 1) = -rate[i].d[std::size_t(7 + m)];
        }
      }
    }
  }
}

// Rows of -dE''/d(q, v). At rest strains do not change to first order, and that is all.
template <class Rod> void constraint_rows(Rod& r, bool still) {
  for (HeldRow& row : r.rows) row.q.setZero(), row.v.setZero();
  if (still) return;
  for (int c = 0; c <= r.N; ++c) {
    const std::size_t n = std::size_t(c);
    r.acceleration[n] = r.moves(c) ? Vec3<double>(r.free_mass[n] * r.s.f[n]) : r.ends[c ? 1 : 0].a;
  }
  if (r.d.degree)
    point_rows(r);
  else
    segment_rows(r);
  for (HeldRow& row : r.rows)
    if (r.d.held == 2) row.q.row(2).setZero(), row.v.row(2).setZero();
}

// E'' of strain j when b_v is an acceleration.
template <class S, class Rod> Vec3<S> given_strain_rate(const Rod& r, int j, const S* b) {
  Vec3<S> rate = Vec3<S>::Zero();
  for (int k = 0; k < r.hold->cells(); ++k) {
    const int o = r.hold->first(j) + k;
    const std::size_t n = std::size_t(o);
    const HeldLink<double>& l = r.links[std::size_t(j * r.hold->cells() + k)];
    if (r.moves(o)) rate += l.move.template cast<S>() * Vec3<S>(Part<3>::of(b + r.v_at[n]));
    if (r.turns(o)) rate += l.turn.template cast<S>() * Vec3<S>(Part<3>::of(b + r.w_at[n]));
  }
  return rate;
}

// Its transposed: a weight of the rate of strain j, given on to those of b.
template <class Rod> void add_strain_rate(const Rod& r, int j, const Vec3<double>& weight, double* b) {
  for (int k = 0; k < r.hold->cells(); ++k) {
    const int o = r.hold->first(j) + k;
    const std::size_t n = std::size_t(o);
    const HeldLink<double>& l = r.links[std::size_t(j * r.hold->cells() + k)];
    const Vec3<double> move = l.move.transpose() * weight, turn = l.turn.transpose() * weight;
    for (int c = 0; c < 3; ++c) {
      if (r.moves(o)) b[r.v_at[n] + c] += move[c];
      if (r.turns(o)) b[r.w_at[n] + c] += turn[c];
    }
  }
}

// A held strain next to an end on a body: dE'' by turn and place, spin and velocity, angular acceleration and
// acceleration of the body, all in space. At rest the strain itself by the place alone.
struct HeldHost {
  Matrix<double, 3, 6> place, speed, acceleration;
};
template <class Rod> HeldHost held_host(const Rod& r, int e, int j, const HostMotion& m, bool still) {
  const std::size_t at = std::size_t(j * r.hold->cells() + (e ? r.N : 0) - r.hold->first(j));
  const HeldLink<double>& l = r.links[at];
  const HeldRow& row = r.rows[at];
  const EndMap map(r.d.ends[e], r.ends[e], m);
  const bool turns = r.d.degree && r.d.ends[e].clamped; // elsewhere the frame there is not the body's
  const Mat3<double> EO = cross_matrix<double>(m.omega), EA = cross_matrix<double>(m.alpha), Rt = map.R.transpose();
  HeldHost h;
  h.acceleration << -(l.move * map.arm), l.move;
  if (turns) h.acceleration.template leftCols<3>() += l.turn * Rt;
  if (still) {
    h.place = h.acceleration, h.speed.setZero(), h.acceleration.setZero();
    return h;
  }
  h.place = -(row.q.template rightCols<3>() * map.x_p + row.v.template rightCols<3>() * map.v_p);
  h.speed = -(row.v.template rightCols<3>() * map.v_v);
  h.place.template leftCols<3>() -= l.move * (EA + EO * EO) * map.arm;
  h.speed.template leftCols<3>() -=
      l.move * (cross_matrix<double>(m.omega.cross(m.R * r.d.ends[e].point)) + EO * map.arm);
  if (turns) {
    h.place -= row.q.template middleCols<3>(1) * map.turn_p + row.v.template middleCols<3>(1) * map.spin_p;
    h.speed -= row.v.template middleCols<3>(1) * map.spin_v;
    h.place.template leftCols<3>() += l.turn * Rt * EA;
  }
  return h;
}

} // namespace gyrod
