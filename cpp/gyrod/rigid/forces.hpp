// Force elements. Each is one struct with a templated `apply`; the registration macro-free base gives it the virtual
// face in every scalar that the equations need.
//
// Rules for a force:
//  1. `bodies()`: the bodies it acts on (indices; ground is -1 and not listed).
//  2. `template <class S> apply(double t, MotionOf<S>, WrenchOf<S>)`: read motions, add to wrenches. Only + - * / sqrt.
//  3. `explicit_time()`: true if it depends on t by itself.
//  4. `potential(t, motions)`: its energy if it has one, else 0; `conservative`, `of_points` for methods that ask.
//  5. `template <class Turn> linearise(t, motions, ForceBlocks<Turn>&)`: its derivatives written out, where stages ask
//     for them often; they come from dual numbers otherwise. tests/cpp/forces.cpp compares the two.
//  6. `template <class S> across(double t, StepMotion<S>, WrenchOf<S>)`: what it does in a step that keeps energy and
//     momenta: a discrete gradient of its energy; as `act` in the middle of the step otherwise.
//  7. Its line at the end and in forces.cpp, so that it is compiled once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gyrod/rigid/laws.hpp"
#include "gyrod/rigid/points.hpp"
#include "gyrod/time/signal.hpp"

namespace gyrod {

inline constexpr int max_directions = 24; // of a body's state, in any formulation
using BodyDual = Dual<max_directions>;

template <class S> struct Point {
  Vec3<S> x, v;
};

// A body point (given in body axes) or a fixed point of space.
template <class S> Point<S> point_of(const BodyMotion<S>* motions, int body, const Vec3<double>& at) {
  if (body == ground) return {at.cast<S>(), Vec3<S>::Zero()};
  const BodyMotion<S>& m = motions[body];
  const Vec3<S> r = at.cast<S>();
  return {m.x + m.R * r, m.v + m.R * m.Omega.cross(r)};
}

// Bodies at both ends of a step, and the mean of the two: directors there are no rotation. R' is R_middle Omega^.
template <class S> struct StepMotion {
  double h;
  const BodyMotion<S>*begin, *middle, *end;
};

class ForceElement {
public:
  virtual ~ForceElement() = default;
  virtual const std::vector<int>& bodies() const = 0;
  virtual bool explicit_time() const { return false; }
  virtual void apply(double t, const BodyMotion<double>* m, Wrench<double>* w) const = 0;
  virtual void apply(double t, const BodyMotion<BodyDual>* m, Wrench<BodyDual>* w) const = 0;
  // Over a step; a torque m does the work h m.Omega, a force on a director that along its change.
  virtual void over(double t, const StepMotion<double>& m, Wrench<double>* w) const { apply(t, m.middle, w); }
  virtual void over(double t, const StepMotion<BodyDual>& m, Wrench<BodyDual>* w) const { apply(t, m.middle, w); }
  // Derivatives, of those that have them written out: false, and nothing, of others.
  virtual bool blocks(double, const BodyMotion<double>*, ForceBlocks<QuaternionTurns>&) const { return false; }
  virtual bool blocks(double, const BodyMotion<double>*, ForceBlocks<DirectorTurns>&) const { return false; }
  virtual double potential(double, const BodyMotion<double>*) const { return 0.0; }
  virtual bool conservative() const { return false; } // at rest it is the gradient of an energy
  virtual bool of_points() const { return false; }    // and that depends on points alone
  virtual bool by_guests() const { return false; }    // derivatives come by `factor_with_guests`
};

using Forces = std::vector<std::shared_ptr<const ForceElement>>; // constant, so systems may share them

template <class Derived> class ForceBase : public ForceElement {
public:
  void apply(double t, const BodyMotion<double>* m, Wrench<double>* w) const final;
  void apply(double t, const BodyMotion<BodyDual>* m, Wrench<BodyDual>* w) const final;
  void over(double t, const StepMotion<double>& m, Wrench<double>* w) const final { step<double>(t, m, w); }
  void over(double t, const StepMotion<BodyDual>& m, Wrench<BodyDual>* w) const final { step<BodyDual>(t, m, w); }
  bool blocks(double t, const BodyMotion<double>* m, ForceBlocks<QuaternionTurns>& out) const final;
  bool blocks(double t, const BodyMotion<double>* m, ForceBlocks<DirectorTurns>& out) const final;
  const std::vector<int>& bodies() const final { return bodies_; }

protected:
  explicit ForceBase(std::initializer_list<int> bodies) {
    for (int b : bodies)
      if (b != ground) bodies_.push_back(b);
  }

private:
  template <class S> void step(double t, const StepMotion<S>& m, Wrench<S>* w) const {
    if constexpr (requires { self().template across<S>(t, m, w); })
      self().template across<S>(t, m, w);
    else
      apply(t, m.middle, w);
  }
  template <class Turn> bool written_out(double t, const BodyMotion<double>* m, ForceBlocks<Turn>& out) const {
    if constexpr (requires { self().template linearise<Turn>(t, m, out); })
      return self().template linearise<Turn>(t, m, out), true;
    else
      return false;
  }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  std::vector<int> bodies_;
};

template <class Derived>
void ForceBase<Derived>::apply(double t, const BodyMotion<double>* m, Wrench<double>* w) const {
  self().template act<double>(t, m, w);
}
template <class Derived>
void ForceBase<Derived>::apply(double t, const BodyMotion<BodyDual>* m, Wrench<BodyDual>* w) const {
  self().template act<BodyDual>(t, m, w);
}
template <class Derived>
bool ForceBase<Derived>::blocks(double t, const BodyMotion<double>* m, ForceBlocks<QuaternionTurns>& out) const {
  return written_out<QuaternionTurns>(t, m, out);
}
template <class Derived>
bool ForceBase<Derived>::blocks(double t, const BodyMotion<double>* m, ForceBlocks<DirectorTurns>& out) const {
  return written_out<DirectorTurns>(t, m, out);
}

// The motion of a body in dual numbers: variables from a direction on (place, turn, velocity, spin, the last in space),
// or, from -1, constants.
template <class Turn> void seed_motion(const BodyMotion<double>& k, int from, BodyMotion<BodyDual>& m) {
  constexpr int nr = Turn::count;
  m = {k.x.cast<BodyDual>(), k.v.cast<BodyDual>(), k.Omega.cast<BodyDual>(), k.R.cast<BodyDual>()};
  if (from < 0) return;
  Turn::seed(k.R, from + 3, m.R);
  const auto turned = Turn::of_transposed(k.R, Vec3<double>(k.R * k.Omega));
  for (int i = 0; i < 3; ++i) {
    m.x[i].d[std::size_t(from + i)] = m.v[i].d[std::size_t(from + 3 + nr + i)] = 1.0;
    for (int j = 0; j < nr; ++j) m.Omega[i].d[std::size_t(from + 3 + j)] = turned(i, j);
    for (int j = 0; j < 3; ++j) m.Omega[i].d[std::size_t(from + 6 + nr + j)] = k.R(j, i);
  }
}
// The blocks of any element by dual numbers, as many of its bodies at a time as those have room for. The last two are
// of all bodies, to work with.
template <class Turn>
void blocks_by_dual(const ForceElement& f, double t, const BodyMotion<double>* m, ForceBlocks<Turn>& out,
                    BodyMotion<BodyDual>* motions, Wrench<BodyDual>* wrenches) {
  constexpr int nr = Turn::count, directions = 9 + nr;
  constexpr std::size_t room = std::size_t(max_directions / directions);
  const std::vector<int>& on = f.bodies();
  for (std::size_t first = 0; first < on.size(); first += room) {
    const std::size_t last = std::min(first + room, on.size());
    for (std::size_t k = 0; k < on.size(); ++k) {
      const bool varies = k >= first && k < last;
      seed_motion<Turn>(m[on[k]], varies ? int(k - first) * directions : -1, motions[on[k]]);
      wrenches[on[k]].clear();
    }
    f.apply(t, motions, wrenches);
    for (std::size_t row = 0; row < on.size(); ++row) {
      const Wrench<BodyDual>& w = wrenches[on[row]];
      const Mat3<BodyDual>& R = motions[on[row]].R;
      Vec3<BodyDual> torque = w.torque;
      if (w.loaded) torque += moment_of_directors<BodyDual>(R, w.directors);
      torque = R * torque;
      for (std::size_t k = first; k < last; ++k)
        for (int r = 0; r < 6; ++r) {
          const double* d = (r < 3 ? w.force[r] : torque[r - 3]).d.data() + int(k - first) * directions;
          WrenchBlock<Turn>& to = out[row][k];
          for (int j = 0; j < 3; ++j)
            to.place(r, j) = d[j], to.velocity(r, j) = d[3 + nr + j], to.spin(r, j) = d[6 + nr + j];
          for (int j = 0; j < nr; ++j) to.turn(r, j) = d[3 + j];
        }
    }
  }
}

// Force at a body point, or torque, in body or space axes.
class AppliedForce final : public ForceBase<AppliedForce> {
public:
  AppliedForce(int body, Vec3<double> at, bool body_frame, bool is_torque, Signal value)
      : ForceBase({body}), body_(body), at_(at), body_frame_(body_frame), torque_(is_torque), value_(std::move(value)) {
  }
  bool explicit_time() const override { return value_.timed(); }

