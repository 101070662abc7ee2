// Which blocks a sparse matrix of small dense blocks has, and in which order its nodes are eliminated. The pattern is a
// graph: nodes with their own numbers of rows and columns, links between them. Ordering (minimum degree) and fill are
// found once; chains and trees come out free of fill and cost O(n).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace gyrod {

// `after` names for a node those that must go before it: the diagonal block of a multiplier is zero until its bodies
// are gone. Nodes from `last` on are not eliminated: of their blocks those exist that the others leave.
//
// Blocks on the diagonal and below it, by which a solution goes forwards, stand in the order of elimination; behind all
// of them stand those above it, by which it goes back: each way reads memory from one end to the other.
class BlockPattern {
public:
  BlockPattern() = default;
  BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& links,
               const std::vector<std::vector<int>>& after = {}, int last = -1)
      : BlockPattern(sizes, sizes, links, after, last) {}
  BlockPattern(std::vector<int> rows, std::vector<int> columns, const std::vector<std::pair<int, int>>& links,
               const std::vector<std::vector<int>>& after = {}, int last = -1);

  int nodes() const { return int(rows_.size()); }
  int rows(int v) const { return rows_[std::size_t(v)]; }
  int columns(int v) const { return columns_[std::size_t(v)]; }
  // Of square nodes.
  int size(int v) const { return columns_[std::size_t(v)]; }
  int offset(int v) const { return offsets_[std::size_t(v)]; }
  int total() const { return offsets_.back(); }
  const std::vector<int>& order() const { return order_; }
  // Neighbours that are eliminated after v, in the order of their numbers.
  const std::vector<int>& later(int v) const { return neighbours_[std::size_t(v)]; }
  std::size_t storage() const { return storage_; }

  // Where block (i, j) is kept; it must belong to the pattern or its fill.
  std::size_t block(int i, int j) const {
    if (i == j) return starts_[std::size_t(i)][0];
    const std::size_t k = find(i, j);
    return k ? upper(i, k - 1) : lower(j, find(j, i) - 1);
  }
  // The same for neighbour k of those after v: (v, later[k]) and (later[k], v).
  std::size_t upper(int v, std::size_t k) const { return starts_[std::size_t(v)][1 + later(v).size() + k]; }
  std::size_t lower(int v, std::size_t k) const { return starts_[std::size_t(v)][1 + k]; }
  // Where those of a node begin: on the diagonal and below, above.
  std::size_t first_lower(int v) const { return starts_[std::size_t(v)].front(); }
  std::size_t first_upper(int v) const { return starts_[std::size_t(v)].back(); }

private:
  // 1 + position of j among the later neighbours of i, 0 if it is none.
  std::size_t find(int i, int j) const {
    const auto& list = neighbours_[std::size_t(i)];
    const auto it = std::lower_bound(list.begin(), list.end(), j);
    return it != list.end() && *it == j ? std::size_t(it - list.begin()) + 1 : 0;
  }

  std::vector<int> rows_, columns_, offsets_, order_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<std::size_t>> starts_;
  std::size_t storage_ = 0;
};

} // namespace gyrod
