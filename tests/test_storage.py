"""Results in files: round trips to the last bit, runs that are killed, full disks, damage, exports, checkpoints."""

from __future__ import annotations

import csv
import errno
import io
import os
import pickle
import random
import re
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import storage
from gyrod.motion import EventRecord
from gyrod.motion.motion import KINEMATICS
from gyrod.solve import recording
from gyrod.storage import layout, reading, recorder

TOP = gd.problems.get("lang-a").system
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)


def hose(segments: int = 6, **options) -> gd.Rod:
    return gd.Rod("hose", 1.0, segments, gd.Circle(radius=5e-3), RUBBER, **{"start": gd.Hinged(), **options})


def four_bar() -> gd.System:
    bar = {"mass": 1.0, "inertia": (0.1, 0.1, 0.01)}
    bodies = [
        gd.Body("left", **bar, position=(0.0, 0.0, 0.5)),
        gd.Body("right", **bar, position=(1.75, 0.0, 0.5)),
        gd.Body("top", mass=1.5, inertia=(0.01, 0.3, 0.3), position=(0.75, 0.0, 1.0)),
    ]
    places = [("ground", "left", (0, 0, 0)), ("left", "top", (0, 0, 1)), ("top", "right", (1.5, 0, 1))]
    places.append(("right", "ground", (2, 0, 0)))
    joints = [gd.Revolute(a, b, at=at, axis=(0, 1, 0), name=f"hinge {i}") for i, (a, b, at) in enumerate(places)]
    return gd.System(bodies, joints)


def on_bob() -> gd.System:
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(1.0, 0.0, -0.05))
    damped = gd.Damping(shear=1e-3, extension=1e-3, bending=1e-5, torsion=1e-5)
    rod = hose(damping=damped, start=gd.Clamped(), end=gd.Hinged("bob", at=(0, 0, 0.05)))
    return gd.System([bob], rods=[rod], sensors=[gd.PointSensor("tip", "bob", quantity="velocity")])


def two_rods() -> gd.System:
    first = hose(end=gd.Clamped("tail"))
    start = gd.Straight((1, 0, 0), (1, 0, -1))
    return gd.System(rods=[first, gd.Rod("tail", 1.0, 5, gd.Circle(radius=5e-3), RUBBER, initial=start)])


def event() -> gd.Event:
    return gd.Event(lambda t, m: m["top"].position[2] - 0.3, name="low", terminal=True)


KINDS = {
    "pinned": lambda: gd.simulate(TOP, 0.5),
    "euler": lambda: gd.simulate(TOP, 0.5, formulation="euler"),
    "free": lambda: gd.simulate(
        gd.System([gd.Body("stone", mass=1.0, inertia=(1, 2, 3), angular_velocity=(1, 2, 3))]),
        0.5,
        formulation="absolute-directors",
        projection="none",
    ),
    "mechanism": lambda: gd.simulate(four_bar(), 0.5),
    "index 1": lambda: gd.simulate(four_bar(), 0.1, formulation=gd.Formulation("absolute-quaternion", index=1)),
    "rod": lambda: gd.simulate(gd.System(rods=[hose()]), 0.2, rtol=1e-4),
    "rod on body": lambda: gd.simulate(on_bob(), 0.2, rtol=1e-4),
    "variational": lambda: gd.simulate(TOP, 0.1, method="variational", step=0.001),
    "scipy": lambda: gd.simulate(TOP, 0.1, method="scipy:RK45"),
    "output": lambda: gd.simulate(TOP, 0.5, output=[0.1, 0.2, 0.4]),
    "not whole": lambda: gd.simulate(TOP, 0.5, formulation=gd.Formulation("absolute-quaternion", baumgarte=(5.0, 5.0))),
    "single": lambda: gd.simulate(TOP, 0.5)(0.25),
    "rest": lambda: gd.equilibrium(gd.System(rods=[hose(start=gd.Clamped())])).motion,
}


@pytest.fixture(scope="module")
def motions():
    found = {}

    def get(kind: str) -> gd.Motion:
        if kind not in found:
            found[kind] = KINDS[kind]()
        return found[kind]

    return get


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_opened_to_the_last_bit(kind, motions, tmp_path):
    motion = motions(kind)
    motion.save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    for name in ("t", "y", "steps", "newton"):
        assert np.array_equal(getattr(again, name), getattr(motion, name)), name
        assert getattr(again, name).shape == getattr(motion, name).shape
    assert np.array_equal(again.midpoints.energy, motion.midpoints.energy)
    assert np.array_equal(again.midpoints.t, motion.midpoints.t)
    assert again.stats == motion.stats
    assert again.status == motion.status
    assert again.names == motion.names
    assert again.compiled.system.original == motion.compiled.system.original
    assert again.compiled.options == motion.compiled.options
    assert np.array_equal(again.compiled.y0, motion.compiled.y0)
    assert np.array_equal(again.energy.total, motion.energy.total)
    for name in motion.compiled.system.names:
        for quantity in ("position", "quaternion", "velocity", "Omega"):
            assert np.array_equal(getattr(again[name], quantity), getattr(motion[name], quantity))
    for name in motion.compiled.system.rod_names:
        assert np.array_equal(again[name].moment, motion[name].moment)
    for a, b in zip(again.joints, motion.joints, strict=True):
        assert np.array_equal(a.coordinates, b.coordinates)
        assert np.array_equal(a.force, b.force)
    assert set(os.listdir(tmp_path)) == {"run.h5"}


def test_rods_that_hold_each_other_keep_their_junction(tmp_path):
    motion = gd.simulate(two_rods(), 0.05, rtol=1e-3)
    motion.save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    assert np.array_equal(again["tail"].positions, motion["tail"].positions)


def test_events_are_kept(tmp_path):
    motion = gd.simulate(TOP, 3.0, events=[event()])
    assert motion.status == "event"
    motion.save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    assert again.status == "event"
    assert [(e.event, e.t, e.name) for e in again.events] == [(e.event, e.t, e.name) for e in motion.events]
    assert np.array_equal(again.events[0].state["top"].position, motion.events[0].state["top"].position)


def test_a_start_from_rest_is_kept(tmp_path):
    rest = gd.equilibrium(gd.System(rods=[hose(start=gd.Clamped())]))
    rest.save(tmp_path / "rest.h5")
    assert np.array_equal(gd.open(tmp_path / "rest.h5")["hose"].positions, rest["hose"].positions)
    gd.simulate(rest, 0.01).save(tmp_path / "run.h5")
    assert np.array_equal(gd.open(tmp_path / "run.h5").compiled.y0, rest.y)


# --- laziness --------------------------------------------------------------------------------------------------------


def test_rows_are_read_when_they_are_asked_for(tmp_path, monkeypatch):
    motion = gd.simulate(TOP, 5.0, output=np.linspace(0.0, 5.0, 20_001))
    motion.save(tmp_path / "run.h5", dense=False)
    read = []
    plain = h5py.Dataset.__getitem__

    def counted(self, key, *rest, **options):
        value = plain(self, key, *rest, **options)
        read.append((self.name, np.asarray(value).nbytes))
        return value

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    monkeypatch.setattr(reading, "WINDOW", 4096)
    again = gd.open(tmp_path / "run.h5")
    assert sum(size for _, size in read) < 1000
    assert repr(again) == f"<Motion of 'top' in {str(tmp_path / 'run.h5')!r}: 20001 rows, finished>"
    assert not {"t", "y", "steps"} & set(vars(again))
    read.clear()
    again(2.5)
    assert sum(size for name, size in read if name == "/gyrod/y") < 4 * 4096 + 2 * layout.CHECKED
    assert "y" not in vars(again)
    assert np.array_equal(again.y, motion.y)
    assert again.y is again.y
    rows = again._file.items("y", np.array([17, 3, 20_000, 3]))
    assert np.array_equal(rows, motion.y[[17, 3, 20_000, 3]])


