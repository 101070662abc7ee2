#include "gyrod/linear/block_lu.hpp"

#include "gyrod/linear/dense.hpp"

namespace gyrod {

template <class S> bool BlockLu<S>::factor() {
  factored_ = false;
  for (int v : p_->order()) {
    const int n = p_->size(v);
    if (!n) continue;
    int* pivots = pivots_.data() + p_->offset(v);
    S* diagonal = at(v, v);
    if (!factor_dense(n, diagonal, pivots)) return false;
    for (int b : p_->later(v)) {
      S* upper = at(v, b);
      for (int j = 0; j < p_->size(b); ++j) solve_dense(n, diagonal, pivots, upper + j * n);
      for (int a : p_->later(v)) subtract_product(p_->size(a), n, p_->size(b), at(a, v), upper, at(a, b));
    }
  }
  return factored_ = true;
}

template <class S> void BlockLu<S>::solve(S* b) const {
  if (!factored_) throw std::logic_error("solve without a factorisation");
  for (int v : p_->order()) {
    if (!p_->size(v)) continue;
    S* x = b + p_->offset(v);
    solve_dense(p_->size(v), at(v, v), pivots_.data() + p_->offset(v), x);
    for (int a : p_->later(v)) subtract_product(p_->size(a), p_->size(v), 1, at(a, v), x, b + p_->offset(a));
  }
  for (auto it = p_->order().rbegin(); it != p_->order().rend(); ++it)
    for (int a : p_->later(*it))
      subtract_product(p_->size(*it), p_->size(a), 1, at(*it, a), b + p_->offset(a), b + p_->offset(*it));
}

template class BlockLu<double>;
template class BlockLu<Complex>;

} // namespace gyrod
