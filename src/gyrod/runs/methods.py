"""All integrators in one table: `simulate`, studies, comparisons, files, the command line and the manual read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """An integrator: where it comes from and what it is for."""

    #: "core"; "stepped", constant steps; "impacts", which knows hard contact; "sundials" and "scipy", which are others'
    #: and run in a loop of Python.
    family: str
    #: One sentence without its full stop.
    about: str
    #: With constant steps; None where it varies from step to step and cannot be held.
    order: int | None = None
    #: Whether it is for stiff systems: its steps pass over the fast vibrations of rods.
    stiff: bool = False
    #: Order of the dense output with constant steps, and the highest degree of its polynomials.
    dense_order: int | None = None
    degree: int | None = None
    #: Forms of the constraints that it takes: 0 is an ordinary differential equation.
    index: tuple[int, ...] = (0,)
    #: The tolerances at which "auto" takes it, "coarse" or "tight"; empty if never.
    auto: str = ""
    #: What the package whose it is calls it.
    solver: str = ""
    #: Whether its steps follow the errors of two steps, so that there is a classical control beside it.
    predictive: bool = False
    #: What similar methods are called elsewhere, in small letters without hyphens.
    alike: tuple[str, ...] = ()


#: ODEX and SEULEX choose their order; with a constant step it is the one given here.
ALL_METHODS = {
    "dopri5": Method(
        "core", "Dormand and Prince's pair", 5, False, 4, 4, auto="coarse",
        alike=("rk4", "rk45", "rk23", "ode45", "ode23", "rungekutta", "dopri", "dormandprince"),
    ),
    "dop853": Method(
        "core", "Dormand and Prince's pair of high order", 8, False, 7, 7, auto="tight",
        alike=("dop", "dopri8", "dopri853", "ode113"),
    ),
    "odex": Method("core", "extrapolated midpoint rule, any order", 8, False, 7, 20),
    "radau5": Method(
        "core", "Radau IIA, implicit", 5, True, 3, 3, (0, 1, 2, 3), auto="tight", predictive=True,
        alike=("radau", "radauiia", "ode15s", "ode23s", "implicit"),
    ),
    "rodas": Method(
        "core", "Rosenbrock method, no iteration", 4, True, 3, 3, (0, 1), auto="coarse", predictive=True,
        alike=("rosenbrock",),
    ),
    "seulex": Method("core", "extrapolated linearly implicit Euler, any order", 4, True, 4, 14, (0, 1)),
    "bdf": Method(
        "sundials", "backward differences, SUNDIALS CVODE", stiff=True, solver="cvode",
        alike=("cvode", "lsoda", "vode", "gear"),
    ),
    "bdf-dae": Method(
        "sundials", "backward differences with multipliers, SUNDIALS IDA", stiff=True, index=(0, 1), solver="ida",
        alike=("ida",),
    ),
    "variational": Method(
        "stepped", "symplectic, for bodies, mechanisms and rods", 2, alike=("verlet", "leapfrog", "symplectic")
    ),
    "energy-momentum": Method(
        "stepped", "conserves energy and momenta, of bodies, mechanisms and rods", 2,
        alike=("newmark", "hht", "generalizedalpha", "midpoint"),
    ),
    "moreau": Method(
        "impacts", "hard contact by impulses, constant steps", 1, dense_order=1, degree=1,
        alike=("moreaujean", "timestepping", "impulses", "nonsmooth", "rigid"),
    ),
    "scipy:RK45": Method("scipy", "SciPy's Dormand and Prince pair", 5, solver="RK45"),
    "scipy:RK23": Method("scipy", "SciPy's Bogacki and Shampine pair", 3, solver="RK23"),
    "scipy:DOP853": Method("scipy", "SciPy's Dormand and Prince pair of high order", 8, solver="DOP853"),
    "scipy:Radau": Method("scipy", "SciPy's Radau IIA", 5, True, solver="Radau"),
    "scipy:BDF": Method("scipy", "SciPy's backward differences", stiff=True, solver="BDF"),
    "scipy:LSODA": Method("scipy", "SciPy's LSODA, Adams or backward differences", stiff=True, solver="LSODA"),
}  # fmt: skip


def of_family(*families: str) -> tuple[str, ...]:
    """Names of the methods of some families."""
    return tuple(name for name, method in ALL_METHODS.items() if method.family in families)


#: The integrators of the core.
METHODS = {name: ALL_METHODS[name] for name in of_family("core")}
#: Predictive steps, constant ones, others' integrators, and all that ``method`` may be.
PREDICTIVE = tuple(name for name, method in ALL_METHODS.items() if method.predictive)
STEPPED, PEERS = of_family("stepped"), of_family("sundials", "scipy")
#: Hard contact, and all that has constant steps only.
IMPACTS, CONSTANT = of_family("impacts"), of_family("stepped", "impacts")
NAMES = ("auto", *ALL_METHODS)
#: Names that stand for several methods in a comparison.
GROUPS: dict[str, tuple[str, ...]] = {
    "all": of_family("core", "sundials", "stepped"),
    "explicit": tuple(name for name, method in METHODS.items() if not method.stiff),
    "stiff": tuple(name for name, method in METHODS.items() if method.stiff),
    "constant": STEPPED,
    "scipy": of_family("scipy"),
}


def automatic(*, stiff: bool, tight: bool) -> str:
    """The method that "auto" takes."""
    wanted = "tight" if tight else "coarse"
    return next(name for name, m in METHODS.items() if m.stiff == stiff and m.auto == wanted)


def rigid(method: object) -> bool:
    """Whether contacts are rigid with a method."""
    return method in IMPACTS


def known_method(name: str, method: object) -> str:
    """A name that ``method`` may be, or the nearest one."""
    if isinstance(method, str) and method in NAMES:
        return method
    from gyrod import _check

    foreign = isinstance(method, str) and method.startswith("scipy:")
    allowed = GROUPS["scipy"] if foreign else ("auto", *GROUPS["all"], *IMPACTS)
    try:
        return _check.choice(name, method, allowed)
    except ValueError as error:
        word = str(method).lower().replace("-", "").replace("_", "")
        near = next((n for n, m in ALL_METHODS.items() if word in m.alike), None)
        told = str(error).partition(" Did you mean")[0]
        raise ValueError(f"{told} Did you mean {near!r}?" if near else str(error)) from None


def for_index(index: int) -> tuple[str, ...]:
    """Methods that take a form of the constraints."""
    return tuple(name for name, method in ALL_METHODS.items() if index in method.index)


def quoted(names: Iterable[str]) -> str:
    """Names as they are written, the last behind an "or"."""
    *first, last = (f'"{name}"' for name in names)
    return f"{', '.join(first)} or {last}" if first else last


def described() -> str:
    """What ``method`` may be, in sentences."""
    sundials = " and ".join(f'"{name}" ({ALL_METHODS[name].about})' for name in of_family("sundials"))
    stepped = ", ".join(f'"{name}" ({ALL_METHODS[name].about})' for name in CONSTANT)
    return (
        f"{quoted(GROUPS['explicit'])} (explicit); {quoted(GROUPS['stiff'])} (stiff); {sundials}, which are an extra; "
        f'{quoted(GROUPS["scipy"])}, of ``solve_ivp``; with constant steps {stepped}; or "auto", which estimates '
        "stiffness and says in ``motion.stats.method`` what it took."
    )


def table() -> str:
    """All methods as a table of Markdown."""
    lines = ["| method | family | order | stiff | `index` | |", "|---|---|---|---|---|---|"]
    for name, m in ALL_METHODS.items():
        order = "varies" if m.order is None else str(m.order)
        index = ", ".join(map(str, m.index))
        lines.append(f"| `{name}` | {m.family} | {order} | {'yes' if m.stiff else ''} | {index} | {m.about} |")
    return "\n".join(lines)
