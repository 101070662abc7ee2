"""Damaged models and wrong calls, by seed: shared by the tests and by tools/campaign.py.

A case is a seed. `model_text` makes a model file from a valid one by changing its structure; `contact_data` puts bodies
and rods on, in and beside surfaces with laws of all sizes; `call` makes a call of the public interface with one
argument replaced. `judge` runs a case and says how it ended: "result", "sentence" (an error
that gyrod raised on purpose) or "defect" with the reason. `campaign` runs many in child processes: what crashes one, or
takes too long, is a defect of that case, and the others go on.
"""

from __future__ import annotations

import json
import linecache
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gyrod as gd
from gyrod import files, problems, rotations

#: Seconds for a case, bytes of addresses for a child, and steps of a run.
SECONDS, MEMORY, STEPS = 20, 6 << 30, 200
#: What an error on purpose may be.
EXPECTED = (ValueError, ArithmeticError, OSError, RuntimeError)
PACKAGE = str(Path(gd.__file__).parent)

# --- models ----------------------------------------------------------------------------------------------------------

_NAMES = ("chain", "four-bar", "slider-crank", "joint-tree", "lang-a", "rubber-pendulum", "lang-c")
_NUMBERS = (0, -1, 1, 2.5, 1e-300, -1e-9, 1e9, 1e49, 1e99, 1e308, math.nan, math.inf, -math.inf, 10**400, 2**63)
_WORDS = ("", "ground", "x", "top", "1 mm", "3 kg", "nan", "sin(t)", "9^9^9^9", "-" * 50, "\u00e9\u2603", "a" * 5000)


@cache
def _valid() -> list[dict[str, Any]]:
    starters = Path(PACKAGE) / "cli" / "starters"
    found = [files.load_model(path) for path in sorted(starters.glob("*.yaml"))]
    data = [files.to_data(model.system) for model in found]
    data += [files.to_data(problems.get(name).system) for name in _NAMES]
    return [json.loads(json.dumps(model)) for model in data]


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all parts of a document."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _change(r: random.Random, data: dict[str, Any]) -> None:
    """One change of the structure of a document, in place."""
    places = list(_places(data))
    path = r.choice([p for p in places if p != ("gyrod",)])
    parent, key = _at(data, path[:-1]), path[-1]
    value = parent[key]
    kind = r.randrange(8)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and r.random() < 0.7:
        parent[key] = value * r.choice((-1, 0, 1e-12, 1e-3, 0.5, 2.0, 1e3, 1e6, 1e12, 1e40)) + r.choice((0, 0, 1e-3))
    elif kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):  # a misspelt or unknown field
        letters = list(str(key))
        letters.insert(r.randrange(len(letters) + 1), r.choice("aex_ "))
        parent["".join(letters)] = parent.pop(key)
    elif kind == 2:
        parent[key] = deepcopy(_at(data, r.choice(places)))  # something from elsewhere
    elif kind == 3 and isinstance(value, list) and value:
        value.append(deepcopy(r.choice(value)))
    elif kind == 4:
        parent[key] = [value] if r.random() < 0.5 else {"value": value}
    elif kind == 5:
        parent[key] = r.choice(_WORDS)
    elif kind == 6:
        parent[key] = r.choice((None, True, [], {}, [[]], [None] * 3, {"ground": 1}))
    else:
        parent[key] = r.choice(_NUMBERS)


def model_text(seed: int) -> str:
    """A model file, JSON (which is YAML too), with one to three changes."""
    r = random.Random(seed)
    data = deepcopy(r.choice(_valid()))
    for _ in range(r.choice((1, 1, 2, 3))):
        _change(r, data)
    return json.dumps(data)


def _use_model(seed: int) -> None:
    """Read a damaged model, and compute something if it is one."""
    text = model_text(seed)
    system = files.from_data(json.loads(text)) if seed % 2 else files.loads(text).system
    what = random.Random(-seed).randrange(4)
    if what == 0:
        gd.equilibrium(system)
        return
    method = ("auto", "dopri5", "radau5", "rodas")[what] if system.rods else ("auto", "dop853", "rodas", "seulex")[what]
    motion = gd.simulate(system, 0.01, method=method, max_steps=STEPS)
    if not np.isfinite(motion.energy.total).all():
        raise AssertionError("energy is not finite")


# --- contacts --------------------------------------------------------------------------------------------------------

