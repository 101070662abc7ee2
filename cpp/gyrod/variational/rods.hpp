// Rods in the variational integrator: cells are nodes of the system as its bodies are, with the mass of a vertex and
// the inertia of a frame, and strains are links between them.
//
// The discrete Lagrangian has the energy of the mean of the strains at both ends of a step, less a tenth of their
// change,
//   h U = h/2 sum w (E'C E - D'C D/10),  E = (E(q_k) + E(q_k+1))/2,  D = E(q_k+1) - E(q_k),
// or h/2 (U(q_k) + U(q_k+1)) with the potential at the nodes. Strains are objective, and their means are: a rod that
// only turns is not strained, however far it turns in a step, where the strains of mean positions would be too short by
// the cosine of half the turn. Of the mean alone vibrations that a step does not resolve would turn by half a turn in
// it, where slow motions excite them: a steel wire that sways is lost after a second. With the tenth they turn by 115
// degrees at most. With B = dE/dq
//   -D1 = h/2 B(q_k)' S,  D2 = -h/2 B(q_k+1)' S,  S = w (C (0.3 E_near + 0.7 E_far) + 2 c D/h),
// near and far as seen from the end in question. Damping is d'Alembert's: it takes 2 c w |D|²/h in a step, always. No
// second derivative of a strain is needed: Newton's matrix is h²/2 B(q_k)' (0.7 C + 2 c/h) B(q_k+1).
//
// Strains that are held are E(q_k+1) = 0, with a multiplier in the place of their stress: the limit of large stiffness.
//
// What acts from outside does so at the middle of a step. The mass of a vertex that a body holds moves with the body;
// its momentum and its weight are those of the point.
#pragma once

#include <memory>

#include "gyrod/linear/block_lu.hpp"
#include "gyrod/rod/contacts.hpp"
#include "gyrod/rod/discretization.hpp"
#include "gyrod/rod/links.hpp"
#include "gyrod/variational/turn.hpp"

namespace gyrod::variational {

using M36 = Matrix<double, 3, 6>;
using M66 = Matrix<double, 6, 6>;

// Where a node is.
struct Pose {
  V3 x;
  V4 r;
  M3 R;
};

// A step in hand: increments of all nodes and what follows from them.
struct Trial {
  double t, t_next, h;
  bool nodes; // energies at the nodes
  const Pose *now, *next;
  const V3* w;
  const M3 *half, *turn; // frames at the middle; derivatives of the turns at the end by w
};

// Of a rod with its unknowns: the node of each cell, -1 where all of it is held, and the bodies that these nodes are.
std::vector<int> add_cells(const RodDescription& d, const std::vector<double>& sigma, std::vector<RigidBody>& bodies,
                           std::vector<double>& sigmas);

// A vertex, and with an element a frame, that a body holds.
struct HeldMass {
  int body;
  V3 at; // from where the body turns about, body axes
  double mass, sigma;
  V3 weight, J;
  M3 turn;
  V3 moved(const Pose& a, const Pose& b, bool pinned) const {
    return (pinned ? V3(V3::Zero()) : V3(b.x - a.x)) + (b.R - a.R) * at;
  }
};

template <int p> struct ElementStep; // conserving_rods.cpp

class RodLinks {
public:
  GYROD_COLD RodLinks(const RodDescription& d, std::vector<int> cells, const std::vector<RigidBody>& bodies,
                      const std::vector<double>& sigma, std::vector<Contact> contacts);

  const std::vector<int>& cells() const { return cells_; }
  // Pairs of nodes that feel each other, and after which others a node of multipliers goes, the first of which is
  // number `first`; then where their blocks are.
  int held_nodes() const { return d_.held ? d_.segments : 0; }
  int held() const { return d_.held; }
  void pairs(int first, std::vector<std::pair<int, int>>& out, std::vector<std::vector<int>>& after);
  void bind(BlockLu<double>& lu);
  bool blended() const { return d_.blended; }
  bool elements() const { return d_.degree > 0; }

