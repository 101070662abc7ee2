// The variational integrator for rigid bodies with joints and forces (Xu, Zhong 2016, (66)-(73); Leyendecker, Marsden,
// Ortiz 2008), and the conserving schemes (turn.hpp for bodies alone, conserving.cpp).
//
// Unknowns of a step are the increments of all bodies (displacement, rotation w of increment.hpp) and the multipliers
// of the joints: the equations at t_k are
//   h (p_begin(q_k, q_k+1) - p_k) - h² f_begin - G(q_k)' mu = 0,   g(q_k+1) = 0
// with mu = h² lambda, the multipliers scaled by s = h^-2, and p_k the momentum that the step before has left, or the
// initial one (73). Multiplied by h the matrix does not depend on the step to leading order. Bodies and joints are
// nodes of a graph; G is taken at q_k, so that joints couple no two bodies directly, and trees are eliminated in O(n).
//
// Forces: what has a potential enters the discrete Lagrangian at the midpoint (or the nodes); the rest does discrete
// virtual work h f(q_mid, q'_mid) . dq_mid (d'Alembert). Cells of rods are bodies behind all others; see rods.hpp.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>

#include "gyrod/integrate/archive.hpp"
#include "gyrod/linear/block_lu.hpp"
#include "gyrod/mechanism/model.hpp"
#include "gyrod/variational/points.hpp"
#include "gyrod/variational/rods.hpp"

namespace gyrod::variational {

struct Acting {
  explicit Acting(std::shared_ptr<const ForceElement> force)
      : element(std::move(force)), potential(element->conservative()), points(element->of_points()) {}
  std::shared_ptr<const ForceElement> element;
  bool potential; // at rest it is the gradient of an energy
  // Its energy depends on points alone: it is taken at the midpoint of the coordinates as it is, as the paper takes
  // gravity. All others see a rotation, that over half the step.
  bool points;
};

struct Model : JointTree {
  std::vector<RigidBody> bodies; // a pinned body turns about its point, its joint is not among the rows
  std::vector<double> sigma;
  std::vector<RodDescription> rods;
  std::vector<std::vector<double>> rod_sigma; // of frames
  std::vector<RodLink> points;                // links between points of rods and others
  std::vector<Contact> contacts;              // without friction, of rods with surfaces in space
  std::vector<Acting> forces;
  V3 gravity = V3::Zero();
  double length = 1.0; // of the size of the system
  bool directors = false, nodes = false, conserving = false;
  bool composed = false; // five steps make one of order four
};

class System {
  template <class F> auto with_scheme(F&& f) const { return m_.directors ? f(std::true_type{}) : f(std::false_type{}); }

public:
  System(Model model, double h);
  ~System();

  std::size_t bodies() const { return m_.bodies.size(); }
  // Of a node: one for each body, and behind them what they have in common: fractions of rods in what they slide
  // through.
  std::size_t rows() const { return bodies() + (points_.places().size() + 12) / 13; }
  const Newton& newton() const { return newton_; }
  double time() const { return t_; }

  // The node of each cell of a rod, -1: held.
  const std::vector<int>& cells(std::size_t rod) const { return links_[rod].cells(); }

  // Position, quaternion, velocity and material angular velocity of each body, 13 numbers a row.
  void start(double t, const double* rows);

  // false: Newton's method does not converge, and the state stays that of the node before; or there is trouble.
  bool advance(double t_next);
  const std::string& trouble() const { return trouble_; }

  // Save or restore, between two steps, everything that the next one depends on.
  void exchange(Archive& a);

  // The same rows at the node: momenta made tangent to the constraints of the joints give the velocities.
  void read(double* rows);

  // Energy at the midpoint of the last step: kinetic energy of the split inertia and the potential as the discrete
  // Lagrangian has it.
  double middle_energy() const { return middle_; }
  bool composed() const { return m_.composed; }

  // For tests: residual and dense matrix (row-major) at increments (6 for each body, 3 for a pinned one) from here,
  // multipliers zero: they enter linearly.
  int unknowns() const { return pattern_.total(); }
  void linearise(double t_next, const double* increments, double* residual, double* matrix);

private:
  struct Gradient { // of one row by displacement and by rotation in body axes, of both sides
    V3 ax, aw, bx, bw;
  };
  struct Kick { // half a step of the forces of potentials at a node
    V3 P = V3::Zero(), L = V3::Zero();
  };

