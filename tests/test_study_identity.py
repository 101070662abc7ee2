"""What functions of a study are known by: their text, what they carry, and what they name of their modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import gyrod as gd
from gyrod.studies.identity import function_data, plain
from gyrod.studies.plan import make_plan

OWN = """
import sys
K = float(sys.argv[1])
def scale(x): return K * x
"""

SCRIPT = """
import dataclasses, enum, functools, hashlib, json, sys, time, types
import numpy as np
import scipy.stats
from scipy.interpolate import CubicSpline
import gyrod as gd
import own
from gyrod.studies.identity import function_data
from gyrod.studies.plan import make_plan

K = float(sys.argv[1])
VALUES = {"k": K, 1: (2, 3)}
NAMES = {"alpha", "beta", "gamma", str(K)}
MANY = np.arange(1e5) * K
SPACE = types.SimpleNamespace(k=K)
CURVE = CubicSpline([0, 1, 2], [0, K, 1])
SPREAD = scipy.stats.norm(0, K)
SYSTEM = gd.System([gd.Body("b", mass=K, inertia=(1, 1, 1), velocity=(K, 0, 0))])
MOTION = gd.simulate(SYSTEM, 0.1)
BEGAN = time.time()

class Kind(enum.Enum):
    A = K

@dataclasses.dataclass(frozen=True)
class Record:
    a: float = 1.0
    def value(self): return K * self.a

class Slotted:
    __slots__ = ("held", "itself")
    def __init__(self): self.held, self.itself = K, self
    def read(self, motion): return self.held

class Base:
    Z = K

class Derived(Base):
    @property
    def z(self): return self.Z

RECORD, SLOTTED, DERIVED = Record(), Slotted(), Derived()

@functools.lru_cache
def cached(x): return K * x

def even(n): return K if n == 0 else odd(n - 1)
def odd(n): return even(n - 1)
def deep0(): return K
for i in range(30):
    exec(f"def deep{i + 1}(): return deep{i}()")

def counted():
    global BEGAN
    BEGAN += 1
    return len(str(sys.argv))

def made(v): return gd.System([gd.Body("b", mass=1.0, inertia=(1, 1, 1), velocity=(0, 0, v * K))])

FORCED = gd.System([gd.Body("b", 1.0, (1, 1, 1))], forces=[gd.UserForce("b", lambda t, s: ((0, 0, K), (0, 0, 0)))])
SEEN = {
    "number": lambda m: K, "dictionary": lambda m: VALUES, "set": lambda m: NAMES, "array": lambda m: MANY,
    "namespace": lambda m: SPACE, "curve": lambda m: CURVE(1), "distribution": lambda m: SPREAD,
    "system": lambda m: SYSTEM, "motion": lambda m: MOTION, "enum": lambda m: Kind.A, "record": lambda m: RECORD,
    "object": lambda m: SLOTTED, "method": SLOTTED.read, "base": lambda m: DERIVED.z, "cache": lambda m: cached(1),
    "cycle": lambda m: even(4), "deep": lambda m: deep30(), "module": lambda m: own.K,
    "helper": lambda m: own.scale(2), "inner": lambda m: [K * x for x in (1, 2)],
    "partial": functools.partial(lambda m, k: K, k=1),
}
UNSEEN = {"counted": lambda m: counted(), "installed": lambda m: np.sin(m.t)}
found = {name: function_data(f) for name, f in (SEEN | UNSEEN).items()}
found["model"] = make_plan(made, {"v": [1.0]}, {"o": "t"}, 1.0).describe()
found["force"] = make_plan(FORCED, {"b.mass": [1.0]}, {"o": "t"}, 1.0).describe()
assert "0x" not in json.dumps(found)
for name, data in found.items():
    print(name, hashlib.sha256(json.dumps(data, sort_keys=True, allow_nan=False).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def sums(tmp_path_factory) -> list[dict[str, str]]:
    """Checksums by name from three processes, the last with another constant."""
    folder = tmp_path_factory.mktemp("identity")
    (folder / "own.py").write_text(OWN)
    (folder / "script.py").write_text(SCRIPT)
    runs = [
        subprocess.Popen(
            [sys.executable, "script.py", k], cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for k, seed in (("2", "1"), ("2", "7"), ("3", "1"))
    ]  # fmt: skip
    texts = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], texts
    return [dict(line.split() for line in out.splitlines()) for out, _ in texts]


def test_the_same_script_is_the_same_study(sums):
    assert sums[0] == sums[1]


def test_a_constant_that_functions_read_makes_another_study(sums):
    assert len(sums[0]) > 20
    assert {name for name in sums[0] if sums[0][name] == sums[2][name]} == {"counted", "installed"}


def test_a_folder_does_not_mix_two_models(tmp_path):
    script = tmp_path / "mix.py"
    script.write_text(
        textwrap.dedent("""
        import sys, gyrod as gd
        K = float(sys.argv[1])
        def model(v): return gd.System([gd.Body("b", mass=1.0, inertia=(1, 1, 1), velocity=(0, 0, v * K))])
        try:
            gd.study(model, {"v": [1.0, 2.0]}, {"o": "b.velocity[2]"}, 1e-3, folder="mixed", resume=True, chunk=1,
                     shard=sys.argv[2], engine="serial")
        except gd.StudyError as error:
            print(error)
        """)
    )
    told = [
        subprocess.run(
            [sys.executable, script, k, shard], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for k, shard in (("2", "0/2"), ("3", "1/2"))
    ]
    assert told[0] == ""
    assert "of another study: model.function.globals.K 2.0 there, 3.0 here" in told[1]


FACTOR = 2.0
SERIES = list(range(100_000))


def scaled(motion: gd.Motion) -> float:
    return FACTOR * float(motion["b"].position[-1, 2])


def counted(motion: gd.Motion) -> float:
    return float(len(SERIES) + len(motion.t))


def test_constants_count_when_the_plan_is_made(monkeypatch):
    system = gd.System([gd.Body("b", 1.0, (1, 1, 1))])
    one, again = (make_plan(system, {"b.mass": [1.0]}, {"o": scaled}, 1.0) for _ in range(2))
    assert one == again
    identity = one.identity
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3.0)
    other = make_plan(system, {"b.mass": [1.0]}, {"o": scaled}, 1.0)
    assert other.identity != identity


def test_long_data_costs_little():
    began = time.process_time()
    data = function_data(counted)
    assert time.process_time() - began < 0.5
    assert len(json.dumps(data)) < 1000
    assert data["globals"]["SERIES"]["type"] == "builtins.list"


def test_what_cannot_be_told_counts_by_its_type():
    rng = np.random.default_rng(1)
    assert plain({"a": rng}) == {"a": {"type": "numpy.random._generator.Generator"}}
    chain: list = []
    chain.append(chain)
    assert "builtins.list" in json.dumps(plain(chain))
