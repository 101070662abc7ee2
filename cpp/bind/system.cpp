// Bodies, forces and rods in one formulation, as one system of equations.
#include "system.hpp"

#include <array>
#include <ctime>

#include "gyrod/integrate/composite.hpp"
#include "gyrod/assembly/coupled.hpp"
#include "gyrod/linear/dense.hpp"
#include "gyrod/integrate/statics.hpp"

using namespace gyrod;

namespace {
using V3 = Vec3<double>;

class PySystem {
public:
  PySystem(const std::string& formulation, const nb::list& bodies, const nb::list& forces, V3 gravity,
           const nb::list& rods, const nb::object& mechanism, const nb::dict& options)
      : count_(nb::len(bodies)) {
    if (nb::len(rods)) rods_ = make_rods(formulation, rods, options);
    if (rods_ && !rods_->hosts().empty()) coupled_ = std::make_unique<Coupled>(*rods_);
    if (count_) {
      if (mechanism.is_none())
        rigid_ = make_rigid(formulation, bodies, forces, gravity, options);
      else {
        std::function<void(MechanismModel&)> prepare;
        if (coupled_) prepare = [&](MechanismModel& m) { coupled_->prepare(m); };
        auto made =
            make_mechanism(formulation, bodies, forces, gravity, nb::cast<nb::dict>(mechanism), options, prepare);
        mechanism_ = made.get();
        rigid_ = std::move(made);
      }
      rods_at_ = rigid_->size();
    }
    if (coupled_) {
      coupled_->carry(joined());
      all_.add(coupled_.get());
      return;
    }
    if (rigid_) all_.add(rigid_.get());
    if (rods_) all_.add(rods_.get());
  }

  Equations& equations() { return all_; }
  RodEquations* rods() { return rods_.get(); }
  bool only_rods() const { return rods_ && !rigid_; }
  // Other numbers for a rod, as `members` takes them.
  void revise(int rod, const nb::dict& numbers, std::size_t row);
  nb::object apart() const {
    const char* reason = only_rods() ? rods_->apart() : "lanes are for rods alone";
    return reason ? nb::object(nb::str(reason)) : nb::none();
  }
  std::size_t size() const { return all_.size(); }
  std::size_t count() const { return count_; }

