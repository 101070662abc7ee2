// The algebra of the kernels against plain loops over plain arrays, on random numbers. Prints a row for each check:
// what, scalar, largest error. Compiled with assertions; an argument asks for one of the mistakes that they must catch.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

// The sources themselves, with the assertions that the library does not have; in one unit, which compiles fastest.
#include "gyrod/linear/block_lu.cpp"
#include "gyrod/linear/block_pattern.cpp"
#include "gyrod/linear/dense.cpp"
#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/math/scalar.hpp"

using namespace gyrod;
using D = Dual<2>;

static std::mt19937 generator(1);
static double random_number() { return std::uniform_real_distribution<>(-1.0, 1.0)(generator); }
static void fill(double& x) { x = random_number(); }
static void fill(Complex& x) { x = {random_number(), random_number()}; }
static void fill(D& x) { x.v = random_number(), x.d = {random_number(), random_number()}; }

static double distance(double a, double b) { return std::abs(a - b); }
static double distance(const Complex& a, const Complex& b) { return std::abs(a - b); }
static double distance(const D& a, const D& b) {
  return std::max({std::abs(a.v - b.v), std::abs(a.d[0] - b.d[0]), std::abs(a.d[1] - b.d[1])});
}

// The reference: numbers by row and column, and nothing else.
template <class S> struct Plain {
  int rows, cols;
  std::vector<S> a;
  Plain(int r, int c) : rows(r), cols(c), a(std::size_t(r * c), S(0)) {}
  S& operator()(int i, int j) { return a[std::size_t(i * cols + j)]; }
  const S& operator()(int i, int j) const { return a[std::size_t(i * cols + j)]; }
};
template <class S, int R, int C> Plain<S> plain(const Matrix<S, R, C>& m) {
  Plain<S> p(R, C);
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) p(i, j) = m(i, j);
  return p;
}
template <class S> Plain<S> product(const Plain<S>& a, const Plain<S>& b) {
  Plain<S> p(a.rows, b.cols);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.cols; ++j)
      for (int k = 0; k < a.cols; ++k) p(i, j) += a(i, k) * b(k, j);
  return p;
}

static const char* scalar = "";
static void row(const char* what, double error) { std::printf("%s %s %.3e\n", what, scalar, error); }
template <class M, class F> void same(const char* what, const M& got, F&& wanted) {
  double error = 0.0;
  for (int i = 0; i < got.rows(); ++i)
    for (int j = 0; j < got.cols(); ++j) error = std::max(error, distance(got(i, j), wanted(i, j)));
  row(what, error);
}

template <class S, int R, int C> Matrix<S, R, C> any() {
  Matrix<S, R, C> m;
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) fill(m(i, j));
  return m;
}

