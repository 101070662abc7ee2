// The discrete curvatures of Lang, Linn, Arnold 2011: K = (2/ds) zeta(w) Im W with w = Re W (26), in terms of
// W = conj(p_a) p_b. The rotation angle between the frames is phi = 2 theta, w = cos theta, and |K| ds = eta(phi) is
// one of m sin(phi/m), m tan(phi/m), phi (34). Zeta as a function of w needs no angle: (i)-(iv) are algebraic, the
// families and (v) a power series in 1 - w.
//
// With a = 2/m, zeta = sin(a theta)/(a sin theta) solves (1 - w²) zeta'' - 3 w zeta' + (a² - 1) zeta = 0, which gives
// the series and the second derivative; the tangent family is that over cos(a theta), whose derivative is a² zeta.
#pragma once

#include <array>
#include <cmath>

#include "gyrod/math/scalar.hpp"

namespace gyrod {

enum class Curvature { sine, half_sine, tangent, half_tangent, angle, sine_family, tangent_family };

// zeta and its first two derivatives with respect to w.
template <class S> struct Zeta {
  S z, z1, z2;
};

class CurvatureLaw {
public:
  CurvatureLaw() : CurvatureLaw(Curvature::angle, 0.0) {}
  explicit CurvatureLaw(Curvature kind, double m) : kind_(kind), a_(m > 0.0 ? 2.0 / m : 0.0) {
    c_[0] = 1.0;
    for (std::size_t k = 0; k + 1 < c_.size(); ++k) {
      const double j = double(k) + 1.0;
      c_[k + 1] = c_[k] * (j * j - a_ * a_) / (j * (2.0 * j + 1.0));
    }
  }

  Curvature kind() const { return kind_; }

  // Beyond this w the rod folds between two neighbouring frames and the curvature no longer represents it.
  double limit() const {
    switch (kind_) {
    case Curvature::sine:
    case Curvature::tangent:
      return 0.02;
    case Curvature::sine_family:
    case Curvature::tangent_family:
      return a_ <= 0.5 ? -0.98 : std::cos(0.98 * std::min(M_PI, 0.5 * M_PI / a_));
    default:
      return -0.98;
    }
  }

  template <class S> Zeta<S> operator()(const S& w) const {
    using std::sqrt;
    switch (kind_) {
    case Curvature::sine:
      return {S(1), S(0), S(0)};
    case Curvature::half_sine: {
      const S r = S(1) / (S(1) + w), z = sqrt(r + r), z1 = S(-0.5) * z * r;
      return {z, z1, S(-1.5) * z1 * r};
    }
    case Curvature::tangent: {
      const S r = S(1) / w, r2 = r * r;
      return {r, -r2, (r + r) * r2};
    }
    case Curvature::half_tangent: {
      const S r = S(1) / (S(1) + w), z = r + r;
      return {z, -z * r, z * z * r};
    }
    case Curvature::tangent_family:
      return tangent_family(sine_family(w), w);
    default:
      return sine_family(w);
    }
  }

private:
  // Terms of the series that reach rounding for 1 - w below a bound; beyond the last one the closed form is exact.
  template <class S> Zeta<S> sine_family(const S& w) const {
    const S x = S(1) - w;
    if constexpr (is_lanes<S>) {
      // Together where all lanes need the same number of terms, else one by one.
      if (x.within(-1.0, 0.012)) return series<S>(x, 8);
      if (x.within(0.012, 0.13)) return series<S>(x, 14);
      if (x.within(0.13, 0.4)) return series<S>(x, 23);
      return lane_by_lane(w);
    } else {
      if (x < S(0.012)) return series<S>(x, 8);
      if (x < S(0.13)) return series<S>(x, 14);
      if (x < S(0.4)) return series<S>(x, 23);
      return closed<S>(w);
    }
  }
  template <class S> Zeta<S> lane_by_lane(const S& w) const {
    Zeta<S> out;
    for (int l = 0; l < S::width; ++l) {
      const Zeta<double> z = sine_family<double>(w[l]);
      out.z.set(l, z.z), out.z1.set(l, z.z1), out.z2.set(l, z.z2);
    }
    return out;
  }
  template <class S> Zeta<S> closed(const S& w) const {
    using std::atan2, std::cos, std::sin, std::sqrt;
    const S s2 = S(1) - w * w, s = sqrt(s2), theta = atan2(s, w);
    const S z = a_ > 0.0 ? S(sin(S(a_) * theta) / (S(a_) * s)) : S(theta / s);
    const S c = a_ > 0.0 ? S(cos(S(a_) * theta)) : S(1);
    const S z1 = (w * z - c) / s2;
    return {z, z1, (S(3) * w * z1 - S(a_ * a_ - 1.0) * z) / s2};
  }

  template <class S> Zeta<S> series(const S& x, int n) const {
    S z(c_[std::size_t(n)]), d1(0), d2(0);
    for (int k = n - 1; k >= 0; --k) {
      d2 = d2 * x + d1;
      d1 = d1 * x + z;
      z = z * x + S(c_[std::size_t(k)]);
    }
    return {z, -d1, d2 + d2};
  }

  template <class S> Zeta<S> tangent_family(const Zeta<S>& q, const S& w) const {
    // cos(a theta) from its own first integral: c = w zeta - (1 - w²) zeta'
    const S c = w * q.z - (S(1) - w * w) * q.z1, r = S(1) / c, c1 = S(a_ * a_) * q.z, c2 = S(a_ * a_) * q.z1;
    const S z = q.z * r, z1 = (q.z1 - z * c1) * r;
    return {z, z1, (q.z2 - S(2) * z1 * c1 - z * c2) * r};
  }

  Curvature kind_;
  double a_;
  std::array<double, 24> c_{};
};

} // namespace gyrod
