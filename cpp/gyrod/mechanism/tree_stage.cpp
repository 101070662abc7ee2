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
// Derivatives are exact: of links written out here, direction by direction, of force elements by themselves, of cut
// joints in dual numbers. Rotations vary by a turn in space (quaternions) or by the nine entries of R (directors): in 3
// or in 9 directions, of which the columns of matrices below are used.
#include "gyrod/linear/carried_lu.hpp"
#include "gyrod/linear/dense.hpp"
#include "gyrod/mechanism/forms.hpp"
#include "gyrod/mechanism/staged.hpp"
#include "gyrod/mechanism/tree.hpp"

namespace gyrod {
namespace {

// What a stage makes of a rotation that varies, in the directions of either kind of coordinates q: turned by w, shift
// resolved, direction = by_spin dw + known(b).
struct QuaternionStage {
  // theta = (shift + w/2) (w' dw + known) / (shift² + |w|²/4), the vector part of quaternions.
  template <class S> static Matrix<S, 3, 3> by_spin(const V3& w, S shift) {
    const S scale = S(1) / (shift * shift + S(0.25 * w.squaredNorm()));
    Matrix<S, 3, 3> G = (S(0.5) * scale) * cross_matrix<double>(w);
    G.add_to_diagonal(shift * scale);
    return G;
  }
  template <class S> static Vec4<S> resolved(const Vec4<S>& rest, const V3& w, S shift) {
    const S scale = S(1) / (shift * shift + S(0.25 * w.squaredNorm()));
    return scale * multiply<S>(Vec4<S>(shift, S(0.5 * w[0]), S(0.5 * w[1]), S(0.5 * w[2])), rest);
  }
  template <class S> static Vec3<S> known(const double* q, const V3& w, S shift, const S* b) {
    const Vec4<double> p = Part<4>::of(q);
    const Vec4<S> back = (S(2.0 / p.squaredNorm()) * conjugate<double>(p));
    return multiply<S>(resolved<S>(Part<4>::of(b), w, shift), back).template tail<3>();
  }
  template <class S> static void recover(const double* q, const V3& w, S shift, const Vec3<S>& dw, S* b) {
    const Vec4<S> p = Part<4>::of(q).template cast<S>(), half(S(0), S(0.5) * dw[0], S(0.5) * dw[1], S(0.5) * dw[2]);
    Part<4>::put(b, resolved<S>(Vec4<S>(Part<4>::of(b) + multiply<S>(half, p)), w, shift));
  }
  // Transposed: `recover` from weights in b to those of b and of dw; `known` adds to those of b.
  static V3 recover_transposed(const double* q, const V3& w, double shift, double* b) {
    const Vec4<double> rest = resolved<double>(Part<4>::of(b), -w, shift);
    Part<4>::put(b, rest);
    return 0.5 * multiply<double>(rest, conjugate<double>(Part<4>::of(q))).tail<3>();
  }
  static void known_transposed(const double* q, const V3& w, double shift, const V3& weight, double* b) {
    const Vec4<double> p = Part<4>::of(q), turned(0.0, weight[0], weight[1], weight[2]);
    const Vec4<double> rest = multiply<double>(turned, Vec4<double>((2.0 / p.squaredNorm()) * p));
    Part<4>::put(b, Vec4<double>(Part<4>::of(b) + resolved<double>(rest, -w, shift)));
  }
};
struct AngleStage {
  // (shift - dq'/dq)^-1
  template <class S> static Matrix<S, 3, 3> resolving(const double* q, const V3& w, S shift) {
    Matrix<S, 3, 3> K = -EulerAngles::rates_turned(q, w).template cast<S>();
    K.add_to_diagonal(shift);
    return K.inverse();
  }
  static M3 turn(const double* q) { return EulerAngles::rates(q).inverse(); }
  template <class S> static Matrix<S, 3, 3> by_spin(const double* q, const V3& w, S shift) {
    return turn(q) * resolving<S>(q, w, shift) * EulerAngles::rates(q);
  }
  template <class S> static Vec3<S> known(const double* q, const V3& w, S shift, const S* b) {
    return turn(q) * Vec3<S>(resolving<S>(q, w, shift) * Part<3>::of(b));
  }
  template <class S> static void recover(const double* q, const V3& w, S shift, const Vec3<S>& dw, S* b) {
    Part<3>::put(b, Vec3<S>(resolving<S>(q, w, shift) * Vec3<S>(Part<3>::of(b) + EulerAngles::rates(q) * dw)));
  }
  static V3 recover_transposed(const double* q, const V3& w, double shift, double* b) {
    const V3 rest = resolving<double>(q, w, shift).transpose() * Part<3>::of(b);
    Part<3>::put(b, rest);
    return EulerAngles::rates(q).transpose() * rest;
  }
  static void known_transposed(const double* q, const V3& w, double shift, const V3& weight, double* b) {
    const V3 rest = resolving<double>(q, w, shift).transpose() * V3(turn(q).transpose() * weight);
    Part<3>::put(b, V3(Part<3>::of(b) + rest));
  }
};
struct DirectorStage {
  // (shift - [w]x)^-1
  template <class S> static Matrix<S, 3, 3> resolving(const V3& w, S shift) {
    const S scale = S(1) / (shift * (shift * shift + S(w.squaredNorm())));
    Matrix<S, 3, 3> K = (shift * scale) * cross_matrix<double>(w) + scale * M3(w * w.transpose());
    K.add_to_diagonal(shift * shift * scale);
    return K;
  }
  template <class S> static Matrix<S, 9, 3> by_spin(const M3& R, const V3& w, S shift) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    Matrix<S, 9, 3> G;
    for (int n = 0; n < 3; ++n) G.template middleRows<3>(3 * n) = K * cross_matrix<double>(-V3(R.col(n)));
    return G;
  }
  template <class S> static Matrix<S, 9, 1> known(const V3& w, S shift, const S* b) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    Matrix<S, 9, 1> out;
    for (int n = 0; n < 3; ++n) out.template segment<3>(3 * n) = K * Part<3>::of(b + 3 * n);
    return out;
  }
  template <class S> static void recover(const M3& R, const V3& w, S shift, const Vec3<S>& dw, S* b) {
    const Matrix<S, 3, 3> K = resolving<S>(w, shift);
    for (int n = 0; n < 3; ++n) {
      const Vec3<S> d = V3(R.col(n)).template cast<S>();
      Part<3>::put(b + 3 * n, Vec3<S>(K * Vec3<S>(Part<3>::of(b + 3 * n) + dw.cross(d))));
    }
  }
  static V3 recover_transposed(const M3& R, const V3& w, double shift, double* b) {
    const M3 K = resolving<double>(-w, shift);
    V3 dw = V3::Zero();
    for (int n = 0; n < 3; ++n) {
      const V3 rest = K * Part<3>::of(b + 3 * n);
      Part<3>::put(b + 3 * n, rest);
      dw += V3(R.col(n)).cross(rest);
    }
    return dw;
  }
  static void known_transposed(const V3& w, double shift, const Matrix<double, 9, 1>& x, double* b) {
    const M3 K = resolving<double>(-w, shift);
    for (int n = 0; n < 3; ++n) Part<3>::put(b + 3 * n, V3(Part<3>::of(b + 3 * n) + K * V3(x.segment<3>(3 * n))));
  }
};

