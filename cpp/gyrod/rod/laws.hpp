// Loads on rods that follow a law of their own: force and moment on a place of a rod as it lies and moves there. A law
// is added in laws.cpp alone; its numbers come from the description in src/gyrod/model/forces.py that names it.
#pragma once

#include <string_view>

#include "gyrod/math/rotation.hpp"
#include "gyrod/math/scalar.hpp"

namespace gyrod {

struct Lanes;

// A place of a rod: position and velocity in space, the frame there and its angular velocity in its own axes.
template <class S> struct RodPlace {
  Vec3<S> x, v;
  Mat3<S> R;
  Vec3<S> Omega;
};

// Per length: the force in space axes, the moment in those of the frame.
template <class S> struct RodPush {
  Vec3<S> force = Vec3<S>::Zero(), moment = Vec3<S>::Zero();
};

class RodLaw {
public:
  using Block = Matrix<double, 6, 7>; // rows moment, force; columns e, Theta, x or w0, Omega, v, as in CellBlocks

  virtual ~RodLaw() = default;
  virtual std::string_view name() const = 0;
  virtual std::size_t numbers() const = 0;
  // c: the numbers of a load; F: its vector, which may be a function of time.
  template <class S> RodPush<S> push(const double* c, const Vec3<double>& F, const RodPlace<S>& at) const {
    RodPush<S> out;
    act(c, F, &at, &out);
    return out;
  }
  virtual void derivatives(const double* c, const Vec3<double>& F, const RodPlace<double>& at, Block& by_place,
                           Block& by_rate) const = 0;

protected:
  // In each scalar that rods are evaluated in.
  virtual void act(const double* c, const Vec3<double>& F, const RodPlace<double>* at, RodPush<double>* out) const = 0;
  virtual void act(const double* c, const Vec3<double>& F, const RodPlace<Dual<1>>* at,
                   RodPush<Dual<1>>* out) const = 0;
  virtual void act(const double* c, const Vec3<double>& F, const RodPlace<Lanes>* at, RodPush<Lanes>* out) const = 0;
};

// The law of that name; null if there is none.
const RodLaw* find_rod_law(std::string_view name);

} // namespace gyrod