  // A point of the rod at a node of time, or at the end of the step in hand, with its frame R; f(node, its gradient)
  // for all nodes that move it, g(node, turn of the frame by that of the node) for the one that turns the frame. Of one
  // that slides, which has no frame, derivative `d` by the fraction of the length.
  template <class F, class G>
  V3 point(const LinkPoint& p, const Pose* poses, bool next, M3& R, F&& f, G&& g, int d = 0) const {
    const Level& o = next ? next_ : now_;
    V3 x = V3::Zero();
    M36 B;
    for (int k = 0; k < p.cells(); ++k) {
      const int n = p.cell(k), node = vertex_node(n);
      const double share = p.share(k, d);
      x += share * o.x[std::size_t(n)];
      if (node < 0) continue;
      B.setZero();
      B.leftCols<3>().diagonal().setConstant(share);
      if (!moves(n)) B.rightCols<3>() = -share * (poses[node].R * skew<double>(arm(n ? 1 : 0)));
      f(node, B);
    }
    R = M3::Identity();
    if (p.slides()) return x;
    const int j = p.segment, node = frame_node(j), e = j ? 1 : 0;
    const bool held = d_.holds(j);
    R = matrix_from_quaternion<double>(held ? end_frame(e, poses, o) : o.p[std::size_t(j)]);
    if (node < 0) return x + R * p.offset;
    const M3 turn = held ? M3(matrix_from_quaternion<double>(d_.ends[e].turn).transpose()) : M3(M3::Identity());
    B.setZero();
    B.rightCols<3>() = -(R * skew<double>(p.offset) * turn);
    f(node, B), g(node, turn);
    return x + R * p.offset;
  }
  // The same as sums over nodes, x = sum share x_node + R_node arm, but for what is led: f(node, share, arm), and g as
  // above.
  template <class F, class G> void levers(const LinkPoint& p, F&& f, G&& g) const {
    for (int k = 0; k < p.cells(); ++k) {
      const int n = p.cell(k), node = vertex_node(n);
      if (node >= 0) f(node, p.share(k), moves(n) ? V3(V3::Zero()) : V3(p.share(k) * arm(n ? 1 : 0)));
    }
    const int j = p.segment, node = frame_node(j);
    if (node < 0) return;
    const M3 turn = d_.holds(j) ? matrix_from_quaternion<double>(d_.ends[j ? 1 : 0].turn) : M3(M3::Identity());
    f(node, 0.0, V3(turn * p.offset)), g(node);
  }
  // The node that carries a vertex, -1 if it is led, and where the vertex is in its axes; where all vertices are.
  int carrier(int n, V3& at) const {
    const int node = vertex_node(n);
    at = node < 0 || moves(n) ? V3(V3::Zero()) : arm(n ? 1 : 0);
    return node;
  }
  const std::vector<V3>& vertices(bool next) const { return (next ? next_ : now_).x; }
  // Measures the end of the step in hand.
  void look(const Trial& s) { measure(s.t_next, s.next, next_); }

  // At a node of time, from where all nodes are.
  void start(double t, const Pose* poses) {
    now_.t = next_.t = std::numeric_limits<double>::quiet_NaN(); // what leads may have been set anew
    measure(t, poses, now_);
  }
  // Momenta between vertices that share mass, from the velocities of all nodes, 13 numbers each.
  void share(const double* rows, BodyState* states) const;
  // Adds to the equations of the velocities at the node: M v + B'nu = p, B v + dE/dt = 0 of what is held (`tangent`).
  void velocities(const BlockPattern& pattern, double* r, bool tangent) const;
  // Takes the multipliers of a solution.
  void take(const BlockPattern& pattern, const double* x);
  // Adds h times the equations at the beginning of a step to r, and to the matrix if there is one to be made.
  void assemble(const Trial& s, const BlockPattern& pattern, double* r, bool matrix);
  // Adds momenta at the end of the step; returns the potential of the discrete Lagrangian. Goes on to the next step.
  double finish(const Trial& s, BodyState* states);
  const std::vector<HeldMass>& masses() const { return masses_; }
  std::vector<V3>& multipliers() { return nu_; } // which the next step begins with