_SHAPES: tuple[dict[str, Any], ...] = (
    {"sphere": {"radius": 0.05}}, {"capsule": {"radius": 0.02, "length": 0.06}}, {"box": {"size": [0.1, 0.08, 0.1]}},
    {"cylinder": {"radius": 0.04, "length": 0.06}}, {"cone": {"radius": 0.04, "length": 0.08}},
)  # fmt: skip
_SURFACES: tuple[dict[str, Any], ...] = (
    {"plane": {}},
    {"plane": {"normal": [0.5, 0, 1], "point": [0, 0, -0.12]}},
    {"shaft": {"radius": 0.1, "point": [0, 0, -0.1], "axis": [0, 1, 0]}},
    {"pipe": {"radius": 0.3, "point": [0, 0, 0.3], "axis": [1, 0, 0]}},
    {"bowl": {"radius": 5, "center": [0, 0, 4.98]}},
    {"eyelet": {"radius": 0.2, "wire": 0.02, "center": [0, 0, 0.22], "axis": [1, 0, 0]}},
    {"box": {"size": [1, 1, 0.1], "offset": [0, 0, -0.05]}},
    {
        "height_field": {
            "heights": [[0, -0.02, 0], [-0.03, 0, -0.01]] * 2,
            "spacing": 0.4,
            "corner": [-0.4, -0.4, -0.01],
        }
    },
    {"sphere": {"radius": 0.2, "offset": [0, 0, -0.2]}},
    {"cone": {"radius": 0.3, "length": 0.3, "offset": [0, 0, -0.2]}},
)


def contact_data(seed: int) -> dict[str, Any]:
    """Bodies and rods that touch surfaces and each other, with laws of all sizes; a third is damaged as well."""
    r = random.Random(seed)

    def size(low: float, high: float) -> float:
        return math.exp(r.uniform(math.log(low), math.log(high)))

    def law() -> dict[str, Any]:
        found: dict[str, Any] = {"stiffness": size(1e1, 1e12)}
        found |= r.choice(({}, {"damping": size(1e-3, 1e3)}, {"restitution": r.choice((0, 0.5, 0.99, 1))}))
        found |= r.choice(({}, {"exponent": 1.5}, {"smoothing": size(1e-9, 1e-1)}, {"margin": r.uniform(-0.02, 0.02)}))
        slides: dict[str, Any] = {"coefficient": r.choice((0, 0.3, 1, 10))}
        if r.random() < 0.5:
            slides |= {"presliding": size(1e-9, 1e-2)}
        else:
            slides |= {"sticking": False, "slip_speed": size(1e-9, 1), "rolling": size(1e-6, 1), "spinning": 1e-3}
        return found | r.choice(({}, {"friction": r.choice((0.2, 10.0))}, {"friction": slides}))

    bodies = [
        {
            "name": f"b{i}", "mass": size(1e-3, 1e2), "inertia": [1e-3] * 3, "shape": r.choice(_SHAPES),
            "position": [0.1 * i, 0, r.choice((0.05, 0.06, 0.2))],
            "velocity": [r.choice((0, 0, 3, -100)) for _ in "xyz"],
            "angular_velocity": [r.choice((0, 0, 50)) for _ in "xyz"],
        }
        for i in range(r.randrange(3))
    ]  # fmt: skip
    high, mesh = r.choice((0.005, 0.0049, 0.1)), r.choice(("staggered", "elements"))
    lies: dict[str, Any] = {
        "name": "rod", "segments": r.choice((6, 6, 12)), "discretization": mesh,
        "section": {"circle": {"radius": 0.005}},
        "initial": {"straight": {"start": [-0.2, 0, high], "end": [0.2, 0, high + r.choice((0, 0.05))]}},
        "material": {"young": size(1e4, 1e11), "poisson": 0.3, "density": 1000},
    }  # fmt: skip
    above, away = high + r.choice((0.0099, 0.011, 0.05)), r.choice((0.0, 0.1, 0.2))
    other = {"straight": {"start": [-away, -0.2, above], "end": [away, 0.2, above]}}
    count = r.choice((1, 1, 2)) if not bodies or r.random() < 0.4 else 0
    rods = [lies, {**lies, "name": "upper", "initial": other}][:count]
    names, strands = [body["name"] for body in bodies], [rod["name"] for rod in rods]
    contacts = []
    for _ in range(r.choice((1, 1, 2, 3))):
        touches = r.choice((*names, *strands, "all"))
        others = [name for name in names if name != touches]
        if touches in strands or (strands and touches == "all"):
            others += [*strands, "all"] * 2
        contact = {"a": touches, "b": r.choice((*_SURFACES, *others)), **law()}
        if rods:  # which take damping
            contact.pop("restitution", None)
        if contact["b"] in (*strands, "all"):
            contact.pop("exponent", None)
        contacts.append(contact)
    down = r.choice((0, -9.81))
    data = {"gyrod": 1, "bodies": bodies, "rods": rods, "contacts": contacts, "gravity": [0, 0, down]}
    data = json.loads(json.dumps(data))
    if r.random() < 1 / 3:
        _change(r, data)
    return data


