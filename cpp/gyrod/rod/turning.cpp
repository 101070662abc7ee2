#include "gyrod/rod/turning.hpp"

#include "gyrod/linear/dense.hpp"
#include "gyrod/rigid/formulations.hpp"

namespace gyrod {
namespace {

// 2 conj(p) q/|p|²
template <class S> Vec4<S> local(const Vec4<S>& p, const Vec4<S>& q) {
  return (S(2) / p.dot(p)) * multiply<S>(conjugate<S>(p), q);
}
// a with p'' = p a/2 for w = 2 conj(p) p'/|p|².
template <class S> Vec4<S> bent(const Vec4<S>& p, const Vec4<S>& w, const Vec3<S>& alpha, const FormulationOptions& o) {
  Vec4<S> a(S(-0.5) * w.dot(w), alpha[0] - w[0] * w[1], alpha[1] - w[0] * w[2], alpha[2] - w[0] * w[3]);
  if (o.baumgarte_omega > 0.0)
    a[0] -= S(2.0 * o.baumgarte_r) * w[0] + S(o.baumgarte_omega * o.baumgarte_omega) * (S(1) - S(1) / p.dot(p));
  return a;
}
// D' D'' of directors: the skew part is that of the angular acceleration, the symmetric one keeps D'D = 1.
template <class S>
Mat3<S> pulled(const Mat3<S>& D, const Mat3<S>& V, const Vec3<S>& alpha, const FormulationOptions& o) {
  Mat3<S> N = cross_matrix<S>(alpha) - V.transpose() * V;
  if (o.baumgarte_omega > 0.0) {
    const Mat3<S> rate = D.transpose() * V;
    N -= S(o.baumgarte_r) * (rate + rate.transpose()) +
         S(0.5 * o.baumgarte_omega * o.baumgarte_omega) * (D.transpose() * D - Mat3<S>::Identity());
  }
  return N;
}
void put_column(double* A, int n, int k, const double* from) { std::copy_n(from, n, A + n * k); }

void quaternion_blocks(const double* r, const double* s, const Vec3<double>& alpha, const FormulationOptions& o,
                       TurnBlocks& out) {
  const Vec4<double> p = Part<4>::of(r), v = Part<4>::of(s), w = local<double>(p, v), a = bent<double>(p, w, alpha, o);
  const double n = p.squaredNorm(), spring = o.baumgarte_omega * o.baumgarte_omega;
  const auto column = [&](double* to, int k, const Vec4<double>& dp, const Vec4<double>& dw, double dn) {
    double da = -w.dot(dw);
    if (o.baumgarte_omega > 0.0) da -= 2.0 * o.baumgarte_r * dw[0] + spring * dn / (n * n);
    Vec4<double> bend = -w[0] * dw - dw[0] * w;
    bend[0] = da;
    const Vec4<double> to_p = 0.5 * (multiply<double>(dp, a) + multiply<double>(p, bend));
    put_column(to, 4, k, to_p.data());
  };
  for (int k = 0; k < 4; ++k) {
    const Vec4<double> e = Vec4<double>::Unit(k), turned = local<double>(p, e);
    const double dn = 2.0 * p[k];
    const Vec4<double> dw = (2.0 / n) * multiply<double>(conjugate<double>(e), v) - (dn / n) * w;
    out.turn.col(k) = turned, out.spin_r.col(k) = dw, out.spin_s.col(k) = turned;
    column(out.by_r, k, e, dw, dn), column(out.by_s, k, Vec4<double>::Zero(), turned, 0.0);
  }
  out.F.topRows<4>() = quaternion_nullspace<double>(p);
}

void director_blocks(bool absolute, const double* r, const double* s, const Vec3<double>& alpha,
                     const FormulationOptions& o, TurnBlocks& out) {
  const Mat3<double> D = frame_of(r);
  out.turn.bottomRows<3>() = polar_turn(D, polar_factor<double>(D));
  if (!absolute) {
    const Vec3<double> Omega = Part<3>::of(s);
    const Mat3<double> E = cross_matrix<double>(Omega);
    for (int k = 0; k < 9; ++k) put_column(out.by_r, 9, k, Mat3<double>(unit(k) * E).data());
    out.F = director_nullspace<double>(Part<9>::of(r));
    return;
  }
  const Mat3<double> V = frame_of(s), back = D.inverse().transpose();
  const Mat3<double> rate = back * pulled<double>(D, V, alpha, o);
  const double damp = o.baumgarte_omega > 0.0 ? o.baumgarte_r : 0.0, spring = o.baumgarte_omega * o.baumgarte_omega;
  for (int k = 0; k < 9; ++k) {
    const Mat3<double> E = unit(k), EV = E.transpose() * V, DE = D.transpose() * E, VE = EV.transpose();
    const Mat3<double> place = -(E.transpose() * rate) - damp * (EV + VE) - 0.5 * spring * (DE + DE.transpose());
    put_column(out.by_r, 9, k, Mat3<double>(back * place).data());
    put_column(out.by_s, 9, k, Mat3<double>(-(back * Mat3<double>(EV + VE + damp * (DE + DE.transpose())))).data());
    out.spin_r.col(k).tail<3>() = 0.5 * axial<double>(EV), out.spin_s.col(k).tail<3>() = 0.5 * axial<double>(DE);
  }
  for (int k = 0; k < 3; ++k)
    put_column(out.F.data(), 9, k, Mat3<double>(back * cross_matrix<double>(Vec3<double>::Unit(k))).data());
}

void angle_blocks(const double* r, const double* s, TurnBlocks& out) {
  const Mat3<double> T = euler_tangent_inverse<double>(Part<3>::of(r));
  const Vec3<double> rate = T * Part<3>::of(s);
  const double c2 = std::cos(r[1]), s2 = std::sin(r[1]);
  Mat3<double> K = Mat3<double>::Zero();
  K.col(1) = Vec3<double>(-c2 / s2 * rate[0], 0.0, rate[0] / s2);
  K.col(2) = Vec3<double>(rate[1] / s2, -s2 * rate[0], -c2 / s2 * rate[1]);
  std::copy_n(K.data(), 9, out.by_r);
  out.F.topRows<3>() = T, out.turn.block<3, 3>(1, 0) = T.inverse();
}

} // namespace

template <class S> void Turning::read(const S* r, const S* s, Vec4<S>& p, Vec3<S>& Omega) const {
  if (!absolute) Omega = Part<3>::of(s);
  if (kind == Coordinates::quaternion) {
    p = Part<4>::of(r);
    if (absolute) Omega = local<S>(p, Part<4>::of(s)).template tail<3>();
    p = normalize<S>(p);
  } else if (kind == Coordinates::directors) {
    const Mat3<S> D = frame_of(r);
    p = spurrier_klumpp<S>(polar_factor<S>(D));
    if (absolute) Omega = S(0.5) * axial<S>(D.transpose() * frame_of(s));
  } else {
    p = spurrier_klumpp<S>(EulerAngles::frame<S>(r));
  }
}

template <class S>
void Turning::rates(const S* r, const S* s, const Vec3<S>& alpha, const FormulationOptions& o, S* dr, S* ds) const {
  if (absolute) {
    for (int k = 0; k < coordinates(); ++k) dr[k] = s[k];
    if (kind == Coordinates::quaternion) {
      const Vec4<S> p = Part<4>::of(r);
      Part<4>::put(ds, Vec4<S>(S(0.5) * multiply<S>(p, bent<S>(p, local<S>(p, Part<4>::of(s)), alpha, o))));
    } else {
      const Mat3<S> D = frame_of(r);
      put_frame<S>(ds, Mat3<S>(D.inverse().transpose() * pulled<S>(D, frame_of(s), alpha, o)));
    }
    return;
  }
  const Vec3<S> Omega = Part<3>::of(s);
  if (kind == Coordinates::quaternion)
    Part<4>::put(dr, Vec4<S>(quaternion_nullspace<S>(Part<4>::of(r)) * Omega));
  else if (kind == Coordinates::directors)
    put_frame<S>(dr, Mat3<S>(frame_of(r) * cross_matrix<S>(Omega)));
  else
    Part<3>::put(dr, Vec3<S>(euler_tangent_inverse<S>(Part<3>::of(r)) * Omega));
  Part<3>::put(ds, alpha);
}

void Turning::blocks(const double* r, const double* s, const Vec3<double>& alpha, const FormulationOptions& o, bool raw,
                     TurnBlocks& out) const {
  out.F.setZero(), out.turn.setZero(), out.spin_r.setZero(), out.spin_s.setZero();
  if (kind == Coordinates::quaternion)
    quaternion_blocks(r, s, alpha, o, out);
  else if (kind == Coordinates::directors)
    director_blocks(absolute, r, s, alpha, o, out);
  else
    angle_blocks(r, s, out);
  if (!raw) out.turn.row(0).setZero(), out.spin_r.row(0).setZero(), out.spin_s.row(0).setZero();
}

void Turning::put(const Vec4<double>& p, const Vec3<double>& Omega, double* r, double* s) const {
  const Mat3<double> R = matrix_from_quaternion<double>(p);
  if (kind == Coordinates::quaternion) {
    Part<4>::put(r, p);
    if (absolute) Part<4>::put(s, Vec4<double>(quaternion_nullspace<double>(p) * Omega));
  } else if (kind == Coordinates::directors) {
    put_frame<double>(r, R);
    if (absolute) put_frame<double>(s, Mat3<double>(R * cross_matrix<double>(Omega)));
  } else {
    EulerAngles::put(R, r);
  }
  if (!absolute) Part<3>::put(s, Omega);
}

bool Turning::project(double* r, double* s, const FormulationOptions& o) const {
  if (kind == Coordinates::angles) return false;
  if (kind == Coordinates::quaternion)
    return absolute ? AbsoluteQuaternion::project(r, s, o) : NullspaceQuaternion::normalise(r);
  return absolute ? AbsoluteDirectors::project(r, s, o) : NullspaceDirectors::orthonormalise(r, o);
}

void Turning::residual(const double* r, const double* s, const FormulationOptions& o, double& position,
                       double& velocity) const {
  const auto of = kind == Coordinates::angles ? EulerAngles::residual
                  : kind == Coordinates::quaternion
                      ? (absolute ? AbsoluteQuaternion::residual : NullspaceQuaternion::residual)
                      : (absolute ? AbsoluteDirectors::residual : NullspaceDirectors::residual);
  of(r, s, o, position, velocity);
}

const char* Turning::trouble(const double* r) const {
  return kind == Coordinates::angles ? EulerAngles::trouble(r) : nullptr;
}

template void Turning::read(const double*, const double*, Vec4<double>&, Vec3<double>&) const;
template void Turning::read(const Dual<1>*, const Dual<1>*, Vec4<Dual<1>>&, Vec3<Dual<1>>&) const;
template void Turning::rates(const double*, const double*, const Vec3<double>&, const FormulationOptions&, double*,
                             double*) const;
template void Turning::rates(const Dual<1>*, const Dual<1>*, const Vec3<Dual<1>>&, const FormulationOptions&, Dual<1>*,
                             Dual<1>*) const;

// --- a frame in a stage

template <class S> bool TurnStage<S>::factor(const Turning& form, const TurnBlocks& k, S shift) {
  const int n = form.coordinates();
  const S inverse = S(1) / shift;
  for (int i = 0; i < n * n; ++i) lu_[i] = form.absolute ? -(S(k.by_s[i]) + inverse * k.by_r[i]) : S(-k.by_r[i]);
  for (int i = 0; i < n; ++i) lu_[(n + 1) * i] += shift;
  if (!factor_dense(n, lu_, pivots_)) return false;
  G_ = k.F.template cast<S>();
  for (int c = 0; c < 3; ++c) solve_dense(n, lu_, pivots_, G_.data() + 9 * c);
  if (form.absolute) {
    G_ = Matrix<S, 9, 3>(shift * G_);
    A = inverse * Matrix<S, 4, 3>(k.turn * G_);
    W = Matrix<S, 4, 9>(inverse * k.spin_r + k.spin_s) * G_;
  } else {
    A = k.turn * G_;
    W.setZero(), W.template bottomRows<3>().setIdentity();
  }
  return true;
}

template <class S>
void TurnStage<S>::known(const Turning& form, const TurnBlocks& k, S shift, const S* br, const S* bs) {
  const int n = form.coordinates();
  const S inverse = S(1) / shift;
  r_.setZero(), s_.setZero(), omega.setZero(), beta.setZero();
  std::copy_n(br, n, r_.data());
  if (form.absolute) {
    for (int i = 0; i < n; ++i) s_[i] = bs[i];
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) s_[i] += inverse * k.by_r[n * j + i] * r_[j];
    solve_dense(n, lu_, pivots_, s_.data());
    r_ = Matrix<S, 9, 1>(inverse * (r_ + s_));
    omega = k.spin_r * r_ + k.spin_s * s_;
  } else {
    solve_dense(n, lu_, pivots_, r_.data());
    beta = Part<3>::of(bs);
  }
  theta = k.turn * r_;
}

