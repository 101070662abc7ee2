#include "gyrod/mechanism/absolute.hpp"
#include "gyrod/mechanism/forms.hpp"

std::unique_ptr<gyrod::MechanismEquations> gyrod::make_absolute(bool directors, MechanismModel model) {
  if (directors) return std::make_unique<AbsoluteMechanism<AbsoluteDirectors>>(std::move(model));
  return std::make_unique<AbsoluteMechanism<AbsoluteQuaternion>>(std::move(model));
}
