// What a system is made of, as typed objects with keyword constructors; the Python side has checked the values.
#include "system.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "gyrod/mechanism/spring.hpp"
#include "gyrod/rod/slide.hpp"

using namespace gyrod;

namespace {
using V3 = Vec3<double>;
using V4 = Vec4<double>;
using M3 = Mat3<double>;
using Rows33 = nb::ndarray<const double, nb::shape<-1, 3, 3>, nb::c_contig, nb::device::cpu>;
using Call = std::optional<nb::callable>;

std::vector<V3> vectors(const Rows3& a) {
  std::vector<V3> out;
  for (std::size_t i = 0; i < a.shape(0); ++i) out.emplace_back(a(i, 0), a(i, 1), a(i, 2));
  return out;
}
std::vector<M3> matrices(const Rows33& a) {
  std::vector<M3> out(a.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i)
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) out[i](r, c) = a(i, std::size_t(r), std::size_t(c));
  return out;
}

// A Python function as a C++ one that writes `count` numbers; called with the interpreter's lock.
template <class... Args> auto called(nb::callable f, std::size_t count) {
  return [f = std::move(f), count](double* out, Args... args) {
    nb::gil_scoped_acquire lock;
    const auto r = nb::cast<Numbers>(f(args...));
    if (r.size() != count) throw nb::value_error("a function returned a wrong number of values");
    std::copy_n(r.data(), count, out);
  };
}

UserForce::Function state_function(nb::callable f, std::size_t results) {
  return [f = called<double, const Out1&>(std::move(f), results)](double t, const double* state, double* out) {
    nb::gil_scoped_acquire lock;
    f(out, t, copied<Out1>({state, state + UserForce::inputs}, {std::size_t(UserForce::inputs)}));
  };
}
UserForce::Function c_function(std::uintptr_t address, std::uintptr_t context) {
  if (!address) return {};
  const auto f = reinterpret_cast<gyrod_force>(address);
  void* const c = reinterpret_cast<void*>(context);
  return [f, c](double t, const double* state, double* out) { f(t, state, out, c); };
}
// A signal or nothing.
using Given = std::optional<Signal>;
Signal or_nothing(const Given& s) { return s.value_or(Signal()); }

template <class T, std::size_t N>
T named(const char* what, const std::string& name, const std::pair<const char*, T> (&known)[N]) {
  for (const auto& [text, value] : known)
    if (name == text) return value;
  throw nb::value_error(("no " + std::string(what) + " '" + name + "'").c_str());
}

constexpr std::pair<const char*, Curvature> curvatures[] = {{"sine", Curvature::sine},
                                                            {"half-sine", Curvature::half_sine},
                                                            {"tangent", Curvature::tangent},
                                                            {"half-tangent", Curvature::half_tangent},
                                                            {"angle", Curvature::angle},
                                                            {"sine-family", Curvature::sine_family},
                                                            {"tangent-family", Curvature::tangent_family}};
constexpr std::pair<const char*, int> held_strains[] = {
    {"cosserat", 0}, {"stretch", 0}, {"kirchhoff", 2}, {"inextensible", 3}};

void bind_bodies(nb::module_& m) {
  nb::class_<FormulationOptions>(m, "FormulationOptions")
      .def(
          "__init__",
          [](FormulationOptions* o, bool spatial, bool printed, bool polar, bool fictive_moment, double baumgarte_omega,
             double baumgarte_r, int level, bool qr, bool stabilised) {
            new (o) FormulationOptions{spatial,     printed, polar, fictive_moment, baumgarte_omega,
                                       baumgarte_r, level,   qr,    stabilised};
          },
          nb::kw_only(), "spatial"_a = false, "printed"_a = false, "polar"_a = false, "fictive_moment"_a = false,
          "baumgarte_omega"_a = 0.0, "baumgarte_r"_a = 0.0, "level"_a = 0, "qr"_a = false, "stabilised"_a = false);
  nb::class_<RigidBody>(m, "Body", "A body in its principal axes; moments of a pinned one about its point.")
      .def(
          "__init__",
          [](RigidBody* b, double mass, const V3& moments, bool pinned, const Vector& point, const Vector& arm) {
            new (b) RigidBody{mass, moments, V3::Ones(), pinned, or_zero(point), or_zero(arm)};
          },
          nb::kw_only(), "mass"_a, "moments"_a, "pinned"_a = false, "point"_a.none() = nb::none(),
          "arm"_a.none() = nb::none())
      .def_rw("mass", &RigidBody::mass)
      .def_ro("moments", &RigidBody::moments);
}

