#include "gyrod/linear/block_lu.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "gyrod/linear/dense.hpp"
#include "gyrod/linear/solve_small.hpp"

namespace gyrod {

namespace {

// C -= A B with A (M x K), B (K x n), column by column.
template <int M, int K, class S>
void subtract_product_of(int n, const S* __restrict A, const S* __restrict B, S* __restrict C) {
  for (int j = 0; j < n; ++j) {
    S sum[M];
    for (int i = 0; i < M; ++i) sum[i] = C[i + j * M];
    for (int l = 0; l < K; ++l)
      for (int i = 0; i < M; ++i) sum[i] -= A[i + l * M] * B[l + j * K];
    for (int i = 0; i < M; ++i) C[i + j * M] = sum[i];
  }
}
// The same of any size; y -= A x.
template <class S> void subtract(int m, int k, const S* A, const S* x, S* y) {
  if (m == 3 && k == 3) return subtract_product_of<3, 3>(1, A, x, y);
  if (m == 6 && k == 6) return subtract_product_of<6, 6>(1, A, x, y);
  gyrod::subtract_product(m, k, 1, A, x, y);
}

} // namespace

template <class S>
BlockLu<S>::BlockLu(const BlockPattern& pattern)
    : p_(&pattern), values_(pattern.storage(), S(0)), step_of_(std::size_t(pattern.nodes())),
      pivots_(std::size_t(pattern.total())) {
  const BlockPattern& p = pattern;
  const auto slot = [](std::size_t at) { return std::uint32_t(at); };
  for (int v : p.order()) {
    const auto& later = p.later(v);
    const std::size_t n = later.size();
    Step s{v,
           p.size(v) == 3 || p.size(v) == 6 ? p.size(v) : 0,
           slot(p.block(v, v)),
           slot(links_.size()),
           0,
           between_.size()};
    for (std::size_t k = 0; k < n; ++k) {
      links_.push_back({later[k], slot(p.upper(v, k)), slot(p.lower(v, k))});
      if (p.size(later[k]) != s.plain) s.plain = 0;
    }
    s.links_end = slot(links_.size());
    between_.resize(between_.size() + n * n);
    std::uint32_t* to = between_.data() + s.between; // lists of neighbours are sorted, and looked through once
    for (std::size_t i = 0; i < n; ++i) {
      const auto& beyond = p.later(later[i]);
      to[i * n + i] = slot(p.block(later[i], later[i]));
      for (std::size_t j = 0, k = 0; j < n && k < beyond.size();)
        if (beyond[k] < later[j])
          ++k;
        else if (later[j] < beyond[k])
          ++j;
        else
          to[i + j * n] = slot(p.upper(later[i], k)), to[j + i * n] = slot(p.lower(later[i], k)), ++j, ++k;
    }
    step_of_[std::size_t(v)] = slot(steps_.size());
    steps_.push_back(s);
  }
}

template <class S> bool BlockLu<S>::factor() {
  factored_ = false;
  for (const Step& s : steps_) {
    const int n = p_->size(s.node);
    if (!n) continue;
    if (rank(s.node) < n && !restrict(s.node)) return false;
    if (!(s.plain == 3 ? eliminate<3>(s) : s.plain == 6 ? eliminate<6>(s) : eliminate(s))) return false;
  }
  return factored_ = true;
}

template <class S> template <int N> bool BlockLu<S>::eliminate(const Step& s) {
  S *x = values_.data(), *diagonal = x + s.diagonal;
  if (!invert(N, diagonal)) return false;
  const Link *from = links_.data() + s.links, *end = links_.data() + s.links_end;
  const std::uint32_t* target = between_.data() + s.between;
  for (const Link* b = from; b != end; ++b) {
    S scaled[N * N] = {}, *upper = x + b->upper; // with the sign of what is added
    subtract_product_of<N, N>(N, diagonal, upper, scaled);
    for (int k = 0; k < N * N; ++k) upper[k] = -scaled[k];
    for (const Link* a = from; a != end; ++a) subtract_product_of<N, N>(N, x + a->lower, upper, x + *target++);
  }
  return true;
}
template <class S> bool BlockLu<S>::eliminate(const Step& s) {
  const int n = p_->size(s.node), *pivots = pivots_.data() + p_->offset(s.node);
  S *x = values_.data(), *diagonal = x + s.diagonal;
  if (!factor_dense(n, diagonal, pivots_.data() + p_->offset(s.node))) return false;
  const Link *from = links_.data() + s.links, *end = links_.data() + s.links_end;
  const std::uint32_t* target = between_.data() + s.between;
  for (const Link* b = from; b != end; ++b) {
    S* upper = x + b->upper;
    const int columns = p_->size(b->node);
    for (int j = 0; j < columns; ++j) solve_dense(n, diagonal, pivots, upper + j * n);
    for (const Link* a = from; a != end; ++a)
      gyrod::subtract_product(p_->size(a->node), n, columns, x + a->lower, upper, x + *target++);
  }
  return true;
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
  for (const Step& s : steps_) {
    const int n = p_->size(s.node);
    if (!n) continue;
    S* x = b + p_->offset(s.node);
    if (rank(s.node) < n) project(s.node, x);
    solve_pivot(s, x);
    for (std::uint32_t k = s.links; k < s.links_end; ++k)
      subtract(p_->size(links_[k].node), n, values_.data() + links_[k].lower, x, b + p_->offset(links_[k].node));
  }
  for (auto s = steps_.rbegin(); s != steps_.rend(); ++s)
    for (std::uint32_t k = s->links; k < s->links_end; ++k)
      subtract(p_->size(s->node), p_->size(links_[k].node), values_.data() + links_[k].upper,
               b + p_->offset(links_[k].node), b + p_->offset(s->node));
}

// A = L U with U of unit diagonal blocks: U' first, in the order of elimination.
template <class S> void BlockLu<S>::solve_transposed(S* b) const {
  if (!factored_) throw std::logic_error("solve without a factorisation");
  for (const Step& s : steps_)
    for (std::uint32_t k = s.links; k < s.links_end; ++k)
      subtract_transposed(p_->size(s.node), p_->size(links_[k].node), values_.data() + links_[k].upper,
                          b + p_->offset(s.node), b + p_->offset(links_[k].node));
  for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) {
    const int n = p_->size(s->node);
    if (!n) continue;
    S* x = b + p_->offset(s->node);
    for (std::uint32_t k = s->links; k < s->links_end; ++k)
      subtract_transposed(p_->size(links_[k].node), n, values_.data() + links_[k].lower, b + p_->offset(links_[k].node),
                          x);
    const S* diagonal = values_.data() + s->diagonal;
    if (s->plain) {
      std::array<S, 6> y{};
      subtract_transposed(n, n, diagonal, x, y.data());
      for (int i = 0; i < n; ++i) x[i] = -y[std::size_t(i)];
    } else {
      solve_dense_transposed(n, diagonal, pivots_.data() + p_->offset(s->node), x);
    }
    if (rank(s->node) < n) project(s->node, x);
  }
}

