// Contacts as they are described: stations of rods and bodies, points with a radius, against surfaces of bodies and of
// ground.
#pragma once

#include <memory>
#include <vector>

#include "gyrod/contact/crossings.hpp"

namespace gyrod {

// Of a rod: a place between vertices of some cells with shares, whose frames turn it by other shares. Of a body: a
// place in its axes.
struct Station {
  static constexpr int most = 5; // an element of degree four
  int rod = -1, body = -1, count = 0;
  int cells[most];
  double share[most], turn[most];
  Vec3<double> offset = Vec3<double>::Zero();
  double radius = 0.0, weight = 1.0; // weight: of a rod, the length that it stands for
  int host = -1;                     // set by rods, as that of a contact
};

struct Contact {
  std::shared_ptr<const space::Surface> surface;
  int body = -1; // the carrier; none: ground
  Vec3<double> at = Vec3<double>::Zero();
  Mat3<double> turn = Mat3<double>::Identity(); // of the surface in its carrier's axes
  ContactLaw law;
  double gravity = 0.0; // m/s^2, about: how fast what is away may come
  double reach = 0.0;   // m, how deep a step may end without having seen the surface
  std::vector<Station> stations;
  int host = -1;
  std::size_t memory = 0; // where the state has that of its stations, one after the other
  std::size_t first = 0;  // of its stations among all

  // Whether moments act on stations.
  bool turns() const {
    return law.friction.kind != FrictionLaw::none || law.friction.rolling > 0.0 || law.friction.spinning > 0.0;
  }
};

// All contacts of a system.
struct ContactSet {
  std::vector<Contact> with_surfaces;
  std::vector<RodPair> among_rods;
  bool empty() const { return with_surfaces.empty() && among_rods.empty(); }
};

} // namespace gyrod
