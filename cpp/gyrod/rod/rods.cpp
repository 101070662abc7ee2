#include "gyrod/rod/forms.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

template void BasicRodDescription<double>::finish();
template RodState<double>::RodState(const RodDescription&);
template RodState<Dual<1>>::RodState(const RodDescription&);

std::unique_ptr<RodEquations> make_rods(const std::string& formulation, std::vector<RodDescription> rods,
                                        const FormulationOptions& options, std::vector<RodLink> links) {
  for (RodLink& link : links)
    for (LinkPoint& p : link.ends) p.node = p.rod >= 0 && rods[std::size_t(p.rod)].degree > 0;
  const bool held = std::any_of(rods.begin(), rods.end(), [](const RodDescription& r) { return r.held > 0; });
  if (formulation == "absolute-quaternion") return make_rods_absolute(std::move(rods), options, std::move(links));
  if (formulation != "nullspace-quaternion") throw std::invalid_argument("rods have no formulation " + formulation);
  if (held) return make_rods_held(std::move(rods), options, std::move(links));
  return make_rods_nullspace(std::move(rods), options, std::move(links));
}

} // namespace gyrod
