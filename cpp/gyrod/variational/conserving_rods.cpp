// Rods in steps that keep energy and momenta (conserving.cpp): stresses of mean strains act along discrete gradients of
// strains, which are functions of products of points and directors.
//
// An element interpolates quaternions, which are none. But its strains are functions of what its first node sees of
// the others, with the directors a of the first and b of another node
//   y = a'(x - x_0),  T = tr(a'b),  q = axial(a'b):  W = (c, q/2c), c = sqrt(1 + T)/2
// with Q = sum I W, Y = sum D y, Q' = sum D W at a point: G = Q* Y Q/|Q|², K = 2 Im(Q* Q')/|Q|². The change of a
// product is exact with means of both ends, of quotients and roots with secants: so is that of G and K.
#include "gyrod/rod/lobatto.hpp"
#include "gyrod/variational/rods.hpp"

namespace gyrod::variational {
namespace {
template <int N> void add(double* r, const Matrix<double, N, 1>& x) {
  for (int i = 0; i < N; ++i) r[i] += x[i];
}

// What a point of an element is made of.
template <class S> struct Seen {
  Vec3<S> Y;
  Vec4<S> Q, P; // P = Q'
};
constexpr int seen = 11;

template <class S> Vec4<S> imaginary(const Vec3<S>& v) { return {S(0), v[0], v[1], v[2]}; }

// The discrete gradient of SG.G + SK.K over a step from a to b, by (Y, Q, Q').
template <class S>
Matrix<S, seen, 1> gradient(const Seen<double>& before, const Seen<S>& b, const V3& SG, const V3& SK, bool stretch) {
  using std::sqrt;
  const Seen<S> a{before.Y.template cast<S>(), before.Q.template cast<S>(), before.P.template cast<S>()};
  const S half(0.5), two(2), n0 = a.Q.dot(a.Q), n1 = b.Q.dot(b.Q), mean = half * (S(1) / n0 + S(1) / n1);
  const Vec3<S> Y = (a.Y + b.Y) * half;
  const Vec4<S> Q = (a.Q + b.Q) * half, P = (a.P + b.P) * half;
  Vec3<S> G = SG.template cast<S>();
  if (stretch) G[2] = S(0); // the length of Y is that of the tangent
  const Vec4<S> g = imaginary<S>(G), k = imaginary<S>(SK.template cast<S>());
  const Mat3<S> M0 = matrix_from_quaternion<S>(a.Q), M1 = matrix_from_quaternion<S>(b.Q);
  const Vec3<S> MG0 = M0 * G, MG1 = M1 * G;
  Vec3<S> y = (MG0 + MG1) * (half * mean);
  if (stretch) y += Y * (S(2.0 * SG[2]) / S(sqrt(a.Y.dot(a.Y)) + sqrt(b.Y.dot(b.Y))));
  const S strained = half * (MG0.dot(a.Y) + MG1.dot(b.Y)),
          bent = half * (k.dot(multiply<S>(conjugate<S>(a.Q), a.P)) + k.dot(multiply<S>(conjugate<S>(b.Q), b.P)));
  Vec4<S> q = multiply<S>(multiply<S>(imaginary<S>(Y), Q), g) * (-two * mean);
  q -= multiply<S>(P, k) * (two * mean);
  q -= Q * (two * (strained + two * bent) / (n0 * n1));
  const Vec4<S> p = multiply<S>(Q, k) * (two * mean);
  Matrix<S, seen, 1> out;
  out << y, q, p;
  return out;
}

// W of (T, q), its derivative, and the discrete gradient of s.W.
template <class S> Vec4<S> relative(const Vec4<S>& o) {
  using std::sqrt;
  const S c = S(0.5) * sqrt(S(S(1) + o[0])), f = S(0.5) / c;
  return {c, f * o[1], f * o[2], f * o[3]};
}
Mat4<double> relative_slope(const V4& o) {
  const double c = relative<double>(o)[0];
  Mat4<double> J = Mat4<double>::Zero();
  J.add_to_diagonal(0.5 / c);
  J(0, 0) = 0.125 / c;
  for (int i = 1; i < 4; ++i) J(i, 0) = -o[i] / (16.0 * c * c * c);
  return J;
}
template <class S> Vec4<S> relative_gradient(const V4& before, const Vec4<S>& b, const V4& s) {
  const Vec4<S> a = before.template cast<S>();
  const S c0 = relative<S>(a)[0], c1 = relative<S>(b)[0], slope = S(0.25) / (c0 + c1),
          mean = S(0.25) * (S(1) / c0 + S(1) / c1);
  S along(0);
  for (int i = 1; i < 4; ++i) along += S(0.5 * s[i]) * (a[i] + b[i]);
  return {slope * (S(s[0]) - along / (S(2) * c0 * c1)), mean * S(s[1]), mean * S(s[2]), mean * S(s[3])};
}

} // namespace

// Of one element over a step: 7 numbers for each node but the first, y, T and q, and their gradients by displacements
// of vertices and turns of frames, space axes: from means of both ends, and at the end.
template <int p> struct ElementStep {
  static constexpr int n = 7 * p;
  using Rows = Matrix<double, n, 3>;
  V3 x[3][p + 1]; // at the beginning, their means, at the end
  M3 R[3][p + 1];
  Matrix<double, n, 1> before, after;
  Rows by_x[2][p + 1], by_turn[2][p + 1];

  void finish() {
    for (int k = 0; k <= p; ++k) x[1][k] = 0.5 * (x[0][k] + x[2][k]), R[1][k] = 0.5 * (R[0][k] + R[2][k]);
    values(0, before), values(2, after);
    gradients(1), gradients(2);
  }
  V4 turn(const Matrix<double, n, 1>& of, int k) const { return Part<4>::of(of.data() + 7 * (k - 1) + 3); }
  // At a Gauss point.
  Seen<double> at(const Matrix<double, n, 1>& of, const double* I, const double* D, double slope) const {
    Seen<double> o{V3::Zero(), I[0] * V4(1.0, 0.0, 0.0, 0.0), (slope * D[0]) * V4(1.0, 0.0, 0.0, 0.0)};
    for (int k = 1; k <= p; ++k) {
      const V4 W = relative<double>(turn(of, k));
      o.Y += (slope * D[k]) * V3(Part<3>::of(of.data() + 7 * (k - 1))), o.Q += I[k] * W, o.P += (slope * D[k]) * W;
    }
    return o;
  }

private:
  void values(int end, Matrix<double, n, 1>& out) const {
    const M3* F = R[end];
    for (int k = 1; k <= p; ++k) {
      const M3 Q = F[0].transpose() * F[k];
      const V3 y = F[0].transpose() * V3(x[end][k] - x[end][0]);
      double* o = out.data() + 7 * (k - 1);
      Part<3>::put(o, y);
      o[3] = Q(0, 0) + Q(1, 1) + Q(2, 2);
      for (int i = 0; i < 3; ++i) o[4 + i] = 0.5 * (Q((i + 2) % 3, (i + 1) % 3) - Q((i + 1) % 3, (i + 2) % 3));
    }
  }
  void gradients(int end) {
    const M3* F = R[end];
    Rows *X = by_x[end - 1], *T = by_turn[end - 1];
    for (int k = 0; k <= p; ++k) X[k].setZero(), T[k].setZero();
    for (int k = 1; k <= p; ++k)
      for (int i = 0, r = 7 * (k - 1); i < 7; ++i, ++r) {
        if (i < 3) {
          const V3 a = F[0].col(i), d = x[end][k] - x[end][0], m = a.cross(d);
          X[k].row(r) = a.transpose(), X[0].row(r) = -a.transpose(), T[0].row(r) = m.transpose();
          continue;
        }
        const M3 on = i == 3 ? F[0] : M3(F[0] * (0.5 * skew<double>(V3::Unit(i - 4))));
        V3 m = V3::Zero();
        for (int j = 0; j < 3; ++j) m += F[k].col(j).cross(on.col(j));
        T[k].row(r) = m.transpose(), T[0].row(r) = -m.transpose();
      }
  }
};

// --- steps that keep energy and momenta

M3 RodLinks::axes(int j, const Pose* poses, const Level& o) const {
  const bool held = j < 0 || j >= d_.frames() || d_.holds(j);
  return matrix_from_quaternion<double>(held ? end_frame(j <= 0 ? 0 : 1, poses, o) : o.p[std::size_t(j)]);
}

V3 RodLinks::arm_of(int n, const Pose* poses) const {
  if (moves(n) || vertex_node(n) < 0) return V3::Zero();
  return poses[vertex_node(n)].R * arm(n ? 1 : 0);
}

// K = kappa f(T) axial(Q) - K0 with Q = a'b and its trace T: products of directors, whose changes are exact with the
// means of both ends, and f by its secant.
RodLinks::Bent RodLinks::bent(std::size_t at, const Trial& s) const {
  const int n = int(stations_[at].point), N = d_.segments;
  const bool ghost = n == 0 || n == N;
  Bent o;
  double c[2];
  V3 axial[2];
  Zeta<double> z[2];
  for (int k = 0; k < 2; ++k) {
    const Level& level = k ? next_ : now_;
    const Pose* poses = k ? s.next : s.now;
    o.a[2 * k] = axes(n - 1, poses, level), o.b[2 * k] = axes(n, poses, level);
    const V4 a = n ? level.p[std::size_t(n - 1)] : end_frame(0, poses, level),
             b = n < N ? level.p[std::size_t(n)] : end_frame(1, poses, level);
    V4 W = multiply<double>(conjugate<double>(a), b);
    if (ghost) W = multiply<double>(W, W);
    c[k] = W[0], axial[k] = W.tail<3>() * (ghost ? 1.0 : 2.0 * W[0]), z[k] = d_.law(W[0]);
  }
  o.a[1] = 0.5 * (o.a[0] + o.a[2]), o.b[1] = 0.5 * (o.b[0] + o.b[2]);
  const double change = c[1] - c[0];
  const double secant = std::abs(change) > 1e-3 ? (z[1].z - z[0].z) / change
                                                : 0.5 * (z[0].z1 + z[1].z1) - change * (z[1].z2 - z[0].z2) / 12.0;
  const double kappa = d_.kappa[stations_[at].point], mean = 0.5 * (z[0].z + z[1].z);
  o.mean = 0.5 * (axial[0] + axial[1]);
  if (ghost) // T = 2 c + 1
    o.factor = kappa * mean, o.slope = 0.5 * kappa * secant, o.end_slope = 0.5 * kappa * z[1].z1;
  else { // T = 4 c² - 1, f = z/(2 c)
    const double sum = c[0] + c[1];
    o.factor = 0.25 * kappa * (z[0].z / c[0] + z[1].z / c[1]);
    o.slope = kappa * (0.5 * secant * sum - mean) / (8.0 * c[0] * c[1] * sum);
    o.end_slope = kappa * (z[1].z1 * c[1] - z[1].z) / (16.0 * c[1] * c[1] * c[1]);
  }
  return o;
}

M3 RodLinks::Bent::pair(const V3& S) const {
  M3 B = (0.5 * factor) * skew<double>(S);
  B.add_to_diagonal(slope * S.dot(mean));
  return B;
}

template <int p> void RodLinks::element(std::size_t at, ElementStep<p>& o) const {
  const std::size_t first = std::size_t(stations_[at].vertex);
  for (std::size_t k = 0; k <= p; ++k) {
    o.x[0][k] = now_.x[first + k], o.x[2][k] = next_.x[first + k];
    o.R[0][k] = matrix_from_quaternion<double>(now_.p[first + k]);
    o.R[2][k] = matrix_from_quaternion<double>(next_.p[first + k]);
  }
  o.finish();
}

double RodLinks::slope_of(const Station& o) const {
  double length = 0.0;
  for (int k = 0; k < d_.degree; ++k) length += d_.ds[std::size_t(o.vertex + k)];
  return 2.0 / length;
}

// Rows of an element by the entries of a station that sees all of it.
template <int p>
void RodLinks::rows_of(const ElementStep<p>& o, const Station& of, bool end, const Trial& s,
                       Matrix<double, 7 * p, 6>* rows) const {
  for (std::size_t a = 0; a < of.last - of.first; ++a) rows[a].setZero();
  for (int k = 0; k <= p; ++k) {
    if (const int entry = of.entries[0][k]; entry >= 0) {
      auto& to = rows[std::size_t(entry) - of.first];
      const auto& X = o.by_x[end][k];
      to.template leftCols<3>() += X;
      if (!moves(of.vertex + k)) {
        const V3 r1 = arm_of(of.vertex + k, s.next), r = end ? r1 : V3(0.5 * (arm_of(of.vertex + k, s.now) + r1));
        to.template rightCols<3>() -= X * skew<double>(r); // r x f, as a row
      }
    }
    if (const int entry = of.entries[1][k]; entry >= 0)
      rows[std::size_t(entry) - of.first].template rightCols<3>() += o.by_turn[end][k];
  }
  for (std::size_t a = of.first; a < of.last; ++a) {
    auto& to = rows[a - of.first];
    const int node = nodes_[a];
    to.template rightCols<3>() = Matrix<double, 7 * p, 3>(to.template rightCols<3>() *
                                                          (end ? M3(s.next[node].R * s.turn[node]) : s.now[node].R));
  }
}

template <int p> void RodLinks::element_middle(const Trial& s) {
  constexpr int n = 7 * p;
  const auto& t = Lobatto<p>::get();
  const bool stretch = d_.strain == Strain::stretch;
  ElementStep<p> o;
  Matrix<double, n, 6> rows[2 * p + 2];
  for (std::size_t at = 0; at < stations_.size(); at += 2) {
    const Station& of = stations_[at];
    const std::size_t g = of.point % p;
    if (g == 0) element<p>(at, o), rows_of<p>(o, of, false, s, rows);
    const double slope = slope_of(of), *I = t.I[g], *D = t.D[g];
    const Seen<double> before = o.at(o.before, I, D, slope), after = o.at(o.after, I, D, slope);
    for (int row = 0; row < 6; ++row) {
      const V3 S = V3::Unit(row % 3), none = V3::Zero();
      const Matrix<double, seen, 1> by =
          gradient<double>(before, after, row < 3 ? S : none, row < 3 ? none : S, stretch);
      Matrix<double, n, 1> weight;
      for (int k = 1; k <= p; ++k) {
        const V4 W = I[k] * V4(by.template segment<4>(3)) + (slope * D[k]) * V4(by.template tail<4>());
        double* w = weight.data() + 7 * (k - 1);
        Part<3>::put(w, V3((slope * D[k]) * V3(by.template head<3>())));
        Part<4>::put(w + 3, relative_gradient<double>(o.turn(o.before, k), o.turn(o.after, k), W));
      }
      const Station& to = stations_[at + std::size_t(row / 3)];
      for (std::size_t a = to.first; a < to.last; ++a)
        for (std::size_t b = of.first; b < of.last; ++b)
          if (nodes_[a] == nodes_[b])
            middle_[a].row(row % 3) = Matrix<double, 1, 6>(weight.transpose() * rows[b - of.first]);
    }
  }
}

void RodLinks::middle(const Trial& s) {
  for (M36& B : middle_) B.setZero();
  if (d_.degree == 2) return element_middle<2>(s);
  if (d_.degree == 3) return element_middle<3>(s);
  if (d_.degree == 4) return element_middle<4>(s);
  const auto put = [&](int entry, int row, const V3& force, const V3& moment) {
    if (entry < 0) return;
    const V3 body = s.now[nodes_[std::size_t(entry)]].R.transpose() * moment;
    for (int i = 0; i < 3; ++i)
      middle_[std::size_t(entry)](row, i) += force[i], middle_[std::size_t(entry)](row, 3 + i) += body[i];
  };
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& o = stations_[at];
    if (o.bends) {
      const Bent k = bent(at, s);
      for (int row = 0; row < 3; ++row) {
        const M3 on_b = k.a[1] * k.pair(V3::Unit(row));
        V3 moment = V3::Zero();
        for (int j = 0; j < 3; ++j) moment += k.b[1].col(j).cross(on_b.col(j));
        put(o.entries[1][1], row, V3::Zero(), moment), put(o.entries[1][0], row, V3::Zero(), -moment);
      }
      continue;
    }
    const std::size_t j = o.point;
    const double c = d_.inverse_ds[j];
    const V3 before = now_.x[j + 1] - now_.x[j], after = next_.x[j + 1] - next_.x[j], d = (0.5 * c) * (before + after);
    const M3 R = 0.5 * (axes(int(j), s.now, now_) + axes(int(j), s.next, next_));
    for (int row = 0; row < 3; ++row) {
      const bool length = row == 2 && d_.strain == Strain::stretch;
      const V3 g = length ? V3(d * (2.0 / (before.norm() + after.norm()))) : V3(c * R.col(row));
      for (int k = 0; k < 2; ++k) {
        const V3 r = 0.5 * (arm_of(o.vertex + k, s.now) + arm_of(o.vertex + k, s.next)), force = k ? g : V3(-g);
        put(o.entries[0][k], row, force, r.cross(force));
      }
      if (!length) put(o.entries[1][0], row, V3::Zero(), R.col(row).cross(d));
    }
  }
}

