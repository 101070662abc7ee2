"""Small studies for tests: models in a module of their own, so that worker processes can import them."""

from __future__ import annotations

import os
import signal

import numpy as np

import gyrod as gd

RING = gd.System([gd.Body("ring", 1.0, (1, 2, 3), angular_velocity=(0.1, 5.0, 0.1))], gravity=(0, 0, 0))

#: 120 runs, a few microseconds of integration each; mass -1 is refused.
SMALL = {
    "vary": {"ring.angular_velocity[1]": gd.Uniform(1.0, 2.0), "ring.mass": [1.0, 2.0, -1.0, 3.0]},
    "outputs": {"spin": "ring.Omega", "most": gd.Maximum("ring.Omega[2]"), "curve": gd.History("ring.Omega[1]", 4)},
    "t_end": 0.1,
    "samples": 30,
    "sampler": "random",  # which needs no import of SciPy in every process
    "rtol": 1e-3,
}


def pushed(force: float, mass: float = 1.0) -> gd.System:
    """A ball under a force that Python computes."""
    body = gd.Body("ball", mass, (1, 1, 1))
    return gd.System([body], forces=[gd.Force("ball", lambda t: (force * np.cos(t), 0.0, 0.0))], gravity=(0, 0, 0))


def deadly(force: float) -> gd.System:
    """The same, and whoever makes it with a force of 3 dies."""
    if force == 3.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return pushed(force)


def speed(motion: gd.Motion) -> float:
    return float(motion["ball"].velocity[-1, 0])


def blocks(study: gd.Study) -> list:
    """The blocks of a study cut into runs, whatever its chunks are."""
    from gyrod.studies.blocks import Block

    found = []
    for k in study._store.present():
        b = study._store.read(k).block
        for i in range(len(b)):
            row = slice(i, i + 1)
            found.append(
                Block(
                    b.start + i, b.start + i + 1, {n: c[row] for n, c in b.outputs.items()}, b.status[row],
                    b.errors[row], b.t[row], {n: c[row] for n, c in b.counters.items()}, b.seconds[row],
                )
            )  # fmt: skip
    return found


def same(a: gd.Study, b: gd.Study) -> bool:
    """Whether two studies hold the same runs to the last bit, each once."""
    left, right = blocks(a), blocks(b)
    whole = [x.start for x in left] == list(range(a.size)) == [x.start for x in right]
    columns = all(np.array_equal(a[n], b[n]) and a[n].dtype == b[n].dtype for n in a.names)
    return whole and columns and all(x.same(y) for x, y in zip(left, right, strict=True))


def quick_block(plan, start, stop, *, tick=None):
    """Stands in for `run_block`: rows that follow from the parameters at once, and every seventh run fails."""
    from gyrod.studies.blocks import COUNTERS, STATUSES, Block

    n = stop - start
    number = np.arange(start, stop)
    values = sum(np.asarray(c, dtype=float).reshape(n, -1).sum(axis=1) for c in plan.parameters(start, stop).values())
    bad = number % 7 == 3
    outputs = {}
    for name, shape in plan.shapes.items():
        size = int(np.prod(shape, dtype=int))
        column = np.sin(values[:, None] + np.arange(size)).reshape(n, *shape)
        column[bad] = np.nan
        outputs[name] = column
    for i in range(n if tick is not None else 0):
        tick(i + 1)
    return Block(
        start, stop, outputs, np.where(bad, STATUSES.index("failed"), 0).astype(np.uint8),
        tuple(f"run {i} fails — always" if b else "" for i, b in zip(number, bad, strict=True)), np.full(n, plan.t_end),
        {name: number + k for k, name in enumerate(COUNTERS)}, np.full(n, 1e-3),
    )  # fmt: skip
