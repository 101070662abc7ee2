// Counts heap allocations during steps, after the first few: there must be none. Prints: what, formulation, method,
// steps, allocations.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gyrod/assembly/system.hpp"
#include "gyrod/integrate/methods.hpp"
#include "gyrod/rod/slide.hpp"
#include "gyrod/time/sources.hpp"

static long allocations = 0;
void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, std::align_val_t a) {
  ++allocations;
  if (void* p = std::aligned_alloc(std::size_t(a), (n + std::size_t(a) - 1) / std::size_t(a) * std::size_t(a)))
    return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace gyrod;

Program zero() { return Program({{Op::number}}); }
Program sine(double size = 1.0) { return Program({{Op::variable}, {Op::sin}, {Op::scale, size}}); }
Signal formulas(std::vector<Program> programs) {
  std::vector<std::string> names(programs.size());
  return Signal(std::make_shared<Formulas>(std::move(programs), std::move(names), ""));
}

// Steps of every method from y on.
void count(const char* what, const std::string& formulation, Equations& system, const std::vector<double>& y,
           double t_end) {
  StepOptions options;
  options.rtol = 1e-7;
  options.atol.assign(system.size(), 1e-7);
  for (const char* method : {"dopri5", "dop853", "odex", "radau5", "rodas", "seulex"}) {
    auto integrator = make_integrator(method, system, options);
    std::vector<double> rows(integrator->dense_rows() * system.size());
    integrator->begin(0.0, y.data(), t_end);
    long counted = 0, steps = 0;
    while (integrator->t() < t_end) {
      const long before = allocations;
      if (!integrator->advance()) break;
      integrator->dense(rows.data());
      if (system.project(integrator->t(), integrator->y())) integrator->changed();
      if (system.trouble(integrator->t(), integrator->y())) break;
      if (++steps > 2) counted += allocations - before;
    }
    std::printf("%s %s %s %ld %ld\n", what, formulation.c_str(), method, steps, counted);
  }
}

void bodies(const std::string& formulation, const std::vector<double>& rotation, const std::vector<double>& spin) {
  SystemDescription d;
  d.formulation = formulation, d.gravity = {0, 0, -9.81};
  RigidBody body;
  body.moments = {3.0, 2.5, 1.0};
  d.bodies.assign(3, body);
  std::vector<double> y;
  for (int b = 0; b < 3; ++b) {
    d.forces.push_back(
        std::make_shared<SpringDamper>(b - 1, b, Vec3<double>(0.1, 0, 0), Vec3<double>(0, 0.2, 0), 50.0, 0.5, 0.7));
    y.insert(y.end(), {1.0 + b, 0.3 * b, 0.0});
    y.insert(y.end(), rotation.begin(), rotation.end());
    y.insert(y.end(), {0.0, 0.1, 0.0});
    y.insert(y.end(), spin.begin(), spin.end());
  }
  System system(d);
  count("bodies", formulation, system.equations(), y, 2.0);
}

// A double pendulum of a ball and a hinge, closed by a distance, with a spring and a driven slider beside it.
SystemDescription mechanism(const std::string& formulation) {
  SystemDescription m;
  m.formulation = formulation;
  JointTree& tree = m.joints.emplace();
  RigidBody body;
  body.moments = {0.3, 0.25, 0.2};
  m.bodies.assign(3, body);
  tree.joints.resize(4);
  const auto join = [&](std::size_t j, const JointType& type, int a, int b, Vec3<double> at_a, Vec3<double> at_b) {
    tree.joints[j].type = &type;
    tree.joints[j].place.a = a, tree.joints[j].place.b = b, tree.joints[j].place.at_a = at_a,
    tree.joints[j].place.at_b = at_b;
  };
  join(0, joints::spherical, -1, 0, {0, 0, 0}, {-0.5, 0, 0});
  join(1, joints::revolute, 0, 1, {0.5, 0, 0}, {-0.5, 0, 0});
  join(2, joints::prismatic, -1, 2, {0, 2, 0}, {0, 0, 0});
  join(3, joints::distance, 1, -1, {0.5, 0, 0}, {2, 1, 0});
  tree.joints[2].drive = formulas({sine()});
  tree.joints[3].place.parameter = 1.0;
  tree.links = {{0, -1, 0}, {1, 0, 1}, {2, -1, 2}};
  tree.cuts = {3};
  tree.kept = {{0}};
  m.forces.push_back(
      std::make_shared<SpringDamper>(1, 2, Vec3<double>(0.1, 0, 0), Vec3<double>(0, 0.2, 0), 50.0, 0.5, 0.7));
  m.gravity = {1, 0, -9.81};
  return m;
}

void joined(const std::string& formulation, int rotation) {
  System system(mechanism(formulation));
  std::vector<double> y(system.size(), 0.0);
  const double x[3][3] = {{0.5, 0, 0}, {1.5, 0, 0}, {0, 2, 0}};
  for (int b = 0; b < 3; ++b) {
    double* s = y.data() + system.rigid()->offset(b);
    std::copy(x[b], x[b] + 3, s);
    for (int i = 0; i < rotation; i += 4) s[3 + i] = 1.0;
  }
  const double velocities[18] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  system.complete(0.0, velocities, y.data());
  count("mechanism", formulation, system.equations(), y, 0.5);
}

// A rod along z of N segments with everything that takes a path of its own: damping, coupling, blended mass, a clamp
// that moves, a following load, drag.
RodDescription rod(const char* name, Curvature curvature, Strain strain, bool coupled, bool blended) {
  const int N = 6;
  const std::size_t segments = N, vertices = N + 1;
  const double ds = 1.0 / N, m = 2.0 * ds, off = blended ? m / 12.0 : 0.0;
  RodDescription d;
  d.name = name;
  d.segments = N;
  d.ds.assign(segments, ds);
  d.span.assign(vertices, ds), d.weight.assign(vertices, ds);
  d.weight.front() = 0.5 * ds, d.weight.back() = 0.0;
  d.CG.assign(segments, 50.0 * Mat3<double>::Identity());
  d.CK.assign(vertices, Mat3<double>::Identity());
  d.CX.assign(segments, coupled ? Mat3<double>(Mat3<double>::Constant(1.0)) : Mat3<double>(Mat3<double>::Zero()));
  d.cG.assign(segments, Vec3<double>(0.1, 0.1, 0.1)), d.cK.assign(vertices, Vec3<double>(0.01, 0.01, 0.01));
  d.G0.assign(segments, Vec3<double>(0, 0, 1)), d.K0.assign(vertices, Vec3<double>::Zero());
  d.J.assign(segments, Vec3<double>(1e-2, 1e-2, 2e-2));
  d.tributary.assign(vertices, m), d.tributary.front() = d.tributary.back() = 0.5 * m;
  d.mass = d.tributary;
  for (double& x : d.mass) x -= 2.0 * off;
  d.mass.front() += off, d.mass.back() += off;
  d.off.assign(segments, off);
  d.drag.assign(segments, Vec3<double>(0.1, 0.1, 0.2)), d.spin_drag.assign(segments, Vec3<double>(0.01, 0.01, 0.01));
  d.damped = true, d.coupled = coupled, d.blended = blended;
  d.strain = strain;
  d.law = CurvatureLaw(curvature, 0.0);
  d.gravity = {1.0, 0.0, -2.0};
  d.ends[0].held = d.ends[0].clamped = true;
  d.ends[0].place = formulas({sine(0.1), zero(), zero()});
  d.ends[0].frame = formulas({zero(), Program({{Op::variable}}), zero()}); // turns about axis 2
  RodLoad load;
  load.follow = true;
  load.force = {{N - 1, N, Vec3<double>::Ones()}}, load.moment = {{N - 1, N, Vec3<double>::Ones()}};
  load.F = formulas({Program({{Op::variable}, {Op::cos}, {Op::scale, 0.2}}), zero(), zero()});
  load.M = Signal(std::vector<double>{0, 0.1, 0.1});
  d.loads = {load};
  return d;
}

// The same as two elements of degree 3; its nodes are where those of the grid were, which strains it a little.
RodDescription elements(RodDescription d) {
  const auto& table = Lobatto<3>::get();
  d.degree = 3;
  d.span.clear(), d.weight.clear();
  for (std::size_t k = 0; k < d.ds.size(); ++k) d.ds[k] = 0.25 * (table.node[k % 3 + 1] - table.node[k % 3]);
  d.lengths.assign(d.ds.size() + 1, 1.0 / 7.0);
  d.CK.pop_back(), d.cK.pop_back(), d.K0.pop_back();
  d.J.push_back(d.J.back()), d.drag.push_back(d.drag.back()), d.spin_drag.push_back(d.spin_drag.back());
  return d;
}

// Rods as straight as they were made; what else there is stands at the beginning of y.
void straighten(const System& system, std::vector<double>& y) {
  for (const RodLayout& at : system.layout()) {
    for (int p : at.p)
      if (p >= 0) y[std::size_t(p)] = 1.0;
    for (std::size_t n = 0; n < at.x.size(); ++n)
      if (at.x[n] >= 0) y[std::size_t(at.x[n]) + 2] = double(n) / double(at.x.size() - 1);
  }
}

void rods(const std::string& formulation) {
  SystemDescription d;
  d.formulation = formulation;
  d.rods = {rod("a", Curvature::half_sine, Strain::stretch, false, false),
            rod("b", Curvature::angle, Strain::cosserat, true, true),
            elements(rod("c", Curvature::angle, Strain::stretch, true, false))};
  System system(d);
  std::vector<double> y(system.size(), 0.0);
  straighten(system, y);
  count("rods", formulation, system.equations(), y, 0.5);
}

// Strains that are held.
void held() {
  SystemDescription d;
  d.rods = {rod("a", Curvature::angle, Strain::cosserat, false, false),
            elements(rod("b", Curvature::angle, Strain::cosserat, false, false))};
  for (RodDescription& r : d.rods) r.held = 2;
  System system(d);
  std::vector<double> y(system.size(), 0.0);
  straighten(system, y);
  count("held", d.formulation, system.equations(), y, 0.2);
}

// Two rods that hang on ground and carry one body, a cable between them, a spring and a bushing to the body, and a
// ring.
void coupled(const std::string& formulation) {
  SystemDescription d;
  d.formulation = formulation;
  d.rods = {rod("a", Curvature::half_sine, Strain::stretch, false, false),
            elements(rod("b", Curvature::angle, Strain::cosserat, false, false))};
  for (RodDescription& r : d.rods) {
    r.ends[1].held = r.ends[1].clamped = true;
    r.ends[1].host = 0, r.ends[1].point = {0, 0, -0.1};
    if (!r.degree) r.weight.back() = r.weight.front();
  }
  const LinkPoint on_a{0, 1, 0.3, {0.01, 0, 0}}, on_b{1, 3, 0.0, {0, 0.01, 0}},
      on_body{.offset = {0.1, 0, 0}, .body = 0};
  LinkPoint in_ring{.rod = 1};
  std::vector<double> mesh;
  for (int n = 0; n <= d.rods[1].segments; ++n) mesh.push_back(n / double(d.rods[1].segments));
  in_ring.at = 0.37, in_ring.curve = std::make_shared<const SlideCurve>(mesh, false);
  d.links = {{{on_a, on_b}, CableLaw{5.0, 0.1, 0.1, 0.02}},
             {{on_a, on_body}, SpringLaw{5.0, 0.1, 0.1}},
             {{on_b, on_body}, BushingLaw({1, 2, 3}, {0.1, 0, 0}, Mat3<double>::Identity())},
             {{LinkPoint{.offset = {0.05, 0, 0.37}}, in_ring}, SpringLaw{5.0, 0.0, 0.0}}};
  RigidBody body;
  body.moments = {0.3, 0.25, 0.2};
  d.bodies = {body};
  d.joints.emplace().links = {{0, -1, -1}};
  d.gravity = {1, 0, -2};
  System system(d);
  std::vector<double> y(system.size(), 0.0);
  y[2] = 1.1, y[3] = 1.0;
  straighten(system, y);
  y.back() = in_ring.at;
  count("coupled", d.formulation, system.equations(), y, 0.5);
}

// Two rods across each other with friction, all the time between the same cells.
void crossed(const std::string& formulation) {
  SystemDescription d;
  d.formulation = formulation;
  d.rods = {rod("a", Curvature::half_sine, Strain::stretch, false, false),
            rod("b", Curvature::half_sine, Strain::stretch, false, false)};
  RodPair pair;
  pair.rods[0] = 0, pair.rods[1] = 1;
  for (int e = 0; e < 2; ++e) {
    pair.radius[e] = 0.02, pair.length[e] = 1.0;
    for (int n = 0; n <= d.rods[0].segments; ++n) pair.mesh[e].push_back(n / double(d.rods[0].segments));
  }
  pair.law.stiffness = 1e3, pair.law.damping = 0.1, pair.law.smoothing = 1e-3;
  pair.law.friction.kind = FrictionLaw::slipping, pair.law.friction.coefficient = 0.3;
  pair.law.friction.slip_speed = 0.1;
  d.contacts.among_rods = {pair};
  for (RodDescription& r : d.rods) { // held by nobody, pressed together
    r.ends[0] = {}, r.loads.clear(), r.gravity = {&r == d.rods.data() ? 0.05 : -0.05, 0, 0};
    r.weight.front() = r.ds.front(), r.weight.back() = r.ds.back();
  }
  System system(d);
  std::vector<double> y(system.size(), 0.0);
  straighten(system, y);
  const RodLayout across = system.layout()[1];
  for (int p : across.p) y[std::size_t(p)] = y[std::size_t(p) + 1] = std::sqrt(0.5); // d3 along -y
  for (std::size_t n = 0; n < across.x.size(); ++n) {
    const std::size_t at = std::size_t(across.x[n]);
    y[at] = 0.039, y[at + 1] = 0.58 - double(n) / double(across.x.size() - 1), y[at + 2] = 0.58;
  }
  count("crossed", formulation, system.equations(), y, 0.8);
}

int main() {
  bodies("nullspace-quaternion", {1, 0, 0, 0}, {0.5, 1.0, 2.0});
  bodies("absolute-directors", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 2, -1, -2, 0, 0.5, 1, -0.5, 0});
  joined("nullspace-quaternion", 4);
  joined("absolute-directors", 9);
  rods("nullspace-quaternion");
  rods("absolute-quaternion");
  held();
  coupled("nullspace-quaternion");
  coupled("absolute-quaternion");
  crossed("nullspace-quaternion");
}
