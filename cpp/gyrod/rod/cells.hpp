// Blocks of the Jacobian of the forces of a rod.
#pragma once

#include <algorithm>
#include <vector>

#include "gyrod/math/rotation.hpp"

namespace gyrod {

// A band of cells: row r couples to the cells from first(r) to last(r). Its blocks are the derivatives of the forces of
// cell r with respect to the increments (q) and the rates (v) of another, which are e, Theta, x and w0, Omega, x'.
template <int Rows> class CellBlocks {
public:
  using Block = Matrix<double, Rows, 7>;
  // Neighbours up to `reach` cells away; with `degree` > 0 the cells of an element, which ends at its multiples.
  CellBlocks(int cells, int reach, int degree = 0) : reach_(degree ? degree : reach) {
    for (int r = 0, at = 0; r < cells; ++r) {
      const int before = degree ? (r ? (r - 1) / degree * degree : 0) : r - reach;
      const int behind = degree ? (r / degree + 1) * degree : r + reach;
      first_.push_back(std::max(0, before)), last_.push_back(std::min(cells - 1, behind));
      at_.push_back(at - first_.back());
      at += last_.back() - first_.back() + 1;
      q_.resize(std::size_t(at));
    }
    v_.resize(q_.size());
  }
  Block& q(int r, int c) { return q_[slot(r, c)]; }
  Block& v(int r, int c) { return v_[slot(r, c)]; }
  const Block& q(int r, int c) const { return q_[slot(r, c)]; }
  const Block& v(int r, int c) const { return v_[slot(r, c)]; }
  int reach() const { return reach_; }
  int first(int r) const { return first_[std::size_t(r)]; }
  int last(int r) const { return last_[std::size_t(r)]; }
  // Of a block among all.
  std::size_t slot(int r, int c) const { return std::size_t(at_[std::size_t(r)] + c); }
  std::size_t blocks() const { return q_.size(); }
  void clear_row(int r) {
    for (int c = first(r); c <= last(r); ++c) q(r, c).setZero(), v(r, c).setZero();
  }

private:
  int reach_;
  std::vector<int> first_, last_, at_;
  std::vector<Block> q_, v_;
};

} // namespace gyrod
