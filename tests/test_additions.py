"""The recipes of CONTRIBUTING.md, followed: what they say to write is added to a copy of the sources, and works there.

Each recipe is a list of (file, the text before which it goes, what is written); how many files that are is promised.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from programs import linked

SOURCE = Path(__file__).parent.parent / "src" / "gyrod"

RUN_OPTION = [
    (
        "runs/options.py",
        "    output: Annotated[",
        """\
    stage: Annotated[str | None, Option(None, "Stage of a project that it belongs to.", "word", ("draft", "final"))]
""",
    ),
]
QUANTITY = [
    (
        "motion/tracks.py",
        "    @property\n    def omega(self) -> Array:",
        """\
    @property
    def speed(self) -> Array:
        \"\"\"Speed of the centre of mass, (n,).\"\"\"
        return np.asarray(np.linalg.norm(self.velocity, axis=-1))

""",
    ),
    (
        "quantities.py",
        '    Field("Omega", "rad/s", DIRECTORS, kinematic=True),',
        '    Field("speed", "m/s", derived=True),\n',
    ),
]
SENSOR = [
    (
        "model/sensors.py",
        "#: All sensors.",
        """\
@description
class HeightSensor(Sensor):
    \"\"\"Height of a point of a body or a rod.\"\"\"

    name: str = field(new_name)
    on: str = field(_bearer)
    at: Kept[float | Array | None, float | ArrayLike | None] = field(_place, "m", "", default=None)
    quantity: str = field(choice(("height",)), default="height")

    def unit(self, system: System) -> str:
        \"\"\"Metres.\"\"\"
        return "m"

    def problems(self, system: System) -> Iterator[str]:
        \"\"\"Whether there is such a place.\"\"\"
        yield from _misplaced(system, "on", self.on, "at", self.at)


""",
    ),
    ("model/sensors.py", "    PointSensor,\n    RotationSensor,", "    HeightSensor,\n"),
    (
        "motion/sensors.py",
        "    if isinstance(sensor, PointSensor):\n        return _point(rows, sensor)",
        """\
    if isinstance(sensor, HeightSensor):
        return np.array(rows.point(sensor.on, sensor.at, moved=0)[0][:, 2])
""",
    ),
    ("motion/sensors.py", "from gyrod.model.sensors import", "from gyrod.model.sensors import HeightSensor\n"),
]
ROD_LOAD = [
    (
        "model/forces.py",
        "#: All forces on bodies;",
        """\
@description
class Thrust(RodForce):
    \"\"\"A force on a rod along the normal of its section, as of a nozzle.\"\"\"

    loads: ClassVar[tuple[str, ...]] = ("force",)

    rod: str = field(rod_reference)
    force: float = field(checks.scalar, "N")
    name: str | None = field(new_name, default=None)


""",
    ),
    ("model/forces.py", "RodLoad, Drag, Flow)", "Thrust, "),
    (
        "equations/rods.py",
        "    drags = [f for f in loads if isinstance(f, Drag)]",
        """\
    pushed = [RodLoad(rod.name, 1.0, (0.0, 0.0, f.force), follow=True) for f in loads if isinstance(f, Thrust)]
    table["loads"] += [_load(rod, f, held, signals) for f in pushed]
""",
    ),
    ("equations/rods.py", "from gyrod.model import", "from gyrod.model.forces import Thrust\n"),
]
ROD_LAW = [
    (
        "model/forces.py",
        "#: All forces on bodies;",
        """\
@description
class Brake(StateLoad):
    \"\"\"A moment against the angular velocity of a rod, per length: -coefficient·|Omega|·Omega.\"\"\"

    law: ClassVar[str] = "brake"

    rod: str = field(rod_reference)
    coefficient: float = field(checks.scalar, "N s^2")
    span: Kept[Array, ArrayLike] = field(checks.span_of, default=(0.0, 1.0))
    name: str | None = field(new_name, default=None)

    @property
    def numbers(self) -> list[float]:
        \"\"\"The coefficient.\"\"\"
        return [self.coefficient]


""",
    ),
    ("model/forces.py", "RodLoad, Drag, Flow)", "Brake, "),
    (
        "cpp/gyrod/rod/laws.cpp",
        "template <class Law> class Compiled",
        """\
struct Brake {
  static constexpr std::string_view name = "brake";
  static constexpr std::size_t numbers = 1;
  template <class S> static RodPush<S> push(const double* c, const Vec3<double>&, const RodPlace<S>& at) {
    using std::sqrt;
    RodPush<S> out;
    out.moment = at.Omega * (S(-c[0]) * sqrt(at.Omega.dot(at.Omega)));
    return out;
  }
};