def test_rows_far_apart_are_read_one_by_one(tmp_path, monkeypatch):
    motion = gd.simulate(TOP, 1.0, output=np.linspace(0.0, 1.0, 1001))
    motion.save(tmp_path / "run.h5")
    monkeypatch.setattr(reading, "WINDOW", 0)
    again = gd.open(tmp_path / "run.h5")
    assert np.array_equal(again._file.items("y", np.array([1000, 0, 7])), motion.y[[1000, 0, 7]])
    assert "y" not in again._file.kept


def test_between_rows_cubics_of_fourth_order(tmp_path):
    exact = gd.simulate(TOP, 1.0, rtol=1e-12, atol=1e-13)
    times = np.linspace(0.0, 1.0, 1000)[1:-1]
    errors = []
    for n in (200, 400, 800):
        exact(np.linspace(0.0, 1.0, n + 1)).save(tmp_path / "run.h5", dense=False)
        again = gd.open(tmp_path / "run.h5")
        errors.append(np.abs(again(times)["top"].position - exact(times)["top"].position).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - 4.0).max() < 0.3, (errors, orders)
    assert np.abs(again(again.t[5]).y - again.y[5]).max() < 1e-15
    with pytest.raises(ValueError, match=r"t reaches from 1.5 to 1.5; the motion is known on \[0, 1\]"):
        again(1.5)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "odex", "radau5", "rodas", "seulex"])
def test_dense_output_is_kept(method, tmp_path):
    motion = gd.simulate(TOP, 1.0, method=method, rtol=1e-6, output=[0.3, 0.9])
    motion.save(tmp_path / "run.h5", dense=True)
    again = gd.open(tmp_path / "run.h5")
    times = np.sort(np.append(np.random.default_rng(1).uniform(0.0, 1.0, 40), [0.0, 1.0, motion.steps[3]]))
    assert np.abs(again(times).y - motion(times).y).max() < 1e-12 * np.abs(motion.y).max()
    assert np.abs(again(0.123).y - motion(0.123).y).max() < 1e-12 * np.abs(motion.y).max()
    assert again(np.zeros(0)).y.shape == (0, motion.compiled.size)
    assert "dense" not in again._file.kept
    with pytest.raises(ValueError, match=r"known on \[0, 1\]"):
        again(1.1)
    again.save(tmp_path / "copy.h5", dense=True)
    (tmp_path / "run.h5").unlink()
    assert np.abs(gd.open(tmp_path / "copy.h5")(times).y - motion(times).y).max() < 1e-11 * np.abs(motion.y).max()


def test_dense_output_goes_with_small_systems(motions, tmp_path):
    assert storage.keeps_dense("dop853", 64) == "dop853"
    assert storage.keeps_dense("dop853", 65) is None
    assert storage.keeps_dense("dop853", 65, True) == "dop853"
    assert storage.keeps_dense("dop853", 1, False) is None
    assert storage.keeps_dense("scipy:RK45", 1, True) is None
    for kind, kept in (("pinned", True), ("rod on body", True), ("scipy", False), ("variational", False)):
        motions(kind).save(tmp_path / "run.h5")
        assert bool(gd.open(tmp_path / "run.h5")._file.count("dense")) == kept, kind


def test_dense_output_of_blocks(motions, tmp_path):
    motion = motions("pinned")
    n, file = len(motion.t), tmp_path / "run.h5"
    options = {"t_end": 0.5, "dense": motion.stats.method}
    with storage.Recorder(file, motion.compiled, **options) as target:
        for a, b in ((0, 3), (3, 4), (4, 7)):
            rows = slice(a, b)
            target.append(motion.t[rows], motion.y[rows], steps=motion.t[rows], dense=motion._dense)
            counts = target.counts
        target.append(motion.t[7:8], motion.y[7:8], steps=motion.t[7:8], dense=motion._dense)
    with storage.Recorder(file, motion.compiled, **options, resume=counts) as target:
        target.append(motion.t[7:], motion.y[7:], steps=motion.t[7:], dense=motion._dense)
    again = gd.open(file)
    assert again._file.count("dense") == n - 1
    times = np.linspace(0.0, 0.5, 100)
    assert np.abs(again(times).y - motion(times).y).max() < 1e-12 * np.abs(motion.y).max()


def test_unresolved_vibrations_do_not_spoil_what_is_between(tmp_path):
    """Accelerations of a stiff string belong to vibrations much faster than the steps: slopes are not theirs."""
    steel = gd.Material(young=2.1e11, poisson=0.2, density=7850.0)
    string = gd.Rod("string", 1.0, 10, gd.Circle(radius=1e-3), steel, start=gd.Clamped())
    motion = gd.simulate(gd.System(rods=[string]), 0.5, rtol=1e-3, method="rodas")
    motion.save(tmp_path / "run.h5", dense=False)
    times = np.random.default_rng(0).uniform(0.05, 0.45, 50)
    there, exact = gd.open(tmp_path / "run.h5")(times), motion(times)
    assert np.abs(there["string"].positions - exact["string"].positions).max() < 1e-4
    spins = np.abs(exact["string"].Omega).max()
    assert np.abs(there["string"].Omega - exact["string"].Omega).max() < 0.1 * spins
    wrong = reading.Between(gd.open(tmp_path / "run.h5")._file, motion.compiled)
    wrong.moving[:] = False  # the plain cubic
    assert np.abs(wrong(np.sort(times)) - motion._dense(np.sort(times))).max() > 2.0 * spins


def test_between_rows_that_begin_late(motions, tmp_path):
    motions("output").save(tmp_path / "run.h5", dense=False)
    again = gd.open(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"known on \[0.1, 0.4\]"):
        again(0.05)
    assert np.abs(again(0.4).y - again.y[-1]).max() < 1e-13
    assert len(again.joints) == 1  # angles are not counted before the first row


def test_multipliers_between_rows(motions, tmp_path):
    """Differential-algebraic forms have no rate of the multipliers: differences serve."""
    motion = motions("index 1")
    motion.save(tmp_path / "run.h5", dense=False)
    again, t = gd.open(tmp_path / "run.h5"), 0.5 * (motion.t[3] + motion.t[4])
    assert np.abs(again(t)["top"].position - motion(t)["top"].position).max() < 1e-5


# --- between rows without dense output: forces ------------------------------------------------------------------------

STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850.0)
LOADS = ("strain", "curvature", "force", "moment", "start_force", "start_moment", "end_force", "end_moment")


def cantilever(factor: float | None) -> gd.System:
    damping = {} if factor is None else {"damping": gd.Damping(factor=factor)}
    line = gd.Straight((0, 0, 0), (0, 1, 0))
    return gd.System(
        rods=[gd.Rod("r", 1.0, 20, gd.Circle(radius=6e-3), STEEL, start=gd.Clamped(), initial=line, **damping)]
    )


def swing() -> gd.System:
    """A steel rod between two bodies, one of them on a hinge, with sensors of forces and accelerations."""
    inertia = (2e-3, 2e-3, 2e-3)
    bodies = [
        gd.Body("a", mass=0.5, inertia=inertia, position=(0.1, 0, 0)),
        gd.Body("b", mass=0.5, inertia=inertia, position=(0.8, 0, 0)),
    ]
    rod = gd.Rod(
        "r", 0.5, 6, gd.Circle(radius=4e-3), STEEL, start=gd.Clamped("a", at=(0.1, 0, 0)),
        end=gd.Clamped("b", at=(-0.1, 0, 0)), initial=gd.Straight((0.2, 0, 0), (0.7, 0, 0)),
        damping=gd.Damping(factor=1e-3),
    )  # fmt: skip
    sensors = [
        gd.PointSensor("accelerometer", "b", quantity="specific force"),
        gd.PointSensor("middle", "r", at=0.5, quantity="acceleration"),
        gd.RotationSensor("turning", "r", at=0.5, quantity="angular acceleration"),
        gd.SectionSensor("gauge", "r", at=0.3, quantity="moment"),
        gd.JointSensor("load", "hinge", quantity="force"),
    ]
    hinge = gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    return gd.System(bodies, [hinge], rods=[rod], sensors=sensors)


