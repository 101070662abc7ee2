// The multipliers of cut joints: (G M^-1 G') lambda = r, sparse over the cuts.
//
// At a singular position of the mechanism (the flat four-bar) the matrix loses rank: there two branches of motion meet.
// Taken literally, constraints would lead the mechanism along the hyperbola between the branches on which a gap of
// rounding lies, round a corner. Passing straight on needs the rows that lose their hold to let go: a small multiple of
// the mobility of the free bodies is added and taken out again by a few steps of iterative refinement. What is well
// determined is then solved to rounding, what has a relative mobility below `regularisation` is left to inertia.
//
// Overconstrained loops (Bennett's, Bricard's) have dependent rows wherever they can be, and independent ones beside:
// in a stage, which has gaps, all of them together would lock the mechanism. Their rank is known, and of each cut as
// many combinations of its rows act, those on which the others rest there. No choice of rows does that everywhere:
// somewhere on the way it would lose its own rank. Where the loops are closed, derivatives of the combinations drop
// out.
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
  // `mobility`: of each row, about its largest entry on the diagonal in any position; `ranks` count beside the cuts
  // before
  LoopSystem(const std::vector<int>& sizes, const std::vector<int>& ranks,
             const std::vector<std::pair<int, int>>& links, std::vector<double> mobility)
      : mobility_(std::move(mobility)),
        pattern_(std::make_unique<BlockPattern>(sizes, links, one_by_one(sizes, ranks))),
        lu_(std::make_unique<BlockLu<double>>(*pattern_)), values_(pattern_->storage()),
        rest_(std::size_t(pattern_->total())), step_(rest_.size()) {
    for (int c = 0; c < pattern_->nodes(); ++c)
      if (ranks[std::size_t(c)] < pattern_->size(c)) lu_->limit(c, ranks[std::size_t(c)]);
  }

  int size() const { return pattern_ ? pattern_->total() : 0; }
  int offset(int cut) const { return pattern_->offset(cut); }
  // How many combinations of the rows of a cut act, and the weights of one; after `factor`.
  int rank(int cut) const { return lu_->rank(cut); }
  const double* combination(int cut, int k) const { return lu_->kept(cut) + k * pattern_->size(cut); }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
  Grid<double> block(int i, int j) {
    return {values_.data() + pattern_->block(i, j), pattern_->size(i), pattern_->size(j)};
  }

  void factor() {
    lu_->values() = values_;
    for (int v = 0; v < pattern_->nodes(); ++v) {
      auto diagonal = lu_->block(v, v);
      for (int k = 0; k < diagonal.rows(); ++k)
        diagonal(k, k) += regularisation * mobility_[std::size_t(pattern_->offset(v) + k)];
    }
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
      bool done = true;
      for (int i = 0; i < n; ++i) {
        const double before = lambda[i];
        lambda[i] += step_[std::size_t(i)];
        done = done && lambda[i] == before;
      }
      if (done || k + 1 == refinements) break; // well determined: what is left is below rounding
      lu_->subtract_product(values_, step_.data(), rest_.data());
    }
  }

private:
  static std::vector<std::vector<int>> one_by_one(const std::vector<int>& sizes, const std::vector<int>& ranks) {
    std::vector<std::vector<int>> after;
    if (sizes == ranks) return after;
    after.resize(sizes.size());
    for (std::size_t c = 1; c < sizes.size(); ++c) after[c].push_back(int(c) - 1);
    return after;
  }
  std::vector<double> mobility_;
  std::unique_ptr<BlockPattern> pattern_;
  std::unique_ptr<BlockLu<double>> lu_;
  std::vector<double> values_, rest_, step_;
  bool sound_ = false;
};

} // namespace gyrod
