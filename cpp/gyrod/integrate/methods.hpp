// All integrators by name.
#pragma once

#include <memory>
#include <string>

#include "gyrod/integrate/integrator.hpp"

namespace gyrod {

std::unique_ptr<Integrator> make_integrator(const std::string& name, Equations& equations, const StepOptions& options);

} // namespace gyrod