  // The same of steps that keep energy and momenta (conserving_rods.cpp). `finish` adds impulses, those of moments in
  // body axes at the beginning of the step.
  void assemble_conserving(const Trial& s, const BlockPattern& pattern, double* r);
  double finish_conserving(const Trial& s, BodyState* states);

private:
  struct Station { // where three strains or curvatures are measured
    bool bends;
    std::size_t point; // whose stiffness it has
    double weight;
    int vertex, frame;               // the first that it depends on
    int entries[2][5];               // of its vertices and its frames, -1: held
    std::size_t first = 0, last = 0; // of all entries
    std::size_t target = 0;          // the blocks of all pairs of its entries
  };
  struct Cross { // of a coupled section
    std::size_t strain, bend;
    double weight;
    std::size_t target[2] = {0, 0};
  };
  struct Level { // at a node of time
    double t = std::numeric_limits<double>::quiet_NaN();
    EndMotion ends[2];
    double stretch = 1.0, stretching = 0.0;
    std::vector<V3> x, E, rate; // rate: of strains, as ends are led
    std::vector<V4> p;
    std::vector<M36> B;
  };

  bool pinned(int node) const { return bodies_[std::size_t(node)].pinned; }
  bool ends_at(int n) const { return n == 0 || n == d_.segments; }
  // The nodes that move a vertex and a frame, -1: none. Frames -1 and N are the clamps of a grid.
  int vertex_node(int n) const;
  int frame_node(int j) const;
  bool moves(int n) const { return !ends_at(n) || !d_.ends[n ? 1 : 0].held; }
  bool turns(int c) const { return d_.frame_of(c) >= 0 && !d_.holds(d_.frame_of(c)); }
  V3 moved(int n) const { return next_.x[std::size_t(n)] - now_.x[std::size_t(n)]; }
  V3 arm(int e) const; // of an end that a body holds, from where that turns about
  V4 end_frame(int e, const Pose* poses, const Level& o) const;
  V3 at_rest(std::size_t j, const Level& o) const { return {d_.G0[j][0], d_.G0[j][1], o.stretch * d_.G0[j][2]}; }

  // Strains and their gradients.
  void measure(double t, const Pose* poses, Level& o);
  void segment(std::size_t at, const Pose* poses, Level& o) const;
  void bend(std::size_t at, const Pose* poses, Level& o) const;
  template <int p> void points(const Pose* poses, Level& o) const;
  // From derivatives by vertices and by turns of frames to those by nodes.
  void fold(std::size_t at, const M3* by_x, int vertices, const M3* by_turn, int frames, const Pose* poses,
            Level& o) const;
  V3 elastic(const Station& s, const V3& E) const;
  void blend(const BlockPattern& pattern, double* r, bool matrix) const;
  void stress(double h, bool nodes, bool at_end);
  double energy(bool nodes) const;
  void link(const std::vector<M36>& B, const Station& rows, const M3& C, const Station& columns, std::size_t target);
  // Discrete gradients of strains into `middle_`, moments in body axes at the beginning of the step.
  M3 axes(int frame, const Pose* poses, const Level& o) const;
  V3 arm_of(int vertex, const Pose* poses) const; // in space, of one that a body holds; else none
  struct Bent {
    M3 a[3], b[3];                   // axes of both frames: at the beginning, their mean, at the end
    V3 mean;                         // of the axial vector of a'b
    double factor, slope, end_slope; // mean of f, its secant in the trace, its derivative at the end
    M3 pair(const V3& S) const;      // S.K is the sum of pair_ij a_i.b_j
  };
  Bent bent(std::size_t at, const Trial& s) const;
  void middle(const Trial& s);
  template <int p> void element(std::size_t at, ElementStep<p>& o) const;
  template <int p>
  void rows_of(const ElementStep<p>& o, const Station& of, bool end, const Trial& s,
               Matrix<double, 7 * p, 6>* rows) const;
  template <int p> void element_middle(const Trial& s);
  template <int p> void element_geometry(const Trial& s, double f);
  double slope_of(const Station& o) const; // of an element: ds by the parameter of its polynomials, inverse
  void stress_conserving(double h);
  void bend_geometry(std::size_t at, const Trial& s, double f);
  void segment_geometry(std::size_t at, const Trial& s, double f);
  static void turned_pair(const M3& on_a, const M3& a, const M3& on_b, const M3& b, M3* by);
  void put_pair(const Station& o, int first, int second, const M3* by, const Trial& s, double f);
  struct Drawn { // what a frame pulls at a difference of vertices d: mean and at the end, c pull + along d/c in all
    V3 pull, end, d;
    double c, along;
  };
  void put_pull(const Station& o, int vertex, const Drawn& by_frame, const Trial& s, double f);
  template <class F> void each_held(F&& f) const;                  // f(number, its station)
  void put_held(const std::vector<Matrix<double, 3, 6>>& strains); // forces of multipliers, and their rows
  void outside(const Trial& s);
  template <class F> void each_outside(const Trial& s, F&& f) const; // f(node, force, moment at the middle)
  void outside_blocks(const Trial& s);
  double outside_energy(double t) const;
  template <class F> void each_near(F&& f) const; // f(contact, its station, place in its axes, how that is)

