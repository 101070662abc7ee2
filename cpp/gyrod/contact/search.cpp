#include "gyrod/contact/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gyrod {

NearPairs::NearPairs(std::vector<double> radii, std::vector<Pair> pairs)
    : radii_(std::move(radii)), pairs_(std::move(pairs)), firsts_(radii_.size() + 1), order_(radii_.size()),
      low_(radii_.size()) {
  for (Pair& p : pairs_)
    if (p.a > p.b) std::swap(p.a, p.b);
  const auto before = [](const Pair& p, const Pair& q) {
    return p.a != q.a ? p.a < q.a : p.b != q.b ? p.b < q.b : p.what < q.what;
  };
  std::sort(pairs_.begin(), pairs_.end(), before);
  for (const Pair& p : pairs_) ++firsts_[std::size_t(p.a) + 1];
  std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
  std::iota(order_.begin(), order_.end(), 0);
  double all = 0.0;
  for (double r : radii_) largest_ = std::max(largest_, r), all += r;
  if (!radii_.empty()) skin_ = 0.5 * all / double(radii_.size());
  found_.reserve(std::min(pairs_.size(), 16 * radii_.size()));
}

const std::vector<std::size_t>& NearPairs::within(double gap, const std::vector<V3>& centres) {
  double moved = 0.0, all = 0.0;
  for (const V3& x : centres) all += x[0] + x[1] + x[2];
  if (!std::isfinite(all)) return found_; // of a state that is no state
  for (std::size_t i = 0; i < seen_.size(); ++i) moved = std::max(moved, (centres[i] - seen_[i]).squaredNorm());
  beyond_ = reach_ - 2.0 * std::sqrt(moved) - 1e-12 * (1.0 + largest_);
  if (!(beyond_ >= gap)) search(gap + skin_, centres);
  return found_;
}

void NearPairs::search(double gap, const std::vector<V3>& centres) {
  seen_ = centres, reach_ = gap, beyond_ = gap - 1e-12 * (1.0 + largest_);
  found_.clear();
  V3 low = centres[0], high = centres[0];
  for (const V3& x : centres)
    for (int i = 0; i < 3; ++i) low[i] = std::min(low[i], x[i]), high[i] = std::max(high[i], x[i]);
  int axis = 0;
  for (int i = 1; i < 3; ++i)
    if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
  for (std::size_t i = 0; i < radii_.size(); ++i) low_[i] = centres[i][axis] - radii_[i];
  std::sort(order_.begin(), order_.end(), [&](int a, int b) { return low_[std::size_t(a)] < low_[std::size_t(b)]; });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::size_t a = std::size_t(order_[i]);
    const double until = low_[a] + 2.0 * radii_[a] + gap;
    for (std::size_t j = i + 1; j < order_.size(); ++j) {
      const std::size_t b = std::size_t(order_[j]);
      if (low_[b] > until) break;
      const double apart = radii_[a] + radii_[b] + gap;
      if ((centres[a] - centres[b]).squaredNorm() > apart * apart) continue;
      const int first = int(std::min(a, b)), second = int(std::max(a, b));
      const auto end = pairs_.begin() + std::ptrdiff_t(firsts_[std::size_t(first) + 1]);
      auto p = std::lower_bound(pairs_.begin() + std::ptrdiff_t(firsts_[std::size_t(first)]), end, second,
                                [](const Pair& at, int wanted) { return at.b < wanted; });
      for (; p != end && p->b == second; ++p) found_.push_back(p->what);
    }
  }
  std::sort(found_.begin(), found_.end());
}

} // namespace gyrod
