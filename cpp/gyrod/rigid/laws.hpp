// What springs, cables and bushings do between two points, told by d = x_b - x_a and v = x_b' - x_a': the force F on a
// (and -F on b), its derivatives, its energy and the power that it dissipates. They know neither bodies nor rods.
//
// Rules for a law of the line between two points:
//  1. A struct of numbers, with its `name`, by which descriptions ask for it, and theirs, in their order.
//  2. `force` in any scalar, `slopes` with derivatives; `energy`, `dissipation`.
//  3. `secant`, over a step from a to b: the force whose work is the change of the energy and what damping takes.
//  4. Its place in `LineLaws`. Forces between bodies, links to rods and constant steps then have it.
#pragma once

#include <array>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

// A force with its derivatives, dF = K dd + C dv.
struct PointForce {
  Vec3<double> F = Vec3<double>::Zero();
  Mat3<double> K = Mat3<double>::Zero(), C = Mat3<double>::Zero();
};

// The line between two points, for tensions that depend on its length and the rate of that.
struct Line {
  double length, rate;
  Vec3<double> u, across; // its direction, and how that turns
  Line(const Vec3<double>& d, const Vec3<double>& v)
      : length(d.norm()), rate(d.dot(v) / length), u(d / length), across((v - rate * u) / length) {}
  PointForce pull(double T, double by_length, double by_rate) const {
    const Mat3<double> along = u * u.transpose();
    PointForce f{T * u, (by_length - T / length) * along + u * (by_rate * across).transpose(), by_rate * along};
    f.K.add_to_diagonal(T / length);
    return f;
  }
};

// Linear spring and damper along the line.
struct SpringLaw {
  static constexpr const char* name = "spring";
  static constexpr std::array numbers{"stiffness", "damping", "length"};
  static constexpr bool conservative = true;
  double k, c, length;

  template <class S> Vec3<S> force(const Vec3<S>& d, const Vec3<S>& v) const {
    using std::sqrt;
    if (length == 0.0) return S(k) * d + along(d, v); // no direction is needed
    const S l = sqrt(d.dot(d));
    const S rate = d.dot(v) / l;
    return Vec3<S>(d * ((S(k) * (l - S(length)) + S(c) * rate) / l));
  }
  // Over a step from a to b: the force whose work is the change of the energy and c (change of length)²/h.
  template <class S> Vec3<S> secant(const Vec3<S>& a, const Vec3<S>& b, double h) const {
    using std::sqrt;
    const Vec3<S> middle = (a + b) * S(0.5);
    if (length == 0.0 && (c == 0.0 || value_of(a.dot(a) + b.dot(b)) == 0.0)) return middle * S(k);
    const S before = sqrt(a.dot(a)), after = sqrt(b.dot(b)), sum = before + after;
    return Vec3<S>(middle * (S(k) + (S(c / h) * (after - before) - S(k * length)) * S(2) / sum));
  }
  PointForce slopes(const Vec3<double>& d, const Vec3<double>& v) const {
    if (length == 0.0 && (c == 0.0 || d.norm() == 0.0)) return {k * d, k * Mat3<double>::Identity()};
    const Line line(d, v);
    return line.pull(k * (line.length - length) + c * line.rate, k, c);
  }
  double energy(const Vec3<double>& d) const {
    const double u = d.norm() - length;
    return 0.5 * k * u * u;
  }
  double dissipation(const Vec3<double>& d, const Vec3<double>& v) const {
    const double n = d.squaredNorm(), rate = d.dot(v);
    return n > 0.0 ? c * rate * rate / n : 0.0;
  }

private:
  // Damper of a spring without length: along the line where there is one, none where the points meet.
  template <class S> Vec3<S> along(const Vec3<S>& d, const Vec3<S>& v) const {
    const S n = d.dot(d);
    if (c == 0.0 || value_of(n) == 0.0) return Vec3<S>::Zero();
    return d * (S(c) * d.dot(v) / n);
  }
};

// A cable that only pulls; over the extension `onset` its stiffness sets in.
struct CableLaw {
  static constexpr const char* name = "cable";
  static constexpr std::array numbers{"stiffness", "damping", "length", "smoothing"};
  static constexpr bool conservative = false;
  double k, c, length, onset;

