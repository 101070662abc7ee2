// Elimination on random graphs of bodies: some carried by others, linked across, held by multipliers. What it finds is
// put into the equations of carried_lu.hpp. Prints for each graph: scalar, bodies, carried, multipliers, the largest
// residual over the largest term, and of the transposed map the largest difference; then for grids of k x k nodes:
// "fill", k, updates of the elimination, over k³.
#include <cstdio>
#include <random>

#include "gyrod/linear/carried_lu.hpp"

using namespace gyrod;

static std::mt19937 generator(3);
static int random_int(int from, int to) { return std::uniform_int_distribution<>(from, to)(generator); }
static void fill(double& x) { x = std::uniform_real_distribution<>(-1.0, 1.0)(generator); }
static void fill(Complex& x) {
  double re, im;
  fill(re), fill(im);
  x = {re, im};
}
template <class M> static M random_matrix() {
  M m;
  for (int j = 0; j < m.cols(); ++j)
    for (int i = 0; i < m.rows(); ++i) fill(m(i, j));
  return m;
}

// The transposed of the map from (phi, s, r) to (u, o), column by column.
static void check_transposed(const CarriedGraph& g, CarriedLu<double>& lu, const char* name) {
  const int bodies = int(g.bodies.size());
  constexpr int in = 12 + CarriedLu<double>::width, out = 6 + CarriedLu<double>::width;
  const auto numbers = [](auto& x, int k, bool given) -> double& {
    if (given) return k < 6 ? x.phi[k] : k < 12 ? x.s[k - 6] : x.r[k - 12];
    return k < 6 ? x.u[k] : x.o[k - 6];
  };
  const auto used = [&](int i, int k, bool given) { // of a node
    const int n = g.size(i);
    if (i >= bodies) return k < n;
    return given ? k < 6 || k >= 12 || k - 6 < n : k >= 6 || k < n;
  };
  std::vector<double> weights, back;
  const std::mt19937 before = generator; // graphs do not depend on what is asked of them
  for (int i = 0; i < g.nodes(); ++i)
    for (int k = 0; k < out; ++k) {
      weights.push_back(0.0);
      if (used(i, k, false)) fill(weights.back());
    }
  for (int i = 0; i < g.nodes(); ++i)
    for (int k = 0; k < out; ++k) numbers(lu[i], k, false) = weights[std::size_t(i * out + k)];
  generator = before;
  lu.solve_transposed();
  for (int i = 0; i < g.nodes(); ++i)
    for (int k = 0; k < in; ++k) back.push_back(numbers(lu[i], k, true));
  double largest = 0.0, gap = 0.0;
  for (int i = 0; i < g.nodes(); ++i)
    for (int k = 0; k < in; ++k) {
      if (!used(i, k, true)) continue;
      for (int j = 0; j < g.nodes(); ++j)
        for (int l = 0; l < in; ++l) numbers(lu[j], l, true) = i == j && k == l ? 1.0 : 0.0;
      lu.solve();
      double sum = 0.0;
      for (int j = 0; j < g.nodes(); ++j)
        for (int l = 0; l < out; ++l)
          if (used(j, l, false)) {
            const double term = weights[std::size_t(j * out + l)] * numbers(lu[j], l, false);
            sum += term, largest = std::max(largest, std::abs(term));
          }
      gap = std::max(gap, std::abs(sum - back[std::size_t(i * in + k)]));
    }
  std::printf("transposed %s %.2e\n", name, gap / largest);
}

