#include "gyrod/rod/held.hpp"

namespace gyrod {

template class HeldStrains<double>;

void displace(RodPart& r, double* y, bool positions) {
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
      const Vec4<double> p = positions ? multiply<double>(r.s.p[j], exp_quaternion<double>(by)) : r.s.p[j];
      const Vec3<double> Omega = positions ? Vec3<double>(r.s.w[j].tail<3>()) : Vec3<double>(r.s.w[j].tail<3>() + by);
      r.form.put(p, Omega, y + r.p_at[n], y + r.w_at[n]);
    }
    if (!r.moves(c)) continue;
    const Vec3<double> to = (positions ? r.s.x[n] : r.s.v[n]) + r.free_mass[n] * shift[n];
    Part<3>::put(y + (positions ? r.x_at[n] : r.v_at[n]), to);
  }
}

double measure(RodPart& r, const double* y, bool positions) {
  r.gather<double>(r.s, y);
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

void restore(RodPart& r, double* y) {
  for (int k = 0; k < 8 && measure(r, y, true) >= 1e-14; ++k) {
    r.hold->solve(r.hold->lambda);
    displace(r, y, true);
  }
  for (int j = 0; j < r.N; ++j) r.hold->lambda[std::size_t(j)] = r.hold->strain_rate(j);
  r.hold->solve(r.hold->lambda);
  displace(r, y, false);
}

// Rows of a grid.
static void segment_rows(RodPart& r) {
  for (int c = 1; c <= r.N; ++c) {
    const std::size_t j = std::size_t(c - 1);
    const double scale = r.d.inverse_ds[j];
    const Vec3<double>& G = r.s.G[j];
    const Vec3<double> Omega = r.w[j].tail<3>(), spin_rate = r.alpha[j].tail<3>();
    const Vec3<double> y = r.hold->place(c - 1).y, turning = G.cross(Omega);
    const Mat3<double> Rt = r.s.R[j].transpose();
    const Vec3<double> z = scale * (Rt * (r.acceleration[j + 1] - r.acceleration[j]));
    const Mat3<double> EO = cross_matrix<double>(Omega), EG = cross_matrix<double>(G), Ey = cross_matrix<double>(y);
    const Mat3<double> square = EO * EO - cross_matrix<double>(spin_rate);
    const Mat3<double> qT = cross_matrix<double>(z) - 2.0 * EO * Ey + square * EG, qx = scale * square * Rt;
    const Mat3<double> vx = -2.0 * scale * EO * Rt, vO = 2.0 * Ey - EO * EG + cross_matrix<double>(turning);
    HeldRow &before = r.rows[2 * j], &behind = r.rows[2 * j + 1];
    behind.q.col(0) = -(z + 2.0 * y.cross(Omega) + turning.cross(Omega) + G.cross(spin_rate));
    behind.q.middleCols<3>(1) = -qT, behind.q.rightCols<3>() = -qx;
    behind.v.middleCols<3>(1) = -vO, behind.v.rightCols<3>() = -vx;
    before.q.rightCols<3>() = qx, before.v.rightCols<3>() = vx;
  }
}

// Of elements by dual numbers, node by node: directions (e, Theta, x) and (Omega, x').
static void point_rows(RodPart& r) {
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
        x[a] = r.s.x[n].cast<D>(), v[a] = r.s.v[n].cast<D>();
        q[a] = r.s.p[n].cast<D>(), w[a] = r.s.w[n].cast<D>();
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
          const Vec3<double> turned = r.alpha[n].tail<3>();
          rate += l.move * r.acceleration[n].cast<D>() + l.turn * turned.cast<D>();
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

void constraint_rows(RodPart& r, bool still) {
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

HeldHost held_host(const RodPart& r, int e, int j, const HostMotion& m, bool still) {
  const std::size_t at = std::size_t(j * r.hold->cells() + (e ? r.N : 0) - r.hold->first(j));
  const HeldLink<double>& l = r.links[at];
  const HeldRow& row = r.rows[at];
  const EndMap map(r.d.ends[e], r.ends[e], m);
  const bool turns = r.d.degree && r.d.ends[e].clamped; // elsewhere the frame there is not the body's
  const Mat3<double> EO = cross_matrix<double>(m.omega), EA = cross_matrix<double>(m.alpha), Rt = map.R.transpose();
  HeldHost h;
  h.acceleration << -(l.move * map.arm), l.move;
  if (turns) h.acceleration.leftCols<3>() += l.turn * Rt;
  if (still) {
    h.place = h.acceleration, h.speed.setZero(), h.acceleration.setZero();
    return h;
  }
  h.place = -(row.q.rightCols<3>() * map.x_p + row.v.rightCols<3>() * map.v_p);
  h.speed = -(row.v.rightCols<3>() * map.v_v);
  h.place.leftCols<3>() -= l.move * (EA + EO * EO) * map.arm;
  h.speed.leftCols<3>() -= l.move * (cross_matrix<double>(m.omega.cross(m.R * r.d.ends[e].point)) + EO * map.arm);
  if (turns) {
    h.place -= row.q.middleCols<3>(1) * map.turn_p + row.v.middleCols<3>(1) * map.spin_p;
    h.speed -= row.v.middleCols<3>(1) * map.spin_v;
    h.place.leftCols<3>() += l.turn * Rt * EA;
  }
  return h;
}

Matrix<double, 6, 1> pulling_host(const RodPart& r, int e, int j, const HostMotion& m) {
  const AxialLink& l = r.axial[std::size_t(j * r.hold->cells() + (e ? r.N : 0) - r.hold->first(j))];
  const EndMap map(r.d.ends[e], r.ends[e], m);
  Matrix<double, 6, 1> g;
  g.head<3>() = -(map.arm.transpose() * l.move), g.tail<3>() = l.move;
  if (r.d.degree && r.d.ends[e].clamped) g.head<3>() += map.R * l.turn;
  return g;
}

} // namespace gyrod
