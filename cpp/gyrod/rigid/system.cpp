#include "gyrod/rigid/system.hpp"

namespace gyrod {

std::unique_ptr<RigidEquations> make_rigid(const std::string& formulation, std::vector<RigidBody> bodies, Forces forces,
                                           const Vec3<double>& gravity, const FormulationOptions& options) {
  const auto make = [&]<class F>(F) -> std::unique_ptr<RigidEquations> {
    return std::make_unique<RigidSystem<F>>(std::move(bodies), std::move(forces), gravity, options);
  };
  if (formulation == "nullspace-quaternion") return make(NullspaceQuaternion{});
  if (formulation == "nullspace-directors") return make(NullspaceDirectors{});
  if (formulation == "absolute-quaternion") return make(AbsoluteQuaternion{});
  if (formulation == "absolute-directors") return make(AbsoluteDirectors{});
  if (formulation == "euler") return make(EulerAngles{});
  throw std::invalid_argument("no formulation " + formulation);
}

} // namespace gyrod