def within_rows(values, rows, t, times):
    """Whether values at times lie between those of the two rows on either side, or beyond by what a smooth top has."""
    i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    near = rows[np.clip(i[:, None] + np.arange(-1, 3), 0, len(t) - 1)]
    lo, hi = near.min(axis=1), near.max(axis=1)
    slack = 0.5 * (hi - lo) + 1e-9 * np.abs(rows).max()
    return bool(np.all((lo - slack <= values) & (values <= hi + slack)))


@pytest.mark.parametrize("factor", [1e-3, None])
def test_forces_between_rows_are_between_those_of_the_rows(factor, tmp_path):
    motion = gd.simulate(cantilever(factor), 0.3, rtol=1e-4)
    motion.save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    assert not again._file.count("dense")
    times = np.linspace(0.0, 0.3, 150)
    there, exact = again(times), motion(times)
    for part in LOADS:
        found, rows = getattr(there["r"], part), getattr(motion["r"], part)
        assert within_rows(found, rows, motion.t, times), part
        off = np.abs(found - getattr(exact["r"], part)).reshape(len(times), -1).max(axis=1)
        # A few single steps ring, at the tip along the rod.
        most = np.quantile(off, 0.8) / 0.03 if part == "force" else off.max() / (0.1 if part == "strain" else 0.06)
        assert most <= np.abs(rows).max(), part
    assert np.abs(there.stress("r") - exact.stress("r")).max() < 0.1 * motion.stress("r").max()
    for part in KINEMATICS:  # these follow from the cubics
        assert np.array_equal(getattr(there["r"], part), again.compiled.rod_states(times, there.y)[0][part]), part
    total = motion.energy.total
    assert np.abs(there.energy.total - exact.energy.total).max() < 0.01 * motion.energy.kinetic.max()
    assert within_rows(there.energy.total, total, motion.t, times)
    for part in ("dissipated", "balance"):
        assert np.abs(getattr(again.energy, part) - getattr(motion.energy, part)).max() < 1e-4
        assert within_rows(getattr(there.energy, part), getattr(again.energy, part), motion.t, times)


def test_everything_between_rows_is_exact_at_rows(tmp_path):
    motion = gd.simulate(swing(), 0.1, rtol=1e-4)
    motion.save(tmp_path / "run.h5", dense=False)
    again, some = gd.open(tmp_path / "run.h5"), np.array([0, 3, 4, len(motion.t) - 1])
    there, half = again(motion.t[some]), 0.5 * (motion.t[:-1] + motion.t[1:])
    between, exact = again(half), motion(half)
    for part in (*LOADS, "multipliers"):
        assert np.array_equal(getattr(there["r"], part), getattr(motion["r"], part)[some]), part
    assert within_rows(between["r"].force, motion["r"].force, motion.t, half)
    for part in ("force", "torque"):
        rows = getattr(motion["hinge"], part)
        assert np.array_equal(getattr(there["hinge"], part), rows[some])
        assert within_rows(getattr(between["hinge"], part), rows, motion.t, half)
    assert np.abs(between["hinge"].coordinates - exact["hinge"].coordinates).max() < 1e-5
    for name, value in motion.multipliers.items():
        assert np.array_equal(there.multipliers[name], value[some])
    for name in motion.sensors:
        rows = motion.sensors[name]
        scale = np.abs(rows).max()
        assert np.abs(there.sensors[name] - rows[some]).max() < 1e-8 * scale, name
        assert np.abs(between.sensors[name]).max() < 1.01 * scale, name
    for part in ("kinetic", "potential", "total", "extension_shear", "bending_torsion"):
        assert np.array_equal(getattr(there.energy, part), getattr(motion.energy, part)[some]), part
    assert within_rows(between.energy.total, motion.energy.total, motion.t, half)
    t = half[5]
    one = again(t)  # a single time has no time axis
    assert np.array_equal(one["r"].force, between["r"].force[5])
    assert np.array_equal(one["hinge"].force, between["hinge"].force[5])
    assert one.energy.total == between.energy.total[5]
    for name in motion.sensors:
        assert np.abs(one.sensors[name] - between.sensors[name][5]).max() <= 1e-12 * np.abs(motion.sensors[name]).max()


def test_copies_of_what_is_between_rows(tmp_path):
    motion = gd.simulate(swing(), 0.05, rtol=1e-3)
    motion.save(tmp_path / "run.h5", dense=False)
    again, times = gd.open(tmp_path / "run.h5"), np.linspace(0.0, 0.05, 21)
    there = again(times)
    force, load = there["r"].force, there["hinge"].force
    for copy in (there.at_rows(slice(3, 9)), there(times[3:9]), pickle.loads(pickle.dumps(again))(times[3:9])):
        assert np.array_equal(copy["r"].force, force[3:9])
        assert np.array_equal(copy["hinge"].force, load[3:9])
    assert np.array_equal(replace(there, status="changed")["r"].force, force)
    assert again(np.zeros(0))["r"].force.shape == (0, 6, 3)
    told = re.escape("cannot be saved: section forces do not follow from interpolated rows")
    with pytest.raises(ValueError, match=told):
        there.save(tmp_path / "other.h5")
    again(motion.t[::2]).save(tmp_path / "other.h5")
    most = np.abs(motion["r"].force).max()
    assert np.abs(gd.open(tmp_path / "other.h5")["r"].force - motion["r"].force[::2]).max() < 1e-6 * most
    text = pickle.dumps(there)
    (tmp_path / "run.h5").unlink()
    assert np.array_equal(pickle.loads(text)["r"].force, force)  # the rows beside go with it


# --- how a run ended --------------------------------------------------------------------------------------------------


def test_a_killed_run_tells_its_steps(motions, tmp_path):
    motion, file = motions("pinned"), tmp_path / "run.h5"
    with storage.Recorder(file, motion.compiled, info={"method": "dop853"}, t_end=0.5) as target:
        target.append(motion.t[:9], motion.y[:9], steps=motion.t[:9])
    assert storage.info(file)["status"] == "unfinished"
    assert storage.info(file)["stats"] == {"steps": 8}
    assert gd.open(file).stats.steps == 8
    assert gd.open(file).stats.method == "dop853"


@pytest.mark.parametrize("where", ["progress", "force"])
def test_ctrl_c_anywhere_is_an_interruption(where, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "FIRST", 5)
    monkeypatch.setattr(recording, "budget", lambda steps, seconds, width: 5)
    calls = []

    def press(*_):
        calls.append(1)
        if len(calls) == (3 if where == "progress" else 500):
            raise KeyboardInterrupt
        return (0, 0, 0), (0, 0, 0)

    options = {"progress": press} if where == "progress" else {}
    stone = gd.Body("stone", mass=1.0, inertia=(1, 2, 3), angular_velocity=(1, 2, 3))
    system = gd.System([stone], forces=[gd.UserForce("stone", press)] if where == "force" else [])
    file = tmp_path / "run.h5"
    with pytest.raises(gd.SimulationInterrupted, match="interrupted at t = ") as caught:
        gd.simulate(system, 50.0, save=file, method="dopri5", **options)
    assert caught.value.motion.status == "interrupted"
    assert storage.info(file)["status"] == "interrupted"
    assert 0.0 < caught.value.motion.t[-1] < 50.0
    assert caught.value.motion.stats.seconds > 0.0
    calls[:] = [1] * 1000
    whole = gd.simulate(system, 50.0, save=file, resume=True, method="dopri5")
    assert np.array_equal(whole.y, gd.simulate(system, 50.0, method="dopri5").y)


