// Many runs of one system with other initial states and other numbers of its rods: the inner loop of studies.
#pragma once

#include <functional>

#include "gyrod/integrate/driver.hpp"
#include "gyrod/rod/equations.hpp"

namespace gyrod {

struct Members {
  std::string method;
  double t_end = 0.0;
  std::size_t count = 0;
  const double* y0 = nullptr;     // row by row
  const double* scales = nullptr; // of the error norm, row by row; null: those of `steps`
  StepOptions steps;
  RunOptions options;
  std::vector<std::vector<RodNumbers>> rows; // of each rod those of the members; empty: as it is
  bool lanes = false;                        // several members at a time
  std::function<bool(std::size_t)> tick;     // from inside of runs, with how many are done; false ends them
};

struct MemberRun {
  Run run;
  double seconds; // CPU
};

// In order, until the tick or an exception of it ends them: the last one then says so.
std::vector<MemberRun> run_members(Equations& equations, RodEquations* rods, const Members& members);

// CPU seconds of this thread.
double thread_seconds();
// Of one state those of all lanes.
std::vector<double> widened(const std::vector<double>& x);

} // namespace gyrod
