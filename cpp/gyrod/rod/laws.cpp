// To add a law: a struct with its name, how many numbers it takes, and `push` for any scalar; and its place in `laws`.
// Derivatives are found by dual numbers.
#include "gyrod/rod/laws.hpp"

#include <tuple>

#include "gyrod/math/lanes.hpp"

namespace gyrod {
namespace {

// Quadratic drag in a fluid that flows with the velocity F: c1, c2 across the rod, c3 along it, which do not mix.
struct Flow {
  static constexpr std::string_view name = "flow";
  static constexpr std::size_t numbers = 3;
  template <class S> static RodPush<S> push(const double* c, const Vec3<double>& F, const RodPlace<S>& at) {
    using std::sqrt;
    const S still(1e-100); // the root has a derivative where nothing flows
    const Vec3<S> u = at.R.transpose() * Vec3<S>(F.template cast<S>() - at.v);
    const S across = sqrt(u[0] * u[0] + u[1] * u[1] + still), along = sqrt(u[2] * u[2] + still);
    RodPush<S> out;
    out.force = at.R * Vec3<S>(S(c[0]) * across * u[0], S(c[1]) * across * u[1], S(c[2]) * along * u[2]);
    return out;
  }
};

template <class Law> class Compiled final : public RodLaw {
public:
  std::string_view name() const override { return Law::name; }
  std::size_t numbers() const override { return Law::numbers; }
  void derivatives(const double* c, const Vec3<double>& F, const RodPlace<double>& at, Block& by_place,
                   Block& by_rate) const override {
    using D = Dual<13>; // e, Theta, x; Omega, v
    RodPlace<D> moved;
    for (int i = 0; i < 3; ++i) {
      moved.x[i] = D::seed(at.x[i], 4 + i), moved.Omega[i] = D::seed(at.Omega[i], 7 + i);
      moved.v[i] = D::seed(at.v[i], 10 + i);
      for (int j = 0; j < 3; ++j) { // dR = R (e + Theta x)
        D& entry = moved.R(i, j) = D(at.R(i, j));
        entry.d[0] = at.R(i, j);
        entry.d[std::size_t(1 + (j + 2) % 3)] = at.R(i, (j + 1) % 3);
        entry.d[std::size_t(1 + (j + 1) % 3)] = -at.R(i, (j + 2) % 3);
      }
    }
    const RodPush<D> found = Law::template push<D>(c, F, moved);
    by_rate.setZero();
    for (int i = 0; i < 6; ++i) {
      const D& row = i < 3 ? found.moment[i] : found.force[i - 3];
      for (int k = 0; k < 7; ++k) by_place(i, k) = row.d[std::size_t(k)];
      for (int k = 1; k < 7; ++k) by_rate(i, k) = row.d[std::size_t(6 + k)];
    }
  }

private:
  void act(const double* c, const Vec3<double>& F, const RodPlace<double>* at, RodPush<double>* out) const override {
    *out = Law::template push<double>(c, F, *at);
  }
  void act(const double* c, const Vec3<double>& F, const RodPlace<Dual<1>>* at, RodPush<Dual<1>>* out) const override {
    *out = Law::template push<Dual<1>>(c, F, *at);
  }
  void act(const double* c, const Vec3<double>& F, const RodPlace<Lanes>* at, RodPush<Lanes>* out) const override {
    *out = Law::template push<Lanes>(c, F, *at);
  }
};

template <class... Laws> const RodLaw* among(std::string_view name) {
  static const std::tuple<Compiled<Laws>...> laws;
  const RodLaw* found = nullptr;
  std::apply([&](const auto&... law) { ((found = law.name() == name ? &law : found), ...); }, laws);
  return found;
}

} // namespace

const RodLaw* find_rod_law(std::string_view name) { return among<Flow>(name); }

} // namespace gyrod
