// What the binding files of systems of equations share.
#pragma once

#include "bind.hpp"

#include "matrix.hpp"

#include "gyrod/assembly/system.hpp"

using Table = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>; // of any shape

inline std::vector<double> numbers(const Times& a) { return {a.data(), a.data() + a.shape(0)}; }

// A vector or None for zero: a default that is an array would load NumPy with the module.
using Vector = std::optional<gyrod::Vec3<double>>;
inline gyrod::Vec3<double> or_zero(const Vector& v) { return v.value_or(gyrod::Vec3<double>::Zero()); }

// Python's forces are shared with the systems made of them.
inline gyrod::Forces forces_of(const std::vector<std::shared_ptr<gyrod::ForceElement>>& list) {
  return {list.begin(), list.end()};
}

// The same question to Python from inside of every run: has Ctrl-C been pressed, and does the progress want to stop?
// False ends the run.
template <class... Args> bool goes_on(const nb::object& progress, Args... args) {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) {
    PyErr_Clear();
    return false;
  }
  return progress.is_none() || !progress(args...).is(Py_False);
}

template <class F> auto without_lock(bool python, F&& f) {
  if (python) return f();
  nb::gil_scoped_release release;
  return f();
}