// --- laws of the line between two points, by their names and those of their numbers
using LawNumbers = std::map<std::string, double>;
template <class Law, std::size_t... I> Law with_numbers(const LawNumbers& given, std::index_sequence<I...>) {
  if (given.size() != sizeof...(I)) throw nb::value_error("a law needs each of its numbers, and no others");
  return {given.at(Law::numbers[I])...};
}
// use(law), where that name is the law's.
template <class F, class... L> void with_law(Laws<L...>, const std::string& name, const LawNumbers& given, F&& use) {
  const auto one = [&]<class Law>() {
    if (name != Law::name) return false;
    use(with_numbers<Law>(given, std::make_index_sequence<Law::numbers.size()>()));
    return true;
  };
  if (!(one.template operator()<L>() || ...)) throw nb::value_error(("no law '" + name + "'").c_str());
}
template <class... L> std::map<std::string, std::vector<std::string>> names_of(Laws<L...>) {
  return {{L::name, {L::numbers.begin(), L::numbers.end()}}...};
}

void bind_forces(nb::module_& m) {
  nb::class_<ForceElement>(m, "ForceElement");
  nb::class_<AppliedForce, ForceElement>(m, "AppliedForce", "A force or torque over time.")
      .def(nb::init<int, V3, bool, bool, Signal>(), nb::kw_only(), "body"_a, "at"_a, "body_frame"_a, "torque"_a,
           "value"_a);
  m.def("line_laws", [] { return names_of(LineLaws()); }, "Laws of the line between two points, their numbers.");
  m.def(
      "line_force",
      [](const std::string& law, const LawNumbers& numbers, int a, int b, const V3& at_a, const V3& at_b) {
        std::shared_ptr<ForceElement> made;
        with_law(LineLaws(), law, numbers,
                 [&]<class Law>(const Law& law) { made = std::make_shared<LinePull<Law>>(a, b, at_a, at_b, law); });
        return made;
      },
      nb::kw_only(), "law"_a, "numbers"_a, "a"_a, "b"_a, "at_a"_a, "at_b"_a, "Between points of two bodies.");
  nb::class_<FrameForce, ForceElement>(m, "FrameForce", "What a turning frame of reference does to a body.")
      .def(nb::init<int, V3, double, M3>(), nb::kw_only(), "body"_a, "spin"_a, "mass"_a, "inertia"_a);
  nb::class_<Bushing, ForceElement>(m, "Bushing")
      .def(nb::init<int, int, V3, V3, V3, V3, M3>(), nb::kw_only(), "a"_a, "b"_a, "at_a"_a, "at_b"_a, "stiffness"_a,
           "damping"_a, "axes"_a);
  nb::class_<UserForce, ForceElement>(m, "UserForce", "A Python function of time and state, or a C function.")
      .def(
          "__init__",
          [](UserForce* f, int body, const M3& axes, nb::callable function, const Call& derivative) {
            new (f) UserForce(body, axes, state_function(std::move(function), UserForce::outputs),
                              derivative ? state_function(*derivative, UserForce::outputs * UserForce::inputs)
                                         : UserForce::Function());
          },
          nb::kw_only(), "body"_a, "axes"_a, "function"_a, "derivative"_a.none() = nb::none())
      .def(
          "__init__",
          [](UserForce* f, int body, const M3& axes, std::uintptr_t address, std::uintptr_t context,
             std::uintptr_t derivative) {
            new (f) UserForce(body, axes, c_function(address, context), c_function(derivative, context));
          },
          nb::kw_only(), "body"_a, "axes"_a, "address"_a, "context"_a, "derivative"_a = 0);
  nb::class_<JointSpring, ForceElement>(m, "JointSpring", "Spring, damper and friction on a coordinate of a joint.")
      .def(
          "__init__",
          [](JointSpring* f, const Joint& joint, int coordinate, double stiffness, double damping, double rest,
             double friction, double slip) {
            const auto& motion = joint.type->motion;
            if (coordinate < 0 || coordinate >= motion.size || motion[coordinate].axis != 2)
              throw nb::value_error("springs act about or along the third axis of a joint");
            const bool turn = motion[coordinate].type != MotionAxis::slide;
            new (f) JointSpring(joint.place, turn, stiffness, damping, rest, friction, slip);
          },
          nb::kw_only(), "joint"_a, "coordinate"_a, "stiffness"_a, "damping"_a, "rest"_a, "friction"_a, "slip"_a);
}

