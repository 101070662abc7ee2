#include "gyrod/geometry/surface.hpp"

#include <limits>
#include <map>
#include <numeric>

namespace gyrod::space {

namespace {
Point of(double x, double y, double z) {
  Point p;
  p << x, y, z;
  return p;
}

Near at(const Point& p, double distance, const Point& normal) {
  return {distance, normal, Point(p - distance * normal)};
}

Bend times(const Point& a) { return a * a.transpose(); }

class HalfSpace final : public Surface {
public:
  HalfSpace(const Point& n, double d) : Surface(Form::convex), n_(n), d_(d) {}
  Near near(const Point& p) const override { return at(p, n_.dot(p) - d_, n_); }
  Bend bend(const Point&, const Near&) const override { return Bend::Zero(); }
  bool passable() const override { return false; }

private:
  Point n_;
  double d_;
};

// Points at a distance from a segment of the z axis: a ball, a capsule, an endless cylinder.
class Round final : public Surface {
public:
  Round(double radius, double half, bool inside)
      : Surface(inside ? Form::concave : Form::convex), radius_(radius), half_(half), inside_(inside) {}
  Near near(const Point& p) const override {
    Point away = p;
    away[2] -= std::min(std::max(p[2], -half_), half_);
    const double d = away.norm(), sign = inside_ ? -1.0 : 1.0;
    return at(p, sign * (d - radius_), d > 0.0 ? Point(sign / d * away) : of(sign, 0.0, 0.0));
  }
  Bend bend(const Point& p, const Near& near) const override {
    const double sign = inside_ ? -1.0 : 1.0, d = sign * near.distance + radius_;
    if (!(d > 0.0)) return Bend::Zero();
    Bend H = Bend::Identity() - times(near.normal);
    if (std::abs(p[2]) < half_) H(2, 2) -= 1.0;
    return sign / d * H;
  }
  double extent() const override { return inside_ ? Surface::extent() : radius_ + half_; }

private:
  double radius_, half_;
  bool inside_;
};

class Box final : public Surface {
public:
  Box(const Point& half, double rounding) : Surface(Form::convex), half_(half), rounding_(rounding) {
    for (int i = 0; i < 3; ++i) half_[i] -= rounding;
  }
  Near near(const Point& p) const override {
    Point away;
    const double square = outside(-half_, half_, p, away);
    if (square > 0.0) {
      const double d = std::sqrt(square);
      return at(p, d - rounding_, away / d);
    }
    int least = 0;
    for (int i = 1; i < 3; ++i)
      if (half_[i] - std::abs(p[i]) < half_[least] - std::abs(p[least])) least = i;
    Point n = Point::Zero();
    n[least] = p[least] < 0.0 ? -1.0 : 1.0;
    return at(p, std::abs(p[least]) - half_[least] - rounding_, n);
  }
  Bend bend(const Point& p, const Near& near) const override {
    const double d = near.distance + rounding_;
    if (!(d > 0.0)) return Bend::Zero();
    Bend H = -times(near.normal);
    for (int i = 0; i < 3; ++i)
      if (std::abs(p[i]) > half_[i]) H(i, i) += 1.0;
    return H / d;
  }
  double extent() const override { return half_.norm() + rounding_; }

private:
  Point half_;
  double rounding_;
};

// A profile in the plane of (distance from the axis, z): from the axis outwards, up and back to it.
class Turned final : public Surface {
public:
  Turned(double below, double above, double half, double rounding) : Surface(Form::convex), rounding_(rounding) {
    // The profile is that of the solid without a skin of the thickness of the rounding.
    const double slope = std::hypot(1.0, (above - below) / (2.0 * half)), in = rounding * slope;
    const double tilt = (above - below) / (2.0 * half) * rounding;
    const double x[4] = {0.0, std::max(below - in + tilt, 0.0), std::max(above - in - tilt, 0.0), 0.0};
    const double h = half - rounding, z[4] = {-h, -h, h, h};
    for (int k = 0; k < 3; ++k) {
      const double dx = x[k + 1] - x[k], dz = z[k + 1] - z[k], length = std::hypot(dx, dz);
      if (length > 0.0) sides_.push_back({x[k], z[k], dx / length, dz / length, length});
    }
  }
  Near near(const Point& p) const override {
    const double rho = std::hypot(p[0], p[1]);
    double inner = -std::numeric_limits<double>::infinity(), outer = -inner, nx = 0.0, nz = 0.0, mx = 1.0, mz = 0.0;
    for (const Side& side : sides_) {
      const double x = rho - side.x, z = p[2] - side.z;
      const double along = std::min(std::max(x * side.tx + z * side.tz, 0.0), side.length);
      const double ox = x - along * side.tx, oz = z - along * side.tz, d = std::hypot(ox, oz);
      const double above = x * side.tz - z * side.tx;
      if (above > inner) inner = above, mx = side.tz, mz = -side.tx;
      if (d < outer) outer = d, nx = ox, nz = oz;
    }
    if (inner > 0.0 && outer > 0.0) mx = nx / outer, mz = nz / outer, inner = outer;
    return at(p, inner - rounding_, rho > 0.0 ? of(mx * p[0] / rho, mx * p[1] / rho, mz) : of(mx, 0.0, mz));
  }
  // Around the axis everywhere, and around the circles where sides meet.
  Bend bend(const Point& p, const Near& near) const override {
    const double rho = std::hypot(p[0], p[1]), d = near.distance + rounding_;
    if (!(rho > 0.0)) return Bend::Zero();
    const double cx = p[0] / rho, cy = p[1] / rho, mx = near.normal[0] * cx + near.normal[1] * cy, mz = near.normal[2];
    Bend H = mx / rho * times(of(-cy, cx, 0.0));
    bool side = !(d > 0.0);
    for (const Side& s : sides_) side = side || std::abs(mx * s.tz - mz * s.tx - 1.0) < 1e-12;
    if (!side) H += times(of(-mz * cx, -mz * cy, mx)) / d;
    return H;
  }
  double extent() const override {
    double most = 0.0;
    for (const Side& s : sides_)
      most = std::max({most, std::hypot(s.x, s.z), std::hypot(s.x + s.length * s.tx, s.z + s.length * s.tz)});
    return most + rounding_;
  }

private:
  struct Side {
    double x, z, tx, tz, length;
  };
  std::vector<Side> sides_;
  double rounding_;
};

class Ring final : public Surface {
public:
  Ring(double radius, double wire) : Surface(Form::other), radius_(radius), wire_(wire) {}
  Near near(const Point& p) const override {
    const double rho = std::hypot(p[0], p[1]), x = rho - radius_, d = std::hypot(x, p[2]);
    if (!(d > 0.0)) return at(p, -wire_, of(0.0, 0.0, 1.0));
    const double mx = x / d, cx = rho > 0.0 ? p[0] / rho : 1.0, cy = rho > 0.0 ? p[1] / rho : 0.0;
    return at(p, d - wire_, of(mx * cx, mx * cy, p[2] / d));
  }
  Bend bend(const Point& p, const Near& near) const override {
    const double rho = std::hypot(p[0], p[1]), d = near.distance + wire_;
    if (!(rho > 0.0) || !(d > 0.0)) return Bend::Zero();
    const double cx = p[0] / rho, cy = p[1] / rho, mx = (rho - radius_) / d, mz = p[2] / d;
    return mx / rho * times(of(-cy, cx, 0.0)) + times(of(-mz * cx, -mz * cy, mx)) / d;
  }
  double extent() const override { return radius_ + wire_; }

private:
  double radius_, wire_;
};

class HeightField final : public Surface {
public:
  HeightField(double x, double y, double dx, double dy, std::size_t nx, std::size_t ny, const double* heights)
      : Surface(Form::other, false), from_{x, y}, step_{dx, dy}, count_{int(nx), int(ny)},
        z_(heights, heights + nx * ny) {}
  Near near(const Point& p) const override {
    double f[6];
    height(p, f);
    const double s = std::sqrt(1.0 + f[1] * f[1] + f[2] * f[2]);
    return at(p, (p[2] - f[0]) / s, of(-f[1] / s, -f[2] / s, 1.0 / s));
  }
  Bend bend(const Point& p, const Near& near) const override {
    double f[6];
    height(p, f);
    Bend H = Bend::Zero();
    H(0, 0) = f[3], H(0, 1) = H(1, 0) = f[4], H(1, 1) = f[5];
    const Bend across = Bend::Identity() - times(near.normal);
    return across * (-near.normal[2] * H) * across;
  }
  bool passable() const override { return false; }

private:
  // Cubic convolution (Catmull and Rom): weights of four heights, their slopes and bends, along one axis.
  struct Along {
    int first;
    double w[4], d[4], dd[4];
  };
  Along along(int axis, double x) const {
    const double place = (x - from_[axis]) / step_[axis], last = double(count_[axis] - 1);
    const double inside = std::min(std::max(place, 0.0), last);
    const int cell = std::min(int(inside), count_[axis] - 2);
    const double u = inside - cell, h = 1.0 / step_[axis];
    Along a{cell - 1, {}, {}, {}};
    const double w[4] = {0.5 * u * (u * (2.0 - u) - 1.0), 0.5 * (u * u * (3.0 * u - 5.0) + 2.0),
                         0.5 * u * ((4.0 - 3.0 * u) * u + 1.0), 0.5 * u * u * (u - 1.0)};
    const double d[4] = {0.5 * (u * (4.0 - 3.0 * u) - 1.0), 0.5 * u * (9.0 * u - 10.0),
                         0.5 * (u * (8.0 - 9.0 * u) + 1.0), 0.5 * u * (3.0 * u - 2.0)};
    const double dd[4] = {2.0 - 3.0 * u, 9.0 * u - 5.0, 4.0 - 9.0 * u, 3.0 * u - 1.0};
    const bool beyond = place < 0.0 || place > last; // flat there
    for (int k = 0; k < 4; ++k) a.w[k] = w[k], a.d[k] = beyond ? 0.0 : h * d[k], a.dd[k] = beyond ? 0.0 : h * h * dd[k];
    return a;
  }
  // f, its two slopes and three second derivatives.
  void height(const Point& p, double f[6]) const {
    const Along x = along(0, p[0]), y = along(1, p[1]);
    std::fill(f, f + 6, 0.0);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const double z = value(x.first + i, y.first + j);
        f[0] += x.w[i] * y.w[j] * z, f[1] += x.d[i] * y.w[j] * z, f[2] += x.w[i] * y.d[j] * z;
        f[3] += x.dd[i] * y.w[j] * z, f[4] += x.d[i] * y.d[j] * z, f[5] += x.w[i] * y.dd[j] * z;
      }
  }
  // Straight on beyond the edges.
  double value(int i, int j) const {
    const auto z = [&](int a, int b) { return z_[std::size_t(a * count_[1] + b)]; };
    const int a = std::min(std::max(i, 0), count_[0] - 1), b = std::min(std::max(j, 0), count_[1] - 1);
    double h = z(a, b);
    if (i != a) h += z(a, b) - z(a + (i < 0 ? 1 : -1), b);
    if (j != b) h += z(a, b) - z(a, b + (j < 0 ? 1 : -1));
    return h;
  }

