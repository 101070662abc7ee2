// How stations and the surfaces that they may touch move, and what forces and moments there do to cells of rods and to
// bodies. What they feel is the law's affair (contact/law.hpp), how far away they are the surface's.
//
// A station moves with p in the axes of the surface, which are those of its carrier b turned by a constant:
//   p = Q'(x - o), u = Q'(v - v_b - w_b x r), W = Q'(w - w_b), with r = x - x_b; o is the origin of the surface.
// The station feels F and M there, the carrier -F at the same place and -M: neither momentum nor spin is made. At rest
// u and W are what has become of p and the turn since the last rest.
#pragma once

#include "gyrod/rod/contacts.hpp"
#include "gyrod/rod/link_blocks.hpp"

namespace gyrod {

// A station against its surface at one state.
struct ContactPlace {
  Mat3<double> Q;
  Vec3<double> x, v, w, p, r; // of the station
  Vec3<double> v_b, w_b, u, W;
};

// What carries a station or its surface: derivatives of (p, u, W) by its increments and rates, and what (F, M), in the
// axes of the surface, do to it. Of seven columns a body needs six.
struct Lever {
  Carrier on;
  Matrix<double, 6, 6> action;
  Matrix<double, 9, 7> q, v;
  void clear(Carrier of) { on = of, action.setZero(), q.setZero(), v.setZero(); }
};

// What a station remembers in a stage: z' by what its grips do and by z.
struct Recall {
  std::size_t at;       // of z in the state
  std::size_t from, to; // its grips; none: it is in the air
  Matrix<double, 3, 3> own;
  bool given = false; // it does not change by itself, nor by what its grips do
};
// Of a carrier: what z does to it, and z' by its increments and rates.
struct Grip {
  Carrier on;
  Matrix<double, 6, 3> push;
  Matrix<double, 3, 7> q, v;
};

} // namespace gyrod
