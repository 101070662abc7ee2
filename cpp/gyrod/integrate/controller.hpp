// Step size control of Matlab's ode45 and ode23: maximum norm, safety factor 0.8, elementary controller.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace gyrod {

struct ElementaryController {
  double rtol, atol, exponent; // exponent = 1/(order of the error estimate + 1)
  bool failed = false;         // within the current step

  double threshold() const { return atol / rtol; }

  // Scaled size of a vector relative to the larger of two states.
  template <int N> double norm(const double* x, const double* y0, const double* y1) const {
    double largest = 0.0;
    for (int i = 0; i < N; ++i) {
      const double scale = std::max({std::abs(y0[i]), std::abs(y1[i]), threshold()});
      const double value = std::abs(x[i]) / scale;
      if (!(value <= largest)) largest = value; // keeps NaN
    }
    return largest;
  }

  template <int N> double first_step(const double* f0, const double* y0, double h_max, double h_min) const {
    const double rate = norm<N>(f0, y0, y0) / (0.8 * std::pow(rtol, exponent));
    return std::max(h_min, h_max * rate > 1.0 ? 1.0 / rate : h_max);
  }

  bool accepts(double error) const { return error <= rtol; }

  double after_rejection(double h, double error) {
    const double factor = failed || !std::isfinite(error) ? 0.5 : std::max(0.1, 0.8 * std::pow(rtol / error, exponent));
    failed = true;
    return h * factor;
  }

  double after_acceptance(double h, double error) {
    if (!failed) {
      const double temp = 1.25 * std::pow(error / rtol, exponent);
      h = temp > 0.2 ? h / temp : 5.0 * h;
    }
    failed = false;
    return h;
  }
};

} // namespace gyrod
