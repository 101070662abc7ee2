"""Bodies with joints: trees and loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model import (
    Body,
    Bushing,
    Cylindrical,
    Distance,
    Fixed,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
)
from gyrod.problems.named import MOST, Named, X, Y, Z
from gyrod.problems.rigid import bruls_top


@dataclass(frozen=True)
class MechanismProblem:
    """Bodies and joints with trusted values at some times; without any it is known by its constant energy."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: End of the usual time interval, which starts at 0.
    t_end: float
    #: Motions left, and constraints that say nothing new, at a configuration in general position.
    freedoms: int
    redundant: int = 0
    #: Where the trusted values come from.
    source: str = ""
    #: Time to body to trusted values: "position", "velocity", "quaternion", "Omega".
    reference: Mapping[float, Mapping[str, Mapping[str, tuple[float, ...]]]] = field(default_factory=dict)
    #: Trusted total energy, if there is one; gravity's is zero at the origin.
    energy: float | None = None
    #: Trusted periods in s, by what they are the period of.
    periods: Mapping[str, float] = field(default_factory=dict)
    #: Whether the energy stays what it is.
    conservative: bool = True


_Bodies = dict[float, dict[str, dict[str, tuple[float, ...]]]]
_DOWN = (0.0, -9.81, 0.0)


def pendulum() -> MechanismProblem:
    """IFToMM A01: a point mass on a massless link of 1 m, from rest in the horizontal."""
    path = {
        1.0: (-0.9862917511318753, -0.1650108531255412),
        10.0: (0.2750874625761169, -0.9614192050991250),
        100.0: (0.1815133514270314, -0.9833884803340575),
        2000.0: (-0.8146030685890322, -0.5800188278369355),
    }
    mass = Body("mass", mass=1.0, inertia=(0.0, 0.0, 0.0), position=X)
    return MechanismProblem(
        "pendulum",
        "point mass on a massless link, from rest in the horizontal; IFToMM benchmark A01",
        System([mass], [Revolute("ground", "mass", at=(0.0, 0.0, 0.0), axis=Z, name="pivot")], gravity=_DOWN),
        2000.0,
        1,
        source="elliptic functions",
        reference={t: {"mass": {"position": (x, y, 0.0)}} for t, (x, y) in path.items()},
        energy=0.0,
        periods={"swing": 2.3678419475762374},
    )


def four_bar(loops: int = 2) -> MechanismProblem:
    """IFToMM A02: parallelograms of uniform links of 1 m and 1 kg side by side, from upright with 1 m/s at the top."""
    loops = _check.whole("loops", loops, 1, MOST)
    tips = {
        2: {
            1.0: (-0.1950203019494351, -0.9807992056621738),
            4.0: (0.1176161023768086, 0.9930591384513251),
            10.0: (0.3284581115408154, 0.9445185381786010),
        },
        40: {10.0: (0.1805122266867284, 0.9835727405823116), 20.0: (0.4109011537629452, 0.9116799009719806)},
    }
    path = tips.get(loops, {})
    return MechanismProblem(
        "four-bar",
        f"{loops} parallelograms in a row, singular when they lie flat; IFToMM benchmark A02",
        _parallelograms(loops),
        max(path, default=10.0),
        1,
        3 * loops,
        source="one equation for the angle, by independent code" if path else "",
        # The trusted path is that of the first upright's upper end.
        reference={t: {"upright0": {"position": (0.5 * x, 0.5 * y, 0.0)}} for t, (x, y) in path.items()},
        energy=0.5 * (loops + (loops + 1) / 3.0) + 9.81 * (loops + 0.5 * (loops + 1)),
    )


def driven_four_bar(amplitude: float = 1.0) -> MechanismProblem:
    """One parallelogram whose first upright is led: its angle from the vertical is amplitude sin(t)."""
    amplitude = _check.number("amplitude", amplitude)

    def place(angle: float) -> dict[str, dict[str, tuple[float, ...]]]:
        s, c = np.sin(angle), np.cos(angle)
        at = {"upright0": (0.5 * s, 0.5 * c), "upright1": (1.0 + 0.5 * s, 0.5 * c), "coupler0": (0.5 + s, c)}
        return {name: {"position": (float(x), float(y), 0.0)} for name, (x, y) in at.items()}

    drive = (
        lambda t: -amplitude * np.sin(t),
        lambda t: -amplitude * np.cos(t),
        lambda t: amplitude * np.sin(t),
    )
    return MechanismProblem(
        "four-bar-driven",
        "parallelogram whose crank swings as prescribed",
        _parallelograms(1, amplitude, drive),
        10.0,
        0,
        3,
        source="closed form",
        reference={t: place(amplitude * np.sin(t)) for t in (1.0, 4.0, 10.0)},
        conservative=False,
    )


