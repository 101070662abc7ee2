#include "gyrod/geometry/curve.hpp"

#include <algorithm>
#include <limits>

namespace gyrod::space {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

Point place(const double* p) {
  Point x;
  x << p[0], p[1], p[2];
  return x;
}

struct Entry {
  double bound;
  int piece, other;
};

class Search {
public:
  Search(int degree, double tolerance) : degree_(degree), tolerance_(tolerance) {}

  std::vector<Piece> pieces;
  std::vector<Entry> open;
  double best = infinity;

  void start(const Curves& curves, std::size_t frame) {
    pieces.clear();
    for (std::size_t c = 0; c < curves.cells; ++c) pieces.emplace_back(curves.cell(frame, c), degree_, int(c));
  }
  void measure() {
    for (Piece& piece : pieces) piece.measure(degree_);
  }
  bool worth(double bound) const { return bound < best - tolerance_; }
  void push(double bound, int piece, int other = 0) {
    if (!worth(bound)) return;
    open.push_back({bound, piece, other});
  }
  // The last one first: what is best is nearly known from the frame before, and sorting would cost more than it saves.
  bool pop(Entry& entry) {
    while (!open.empty()) {
      entry = open.back();
      open.pop_back();
      if (worth(entry.bound)) return true;
    }
    return false;
  }
  int halves(int piece) {
    if (pieces[std::size_t(piece)].halves < 0) {
      const Piece& whole = pieces[std::size_t(piece)];
      const double middle = 0.5 * (whole.begin + whole.end);
      Piece left(whole.cell, whole.begin, middle), right(whole.cell, middle, whole.end);
      whole.split(degree_, left, right);
      pieces[std::size_t(piece)].halves = int(pieces.size());
      pieces.push_back(left);
      pieces.push_back(right);
    }
    return pieces[std::size_t(piece)].halves;
  }

  int degree_;
  double tolerance_;
};

// Least of distance + x (slope) less radius over a chord, x in [-1, 1], give or take the sag.
double tangent(const Piece& piece, double distance, const Point& normal) {
  return distance - piece.radius - std::abs(normal.dot(piece.half) - piece.widens) - piece.sag;
}
double widest(const Piece& piece) { return piece.radius + std::abs(piece.widens) + piece.sag; }
double reach(const Piece& piece) { return piece.length + widest(piece); }

// Place on a cell, radius and derivatives by the place.
struct Jet {
  Point x, dx;
  double r, dr;
};
Jet jet(const double* cell, int degree, double u) {
  double p[largest_degree + 1][4] = {}, slope[4] = {};
  for (int k = 0; k <= degree; ++k) std::copy_n(cell + 4 * k, 4, p[k]);
  for (int n = degree; n > 0; --n) {
    if (n == 1)
      for (int i = 0; i < 4; ++i) slope[i] = degree * (p[1][i] - p[0][i]);
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < 4; ++i) p[k][i] += u * (p[k + 1][i] - p[k][i]);
  }
  return {place(p[0]), place(slope), p[0][3], slope[3]};
}

// The place near u where the derivative of the gap changes its sign, and the gap there.
void polish(const Surface& surface, const double* cell, int degree, double width, double tolerance, Closest& found) {
  const auto look = [&](double u) {
    const Jet j = jet(cell, degree, u);
    const Near near = surface.near(j.x);
    if (near.distance - j.r < found.gap) {
      found.gap = near.distance - j.r, found.u = u;
      found.normal = near.normal, found.point = near.point, found.part = near.part;
    }
    return near.normal.dot(j.dx) - j.dr;
  };
  double a = found.u, fa = look(a), b = a, fb = fa;
  for (int k = 0; k < 4 && fa * fb > 0.0; ++k, width *= 4.0) {
    a = b, fa = fb;
    b = std::min(std::max(fa > 0.0 ? a - width : a + width, 0.0), 1.0);
    if (a == b) return;
    fb = look(b);
  }
  for (int k = 0; k < 40 && fa * fb < 0.0; ++k) { // Illinois
    const double c = k % 8 == 7 ? 0.5 * (a + b) : (a * fb - b * fa) / (fb - fa);
    const double fc = look(c);
    if (std::min(std::abs(c - a), std::abs(c - b)) * std::abs(fc) < 1e-7 * tolerance) break;
    if (fc * fb < 0.0)
      a = b, fa = fb;
    else
      fa *= 0.5;
    b = c, fb = fc;
  }
}

