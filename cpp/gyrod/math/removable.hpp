// Functions with a removable singularity at zero, as functions of the squared angle x = t².
//
// In x they are entire, so no square root spoils a derivative at zero: dual numbers and complex scalars pass
// through. A Taylor polynomial serves up to the switch, the closed form beyond (measured: below 4 ulp on [0,
// pi]).
#pragma once

#include <array>
#include <cmath>
#include <type_traits>

namespace gyrod {

// Coefficients of sum (-1)^k factor(k) x^k / (2k + shift)!, factor = 1 or -2(k + 1) for the derivatives.
template <int Terms, int Shift, bool Derivative = false> constexpr std::array<double, Terms> taylor_coefficients() {
  std::array<double, Terms> c{};
  double factorial = 1.0;
  for (int i = 2; i <= Shift; ++i) factorial *= i;
  for (int k = 0; k < Terms; ++k) {
    const double sign = k % 2 == 0 ? 1.0 : -1.0;
    c[k] = sign * (Derivative ? -2.0 * (k + 1) : 1.0) / factorial;
    factorial *= double(2 * k + Shift + 1) * double(2 * k + Shift + 2);
  }
  return c;
}

template <class S, std::size_t N> inline S horner(const S& x, const std::array<double, N>& c) {
  S value = S(c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) value = value * x + S(c[k]);
  return value;
}

// Below these squared angles the Taylor polynomials hold to rounding.
inline constexpr double switch_trig = 1.0;    // sin t/t and cos t
inline constexpr double switch_defect = 6.25; // forms that cancel: t = 2.5
inline constexpr std::array cos_series = taylor_coefficients<10, 0>();
inline constexpr std::array sinc_series = taylor_coefficients<10, 1>();

// What rounding takes from t = sqrt(x): near the zeros of sine and cosine it would be all there is.
template <class S> S root_defect(const S& x, const S& t) {
  if constexpr (std::is_same_v<S, double>)
    return std::fma(-t, t, x) / (2.0 * t);
  else
    return S(0);
}

template <class S> S cos_sq(const S& x) { // cos t
  using std::cos, std::sin, std::sqrt;
  if (x <= S(switch_trig)) return horner(x, cos_series);
  const S t = sqrt(x);
  return cos(t) - root_defect<S>(x, t) * sin(t);
}

template <class S> S sinc_sq(const S& x) { // sin t/t
  using std::cos, std::sin, std::sqrt;
  if (x <= S(switch_trig)) return horner(x, sinc_series);
  const S t = sqrt(x);
  return (sin(t) + root_defect<S>(x, t) * cos(t)) / t;
}

template <class S> S cosc_sq(const S& x) { // (1 - cos t)/t²
  const S half = sinc_sq<S>(x * S(0.25));
  return half * half * S(0.5);
}

template <class S> S sinc3_sq(const S& x) { // (t - sin t)/t³
  using std::sin, std::sqrt;
  static constexpr auto c = taylor_coefficients<14, 3>();
  if (x <= S(switch_defect)) return horner(x, c);
  const S t = sqrt(x);
  return (t - sin(t)) / (x * t);
}

template <class S> S dsinc_sq(const S& x) { // (t cos t - sin t)/t³
  using std::cos, std::sin, std::sqrt;
  static constexpr auto c = taylor_coefficients<14, 3, true>();
  if (x <= S(switch_defect)) return horner(x, c);
  const S t = sqrt(x);
  return (t * cos(t) - sin(t)) / (x * t);
}

template <class S> S cotc_sq(const S& x) { // (1 - (t/2) cot(t/2))/t²
  const S quarter = x * S(0.25);
  return S(-0.25) * dsinc_sq<S>(quarter) / sinc_sq<S>(quarter);
}

// atan2(s, c)/s for s >= 0 and its square s²: the factor of the logarithm of a quaternion.
template <class S> S angle_over_sine(const S& s_squared, const S& c) {
  using std::atan2, std::sqrt;
  const S z = s_squared / (c * c);
  if (c > S(0) && z < S(1e-3)) { // atan(z)/z
    S sum = S(0);
    for (int k = 6; k >= 0; --k) sum = S(1.0 / (2 * k + 1)) - z * sum;
    return sum / c;
  }
  const S s = sqrt(s_squared);
  return atan2(s, c) / s;
}

} // namespace gyrod
