// Four numbers as one scalar of the templated kernels: four members of an ensemble go through the same operations at
// once, one in each lane of the processor's vectors. What branches must be decided on what members share, or lane by
// lane (`lanes_apart`).
#pragma once

#include "gyrod/math/matrix.hpp"

#include <cmath>
#include <limits>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

struct Lanes {
  static constexpr int width = 4;
#if defined(__GNUC__)
  // Aligned as a double, so that a state of interleaved members can be read in place; compilers let vectors alias their
  // elements.
  typedef double Vector __attribute__((vector_size(32), aligned(8)));
#else
  struct Vector {
    double x[width];
    double& operator[](int i) { return x[i]; }
    double operator[](int i) const { return x[i]; }
    template <class F> static Vector make(F&& f) { return {{f(0), f(1), f(2), f(3)}}; }
    friend Vector operator+(const Vector& a, const Vector& b) {
      return make([&](int i) { return a[i] + b[i]; });
    }
    friend Vector operator-(const Vector& a, const Vector& b) {
      return make([&](int i) { return a[i] - b[i]; });
    }
    friend Vector operator*(const Vector& a, const Vector& b) {
      return make([&](int i) { return a[i] * b[i]; });
    }
    friend Vector operator/(const Vector& a, const Vector& b) {
      return make([&](int i) { return a[i] / b[i]; });
    }
    friend Vector operator-(const Vector& a) {
      return make([&](int i) { return -a[i]; });
    }
  };
#endif
  Vector v;

  Lanes() = default;
  // Written out: the compiler's own copies go through memory in pieces, which cannot be read back as a whole at once.
  GYROD_INLINE Lanes(const Lanes& x) : v(x.v) {}
  GYROD_INLINE Lanes& operator=(const Lanes& x) { return v = x.v, *this; }
  GYROD_INLINE Lanes(double x) : v{x, x, x, x} {} // NOLINT: numbers are the same in all lanes
  GYROD_INLINE explicit Lanes(const Vector& x) : v(x) {}
  double operator[](int lane) const { return v[lane]; }
  void set(int lane, double x) { v[lane] = x; }

  GYROD_INLINE friend Lanes operator-(const Lanes& a) { return Lanes(Vector(-a.v)); }
  GYROD_INLINE friend Lanes operator+(const Lanes& a, const Lanes& b) { return Lanes(Vector(a.v + b.v)); }
  GYROD_INLINE friend Lanes operator-(const Lanes& a, const Lanes& b) { return Lanes(Vector(a.v - b.v)); }
  GYROD_INLINE friend Lanes operator*(const Lanes& a, const Lanes& b) { return Lanes(Vector(a.v * b.v)); }
  GYROD_INLINE friend Lanes operator/(const Lanes& a, const Lanes& b) { return Lanes(Vector(a.v / b.v)); }
  GYROD_INLINE Lanes& operator+=(const Lanes& b) { return v = v + b.v, *this; }
  GYROD_INLINE Lanes& operator-=(const Lanes& b) { return v = v - b.v, *this; }
  GYROD_INLINE Lanes& operator*=(const Lanes& b) { return v = v * b.v, *this; }
  GYROD_INLINE Lanes& operator/=(const Lanes& b) { return v = v / b.v, *this; }
  GYROD_INLINE friend Lanes sqrt(const Lanes& a) {
    return Lanes(Vector{std::sqrt(a.v[0]), std::sqrt(a.v[1]), std::sqrt(a.v[2]), std::sqrt(a.v[3])});
  }
  // Whether all lanes lie in [low, high).
  GYROD_INLINE bool within(double low, double high) const {
#if defined(__AVX__)
    const __m256d x = _mm256_loadu_pd(reinterpret_cast<const double*>(&v));
    const __m256d above = _mm256_cmp_pd(x, _mm256_set1_pd(low), _CMP_GE_OQ);
    return _mm256_movemask_pd(_mm256_and_pd(above, _mm256_cmp_pd(x, _mm256_set1_pd(high), _CMP_LT_OQ))) == 15;
#else
    return v[0] >= low && v[0] < high && v[1] >= low && v[1] < high && v[2] >= low && v[2] < high && v[3] >= low &&
           v[3] < high;
#endif
  }
};

template <> inline constexpr bool is_lanes<Lanes> = true;

// Rows and columns of four vectors exchanged: numbers of four places become lanes, and back.
GYROD_INLINE void transpose(Lanes* x) {
#if defined(__GNUC__)
  using V = Lanes::Vector;
  const V a = x[0].v, b = x[1].v, c = x[2].v, d = x[3].v;
  const V ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), ba = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const V cd = __builtin_shufflevector(c, d, 0, 4, 2, 6), dc = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  x[0].v = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), x[1].v = __builtin_shufflevector(ba, dc, 0, 1, 4, 5);
  x[2].v = __builtin_shufflevector(ab, cd, 2, 3, 6, 7), x[3].v = __builtin_shufflevector(ba, dc, 2, 3, 6, 7);
#else
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) std::swap(x[i].v[j], x[j].v[i]);
#endif
}

} // namespace gyrod
