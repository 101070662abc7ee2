// Driver of the embedded explicit pairs: the only loop. It sees a system, never what the system describes.
//
// System: `static constexpr int size`; `void prepare(const double* times, int count)`, told the times of the
// coming stages so that data can be fetched in one go; `void rhs(int which, double t, const double* y,
// double* dy)`, where `which` is the index among the prepared times.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gyrod/integrate/controller.hpp"
#include "gyrod/integrate/tableau.hpp"

namespace gyrod {

struct AdaptiveResult {
  std::vector<double> t, y, k; // accepted times, states; stages of each step for dense output
  long steps = 0, rejected = 0, evaluations = 0;
  bool finished = false; // false: the step fell below rounding at t.back()
};

template <class Pair, class System>
AdaptiveResult integrate_adaptive(System& system, double t, double t_end, const double* y_start, double rtol,
                                  double atol) {
  constexpr int N = System::size, S = Pair::stages;
  ElementaryController control{rtol, atol, 1.0 / Pair::control_order};
  AdaptiveResult result;
  double y[N], y_new[N], error[N], k[S][N], times[S];
  std::copy(y_start, y_start + N, y);
  const auto keep = [&] {
    result.t.push_back(t);
    result.y.insert(result.y.end(), y, y + N);
  };
  keep();
  const auto rounding = [&] {
    return 16.0 * (std::nextafter(std::abs(t), std::numeric_limits<double>::infinity()) - std::abs(t));
  };
  const double h_max = 0.1 * (t_end - t);
  system.prepare(&t, 1);
  system.rhs(0, t, y, k[0]);
  ++result.evaluations;
  double h = control.first_step<N>(k[0], y, h_max, rounding());
  while (t < t_end) {
    const double h_min = rounding();
    h = std::clamp(h, std::min(h_min, h_max), h_max);
    const bool last = 1.1 * h >= t_end - t;
    if (last) h = t_end - t;
    for (int s = 1; s < S; ++s) times[s - 1] = s == S - 1 && last ? t_end : t + Pair::c[s] * h;
    system.prepare(times, S - 1);
    for (int s = 1; s < S; ++s) {
      for (int i = 0; i < N; ++i) {
        double sum = 0.0;
        for (int j = 0; j < s; ++j) sum += Pair::a[s][j] * k[j][i];
        y_new[i] = y[i] + h * sum;
      }
      system.rhs(s - 1, times[s - 1], y_new, k[s]);
    }
    result.evaluations += S - 1;
    for (int i = 0; i < N; ++i) {
      error[i] = 0.0;
      for (int s = 0; s < S; ++s) error[i] += h * Pair::e[s] * k[s][i];
    }
    const double size = control.norm<N>(error, y, y_new);
    if (!control.accepts(size)) {
      ++result.rejected;
      if (h <= h_min) return result;
      h = std::max(h_min, control.after_rejection(h, size));
      continue;
    }
    ++result.steps;
    result.k.insert(result.k.end(), &k[0][0], &k[0][0] + S * N);
    t = last ? t_end : times[S - 2];
    std::copy(y_new, y_new + N, y);
    std::copy(k[S - 1], k[S - 1] + N, k[0]);
    keep();
    h = control.after_acceptance(h, size);
  }
  result.finished = true;
  return result;
}

} // namespace gyrod