  // Rods as links between nodes; their cells join the bodies.
  GYROD_COLD static std::vector<RodLinks> make_links(Model& m);
  GYROD_COLD void lay_out();
  GYROD_COLD void weave(); // the pattern, after places on rods have moved
  // The rows of each joint, and which nodes must be eliminated before others. Returns for each joint the body whose
  // node holds its multipliers, or -1.
  std::vector<int> order(std::vector<std::vector<int>>& after);

  bool advance_by(double t_next);

  // --- bodies that do not feel each other

  bool advance_independent();
  template <class Turn> bool independent() {
    const double h = step_.h;
    newton_.begin(newton_.keep);
    int most = 0;
    double middle = 0.0;
    for (std::size_t b = 0; b < bodies(); ++b) {
      const RigidBody& body = m_.bodies[b];
      BodyState& y = next_[b] = states_[b];
      const V3 F = body.mass * m_.gravity, f = frames_[b].transpose() * F;
      V3 w = y.predict(y.w);
      if (!Turn::solve(body, m_.sigma[b], step_, f, y.L, w, newton_) || !newton_.accepts(w)) {
        // Once more, from the velocity at the node.
        w = (0.25 * h) * y.L.cwiseQuotient(body.moments);
        newton_.begin(true);
        const bool done = Turn::solve(body, m_.sigma[b], step_, f, y.L, w, newton_) && newton_.accepts(w);
        newton_.keep = false;
        if (!done) return false;
      }
      most = std::max(most, newton_.iterations);
      y.r = normalize<double>(multiply<double>(y.r, Increment(w).quaternion()));
      frames_next_[b] = matrix_from_quaternion<double>(y.r);
      middle += Turn::finish(body, m_.sigma[b], step_, f, frames_next_[b].transpose() * F, w, y.L) / (h * h);
      V3 dx = V3::Zero();
      if (body.pinned)
        middle -= F.dot(body.point);
      else {
        // Both rules and both schemes agree: gravity is uniform.
        dx = (h / body.mass) * (y.P + (0.5 * h) * F);
        middle += (0.5 * body.mass / (h * h)) * dx.squaredNorm() - F.dot(y.x + 0.5 * dx);
        y.x += dx, y.P += h * F;
      }
      y.push(w, dx);
    }
    states_.swap(next_), frames_.swap(frames_next_);
    newton_.iterations = most;
    middle_ = middle;
    return true;
  }

  // --- bodies with joints and forces

  bool advance_joined();
  bool solve_joined();

  template <bool directors> bool iterate() {
    bool matrix = true; // with rods it serves as long as it converges fast
    for (newton_.iterations = 0; newton_.iterations < Newton::most;) {
      // The derivatives of forces, small by h², are those of the first iterate: that costs no convergence that counts.
      if (m_.conserving)
        assemble_conserving();
      else
        assemble<directors>(newton_.iterations == 0 || newton_.iterations > 5, matrix);
      if (newton_.keep) newton_.note(residual());
      for (double& x : rhs_) x = -x;
      if (matrix && !lu_->factor()) return false;
      lu_->solve(rhs_.data());
      for (std::size_t j = 0; j < rows_.size(); ++j)
        std::copy_n(rhs_.data() + pattern_.offset(node_[j]) + base_[j], rows_[j].size(), mu_.data() + first_[j]);
      for (RodLinks& rod : links_) rod.take(pattern_, rhs_.data());
      double change = 0.0, size = 0.0, far = 0.0;
      for (std::size_t b = 0; b < bodies(); ++b) {
        const double* d = rhs_.data() + pattern_.offset(int(b));
        if (!m_.bodies[b].pinned) {
          const V3 dx(d[0], d[1], d[2]);
          dx_[b] += dx, d += 3;
          change = std::max(change, dx.norm() / m_.length), size = std::max(size, dx_[b].norm() / m_.length);
          far = std::max(far, states_[b].x.norm() / m_.length);
        }
        const V3 dw(d[0], d[1], d[2]);
        w_[b] += dw;
        change = std::max(change, dw.norm()), size = std::max(size, w_[b].norm());
      }
      ++newton_.iterations;
      if (!links_.empty() && !m_.conserving) matrix = newton_.slow(change);
      if (links_.empty() && !m_.conserving ? newton_.done(change, size) : newton_.settled(change, size, far)) {
        for (std::size_t b = 0; b < bodies(); ++b) {
          newton_.accepts(w_[b]);
          if (massless_[b] || m_.conserving) continue;
          const V3 J = m_.bodies[b].moments - V3::Constant(m_.sigma[b]);
          if (!(kinetic_matrix<directors>(Increment(w_[b]), J, m_.sigma[b]).determinant() > 0.0)) newton_.folded = true;
        }
        return !newton_.turned && !newton_.folded;
      }
      if (!(change < 1e6) || !(size < 1e6)) return false;
    }
    return false;
  }