  bool conservative() const override { return !body_frame_ && !torque_ && value_.constant(); }
  bool of_points() const override { return conservative(); }
  template <class S> void act(double t, const BodyMotion<S>* m, Wrench<S>* w) const {
    const Vec3<S> value = value_.vector(t).template cast<S>();
    const Mat3<S>& R = m[body_].R;
    if (torque_)
      w[body_].torque += body_frame_ ? value : Vec3<S>(R.transpose() * value);
    else
      w[body_].add(body_frame_ ? Vec3<S>(R * value) : value, at_);
  }
  template <class Turn> void linearise(double t, const BodyMotion<double>* m, ForceBlocks<Turn>& out) const {
    WrenchBlock<Turn>& b = out[0][0];
    const Vec3<double> value = value_.vector(t);
    const BodyPoint<Turn> p(m, body_, at_);
    b.setZero();
    auto torque = b.turn.template bottomRows<3>();
    if (torque_) { // R value, or R R'value
      torque = Turn::of(p.R, body_frame_ ? value : Vec3<double>(p.R.transpose() * value));
      if (!body_frame_) torque += p.R * Turn::of_transposed(p.R, value);
      return;
    }
    const Vec3<double> F = body_frame_ ? Vec3<double>(p.R * value) : value;
    torque = p.torque_turn(F);
    if (!body_frame_) return;
    const auto dF = Turn::of(p.R, value);
    b.turn.template topRows<3>() = dF, torque += p.arm * dF;
  }
  double potential(double t, const BodyMotion<double>* m) const override { // of a dead force
    return conservative() ? -value_.vector(t).dot(point_of<double>(m, body_, at_).x) : 0.0;
  }

private:
  int body_;
  Vec3<double> at_;
  bool body_frame_, torque_;
  Signal value_;
};

// What a law says of the line between two points: a spring with its damper, a cable.
template <class Law> class LinePull final : public ForceBase<LinePull<Law>> {
public:
  template <class... Numbers>
  LinePull(int a, int b, Vec3<double> at_a, Vec3<double> at_b, Numbers... numbers)
      : ForceBase<LinePull>({a, b}), a_(a), b_(b), at_a_(at_a), at_b_(at_b), law_{numbers...} {}

  bool conservative() const override { return Law::conservative; }
  bool of_points() const override { return Law::conservative; }
  template <class S> void act(double, const BodyMotion<S>* m, Wrench<S>* w) const {
    const Point<S> p = point_of<S>(m, a_, at_a_), q = point_of<S>(m, b_, at_b_);
    const Vec3<S> F = law_.template force<S>(q.x - p.x, q.v - p.v);
    pull<S>(F, w);
  }
  template <class S> void across(double, const StepMotion<S>& m, Wrench<S>* w) const {
    pull<S>(law_.template secant<S>(line<S>(m.begin), line<S>(m.end), m.h), w);
  }
  template <class Turn> void linearise(double, const BodyMotion<double>* m, ForceBlocks<Turn>& out) const {
    const BodyPoint<Turn> p(m, a_, at_a_), q(m, b_, at_b_);
    const PointForce f = law_.slopes(q.x - p.x, q.velocity() - p.velocity());
    pull_blocks<Turn>(p, q, f.F, f.K, f.C, out);
  }
  double potential(double, const BodyMotion<double>* m) const override { return law_.energy(line<double>(m)); }

private:
  template <class S> Vec3<S> line(const BodyMotion<S>* m) const {
    return point_of<S>(m, b_, at_b_).x - point_of<S>(m, a_, at_a_).x;
  }
  template <class S> void pull(const Vec3<S>& F, Wrench<S>* w) const {
    if (a_ != ground) w[a_].add(F, at_a_);
    if (b_ != ground) w[b_].add(Vec3<S>(-F), at_b_);
  }
  int a_, b_;
  Vec3<double> at_a_, at_b_;
  Law law_;
};
using SpringDamper = LinePull<SpringLaw>;
using Cable = LinePull<CableLaw>;

// Centrifugal and Coriolis forces on a body in a frame that turns about its origin. J about the centre of mass.
class FrameForce final : public ForceBase<FrameForce> {
public:
  FrameForce(int body, Vec3<double> spin, double mass, Mat3<double> J)
      : ForceBase({body}), body_(body), spin_(spin), mass_(mass), J_(J) {}

