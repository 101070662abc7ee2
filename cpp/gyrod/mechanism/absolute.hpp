// Mechanisms in absolute coordinates (Lang 2010, 58 and 59): positions and velocities of every body in full,
// multipliers of the internal and of all joint constraints.
//
// level 0: multipliers and accelerations are eliminated, an ordinary differential equation (6), state (x, q, x', q').
// level 1: the form (13), accelerations a and multipliers are unknowns, g'' = 0.
// level 2: the same with g' = 0; level 3: with g = 0.
// stabilised level 2: g' = 0 and g = 0, with multipliers eta that move positions, q' = v - G' eta (Gear, Gupta,
// Leimkuhler 1985); eta = 0 in exact solutions, and derivatives of G' eta are left out of the Jacobian.
//
// Levels 1 to 3 are differential-algebraic, q' = v, v' = a, 0 = psi - M a - G' lambda, 0 = g^(k). One elimination
// serves all: bodies and multipliers are nodes of a graph, multipliers go after the bodies they hold.
//
// Guests, rods that bodies hold, see a rotation, also where an integrator has left the manifold. Their held strains
// stay on the level of accelerations: where those of bodies are unknowns, so is of each guest one section force.
#pragma once

#include "gyrod/mechanism/model.hpp"
#include "gyrod/rigid/formulations.hpp"

#include "gyrod/linear/block_lu.hpp"
#include "gyrod/linear/dense.hpp"
#include "gyrod/mechanism/loops.hpp"
#include "gyrod/mechanism/staged.hpp"

namespace gyrod {

// What an absolute formulation knows of the rotation of one body: directors and their rates, pull-back of director
// gradients, mass, forces, internal constraints.
template <class F> struct AbsoluteRotation;

template <> struct AbsoluteRotation<AbsoluteQuaternion> {
  static constexpr int nq = 4, ni = 1;
  template <class S> static void directors(const S* q, const S* w, Mat3<S>& R, Mat3<S>& V) {
    const Vec4<S> p = Part<4>::of(q);
    R = matrix_from_quaternion<S>(p);
    const Vec9<S> rate = euler_differential<S>(p) * Part<4>::of(w);
    for (int n = 0; n < 9; ++n) V(n % 3, n / 3) = rate[n];
  }
  static void rates(const double* q, const Vec3<double>& Omega, double* w) {
    Part<4>::put(w, Vec4<double>(quaternion_nullspace<double>(Part<4>::of(q)) * Omega));
  }
  static double scale(const RigidBody& b) { return 4.0 / 3.0 * b.moments.sum(); }
  template <class S> static Vec4<S> pull(const Mat3<S>& N, const S* q) { // D phi' N
    Vec9<S> flat;
    for (int n = 0; n < 9; ++n) flat[n] = N(n % 3, n / 3);
    return euler_differential<S>(Part<4>::of(q)).transpose() * flat;
  }
  // d'' = D phi p'' + 2 phi(p')
  template <class S> static Mat3<S> bent(const S* w) { return S(2) * matrix_from_quaternion<S>(Part<4>::of(w)); }
  template <class S> static S bend(const Mat3<S>& N, const S* w) {
    const Mat3<S> P = bent<S>(w);
    S sum(0);
    for (int n = 0; n < 3; ++n) sum += N.col(n).dot(P.col(n));
    return sum;
  }
  static double zeroth(const RigidBody& b, const FormulationOptions& o) {
    return o.fictive_moment ? 0.5 * b.moments.sum() : 0.0;
  }
  template <class S>
  static Vec4<S> mass(const RigidBody& b, const FormulationOptions& o, const S* q, const Vec4<S>& a) {
    const Vec4<S> p = Part<4>::of(q), m = multiply<S>(conjugate<S>(p), a);
    return S(4) * multiply<S>(p, Vec4<S>(S(zeroth(b, o)) * m[0], S(b.moments[0]) * m[1], S(b.moments[1]) * m[2],
                                         S(b.moments[2]) * m[3]));
  }
  template <class S>
  static Vec4<S> force(const RigidBody& b, const FormulationOptions& o, const S* q, const S* w, const Mat3<S>& P,
                       const Vec3<S>& tau) {
    const Vec4<S> p = Part<4>::of(q), v = Part<4>::of(w);
    Vec4<S> psi = AbsoluteQuaternion::generalised_force<S>(b.moments, p, v, P, tau);
    psi -= p * (S(4.0 * zeroth(b, o)) * v.dot(v));
    return psi;
  }
  template <class S> static void constraint(const S* q, const S* w, S* g, S* rate, S* second, S (*G)[nq]) {
    const Vec4<S> p = Part<4>::of(q), v = Part<4>::of(w);
    g[0] = S(0.5) * (p.dot(p) - S(1)), rate[0] = p.dot(v), second[0] = v.dot(v);
    for (int i = 0; i < 4; ++i) G[0][i] = p[i];
  }
  // As guests see it: R/|p|².
  static void unit(const double* q, BodyMotion<double>& m) {
    const double scale = 1.0 / Part<4>::of(q).squaredNorm();
    m.R *= scale, m.Omega *= scale;
  }
  // Of that in space axes: by dp its turn 2 dp conj(p)/|p|² and its spin, which by dp' is like the turn; the
  // generalised force 2 T p of a torque T by that.
  struct Turning {
    Matrix<double, 3, 4> turn, spin, swing;
    Matrix<double, 4, 3> torque;
    Turning() = default;
    Turning(const double* q, const double* w) {
      const Vec4<double> p = Part<4>::of(q), v = Part<4>::of(w);
      const double scale = 2.0 / p.squaredNorm();
      turn = scale * quaternion_matrix_right<double>(conjugate<double>(p)).bottomRows<3>();
      spin = -scale * quaternion_matrix_right<double>(conjugate<double>(v)).bottomRows<3>();
      spin -= scale * (turn * v) * p.transpose();
      swing = turn;
      torque = 2.0 * quaternion_matrix_right<double>(p).rightCols<3>();
    }
    Mat4<double> torque_turned(const Vec3<double>& T) const { // 2 T p by p
      return 2.0 * quaternion_matrix<double>(Vec4<double>(0.0, T[0], T[1], T[2]));
    }
  };
};

template <> struct AbsoluteRotation<AbsoluteDirectors> {
  static constexpr int nq = 9, ni = 6;
  // As guests see it: the polar factor R.
  static void unit(const double* q, BodyMotion<double>& m) { m.R = polar_factor<double>(frame_of(q)); }
  // Of that in space axes: by directors its turn and its spin R Omega, by their rates its spin; the generalised force
  // D [R'T]x/2 of a torque T by that.
  struct Turning {
    Matrix<double, 3, 9> turn, spin, swing;
    Matrix<double, 9, 3> torque;
    Mat3<double> D, R;
    Turning() = default;
    Turning(const double* q, const double* w) : D(frame_of(q)), R(polar_factor<double>(D)) {
      turn = R * polar_turn(D, R);
      const Mat3<double> V = frame_of(w);
      const Vec3<double> omega = R * AbsoluteDirectors::spin<double>(q, w, {});
      for (int k = 0; k < 9; ++k) {
        const Vec3<double> by_turn = turn.col(k);
        spin.col(k) = by_turn.cross(omega) + 0.5 * (R * axial<double>(gyrod::unit(k).transpose() * V));
        swing.col(k) = 0.5 * (R * axial<double>(D.transpose() * gyrod::unit(k)));
      }
      for (int k = 0; k < 3; ++k) torque.col(k) = pulled(D, R.row(k).transpose());
    }
    static Vec9<double> pulled(const Mat3<double>& D, const Vec3<double>& T) {
      return pull<double>(0.5 * (D * cross_matrix<double>(T)), nullptr);
    }
    Matrix<double, 9, 9> torque_turned(const Vec3<double>& T) const {
      const Vec3<double> inside = R.transpose() * T;
      Matrix<double, 9, 9> K;
      for (int k = 0; k < 9; ++k) {
        const Vec3<double> by_turn = turn.col(k);
        K.col(k) = pulled(gyrod::unit(k), inside) - pulled(D, R.transpose() * by_turn.cross(T));
      }
      return K;
    }
  };
  template <class S> static void directors(const S* q, const S* w, Mat3<S>& R, Mat3<S>& V) {
    R = frame_of(q), V = frame_of(w);
  }
  static void rates(const double* q, const Vec3<double>& Omega, double* w) {
    put_frame<double>(w, Mat3<double>(frame_of(q) * skew<double>(Omega)));
  }
  static double scale(const RigidBody& b) { return b.moments.sum() / 6.0; }
  template <class S> static Vec9<S> pull(const Mat3<S>& N, const S*) {
    Vec9<S> flat;
    for (int n = 0; n < 9; ++n) flat[n] = N(n % 3, n / 3);
    return flat;
  }
  template <class S> static Mat3<S> bent(const S*) { return Mat3<S>::Zero(); }
  template <class S> static S bend(const Mat3<S>&, const S*) { return S(0); }
  template <class S> static Vec9<S> mass(const RigidBody& b, const FormulationOptions&, const S*, const Vec9<S>& a) {
    const double half = 0.5 * b.moments.sum();
    Vec9<S> out;
    for (int n = 0; n < 9; ++n) out[n] = a[n] * S(half - b.moments[n / 3]);
    return out;
  }
  template <class S>
  static Vec9<S> force(const RigidBody&, const FormulationOptions&, const S* q, const S*, const Mat3<S>& P,
                       const Vec3<S>& tau) {
    const Mat3<S> R = frame_of(q);
    Mat3<S> f = P; // the torque acts through half of T_d
    for (int n = 0; n < 3; ++n) {
      const int j = (n + 1) % 3, k = (n + 2) % 3;
      f.col(n) += S(0.5) * (R.col(j) * tau[k] - R.col(k) * tau[j]);
    }
    return pull<S>(f, q);
  }
  template <class S> static void constraint(const S* q, const S* w, S* g, S* rate, S* second, S (*G)[nq]) {
    static constexpr int row[6] = {0, 1, 2, 0, 2, 1}, col[6] = {0, 1, 2, 1, 0, 2}; // order of (19)
    const Mat3<S> R = frame_of(q), V = frame_of(w);
    for (int r = 0; r < 6; ++r) {
      const int i = row[r], j = col[r];
      const S half(i == j ? 0.5 : 1.0);
      S c(0), d(0), e(0);
      for (int n = 0; n < 9; ++n) G[r][n] = S(0);
      for (int n = 0; n < 3; ++n) {
        c += R(i, n) * R(j, n), d += R(i, n) * V(j, n) + V(i, n) * R(j, n), e += V(i, n) * V(j, n);
        G[r][3 * n + i] += half * R(j, n), G[r][3 * n + j] += half * R(i, n);
      }
      g[r] = half * (i == j ? c - S(1) : c), rate[r] = half * d, second[r] = S(2) * half * e;
    }
  }
};

template <class F> class AbsoluteMechanism final : public Staged<AbsoluteMechanism<F>, MechanismEquations> {
  friend class Staged<AbsoluteMechanism<F>, MechanismEquations>;
  using MechanismEquations::difference_in_time, MechanismEquations::largest_gap_allowed;
  using MechanismEquations::loose_, MechanismEquations::torn_;
  using A = AbsoluteRotation<F>;
  static constexpr int nq = A::nq, ni = A::ni, np = 3 + nq, node = np + ni;
  template <class S> using Rotation = Matrix<S, nq, 1>;

public:
  GYROD_COLD explicit AbsoluteMechanism(MechanismModel model)
      : m_(std::move(model)), level_(m_.options.level), qr_(m_.options.qr), doubled_(m_.options.stabilised),
        motions_(bodies()), wrenches_(bodies()), sides_(bodies()), dual_motions_(bodies()), dual_wrenches_(bodies()),
        acting_(bodies()), joints_of_(bodies()), u_(m_.joints.size()) {
    stride_ = 2 * np + (level_ ? np + ni : 0) + (doubled_ ? ni : 0);
    std::vector<bool> cut(m_.joints.size(), false);
    rows_.resize(m_.joints.size());
    for (int i = 0; m_.ties && i < m_.ties->ties(); ++i) ties_.push_back(m_.ties->tie(i));
    std::vector<std::vector<int>> after(bodies() + m_.joints.size());
    std::vector<int> sizes(bodies(), int(node)), link_of(bodies());
    std::vector<std::pair<int, int>> pairs;
    for (std::size_t l = 0; l < m_.links.size(); ++l) link_of[std::size_t(m_.links[l].body)] = int(l);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const std::size_t j = std::size_t(m_.cuts[c]);
      cut[j] = true;
      for (int r : m_.kept[c]) rows_[j].push_back(m_.joints[j].loop_row(r));
      for (int body : {m_.joints[j].place.a, m_.joints[j].place.b}) // the whole loop goes first
        for (int l = body < 0 ? -1 : link_of[std::size_t(body)]; l >= 0; l = m_.links[std::size_t(l)].parent)
          after[bodies() + j].push_back(m_.links[std::size_t(l)].body);
      if (m_.overconstrained(int(c))) limited_.push_back(int(c));
    }
    // Ranks count beside the tree and the cuts before.
    for (std::size_t c = 0; !limited_.empty() && c < m_.cuts.size(); ++c) {
      std::vector<int>& first = after[bodies() + std::size_t(m_.cuts[c])];
      for (const TreeLink& l : m_.links)
        if (l.joint >= 0) first.push_back(int(bodies()) + l.joint);
      if (c) first.push_back(int(bodies()) + m_.cuts[c - 1]);
    }
    for (const TreeLink& l : m_.links)
      if (l.joint >= 0) after[bodies() + std::size_t(l.joint)].push_back(l.body);
    lambda_at_ = bodies() * std::size_t(stride_);
    size_ = lambda_at_;
    for (std::size_t j = 0; j < m_.joints.size(); ++j) {
      const Joint& joint = m_.joints[j];
      if (!cut[j])
        for (int r = 0; r < joint.size(); ++r) rows_[j].push_back(joint.row(r));
      sizes.push_back(int(rows_[j].size()));
      at_.push_back(multipliers_);
      multipliers_ += rows_[j].size();
      timed_ = timed_ || joint.drive.timed();
      const JointPlace& p = joint.place;
      for (int body : {p.a, p.b})
        if (body >= 0) pairs.emplace_back(body, int(bodies() + j)), joints_of_[std::size_t(body)].push_back(int(j));
      if (p.a >= 0 && p.b >= 0) pairs.emplace_back(p.a, p.b);
    }
    if (level_) size_ += multipliers_ * (doubled_ ? 2 : 1);
    for (const Tie& tie : ties_) kkt_ties_ += tie.rows;
    for (int i = 0; level_ && i < int(ties_.size()); ++i)
      if (ties_[std::size_t(i)].partner <= i) add_held(i);
    // Where multipliers are unknowns, constraints are scaled so that G is of the size of M (remark 3.2 of the rod
    // paper).
    joint_scale_.assign(m_.joints.size(), 1.0), body_scale_.assign(bodies(), 1.0);
    for (std::size_t b = 0; level_ && b < bodies(); ++b) body_scale_[b] = A::scale(m_.bodies[b]);
    for (std::size_t j = 0; level_ && j < m_.joints.size(); ++j) {
      double least = std::numeric_limits<double>::infinity();
      for (int body : {m_.joints[j].place.a, m_.joints[j].place.b})
        if (body >= 0) least = std::min(least, mass_of(std::size_t(body)));
      joint_scale_[j] = least;
    }
    std::vector<std::pair<int, int>> plain = pairs;
    for (std::size_t f = 0; f < m_.forces.size(); ++f) {
      const auto& on = m_.forces[f]->bodies();
      const bool guests = m_.forces[f]->by_guests();
      if (guests) guests_.resize(bodies()), held_.resize(bodies()), turning_.resize(bodies());
      if (guests && !ties_.empty()) bent_.resize(bodies()), pulled_.resize(bodies());
      for (std::size_t i = 0; !guests && i < on.size(); ++i) {
        acting_[std::size_t(on[i])].push_back(f);
        for (int b : on)
          if (on[i] < b) pairs.emplace_back(on[i], b);
      }
      timed_ = timed_ || m_.forces[f]->explicit_time();
    }
    // Mass and constraints alone couple bodies through joints only.
    std::erase_if(plain, [&](const auto& p) { return p.first < int(bodies()) && p.second < int(bodies()); });
    graph_ = {sizes, std::move(pairs), after};
    weave();
    add_ties(sizes, plain, after);
    kkt_pattern_ = BlockPattern(sizes, plain, after);
    kkt_ = std::make_unique<BlockLu<double>>(kkt_pattern_);
    for (int c : limited_) kkt_->limit(int(bodies()) + m_.cuts[std::size_t(c)], m_.rank(c));
    kkt_rhs_.resize(std::size_t(kkt_pattern_.total()));
    gradient_.resize(multipliers_);
    values_.resize(multipliers_), in_time_.resize(multipliers_), second_.resize(multipliers_);
    rates_.resize(multipliers_);
    if (level_) {
      mass_.assign(size_, 1.0), index_.assign(size_, 1);
      for (std::size_t b = 0; b < bodies(); ++b)
        for (int i = 0; i < stride_; ++i) {
          const std::size_t k = b * std::size_t(stride_) + std::size_t(i);
          if (i >= 2 * np) mass_[k] = 0.0;
          index_[k] = level_ == 1 || i < np ? 1 : i < 2 * np ? level_ - 1 : level_;
        }
      for (std::size_t k = lambda_at_; k < size_; ++k) mass_[k] = 0.0, index_[k] = level_;
    }
  }