template <class S> static void check(const char* name) {
  using Lu = CarriedLu<S>;
  using Block = typename Lu::Block;
  using M66 = Matrix<S, 6, 6>;
  CarriedGraph g;
  const int bodies = random_int(1, 9);
  int hanging = 0;
  for (int i = 0; i < bodies; ++i) {
    const int parent = i && random_int(0, 3) ? random_int(0, i - 1) : -1;
    hanging += parent >= 0;
    g.bodies.push_back({parent, parent >= 0 ? random_int(0, 3) : random_int(0, 6)});
  }
  struct Given {
    int i, j;
    Block B;
  };
  struct Held {
    int i, node;
    M66 B;
  };
  std::vector<Given> given;
  std::vector<Held> held;
  for (int i = 0; i < bodies; ++i) given.push_back({i, i, random_matrix<Block>()});
  for (int k = random_int(0, bodies); k-- > 0;) {
    const int a = random_int(0, bodies - 1), b = random_int(0, bodies - 1);
    if (a == b) continue;
    g.links.emplace_back(a, b);
    given.push_back({a, b, random_matrix<Block>()}), given.push_back({b, a, random_matrix<Block>()});
  }
  for (int i = 0; i < bodies; ++i) // what a joint's force does to the parent
    if (const int p = g.bodies[std::size_t(i)].parent; p >= 0) given.push_back({p, i, random_matrix<Block>()});
  // A multiplier holds no more than the unknowns that carry its body leave free.
  int freedoms = 0;
  const int holder = random_int(0, bodies - 1);
  for (int b = holder; b >= 0; b = g.bodies[std::size_t(b)].parent) freedoms += g.bodies[std::size_t(b)].n;
  if (freedoms > 1 && random_int(0, 1)) {
    const int node = bodies, m = random_int(1, std::min(freedoms - 1, 5)), other = random_int(0, bodies - 1);
    g.multipliers.push_back(m), g.held.push_back({holder, other});
    for (int b : {holder, other}) {
      if (b == other && other == holder) break;
      g.links.emplace_back(b, node);
      given.push_back({node, b, random_matrix<Block>()}), held.push_back({b, node, random_matrix<M66>()});
    }
    if (other == holder)
      given.push_back({node, holder, random_matrix<Block>()}), held.push_back({holder, node, random_matrix<M66>()}),
          g.links.emplace_back(holder, node);
    else
      g.links.emplace_back(holder, other);
  }
  const CarriedPattern pattern(g);
  Lu lu(pattern);
  for (int i = 0; i < bodies; ++i) {
    auto& c = lu.carrier(i);
    c.N = random_matrix<decltype(c.N)>(), c.S_ = random_matrix<M66>(), c.Y = random_matrix<M66>();
    c.P = random_matrix<decltype(c.P)>(), c.own = random_matrix<decltype(c.own)>(),
    c.up = random_matrix<decltype(c.up)>();
  }
  lu.clear();
  for (const Given& k : given) lu.add(k.i, k.j, k.B);
  for (const Held& k : held) lu.add_multiplier(k.i, k.node, k.B);
  if (!lu.factor()) {
    std::printf("%s %d %d %d singular\n", name, bodies, hanging, int(g.multipliers.size()));
    return;
  }
  double worst = 0.0;
  for (int again = 0; again < 2; ++again) { // several right-hand sides
    struct Right {
      typename Lu::Force phi, s;
      typename Lu::Motion r;
    };
    std::vector<Right> right;
    for (int i = 0; i < g.nodes(); ++i) {
      auto& x = lu[i];
      x.phi = random_matrix<typename Lu::Force>(), x.s = random_matrix<typename Lu::Force>();
      x.r = random_matrix<typename Lu::Motion>();
      right.push_back({x.phi, x.s, x.r});
    }
    lu.solve();
    double largest = 1.0, gap = 0.0;
    const auto grow = [&](const auto& m) {
      largest = std::max(
          largest, m.cwiseAbs().template cast<Complex>().map([](const Complex& z) { return z.real(); }).maxCoeff());
    };
    std::vector<typename Lu::Force> f;
    for (int i = 0; i < g.nodes(); ++i) f.push_back(right[std::size_t(i)].phi);
    for (const Given& k : given) f[std::size_t(k.i)] += k.B * lu[k.j].o, grow(typename Lu::Force(k.B * lu[k.j].o));
    for (const Held& k : held)
      for (int c = 0; c < g.size(k.node); ++c) f[std::size_t(k.i)] += k.B.col(c) * lu[k.node].u[c];
    for (int i = bodies; i-- > 0;)
      if (const int p = g.bodies[std::size_t(i)].parent; p >= 0)
        f[std::size_t(p)] += lu.carrier(i).Y * f[std::size_t(i)];
    for (const auto& x : f) grow(x);
    for (int i = 0; i < bodies; ++i) {
      const auto& c = lu.carrier(i);
      const auto [parent, n] = g.bodies[std::size_t(i)];
      typename Lu::Motion o = right[std::size_t(i)].r;
      if (parent >= 0) o += c.P * lu[parent].o;
      for (int j = 0; j < n; ++j) o += c.N.col(j) * lu[i].u[j];
      grow(o);
      for (int k = 0; k < CarriedGraph::width; ++k) gap = std::max(gap, std::abs(o[k] - lu[i].o[k]));
      for (int j = 0; j < n; ++j) {
        S sum = right[std::size_t(i)].s[j] + c.S_.col(j).dot(f[std::size_t(i)]) + c.own.col(j).dot(lu[i].o);
        if (parent >= 0) sum += c.up.col(j).dot(lu[parent].o);
        gap = std::max(gap, std::abs(sum));
      }
    }
    for (int i = bodies; i < g.nodes(); ++i)
      for (int k = 0; k < g.size(i); ++k) gap = std::max(gap, std::abs(f[std::size_t(i)][k]));
    worst = std::max(worst, gap / largest);
  }
  std::printf("%s %d %d %d %.2e\n", name, bodies, hanging, int(g.multipliers.size()), worst);
  if constexpr (std::is_same_v<S, double>) check_transposed(g, lu, name);
}

int main() {
  for (int k = 0; k < 150; ++k) check<double>("double"), check<Complex>("complex");
  for (int k : {10, 20, 40}) {
    std::vector<std::pair<int, int>> links;
    for (int i = 0; i < k * k; ++i) {
      if (i % k + 1 < k) links.emplace_back(i, i + 1);
      if (i + k < k * k) links.emplace_back(i, i + k);
    }
    const BlockPattern p(std::vector<int>(std::size_t(k * k), 1), links);
    double updates = 0.0;
    for (int v = 0; v < p.nodes(); ++v) updates += double(p.later(v).size() * p.later(v).size());
    std::printf("fill %d %.0f %.3f\n", k, updates, updates / k / k / k);
  }
}
