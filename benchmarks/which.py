"""Which formulation, which integrator: six systems in all that run, as the tables and figures of docs/which.md.

    python benchmarks/which.py            # all six, about ten minutes; the page's tables go to standard output
    python benchmarks/which.py top chain  # some of them
    python benchmarks/which.py --page docs/which.md  # into the page; --figures docs/images draws

Steps, right-hand sides and errors are the same on every machine; CPU times are of the one that ran it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import gyrod as gd

#: CPU seconds for each run.
LIMIT = 2.0
RTOLS = (1e-3, 1e-5, 1e-7)
#: Errors for which the cheapest are printed.
WANTED = (1e-2, 1e-4, 1e-6)
METHODS = ("dopri5", "dop853", "odex", "radau5", "rodas", "seulex", "variational", "energy-momentum")
INDEX: tuple[dict[str, Any], ...] = ({"index": 1}, {"index": 2}, {"index": 2, "stabilised": True}, {"index": 3})
FORMS: list[str | gd.Formulation] = [
    *gd.FORMULATIONS,
    *(gd.Formulation("absolute-quaternion", **parts) for parts in INDEX),
]
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def top() -> gd.System:
    """The heavy top of Lang 2010, example A."""
    return gd.problems.get("lang-a").system


def chain() -> gd.System:
    """Five links on ball joints and hinges."""
    bodies, joints = [], []
    for k in range(5):
        x, before = np.array([0.25 + 0.5 * k, 0, 0]), f"link{k - 1}" if k else "ground"
        bodies.append(gd.Body(f"link{k}", 1.0, (0.002, 0.02, 0.02), position=x))
        at = (0.5 * k, 0, 0)
        joints.append(
            gd.Revolute(before, f"link{k}", at=at, axis=(0, 1, 0.3))
            if k % 2
            else gd.Spherical(before, f"link{k}", at=at)
        )
    bodies[-1] = bodies[-1].with_(velocity=(0, 0, 0))
    return gd.System(bodies, joints)


def loop() -> gd.System:
    """A four-bar linkage that falls."""
    corners = np.array([[0, 0, 0], [0.3, 0, 0.8], [1.3, 0, 1.0], [1.2, 0, 0]])
    bodies = []
    joints: list[gd.model.Joint] = []
    for k in range(3):
        a, b = corners[k], corners[k + 1]
        size = float(np.sum((b - a) ** 2))
        turn = -np.arctan2(b[2] - a[2], b[0] - a[0])
        inertia = (size / 100, size / 12, size / 12)
        bodies.append(gd.Body(f"bar{k}", 1.0, inertia, position=0.5 * (a + b), orientation=(0, turn, 0)))
    names = ["ground", "bar0", "bar1", "bar2", "ground"]
    for k, at in enumerate(corners):
        if k == 1:
            joints.append(gd.Spherical(names[k], names[k + 1], at=at))
        elif k == 2:
            joints.append(gd.Universal(names[k], names[k + 1], at=at, axis_a=(0, 1, 0), axis_b=(0, 0, 1)))
        else:
            joints.append(gd.Revolute(names[k], names[k + 1], at=at, axis=(0, 1, 0)))
    return gd.System(bodies, joints)


def hose(
    name: str = "hose", a: tuple[float, ...] = (0, 0, 0), b: tuple[float, ...] = (1, 0, 0), **given: Any
) -> gd.Rod:
    length = float(np.linalg.norm(np.subtract(b, a)))
    fields: dict[str, Any] = {"start": gd.Hinged(), **given}
    return gd.Rod(
        name,
        length,
        8,
        gd.Circle(radius=0.01),
        RUBBER,
        initial=gd.Straight(a, b),
        damping=gd.Damping(factor=1e-3),
        **fields,
    )


def rod() -> gd.System:
    """A rubber hose that swings from its end."""
    return gd.System(rods=[hose()])


def bob() -> gd.System:
    """The same with a bob in a clamp at its end."""
    body = gd.Body("bob", 0.2, (4e-4, 4e-4, 4e-4), position=(1.03, 0, 0))
    return gd.System([body], rods=[hose(end=gd.Clamped("bob"))])


def net() -> gd.System:
    """Two by two bodies that hang from ground by hoses and are joined across."""
    bodies, rods = [], []
    for i in range(2):
        for j in range(2):
            bodies.append(gd.Body(f"b{i}{j}", 0.1, (1e-4,) * 3, position=(0.6 * i, 0.6 * j, 0)))
            rods.append(hose(f"up{i}{j}", (0.6 * i, 0.6 * j, 0.8), (0.6 * i, 0.6 * j, 0), end=gd.Hinged(f"b{i}{j}")))
        rods.append(
            hose(f"x{i}", (0, 0.6 * i, 0), (0.6, 0.6 * i, 0), start=gd.Hinged(f"b0{i}"), end=gd.Clamped(f"b1{i}"))
        )
        rods.append(
            hose(f"y{i}", (0.6 * i, 0, 0), (0.6 * i, 0.6, 0), start=gd.Hinged(f"b{i}0"), end=gd.Hinged(f"b{i}1"))
        )
    return gd.System(bodies, rods=rods)


SYSTEMS = {
    "top": (top, 2.0),
    "chain": (chain, 2.0),
    "loop": (loop, 2.0),
    "rod": (rod, 1.0),
    "bob": (bob, 1.0),
    "net": (net, 0.5),
}


TITLES = {"top": "Top", "chain": "Chain", "loop": "Loop", "rod": "Rod", "bob": "Rod with a bob", "net": "Net"}


def shown(trial: gd.Trial) -> str:
    """A row of a table."""
    how = f"{trial.step:.2g} s" if trial.step is not None else f"{trial.rtol:g}"
    rhs = trial.rhs or ""
    form = trial.formulation.replace(", stabilised True", ", stabilised")
    return (
        f"`{form}` | `{trial.method}` | {how} | {trial.steps} | {rhs} | {trial.error:.0e} | {trial.drift:.0e} | "
        f"{1e3 * (trial.seconds or 0.0):.1f}"
    )


def table(found: gd.Comparison) -> str:
    """The cheapest for each wanted error, then for the middle one of each formulation and of each method."""
    title = "| the best | formulation | method | tolerance | steps | f | error | drift | CPU ms |"
    lines = [title, "|---|---|---|---|---|---|---|---|---|"]

    def best(what: str, error: float, **of: str) -> None:
        good = [x for x in found.finished if all(getattr(x, key) == value for key, value in of.items())]
        good = [x for x in good if x.error is not None and x.error <= error]
        if good:
            lines.append(f"| {what} | {shown(min(good, key=lambda x: x.seconds or 0.0))} |")
        else:
            lines.append(
                f"| {what} | {' | '.join([*(f'`{value}`' for value in of.values()), 'not reached'])} | | | | | | |"
            )

    for error in WANTED:
        best(f"for {error:g}", error)
    for key in ("formulation", "method"):
        for name in dict.fromkeys(getattr(x, key) for x in found.finished):
            best(f"of the {key}", WANTED[1], **{key: name})
    return "\n".join(lines)


def section(name: str, figures: Path | None) -> str:
    """Tables of a system."""
    make, t_end = SYSTEMS[name]
    found = gd.compare(make(), t_end, formulations=FORMS, methods=METHODS, rtols=RTOLS, limit=LIMIT, points=51)
    if figures:
        found.plot("rhs", file=figures / f"which_{name}.png")
    stopped = sorted({x.method for x in found.trials if x.status not in ("finished", "refused")})
    left = f" Over {LIMIT:g} s of CPU time, or failed: {', '.join(f'`{m}`' for m in stopped)}." if stopped else ""
    head = f"{make.__doc__} {t_end:g} s; {len(found.finished)} runs finished.{left}"
    return f"### {TITLES[name]}\n\n{head}\n\n{table(found)}\n"


def main() -> None:
    """Run and print, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", default=[*SYSTEMS])
    parser.add_argument("--page", type=Path, help="page whose sections of these systems are replaced")
    parser.add_argument("--figures", type=Path, help="folder for the work-precision figures")
    given = parser.parse_args()
    for name in given.systems:
        text = section(name, given.figures)
        print(text, flush=True)
        if given.page:
            page = given.page.read_text(encoding="utf-8")
            begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
            before, rest = page.split(begin)
            given.page.write_text(before + begin + text + end + rest.split(end)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