#: An angle over time with its first and second derivative.
Drive = tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]


def _parallelograms(loops: int, speed: float = 1.0, drive: Drive | None = None) -> System:
    """Uprights on ground at x = 0, 1, ..., couplers over them; the upper ends have the speed in x."""
    tall = {"mass": 1.0, "inertia": (1.0 / 12.0, 1e-4, 1.0 / 12.0)}
    flat = {"mass": 1.0, "inertia": (1e-4, 1.0 / 12.0, 1.0 / 12.0)}
    bodies = [
        Body(
            f"upright{i}",
            **tall,  # type: ignore[arg-type]
            position=(i, 0.5, 0.0),
            velocity=(0.5 * speed, 0.0, 0.0),
            angular_velocity=(0.0, 0.0, -speed),
        )
        for i in range(loops + 1)
    ] + [
        Body(f"coupler{i}", **flat, position=(i + 0.5, 1.0, 0.0), velocity=(speed, 0.0, 0.0))  # type: ignore[arg-type]
        for i in range(loops)
    ]
    joints = [
        Revolute("ground", f"upright{i}", at=(i, 0.0, 0.0), axis=Z, name=f"foot{i}", drive=None if i else drive)
        for i in range(loops + 1)
    ]
    for i in range(loops):
        joints += [
            Revolute(f"upright{i + k}", f"coupler{i}", at=(i + k, 1.0, 0.0), axis=Z, name=f"{side}{i}")
            for k, side in enumerate(("left", "right"))
        ]
    return System(bodies, joints, gravity=_DOWN)


def slider_crank() -> MechanismProblem:
    """IFToMM's spatial slider-crank; the crank turns about x, the slider moves on the x axis."""
    along = np.array([0.2, -0.1, -0.2]) / 0.3
    across = np.array([0.0, 2.0, -1.0]) / np.sqrt(5.0)
    frame = np.column_stack([along, across, np.cross(along, across)])
    omega = np.array([1.92, -0.96, 0.48])
    top, end = np.array([0.0, 0.1, 0.2]), np.array([0.2, 0.0, 0.0])
    bodies = [
        Body(
            "crank",
            mass=0.12,
            inertia=(1e-4, 1e-4, 1e-4),
            position=(0.0, 0.1, 0.16),
            velocity=(0.0, -0.24, 0.0),
            angular_velocity=(6.0, 0.0, 0.0),
        ),
        Body(
            "rod",
            mass=0.5,
            inertia=(4e-4, 4e-3, 4e-3),
            position=0.5 * (top + end),
            orientation=frame,
            velocity=np.array([0.0, -0.48, 0.0]) + np.cross(omega, 0.15 * along),
            angular_velocity=frame.T @ omega,
        ),
        Body("slider", mass=2.0, inertia=(1e-4, 1e-4, 1e-4), position=end, velocity=(0.24, 0.0, 0.0)),
    ]
    joints = [
        Revolute("ground", "crank", at=(0.0, 0.1, 0.12), axis=X, name="bearing"),
        Spherical("crank", "rod", at=top, name="ball"),
        Universal("slider", "rod", at=end, axis=X, axis2=across, name="cross"),
        Prismatic("ground", "slider", at=end, axis=X, name="guide"),
    ]
    path = {
        0.1: 0.2267871885529,
        0.5: 0.1849526297778,
        1.0: 0.2117216613935,
        2.0: 0.2890851970670,
        5.0: 0.2407195737321,
    }
    return MechanismProblem(
        "slider-crank",
        "spatial slider-crank from a crank rate of 6 rad/s; IFToMM benchmark",
        System(bodies, joints),
        5.0,
        1,
        source="recomputed with independent code",
        reference={t: {"slider": {"position": (x, 0.0, 0.0)}} for t, x in path.items()},
    )