template <class S> void operations() {
  const auto A = any<S, 4, 6>(), B = any<S, 4, 6>();
  const auto P = any<S, 6, 5>();
  const auto a = plain(A), b = plain(B), p = plain(P), ap = product(a, p);
  S x;
  fill(x);
  same("storage", Matrix<S, 4, 6>(A.data()), [&](int i, int j) { return A.data()[i + 4 * j]; });
  same("sum", A + B, [&](int i, int j) { return a(i, j) + b(i, j); });
  same("difference", A - B, [&](int i, int j) { return a(i, j) - b(i, j); });
  same("minus", -A, [&](int i, int j) { return -a(i, j); });
  same("scaled", x * A, [&](int i, int j) { return x * a(i, j); });
  same("scaled", A * x, [&](int i, int j) { return x * a(i, j); });
  same("doubled", 2.0 * A, [&](int i, int j) { return a(i, j) + a(i, j); });
  same("divided", (A * x) / x, [&](int i, int j) { return a(i, j); });
  same("product", A * P, [&](int i, int j) { return ap(i, j); });
  same("product-of-transposes", P.transpose() * A.transpose(), [&](int i, int j) { return ap(j, i); });
  same("entries", A.cwiseProduct(B), [&](int i, int j) { return a(i, j) * b(i, j); });
  same("quotients", A.cwiseProduct(B).cwiseQuotient(B), [&](int i, int j) { return a(i, j); });
  same("squares", A.cwiseAbs2(), [&](int i, int j) { return a(i, j) * a(i, j); });
  same("inverses", A.cwiseProduct(A.cwiseInverse()), [&](int, int) { return S(1); });
  // --- slices, read
  same("row", A.row(2), [&](int, int j) { return a(2, j); });
  same("column", A.col(3), [&](int i, int) { return a(i, 3); });
  same("block", A.template block<2, 3>(1, 2), [&](int i, int j) { return a(1 + i, 2 + j); });
  same("block-of-transpose", A.transpose().template block<3, 2>(2, 1), [&](int i, int j) { return a(1 + j, 2 + i); });
  same("block-of-block", A.template rightCols<4>().template bottomRows<3>().template block<2, 2>(1, 1),
       [&](int i, int j) { return a(2 + i, 3 + j); });
  same("corners", A.template topLeftCorner<2, 2>() + A.template bottomRightCorner<2, 2>(),
       [&](int i, int j) { return a(i, j) + a(2 + i, 4 + j); });
  same("corners", A.template topRightCorner<2, 2>() - A.template bottomLeftCorner<2, 2>(),
       [&](int i, int j) { return a(i, 4 + j) - a(2 + i, j); });
  same("rows", A.template topRows<2>() + A.template middleRows<2>(1),
       [&](int i, int j) { return a(i, j) + a(1 + i, j); });
  same("columns", A.template leftCols<2>() + A.template middleCols<2>(3),
       [&](int i, int j) { return a(i, j) + a(i, 3 + j); });
  same("diagonal", A.diagonal(), [&](int i, int) { return a(i, i); });
  same("parts", A.col(1).template head<2>() + A.col(1).template tail<2>() + A.col(1).template segment<2>(1),
       [&](int i, int) { return a(i, 1) + a(2 + i, 1) + a(1 + i, 1); });
  same("parts-of-a-row", A.row(1).template tail<3>(), [&](int, int j) { return a(1, 3 + j); });
  // --- slices, written
  Matrix<S, 4, 6> W = A;
  W.template block<2, 3>(1, 2) = B.template block<2, 3>(0, 0);
  W.row(3) += B.row(0), W.col(0) -= B.col(1), W.template topRightCorner<1, 1>() *= x;
  W.transpose().template block<1, 1>(5, 3) = Matrix<S, 1, 1>::Constant(x);
  same("written", W, [&](int i, int j) {
    S w = i >= 1 && i < 3 && j >= 2 && j < 5 ? b(i - 1, j - 2) : a(i, j);
    if (i == 3) w = w + b(0, j);
    if (j == 0) w = w - b(i, 1);
    if (i == 0 && j == 5) w = w * x;
    return i == 3 && j == 5 ? x : w;
  });
  Matrix<S, 3, 3> M;
  M << A.template block<2, 2>(0, 0), A.template block<2, 1>(0, 2), x, x + x, x * x;
  same("commas", M, [&](int i, int j) { return i < 2 ? a(i, j) : j == 0 ? x : j == 1 ? x + x : x * x; });
  M.add_to_diagonal(x), M.row(0).swap(M.row(2));
  same("diagonal-and-swap", M, [&](int i, int j) {
    const int k = 2 - i == 1 ? 1 : 2 - i;
    const S before = k < 2 ? a(k, j) : j == 0 ? x : j == 1 ? x + x : x * x;
    return k == j ? before + x : before;
  });
  // --- vectors and square matrices
  const auto u = any<S, 3, 1>(), v = any<S, 3, 1>();
  row("dot", distance(u.dot(v), u[0] * v[0] + u[1] * v[1] + u[2] * v[2]));
  row("cross", distance(u.cross(v)[1], u[2] * v[0] - u[0] * v[2]) + distance(u.cross(v).dot(u), S(0)));
  row("sum-of-entries", distance(A.sum(), (A * Matrix<S, 6, 1>::Ones()).dot(Matrix<S, 4, 1>::Ones())));
  row("square", distance(u.squaredNorm(), u.dot(u)));
  const auto Q = any<S, 3, 3>();
  same("as-diagonal", u.asDiagonal() * Q * v.asDiagonal(), [&](int i, int j) { return u[i] * Q(i, j) * v[j]; });
  same("inverse", Q * Q.inverse(), [&](int i, int j) { return S(i == j ? 1.0 : 0.0); });
  row("determinant", distance(Q.determinant() * Q.inverse().determinant(), S(1)));
  Matrix<S, 6, 6> L = any<S, 6, 6>();
  L.add_to_diagonal(S(3));
  same("inverse", L * L.inverse(), [&](int i, int j) { return S(i == j ? 1.0 : 0.0); });
}

