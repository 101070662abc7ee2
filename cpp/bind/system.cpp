// Bodies, forces and rods in one formulation, as one system of equations.
#include "run.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <ctime>

#include "gyrod/integrate/statics.hpp"

using namespace gyrod;

namespace {
using V3 = Vec3<double>;

// The way into a system: vectors of its size, or rows of them, and no other thread inside.
std::size_t unknowns(const Times& y) { return y.shape(0); }
std::size_t unknowns(const Table& y) { return y.shape(1); }
template <class... Arrays> Turn enter(const System& s, const Arrays&... y) {
  if (((unknowns(y) != s.size()) || ...)) throw nb::value_error("wrong number of unknowns");
  return Turn(s.owner);
}
Out1 copy(const Times& y) { return copied<Out1>(numbers(y), {y.shape(0)}); }

Out2 dense_jacobian(System& s, double t, const Times& y, bool dual) {
  const Turn turn = enter(s, y);
  Out2 J = owned<Out2>({s.size(), s.size()});
  s.dense_jacobian(t, y.data(), J.data(), dual);
  return J;
}

// An array of `columns` numbers for each of `things`, row by row of (t, y).
template <class F>
Out3 rows_of(System& s, const Times& t, const Table& y, std::size_t things, std::size_t columns, F&& fill) {
  const Turn turn = enter(s, y);
  Out3 out = owned<Out3>({y.shape(0), things, columns});
  for (std::size_t i = 0; i < y.shape(0); ++i)
    fill(t.data()[i], y.data() + i * s.size(), out.data() + i * things * columns);
  return out;
}

// Position 3, R row-major 9, velocity 3, Omega 3 of each body.
constexpr std::size_t motion_columns = 18;
void put(const BodyMotion<double>& b, double* o) {
  for (int k = 0; k < 3; ++k) o[k] = b.x[k], o[12 + k] = b.v[k], o[15 + k] = b.Omega[k];
  for (int k = 0; k < 9; ++k) o[3 + k] = b.R(k / 3, k % 3);
}
BodyMotion<double> motion_of(const double* s) {
  BodyMotion<double> b{V3(s), V3(s + 12), V3(s + 15), Mat3<double>()};
  for (int k = 0; k < 9; ++k) b.R(k / 3, k % 3) = s[3 + k];
  return b;
}

// CPU seconds of one call in a compiled loop, as an integrator calls it.
template <class F> double timed(long repeat, F&& f) {
  const std::clock_t begin = std::clock();
  for (long i = 0; i < repeat; ++i) f();
  return double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeat);
}

// Everything about a rod; arrays are (rows, vertices or frames or places of strain or curvature, components).
struct RodRows {
  RodRows(const RodDescription& rod, std::size_t rows)
      : d(rod), N(std::size_t(d.segments)), Q(std::size_t(d.frames())), bends(std::size_t(d.bends())),
        x(owned<Out3>({rows, N + 1, 3})), v(owned<Out3>({rows, N + 1, 3})), p(owned<Out3>({rows, Q, 4})),
        Omega(owned<Out3>({rows, Q, 3})), E(owned<Out3>({rows, N, 3})), F(owned<Out3>({rows, N, 3})),
        K(owned<Out3>({rows, bends, 3})), M(owned<Out3>({rows, bends, 3})), f(owned<Out3>({rows, N + 1, 4})),
        hold(owned<Out2>({rows, 12})), lambda(owned<Out2>({rows, Q})), measures(owned<Out2>({rows, 9})) {}

