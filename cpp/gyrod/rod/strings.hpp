// Straight pieces of strings between points of rods and of space: cables that only pull, tendons with a given tension.
#pragma once

#include <vector>

#include "gyrod/rod/cells.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

// A point of a rod: (1 - xi) x_j + xi x_(j+1) + R_j offset of segment j, or x_j + R_j offset of node j; or of space
// (rod < 0).
struct StringPoint {
  int rod = -1, segment = 0;
  double xi = 0.0;
  Vec3<double> offset = Vec3<double>::Zero();
  bool node = false;

  // The cells that it belongs to; the last of them carries its frame.
  int cells() const { return node ? 1 : 2; }
  int cell(int k) const { return segment + k; }
  double share(int k) const { return node ? 1.0 : k ? xi : 1.0 - xi; }
};

struct RodString {
  StringPoint ends[2];
  double stiffness = 0.0, damping = 0.0, length = 0.0, smoothing = 0.0; // of a cable
  bool tendon = false;
  Signal tension; // of a tendon

  // Tension and its derivatives by length and rate; energy of a cable, its dissipated power.
  struct Pull {
    double T, by_length = 0.0, by_rate = 0.0, energy = 0.0, dissipation = 0.0;
  };
  Pull pull(double t, double l, double rate) const {
    if (tendon) return {tension.number(t)};
    const double u = l - length, s = smoothing;
    if (u <= 0.0) return {0.0};
    const bool onset = u < s;
    const double extension = onset ? u * u / (2.0 * s) : u - 0.5 * s, slope = onset ? u / s : 1.0;
    Pull p{stiffness * extension + damping * slope * rate, stiffness * slope, damping * slope};
    p.energy = stiffness * (onset ? u * u * u / (6.0 * s) : 0.5 * u * (u - s) + s * s / 6.0);
    if (onset) p.by_length += damping * rate / s;
    p.dissipation = damping * slope * rate * rate;
    if (p.T < 0.0) p.T = p.by_length = p.by_rate = p.dissipation = 0.0; // it never pushes
    return p;
  }
};

// Where a string piece is, how it pulls on its first end, and the derivatives of that by the points and their rates.
struct StringState {
  Vec3<double> force;
  double rate = 0.0;
  RodString::Pull pull{};
  Mat3<double> by_place = Mat3<double>::Zero(), by_speed = Mat3<double>::Zero();

  StringState(const RodString& s, double t, const Vec3<double> x[2], const Vec3<double> v[2]) {
    const Vec3<double> d = x[1] - x[0], w = v[1] - v[0];
    const double l = d.norm();
    const Vec3<double> u = d / l;
    rate = u.dot(w);
    pull = s.pull(t, l, rate);
    force = pull.T * u;
    const Mat3<double> across = (Mat3<double>::Identity() - u * u.transpose()) / l;
    by_place = pull.T * across + u * (pull.by_length * u + pull.by_rate * (across * w)).transpose();
    by_speed = pull.by_rate * u * u.transpose();
  }
};

// How a point of a rod moves with one of its cells, and what a force there does to that cell.
struct StringHandle {
  int rod, cell;
  Matrix<double, 3, 7> place_q, speed_q, speed_v; // by increments (e, Theta, x) and rates
  Matrix<double, 6, 3> action;                    // (mu, f) of a force in space
  Matrix<double, 3, 4> turning;                   // of mu by (e, Theta) at a fixed force

  StringHandle(const StringPoint& p, const RodState<double>& s, int k, const Vec3<double>& force)
      : rod(p.rod), cell(p.cell(k)) {
    const double share = p.share(k);
    place_q.setZero(), speed_q.setZero(), speed_v.setZero(), action.setZero(), turning.setZero();
    place_q.rightCols<3>().diagonal().setConstant(share);
    speed_v.rightCols<3>().diagonal().setConstant(share);
    action.bottomRows<3>().diagonal().setConstant(share);
    if (k + 1 < p.cells() || p.offset.isZero()) return;
    const std::size_t j = std::size_t(p.segment);
    const Mat3<double>& R = s.R[j];
    const Vec3<double> Omega = s.w[j].tail<3>(), swing = Omega.cross(p.offset), f = R.transpose() * force;
    const Mat3<double> Ea = cross_matrix<double>(p.offset);
    place_q.col(0) = R * p.offset, place_q.middleCols<3>(1) = -R * Ea;
    speed_q.col(0) = R * swing, speed_q.middleCols<3>(1) = -R * cross_matrix<double>(swing);
    speed_v.middleCols<3>(1) = -R * Ea;
    action.topRows<3>() = Ea * R.transpose();
    turning.col(0) = Ea * f, turning.rightCols<3>() = Ea * cross_matrix<double>(f);
  }
};

inline void string_point(const StringPoint& p, const RodState<double>* s, Vec3<double>& x, Vec3<double>& v) {
  x = p.offset, v.setZero();
  if (!s) return;
  const std::size_t j = std::size_t(p.segment);
  const Vec3<double> Omega = s->w[j].tail<3>();
  x = s->R[j] * p.offset, v = s->R[j] * Omega.cross(p.offset);
  for (int k = 0; k < p.cells(); ++k) {
    const std::size_t n = std::size_t(p.cell(k));
    x += p.share(k) * s->x[n], v += p.share(k) * s->v[n];
  }
}
inline void string_force(const StringPoint& p, const Vec3<double>& F, RodState<double>& s) {
  const std::size_t j = std::size_t(p.segment);
  for (int k = 0; k < p.cells(); ++k) s.f[std::size_t(p.cell(k))] += p.share(k) * F;
  s.mu[j] += p.offset.cross(s.R[j].transpose() * F);
}

// A block of the derivatives of a cell's forces that no band holds: rows of one cell, increments and rates of another.
struct FarBlock {
  int row_rod, row, column_rod, column;
  Matrix<double, 6, 7> q, v;
};

// All blocks of a string piece; `state(r)` is the state of rod r.
template <class States>
void string_blocks(const RodString& piece, double t, States&& state, std::vector<FarBlock>& out) {
  Vec3<double> x[2], v[2];
  for (int e = 0; e < 2; ++e)
    string_point(piece.ends[e], piece.ends[e].rod < 0 ? nullptr : &state(piece.ends[e].rod), x[e], v[e]);
  const StringState k(piece, t, x, v);
  std::pair<int, int> cells[4]; // end, and number of the cell there
  int count = 0;
  for (int e = 0; e < 2; ++e)
    for (int n = 0; piece.ends[e].rod >= 0 && n < piece.ends[e].cells(); ++n) cells[count++] = {e, n};
  const auto handle = [&](int i) {
    const auto [e, n] = cells[i];
    const StringPoint& p = piece.ends[e];
    return StringHandle(p, state(p.rod), n, e ? Vec3<double>(-k.force) : k.force);
  };
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      const StringHandle r = handle(i), c = handle(j);
      const double sign = cells[i].first == cells[j].first ? -1.0 : 1.0;
      FarBlock b{r.rod, r.cell, c.rod, c.cell, {}, {}};
      const Matrix<double, 6, 3> K = sign * r.action * k.by_place, C = sign * r.action * k.by_speed;
      b.q = K * c.place_q + C * c.speed_q;
      b.v = C * c.speed_v;
      if (i == j) b.q.topLeftCorner<3, 4>() += r.turning;
      out.push_back(b);
    }
}

} // namespace gyrod
