// Where the numbers of signals come from; the rules stand in signal.hpp.
#pragma once

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "gyrod/time/program.hpp"
#include "gyrod/time/signal.hpp"

namespace gyrod {

// A formula for each number; `names` and `label` are for errors.
class Formulas final : public Source {
public:
  Formulas(std::vector<Program> programs, std::vector<std::string> names, std::string label);

private:
  void find(double t, double* out) override;
  void find_jets(double t, Jet* out) override;
  [[noreturn]] void fail(std::size_t i, double t, Program::Trouble trouble) const;

  std::vector<Program> programs_;
  std::vector<std::string> names_;
  std::string label_;
};

// Numbers that are kept elsewhere and may be set between steps.
class Slots final : public Source {
public:
  Slots(std::shared_ptr<const double> numbers, std::size_t size) : Source(size, false), numbers_(std::move(numbers)) {}

private:
  void find(double, double* out) override { std::copy_n(numbers_.get(), size(), out); }
  void find_jets(double, Jet* out) override { std::copy_n(numbers_.get(), size(), out); }

  std::shared_ptr<const double> numbers_;
};

// Cubics of the time since `numbers[0]`, which may be set between steps: the coefficients of each number, the highest
// first, follow. Whoever sets them lets the source forget.
class Cubics final : public Source {
public:
  Cubics(std::shared_ptr<const double> numbers, std::size_t size) : Source(size), numbers_(std::move(numbers)) {}

private:
  void find(double t, double* out) override;
  void find_jets(double t, Jet* out) override;

  std::shared_ptr<const double> numbers_;
};

// Numbers that are constant between times: row k acts after times[k] up to and at times[k + 1], the first one also
// before, the last one for ever.
class Stairs final : public Source {
public:
  Stairs(std::vector<double> times, std::vector<double> rows)
      : Source(rows.size() / times.size()), times_(std::move(times)), rows_(std::move(rows)) {}

private:
  const double* row(double t) const;
  void find(double t, double* out) override { std::copy_n(row(t), size(), out); }
  void find_jets(double t, Jet* out) override { std::copy_n(row(t), size(), out); }

  std::vector<double> times_, rows_;
};

// Piecewise polynomials through samples, with two continuous derivatives: piece k holds from breaks[k] to breaks[k +
// 1]. Neighbouring times are found without a search. `unit`: quaternions, of which the direction is taken.
class Samples final : public Source {
public:
  enum class Outside { refused, held, periodic };
  // `coefficients`: of powers of the time since the break, the highest first, of each number, of each piece.
  Samples(std::vector<double> breaks, std::vector<double> coefficients, std::size_t size, bool unit, Outside outside,
          std::string label);

private:
  void find(double t, double* out) override;
  void find_jets(double t, Jet* out) override;
  // The time since the break of the piece that is made current; `still`: outside, where the numbers are held.
  double enter(double t, bool& still);
  const double* piece() const { return coefficients_.data() + last_ * size() * powers_; }

  std::vector<double> breaks_, coefficients_;
  std::size_t powers_, last_ = 0;
  bool unit_;
  Outside outside_;
  std::string label_;
};

// A function of the caller, called once for a time, with its derivatives or without: those that are not given are those
// of the polynomial through an odd number of multiples of a step around the time. Times next to each other, as stages
// of short steps have, share these points.
class Function final : public Source {
public:
  using Call = std::function<void(double, double*)>;
  struct Differences {
    int points = 5;
    double step = 4e-4; // where errors of rounding and of the polynomial meet for motions of some hertz
    bool unit = false;  // quaternions, whose sign may change from call to call
  };
  Function(std::size_t size, Call value, Call rate, Call second, Differences differences);
  bool foreign() const override { return true; }
  void forget() override { Source::forget(), known_.clear(), kept_.clear(), centre_ = -1.0; }

private:
  static constexpr std::size_t most = 1 << 16; // times that are kept
  void find(double t, double* out) override;
  void find_jets(double t, Jet* out) override;
  // The value at a time; lives until the next call.
  const double* at(double t);
  // The polynomial around a multiple of the step, in steps from there.
  void expand(double centre);

  Call value_, rate_, second_;
  Differences d_;
  std::vector<double> lagrange_;                // coefficients of u^j in the polynomial that is 1 at point k alone
  std::vector<double> given_, middle_, series_; // series_: of u^j, for each number
  double centre_ = -1.0;
  std::unordered_map<double, std::size_t> known_; // where the values at a time are in `kept_`
  std::vector<double> kept_;
};

} // namespace gyrod