void RodLinks::assemble_conserving(const Trial& s, const BlockPattern& pattern, double* r) {
  measure(s.t_next, s.next, next_);
  stress_conserving(s.h);
  middle(s);
  const double f = 0.5 * s.h * s.h;
  each_held([&](int k, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) r[pattern.offset(first_ + k) + i] = next_.E[at][i];
  });
  blend(pattern, r, true);
  // Moments as the equations have them, times 1 - u^, which varies too.
  for (std::size_t b = 0; b < nodes_.size(); ++b) {
    turned_[b].leftCols<3>() = next_.B[b].leftCols<3>();
    turned_[b].rightCols<3>() = next_.B[b].rightCols<3>() * s.turn[nodes_[b]];
  }
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& o = stations_[at];
    const std::size_t count = o.last - o.first;
    V3 total = S_[at];
    for (int i = 0; i < d_.held && !o.bends; ++i) total[i] += nu_[at][i] / f;
    for (std::size_t a = o.first; a < o.last; ++a) {
      const int node = nodes_[a], skip = pinned(node) ? 3 : 0;
      const V3& w = s.w[node];
      const V3 u = half_angle(w), moment = middle_[a].rightCols<3>().transpose() * total;
      const M3 K = f * (skew<double>(moment) * half_angle_matrix(w));
      targets_[o.target + (a - o.first) * count + (a - o.first)].block(3 - skip, 3 - skip, 3, 3) += K;
      middle_[a].rightCols<3>() = middle_[a].rightCols<3>() * (M3::Identity() + skew<double>(u));
      const Matrix<double, 6, 1> x = f * (middle_[a].transpose() * S_[at]);
      double* to = r + pattern.offset(node);
      if (!skip) add<3>(to, x.head<3>()), to += 3;
      add<3>(to, x.tail<3>());
    }
    S_[at] = total;
    if (!d_.degree) o.bends ? bend_geometry(at, s, f) : segment_geometry(at, s, f);
    M3 C = (0.5 * f * o.weight) * (o.bends ? d_.CK : d_.CG)[o.point];
    if (d_.damped) C.diagonal() += (2.0 * f * o.weight / s.h) * (o.bends ? d_.cK : d_.cG)[o.point];
    link(middle_, o, C, o, o.target);
  }
  if (d_.degree == 2) element_geometry<2>(s, f);
  if (d_.degree == 3) element_geometry<3>(s, f);
  if (d_.degree == 4) element_geometry<4>(s, f);
  put_held(middle_);
  for (const Cross& c : crosses_) {
    const M3 X = (0.5 * f * c.weight) * d_.CX[stations_[c.strain].point];
    link(middle_, stations_[c.strain], X, stations_[c.bend], c.target[0]);
    link(middle_, stations_[c.bend], X.transpose().eval(), stations_[c.strain], c.target[1]);
  }
  if (!grid_) return;
  outside(s);
  each_outside(s, [&](int node, const V3& force, const V3& moment) {
    double* to = r + pattern.offset(node);
    if (!pinned(node)) add<3>(to, -f * force), to += 3;
    const V3 V = s.now[node].R.transpose() * (s.half[node] * moment);
    add<3>(to, -f * (V - half_angle(s.w[node]).cross(V)));
  });
  outside_blocks(s);
}

