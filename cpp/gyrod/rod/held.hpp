// What held strains ask of a rod: their forces, projection, and their rows in the linear system of a stage.
#pragma once

#include "gyrod/rod/part.hpp"

namespace gyrod {

// (0, Omega') of a frame that is held.
template <class S> Vec4<S> held_spin(const RodPart& r, int e, double t) {
  const Vec3<double> a = r.end_spin_rate(e, t);
  return Vec4<S>(S(0), S(a[0]), S(a[1]), S(a[2]));
}

// Forces that hold strains against all others, added to the state; those of ties are left to the bodies (`eliminate`).
template <class S>
void hold_strains(const RodPart& r, RodState<S>& s, HeldStrains<S>& hold, double t, const FormulationOptions& options) {
  const std::size_t N = std::size_t(r.N);
  static thread_local std::vector<Vec3<S>> a;
  static thread_local std::vector<Vec4<S>> spins;
  a.resize(N + 1), spins.resize(s.p.size());
  for (std::size_t n = 0; n <= N; ++n)
    a[n] = r.x_at[n] >= 0 ? Vec3<S>(S(r.free_mass[n]) * s.f[n]) : Vec3<S>(r.ends[n ? 1 : 0].a.template cast<S>());
  for (std::size_t j = 0; j < spins.size(); ++j)
    spins[j] = r.d.holds(int(j)) ? held_spin<S>(r, j ? 1 : 0, t) : r.template spin<S>(s, int(j), options);
  hold.configure(s);
  hold.factor();
  hold.second_rates(a, spins);
  if constexpr (std::is_same_v<S, double>) {
    r.grid->publish(s);
    if (r.tied()) return hold.eliminate(); // the bodies say how they pull
  }
  hold.solve(hold.lambda);
  hold.apply(s);
}

// Moves positions, or velocities, along M^-1 B' by the forces in lambda.
void displace(RodPart& r, double* y, bool positions);
// Held strains, or their rates, of a state into lambda, with the factors of their mobility; returns the largest.
double measure(RodPart& r, const double* y, bool positions);
// Held strains and their rates back to zero, along M^-1 B'.
void restore(RodPart& r, double* y);
// Rows of -dE''/d(q, v). At rest strains do not change to first order, and that is all.
void constraint_rows(RodPart& r, bool still);
// Of strain j, next to end e.
HeldHost held_host(const RodPart& r, int e, int j, const HostMotion& m, bool still);
Matrix<double, 6, 1> pulling_host(const RodPart& r, int e, int j, const HostMotion& m);

} // namespace gyrod
