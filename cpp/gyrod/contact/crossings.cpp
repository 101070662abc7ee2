#include "gyrod/contact/crossings.hpp"

#include <cmath>
#include <limits>
#include <tuple>

#include "gyrod/math/scalar.hpp"

namespace gyrod {

namespace {

using V3 = Vec3<double>;
using Touch = Crossings::Touch;
constexpr int most = SplineShares::most;
// cos 20 and 10 degrees: between them a crossing becomes a pair of strands side by side.
constexpr double steep = 0.93969262078590838, flat = 0.98480775301220806;
// What counts as the same place on a rod, as a fraction.
constexpr double same = 1e-9;

double value(double x) { return x; }
template <int N> double value(const Dual<N>& x) { return x.v; }

// Derivatives of a line at shares: of places or of velocities.
template <class S, class X> Vec3<S> sum(const S* shares, const X* x, int count) {
  Vec3<S> o = Vec3<S>::Zero();
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < 3; ++i) o[i] += shares[k] * x[k][i];
  return o;
}

// Of a line a derivative by the place, of places or of velocities.
V3 along(const SplineShares& at, const V3* x, int derivative) {
  return sum<double>(at.by[derivative], x + at.first, at.count);
}

// Two lines at two places: d from b to a, tangents and their derivatives; and of what both places minimise the
// derivatives by them, H, of those that are held the identity.
template <class S> struct Pose {
  Vec3<S> d, tangent[2], bend[2];
  S H[2][2], inverse[2][2];

  Pose(const S (*a)[most], const S (*b)[most], const SplineShares* on, const Vec3<S>* xa, const Vec3<S>* xb,
       const bool* free) {
    d = sum(a[0], xa, on[0].count) - sum(b[0], xb, on[1].count);
    tangent[0] = sum(a[1], xa, on[0].count), tangent[1] = sum(b[1], xb, on[1].count);
    bend[0] = sum(a[2], xa, on[0].count), bend[1] = sum(b[2], xb, on[1].count);
    H[0][0] = tangent[0].dot(tangent[0]) + bend[0].dot(d), H[1][1] = tangent[1].dot(tangent[1]) - bend[1].dot(d);
    H[0][1] = H[1][0] = -tangent[0].dot(tangent[1]);
    for (int e = 0; e < 2; ++e)
      if (!free[e]) H[0][1] = H[1][0] = S(0), H[e][e] = S(1);
    const S det = H[0][0] * H[1][1] - H[0][1] * H[0][1];
    inverse[0][0] = H[1][1] / det, inverse[1][1] = H[0][0] / det;
    inverse[0][1] = inverse[1][0] = -H[0][1] / det;
  }
  // Of half the square of the distance by both places.
  S slope(int e) const { return e ? -tangent[1].dot(d) : tangent[0].dot(d); }
};

// W and its derivative by the cosine.
template <class S> S side_by_side(const S& cosine, S& by) {
  by = S(0);
  if (value(cosine) <= steep) return S(0);
  if (value(cosine) >= flat) return S(1);
  const S x = (cosine - S(steep)) / S(flat - steep);
  by = S(6) * x * (S(1) - x) / S(flat - steep);
  return x * x * (S(3) - S(2) * x);
}

// Normal force and energy over the stiffness.
template <class S> S press(const ContactLaw& law, const S& gap, S& energy) {
  const double s = law.smoothing;
  const S u = S(s) - gap;
  energy = S(0);
  if (!(value(u) > 0.0)) return S(0);
  if (value(u) < s) return energy = u * u * u / S(6.0 * s), u * u / S(2.0 * s);
  const S depth = u - S(0.5 * s);
  return energy = S(0.5) * depth * depth + S(s * s / 24.0), depth;
}

// What both lines feel at places that are given; whatever S is, x are vertices. Rates are doubles with what is added to
// them: to the velocity of a against b, and to both spins.
template <class S> struct Felt {
  Vec3<S> F[2 * most], M[2], n, T, slip;
  S energy, normal, elastic, shares[2][2];

  Felt(const RodPair& c, double each, const Touch& o, const Crossings::Curve* on, const Vec3<S>* xa, const Vec3<S>* xb,
       const Vec3<S>* added, bool still) {
    S at_shares[2][4][most];
    for (int e = 0; e < 2; ++e)
      for (int d = 0; d < 4; ++d)
        for (int k = 0; k < most; ++k) at_shares[e][d][k] = S(o.on[e].by[d][k]);
    auto &a = at_shares[0], &b = at_shares[1];
    S by[2] = {S(0), S(0)};
    if constexpr (!std::is_same_v<S, double>) { // places follow the vertices
      const Pose<S> at(a, b, o.on, xa, xb, o.free);
      const S r[2] = {o.free[0] ? at.slope(0) : S(0), o.free[1] ? at.slope(1) : S(0)};
      for (int e = 0; e < 2; ++e) {
        by[e] = -(at.inverse[e][0].v * r[0] + at.inverse[e][1].v * r[1]);
        by[e].v = 0.0;
        for (int d = 0; d < 3; ++d)
          for (int k = 0; k < most; ++k) at_shares[e][d][k] += by[e] * S(o.on[e].by[d + 1][k]);
      }
    }
    const Pose<S> at(a, b, o.on, xa, xb, o.free);
    const S distance = at.d.norm();
    n = at.d / distance;
    const S sizes[2] = {at.tangent[0].norm(), at.tangent[1].norm()};
    S cosine = at.tangent[0].dot(at.tangent[1]) / (sizes[0] * sizes[1]), turning;
    const S sign(value(cosine) < 0.0 ? -1.0 : 1.0);
    cosine = cosine * sign;
    const S W = side_by_side(cosine, turning);
    const double k = c.law.stiffness * (o.station < 0 ? c.radius[0] + c.radius[1] : 0.5 * each);
    const S weight = S(k) * (o.station < 0 ? S(1) - W : W);
    S stored;
    const S gap = distance - S(c.radius[0] + c.radius[1]), pressed = press(c.law, gap, stored);
    energy = weight * stored, elastic = weight * pressed, normal = elastic;
    const V3* v[2] = {on[0].v + o.on[0].first, on[1].v + o.on[1].first};
    const Vec3<S> V = sum(a[0], v[0], o.on[0].count) - sum(b[0], v[1], o.on[1].count) + added[0];
    if (!still && c.law.damping > 0.0) {
      const S bracket = S(1) - S(c.law.damping) * n.dot(V);
      normal = value(bracket) > 0.0 ? elastic * bracket : S(0);
    }
    Vec3<S> force = normal * n;
    for (int e = 0; e < 2; ++e) {
      M[e].setZero();
      shares[e][0] = S(o.frames[e].share[0]) - by[e] * S(o.frames[e].slope);
      shares[e][1] = S(o.frames[e].share[1]) + by[e] * S(o.frames[e].slope);
    }
    T.setZero(), slip.setZero();
    if (c.rubs() && !still) {
      slip = V;
      for (int e = 0; e < 2; ++e) {
        Vec3<S> spin = added[1 + e];
        for (int f = 0; f < 2; ++f) {
          if (f && o.frames[e].share[1] == 0.0 && o.frames[e].slope == 0.0) break;
          const std::size_t j = std::size_t(o.frames[e].first + f);
          spin += shares[e][f] * V3(on[e].R[j] * V3(on[e].w[j].tail<3>()));
        }
        slip -= (S(c.radius[e]) + S(0.5) * gap) * spin.cross(n);
      }
      slip -= n * n.dot(slip);
      using std::sqrt;
      const double eps = c.law.friction.slip_speed;
      T = -(S(c.law.friction.coefficient) * normal / sqrt(slip.squaredNorm() + S(eps * eps))) * slip;
      force += T;
      for (int e = 0; e < 2; ++e) M[e] = -((S(c.radius[e]) + S(0.5) * gap) * n.cross(T));
    }
    for (int i = 0; i < o.on[0].count; ++i) F[i] = a[0][i] * force;
    for (int i = 0; i < o.on[1].count; ++i) F[most + i] = -(b[0][i] * force);
    if (value(turning) == 0.0) return;
    // The share of both mechanisms depends on the angle: what an angle does to the energy turns the lines.
    const S turn = S(o.station < 0 ? -k : k) * stored * turning; // dE/dcos
    Vec3<S> to[2];
    for (int e = 0; e < 2; ++e)
      to[e] = (sign * at.tangent[1 - e] / sizes[1 - e] - cosine * at.tangent[e] / sizes[e]) / sizes[e];
    S p[2] = {S(0), S(0)}; // cos by places, times H^-1
    for (int e = 0; e < 2; ++e)
      for (int f = 0; f < 2; ++f)
        if (o.free[f] && o.free[e]) p[e] += at.inverse[e][f] * to[f].dot(at.bend[f]);
    for (int e = 0; e < 2; ++e) {
      const auto& N = at_shares[e];
      const S own(e ? -1.0 : 1.0);
      for (int i = 0; i < o.on[e].count; ++i) {
        // slopes by this vertex: of its own line N' d + N tangent, of the other -N tangent there, with the sign of d
        const Vec3<S> mine = own * (N[1][i] * at.d) + N[0][i] * at.tangent[e];
        const Vec3<S> other = -(N[0][i] * at.tangent[1 - e]);
        F[e * most + i] -= turn * (N[1][i] * to[e] - p[e] * mine - p[1 - e] * other);
      }
    }
  }
};

// Closest points of two chords, as shares of them.
void closest(const V3& x1, const V3& e1, const V3& x2, const V3& e2, double& s, double& t) {
  constexpr double eps = 1e-6;
  const V3 d = x1 - x2;
  const double a = e1.dot(e1), b = e1.dot(e2), c = e2.dot(e2), p = -e1.dot(d) + 0.5 * a * eps,
               q = e2.dot(d) + 0.5 * c * eps;
  const double A = a * (1.0 + eps), C = c * (1.0 + eps);
  s = std::clamp((p * C + b * q) / (A * C - b * b), 0.0, 1.0);
  t = std::clamp((q + b * s) / C, 0.0, 1.0);
  s = std::clamp((p + b * t) / A, 0.0, 1.0);
}

} // namespace

