#include "gyrod/linear/block_pattern.hpp"

#include <set>

namespace gyrod {

BlockPattern::BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& links,
                           const std::vector<std::vector<int>>& after, int last)
    : sizes_(std::move(sizes)) {
  const int n = int(sizes_.size());
  const auto rank = [&](int i, std::size_t degree) { // the key of the queue
    return degree + (last >= 0 && i >= last ? std::size_t(n) : 0);
  };
  offsets_.resize(std::size_t(n) + 1, 0);
  for (int i = 0; i < n; ++i) offsets_[std::size_t(i) + 1] = offsets_[std::size_t(i)] + sizes_[std::size_t(i)];
  std::vector<std::set<int>> graph(static_cast<std::size_t>(n));
  for (auto [a, b] : links)
    if (a != b) graph[std::size_t(a)].insert(b), graph[std::size_t(b)].insert(a);
  // Minimum degree; a set of (degree, node) keeps it O(n log n) for trees.
  std::set<std::pair<std::size_t, int>> queue;
  std::vector<std::vector<int>> before(after.empty() ? 0 : std::size_t(n)); // who waits for a node
  std::vector<std::size_t> waits(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::set<int> unique(after[i].begin(), after[i].end());
    waits[i] = unique.size();
    for (int j : unique) before[std::size_t(j)].push_back(int(i));
  }
  for (int i = 0; i < n; ++i)
    if (!waits[std::size_t(i)]) queue.emplace(rank(i, graph[std::size_t(i)].size()), i);
  neighbours_.resize(std::size_t(n));
  while (!queue.empty()) {
    const int v = queue.begin()->second;
    queue.erase(queue.begin());
    order_.push_back(v);
    const std::vector<int> around(graph[std::size_t(v)].begin(), graph[std::size_t(v)].end());
    neighbours_[std::size_t(v)] = around; // all of them are eliminated later
    for (int a : around) {
      auto& g = graph[std::size_t(a)];
      queue.erase({rank(a, g.size()), a});
      g.erase(v);
      for (int b : around)
        if (a != b) g.insert(b);
      if (!waits[std::size_t(a)]) queue.emplace(rank(a, g.size()), a);
    }
    if (!before.empty())
      for (int a : before[std::size_t(v)])
        if (--waits[std::size_t(a)] == 0) queue.emplace(rank(a, graph[std::size_t(a)].size()), a);
  }
  // One slot of storage for every block (row, column), both triangles.
  starts_.resize(std::size_t(n));
  for (int v = 0; v < n; ++v) {
    starts_[std::size_t(v)].push_back(storage_); // diagonal
    storage_ += std::size_t(sizes_[std::size_t(v)]) * std::size_t(sizes_[std::size_t(v)]);
    for (int a : neighbours_[std::size_t(v)]) {
      starts_[std::size_t(v)].push_back(storage_); // (v, a), then (a, v)
      storage_ += 2 * std::size_t(sizes_[std::size_t(v)]) * std::size_t(sizes_[std::size_t(a)]);
    }
  }
}

} // namespace gyrod
