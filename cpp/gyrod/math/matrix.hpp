// Matrices of fixed size in plain loops, for any scalar: the notation that the kernels need and nothing else.
//
//  1. `Matrix<S, R, C>` owns R x C numbers column by column; `View` is a slice of one, with sizes and strides known to
//     the compiler; `Grid` is a slice of run-time size. Indices and sizes are asserted where NDEBUG is not defined.
//  2. Operations return values, not expressions: an expression template is a type of its own, and instantiating those
//     took the compiler three times as long as everything else in the core.
//  3. What is assigned is not copied first. `a = b * a` is safe (a product is a value), `a = a.transpose()` is not:
//     write a = a.transpose().eval(). Overlap is asserted.
//  4. `auto x = a.col(0)` is a view and lives as long as `a`.
//  5. Accessors, views, dot and cross are forced inline, other operations are left to the compiler: forcing all of them
//     costs a quarter more compile time and gains nothing.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#define GYROD_FORCE [[gnu::always_inline]] constexpr
#else
#define GYROD_FORCE constexpr
#endif

namespace gyrod {

using Complex = std::complex<double>;

template <class S, int R, int C> struct Matrix;
template <class T, int R, int C, int I, int J> struct View; // strides I (rows) and J (columns); T may be const
template <class S, int N> struct Diagonal {
  using IsMatrix = void;
  Matrix<S, N, 1> d;
};

template <class A, class B> using Mixed = std::conditional_t<std::is_same_v<A, double>, B, A>;
template <class X>
concept Number = !requires { typename X::IsMatrix; };

// For all entries, column by column.
#define GYROD_EACH(R, C)                                                                                               \
  for (int j = 0; j < C; ++j)                                                                                          \
    for (int i = 0; i < R; ++i)

// What owners and views share: D::a are the entries. Loops run over plain pointers: calls that have to be inlined
// take the compiler longer than the arithmetic in them.
template <class D, class S, int R, int C, int I, int J> struct Ops {
  using IsMatrix = void;
  using Scalar = S;
  static constexpr int RowsAtCompileTime = R, ColsAtCompileTime = C;
  static constexpr int step = C == 1 ? I : J; // from one entry of a vector to the next

  GYROD_FORCE const S* ptr() const { return static_cast<const D*>(this)->a; }
  GYROD_FORCE auto* ptr() { return &static_cast<D*>(this)->a[0]; }
  GYROD_FORCE const S& operator()(int i, int j) const {
    assert(i >= 0 && i < R && j >= 0 && j < C);
    return static_cast<const D*>(this)->a[i * I + j * J];
  }
  GYROD_FORCE auto& operator()(int i, int j) {
    assert(i >= 0 && i < R && j >= 0 && j < C);
    return static_cast<D*>(this)->a[i * I + j * J];
  }
  GYROD_FORCE const S& operator[](int i) const {
    static_assert(R == 1 || C == 1, "a single index is for vectors");
    assert(i >= 0 && i < R * C);
    return static_cast<const D*>(this)->a[i * step];
  }
  GYROD_FORCE auto& operator[](int i) {
    static_assert(R == 1 || C == 1, "a single index is for vectors");
    assert(i >= 0 && i < R * C);
    return static_cast<D*>(this)->a[i * step];
  }
  static constexpr int rows() { return R; }
  static constexpr int cols() { return C; }
  static constexpr int size() { return R * C; }

  // --- views of H x W entries from (i, j) on; each twice, of what may be written and of what may not
#define GYROD_OPEN(...) __VA_ARGS__
#define GYROD_VIEW(prefix, signature, H, W, K, L, i, j)                                                                \
  GYROD_OPEN prefix GYROD_FORCE auto signature {                                                                       \
    assert(inside(i, j, H, W, K, L));                                                                                  \
    return View<std::remove_reference_t<decltype(static_cast<D*>(this)->a[0])>, H, W, K, L>(static_cast<D*>(this)->a + \
                                                                                            ((i) * I + (j) * J));      \
  }                                                                                                                    \
  GYROD_OPEN prefix GYROD_FORCE auto signature const {                                                                 \
    assert(inside(i, j, H, W, K, L));                                                                                  \
    return View<const S, H, W, K, L>(static_cast<const D*>(this)->a + ((i) * I + (j) * J));                            \
  }
  GYROD_VIEW((), col(int j), R, 1, I, J, 0, j)
  GYROD_VIEW((), row(int i), 1, C, I, J, i, 0)
  GYROD_VIEW((), transpose(), C, R, J, I, 0, 0)
  GYROD_VIEW((), diagonal(), (R < C ? R : C), 1, I + J, 0, 0, 0)
  GYROD_VIEW((template <int H, int W>), block(int i, int j), H, W, I, J, i, j)
  GYROD_VIEW((template <int H, int W>), topLeftCorner(), H, W, I, J, 0, 0)
  GYROD_VIEW((template <int H, int W>), topRightCorner(), H, W, I, J, 0, C - W)
  GYROD_VIEW((template <int H, int W>), bottomLeftCorner(), H, W, I, J, R - H, 0)
  GYROD_VIEW((template <int H, int W>), bottomRightCorner(), H, W, I, J, R - H, C - W)
  GYROD_VIEW((template <int N>), topRows(), N, C, I, J, 0, 0)
  GYROD_VIEW((template <int N>), middleRows(int i), N, C, I, J, i, 0)
  GYROD_VIEW((template <int N>), bottomRows(), N, C, I, J, R - N, 0)
  GYROD_VIEW((template <int N>), leftCols(), R, N, I, J, 0, 0)
  GYROD_VIEW((template <int N>), middleCols(int j), R, N, I, J, 0, j)
  GYROD_VIEW((template <int N>), rightCols(), R, N, I, J, 0, C - N)
#define GYROD_SEGMENT(signature, at)                                                                                   \
  GYROD_VIEW((template <int N>), signature, (C == 1 ? N : 1), (C == 1 ? 1 : N), I, J, (C == 1 ? at : 0),               \
             (C == 1 ? 0 : at))
  GYROD_SEGMENT(segment(int i), i)
  GYROD_SEGMENT(head(), 0)
  GYROD_SEGMENT(tail(), (R * C - N))
#undef GYROD_SEGMENT
#undef GYROD_VIEW
#undef GYROD_OPEN

  // --- in place
  GYROD_FORCE void setConstant(const S& x) {
    auto* p = ptr();
    GYROD_EACH(R, C) p[i * I + j * J] = x;
  }
  GYROD_FORCE void setZero() { setConstant(S(0)); }
  GYROD_FORCE void setIdentity() {
    auto* p = ptr();
    const S zero(0), one(1);
    GYROD_EACH(R, C) p[i * I + j * J] = i == j ? one : zero;
  }
  GYROD_FORCE void add_to_diagonal(const S& x) {
    auto* p = ptr();
    for (int i = 0; i < (R < C ? R : C); ++i) p[i * (I + J)] += x;
  }
#define GYROD_ASSIGN(op)                                                                                               \
  template <class E, class Z, int K, int L> constexpr D& operator op(const Ops<E, Z, R, C, K, L>& b) {                 \
    auto* p = ptr();                                                                                                   \
    const Z* q = b.ptr();                                                                                              \
    GYROD_EACH(R, C) p[i * I + j * J] op q[i * K + j * L];                                                             \
    return static_cast<D&>(*this);                                                                                     \
  }
#define GYROD_SCALE(op)                                                                                                \
  template <Number X> constexpr D& operator op(const X& x) {                                                           \
    auto* p = ptr();                                                                                                   \
    GYROD_EACH(R, C) p[i * I + j * J] op x;                                                                            \
    return static_cast<D&>(*this);                                                                                     \
  }
  GYROD_ASSIGN(+=)
  GYROD_ASSIGN(-=)
  GYROD_SCALE(*=)
  GYROD_SCALE(/=)
#undef GYROD_ASSIGN
#undef GYROD_SCALE
  template <int N> constexpr D& operator-=(const Diagonal<S, N>& b) {
    for (int i = 0; i < N; ++i) (*this)(i, i) -= b.d[i];
    return static_cast<D&>(*this);
  }
  template <class E, int K, int L> constexpr void swap(Ops<E, S, R, C, K, L>&& b) {
    GYROD_EACH(R, C) std::swap((*this)(i, j), b(i, j));
  }

  // --- values
  template <class F> constexpr auto map(F&& f) const {
    const S* p = ptr();
    Matrix<std::remove_cvref_t<decltype(f(*p))>, R, C> o;
    GYROD_EACH(R, C) o.a[i + j * R] = f(p[i * I + j * J]);
    return o;
  }
  constexpr Matrix<S, R, C> eval() const { return *this; }
  template <class Z> constexpr Matrix<Z, R, C> cast() const {
    const S* p = ptr();
    Matrix<Z, R, C> o;
    GYROD_EACH(R, C) o.a[i + j * R] = Z(p[i * I + j * J]);
    return o;
  }
  constexpr Matrix<S, R, C> operator-() const {
    const S* p = ptr();
    Matrix<S, R, C> o;
    GYROD_EACH(R, C) o.a[i + j * R] = -p[i * I + j * J];
    return o;
  }
  constexpr Matrix<S, R, C> cwiseAbs() const {
    return map([](const S& x) {
      using std::abs;
      return abs(x);
    });
  }
  constexpr Matrix<S, R, C> cwiseAbs2() const {
    return map([](const S& x) { return x * x; });
  }
  constexpr Matrix<S, R, C> cwiseInverse() const {
    return map([](const S& x) { return S(1) / x; });
  }
  template <class E, int K, int L> constexpr Matrix<S, R, C> cwiseProduct(const Ops<E, S, R, C, K, L>& b) const {
    const S *p = ptr(), *q = b.ptr();
    Matrix<S, R, C> o;
    GYROD_EACH(R, C) o.a[i + j * R] = p[i * I + j * J] * q[i * K + j * L];
    return o;
  }
  template <class E, int K, int L> constexpr Matrix<S, R, C> cwiseQuotient(const Ops<E, S, R, C, K, L>& b) const {
    const S *p = ptr(), *q = b.ptr();
    Matrix<S, R, C> o;
    GYROD_EACH(R, C) o.a[i + j * R] = p[i * I + j * J] / q[i * K + j * L];
    return o;
  }
  template <class E, int Q, int W, int K, int L> GYROD_FORCE S dot(const Ops<E, S, Q, W, K, L>& b) const {
    static_assert((R == 1 || C == 1) && (Q == 1 || W == 1) && R * C == Q * W);
    constexpr int other = Ops<E, S, Q, W, K, L>::step;
    const S *p = ptr(), *q = b.ptr();
    S s = p[0] * q[0];
    for (int i = 1; i < R * C; ++i) s += p[i * step] * q[i * other];
    return s;
  }
  template <class E, int Q, int W, int K, int L>
  GYROD_FORCE Matrix<S, 3, 1> cross(const Ops<E, S, Q, W, K, L>& b) const {
    static_assert((R == 1 || C == 1) && R * C == 3 && Q * W == 3);
    constexpr int s = step, t = Ops<E, S, Q, W, K, L>::step;
    const S *p = ptr(), *q = b.ptr();
    return {p[s] * q[2 * t] - p[2 * s] * q[t], p[2 * s] * q[0] - p[0] * q[2 * t], p[0] * q[t] - p[s] * q[0]};
  }
  constexpr S squaredNorm() const {
    const S* p = ptr();
    S s(0);
    GYROD_EACH(R, C) s += p[i * I + j * J] * p[i * I + j * J];
    return s;
  }
  constexpr S norm() const {
    using std::sqrt;
    return sqrt(squaredNorm());
  }
  constexpr Matrix<S, R, C> normalized() const { // zero stays zero
    const S n = norm();
    return n > S(0) ? Matrix<S, R, C>(*this / n) : eval();
  }
  constexpr S sum() const {
    const S* p = ptr();
    S s(0);
    GYROD_EACH(R, C) s += p[i * I + j * J];
    return s;
  }
  constexpr S maxCoeff() const {
    const S* p = ptr();
    S s = p[0];
    GYROD_EACH(R, C) s = p[i * I + j * J] > s ? p[i * I + j * J] : s;
    return s;
  }
  constexpr S minCoeff() const { return -(-*this).maxCoeff(); }
  constexpr bool isZero() const { // to the last bit
    const S* p = ptr();
    for (int j = 0; j < C; ++j)
      for (int i = 0; i < R; ++i)
        if (!(p[i * I + j * J] == S(0))) return false;
    return true;
  }
  constexpr S determinant() const {
    static_assert(R == 3 && C == 3);
    return col(0).dot(col(1).cross(col(2)));
  }
  constexpr Diagonal<S, R> asDiagonal() const {
    static_assert(C == 1);
    return {*this};
  }
  constexpr Matrix<S, R, R> inverse() const;

  // a << numbers or matrices, row by row
  struct Comma {
    D& to;
    int i = 0, j = 0, height = 1;
    template <class X> GYROD_FORCE Comma& operator,(const X& x) {
      if (j == C) j = 0, i += height;
      if constexpr (Number<X>) {
        to(i, j++) = S(x), height = 1;
      } else {
        for (int c = 0; c < X::ColsAtCompileTime; ++c)
          for (int r = 0; r < X::RowsAtCompileTime; ++r) to(i + r, j + c) = x(r, c);
        j += X::ColsAtCompileTime, height = X::RowsAtCompileTime;
      }
      return *this;
    }
  };
  template <class X> GYROD_FORCE Comma operator<<(const X& x) {
    Comma c{static_cast<D&>(*this)};
    c, x;
    return c;
  }

protected:
  template <class E, class Z, int K, int L> GYROD_FORCE void assign(const Ops<E, Z, R, C, K, L>& b) {
    auto* p = ptr();
    const Z* q = b.ptr();
    if constexpr (I != K || J != L) // of the same strides only a shifted overlap does harm
      assert((!std::is_same_v<S, Z>) || apart(q, q + (R - 1) * K + (C - 1) * L));
    GYROD_EACH(R, C) p[i * I + j * J] = q[i * K + j * L];
  }

private:
  // Whether a view of H x W entries with strides K and L lies within: a block, or all entries (transposed, diagonal).
  static constexpr bool inside(int i, int j, int H, int W, int K, int L) {
    if (K == I && L == J) return i >= 0 && j >= 0 && i + H <= R && j + W <= C;
    return i == 0 && j == 0 && (H - 1) * K + (W - 1) * L <= (R - 1) * I + (C - 1) * J;
  }
  template <class Z> constexpr bool apart(const Z* first, const Z* last) const {
    const void *from = ptr(), *to = ptr() + (R - 1) * I + (C - 1) * J;
    return static_cast<const void*>(last) < from || to < static_cast<const void*>(first);
  }
};

template <class S, int R, int C> struct Matrix : Ops<Matrix<S, R, C>, S, R, C, 1, R> {
  S a[R * C];

  Matrix() = default; // uninitialised, where S is
  template <class... X>
    requires(sizeof...(X) == R * C && sizeof...(X) > 1)
  GYROD_FORCE Matrix(const X&... x) : a{S(x)...} {}
  GYROD_FORCE explicit Matrix(const S* x) {
    for (int i = 0; i < R * C; ++i) a[i] = x[i];
  }
  template <class E, class Z, int K, int L> GYROD_FORCE Matrix(const Ops<E, Z, R, C, K, L>& b) {
    const Z* q = b.ptr();
    GYROD_EACH(R, C) a[i + j * R] = q[i * K + j * L];
  }
  GYROD_FORCE Matrix(const Diagonal<S, R>& b)
    requires(R == C && R > 1)
  {
    const S zero(0);
    GYROD_EACH(R, C) a[i + j * R] = i == j ? b.d.a[i] : zero;
  }
  template <class E, class Z, int K, int L> GYROD_FORCE Matrix& operator=(const Ops<E, Z, R, C, K, L>& b) {
    this->assign(b);
    return *this;
  }
  GYROD_FORCE operator S() const
    requires(R * C == 1)
  {
    return a[0];
  }
  GYROD_FORCE const S* data() const { return a; }
  GYROD_FORCE S* data() { return a; }

  static constexpr Matrix Constant(const S& x) {
    Matrix o;
    for (int i = 0; i < R * C; ++i) o.a[i] = x;
    return o;
  }
  static constexpr Matrix Zero() { return Constant(S(0)); }
  static constexpr Matrix Ones() { return Constant(S(1)); }
  static constexpr Matrix Identity() {
    Matrix o;
    o.setIdentity();
    return o;
  }
  static constexpr Matrix Unit(int i) {
    Matrix o = Zero();
    o[i] = S(1);
    return o;
  }
};

template <class T, int R, int C, int I, int J>
struct View : Ops<View<T, R, C, I, J>, std::remove_const_t<T>, R, C, I, J> {
  T* a;
  View(const View&) = default;
  GYROD_FORCE explicit View(T* at) : a(at) {}
  template <class E, class Z, int K, int L> GYROD_FORCE View& operator=(const Ops<E, Z, R, C, K, L>& b) {
    this->assign(b);
    return *this;
  }
  GYROD_FORCE View& operator=(const View& b) { // of the entries, not of the place
    this->assign(b);
    return *this;
  }
};

#define GYROD_SUM(op)                                                                                                  \
  template <class D, class S, class E, class Z, int R, int C, int I, int J, int K, int L>                              \
  constexpr Matrix<Mixed<S, Z>, R, C> operator op(const Ops<D, S, R, C, I, J>& a, const Ops<E, Z, R, C, K, L>& b) {    \
    const S* p = a.ptr();                                                                                              \
    const Z* q = b.ptr();                                                                                              \
    Matrix<Mixed<S, Z>, R, C> o;                                                                                       \
    GYROD_EACH(R, C) o.a[i + j * R] = p[i * I + j * J] op q[i * K + j * L];                                            \
    return o;                                                                                                          \
  }
GYROD_SUM(+)
GYROD_SUM(-)
#undef GYROD_SUM

template <class D, class S, class E, class Z, int R, int N, int C, int I, int J, int K, int L>
constexpr Matrix<Mixed<S, Z>, R, C> operator*(const Ops<D, S, R, N, I, J>& a, const Ops<E, Z, N, C, K, L>& b) {
  const S* p = a.ptr();
  const Z* q = b.ptr();
  Matrix<Mixed<S, Z>, R, C> o;
  if constexpr (std::is_same_v<S, Complex> && std::is_same_v<Z, S> && I == 1 && R > 3) {
    for (int j = 0; j < C; ++j) { // real and imaginary parts of b apart: no shuffles in the inner loop
      double re[2 * R] = {}, im[2 * R] = {};
      for (int k = 0; k < N; ++k) {
        const double* column = reinterpret_cast<const double*>(p + k * J);
        const double x = q[k * K + j * L].real(), y = q[k * K + j * L].imag();
        for (int i = 0; i < 2 * R; ++i) re[i] += column[i] * x, im[i] += column[i] * y;
      }
      for (int i = 0; i < R; ++i) o.a[i + j * R] = S(re[2 * i] - im[2 * i + 1], re[2 * i + 1] + im[2 * i]);
    }
  } else if constexpr (std::is_same_v<S, double> && std::is_same_v<Z, Complex> && I == 1 && R > 3) {
    for (int j = 0; j < C; ++j) { // likewise
      double re[R] = {}, im[R] = {};
      for (int k = 0; k < N; ++k) {
        const double x = q[k * K + j * L].real(), y = q[k * K + j * L].imag();
        for (int i = 0; i < R; ++i) re[i] += p[i + k * J] * x, im[i] += p[i + k * J] * y;
      }
      for (int i = 0; i < R; ++i) o.a[i + j * R] = Z(re[i], im[i]);
    }
  } else {
    for (int j = 0; j < C; ++j) {
      for (int i = 0; i < R; ++i) o.a[i + j * R] = p[i * I] * q[j * L];
      for (int k = 1; k < N; ++k)
        for (int i = 0; i < R; ++i) o.a[i + j * R] += p[i * I + k * J] * q[k * K + j * L];
    }
  }
  return o;
}

template <class S, class X> using Scaled = Mixed<S, std::conditional_t<std::is_arithmetic_v<X>, double, X>>;
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<Scaled<S, X>, R, C> operator*(const X& x, const Ops<D, S, R, C, I, J>& a) {
  const S* p = a.ptr();
  Matrix<Scaled<S, X>, R, C> o;
  GYROD_EACH(R, C) o.a[i + j * R] = x * p[i * I + j * J];
  return o;
}
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<Scaled<S, X>, R, C> operator*(const Ops<D, S, R, C, I, J>& a, const X& x) {
  const S* p = a.ptr();
  Matrix<Scaled<S, X>, R, C> o;
  GYROD_EACH(R, C) o.a[i + j * R] = p[i * I + j * J] * x;
  return o;
}
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<S, R, C> operator/(const Ops<D, S, R, C, I, J>& a, const X& x) {
  const S* p = a.ptr();
  Matrix<S, R, C> o;
  GYROD_EACH(R, C) o.a[i + j * R] = p[i * I + j * J] / x;
  return o;
}
template <class E, class S, int N, int C, int K, int L>
constexpr Matrix<S, N, C> operator*(const Diagonal<S, N>& d, const Ops<E, S, N, C, K, L>& a) {
  const S* q = a.ptr();
  Matrix<S, N, C> o;
  GYROD_EACH(N, C) o.a[i + j * N] = d.d.a[i] * q[i * K + j * L];
  return o;
}
template <class E, class S, int N, int R, int K, int L>
constexpr Matrix<S, R, N> operator*(const Ops<E, S, R, N, K, L>& a, const Diagonal<S, N>& d) {
  const S* p = a.ptr();
  Matrix<S, R, N> o;
  GYROD_EACH(R, N) o.a[i + j * R] = p[i * K + j * L] * d.d.a[j];
  return o;
}

// By cofactors for three, by Gauss and Jordan otherwise.
template <class D, class S, int R, int C, int I, int J>
constexpr Matrix<S, R, R> Ops<D, S, R, C, I, J>::inverse() const {
  static_assert(R == C);
  if constexpr (R == 3) {
    const auto& m = *this;
    Matrix<S, 3, 3> o;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i)
        o(j, i) = m((i + 1) % 3, (j + 1) % 3) * m((i + 2) % 3, (j + 2) % 3) -
                  m((i + 1) % 3, (j + 2) % 3) * m((i + 2) % 3, (j + 1) % 3);
    return o * (S(1) / (m(0, 0) * o(0, 0) + m(0, 1) * o(1, 0) + m(0, 2) * o(2, 0)));
  } else {
    using std::abs;
    Matrix<S, R, R> a = *this, o = Matrix<S, R, R>::Identity();
    for (int k = 0; k < R; ++k) {
      int best = k;
      for (int i = k + 1; i < R; ++i)
        if (abs(a(i, k)) > abs(a(best, k))) best = i;
      if (best != k)
        for (int j = 0; j < R; ++j) std::swap(a(k, j), a(best, j)), std::swap(o(k, j), o(best, j));
      const S pivot = S(1) / a(k, k);
      for (int j = 0; j < R; ++j) a(k, j) *= pivot, o(k, j) *= pivot;
      for (int i = 0; i < R; ++i) {
        if (i == k) continue;
        const S f = a(i, k);
        for (int j = 0; j < R; ++j) a(i, j) -= f * a(k, j), o(i, j) -= f * o(k, j);
      }
    }
    return o;
  }
}