GYROD_COLD Crossings::Crossings(std::vector<RodPair> pairs) : pairs_(std::move(pairs)) {
  skin_ = std::numeric_limits<double>::infinity();
  for (const RodPair& c : pairs_) {
    skin_ = std::min(skin_, c.radius[0] + c.radius[1]);
    by_rods_.emplace_back(std::min(c.rods[0], c.rods[1]), std::max(c.rods[0], c.rods[1]), int(&c - pairs_.data()));
    for (int e = 0; e < 2; ++e) {
      if (strands_.size() <= std::size_t(c.rods[e])) strands_.resize(std::size_t(c.rods[e]) + 1);
      Strand& s = strands_[std::size_t(c.rods[e])];
      if (!s.mesh.empty()) continue;
      s.mesh = c.mesh[e];
      for (double at : s.mesh) s.knots.push_back(spline_at(s.mesh, at));
      s.frames = s.mesh;
      if (!c.nodal[e]) {
        for (std::size_t k = 0; k + 1 < s.mesh.size(); ++k) s.frames[k] = 0.5 * (s.mesh[k] + s.mesh[k + 1]);
        s.frames.pop_back();
      }
      // Side by side what lies between two stations is seen by none: as close as two diameters.
      const int n = std::max(int(s.mesh.size()) - 1, int(std::ceil(c.length[e] / (4.0 * c.radius[e]))));
      s.each = c.length[e] / n;
      for (int k = 0; k < n; ++k) {
        s.places.push_back((k + 0.5) / n);
        s.stations.push_back(spline_at(s.mesh, s.places.back()));
      }
    }
  }
  std::sort(by_rods_.begin(), by_rods_.end());
}

