#include "system.hpp"

#include "matrix.hpp"
#include <nanobind/stl/vector.h>

#include <memory>

#include "gyrod/mechanism/spring.hpp"
#include "gyrod/rigid/system.hpp"

namespace {
using namespace gyrod;
using V3 = Vec3<double>;

// --- forces from plain tuples; the Python side has checked everything ---------------------------------------------

// A Python function of time, state, ... as a C++ one; called with the interpreter's lock.
UserForce::Function python_state_function(nb::callable f, int results) {
  return [f = std::move(f), results](double t, const double* state, double* out) {
    nb::gil_scoped_acquire lock;
    Out1 s = owned<Out1>({std::size_t(UserForce::inputs)});
    std::copy(state, state + UserForce::inputs, s.data());
    const auto r = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(f(t, s));
    if (r.size() != std::size_t(results)) throw nb::value_error("a force returned a wrong number of values");
    std::copy(r.data(), r.data() + results, out);
  };
}

UserForce::Function c_function(std::uintptr_t address, std::uintptr_t context) {
  const auto f = reinterpret_cast<gyrod_force>(address);
  void* const c = reinterpret_cast<void*>(context);
  return [f, c](double t, const double* state, double* out) { f(t, state, out, c); };
}

} // namespace

std::unique_ptr<ForceElement> make_force(const nb::tuple& f) {
  const auto kind = item<std::string>(f, 0);
  if (kind == "applied") { // body, at, body frame, torque, constant, function or None
    AppliedForce::Function function;
    if (!f[6].is_none()) {
      function = [g = item<nb::callable>(f, 6)](double t) {
        nb::gil_scoped_acquire lock;
        return nb::cast<V3>(g(t));
      };
    }
    return std::make_unique<AppliedForce>(item<int>(f, 1), item<V3>(f, 2), item<bool>(f, 3), item<bool>(f, 4),
                                          item<V3>(f, 5), std::move(function));
  }
  if (kind == "spring")
    return std::make_unique<SpringDamper>(item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4),
                                          item<double>(f, 5), item<double>(f, 6), item<double>(f, 7));
  if (kind == "frame") // body, angular velocity of the frame, mass, inertia in principal axes
    return std::make_unique<FrameForce>(item<int>(f, 1), item<V3>(f, 2), item<double>(f, 3), item<Mat3<double>>(f, 4));
  if (kind == "cable")
    return std::make_unique<Cable>(item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4), item<double>(f, 5),
                                   item<double>(f, 6), item<double>(f, 7), item<double>(f, 8));
  if (kind == "bushing")
    return std::make_unique<Bushing>(item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4), item<V3>(f, 5),
                                     item<V3>(f, 6), item<Mat3<double>>(f, 7));
  if (kind == "user") // body, principal axes, function, derivative or None
    return std::make_unique<UserForce>(
        item<int>(f, 1), item<Mat3<double>>(f, 2), python_state_function(item<nb::callable>(f, 3), UserForce::outputs),
        f[4].is_none() ? UserForce::Function()
                       : python_state_function(item<nb::callable>(f, 4), UserForce::outputs * UserForce::inputs));
  if (kind == "c") // body, principal axes, address, context, address of the derivative or 0
    return std::make_unique<UserForce>(
        item<int>(f, 1), item<Mat3<double>>(f, 2), c_function(item<std::uintptr_t>(f, 3), item<std::uintptr_t>(f, 4)),
        item<std::uintptr_t>(f, 5) ? c_function(item<std::uintptr_t>(f, 5), item<std::uintptr_t>(f, 4))
                                   : UserForce::Function());
  if (kind == "joint") // a, b, at_a, at_b, frame_a, frame_b, turn, stiffness, damping, rest
    return std::make_unique<JointSpring>(JointPlace{item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4),
                                                    item<Mat3<double>>(f, 5), item<Mat3<double>>(f, 6)},
                                         item<bool>(f, 7), item<double>(f, 8), item<double>(f, 9), item<double>(f, 10));
  throw nb::value_error(("no force " + kind).c_str());
}

// mass, moments (3), pinned, point (3), arm (3)
RigidBody make_body(const nb::tuple& t) {
  RigidBody b;
  b.mass = item<double>(t, 0), b.moments = item<V3>(t, 1), b.pinned = item<bool>(t, 2);
  b.point = item<V3>(t, 3), b.arm = item<V3>(t, 4);
  return b;
}

namespace {

// --- the system ---------------------------------------------------------------------------------------------------

std::unique_ptr<RigidEquations> make_system(const std::string& formulation, std::vector<RigidBody> bodies,
                                            std::vector<std::unique_ptr<ForceElement>> forces, V3 gravity,
                                            FormulationOptions o) {
  const auto make = [&]<class F>(F) -> std::unique_ptr<RigidEquations> {
    return std::make_unique<RigidSystem<F>>(std::move(bodies), std::move(forces), gravity, o);
  };
  if (formulation == "nullspace-quaternion") return make(NullspaceQuaternion{});
  if (formulation == "nullspace-directors") return make(NullspaceDirectors{});
  if (formulation == "absolute-quaternion") return make(AbsoluteQuaternion{});
  if (formulation == "absolute-directors") return make(AbsoluteDirectors{});
  if (formulation == "euler") return make(EulerAngles{});
  throw nb::value_error(("no formulation " + formulation).c_str());
}
} // namespace

std::unique_ptr<RigidEquations> make_rigid(const std::string& formulation, const nb::list& bodies,
                                           const nb::list& forces, Vec3<double> gravity, const nb::dict& options) {
  std::vector<RigidBody> list;
  for (nb::handle h : bodies) list.push_back(make_body(nb::cast<nb::tuple>(h)));
  std::vector<std::unique_ptr<ForceElement>> elements;
  for (nb::handle h : forces) elements.push_back(make_force(nb::cast<nb::tuple>(h)));
  return make_system(formulation, std::move(list), std::move(elements), gravity, formulation_options(options));
}
