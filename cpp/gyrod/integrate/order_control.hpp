#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace gyrod {

// Order and step size of an extrapolation method by work per unit step (Deuflhard 1983; HNW I, (9.19)-(9.29)).
//
// The table is built row by row; column k is the aim, and convergence is looked for in k-1, k and k+1 only. Columns
// count from 1 as in the book. `Km` is the last one, so that the aim is at most Km - 1.
template <int Km> class OrderControl {
public:
  struct Rules {
    double safe1, safe2; // h_k = h safe2 (safe1/err_k)^(1/exponent)
    double fac1, fac2;   // h_k/h lies between fac1^(1/exponent)/fac2 and fac1^(-1/exponent)
    double fac3, fac4;   // order down if w(k-1) < fac3 w(k), up if w(k) < fac4 w(k-1)
    double power, hope;  // one column more reduces the error by at most hope (n_(k+1)/n_1)^power
    int gain;            // column j has the exponent gain j - (gain - 1): the expansion is in h^gain
  };
  enum class Verdict { go_on, accept, reject };

  // n(j): substeps of row j, work(j): all that has been spent when row j is done
  OrderControl(const Rules& rules, const std::array<int, Km + 1>& n, const std::array<double, Km + 1>& work)
      : rules_(rules), n_(n), work_(work) {}

  void start(double tolerance, double longest) {
    k_ = std::clamp(int(-0.6 * std::log10(std::max(tolerance, 1e-16)) + 1.5), 2, Km - 1);
    longest_ = longest;
    rejected_ = false;
    first_ = true;
  }

  int aim() const { return k_; }
  int columns() const { return column_; }

  // `last`: a step cut short by the end of the interval may converge in any column, like the first one.
  void attempt(double h, bool last) {
    h_ = h, any_ = first_ || last;
    diverged_ = false, finite_ = true;
    error_old_ = 1e30;
    unit_work_[1] = 1e30, step_[1] = h;
    column_ = 1;
  }

  // After row j > 1, whose last two entries differ by err in the norm of the tolerances; `other` is an error that has
  // to be small too, but need not decrease from row to row.
  Verdict judge(int j, double err, double other = 0.0) {
    column_ = j;
    finite_ = std::isfinite(err);
    diverged_ = !finite_ || err > 1e15 || (j > 2 && err >= error_old_);
    if (diverged_) return Verdict::reject;
    error_old_ = std::max(4.0 * err, 1.0);
    err = std::max(err, other);
    estimate(j, err);
    const bool early = j == k_ - 1 && !any_ && !rejected_; // after a rejection k - 1 is not trusted
    if (err <= 1.0 && (any_ || early || j >= k_)) return Verdict::accept;
    if (early && err > hope(k_) * hope(k_ + 1)) return Verdict::reject;
    if (j == k_ && err > hope(k_ + 1)) return Verdict::reject;
    return j > k_ ? Verdict::reject : Verdict::go_on;
  }

  // The step fails for a reason outside of the table.
  void diverge(bool finite) { diverged_ = true, finite_ = finite; }

  // Order of the next step, and its length as result.
  double accepted() {
    const int kc = column_, best = best_column(kc);
    first_ = false;
    if (rejected_) {
      rejected_ = false;
      k_ = std::min(best, kc);
      return std::min(h_, step_[k_]);
    }
    double h = step_[std::min(best, kc)];
    if (best > kc) {
      const bool more = kc < k_ && unit_work_[kc] < rules_.fac4 * unit_work_[kc - 1];
      h *= work_[more ? best + 1 : best] / work_[kc];
    }
    k_ = best;
    return h;
  }

  double rejected() {
    rejected_ = true;
    if (diverged_) return finite_ ? 0.5 * h_ : 0.1 * h_;
    k_ = std::min({k_, column_, Km - 1});
    if (k_ > 2 && unit_work_[k_ - 1] < rules_.fac3 * unit_work_[k_]) --k_;
    return step_[k_];
  }

private:
  double hope(int j) const { return rules_.hope * std::pow(double(n_[j]) / n_[1], rules_.power); }

  void estimate(int j, double err) {
    const double exponent = 1.0 / (rules_.gain * j - (rules_.gain - 1)), least = std::pow(rules_.fac1, exponent);
    const double shrink = std::pow(err / rules_.safe1, exponent) / rules_.safe2;
    step_[j] = std::min(longest_, h_ / std::min(rules_.fac2 / least, std::max(least, shrink)));
    unit_work_[j] = work_[j] / step_[j];
  }

  int best_column(int kc) const {
    const auto& w = unit_work_;
    if (kc == 2) return rejected_ ? 2 : std::min(3, Km - 1);
    int best = std::min(kc, k_);
    if (kc <= k_) {
      if (w[kc - 1] < rules_.fac3 * w[kc]) best = kc - 1;
      if (w[kc] < rules_.fac4 * w[kc - 1]) best = std::min(kc + 1, Km - 1);
    } else {
      best = kc - 1;
      if (kc > 3 && w[kc - 2] < rules_.fac3 * w[kc - 1]) best = kc - 2;
      if (w[kc] < rules_.fac4 * w[best]) best = std::min(kc, Km - 1);
    }
    return best;
  }

  Rules rules_;
  std::array<int, Km + 1> n_;
  std::array<double, Km + 1> work_, step_{}, unit_work_{};
  int k_ = 2, column_ = 1;
  double h_ = 0.0, longest_ = 0.0, error_old_ = 0.0;
  bool first_ = true, rejected_ = false, any_ = false, diverged_ = false, finite_ = true;
};

} // namespace gyrod