// The smallest gap to anything whose distance is convex or concave.
class ToForm {
public:
  ToForm(const Surface& surface, const Curves& curves, double tolerance)
      : surface_(surface), curves_(curves), search_(curves.degree, tolerance) {}

  Closest operator()(std::size_t frame) {
    Closest found{infinity, 0.0, 0.5, {}, {}, 0.0, 0.0};
    search_.best = infinity;
    search_.start(curves_, frame);
    search_.measure();
    for (std::size_t c = 0; c < curves_.cells; ++c) look(int(c), found);
    for (Entry entry; search_.pop(entry);) {
      const int halves = search_.halves(entry.piece);
      look(halves, found);
      look(halves + 1, found);
    }
    polish(surface_, curves_.cell(frame, std::size_t(found.cell)), curves_.degree, width_, search_.tolerance_, found);
    return found;
  }

private:
  void look(int k, Closest& found) {
    const Piece& piece = search_.pieces[std::size_t(k)];
    const Near near = surface_.near(piece.centre);
    if (near.distance - piece.central < search_.best) {
      search_.best = near.distance - piece.central;
      width_ = piece.end - piece.begin;
      found.gap = search_.best, found.cell = piece.cell, found.u = 0.5 * (piece.begin + piece.end);
      found.normal = near.normal, found.point = near.point, found.part = near.part;
    }
    double bound = 0.0;
    if (surface_.form == Surface::Form::convex) {
      const Near chord = surface_.near(piece.middle);
      bound = tangent(piece, chord.distance, chord.normal);
    } else if (surface_.form == Surface::Form::concave) { // least at an end of the chord
      bound = infinity;
      for (const double side : {-1.0, 1.0}) {
        const double d = surface_.near(piece.middle + side * piece.half).distance;
        bound = std::min(bound, d - piece.radius - side * piece.widens - piece.sag);
      }
    } else { // only that no distance changes faster than its place
      bound =
          surface_.near(piece.middle).distance - piece.radius - piece.half.norm() - std::abs(piece.widens) - piece.sag;
    }
    search_.push(bound, k);
  }

  const Surface& surface_;
  const Curves& curves_;
  Search search_;
  double width_ = 1.0;
};

// The same for meshes: pieces against boxes and triangles, all of which are convex. Sides do not matter until the curve
// touches the mesh or lies inside.
class ToMesh {
public:
  ToMesh(const Triangles& mesh, const Curves& curves, double tolerance)
      : mesh_(mesh), curves_(curves), search_(curves.degree, tolerance), inside_(mesh, curves, 100.0 * tolerance),
        away_(curves.cells) {}

