"""What docs/examples.md, starters and gallery print is right to its last digit: against finer meshes and tolerances.

`TRUSTED` are values of fine meshes; the slow tests compute them again. The other tests hold texts and starters to them.
README's first hose is held to `data/trusted.npz` by test_error.py; other numbers of the gallery by test_examples.py.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from printed import ROOT, assert_printed, printed

import gyrod as gd
from gyrod.cli import models
from gyrod.comparison.discretizations import parse

GALLERY, SHORT = "docs/gallery.md", "docs/examples.md"
FINE = "elements:4x24"


def fine(system: gd.System, mesh: str = FINE) -> gd.System:
    return parse("mesh", mesh).of(system)


def example(name: str, model: str = "", mesh: str = FINE) -> dict:
    """An example whose model is meshed finely."""
    found = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    if model:
        names = found["main"].__globals__
        given = names[model]
        names[model] = lambda *args, **options: fine(given(*args, **options), mesh)
    return found


def cables() -> list[float]:
    """Sags of the cables of the gallery, and of the hose of docs/examples.md."""
    given = example("hanging_cable")["CABLES"].values()
    sections = [(material, radius) for material, radius in given] + [(list(given)[2][0], 5e-3)]
    return [
        gd.hang(
            10.0, between=((0, 0, 0), (9, 0, 0)), section=gd.Circle(radius=r), material=m, segments=48, degree=4
        ).sag
        for m, r in sections
    ]  # fmt: skip


def crane() -> list[float]:
    found = example("cable_on_a_crane", "crane")
    omega, _ = found["swing_rate"]()
    motion, behind = found["run"](1.5 * 2.0 * np.pi / omega)
    return [2.0 * np.pi / omega, np.abs(behind[motion.t > 1.5 * 2.0 * np.pi / omega]).max()]


def spaghetti() -> list[float]:
    return [example("flying_spaghetti", "spaghetti")["run"]().energy.total[-1]]


def spun() -> list[float]:
    """Lag and extension of the rod on the hub."""
    found = example("spin_up")
    system = fine(found["machine"](), "elements:4x8")
    motion = gd.simulate(system, 18.0, method="rodas", rtol=1e-5, output=np.linspace(0.0, 18.0, 361))
    end = np.einsum("tji,tj->ti", motion["hub"].matrix, motion["rod"].positions[:, -1])
    return [-end[:, 1].min(), end[motion.t > found["RISE"], 0].mean() - found["LENGTH"]]


def ring() -> list[float]:
    found = example("flipping_ring", "ring")
    return [found["run"](), found["flip"]().energy.bending_torsion[-1]]


def rods() -> list[float]:
    """Hose and string of docs/examples.md after a second: ends, and the moment at the clamp."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    steel = gd.Material(young=2.1e11, poisson=0.2, density=7850)
    along_y = gd.Straight((0, 0, 0), (0, 1, 0))
    mesh = {"segments": 24, "degree": 4, "initial": along_y}
    hose = gd.Rod("hose", section=gd.Circle(radius=5e-3), material=rubber, start=gd.Hinged(), **mesh)
    string = gd.Rod("string", section=gd.Circle(radius=1e-3), material=steel, start=gd.Clamped(), **mesh)
    motion = gd.simulate(gd.System(rods=[hose, string]), 1.0, rtol=1e-6, output=[0.5, 1.0])
    ends = [motion[name].positions[-1, -1, 1:] for name in ("hose", "string")]
    return [*ends[0], *ends[1], motion["string"].start_moment[-1, 0]]


def linkage() -> list[float]:
    """The four-bar of docs/examples.md after two seconds: top, bearing, its force."""
    text = (ROOT / SHORT).read_text(encoding="utf-8")
    block = next(x for x in text.split("```python\n") if "system.mobility()" in x).split("```")[0]
    names: dict = {}
    exec(compile(block.replace("rtol=1e-8", "rtol=1e-11"), SHORT, "exec"), names)
    motion = names["motion"]
    return [
        *motion["top"].position[-1, [0, 2]],
        motion["bearing"].coordinates[-1, 0],
        *motion["bearing"].force[-1, [0, 2]],
    ]


@dataclass(frozen=True)
class Numbers:
    """Values that texts print, and how they are found."""

    find: Callable[[], list[float]]
    #: What `find` returns, with a digit more than any text has.
    values: tuple[float, ...]
    #: File, sentence with # for a number, and which of the values these are.
    texts: tuple[tuple[str, str, tuple[int, ...]], ...]


