// Mechanisms in null-space form (Lang 2010, 60 and 61): positions (x, q) of every body, minimal velocities nu along the
// tree of joints, recursion instead of matrices; the joints that close loops keep multipliers, on top of nu.
//
// State: link after link, each (x, q, nu). A body whose joint is free has nu = (v, Omega), one on a ball joint nu =
// Omega, its own angular velocity as in (68), all others the rates of the joint against the parent.
#pragma once

#include "gyrod/linear/solve_small.hpp"
#include "gyrod/mechanism/link.hpp"
#include "gyrod/mechanism/loops.hpp"

namespace gyrod {

class TreeMechanism : public MechanismEquations {
public:
  GYROD_COLD TreeMechanism(Coordinates kind, MechanismModel model)
      : kind_(kind), directors_(kind == Coordinates::directors), nq_(count_of(kind)), np_(std::size_t(3 + nq_)),
        m_(std::move(model)), links_(m_.links.size()), k_(links_.size()), art_(links_.size()), proj_(links_.size()),
        motions_(m_.bodies.size()), wrenches_(m_.bodies.size()), link_of_(m_.bodies.size()), u_(m_.joints.size()) {
    for (RigidBody& b : m_.bodies) b.inverse_moments.setZero();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const TreeLink& l = m_.links[i];
      link_of_[std::size_t(l.body)] = int(i);
      if (l.joint >= 0) {
        const Joint& j = m_.joints[std::size_t(l.joint)];
        links_[i] = LinkJoint(j, j.place.a == l.body);
      }
      at_.push_back(size_);
      nu_at_.push_back(freedoms_);
      size_ += np_ + std::size_t(links_[i].n);
      freedoms_ += links_[i].n;
    }
    for (const Joint& j : m_.joints) driven_ = driven_ || j.driven(), timed_ = timed_ || j.drive.timed();
    for (const auto& f : m_.forces) {
      timed_ = timed_ || f->explicit_time();
      if (directors_ && f->by_guests()) held_.resize(m_.bodies.size()), guests_.resize(m_.bodies.size());
    }
    for (int i = 0; m_.ties && i < m_.ties->ties(); ++i) ties_.push_back(m_.ties->tie(i));
    prepare_loops();
  }

  std::size_t size() const override { return size_; }
  std::size_t offset(int body) const override { return at_[std::size_t(link_of_[std::size_t(body)])]; }
  std::size_t state_size(int body) const override {
    return np_ + std::size_t(links_[std::size_t(link_of_[std::size_t(body)])].n);
  }
  bool autonomous() const override { return !timed_; }
  void quasistatic(bool on) override {
    for (Joint& j : m_.joints) j.still = on;
  }
  int tree_freedoms() const override { return freedoms_; }