  template <class S> void act(double, const BodyMotion<S>* m, Wrench<S>* w) const {
    const BodyMotion<S>& b = m[body_];
    const Vec3<S> spin = spin_.cast<S>(), h = b.R.transpose() * spin, both = b.Omega + h;
    const Mat3<S> J = J_.cast<S>();
    w[body_].force -= S(mass_) * Vec3<S>(spin.cross(Vec3<S>(spin.cross(b.x) + S(2) * b.v)));
    w[body_].torque -=
        J * Vec3<S>(h.cross(b.Omega)) + both.cross(Vec3<S>(J * both)) - b.Omega.cross(Vec3<S>(J * b.Omega));
  }
  double potential(double, const BodyMotion<double>* m) const override {
    const Vec3<double> h = m[body_].R.transpose() * spin_;
    return -0.5 * (mass_ * spin_.cross(m[body_].x).squaredNorm() + h.dot(J_ * h));
  }

private:
  int body_;
  Vec3<double> spin_;
  double mass_;
  Mat3<double> J_;
};

// Translational bushing: stiffness and damping of the offset of two points along the axes of a (of space for ground).
class Bushing final : public ForceBase<Bushing> {
public:
  Bushing(int a, int b, Vec3<double> at_a, Vec3<double> at_b, Vec3<double> stiffness, Vec3<double> damping,
          Mat3<double> axes)
      : Bushing(a, b, at_a, at_b, BushingLaw(stiffness, damping, axes)) {}
  Bushing(int a, int b, Vec3<double> at_a, Vec3<double> at_b, const BushingLaw& law)
      : ForceBase({a, b}), a_(a), b_(b), at_a_(at_a), at_b_(at_b), k_(law.k), c_(law.c) {}

