#include "gyrod/time/sources.hpp"

#include <cmath>

namespace gyrod {

Formulas::Formulas(std::vector<Program> programs, std::vector<std::string> names, std::string label)
    : Source(programs.size()), programs_(std::move(programs)), names_(std::move(names)), label_(std::move(label)) {}

void Formulas::find(double t, double* out) {
  for (std::size_t i = 0; i < programs_.size(); ++i)
    if (const auto trouble = programs_[i].evaluate<double>(t, out[i]); trouble != Program::Trouble::none)
      fail(i, t, trouble);
}

void Formulas::find_jets(double t, Jet* out) {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const auto trouble = programs_[i].evaluate<Jet>(t, out[i]);
    if (trouble != Program::Trouble::none) fail(i, t, trouble);
    if (!finite(out[i])) fail(i, t, Program::Trouble::none);
  }
}

void Formulas::fail(std::size_t i, double t, Program::Trouble trouble) const {
  static constexpr const char* reasons[] = {"", "division by zero", "a value is too large",
                                            "a function is outside of its domain", ""};
  const std::string at = " at t = " + told(t, "%.6g");
  std::string problem = "it has no value" + at + ": " + reasons[int(trouble)] + ".";
  if (trouble == Program::Trouble::none) problem = "it has no finite derivative" + at + ".";
  if (trouble == Program::Trouble::not_finite) problem = "it has no finite value" + at + ".";
  throw SignalError(label_ + " raised ExpressionError at t = " + told(t) + ": " + names_[i] + ": " + problem);
}

void Cubics::find(double t, double* out) {
  const double *c = numbers_.get() + 1, u = t - c[-1];
  for (std::size_t i = 0; i < size(); ++i, c += 4) out[i] = ((c[0] * u + c[1]) * u + c[2]) * u + c[3];
}

void Cubics::find_jets(double t, Jet* out) {
  const double *c = numbers_.get() + 1, u = t - c[-1];
  for (std::size_t i = 0; i < size(); ++i, c += 4)
    out[i] = {((c[0] * u + c[1]) * u + c[2]) * u + c[3], (3.0 * c[0] * u + 2.0 * c[1]) * u + c[2],
              6.0 * c[0] * u + 2.0 * c[1]};
}

const double* Stairs::row(double t) const {
  const auto next = std::lower_bound(times_.begin(), times_.end(), t) - times_.begin();
  return rows_.data() + std::size_t(std::max<std::ptrdiff_t>(next - 1, 0)) * size();
}

Samples::Samples(std::vector<double> breaks, std::vector<double> coefficients, std::size_t size, bool unit,
                 Outside outside, std::string label)
    : Source(size), breaks_(std::move(breaks)), coefficients_(std::move(coefficients)), powers_(0), unit_(unit),
      outside_(outside), label_(std::move(label)) {
  const std::size_t pieces = breaks_.size() - 1;
  if (breaks_.size() < 2 || size == 0 || coefficients_.empty() || coefficients_.size() % (pieces * size) != 0)
    throw std::invalid_argument("samples of a wrong size");
  powers_ = coefficients_.size() / (pieces * size);
}

double Samples::enter(double t, bool& still) {
  const double first = breaks_.front(), end = breaks_.back();
  still = false;
  if (outside_ == Outside::periodic) {
    t = first + std::fmod(t - first, end - first);
    if (t < first) t += end - first;
  } else if (t < first || t > end) {
    // Differences in time reach a little further than a run.
    const double slack = 1e-6 * std::max(1.0, std::abs(t));
    still = outside_ == Outside::held;
    if (!still && (t < first - slack || t > end + slack))
      throw SignalError(label_ + " at t = " + told(t) + ": its samples go from t = " + told(first) + " to " +
                        told(end) + " s; end the run there, or choose what is outside of them.");
    if (still) t = t < first ? first : end;
  }
  const auto holds = [&](std::size_t k) { return k + 1 < breaks_.size() && breaks_[k] <= t && t < breaks_[k + 1]; };
  if (!holds(last_)) {
    if (holds(last_ + 1)) {
      ++last_;
    } else {
      const auto next = std::upper_bound(breaks_.begin() + 1, breaks_.end() - 1, t) - breaks_.begin();
      last_ = std::size_t(next) - 1;
    }
  }
  return t - breaks_[last_];
}

void Samples::find(double t, double* out) {
  bool still;
  const double u = enter(t, still);
  const double* c = piece();
  double square = 0.0;
  for (std::size_t i = 0; i < size(); ++i, c += powers_) {
    double x = c[0];
    for (std::size_t j = 1; j < powers_; ++j) x = x * u + c[j];
    out[i] = x, square += x * x;
  }
  for (std::size_t i = 0; unit_ && i < size(); ++i) out[i] /= std::sqrt(square);
}