// Stresses S_ turn with the step; f scales the equations.
void RodLinks::bend_geometry(std::size_t at, const Trial& s, double f) {
  const Station& o = stations_[at];
  const Bent k = bent(at, s);
  const M3 B = k.pair(S_[at]), on_b = k.a[1] * B, on_a = k.b[1] * B.transpose();
  M3 by[2];
  turned_pair(on_a, k.a[2], on_b, k.b[2], by);
  // The mean of f and that of the axial vector vary with the end too; the secant's own change is smaller.
  const auto moments = [](const M3& b, const M3& a) {
    V3 sum = V3::Zero();
    for (int j = 0; j < 3; ++j) sum += b.col(j).cross(a.col(j));
    return sum;
  };
  const M3 half = 0.5 * skew<double>(S_[at]);
  const M3 more = (0.5 * k.end_slope) * (moments(k.b[1], k.a[1] * half) * moments(k.b[2], k.a[2]).transpose()) +
                  (0.5 * k.slope) * (moments(k.b[1], k.a[1]) * moments(k.b[2], k.a[2] * half).transpose());
  by[0] += more, by[1] += more;
  put_pair(o, o.entries[1][0], o.entries[1][1], by, s, f);
}

// Moments on a by turns of a, on b by turns of b; and less that on the other.
void RodLinks::turned_pair(const M3& on_a, const M3& a, const M3& on_b, const M3& b, M3* by) {
  by[0].setZero(), by[1].setZero();
  for (int j = 0; j < 3; ++j) {
    by[0] += 0.5 * (skew<double>(on_a.col(j)) * skew<double>(a.col(j)));
    by[1] += 0.5 * (skew<double>(on_b.col(j)) * skew<double>(b.col(j)));
  }
}