template <class S> void BlockLu<S>::solve_pivot(const Step& s, S* x) const {
  const S* diagonal = values_.data() + s.diagonal;
  if (!s.plain) return solve_dense(p_->size(s.node), diagonal, pivots_.data() + p_->offset(s.node), x);
  std::array<S, 6> y{};
  subtract(s.plain, s.plain, diagonal, x, y.data());
  for (int i = 0; i < s.plain; ++i) x[i] = -y[std::size_t(i)];
}
template <class S> void BlockLu<S>::solve_pivot(int v, S* x) const { solve_pivot(steps_[step_of_[std::size_t(v)]], x); }

template <class S> void BlockLu<S>::subtract_product(const std::vector<S>& values, const S* x, S* y) const {
  const auto add = [&](int i, int j, std::uint32_t at) {
    subtract(p_->size(i), p_->size(j), values.data() + at, x + p_->offset(j), y + p_->offset(i));
  };
  for (const Step& s : steps_) {
    add(s.node, s.node, s.diagonal);
    for (std::uint32_t k = s.links; k < s.links_end; ++k)
      add(s.node, links_[k].node, links_[k].upper), add(links_[k].node, s.node, links_[k].lower);
  }
}

template class BlockLu<double>;
template class BlockLu<Complex>;

} // namespace gyrod
