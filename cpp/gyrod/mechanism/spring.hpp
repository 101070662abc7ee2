// Spring, damper and friction on a coordinate of a joint: the angle about axis 3 of a, in (-pi, pi], or the
// displacement along it. Dry friction has its full size at rates far above `slip`, and falls to zero smoothly below.
#pragma once

#include "gyrod/joints/coordinate.hpp"
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
    S along = S(-k_) * (coordinate<S>(q) - S(rest_)) - S(c_) * rate; // on b
    if (friction_ > 0.0) {
      using std::sqrt;
      along -= S(friction_) * rate / sqrt(S(rate * rate + S(slip_ * slip_)));
    }
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
  double potential(double, const BodyMotion<double>* m) const override {
    const double stretch = coordinate<double>(joint<double>(m)) - rest_;
    return 0.5 * k_ * stretch * stretch;
  }

private:
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
