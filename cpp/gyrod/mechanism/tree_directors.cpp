#include "gyrod/mechanism/forms.hpp"
#include "gyrod/mechanism/tree_stage.hpp"

std::unique_ptr<gyrod::MechanismEquations> gyrod::make_director_tree(MechanismModel model) {
  return std::make_unique<StiffTree<NullspaceDirectors>>(std::move(model));
}
