#include "bind.hpp"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/vector.h>

#include <ctime>
#include <memory>

#include "gyrod/integrate/callback.hpp"
#include "gyrod/integrate/driver.hpp"
#include "gyrod/integrate/methods.hpp"
#include "gyrod/rigid/system.hpp"

namespace {
using namespace gyrod;
using V3 = Vec3<double>;

std::vector<double> numbers(const Times& a) { return {a.data(), a.data() + a.shape(0)}; }

// --- forces from plain tuples; the Python side has checked everything ---------------------------------------------

// A Python function of time, state, ... as a C++ one; called with the interpreter's lock.
UserForce::Function python_state_function(nb::callable f, int results) {
  return [f = std::move(f), results](double t, const double* state, double* out) {
    nb::gil_scoped_acquire lock;
    Out1 s = owned<Out1>({std::size_t(UserForce::inputs)});
    std::copy(state, state + UserForce::inputs, s.data());
    const auto r = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(f(t, s));
    if (r.size() != std::size_t(results)) throw nb::value_error("a force returned a wrong number of values");
    std::copy(r.data(), r.data() + results, out);
  };
}

UserForce::Function c_function(std::uintptr_t address, std::uintptr_t context) {
  const auto f = reinterpret_cast<gyrod_force>(address);
  void* const c = reinterpret_cast<void*>(context);
  return [f, c](double t, const double* state, double* out) { f(t, state, out, c); };
}

template <class T> T item(const nb::tuple& t, std::size_t i) { return nb::cast<T>(t[i]); }

std::unique_ptr<ForceElement> make_force(const nb::tuple& f) {
  const auto kind = item<std::string>(f, 0);
  if (kind == "applied") { // body, at, body frame, torque, constant, function or None
    AppliedForce::Function function;
    if (!f[6].is_none()) {
      function = [g = item<nb::callable>(f, 6)](double t) {
        nb::gil_scoped_acquire lock;
        return nb::cast<V3>(g(t));
      };
    }
    return std::make_unique<AppliedForce>(item<int>(f, 1), item<V3>(f, 2), item<bool>(f, 3), item<bool>(f, 4),
                                          item<V3>(f, 5), std::move(function));
  }
  if (kind == "spring")
    return std::make_unique<SpringDamper>(item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4),
                                          item<double>(f, 5), item<double>(f, 6), item<double>(f, 7));
  if (kind == "bushing")
    return std::make_unique<Bushing>(item<int>(f, 1), item<int>(f, 2), item<V3>(f, 3), item<V3>(f, 4), item<V3>(f, 5),
                                     item<V3>(f, 6), item<Mat3<double>>(f, 7));
  if (kind == "user") // body, principal axes, function, derivative or None
    return std::make_unique<UserForce>(
        item<int>(f, 1), item<Mat3<double>>(f, 2), python_state_function(item<nb::callable>(f, 3), UserForce::outputs),
        f[4].is_none() ? UserForce::Function()
                       : python_state_function(item<nb::callable>(f, 4), UserForce::outputs * UserForce::inputs));
  if (kind == "c") // body, principal axes, address, context, address of the derivative or 0
    return std::make_unique<UserForce>(
        item<int>(f, 1), item<Mat3<double>>(f, 2), c_function(item<std::uintptr_t>(f, 3), item<std::uintptr_t>(f, 4)),
        item<std::uintptr_t>(f, 5) ? c_function(item<std::uintptr_t>(f, 5), item<std::uintptr_t>(f, 4))
                                   : UserForce::Function());
  throw nb::value_error(("no force " + kind).c_str());
}

// --- the system ---------------------------------------------------------------------------------------------------

FormulationOptions formulation_options(const nb::dict& d) {
  FormulationOptions o;
  const auto get = [&]<class T>(const char* key, T& value) {
    if (d.contains(key)) value = nb::cast<T>(d[key]);
  };
  get("spatial", o.spatial), get("printed", o.printed), get("polar", o.polar);
  get("fictive_moment", o.fictive_moment);
  get("baumgarte_omega", o.baumgarte_omega), get("baumgarte_r", o.baumgarte_r);
  return o;
}

std::unique_ptr<RigidEquations> make_system(const std::string& formulation, std::vector<RigidBody> bodies,
                                            std::vector<std::unique_ptr<ForceElement>> forces, V3 gravity,
                                            FormulationOptions o) {
  const auto make = [&]<class F>(F) -> std::unique_ptr<RigidEquations> {
    return std::make_unique<RigidSystem<F>>(std::move(bodies), std::move(forces), gravity, o);
  };
  if (formulation == "nullspace-quaternion") return make(NullspaceQuaternion{});
  if (formulation == "nullspace-directors") return make(NullspaceDirectors{});
  if (formulation == "absolute-quaternion") return make(AbsoluteQuaternion{});
  if (formulation == "absolute-directors") return make(AbsoluteDirectors{});
  if (formulation == "euler") return make(EulerAngles{});
  throw nb::value_error(("no formulation " + formulation).c_str());
}

