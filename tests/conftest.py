"""What holds for all tests: which of them depend on rounding, how many examples, a random order, and Ctrl-C."""

from __future__ import annotations

import random
import signal
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
    "compare", "core_rotation", "distances", "docs", "eigen", "elements_core", "elements_dynamics", "elements_joined",
    "elements_kernel", "elements_readings", "elements_refine", "elements_statics", "errata_rotations", "examples",
    "fit", "follow", "geometry",
    "gyro", "integrators", "joint_tracks", "mechanism_oracle", "mechanisms_core", "members", "ode",
    "overconstrained", "problems_rigid", "removable", "reproduce_lang", "reproduce_lla", "reproduce_xu_zhong",
    "held_on_bodies", "rods_absolute", "rods_convergence", "rods_core", "rods_kirchhoff", "rods_on_bodies",
    "rods_reference", "rotations", "sensors", "stability", "statics", "statics_problems", "step_counts", "stepper",
    "study_indices", "transposed", "variational", "variational_oracle",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


def pytest_sessionstart() -> None:
    # A shell ignores Ctrl-C for what it runs in the background; tests of interrupts would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
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