def top_on_a_stand() -> MechanismProblem:
    """`bruls_top` on a body that is fixed to ground, so that its ball is a joint between two bodies."""
    known = bruls_top()
    body = known.system.body("top")
    stand = Body("stand", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0.0, 0.0, -0.5))
    joints = [
        Fixed("ground", "stand", at=(0.0, 0.0, -1.0), name="foot"),
        Spherical("stand", "top", at=(0.0, 0.0, 0.0), name="ball"),
    ]
    values: _Bodies = {
        t: {"top": {k: x for k, x in row.items() if isinstance(x, tuple)}} for t, row in known.reference.items()
    }
    # The stand's own potential energy comes on top.
    return MechanismProblem(
        "bruls-top-on-a-stand",
        f"{known.about}, on a stand",
        System([stand, body], joints),
        2.0,
        3,
        source=known.source,
        reference=values,
        energy=5435.6967908654 - 0.5 * 9.81,
    )


def chain(links: int = 10) -> MechanismProblem:
    """Slender links of 0.1 m and 0.1 kg on ball joints, hinged at the origin, from rest along x."""
    links = _check.whole("links", links, 1, MOST)
    length, mass, radius = 0.1, 0.1, 5e-3
    transverse = mass * (3.0 * radius**2 + length**2) / 12.0
    inertia = (0.5 * mass * radius**2, transverse, transverse)
    bodies = [
        Body(f"link{i}", mass=mass, inertia=inertia, position=((i + 0.5) * length, 0.0, 0.0)) for i in range(links)
    ]
    names = ["ground", *(b.name for b in bodies)]
    joints = [Spherical(names[i], names[i + 1], at=(i * length, 0.0, 0.0), name=f"ball{i}") for i in range(links)]
    about = f"chain of {links} links, hinged at one end, from rest in the horizontal"
    return MechanismProblem("chain", about, System(bodies, joints), 1.0, 3 * links, energy=0.0)


def two_bodies() -> MechanismProblem:
    """Lang 2010, example C: two bodies on a ball joint, the first held to the origin by a bushing."""
    orientation = (0.5 * np.sqrt(3.0), 0.5, 0.0, 0.0)
    arms = np.array([1.0, 2.0, -3.0]), np.array([5.0, -6.0, -7.0])
    Omegas = np.array([3.0, 2.0, 1.0]), np.array([24.0, 15.0, 12.0])
    joint = rotations.rotate(orientation, arms[0])
    bodies = [
        Body(
            name,
            mass=m,
            inertia=(41.6, 11.6, 50.0),
            position=x,
            orientation=orientation,
            velocity=v,
            angular_velocity=Omega,
        )
        for name, m, x, v, Omega in (
            ("first", 10.0, np.zeros(3), np.zeros(3), Omegas[0]),
            (
                "second",
                20.0,
                joint - rotations.rotate(orientation, arms[1]),
                rotations.rotate(orientation, np.cross(Omegas[0], arms[0]) - np.cross(Omegas[1], arms[1])),
                Omegas[1],
            ),
        )
    ]
    system = System(
        bodies,
        [Spherical("first", "second", at_a=arms[0], at_b=arms[1], name="ball")],
        forces=[Bushing("ground", "first", stiffness=1e4)],
        gravity=(0.0, 0.0, 0.0),
    )
    reference: _Bodies = {
        0.25: {
            "first": {
                "position": (-1.1108898471960835, 0.7158132452392706, 0.8350439764817705),
                "velocity": (-33.34498094169382, -10.128952763448165, 5.236221777637195),
                "quaternion": (0.7643758929465447, -0.28582405679274525, 0.4815773950186273, -0.319558000131092),
                "Omega": (-0.6203615342899547, 1.2835276813746996, 80.54661250636681),
            },
            "second": {
                "position": (4.147079264864119, -2.0067040297379606, -9.34801388623602),
                "velocity": (-10.908567593777793, 279.0011994575125, 55.89500586019626),
                "quaternion": (0.13541598312610903, -0.7957467972062088, -0.27436309580394425, -0.5226609205889855),
                "Omega": (0.7823938089597322, 18.412117815546136, 9.865597814486286),
            },
        }
    }
    return MechanismProblem(
        "lang-c",
        "two bodies on a ball joint, held by a bushing, chaotic; Lang 2010, example C",
        system,
        0.25,
        9,
        source="two runs of Taylor series with 320 bits, which agree in all digits shown",
        reference=reference,
        energy=995901.2,
    )