  double residual() const;

  // Residual without multipliers into rhs_, matrix into lu_.
  template <bool directors> void assemble(bool fresh, bool matrix) {
    const double h = step_.h;
    if (matrix) lu_->clear();
    for (std::size_t b = 0; b < bodies(); ++b) {
      const RigidBody& body = m_.bodies[b];
      const BodyState& y = states_[b];
      const Increment e(w_[b]);
      const V3 J = body.moments - V3::Constant(m_.sigma[b]);
      V3 rot = kinetic<directors>(e, J, m_.sigma[b]).begin - h * (y.L + kicks_[b].L);
      M3 K = kinetic_matrix<directors>(e, J, m_.sigma[b]);
      const V3 F = weights_[b];
      half_[b] = frames_[b] * e.half();
      frames_next_[b] = half_[b] * e.half();
      double* r = rhs_.data() + pattern_.offset(int(b));
      if (body.pinned) {
        const V3 f = frames_[b].transpose() * F;
        if (directors || m_.nodes)
          rot -= (0.5 * h * h) * body.arm.cross(f);
        else {
          const Weight u = weight(e, f, body.arm);
          rot -= (h * h) * u.begin;
          K -= (h * h) * weight_matrix(e, f, body.arm, u.g);
        }
      } else {
        const V3 lin = body.mass * dx_[b] - h * (y.P + kicks_[b].P) - (0.5 * h * h) * F;
        for (int i = 0; i < 3; ++i) r[i] = lin[i];
        r += 3;
      }
      for (int i = 0; i < 3; ++i) r[i] = rot[i];
      if (!matrix) continue;
      auto block = lu_->block(int(b), int(b));
      if (!body.pinned)
        for (int i = 0; i < 3; ++i) block(i, i) = body.mass;
      const int at = body.pinned ? 0 : 3;
      block.block(at, at, 3, 3) = K;
    }
    if (!links_.empty()) {
      const Trial trial = place(matrix);
      for (RodLinks& rod : links_) rod.assemble(trial, pattern_, rhs_.data(), matrix);
      if (!points_.empty()) points_.assemble(links_, trial, pattern_, rhs_.data(), matrix);
      carry<directors>(matrix);
    }
    if (fresh) std::fill(stiff_.begin(), stiff_.end(), 0.0);
    for (const Acting& f : m_.forces) {
      act<directors>(f, false, 1.0, fresh);
      if (m_.nodes && f.potential) act<directors>(f, true, -1.0, fresh); // what is left at rest acts at the nodes
    }
    for (const auto& [a, b] : force_pairs_) {
      if (!matrix) break;
      auto block = lu_->block(a, b);
      block += Grid<double>(stiff_.data() + pattern_.block(a, b), block.rows(), block.cols());
    }
    if (joined_) constrain(matrix);
  }

  void constrain(bool matrix);

  // --- steps that keep energy and momenta: conserving.cpp

  // A body together with what it holds of rods: about their centre of mass, which is at `c` from that of the body.
  struct Whole {
    double mass;
    V3 c;
    M3 J;
    bool plain; // nothing is held
  };
  GYROD_COLD void gather();
  void hang(std::size_t body, const V3& at, const V3& F);
  void lead(double t); // what drives and lengths say
  void span(std::size_t body);
  void span_dual(std::size_t body, int slot);
  template <class F> void meet(std::size_t joint, F&& act);
  void assemble_conserving();
  void differentiate_conserving(const ForceElement& f);
  void constrain_conserving();
  void finish_conserving();

  // --- rods

  // Where all nodes are at the end of the step in hand.
  Trial place(bool matrix);
  void stand(); // and at the node, with the strains there

