// Steps that keep energy and momenta, of bodies with joints and forces in directors (Gonzalez 1999; Betsch, Steinmann
// 2001; the kinetic part is that of ConservingTurn). With means of both ends of a step denoted by _m,
//   P_1 - P_0 = h (F + G_x' lambda),        x_1 - x_0 = h P_m/mass
//   l_1 - l_0 = h sum d_n,m x (F_n + G_n' lambda),  R_1 - R_0 = h R_m Omega^,  Omega = J^-1 pi_m,   g(q_1) = 0
// where l = R pi is the angular momentum in space. For any forces F_n on the directors
//   T_1 - T_0 = F.(x_1 - x_0) + sum F_n.(d_n,1 - d_n,0)
// to rounding: so the energy is kept if they are discrete gradients, G (q_1 - q_0) = g(q_1) - g(q_0), and momenta are
// if they depend on products of points and directors alone. A product has its discrete gradient at the mean of both
// ends.
//
// Unknowns are those of system.hpp, multipliers h²/2 lambda. With u = h Omega/2, R_1 = R_0 cay(u), the rotation's
// equation in body axes is (1 + u^) 2 J u - h pi_0 - h²/2 (1 - u^) R_0'(sum d_n,m x F_n) = 0.
#include "gyrod/math/removable.hpp"
#include "gyrod/variational/system.hpp"

namespace gyrod::variational {

namespace {

// A joint at one end of a step, or the mean of two.
struct Meeting {
  V3 ra, rb, offset; // arms in space, from the point of a to that of b
  M3 Ea, Eb;
};

// Some constraints of a joint, weighted, as a function of its points and axes:
//   line.offset + sum along_i a_i.offset + square |offset|²/2 + sum pair_ij a_i.b_j
struct Form {
  V3 line = V3::Zero(), along = V3::Zero();
  M3 pair = M3::Zero();
  double square = 0.0;

