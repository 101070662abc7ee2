// Rods of higher order: geometrically exact elements with Gauss-Lobatto nodes. A node carries a position, a frame and
// its lumped inertia; strains live at Gauss points; no ghosts. The kernel of an element is in element_kernel.hpp.
#pragma once

#include "gyrod/rod/discretization.hpp"

namespace gyrod {

// In a translation unit of its own: it takes long.
std::unique_ptr<Discretization> make_elements(const RodDescription& d);

} // namespace gyrod
