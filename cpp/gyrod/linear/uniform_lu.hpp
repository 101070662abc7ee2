// LU factorisation of a sparse matrix of B x B blocks on a graph, with the ordering and fill of BlockPattern: the
// structure of `BlockLu` with a block size known to the compiler, for chains of rod cells and bodies. The order of all
// operations is written down once; a chain costs what a hand-written block-tridiagonal solver costs. Nodes from `last`
// on are not eliminated: what is left of their blocks is the Schur complement; of those without rows only columns
// matter. Parts of the graph that nothing but such nodes joins may be filled, factored and solved one by one, or at the
// same time: what they leave of the nodes that stay is collected node by node, in the order of the steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gyrod/linear/block_pattern.hpp"
#include "gyrod/linear/solve_small.hpp"
#include "gyrod/math/matrix.hpp"

namespace gyrod {

template <class S, int B> class UniformLu {
public:
  using Block = Matrix<S, B, B>;
  using Vector = Matrix<S, B, 1>;

  // Steps of the elimination, and the blocks that they own: those for the way forwards, those for the way back.
  struct Part {
    std::uint32_t begin, end, lower, lower_end, upper, upper_end;
  };

  GYROD_COLD explicit UniformLu(const BlockPattern& p) : blocks_(p.storage() / (B * B)) {
    std::vector<bool> stays(std::size_t(p.nodes()), true);
    for (int v : p.order()) stays[std::size_t(v)] = false;
    const auto silent = [&](int v) { return p.rows(v) == 0; };
    const auto left = [&](int v) { return bool(stays[std::size_t(v)]); };
    const auto slot = [](std::size_t storage) { return std::uint32_t(storage / (B * B)); };
    std::vector<std::uint32_t> between;
    std::vector<std::pair<int, Update>> rests; // what is left of blocks of nodes that stay, by row
    for (int v : p.order()) {
      const std::uint32_t links = std::uint32_t(links_.size());
      const std::vector<int>& later = p.later(v);
      const std::size_t n = later.size();
      Step step{v, at(p, v, v), slot(p.first_upper(v)), links, links, links, 0, std::uint32_t(updates_.size()), 0};
      const auto link = [&](bool quiet, bool staying) {
        for (std::size_t k = 0; k < later.size(); ++k)
          if (silent(later[k]) == quiet && left(later[k]) == staying)
            links_.push_back({later[k], slot(p.upper(v, k)), slot(p.lower(v, k))});
        return std::uint32_t(links_.size());
      };
      step.inner = link(false, false), step.rows = link(false, true);
      link(true, false), step.links_end = link(true, true);
      // Where the blocks between these are: lists of neighbours are sorted, and looked through once.
      between.resize(n * n);
      for (std::size_t i = 0; i < n; ++i) {
        const int a = later[i];
        const std::vector<int>& beyond = p.later(a);
        between[i * n + i] = at(p, a, a);
        for (std::size_t j = 0, k = 0; j < n && k < beyond.size();)
          if (beyond[k] < later[j])
            ++k;
          else if (later[j] < beyond[k])
            ++j;
          else
            between[i * n + j] = slot(p.upper(a, k)), between[j * n + i] = slot(p.lower(a, k)), ++j, ++k;
      }
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i) {
          const int a = later[i], b = later[j];
          if (silent(a)) continue;
          const Update update{between[i * n + j], slot(p.lower(v, i)), slot(p.upper(v, j))};
          if (left(a) && left(b))
            rests.emplace_back(a, update);
          else
            updates_.push_back(update);
        }
      step.updates_end = std::uint32_t(updates_.size());
      steps_.push_back(step);
    }
    uppers_ = staying_upper_ = std::uint32_t(blocks_.size());
    if (!steps_.empty()) uppers_ = steps_.front().upper;
    for (int v = 0; v < p.nodes(); ++v)
      if (left(v)) staying_upper_ = std::min(staying_upper_, slot(p.first_upper(v)));
    uppers_ = std::min(uppers_, staying_upper_), staying_ = uppers_;
    for (int v = 0; v < p.nodes(); ++v)
      if (left(v)) staying_ = std::min(staying_, slot(p.first_lower(v)));
    collect(p, [&](int v) { return left(v) && !silent(v); }, std::move(rests));
  }

  static std::uint32_t at(const BlockPattern& p, int i, int j) { return std::uint32_t(p.block(i, j) / (B * B)); }
  Block& block(std::size_t slot) { return blocks_[slot]; }
  const Block& block(std::size_t slot) const { return blocks_[slot]; }

