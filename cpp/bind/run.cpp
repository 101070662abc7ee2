// Runs of an integrator over a system of equations, and over Python functions.
#include "run.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "gyrod/integrate/callback.hpp"
#include "gyrod/integrate/methods.hpp"

using namespace gyrod;
using Clock = std::chrono::steady_clock;

std::string PyRun::status() const {
  static const char* const names[] = {"finished",       "event",         "underflow", "not-finite", "interrupted",
                                      "too-many-steps", "too-many-rows", "refused",   "failed",     "paused"};
  return names[int(run_.status)];
}
nb::dict PyRun::stats() const {
  nb::dict d;
  d["steps"] = run_.stats.steps, d["rejected"] = run_.stats.rejected, d["rhs"] = run_.stats.rhs;
  d["jacobians"] = run_.stats.jacobians, d["factorizations"] = run_.stats.factorizations;
  d["solves"] = run_.stats.solves;
  return d;
}
std::vector<std::tuple<std::size_t, double, Out1>> PyRun::crossings() const {
  std::vector<std::tuple<std::size_t, double, Out1>> out;
  for (const Crossing& c : run_.crossings) out.emplace_back(c.event, c.t, copied<Out1>(c.y, {n_}));
  return out;
}
Out2 PyRun::evaluate(Times times) const {
  Out2 out = owned<Out2>({times.shape(0), n_});
  if (run_.trajectory.t.size() < 2) throw nb::value_error("no dense output was kept");
  for (std::size_t i = 0; i < times.shape(0); ++i) run_.trajectory.evaluate(times.data()[i], out.data() + i * n_);
  return out;
}

RunOptions PyRunOptions::of(std::size_t n) const {
  RunOptions o;
  o.project = project, o.keep_dense = dense, o.keep_knots = knots, o.max_steps = max_steps;
  o.dense_bytes = dense_bytes, o.row_bytes = row_bytes;
  if (output) o.output = numbers(*output);
  for (const auto& [function, terminal, direction, action] : events) {
    EventFunction event;
    event.g = [f = function, n](double t, const double* y) {
      nb::gil_scoped_acquire lock;
      return nb::cast<double>(f(t, copied<Out1>({y, y + n}, {n})));
    };
    event.terminal = terminal, event.direction = direction;
    if (!action.is_none())
      event.action = [f = action, n](double t, double* y) {
        nb::gil_scoped_acquire lock;
        const nb::object changed = f(t, copied<Out1>({y, y + n}, {n}));
        if (changed.is_none()) return false;
        const auto next = nb::cast<Numbers>(changed);
        if (next.size() != n) throw nb::value_error("an action returned a wrong number of values");
        std::copy(next.data(), next.data() + n, y);
        return true;
      };
    o.events.push_back(std::move(event));
  }
  o.watch = limits;
  // Every few hundred steps; the progress not more often than it wants, since signals that arrive there are its own.
  o.tick = [asked = progress, apart = std::chrono::duration<double>(every), last = Clock::now()](double t,
                                                                                                 double h) mutable {
    const auto now = Clock::now();
    if (now - last < apart) return check_signals(), true;
    last = now;
    return goes_on(asked, t, h);
  };
  return o;
}

namespace {
// A run that can pause: it owns its integrator and keeps the equations alive through its owner.
class PySession {
public:
  PySession(Equations& equations, Owner& owner, const std::string& method, double t0, Times y0, double t_end,
            const StepOptions& step, const PyRunOptions& options, bool python)
      : n_(equations.size()), owner_(owner), equations_(equations), python_(python), options_(options.of(n_)),
        threads_(threads_of(options.threads)), integrator_(make_integrator(method, equations, step)),
        driver_(equations, *integrator_, options_) {
    const std::vector<double> start = numbers(y0);
    if (start.size() != n_) throw nb::value_error("wrong number of initial values");
    const Turn turn(owner_);
    const Shared shared(equations_, threads_.get());
    without_lock(python_, [&] { driver_.begin(t0, start.data(), t_end); });
  }

  PyRun advance(long steps, double pause) {
    const Turn turn(owner_);
    const Shared shared(equations_, threads_.get());
    return PyRun(without_lock(python_,
                              [&] {
                                driver_.advance(steps, pause);
                                return driver_.take();
                              }),
                 n_);
  }
  PyRun go_on(double t_end) {
    const Turn turn(owner_);
    const Shared shared(equations_, threads_.get());
    return PyRun(without_lock(python_,
                              [&] {
                                driver_.go_on(t_end);
                                driver_.advance();
                                return driver_.take();
                              }),
                 n_);
  }
  PyRun all() { return advance(std::numeric_limits<long>::max(), std::numeric_limits<double>::infinity()); }
  double t() const { return integrator_->t(); }
  double h() const { return integrator_->step_size(); }
  Out1 y() const {
    const Turn turn(owner_);
    return copied<Out1>({integrator_->y(), integrator_->y() + n_}, {n_});
  }
  nb::bytes save() {
    const Turn turn(owner_);
    Archive a;
    driver_.exchange(a);
    return nb::bytes(a.bytes().data(), a.bytes().size());
  }
  void load(const nb::bytes& state) {
    const Turn turn(owner_);
    Archive a(std::string(state.c_str(), state.size()));
    driver_.exchange(a);
  }

private:
  std::size_t n_;
  Owner& owner_;
  Equations& equations_;
  bool python_;
  RunOptions options_;
  std::unique_ptr<Threads> threads_;
  std::unique_ptr<Integrator> integrator_;
  Driver driver_;
};

PyRun integrate_functions(nb::callable rhs, std::optional<nb::callable> jacobian, const std::string& method, double t0,
                          Times y0, double t_end, const StepOptions& step, const PyRunOptions& options) {
  const std::size_t n = y0.shape(0);
  const auto wrap = [n](nb::callable f, std::size_t results) {
    return [f = std::move(f), n, results](double t, const double* y, double* out) {
      const auto r = nb::cast<Numbers>(f(t, copied<Out1>({y, y + n}, {n})));
      if (r.size() != results) throw nb::value_error("a function returned a wrong number of values");
      std::copy(r.data(), r.data() + results, out);
    };
  };
  CallbackEquations::Function J;
  if (jacobian) J = wrap(*jacobian, n * n);
  CallbackEquations equations(n, wrap(rhs, n), J);
  Owner owner;
  return PySession(equations, owner, method, t0, y0, t_end, step, options, true).all();
}
} // namespace

