// What a rod is made of, on a staggered grid or in elements: plain arrays, made once; `stretch` moves `G0`.
//
// N gaps between N + 1 vertices, where positions live. On the staggered grid the gaps are segments, which carry frames
// and strains, and curvatures live on vertices; at one without curvature (a free or hinged end) `weight` is 0. In
// elements of degree p, N = p times their number, vertices are nodes, which carry frames too, and strains and
// curvatures live at N Gauss points.
//
// Cell c of a rod is vertex c with a frame: that of the segment before it, or of the same node.
#pragma once

#include <string>
#include <vector>

#include "gyrod/math/rotation.hpp"
#include "gyrod/rod/curvature.hpp"
#include "gyrod/rod/laws.hpp"
#include "gyrod/rod/lobatto.hpp"
#include "gyrod/time/signal.hpp"

namespace gyrod {

// Motion of a held end: position with its first two derivatives, frame with its material angular velocity.
struct EndMotion {
  Vec3<double> x = Vec3<double>::Zero(), v = Vec3<double>::Zero(), a = Vec3<double>::Zero();
  Vec4<double> p{1.0, 0.0, 0.0, 0.0};
  Vec3<double> Omega = Vec3<double>::Zero(), alpha = Omega; // alpha = Omega', where reactions are asked for
};

struct RodEnd {
  bool held = false;    // position prescribed
  bool clamped = false; // frame prescribed: by a ghost quaternion beyond the end of a grid, of the node of an element
  EndMotion at;
  Signal place; // nothing: as in `at`
  Signal frame; // a rotation vector (3) or a unit quaternion (4); nothing: as in `at`
  Signal spin;  // spatial angular velocity of the frame; nothing: that of the frame as it moves
  std::string label;
  // The body that holds the end, -1: none; the point and the frame (a quaternion) of the end in its axes.
  int host = -1;
  Vec3<double> point = Vec3<double>::Zero();
  Vec4<double> turn{1.0, 0.0, 0.0, 0.0};

  bool led() const { return bool(place) || bool(frame); }
  bool timed() const { return place.timed() || frame.timed(); }
  // Where it is led at t; its angular acceleration only where that is wanted.
  void move(double t, EndMotion& m, bool alpha = false) const;
};

// Springs and dampers of a vertex towards a point of space, along the axes of space.
struct RodSupport {
  int vertex;
  Vec3<double> at, stiffness, damping;
};

// A force and a moment, spread over vertices and segments by weights; in space axes, or following the frames. Or what a
// law makes of F and of how the places of `force` lie and move, per the first of their weights.
struct RodLoad {
  struct Share {
    int frame, vertex;
    Vec3<double> weight; // of each component
  };
  bool follow = false;
  std::vector<Share> force;  // frame: which it follows
  std::vector<Share> moment; // frame: on which it acts; -1, -2: the clamp at the start, at the end
  Signal F, M;               // nothing: none
  const RodLaw* law = nullptr;
  std::vector<double> numbers; // of the law

