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
    ("model/forces.py", "RodLoad, Drag)", "Thrust, "),
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
#: Files that a recipe touches, at most; public names are also entered in `model/__init__.py` and `gyrod/__init__.py`.
FILES = {"run option": (RUN_OPTION, 1), "quantity": (QUANTITY, 2), "sensor": (SENSOR, 2), "rod load": (ROD_LOAD, 2)}

SCRIPT = """
import inspect, io, sys
import numpy as np
import gyrod as gd
from gyrod.cli import app
from gyrod.files.options import RunOptions
from gyrod.model.forces import Thrust
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
"""


def added(text: str, before: str, new: str) -> str:
    assert before in text
    return text.replace(before, new + before, 1)


@pytest.mark.parametrize("what", FILES)
def test_recipes_touch_as_few_files_as_promised(what):
    recipe, most = FILES[what]
    assert len({file for file, *_ in recipe}) == most
    recipes = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {"rod load": "A load on rods", "run option": "A run option", "sensor": "A sensor", "quantity": "A quantity"}
    assert f"**{names[what]}** ({most} file" in recipes


def test_what_the_recipes_add_works(tmp_path):
    copy = tmp_path / "gyrod"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("gyrod._cpu", "gyrod._core_v3", "gyrod._core_baseline"):
        if (found := find_spec(name)) is not None:
            shutil.copy(found.origin, copy)
    for recipe, _ in FILES.values():
        for file, before, new in recipe:
            path = copy / file
            path.write_text(added(path.read_text(encoding="utf-8"), before, new), encoding="utf-8")
    packages = Path(np.__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-S", "-c", dedent(SCRIPT), str(tmp_path)],  # -S: an editable install would come first
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(packages)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