  void rhs(double t, const double* y, double* dy) override {
    kinematics(t, y);
    loads(t);
    factor_tree();
    if (!columns_.empty()) factor_loops();
    accelerate();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      double* d = dy + at_[i];
      const LinkMotion<double>& m = k_[i];
      for (int j = 0; j < 3; ++j) d[j] = m.v[j];
      rotation_rates(kind_, y + at_[i] + 3, m.R, spin(i, y), m.w, d + 3);
      const Projected& p = proj_[i];
      for (int j = 0; j < links_[i].n; ++j) d[int(np_) + j] = p.nu_rate[j];
    }
  }

  GYROD_COLD void time_derivative(double t, const double* y, double* ft) override {
    if (!timed_) return Equations::time_derivative(t, y, ft);
    difference_in_time(t, y, ft, scratch_);
  }

  bool project(double t, double* y) override {
    bool moved = project_tree(t, y);
    if (!columns_.empty()) moved = close_loops(t, y) || moved;
    return moved;
  }

  void motion(double t, const double* y, BodyMotion<double>* out) override {
    kinematics(t, y);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const LinkMotion<double>& m = k_[i];
      out[m_.links[i].body] = {Part<3>::of(y + at_[i]), m.v, spin(i, y), m.R};
    }
  }

  void host_motion(double t, const double* y, BodyMotion<double>* out) override {
    motion(t, y, out);
    for (std::size_t i = 0; directors_ && i < links_.size(); ++i) {
      BodyMotion<double>& m = out[m_.links[i].body];
      const V3 x = m.x;
      m = unit(k_[i]), m.x = x;
    }
  }

  GYROD_COLD void residual(double t, const double* y, double& position, double& velocity) override {
    kinematics(t, y);
    position = velocity = 0.0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      double p = 0.0, v = 0.0;
      if (directors_)
        NullspaceDirectors::residual(y + at_[i] + 3, y, m_.options, p, v);
      else if (kind_ == Coordinates::quaternion)
        NullspaceQuaternion::residual(y + at_[i] + 3, y, m_.options, p, v);
      position = std::max(position, p);
      k_[i].x = Part<3>::of(y + at_[i]); // the gaps of the state, which the kinematics has closed
    }
    for (std::size_t j = 0; j < m_.joints.size(); ++j)
      for (const JointRow& r : rows_of(int(j), false)) {
        position = std::max(position, std::abs(r.g));
        velocity = std::max(velocity, std::abs(rate_of(int(j), r.a, r.b) + r.rate_in_time));
      }
  }

  const char* trouble(double t, const double* y) const override {
    for (std::size_t i = 0; kind_ == Coordinates::angles && i < links_.size(); ++i)
      if (const char* lost = EulerAngles::trouble(y + at_[i] + 3)) return lost;
    return MechanismEquations::trouble(t, y);
  }

  GYROD_COLD double potential(double t, const double* y) override {
    motion(t, y, motions_.data());
    double V = 0.0;
    for (std::size_t b = 0; b < m_.bodies.size(); ++b) V -= m_.bodies[b].mass * m_.gravity.dot(motions_[b].x);
    for (auto& f : m_.forces) V += f->potential(t, motions_.data());
    return V;
  }

  int multiplier_count() const override { return 0; }
  void multipliers(double, const double*, double*) override {}
  Counted::Tally operations(const double*, bool) override { return {}; }

  GYROD_COLD void accelerations(double t, const double* y, double* out) override {
    full(t, y);
    stated_accelerations(t, y, out);
  }
  void stated_accelerations(double, const double*, double* out) override {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      double* o = out + 6 * m_.links[i].body;
      const V3 spin = transposed_times(k_[i].R, proj_[i].aw);
      for (int j = 0; j < 3; ++j) o[j] = proj_[i].av[j], o[3 + j] = spin[j];
    }
  }

  GYROD_COLD void reactions(double t, const double* y, double* out) override {
    full(t, y);
    // What each body needs beyond the given loads, less what the cut joints give, passed on from leaves to root.
    std::vector<Twist> need(links_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) need[i] = inertia_force(i);
    std::fill(out, out + 6 * m_.joints.size(), 0.0);
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const Joint& j = m_.joints[std::size_t(m_.cuts[c])];
      Twist on_b = Twist::Zero();
      int k = 0;
      kept_rows(c, [&](const JointRow& r) {
        const Twist &a = r.a, &b = r.b;
        const double lambda = lambda_[std::size_t(loops_.offset(int(c)) + k++)];
        if (j.place.a >= 0) need[std::size_t(link_of_[std::size_t(j.place.a)])] += a * lambda;
        if (j.place.b >= 0) need[std::size_t(link_of_[std::size_t(j.place.b)])] += b * lambda;
        on_b -= j.place.b >= 0 ? Twist(b * lambda) : Twist(shifted(-a * lambda, j.place.a, -1));
      });
      at_joint(m_.cuts[c], on_b, out + 6 * m_.cuts[c]);
    }
    for (int i = 0; i < ties(); ++i) need[std::size_t(link_of_[std::size_t(tie(i).body)])] += tie_pull(i);
    for (std::size_t i = links_.size(); i-- > 0;) {
      const TreeLink& l = m_.links[i];
      if (l.joint < 0) continue;
      const Twist on_child = need[i];
      if (l.parent >= 0) need[std::size_t(l.parent)] += shifted(on_child, l.body, m_.links[std::size_t(l.parent)].body);
      const bool flipped = links_[i].flipped;
      const int b = m_.joints[std::size_t(l.joint)].place.b;
      at_joint(l.joint, flipped ? Twist(shifted(-on_child, l.body, b)) : on_child, out + 6 * l.joint);
    }
  }

  GYROD_COLD void nullspace(double t, const double* y, double* T) override {
    kinematics(t, y);
    const std::size_t rows = 6 * m_.bodies.size(), n = std::size_t(freedoms_);
    std::fill(T, T + rows * n, 0.0);
    std::vector<Twist> V(links_.size());
    for (std::size_t c = 0; c < links_.size(); ++c)
      for (int j = 0; j < links_[c].n; ++j) {
        for (std::size_t i = 0; i < links_.size(); ++i) {
          V[i] = i == c ? subspace(i, j) : Twist(Twist::Zero());
          if (m_.links[i].parent >= 0) V[i] += carried(i, V[std::size_t(m_.links[i].parent)]);
          const V3 spin = transposed_times(k_[i].R, V[i].tail<3>());
          for (int r = 0; r < 6; ++r)
            T[(6 * std::size_t(m_.links[i].body) + std::size_t(r)) * n + std::size_t(nu_at_[c] + j)] =
                r < 3 ? V[i][r] : spin[r - 3];
        }
      }
  }

  int loop_rows(bool all) const override {
    int n = 0;
    for (std::size_t c = 0; c < m_.cuts.size(); ++c)
      n += all ? m_.joints[std::size_t(m_.cuts[c])].size() : int(m_.kept[c].size());
    return n;
  }
  GYROD_COLD void loop_gradient(double t, const double* y, bool all, double* G) override {
    kinematics(t, y);
    const std::size_t n = std::size_t(freedoms_);
    std::fill(G, G + std::size_t(loop_rows(all)) * n, 0.0);
    int at = 0;
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const JointPlace& p = m_.joints[std::size_t(m_.cuts[c])].place;
      const JointRows rows = rows_of(m_.cuts[c], true);
      for (int row = 0; row < rows.size; ++row) {
        if (!all && !kept(int(c), row)) continue;
        double* g = G + std::size_t(at++) * n;
        for (int side = 0; side < 2; ++side) {
          const int body = side ? p.b : p.a;
          if (body < 0) continue;
          Twist w = side ? rows.row[row].b : rows.row[row].a;
          for (int i = link_of_[std::size_t(body)]; i >= 0; i = m_.links[std::size_t(i)].parent) {
            const std::size_t s = std::size_t(i);
            for (int j = 0; j < links_[s].n; ++j) g[nu_at_[s] + j] += w.dot(subspace(s, j));
            w = carried_back(s, w);
          }
        }
      }
    }
  }

  // nu from the twists of the bodies, link by link in the sense of least squares.
  GYROD_COLD void complete(double t, const double* velocities, double* y) override {
    std::vector<Twist> V(links_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) std::fill_n(y + at_[i] + np_, links_[i].n, 0.0);
    kinematics(t, y); // with nu = 0 only drives move
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const double* given = velocities + 6 * m_.links[i].body;
      V[i] << V3(given[0], given[1], given[2]), k_[i].R * V3(given[3], given[4], given[5]);
      const int n = links_[i].n, parent = m_.links[i].parent;
      if (n == 0) continue;
      Twist rest = V[i];
      if (parent >= 0) rest -= carried(i, V[std::size_t(parent)]);
      Twist S[6];
      double normal[36] = {}, nu[6] = {};
      for (int j = 0; j < n; ++j) S[j] = subspace(i, j);
      for (int a = 0; a < 6; ++a) {
        normal[7 * a] = 1.0;
        if (a >= n) continue;
        for (int b = 0; b < n; ++b) normal[6 * a + b] = S[a].dot(S[b]);
        nu[a] = S[a].dot(rest);
      }
      solve_small<6>(normal, nu);
      for (int j = 0; j < n; ++j) y[at_[i] + np_ + std::size_t(j)] = nu[j];
      // A body with its own angular velocity keeps it to the last bit.
      if (links_[i].kind != LinkJoint::relative)
        for (int j = 0; j < 3; ++j) y[at_[i] + np_ + std::size_t(n - 3 + j)] = given[3 + j];
      if (links_[i].kind == LinkJoint::free)
        for (int j = 0; j < 3; ++j) y[at_[i] + np_ + std::size_t(j)] = given[j];
    }
  }
  const MechanismModel& model() const override { return m_; }