""",
    ),
    ("cpp/gyrod/rod/laws.cpp", "Flow>(name)", "Brake, "),
]
JOINT = [
    (
        "cpp/gyrod/joints/crossslide.hpp",
        "",
        """\
// Cross slide: displacement in the plane of axes 1 and 2, no rotation.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType cross_slide{
    .name = "crossslide",
    .rows = {{RowKind::plane, 2}, {RowKind::dot, 0, 1}, {RowKind::dot, 1, 2}, {RowKind::dot, 2, 0}},
    .motion = {{MotionAxis::slide, 0}, {MotionAxis::slide, 1}},
    .turns = Turns::none,
    .slides = Slides::plane,
};

} // namespace gyrod::joints
""",
    ),
    (
        "cpp/gyrod/joints/kinds.hpp",
        '#include "gyrod/joints/cylindrical.hpp"',
        '#include "gyrod/joints/crossslide.hpp"\n',
    ),
    ("cpp/gyrod/joints/kinds.hpp", "&joints::fixed,", "&joints::cross_slide, "),
    (
        "model/joints.py",
        "@description\nclass Cylindrical(_Axial):",
        """\
@description
class CrossSlide(_Axial):
    \"\"\"b slides in the plane through ``at`` with the normal ``axis`` and does not turn, as the table of a mill.\"\"\"

    free: ClassVar[int] = 2
    slides = True
    coordinate_names = ("x", "y")


""",
    ),
    ("model/joints.py", "    Cylindrical,\n    Planar,", "    CrossSlide,\n"),
]
#: Files that a recipe touches, at most; public names are also entered in `model/__init__.py` and `gyrod/__init__.py`.
LINK = [
    (
        "model/forces.py",
        "@description\nclass Bushing(Link):",
        """\
@description
class HardSpring(Link):
    \"\"\"A spring along the line between two points whose tension is the cube of its extension.\"\"\"

    law = "hard spring"
    a: str = field(reference)
    b: str = field(reference)
    at_a: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="a")
    at_b: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="b")
    _: KW_ONLY
    stiffness: float = field(checks.scalar, "N/m^3")
    length: float | None = field(checks.scalar, "m", default=None)
    name: str | None = field(new_name, default=None)


""",
    ),
    ("model/forces.py", "Bushing, UserForce, CForce)", "HardSpring, "),
    (
        "cpp/gyrod/rigid/laws.hpp",
        "template <class... L> struct Laws",
        """\
struct HardSpringLaw {
  static constexpr const char* name = "hard spring";
  static constexpr std::array numbers{"stiffness", "length"};
  static constexpr bool conservative = true;
  double k, length;

  template <class S> Vec3<S> force(const Vec3<S>& d, const Vec3<S>&) const {
    using std::sqrt;
    const S l = sqrt(d.dot(d)), u = l - S(length);
    return Vec3<S>(d * (S(k) * u * u * u / l));
  }
  template <class S> Vec3<S> secant(const Vec3<S>& a, const Vec3<S>& b, double) const {
    using std::sqrt;
    const S before = sqrt(a.dot(a)), after = sqrt(b.dot(b)), u = before - S(length), w = after - S(length);
    return Vec3<S>((a + b) * (S(0.25 * k) * (u + w) * (u * u + w * w) / (before + after)));
  }
  PointForce slopes(const Vec3<double>& d, const Vec3<double>& v) const {
    const Line line(d, v);
    const double u = line.length - length;
    return line.pull(k * u * u * u, 3.0 * k * u * u, 0.0);
  }
  double energy(const Vec3<double>& d) const { return 0.25 * k * std::pow(d.norm() - length, 4); }
  double dissipation(const Vec3<double>&, const Vec3<double>&) const { return 0.0; }
};

""",
    ),
    ("cpp/gyrod/rigid/laws.hpp", "SpringLaw>;", "HardSpringLaw, "),
]
FILES = {
    "run option": (RUN_OPTION, 1), "quantity": (QUANTITY, 2), "sensor": (SENSOR, 2), "rod load": (ROD_LOAD, 2),
    "law of a rod": (ROD_LAW, 2), "joint": (JOINT, 3), "link along the line": (LINK, 2),
}  # fmt: skip

SCRIPT = """
import inspect, io, sys
import numpy as np
import gyrod as gd
from gyrod.cli import app
from gyrod.files.options import RunOptions
from gyrod.model.forces import Brake, Thrust
from gyrod.model.joints import CrossSlide
from gyrod.model.sensors import HeightSensor
from gyrod.motion.readings import quantity
from typer.testing import CliRunner

