// Contact of rods among themselves, and of a rod with itself: tubes about centre lines, the splines of spline.hpp. Of
// the angle alpha between their tangents at the closest points two mechanisms are blended, W being a smooth step of
// cos alpha from 20 to 10 degrees:
//   E = sum over crossings (1 - W) k r E(g) + sum over stations W k w E(g)
// A crossing is a minimum of the distance over both lines: one contact. A station is a point of one line, and its
// nearest points of the other: strands side by side, half of it from each of them. r: the sum of the radii; w: the
// length that a station stands for, halved; g: the distance of the lines less r; E(g), damping and friction without
// memory as in law.hpp: friction acts half way between the centre lines' sides and twists both rods, whose spins lie
// between those of the two frames about the place.
//
// What touches follows from the state alone, not from what touched before: pairs of spans that come near are kept only
// to save work, and all that matter are among them until a vertex has moved a tenth of the skin.
#pragma once

#include <tuple>

#include "gyrod/contact/law.hpp"
#include "gyrod/contact/spline.hpp"

namespace gyrod {

struct RodPair {
  int rods[2]; // twice the same: with itself
  double radius[2];
  ContactLaw law;              // stiffness: N/m per m; exponent 1; friction without memory
  double gravity = 0.0;        // m/s^2, about: how fast what is away may come
  double apart = 0.0;          // with itself: the least distance along the rod, a fraction of its length
  std::vector<double> mesh[2]; // where vertices are, fractions of the length
  double length[2] = {0.0, 0.0};
  bool nodal[2] = {false, false}; // frames are at vertices, or between them; set by `make_rods`
  bool rubs() const { return law.friction.kind != FrictionLaw::none; }
};

class Crossings {
public:
  using V3 = Vec3<double>;
  struct Curve {
    const V3 *x, *v;
    const Mat3<double>* R;
    const Vec4<double>* w; // (w0, Omega) of frames
  };
  // Shares of two frames in the spin at a place, and that of the second one by the place.
  struct Frames {
    int first = 0;
    double share[2] = {1.0, 0.0}, slope = 0.0;
    int count() const { return share[1] == 0.0 && slope == 0.0 ? 1 : 2; }
  };
  struct Touch {
    int crossing, station; // station: of the rod of `side`; -1: it is a crossing
    int side;
    double at[2];
    bool free[2]; // whether it is where it is because it is nearest
    SplineShares on[2];
    Frames frames[2];
    auto key() const { return std::make_tuple(crossing, side, station, at[0], at[1]); }
  };
  struct Reading {
    int crossing;
    double at[2];
    V3 point, normal, force, slip; // of b on a
    double gap, pressed;           // normal force
  };
  struct Budget {
    double energy = 0.0, friction = 0.0, impact = 0.0;
    Budget& operator+=(const Budget& b) {
      energy += b.energy, friction += b.friction, impact += b.impact;
      return *this;
    }
  };

  explicit Crossings(std::vector<RodPair> pairs);
  bool empty() const { return pairs_.empty(); }
  const std::vector<RodPair>& pairs() const { return pairs_; }
  void soften(double factor) {
    for (RodPair& c : pairs_) c.law.stiffness *= factor;
  }

