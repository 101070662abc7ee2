// Vectors and matrices of fixed size from NumPy arrays, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "gyrod/math/matrix.hpp"

namespace nanobind::detail {
template <int R, int C> struct type_caster<gyrod::Matrix<double, R, C>> {
  using M = gyrod::Matrix<double, R, C>;
  using Vector = ndarray<const double, shape<R>, device::cpu, c_contig>;
  using Table = ndarray<const double, shape<R, C>, device::cpu, c_contig>;
  using In = std::conditional_t<C == 1, Vector, Table>;
  NB_TYPE_CASTER(M, make_caster<In>::Name)

  bool from_python(handle src, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<In> in;
    if (!in.from_python(src, flags, cleanup)) return false;
    const double* x = in.value.data();
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) value(i, j) = x[i * C + j];
    return true;
  }
  static handle from_cpp(const M& m, rv_policy, cleanup_list* cleanup) noexcept {
    double* x = new double[R * C];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) x[i * C + j] = m(i, j);
    capsule owner(x, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    using Out = std::conditional_t<C == 1, ndarray<double, numpy, shape<R>>, ndarray<double, numpy, shape<R, C>>>;
    const size_t shape[] = {size_t(R), size_t(C)};
    return make_caster<Out>::from_cpp(Out(x, C == 1 ? 1 : 2, shape, owner), rv_policy::automatic, cleanup);
  }
};
} // namespace nanobind::detail
