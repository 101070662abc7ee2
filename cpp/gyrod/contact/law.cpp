#include "gyrod/contact/law.hpp"

#include <cmath>

namespace gyrod {
namespace {
using V3 = Vec3<double>;
using M3 = Mat3<double>;

M3 outer(const V3& a, const V3& b) { return a * b.transpose(); }
M3 across(const V3& n) { return M3::Identity() - outer(n, n); }

// Slopes are left out where nobody asks for them.
template <bool Slopes> Tangential nothing() {
  Tangential o;
  o.T.setZero(), o.by_N.setZero(), o.e.setZero();
  if constexpr (Slopes) o.T_v.setZero(), o.T_z.setZero(), o.e_v.setZero(), o.e_z.setZero();
  return o;
}

template <bool Slopes> Tangential slipping(const FrictionLaw& f, double N, const V3& v, bool still) {
  Tangential o = nothing<Slopes>();
  if (still) return o; // it has no force without speed
  const double s = std::sqrt(v.squaredNorm() + f.slip_speed * f.slip_speed), k = f.coefficient / s;
  o.by_N = -k * v, o.T = N * o.by_N;
  if constexpr (Slopes) o.T_v = -k * N * (M3::Identity() - outer(v, v) / (s * s));
  return o;
}

// Incrementally: z of the last rest and what has been slipped since.
template <bool Slopes> Tangential stuck(const FrictionLaw& f, double N, const V3& v, const V3& old) {
  Tangential o = nothing<Slopes>();
  const V3 trial = old + v / f.presliding;
  const double size = trial.norm();
  o.e = size > 1.0 ? V3(trial / size) : trial;
  o.by_N = -f.coefficient * o.e, o.T = N * o.by_N;
  if constexpr (!Slopes) return o;
  o.e_z = size > 1.0 ? M3((M3::Identity() - outer(o.e, o.e)) / size) : M3(M3::Identity());
  o.e_v = o.e_z / f.presliding;
  o.T_v = -f.coefficient * N * o.e_v, o.T_z = -f.coefficient * N * o.e_z;
  return o;
}

template <bool Slopes> Tangential bristles(const FrictionLaw& f, double N, const V3& v, const V3& z) {
  Tangential o = nothing<Slopes>();
  const M3 one = M3::Identity();
  const double speed2 = v.squaredNorm(), size = z.norm();
  double S0 = 1.0;
  V3 S0_v = V3::Zero();
  if (f.kinetic < 1.0) {
    const double vs2 = f.stribeck * f.stribeck, fall = (1.0 - f.kinetic) * std::exp(-speed2 / vs2);
    S0 = f.kinetic + fall, S0_v = (-2.0 * fall / vs2) * v;
  }
  constexpr double elastic = 0.95;
  const double S = size / S0;
  o.e = v;
  if constexpr (Slopes) o.e_v = one;
  if (S > elastic) {
    const V3 along = z / size;
    const double q = along.dot(v), x = std::min((S - elastic) / (1.0 - elastic), 1.0);
    if (q > 0.0) {
      const double a = x * x * (3.0 - 2.0 * x), alpha = a * q / S0;
      o.e = v - alpha * z;
      if constexpr (Slopes) {
        const double a1 = 6.0 * x * (1.0 - x) / (1.0 - elastic);
        const V3 S_z = along / S0, S_v = -S / S0 * S0_v;
        const V3 alpha_v = (a1 * q * S_v + a * along - alpha * S0_v) / S0;
        const V3 alpha_z = (a1 * q * S_z + a * (v - q * along) / size) / S0;
        o.e_v -= outer(z, alpha_v), o.e_z = -(alpha * one + outer(z, alpha_z));
      }
    }
  }
  const double k = f.damping / f.presliding, fade = 1.0 / (1.0 + k * k * speed2);
  const V3 h = z + k * fade * o.e;
  o.by_N = -f.coefficient * h, o.T = N * o.by_N;
  if constexpr (!Slopes) return o;
  o.T_v = -f.coefficient * N * (k * fade * o.e_v - 2.0 * k * k * k * fade * fade * outer(o.e, v));
  o.T_z = -f.coefficient * N * (one + k * fade * o.e_z);
  return o;
}
} // namespace

namespace {
template <bool Slopes>
Tangential rub(const FrictionLaw& law, FrictionLaw::Kind kind, double N, const V3& slip, const V3& bent, bool still) {
  if (kind == FrictionLaw::none) return nothing<Slopes>();
  if (kind == FrictionLaw::slipping) return slipping<Slopes>(law, N, slip, still);
  return still ? stuck<Slopes>(law, N, slip, bent) : bristles<Slopes>(law, N, slip, bent);
}
} // namespace

Tangential friction(const FrictionLaw& law, FrictionLaw::Kind kind, double N, const V3& slip, const V3& bent,
                    bool still) {
  return rub<true>(law, kind, N, slip, bent, still);
}

double ContactLaw::energy(double gap, double weight) const {
  const double u = smoothing - gap, m = exponent;
  if (u <= 0.0) return 0.0;
  const double onset = std::min(u, smoothing);
  double e = 0.0;
  if (smoothing > 0.0) e = std::pow(onset, 2.0 * m + 1.0) / ((2.0 * m + 1.0) * std::pow(2.0 * smoothing, m));
  if (u > smoothing) e += (std::pow(u - 0.5 * smoothing, m + 1.0) - std::pow(0.5 * smoothing, m + 1.0)) / (m + 1.0);
  return weight * stiffness * e;
}

namespace {
template <bool Slopes>
bool evaluate(const ContactLaw& law, const ContactState& s, const space::Bend* bend, ContactForce& out,
              ContactSlopes* by) {
  const FrictionLaw& f = law.friction;
  const V3& n = s.near.normal;
  const double g = s.gap(), closing = s.still ? 0.0 : -n.dot(s.u);
  double slope;
  const double D = law.depth(g, slope), wk = s.weight * law.stiffness;
  const double elastic = law.exponent == 1.0 ? wk * D : wk * std::pow(D, law.exponent);
  const double opened = 1.0 + s.damping * closing, N = opened > 0.0 ? elastic * opened : 0.0;
  out.elastic = elastic, out.normal = N;
  if (N <= 0.0) {
    out.F.setZero(), out.M.setZero(), out.slip.setZero();
    out.rate = s.still ? V3(V3::Zero()) : V3(-s.z / ContactLaw::release);
    if constexpr (Slopes) {
      by->force.setZero(), by->force_z.setZero(), by->rate.setZero(), by->rate_z.setZero();
      if (!s.still) by->rate_z.add_to_diagonal(-1.0 / ContactLaw::release);
    }
    return false;
  }
  const double l = s.radius + 0.5 * g, along = n.dot(s.z);
  const V3 swing = s.W.cross(n), v = s.u + closing * n - l * swing;
  const V3 slip = s.still ? V3(s.u - n.dot(s.u) * n - l * swing) : v;
  const V3 bent = s.z - along * n;
  const Tangential t = rub<Slopes>(f, f.kind, N, slip, bent, s.still);
  const double speed = slip.norm();
  out.slip = slip, out.F = N * n + t.T, out.M = -l * n.cross(t.T);
  const double turn_n = n.dot(s.W);
  const V3 roll = s.W - turn_n * n;
  const bool rolls = (f.rolling > 0.0 || f.spinning > 0.0) && !s.still;
  const double es = f.spin_speed, rs = std::sqrt(roll.squaredNorm() + es * es),
               ns = std::sqrt(turn_n * turn_n + es * es);
  if (rolls) out.M -= N * (f.rolling / rs * roll + f.spinning / ns * turn_n * n);
  out.rate = s.still ? t.e : V3((t.e - speed * along * n) / f.presliding);
  if (f.kind != FrictionLaw::sticking) out.rate.setZero();
  if constexpr (!Slopes) return true;

  const M3 P = across(n), &H = *bend;
  const V3 Hu = H * s.u, Hz = H * s.z;
  // Normal force by p and u, slip by p, u, W, bent bristles by p and z.
  const double N_g = opened * wk * slope * (law.exponent == 1.0 ? 1.0 : law.exponent * std::pow(D, law.exponent - 1.0));
  V3 N_p = N_g * n, N_u = V3::Zero();
  if (!s.still) N_p -= elastic * s.damping * Hu, N_u = -elastic * s.damping * n;
  const double along_u = n.dot(s.u);
  const M3 v_p = -(outer(n, Hu) + along_u * H + 0.5 * outer(swing, n) + l * (cross_matrix<double>(s.W) * H));
  const M3 v_W = l * cross_matrix<double>(n);
  const M3 z_p = -(along * H + outer(n, Hz));
  M3 T_p = outer(t.by_N, N_p) + t.T_v * v_p + t.T_z * z_p, T_u = outer(t.by_N, N_u) + t.T_v * P, T_W = t.T_v * v_W;
  const M3 lever = -l * cross_matrix<double>(n);
  by->force.block<3, 3>(0, 0) = outer(n, N_p) + N * H + T_p;
  by->force.block<3, 3>(0, 3) = outer(n, N_u) + T_u;
  by->force.block<3, 3>(0, 6) = T_W;
  by->force.block<3, 3>(3, 0) = -0.5 * outer(n.cross(t.T), n) + l * (cross_matrix<double>(t.T) * H) + lever * T_p;
  by->force.block<3, 3>(3, 3) = lever * T_u;
  by->force.block<3, 3>(3, 6) = lever * T_W;
  by->force_z.topRows<3>() = t.T_z * P;
  by->force_z.bottomRows<3>() = lever * (t.T_z * P);
  if (rolls) {
    const V3 m = f.rolling / rs * roll + f.spinning / ns * turn_n * n;
    const M3 roll_r = f.rolling / rs * (M3::Identity() - outer(roll, roll) / (rs * rs));
    const double spin_n = f.spinning / ns * (1.0 - turn_n * turn_n / (ns * ns));
    const V3 HW = H * s.W;
    const M3 roll_p = -(turn_n * H + outer(n, HW));
    const M3 m_p = roll_r * roll_p + spin_n * outer(n, HW) + (f.spinning / ns * turn_n) * H;
    const M3 m_W = roll_r * P + spin_n * outer(n, n);
    by->force.block<3, 3>(3, 0) -= outer(m, N_p) + N * m_p;
    by->force.block<3, 3>(3, 3) -= outer(m, N_u);
    by->force.block<3, 3>(3, 6) -= N * m_W;
  }
  by->rate.setZero(), by->rate_z.setZero();
  if (f.kind != FrictionLaw::sticking) return true;
  const double scale = s.still ? 1.0 : 1.0 / f.presliding;
  M3 r_v = scale * t.e_v, r_z = scale * (t.e_z * P), r_p = scale * (t.e_z * z_p);
  if (!s.still) {
    if (speed > 0.0) r_v -= (along / (f.presliding * speed)) * outer(n, slip);
    r_z -= (speed / f.presliding) * outer(n, n);
    r_p -= (speed / f.presliding) * (along * H + outer(n, Hz));
  }
  by->rate.block<3, 3>(0, 0) = r_p + r_v * v_p;
  by->rate.block<3, 3>(0, 3) = r_v * P;
  by->rate.block<3, 3>(0, 6) = r_v * v_W;
  by->rate_z = r_z;
  return true;
}
} // namespace

bool touch(const ContactLaw& law, const ContactState& s, ContactForce& out) {
  return evaluate<false>(law, s, nullptr, out, nullptr);
}
bool touch(const ContactLaw& law, const ContactState& s, const space::Bend& bend, ContactForce& out,
           ContactSlopes& by) {
  return evaluate<true>(law, s, &bend, out, &by);
}

} // namespace gyrod
