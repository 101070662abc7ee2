// Kirchhoff rods (Lang, Linn, Arnold 2011, remarks 2.1 and 3.4): strains that are held at their rest values, exactly.
//
// A strain E_j depends on few cells: E_j'' = sum (T_jc Omega_c' + X_jc x_c'') + what follows from rates. The section
// forces lambda_j that hold it act with weight w_j as moments -w_j T_jc' lambda_j and forces -w_j X_jc' lambda_j. They
// follow from E'' = 0, a banded system A (w lambda) = E''(free) with A = B M^-1 B', B the rows (T, X). It is regular
// for a straight rod; only a rod that is inextensible, straight and held at both ends is over-determined. Projection
// moves q and v along M^-1 B'.
//
// Strains next to an end that a body holds feel the body's motion too: they are its ties. What is found here are the
// others, as functions of the forces of the ties; those follow from the motion of all bodies (rigid/host.hpp).
#pragma once

#include <stdexcept>

#include "gyrod/rod/cells.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

// E'' of a strain by Omega' and x'' of a cell.
template <class S> struct HeldLink {
  Mat3<S> turn, move;
};
// Of a strain along the rod beside two that are held: what the motion of a cell does to it.
struct AxialLink {
  Vec3<double> turn, move;
};

// What there is at a place of strain: axes, R'x', R'(x')' and the angular velocity (w0, Omega) of these axes.
template <class S> struct HeldPlace {
  Mat3<S> R;
  Vec3<S> G, y;
  Vec4<S> w;

  // E'' less what the axes do beyond their own angular acceleration.
  Vec3<S> whirl() const {
    const Vec3<S> Omega = w.template tail<3>(), turning = G.cross(Omega);
    return S(2) * y.cross(Omega) + turning.cross(Omega);
  }
};

// The same at Gauss point k of an element, from its nodes. The degree is a number, not a type: dual numbers of this are
// what the compiler would take longest for.
template <class S> struct HeldPoint : HeldPlace<S> {
  int p;
  Shapes shapes;
  double slope; // 2/h
  Vec4<S> P;
  S inverse; // 1/|P|²

  HeldPoint(int degree, int k, double h, const Vec3<S>* x, const Vec3<S>* v, const Vec4<S>* q, const Vec4<S>* spin)
      : p(degree), shapes(shapes_at(degree, k)), slope(2.0 / h) {
    Vec3<S> u = Vec3<S>::Zero(), ud = u;
    Vec4<S> Pd = Vec4<S>::Zero();
    P = Pd;
    for (int a = 0; a <= p; ++a) {
      const S I(shapes.I[a]), D(slope * shapes.D[a]);
      u += D * x[a], ud += D * v[a], P += I * q[a], Pd += (S(0.5) * I) * multiply<S>(q[a], spin[a]);
    }
    inverse = S(1) / P.dot(P);
    this->R = inverse * matrix_from_quaternion<S>(P);
    this->G = this->R.transpose() * u, this->y = this->R.transpose() * ud;
    this->w = (S(2) * inverse) * multiply<S>(conjugate<S>(P), Pd);
  }
  // E'' but for the accelerations of nodes.
  Vec3<S> free(const Vec4<S>* q, const Vec4<S>* spin) const {
    Vec4<S> Pdd = Vec4<S>::Zero(); // p'' = p (w w/2 + w')/2
    for (int a = 0; a <= p; ++a)
      Pdd += S(0.25 * shapes.I[a]) * multiply<S>(q[a], Vec4<S>(multiply<S>(spin[a], spin[a])));
    const Vec3<S> Omega = this->w.template tail<3>();
    const Vec3<S> bent = (S(2) * inverse) * multiply<S>(conjugate<S>(P), Pdd).template tail<3>();
    return this->whirl() + this->G.cross(Vec3<S>(bent - this->w[0] * Omega));
  }
  HeldLink<S> link(int a, const Vec4<S>* q) const {
    const Vec4<S> between = inverse * multiply<S>(conjugate<S>(P), q[a]);
    const Mat3<S> T = quaternion_matrix<S>(between).template bottomRightCorner<3, 3>();
    return {S(shapes.I[a]) * (cross_matrix<S>(this->G) * T), S(slope * shapes.D[a]) * Mat3<S>(this->R.transpose())};
  }
};

