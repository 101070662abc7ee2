// Extrapolation of the explicit midpoint rule (Gragg, Bulirsch, Stoer) with the order and step size control of the code
// ODEX and its dense output (Hairer, Norsett, Wanner I, II.9; Hairer, Ostermann 1990).
#pragma once

#include "gyrod/integrate/integrator.hpp"
#include "gyrod/integrate/order_control.hpp"

namespace gyrod {

class Odex final : public Integrator {
  static constexpr int km = 9, fixed_column = 4;
  // Derivatives of y at the midpoint that the dense output uses; 2k - 3 with k columns, as ODEX with MUDIF = 4.
  static constexpr int mu_max = 2 * km - 3;
  static constexpr int most = 4 * km - 2;
  using Control = OrderControl<km>;

public:
  Odex(Equations& e, const StepOptions& o)
      : Integrator(e, o), control_({0.65, 0.94, 0.02, 4.0, 0.8, 0.9, 2.0, 1.0, 2}, sequence(), work()), f_(n_),
        f_old_(n_), y_old_(n_), a_(n_), b_(n_), g_(n_), table_(std::size_t(km) * n_), middle_(std::size_t(km) * n_),
        slopes_(std::size_t(first_slope(km + 1)) * n_), rows_((4 + mu_max + 1) * n_) {}

  bool advance() override {
    const bool fixed = options_.step > 0;
    for (;;) {
      double h = fixed ? options_.step : std::min(h_, longest());
      if (too_small(h)) return false;
      const bool last = t_ + 1.01 * h >= t_end_;
      if (last) h = t_end_ - t_;
      if (fixed ? build(h) : converges(h, last)) {
        if (!fixed) h_ = control_.accepted();
        finish(h, last);
        if (fixed || !want_dense || interpolates(h)) return true;
        undo();
        ++stats_.rejected;
        continue;
      }
      h_ = control_.rejected();
      ++stats_.rejected;
    }
  }

  void changed() override { rhs(t_, y_.data(), f_.data()); }

  std::size_t dense_rows() const override { return 4 + mu_max + 1; }

  // The polynomial of degree mu + 4, mu = 2k - 3, that has y and y' at both ends and the derivatives 0..mu at the
  // midpoint: a cubic plus (1 - u^2)^2 q(u) with u = 2 theta - 1, so that q is a quotient of power series. The value
  // and the derivatives at the midpoint come from central differences in each row, extrapolated like the solution.
  // Order 2k - 1, one less than that of the solution, uniformly in the step.
  void dense(double* rows) override {
    std::array<double, mu_max + 1> d;
    const int mu = 2 * columns_ - 3;
    for (std::size_t i = 0; i < n_; ++i) {
      const double a0 = y_old_[i], a1 = h_done_ * f_old_[i], end = h_done_ * f_[i], rise = y_[i] - y_old_[i];
      const double a2 = 3.0 * rise - 2.0 * a1 - end, a3 = a1 + end - 2.0 * rise;
      derivatives(i, mu, d.data());
      const double cubic[4] = {a0 + a1 / 2 + a2 / 4 + a3 / 8, a1 / 2 + a2 / 2 + a3 * 3 / 8, a2 / 4 + a3 * 3 / 8,
                               a3 / 8};
      for (int m = 0; m <= std::min(mu, 3); ++m) d[m] -= cubic[m];
      const double front[4] = {a0, a1, a2, a3};
      for (int m = 0; m < 4; ++m) rows[std::size_t(m) * n_ + i] = front[m];
      for (int m = 0; m <= mu_max; ++m) {
        double q = 0.0;
        if (m <= mu)
          for (int l = 0; 2 * l <= m; ++l) q += (l + 1) * d[m - 2 * l]; // 1/(1 - u^2)^2 = sum (l + 1) u^(2 l)
        rows[std::size_t(4 + m) * n_ + i] = q;
      }
    }
  }

  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      const double u = 2.0 * theta - 1.0, bump = (1.0 - u * u) * (1.0 - u * u);
      for (std::size_t i = 0; i < n; ++i) {
        double q = 0.0;
        for (int m = mu_max; m >= 0; --m) q = q * u + rows[std::size_t(4 + m) * n + i];
        const double tail = (rows[3 * n + i] * theta + rows[2 * n + i]) * theta + rows[n + i];
        y[i] = rows[i] + theta * tail + bump * q;
      }
    };
  }

