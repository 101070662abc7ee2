#include "gyrod/linear/block_pattern.hpp"

#include <set>

namespace gyrod {
namespace {

// Minimum degree on the quotient graph (Amestoy, Davis, Duff 1996): an eliminated node becomes an element, the list of
// the nodes that it has joined, and takes in those that it covers; lists never grow. Degrees are bounds from above:
// plain links, the last element, and of every other element what lies outside of the last. Among equals the
// smaller number goes: the order is the same in every run.
class MinimumDegree {
public:
  MinimumDegree(int nodes, const std::vector<std::pair<int, int>>& links, int last)
      : last_(last < 0 ? nodes : last), around_(std::size_t(nodes)), elements_(std::size_t(nodes)),
        members_(std::size_t(nodes)), degree_(std::size_t(nodes)), mark_(std::size_t(nodes), 0),
        outside_(std::size_t(nodes)), seen_(std::size_t(nodes), 0), gone_(std::size_t(nodes), false) {
    for (auto [a, b] : links)
      if (a != b) around_[std::size_t(a)].push_back(b), around_[std::size_t(b)].push_back(a);
    for (int v = 0; v < nodes; ++v) {
      auto& list = around_[std::size_t(v)];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      degree_[std::size_t(v)] = int(list.size());
    }
  }

  void release(int v) {
    if (v < last_) queue_.emplace(degree_[std::size_t(v)], v);
  }
  bool empty() const { return queue_.empty(); }

  // The next node; its neighbours then are those that are left.
  int next(std::vector<int>& later) {
    const int v = queue_.begin()->second;
    queue_.erase(queue_.begin());
    gather(v, later);
    std::sort(later.begin(), later.end());
    gone_[std::size_t(v)] = true;
    members_[std::size_t(v)] = later;
    for (int e : elements_[std::size_t(v)]) members_[std::size_t(e)] = {};
    for (int a : later) // what other elements have outside of this one
      for (int e : elements_[std::size_t(a)]) {
        const auto& all = members_[std::size_t(e)];
        if (seen_[std::size_t(e)] != stamp_) seen_[std::size_t(e)] = stamp_, outside_[std::size_t(e)] = int(all.size());
        --outside_[std::size_t(e)];
      }
    for (int a : later) touch(a, v);
    return v;
  }
  // Neighbours of a node that stays.
  void rest(int v, std::vector<int>& later) {
    gather(v, later);
    later.erase(std::remove_if(later.begin(), later.end(), [v](int a) { return a < v; }), later.end());
    std::sort(later.begin(), later.end());
  }

private:
  void gather(int v, std::vector<int>& out) {
    out.clear();
    mark_[std::size_t(v)] = ++stamp_;
    const auto add = [&](int a) {
      if (gone_[std::size_t(a)] || mark_[std::size_t(a)] == stamp_) return;
      mark_[std::size_t(a)] = stamp_;
      out.push_back(a);
    };
    for (int a : around_[std::size_t(v)]) add(a);
    for (int e : elements_[std::size_t(v)])
      for (int a : members_[std::size_t(e)]) add(a);
  }
  // A neighbour of v after its elimination: v stands for what it covers.
  void touch(int a, int v) {
    auto& covered = elements_[std::size_t(a)];
    covered.erase(std::remove_if(covered.begin(), covered.end(),
                                 [&](int e) { return members_[std::size_t(e)].empty() || !outside_[std::size_t(e)]; }),
                  covered.end());
    auto& plain = around_[std::size_t(a)]; // links inside of v are known by it
    plain.erase(std::remove_if(plain.begin(), plain.end(),
                               [&](int b) { return gone_[std::size_t(b)] || mark_[std::size_t(b)] == stamp_; }),
                plain.end());
    int bound = int(plain.size() + members_[std::size_t(v)].size()) - 1;
    for (int e : covered) bound += outside_[std::size_t(e)];
    covered.push_back(v);
    const bool queued = queue_.erase({degree_[std::size_t(a)], a}) > 0;
    degree_[std::size_t(a)] = bound;
    if (queued) queue_.emplace(bound, a);
  }

