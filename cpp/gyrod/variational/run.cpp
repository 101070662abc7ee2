#include "gyrod/variational/run.hpp"

namespace gyrod::variational {

Run run(System& system, const double* start, const RunOptions& o) {
  Run r;
  const double h = o.t_end / double(o.steps);
  const std::size_t width = 13 * system.rows();
  const std::size_t count = std::size_t(o.last - o.first);
  const std::size_t kept = o.wanted.empty() ? count + 1 : std::min(o.wanted.size(), count + 1);
  r.t.reserve(kept), r.rows.reserve(kept * width), r.middle_t.reserve(kept), r.middle.reserve(kept);
  r.newton.reserve(count);
  std::size_t next =
      std::size_t(std::lower_bound(o.wanted.begin(), o.wanted.end(), o.first ? o.first + 1 : 0) - o.wanted.begin());
  const auto wants = [&](long k) { return o.wanted.empty() || (next < o.wanted.size() && o.wanted[next] == k); };
  const auto keep = [&](double t) {
    ++next;
    r.t.push_back(t);
    r.rows.resize(r.rows.size() + width);
    system.read(r.rows.data() + r.rows.size() - width);
  };
  try {
    if (!o.first) {
      system.start(0.0, start);
      if (wants(0)) {
        keep(0.0);
        std::copy_n(start, width, r.rows.data()); // as given, to the last bit
      }
    }
    for (long k = o.first + 1; k <= o.last; ++k) {
      const double t = k == o.steps ? o.t_end : double(k) * h;
      if (!system.advance(t)) {
        const Newton& n = system.newton();
        r.status = !system.trouble().empty() ? Run::Status::lost
                   : n.turned                ? Run::Status::turned
                   : n.folded                ? Run::Status::folded
                                             : Run::Status::newton;
        r.history = system.newton().history, r.t_stop = system.time(), r.trouble = system.trouble();
        return r;
      }
      r.newton.push_back(std::uint16_t(system.newton().iterations));
      if (wants(k)) {
        keep(t);
        if (!system.composed()) r.middle_t.push_back(t - 0.5 * h), r.middle.push_back(system.middle_energy());
      }
      if (k % 512 == 0 && o.tick && !o.tick(t)) {
        r.status = Run::Status::interrupted, r.t_stop = t;
        return r;
      }
    }
    r.t_stop = system.time();
  } catch (const Interruption& signal) {
    r.status = Run::Status::interrupted, r.failure = signal.reason, r.t_stop = system.time();
  } catch (...) {
    r.status = Run::Status::failed, r.failure = std::current_exception(), r.t_stop = system.time();
  }
  return r;
}

} // namespace gyrod::variational