template <class S> class HeldStrains {
public:
  HeldStrains(const RodDescription& d, const std::vector<double>& inverse_mass)
      : lambda(std::size_t(d.segments)), d_(d), mass_(inverse_mass), width_(d.degree ? d.degree + 1 : 2),
        reach_(d.degree ? 2 * d.degree - 1 : 1), links_(lambda.size() * std::size_t(width_)),
        axial_(d.held == 2 ? links_.size() : 0), places_(lambda.size()), free_(lambda.size()),
        band_(3 * lambda.size() * std::size_t(3 * reach_ + 3)), solved_(3 * lambda.size()) {}

  // Leave those next to an end to the body that holds it; before anything is asked.
  void tie(int e) {
    const int N = int(lambda.size()), n = width_ - 1;
    for (int k = 0; k < n; ++k) ties_.push_back(e ? N - n + k : k);
    spread_.resize(ties_.size() * lambda.size()), compliance_.resize(ties_.size() * ties_.size());
    value_.resize(ties_.size());
  }
  bool tied(int j) const { return std::find(ties_.begin(), ties_.end(), j) != ties_.end(); }
  int ties() const { return int(ties_.size()); }
  int tie_strain(int t) const { return ties_[i(t)]; }
  // Mobility of the ties without their bodies, and their values, when all other strains are held: after `eliminate`.
  const Mat3<S>& compliance(int a, int b) const { return compliance_[i(a * ties() + b)]; }
  const Vec3<S>& tie_value(int t) const { return value_[i(t)]; }

  // Cells that strain j depends on: `cells` of them from `first` on.
  int first(int j) const { return d_.degree ? j / d_.degree * d_.degree : j; }
  int cells() const { return width_; }
  const HeldLink<S>& link(int j, int a) const { return links_[i(j * width_ + a)]; }
  const std::vector<HeldLink<S>>& links() const { return links_; }
  bool still = false; // at rest, where what is along a rod beside two held strains is asked for
  const std::vector<AxialLink>& axial() const { return axial_; }
  const HeldPlace<S>& place(int j) const { return places_[i(j)]; }
  Vec3<S> strain(int j) const { return masked(places_[i(j)].G - d_.G0[i(j)].template cast<S>()); }
  Vec3<S> strain_rate(int j) const {
    const HeldPlace<S>& o = places_[i(j)];
    return masked(o.y + o.G.cross(Vec3<S>(o.w.template tail<3>())));
  }

  // Places and links of a state.
  void configure(const RodState<S>& s) {
    if (d_.degree)
      points(s);
    else
      segments(s);
    if (d_.held == 2)
      for (HeldLink<S>& l : links_) {
        if constexpr (std::is_same_v<S, double>)
          if (still) axial_[std::size_t(&l - links_.data())] = axial(l);
        l.turn.row(2).setZero(), l.move.row(2).setZero();
      }
  }

  // LDL' of A, but for ties.
  void factor() {
    const int N = int(lambda.size());
    for (int j = 0; j < N; ++j)
      for (int k = std::max(0, j - reach_); k <= j; ++k) {
        const bool apart = !ties_.empty() && (tied(j) || tied(k));
        const Mat3<S> A = !apart ? mobility(j, k) : j == k ? Mat3<S>(Mat3<S>::Identity()) : Mat3<S>(Mat3<S>::Zero());
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 3; ++c)
            if (3 * k + c <= 3 * j + r) row(3 * j + r)[3 * k + c] = A(r, c);
      }
    for (int r = 0; r < 3 * N; ++r) { // rows of L, unit; D on the diagonal
      const int from = begin(r);
      S* mine = row(r);
      const double whole = value_of(mine[r]);
      for (int c = from; c < r; ++c) {
        const S* other = row(c);
        S sum = mine[c];
        for (int k = std::max(from, begin(c)); k < c; ++k) sum -= mine[k] * other[k];
        mine[c] = sum; // times D for now
      }
      for (int c = from; c < r; ++c) {
        const S scaled = mine[c] / row(c)[c];
        mine[r] -= scaled * mine[c];
        mine[c] = scaled;
      }
      check(value_of(mine[r]), whole);
    }
    if (!ties_.empty()) factor_ties();
  }

  // lambda with A w lambda = r, in place.
  void solve(std::vector<Vec3<S>>& r) const {
    solve_band([&](int k) -> S& { return r[i(k / 3)][k % 3]; });
    weigh(r);
  }

  // Of right-hand sides in lambda: those of the ties if nothing else moved them, the others solved for these at rest.
  void eliminate() {
    for (int t = 0; t < ties(); ++t) {
      value_[i(t)] = lambda[i(tie_strain(t))];
      for (int j = 0; j < int(lambda.size()); ++j)
        if (!tied(j)) value_[i(t)] -= spread(t, j).transpose() * lambda[i(j)];
    }
    solve_band([&](int k) -> S& { return lambda[i(k / 3)][k % 3]; });
  }
  // lambda from w lambda of the ties, one after the other.
  void finish(const double* forces) {
    for (int t = 0; t < ties(); ++t) {
      const Vec3<S> force(S(forces[3 * t]), S(forces[3 * t + 1]), S(forces[3 * t + 2]));
      for (int j = 0; j < int(lambda.size()); ++j)
        if (!tied(j)) lambda[i(j)] -= spread(t, j) * force;
      lambda[i(tie_strain(t))] = force;
    }
    weigh(lambda);
  }

  // E'' without lambda, from accelerations of vertices and (0, Omega') of frames.
  void second_rates(const std::vector<Vec3<S>>& a, const std::vector<Vec4<S>>& spin) {
    for (int j = 0; j < int(lambda.size()); ++j) {
      Vec3<S> rate = free_[i(j)];
      for (int k = 0; k < width_; ++k) {
        const int c = first(j) + k, f = d_.frame_of(c);
        rate += link(j, k).move * a[i(c)];
        if (f >= 0) rate += link(j, k).turn * Vec3<S>(spin[i(f)].template tail<3>());
      }
      lambda[i(j)] = masked(rate);
    }
  }

  // What section forces do to a cell: calls f(cell, moment, force) for each that strain j depends on.
  template <class F> void pull(int j, const Vec3<S>& force, F&& f) const {
    const S w(d_.quadrature[i(j)]);
    for (int k = 0; k < width_; ++k)
      f(first(j) + k, Vec3<S>(-w * (link(j, k).turn.transpose() * force)),
        Vec3<S>(-w * (link(j, k).move.transpose() * force)));
  }

  // Adds the forces of lambda to the state.
  void apply(RodState<S>& s) const {
    for (int j = 0; j < int(lambda.size()); ++j) {
      s.F[i(j)] += lambda[i(j)];
      pull(j, lambda[i(j)], [&](int c, const Vec3<S>& moment, const Vec3<S>& force) {
        s.f[i(c)] += force;
        if (d_.frame_of(c) >= 0) s.mu[i(d_.frame_of(c))] += moment;
      });
    }
    for (int e = 0; e < 2 && d_.degree; ++e)
      if (d_.ends[e].clamped) s.end_moment[e] = s.mu[e ? s.mu.size() - 1 : 0];
  }

  std::vector<Vec3<S>> lambda;

