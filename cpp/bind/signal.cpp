// Functions of time as the core takes them: signals, and the sources of their numbers.
#include "system.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "gyrod/math/rotation.hpp"
#include "gyrod/time/sources.hpp"

using namespace gyrod;

namespace {
constexpr const char* names[gyrod::operations] = {
    "number", "variable", "negate", "add", "subtract", "multiply", "divide", "scale", "power", "power_still", "copy",
    "swap",   "sin",      "cos",    "tan", "asin",     "acos",     "atan",   "sinh",  "cosh",  "tanh",        "exp",
    "log",    "log10",    "sqrt",   "abs", "sign",     "atan2",    "min",    "max",   "step",  "ramp",        "still"};

using Code = std::vector<std::tuple<std::string, double, double, int>>;
Program program(const Code& code) {
  std::vector<Instruction> made;
  for (const auto& [name, a, b, c] : code) {
    const auto* found =
        std::find_if(names, names + gyrod::operations, [&](const char* known) { return name == known; });
    if (found == names + gyrod::operations) throw nb::value_error(("no operation '" + name + "'").c_str());
    made.push_back({Op(found - names), a, b, c});
  }
  return Program(std::move(made));
}

// Numbers that a function returned as such, at most 9; what else it may return, and what is too large, is for `call`.
std::size_t read(nb::handle given, double* out) {
  constexpr double largest = 1e50; // of a model
  const auto take = [](PyObject* x, double& value) {
    if (!PyFloat_Check(x) && (!PyLong_Check(x) || PyBool_Check(x))) return false;
    value = PyFloat_AsDouble(x);
    if (PyErr_Occurred()) return PyErr_Clear(), false; // an integer beyond all doubles
    return std::abs(value) <= largest;
  };
  if (take(given.ptr(), *out)) return 1;
  if (PyTuple_Check(given.ptr()) || PyList_Check(given.ptr())) {
    const auto count = std::size_t(PySequence_Fast_GET_SIZE(given.ptr()));
    for (std::size_t i = 0; i < count; ++i)
      if (i == 9 || !take(PySequence_Fast_GET_ITEM(given.ptr(), Py_ssize_t(i)), out[i])) return 0;
    return count;
  }
  Numbers array;
  if (!nb::try_cast(given, array, false) || array.size() > 9) return 0;
  if (array.ndim() != 1 && (array.ndim() != 2 || array.shape(0) != 3 || array.shape(1) != 3)) return 0;
  std::copy_n(array.data(), array.size(), out);
  const bool fine = std::all_of(out, out + array.size(), [](double x) { return std::abs(x) <= largest; });
  return fine ? array.size() : 0;
}

// A unit quaternion, which stays as it is, or that of a matrix given row by row; the others are for the model to judge.
bool quaternion(const double* x, std::size_t count, double* out) {
  constexpr double slack = 1e-12;
  Vec4<double> p = Part<4>::of(x);
  if (count == 9) {
    const Mat3<double> R = Mat3<double>(x).transpose(), gap = R.transpose() * R - Mat3<double>::Identity();
    if (!(gap.cwiseAbs().maxCoeff() <= slack) || !(R.determinant() > 0.0)) return false;
    p = spurrier_klumpp<double>(R);
  }
  const double norm = p.norm();
  if (!(std::abs(norm - 1.0) <= slack)) return false;
  if (std::abs(norm - 1.0) > 4.0 * std::numeric_limits<double>::epsilon()) p = p / norm;
  Part<4>::put(out, p);
  return true;
}

// Calls a function that does nothing unusual.
bool plain(const nb::callable& f, double t, double* out, std::size_t count, bool unit) {
  const nb::object given = nb::steal(PyObject_CallOneArg(f.ptr(), nb::float_(t).ptr()));
  if (!given.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
    return PyErr_Clear(), false;
  }
  double x[9] = {};
  const std::size_t found = read(given, x);
  if (unit) return (found == 4 || found == 9) && quaternion(x, found, out);
  if (found == count) std::copy_n(x, count, out);
  return found == count;
}

// `checked` calls the function of the user with all checks, `bare` is that function itself.
Function::Call call(const std::optional<nb::callable>& checked, std::size_t count,
                    const std::optional<nb::callable>& bare = {}, bool unit = false) {
  if (!checked) return {};
  return [f = *checked, bare = bare, count, unit](double t, double* out) mutable {
    nb::gil_scoped_acquire lock;
    if (bare && plain(*bare, t, out, count, unit)) return;
    bare.reset(); // it returns something else, which is read with care from now on
    const auto r = nb::cast<Numbers>(f(t));
    if (r.size() != count) throw nb::value_error("a function returned a wrong number of values");
    std::copy_n(r.data(), count, out);
  };
}

// What a SignalError is in Python.
PyObject* error_type = nullptr;

// The numbers of an array, which lives as long as they are used.
std::shared_ptr<const double> shared(nb::object array) {
  const auto view = nb::cast<Times>(array);
  PyObject* owner = array.inc_ref().ptr();
  return {view.data(), [owner](const double*) {
            nb::gil_scoped_acquire lock;
            Py_DECREF(owner);
          }};
}

void bind_sources(nb::module_& m) {
  nb::class_<Source>(m, "Source", "Where the numbers of signals come from.")
      .def_static(
          "formulas",
          [](const std::vector<Code>& code, std::vector<std::string> texts, std::string label) {
            std::vector<Program> programs;
            for (const Code& c : code) programs.push_back(program(c));
            return std::shared_ptr<Source>(
                std::make_shared<Formulas>(std::move(programs), std::move(texts), std::move(label)));
          },
          "code"_a, "names"_a, "label"_a, "A stack program for each number: (operation, a, b, c).")
      .def_static(
          "slots",
          [](nb::object array) {
            const std::size_t size = nb::cast<Times>(array).shape(0);
            return std::shared_ptr<Source>(std::make_shared<Slots>(shared(std::move(array)), size));
          },
          "numbers"_a, nb::sig("def slots(numbers: numpy.typing.NDArray[numpy.float64]) -> Source"),
          "Numbers of an array, which may be set between steps.")
      .def_static(
          "cubics",
          [](nb::object array) {
            const std::size_t size = (nb::cast<Times>(array).shape(0) - 1) / 4;
            return std::shared_ptr<Source>(std::make_shared<Cubics>(shared(std::move(array)), size));
          },
          "numbers"_a, nb::sig("def cubics(numbers: numpy.typing.NDArray[numpy.float64]) -> Source"),
          "Cubics of an array, which may be set between steps: a time, and coefficients of powers of the time since.")
      .def_static(
          "stairs",
          [](const Times& times, const Times& rows) {
            return std::shared_ptr<Source>(std::make_shared<Stairs>(numbers(times), numbers(rows)));
          },
          "times"_a, "rows"_a, "Numbers that are constant between times.")
      .def_static(
          "samples",
          [](const Times& breaks, const Times& coefficients, std::size_t size, bool unit, const std::string& outside,
             std::string label) {
            const auto beyond = outside == "held"       ? Samples::Outside::held
                                : outside == "periodic" ? Samples::Outside::periodic
                                                        : Samples::Outside::refused;
            return std::shared_ptr<Source>(std::make_shared<Samples>(numbers(breaks), numbers(coefficients), size, unit,
                                                                     beyond, std::move(label)));
          },
          "breaks"_a, "coefficients"_a, "size"_a, "unit"_a, "outside"_a, "label"_a,
          "Piecewise polynomials; coefficients of pieces, numbers and powers, the highest first.")
      .def_static(
          "function",
          [](std::size_t size, nb::callable value, const std::optional<nb::callable>& bare,
             const std::optional<nb::callable>& rate, const std::optional<nb::callable>& second, int points,
             double step, bool unit) {
            return std::shared_ptr<Source>(std::make_shared<Function>(size, call(value, size, bare, unit),
                                                                      call(rate, size), call(second, size),
                                                                      Function::Differences{points, step, unit}));
          },
          "size"_a, "value"_a, "bare"_a.none(), "rate"_a.none(), "second"_a.none(),
          "points"_a = Function::Differences().points, "step"_a = Function::Differences().step, "unit"_a = false,
          "A Python function; derivatives that are not given come from so many points around a time.");
}
} // namespace

