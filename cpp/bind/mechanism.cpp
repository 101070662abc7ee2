// Mechanisms from what Python describes. Both forms in one file: they share most of what the compiler has to expand.
#include "system.hpp"

#include <nanobind/stl/vector.h>

#include "gyrod/mechanism/absolute.hpp"
#include "gyrod/mechanism/tree_stage.hpp"

using namespace gyrod;

namespace {
using V3d = Vec3<double>;

// kind, a, b, at_a, at_b, frame_a, frame_b, parameter, drive (function of t that returns three numbers) or None
Joint make_joint(const nb::tuple& t) {
  Joint j;
  j.type = find_joint(item<std::string>(t, 0));
  if (!j.type) throw nb::value_error("no such joint");
  j.place.a = item<int>(t, 1), j.place.b = item<int>(t, 2);
  j.place.at_a = item<V3d>(t, 3), j.place.at_b = item<V3d>(t, 4);
  j.place.frame_a = item<Mat3<double>>(t, 5), j.place.frame_b = item<Mat3<double>>(t, 6);
  j.place.parameter = item<double>(t, 7);
  if (!t[8].is_none())
    j.drive = [f = item<nb::callable>(t, 8)](double time) {
      nb::gil_scoped_acquire lock;
      const V3d u = nb::cast<V3d>(f(time));
      return Driven{u[0], u[1], u[2]};
    };
  return j;
}

MechanismModel make_model(const nb::list& bodies, const nb::list& forces, Vec3<double> gravity,
                          const nb::dict& mechanism, const nb::dict& options) {
  MechanismModel m;
  for (nb::handle h : bodies) m.bodies.push_back(make_body(nb::cast<nb::tuple>(h)));
  for (nb::handle h : forces) m.forces.push_back(make_force(nb::cast<nb::tuple>(h)));
  for (nb::handle h : nb::cast<nb::list>(mechanism["joints"])) m.joints.push_back(make_joint(nb::cast<nb::tuple>(h)));
  for (nb::handle h : nb::cast<nb::list>(mechanism["links"])) {
    const auto t = nb::cast<nb::tuple>(h);
    m.links.push_back({item<int>(t, 0), item<int>(t, 1), item<int>(t, 2)});
  }
  for (nb::handle h : nb::cast<nb::list>(mechanism["cuts"])) m.cuts.push_back(nb::cast<int>(h));
  for (nb::handle h : nb::cast<nb::list>(mechanism["kept"])) m.kept.push_back(nb::cast<std::vector<int>>(h));
  m.gravity = gravity;
  m.options = formulation_options(options);
  return m;
}
} // namespace

std::unique_ptr<MechanismEquations> make_mechanism(const std::string& formulation, const nb::list& bodies,
                                                   const nb::list& forces, Vec3<double> gravity,
                                                   const nb::dict& mechanism, const nb::dict& options,
                                                   const std::function<void(MechanismModel&)>& prepare) {
  MechanismModel model = make_model(bodies, forces, gravity, mechanism, options);
  if (prepare) prepare(model);
  if (formulation == "nullspace-quaternion") return std::make_unique<StiffTree<NullspaceQuaternion>>(std::move(model));
  if (formulation == "nullspace-directors") return std::make_unique<StiffTree<NullspaceDirectors>>(std::move(model));
  const int level = nb::cast<int>(mechanism["level"]);
  const bool qr = nb::cast<bool>(mechanism["qr"]);
  if (formulation == "absolute-quaternion")
    return std::make_unique<AbsoluteMechanism<AbsoluteQuaternion>>(std::move(model), level, qr);
  if (formulation == "absolute-directors")
    return std::make_unique<AbsoluteMechanism<AbsoluteDirectors>>(std::move(model), level, qr);
  throw nb::value_error(("no formulation " + formulation + " for mechanisms").c_str());
}