private:
  static constexpr std::size_t i(int n) { return std::size_t(n); }
  int band() const { return 3 * reach_ + 3; }
  // What a unit w lambda of strain k does to E'' of strain j through the cells that both depend on.
  Mat3<S> mobility(int j, int k) const {
    Mat3<S> A = Mat3<S>::Zero();
    for (int c = std::max(first(j), first(k)); c < std::min(first(j), first(k)) + width_; ++c) {
      const HeldLink<S>&a = link(j, c - first(j)), &b = link(k, c - first(k));
      A += S(mass_[i(c)]) * (a.move * b.move.transpose());
      const int f = d_.frame_of(c);
      if (f < 0 || d_.holds(f)) continue;
      Mat3<S> turned = b.turn.transpose();
      for (int r = 0; r < 3; ++r) turned.row(r) *= S(d_.inverse_J[i(f)][r]);
      A += a.turn * turned;
    }
    if (j == k && d_.held == 2) A(2, 2) = S(1);
    return A;
  }
  template <class X> void solve_band(X&& at) const {
    const int n = 3 * int(lambda.size());
    S* x = solved_.data();
    for (int k = 0; k < n; ++k) {
      x[k] = at(k);
      const S* mine = row(k);
      for (int c = begin(k); c < k; ++c) x[k] -= mine[c] * x[c];
    }
    for (int k = 0; k < n; ++k) x[k] = x[k] / row(k)[k];
    for (int k = n; k-- > 0;) {
      const S* mine = row(k);
      for (int c = begin(k); c < k; ++c) x[c] -= mine[c] * x[k];
      at(k) = x[k];
    }
  }
  void weigh(std::vector<Vec3<S>>& r) const {
    for (int j = 0; j < int(r.size()); ++j) r[i(j)] *= S(1.0 / d_.quadrature[i(j)]);
  }
  // How the others answer a unit force of a tie.
  Mat3<S>& spread(int t, int j) { return spread_[i(t) * lambda.size() + i(j)]; }
  bool near(int j, int k) const { return std::abs(j - k) <= reach_; }
  void factor_ties() {
    const int N = int(lambda.size());
    for (int t = 0; t < ties(); ++t) {
      const int k = tie_strain(t);
      for (int j = 0; j < N; ++j) spread(t, j) = near(j, k) && !tied(j) ? mobility(j, k) : Mat3<S>(Mat3<S>::Zero());
      for (int c = 0; c < 3; ++c) solve_band([&](int r) -> S& { return spread(t, r / 3)(r % 3, c); });
    }
    for (int a = 0; a < ties(); ++a)
      for (int b = 0; b < ties(); ++b) {
        const int j = tie_strain(a), k = tie_strain(b);
        Mat3<S>& C = compliance_[i(a * ties() + b)] = near(j, k) ? mobility(j, k) : Mat3<S>(Mat3<S>::Zero());
        for (int o = std::max(0, k - reach_); o <= std::min(N - 1, k + reach_); ++o)
          if (!tied(o)) C -= spread(a, o).transpose() * mobility(o, k);
      }
  }
  // Row r by the numbers of its columns, of which there are `reach` strains before its own.
  int begin(int r) const { return std::max(0, 3 * (r / 3 - reach_)); }
  S* row(int r) { return band_.data() + r * band() - 3 * (r / 3 - reach_); }
  const S* row(int r) const { return band_.data() + r * band() - 3 * (r / 3 - reach_); }
  Vec3<S> masked(Vec3<S> x) const {
    if (d_.held == 2) x[2] = S(0);
    return x;
  }

  void segments(const RodState<S>& s) {
    for (int j = 0; j < int(lambda.size()); ++j) {
      const S scale(d_.inverse_ds[i(j)]);
      const Mat3<S>& R = s.R[i(j)];
      HeldPlace<S>& o = places_[i(j)];
      o = {R, s.G[i(j)], scale * (R.transpose() * (s.v[i(j + 1)] - s.v[i(j)])), s.w[i(j)]};
      free_[i(j)] = o.whirl();
      HeldLink<S>&before = links_[i(2 * j)], &behind = links_[i(2 * j + 1)];
      behind = {cross_matrix<S>(o.G), scale * Mat3<S>(R.transpose())};
      before = {Mat3<S>::Zero(), -behind.move};
    }
  }

  void points(const RodState<S>& s) {
    const int p = d_.degree;
    for (int e = 0; e * p < int(lambda.size()); ++e) {
      double h = 0.0;
      for (int k = 0; k < p; ++k) h += d_.ds[i(e * p + k)];
      const std::size_t from = i(e * p);
      const Vec4<S>*q = &s.p[from], *w = &s.w[from];
      for (int k = 0; k < p; ++k) {
        const int j = e * p + k;
        const HeldPoint<S> o(p, k, h, &s.x[from], &s.v[from], q, w);
        places_[i(j)] = o;
        free_[i(j)] = o.free(q, w);
        for (int a = 0; a <= p; ++a) links_[i(j * width_ + a)] = o.link(a, q);
      }
    }
  }

  void check(double pivot, double whole) const {
    // A state that is not finite belongs to a step that will be rejected.
    if (pivot <= 1e-13 * whole)
      throw std::runtime_error("rod '" + d_.name +
                               "' is inextensible, straight and held at both ends, so that its axial force is not "
                               "determined; let it extend (strain='kirchhoff' or 'cosserat')");
  }

  const RodDescription& d_;
  const std::vector<double>& mass_; // inverse, of vertices; 0 where held
  int width_, reach_;
  static AxialLink axial(const HeldLink<double>& l) {
    AxialLink out;
    for (int k = 0; k < 3; ++k) out.turn[k] = l.turn(2, k), out.move[k] = l.move(2, k);
    return out;
  }
  std::vector<HeldLink<S>> links_;
  std::vector<AxialLink> axial_;
  std::vector<HeldPlace<S>> places_;
  std::vector<Vec3<S>> free_;
  std::vector<S> band_;
  mutable std::vector<S> solved_; // scratch of `solve_band`
  std::vector<int> ties_;         // strains
  std::vector<Mat3<S>> spread_, compliance_;
  std::vector<Vec3<S>> value_;
};

extern template class HeldStrains<double>; // held.cpp

} // namespace gyrod
