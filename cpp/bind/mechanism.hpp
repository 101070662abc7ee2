// What the binding files of mechanisms share.
#pragma once

#include "system.hpp"

std::unique_ptr<gyrod::MechanismEquations>
make_absolute_mechanism(const std::string& formulation, gyrod::MechanismModel model, const nb::dict& mechanism);