  // Blocks stand in the order of the steps, those of nodes that stay behind all others.
  Part part(std::size_t begin, std::size_t end) const {
    const auto lower = [&](std::size_t k) { return k < steps_.size() ? steps_[k].diagonal : staying_; };
    const auto upper = [&](std::size_t k) { return k < steps_.size() ? steps_[k].upper : staying_upper_; };
    return {std::uint32_t(begin), std::uint32_t(end), lower(begin), lower(end), upper(begin), upper(end)};
  }
  Part whole() const { return part(0, steps_.size()); }
  void clear() {
    clear_staying();
    clear(whole());
  }
  void clear(const Part& p) {
    for (std::uint32_t k = p.lower; k < p.lower_end; ++k) blocks_[k].setZero();
    for (std::uint32_t k = p.upper; k < p.upper_end; ++k) blocks_[k].setZero();
  }
  void clear_staying() {
    factored_ = false;
    for (std::size_t k = staying_; k < uppers_; ++k) blocks_[k].setZero();
    for (std::size_t k = staying_upper_; k < blocks_.size(); ++k) blocks_[k].setZero();
  }

  // Factor in place: diagonal blocks become their inverses. false: one of them is singular.
  [[nodiscard]] bool factor() {
    factored_ = false;
    if (!factor(whole())) return false;
    for (std::size_t k = 0; k < rests(); ++k) factor_rest(k);
    return factored_ = true;
  }
  // The same of a part; when all are done, of each node that stays and has rows, in their order; then `conclude`.
  [[nodiscard]] bool factor(const Part& p) {
    for (const Step *s = steps_.data() + p.begin, *end = steps_.data() + p.end; s != end; ++s) {
      const Block& inverse = blocks_[s->diagonal];
      if (!invert(blocks_[s->diagonal])) return false;
      for (std::uint32_t k = s->links; k < s->links_end; ++k) {
        Block& upper = blocks_[links_[k].upper];
        const Block product = inverse * upper;
        upper = product;
      }
      for (const Update *u = updates_.data() + s->updates, *last = updates_.data() + s->updates_end; u != last; ++u)
        blocks_[u->target] -= blocks_[u->lower] * blocks_[u->upper];
    }
    return true;
  }
  std::size_t rests() const { return rests_.size(); }
  void factor_rest(std::size_t k) {
    const Rest& r = rests_[k];
    for (const Update *u = left_.data() + r.updates, *last = left_.data() + r.updates_end; u != last; ++u)
      blocks_[u->target] -= blocks_[u->lower] * blocks_[u->upper];
  }
  void conclude() { factored_ = true; }

  void solve(Vector* x) const {
    std::vector<Vector> left(sources());
    forward(x, left.data(), whole());
    for (std::size_t k = 0; k < rests(); ++k) forward_rest(x, left.data(), k);
    backward(x, whole());
  }
  // What goes to nodes that stay is kept in `left`, of `sources` vectors, until all parts are done.
  std::size_t sources() const { return sources_; }
  void forward(Vector* x, Vector* left, const Part& p) const {
    if (!factored_) throw std::logic_error("solve without a factorisation");
    for (const Step *s = steps_.data() + p.begin, *end = steps_.data() + p.end; s != end; ++s) {
      Vector& mine = x[s->node];
      const Vector product = blocks_[s->diagonal] * mine;
      mine = product;
      for (std::uint32_t k = s->links; k < s->inner; ++k) x[links_[k].node] -= blocks_[links_[k].lower] * mine;
      for (std::uint32_t k = s->inner; k < s->rows; ++k) left[links_[k].source] = blocks_[links_[k].lower] * mine;
    }
  }
  void forward_rest(Vector* x, const Vector* left, std::size_t k) const {
    const Rest& r = rests_[k];
    for (std::uint32_t i = r.sources; i < r.sources_end; ++i) x[r.node] -= left[i];
  }
  void backward(Vector* x, const Part& p) const {
    for (std::size_t i = p.end; i-- > p.begin;) {
      const Step& s = steps_[i];
      for (std::uint32_t k = s.links; k < s.links_end; ++k) x[s.node] -= blocks_[links_[k].upper] * x[links_[k].node];
    }
  }

