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
#pragma once

#include "gyrod/rod/links.hpp"
#include "gyrod/variational/rods.hpp"

namespace gyrod::variational {

class PointLinks {
public:
  PointLinks() = default;
  GYROD_COLD PointLinks(std::vector<RodLink> links, const std::vector<RodLinks>& rods,
                        const std::vector<RigidBody>& bodies);
  bool empty() const { return links_.empty(); }
  void pairs(std::vector<std::pair<int, int>>& out) const;
  void bind(BlockLu<double>& lu);

  // At a node of time, where the rods have been measured.
  void start(const std::vector<RodLinks>& rods, const Pose* poses) { measure(rods, poses, false, now_); }
  // Adds h times the equations at the beginning of a step to r, and to the matrix if there is one to be made.
  void assemble(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r, bool matrix);
  // Adds momenta at the end of the step; returns the energy at its middle. Goes on to the next step.
  double finish(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states);
  // The same of steps that keep energy and momenta.
  void assemble_conserving(const std::vector<RodLinks>& rods, const Trial& s, const BlockPattern& pattern, double* r);
  double finish_conserving(const std::vector<RodLinks>& rods, const Trial& s, BodyState* states);

private:
  struct Level {
    std::vector<V3> E;
    std::vector<M36> B;
  };
  void measure(const std::vector<RodLinks>& rods, const Pose* poses, bool next, Level& o) const;
  PointForce force(std::size_t link, const Trial& s) const;
  // Over a step: what a link pulls at, and how. A node moves its difference d of points by sign (share x + R arm).
  struct Lever {
    std::size_t entry;
    double sign, share;
    V3 mean, end; // R arm
  };
  struct Drawn {
    V3 d, S;                     // mean; force
    M3 K = M3::Zero(), turn = K; // of the force by d at the end, and by the turn of the axes there
    int frame = -1;              // entry of the node that carries these; its moment is S x d
    double energy = 0.0;
  };
  Drawn draw(std::size_t link, const std::vector<RodLinks>& rods, const Trial& s, std::vector<Lever>& levers) const;

  std::vector<RodLink> links_;
  std::vector<RigidBody> bodies_;
  std::vector<std::size_t> first_; // entries of each link
  std::vector<int> nodes_;         // of entries
  std::vector<std::size_t> target_;
  std::vector<Grid<double>> targets_; // blocks of all pairs of entries of a link
  Level now_, next_;
  std::vector<Lever> levers_;
};

} // namespace gyrod::variational
