#include "gyrod/linear/block_lu.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "gyrod/linear/dense.hpp"

namespace gyrod {

template <class S> bool BlockLu<S>::factor() {
  factored_ = false;
  for (int v : p_->order()) {
    const int n = p_->size(v);
    if (!n) continue;
    int* pivots = pivots_.data() + p_->offset(v);
    S* diagonal = at(v, v);
    if (rank(v) < n && !restrict(v)) return false;
    if (!factor_dense(n, diagonal, pivots)) return false;
    for (int b : p_->later(v)) {
      S* upper = at(v, b);
      for (int j = 0; j < p_->size(b); ++j) solve_dense(n, diagonal, pivots, upper + j * n);
      for (int a : p_->later(v)) subtract_product(p_->size(a), n, p_->size(b), at(a, v), upper, at(a, b));
    }
  }
  return factored_ = true;
}

template <class S> void BlockLu<S>::limit(int v, int rank) {
  if (limits_.empty())
    for (int i = 0; i < p_->nodes(); ++i) limits_.push_back({p_->size(i), {}, {}});
  const std::size_t n = std::size_t(p_->size(v));
  limits_[std::size_t(v)] = {rank, std::vector<double>(n * std::size_t(rank)), std::vector<double>(n * n)};
}

template <class S> void BlockLu<S>::project(int v, S* x, int step) const {
  const int n = p_->size(v);
  const Limit& l = limits_[std::size_t(v)];
  std::array<S, 6> sum{};
  for (int k = 0; k < l.rank; ++k) {
    const double* q = l.kept.data() + k * n;
    S along(0);
    for (int i = 0; i < n; ++i) along += q[i] * x[i * step];
    for (int i = 0; i < n; ++i) sum[std::size_t(i)] += q[i] * along;
  }
  for (int i = 0; i < n; ++i) x[i * step] = sum[std::size_t(i)];
}

// The columns of the pivot that stand out most, orthonormal, span what is kept: next to them it is only as large as its
// rank is unsure. The pivot of what is left out is a multiple of one.
template <class S> bool BlockLu<S>::restrict(int v) {
  if constexpr (std::is_same_v<S, double>) {
    const int n = p_->size(v);
    Limit& l = limits_[std::size_t(v)];
    double* D = at(v, v);
    std::copy_n(D, n * n, l.rest.data());
    double largest = 0.0;
    for (int k = 0; k < l.rank; ++k) {
      double best = -1.0, *q = l.kept.data() + k * n;
      const double* from = nullptr;
      for (int j = 0; j < n; ++j) {
        const double* c = l.rest.data() + j * n;
        double size = 0.0;
        for (int i = 0; i < n; ++i) size += c[i] * c[i];
        if (size > best) best = size, from = c;
      }
      if (!(best > 0.0 && best < std::numeric_limits<double>::infinity())) return false;
      if (k == 0) largest = std::sqrt(best);
      std::copy_n(from, n, q);
      const auto without = [&](const double* p, double* c) {
        double along = 0.0;
        for (int i = 0; i < n; ++i) along += p[i] * c[i];
        for (int i = 0; i < n; ++i) c[i] -= along * p[i];
      };
      for (int j = 0; j < k; ++j) without(l.kept.data() + j * n, q); // once more, against rounding
      double size = 0.0;
      for (int i = 0; i < n; ++i) size += q[i] * q[i];
      for (int i = 0; i < n; ++i) q[i] /= std::sqrt(size);
      for (int j = 0; j < n; ++j) without(q, l.rest.data() + j * n);
    }
    for (int j = 0; j < n; ++j) project(v, D + j * n);
    for (int i = 0; i < n; ++i) project(v, D + i, n);
    for (int j = 0; j < n; ++j) {
      std::array<double, 6> left{};
      left[std::size_t(j)] = 1.0;
      project(v, left.data());
      for (int i = 0; i < n; ++i) D[i + j * n] += largest * ((i == j) - left[std::size_t(i)]);
    }
    for (int b : p_->later(v)) {
      for (int j = 0; j < p_->size(b); ++j) project(v, at(v, b) + j * n);
      for (int i = 0; i < p_->size(b); ++i) project(v, at(b, v) + i, p_->size(b));
    }
    return true;
  }
  return false;
}

template <class S> void BlockLu<S>::solve(S* b) const {
  if (!factored_) throw std::logic_error("solve without a factorisation");
  for (int v : p_->order()) {
    if (!p_->size(v)) continue;
    S* x = b + p_->offset(v);
    if (rank(v) < p_->size(v)) project(v, x);
    solve_pivot(v, x);
    for (int a : p_->later(v)) subtract_product(p_->size(a), p_->size(v), 1, at(a, v), x, b + p_->offset(a));
  }
  for (auto it = p_->order().rbegin(); it != p_->order().rend(); ++it)
    for (int a : p_->later(*it))
      subtract_product(p_->size(*it), p_->size(a), 1, at(*it, a), b + p_->offset(a), b + p_->offset(*it));
}

// A = L U with U of unit diagonal blocks: U' first, in the order of elimination.
template <class S> void BlockLu<S>::solve_transposed(S* b) const {
  if (!factored_) throw std::logic_error("solve without a factorisation");
  for (int v : p_->order())
    for (int a : p_->later(v))
      subtract_transposed(p_->size(v), p_->size(a), at(v, a), b + p_->offset(v), b + p_->offset(a));
  for (auto it = p_->order().rbegin(); it != p_->order().rend(); ++it) {
    const int n = p_->size(*it);
    if (!n) continue;
    S* x = b + p_->offset(*it);
    for (int a : p_->later(*it)) subtract_transposed(p_->size(a), n, at(a, *it), b + p_->offset(a), x);
    solve_dense_transposed(n, at(*it, *it), pivots_.data() + p_->offset(*it), x);
    if (rank(*it) < n) project(*it, x);
  }
}

template <class S> void BlockLu<S>::solve_pivot(int v, S* x) const {
  solve_dense(p_->size(v), at(v, v), pivots_.data() + p_->offset(v), x);
}

template class BlockLu<double>;
template class BlockLu<Complex>;

} // namespace gyrod
