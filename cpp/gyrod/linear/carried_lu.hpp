// LU factorisation on a graph of bodies, of which some are carried by others: the equations of a mechanism's stage.
//
// The motion o of a body is `width` numbers (velocities, accelerations, place), its balance is six equations f:
//
//   f_i = sum_j B_ij o_j + phi_i
//
//  1. A body that nobody carries has n unknowns u of its own: o = N u + r, and n equations S' f = 0. In the graph it is
//     a node of n rows and columns.
//  2. One that hangs on a parent p follows it but for n unknowns: o_i = P o_p + N u + r. Its equations are
//     S' f_i + own o_i + up o_p + s = 0, and its forces act on the parent: f_p += Y f_i. It is a node of six rows and
//     `width` columns and goes before its parent; what is inverted for it has n rows.
//  3. Multipliers are nodes of their own, m rows and columns without a diagonal; they go after all that carries the
//     bodies that they hold.
//
// Nothing but blocks of n <= 6 rows is inverted, with row pivots; units of forces and lengths do not meet there.
#pragma once

#include <cstdint>
#include <vector>

#include "gyrod/linear/block_pattern.hpp"
#include "gyrod/linear/threads.hpp"
#include "gyrod/math/matrix.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

// The nodes: bodies first, then multipliers.
struct CarriedGraph {
  static constexpr int width = 15;
  struct Body {
    int parent; // a body with a smaller number, or -1
    int n;
  };
  std::vector<Body> bodies;
  std::vector<int> multipliers;
  std::vector<std::pair<int, int>> links; // beside those to parents
  std::vector<std::vector<int>> held;     // by each multiplier: bodies
  bool carried(int i) const { return i < int(bodies.size()) && bodies[std::size_t(i)].parent >= 0; }
  int nodes() const { return int(bodies.size() + multipliers.size()); }
  int size(int i) const {
    return i < int(bodies.size()) ? bodies[std::size_t(i)].n : multipliers[std::size_t(i) - bodies.size()];
  }
};

// The symbolic part, shared by real and complex matrices.
class CarriedPattern {
public:
  GYROD_COLD explicit CarriedPattern(CarriedGraph graph);
  const CarriedGraph& graph() const { return graph_; }
  const BlockPattern& blocks() const { return blocks_; }

private:
  template <class S> friend class CarriedLu;
  struct Update { // target += lower upper, of so many rows and columns
    std::uint32_t target, lower, upper;
    std::uint16_t rows, columns;
  };
  struct Step {
    int node, parent;                // parent: -1 where it is nobody's
    std::size_t up = 0;              // of the parent among the later nodes
    std::vector<unsigned char> full; // which blocks (node, later) are not zero
    bool plain = false;              // nothing but blocks of six rows and columns that nobody carries
    std::size_t diagonal = 0;
    std::vector<Update> updates; // of one that nobody carries
  };
  CarriedGraph graph_;
  BlockPattern blocks_;
  std::vector<Step> steps_;
};

template <class S> class CarriedLu {
public:
  static constexpr int width = CarriedGraph::width;
  using Motion = Matrix<S, width, 1>;
  using Force = Matrix<S, 6, 1>;
  using Block = Matrix<S, 6, width>;
  // What carries a body; of six columns those of its n unknowns are used. Y, P, own and up are for those on a parent.
  struct Carrier {
    Matrix<S, width, 6> N;
    Matrix<S, 6, 6> S_, Y;
    Matrix<S, width, width> P;
    Matrix<S, width, 6> own, up; // transposed
  };

  GYROD_COLD explicit CarriedLu(const CarriedPattern& pattern);

  Carrier& carrier(int i) { return carriers_[std::size_t(i)]; }
  const Carrier& carrier(int i) const { return carriers_[std::size_t(i)]; }
  // Blocks are added when all carriers are set: forces (or rows of a multiplier) i by the motion of body j, and forces
  // on i by a multiplier.
  void clear();
  void add(int i, int j, const Block& B);
  // Equations by unknowns, of two bodies that nobody carries and that have six of both. r is not applied to it.
  void add_free(int i, int j, const Matrix<S, 6, 6>& A);
  void add_multiplier(int i, int node, const Matrix<S, 6, 6>& B);
  // Rows of a multiplier of three by another one, or by itself.
  void add_between(int i, int j, const Matrix<S, 3, 3>& B);
  // false: something is singular or not finite, and nothing can be solved. Threads share the steps that change many
  // blocks, as the last ones of nets do.
  [[nodiscard]] bool factor(Threads* threads = nullptr);
  // Of a matrix that is symmetric but for factors of its rows, after `factor`: the number of negative eigenvalues on
  // what the multipliers allow. That is the number of all pivots (Haynsworth) less one for each row of a multiplier.
  int negative_pivots() const;

  // Right-hand sides: phi (of multipliers: their m rows) and s of every node, r of every body. Afterwards u of every
  // node and o of every body.
  struct Node {
    Force phi, s, u;
    Motion r, o;
  };
  Node& operator[](int i) { return nodes_[std::size_t(i)]; }
  void solve();
  // The transposed of `solve`, as of a map from (phi, s, r) to (u, o): from weights of u and o, which are used up, to
  // those of phi, s and r.
  GYROD_COLD void solve_transposed()
    requires std::is_same_v<S, double>;

private:
  bool eliminate_carried(const CarriedPattern::Step& step);
  bool eliminate(const CarriedPattern::Step& step, Threads* threads);
  S* at(std::size_t slot) { return values_.data() + slot; }
  const S* at(std::size_t slot) const { return values_.data() + slot; }

  struct Given { // a block by the motion of a body with unknowns of its own: r is applied to it
    int row, column;
    Block B;
  };
  const CarriedPattern* p_;
  std::vector<Carrier> carriers_;
  std::vector<Matrix<S, width, 6>> along_;      // of those carried by a body with unknowns of its own: P N
  std::vector<Matrix<S, 6, 6>> inverse_, onto_; // inverse pivots; Y, or S' Y where the parent has unknowns of its own
  std::vector<Matrix<S, 6, 6>> pulled_;         // scratch: what a node's unknowns do to the later ones
  std::vector<Given> given_;
  std::vector<S> values_;
  std::vector<Node> nodes_;
  std::size_t count_ = 0; // of given_
  bool factored_ = false;
};

extern template class CarriedLu<double>;
extern template class CarriedLu<Complex>;

} // namespace gyrod