  double from_[2], step_[2];
  int count_[2];
  std::vector<double> z_;
};
} // namespace

std::unique_ptr<Surface> half_space(const Point& normal, double offset) {
  return std::make_unique<HalfSpace>(normal, offset);
}
std::unique_ptr<Surface> ball(double radius, bool inside) { return std::make_unique<Round>(radius, 0.0, inside); }
std::unique_ptr<Surface> endless_cylinder(double radius, bool inside) {
  return std::make_unique<Round>(radius, std::numeric_limits<double>::infinity(), inside);
}
std::unique_ptr<Surface> capsule(double radius, double half) { return std::make_unique<Round>(radius, half, false); }
std::unique_ptr<Surface> box(const Point& half, double rounding) { return std::make_unique<Box>(half, rounding); }
std::unique_ptr<Surface> frustum(double below, double above, double half, double rounding) {
  return std::make_unique<Turned>(below, above, half, rounding);
}
std::unique_ptr<Surface> ring(double radius, double wire) { return std::make_unique<Ring>(radius, wire); }
std::unique_ptr<Surface> height_field(double x, double y, double dx, double dy, std::size_t nx, std::size_t ny,
                                      const double* heights) {
  return std::make_unique<HeightField>(x, y, dx, dy, nx, ny, heights);
}

