// Spherical: the point stays together, all rotations are free (Lang 2010, 67).
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType spherical{
    .name = "spherical",
    .rows = {{RowKind::point, 0}, {RowKind::point, 1}, {RowKind::point, 2}},
    .motion = {},
    .turns = Turns::ball,
    .slides = Slides::none,
};

} // namespace gyrod::joints
