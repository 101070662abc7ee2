"""Rigid bodies: tops and rackets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod.model import (
    Body,
    Spherical,
    System,
)
from gyrod.problems.named import Named
from gyrod.problems.rotations import free_symmetric_top


@dataclass(frozen=True)
class RigidProblem:
    """A system of rigid bodies with trusted values at some times; ``system.names[0]`` is the body they are of."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: End of the usual time interval, which starts at 0.
    t_end: float
    #: Where the trusted values come from.
    source: str = ""
    #: Time to trusted values: "quaternion", "Omega", "position", "velocity", "energy", "cos_theta", "phi" (precession).
    reference: Mapping[float, Mapping[str, float | tuple[float, ...]]] = field(default_factory=dict)
    #: Trusted periods in s, by what they are the period of.
    periods: Mapping[str, float] = field(default_factory=dict)


_TAYLOR = "113-bit Taylor series and extrapolation, which agree to 20 digits"


def heavy_top(spin: float = 20.0) -> RigidProblem:
    """Lang 2010, example A: slightly unsymmetric top; its moments 50, 42, 10 are about the fixed point."""
    spin = _check.number("spin", spin)
    arm, mass = 1.0, 11.09  # the paper gives their product
    orientation = (0.5 * np.sqrt(3.0), 0.5, 0.0, 0.0)
    top = Body(
        "top",
        mass=mass,
        inertia=(50.0 - mass * arm**2, 42.0 - mass * arm**2, 10.0),
        position=rotations.rotate(orientation, (0.0, 0.0, arm)),
        orientation=orientation,
        angular_velocity=(0.0, 0.0, spin),
    )
    usual: dict[float, dict[str, float | tuple[float, ...]]] = {
        60.0: {
            "quaternion": (-0.18732629467259282, 0.507964761380994, 0.26684559302759603, 0.7972917220196992),
            "Omega": (0.7560099780452241, -0.27599588076720194, 20.006758534296225),
            "energy": 2054.39645,
        }
    }
    about = "heavy, slightly unsymmetric top; Lang 2010, example A"
    reference = usual if spin == 20.0 else {}
    return RigidProblem("lang-a", about, _pinned(top), 60.0, _TAYLOR if reference else "", reference)


def tennis_racket(disturbance: float = 1e-3) -> RigidProblem:
    """Lang 2010, example B: rotation about the axis of the medial moment, pinned at the centre of mass."""
    disturbance = _check.number("disturbance", disturbance)
    racket = Body(
        "racket",
        mass=1.0,
        inertia=(41.6, 11.6, 50.0),
        orientation=("313", (np.pi / 3.0, np.pi / 4.0, np.pi / 2.0)),
        angular_velocity=(50.0, disturbance, disturbance),
    )
    known: dict[float, tuple[float, float, dict[str, float | tuple[float, ...]]]] = {
        1e-1: (
            0.4,
            1.003382714578098,
            {
                "quaternion": (0.19119978991493936, 0.8762250763142138, -0.10822804676018422, -0.428904355152881),
                "Omega": (-49.999888082757685, 0.137039063308772, 0.13143292056665506),
                "energy": 52000.308,
            },
        ),
        1e-3: (
            2.0,
            1.562304870309641,
            {
                "quaternion": (0.8287893359879687, -0.3823394154241182, 0.40813801951079365, 0.01865917992765646),
                "Omega": (-49.79004360706634, 4.054150553259507, 3.6903270104668295),
                "energy": 52000.0000308,
            },
        ),
    }
    about = f"tennis racket with a disturbance of {disturbance:g} rad/s; Lang 2010, example B"
    system = _pinned(racket, gravity=(0.0, 0.0, 0.0))
    if disturbance not in known:
        return RigidProblem("lang-b", about, system, 1.0)
    t_end, period, values = known[disturbance]
    return RigidProblem("lang-b", about, system, t_end, _TAYLOR, {t_end: values}, {"Omega": period})


def bruls_top() -> RigidProblem:
    """Fast heavy top whose symmetry axis is the second of the body, horizontal at the start."""
    top = Body(
        "top",
        mass=15.0,
        inertia=(0.234375, 0.46875, 0.234375),
        position=(0.0, 1.0, 0.0),
        angular_velocity=(0.0, 150.0, -4.61538),
    )
    about = "fast heavy top of O. Brüls, A. Cardona and M. Arnold, Mech. Mach. Theory 48 (2012) 121-137"
    return RigidProblem(
        "bruls-top",
        about,
        _pinned(top),
        2.0,
        "recomputed with independent code; the position at t = 2 to 8 digits, the rest to 12",
        {
            1.0: {"position": (0.173343964098, 0.640088592070, -0.748490791134), "energy": 5435.6967908654},
            2.0: {
                "position": (-0.15041682, -0.72416559, -0.67302227),
                "quaternion": (0.122947135042, -0.491079892551, 0.350430030343, -0.787986887550),
                "energy": 5435.6967908654,
            },
        },
    )


def lagrange_top() -> RigidProblem:
    """Symmetric heavy top, released with its spin alone: I1 = 1 and I3 = 1/2 about the fixed point, m g l = 1."""
    tilt, arm, mass = np.pi / 3.0, 0.5, 2.0
    top = Body(
        "top",
        mass=mass,
        inertia=(1.0 - mass * arm**2, 1.0 - mass * arm**2, 0.5),
        position=(0.0, -arm * np.sin(tilt), arm * np.cos(tilt)),
        orientation=("313", (0.0, tilt, 0.0)),
        angular_velocity=(0.0, 0.0, 4.0),
    )
    return RigidProblem(
        "lagrange-top",
        "Lagrange's top, I1 = 1, I3 = 1/2, m g l = 1, from a tilt of 60 deg with psi' = 4, theta' = phi' = 0",
        _pinned(top, gravity=(0.0, 0.0, -1.0)),
        10.0,
        "elliptic integrals",
        {
            1.0: {"cos_theta": 0.1945497278032147, "phi": 0.24884636033185864},
            10.0: {"cos_theta": 0.495094238862824, "phi": 5.056753265135053},
        },
        {"nutation": 3.371500709625192},
    )


