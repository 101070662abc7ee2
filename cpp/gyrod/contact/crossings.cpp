#include "gyrod/contact/crossings.hpp"

#include <cmath>
#include <limits>
#include <map>
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

// Of a line a derivative by the place, of places or of velocities.
V3 along(const SplineShares& at, const V3* x, int derivative) {
  V3 o = V3::Zero();
  for (int k = 0; k < at.count; ++k) o += at.by[derivative][k] * x[at.first + k];
  return o;
}

// Two lines at two places: d from b to a, tangents and their derivatives; and of what both places minimise, half the
// square of the distance, the derivatives by them, H, of those that are held the identity.
template <class S> struct Pose {
  Vec3<S> d, tangent[2], bend[2];
  S H[2][2], inverse[2][2];

  Pose() = default;
  Pose(const SplineShares* on, const Crossings::Curve* lines, const bool* free) {
    d = along(on[0], lines[0].x, 0) - along(on[1], lines[1].x, 0);
    for (int e = 0; e < 2; ++e) tangent[e] = along(on[e], lines[e].x, 1), bend[e] = along(on[e], lines[e].x, 2);
    hold(free);
  }
  void hold(const bool* free) {
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

// Where the share of both mechanisms depends on the angle: what an angle does to the energy turns the lines. Of line e
// vertex i feels N by[0] + N' by[1] with its shares N.
template <class S> struct Turn {
  Vec3<S> by[2][2];

  Turn(const ContactLaw& law, double radii, double k, const Pose<S>& at, const bool* free) {
    S stored, turning;
    press(law, at.d.norm() - S(radii), stored);
    const S sizes[2] = {at.tangent[0].norm(), at.tangent[1].norm()};
    S cosine = at.tangent[0].dot(at.tangent[1]) / (sizes[0] * sizes[1]);
    const S sign(value(cosine) < 0.0 ? -1.0 : 1.0);
    cosine = cosine * sign;
    side_by_side(cosine, turning);
    const S turn = S(k) * stored * turning; // dE/dcos
    Vec3<S> to[2];
    for (int e = 0; e < 2; ++e)
      to[e] = (sign * at.tangent[1 - e] / sizes[1 - e] - cosine * at.tangent[e] / sizes[e]) / sizes[e];
    S p[2] = {S(0), S(0)}; // cos by places, times H^-1
    for (int e = 0; e < 2; ++e)
      for (int f = 0; f < 2; ++f)
        if (free[f] && free[e]) p[e] += at.inverse[e][f] * to[f].dot(at.bend[f]);
    for (int e = 0; e < 2; ++e) {
      by[e][0] = turn * (p[e] * at.tangent[e] - p[1 - e] * at.tangent[1 - e]);
      by[e][1] = (turn * p[e] * S(e ? -1.0 : 1.0)) * at.d - turn * to[e];
    }
  }
};

// What both lines feel.
struct Felt {
  Pose<double> at;
  V3 by[2][2];                                       // of line e vertex i feels N by[0] + N' by[1]
  V3 M[2], n, T, V, slip, spin[2], z, carried, rate; // carried: the spin that carries z
  Tangential rub;
  double distance, gap, k, share, stored, pressed, elastic, bracket, normal, turning, lever[2], radii;
  V3 turn[2]; // the cosine by tangents

  Felt(const RodPair& c, double each, const Touch& o, const V3& bent, const Crossings::Curve* on, bool still)
      : at(o.on, on, o.free), z(bent) {
    distance = at.d.norm(), n = at.d / distance, radii = c.radius[0] + c.radius[1], gap = distance - radii;
    const double sizes[2] = {at.tangent[0].norm(), at.tangent[1].norm()};
    double cosine = at.tangent[0].dot(at.tangent[1]) / (sizes[0] * sizes[1]);
    const double sign = cosine < 0.0 ? -1.0 : 1.0;
    cosine *= sign;
    for (int e = 0; e < 2; ++e)
      turn[e] = (sign / sizes[1 - e] * at.tangent[1 - e] - cosine / sizes[e] * at.tangent[e]) / sizes[e];
    const bool crosses = o.station < 0;
    share = side_by_side(cosine, turning);
    k = c.law.stiffness * (crosses ? radii : 0.5 * each);
    if (crosses) share = 1.0 - share, turning = -turning;
    pressed = press(c.law, gap, stored), elastic = k * share * pressed;
    V = along(o.on[0], on[0].v, 0) - along(o.on[1], on[1].v, 0);
    bracket = still ? 1.0 : std::max(1.0 - c.law.damping * n.dot(V), 0.0), normal = elastic * bracket;
    T.setZero(), slip.setZero(), carried.setZero(), rate.setZero();
    for (int e = 0; e < 2; ++e) M[e].setZero(), spin[e].setZero(), lever[e] = c.radius[e] + 0.5 * gap;
    if (rubs(c, still)) {
      slip = V;
      for (int e = 0; e < 2; ++e) {
        for (int f = 0; f < o.frames[e].count(); ++f)
          spin[e] += o.frames[e].share[f] * spin_of(on[e], o.frames[e].first + f);
        slip -= lever[e] * spin[e].cross(n);
        carried += lever[e] / distance * spin[e];
      }
      slip -= n.dot(slip) * n;
      const FrictionLaw& law = c.law.friction;
      if (still) z += carried.cross(z);
      const double up = n.dot(z);
      rub = friction(law, kind(c, o, still), normal, slip, V3(z - up * n), still);
      T = rub.T;
      if (still)
        rate = rub.e;
      else if (normal > 0.0)
        rate = carried.cross(z) + (rub.e - (slip.norm() * up) * n) / law.presliding;
      else
        rate = -z / ContactLaw::release;
      for (int e = 0; e < 2; ++e) M[e] = -lever[e] * n.cross(T);
    }
    by[0][0] = normal * n + T, by[1][0] = -by[0][0];
    by[0][1].setZero(), by[1][1].setZero();
    if (turning == 0.0) return;
    const Turn<double> lines(c.law, radii, crosses ? -k : k, at, o.free);
    for (int e = 0; e < 2; ++e) by[e][0] += lines.by[e][0], by[e][1] += lines.by[e][1];
  }
  static bool rubs(const RodPair& c, bool still) { return c.rubs() && (!still || c.law.sticks()); }
  // What has no slot yet knows the slip alone.
  static FrictionLaw::Kind kind(const RodPair& c, const Touch& o, bool still) {
    return c.law.sticks() && !still && o.slot < 0 ? FrictionLaw::slipping : c.law.friction.kind;
  }
  static V3 spin_of(const Crossings::Curve& on, int frame) {
    return on.turn ? on.turn[frame] : V3(on.R[frame] * V3(on.w[frame].tail<3>()));
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

std::size_t slots_of(const std::vector<RodPair>& pairs) {
  std::map<int, std::size_t> stations;
  for (const RodPair& c : pairs)
    for (int e = 0; e < 2 && c.law.sticks(); ++e) stations[c.rods[e]] = std::size_t(c.stations(e));
  std::size_t n = 0;
  for (const auto& [rod, of] : stations) n += 2 * of;
  return n;
}

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
      const int n = c.stations(e);
      s.each = c.length[e] / n;
      for (int k = 0; k < n; ++k) {
        s.places.push_back((k + 0.5) / n);
        s.stations.push_back(spline_at(s.mesh, s.places.back()));
      }
    }
  }
  std::sort(by_rods_.begin(), by_rods_.end());
  if (!pairs_.empty()) near_.reserve(64), touches_.reserve(64); // a step seldom asks for more
  used_.resize(slots_of(pairs_)), owned_.reserve(used_.size());
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
    bool free[2] = {may[0], may[1]};
    Pose<double> at(o.on, on, free);
    for (int e = 0; e < 2; ++e) {
      const double slope = at.slope(e);
      if ((o.at[e] <= 0.0 && slope > 0.0) || (o.at[e] >= 1.0 && slope < 0.0)) free[e] = false;
    }
    if (free[0] != may[0] || free[1] != may[1]) at.hold(free);
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

const std::vector<Touch>& Crossings::find(const std::vector<Curve>& curves, const double* slots) {
  look(curves);
  slots_ = slots;
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
  match();
  return touches_;
}

double Crossings::owner(const Touch& o) const {
  return 1.0 + double(o.crossing) + double(pairs_.size()) * double(o.station < 0 ? 0 : 1 + 2 * o.station + o.side);
}

// Whose slots are whose: of those of the same pair, and station, the nearest one, at most two diameters away.
void Crossings::match() {
  if (used_.empty() || !slots_) return;
  owned_.clear();
  for (std::size_t k = 0; k < used_.size(); ++k)
    if (used_[k] = 0; slots_[slot_size * k + 3] != 0.0) owned_.emplace_back(slots_[slot_size * k + 3], int(k));
  std::sort(owned_.begin(), owned_.end());
  for (Touch& o : touches_) {
    const RodPair& c = pairs_[std::size_t(o.crossing)];
    if (!c.law.sticks()) continue;
    const double me = owner(o);
    double least = 2.0 * (c.radius[0] + c.radius[1]);
    for (auto at = std::lower_bound(owned_.begin(), owned_.end(), std::make_pair(me, -1));
         at != owned_.end() && at->first == me; ++at) {
      const double* from = slots_ + slot_size * std::size_t(at->second);
      const double away = std::hypot(c.length[0] * (from[4] - o.at[0]), c.length[1] * (from[5] - o.at[1]));
      if (!used_[std::size_t(at->second)] && away < least) least = away, o.slot = at->second;
    }
    if (o.slot >= 0) used_[std::size_t(o.slot)] = 1;
  }
}

void Crossings::remember(const std::vector<Curve>& curves, double* slots) {
  if (used_.empty()) return;
  find(curves, slots);
  for (std::size_t k = 0; k < used_.size(); ++k)
    if (!used_[k]) std::fill_n(slots + slot_size * k, slot_size, 0.0);
  std::size_t next = 0;
  for (Touch& o : touches_) {
    const RodPair& c = pairs_[std::size_t(o.crossing)];
    if (!c.law.sticks()) continue;
    const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
    const Felt felt(c, of(c, o.side).each, o, bent(o), on, still);
    if (o.slot < 0) {
      while (next < used_.size() && used_[next]) ++next;
      if (next == used_.size()) continue; // as without memory
      o.slot = int(next), used_[next] = 1;
      // As far bent as the force without memory says, so that it does not jump.
      const double root = std::hypot(felt.slip.norm(), c.law.friction.slip_speed);
      const V3 z = still ? felt.rate : V3(felt.slip / root);
      Part<3>::put(slots + slot_size * next, z);
    } else if (still) {
      Part<3>::put(slots + slot_size * std::size_t(o.slot), felt.rate);
    }
    double* to = slots + slot_size * std::size_t(o.slot);
    to[3] = owner(o), to[4] = o.at[0], to[5] = o.at[1];
  }
}

// What touches nothing.
void Crossings::straighten(double* rates) const {
  std::fill_n(rates, slot_size * used_.size(), 0.0);
  for (std::size_t k = 0; k < used_.size() && !still; ++k)
    Part<3>::put(rates + slot_size * k, V3(V3(slots_ + slot_size * k) / -ContactLaw::release));
}

V3 Crossings::forces(const Touch& o, const std::vector<Curve>& curves, V3* out) const {
  const RodPair& c = pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const Felt felt(c, of(c, o.side).each, o, bent(o), on, still);
  each(o, [&](int m, int, int) {
    const int e = m < most ? m / half : (m - most) / 2, i = m % half;
    if (m < most)
      out[m] = o.on[e].by[0][i] * felt.by[e][0] + o.on[e].by[1][i] * felt.by[e][1];
    else
      out[m] = o.frames[e].share[(m - most) % 2] * felt.M[e];
  });
  return felt.rate;
}

// What vertices and frames feel follows from d, the tangents and how they bend, from the velocity V of one side against
// the other and both spins; these from vertices, and from both places, which follow the vertices.
Crossings::Slopes::Slopes(const Crossings& all, const Touch& o, const std::vector<Curve>& curves)
    : all(all), o(o), curves(curves) {
  using M3 = Mat3<double>;
  const auto outer = [](const V3& a, const V3& b) -> M3 { return a * b.transpose(); };
  const RodPair& c = all.pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const Felt f(c, all.of(c, o.side).each, o, all.bent(o), on, all.still);
  const V3& n = f.n;
  const bool rubs = Felt::rubs(c, all.still);

  // Force F on line 0 and moments by d, by the share of this mechanism, by V and both spins.
  const M3 across = M3::Identity() - outer(n, n), n_d = across / f.distance;
  double steep_gap;
  c.law.depth(f.gap, steep_gap);
  const double damping = all.still || f.bracket <= 0.0 ? 0.0 : f.elastic * c.law.damping;
  const V3 N_d = (f.k * f.share * steep_gap * f.bracket) * n - damping * (n_d * f.V), N_V = -damping * n;
  const double N_share = f.k * f.pressed * f.bracket;
  M3 F_d = outer(n, N_d) + f.normal * n_d, M_d[2];
  V3 F_share = N_share * n, M_share[2];
  Matrix<double, 3, 9> F_rates = Matrix<double, 3, 9>::Zero(), M_rates[2];
  F_rates.leftCols<3>() = outer(n, N_V);
  M3 recall_d = M3::Zero();
  recall_rates.setZero();
  remembers = rubs && !all.still && o.slot >= 0;
  if (rubs) {
    const V3 &T_N = f.rub.by_N, &z = f.z;
    const M3& T_slip = f.rub.T_v;
    V3 slid = f.V; // the slip, and what of it goes along the normal
    M3 slid_d = M3::Zero();
    for (int e = 0; e < 2; ++e) {
      const V3 swing = f.spin[e].cross(n);
      slid -= f.lever[e] * swing;
      slid_d -= 0.5 * outer(swing, n) + f.lever[e] * (cross_matrix<double>(f.spin[e]) * n_d);
    }
    const M3 slip_d = across * slid_d - n.dot(slid) * n_d - outer(n, n_d * slid);
    const double up = n.dot(z);
    const M3 bent_d = -(up * n_d) - outer(n, n_d * z), turned_z = -cross_matrix<double>(all.bent(o)); // w x z by w
    const V3 carried_d = (0.5 * (f.spin[0] + f.spin[1]) - f.carried) / f.distance;                    // by the distance
    M3 T_d = outer(T_N, N_d) + T_slip * slip_d + f.rub.T_z * bent_d;
    const M3 arm = cross_matrix<double>(n);
    Matrix<double, 3, 9> T_rates, slip_rates, z_rates = Matrix<double, 3, 9>::Zero();
    slip_rates.leftCols<3>() = across;
    for (int e = 0; e < 2; ++e) {
      slip_rates.middleCols<3>(3 + 3 * e) = f.lever[e] * arm;
      z_rates.middleCols<3>(3 + 3 * e) = (f.lever[e] / f.distance) * turned_z;
    }
    T_rates = T_slip * slip_rates;
    T_rates.leftCols<3>() += outer(T_N, N_V);
    if (all.still) { // there z has turned with both
      T_d += (f.rub.T_z * across) * outer(turned_z * carried_d, n);
      T_rates += (f.rub.T_z * across) * z_rates;
    }
    by_z[0] = f.rub.T_z * across;
    for (int e = 0; e < 2; ++e) by_z[1 + e] = -f.lever[e] * (arm * by_z[0]);
    if (remembers && f.normal > 0.0) {
      const double z0 = c.law.friction.presliding, speed = f.slip.norm();
      M3 r_v = f.rub.e_v / z0;
      if (speed > 0.0) r_v -= (up / (z0 * speed)) * outer(n, f.slip);
      own = cross_matrix<double>(f.carried) + (f.rub.e_z / z0) * across - (speed / z0) * outer(n, n);
      recall_d = r_v * slip_d + (f.rub.e_z / z0) * bent_d - (speed / z0) * (up * n_d + outer(n, n_d * z)) +
                 outer(turned_z * carried_d, n);
      recall_rates = r_v * slip_rates + z_rates;
    } else {
      own.setZero(), own.add_to_diagonal(-1.0 / ContactLaw::release);
    }
    F_d += T_d, F_rates += T_rates, F_share += N_share * T_N;
    for (int e = 0; e < 2; ++e) {
      M_d[e] = f.lever[e] * (cross_matrix<double>(f.T) * n_d - arm * T_d) - 0.5 * outer(n.cross(f.T), n);
      M_rates[e] = -f.lever[e] * (arm * T_rates), M_share[e] = (-f.lever[e] * N_share) * n.cross(T_N);
    }
  }

  // What an angle does, by d, tangents and bends.
  Matrix<double, 12, 15> turned;
  if (f.turning != 0.0) {
    using D = Dual<15>;
    Pose<D> at;
    Vec3<D>* z[] = {&at.d, &at.tangent[0], &at.tangent[1], &at.bend[0], &at.bend[1]};
    const V3* from[] = {&f.at.d, &f.at.tangent[0], &f.at.tangent[1], &f.at.bend[0], &f.at.bend[1]};
    for (int i = 0; i < 15; ++i) (*z[i / 3])[i % 3] = D::seed((*from[i / 3])[i % 3], i);
    at.hold(o.free);
    const Turn<D> lines(c.law, f.radii, o.station < 0 ? -f.k : f.k, at, o.free);
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 15; ++j) turned(i, j) = lines.by[i / 6][i / 3 % 2][i % 3].d[std::size_t(j)];
  }

  // By places: V and spins move along, too.
  const V3 V_by[2] = {along(o.on[0], on[0].v, 1), -along(o.on[1], on[1].v, 1)};
  V3 third[2], spin_by[2] = {V3::Zero(), V3::Zero()};
  for (int e = 0; e < 2; ++e) {
    third[e] = along(o.on[e], on[e].x, 3);
    if (rubs && o.frames[e].count() > 1)
      spin_by[e] =
          o.frames[e].slope * V3(Felt::spin_of(on[e], o.frames[e].first + 1) - Felt::spin_of(on[e], o.frames[e].first));
  }
  for (int e = 0; e < 2; ++e)
    for (int l = 0; l < o.on[e].count; ++l) {
      const double own = e ? -1.0 : 1.0;
      const double N0 = o.on[e].by[0][l], N1 = o.on[e].by[1][l], N2 = o.on[e].by[2][l];
      V3 r[2], place[2]; // slopes by this vertex, and how both places follow it
      r[e] = (own * N1) * f.at.d + N0 * f.at.tangent[e], r[1 - e] = -N0 * f.at.tangent[1 - e];
      for (int g = 0; g < 2; ++g)
        place[g] = o.free[g] ? V3(-(f.at.inverse[g][0] * r[0] + f.at.inverse[g][1] * r[1])) : V3(V3::Zero());
      M3 z[5]; // d, tangents, bends
      z[0] = outer(f.at.tangent[0], place[0]) - outer(f.at.tangent[1], place[1]);
      for (int g = 0; g < 2; ++g) z[1 + g] = outer(f.at.bend[g], place[g]), z[3 + g] = outer(third[g], place[g]);
      z[0].add_to_diagonal(own * N0), z[1 + e].add_to_diagonal(N1), z[3 + e].add_to_diagonal(N2);
      const V3 shared = f.turning * (z[1].transpose() * f.turn[0] + z[2].transpose() * f.turn[1]);
      Matrix<double, 9, 3> rates;
      rates.topRows<3>() = outer(V_by[0], place[0]) + outer(V_by[1], place[1]);
      for (int g = 0; g < 2; ++g) rates.middleRows<3>(3 + 3 * g) = outer(spin_by[g], place[g]);
      const M3 F = F_d * z[0] + outer(F_share, shared) + F_rates * rates;
      if (remembers) recall_place[e * half + l] = recall_d * z[0] + recall_rates * rates;
      M3 by[2][2] = {{F, M3::Zero()}, {-F, M3::Zero()}};
      if (f.turning != 0.0)
        for (int g = 0; g < 4; ++g)
          for (int h = 0; h < 5; ++h) by[g / 2][g % 2] += turned.block<3, 3>(3 * g, 3 * h) * z[h];
      const int column = e * half + l;
      for (int g = 0; g < 2; ++g) {
        for (int i = 0; i < o.on[g].count; ++i) {
          const auto& shares = o.on[g].by;
          const V3 moved = shares[1][i] * f.by[g][0] + shares[2][i] * f.by[g][1];
          M3& to = by_place[g * half + i][column];
          to = shares[0][i] * by[g][0] + outer(moved, place[g]);
          if (f.turning != 0.0) to += shares[1][i] * by[g][1];
        }
        if (!c.rubs()) continue;
        M3 M = M3::Zero();
        if (rubs) M = M_d[g] * z[0] + outer(M_share[g], shared) + M_rates[g] * rates;
        const M3 slope = outer(o.frames[g].slope * f.M[g], place[g]);
        for (int i = 0; i < o.frames[g].count(); ++i)
          by_place[most + 2 * g + i][column] = o.frames[g].share[i] * M + (i ? slope : -slope);
      }
    }
  for (int e = 0; e < 2; ++e) {
    for (int i = 0; i < o.on[e].count; ++i) {
      by_rates[e * half + i] = (e ? -o.on[e].by[0][i] : o.on[e].by[0][i]) * F_rates;
    }
    for (int i = 0; i < o.frames[e].count() && c.rubs(); ++i) {
      const int m = most + 2 * e + i;
      felt[m] = o.frames[e].share[i] * f.M[e];
      if (rubs)
        by_rates[m] = o.frames[e].share[i] * M_rates[e];
      else
        by_rates[m].setZero();
    }
  }
}

void Crossings::Slopes::grip(int k, Push& push, Pull& q, Pull& v) const {
  const RodPair& c = all.pairs_[std::size_t(o.crossing)];
  push.setZero(), q.setZero(), v.setZero();
  if (k < most) {
    push.bottomRows<3>() = share(k) * by_z[0];
    q.rightCols<3>() = recall_place[k], v.rightCols<3>() = share(k) * recall_rates.leftCols<3>();
    return;
  }
  const int e = (k - most) / 2;
  const Curve& on = curves[std::size_t(c.rods[e])];
  const std::size_t frame = std::size_t(o.frames[e].first + (k - most) % 2);
  const Mat3<double>& R = on.R[frame];
  const V3 Omega = on.w[frame].tail<3>();
  push.topRows<3>() = share(k) * (R.transpose() * by_z[1 + e]);
  const Mat3<double> rate = share(k) * (recall_rates.middleCols<3>(3 + 3 * e) * R);
  q.leftCols<1>() = rate * Omega, q.middleCols<3>(1) = -(rate * cross_matrix<double>(Omega));
  v.middleCols<3>(1) = rate;
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
      const Mat3<double> rate = share(l) * (turned * by_rates[k].leftCols<3>());
      if (all.still)
        q[l].block<3, 3>(row, 4) += rate; // what has moved since the last rest
      else
        v[l].block<3, 3>(row, 4) = rate;
      return;
    }
    const V3 Omega = of(l).w[frame(l)].tail<3>();
    const auto by_spin = by_rates[k].middleCols<3>(3 + 3 * ((l - most) / 2));
    const Mat3<double> rate = share(l) * (turned * (by_spin * of(l).R[frame(l)]));
    if (all.still) {
      q[l].block<3, 3>(row, 1) = rate;
    } else {
      q[l].block<3, 1>(row, 0) = rate * Omega, q[l].block<3, 3>(row, 1) = -(rate * cross_matrix<double>(Omega));
      v[l].block<3, 3>(row, 1) = rate;
    }
    if (l != k) return;
    const V3 m = turned * felt[k];
    q[l].block<3, 1>(row, 0) += m, q[l].block<3, 3>(row, 1) += cross_matrix<double>(m);
  });
}