  Out1 rhs(double t, Times y) {
    check(y);
    Out1 dy = owned<Out1>({size()});
    all_.rhs(t, y.data(), dy.data());
    return dy;
  }
  Out2 jacobian(double t, Times y) {
    check(y);
    Out2 J = owned<Out2>({size(), size()});
    assemble(t, y.data(), J.data(), false);
    return J;
  }
  Out2 jacobian_dual(double t, Times y) {
    check(y);
    Out2 J = owned<Out2>({size(), size()});
    assemble(t, y.data(), J.data(), true);
    return J;
  }
  Out1 time_derivative(double t, Times y) {
    check(y);
    Out1 ft = owned<Out1>({size()});
    all_.time_derivative(t, y.data(), ft.data());
    return ft;
  }
  Out1 solve_shifted(double t, Times y, double shift, Times b) {
    check(y), check(b);
    Out1 x = copied<Out1>(numbers(b), {size()});
    all_.jacobian(t, y.data());
    if (!all_.factor(shift)) throw nb::value_error("singular");
    all_.solve(x.data());
    return x;
  }
  Out1 project(Times y, double t) {
    check(y);
    Out1 out = copied<Out1>(numbers(y), {size()});
    all_.project(t, out.data());
    return out;
  }
  // Row by row: position 3, R row-major 9, velocity 3, Omega 3 of each body; (rows, bodies, 18).
  Out3 motions(Times t, Table y, bool project) {
    const std::size_t n = y.shape(0);
    if (y.shape(1) != size()) throw nb::value_error("wrong number of unknowns");
    Out3 out = owned<Out3>({n, count_, 18});
    std::vector<BodyMotion<double>> m(count_);
    std::vector<double> state(size());
    double* o = out.data();
    for (std::size_t i = 0; i < n; ++i) {
      std::copy(y.data() + i * size(), y.data() + (i + 1) * size(), state.begin());
      if (project) all_.project(t.data()[i], state.data());
      bind(state.data());
      if (rigid_) rigid_->motion(t.data()[i], state.data(), m.data());
      for (const auto& b : m)
        for (int k = 0; k < 18; ++k)
          *o++ = k < 3 ? b.x[k] : k < 12 ? b.R((k - 3) / 3, (k - 3) % 3) : k < 15 ? b.v[k - 12] : b.Omega[k - 15];
    }
    return out;
  }
  // Constraint residuals of position and velocity, and potential energy, for each row.
  Out2 measures(Times t, Table y) {
    Out2 out = owned<Out2>({y.shape(0), 3});
    for (std::size_t i = 0; i < y.shape(0); ++i) {
      const double* row = y.data() + i * size();
      double position = 0.0, velocity = 0.0, potential = 0.0, p = 0.0, v = 0.0;
      bind(row);
      if (rigid_) {
        rigid_->residual(t.data()[i], row, position, velocity);
        potential = rigid_->potential(t.data()[i], row);
      }
      if (rods_) rods_->residual(row + rods_at_, p, v);
      out(i, 0) = std::max(position, p), out(i, 1) = std::max(velocity, v), out(i, 2) = potential;
    }
    return out;
  }
  // Multipliers of the internal constraints, (rows, bodies, 0, 1 or 6).
  Out3 multipliers(Times t, Table y) {
    const std::size_t each = rigid_ ? std::size_t(rigid_->multiplier_count()) : 0;
    Out3 out = owned<Out3>({y.shape(0), count_, each});
    for (std::size_t i = 0; i < y.shape(0) && each; ++i)
      rigid_->multipliers(t.data()[i], y.data() + i * size(), out.data() + i * count_ * each);
    return out;
  }
  // Of a mechanism, row by row: accelerations (rows, bodies, 6), joint forces (rows, joints, 6).
  Out3 accelerations(Times t, Table y) {
    return rows_of(t, y, count_, [&](double at, const double* row, double* o) {
      bind(row);
      joined().accelerations(at, row, o);
    });
  }
  Out3 reactions(Times t, Table y, std::size_t joints) {
    return rows_of(t, y, joints, [&](double at, const double* row, double* o) {
      bind(row);
      joined().reactions(at, row, o);
    });
  }
  Out2 nullspace(double t, Times y) {
    check(y);
    Out2 T = owned<Out2>({6 * count_, std::size_t(joined().tree_freedoms())});
    joined().nullspace(t, y.data(), T.data());
    return T;
  }
  Out1 complete(double t, Table velocities, Times y) {
    check(y);
    Out1 out = copied<Out1>(numbers(y), {size()});
    joined().complete(t, velocities.data(), out.data());
    return out;
  }
  // All rows of all joints at a configuration (bodies, 18: see `motions`): joint, g, dg/dt at rest, g'' without
  // accelerations, gradients by the twists (v, omega in space axes) of a and b; (rows, 16).
  Out2 joint_rows(double t, Table motions) {
    const MechanismModel& m = joined().model();
    std::size_t rows = 0, at = 0;
    for (const Joint& j : m.joints) rows += std::size_t(j.size());
    Out2 out = owned<Out2>({rows, 16});
    const auto side = [&](int body, V3& omega) {
      omega.setZero();
      if (body < 0) return ground_side<double>();
      const double* s = motions.data() + 18 * body;
      Mat3<double> R;
      for (int k = 0; k < 9; ++k) R(k / 3, k % 3) = s[3 + k];
      omega = R * V3(s[15], s[16], s[17]);
      return side_of<double>(V3(s[0], s[1], s[2]), R, V3(s[12], s[13], s[14]), omega);
    };
    for (std::size_t j = 0; j < m.joints.size(); ++j) {
      const Joint& joint = m.joints[j];
      V3 wa, wb;
      const Side<double> a = side(joint.place.a, wa), b = side(joint.place.b, wb);
      const JointGeometry<double> q = geometry<double>(joint.place, a, b);
      const Driven u = joint.value(t);
      for (int i = 0; i < joint.size(); ++i) {
        const Row<double> r = evaluate_row<double>(joint.row(i), joint.place, q, u);
        double* o = out.data() + 16 * at++;
        o[0] = double(j), o[1] = r.g, o[2] = r.rate_in_time;
        o[3] = r.second + centripetal<double>(r.a, a, wa) + centripetal<double>(r.b, b, wb);
        const auto ga = twist_gradient<double>(r.a, a.R), gb = twist_gradient<double>(r.b, b.R);
        for (int k = 0; k < 6; ++k) o[4 + k] = ga[k], o[10 + k] = gb[k];
      }
    }
    return out;
  }
  Out2 loop_gradient(double t, Times y, bool all) {
    check(y);
    Out2 G = owned<Out2>({std::size_t(joined().loop_rows(all)), std::size_t(joined().tree_freedoms())});
    joined().loop_gradient(t, y.data(), all, G.data());
    return G;
  }
  nb::dict operations(Times y) {
    check(y);
    Counted::Tally c;
    if (rigid_) c = rigid_->operations(y.data());
    if (rods_) c = rods_->operations(0.0, y.data() + rods_at_);
    nb::dict d;
    d["+"] = c.add, d["-"] = c.subtract, d["*"] = c.multiply, d["/"] = c.divide, d["square"] = c.square;
    d["sqrt"] = c.root, d["sin"] = c.sine, d["cos"] = c.cosine, d["atan2"] = c.arctangent;
    return d;
  }
  std::size_t offset(int body) const { return rigid_->offset(body); }
  // Where things are in the state: for each rod (p, its rate) of frames and (x, x') of vertices, -1 for held ones.
  nb::list layout() const {
    nb::list out;
    for (int r = 0; rods_ && r < rods_->rods(); ++r) {
      const RodLayout l = rods_->layout(r);
      const long at = long(rods_at_ + rods_->offset(r));
      const auto shifted = [&](const std::vector<int>& where) {
        nb::list list;
        for (int i : where) list.append(i < 0 ? -1 : at + i);
        return list;
      };
      out.append(nb::make_tuple(shifted(l.p), shifted(l.w), shifted(l.x), shifted(l.v)));
    }
    return out;
  }
  nb::dict rod_states(int rod, Times t, Table y, bool project);
  // Sums over the rods of `RodMeasures`, row by row.
  Out2 rod_measures(Times t, Table y, bool project) {
    if (y.shape(1) != size()) throw nb::value_error("wrong number of unknowns");
    const std::size_t rows = y.shape(0);
    Out2 sums = owned<Out2>({rows, 9});
    std::vector<double> state(size());
    for (std::size_t k = 0; k < rows; ++k) {
      double* sum = sums.data() + 9 * k;
      std::fill_n(sum, 9, 0.0);
      place(t.data()[k], y.data() + k * size(), project, state);
      for (int r = 0; rods_ && r < rods_->rods(); ++r) {
        const auto m = listed(rods_->measures(r, t.data()[k], state.data() + rods_at_));
        for (std::size_t i = 0; i < 9; ++i) sum[i] += m[i];
      }
    }
    return sums;
  }
  double time_lanes(Times y, long repeat);
  // CPU seconds of one right-hand side in a compiled loop, as an integrator calls it.
  double time_rhs(Times y, long repeat) {
    check(y);
    std::vector<double> state = numbers(y), dy(size());
    Equations& e = all_;
    const std::clock_t begin = std::clock();
    for (long i = 0; i < repeat; ++i) {
      e.rhs(0.0, state.data(), dy.data());
      state[0] += 1e-300 * dy[0]; // the next call depends on this one
    }
    return double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeat);
  }
  // The same for the Jacobian, a real factorisation and a solution.
  nb::tuple time_stage(Times y, long repeat) {
    check(y);
    const std::vector<double> state = numbers(y);
    std::vector<double> b(size(), 1.0);
    Equations& e = all_;
    const auto clock = [&](auto&& f) {
      const std::clock_t begin = std::clock();
      for (long i = 0; i < repeat; ++i) f();
      return double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeat);
    };
    const double jacobian = clock([&] { e.jacobian(0.0, state.data()); });
    const double factor = clock([&] { (void)e.factor(300.0); });
    const double solve = clock([&] {
      std::fill(b.begin(), b.end(), 1.0);
      e.solve(b.data());
    });
    return nb::make_tuple(jacobian, factor, solve);
  }

  // --- statics and linearisation: a factored matrix is kept between calls

  void quasistatic(bool on) { all_.quasistatic(on); }
  bool linearise(double t, Times y, double shift) {
    check(y);
    all_.jacobian(t, y.data());
    return all_.factor(shift);
  }
  Out1 solve(Times b) {
    check(b);
    Out1 x = copied<Out1>(numbers(b), {size()});
    all_.solve(x.data());
    return x;
  }
  int negative_pivots() const { return all_.negative_pivots(); }
  nb::object trouble(double t, Times y) {
    check(y);
    const char* reason = all_.trouble(t, y.data());
    return reason ? nb::object(nb::str(reason)) : nb::none();
  }
  // An equilibrium from y: status, y, history (size of the step over the scales, damping, shift) of Newton's steps.
  nb::tuple equilibrium(double t, Times y, Times scale, double shift, double rate, double tolerance, int iterations,
                        int relaxations) {
    check(y), check(scale);
    StaticOptions o;
    o.shift = shift, o.rate = rate, o.tolerance = tolerance, o.iterations = iterations, o.relaxations = relaxations;
    StaticSolver solver(all_, numbers(scale), o);
    std::vector<double> state = numbers(y);
    const StaticStatus s = relaxations ? solver.relax(t, state) : solver.newton(t, state);
    Out2 history = owned<Out2>({solver.history.size(), 3});
    for (std::size_t i = 0; i < solver.history.size(); ++i) {
      const StaticStep& k = solver.history[i];
      history(i, 0) = k.size, history(i, 1) = k.damping, history(i, 2) = k.shift;
    }
    static constexpr const char* names[] = {"converged", "failed", "singular", "not finite"};
    return nb::make_tuple(names[int(s)], copied<Out1>(state, {size()}), history);
  }