def _acted(system: gd.System, r: random.Random) -> list[gd.Event]:
    """An event that changes velocities of a body or rod, by what may be none."""
    name = r.choice((*(body.name for body in system.bodies), *system.rod_names, "nobody"))
    value = r.choice(((0, 0, 1), (0, 0, 0), (0, 0, 1e9), (1, 2), math.nan, None, {"velocity": (1, 0, 0)}, {"spin": 1}))
    at = r.choice((0.004, 0.0, 1e-9))
    return [gd.Event(lambda t, _: t - at, action=lambda t, _: None if r.random() < 0.1 else {name: value})]


def _use_contact(seed: int) -> None:
    """A model of contacts: at rest, along a load, or in motion; then all that is said about them."""
    system = files.from_data(contact_data(seed))
    r = random.Random(-seed)
    how = r.random()
    if how < 0.15:
        rest = gd.equilibrium(system)
        tracks = rest.motion.contacts
        if r.random() < 0.3:
            gd.modes(rest, 3)
    elif how < 0.25:
        tracks = gd.follow(system, "load", (0, 1)).motion.contacts
    else:
        method = r.choice(("auto", "auto", "radau5", "rodas", "dop853", "seulex", "moreau", "moreau"))
        step = r.choice((1e-4, 1e-3, 1e-2)) if method == "moreau" else None
        events = _acted(system, r) if r.random() < 0.15 else []
        until = r.choice((0.01, 0.1))
        motion = gd.simulate(system, until, method=method, step=step, events=events, max_steps=10 * STEPS)
        if not np.isfinite(motion.energy.total).all():
            raise AssertionError("energy is not finite")
        tracks = motion.contacts
    for track in tracks.values():
        if not all(np.isfinite(x).all() for x in (track.force, track.slip, track.normal)) or np.isnan(track.gap).any():
            raise AssertionError("what a contact says is not finite")
        if np.any(track.normal < -1e-12 * np.max(track.normal, initial=0.0)):
            raise AssertionError("a contact pulls")


# --- calls -----------------------------------------------------------------------------------------------------------


