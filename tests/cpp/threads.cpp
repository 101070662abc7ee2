// Threads that share the work of a step: a net of bodies and rods, rods alone and an equilibrium give the same bits
// with one, two and four of them, and nothing is allocated in a step. tools/sanitize.py runs it under ThreadSanitizer,
// too. Prints: what, threads, bits that differ from those of one thread, allocations.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "gyrod/assembly/system.hpp"
#include "gyrod/integrate/methods.hpp"
#include "gyrod/integrate/statics.hpp"

static std::atomic<long> allocations = 0;
void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace gyrod;

constexpr int k = 5, N = 8; // bodies along a side, segments of a rod
constexpr double side = 0.2;

RodDescription rod() {
  const std::size_t segments = N, vertices = N + 1;
  const double ds = side / N, m = 0.08 * ds;
  RodDescription d;
  d.segments = N;
  d.ds.assign(segments, ds);
  d.span.assign(vertices, ds), d.weight.assign(vertices, ds);
  d.weight.front() = d.weight.back() = 0.5 * ds;
  d.CG.assign(segments, 200.0 * Mat3<double>::Identity());
  d.CK.assign(vertices, 2e-3 * Mat3<double>::Identity());
  d.CX.assign(segments, Mat3<double>(Mat3<double>::Zero()));
  d.cG.assign(segments, Vec3<double>(0.1, 0.1, 0.1)), d.cK.assign(vertices, Vec3<double>(1e-6, 1e-6, 1e-6));
  d.G0.assign(segments, Vec3<double>(0, 0, 1)), d.K0.assign(vertices, Vec3<double>::Zero());
  d.J.assign(segments, Vec3<double>(1e-8, 1e-8, 2e-8));
  d.tributary.assign(vertices, m), d.tributary.front() = d.tributary.back() = 0.5 * m;
  d.mass = d.tributary;
  d.off.assign(segments, 0.0);
  d.damped = true;
  d.law = CurvatureLaw(Curvature::angle, 0.0);
  d.gravity = {0, 0, -9.81};
  return d;
}

struct Start {
  SystemDescription description;
  std::vector<double> y;
};

// k x k bodies, neighbours joined by rods, the first body on a hinge; without bodies: the same rods, clamped at the
// start.
Start net(bool bodies) {
  Start s;
  SystemDescription& d = s.description;
  d.gravity = {0, 0, -9.81};
  struct Edge {
    int i, j;
    Vec3<double> along;
    Vec4<double> turn;
  };
  std::vector<Edge> edges;
  const double h = std::sqrt(0.5);
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j) {
      if (i + 1 < k) edges.push_back({i, j, {1, 0, 0}, {h, 0, h, 0}});
      if (j + 1 < k) edges.push_back({i, j, {0, 1, 0}, {h, -h, 0, 0}});
    }
  for (const Edge& e : edges) {
    RodDescription r = rod();
    const int next = e.along[0] > 0.0 ? k : 1;
    for (int n = 0; n < (bodies ? 2 : 1); ++n) {
      RodEnd& end = r.ends[n];
      end.held = end.clamped = true;
      if (bodies)
        end.host = e.i * k + e.j + n * next, end.turn = e.turn;
      else
        end.at.x = {side * e.i, side * e.j, 0.0}, end.at.p = e.turn;
    }
    if (!bodies) r.weight.back() = 0.0;
    r.finish();
    d.rods.push_back(r);
  }
  RigidBody body;
  body.mass = 0.05, body.moments = {1e-5, 2e-5, 3e-5};
  if (bodies) {
    d.bodies.assign(k * k, body);
    JointTree& tree = d.joints.emplace();
    for (int b = 0; b < k * k; ++b) tree.links.push_back({b, -1, b ? -1 : 0});
    tree.joints.resize(1);
    tree.joints[0].type = &joints::spherical;
    tree.joints[0].place.a = -1, tree.joints[0].place.b = 0;
  }
  System system(d);
  s.y.assign(system.size(), 0.0);
  for (int b = 0; bodies && b < k * k; ++b) {
    double* x = s.y.data() + system.rigid()->offset(b);
    x[0] = side * (b / k), x[1] = side * (b % k), x[3] = 1.0;
  }
  const auto layout = system.layout();
  for (std::size_t r = 0; r < edges.size(); ++r) {
    const Edge& e = edges[r];
    for (int p : layout[r].p)
      if (p >= 0) Part<4>::put(s.y.data() + p, e.turn);
    for (std::size_t n = 0; n < layout[r].x.size(); ++n)
      if (const int x = layout[r].x[n]; x >= 0)
        Part<3>::put(s.y.data() + x,
                     Vec3<double>(Vec3<double>(side * e.i, side * e.j, 0.0) + (side / N * double(n)) * e.along));
  }
  return s;
}