  RodDescription d_;
  std::vector<int> cells_;
  std::vector<RigidBody> bodies_;
  std::vector<Contact> contacts_; // without friction, with surfaces in space
  std::vector<HeldMass> masses_;
  std::vector<Station> stations_;
  std::vector<Cross> crosses_;
  std::vector<int> nodes_; // of entries
  std::vector<Grid<double>> targets_;
  BlockLu<double>* lu_ = nullptr;
  Level now_, next_;
  std::vector<V3> S_, nu_;           // stresses; multipliers of held strains, h²/2 times their stresses
  int first_ = 0;                    // node of multipliers
  std::vector<M36> turned_, middle_; // B of the end of the step by its increments; discrete gradients
  // what acts from outside, where there is something
  std::unique_ptr<Discretization> grid_;
  std::unique_ptr<RodState<double>> s_;
  std::unique_ptr<Discretization::Blocks> blocks_;
};

template <class F> void RodLinks::each_held(F&& f) const {
  for (std::size_t at = 0, k = 0; at < stations_.size() && d_.held; ++at)
    if (!stations_[at].bends) f(int(k++), at);
}

template <class F> void RodLinks::each_near(F&& f) const {
  const V3 none = V3::Zero();
  for (const Contact& c : contacts_)
    for (const gyrod::Station& at : c.stations) {
      V3 x = none, v = none;
      for (int k = 0; k < at.count; ++k) {
        x += at.share[k] * s_->x[std::size_t(at.cells[k])];
        v += at.share[k] * s_->v[std::size_t(at.cells[k])];
      }
      const V3 p = c.turn.transpose() * (x - c.at), u = c.turn.transpose() * v;
      f(c, at, p, ContactState{c.surface->near(p), at.radius, at.weight, u, none, none, c.law.damping, false});
    }
}

template <class F> void RodLinks::each_outside(const Trial& s, F&& f) const {
  const V3 none = V3::Zero();
  const auto held = [&](int e, const V3& force, const V3& moment) { // moment in the axes of the end
    const RodEnd& end = d_.ends[e];
    if (end.host < 0) return;
    f(end.host, force, V3(arm(e).cross(s.half[end.host].transpose() * force) + rotate<double>(end.turn, moment)));
  };
  for (int n = 0; n <= d_.segments; ++n) {
    if (moves(n))
      f(cells_[std::size_t(n)], s_->f[std::size_t(n)], none);
    else
      held(n ? 1 : 0, s_->f[std::size_t(n)], none);
  }
  for (int j = 0; j < d_.frames(); ++j) {
    if (d_.holds(j))
      held(j ? 1 : 0, none, s_->mu[std::size_t(j)]);
    else
      f(frame_node(j), none, s_->mu[std::size_t(j)]);
  }
  for (int e = 0; e < 2 && !d_.degree; ++e) held(e, none, s_->end_moment[e]);
}

} // namespace gyrod::variational