assert gd.__file__.startswith(sys.argv[1])
bob = gd.Body("bob", 1.0, (0.1, 0.1, 0.1), position=(0, 0, 2), velocity=(3, 0, 4))
material = gd.Material(young=5e6, poisson=0.5, density=1100)
hose = gd.Rod("hose", 1.0, 6, gd.Circle(5e-3), material, gd.Clamped(), initial=gd.Straight((0, 0, 0), (1, 0, 0)))
system = gd.System([bob], rods=[hose], forces=[Thrust("hose", 0.02)], sensors=[HeightSensor("up", "bob")])

motion = gd.simulate(system, 0.01, stage="draft")
assert RunOptions(stage="final").options() == {"stage": "final"}
assert "--stage" in CliRunner().invoke(app, ["run", "--help"]).output
try:
    gd.simulate(system, 0.01, stage="drft")
except ValueError as error:
    assert "Did you mean 'draft'?" in str(error), error

found = quantity("bob.speed", system)
assert found.unit == "m/s" and np.array_equal(found.read(motion), motion["bob"].speed) and motion["bob"].speed[0] == 5.0

assert np.array_equal(motion.sensors["up"], motion["bob"].position[:, 2]) and motion.sensors.units["up"] == "m"
try:
    gd.System([bob], sensors=[HeightSensor("up", "bbo")])
except gd.ModelError as error:
    assert "Did you mean 'bob'?" in str(error), error

known = [gd.RodLoad("hose", force=(0, 0, 0.02), follow=True)]
same = gd.System([bob], rods=[hose], forces=known, sensors=system.sensors)
assert np.array_equal(gd.simulate(same, 0.01).y, motion.y)
alone = [gd.System(rods=[hose], forces=forces) for forces in (system.forces, known)]
rests = [gd.equilibrium(one, load=0.5) for one in alone]
assert np.array_equal(rests[0].y, rests[1].y), "a load factor scales it"
system.save("model.yaml")
assert gd.load("model.yaml") == system

braked = gd.System(rods=[hose], forces=[Brake("hose", 0.5, span=(0.2, 1)), gd.Flow("hose", (1, 0, 0), 2.0)])
braked.save("braked.yaml")
assert gd.load("braked.yaml") == braked and braked.forces[0].places == (("hose", 0.2), ("hose", 1.0))
try:
    gd.simulate(braked, 0.01)
except ValueError as error:
    assert "no law 'brake'" in str(error), "the core that is installed does not have it"

table = gd.System([bob], [CrossSlide("ground", "bob", at=(0, 0, 0), axis=(1, 0, 2))])
table.save("table.yaml")
assert gd.load("table.yaml") == table and table.joints[0].effort_units == ("N", "N")
"""

#: A body on a plane that leans by 0.4 rad, as a link of the tree, and one whose joint closes a loop: where they are
#: after a second. The library itself does not have the joint.
PROGRAM = """
#include <cmath>
#include <cstdio>

#include "gyrod/assembly/system.hpp"
#include "gyrod/integrate/methods.hpp"
#include "gyrod/joints/kinds.hpp"

using namespace gyrod;

void slide(const std::string& formulation, int rotation) {
  const double c = std::cos(0.4), s = std::sin(0.4);
  Mat3<double> leaning;
  leaning.col(0) = Vec3<double>(c, 0, -s);
  leaning.col(1) = Vec3<double>(0, 1, 0);
  leaning.col(2) = Vec3<double>(s, 0, c);
  SystemDescription d;
  d.formulation = formulation, d.gravity = {0, 0, -9.81};
  d.bodies.assign(2, RigidBody{.moments = {0.3, 0.25, 0.2}});
  JointTree& tree = d.joints.emplace();
  tree.joints.resize(3);
  for (Joint& j : tree.joints) {
    j.type = find_joint("crossslide");
    j.place.frame_a = j.place.frame_b = leaning, j.place.b = 1;
  }
  tree.joints[0].place.b = 0;
  tree.joints[1].type = find_joint("translational");
  tree.links = {{0, -1, 0}, {1, -1, 1}}, tree.cuts = {2}, tree.kept = {{0}};
  System system(d);
  std::vector<double> y(system.size(), 0.0);
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < rotation; i += 4) y[std::size_t(system.rigid()->offset(b) + 3 + i)] = 1.0;
  const double velocities[12] = {0, 0.5, 0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0};
  system.complete(0.0, velocities, y.data());
  StepOptions options;
  options.rtol = 1e-9, options.atol.assign(system.size(), 1e-9);
  auto integrator = make_integrator("dopri5", system.equations(), options);
  integrator->begin(0.0, y.data(), 1.0);
  while (integrator->t() < 1.0 && integrator->advance()) {}
  for (int b = 0; b < 2; ++b) {
    const double* x = integrator->y() + system.rigid()->offset(b);
    std::printf("%.16g %.16g %.16g %.16g\\n", integrator->t(), x[0], x[1], x[2]);
  }
}