class StiffTree final : public Staged<StiffTree, TreeMechanism> {
  friend class Staged<StiffTree, TreeMechanism>;
  using V3d = Vec3<BodyDual>;
  using M63 = Matrix<double, 6, 3>;
  using M66 = Matrix<double, 6, 6>;
  static constexpr int v_at = 0, w_at = 3, a_at = 6, x_at = 12, motion = 15; // in the motion of a link
  // and behind it: torque about the centre of the parent, equations of nu, forces
  static constexpr int t_at = 15, s_at = 18, f_at = 24;
  template <class S, int R> using Directions = Matrix<S, R, 9>; // `turns_` columns are used

public:
  StiffTree(Coordinates kind, MechanismModel model)
      : Staged(kind, std::move(model)), turns_(directors_ ? 9 : 3), joint_force_(links_.size()), raw_(links_.size()) {}

  void jacobian(double t, const double* y) override {
    prepare();
    full(t, y);
    forces_of_joints();
    share_all(threads(), links_.size(), 64, [&](std::size_t i) { link_blocks(i, y); });
    for (Pair& k : pairs_) k.turn.setZero(), k.rest.setZero();
    for (std::size_t c = 0; c < m_.cuts.size(); ++c)
      if (!m_.kept[c].empty()) cut_blocks(int(c));
    const std::size_t* place = force_pairs_.data();
    for (const auto& f : m_.forces)
      if (!f->by_guests()) place = force_blocks(t, *f, place);
  }

  int negative_pivots() const override { return real_->lu.negative_pivots(); }
  void meet(std::vector<std::pair<int, int>> met) override {
    m_.met = std::move(met);
    weave();
  }

private:
  // Of a link at the last Jacobian: where it was, and derivatives of what its joint makes of the motions of both: by
  // turns of the link (own) and of its parent (up), by w of both, places of both, nu.
  struct Raw {
    M3 R;
    V3 w;
    double q[4]; // of a quaternion, or angles
    Directions<double, 30> own;
    Directions<double, 24> up;
    Matrix<double, motion, 3> by_w, by_up_w;
    Matrix<double, motion, 6> nu; // without what nu' does, S
    M66 S;
    M3 v_x, a_x, torque_x; // by the place, or by the difference of places, where it slides
    V3 arm;                // from the centre of the parent to what it carries
    M63 force_w;           // inertia and gyroscopic forces
    M66 force_a;
    bool slides, follows; // follows: its w is that of the parent and nu
    bool bends;           // its w depends on its turn
  };
  // Forces on a link, or rows of a cut joint, by the motion of another one.
  struct Pair {
    int row, column;
    bool free; // both links are, and have no parent
    Directions<double, 6> turn;
    Matrix<double, 6, motion> rest;
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
        pairs_.push_back({row, column, freely(row) && freely(column), Directions<double, 6>::Zero(),
                          Matrix<double, 6, motion>::Zero()});
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
          if (!f->by_guests()) pair(row, column);
        }
    for (int i = 0; i < ties(); ++i) { // one for each guest, at the last of its ends
      if (tie(i).partner > i) continue;
      g.multipliers.push_back(3);
      g.held.push_back({link_of_[std::size_t(tie(i).body)]});
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
    gradients_.resize(std::size_t(loop_rows(false)));
    graph_ = std::move(g);
    weave();
    dual_motions_.resize(m_.bodies.size()), dual_wrenches_.resize(m_.bodies.size());
  }
  // The graph with what guests link in it.
  GYROD_COLD void weave() {
    CarriedGraph g = graph_;
    for (const auto& [a, b] : m_.met) g.links.emplace_back(link_of_[std::size_t(a)], link_of_[std::size_t(b)]);
    if (ties()) {
      const TieLinks links = m_.ties->tie_links();
      for (const auto& [tie, body] : links.bodies) g.links.emplace_back(link_of_[std::size_t(body)], tie_node(tie));
      for (const auto& [a, b] : links.ties)
        if (a < b) g.links.emplace_back(tie_node(a), tie_node(b));
    }
    real_.reset(), complex_.reset();
    pattern_ = std::make_unique<CarriedPattern>(std::move(g));
  }