def fast_top() -> RigidProblem:
    """Xu and Zhong 2016, section 5.1: 20 turns a second, from rest of the axis; J1 = J2 = 0.002, J3 = 0.0008."""
    return RigidProblem(
        "xu-zhong-fast",
        "fast symmetric top, released with its spin alone; Xu and Zhong 2016, section 5.1",
        _pinned(_symmetric_top(1.0, 0.04, (0.002, 0.0008), np.pi / 6.0, 0.0, 40.0 * np.pi)),
        1.4,
        "elliptic functions, quadrature with 40 digits",
        {
            0.7: {
                "quaternion": (0.929982694477993623, -0.25160650179967408, 0.10304559543127841, 0.247402428213214324),
                "position": (0.00268660487950381419, 0.0207586738414574269, 0.0340860618811475118),
                "cos_theta": 0.852151547028687796,
                "phi": 3.01288723249816586,
                "energy": 6.65637518514220324,
            },
            1.4: {
                "quaternion": (0.832670966081034264, 0.192512953860570316, -0.224439285873318609, 0.468214514723998893),
                "position": (-0.00773973741798104898, -0.0212308542875497114, 0.0330052615642042152),
                "cos_theta": 0.825131539105105381,
                "phi": 5.93360638020540451,
                "energy": 6.65637518514220324,
            },
        },
        {"nutation": 0.1449934566037027122},
    )


def regular_precession() -> RigidProblem:
    """Xu and Zhong 2016, section 5.2: a cone on its tip that precesses with 10 rad/s at a constant tilt of 60 deg."""
    density, height, tilt, rate = 2700.0, 0.1, np.pi / 3.0, 10.0
    r, arm = 0.5 * height, 0.75 * height
    mass = density * np.pi * r**2 * height / 3.0
    J1, J3 = 0.6 * mass * (0.25 * r**2 + height**2), 0.3 * mass * r**2
    # (80), with J3 where J2 is printed: 135.6.
    psi_rate = mass * 9.81 * arm / (J3 * rate) + (J1 - J3) / J3 * rate * np.cos(tilt)
    top = _symmetric_top(mass, arm, (J1, J3), tilt, rate, psi_rate + rate * np.cos(tilt))

    def at(t: float) -> dict[str, float | tuple[float, ...]]:
        phi, s, c = rate * t, np.sin(tilt), np.cos(tilt)
        return {
            "position": (arm * s * np.sin(phi), -arm * s * np.cos(phi), arm * c),
            "quaternion": tuple(rotations.quaternion_from_euler((phi, tilt, psi_rate * t), "313").tolist()),
            "cos_theta": c,
            "phi": phi,
        }

    about = "regular precession of a cone; Xu and Zhong 2016, section 5.2"
    return RigidProblem("xu-zhong-precession", about, _pinned(top), 2.0, "closed form", {t: at(t) for t in (0.5, 2.0)})


def _symmetric_top(
    mass: float, arm: float, moments: tuple[float, float], tilt: float, precession: float, spin: float
) -> Body:
    """A top about the origin with (J1 = J2, J3) about it, from phi = psi = 0, theta' = 0; Omega3 is the spin."""
    about_centre = moments[0] - mass * arm**2
    return Body(
        "top",
        mass=mass,
        inertia=(about_centre, about_centre, moments[1]),
        position=(0.0, -arm * np.sin(tilt), arm * np.cos(tilt)),
        orientation=("313", (0.0, tilt, 0.0)),
        angular_velocity=(0.0, precession * np.sin(tilt), spin),
    )


def free_top(moments: tuple[float, float] = (1.0, 0.5), angular_velocity: ArrayLike = (0.4, 0.0, 2.0)) -> RigidProblem:
    """Symmetric top thrown in the air: `free_symmetric_top` in rotation, a parabola in translation."""
    rotation = free_symmetric_top(moments, angular_velocity)
    velocity, gravity = np.array([1.0, -2.0, 30.0]), np.array([0.0, 0.0, -9.81])
    body = Body(
        "top",
        mass=2.0,
        inertia=(moments[0], moments[0], moments[1]),
        velocity=velocity,
        angular_velocity=rotation.body_rates(0.0),
    )
    reference: dict[float, dict[str, float | tuple[float, ...]]] = {
        t: {
            "quaternion": tuple(rotation.quaternion(t).tolist()),
            "Omega": tuple(rotation.body_rates(t).tolist()),
            "position": tuple((t * velocity + 0.5 * t**2 * gravity).tolist()),
            "velocity": tuple((velocity + t * gravity).tolist()),
        }
        for t in (1.0, rotation.t_end)
    }
    system = System([body], gravity=gravity)
    return RigidProblem(
        "free-top", "Euler's regular precession in free flight", system, rotation.t_end, "closed form", reference
    )


def _pinned(body: Body, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> System:
    """The body with the origin as its fixed point."""
    return System([body], [Spherical("ground", body.name, at=(0.0, 0.0, 0.0))], gravity=gravity)


#: Rigid bodies: all problems with their usual data, by name.
RIGID: Mapping[str, RigidProblem] = Named(
    lambda: (
        heavy_top(),
        tennis_racket(),
        bruls_top(),
        lagrange_top(),
        free_top(),
        fast_top(),
        regular_precession(),
    )
)
