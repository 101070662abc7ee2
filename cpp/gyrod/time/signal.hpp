// Functions of time: whatever leads an end or a joint, loads, pulls, weighs or stretches takes its numbers from a
// Signal, and does not know where they come from.
//
// Rules for a source of numbers:
//  1. It has `size` numbers. `find` writes them at a time, `find_jets` with their first two derivatives: exact where
//     known, by differences elsewhere. Both are asked once for a time; who asks again gets what was kept.
//  2. `timed` says whether they change with t by themselves. Numbers that somebody sets between steps do not, and are
//     not kept.
//  3. Where there is no number it throws a SignalError that names the place, the time and the reason.
//  4. Who is asked for a time t >= 0 asks nobody for a time before 0.
//  5. Nothing is allocated after the first call; functions of the caller may.
//  6. A source belongs to the systems of one description, which one thread uses at a time.
// A new one is a class in sources.hpp, a constructor in cpp/bind/signal.cpp and a line in equations/signals.py.
#pragma once

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gyrod/math/matrix.hpp"
#include "gyrod/time/jet.hpp"

namespace gyrod {

struct SignalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A number in its text.
std::string told(double x, const char* format = "%g");

class Source {
public:
  explicit Source(std::size_t size, bool timed = true) : timed_(timed), values_(size), jets_(size) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t size() const { return values_.size(); }
  bool timed() const { return timed_; }
  virtual bool foreign() const { return false; } // a function of the caller, which may be anything
  const double* values(double t) {
    if (t != values_at_ || !timed_) {
      values_at_ = none;
      find(t, values_.data());
      values_at_ = t;
    }
    return values_.data();
  }
  const Jet* jets(double t) {
    if (t != jets_at_ || !timed_) {
      jets_at_ = none;
      find_jets(t, jets_.data());
      jets_at_ = t;
    }
    return jets_.data();
  }
  // What was kept does not hold any more.
  virtual void forget() { values_at_ = jets_at_ = none; }

protected:
  virtual void find(double t, double* out) = 0;
  virtual void find_jets(double t, Jet* out) = 0;

private:
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  bool timed_;
  double values_at_ = none, jets_at_ = none;
  std::vector<double> values_;
  std::vector<Jet> jets_;
};

// Numbers over time: a constant, or a source, through a matrix where the places that take them differ.
class Signal {
public:
  enum class Least { any, not_negative, positive };

  Signal() = default; // nothing
  explicit Signal(std::vector<double> constant) : constant_(std::move(constant)), size_(constant_.size()) {}
  // `map`: rows x source->size(), row by row; empty: the numbers as they are.
  explicit Signal(std::shared_ptr<Source> source, std::vector<double> map = {});
  // Numbers that must not be less; the name of the field and its owner are for errors.
  void bound(Least least, std::string field, std::string label);

  std::size_t size() const { return size_; }
  explicit operator bool() const { return size_ > 0; }
  bool constant() const { return !source_; }
  bool timed() const { return source_ && source_->timed(); }
  bool foreign() const { return source_ && source_->foreign(); }
  void forget() const {
    if (source_) source_->forget();
  }

  void values(double t, double* out) const;
  void jets(double t, Jet* out) const;
  double number(double t) const {
    double x;
    values(t, &x);
    return x;
  }
  Matrix<double, 3, 1> vector(double t) const {
    Matrix<double, 3, 1> x;
    values(t, x.data());
    return x;
  }

private:
  void check(double t, double x) const;

  std::vector<double> constant_;
  std::shared_ptr<Source> source_;
  std::vector<double> map_;
  std::size_t size_ = 0;
  Least least_ = Least::any;
  std::string field_, label_;
};

} // namespace gyrod