class _Rude:
    """An object that answers every question with an error of its own."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __float__(self) -> float:
        raise KeyError("no number")

    def __len__(self) -> int:
        raise ZeroDivisionError

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise MemoryError


def _values(r: random.Random) -> Any:
    """Something that an argument should not be."""
    made: tuple[Callable[[], Any], ...] = (
        lambda: r.choice(_NUMBERS), lambda: r.choice(_WORDS), lambda: None, lambda: True, list, dict,
        lambda: {"x": 1}, lambda: [1], lambda: [[1, 2], [3]], lambda: (1.0, 2.0, 3.0), lambda: np.eye(3),
        lambda: np.zeros((0, 3)), lambda: np.full(3, np.nan), lambda: 1 + 2j, lambda: b"bytes", lambda: object(),
        lambda: _Rude(), lambda: lambda *_: 1 / 0, lambda: int, lambda: {1, 2}, lambda: range(3), lambda: "top",
        lambda: np.array(["a", "b"]), lambda: [None, None, None], lambda: Path("/nonexistent/x"),
    )  # fmt: skip
    return r.choice(made)()


@cache
def _calls() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Calls of the public interface that are right."""
    top, chain = problems.get("lang-a").system, problems.get("chain").system
    material = gd.Material(young=1e6, poisson=0.4, density=1e3)
    hose: dict[str, Any] = {
        "name": "hose", "length": 1.0, "segments": 4, "section": gd.Circle(0.01), "material": material,
        "initial": gd.Straight((0, 0, 0), (0, 1, 0)), "start": gd.Clamped(), "damping": gd.Damping(factor=1e-3),
    }  # fmt: skip
    rod = gd.Rod(**hose)
    hanging = gd.System(rods=[rod])
    motion, sim, ode = gd.simulate(top, 0.01), gd.stepper(top), gd.ode(top)
    place = {"a": "ground", "b": "top", "at": (0, 0, 0), "axis": (0, 0, 1)}
    run = {"system": top, "t_end": 0.01, "max_steps": STEPS}
    tuning: dict[str, Any] = {
        "method": "dopri5", "formulation": "nullspace-quaternion", "rtol": 1e-3, "atol": None, "norm": "physical",
        "projection": "step", "step": None, "first_step": None, "max_step": None, "output": None, "events": (),
        "dense": True, "assemble": False, "coordinates": None, "sigma": None, "potential": None, "order": None,
        "resume": False, "threads": 1,
    }  # fmt: skip
    return [
        (gd.Formulation, {"name": "absolute-quaternion", "index": 0, "null_space": "analytic", "baumgarte": (1.0, 1.0),
                          "velocity": "material", "reduce": True, "projection": "step"}),
        (gd.simulate, {**run, **tuning}), (gd.simulate, {**run, "system": hanging, "method": "rodas"}),
        (gd.Body, {"name": "b", "mass": 1.0, "inertia": (1, 1, 1), "position": (0, 0, 0), "orientation": (1, 0, 0, 0),
                   "velocity": (0, 0, 0), "angular_velocity": (0, 0, 1)}),
        (gd.Rod, hose), (gd.Material, {"young": 1e6, "poisson": 0.4, "density": 1e3}), (gd.Circle, {"radius": 0.01}),
        (gd.Damping, {"shear": 0.1, "extension": 0.1, "bending": 0.1, "torsion": 0.1}),
        (gd.System, {"bodies": list(top.bodies), "joints": [], "rods": [rod], "forces": [], "gravity": (0, 0, -9.81)}),
        (gd.Revolute, {**place, "stiffness": 2.0, "damping": 0.1, "limits": (None, 1.0), "drive": None, "name": "j"}),
        (gd.SpringDamper, {"a": "ground", "b": "top", "at_a": (0, 0, 1), "stiffness": 3.0, "length": 1}),
        (gd.Force, {"body": "top", "force": (1, 2, 3), "at": (0, 0, 0), "frame": "space"}),
        (gd.RodLoad, {"rod": "hose", "at": 1.0, "force": (0, 0, 1), "moment": (0, 0, 0), "follow": False}),
        (gd.equilibrium, {"system": hanging, "guess": None, "load": 1.0, "t": 0.0, "tolerance": 1e-9, "relax": True}),
        (gd.modes, {"system": hanging, "n": 2}), (gd.assemble, {"system": chain}),
        (gd.stepper, {"system": top, "method": "auto", "rtol": 1e-6, "inputs": None, "record": False}),
        (gd.ode, {"system": top, "formulation": "nullspace-quaternion"}),
        (sim.step, {"h": 1e-3}), (sim.set, {"name": 1.0}), (sim.restore, {"snapshot": sim.save()}),
        (ode.fun, {"t": 0.0, "y": ode.y0}), (ode.jac, {"t": 0.0, "y": ode.y0}), (ode.project, {"t": 0.0, "y": ode.y0}),
        (ode.motion, {"t": [0.0, 1.0], "y": [ode.y0, ode.y0]}),
        (motion, {"t": 0.005}), (motion.__getitem__, {"name": "top"}),
        (chain.body, {"name": "link0"}), (chain.rod, {"name": "hose"}), (chain.joint, {"name": "ball0"}),
        (chain.attachment, {"joint": chain.joints[0]}), (chain.spring_length, {"spring": None}),
        (chain.cable_length, {"cable": None}), (chain.link_points, {"link": None}),
        (rod.segment_at, {"s": 0.5}), (rod.stiffness_at, {"s": 0.5}), (rod.inertia_at, {"s": [0.5]}),
        (rod.lumped_inertia, {}), (problems.get, {"name": "chain"}), (problems.chain, {"links": 2}),
        (problems.coning, {"angle": 0.1, "rate": 1.0}), (problems.four_bar, {"loops": 1}),
        (problems.heavy_top, {"spin": 20.0}), (problems.bennett, {"ratio": 2.0, "twist": 0.4}),
        (problems.free_top, {"moments": (1.0, 0.5), "angular_velocity": (0.4, 0.0, 2.0)}),
        (gd.rl2_error, {"t": [0, 1], "exact": [0, 1], "approximate": [0, 1]}),
        (gd.attitude, {"t": np.linspace(0, 1, 20), "rates": np.ones((20, 3))}),
        (rotations.exp, {"vector": (0, 0, 1)}), (files.loads, {"text": "gyrod: 1"}), (gd.load, {"path": "x.yaml"}),
        (gd.open, {"file": "x.h5"}),
        (gd.study, {"model": top, "vary": {"top.mass": [10.0]}, "outputs": {"x": "top.position"}, "t_end": 1e-3,
                    "engine": "serial"}),
    ]  # fmt: skip


