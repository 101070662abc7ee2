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

// Calls f(i, j) for all entries, column by column.
template <int R, int C, class F> GYROD_FORCE void each_entry(F&& f) {
  for (int j = 0; j < C; ++j)
    for (int i = 0; i < R; ++i) f(i, j);
}

// What owners and views share; D has ptr().
template <class D, class S, int R, int C, int I, int J> struct Ops {
  using IsMatrix = void;
  using Scalar = S;
  static constexpr int RowsAtCompileTime = R, ColsAtCompileTime = C;
  static constexpr int step = C == 1 ? I : J; // from one entry of a vector to the next

  GYROD_FORCE const S* ptr() const { return static_cast<const D*>(this)->ptr(); }
  GYROD_FORCE auto* ptr() { return static_cast<D*>(this)->ptr(); }
  GYROD_FORCE const S& operator()(int i, int j) const { return ptr()[at(i, j)]; }
  GYROD_FORCE auto& operator()(int i, int j) { return ptr()[at(i, j)]; }
  GYROD_FORCE const S& operator[](int i) const { return ptr()[at(i)]; }
  GYROD_FORCE auto& operator[](int i) { return ptr()[at(i)]; }
  static constexpr int rows() { return R; }
  static constexpr int cols() { return C; }
  static constexpr int size() { return R * C; }

  // --- views; each twice, of what may be written and of what may not
  template <int H, int W, int K = I, int L = J> GYROD_FORCE auto slice(int i, int j) {
    return View<std::remove_pointer_t<decltype(ptr())>, H, W, K, L>(ptr() + corner<H, W, K, L>(i, j));
  }
  template <int H, int W, int K = I, int L = J> GYROD_FORCE auto slice(int i, int j) const {
    return View<const S, H, W, K, L>(ptr() + corner<H, W, K, L>(i, j));
  }
#define GYROD_OPEN(...) __VA_ARGS__
#define GYROD_BOTH(prefix, signature, ...)                                                                             \
  GYROD_OPEN prefix GYROD_FORCE auto signature { return __VA_ARGS__; }                                                 \
  GYROD_OPEN prefix GYROD_FORCE auto signature const { return __VA_ARGS__; }
  GYROD_BOTH((), col(int j), slice<R, 1>(0, j))
  GYROD_BOTH((), row(int i), slice<1, C>(i, 0))
  GYROD_BOTH((), transpose(), slice<C, R, J, I>(0, 0))
  GYROD_BOTH((), diagonal(), slice<(R < C ? R : C), 1, I + J, 0>(0, 0))
  GYROD_BOTH((template <int H, int W>), block(int i, int j), slice<H, W>(i, j))
  GYROD_BOTH((template <int H, int W>), topLeftCorner(), slice<H, W>(0, 0))
  GYROD_BOTH((template <int H, int W>), topRightCorner(), slice<H, W>(0, C - W))
  GYROD_BOTH((template <int H, int W>), bottomLeftCorner(), slice<H, W>(R - H, 0))
  GYROD_BOTH((template <int H, int W>), bottomRightCorner(), slice<H, W>(R - H, C - W))
  GYROD_BOTH((template <int N>), topRows(), slice<N, C>(0, 0))
  GYROD_BOTH((template <int N>), middleRows(int i), slice<N, C>(i, 0))
  GYROD_BOTH((template <int N>), bottomRows(), slice<N, C>(R - N, 0))
  GYROD_BOTH((template <int N>), leftCols(), slice<R, N>(0, 0))
  GYROD_BOTH((template <int N>), middleCols(int j), slice<R, N>(0, j))
  GYROD_BOTH((template <int N>), rightCols(), slice<R, N>(0, C - N))
  GYROD_BOTH((template <int N>), segment(int i),
             slice<(C == 1 ? N : 1), (C == 1 ? 1 : N)>(C == 1 ? i : 0, C == 1 ? 0 : i))
  GYROD_BOTH((template <int N>), head(), segment<N>(0))
  GYROD_BOTH((template <int N>), tail(), segment<N>(R* C - N))
#undef GYROD_BOTH
#undef GYROD_OPEN

  // --- in place
  GYROD_FORCE void setConstant(const S& x) {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) = x; });
  }
  GYROD_FORCE void setZero() { setConstant(S(0)); }
  GYROD_FORCE void setIdentity() {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) = S(i == j ? 1.0 : 0.0); });
  }
  GYROD_FORCE void add_to_diagonal(const S& x) {
    for (int i = 0; i < (R < C ? R : C); ++i) (*this)(i, i) += x;
  }
  template <class E, class Z, int K, int L> constexpr D& operator+=(const Ops<E, Z, R, C, K, L>& b) {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) += b(i, j); });
    return static_cast<D&>(*this);
  }
  template <class E, class Z, int K, int L> constexpr D& operator-=(const Ops<E, Z, R, C, K, L>& b) {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) -= b(i, j); });
    return static_cast<D&>(*this);
  }
  template <Number X> constexpr D& operator*=(const X& x) {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) *= x; });
    return static_cast<D&>(*this);
  }
  template <Number X> constexpr D& operator/=(const X& x) {
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) /= x; });
    return static_cast<D&>(*this);
  }
  template <int N> constexpr D& operator-=(const Diagonal<S, N>& b) {
    for (int i = 0; i < N; ++i) (*this)(i, i) -= b.d[i];
    return static_cast<D&>(*this);
  }
  template <class E, int K, int L> constexpr void swap(Ops<E, S, R, C, K, L>&& b) {
    each_entry<R, C>([&](int i, int j) { std::swap((*this)(i, j), b(i, j)); });
  }

  // --- values
  template <class F> constexpr auto map(F&& f) const {
    Matrix<std::remove_cvref_t<decltype(f((*this)(0, 0)))>, R, C> o;
    each_entry<R, C>([&](int i, int j) { o(i, j) = f((*this)(i, j)); });
    return o;
  }
  constexpr Matrix<S, R, C> eval() const { return *this; }
  template <class Z> constexpr auto cast() const {
    return map([](const S& x) { return Z(x); });
  }
  constexpr Matrix<S, R, C> operator-() const {
    return map([](const S& x) { return -x; });
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
    Matrix<S, R, C> o;
    each_entry<R, C>([&](int i, int j) { o(i, j) = (*this)(i, j) * b(i, j); });
    return o;
  }
  template <class E, int K, int L> constexpr Matrix<S, R, C> cwiseQuotient(const Ops<E, S, R, C, K, L>& b) const {
    Matrix<S, R, C> o;
    each_entry<R, C>([&](int i, int j) { o(i, j) = (*this)(i, j) / b(i, j); });
    return o;
  }
  template <class E, int Q, int W, int K, int L> GYROD_FORCE S dot(const Ops<E, S, Q, W, K, L>& b) const {
    static_assert((R == 1 || C == 1) && (Q == 1 || W == 1) && R * C == Q * W);
    S s = (*this)[0] * b[0];
    for (int i = 1; i < R * C; ++i) s += (*this)[i] * b[i];
    return s;
  }
  template <class E, int Q, int W, int K, int L>
  GYROD_FORCE Matrix<S, 3, 1> cross(const Ops<E, S, Q, W, K, L>& b) const {
    static_assert((R == 1 || C == 1) && R * C == 3 && Q * W == 3);
    const auto& a = *this;
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
  constexpr S squaredNorm() const {
    S s(0);
    each_entry<R, C>([&](int i, int j) { s += (*this)(i, j) * (*this)(i, j); });
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
    S s(0);
    each_entry<R, C>([&](int i, int j) { s += (*this)(i, j); });
    return s;
  }
  constexpr S maxCoeff() const {
    S s = (*this)(0, 0);
    each_entry<R, C>([&](int i, int j) { s = (*this)(i, j) > s ? (*this)(i, j) : s; });
    return s;
  }
  constexpr S minCoeff() const { return -(-*this).maxCoeff(); }
  constexpr bool isZero() const { // to the last bit
    bool zero = true;
    each_entry<R, C>([&](int i, int j) { zero = zero && (*this)(i, j) == S(0); });
    return zero;
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
        each_entry<X::RowsAtCompileTime, X::ColsAtCompileTime>([&](int r, int c) { to(i + r, j + c) = x(r, c); });
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
    if constexpr (I != K || J != L) // of the same strides only a shifted overlap does harm
      assert((!std::is_same_v<S, Z>) || apart(b.ptr(), b.ptr() + (R - 1) * K + (C - 1) * L));
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) = b(i, j); });
  }