def joint_tree() -> MechanismProblem:
    """Every kind of joint once: three branches from ground, and a rod of fixed length between two of them."""
    J = np.array([[0.05, 0.01, -0.005], [0.01, 0.07, 0.008], [-0.005, 0.008, 0.04]])
    place = {
        "arm": (0.5, 0.0, 0.0),
        "wrist": (1.1, 0.2, 0.0),
        "plunger": (1.4, 0.1, -0.4),
        "sleeve": (0.0, 1.0, 0.0),
        "nut": (0.3, 1.3, 0.2),
        "plate": (0.5, 1.5, 0.1),
        "puck": (0.0, -1.0, 0.0),
        "bob": (0.2, -1.1, -0.6),
    }
    bodies = [
        Body(name, mass=0.8 + 0.1 * i, inertia=(1.0 + 0.1 * i) * J, position=x, orientation=(0.3 * i, -0.2, 0.1 * i))
        for i, (name, x) in enumerate(place.items())
    ]
    joints = [
        Revolute("ground", "arm", at=(0.0, 0.0, 0.0), axis=(0.2, 1.0, 0.1), stiffness=60.0, rest=0.2, name="revolute"),
        Universal("arm", "wrist", at=(0.8, 0.1, 0.0), axis=Z, axis2=Y, name="universal"),
        Prismatic("wrist", "plunger", at=(1.3, 0.1, -0.2), axis=(0.1, 0.2, 1.0), stiffness=80.0, name="prismatic"),
        Cylindrical(
            "ground",
            "sleeve",
            at=(0.0, 1.0, 0.1),
            axis=X,
            stiffness=(40.0, 30.0),
            rest=(0.1, -0.1),
            name="cylindrical",
        ),
        Helical("sleeve", "nut", at=(0.1, 1.1, 0.1), axis=(0.0, 1.0, 0.3), pitch=0.3, stiffness=40.0, name="helical"),
        Fixed("nut", "plate", at=(0.4, 1.4, 0.1), name="fixed"),
        Planar("ground", "puck", at=(0.0, -1.0, 0.0), axis=Z, name="planar"),
        Spherical("puck", "bob", at=(0.1, -1.0, -0.2), name="spherical"),
        Distance("bob", "plunger", at=(0.2, -1.1, -0.6), to=(1.4, 0.1, -0.4), name="distance"),
    ]
    return MechanismProblem(
        "joint-tree", "every kind of joint once, from rest, with springs in some", System(bodies, joints), 10.0, 12
    )


def rssr() -> MechanismProblem:
    """Spatial crank and rocker, skew axes, a coupler between two balls that may spin about itself."""
    c, r = np.array([0.0, 0.0, 0.5]), np.array([1.6, 0.3, 1.0])
    foot = np.array([1.6, 0.3, 0.0])
    line = (r - c) / np.linalg.norm(r - c)
    across = np.cross(line, Y) / np.linalg.norm(np.cross(line, Y))
    frame = np.column_stack([line, np.cross(across, line), across])
    bodies = [
        Body("crank", mass=1.0, inertia=(0.03, 0.03, 0.002), position=0.5 * c),
        Body("coupler", mass=1.5, inertia=(0.004, 0.4, 0.4), position=0.5 * (c + r), orientation=frame),
        Body("rocker", mass=1.2, inertia=(0.1, 0.1, 0.004), position=0.5 * (foot + r)),
    ]
    joints = [
        Revolute("ground", "crank", at=(0.0, 0.0, 0.0), axis=Y, name="drive shaft"),
        Spherical("crank", "coupler", at=c, name="first ball"),
        Spherical("coupler", "rocker", at=r, name="second ball"),
        Revolute("rocker", "ground", at=foot, axis=(0.3, 1.0, 0.2), name="rocker shaft"),
    ]
    # Upright it would stand still: gravity leans.
    system = System(bodies, joints, gravity=(2.0, 1.0, -9.6))
    return MechanismProblem("rssr", "spatial four-bar linkage RSSR, from rest", system, 10.0, 2)


