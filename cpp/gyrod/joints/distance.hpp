// Distance: two points keep their distance. Five velocities remain, so it never carries a body in the tree.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType distance{
    .name = "distance",
    .rows = {{RowKind::length}},
    .motion = {},
    .turns = Turns::ball,
    .slides = Slides::none,
    .tree = false,
};

} // namespace gyrod::joints