Crossings::Frames Crossings::frames_at(const RodPair& c, int e, double at) const {
  const std::vector<double>& f = of(c, e).frames;
  const int i = int(std::upper_bound(f.begin(), f.end(), at) - f.begin()) - 1, last = int(f.size()) - 1;
  if (i < 0 || i >= last) return {std::clamp(i, 0, last), {1.0, 0.0}, 0.0};
  const double step = f[std::size_t(i) + 1] - f[std::size_t(i)], x = (at - f[std::size_t(i)]) / step;
  return {i, {1.0 - x, x}, 1.0 / step};
}

// What `spline_at` finds, by Taylor's series about the vertex before.
void Crossings::Strand::shares(double at, SplineShares& o) const {
  const int last = int(mesh.size()) - 1;
  const int i = std::clamp(int(std::upper_bound(mesh.begin(), mesh.end(), at) - mesh.begin()) - 1, 0, last - 1);
  const auto& c = knots[std::size_t(i)];
  const double u = at - mesh[std::size_t(i)];
  o.first = c.first, o.count = c.count;
  for (int k = 0; k < SplineShares::most; ++k) {
    o.by[3][k] = c.by[3][k];
    o.by[2][k] = c.by[2][k] + u * c.by[3][k];
    o.by[1][k] = c.by[1][k] + u * (c.by[2][k] + 0.5 * u * c.by[3][k]);
    o.by[0][k] = c.by[0][k] + u * (c.by[1][k] + 0.5 * u * (c.by[2][k] + u / 3.0 * c.by[3][k]));
  }
}

