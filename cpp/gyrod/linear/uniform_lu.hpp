// LU factorisation of a sparse matrix of B x B blocks on a graph, with the ordering and fill of BlockPattern: the
// structure of `BlockLu` with a block size known to the compiler, for chains of rod cells and bodies. The order of all
// operations is written down once; a chain costs what a hand-written block-tridiagonal solver costs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gyrod/linear/block_lu.hpp"

namespace gyrod {

template <class S, int B> class UniformLu {
public:
  using Block = Eigen::Matrix<S, B, B>;
  using Vector = Eigen::Matrix<S, B, 1>;

  explicit UniformLu(const BlockPattern& p) : blocks_(p.storage() / (B * B)), factors_(std::size_t(p.nodes())) {
    for (int v : p.order()) {
      Step step{v, at(p, v, v), {}, {}};
      for (int b : p.later(v)) {
        step.later.push_back({b, at(p, v, b), at(p, b, v)});
        for (int a : p.later(v)) step.updates.push_back({at(p, a, b), at(p, a, v), at(p, v, b)});
      }
      steps_.push_back(std::move(step));
    }
  }

  static std::size_t at(const BlockPattern& p, int i, int j) { return p.block(i, j) / (B * B); }
  Block& block(std::size_t slot) { return blocks_[slot]; }
  void clear() {
    for (Block& b : blocks_) b.setZero();
  }

  // Factor in place, pivoting inside the diagonal blocks. false: one of them is singular.
  bool factor() {
    for (const Step& s : steps_) {
      Factors& f = factors_[std::size_t(s.node)];
      if (!lu(blocks_[s.diagonal], f)) return false;
      for (const Link& l : s.later) apply(f, blocks_[l.upper]);
      for (const Update& u : s.updates) blocks_[u.target].noalias() -= blocks_[u.lower] * blocks_[u.upper];
    }
    return true;
  }

  void solve(Vector* x) const {
    for (const Step& s : steps_) {
      Vector& mine = x[s.node];
      apply(factors_[std::size_t(s.node)], mine);
      for (const Link& l : s.later) x[l.node].noalias() -= blocks_[l.lower] * mine;
    }
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s)
      for (const Link& l : s->later) x[s->node].noalias() -= blocks_[l.upper] * x[l.node];
  }

private:
  struct Link {
    int node;
    std::size_t upper, lower;
  };
  struct Update {
    std::size_t target, lower, upper;
  };
  struct Step {
    int node;
    std::size_t diagonal;
    std::vector<Link> later;
    std::vector<Update> updates;
  };

  // A = P' (1 + L)(D + U) with L and U strictly triangular, kept as full blocks with zeros: updates of fixed length.
  struct Factors {
    Block L, U;
    Vector inverse; // of D
    std::array<std::int8_t, B> perm;
  };

  static bool lu(Block& a, Factors& f) {
    for (int k = 0; k < B; ++k) {
      int best = k;
      double largest = std::abs(a(k, k));
      for (int i = k + 1; i < B; ++i)
        if (const double v = std::abs(a(i, k)); v > largest) largest = v, best = i;
      if (!(largest > 0.0) || !std::isfinite(largest)) return false;
      f.perm[std::size_t(k)] = std::int8_t(best);
      if (best != k) {
        a.row(k).swap(a.row(best));
        for (int j = 0; j < k; ++j) std::swap(f.L(k, j), f.L(best, j));
      }
      const S inverse = f.inverse[k] = S(1) / a(k, k);
      Vector l = a.col(k) * inverse;
      Eigen::Matrix<S, 1, B> u = a.row(k);
      for (int i = 0; i <= k; ++i) l[i] = S(0), u[i] = S(0);
      f.L.col(k) = l;
      f.U.row(k) = u;
      a.noalias() -= l * u;
    }
    return true;
  }

  // x <- A^-1 x for a vector or a block of columns.
  template <class X> static void apply(const Factors& f, X& x) {
    for (int k = 0; k < B; ++k)
      if (const int other = f.perm[std::size_t(k)]; other != k) x.row(k).swap(x.row(other));
    for (int k = 0; k < B - 1; ++k) x.noalias() -= f.L.col(k) * x.row(k).eval();
    for (int k = B - 1; k >= 0; --k) {
      const Eigen::Matrix<S, 1, X::ColsAtCompileTime> row = x.row(k) * f.inverse[k];
      x.row(k) = row;
      x.noalias() -= f.U.col(k) * row;
    }
  }

  std::vector<Block> blocks_;
  std::vector<Factors> factors_;
  std::vector<Step> steps_;
};

} // namespace gyrod
