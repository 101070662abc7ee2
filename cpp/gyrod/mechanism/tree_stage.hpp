// The linear systems (shift I - df/dy) x = b of implicit methods for mechanisms in null-space form, by elimination on
// the graph of the links.
//
// df/dy of the reduced equations is full, because nu' holds the inverse of the mass matrix. The linearised equations of
// every link together with the quantities that joints pass on are sparse. With nu' = shift nu - b_nu, of a link that
// hangs on a parent
//
//   rotation  shift q - q'(q, w)                          = b_q
//   twist     V - A V_parent - S nu                       = 0
//   a         a - A a_parent - S (shift nu - b_nu) - c    = 0
//   F         F - M a - gyroscopic + loads - sum A' F_child - G' lambda = 0
//   nu        S' F                                        = 0
//   X         X - (what the joint or, where it slides, the state says)   = 0
//   lambda    G a + g''                                   = 0
//
// linearised. The rotation of a link depends on its own w alone: it is resolved on the spot, q = turned(w, b_q). What
// is left is the motion o = (v, w, a, X) of the link, carried by its parent but for nu, and the balance of its forces:
// the system of CarriedLu, in which a link costs an inverse of as many rows as it has velocities.
//
// Derivatives are exact: of links written out here, of force elements by themselves, of cut joints in dual numbers.
// Rotations vary by a turn in space (quaternions) or by the nine entries of R (directors): `Turns` of either.
#pragma once

#include "gyrod/linear/carried_lu.hpp"
#include "gyrod/linear/dense.hpp"
#include "gyrod/mechanism/tree.hpp"

namespace gyrod {

// What a stage makes of a rotation that varies.
template <class F> struct TurnsOf;
template <> struct TurnsOf<NullspaceQuaternion> : QuaternionTurns {
  using Kind = QuaternionTurns;
  // theta = (shift + w/2) (w' dw + known) / (shift² + |w|²/4), the vector part of quaternions.
  template <class S> static Matrix<S, count, 3> by_spin(const M3&, const V3& w, S shift) {
    const S scale = S(1) / (shift * shift + S(0.25 * w.squaredNorm()));
    Matrix<S, 3, 3> G = (S(0.5) * scale) * cross_matrix<double>(w).template cast<S>();
    G.add_to_diagonal(shift * scale);
    return G;
  }
  template <class S> static Vec4<S> resolved(const Vec4<S>& rest, const V3& w, S shift) {
    const S scale = S(1) / (shift * shift + S(0.25 * w.squaredNorm()));
    return scale * multiply<S>(Vec4<S>(shift, S(0.5 * w[0]), S(0.5 * w[1]), S(0.5 * w[2])), rest);
  }
  template <class S> static Matrix<S, count, 1> known(const double* q, const M3&, const V3& w, S shift, const S* b) {
    const Vec4<double> p = Part<4>::of(q);
    const Vec4<S> back = (S(2.0 / p.squaredNorm()) * conjugate<double>(p).template cast<S>());
    return multiply<S>(resolved<S>(Part<4>::of(b), w, shift), back).template tail<3>();
  }
  template <class S> static void recover(const double* q, const M3&, const V3& w, S shift, const Vec3<S>& dw, S* b) {
    const Vec4<S> p = Part<4>::of(q).template cast<S>(), half(S(0), S(0.5) * dw[0], S(0.5) * dw[1], S(0.5) * dw[2]);
    Part<4>::put(b, resolved<S>(Vec4<S>(Part<4>::of(b) + multiply<S>(half, p)), w, shift));
  }
  // Transposed: `recover` from weights in b to those of b and of dw; `known` adds to those of b.
  static V3 recover_transposed(const double* q, const M3&, const V3& w, double shift, double* b) {
    const Vec4<double> rest = resolved<double>(Part<4>::of(b), -w, shift);
    Part<4>::put(b, rest);
    return 0.5 * multiply<double>(rest, conjugate<double>(Part<4>::of(q))).template tail<3>();
  }
  static void known_transposed(const double* q, const M3&, const V3& w, double shift, const V3& weight, double* b) {
    const Vec4<double> p = Part<4>::of(q), turned(0.0, weight[0], weight[1], weight[2]);
    const Vec4<double> rest = multiply<double>(turned, Vec4<double>((2.0 / p.squaredNorm()) * p));
    Part<4>::put(b, Vec4<double>(Part<4>::of(b) + resolved<double>(rest, -w, shift)));
  }
};
template <> struct TurnsOf<NullspaceDirectors> : DirectorTurns {
  using Kind = DirectorTurns;
  // (shift - [w]x)^-1
  template <class S> static Matrix<S, 3, 3> resolving(const V3& w, S shift) {
    const S scale = S(1) / (shift * (shift * shift + S(w.squaredNorm())));
    Matrix<S, 3, 3> K =
        (shift * scale) * cross_matrix<double>(w).template cast<S>() + scale * M3(w * w.transpose()).template cast<S>();
    K.add_to_diagonal(shift * shift * scale);
    return K;
  }
  template <class S> static Matrix<S, count, 3> by_spin(const M3& R, const V3& w, S shift) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    Matrix<S, count, 3> G;
    for (int n = 0; n < 3; ++n)
      G.template middleRows<3>(3 * n) = K * cross_matrix<double>(-V3(R.col(n))).template cast<S>();
    return G;
  }
  template <class S> static Matrix<S, count, 1> known(const double*, const M3&, const V3& w, S shift, const S* b) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    Matrix<S, count, 1> out;
    for (int n = 0; n < 3; ++n) out.template segment<3>(3 * n) = K * Part<3>::of(b + 3 * n);
    return out;
  }
  template <class S> static void recover(const double*, const M3& R, const V3& w, S shift, const Vec3<S>& dw, S* b) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    for (int n = 0; n < 3; ++n) {
      const Vec3<S> d = V3(R.col(n)).template cast<S>();
      Part<3>::put(b + 3 * n, Vec3<S>(K * Vec3<S>(Part<3>::of(b + 3 * n) + dw.cross(d))));
    }
  }
  static V3 recover_transposed(const double*, const M3& R, const V3& w, double shift, double* b) {
    const M3 K = resolving<double>(-w, shift);
    V3 dw = V3::Zero();
    for (int n = 0; n < 3; ++n) {
      const V3 rest = K * Part<3>::of(b + 3 * n);
      Part<3>::put(b + 3 * n, rest);
      dw += V3(R.col(n)).cross(rest);
    }
    return dw;
  }
  static void known_transposed(const double*, const M3&, const V3& w, double shift, const Matrix<double, count, 1>& x,
                               double* b) {
    const M3 K = resolving<double>(-w, shift);
    for (int n = 0; n < 3; ++n)
      Part<3>::put(b + 3 * n, V3(Part<3>::of(b + 3 * n) + K * V3(x.template segment<3>(3 * n))));
  }
};

