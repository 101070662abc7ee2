// The kernel of rod elements against dual numbers, at random states off the unit sphere: forces as derivatives of the
// energy, rates of the strains along the motion, blocks as derivatives of the forces. Prints a row for each case:
// scalar, damped, coupled, stretched, and the largest relative errors of forces, rates and blocks. DEGREE is given.
#include <cstdio>
#include <random>

#include "gyrod/math/lanes.hpp"
#include "gyrod/math/scalar.hpp"
#include "gyrod/rod/element_kernel.hpp"

using namespace gyrod;
using D = Dual<1>;

static std::mt19937 generator(1);
static double random_number() { return std::uniform_real_distribution<>(-1.0, 1.0)(generator); }
static void fill(double& x, double scale) { x = scale * random_number(); }
static void fill(Lanes& x, double scale) {
  for (int lane = 0; lane < Lanes::width; ++lane) x.set(lane, scale * random_number());
}
template <class M> M random_matrix(double scale = 1.0) {
  M A;
  for (int k = 0; k < A.size(); ++k) fill(A.data()[k], scale);
  return A;
}
static double lane_of(double x, int) { return x; }
static double lane_of(const Lanes& x, int lane) { return x[lane]; }
template <class T, class M> auto lane_of(const M& from, int lane) {
  Matrix<T, M::RowsAtCompileTime, M::ColsAtCompileTime> to;
  for (int k = 0; k < from.size(); ++k) to.data()[k] = T(lane_of(from.data()[k], lane));
  return to;
}

template <int p, class S> typename ElementKernel<p, S>::Parameters parameters(int damped, int coupled, int stretch) {
  typename ElementKernel<p, S>::Parameters c;
  c.damped = damped, c.coupled = coupled, c.strain = stretch ? Strain::stretch : Strain::cosserat;
  fill(c.slope, 1.0), c.slope += S(4.0);
  for (int k = 0; k < p; ++k) {
    c.weight[k] = S(Lobatto<p>::get().gauss_weight[std::size_t(k)]) / c.slope;
    auto& d = c.point[k];
    const auto A = random_matrix<Matrix<S, 6, 6>>();
    const Matrix<S, 6, 6> C = A * A.transpose();
    d.CG = C.template topLeftCorner<3, 3>(), d.CK = C.template bottomRightCorner<3, 3>();
    d.CX = C.template topRightCorner<3, 3>();
    if (!coupled)
      d.CG = Mat3<S>(d.CG.diagonal().asDiagonal()), d.CK = Mat3<S>(d.CK.diagonal().asDiagonal()), d.CX.setZero();
    d.cG = random_matrix<Vec3<S>>(), d.cK = random_matrix<Vec3<S>>();
    d.G0 = Vec3<S>(S(0.0), S(0.0), S(1.0)) + random_matrix<Vec3<S>>(0.1), d.K0 = random_matrix<Vec3<S>>();
  }
  return c;
}

template <int p, class S> typename ElementKernel<p, S>::State state() {
  typename ElementKernel<p, S>::State s;
  for (int a = 0; a <= p; ++a) {
    s.x[a] = Vec3<S>(S(0.0), S(0.0), S(0.5 / p * a)) + random_matrix<Vec3<S>>(0.1), s.v[a] = random_matrix<Vec3<S>>();
    s.p_[a] = Vec4<S>(S(1.0), S(0.2), S(-0.3), S(0.4)) + random_matrix<Vec4<S>>(0.2);
    s.w[a] = random_matrix<Vec4<S>>();
  }
  return s;
}

// The element of one lane, with scalars T.
template <class T, int p, class S> auto one(const typename ElementKernel<p, S>::Parameters& from, int lane) {
  typename ElementKernel<p, T>::Parameters c;
  c.damped = from.damped, c.coupled = from.coupled, c.strain = from.strain;
  c.slope = T(lane_of(from.slope, lane));
  for (int k = 0; k < p; ++k) {
    const auto& d = from.point[k];
    c.weight[k] = T(lane_of(from.weight[k], lane));
    c.point[k] = {lane_of<T>(d.CG, lane), lane_of<T>(d.CK, lane), lane_of<T>(d.CX, lane), lane_of<T>(d.cG, lane),
                  lane_of<T>(d.cK, lane), lane_of<T>(d.G0, lane), lane_of<T>(d.K0, lane)};
  }
  return c;
}
template <class T, int p, class S> auto one(const typename ElementKernel<p, S>::State& from, int lane) {
  typename ElementKernel<p, T>::State s;
  for (int a = 0; a <= p; ++a)
    s.x[a] = lane_of<T>(from.x[a], lane), s.v[a] = lane_of<T>(from.v[a], lane), s.p_[a] = lane_of<T>(from.p_[a], lane),
    s.w[a] = lane_of<T>(from.w[a], lane);
  return s;
}

struct Error {
  double largest = 0.0, size = 0.0;
  void add(double got, double want) {
    largest = std::max(largest, std::abs(got - want)), size = std::max(size, std::abs(want));
    if (!(std::abs(got - want) < 1e300)) largest = 1e300;
  }
  double relative() const { return largest / (size > 0.0 ? size : 1.0); }
};

