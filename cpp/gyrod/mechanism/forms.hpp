// The forms of a mechanism.
#pragma once

#include "gyrod/mechanism/model.hpp"
#include "gyrod/rigid/coordinates.hpp"

namespace gyrod {

std::unique_ptr<MechanismEquations> make_tree(Coordinates kind, MechanismModel model);
std::unique_ptr<MechanismEquations> make_absolute(bool directors, MechanismModel model);

} // namespace gyrod