void bind_joints(nb::module_& m) {
  nb::class_<Joint>(m, "Joint")
      .def(
          "__init__",
          [](Joint* self, const std::string& kind, int a, int b, const V3& at_a, const V3& at_b, const M3& frame_a,
             const M3& frame_b, double parameter, const Given& drive) {
            Joint j;
            j.type = find_joint(kind);
            if (!j.type) throw nb::value_error(("no joint '" + kind + "'").c_str());
            j.place = {a, b, at_a, at_b, frame_a, frame_b, parameter};
            j.drive = or_nothing(drive);
            new (self) Joint(std::move(j));
          },
          nb::kw_only(), "kind"_a, "a"_a, "b"_a, "at_a"_a, "at_b"_a, "frame_a"_a, "frame_b"_a, "parameter"_a,
          "drive"_a.none() = nb::none())
      .def_prop_ro("driven", &Joint::driven);
  nb::class_<TreeLink>(m, "Link", "A body, the link that carries it and the joint between them; -1: none.")
      .def(
          "__init__", [](TreeLink* l, int body, int parent, int joint) { new (l) TreeLink{body, parent, joint}; },
          nb::kw_only(), "body"_a, "parent"_a, "joint"_a);
  nb::class_<JointTree>(m, "JointTree", "Joints, the tree that they carry, and those that close loops.")
      .def(
          "__init__",
          [](JointTree* t, std::vector<Joint> joints, std::vector<TreeLink> links, std::vector<int> cuts,
             std::vector<std::vector<int>> kept, std::vector<int> ranks) {
            new (t) JointTree{std::move(joints), std::move(links), std::move(cuts), std::move(kept), std::move(ranks)};
          },
          nb::kw_only(), "joints"_a, "links"_a, "cuts"_a, "kept"_a, "ranks"_a = std::vector<int>{});
}

using Shares = std::vector<std::tuple<int, int, V3>>;
std::vector<RodLoad::Share> shares(const Shares& list) {
  std::vector<RodLoad::Share> out;
  for (const auto& [frame, vertex, weight] : list) out.push_back({frame, vertex, weight});
  return out;
}

Shares listed(const std::vector<RodLoad::Share>& list) {
  Shares out;
  for (const RodLoad::Share& s : list) out.emplace_back(s.frame, s.vertex, s.weight);
  return out;
}

