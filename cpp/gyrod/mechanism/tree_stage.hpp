// The linear systems (shift I - df/dy) x = b of implicit methods for mechanisms in null-space form, by elimination
// along the tree.
//
// df/dy of the reduced equations is full, because nu' holds the inverse of the mass matrix. The linearised equations of
// every link together with the quantities that joints pass on are sparse: unknowns of a link are its pose, nu, the
// twist V, the acceleration a, the joint force F and its place X, those of a cut joint its multipliers. With nu' =
// shift nu - b_nu,
//
//   pose    shift pose - pose'(pose, nu, V)             = b_pose
//   nu      S' F                                        = 0
//   V       V - A V_parent - S nu                       = 0
//   a       a - A a_parent - S (shift nu - b_nu) - c    = 0
//   F       F - M a - gyroscopic + loads - sum A' F_child - G' lambda = 0
//   X       X - (what the joint or, where it slides, the state says)   = 0
//   lambda  G a + g''                                   = 0
//
// linearised. Derivatives are exact: the kinematics of tree.hpp in dual numbers. F and lambda are taken in units of
// what the joint carries: pivots are chosen by size, and beside masses of 1e12 kg the kinematics would be lost to
// rounding.
#pragma once

#include "gyrod/linear/dense.hpp"
#include "gyrod/mechanism/tree.hpp"

namespace gyrod {

template <class F> class StiffTree final : public TreeMechanism<F> {
  using Base = TreeMechanism<F>;
  using Base::at_, Base::k_, Base::link_of_, Base::links_, Base::m_, Base::proj_, Base::u_;
  using V3d = Vec3<BodyDual>;
  static constexpr int np = 3 + F::nq;

public:
  explicit StiffTree(MechanismModel model)
      : Base(std::move(model)), joint_force_(links_.size()), rotation_(links_.size()) {}

  void jacobian(double t, const double* y) override {
    prepare();
    std::fill(blocks_.begin(), blocks_.end(), 0.0);
    this->full(t, y);
    for (std::size_t i = 0; i < links_.size(); ++i)
      for (int j = 0; j < links_[i].n; ++j) S_[std::size_t(this->nu_at_[i] + j)] = this->subspace(i, j);
    forces_of_joints();
    for (std::size_t b = 0; b < m_.bodies.size(); ++b) seed_motion(y, int(b), false);
    if constexpr (F::nq == 4)
      for (std::size_t i = 0; i < links_.size(); ++i) rotation_[i] = Part<4>::of(y + at_[i] + 3);
    for (std::size_t i = 0; i < links_.size(); ++i) link_blocks(i, y);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c)
      if (!m_.kept[c].empty()) cut_blocks(int(c), y);
    if (!m_.forces.empty())
      for (std::size_t b = 0; b < m_.bodies.size(); ++b) force_blocks(t, y, int(b));
    for (int v = 0; v < pattern_.nodes(); ++v) {
      rescale(v, v);
      for (int a : pattern_.later(v)) rescale(v, a), rescale(a, v);
    }
  }

  bool factor(double shift) override { return factor_with(*real_, shift); }
  bool factor(Complex shift) override { return factor_with(*complex_, shift); }
  void solve(double* b) override { solve_with(*real_, real_rhs_, b); }
  void solve(Complex* b) override { solve_with(*complex_, complex_rhs_, b); }

  bool factor_with_guests(double shift, const std::vector<HostBlock<double>>& guests) override {
    return factor_with(*real_, shift, &guests);
  }
  bool factor_with_guests(Complex shift, const std::vector<HostBlock<Complex>>& guests) override {
    return factor_with(*complex_, shift, &guests);
  }
  void solve_with_guests(double* b, std::vector<HostVector<double>>& guests) override {
    solve_with(*real_, real_rhs_, b, &guests);
  }
  void solve_with_guests(Complex* b, std::vector<HostVector<Complex>>& guests) override {
    solve_with(*complex_, complex_rhs_, b, &guests);
  }