void RodLinks::put_pair(const Station& o, int first, int second, const M3* by, const Trial& s, double f) {
  const std::size_t count = o.last - o.first;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column) {
      const int a = row ? second : first, b = column ? second : first;
      if (a < 0 || b < 0) continue;
      const int on = nodes_[std::size_t(a)], of = nodes_[std::size_t(b)];
      const M3 left = (M3::Identity() - skew<double>(half_angle(s.w[on]))) * s.now[on].R.transpose();
      const M3 K = (row == column ? f : -f) * (left * by[column] * s.next[of].R * s.turn[of]);
      const Grid<double>& to = targets_[o.target + (std::size_t(a) - o.first) * count + std::size_t(b) - o.first];
      to.block(pinned(on) ? 0 : 3, pinned(of) ? 0 : 3, 3, 3) += K;
    }
}

void RodLinks::segment_geometry(std::size_t at, const Trial& s, double f) {
  const Station& o = stations_[at];
  const std::size_t j = o.point;
  const double c = d_.inverse_ds[j];
  const V3 before = now_.x[j + 1] - now_.x[j], after = next_.x[j + 1] - next_.x[j], d = (0.5 * c) * (before + after);
  const M3 end = axes(int(j), s.next, next_), mean = 0.5 * (axes(int(j), s.now, now_) + end);
  V3 S = S_[at];
  double along = 0.0;
  if (d_.strain == Strain::stretch) along = 2.0 * c * S[2] / (before.norm() + after.norm()), S[2] = 0.0;
  put_pull(o, 1, {mean * S, end * S, d, c, along}, s, f);
}

