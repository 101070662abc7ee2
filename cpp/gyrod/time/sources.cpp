#include "gyrod/time/sources.hpp"

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

const double* Stairs::row(double t) const {
  const auto next = std::lower_bound(times_.begin(), times_.end(), t) - times_.begin();
  return rows_.data() + std::size_t(std::max<std::ptrdiff_t>(next - 1, 0)) * size();
}

void difference_weights(const std::vector<double>& x, int order, std::vector<double>& weights) {
  // Fornberg (1988): weights of the derivatives 0, 1, 2 at 0, point by point.
  const std::size_t n = x.size();
  std::vector<double> w(3 * n, 0.0);
  double before = 1.0;
  w[0] = 1.0;
  for (std::size_t i = 1; i < n; ++i) {
    double product = 1.0;
    for (std::size_t j = 0; j < i; ++j) {
      const double gap = x[i] - x[j];
      product *= gap;
      if (j + 1 == i) // the new point, from the last one while that is what it was
        for (int k = 2; k >= 0; --k)
          w[std::size_t(k) * n + i] =
              before * ((k ? k * w[std::size_t(k - 1) * n + i - 1] : 0.0) - x[i - 1] * w[std::size_t(k) * n + i - 1]) /
              product;
      for (int k = 2; k >= 0; --k) {
        double& here = w[std::size_t(k) * n + j];
        here = (x[i] * here - (k ? k * w[std::size_t(k - 1) * n + j] : 0.0)) / gap;
      }
    }
    before = product;
  }
  weights.assign(w.begin() + std::ptrdiff_t(std::size_t(order) * n),
                 w.begin() + std::ptrdiff_t(std::size_t(order + 1) * n));
}

Function::Function(std::size_t size, Call value, Call rate, Call second, Differences differences)
    : Source(size), value_(std::move(value)), rate_(std::move(rate)), second_(std::move(second)), d_(differences) {
  std::vector<double> x;
  for (int k = 0; k < d_.points; ++k) x.push_back((k - d_.points / 2) * d_.step);
  difference_weights(x, 1, first_weights_);
  difference_weights(x, 2, second_weights_);
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
  const std::vector<double> here(at(t), at(t) + n);
  for (std::size_t i = 0; i < n; ++i) out[i] = {here[i]};
  if (!rate_ || !second_) {
    const int half = d_.points / 2;
    const double centre = std::max(t, half * d_.step); // runs begin at t = 0
    std::vector<double> first = first_weights_, second = second_weights_;
    if (t != centre) {
      std::vector<double> x;
      for (int k = -half; k <= half; ++k) x.push_back(centre + k * d_.step - t);
      difference_weights(x, 1, first), difference_weights(x, 2, second);
    }
    for (int k = -half; k <= half; ++k) {
      const double* near = k ? at(centre + k * d_.step) : at(centre);
      double side = 0.0;
      for (std::size_t i = 0; d_.unit && i < n; ++i) side += near[i] * here[i];
      const double sign = side < 0.0 ? -1.0 : 1.0, f = sign * first[std::size_t(k + half)],
                   s = sign * second[std::size_t(k + half)];
      for (std::size_t i = 0; i < n; ++i) out[i].v += f * near[i], out[i].a += s * near[i];
    }
  }
  std::vector<double> given(n);
  if (rate_) {
    rate_(t, given.data());
    for (std::size_t i = 0; i < n; ++i) out[i].v = given[i];
  }
  if (second_) {
    second_(t, given.data());
    for (std::size_t i = 0; i < n; ++i) out[i].a = given[i];
  }
}

} // namespace gyrod