  Closest operator()(std::size_t frame) {
    const int degree = curves_.degree;
    search_.best = found_.gap = infinity;
    search_.start(curves_, frame);
    if (frame) { // where it was nearest in the frame before it is near: the search has only to rule out the others
      start(frame);
      if (inside()) {
        away_.assign(curves_.cells, {});
        return inside_(frame);
      }
    }
    for (std::size_t c = 0; c < curves_.cells; ++c)
      if (!far(frame, c)) search_.push(bound(int(c), 0), int(c), 0);
    for (Entry entry; search_.pop(entry);) expand(entry);
    const double* cell = curves_.cell(frame, std::size_t(found_.cell));
    if (search_.best < found_.gap) {
      const Near near = mesh_.sided(nearest_, jet(cell, degree, found_.u).x);
      found_.gap = search_.best, found_.normal = near.normal, found_.point = near.point, found_.part = near.part;
      outside_ = near.distance;
      polish(mesh_, cell, degree, width_, search_.tolerance_, found_);
    }
    return inside() ? inside_(frame) : found_;
  }

private:
  double bound(int k, int n) const {
    const Piece& piece = search_.pieces[std::size_t(k)];
    const Triangles::Node& node = mesh_.nodes()[std::size_t(n)];
    Point away;
    const double square = outside(node.low, node.high, piece.middle, away), far = search_.best + reach(piece);
    if (far < 0.0 || square > far * far) return infinity;
    if (square == 0.0) return -widest(piece);
    const double d = std::sqrt(square);
    return std::max(-widest(piece), tangent(piece, d, away / d));
  }
  // Whether a cell cannot be the nearest: by what it was away and how far it has come since.
  bool far(std::size_t frame, std::size_t c) {
    constexpr int again = 8; // frames after which a cell that was near is measured
    Away& away = away_[c];
    if (frame) {
      const double *here = curves_.cell(frame, c), *before = curves_.cell(frame - 1, c);
      double moved = 0.0;
      for (int k = 0; k <= curves_.degree; ++k, here += 4, before += 4)
        moved = std::max(moved, (place(here) - place(before)).norm() + std::abs(here[3] - before[3]));
      away.least -= moved;
    }
    if (!search_.worth(away.least)) return true;
    Piece& piece = search_.pieces[c];
    piece.measure(curves_.degree);
    if (--away.wait > 0) return false;
    away.least = mesh_.nearest(piece.middle).distance - reach(piece);
    if (!search_.worth(away.least)) return true;
    away.wait = again;
    return false;
  }
  bool inside() const { return mesh_.closed() && outside_ <= search_.tolerance_; }
  void start(std::size_t frame) {
    const double* cell = curves_.cell(frame, std::size_t(found_.cell));
    found_.gap = infinity;
    polish(mesh_, cell, curves_.degree, 0.01, search_.tolerance_, found_);
    outside_ = found_.gap + jet(cell, curves_.degree, found_.u).r;
    search_.best = found_.gap;
  }
  void take(const Near& near, double radius, const Piece& piece) {
    if (near.distance - radius >= search_.best) return;
    search_.best = near.distance - radius;
    found_.cell = piece.cell, found_.u = 0.5 * (piece.begin + piece.end), width_ = piece.end - piece.begin;
    nearest_ = near;
  }
  void expand(const Entry& entry) {
    const Triangles::Node& node = mesh_.nodes()[std::size_t(entry.other)];
    const double size = search_.pieces[std::size_t(entry.piece)].length;
    if (!node.count) {
      if (size > 0.5 * (node.high - node.low).norm()) return split(entry);
      const double one = bound(entry.piece, node.first), two = bound(entry.piece, node.first + 1);
      const int last = one < two ? 0 : 1;
      search_.push(last ? one : two, entry.piece, node.first + 1 - last);
      search_.push(last ? two : one, entry.piece, node.first + last);
      return;
    }
    const Piece& piece = search_.pieces[std::size_t(entry.piece)];
    double least = infinity;
    for (int k = node.first; k < node.first + node.count; ++k) {
      const Near chord = mesh_.to(k, piece.middle);
      const double lower = std::max(-widest(piece), tangent(piece, chord.distance, chord.normal));
      if (!search_.worth(lower)) continue;
      least = std::min(least, lower);
      if (chord.distance - piece.sag - piece.central < search_.best)
        take(mesh_.to(k, piece.centre), piece.central, piece);
    }
    if (search_.worth(least)) split(entry);
  }
  void split(const Entry& entry) {
    const int halves = search_.halves(entry.piece);
    for (int k = halves; k < halves + 2; ++k) search_.push(bound(k, entry.other), k, entry.other);
  }

  const Triangles& mesh_;
  const Curves& curves_;
  Search search_;
  ToForm inside_;
  Closest found_{};
  Near nearest_{};
  struct Away {
    double least = -infinity; // gap of all of the cell
    int wait = 0;
  };
  std::vector<Away> away_;
  double outside_ = 0.0;
  double width_ = 1.0;
};

// Nearest points of two chords (Ericson 5.1.9), places x and y in [0, 1].
double apart(const Piece& a, const Piece& b, double& x, double& y) {
  const Point d1 = 2.0 * a.half, d2 = 2.0 * b.half, r = (a.middle - a.half) - (b.middle - b.half);
  const double aa = d1.dot(d1), ee = d2.dot(d2), f = d2.dot(r), c = d1.dot(r), bb = d1.dot(d2);
  const auto within = [](double z) { return std::min(std::max(z, 0.0), 1.0); };
  const double whole = aa * ee - bb * bb;
  x = whole > 1e-14 * aa * ee ? within((bb * f - c * ee) / whole) : 0.5;
  y = ee > 0.0 ? (bb * x + f) / ee : 0.0;
  if (!(y >= 0.0 && y <= 1.0)) {
    y = within(y);
    x = aa > 0.0 ? within((bb * y - c) / aa) : 0.0;
  }
  return (r + x * d1 - y * d2).norm();
}

