// Runs of an integrator over a system of equations, and over Python functions.
#include "run.hpp"

#include "gyrod/integrate/callback.hpp"
#include "gyrod/integrate/methods.hpp"

using namespace gyrod;

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

std::string PyRun::status() const {
  static const char* const names[] = {"finished",       "event",   "underflow", "not-finite", "interrupted",
                                      "too-many-steps", "refused", "failed",    "paused"};
  return names[int(run_.status)];
}
nb::dict PyRun::stats() const {
  nb::dict d;
  d["steps"] = run_.stats.steps, d["rejected"] = run_.stats.rejected, d["rhs"] = run_.stats.rhs;
  d["jacobians"] = run_.stats.jacobians, d["factorizations"] = run_.stats.factorizations;
  d["solves"] = run_.stats.solves;
  return d;
}
nb::list PyRun::crossings() const {
  nb::list out;
  for (const Crossing& c : run_.crossings) out.append(nb::make_tuple(c.event, c.t, copied<Out1>(c.y, {n_})));
  return out;
}
Out2 PyRun::evaluate(Times times) const {
  Out2 out = owned<Out2>({times.shape(0), n_});
  if (run_.trajectory.t.size() < 2) throw nb::value_error("no dense output was kept");
  for (std::size_t i = 0; i < times.shape(0); ++i) run_.trajectory.evaluate(times.data()[i], out.data() + i * n_);
  return out;
}

RunOptions run_options(const nb::dict& options, std::size_t n) {
  RunOptions ro;
  ro.project = nb::cast<bool>(options["project"]);
  ro.keep_dense = nb::cast<bool>(options["dense"]);
  if (!options["output"].is_none()) ro.output = numbers(nb::cast<Times>(options["output"]));
  ro.max_steps = nb::cast<long>(options["max_steps"]);
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
  // Every few hundred steps: has the user pressed Ctrl-C? Is there a progress bar to move? False ends the run.
  ro.tick = [progress = nb::borrow(options["progress"])](double t, double h) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      return false;
    }
    return progress.is_none() || !progress(t, h).is(Py_False);
  };
  return ro;
}

namespace {
// A run that can pause: it owns its integrator and keeps the equations alive through its owner.
class PySession {
public:
  PySession(Equations& equations, const std::string& method, double t0, Times y0, double t_end, const nb::dict& step,
            const nb::dict& options, bool python)
      : n_(equations.size()), python_(python), options_(run_options(options, n_)),
        integrator_(make_integrator(method, equations, step_options(step))),
        driver_(equations, *integrator_, options_) {
    const std::vector<double> start = numbers(y0);
    if (start.size() != n_) throw nb::value_error("wrong number of initial values");
    unlocked([&] { driver_.begin(t0, start.data(), t_end); });
  }

  PyRun advance(long steps, double pause) {
    Run run;
    unlocked([&] {
      driver_.advance(steps, pause);
      run = driver_.take();
    });
    return PyRun(std::move(run), n_);
  }
  PyRun go_on(double t_end) {
    Run run;
    unlocked([&] {
      driver_.go_on(t_end);
      driver_.advance();
      run = driver_.take();
    });
    return PyRun(std::move(run), n_);
  }
  double t() const { return integrator_->t(); }
  double h() const { return integrator_->step_size(); }
  Out1 y() const { return copied<Out1>({integrator_->y(), integrator_->y() + n_}, {n_}); }
  nb::bytes save() {
    Archive a;
    driver_.exchange(a);
    return nb::bytes(a.bytes().data(), a.bytes().size());
  }
  void load(const nb::bytes& state) {
    Archive a(std::string(state.c_str(), state.size()));
    driver_.exchange(a);
  }

private:
  template <class F> void unlocked(F&& f) {
    if (python_) return f();
    nb::gil_scoped_release release;
    f();
  }
  std::size_t n_;
  bool python_;
  RunOptions options_;
  std::unique_ptr<Integrator> integrator_;
  Driver driver_;
};
} // namespace

nb::object drive(Equations& equations, const std::string& method, double t0, Times y0, double t_end,
                 const nb::dict& step, const nb::dict& options, bool python) {
  PySession session(equations, method, t0, y0, t_end, step, options, python);
  return nb::cast(session.advance(std::numeric_limits<long>::max(), std::numeric_limits<double>::infinity()));
}

nb::object start(Equations& equations, const std::string& method, double t0, Times y0, double t_end,
                 const nb::dict& step, const nb::dict& options, bool python) {
  return nb::cast(new PySession(equations, method, t0, y0, t_end, step, options, python),
                  nb::rv_policy::take_ownership);
}

void bind_run(nb::module_& m) {
  nb::class_<PyRun>(m, "Run")
      .def_prop_ro("t", &PyRun::t, nb::rv_policy::move)
      .def_prop_ro("y", &PyRun::y, nb::rv_policy::move)
      .def_prop_ro("step_ends", &PyRun::step_ends, nb::rv_policy::move)
      .def_prop_ro("y_stop", &PyRun::y_stop, nb::rv_policy::move)
      .def_prop_ro("t_stop", [](const PyRun& r) { return r.run().t_stop; })
      .def_prop_ro("h_stop", [](const PyRun& r) { return r.run().h_stop; })
      .def_prop_ro("status", &PyRun::status)
      .def_prop_ro("reason", [](const PyRun& r) { return r.run().reason; })
      .def_prop_ro("seconds", [](const PyRun& r) { return r.seconds(); })
      .def_prop_ro("stats", &PyRun::stats)
      .def_prop_ro("crossings", &PyRun::crossings)
      .def("evaluate", &PyRun::evaluate, "times"_a)
      .def("raise_failure", &PyRun::raise, "Raise again what a Python function threw during the run.");
  nb::class_<PySession>(m, "Session")
      .def("advance", &PySession::advance, "steps"_a, "pause"_a,
           "Steps to the end, at most so many, none after one that reaches pause; what has come since the last call.")
      .def("go_on", &PySession::go_on, "t_end"_a, "Go on to another end, where forces may have changed.")
      .def_prop_ro("t", &PySession::t)
      .def_prop_ro("h", &PySession::h)
      .def_prop_ro("y", &PySession::y)
      .def("save", &PySession::save, "All that the rest of the run depends on, as bytes.")
      .def("load", &PySession::load, "state"_a);
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
