// The multipliers of cut joints: (G M^-1 G') lambda = r, sparse over the cuts.
//
// At a singular position of the mechanism (the flat four-bar) the matrix loses rank: there two branches of motion meet.
// Taken literally, constraints would lead the mechanism along the hyperbola between the branches on which a gap of
// rounding lies, round a corner. Passing straight on needs the rows that lose their hold to let go: a small multiple of
// the mobility of the free bodies is added and taken out again by a few steps of iterative refinement. What is well
// determined is then solved to rounding, what has a relative mobility below `regularisation` is left to inertia.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "gyrod/linear/block_lu.hpp"

namespace gyrod {

class LoopSystem {
public:
  static constexpr double regularisation = 1e-9;
  static constexpr int refinements = 5;

  LoopSystem() = default;
  // `mobility`: of each row, about its largest entry on the diagonal in any position
  LoopSystem(const std::vector<int>& sizes, const std::vector<std::pair<int, int>>& links, std::vector<double> mobility)
      : mobility_(std::move(mobility)), pattern_(std::make_unique<BlockPattern>(sizes, links)),
        lu_(std::make_unique<BlockLu<double>>(*pattern_)), values_(pattern_->storage()),
        rest_(std::size_t(pattern_->total())), step_(rest_.size()) {}

  int size() const { return pattern_ ? pattern_->total() : 0; }
  int offset(int cut) const { return pattern_->offset(cut); }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
  Grid<double> block(int i, int j) {
    return {values_.data() + pattern_->block(i, j), pattern_->size(i), pattern_->size(j)};
  }

  void factor() {
    lu_->clear();
    each([&](int i, int j) {
      auto target = lu_->block(i, j);
      target = block(i, j);
      if (i == j)
        for (int k = 0; k < target.rows(); ++k)
          target(k, k) += regularisation * mobility_[std::size_t(pattern_->offset(i) + k)];
    });
    sound_ = lu_->factor();
  }

  // lambda may not be r. Not a number after a failed factorisation: the step that asked is rejected.
  void solve(const double* r, double* lambda) {
    const int n = size();
    std::fill(lambda, lambda + n, sound_ ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    if (!sound_) return;
    std::copy(r, r + n, rest_.begin());
    for (int k = 0; k < refinements; ++k) {
      step_ = rest_;
      lu_->solve(step_.data());
      for (int i = 0; i < n; ++i) lambda[i] += step_[std::size_t(i)];
      if (k + 1 == refinements) break;
      each([&](int i, int j) { block(i, j).subtract_product(step_.data() + offset(j), rest_.data() + offset(i)); });
    }
  }

private:
  template <class F> void each(F&& f) const {
    for (int v = 0; v < pattern_->nodes(); ++v) {
      f(v, v);
      for (int a : pattern_->later(v)) f(v, a), f(a, v);
    }
  }

  std::vector<double> mobility_;
  std::unique_ptr<BlockPattern> pattern_;
  std::unique_ptr<BlockLu<double>> lu_;
  std::vector<double> values_, rest_, step_;
  bool sound_ = false;
};

} // namespace gyrod
