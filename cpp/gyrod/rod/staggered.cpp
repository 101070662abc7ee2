#include "gyrod/rigid/formulations.hpp"
#include "gyrod/rod/staggered.hpp"

namespace gyrod {
std::unique_ptr<Discretization> make_staggered(const RodDescription& d) { return std::make_unique<StaggeredGrid>(d); }
} // namespace gyrod
