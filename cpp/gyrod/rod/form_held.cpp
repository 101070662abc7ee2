#include "gyrod/rod/forms.hpp"
#include "gyrod/rod/stage.hpp"

std::unique_ptr<gyrod::RodEquations> gyrod::make_rods_held(Turning form, std::vector<RodDescription> rods,
                                                           const FormulationOptions& options,
                                                           std::vector<RodLink> links, ContactSet contacts) {
  return std::make_unique<RodStage<true>>(form, std::move(rods), options, std::move(links), std::move(contacts));
}