template <class F> class StiffTree final : public TreeMechanism<F> {
  using Base = TreeMechanism<F>;
  using Base::at_, Base::k_, Base::link_of_, Base::links_, Base::m_, Base::proj_, Base::u_;
  using V3d = Vec3<BodyDual>;
  using Turn = TurnsOf<F>;
  static constexpr int np = 3 + F::nq, nr = Turn::count;
  using M3r = Matrix<double, 3, nr>;
  using M6r = Matrix<double, 6, nr>;
  using M63 = Matrix<double, 6, 3>;
  using M66 = Matrix<double, 6, 6>;
  static constexpr int v_at = 0, w_at = 3, a_at = 6, x_at = 12; // in the motion of a link

public:
  explicit StiffTree(MechanismModel model) : Base(std::move(model)), joint_force_(links_.size()), raw_(links_.size()) {}

  void jacobian(double t, const double* y) override {
    prepare();
    this->full(t, y);
    forces_of_joints();
    share_all(this->threads(), links_.size(), 64, [&](std::size_t i) { link_blocks(i, y); });
    for (Pair& k : pairs_) k.turn.setZero(), k.rest.setZero();
    for (std::size_t c = 0; c < m_.cuts.size(); ++c)
      if (!m_.kept[c].empty()) cut_blocks(int(c));
    const std::size_t* place = force_pairs_.data();
    for (const auto& f : m_.forces)
      if (!f->by_guests()) place = force_blocks(t, *f, place);
  }

  bool factor(double shift) override { return factor_with(real_, shift); }
  bool factor(Complex shift) override { return factor_with(complex_, shift); }
  void solve(double* b) override { solve_with(*real_, b); }
  void solve(Complex* b) override { solve_with(*complex_, b); }
  void solve_transposed(double* b) override { solve_transposed_with(*real_, b); }
  void solve_transposed_with_guests(double* b, std::vector<HostVector<double>>& guests,
                                    std::vector<Vec3<double>>& ties) override {
    solve_transposed_with(*real_, b, &guests, &ties);
  }

  bool factor_with_guests(double shift, const std::vector<HostBlock<double>>& guests,
                          const TieBlocks<double>& ties) override {
    return factor_with(real_, shift, &guests, &ties);
  }
  bool factor_with_guests(Complex shift, const std::vector<HostBlock<Complex>>& guests,
                          const TieBlocks<Complex>& ties) override {
    return factor_with(complex_, shift, &guests, &ties);
  }
  void solve_with_guests(double* b, std::vector<HostVector<double>>& guests, std::vector<Vec3<double>>& ties) override {
    solve_with(*real_, b, &guests, &ties);
  }
  void solve_with_guests(Complex* b, std::vector<HostVector<Complex>>& guests,
                         std::vector<Vec3<Complex>>& ties) override {
    solve_with(*complex_, b, &guests, &ties);
  }

  int negative_pivots() const override { return real_->lu.negative_pivots(); }

  void dense_jacobian(double t, const double* y, double* J) override { jacobian_by_solutions(*this, t, y, J); }

private:
  // Of a link at the last Jacobian: where it was, and derivatives of what its joint makes of the motions of both.
  // Columns are turns of the link (own) and of its parent (up), w of both, places of both, nu.
  struct Raw {
    M3 R;
    V3 w;
    double q[4];                  // of a quaternion
    M3r w_own, w_up, v_own, v_up; // rows of w and of v
    M3 v_w, v_up_w, v_x;          // v by w, the parent's w, the place where it slides
    Matrix<double, 3, 6> w_nu, v_nu;
    M3r x_own, x_up; // of the place where nothing slides
    M6r a_own, a_up;
    M63 a_w, a_up_w, a_x; // a_x: by the difference of places, where it slides
    M66 a_nu, S;          // S: what nu' does
    V3 arm;               // from the centre of the parent to what it carries
    M6r force_own;        // inertia and gyroscopic forces
    M63 force_w;
    M66 force_a;
    M3r torque_own, torque_up;                 // of the joint force about the centre of the parent
    M3 torque_x;                               // by the difference of places
    Matrix<double, nr, 6> along_own, along_up; // S' F, transposed
    bool slides, follows;                      // follows: its w is that of the parent and nu
  };
  // Forces on a link, or rows of a cut joint, by the motion of another one.
  struct Pair {
    int row, column;
    bool free; // both links are, and have no parent
    M6r turn;
    Matrix<double, 6, 15> rest;
  };

  void prepare() {
    if (!pattern_) analyse();
  }
  GYROD_COLD void analyse() {
    const int L = int(links_.size());
    CarriedGraph g;
    for (int i = 0; i < L; ++i) g.bodies.push_back({m_.links[std::size_t(i)].parent, links_[std::size_t(i)].n});
    const auto pair = [&](int row, int column) {
      if (row < L && row != column) g.links.emplace_back(row, column);
      if (column < L)
        pairs_.push_back({row, column, freely(row) && freely(column), M6r::Zero(), Matrix<double, 6, 15>::Zero()});
    };
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      g.multipliers.push_back(m_.rank(int(c)));
      g.held.emplace_back();
      for (int a : {p.a, p.b}) {
        if (a < 0) continue;
        const int me = link_of_[std::size_t(a)];
        g.held.back().push_back(me);
        g.links.emplace_back(me, L + int(c));
        pair(L + int(c), me);
        for (int b : {p.a, p.b})
          if (b >= 0) pair(link_of_[std::size_t(b)], me);
      }
    }
    for (const auto& f : m_.forces)
      for (int a : f->bodies())
        for (int b : f->bodies()) {
          const int row = link_of_[std::size_t(a)], column = link_of_[std::size_t(b)];
          if (!f->by_guests())
            pair(row, column);
          else if (row != column)
            g.links.emplace_back(row, column);
        }
    for (int i = 0; i < this->ties(); ++i) { // one for each guest, at the last of its ends
      if (this->tie(i).partner > i) continue;
      g.multipliers.push_back(3);
      g.held.push_back({link_of_[std::size_t(this->tie(i).body)]});
    }
    if (this->ties()) {
      const TieLinks links = m_.ties->tie_links();
      for (const auto& [tie, body] : links.bodies) g.links.emplace_back(link_of_[std::size_t(body)], tie_node(tie));
      for (const auto& [a, b] : links.ties)
        if (a < b) g.links.emplace_back(tie_node(a), tie_node(b));
    }
    std::sort(pairs_.begin(), pairs_.end(),
              [](const Pair& a, const Pair& b) { return std::pair(a.column, a.row) < std::pair(b.column, b.row); });
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end(),
                             [](const Pair& a, const Pair& b) { return a.row == b.row && a.column == b.column; }),
                 pairs_.end());
    pairs_.shrink_to_fit();
    for (const auto& f : m_.forces)
      for (int a : f->bodies())
        for (int b : f->bodies())
          if (!f->by_guests())
            force_pairs_.push_back(
                std::size_t(&pair_of(link_of_[std::size_t(a)], link_of_[std::size_t(b)]) - pairs_.data()));
    gradients_.resize(std::size_t(this->loop_rows(false)));
    pattern_ = std::make_unique<CarriedPattern>(std::move(g));
    dual_motions_.resize(m_.bodies.size()), dual_wrenches_.resize(m_.bodies.size());
  }

  bool freely(int i) const { return i < int(links_.size()) && links_[std::size_t(i)].kind == LinkJoint::free; }
  Pair& pair_of(int row, int column) {
    return *std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(column, row),
                             [](const Pair& p, const auto& key) { return std::pair(p.column, p.row) < key; });
  }

  void forces_of_joints() {
    for (std::size_t i = 0; i < links_.size(); ++i) joint_force_[i] = this->inertia_force(i);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      for (int k = 0; k < int(m_.kept[c].size()); ++k) {
        const std::size_t at = std::size_t(this->loops_.offset(int(c)) + k);
        gradients_[at] = {this->grad_a_[at], this->grad_b_[at]};
        if (p.a >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.a)])] += this->grad_a_[at] * this->lambda_[at];
        if (p.b >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.b)])] += this->grad_b_[at] * this->lambda_[at];
      }
      if (!m_.overconstrained(int(c))) continue;
      for (int k = 0; k < m_.rank(int(c)); ++k) { // of the combinations that act
        auto& to = gradients_[std::size_t(this->loops_.offset(int(c)) + k)] = {Twist::Zero(), Twist::Zero()};
        for (int r = 0; r < int(m_.kept[c].size()); ++r) {
          const std::size_t at = std::size_t(this->loops_.offset(int(c)) + r);
          const double weight = this->loops_.combination(int(c), k)[r];
          to[0] += weight * this->grad_a_[at], to[1] += weight * this->grad_b_[at];
        }
      }
    }
    for (int i = 0; i < this->ties(); ++i)
      joint_force_[std::size_t(link_of_[std::size_t(this->tie(i).body)])] += this->tie_pull(i);
    for (std::size_t i = links_.size(); i-- > 0;)
      if (m_.links[i].parent >= 0)
        joint_force_[std::size_t(m_.links[i].parent)] += this->carried_back(i, joint_force_[i]);
  }

  // --- derivatives of links ------------------------------------------------------------------------------------------

  void link_blocks(std::size_t i, const double* y) {
    Raw& o = raw_[i];
    const LinkJoint& k = links_[i];
    const LinkMotion<double>& m = k_[i];
    const double* nu = y + at_[i] + np;
    o.R = m.R, o.w = m.w;
    if constexpr (F::nq == 4) std::copy_n(y + at_[i] + 3, 4, o.q);
    o.slides = k.kind == LinkJoint::free || k.slides != Slides::none;
    o.follows = k.kind == LinkJoint::relative;
    o.S.setZero();
    for (int j = 0; j < k.n; ++j) o.S.col(j) = this->subspace(i, j);
    inertia_blocks(i);
    if (k.kind == LinkJoint::free)
      free_blocks(i, nu);
    else if (k.kind == LinkJoint::ball)
      ball_blocks(i, nu);
    else
      relative_blocks(i, nu);
  }

  void inertia_blocks(std::size_t i) {
    Raw& o = raw_[i];
    const RigidBody& body = m_.bodies[std::size_t(m_.links[i].body)];
    const M3& R = o.R;
    const V3 &w = o.w, &av = proj_[i].av, &aw = proj_[i].aw;
    M3 B = M3(body.moments.asDiagonal());
    double mass = body.mass;
    const Lump* lump = m_.lumps.empty() ? nullptr : &m_.lumps[std::size_t(m_.links[i].body)];
    if (lump) B += lump->second, mass += lump->mass;
    const M3 RB = product(R, B), J = product_transposed(RB, R), E = cross_matrix<double>(w);
    const auto turned = [&](const V3& z) -> M3r { // J z by the turn
      return M3r(Turn::of(R, times(B, transposed_times(R, z))) + RB * Turn::of_transposed(R, z));
    };
    o.force_own.setZero(), o.force_w.setZero(), o.force_a.setZero();
    o.force_own.template bottomRows<3>() = turned(aw) + E * turned(w);
    o.force_w.template bottomRows<3>() = E * J - cross_matrix<double>(times(J, w));
    for (int r = 0; r < 3; ++r) o.force_a(r, r) = mass;
    o.force_a.template bottomRightCorner<3, 3>() = J;
    if (!lump || lump->mass == 0.0) return;
    const V3 s = times(R, lump->first);
    const M3r ds = Turn::of(R, lump->first);
    const M3 Es = cross_matrix<double>(s);
    o.force_own.template topRows<3>() = cross_matrix<double>(aw) * ds + E * M3r(E * ds);
    o.force_own.template bottomRows<3>() -= cross_matrix<double>(av) * ds;
    o.force_w.template topRows<3>() = -cross_matrix<double>(cross(w, s)) - E * Es;
    o.force_a.template topRightCorner<3, 3>() = -Es, o.force_a.template bottomLeftCorner<3, 3>() = Es;
  }

  void free_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const auto& rate = proj_[i].nu_rate;
    const V3 t = joint_force_[i].template tail<3>();
    o.w_own = Turn::of(o.R, V3(nu[3], nu[4], nu[5]));
    o.w_nu.setZero(), o.v_nu.setZero(), o.a_nu.setZero();
    o.w_nu.template rightCols<3>() = o.R, o.v_nu.template leftCols<3>().setIdentity();
    o.v_own.setZero(), o.v_w.setZero(), o.v_x.setZero();
    o.a_own.setZero(), o.a_w.setZero(), o.a_x.setZero();
    o.a_own.template bottomRows<3>() = Turn::of(o.R, V3(rate[3], rate[4], rate[5]));
    o.along_own.setZero();
    o.along_own.template rightCols<3>() = Turn::of_transposed(o.R, t).transpose();
  }

  void ball_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const LinkJoint& k = links_[i];
    const LinkMotion<double>& m = k_[i];
    const int parent = m_.links[i].parent;
    const auto& rate = proj_[i].nu_rate;
    const V3 f = joint_force_[i].template head<3>(), t = joint_force_[i].template tail<3>();
    const V3 speed(rate[0], rate[1], rate[2]), spin = times(o.R, speed), child = cross(m.w, m.r);
    const M3r dr = Turn::of(o.R, k.at_c), dspin = Turn::of(o.R, speed);
    const M3 Er = cross_matrix<double>(m.r), E = cross_matrix<double>(m.w);
    o.w_own = Turn::of(o.R, V3(nu[0], nu[1], nu[2]));
    o.w_nu.setZero(), o.v_nu.setZero(), o.a_nu.setZero();
    o.w_nu.template leftCols<3>() = o.R;
    o.v_own = -(E * dr), o.v_w = Er, o.v_x.setZero();
    o.x_own = -dr;
    o.a_own.template bottomRows<3>() = dspin;
    o.a_own.template topRows<3>() = Er * dspin - cross_matrix<double>(spin) * dr - E * M3r(E * dr);
    o.a_w.setZero(), o.a_x.setZero();
    o.a_w.template topRows<3>() = cross_matrix<double>(child) + E * Er;
    o.along_own.setZero();
    o.along_own.template leftCols<3>() =
        M3r(Turn::of_transposed(o.R, V3(t - cross(m.r, f))) + M3(o.R.transpose() * cross_matrix<double>(f)) * dr)
            .transpose();
    o.torque_own.setZero(), o.torque_x.setZero();
    o.arm = m.l;
    if (parent < 0) return;
    const LinkMotion<double>& p = k_[std::size_t(parent)];
    const M3r dl = Turn::of(p.R, k.at_p);
    const M3 El = cross_matrix<double>(m.l), Ep = cross_matrix<double>(p.w);
    o.w_up.setZero(), o.x_up = dl;
    o.v_up = Ep * dl, o.v_up_w = -El;
    o.a_up.setZero(), o.a_up_w.setZero(), o.along_up.setZero();
    o.a_up.template topRows<3>() = cross_matrix<double>(proj_[std::size_t(parent)].aw) * dl + Ep * M3r(Ep * dl);
    o.a_up_w.template topRows<3>() = -cross_matrix<double>(cross(p.w, m.l)) - Ep * El;
    o.torque_up = -(cross_matrix<double>(f) * dl);
  }

  void relative_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const LinkJoint& k = links_[i];
    const LinkMotion<double>& m = k_[i];
    const int parent = m_.links[i].parent;
    const V3 f = joint_force_[i].template head<3>(), t = joint_force_[i].template tail<3>(), zero = V3::Zero();
    const V3 wp = parent < 0 ? zero : k_[std::size_t(parent)].w;
    const V3 ap = parent < 0 ? zero : proj_[std::size_t(parent)].aw;
    const Driven u = k.driven ? u_[std::size_t(m_.links[i].joint)] : Driven{};
    const double sign = k.flipped ? -1.0 : 1.0;
    const M3r dr = Turn::of(o.R, k.at_c);
    const M3 Er = cross_matrix<double>(m.r), E = cross_matrix<double>(m.w), Ep = cross_matrix<double>(wp);
    o.w_own.setZero(), o.w_up.setZero(), o.w_nu.setZero(), o.v_nu.setZero(), o.a_nu.setZero();
    o.along_own.setZero(), o.along_up.setZero();
    M3r slip_own = M3r::Zero(), slip_up = M3r::Zero(), bend_own = M3r::Zero(), bend_up = M3r::Zero(); // bend: cw
    M3r push_own = M3r::Zero(), push_up = M3r::Zero();
    M3r sw_own = M3r::Zero(), sw_up = M3r::Zero();
    M3 bend_w = M3::Zero(), bend_up_w = M3::Zero();
    V3 slip = zero;
    for (int j = 0; j < k.motion.size; ++j) {
      const MotionAxis& a = k.motion[j];
      const bool mine = !k.on_parent(a);
      const V3 axis = mine ? k.frame_c.col(a.axis) : k.frame_p.col(a.axis);
      const M3 Rp = parent < 0 ? M3(M3::Identity()) : k_[std::size_t(parent)].R;
      const V3 e = times(mine ? o.R : Rp, axis);
      const M3r de = mine ? Turn::of(o.R, axis) : parent < 0 ? M3r(M3r::Zero()) : Turn::of(Rp, axis);
      const auto add = [&](M3r& own, M3r& up, const M3r& x) { (mine ? own : up) += x; };
      const double rate = k.driven ? sign * u[1] : nu[j];
      const double second = k.driven ? sign * u[2] : proj_[i].nu_rate[std::size_t(j)];
      const bool turns = a.type != MotionAxis::slide;
      const double pitch = a.type == MotionAxis::slide ? 1.0 : a.type == MotionAxis::screw ? k.pitch : 0.0;
      if (pitch != 0.0) {
        slip += (pitch * rate) * e;
        add(slip_own, slip_up, M3r((pitch * rate) * de));
        add(push_own, push_up, M3r((pitch * second) * de)); // of a drive, or of nu'
        if (!k.driven) o.v_nu.col(j) = pitch * e;
      }
      if (turns) {
        add(o.w_own, o.w_up, M3r(rate * de));
        const V3& c = mine ? m.w : wp;
        add(bend_own, bend_up, M3r(rate * (cross_matrix<double>(c) * de)));
        (mine ? bend_w : bend_up_w) -= rate * cross_matrix<double>(e);
        if (k.driven) {
          add(bend_own, bend_up, M3r(second * de));
        } else {
          o.w_nu.col(j) = e;
          o.a_nu.col(j).template tail<3>() = cross(c, e);
          // S nu' beside c: r x e and e
          add(sw_own, sw_up, M3r(second * de));
        }
      }
      if (k.driven) continue;
      const V3 lever = turns ? V3(t + cross(f, m.r) + pitch * f) : f;
      Matrix<double, nr, 1> by_axis = de.transpose() * lever;
      (mine ? o.along_own : o.along_up).col(j) += by_axis;
      if (turns) o.along_own.col(j) += dr.transpose() * cross(e, f);
    }
    // v = v_p + wp x l - w x r + slip
    M3r dl_own = M3r::Zero(), dl_up = M3r::Zero();
    if (o.slides)
      dl_own = dr;
    else if (parent >= 0)
      dl_up = Turn::of(k_[std::size_t(parent)].R, k.at_p);
    const M3 El = cross_matrix<double>(m.l), none = M3::Zero();
    o.v_x = o.slides ? Ep : none;
    o.v_own = Ep * dl_own - E * dr + slip_own, o.v_up = Ep * dl_up + slip_up;
    o.v_w = Er, o.v_up_w = -El;
    o.x_own = -dr, o.x_up = dl_up;
    // cv = wp x (wp x l + 2 slip) - w x (w x r) - cw x r + push; with S nu' the turning parts are aw_s x ... r x e nu'
    V3 rolled = zero; // what of the angular acceleration nu' makes
    for (int j = 0; j < k.n; ++j) rolled += V3(k_[i].Sw.col(j)) * proj_[i].nu_rate[std::size_t(j)];
    const V3 arm = cross(wp, m.l), child = cross(m.w, m.r), bend = m.cw + rolled;
    const M3r cw_own = bend_own + sw_own, cw_up = bend_up + sw_up;
    const M3 Ea = cross_matrix<double>(ap);
    o.a_own.template bottomRows<3>() = cw_own, o.a_up.template bottomRows<3>() = cw_up;
    o.a_w.template bottomRows<3>() = bend_w, o.a_up_w.template bottomRows<3>() = bend_up_w;
    o.a_own.template topRows<3>() = Ep * M3r(Ep * dl_own + 2.0 * slip_own) - E * M3r(E * dr) + Er * cw_own -
                                    cross_matrix<double>(bend) * dr + push_own + Ea * M3r(dl_own - dr);
    o.a_up.template topRows<3>() = Ep * M3r(Ep * dl_up + 2.0 * slip_up) + Er * cw_up + push_up + Ea * dl_up;
    o.a_w.template topRows<3>() = cross_matrix<double>(child) + E * Er + Er * bend_w;
    o.a_up_w.template topRows<3>() = -cross_matrix<double>(V3(arm + 2.0 * slip)) - Ep * El + Er * bend_up_w;
    o.a_x.setZero();
    if (o.slides) o.a_x.template topRows<3>() = Ep * Ep + Ea;
    for (int j = 0; j < k.n; ++j)
      o.a_nu.col(j).template head<3>() =
          cross(m.r, V3(o.a_nu.col(j).template tail<3>())) + 2.0 * cross(wp, V3(o.v_nu.col(j)));
    o.torque_own = -(cross_matrix<double>(f) * M3r(dl_own - dr)), o.torque_up = -(cross_matrix<double>(f) * dl_up);
    o.torque_x = o.slides ? M3(-cross_matrix<double>(f)) : none;
    o.arm = m.l - m.r;
  }

  // --- cut joints, in dual numbers, and force elements ---------------------------------------------------------------

  static BodyDual number(double x, int from, int j) { return from < 0 ? BodyDual(x) : BodyDual::seed(x, from + j); }
  // The motion of a link in dual numbers, as variables from a direction on, or, from -1, as constants.
  static void seed(const LinkMotion<double>& k, int from, V3d& x, V3d& v, Mat3<BodyDual>& R) {
    R = k.R.template cast<BodyDual>();
    if (from >= 0) Turn::seed(k.R, from + 3, R);
    for (int j = 0; j < 3; ++j) x[j] = number(k.x[j], from, j), v[j] = number(k.v[j], from, 3 + nr + j);
  }
  // Add the derivatives of a number, times a factor, to a row of a pair.
  static void put(Pair& to, int row, const BodyDual& x, double factor) {
    const double* d = x.d.data();
    for (int j = 0; j < 3; ++j) {
      to.rest(row, x_at + j) += factor * d[j];
      to.rest(row, v_at + j) += factor * d[3 + nr + j];
      to.rest(row, w_at + j) += factor * d[6 + nr + j];
    }
    for (int j = 0; j < nr; ++j) to.turn(row, j) += factor * d[3 + j];
  }

  void cut_blocks(int cut) {
    const int joint = m_.cuts[std::size_t(cut)], node = int(links_.size()) + cut;
    const Joint& j = m_.joints[std::size_t(joint)];
    const auto& rows = m_.kept[std::size_t(cut)];
    const Driven u = j.driven() ? u_[std::size_t(joint)] : j.value(0.0);
    const int bodies[2] = {j.place.a, j.place.b};
    for (int seeded = 0; seeded < 2; ++seeded) {
      if (bodies[seeded] < 0) continue;
      Side<BodyDual> side[2];
      V3d omega[2];
      for (int s = 0; s < 2; ++s) {
        omega[s] = V3d::Zero();
        side[s] = ground_side<BodyDual>();
        if (bodies[s] < 0) continue;
        const LinkMotion<double>& link = k_[std::size_t(link_of_[std::size_t(bodies[s])])];
        const int from = s == seeded ? 0 : -1;
        V3d x, v;
        Mat3<BodyDual> R;
        seed(link, from, x, v, R);
        for (int k = 0; k < 3; ++k) omega[s][k] = number(link.w[k], from, 6 + nr + k);
        side[s] = side_of<BodyDual>(x, R, v, omega[s]);
      }
      const JointGeometry<BodyDual> q = geometry<BodyDual>(j.place, side[0], side[1]);
      const int me = link_of_[std::size_t(bodies[seeded])];
      Pair& mine = pair_of(node, me);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::size_t at = std::size_t(this->loops_.offset(cut)) + k;
        const Row<BodyDual> r = evaluate_row<BodyDual>(j.loop_row(rows[k]), j.place, q, u);
        BodyDual second =
            r.second + centripetal<BodyDual>(r.a, side[0], omega[0]) + centripetal<BodyDual>(r.b, side[1], omega[1]);
        for (int s = 0; s < 2; ++s) {
          if (bodies[s] < 0) continue;
          const auto G = twist_gradient<BodyDual>(s ? r.b : r.a, side[s].R);
          const Twist a = this->acceleration(bodies[s]);
          Pair& other = pair_of(link_of_[std::size_t(bodies[s])], me);
          for (int c = 0; c < 6; ++c) second += G[c] * BodyDual(a[c]), put(other, c, G[c], this->lambda_[at]);
        }
        put(mine, int(k), second, 1.0);
        const Twist& G = seeded ? this->grad_b_[at] : this->grad_a_[at];
        for (int c = 0; c < 6; ++c) mine.rest(int(k), a_at + c) += G[c];
      }
      if (m_.overconstrained(cut)) combine(cut, mine);
    }
  }
  // Rows of a cut joint by the combinations that act.
  void combine(int cut, Pair& rows) const {
    M66 weights = M66::Zero();
    for (int k = 0; k < m_.rank(cut); ++k)
      for (int r = 0; r < int(m_.kept[std::size_t(cut)].size()); ++r)
        weights(k, r) = this->loops_.combination(cut, k)[r];
    rows.turn = weights * rows.turn, rows.rest = weights * rows.rest;
  }

  // Of one element by the motions of its bodies; `place` says which pairs they are.
  const std::size_t* force_blocks(double t, const ForceElement& f, const std::size_t* place) {
    ForceBlocks<typename Turn::Kind> blocks;
    if (!f.blocks(t, this->motions_.data(), blocks))
      blocks_by_dual<typename Turn::Kind>(f, t, this->motions_.data(), blocks, dual_motions_.data(),
                                          dual_wrenches_.data());
    const std::size_t n = f.bodies().size();
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        const auto& b = blocks[row][column];
        Pair& to = pairs_[*place++];
        to.turn -= b.turn;
        to.rest.template middleCols<3>(x_at) -= b.place, to.rest.template middleCols<3>(v_at) -= b.velocity;
        to.rest.template middleCols<3>(w_at) -= b.spin;
      }
    return place;
  }

  // --- a stage -------------------------------------------------------------------------------------------------------

  // Of a link: turn = by_spin w + known, and what makes w and v of what is beside them.
  template <class S> struct Local {
    Matrix<S, nr, 3> by_spin;
    Matrix<S, nr, 1> known;
    Vec3<S> place;                // where it slides, b / shift
    Matrix<S, 3, 3> w_own, v_own; // inverses
    Matrix<S, 3, 3> v_w, x_w;
    Matrix<S, 6, 3> a_w;
  };
  // Forces by turns of a link; of two free ones their equations by what is known of the place and the turn.
  template <class S> struct Turned {
    int row, column;
    bool free;
    Matrix<S, 6, nr> D;
    Matrix<S, 6, 3> place;
  };
  template <class S> struct Stage {
    Stage(const CarriedPattern& pattern, std::size_t pairs)
        : lu(pattern), local(pattern.graph().bodies.size()), paired(pairs) {}
    CarriedLu<S> lu;
    std::vector<Local<S>> local;
    std::vector<Turned<S>> paired, turned; // of the pairs; of guests by their hosts
    S shift;
  };
  template <class S> using Handle = std::unique_ptr<Stage<S>>;

  template <class S>
  bool factor_with(Handle<S>& handle, S shift, const std::vector<HostBlock<S>>* guests = nullptr,
                   const TieBlocks<S>* ties = nullptr) {
    if (!handle) handle = std::make_unique<Stage<S>>(*pattern_, pairs_.size());
    Stage<S>& z = *handle;
    z.shift = shift;
    z.lu.clear();
    for (std::size_t i = 0; i < links_.size(); ++i) carry(z, i);
    for (std::size_t i = 0; i < links_.size(); ++i) place_link(z, i);
    const int L = int(links_.size());
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const Pair& p = pairs_[k];
      Turned<S>& turned = z.paired[k];
      turned.row = p.row, turned.column = p.column, turned.free = p.free, turned.D = p.turn.template cast<S>();
      Matrix<S, 6, 15> B = p.rest.template cast<S>();
      B.template middleCols<3>(w_at) += turned.D * z.local[std::size_t(p.column)].by_spin;
      add_block(z, B, turned);
    }
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      for (int s = 0; s < 2; ++s) {
        const int body = s ? p.b : p.a;
        if (body < 0) continue;
        Matrix<S, 6, 6> G = Matrix<S, 6, 6>::Zero();
        for (int k = 0; k < m_.rank(int(c)); ++k)
          G.col(k) = gradients_[std::size_t(this->loops_.offset(int(c)) + k)][std::size_t(s)].template cast<S>();
        z.lu.add_multiplier(link_of_[std::size_t(body)], L + int(c), G);
      }
    }
    const std::size_t count = guests ? guests->size() : 0, tied = ties ? ties->on.size() : 0;
    z.turned.resize(count + tied);
    for (std::size_t k = 0; k < count; ++k) add_guest(z, (*guests)[k], z.turned[k]);
    for (std::size_t k = 0; k < tied; ++k) add_tie(z, ties->on[k], z.turned[count + k]);
    for (std::size_t k = 0; ties && k < ties->own.size(); ++k)
      z.lu.add_between(tie_node(ties->own[k].row), tie_node(ties->own[k].column), ties->own[k].D);
    return z.lu.factor(this->threads());
  }

  // How a link follows its parent.
  template <class S> void carry(Stage<S>& z, std::size_t i) const {
    const Raw& o = raw_[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    const S shift = z.shift, inverse = S(1) / shift;
    Local<S>& l = z.local[i];
    auto& c = z.lu.carrier(int(i));
    using M = Matrix<S, 3, 3>;
    const bool nothing = links_[i].kind == LinkJoint::free;
    l.by_spin = Turn::template by_spin<S>(o.R, o.w, shift);
    const bool bends = !o.follows || !o.w_own.isZero();
    M w_own = -(o.w_own.template cast<S>() * l.by_spin);
    w_own.add_to_diagonal(S(1));
    l.w_own = bends ? M(w_own.inverse()) : M(M::Identity());
    M v_own = (-inverse) * o.v_x.template cast<S>();
    v_own.add_to_diagonal(S(1));
    l.v_own = o.slides && !nothing ? M(v_own.inverse()) : M(M::Identity());
    l.v_w = o.v_w.template cast<S>() + o.v_own.template cast<S>() * l.by_spin;
    l.a_w = o.a_w.template cast<S>() + o.a_own.template cast<S>() * l.by_spin;
    if (!o.slides) l.x_w = o.x_own.template cast<S>() * l.by_spin;
    for (int j = 0; j < n; ++j) {
      const Vec3<S> w = l.w_own * Vec3<S>(o.w_nu.col(j).template cast<S>());
      const Vec3<S> v = l.v_own * Vec3<S>(o.v_nu.col(j).template cast<S>() + l.v_w * w);
      const Vec3<S> x = o.slides ? Vec3<S>(inverse * v) : Vec3<S>(l.x_w * w);
      auto to = c.N.col(j);
      to.template segment<3>(v_at) = v, to.template segment<3>(w_at) = w, to.template segment<3>(x_at) = x;
      Matrix<S, 6, 1> a = o.a_nu.col(j).template cast<S>() + shift * o.S.col(j) + l.a_w * w;
      if (o.slides && !nothing) a += o.a_x.template cast<S>() * x;
      to.template segment<6>(a_at) = a;
      c.S_.col(j) = o.S.col(j).template cast<S>();
      auto own = c.own.col(j);
      const Vec3<S> along = l.by_spin.transpose() * o.along_own.col(j).template cast<S>();
      own.template segment<3>(w_at) = along;
    }
    if (parent < 0) return;
    const Matrix<S, nr, 3>& turned = z.local[std::size_t(parent)].by_spin;
    const M none = M::Zero();
    // rows of w by the parent's w; rows of v by v, w and place; of the place and of a likewise
    M w_w = o.w_up.template cast<S>() * turned;
    if (o.follows) w_w.add_to_diagonal(S(1));
    w_w = M(l.w_own * w_w);
    const M v_v = l.v_own;
    const M v_w = l.v_own * M(o.v_up_w.template cast<S>() + o.v_up.template cast<S>() * turned + l.v_w * w_w);
    const M v_x = o.slides ? M(l.v_own * (-o.v_x).template cast<S>()) : none;
    M x_v = none, x_w, x_x;
    if (o.slides)
      x_v = inverse * v_v, x_w = inverse * v_w, x_x = inverse * v_x;
    else
      x_w = o.x_up.template cast<S>() * turned + l.x_w * w_w, x_x = M::Identity();
    c.P.setZero();
    c.P.template block<3, 3>(w_at, w_at) = w_w;
    c.P.template block<3, 3>(v_at, v_at) = v_v, c.P.template block<3, 3>(v_at, w_at) = v_w;
    c.P.template block<3, 3>(v_at, x_at) = v_x;
    c.P.template block<3, 3>(x_at, v_at) = x_v, c.P.template block<3, 3>(x_at, w_at) = x_w;
    c.P.template block<3, 3>(x_at, x_at) = x_x;
    Matrix<S, 6, 3> a_w = o.a_up_w.template cast<S>() + o.a_up.template cast<S>() * turned + l.a_w * w_w;
    if (o.slides) {
      const Matrix<S, 6, 3> by = o.a_x.template cast<S>();
      a_w += by * x_w;
      M xx = x_x;
      xx.add_to_diagonal(S(-1));
      c.P.template block<6, 3>(a_at, x_at) = by * xx, c.P.template block<6, 3>(a_at, v_at) = by * x_v;
    }
    c.P.template block<6, 3>(a_at, w_at) = a_w;
    const M E = cross_matrix<double>(o.arm).template cast<S>();
    c.P.template block<3, 3>(a_at, a_at).setIdentity();
    c.P.template block<3, 3>(a_at, a_at + 3) = -E;
    if (o.follows) c.P.template block<3, 3>(a_at + 3, a_at + 3).setIdentity();
    // A': what the forces of the link are for the parent
    c.Y.setZero();
    c.Y.template topLeftCorner<3, 3>().setIdentity();
    c.Y.template bottomLeftCorner<3, 3>() = E;
    if (o.follows) c.Y.template bottomRightCorner<3, 3>().setIdentity();
    for (int j = 0; j < n; ++j) {
      const Vec3<S> along = turned.transpose() * o.along_up.col(j).template cast<S>();
      c.up.col(j).template segment<3>(w_at) = along;
    }
  }

  // Its inertia, and how the joint force turns with it.
  template <class S> void place_link(Stage<S>& z, std::size_t i) const {
    const Raw& o = raw_[i];
    const int me = int(i), parent = m_.links[i].parent;
    const Matrix<S, nr, 3>& turned = z.local[i].by_spin;
    Matrix<S, 6, 15> B = Matrix<S, 6, 15>::Zero();
    B.template middleCols<3>(w_at) = o.force_w.template cast<S>() + o.force_own.template cast<S>() * turned;
    B.template middleCols<6>(a_at) = o.force_a.template cast<S>();
    z.lu.add(me, me, B);
    if (parent < 0) return;
    B.setZero();
    B.template block<3, 3>(3, w_at) = o.torque_own.template cast<S>() * turned;
    if (o.slides) B.template block<3, 3>(3, x_at) = o.torque_x.template cast<S>();
    z.lu.add(parent, me, B);
    B.setZero();
    B.template block<3, 3>(3, w_at) = o.torque_up.template cast<S>() * z.local[std::size_t(parent)].by_spin;
    if (o.slides) B.template block<3, 3>(3, x_at) = (-o.torque_x).template cast<S>();
    z.lu.add(parent, parent, B);
  }

  // Forces on one link by the motion of another, and by what is known of its turn. Free bodies have plain blocks of
  // six:
  //   v = nu_v, w = w_own (R nu_w + w_turn known), x = v / shift + place, and forces along (v, R').
  template <class S> void add_block(Stage<S>& z, const Matrix<S, 6, 15>& B, Turned<S>& turned) const {
    if (!turned.free) return z.lu.add(turned.row, turned.column, B);
    const std::size_t i = std::size_t(turned.row), j = std::size_t(turned.column);
    const Matrix<S, 3, 3> back = raw_[i].R.transpose().template cast<S>();
    const Matrix<S, 6, 3> by_w = B.template middleCols<3>(w_at) * z.local[j].w_own;
    Matrix<S, 6, 6> A;
    turned.place = B.template middleCols<3>(x_at);
    A.template leftCols<3>() = B.template middleCols<3>(v_at) + (S(1) / z.shift) * turned.place;
    A.template rightCols<3>() = by_w * raw_[j].R.template cast<S>();
    turned.D += by_w * raw_[j].w_own.template cast<S>();
    const auto turn = [&](auto& m) {
      const auto torque = back * m.template bottomRows<3>();
      m.template bottomRows<3>() = torque;
    };
    turn(A), turn(turned.place), turn(turned.D);
    z.lu.add_free(turned.row, turned.column, A);
  }
  // What is known of a turn, put into the equations.
  template <class S> void known_turns(Stage<S>& z, const std::vector<Turned<S>>& all) const {
    for (const Turned<S>& k : all) {
      const Local<S>& l = z.local[std::size_t(k.column)];
      auto& node = z.lu[k.row];
      if (k.free)
        node.s += k.D * l.known + k.place * l.place;
      else
        node.phi += k.D * l.known;
    }
  }

  template <class S> void add_guest(Stage<S>& z, const HostBlock<S>& k, Turned<S>& turned) const {
    turned.row = link_of_[std::size_t(k.row)], turned.column = link_of_[std::size_t(k.column)];
    turned.free = freely(turned.row) && freely(turned.column) && !this->ties(); // ties are about accelerations
    const std::size_t column = std::size_t(turned.column);
    Matrix<S, 6, 15> B = Matrix<S, 6, 15>::Zero();
    for (int part = 0; part < 2; ++part) { // rows: force, torque
      const Matrix<S, 3, 12> D = k.D.template middleRows<3>(part ? 0 : 3);
      turned.D.template middleRows<3>(3 * part) =
          -(D.template leftCols<3>() * Turn::turn(raw_[column].R).template cast<S>());
      B.template block<3, 3>(3 * part, w_at) = -D.template middleCols<3>(6);
      B.template block<3, 3>(3 * part, x_at) = -D.template middleCols<3>(3);
      B.template block<3, 3>(3 * part, v_at) = -D.template rightCols<3>();
      B.template block<3, 3>(3 * part, a_at) = -k.A.template block<3, 3>(part ? 0 : 3, 3);
      B.template block<3, 3>(3 * part, a_at + 3) = -k.A.template block<3, 3>(part ? 0 : 3, 0);
    }
    B.template middleCols<3>(w_at) += turned.D * z.local[column].by_spin;
    add_block(z, B, turned);
  }
  int tie_node(int tie) const { return int(links_.size() + m_.cuts.size()) + tie; }
  // Rows of a tie by the motion of a body, and what it does to the body.
  template <class S> void add_tie(Stage<S>& z, const TieBlock<S>& k, Turned<S>& turned) const {
    turned.row = tie_node(k.tie), turned.column = link_of_[std::size_t(k.body)], turned.free = false;
    const std::size_t column = std::size_t(turned.column);
    turned.D.setZero();
    turned.D.template topRows<3>() = k.D.template leftCols<3>() * Turn::turn(raw_[column].R).template cast<S>();
    Matrix<S, 6, 15> B = Matrix<S, 6, 15>::Zero();
    B.template block<3, 3>(0, w_at) = k.D.template middleCols<3>(6);
    B.template block<3, 3>(0, x_at) = k.D.template middleCols<3>(3);
    B.template block<3, 3>(0, v_at) = k.D.template rightCols<3>();
    B.template block<3, 3>(0, a_at) = k.A.template rightCols<3>();
    B.template block<3, 3>(0, a_at + 3) = k.A.template leftCols<3>();
    B.template middleCols<3>(w_at) += turned.D * z.local[column].by_spin;
    z.lu.add(turned.row, turned.column, B);
    Matrix<S, 6, 6> G = Matrix<S, 6, 6>::Zero();
    G.template block<3, 3>(0, 0) = k.wrench.template bottomRows<3>();
    G.template block<3, 3>(3, 0) = k.wrench.template topRows<3>();
    z.lu.add_multiplier(turned.column, turned.row, G);
  }

  template <class S>
  void solve_with(Stage<S>& z, S* b, std::vector<HostVector<S>>* guests = nullptr,
                  std::vector<Vec3<S>>* ties = nullptr) {
    const S inverse = S(1) / z.shift;
    const int L = int(links_.size());
    for (int i = 0; i < pattern_->graph().nodes(); ++i) z.lu[i].phi.setZero(), z.lu[i].s.setZero();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      Local<S>& l = z.local[i];
      l.known = Turn::template known<S>(raw_[i].q, raw_[i].R, raw_[i].w, z.shift, b + at_[i] + 3);
      l.place = inverse * Part<3>::of(b + at_[i]);
    }
    for (std::size_t i = 0; i < links_.size(); ++i) known_motion(z, i, b + at_[i] + np);
    known_turns(z, z.paired);
    if (guests) {
      for (const HostVector<S>& k : *guests) {
        auto& phi = z.lu[link_of_[std::size_t(k.body)]].phi;
        phi.template head<3>() -= k.wrench.template tail<3>(), phi.template tail<3>() -= k.wrench.template head<3>();
      }
      known_turns(z, z.turned);
    }
    for (std::size_t k = 0; ties && k < ties->size(); ++k) z.lu[tie_node(int(k))].phi.template head<3>() -= (*ties)[k];
    z.lu.solve();
    for (std::size_t k = 0; ties && k < ties->size(); ++k) (*ties)[k] = z.lu[tie_node(int(k))].u.template head<3>();
    if (guests)
      for (HostVector<S>& k : *guests) {
        const int i = link_of_[std::size_t(k.body)];
        const Local<S>& l = z.local[std::size_t(i)];
        const auto& motion = z.lu[i].o;
        const Vec3<S> w = motion.template segment<3>(w_at);
        k.motion.template head<3>() =
            Turn::turn(raw_[std::size_t(i)].R).template cast<S>() * Matrix<S, nr, 1>(l.by_spin * w + l.known);
        k.motion.template segment<3>(3) = motion.template segment<3>(x_at);
        k.motion.template segment<3>(6) = w, k.motion.template segment<3>(9) = motion.template segment<3>(v_at);
        k.acceleration.template head<3>() = motion.template segment<3>(a_at + 3);
        k.acceleration.template tail<3>() = motion.template segment<3>(a_at);
      }
    for (int i = 0; i < L; ++i) {
      const std::size_t k = std::size_t(i);
      S* mine = b + at_[k];
      const auto& motion = z.lu[i].o;
      const Vec3<S> w = motion.template segment<3>(w_at);
      for (int j = 0; j < 3; ++j) mine[j] = inverse * (mine[j] + motion[v_at + j]);
      Turn::template recover<S>(raw_[k].q, raw_[k].R, raw_[k].w, z.shift, w, mine + 3);
      for (int j = 0; j < links_[k].n; ++j) mine[np + j] = z.lu[i].u[j];
    }
  }

  // `solve_with` from its last line to its first; `known` and `place` of a link are weights here.
  void solve_transposed_with(Stage<double>& z, double* b, std::vector<HostVector<double>>* guests = nullptr,
                             std::vector<Vec3<double>>* ties = nullptr) {
    const double inverse = 1.0 / z.shift;
    const std::size_t L = links_.size();
    for (int i = 0; i < pattern_->graph().nodes(); ++i) z.lu[i].u.setZero(), z.lu[i].o.setZero();
    for (std::size_t i = 0; i < L; ++i) {
      double* mine = b + at_[i];
      auto& node = z.lu[int(i)];
      z.local[i].known.setZero(), z.local[i].place.setZero();
      for (int j = 0; j < 3; ++j) node.o[v_at + j] = mine[j] *= inverse;
      node.o.template segment<3>(w_at) = Turn::recover_transposed(raw_[i].q, raw_[i].R, raw_[i].w, z.shift, mine + 3);
      for (int j = 0; j < links_[i].n; ++j) node.u[j] = mine[np + j];
    }
    if (guests)
      for (const HostVector<double>& k : *guests) {
        const int i = link_of_[std::size_t(k.body)];
        Local<double>& l = z.local[std::size_t(i)];
        auto& o = z.lu[i].o;
        const Matrix<double, nr, 1> turn =
            Turn::turn(raw_[std::size_t(i)].R).transpose() * V3(k.motion.template head<3>());
        l.known += turn;
        o.template segment<3>(w_at) += l.by_spin.transpose() * turn + k.motion.template segment<3>(6);
        o.template segment<3>(x_at) += k.motion.template segment<3>(3);
        o.template segment<3>(v_at) += k.motion.template segment<3>(9);
        o.template segment<3>(a_at + 3) += k.acceleration.template head<3>();
        o.template segment<3>(a_at) += k.acceleration.template tail<3>();
      }
    for (std::size_t k = 0; ties && k < ties->size(); ++k) z.lu[tie_node(int(k))].u.template head<3>() = (*ties)[k];
    z.lu.solve_transposed();
    for (std::size_t k = 0; ties && k < ties->size(); ++k) (*ties)[k] = -z.lu[tie_node(int(k))].phi.template head<3>();
    if (guests) {
      for (HostVector<double>& k : *guests) {
        const auto& phi = z.lu[link_of_[std::size_t(k.body)]].phi;
        k.wrench.template head<3>() = -phi.template tail<3>(), k.wrench.template tail<3>() = -phi.template head<3>();
      }
      known_turns_transposed(z, z.turned);
    }
    known_turns_transposed(z, z.paired);
    for (std::size_t i = 0; i < L; ++i) known_motion_transposed(z, i, b + at_[i] + np);
    for (std::size_t i = 0; i < L; ++i) {
      double* mine = b + at_[i];
      const Local<double>& l = z.local[i];
      Turn::known_transposed(raw_[i].q, raw_[i].R, raw_[i].w, z.shift, l.known, mine + 3);
      for (int j = 0; j < 3; ++j) mine[j] += inverse * l.place[j];
    }
  }
  void known_turns_transposed(Stage<double>& z, const std::vector<Turned<double>>& all) const {
    for (const Turned<double>& k : all) {
      Local<double>& l = z.local[std::size_t(k.column)];
      l.known += k.D.transpose() * (k.free ? z.lu[k.row].s : z.lu[k.row].phi);
      if (k.free) l.place += k.place.transpose() * z.lu[k.row].s;
    }
  }
  void known_motion_transposed(Stage<double>& z, std::size_t i, double* b_nu) {
    const Raw& o = raw_[i];
    Local<double>& l = z.local[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    const auto& node = z.lu[int(i)];
    V3 v = node.r.template segment<3>(v_at), w = node.r.template segment<3>(w_at), x = node.r.template segment<3>(x_at);
    const Matrix<double, 6, 1> a = node.r.template segment<6>(a_at);
    for (int j = 0; j < n; ++j) b_nu[j] = -o.S.col(j).dot(a);
    if (o.slides) x += o.a_x.transpose() * a;
    w += l.a_w.transpose() * a;
    if (o.slides)
      v += (1.0 / z.shift) * x, l.place += x;
    else
      w += l.x_w.transpose() * x;
    v = V3(l.v_own.transpose() * v);
    if (o.slides) l.place += o.v_x.transpose() * v;
    w += l.v_w.transpose() * v;
    w = V3(l.w_own.transpose() * w);
    const auto gather = [&](auto& known, const M3r& by_w, const M3r& by_v, const M6r& by_a, const M3r& by_x,
                            const Matrix<double, nr, 6>& along) {
      known += by_w.transpose() * w + by_v.transpose() * v + by_a.transpose() * a;
      if (!o.slides) known += by_x.transpose() * x;
      for (int j = 0; j < n; ++j) known += along.col(j) * node.s[j];
    };
    gather(l.known, o.w_own, o.v_own, o.a_own, o.x_own, o.along_own);
    l.known += o.force_own.transpose() * node.phi;
    if (parent < 0) return;
    Matrix<double, nr, 1>& up = z.local[std::size_t(parent)].known;
    const V3 torque = z.lu[parent].phi.template tail<3>();
    gather(up, o.w_up, o.v_up, o.a_up, o.x_up, o.along_up);
    l.known += o.torque_own.transpose() * torque, up += o.torque_up.transpose() * torque;
  }

  // What b alone makes of the motion and the forces of a link.
  template <class S> void known_motion(Stage<S>& z, std::size_t i, const S* b_nu) {
    const Raw& o = raw_[i];
    const Local<S>& l = z.local[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    auto& node = z.lu[int(i)];
    const Matrix<S, nr, 1>& own = l.known;
    if (links_[i].kind == LinkJoint::free) { // most of the rest is zero
      const Vec3<S> w = l.w_own * Vec3<S>(o.w_own.template cast<S>() * own);
      const Vec3<S> speed(b_nu[3], b_nu[4], b_nu[5]);
      node.phi += o.force_own.template cast<S>() * own;
      const Vec3<S> along = o.along_own.template rightCols<3>().transpose().template cast<S>() * own;
      node.s.template tail<3>() += along;
      node.r.template segment<3>(v_at).setZero(), node.r.template segment<3>(w_at) = w;
      node.r.template segment<3>(a_at) = -Vec3<S>(b_nu[0], b_nu[1], b_nu[2]);
      node.r.template segment<3>(a_at + 3) = o.a_own.template bottomRows<3>().template cast<S>() * own +
                                             l.a_w.template bottomRows<3>() * w - o.R.template cast<S>() * speed;
      node.r.template segment<3>(x_at) = l.place;
      return;
    }
    Vec3<S> w = o.w_own.template cast<S>() * own, v = o.v_own.template cast<S>() * own;
    Matrix<S, 6, 1> a = o.a_own.template cast<S>() * own;
    Vec3<S> x = Vec3<S>::Zero();
    if (!o.slides) x = o.x_own.template cast<S>() * own;
    node.phi += o.force_own.template cast<S>() * own;
    for (int j = 0; j < n; ++j) node.s[j] += o.along_own.col(j).template cast<S>().dot(own);
    if (parent >= 0) {
      const Matrix<S, nr, 1>& up = z.local[std::size_t(parent)].known;
      w += o.w_up.template cast<S>() * up, v += o.v_up.template cast<S>() * up;
      a += o.a_up.template cast<S>() * up;
      if (!o.slides) x += o.x_up.template cast<S>() * up;
      for (int j = 0; j < n; ++j) node.s[j] += o.along_up.col(j).template cast<S>().dot(up);
      z.lu[parent].phi.template tail<3>() +=
          o.torque_own.template cast<S>() * own + o.torque_up.template cast<S>() * up;
    }
    w = Vec3<S>(l.w_own * w);
    if (o.slides) v += o.v_x.template cast<S>() * l.place;
    v = Vec3<S>(l.v_own * Vec3<S>(v + l.v_w * w));
    if (o.slides)
      x = (S(1) / z.shift) * v + l.place;
    else
      x += l.x_w * w;
    a += l.a_w * w;
    if (o.slides) a += o.a_x.template cast<S>() * x;
    for (int j = 0; j < n; ++j) a -= b_nu[j] * o.S.col(j).template cast<S>();
    node.r.template segment<3>(v_at) = v, node.r.template segment<3>(w_at) = w;
    node.r.template segment<6>(a_at) = a, node.r.template segment<3>(x_at) = x;
  }

  std::unique_ptr<CarriedPattern> pattern_;
  Handle<double> real_;
  Handle<Complex> complex_;
  std::vector<Twist> joint_force_;
  std::vector<Raw> raw_;
  std::vector<Pair> pairs_;                     // by column, then row
  std::vector<std::array<Twist, 2>> gradients_; // of the rows of the cuts, by the twists of both sides
  std::vector<std::size_t> force_pairs_;        // of each element, row by row
  std::vector<BodyMotion<BodyDual>> dual_motions_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
};

} // namespace gyrod