protected:
  // What the inward pass leaves for the outward one.
  struct Projected {
    M3 Kv, Kw; // (M, H; H', J) S D^-1, columns
    V3 ds;     // D^-1 S' (bias)
    M3 D;      // D^-1
    V3 f, m;   // bias of the articulated body, without that of the joint's accelerations
    V3 av, aw; // accelerations
    std::array<double, 6> nu_rate;
  };

  V3 spin(std::size_t i, const double* y) const {
    const double* nu = y + at_[i] + np_;
    if (links_[i].kind == LinkJoint::free) return {nu[3], nu[4], nu[5]};
    if (links_[i].kind == LinkJoint::ball) return {nu[0], nu[1], nu[2]};
    return transposed_times(k_[i].R, k_[i].w);
  }

  void kinematics(double t, const double* y) {
    if (driven_)
      for (std::size_t j = 0; j < m_.joints.size(); ++j)
        if (m_.joints[j].driven()) u_[j] = m_.joints[j].value(t);
    static constexpr Driven still{};
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const double* s = y + at_[i];
      LinkMotion<double>& m = k_[i];
      m.x = V3(s[0], s[1], s[2]);
      m.R = link_frame(kind_, s + 3);
      const TreeLink& l = m_.links[i];
      link_kinematics(links_[i], l.parent < 0 ? nullptr : &k_[std::size_t(l.parent)], s + np_,
                      links_[i].driven ? u_[std::size_t(l.joint)] : still, m);
      if (!m_.forces.empty()) motions_[std::size_t(l.body)] = {m.x, m.v, transposed_times(m.R, m.w), m.R};
      if (!held_.empty()) held_[std::size_t(l.body)] = unit(m);
    }
  }

  // As guests see it: R is a rotation, also where directors have drifted.
  static BodyMotion<double> unit(const LinkMotion<double>& m) {
    const M3 R = polar_factor<double>(m.R);
    return {m.x, m.v, transposed_times(R, m.w), R};
  }

  // Inertia and bias of every body alone.
  void loads(double t) {
    if (!m_.forces.empty()) {
      for (auto& w : wrenches_) w.clear();
      for (auto& w : guests_) w.clear();
      for (auto& f : m_.forces) {
        const bool guests = !held_.empty() && f->by_guests();
        f->apply(t, (guests ? held_ : motions_).data(), (guests ? guests_ : wrenches_).data());
      }
    }
    for (std::size_t i = 0; i < links_.size(); ++i) body_inertia(i, art_[i], proj_[i].f, proj_[i].m);
  }
  GYROD_INLINE void body_inertia(std::size_t i, Articulated& A, V3& f, V3& m) const {
    const RigidBody& b = m_.bodies[std::size_t(m_.links[i].body)];
    const M3& R = k_[i].R;
    const V3& w = k_[i].w;
    M3 scaled;
    for (int j = 0; j < 3; ++j) scaled.col(j) = R.col(j) * b.moments[j];
    A.J = product_transposed(scaled, R);
    A.M.setZero(), A.H.setZero();
    A.M(0, 0) = A.M(1, 1) = A.M(2, 2) = b.mass;
    f = -b.mass * m_.gravity;
    if (!m_.lumps.empty()) {
      const Lump& lump = m_.lumps[std::size_t(m_.links[i].body)];
      const V3 s = times(R, lump.first);
      A.M(0, 0) = A.M(1, 1) = A.M(2, 2) = b.mass + lump.mass;
      A.J += R * lump.second * R.transpose();
      A.H(2, 1) = -s[0], A.H(0, 2) = -s[1], A.H(1, 0) = -s[2]; // -[s]x
      A.H(1, 2) = s[0], A.H(2, 0) = s[1], A.H(0, 1) = s[2];
      f += cross(w, cross(w, s));
    }
    m = cross(w, times(A.J, w));
    if (!m_.forces.empty()) {
      const Wrench<double>& load = wrenches_[std::size_t(m_.links[i].body)];
      f -= load.force;
      V3 torque = load.torque;
      if (load.loaded) torque += moment_of_directors<double>(R, load.directors);
      m -= times(R, torque);
      if (guests_.empty()) return;
      const std::size_t host = std::size_t(m_.links[i].body);
      f -= guests_[host].force, m -= times(held_[host].R, guests_[host].torque);
    }
  }
  // Force and torque about the centre of mass that a body needs from its joints.
  Twist inertia_force(std::size_t i) const {
    Articulated A;
    V3 f, m;
    body_inertia(i, A, f, m);
    Twist out;
    out << f + times(A.M, proj_[i].av) + times(A.H, proj_[i].aw),
        m + transposed_times(A.H, proj_[i].av) + times(A.J, proj_[i].aw);
    return out;
  }

  // --- the tree: articulated bodies from the leaves to the root

  void factor_tree() {
    for (std::size_t i = links_.size(); i-- > 0;) {
      const LinkJoint& k = links_[i];
      const int parent = m_.links[i].parent;
      if (k.kind == LinkJoint::ball)
        inward_ball(i, parent);
      else if (k.kind == LinkJoint::relative)
        switch (k.n) {
        case 0:
          inward<0>(i, parent);
          break;
        case 1:
          inward<1>(i, parent);
          break;
        case 2:
          inward<2>(i, parent);
          break;
        default:
          inward<3>(i, parent);
        }
      else
        inward_free(i);
    }
  }

  GYROD_INLINE void inward_ball(std::size_t i, int parent) {
    const Articulated& A = art_[i];
    Projected& p = proj_[i];
    const LinkMotion<double>& k = k_[i];
    const V3 f = p.f + times(A.M, k.cv), m = p.m + transposed_times(A.H, k.cv);
    const M3 U = cross_right(A.M, k.r) + A.H;
    const M3 D = cross_right(M3(A.H.transpose()), k.r) + A.J - cross_left(k.r, U);
    p.D = inverse_symmetric(D);
    p.ds = times(p.D, V3(m - cross(k.r, f)));
    p.Kv = product(U, p.D);
    if (parent < 0) return;
    const M3 passed = A.M - product_transposed(p.Kv, U);
    const V3 force = f - times(U, p.ds);
    art_[std::size_t(parent)].add_force_only(passed, k.l);
    proj_[std::size_t(parent)].f += force;
    proj_[std::size_t(parent)].m += cross(k.l, force);
  }

  template <int N> GYROD_INLINE void inward(std::size_t i, int parent) {
    const Articulated& A = art_[i];
    Projected& p = proj_[i];
    const LinkMotion<double>& k = k_[i];
    V3 f = p.f + times(A.M, k.cv) + times(A.H, k.cw), m = p.m + transposed_times(A.H, k.cv) + times(A.J, k.cw);
    M3 M = A.M, H = A.H, J = A.J;
    if constexpr (N > 0) {
      Matrix<double, 3, N> Uv, Uw;
      for (int j = 0; j < N; ++j) {
        const V3 sv = k.Sv.col(j), sw = k.Sw.col(j);
        Uv.col(j) = times(A.M, sv) + times(A.H, sw);
        Uw.col(j) = transposed_times(A.H, sv) + times(A.J, sw);
      }
      Matrix<double, N, N> D;
      Matrix<double, N, 1> s;
      for (int a = 0; a < N; ++a) {
        for (int b = 0; b < N; ++b) D(a, b) = k.Sv.col(a).dot(Uv.col(b)) + k.Sw.col(a).dot(Uw.col(b));
        s[a] = k.Sv.col(a).dot(f) + k.Sw.col(a).dot(m);
      }
      const Matrix<double, N, N> inverse = D.inverse();
      const Matrix<double, 3, N> Kv = Uv * inverse, Kw = Uw * inverse;
      p.D.template topLeftCorner<N, N>() = inverse;
      p.ds.template head<N>() = inverse * s;
      p.Kv.template leftCols<N>() = Kv, p.Kw.template leftCols<N>() = Kw;
      M -= Kv * Uv.transpose(), H -= Kv * Uw.transpose(), J -= Kw * Uw.transpose();
      f -= Kv * s, m -= Kw * s;
    }
    if (parent < 0) return;
    const V3 d = k.l - k.r;
    art_[std::size_t(parent)].add_shifted(M, H, J, d);
    proj_[std::size_t(parent)].f += f;
    proj_[std::size_t(parent)].m += m + cross(d, f);
  }

  // A free body: M^-1 and the inverse of its Schur complement, kept in Kv and D.
  void inward_free(std::size_t i) {
    const Articulated& A = art_[i];
    Projected& p = proj_[i];
    p.Kv = inverse_symmetric(A.M);
    p.Kw = product(p.Kv, A.H);
    p.D = inverse_symmetric(M3(A.J - A.H.transpose() * p.Kw));
  }
  Twist solve_free(std::size_t i, const V3& f, const V3& m) const { // (M, H; H', J)^-1 (f, m)
    const Projected& p = proj_[i];
    const V3 w = times(p.D, V3(m - transposed_times(p.Kw, f)));
    Twist out;
    out << times(p.Kv, f) - times(p.Kw, w), w;
    return out;
  }

  // Accelerations from the root to the leaves; with multipliers of the loops, their columns act too.
  void outward(const double* lambda) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const LinkJoint& k = links_[i];
      const LinkMotion<double>& m = k_[i];
      Projected& p = proj_[i];
      const int parent = m_.links[i].parent;
      if (k.kind == LinkJoint::free) {
        V3 f = -p.f, t = -p.m;
        if (lambda) add_columns(i, lambda, f, t);
        const Twist a = solve_free(i, f, t);
        p.av = a.head<3>(), p.aw = a.tail<3>();
        const V3 spin = in_body(directors_, m.R, p.aw);
        for (int j = 0; j < 3; ++j) p.nu_rate[std::size_t(j)] = p.av[j], p.nu_rate[std::size_t(3 + j)] = spin[j];
        continue;
      }
      V3 pv = V3::Zero(), pw = V3::Zero();
      if (parent >= 0) pv = proj_[std::size_t(parent)].av, pw = proj_[std::size_t(parent)].aw;
      const V3 joint = pv + cross(pw, m.l); // of the parent at the joint
      if (k.kind == LinkJoint::ball) {
        p.aw = -p.ds;
        if (parent >= 0) p.aw -= transposed_times(p.Kv, joint);
        if (lambda) subtract_columns<3>(i, lambda, p.aw.data());
        p.av = joint + cross(m.r, p.aw) + m.cv;
        const V3 spin = in_body(directors_, m.R, p.aw);
        for (int j = 0; j < 3; ++j) p.nu_rate[std::size_t(j)] = spin[j];
        continue;
      }
      const V3 v = joint - cross(pw, m.r); // of the parent, carried to the centre of mass
      V3 av = v + m.cv, aw = pw + m.cw;
      double rate[3];
      for (int j = 0; j < k.n; ++j) rate[j] = -p.ds[j] - p.Kv.col(j).dot(v) - p.Kw.col(j).dot(pw);
      if (lambda) {
        if (k.n == 1) subtract_columns<1>(i, lambda, rate);
        if (k.n == 2) subtract_columns<2>(i, lambda, rate);
        if (k.n == 3) subtract_columns<3>(i, lambda, rate);
      }
      for (int j = 0; j < k.n; ++j) {
        p.nu_rate[std::size_t(j)] = rate[j];
        av += m.Sv.col(j) * rate[j], aw += m.Sw.col(j) * rate[j];
      }
      p.av = av, p.aw = aw;
    }
  }

  void full(double t, const double* y) {
    kinematics(t, y);
    loads(t);
    factor_tree();
    if (!columns_.empty()) factor_loops();
    accelerate();
  }

  void accelerate() {
    outward(nullptr);
    if (columns_.empty()) return;
    tie_values(second_);
    for (int c = 0; c < cuts(); ++c) {
      const auto [a, b] = bodies_of_cut(c);
      for (int k = 0; k < rows_of_cut(c); ++k) {
        const std::size_t at = std::size_t(loops_.offset(c) + k);
        gap_[at] = second_[at];
        if (a >= 0) gap_[at] += dot(grad_a_[at], acceleration(a));
        if (b >= 0) gap_[at] += dot(grad_b_[at], acceleration(b));
      }
    }
    loops_.solve(gap_.data(), lambda_.data());
    outward(lambda_.data());
    release(HostTies::second);
  }
  Twist acceleration(int body) const {
    const Projected& p = proj_[std::size_t(link_of_[std::size_t(body)])];
    Twist a;
    a << p.av, p.aw;
    return a;
  }
  static double dot(const Twist& a, const Twist& b) { return a.dot(b); }

  // --- kinematic maps of a link: V = A V_parent + S nu

  Twist subspace(std::size_t i, int j) const {
    const LinkMotion<double>& m = k_[i];
    Twist s = Twist::Zero();
    if (links_[i].kind == LinkJoint::free) {
      if (j < 3)
        s[j] = 1.0;
      else
        s.tail<3>() = m.R.col(j - 3);
    } else if (links_[i].kind == LinkJoint::ball)
      s << cross(m.r, V3(m.R.col(j))), m.R.col(j);
    else
      s << m.Sv.col(j), m.Sw.col(j);
    return s;
  }
  Twist carried(std::size_t i, const Twist& parent) const {
    const LinkMotion<double>& m = k_[i];
    const V3 v = parent.head<3>(), w = parent.tail<3>();
    Twist out = Twist::Zero();
    if (links_[i].kind == LinkJoint::ball)
      out.head<3>() = v + cross(w, m.l);
    else if (links_[i].kind == LinkJoint::relative)
      out << v + cross(w, V3(m.l - m.r)), w;
    return out;
  }
  Twist carried_back(std::size_t i, const Twist& g) const { // A' g
    const LinkMotion<double>& m = k_[i];
    const V3 f = g.head<3>(), t = g.tail<3>();
    Twist out = Twist::Zero();
    if (links_[i].kind == LinkJoint::ball)
      out << f, cross(m.l, f);
    else if (links_[i].kind == LinkJoint::relative)
      out << f, t + cross(V3(m.l - m.r), f);
    return out;
  }
  // A force and torque about the centre of one body, about that of another one or the origin.
  Twist shifted(const Twist& w, int from, int to) const {
    const V3 a = from < 0 ? V3(V3::Zero()) : k_[std::size_t(link_of_[std::size_t(from)])].x;
    const V3 b = to < 0 ? V3(V3::Zero()) : k_[std::size_t(link_of_[std::size_t(to)])].x;
    Twist out = w;
    out.tail<3>() += cross(V3(a - b), V3(w.head<3>()));
    return out;
  }
  void at_joint(int joint, const Twist& on_b, double* out) const { // about the joint point of b
    const JointPlace& p = m_.joints[std::size_t(joint)].place;
    const V3 arm = p.b < 0 ? p.at_b : times(k_[std::size_t(link_of_[std::size_t(p.b)])].R, p.at_b);
    const V3 f = on_b.head<3>(), t = V3(on_b.tail<3>()) - cross(arm, f);
    for (int j = 0; j < 3; ++j) out[j] = f[j], out[3 + j] = t[j];
  }

  // --- loops

  MovingSide side(int body) const {
    if (body < 0) return {};
    const LinkMotion<double>& m = k_[std::size_t(link_of_[std::size_t(body)])];
    return {side_of<double>(m.x, m.R, m.v, m.w), m.w};
  }
  JointRows rows_of(int joint, bool loop) const {
    const Joint& j = m_.joints[std::size_t(joint)];
    return evaluate_rows(j, joint, loop, j.driven() ? u_[std::size_t(joint)] : j.value(0.0), side(j.place.a),
                         side(j.place.b));
  }
  // Of a cut those that are kept.
  template <class G> void kept_rows(std::size_t cut, G&& visit) const {
    const JointRows rows = rows_of(m_.cuts[cut], true);
    for (int k : m_.kept[cut]) visit(rows.row[k]);
  }
  double rate_of(int joint, const Twist& a, const Twist& b) const {
    const JointPlace& p = m_.joints[std::size_t(joint)].place;
    double rate = 0.0;
    for (int s = 0; s < 2; ++s) {
      const int body = s ? p.b : p.a;
      if (body < 0) continue;
      const LinkMotion<double>& m = k_[std::size_t(link_of_[std::size_t(body)])];
      const Twist& g = s ? b : a;
      rate += g.head<3>().dot(m.v) + g.tail<3>().dot(m.w);
    }
    return rate;
  }
  bool kept(int cut, int row) const {
    const auto& k = m_.kept[std::size_t(cut)];
    return std::find(k.begin(), k.end(), row) != k.end();
  }

  // Which cuts act on which links, where their columns are, and the pattern of the system of multipliers.
  GYROD_COLD void prepare_loops() {
    std::vector<int> sizes;
    int rows = 0;
    for (int c = 0; c < cuts(); ++c) sizes.push_back(rows_of_cut(c)), rows += sizes.back();
    if (rows == 0) return;
    columns_.resize(links_.size());
    for (int c = 0; c < cuts(); ++c)
      for (int body : bodies_of_cut(c))
        for (int i = body < 0 ? -1 : link_of_[std::size_t(body)]; i >= 0; i = m_.links[std::size_t(i)].parent) {
          auto& list = columns_[std::size_t(i)].cuts;
          if (std::find(list.begin(), list.end(), c) == list.end()) list.push_back(c);
        }
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < ties(); ++i)
      if (tie(i).partner > i) pairs.emplace_back(tie_cut(i), tie_cut(tie(i).partner));
    for (Columns& k : columns_) {
      std::sort(k.cuts.begin(), k.cuts.end());
      for (int c : k.cuts) k.at.push_back(k.count), k.count += sizes[std::size_t(c)];
      k.P.resize(std::size_t(k.count)), k.Z.resize(k.P.size()), k.SP.resize(k.P.size());
      for (std::size_t a = 0; a < k.cuts.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) pairs.emplace_back(k.cuts[b], k.cuts[a]);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    std::vector<double> mobility;
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      const Joint& j = m_.joints[std::size_t(m_.cuts[c])];
      for (int r : m_.kept[c]) mobility.push_back(free_mobility(j, j.row(r).type == RowKind::dot));
    }
    for (int i = 0; i < ties(); ++i) mobility.insert(mobility.end(), std::size_t(tie(i).rows), tie(i).mobility);
    std::vector<int> ranks = sizes;
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) ranks[c] = m_.rank(int(c));
    loops_ = LoopSystem(sizes, ranks, pairs, std::move(mobility));
    grad_a_.resize(std::size_t(rows)), grad_b_.resize(std::size_t(rows));
    for (auto* v : {&second_, &position_, &in_time_, &gap_, &lambda_, &tie_force_}) v->resize(std::size_t(rows));
  }

  // Cut joints, and behind them constraints with guests.
  int ties() const { return int(ties_.size()); }
  int tie_cut(int i) const { return int(m_.cuts.size()) + i; }
  const Tie& tie(int i) const { return ties_[std::size_t(i)]; }
  int cuts() const { return tie_cut(ties()); }
  int rows_of_cut(int c) const {
    const int i = c - int(m_.cuts.size());
    return i < 0 ? int(m_.kept[std::size_t(c)].size()) : tie(i).rows;
  }
  std::array<int, 2> bodies_of_cut(int c) const {
    const int i = c - int(m_.cuts.size());
    if (i >= 0) return {tie(i).body, -1};
    const JointPlace& p = m_.joints[std::size_t(m_.cuts[std::size_t(c)])].place;
    return {p.a, p.b};
  }

  // G M^-1 G' of a row, about, if its two bodies were free.
  double free_mobility(const Joint& j, bool turn) const {
    double sum = 0.0;
    for (int s = 0; s < 2; ++s) {
      const int body = s ? j.place.b : j.place.a;
      if (body < 0) continue;
      RigidBody b = m_.bodies[std::size_t(body)];
      if (!m_.lumps.empty()) b.mass += m_.lumps[std::size_t(body)].mass;
      const double inertia = b.moments.sum() / 3.0, arm = (s ? j.place.at_b : j.place.at_a).squaredNorm();
      if (!turn) sum += 1.0 / b.mass;
      if (inertia > 1e-12 * b.mass * arm && inertia > 0.0) sum += (turn ? 1.0 : arm) / inertia;
    }
    return sum;
  }

  struct Columns {
    std::vector<int> cuts, at; // active cuts and where their columns begin
    int count = 0;
    std::vector<Twist> P, SP, Z; // forces of unit multipliers, S'P and D^-1 S'P
    int find(int cut) const { return at[std::size_t(std::lower_bound(cuts.begin(), cuts.end(), cut) - cuts.begin())]; }
  };

  void loop_rows_now() {
    for (std::size_t c = 0; c < m_.cuts.size(); ++c) {
      std::size_t at = std::size_t(loops_.offset(int(c)));
      kept_rows(c, [&](const JointRow& r) {
        grad_a_[at] = r.a, grad_b_[at] = r.b;
        position_[at] = r.g, in_time_[at] = r.rate_in_time, second_[at] = r.second;
        ++at;
      });
    }
    for (int i = 0; i < ties(); ++i)
      for (int r = 0; r < tie(i).rows; ++r)
        if (Twist& g = grad_a_[std::size_t(loops_.offset(tie_cut(i)) + r)]; loose_)
          g.setZero();
        else
          m_.ties->tie_row(i, r, g);
  }
  // G' mu of a tie
  Twist tie_pull(int i) const {
    Twist sum = Twist::Zero();
    for (int r = 0; r < tie(i).rows; ++r) {
      const std::size_t at = std::size_t(loops_.offset(tie_cut(i)) + r);
      sum += grad_a_[at] * lambda_[at];
    }
    return sum;
  }
  // Values of the ties as their guests have them, behind those of the cut joints.
  void tie_values(std::vector<double>& to) const {
    for (int i = 0; i < ties(); ++i)
      for (int r = 0; r < tie(i).rows; ++r)
        to[std::size_t(loops_.offset(tie_cut(i)) + r)] = loose_ ? 0.0 : m_.ties->tie_value(i, r);
  }
  void release(HostTies::Level level) {
    if (!ties() || loose_) return;
    double* to = tie_force_.data();
    for (int i = 0; i < ties(); ++i)
      to = std::copy_n(&lambda_[std::size_t(loops_.offset(tie_cut(i)))], tie(i).rows, to);
    m_.ties->release_ties(level, tie_force_.data());
  }

  // Columns of the multipliers carried from the leaves to the root, and G M^-1 G' on the way.
  void factor_loops() {
    loop_rows_now();
    for (Columns& k : columns_)
      for (Twist& x : k.P) x.setZero();
    for (int c = 0; c < cuts(); ++c) {
      const auto bodies = bodies_of_cut(c);
      for (std::size_t s = 0; s < 2; ++s) {
        if (bodies[s] < 0) continue;
        Columns& k = columns_[std::size_t(link_of_[std::size_t(bodies[s])])];
        const int at = k.find(c);
        for (int j = 0; j < rows_of_cut(c); ++j) {
          const std::size_t row = std::size_t(loops_.offset(c) + j);
          k.P[std::size_t(at + j)] += s ? grad_b_[row] : grad_a_[row];
        }
      }
    }
    loops_.clear();
    for (std::size_t i = links_.size(); i-- > 0;) {
      Columns& k = columns_[i];
      if (!k.count) continue;
      const int n = links_[i].n, parent = m_.links[i].parent;
      const bool ball = links_[i].kind == LinkJoint::ball, free = links_[i].kind == LinkJoint::free;
      for (int c = 0; c < k.count; ++c) {
        const V3 f = k.P[std::size_t(c)].head<3>(), t = k.P[std::size_t(c)].tail<3>();
        if (free) {
          k.SP[std::size_t(c)] = k.P[std::size_t(c)], k.Z[std::size_t(c)] = solve_free(i, f, t);
          continue;
        }
        V3 s = V3::Zero();
        if (ball)
          s = t - cross(k_[i].r, f);
        else
          for (int j = 0; j < n; ++j) s[j] = k_[i].Sv.col(j).dot(f) + k_[i].Sw.col(j).dot(t);
        V3 z = V3::Zero();
        for (int a = 0; a < n; ++a)
          for (int b = 0; b < n; ++b) z[a] += proj_[i].D(a, b) * s[b];
        k.SP[std::size_t(c)].head<3>() = s, k.Z[std::size_t(c)].head<3>() = z;
        if (parent < 0) continue;
        Twist passed; // A' (P - U D^-1 S' P)
        V3 force = f, torque = t;
        for (int j = 0; j < n; ++j) {
          force -= proj_[i].Kv.col(j) * s[j];
          if (!ball) torque -= proj_[i].Kw.col(j) * s[j];
        }
        passed << force, torque;
        Columns& up = columns_[std::size_t(parent)];
        up.P[std::size_t(column_above(k, up, c))] += carried_back(i, passed);
      }
      const int rows = free ? 6 : n;
      if (rows == 0) continue;
      for (std::size_t a = 0; a < k.cuts.size(); ++a)
        for (std::size_t b = 0; b < k.cuts.size(); ++b) {
          const int na = rows_of_cut(k.cuts[a]), nb = rows_of_cut(k.cuts[b]);
          auto to = loops_.block(k.cuts[a], k.cuts[b]);
          for (int q = 0; q < nb; ++q)
            for (int p = 0; p < na; ++p) {
              const Twist &s = k.SP[std::size_t(k.at[a] + p)], &z = k.Z[std::size_t(k.at[b] + q)];
              if (free)
                to(p, q) += s.dot(z);
              else
                for (int r = 0; r < rows; ++r) to(p, q) += s[r] * z[r];
            }
        }
    }
    for (int i = 0; i < ties(); ++i)
      for (int j : {i, tie(i).partner}) {
        if (j < 0) continue;
        auto to = loops_.block(tie_cut(i), tie_cut(j));
        for (int p = 0; p < tie(i).rows; ++p)
          for (int q = 0; q < tie(j).rows; ++q)
            to(p, q) += loose_ ? i == j && p == q : m_.ties->tie_compliance(i, p, j, q);
      }
    loops_.factor();
  }
  static int column_above(const Columns& k, const Columns& up, int c) {
    std::size_t a = 0;
    while (a + 1 < k.cuts.size() && k.at[a + 1] <= c) ++a;
    return up.find(k.cuts[a]) + c - k.at[a];
  }
  void add_columns(std::size_t i, const double* lambda, V3& f, V3& t) const {
    const Columns& k = columns_[i];
    for (std::size_t a = 0; a < k.cuts.size(); ++a)
      for (int j = 0; j < rows_of_cut(k.cuts[a]); ++j) {
        const double value = lambda[loops_.offset(k.cuts[a]) + j];
        f -= k.P[std::size_t(k.at[a] + j)].head<3>() * value;
        t -= k.P[std::size_t(k.at[a] + j)].tail<3>() * value;
      }
  }
  template <int N> void subtract_columns(std::size_t i, const double* lambda, double* rate) const {
    const Columns& k = columns_[i];
    for (std::size_t a = 0; a < k.cuts.size(); ++a)
      for (int j = 0; j < rows_of_cut(k.cuts[a]); ++j) {
        const double value = lambda[loops_.offset(k.cuts[a]) + j];
        for (int r = 0; r < N; ++r) rate[r] -= k.Z[std::size_t(k.at[a] + j)][r] * value;
      }
  }

  // --- projection

  // Poses along the tree from what each joint leaves: explicit, no iteration.
  bool project_tree(double t, double* y) {
    if (turn_.empty()) turn_.resize(links_.size()), place_.resize(links_.size());
    bool moved = false;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      double* s = y + at_[i];
      const LinkJoint& k = links_[i];
      const TreeLink& l = m_.links[i];
      Vec4<double> old = quaternion_of(s + 3), p = old / old.norm();
      V3 x(s[0], s[1], s[2]);
      if (k.kind != LinkJoint::free) {
        const Vec4<double> one(1, 0, 0, 0);
        const Vec4<double> pp = l.parent < 0 ? one : turn_[std::size_t(l.parent)];
        const V3 xp = l.parent < 0 ? V3(V3::Zero()) : place_[std::size_t(l.parent)];
        const Driven u = k.driven ? m_.joints[std::size_t(l.joint)].value(t) : Driven{};
        pose(k, u, pp, xp, p, x);
      }
      turn_[i] = p, place_[i] = x;
      moved = put_pose(s, x, p) || moved;
    }
    return moved;
  }
  Vec4<double> quaternion_of(const double* q) const {
    if (kind_ == Coordinates::angles) return spurrier_klumpp<double>(EulerAngles::frame<double>(q));
    if (!directors_) return Part<4>::of(q);
    double d[9];
    std::copy(q, q + 9, d);
    if (m_.options.polar) NullspaceDirectors::orthonormalise(d, m_.options);
    return spurrier_klumpp<double>(frame_of(d));
  }
  bool put_pose(double* s, const V3& x, const Vec4<double>& p) const {
    double q[9];
    if (directors_)
      put_frame<double>(q, matrix_from_quaternion<double>(p));
    else if (kind_ == Coordinates::angles)
      std::copy_n(s + 3, 3, q), EulerAngles::put(matrix_from_quaternion<double>(p), q);
    else
      Part<4>::put(q, p);
    double change = 0.0, size = 1.0;
    for (int j = 0; j < 3; ++j) change = std::max(change, std::abs(s[j] - x[j])), size = std::max(size, std::abs(x[j]));
    for (int j = 0; j < nq_; ++j) change = std::max(change, std::abs(s[3 + j] - q[j]));
    if (change <= 4e-16 * size) return false;
    for (int j = 0; j < 3; ++j) s[j] = x[j];
    for (int j = 0; j < nq_; ++j) s[3 + j] = q[j];
    return true;
  }
  // Close the loops by (62) in the metric of the mass, on the velocities of the tree: positions, then velocities.
  bool close_loops(double t, double* y) {
    bool moved = false, reused = false;
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 12; ++k) {
      kinematics(t, y);
      const double strained = ties() && !loose_ ? m_.ties->measure_ties(HostTies::gap, t, hosts()) : 0.0;
      loop_rows_now();
      tie_values(position_);
      double gap = strained;
      for (double g : position_) gap = std::max(gap, std::abs(g));
      const bool stuck = !(gap < 0.9 * before) && (!reused || gap < 1e-13 * length_);
      if (gap < 2e-15 * length_ || stuck) break;
      // There may be many ties, and the gaps of a step are small: what was found for the first one will do.
      reused = ties() && moved && gap < 1e-6 * length_ && gap < 1e-3 * before;
      before = gap;
      if (!reused) {
        loads_without_motion();
        factor_tree();
        factor_loops();
      }
      solve_gap(position_);
      move(y);
      release(HostTies::gap);
      project_tree(t, y);
      moved = true;
    }
    double open = 0.0;
    for (double g : position_) open = std::max(open, std::abs(g));
    if (ties() && !loose_) m_.ties->measure_ties(HostTies::rate, t, hosts());
    torn_ = !(open <= largest_gap_allowed * length_);
    loads_without_motion();
    factor_tree();
    factor_loops();
    double size = 0.0, gap = 0.0;
    for (std::size_t c = 0; c < m_.cuts.size(); ++c)
      for (int j = 0; j < int(m_.kept[c].size()); ++j) {
        const std::size_t at = std::size_t(loops_.offset(int(c)) + j);
        rate_[at] = rate_of(m_.cuts[c], grad_a_[at], grad_b_[at]) + in_time_[at];
        gap = std::max(gap, std::abs(rate_[at]));
      }
    tie_values(rate_);
    for (const auto& m : k_) size = std::max({size, m.v.cwiseAbs().maxCoeff(), m.w.cwiseAbs().maxCoeff()});
    if (gap <= 1e-15 * size && !ties()) return moved;
    solve_gap(rate_);
    release(HostTies::rate);
    for (std::size_t i = 0; i < links_.size(); ++i)
      for (int j = 0; j < links_[i].n; ++j) y[at_[i] + np_ + std::size_t(j)] += proj_[i].nu_rate[std::size_t(j)];
    return true;
  }
  const BodyMotion<double>* hosts() const { return (held_.empty() ? motions_ : held_).data(); }
  void loads_without_motion() {
    length_ = 1.0;
    rate_.resize(gap_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) {
      V3 f, m;
      body_inertia(i, art_[i], f, m);
      proj_[i].f.setZero(), proj_[i].m.setZero();
      k_[i].cv.setZero(), k_[i].cw.setZero();
      length_ = std::max(length_, k_[i].x.cwiseAbs().maxCoeff());
    }
  }
  // Velocities nu (in nu_rate) and twists (av, aw) that undo a gap g with the least kinetic energy.
  void solve_gap(const std::vector<double>& g) {
    loops_.solve(g.data(), lambda_.data());
    outward(lambda_.data());
  }
  // Move all poses by the twists of the last solution.
  void move(double* y) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      double* s = y + at_[i];
      const V3 x = V3(s[0], s[1], s[2]) + proj_[i].av;
      const Vec4<double> p = quaternion_of(s + 3);
      put_pose(s, x, multiply<double>(exp_quaternion<double>(proj_[i].aw), p));
    }
  }

  const Coordinates kind_;
  const bool directors_; // is it of that kind?
  const int nq_;         // rotation coordinates of a link
  const std::size_t np_; // coordinates
  MechanismModel m_;
  std::vector<LinkJoint> links_;
  std::vector<LinkMotion<double>> k_;
  std::vector<Articulated> art_;
  std::vector<Projected> proj_;
  std::vector<BodyMotion<double>> motions_; // of bodies
  std::vector<Wrench<double>> wrenches_;
  std::vector<BodyMotion<double>> held_; // of directors: as guests see them, and what these do
  std::vector<Wrench<double>> guests_;
  std::vector<int> link_of_;
  std::vector<Driven> u_;
  std::vector<std::size_t> at_;
  std::vector<int> nu_at_;
  std::size_t size_ = 0;
  int freedoms_ = 0;
  bool driven_ = false, timed_ = false;
  double length_ = 1.0;
  std::vector<double> scratch_;
  std::vector<Columns> columns_;
  std::vector<Tie> ties_;
  LoopSystem loops_;
  std::vector<Twist> grad_a_, grad_b_;
  std::vector<double> second_, position_, in_time_, gap_, rate_, lambda_, tie_force_;
  std::vector<Vec4<double>> turn_;
  std::vector<V3> place_;
};

} // namespace gyrod
