// The forms of a mechanism. Both rotations of a form share most of what the compiler has to expand: one file each.
#pragma once

#include "gyrod/mechanism/model.hpp"

namespace gyrod {

std::unique_ptr<MechanismEquations> make_tree(bool directors, MechanismModel model);
std::unique_ptr<MechanismEquations> make_absolute(bool directors, MechanismModel model);

} // namespace gyrod
