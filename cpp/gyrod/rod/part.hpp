// A rod of a set: its unknowns and where they are, its grid and state, and what a stage needs of it.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "gyrod/rod/chain.hpp"
#include "gyrod/rod/constraints.hpp"
#include "gyrod/rod/discretization.hpp"
#include "gyrod/rod/hosted.hpp"

namespace gyrod {

// -dE''/d(increments, rates) of a held strain by one of its cells, with accelerations as they are.
struct HeldRow {
  Matrix<double, 3, 7> q, v;
};
// A held strain next to an end on a body: dE'' by turn and place, spin and velocity, angular acceleration and
// acceleration of the body, all in space. At rest the strain itself by the place alone.
struct HeldHost {
  Matrix<double, 3, 6> place, speed, acceleration;
};

struct RodPart : RodChain<double> {
  // What is computed from a state serves one rod after the other, where nothing looks at several of them at once: it
  // stays in the cache. Those share it that fill the same parts of it.
  struct States {
    bool shared;
    std::size_t chunk = 0; // that shares them
    std::map<std::array<int, 6>, std::vector<std::unique_ptr<RodState<double>>>> of;
    RodState<double>& of_rod(const RodDescription& d);
  };

  RodPart(RodDescription description, Turning form, States& states);
  // Of the forces in the cells next to an end that is led, how fast they change by its motion; after `blocks`.
  void drift(int e, double t);
  // df/dt from these, added to that of the whole state.
  void add_drift(double* ft) const;
  bool tied() const { return tie_end >= 0; }
  // In the graph the strain next to the end of the tie stays to the last, when its body is there to be moved; all
  // others belong to a cell each, away from there.
  bool stays(int j) const { return tied() && j == (tie_end ? N - 1 : 0); }
  int cell_of_strain(int j) const { return tie_end == 0 ? j : j + 1; }
  bool has_strain(int c) const {
    const int j = tie_end == 0 ? c : c - 1;
    return d.held && j >= 0 && j < N && !stays(j);
  }

  // Cell number k from an end, -1: there is none.
  int cell(int e, int k) const { return e ? (k <= N ? N - k : -1) : (k <= N ? k : -1); }
  // Its node in the graph.
  int at_node(int c) const { return node + c - begin; }
  bool in_graph(int c) const { return c >= begin && c <= last; }
  // Cells of the graph that cell c couples to.
  int first(int c) const { return std::max(begin, blocks.first(c)); }
  int behind(int c) const { return std::min(last, blocks.last(c)); }
  // Calls f(k, c) for the cells c of the graph within reach of an end, k cells from it.
  template <class F> void near(int e, F&& f) const {
    for (int k = 0; k <= blocks.reach(); ++k)
      if (const int c = cell(e, k); c >= 0 && in_graph(c)) f(k, c);
  }
  // Which end that a body holds is in a cell, -1: none.
  int held_end(int c) const { return c == 0 && port[0] >= 0 ? 0 : c == N && port[1] >= 0 ? 1 : -1; }
  // Omega' of a held frame, in its axes.
  Vec3<double> end_spin_rate(int e, double t) const {
    if (!d.ends[e].frame) return ends[e].alpha;
    EndMotion m = ends[e];
    d.ends[e].move(t, m, true);
    return m.alpha;
  }
  // Strain k of those next to an end on a body; where the ties of an end begin among those of the rod.
  int next_to(int e, int k) const { return e ? N - hold->cells() + 1 + k : k; }
  int tie_of(int e) const { return e && port[0] >= 0 ? hold->cells() - 1 : 0; }
  // The frame of a cell that turns.
  std::size_t frame(int c) const { return std::size_t(d.frame_of(c)); }

  int index = 0;           // among all rods
  bool seen = false;       // its state is what was looked at last
  std::vector<int> counts; // the links whose energy is counted with it, the first rod that they touch
  int node = 0;            // number of its first cell in the graph
  std::size_t at = 0;      // of its state in y
  // Where its blocks are in the factors: those of `blocks`; of a cell next to an end with the place and the speed of
  // the body there, and of that place with the cell.
  std::vector<std::uint32_t> slots;
  std::vector<std::array<std::uint32_t, 3>> host_slots[2];
  std::uint32_t slot(int c, int o) const { return slots[blocks.slot(c, o)]; }
  std::unique_ptr<Discretization> grid;
  RodState<double>& s;
  Discretization::Blocks blocks;
  int port[2] = {-1, -1}; // the host of an end among all hosts
  HostedEnd hosted[2];
  EndMotion before[2];                       // where the ends were when they were marked
  std::vector<Vec3<double>> rest;            // G0 without stretch
  std::vector<Vec3<double>> predicted, kept; // R'x' as `retract` has predicted it; forces meanwhile
  std::vector<double> reached;               // positions where that was
  bool led = false, timed = false;           // something is no constant, or a function of time
  bool drifts = false;                       // nothing but the motion of ends is, and f knows no acceleration of them
  std::vector<Vec3<double>> force, falls;    // of vertices, for reactions: forces, accelerations
  std::vector<Vec4<double>> alpha, p, w;     // at the last Jacobian
  std::vector<double> norm;
  std::vector<TurnBlocks> turnings; // of frames that are not plain
  std::vector<double> free_mass;    // inverse masses, 0 where held
  std::vector<Vec3<double>> acceleration;
  std::vector<Vec3<double>> turned;    // by held strains
  std::vector<HeldLink<double>> links; // at the last Jacobian
  std::vector<AxialLink> axial;        // the same, at rest
  std::vector<HeldRow> rows;
  std::vector<HeldHost> held_by[2];               // of the strains next to an end on a body
  std::vector<Matrix<double, 6, 1>> pulled_by[2]; // what its place does to the one along the rod beside them, at rest
  int tie_end = -1, tie = -1;                     // the end whose tie stays in the graph, and which of all ties that is
  std::vector<double> tie_force;                  // w lambda of the ties, as the bodies have found them
  std::unique_ptr<HeldStrains<double>> hold;
};

} // namespace gyrod
