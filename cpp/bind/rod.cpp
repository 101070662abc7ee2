// Rods from dictionaries of arrays; the Python side has checked everything.
#include "system.hpp"

#include "gyrod/rod/discretization.hpp"
#include "gyrod/rod/strings.hpp"
#include "gyrod/rigid/formulations.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

namespace gyrod {
std::unique_ptr<RodEquations> make_rods_absolute(std::vector<RodDescription>, FormulationOptions, std::vector<RodString>);
std::unique_ptr<RodEquations> make_rods_nullspace(std::vector<RodDescription>, FormulationOptions, std::vector<RodString>);
std::unique_ptr<RodEquations> make_rods_held(std::vector<RodDescription>, FormulationOptions, std::vector<RodString>);
}
using namespace gyrod;

namespace {
using V3 = Vec3<double>;

std::vector<V3> vectors(const nb::dict& d, const char* key) {
  const auto a = nb::cast<Table>(d[key]);
  std::vector<V3> out;
  for (std::size_t i = 0; i < a.shape(0); ++i) out.emplace_back(a(i, 0), a(i, 1), a(i, 2));
  return out;
}

std::vector<Mat3<double>> matrices(const nb::dict& d, const char* key) {
  const auto a = nb::cast<nb::ndarray<const double, nb::shape<-1, 3, 3>, nb::c_contig, nb::device::cpu>>(d[key]);
  std::vector<Mat3<double>> out(a.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i)
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) out[i](r, c) = a(i, std::size_t(r), std::size_t(c));
  return out;
}

std::vector<double> list(const nb::dict& d, const char* key) { return numbers(nb::cast<Times>(d[key])); }

// A Python function of time that returns `count` numbers.
template <class Use> auto time_function(nb::object f, std::size_t count, Use use) {
  return [f = std::move(f), count, use](double t, auto&... out) {
    nb::gil_scoped_acquire lock;
    const auto r = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(f(t));
    if (r.size() != count) throw nb::value_error("a function of time returned a wrong number of values");
    use(r.data(), out...);
  };
}

// held, clamped, (x, v, a, p, Omega) as 16 numbers, function or None; with a host: its number, point and frame there
RodEnd make_end(const nb::tuple& e) {
  const auto fill = [](const double* z, EndMotion& m) {
    m.x = Part<3>::of(z), m.v = Part<3>::of(z + 3), m.a = Part<3>::of(z + 6);
    m.p = Part<4>::of(z + 9), m.Omega = Part<3>::of(z + 13);
  };
  RodEnd end;
  end.held = item<bool>(e, 0), end.clamped = item<bool>(e, 1);
  fill(numbers(item<Times>(e, 2)).data(), end.at);
  if (!e[3].is_none()) end.move = time_function(nb::object(e[3]), 16, fill);
  if (nb::len(e) > 4) end.host = item<int>(e, 4), end.point = item<V3>(e, 5), end.frame = item<Vec4<double>>(e, 6);
  return end;
}

// follow, force shares, moment shares (frame, vertex, weight), six numbers, function or None
RodLoad make_load(const nb::tuple& l) {
  RodLoad load;
  load.follow = item<bool>(l, 0);
  const auto shares = [](const nb::handle& h) {
    std::vector<RodLoad::Share> out;
    for (nb::handle s : nb::cast<nb::list>(h)) {
      const auto t = nb::cast<nb::tuple>(s);
      out.push_back({item<int>(t, 0), item<int>(t, 1), item<V3>(t, 2)});
    }
    return out;
  };
  load.force = shares(l[1]), load.moment = shares(l[2]);
  const auto fill = [](const double* z, V3& F, V3& M) { F = Part<3>::of(z), M = Part<3>::of(z + 3); };
  fill(numbers(item<Times>(l, 3)).data(), load.F, load.M);
  if (!l[4].is_none()) load.function = time_function(nb::object(l[4]), 6, fill);
  return load;
}

// kind, point, axis, radius, stiffness, smoothing, lengths and thicknesses of the vertices
RodObstacle make_obstacle(const nb::tuple& t) {
  RodObstacle o;
  const auto kind = item<std::string>(t, 0);
  o.kind = kind == "plane" ? RodObstacle::plane : kind == "sphere" ? RodObstacle::sphere : RodObstacle::cylinder;
  o.point = item<V3>(t, 1), o.axis = item<V3>(t, 2), o.radius = item<double>(t, 3);
  o.stiffness = item<double>(t, 4), o.smoothing = item<double>(t, 5);
  o.length = numbers(item<Times>(t, 6)), o.thickness = numbers(item<Times>(t, 7));
  return o;
}

Curvature curvature_kind(const std::string& name) {
  static const std::pair<const char*, Curvature> names[] = {{"sine", Curvature::sine},
                                                            {"half-sine", Curvature::half_sine},
                                                            {"tangent", Curvature::tangent},
                                                            {"half-tangent", Curvature::half_tangent},
                                                            {"angle", Curvature::angle},
                                                            {"sine-family", Curvature::sine_family},
                                                            {"tangent-family", Curvature::tangent_family}};
  for (const auto& [text, kind] : names)
    if (name == text) return kind;
  throw nb::value_error(("no curvature " + name).c_str());
}

