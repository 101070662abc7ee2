// Does this processor (and operating system) run x86-64-v3 code? Asked before such code is loaded, twice: by the build,
// as a program that shows as well whether the compiler knows C++20, and at import, as the module gyrod._cpu.
#include <concepts>
#include <numbers>
#include <span>

static bool has_v3() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

#ifdef GYROD_PROBE

template <std::floating_point T> constexpr bool known(std::span<const T> values) {
  return values[0] > std::numbers::pi_v<T>;
}

int main() {
  constexpr double four[] = {4.0};
  static_assert(known(std::span<const double>(four)));
  return has_v3() ? 3 : 0;
}

#else

#include <Python.h>

static int fill(PyObject* module) { return PyModule_AddObjectRef(module, "has_v3", has_v3() ? Py_True : Py_False); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_cpu", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__cpu() { return PyModuleDef_Init(&module); }

#endif
