// The linear system of a stage of rods in the null-space form (x, p; x', Omega), or in others, whose frames have other
// coordinates that follow from (p, Omega) frame by frame: see turning.hpp.
//
// Implicit stages use the second-order structure: with dq = (shift - D)^-1 (b_q + T dv) the linear system
//   (shift I - df/dy) (dq, dv) = (b_q, b_v)
// becomes one for dv alone, of one 6 x 6 block a cell, block tridiagonal along the rod. Cells of all rods are the nodes
// of one graph with one elimination.
#pragma once

#include <atomic>

#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/rod/set.hpp"

namespace gyrod {

// Constrained: rods whose strains may be held; three more unknowns in a cell, the increments of lambda.
template <bool Constrained> class RodStage final : public RodSet {
  // Rows of a cell: balance of moments and forces, held strains.
  static constexpr int R = 6, B = R + (Constrained ? 3 : 0);
  static constexpr int host_nodes = Constrained ? 3 : 2;
  template <class S> using Local = Matrix<S, 4, 3>;
  template <class S> using Increment = Matrix<S, 7, 1>;

public:
  RodStage(Turning form, std::vector<RodDescription> rods, const FormulationOptions& options,
           std::vector<RodLink> links, ContactSet contacts)
      : RodSet(std::move(rods), options, std::move(links), std::move(contacts), form, Constrained, B),
        table_(std::size_t(cells_)) {}

  // Of forces that hold strains there is one for each of them (Haynsworth), however stable the rods are; ties are
  // eliminated with the bodies, and counted there.
  int negative_pivots() const override {
    int n = real_->negative_pivots();
    for (const auto& r : rods_) {
      n -= r->d.held * (r->N - r->tied());
      for (int j = 0; j < r->N && r->d.held == 2; ++j) n -= pulls(*r, j) && !r->stays(j);
    }
    return n;
  }

  void jacobian(double t, const double* y) override {
    linearise(t, y);
    if (weaves() && weave()) real_.reset(), complex_.reset();
    if (!real_) prepare(real_, real_work_);
  }

  void host_blocks(std::vector<HostBlock<double>>& out) const override { left_over<double>(*real_, out); }
  void host_blocks(std::vector<HostBlock<Complex>>& out) const override { left_over<Complex>(*complex_, out); }
  void tie_blocks(TieBlocks<double>& out) const override { tie_left_over<double>(*real_, out); }
  void tie_blocks(TieBlocks<Complex>& out) const override { tie_left_over<Complex>(*complex_, out); }
  void reduce(const double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) override {
    reduce_with(*real_, b, out, ties);
  }
  void reduce(const Complex* b, std::vector<HostVector<Complex>>& out, std::vector<Vec3<Complex>>& ties) override {
    reduce_with(*complex_, b, out, ties);
  }
  void expand(double* b, const std::vector<HostVector<double>>& in, const std::vector<Vec3<double>>& ties) override {
    expand_with(*real_, b, in, ties);
  }
  void expand(Complex* b, const std::vector<HostVector<Complex>>& in, const std::vector<Vec3<Complex>>& ties) override {
    expand_with(*complex_, b, in, ties);
  }

  bool factor(double shift) override { return factor_with(*real_, shift); }
  bool factor(Complex shift) override {
    if (!complex_) prepare(complex_, complex_work_); // twice the memory, which real methods do not need
    return factor_with(*complex_, shift);
  }
  void solve(double* b) override { solve_with(*real_, b); }
  void solve(Complex* b) override { solve_with(*complex_, b); }
  void solve_transposed(double* b) override {
    clear_staying<double>();
    for (const Group& g : groups_) {
      recover_transposed(g, b);
      real_->backward_transposed(real_work_.x.data(), part(*real_, g));
      real_->forward_transposed(real_work_.x.data(), part(*real_, g));
      right_sides_transposed(g, b);
    }
  }
  void expand_transposed(double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) override {
    auto& x = real_work_.x;
    clear_staying<double>();
    for (const Group& g : groups_) {
      recover_transposed(g, b);
      real_->backward_transposed(x.data(), part(*real_, g));
    }
    out.resize(hosts_.size()), ties.resize(tied_.size());
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      const auto of = [&](int node) { return x[std::size_t(node)].template head<6>(); };
      out[h].body = hosts_[h];
      out[h].motion << of(place_node(int(h))), of(speed_node(int(h)));
      if constexpr (Constrained)
        out[h].acceleration = of(acceleration_node(int(h)));
      else
        out[h].acceleration.setZero();
    }
    for (const Rod* r : tied_) ties[std::size_t(r->tie)] = x[std::size_t(tie_node(*r))].template head<3>();
  }
  void reduce_transposed(double* b, const std::vector<HostVector<double>>& in,
                         const std::vector<Vec3<double>>& ties) override {
    auto& x = real_work_.x;
    clear_staying<double>();
    for (std::size_t h = 0; h < hosts_.size(); ++h)
      x[std::size_t(place_node(int(h)))].template head<6>() = in[h].wrench;
    for (const Rod* r : tied_) x[std::size_t(tie_node(*r))].template head<3>() = ties[std::size_t(r->tie)];
    for (const Group& g : groups_) {
      real_->forward_transposed(x.data(), part(*real_, g));
      right_sides_transposed(g, b);
    }
  }

  void dense_jacobian(double t, const double* y, double* J) override {
    if (Constrained || !form_.plain()) return dense_jacobian_dual(t, y, J); // held strains make it a full matrix
    jacobian(t, y);
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) dense_rod(*r, J);
  }

