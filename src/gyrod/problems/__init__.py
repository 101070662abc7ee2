"""Named reference problems with trusted solutions: tests, documentation and benchmarks share them.

>>> import gyrod as gd
>>> sorted(gd.problems.ROTATIONS)[:3]
['coning', 'constant-rate', 'free-symmetric-top']
>>> gd.problems.get("coning").quaternion(0.0).round(6).tolist()
[0.999962, 0.008727, 0.0, 0.0]
>>> top = gd.problems.get("lang-a")
>>> top.t_end, sorted(top.reference[60.0])
(60.0, ['Omega', 'energy', 'quaternion'])
>>> string = gd.problems.get("steel-string")
>>> string.system.rods[0].segments, string.reference[1.0]["end"]
(20, (0.0, 0.92588, -0.34938))
>>> pendulum = gd.problems.get("pendulum")
>>> pendulum.freedoms, pendulum.reference[1.0]["mass"]["position"]
(1, (-0.9862917511318753, -0.1650108531255412, 0.0))
>>> column = gd.problems.get("self-weight-column")
>>> column.kind, round(column.reference["critical load"], 6)
('follow', 7.837347)
"""

from __future__ import annotations

from typing import Any, Literal, overload

from gyrod import _check
from gyrod.problems.mechanisms import (
    MECHANISMS,
    MechanismProblem,
    bennett,
    chain,
    driven_four_bar,
    four_bar,
    joint_tree,
    pendulum,
    platform,
    rssr,
    slider_crank,
    top_on_a_stand,
    two_bodies,
)
from gyrod.problems.rigid import (
    RIGID,
    RigidProblem,
    bruls_top,
    fast_top,
    free_top,
    heavy_top,
    lagrange_top,
    regular_precession,
    tennis_racket,
)
from gyrod.problems.rods import (
    DATA_SETS,
    RODS,
    RUBBER,
    STEEL,
    RodProblem,
    bend_45,
    lla_rubber,
    lla_steel,
    lla_test1,
    rubber_pendulum,
    spin_up,
    steel_string,
)
from gyrod.problems.rotations import (
    ROTATIONS,
    RotationProblem,
    coning,
    constant_rate,
    free_symmetric_top,
    from_rotation_vector,
)
from gyrod.problems.statics import (
    STATICS,
    StaticProblem,
    bend_45_at_rest,
    cardan_shaft,
    elastica,
    euler_bernoulli,
    euler_column,
    lla_test2,
    post_buckling,
    roll_up,
    self_weight_column,
    spinning_rod,
    timoshenko,
    twist_buckling,
)

#: A problem of any sort.
AnyProblem = RotationProblem | RigidProblem | RodProblem | MechanismProblem | StaticProblem

__all__ = [
    "DATA_SETS",
    "MECHANISMS",
    "RIGID",
    "RODS",
    "ROTATIONS",
    "RUBBER",
    "STATICS",
    "STEEL",
    "MechanismProblem",
    "RigidProblem",
    "RodProblem",
    "RotationProblem",
    "StaticProblem",
    "bend_45",
    "bend_45_at_rest",
    "bennett",
    "bruls_top",
    "cardan_shaft",
    "chain",
    "coning",
    "constant_rate",
    "driven_four_bar",
    "elastica",
    "euler_bernoulli",
    "euler_column",
    "fast_top",
    "four_bar",
    "free_symmetric_top",
    "free_top",
    "from_rotation_vector",
    "get",
    "heavy_top",
    "joint_tree",
    "lagrange_top",
    "lla_rubber",
    "lla_steel",
    "lla_test1",
    "lla_test2",
    "pendulum",
    "platform",
    "post_buckling",
    "regular_precession",
    "roll_up",
    "rssr",
    "rubber_pendulum",
    "self_weight_column",
    "slider_crank",
    "spin_up",
    "spinning_rod",
    "steel_string",
    "tennis_racket",
    "timoshenko",
    "top_on_a_stand",
    "twist_buckling",
    "two_bodies",
]


@overload
def get(
    name: Literal[
        "coning",
        "constant-rate",
        "free-symmetric-top",
        "zupan-saje-1",
        "zupan-saje-2-planar",
        "zupan-saje-2-spatial",
        "zupan-saje-3",
        "zupan-saje-3-axis",
        "zupan-saje-3-line",
    ],
) -> RotationProblem: ...
@overload
def get(
    name: Literal[
        "lang-a",
        "lang-b",
        "bruls-top",
        "lagrange-top",
        "free-top",
        "xu-zhong-fast",
        "xu-zhong-precession",
    ],
) -> RigidProblem: ...
@overload
def get(
    name: Literal[
        "lla-test1",
        "lla-rubber",
        "lla-rubber-as-printed",
        "lla-steel",
        "lla-steel-as-printed",
        "steel-string",
        "rubber-pendulum",
        "spin-up",
        "bend-45",
    ],
) -> RodProblem: ...
@overload
def get(
    name: Literal[
        "pendulum",
        "four-bar",
        "four-bar-driven",
        "slider-crank",
        "bruls-top-on-a-stand",
        "chain",
        "lang-c",
        "joint-tree",
        "rssr",
        "bennett",
        "platform",
    ],
) -> MechanismProblem: ...
@overload
def get(
    name: Literal[
        "elastica-1",
        "elastica-2",
        "elastica-5",
        "elastica-10",
        "post-buckling-20",
        "post-buckling-60",
        "post-buckling-120",
        "roll-up",
        "bend-45-300",
        "bend-45-600",
        "lla-test2",
        "euler-column",
        "self-weight-column",
        "twist-buckling",
        "cardan-shaft",
        "timoshenko-cantilever",
        "timoshenko-free-free",
        "timoshenko-pinned-pinned",
        "timoshenko-clamped-clamped",
        "euler-bernoulli",
        "spinning-rod",
    ],
) -> StaticProblem: ...
@overload
def get(name: str) -> Any: ...
def get(name: str) -> AnyProblem:
    """The problem of that name, of `ROTATIONS`, `RIGID`, `RODS`, `MECHANISMS` or `STATICS`, with its usual data."""
    everything: dict[str, AnyProblem] = {**ROTATIONS, **RIGID, **RODS, **MECHANISMS, **STATICS}
    return everything[_check.choice("name", name, everything)]
