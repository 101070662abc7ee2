// Many runs of one system with other initial states and other numbers: the inner loop of studies.
#include "run.hpp"

#include <chrono>
#include <ctime>

#include "gyrod/integrate/methods.hpp"
#include "gyrod/rod/lanes.hpp"

using namespace gyrod;

namespace {
using Clock = std::chrono::steady_clock;
constexpr std::size_t width = std::size_t(Lanes::width);

// CPU seconds of this thread.
double seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
#else
  return double(std::clock()) / CLOCKS_PER_SEC;
#endif
}

// Now and then, from inside of runs: may they go on? With Python's lock, which nothing else here needs.
class Watch {
public:
  explicit Watch(const nb::object& tick) : tick_(tick) {}
  bool operator()() {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return true;
    last_ = now;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return tick_.is_none() || !tick_(done).is(Py_False);
  }
  std::size_t done = 0;

private:
  const nb::object& tick_;
  Clock::time_point last_ = Clock::now();
};

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
    const auto a = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(arrays[name]);
    if (a.ndim() < 1 || a.size() != size * a.shape(0))
      throw nb::value_error((std::string("wrong shape of ") + name).c_str());
    parts_.push_back({field, a.data(), size, a.shape(0)});
  }
  std::vector<Part> parts_;
};

// Of a run in lanes that of one member.
Run lane_of(const Run& all, std::size_t lane, std::size_t n) {
  Run one;
  const auto pick = [&](const std::vector<double>& from) {
    std::vector<double> to(from.size() / width);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i * width + lane];
    return to;
  };
  one.t = all.t, one.y = pick(all.y), one.step_ends = all.step_ends, one.y_stop = pick(all.y_stop);
  one.trajectory.t = all.trajectory.t, one.trajectory.rows = pick(all.trajectory.rows), one.trajectory.n = n;
  one.trajectory.rows_per_step = all.trajectory.rows_per_step, one.trajectory.evaluator = all.trajectory.evaluator;
  one.stats = all.stats, one.status = all.status, one.t_stop = all.t_stop, one.h_stop = all.h_stop;
  return one;
}

std::vector<double> repeated(const std::vector<double>& x) {
  std::vector<double> out(width * x.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i / width];
  return out;
}
} // namespace

RodNumbers rod_numbers(const nb::dict& arrays, const RodDescription& d, std::size_t row) {
  return RodArrays(arrays, d).row(row);
}

double time_rod_lanes(const RodEquations& rods, Times y, long repeat) {
  RodLanes lanes(rods);
  std::vector<double> state = repeated(numbers(y)), dy(lanes.size());
  Equations& e = lanes;
  const double begin = seconds();
  for (long i = 0; i < repeat; ++i) {
    e.rhs(0.0, state.data(), dy.data());
    state[0] += 1e-300 * dy[0]; // the next call depends on this one
  }
  return (seconds() - begin) / double(repeat);
}

nb::list drive_members(Equations& equations, RodEquations* rods, const std::string& method, double t_end, Table y0,
                       const nb::object& scales, const nb::dict& step, const nb::dict& options, const nb::list& changes,
                       bool lanes, const nb::object& tick) {
  const std::size_t members = y0.shape(0), n = equations.size();
  if (y0.shape(1) != n) throw nb::value_error("wrong number of unknowns");
  if (lanes && (!rods || rods->size() != n || rods->apart())) throw nb::value_error("these members cannot go in lanes");
  StepOptions steps = step_options(step);
  RunOptions ro = run_options(options, n);
  const double* scale = nullptr;
  if (!scales.is_none()) {
    const auto table = nb::cast<Table>(scales);
    if (table.shape(0) != members || table.shape(1) != n) throw nb::value_error("wrong shape of scales");
    scale = table.data();
  }
  std::vector<std::vector<RodNumbers>> rows; // rod, member
  for (nb::handle h : changes) {
    const RodArrays arrays(nb::cast<nb::dict>(h), rods->rod(int(rows.size())));
    std::vector<RodNumbers> list;
    for (std::size_t m = 0; m < members && !arrays.empty(); ++m) list.push_back(arrays.row(m));
    rows.push_back(std::move(list));
  }
  Watch watch(tick);
  ro.tick = [&](double, double) { return watch(); };

  std::vector<std::pair<Run, double>> found;
  const auto alone = [&](std::size_t m) {
    const double begin = seconds();
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (!rows[r].empty()) rods->revise(int(r), rows[r][m]);
    if (scale) steps.scale.assign(scale + m * n, scale + (m + 1) * n);
    const auto integrator = make_integrator(method, equations, steps);
    Driver driver(equations, *integrator, ro);
    Run run = driver.run(0.0, y0.data() + m * n, t_end);
    return std::make_pair(std::move(run), seconds() - begin);
  };
  const auto together = [&](RodLanes& wide, std::size_t m) { // members m to m + 3; beyond the last, the last again
    const double begin = seconds();
    const std::size_t count = std::min(width, members - m);
    std::vector<double> start(width * n);
    StepOptions options_wide = steps;
    options_wide.atol = repeated(steps.atol), options_wide.scale.clear();
    if (scale) options_wide.scale.resize(width * n);
    for (std::size_t l = 0; l < width; ++l) {
      const std::size_t who = m + std::min(l, count - 1);
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (!rows[r].empty()) wide.revise(int(r), int(l), rows[r][who]);
      for (std::size_t i = 0; i < n; ++i) start[i * width + l] = y0.data()[who * n + i];
      for (std::size_t i = 0; scale && i < n; ++i) options_wide.scale[i * width + l] = scale[who * n + i];
    }
    wide.prepare();
    const auto integrator = make_integrator(method, wide, options_wide);
    Driver driver(wide, *integrator, ro);
    const Run run = driver.run(0.0, start.data(), t_end);
    const double each = (seconds() - begin) / double(count);
    if (run.status == Status::interrupted || run.status == Status::failed) {
      for (std::size_t l = 0; l < count; ++l) found.emplace_back(run, each); // ends the loop
      return;
    }
    for (std::size_t l = 0; l < count; ++l) // where one of them fails each goes by itself
      found.push_back(run.status == Status::finished ? std::make_pair(lane_of(run, l, n), each) : alone(m + l));
  };

  std::exception_ptr stopped;
  {
    nb::gil_scoped_release release;
    std::unique_ptr<RodLanes> wide;
    if (lanes) wide = std::make_unique<RodLanes>(*rods);
    for (std::size_t m = 0; m < members && !stopped; m = found.size()) {
      watch.done = m;
      if (lanes)
        together(*wide, m);
      else
        found.push_back(alone(m));
      // What a watcher throws ends them all; runs without Python have nothing else to throw.
      if (found.back().first.failure) stopped = found.back().first.failure;
      if (found.back().first.status == Status::interrupted) break;
    }
  }
  if (stopped) std::rethrow_exception(stopped);
  nb::list out;
  for (auto& [run, time] : found) out.append(nb::cast(PyRun(std::move(run), n, time)));
  return out;
}
