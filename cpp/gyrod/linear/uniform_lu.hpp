// LU factorisation of a sparse matrix of B x B blocks on a graph, with the ordering and fill of BlockPattern: the
// structure of `BlockLu` with a block size known to the compiler, for chains of rod cells and bodies. The order of all
// operations is written down once; a chain costs what a hand-written block-tridiagonal solver costs. Nodes from `last`
// on are not eliminated: what is left of their blocks is the Schur complement; of those that are `silent` only columns
// matter.
#pragma once

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

  explicit UniformLu(const BlockPattern& p) : UniformLu(p, [](int) { return false; }) {}
  template <class Silent>
  [[gnu::cold]] UniformLu(const BlockPattern& p, Silent&& silent) : blocks_(p.storage() / (B * B)) {
    for (int v : p.order()) {
      Step step{v, at(p, v, v), {}, {}, 0};
      for (const bool quiet : {false, true})
        for (int b : p.later(v))
          if (silent(b) == quiet) step.later.push_back({b, at(p, v, b), at(p, b, v)}), step.rows += !quiet;
      for (int b : p.later(v))
        for (int a : p.later(v))
          if (!silent(a)) step.updates.push_back({at(p, a, b), at(p, a, v), at(p, v, b)});
      steps_.push_back(std::move(step));
    }
  }

  static std::uint32_t at(const BlockPattern& p, int i, int j) { return std::uint32_t(p.block(i, j) / (B * B)); }
  Block& block(std::size_t slot) { return blocks_[slot]; }
  const Block& block(std::size_t slot) const { return blocks_[slot]; }
  void clear() {
    for (Block& b : blocks_) b.setZero();
  }

  // Factor in place: diagonal blocks become their inverses. false: one of them is singular.
  [[nodiscard]] bool factor() {
    factored_ = false;
    for (const Step& s : steps_) {
      const Block& inverse = blocks_[s.diagonal];
      if (!invert(blocks_[s.diagonal])) return false;
      for (const Link& l : s.later) {
        const Block product = inverse * blocks_[l.upper];
        blocks_[l.upper] = product;
      }
      for (const Update& u : s.updates) blocks_[u.target] -= blocks_[u.lower] * blocks_[u.upper];
    }
    return factored_ = true;
  }

  void solve(Vector* x) const {
    forward(x);
    backward(x);
  }
  void forward(Vector* x) const {
    if (!factored_) throw std::logic_error("solve without a factorisation");
    for (const Step& s : steps_) {
      Vector& mine = x[s.node];
      const Vector product = blocks_[s.diagonal] * mine;
      mine = product;
      for (std::size_t k = 0; k < s.rows; ++k) x[s.later[k].node] -= blocks_[s.later[k].lower] * mine;
    }
  }
  void backward(Vector* x) const {
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s)
      for (const Link& l : s->later) x[s->node] -= blocks_[l.upper] * x[l.node];
  }

  // Of a symmetric matrix, after `factor`: the number of negative eigenvalues, which is that of the pivots
  // (Haynsworth).
  int negative_pivots() const {
    int n = 0;
    for (const Step& s : steps_) n += negative_eigenvalues(blocks_[s.diagonal].data(), B);
    return n;
  }

private:
  struct Link {
    int node;
    std::uint32_t upper, lower;
  };
  struct Update {
    std::uint32_t target, lower, upper;
  };
  struct Step {
    int node;
    std::size_t diagonal;
    std::vector<Link> later;
    std::vector<Update> updates;
    std::size_t rows; // so many of `later` have rows, and come first
  };

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
  bool factored_ = false;
};

} // namespace gyrod
