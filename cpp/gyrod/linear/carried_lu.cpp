#include "gyrod/linear/carried_lu.hpp"

#include <cassert>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "gyrod/linear/solve_small.hpp"

namespace gyrod {
namespace {

constexpr int width = CarriedGraph::width;

// C += A B with A (m x k), B (k x n), column by column. Where the compiler knows rows and sums, these stay in
// registers.
template <int M, int K, class S>
void add_product_of(int n, const S* __restrict A, const S* __restrict B, S* __restrict C) {
  for (int j = 0; j < n; ++j) {
    S sum[M];
    for (int i = 0; i < M; ++i) sum[i] = C[i + j * M];
    for (int l = 0; l < K; ++l)
      for (int i = 0; i < M; ++i) sum[i] += A[i + l * M] * B[l + j * K];
    for (int i = 0; i < M; ++i) C[i + j * M] = sum[i];
  }
}
template <class S>
void add_product(int m, int k, int n, const S* __restrict A, const S* __restrict B, S* __restrict C) {
  if (m == 6 && k == 6) return add_product_of<6, 6>(n, A, B, C);
  if (m == 6 && k == width) return add_product_of<6, width>(n, A, B, C);
  if (m == 6 && k == 3) return add_product_of<6, 3>(n, A, B, C);
  if (m == 3 && k == 6) return add_product_of<3, 6>(n, A, B, C);
  if (m == 3 && k == 3) return add_product_of<3, 3>(n, A, B, C);
  for (int j = 0; j < n; ++j)
    for (int l = 0; l < k; ++l) {
      const S b = B[l + j * k];
      for (int i = 0; i < m; ++i) C[i + j * m] += A[i + l * m] * b;
    }
}
// The same of blocks of six.
template <class S> void add_square(const S* A, const S* B, S* C) { add_product_of<6, 6>(6, A, B, C); }
// y += A x
template <int M, int K, class S> void add_product_of(const S* A, const S* x, S* y) { add_product_of<M, K>(1, A, x, y); }
template <class S> void add_product(int m, int k, const S* __restrict A, const S* __restrict x, S* __restrict y) {
  if (m == 6 && k == 6) return add_product_of<6, 6>(A, x, y);
  if (m == 6 && k == width) return add_product_of<6, width>(A, x, y);
  if (m == width && k == 6) return add_product_of<width, 6>(A, x, y);
  if (m == width && k == width) return add_product_of<width, width>(A, x, y);
  if (m == 6 && k == 3) return add_product_of<6, 3>(A, x, y);
  if (m == 3 && k == 6) return add_product_of<3, 6>(A, x, y);
  if (m == 3 && k == 3) return add_product_of<3, 3>(A, x, y);
  for (int l = 0; l < k; ++l)
    for (int i = 0; i < m; ++i) y[i] += A[i + l * m] * x[l];
}
// y += A' x with A (k x n)
template <class S> void add_transposed(int k, int n, const S* __restrict A, const S* __restrict x, S* __restrict y) {
  for (int j = 0; j < n; ++j) {
    S sum(0);
    for (int l = 0; l < k; ++l) sum += A[l + j * k] * x[l];
    y[j] += sum;
  }
}

// Calls f(k, j, to) for the blocks (k, j) among the later nodes of a step that are wanted.
template <class W, class F> void for_pairs(const BlockPattern& p, const std::vector<int>& later, W&& wanted, F&& f) {
  for (std::size_t a = 0; a < later.size(); ++a) {
    if (!wanted(a)) continue;
    f(a, a, p.block(later[a], later[a]));
    const auto& theirs = p.later(later[a]);
    auto from = theirs.begin();
    for (std::size_t b = 0; b < later.size(); ++b) {
      if (a == b || !wanted(b)) continue;
      from = std::lower_bound(from, theirs.end(), later[b]);
      if (from == theirs.end()) break;
      if (*from != later[b]) continue; // goes before: it is found from there
      const std::size_t k = std::size_t(from - theirs.begin());
      f(a, b, p.upper(later[a], k)), f(b, a, p.lower(later[a], k));
    }
  }
}

} // namespace

CarriedPattern::CarriedPattern(CarriedGraph graph) : graph_(std::move(graph)) {
  const int n = graph_.nodes(), bodies = int(graph_.bodies.size());
  std::vector<int> rows(static_cast<std::size_t>(n)), columns(rows);
  std::vector<std::vector<int>> after(static_cast<std::size_t>(n));
  auto links = graph_.links;
  for (int i = 0; i < n; ++i) {
    const std::size_t k = std::size_t(i);
    rows[k] = graph_.carried(i) ? 6 : graph_.size(i), columns[k] = graph_.carried(i) ? width : graph_.size(i);
    if (graph_.carried(i))
      links.emplace_back(i, graph_.bodies[k].parent), after[std::size_t(links.back().second)].push_back(i);
    if (i >= bodies)
      for (int body : graph_.held[k - std::size_t(bodies)])
        for (int b = body; b >= 0; b = graph_.bodies[std::size_t(b)].parent) after[k].push_back(b);
  }
  blocks_ = BlockPattern(rows, columns, links, after);
  std::vector<std::size_t> step_of(static_cast<std::size_t>(n));
  for (int v : blocks_.order()) {
    step_of[std::size_t(v)] = steps_.size();
    Step s{v, graph_.carried(v) ? graph_.bodies[std::size_t(v)].parent : -1, 0, {}, false, 0, {}};
    const auto& later = blocks_.later(v);
    s.full.assign(later.size(), 0);
    if (s.parent >= 0) s.up = std::size_t(std::lower_bound(later.begin(), later.end(), s.parent) - later.begin());
    steps_.push_back(std::move(s));
  }
  const auto fill = [&](int a, int b) {
    for (int k = 0; k < 2; ++k, std::swap(a, b)) {
      const auto& later = blocks_.later(a);
      const auto it = std::lower_bound(later.begin(), later.end(), b);
      if (it != later.end() && *it == b) steps_[step_of[std::size_t(a)]].full[std::size_t(it - later.begin())] = 1;
    }
  };
  for (auto [a, b] : graph_.links) fill(a, b);
  for (const Step& s : steps_) {
    const auto& later = blocks_.later(s.node);
    const auto touched = [&](std::size_t k) { return s.full[k] || (s.parent >= 0 && k == s.up); };
    for (std::size_t a = 0; a < later.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (touched(a) && touched(b)) fill(later[a], later[b]);
  }
  const auto plain = [&](int i) { return i < bodies && !graph_.carried(i) && graph_.size(i) == 6; };
  for (Step& s : steps_) {
    const auto& later = blocks_.later(s.node);
    s.diagonal = blocks_.block(s.node, s.node);
    s.plain = plain(s.node) && std::all_of(later.begin(), later.end(), plain);
    if (s.parent >= 0) continue;
    s.updates.reserve(later.size() * later.size());
    for_pairs(
        blocks_, later, [](std::size_t) { return true; },
        [&](std::size_t k, std::size_t j, std::size_t to) {
          s.updates.push_back({std::uint32_t(to), std::uint32_t(blocks_.lower(s.node, k)),
                               std::uint32_t(blocks_.upper(s.node, j)), std::uint16_t(blocks_.rows(later[k])),
                               std::uint16_t(blocks_.columns(later[j]))});
        });
  }
}

template <class S>
CarriedLu<S>::CarriedLu(const CarriedPattern& pattern)
    : p_(&pattern), carriers_(pattern.graph().bodies.size()), along_(carriers_.size()),
      inverse_(std::size_t(pattern.graph().nodes())), onto_(carriers_.size()), values_(pattern.blocks().storage()),
      nodes_(inverse_.size()) {
  for (Carrier& c : carriers_)
    c.N.setZero(), c.S_.setZero(), c.Y.setZero(), c.P.setZero(), c.own.setZero(), c.up.setZero();
  std::size_t most = 0;
  for (const auto& step : pattern.steps_) most = std::max(most, step.full.size());
  pulled_.resize(most);
}

template <class S> void CarriedLu<S>::clear() {
  std::fill(values_.begin(), values_.end(), S(0));
  count_ = 0, factored_ = false;
}

template <class S> void CarriedLu<S>::add(int i, int j, const Block& B) {
  const CarriedGraph& g = p_->graph();
  const bool rows = g.carried(i), body = i < int(g.bodies.size());
  const int m = rows ? 6 : g.size(i), n = g.carried(j) ? width : g.size(j);
  Block mine = B; // of m rows, one after the other
  if (body && m == 6 && !rows)
    mine = carriers_[std::size_t(i)].S_.transpose() * B;
  else if (m < 6)
    for (int c = 0; c < width; ++c)
      for (int r = 0; r < m; ++r)
        mine.data()[r + c * m] = body ? carriers_[std::size_t(i)].S_.col(r).dot(B.col(c)) : B(r, c);
  S* to = at(p_->blocks().block(i, j));
  if (g.carried(j)) {
    for (int k = 0; k < m * width; ++k) to[k] += mine.data()[k];
    return;
  }
  add_product<S>(m, width, n, mine.data(), carriers_[std::size_t(j)].N.data(), to);
  if (count_ == given_.size()) given_.emplace_back();
  given_[count_].row = i, given_[count_].column = j, given_[count_].B = B;
  ++count_;
}

template <class S> void CarriedLu<S>::add_free(int i, int j, const Matrix<S, 6, 6>& A) {
  assert(!p_->graph().carried(i) && !p_->graph().carried(j) && p_->graph().size(i) == 6 && p_->graph().size(j) == 6);
  S* to = at(p_->blocks().block(i, j));
  for (int k = 0; k < 36; ++k) to[k] += A.data()[k];
}

template <class S> void CarriedLu<S>::add_multiplier(int i, int node, const Matrix<S, 6, 6>& B) {
  const CarriedGraph& g = p_->graph();
  const int m = g.carried(i) ? 6 : g.size(i), n = g.size(node);
  S* to = at(p_->blocks().block(i, node));
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < m; ++r)
      to[r + c * m] += g.carried(i) ? B(r, c) : carriers_[std::size_t(i)].S_.col(r).dot(B.col(c));
}

template <class S> void CarriedLu<S>::add_between(int i, int j, const Matrix<S, 3, 3>& B) {
  S* to = at(p_->blocks().block(i, j));
  for (int k = 0; k < 9; ++k) to[k] += B.data()[k];
}

template <class S> bool CarriedLu<S>::factor(Threads* threads) {
  const CarriedGraph& g = p_->graph();
  factored_ = false;
  for (std::size_t i = 0; i < carriers_.size(); ++i) {
    const Carrier& c = carriers_[i];
    const auto [parent, n] = g.bodies[i];
    if (parent < 0) {
      S* D = at(p_->blocks().block(int(i), int(i)));
      for (int b = 0; b < n; ++b)
        for (int a = 0; a < n; ++a) D[a + b * n] += c.own.col(a).dot(c.N.col(b));
      continue;
    }
    onto_[i] = c.Y;
    if (g.carried(parent)) continue;
    const Carrier& up = carriers_[std::size_t(parent)];
    onto_[i] = up.S_.transpose() * c.Y;
    along_[i] = c.P * up.N;
  }
  for (const auto& step : p_->steps_)
    if (!(step.parent >= 0 ? eliminate_carried(step) : eliminate(step, threads))) return false;
  return factored_ = true;
}

template <class S> bool CarriedLu<S>::eliminate_carried(const CarriedPattern::Step& step) {
  const BlockPattern& p = p_->blocks();
  const CarriedGraph& g = p_->graph();
  const int i = step.node, n = g.size(i), above = p.columns(step.parent), rows = p.rows(step.parent);
  const Carrier& c = carriers_[std::size_t(i)];
  const auto& later = p.later(i);
  const S* P = g.carried(step.parent) ? c.P.data() : along_[std::size_t(i)].data();
  S onto[36];
  for (int k = 0; k < 6; ++k)
    for (int r = 0; r < rows; ++r) onto[r + k * rows] = onto_[std::size_t(i)](r, k);
  const auto touched = [&](std::size_t k) { return step.full[k] || k == step.up; };
  S* mine = at(p.block(i, i));
  // What it carries acts on its parent.
  add_product<S>(rows, 6, width, onto, mine, at(p.lower(i, step.up)));
  for (std::size_t k = 0; k < later.size(); ++k)
    if (step.full[k])
      add_product<S>(rows, 6, p.columns(later[k]), onto, at(p.upper(i, k)), at(p.block(step.parent, later[k])));
  // E: its equations by motions.
  S E[6 * width];
  for (int a = 0; a < n; ++a)
    for (int l = 0; l < width; ++l) {
      S sum = c.own(l, a);
      for (int r = 0; r < 6; ++r) sum += c.S_(r, a) * mine[r + 6 * l];
      E[l + width * a] = sum;
    }
  S* D = inverse_[std::size_t(i)].data();
  for (int b = 0; b < n; ++b)
    for (int a = 0; a < n; ++a) {
      S sum(0);
      for (int l = 0; l < width; ++l) sum += E[l + width * a] * c.N(l, b);
      D[a + b * n] = sum;
    }
  if (n && !invert(n, D)) return false;
  std::copy_n(E, width * n, mine);
  // The same by the motions of the others, times D^-1, in place of the blocks.
  for (std::size_t k = 0; k < later.size() && n; ++k) {
    if (!touched(k)) continue;
    const int columns = p.columns(later[k]);
    S* block = at(p.upper(i, k));
    for (int j = 0; j < columns; ++j) {
      S e[6] = {}, x[6] = {};
      for (int a = 0; a < n; ++a)
        for (int r = 0; r < 6 && step.full[k]; ++r) e[a] += c.S_(r, a) * block[r + 6 * j];
      if (k == step.up)
        for (int a = 0; a < n; ++a) {
          if (g.carried(step.parent))
            e[a] += c.up(j, a);
          else
            e[a] += c.up.col(a).dot(carriers_[std::size_t(step.parent)].N.col(j));
          for (int l = 0; l < width; ++l) e[a] += E[l + width * a] * P[l + width * j];
        }
      for (int b = 0; b < n; ++b)
        for (int a = 0; a < n; ++a) x[a] += D[a + b * n] * e[b];
      // in place: a column of n numbers never overtakes one of six
      for (int a = 0; a < n; ++a) block[a + n * j] = x[a];
    }
  }
  for (std::size_t k = 0; k < later.size(); ++k) {
    if (!touched(k)) continue;
    const S* lower = at(p.lower(i, k));
    add_product<S>(p.rows(later[k]), width, above, lower, P, at(p.block(later[k], step.parent)));
  }
  if (!n) return true;
  for (std::size_t k = 0; k < later.size(); ++k) {
    if (!touched(k)) continue;
    const int m = p.rows(later[k]);
    S* W = pulled_[k].data();
    const S* lower = at(p.lower(i, k));
    std::fill_n(W, m * n, S(0));
    for (int b = 0; b < n; ++b)
      for (int l = 0; l < width; ++l)
        for (int r = 0; r < m; ++r) W[r + m * b] -= lower[r + m * l] * c.N(l, b);
  }
  for_pairs(p, later, touched, [&](std::size_t k, std::size_t j, std::size_t to) {
    add_product<S>(p.rows(later[k]), n, p.columns(later[j]), pulled_[k].data(), at(p.upper(i, j)), at(to));
  });
  return true;
}

template <class S> bool CarriedLu<S>::eliminate(const CarriedPattern::Step& step, Threads* threads) {
  const BlockPattern& p = p_->blocks();
  const int i = step.node, n = p.size(i);
  if (!n) return true;
  const auto& later = p.later(i);
  S* D = inverse_[std::size_t(i)].data();
  if (step.plain) {
    std::copy_n(at(step.diagonal), 36, D);
    if (!invert(6, D)) return false;
    for (int k = 0; k < 36; ++k) D[k] = -D[k]; // with the sign of what is added
    for (std::size_t k = 0; k < later.size(); ++k) {
      S* block = at(p.upper(i, k));
      S x[36] = {};
      add_square(D, block, x);
      std::copy_n(x, 36, block);
    }
    constexpr std::size_t each = 128;
    share_all(step.updates.size() < 4 * each ? nullptr : threads, step.updates.size(), each, [&](std::size_t k) {
      const CarriedPattern::Update& u = step.updates[k];
      add_square(at(u.lower), at(u.upper), at(u.target));
    });
    return true;
  }
  std::copy_n(at(p.block(i, i)), n * n, D);
  if (!invert(n, D)) return false;
  for (std::size_t k = 0; k < later.size(); ++k) { // with the sign of what is added below
    const int columns = p.columns(later[k]);
    S *block = at(p.upper(i, k)), x[6 * width] = {};
    add_product<S>(n, n, columns, D, block, x);
    for (int j = 0; j < n * columns; ++j) block[j] = -x[j];
  }
  constexpr std::size_t each = 128;
  share_all(step.updates.size() < 4 * each ? nullptr : threads, step.updates.size(), each, [&](std::size_t k) {
    const CarriedPattern::Update& u = step.updates[k];
    add_product<S>(u.rows, n, u.columns, at(u.lower), at(u.upper), at(u.target));
  });
  return true;
}

template <class S> int CarriedLu<S>::negative_pivots() const {
  int count = 0;
  if constexpr (std::is_same_v<S, double>)
    for (const auto& step : p_->steps_) {
      const int n = p_->graph().size(step.node);
      Matrix<double, 6, 6> D = inverse_[std::size_t(step.node)];
      if (step.plain) D = -D;
      if (n) count += negative_eigenvalues(D.data(), n);
      if (step.node >= int(carriers_.size())) count -= n;
    }
  return count;
}

template <class S> void CarriedLu<S>::solve() {
  if (!factored_) throw std::logic_error("solve without a factorisation");
  const BlockPattern& p = p_->blocks();
  const CarriedGraph& g = p_->graph();
  for (std::size_t k = 0; k < count_; ++k)
    add_product<S>(6, width, given_[k].B.data(), nodes_[std::size_t(given_[k].column)].r.data(),
                   nodes_[std::size_t(given_[k].row)].phi.data());
  for (std::size_t i = 0; i < carriers_.size(); ++i) {
    const Carrier& c = carriers_[i];
    Node& x = nodes_[i];
    const auto [parent, n] = g.bodies[i];
    if (parent >= 0) {
      if (g.carried(parent)) continue;
      const Motion& r = nodes_[std::size_t(parent)].r;
      x.r += c.P * r;
      add_transposed<S>(width, n, c.up.data(), r.data(), x.s.data());
      continue;
    }
    Force own = x.s;
    add_transposed<S>(6, n, c.S_.data(), x.phi.data(), own.data());
    add_transposed<S>(width, n, c.own.data(), x.r.data(), own.data());
    x.phi = own;
  }
  for (const auto& step : p_->steps_) {
    const int i = step.node, n = g.size(i);
    Node& x = nodes_[std::size_t(i)];
    const auto& later = p.later(i);
    const S* D = inverse_[std::size_t(i)].data();
    x.u.setZero();
    if (step.plain) {
      add_product_of<6, 6>(D, x.phi.data(), x.u.data());
      for (std::size_t k = 0; k < later.size(); ++k)
        add_product_of<6, 6>(at(p.lower(i, k)), x.u.data(), nodes_[std::size_t(later[k])].phi.data());
      continue;
    }
    if (step.parent < 0) {
      for (int b = 0; b < n; ++b)
        for (int a = 0; a < n; ++a) x.u[a] -= D[a + b * n] * x.phi[b];
      for (std::size_t k = 0; k < later.size(); ++k)
        add_product<S>(p.rows(later[k]), n, at(p.lower(i, k)), x.u.data(), nodes_[std::size_t(later[k])].phi.data());
      continue;
    }
    const Carrier& c = carriers_[std::size_t(i)];
    S e[6];
    for (int a = 0; a < n; ++a) e[a] = x.s[a];
    add_transposed<S>(6, n, c.S_.data(), x.phi.data(), e);
    add_transposed<S>(width, n, at(p.block(i, i)), x.r.data(), e);
    for (int b = 0; b < n; ++b)
      for (int a = 0; a < n; ++a) x.u[a] -= D[a + b * n] * e[b];
    x.o = x.r;
    add_product<S>(width, n, c.N.data(), x.u.data(), x.o.data());
    Node& up = nodes_[std::size_t(step.parent)];
    const int rows = p.rows(step.parent);
    for (int l = 0; l < 6; ++l)
      for (int r = 0; r < rows; ++r) up.phi[r] += onto_[std::size_t(i)](r, l) * x.phi[l];
    for (std::size_t k = 0; k < later.size(); ++k)
      if (step.full[k] || k == step.up)
        add_product<S>(p.rows(later[k]), width, at(p.lower(i, k)), x.o.data(),
                       nodes_[std::size_t(later[k])].phi.data());
  }
  for (std::size_t s = p_->steps_.size(); s-- > 0;) {
    const auto& step = p_->steps_[s];
    const int i = step.node, n = g.size(i);
    Node& x = nodes_[std::size_t(i)];
    const auto& later = p.later(i);
    for (std::size_t k = 0; k < later.size() && step.plain; ++k)
      add_product_of<6, 6>(at(p.upper(i, k)), nodes_[std::size_t(later[k])].u.data(), x.u.data());
    for (std::size_t k = 0; k < later.size() && n && !step.plain; ++k) {
      const Node& other = nodes_[std::size_t(later[k])];
      const S* motion = g.carried(later[k]) ? other.o.data() : other.u.data();
      if (step.parent < 0)
        add_product<S>(n, p.columns(later[k]), at(p.upper(i, k)), motion, x.u.data());
      else if (step.full[k] || k == step.up) {
        S sum[6] = {};
        add_product<S>(n, p.columns(later[k]), at(p.upper(i, k)), motion, sum);
        for (int a = 0; a < n; ++a) x.u[a] -= sum[a];
      }
    }
    if (i >= int(carriers_.size())) continue;
    const Carrier& c = carriers_[std::size_t(i)];
    x.o = x.r;
    add_product<S>(width, n, c.N.data(), x.u.data(), x.o.data());
    if (step.parent < 0) continue;
    const Node& up = nodes_[std::size_t(step.parent)];
    if (g.carried(step.parent))
      add_product<S>(width, width, c.P.data(), up.o.data(), x.o.data());
    else
      add_product<S>(width, p.columns(step.parent), along_[std::size_t(i)].data(), up.u.data(), x.o.data());
  }
}

// `solve` from its last line to its first.
template <class S>
void CarriedLu<S>::solve_transposed()
  requires std::is_same_v<S, double>
{
  if (!factored_) throw std::logic_error("solve without a factorisation");
  const BlockPattern& p = p_->blocks();
  const CarriedGraph& g = p_->graph();
  for (Node& x : nodes_) x.phi.setZero(), x.s.setZero(), x.r.setZero();
  for (const auto& step : p_->steps_) {
    const int i = step.node, n = g.size(i);
    Node& x = nodes_[std::size_t(i)];
    const auto& later = p.later(i);
    if (i < int(carriers_.size())) {
      const Carrier& c = carriers_[std::size_t(i)];
      x.r += x.o;
      add_transposed<S>(width, n, c.N.data(), x.o.data(), x.u.data());
      if (step.parent >= 0) {
        Node& up = nodes_[std::size_t(step.parent)];
        if (g.carried(step.parent))
          add_transposed<S>(width, width, c.P.data(), x.o.data(), up.o.data());
        else
          add_transposed<S>(width, p.columns(step.parent), along_[std::size_t(i)].data(), x.o.data(), up.u.data());
      }
    }
    S weight[6];
    for (int a = 0; a < n; ++a) weight[a] = step.parent < 0 ? x.u[a] : -x.u[a];
    for (std::size_t k = 0; k < later.size() && n; ++k) {
      if (step.parent >= 0 && !step.full[k] && k != step.up) continue;
      Node& other = nodes_[std::size_t(later[k])];
      add_transposed<S>(n, p.columns(later[k]), at(p.upper(i, k)), weight,
                        g.carried(later[k]) ? other.o.data() : other.u.data());
    }
  }
  for (std::size_t s = p_->steps_.size(); s-- > 0;) {
    const auto& step = p_->steps_[s];
    const int i = step.node, n = g.size(i);
    Node& x = nodes_[std::size_t(i)];
    const auto& later = p.later(i);
    const S* D = inverse_[std::size_t(i)].data();
    S weight[6] = {}, e[6] = {}; // of u, of what it is made of
    for (int a = 0; a < n; ++a) weight[a] = x.u[a];
    if (step.parent < 0) {
      for (std::size_t k = 0; k < later.size(); ++k)
        add_transposed<S>(p.rows(later[k]), n, at(p.lower(i, k)), nodes_[std::size_t(later[k])].phi.data(), weight);
      add_transposed<S>(n, n, D, weight, e);
      for (int a = 0; a < n; ++a) x.phi[a] = step.plain ? e[a] : -e[a];
      continue;
    }
    const Carrier& c = carriers_[std::size_t(i)];
    Motion o = Motion::Zero();
    for (std::size_t k = 0; k < later.size(); ++k)
      if (step.full[k] || k == step.up)
        add_transposed<S>(p.rows(later[k]), width, at(p.lower(i, k)), nodes_[std::size_t(later[k])].phi.data(),
                          o.data());
    x.r += o;
    add_transposed<S>(width, n, c.N.data(), o.data(), weight);
    for (int a = 0; a < n; ++a) weight[a] = -weight[a];
    add_transposed<S>(n, n, D, weight, e);
    for (int a = 0; a < n; ++a) x.s[a] = e[a];
    add_product<S>(6, n, c.S_.data(), e, x.phi.data());
    add_product<S>(width, n, at(p.block(i, i)), e, x.r.data());
    const Force& up = nodes_[std::size_t(step.parent)].phi;
    for (int l = 0; l < 6; ++l)
      for (int r = 0; r < p.rows(step.parent); ++r) x.phi[l] += onto_[std::size_t(i)](r, l) * up[r];
  }
  for (std::size_t i = 0; i < carriers_.size(); ++i) {
    const Carrier& c = carriers_[i];
    Node& x = nodes_[i];
    const auto [parent, n] = g.bodies[i];
    if (parent >= 0) {
      if (g.carried(parent)) continue;
      Motion& r = nodes_[std::size_t(parent)].r;
      add_transposed<S>(width, width, c.P.data(), x.r.data(), r.data());
      add_product<S>(width, n, c.up.data(), x.s.data(), r.data());
      continue;
    }
    const Force own = x.phi;
    x.phi.setZero();
    for (int a = 0; a < n; ++a) x.s[a] = own[a];
    add_product<S>(6, n, c.S_.data(), own.data(), x.phi.data());
    add_product<S>(width, n, c.own.data(), own.data(), x.r.data());
  }
  for (std::size_t k = 0; k < count_; ++k)
    add_transposed<S>(6, width, given_[k].B.data(), nodes_[std::size_t(given_[k].row)].phi.data(),
                      nodes_[std::size_t(given_[k].column)].r.data());
}

template class CarriedLu<double>;
template class CarriedLu<Complex>;

} // namespace gyrod