private:
  GYROD_FORCE static int at(int i, int j) {
    assert(i >= 0 && i < R && j >= 0 && j < C);
    return i * I + j * J;
  }
  GYROD_FORCE static int at(int i) {
    static_assert(R == 1 || C == 1, "a single index is for vectors");
    assert(i >= 0 && i < R * C);
    return i * step;
  }
  template <int H, int W, int K, int L> GYROD_FORCE static int corner(int i, int j) {
    assert(i >= 0 && j >= 0);
    if constexpr (K == I && L == J)
      assert(i + H <= R && j + W <= C);
    else // of all entries: transposed, or the diagonal
      assert(i == 0 && j == 0 && (H - 1) * K + (W - 1) * L <= (R - 1) * I + (C - 1) * J);
    return i * I + j * J;
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
    each_entry<R, C>([&](int i, int j) { (*this)(i, j) = b(i, j); });
  }
  GYROD_FORCE Matrix(const Diagonal<S, R>& b)
    requires(R == C && R > 1)
  {
    this->setZero();
    for (int i = 0; i < R; ++i) (*this)(i, i) = b.d[i];
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
  GYROD_FORCE const S* ptr() const { return a; }
  GYROD_FORCE S* ptr() { return a; }
  GYROD_FORCE const S* data() const { return a; }
  GYROD_FORCE S* data() { return a; }

  static constexpr Matrix Constant(const S& x) {
    Matrix o;
    o.setConstant(x);
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
  T* p;
  GYROD_FORCE explicit View(T* at) : p(at) {}
  View(const View&) = default;
  GYROD_FORCE T* ptr() const { return p; }
  template <class E, class Z, int K, int L> GYROD_FORCE View& operator=(const Ops<E, Z, R, C, K, L>& b) {
    this->assign(b);
    return *this;
  }
  GYROD_FORCE View& operator=(const View& b) { // of the entries, not of the place
    this->assign(b);
    return *this;
  }
};

template <class D, class S, class E, class Z, int R, int C, int I, int J, int K, int L>
constexpr Matrix<Mixed<S, Z>, R, C> operator+(const Ops<D, S, R, C, I, J>& a, const Ops<E, Z, R, C, K, L>& b) {
  Matrix<Mixed<S, Z>, R, C> o;
  each_entry<R, C>([&](int i, int j) { o(i, j) = a(i, j) + b(i, j); });
  return o;
}
template <class D, class S, class E, class Z, int R, int C, int I, int J, int K, int L>
constexpr Matrix<Mixed<S, Z>, R, C> operator-(const Ops<D, S, R, C, I, J>& a, const Ops<E, Z, R, C, K, L>& b) {
  Matrix<Mixed<S, Z>, R, C> o;
  each_entry<R, C>([&](int i, int j) { o(i, j) = a(i, j) - b(i, j); });
  return o;
}

template <class D, class S, class E, class Z, int R, int N, int C, int I, int J, int K, int L>
constexpr Matrix<Mixed<S, Z>, R, C> operator*(const Ops<D, S, R, N, I, J>& a, const Ops<E, Z, N, C, K, L>& b) {
  Matrix<Mixed<S, Z>, R, C> o;
  if constexpr (std::is_same_v<S, Complex> && std::is_same_v<Z, S> && I == 1 && R > 3) {
    for (int j = 0; j < C; ++j) { // real and imaginary parts of b apart: no shuffles in the inner loop
      double re[2 * R] = {}, im[2 * R] = {};
      for (int k = 0; k < N; ++k) {
        const double* column = reinterpret_cast<const double*>(&a(0, k));
        const double x = b(k, j).real(), y = b(k, j).imag();
        for (int i = 0; i < 2 * R; ++i) re[i] += column[i] * x, im[i] += column[i] * y;
      }
      for (int i = 0; i < R; ++i) o(i, j) = S(re[2 * i] - im[2 * i + 1], re[2 * i + 1] + im[2 * i]);
    }
  } else if constexpr (std::is_same_v<S, double> && std::is_same_v<Z, Complex> && I == 1 && R > 3) {
    for (int j = 0; j < C; ++j) { // likewise
      double re[R] = {}, im[R] = {};
      for (int k = 0; k < N; ++k) {
        const double x = b(k, j).real(), y = b(k, j).imag();
        for (int i = 0; i < R; ++i) re[i] += a(i, k) * x, im[i] += a(i, k) * y;
      }
      for (int i = 0; i < R; ++i) o(i, j) = Z(re[i], im[i]);
    }
  } else {
    for (int j = 0; j < C; ++j) {
      for (int i = 0; i < R; ++i) o(i, j) = a(i, 0) * b(0, j);
      for (int k = 1; k < N; ++k)
        for (int i = 0; i < R; ++i) o(i, j) += a(i, k) * b(k, j);
    }
  }
  return o;
}

template <class S, class X> using Scaled = Mixed<S, std::conditional_t<std::is_arithmetic_v<X>, double, X>>;
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<Scaled<S, X>, R, C> operator*(const X& x, const Ops<D, S, R, C, I, J>& a) {
  Matrix<Scaled<S, X>, R, C> o;
  each_entry<R, C>([&](int i, int j) { o(i, j) = x * a(i, j); });
  return o;
}
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<Scaled<S, X>, R, C> operator*(const Ops<D, S, R, C, I, J>& a, const X& x) {
  Matrix<Scaled<S, X>, R, C> o;
  each_entry<R, C>([&](int i, int j) { o(i, j) = a(i, j) * x; });
  return o;
}
template <class D, class S, int R, int C, int I, int J, Number X>
constexpr Matrix<S, R, C> operator/(const Ops<D, S, R, C, I, J>& a, const X& x) {
  Matrix<S, R, C> o;
  each_entry<R, C>([&](int i, int j) { o(i, j) = a(i, j) / x; });
  return o;
}
template <class E, class S, int N, int C, int K, int L>
constexpr Matrix<S, N, C> operator*(const Diagonal<S, N>& d, const Ops<E, S, N, C, K, L>& a) {
  Matrix<S, N, C> o;
  each_entry<N, C>([&](int i, int j) { o(i, j) = d.d[i] * a(i, j); });
  return o;
}
template <class E, class S, int N, int R, int K, int L>
constexpr Matrix<S, R, N> operator*(const Ops<E, S, R, N, K, L>& a, const Diagonal<S, N>& d) {
  Matrix<S, R, N> o;
  each_entry<R, N>([&](int i, int j) { o(i, j) = a(i, j) * d.d[j]; });
  return o;
}

// By cofactors for three, by Gauss and Jordan otherwise.
template <class D, class S, int R, int C, int I, int J>
constexpr Matrix<S, R, R> Ops<D, S, R, C, I, J>::inverse() const {
  static_assert(R == C);
  if constexpr (R == 3) {
    const auto& m = *this;
    Matrix<S, 3, 3> o;
    each_entry<3, 3>([&](int i, int j) {
      o(j, i) = m((i + 1) % 3, (j + 1) % 3) * m((i + 2) % 3, (j + 2) % 3) -
                m((i + 1) % 3, (j + 2) % 3) * m((i + 2) % 3, (j + 1) % 3);
    });
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
    for (int i = 0; i < N; ++i) v[i] = x[i];
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
    for (int j = 0; j < cols_; ++j)
      for (int i = 0; i < rows_; ++i) y[i] -= (*this)(i, j) * x[j];
  }

private:
  template <class M> Grid& assign(const M& b) {
    return each(b, [](T& to, const auto& from) { to = from; });
  }
  template <class M, class F> Grid& each(const M& b, F&& f) {
    assert(rows_ == b.rows() && cols_ == b.cols());
    for (int j = 0; j < cols_; ++j)
      for (int i = 0; i < rows_; ++i) f((*this)(i, j), b(i, j));
    return *this;
  }
  T* p_;
  int rows_, cols_, step_;
};

} // namespace gyrod