# --- energies that left and came -------------------------------------------------------------------------------------


def test_dissipated_energy_and_work_come_from_the_file(tmp_path):
    motion = gd.simulate(on_bob(), 0.2, rtol=1e-4, output=[0.05, 0.1, 0.2])
    motion.save(tmp_path / "bare.h5")
    with pytest.raises(ValueError, match=r"'.*bare.h5' has 3 rows of \d+ steps, too few to find dissipated energy"):
        _ = gd.open(tmp_path / "bare.h5").energy.dissipated
    assert motion.energy.dissipated[-1] > 1e-6
    motion.save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    for part in ("dissipated", "work", "balance"):
        assert np.array_equal(getattr(again.energy, part), getattr(motion.energy, part))


def test_dissipated_energy_is_found_from_all_steps(motions, tmp_path):
    motion = motions("rod on body")
    replace(motion).save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    assert again._file.count("flows") == 0
    scale = motion.energy.dissipated[-1]
    assert np.abs(again.energy.dissipated - motion.energy.dissipated).max() < 0.02 * scale


# --- models that cannot be written -----------------------------------------------------------------------------------


def test_a_model_with_python_functions_is_asked_for(tmp_path):
    system = gd.System([gd.Body("stone", mass=1.0, inertia=(1, 1, 1))], forces=[gd.Force("stone", lambda t: (t, 0, 0))])
    motion = gd.simulate(system, 0.5)
    motion.save(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"does not hold its model.*gd.open\(.*run.h5', system=...\)"):
        gd.open(tmp_path / "run.h5")
    assert np.array_equal(gd.open(tmp_path / "run.h5", system=system).y, motion.y)
    with pytest.raises(ValueError, match=r"of another system: it has \d+ unknowns of stone, the .* has \d+ of top"):
        gd.open(tmp_path / "run.h5", system=TOP)
    with pytest.raises(ValueError, match=r"system must be a gyrod\.System, got str"):
        gd.open(tmp_path / "run.h5", system="stone")


# --- data: pickles, copies, descriptions ------------------------------------------------------------------------------


def test_opened_motions_are_pickled_as_data(motions, tmp_path):
    motion = motions("rod on body")
    motion.save(tmp_path / "run.h5")
    text = pickle.dumps(gd.open(tmp_path / "run.h5"))
    t = 0.5 * (motion.t[10] + motion.t[11])
    there = gd.open(tmp_path / "run.h5")(t)
    (tmp_path / "run.h5").unlink()
    again = pickle.loads(text)
    assert type(again) is gd.Motion
    assert np.array_equal(again.y, motion.y)
    assert np.array_equal(again["hose"].force, motion["hose"].force)
    assert np.array_equal(again(t).y, there.y)
    assert again.stats == motion.stats


def test_changed_copies_and_unknown_attributes(motions, tmp_path):
    motions("pinned").save(tmp_path / "run.h5")
    again = gd.open(tmp_path / "run.h5")
    changed = replace(again, status="changed")
    assert changed.status == "changed"
    assert np.array_equal(changed.y, again.y)
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        _ = again.speed


def test_an_opened_motion_is_saved_onto_its_own_file(motions, tmp_path):
    motion = motions("pinned")
    motion.save(tmp_path / "run.h5")
    gd.open(tmp_path / "run.h5").save(tmp_path / "run.h5")
    assert np.array_equal(gd.open(tmp_path / "run.h5").y, motion.y)


def test_info_tells_what_a_file_holds(motions, tmp_path):
    motion = motions("variational")
    storage.save(motion, tmp_path / "run.h5", info={"rtol": np.float64(1e-6), "output": (1, 2), "odd": gd})
    told = storage.info(tmp_path / "run.h5")
    assert told["t"] == [0.0, 0.1]
    assert told["counts"]["rows"] == told["counts"]["frames"] == len(motion.t)
    assert told["stats"]["method"] == "variational"
    assert told["info"]["rtol"] == 1e-6
    assert told["info"]["output"] == [1, 2]
    assert told["info"]["odd"].startswith("<module 'gyrod'")
    assert told["objects"] == ["top"]
    assert told["model"]
    assert told["bytes"] == (tmp_path / "run.h5").stat().st_size


def in_child(work, seconds: int = 60):
    """A child process that does ``work(say)``, not for ever: its number, and where what it says is read."""
    ears, mouth = os.pipe()
    child = os.fork()
    if child:
        os.close(mouth)
        return child, os.fdopen(ears)
    status = 1
    try:
        os.close(ears)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        with os.fdopen(mouth, "w") as out:
            work(lambda *words: print(*words, file=out, flush=True))
        status = 0
    finally:
        os._exit(status)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_the_manual_names_all_that_a_file_holds(tmp_path):
    gd.simulate(on_bob(), 0.05, rtol=1e-3).save(tmp_path / "rods.h5")
    gd.simulate(TOP, 3.0, events=[event()]).save(tmp_path / "events.h5")
    manual = (Path(__file__).parent.parent / "docs" / "results.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([^`\n]+)`", manual))
    for name in ("rods.h5", "events.h5"):
        with h5py.File(tmp_path / name) as file:
            held = set(file["gyrod"].attrs)
            file["gyrod"].visititems(lambda path, item: held.add(path) if hasattr(item, "shape") else None)  # noqa: B023
            assert held <= told, held - told
            arrays = {*file["VTKHDF/PointData"], *(n for n in file["VTKHDF/FieldData"] if not n.startswith("sensor"))}
            assert arrays <= told, arrays - told
    assert ", ".join(layout.COUNTERS) in manual


# --- written while the run goes on -----------------------------------------------------------------------------------


def blocks(motion: gd.Motion, size: int):
    for k in range(0, len(motion.t), size):
        yield slice(k, k + size)


def test_blocks_can_be_read_while_the_file_is_open(motions, tmp_path):
    motion = motions("rod on body")
    file = tmp_path / "run.h5"
    with storage.Recorder(file, motion.compiled, info={"method": "radau5"}, t_end=0.2) as target:
        opened = gd.open(file)
        assert opened.t.shape == (0,)
        assert opened.y.shape == (0, motion.compiled.size)
        for rows in blocks(motion, 17):
            target.append(motion.t[rows], motion.y[rows], steps=motion.t[rows])
            sofar = gd.open(file)
            assert np.array_equal(sofar.y, motion.y[: rows.stop])
            assert sofar.status == "unfinished"
            assert sofar.stats.method == "radau5"
        target.finish(motion.stats)
    done = gd.open(file)
    assert done.status == "finished"
    assert np.array_equal(done.y, motion.y)
    assert np.array_equal(done.steps, motion.steps)
    # Nothing that was allocated ahead is left, and saving at once gives the same.
    motion.save(tmp_path / "whole.h5")
    with h5py.File(file) as a, h5py.File(tmp_path / "whole.h5") as b:
        assert a["gyrod/y"].shape == b["gyrod/y"].shape == motion.y.shape
        frames = a["VTKHDF/Steps"].attrs["NSteps"]
        assert np.array_equal(a["VTKHDF/Steps/Values"], b["VTKHDF/Steps/Values"])
        assert np.array_equal(a["VTKHDF/Points"][:], b["VTKHDF/Points"][:])
        assert a["VTKHDF/Steps/PointOffsets"].shape == (frames,)


