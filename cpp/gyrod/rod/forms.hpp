// The forms of rods; each is compiled once, in a file of its own.
#pragma once

#include <memory>

#include "gyrod/rigid/options.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/links.hpp"
#include "gyrod/rod/turning.hpp"

namespace gyrod {

// Without and with held strains.
std::unique_ptr<RodEquations> make_rods_free(Turning, std::vector<RodDescription>, const FormulationOptions&,
                                             std::vector<RodLink>, ContactSet);
std::unique_ptr<RodEquations> make_rods_held(Turning, std::vector<RodDescription>, const FormulationOptions&,
                                             std::vector<RodLink>, ContactSet);

} // namespace gyrod
