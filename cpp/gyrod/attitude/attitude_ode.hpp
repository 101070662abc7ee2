// The kinematic differential equation in the three parametrisations of Zupan and Saje: y' = A(y) w(t).
//
// `Rates` gives angular velocities at a list of times; they do not depend on the state, so the stages of a
// step are fetched in one call.
#pragma once

#include <functional>
#include <vector>

#include "gyrod/attitude/attitude.hpp"
#include "gyrod/math/rotation.hpp"

namespace gyrod {

using Rates = std::function<void(const double* times, int count, double* out)>;

struct RotationVectorKinematics { // (Z 7); body rates need the transpose of T^-1
  static constexpr int size = 3;
  static void rhs(const double* y, Triple w, Side side, double* dy) {
    const Vec3<double> theta(y), omega(&w.x);
    const Mat3<double> A = rotation_vector_tangent_inverse<double>(theta);
    View<double, 3, 1, 1, 3> out(dy);
    if (side == Side::space)
      out = A * omega;
    else
      out = A.transpose() * omega;
  }
};

struct TangentialKinematics { // (Z 10)
  static constexpr int size = 3;
  static void rhs(const double* y, Triple w, Side side, double* dy) {
    const Vec3<double> psi(y), omega(&w.x);
    const Mat3<double> A = tangential_tangent_inverse<double>(psi);
    View<double, 3, 1, 1, 3> out(dy);
    if (side == Side::space)
      out = A * omega;
    else
      out = A.transpose() * omega;
  }
};

struct QuaternionKinematics { // (Z 19, 20)
  static constexpr int size = 4;
  static void rhs(const double* y, Triple w, Side side, double* dy) {
    const Quat d = advance({y[0], y[1], y[2], y[3]}, {0.0, 0.5 * w.x, 0.5 * w.y, 0.5 * w.z}, side);
    dy[0] = d.w, dy[1] = d.x, dy[2] = d.y, dy[3] = d.z;
  }
};

// The loop of an integrator is compiled once for N coordinates, whatever they are and wherever rates come from.
template <int N> struct KinematicSystem {
  static constexpr int size = N;
  void (*kinematics)(const double* y, Triple w, Side side, double* dy);
  const Rates& rates;
  Side side;
  std::vector<double> fetched = {};

  void prepare(const double* times, int count) {
    fetched.resize(3 * std::size_t(count));
    rates(times, count, fetched.data());
  }
  void rhs(int which, double, const double* y, double* dy) {
    const double* w = fetched.data() + 3 * which;
    kinematics(y, {w[0], w[1], w[2]}, side, dy);
  }
};

// Rates from samples, interpolated with eight points.
struct SampledRates {
  Signal signal;
  void operator()(const double* times, int count, double* out) const {
    for (int i = 0; i < count; ++i) {
      const Triple w = interpolate(signal, max_points, times[i]);
      out[3 * i] = w.x, out[3 * i + 1] = w.y, out[3 * i + 2] = w.z;
    }
  }
};

} // namespace gyrod