// --- meshes ---

namespace {
constexpr int leaf = 2; // most triangles of a leaf

Point row(const double* x, std::size_t i) { return of(x[3 * i], x[3 * i + 1], x[3 * i + 2]); }
} // namespace

Triangles::Triangles(const double* vertices, std::size_t n_vertices, const int* faces, std::size_t n_faces, bool closed)
    : Surface(Form::mesh), order_(n_faces), closed_(closed) {
  std::iota(order_.begin(), order_.end(), 0);
  std::vector<Point> centres(n_faces);
  triangles_.resize(n_faces);
  for (std::size_t f = 0; f < n_faces; ++f) {
    const Point a = row(vertices, std::size_t(faces[3 * f])), b = row(vertices, std::size_t(faces[3 * f + 1])),
                c = row(vertices, std::size_t(faces[3 * f + 2]));
    triangles_[f] = {a, b, c};
    centres[f] = (a + b + c) / 3.0;
  }
  nodes_.reserve(n_faces);
  nodes_.emplace_back();
  build(centres, 0, int(n_faces), 0);
  std::vector<Corners> sorted(n_faces);
  for (std::size_t f = 0; f < n_faces; ++f) sorted[f] = triangles_[std::size_t(order_[f])];
  triangles_.swap(sorted);
  if (closed) sides(vertices, n_vertices, faces);
}

