// Coordinates of a rotation; all forms of equations have one of these kinds.
#pragma once

#include <stdexcept>
#include <string>

namespace gyrod {

enum class Coordinates { quaternion, directors, angles };

inline int count_of(Coordinates k) { return k == Coordinates::quaternion ? 4 : k == Coordinates::directors ? 9 : 3; }

// Whether their rates are the velocities of a formulation of that name; what they are there.
inline bool is_absolute(const std::string& formulation) { return formulation.starts_with("absolute-"); }
inline Coordinates coordinates_of(const std::string& formulation) {
  if (formulation == "euler") return Coordinates::angles;
  if (is_absolute(formulation) || formulation.starts_with("nullspace-")) {
    if (formulation.ends_with("-quaternion")) return Coordinates::quaternion;
    if (formulation.ends_with("-directors")) return Coordinates::directors;
  }
  throw std::invalid_argument("there is no formulation " + formulation);
}

} // namespace gyrod