template <int N> struct Part {
  template <class S> static Matrix<S, N, 1> of(const S* x) {
    Matrix<S, N, 1> v;
    for (int i = 0; i < N; ++i) v.a[i] = x[i];
    return v;
  }
  template <class S, class V> static void put(S* x, const V& v) {
    for (int i = 0; i < N; ++i) x[i] = v[i];
  }
};

// A slice of run-time size, column by column. Like a pointer it does not own, and a constant one may be written
// through.
template <class T> class Grid {
public:
  using IsMatrix = void;
  Grid(T* at, int rows, int cols) : Grid(at, rows, cols, rows) {}
  Grid(T* at, int rows, int cols, int step) : p_(at), rows_(rows), cols_(cols), step_(step) {}
  Grid(const Grid&) = default;

  T& operator()(int i, int j) const {
    assert(i >= 0 && i < rows_ && j >= 0 && j < cols_);
    return p_[i + j * step_];
  }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  Grid block(int i, int j, int rows, int cols) const {
    assert(i >= 0 && j >= 0 && i + rows <= rows_ && j + cols <= cols_);
    return {p_ + i + j * step_, rows, cols, step_};
  }

  Grid& operator=(const Grid& b) { return assign(b); }
  template <class M>
    requires(!Number<M>)
  Grid& operator=(const M& b) {
    return assign(b);
  }
  template <class M>
    requires(!Number<M>)
  Grid& operator+=(const M& b) {
    return each(b, [](T& to, const auto& from) { to += from; });
  }
  template <class M>
    requires(!Number<M>)
  Grid& operator-=(const M& b) {
    return each(b, [](T& to, const auto& from) { to -= from; });
  }
  void add_to_diagonal(const T& x) const {
    for (int i = 0; i < std::min(rows_, cols_); ++i) (*this)(i, i) += x;
  }
  // y -= A x
  template <class X, class Y> void subtract_product(const X* x, Y* y) const {
    GYROD_EACH(rows_, cols_) y[i] -= (*this)(i, j) * x[j];
  }

private:
  template <class M> Grid& assign(const M& b) {
    return each(b, [](T& to, const auto& from) { to = from; });
  }
  template <class M, class F> Grid& each(const M& b, F&& f) {
    assert(rows_ == b.rows() && cols_ == b.cols());
    GYROD_EACH(rows_, cols_) f((*this)(i, j), b(i, j));
    return *this;
  }
  T* p_;
  int rows_, cols_, step_;
};

} // namespace gyrod
