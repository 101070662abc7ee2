#include "gyrod/assembly/system.hpp"

#include "gyrod/linear/dense.hpp"

namespace gyrod {

namespace {
// Free bodies that act on each other: a forest of links, whose stages are blocks of six unknowns.
bool together(const SystemDescription& d) {
  if (!d.formulation.starts_with("nullspace-") || d.options.spatial) return false;
  for (const RigidBody& b : d.bodies)
    if (b.pinned) return false;
  for (const auto& f : d.forces)
    if (f->bodies().size() > 1) return true;
  return false;
}
JointTree unjoined(std::size_t bodies) {
  JointTree tree;
  for (std::size_t b = 0; b < bodies; ++b) tree.links.push_back({int(b), -1, -1});
  return tree;
}
} // namespace

System::System(SystemDescription d) : count_(d.bodies.size()), linked_(!d.links.empty() || !d.contacts.empty()) {
  if (!d.rods.empty() || !d.contacts.empty())
    rods_ = make_rods(d.formulation, std::move(d.rods), d.options, std::move(d.links), std::move(d.contacts));
  if (rods_ && !rods_->hosts().empty()) coupled_ = std::make_unique<Coupled>(*rods_);
  if (count_ && !d.joints && (coupled_ || together(d))) d.joints = unjoined(count_);
  if (count_ && d.joints) {
    MechanismModel model{std::move(*d.joints), std::move(d.bodies), {}, std::move(d.forces), d.gravity, d.options};
    if (coupled_) coupled_->prepare(model);
    auto made = make_mechanism(d.formulation, std::move(model));
    mechanism_ = made.get();
    rigid_ = std::move(made);
  } else if (count_)
    rigid_ = make_rigid(d.formulation, std::move(d.bodies), std::move(d.forces), d.gravity, d.options);
  if (rigid_) rods_at_ = rigid_->size();
  if (coupled_) {
    coupled_->carry(mechanism());
    all_.add(coupled_.get());
    return;
  }
  if (rigid_) all_.add(rigid_.get());
  if (rods_) all_.add(rods_.get());
}

MechanismEquations& System::mechanism() const {
  if (!mechanism_) throw std::invalid_argument("this system has no mechanism");
  return *mechanism_;
}

const char* System::apart() const { return rods_ && !rigid_ ? rods_->apart() : "lanes are for rods alone"; }

void System::dense_jacobian(double t, const double* y, double* J, bool dual) {
  if (coupled_ || linked_) return jacobian_by_solutions(all_, t, y, J);
  const std::size_t n = size();
  std::fill(J, J + n * n, 0.0);
  const auto put = [&](std::size_t at, std::size_t m, auto&& fill) {
    std::vector<double> part(m * m);
    fill(part.data());
    for (std::size_t i = 0; i < m; ++i) std::copy_n(part.data() + i * m, m, J + (at + i) * n + at);
  };
  if (rigid_) put(0, rigid_->size(), [&](double* P) { rigid_->dense_jacobian(t, y, P); });
  if (rods_)
    put(rods_at_, rods_->size(), [&](double* P) {
      dual ? rods_->dense_jacobian_dual(t, y + rods_at_, P) : rods_->dense_jacobian(t, y + rods_at_, P);
    });
}

Counted::Tally System::operations(const double* y, bool alone) {
  Counted::Tally sum;
  if (rigid_) sum += rigid_->operations(y, alone);
  if (rods_) sum += rods_->operations(0.0, y + rods_at_);
  return sum;
}

std::vector<RodLayout> System::layout() const {
  std::vector<RodLayout> out;
  for (int r = 0; rods_ && r < rods_->rods(); ++r) {
    out.push_back(rods_->layout(r));
    const int at = int(rods_at_ + rods_->offset(r));
    for (std::vector<int>* where : {&out.back().p, &out.back().w, &out.back().x, &out.back().v})
      for (int& i : *where) i = i < 0 ? -1 : at + i;
  }
  return out;
}

void System::complete(double t, const double* velocities, double* y) {
  bind(y);
  mechanism().complete(t, velocities, y);
}

void System::place(double t, double* y, bool project) {
  if (project) all_.project(t, y);
  if (coupled_) coupled_->place(t, y);
}

void System::motions(double t, const double* y, BodyMotion<double>* out) {
  bind(y);
  if (rigid_) rigid_->motion(t, y, out);
}

void System::accelerations(double t, const double* y, double* out) {
  bind(y);
  mechanism().accelerations(t, y, out);
}

void System::reactions(double t, const double* y, double* out) {
  bind(y);
  mechanism().reactions(t, y, out);
}

System::Residual System::residual(double t, const double* y) {
  bind(y);
  Residual bodies, rods;
  if (rigid_) rigid_->residual(t, y, bodies.position, bodies.velocity);
  if (coupled_) coupled_->host(t, y);
  if (rods_) rods_->residual(y + rods_at_, rods.position, rods.velocity);
  return {std::max(bodies.position, rods.position), std::max(bodies.velocity, rods.velocity)};
}

double System::potential(double t, const double* y) {
  bind(y);
  return rigid_ ? rigid_->potential(t, y) : 0.0;
}

RodMeasures System::rod_measures(double t, const double* y) const {
  RodMeasures sum;
  if (rods_) rods_->look(t, y + rods_at_);
  for (int r = 0; rods_ && r < rods_->rods(); ++r) sum += rods_->measures(r);
  return sum;
}

} // namespace gyrod
