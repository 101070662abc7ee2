// Many runs of one system with other initial states and other numbers: the inner loop of studies.
#include "run.hpp"

#include <nanobind/stl/vector.h>

#include <chrono>

#include "gyrod/assembly/members.hpp"

using namespace gyrod;

namespace {
using Clock = std::chrono::steady_clock;

// Arrays (members, ...) of numbers of a rod, which the caller keeps alive.
class RodArrays {
public:
  RodArrays(const nb::dict& arrays, const RodDescription& d) {
    const std::size_t N = std::size_t(d.segments), Q = std::size_t(d.frames()), bends = std::size_t(d.bends());
    take(arrays, "CG", &RodNumbers::CG, 9 * N), take(arrays, "CK", &RodNumbers::CK, 9 * bends);
    take(arrays, "CX", &RodNumbers::CX, 9 * N), take(arrays, "cG", &RodNumbers::cG, 3 * N);
    take(arrays, "cK", &RodNumbers::cK, 3 * bends), take(arrays, "G0", &RodNumbers::G0, 3 * N);
    take(arrays, "K0", &RodNumbers::K0, 3 * bends), take(arrays, "J", &RodNumbers::J, 3 * Q);
    take(arrays, "mass", &RodNumbers::mass, N + 1), take(arrays, "tributary", &RodNumbers::tributary, N + 1);
    take(arrays, "off", &RodNumbers::off, N), take(arrays, "gravity", &RodNumbers::gravity, 3);
    take(arrays, "damped", &RodNumbers::damped, 1);
  }
  bool empty() const { return parts_.empty(); }
  RodNumbers row(std::size_t m) const {
    RodNumbers out;
    for (const Part& p : parts_) {
      if (m >= p.rows) throw nb::value_error("there are not so many members");
      out.*p.field = p.data + p.size * m;
    }
    return out;
  }

private:
  using Field = const double* RodNumbers::*;
  struct Part {
    Field field;
    const double* data;
    std::size_t size, rows;
  };
  void take(const nb::dict& arrays, const char* name, Field field, std::size_t size) {
    if (!arrays.contains(name)) return;
    const auto a = nb::cast<Numbers>(arrays[name]);
    if (a.ndim() < 1 || a.size() != size * a.shape(0))
      throw nb::value_error((std::string("wrong shape of ") + name).c_str());
    parts_.push_back({field, a.data(), size, a.shape(0)});
  }
  std::vector<Part> parts_;
};

std::vector<PyRun> members(System& s, const std::string& method, double t_end, Table y0, std::optional<Table> scales,
                           const StepOptions& step, const PyRunOptions& options, const std::vector<nb::dict>& changes,
                           bool lanes, const nb::object& tick) {
  const std::size_t n = s.size(), count = y0.shape(0);
  const Turn turn(s.owner);
  if (y0.shape(1) != n) throw nb::value_error("wrong number of unknowns");
  if (scales && (scales->shape(0) != count || scales->shape(1) != n)) throw nb::value_error("wrong shape of scales");
  Members m{method, t_end, count, y0.data(), scales ? scales->data() : nullptr, step, options.of(n), {}, lanes, {}};
  m.options.tick = {}; // it is Python's, and may not be copied without the lock; that of the members takes its place
  for (const nb::dict& change : changes) {
    const RodArrays arrays(change, s.rods()->rod(int(m.rows.size())));
    std::vector<RodNumbers> list;
    for (std::size_t k = 0; k < count && !arrays.empty(); ++k) list.push_back(arrays.row(k));
    m.rows.push_back(std::move(list));
  }
  // Now and then, with Python's lock, which nothing else here needs.
  m.tick = [&, last = Clock::now()](std::size_t done) mutable {
    const auto now = Clock::now();
    if (now - last < std::chrono::milliseconds(100)) return true;
    last = now;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return tick.is_none() || !tick(done).is(Py_False);
  };
  std::vector<MemberRun> found = without_lock(false, [&] { return run_members(s.equations(), s.rods(), m); });
  if (!found.empty() && found.back().run.failure) std::rethrow_exception(found.back().run.failure);
  std::vector<PyRun> out;
  for (MemberRun& r : found) out.emplace_back(std::move(r.run), n, r.seconds);
  return out;
}
} // namespace

void bind_members(nb::class_<System>& c) {
  c.def("members", &members, "method"_a, "t_end"_a, "y0"_a, "scales"_a.none(), "step"_a, "options"_a, "changes"_a,
        "lanes"_a, "tick"_a.none(),
        "Runs of many members without Python's lock; changes are arrays (members, ...) by rod.")
      .def(
          "revise",
          [](System& s, int rod, const nb::dict& numbers, std::size_t row) {
            s.rods()->revise(rod, RodArrays(numbers, s.rods()->rod(rod)).row(row));
          },
          "rod"_a, "numbers"_a, "row"_a, "Other numbers for a rod, as `members` takes them.")
      .def(
          "time_lanes",
          [](System& s, Times y, long repeat) {
            const auto lanes = make_lanes(*s.rods());
            std::vector<double> state = widened(numbers(y)), dy(lanes->size());
            const double begin = thread_seconds();
            for (long i = 0; i < repeat; ++i) {
              lanes->rhs(0.0, state.data(), dy.data());
              state[0] += 1e-300 * dy[0]; // the next call depends on this one
            }
            return (thread_seconds() - begin) / double(repeat);
          },
          "y"_a, "repeat"_a, "CPU seconds of one right-hand side of all members in lanes.");
}