// Moves the free places to a minimum of the distance; false: there is none near by.
bool Crossings::settle(Touch& o, const Curve* on) const {
  const RodPair& c = pairs_[std::size_t(o.crossing)];
  const bool may[2] = {o.free[0], o.free[1]};
  const double span[2] = {1.0 / double(of(c, 0).mesh.size() - 1), 1.0 / double(of(c, 1).mesh.size() - 1)};
  double before = 1.0;
  for (int k = 0; k < 50; ++k) {
    for (int e = 0; e < 2; ++e)
      if (may[e] || k == 0) of(c, e).shares(o.at[e], o.on[e]);
    const V3 *xa = on[0].x + o.on[0].first, *xb = on[1].x + o.on[1].first;
    bool free[2] = {may[0], may[1]};
    Pose<double> at(o.on[0].by, o.on[1].by, o.on, xa, xb, free);
    for (int e = 0; e < 2; ++e) {
      const double slope = at.slope(e);
      if ((o.at[e] <= 0.0 && slope > 0.0) || (o.at[e] >= 1.0 && slope < 0.0)) free[e] = false;
    }
    if (free[0] != may[0] || free[1] != may[1]) at = Pose<double>(o.on[0].by, o.on[1].by, o.on, xa, xb, free);
    const double r[2] = {free[0] ? at.slope(0) : 0.0, free[1] ? at.slope(1) : 0.0};
    o.free[0] = free[0], o.free[1] = free[1];
    const double det = at.H[0][0] * at.H[1][1] - at.H[0][1] * at.H[0][1];
    const bool valley = at.H[0][0] > 0.0 && at.H[1][1] > 0.0 && det > 1e-12 * at.H[0][0] * at.H[1][1];
    double to[2], size = 0.0;
    bool stopped = false;
    for (int e = 0; e < 2; ++e) {
      const double newton = -(at.inverse[e][0] * r[0] + at.inverse[e][1] * r[1]);
      const double step = !free[e] ? 0.0 : valley ? newton : -r[e] / at.tangent[e].squaredNorm();
      to[e] = std::clamp(o.at[e] + std::clamp(step, -0.5 * span[e], 0.5 * span[e]), 0.0, 1.0);
      stopped = stopped || (free[e] && (to[e] == 0.0 || to[e] == 1.0));
      size = std::max(size, std::abs(to[e] - o.at[e]));
    }
    if (!(size > 1e-15) || (size < 1e-10 && size > 0.5 * before)) return valley;
    before = size;
    std::copy_n(to, 2, o.at);
    if (!valley || stopped || size > 1e-8) continue;
    for (int e = 0; e < 2; ++e) // the error after it is that of its square: rounding
      if (free[e]) of(c, e).shares(o.at[e], o.on[e]);
    return true;
  }
  return false;
}

// How far the lines lie beside the chords of spans, and how far their tangents turn from those, at most: a cubic is
// beside the line between its ends by an eighth of its largest second derivative.
void Crossings::measure(const std::vector<Curve>& curves) {
  spans_.resize(strands_.size());
  for (std::size_t r = 0; r < strands_.size(); ++r) {
    const Strand& s = strands_[r];
    const std::size_t n = s.mesh.size();
    const V3* x = curves[r].x;
    spans_[r].resize(n ? n - 1 : 0);
    double off = 0.0, bend = 0.0; // at the vertex before
    for (std::size_t k = 0; k < n; ++k) {
      const double off_here = (along(s.knots[k], x, 0) - x[k]).norm(), bend_here = along(s.knots[k], x, 2).norm();
      if (k) {
        const double ds = s.mesh[k] - s.mesh[k - 1], most_bend = std::max(bend, bend_here) * ds * ds;
        spans_[r][k - 1] = {std::max(off, off_here) + 0.125 * most_bend,
                            1.1 * (off + off_here + 0.5 * most_bend) / (x[k] - x[k - 1]).norm()};
      }
      off = off_here, bend = bend_here;
    }
  }
}