void bind_runs(nb::class_<System>& c) {
  c.def(
       "integrate",
       [](System& s, const std::string& method, double t0, Times y0, double t_end, const StepOptions& step,
          const PyRunOptions& options, bool python) {
         return PySession(s.equations(), s.owner, method, t0, y0, t_end, step, options, python).all();
       },
       "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a, "python"_a,
       "Integrate; python says that Python functions are called, so that the lock is kept.")
      .def(
          "start",
          [](System& s, const std::string& method, double t0, Times y0, double t_end, const StepOptions& step,
             const PyRunOptions& options, bool python) {
            return new PySession(s.equations(), s.owner, method, t0, y0, t_end, step, options, python);
          },
          "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a, "python"_a, nb::keep_alive<0, 1>(),
          nb::rv_policy::take_ownership, "The same as a Session, which can pause, be saved and go on.");
}

void bind_run(nb::module_& m) {
  nb::class_<StepOptions>(m, "StepOptions")
      .def(
          "__init__",
          [](StepOptions* o, double rtol, Times atol, std::optional<Times> scale, double first_step, double max_step,
             double step, bool classical, const std::vector<int>& roles, double theta) {
            new (o) StepOptions{rtol,
                                numbers(atol),
                                scale ? numbers(*scale) : std::vector<double>(),
                                first_step,
                                max_step,
                                step,
                                classical,
                                {roles.begin(), roles.end()},
                                theta};
          },
          nb::kw_only(), "rtol"_a, "atol"_a, "scale"_a.none(), "first_step"_a, "max_step"_a, "step"_a, "classical"_a,
          "roles"_a = nb::list(), "theta"_a = 0.5);
  nb::class_<PyRunOptions>(m, "RunOptions")
      .def(
          "__init__",
          [](PyRunOptions* o, bool project, bool dense, bool knots, std::optional<Times> output,
             std::vector<std::tuple<nb::callable, bool, int, nb::object>> events, long max_steps,
             std::size_t dense_bytes, std::size_t row_bytes, nb::object progress, double every,
             std::shared_ptr<Limits> limits, int threads) {
            new (o) PyRunOptions{project,
                                 dense,
                                 knots,
                                 output,
                                 std::move(events),
                                 max_steps,
                                 dense_bytes,
                                 row_bytes,
                                 std::move(progress),
                                 every,
                                 std::move(limits),
                                 threads};
          },
          nb::kw_only(), "project"_a, "dense"_a, "knots"_a, "output"_a.none(), "events"_a, "max_steps"_a,
          "dense_bytes"_a, "row_bytes"_a, "progress"_a.none(), "every"_a, "limits"_a.none(), "threads"_a);
  nb::class_<PyRun>(m, "Run")
      .def_prop_ro("t", &PyRun::t, nb::rv_policy::move)
      .def_prop_ro("y", &PyRun::y, nb::rv_policy::move)
      .def_prop_ro("knots_t", &PyRun::knots_t, nb::rv_policy::move, "Accepted states beside the outputs.")
      .def_prop_ro("knots_y", &PyRun::knots_y, nb::rv_policy::move)
      .def_prop_ro("step_ends", &PyRun::step_ends, nb::rv_policy::move)
      .def_prop_ro("y_stop", &PyRun::y_stop, nb::rv_policy::move)
      .def_prop_ro("t_stop", [](const PyRun& r) { return r.run().t_stop; })
      .def_prop_ro("h_stop", [](const PyRun& r) { return r.run().h_stop; })
      .def_prop_ro("status", &PyRun::status)
      .def_prop_ro("reason", [](const PyRun& r) { return r.run().reason; })
      .def_prop_ro("seconds", [](const PyRun& r) { return r.seconds(); })
      .def_prop_ro("stats", &PyRun::stats)
      .def_prop_ro("dense_given_up", [](const PyRun& r) { return r.run().dense_given_up; })
      .def_prop_ro("crossings", &PyRun::crossings, nb::rv_policy::move, "Zeros of event functions: (event, t, y).")
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
  m.def("integrate_functions", &integrate_functions, "rhs"_a, "jacobian"_a.none(), "method"_a, "t0"_a, "y0"_a,
        "t_end"_a, "step"_a, "options"_a, "Integrate any system given by Python functions.");
}