class ToCurve {
public:
  ToCurve(const Curves& a, const Curves& b, double tolerance)
      : a_(a), b_(b), first_(a.degree, tolerance), second_(b.degree, tolerance) {}

  Closest operator()(std::size_t frame) {
    first_.best = infinity;
    first_.start(a_, frame);
    first_.measure();
    second_.start(b_, frame);
    second_.measure();
    if (frame) {
      const Jet j = jet(a_.cell(frame, std::size_t(found_.cell)), a_.degree, found_.u);
      const Jet k = jet(b_.cell(frame, std::size_t(found_.part)), b_.degree, found_.v);
      first_.best = (j.x - k.x).norm() - j.r - k.r;
    }
    for (std::size_t i = 0; i < a_.cells; ++i)
      for (std::size_t j = 0; j < b_.cells; ++j) first_.push(rough(int(i), int(j)), int(i), int(j));
    for (Entry entry; first_.pop(entry);) expand(entry);
    polish(frame);
    return found_;
  }

private:
  double rough(int i, int j) const { // spheres around both
    const Piece &p = first_.pieces[std::size_t(i)], &q = second_.pieces[std::size_t(j)];
    return (p.middle - q.middle).norm() - reach(p) - reach(q);
  }
  void expand(const Entry& entry) {
    const Piece &p = first_.pieces[std::size_t(entry.piece)], &q = second_.pieces[std::size_t(entry.other)];
    double x, y, r, s;
    const double d = apart(p, q, x, y);
    const Point away = p.at(a_.degree, x, r) - q.at(b_.degree, y, s);
    if (const double gap = away.norm() - r - s; gap < first_.best) {
      first_.best = gap;
      found_.cell = p.cell, found_.u = p.begin + x * (p.end - p.begin);
      found_.part = q.cell, found_.v = q.begin + y * (q.end - q.begin);
    }
    if (!first_.worth(d - widest(p) - widest(q))) return;
    const double own = p.sag + std::abs(p.widens), other = q.sag + std::abs(q.widens);
    const bool one = own >= other;
    const int k = one ? first_.halves(entry.piece) : second_.halves(entry.other);
    for (int h = k; h < k + 2; ++h) {
      const int i = one ? h : entry.piece, j = one ? entry.other : h;
      first_.push(std::max(entry.bound, rough(i, j)), i, j);
    }
  }
  // Newton's method for x'.D = y'.D = 0; what does not come nearer is not taken.
  void polish(std::size_t frame) {
    const double *p = a_.cell(frame, std::size_t(found_.cell)), *q = b_.cell(frame, std::size_t(found_.part));
    const auto gap = [&](double u, double v, Jet& j, Jet& k) {
      j = jet(p, a_.degree, u), k = jet(q, b_.degree, v);
      return (j.x - k.x).norm() - j.r - k.r;
    };
    Jet j, k, jn, kn;
    found_.gap = gap(found_.u, found_.v, j, k);
    for (int n = 0; n < 20; ++n) {
      const Point D = j.x - k.x;
      const double h = 1e-5; // second derivatives by differences: they steer, the values are exact
      const Jet ju = jet(p, a_.degree, found_.u + h), kv = jet(q, b_.degree, found_.v + h);
      const double f = j.dx.dot(D), g = -k.dx.dot(D);
      const double A = j.dx.dot(j.dx) + (ju.dx - j.dx).dot(D) / h, B = -j.dx.dot(k.dx),
                   C = k.dx.dot(k.dx) - (kv.dx - k.dx).dot(D) / h;
      double det = A * C - B * B, du, dv;
      if (A > 0.0 && det > 1e-9 * std::abs(A * C))
        du = -(C * f - B * g) / det, dv = -(A * g - B * f) / det;
      else
        du = -f / j.dx.dot(j.dx), dv = -g / k.dx.dot(k.dx);
      double best = found_.gap, x = 0.0, y = 0.0;
      for (double t = 1.0; t > 1e-3; t *= 0.25) {
        x = std::min(std::max(found_.u + t * du, 0.0), 1.0), y = std::min(std::max(found_.v + t * dv, 0.0), 1.0);
        if ((best = gap(x, y, jn, kn)) < found_.gap) break;
      }
      if (!(best < found_.gap)) break;
      const bool done = std::abs(x - found_.u) + std::abs(y - found_.v) < 1e-10;
      found_.gap = best, found_.u = x, found_.v = y, j = jn, k = kn;
      if (done) break;
    }
    const Point D = j.x - k.x;
    const double d = D.norm();
    found_.normal = d > 0.0 ? Point(D / d) : Point(j.dx.cross(k.dx).normalized());
    found_.point = k.x;
  }

