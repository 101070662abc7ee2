#include "gyrod/mechanism/forms.hpp"
#include "gyrod/mechanism/tree_stage.hpp"

std::unique_ptr<gyrod::MechanismEquations> gyrod::make_tree(bool directors, MechanismModel model) {
  if (directors) return std::make_unique<StiffTree<NullspaceDirectors>>(std::move(model));
  return std::make_unique<StiffTree<NullspaceQuaternion>>(std::move(model));
}