// The state after some steps, and what they allocated.
std::vector<double> stepped(const Start& s, const char* method, Threads* threads, long& allocated) {
  System system(s.description);
  Equations& e = system.equations();
  StepOptions o;
  o.atol.assign(system.size(), 1e-6), o.step = method == std::string("dopri5") ? 1e-5 : 1e-3;
  auto integrator = make_integrator(method, e, o);
  e.share(threads);
  integrator->begin(0.0, s.y.data(), 1.0);
  for (int n = 0; n < 6; ++n) {
    const long before = allocations;
    if (!integrator->advance()) std::abort();
    if (e.project(integrator->t(), integrator->y())) integrator->changed();
    if (e.trouble(integrator->t(), integrator->y())) std::abort();
    if (n > 1) allocated += allocations - before;
  }
  e.share(nullptr);
  return {integrator->y(), integrator->y() + system.size()};
}

std::vector<double> rested(const Start& s, Threads* threads) {
  System system(s.description);
  Equations& e = system.equations();
  e.quasistatic(true), e.share(threads);
  std::vector<double> scale(system.size(), 1.0), y = s.y;
  for (const RodLayout& at : system.layout())
    for (const std::vector<int>* rates : {&at.w, &at.v})
      for (int i : *rates)
        for (int n = 0; i >= 0 && n < 3; ++n) scale[std::size_t(i + n)] = 0.0;
  StaticOptions o;
  o.shift = 1.0, o.rate = 10.0, o.tolerance = 1e-10, o.iterations = 8;
  (void)StaticSolver(e, scale, o).newton(0.0, y);
  e.share(nullptr);
  return y;
}

void compare(const char* what, auto&& result) {
  std::vector<double> one;
  for (int n : {1, 2, 4}) {
    Threads threads(n);
    long allocated = 0, differ = 0;
    const std::vector<double> y = result(n > 1 ? &threads : nullptr, allocated);
    if (n == 1) one = y;
    for (std::size_t i = 0; i < y.size(); ++i) differ += std::memcmp(&y[i], &one[i], sizeof(double)) != 0;
    double moved = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) moved += y[i] * y[i];
    if (!std::isfinite(moved)) std::abort();
    std::printf("%s %d %ld %ld\n", what, n, differ, allocated);
  }
}

int main() {
  const Start together = net(true), alone = net(false);
  for (const char* method : {"rodas", "radau5", "dopri5"}) {
    compare(method, [&](Threads* t, long& allocated) { return stepped(together, method, t, allocated); });
    compare((std::string("rods-") + method).c_str(),
            [&](Threads* t, long& allocated) { return stepped(alone, method, t, allocated); });
  }
  compare("rest", [&](Threads* t, long&) { return rested(alone, t); });
  // An exception in a part comes out on the thread of the caller, that of the first part where there are several.
  Threads threads(3);
  for (int again = 0; again < 3; ++again) {
    std::atomic<int> done = 0;
    try {
      threads.run(100, [&](std::size_t part) {
        ++done;
        if (part % 7 == 5) throw std::runtime_error(std::to_string(part));
      });
    } catch (const std::runtime_error& error) {
      std::printf("thrown %s %d 0\n", error.what(), done.load() - 100);
    }
  }
}