def test_series_grow_in_few_pieces(motions, tmp_path, monkeypatch):
    motion, taken = motions("variational"), []
    plain = recorder.allocate
    monkeypatch.setattr(recorder, "allocate", lambda file, n: (taken.append(n), plain(file, n)))
    monkeypatch.setattr(layout, "CHUNK", 1024)
    with storage.Recorder(tmp_path / "run.h5", motion.compiled, frames=0) as target:
        for rows in blocks(motion, 1):
            target.append(motion.t[rows], motion.y[rows])
    assert len(motion.t) == 101
    assert len(taken) <= 6
    assert np.array_equal(gd.open(tmp_path / "run.h5").y, motion.y)


def test_expected_rows_are_not_exceeded(motions, tmp_path):
    motion = motions("variational")
    with storage.Recorder(tmp_path / "run.h5", motion.compiled, frames=0, expected=101) as target:
        for rows in blocks(motion, 10):
            target.append(motion.t[rows], motion.y[rows])
            assert target._series["y"].capacity <= 101
    assert np.array_equal(gd.open(tmp_path / "run.h5").y, motion.y)


@pytest.mark.parametrize("kind", ["rod on body", "variational", "mechanism"])
def test_a_run_goes_on_where_its_checkpoint_was(kind, motions, tmp_path):
    motion = motions(kind)
    file, n = tmp_path / "run.h5", len(motion.t)
    newton, middle = motion.newton, motion.midpoints
    flows = (np.arange(n), np.arange(n) + 0.5, np.arange(n) + 0.25)

    def append(target, a, b):
        target.append(
            motion.t[a:b], motion.y[a:b], steps=motion.t[a:b], flows=[part[a:b] for part in flows],
            newton=newton[a:b], midpoints=(middle.t[a:b], middle.energy[a:b]),
        )  # fmt: skip

    with storage.Recorder(file, motion.compiled, t_end=motion.t[-1], frames=20) as target:
        append(target, 0, n // 3)
        counts = target.counts
        append(target, n // 3, n // 2)  # after the checkpoint: done again
    with storage.Recorder(file, motion.compiled, t_end=motion.t[-1], frames=20, resume=counts) as target:
        assert gd.open(file).t.shape == (n // 3,)
        assert gd.open(file).status == "unfinished"
        append(target, n // 3, n)
        target.finish(motion.stats)
    again = gd.open(file)
    assert np.array_equal(again.y, motion.y)
    assert np.array_equal(again.steps, motion.t)
    assert np.array_equal(again.newton, newton)
    assert np.array_equal(again.midpoints.energy, middle.energy)
    if motion.compiled.rods:
        assert np.array_equal(again.energy.work, flows[1])
    with storage.Recorder(tmp_path / "whole.h5", motion.compiled, t_end=motion.t[-1], frames=20) as target:
        append(target, 0, n)
        target.finish(motion.stats)
    with h5py.File(file) as a, h5py.File(tmp_path / "whole.h5") as b:
        names = []
        a["VTKHDF"].visititems(lambda name, item: names.append(name) if hasattr(item, "shape") else None)
        for name in names:
            assert np.array_equal(a["VTKHDF"][name][()], b["VTKHDF"][name][()]), name


def test_a_run_goes_on_only_with_its_own_file(motions, tmp_path):
    motion, other = motions("pinned"), motions("euler")
    file = tmp_path / "run.h5"
    motion.save(file)
    before = file.read_bytes()
    counts = {"rows": 3, "steps": 3, "frames": 1}
    with pytest.raises(ValueError, match=r"holds a run of another model, formulation or start"):
        storage.Recorder(file, other.compiled, resume=counts)
    with pytest.raises(ValueError, match=r"does not belong to it: it wants 9999 rows where the file has \d+"):
        storage.Recorder(file, motion.compiled, resume={**counts, "rows": 9999})
    assert file.read_bytes() == before
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*none.h5'"):
        storage.Recorder(tmp_path / "none.h5", motion.compiled, resume=counts)
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(OSError, match=r"'.*text.h5' is damaged, or no result file of gyrod"):
        storage.Recorder(tmp_path / "text.h5", motion.compiled, resume=counts)


@forks
@pytest.mark.parametrize("first", [None, {"rows": 2, "steps": 2, "frames": 1}])
def test_two_runs_do_not_write_into_one_file(first, motions, tmp_path):
    motion, file = motions("pinned"), tmp_path / "run.h5"
    motion.save(file)
    ways = {
        "anew": lambda: storage.Recorder(file, motion.compiled),
        "resumed": lambda: storage.Recorder(file, motion.compiled, resume={"rows": 1}),
        "at once": lambda: motion.save(file),
    }

    def others(say):
        for way in ways.values():
            try:
                way()
            except OSError as error:
                say(error)

    with storage.Recorder(file, motion.compiled, resume=first) as target:
        target.append(motion.t[2:5], motion.y[2:5])
        before = file.read_bytes()
        gd.open(file).t  # noqa: B018 - reading and closing does not end the lock
        child, ears = in_child(others)
        with ears:
            sentences = ears.read().splitlines()
        os.waitpid(child, 0)
        for way in ways.values():  # from this process as well
            with pytest.raises(OSError, match="is being written by another run") as caught:
                way()
            sentences.append(str(caught.value))
        assert len(set(sentences)) == 1
        assert len(sentences) == 2 * len(ways)
        assert re.search(rf"run.h5' is being .* \(process {os.getpid()} on .*\); wait .* or give another", sentences[0])
        assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.h5"]
    ways["at once"]()


@forks
def test_a_kill_ends_a_lock_though_a_child_lives_on(tmp_path):
    file = tmp_path / "run.h5"

    def holder(say):
        with storage.hold(file):
            sleeper = os.fork()
            if not sleeper:
                time.sleep(60)
                os._exit(0)
            say(sleeper)
            time.sleep(60)

    child, ears = in_child(holder)
    sleeper = int(ears.readline())
    with pytest.raises(OSError, match=f"process {child} on "):
        storage.hold(file)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        assert (tmp_path / "run.h5.lock").exists()  # and nobody holds it
        with storage.hold(file):
            pass
        assert not os.listdir(tmp_path)
    finally:
        os.kill(sleeper, signal.SIGKILL)
        ears.close()


@forks
def test_the_end_of_a_child_does_not_end_a_lock(tmp_path):
    with storage.hold(tmp_path / "run.h5") as lock:
        child, ears = in_child(lambda say: lock.release())
        with ears:
            ears.read()
        os.waitpid(child, 0)
        with pytest.raises(OSError, match="is being written"):
            storage.hold(tmp_path / "run.h5")


def test_locks_that_are_removed_keep_others_out(tmp_path):
    """Who opened the lock file just before it was removed must not take it for the one that others see."""
    inside, most, done = 0, 0, []

    def work():
        nonlocal inside, most
        for _ in range(100):
            while True:
                try:
                    lock = storage.hold(tmp_path / "run.h5")
                    break
                except OSError:
                    time.sleep(0)
            with lock:
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                inside -= 1
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    assert most == 1
    assert not os.listdir(tmp_path)


def test_a_lock_removes_only_its_own_file(tmp_path):
    with storage.hold(tmp_path / "run.h5") as lock:
        lock.path.unlink()
        with storage.hold(tmp_path / "run.h5"):
            lock.release()
            with pytest.raises(OSError, match="is being written"):
                storage.hold(tmp_path / "run.h5")


def test_a_motion_never_reads_the_rows_of_another_run(tmp_path):
    file, twice = tmp_path / "run.h5", TOP.with_({"top.mass": 2.0 * TOP.bodies[0].mass})
    first = gd.simulate(TOP, 0.2, method="dopri5", save=file)
    first.t  # noqa: B018 - what was read stays
    gd.simulate(twice, 0.2, method="dopri5", save=file)
    assert first.t[-1] == 0.2
    with pytest.raises(OSError, match=r"run.h5' holds another run than when it was opened; open it again"):
        first.y  # noqa: B018
    with pytest.raises(OSError, match=r"holds another run"):
        first(0.1)


def test_files_without_a_name_of_their_run_are_read_and_resumed(motions, tmp_path):
    """As version 1 was first written."""
    motion, file = motions("pinned"), tmp_path / "run.h5"
    motion.save(file)
    with h5py.File(file, "r+") as old:
        del old["gyrod"].attrs["run"]
    assert np.array_equal(gd.open(file).y, motion.y)
    with storage.Recorder(file, motion.compiled, resume={"rows": 3, "steps": 3, "frames": 1}) as target:
        assert target.run == ""
        target.append(motion.t[3:], motion.y[3:], steps=motion.t[3:])
    assert np.array_equal(gd.open(file).y, motion.y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"frames": -1}, "frames = -1 must be a number of frames, 0 or more"),
        ({"frames": 1.5}, "frames = 1.5 must be"),
        ({"frames": True}, "frames = True must be"),
    ],
)
def test_bad_options(options, match, motions, tmp_path):
    with pytest.raises(ValueError, match=match):
        storage.Recorder(tmp_path / "run.h5", motions("pinned").compiled, **options)
    assert not os.listdir(tmp_path)


def test_bad_places(motions, tmp_path):
    motion = motions("pinned")
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere'"):
        motion.save(tmp_path / "nowhere" / "run.h5")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        motion.save(tmp_path)
    with storage.Recorder(tmp_path / "run.h5", motion.compiled) as target:
        with pytest.raises(ValueError, match="y has 3 unknowns a row; the system has 7"):
            target.append([0.0], [[1.0, 2.0, 3.0]])
        target.append([], [])
        assert target.counts["rows"] == 0
    with pytest.raises(OSError, match="takes nothing more"):
        target.append(motion.t, motion.y)
    target.close()


# --- killed runs -----------------------------------------------------------------------------------------------------


class Log(io.RawIOBase):
    """A file that remembers every change of it."""

    def __init__(self) -> None:
        self.data, self.at, self.changes = bytearray(), 0, []

    def seekable(self) -> bool:
        return True

    readable = writable = seekable

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, len(self.data))[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, target) -> int:
        part = self.data[self.at : self.at + len(target)]
        target[: len(part)] = part
        self.at += len(part)
        return len(part)

    def write(self, part) -> int:
        self.changes.append((self.at, bytes(part)))
        change(self.data, *self.changes[-1])
        self.at += len(part)
        return len(part)

    def truncate(self, size: int | None = None) -> int:
        self.changes.append((len(self.data) if size is None else size, None))
        change(self.data, *self.changes[-1])
        return len(self.data)


