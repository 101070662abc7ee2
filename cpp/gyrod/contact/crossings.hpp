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
// Friction with a memory has the bristles of law.hpp: z turns with the spin that carries the normal of sides that
// stick,
//   z' = w x z + ...,  w = (l_1 w_1 + l_2 w_2)/(l_1 + l_2),  l = r + g/2
// What touches and rubs takes one of the slots of the state, which hold z, whose it is and at which places it was at
// the end of the last step: there it is found again, so that memory moves along both rods. What began to touch within a
// step has no slot yet, and knows the slip alone.
//
// What touches follows from the state alone, not from what touched before: pairs of spans that come near are kept only
// to save work, and all that matter are among them until a vertex has moved a tenth of the skin.
#pragma once

#include <cmath>
#include <tuple>

#include "gyrod/contact/law.hpp"
#include "gyrod/contact/spline.hpp"

namespace gyrod {

struct RodPair {
  int rods[2]; // twice the same: with itself
  double radius[2];
  ContactLaw law;              // stiffness: N/m per m; exponent 1; nothing that rolls or spins
  double gravity = 0.0;        // m/s^2, about: how fast what is away may come
  double apart = 0.0;          // with itself: the least distance along the rod, a fraction of its length
  std::vector<double> mesh[2]; // where vertices are, fractions of the length
  double length[2] = {0.0, 0.0};
  bool nodal[2] = {false, false}; // frames are at vertices, or between them; set by `make_rods`
  bool rubs() const { return law.friction.kind != FrictionLaw::none; }
  int stations(int e) const { // side by side what lies between two of them is seen by none: as close as two diameters
    return std::max(int(mesh[e].size()) - 1, int(std::ceil(length[e] / (4.0 * radius[e]))));
  }
};
// Slots that pairs have for what remembers friction: as many as stations on both sides of all lines that have a memory.
std::size_t slots_of(const std::vector<RodPair>& pairs);

class Crossings {
public:
  using V3 = Vec3<double>;
  struct Curve {
    const V3 *x, *v;
    const Mat3<double>* R;
    const Vec4<double>* w;    // (w0, Omega) of frames
    const V3* turn = nullptr; // at rest of frames since the last rest, as v of vertices is what they have moved since
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
    int slot = -1; // where it remembers friction
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

  // What touches; `curves` by rods, those that touch nothing may be empty; `slots`: the memory of friction.
  const std::vector<Touch>& find(const std::vector<Curve>& curves, const double* slots);
  static constexpr std::size_t slot_size = 6; // z, whose, both places
  std::size_t slots() const { return used_.size(); }
  // Slots as they are after a step, or a rest: new touches take some, what has come apart leaves its own.
  void remember(const std::vector<Curve>& curves, double* slots);
  bool used(std::size_t slot) const { return used_[slot]; }
  const std::vector<Touch>& found() const { return touches_; }
  // Of what was found: push(rod, vertex, force), twist(rod, frame, moment), both in space.
  // rates, where they are asked for: of all slots.
  template <class F, class M> void press(const std::vector<Curve>& curves, F&& push, M&& twist, double* rates) const {
    V3 felt[members];
    if (rates) straighten(rates);
    for (const Touch& o : touches_) {
      const V3 rate = forces(o, curves, felt);
      if (rates && o.slot >= 0 && !still) Part<3>::put(rates + slot_size * std::size_t(o.slot), rate);
      each(o, [&](int k, int rod, int of) { k < most ? push(rod, of, felt[k]) : twist(rod, of, felt[k]); });
    }
  }
  // block(rod, cell, by rod, by cell, q, v, places): derivatives of what cells feel, (mu, f), by their increments and
  // rates; places: of a force by places.
  using Block = Matrix<double, 6, 7>;
  // recall(slot, z' by z) and then grip(rod, cell, push, q, v) of each cell: what z does to it, z' by what it does.
  using Push = Matrix<double, 6, 3>;
  using Pull = Matrix<double, 3, 7>;
  template <class F, class R, class G>
  void blocks(const std::vector<Curve>& curves, F&& block, R&& recall, G&& grip) const {
    Block q[members], v[members];
    for (const Touch& o : touches_) {
      const Slopes by(*this, o, curves);
      if (by.remembers) {
        recall(o.slot, by.own);
        each(o, [&](int k, int rod, int of) {
          Push push;
          Pull grip_q, grip_v;
          by.grip(k, push, grip_q, grip_v);
          grip(rod, cell_of(o, k, of), push, grip_q, grip_v);
        });
      }
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
  // The largest part of a displacement, in place of velocities, on which no line passes through another one.
  double reach(const std::vector<Curve>& curves);
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
  V3 forces(const Touch& o, const std::vector<Curve>& curves, V3* felt) const;
  void straighten(double* rates) const;
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
    // Of what remembers: force on line 0 and moments by z, z' by z, by vertices, and by rates.
    bool remembers = false;
    Mat3<double> by_z[3], own, recall_place[most];
    Matrix<double, 3, 9> recall_rates;
    void grip(int k, Push& push, Pull& q, Pull& v) const;
    double share(int k) const { // of a member in the velocity, or in a spin
      if (k >= most) return o.frames[(k - most) / 2].share[(k - most) % 2];
      return k < most / 2 ? o.on[0].by[0][k] : -o.on[1].by[0][k - most / 2];
    }
  };
  Frames frames_at(const RodPair& c, int e, double at) const;
  V3 bent(const Touch& o) const { return o.slot < 0 ? V3(V3::Zero()) : V3(slots_ + slot_size * std::size_t(o.slot)); }
  double owner(const Touch& o) const; // a number that says whose a slot is; 0: nobody's
  void match();
  void measure(const std::vector<Curve>& curves);
  void put_in_boxes(const std::vector<Curve>& curves);
  std::pair<double, double> far(const RodPair& c) const;
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
  const double* slots_ = nullptr;             // of the state that was looked at last
  std::vector<char> used_;                    // slots that touches have
  std::vector<std::pair<double, int>> owned_; // slots by whose they are
  double skin_ = 0.0;
  static constexpr double little = 0.1; // of the skin
};

} // namespace gyrod