  // Row k: what was looked at last.
  void read(RodEquations& rods, int rod, std::size_t k) {
    const auto put = [](double* to, const auto& from) {
      for (int i = 0; i < from.size(); ++i) to[i] = from[i];
    };
    std::copy_n(rods.measures(rod).listed().data(), 9, measures.data() + 9 * k);
    rods.reactions(rod, hold.data() + 12 * k);
    rods.multipliers(rod, lambda.data() + Q * k);
    const RodState<double>& s = rods.state(rod);
    for (std::size_t n = 0; n <= N; ++n) {
      const std::size_t at = 3 * (k * (N + 1) + n);
      put(x.data() + at, s.x[n]), put(v.data() + at, s.v[n]);
      put(f.data() + 4 * (k * (N + 1) + n), rods.vertex_frame(rod, int(n)));
    }
    for (std::size_t n = 0; n < bends; ++n) {
      const std::size_t at = 3 * (k * bends + n);
      const bool bent = d.bent(int(n));
      put(K.data() + at, bent ? V3(s.K[n] + d.K0[n]) : d.K0[n]), put(M.data() + at, bent ? s.M[n] : V3(V3::Zero()));
    }
    for (std::size_t j = 0; j < Q; ++j)
      put(p.data() + 4 * (k * Q + j), s.p[j]), put(Omega.data() + 3 * (k * Q + j), V3(s.w[j].tail<3>()));
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t at = 3 * (k * N + j);
      put(E.data() + at, V3(s.E[j] + d.G0[j] - V3(0, 0, 1))), put(F.data() + at, s.F[j]);
    }
  }
  nb::dict dict() const {
    nb::dict out;
    out["positions"] = x, out["velocities"] = v, out["quaternions"] = p, out["Omega"] = Omega, out["strain"] = E;
    out["force"] = F, out["curvature"] = K, out["moment"] = M, out["reactions"] = hold, out["multipliers"] = lambda;
    out["measures"] = measures, out["vertex_quaternions"] = f;
    return out;
  }

  const RodDescription& d;
  std::size_t N, Q, bends;
  Out3 x, v, p, Omega, E, F, K, M, f;
  Out2 hold, lambda, measures;
};

// Row by row of all rods: what they do to each other is found once a row.
std::vector<nb::dict> rod_states(System& system, Times t, Table y, bool project) {
  const Turn turn = enter(system, y);
  if (!system.rods()) return {};
  RodEquations& rods = *system.rods();
  std::vector<RodRows> rows;
  for (int r = 0; r < rods.rods(); ++r) rows.emplace_back(rods.rod(r), y.shape(0));
  std::vector<double> state(system.size());
  for (std::size_t k = 0; k < y.shape(0); ++k) {
    const double time = t.data()[k];
    std::copy_n(y.data() + k * system.size(), system.size(), state.begin());
    system.place(time, state.data(), project);
    rods.look(time, state.data() + system.rods_at());
    for (int r = 0; r < rods.rods(); ++r) rows[std::size_t(r)].read(rods, r, k);
  }
  std::vector<nb::dict> out;
  for (const RodRows& r : rows) out.push_back(r.dict());
  return out;
}

nb::dict operations(System& s, Times y, bool alone) {
  const Turn turn = enter(s, y);
  const Counted::Tally c = s.operations(y.data(), alone);
  nb::dict d;
  d["+"] = c.add, d["-"] = c.subtract, d["*"] = c.multiply, d["/"] = c.divide, d["square"] = c.square;
  d["sqrt"] = c.root, d["sin"] = c.sine, d["cos"] = c.cosine, d["atan2"] = c.arctangent;
  return d;
}

// A search for an equilibrium: its end, and (size of the step over the scales, damping, shift) of Newton's steps.
struct StaticRun {
  std::string status;
  Out1 y;
  Out2 history;
};
StaticRun equilibrium(System& s, double t, Times y, Times scale, double shift, double rate, double tolerance,
                      int iterations, int relaxations, int threads) {
  const Turn turn = enter(s, y, scale);
  const auto pool = threads_of(threads);
  const Shared shared(s.equations(), pool.get());
  StaticOptions o;
  o.shift = shift, o.rate = rate, o.tolerance = tolerance, o.iterations = iterations, o.relaxations = relaxations;
  StaticSolver solver(s.equations(), numbers(scale), o);
  std::vector<double> state = numbers(y);
  const StaticStatus status = relaxations ? solver.relax(t, state) : solver.newton(t, state);
  Out2 history = owned<Out2>({solver.history.size(), 3});
  for (std::size_t i = 0; i < solver.history.size(); ++i) {
    const StaticStep& k = solver.history[i];
    history(i, 0) = k.size, history(i, 1) = k.damping, history(i, 2) = k.shift;
  }
  static constexpr const char* names[] = {"converged", "failed", "singular", "not finite"};
  return {names[int(status)], copied<Out1>(state, {s.size()}), history};
}

