// Newton's displacements of a rod, made finite: strains change along a straight line and frames along great circles;
// positions follow from both. A displacement that bends a rod then does not stretch it, and Newton's method is not
// slowed down by stiff extension. Between two held ends the gap that is left is spread over the length.
#pragma once

#include "gyrod/rod/chain.hpp"

namespace gyrod {

// One rod, whose frames are plain: from (q, dq) to `out`, whose velocities vanish. Ends without unknowns have moved
// from `before` to r.ends already. `predicted` becomes R'x' of the end of the straight line.
class RodRetraction {
  using V3 = Vec3<double>;
  using V4 = Vec4<double>;

public:
  RodRetraction(const RodChain<double>& r, const EndMotion* before, const double* q, const double* dq, double by,
                double* out)
      : r_(r), before_(before), q_(q), dq_(dq), by_(by), out_(out), x_(std::size_t(r.N) + 1, V3::Zero()) {}

  void run(std::vector<V3>& predicted) {
    if (r_.d.degree)
      with_degree(r_.d.degree, [&](const auto& table) { elements(table, predicted); });
    else
      segments(predicted);
    place();
  }

private:
  // Vertices that have no unknowns are where they are already.
  V3 given(int n) const { return r_.moves(n) ? V3(Part<3>::of(q_ + at(r_.x_at, n))) : before_[n ? 1 : 0].x; }
  V3 moved(int n) const {
    if (r_.moves(n)) return Part<3>::of(dq_ + at(r_.x_at, n));
    return (r_.ends[n ? 1 : 0].x - before_[n ? 1 : 0].x) / by_;
  }
  // The frame of a cell before, its turn, and where it goes.
  struct Turn {
    V4 p, next;
    V3 by;
  };
  Turn turn(int n) {
    if (!r_.turns(n)) { // held
      const int e = n ? 1 : 0;
      const V4 p = before_[e].p.normalized();
      V4 next = r_.ends[e].p.normalized();
      if (p.dot(next) < 0.0) next = -next;
      return {p, next, V3(log_quaternion<double>(multiply<double>(conjugate<double>(p), next)) / by_)};
    }
    const V4 p = Part<4>::of(q_ + at(r_.p_at, n)).normalized();
    const V3 by = 2.0 * multiply<double>(conjugate<double>(p), Part<4>::of(dq_ + at(r_.p_at, n))).template tail<3>();
    const V4 next = multiply<double>(p, exp_quaternion<double>(by_ * by));
    Part<4>::put(out_ + at(r_.p_at, n), next);
    Part<3>::put(out_ + at(r_.w_at, n), V3(V3::Zero()));
    return {p, next, by};
  }

  void segments(std::vector<V3>& predicted) {
    for (int j = 0; j < r_.N; ++j) {
      const Turn f = turn(j + 1);
      const Mat3<double> R = matrix_from_quaternion<double>(f.p);
      const V3 u = given(j + 1) - given(j), G = R.transpose() * u;
      const V3 strain = R.transpose() * (moved(j + 1) - moved(j)) + G.cross(f.by);
      predicted[i(j)] = r_.d.inverse_ds[i(j)] * (G + by_ * strain);
      x_[i(j + 1)] = x_[i(j)] + matrix_from_quaternion<double>(f.next) * (G + by_ * strain);
    }
  }

  template <int p> void elements(const Lobatto<p>& table, std::vector<V3>& predicted) {
    using Slopes = Matrix<double, p, p>;
    Slopes D; // of the nodes behind the first one
    for (int k = 0; k < p; ++k)
      for (int a = 0; a < p; ++a) D(k, a) = table.D[k][a + 1];
    const Slopes back = D.inverse();
    Turn f[p + 1];
    f[p] = turn(0);
    for (int e = 0; e * p < r_.N; ++e) {
      double h = 0.0;
      for (int k = 0; k < p; ++k) h += r_.d.ds[i(e * p + k)];
      f[0] = f[p];
      for (int a = 1; a <= p; ++a) {
        f[a] = turn(e * p + a);
        aligned(f[a - 1], f[a]);
      }
      for (int k = 0; k < p; ++k) {
        V4 P = V4::Zero(), dP = P, next = P;
        V3 u = V3::Zero(), du = u;
        for (int a = 0; a <= p; ++a) {
          const double I = table.I[k][a], slope = 2.0 / h * table.D[k][a];
          P += I * f[a].p, next += I * f[a].next;
          dP += 0.5 * I * multiply<double>(f[a].p, V4(0.0, f[a].by[0], f[a].by[1], f[a].by[2]));
          u += slope * given(e * p + a), du += slope * moved(e * p + a);
        }
        const double n = P.squaredNorm();
        const Mat3<double> R = matrix_from_quaternion<double>(P) / n;
        const V3 G = R.transpose() * u, Theta = 2.0 / n * multiply<double>(conjugate<double>(P), dP).template tail<3>();
        predicted[i(e * p + k)] = G + by_ * V3(R.transpose() * du + G.cross(Theta));
        const V3 to = matrix_from_quaternion<double>(next.normalized()) * predicted[i(e * p + k)];
        for (int a = 1; a <= p; ++a) x_[i(e * p + a)] += 0.5 * h * back(a - 1, k) * to;
      }
      for (int a = 1; a <= p; ++a) x_[i(e * p + a)] += x_[i(e * p)];
    }
  }
  // Held frames come with either sign.
  static void aligned(const Turn& a, Turn& b) {
    if (a.p.dot(b.p) < 0.0) b.p = -b.p;
    if (a.next.dot(b.next) < 0.0) b.next = -b.next;
  }

  void place() {
    const int N = r_.N;
    const bool start = !r_.moves(0), end = !r_.moves(N);
    V3 from = start ? r_.ends[0].x : V3(given(0) + by_ * moved(0)), gap = V3::Zero();
    if (end && start) gap = r_.ends[1].x - from - x_[i(N)];
    if (end && !start) from = r_.ends[1].x - x_[i(N)];
    double s = 0.0, length = 0.0;
    for (double ds : r_.d.ds) length += ds;
    for (int n = 0; n <= N; ++n) {
      if (r_.moves(n)) {
        Part<3>::put(out_ + at(r_.x_at, n), V3(from + x_[i(n)] + (s / length) * gap));
        Part<3>::put(out_ + at(r_.v_at, n), V3(V3::Zero()));
      }
      if (n < N) s += r_.d.ds[i(n)];
    }
  }

  static constexpr std::size_t i(int n) { return std::size_t(n); }
  static int at(const std::vector<int>& where, int n) { return where[i(n)]; }

  const RodChain<double>& r_;
  const EndMotion* before_;
  const double *q_, *dq_;
  double by_;
  double* out_;
  std::vector<V3> x_; // less that of the first vertex
};

} // namespace gyrod
