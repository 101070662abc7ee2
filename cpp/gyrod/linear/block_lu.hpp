// LU factorisation on a BlockPattern, for nodes of any sizes; see uniform_lu.hpp for nodes of one size.
#pragma once

#include <vector>

#include "gyrod/linear/block_pattern.hpp"
#include "gyrod/math/matrix.hpp"

namespace gyrod {

template <class S> class BlockLu {
public:
  explicit BlockLu(const BlockPattern& pattern)
      : p_(&pattern), values_(pattern.storage(), S(0)), pivots_(std::size_t(pattern.total())) {}

  void clear() { std::fill(values_.begin(), values_.end(), S(0)); }
  const std::vector<S>& values() const { return values_; } // before `factor`, by BlockPattern::block
  Grid<S> block(int i, int j) { return {at(i, j), p_->size(i), p_->size(j)}; }

  // Factor in place. false: a diagonal block is singular or not finite, and nothing can be solved.
  [[nodiscard]] bool factor();
  void solve(S* b) const;

private:
  S* at(int i, int j) { return values_.data() + p_->block(i, j); }
  const S* at(int i, int j) const { return values_.data() + p_->block(i, j); }

  const BlockPattern* p_;
  std::vector<S> values_;
  std::vector<int> pivots_; // of all nodes, by offset
  bool factored_ = false;
};

} // namespace gyrod
