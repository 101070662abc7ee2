#include "bind.hpp"

void bind_description(nb::module_& m);
void bind_variational(nb::module_& m);

NB_MODULE(GYROD_MODULE, m) {
  nb::set_leak_warnings(false); // forces and events may hold references to the end: not a leak of ours
  m.doc() = "The compiled core of gyrod: arrays in, arrays out. Users call the Python functions above it.";
  m.def("isa", [] { return std::string(GYROD_ISA); }, "Instruction set this module was compiled for.");
  m.def(
      "cpu_has_v3",
      [] {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2");
#else
        return false;
#endif
      },
      "Whether this processor and operating system run x86-64-v3 code.");
  bind_rotation(m);
  bind_attitude(m);
  bind_description(m);
  bind_run(m);
  bind_system(m);
  bind_variational(m);
}