def bennett(ratio: float = 2.0, twist: float = 0.4) -> MechanismProblem:
    """Bennett's linkage: four skew hinges that move though they should not, since a/sin(alpha) = b/sin(beta)."""
    ratio, twist = _check.positive("ratio", ratio), _check.positive("twist", twist)
    if not ratio * np.sin(twist) <= 1.0:
        raise ValueError(f"ratio = {ratio:g} and twist = {twist:g} make no linkage: ratio sin(twist) is above 1.")
    a, alpha = 1.0, twist
    b = ratio * a
    beta = np.pi - np.arcsin(ratio * np.sin(alpha))
    angle = 1.9
    # Angles at the hinges of opposite corners are equal; those of neighbours obey Bennett's relation.
    half = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    other = 2.0 * np.arctan2(half, np.tan(0.5 * angle))
    frames = [np.eye(4)]
    for length, turn, joint in ((a, alpha, angle), (b, beta, other), (a, alpha, -angle), (b, beta, -other)):
        frames.append(frames[-1] @ _denavit(length, turn, joint))
    at, axes = [f[:3, 3] for f in frames[:4]], [f[:3, 2] for f in frames[:4]]
    names = ["ground", "short", "long", "rocker"]
    bodies = []
    for i, name in enumerate(names[1:]):
        middle = 0.5 * (at[i] + at[(i + 1) % 4])
        bodies.append(Body(name, mass=1.0, inertia=(0.1, 0.12, 0.15), position=middle))
    corners = ((0, "ground", "short"), (1, "short", "long"), (2, "long", "rocker"), (3, "rocker", "ground"))
    joints = [Revolute(p, q, at=at[i], axis=axes[i], name=f"hinge{i}") for i, p, q in corners]
    return MechanismProblem(
        "bennett", "Bennett's overconstrained linkage, from rest", System(bodies, joints), 10.0, 1, 3
    )


def _denavit(length: float, twist: float, angle: float) -> Array:
    """From one hinge to the next: a turn by ``angle`` about z, then ``length`` along x and a twist about it."""
    ca, sa, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [
            [ca, -sa * ct, sa * st, length * ca],
            [sa, ca * ct, -ca * st, length * sa],
            [0.0, st, ct, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def platform() -> MechanismProblem:
    """Stewart's platform on six legs with springs: universal joint, slider, ball."""
    bodies = [
        Body("platform", mass=5.0, inertia=(0.2, 0.2, 0.4), position=(0.0, 0.0, 1.0), angular_velocity=(0.0, 0.0, 0.0))
    ]
    joints: list[Joint] = []
    for i in range(6):
        low, high = np.pi / 3.0 * (i + 0.2 * (-1) ** i), np.pi / 3.0 * (i + 0.35 * (-1) ** (i + 1))
        foot = np.array([np.cos(low), np.sin(low), 0.0])
        head = np.array([0.6 * np.cos(high), 0.6 * np.sin(high), 1.0])
        line = head - foot
        across = np.cross(line, (-np.sin(low), np.cos(low), 0.0))
        first = np.cross(across, line)
        frame = np.column_stack([v / np.linalg.norm(v) for v in (first, across, np.cross(first, across))])
        for part, fraction, mass in (("barrel", 0.3, 0.6), ("piston", 0.75, 0.3)):
            bodies.append(
                Body(
                    f"{part}{i}",
                    mass=mass,
                    inertia=mass * np.array([0.02, 0.02, 0.002]),
                    position=foot + fraction * line,
                    orientation=frame,
                )
            )
        joints += [
            Universal("ground", f"barrel{i}", at=foot, axis=first, axis2=across, name=f"foot{i}"),
            Prismatic(
                f"barrel{i}",
                f"piston{i}",
                at=foot + 0.5 * line,
                axis=line,
                stiffness=200.0 + 40.0 * i,
                name=f"slider{i}",
            ),
            Spherical(f"piston{i}", "platform", at=head, name=f"ball{i}"),
        ]
    return MechanismProblem("platform", "Stewart's platform on springs, from rest", System(bodies, joints), 10.0, 6)


#: Mechanisms: all problems with their usual data, by name.
MECHANISMS: Mapping[str, MechanismProblem] = Named(
    lambda: (
        pendulum(),
        four_bar(),
        driven_four_bar(),
        slider_crank(),
        top_on_a_stand(),
        chain(),
        two_bodies(),
        joint_tree(),
        rssr(),
        bennett(),
        platform(),
    )
)
