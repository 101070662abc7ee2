"""Wrong arguments of public functions are answered by sentences; tests/test_hostile.py looks for others at random."""

import json

import numpy as np
import pytest

import gyrod as gd
from gyrod import files, problems

CHAIN = problems.get("chain").system
ROD = gd.Rod(
    "hose", length=1.0, segments=4, section=gd.Circle(0.01),
    material=gd.Material(young=1e6, poisson=0.4, density=1e3), initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    start=gd.Clamped(),
)  # fmt: skip


class Rude:
    """An object whose questions end in errors of its own."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __float__(self):
        raise KeyError("no number")


CALLS = {
    "attachment": (lambda: CHAIN.attachment("x"), "joint must be a Joint of gyrod, got 'x'"),
    "spring": (lambda: CHAIN.spring_length(1), "spring must be a SpringDamper of gyrod, got 1"),
    "cable": (lambda: CHAIN.cable_length(1), "cable must be a Cable of gyrod, got 1"),
    "points": (lambda: CHAIN.link_points(1), "link must be a Link of gyrod, got 1"),
    "body": (lambda: CHAIN.body([1]), r"name = \[1\] is unknown; it can be 'link0'"),
    "rod": (lambda: CHAIN.rod({}), "name = {} is unknown; the system has no rods"),
    "joint": (lambda: CHAIN.joint(Rude()), "name = a Rude is unknown; it can be 'ball0'"),
    "segment": (lambda: ROD.segment_at("x"), "s = 'x' must be a number"),
    "stiffness": (lambda: ROD.stiffness_at("x"), "s must be an array of real numbers"),
    "inertia": (lambda: ROD.inertia_at(Rude()), "s must be an array of real numbers .* got a Rude"),
    "lumped": (lambda: ROD.lumped_inertia(), "Rod 'hose': lumped_inertia is that of elements"),
    "assemble": (lambda: gd.assemble(1), "system must be a System of gyrod, got 1"),
    "inputs": (lambda: gd.stepper(CHAIN, inputs=3), "inputs = 3 must be values by name"),
    "set": (lambda: gd.stepper(CHAIN).set([1], 2), r"name = \[1\] must be the name of an input"),
    "method": (lambda: gd.simulate(CHAIN, 1.0, method=np.eye(3)), "method = .* is unknown; it can be 'auto'"),
    "rude": (lambda: gd.simulate(CHAIN, Rude()), "t_end must be a positive number, got a Rude"),
    "dense": (lambda: gd.simulate(CHAIN, 1.0, dense="x"), "dense = 'x' must be True or False"),
    "long": (lambda: gd.stepper(CHAIN, rtol=10**400), "rtol must be a positive finite number"),
    "rl2": (lambda: gd.rl2_error([1, 2], -1.0, None), "approximate"),
    "links": (lambda: problems.chain(links=1.5), "links = 1.5 must be a whole number from 1 to 100000"),
    "loops": (lambda: problems.four_bar(2**63), "loops = 9223372036854775808 must be a whole number"),
    "fun": (lambda: gd.ode(CHAIN).fun("x", gd.ode(CHAIN).y0), "t = 'x' must be a number"),
    "y": (lambda: gd.ode(CHAIN).jac(0.0, {}), "y must be an array of real numbers"),
    "call": (lambda: gd.simulate(CHAIN, 1e-3)({}), "t must be an array of real numbers"),
    "open": (lambda: gd.open(3.5), "file must be the path of a file or folder, got 3.5"),
    "load": (lambda: gd.load(None), "path must be the path of a file or folder, got None"),
    "study": (lambda: gd.open([]), r"file must be the path of a file or folder, got \[\]"),
    "name": (lambda: gd.open("a" * 400), r"file = 'aaa.*\(402 characters\) cannot be a path: File name too long"),
    "null": (lambda: gd.simulate(CHAIN, 1e-3, save="a\0"), r"save = 'a.x00' cannot be a path: embedded null"),
    "save": (lambda: gd.simulate(CHAIN, 1e-3, save=1), "save must be the path of a file or folder, got 1"),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_sentences(name):
    call, words = CALLS[name]
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert str(caught.value).endswith((".", "?"))


@pytest.mark.parametrize("key", ["columns", "study", "identity", "chunk", "version"])
def test_a_manifest_without_a_key_is_damaged(tmp_path, key):
    top = problems.get("lang-a").system
    gd.study(
        top, vary={"top.mass": [10.0]}, outputs={"x": "top.position"}, t_end=0.01, engine="serial", folder=tmp_path
    )
    path = tmp_path / "study.json"
    data = json.loads(path.read_text())
    del data[key]
    path.write_text(json.dumps(data))
    with pytest.raises(gd.StudyError, match=rf"study.json' is damaged: it has no '{key}'\. Put a copy"):
        gd.open(tmp_path)


def test_a_rod_without_mass_has_no_rest():
    """Its stiffness is lost beside its rotary inertia: once an error of ARPACK, then a rest that is none."""
    text = """
gyrod: 1
gravity: [0, 0, 0]
rods:
- name: rod
  segments: 100
  start: {clamped: {}}
  initial: {arc: {start: [0, 0, 0], tangent: [1, 0, 0], normal: [0, 1, 0], radius: 100, angle: 0.7853981633974483}}
  stiffness: [5000000.0, 5000000.0, 10000000.0, 833333.3333333334, 833333.3333333334, 833333.3333333334]
  density_per_length: 1e-300
  rotary_inertia: [0.08333333333333333, 0.08333333333333333, 0.16666666666666666]
forces:
- rod_load: {rod: rod, force: [0, 0, 300]}
"""
    system = files.loads(text).system
    for use in (gd.equilibrium, gd.modes):
        with pytest.raises(ValueError, match=r"rod 'rod': mass and .* radius of gyration of 4.08e\+149 m"):
            use(system)
