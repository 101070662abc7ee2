// Kirchhoff rods (Lang, Linn, Arnold 2011, remarks 2.1 and 3.4): strains that are held at their rest values, exactly.
//
// The section forces lambda_j that hold E_j = 0 follow from E'' = 0, a block-tridiagonal system A lambda = E''(free):
// with B_j mapping lambda_j to forces +R lambda, -R lambda on the two vertices and the moment ds G x lambda on the
// frame, A = B' M^-1 B row by row. It is regular for a straight rod; only a rod that is inextensible, straight and held
// at both ends is over-determined. Projection moves q and v along M^-1 B.
#pragma once

#include <stdexcept>

#include "gyrod/rod/staggered.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

template <class S> Mat3<S> inverse_of(const Mat3<S>& a) { // by cofactors: the dual numbers' LU compiles slowly
  Mat3<S> c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      c(j, i) = a(i1, j1) * a(i2, j2) - a(i1, j2) * a(i2, j1);
    }
  const S det = a(0, 0) * c(0, 0) + a(0, 1) * c(1, 0) + a(0, 2) * c(2, 0);
  return c * (S(1) / det);
}

template <class S> class HeldStrains {
public:
  HeldStrains(const RodDescription& d, const std::vector<double>& inverse_mass)
      : d_(d), mass_(inverse_mass), lambda(std::size_t(d.segments)), inverse_(lambda.size()), upper_(lambda.size()) {}

  // LU of A at the configuration of the state (R and G).
  void factor(const RodState<S>& s) {
    const std::size_t N = lambda.size();
    for (std::size_t j = 0; j < N; ++j) {
      const Mat3<S> E = cross_matrix<S>(s.G[j]), &R = s.R[j];
      const S scale(d_.inverse_ds[j]), both(mass_[j] + mass_[j + 1]);
      Mat3<S> A = (scale * both) * (R.transpose() * R);
      Mat3<S> JE = E;
      for (int k = 0; k < 3; ++k) JE.row(k) *= S(d_.inverse_J[j][k]);
      A -= S(d_.ds[j]) * (E * JE);
      const double size = value_of(A(0, 0)) + value_of(A(1, 1)) + value_of(A(2, 2));
      Mat3<S> U = Mat3<S>::Zero();
      if (j + 1 < N) U = (-scale * S(mass_[j + 1])) * (R.transpose() * s.R[j + 1]);
      if (d_.held == 2) {
        for (int k = 0; k < 3; ++k) A(2, k) = A(k, 2) = U(2, k) = U(k, 2) = S(0);
        A(2, 2) = S(size);
      }
      if (j > 0) A -= lower(s, j) * upper_[j - 1];
      check(A, size);
      inverse_[j] = inverse_of<S>(A);
      upper_[j] = inverse_[j] * U;
    }
  }

  // A lambda = r, in place.
  void solve(const RodState<S>& s, std::vector<Vec3<S>>& r) const {
    const std::size_t N = r.size();
    for (std::size_t j = 0; j < N; ++j) {
      if (d_.held == 2) r[j][2] = S(0);
      if (j > 0) r[j] -= lower(s, j) * r[j - 1];
      r[j] = Vec3<S>(inverse_[j] * r[j]);
    }
    for (std::size_t j = N - 1; j-- > 0;) r[j] -= upper_[j] * r[j + 1];
  }

  // E'' without lambda, from accelerations of vertices and (w0, Omega') of segments.
  void second_rates(const RodState<S>& s, const std::vector<Vec3<S>>& a, const std::vector<Vec4<S>>& spin) {
    for (std::size_t j = 0; j < lambda.size(); ++j) {
      const Vec3<S> Omega = s.w[j].template tail<3>(), turning = s.G[j].cross(Omega), y = rate(s, j);
      const Vec3<S> z = S(d_.inverse_ds[j]) * (s.R[j].transpose() * (a[j + 1] - a[j]));
      lambda[j] = z + S(2) * y.cross(Omega) + turning.cross(Omega) + s.G[j].cross(Vec3<S>(spin[j].template tail<3>()));
    }
  }
  Vec3<S> rate(const RodState<S>& s, std::size_t j) const {
    return S(d_.inverse_ds[j]) * (s.R[j].transpose() * (s.v[j + 1] - s.v[j]));
  }
  // E'
  Vec3<S> strain_rate(const RodState<S>& s, std::size_t j) const {
    return rate(s, j) + s.G[j].cross(Vec3<S>(s.w[j].template tail<3>()));
  }

  // Adds the forces of lambda to the state.
  void apply(RodState<S>& s) const {
    for (std::size_t j = 0; j < lambda.size(); ++j) {
      const Vec3<S> force = s.R[j] * lambda[j];
      s.F[j] += lambda[j], s.f[j] += force, s.f[j + 1] -= force;
      s.mu[j] += S(d_.ds[j]) * s.G[j].cross(lambda[j]);
    }
  }

private:
  Mat3<S> lower(const RodState<S>& s, std::size_t j) const {
    Mat3<S> L = (S(-d_.inverse_ds[j] * mass_[j])) * (s.R[j].transpose() * s.R[j - 1]);
    if (d_.held == 2)
      for (int k = 0; k < 3; ++k) L(2, k) = L(k, 2) = S(0);
    return L;
  }

  void check(const Mat3<S>& A, double size) const {
    Mat3<double> value;
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) value(i, k) = value_of(A(i, k));
    // A state that is not finite belongs to a step that will be rejected.
    if (std::abs(value.determinant()) <= 1e-22 * size * size * size)
      throw std::runtime_error("rod '" + d_.name +
                               "' is inextensible, straight and held at both ends, so that its axial force is not "
                               "determined; let it extend (strain='kirchhoff' or 'cosserat')");
  }

  const RodDescription& d_;
  const std::vector<double>& mass_; // inverse masses of vertices, 0 where held

public:
  std::vector<Vec3<S>> lambda;

private:
  std::vector<Mat3<S>> inverse_, upper_;
};

} // namespace gyrod
