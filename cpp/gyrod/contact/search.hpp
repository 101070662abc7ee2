// Which of many pairs of balls are near each other: found by a sweep along the longest side of all, and kept until a
// ball has moved by half of a skin, so that the cost follows what is near, not all pairs. Nothing but work depends on
// it: whoever asks for pairs within a distance gets all of them, in their order, and some more.
#pragma once

#include <limits>
#include <vector>

#include "gyrod/math/rotation.hpp"

namespace gyrod {

class NearPairs {
public:
  using V3 = Vec3<double>;
  struct Pair {
    int a, b;         // balls
    std::size_t what; // its number for those who ask
  };

  NearPairs() = default;
  NearPairs(std::vector<double> radii, std::vector<Pair> pairs);
  bool empty() const { return pairs_.empty(); }
  double largest() const { return largest_; } // radius

  // Numbers of pairs whose balls are nearer to each other than `gap`, and of some more, in their order.
  const std::vector<std::size_t>& within(double gap, const std::vector<V3>& centres);
  // What pairs that are not among these are apart from each other, at least.
  double beyond() const { return beyond_; }
  // f(number, gap, distance of the centres) of all pairs.
  template <class F> void each(const std::vector<V3>& centres, F&& f) const {
    for (const Pair& p : pairs_) {
      const std::size_t a = std::size_t(p.a), b = std::size_t(p.b);
      const double distance = (centres[a] - centres[b]).norm();
      f(p.what, distance - radii_[a] - radii_[b], distance);
    }
  }

private:
  void search(double gap, const std::vector<V3>& centres);

  std::vector<double> radii_;
  std::vector<Pair> pairs_;         // by balls, the lower number first
  std::vector<std::size_t> firsts_; // of pairs by their first ball
  std::vector<std::size_t> found_;
  std::vector<V3> seen_; // where balls were in the last search
  std::vector<int> order_;
  std::vector<double> low_;
  double skin_ = 0.0, largest_ = 0.0;
  double reach_ = -std::numeric_limits<double>::infinity(); // all pairs nearer than this were found there
  double beyond_ = 0.0;
};

} // namespace gyrod