// Spans as they are; those that are near each other anew, if any has moved so far that others may be among them.
void Crossings::look(const std::vector<Curve>& curves) {
  measure(curves);
  bool moved = seen_.empty();
  for (std::size_t r = 0; r < strands_.size() && !moved; ++r) {
    for (std::size_t k = 0; k < seen_[r].size() && !moved; ++k)
      moved = !((curves[r].x[k] - seen_[r][k]).squaredNorm() < little * little * skin_ * skin_);
    for (std::size_t k = 0; k < spans_[r].size() && !moved; ++k)
      moved = !(spans_[r][k].sag < seen_sag_[r][k] + little * skin_);
  }
  if (moved) renew(curves);
}

// Pairs of spans that come within the skin, and where all vertices are now.
void Crossings::renew(const std::vector<Curve>& curves) {
  seen_.resize(strands_.size()), seen_sag_.resize(strands_.size());
  for (std::size_t r = 0; r < strands_.size(); ++r) {
    seen_[r].assign(curves[r].x, curves[r].x + strands_[r].mesh.size());
    seen_sag_[r].clear();
    for (const Span& k : spans_[r]) seen_sag_[r].push_back(k.sag);
  }
  // All spans at once, in cells as large as the largest of them: what is near lies in a cell beside.
  const double skin = (1.0 + 4.0 * little) * skin_; // both may come nearer, and bend
  reach_.assign(strands_.size(), 0.0);
  for (const RodPair& c : pairs_)
    for (int e = 0; e < 2; ++e) {
      double& most_of = reach_[std::size_t(c.rods[e])];
      most_of = std::max(most_of, c.radius[e] + 0.5 * (skin + c.law.smoothing));
    }
  balls_.clear();
  double largest = 0.0;
  for (std::size_t r = 0; r < strands_.size(); ++r)
    for (std::size_t k = 0; k + 1 < seen_[r].size(); ++k) {
      const V3 &a = seen_[r][k], &b = seen_[r][k + 1];
      balls_.push_back({0.5 * (a + b), 0.5 * (b - a).norm() + spans_[r][k].sag, int(r), int(k)});
      largest = std::max(largest, balls_.back().radius + reach_[r]);
    }
  const auto cell = [&](const V3& x) {
    const auto at = [&](double q) { // of states that no one believes: anywhere
      const double k = std::floor(q / (2.0 * largest));
      return k > -1e15 && k < 1e15 ? long(k) : 0L;
    };
    return Cell(at(x[0]), at(x[1]), at(x[2]));
  };
  cells_.clear();
  for (std::size_t k = 0; k < balls_.size(); ++k) cells_.emplace_back(cell(balls_[k].at), int(k));
  std::sort(cells_.begin(), cells_.end());
  near_.clear();
  const auto meet = [&](const Ball& a, const Ball& b) {
    const double way = a.radius + b.radius + reach_[std::size_t(a.line)] + reach_[std::size_t(b.line)];
    if ((a.at - b.at).squaredNorm() > way * way) return;
    const auto rods = std::minmax(a.line, b.line);
    auto at = std::lower_bound(by_rods_.begin(), by_rods_.end(), std::make_tuple(rods.first, rods.second, -1));
    for (; at != by_rods_.end() && std::get<0>(*at) == rods.first && std::get<1>(*at) == rods.second; ++at) {
      const RodPair& c = pairs_[std::size_t(std::get<2>(*at))];
      const bool self = a.line == b.line;
      const Ball &first = self                  ? (a.span < b.span ? a : b)
                          : a.line == c.rods[0] ? a
                                                : b,
                 &second = &first == &a ? b : a;
      const Near pair{std::get<2>(*at), {first.span, second.span}};
      const auto& mesh = of(c, 0).mesh;
      if (self && mesh[std::size_t(second.span) + 1] - mesh[std::size_t(first.span)] < c.apart) continue;
      if (Chords(*this, pair, curves).gap <= skin) near_.push_back(pair);
    }
  };
  for (std::size_t k = 0; k < balls_.size(); ++k) {
    const auto [i, j, l] = cell(balls_[k].at);
    for (long u = i - 1; u <= i + 1; ++u)
      for (long v = j - 1; v <= j + 1; ++v) {
        auto at = std::lower_bound(cells_.begin(), cells_.end(), std::make_pair(Cell(u, v, l - 1), -1));
        for (; at != cells_.end() && at->first <= Cell(u, v, l + 1); ++at)
          if (at->second > int(k)) meet(balls_[k], balls_[std::size_t(at->second)]);
      }
  }
  std::sort(near_.begin(), near_.end(), [](const Near& a, const Near& b) {
    return std::tie(a.crossing, a.spans[0], a.spans[1]) < std::tie(b.crossing, b.spans[0], b.spans[1]);
  });
}

