// Joints as readings see them.
#include "bind.hpp"

#include <nanobind/stl/vector.h>

#include "gyrod/joints/set.hpp"

using namespace gyrod;

namespace {
using Poses = nb::ndarray<const double, nb::shape<-1, 3, 3>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::shape<-1, 2, 3>, nb::c_contig, nb::device::cpu>;
using Frames = nb::ndarray<const double, nb::shape<-1, 2, 3, 3>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const double, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;
using Rotations = nb::ndarray<const double, nb::shape<-1, -1, 3, 3>, nb::c_contig, nb::device::cpu>;
using Out4 = nb::ndarray<double, nb::numpy, nb::shape<-1, -1, -1, -1>>;

Vec3<double> vector_of(const double* x) { return {x[0], x[1], x[2]}; }
Mat3<double> matrix_of(const double* x) {
  Mat3<double> M;
  for (int n = 0; n < 9; ++n) M(n / 3, n % 3) = x[n];
  return M;
}

struct Motions {
  std::size_t rows;
  BodyRows bodies;
};
Motions motions(const Positions& x, const Rotations& R, const Positions& v, const Positions& Omega) {
  for (std::size_t d = 0; d < 2; ++d)
    if (R.shape(d) != x.shape(d) || v.shape(d) != x.shape(d) || Omega.shape(d) != x.shape(d))
      throw std::invalid_argument("positions, rotations and velocities of other rows or bodies");
  return {x.shape(0), {x.data(), R.data(), v.data(), Omega.data(), x.shape(1)}};
}

using Which = std::vector<std::size_t>;

// A table of what each coordinate of some joints gives in each row.
template <class Give>
Out3 table(const JointSet& s, const Which& which, const Motions& m, std::size_t width, Give give) {
  std::size_t count = 0;
  for (std::size_t j : which) {
    if (j >= s.size()) throw nb::index_error("no joint of that number");
    count += std::size_t(s.coordinates(j));
  }
  Out3 out = owned<Out3>({m.rows, count, width});
  double* o = out.data();
  CoordinateMotion c[6];
  for (std::size_t n = 0; n < m.rows; ++n)
    for (std::size_t j : which) {
      s.motion(j, m.bodies.row(n), c);
      for (int k = 0; k < s.coordinates(j); ++k, o += width) give(c[k], o);
    }
  return out;
}
} // namespace