void bind_equations(nb::class_<System>& c) {
  c.def_prop_ro("size", &System::size)
      .def_prop_ro("count", &System::bodies)
      .def("layout", &System::layout)
      .def(
          "offset", [](const System& s, int body) { return s.rigid()->offset(body); }, "body"_a)
      .def(
          "rhs",
          [](System& s, double t, Times y) {
            const Turn turn = enter(s, y);
            Out1 dy = owned<Out1>({s.size()});
            s.equations().rhs(t, y.data(), dy.data());
            return dy;
          },
          "t"_a, "y"_a)
      .def(
          "jacobian", [](System& s, double t, Times y) { return dense_jacobian(s, t, y, false); }, "t"_a, "y"_a)
      .def(
          "jacobian_dual", [](System& s, double t, Times y) { return dense_jacobian(s, t, y, true); }, "t"_a, "y"_a,
          "The same by dual numbers of the right-hand side, where there are such.")
      .def(
          "time_derivative",
          [](System& s, double t, Times y) {
            const Turn turn = enter(s, y);
            Out1 ft = owned<Out1>({s.size()});
            s.equations().jacobian(t, y.data());
            s.equations().time_derivative(t, y.data(), ft.data());
            return ft;
          },
          "t"_a, "y"_a)
      .def(
          "project",
          [](System& s, Times y, double t) {
            const Turn turn = enter(s, y);
            Out1 out = copy(y);
            s.equations().project(t, out.data());
            return out;
          },
          "y"_a, "t"_a = 0.0)
      .def(
          "quasistatic",
          [](System& s, bool on) {
            const Turn turn(s.owner);
            s.equations().quasistatic(on);
          },
          "on"_a)
      .def(
          "linearise",
          [](System& s, double t, Times y, double shift) {
            const Turn turn = enter(s, y);
            s.equations().jacobian(t, y.data());
            return s.equations().factor(shift);
          },
          "t"_a, "y"_a, "shift"_a, "Factor shift - df/dy for `solve`; False: it is singular.")
      .def(
          "solve",
          [](System& s, Times b) {
            const Turn turn = enter(s, b);
            Out1 x = copy(b);
            s.equations().solve(x.data());
            return x;
          },
          "b"_a)
      .def(
          "solve_transposed",
          [](System& s, Times b) {
            const Turn turn = enter(s, b);
            Out1 x = copy(b);
            s.equations().solve_transposed(x.data());
            return x;
          },
          "b"_a, "The same of the transposed matrix.")
      .def(
          "solve_shifted",
          [](System& s, double t, Times y, double shift, Times b) {
            const Turn turn = enter(s, y, b);
            Out1 x = copy(b);
            s.equations().jacobian(t, y.data());
            if (!s.equations().factor(shift)) throw nb::value_error("singular");
            s.equations().solve(x.data());
            return x;
          },
          "t"_a, "y"_a, "shift"_a, "b"_a)
      .def(
          "solve_shifted_complex",
          [](System& s, double t, Times y, double real, double imaginary, Times b) {
            const Turn turn = enter(s, y, b);
            std::vector<Complex> x(b.data(), b.data() + b.shape(0));
            s.equations().jacobian(t, y.data());
            if (!s.equations().factor(Complex(real, imaginary))) throw nb::value_error("singular");
            s.equations().solve(x.data());
            Out2 out = owned<Out2>({2, x.size()});
            for (std::size_t i = 0; i < x.size(); ++i)
              out.data()[i] = x[i].real(), out.data()[x.size() + i] = x[i].imag();
            return out;
          },
          "t"_a, "y"_a, "real"_a, "imaginary"_a, "b"_a, "Real and imaginary parts of the solution.")
      .def("negative_pivots", [](const System& s) { return s.equations().negative_pivots(); })
      .def(
          "trouble",
          [](const System& s, double t, Times y) -> std::optional<std::string> {
            const Turn turn = enter(s, y);
            const char* reason = s.equations().trouble(t, y.data());
            return reason ? std::optional<std::string>(reason) : std::nullopt;
          },
          "t"_a, "y"_a)
      .def("equilibrium", &equilibrium, "t"_a, "y"_a, "scale"_a, "shift"_a, "rate"_a, "tolerance"_a, "iterations"_a,
           "relaxations"_a, "threads"_a = 1)
      .def("operations", &operations, "y"_a, "alone"_a = false)
      .def(
          "time_rhs",
          [](System& s, Times y, long repeat) {
            const Turn turn = enter(s, y);
            std::vector<double> state = numbers(y), dy(s.size());
            Equations& e = s.equations();
            return timed(repeat, [&] {
              e.rhs(0.0, state.data(), dy.data());
              state[0] += 1e-300 * dy[0]; // the next call depends on this one
            });
          },
          "y"_a, "repeat"_a)
      .def(
          "time_stage",
          [](System& s, Times y, long repeat) {
            const Turn turn = enter(s, y);
            const std::vector<double> state = numbers(y);
            std::vector<double> b(s.size(), 1.0);
            Equations& e = s.equations();
            const double jacobian = timed(repeat, [&] { e.jacobian(0.0, state.data()); });
            const double factor = timed(repeat, [&] { (void)e.factor(300.0); });
            const double solve = timed(repeat, [&] {
              std::fill(b.begin(), b.end(), 1.0);
              e.solve(b.data());
            });
            return std::tuple(jacobian, factor, solve);
          },
          "y"_a, "repeat"_a, "CPU seconds of a Jacobian, a real factorisation and a solution.");
}

