// What the binding files share: array types and how results are handed over.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

using Times = nb::ndarray<const double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Rows3 = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Rows4 = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Four = nb::ndarray<const double, nb::shape<4>, nb::c_contig, nb::device::cpu>;
using Out1 = nb::ndarray<double, nb::numpy, nb::shape<-1>>;
using Out2 = nb::ndarray<double, nb::numpy, nb::shape<-1, -1>>;
using Out3 = nb::ndarray<double, nb::numpy, nb::shape<-1, -1, -1>>;

// A new NumPy array that owns its memory; the caller fills data().
template <class Array, std::size_t D> Array owned(const std::size_t (&shape)[D]) {
  std::size_t size = 1;
  for (std::size_t n : shape) size *= n;
  double* data = new double[size ? size : 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Array(data, D, shape, owner);
}

template <class Array, std::size_t D> Array copied(const std::vector<double>& from, const std::size_t (&shape)[D]) {
  Array a = owned<Array>(shape);
  std::copy(from.begin(), from.end(), a.data());
  return a;
}

void bind_rotation(nb::module_& m);
void bind_attitude(nb::module_& m);
void bind_run(nb::module_& m);
void bind_system(nb::module_& m);