  // Masses of rods that move with bodies.
  template <bool directors> void carry(bool matrix) {
    for (const RodLinks& rod : links_)
      for (const HeldMass& m : rod.masses()) {
        const std::size_t b = std::size_t(m.body);
        const bool pinned = m_.bodies[b].pinned;
        const double h = step_.h;
        const V3 p = m.mass * m.moved(poses_[b], poses_next_[b], pinned) - (0.5 * h * h) * m.weight;
        const Increment e(m.turn.transpose() * w_[b]);
        const V3 J = m.J - V3::Constant(m.sigma);
        const V3 rot = m.at.cross(poses_[b].R.transpose() * p) + m.turn * kinetic<directors>(e, J, m.sigma).begin;
        double* r = rhs_.data() + pattern_.offset(int(b));
        if (!pinned) {
          for (int i = 0; i < 3; ++i) r[i] += p[i];
          r += 3;
        }
        for (int i = 0; i < 3; ++i) r[i] += rot[i];
        if (!matrix) continue;
        M36 now, next;
        now.leftCols<3>().setIdentity(), now.rightCols<3>() = -(poses_[b].R * skew<double>(m.at));
        next.leftCols<3>().setIdentity(), next.rightCols<3>() = -(poses_next_[b].R * skew<double>(m.at) * turns_[b]);
        M66 K = m.mass * (now.transpose() * next);
        K.block<3, 3>(3, 3) += m.turn * kinetic_matrix<directors>(e, J, m.sigma) * m.turn.transpose();
        auto block = lu_->block(int(b), int(b));
        const int skip = pinned ? 3 : 0;
        for (int j = skip; j < 6; ++j)
          for (int i = skip; i < 6; ++i) block(i - skip, j - skip) += K(i, j);
      }
  }
  template <bool directors> double finish_carried() {
    double energy = 0.0;
    const double h = step_.h;
    for (const RodLinks& rod : links_)
      for (const HeldMass& m : rod.masses()) {
        const std::size_t b = std::size_t(m.body);
        const V3 moved = m.moved(poses_[b], poses_next_[b], m_.bodies[b].pinned);
        const V3 p = (m.mass / h) * moved + (0.5 * h) * m.weight;
        const Increment e(m.turn.transpose() * w_[b]);
        const V3 J = m.J - V3::Constant(m.sigma);
        next_[b].P += p;
        next_[b].L += m.at.cross(poses_next_[b].R.transpose() * p) + m.turn * kinetic<directors>(e, J, m.sigma).end / h;
        energy += (0.5 * m.mass * moved.squaredNorm() + kinetic_energy<directors>(e, J, m.sigma)) / (h * h);
      }
    return energy;
  }

  // All rows of the joints at the end of the step in hand (or at the node, if there is none): values, rates in time,
  // gradients.
  void rows_at(double t, std::vector<Gradient>& out);

  // --- forces