Crossings::Budget Crossings::read(const Touch& o, const std::vector<Curve>& curves, Reading& out) const {
  const RodPair& c = pairs_[std::size_t(o.crossing)];
  const Curve on[2] = {curves[std::size_t(c.rods[0])], curves[std::size_t(c.rods[1])]};
  const Felt felt(c, of(c, o.side).each, o, bent(o), on, still);
  out.crossing = o.crossing, out.at[0] = o.at[0], out.at[1] = o.at[1], out.gap = felt.gap;
  out.pressed = felt.normal, out.normal = felt.n;
  out.force = felt.normal * felt.n + felt.T, out.slip = felt.slip;
  out.point = along(o.on[0], on[0].x, 0) - felt.lever[0] * felt.n;
  const double stored = felt.k * felt.share * felt.stored;
  return {stored, -felt.T.dot(felt.slip), still ? 0.0 : (felt.elastic - felt.normal) * felt.n.dot(felt.V)};
}

// Boxes of places and velocities around rods.
void Crossings::put_in_boxes(const std::vector<Curve>& curves) {
  constexpr double none = std::numeric_limits<double>::infinity();
  boxes_.assign(strands_.size(),
                {{V3::Constant(none), V3::Constant(none)}, {V3::Constant(-none), V3::Constant(-none)}});
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
}

