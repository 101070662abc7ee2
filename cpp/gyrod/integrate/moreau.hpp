// Moreau and Jean's time stepping for rigid contact: impacts with Newton's restitution and set-valued friction after
// Coulomb, in constant steps. With the velocities v at the start, the configuration q_m in the step, forces f and
// C = df/dv, K = df/dq there:
//   q_m = q + theta h T v,   (M - theta h C - theta² h² K) (v+ - v) = h f(t + theta h, q_m, v) + G' P
//   q+ = q_m + h T (theta v+ - (2 theta - 1) v)
// What touches at q_m has impulses P: the normal one is not negative and zero unless n.G v+ = -e n.G v, the tangential
// one lies in the disc of mu P_n, and on its edge, against the slip, where it slips. The matrix is that of implicit
// methods for the shift 1/(theta h), from which each column of W = G A^-1 G' is one solution: forces P/h are numbers of
// the state. theta = 1/2 keeps the energy of linear systems without contact; more damps what vibrates fast.
//
// Surfaces that overlap after the step are moved apart by A^-1 G' lambda, which has no part in the velocities.
#pragma once

#include "gyrod/integrate/integrator.hpp"

namespace gyrod {

// Impulses P of contacts, (normal, two tangents) of each: P_n >= 0, w_n >= 0, P_n w_n = 0, with w = W P + q, |P_t| <=
// mu P_n, and P_t = -mu P_n w_t/|w_t| where w_t is not zero. By projected Gauss-Seidel from the P that is there, and by
// Newton's method on what touches, sticks and slips then. Contacts without friction have one row.
class Impulses {
public:
  struct Contact {
    std::size_t at; // its first row
    int rows;       // 1 or 3
    double friction;
  };
  // Memory is taken when there is more of it than ever before.
  void resize(std::size_t rows);
  double* column(std::size_t j) { return W_.data() + j * n_; } // of W, which is symmetric but for rounding
  // False: neither way leads to an end.
  [[nodiscard]] bool solve(const std::vector<Contact>& contacts, const double* q, double* P);
  // Of what overlaps by -gaps, impulses that move it apart: normal ones alone.
  void separate(const std::vector<Contact>& contacts, const double* gaps, double* P) const;

private:
  double sweep(const std::vector<Contact>& contacts, const double* q, double part, double* P);
  // Residuals of all rows, in impulses; the largest one.
  double residual(const std::vector<Contact>& contacts, const double* q, const double* P, bool slopes);
  bool newton(const std::vector<Contact>& contacts, const double* q, double* P, double& left);

  std::size_t n_ = 0;
  std::vector<double> W_, w_, F_, J_, trial_, best_;
  std::vector<int> pivots_;
};

class Moreau final : public Integrator {
public:
  Moreau(Equations& e, const StepOptions& o);

  bool advance() override;
  void changed() override {}

  // Straight lines: velocities jump.
  std::size_t dense_rows() const override { return 2; }
  void dense(double* rows) override;
  DenseEvaluator evaluator() const override {
    return [](const double* rows, std::size_t n, double theta, double, double* y) {
      for (std::size_t i = 0; i < n; ++i) y[i] = rows[i] + theta * rows[n + i];
    };
  }

private:
  void start() override { h_ = options_.step; }
  void state(Archive&) override {} // it is all in y

  bool is(std::size_t i, StepOptions::Role role) const { return options_.roles[i] == role; }
  // y with the velocities v, null: none; into b_.
  const double* with(const std::vector<double>& y, const double* v);
  bool prepare(double t, double h);
  void find_columns(double t, double h);
  void collide(double t, double h);
  void account(double t);
  void part(double h);

  double theta_;
  std::vector<double> y_old_, y_m_, f_, b_, v_; // y_m_: in the step; v_: velocities at its end
  std::vector<Impact> touching_, seen_;         // in the step; the same at other states
  std::vector<Impulses::Contact> contacts_;
  std::vector<double> columns_;             // velocities by unit impulses, one after the other
  std::vector<double> q_, P_, gaps_, none_; // none_: velocities of contacts where nothing moves but what is led
  Impulses impulses_;
};

} // namespace gyrod