// Where the chords of two spans are closest, and how far the lines are then apart at least, before anything is felt.
Crossings::Chords::Chords(const Crossings& all, const Near& pair, const std::vector<Curve>& curves) {
  const RodPair& c = all.pairs_[std::size_t(pair.crossing)];
  double sags = 0.0;
  for (int k = 0; k < 2; ++k) {
    const V3* from = curves[std::size_t(c.rods[k])].x + pair.spans[k];
    x[k] = from[0], e[k] = from[1] - from[0];
    sags += all.spans_[std::size_t(c.rods[k])][std::size_t(pair.spans[k])].sag;
  }
  closest(x[0], e[0], x[1], e[1], share[0], share[1]);
  reach = c.radius[0] + c.radius[1] + c.law.smoothing + sags;
  gap = (x[0] + share[0] * e[0] - x[1] - share[1] * e[1]).norm() - reach;
}

const std::vector<Touch>& Crossings::find(const std::vector<Curve>& curves) {
  look(curves);
  touches_.clear();
  for (const Near& pair : near_) {
    const Chords chords(*this, pair, curves);
    if (chords.gap > 0.0) continue;
    const RodPair& c = pairs_[std::size_t(pair.crossing)];
    const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
    const V3 *x = chords.x, *e = chords.e;
    const double close = c.radius[0] + c.radius[1] + c.law.smoothing, reach = chords.reach;
    // What the lines may be to each other here, whatever their places: across, side by side.
    const double chord = std::abs(e[0].dot(e[1])) / (e[0].norm() * e[1].norm());
    double turn[2];
    for (int k = 0; k < 2; ++k) turn[k] = spans_[std::size_t(c.rods[k])][std::size_t(pair.spans[k])].turn;
    const double turns = std::max(turn[0], turn[1]) < 0.5 ? turn[0] + turn[1] + turn[0] * turn[1] : 2.0;
    const auto fraction = [&](int k, double share) {
      const double* mesh = of(c, k).mesh.data() + pair.spans[k];
      return mesh[0] + share * (mesh[1] - mesh[0]);
    };
    const auto keep = [&](Touch& o) {
      if (!settle(o, on)) return;
      if (c.rods[0] == c.rods[1] && std::abs(o.at[0] - o.at[1]) < c.apart) return;
      const V3 d = along(o.on[0], on[0].x, 0) - along(o.on[1], on[1].x, 0);
      if (d.squaredNorm() >= close * close) return;
      const V3 a = along(o.on[0], on[0].x, 1), b = along(o.on[1], on[1].x, 1);
      const double cosine = std::abs(a.dot(b)) / (a.norm() * b.norm());
      if (o.station < 0 ? cosine >= flat : cosine <= steep) return;
      for (int k = 0; k < 2 && c.rubs(); ++k) o.frames[k] = frames_at(c, k, o.at[k]);
      touches_.push_back(o);
    };
    if (chord - turns < flat) {
      Touch o{pair.crossing, -1, 0, {fraction(0, chords.share[0]), fraction(1, chords.share[1])}, {true, true}, {}, {}};
      keep(o);
    }
    if (chord + turns <= steep) continue;
    // Stations of either line within this span, and one beside it, whose nearest point may be here.
    for (int side = 0; side < 2; ++side) {
      const Strand& from = of(c, side);
      const double low = fraction(side, 0.0), high = fraction(side, 1.0);
      const auto begin = std::lower_bound(from.places.begin(), from.places.end(), low);
      for (auto at = begin; at != from.places.end() && *at <= high; ++at) {
        const std::size_t k = std::size_t(at - from.places.begin());
        const V3 place = along(from.stations[k], on[side].x, 0);
        const int to = 1 - side;
        const double share = std::clamp(e[to].dot(place - x[to]) / e[to].squaredNorm(), 0.0, 1.0);
        if ((x[to] + share * e[to] - place).squaredNorm() > reach * reach) continue;
        Touch line{pair.crossing, int(k), side, {}, {}, {}, {}};
        line.at[side] = *at, line.at[to] = fraction(to, share);
        line.free[side] = false, line.free[to] = true;
        keep(line);
      }
    }
  }
  std::sort(touches_.begin(), touches_.end(), [](const Touch& a, const Touch& b) { return a.key() < b.key(); });
  const auto twice = [](const Touch& a, const Touch& b) {
    return a.crossing == b.crossing && a.side == b.side && a.station == b.station &&
           std::abs(a.at[0] - b.at[0]) < same && std::abs(a.at[1] - b.at[1]) < same;
  };
  touches_.erase(std::unique(touches_.begin(), touches_.end(), twice), touches_.end());
  return touches_;
}

