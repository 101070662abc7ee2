// Links between points of rods, of bodies and of space: cables, tendons, springs and bushings, of which at least one
// end is on a rod. Those between bodies alone are forces (rigid/forces.hpp).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "gyrod/rigid/laws.hpp"
#include "gyrod/time/signal.hpp"

namespace gyrod {

struct SlideCurve;

// A point of a rod: (1 - xi) x_j + xi x_(j+1) + R_j offset of segment j, or x_j + R_j offset of node j; of a body: at
// `offset` in its axes; of space, if it is of neither.
struct LinkPoint {
  int rod = -1, segment = 0;
  double xi = 0.0;
  Vec3<double> offset = Vec3<double>::Zero();
  int body = -1;
  bool node = false; // set by `make_rods`
  int host = -1;     // the body among those that rods have to do with, set by them

  // Of a point that slides along a rod, see slide.hpp: the curve, the fraction of the length at which it is, and the
  // shares of the vertices from `segment` on in it and in its derivatives by that.
  static constexpr int most = 28;
  std::shared_ptr<const SlideCurve> curve;
  double at = 0.0;
  int count = 0, woven[2] = {-1, 0}; // the vertices that the graph knows of: the first one, how many
  double shares[3][most] = {};
  std::size_t memory = 0; // where the state has what `at` was after the last step
  bool slides() const { return bool(curve); }

  // The cells that it belongs to; the last of them carries its frame, unless it slides.
  int cells() const { return rod < 0 ? 0 : slides() ? count : node ? 1 : 2; }
  int cell(int k) const { return segment + k; }
  double share(int k, int d = 0) const { return slides() ? shares[d][k] : node ? 1.0 : k ? xi : 1.0 - xi; }
};

// A straight piece of a string of a given tension.
struct TendonLaw {
  Signal tension;
};

template <class... L> std::variant<L..., TendonLaw, BushingLaw> link_law(Laws<L...>);

struct RodLink {
  LinkPoint ends[2];
  decltype(link_law(LineLaws())) law;
  std::string name; // of one whose second end slides, for sentences

  bool slides() const { return ends[1].slides(); }
  bool timed() const {
    const TendonLaw* tendon = std::get_if<TendonLaw>(&law);
    return tendon && tendon->tension.timed();
  }
};

} // namespace gyrod