RodDescription make_rod(const nb::dict& d) {
  RodDescription r;
  r.name = nb::cast<std::string>(d["name"]);
  r.ds = list(d, "ds"), r.span = list(d, "span"), r.weight = list(d, "weight");
  r.segments = int(r.ds.size());
  if (d.contains("degree")) r.degree = nb::cast<int>(d["degree"]);
  if (r.degree) r.lengths = list(d, "lengths");
  r.CG = matrices(d, "CG"), r.CK = matrices(d, "CK"), r.CX = matrices(d, "CX");
  r.cG = vectors(d, "cG"), r.cK = vectors(d, "cK"), r.G0 = vectors(d, "G0"), r.K0 = vectors(d, "K0");
  r.J = vectors(d, "J");
  r.mass = list(d, "mass"), r.tributary = list(d, "tributary"), r.off = list(d, "off");
  if (!d["drag"].is_none()) r.drag = vectors(d, "drag");
  if (!d["spin_drag"].is_none()) r.spin_drag = vectors(d, "spin_drag");
  r.damped = nb::cast<bool>(d["damped"]), r.coupled = nb::cast<bool>(d["coupled"]);
  r.blended = nb::cast<bool>(d["blended"]);
  const auto strain = nb::cast<std::string>(d["strain"]);
  if (strain == "stretch") r.strain = Strain::stretch;
  r.held = strain == "kirchhoff" ? 2 : strain == "inextensible" ? 3 : 0;
  r.law = CurvatureLaw(curvature_kind(nb::cast<std::string>(d["curvature"])), nb::cast<double>(d["m"]));
  r.gravity = nb::cast<V3>(d["gravity"]);
  r.ends[0] = make_end(nb::cast<nb::tuple>(d["start"])), r.ends[1] = make_end(nb::cast<nb::tuple>(d["end"]));
  for (nb::handle h : nb::cast<nb::list>(d["loads"])) r.loads.push_back(make_load(nb::cast<nb::tuple>(h)));
  if (d.contains("foundation") && !d["foundation"].is_none()) {
    const auto k = nb::cast<Table>(d["foundation"]), at = nb::cast<Table>(d["anchor"]);
    for (std::size_t n = 0; n < k.shape(0); ++n) {
      const double* row = &k(n, 0);
      if (std::any_of(row, row + 6, [](double x) { return x != 0.0; }))
        r.supports.push_back({int(n), Part<3>::of(&at(n, 0)), Part<3>::of(row), Part<3>::of(row + 3)});
    }
  }
  if (d.contains("spin")) r.spin = nb::cast<V3>(d["spin"]), r.spins = !r.spin.isZero();
  if (d.contains("obstacles"))
    for (nb::handle h : nb::cast<nb::list>(d["obstacles"]))
      r.obstacles.push_back(make_obstacle(nb::cast<nb::tuple>(h)));
  if (d.contains("stretch") && !d["stretch"].is_none()) {
    if (nb::isinstance<nb::float_>(d["stretch"]))
      for (V3& g : r.G0) g[2] *= nb::cast<double>(d["stretch"]);
    else
      r.stretch =
          [f = time_function(nb::object(d["stretch"]), 1, [](const double* z, double& g) { g = *z; })](double t) {
            double g = 1.0;
            f(t, g);
            return g;
          };
  }
  return r;
}

// points (kind, index, segment or node, xi, offset), law, four numbers, function or None: as straight pieces
void add_string(const nb::dict& d, const std::vector<RodDescription>& rods, std::vector<RodString>& out) {
  std::vector<StringPoint> points;
  for (nb::handle h : nb::cast<nb::list>(d["points"])) {
    const auto p = nb::cast<nb::tuple>(h);
    points.push_back(
        {item<int>(p, 0) == 2 ? item<int>(p, 1) : -1, item<int>(p, 2), item<double>(p, 3), item<V3>(p, 4)});
    StringPoint& last = points.back();
    last.node = last.rod >= 0 && rods[std::size_t(last.rod)].degree > 0;
  }
  const auto n = nb::cast<std::array<double, 4>>(d["numbers"]);
  RodString s;
  s.tendon = nb::cast<std::string>(d["law"]) == "tendon";
  if (s.tendon)
    s.tension = n[0];
  else
    s.stiffness = n[0], s.damping = n[1], s.length = n[2], s.smoothing = n[3];
  if (!d["function"].is_none())
    s.function =
        [f = time_function(nb::object(d["function"]), 1, [](const double* z, double& T) { T = *z; })](double t) {
          double T = 0.0;
          f(t, T);
          return T;
        };
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    s.ends[0] = points[i], s.ends[1] = points[i + 1];
    out.push_back(s);
  }
}
} // namespace

std::unique_ptr<RodEquations> make_rods(const std::string& formulation, const nb::list& rods, const nb::dict& options) {
  std::vector<RodDescription> list;
  for (nb::handle h : rods) list.push_back(make_rod(nb::cast<nb::dict>(h)));
  if (formulation == "absolute-quaternion")
    return make_rods_absolute(std::move(list), formulation_options(options), {});
  if (formulation == "nullspace-quaternion") {
    const bool held = std::any_of(list.begin(), list.end(), [](const RodDescription& r) { return r.held > 0; });
    if (held) return make_rods_held(std::move(list), formulation_options(options), {});
    std::vector<RodString> strings;
    if (options.contains("strings"))
      for (nb::handle h : nb::cast<nb::list>(options["strings"])) add_string(nb::cast<nb::dict>(h), list, strings);
    return make_rods_nullspace(std::move(list), formulation_options(options), std::move(strings));
  }
  throw nb::value_error(("rods have no formulation " + formulation).c_str());
}