  // Its gradient at the mean of both ends is the discrete gradient of the row.
  void add(const RowKind& kind, double weight, double lead, const Meeting& m0, const Meeting& m1, const Driven& u0,
           const Driven& u1) {
    switch (kind.type) {
    case RowKind::point:
      line[kind.i] += weight;
      break;
    case RowKind::plane:
    case RowKind::slide:
      along[kind.i] += weight;
      break;
    case RowKind::dot:
      pair(kind.i, kind.j) += weight;
      break;
    case RowKind::length:
      square += weight / u1[0];
      break;
    case RowKind::angle: // what leads it does the work that is left
      pair(1, 0) += weight * 0.5 * (std::cos(u0[0]) + std::cos(u1[0]));
      pair(0, 0) -= weight * 0.5 * (std::sin(u0[0]) + std::sin(u1[0]));
      break;
    case RowKind::screw: { // the secant of an angle with the cosine c and the sine s
      const double c0 = m0.Eb.col(0).dot(m0.Ea.col(0)), s0 = m0.Eb.col(0).dot(m0.Ea.col(1));
      const double c1 = m1.Eb.col(0).dot(m1.Ea.col(0)), s1 = m1.Eb.col(0).dot(m1.Ea.col(1));
      const double sine = c0 * s1 - s0 * c1;
      const double part = 0.5 * weight * lead * angle_over_sine<double>(sine * sine, c0 * c1 + s0 * s1);
      along[2] += weight, pair(1, 0) -= part * (c0 + c1), pair(0, 0) += part * (s0 + s1);
      break;
    }
    }
  }
};

// The force on b at its point (and back on a), and torques about both centres of mass, space axes.
struct Pull {
  V3 f, a, b;
  Pull(const Form& k, const Meeting& m) : f(k.line + m.Ea * k.along + k.square * m.offset) {
    a = V3(m.Ea * k.along).cross(m.offset) - m.ra.cross(f), b = m.rb.cross(f);
    const M3 on_a = m.Eb * k.pair.transpose(), on_b = m.Ea * k.pair;
    for (int n = 0; n < 3; ++n) a += m.Ea.col(n).cross(on_a.col(n)), b += m.Eb.col(n).cross(on_b.col(n));
  }
};

// Derivatives of a Pull by displacements and turns (space axes, at the end of the step) of one side.
struct PullSlopes {
  M3 fx, ft, ax, at, bx, bt;
};
PullSlopes slopes(const Form& k, const Meeting& mean, const Meeting& end, const Pull& pull, bool of_b) {
  const auto S = [](const V3& v) { return skew<double>(v); };
  const V3 axis = mean.Ea * k.along;
  const M3 Sa = S(mean.ra), Sb = S(mean.rb), Sx = S(axis);
  const double sign = of_b ? 0.5 : -0.5;
  PullSlopes d;
  d.fx = M3::Zero(), d.fx.add_to_diagonal(sign * k.square);
  d.bx = (sign * k.square) * Sb, d.ax = sign * Sx - (sign * k.square) * Sa;
  const M3 arm = S(of_b ? end.rb : end.ra); // offset by turns: -sign times it
  d.ft = (-sign * k.square) * arm;
  d.at = -sign * (Sx * arm), d.bt = M3::Zero();
  if (of_b) {
    d.bt = 0.5 * (S(pull.f) * arm);
    const M3 on_b = mean.Ea * k.pair;
    for (int j = 0; j < 3; ++j) {
      const M3 turn = 0.5 * S(end.Eb.col(j));
      d.bt += S(on_b.col(j)) * turn, d.at -= S(on_b.col(j)) * turn;
    }
  } else {
    const M3 turn = 0.5 * S(V3(end.Ea * k.along));
    d.ft -= turn;
    d.at += S(mean.offset) * turn - 0.5 * (S(pull.f) * arm);
    const M3 on_a = mean.Eb * k.pair.transpose();
    for (int i = 0; i < 3; ++i) {
      const M3 by = 0.5 * S(end.Ea.col(i));
      d.at += S(on_a.col(i)) * by, d.bt -= S(on_a.col(i)) * by;
    }
  }
  d.at -= Sa * d.ft, d.bt += Sb * d.ft;
  return d;
}

// The moment of what acts on the directors, and of torques, in body axes at the beginning of the step.
template <class S> Vec3<S> moment_over(const M3& begin, const Mat3<S>& middle, const Wrench<S>& w, const Vec3<S>& u) {
  Vec3<S> of = Vec3<S>::Zero();
  for (int n = 0; n < 3; ++n) of += middle.col(n).cross(w.directors.col(n));
  return begin.transpose().template cast<S>() * of + w.torque + u.cross(w.torque);
}

} // namespace

void System::gather() {
  for (const RigidBody& b : m_.bodies) whole_.push_back({b.mass, V3::Zero(), b.moments.asDiagonal(), true});
  const auto spread = [](double m, const V3& r) { // m (r² - r r')
    M3 J = -m * (r * r.transpose());
    J.add_to_diagonal(m * r.dot(r));
    return J;
  };
  for (const RodLinks& rod : links_)
    for (const HeldMass& m : rod.masses()) {
      Whole& all = whole_[std::size_t(m.body)];
      all.plain = false, all.mass += m.mass, all.c += m.mass * m.at;
      all.J += spread(m.mass, m.at) + m.turn * m.J.asDiagonal() * m.turn.transpose();
    }
  for (std::size_t b = 0; b < bodies(); ++b) {
    Whole& all = whole_[b];
    if (m_.bodies[b].pinned) all.c.setZero(); // it turns about its point whatever it holds
    all.c = all.c / all.mass, all.J -= spread(all.mass, all.c);
  }
}

// A dead force at a point of a body.
void System::hang(std::size_t b, const V3& at, const V3& F) {
  const double factor = 0.5 * step_.h * step_.h;
  const V3 u = half_angle(w_[b]), V = frames_[b].transpose() * V3((motions_[b].R * at).cross(F)),
           end = frames_next_[b] * at;
  const M3 left = M3::Identity() - skew<double>(u);
  const M3 K = left * frames_[b].transpose() * (0.5 * (skew<double>(F) * skew<double>(end))) * frames_next_[b] *
                   Increment(w_[b]).end_turn() +
               skew<double>(V) * half_angle_matrix(w_[b]);
  double* r = rhs_.data() + pattern_.offset(int(b));
  const int skip = m_.bodies[b].pinned ? 0 : 3;
  const V3 M = left * V;
  for (int i = 0; i < 3; ++i) r[skip + i] -= factor * M[i];
  for (int i = 0; i < skip; ++i) r[i] -= factor * F[i];
  lu_->block(int(b), int(b)).block(skip, skip, 3, 3) -= factor * K;
}

void System::lead(double t) {
  if (t == driven_at_) return; // a drive may be a function of the user: once for each time
  for (std::size_t j = 0; j < rows_.size(); ++j)
    if (!rows_[j].empty()) driven_[j] = m_.joints[j].value(t);
  driven_at_ = t;
}

// Where a body is at the beginning, in the middle and at the end of the step in hand.
void System::span(std::size_t b) {
  const RigidBody& B = m_.bodies[b];
  const V3 none = V3::Zero();
  const M3 &R0 = frames_[b], &R1 = frames_next_[b];
  const V3 x0 = B.pinned ? V3(B.point + R0 * B.arm) : states_[b].x;
  const V3 x1 = B.pinned ? V3(B.point + R1 * B.arm) : V3(x0 + dx_[b]);
  begins_[b] = {x0, none, none, R0}, ends_[b] = {x1, none, none, R1};
  motions_[b] = {0.5 * (x0 + x1), (x1 - x0) / step_.h, half_angle(w_[b]) * (2.0 / step_.h), 0.5 * (R0 + R1)};
}

// The same with derivatives by the increments of the body: directions 6 slot ... 6 slot + 5.
void System::span_dual(std::size_t b, int slot) {
  const RigidBody& B = m_.bodies[b];
  const auto constant = [](const BodyMotion<double>& m) {
    return BodyMotion<BodyDual>{m.x.cast<BodyDual>(), m.v.cast<BodyDual>(), m.Omega.cast<BodyDual>(),
                                m.R.cast<BodyDual>()};
  };
  dual_begins_[b] = constant(begins_[b]);
  BodyMotion<BodyDual>&middle = dual_motions_[b] = constant(motions_[b]), &end = dual_ends_[b] = constant(ends_[b]);
  const M3 turn = Increment(w_[b]).end_turn(), U = half_angle_matrix(w_[b]);
  const double h = step_.h;
  for (int d = 0; d < 3; ++d) {
    const std::size_t by = std::size_t(6 * slot + 3 + d), shift = std::size_t(6 * slot + d);
    const M3 dR = frames_next_[b] * skew<double>(V3(turn.col(d)));
    const V3 dx = dR * B.arm;
    for (int i = 0; i < 3; ++i) {
      middle.Omega[i].d[by] = U(i, d) * (2.0 / h);
      for (int j = 0; j < 3; ++j) end.R(i, j).d[by] = dR(i, j), middle.R(i, j).d[by] = 0.5 * dR(i, j);
      if (B.pinned) end.x[i].d[by] = dx[i], middle.x[i].d[by] = 0.5 * dx[i], middle.v[i].d[by] = dx[i] / h;
    }
    if (!B.pinned) end.x[d].d[shift] = 1.0, middle.x[d].d[shift] = 0.5, middle.v[d].d[shift] = 1.0 / h;
  }
}

void System::assemble_conserving() {
  const double h = step_.h;
  lu_->clear();
  for (std::size_t b = 0; b < bodies(); ++b) {
    const RigidBody& body = m_.bodies[b];
    const BodyState& y = states_[b];
    const Whole& all = whole_[b];
    const Increment e(w_[b]);
    half_[b] = frames_[b] * e.half(), frames_next_[b] = half_[b] * e.half();
    span(b);
    const V3 u = half_angle(w_[b]), Ju = 2.0 * (all.J * u);
    const M3 U = half_angle_matrix(w_[b]);
    V3 rot = Ju + u.cross(Ju) - h * y.L;
    M3 K = (M3::Identity() + skew<double>(u)) * (2.0 * all.J) - skew<double>(Ju);
    K = K * U;
    auto block = lu_->block(int(b), int(b));
    double* r = rhs_.data() + pattern_.offset(int(b));
    if (!body.pinned) {
      V3 lin = all.mass * dx_[b] - h * y.P;
      if (!all.plain) { // moments about the common centre of mass are those about x, less those of the force at x
        const V3 c1 = frames_next_[b] * all.c, c = motions_[b].R * all.c;
        lin += all.mass * (c1 - frames_[b] * all.c);
        const M3 left = (M3::Identity() - skew<double>(u)) * frames_[b].transpose(), Sc = skew<double>(c);
        const M3 S1 = skew<double>(c1), right = frames_next_[b] * e.end_turn();
        const V3 Y = c.cross(lin);
        rot += h * all.c.cross(frames_[b].transpose() * y.P) + left * Y;
        K += left * (0.5 * (skew<double>(lin) * S1) - all.mass * (Sc * S1)) * right +
             skew<double>(V3(frames_[b].transpose() * Y)) * U;
        block.block(0, 3, 3, 3) = -all.mass * (S1 * right);
        block.block(3, 0, 3, 3) = all.mass * (left * Sc);
      }
      for (int i = 0; i < 3; ++i) r[i] = lin[i] - 0.5 * h * h * weights_[b][i], block(i, i) = all.mass;
      r += 3;
    }
    for (int i = 0; i < 3; ++i) r[i] = rot[i];
    const int at = body.pinned ? 0 : 3;
    block.block(at, at, 3, 3) = K;
    if (body.pinned) hang(b, body.arm, weights_[b]);
  }
  if (!links_.empty()) {
    const Trial trial = place(true);
    for (RodLinks& rod : links_) {
      for (const HeldMass& m : rod.masses()) hang(std::size_t(m.body), m.at, m.weight);
      rod.assemble_conserving(trial, pattern_, rhs_.data());
    }
    if (!points_.empty()) points_.assemble_conserving(links_, trial, pattern_, rhs_.data());
  }
  for (const Acting& f : m_.forces) differentiate_conserving(*f.element);
  if (joined_) constrain_conserving();
}

void System::differentiate_conserving(const ForceElement& f) {
  const auto& on = f.bodies();
  const double factor = -0.5 * step_.h * step_.h;
  for (std::size_t s = 0; s < on.size(); ++s) {
    span_dual(std::size_t(on[s]), int(s));
    dual_wrenches_[std::size_t(on[s])].clear();
  }
  f.over(t_ + 0.5 * step_.h, {step_.h, dual_begins_.data(), dual_motions_.data(), dual_ends_.data()},
         dual_wrenches_.data());
  for (int body : on) {
    const std::size_t b = std::size_t(body);
    const RigidBody& B = m_.bodies[b];
    Wrench<BodyDual>& w = dual_wrenches_[b];
    if (B.pinned) w.add_moment(w.force, B.arm);
    const Vec3<BodyDual> u = dual_motions_[b].Omega * BodyDual(0.5 * step_.h);
    const Vec3<BodyDual> V = moment_over<BodyDual>(frames_[b], dual_motions_[b].R, w, u), M = V - u.cross(V);
    const int skip = B.pinned ? 3 : 0;
    double* r = rhs_.data() + pattern_.offset(body);
    for (int i = skip; i < 6; ++i) {
      const BodyDual& x = i < 3 ? w.force[i] : M[i - 3];
      r[i - skip] += factor * x.v;
      for (std::size_t o = 0; o < on.size(); ++o) {
        const int other = m_.bodies[std::size_t(on[o])].pinned ? 3 : 0;
        auto block = lu_->block(body, on[o]);
        for (int c = other; c < 6; ++c) block(i - skip, c - other) += factor * x.d[6 * o + std::size_t(c)];
      }
    }
  }
}

template <class F> void System::meet(std::size_t j, F&& act) {
  const JointPlace& p = m_.joints[j].place;
  const auto at = [&](const std::vector<BodyMotion<double>>& m) {
    const V3 xa = p.a < 0 ? V3(V3::Zero()) : m[std::size_t(p.a)].x,
             xb = p.b < 0 ? V3(V3::Zero()) : m[std::size_t(p.b)].x;
    const M3 Ra = p.a < 0 ? M3(M3::Identity()) : m[std::size_t(p.a)].R;
    const M3 Rb = p.b < 0 ? M3(M3::Identity()) : m[std::size_t(p.b)].R;
    const V3 ra = Ra * p.at_a, rb = Rb * p.at_b;
    return Meeting{ra, rb, xb + rb - xa - ra, Ra * p.frame_a, Rb * p.frame_b};
  };
  act(p, at(begins_), at(motions_), at(ends_));
}

void System::constrain_conserving() {
  rows_at(t_next_, gradient_next_);
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].empty()) continue;
    meet(j, [&](const JointPlace& p, const Meeting& m0, const Meeting& mean, const Meeting& m1) {
      const int node = node_[j], base = base_[j];
      Form sum;
      for (std::size_t k = 0; k < rows_[j].size(); ++k) {
        const std::size_t at = std::size_t(first_[j]) + k;
        Form one;
        one.add(rows_[j][k], 1.0, p.parameter, m0, m1, driven_before_[j], driven_[j]);
        sum.add(rows_[j][k], mu_[at], p.parameter, m0, m1, driven_before_[j], driven_[j]);
        const Pull pull(one, mean);
        gradient_[at] = {-pull.f, V3::Zero(), pull.f, V3::Zero()};
        for (int side = 0; side < 2; ++side) {
          const int body = side ? p.b : p.a;
          if (body < 0) continue;
          const std::size_t b = std::size_t(body);
          const Gradient& now = gradient_next_[at];
          const V3 V = frames_[b].transpose() * (side ? pull.b : pull.a), M = V - half_angle(w_[b]).cross(V);
          (side ? gradient_[at].bw : gradient_[at].aw) = M;
          const V3 w = Increment(w_[b]).end_turn().transpose() * (side ? now.bw : now.aw);
          const V3 &ox = side ? gradient_[at].bx : gradient_[at].ax, &nx = side ? now.bx : now.ax;
          auto up = lu_->block(body, node), down = lu_->block(node, body);
          for (int i = 0; i < 3; ++i) {
            up(i, base + int(k)) = -ox[i], up(3 + i, base + int(k)) = -M[i];
            down(base + int(k), i) = nx[i], down(base + int(k), 3 + i) = w[i];
          }
        }
        rhs_[std::size_t(pattern_.offset(node) + base) + k] = value_[at];
      }
      // How the forces of the multipliers turn with the step.
      const Pull pull(sum, mean);
      for (int by = 0; by < 2; ++by) {
        const int column = by ? p.b : p.a;
        if (column < 0) continue;
        const PullSlopes d = slopes(sum, mean, m1, pull, by == 1);
        const M3 turn = frames_next_[std::size_t(column)] * Increment(w_[std::size_t(column)]).end_turn();
        for (int on = 0; on < 2; ++on) {
          const int row = on ? p.b : p.a;
          if (row < 0) continue;
          const std::size_t b = std::size_t(row);
          const V3 u = half_angle(w_[b]);
          const M3 N = (M3::Identity() - skew<double>(u)) * frames_[b].transpose();
          const double sign = on ? 1.0 : -1.0;
          auto block = lu_->block(row, column);
          block.block(0, 0, 3, 3) -= sign * d.fx, block.block(0, 3, 3, 3) -= sign * (d.ft * turn);
          block.block(3, 0, 3, 3) -= N * (on ? d.bx : d.ax), block.block(3, 3, 3, 3) -= N * (on ? d.bt : d.at) * turn;
          if (on == by)
            block.block(3, 3, 3, 3) -=
                skew<double>(V3(frames_[b].transpose() * (on ? pull.b : pull.a))) * half_angle_matrix(w_[b]);
        }
      }
    });
  }
}

