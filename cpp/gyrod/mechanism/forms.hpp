// The forms of a mechanism, each with quaternions or directors.
#pragma once

#include "gyrod/mechanism/model.hpp"

namespace gyrod {

std::unique_ptr<MechanismEquations> make_tree(bool directors, MechanismModel model);
std::unique_ptr<MechanismEquations> make_absolute(bool directors, MechanismModel model);

} // namespace gyrod