void bind_signal(nb::module_& m) {
  bind_sources(m);
  nb::class_<Signal>(m, "Signal", "Numbers over time.")
      .def_static(
          "constant", [](const Times& values) { return Signal(numbers(values)); }, "values"_a)
      .def_static(
          "of",
          [](std::shared_ptr<Source> source, const std::optional<Times>& map) {
            return Signal(std::move(source), map ? numbers(*map) : std::vector<double>());
          },
          "source"_a, "map"_a.none(), "What a source gives, times a matrix, row by row.")
      .def(
          "bound",
          [](Signal& s, const std::string& least, std::string field, std::string label) {
            if (least != "not_negative" && least != "positive") throw nb::value_error("no such bound");
            s.bound(least == "positive" ? Signal::Least::positive : Signal::Least::not_negative, std::move(field),
                    std::move(label));
          },
          "least"_a, "field"_a, "label"_a)
      .def_prop_ro("size", &Signal::size)
      .def_prop_ro("timed", &Signal::timed)
      .def_prop_ro("foreign", &Signal::foreign, "Whether it calls Python.")
      .def("forget", &Signal::forget, "Ask a function again for times that it was asked for.")
      .def(
          "values",
          [](const Signal& s, double t) {
            Out1 out = owned<Out1>({s.size()});
            s.values(t, out.data());
            return out;
          },
          "t"_a)
      .def(
          "jets",
          [](const Signal& s, double t) {
            std::vector<Jet> z(s.size());
            s.jets(t, z.data());
            Out2 out = owned<Out2>({s.size(), 3});
            for (std::size_t i = 0; i < z.size(); ++i) out(i, 0) = z[i].x, out(i, 1) = z[i].v, out(i, 2) = z[i].a;
            return out;
          },
          "t"_a, "Values with their first two derivatives, (size, 3).");
  m.def(
      "raise_signal_errors_as",
      [](nb::object type) {
        Py_XDECREF(error_type);
        error_type = type.inc_ref().ptr();
      },
      "type"_a, "Class of the errors of signals in Python.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const SignalError& e) {
      PyErr_SetString(error_type ? error_type : PyExc_RuntimeError, e.what());
    }
  });
}