void System::finish_conserving() {
  const double h = step_.h;
  double energy = 0.0;
  for (std::size_t b = 0; b < bodies(); ++b) {
    next_[b] = states_[b];
    next_[b].r = normalize<double>(multiply<double>(next_[b].r, Increment(w_[b]).quaternion()));
    frames_next_[b] = matrix_from_quaternion<double>(next_[b].r);
    span(b);
    wrenches_[b].clear();
    wrenches_[b].add(weights_[b], V3::Zero());
    const Whole& all = whole_[b];
    const V3& Omega = motions_[b].Omega;
    energy += 0.5 * Omega.dot(all.J * Omega) - weights_[b].dot(motions_[b].x);
    if (!m_.bodies[b].pinned)
      energy += 0.5 * all.mass * V3(dx_[b] / h + motions_[b].R * Omega.cross(all.c)).squaredNorm();
  }
  for (const RodLinks& rod : links_)
    for (const HeldMass& m : rod.masses()) {
      const std::size_t b = std::size_t(m.body);
      if (!m_.bodies[b].pinned) wrenches_[b].force += m.weight;
      next_[b].L += h * (frames_[b].transpose() * V3((motions_[b].R * m.at).cross(m.weight)));
    }
  for (const Acting& f : m_.forces) {
    f.element->over(t_ + 0.5 * h, {h, begins_.data(), motions_.data(), ends_.data()}, wrenches_.data());
    energy += 0.5 * (f.element->potential(t_, begins_.data()) + f.element->potential(t_next_, ends_.data()));
  }
  for (std::size_t b = 0; b < bodies(); ++b) {
    Wrench<double>& w = wrenches_[b];
    if (m_.bodies[b].pinned) w.add_moment(w.force, m_.bodies[b].arm);
    next_[b].P += h * w.force;
    next_[b].L += h * moment_over<double>(frames_[b], motions_[b].R, w, half_angle(w_[b]));
  }
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].empty()) continue;
    meet(j, [&](const JointPlace& p, const Meeting& m0, const Meeting& mean, const Meeting& m1) {
      Form sum;
      for (std::size_t k = 0; k < rows_[j].size(); ++k)
        sum.add(rows_[j][k], mu_[std::size_t(first_[j]) + k] * (2.0 / h), p.parameter, m0, m1, driven_before_[j],
                driven_[j]);
      const Pull pull(sum, mean);
      for (int side = 0; side < 2; ++side)
        if (const int body = side ? p.b : p.a; body >= 0) {
          BodyState& y = next_[std::size_t(body)];
          y.P += side ? pull.f : V3(-pull.f);
          y.L += frames_[std::size_t(body)].transpose() * (side ? pull.b : pull.a);
        }
    });
  }
  if (!links_.empty()) {
    const Trial trial = place(false);
    for (std::size_t b = 0; b < bodies(); ++b) poses_next_[b].r = next_[b].r;
    if (!points_.empty()) {
      for (RodLinks& rod : links_) rod.look(trial);
      energy += points_.finish_conserving(links_, trial, next_.data());
    }
    for (RodLinks& rod : links_) energy += rod.finish_conserving(trial, next_.data());
    poses_.swap(poses_next_);
  }
  for (std::size_t b = 0; b < bodies(); ++b) {
    BodyState& y = next_[b];
    V3 l = frames_[b] * y.L;
    if (!whole_[b].plain && !m_.bodies[b].pinned) l -= 0.5 * dx_[b].cross(states_[b].P + y.P);
    y.L = frames_next_[b].transpose() * l;
    y.x += dx_[b], y.push(w_[b], dx_[b]);
  }
  states_.swap(next_), frames_.swap(frames_next_);
  middle_ = energy;
}

} // namespace gyrod::variational