void Crossings::forces(const Touch& o, const std::vector<Curve>& curves, V3* out) const {
  const RodPair& c = pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const V3 none[3] = {V3::Zero(), V3::Zero(), V3::Zero()};
  const Felt<double> felt(c, of(c, o.side).each, o, on, on[0].x + o.on[0].first, on[1].x + o.on[1].first, none, still);
  each(o, [&](int k, int, int) {
    const int e = (k - most) / 2;
    out[k] = k < most ? felt.F[k] : V3(felt.shares[e][(k - most) % 2] * felt.M[e]);
  });
}

Crossings::Slopes::Slopes(const Crossings& all, const Touch& o, const std::vector<Curve>& curves)
    : all(all), o(o), curves(curves) {
  using D = Dual<13>; // twelve vertices, or nine rates
  constexpr int half = most / 2;
  const RodPair& c = all.pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const double each = all.of(c, o.side).each;
  Vec3<D> x[2][half], added[3] = {Vec3<D>::Zero(), Vec3<D>::Zero(), Vec3<D>::Zero()};
  const auto member = [&](const Felt<D>& felt, int k) {
    return k < most ? felt.F[k] : Vec3<D>(felt.shares[(k - most) / 2][(k - most) % 2] * felt.M[(k - most) / 2]);
  };
  for (int axis = 0; axis < 4; ++axis) {
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < o.on[e].count; ++k)
        for (int i = 0; i < 3; ++i) {
          const double at = on[e].x[o.on[e].first + k][i];
          x[e][k][i] = i == axis ? D::seed(at, e * half + k) : D(at);
        }
    if (axis == 3) {
      if (all.still || (c.law.damping == 0.0 && !c.rubs())) {
        for (auto& to : by_rates) to.setZero();
        break;
      }
      for (int i = 0; i < 9; ++i) added[i / 3][i % 3] = D::seed(0.0, i);
    }
    const Felt<D> felt(c, each, o, on, x[0], x[1], added, all.still);
    all.each(o, [&](int k, int, int) {
      const Vec3<D> here = member(felt, k);
      for (int i = 0; i < 3; ++i) {
        this->felt[k][i] = here[i].v;
        if (axis == 3)
          for (int l = 0; l < 9; ++l) by_rates[k](i, l) = here[i].d[std::size_t(l)];
        else
          for (int l = 0; l < most; ++l) by_place[k][l](i, axis) = here[i].d[std::size_t(l)];
      }
    });
  }
}

void Crossings::Slopes::row(int k, Block* q, Block* v) const {
  const RodPair& c = all.pairs_[std::size_t(o.crossing)];
  const auto frame = [&](int m) { return std::size_t(o.frames[(m - most) / 2].first + (m - most) % 2); };
  const auto of = [&](int m) -> const Curve& { return curves[std::size_t(c.rods[(m - most) / 2])]; };
  Mat3<double> turned = Mat3<double>::Identity(); // moments in the axes of their frames
  if (k >= most) turned = of(k).R[frame(k)].transpose();
  const int row = k < most ? 3 : 0; // f or mu
  all.each(o, [&](int l, int, int) {
    q[l].setZero(), v[l].setZero();
    if (l < most) {
      q[l].block<3, 3>(row, 4) = turned * by_place[k][l];
      v[l].block<3, 3>(row, 4) = share(l) * (turned * by_rates[k].leftCols<3>());
      return;
    }
    const V3 Omega = of(l).w[frame(l)].tail<3>();
    const auto by_spin = by_rates[k].middleCols<3>(3 + 3 * ((l - most) / 2));
    const Mat3<double> rate = share(l) * (turned * (by_spin * of(l).R[frame(l)]));
    q[l].block<3, 1>(row, 0) = rate * Omega, q[l].block<3, 3>(row, 1) = -(rate * cross_matrix<double>(Omega));
    v[l].block<3, 3>(row, 1) = rate;
    if (l != k) return;
    const V3 m = turned * felt[k];
    q[l].block<3, 1>(row, 0) += m, q[l].block<3, 3>(row, 1) += cross_matrix<double>(m);
  });
}

