// Counts heap allocations during steps of the variational integrator, after the first few: there must be none.
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gyrod/time/sources.hpp"
#include "gyrod/variational/system.hpp"

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
using namespace gyrod::variational;

// A top on a fixed point; with `joined` also a double pendulum, driven slider and spring beside it.
Model model(bool joined, bool directors, bool nodes, bool conserving) {
  Model m;
  RigidBody body;
  body.moments = {0.3, 0.25, 0.2};
  m.bodies.assign(joined ? 4 : 1, body);
  m.bodies.back().pinned = true, m.bodies.back().arm = {0, 0, 0.4};
  m.sigma.assign(m.bodies.size(), 0.25);
  m.gravity = {1, 0, -9.81};
  m.directors = directors, m.nodes = nodes, m.conserving = conserving;
  if (!joined) return m;
  m.joints.resize(4);
  const auto join = [&](std::size_t j, const JointType& type, int a, int b, V3 at_a, V3 at_b) {
    m.joints[j].type = &type;
    m.joints[j].place.a = a, m.joints[j].place.b = b, m.joints[j].place.at_a = at_a, m.joints[j].place.at_b = at_b;
  };
  join(0, joints::spherical, -1, 0, {0, 0, 0}, {-0.5, 0, 0});
  join(1, joints::revolute, 0, 1, {0.5, 0, 0}, {-0.5, 0, 0});
  join(2, joints::prismatic, -1, 2, {0, 2, 0}, {0, 0, 0});
  join(3, joints::distance, 1, -1, {0.5, 0, 0}, {2, 1, 0});
  std::vector<Program> sine{Program({{Op::variable}, {Op::sin}})};
  m.joints[2].drive = Signal(std::make_shared<Formulas>(std::move(sine), std::vector<std::string>{""}, ""));
  m.joints[3].place.parameter = 1.0;
  m.links = {{0, -1, 0}, {1, 0, 1}, {2, -1, 2}, {3, -1, -1}};
  m.cuts = {3};
  m.kept = {{0}};
  m.forces.emplace_back(std::make_shared<SpringDamper>(1, 2, V3(0.1, 0, 0), V3(0, 0.2, 0), 50.0, 0.5, 0.7));
  m.forces.emplace_back(
      std::make_shared<Bushing>(0, 3, V3(0.1, 0, 0), V3(0, 0.2, 0), V3(5, 6, 7), V3(1, 0, 1), M3(M3::Identity())));
  return m;
}

// A rod of six segments, or of two elements, on the top, with everything that takes a path of its own: damping, a
// coupled section, held strains, a following load, drag, and another rod whose clamp is led.
void add_rods(Model& m, bool elements) {
  const std::size_t N = 6;
  RodDescription d;
  d.name = "rod", d.segments = int(N), d.degree = elements ? 3 : 0;
  const std::size_t bends = elements ? N : N + 1, frames = elements ? N + 1 : N;
  d.ds.assign(N, 1.0 / 6.0), d.lengths.assign(frames, 1.0 / 6.0);
  if (elements)
    for (std::size_t k = 0; k < N; ++k)
      d.ds[k] = 0.25 * (Lobatto<3>::get().node[k % 3 + 1] - Lobatto<3>::get().node[k % 3]);
  else {
    d.span.assign(N + 1, 1.0 / 6.0), d.weight = d.span;
    d.weight.front() = 1.0 / 12.0, d.weight.back() = 0.0;
  }
  d.CG.assign(N, 50.0 * M3::Identity()), d.CK.assign(bends, M3::Identity()), d.CX.assign(N, M3::Constant(0.5));
  d.cG.assign(N, V3::Constant(0.1)), d.cK.assign(bends, V3::Constant(0.01));
  d.G0.assign(N, V3(0, 0, 1)), d.K0.assign(bends, V3::Zero()), d.J.assign(frames, V3(1e-2, 1e-2, 2e-2));
  d.tributary.assign(N + 1, 1.0 / 3.0), d.mass = d.tributary, d.off.assign(N, 0.0);
  d.drag.assign(frames, V3::Constant(0.1)), d.gravity = m.gravity;
  d.damped = d.coupled = true;
  RodLoad load;
  load.follow = true;
  load.force = {{int(frames) - 1, int(N), V3::Ones()}}, load.F = Signal(std::vector<double>{0.1, 0.2, 0.0});
  d.loads = {load};
  d.ends[0].held = d.ends[0].clamped = true;
  RodDescription led = d;
  std::vector<Program> sway{Program({{Op::variable}, {Op::sin}, {Op::scale, 0.1}}), Program({{Op::number}}),
                            Program({{Op::number}})};
  led.ends[0].place = Signal(std::make_shared<Formulas>(std::move(sway), std::vector<std::string>(3), ""));
  led.held = 2, led.coupled = false;
  d.ends[0].host = int(m.bodies.size()) - 1;
  m.rods = {d, led}, m.rod_sigma.assign(2, std::vector<double>(frames, 1e-2));
}

void count(bool joined, bool directors, bool nodes, bool conserving, int rods = 0) {
  Model m = model(joined, directors, nodes, conserving);
  const std::size_t bodies = m.bodies.size();
  if (rods) add_rods(m, rods == 2);
  System system(std::move(m), 0.01);
  std::vector<double> start(13 * system.bodies(), 0.0), row(start.size());
  const double x[3][3] = {{0.5, 0, 0}, {1.5, 0, 0}, {0, 2, 0}};
  for (std::size_t b = 0; b < system.bodies(); ++b) {
    double* s = start.data() + 13 * b;
    if (b < 3 && joined) std::copy(x[b], x[b] + 3, s);
    s[3] = 1.0;
  }
  if (joined) start[13 * 2 + 9] = 1.0;
  start[13 * bodies - 1] = rods ? 0.0 : 8.0, start[13 * bodies - 2] = rods ? 0.0 : 1.0; // the spin of the top
  for (std::size_t r = 0; r < (rods ? 2 : 0); ++r)
    for (std::size_t c = 0; c < 7; ++c)
      if (const int node = system.cells(r)[c]; node >= 0)
        start[13 * std::size_t(node) + 2] = double(c) / 6.0 + (r ? 0.0 : 0.4);
  system.start(0.0, start.data());
  long steps = 0, counted = 0;
  for (int k = 1; k <= 50; ++k) {
    const long before = allocations;
    if (!system.advance(0.01 * k)) break;
    system.read(row.data());
    if (++steps > 2) counted += allocations - before;
  }
  std::printf("%d%d%d%d%d %ld %ld\n", joined, directors, nodes, conserving, rods, steps, counted);
}

int main() {
  for (bool directors : {false, true}) {
    for (bool nodes : {false, true})
      for (bool joined : {false, true}) count(joined, directors, nodes, false);
    count(false, directors, false, true);
    for (int rods : {1, 2}) count(rods == 1, directors, false, false, rods);
  }
}
