// The nearest points of curves with a radius to surfaces and to each other, frame by frame.
//
// A curve is a row of cells, each a polynomial by its Bernstein coefficients (x, y, z, radius). Pieces of cells are
// tried in the order of lower bounds of their gap, distance less radius, and halved until no piece can be nearer by
// more than the tolerance. The bounds are of second order in the length of a piece: a piece is its chord give or take
// its sag, and a convex distance lies above its tangent. The best one is then followed to where the derivative
// vanishes.
#pragma once

#include <cstddef>
#include <vector>

#include "gyrod/geometry/surface.hpp"

namespace gyrod::space {

constexpr int largest_degree = 4;

struct Curves { // (frames, cells, degree + 1, 4)
  const double* values;
  std::size_t frames, cells;
  int degree;
  const double* cell(std::size_t frame, std::size_t c) const {
    return values + ((frame * cells + c) * std::size_t(degree + 1)) * 4;
  }
};

struct Closest {
  double gap;     // distance of the centreline less the radius; of two curves less both
  double cell, u; // where on the curve, u in [0, 1]
  Point normal;   // from the other towards the curve, of unit length
  Point point;    // on the surface; of two curves on the centreline of the other
  double part, v; // triangle of a mesh; cell and place on the other curve
};

std::vector<Closest> closest(const Surface& surface, const Curves& curves, double tolerance);
std::vector<Closest> closest(const Curves& a, const Curves& b, double tolerance);

// One piece of a cell, shared with the field of an envelope.
struct Piece {
  double p[largest_degree + 1][4];
  double begin, end; // of the cell
  int cell;
  int halves = -1;            // the first of two, once they are made
  Point middle, half;         // of the chord
  Point centre;               // of the curve
  double length, central;     // of half the chord; radius at the centre
  double radius, widens, sag; // in the middle, from there to the end, of places and radius together

  Piece(const double* values, int degree, int cell); // `measure` finds the rest
  Piece(int cell, double begin, double end) : begin(begin), end(end), cell(cell) {}
  void measure(int degree);
  void split(int degree, Piece& left, Piece& right) const;
  Point at(int degree, double x, double& radius) const; // x in [0, 1] of the piece
};

} // namespace gyrod::space
