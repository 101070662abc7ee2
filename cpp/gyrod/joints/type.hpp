// What a kind of joint is. To add one: a file with one JointType, its line in `kinds.hpp`, its description in
// src/gyrod/model/joints.py.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "gyrod/joints/rows.hpp"

namespace gyrod {

// One relative velocity: about or along an axis of the joint frame, fixed in a or in b; a screw does both.
struct MotionAxis {
  enum Type { turn, slide, screw } type;
  int axis;
  bool on_b = false;
};

// The rotation and the displacement that a joint leaves: what the explicit pose is made of.
enum class Turns { none, about, universal, ball };
enum class Slides { none, along, plane, screw, space };

template <class T> struct ShortList {
  std::array<T, 6> items{};
  int size = 0;
  constexpr ShortList() = default;
  constexpr ShortList(std::initializer_list<T> list) {
    for (const T& x : list) items[std::size_t(size++)] = x;
  }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + size; }
  constexpr const T& operator[](int i) const { return items[std::size_t(i)]; }
};

struct JointType {
  std::string_view name;
  ShortList<RowKind> rows;      // constraints
  ShortList<MotionAxis> motion; // motion subspace; a ball has the angular velocity of the child instead
  Turns turns;
  Slides slides;
  ShortList<RowKind> drive = {}; // the row that a drive adds
  bool tree = true;              // may carry a body in the tree; else it is always closed by multipliers
};

} // namespace gyrod