template <class S> void elimination() {
  // A ring with a chord and a tail: fill, several later neighbours, both triangles.
  const std::vector<std::pair<int, int>> links{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {1, 3}, {4, 5}};
  const BlockPattern pattern(std::vector<int>(6, 6), links);
  BlockLu<S> blocks(pattern);
  UniformLu<S, 6> uniform(pattern);
  uniform.clear();
  const int n = 36;
  std::vector<S> dense(std::size_t(n * n), S(0)), b(std::size_t(n), S(0)), x, y;
  const auto put = [&](int i, int j) {
    auto m = any<S, 6, 6>();
    if (i == j) m.add_to_diagonal(S(8));
    blocks.block(i, j) = m, uniform.block(UniformLu<S, 6>::at(pattern, i, j)) = m;
    for (int r = 0; r < 6; ++r)
      for (int c = 0; c < 6; ++c) dense[std::size_t(6 * i + r + n * (6 * j + c))] = m(r, c);
  };
  for (int v = 0; v < 6; ++v) put(v, v);
  for (auto [i, j] : links) put(i, j), put(j, i);
  for (S& z : b) fill(z);
  const std::vector<S> matrix = dense;
  std::vector<int> pivots(static_cast<std::size_t>(n));
  if (!factor_dense(n, dense.data(), pivots.data())) return;
  x = b, solve_dense(n, dense.data(), pivots.data(), x.data());
  double error = 0.0;
  for (int i = 0; i < n; ++i) {
    S rest = b[std::size_t(i)];
    for (int j = 0; j < n; ++j) rest -= matrix[std::size_t(i + n * j)] * x[std::size_t(j)];
    error = std::max(error, std::abs(rest));
  }
  row("dense-residual", error);
  y = b;
  if (!blocks.factor()) return;
  blocks.solve(y.data());
  error = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) error = std::max(error, std::abs(y[i] - x[i]));
  row("blocks", error);
  std::vector<Matrix<S, 6, 1>> z(6);
  for (int v = 0; v < 6; ++v) z[std::size_t(v)] = Matrix<S, 6, 1>(b.data() + 6 * v);
  if (!uniform.factor()) return;
  uniform.solve(z.data());
  error = 0.0;
  for (int i = 0; i < n; ++i) error = std::max(error, std::abs(z[std::size_t(i / 6)][i % 6] - x[std::size_t(i)]));
  row("uniform", error);
  // The transposed matrix, by the factors of each.
  x = b, solve_dense_transposed(n, dense.data(), pivots.data(), x.data());
  error = 0.0;
  for (int i = 0; i < n; ++i) {
    S rest = b[std::size_t(i)];
    for (int j = 0; j < n; ++j) rest -= matrix[std::size_t(j + n * i)] * x[std::size_t(j)];
    error = std::max(error, std::abs(rest));
  }
  row("dense-transposed-residual", error);
  y = b, blocks.solve_transposed(y.data());
  for (int v = 0; v < 6; ++v) z[std::size_t(v)] = Matrix<S, 6, 1>(b.data() + 6 * v);
  uniform.solve_transposed(z.data());
  double other = error = 0.0;
  for (int i = 0; i < n; ++i) {
    error = std::max(error, std::abs(y[std::size_t(i)] - x[std::size_t(i)]));
    other = std::max(other, std::abs(z[std::size_t(i / 6)][i % 6] - x[std::size_t(i)]));
  }
  row("blocks-transposed", error), row("uniform-transposed", other);
}