  // The body at the middle of the step, as a force sees it; without velocity if `rest`.
  template <bool directors> BodyMotion<double> middle(int body, bool points, bool rest) const {
    const std::size_t b = std::size_t(body);
    const RigidBody& B = m_.bodies[b];
    const Increment e(w_[b]);
    BodyMotion<double> m;
    if (points) {
      // R and Omega of the midpoint of the coordinates: R Omega^ = (R_end - R_begin)/h
      m.R = directors ? M3(0.5 * (frames_[b] + frames_next_[b])) : M3(half_[b] / e.q);
      m.Omega = e.w * (directors ? 4.0 / (step_.h * (2.0 - e.q)) : 4.0 / step_.h);
    } else {
      m.R = half_[b];
      m.Omega = e.z * (directors ? 2.0 * e.c / step_.h : 2.0 / step_.h);
    }
    if (rest) m.Omega.setZero();
    if (B.pinned) {
      m.x = B.point + m.R * B.arm, m.v = m.R * m.Omega.cross(B.arm);
    } else {
      m.x = states_[b].x + 0.5 * dx_[b], m.v = dx_[b] / step_.h;
      if (rest) m.v.setZero();
    }
    return m;
  }
  // The same with derivatives by the increments of the body: directions 6 slot ... 6 slot + 5.
  template <bool directors>
  void middle_dual(int body, bool points, bool rest, int slot, BodyMotion<BodyDual>& out) const {
    const std::size_t b = std::size_t(body);
    const RigidBody& B = m_.bodies[b];
    const Increment e(w_[b]);
    const BodyMotion<double> m = middle<directors>(body, points, rest);
    for (int i = 0; i < 3; ++i) {
      out.x[i] = m.x[i], out.v[i] = m.v[i], out.Omega[i] = m.Omega[i];
      for (int j = 0; j < 3; ++j) out.R(i, j) = m.R(i, j);
    }
    const double h = step_.h;
    const M3 turn = points && directors ? e.end_turn() : e.middle_turn(), dz = e.dz();
    for (int d = 0; d < 3; ++d) {
      const std::size_t at = std::size_t(6 * slot + 3 + d);
      M3 dR;
      V3 dO;
      if (points && directors) {
        const double n = 2.0 - e.q; // 1 - |w|²
        dR = 0.5 * frames_next_[b] * skew<double>(V3(turn.col(d)));
        dO = V3::Unit(d) * (4.0 / (h * n)) + e.w * (8.0 * e.w[d] / (h * n * n));
      } else if (points) {
        dR = (half_[b] * skew<double>(V3(turn.col(d))) - half_[b] * (2.0 * e.w[d] / e.q)) / e.q;
        dO = V3::Unit(d) * (4.0 / h);
      } else {
        dR = half_[b] * skew<double>(V3(turn.col(d)));
        dO = dz.col(d) * (directors ? 2.0 * e.c / h : 2.0 / h);
        if (directors) dO += e.z * (2.0 * e.dc()[d] / h);
      }
      if (rest) dO.setZero();
      for (int i = 0; i < 3; ++i) {
        out.Omega[i].d[at] = dO[i];
        for (int j = 0; j < 3; ++j) out.R(i, j).d[at] = dR(i, j);
      }
      if (B.pinned) {
        const V3 dx = dR * B.arm, dv = dR * m.Omega.cross(B.arm) + m.R * dO.cross(B.arm);
        for (int i = 0; i < 3; ++i) out.x[i].d[at] = dx[i], out.v[i].d[at] = dv[i];
      }
    }
    if (!B.pinned)
      for (int i = 0; i < 3; ++i) {
        out.x[i].d[std::size_t(6 * slot + i)] = 0.5;
        if (!rest) out.v[i].d[std::size_t(6 * slot + i)] = 1.0 / h;
      }
  }

  // Moment of what acts on a body with frame R, body axes.
  template <class S> static Vec3<S> moment(const RigidBody& B, const M3& R, const Wrench<S>& w) {
    Vec3<S> tau = w.torque;
    const Mat3<S> RS = R.cast<S>();
    if (w.loaded) tau += moment_of_directors<S>(RS, w.directors);
    if (B.pinned) tau += B.arm.template cast<S>().cross(RS.transpose() * w.force);
    return tau;
  }

  // What an element does at the middle of the step, into wrenches_.
  template <bool directors> void evaluate(const Acting& f, bool rest) {
    for (int b : f.element->bodies()) {
      motions_[std::size_t(b)] = middle<directors>(b, f.points, rest);
      wrenches_[std::size_t(b)].clear();
    }
    f.element->apply(t_ + 0.5 * step_.h, motions_.data(), wrenches_.data());
    for (int b : f.element->bodies())
      if (m_.bodies[std::size_t(b)].pinned)
        wrenches_[std::size_t(b)].add_moment(wrenches_[std::size_t(b)].force, m_.bodies[std::size_t(b)].arm);
  }
  // Twice its generalised force on the rotation at the beginning or the end of the step, body axes there.
  template <bool directors> V3 share(const Acting& f, std::size_t b, bool end) const {
    const Wrench<double>& w = wrenches_[b];
    if (f.points && directors) return moment_of_directors<double>(end ? frames_next_[b] : frames_[b], w.directors);
    V3 M = w.torque;
    if (w.loaded) M += moment_of_directors<double>(motions_[b].R, w.directors);
    V3 turn = w_[b].cross(M);
    if (f.points) turn += w_[b] * w.directors.cwiseProduct(motions_[b].R).sum();
    return end ? V3(M - turn) : V3(M + turn);
  }

