// The variational integrator and the conserving schemes: a system of bodies with constant steps.
#include "system.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gyrod/variational/run.hpp"

using namespace gyrod;

namespace {
// An array that takes the memory of the vector: long runs need not hold it twice.
template <class Array, std::size_t D> Array handed(std::vector<double>&& from, const std::size_t (&shape)[D]) {
  auto* kept = new std::vector<double>(std::move(from));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return Array(kept->data(), D, shape, owner);
}

class PyVariational {
public:
  PyVariational(variational::Model model, double step)
      : system_(std::make_unique<variational::System>(std::move(model), step)) {}

  nb::dict run(Table start, long steps, double t_end, std::vector<long> wanted, nb::object progress, bool python,
               long first, long last) {
    check(start);
    variational::RunOptions o;
    o.steps = steps, o.t_end = t_end, o.wanted = std::move(wanted);
    o.first = first, o.last = last < 0 ? steps : std::min(last, steps);
    const double h = t_end / double(steps);
    o.tick = [&](double t) { return goes_on(progress, t, h); };
    variational::Run r = without_lock(python, [&] { return variational::run(*system_, start.data(), o); });
    static const char* const names[] = {"finished", "newton", "turned", "folded", "lost", "interrupted", "failed"};
    nb::dict d;
    d["status"] = names[int(r.status)], d["t_stop"] = r.t_stop;
    const std::size_t n = r.t.size(), steps_done = r.newton.size(), tried = r.history.size(), middles = r.middle.size();
    std::vector<double> newton(r.newton.begin(), r.newton.end());
    d["t"] = handed<Out1>(std::move(r.t), {n});
    d["rows"] = handed<Out3>(std::move(r.rows), {n, system_->rows(), 13});
    d["middle_t"] = handed<Out1>(std::move(r.middle_t), {middles});
    d["middle"] = handed<Out1>(std::move(r.middle), {middles});
    d["newton"] = handed<Out1>(std::move(newton), {steps_done});
    d["trouble"] = r.trouble;
    d["history"] = handed<Out1>(std::move(r.history), {tried});
    failure_ = r.failure;
    return d;
  }
  // Once: a Python error that has been handed back cannot be raised again.
  void raise() {
    if (const auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }
  // Residual (without multipliers) and matrix of Newton's method of a step from `start` at given increments.
  std::tuple<Out1, Out2> linearise(Table start, double t, double t_next, Times increments) {
    check(start);
    system_->start(t, start.data());
    const std::size_t n = std::size_t(system_->unknowns());
    if (increments.shape(0) != n) throw nb::value_error("wrong number of increments");
    Out1 r = owned<Out1>({n});
    Out2 K = owned<Out2>({n, n});
    system_->linearise(t_next, increments.data(), r.data(), K.data());
    return {r, K};
  }
  nb::bytes save() {
    Archive a;
    system_->exchange(a);
    return nb::bytes(a.bytes().data(), a.bytes().size());
  }
  void load(const nb::bytes& state) {
    Archive a(std::string(state.c_str(), state.size()));
    system_->exchange(a);
  }
  std::vector<int> cells(std::size_t rod) const { return system_->cells(rod); }
  std::size_t bodies() const { return system_->bodies(); }
  std::size_t unknowns() const { return std::size_t(system_->unknowns()); }

private:
  void check(const Table& start) const {
    if (start.shape(0) != system_->rows() || start.shape(1) != 13) throw nb::value_error("wrong number of values");
  }
  std::unique_ptr<variational::System> system_;
  std::exception_ptr failure_;
};
} // namespace

void bind_variational(nb::module_& m) {
  nb::class_<PyVariational>(m, "Variational")
      .def(
          "__init__",
          [](PyVariational* self, std::vector<RigidBody> bodies, std::vector<double> sigma,
             const std::vector<std::shared_ptr<ForceElement>>& forces, const Vec3<double>& gravity,
             const std::optional<JointTree>& joints, std::vector<RodDescription> rods,
             std::vector<std::vector<double>> rod_sigma, std::vector<RodLink> links, ContactSet contacts, double length,
             double step, bool directors, bool nodes, bool conserving, bool composed) {
            variational::Model m;
            if (joints) static_cast<JointTree&>(m) = *joints;
            m.bodies = std::move(bodies), m.sigma = std::move(sigma), m.gravity = gravity, m.length = length;
            for (const auto& f : forces) m.forces.emplace_back(f);
            m.rods = std::move(rods), m.rod_sigma = std::move(rod_sigma), m.points = std::move(links);
            m.contacts = std::move(contacts.with_surfaces);
            m.directors = directors, m.nodes = nodes, m.conserving = conserving, m.composed = composed;
            new (self) PyVariational(std::move(m), step);
          },
          nb::kw_only(), "bodies"_a, "sigma"_a, "forces"_a, "gravity"_a, "joints"_a.none(), "rods"_a, "rod_sigma"_a,
          "links"_a, "contacts"_a, "length"_a, "step"_a, "directors"_a, "nodes"_a, "conserving"_a, "composed"_a = false)
      .def("run", &PyVariational::run, "start"_a, "steps"_a, "t_end"_a, "wanted"_a, "progress"_a.none(), "python"_a,
           "first"_a = 0, "last"_a = -1)
      .def("save", &PyVariational::save, "All that the next steps depend on, as bytes.")
      .def("load", &PyVariational::load, "state"_a)
      .def("linearise", &PyVariational::linearise, "start"_a, "t"_a, "t_next"_a, "increments"_a)
      .def("cells", &PyVariational::cells, "rod"_a, "The row of each cell of a rod among those of the nodes, -1: held.")
      .def_prop_ro("bodies", &PyVariational::bodies, "With the cells of rods; rows behind them are places of these.")
      .def_prop_ro("unknowns", &PyVariational::unknowns)
      .def("raise_failure", &PyVariational::raise, "Raise again what a Python function threw during the run.");
}