  int last_;
  std::vector<std::vector<int>> around_, elements_, members_;
  std::vector<int> degree_, mark_, outside_, seen_;
  std::vector<bool> gone_;
  int stamp_ = 0;
  std::set<std::pair<int, int>> queue_;
};

// The same elimination, with the same fill, in an order in which a node follows right after all that goes into it: what
// is at work stays in the cache. Parts that nothing joins are eliminated one after the other.
std::vector<int> subtree_by_subtree(const std::vector<int>& order, const std::vector<std::vector<int>>& later) {
  std::vector<int> place(later.size(), int(order.size())), out, open; // of nodes that stay: behind all others
  for (std::size_t k = 0; k < order.size(); ++k) place[std::size_t(order[k])] = int(k);
  std::vector<int> first(order.size() + 1, -1),
      next(order.size(), -1); // by place: the first child, the brother after it
  for (int k = int(order.size()) - 1; k >= 0; --k) {
    int parent = int(order.size());
    for (int a : later[std::size_t(order[std::size_t(k)])]) parent = std::min(parent, place[std::size_t(a)]);
    next[std::size_t(k)] = first[std::size_t(parent)], first[std::size_t(parent)] = k;
  }
  const auto descend = [&](int k) {
    for (; k >= 0; k = first[std::size_t(k)]) open.push_back(k);
  };
  out.reserve(order.size());
  descend(first[order.size()]);
  while (!open.empty()) {
    const int k = open.back();
    open.pop_back();
    out.push_back(order[std::size_t(k)]);
    descend(next[std::size_t(k)]);
  }
  return out;
}

} // namespace

BlockPattern::BlockPattern(std::vector<int> rows, std::vector<int> columns,
                           const std::vector<std::pair<int, int>>& links, const std::vector<std::vector<int>>& after,
                           int last)
    : rows_(std::move(rows)), columns_(std::move(columns)) {
  const int n = nodes();
  offsets_.resize(std::size_t(n) + 1, 0);
  for (int i = 0; i < n; ++i) offsets_[std::size_t(i) + 1] = offsets_[std::size_t(i)] + size(i);
  std::vector<std::vector<int>> before(after.empty() ? 0 : std::size_t(n)); // who waits for a node
  std::vector<std::size_t> waits(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::vector<int> unique = after[i];
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    waits[i] = unique.size();
    for (int j : unique) before[std::size_t(j)].push_back(int(i));
  }
  MinimumDegree graph(n, links, last);
  for (int i = 0; i < n; ++i)
    if (!waits[std::size_t(i)]) graph.release(i);
  neighbours_.resize(std::size_t(n));
  std::vector<int> later;
  while (!graph.empty()) {
    const int v = graph.next(later);
    order_.push_back(v);
    neighbours_[std::size_t(v)] = later;
    if (!before.empty())
      for (int a : before[std::size_t(v)])
        if (--waits[std::size_t(a)] == 0) graph.release(a);
  }
  for (int v = last < 0 ? n : last; v < n; ++v) {
    graph.rest(v, later);
    neighbours_[std::size_t(v)] = later;
  }
  order_ = subtree_by_subtree(order_, neighbours_);
  starts_.resize(std::size_t(n));
  std::vector<int> all = order_;
  for (int v = last < 0 ? n : last; v < n; ++v) all.push_back(v);
  for (bool above : {false, true})
    for (int v : all) {
      std::vector<std::size_t>& starts = starts_[std::size_t(v)];
      const auto add = [&](int i, int j) {
        starts.push_back(storage_);
        storage_ += std::size_t(this->rows(i)) * std::size_t(this->columns(j));
      };
      if (!above) add(v, v);
      for (int a : neighbours_[std::size_t(v)])
        if (above)
          add(v, a);
        else
          add(a, v);
      if (above)
        starts.push_back(neighbours_[std::size_t(v)].empty() ? storage_
                                                             : starts[1 + neighbours_[std::size_t(v)].size()]);
    }
}

} // namespace gyrod
