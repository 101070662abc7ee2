// Links between points of rods, of bodies and of space: cables, tendons, springs and bushings, of which at least one
// end is on a rod. Those between bodies alone are forces (rigid/forces.hpp).
#pragma once

#include <variant>

#include "gyrod/rigid/laws.hpp"
#include "gyrod/time/signal.hpp"

namespace gyrod {

// A point of a rod: (1 - xi) x_j + xi x_(j+1) + R_j offset of segment j, or x_j + R_j offset of node j; of a body: at
// `offset` in its axes; of space, if it is of neither.
struct LinkPoint {
  int rod = -1, segment = 0;
  double xi = 0.0;
  Vec3<double> offset = Vec3<double>::Zero();
  int body = -1;
  bool node = false; // set by `make_rods`
  int host = -1;     // the body among those that rods have to do with, set by them

  // The cells that it belongs to; the last of them carries its frame.
  int cells() const { return rod < 0 ? 0 : node ? 1 : 2; }
  int cell(int k) const { return segment + k; }
  double share(int k) const { return node ? 1.0 : k ? xi : 1.0 - xi; }
};

// A straight piece of a string of a given tension.
struct TendonLaw {
  Signal tension;
};

struct RodLink {
  LinkPoint ends[2];
  std::variant<CableLaw, TendonLaw, SpringLaw, BushingLaw> law;

  bool timed() const {
    const TendonLaw* tendon = std::get_if<TendonLaw>(&law);
    return tendon && tendon->tension.timed();
  }
};

} // namespace gyrod
