// Counts heap allocations during steps, after the first few: there must be none.
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gyrod/integrate/methods.hpp"
#include "gyrod/rigid/system.hpp"

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

template <class F> void run(const char* formulation, std::vector<double> rotation, std::vector<double> spin) {
  const int bodies = 3;
  RigidBody body;
  body.moments = {3.0, 2.5, 1.0};
  std::vector<std::unique_ptr<ForceElement>> forces;
  for (int b = 0; b < bodies; ++b)
    forces.push_back(
        std::make_unique<SpringDamper>(b - 1, b, Vec3<double>(0.1, 0, 0), Vec3<double>(0, 0.2, 0), 50.0, 0.5, 0.7));
  RigidSystem<F> system(std::vector<RigidBody>(bodies, body), std::move(forces), {0, 0, -9.81}, {});
  std::vector<double> y;
  for (int b = 0; b < bodies; ++b) {
    y.insert(y.end(), {1.0 + b, 0.3 * b, 0.0});
    y.insert(y.end(), rotation.begin(), rotation.end());
    y.insert(y.end(), {0.0, 0.1, 0.0});
    y.insert(y.end(), spin.begin(), spin.end());
  }
  StepOptions options;
  options.rtol = 1e-7;
  options.atol.assign(system.size(), 1e-7);
  for (const char* method : {"dopri5", "dop853", "odex", "radau5", "rodas", "seulex"}) {
    auto integrator = make_integrator(method, system, options);
    std::vector<double> rows(integrator->dense_rows() * system.size());
    integrator->begin(0.0, y.data(), 2.0);
    long counted = 0, steps = 0;
    while (integrator->t() < 2.0) {
      const long before = allocations;
      if (!integrator->advance()) break;
      integrator->dense(rows.data());
      if (system.project(integrator->t(), integrator->y())) integrator->changed();
      if (++steps > 2) counted += allocations - before;
    }
    std::printf("%s %s %ld %ld\n", formulation, method, steps, counted);
  }
}

int main() {
  run<NullspaceQuaternion>("nullspace-quaternion", {1, 0, 0, 0}, {0.5, 1.0, 2.0});
  run<AbsoluteDirectors>("absolute-directors", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 2, -1, -2, 0, 0.5, 1, -0.5, 0});
}