double Triangles::extent() const {
  double most = 0.0;
  for (const Corners& t : triangles_) most = std::max({most, t.a.norm(), t.b.norm(), t.c.norm()});
  return most;
}

int Triangles::build(std::vector<Point>& centres, int first, int last, int at) {
  Node node{triangles_[std::size_t(order_[std::size_t(first)])].a, {}, first, last - first};
  node.high = node.low;
  Point low = centres[std::size_t(order_[std::size_t(first)])], high = low;
  for (int k = first; k < last; ++k) {
    const auto f = std::size_t(order_[std::size_t(k)]);
    for (const Point* x : {&triangles_[f].a, &triangles_[f].b, &triangles_[f].c})
      for (int i = 0; i < 3; ++i)
        node.low[i] = std::min(node.low[i], (*x)[i]), node.high[i] = std::max(node.high[i], (*x)[i]);
    for (int i = 0; i < 3; ++i) low[i] = std::min(low[i], centres[f][i]), high[i] = std::max(high[i], centres[f][i]);
  }
  if (last - first > leaf) {
    int axis = 0;
    for (int i = 1; i < 3; ++i)
      if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
    const int middle = first + (last - first) / 2;
    std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last, [&](int f, int g) {
      const double x = centres[std::size_t(f)][axis], y = centres[std::size_t(g)][axis];
      return x < y || (x == y && f < g);
    });
    node.first = int(nodes_.size());
    node.count = 0;
    nodes_.resize(nodes_.size() + 2);
    build(centres, first, middle, node.first);
    build(centres, middle, last, node.first + 1);
  }
  nodes_[std::size_t(at)] = node;
  return at;
}

void Triangles::sides(const double* vertices, std::size_t n_vertices, const int* faces) {
  const std::size_t n = order_.size();
  std::vector<Point> face(n), corner(n_vertices, Point::Zero());
  std::map<std::pair<int, int>, Point> edge;
  double volume = 0.0;
  for (std::size_t f = 0; f < n; ++f) {
    Point x[3];
    for (int k = 0; k < 3; ++k) x[k] = row(vertices, std::size_t(faces[3 * f + std::size_t(k)]));
    const Point area = (x[1] - x[0]).cross(x[2] - x[0]);
    volume += area.dot(x[0] - row(vertices, 0));
    face[f] = area.normalized();
    for (int k = 0; k < 3; ++k) {
      const int a = faces[3 * f + std::size_t(k)], b = faces[3 * f + std::size_t((k + 1) % 3)];
      auto [found, fresh] = edge.try_emplace(std::minmax(a, b), face[f]);
      if (!fresh) found->second += face[f];
      const Point u = (x[(k + 1) % 3] - x[k]).normalized(), v = (x[(k + 2) % 3] - x[k]).normalized();
      corner[std::size_t(a)] += std::atan2(u.cross(v).norm(), u.dot(v)) * face[f];
    }
  }
  const double sign = volume < 0.0 ? -1.0 : 1.0; // faces that look inwards
  normals_.resize(7 * n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto f = std::size_t(order_[k]);
    normals_[7 * k] = sign * face[f];
    for (std::size_t e = 0; e < 3; ++e) {
      const int a = faces[3 * f + e], b = faces[3 * f + (e + 1) % 3];
      normals_[7 * k + 1 + e] = sign * edge[std::minmax(a, b)];
      normals_[7 * k + 4 + e] = sign * corner[std::size_t(a)];
    }
  }
}