  bool angles() const { return kind_ == Coordinates::angles; }
  bool freely(int i) const { return i < int(links_.size()) && links_[std::size_t(i)].kind == LinkJoint::free; }
  Pair& pair_of(int row, int column) {
    return *std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(column, row),
                             [](const Pair& p, const auto& key) { return std::pair(p.column, p.row) < key; });
  }

  void forces_of_joints() {
    for (std::size_t i = 0; i < links_.size(); ++i) joint_force_[i] = inertia_force(i);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      for (int k = 0; k < int(m_.kept[c].size()); ++k) {
        const std::size_t at = std::size_t(loops_.offset(int(c)) + k);
        gradients_[at] = {grad_a_[at], grad_b_[at]};
        if (p.a >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.a)])] += grad_a_[at] * lambda_[at];
        if (p.b >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.b)])] += grad_b_[at] * lambda_[at];
      }
      if (!m_.overconstrained(int(c))) continue;
      for (int k = 0; k < m_.rank(int(c)); ++k) { // of the combinations that act
        auto& to = gradients_[std::size_t(loops_.offset(int(c)) + k)] = {Twist::Zero(), Twist::Zero()};
        for (int r = 0; r < int(m_.kept[c].size()); ++r) {
          const std::size_t at = std::size_t(loops_.offset(int(c)) + r);
          const double weight = loops_.combination(int(c), k)[r];
          to[0] += weight * grad_a_[at], to[1] += weight * grad_b_[at];
        }
      }
    }
    for (int i = 0; i < ties(); ++i) joint_force_[std::size_t(link_of_[std::size_t(tie(i).body)])] += tie_pull(i);
    for (std::size_t i = links_.size(); i-- > 0;)
      if (m_.links[i].parent >= 0) joint_force_[std::size_t(m_.links[i].parent)] += carried_back(i, joint_force_[i]);
  }

  // --- derivatives of links ------------------------------------------------------------------------------------------

  // dR of one direction, and what it makes of a vector; one entry of directors.
  struct Direction {
    int row, col;
    M3 d;
    GYROD_INLINE V3 of(const V3& u) const {
      if (row < 0) return times(d, u);
      V3 out = V3::Zero();
      out[row] = u[col];
      return out;
    }
    GYROD_INLINE V3 transposed(const V3& z) const {
      if (row < 0) return transposed_times(d, z);
      V3 out = V3::Zero();
      out[col] = z[row];
      return out;
    }
  };
  Direction turned(const M3& R, int k) const {
    if (directors_) return {k % 3, k / 3, {}};
    Direction o{-1, 0, M3::Zero()}; // [e_k]x R
    const int a = (k + 1) % 3, b = (k + 2) % 3;
    for (int n = 0; n < 3; ++n) o.d(a, n) = -R(b, n), o.d(b, n) = R(a, n);
    return o;
  }
  // What the directions are as turns in space.
  Directions<double, 3> in_space(const M3& R) const {
    Directions<double, 3> E = Directions<double, 3>::Zero();
    E.leftCols<3>().setIdentity();
    if (!directors_) return E;
    const M3 P = polar_factor<double>(R);
    return P * polar_turn(R, P);
  }

  void link_blocks(std::size_t i, const double* y) {
    Raw& o = raw_[i];
    const LinkJoint& k = links_[i];
    const double* nu = y + at_[i] + np_;
    o.R = k_[i].R, o.w = k_[i].w;
    if (!directors_) std::copy_n(y + at_[i] + 3, nq_, o.q);
    o.slides = k.kind == LinkJoint::free || k.slides != Slides::none;
    o.follows = k.kind == LinkJoint::relative;
    o.S.setZero();
    for (int j = 0; j < k.n; ++j) o.S.col(j) = subspace(i, j);
    o.by_w.setZero(), o.by_up_w.setZero(), o.nu.setZero();
    o.v_x.setZero(), o.a_x.setZero(), o.torque_x.setZero();
    if (k.kind == LinkJoint::free)
      free_blocks(i, nu);
    else if (k.kind == LinkJoint::ball)
      ball_blocks(i, nu);
    else
      relative_blocks(i, nu);
    inertia_blocks(i);
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
    const bool off = lump && lump->mass != 0.0; // the centre of all is not that of the body
    const M3 RB = product(R, B), J = product_transposed(RB, R), E = cross_matrix<double>(w);
    const V3 in_a = transposed_times(RB, aw), in_w = transposed_times(RB, w);
    for (int k = 0; k < turns_; ++k) {
      const Direction dR = turned(R, k);
      // J z by the turn, of aw and of w
      const V3 by_a = dR.of(in_a) + times(RB, dR.transposed(aw));
      const V3 by_w = dR.of(in_w) + times(RB, dR.transposed(w));
      V3 force = V3::Zero(), torque = by_a + cross(w, by_w);
      if (off) {
        const V3 ds = dR.of(lump->first);
        force = cross(aw, ds) + cross(w, cross(w, ds)), torque -= cross(av, ds);
      }
      auto to = o.own.col(k);
      to.segment<3>(f_at) = force, to.segment<3>(f_at + 3) = torque;
    }
    o.force_w.setZero(), o.force_a.setZero();
    o.force_w.bottomRows<3>() = E * J - cross_matrix<double>(times(J, w));
    for (int r = 0; r < 3; ++r) o.force_a(r, r) = mass;
    o.force_a.bottomRightCorner<3, 3>() = J;
    if (!off) return;
    const V3 s = times(R, lump->first);
    const M3 Es = cross_matrix<double>(s);
    o.force_w.topRows<3>() = -cross_matrix<double>(cross(w, s)) - E * Es;
    o.force_a.topRightCorner<3, 3>() = -Es, o.force_a.bottomLeftCorner<3, 3>() = Es;
  }

  void free_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const auto& rate = proj_[i].nu_rate;
    const V3 t = joint_force_[i].tail<3>(), spin(nu[3], nu[4], nu[5]), roll(rate[3], rate[4], rate[5]);
    for (int k = 0; k < turns_; ++k) {
      const Direction dR = turned(o.R, k);
      auto to = o.own.col(k);
      to.setZero();
      to.segment<3>(w_at) = dR.of(spin), to.segment<3>(a_at + 3) = dR.of(roll);
      to.segment<3>(s_at + 3) = dR.transposed(t);
    }
    o.nu.block<3, 3>(w_at, 3) = o.R, o.nu.block<3, 3>(v_at, 0).setIdentity();
    o.bends = true;
  }

  void ball_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const LinkJoint& link = links_[i];
    const LinkMotion<double>& m = k_[i];
    const int parent = m_.links[i].parent;
    const auto& rate = proj_[i].nu_rate;
    const V3 f = joint_force_[i].head<3>(), t = joint_force_[i].tail<3>(), rest = t - cross(m.r, f);
    const V3 speed(rate[0], rate[1], rate[2]), spin = times(o.R, speed), child = cross(m.w, m.r);
    const M3 Er = cross_matrix<double>(m.r), E = cross_matrix<double>(m.w);
    for (int k = 0; k < turns_; ++k) {
      const Direction dR = turned(o.R, k);
      const V3 dr = dR.of(link.at_c), swing = cross(m.w, dr), roll = dR.of(speed);
      auto to = o.own.col(k);
      to.setZero();
      to.segment<3>(w_at) = dR.of(V3(nu[0], nu[1], nu[2]));
      to.segment<3>(v_at) = -swing, to.segment<3>(x_at) = -dr;
      to.segment<3>(a_at) = cross(m.r, roll) - cross(spin, dr) - cross(m.w, swing), to.segment<3>(a_at + 3) = roll;
      to.segment<3>(s_at) = dR.transposed(rest) + transposed_times(o.R, cross(f, dr));
    }
    o.nu.block<3, 3>(w_at, 0) = o.R;
    o.by_w.middleRows<3>(v_at) = Er, o.by_w.middleRows<3>(a_at) = cross_matrix<double>(child) + E * Er;
    o.arm = m.l, o.bends = true;
    if (parent < 0) return;
    const LinkMotion<double>& p = k_[std::size_t(parent)];
    const V3& ap = proj_[std::size_t(parent)].aw;
    const M3 El = cross_matrix<double>(m.l), Ep = cross_matrix<double>(p.w);
    for (int k = 0; k < turns_; ++k) {
      const V3 dl = turned(p.R, k).of(link.at_p), swing = cross(p.w, dl);
      auto to = o.up.col(k);
      to.setZero();
      to.segment<3>(v_at) = swing, to.segment<3>(x_at) = dl;
      to.segment<3>(a_at) = cross(ap, dl) + cross(p.w, swing), to.segment<3>(t_at) = cross(dl, f);
    }
    o.by_up_w.middleRows<3>(v_at) = -El;
    o.by_up_w.middleRows<3>(a_at) = -cross_matrix<double>(cross(p.w, m.l)) - Ep * El;
  }

  void relative_blocks(std::size_t i, const double* nu) {
    Raw& o = raw_[i];
    const LinkJoint& link = links_[i];
    const LinkMotion<double>& m = k_[i];
    const int parent = m_.links[i].parent;
    const V3 f = joint_force_[i].head<3>(), t = joint_force_[i].tail<3>(), zero = V3::Zero();
    const V3 wp = parent < 0 ? zero : k_[std::size_t(parent)].w;
    const V3 ap = parent < 0 ? zero : proj_[std::size_t(parent)].aw;
    const M3 Rp = parent < 0 ? M3(M3::Identity()) : k_[std::size_t(parent)].R;
    const Driven u = link.driven ? u_[std::size_t(m_.links[i].joint)] : Driven{};
    const double sign = link.flipped ? -1.0 : 1.0;
    const M3 Er = cross_matrix<double>(m.r), E = cross_matrix<double>(m.w), Ep = cross_matrix<double>(wp);
    struct Axis {
      bool mine, turns;
      V3 axis, e, c, lever; // in its body and in space; what turns it; what nu' of it feels
      double rate, second, pitch;
    } axes[3];
    M3 bend_w = M3::Zero(), bend_up_w = M3::Zero(); // of cw
    V3 slip = zero, bend = m.cw;                    // with nu'
    o.bends = false;
    for (int j = 0; j < link.motion.size; ++j) {
      const MotionAxis& a = link.motion[j];
      Axis& x = axes[j];
      x.mine = !link.on_parent(a), x.turns = a.type != MotionAxis::slide;
      x.axis = x.mine ? link.frame_c.col(a.axis) : link.frame_p.col(a.axis);
      x.e = times(x.mine ? o.R : Rp, x.axis), x.c = x.mine ? m.w : wp;
      x.rate = link.driven ? sign * u[1] : nu[j];
      x.second = link.driven ? sign * u[2] : proj_[i].nu_rate[std::size_t(j)];
      x.pitch = a.type == MotionAxis::slide ? 1.0 : a.type == MotionAxis::screw ? link.pitch : 0.0;
      x.lever = x.turns ? V3(t + cross(f, m.r) + x.pitch * f) : f;
      slip += (x.pitch * x.rate) * x.e;
      if (x.turns) (x.mine ? bend_w : bend_up_w) -= x.rate * cross_matrix<double>(x.e);
      o.bends = o.bends || (x.mine && x.turns && x.rate != 0.0);
      if (link.driven) continue;
      const V3 speed = x.pitch * x.e, roll = x.turns ? cross(x.c, x.e) : zero;
      if (x.turns) bend += x.second * x.e, o.nu.col(j).segment<3>(w_at) = x.e;
      o.nu.col(j).segment<3>(v_at) = speed, o.nu.col(j).segment<3>(a_at + 3) = roll;
      o.nu.col(j).segment<3>(a_at) = cross(m.r, roll) + 2.0 * cross(wp, speed);
    }
    // v = v_p + wp x l - w x r + slip
    // cv = wp x (wp x l + 2 slip) - w x (w x r) - cw x r + push, of a drive or of nu'
    const auto direction = [&](bool own, const Direction& dR, auto to) {
      const V3 dr = own ? dR.of(link.at_c) : zero;
      const V3 dl = own != o.slides ? zero : own ? dr : dR.of(link.at_p), swing = cross(m.w, dr), gap = dl - dr;
      V3 dw = zero, dslip = zero, push = zero, roll = zero;
      for (int j = 0; j < link.motion.size; ++j) {
        const Axis& x = axes[j];
        double along = own && x.turns ? dr.dot(cross(x.e, f)) : 0.0;
        if (x.mine == own) {
          const V3 de = dR.of(x.axis);
          dslip += (x.pitch * x.rate) * de, push += (x.pitch * x.second) * de;
          if (x.turns) dw += x.rate * de, roll += x.rate * cross(x.c, de) + x.second * de;
          along += de.dot(x.lever);
        }
        if (!link.driven) to[s_at + j] = along;
      }
      to.template segment<3>(v_at) = cross(wp, dl) - swing + dslip, to.template segment<3>(w_at) = dw;
      to.template segment<3>(a_at) = cross(wp, V3(cross(wp, dl) + 2.0 * dslip)) - cross(m.w, swing) + cross(m.r, roll) -
                                     cross(bend, dr) + push + cross(ap, gap);
      to.template segment<3>(a_at + 3) = roll;
      to.template segment<3>(x_at) = gap, to.template segment<3>(t_at) = cross(gap, f);
    };
    o.own.setZero(), o.up.setZero();
    for (int k = 0; k < turns_; ++k) direction(true, turned(o.R, k), o.own.col(k));
    for (int k = 0; parent >= 0 && k < turns_; ++k) direction(false, turned(Rp, k), o.up.col(k));
    const M3 El = cross_matrix<double>(m.l);
    const V3 arm = cross(wp, m.l), child = cross(m.w, m.r);
    o.by_w.middleRows<3>(v_at) = Er, o.by_up_w.middleRows<3>(v_at) = -El;
    o.by_up_w.middleRows<3>(w_at).setIdentity();
    o.by_w.middleRows<3>(a_at + 3) = bend_w, o.by_up_w.middleRows<3>(a_at + 3) = bend_up_w;
    o.by_w.middleRows<3>(a_at) = cross_matrix<double>(child) + E * Er + Er * bend_w;
    o.by_up_w.middleRows<3>(a_at) = -cross_matrix<double>(V3(arm + 2.0 * slip)) - Ep * El + Er * bend_up_w;
    o.arm = m.l - m.r;
    if (o.slides) o.v_x = Ep, o.a_x = Ep * Ep + cross_matrix<double>(ap), o.torque_x = -cross_matrix<double>(f);
  }

  // --- cut joints, in dual numbers, and force elements ---------------------------------------------------------------

  static BodyDual number(double x, int from, int j) { return from < 0 ? BodyDual(x) : BodyDual::seed(x, from + j); }
  // The motion of a link in dual numbers, as variables from a direction on, or, from -1, as constants.
  void seed(const LinkMotion<double>& k, int from, V3d& x, V3d& v, Mat3<BodyDual>& R) const {
    R = k.R.template cast<BodyDual>();
    for (int j = 0; from >= 0 && j < turns_; ++j)
      for (int n = 0; n < 3; ++n) {
        const V3 d = turned(k.R, j).of(V3::Unit(n));
        for (int r = 0; r < 3; ++r) R(r, n).d[std::size_t(from + 3 + j)] = d[r];
      }
    for (int j = 0; j < 3; ++j) x[j] = number(k.x[j], from, j), v[j] = number(k.v[j], from, 3 + turns_ + j);
  }
  // Add the derivatives of a number, times a factor, to a row of a pair.
  void put(Pair& to, int row, const BodyDual& x, double factor) const {
    const double* d = x.d.data();
    for (int j = 0; j < 3; ++j) {
      to.rest(row, x_at + j) += factor * d[j];
      to.rest(row, v_at + j) += factor * d[3 + turns_ + j];
      to.rest(row, w_at + j) += factor * d[6 + turns_ + j];
    }
    for (int j = 0; j < turns_; ++j) to.turn(row, j) += factor * d[3 + j];
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
        for (int k = 0; k < 3; ++k) omega[s][k] = number(link.w[k], from, 6 + turns_ + k);
        side[s] = side_of<BodyDual>(x, R, v, omega[s]);
      }
      const JointGeometry<BodyDual> q = geometry<BodyDual>(j.place, side[0], side[1]);
      const int me = link_of_[std::size_t(bodies[seeded])];
      Pair& mine = pair_of(node, me);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::size_t at = std::size_t(loops_.offset(cut)) + k;
        const Row<BodyDual> r = evaluate_row<BodyDual>(j.loop_row(rows[k]), j.place, q, u);
        BodyDual second =
            r.second + centripetal<BodyDual>(r.a, side[0], omega[0]) + centripetal<BodyDual>(r.b, side[1], omega[1]);
        for (int s = 0; s < 2; ++s) {
          if (bodies[s] < 0) continue;
          const auto G = twist_gradient<BodyDual>(s ? r.b : r.a, side[s].R);
          const Twist a = acceleration(bodies[s]);
          Pair& other = pair_of(link_of_[std::size_t(bodies[s])], me);
          for (int c = 0; c < 6; ++c) second += G[c] * BodyDual(a[c]), put(other, c, G[c], lambda_[at]);
        }
        put(mine, int(k), second, 1.0);
        const Twist& G = seeded ? grad_b_[at] : grad_a_[at];
        for (int c = 0; c < 6; ++c) mine.rest(int(k), a_at + c) += G[c];
      }
      if (m_.overconstrained(cut)) combine(cut, mine);
    }
  }
  // Rows of a cut joint by the combinations that act.
  void combine(int cut, Pair& rows) const {
    M66 weights = M66::Zero();
    for (int k = 0; k < m_.rank(cut); ++k)
      for (int r = 0; r < int(m_.kept[std::size_t(cut)].size()); ++r) weights(k, r) = loops_.combination(cut, k)[r];
    rows.turn = weights * rows.turn, rows.rest = weights * rows.rest;
  }

  // Of one element by the motions of its bodies; `place` says which pairs they are.
  const std::size_t* force_blocks(double t, const ForceElement& f, const std::size_t* place) {
    return directors_ ? blocks_of<DirectorTurns>(t, f, place) : blocks_of<QuaternionTurns>(t, f, place);
  }
  template <class Turn> const std::size_t* blocks_of(double t, const ForceElement& f, const std::size_t* place) {
    ForceBlocks<Turn> blocks;
    if (!f.blocks(t, motions_.data(), blocks))
      blocks_by_dual<Turn>(f, t, motions_.data(), blocks, dual_motions_.data(), dual_wrenches_.data());
    const std::size_t n = f.bodies().size();
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        const auto& b = blocks[row][column];
        Pair& to = pairs_[*place++];
        to.turn.template leftCols<Turn::count>() -= b.turn;
        to.rest.template middleCols<3>(x_at) -= b.place, to.rest.template middleCols<3>(v_at) -= b.velocity;
        to.rest.template middleCols<3>(w_at) -= b.spin;
      }
    return place;
  }

  // --- a stage -------------------------------------------------------------------------------------------------------

  // Of a link: its turn is by_spin w + known, and what makes w and v of what is beside them.
  template <class S> struct Local {
    Matrix<S, 9, 3> by_spin;
    Matrix<S, 9, 1> known;
    Vec3<S> place;                // where it slides, b / shift
    Matrix<S, 3, 3> w_own, v_own; // inverses
    Matrix<S, 30, 3> by_w;        // with the turn that w makes
    Matrix<S, 3, 3> torque_up;
  };
  // Forces by turns of a link; of two free ones their equations by what is known of the place and the turn.
  template <class S> struct Turned {
    int row, column;
    bool free;
    Directions<S, 6> D;
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

  // Products over the directions.
  template <class T, class S, int R, int C>
  GYROD_OUTLINE Matrix<S, R, C> over(const Directions<T, R>& D, const Matrix<S, 9, C>& x) const {
    if (directors_) return D * x;
    return D.template leftCols<3>() * x.template topRows<3>();
  }

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
      Matrix<S, 6, motion> B = p.rest.template cast<S>();
      B.template middleCols<3>(w_at) += over(p.turn, z.local[std::size_t(p.column)].by_spin);
      add_block(z, B, turned);
    }
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      for (int s = 0; s < 2; ++s) {
        const int body = s ? p.b : p.a;
        if (body < 0) continue;
        Matrix<S, 6, 6> G = Matrix<S, 6, 6>::Zero();
        for (int k = 0; k < m_.rank(int(c)); ++k)
          G.col(k) = gradients_[std::size_t(loops_.offset(int(c)) + k)][std::size_t(s)].template cast<S>();
        z.lu.add_multiplier(link_of_[std::size_t(body)], L + int(c), G);
      }
    }
    const std::size_t count = guests ? guests->size() : 0, tied = ties ? ties->on.size() : 0;
    z.turned.resize(count + tied);
    for (std::size_t k = 0; k < count; ++k) add_guest(z, (*guests)[k], z.turned[k]);
    for (std::size_t k = 0; k < tied; ++k) add_tie(z, ties->on[k], z.turned[count + k]);
    for (std::size_t k = 0; ties && k < ties->own.size(); ++k)
      z.lu.add_between(tie_node(ties->own[k].row), tie_node(ties->own[k].column), ties->own[k].D);
    return z.lu.factor(threads());
  }

  // How a link follows its parent.
  template <class S> void carry(Stage<S>& z, std::size_t i) const {
    using M = Matrix<S, 3, 3>;
    const Raw& o = raw_[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    const S shift = z.shift, inverse = S(1) / shift;
    const bool slides = o.slides && links_[i].kind != LinkJoint::free;
    Local<S>& l = z.local[i];
    auto& c = z.lu.carrier(int(i));
    if (directors_)
      l.by_spin = DirectorStage::by_spin<S>(o.R, o.w, shift);
    else if (angles())
      l.by_spin.template topRows<3>() = AngleStage::by_spin<S>(o.q, o.w, shift);
    else
      l.by_spin.template topRows<3>() = QuaternionStage::by_spin<S>(o.w, shift);
    l.by_w = over(o.own, l.by_spin);
    M own = -l.by_w.template middleRows<3>(w_at);
    own.add_to_diagonal(S(1));
    l.w_own = o.bends ? M(own.inverse()) : M(M::Identity());
    l.by_w.template topRows<motion>() += o.by_w, l.by_w.template middleRows<6>(f_at) += o.force_w;
    l.by_w.template middleRows<3>(w_at).setZero();
    if (slides) {
      own = (-inverse) * o.v_x;
      own.add_to_diagonal(S(1));
      l.v_own = own.inverse();
    }
    for (int j = 0; j < n; ++j) {
      const Vec3<S> w = l.w_own * o.nu.col(j).template segment<3>(w_at);
      auto to = c.N.col(j);
      to = o.nu.col(j) + l.by_w.template topRows<motion>() * w;
      to.template segment<6>(a_at) += shift * o.S.col(j);
      to.template segment<3>(w_at) = w;
      if (o.slides) slide(l, o, slides, inverse, to);
      c.S_.col(j) = o.S.col(j);
      c.own.col(j).template segment<3>(w_at) = l.by_w.row(s_at + j).transpose();
    }
    if (parent < 0) return;
    // rows by the parent's w, by its v and by its place
    Matrix<S, 24, 3> up = over(o.up, z.local[std::size_t(parent)].by_spin);
    up.template topRows<motion>() += o.by_up_w;
    const M w_w = o.bends ? M(l.w_own * up.template middleRows<3>(w_at)) : M(up.template middleRows<3>(w_at));
    c.P.setZero();
    auto by_w = c.P.template middleCols<3>(w_at);
    by_w = up.template topRows<motion>() + l.by_w.template topRows<motion>() * w_w;
    by_w.template middleRows<3>(w_at) = w_w;
    if (o.slides) {
      for (int j = 0; j < 3; ++j) slide(l, o, slides, inverse, by_w.col(j));
      const M v_x = -(l.v_own * o.v_x), a_x = o.a_x.template cast<S>();
      M x_x = inverse * v_x, x_v = inverse * l.v_own;
      c.P.template block<3, 3>(v_at, v_at) = l.v_own, c.P.template block<3, 3>(v_at, x_at) = v_x;
      c.P.template block<3, 3>(x_at, v_at) = x_v, c.P.template block<3, 3>(x_at, x_at) = x_x;
      x_x.add_to_diagonal(S(-1));
      c.P.template block<3, 3>(a_at, x_at) = a_x * x_x, c.P.template block<3, 3>(a_at, v_at) = a_x * x_v;
    } else {
      c.P.template block<3, 3>(v_at, v_at).setIdentity(), c.P.template block<3, 3>(x_at, x_at).setIdentity();
    }
    const M3 E = cross_matrix<double>(o.arm);
    c.P.template block<3, 3>(a_at, a_at).setIdentity();
    c.P.template block<3, 3>(a_at, a_at + 3) = -E;
    if (o.follows) c.P.template block<3, 3>(a_at + 3, a_at + 3).setIdentity();
    // A': what the forces of the link are for the parent
    c.Y.setZero();
    c.Y.template topLeftCorner<3, 3>().setIdentity();
    c.Y.template bottomLeftCorner<3, 3>() = E;
    if (o.follows) c.Y.template bottomRightCorner<3, 3>().setIdentity();
    for (int j = 0; j < n; ++j) c.up.col(j).template segment<3>(w_at) = up.row(s_at + j).transpose();
    l.torque_up = up.template middleRows<3>(t_at);
  }
  // Where the state says where a link is: its velocity and place from what the turns make of its velocity.
  template <class S, class V>
  static void slide(const Local<S>& l, const Raw& o, bool joined, S inverse, V&& to, const Vec3<S>* place = nullptr) {
    Vec3<S> v = to.template segment<3>(v_at);
    if (joined) {
      if (place) v += o.v_x * *place;
      v = Vec3<S>(l.v_own * v);
      to.template segment<3>(v_at) = v;
    }
    Vec3<S> x = inverse * v;
    if (place) x += *place;
    to.template segment<3>(x_at) = x;
    if (joined) to.template segment<3>(a_at) += o.a_x * x;
  }

  // Its inertia, and how the joint force turns with it.
  template <class S> void place_link(Stage<S>& z, std::size_t i) const {
    const Raw& o = raw_[i];
    const int me = int(i), parent = m_.links[i].parent;
    const Local<S>& l = z.local[i];
    Matrix<S, 6, motion> B = Matrix<S, 6, motion>::Zero();
    B.template middleCols<3>(w_at) = l.by_w.template middleRows<6>(f_at);
    B.template middleCols<6>(a_at) = o.force_a;
    z.lu.add(me, me, B);
    if (parent < 0) return;
    B.setZero();
    B.template block<3, 3>(3, w_at) = l.by_w.template middleRows<3>(t_at);
    if (o.slides) B.template block<3, 3>(3, x_at) = o.torque_x;
    z.lu.add(parent, me, B);
    B.setZero();
    B.template block<3, 3>(3, w_at) = l.torque_up;
    if (o.slides) B.template block<3, 3>(3, x_at) = -o.torque_x;
    z.lu.add(parent, parent, B);
  }

  // Forces on one link by the motion of another, and by what is known of its turn. Free bodies have plain blocks of
  // six:
  //   v = nu_v, w = w_own (R nu_w + w_turn known), x = v / shift + place, and forces along (v, R').
  template <class S> void add_block(Stage<S>& z, const Matrix<S, 6, motion>& B, Turned<S>& turned) const {
    if (!turned.free) return z.lu.add(turned.row, turned.column, B);
    const std::size_t i = std::size_t(turned.row), j = std::size_t(turned.column);
    const M3 back = raw_[i].R.transpose();
    const Matrix<S, 6, 3> by_w = B.template middleCols<3>(w_at) * z.local[j].w_own;
    Matrix<S, 6, 6> A;
    turned.place = B.template middleCols<3>(x_at);
    A.template leftCols<3>() = B.template middleCols<3>(v_at) + (S(1) / z.shift) * turned.place;
    A.template rightCols<3>() = by_w * raw_[j].R;
    const auto turn = [&](auto&& m) {
      const auto torque = back * m.template bottomRows<3>();
      m.template bottomRows<3>() = torque;
    };
    for (int k = 0; k < turns_; ++k) {
      turned.D.col(k) += by_w * raw_[j].own.col(k).template segment<3>(w_at);
      turn(turned.D.col(k));
    }
    turn(A), turn(turned.place);
    z.lu.add_free(turned.row, turned.column, A);
  }
  // What is known of a turn, put into the equations.
  template <class S> void known_turns(Stage<S>& z, const std::vector<Turned<S>>& all) const {
    for (const Turned<S>& k : all) {
      const Local<S>& l = z.local[std::size_t(k.column)];
      auto& node = z.lu[k.row];
      if (k.free)
        node.s += over(k.D, l.known) + k.place * l.place;
      else
        node.phi += over(k.D, l.known);
    }
  }

  template <class S> void add_guest(Stage<S>& z, const HostBlock<S>& k, Turned<S>& turned) const {
    turned.row = link_of_[std::size_t(k.row)], turned.column = link_of_[std::size_t(k.column)];
    turned.free = freely(turned.row) && freely(turned.column) && !ties(); // ties are about accelerations
    const std::size_t column = std::size_t(turned.column);
    const Directions<double, 3> turn = in_space(raw_[column].R);
    Matrix<S, 6, motion> B = Matrix<S, 6, motion>::Zero();
    for (int part = 0; part < 2; ++part) { // rows: force, torque
      const Matrix<S, 3, 12> D = k.D.template middleRows<3>(part ? 0 : 3);
      turned.D.template middleRows<3>(3 * part) = -(D.template leftCols<3>() * turn);
      B.template block<3, 3>(3 * part, w_at) = -D.template middleCols<3>(6);
      B.template block<3, 3>(3 * part, x_at) = -D.template middleCols<3>(3);
      B.template block<3, 3>(3 * part, v_at) = -D.template rightCols<3>();
      B.template block<3, 3>(3 * part, a_at) = -k.A.template block<3, 3>(part ? 0 : 3, 3);
      B.template block<3, 3>(3 * part, a_at + 3) = -k.A.template block<3, 3>(part ? 0 : 3, 0);
    }
    B.template middleCols<3>(w_at) += over(turned.D, z.local[column].by_spin);
    add_block(z, B, turned);
  }
  int tie_node(int tie) const { return int(links_.size() + m_.cuts.size()) + tie; }
  // Rows of a tie by the motion of a body, and what it does to the body.
  template <class S> GYROD_COLD void add_tie(Stage<S>& z, const TieBlock<S>& k, Turned<S>& turned) const {
    turned.row = tie_node(k.tie), turned.column = link_of_[std::size_t(k.body)], turned.free = false;
    const std::size_t column = std::size_t(turned.column);
    turned.D.setZero();
    turned.D.template topRows<3>() = k.D.template leftCols<3>() * in_space(raw_[column].R);
    Matrix<S, 6, motion> B = Matrix<S, 6, motion>::Zero();
    B.template block<3, 3>(0, w_at) = k.D.template middleCols<3>(6);
    B.template block<3, 3>(0, x_at) = k.D.template middleCols<3>(3);
    B.template block<3, 3>(0, v_at) = k.D.template rightCols<3>();
    B.template block<3, 3>(0, a_at) = k.A.template rightCols<3>();
    B.template block<3, 3>(0, a_at + 3) = k.A.template leftCols<3>();
    B.template middleCols<3>(w_at) += over(turned.D, z.local[column].by_spin);
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
      if (directors_)
        l.known = DirectorStage::known<S>(raw_[i].w, z.shift, b + at_[i] + 3);
      else if (angles())
        l.known.template head<3>() = AngleStage::known<S>(raw_[i].q, raw_[i].w, z.shift, b + at_[i] + 3);
      else
        l.known.template head<3>() = QuaternionStage::known<S>(raw_[i].q, raw_[i].w, z.shift, b + at_[i] + 3);
      l.place = inverse * Part<3>::of(b + at_[i]);
    }
    for (std::size_t i = 0; i < links_.size(); ++i) known_motion(z, i, b + at_[i] + np_);
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
        const Matrix<S, 9, 1> turn = l.by_spin * w + l.known;
        k.motion.template head<3>() = over(in_space(raw_[std::size_t(i)].R), turn);
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
      if (directors_)
        DirectorStage::recover<S>(raw_[k].R, raw_[k].w, z.shift, w, mine + 3);
      else if (angles())
        AngleStage::recover<S>(raw_[k].q, raw_[k].w, z.shift, w, mine + 3);
      else
        QuaternionStage::recover<S>(raw_[k].q, raw_[k].w, z.shift, w, mine + 3);
      for (int j = 0; j < links_[k].n; ++j) mine[int(np_) + j] = z.lu[i].u[j];
    }
  }

  // `solve_with` from its last line to its first; `known` and `place` of a link are weights here.
  GYROD_COLD void solve_transposed_with(Stage<double>& z, double* b, std::vector<HostVector<double>>* guests = nullptr,
                                        std::vector<Vec3<double>>* ties = nullptr) {
    const double inverse = 1.0 / z.shift;
    const std::size_t L = links_.size();
    for (int i = 0; i < pattern_->graph().nodes(); ++i) z.lu[i].u.setZero(), z.lu[i].o.setZero();
    for (std::size_t i = 0; i < L; ++i) {
      double* mine = b + at_[i];
      auto& node = z.lu[int(i)];
      z.local[i].known.setZero(), z.local[i].place.setZero();
      for (int j = 0; j < 3; ++j) node.o[v_at + j] = mine[j] *= inverse;
      node.o.segment<3>(w_at) = directors_ ? DirectorStage::recover_transposed(raw_[i].R, raw_[i].w, z.shift, mine + 3)
                                : angles()
                                    ? AngleStage::recover_transposed(raw_[i].q, raw_[i].w, z.shift, mine + 3)
                                    : QuaternionStage::recover_transposed(raw_[i].q, raw_[i].w, z.shift, mine + 3);
      for (int j = 0; j < links_[i].n; ++j) node.u[j] = mine[int(np_) + j];
    }
    if (guests)
      for (const HostVector<double>& k : *guests) {
        const int i = link_of_[std::size_t(k.body)];
        Local<double>& l = z.local[std::size_t(i)];
        auto& o = z.lu[i].o;
        const Directions<double, 3> turn = in_space(raw_[std::size_t(i)].R);
        for (int j = 0; j < turns_; ++j) {
          const double weight = turn.col(j).dot(k.motion.head<3>());
          l.known[j] += weight;
          o.segment<3>(w_at) += weight * l.by_spin.row(j).transpose();
        }
        o.segment<3>(w_at) += k.motion.segment<3>(6);
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
    for (std::size_t i = 0; i < L; ++i) known_motion_transposed(z, i, b + at_[i] + np_);
    for (std::size_t i = 0; i < L; ++i) {
      double* mine = b + at_[i];
      const Local<double>& l = z.local[i];
      if (directors_)
        DirectorStage::known_transposed(raw_[i].w, z.shift, l.known, mine + 3);
      else if (angles())
        AngleStage::known_transposed(raw_[i].q, raw_[i].w, z.shift, l.known.head<3>(), mine + 3);
      else
        QuaternionStage::known_transposed(raw_[i].q, raw_[i].w, z.shift, l.known.head<3>(), mine + 3);
      for (int j = 0; j < 3; ++j) mine[j] += inverse * l.place[j];
    }
  }
  GYROD_COLD void known_turns_transposed(Stage<double>& z, const std::vector<Turned<double>>& all) const {
    for (const Turned<double>& k : all) {
      Local<double>& l = z.local[std::size_t(k.column)];
      const auto& weight = k.free ? z.lu[k.row].s : z.lu[k.row].phi;
      for (int j = 0; j < turns_; ++j) l.known[j] += k.D.col(j).dot(weight);
      if (k.free) l.place += k.place.transpose() * z.lu[k.row].s;
    }
  }
  GYROD_COLD void known_motion_transposed(Stage<double>& z, std::size_t i, double* b_nu) {
    const Raw& o = raw_[i];
    Local<double>& l = z.local[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    const auto& node = z.lu[int(i)];
    Matrix<double, 30, 1> weight = Matrix<double, 30, 1>::Zero();
    weight.head<motion>() = node.r;
    if (parent >= 0) weight.segment<3>(t_at) = z.lu[parent].phi.tail<3>();
    for (int j = 0; j < n; ++j) weight[s_at + j] = node.s[j], b_nu[j] = -o.S.col(j).dot(node.r.segment<6>(a_at));
    weight.tail<6>() = node.phi;
    if (o.slides) {
      const bool joined = links_[i].kind != LinkJoint::free;
      V3 v = weight.segment<3>(v_at), x = weight.segment<3>(x_at);
      if (joined) x += o.a_x.transpose() * weight.segment<3>(a_at);
      v += (1.0 / z.shift) * x, l.place += x;
      if (joined) v = V3(l.v_own.transpose() * v), l.place += o.v_x.transpose() * v;
      weight.segment<3>(v_at) = v, weight.segment<3>(x_at).setZero();
    }
    const V3 w = weight.segment<3>(w_at) + l.by_w.topRows<motion>().transpose() * weight.head<motion>();
    weight.segment<3>(w_at) = l.w_own.transpose() * w;
    for (int k = 0; k < turns_; ++k) l.known[k] += o.own.col(k).dot(weight);
    for (int k = 0; parent >= 0 && k < turns_; ++k)
      z.local[std::size_t(parent)].known[k] += o.up.col(k).dot(weight.head<24>());
  }

  // What b alone makes of the motion and the forces of a link.
  template <class S> void known_motion(Stage<S>& z, std::size_t i, const S* b_nu) {
    const Raw& o = raw_[i];
    const Local<S>& l = z.local[i];
    const int n = links_[i].n, parent = m_.links[i].parent;
    auto& node = z.lu[int(i)];
    Matrix<S, 30, 1> known = over(o.own, l.known);
    if (parent >= 0) {
      known.template head<24>() += over(o.up, z.local[std::size_t(parent)].known);
      z.lu[parent].phi.template tail<3>() += known.template segment<3>(t_at);
    }
    node.phi += known.template tail<6>();
    for (int j = 0; j < n; ++j) node.s[j] += known[s_at + j];
    const Vec3<S> w = l.w_own * known.template segment<3>(w_at);
    node.r = known.template head<motion>() + l.by_w.template topRows<motion>() * w;
    node.r.template segment<3>(w_at) = w;
    if (o.slides) slide(l, o, links_[i].kind != LinkJoint::free, S(1) / z.shift, node.r, &l.place);
    for (int j = 0; j < n; ++j) node.r.template segment<6>(a_at) -= b_nu[j] * o.S.col(j);
  }

  const int turns_;    // directions of a rotation
  CarriedGraph graph_; // without what guests link
  std::unique_ptr<CarriedPattern> pattern_;
  Handle<double> real_;
  Handle<Complex> complex_;
  Handle<double>& stage(double) { return real_; }
  Handle<Complex>& stage(Complex) { return complex_; }
  std::vector<Twist> joint_force_;
  std::vector<Raw> raw_;
  std::vector<Pair> pairs_;                     // by column, then row
  std::vector<std::array<Twist, 2>> gradients_; // of the rows of the cuts, by the twists of both sides
  std::vector<std::size_t> force_pairs_;        // of each element, row by row
  std::vector<BodyMotion<BodyDual>> dual_motions_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
};

} // namespace

std::unique_ptr<MechanismEquations> make_tree(Coordinates kind, MechanismModel model) {
  return std::make_unique<StiffTree>(kind, std::move(model));
}

} // namespace gyrod
