#include <cstdio>

#include "gyrod/math/removable.hpp"
#include "gyrod/rod/description.hpp"

namespace gyrod {
namespace {
// The quaternion of a rotation vector: cos(a/2), sin(a/2)/a phi.
void turn_by(const Jet* phi, Jet* p) {
  const Jet x = Jet(0.25) * (phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]);
  const Jet half = Jet(0.5) * sinc_sq<Jet>(x);
  p[0] = cos_sq<Jet>(x);
  for (int i = 0; i < 3; ++i) p[i + 1] = half * phi[i];
}

void require(bool sound, const RodEnd& end, double t, const char* what, double value) {
  if (sound) return;
  char text[160];
  std::snprintf(text, sizeof text, what, value);
  char time[40];
  std::snprintf(time, sizeof time, "%g", t);
  throw SignalError(end.label + ".frame at t = " + time + " " + text);
}
} // namespace

void RodEnd::move(double t, EndMotion& m, bool alpha) const {
  if (place) {
    Jet z[3];
    place.jets(t, z);
    m.x = {z[0].x, z[1].x, z[2].x}, m.v = {z[0].v, z[1].v, z[2].v}, m.a = {z[0].a, z[1].a, z[2].a};
  }
  if (!frame) return;
  Jet z[4];
  if (spin) {
    double p[4];
    frame.values(t, p);
    for (int i = 0; i < 4; ++i) z[i] = {p[i]};
  } else if (frame.size() == 4) {
    frame.jets(t, z);
  } else {
    Jet phi[3];
    frame.jets(t, phi);
    for (const Jet& x : phi)
      require(std::abs(x.x) <= 1e6, *this, t, "must hold angles in rad of at most 1e+06, got %g.", x.x);
    turn_by(phi, z);
  }
  Vec4<double> p, v, a;
  for (int i = 0; i < 4; ++i) p[i] = z[i].x, v[i] = z[i].v, a[i] = z[i].a;
  const double square = p.dot(p), norm = std::sqrt(square);
  require(std::abs(norm - 1.0) <= 1e-6, *this, t, "is a quaternion of norm %.9g; it must be 1 to within 1e-06.", norm);
  m.p = p / norm;
  if (spin) {
    const Mat3<double> R = matrix_from_quaternion<double>(m.p);
    if (!alpha) {
      m.Omega = R.transpose() * spin.vector(t);
      return;
    }
    Jet w[3];
    spin.jets(t, w);
    m.Omega = R.transpose() * Vec3<double>(w[0].x, w[1].x, w[2].x);
    m.alpha = R.transpose() * Vec3<double>(w[0].v, w[1].v, w[2].v); // what R' adds is Omega x Omega
    return;
  }
  // Omega = 2 p* p' of the quaternion of length 1; that of any length has its growth in the second derivative.
  const Vec3<double> turn = multiply<double>(conjugate<double>(p), v).tail<3>() / square;
  const Vec3<double> bend = multiply<double>(conjugate<double>(p), a).tail<3>() / square;
  m.Omega = 2.0 * turn;
  m.alpha = 2.0 * (bend - 2.0 * (p.dot(v) / square) * turn);
}

} // namespace gyrod