def change(data: bytearray, at: int, part: bytes | None) -> None:
    if len(data) < at:
        data.extend(bytes(at - len(data)))
    if part is None:
        del data[at:]
    else:
        data[at : at + len(part)] = part


def goes_on(file, motion, rows):
    counts = {"rows": rows, "steps": rows}
    shown = np.searchsorted(motion.t[:rows], 0.1 * np.arange(4) * (1.0 - 1e-9)) if rows else []
    counts["frames"] = int(np.sum(np.asarray(shown) < rows))
    with storage.Recorder(file, motion.compiled, t_end=0.4, frames=4, resume=counts) as target:
        target.append(motion.t[rows:], motion.y[rows:], steps=motion.t[rows:])
        target.finish(motion.stats)
    stored = gd.open(file)
    assert np.array_equal(stored.t, motion.t)
    assert np.array_equal(stored.y, motion.y)


def test_every_state_that_a_kill_can_leave_is_readable(tmp_path, monkeypatch):
    """All beginnings of the sequence of writes, not some moments: what was counted is there, to the last bit."""
    motion = gd.simulate(TOP, 0.4, output=np.linspace(0.0, 0.4, 121))
    log, plain = Log(), h5py.File
    marks = []
    with monkeypatch.context() as patch:
        patch.setattr(h5py, "File", lambda path, mode, **o: plain(log, mode, rdcc_nbytes=0, libver=o["libver"]))
        patch.setattr(os, "replace", lambda a, b: None)
        patch.setattr(recorder, "gone", lambda file, path: False)
        patch.setattr(recorder, "allocate", lambda file, n: log.truncate(len(log.data) + n))
        patch.setattr(recorder, "trim", lambda file: log.truncate(file.id.get_filesize()))
        patch.setattr(layout, "CHUNK", 1024)
        with storage.Recorder(tmp_path / "x.h5", motion.compiled, t_end=0.4, frames=4) as target:
            marks.append((len(log.changes), 0))
            for rows in blocks(motion, 50):
                target.append(motion.t[rows], motion.y[rows], steps=motion.t[rows])
                marks.append((len(log.changes), target.counts["rows"]))
            record = EventRecord(0, 0.2, motion(0.2), "half way")
            target.finish(motion.stats, "event", [record, replace(record, name="ä" * 31 + "xää")])
    data, file, states = bytearray(), tmp_path / "killed.h5", 0
    for number, (at, part) in enumerate(log.changes, 1):
        change(data, at, part)
        if number < marks[0][0]:
            continue
        file.write_bytes(data)
        with h5py.File(file) as opened:
            n = reading._header(opened)["counts"]["rows"]
            assert n >= max(rows for mark, rows in marks if mark <= number)
            assert np.array_equal(opened["gyrod/t"][:n], motion.t[:n])
            assert np.array_equal(opened["gyrod/y"][:n], motion.y[:n])
            steps = opened["VTKHDF/Steps"]  # more times than frames would crash VTK
            assert steps["Values"].shape[0] <= steps.attrs["NSteps"]
        states += 1
        if number < marks[-1][0] and number % 9 == 0:  # the checkpoint is of the last block that was reported
            goes_on(file, motion, max(rows for mark, rows in marks if mark <= number))
    assert states > 100
    again = gd.open(file)
    assert again.status == "event"
    assert again.stats == motion.stats
    assert [e.name for e in again.events] == ["half way", "ä" * 31 + "x"]


@pytest.mark.spread(0)
@forks
@pytest.mark.parametrize("wait", [0.0, 0.011, 0.03, 0.07, 0.15])
def test_a_killed_run_is_readable(wait, motions, tmp_path):
    file, compiled = tmp_path / "run.h5", motions("pinned").compiled
    y = compiled.y0 + 1e-3 * np.arange(200.0)[:, None]

    def run(say):
        with storage.Recorder(file, compiled, t_end=1e3) as target:
            for k in range(10**9):
                target.append(0.01 * k + 5e-5 * np.arange(200), y + k, steps=[0.01 * k])
                if k == 2:
                    say("going")

    child, ears = in_child(run)
    with ears:
        assert ears.readline() == "going\n"
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    motion = gd.open(file)
    assert len(motion.t) >= 600
    assert len(motion.t) % 200 == 0
    k, i = np.divmod(np.arange(len(motion.t)), 200)
    assert np.array_equal(motion.y, (motion.compiled.y0 + 1e-3 * i[:, None]) + k[:, None])
    # and the run goes on from there
    with storage.Recorder(file, motion.compiled, t_end=1e3, resume=motion._file.header["counts"]) as target:
        target.append(motion.t[-1:] + 1.0, motion.y[-1:])
    assert len(gd.open(file).t) == len(motion.t) + 1


# --- full disks ------------------------------------------------------------------------------------------------------