private:
  static std::array<double, 9> listed(const RodMeasures& m) {
    return {m.strain, m.curvature,   m.translation, m.rotation, m.gravity,
            m.loads,  m.dissipation, m.load_power,  m.end_power};
  }
  void place(double t, const double* y, bool project, std::vector<double>& state) {
    std::copy_n(y, size(), state.begin());
    if (project) all_.project(t, state.data());
    if (coupled_) coupled_->place(t, state.data());
  }
  void bind(const double* y) {
    if (coupled_) coupled_->bind(y);
  }
  template <class F> Out3 rows_of(const Times& t, const Table& y, std::size_t things, F&& fill) {
    if (y.shape(1) != size()) throw nb::value_error("wrong number of unknowns");
    Out3 out = owned<Out3>({y.shape(0), things, 6});
    for (std::size_t i = 0; i < y.shape(0); ++i) fill(t.data()[i], y.data() + i * size(), out.data() + i * things * 6);
    return out;
  }
  void check(const Times& y) const {
    if (y.shape(0) != size()) throw nb::value_error("wrong number of unknowns");
  }
  void assemble(double t, const double* y, double* J, bool dual) {
    const std::size_t n = size();
    if (coupled_) return jacobian_by_solutions(all_, t, y, J);
    std::fill(J, J + n * n, 0.0);
    const auto place = [&](std::size_t at, std::size_t m, auto&& fill) {
      std::vector<double> part(m * m);
      fill(part.data());
      for (std::size_t i = 0; i < m; ++i) std::copy_n(part.data() + i * m, m, J + (at + i) * n + at);
    };
    if (rigid_) place(0, rigid_->size(), [&](double* P) { rigid_->dense_jacobian(t, y, P); });
    if (rods_)
      place(rods_at_, rods_->size(), [&](double* P) {
        dual ? rods_->dense_jacobian_dual(t, y + rods_at_, P) : rods_->dense_jacobian(t, y + rods_at_, P);
      });
  }

  MechanismEquations& joined() const {
    if (!mechanism_) throw nb::value_error("this system has no mechanism");
    return *mechanism_;
  }

  std::unique_ptr<RigidEquations> rigid_;
  MechanismEquations* mechanism_ = nullptr; // the same, where bodies are joined
  std::unique_ptr<RodEquations> rods_;
  std::unique_ptr<Coupled> coupled_; // rods that bodies hold
  Composite all_;
  std::size_t rods_at_ = 0, count_ = 0;
};