private:
  template <class S> static auto part(const UniformLu<S, B>& lu, const Group& g) {
    return lu.part(g.steps, g.steps_end);
  }
  std::uint32_t at(int i, int j) const { return UniformLu<double, B>::at(pattern_, i, j); }

  // What each solution reads of a cell, side by side: in a large set memory costs more than arithmetic.
  struct Cell {
    const Discretization::Blocks::Block* row; // the first of its blocks by increments
    int first, behind;                        // cells that these belong to
    int x, v, p, w;                           // offsets in the rod's state, -1: held
    double mass, back;                        // back: 2/|p|²
    Vec3<double> J;
    Vec4<double> frame, spin; // at the last Jacobian
  };
  const Cell& told(const Rod& r, int c) const { return table_[std::size_t(r.at_node(c))]; }
  void tell(const Rod& r) {
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c);
      Cell& s = table_[std::size_t(r.at_node(c))];
      s.first = r.first(c), s.behind = r.behind(c), s.row = &r.blocks.q(c, s.first);
      s.x = r.x_at[i], s.v = r.v_at[i], s.p = r.p_at[i], s.w = r.w_at[i], s.mass = r.d.mass[i];
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      s.back = 2.0 / r.norm[j], s.J = r.d.J[j], s.frame = r.p[j], s.spin = r.w[j];
    }
  }

  // Rows of the balance of moments, with inertia; rows and columns of held positions become those of the identity.
  void add_inertia(Rod& r) override {
    tell(r);
    for (int c = r.begin; c <= r.last; ++c) {
      for (int o = r.first(c); o <= r.behind(c); ++o) {
        auto &q = r.blocks.q(c, o), &v = r.blocks.v(c, o);
        if (!r.moves(c)) q.bottomRows<3>().setZero(), v.bottomRows<3>().setZero();
        if (!r.moves(o)) q.rightCols<3>().setZero(), v.rightCols<3>().setZero();
        if (!r.turns(c)) q.topRows<3>().setZero(), v.topRows<3>().setZero();
        if (!r.turns(o)) q.leftCols<4>().setZero(), v.leftCols<4>().setZero();
      }
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      if (r.absolute()) {
        const double factor = moment_scale(r, c);
        for (int o = r.first(c); o <= r.behind(c); ++o)
          r.blocks.q(c, o).topRows<3>() *= factor, r.blocks.v(c, o).topRows<3>() *= factor;
        r.blocks.q(c, c).block<3, 1>(0, 0) -= 2.0 * factor * r.s.mu[j];
      }
      const Vec3<double> J = r.d.J[j], Omega = r.w[j].template tail<3>(), L = J.cwiseProduct(Omega);
      r.blocks.v(c, c).block<3, 3>(0, 1) += cross_matrix<double>(L) - cross_matrix<double>(Omega) * J.asDiagonal();
    }
  }

  template <class S> void left_over(const UniformLu<S, B>& lu, std::vector<HostBlock<S>>& out) const {
    out.resize(left_.size());
    share_all(threads(), left_.size(), 64, [&](std::size_t i) {
      HostBlock<S>& k = out[i];
      const Left& l = left_[i];
      k.row = hosts_[std::size_t(l.row)], k.column = hosts_[std::size_t(l.column)];
      const auto left = [&](int part) { // of B x B numbers a host has six
        return -lu.block(l.slots[part]).template topLeftCorner<6, 6>();
      };
      k.D.template leftCols<6>() = left(0), k.D.template rightCols<6>() = left(1);
      if constexpr (Constrained) k.A = left(2);
    });
  }
  template <class S> void tie_left_over(const UniformLu<S, B>& lu, TieBlocks<S>& out) const {
    out.on.clear(), out.own.clear();
    if constexpr (!Constrained) return;
    for (const auto& [tie, h] : tie_links_.bodies) {
      const int node = tie_node(*tied_[std::size_t(tie)]);
      TieBlock<S> k;
      k.tie = tie, k.body = hosts_[std::size_t(h)];
      k.D.template leftCols<6>() = lu.block(at(node, place_node(h))).template topLeftCorner<3, 6>();
      k.D.template rightCols<6>() = lu.block(at(node, speed_node(h))).template topLeftCorner<3, 6>();
      k.A = lu.block(at(node, acceleration_node(h))).template topLeftCorner<3, 6>();
      k.wrench = lu.block(at(place_node(h), node)).template topLeftCorner<6, 3>();
      out.on.push_back(k);
    }
    for (const auto& [a, b] : tie_links_.ties) {
      const int row = tie_node(*tied_[std::size_t(a)]), column = tie_node(*tied_[std::size_t(b)]);
      out.own.push_back({a, b, lu.block(at(row, column)).template topLeftCorner<3, 3>()});
    }
  }
  template <class S>
  void reduce_with(const UniformLu<S, B>& lu, const S* b, std::vector<HostVector<S>>& out, std::vector<Vec3<S>>& ties) {
    auto& k = work<S>();
    clear_staying<S>();
    each_group([&](const Group& g) {
      right_sides<S>(g, b);
      for_rods(g, [&](const Rod& r) { wrenches<S>(r); });
      lu.forward(k.x.data(), k.left.data(), part(lu, g));
    });
    out.resize(hosts_.size()), ties.resize(tied_.size());
    each_rest([&](std::size_t h) {
      if (h < hosts_.size()) host_side<S>(h);
      lu.forward_rest(k.x.data(), k.left.data(), h);
      if (h < hosts_.size())
        out[h].body = hosts_[h], out[h].wrench = k.x[std::size_t(place_node(int(h)))].template head<6>();
    });
    for (const Rod* r : tied_) ties[std::size_t(r->tie)] = k.x[std::size_t(tie_node(*r))].template head<3>();
  }
  template <class S>
  void expand_with(const UniformLu<S, B>& lu, S* b, const std::vector<HostVector<S>>& in,
                   const std::vector<Vec3<S>>& ties) {
    auto& k = work<S>();
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      k.x[std::size_t(place_node(int(h)))].template head<6>() = in[h].motion.template head<6>();
      k.x[std::size_t(speed_node(int(h)))].template head<6>() = in[h].motion.template tail<6>();
      if constexpr (Constrained) k.x[std::size_t(acceleration_node(int(h)))].template head<6>() = in[h].acceleration;
    }
    for (const Rod* r : tied_) k.x[std::size_t(tie_node(*r))].template head<3>() = ties[std::size_t(r->tie)];
    each_group([&](const Group& g) {
      lu.backward(k.x.data(), part(lu, g));
      if (memory() < size_) recover_recalls<S>(shift_of<S>(), b);
      for_rods(g, [&](const Rod& r) { recover<S>(r, shift_of<S>(), b + r.at, k); });
    });
  }
  template <class S> S shift_of() const {
    if constexpr (std::is_same_v<S, double>)
      return real_shift_;
    else
      return complex_shift_;
  }
  template <class S> void clear_staying() {
    auto& k = work<S>();
    for (std::size_t i = std::size_t(cells_); i < k.x.size(); ++i) k.x[i].setZero();
  }
  template <class S> void right_sides(const Group& g, const S* b) {
    auto& k = work<S>();
    for_rods(g, [&](const Rod& r) {
      right_side<S>(r, shift_of<S>(), b + r.at, k);
      if constexpr (Constrained)
        if (r.d.held) held_sides<S>(r, b + r.at, k);
    });
    for (const FarBlock& f : far_)
      if (f.places)
        k.x[std::size_t(node_of(f.row))].template segment<3>(3) +=
            f.q.bottomRightCorner<3, 3>() * k.known[std::size_t(node_of(f.column))].template tail<3>();
      else if (!f.column.body())
        k.x[std::size_t(node_of(f.row))].template head<6>() +=
            known_force<S>(*rods_[std::size_t(f.column.rod)], f.column.index, f.q, f.v);
    recall_sides<S>(b);
  }
  // What is known of a rod that bodies feel, found with the rod and summed up with the body.
  template <class S> void wrenches(const Rod& r) {
    for (int e = 0; e < 2; ++e) {
      if (r.port[e] < 0) continue;
      auto& to = work<S>().wrenches[std::size_t(2 * r.index + e)];
      to.setZero();
      r.near(e, [&](int i, int c) { to += known_force<S>(r, c, r.hosted[e][i].wrench_q, r.hosted[e][i].wrench_v); });
    }
  }
  template <class S> void host_side(std::size_t h) {
    Work<S>& k = work<S>();
    for (const auto& [r, e] : guests_[h])
      k.x[std::size_t(place_node(int(h)))].template head<6>() += k.wrenches[std::size_t(2 * r->index + e)];
  }
  // What follows from b alone: derivatives by increments and rates of cell c, times what is known of them.
  template <class S>
  Matrix<S, 6, 1> known_force(const Rod& r, int c, const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v) {
    Matrix<S, 6, 1> f = q.template cast<S>() * work<S>().known[std::size_t(r.at_node(c))];
    if (form_.absolute && r.turns(c)) f += v.template leftCols<4>().template cast<S>() * turned<S>(r, c).omega;
    return f;
  }

  // Where the rows and columns of a held strain are: a node and how many of its rows come before them.
  std::pair<int, int> place_of(const Rod& r, int j) const {
    if (r.stays(j)) return {tie_node(r), 0};
    return {r.at_node(r.cell_of_strain(j)), R};
  }

  // Columns of lambda and rows of E'' in the matrix of a stage; at rest rows of a symmetric matrix.
  template <class S> void constraint_blocks(const Rod& r, UniformLu<S, B>& lu, S shift) {
    const auto block = [&](int a, int b) -> auto& { return lu.block(at(a, b)); };
    for (int c = r.begin; c <= r.last; ++c)
      if (!r.has_strain(c)) block(r.at_node(c), r.at_node(c)).template bottomRightCorner<3, 3>().setIdentity();
    Local<S> Tc;
    for (int j = 0; j < r.N && r.d.held; ++j) {
      const auto [node, from] = place_of(r, j);
      const double w = r.d.quadrature[std::size_t(j)];
      const S by = still_ ? S(w) : shift, inverse = S(1) / shift;
      for (int k = 0; k < r.hold->cells(); ++k) {
        const int o = r.hold->first(j) + k;
        if (!r.in_graph(o)) continue;
        const std::size_t n = std::size_t(j * r.hold->cells() + k);
        const HeldLink<double>& l = r.links[n];
        const HeldRow& row = r.rows[n];
        auto &mine = block(node, r.at_node(o)), &theirs = block(r.at_node(o), node);
        if (r.turns(o)) {
          maps<S>(r, o, shift, Tc);
          mine.template block<3, 3>(from, 0) += by * l.turn.template cast<S>() - by_spin<S, 3>(r, o, row.q, row.v, Tc);
          theirs.template block<3, 3>(0, from) += (w * l.turn.transpose()).template cast<S>();
        }
        if (!r.moves(o)) continue;
        mine.template block<3, 3>(from, 3) +=
            by * l.move.template cast<S>() - inverse * row.q.template rightCols<3>() - row.v.template rightCols<3>();
        theirs.template block<3, 3>(3, from) += (w * l.move.transpose()).template cast<S>();
      }
      if (r.d.held == 2) block(node, node)(from + 2, from + 2) = still_ && r.stays(j) ? S(-1) : S(1);
      if (pulls(r, j)) pull_blocks<S>(r, lu, j, shift);
    }
    for (int e = 0; e < 2; ++e)
      for (std::size_t k = 0; k < r.held_by[e].size(); ++k) {
        const HeldHost& h = r.held_by[e][k];
        const int j = r.next_to(e, int(k)), place = place_node(r.port[e]);
        const auto [node, from] = place_of(r, j);
        const double w = r.d.quadrature[std::size_t(j)];
        const S by = still_ ? w * shift : S(1);
        block(node, place).template block<3, 6>(from, 0) += by * h.place.template cast<S>();
        block(node, place + 1).template block<3, 6>(from, 0) += h.speed.template cast<S>();
        block(node, place + 2).template block<3, 6>(from, 0) += h.acceleration.template cast<S>();
        const Matrix<double, 3, 6>& G = still_ ? h.place : h.acceleration;
        block(place, node).template block<6, 3>(0, from) += (w * G.transpose()).template cast<S>();
      }
  }
  // Whether the force along the rod is an unknown too, at rest. Stiffness across what is held would take the digits of
  // bending from a curved rod that hardly stretches.
  bool pulls(const Rod& r, int j) const {
    if (!still_ || r.d.held != 2 || r.d.coupled || !form_.plain()) return false;
    int ends = 0;
    for (int k = 0; k < r.hold->cells(); ++k) ends += r.held_end(r.hold->first(j) + k) >= 0;
    return ends < 2;
  }
  // What the motions of its cells do to the strain along the rod; nothing, where they are held.
  Matrix<double, 6, 1> along(const Rod& r, int j, int k) const {
    const int o = r.hold->first(j) + k;
    const AxialLink& l = r.axial[std::size_t(j * r.hold->cells() + k)];
    Matrix<double, 6, 1> g;
    g.setZero();
    if (r.in_graph(o) && r.turns(o)) g.template head<3>() = l.turn;
    if (r.in_graph(o) && r.moves(o)) g.template tail<3>() = l.move;
    return g;
  }
  // Its row, G nu - N shift/EA = 0, and column; what it stands for is no stiffness of cells and bodies any more.
  template <class S> void pull_blocks(const Rod& r, UniformLu<S, B>& lu, int j, S shift) {
    const auto [node, from] = place_of(r, j);
    const int row = from + 2, cells = r.hold->cells();
    const double w = r.d.quadrature[std::size_t(j)], EA = w * r.d.CG[std::size_t(j)](2, 2);
    const auto block = [&](int a, int b) -> auto& { return lu.block(at(a, b)); };
    block(node, node)(row, row) = -w * w * shift / EA;
    for (int k = 0; k < cells; ++k) {
      const int c = r.hold->first(j) + k;
      if (!r.in_graph(c)) continue;
      const Matrix<double, 6, 1> g = along(r, j, k);
      auto &mine = block(node, r.at_node(c)), &theirs = block(r.at_node(c), node);
      for (int i = 0; i < 6; ++i) mine(row, i) += S(w * g[i]), theirs(i, row) += S(w * g[i]);
      for (int l = 0; l < cells; ++l)
        if (const int o = r.hold->first(j) + l; r.in_graph(o))
          lu.block(r.slot(c, o)).template topLeftCorner<6, 6>() -=
              (S(1) / shift) * (EA * g * along(r, j, l).transpose()).template cast<S>();
    }
    for (int e = 0; e < 2; ++e) {
      const int i = e ? j - r.next_to(1, 0) : j;
      if (r.port[e] < 0 || i < 0 || i >= int(r.pulled_by[e].size())) continue;
      const Matrix<double, 6, 1>& h = r.pulled_by[e][std::size_t(i)];
      auto &mine = block(node, place_node(r.port[e])), &theirs = block(place_node(r.port[e]), node);
      for (int m = 0; m < 6; ++m) mine(row, m) += w * shift * h[m], theirs(m, row) += S(w * h[m]);
      for (int k = 0; k < cells; ++k) {
        const int c = r.hold->first(j) + k;
        if (!r.in_graph(c)) continue;
        const Matrix<double, 6, 6> K = EA * along(r, j, k) * h.transpose();
        const auto& slots = r.host_slots[e][std::size_t(e ? r.N - c : c)];
        lu.block(slots[0]).template topLeftCorner<6, 6>() -= K.template cast<S>();
        lu.block(slots[2]).template topLeftCorner<6, 6>() -= (S(1) / shift) * K.transpose().template cast<S>();
      }
    }
  }
  // Of the body itself, which other rods may hold, too.
  template <class S, class Block> void pull_host(const Rod& r, int e, Block&& block) const {
    for (std::size_t k = 0; k < r.pulled_by[e].size(); ++k) {
      const int j = r.next_to(e, int(k));
      if (!pulls(r, j)) continue;
      const Matrix<double, 6, 1>& h = r.pulled_by[e][k];
      const double EA = r.d.quadrature[std::size_t(j)] * r.d.CG[std::size_t(j)](2, 2);
      block -= (EA * h * h.transpose()).template cast<S>();
    }
  }

  // c = Tc nu + c_b for the unknown nu, the increment of Omega, of the frame of cell o.
  template <class S> GYROD_INLINE void maps(const Rod& r, int o, S shift, Local<S>& Tc) {
    if (!form_.plain()) {
      Tc = turned<S>(r, o).A;
      return;
    }
    const Vec4<double>& w = told(r, o).spin;
    const S scale = work<S>().scale[std::size_t(r.at_node(o))];
    const S h0 = S(0.5) * scale * w[1], h1 = S(0.5) * scale * w[2], h2 = S(0.5) * scale * w[3], d = shift * scale;
    Tc(0, 0) = -h0, Tc(0, 1) = -h1, Tc(0, 2) = -h2; // (0, nu)(shift + Omega/2) scale
    Tc(1, 0) = d, Tc(1, 1) = h2, Tc(1, 2) = -h1;
    Tc(2, 0) = -h2, Tc(2, 1) = d, Tc(2, 2) = h0;
    Tc(3, 0) = h1, Tc(3, 1) = -h0, Tc(3, 2) = d;
  }
  // A frame that is not plain.
  template <class S> TurnStage<S>& turned(const Rod& r, int c) { return work<S>().turned[std::size_t(r.at_node(c))]; }

  template <class S> bool factor_with(UniformLu<S, B>& lu, S shift) {
    if constexpr (std::is_same_v<S, double>)
      real_shift_ = shift;
    else
      complex_shift_ = shift;
    lu.clear_staying();
    std::atomic<bool> regular = true;
    each_group([&](const Group& g) {
      if (!regular.load(std::memory_order_relaxed)) return;
      lu.clear(part(lu, g));
      bool able = true;
      for_rods(g, [&](const Rod& r) { able = able && fill<S>(r, shift, lu); });
      if (!able) return regular.store(false, std::memory_order_relaxed);
      if (tangled_) fill_far<S>(shift, lu);
      if (!lu.factor(part(lu, g))) regular.store(false, std::memory_order_relaxed);
    });
    if (!regular) return false;
    each_rest([&](std::size_t k) {
      if (k < hosts_.size()) fill_host<S>(int(k), lu);
      lu.factor_rest(k);
    });
    lu.conclude();
    return true;
  }
  // What ends do to the body that holds them, and feel of it, by its own motion.
  template <class S> void fill_host(int h, UniformLu<S, B>& lu) const {
    const auto block = [&](int column) { return lu.block(at(place_node(h), column)).template topLeftCorner<6, 6>(); };
    for (const auto& [r, e] : guests_[std::size_t(h)]) {
      block(place_node(h)) -= r->hosted[e].own_place.template cast<S>();
      block(speed_node(h)) -= r->hosted[e].own_speed.template cast<S>();
      if constexpr (Constrained) pull_host<S>(*r, e, block(place_node(h)));
    }
  }
  // false: the coordinates of a frame are singular
  template <class S> bool fill(const Rod& r, S shift, UniformLu<S, B>& lu) {
    const S inverse = S(1) / shift;
    const bool plain = form_.plain();
    if (!plain && !factor_turned<S>(r, shift)) return false;
    Local<S> Tc;
    for (int o = r.begin; o <= r.last; ++o) { // column by column: the maps belong to columns
      if (r.turns(o)) {
        if (plain)
          work<S>().scale[std::size_t(r.at_node(o))] = S(1) / (shift * shift + S(0.25 * told(r, o).spin.squaredNorm()));
        maps<S>(r, o, shift, Tc);
      }
      const std::size_t i = std::size_t(o);
      for (int c = r.first(o); c <= r.behind(o); ++c) {
        auto& whole = lu.block(r.slot(c, o));
        auto a = whole.template topRows<R>();
        const auto &q = r.blocks.q(c, o), &v = r.blocks.v(c, o);
        if (r.turns(o) && !form_.absolute)
          a.template leftCols<3>() =
              -(q.template leftCols<4>().template cast<S>() * Tc) - v.template middleCols<3>(1).template cast<S>();
        else if (r.turns(o))
          a.template leftCols<3>() = -by_spin<S, 6>(r, o, q, v, Tc);
        a.template middleCols<3>(3) = -inverse * q.template rightCols<3>() - v.template rightCols<3>();
        if (r.d.blended && std::abs(c - o) == 1 && r.moves(c) && r.moves(o))
          a.template block<3, 3>(3, 3).add_to_diagonal(shift * r.d.off[std::size_t(std::min(c, o))]);
      }
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0) host_column<S>(r, e, o, shift, Tc, lu);
      auto& a = lu.block(r.slot(o, o));
      for (int k = 0; k < 3; ++k) a(k, k) += r.turns(o) ? shift * r.d.J[r.frame(o)][k] : S(1);
      a.template block<3, 3>(3, 3).add_to_diagonal(r.moves(o) ? shift * r.d.mass[i] : S(1));
    }
    if constexpr (Constrained) constraint_blocks<S>(r, lu, shift);
    return true;
  }
  template <class S> GYROD_OUTLINE bool factor_turned(const Rod& r, S shift) {
    for (int o = r.begin; o <= r.last; ++o)
      if (r.turns(o) && !turned<S>(r, o).factor(form_, r.turnings[r.frame(o)], shift)) return false;
    return true;
  }
  template <class S> void fill_far(S shift, UniformLu<S, B>& lu) {
    const S inverse = S(1) / shift;
    Local<S> Tc;
    for (const FarBlock& b : far_) {
      const int row = node_of(b.row), column = node_of(b.column);
      auto a = lu.block(at(row, column)).template topRows<6>();
      if (b.places) {
        a.template block<3, 3>(3, 3) -= inverse * b.q.bottomRightCorner<3, 3>() + b.v.bottomRightCorner<3, 3>();
        continue;
      }
      if (b.column.body()) {
        a.template leftCols<6>() -= b.q.template leftCols<6>().template cast<S>();
        lu.block(at(row, column + 1)).template topLeftCorner<6, 6>() -= b.v.template leftCols<6>().template cast<S>();
        continue;
      }
      const Rod& o = *rods_[std::size_t(b.column.rod)];
      const int c = b.column.index;
      if (o.turns(c)) {
        maps<S>(o, c, shift, Tc);
        a.template leftCols<3>() -= by_spin<S, 6>(o, c, b.q, b.v, Tc);
      }
      a.template middleCols<3>(3) -= inverse * b.q.template rightCols<3>() + b.v.template rightCols<3>();
    }
    auto& own = work<S>().own;
    if (own.size() < recalls_.size()) own.resize(recalls_.size());
    if (work<S>().columns.size() < grips_.size()) work<S>().columns.resize(grips_.size());
    for (std::size_t i = 0; i < recalls_.size(); ++i) fill_recall<S>(recalls_[i], shift, own[i], lu);
  }

  // --- what contacts remember: z is eliminated where it is, (shift - own) dz = b_z + rate (q dq + v dv).
  template <class S> void fill_recall(const Recall& m, S shift, Matrix<S, 3, 3>& own, UniformLu<S, B>& lu) {
    own = -m.own.template cast<S>();
    own.add_to_diagonal(shift);
    if (m.from == m.to || m.given) {
      const S straight = S(1) / own(0, 0);
      own = Matrix<S, 3, 3>::Zero(), own.add_to_diagonal(straight);
      return;
    }
    own = own.inverse();
    Local<S> Tc;
    for (std::size_t c = m.from; c < m.to; ++c) {
      const Grip& by = grips_[c];
      Matrix<S, 3, 6> column, speed; // of the unknowns of a cell; of a body place and speed
      if (by.on.body()) {
        column = own * by.q.template leftCols<6>(), speed = own * by.v.template leftCols<6>();
      } else {
        const Rod& o = *rods_[std::size_t(by.on.rod)];
        column.setZero();
        if (o.turns(by.on.index)) {
          maps<S>(o, by.on.index, shift, Tc);
          column.template leftCols<3>() = by_spin<S, 3>(o, by.on.index, by.q, by.v, Tc);
        }
        column.template rightCols<3>() = (S(1) / shift) * by.q.template rightCols<3>() + by.v.template rightCols<3>();
        column = own * column;
        work<S>().columns[c] = column;
      }
      const int node = node_of(by.on);
      for (std::size_t r = m.from; r < m.to; ++r) {
        const int row = node_of(grips_[r].on);
        lu.block(at(row, node)).template topLeftCorner<6, 6>() -= grips_[r].push * column;
        if (by.on.body()) lu.block(at(row, node + 1)).template topLeftCorner<6, 6>() -= grips_[r].push * speed;
      }
    }
  }
  // b_z and what is known of the grips.
  template <class S> Vec3<S> recalled(const Recall& m, const S* b) {
    Vec3<S> z = Part<3>::of(b + m.at);
    for (std::size_t c = m.from; c < m.to; ++c) {
      const Grip& by = grips_[c];
      if (by.on.body()) continue;
      const Rod& o = *rods_[std::size_t(by.on.rod)];
      z += by.q * work<S>().known[std::size_t(o.at_node(by.on.index))];
      if (form_.absolute && o.turns(by.on.index)) z += by.v.template leftCols<4>() * turned<S>(o, by.on.index).omega;
    }
    return z;
  }
  template <class S> void recall_sides(const S* b) {
    auto& k = work<S>();
    for (std::size_t i = 0; i < recalls_.size(); ++i) {
      const Recall& m = recalls_[i];
      if (m.from == m.to) continue;
      const Vec3<S> z = k.own[i] * recalled<S>(m, b);
      for (std::size_t r = m.from; r < m.to; ++r)
        k.x[std::size_t(node_of(grips_[r].on))].template head<6>() += grips_[r].push * z;
    }
  }
  // Of the solution: before the cells are recovered, from what they do.
  template <class S> void recover_recalls(S shift, S* b) {
    auto& k = work<S>();
    if (still_) // nothing is forgotten, nothing learnt
      for (std::size_t at = memory(); at < size_; ++at) b[at] = b[at] / shift;
    else
      straighten(b, shift);
    for (std::size_t i = 0; i < recalls_.size(); ++i) {
      const Recall& m = recalls_[i];
      Vec3<S> z = recalled<S>(m, b), by_cells = Vec3<S>::Zero();
      for (std::size_t c = m.from; c < m.to; ++c) {
        const Grip& by = grips_[c];
        const std::size_t node = std::size_t(node_of(by.on));
        if (by.on.body()) {
          z += by.q.template leftCols<6>() * k.x[node].template head<6>();
          z += by.v.template leftCols<6>() * k.x[node + 1].template head<6>();
        } else if (!m.given) {
          by_cells += k.columns[c] * k.x[node].template head<6>();
        }
      }
      Part<3>::put(b + m.at, Vec3<S>(k.own[i] * z + by_cells));
    }
  }
  // What no step changes.
  template <class S> void straighten(S* b, S shift) const {
    for (std::size_t at : latches_) b[at] = b[at] / shift;
    for (std::size_t at : idle_)
      for (std::size_t i = 0; i < 3; ++i) b[at + i] = b[at + i] / shift;
    for (const Loose& run : loose_) {
      const S by = S(1) / (S(run.hard ? 0.0 : 1.0 / ContactLaw::release) + shift);
      for (std::size_t at = run.from; at < run.to; at += run.each)
        for (std::size_t i = 0; i < 3; ++i) b[at + i] = by * b[at + i];
    }
  }
  // Both transposed: weights of dz to those of b_z, of the unknowns and of what is known.
  GYROD_COLD void recover_recalls_transposed(double* b) {
    Work<double>& k = real_work_;
    if (still_)
      for (std::size_t at = memory(); at < size_; ++at) b[at] /= real_shift_;
    else
      straighten(b, real_shift_);
    for (std::size_t i = 0; i < recalls_.size(); ++i) {
      const Recall& m = recalls_[i];
      const Vec3<double> z = k.own[i].transpose() * Part<3>::of(b + m.at);
      Part<3>::put(b + m.at, z);
      for (std::size_t c = m.from; c < m.to; ++c) add_recall(grips_[c], z, true);
    }
  }
  GYROD_COLD void recall_sides_transposed(double* b) {
    Work<double>& k = real_work_;
    for (std::size_t i = 0; i < recalls_.size(); ++i) {
      const Recall& m = recalls_[i];
      if (m.from == m.to) continue;
      Vec3<double> z = Vec3<double>::Zero();
      for (std::size_t r = m.from; r < m.to; ++r)
        z += grips_[r].push.transpose() * k.x[std::size_t(node_of(grips_[r].on))].template head<6>();
      z = k.own[i].transpose() * z;
      Part<3>::put(b + m.at, Vec3<double>(Part<3>::of(b + m.at) + z));
      for (std::size_t c = m.from; c < m.to; ++c) add_recall(grips_[c], z, false);
    }
  }
  // A weight of what a grip does, given on to what is known of it and, where they are asked for, to the unknowns.
  GYROD_COLD void add_recall(const Grip& by, const Vec3<double>& weight, bool unknowns) {
    Work<double>& k = real_work_;
    const std::size_t node = std::size_t(node_of(by.on));
    if (by.on.body()) {
      if (!unknowns) return;
      k.x[node].template head<6>() += by.q.template leftCols<6>().transpose() * weight;
      k.x[node + 1].template head<6>() += by.v.template leftCols<6>().transpose() * weight;
      return;
    }
    const Rod& o = *rods_[std::size_t(by.on.rod)];
    add<3>(o, by.on.index, by.q, by.v, weight);
    if (!unknowns) return;
    k.x[node].template segment<3>(3) += (1.0 / real_shift_) * (by.q.template rightCols<3>().transpose() * weight) +
                                        by.v.template rightCols<3>().transpose() * weight;
    if (!o.turns(by.on.index)) return;
    Local<double> Tc;
    maps<double>(o, by.on.index, real_shift_, Tc);
    k.x[node].template head<3>() += by_spin<double, 3>(o, by.on.index, by.q, by.v, Tc).transpose() * weight;
  }

  // Derivatives by the unknown of a frame, from those by its increments and rates.
  template <class S, int N>
  GYROD_INLINE Matrix<S, N, 3> by_spin(const Rod& r, int o, const Matrix<double, N, 7>& q,
                                       const Matrix<double, N, 7>& v, const Local<S>& Tc) {
    if (form_.absolute)
      return q.template leftCols<4>().template cast<S>() * Tc +
             v.template leftCols<4>().template cast<S>() * turned<S>(r, o).W;
    return q.template leftCols<4>().template cast<S>() * Tc + v.template middleCols<3>(1).template cast<S>();
  }
  // Blocks of a cell with the body that holds the end next to it.
  template <class S> void host_column(const Rod& r, int e, int o, S shift, const Local<S>& Tc, UniformLu<S, B>& lu) {
    const int k = e ? r.N - o : o;
    if (k > r.blocks.reach()) return;
    const HostedEnd& h = r.hosted[e];
    const auto& [place, speed, wrench] = r.host_slots[e][std::size_t(k)];
    lu.block(place).template topLeftCorner<6, 6>() -= h[k].by_place.template cast<S>();
    lu.block(speed).template topLeftCorner<6, 6>() -= h[k].by_speed.template cast<S>();
    auto& w = lu.block(wrench);
    if (r.turns(o)) w.template topLeftCorner<6, 3>() -= by_spin<S, 6>(r, o, h[k].wrench_q, h[k].wrench_v, Tc);
    w.template block<6, 3>(0, 3) -= (S(1) / shift) * h[k].wrench_q.template rightCols<3>().template cast<S>() +
                                    h[k].wrench_v.template rightCols<3>().template cast<S>();
  }

  template <class S> void solve_with(const UniformLu<S, B>& lu, S* b) {
    Work<S>& k = work<S>();
    each_group([&](const Group& g) { // no body holds one of them
      right_sides<S>(g, b);
      lu.forward(k.x.data(), k.left.data(), part(lu, g));
      lu.backward(k.x.data(), part(lu, g));
      if (memory() < size_) recover_recalls<S>(shift_of<S>(), b);
      for_rods(g, [&](const Rod& r) { recover<S>(r, shift_of<S>(), b + r.at, k); });
    });
  }

  // For every cell: increments that follow from b alone, the unknowns, and 1/(shift² + |Omega|²/4) or what frames have
  // instead that are not plain.
  template <class S> struct Work {
    std::vector<Increment<S>> known;
    std::vector<Matrix<S, B, 1>> x, left;  // left: of nodes that stay, by those before them
    std::vector<Matrix<S, 6, 1>> wrenches; // on bodies, of the ends of all rods
    std::vector<S> scale;
    std::vector<TurnStage<S>> turned;
    std::vector<Matrix<S, 3, 3>> own;     // of what contacts remember: 1/(shift - own)
    std::vector<Matrix<S, 3, 6>> columns; // of grips of cells: that times what the unknowns of the cell do
    void resize(std::size_t n, bool plain) {
      known.resize(n), x.resize(n), scale.resize(n);
      if (!plain) turned.resize(n);
    }
  };

  // p c/2 with c = beta (shift + Omega/2) scale solves (shift - D) dp = p beta/2, where D dp = dp Omega/2.
  template <class S>
  GYROD_INLINE static Vec4<S> resolved(const Vec4<S>& beta, const Vec4<double>& w, S shift, S scale) {
    const Vec4<S> back(shift, S(0.5 * w[1]), S(0.5 * w[2]), S(0.5 * w[3]));
    return scale * multiply<S>(beta, back);
  }
  // E'' of strain j when b_v is an acceleration.
  template <class S> Vec3<S> given_strain_rate(const Rod& r, int j, const S* b) {
    Vec3<S> rate = Vec3<S>::Zero();
    for (int k = 0; k < r.hold->cells(); ++k) {
      const int o = r.hold->first(j) + k;
      const std::size_t n = std::size_t(o);
      const HeldLink<double>& l = r.links[std::size_t(j * r.hold->cells() + k)];
      if (r.moves(o)) rate += l.move.template cast<S>() * Vec3<S>(Part<3>::of(b + r.v_at[n]));
      if (!r.turns(o)) continue;
      const Vec3<S> spin = form_.plain() ? Vec3<S>(Part<3>::of(b + r.w_at[n])) : turned<S>(r, o).beta;
      rate += l.turn.template cast<S>() * spin;
    }
    return rate;
  }
  // Its transposed: a weight of the rate of strain j, given on to those of b.
  void add_strain_rate(const Rod& r, int j, const Vec3<double>& weight, double* b) {
    for (int k = 0; k < r.hold->cells(); ++k) {
      const int o = r.hold->first(j) + k;
      const std::size_t n = std::size_t(o);
      const HeldLink<double>& l = r.links[std::size_t(j * r.hold->cells() + k)];
      const Vec3<double> move = l.move.transpose() * weight, turn = l.turn.transpose() * weight;
      for (int c = 0; c < 3; ++c) {
        if (r.moves(o)) b[r.v_at[n] + c] += move[c];
        if (r.turns(o)) (form_.plain() ? b[r.w_at[n] + c] : turned<double>(r, o).beta[c]) += turn[c];
      }
    }
  }

  // Right-hand sides of the rows of held strains.
  template <class S> void held_sides(const Rod& r, const S* b, Work<S>& to) {
    for (int j = 0; j < r.N; ++j) {
      Vec3<S> f = still_ ? Vec3<S>(Vec3<S>::Zero()) : given_strain_rate<S>(r, j, b);
      for (int k = 0; k < r.hold->cells(); ++k) {
        const int o = r.hold->first(j) + k;
        if (!r.in_graph(o)) continue;
        const HeldRow& row = r.rows[std::size_t(j * r.hold->cells() + k)];
        f += row.q.template cast<S>() * to.known[std::size_t(r.at_node(o))];
        if (form_.absolute && r.turns(o)) f += row.v.template leftCols<4>().template cast<S>() * turned<S>(r, o).omega;
      }
      if (r.d.held == 2) f[2] = S(0);
      const auto [node, from] = place_of(r, j);
      to.x[std::size_t(node)].template segment<3>(from) = f;
    }
  }

  template <class S> void right_side(const Rod& r, S shift, const S* b, Work<S>& k) {
    const S inverse = S(1) / shift;
    const bool plain = form_.plain();
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t cell = node + std::size_t(c);
      const Cell& s = table_[cell];
      Increment<S>& q = k.known[cell];
      Matrix<S, B, 1>& f = k.x[cell];
      if (s.x >= 0) {
        q.template tail<3>() = inverse * Part<3>::of(b + s.x);
        f.template segment<3>(3) = s.mass * Part<3>::of(b + s.v);
        if (r.d.blended)
          for (int o : {c - 1, c + 1})
            if (o >= 0 && o <= r.N && r.moves(o))
              f.template segment<3>(3) +=
                  r.d.off[std::size_t(std::min(c, o))] * Part<3>::of(b + r.v_at[std::size_t(o)]);
      } else {
        q.template tail<3>().setZero(), f.template segment<3>(3).setZero();
      }
      if constexpr (Constrained) f.template tail<3>().setZero();
      if (s.p < 0) {
        q.template head<4>().setZero(), f.template head<3>().setZero();
        continue;
      }
      if (!plain) continue;
      const Vec4<S> turned =
          S(s.back) * multiply<S>(conjugate<double>(s.frame).template cast<S>(), Part<4>::of(b + s.p));
      q.template head<4>() = resolved<S>(turned, s.spin, shift, k.scale[cell]);
      for (int n = 0; n < 3; ++n) f[n] = s.J[n] * b[s.w + n];
    }
    if (!plain) turned_sides<S>(r, shift, b, k);
    for (int c = r.begin; c <= r.last; ++c) {
      const Cell& s = table_[node + std::size_t(c)];
      auto f = k.x[node + std::size_t(c)].template head<R>();
      for (int o = s.first; o <= s.behind; ++o)
        f += s.row[o - s.first].template cast<S>() * k.known[node + std::size_t(o)];
    }
  }
  // Of frames that are not plain: out of the loops of those that are.
  template <class S> GYROD_OUTLINE void turned_sides(const Rod& r, S shift, const S* b, Work<S>& k) {
    const auto each = [&](auto&& f) {
      for (int c = r.begin; c <= r.last; ++c)
        if (r.turns(c)) f(c, std::size_t(c), std::size_t(r.at_node(c)));
    };
    each([&](int c, std::size_t i, std::size_t cell) {
      TurnStage<S>& mine = k.turned[cell];
      mine.known(form_, r.turnings[r.frame(c)], shift, b + r.p_at[i], b + r.w_at[i]);
      k.known[cell].template head<4>() = mine.theta;
      for (int n = 0; n < 3; ++n) k.x[cell][n] = r.d.J[r.frame(c)][n] * mine.beta[n];
    });
    if (!form_.absolute) return;
    each([&](int o, std::size_t, std::size_t cell) { // which cells feel a rate
      for (int c = r.first(o); c <= r.behind(o); ++c)
        k.x[std::size_t(r.at_node(c))].template head<R>() +=
            r.blocks.v(c, o).template leftCols<4>().template cast<S>() * k.turned[cell].omega;
    });
  }

  template <class S> void recover(const Rod& r, S shift, S* b, const Work<S>& k) const {
    const S inverse = S(1) / shift;
    const bool plain = form_.plain();
    for (std::size_t cell = std::size_t(r.node), end = cell + std::size_t(r.last - r.begin) + 1; cell < end; ++cell) {
      const Cell& s = table_[cell];
      const Matrix<S, B, 1>& d = k.x[cell];
      if (s.x >= 0)
        for (int n = 0; n < 3; ++n) {
          b[s.v + n] = d[3 + n];
          b[s.x + n] = inverse * (b[s.x + n] + d[3 + n]);
        }
      if (s.p < 0 || !plain) continue;
      const Vec4<S> turned =
          k.known[cell].template head<4>() + resolved<S>(Vec4<S>(S(0), d[0], d[1], d[2]), s.spin, shift, k.scale[cell]);
      Part<4>::put(b + s.p, Vec4<S>(S(0.5) * multiply<S>(s.frame.template cast<S>(), turned)));
      for (int n = 0; n < 3; ++n) b[s.w + n] = d[n];
    }
    if (!plain) recover_turned<S>(r, shift, b, k);
  }
  template <class S> GYROD_OUTLINE void recover_turned(const Rod& r, S shift, S* b, const Work<S>& k) const {
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c), cell = std::size_t(r.at_node(c));
      if (r.turns(c)) k.turned[cell].recover(form_, shift, k.x[cell].template head<3>(), b + r.p_at[i], b + r.w_at[i]);
    }
  }

  // `recover` and `right_sides` transposed: from weights of the solution in b to those of the unknowns, from these on
  // to weights of b. Those of `known` are kept there in between.
  GYROD_COLD void recover_transposed(const Group& g, double* b) {
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for_rods(g, [&](const Rod& r) {
      double* mine = b + r.at;
      for (int c = r.begin; c <= r.last; ++c) {
        const std::size_t i = std::size_t(c), cell = std::size_t(r.at_node(c));
        Matrix<double, B, 1>& d = k.x[cell];
        Increment<double>& q = k.known[cell];
        d.setZero(), q.setZero();
        if (r.moves(c))
          for (int n = 0; n < 3; ++n) {
            mine[r.x_at[i] + n] *= inverse;
            d[3 + n] = mine[r.v_at[i] + n] + mine[r.x_at[i] + n];
            mine[r.v_at[i] + n] = 0.0;
          }
        if (!r.turns(c)) continue;
        const std::size_t j = r.frame(c);
        if (!form_.plain()) {
          d.template head<3>() = k.turned[cell].recover_transposed(form_, shift, mine + r.p_at[i], mine + r.w_at[i]);
          continue;
        }
        const Vec4<double> back = 0.5 * conjugate<double>(r.p[j]);
        const Vec4<double> turned = multiply<double>(back, Part<4>::of(mine + r.p_at[i]));
        q.template head<4>() = turned;
        const Vec4<double> spin = resolved<double>(turned, conjugate<double>(r.w[j]), shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) {
          d[n] = spin[n + 1] + mine[r.w_at[i] + n];
          mine[r.w_at[i] + n] = 0.0;
        }
        for (int n = 0; n < 4; ++n) mine[r.p_at[i] + n] = 0.0;
      }
    });
    if (memory() < size_) recover_recalls_transposed(b);
  }
  // `known_force` transposed.
  template <int N>
  void add(const Rod& r, int c, const Matrix<double, N, 7>& q, const Matrix<double, N, 7>& v,
           const Matrix<double, N, 1>& weight) {
    const std::size_t cell = std::size_t(r.at_node(c));
    real_work_.known[cell] += q.transpose() * weight;
    if (form_.absolute && r.turns(c)) real_work_.turned[cell].omega += v.template leftCols<4>().transpose() * weight;
  }
  GYROD_COLD void right_sides_transposed(const Group& g, double* b) {
    Work<double>& k = real_work_;
    recall_sides_transposed(b);
    for (const FarBlock& f : far_)
      if (!f.column.body())
        add<6>(*rods_[std::size_t(f.column.rod)], f.column.index, f.q, f.v,
               k.x[std::size_t(node_of(f.row))].template head<6>());
    for_rods(g, [&](const Rod& r) {
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0)
          r.near(e, [&](int i, int c) {
            add<6>(r, c, r.hosted[e][i].wrench_q, r.hosted[e][i].wrench_v,
                   k.x[std::size_t(place_node(r.port[e]))].template head<6>());
          });
      if constexpr (Constrained)
        if (r.d.held) held_sides_transposed(r, b + r.at);
      right_side_transposed(r, b + r.at);
    });
  }
  GYROD_COLD void held_sides_transposed(const Rod& r, double* b) {
    for (int j = 0; j < r.N; ++j) {
      const auto [node, from] = place_of(r, j);
      Vec3<double> weight = real_work_.x[std::size_t(node)].template segment<3>(from);
      if (r.d.held == 2) weight[2] = 0.0;
      if (!still_) add_strain_rate(r, j, weight, b);
      for (int k = 0; k < r.hold->cells(); ++k)
        if (const int o = r.hold->first(j) + k; r.in_graph(o)) {
          const HeldRow& row = r.rows[std::size_t(j * r.hold->cells() + k)];
          add<3>(r, o, row.q, row.v, weight);
        }
    }
  }
  GYROD_COLD void right_side_transposed(const Rod& r, double* b) {
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o), cell = std::size_t(r.at_node(o));
      const Matrix<double, B, 1>& f = k.x[cell];
      Increment<double>& q = k.known[cell];
      for (int c = r.first(o); c <= r.behind(o); ++c)
        add<6>(r, o, r.blocks.q(c, o), r.blocks.v(c, o), k.x[std::size_t(r.at_node(c))].template head<R>());
      if (r.moves(o)) {
        const Vec3<double> push = f.template segment<3>(3);
        for (int n = 0; n < 3; ++n) b[r.x_at[i] + n] += inverse * q[4 + n], b[r.v_at[i] + n] += r.d.mass[i] * push[n];
        if (r.d.blended)
          for (int c : {o - 1, o + 1})
            if (c >= 0 && c <= r.N && r.moves(c))
              for (int n = 0; n < 3; ++n)
                b[r.v_at[std::size_t(c)] + n] += r.d.off[std::size_t(std::min(c, o))] * push[n];
      }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      if (!form_.plain()) {
        TurnStage<double>& mine = k.turned[cell];
        mine.beta += r.d.J[j].cwiseProduct(f.template head<3>());
        mine.known_transposed(form_, r.turnings[j], shift, q.template head<4>(), b + r.p_at[i], b + r.w_at[i]);
        continue;
      }
      const Vec4<double> back = (2.0 / r.norm[j]) * r.p[j];
      const Vec4<double> beta = resolved<double>(q.template head<4>(), conjugate<double>(r.w[j]), shift, k.scale[cell]);
      for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] += r.d.J[j][n] * f[n];
      Part<4>::put(b + r.p_at[i], Vec4<double>(Part<4>::of(b + r.p_at[i]) + multiply<double>(back, beta)));
    }
  }

  template <class S> Work<S>& work() {
    if constexpr (std::is_same_v<S, double>)
      return real_work_;
    else
      return complex_work_;
  }

  // df/dy of a rod from its blocks, for tests and small problems.
  GYROD_COLD void dense_rod(const Rod& r, double* J) const {
    const auto entry = [&](int row, int column) -> double& {
      return J[(r.at + std::size_t(row)) * size_ + r.at + std::size_t(column)];
    };
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c);
      if (r.moves(c))
        for (int k = 0; k < 3; ++k) entry(r.x_at[i] + k, r.v_at[i] + k) = 1.0;
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      const Vec4<double> half = 0.5 * r.w[j];
      const Mat4<double> D = quaternion_matrix_right<double>(half);
      const auto T = quaternion_nullspace<double>(r.p[j]);
      for (int a = 0; a < 4; ++a) {
        for (int k = 0; k < 4; ++k) entry(r.p_at[i] + a, r.p_at[i] + k) = D(a, k);
        for (int k = 0; k < 3; ++k) entry(r.p_at[i] + a, r.w_at[i] + k) = T(a, k);
      }
    }
    // columns: a unit vector of the state as increments of its cell, times the column's blocks, through the inertia
    std::vector<Vec3<double>> f(std::size_t(r.N) + 1);
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o);
      const auto column = [&](int where, const Increment<double>& q, const Increment<double>& v) {
        for (auto& x : f) x.setZero();
        for (int c = r.first(o); c <= r.behind(o); ++c) {
          const Matrix<double, R, 1> d = r.blocks.q(c, o) * q + r.blocks.v(c, o) * v;
          f[std::size_t(c)] = d.template tail<3>();
          if (!r.turns(c)) continue;
          for (int k = 0; k < 3; ++k) entry(r.w_at[std::size_t(c)] + k, where) = d[k] / r.d.J[r.frame(c)][k];
        }
        r.accelerate(f);
        for (int c = r.begin; c <= r.last; ++c)
          if (r.moves(c))
            for (int k = 0; k < 3; ++k) entry(r.v_at[std::size_t(c)] + k, where) = f[std::size_t(c)][k];
      };
      const Increment<double> none = Increment<double>::Zero();
      if (r.moves(o))
        for (int k = 0; k < 3; ++k) {
          const Increment<double> unit = Increment<double>::Unit(4 + k);
          column(r.x_at[i] + k, unit, none), column(r.v_at[i] + k, none, unit);
        }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      const Mat4<double> A = 2.0 / r.norm[j] * quaternion_matrix<double>(conjugate<double>(r.p[j]));
      for (int k = 0; k < 4; ++k) {
        Increment<double> q = none;
        q.head<4>() = A.col(k);
        column(r.p_at[i] + k, q, none);
      }
      for (int k = 0; k < 3; ++k) column(r.w_at[i] + k, none, Increment<double>::Unit(1 + k));
    }
  }

  template <class S> void prepare(std::unique_ptr<UniformLu<S, B>>& lu, Work<S>& k) const {
    lu = std::make_unique<UniformLu<S, B>>(pattern_);
    k.resize(std::size_t(pattern_.nodes()), form_.plain());
    k.left.resize(lu->sources());
    if (!hosts_.empty()) k.wrenches.resize(2 * rods_.size());
    k.own.resize(recalls_.capacity()), k.columns.resize(grips_.capacity());
  }

  std::vector<Cell> table_; // by the nodes of the cells
  std::unique_ptr<UniformLu<double, B>> real_;
  std::unique_ptr<UniformLu<Complex, B>> complex_;
  double real_shift_ = 0.0;
  Complex complex_shift_ = 0.0;
  Work<double> real_work_;
  Work<Complex> complex_work_;
};

} // namespace gyrod