  std::size_t size() const override { return size_; }
  std::size_t offset(int body) const override { return std::size_t(body * stride_); }
  std::size_t state_size(int) const override { return std::size_t(stride_); }
  bool autonomous() const override { return !timed_; }
  void quasistatic(bool on) override {
    for (Joint& j : m_.joints) j.still = on;
  }
  void meet(std::vector<std::pair<int, int>> met) override {
    m_.met = std::move(met);
    weave();
  }
  const double* mass() const override { return level_ ? mass_.data() : nullptr; }
  const int* index() const override { return level_ ? index_.data() : nullptr; }

  void rhs(double t, const double* y, double* dy) override {
    if (level_) return residuals(t, y, dy);
    if (qr_)
      solve_by_nullspace(t, y);
    else
      solve_accelerations(t, y);
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      double* d = dy + b * std::size_t(stride_);
      for (int i = 0; i < np; ++i) d[i] = s[np + i], d[np + i] = acceleration(int(b))[i];
    }
  }

  // Velocities of the coordinates from those of the bodies; accelerations and multipliers where they are unknowns.
  void complete(double t, const double* velocities, double* y) override {
    for (std::size_t b = 0; b < bodies(); ++b) {
      double* s = y + b * std::size_t(stride_);
      const double* v = velocities + 6 * b;
      for (int i = 0; i < 3; ++i) s[np + i] = v[i];
      A::rates(s + 3, Vec3<double>(v[3], v[4], v[5]), s + np + 3);
    }
    if (!level_) return;
    solve_accelerations(t, y);
    for (std::size_t b = 0; b < bodies(); ++b)
      std::copy_n(acceleration(int(b)), node, y + b * std::size_t(stride_) + 2 * np);
    std::copy_n(lambda(), multipliers_, y + lambda_at_);
    for (const Held& k : held_strains_)
      for (int r = 0; r < 3; ++r)
        y[k.at + std::size_t(r)] = tie_force(k.tie(k.stays + r))[k.row(k.stays + r)] / k.scale;
    if (!doubled_) return;
    for (std::size_t b = 0; b < bodies(); ++b) std::fill_n(y + b * std::size_t(stride_) + 3 * np + ni, ni, 0.0);
    std::fill_n(y + lambda_at_ + multipliers_, multipliers_, 0.0);
  }
  const MechanismModel& model() const override { return m_; }

  void time_derivative(double t, const double* y, double* ft) override {
    if (!timed_) return Equations::time_derivative(t, y, ft);
    difference_in_time(t, y, ft, scratch_);
  }

  void jacobian(double t, const double* y) override {
    prepare();
    for (auto* B : {&Bq_, &Bv_, &Ba_, &Bm_}) std::fill(B->begin(), B->end(), 0.0);
    if (level_) {
      load(t, y);
      for (std::size_t b = 0; b < bodies(); ++b)
        std::copy_n(y + b * std::size_t(stride_) + 2 * np, node, kkt_rhs_.data() + b * std::size_t(node));
      std::copy_n(y + lambda_at_, multipliers_, lambda());
      pull_ties(y);
    } else
      solve_accelerations(t, y);
    for (std::size_t b = 0; b < bodies(); ++b) seed(y, int(b), false);
    for (std::size_t b = 0; b < bodies(); ++b) columns(t, y, int(b));
    linear_parts(y);
    for (std::size_t b = 0; b < turning_.size(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      turning_[b] = typename A::Turning(s + 3, s + np + 3);
      Vec3<double> torque = held_[b].R * guests_[b].torque;
      if (!ties_.empty()) {
        bent_[b] = typename A::Turning(s + 3, acceleration(int(b)) + 3).spin;
        torque -= pulled_[b];
      }
      part(Bq_, int(b), int(b)).block(3, 3, nq, nq) -= turning_[b].torque_turned(torque);
    }
  }

  // (62): positions by Newton's method with the matrix kept, then velocities, both in the metric of the mass.
  bool project(double t, double* y) override {
    if (level_ && !tied()) return false;
    bool moved = false;
    double before = std::numeric_limits<double>::infinity(), length = 1.0;
    for (int k = 0; k < 10; ++k) {
      kinematics(t, y);
      if (k == 0) length = length_of();
      const double gap = std::max(largest_gap(y, 0), measure_ties(HostTies::gap, t, y));
      if (gap < 2e-15 * length || !(gap < 0.9 * before)) break;
      before = gap;
      if (k == 0 || tied()) {
        assemble(y);
        if (!factor_kkt()) return moved;
      }
      constraint_rhs(y, 0);
      solve_kkt();
      for (std::size_t b = 0; b < bodies(); ++b)
        for (int i = 0; i < np; ++i) y[b * std::size_t(stride_) + std::size_t(i)] += acceleration(int(b))[i];
      release(HostTies::gap);
      moved = true;
    }
    torn_ = !(largest_gap(y, 0) <= largest_gap_allowed * length);
    double size = 0.0;
    for (std::size_t b = 0; b < bodies(); ++b)
      for (int i = 0; i < np; ++i) size = std::max(size, std::abs(y[b * std::size_t(stride_) + std::size_t(np + i)]));
    if (largest_gap(y, 1) <= 1e-15 * size && !tied()) return moved;
    measure_ties(HostTies::rate, t, y);
    assemble(y);
    if (!factor_kkt()) return moved;
    constraint_rhs(y, 1);
    solve_kkt();
    release(HostTies::rate);
    for (std::size_t b = 0; b < bodies(); ++b)
      for (int i = 0; i < np; ++i) y[b * std::size_t(stride_) + std::size_t(np + i)] += acceleration(int(b))[i];
    return true;
  }

  void motion(double, const double* y, BodyMotion<double>* out) override {
    for (std::size_t b = 0; b < bodies(); ++b) out[b] = read<double>(y + b * std::size_t(stride_));
  }
  void host_motion(double t, const double* y, BodyMotion<double>* out) override {
    motion(t, y, out);
    for (std::size_t b = 0; b < bodies(); ++b) A::unit(y + b * std::size_t(stride_) + 3, out[b]);
  }
  void residual(double t, const double* y, double& position, double& velocity) override {
    kinematics(t, y);
    position = largest_gap(y, 0), velocity = largest_gap(y, 1);
  }
  double potential(double t, const double* y) override {
    motion(t, y, motions_.data());
    double V = 0.0;
    for (std::size_t b = 0; b < bodies(); ++b) V -= m_.bodies[b].mass * m_.gravity.dot(motions_[b].x);
    for (auto& f : m_.forces) V += f->potential(t, motions_.data());
    return V;
  }
  int multiplier_count() const override { return ni; }
  void multipliers(double t, const double* y, double* out) override {
    solve_accelerations(t, y);
    for (std::size_t b = 0; b < bodies(); ++b) std::copy_n(acceleration(int(b)) + np, ni, out + b * ni);
  }
  Counted::Tally operations(const double*, bool) override { return {}; }

  void accelerations(double t, const double* y, double* out) override {
    if (qr_)
      solve_by_nullspace(t, y);
    else
      solve_accelerations(t, y);
    for (std::size_t b = 0; b < bodies(); ++b) put_acceleration(y, b, acceleration(int(b)), out);
  }
  void stated_accelerations(double t, const double* y, double* out) override {
    if (!level_) return accelerations(t, y, out);
    for (std::size_t b = 0; b < bodies(); ++b) put_acceleration(y, b, y + b * std::size_t(stride_) + 2 * np, out);
  }
  void reactions(double t, const double* y, double* out) override {
    solve_accelerations(t, y);
    for (std::size_t j = 0; j < m_.joints.size(); ++j) {
      const JointPlace& p = m_.joints[j].place;
      const int body = p.b >= 0 ? p.b : p.a;
      const double sign = p.b >= 0 ? -1.0 : 1.0;
      Vec3<double> f = Vec3<double>::Zero(), m = f;
      const Mat3<double>& R = sides_[std::size_t(body)].R;
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const SideGradient<double>& g = p.b >= 0 ? gradient_[at_[j] + k].b : gradient_[at_[j] + k].a;
        const Matrix<double, 6, 1> w = twist_gradient<double>(g, R) * (sign * lambda()[at_[j] + k]);
        f += w.head<3>(), m += w.tail<3>();
      }
      const Vec3<double> x = sides_[std::size_t(body)].x;
      const Vec3<double> at = p.b >= 0 ? Vec3<double>(x + R * p.at_b) : p.at_b;
      m += (x - at).cross(f);
      for (int i = 0; i < 3; ++i) out[6 * j + std::size_t(i)] = f[i], out[6 * j + 3 + std::size_t(i)] = m[i];
    }
  }
  int tree_freedoms() const override { return 0; }
  void nullspace(double, const double*, double*) override {}
  int loop_rows(bool) const override { return 0; }
  void loop_gradient(double, const double*, bool, double*) override {}

