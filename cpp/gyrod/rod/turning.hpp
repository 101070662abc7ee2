// Which coordinates the frames of rods have: r and their velocities s. Forces are computed from a unit quaternion p and
// the material angular velocity Omega, whatever the coordinates are; here they are translated into each other.
//
//   quaternion, null space  (p; Omega) themselves, which may leave the unit sphere: `plain`
//   quaternion, absolute    (p; p'), without held strains as they are, as in the paper: `raw`
//   directors, null space   (d1, d2, d3; Omega), whose polar factor is the frame
//   directors, absolute     the same with (d1', d2', d3')
//   angles 3-1-3            (theta; Omega)
#pragma once

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"
#include "gyrod/rigid/coordinates.hpp"
#include "gyrod/rigid/options.hpp"

namespace gyrod {

// Derivatives of the rates of a frame, n coordinates. Null space: of r' by r and by Omega. Absolute: of s' by r, by s
// and by Omega', and of Omega by r and by s.
struct TurnBlocks {
  double by_r[81], by_s[81]; // n x n, column by column
  Matrix<double, 9, 3> F;
  Matrix<double, 4, 9> turn;           // 2 conj(p) dp/|p|² by r
  Matrix<double, 4, 9> spin_r, spin_s; // of 2 conj(p) p'/|p|²
};

struct Turning {
  Coordinates kind = Coordinates::quaternion;
  bool absolute = false;

  bool plain() const { return kind == Coordinates::quaternion && !absolute; }
  bool raw(bool held) const { return kind == Coordinates::quaternion && absolute && !held; }
  int coordinates() const { return count_of(kind); }
  int velocities() const { return absolute ? coordinates() : 3; }

  template <class S> void read(const S* r, const S* s, Vec4<S>& p, Vec3<S>& Omega) const;
  // (r', s') from Omega' = alpha.
  template <class S>
  void rates(const S* r, const S* s, const Vec3<S>& alpha, const FormulationOptions& options, S* dr, S* ds) const;
  void blocks(const double* r, const double* s, const Vec3<double>& alpha, const FormulationOptions& options, bool raw,
              TurnBlocks& out) const;
  // The coordinates of (p, Omega); angles next to those in r.
  void put(const Vec4<double>& p, const Vec3<double>& Omega, double* r, double* s) const;
  bool project(double* r, double* s, const FormulationOptions& options) const;
  void residual(const double* r, const double* s, const FormulationOptions& options, double& position,
                double& velocity) const;
  const char* trouble(const double* r) const;
};

// A frame in a stage, in coordinates that are not plain: with the unknown nu its angular acceleration is shift nu -
// beta, its increment theta + A nu and its rate omega + W nu, where theta, omega and beta follow from the right-hand
// side alone. In null-space forms nu is the increment of Omega.
template <class S> class TurnStage {
public:
  [[nodiscard]] bool factor(const Turning& form, const TurnBlocks& k, S shift);
  void known(const Turning& form, const TurnBlocks& k, S shift, const S* br, const S* bs);
  void recover(const Turning& form, S shift, const Vec3<S>& nu, S* br, S* bs) const;
  // Both transposed: from weights of (r, s) to those of nu; from those of theta, and in `omega` and `beta`, to those of
  // b.
  Vec3<S> recover_transposed(const Turning& form, S shift, const S* br, const S* bs);
  void known_transposed(const Turning& form, const TurnBlocks& k, S shift, const Vec4<S>& turn, S* br, S* bs);

  Matrix<S, 4, 3> A, W;
  Vec4<S> theta, omega;
  Vec3<S> beta;

private:
  S lu_[81];
  int pivots_[9];
  Matrix<S, 9, 3> G_; // r, or s in absolute form, by nu
  Matrix<S, 9, 1> r_, s_;
};

} // namespace gyrod