void bind_bodies(nb::class_<System>& c) {
  c.def(
       "motions",
       [](System& s, Times t, Table y, bool project) {
         std::vector<BodyMotion<double>> m(s.bodies());
         std::vector<double> state(s.size());
         return rows_of(s, t, y, s.bodies(), motion_columns, [&](double at, const double* row, double* o) {
           std::copy_n(row, s.size(), state.begin());
           if (project) s.equations().project(at, state.data());
           s.motions(at, state.data(), m.data());
           for (std::size_t b = 0; b < m.size(); ++b) put(m[b], o + motion_columns * b);
         });
       },
       "t"_a, "y"_a, "project"_a, "Position 3, R row by row 9, velocity 3, Omega 3 of each body, (rows, bodies, 18).")
      .def(
          "measures",
          [](System& s, Times t, Table y) {
            const Turn turn = enter(s, y);
            Out2 out = owned<Out2>({y.shape(0), 3});
            for (std::size_t i = 0; i < y.shape(0); ++i) {
              const double* row = y.data() + i * s.size();
              const System::Residual r = s.residual(t.data()[i], row);
              out(i, 0) = r.position, out(i, 1) = r.velocity, out(i, 2) = s.potential(t.data()[i], row);
            }
            return out;
          },
          "t"_a, "y"_a, "Residuals of position and velocity, and the potential of the bodies, row by row.")
      .def(
          "multipliers",
          [](System& s, Times t, Table y) {
            const std::size_t each = s.rigid() ? std::size_t(s.rigid()->multiplier_count()) : 0;
            return rows_of(s, t, y, s.bodies(), each, [&](double at, const double* row, double* o) {
              if (each) s.rigid()->multipliers(at, row, o);
            });
          },
          "t"_a, "y"_a, "Of the internal constraints, (rows, bodies, 0, 1 or 6).")
      .def(
          "accelerations",
          [](System& s, Times t, Table y) {
            return rows_of(s, t, y, s.bodies(), 6,
                           [&](double at, const double* row, double* o) { s.accelerations(at, row, o); });
          },
          "t"_a, "y"_a)
      .def(
          "reactions",
          [](System& s, Times t, Table y) {
            return rows_of(s, t, y, s.mechanism().model().joints.size(), 6,
                           [&](double at, const double* row, double* o) { s.reactions(at, row, o); });
          },
          "t"_a, "y"_a, "Forces and torques of the joints, (rows, joints, 6).")
      .def(
          "nullspace",
          [](System& s, double t, Times y) {
            const Turn turn = enter(s, y);
            Out2 T = owned<Out2>({6 * s.bodies(), std::size_t(s.mechanism().tree_freedoms())});
            s.mechanism().nullspace(t, y.data(), T.data());
            return T;
          },
          "t"_a, "y"_a)
      .def(
          "complete",
          [](System& s, double t, Table velocities, Times y) {
            const Turn turn = enter(s, y);
            Out1 out = copy(y);
            s.complete(t, velocities.data(), out.data());
            return out;
          },
          "t"_a, "velocities"_a, "y"_a)
      .def(
          "joint_rows",
          [](System& s, double t, Table motions) {
            const Turn turn(s.owner);
            std::vector<BodyMotion<double>> m;
            for (std::size_t b = 0; b < s.bodies(); ++b) m.push_back(motion_of(motions.data() + motion_columns * b));
            const std::vector<JointRow> rows = joint_rows(s.mechanism().model(), t, m.data());
            Out2 out = owned<Out2>({rows.size(), 16});
            double* o = out.data();
            for (const JointRow& r : rows) {
              *o++ = double(r.joint), *o++ = r.g, *o++ = r.rate_in_time, *o++ = r.second;
              for (const Twist* g : {&r.a, &r.b})
                for (int k = 0; k < 6; ++k) *o++ = (*g)[k];
            }
            return out;
          },
          "t"_a, "motions"_a,
          "Joint, g, dg/dt at rest, g'' without accelerations, gradients by the twists of a and b; (rows, 16).")
      .def(
          "loop_gradient",
          [](System& s, double t, Times y, bool all) {
            const Turn turn = enter(s, y);
            MechanismEquations& m = s.mechanism();
            Out2 G = owned<Out2>({std::size_t(m.loop_rows(all)), std::size_t(m.tree_freedoms())});
            m.loop_gradient(t, y.data(), all, G.data());
            return G;
          },
          "t"_a, "y"_a, "all"_a);
}
} // namespace