Crossings::Budget Crossings::read(const Touch& o, const std::vector<Curve>& curves, Reading& out) const {
  const RodPair& c = pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const V3 none[3] = {V3::Zero(), V3::Zero(), V3::Zero()};
  const Felt<double> felt(c, of(c, o.side).each, o, on, on[0].x + o.on[0].first, on[1].x + o.on[1].first, none, still);
  const V3 x = along(o.on[0], on[0].x, 0), v = along(o.on[0], on[0].v, 0) - along(o.on[1], on[1].v, 0);
  out.crossing = o.crossing, out.at[0] = o.at[0], out.at[1] = o.at[1];
  out.gap = (x - along(o.on[1], on[1].x, 0)).norm() - c.radius[0] - c.radius[1];
  out.pressed = felt.normal, out.normal = felt.n;
  out.force = felt.normal * felt.n + felt.T, out.slip = felt.slip;
  out.point = x - (c.radius[0] + 0.5 * out.gap) * felt.n;
  return {felt.energy, -felt.T.dot(felt.slip), still ? 0.0 : (felt.elastic - felt.normal) * felt.n.dot(v)};
}

double Crossings::horizon(const std::vector<Curve>& curves) {
  look(curves);
  double least = std::numeric_limits<double>::infinity();
  const auto in = [](double way, double speed, double a) {
    if (a > 0.0) return (std::sqrt(speed * speed + 2.0 * a * way) - speed) / a;
    return speed > 0.0 ? way / speed : std::numeric_limits<double>::infinity();
  };
  for (const Near& pair : near_) {
    const Chords chords(*this, pair, curves);
    if (chords.gap > skin_) continue; // not what came near before: the same state has the same horizon
    const RodPair& c = pairs_[std::size_t(pair.crossing)];
    const double gap = chords.gap + c.law.smoothing;
    if (!(gap > 0.0)) continue;
    double fast = 0.0;
    for (int k = 0; k < 2; ++k)
      for (int l = 0; l < 2; ++l)
        fast = std::max(fast, (curves[std::size_t(c.rods[0])].v[pair.spans[0] + k] -
                               curves[std::size_t(c.rods[1])].v[pair.spans[1] + l])
                                  .norm());
    least = std::min(least, in(gap + 0.5 * std::min(c.radius[0], c.radius[1]), fast, c.gravity));
  }
  // What is further away than the skin, at least as far as boxes around both.
  constexpr double none = std::numeric_limits<double>::infinity();
  boxes_.assign(strands_.size(), {{V3::Constant(none), V3::Constant(none)}, {V3::Constant(-none), V3::Constant(-none)}});
  for (std::size_t r = 0; r < strands_.size(); ++r)
    for (std::size_t k = 0; k < strands_[r].mesh.size(); ++k)
      for (int i = 0; i < 3; ++i) {
        const double sag = std::max(k ? spans_[r][k - 1].sag : 0.0, k < spans_[r].size() ? spans_[r][k].sag : 0.0);
        Box& box = boxes_[r];
        box.low[0][i] = std::min(box.low[0][i], curves[r].x[k][i] - sag);
        box.high[0][i] = std::max(box.high[0][i], curves[r].x[k][i] + sag);
        box.low[1][i] = std::min(box.low[1][i], curves[r].v[k][i]);
        box.high[1][i] = std::max(box.high[1][i], curves[r].v[k][i]);
      }
  for (const RodPair& c : pairs_) {
    const Box &a = boxes_[std::size_t(c.rods[0])], &b = boxes_[std::size_t(c.rods[1])];
    V3 fast, away;
    for (int i = 0; i < 3; ++i) {
      fast[i] = std::max(a.high[1][i] - b.low[1][i], b.high[1][i] - a.low[1][i]);
      away[i] = std::max({0.0, a.low[0][i] - b.high[0][i], b.low[0][i] - a.high[0][i]});
    }
    const double way = std::max(skin_, away.norm() - c.radius[0] - c.radius[1] - c.law.smoothing);
    least = std::min(least, in(way, fast.norm(), c.gravity));
  }
  return least;
}

} // namespace gyrod
