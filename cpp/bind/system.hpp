// What the binding files of systems of equations share.
#pragma once

#include "bind.hpp"

#include "matrix.hpp"

#include "gyrod/assembly/system.hpp"
#include "gyrod/integrate/interruption.hpp"

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

// Has Ctrl-C been pressed? What the handler of a signal raises, KeyboardInterrupt or other, goes with the interruption.
inline void check_signals() {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw gyrod::Interruption{std::make_exception_ptr(nb::python_error())};
}

// The same question to Python from inside of every run: are there signals, and does the progress want to stop? False
// ends the run.
template <class... Args> bool goes_on(const nb::object& progress, Args... args) {
  check_signals();
  nb::gil_scoped_acquire lock;
  return progress.is_none() || !progress(args...).is(Py_False);
}

// A thread inside of equations, which have one workspace; another thread is refused.
class Turn {
public:
  explicit Turn(gyrod::Owner& owner) : owner_(owner) { begin(owner); }
  ~Turn() { owner_.leave(); }
  Turn(const Turn&) = delete;
  static void begin(gyrod::Owner& owner) {
    if (!owner.enter())
      throw std::runtime_error(
          "another thread is using these equations: a Stepper, an Ode or a Motion is for one thread at a time; "
          "make one for each thread, or let them take turns by a lock.");
  }

private:
  gyrod::Owner& owner_;
};

// Threads that share the work in the equations for a while; none for one, who needs no help.
inline std::unique_ptr<gyrod::Threads> threads_of(int count) {
  return count > 1 ? std::make_unique<gyrod::Threads>(count) : nullptr;
}
class Shared {
public:
  Shared(gyrod::Equations& equations, gyrod::Threads* threads) : equations_(equations) { equations_.share(threads); }
  ~Shared() { equations_.share(nullptr); }
  Shared(const Shared&) = delete;

private:
  gyrod::Equations& equations_;
};

template <class F> auto without_lock(bool python, F&& f) {
  if (python) return f();
  nb::gil_scoped_release release;
  return f();
}