int main() {
  for (const char* formulation : {"nullspace-quaternion", "absolute-quaternion"}) slide(formulation, 4);
  for (const char* formulation : {"nullspace-directors", "absolute-directors"}) slide(formulation, 9);
}
"""


#: The law of a load, and its derivatives by dual numbers beside those by differences.
LAW_PROGRAM = """
#include <cstdio>
#include <random>

#include "gyrod/rod/laws.cpp"

using namespace gyrod;

int main() {
  const RodLaw* law = find_rod_law("brake");
  const double c[] = {0.7}, h = 1e-6;
  std::mt19937 draw(1);
  std::uniform_real_distribution<double> some(-1.0, 1.0);
  Vec3<double> F, moved[4]; // Theta, x, Omega, v
  for (Vec3<double>* a : {&F, &moved[0], &moved[1], &moved[2], &moved[3]})
    for (int i = 0; i < 3; ++i) (*a)[i] = some(draw);
  const auto push = [&](const RodLaw& of, const Vec3<double>* at) {
    const double t = at[0].norm();
    const Vec4<double> p(std::cos(0.5 * t), std::sin(0.5 * t) / t * at[0][0], std::sin(0.5 * t) / t * at[0][1],
                         std::sin(0.5 * t) / t * at[0][2]);
    return of.push(c, F, RodPlace<double>{at[1], at[3], matrix_from_quaternion<double>(p), at[2]});
  };
  const RodPush<double> found = push(*law, moved);
  for (int i = 0; i < 3; ++i)
    std::printf("%.16g %.16g %.16g\\n", moved[2][i], found.moment[i], found.force[i]);
  for (const char* name : {"brake", "flow"}) {
    const double coefficients[] = {0.7, 0.3, 0.2};
    const RodLaw& of = *find_rod_law(name);
    const double t = moved[0].norm(), s = std::sin(0.5 * t) / t;
    const Vec4<double> p(std::cos(0.5 * t), s * moved[0][0], s * moved[0][1], s * moved[0][2]);
    const RodPlace<double> at{moved[1], moved[3], matrix_from_quaternion<double>(p), moved[2]};
    RodLaw::Block by_place, by_rate;
    of.derivatives(coefficients, F, at, by_place, by_rate);
    for (int k = 0; k < 14; ++k) { // e, Theta, x; w0, Omega, v
      RodPush<double> side[2];
      for (int d : {0, 1}) {
        RodPlace<double> near = at;
        const double step = d ? h : -h;
        if (k < 4) {
          Vec4<double> e = Vec4<double>::Zero();
          e[k] = 0.5 * step;
          near.R = matrix_from_quaternion<double>(p + multiply<double>(p, e));
        } else if (k != 7)
          (k < 7 ? near.x : k < 11 ? near.Omega : near.v)[k < 7 ? k - 4 : k < 11 ? k - 8 : k - 11] += step;
        side[d] = of.push(coefficients, F, near);
      }
      for (int i = 0; i < 6; ++i) {
        const auto entry = [&](const RodPush<double>& q) { return i < 3 ? q.moment[i] : q.force[i - 3]; };
        std::printf("%.16g %.16g 0\\n", (k < 7 ? by_place(i, k) : by_rate(i, k - 7)),
                    (entry(side[1]) - entry(side[0])) / (2 * h));
      }
    }
  }
}
"""


#: Derivatives of the force of a link, and differences; energies; the work of a step, and the change of energy.
LINK_PROGRAM = """
#include <cstdio>
#include "gyrod/rigid/forces.hpp"
#include "gyrod/rod/link_blocks.hpp"

using namespace gyrod;

