#include "gyrod/rod/system.hpp"

namespace gyrod {
std::unique_ptr<RodEquations> make_rods_nullspace(std::vector<RodDescription> rods, FormulationOptions options,
                                               std::vector<RodString> strings) {
  return std::make_unique<RodSystem<false, false>>(std::move(rods), options, std::move(strings));
}
} // namespace gyrod
