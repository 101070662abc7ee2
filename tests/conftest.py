"""What holds for all tests: which depend on rounding, how many examples and parameters, a random order, and Ctrl-C."""

from __future__ import annotations

import random
import signal
import zlib
from collections import Counter
from collections.abc import Hashable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "gyrod", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)
#: What make test-all takes.
settings.register_profile("thorough", settings.get_profile("gyrod"), max_examples=300)
settings.load_profile("gyrod")

#: Files whose results depend on rounding: on the instruction set, on BLAS, on the functions of NumPy.
NUMERIC = {
    "actions", "clips", "combinations", "compare", "contact", "converged", "core_rotation", "crossings", "distances",
    "docs", "eigen", "elements_core", "elements_dynamics", "elements_joined", "elements_kernel", "elements_readings",
    "elements_refine", "elements_statics", "energy_momentum", "errata_rotations", "error", "examples", "fit",
    "follow", "force_blocks", "forces", "functions_of_time", "geometry", "graph", "gyro", "held_on_bodies", "index",
    "integrators", "joint_space", "joint_tracks", "links", "mass_ratios", "matrix", "mechanism_oracle",
    "mechanisms_core", "members", "moreau", "ode", "overconstrained", "problems_rigid", "removable", "reproduce_lang",
    "reproduce_lla", "reproduce_xu_zhong", "reproduce_zupan", "rings", "rods_absolute", "rods_between",
    "rods_convergence", "rods_core", "rods_kirchhoff", "rods_on_bodies", "rods_reference", "rotations", "routing",
    "sensors", "shared_steps", "stability", "statics", "statics_problems", "step_counts", "stepper", "study_indices",
    "transposed", "variational", "variational_oracle", "variational_rods",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


def pytest_sessionstart() -> None:
    # A shell ignores Ctrl-C for what it runs in the background; tests of interrupts would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _key(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def left_over(tests: list[pytest.Item], strength: int = 1) -> list[pytest.Item]:
    """Tests of one function without a choice that has each value (strength 2: each pair) of its parameters.

    Strength 0 chooses one of them, by the name of the test: many tests over the same values have all of them together.
    """
    if not strength:
        chosen = tests[zlib.crc32(tests[0].nodeid.partition("[")[0].encode()) % len(tests)]
        return [test for test in tests if test is not chosen]
    numbers, parts, left = dict[Hashable, int](), list[list[tuple[int, ...]]](), list(range(len(tests)))
    for test in tests:
        given = test.callspec.params.items()  # type: ignore[attr-defined]
        keys = [(name, _key(value)) for name, value in given]
        parts.append(list(combinations([numbers.setdefault(key, len(numbers)) for key in keys], strength)))
    taken = Counter[tuple[int, ...]]()
    while left:
        # The one with the most that is new; among those the one whose values were taken least.
        best = max(left, key=lambda k: (sum(part not in taken for part in parts[k]), -sum(taken[p] for p in parts[k])))
        if all(part in taken for part in parts[best]):
            break
        taken.update(parts[best])
        left.remove(best)
    return [tests[k] for k in left]


@pytest.hookimpl(tryfirst=True)  # slow ones are left out afterwards
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spread = dict[str, list[pytest.Item]]()
    for item in items:
        if item.get_closest_marker("spread") and not item.get_closest_marker("slow"):
            spread.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for tests in spread.values():
        for item in left_over(tests, *tests[0].get_closest_marker("spread").args):  # type: ignore[union-attr]
            item.add_marker("slow")
    for item in items:
        if Path(item.path).stem.removeprefix("test_") in NUMERIC and item.path.parent == Path(__file__).parent:
            item.add_marker("numeric")
    seed = config.getoption("--shuffle")
    if seed is not None:
        rng, files = random.Random(seed), dict[Path, list[pytest.Item]]()
        for item in items:
            files.setdefault(item.path, []).append(item)
        for tests in files.values():
            rng.shuffle(tests)
        items[:] = [item for tests in rng.sample(list(files.values()), len(files)) for item in tests]