// Ericson, Real-Time Collision Detection, 5.1.5.
Point Triangles::foot(int triangle, const Point& p, int& feature) const {
  const Corners& t = triangles_[std::size_t(triangle)];
  const Point ab = t.b - t.a, ac = t.c - t.a, ap = p - t.a, bp = p - t.b, cp = p - t.c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap), d3 = ab.dot(bp), d4 = ac.dot(bp), d5 = ab.dot(cp), d6 = ac.dot(cp);
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  Point q;
  feature = 0;
  if (d1 <= 0.0 && d2 <= 0.0) {
    q = t.a, feature = 4;
  } else if (d3 >= 0.0 && d4 <= d3) {
    q = t.b, feature = 5;
  } else if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
    q = t.a + (d1 - d3 > 0.0 ? d1 / (d1 - d3) : 0.0) * ab, feature = 1;
  } else if (d6 >= 0.0 && d5 <= d6) {
    q = t.c, feature = 6;
  } else if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
    q = t.a + (d2 - d6 > 0.0 ? d2 / (d2 - d6) : 0.0) * ac, feature = 3;
  } else if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
    const double whole = d4 - d3 + d5 - d6;
    q = t.b + (whole > 0.0 ? (d4 - d3) / whole : 0.0) * (t.c - t.b), feature = 2;
  } else {
    const double whole = va + vb + vc;
    q = whole > 0.0 ? Point(t.a + vb / whole * ab + vc / whole * ac) : t.a; // of a triangle without area
  }
  return q;
}

static Near near_foot(const Point& p, const Point& q, int part) {
  const Point away = p - q;
  const double d = away.norm();
  return {d, d > 0.0 ? Point(away / d) : Point(Point::Zero()), q, part};
}

Near Triangles::to(int triangle, const Point& p) const {
  int feature;
  const Point q = foot(triangle, p, feature);
  return near_foot(p, q, 7 * triangle + feature);
}

Near Triangles::nearest(const Point& p) const {
  double least = std::numeric_limits<double>::infinity();
  int part = 0;
  Point best, away;
  std::pair<double, int> open[128]; // depth of a tree of 2^31 triangles, twice
  int count = 0;
  open[count++] = {outside(nodes_[0].low, nodes_[0].high, p, away), 0};
  while (count) {
    const auto [square, at] = open[--count];
    if (square >= least) continue;
    const Node& node = nodes_[std::size_t(at)];
    if (node.count) {
      for (int k = node.first; k < node.first + node.count; ++k) {
        int feature;
        const Point q = foot(k, p, feature);
        const double d = (p - q).squaredNorm();
        if (d < least) least = d, part = 7 * k + feature, best = q;
      }
      continue;
    }
    double side[2];
    for (int k = 0; k < 2; ++k) {
      const Node& child = nodes_[std::size_t(node.first + k)];
      side[k] = outside(child.low, child.high, p, away);
    }
    const int nearer = side[1] < side[0];
    open[count++] = {side[1 - nearer], node.first + 1 - nearer};
    open[count++] = {side[nearer], node.first + nearer};
  }
  return near_foot(p, best, part);
}

Near Triangles::sided(const Near& found, const Point& p) const {
  Near result = found;
  result.part = number(found.part / 7);
  if (!closed_) return result;
  const Point& outward = normals_[std::size_t(found.part)];
  if (found.distance == 0.0)
    result.normal = outward.normalized();
  else if ((p - found.point).dot(outward) < 0.0)
    result.distance = -found.distance, result.normal = -found.normal;
  return result;
}

Near Triangles::near(const Point& p) const { return sided(nearest(p), p); }

// Faces are flat; around edges and corners the normal turns. Which of them it is follows from the nearest point.
Bend Triangles::bend(const Point& p, const Near& at) const {
  const Near found = nearest(p);
  const int feature = found.part % 7;
  if (feature == 0 || !(found.distance > 0.0)) return Bend::Zero();
  Bend H = Bend::Identity() - times(at.normal);
  if (feature < 4) {
    const Corners& t = triangles_[std::size_t(found.part / 7)];
    H -= times((feature == 1 ? t.b - t.a : feature == 2 ? t.c - t.b : t.a - t.c).normalized());
  }
  return H / at.distance;
}

} // namespace gyrod::space
