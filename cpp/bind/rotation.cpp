// rotation.hpp row by row, in double and (for the derivative) in dual numbers: the door for the tests.
#include "bind.hpp"

#include <algorithm>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace {
using namespace gyrod;

// `function` says how many results there are.
template <class S> struct Entry {
  const char* name;
  int columns;
  std::size_t (*function)(const S*, S*);
};

// Results in row-major order, as NumPy has them.
constexpr std::size_t most = 36;
template <class S, int R, int C> std::size_t flat(const Matrix<S, R, C>& m, S* out) {
  static_assert(R * C <= most);
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) *out++ = m(i, j);
  return R * C;
}

template <class S> Vec3<S> v3(const S* x) { return {x[0], x[1], x[2]}; }
template <class S> Vec4<S> v4(const S* x) { return {x[0], x[1], x[2], x[3]}; }
template <class S> Vec9<S> v9(const S* x) { return Vec9<S>(x); }

#define GYROD_ENTRY(name, columns, argument)                                                                           \
  {#name, columns, [](const S* x, S* out) { return flat<S>(name<S>(argument(x)), out); }}
#define GYROD_SCALAR(name) {#name, 1, [](const S* x, S* out) { return *out = name<S>(x[0]), std::size_t(1); }}

template <class S>
constexpr Entry<S> entries[] = {
    {"multiply", 8, [](const S* x, S* out) { return flat<S>(multiply<S>(v4(x), v4(x + 4)), out); }},
    {"rotate", 7, [](const S* x, S* out) { return flat<S>(rotate<S>(v4(x), v3(x + 4)), out); }},
    {"spurrier_klumpp", 9,
     [](const S* x, S* out) { return flat<S>(spurrier_klumpp<S>(Mat3<S>(Mat3<S>(x).transpose())), out); }},
    GYROD_ENTRY(conjugate, 4, v4),
    GYROD_ENTRY(normalize, 4, v4),
    GYROD_ENTRY(exp_quaternion, 3, v3),
    GYROD_ENTRY(log_quaternion, 4, v4),
    GYROD_ENTRY(matrix_from_quaternion, 4, v4),
    GYROD_ENTRY(quaternion_matrix, 4, v4),
    GYROD_ENTRY(quaternion_matrix_right, 4, v4),
    GYROD_ENTRY(quaternion_nullspace, 4, v4),
    GYROD_ENTRY(quaternion_nullspace_space, 4, v4),
    GYROD_ENTRY(euler_map, 4, v4),
    GYROD_ENTRY(euler_differential, 4, v4),
    GYROD_ENTRY(euler_differential_pinv, 4, v4),
    GYROD_ENTRY(skew, 3, v3),
    GYROD_ENTRY(rotation_vector_tangent, 3, v3),
    GYROD_ENTRY(rotation_vector_tangent_inverse, 3, v3),
    GYROD_ENTRY(tangential_tangent, 3, v3),
    GYROD_ENTRY(tangential_tangent_inverse, 3, v3),
    GYROD_ENTRY(euler_tangent_inverse, 3, v3),
    GYROD_ENTRY(director_nullspace, 9, v9),
    GYROD_ENTRY(director_nullspace_space, 9, v9),
    GYROD_SCALAR(cos_sq),
    GYROD_SCALAR(sinc_sq),
    GYROD_SCALAR(cosc_sq),
    GYROD_SCALAR(sinc3_sq),
    GYROD_SCALAR(dsinc_sq),
    GYROD_SCALAR(cotc_sq),
};

using Rows = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Tangent = Dual<1>;

// Row by row; of tangents, which start in a direction, the derivatives.
template <class S> Out2 map_rows(const std::string& name, const Rows& x, const Rows& direction) {
  const auto entry =
      std::find_if(std::begin(entries<S>), std::end(entries<S>), [&](const Entry<S>& e) { return e.name == name; });
  if (entry == std::end(entries<S>)) throw nb::value_error(("no rotation function " + name).c_str());
  if (int(x.shape(1)) != entry->columns) throw nb::value_error((name + ": wrong number of columns").c_str());
  std::vector<double> out;
  std::size_t width = 0;
  for (std::size_t n = 0; n < x.shape(0); ++n) {
    S row[9], results[most];
    for (int c = 0; c < entry->columns; ++c) {
      row[c] = S(x(n, c));
      if constexpr (std::is_same_v<S, Tangent>) row[c].d[0] = direction(n, c);
    }
    width = entry->function(row, results);
    for (std::size_t c = 0; c < width; ++c)
      if constexpr (std::is_same_v<S, Tangent>)
        out.push_back(results[c].d[0]);
      else
        out.push_back(results[c]);
  }
  return copied<Out2>(out, {x.shape(0), width});
}
} // namespace

void bind_rotation(nb::module_& m) {
  m.def(
      "rotation_functions",
      [] {
        nb::list names;
        for (const auto& entry : entries<double>) names.append(nb::make_tuple(entry.name, entry.columns));
        return names;
      },
      "Names of the functions of rotation.hpp and removable.hpp with the number of numbers each takes.");
  m.def(
      "rotation", [](const std::string& name, const Rows& x) { return map_rows<double>(name, x, x); }, "name"_a, "x"_a,
      "Evaluate a function of rotation.hpp for each row of x.");
  m.def(
      "rotation_derivative",
      [](const std::string& name, const Rows& x, const Rows& direction) {
        if (direction.shape(0) != x.shape(0) || direction.shape(1) != x.shape(1))
          throw nb::value_error("direction must have the shape of x");
        return map_rows<Tangent>(name, x, direction);
      },
      "name"_a, "x"_a, "direction"_a, "Directional derivative by evaluating the same source in dual numbers.");
}
