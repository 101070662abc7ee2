// Fixed: the point and all axes of both bodies stay together.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType fixed{
    .name = "fixed",
    .rows = {{RowKind::point, 0},
             {RowKind::point, 1},
             {RowKind::point, 2},
             {RowKind::dot, 0, 1},
             {RowKind::dot, 1, 2},
             {RowKind::dot, 2, 0}},
    .motion = {},
    .turns = Turns::none,
    .slides = Slides::none,
};

} // namespace gyrod::joints