  bool conservative() const override { return true; }
  template <class S> void act(double, const BodyMotion<S>* m, Wrench<S>* w) const {
    const Point<S> p = point_of<S>(m, a_, at_a_), q = point_of<S>(m, b_, at_b_);
    const Vec3<S> d = q.x - p.x, v = q.v - p.v;
    if (a_ == ground) {
      w[b_].add(Vec3<S>(-(k_.cast<S>() * d + c_.cast<S>() * v)), at_b_);
      return;
    }
    // In the axes of a: offset u = R'd, rate u' = R'v - Omega x u; the reaction's moment about a's centre follows from
    // the force at b's point, which lies at at_a + u in a.
    const Mat3<S>& R = m[a_].R;
    const Vec3<S> u = R.transpose() * d, rate = R.transpose() * v - m[a_].Omega.cross(u);
    const Vec3<S> f = k_.cast<S>() * u + c_.cast<S>() * rate;
    const Vec3<S> F = R * f;
    w[a_].add(F, at_a_);
    w[a_].torque += u.cross(f);
    if (b_ != ground) w[b_].add(Vec3<S>(-F), at_b_);
  }
  // Offsets are products of directors and points: their change is exact with the means of both.
  template <class S> void across(double, const StepMotion<S>& m, Wrench<S>* w) const {
    const Vec3<S> before = offset<S>(m.begin), after = offset<S>(m.end);
    const Vec3<S> f =
        k_.cast<S>() * Vec3<S>((before + after) * S(0.5)) + c_.cast<S>() * Vec3<S>((after - before) / S(m.h));
    const Vec3<S> F = a_ == ground ? f : Vec3<S>(m.middle[a_].R * f);
    if (b_ != ground) w[b_].add(Vec3<S>(-F), at_b_);
    if (a_ == ground) return;
    const Vec3<S> d = point_of<S>(m.middle, b_, at_b_).x - point_of<S>(m.middle, a_, at_a_).x;
    w[a_].add(F, at_a_);
    for (int n = 0; n < 3; ++n) w[a_].directors.col(n) -= d * f[n];
  }
  template <class Turn> void linearise(double, const BodyMotion<double>* m, ForceBlocks<Turn>& out) const {
    using V = Vec3<double>;
    using M = Mat3<double>;
    using M3r = typename BodyPoint<Turn>::M3r;
    const BodyPoint<Turn> p(m, a_, at_a_), q(m, b_, at_b_);
    const V d = q.x - p.x, v = q.velocity() - p.velocity();
    if (a_ == ground) return pull_blocks<Turn>(p, q, k_ * d + c_ * v, k_, c_, out);
    const M &R = p.R, Rt = R.transpose();
    const V &Omega = m[a_].Omega, u = Rt * d, f = k_ * u + c_ * V(Rt * v - Omega.cross(u));
    const M by_u = k_ - c_ * cross_matrix<double>(Omega), K = R * by_u * Rt, C = R * c_ * Rt;
    pull_blocks<Turn>(p, q, R * f, K, C, out);
    // Beside that f and F depend on the turn and the spin of a, and a feels R (u x f) as well.
    const M Eu = cross_matrix<double>(u);
    const M3r u_turn = Turn::of_transposed(R, d);
    const M3r f_turn = by_u * u_turn + c_ * M3r(Turn::of_transposed(R, v) + Eu * Turn::of_transposed(R, p.w));
    const M3r F_turn = Turn::of(R, f) + R * f_turn;
    const M f_spin = c_ * Eu * Rt, F_spin = R * f_spin;
    const auto add = [&](WrenchBlock<Turn>& b, const BodyPoint<Turn>& on, double sign) {
      b.turn.template topRows<3>() += sign * F_turn, b.turn.template bottomRows<3>() += sign * (on.arm * F_turn);
      b.spin.template topRows<3>() += sign * F_spin, b.spin.template bottomRows<3>() += sign * (on.arm * F_spin);
    };
    add(out[0][0], p, 1.0);
    if (b_ != ground) add(out[1][0], q, -1.0);
    // d (R (u x f)) = R (u x df - f x du), with du = R'dd and df = by_u du + c R'dv beside the above
    const M Ef = cross_matrix<double>(f), by_d = R * (Eu * by_u - Ef) * Rt, by_v = R * Eu * c_ * Rt;
    const BodyPoint<Turn>* points[2] = {&p, &q};
    for (int k = 0; k < (b_ == ground ? 1 : 2); ++k) {
      WrenchBlock<Turn>& b = out[0][k];
      const double sign = k ? 1.0 : -1.0;
      const auto& by = *points[k];
      b.place.template bottomRows<3>() += sign * by_d, b.velocity.template bottomRows<3>() += sign * by_v;
      b.spin.template bottomRows<3>() -= sign * (by_v * by.arm);
      b.turn.template bottomRows<3>() += sign * (by_d * by.x_turn + by_v * by.v_turn);
    }
    out[0][0].turn.template bottomRows<3>() += Turn::of(R, u.cross(f)) + R * M3r(Eu * f_turn - Ef * u_turn);
    out[0][0].spin.template bottomRows<3>() += R * Eu * f_spin;
  }
  double potential(double, const BodyMotion<double>* m) const override {
    const Vec3<double> u = offset<double>(m);
    return 0.5 * u.dot(k_ * u);
  }

private:
  template <class S> Vec3<S> offset(const BodyMotion<S>* m) const {
    const Vec3<S> d = point_of<S>(m, b_, at_b_).x - point_of<S>(m, a_, at_a_).x;
    return a_ == ground ? d : Vec3<S>(m[a_].R.transpose() * d);
  }
  int a_, b_;
  Vec3<double> at_a_, at_b_;
  Mat3<double> k_, c_;
};

// The C signature of a user force: state = position 3, R row by row 9, velocity 3 (space), Omega 3 (body);
// wrench = force 3 (space axes, at the centre of mass), torque 3 (body axes). An optional derivative fills 6 x 18,
// row by row.
extern "C" {
typedef void (*gyrod_force)(double t, const double* state, double* wrench, void* context);
}

class UserForce final : public ForceBase<UserForce> {
public:
  static constexpr int inputs = 18, outputs = 6;
  using Function = std::function<void(double, const double*, double*)>;
  UserForce(int body, Mat3<double> axes, Function force, Function derivative)
      : ForceBase({body}), body_(body), axes_(axes), force_(std::move(force)), derivative_(std::move(derivative)) {}
  bool explicit_time() const override { return true; }

