// What the outside needs of rods beyond Equations, the same for both forms.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "gyrod/integrate/equations.hpp"
#include "gyrod/math/scalar.hpp"
#include "gyrod/rigid/host.hpp"
#include "gyrod/rigid/options.hpp"
#include "gyrod/rod/contacts.hpp"
#include "gyrod/rod/links.hpp"
#include "gyrod/rod/state.hpp"

namespace gyrod {

// Energies and powers of a rod.
struct RodMeasures {
  double strain = 0.0, curvature = 0.0, translation = 0.0, rotation = 0.0, gravity = 0.0, loads = 0.0;
  double dissipation = 0.0, load_power = 0.0, end_power = 0.0;

  std::array<double, 9> listed() const {
    return {strain, curvature, translation, rotation, gravity, loads, dissipation, load_power, end_power};
  }
  RodMeasures& operator+=(const RodMeasures& b) {
    strain += b.strain, curvature += b.curvature, translation += b.translation, rotation += b.rotation;
    gravity += b.gravity, loads += b.loads;
    dissipation += b.dissipation, load_power += b.load_power, end_power += b.end_power;
    return *this;
  }
};

// The energy of a contact, the power that friction and damping take, and that of the bodies which move it.
struct ContactBudget {
  double energy = 0.0, friction = 0.0, impact = 0.0, work = 0.0;
};

// Offsets in a rod's state of segment n - 1 (p, rate) and vertex n (x, x'), -1 where there is none.
struct RodLayout {
  std::vector<int> p, w, x, v;
};

// The motion of a body that holds ends of rods; accelerations where reactions are asked for.
struct HostMotion {
  Vec3<double> x, v, omega; // space axes
  Mat3<double> R;
  Vec3<double> a = Vec3<double>::Zero(), alpha = Vec3<double>::Zero();
};

class RodEquations : public Equations {
public:
  // --- rods on bodies. `host` places what a body holds; `act` finds the forces of the state y on all rods and, unless
  // dy is null, its rates, `wrench` has those on a body (torque about its centre of mass, force; space axes); `rates`
  // is what of the rates `act` could not know yet.
  virtual const std::vector<int>& hosts() const = 0; // bodies
  // Each two of them that feel each other in stages, and whether the last Jacobian has found other ones.
  virtual std::vector<std::pair<int, int>> met() const = 0;
  virtual bool met_others() const = 0;
  virtual void host(int h, const HostMotion& m) = 0;
  virtual void mark() = 0; // the ends are where `retract` starts from
  virtual void act(double t, const double* y, double* dy) = 0;
  virtual void wrench(int h, Vec3<double>& torque, Vec3<double>& force) const = 0;
  virtual void rates(const double* y, double* dy) = 0;
  // After `factor`, which leaves the hosts out: what they feel of each other through the rods. Then `reduce` gives the
  // wrenches of a right-hand side, `expand` the solution for given motions of the hosts.
  virtual void host_blocks(std::vector<HostBlock<double>>& out) const = 0;
  virtual void host_blocks(std::vector<HostBlock<Complex>>& out) const = 0;
  virtual void tie_blocks(TieBlocks<double>& out) const = 0;
  virtual void tie_blocks(TieBlocks<Complex>& out) const = 0;
  virtual void reduce(const double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) = 0;
  virtual void reduce(const Complex* b, std::vector<HostVector<Complex>>& out, std::vector<Vec3<Complex>>& ties) = 0;
  virtual void expand(double* b, const std::vector<HostVector<double>>& in, const std::vector<Vec3<double>>& ties) = 0;
  virtual void expand(Complex* b, const std::vector<HostVector<Complex>>& in,
                      const std::vector<Vec3<Complex>>& ties) = 0;

  // Both transposed: from weights of the solution to those of what the hosts do, and from those of wrenches on.
  virtual void expand_transposed(double* b, std::vector<HostVector<double>>& out, std::vector<Vec3<double>>& ties) = 0;
  virtual void reduce_transposed(double* b, const std::vector<HostVector<double>>& in,
                                 const std::vector<Vec3<double>>& ties) = 0;