void Samples::find_jets(double t, Jet* out) {
  bool still;
  const double u = enter(t, still);
  const double* c = piece();
  Jet square(0.0);
  for (std::size_t i = 0; i < size(); ++i, c += powers_) {
    double x = c[0], v = 0.0, a = 0.0;
    for (std::size_t j = 1; j < powers_; ++j) a = a * u + 2.0 * v, v = v * u + x, x = x * u + c[j];
    out[i] = still ? Jet(x) : Jet(x, v, a);
    square = square + out[i] * out[i];
  }
  if (!unit_) return;
  const Jet norm = sqrt(square);
  for (std::size_t i = 0; i < size(); ++i) out[i] = out[i] / norm;
}

Function::Function(std::size_t size, Call value, Call rate, Call second, Differences differences)
    : Source(size), value_(std::move(value)), rate_(std::move(rate)), second_(std::move(second)), d_(differences),
      given_(size), middle_(size), series_(size * std::size_t(d_.points)) {
  const int n = d_.points, half = n / 2;
  for (int k = -half; k <= half; ++k) {
    std::vector<double> c(std::size_t(n), 0.0);
    c[0] = 1.0;
    for (int i = -half, degree = 0; i <= half; ++i) {
      if (i == k) continue;
      ++degree; // times (u - i) / (k - i)
      for (int j = degree; j >= 0; --j)
        c[std::size_t(j)] = ((j ? c[std::size_t(j - 1)] : 0.0) - i * c[std::size_t(j)]) / (k - i);
    }
    lagrange_.insert(lagrange_.end(), c.begin(), c.end());
  }
}

void Function::expand(double centre) {
  const std::size_t n = size(), points = std::size_t(d_.points), half = points / 2;
  centre_ = -1.0; // what follows may throw
  std::copy_n(at(centre * d_.step), n, middle_.data());
  std::fill(series_.begin(), series_.end(), 0.0);
  for (std::size_t k = 0; k < points; ++k) {
    if (k == half) continue;
    const double* near = at((centre + double(k) - double(half)) * d_.step);
    double side = 0.0;
    for (std::size_t i = 0; d_.unit && i < n; ++i) side += near[i] * middle_[i];
    for (std::size_t i = 0; i < n; ++i) {
      const double rise = (side < 0.0 ? -near[i] : near[i]) - middle_[i];
      for (std::size_t j = 1; j < points; ++j) series_[i * points + j] += lagrange_[k * points + j] * rise;
    }
  }
  centre_ = centre;
}

const double* Function::at(double t) {
  if (const auto found = known_.find(t); found != known_.end()) return kept_.data() + found->second;
  if (known_.size() >= most) known_.clear(), kept_.clear();
  std::vector<double> fresh(size());
  value_(t, fresh.data()); // which may throw: then nothing is kept
  known_[t] = kept_.size();
  kept_.insert(kept_.end(), fresh.begin(), fresh.end());
  return kept_.data() + kept_.size() - size();
}

void Function::find(double t, double* out) { std::copy_n(at(t), size(), out); }

void Function::find_jets(double t, Jet* out) {
  const std::size_t n = size();
  const double* here = at(t);
  for (std::size_t i = 0; i < n; ++i) out[i] = {here[i]};
  if (!rate_ || !second_) {
    const double centre = std::max(std::nearbyint(t / d_.step), double(d_.points / 2)); // runs begin at t = 0
    if (centre != centre_) expand(centre);
    const double u = t / d_.step - centre;
    double side = 0.0;
    for (std::size_t i = 0; d_.unit && i < n; ++i) side += out[i].x * middle_[i];
    for (std::size_t i = 0; i < n; ++i) {
      const double* c = series_.data() + i * std::size_t(d_.points);
      double v = 0.0, a = 0.0;
      for (int j = d_.points - 1; j > 0; --j) {
        if (j > 1) a = a * u + j * (j - 1) * c[j];
        v = v * u + j * c[j];
      }
      const double sign = side < 0.0 ? -1.0 : 1.0;
      out[i].v = sign * v / d_.step, out[i].a = sign * a / (d_.step * d_.step);
    }
  }
  if (rate_) {
    rate_(t, given_.data());
    for (std::size_t i = 0; i < n; ++i) out[i].v = given_[i];
  }
  if (second_) {
    second_(t, given_.data());
    for (std::size_t i = 0; i < n; ++i) out[i].a = given_[i];
  }
}

} // namespace gyrod