  // Subtract h² times the generalised forces of an element at the beginning of the step; `fresh`: with derivatives.
  template <bool directors> void act(const Acting& f, bool rest, double sign, bool fresh) {
    const double factor = -sign * 0.5 * step_.h * step_.h;
    if (fresh) return differentiate<directors>(f, rest, factor);
    evaluate<directors>(f, rest);
    for (int body : f.element->bodies()) {
      const std::size_t b = std::size_t(body);
      double* r = rhs_.data() + pattern_.offset(body);
      if (!m_.bodies[b].pinned) {
        for (int i = 0; i < 3; ++i) r[i] += factor * wrenches_[b].force[i];
        r += 3;
      }
      const V3 M = share<directors>(f, b, false);
      for (int i = 0; i < 3; ++i) r[i] += factor * M[i];
    }
  }
  template <bool directors> void differentiate(const Acting& f, bool rest, double factor) {
    const auto& on = f.element->bodies();
    for (std::size_t s = 0; s < on.size(); ++s) {
      const std::size_t b = std::size_t(on[s]);
      middle_dual<directors>(on[s], f.points, rest, int(s), dual_motions_[b]);
      dual_wrenches_[b].clear();
    }
    f.element->apply(t_ + 0.5 * step_.h, dual_motions_.data(), dual_wrenches_.data());
    for (std::size_t s = 0; s < on.size(); ++s) {
      const std::size_t b = std::size_t(on[s]);
      const RigidBody& B = m_.bodies[b];
      Wrench<BodyDual>& w = dual_wrenches_[b];
      if (B.pinned) w.add_moment(w.force, B.arm);
      Vec3<BodyDual> M;
      if (f.points && directors)
        M = moment_of_directors<BodyDual>(frames_[b].template cast<BodyDual>(), w.directors);
      else {
        M = w.torque;
        if (w.loaded) M += moment_of_directors<BodyDual>(dual_motions_[b].R, w.directors);
        Vec3<BodyDual> q;
        for (int i = 0; i < 3; ++i) q[i] = BodyDual::seed(w_[b][i], int(6 * s) + 3 + i);
        M += Vec3<BodyDual>(q.cross(M));
        if (f.points) {
          BodyDual along(0.0);
          for (int n = 0; n < 3; ++n) along += w.directors.col(n).dot(dual_motions_[b].R.col(n));
          M += q * along;
        }
      }
      const int skip = B.pinned ? 3 : 0, rows = pattern_.size(int(b));
      double* r = rhs_.data() + pattern_.offset(int(b));
      for (int i = skip; i < 6; ++i) {
        const BodyDual& x = i < 3 ? w.force[i] : M[i - 3];
        r[i - skip] += factor * x.v;
        for (std::size_t o = 0; o < on.size(); ++o) {
          const int other = m_.bodies[std::size_t(on[o])].pinned ? 3 : 0;
          double* block = stiff_.data() + pattern_.block(int(b), on[o]);
          for (int c = other; c < 6; ++c) block[(c - other) * rows + i - skip] += factor * x.d[6 * o + std::size_t(c)];
        }
      }
    }
  }

