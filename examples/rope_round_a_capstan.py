"""A rope round a capstan: half a turn holds 25 N with 10 N.

Along the drum the tension grows by e^(mu theta), which Euler found in 1762 and Eytelwein wrote down in 1808. The rope
is pulled, and then let go again: friction at rest depends on the way, so that on the way back the rope hangs on the
drum until it slips in the other direction. Run: python examples/rope_round_a_capstan.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

RADIUS, TAIL, LOAD, FRICTION = 0.05, 0.05, 10.0, 0.3  # m, m, N, -
SEGMENTS, PULL = 80, 5e-4  # -, m
LENGTH = 2.0 * TAIL + np.pi * RADIUS


def along(s: float) -> NDArray[np.float64]:
    """Where the rope lies: up, over the drum, down."""
    x = s * LENGTH
    angle = np.clip((x - TAIL) / RADIUS, 0.0, np.pi)
    over = RADIUS * np.array([-np.cos(angle), 0.0, np.sin(angle)])
    hangs = min(x - TAIL, 0.0) - max(x - TAIL - np.pi * RADIUS, 0.0)
    return np.asarray(over + np.array((0.0, 0.0, hangs)))


def capstan() -> gd.System:
    """A limp rope over a drum: a weight on one end, the other end is pulled down and let go over two seconds."""
    way = f"{PULL}*(1 - abs(t - 1))"
    rope = gd.Rod(
        "rope", length=LENGTH, segments=SEGMENTS, discretization="staggered", stiffness=(2e4,) * 3 + (1e-4,) * 3,
        density_per_length=1e-3, rotary_inertia=(1e-9,) * 3, initial=gd.Curve(position=along), precurvature=(0, 0, 0),
        end=gd.Hinged("ground", at=gd.ExpressionVector((f"{RADIUS}", "0", f"-{TAIL} - {way}"))),
    )  # fmt: skip
    grip = gd.Friction(FRICTION, presliding=1e-5)
    drum = gd.Contact(
        "rope", gd.Shaft(RADIUS, axis=(0, 1, 0)), stiffness=1e7, smoothing=1e-6, friction=grip, name="drum"
    )
    weight = gd.RodLoad("rope", at=0.0, force=(0, 0, -LOAD))
    return gd.System(rods=[rope], gravity=(0, 0, 0), forces=[weight], contacts=[drum])


def run(until: float = 2.0) -> gd.Path:
    """The rope pulled, and let go."""
    return gd.follow(capstan(), "time", (0.0, until), largest=0.1)


def pulls(path: gd.Path) -> NDArray[np.float64]:
    """Tension of the end that is pulled, N, along the path."""
    return np.array([np.linalg.norm(rest["rope"].end_force) for rest in path.rests])


def held() -> tuple[float, float]:
    """What e^(mu theta) says: of the rope that is pulled, and that is let go, N."""
    grows = float(np.exp(FRICTION * np.pi))
    return LOAD * grows, LOAD / grows


def main(folder: str = "demo") -> None:
    """Print the pulls, draw the loop of pull over way and the tension along the drum."""
    from matplotlib.figure import Figure

    path = run()
    found, way = pulls(path), PULL * (1.0 - np.abs(np.asarray(path.value) - 1.0))
    top = int(np.argmax(way))
    for what, here, wanted in zip(("pulled", "let go"), (found[top], found[-1]), held(), strict=True):
        print(f"{what}: {here:.4f} N   Euler and Eytelwein {wanted:.4f} N")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(1e3 * way, found, "C0")
    for wanted in held():
        left.axhline(wanted, color="k", lw=0.8, ls="--")
    left.set(title="pulled, and let go", xlabel="way of the end [mm]", ylabel="pull [N]")
    for row, name in ((top, "pulled"), (-1, "let go")):
        rod = path.rests[row]["rope"]
        s = LENGTH * (np.arange(SEGMENTS) + 0.5) / SEGMENTS
        right.plot(np.degrees((s - TAIL) / RADIUS), rod.force[:, 2], label=name)
    angle = np.linspace(0.0, 180.0, 100)
    for sign in (1.0, -1.0):
        right.plot(angle, LOAD * np.exp(sign * FRICTION * np.radians(angle)), "k--", lw=0.8)
    right.set(title="tension along the rope", xlabel="angle on the drum [°]", ylabel="tension [N]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "rope_round_a_capstan.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