void bind_rod_parts(nb::module_& m) {
  nb::class_<RodEnd>(m, "RodEnd", "An end of a rod, where and how it is held, or led by signals.")
      .def(
          "__init__",
          [](RodEnd* self, bool held, bool clamped, const V3& place, const V4& frame, const Given& places,
             const Given& frames, const Given& spins, std::string label) {
            RodEnd end;
            end.held = held, end.clamped = clamped, end.label = std::move(label);
            end.at.x = place, end.at.p = frame;
            end.place = or_nothing(places), end.frame = or_nothing(frames), end.spin = or_nothing(spins);
            new (self) RodEnd(std::move(end));
          },
          nb::kw_only(), "held"_a, "clamped"_a, "place"_a, "frame"_a, "places"_a.none() = nb::none(),
          "frames"_a.none() = nb::none(), "spins"_a.none() = nb::none(), "label"_a = "")
      .def(
          "held_by",
          [](RodEnd& end, int body, const V3& point, const V4& frame) {
            end.host = body, end.point = point, end.turn = frame;
          },
          "body"_a, "point"_a, "frame"_a, "Let a body hold it, at a point and in a frame in the axes of the body.")
      .def_ro("held", &RodEnd::held)
      .def_ro("clamped", &RodEnd::clamped)
      .def_prop_ro("moves", &RodEnd::led)
      .def(
          "motion",
          [](const RodEnd& end, double t) {
            EndMotion at = end.at;
            end.move(t, at, true);
            Out1 z = owned<Out1>({19});
            Part<3>::put(z.data(), at.x), Part<3>::put(z.data() + 3, at.v), Part<3>::put(z.data() + 6, at.a);
            Part<4>::put(z.data() + 9, at.p), Part<3>::put(z.data() + 13, at.Omega);
            Part<3>::put(z.data() + 16, at.alpha);
            return z;
          },
          "t"_a, "x, v, a, p, Omega and Omega': 19 numbers.");
  nb::class_<RodLoad>(m, "RodLoad", "Force and moment, spread by shares (frame, vertex, weight of each component).")
      .def(
          "__init__",
          [](RodLoad* self, bool follow, const Shares& force, const Shares& moment, const Given& F, const Given& M,
             const std::string& law, std::vector<double> given) {
            const RodLaw* found = find_rod_law(law);
            if (law.size() && (!found || found->numbers() != given.size()))
              throw nb::value_error(("no law '" + law + "' of that many numbers").c_str());
            new (self)
                RodLoad{follow, shares(force), shares(moment), or_nothing(F), or_nothing(M), found, std::move(given)};
          },
          nb::kw_only(), "follow"_a, "force"_a, "moment"_a, "F"_a.none(), "M"_a.none(), "law"_a = "",
          "numbers"_a = std::vector<double>{})
      .def(
          "shared",
          [](RodLoad load, const Shares& force, const Shares& moment) {
            load.force = shares(force), load.moment = shares(moment);
            return load;
          },
          "force"_a, "moment"_a, "The same with other shares.")
      .def_ro("follow", &RodLoad::follow)
      .def_prop_ro("force", [](const RodLoad& l) { return listed(l.force); })
      .def_prop_ro("moment", [](const RodLoad& l) { return listed(l.moment); })
      .def_prop_ro("led", [](const RodLoad& l) { return !l.constant(); })
      .def(
          "value",
          [](const RodLoad& l, double t) {
            V3 F, M;
            l.value(t, F, M);
            Out1 z = owned<Out1>({6});
            Part<3>::put(z.data(), F), Part<3>::put(z.data() + 3, M);
            return z;
          },
          "t"_a);
  nb::class_<LinkPoint>(m, "LinkPoint",
                        "A point of a rod (of a segment at a fraction, or of a node), a body, or space.")
      .def(
          "__init__",
          [](LinkPoint* p, const V3& offset, int rod, int segment, double xi, int body) {
            new (p) LinkPoint{};
            p->rod = rod, p->segment = segment, p->xi = xi, p->offset = offset, p->body = body;
          },
          nb::kw_only(), "offset"_a, "rod"_a = -1, "segment"_a = 0, "xi"_a = 0.0, "body"_a = -1)
      .def_ro("offset", &LinkPoint::offset)
      .def_ro("rod", &LinkPoint::rod)
      .def_ro("segment", &LinkPoint::segment)
      .def_ro("xi", &LinkPoint::xi)
      .def_ro("body", &LinkPoint::body);
  using End = const LinkPoint&;
  nb::class_<RodLink>(m, "RodLink", "A link between points, at least one of them of a rod.")
      .def_prop_ro("ends", [](const RodLink& l) { return std::vector<LinkPoint>(l.ends, l.ends + 2); })
      .def_prop_ro(
          "tension", [](const RodLink& l) { return std::get<TendonLaw>(l.law).tension; }, "Of a tendon.")
      .def_static(
          "line",
          [](const std::string& law, const LawNumbers& numbers, End a, End b) {
            RodLink link{{a, b}, {}, {}};
            with_law(LineLaws(), law, numbers, [&](const auto& law) { link.law = law; });
            return link;
          },
          nb::kw_only(), "law"_a, "numbers"_a, "a"_a, "b"_a)
      .def_static(
          "tendon", [](End a, End b, const Signal& tension) { return RodLink{{a, b}, TendonLaw{tension}, {}}; },
          nb::kw_only(), "a"_a, "b"_a, "tension"_a)
      .def_static(
          "ring",
          [](End a, int rod, double at, std::vector<double> mesh, double stiffness, bool smooth,
             const std::string& name) {
            RodLink link{{a, {}}, SpringLaw{stiffness, 0.0, 0.0}, name};
            link.ends[1].rod = rod, link.ends[1].at = at;
            link.ends[1].curve = std::make_shared<const SlideCurve>(std::move(mesh), smooth);
            return link;
          },
          nb::kw_only(), "a"_a, "rod"_a, "at"_a, "mesh"_a, "stiffness"_a, "smooth"_a, "name"_a,
          "At a, through which a rod slides, from a fraction of its length on.")
      .def_static(
          "bushing",
          [](End a, End b, const V3& stiffness, const V3& damping, const M3& axes) {
            return RodLink{{a, b}, BushingLaw(stiffness, damping, axes), {}};
          },
          nb::kw_only(), "a"_a, "b"_a, "stiffness"_a, "damping"_a, "axes"_a);
}

