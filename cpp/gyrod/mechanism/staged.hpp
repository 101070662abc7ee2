// The stages of a mechanism, real and complex, by the templates of the class that has them: `stage(S)` is where one is
// kept, `factor_with`, `solve_with` and `solve_transposed_with` do the work, with guests and ties where there are some.
#pragma once

#include "gyrod/linear/dense.hpp"
#include "gyrod/mechanism/model.hpp"

namespace gyrod {

template <class Self, class Base> class Staged : public Base {
  template <class S> using Guests = std::vector<HostBlock<S>>;
  template <class S> using Hosts = std::vector<HostVector<S>>;
  template <class S> using Ties = std::vector<Vec3<S>>;
  Self& self() { return static_cast<Self&>(*this); }

public:
  using Base::Base;

  bool factor(double s) override { return self().factor_with(self().stage(s), s); }
  bool factor(Complex s) override { return self().factor_with(self().stage(s), s); }
  bool factor_with_guests(double s, const Guests<double>& guests, const TieBlocks<double>& ties) override {
    return self().factor_with(self().stage(s), s, &guests, &ties);
  }
  bool factor_with_guests(Complex s, const Guests<Complex>& guests, const TieBlocks<Complex>& ties) override {
    return self().factor_with(self().stage(s), s, &guests, &ties);
  }

  void solve(double* b) override { self().solve_with(*self().stage(0.0), b); }
  void solve(Complex* b) override { self().solve_with(*self().stage(Complex()), b); }
  void solve_with_guests(double* b, Hosts<double>& guests, Ties<double>& ties) override {
    self().solve_with(*self().stage(0.0), b, &guests, &ties);
  }
  void solve_with_guests(Complex* b, Hosts<Complex>& guests, Ties<Complex>& ties) override {
    self().solve_with(*self().stage(Complex()), b, &guests, &ties);
  }

  void solve_transposed(double* b) override { self().solve_transposed_with(*self().stage(0.0), b); }
  void solve_transposed_with_guests(double* b, Hosts<double>& guests, Ties<double>& ties) override {
    self().solve_transposed_with(*self().stage(0.0), b, &guests, &ties);
  }

  void dense_jacobian(double t, const double* y, double* J) override { jacobian_by_solutions(self(), t, y, J); }
};

} // namespace gyrod
