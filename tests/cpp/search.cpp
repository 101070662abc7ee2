// Balls that move and jump: what a search for near pairs gives, against all pairs. Prints for each step: pairs that are
// near, pairs that were given, near ones among them, whether they are in order, whether all others are beyond.
#include <algorithm>
#include <cstdio>
#include <random>

#include "gyrod/contact/search.hpp"

using namespace gyrod;

int main() {
  std::mt19937 generator(5);
  std::normal_distribution<> normal;
  for (int balls : {2, 7, 60}) {
    std::vector<double> radii;
    std::vector<Vec3<double>> x;
    std::vector<NearPairs::Pair> pairs;
    for (int i = 0; i < balls; ++i) {
      radii.push_back(0.1 + 0.2 * std::abs(normal(generator)));
      x.emplace_back(normal(generator), 2.0 * normal(generator), normal(generator));
      for (int j = 0; j < i; ++j)
        if ((i + j) % 5)
          pairs.push_back(i % 2 ? NearPairs::Pair{i, j, pairs.size()} : NearPairs::Pair{j, i, pairs.size()});
    }
    pairs.push_back({1, 0, pairs.size()}); // two contacts of the same bodies
    NearPairs search(radii, pairs);
    for (int step = 0; step < 200; ++step) {
      for (auto& p : x)
        for (int k = 0; k < 3; ++k) p[k] += (step % 50 ? 0.01 : 1.0) * normal(generator);
      const double gap = 0.02 * (step % 3);
      const std::vector<std::size_t> given = search.within(gap, x);
      std::size_t near = 0, found = 0;
      bool beyond = search.beyond() >= gap;
      for (const auto& p : pairs) {
        const double apart =
            (x[std::size_t(p.a)] - x[std::size_t(p.b)]).norm() - radii[std::size_t(p.a)] - radii[std::size_t(p.b)];
        const bool here = std::binary_search(given.begin(), given.end(), p.what);
        near += apart < gap, found += apart < gap && here;
        beyond = beyond && (here || apart >= search.beyond());
      }
      std::printf("%zu %zu %zu %d %d\n", near, given.size(), found,
                  int(std::is_sorted(given.begin(), given.end()) &&
                      std::adjacent_find(given.begin(), given.end()) == given.end()),
                  int(beyond));
    }
  }
}
