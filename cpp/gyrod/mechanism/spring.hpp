// Spring, damper and friction on a coordinate of a joint: the angle about axis 3 of a, in (-pi, pi], or the
// displacement along it. Dry friction has its full size at rates far above `slip`, and falls to zero smoothly below.
#pragma once

#include "gyrod/joints/coordinate.hpp"
#include "gyrod/math/removable.hpp"
#include "gyrod/rigid/forces.hpp"

namespace gyrod {

class JointSpring final : public ForceBase<JointSpring> {
public:
  JointSpring(const JointPlace& place, bool turn, double stiffness, double damping, double rest, double friction,
              double slip)
      : ForceBase({place.a, place.b}), p_(place), turn_(turn), k_(stiffness), c_(damping), rest_(rest),
        friction_(friction), slip_(slip) {}

  bool conservative() const override { return true; }
  template <class S> void act(double, const BodyMotion<S>* m, Wrench<S>* w) const {
    const JointGeometry<S> q = joint<S>(m);
    const Vec3<S> e = q.Ea.col(2);
    S rate;
    if (turn_)
      rate = e.dot(omega<S>(m, p_.b) - omega<S>(m, p_.a));
    else
      rate = e.dot(q.rate) + q.Ea_rate.col(2).dot(q.offset);
    const S along = effort<S>(coordinate<S>(q), rate); // on b
    const Vec3<S> load = e * along;
    if (turn_) {
      if (p_.b != ground) w[p_.b].torque += m[p_.b].R.transpose() * load;
      if (p_.a != ground) w[p_.a].torque -= m[p_.a].R.transpose() * load;
      return;
    }
    if (p_.b != ground) w[p_.b].add(load, p_.at_b);
    if (p_.a != ground) { // at the point of b: the axis turns with a
      w[p_.a].add(Vec3<S>(-load), p_.at_a);
      w[p_.a].torque -= m[p_.a].R.transpose() * Vec3<S>(q.offset.cross(load));
    }
  }
  // The discrete gradient of the coordinate: means of both ends, and of an angle the secant of its sine and cosine.
  template <class S> void across(double, const StepMotion<S>& m, Wrench<S>* w) const {
    const JointGeometry<S> q0 = joint<S>(m.begin), q1 = joint<S>(m.end), q = joint<S>(m.middle);
    const S from = coordinate<S>(q0);
    if (!turn_) {
      const S to = coordinate<S>(q1), load = effort<S>((from + to) * S(0.5), (to - from) / S(m.h));
      const Vec3<S> F = q.Ea.col(2) * load;
      if (p_.b != ground) w[p_.b].add(F, p_.at_b);
      if (p_.a == ground) return;
      w[p_.a].add(Vec3<S>(-F), p_.at_a);
      for (int n = 0; n < 3; ++n) w[p_.a].directors.col(n) += q.offset * (load * S(p_.frame_a(n, 2)));
      return;
    }
    const S c0 = q0.Eb.col(0).dot(q0.Ea.col(0)), s0 = q0.Eb.col(0).dot(q0.Ea.col(1));
    const S c1 = q1.Eb.col(0).dot(q1.Ea.col(0)), s1 = q1.Eb.col(0).dot(q1.Ea.col(1));
    const S sine = c0 * s1 - s0 * c1, secant = angle_over_sine<S>(sine * sine, c0 * c1 + s0 * s1);
    const S by = secant * sine, load = effort<S>(from + by * S(0.5), by / S(m.h)) * secant * S(0.5);
    const S kc = load * (s0 + s1), ks = load * (c0 + c1); // d angle = ks ds - kc dc
    const Vec3<S> on_b = q.Ea.col(1) * ks - q.Ea.col(0) * kc, b1 = q.Eb.col(0);
    for (int n = 0; n < 3; ++n) {
      if (p_.b != ground) w[p_.b].directors.col(n) += on_b * S(p_.frame_b(n, 0)), w[p_.b].loaded = true;
      if (p_.a == ground) continue;
      w[p_.a].directors.col(n) += b1 * (ks * S(p_.frame_a(n, 1)) - kc * S(p_.frame_a(n, 0)));
      w[p_.a].loaded = true;
    }
  }
  double potential(double, const BodyMotion<double>* m) const override {
    const double stretch = coordinate<double>(joint<double>(m)) - rest_;
    return 0.5 * k_ * stretch * stretch;
  }

private:
  template <class S> S effort(const S& value, const S& rate) const { // in its direction
    using std::sqrt;
    const S law = S(-k_) * (value - S(rest_)) - S(c_) * rate;
    if (friction_ == 0.0) return law;
    return law - S(friction_) * rate / sqrt(S(rate * rate + S(slip_ * slip_)));
  }
  template <class S> static Vec3<S> omega(const BodyMotion<S>* m, int body) {
    return body == ground ? Vec3<S>(Vec3<S>::Zero()) : Vec3<S>(m[body].R * m[body].Omega);
  }
  template <class S> JointGeometry<S> joint(const BodyMotion<S>* m) const {
    const auto side = [&](int body) -> Side<S> {
      if (body == ground) return {Vec3<S>::Zero(), Vec3<S>::Zero(), Mat3<S>::Identity(), Mat3<S>::Zero()};
      const Vec3<S> w = omega<S>(m, body);
      Side<S> s{m[body].x, m[body].v, m[body].R, Mat3<S>()};
      for (int n = 0; n < 3; ++n) s.V.col(n) = w.cross(s.R.col(n));
      return s;
    };
    return geometry<S>(p_, side(p_.a), side(p_.b));
  }
  template <class S> S coordinate(const JointGeometry<S>& q) const {
    return turn_ ? joint_angle<S>(q.Ea, q.Eb) : joint_displacement<S>(q.Ea, q.offset);
  }

  JointPlace p_;
  bool turn_;
  double k_, c_, rest_, friction_, slip_;
};

extern template class ForceBase<JointSpring>; // model.cpp

} // namespace gyrod