class PyRigidSystem {
public:
  // bodies: mass, moments (3), pinned, point (3), arm (3)
  PyRigidSystem(const std::string& formulation, const nb::list& bodies, const nb::list& forces, V3 gravity,
                const nb::dict& options) {
    std::vector<RigidBody> list;
    for (nb::handle h : bodies) {
      const auto t = nb::cast<nb::tuple>(h);
      RigidBody b;
      b.mass = item<double>(t, 0), b.moments = item<V3>(t, 1), b.pinned = item<bool>(t, 2);
      b.point = item<V3>(t, 3), b.arm = item<V3>(t, 4);
      list.push_back(b);
    }
    std::vector<std::unique_ptr<ForceElement>> elements;
    for (nb::handle h : forces) elements.push_back(make_force(nb::cast<nb::tuple>(h)));
    count_ = list.size();
    system_ = make_system(formulation, std::move(list), std::move(elements), gravity, formulation_options(options));
  }

  RigidEquations& equations() { return *system_; }
  std::size_t size() const { return system_->size(); }
  std::size_t count() const { return count_; }

  Out1 rhs(double t, Times y) {
    check(y);
    Out1 dy = owned<Out1>({size()});
    system_->rhs(t, y.data(), dy.data());
    return dy;
  }
  Out2 jacobian(double t, Times y) {
    check(y);
    Out2 J = owned<Out2>({size(), size()});
    system_->dense_jacobian(t, y.data(), J.data());
    return J;
  }
  Out1 time_derivative(double t, Times y) {
    check(y);
    Out1 ft = owned<Out1>({size()});
    system_->time_derivative(t, y.data(), ft.data());
    return ft;
  }
  Out1 solve_shifted(double t, Times y, double shift, Times b) {
    check(y), check(b);
    Out1 x = copied<Out1>(numbers(b), {size()});
    system_->jacobian(t, y.data());
    if (!system_->factor(shift)) throw nb::value_error("singular");
    system_->solve(x.data());
    return x;
  }
  Out1 project(Times y) {
    check(y);
    Out1 out = copied<Out1>(numbers(y), {size()});
    system_->project(0.0, out.data());
    return out;
  }
  // Row by row: position 3, R row-major 9, velocity 3, Omega 3 of each body; (rows, bodies, 18).
  Out3 motions(nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig> y, bool project) {
    const std::size_t n = y.shape(0);
    if (y.shape(1) != size()) throw nb::value_error("wrong number of unknowns");
    Out3 out = owned<Out3>({n, count_, 18});
    std::vector<BodyMotion<double>> m(count_);
    std::vector<double> state(size());
    double* o = out.data();
    for (std::size_t i = 0; i < n; ++i) {
      std::copy(y.data() + i * size(), y.data() + (i + 1) * size(), state.begin());
      if (project) system_->project(0.0, state.data());
      system_->motion(state.data(), m.data());
      for (const auto& b : m)
        for (int k = 0; k < 18; ++k)
          *o++ = k < 3 ? b.x[k] : k < 12 ? b.R((k - 3) / 3, (k - 3) % 3) : k < 15 ? b.v[k - 12] : b.Omega[k - 15];
    }
    return out;
  }
  // Constraint residuals of position and velocity, and potential energy, for each row.
  Out2 measures(Times t, nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig> y) {
    Out2 out = owned<Out2>({y.shape(0), 3});
    for (std::size_t i = 0; i < y.shape(0); ++i) {
      const double* row = y.data() + i * size();
      system_->residual(row, out(i, 0), out(i, 1));
      out(i, 2) = system_->potential(t.data()[i], row);
    }
    return out;
  }
  // Multipliers of the internal constraints, (rows, bodies, 0, 1 or 6).
  Out3 multipliers(Times t, nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig> y) {
    const std::size_t each = std::size_t(system_->multiplier_count());
    Out3 out = owned<Out3>({y.shape(0), count_, each});
    for (std::size_t i = 0; i < y.shape(0) && each; ++i)
      system_->multipliers(t.data()[i], y.data() + i * size(), out.data() + i * count_ * each);
    return out;
  }
  nb::dict operations(Times y) {
    check(y);
    const Counted::Tally c = system_->operations(y.data());
    nb::dict d;
    d["+"] = c.add, d["-"] = c.subtract, d["*"] = c.multiply, d["/"] = c.divide, d["square"] = c.square;
    d["sqrt"] = c.root, d["sin"] = c.sine, d["cos"] = c.cosine;
    return d;
  }
  std::size_t offset(int body) const { return system_->offset(body); }
  // CPU seconds of one right-hand side in a compiled loop, as an integrator calls it.
  double time_rhs(Times y, long repeat) {
    check(y);
    std::vector<double> state = numbers(y), dy(size());
    Equations& e = *system_;
    const std::clock_t begin = std::clock();
    for (long i = 0; i < repeat; ++i) {
      e.rhs(0.0, state.data(), dy.data());
      state[0] += 1e-300 * dy[0]; // the next call depends on this one
    }
    return double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeat);
  }

