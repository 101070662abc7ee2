// Several systems of equations as one, their states one after the other. For parts that do not act on each other.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gyrod/integrate/equations.hpp"

namespace gyrod {

// Mass and index of systems one after the other, of which some are differential-algebraic.
class AlgebraicParts {
public:
  void add(const Equations& part) {
    const double* mass = part.mass();
    const int* index = part.index();
    for (std::size_t i = 0; i < part.size(); ++i)
      mass_.push_back(mass ? mass[i] : 1.0), index_.push_back(index ? index[i] : 1);
    any_ = any_ || mass;
  }
  const double* mass() const { return any_ ? mass_.data() : nullptr; }
  const int* index() const { return any_ ? index_.data() : nullptr; }

private:
  std::vector<double> mass_;
  std::vector<int> index_;
  bool any_ = false;
};

class Composite final : public Equations {
public:
  void add(Equations* part) {
    parts_.push_back({part, size_});
    size_ += part->size();
    algebraic_.add(*part);
  }

  // A part that is alone is asked directly: a small body's right-hand side takes as long as ten calls.
  Equations& all() { return parts_.size() == 1 ? *parts_[0].equations : *this; }
  const Equations& all() const { return parts_.size() == 1 ? std::as_const(*parts_[0].equations) : *this; }

  std::size_t size() const override { return size_; }
  bool autonomous() const override {
    for (const Part& p : parts_)
      if (!p.equations->autonomous()) return false;
    return true;
  }
  void rhs(double t, const double* y, double* dy) override {
    for (Part& p : parts_) p.equations->rhs(t, y + p.at, dy + p.at);
  }
  void time_derivative(double t, const double* y, double* ft) override {
    for (Part& p : parts_) p.equations->time_derivative(t, y + p.at, ft + p.at);
  }
  void jacobian(double t, const double* y) override {
    for (Part& p : parts_) p.equations->jacobian(t, y + p.at);
  }
  bool factor(double shift) override { return factor_all(shift); }
  bool factor(Complex shift) override { return factor_all(shift); }
  void solve(double* b) override {
    for (Part& p : parts_) p.equations->solve(b + p.at);
  }
  void solve(Complex* b) override {
    for (Part& p : parts_) p.equations->solve(b + p.at);
  }
  void solve_transposed(double* b) override {
    for (Part& p : parts_) p.equations->solve_transposed(b + p.at);
  }
  const double* mass() const override { return algebraic_.mass(); }
  const int* index() const override { return algebraic_.index(); }
  bool project(double t, double* y) override {
    bool moved = false;
    for (Part& p : parts_) moved = p.equations->project(t, y + p.at) || moved;
    return moved;
  }
  const char* trouble(double t, const double* y) const override {
    for (const Part& p : parts_)
      if (const char* reason = p.equations->trouble(t, y + p.at)) return reason;
    return nullptr;
  }

  bool accepted(double t, double* y) override {
    bool changed = false;
    for (Part& p : parts_) changed = p.equations->accepted(t, y + p.at) || changed;
    return changed;
  }
  double horizon() const override {
    double least = std::numeric_limits<double>::infinity();
    for (const Part& p : parts_) least = std::min(least, p.equations->horizon());
    return least;
  }
  double overshoot(double t, const double* y) override {
    double least = std::numeric_limits<double>::infinity();
    for (Part& p : parts_) least = std::min(least, p.equations->overshoot(t, y + p.at));
    return least;
  }
  void impacts(double t, const double* y, double time, std::vector<Impact>& out) override {
    for (Part& p : parts_) {
      std::size_t i = out.size();
      p.equations->impacts(t, y + p.at, time, out);
      for (; i < out.size(); ++i) out[i].at += p.at;
    }
  }
  // One part has all contacts.
  void revisit(double t, const double* y, std::vector<Impact>& them) override {
    for (Part& p : parts_) p.equations->revisit(t, y + p.at, them);
  }
  void quasistatic(bool on) override {
    for (Part& p : parts_) p.equations->quasistatic(on);
  }
  void rest(double t, double* y, bool remember) override {
    for (Part& p : parts_) p.equations->rest(t, y + p.at, remember);
  }
  double reach(double t, const double* y, const double* to) override {
    double least = std::numeric_limits<double>::infinity();
    for (Part& p : parts_) least = std::min(least, p.equations->reach(t, y + p.at, to + p.at));
    return least;
  }
  bool soften(double factor) override {
    bool any = false;
    for (Part& p : parts_) any = p.equations->soften(factor) || any;
    return any;
  }
  void share(Threads* threads) override {
    Equations::share(threads);
    for (Part& p : parts_) p.equations->share(threads);
  }
  void retract(double t, const double* y, const double* d, double by, double* out) override {
    for (Part& p : parts_) p.equations->retract(t, y + p.at, d + p.at, by, out + p.at);
  }
  int negative_pivots() const override {
    int n = 0;
    for (const Part& p : parts_) n += p.equations->negative_pivots();
    return n;
  }

private:
  struct Part {
    Equations* equations;
    std::size_t at;
  };
  template <class S> bool factor_all(S shift) {
    for (Part& p : parts_)
      if (!p.equations->factor(shift)) return false;
    return true;
  }
  std::vector<Part> parts_;
  std::size_t size_ = 0;
  AlgebraicParts algebraic_;
};

} // namespace gyrod