private:
  std::size_t bodies() const { return m_.bodies.size(); }
  double* lambda() { return kkt_rhs_.data() + bodies() * std::size_t(node); }
  double* acceleration(int b) { return kkt_rhs_.data() + std::size_t(b) * std::size_t(node); }

  void put_acceleration(const double* y, std::size_t b, const double* a, double* out) const {
    const double* s = y + b * std::size_t(stride_);
    BodyMotion<double> m; // Omega' = 2 conj(p) p'', vector part
    m.R.setZero(), m.Omega = F::template spin<double>(s + 3, a + 3, m_.options);
    A::unit(s + 3, m);
    for (int i = 0; i < 3; ++i) out[6 * b + std::size_t(i)] = a[i], out[6 * b + 3 + std::size_t(i)] = m.Omega[i];
  }

  template <class S> BodyMotion<S> read(const S* s) const {
    return {Part<3>::of(s), Part<3>::of(s + np), F::template spin<S>(s + 3, s + np + 3, m_.options),
            F::template frame<S>(s + 3)};
  }
  template <class S> Side<S> side(const S* s) const {
    Side<S> out;
    out.x = Part<3>::of(s), out.v = Part<3>::of(s + np);
    A::template directors<S>(s + 3, s + np + 3, out.R, out.V);
    return out;
  }

  template <class S> static Row<S> scaled(Row<S> r, double c) {
    if (c == 1.0) return r;
    r.g = r.g * S(c), r.rate_in_time = r.rate_in_time * S(c), r.second = r.second * S(c);
    for (SideGradient<S>* g : {&r.a, &r.b}) {
      for (int i = 0; i < 3; ++i) g->x[i] = g->x[i] * S(c);
      for (int i = 0; i < 9; ++i) g->d(i % 3, i / 3) = g->d(i % 3, i / 3) * S(c);
    }
    return r;
  }
  // Internal constraints of a body, scaled.
  template <class S> void internal(std::size_t b, const S* s, S* g, S* rate, S* second, S (*G)[nq]) const {
    A::template constraint<S>(s + 3, s + np + 3, g, rate, second, G);
    const double c = body_scale_[b];
    if (c == 1.0) return;
    for (int i = 0; i < ni; ++i) {
      g[i] = g[i] * S(c), rate[i] = rate[i] * S(c), second[i] = second[i] * S(c);
      for (int k = 0; k < nq; ++k) G[i][k] = G[i][k] * S(c);
    }
  }

  // Kinematics, loads and constraint rows at (t, y).
  void load(double t, const double* y) {
    kinematics(t, y);
    for (std::size_t b = 0; b < bodies(); ++b) {
      motions_[b] = read<double>(y + b * std::size_t(stride_));
      wrenches_[b].clear();
      wrenches_[b].force = m_.bodies[b].mass * m_.gravity;
    }
    if (!guests_.empty()) host_motion(t, y, held_.data());
    for (Wrench<double>& w : guests_) w.clear();
    for (auto& f : m_.forces) {
      const bool guests = f->by_guests();
      f->apply(t, (guests ? held_ : motions_).data(), (guests ? guests_ : wrenches_).data());
    }
    for (std::size_t b = 0; b < guests_.size(); ++b)
      wrenches_[b].force += guests_[b].force, wrenches_[b].torque += guests_[b].torque;
  }
  void kinematics(double t, const double* y) {
    for (std::size_t b = 0; b < bodies(); ++b) sides_[b] = side<double>(y + b * std::size_t(stride_));
    for (std::size_t j = 0; j < m_.joints.size(); ++j) {
      if (!rows_[j].empty()) u_[j] = m_.joints[j].value(t);
      const JointPlace& p = m_.joints[j].place;
      const Side<double> a = p.a < 0 ? ground_side<double>() : sides_[std::size_t(p.a)];
      const Side<double> b = p.b < 0 ? ground_side<double>() : sides_[std::size_t(p.b)];
      const JointGeometry<double> q = geometry<double>(p, a, b);
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const std::size_t at = at_[j] + k;
        const Row<double> r = scaled<double>(evaluate_row<double>(rows_[j][k], p, q, u_[j]), joint_scale_[j]);
        gradient_[at] = {r.a, r.b};
        values_[at] = r.g, in_time_[at] = r.rate_in_time, second_[at] = r.second;
        rates_[at] = r.rate_in_time;
        for (int s = 0; s < 2; ++s) {
          const int body = s ? p.b : p.a;
          if (body < 0) continue;
          const SideGradient<double>& g = s ? r.b : r.a;
          const Side<double>& side = sides_[std::size_t(body)];
          rates_[at] += g.x.dot(side.v) + g.d.cwiseProduct(side.V).sum();
          second_[at] += A::template bend<double>(g.d, y + std::size_t(body * stride_) + np + 3);
        }
      }
    }
  }

  // Mass, internal and joint gradients: the matrix of (6).
  void assemble(const double* y) {
    kkt_->clear();
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      auto K = kkt_->block(int(b), int(b));
      put_mass(b, s, K.block(0, 0, np, np));
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, s, g, rate, second, G);
      for (int r = 0; r < ni; ++r)
        for (int c = 0; c < nq; ++c) K(np + r, 3 + c) = K(3 + c, np + r) = G[r][c];
    }
    for (std::size_t j = 0; j < m_.joints.size(); ++j)
      for (std::size_t k = 0; k < rows_[j].size(); ++k)
        each_side(y, j, k, [&](int body, const Matrix<double, np, 1>& g) {
          kkt_->block(int(bodies() + j), body).block(int(k), 0, 1, np) = g.transpose();
          kkt_->block(body, int(bodies() + j)).block(0, int(k), np, 1) = g;
        });
    for (std::size_t i = 0; i < ties_.size(); ++i) assemble_tie(y, int(i));
  }

  // --- ties: constraints with guests. In (6) each end of a guest has one, in stages each guest.
  void add_held(int i) {
    const Tie& tie = ties_[std::size_t(i)];
    Held k;
    if (tie.partner >= 0) k.ties.push_back(tie.partner);
    k.ties.push_back(i);
    k.first = tie.partner < 0 ? 0 : ties_[std::size_t(tie.partner)].rows;
    k.stays = k.first + tie.stays, k.all = k.first + tie.rows;
    k.mass = mass_of(std::size_t(tie.body)), k.scale = k.mass * tie.weight, k.at = size_;
    const std::size_t n = std::size_t(k.all);
    k.C.resize(n * n), k.others.resize(n * n), k.rows.resize(n), k.mu.resize(n), k.acts.resize(n), k.pivots.resize(n);
    size_ += 3;
    held_strains_.push_back(std::move(k));
  }
  // The patterns of stages with what guests link in them.
  GYROD_COLD void weave() {
    Graph g = graph_;
    for (const auto& [a, b] : m_.met) g.pairs.emplace_back(std::minmax(a, b));
    add_stage_ties(g.sizes, g.pairs, g.after);
    stage_pattern_ = BlockPattern(g.sizes, g.pairs, g.after);
    if (doubled_) {
      for (std::size_t n = 0; n < bodies() + m_.joints.size(); ++n) g.sizes[n] *= 2;
      doubled_pattern_ = BlockPattern(g.sizes, g.pairs, g.after);
    }
    real_.reset(), complex_.reset();
  }
  bool tied() const { return !ties_.empty() && !loose_; }
  int tie_node(int i) const { return int(bodies() + m_.joints.size()) + i; }
  void add_ties(std::vector<int>& sizes, std::vector<std::pair<int, int>>& pairs,
                std::vector<std::vector<int>>& after) const {
    for (int i = 0; i < int(ties_.size()); ++i) {
      const Tie& tie = ties_[std::size_t(i)];
      sizes.push_back(tie.rows), after.push_back({tie.body});
      pairs.emplace_back(tie.body, tie_node(i));
      if (tie.partner > i) pairs.emplace_back(tie_node(i), tie_node(tie.partner));
    }
  }
  void add_stage_ties(std::vector<int>& sizes, std::vector<std::pair<int, int>>& pairs,
                      std::vector<std::vector<int>>& after) const {
    if (ties_.empty()) return;
    const TieLinks links = m_.ties->tie_links();
    for (int i = 0; i < int(ties_.size()); ++i)
      if (ties_[std::size_t(i)].partner <= i) sizes.push_back(3), after.emplace_back();
    for (const auto& [tie, body] : links.bodies) {
      pairs.emplace_back(body, tie_node(tie));
      after[std::size_t(tie_node(tie))].push_back(body);
    }
    for (const auto& [a, b] : links.ties)
      if (a < b) pairs.emplace_back(tie_node(a), tie_node(b));
  }
  // Its rows by accelerations of its body, and the generalised forces of its multipliers: f(number, row, column).
  template <class G> void each_row(const double* y, int i, G&& f) const {
    const Tie& tie = ties_[std::size_t(i)];
    const double* s = y + std::size_t(tie.body * stride_);
    const typename A::Turning turned(s + 3, s + np + 3);
    for (int r = 0; r < tie.rows; ++r) {
      Twist g = Twist::Zero();
      if (!loose_) m_.ties->tie_row(i, r, g);
      Matrix<double, np, 1> row, column;
      row << g.head<3>(), turned.swing.transpose() * g.tail<3>();
      column << g.head<3>(), turned.torque * g.tail<3>();
      f(r, row, column);
    }
  }
  void assemble_tie(const double* y, int i) {
    const Tie& tie = ties_[std::size_t(i)];
    const int n = tie_node(i);
    each_row(y, i, [&](int r, const Matrix<double, np, 1>& row, const Matrix<double, np, 1>& column) {
      kkt_->block(n, tie.body).block(r, 0, 1, np) = row.transpose();
      kkt_->block(tie.body, n).block(0, r, np, 1) = column;
      for (int j : {i, tie.partner})
        for (int c = 0; j >= 0 && c < ties_[std::size_t(j)].rows; ++c)
          kkt_->block(n, tie_node(j))(r, c) = loose_ ? -double(i == j && r == c) : -m_.ties->tie_compliance(i, r, j, c);
    });
  }
  // Where accelerations are unknowns, so is of each guest the section force that stays in stages, by mass of the body;
  // all others follow from compliance mu = rows a + values, and its own row of that is left over.
  void pull_ties(const double* y) {
    if (!tied()) return;
    for (Held& k : held_strains_) {
      const int n = k.size();
      std::fill(k.rows.begin(), k.rows.end(), 0.0);
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
          k.C[std::size_t(c * n + r)] = m_.ties->tie_compliance(k.tie(r), k.row(r), k.tie(c), k.row(c));
      for (int i : k.ties) {
        const int first = i == k.ties[0] ? 0 : k.first;
        const double* a = y + std::size_t(ties_[std::size_t(i)].body * stride_) + 2 * np;
        each_row(y, i, [&](int r, const Matrix<double, np, 1>& row, const Matrix<double, np, 1>&) {
          k.rows[std::size_t(first + r)] = m_.ties->tie_value(i, r) + row.dot(Part<np>::of(a));
          k.acts[std::size_t(first + r)] = row.squaredNorm() > 0.0;
        });
      }
      const double* nu = y + k.at;
      for (int c = 0; c < 3; ++c)
        for (int r = 0; r < n; ++r)
          k.rows[std::size_t(r)] -= k.C[std::size_t((k.stays + c) * n + r)] * (k.scale * nu[c]);
      // The others, solved for beside it.
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
          const bool apart = k.own(r) || k.own(c);
          k.others[std::size_t(c * n + r)] = apart ? double(r == c) : k.C[std::size_t(c * n + r)];
        }
      k.mu = k.rows;
      for (int r = 0; r < 3; ++r) k.mu[std::size_t(k.stays + r)] = 0.0;
      if (!factor_dense(n, k.others.data(), k.pivots.data())) return give_up(y, "held strains are singular here");
      solve_dense(n, k.others.data(), k.pivots.data(), k.mu.data());
      for (int r = 0; r < 3; ++r) {
        const std::size_t row = std::size_t(k.stays + r);
        k.left[std::size_t(r)] = k.rows[row];
        for (int c = 0; c < n; ++c)
          k.left[std::size_t(r)] -= k.C[std::size_t(c * n + k.stays + r)] * k.mu[std::size_t(c)];
        k.mu[row] = k.scale * nu[r];
        if (!k.acts[row]) k.left[std::size_t(r)] = nu[r] * k.mass; // of what is not held there is no force
      }
      for (int r = 0; r < n; ++r) tie_force(k.tie(r))[k.row(r)] = k.mu[std::size_t(r)];
    }
    release(HostTies::second);
  }
  double* tie_force(int i) { return kkt_rhs_.data() + kkt_pattern_.offset(tie_node(i)); }
  double measure_ties(HostTies::Level level, double t, const double* y) {
    if (!tied()) return 0.0;
    host_motion(t, y, held_.data());
    return m_.ties->measure_ties(level, t, held_.data());
  }
  void tie_rhs() {
    for (int i = 0; i < int(ties_.size()); ++i)
      for (int r = 0; r < ties_[std::size_t(i)].rows; ++r) tie_force(i)[r] = loose_ ? 0.0 : -m_.ties->tie_value(i, r);
  }
  // What the guests make of the multipliers, and the torques on bodies.
  void release(HostTies::Level level) {
    if (!tied()) return;
    std::vector<double>& mu = tie_forces_;
    mu.clear();
    for (Vec3<double>& x : pulled_) x.setZero();
    for (int i = 0; i < int(ties_.size()); ++i)
      for (int r = 0; r < ties_[std::size_t(i)].rows; ++r) {
        Twist g;
        m_.ties->tie_row(i, r, g);
        mu.push_back(tie_force(i)[r]);
        pulled_[std::size_t(ties_[std::size_t(i)].body)] += mu.back() * g.tail<3>();
      }
    m_.ties->release_ties(level, mu.data());
  }
  // Mass matrix of a body and of what moves with it.
  void put_mass(std::size_t b, const double* s, Grid<double> M) const {
    for (int i = 0; i < 3; ++i) M(i, i) = m_.bodies[b].mass;
    for (int c = 0; c < nq; ++c)
      M.block(3, 3 + c, nq, 1) = A::template mass<double>(m_.bodies[b], m_.options, s + 3, Rotation<double>::Unit(c));
    for (int c = 0; c < np && lump_of(b); ++c) {
      const Matrix<double, np, 1> a = Matrix<double, np, 1>::Unit(c);
      M.block(0, c, np, 1) += lump_force<double>(*lump_of(b), s + 3, nullptr, a);
    }
  }
  // Applied forces less what velocities make of inertia.
  void put_force(std::size_t b, const double* s, double* r) const {
    const Wrench<double>& w = wrenches_[b];
    Part<3>::put(r, w.force);
    Part<nq>::put(r + 3, A::template force<double>(m_.bodies[b], m_.options, s + 3, s + np + 3, w.directors, w.torque));
    if (const Lump* l = lump_of(b))
      Part<np>::put(r, Matrix<double, np, 1>(Part<np>::of(r) -
                                             lump_force<double>(*l, s + 3, s + np + 3, Matrix<double, np, 1>::Zero())));
  }
  const Lump* lump_of(std::size_t b) const {
    return m_.lumps.empty() || m_.lumps[b].mass == 0.0 ? nullptr : &m_.lumps[b];
  }
  double mass_of(std::size_t b) const { return m_.bodies[b].mass + (lump_of(b) ? lump_of(b)->mass : 0.0); }
  // M a of point masses x + sum r_n d_n, whose inertia in x and directors is constant; w: with what velocities add.
  template <class S>
  static Matrix<S, np, 1> lump_force(const Lump& l, const S* q, const S* w, const Matrix<S, np, 1>& a) {
    Mat3<double> second = -l.second; // sum m r r'
    second.add_to_diagonal(0.5 * l.second.diagonal().sum());
    const Vec3<S> x = a.template head<3>(), first = l.first.template cast<S>();
    Mat3<S> R, d;
    A::template directors<S>(q, a.data() + 3, R, d);
    if (w) d += A::template bent<S>(w);
    Matrix<S, np, 1> f;
    f << S(l.mass) * x + d * first,
        A::template pull<S>(Mat3<S>(d * second.template cast<S>() + x * first.transpose()), q);
    return f;
  }
  template <class G> void each_side(const double* y, std::size_t j, std::size_t k, G&& visit) const {
    const JointPlace& p = m_.joints[j].place;
    for (int s = 0; s < 2; ++s) {
      const int body = s ? p.b : p.a;
      if (body < 0) continue;
      const SideGradient<double>& g = s ? gradient_[at_[j] + k].b : gradient_[at_[j] + k].a;
      Matrix<double, np, 1> full;
      full << g.x, A::template pull<double>(g.d, y + std::size_t(body * stride_) + 3);
      visit(body, full);
    }
  }

  // Factors of the matrix of (6), with the rows of cut joints regularised as in loops.hpp.
  bool factor_kkt() {
    if (m_.cuts.empty()) return kkt_->factor();
    kkt_copy_ = kkt_->values();
    for (int cut : m_.cuts) {
      const std::size_t j = std::size_t(cut);
      auto K = kkt_->block(int(bodies() + j), int(bodies() + j));
      const JointPlace& p = m_.joints[j].place;
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        double size = 0.0; // about the diagonal of G M^-1 G'
        for (int s = 0; s < 2; ++s) {
          const int body = s ? p.b : p.a;
          if (body < 0) continue;
          const RigidBody& b = m_.bodies[std::size_t(body)];
          const SideGradient<double>& g = s ? gradient_[at_[j] + k].b : gradient_[at_[j] + k].a;
          const auto w = twist_gradient<double>(g, sides_[std::size_t(body)].R);
          size += w.template head<3>().squaredNorm() / mass_of(std::size_t(body)) +
                  3.0 * w.template tail<3>().squaredNorm() / b.moments.sum();
        }
        K(int(k), int(k)) -= LoopSystem::regularisation * size;
      }
    }
    return kkt_->factor();
  }
  void solve_kkt() {
    if (m_.cuts.empty()) return kkt_->solve(kkt_rhs_.data());
    rest_ = kkt_rhs_;
    std::fill(kkt_rhs_.begin(), kkt_rhs_.end(), 0.0);
    for (int k = 0; k < LoopSystem::refinements; ++k) {
      step_ = rest_;
      kkt_->solve(step_.data());
      for (std::size_t i = 0; i < step_.size(); ++i) kkt_rhs_[i] += step_[i];
      if (k + 1 == LoopSystem::refinements) break;
      const auto subtract = [&](int i, int j) {
        const Grid<double> K(kkt_copy_.data() + kkt_pattern_.block(i, j), kkt_pattern_.size(i), kkt_pattern_.size(j));
        K.subtract_product(step_.data() + kkt_pattern_.offset(j), rest_.data() + kkt_pattern_.offset(i));
      };
      for (int v = 0; v < kkt_pattern_.nodes(); ++v) {
        subtract(v, v);
        for (int a : kkt_pattern_.later(v)) subtract(v, a), subtract(a, v);
      }
    }
  }

  void solve_accelerations(double t, const double* y) {
    load(t, y);
    assemble(y);
    if (!factor_kkt()) return give_up(y, "the constraints are singular here");
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      double* r = acceleration(int(b));
      put_force(b, s, r);
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, s, g, rate, second, G);
      for (int i = 0; i < ni; ++i) r[np + i] = -stabilised(second[i], rate[i], g[i]);
    }
    for (std::size_t k = 0; k < multipliers_; ++k) lambda()[k] = -stabilised(second_[k], rates_[k], values_[k]);
    tie_rhs();
    solve_kkt();
    release(HostTies::second);
  }
  template <class S> S stabilised(const S& second, const S& rate, const S& g) const { // Baumgarte
    const double w = m_.options.baumgarte_omega;
    if (w <= 0.0) return second;
    return second + S(2.0 * m_.options.baumgarte_r) * rate + S(w * w) * g;
  }

  // The same accelerations without multipliers: a null space of all rows by a QR factorisation with pivoting, whatever
  // their rank. Dense; for comparison and for constraints of any kind.
  void solve_by_nullspace(double t, const double* y) {
    load(t, y);
    const int N = int(bodies()) * np + kkt_ties_, rows = int(bodies()) * ni + int(multipliers_);
    std::vector<double> gradient(std::size_t(N * rows)), mass(std::size_t(N * N));
    std::vector<double> second(static_cast<std::size_t>(rows)), psi(static_cast<std::size_t>(N)), a(psi.size());
    const Grid<double> Gt(gradient.data(), N, rows), M(mass.data(), N, N);
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      const int at = int(b) * np;
      put_mass(b, s, M.block(at, at, np, np));
      put_force(b, s, psi.data() + at);
      double g[ni], rate[ni], curved[ni], G[ni][nq];
      internal<double>(b, s, g, rate, curved, G);
      for (int r = 0; r < ni; ++r) {
        second[b * ni + std::size_t(r)] = stabilised(curved[r], rate[r], g[r]);
        for (int c = 0; c < nq; ++c) Gt(at + 3 + c, int(b) * ni + r) = G[r][c];
      }
    }
    for (std::size_t j = 0; j < m_.joints.size(); ++j)
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const int r = int(bodies()) * ni + int(at_[j] + k);
        second[std::size_t(r)] = stabilised(second_[at_[j] + k], rates_[at_[j] + k], values_[at_[j] + k]);
        each_side(y, j, k, [&](int body, const Matrix<double, np, 1>& g) { Gt.block(body * np, r, np, 1) = g; });
      }
    for (int i = 0, n = N - kkt_ties_; i < int(ties_.size()); n += ties_[std::size_t(i++)].rows) { // beside bodies
      const Tie& tie = ties_[std::size_t(i)];
      each_row(y, i, [&](int r, const Matrix<double, np, 1>& row, const Matrix<double, np, 1>& column) {
        M.block(n + r, tie.body * np, 1, np) = row.transpose();
        M.block(tie.body * np, n + r, np, 1) = column;
        psi[std::size_t(n + r)] = -m_.ties->tie_value(i, r);
        for (int j : {i, tie.partner})
          for (int c = 0; j >= 0 && c < ties_[std::size_t(j)].rows; ++c)
            M(n + r, n +
                         (j == i  ? 0
                          : j > i ? tie.rows
                                  : -ties_[std::size_t(j)].rows) +
                         c) = -m_.ties->tie_compliance(i, r, j, c);
      });
    }
    if (!accelerate_by_nullspace(N, rows, mass.data(), gradient.data(), second.data(), psi.data(), a.data()))
      return give_up(y, "the mass matrix is singular here");
    for (std::size_t b = 0; b < bodies(); ++b)
      for (int i = 0; i < np; ++i) acceleration(int(b))[i] = a[b * np + std::size_t(i)];
    std::copy_n(a.data() + N - kkt_ties_, kkt_ties_, ties_.empty() ? nullptr : tie_force(0));
    release(HostTies::second);
  }

  // No accelerations, which is an error unless a trial of a step was far too long: rotations are none any more.
  void give_up(const double* y, const char* reason) {
    bool wild = false;
    for (std::size_t b = 0; b < bodies(); ++b) {
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, y + b * std::size_t(stride_), g, rate, second, G);
      for (double gap : g) wild = wild || !(std::abs(gap) < 0.1 * body_scale_[b]);
    }
    if (!wild) throw std::runtime_error(reason);
    std::fill(kkt_rhs_.begin(), kkt_rhs_.end(), std::numeric_limits<double>::quiet_NaN());
  }
  double length_of() const { // of the mechanism, a metre at least
    double length = 1.0;
    for (const Side<double>& s : sides_) length = std::max(length, s.x.cwiseAbs().maxCoeff());
    return length;
  }
  double largest_gap(const double* y, int order) const {
    double gap = 0.0;
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, s, g, rate, second, G);
      for (int i = 0; i < ni; ++i) gap = std::max(gap, std::abs(order ? rate[i] : g[i]) / body_scale_[b]);
    }
    for (std::size_t j = 0; j < rows_.size(); ++j)
      for (std::size_t k = at_[j]; k < at_[j] + rows_[j].size(); ++k)
        gap = std::max(gap, std::abs(order ? rates_[k] : values_[k]) / joint_scale_[j]);
    return gap;
  }
  void constraint_rhs(const double* y, int order) {
    std::fill(kkt_rhs_.begin(), kkt_rhs_.end(), 0.0);
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, s, g, rate, second, G);
      for (int i = 0; i < ni; ++i) acceleration(int(b))[np + i] = -(order ? rate[i] : g[i]);
    }
    for (std::size_t k = 0; k < multipliers_; ++k) lambda()[k] = -(order ? rates_[k] : values_[k]);
    tie_rhs();
  }

  // --- levels 1 to 3

  template <class S> S at_level(const S& g, const S& rate, const S& second) const {
    return level_ == 3 ? g : level_ == 2 ? rate : second;
  }
  void residuals(double t, const double* y, double* f) {
    load(t, y);
    pull_ties(y);
    for (std::size_t b = 0; b < bodies(); ++b) {
      const double* s = y + b * std::size_t(stride_);
      double* o = f + b * std::size_t(stride_);
      const double *a = s + 2 * np, *mu = a + np;
      for (int i = 0; i < np; ++i) o[i] = s[np + i], o[np + i] = a[i];
      double r[np], c[ni];
      Wrench<double> w = wrenches_[b];
      dynamics<double>(int(b), s, a, mu, w, r, c);
      for (int i = 0; i < np; ++i) o[2 * np + i] = -r[i];
      for (int i = 0; i < ni; ++i) o[3 * np + i] = -c[i];
      if (!doubled_) continue;
      double g[ni], rate[ni], second[ni], G[ni][nq];
      internal<double>(b, s, g, rate, second, G);
      for (int k = 0; k < ni; ++k) {
        o[3 * np + ni + k] = -g[k];
        for (int i = 0; i < nq; ++i) o[3 + i] -= G[k][i] / body_scale_[b] * s[3 * np + ni + k];
      }
    }
    for (std::size_t j = 0; j < m_.joints.size(); ++j)
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const std::size_t at = at_[j] + k;
        double second = second_[at];
        each_side(y, j, k, [&](int body, const Matrix<double, np, 1>& g) {
          const double* a = y + std::size_t(body * stride_) + 2 * np;
          double* o = f + std::size_t(body * stride_) + 2 * np;
          for (int i = 0; i < np; ++i) second += g[i] * a[i], o[i] -= g[i] * y[lambda_at_ + at];
          for (int i = 0; i < np && doubled_; ++i)
            o[i - 2 * np] -= g[i] / joint_scale_[j] * y[lambda_at_ + multipliers_ + at];
        });
        if (doubled_) f[lambda_at_ + multipliers_ + at] = -values_[at];
        f[lambda_at_ + at] = -at_level<double>(values_[at], rates_[at], stabilised(second, rates_[at], values_[at]));
      }
    for (const Held& k : held_strains_)
      for (int r = 0; r < 3; ++r) f[k.at + std::size_t(r)] = -k.left[std::size_t(r)];
    for (int i = 0; tied() && i < int(ties_.size()); ++i)
      each_row(y, i, [&](int r, const Matrix<double, np, 1>&, const Matrix<double, np, 1>& column) {
        double* o = f + std::size_t(ties_[std::size_t(i)].body * stride_) + 2 * np;
        for (int k = 0; k < np; ++k) o[k] -= column[k] * tie_force(i)[r];
      });
  }
  // r = M a + Gi' mu - psi of a body, and its internal constraints on the level asked for.
  template <class S>
  void dynamics(int b, const S* s, const double* a, const double* mu, const Wrench<S>& w, S* r, S* c) const {
    const RigidBody& body = m_.bodies[std::size_t(b)];
    Rotation<S> aq;
    for (int i = 0; i < nq; ++i) aq[i] = S(a[3 + i]);
    const Rotation<S> inertia = A::template mass<S>(body, m_.options, s + 3, aq);
    const Rotation<S> psi = A::template force<S>(body, m_.options, s + 3, s + np + 3, w.directors, w.torque);
    for (int i = 0; i < 3; ++i) r[i] = S(body.mass * a[i]) - w.force[i];
    for (int i = 0; i < nq; ++i) r[3 + i] = inertia[i] - psi[i];
    if (const Lump* l = lump_of(std::size_t(b))) {
      const Matrix<S, np, 1> f = lump_force<S>(*l, s + 3, s + np + 3, Part<np>::of(a).template cast<S>());
      for (int i = 0; i < np; ++i) r[i] += f[i];
    }
    S g[ni], rate[ni], second[ni], G[ni][nq];
    internal<S>(std::size_t(b), s, g, rate, second, G);
    for (int i = 0; i < nq; ++i)
      for (int k = 0; k < ni; ++k) r[3 + i] += G[k][i] * S(mu[k]), second[k] += G[k][i] * S(a[3 + i]);
    for (int k = 0; k < ni; ++k) {
      const S curved = stabilised<S>(second[k], rate[k], g[k]);
      c[k] = level_ ? at_level<S>(g[k], rate[k], curved) : curved;
    }
  }

  // --- linear systems of implicit methods

  void prepare() {
    if (real_) return;
    for (auto* B : {&Bq_, &Bv_, &Ba_, &Bm_}) B->resize(stage_pattern_.storage());
    const BlockPattern& pattern = doubled_ ? doubled_pattern_ : stage_pattern_;
    real_ = std::make_unique<Stage<double>>(pattern);
    complex_ = std::make_unique<Stage<Complex>>(pattern);
    affected_.reserve(bodies());
    dual_states_.resize(bodies() * std::size_t(2 * np));
  }
  Grid<double> part(std::vector<double>& B, int i, int j) {
    return {B.data() + stage_pattern_.block(i, j), stage_pattern_.size(i), stage_pattern_.size(j)};
  }

  void seed(const double* y, int b, bool variable) {
    const double* s = y + std::size_t(b * stride_);
    BodyDual* z = dual_states_.data() + std::size_t(b) * std::size_t(2 * np);
    for (int i = 0; i < 2 * np; ++i) z[i] = variable ? BodyDual::seed(s[i], i) : BodyDual(s[i]);
    if (!m_.forces.empty()) dual_motions_[std::size_t(b)] = read<BodyDual>(z);
  }
  // Derivatives of everything that depends on the state of body b.
  void columns(double t, const double* y, int b) {
    seed(y, b, true);
    affected_.assign(1, b);
    for (std::size_t f : acting_[std::size_t(b)])
      for (int a : m_.forces[f]->bodies())
        if (std::find(affected_.begin(), affected_.end(), a) == affected_.end()) affected_.push_back(a);
    for (int a : affected_) {
      dual_wrenches_[std::size_t(a)].clear();
      dual_wrenches_[std::size_t(a)].force = (m_.bodies[std::size_t(a)].mass * m_.gravity).template cast<BodyDual>();
    }
    for (std::size_t f : acting_[std::size_t(b)]) m_.forces[f]->apply(t, dual_motions_.data(), dual_wrenches_.data());
    for (int a : affected_) {
      BodyDual r[np], c[ni];
      dynamics<BodyDual>(a, dual_states_.data() + std::size_t(a) * std::size_t(2 * np), acceleration(a),
                         acceleration(a) + np, dual_wrenches_[std::size_t(a)], r, c);
      for (int i = 0; i < np; ++i) spread(a, b, i, r[i]);
      if (a == b)
        for (int i = 0; i < ni; ++i) spread(a, b, np + i, c[i]);
    }
    for (int j : joints_of_[std::size_t(b)]) {
      const JointPlace& p = m_.joints[std::size_t(j)].place;
      const auto state = [&](int body) { return dual_states_.data() + std::size_t(body) * std::size_t(2 * np); };
      const Side<BodyDual> sa = p.a < 0 ? ground_side<BodyDual>() : side<BodyDual>(state(p.a));
      const Side<BodyDual> sb = p.b < 0 ? ground_side<BodyDual>() : side<BodyDual>(state(p.b));
      const JointGeometry<BodyDual> q = geometry<BodyDual>(p, sa, sb);
      for (std::size_t k = 0; k < rows_[std::size_t(j)].size(); ++k) {
        const std::size_t at = at_[std::size_t(j)] + k;
        const Row<BodyDual> row = scaled<BodyDual>(
            evaluate_row<BodyDual>(rows_[std::size_t(j)][k], p, q, u_[std::size_t(j)]), joint_scale_[std::size_t(j)]);
        BodyDual second = row.second, rate = row.rate_in_time;
        for (int s = 0; s < 2; ++s) {
          const int body = s ? p.b : p.a;
          if (body < 0) continue;
          const SideGradient<BodyDual>& g = s ? row.b : row.a;
          const Side<BodyDual>& side = s ? sb : sa;
          second += A::template bend<BodyDual>(g.d, state(body) + np + 3);
          for (int n = 0; n < 3; ++n) rate += g.x[n] * side.v[n] + g.d.col(n).dot(side.V.col(n));
          const Rotation<BodyDual> pulled = A::template pull<BodyDual>(g.d, state(body) + 3);
          for (int i = 0; i < np; ++i) {
            const BodyDual gi = i < 3 ? g.x[i] : pulled[i - 3];
            second += gi * BodyDual(acceleration(body)[i]);
            spread(body, b, i, gi * BodyDual(lambda()[at]));
          }
        }
        const BodyDual curved = stabilised<BodyDual>(second, rate, row.g);
        spread(int(bodies()) + j, b, int(k), level_ ? at_level<BodyDual>(row.g, rate, curved) : curved);
      }
    }
    seed(y, b, false);
  }
  void spread(int i, int b, int row, const BodyDual& x) {
    auto Q = part(Bq_, i, b), V = part(Bv_, i, b);
    for (int c = 0; c < np; ++c) Q(row, c) += x.d[std::size_t(c)], V(row, c) += x.d[std::size_t(np + c)];
  }
  // What is linear: accelerations and multipliers.
  void linear_parts(const double* y) {
    assemble(y);
    for (std::size_t b = 0; b < bodies(); ++b) {
      const int i = int(b);
      auto K = kkt_->block(i, i);
      part(Ba_, i, i).block(0, 0, np, np) = K.block(0, 0, np, np);
      part(Bm_, i, i).block(0, np, np, ni) = K.block(0, np, np, ni);
      if (level_ <= 1) part(Ba_, i, i).block(np, 0, ni, np) = K.block(np, 0, ni, np);
    }
    for (std::size_t j = 0; j < m_.joints.size(); ++j)
      for (int body : {m_.joints[j].place.a, m_.joints[j].place.b}) {
        if (body < 0 || rows_[j].empty()) continue;
        const int n = int(bodies() + j);
        part(Bm_, body, n) = kkt_->block(body, n);
        if (level_ <= 1) part(Ba_, n, body) = kkt_->block(n, body);
      }
    for (int c : limited_) restrict(m_.cuts[std::size_t(c)]);
  }
  // Of an overconstrained cut those combinations of rows and multipliers that act (loops.hpp); the others are zero.
  void restrict(int joint) {
    const int n = int(bodies()) + joint;
    for (int body : {m_.joints[std::size_t(joint)].place.a, m_.joints[std::size_t(joint)].place.b}) {
      if (body < 0) continue;
      for (auto* B : {&Bq_, &Bv_, &Ba_}) {
        const auto rows = part(*B, n, body);
        for (int j = 0; j < rows.cols(); ++j) kkt_->project(n, &rows(0, j));
      }
      const auto forces = part(Bm_, body, n);
      for (int i = 0; i < forces.rows(); ++i) kkt_->project(n, &forces(i, 0), forces.rows());
    }
    const auto own = part(Bm_, n, n);
    for (int j = 0; j < own.cols(); ++j) {
      std::array<double, 6> kept{};
      kept[std::size_t(j)] = 1.0;
      kkt_->project(n, kept.data());
      for (int i = 0; i < own.rows(); ++i) own(i, j) = (i == j) - kept[std::size_t(i)];
    }
  }
  template <class G> void each_block(G&& g) const {
    for (int v = 0; v < stage_pattern_.nodes(); ++v) {
      g(v, v);
      for (int a : stage_pattern_.later(v)) g(v, a), g(a, v);
    }
  }
  // What guests make of the row of one host, or of a tie, by positions and accelerations of another.
  template <class S> struct Linked {
    int row, column, rows;
    Matrix<S, np, np> by_place, by_acceleration;
  };
  template <class S> struct Stage {
    explicit Stage(const BlockPattern& pattern) : lu(pattern), r(std::size_t(pattern.total())) {}
    BlockLu<S> lu;
    std::vector<S> r, a;
    std::vector<Linked<S>> linked;
    S shift{};
  };
  // A wrench (torque, force) as a generalised force.
  template <class S, int C> Matrix<S, np, C> generalised(int body, const Matrix<S, 6, C>& wrench) const {
    Matrix<S, np, C> out;
    out.template topRows<3>() = wrench.template bottomRows<3>();
    out.template bottomRows<nq>() =
        turning_[std::size_t(body)].torque.template cast<S>() * wrench.template topRows<3>();
    return out;
  }
  // Rows by turn, place, spin and velocity of a body (D), and by its accelerations (A), as rows by its coordinates.
  template <class S, int N> struct ByMotion {
    Matrix<S, N, np> place, speed, acceleration;
  };
  template <class S, int N>
  ByMotion<S, N> by_motion(int body, const Matrix<S, N, 12>& D, const Matrix<S, N, 6>& K) const {
    const typename A::Turning& turned = turning_[std::size_t(body)];
    const Matrix<S, N, 3> spin = D.template middleCols<3>(6), roll = K.template leftCols<3>();
    ByMotion<S, N> by;
    by.place << D.template middleCols<3>(3), D.template leftCols<3>() * turned.turn + spin * turned.spin;
    by.speed << D.template rightCols<3>(), spin * turned.swing;
    by.acceleration << K.template rightCols<3>(), roll * turned.swing;
    if (!ties_.empty()) by.place.template rightCols<nq>() += roll * bent_[std::size_t(body)];
    return by;
  }
  template <class S> void add_guest(Stage<S>& z, const HostBlock<S>& k, Linked<S>& linked) const {
    const ByMotion<S, 6> by = by_motion<S, 6>(k.column, k.D, k.A);
    linked = {k.row, k.column, np, generalised<S>(k.row, by.place), generalised<S>(k.row, by.acceleration)};
    const auto to = z.lu.block(k.row, k.column);
    if (doubled_) {
      to.block(0, 0, np, np) -= generalised<S>(k.row, by.speed) + z.shift * linked.by_acceleration;
      to.block(0, node, np, np) -= linked.by_place;
      return;
    }
    to.block(0, 0, np, np) -=
        generalised<S>(k.row, by.speed) + (S(1) / z.shift) * linked.by_place + z.shift * linked.by_acceleration;
  }
  template <class S> GYROD_COLD void add_tie(Stage<S>& z, const TieBlock<S>& k, Linked<S>& linked) const {
    const ByMotion<S, 3> by = by_motion<S, 3>(k.body, k.D, k.A);
    const int n = tie_node(k.tie);
    linked.row = n, linked.column = k.body, linked.rows = 3;
    linked.by_place.setZero(), linked.by_acceleration.setZero();
    linked.by_place.template topRows<3>() = -by.place, linked.by_acceleration.template topRows<3>() = -by.acceleration;
    const auto to = z.lu.block(n, k.body);
    to.block(0, 0, 3, np) += by.speed + z.shift * by.acceleration;
    if (doubled_)
      to.block(0, node, 3, np) += by.place;
    else
      to.block(0, 0, 3, np) += (S(1) / z.shift) * by.place;
    z.lu.block(k.body, n).block(0, 0, np, 3) += generalised<S>(k.body, k.wrench);
  }
  template <class S>
  bool factor_with(std::unique_ptr<Stage<S>>& kept, S shift, const std::vector<HostBlock<S>>* guests = nullptr,
                   const TieBlocks<S>* ties = nullptr) {
    Stage<S>& z = *kept;
    z.shift = shift;
    const S inverse = S(1.0) / shift;
    if (doubled_) put_doubled(z);
    each_block([&](int i, int j) {
      if (doubled_) return;
      const auto to = z.lu.block(i, j);
      const auto a = part(Ba_, i, j), v = part(Bv_, i, j), q = part(Bq_, i, j), m = part(Bm_, i, j);
      for (int c = 0; c < to.cols(); ++c)
        for (int r = 0; r < to.rows(); ++r) to(r, c) = shift * a(r, c) + v(r, c) + inverse * q(r, c) + m(r, c);
    });
    const std::size_t count = guests ? guests->size() : 0, held = ties ? ties->on.size() : 0;
    z.linked.resize(count + held);
    for (std::size_t k = 0; k < count; ++k) add_guest(z, (*guests)[k], z.linked[k]);
    for (std::size_t k = 0; k < held; ++k) add_tie(z, ties->on[k], z.linked[count + k]);
    for (std::size_t k = 0; ties && k < ties->own.size(); ++k)
      z.lu.block(tie_node(ties->own[k].row), tie_node(ties->own[k].column)).block(0, 0, 3, 3) += ties->own[k].D;
    return z.lu.factor();
  }
  // Stabilised: nodes have (v, mu, q, eta) and rows of forces, g', q' and g; only a = shift v - b_v is eliminated.
  template <class S> void put_doubled(Stage<S>& z) {
    each_block([&](int i, int j) {
      const auto to = z.lu.block(i, j);
      const auto a = part(Ba_, i, j), v = part(Bv_, i, j), q = part(Bq_, i, j), m = part(Bm_, i, j);
      const int rows = a.rows(), columns = a.cols();
      for (int c = 0; c < to.cols(); ++c)
        for (int r = 0; r < to.rows(); ++r) to(r, c) = S(0);
      if (std::max(i, j) >= tie_node(0)) return;
      const bool body = i < int(bodies()), by_body = j < int(bodies());
      for (int c = 0; c < columns; ++c)
        for (int r = 0; r < rows; ++r) {
          to(r, c) = z.shift * a(r, c) + v(r, c) + m(r, c);
          if (by_body) to(r, node + c) = q(r, c);
          if (body && r < np)
            to(node + r, columns + c) =
                m(r, c) / (by_body ? body_scale_[std::size_t(j)] : joint_scale_[std::size_t(j) - bodies()]);
        }
      for (int c = 0; c < np && i == j && body; ++c) {
        to(node + c, c) -= S(1), to(node + c, node + c) += z.shift;
        for (int k = np; k < node; ++k) to(node + k, node + c) = m(c, k);
      }
      if (!body && by_body) {
        const auto up = part(Bm_, j, i);
        for (int c = 0; c < np; ++c)
          for (int k = 0; k < rows; ++k) to(rows + k, node + c) = up(c, k);
      }
    });
  }
  // Where the numbers of a doubled node are in the state: f(its number, that of the state).
  template <class G> void each_doubled(G&& f) const {
    for (int b = 0; b < int(bodies()); ++b) {
      const std::size_t at = std::size_t(doubled_pattern_.offset(b)), s = std::size_t(b * stride_);
      for (std::size_t i = 0; i < std::size_t(node); ++i) f(at + i, s + 2 * np + i);
      for (std::size_t i = 0; i < std::size_t(np); ++i) f(at + node + i, s + i);
      for (std::size_t i = 0; i < std::size_t(ni); ++i) f(at + node + np + i, s + 3 * np + ni + i);
    }
    for (std::size_t j = 0; j < rows_.size(); ++j)
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const std::size_t at = std::size_t(doubled_pattern_.offset(int(bodies() + j))) + k;
        f(at, lambda_at_ + at_[j] + k), f(at + rows_[j].size(), lambda_at_ + multipliers_ + at_[j] + k);
      }
  }
  template <class S>
  void solve_doubled(Stage<S>& z, S* b, std::vector<HostVector<S>>* guests, std::vector<Vec3<S>>* ties) {
    std::vector<S>& r = z.r;
    const auto tie = [&](std::size_t k) { return r.data() + doubled_pattern_.offset(tie_node(int(k))); };
    each_doubled([&](std::size_t i, std::size_t k) { r[i] = b[k]; });
    each_block([&](int i, int j) {
      if (j >= int(bodies())) return;
      const auto Ba = part(Ba_, i, j);
      for (int c = 0; c < np; ++c)
        for (int k = 0; k < Ba.rows(); ++k)
          r[std::size_t(doubled_pattern_.offset(i) + k)] += Ba(k, c) * b[std::size_t(j * stride_ + np + c)];
    });
    for (std::size_t k = 0; guests && k < guests->size(); ++k) {
      const Matrix<S, np, 1> f = generalised<S>((*guests)[k].body, (*guests)[k].wrench);
      for (int i = 0; i < np; ++i) r[std::size_t(doubled_pattern_.offset((*guests)[k].body) + i)] += f[i];
    }
    for (std::size_t k = 0; ties && k < ties->size(); ++k)
      Part<3>::put(tie(k), Vec3<S>((*ties)[k] + Part<3>::of(b + held_strains_[k].at)));
    for (const Linked<S>& k : z.linked) {
      const Matrix<S, np, 1> f = k.by_acceleration * Part<np>::of(b + std::size_t(k.column * stride_ + np));
      for (int i = 0; i < k.rows; ++i) r[std::size_t(doubled_pattern_.offset(k.row) + i)] -= f[i];
    }
    z.lu.solve(r.data());
    take_solution(tie, ties, b);
    z.a.resize(ties_.empty() ? 0 : bodies() * np);
    each_doubled([&](std::size_t i, std::size_t k) { b[k] = r[i]; });
    for (std::size_t k = 0; k < bodies(); ++k)
      for (int i = 0; i < np; ++i) { // v was put where a is
        S* mine = b + k * std::size_t(stride_) + std::size_t(i);
        const S v = mine[2 * np];
        mine[2 * np] = z.shift * v - mine[np], mine[np] = v;
        if (!ties_.empty()) z.a[k * np + std::size_t(i)] = mine[2 * np];
      }
  }
  // With q = (v + b_q)/shift and a = shift v - b_v only v and the multipliers remain.
  template <class S>
  void solve_with(Stage<S>& z, S* b, std::vector<HostVector<S>>* guests = nullptr,
                  std::vector<Vec3<S>>* ties = nullptr) {
    if (doubled_)
      solve_doubled(z, b, guests, ties);
    else
      solve_halved(z, b, guests, ties);
    for (std::size_t i = 0; guests && i < guests->size(); ++i) {
      HostVector<S>& k = (*guests)[i];
      const S* mine = b + std::size_t(k.body * stride_);
      const typename A::Turning& turned = turning_[std::size_t(k.body)];
      const Rotation<S> q = Part<nq>::of(mine + 3), w = Part<nq>::of(mine + np + 3);
      k.motion << turned.turn.template cast<S>() * q, Part<3>::of(mine),
          turned.spin.template cast<S>() * q + turned.swing.template cast<S>() * w, Part<3>::of(mine + np);
      if (ties_.empty()) continue;
      const S* a = z.a.data() + std::size_t(k.body * np);
      k.acceleration << turned.swing.template cast<S>() * Part<nq>::of(a + 3) +
                            bent_[std::size_t(k.body)].template cast<S>() * q,
          Part<3>::of(a);
    }
  }
  template <class S>
  void solve_halved(Stage<S>& z, S* b, std::vector<HostVector<S>>* guests, std::vector<Vec3<S>>* ties) {
    std::vector<S>& r = z.r;
    const S shift = z.shift;
    std::fill(r.begin(), r.end(), S(0));
    if (level_) {
      for (std::size_t k = 0; k < bodies(); ++k)
        for (int i = 0; i < node; ++i)
          r[std::size_t(stage_pattern_.offset(int(k)) + i)] = b[k * std::size_t(stride_) + std::size_t(2 * np + i)];
      for (std::size_t k = 0; k < multipliers_; ++k) r[bodies() * std::size_t(node) + k] = b[lambda_at_ + k];
    }
    each_block([&](int i, int j) {
      if (j >= int(bodies())) return;
      const S* mine = b + std::size_t(j * stride_);
      const auto Ba = part(Ba_, i, j), Bq = part(Bq_, i, j);
      S* to = r.data() + stage_pattern_.offset(i);
      for (int c = 0; c < np; ++c) {
        const S v = mine[np + c], q = mine[c] / shift;
        for (int k = 0; k < Ba.rows(); ++k) to[k] += Ba(k, c) * v - Bq(k, c) * q;
      }
    });
    const auto add = [&](int body, const Matrix<S, np, 1>& f, int rows = np) {
      for (int i = 0; i < rows; ++i) r[std::size_t(stage_pattern_.offset(body) + i)] += f[i];
    };
    for (const Linked<S>& k : z.linked) {
      const S* mine = b + std::size_t(k.column * stride_);
      add(k.row, (S(1) / shift) * (k.by_place * Part<np>::of(mine)) - k.by_acceleration * Part<np>::of(mine + np),
          k.rows);
    }
    const auto tie = [&](std::size_t k) { return r.data() + stage_pattern_.offset(tie_node(int(k))); };
    for (std::size_t k = 0; ties && k < ties->size(); ++k)
      for (std::size_t i = 0; i < 3; ++i)
        tie(k)[i] += (*ties)[k][int(i)] + (level_ ? b[held_strains_[k].at + i] : S(0));
    if (guests)
      for (const HostVector<S>& k : *guests) add(k.body, generalised<S>(k.body, k.wrench));
    z.lu.solve(r.data());
    take_solution(tie, ties, b);
    z.a.resize(ties_.empty() ? 0 : bodies() * np);
    for (std::size_t k = 0; k < bodies(); ++k) {
      S* mine = b + k * std::size_t(stride_);
      const S* x = r.data() + stage_pattern_.offset(int(k));
      for (int i = 0; i < np; ++i) {
        const S v = x[i];
        if (!ties_.empty()) z.a[k * np + std::size_t(i)] = shift * v - mine[np + i];
        if (level_) mine[2 * np + i] = shift * v - mine[np + i];
        mine[i] = (v + mine[i]) / shift, mine[np + i] = v;
      }
      if (level_)
        for (int i = 0; i < ni; ++i) mine[3 * np + i] = x[np + i];
    }
    if (level_)
      for (std::size_t k = 0; k < multipliers_; ++k) b[lambda_at_ + k] = r[bodies() * std::size_t(node) + k];
  }

  // Section forces of a solution, for the guests and where they are unknowns.
  template <class T, class S> void take_solution(T&& tie, std::vector<Vec3<S>>* ties, S* b) const {
    for (std::size_t k = 0; ties && k < ties->size(); ++k) {
      (*ties)[k] = Part<3>::of(tie(k));
      if (level_) Part<3>::put(b + held_strains_[k].at, Vec3<S>((*ties)[k] * S(1.0 / held_strains_[k].mass)));
    }
  }

  // Its lines from the last to the first.
  GYROD_COLD void solve_transposed_with(Stage<double>& z, double* b, std::vector<HostVector<double>>* guests = nullptr,
                                        std::vector<Vec3<double>>* ties = nullptr) {
    if (doubled_) throw std::logic_error("the stabilised form has no transposed solutions");
    std::vector<double>& r = z.r;
    const double shift = z.shift;
    z.a.assign(ties_.empty() ? 0 : bodies() * np, 0.0); // weights of accelerations
    for (std::size_t i = 0; guests && i < guests->size(); ++i) {
      const HostVector<double>& k = (*guests)[i];
      double* mine = b + std::size_t(k.body * stride_);
      const typename A::Turning& turned = turning_[std::size_t(k.body)];
      const Vec3<double> turn = k.motion.template head<3>(), spin = k.motion.template segment<3>(6);
      const Rotation<double> q = turned.turn.transpose() * turn + turned.spin.transpose() * spin,
                             w = turned.swing.transpose() * spin;
      for (int c = 0; c < 3; ++c) mine[c] += k.motion[3 + c], mine[np + c] += k.motion[9 + c];
      for (int c = 0; c < nq; ++c) mine[3 + c] += q[c], mine[np + 3 + c] += w[c];
      if (ties_.empty()) continue;
      const Vec3<double> roll = k.acceleration.template head<3>();
      const Rotation<double> by = turned.swing.transpose() * roll, at = bent_[std::size_t(k.body)].transpose() * roll;
      double* a = z.a.data() + std::size_t(k.body * np);
      for (int c = 0; c < 3; ++c) a[c] += k.acceleration[3 + c];
      for (int c = 0; c < nq; ++c) a[3 + c] += by[c], mine[3 + c] += at[c];
    }
    std::fill(r.begin(), r.end(), 0.0);
    for (std::size_t k = 0; k < bodies(); ++k) {
      double* mine = b + k * std::size_t(stride_);
      double* x = r.data() + stage_pattern_.offset(int(k));
      for (int i = 0; i < np; ++i) {
        x[i] = mine[i] / shift + mine[np + i];
        mine[i] /= shift, mine[np + i] = 0.0;
        if (level_) x[i] += shift * mine[2 * np + i], mine[np + i] = -mine[2 * np + i];
        if (!ties_.empty()) x[i] += shift * z.a[k * np + std::size_t(i)], mine[np + i] -= z.a[k * np + std::size_t(i)];
      }
      if (level_)
        for (int i = 0; i < ni; ++i) x[np + i] = mine[3 * np + i];
    }
    if (level_)
      for (std::size_t k = 0; k < multipliers_; ++k) r[bodies() * std::size_t(node) + k] = b[lambda_at_ + k];
    const auto tie = [&](std::size_t k) { return r.data() + stage_pattern_.offset(tie_node(int(k))); };
    for (std::size_t k = 0; ties && k < ties->size(); ++k) {
      Vec3<double> weight = (*ties)[k];
      if (level_) weight += Part<3>::of(b + held_strains_[k].at) * (1.0 / held_strains_[k].mass);
      Part<3>::put(tie(k), weight);
    }
    z.lu.solve_transposed(r.data());
    for (std::size_t k = 0; ties && k < ties->size(); ++k) {
      (*ties)[k] = Part<3>::of(tie(k));
      if (level_) Part<3>::put(b + held_strains_[k].at, (*ties)[k]);
    }
    const auto at = [&](int body) { return Part<np>::of(r.data() + stage_pattern_.offset(body)); };
    for (std::size_t i = 0; guests && i < guests->size(); ++i) {
      HostVector<double>& k = (*guests)[i];
      const Matrix<double, np, 1> x = at(k.body);
      k.wrench << turning_[std::size_t(k.body)].torque.transpose() * Rotation<double>(x.template tail<nq>()),
          x.template head<3>();
    }
    for (const Linked<double>& k : z.linked) {
      Matrix<double, np, 1> row = Matrix<double, np, 1>::Zero();
      std::copy_n(r.data() + stage_pattern_.offset(k.row), k.rows, row.data());
      const Matrix<double, np, 1> weight = (1.0 / shift) * (k.by_place.transpose() * row);
      const Matrix<double, np, 1> rate = k.by_acceleration.transpose() * row;
      double* mine = b + std::size_t(k.column * stride_);
      for (int c = 0; c < np; ++c) mine[c] += weight[c], mine[np + c] -= rate[c];
    }
    each_block([&](int i, int j) {
      if (j >= int(bodies())) return;
      double* mine = b + std::size_t(j * stride_);
      const auto Ba = part(Ba_, i, j), Bq = part(Bq_, i, j);
      const double* from = r.data() + stage_pattern_.offset(i);
      for (int c = 0; c < np; ++c)
        for (int k = 0; k < Ba.rows(); ++k) mine[np + c] += Ba(k, c) * from[k], mine[c] -= Bq(k, c) * from[k] / shift;
    });
    if (!level_) return;
    for (std::size_t k = 0; k < bodies(); ++k)
      for (int i = 0; i < node; ++i)
        b[k * std::size_t(stride_) + std::size_t(2 * np + i)] = r[std::size_t(stage_pattern_.offset(int(k)) + i)];
    for (std::size_t k = 0; k < multipliers_; ++k) b[lambda_at_ + k] = r[bodies() * std::size_t(node) + k];
  }

  struct Gradients {
    SideGradient<double> a, b;
  };

  MechanismModel m_;
  int level_;
  bool qr_, doubled_; // doubled_: stabilised
  int stride_ = 0;
  std::size_t size_ = 0, lambda_at_ = 0, multipliers_ = 0;
  bool timed_ = false;
  std::vector<BodyMotion<double>> motions_;
  std::vector<Wrench<double>> wrenches_;
  std::vector<Side<double>> sides_;
  std::vector<BodyMotion<BodyDual>> dual_motions_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
  std::vector<BodyDual> dual_states_;
  std::vector<std::vector<std::size_t>> acting_; // forces on each body
  std::vector<std::vector<int>> joints_of_;
  std::vector<Driven> u_;
  std::vector<std::vector<RowKind>> rows_; // of each joint
  std::vector<std::size_t> at_;            // first multiplier of each joint
  std::vector<double> joint_scale_, body_scale_;
  std::vector<int> limited_; // overconstrained cuts
  struct Graph {
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> pairs;
    std::vector<std::vector<int>> after;
  } graph_; // of stages, without what guests link
  BlockPattern kkt_pattern_, stage_pattern_, doubled_pattern_;
  std::unique_ptr<BlockLu<double>> kkt_;
  std::unique_ptr<Stage<double>> real_;
  std::unique_ptr<Stage<Complex>> complex_;
  std::unique_ptr<Stage<double>>& stage(double) { return real_; }
  std::unique_ptr<Stage<Complex>>& stage(Complex) { return complex_; }
  std::vector<double> kkt_rhs_; // for each body accelerations and internal multipliers, then those of the joints
  std::vector<Gradients> gradient_;
  std::vector<double> values_, in_time_, second_, rates_, scratch_, mass_, kkt_copy_, rest_, step_;
  std::vector<int> index_;
  std::vector<double> Bq_, Bv_, Ba_, Bm_; // derivatives by positions, velocities, accelerations, multipliers
  std::vector<int> affected_;
  // Where there are guests: what they do to each body, how it moves as their host, at the last Jacobian how it turns
  std::vector<Wrench<double>> guests_;
  std::vector<BodyMotion<double>> held_;
  std::vector<typename A::Turning> turning_;
  // Of ties: how accelerations change with rotations at the last Jacobian, torques on bodies, multipliers.
  std::vector<Tie> ties_;
  std::vector<Matrix<double, 3, nq>> bent_;
  std::vector<Vec3<double>> pulled_;
  std::vector<double> tie_forces_;
  int kkt_ties_ = 0; // rows of all
  // One guest, where accelerations are unknowns: its ties one after the other, and the section force that stays.
  struct Held {
    std::vector<int> ties;
    int first, stays, all; // rows: of the last tie, of what stays, all of them
    double mass, scale;    // of the unknown: to the section force, and to a multiplier
    std::size_t at;        // in the state
    std::vector<double> C, others, rows, mu;
    std::array<double, 3> left{};
    std::vector<char> acts;
    std::vector<int> pivots;
    int size() const { return all; }
    int tie(int r) const { return r < first ? ties.front() : ties.back(); }
    int row(int r) const { return r < first ? r : r - first; }
    bool own(int r) const { return r >= stays && r < stays + 3; }
  };
  std::vector<Held> held_strains_;
};

} // namespace gyrod
