// LU factorisation of a sparse matrix of small dense blocks whose pattern is a graph: nodes with their own sizes, links
// between them. Ordering (minimum degree) and fill are found once; chains and trees come out free of fill and cost
// O(n). Pivoting inside the diagonal blocks. One source for real and complex scalars.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace gyrod {

// The symbolic part: which blocks exist and in which order nodes are eliminated. `after` names for a node those that
// must go before it: the diagonal block of a multiplier is zero until its bodies are gone. Nodes from `last` on go
// after all others.
class BlockPattern {
public:
  BlockPattern() = default;
  BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& links,
               const std::vector<std::vector<int>>& after = {}, int last = -1);

  int nodes() const { return int(sizes_.size()); }
  int size(int v) const { return sizes_[std::size_t(v)]; }
  int offset(int v) const { return offsets_[std::size_t(v)]; }
  int total() const { return offsets_.back(); }
  const std::vector<int>& order() const { return order_; }
  const std::vector<int>& later(int v) const { return neighbours_[std::size_t(v)]; }
  std::size_t storage() const { return storage_; }

  // Where block (i, j) is kept; it must belong to the pattern or its fill.
  std::size_t block(int i, int j) const {
    if (i == j) return starts_[std::size_t(i)][0];
    const std::size_t upper = find(i, j);
    if (upper) return starts_[std::size_t(i)][upper];
    const std::size_t lower = find(j, i);
    return starts_[std::size_t(j)][lower] + std::size_t(size(i)) * std::size_t(size(j));
  }

private:
  // 1 + position of j among the later neighbours of i, 0 if it is none.
  std::size_t find(int i, int j) const {
    const auto& list = neighbours_[std::size_t(i)];
    const auto it = std::lower_bound(list.begin(), list.end(), j);
    return it != list.end() && *it == j ? std::size_t(it - list.begin()) + 1 : 0;
  }

  std::vector<int> sizes_, offsets_, order_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<std::size_t>> starts_;
  std::size_t storage_ = 0;
};

} // namespace gyrod