// Everything about a rod, row by row; arrays are (rows, vertices or frames or places of strain or curvature,
// components).
nb::dict PySystem::rod_states(int rod, Times t, Table y, bool project) {
  const RodDescription& d = rods_->rod(rod);
  const std::size_t rows = y.shape(0), N = std::size_t(d.segments), Q = std::size_t(d.frames());
  const std::size_t bends = std::size_t(d.bends());
  if (y.shape(1) != size()) throw nb::value_error("wrong number of unknowns");
  Out3 x = owned<Out3>({rows, N + 1, 3}), v = owned<Out3>({rows, N + 1, 3}), p = owned<Out3>({rows, Q, 4});
  Out3 Omega = owned<Out3>({rows, Q, 3}), E = owned<Out3>({rows, N, 3}), F = owned<Out3>({rows, N, 3});
  Out3 K = owned<Out3>({rows, bends, 3}), M = owned<Out3>({rows, bends, 3}), f = owned<Out3>({rows, N + 1, 4});
  Out2 hold = owned<Out2>({rows, 12}), lambda = owned<Out2>({rows, Q}), measures = owned<Out2>({rows, 9});
  std::vector<double> state(size());
  const auto put = [](double* to, const auto& from) {
    for (int i = 0; i < from.size(); ++i) to[i] = from[i];
  };
  for (std::size_t k = 0; k < rows; ++k) {
    const double time = t.data()[k];
    place(time, y.data() + k * size(), project, state);
    const double* mine = state.data() + rods_at_;
    const auto list = listed(rods_->measures(rod, time, mine));
    std::copy_n(list.data(), 9, measures.data() + 9 * k);
    rods_->reactions(rod, time, mine, hold.data() + 12 * k);
    rods_->multipliers(rod, time, mine, lambda.data() + Q * k);
    const RodState<double>& s = rods_->state(rod, time, mine);
    for (std::size_t n = 0; n <= N; ++n) {
      const std::size_t at = 3 * (k * (N + 1) + n);
      put(x.data() + at, s.x[n]), put(v.data() + at, s.v[n]);
      put(f.data() + 4 * (k * (N + 1) + n), rods_->vertex_frame(rod, int(n)));
    }
    for (std::size_t n = 0; n < bends; ++n) {
      const std::size_t at = 3 * (k * bends + n);
      const bool bent = d.degree || d.weight[n] > 0.0;
      put(K.data() + at, bent ? V3(s.K[n] + d.K0[n]) : d.K0[n]), put(M.data() + at, bent ? s.M[n] : V3(V3::Zero()));
    }
    for (std::size_t j = 0; j < Q; ++j)
      put(p.data() + 4 * (k * Q + j), s.p[j]), put(Omega.data() + 3 * (k * Q + j), V3(s.w[j].tail<3>()));
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t at = 3 * (k * N + j);
      put(E.data() + at, V3(s.E[j] + d.G0[j] - V3(0, 0, 1))), put(F.data() + at, s.F[j]);
    }
  }
  nb::dict out;
  out["positions"] = x, out["velocities"] = v, out["quaternions"] = p, out["Omega"] = Omega, out["strain"] = E;
  out["force"] = F, out["curvature"] = K, out["moment"] = M, out["reactions"] = hold, out["multipliers"] = lambda;
  out["measures"] = measures, out["vertex_quaternions"] = f;
  return out;
}
void PySystem::revise(int rod, const nb::dict& numbers, std::size_t row) {
  rods_->revise(rod, rod_numbers(numbers, rods_->rod(rod), row));
}
double PySystem::time_lanes(Times y, long repeat) {
  check(y);
  return time_rod_lanes(*rods_, y, repeat);
}
} // namespace

