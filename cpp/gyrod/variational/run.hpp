// A run with constant steps: the only loop over time of these methods.
#pragma once

#include <cstdint>

#include "gyrod/integrate/interruption.hpp"
#include "gyrod/variational/system.hpp"

namespace gyrod::variational {

struct RunOptions {
  long steps = 0;
  long first = 0, last = 0; // this part of the steps; first > 0 goes on from where the system is
  double t_end = 0.0;
  std::vector<long> wanted; // nodes to keep, in order; empty: all
  // Every few hundred steps; false, or an Interruption, ends the run.
  std::function<bool(double)> tick;
};

struct Run {
  enum class Status { finished, newton, turned, folded, lost, interrupted, failed } status = Status::finished;
  std::vector<double> t, rows;          // of the nodes kept, 13 numbers for each body
  std::vector<double> middle_t, middle; // energy in the middle of the step before each of them
  std::vector<std::uint16_t> newton;    // iterations of each step
  std::vector<double> history;          // residuals of the step that failed
  double t_stop = 0.0;
  std::string trouble; // of a run that is lost
  std::exception_ptr failure;
};

Run run(System& system, const double* start, const RunOptions& options);

} // namespace gyrod::variational