  const Curves &a_, &b_;
  Search first_, second_; // bounds and heap are those of the first
  Closest found_{};
};

template <class To> std::vector<Closest> over(To&& to, std::size_t frames) {
  std::vector<Closest> found;
  found.reserve(frames);
  for (std::size_t k = 0; k < frames; ++k) found.push_back(to(k));
  return found;
}
} // namespace

Piece::Piece(const double* values, int degree, int cell) : begin(0.0), end(1.0), cell(cell) {
  for (int k = 0; k <= degree; ++k) std::copy_n(values + 4 * k, 4, p[k]);
}

void Piece::measure(int degree) {
  const Point a = place(p[0]), b = place(p[degree]);
  middle = 0.5 * (a + b), half = 0.5 * (b - a);
  radius = 0.5 * (p[0][3] + p[degree][3]), widens = 0.5 * (p[degree][3] - p[0][3]);
  double places = 0.0, radii = 0.0;
  for (int k = 1; k < degree; ++k) {
    const double x = 2.0 * k / degree - 1.0;
    const Point off = place(p[k]) - middle - x * half;
    places = std::max(places, off.dot(off));
    radii = std::max(radii, std::abs(p[k][3] - radius - x * widens));
  }
  // The inner Bernstein polynomials add up to 1 - x^n - (1 - x)^n at most.
  sag = (1.0 - 2.0 / (1 << degree)) * (std::sqrt(places) + radii);
  length = half.norm();
  constexpr double weights[largest_degree][largest_degree + 1] = {
      {0.5, 0.5}, {0.25, 0.5, 0.25}, {0.125, 0.375, 0.375, 0.125}, {0.0625, 0.25, 0.375, 0.25, 0.0625}};
  double at[4] = {};
  for (int k = 0; k <= degree; ++k)
    for (int i = 0; i < 4; ++i) at[i] += weights[degree - 1][k] * p[k][i];
  centre = place(at), central = at[3];
}

void Piece::split(int degree, Piece& left, Piece& right) const {
  for (int k = 0; k <= degree; ++k) std::copy_n(p[k], 4, right.p[k]);
  for (int n = 0; n <= degree; ++n) {
    std::copy_n(right.p[0], 4, left.p[n]);
    for (int k = 0; k < degree - n; ++k)
      for (int i = 0; i < 4; ++i) right.p[k][i] = 0.5 * (right.p[k][i] + right.p[k + 1][i]);
  }
  left.measure(degree);
  right.measure(degree);
}

Point Piece::at(int degree, double x, double& r) const {
  double q[largest_degree + 1][4] = {};
  for (int k = 0; k <= degree; ++k) std::copy_n(p[k], 4, q[k]);
  for (int n = degree; n > 0; --n)
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < 4; ++i) q[k][i] += x * (q[k + 1][i] - q[k][i]);
  r = q[0][3];
  return place(q[0]);
}

std::vector<Closest> closest(const Surface& surface, const Curves& curves, double tolerance) {
  if (const auto* mesh = dynamic_cast<const Triangles*>(&surface))
    return over(ToMesh(*mesh, curves, tolerance), curves.frames);
  return over(ToForm(surface, curves, tolerance), curves.frames);
}

std::vector<Closest> closest(const Curves& a, const Curves& b, double tolerance) {
  return over(ToCurve(a, b, tolerance), a.frames);
}

} // namespace gyrod::space