  template <class S> Vec3<S> force(const Vec3<S>& d, const Vec3<S>& v) const {
    using std::sqrt;
    const S l = sqrt(d.dot(d)), u = l - S(length);
    if (value_of(u) <= 0.0) return Vec3<S>::Zero();
    const bool sets_in = value_of(u) < onset;
    const S extension = sets_in ? S(u * u * S(0.5 / onset)) : S(u - S(0.5 * onset));
    const S slope = sets_in ? S(u * S(1.0 / onset)) : S(1);
    const S T = S(k) * extension + S(c) * slope * (d.dot(v) / l);
    if (value_of(T) <= 0.0) return Vec3<S>::Zero(); // it never pushes
    return d * (T / l);
  }
  // Over a step from a to b: the force whose work is the change of the energy and what damping takes.
  template <class S> Vec3<S> secant(const Vec3<S>& a, const Vec3<S>& b, double h) const {
    using std::sqrt;
    const S before = sqrt(a.dot(a)), after = sqrt(b.dot(b)), middle = (before + after) * S(0.5);
    const double u = value_of(middle) - length;
    const S slope = u <= 0.0 ? S(0) : u < onset ? S((middle - S(length)) * S(1.0 / onset)) : S(1);
    const S T = mean<S>(before, after) + S(c / h) * slope * (after - before);
    if (value_of(T) <= 0.0) return Vec3<S>::Zero();
    return (a + b) * S(T / (before + after));
  }
  PointForce slopes(const Vec3<double>& d, const Vec3<double>& v) const {
    const double u = d.norm() - length;
    if (u <= 0.0) return {};
    const Line line(d, v);
    const bool sets_in = u < onset;
    const double slope = sets_in ? u / onset : 1.0;
    const double T = k * (sets_in ? 0.5 * u * slope : u - 0.5 * onset) + c * slope * line.rate;
    if (T <= 0.0) return {};
    return line.pull(T, k * slope + (sets_in ? c * line.rate / onset : 0.0), c * slope);
  }
  double energy(const Vec3<double>& d) const {
    const double u = d.norm() - length;
    if (u <= 0.0) return 0.0;
    return k * (u < onset ? u * u * u / (6.0 * onset) : 0.5 * u * (u - onset) + onset * onset / 6.0);
  }
  // What it takes beyond its energy: where a damper would push, it has let go of it.
  double dissipation(const Vec3<double>& d, const Vec3<double>& v) const {
    const double u = d.norm() - length;
    if (u <= 0.0) return 0.0;
    const double rate = d.dot(v) / d.norm(), slope = u < onset ? u / onset : 1.0;
    const double spring = k * (u < onset ? 0.5 * u * slope : u - 0.5 * onset);
    return std::max(c * slope * rate, -spring) * rate;
  }

private:
  template <class S> S tension(const S& l) const { // without damping
    const S u = l - S(length);
    if (value_of(u) <= 0.0) return S(0);
    return S(k) * (value_of(u) < onset ? S(u * u * S(0.5 / onset)) : S(u - S(0.5 * onset)));
  }
  // Of the tension over the lengths from a to b, by Simpson's rule between where it sets in and where it has, which is
  // exact; the rule divides by nothing where both are on one side.
  template <class S> S mean(const S& a, const S& b) const {
    const auto simpson = [this](const S& x, const S& y) {
      return S((tension<S>(x) + S(4) * tension<S>(S((x + y) * S(0.5))) + tension<S>(y)) * S(1.0 / 6.0));
    };
    const S &low = value_of(a) < value_of(b) ? a : b, &high = value_of(a) < value_of(b) ? b : a;
    S sum(0), from = low;
    bool whole = true;
    for (const double edge : {length, length + onset})
      if (value_of(low) < edge && edge < value_of(high)) {
        sum += simpson(from, S(edge)) * (S(edge) - from);
        from = S(edge), whole = false;
      }
    if (whole) return simpson(low, high);
    return (sum + simpson(from, high) * (high - from)) / (high - low);
  }
};

template <class... L> struct Laws {};
using LineLaws = Laws<CableLaw, SpringLaw>;

// Stiffness and damping of the offset u = R'd along the axes R of a. F acts on a as if at the point of b, which keeps
// the angular momentum: at its own point a feels the moment d x F as well.
struct BushingLaw {
  // Columns of `axes` are those of R in the axes that the numbers refer to.
  BushingLaw(const Vec3<double>& stiffness, const Vec3<double>& damping, const Mat3<double>& axes)
      : k(axes.transpose() * stiffness.asDiagonal() * axes), c(axes.transpose() * damping.asDiagonal() * axes) {}
  Mat3<double> k, c;
};

} // namespace gyrod