  // What touches; `curves` by rods, those that touch nothing may be empty.
  const std::vector<Touch>& find(const std::vector<Curve>& curves);
  const std::vector<Touch>& found() const { return touches_; }
  // Of what was found: push(rod, vertex, force), twist(rod, frame, moment), both in space.
  template <class F, class M> void press(const std::vector<Curve>& curves, F&& push, M&& twist) const {
    V3 felt[members];
    for (const Touch& o : touches_) {
      forces(o, curves, felt);
      each(o, [&](int k, int rod, int of) { k < most ? push(rod, of, felt[k]) : twist(rod, of, felt[k]); });
    }
  }
  // block(rod, cell, by rod, by cell, q, v, places): derivatives of what cells feel, (mu, f), by their increments and
  // rates; places: of a force by places.
  using Block = Matrix<double, 6, 7>;
  template <class F> void blocks(const std::vector<Curve>& curves, F&& block) const {
    Block q[members], v[members];
    for (const Touch& o : touches_) {
      const Slopes by(*this, o, curves);
      each(o, [&](int k, int rod, int of) {
        const int cell = cell_of(o, k, of);
        by.row(k, q, v);
        each(o, [&](int l, int by_rod, int by_of) {
          block(rod, cell, by_rod, cell_of(o, l, by_of), q[l], v[l], k < most && l < most);
        });
      });
    }
  }
  // f(number among those of the touch, rod, vertex or frame): vertices of both, then frames of both where it rubs.
  template <class F> void each(const Touch& o, F&& f) const {
    const RodPair& c = pairs_[std::size_t(o.crossing)];
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < o.on[e].count; ++k) f(e * SplineShares::most + k, c.rods[e], o.on[e].first + k);
    for (int e = 0; e < 2 && c.rubs(); ++e)
      for (int k = 0; k < o.frames[e].count(); ++k) f(most + 2 * e + k, c.rods[e], o.frames[e].first + k);
  }
  // Cells that a touch has to do with lie in its windows.
  int cell_of(const Touch& o, int k, int of) const {
    return k < most || pairs_[std::size_t(o.crossing)].nodal[(k - most) / 2] ? of : of + 1;
  }
  // The largest step that is sensible: nothing comes closer than half a radius too deep.
  double horizon(const std::vector<Curve>& curves);
  Budget read(const Touch& o, const std::vector<Curve>& curves, Reading& out) const;
  bool still = false; // at rest: no damping

private:
  static constexpr int half = SplineShares::most, most = 2 * half, members = most + 4;
  // Of a rod: where its vertices are as fractions, its stations, and for how much of its length one of them stands.
  struct Strand {
    std::vector<double> mesh;
    std::vector<SplineShares> knots; // at vertices
    std::vector<double> frames;      // where they are
    std::vector<SplineShares> stations;
    std::vector<double> places;
    double each = 0.0;
    void shares(double at, SplineShares& o) const;
  };
  struct Span { // how far its line is from the chord, and turns from it
    double sag, turn;
  };
  struct Ball { // around a span
    V3 at;
    double radius;
    int line, span;
  };
  struct Box { // of places and velocities of a rod
    V3 low[2], high[2];
  };
  using Cell = std::tuple<long, long, long>;
  struct Near { // spans of a crossing
    int crossing, spans[2];
  };
  struct Chords {
    Chords(const Crossings& all, const Near& pair, const std::vector<Curve>& curves);
    V3 x[2], e[2];
    double share[2], reach, gap; // reach: of the chords, where the lines may touch
  };
  void renew(const std::vector<Curve>& curves);
  void forces(const Touch& o, const std::vector<Curve>& curves, V3* felt) const;
  // Derivatives of what a touch does.
  struct Slopes {
    Slopes(const Crossings& all, const Touch& o, const std::vector<Curve>& curves);
    // Of member k by all members.
    void row(int k, Block* q, Block* v) const;
    const Crossings& all;
    const Touch& o;
    const std::vector<Curve>& curves;
    V3 felt[members];                       // moment of frames
    Mat3<double> by_place[members][most];   // by vertices
    Matrix<double, 3, 9> by_rates[members]; // by the velocity of one side against the other, both spins
    double share(int k) const {             // of a member in the velocity, or in a spin
      if (k >= most) return o.frames[(k - most) / 2].share[(k - most) % 2];
      return k < most / 2 ? o.on[0].by[0][k] : -o.on[1].by[0][k - most / 2];
    }
  };
  Frames frames_at(const RodPair& c, int e, double at) const;
  void measure(const std::vector<Curve>& curves);
  void look(const std::vector<Curve>& curves);
  bool settle(Touch& o, const Curve* on) const;
  const Strand& of(const RodPair& c, int e) const { return strands_[std::size_t(c.rods[e])]; }

  std::vector<RodPair> pairs_;
  std::vector<std::tuple<int, int, int>> by_rods_; // both rods of each, in order
  std::vector<Strand> strands_;                    // by rods
  std::vector<std::vector<Span>> spans_;           // by rods
  std::vector<std::vector<V3>> seen_;              // where vertices were when spans were looked at
  std::vector<std::vector<double>> seen_sag_;
  std::vector<Near> near_;
  // Memory of the search.
  std::vector<double> reach_;
  std::vector<Ball> balls_;
  std::vector<Box> boxes_;
  std::vector<std::pair<Cell, int>> cells_;
  std::vector<Touch> touches_;
  double skin_ = 0.0;
  static constexpr double little = 0.1; // of the skin
};

} // namespace gyrod
