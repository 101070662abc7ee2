// LU factorisation on a BlockPattern, for nodes of any sizes; see uniform_lu.hpp for nodes of one size.
#pragma once

#include <cstdint>
#include <vector>

#include "gyrod/linear/block_pattern.hpp"
#include "gyrod/math/matrix.hpp"

namespace gyrod {

template <class S> class BlockLu {
public:
  explicit BlockLu(const BlockPattern& pattern);

  void clear() { std::fill(values_.begin(), values_.end(), S(0)); }
  std::vector<S>& values() { return values_; }
  const std::vector<S>& values() const { return values_; } // before `factor`, by BlockPattern::block
  // y -= A x with other values of the same pattern.
  void subtract_product(const std::vector<S>& values, const S* x, S* y) const;
  Grid<S> block(int i, int j) { return {at(i, j), p_->size(i), p_->size(j)}; }
  // A node whose pivot, when its turn comes, is symmetric and of a rank that is known: combinations of its rows and
  // unknowns beyond that, in which the pivot is least, are left out. Those that the last factorisation has kept are
  // orthonormal, `size` numbers each; `project` leaves of a vector what they span.
  void limit(int v, int rank);
  int rank(int v) const { return limits_.empty() ? p_->size(v) : limits_[std::size_t(v)].rank; }
  const double* kept(int v) const { return limits_[std::size_t(v)].kept.data(); }
  void project(int v, S* x, int step = 1) const;

  // Factor in place. false: a diagonal block is singular or not finite, and nothing can be solved.
  [[nodiscard]] bool factor();
  void solve(S* b) const;
  void solve_transposed(S* b) const; // of the transposed matrix, by the same factors
  // With the pivot of one node alone.
  void solve_pivot(int v, S* x) const;

private:
  S* at(int i, int j) { return values_.data() + p_->block(i, j); }
  const S* at(int i, int j) const { return values_.data() + p_->block(i, j); }
  struct Limit {
    int rank;
    std::vector<double> kept, rest; // empty where all are kept
  };
  bool restrict(int v);
  // One of the elimination. Where its blocks are with later nodes is in links_; where those between these are, column
  // by column, in between_.
  struct Step {
    int node;
    int plain; // 3 or 6: the size of all these nodes; the pivot becomes its inverse
    std::uint32_t diagonal, links, links_end;
    std::size_t between;
  };
  struct Link {
    int node;
    std::uint32_t upper, lower;
  };
  template <int N> bool eliminate(const Step& s);
  bool eliminate(const Step& s);
  void solve_pivot(const Step& s, S* x) const;

  const BlockPattern* p_;
  std::vector<S> values_;
  std::vector<Step> steps_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> between_, step_of_; // of all nodes
  std::vector<int> pivots_;                      // of all nodes, by offset
  std::vector<Limit> limits_;                    // of all nodes, or empty
  bool factored_ = false;
};

} // namespace gyrod
