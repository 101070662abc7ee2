// Mechanisms in absolute coordinates from what Python describes.
#include "mechanism.hpp"

#include "gyrod/mechanism/absolute.hpp"

using namespace gyrod;

std::unique_ptr<MechanismEquations> make_absolute_mechanism(const std::string& formulation, MechanismModel model,
                                                            const nb::dict& mechanism) {
  const int level = nb::cast<int>(mechanism["level"]);
  const bool qr = nb::cast<bool>(mechanism["qr"]);
  if (formulation == "absolute-quaternion")
    return std::make_unique<AbsoluteMechanism<AbsoluteQuaternion>>(std::move(model), level, qr);
  if (formulation == "absolute-directors")
    return std::make_unique<AbsoluteMechanism<AbsoluteDirectors>>(std::move(model), level, qr);
  throw nb::value_error(("no formulation " + formulation + " for mechanisms").c_str());
}
