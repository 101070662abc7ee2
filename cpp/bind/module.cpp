#include "bind.hpp"

void bind_description(nb::module_& m);
void bind_geometry(nb::module_& m);
void bind_joint_set(nb::module_& m);
void bind_limits(nb::module_& m);
void bind_signal(nb::module_& m);
void bind_variational(nb::module_& m);

NB_MODULE(GYROD_MODULE, m) {
  nb::set_leak_warnings(false); // forces and events may hold references to the end: not a leak of ours
  m.doc() = "The compiled core of gyrod: arrays in, arrays out. Users call the Python functions above it.";
  m.def("isa", [] { return std::string(GYROD_ISA); }, "Instruction set this module was compiled for.");
  bind_rotation(m);
  bind_attitude(m);
  bind_signal(m);
  bind_geometry(m);
  bind_description(m);
  bind_system(m);
  bind_joint_set(m);
  bind_limits(m);
  bind_run(m);
  bind_variational(m);
}