void bind_system(nb::module_& m) {
  nb::class_<RodLayout>(m, "RodLayout", "Where frames p, their rates w, vertices x and their rates v are; -1: held.")
      .def_ro("p", &RodLayout::p)
      .def_ro("w", &RodLayout::w)
      .def_ro("x", &RodLayout::x)
      .def_ro("v", &RodLayout::v);
  m.def(
      "measure",
      [](const RodDescription& rod, Rows3 x, Rows4 p) {
        if (x.shape(0) != std::size_t(rod.segments) + 1 || p.shape(0) != std::size_t(rod.frames()))
          throw std::invalid_argument("positions and frames are not those of the rod's mesh");
        const RodShape shape = measure(rod, x.data(), p.data());
        const auto rows = [](const std::vector<V3>& from) {
          Out2 out = owned<Out2>({from.size(), 3});
          for (std::size_t n = 0; n < from.size(); ++n) std::copy_n(from[n].data(), 3, out.data() + 3 * n);
          return out;
        };
        return std::make_tuple(rows(shape.strain), rows(shape.curvature));
      },
      "rod"_a, "x"_a, "p"_a, "Strain and curvature of a rod that lies there, against a straight one.");
  nb::class_<StaticRun>(m, "StaticRun")
      .def_ro("status", &StaticRun::status)
      .def_prop_ro(
          "y", [](const StaticRun& r) { return r.y; }, nb::rv_policy::move)
      .def_prop_ro("history", [](const StaticRun& r) { return r.history; }, nb::rv_policy::move);
  nb::class_<System> c(m, "System");
  c.def(
      "__init__",
      [](System* self, const std::string& formulation, std::vector<RigidBody> bodies,
         const std::vector<std::shared_ptr<ForceElement>>& forces, const Vector& gravity,
         const std::optional<JointTree>& joints, std::vector<RodDescription> rods, std::vector<RodLink> links,
         ContactSet contacts, const FormulationOptions& options) {
        new (self) System({formulation, options, std::move(bodies), forces_of(forces), or_zero(gravity), joints,
                           std::move(rods), std::move(links), std::move(contacts)});
      },
      nb::kw_only(), "formulation"_a, "bodies"_a = nb::list(), "forces"_a = nb::list(), "gravity"_a.none() = nb::none(),
      "joints"_a.none() = nb::none(), "rods"_a = nb::list(), "links"_a = nb::list(), "contacts"_a = ContactSet(),
      "options"_a = FormulationOptions());
  bind_equations(c);
  bind_bodies(c);
  c.def(
       "contact_states",
       [](System& s, const std::vector<int>& contacts, Times t, Table y, bool project) {
         const Turn turn = enter(s, y);
         RodEquations& rods = *s.rods();
         const std::size_t all = std::size_t(rods.contacts()), columns = RodEquations::contact_columns;
         std::size_t each = 0;
         for (int c : contacts) each += rods.stations(c);
         Out3 rows = owned<Out3>({y.shape(0), each, columns}), sums = owned<Out3>({y.shape(0), all, 4});
         std::vector<ContactBudget> found(all);
         std::vector<double> state(s.size());
         for (std::size_t k = 0; k < y.shape(0); ++k) {
           std::copy_n(y.data() + k * s.size(), s.size(), state.begin());
           s.place(t.data()[k], state.data(), project);
           rods.contacts(t.data()[k], state.data() + s.rods_at(), contacts, rows.data() + k * each * columns,
                         found.data());
           double* sum = sums.data() + 4 * all * k;
           for (const ContactBudget& b : found)
             *sum++ = b.energy, *sum++ = b.friction, *sum++ = b.impact, *sum++ = b.work;
         }
         return std::make_tuple(rows, sums);
       },
       "contacts"_a, "t"_a, "y"_a, "project"_a,
       "Of stations of the given contacts: point, normal, force, slip, gap, normal force. Of all contacts: energy, "
       "power "
       "of friction, of impacts and of bodies.")
      .def(
          "crossing_states",
          [](System& s, Times t, Table y, bool project) {
            const Turn turn = enter(s, y);
            const std::size_t each = std::size_t(s.rods()->crossings());
            std::vector<Out2> rows;
            Out3 sums = owned<Out3>({y.shape(0), each, 3});
            std::vector<double> state(s.size());
            std::vector<Crossings::Reading> found;
            std::vector<Crossings::Budget> budgets;
            for (std::size_t k = 0; k < y.shape(0); ++k) {
              std::copy_n(y.data() + k * s.size(), s.size(), state.begin());
              s.place(t.data()[k], state.data(), project);
              budgets.assign(each, {});
              s.rods()->crossings(t.data()[k], state.data() + s.rods_at(), found, budgets.data());
              for (std::size_t i = 0; i < each; ++i)
                sums(k, i, 0) = budgets[i].energy, sums(k, i, 1) = budgets[i].friction,
                           sums(k, i, 2) = budgets[i].impact;
              Out2& out = rows.emplace_back(owned<Out2>({found.size(), 17}));
              for (std::size_t i = 0; i < found.size(); ++i) {
                const Crossings::Reading& r = found[i];
                double* to = out.data() + 17 * i;
                *to++ = r.crossing, to[0] = r.at[0], to[1] = r.at[1];
                Part<3>::put(to + 2, r.point), Part<3>::put(to + 5, r.normal), Part<3>::put(to + 8, r.force);
                to[11] = r.gap, to[12] = r.pressed, Part<3>::put(to + 13, r.slip);
              }
            }
            return std::make_tuple(rows, sums);
          },
          "t"_a, "y"_a, "project"_a,
          "Of what touches: which pair, fractions of both lengths, point, normal, force, gap, normal force, slip; of "
          "each "
          "pair energy, power of friction and of impacts.")
      .def(
          "slide_states",
          [](System& s, Times t, Table y, bool project) {
            const Turn turn = enter(s, y);
            RodEquations& rods = *s.rods();
            const std::size_t each = std::size_t(rods.slides()), columns = RodEquations::slide_columns;
            Out3 rows = owned<Out3>({y.shape(0), each, columns});
            std::vector<double> state(s.size());
            for (std::size_t k = 0; k < y.shape(0); ++k) {
              std::copy_n(y.data() + k * s.size(), s.size(), state.begin());
              s.place(t.data()[k], state.data(), project);
              rods.slide_rows(t.data()[k], state.data() + s.rods_at(), rows.data() + k * each * columns);
            }
            return rows;
          },
          "t"_a, "y"_a, "project"_a, "Of links that slide: fraction of the length, point, force on the rod.")
      .def(
          "rest",
          [](System& s, double t, Times y, bool remember) {
            const Turn turn = enter(s, y);
            std::vector<double> state = numbers(y);
            s.equations().rest(t, state.data(), remember);
            return copied<Out1>(state, {s.size()});
          },
          "t"_a, "y"_a, "remember"_a, "y is at rest: with what contacts remember, which is counted from there on.")
      .def("rod_states", &rod_states, "t"_a, "y"_a, "project"_a, "Of each rod, arrays by their names.")
      .def(
          "rod_measures",
          [](System& s, Times t, Table y, bool project) {
            const Turn turn = enter(s, y);
            Out2 sums = owned<Out2>({y.shape(0), 9});
            std::vector<double> state(s.size());
            for (std::size_t k = 0; k < y.shape(0); ++k) {
              std::copy_n(y.data() + k * s.size(), s.size(), state.begin());
              s.place(t.data()[k], state.data(), project);
              std::copy_n(s.rod_measures(t.data()[k], state.data()).listed().data(), 9, sums.data() + 9 * k);
            }
            return sums;
          },
          "t"_a, "y"_a, "project"_a, "Sums over the rods of energies and powers, row by row.")
      .def(
          "apart",
          [](const System& s) -> std::optional<std::string> {
            const char* reason = s.apart();
            return reason ? std::optional<std::string>(reason) : std::nullopt;
          },
          "Why members cannot go in lanes; None if they can.");
  c.def(
       "enter", [](const System& s) { Turn::begin(s.owner); },
       "Keep other threads out until `leave`, over several calls.")
      .def("leave", [](const System& s) {
        if (s.owner.mine()) s.owner.leave();
      });
  bind_runs(c);
  bind_members(c);
}