TRUSTED = [
    Numbers(
        cables, (1.9079503, 1.9355867, 2.0351335, 2.0351),
        (
            (GALLERY, "The wire sags by # m,", (0,)),
            (GALLERY, "the hose by # m, 0.04 mm more", (2,)),
            (SHORT, "a hose of 10 m over 9 m sags by # m ```", (3,)),
        ),
    ),
    Numbers(
        crane, (6.3382165, 0.17152),
        ((GALLERY, "The period is # s by `gd.modes`", (0,)), (GALLERY, "a swing of # m is left", (1,))),
    ),
    Numbers(spaghetti, (1027.640,), ((GALLERY, "the impulse of the force, to 3e-5; # J", (0,)),)),
    Numbers(spun, (0.57382, 5.1395e-4), ((GALLERY, "lag is # m; at full speed the rod is longer by # m", (0, 1)),)),
    Numbers(
        ring, (0.998781, 3.82857),
        ((GALLERY, "at # of Michell's value", (0,)), (GALLERY, "After the flip it stores # J;", (1,))),
    ),
    Numbers(
        lambda: [example("post_buckling", "column")["run"]().events[0].value], (1.000000,),
        ((GALLERY, "Stability is lost at # of Euler's load", (0,)),),
    ),
    Numbers(
        lambda: [example("guitar_string", "string", "elements:4x40")["run"]()[0][4]], (981.5736,),
        ((GALLERY, "The fifth partial is at # Hz", (0,)),),
    ),
    Numbers(
        lambda: [(found := example("soft_finger", "finger"))["curvature"](found["run"]())[-1]], (18.81432,),
        ((GALLERY, "At 10 N the curvature is # 1/m", (0,)),),
    ),
    Numbers(
        rods, (-0.94009, -0.09910, 0.925879, -0.349392, 0.2125),
        (
            (SHORT, "ends after 1 s: [ 0. # # ] [ 0. # #] the clamp holds [# 0. 0. ] N m", (0, 1, 2, 3, 4)),
        ),
    ),
    Numbers(
        linkage, (1.445005, 0.512197, 1.659512, -8.9696, 4.4958),
        (
            (SHORT, "top after 2 s: [# 0. #] bearing: [#] rad, [# 0. # ] N", (0, 1, 2, 3, 4)),
        ),
    ),
]  # fmt: skip
LABELS = ["cables", "crane", "spaghetti", "spin-up", "ring", "column", "string", "finger", "short rods", "linkage"]


@pytest.mark.parametrize("numbers", TRUSTED, ids=LABELS)
def test_texts_print_converged_numbers(numbers):
    for file, sentence, which in numbers.texts:
        assert_printed(file, sentence, *(numbers.values[i] for i in which))


@pytest.mark.slow
@pytest.mark.parametrize("numbers", TRUSTED, ids=LABELS)
def test_converged_numbers(numbers):
    found = numbers.find()
    for file, sentence, which in numbers.texts:
        for i, (_, digit) in zip(which, printed(file, sentence), strict=True):
            assert abs(found[i] - numbers.values[i]) < 0.2 * digit, (sentence, found[i])


# --- starters --------------------------------------------------------------------------------------------------------

#: By starter: a body, its position at the end of the run, and the error that is allowed, in m.
STARTERS = {
    "cable": ("load", (2.125777, 0.0, -5.299027), 1e-5),
    "top": ("top", (-0.0720174, 0.0723881, 0.1989308), 1e-6),
    "four-bar": ("rocker", (1.20919423, 0.0, 0.49991546), 1e-7),
    "pendulum": ("lower", (-0.0544948, 0.0, -0.5266670), 5e-6),
}
PULL = 532.985  # N, the largest one of the trolley on the cable


def ran(name: str, **options) -> gd.Motion:
    file = gd.files.loads(models.starters()[name])
    system = fine(file.system) if options and file.system.rods else file.system
    return gd.simulate(system, file.run.until, **(file.run.options() | options))


def assert_starter(name: str, motion: gd.Motion, share: float) -> None:
    body, position, allowed = STARTERS[name]
    np.testing.assert_allclose(motion[body].position[-1], position, rtol=0, atol=share * allowed)
    if name == "cable":
        assert np.linalg.norm(motion["cable"].start_force, axis=1).max() == pytest.approx(PULL, abs=0.02 * share)


@pytest.mark.parametrize("name", STARTERS)
def test_starters_are_converged(name):
    assert_starter(name, ran(name), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTERS)
def test_converged_starters(name):
    assert_starter(name, ran(name, rtol=1e-6 if name == "cable" else 1e-11), 0.3)