// Of the first frame of a station, its first vertex and another: where a force between the two acts, and how they move.
void RodLinks::put_pull(const Station& o, int vertex, const Drawn& by_frame, const Trial& s, double f) {
  const auto& [pull, pull_end, d, c, along] = by_frame;
  const V3 force = c * pull + (along / c) * d;
  struct Slot {
    int entry;
    double sign; // of the force, 0: a frame
    V3 mean, end;
  } slots[3] = {{o.entries[1][0], 0.0, V3::Zero(), V3::Zero()}};
  for (int k = 0; k < 2; ++k) {
    const int n = k * vertex;
    const V3 r0 = arm_of(o.vertex + n, s.now), r1 = arm_of(o.vertex + n, s.next);
    slots[1 + k] = {o.entries[0][n], k ? 1.0 : -1.0, 0.5 * (r0 + r1), r1};
  }
  const std::size_t count = o.last - o.first;
  for (const Slot& row : slots)
    for (const Slot& column : slots) {
      if (row.entry < 0 || column.entry < 0) continue;
      M66 K = M66::Zero(); // by displacements and turns, space axes
      if (column.sign == 0.0) {
        const M3 by = (-0.5 * c) * skew<double>(pull_end);
        if (row.sign == 0.0)
          K.block<3, 3>(3, 3) = -(skew<double>(d) * by) / c;
        else
          K.block<3, 3>(0, 3) = row.sign * by, K.block<3, 3>(3, 3) = row.sign * (skew<double>(row.mean) * by);
      } else {
        M3 by = M3::Zero(), turned = M3::Zero();
        if (row.sign == 0.0)
          turned = (0.5 * c * column.sign) * skew<double>(pull);
        else {
          by.add_to_diagonal(0.5 * along * row.sign * column.sign);
          turned = skew<double>(row.mean) * by;
        }
        const M3 swing = skew<double>(column.end);
        K.block<3, 3>(0, 0) = by, K.block<3, 3>(0, 3) = -(by * swing);
        K.block<3, 3>(3, 0) = turned, K.block<3, 3>(3, 3) = -(turned * swing);
        if (&row == &column) K.block<3, 3>(3, 3) += (0.5 * row.sign) * (skew<double>(force) * swing);
      }
      const int on = nodes_[std::size_t(row.entry)], of = nodes_[std::size_t(column.entry)];
      const M3 left = (M3::Identity() - skew<double>(half_angle(s.w[on]))) * s.now[on].R.transpose();
      const M3 right = s.next[of].R * s.turn[of];
      const Grid<double>& to =
          targets_[o.target + (std::size_t(row.entry) - o.first) * count + std::size_t(column.entry) - o.first];
      const int r0 = pinned(on) ? 0 : 3, c0 = pinned(of) ? 0 : 3;
      if (r0 && c0) to.block(0, 0, 3, 3) += f * K.block<3, 3>(0, 0);
      if (r0) to.block(0, c0, 3, 3) += f * (K.block<3, 3>(0, 3) * right);
      if (c0) to.block(r0, 0, 3, 3) += f * (left * K.block<3, 3>(3, 0));
      to.block(r0, c0, 3, 3) += f * (left * K.block<3, 3>(3, 3) * right);
    }
}