// A contact by its parts, of which each is in many.
struct Touching {
  Contact made;
};
struct Touched {
  Contact made;
};

void bind_contact(nb::module_& m) {
  nb::class_<FrictionLaw>(m, "Friction", "See cpp/gyrod/contact/law.hpp.")
      .def(
          "__init__",
          [](FrictionLaw* f, bool sticks, double coefficient, double kinetic, double stribeck, double presliding,
             double damping, double slip_speed, double rolling, double spinning, double spin_speed) {
            const auto kind =
                coefficient > 0.0 ? sticks ? FrictionLaw::sticking : FrictionLaw::slipping : FrictionLaw::none;
            new (f) FrictionLaw{kind,    coefficient, kinetic, stribeck, presliding,
                                damping, slip_speed,  rolling, spinning, spin_speed};
          },
          nb::kw_only(), "sticks"_a, "coefficient"_a, "kinetic"_a, "stribeck"_a, "presliding"_a, "damping"_a,
          "slip_speed"_a, "rolling"_a, "spinning"_a, "spin_speed"_a);
  nb::class_<Touching>(m, "Stations", "Points with a radius, and what they feel of surfaces.")
      .def(
          "__init__",
          [](Touching* self, double stiffness, double exponent, double damping, double smoothing, double impact,
             double slow, double slack, const std::optional<FrictionLaw>& friction, bool hard, double restitution,
             double gravity, int rod, int on, const Table& cells, const Table& shares, const Table& turns,
             const Rows3& offsets, const Times& radii, const Times& weights) {
            Contact c;
            c.law = {stiffness, exponent,   damping, smoothing, impact, slow, slack, friction.value_or(FrictionLaw()),
                     hard,      restitution};
            c.gravity = gravity;
            const std::size_t n = radii.shape(0), most = cells.shape(1);
            if (most > std::size_t(Station::most) || shares.shape(1) != most || turns.shape(1) != most ||
                (rod >= 0 && (cells.shape(0) != n || shares.shape(0) != n || turns.shape(0) != n)) ||
                weights.shape(0) != n || (on >= 0 && offsets.shape(0) != n))
              throw nb::value_error("stations have too many cells, or their tables are not of one size");
            for (std::size_t i = 0; i < n; ++i) {
              Station s;
              s.rod = rod, s.body = on, s.radius = radii(i), s.weight = weights(i);
              if (on >= 0) s.offset = Part<3>::of(&offsets(i, 0));
              for (std::size_t k = 0; k < most && rod >= 0; ++k)
                if (cells(i, k) >= 0.0) {
                  s.cells[s.count] = int(cells(i, k));
                  s.share[s.count] = shares(i, k), s.turn[s.count] = turns(i, k), ++s.count;
                }
              c.stations.push_back(s);
            }
            new (self) Touching{std::move(c)};
          },
          nb::kw_only(), "stiffness"_a, "exponent"_a, "damping"_a, "smoothing"_a, "impact"_a, "slow"_a, "slack"_a,
          "friction"_a.none(), "hard"_a, "restitution"_a, "gravity"_a, "rod"_a, "on"_a, "cells"_a, "shares"_a,
          "turns"_a, "offsets"_a, "radii"_a, "weights"_a);
  nb::class_<Touched>(m, "Touched", "A surface, in the axes of its carrier.")
      .def(
          "__init__",
          [](Touched* self, std::shared_ptr<space::Surface> surface, int body, const V3& at, const M3& turn) {
            Contact c;
            c.surface = std::move(surface), c.body = body, c.at = at, c.turn = turn;
            new (self) Touched{std::move(c)};
          },
          nb::kw_only(), "surface"_a, "body"_a, "at"_a, "turn"_a);
  nb::class_<RodPair>(m, "RodPair", "Two rods that may touch each other, or one that may touch itself.")
      .def(
          "__init__",
          [](RodPair* self, int a, int b, double radius_a, double radius_b, std::vector<double> mesh_a,
             std::vector<double> mesh_b, double length_a, double length_b, double stiffness, double damping,
             double smoothing, double gravity, double apart, const std::optional<FrictionLaw>& friction) {
            ContactLaw law;
            law.friction = friction.value_or(FrictionLaw());
            law.stiffness = stiffness, law.damping = damping, law.smoothing = smoothing;
            new (self) RodPair{{a, b},
                               {radius_a, radius_b},
                               law,
                               gravity,
                               apart,
                               {std::move(mesh_a), std::move(mesh_b)},
                               {length_a, length_b},
                               {}};
          },
          nb::kw_only(), "a"_a, "b"_a, "radius_a"_a, "radius_b"_a, "mesh_a"_a, "mesh_b"_a, "length_a"_a, "length_b"_a,
          "stiffness"_a, "damping"_a, "smoothing"_a, "gravity"_a, "apart"_a, "friction"_a.none());
  nb::class_<ContactSet>(m, "ContactSet", "All contacts of a system.")
      .def(
          "__init__",
          [](ContactSet* self, const std::vector<const Touching*>& stations,
             const std::vector<const Touched*>& surfaces, const std::vector<std::array<std::size_t, 2>>& pairs,
             const std::vector<double>& reaches, std::vector<RodPair> among_rods) {
            ContactSet set{{}, std::move(among_rods)};
            if (reaches.size() != pairs.size()) throw nb::value_error("each pair needs a reach");
            set.with_surfaces.reserve(pairs.size());
            for (std::size_t k = 0; k < pairs.size(); ++k) {
              Contact c = stations.at(pairs[k][0])->made;
              const Contact& on = surfaces.at(pairs[k][1])->made;
              c.surface = on.surface, c.body = on.body, c.at = on.at, c.turn = on.turn, c.reach = reaches[k];
              set.with_surfaces.push_back(std::move(c));
            }
            new (self) ContactSet(std::move(set));
          },
          nb::kw_only(), "stations"_a = nb::list(), "surfaces"_a = nb::list(), "pairs"_a = nb::list(),
          "reaches"_a = nb::list(), "among_rods"_a = nb::list(),
          "Pairs: numbers of stations and of the surface that they may touch; reaches: how deep a step may end.")
      .def_prop_ro("memory", [](const ContactSet& c) {
        std::size_t n = 0;
        for (const Contact& x : c.with_surfaces) n += x.stations.size() * std::size_t(x.law.memory());
        return n + Crossings::slot_size * slots_of(c.among_rods);
      });
}

