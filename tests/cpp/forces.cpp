// Derivatives of force elements that are written out, against dual numbers, for random motions and both ways in which a
// rotation varies. Prints for each: element, columns of a turn, the largest entry, the largest difference.
#include <cstdio>
#include <memory>
#include <random>

#include "gyrod/rigid/forces.hpp"

using namespace gyrod;

static std::mt19937 generator(7);
static double number() { return std::uniform_real_distribution<>(-1.0, 1.0)(generator); }
static Mat3<double> rotation() {
  const Vec4<double> p(number(), number(), number(), number());
  return matrix_from_quaternion<double>(p / p.norm());
}
static Vec3<double> vector() { return {number(), number(), number()}; }

template <class Turn> static void compare(const char* name, const ForceElement& f) {
  std::vector<BodyMotion<double>> m(3);
  for (auto& b : m) b = {vector(), vector(), vector(), rotation()};
  std::vector<BodyMotion<BodyDual>> motions(m.size());
  std::vector<Wrench<BodyDual>> wrenches(m.size());
  ForceBlocks<Turn> written, dual;
  if (!f.blocks(0.0, m.data(), written)) return;
  blocks_by_dual<Turn>(f, 0.0, m.data(), dual, motions.data(), wrenches.data());
  double largest = 0.0, gap = 0.0;
  const auto look = [&](const auto& a, const auto& b) {
    for (int i = 0; i < a.rows(); ++i)
      for (int j = 0; j < a.cols(); ++j)
        largest = std::max(largest, std::abs(b(i, j))), gap = std::max(gap, std::abs(a(i, j) - b(i, j)));
  };
  for (std::size_t i = 0; i < f.bodies().size(); ++i)
    for (std::size_t j = 0; j < f.bodies().size(); ++j) {
      const auto &a = written[i][j], &b = dual[i][j];
      look(a.place, b.place), look(a.turn, b.turn), look(a.velocity, b.velocity), look(a.spin, b.spin);
    }
  std::printf("%s %d %.3e %.3e\n", name, Turn::count, largest, gap);
}

int main() {
  for (int again = 0; again < 20; ++again)
    for (const auto [a, b] : {std::pair(0, 2), std::pair(ground, 1), std::pair(1, ground)}) {
      const auto check = [](const char* name, const ForceElement& f) {
        compare<QuaternionTurns>(name, f), compare<DirectorTurns>(name, f);
      };
      const Vec3<double> p = vector(), q = vector(), k = vector(), c = vector();
      const Mat3<double> axes = rotation();
      check("spring", SpringDamper(a, b, p, q, 3.0, 0.0, 0.7));
      check("damper", SpringDamper(a, b, p, q, 3.0, 2.0, 0.7));
      check("straight", SpringDamper(a, b, p, q, 3.0, 0.0, 0.0));
      check("straight_damper", SpringDamper(a, b, p, q, 3.0, 2.0, 0.0));
      check("cable", Cable(a, b, p, q, 3.0, 0.5, 0.1, 0.1));
      check("onset", Cable(a, b, p, q, 3.0, 0.5, 0.1, 9.0));
      check("slack", Cable(a, b, p, q, 3.0, 0.5, 9.0, 0.1));
      check("bushing", Bushing(a, b, p, q, k, c, axes));
      if (a == ground) continue;
      for (const bool turning : {false, true})
        for (const bool follows : {false, true})
          check("applied", AppliedForce(a, p, follows, turning, Signal({k[0], k[1], k[2]})));
    }
}