  template <class S> void act(double t, const BodyMotion<S>* m, Wrench<S>* w) const { ask<S>(t, m[body_], w[body_]); }
  template <class S> void across(double t, const StepMotion<S>& m, Wrench<S>* w) const { // R is made a rotation
    using std::sqrt;
    BodyMotion<S> here = m.middle[body_];
    const Vec3<S> u = here.Omega * S(0.5 * m.h);
    const S stretch = sqrt(S(S(1) + u.dot(u)));
    here.R = here.R * stretch - (here.R * u) * (u / (S(1) + stretch)).transpose();
    ask<S>(t, here, w[body_]);
  }

private:
  template <class S> void ask(double t, const BodyMotion<S>& m, Wrench<S>& w) const {
    S state[inputs];
    pack<S>(m, state);
    double x[inputs], f[outputs];
    for (int i = 0; i < inputs; ++i) x[i] = value_of(state[i]);
    force_(t, x, f);
    S out[outputs];
    for (int i = 0; i < outputs; ++i) out[i] = S(f[i]);
    if constexpr (!std::is_same_v<S, double>) chain(t, x, f, state, out);
    for (int i = 0; i < 3; ++i) w.force[i] += out[i];
    // back from the user's axes to the principal ones
    w.torque += axes_.cast<S>().transpose() * Vec3<S>(out[3], out[4], out[5]);
  }
  // The user's axes are R_user = R axes', Omega_user = axes Omega.
  template <class S> void pack(const BodyMotion<S>& m, S* state) const {
    const Mat3<S> R = m.R * axes_.cast<S>().transpose();
    const Vec3<S> Omega = axes_.cast<S>() * m.Omega;
    for (int i = 0; i < 3; ++i) {
      state[i] = m.x[i], state[12 + i] = m.v[i], state[15 + i] = Omega[i];
      for (int j = 0; j < 3; ++j) state[3 + 3 * i + j] = R(i, j);
    }
  }
  // out += (d force/d state) (state - its value), in dual numbers.
  template <class S> void chain(double t, double* x, const double* f, const S* state, S* out) const {
    double D[outputs * inputs];
    if (derivative_) {
      derivative_(t, x, D);
    } else {
      double g[outputs];
      for (int j = 0; j < inputs; ++j) {
        const double keep = x[j], h = 1.5e-8 * std::max(1.0, std::abs(keep));
        x[j] = keep + h;
        force_(t, x, g);
        x[j] = keep;
        for (int i = 0; i < outputs; ++i) D[i * inputs + j] = (g[i] - f[i]) / h;
      }
    }
    for (int i = 0; i < outputs; ++i)
      for (int j = 0; j < inputs; ++j) out[i] += S(D[i * inputs + j]) * (state[j] - S(value_of(state[j])));
  }

  int body_;
  Mat3<double> axes_; // columns: principal axes in the user's axes
  Function force_, derivative_;
};

// Compiled once, in forces.cpp.
extern template class ForceBase<AppliedForce>;
extern template class ForceBase<SpringDamper>;
extern template class ForceBase<FrameForce>;
extern template class ForceBase<Cable>;
extern template class ForceBase<Bushing>;
extern template class ForceBase<UserForce>;

} // namespace gyrod