template <class S> void TurnStage<S>::recover(const Turning& form, S shift, const Vec3<S>& nu, S* br, S* bs) const {
  const Matrix<S, 9, 1> d = G_ * nu;
  for (int i = 0; i < form.coordinates(); ++i) {
    br[i] = r_[i] + (form.absolute ? d[i] / shift : d[i]);
    if (form.absolute) bs[i] = s_[i] + d[i];
  }
  if (!form.absolute) Part<3>::put(bs, nu);
}

template <class S> Vec3<S> TurnStage<S>::recover_transposed(const Turning& form, S shift, const S* br, const S* bs) {
  const int n = form.coordinates();
  r_.setZero(), s_.setZero(), beta.setZero(), omega.setZero();
  std::copy_n(br, n, r_.data());
  if (!form.absolute) return G_.transpose() * r_ + Part<3>::of(bs);
  std::copy_n(bs, n, s_.data());
  return G_.transpose() * Matrix<S, 9, 1>(s_ + (S(1) / shift) * r_);
}

template <class S>
void TurnStage<S>::known_transposed(const Turning& form, const TurnBlocks& k, S shift, const Vec4<S>& turn, S* br,
                                    S* bs) {
  const int n = form.coordinates();
  r_ += k.turn.transpose() * turn;
  if (!form.absolute) {
    solve_dense_transposed(n, lu_, pivots_, r_.data());
    std::copy_n(r_.data(), n, br), Part<3>::put(bs, beta);
    return;
  }
  const S inverse = S(1) / shift;
  r_ += k.spin_r.transpose() * omega;
  s_ += k.spin_s.transpose() * omega + inverse * r_;
  solve_dense_transposed(n, lu_, pivots_, s_.data());
  for (int j = 0; j < n; ++j) {
    bs[j] = s_[j], br[j] = inverse * r_[j];
    for (int i = 0; i < n; ++i) br[j] += inverse * k.by_r[n * j + i] * s_[i];
  }
}

template class TurnStage<double>;
template class TurnStage<Complex>;

} // namespace gyrod