int main() {
  using V3 = Vec3<double>;
  const HardSpringLaw law{3.0, 0.7};
  RodLink link{{}, law, {}};
  const V3 none = V3::Zero(), d(0.5, -0.3, 0.9), e(0.7, 0.1, 0.2);
  const auto motion = [&](const V3& x) { return PointMotion{x, none, none, Mat3<double>::Identity()}; };
  std::visit([&](const auto& of) {
    const PointMotion here[2] = {motion(none), motion(d)};
    const LinkForce by = slopes_of(of, 0.0, here);
    for (int k = 0; k < 3; ++k) {
      V3 step = none;
      step[k] = 1e-5;
      const PointMotion to[2] = {motion(none), motion(d + step)}, from[2] = {motion(none), motion(d - step)};
      const V3 by_differences = (force_of(of, 0.0, to).F - force_of(of, 0.0, from).F) / 2e-5;
      for (int i = 0; i < 3; ++i) std::printf("%.16g %.16g\\n", by.by.K(i, k), by_differences[i]);
    }
    std::printf("%.16g %.16g\\n", budget_of(of, 0.0, here).energy, law.energy(d));
  }, link.law);
  std::printf("%.16g %.16g\\n", law.secant<double>(d, e, 0.1).dot(e - d), law.energy(e) - law.energy(d));
  const LinePull<HardSpringLaw> force(-1, 0, none, none, law);
  BodyMotion<double> m{};
  m.x = d, m.R = Mat3<double>::Identity();
  std::printf("%.16g %.16g\\n", force.potential(0.0, &m), law.energy(d));
}
"""


def add(recipe, folder: Path, *, core: bool = False):
    """Follow the part of a recipe that is for Python or for the core, in the files of a folder."""
    for file, before, new in recipe:
        if file.startswith("cpp/") is not core:
            continue
        path = folder / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert before in text
        path.write_text(text.replace(before, new + before, 1), encoding="utf-8")


@pytest.mark.parametrize("what", FILES)
def test_recipes_touch_as_few_files_as_promised(what):
    recipe, most = FILES[what]
    assert len({file for file, *_ in recipe}) == most
    recipes = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    name = {"rod load": "load on rods", "law of a rod": "load with a law of its own"}.get(what, what)
    assert f"**A {name}** ({most} file" in recipes


def test_what_the_recipes_add_works(tmp_path):
    copy = tmp_path / "gyrod"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("gyrod._cpu", "gyrod._core_v3", "gyrod._core_baseline"):
        if (found := find_spec(name)) is not None:
            shutil.copy(found.origin, copy)
    for recipe, _ in FILES.values():
        add(recipe, copy)
    packages = Path(np.__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-S", "-c", dedent(SCRIPT), str(tmp_path)],  # -S: an editable install would come first
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(packages)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def printed(folder, file, recipe, text):
    """What a program prints, linked with the library, that sees a file of the core with a recipe in it."""
    there = folder / "cpp/gyrod" / file
    there.parent.mkdir(parents=True)
    shutil.copy(SOURCE.parent.parent / "cpp/gyrod" / file, there)
    add(recipe, folder, core=True)
    source = folder / "program.cpp"
    source.write_text(text, encoding="utf-8")
    return np.array(linked(str(source), "-O1", "-iquote", str(folder / "cpp")), dtype=float)


@pytest.mark.slow
def test_a_joint_of_the_recipe_moves_in_every_form(tmp_path):
    """Its files of the core, seen by a program that links the library as it is: 0.5 g sin(0.4) down the slope."""
    found = printed(tmp_path, "joints/kinds.hpp", JOINT, PROGRAM)
    way = 0.5 * 9.81 * np.sin(0.4)
    expected = [1.0, way * np.cos(0.4), 0.5, -way * np.sin(0.4)]
    np.testing.assert_allclose(found, np.tile(expected, (8, 1)), rtol=0, atol=1e-13)


@pytest.mark.slow
def test_a_law_of_the_recipe_acts_and_has_its_derivatives(tmp_path):
    """Its file of the core, compiled beside the library: the moment, and derivatives of both laws by differences."""
    found = printed(tmp_path, "rod/laws.cpp", ROD_LAW, LAW_PROGRAM)
    Omega, moment, force = found[:3].T
    np.testing.assert_allclose(moment, -0.7 * np.linalg.norm(Omega) * Omega, rtol=1e-14)
    assert not force.any()
    exact, by_differences = found[3:, 0], found[3:, 1]
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(exact, by_differences, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_a_link_of_the_recipe_pulls_at_rods_and_bodies(tmp_path):
    """Its file of the core, seen by a program: derivatives by differences, work by energies."""
    found = printed(tmp_path, "rigid/laws.hpp", LINK, LINK_PROGRAM)
    assert np.abs(found[:9]).max() > 0.1
    np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=0, atol=1e-8)