// Forces of an element by the end of the step, but for those of the stresses: weights of what its nodes see of each
// other vary, and what they pull at turns.
template <int p> void RodLinks::element_geometry(const Trial& s, double f) {
  constexpr int n = 7 * p;
  const auto& t = Lobatto<p>::get();
  const bool stretch = d_.strain == Strain::stretch;
  const double tiny = 1e-30; // complex steps
  ElementStep<p> o;
  Matrix<double, n, 6> rows[2 * p + 2], ends[2 * p + 2], bent[2 * p + 2];
  for (std::size_t at = 0; at < stations_.size(); at += 2 * p) {
    const Station& of = stations_[at];
    const std::size_t count = of.last - of.first;
    element<p>(at, o);
    rows_of<p>(o, of, false, s, rows), rows_of<p>(o, of, true, s, ends);
    // By y and W of the nodes.
    Matrix<double, n, n> H = Matrix<double, n, n>::Zero();
    Matrix<double, n, 1> weight = Matrix<double, n, 1>::Zero();
    for (std::size_t g = 0; g < p; ++g) {
      const double slope = slope_of(of), *I = t.I[g], *D = t.D[g];
      const Seen<double> before = o.at(o.before, I, D, slope), after = o.at(o.after, I, D, slope);
      const V3 &G = S_[at + 2 * g], &K = S_[at + 2 * g + 1];
      const Matrix<double, seen, 1> by = gradient<double>(before, after, G, K, stretch);
      Matrix<double, seen, seen> Z;
      for (int c = 0; c < seen; ++c) {
        Seen<Complex> moved{after.Y.template cast<Complex>(), after.Q.template cast<Complex>(),
                            after.P.template cast<Complex>()};
        (c < 3 ? moved.Y[c] : c < 7 ? moved.Q[c - 3] : moved.P[c - 7]) += Complex(0.0, tiny);
        const Matrix<Complex, seen, 1> by_c = gradient<Complex>(before, moved, G, K, stretch);
        for (int r = 0; r < seen; ++r) Z(r, c) = by_c[r].imag() / tiny;
      }
      for (int k = 1; k <= p; ++k) {
        const int r = 7 * (k - 1);
        const double Dk = slope * D[k];
        for (int i = 0; i < 3; ++i) weight[r + i] += Dk * by[i];
        for (int i = 0; i < 4; ++i) weight[r + 3 + i] += I[k] * by[3 + i] + Dk * by[7 + i];
        for (int l = 1; l <= p; ++l) {
          const double Dl = slope * D[l];
          auto to = H.template block<7, 7>(r, 7 * (l - 1));
          for (int i = 0; i < 7; ++i)
            for (int j = 0; j < 7; ++j) {
              const double left = i < 3 ? Dk : I[k], right = j < 3 ? Dl : I[l];
              double sum = left * right * Z(i, j);
              if (i >= 3) sum += Dk * right * Z(i + 4, j);
              if (j >= 3) sum += left * Dl * Z(i, j + 4);
              if (i >= 3 && j >= 3) sum += Dk * Dl * Z(i + 4, j + 4);
              to(i, j) += sum;
            }
        }
      }
    }
    // From W to T and q.
    for (int k = 1; k <= p; ++k) {
      const int r = 7 * (k - 1) + 3;
      const V4 turn0 = o.turn(o.before, k), turn1 = o.turn(o.after, k), W = Part<4>::of(weight.data() + r);
      Mat4<double> secant, own; // columns: of unit weights; by the end
      for (int c = 0; c < 4; ++c) {
        secant.col(c) = relative_gradient<double>(turn0, turn1, V4::Unit(c));
        Vec4<Complex> moved = turn1.template cast<Complex>();
        moved[c] += Complex(0.0, tiny);
        const Vec4<Complex> by = relative_gradient<Complex>(turn0, moved, W);
        for (int i = 0; i < 4; ++i) own(i, c) = by[i].imag() / tiny;
      }
      const Mat4<double> slope = relative_slope(turn1);
      for (int c = 0; c < n; ++c) {
        const V4 column = secant * V4(Part<4>::of(&H(r, c)));
        Part<4>::put(&H(r, c), column);
      }
      for (int i = 0; i < n; ++i) {
        V4 row;
        for (int c = 0; c < 4; ++c) row[c] = H(i, r + c);
        const V4 turned = slope.transpose() * row;
        for (int c = 0; c < 4; ++c) H(i, r + c) = turned[c];
      }
      for (int i = 0; i < 4; ++i)
        for (int c = 0; c < 4; ++c) H(r + i, r + c) += own(i, c);
      Part<4>::put(weight.data() + r, V4(secant * W));
    }
    for (std::size_t b = 0; b < count; ++b) bent[b] = H * ends[b];
    for (std::size_t a = 0; a < count; ++a) {
      const int on = nodes_[of.first + a], skip = pinned(on) ? 3 : 0;
      M3 share = skew<double>(half_angle(s.w[on]));
      share.add_to_diagonal(1.0);
      rows[a].template rightCols<3>() = Matrix<double, n, 3>(rows[a].template rightCols<3>() * share);
      for (std::size_t b = 0; b < count; ++b) {
        const M66 K = rows[a].transpose() * bent[b];
        const int over = pinned(nodes_[of.first + b]) ? 3 : 0;
        const Grid<double>& to = targets_[of.target + a * count + b];
        for (int j = over; j < 6; ++j)
          for (int i = skip; i < 6; ++i) to(i - skip, j - over) += f * K(i, j);
      }
    }
    for (int k = 1; k <= p; ++k) {
      const double* w = weight.data() + 7 * (k - 1);
      const V3 S = Part<3>::of(w);
      put_pull(of, k, {o.R[1][0] * S, o.R[2][0] * S, o.x[1][k] - o.x[1][0], 1.0, 0.0}, s, f);
      M3 B = 0.5 * skew<double>(V3(Part<3>::of(w + 4))), by[2];
      B.add_to_diagonal(w[3]);
      turned_pair(o.R[1][k] * B.transpose(), o.R[2][0], o.R[1][0] * B, o.R[2][k], by);
      put_pair(of, of.entries[1][0], of.entries[1][k], by, s, f);
    }
  }
}

