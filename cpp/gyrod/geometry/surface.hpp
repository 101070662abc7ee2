// Surfaces in axes of their own: signed distance phi(p), negative inside, its gradient n, and the nearest point p - phi
// n.
//
// Rules for a new surface: `near` is exact, so that phi changes by no more than a point moves; `bend` is the second
// derivative of phi where `near` has been asked, one-sided where it jumps; `form` is what phi is as a function of p,
// which the search along curves (`curve.hpp`) uses for its bounds; a name in the binding, a case in `gyrod.geometry`.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "gyrod/math/matrix.hpp"

namespace gyrod::space {

using Point = Matrix<double, 3, 1>;

struct Near {
  double distance;
  Point normal; // gradient of the distance, of unit length
  Point point;
  int part = 0; // triangle of a mesh
};

using Bend = Matrix<double, 3, 3>;

class Surface {
public:
  // Of none of these nothing is known but that phi is a distance.
  enum class Form { convex, concave, mesh, other };

  explicit Surface(Form form, bool exact = true) : form(form), exact(exact) {}
  virtual ~Surface() = default;
  virtual Near near(const Point& p) const = 0;
  virtual Bend bend(const Point& p, const Near& at) const = 0;
  // Whether what goes through it comes out on another side.
  virtual bool passable() const { return form != Form::concave; }
  // A ball about the origin that holds all of the surface and of what is inside.
  virtual double extent() const { return std::numeric_limits<double>::infinity(); }

  const Form form;
  const bool exact; // phi changes by no more than a point moves
};

std::unique_ptr<Surface> half_space(const Point& normal, double offset); // n.p - offset
// About the origin and the z axis; `inside` turns the outside in: a bowl, a pipe.
std::unique_ptr<Surface> ball(double radius, bool inside);
std::unique_ptr<Surface> endless_cylinder(double radius, bool inside);
std::unique_ptr<Surface> capsule(double radius, double half);
// Edges of boxes, cylinders and cones may be rounded: by no more than the least of their half sizes.
std::unique_ptr<Surface> box(const Point& half, double rounding = 0.0);
// Radii of the ends z = -half and z = half: a cylinder, a cone.
std::unique_ptr<Surface> frustum(double below, double above, double half, double rounding = 0.0);
// A wire about a circle in the plane z = 0: an eyelet.
std::unique_ptr<Surface> ring(double radius, double wire);
// z = f(x, y), bicubic between heights on a grid from (x, y) on, row by row of x; flat beyond. Its distance is
// (z - f)/sqrt(1 + |grad f|^2): exact on the surface, and so are its normal and its bend there.
std::unique_ptr<Surface> height_field(double x, double y, double dx, double dy, std::size_t nx, std::size_t ny,
                                      const double* heights);

// Triangles under a hierarchy of boxes. Sides are told apart where the mesh is closed; else all distances are positive.
class Triangles final : public Surface {
public:
  struct Node {
    Point low, high;
    int first, count; // triangles, or of inner nodes the children first and first + 1, count 0
  };

  Triangles(const double* vertices, std::size_t n_vertices, const int* faces, std::size_t n_faces, bool closed);
  Near near(const Point& p) const override;
  Bend bend(const Point& p, const Near& at) const override;
  double extent() const override;

  const std::vector<Node>& nodes() const { return nodes_; }
  // Unsigned, of all, and of one triangle in the order of the leaves.
  Near nearest(const Point& p) const;
  Near to(int triangle, const Point& p) const;
  // The same with its side.
  Near sided(const Near& found, const Point& p) const;
  int number(int triangle) const { return order_[std::size_t(triangle)]; }
  bool closed() const { return closed_; }

private:
  // The nearest point of a triangle, and of which of its features it is.
  Point foot(int triangle, const Point& p, int& feature) const;
  struct Corners {
    Point a, b, c;
  };
  int build(std::vector<Point>& centres, int first, int last, int at);
  void sides(const double* vertices, std::size_t n_vertices, const int* faces);

  std::vector<Corners> triangles_;
  std::vector<int> order_;
  std::vector<Node> nodes_;
  // Pseudonormals of face, edges ab, bc, ca and corners a, b, c of each triangle, 7 each (Baerentzen and Aanaes 2005).
  std::vector<Point> normals_;
  bool closed_;
};

// Squared distance of a point from a box, and the vector to it from there.
inline double outside(const Point& low, const Point& high, const Point& p, Point& away) {
  for (int i = 0; i < 3; ++i) away[i] = p[i] - std::min(std::max(p[i], low[i]), high[i]);
  return away.dot(away);
}

} // namespace gyrod::space