  // Momenta at the end of the step.
  template <bool directors> void finish() {
    const double h = step_.h;
    double middle_sum = 0.0;
    for (std::size_t b = 0; b < bodies(); ++b) {
      const RigidBody& body = m_.bodies[b];
      BodyState& y = next_[b] = states_[b];
      const Increment e(w_[b]);
      const V3 J = body.moments - V3::Constant(m_.sigma[b]), F = weights_[b];
      half_[b] = frames_[b] * e.half();
      y.r = normalize<double>(multiply<double>(y.r, e.quaternion()));
      frames_next_[b] = matrix_from_quaternion<double>(y.r);
      y.L = kinetic<directors>(e, J, m_.sigma[b]).end / h;
      middle_sum += kinetic_energy<directors>(e, J, m_.sigma[b]) / (h * h);
      if (body.pinned) {
        const V3 f = frames_[b].transpose() * F, f_end = frames_next_[b].transpose() * F;
        middle_sum -= F.dot(body.point);
        if (directors || m_.nodes) {
          y.L += (0.5 * h) * body.arm.cross(f_end);
          middle_sum -= 0.5 * (f + f_end).dot(body.arm);
        } else {
          const Weight u = weight(e, f, body.arm);
          y.L += h * u.end, middle_sum -= u.g.dot(body.arm);
        }
      } else {
        y.P = body.mass * dx_[b] / h + (0.5 * h) * F;
        middle_sum += 0.5 * body.mass * dx_[b].squaredNorm() / (h * h) - F.dot(y.x + 0.5 * dx_[b]);
      }
    }
    for (const Acting& f : m_.forces) {
      middle_sum += push<directors>(f, false, 1.0);
      if (m_.nodes && f.potential) push<directors>(f, true, -1.0);
    }
    if (!links_.empty()) {
      const Trial trial = place(false);
      for (std::size_t b = 0; b < bodies(); ++b) poses_next_[b].r = next_[b].r;
      if (!points_.empty()) {
        for (RodLinks& rod : links_) rod.look(trial);
        middle_sum += points_.finish(links_, trial, next_.data());
      }
      for (RodLinks& rod : links_) middle_sum += rod.finish(trial, next_.data());
      middle_sum += finish_carried<directors>();
      poses_.swap(poses_next_);
    }
    const double before = node_energy_;
    for (std::size_t b = 0; b < bodies(); ++b) next_[b].x += dx_[b], next_[b].push(w_[b], dx_[b]);
    states_.swap(next_), frames_.swap(frames_next_);
    if (joined_) rows_at(t_next_, gradient_);
    kick();
    for (std::size_t b = 0; b < bodies(); ++b) states_[b].P += kicks_[b].P, states_[b].L += kicks_[b].L;
    middle_ = middle_sum + 0.5 * (before + node_energy_);
  }
  // Impulse of an element at the end of the step; returns its potential at the middle, where it counts there.
  template <bool directors> double push(const Acting& f, bool rest, double sign) {
    evaluate<directors>(f, rest);
    for (int body : f.element->bodies()) {
      const std::size_t b = std::size_t(body);
      next_[b].L += (sign * 0.5 * step_.h) * share<directors>(f, b, true);
      if (!m_.bodies[b].pinned) next_[b].P += (sign * 0.5 * step_.h) * wrenches_[b].force;
    }
    return f.potential && !m_.nodes ? f.element->potential(t_ + 0.5 * step_.h, motions_.data()) : 0.0;
  }

  // potential="nodes": half a step of the forces that have one, at the node; and their energy there.
  void kick();

  // Velocities of the bodies at the node, into rhs_: M v + G'nu = p, G v + dg/dt = 0; or M v = p.
  void velocities(bool tangent = true);

  Model m_;
  std::vector<RodLinks> links_;
  PointLinks points_;
  Step step_;
  double h_; // of whole steps
  std::vector<BodyState> states_;
  std::vector<M3> frames_;
  std::vector<BodyState> next_;
  std::vector<BodyMotion<double>> motions_, begins_, ends_; // the last two of steps that keep the energy
  std::vector<Wrench<double>> wrenches_;
  std::vector<BodyMotion<BodyDual>> dual_motions_, dual_begins_, dual_ends_;
  std::vector<Wrench<BodyDual>> dual_wrenches_;
  std::vector<Kick> kicks_;
  std::vector<int> sizes_, first_;
  std::vector<int> node_, base_;           // of each joint: the node that holds its multipliers, and where in it
  std::vector<bool> massless_;             // bodies with a singular inertia
  std::vector<std::vector<RowKind>> rows_; // of each joint
  int rows_total_ = 0;
  bool joined_ = false, independent_ = false, carries_ = false;
  std::vector<std::pair<int, int>> pairs_; // of the graph without points of rods
  std::vector<std::vector<int>> after_;
  BlockPattern pattern_;
  std::unique_ptr<BlockLu<double>> lu_;
  std::vector<double> rhs_, value_, in_time_, mu_;
  std::vector<double> stiff_; // derivatives of the forces, in the order of the blocks
  std::vector<std::pair<int, int>> force_pairs_;
  std::vector<std::vector<std::size_t>> joints_of_;
  std::vector<Driven> driven_, driven_before_; // what drives and lengths say at `driven_at_`; at the node
  double driven_at_ = 0.0;
  std::vector<Gradient> gradient_, gradient_next_; // at the node, at the end of the step in hand
  std::vector<V3> dx_, w_, weights_;
  std::vector<M3> frames_next_, half_;
  std::vector<Pose> poses_, poses_next_; // with rods, and
  std::vector<M3> turns_;                // derivatives of the turns at the end of the step by w
  std::vector<Whole> whole_;             // of steps that keep the energy
  Newton newton_;
  std::string trouble_;
  double t_ = 0.0, t_next_ = 0.0, middle_ = 0.0, node_energy_ = 0.0;
};

} // namespace gyrod::variational