// Nodes of several sizes; those among neighbours of three or six alone have kernels of their own.
template <class S> void sizes() {
  const std::vector<int> size{3, 3, 3, 3, 6, 6, 6, 6, 7, 2};
  const std::vector<std::pair<int, int>> links{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {4, 5}, {5, 6},
                                               {6, 7}, {7, 4}, {3, 8}, {7, 8}, {8, 9}, {0, 4}};
  const BlockPattern pattern(size, links);
  BlockLu<S> lu(pattern);
  const int n = pattern.total();
  std::vector<S> dense(std::size_t(n * n), S(0)), b(static_cast<std::size_t>(n)), x, y(b.size(), S(0));
  const auto put = [&](int i, int j) {
    auto to = lu.block(i, j);
    for (int c = 0; c < to.cols(); ++c)
      for (int r = 0; r < to.rows(); ++r) {
        fill(to(r, c));
        if (i == j && r == c) to(r, c) += S(8);
        dense[std::size_t(pattern.offset(i) + r + n * (pattern.offset(j) + c))] = to(r, c);
      }
  };
  for (int v = 0; v < pattern.nodes(); ++v) put(v, v);
  for (auto [i, j] : links) put(i, j), put(j, i);
  for (S& z : b) fill(z);
  const std::vector<S> values = lu.values(); // before they are factors
  if (!lu.factor()) return;
  const auto rest = [&](bool transposed) {
    double error = 0.0;
    for (int i = 0; i < n; ++i) {
      S sum = b[std::size_t(i)];
      for (int j = 0; j < n; ++j) sum -= dense[std::size_t(transposed ? j + n * i : i + n * j)] * x[std::size_t(j)];
      error = std::max(error, std::abs(sum));
    }
    return error;
  };
  x = b, lu.solve(x.data());
  row("sizes", rest(false));
  y = b, lu.subtract_product(values, x.data(), y.data());
  double error = 0.0;
  for (const S& z : y) error = std::max(error, std::abs(z));
  row("sizes-product", error);
  x = b, lu.solve_transposed(x.data());
  row("sizes-transposed", rest(true));
}

