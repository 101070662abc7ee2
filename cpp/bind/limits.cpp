// What joints and rods should not pass, for runs that end there.
#include "run.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

using namespace gyrod;

void bind_limits(nb::module_& m) {
  nb::class_<JointLimit>(m, "JointLimit", "Edges of the coordinate of a joint; infinite ones are none.")
      .def(
          "__init__",
          [](JointLimit* l, int joint, double lower, double upper, bool ends) {
            new (l) JointLimit{joint, lower, upper, ends};
          },
          nb::kw_only(), "joint"_a, "lower"_a, "upper"_a, "ends"_a);
  nb::class_<RodLimit>(m, "RodLimit", "The smallest bend radius, or with factors the largest stress, of a rod.")
      .def(
          "__init__",
          [](RodLimit* self, int rod, double allowed, const std::optional<Rows3>& factors, bool round,
             const std::array<Times, 2>& weights, const std::array<Table, 2>& compliance) {
            RodLimit l;
            l.kind = factors ? RodLimit::stress : RodLimit::bend;
            l.rod = rod, l.allowed = allowed, l.round = round;
            for (std::size_t n = 0; factors && n < factors->shape(0); ++n)
              l.factors.push_back(Part<3>::of(&(*factors)(n, 0)));
            for (std::size_t e = 0; e < 2; ++e) {
              l.weights[e] = numbers(weights[e]);
              for (std::size_t k = 0; k < 18 && compliance[e].size(); ++k)
                l.compliance[e](int(k / 6), int(k % 6)) = compliance[e].data()[k];
            }
            new (self) RodLimit(std::move(l));
          },
          nb::kw_only(), "rod"_a, "allowed"_a, "factors"_a.none(), "round"_a, "weights"_a, "compliance"_a);
  nb::class_<Limits>(m, "Limits", "All of them of a system, for `RunOptions`.")
      .def(nb::init<System&, const std::string&, std::vector<JointLimit>, std::vector<RodLimit>>(),
           nb::keep_alive<1, 2>(), "system"_a, nb::kw_only(), "formulation"_a, "joints"_a, "rods"_a)
      .def(
          "values",
          [](Limits& l, double t, const Times& y) {
            std::vector<double> q(l.quantities());
            l.values(t, y.data(), q.data());
            Out1 out = owned<Out1>({l.edges().size()});
            for (std::size_t e = 0; e < l.edges().size(); ++e)
              out.data()[e] = q[l.edges()[e].quantity] - l.edges()[e].value;
            return out;
          },
          "t"_a, "y"_a, "By how much each edge is passed: of joints lower and upper ones, then of rods.");
}
