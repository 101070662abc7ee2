// Links between points of rods, bodies and space in the variational integrator: cables, tendons, springs and bushings.
//
// A link sees E, which is x_b - x_a, or of a bushing the same in the axes of a. Its force is that of the mean of E at
// both ends of a step and of the rate (E(q_k+1) - E(q_k))/h, and acts by half at each end, with B = dE/dq:
//   -D1 = h/2 B(q_k)' S,  D2 = -h/2 B(q_k+1)' S
// (discrete d'Alembert; of what has an energy, its gradient). S is along the mean of E, or E does not see rigid
// motions: momenta are kept to rounding, with damping too.
//
// Steps that keep the energy as well have for S the force whose work over the step is the change of the law's energy,
// at means of points and directors; damping takes its work along the change of E.
//
// Where a rod slides through a ring (rod/slide.hpp) E depends on the fraction s of its length as well, which has no
// inertia: one s for a step, where the energy of the mean of E is least, so that S pulls across the rod alone. Steps
// that keep the energy V, at the nodes the least over s, have that s between those of both nodes at which the same part
// of the rod makes V(q_k+1) - V(q_k): there is one, since away from the least energy of a node there is more. In
// Newton's matrix s is eliminated. Vertices that the graph knows of are a window about s; when s strays, it is opened
// anew and the step begins again.
#pragma once

#include <string>

#include "gyrod/rod/slide.hpp"
#include "gyrod/variational/rods.hpp"

namespace gyrod::variational {

class PointLinks {
public:
  PointLinks() = default;
  GYROD_COLD PointLinks(std::vector<RodLink> links, const std::vector<RodLinks>& rods,
                        const std::vector<RigidBody>& bodies);
  bool empty() const { return links_.empty(); }
  // Lists nodes anew, after s has strayed or been set: then follow `pairs`, `bind` and `start`.
  GYROD_COLD void weave(const std::vector<RodLinks>& rods);
  void pairs(std::vector<std::pair<int, int>>& out) const;
  void bind(BlockLu<double>& lu);

  // At a node of time, where the rods have been measured.
  void start(const std::vector<RodLinks>& rods, const Pose* poses) { measure(rods, poses, false, now_); }
  // --- links that slide: s of each, from which the next search begins; windows, two numbers for each
  std::vector<double>& places() { return places_; }
  const std::vector<double>& places() const { return places_; }
  std::vector<int>& windows() { return windows_; }
  void settle(const std::vector<RodLinks>& rods, const Pose* poses); // on what is nearest at the node
  bool strayed() const { return strayed_; }
  void stay() { strayed_ = false; }
  std::string trouble() const;
  // Adds h times the equations at the beginning of a step to r, and to the matrix if there is one to be made.
  void assemble(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r, bool matrix);
  // Adds momenta at the end of the step; returns the energy at its middle. Goes on to the next step.
  double finish(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states);
  // The same of steps that keep energy and momenta.
  void assemble_conserving(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r);
  double finish_conserving(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states);

private:
  struct Level {
    std::vector<V3> E, tangent, bend; // E and, of links that slide, its derivatives by s
    std::vector<M36> B, slope;        // of E and of the tangent
  };
  void measure(const std::vector<RodLinks>& rods, const Pose* poses, bool next, Level& o) const;
  void measure(std::size_t link, const std::vector<RodLinks>& rods, const Pose* poses, bool next, Level& o) const;
  std::size_t entry(std::size_t link, int node) const {
    std::size_t at = first_[link];
    while (nodes_[at] != node) ++at;
    return at;
  }
  V3 ring(std::size_t link, const std::vector<RodLinks>& rods, const Pose* poses, bool next) const;
  // s of a step, from which all that slides is measured.
  void seek(const std::vector<RodLinks>& rods, const Trial& s);
  // Whether it is in its window, with a vertex to spare while a step is sought; else it has strayed.
  bool known(std::size_t slide, const LinkPoint& p);
  void open(std::size_t slide, int from, int to, int last);
  PointForce force(std::size_t link, const Trial& s) const;
  // Over a step: what a link pulls at, and how. A node moves its difference d of points by sign (share x + R arm).
  struct Lever {
    std::size_t entry;
    double sign, share;
    V3 mean, end; // R arm
    // Where the other end slides: how s moves with the node, how share and arm change with s.
    Matrix<double, 1, 6> way = Matrix<double, 1, 6>::Zero();
    double slope = 0.0;
    V3 swing = V3::Zero();
  };
  struct Drawn {
    V3 d, S;                     // mean; force
    M3 K = M3::Zero(), turn = K; // of the force by d at the end, and by the turn of the axes there
    int frame = -1;              // entry of the node that carries these; its moment is S x d
    double energy = 0.0;
    V3 by_way = V3::Zero(); // the force by s
  };
  Drawn draw(std::size_t link, const std::vector<RodLinks>& rods, const Trial& s, std::vector<Lever>& levers);
  Drawn draw_sliding(std::size_t link, const std::vector<RodLinks>& rods, const Trial& s, std::vector<Lever>& levers);

  std::vector<RodLink> links_;
  std::vector<RigidBody> bodies_;
  std::vector<std::size_t> first_; // entries of each link
  std::vector<int> nodes_;         // of entries
  std::vector<std::size_t> target_;
  std::vector<Grid<double>> targets_; // blocks of all pairs of entries of a link
  Level now_, next_;
  std::vector<Lever> levers_;
  std::vector<std::size_t> sliding_;     // links
  std::vector<double> places_, reached_; // reached_: by the step in hand
  std::vector<int> windows_;             // first vertex, count
  std::vector<V3> mean_;
  int spare_ = 1;
  bool strayed_ = false;
};

} // namespace gyrod::variational