// M a = psi - G' lambda, G a = -second, where rows of G depend on each other.
void nullspace() {
  const int n = 7, rows = 4;
  std::vector<double> M(n * n), Gt(n * rows), second(rows), psi(n), a(n);
  for (double& x : Gt) fill(x);
  for (double& x : second) fill(x);
  for (double& x : psi) fill(x);
  for (int i = 0; i < n; ++i) Gt[std::size_t(i + 3 * n)] = Gt[std::size_t(i)] - 2.0 * Gt[std::size_t(i + n)];
  second[3] = second[0] - 2.0 * second[1];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      M[std::size_t(i + n * j)] = M[std::size_t(j + n * i)] = (i == j ? 5.0 : 0.0) + random_number();
  const bool found = accelerate_by_nullspace(n, rows, M.data(), Gt.data(), second.data(), psi.data(), a.data());
  double held = found ? 0.0 : 1.0;
  for (int r = 0; r < rows; ++r) {
    double g = second[std::size_t(r)];
    for (int i = 0; i < n; ++i) g += Gt[std::size_t(i + n * r)] * a[std::size_t(i)];
    held = std::max(held, std::abs(g));
  }
  row("constraints-of-a-null-space", held);
  // psi - M a lies in the range of G': what is left after its three independent columns are taken out is zero.
  std::vector<double> rest = psi, base;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) rest[std::size_t(i)] -= M[std::size_t(i + n * j)] * a[std::size_t(j)];
  for (int r = 0; r < 3; ++r) {
    std::vector<double> q(Gt.begin() + n * r, Gt.begin() + n * (r + 1));
    for (std::size_t k = 0; k < base.size(); k += n) {
      double s = 0.0;
      for (int i = 0; i < n; ++i) s += q[std::size_t(i)] * base[k + std::size_t(i)];
      for (int i = 0; i < n; ++i) q[std::size_t(i)] -= s * base[k + std::size_t(i)];
    }
    double s = 0.0, t = 0.0;
    for (double x : q) s += x * x;
    for (double& x : q) x /= std::sqrt(s);
    for (int i = 0; i < n; ++i) t += q[std::size_t(i)] * rest[std::size_t(i)];
    for (int i = 0; i < n; ++i) rest[std::size_t(i)] -= t * q[std::size_t(i)];
    base.insert(base.end(), q.begin(), q.end());
  }
  double left = 0.0;
  for (double x : rest) left = std::max(left, std::abs(x));
  row("forces-of-a-null-space", left);
}

// Factorisations that fail, and solutions that nobody may ask for; 0 if all are refused.
void refusals() {
  const BlockPattern pattern({2, 2}, {{0, 1}});
  const auto refused = [](auto&& solve) {
    try {
      solve();
    } catch (const std::logic_error&) {
      return 0.0;
    }
    return 1.0;
  };
  double numbers[4] = {1, 1, 1, 1};
  BlockLu<double> lu(pattern);
  row("solve-before-factor", refused([&] { lu.solve(numbers); }));
  row("factor-of-zero", lu.factor() ? 1.0 : 0.0);
  row("solve-after-a-failure", refused([&] { lu.solve(numbers); }));
  UniformLu<double, 2> uniform(pattern);
  Matrix<double, 2, 1> x[2] = {{1.0, 1.0}, {1.0, 1.0}};
  row("solve-before-factor", refused([&] { uniform.solve(x); }));
  uniform.clear();
  row("factor-of-zero", uniform.factor() ? 1.0 : 0.0);
  row("solve-after-a-failure", refused([&] { uniform.solve(x); }));
  uniform.block(0)(0, 0) = std::numeric_limits<double>::quiet_NaN();
  row("factor-of-nothing", uniform.factor() ? 1.0 : 0.0);
  const Matrix<double, 3, 1> zero = Matrix<double, 3, 1>::Zero();
  row("zero-normalized", zero.normalized().norm());
  row("zero-to-the-last-bit", zero.isZero() && !Matrix<double, 3, 1>(0.0, 1e-300, 0.0).isZero() ? 0.0 : 1.0);
}

int mistake(const std::string& what) {
  volatile int three = 3, two = 2;
  Matrix<double, 3, 3> m = any<double, 3, 3>();
  double numbers[12] = {};
  if (what == "index") return int(m(three, 0));
  if (what == "vector-index") return int(m.col(0)[three]);
  if (what == "column") return int(m.col(three)[0]);
  if (what == "block") return int(m.block<2, 2>(two, 0)(0, 0));
  if (what == "overlap") m = m.transpose();
  if (what == "grid-index") return int(Grid<double>(numbers, 3, 4)(three, 0));
  if (what == "grid-size") Grid<double>(numbers, 3, 4) = m;
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return mistake(words[1]);
  scalar = "double", operations<double>(), elimination<double>(), sizes<double>(), nullspace(), refusals();
  scalar = "complex", operations<Complex>(), elimination<Complex>(), sizes<Complex>();
  scalar = "dual", operations<D>();
}