private:
  // 2, 6, 10, ...: the midpoint always has an odd index, hence one expansion in h^2 for all rows.
  static constexpr int substeps(int j) { return 4 * j - 2; }
  static std::array<int, km + 1> sequence() {
    std::array<int, km + 1> n{};
    for (int j = 1; j <= km; ++j) n[j] = substeps(j);
    return n;
  }
  static std::array<double, km + 1> work() {
    std::array<double, km + 1> a{1.0};
    for (int j = 1; j <= km; ++j) a[j] = a[j - 1] + substeps(j);
    return a;
  }
  // f in row j, substeps 0 .. substeps(j), is kept for the dense output; row j begins at this slot.
  static constexpr int first_slope(int j) { return (j - 1) * (2 * j - 1); }

  void start() override {
    control_.start(options_.rtol, options_.max_step);
    rhs(t_, y_.data(), f_.data());
    h_ = first_step(2 * control_.aim() - 1, f_.data(), a_.data(), b_.data());
  }

  void state(Archive& a) override { a(f_, control_); }

  bool build(double h) {
    for (int j = 1; j <= fixed_column; ++j) row(j, h, false);
    columns_ = fixed_column;
    rhs(t_ + h, entry(1), g_.data());
    return true;
  }

  bool converges(double h, bool last) {
    control_.attempt(h, last);
    weigh(y_.data(), y_.data());
    for (int j = 1;; ++j) {
      if (!row(j, h)) {
        control_.diverge(true);
        return false;
      }
      if (j == 1) continue;
      weigh(y_.data(), entry(1));
      for (std::size_t i = 0; i < n_; ++i) g_[i] = entry(1)[i] - entry(2)[i];
      columns_ = j;
      const auto verdict = control_.judge(j, norm(g_.data()));
      if (verdict == Control::Verdict::reject) return false;
      if (verdict == Control::Verdict::accept) return continues(h);
    }
  }

  // f at the new point, which no error estimate has seen; a step out of the domain of f is not accepted.
  bool continues(double h) {
    rhs(t_ + h, entry(1), g_.data());
    const bool finite = std::isfinite(norm(g_.data()));
    if (!finite) control_.diverge(finite);
    return finite;
  }

  // h |df/dy| > 2 in the Euler step: far out of the region of stability, nothing to extrapolate. ODEX has only the
  // first condition, which would halve the step without end when f starts from zero; the second one ends that.
  bool unstable(double hj, const double* slope) {
    for (std::size_t i = 0; i < n_; ++i) g_[i] = slope[i] - f_[i];
    const double change = norm(g_.data());
    return change > 2.0 * norm(f_.data()) && hj * change > 1.0;
  }

  // Midpoint rule with an Euler step before and Gragg's smoothing step after, then one row of Aitken and Neville.
  bool row(int j, double h, bool check = true) {
    const int n = substeps(j);
    const double hj = h / n;
    double* slope = slopes_.data() + std::size_t(first_slope(j)) * n_;
    std::copy(f_.begin(), f_.end(), slope);
    for (std::size_t i = 0; i < n_; ++i) a_[i] = y_[i], b_[i] = y_[i] + hj * f_[i];
    for (int m = 1; m < n; ++m) {
      slope += n_;
      if (2 * m == n) std::copy(b_.begin(), b_.end(), middle_.begin() + std::ptrdiff_t(std::size_t(j - 1) * n_));
      rhs(t_ + m * hj, b_.data(), slope);
      if (check && m == 1 && j <= 2 && unstable(hj, slope)) return false;
      for (std::size_t i = 0; i < n_; ++i) a_[i] += 2.0 * hj * slope[i];
      std::swap(a_, b_);
    }
    slope += n_;
    rhs(t_ + h, b_.data(), slope);
    for (std::size_t i = 0; i < n_; ++i) entry(j)[i] = 0.5 * (a_[i] + b_[i] + hj * slope[i]);
    for (int l = j; l > 1; --l) {
      const double ratio = double(n) / substeps(l - 1), factor = 1.0 / (ratio * ratio - 1.0);
      double *high = entry(l - 1), *low = entry(l);
      for (std::size_t i = 0; i < n_; ++i) high[i] = low[i] + (low[i] - high[i]) * factor;
    }
    return true;
  }

  // The dense output has to be accurate too, as in ODEX: the last term of q is its error. Limits the next step;
  // false if this one has to be repeated.
  bool interpolates(double h) {
    dense(rows_.data());
    const int mu = 2 * columns_ - 3;
    const double peak = std::pow(double(mu) / (mu + 4), 0.5 * mu) * 16.0 / ((mu + 4.0) * (mu + 4.0)); // (1-u^2)^2 u^mu
    for (std::size_t i = 0; i < n_; ++i) g_[i] = peak * rows_[std::size_t(4 + mu) * n_ + i];
    weigh(y_old_.data(), y_.data());
    const double err = norm(g_.data()), best = h / std::max(std::pow(err, 1.0 / (mu + 4)), 0.01);
    if (err > 10.0) {
      h_ = best;
      return false;
    }
    h_ = std::min(h_, best);
    return true;
  }

  void undo() {
    t_ = t_old_;
    std::swap(y_, y_old_);
    std::swap(f_, f_old_);
    --stats_.steps;
  }

  void finish(double h, bool last) {
    t_old_ = t_, h_done_ = h;
    t_ = last ? t_end_ : t_ + h;
    std::swap(y_old_, y_);
    std::copy(entry(1), entry(1) + n_, y_.begin());
    std::swap(f_old_, f_);
    std::swap(f_, g_);
    ++stats_.steps;
  }

  // d[m] = (h/2)^m y^(m)/m! at the midpoint, component i. Row j gives it for m <= 2 j.
  void derivatives(std::size_t i, int mu, double* d) const {
    double e[km + 1][mu_max + 1];
    for (int j = 1; j <= columns_; ++j) differences(i, j, std::min(mu, 2 * j), e[j]);
    for (int m = 0; m <= mu; ++m) {
      const int from = std::max(1, (m + 1) / 2);
      for (int j = from + 1; j <= columns_; ++j)
        for (int l = j; l > from; --l) {
          const double ratio = double(substeps(j)) / substeps(l - 1);
          e[l - 1][m] = e[l][m] + (e[l][m] - e[l - 1][m]) / (ratio * ratio - 1.0);
        }
      d[m] = e[from][m];
    }
  }

  void differences(std::size_t i, int j, int mu, double* e) const {
    const int n = substeps(j), half = n / 2;
    double g[most + 1];
    for (int m = 0; m <= n; ++m) g[m] = slopes_[std::size_t(first_slope(j) + m) * n_ + i];
    e[0] = middle_[std::size_t(j - 1) * n_ + i];
    double factor = 0.5 * h_done_;
    for (int m = 1; m <= mu; ++m) {
      e[m] = factor * g[half];
      factor *= 0.25 * n / (m + 1);
      double before = g[m - 1];
      for (int p = m; p <= n - m; ++p) {
        const double here = g[p];
        g[p] = g[p + 1] - before;
        before = here;
      }
    }
  }

  double* entry(int j) { return table_.data() + std::size_t(j - 1) * n_; }

  Control control_;
  std::vector<double> f_, f_old_, y_old_, a_, b_, g_, table_, middle_, slopes_, rows_;
  int columns_ = fixed_column;
  double h_done_ = 0.0;
};

} // namespace gyrod