def call(seed: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function and its arguments by name, most of them right."""
    r = random.Random(seed)
    function, arguments = r.choice(_calls())
    given = dict(arguments)
    for name in r.sample(sorted(given), min(len(given), r.choice((1, 1, 1, 2)))):
        given[name] = _values(r)
    return function, given


def _use_call(seed: int) -> None:
    function, given = call(seed)
    if len(given) < 3:  # by position: names of such arguments are seldom given
        function(*given.values())
    else:
        function(**given)


# --- verdicts --------------------------------------------------------------------------------------------------------

USES = {"model": _use_model, "contact": _use_contact, "call": _use_call}
#: What must be found out: a process that dies, an error of Python's own, a number that is none, a word without meaning.
PROBES: dict[str, Callable[[int], object]] = {
    "crash": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "raw": lambda _: gd.System.body(None, "x"),  # type: ignore[arg-type]
    "divided": lambda _: np.ones(1) / np.zeros(1),
    "sound": lambda _: None,
}


def judge(kind: str, seed: int) -> tuple[str, str]:
    """How a case ends, and the error's words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning) if kind == "call" else warnings.simplefilter("error")
            (USES | PROBES)[kind](seed)
    except RuntimeWarning as warning:  # of NumPy: something was divided by zero, or of gyrod: a sentence
        frame = traceback.extract_tb(warning.__traceback__)[-1]
        said = "warn" in (frame.line or "")
        return ("sentence" if said else "defect"), f"RuntimeWarning in {frame.filename}:{frame.lineno}: {warning}"
    except Exception as error:
        return verdict(error)
    return "result", ""


def verdict(error: Exception) -> tuple[str, str]:
    """Whether an error was raised on purpose: of an expected kind, by a statement of gyrod, and with words."""
    frames = traceback.extract_tb(error.__traceback__)
    frame, inside = frames[-1], [f for f in frames if f.filename.startswith(PACKAGE)][-1:]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    try:
        text = str(error)
    except Exception as inner:
        return "defect", f"{type(error).__name__} whose words cannot be read: {inner!r}"
    said = f"{type(error).__name__}: {text[:300]}"
    ours = frame.filename.startswith(PACKAGE) and ("raise" in line or line in (")", "]"))
    if isinstance(error, ZeroDivisionError) and "<lambda>" in frame.name:
        return "sentence", f"{said}, of the caller's own function"
    if isinstance(error, EXPECTED) and ours and len(text.split()) >= 3:
        return "sentence", said
    where = "".join(f" in {Path(f.filename).relative_to(PACKAGE)}:{f.lineno}: {f.line}" for f in inside)
    return "defect", f"{said} at {Path(frame.filename).name}:{frame.lineno}{where}"


def _child(cases: list[list[Any]]) -> None:
    """Run cases; say before each which it is, and after it how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} s of the processor")

    signal.signal(signal.SIGPROF, late)  # its own seconds: other programs make none of them longer
    out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind, seed in cases:
            print(json.dumps([kind, seed]), file=out, flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            verdict = judge(kind, seed)
            signal.setitimer(signal.ITIMER_PROF, 0)
            print(json.dumps(verdict), file=out, flush=True)


def campaign(cases: list[tuple[str, int]]) -> list[tuple[str, int, str, str]]:
    """Run cases in children, a new one after each that dies: kind, seed, verdict and words of each."""
    found: list[tuple[str, int, str, str]] = []
    while len(found) < len(cases):
        rest = cases[len(found) :]
        limit = SECONDS * 2 + 5.0 * len(rest)
        try:
            done = subprocess.run(
                [sys.executable, __file__], input=json.dumps(rest), capture_output=True, text=True, timeout=limit,
                check=False,
            )  # fmt: skip
            lines, code, said = done.stdout.splitlines(), done.returncode, done.stderr[-500:]
        except subprocess.TimeoutExpired as slow:
            lines, code, said = (slow.stdout or b"").decode().splitlines(), -9, "it did not end"
        ended = len(lines) // 2
        found += [(kind, seed, *json.loads(lines[2 * i + 1])) for i, (kind, seed) in enumerate(rest[:ended])]
        if ended < len(rest):
            kind, seed = rest[ended]
            found.append((kind, seed, "defect", f"the process ended with status {code}: {said}"))
    return found


if __name__ == "__main__":
    _child(json.load(sys.stdin))