void bind_system(nb::module_& m) {
  nb::class_<PySystem>(m, "System")
      .def(nb::init<const std::string&, const nb::list&, const nb::list&, V3, const nb::list&, const nb::object&,
                    const nb::dict&>(),
           "formulation"_a, "bodies"_a, "forces"_a, "gravity"_a, "rods"_a, "mechanism"_a.none(), "options"_a)
      .def("accelerations", &PySystem::accelerations, "t"_a, "y"_a)
      .def("reactions", &PySystem::reactions, "t"_a, "y"_a, "joints"_a)
      .def("complete", &PySystem::complete, "t"_a, "velocities"_a, "y"_a)
      .def("joint_rows", &PySystem::joint_rows, "t"_a, "motions"_a)
      .def("nullspace", &PySystem::nullspace, "t"_a, "y"_a)
      .def("loop_gradient", &PySystem::loop_gradient, "t"_a, "y"_a, "all"_a)
      .def_prop_ro("size", &PySystem::size)
      .def_prop_ro("count", &PySystem::count)
      .def("time_rhs", &PySystem::time_rhs, "y"_a, "repeat"_a)
      .def("time_stage", &PySystem::time_stage, "y"_a, "repeat"_a)
      .def("layout", &PySystem::layout)
      .def("rod_states", &PySystem::rod_states, "rod"_a, "t"_a, "y"_a, "project"_a)
      .def("rod_measures", &PySystem::rod_measures, "t"_a, "y"_a, "project"_a)
      .def("jacobian_dual", &PySystem::jacobian_dual, "t"_a, "y"_a)
      .def("offset", &PySystem::offset, "body"_a)
      .def("rhs", &PySystem::rhs, "t"_a, "y"_a)
      .def("jacobian", &PySystem::jacobian, "t"_a, "y"_a)
      .def("time_derivative", &PySystem::time_derivative, "t"_a, "y"_a)
      .def("solve_shifted", &PySystem::solve_shifted, "t"_a, "y"_a, "shift"_a, "b"_a)
      .def("project", &PySystem::project, "y"_a, "t"_a = 0.0)
      .def("quasistatic", &PySystem::quasistatic, "on"_a)
      .def("linearise", &PySystem::linearise, "t"_a, "y"_a, "shift"_a)
      .def("solve", &PySystem::solve, "b"_a)
      .def("negative_pivots", &PySystem::negative_pivots)
      .def("trouble", &PySystem::trouble, "t"_a, "y"_a)
      .def("equilibrium", &PySystem::equilibrium, "t"_a, "y"_a, "scale"_a, "shift"_a, "rate"_a, "tolerance"_a,
           "iterations"_a, "relaxations"_a)
      .def("motions", &PySystem::motions, "t"_a, "y"_a, "project"_a)
      .def("measures", &PySystem::measures, "t"_a, "y"_a)
      .def("multipliers", &PySystem::multipliers, "t"_a, "y"_a)
      .def("operations", &PySystem::operations, "y"_a)
      .def(
          "integrate",
          [](PySystem& s, const std::string& method, double t0, Times y0, double t_end, const nb::dict& step,
             const nb::dict& options,
             bool python) { return drive(s.equations(), method, t0, y0, t_end, step, options, python); },
          "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a, "python"_a,
          "Integrate; python says that Python functions are called, so that the lock is kept.")
      .def(
          "start",
          [](PySystem& s, const std::string& method, double t0, Times y0, double t_end, const nb::dict& step,
             const nb::dict& options,
             bool python) { return start(s.equations(), method, t0, y0, t_end, step, options, python); },
          "method"_a, "t0"_a, "y0"_a, "t_end"_a, "step"_a, "options"_a, "python"_a, nb::keep_alive<0, 1>(),
          "The same as a Session, which can pause, be saved and go on.")
      .def("revise", &PySystem::revise, "rod"_a, "numbers"_a, "row"_a)
      .def("apart", &PySystem::apart, "Why members cannot go in lanes; None if they can.")
      .def("time_lanes", &PySystem::time_lanes, "y"_a, "repeat"_a)
      .def(
          "members",
          [](PySystem& s, const std::string& method, double t_end, Table y0, const nb::object& scales,
             const nb::dict& step, const nb::dict& options, const nb::list& changes, bool lanes,
             const nb::object& tick) {
            return drive_members(s.equations(), s.rods(), method, t_end, y0, scales, step, options, changes, lanes,
                                 tick);
          },
          "method"_a, "t_end"_a, "y0"_a, "scales"_a.none(), "step"_a, "options"_a, "changes"_a, "lanes"_a,
          "tick"_a.none(), "Runs of many members without Python's lock; changes are arrays (members, ...) by rod.");
}