void RodLinks::stress_conserving(double h) {
  for (std::size_t at = 0; at < stations_.size(); ++at) {
    const Station& s = stations_[at];
    S_[at] = elastic(s, 0.5 * (now_.E[at] + next_.E[at]));
    if (d_.damped)
      S_[at] += (2.0 * s.weight / h) * (s.bends ? d_.cK : d_.cG)[s.point].cwiseProduct(next_.E[at] - now_.E[at]);
  }
  for (const Cross& c : crosses_) {
    const M3& X = d_.CX[stations_[c.strain].point];
    const V3 strain = 0.5 * (now_.E[c.strain] + next_.E[c.strain]), bend = 0.5 * (now_.E[c.bend] + next_.E[c.bend]);
    S_[c.strain] += c.weight * (X * bend), S_[c.bend] += c.weight * (X.transpose() * strain);
  }
}

double RodLinks::finish_conserving(const Trial& s, BodyState* states) {
  measure(s.t_next, s.next, next_);
  stress_conserving(s.h);
  middle(s);
  each_held([&](int, std::size_t at) {
    for (int i = 0; i < d_.held; ++i) S_[at][i] += nu_[at][i] / (0.5 * s.h * s.h);
  });
  for (std::size_t at = 0; at < stations_.size(); ++at)
    for (std::size_t b = stations_[at].first; b < stations_[at].last; ++b) {
      const Matrix<double, 6, 1> x = s.h * (middle_[b].transpose() * S_[at]);
      states[nodes_[b]].P -= V3(x.head<3>()), states[nodes_[b]].L -= V3(x.tail<3>());
    }
  double V = energy(true);
  if (grid_) {
    outside(s);
    each_outside(s, [&](int node, const V3& force, const V3& moment) {
      states[node].P += s.h * force;
      states[node].L += s.h * (s.now[node].R.transpose() * (s.half[node] * moment));
    });
    V += outside_energy(s.t);
  }
  for (int n = 0; n <= d_.segments; ++n)
    if (!moves(n))
      V -= 0.5 * d_.tributary[std::size_t(n)] * d_.gravity.dot(now_.x[std::size_t(n)] + next_.x[std::size_t(n)]);
  std::swap(now_, next_);
  return V;
}

} // namespace gyrod::variational
