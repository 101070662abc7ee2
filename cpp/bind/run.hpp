// What the binding files that run integrators share: options, and a finished run.
#pragma once

#include "system.hpp"

#include <nanobind/stl/optional.h>

#include "gyrod/assembly/limits.hpp"

// Options of a run; what Python gives is turned into C++ when the number of unknowns is known.
struct PyRunOptions {
  bool project, dense, knots;
  std::optional<Times> output;
  // function(t, y) -> float, terminal, direction, action(t, y) -> y or None
  std::vector<std::tuple<nb::callable, bool, int, nb::object>> events;
  long max_steps;
  std::size_t dense_bytes, row_bytes;
  nb::object progress;
  double every; // seconds between two calls of it, at least
  std::shared_ptr<gyrod::Limits> limits;
  int threads;

  gyrod::RunOptions of(std::size_t n) const;
};

class PyRun {
public:
  explicit PyRun(gyrod::Run run, std::size_t n, double seconds = 0.0)
      : run_(std::move(run)), n_(n), seconds_(seconds) {}
  Out1 t() const { return copied<Out1>(run_.t, {run_.t.size()}); }
  Out2 y() const { return copied<Out2>(run_.y, {run_.t.size(), n_}); }
  Out1 knots_t() const { return copied<Out1>(run_.knots_t, {run_.knots_t.size()}); }
  Out2 knots_y() const { return copied<Out2>(run_.knots_y, {run_.knots_t.size(), n_}); }
  Out1 step_ends() const { return copied<Out1>(run_.step_ends, {run_.step_ends.size()}); }
  Out1 y_stop() const { return copied<Out1>(run_.y_stop, {n_}); }
  std::string status() const;
  nb::dict stats() const;
  std::vector<std::tuple<std::size_t, double, Out1>> crossings() const;
  Out2 evaluate(Times times) const;
  // Once: a Python error that has been handed back cannot be raised again.
  void raise() {
    if (const auto failure = std::exchange(run_.failure, nullptr)) std::rethrow_exception(failure);
  }
  const gyrod::Run& run() const { return run_; }
  double seconds() const { return seconds_; }

private:
  gyrod::Run run_;
  std::size_t n_;
  double seconds_; // CPU, of this run among others
};

void bind_runs(nb::class_<gyrod::System>& system);
void bind_members(nb::class_<gyrod::System>& system);