void bind_rod(nb::module_& m) {
  nb::class_<RodDescription>(m, "Rod", "A rod on its mesh, as arrays; see cpp/gyrod/rod/description.hpp.")
      .def(
          "__init__",
          [](RodDescription* self, std::string name, int degree, const Times& ds, const Times& span,
             const Times& weight, const Times& lengths, const Rows33& CG, const Rows33& CK, const Rows33& CX,
             const Rows3& cG, const Rows3& cK, const Rows3& G0, const Rows3& K0, const Rows3& J, const Times& mass,
             const Times& tributary, const Times& off, const std::optional<Rows3>& drag,
             const std::optional<Rows3>& spin_drag, bool damped, bool coupled, bool blended, const std::string& strain,
             const std::string& curvature, double number, const V3& gravity, const RodEnd& start, const RodEnd& end,
             std::vector<RodLoad> loads, const std::optional<Table>& foundation, const Rows3& anchor, const V3& spin,
             double stretch, const Given& stretches) {
            RodDescription r;
            r.name = std::move(name), r.degree = degree, r.segments = int(ds.shape(0));
            r.ds = numbers(ds), r.span = numbers(span), r.weight = numbers(weight), r.lengths = numbers(lengths);
            r.CG = matrices(CG), r.CK = matrices(CK), r.CX = matrices(CX);
            r.cG = vectors(cG), r.cK = vectors(cK), r.G0 = vectors(G0), r.K0 = vectors(K0), r.J = vectors(J);
            r.mass = numbers(mass), r.tributary = numbers(tributary), r.off = numbers(off);
            if (drag) r.drag = vectors(*drag);
            if (spin_drag) r.spin_drag = vectors(*spin_drag);
            r.damped = damped, r.coupled = coupled, r.blended = blended;
            r.held = named("strain", strain, held_strains);
            if (strain == "stretch") r.strain = Strain::stretch;
            r.law = CurvatureLaw(named("curvature", curvature, curvatures), number);
            r.gravity = gravity, r.ends[0] = start, r.ends[1] = end, r.loads = std::move(loads);
            for (std::size_t n = 0; foundation && n < foundation->shape(0); ++n) {
              const double* row = &(*foundation)(n, 0);
              if (std::any_of(row, row + 6, [](double x) { return x != 0.0; }))
                r.supports.push_back({int(n), Part<3>::of(&anchor(n, 0)), Part<3>::of(row), Part<3>::of(row + 3)});
            }
            r.spin = spin, r.spins = !spin.isZero();
            for (V3& g : r.G0) g[2] *= stretch;
            r.stretch = or_nothing(stretches);
            new (self) RodDescription(std::move(r));
          },
          nb::kw_only(), "name"_a, "degree"_a, "ds"_a, "span"_a, "weight"_a, "lengths"_a, "CG"_a, "CK"_a, "CX"_a,
          "cG"_a, "cK"_a, "G0"_a, "K0"_a, "J"_a, "mass"_a, "tributary"_a, "off"_a, "drag"_a.none(),
          "spin_drag"_a.none(), "damped"_a, "coupled"_a, "blended"_a, "strain"_a, "curvature"_a, "number"_a,
          "gravity"_a, "start"_a, "end"_a, "loads"_a, "foundation"_a.none(), "anchor"_a, "spin"_a, "stretch"_a = 1.0,
          "stretches"_a.none() = nb::none());
}
} // namespace

void bind_description(nb::module_& m) {
  bind_bodies(m);
  bind_joints(m);
  bind_forces(m);
  bind_rod_parts(m);
  bind_rod(m);
  bind_contact(m);
}