template <int p, class S> void test(const char* scalar, int damped, int coupled, int stretch) {
  using Kernel = ElementKernel<p, S>;
  using Dual = ElementKernel<p, D>;
  const auto c = parameters<p, S>(damped, coupled, stretch);
  const auto s = state<p, S>();
  typename Kernel::Values o;
  Vec3<S> f[p + 1];
  Vec4<S> gp[p + 1];
  typename Kernel::Blocks blocks;
  Kernel::strains(c, s, o), Kernel::stresses(c, o), Kernel::forces(c, o, f, gp), Kernel::blocks(c, s, o, blocks);

  Error gradient, q, v, rates;
  for (int lane = 0; lane < (is_lanes<S> ? Lanes::width : 1); ++lane)
    for (int kind = 0; kind < (damped ? 3 : 1); ++kind) // increments, rates, all along the motion
      for (int node = 0; node <= (kind < 2 ? p : 0); ++node)
        for (int column = 0; column < (kind < 2 ? 7 : 1); ++column) {
          const auto cd = one<D, p, S>(c, lane);
          auto t = one<D, p, S>(s, lane);
          const auto turn = [&](int a, const Vec4<double>& by) {
            const Vec4<double> dp = 0.5 * multiply<double>(lane_of<double>(s.p_[a], lane), by);
            for (int i = 0; i < 4; ++i) t.p_[a][i].d[0] = dp[i];
          };
          if (kind == 2) {
            for (int a = 0; a <= p; ++a) {
              turn(a, lane_of<double>(s.w[a], lane));
              for (int i = 0; i < 3; ++i) t.x[a][i].d[0] = lane_of(s.v[a][i], lane);
            }
          } else if (column >= 4)
            (kind ? t.v : t.x)[node][column - 4].d[0] = 1.0;
          else if (kind)
            t.w[node][column].d[0] = 1.0;
          else
            turn(node, Vec4<double>::Unit(column));
          typename Dual::Values r;
          Vec3<D> fd[p + 1];
          Vec4<D> gd[p + 1];
          Dual::strains(cd, t, r), Dual::stresses(cd, r), Dual::forces(cd, r, fd, gd);
          if (kind == 2) {
            for (int k = 0; k < p; ++k)
              for (int i = 0; i < 3; ++i)
                rates.add(lane_of(o.Ed[k][i], lane), r.E[k][i].d[0]),
                    rates.add(lane_of(o.Kd[k][i], lane), r.K[k][i].d[0]);
            continue;
          }
          for (int a = 0; a <= p; ++a) {
            const Vec3<D> mu = D(-0.5) * multiply<D>(conjugate<D>(t.p_[a]), gd[a]).template tail<3>();
            const auto& block = (kind ? blocks.v : blocks.q)[a][node];
            Error& error = kind ? v : q;
            for (int i = 0; i < 3; ++i)
              error.add(lane_of(block(i, column), lane), mu[i].d[0]),
                  error.add(lane_of(block(i + 3, column), lane), fd[a][i].d[0]);
          }
          if (damped || kind) continue;
          D energy(0.0);
          for (int k = 0; k < p; ++k) {
            const auto& d = cd.point[k];
            const Vec3<D> E = r.E[k], K = r.K[k] - d.K0;
            energy += cd.weight[k] * (D(0.5) * (E.dot(d.CG * E) + K.dot(d.CK * K)) + E.dot(d.CX * K));
          }
          const Vec4<double> g = lane_of<double>(gp[node], lane), at = lane_of<double>(s.p_[node], lane);
          const double want = column >= 4 ? -lane_of(f[node][column - 4], lane)
                                          : 0.5 * multiply<double>(conjugate<double>(at), g)[column];
          gradient.add(want, energy.d[0]);
        }
  std::printf("%s %d %d %d %.1e %.1e %.1e %.1e\n", scalar, damped, coupled, stretch, gradient.relative(),
              rates.relative(), q.relative(), v.relative());
}

// What counts operations goes through the same functions.
void count() {
  using Kernel = ElementKernel<DEGREE, Counted>;
  const auto c = one<Counted, DEGREE, double>(parameters<DEGREE, double>(1, 1, 1), 0);
  const auto s = one<Counted, DEGREE, double>(state<DEGREE, double>(), 0);
  Kernel::Values o;
  Vec3<Counted> f[DEGREE + 1];
  Vec4<Counted> gp[DEGREE + 1];
  Kernel::strains(c, s, o), Kernel::stresses(c, o), Kernel::forces(c, o, f, gp);
}

int main() {
  count();
  for (int damped = 0; damped < 2; ++damped)
    for (int coupled = 0; coupled < 2; ++coupled)
      for (int stretch = 0; stretch < 2; ++stretch) {
        test<DEGREE, double>("double", damped, coupled, stretch);
        test<DEGREE, Lanes>("lanes", damped, coupled, stretch);
      }
}
