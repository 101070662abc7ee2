// The forms of a mechanism. Both rotations of the absolute form share most of what the compiler has to expand and are
// one file; those of the tree do not.
#pragma once

#include "gyrod/mechanism/model.hpp"

namespace gyrod {

std::unique_ptr<MechanismEquations> make_quaternion_tree(MechanismModel model);
std::unique_ptr<MechanismEquations> make_director_tree(MechanismModel model);
std::unique_ptr<MechanismEquations> make_absolute(bool directors, MechanismModel model);

} // namespace gyrod
