// What the binding files of systems of equations share.
#pragma once

#include "bind.hpp"

#include "matrix.hpp"

#include <memory>
#include <string>

#include "gyrod/mechanism/model.hpp"
#include "gyrod/rigid/equations.hpp"
#include "gyrod/rigid/options.hpp"
#include "gyrod/rod/equations.hpp"

using Table = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

inline std::vector<double> numbers(const Times& a) { return {a.data(), a.data() + a.shape(0)}; }
template <class T> T item(const nb::tuple& t, std::size_t i) { return nb::cast<T>(t[i]); }

inline gyrod::FormulationOptions formulation_options(const nb::dict& d) {
  gyrod::FormulationOptions o;
  const auto get = [&]<class T>(const char* key, T& value) {
    if (d.contains(key)) value = nb::cast<T>(d[key]);
  };
  get("spatial", o.spatial), get("printed", o.printed), get("polar", o.polar);
  get("fictive_moment", o.fictive_moment);
  get("baumgarte_omega", o.baumgarte_omega), get("baumgarte_r", o.baumgarte_r);
  return o;
}

std::unique_ptr<gyrod::RigidEquations> make_rigid(const std::string& formulation, const nb::list& bodies,
                                                  const nb::list& forces, gyrod::Vec3<double> gravity,
                                                  const nb::dict& options);
std::unique_ptr<gyrod::ForceElement> make_force(const nb::tuple& f);
gyrod::RigidBody make_body(const nb::tuple& t);
std::unique_ptr<gyrod::MechanismEquations> make_mechanism(const std::string& formulation, const nb::list& bodies,
                                                          const nb::list& forces, gyrod::Vec3<double> gravity,
                                                          const nb::dict& mechanism, const nb::dict& options,
                                                          const std::function<void(gyrod::MechanismModel&)>& prepare);
std::unique_ptr<gyrod::RodEquations> make_rods(const std::string& formulation, const nb::list& rods,
                                               const nb::dict& options);

// A run that can pause, be saved and go on; its owner must keep the equations alive.
nb::object start(gyrod::Equations& equations, const std::string& method, double t0, Times y0, double t_end,
                 const nb::dict& step, const nb::dict& options, bool python);
// Integrate and hand over the run; python says that Python functions are called, so that the lock is kept.
nb::object drive(gyrod::Equations& equations, const std::string& method, double t0, Times y0, double t_end,
                 const nb::dict& step, const nb::dict& options, bool python);

// A row of arrays (members, ...) as numbers of a rod.
gyrod::RodNumbers rod_numbers(const nb::dict& arrays, const gyrod::RodDescription& d, std::size_t row);
// CPU seconds of one right-hand side of four members in lanes.
double time_rod_lanes(const gyrod::RodEquations& rods, Times y, long repeat);

// Many runs one after the other without Python's lock: of systems that differ in their initial states (rows of y0), in
// the scales of their error norm and in numbers of their rods. With lanes, four at a time.
nb::list drive_members(gyrod::Equations& equations, gyrod::RodEquations* rods, const std::string& method, double t_end,
                       Table y0, const nb::object& scales, const nb::dict& step, const nb::dict& options,
                       const nb::list& changes, bool lanes, const nb::object& tick);