@forks
def test_a_full_disk_is_told_and_keeps_what_was_written(motions, tmp_path):
    import resource

    file, compiled = tmp_path / "run.h5", motions("pinned").compiled
    y = np.repeat(compiled.y0[None], 1000, axis=0)

    def run(say):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        kept = 0
        try:
            with storage.Recorder(file, compiled, t_end=1e3) as target:
                for k in range(10**6):
                    target.append(k + 1e-3 * np.arange(1000), y + k)
                    kept = target.counts["rows"]
        except OSError as error:
            say(kept, error.errno)
            say(error)

    child, ears = in_child(run)
    with ears:
        first, sentence = ears.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0
    kept, code = map(int, first.split())
    assert code == errno.EFBIG
    assert kept >= 10_000
    size = file.stat().st_size
    assert f"{size / 1e6:.3g} MB keeps {kept} rows up to t = {kept / 1000 - 1e-3:.10g}; free some space" in sentence
    assert "run.h5' cannot be written any further: the disk is full." in sentence
    motion = gd.open(file)
    assert len(motion.t) == kept
    assert np.array_equal(motion.y, motion.compiled.y0 + np.repeat(np.arange(kept // 1000), 1000)[:, None])


def test_no_space_for_a_whole_motion_leaves_the_old_file(motions, tmp_path, monkeypatch):
    motion, file = motions("pinned"), tmp_path / "run.h5"
    motion.save(file)
    before = file.read_bytes()

    def full(handle, offset, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"'.*/run.h5' cannot be written any further: the disk is full") as caught:
        motion.save(file)
    assert caught.value.errno == errno.ENOSPC
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.h5"]


# --- damaged and foreign files ---------------------------------------------------------------------------------------


def test_files_that_are_no_results(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^there is no file '.*none.h5'\.$"):
        gd.open(tmp_path / "none.h5")
    with pytest.raises(FileNotFoundError, match=r"is not a folder of a study: it has no study.json"):
        gd.open(tmp_path)
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(OSError, match="is damaged, or no result file of gyrod: it does not begin as an HDF5 file"):
        gd.open(tmp_path / "text.h5")
    (tmp_path / "empty.h5").write_bytes(b"")
    with pytest.raises(OSError, match="does not begin as an HDF5 file"):
        gd.open(tmp_path / "empty.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = [1, 2]
    with pytest.raises(OSError, match="it is HDF5, but without the group /gyrod"):
        gd.open(tmp_path / "other.h5")


@pytest.mark.parametrize(
    ("attribute", "value", "match"),
    [
        ("version", np.int64(99), "version 99 of the layout, newer than 1; update gyrod"),
        ("counts", np.array([10**6, *[0] * 7]), r"/gyrod/t has the shape \(\d+,\), and 1000000 items are said"),
        ("counts", np.array([-1, *[0] * 7]), r"its counts \[-1, 0, .* make no sense"),
        ("counts", np.array([1, 2]), r"make no sense"),
        ("options", "{", "what should be a text or JSON is not"),
        ("model", "{", "the model in '.*' cannot be read"),
        ("model", "[]", "the model in '.*' cannot be read"),
        ("formulation", "wrong", "cannot be compiled: formulation = 'wrong' is unknown"),
    ],
)
def test_contents_that_make_no_sense(attribute, value, match, motions, tmp_path):
    motions("pinned").save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        if attribute in layout.TEXTS:
            del file["gyrod"][attribute]
            file["gyrod"][attribute] = value
        else:
            file["gyrod"].attrs[attribute] = value
    with pytest.raises(OSError, match=match):
        gd.open(tmp_path / "run.h5")


@forks
def test_damaged_files_give_a_motion_or_a_sentence(motions, tmp_path, monkeypatch):
    """In a child: what damage does to a library in C is not for this process to find out."""
    motions("pinned").save(tmp_path / "whole.h5")
    whole, file, rng = (tmp_path / "whole.h5").read_bytes(), tmp_path / "run.h5", random.Random(7)
    monkeypatch.setattr(reading, "TRIES", 1)

    def read(say):
        for case in range(60):
            data = bytearray(whole)
            if case % 3 == 0:
                del data[rng.randrange(len(data)) :]
            else:  # the structure lies mostly at the beginning
                for _ in range(rng.choice([1, 4, 40])):
                    data[rng.randrange(len(data) if case % 3 == 1 else 6000)] ^= 1 << rng.randrange(8)
            file.write_bytes(data)
            try:
                motion = gd.open(file)
                for name in reading.LAZY:
                    getattr(motion, name)
                say("motion")
            except (OSError, ValueError) as error:
                say("sentence" if len(str(error)) > 20 else f"wrong {error!r}")
            except BaseException as error:
                say(f"wrong {error!r}")

    child, ears = in_child(read, seconds=120)
    with ears:
        said = ears.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0, said[-3:]
    assert len(said) == 60
    assert set(said) == {"motion", "sentence"}
    assert said.count("sentence") >= 20


# --- checkpoints -----------------------------------------------------------------------------------------------------

CHECKPOINT = {"rows": 7, "t": 0.1, "counts": {"rows": 7}, "state": bytes(range(256)), "y": np.arange(6.0).reshape(2, 3)}


def test_checkpoints_come_back(tmp_path):
    file = storage.checkpoint_path(tmp_path / "run.h5")
    assert file.name == "run.h5.checkpoint"
    storage.save_checkpoint(file, CHECKPOINT)
    again = storage.load_checkpoint(file)
    assert again["state"] == CHECKPOINT["state"]
    assert np.array_equal(again["y"], CHECKPOINT["y"])
    assert {k: again[k] for k in ("rows", "t", "counts")} == {k: CHECKPOINT[k] for k in ("rows", "t", "counts")}
    assert os.listdir(tmp_path) == ["run.h5.checkpoint"]
    with pytest.raises(ValueError, match="a checkpoint holds plain values, bytes and arrays"):
        storage.save_checkpoint(file, {"f": len})
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint '.*'; start the run again"):
        storage.load_checkpoint(tmp_path / "none")
    file.write_bytes(b"gyrodCP9" + file.read_bytes()[8:])
    with pytest.raises(OSError, match="of another version of gyrod"):
        storage.load_checkpoint(file)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    file = tmp_path_factory.mktemp("checkpoint") / "run.h5.checkpoint"
    storage.save_checkpoint(file, CHECKPOINT)
    return file.read_bytes()


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_damage_of_a_checkpoint_is_told(data, whole, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "damaged.checkpoint"
    if data.draw(st.booleans()):
        broken = bytearray(whole)
        broken[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        broken = whole[: data.draw(st.integers(0, len(whole) - 1))]
    file.write_bytes(broken)
    with pytest.raises(OSError, match="checkpoint"):
        storage.load_checkpoint(file)


def test_files_are_replaced_whole(tmp_path, monkeypatch):
    file = tmp_path / "a"
    storage.write_atomic(file, b"old")
    storage.write_atomic(str(file), b"new")
    assert file.read_bytes() == b"new"
    umask = os.umask(0)
    os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o666 & ~umask

    def fails(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space"):
        storage.write_atomic(file, b"newer")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


# --- exports ---------------------------------------------------------------------------------------------------------


def table(file):
    with file.open(newline="", encoding="utf-8") as source:
        heads, *rows = csv.reader(source)
    return heads, np.array(rows, dtype=float)


def test_tables_of_everything(motions, tmp_path):
    motion = motions("rod on body")
    motion.to_csv(tmp_path / "run.csv")
    heads, rows = table(tmp_path / "run.csv")
    assert heads[0] == "t [s]"
    assert len(set(heads)) == len(heads)
    assert all(head.endswith("]") for head in heads)
    column = dict(zip(heads, rows.T, strict=True))
    assert np.array_equal(column["t [s]"], motion.t)
    assert np.array_equal(column["bob.position.z [m]"], motion["bob"].position[:, 2])
    assert np.array_equal(column["bob.quaternion.w [1]"], motion["bob"].quaternion[:, 0])
    assert np.array_equal(column["bob.Omega.d2 [rad/s]"], motion["bob"].Omega[:, 1])
    assert np.array_equal(column["hose@1.position.x [m]"], motion["hose"].positions[:, -1, 0])
    assert np.array_equal(column["hose@0.moment.d2 [N m]"], motion["hose"].moment[:, 0, 1])
    assert np.array_equal(column["energy.total [J]"], motion.energy.total)
    assert np.array_equal(column["tip.2 [m/s]"], motion["bob"].velocity[:, 2])


def test_tables_of_chosen_things(motions, tmp_path):
    motion = motions("rod on body")
    motion.to_csv(tmp_path / "run.csv", names=["hose@0.25", "energy"])
    heads, rows = table(tmp_path / "run.csv")
    assert len(heads) == 1 + 12 + 3
    x = motion["hose"].positions
    expected = 0.5 * (x[:, 1] + x[:, 2])  # six segments: a quarter is the middle of the second
    assert np.abs(rows[:, 1:4] - expected).max() < 1e-15
    assert np.abs(rows[:, 7:10] - motion["hose"].force[:, 1]).max() < 1e-15
    motion.to_csv(tmp_path / "run.csv", names="bob")
    assert len(table(tmp_path / "run.csv")[0]) == 14
    with pytest.raises(ValueError, match=r"names = 'bib' is unknown.*Did you mean 'bob'"):
        motion.to_csv(tmp_path / "other.csv", names=["bib"])
    with pytest.raises(ValueError, match="hose@2 must have a fraction of the length from 0 to 1"):
        motion.to_csv(tmp_path / "other.csv", names=["hose@2"])
    with pytest.raises(FileNotFoundError, match="no folder"):
        motion.to_csv(tmp_path / "nowhere" / "run.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        motion.to_csv(tmp_path)
    assert os.listdir(tmp_path) == ["run.csv"]


def test_tables_of_joints_and_of_single_times(motions, tmp_path):
    motion = motions("mechanism")
    motion.to_csv(tmp_path / "run.csv", names=["hinge 0"])
    heads, rows = table(tmp_path / "run.csv")
    assert heads == ["t [s]", "hinge 0.angle [rad]", "hinge 0.angle rate [rad/s]"]
    assert np.array_equal(rows[:, 1], motion["hinge 0"].coordinates[:, 0])
    motions("single").to_csv(tmp_path / "one.csv")
    heads, rows = table(tmp_path / "one.csv")
    assert rows.shape == (1, len(heads))
    assert rows[0, 0] == 0.25


def test_efforts_of_led_joints_are_exported(tmp_path):
    pytest.importorskip("xarray")
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    fist = gd.Body("fist", mass=0.5, inertia=(0.1, 0.1, 0.1), position=(2, 0, 0))
    joints = [
        gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), drive=gd.Expression("0.2*t**2"), name="shoulder"),
        gd.Prismatic("arm", "fist", at=(2, 0, 0), axis=(1, 0, 0), drive=gd.Expression("0.1*t**2"), name="slide"),
        gd.Revolute("ground", "bob", at=(0, 2, 0), axis=(1, 0, 0), name="free"),
    ]
    bob = gd.Body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 2, -1))
    motion = gd.simulate(gd.System([arm, fist, bob], joints), 0.5, output=np.linspace(0.0, 0.5, 6))
    motion.to_csv(tmp_path / "run.csv", names=["shoulder", "slide", "free"])
    heads, rows = table(tmp_path / "run.csv")
    column, data = dict(zip(heads, rows.T, strict=True)), motion.to_xarray()
    # At the start both arms hang level: 1 kg at 1 m, 0.5 kg at 2 m, and a slide that only speeds up.
    inertia = 0.2 + 1.0 + 0.5 * 4.0
    assert column["shoulder.effort [N m]"][0] == pytest.approx(0.4 * inertia - 9.81 * 2.0, rel=1e-9)
    assert column["slide.effort [N]"][0] == pytest.approx(0.5 * 0.2, rel=1e-9)
    for name, unit in (("shoulder", "N m"), ("slide", "N")):
        assert np.array_equal(column[f"{name}.effort [{unit}]"], motion[name].effort)
        assert np.array_equal(data[f"{name}.effort"], motion[name].effort)
        assert data[f"{name}.effort"].attrs["units"] == unit
    assert not [head for head in (*heads, *data) if head.startswith("free.effort")]


@pytest.mark.parametrize("kind", ["rod on body", "mechanism", "single"])
def test_numpy_archives(kind, motions, tmp_path):
    motion = motions(kind)
    motion.to_npz(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as found:
        assert np.array_equal(found["y"], motion.y)
        assert np.array_equal(found["energy.kinetic"], motion.energy.kinetic)
        if kind == "rod on body":
            assert np.array_equal(found["hose.vertex_quaternions"], motion["hose"].vertex_quaternions)
            assert np.array_equal(found["sensors.tip"], motion.sensors["tip"])
        elif kind == "mechanism":
            assert np.array_equal(found["hinge 2.torque"], motion["hinge 2"].torque)
            assert np.array_equal(found["left.position"], motion["left"].position)
        assert '"method"' in str(found["stats"])


@pytest.mark.parametrize("kind", ["rod on body", "mechanism", "single"])
def test_data_sets_of_xarray(kind, motions):
    pytest.importorskip("xarray")
    motion = motions(kind)
    found = motion.to_xarray()
    assert found.time.attrs["units"] == "s"
    name = motion.names[0]
    assert np.array_equal(found.position.sel(body=name), motion[name].position)
    assert found.velocity.attrs["units"] == "m/s"
    assert np.array_equal(found["energy.total"], motion.energy.total)
    assert found.attrs["method"] == motion.stats.method
    if kind == "rod on body":
        assert found["hose.moment"].dims == ("time", "hose.vertex", "director")
        assert np.array_equal(found["hose.force"].sel(director="d3"), motion["hose"].force[:, :, 2])
        assert found["hose.vertex"].values == pytest.approx(np.linspace(0.0, 1.0, 7))
        assert np.array_equal(found["tip"], motion.sensors["tip"])
    if kind == "mechanism":
        assert np.array_equal(found["hinge 1.angle"], motion["hinge 1"].coordinates[:, 0])
    if kind == "single":
        assert found.position.dims == ("body", "axis")


def test_results_of_scipy():
    from scipy.integrate import solve_ivp

    motion = gd.simulate(TOP, 3.0, events=[event()], rtol=1e-9)
    found, compiled = motion.to_ode_result(), motion.compiled
    t = 0.5 * motion.t[-1]
    theirs = solve_ivp(compiled.core.rhs, (0.0, 1.1 * t), compiled.y0, rtol=1e-9, atol=1e-9, dense_output=True)
    assert type(found) is type(theirs)
    assert set(theirs) <= set(found)
    assert found.y.shape == (compiled.size, len(found.t))
    assert found.status == 1
    assert found.success
    assert found.t_events[0][0] == motion.events[0].t
    assert np.array_equal(found.y_events[0][0], motion.events[0].state.y)
    assert found.nfev == motion.stats.rhs
    assert found.sol(t).shape == theirs.sol(t).shape
    assert np.abs(found.sol([0.3 * t, t]) - theirs.sol([0.3 * t, t])).max() < 1e-6
    plain = gd.simulate(TOP, 0.1).to_ode_result()
    assert (plain.status, plain.success, plain.t_events) == (0, True, None)