  // --- rows of `HostTies`, one set for each end on a body of a rod with held strains. Values are at hand after `act`
  // (second derivatives) or `measure_ties`; `release_ties` adds their forces, `move_ties` moves the state.
  virtual int ties() const = 0;
  virtual Tie tie(int i) const = 0;
  virtual TieLinks tie_links() const = 0;
  virtual void tie_row(int i, int row, Matrix<double, 6, 1>& g) const = 0;
  virtual double tie_value(int i, int row) const = 0;
  virtual double tie_compliance(int i, int row, int j, int column) const = 0;
  virtual double measure_ties(bool positions, double t, const double* y) = 0;
  virtual void move_ties(bool positions, const double* mu, double* y) = 0;
  virtual void release_ties(const double* mu) = 0;

  // --- contacts, see touches.hpp: sums of each, and of those that are listed, in their order, a row for each station
  virtual int contacts() const = 0;
  virtual std::size_t stations(int contact) const = 0;
  // Where the state has what stations remember, and how many numbers that are in all: they come last.
  virtual std::size_t memory() const = 0;
  static constexpr std::size_t contact_columns = 14; // point, normal, force, slip; gap, normal force
  virtual void contacts(double t, const double* y, const std::vector<int>& listed, double* rows,
                        ContactBudget* sums) = 0;

  // --- contacts of rods among themselves: all that touches, and sums by contact, in their order
  virtual int crossings() const = 0;
  virtual void crossings(double t, const double* y, std::vector<Crossings::Reading>& out, Crossings::Budget* sums) = 0;
  // `Equations::reach`, of the state that was aimed at last: bodies must be where they are in either of them.
  virtual void aim(double t, const double* to) = 0;
  virtual double reach(double t, const double* y) = 0;

  // --- links whose end slides along a rod, in their order: the fraction of the length that is there, the point, and
  // the force on it. They remember one number each, before contacts.
  virtual int slides() const = 0;
  static constexpr std::size_t slide_columns = 7;
  virtual void slide_rows(double t, const double* y, double* rows) = 0;

  virtual int rods() const = 0;
  virtual const RodDescription& rod(int r) const = 0;
  virtual std::size_t offset(int r) const = 0;
  // Other numbers for a rod; only between runs. Nothing is allocated.
  virtual void revise(int r, const RodNumbers& numbers) = 0;
  // Why members of an ensemble cannot go in lanes; null if they can.
  virtual const char* apart() const = 0;
  virtual RodLayout layout(int r) const = 0;
  // What follows is of the state that was looked at last; y stays where it is, and nothing else is asked meanwhile.
  virtual void look(double t, const double* y) = 0;
  // Configuration, strains and forces of a rod.
  virtual const RodState<double>& state(int r) = 0;
  virtual RodMeasures measures(int r) = 0;
  // Force and moment (space axes) that hold the ends: (start force, start moment, end force, end moment).
  virtual void reactions(int r, double* out) = 0;
  // Frame at vertex n, after `state`: between its segments, of the clamp, or of the only segment.
  virtual Vec4<double> vertex_frame(int r, int n) const = 0;
  virtual void multipliers(int r, double* out) = 0;
  virtual void residual(const double* y, double& position, double& velocity) const = 0;
  virtual void dense_jacobian(double t, const double* y, double* J) = 0;      // row-major, analytic
  virtual void dense_jacobian_dual(double t, const double* y, double* J) = 0; // row-major, dual numbers of rhs
  virtual Counted::Tally operations(double t, const double* y) = 0;
};

// Rods in the formulation of that name, with links between their points and contacts.
std::unique_ptr<RodEquations> make_rods(const std::string& formulation, std::vector<RodDescription> rods,
                                        const FormulationOptions& options, std::vector<RodLink> links,
                                        ContactSet contacts);

// Strain and curvature of a rod that lies at x (vertices) with the frames p, against a straight one.
struct RodShape {
  std::vector<Vec3<double>> strain, curvature;
};
RodShape measure(RodDescription description, const double* x, const double* p);

// Rods of several members of an ensemble at once, one member in each lane.
class RodLanes : public Equations {
public:
  // Other numbers for a rod of a member, from lane 0 on; `prepare` when all are set.
  virtual void revise(int r, int lane, const RodNumbers& numbers) = 0;
  virtual void prepare() = 0;
};
// All members as these rods are, which must not be `apart`.
std::unique_ptr<RodLanes> make_lanes(const RodEquations& rods);

} // namespace gyrod
