// What the binding files that run integrators share: options from dictionaries, and a finished run.
#pragma once

#include "system.hpp"

#include "gyrod/integrate/driver.hpp"

gyrod::StepOptions step_options(const nb::dict& d);
gyrod::RunOptions run_options(const nb::dict& options, std::size_t n);

class PyRun {
public:
  explicit PyRun(gyrod::Run run, std::size_t n, double seconds = 0.0)
      : run_(std::move(run)), n_(n), seconds_(seconds) {}
  Out1 t() const { return copied<Out1>(run_.t, {run_.t.size()}); }
  Out2 y() const { return copied<Out2>(run_.y, {run_.t.size(), n_}); }
  Out1 step_ends() const { return copied<Out1>(run_.step_ends, {run_.step_ends.size()}); }
  Out1 y_stop() const { return copied<Out1>(run_.y_stop, {n_}); }
  std::string status() const;
  nb::dict stats() const;
  nb::list crossings() const;
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