  bool constant() const { return F.constant() && M.constant(); }
  bool timed() const { return F.timed() || M.timed(); }
  void value(double t, Vec3<double>& force_now, Vec3<double>& moment_now) const {
    force_now = F ? F.vector(t) : Vec3<double>(Vec3<double>::Zero());
    moment_now = M ? M.vector(t) : Vec3<double>(Vec3<double>::Zero());
  }
};

enum class Strain { cosserat, stretch }; // Gamma3 = <d3, x'> - 1, or |x'| - 1

// P: the scalar of what may differ between members of an ensemble that share a grid; see lanes.hpp.
template <class P> struct BasicRodDescription {
  std::string name;
  int segments = 0;                    // N
  int degree = 0;                      // of elements; 0: a staggered grid
  std::vector<double> ds;              // of gaps
  std::vector<double> lengths;         // that belong to frames
  std::vector<double> span, weight;    // of vertices of a grid: length in K, quadrature weight
  std::vector<Mat3<P>> CG, CK, CX;     // CX: strain (rows) with curvature, where strains are
  std::vector<Vec3<P>> cG, cK;         // the paper's damping
  std::vector<Vec3<P>> G0, K0;         // R'x' (with its 1 along d3) and K without stress
  std::vector<Vec3<P>> J;              // moments of inertia of frames
  std::vector<P> mass, tributary, off; // diagonal, row sums and off-diagonal of the mass matrix
  std::vector<Vec3<P>> drag;           // N s/m² along d1, d2, d3, of frames; empty: none
  std::vector<Vec3<P>> spin_drag;      // N s about d1, d2, d3, of frames; empty: none
  bool damped = false, coupled = false, blended = false;
  bool pulled = false; // by links, which need its frames
  Strain strain = Strain::cosserat;
  int held = 0; // strains kept at rest: none, both shears (2), all (3)
  CurvatureLaw law;
  RodEnd ends[2];
  std::vector<RodLoad> loads;
  std::vector<RodSupport> supports;
  Signal stretch; // factor of the rest length; nothing: 1
  Vec3<P> gravity = Vec3<P>::Zero();
  Vec3<double> spin = Vec3<double>::Zero(); // of the frame in which everything is told, about its origin
  bool spins = false;

  int frames() const { return degree ? segments + 1 : segments; }
  int bends() const { return degree ? segments : segments + 1; }            // places with curvature
  bool bent(int n) const { return degree || weight[std::size_t(n)] > 0.0; } // an end without clamp is not
  int frame_of(int cell) const { return degree ? cell : cell - 1; }
  int cell_of(int frame) const { return degree ? frame : frame + 1; }
  // Whether somebody asks for the matrices of frames.
  bool framed() const { return pulled || spins || !loads.empty() || !drag.empty() || !spin_drag.empty(); }
  // Whether frame j is prescribed as such.
  bool holds(int j) const { return degree && ((j == 0 && ends[0].clamped) || (j == segments && ends[1].clamped)); }

  // A vertex that is dragged as a frame is, with a length.
  struct Dragged {
    int frame, vertex;
    double length;
  };
  std::vector<Dragged> dragged;

  // Reciprocals, so that nothing is divided in a step.
  std::vector<double> inverse_ds, kappa, pull; // 1/ds; 2/span, 2 weight/span
  std::vector<double> quadrature;              // weights of strains
  std::vector<Vec3<P>> inverse_J;
  void finish();

private:
  void set_quadrature();
};

template <class P> void BasicRodDescription<P>::finish() {
  if (degree == 0) lengths = quadrature = ds;
  if (degree) set_quadrature();
  dragged.clear();
  for (int j = 0; j < frames() && !drag.empty(); ++j) {
    if (degree)
      dragged.push_back({j, j, lengths[std::size_t(j)]});
    else
      for (int n : {j, j + 1}) dragged.push_back({j, n, 0.5 * ds[std::size_t(j)]});
  }
  inverse_ds.resize(ds.size()), kappa.resize(span.size()), pull.resize(span.size()), inverse_J.resize(J.size());
  for (std::size_t j = 0; j < ds.size(); ++j) inverse_ds[j] = 1.0 / ds[j];
  for (std::size_t n = 0; n < span.size(); ++n) kappa[n] = 2.0 / span[n], pull[n] = 2.0 * weight[n] / span[n];
  for (std::size_t j = 0; j < J.size(); ++j)
    for (int k = 0; k < 3; ++k) inverse_J[j][k] = P(1) / J[j][k];
}

template <class P> void BasicRodDescription<P>::set_quadrature() {
  const double* w = gauss_weights(degree);
  quadrature.resize(ds.size());
  for (std::size_t e = 0, p = std::size_t(degree); e * p < ds.size(); ++e) {
    double h = 0.0;
    for (std::size_t k = 0; k < p; ++k) h += ds[e * p + k];
    for (std::size_t k = 0; k < p; ++k) quadrature[e * p + k] = 0.5 * h * w[k];
  }
}

using RodDescription = BasicRodDescription<double>;
extern template void BasicRodDescription<double>::finish(); // compiled once, in rods.cpp

// Numbers of a rod that may differ between runs while its grid, its ends and its loads stay: row-major, as long as
// those of the description; null: they stay too.
struct RodNumbers {
  const double *CG = nullptr, *CK = nullptr, *CX = nullptr;                              // 3 x 3 each
  const double *cG = nullptr, *cK = nullptr, *G0 = nullptr, *K0 = nullptr, *J = nullptr; // 3 each
  const double *mass = nullptr, *tributary = nullptr, *off = nullptr;
  const double* gravity = nullptr;
  const double* damped = nullptr; // 0 or 1
};

// Calls f(vector of scalars, 3-vectors or matrices of the description, numbers) for each kind of numbers.
template <class P, class F> void for_numbers(BasicRodDescription<P>& d, const RodNumbers& v, F&& f) {
  f(d.CG, v.CG), f(d.CK, v.CK), f(d.CX, v.CX);
  f(d.cG, v.cG), f(d.cK, v.cK), f(d.G0, v.G0), f(d.K0, v.K0), f(d.J, v.J);
  f(d.mass, v.mass), f(d.tributary, v.tributary), f(d.off, v.off);
}

} // namespace gyrod