private:
  void check(const Times& y) const {
    if (y.shape(0) != size()) throw nb::value_error("wrong number of unknowns");
  }
  std::unique_ptr<RigidEquations> system_;
  std::size_t count_ = 0;
};

// --- runs -----------------------------------------------------------------------------------------------------------

StepOptions step_options(const nb::dict& d) {
  StepOptions o;
  o.rtol = nb::cast<double>(d["rtol"]);
  o.atol = numbers(nb::cast<Times>(d["atol"]));
  if (!d["scale"].is_none()) o.scale = numbers(nb::cast<Times>(d["scale"]));
  o.first_step = nb::cast<double>(d["first_step"]);
  o.max_step = nb::cast<double>(d["max_step"]);
  o.step = nb::cast<double>(d["step"]);
  return o;
}

class PyRun {
public:
  explicit PyRun(Run run, std::size_t n) : run_(std::move(run)), n_(n) {}
  Out1 t() const { return copied<Out1>(run_.t, {run_.t.size()}); }
  Out2 y() const { return copied<Out2>(run_.y, {run_.t.size(), n_}); }
  Out1 step_ends() const { return copied<Out1>(run_.step_ends, {run_.step_ends.size()}); }
  Out1 y_stop() const { return copied<Out1>(run_.y_stop, {n_}); }
  std::string status() const {
    static const char* const names[] = {"finished",    "event",          "underflow", "not-finite",
                                        "interrupted", "too-many-steps", "refused",   "failed"};
    return names[int(run_.status)];
  }
  nb::dict stats() const {
    nb::dict d;
    d["steps"] = run_.stats.steps, d["rejected"] = run_.stats.rejected, d["rhs"] = run_.stats.rhs;
    d["jacobians"] = run_.stats.jacobians, d["factorizations"] = run_.stats.factorizations;
    d["solves"] = run_.stats.solves;
    return d;
  }
  nb::list crossings() const {
    nb::list out;
    for (const Crossing& c : run_.crossings) out.append(nb::make_tuple(c.event, c.t, copied<Out1>(c.y, {n_})));
    return out;
  }
  Out2 evaluate(Times times) const {
    Out2 out = owned<Out2>({times.shape(0), n_});
    if (run_.trajectory.t.size() < 2) throw nb::value_error("no dense output was kept");
    for (std::size_t i = 0; i < times.shape(0); ++i) run_.trajectory.evaluate(times.data()[i], out.data() + i * n_);
    return out;
  }
  void raise() const {
    if (run_.failure) std::rethrow_exception(run_.failure);
  }
  const Run& run() const { return run_; }

private:
  Run run_;
  std::size_t n_;
};

PyRun drive(Equations& equations, const std::string& method, double t0, Times y0, double t_end, const nb::dict& step,
            const nb::dict& options, bool python) {
  const StepOptions so = step_options(step);
  RunOptions ro;
  ro.project = nb::cast<bool>(options["project"]);
  ro.keep_dense = nb::cast<bool>(options["dense"]);
  if (!options["output"].is_none()) ro.output = numbers(nb::cast<Times>(options["output"]));
  ro.max_steps = nb::cast<long>(options["max_steps"]);
  const std::size_t n = equations.size();
  for (nb::handle h : nb::cast<nb::list>(options["events"])) { // function(t, y) -> float, terminal, direction
    const auto e = nb::cast<nb::tuple>(h);
    EventFunction event;
    event.g = [f = item<nb::callable>(e, 0), n](double t, const double* y) {
      nb::gil_scoped_acquire lock;
      return nb::cast<double>(f(t, copied<Out1>({y, y + n}, {n})));
    };
    event.terminal = item<bool>(e, 1), event.direction = item<int>(e, 2);
    ro.events.push_back(std::move(event));
  }
  // Every few hundred steps: has the user pressed Ctrl-C? Is there a progress bar to move?
  nb::object progress = nb::borrow(options["progress"]);
  ro.tick = [&](double t, double h) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      return false;
    }
    if (!progress.is_none()) progress(t, h);
    return true;
  };
  const std::vector<double> start = numbers(y0);
  if (start.size() != n) throw nb::value_error("wrong number of initial values");
  auto integrator = make_integrator(method, equations, so);
  Driver driver(equations, *integrator, ro);
  if (python) return PyRun(driver.run(t0, start.data(), t_end), n);
  Run run;
  {
    nb::gil_scoped_release release;
    run = driver.run(t0, start.data(), t_end);
  }
  return PyRun(std::move(run), n);
}
} // namespace

