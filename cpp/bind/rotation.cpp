// rotation.hpp row by row, in double and (for the derivative) in dual numbers: the door for the tests.
#include "bind.hpp"

#include <map>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace {
using namespace gyrod;

template <class S> using Row = std::vector<S>;

template <class S> struct Entry {
  int columns;
  Row<S> (*function)(const S*);
};

// Results in row-major order, as NumPy has them.
template <class S, class M> Row<S> flat(const M& m) {
  Row<S> r(std::size_t(m.size()));
  for (int i = 0; i < m.rows(); ++i)
    for (int j = 0; j < m.cols(); ++j) r[std::size_t(i * m.cols() + j)] = m(i, j);
  return r;
}

template <class S> Vec3<S> v3(const S* x) { return {x[0], x[1], x[2]}; }
template <class S> Vec4<S> v4(const S* x) { return {x[0], x[1], x[2], x[3]}; }
template <class S> Vec9<S> v9(const S* x) { return Vec9<S>(x); }

template <class S> Row<S> scalar(S value) {
  Row<S> r(1);
  r[0] = value;
  return r;
}

#define GYROD_ENTRY(name, columns, argument)                                                                           \
  {                                                                                                                    \
    #name, {                                                                                                           \
      columns, [](const S* x) { return flat<S>(name<S>(argument(x))); }                                                \
    }                                                                                                                  \
  }
#define GYROD_SCALAR(name)                                                                                             \
  {                                                                                                                    \
    #name, {                                                                                                           \
      1, [](const S* x) { return scalar<S>(name<S>(x[0])); }                                                           \
    }                                                                                                                  \
  }

template <class S> const std::map<std::string, Entry<S>>& table() {
  static const std::map<std::string, Entry<S>> entries = {
      {"multiply", {8, [](const S* x) { return flat<S>(multiply<S>(v4(x), v4(x + 4))); }}},
      {"rotate", {7, [](const S* x) { return flat<S>(rotate<S>(v4(x), v3(x + 4))); }}},
      {"spurrier_klumpp", {9, [](const S* x) { return flat<S>(spurrier_klumpp<S>(Mat3<S>(Mat3<S>(x).transpose()))); }}},
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
  return entries;
}

using Rows = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Tangent = Dual<1>;

template <class S> const Entry<S>& find(const std::string& name, const Rows& x) {
  const auto it = table<S>().find(name);
  if (it == table<S>().end()) throw nb::value_error(("no rotation function " + name).c_str());
  if (int(x.shape(1)) != it->second.columns) throw nb::value_error((name + ": wrong number of columns").c_str());
  return it->second;
}

template <class S, class Read, class Write>
Out2 map_rows(const std::string& name, const Rows& x, Read read, Write write) {
  const Entry<S>& entry = find<S>(name, x);
  std::vector<double> out;
  std::size_t width = 0;
  for (std::size_t n = 0; n < x.shape(0); ++n) {
    S row[9];
    for (int c = 0; c < entry.columns; ++c) row[c] = read(n, c);
    const Row<S> r = entry.function(row);
    width = std::size_t(r.size());
    for (std::size_t c = 0; c < r.size(); ++c) out.push_back(write(r[c]));
  }
  return copied<Out2>(out, {x.shape(0), width});
}
} // namespace

void bind_rotation(nb::module_& m) {
  m.def(
      "rotation_functions",
      [] {
        nb::list names;
        for (const auto& [name, entry] : table<double>()) names.append(nb::make_tuple(name, entry.columns));
        return names;
      },
      "Names of the functions of rotation.hpp and removable.hpp with the number of numbers each takes.");
  m.def(
      "rotation",
      [](const std::string& name, Rows x) {
        return map_rows<double>(name, x, [&](std::size_t n, int c) { return x(n, c); }, [](double v) { return v; });
      },
      "name"_a, "x"_a, "Evaluate a function of rotation.hpp for each row of x.");
  m.def(
      "rotation_derivative",
      [](const std::string& name, Rows x, Rows direction) {
        if (direction.shape(0) != x.shape(0) || direction.shape(1) != x.shape(1))
          throw nb::value_error("direction must have the shape of x");
        return map_rows<Tangent>(
            name, x,
            [&](std::size_t n, int c) {
              Tangent v(x(n, c));
              v.d[0] = direction(n, c);
              return v;
            },
            [](const Tangent& v) { return v.d[0]; });
      },
      "name"_a, "x"_a, "direction"_a, "Directional derivative by evaluating the same source in dual numbers.");
}
