// Surfaces, nearest points of curves, and the field of an envelope.
#include "bind.hpp"

#include "matrix.hpp"

#include <nanobind/stl/unique_ptr.h>

#include "gyrod/geometry/curve.hpp"
#include "gyrod/geometry/field.hpp"

namespace space = gyrod::space;

namespace {
using Cells = nb::ndarray<const double, nb::shape<-1, -1, -1, 4>, nb::c_contig, nb::device::cpu>;
using Heights = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Faces = nb::ndarray<const int, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

space::Curves curves(const Cells& a) {
  if (a.shape(2) < 2 || a.shape(2) > space::largest_degree + 1) throw nb::value_error("cells must have degree 1 to 4");
  if (!a.shape(1)) throw nb::value_error("a curve must have cells");
  return {a.data(), a.shape(0), a.shape(1), int(a.shape(2)) - 1};
}

Out2 rows(const std::vector<space::Closest>& found) {
  Out2 out = owned<Out2>({found.size(), 11});
  double* to = out.data();
  for (const space::Closest& c : found) {
    const double row[11] = {c.gap,      c.cell,     c.u,        c.normal[0], c.normal[1], c.normal[2],
                            c.point[0], c.point[1], c.point[2], c.part,      c.v};
    to = std::copy(row, row + 11, to);
  }
  return out;
}
} // namespace

void bind_geometry(nb::module_& m) {
  nb::class_<space::Surface>(m, "Surface", "A signed distance in axes of its own.")
      .def_static("half_space", &space::half_space, "normal"_a, "offset"_a)
      .def_static("ball", &space::ball, "radius"_a, "inside"_a = false)
      .def_static("endless_cylinder", &space::endless_cylinder, "radius"_a, "inside"_a = false)
      .def_static("capsule", &space::capsule, "radius"_a, "half"_a)
      .def_static("box", &space::box, "half"_a, "rounding"_a = 0.0)
      .def_static("frustum", &space::frustum, "below"_a, "above"_a, "half"_a, "rounding"_a = 0.0)
      .def_static("ring", &space::ring, "radius"_a, "wire"_a)
      .def_static(
          "height_field",
          [](double x, double y, double dx, double dy, const Heights& z) {
            return space::height_field(x, y, dx, dy, z.shape(0), z.shape(1), z.data());
          },
          "x"_a, "y"_a, "dx"_a, "dy"_a, "heights"_a)
      .def_static(
          "triangles",
          [](const Rows3& vertices, const Faces& faces, bool closed) -> std::unique_ptr<space::Surface> {
            return std::make_unique<space::Triangles>(vertices.data(), vertices.shape(0), faces.data(), faces.shape(0),
                                                      closed);
          },
          "vertices"_a, "faces"_a, "closed"_a)
      .def(
          "near",
          [](const space::Surface& surface, const Rows3& points) {
            Out2 out = owned<Out2>({points.shape(0), 8});
            double* to = out.data();
            nb::gil_scoped_release unlocked;
            for (std::size_t k = 0; k < points.shape(0); ++k) {
              space::Point p;
              for (int i = 0; i < 3; ++i) p[i] = points.data()[3 * k + std::size_t(i)];
              const space::Near n = surface.near(p);
              const double row[8] = {n.distance, n.normal[0], n.normal[1], n.normal[2],
                                     n.point[0], n.point[1],  n.point[2],  double(n.part)};
              to = std::copy(row, row + 8, to);
            }
            return out;
          },
          "points"_a, "Distance, normal, nearest point and triangle, (n, 8).")
      .def(
          "bend",
          [](const space::Surface& surface, const Rows3& points) {
            Out2 out = owned<Out2>({points.shape(0), 9});
            for (std::size_t k = 0; k < points.shape(0); ++k) {
              const space::Point p(points.data() + 3 * k);
              std::copy_n(surface.bend(p, surface.near(p)).data(), 9, out.data() + 9 * k);
            }
            return out;
          },
          "points"_a, "Second derivatives of the distance, (n, 9).")
      .def(
          "closest",
          [](const space::Surface& surface, const Cells& cells, double tolerance) {
            const space::Curves given = curves(cells);
            std::vector<space::Closest> found;
            {
              nb::gil_scoped_release unlocked;
              found = space::closest(surface, given, tolerance);
            }
            return rows(found);
          },
          "curves"_a, "tolerance"_a, "Of curves (n, cells, degree + 1, 4): gap, cell, u, normal, point, part, 0.");
  m.def(
      "closest_curves",
      [](const Cells& a, const Cells& b, double tolerance) {
        const space::Curves one = curves(a), other = curves(b);
        if (one.frames != other.frames) throw nb::value_error("both curves must have as many frames");
        std::vector<space::Closest> found;
        {
          nb::gil_scoped_release unlocked;
          found = space::closest(one, other, tolerance);
        }
        return rows(found);
      },
      "a"_a, "b"_a, "tolerance"_a, "Gap, cell and u of a, normal, point of b, cell and u of b.");
  nb::class_<space::Field>(m, "DistanceField", "The union of curves with a radius.")
      .def(nb::init<double, std::size_t>(), "spacing"_a, "most"_a)
      .def(
          "add",
          [](space::Field& field, const Cells& cells) {
            const space::Curves given = curves(cells);
            nb::gil_scoped_release unlocked;
            return field.add(given);
          },
          "curves"_a, "False where more than `most` blocks of 512 points are needed.")
      .def_prop_ro("blocks", &space::Field::blocks)
      .def(
          "surface",
          [](const space::Field& field) {
            std::vector<double> vertices;
            std::vector<int> faces;
            {
              nb::gil_scoped_release unlocked;
              field.surface(vertices, faces);
            }
            const std::vector<double> numbers(faces.begin(), faces.end());
            return std::make_tuple(copied<Out2>(vertices, {vertices.size() / 3, 3}),
                                   copied<Out2>(numbers, {faces.size() / 3, 3}));
          },
          "Vertices and faces, (n, 3) each.");
}