  // Of the transposed matrix, by the same factors; `backward_transposed` goes before.
  void solve_transposed(Vector* x) const {
    backward_transposed(x, whole());
    forward_transposed(x, whole());
  }
  GYROD_COLD void backward_transposed(Vector* x, const Part& p) const {
    if (!factored_) throw std::logic_error("solve without a factorisation");
    for (const Step *s = steps_.data() + p.begin, *end = steps_.data() + p.end; s != end; ++s)
      for (std::uint32_t k = s->links; k < s->links_end; ++k)
        x[links_[k].node] -= blocks_[links_[k].upper].transpose() * x[s->node];
  }
  GYROD_COLD void forward_transposed(Vector* x, const Part& p) const {
    for (std::size_t i = p.end; i-- > p.begin;) {
      const Step& s = steps_[i];
      Vector& mine = x[s.node];
      for (std::uint32_t k = s.links; k < s.rows; ++k) mine -= blocks_[links_[k].lower].transpose() * x[links_[k].node];
      const Vector product = blocks_[s.diagonal].transpose() * mine;
      mine = product;
    }
  }

  // Of a symmetric matrix, after `factor`: the number of negative eigenvalues, which is that of the pivots
  // (Haynsworth).
  int negative_pivots() const {
    int n = 0;
    for (const Step& s : steps_) {
      auto inverse = blocks_[s.diagonal];
      if constexpr (B > 6) { // multipliers, in units in which they are as large as what they hold
        double held = 0.0, by = 0.0;
        for (int i = 0; i < B; ++i) (i < 6 ? held : by) = std::max(i < 6 ? held : by, std::abs(inverse(i, i)));
        const double scale = by > 0.0 ? std::sqrt(held / by) : 1.0;
        for (int i = 0; i < B; ++i)
          for (int j = 0; j < B; ++j) inverse(i, j) *= (i < 6 ? 1.0 : scale) * (j < 6 ? 1.0 : scale);
      }
      n += negative_eigenvalues(inverse.data(), B);
    }
    return n;
  }

private:
  struct Link {
    int node;
    std::uint32_t upper, lower, source = 0; // source: of what a node that stays is left
  };
  struct Update {
    std::uint32_t target, lower, upper;
  };
  struct Step {
    int node;
    std::uint32_t diagonal, upper; // upper: the first of those above
    // Of links_: those that have rows come first, and of these the ones that do not stay.
    std::uint32_t links, inner, rows, links_end;
    std::uint32_t updates, updates_end; // of updates_
  };
  struct Rest { // of a node that stays: updates of its row in left_, and what those before it leave
    int node;
    std::uint32_t updates, updates_end, sources, sources_end;
  };

  template <class Wanted>
  GYROD_COLD void collect(const BlockPattern& p, Wanted&& wanted, std::vector<std::pair<int, Update>> found) {
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<std::uint32_t>> before(std::size_t(p.nodes())); // links
    for (const Step& s : steps_)
      for (std::uint32_t k = s.inner; k < s.rows; ++k) before[std::size_t(links_[k].node)].push_back(k);
    std::size_t next = 0;
    for (int v = 0; v < p.nodes(); ++v) {
      if (!wanted(v)) continue;
      Rest r{v, std::uint32_t(left_.size()), 0, sources_, 0};
      for (; next < found.size() && found[next].first == v; ++next) left_.push_back(found[next].second);
      for (std::uint32_t k : before[std::size_t(v)]) links_[k].source = sources_++;
      r.updates_end = std::uint32_t(left_.size()), r.sources_end = sources_;
      rests_.push_back(r);
    }
  }

  // a <- a^-1 by Gauss-Jordan elimination with row pivoting, in updates of fixed length. A solution then is one
  // product; rods solve six times with each factorisation, and their blocks are far from singular.
  static bool invert(Block& a) {
    std::array<int, B> perm{};
    for (int k = 0; k < B; ++k) {
      int best = k;
      double largest = magnitude(a(k, k));
      for (int i = k + 1; i < B; ++i)
        if (const double v = magnitude(a(i, k)); v > largest) largest = v, best = i;
      if (!(largest > 0.0) || !std::isfinite(largest)) return false;
      perm[std::size_t(k)] = best;
      if (best != k) a.row(k).swap(a.row(best));
      const S pivot = S(1) / a(k, k);
      Vector column = a.col(k);
      column[k] = S(0);
      a.col(k).setZero();
      a(k, k) = S(1);
      const Matrix<S, 1, B> row = a.row(k) * pivot;
      a.row(k) = row;
      a -= column * row;
    }
    for (int k = B - 1; k >= 0; --k)
      if (perm[std::size_t(k)] != k) a.col(k).swap(a.col(perm[std::size_t(k)]));
    return true;
  }

  std::vector<Block> blocks_;
  std::vector<Step> steps_;
  std::vector<Link> links_;
  std::vector<Update> updates_, left_;
  std::vector<Rest> rests_;
  std::uint32_t sources_ = 0;
  std::uint32_t staying_, staying_upper_, uppers_; // the first blocks of nodes that stay, and of all above the diagonal
  bool factored_ = false;
};

} // namespace gyrod