void bind_joint_set(nb::module_& m) {
  nb::class_<JointSet>(m, "JointSet", "Joints as readings see them, in the axes of their bodies; -1 is ground.")
      .def(
          "__init__",
          [](JointSet* self, const std::vector<std::string>& kinds, Pairs pairs, Points at, Frames frames,
             Times parameters) {
            const std::size_t n = kinds.size();
            if (pairs.shape(0) != n || at.shape(0) != n || frames.shape(0) != n || parameters.shape(0) != n)
              throw std::invalid_argument("as many kinds, pairs, points, frames and parameters are needed");
            JointSet set;
            for (std::size_t j = 0; j < n; ++j)
              set.add(kinds[j], {int(pairs(j, 0)), int(pairs(j, 1)), vector_of(&at(j, 0, 0)), vector_of(&at(j, 1, 0)),
                                 matrix_of(&frames(j, 0, 0, 0)), matrix_of(&frames(j, 1, 0, 0)), parameters(j)});
            new (self) JointSet(std::move(set));
          },
          nb::kw_only(), "kinds"_a, "pairs"_a, "at"_a, "frames"_a, "parameters"_a)
      .def(
          "coordinates",
          [](const JointSet& s, const Which& which, Positions x, Rotations R, Positions v, Positions Omega) {
            return table(s, which, motions(x, R, v, Omega), 2,
                         [](const CoordinateMotion& c, double* o) { o[0] = c.value, o[1] = c.rate; });
          },
          "which"_a, "x"_a, "R"_a, "v"_a, "Omega"_a, "Values and rates, (rows, coordinates, 2).")
      .def(
          "axes",
          [](const JointSet& s, const Which& which, Positions x, Rotations R, Positions v, Positions Omega) {
            return table(s, which, motions(x, R, v, Omega), 6, [](const CoordinateMotion& c, double* o) {
              for (int i = 0; i < 3; ++i) o[i] = c.slide[i], o[3 + i] = c.turn[i];
            });
          },
          "which"_a, "x"_a, "R"_a, "v"_a, "Omega"_a,
          "Velocity of the point of b and spin of b, space axes, for a unit of each rate, (rows, coordinates, 6).")
      .def(
          "gradients",
          [](const JointSet& s, const Which& which, Positions x, Rotations R, Positions v, Positions Omega) {
            return table(s, which, motions(x, R, v, Omega), 13, [](const CoordinateMotion& c, double* o) {
              o[0] = c.bias;
              for (int i = 0; i < 3; ++i)
                o[1 + i] = -c.by_v[i], o[4 + i] = c.by_wa[i], o[7 + i] = c.by_v[i], o[10 + i] = c.by_wb[i];
            });
          },
          "which"_a, "x"_a, "R"_a, "v"_a, "Omega"_a,
          "Second derivatives without accelerations, and of rates by v in space and Omega of a and of b, (rows, "
          "coordinates, 13).")
      .def(
          "turns",
          [](const JointSet& s, Positions x, Rotations R, Positions v, Positions Omega) {
            const Motions m = motions(x, R, v, Omega);
            Out4 out = owned<Out4>({m.rows, s.size(), 3, 3});
            double* o = out.data();
            for (std::size_t n = 0; n < m.rows; ++n)
              for (std::size_t j = 0; j < s.size(); ++j) {
                const Mat3<double> T = s.turn(j, m.bodies.row(n));
                for (int k = 0; k < 9; ++k) *o++ = T(k / 3, k % 3);
              }
            return out;
          },
          "x"_a, "R"_a, "v"_a, "Omega"_a, "Rotations of b against a in the axes of the joints, (rows, joints, 3, 3).")
      .def(
          "pose",
          [](const JointSet& s, std::size_t joint,
             nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu> q,
             nb::ndarray<const double, nb::shape<3, 3>, nb::c_contig, nb::device::cpu> turn,
             nb::ndarray<const double, nb::shape<3>, nb::c_contig, nb::device::cpu> shift) {
            if (joint >= s.size() || q.shape(1) != std::size_t(s.coordinates(joint)))
              throw std::invalid_argument("no such joint, or not as many coordinates as it has");
            const std::size_t n = q.shape(0);
            Out3 turns = owned<Out3>({n, 3, 3});
            Out2 shifts = owned<Out2>({n, 3});
            for (std::size_t i = 0; i < n; ++i) {
              Mat3<double> T = matrix_of(turn.data());
              Vec3<double> r = vector_of(shift.data());
              s.pose(joint, q.data() + i * q.shape(1), T, r);
              for (int k = 0; k < 9; ++k) turns.data()[9 * i + std::size_t(k)] = T(k / 3, k % 3);
              std::copy_n(r.data(), 3, shifts.data() + 3 * i);
            }
            return std::make_tuple(turns, shifts);
          },
          "joint"_a, "q"_a, "turn"_a, "shift"_a,
          "Rotations and displacements of b against a for coordinates; what they do not say is as given.")
      .def(
          "gaps",
          [](const JointSet& s, Positions x, Rotations R, Positions v, Positions Omega, Rows3 led) {
            const Motions m = motions(x, R, v, Omega);
            if (m.rows != 1 || led.shape(0) != s.size())
              throw std::invalid_argument("one row of motions and one of what leads each joint are needed");
            double fastest[2] = {0.0, 0.0};
            for (std::size_t b = 0; b < m.bodies.bodies; ++b) {
              fastest[0] = std::max(fastest[0], vector_of(v.data() + 3 * b).norm());
              fastest[1] = std::max(fastest[1], vector_of(Omega.data() + 3 * b).norm());
            }
            Out3 out = owned<Out3>({s.size(), 2, 4});
            double* o = out.data();
            for (std::size_t j = 0; j < s.size(); ++j) {
              const JointGaps g = s.gaps(j, m.bodies, {led(j, 0), led(j, 1), led(j, 2)}, fastest);
              for (double value :
                   {g.shift, g.turn, g.slide, g.spin, g.shift_slack, g.turn_slack, g.slide_slack, g.spin_slack})
                *o++ = value;
            }
            return out;
          },
          "x"_a, "R"_a, "v"_a, "Omega"_a, "led"_a,
          "Gaps of position (m, rad) and velocity (m/s, rad/s), and below them what is taken for rounding, (joints, 2, "
          "4). ``led``: value, rate and slack of the rate of what leads each joint; NaN where nothing does.");
}
