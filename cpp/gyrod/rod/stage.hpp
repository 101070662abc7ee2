// The linear system of a stage of rods in the null-space form (x, p; x', Omega) or the absolute form (x, p; x', p').
//
// Implicit stages use the second-order structure: with dq = (shift - D)^-1 (b_q + T dv) the linear system
//   (shift I - df/dy) (dq, dv) = (b_q, b_v)
// becomes one for dv alone, of one 6 x 6 (7 x 7 in absolute form) block a cell, block tridiagonal along the rod. Cells
// of all rods are the nodes of one graph with one elimination.
#pragma once

#include <atomic>

#include "gyrod/linear/uniform_lu.hpp"
#include "gyrod/rod/set.hpp"

namespace gyrod {

// Constrained: rods whose strains may be held; three more unknowns in a cell, the increments of lambda.
template <bool Absolute, bool Constrained = false> class RodStage final : public RodSet {
  static_assert(!(Absolute && Constrained));
  // Rows of a cell: balance of moments and forces, held strains.
  static constexpr int turn = Absolute ? 4 : 3, R = turn + 3, B = R + (Constrained ? 3 : 0);
  static constexpr int forces = turn - 3; // its first row of (mu, f)
  static constexpr int host_nodes = Constrained ? 3 : 2;
  template <class S> using Local = Matrix<S, 4, turn>;

public:
  RodStage(std::vector<RodDescription> rods, const FormulationOptions& options, std::vector<RodLink> links)
      : RodSet(std::move(rods), options, std::move(links), Absolute, Constrained, B) {
    if constexpr (Absolute)
      for (const auto& r : rods_) wide_.emplace_back(r->N + 1, r->d.coupled ? 2 : 1, r->d.degree);
  }

  // Of forces that hold strains there is one for each of them (Haynsworth), however stable the rods are; ties are
  // eliminated with the bodies, and counted there.
  int negative_pivots() const override {
    int n = real_->negative_pivots();
    for (const auto& r : rods_) n -= r->d.held * (r->N - r->tied());
    return n;
  }

  void jacobian(double t, const double* y) override {
    if (!real_) prepare(real_, real_work_);
    linearise(t, y);
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
    if constexpr (Constrained) return dense_jacobian_dual(t, y, J); // held strains make it a full matrix
    jacobian(t, y);
    std::fill(J, J + size_ * size_, 0.0);
    for (auto& r : rods_) dense_rod(*r, J);
  }

private:
  template <class S> static auto part(const UniformLu<S, B>& lu, const Group& g) {
    return lu.part(g.steps, g.steps_end);
  }
  std::uint32_t at(int i, int j) const { return UniformLu<double, B>::at(pattern_, i, j); }
  static int first_row(const Carrier& c) { return c.body() ? 0 : forces; } // of those that are forces

  // Blocks with all rows of a cell; the null-space form has them where the grid has written its own.
  auto& rows_of(Rod& r) {
    if constexpr (Absolute)
      return wide_[std::size_t(r.index)];
    else
      return r.blocks;
  }
  const auto& rows_of(const Rod& r) const {
    if constexpr (Absolute)
      return wide_[std::size_t(r.index)];
    else
      return r.blocks;
  }

  // Rows of the balance of moments, with inertia; rows and columns of held positions become those of the identity.
  void add_inertia(Rod& r) override {
    auto& rows = rows_of(r);
    for (int c = r.begin; c <= r.last; ++c) {
      for (int o = r.first(c); o <= r.behind(c); ++o) {
        auto &q = rows.q(c, o), &v = rows.v(c, o);
        if constexpr (Absolute) {
          const double factor = moment_scale(r, c);
          q.setZero(), v.setZero();
          q.template middleRows<3>(turn - 3) = factor * r.blocks.q(c, o).template topRows<3>();
          v.template middleRows<3>(turn - 3) = factor * r.blocks.v(c, o).template topRows<3>();
          q.template middleRows<3>(turn) = r.blocks.q(c, o).template bottomRows<3>();
          v.template middleRows<3>(turn) = r.blocks.v(c, o).template bottomRows<3>();
        }
        if (!r.moves(c)) q.template middleRows<3>(turn).setZero(), v.template middleRows<3>(turn).setZero();
        if (!r.moves(o)) q.template rightCols<3>().setZero(), v.template rightCols<3>().setZero();
        if (!r.turns(c)) q.template topRows<turn>().setZero(), v.template topRows<turn>().setZero();
        if (!r.turns(o)) q.template leftCols<4>().setZero(), v.template leftCols<4>().setZero();
      }
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      const Vec3<double> J = r.d.J[j], Omega = r.w[j].template tail<3>(), L = J.cwiseProduct(Omega);
      const Mat3<double> gyro = cross_matrix<double>(L) - cross_matrix<double>(Omega) * J.asDiagonal();
      auto &q = rows.q(c, c), &v = rows.v(c, c);
      if constexpr (Absolute) {
        const double w0 = r.w[j][0], n = r.norm[j];
        v.template block<3, 3>(1, 1) += gyro;
        v.template block<3, 3>(1, 1) -= (w0 * J).asDiagonal();
        v.template block<3, 1>(1, 0) -= L;
        v(0, 0) -= w0 + 2.0 * (options_.baumgarte_omega > 0.0 ? options_.baumgarte_r : 0.0);
        v.template block<1, 3>(0, 1) -= Omega.transpose();
        Mat4<double> turn_of = 0.5 * quaternion_matrix_right<double>(r.alpha[j]);
        turn_of.bottomRows<3>() = J.asDiagonal() * turn_of.bottomRows<3>().eval();
        q.template topLeftCorner<4, 4>() += turn_of;
        q(0, 0) -= options_.baumgarte_omega * options_.baumgarte_omega / n;
        q.template block<3, 1>(1, 0) -= 2.0 / (n * n) * r.s.mu[j];
      } else {
        v.template block<3, 3>(0, 1) += gyro;
      }
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
      lu.forward(k.x.data(), part(lu, g));
    });
    out.resize(hosts_.size()), ties.resize(tied_.size());
    each_rest([&](std::size_t h) {
      if (h < hosts_.size()) host_side<S>(h);
      lu.forward_rest(k.x.data(), h);
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
    for (const FarBlock& b : far_)
      if (!b.column.body())
        k.x[std::size_t(node_of(b.row))].template segment<6>(first_row(b.row)) +=
            known_force<S>(*rods_[std::size_t(b.column.rod)], b.column.index, b.q, b.v);
  }
  template <class S> void host_side(std::size_t h) {
    auto wrench = work<S>().x[std::size_t(place_node(int(h)))].template head<6>();
    for (const auto& [r, e] : guests_[h])
      r->near(e, [&, rod = r, end = e](int i, int c) {
        wrench += known_force<S>(*rod, c, rod->hosted[end][i].wrench_q, rod->hosted[end][i].wrench_v);
      });
  }
  // What follows from b_q alone: derivatives by increments and rates of cell c, times what is known of them.
  template <class S>
  Matrix<S, 6, 1> known_force(const Rod& r, int c, const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v) {
    const auto& k = work<S>();
    const std::size_t cell = std::size_t(r.at_node(c));
    Matrix<S, 6, 1> f = q.template cast<S>() * k.known[cell];
    if constexpr (Absolute)
      if (r.turns(c)) f += v.template leftCols<4>().template cast<S>() * k.rates[cell].template head<4>();
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
    Local<S> Tc, Tw;
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
          maps<S>(r, r.frame(o), shift, work<S>().scale[std::size_t(r.at_node(o))], Tc, Tw);
          mine.template block<3, 3>(from, 0) += by * l.turn.template cast<S>() -
                                                row.q.template leftCols<4>().template cast<S>() * Tc -
                                                row.v.template middleCols<3>(1).template cast<S>();
          theirs.template block<3, 3>(0, from) += (w * l.turn.transpose()).template cast<S>();
        }
        if (!r.moves(o)) continue;
        mine.template block<3, 3>(from, 3) +=
            by * l.move.template cast<S>() - inverse * row.q.template rightCols<3>() - row.v.template rightCols<3>();
        theirs.template block<3, 3>(3, from) += (w * l.move.transpose()).template cast<S>();
      }
      if (r.d.held == 2) block(node, node)(from + 2, from + 2) = still_ && r.stays(j) ? S(-1) : S(1);
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
  // c = Tc nu + c_b and w = Tw nu + w_b for the unknown nu (Omega, or 2 conj(p) p'/|p|²) of frame j.
  template <class S>
  GYROD_INLINE void maps(const Rod& r, std::size_t j, S shift, S scale, Local<S>& Tc, Local<S>& Tw) const {
    const Vec4<double>& w = r.w[j];
    const S inverse = S(1) / shift;
    if constexpr (Absolute) {
      Tc.setZero(), Tc.diagonal().setConstant(inverse);
      Tw = (S(-0.5) * inverse) * quaternion_matrix_right<double>(w).template cast<S>();
      Tw.add_to_diagonal(S(1));
    } else {
      const S h0 = S(0.5) * scale * w[1], h1 = S(0.5) * scale * w[2], h2 = S(0.5) * scale * w[3], d = shift * scale;
      Tc(0, 0) = -h0, Tc(0, 1) = -h1, Tc(0, 2) = -h2; // (0, nu)(shift + Omega/2) scale
      Tc(1, 0) = d, Tc(1, 1) = h2, Tc(1, 2) = -h1;
      Tc(2, 0) = -h2, Tc(2, 1) = d, Tc(2, 2) = h0;
      Tc(3, 0) = h1, Tc(3, 1) = -h0, Tc(3, 2) = d;
    }
  }

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
      for_rods(g, [&](const Rod& r) { fill<S>(r, shift, lu); });
      if (!links_.empty()) fill_far<S>(shift, lu);
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
    }
  }
  template <class S> void fill(const Rod& r, S shift, UniformLu<S, B>& lu) {
    const auto& rows = rows_of(r);
    const S inverse = S(1) / shift;
    Local<S> Tc, Tw;
    for (int o = r.begin; o <= r.last; ++o) { // column by column: the maps belong to columns
      if (r.turns(o)) {
        const S scale = S(1) / (shift * shift + S(0.25 * r.w[r.frame(o)].squaredNorm()));
        work<S>().scale[std::size_t(r.at_node(o))] = scale;
        maps<S>(r, r.frame(o), shift, scale, Tc, Tw);
      }
      const std::size_t i = std::size_t(o);
      for (int c = r.first(o); c <= r.behind(o); ++c) {
        auto& whole = lu.block(r.slot(c, o));
        auto a = whole.template topRows<R>();
        const auto &q = rows.q(c, o), &v = rows.v(c, o);
        if (r.turns(o)) {
          if constexpr (Absolute)
            a.template leftCols<4>() =
                -inverse * q.template leftCols<4>() - v.template leftCols<4>().template cast<S>() * Tw;
          else
            a.template leftCols<3>() =
                -(q.template leftCols<4>().template cast<S>() * Tc) - v.template middleCols<3>(1).template cast<S>();
        }
        a.template middleCols<3>(turn) = -inverse * q.template rightCols<3>() - v.template rightCols<3>();
        if (r.d.blended && std::abs(c - o) == 1 && r.moves(c) && r.moves(o))
          a.template block<3, 3>(turn, turn).add_to_diagonal(shift * r.d.off[std::size_t(std::min(c, o))]);
      }
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0) host_column<S>(r, e, o, shift, Tc, Tw, lu);
      auto& a = lu.block(r.slot(o, o));
      for (int k = 0; k < turn; ++k) a(k, k) += r.turns(o) ? shift * weight(r, r.frame(o), k) : S(1);
      a.template block<3, 3>(turn, turn).add_to_diagonal(r.moves(o) ? shift * r.d.mass[i] : S(1));
    }
    if constexpr (Constrained) constraint_blocks<S>(r, lu, shift);
  }
  template <class S> void fill_far(S shift, UniformLu<S, B>& lu) {
    const S inverse = S(1) / shift;
    Local<S> Tc, Tw;
    for (const FarBlock& b : far_) {
      const int row = node_of(b.row), column = node_of(b.column), from = first_row(b.row);
      auto& a = lu.block(at(row, column));
      if (b.column.body()) {
        a.template block<6, 6>(from, 0) -= b.q.template leftCols<6>().template cast<S>();
        lu.block(at(row, column + 1)).template block<6, 6>(from, 0) -= b.v.template leftCols<6>().template cast<S>();
        continue;
      }
      const Rod& o = *rods_[std::size_t(b.column.rod)];
      const int c = b.column.index;
      if (o.turns(c)) {
        maps<S>(o, o.frame(c), shift, work<S>().scale[std::size_t(column)], Tc, Tw);
        a.template block<6, turn>(from, 0) -= by_spin<S>(b.q, b.v, Tc, Tw);
      }
      a.template block<6, 3>(from, turn) -= inverse * b.q.template rightCols<3>() + b.v.template rightCols<3>();
    }
  }
  // Derivatives by the unknown of a frame, from those by its increments and rates.
  template <class S>
  static Matrix<S, 6, turn> by_spin(const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v, const Local<S>& Tc,
                                    const Local<S>& Tw) {
    const Matrix<S, 6, turn> by_turn = q.template leftCols<4>().template cast<S>() * Tc;
    if constexpr (Absolute)
      return by_turn + v.template leftCols<4>().template cast<S>() * Tw;
    else
      return by_turn + v.template middleCols<3>(1).template cast<S>();
  }
  // Blocks of a cell with the body that holds the end next to it.
  template <class S>
  void host_column(const Rod& r, int e, int o, S shift, const Local<S>& Tc, const Local<S>& Tw,
                   UniformLu<S, B>& lu) const {
    const int k = e ? r.N - o : o;
    if (k > r.blocks.reach()) return;
    const HostedEnd& h = r.hosted[e];
    const auto& [place, speed, wrench] = r.host_slots[e][std::size_t(k)];
    lu.block(place).template block<6, 6>(forces, 0) -= h[k].by_place.template cast<S>();
    lu.block(speed).template block<6, 6>(forces, 0) -= h[k].by_speed.template cast<S>();
    auto& w = lu.block(wrench);
    if (r.turns(o)) w.template topLeftCorner<6, turn>() -= by_spin<S>(h[k].wrench_q, h[k].wrench_v, Tc, Tw);
    w.template block<6, 3>(0, turn) -= (S(1) / shift) * h[k].wrench_q.template rightCols<3>().template cast<S>() +
                                       h[k].wrench_v.template rightCols<3>().template cast<S>();
  }
  static double weight(const Rod& r, std::size_t j, int k) { // of a row of rotation
    if constexpr (Absolute) return k ? r.d.J[j][k - 1] : 1.0;
    return r.d.J[j][k];
  }

  template <class S> void solve_with(const UniformLu<S, B>& lu, S* b) {
    Work<S>& k = work<S>();
    each_group([&](const Group& g) { // no body holds one of them
      right_sides<S>(g, b);
      lu.forward(k.x.data(), part(lu, g));
      lu.backward(k.x.data(), part(lu, g));
      for_rods(g, [&](const Rod& r) { recover<S>(r, shift_of<S>(), b + r.at, k); });
    });
  }

  template <class S> using Increment = Matrix<S, 7, 1>;
  // For every cell: increments and rates that follow from b_q alone, the unknowns, and 1/(shift² + |Omega|²/4).
  template <class S> struct Work {
    std::vector<Increment<S>> known, rates;
    std::vector<Matrix<S, B, 1>> x;
    std::vector<S> scale;
    void resize(std::size_t n) { known.resize(n), rates.resize(n), x.resize(n), scale.resize(n); }
  };

  // p c/2 with c = beta (shift + Omega/2) scale solves (shift - D) dp = p beta/2, where D dp = dp Omega/2.
  template <class S>
  GYROD_INLINE static Vec4<S> resolved(const Vec4<S>& beta, const Vec4<double>& w, S shift, S scale) {
    const Vec4<S> back(shift, S(0.5 * w[1]), S(0.5 * w[2]), S(0.5 * w[3]));
    return scale * multiply<S>(beta, back);
  }
  template <class S> static Vec4<S> local(const Rod& r, std::size_t j, const S* b) {
    return S(2.0 / r.norm[j]) * multiply<S>(conjugate<double>(r.p[j]).template cast<S>(), Part<4>::of(b));
  }

  // Right-hand sides of the rows of held strains.
  template <class S> void held_sides(const Rod& r, const S* b, Work<S>& to) const {
    for (int j = 0; j < r.N; ++j) {
      Vec3<S> f = still_ ? Vec3<S>(Vec3<S>::Zero()) : given_strain_rate<S>(r, j, b);
      for (int k = 0; k < r.hold->cells(); ++k) {
        const int o = r.hold->first(j) + k;
        if (!r.in_graph(o)) continue;
        f += r.rows[std::size_t(j * r.hold->cells() + k)].q.template cast<S>() * to.known[std::size_t(r.at_node(o))];
      }
      if (r.d.held == 2) f[2] = S(0);
      const auto [node, from] = place_of(r, j);
      to.x[std::size_t(node)].template segment<3>(from) = f;
    }
  }

  template <class S> void right_side(const Rod& r, S shift, const S* b, Work<S>& k) const {
    const auto& rows = rows_of(r);
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      Increment<S>& q = k.known[cell];
      Matrix<S, B, 1>& f = k.x[cell];
      if (r.moves(c)) {
        q.template tail<3>() = inverse * Part<3>::of(b + r.x_at[i]);
        f.template segment<3>(turn) = r.d.mass[i] * Part<3>::of(b + r.v_at[i]);
        if (r.d.blended)
          for (int o : {c - 1, c + 1})
            if (o >= 0 && o <= r.N && r.moves(o))
              f.template segment<3>(turn) +=
                  r.d.off[std::size_t(std::min(c, o))] * Part<3>::of(b + r.v_at[std::size_t(o)]);
      } else {
        q.template tail<3>().setZero(), f.template segment<3>(turn).setZero();
      }
      if constexpr (Constrained) f.template tail<3>().setZero();
      if (!r.turns(c)) {
        q.template head<4>().setZero(), f.template head<turn>().setZero();
        continue;
      }
      const std::size_t j = r.frame(c);
      const Vec4<S> beta = local(r, j, b + r.p_at[i]);
      if constexpr (Absolute) {
        const Vec4<S> turned = inverse * beta, bv = local(r, j, b + r.w_at[i]);
        q.template head<4>() = turned;
        k.rates[cell].template head<4>() = S(-0.5) * multiply<S>(turned, r.w[j].template cast<S>());
        for (int n = 0; n < 4; ++n) f[n] = weight(r, j, n) * bv[n];
      } else {
        q.template head<4>() = resolved<S>(beta, r.w[j], shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) f[n] = weight(r, j, n) * b[r.w_at[i] + n];
      }
    }
    for (int c = r.begin; c <= r.last; ++c) {
      auto f = k.x[node + std::size_t(c)].template head<R>();
      for (int o = r.first(c); o <= r.behind(c); ++o) {
        const std::size_t other = node + std::size_t(o);
        f += rows.q(c, o).template cast<S>() * k.known[other];
        if constexpr (Absolute)
          if (r.turns(o))
            f += rows.v(c, o).template leftCols<4>().template cast<S>() * k.rates[other].template head<4>();
      }
    }
  }

  template <class S> void recover(const Rod& r, S shift, S* b, const Work<S>& k) const {
    const S inverse = S(1) / shift;
    const std::size_t node = std::size_t(r.node - r.begin);
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c), cell = node + i;
      const Matrix<S, B, 1>& d = k.x[cell];
      if (r.moves(c))
        for (int n = 0; n < 3; ++n) {
          b[r.v_at[i] + n] = d[turn + n];
          b[r.x_at[i] + n] = inverse * (b[r.x_at[i] + n] + d[turn + n]);
        }
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      const Vec4<S> p = r.p[j].template cast<S>();
      if constexpr (Absolute) {
        const Vec4<S> rate = S(0.5) * multiply<S>(p, Vec4<S>(d[0], d[1], d[2], d[3]));
        for (int n = 0; n < 4; ++n) {
          b[r.w_at[i] + n] = rate[n];
          b[r.p_at[i] + n] = inverse * (b[r.p_at[i] + n] + rate[n]);
        }
      } else {
        const Vec4<S> turned = k.known[cell].template head<4>() +
                               resolved<S>(Vec4<S>(S(0), d[0], d[1], d[2]), r.w[j], shift, k.scale[cell]);
        Part<4>::put(b + r.p_at[i], Vec4<S>(S(0.5) * multiply<S>(p, turned)));
        for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] = d[n];
      }
    }
  }

  // `recover` and `right_sides` transposed: from weights of the solution in b to those of the unknowns, from these on
  // to weights of b. Those of `known` and `rates` are kept there in between.
  void recover_transposed(const Group& g, double* b) {
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for_rods(g, [&](const Rod& r) {
      double* mine = b + r.at;
      for (int c = r.begin; c <= r.last; ++c) {
        const std::size_t i = std::size_t(c), cell = std::size_t(r.at_node(c));
        Matrix<double, B, 1>& d = k.x[cell];
        Increment<double>& q = k.known[cell];
        d.setZero(), q.setZero(), k.rates[cell].setZero();
        if (r.moves(c))
          for (int n = 0; n < 3; ++n) {
            mine[r.x_at[i] + n] *= inverse;
            d[turn + n] = mine[r.v_at[i] + n] + mine[r.x_at[i] + n];
            mine[r.v_at[i] + n] = 0.0;
          }
        if (!r.turns(c)) continue;
        const std::size_t j = r.frame(c);
        const Vec4<double> back = 0.5 * conjugate<double>(r.p[j]);
        if constexpr (Absolute) {
          const Vec4<double> turned = inverse * Part<4>::of(mine + r.p_at[i]);
          const Vec4<double> rate = multiply<double>(back, Vec4<double>(turned + Part<4>::of(mine + r.w_at[i])));
          for (int n = 0; n < 4; ++n) d[n] = rate[n], mine[r.w_at[i] + n] = 0.0;
          Part<4>::put(mine + r.p_at[i], turned);
        } else {
          const Vec4<double> turned = multiply<double>(back, Part<4>::of(mine + r.p_at[i]));
          q.template head<4>() = turned;
          const Vec4<double> spin = resolved<double>(turned, conjugate<double>(r.w[j]), shift, k.scale[cell]);
          for (int n = 0; n < 3; ++n) {
            d[n] = spin[n + 1] + mine[r.w_at[i] + n];
            mine[r.w_at[i] + n] = 0.0;
          }
          for (int n = 0; n < 4; ++n) mine[r.p_at[i] + n] = 0.0;
        }
      }
    });
  }
  void known_force_transposed(const Rod& r, int c, const Matrix<double, 6, 7>& q, const Matrix<double, 6, 7>& v,
                              const Matrix<double, 6, 1>& weight) {
    const std::size_t cell = std::size_t(r.at_node(c));
    real_work_.known[cell] += q.transpose() * weight;
    if constexpr (Absolute)
      if (r.turns(c)) real_work_.rates[cell].template head<4>() += v.template leftCols<4>().transpose() * weight;
  }
  void right_sides_transposed(const Group& g, double* b) {
    Work<double>& k = real_work_;
    for (const FarBlock& f : far_)
      if (!f.column.body())
        known_force_transposed(*rods_[std::size_t(f.column.rod)], f.column.index, f.q, f.v,
                               k.x[std::size_t(node_of(f.row))].template segment<6>(first_row(f.row)));
    for_rods(g, [&](const Rod& r) {
      for (int e = 0; e < 2; ++e)
        if (r.port[e] >= 0)
          r.near(e, [&](int i, int c) {
            known_force_transposed(r, c, r.hosted[e][i].wrench_q, r.hosted[e][i].wrench_v,
                                   k.x[std::size_t(place_node(r.port[e]))].template head<6>());
          });
      if constexpr (Constrained)
        if (r.d.held) held_sides_transposed(r, b + r.at);
      right_side_transposed(r, b + r.at);
    });
  }
  void held_sides_transposed(const Rod& r, double* b) {
    for (int j = 0; j < r.N; ++j) {
      const auto [node, from] = place_of(r, j);
      Vec3<double> weight = real_work_.x[std::size_t(node)].template segment<3>(from);
      if (r.d.held == 2) weight[2] = 0.0;
      if (!still_) add_strain_rate(r, j, weight, b);
      for (int k = 0; k < r.hold->cells(); ++k)
        if (const int o = r.hold->first(j) + k; r.in_graph(o))
          real_work_.known[std::size_t(r.at_node(o))] +=
              r.rows[std::size_t(j * r.hold->cells() + k)].q.transpose() * weight;
    }
  }
  void right_side_transposed(const Rod& r, double* b) {
    const auto& rows = rows_of(r);
    const double shift = real_shift_, inverse = 1.0 / shift;
    Work<double>& k = real_work_;
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o), cell = std::size_t(r.at_node(o));
      const Matrix<double, B, 1>& f = k.x[cell];
      Increment<double>& q = k.known[cell];
      Vec4<double> rates = k.rates[cell].template head<4>();
      for (int c = r.first(o); c <= r.behind(o); ++c) {
        const Matrix<double, R, 1> row = k.x[std::size_t(r.at_node(c))].template head<R>();
        q += rows.q(c, o).transpose() * row;
        if constexpr (Absolute)
          if (r.turns(o)) rates += rows.v(c, o).template leftCols<4>().transpose() * row;
      }
      if (r.moves(o)) {
        const Vec3<double> push = f.template segment<3>(turn);
        for (int n = 0; n < 3; ++n) b[r.x_at[i] + n] += inverse * q[4 + n], b[r.v_at[i] + n] += r.d.mass[i] * push[n];
        if (r.d.blended)
          for (int c : {o - 1, o + 1})
            if (c >= 0 && c <= r.N && r.moves(c))
              for (int n = 0; n < 3; ++n)
                b[r.v_at[std::size_t(c)] + n] += r.d.off[std::size_t(std::min(c, o))] * push[n];
      }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      const Vec4<double> back = (2.0 / r.norm[j]) * r.p[j];
      Vec4<double> beta = q.template head<4>();
      if constexpr (Absolute) {
        Vec4<double> spin;
        for (int n = 0; n < 4; ++n) spin[n] = weight(r, j, n) * f[n];
        beta = inverse * Vec4<double>(beta - 0.5 * multiply<double>(rates, conjugate<double>(r.w[j])));
        Part<4>::put(b + r.w_at[i], Vec4<double>(Part<4>::of(b + r.w_at[i]) + multiply<double>(back, spin)));
      } else {
        beta = resolved<double>(beta, conjugate<double>(r.w[j]), shift, k.scale[cell]);
        for (int n = 0; n < 3; ++n) b[r.w_at[i] + n] += weight(r, j, n) * f[n];
      }
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
    const auto& rows = rows_of(r);
    const auto entry = [&](int row, int column) -> double& {
      return J[(r.at + std::size_t(row)) * size_ + r.at + std::size_t(column)];
    };
    for (int c = r.begin; c <= r.last; ++c) {
      const std::size_t i = std::size_t(c);
      if (r.moves(c))
        for (int k = 0; k < 3; ++k) entry(r.x_at[i] + k, r.v_at[i] + k) = 1.0;
      if (!r.turns(c)) continue;
      const std::size_t j = r.frame(c);
      if constexpr (Absolute) {
        for (int k = 0; k < 4; ++k) entry(r.p_at[i] + k, r.w_at[i] + k) = 1.0;
      } else {
        const Vec4<double> half = 0.5 * r.w[j];
        const Mat4<double> D = quaternion_matrix_right<double>(half);
        const auto T = quaternion_nullspace<double>(r.p[j]);
        for (int a = 0; a < 4; ++a) {
          for (int k = 0; k < 4; ++k) entry(r.p_at[i] + a, r.p_at[i] + k) = D(a, k);
          for (int k = 0; k < 3; ++k) entry(r.p_at[i] + a, r.w_at[i] + k) = T(a, k);
        }
      }
    }
    // columns: a unit vector of the state as increments of its cell, times the column's blocks, through the inertia
    std::vector<Vec3<double>> f(std::size_t(r.N) + 1);
    for (int o = r.begin; o <= r.last; ++o) {
      const std::size_t i = std::size_t(o);
      const auto column = [&](int where, const Increment<double>& q, const Increment<double>& v) {
        for (auto& x : f) x.setZero();
        for (int c = r.first(o); c <= r.behind(o); ++c) {
          const Matrix<double, R, 1> d = rows.q(c, o) * q + rows.v(c, o) * v;
          f[std::size_t(c)] = d.template segment<3>(turn);
          if (!r.turns(c)) continue;
          const std::size_t m = std::size_t(c);
          Vec4<double> a = Vec4<double>::Zero();
          for (int k = 0; k < turn; ++k) a[k + 4 - turn] = d[k] / weight(r, r.frame(c), k);
          if constexpr (Absolute) {
            const Vec4<double> b = 0.5 * multiply<double>(r.p[r.frame(c)], a);
            for (int k = 0; k < 4; ++k) entry(r.w_at[m] + k, where) = b[k];
          } else {
            for (int k = 0; k < 3; ++k) entry(r.w_at[m] + k, where) = a[k + 1];
          }
        }
        r.accelerate(f);
        for (int c = r.begin; c <= r.last; ++c)
          if (r.moves(c))
            for (int k = 0; k < 3; ++k) entry(r.v_at[std::size_t(c)] + k, where) = f[std::size_t(c)][k];
      };
      if (r.moves(o))
        for (int k = 0; k < 3; ++k) {
          const Increment<double> unit = Increment<double>::Unit(4 + k), none = Increment<double>::Zero();
          column(r.x_at[i] + k, unit, none), column(r.v_at[i] + k, none, unit);
        }
      if (!r.turns(o)) continue;
      const std::size_t j = r.frame(o);
      const Vec4<double>& w = r.w[j];
      const Mat4<double> A = 2.0 / r.norm[j] * quaternion_matrix<double>(conjugate<double>(r.p[j]));
      for (int k = 0; k < 4; ++k) {
        Increment<double> q = Increment<double>::Zero(), v = q;
        q.head<4>() = A.col(k);
        if constexpr (Absolute) v.template head<4>() = -0.5 * multiply<double>(Vec4<double>(A.col(k)), w);
        column(r.p_at[i] + k, q, v);
      }
      for (int k = 0; k < turn; ++k) {
        Increment<double> v = Increment<double>::Zero();
        if constexpr (Absolute)
          v.template head<4>() = A.col(k);
        else
          v[1 + k] = 1.0;
        column(r.w_at[i] + k, Increment<double>::Zero(), v);
      }
    }
  }

  template <class S> void prepare(std::unique_ptr<UniformLu<S, B>>& lu, Work<S>& k) const {
    // Forces on a body act at its place; of its velocities nothing but columns are asked for.
    const int ties = cells_ + host_nodes * int(hosts_.size());
    lu = std::make_unique<UniformLu<S, B>>(
        pattern_, [&](int v) { return v >= cells_ && v < ties && (v - cells_) % host_nodes != 0; });
    k.resize(std::size_t(pattern_.nodes()));
  }

  std::vector<CellBlocks<7>> wide_; // of the absolute form
  std::unique_ptr<UniformLu<double, B>> real_;
  std::unique_ptr<UniformLu<Complex, B>> complex_;
  double real_shift_ = 0.0;
  Complex complex_shift_ = 0.0;
  Work<double> real_work_;
  Work<Complex> complex_work_;
};

} // namespace gyrod