void bind_rigid(nb::module_& m) {
  nb::class_<PyRigidSystem>(m, "RigidSystem")
      .def(nb::init<const std::string&, const nb::list&, const nb::list&, V3, const nb::dict&>(), "formulation"_a,
           "bodies"_a, "forces"_a, "gravity"_a, "options"_a)
      .def_prop_ro("size", &PyRigidSystem::size)
      .def_prop_ro("count", &PyRigidSystem::count)
      .def("time_rhs", &PyRigidSystem::time_rhs, "y"_a, "repeat"_a)
      .def("offset", &PyRigidSystem::offset, "body"_a)
      .def("rhs", &PyRigidSystem::rhs, "t"_a, "y"_a)
      .def("jacobian", &PyRigidSystem::jacobian, "t"_a, "y"_a)
      .def("time_derivative", &PyRigidSystem::time_derivative, "t"_a, "y"_a)
      .def("solve_shifted", &PyRigidSystem::solve_shifted, "t"_a, "y"_a, "shift"_a, "b"_a)
      .def("project", &PyRigidSystem::project, "y"_a)
      .def("motions", &PyRigidSystem::motions, "y"_a, "project"_a)
      .def("measures", &PyRigidSystem::measures, "t"_a, "y"_a)
      .def("multipliers", &PyRigidSystem::multipliers, "t"_a, "y"_a)
      .def("operations", &PyRigidSystem::operations, "y"_a)
      .def(
          "integrate",
          [](PyRigidSystem& s, const std::string& method, double t0, Times y0, double t_end, const nb::dict& step,
             const nb::dict& options,
             bool python) { return drive(s.equations(), method, t0, y0, t_end, step, options, python); },
          "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a, "python"_a,
          "Integrate; python says that Python functions are called, so that the lock is kept.");
  nb::class_<PyRun>(m, "Run")
      .def_prop_ro("t", &PyRun::t, nb::rv_policy::move)
      .def_prop_ro("y", &PyRun::y, nb::rv_policy::move)
      .def_prop_ro("step_ends", &PyRun::step_ends, nb::rv_policy::move)
      .def_prop_ro("y_stop", &PyRun::y_stop, nb::rv_policy::move)
      .def_prop_ro("t_stop", [](const PyRun& r) { return r.run().t_stop; })
      .def_prop_ro("h_stop", [](const PyRun& r) { return r.run().h_stop; })
      .def_prop_ro("status", &PyRun::status)
      .def_prop_ro("reason", [](const PyRun& r) { return r.run().reason; })
      .def_prop_ro("stats", &PyRun::stats)
      .def_prop_ro("crossings", &PyRun::crossings)
      .def("evaluate", &PyRun::evaluate, "times"_a)
      .def("raise_failure", &PyRun::raise, "Raise again what a Python function threw during the run.");
  m.def(
      "integrate_functions",
      [](nb::callable rhs, nb::object jacobian, const std::string& method, double t0, Times y0, double t_end,
         const nb::dict& step, const nb::dict& options) {
        const std::size_t n = y0.shape(0);
        const auto wrap = [n](nb::callable f, std::size_t results) {
          return [f = std::move(f), n, results](double t, const double* y, double* out) {
            const auto r =
                nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(f(t, copied<Out1>({y, y + n}, {n})));
            if (r.size() != results) throw nb::value_error("a function returned a wrong number of values");
            std::copy(r.data(), r.data() + results, out);
          };
        };
        CallbackEquations::Function J;
        if (!jacobian.is_none()) J = wrap(nb::cast<nb::callable>(jacobian), n * n);
        CallbackEquations equations(n, wrap(rhs, n), J);
        return drive(equations, method, t0, y0, t_end, step, options, true);
      },
      "rhs"_a, "jacobian"_a.none(), "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a,
      "Integrate any system given by Python functions.");
}