  void dense_jacobian(double t, const double* y, double* J) override { jacobian_by_solutions(*this, t, y, J); }

private:
  // Where the groups of a link's unknowns and equations begin.
  struct At {
    int nu, V, a, force, X, size;
  };
  At groups(std::size_t i) const {
    const int n = links_[i].n;
    return {np, np + n, np + n + 6, np + n + 12, np + n + 18, np + n + 21};
  }

  void prepare() {
    if (real_) return;
    const int L = int(links_.size());
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> pairs;
    std::vector<std::vector<int>> after(links_.size() + m_.cuts.size());
    for (int i = 0; i < L; ++i) {
      sizes.push_back(groups(std::size_t(i)).size);
      if (m_.links[std::size_t(i)].parent >= 0) pairs.emplace_back(m_.links[std::size_t(i)].parent, i);
    }
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      const int node = L + int(c);
      sizes.push_back(int(m_.kept[c].size()));
      for (int body : {p.a, p.b}) {
        if (body < 0) continue;
        pairs.emplace_back(link_of_[std::size_t(body)], node);
        for (int i = link_of_[std::size_t(body)]; i >= 0; i = m_.links[std::size_t(i)].parent)
          after[std::size_t(node)].push_back(i);
      }
      if (p.a >= 0 && p.b >= 0) pairs.emplace_back(link_of_[std::size_t(p.a)], link_of_[std::size_t(p.b)]);
    }
    acting_.resize(m_.bodies.size());
    for (std::size_t f = 0; f < m_.forces.size(); ++f) {
      const auto& on = m_.forces[f]->bodies();
      for (int a : on) {
        acting_[std::size_t(a)].push_back(f);
        for (int b : on)
          if (a < b) pairs.emplace_back(link_of_[std::size_t(a)], link_of_[std::size_t(b)]);
      }
    }
    pattern_ = BlockPattern(sizes, pairs, after);
    blocks_.resize(pattern_.storage());
    real_ = std::make_unique<BlockLu<double>>(pattern_);
    complex_ = std::make_unique<BlockLu<Complex>>(pattern_);
    real_rhs_.resize(std::size_t(pattern_.total())), complex_rhs_.resize(std::size_t(pattern_.total()));
    S_.resize(std::size_t(this->freedoms_));
    dual_motions_.resize(m_.bodies.size()), dual_wrenches_.resize(m_.bodies.size());
    affected_.reserve(m_.bodies.size());
    prepare_units();
  }

  // Units of force and torque of each joint, powers of two: the masses and moments beyond it where they are large. Rows
  // of F and of S' F are divided by them, columns of F multiplied. Not where they are small: beside rods stiffness and
  // not inertia makes the forces, and digits would be lost.
  void prepare_units() {
    const auto power = [](double x) { return std::exp2(std::round(std::log2(std::max(x, 1.0)))); };
    std::vector<double> mass(links_.size()), moment(links_.size());
    for (std::size_t i = links_.size(); i-- > 0;) {
      const std::size_t b = std::size_t(m_.links[i].body);
      const double lump = m_.lumps.empty() ? 0.0 : m_.lumps[b].mass;
      const Mat3<double> second = m_.lumps.empty() ? Mat3<double>(Mat3<double>::Zero()) : m_.lumps[b].second;
      mass[i] = std::max(mass[i], m_.bodies[b].mass + lump);
      for (int k = 0; k < 3; ++k) moment[i] = std::max(moment[i], m_.bodies[b].moments[k] + second(k, k));
      if (m_.links[i].parent < 0) continue;
      const std::size_t up = std::size_t(m_.links[i].parent);
      mass[up] = std::max(mass[up], mass[i]), moment[up] = std::max(moment[up], moment[i]);
    }
    rows_.assign(std::size_t(pattern_.total()), 1.0), columns_ = rows_;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const At g = groups(i);
      const std::size_t at = std::size_t(pattern_.offset(int(i)));
      const double force = power(mass[i]), torque = moment[i] > 0.0 ? power(moment[i]) : force;
      for (int j = 0; j < 6; ++j) {
        columns_[at + std::size_t(g.force + j)] = j < 3 ? force : torque;
        rows_[at + std::size_t(g.force + j)] = 1.0 / (j < 3 ? force : torque);
      }
      for (int j = 0; j < links_[i].n; ++j) rows_[at + std::size_t(g.nu + j)] = 1.0 / std::max(force, torque);
    }
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      double unit = 0.0;
      for (int body : {p.a, p.b})
        if (const double x = body < 0 ? 0.0 : power(mass[std::size_t(link_of_[std::size_t(body)])]); x > 0.0)
          unit = unit > 0.0 ? std::min(unit, x) : x;
      for (int k = 0; k < int(m_.kept[c].size()) && unit > 0.0; ++k)
        columns_[std::size_t(pattern_.offset(int(links_.size() + c)) + k)] = unit;
    }
  }

  void rescale(int i, int j) {
    const Grid<double> B = block(i, j);
    const double *row = rows_.data() + pattern_.offset(i), *column = columns_.data() + pattern_.offset(j);
    for (int c = 0; c < pattern_.size(j); ++c)
      for (int r = 0; r < pattern_.size(i); ++r) B(r, c) *= row[r] * column[c];
  }

  Grid<double> block(int i, int j) {
    return {blocks_.data() + pattern_.block(i, j), pattern_.size(i), pattern_.size(j)};
  }

  void forces_of_joints() {
    for (std::size_t i = 0; i < links_.size(); ++i) joint_force_[i] = this->inertia_force(i);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      for (int k = 0; k < int(m_.kept[c].size()); ++k) {
        const std::size_t at = std::size_t(this->loops_.offset(int(c)) + k);
        if (p.a >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.a)])] += this->grad_a_[at] * this->lambda_[at];
        if (p.b >= 0) joint_force_[std::size_t(link_of_[std::size_t(p.b)])] += this->grad_b_[at] * this->lambda_[at];
      }
    }
    for (std::size_t i = links_.size(); i-- > 0;)
      if (m_.links[i].parent >= 0)
        joint_force_[std::size_t(m_.links[i].parent)] += this->carried_back(i, joint_force_[i]);
  }

  static V3d turn(const V3d& a, const V3d& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }

  // What a link's joint makes of poses and velocities: its twist, its acceleration, the force on the parent, S' F.
  struct Passed {
    V3d v, w, av, aw, force, torque;
    BodyDual along[6];
  };
  Passed pass(std::size_t i, const LinkMotion<BodyDual>* parent, const BodyDual* nu, LinkMotion<BodyDual>& m) const {
    const LinkJoint& k = links_[i];
    const TreeLink& l = m_.links[i];
    link_kinematics<BodyDual>(k, parent, nu, k.driven ? u_[std::size_t(l.joint)] : Driven{}, m);
    Passed out;
    out.v = m.v, out.w = m.w;
    const V3d f = V3(joint_force_[i].template head<3>()).template cast<BodyDual>();
    const V3d t = V3(joint_force_[i].template tail<3>()).template cast<BodyDual>();
    const auto& rate = proj_[i].nu_rate;
    out.av = m.cv, out.aw = m.cw;
    out.force = out.torque = V3d::Zero();
    if (k.kind == LinkJoint::free) {
      const V3d spin = m.R * V3d(rate[3], rate[4], rate[5]);
      out.av += V3d(rate[0], rate[1], rate[2]), out.aw += spin;
      const V3d along = m.R.transpose() * t;
      for (int j = 0; j < 3; ++j) out.along[j] = f[j], out.along[3 + j] = along[j];
      return out;
    }
    V3d pv = V3d::Zero(), pw = V3d::Zero();
    if (l.parent >= 0) {
      pv = proj_[std::size_t(l.parent)].av.template cast<BodyDual>();
      pw = proj_[std::size_t(l.parent)].aw.template cast<BodyDual>();
    }
    const V3d joint = pv + turn(pw, m.l);
    out.force = f;
    if (k.kind == LinkJoint::ball) {
      const V3d spin = m.R * V3d(rate[0], rate[1], rate[2]);
      out.av += joint + turn(m.r, spin), out.aw += spin;
      const V3d along = m.R.transpose() * (t - turn(m.r, f));
      for (int j = 0; j < 3; ++j) out.along[j] = along[j];
      out.torque = turn(m.l, f);
      return out;
    }
    out.av += joint - turn(pw, m.r), out.aw += pw;
    for (int j = 0; j < k.n; ++j) {
      const V3d sv = m.Sv.col(j), sw = m.Sw.col(j);
      out.av += sv * BodyDual(rate[std::size_t(j)]), out.aw += sw * BodyDual(rate[std::size_t(j)]);
      out.along[j] = sv.dot(f) + sw.dot(t);
    }
    out.torque = t + turn(V3d(m.l - m.r), f);
    return out;
  }

  // The pose of a link in dual numbers, as variables from direction 0 or as constants.
  void seed_pose(std::size_t i, const double* y, bool variable, LinkMotion<BodyDual>& m, BodyDual* q) const {
    BodyDual z[np];
    for (int j = 0; j < np; ++j) {
      const double value = j < 3 ? k_[i].x[j] : y[at_[i] + std::size_t(j)];
      z[j] = variable ? BodyDual::seed(value, j) : BodyDual(value);
    }
    m.x = V3d(z[0], z[1], z[2]);
    m.R = link_frame<BodyDual>(F{}, z + 3);
    for (int j = 0; j < F::nq; ++j) q[j] = z[3 + j];
  }
  void seed_twist(std::size_t i, int from, LinkMotion<BodyDual>& m) const {
    for (int j = 0; j < 3; ++j) {
      m.v[j] = from < 0 ? BodyDual(k_[i].v[j]) : BodyDual::seed(k_[i].v[j], from + j);
      m.w[j] = from < 0 ? BodyDual(k_[i].w[j]) : BodyDual::seed(k_[i].w[j], from + 3 + j);
    }
  }
  // Columns of the directions of a pass: X, rotation, nu, V of the link itself, or X, rotation, V of another one.
  using Columns = std::array<int, max_directions>;
  Columns own_columns(std::size_t i) const {
    const At g = groups(i);
    Columns c{};
    for (int d = 0; d < max_directions; ++d) c[std::size_t(d)] = d < 3 ? g.X + d : d;
    return c;
  }
  Columns other_columns(std::size_t i) const {
    const At g = groups(i);
    Columns c{};
    for (int d = 0; d < max_directions; ++d) c[std::size_t(d)] = d < 3 ? g.X + d : d < np ? d : g.V + d - np;
    return c;
  }
  // Add the first n derivatives of three dual numbers, times a sign, to three rows.
  static void put(const Grid<double>& to, int row, const V3d& x, double sign, const Columns& columns, int n) {
    for (int r = 0; r < 3; ++r)
      for (int d = 0; d < n; ++d) to(row + r, columns[std::size_t(d)]) += sign * x[r].d[std::size_t(d)];
  }

  void link_blocks(std::size_t i, const double* y) {
    const LinkJoint& k = links_[i];
    const At g = groups(i);
    const int parent = m_.links[i].parent, me = int(i);
    LinkMotion<BodyDual> mine, up, fixed_up;
    BodyDual q[F::nq], unused[F::nq], nu[6];
    // Variables: own pose, nu, V. The parent is a constant.
    seed_pose(i, y, true, mine, q);
    for (int j = 0; j < k.n; ++j) nu[j] = BodyDual::seed(y[at_[i] + np + std::size_t(j)], np + j);
    if (parent >= 0)
      seed_pose(std::size_t(parent), y, false, fixed_up, unused), seed_twist(std::size_t(parent), -1, fixed_up);
    const bool slides = k.kind == LinkJoint::free || k.slides != Slides::none;
    const Columns columns = own_columns(i);
    {
      const Passed p = pass(i, parent >= 0 ? &fixed_up : nullptr, nu, mine);
      auto B = block(me, me);
      const int own = np + k.n; // X, rotation and nu
      put(B, g.V, p.v, -1, columns, own), put(B, g.V + 3, p.w, -1, columns, own);
      put(B, g.a, p.av, -1, columns, own), put(B, g.a + 3, p.aw, -1, columns, own);
      for (int j = 0; j < k.n; ++j)
        for (int d = 0; d < own; ++d) B(g.nu + j, columns[std::size_t(d)]) += p.along[j].d[std::size_t(d)];
      for (int j = 0; j < 6; ++j)
        B(g.V + j, g.V + j) += 1.0, B(g.a + j, g.a + j) += 1.0, B(g.force + j, g.force + j) += 1.0;
      for (int j = 0; j < 3; ++j) {
        B(g.X + j, g.X + j) += 1.0;
        if (slides) B(g.X + j, j) -= 1.0;
      }
      if (!slides) put(B, g.X, mine.x, -1, columns, own);
      for (int j = 0; j < k.n; ++j) {
        const Twist s = this->subspace(i, j);
        for (int r = 0; r < 6; ++r) B(g.nu + j, g.force + r) += s[r];
      }
      if (parent >= 0) { // the force on the parent
        auto U = block(parent, me);
        const At h = groups(std::size_t(parent));
        put(U, h.force, p.force, -1, columns, own), put(U, h.force + 3, p.torque, -1, columns, own);
        for (int c = 0; c < 6; ++c) U.block(h.force, g.force + c, 6, 1) -= this->carried_back(i, Twist::Unit(c));
      }
      // Rates of the pose, inertia forces: functions of pose, nu and V.
      seed_twist(i, np + k.n, mine);
      const bool own_spin = k.kind != LinkJoint::relative;
      const V3d spin = k.kind == LinkJoint::free ? V3d(nu[3], nu[4], nu[5])
                       : own_spin                ? V3d(nu[0], nu[1], nu[2])
                                                 : V3d(mine.R.transpose() * mine.w);
      BodyDual dq[F::nq];
      rotation_rates<BodyDual>(F{}, q, mine.R, spin, mine.w, dq);
      const int all = np + k.n + 6;
      put(B, 0, mine.v, -1, columns, all);
      for (int r = 0; r < F::nq; ++r)
        for (int d = 0; d < all; ++d) B(3 + r, columns[std::size_t(d)]) -= dq[r].d[std::size_t(d)];
      const RigidBody& body = m_.bodies[std::size_t(m_.links[i].body)];
      const Lump* lump = m_.lumps.empty() ? nullptr : &m_.lumps[std::size_t(m_.links[i].body)];
      const auto inertia = [&](const V3d& x) -> V3d {
        const V3d z = mine.R.transpose() * x;
        V3d out(z[0] * BodyDual(body.moments[0]), z[1] * BodyDual(body.moments[1]), z[2] * BodyDual(body.moments[2]));
        if (lump)
          for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) out[r] += z[c] * BodyDual(lump->second(r, c));
        return mine.R * out;
      };
      const V3d aw = proj_[i].aw.template cast<BodyDual>();
      put(B, g.force + 3, V3d(inertia(aw) + turn(mine.w, inertia(mine.w))), -1, columns, all);
      for (int r = 0; r < 3; ++r) B(g.force + r, g.a + r) -= body.mass;
      const M3& R = k_[i].R;
      M3 J = R * body.moments.asDiagonal() * R.transpose();
      if (lump) {
        const V3d first = mine.R * lump->first.template cast<BodyDual>();
        const V3d av = proj_[i].av.template cast<BodyDual>();
        put(B, g.force, V3d(turn(aw, first) + turn(mine.w, turn(mine.w, first))), -1, columns, all);
        put(B, g.force + 3, turn(first, av), -1, columns, all);
        const V3 s = R * lump->first;
        M3 E;
        E << 0, -s[2], s[1], s[2], 0, -s[0], -s[1], s[0], 0;
        for (int r = 0; r < 3; ++r) B(g.force + r, g.a + r) -= lump->mass;
        B.block(g.force, g.a + 3, 3, 3) += E, B.block(g.force + 3, g.a, 3, 3) -= E;
        J += R * lump->second * R.transpose();
      }
      B.block(g.force + 3, g.a + 3, 3, 3) -= J;
    }
    if (parent < 0) return;
    // Variables: X, rotation and V of the parent.
    const At h = groups(std::size_t(parent));
    seed_pose(i, y, false, mine, unused);
    for (int j = 0; j < k.n; ++j) nu[j] = BodyDual(y[at_[i] + np + std::size_t(j)]);
    seed_pose(std::size_t(parent), y, true, up, unused);
    seed_twist(std::size_t(parent), np, up);
    const Passed p = pass(i, &up, nu, mine);
    auto B = block(me, parent), U = block(parent, parent);
    const Columns above = other_columns(std::size_t(parent));
    const int all = np + 6;
    put(B, g.V, p.v, -1, above, all), put(B, g.V + 3, p.w, -1, above, all);
    put(B, g.a, p.av, -1, above, all), put(B, g.a + 3, p.aw, -1, above, all);
    for (int j = 0; j < k.n; ++j)
      for (int d = 0; d < all; ++d) B(g.nu + j, above[std::size_t(d)]) += p.along[j].d[std::size_t(d)];
    if (!slides) put(B, g.X, mine.x, -1, above, all);
    put(U, h.force, p.force, -1, above, all), put(U, h.force + 3, p.torque, -1, above, all);
    for (int c = 0; c < 6; ++c) B.block(g.a, h.a + c, 6, 1) -= this->carried(i, Twist::Unit(c));
  }

  void cut_blocks(int cut, const double* y) {
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
        LinkMotion<BodyDual> m;
        BodyDual unused[F::nq];
        const std::size_t link = std::size_t(link_of_[std::size_t(bodies[s])]);
        seed_pose(link, y, s == seeded, m, unused);
        seed_twist(link, s == seeded ? np : -1, m);
        side[s] = side_of<BodyDual>(m.x, m.R, m.v, m.w);
        omega[s] = m.w;
      }
      const JointGeometry<BodyDual> q = geometry<BodyDual>(j.place, side[0], side[1]);
      const int me = link_of_[std::size_t(bodies[seeded])];
      const At h = groups(std::size_t(me));
      const Columns columns = other_columns(std::size_t(me));
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::size_t at = std::size_t(this->loops_.offset(cut)) + k;
        const Row<BodyDual> r = evaluate_row<BodyDual>(j.loop_row(rows[k]), j.place, q, u);
        BodyDual second =
            r.second + centripetal<BodyDual>(r.a, side[0], omega[0]) + centripetal<BodyDual>(r.b, side[1], omega[1]);
        for (int s = 0; s < 2; ++s) {
          if (bodies[s] < 0) continue;
          const auto G = twist_gradient<BodyDual>(s ? r.b : r.a, side[s].R);
          const Twist a = this->acceleration(bodies[s]);
          for (int c = 0; c < 6; ++c) second += G[c] * BodyDual(a[c]);
          const int other = link_of_[std::size_t(bodies[s])];
          auto B = block(other, me);
          const int row = groups(std::size_t(other)).force;
          for (int c = 0; c < 6; ++c)
            for (int d = 0; d < np + 6; ++d)
              B(row + c, columns[std::size_t(d)]) -= this->lambda_[at] * G[c].d[std::size_t(d)];
        }
        auto C = block(node, me);
        auto B = block(me, node);
        const Twist& G = seeded ? this->grad_b_[at] : this->grad_a_[at];
        for (int c = 0; c < 6; ++c) C(int(k), h.a + c) += G[c], B(h.force + c, int(k)) -= G[c];
        for (int d = 0; d < np + 6; ++d) C(int(k), columns[std::size_t(d)]) += second.d[std::size_t(d)];
      }
    }
  }

  // Motion of a body for the force elements, in dual numbers of its pose and twist.
  void seed_motion(const double* y, int body, bool variable) {
    const std::size_t i = std::size_t(link_of_[std::size_t(body)]);
    LinkMotion<BodyDual> m;
    BodyDual unused[F::nq];
    seed_pose(i, y, variable, m, unused);
    seed_twist(i, variable ? np : -1, m);
    dual_motions_[std::size_t(body)] = {m.x, m.v, m.R.transpose() * m.w, m.R};
  }
  void force_blocks(double t, const double* y, int b) {
    if (acting_[std::size_t(b)].empty()) return;
    seed_motion(y, b, true);
    affected_.assign(1, b);
    for (std::size_t f : acting_[std::size_t(b)])
      for (int a : m_.forces[f]->bodies())
        if (std::find(affected_.begin(), affected_.end(), a) == affected_.end()) affected_.push_back(a);
    for (int a : affected_) dual_wrenches_[std::size_t(a)].clear();
    for (std::size_t f : acting_[std::size_t(b)]) m_.forces[f]->apply(t, dual_motions_.data(), dual_wrenches_.data());
    const int me = link_of_[std::size_t(b)];
    const Columns columns = other_columns(std::size_t(me));
    for (int a : affected_) {
      const int other = link_of_[std::size_t(a)];
      Wrench<BodyDual>& w = dual_wrenches_[std::size_t(a)];
      const Mat3<BodyDual>& R = dual_motions_[std::size_t(a)].R;
      V3d torque = w.torque;
      if (w.loaded) torque += moment_of_directors<BodyDual>(R, w.directors);
      torque = R * torque;
      auto B = block(other, me);
      const int row = groups(std::size_t(other)).force;
      put(B, row, w.force, 1, columns, np + 6), put(B, row + 3, torque, 1, columns, np + 6);
    }
    seed_motion(y, b, false);
  }

  template <class S> bool factor_with(BlockLu<S>& lu, S shift, const std::vector<HostBlock<S>>* guests = nullptr) {
    const auto copy = [&](int i, int j) { lu.block(i, j) = block(i, j); };
    for (int v = 0; v < pattern_.nodes(); ++v) {
      copy(v, v);
      for (int a : pattern_.later(v)) copy(v, a), copy(a, v);
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const At g = groups(i);
      auto B = lu.block(int(i), int(i));
      for (int j = 0; j < np; ++j) B(j, j) += shift;
      for (int j = 0; j < links_[i].n; ++j) {
        const Twist& s = S_[std::size_t(this->nu_at_[i] + j)];
        for (int r = 0; r < 6; ++r) B(g.a + r, g.nu + j) -= shift * s[r];
      }
    }
    if (guests)
      for (const HostBlock<S>& k : *guests) add_guest(lu, k);
    return lu.factor();
  }

  // A turn in space that a change of the rotation coordinates makes: turn = E dq.
  Matrix<double, 3, F::nq> turn_of(int link) const {
    Matrix<double, 3, F::nq> E;
    if constexpr (F::nq == 4) {
      const Vec4<double>& p = rotation_[std::size_t(link)];
      E = (2.0 / p.squaredNorm()) * quaternion_matrix_right<double>(conjugate<double>(p)).template bottomRows<3>();
    } else {
      const M3& R = k_[std::size_t(link)].R;
      for (int n = 0; n < 3; ++n)
        for (int i = 0; i < 3; ++i) E.col(3 * n + i) = 0.5 * cross(V3(R.col(n)), V3(V3::Unit(i)));
    }
    return E;
  }
  double unit(int link, int row) const { return rows_[std::size_t(pattern_.offset(link) + row)]; }
  template <class S> void add_guest(BlockLu<S>& lu, const HostBlock<S>& k) {
    const int row = link_of_[std::size_t(k.row)], column = link_of_[std::size_t(k.column)];
    const At g = groups(std::size_t(row)), h = groups(std::size_t(column));
    auto B = lu.block(row, column);
    const Matrix<S, 3, F::nq> E = turn_of(column).template cast<S>();
    for (int part = 0; part < 2; ++part) { // rows: force, torque
      const int at = g.force + 3 * part;
      const Matrix<S, 3, 12> D = k.D.template middleRows<3>(part ? 0 : 3) * S(unit(row, at));
      B.block(at, 3, 3, F::nq) += D.template leftCols<3>() * E;
      B.block(at, h.X, 3, 3) += D.template middleCols<3>(3);
      B.block(at, h.V + 3, 3, 3) += D.template middleCols<3>(6);
      B.block(at, h.V, 3, 3) += D.template rightCols<3>();
    }
  }

  template <class S>
  void solve_with(BlockLu<S>& lu, std::vector<S>& rhs, S* b, std::vector<HostVector<S>>* guests = nullptr) {
    std::fill(rhs.begin(), rhs.end(), S(0));
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const At g = groups(i);
      S* r = rhs.data() + pattern_.offset(int(i));
      const S* mine = b + at_[i];
      for (int j = 0; j < np; ++j) r[j] = mine[j];
      for (int j = 0; j < links_[i].n; ++j) {
        const Twist& s = S_[std::size_t(this->nu_at_[i] + j)];
        for (int k = 0; k < 6; ++k) r[g.a + k] -= s[k] * mine[np + j];
      }
    }
    if (guests)
      for (const HostVector<S>& k : *guests) {
        const std::size_t i = std::size_t(link_of_[std::size_t(k.body)]);
        const int at = groups(i).force;
        S* r = rhs.data() + pattern_.offset(int(i)) + at;
        for (int j = 0; j < 3; ++j)
          r[j] -= unit(int(i), at) * k.wrench[3 + j], r[3 + j] -= unit(int(i), at + 3) * k.wrench[j];
      }
    lu.solve(rhs.data());
    if (guests)
      for (HostVector<S>& k : *guests) {
        const std::size_t i = std::size_t(link_of_[std::size_t(k.body)]);
        const At g = groups(i);
        const S* r = rhs.data() + pattern_.offset(int(i));
        Matrix<S, F::nq, 1> dq;
        for (int j = 0; j < F::nq; ++j) dq[j] = r[3 + j];
        k.motion.template head<3>() = turn_of(int(i)).template cast<S>() * dq;
        for (int j = 0; j < 3; ++j) k.motion[3 + j] = r[g.X + j], k.motion[6 + j] = r[g.V + 3 + j];
        for (int j = 0; j < 3; ++j) k.motion[9 + j] = r[g.V + j];
      }
    for (std::size_t i = 0; i < links_.size(); ++i)
      for (int j = 0; j < np + links_[i].n; ++j)
        b[at_[i] + std::size_t(j)] = rhs[std::size_t(pattern_.offset(int(i)) + j)];
  }

  BlockPattern pattern_;
  std::vector<double> blocks_;
  std::vector<double> rows_, columns_; // factors of equations and of unknowns
  std::unique_ptr<BlockLu<double>> real_;
  std::unique_ptr<BlockLu<Complex>> complex_;
  std::vector<double> real_rhs_;
  std::vector<Complex> complex_rhs_;
  std::vector<Twist> joint_force_, S_; // S: the motion subspace where the Jacobian was taken
  std::vector<Vec4<double>> rotation_; // where the Jacobian was taken
  std::vector<std::vector<std::size_t>> acting_;
  std::vector<int> affected_;
  std::vector<BodyMotion<BodyDual>> dual_motions_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
};

} // namespace gyrod