// What of a pair is further away than the skin: at least how far, and how fast it may come.
std::pair<double, double> Crossings::far(const RodPair& c) const {
  const Box &a = boxes_[std::size_t(c.rods[0])], &b = boxes_[std::size_t(c.rods[1])];
  V3 fast, away;
  for (int i = 0; i < 3; ++i) {
    fast[i] = std::max(a.high[1][i] - b.low[1][i], b.high[1][i] - a.low[1][i]);
    away[i] = std::max({0.0, a.low[0][i] - b.high[0][i], b.low[0][i] - a.high[0][i]});
  }
  return {std::max(skin_, away.norm() - c.radius[0] - c.radius[1] - c.law.smoothing), fast.norm()};
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
  put_in_boxes(curves);
  for (const RodPair& c : pairs_) {
    const auto [way, fast] = far(c);
    least = std::min(least, in(way, fast, c.gravity));
  }
  return least;
}

double Crossings::reach(const std::vector<Curve>& curves) {
  look(curves);
  double most = 0.0; // that is moved, over what may be
  for (const Near& pair : near_) {
    const Chords chords(*this, pair, curves);
    const RodPair& c = pairs_[std::size_t(pair.crossing)];
    const V3 d = chords.x[0] + chords.share[0] * chords.e[0] - chords.x[1] - chords.share[1] * chords.e[1];
    const double distance = d.norm(), radii = c.radius[0] + c.radius[1];
    const double way = std::max(0.5 * distance - 0.25 * radii, 0.05 * distance) * distance;
    for (int k = 0; k < 2; ++k)
      for (int l = 0; l < 2; ++l)
        most = std::max(most, -1.0 / way *
                                  d.dot(curves[std::size_t(c.rods[0])].v[pair.spans[0] + k] -
                                        curves[std::size_t(c.rods[1])].v[pair.spans[1] + l]));
  }
  put_in_boxes(curves);
  for (const RodPair& c : pairs_) {
    const auto [way, fast] = far(c);
    most = std::max(most, fast / way);
  }
  return most > 0.0 ? 1.0 / most : std::numeric_limits<double>::infinity();
}

} // namespace gyrod
