// The forms of rods; each is compiled once, in a file of its own.
#pragma once

#include <memory>

#include "gyrod/rigid/options.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/links.hpp"

namespace gyrod {

std::unique_ptr<RodEquations> make_rods_nullspace(std::vector<RodDescription>, const FormulationOptions&,
                                                  std::vector<RodLink>);
std::unique_ptr<RodEquations> make_rods_held(std::vector<RodDescription>, const FormulationOptions&,
                                             std::vector<RodLink>);
std::unique_ptr<RodEquations> make_rods_absolute(std::vector<RodDescription>, const FormulationOptions&,
                                                 std::vector<RodLink>);

} // namespace gyrod
