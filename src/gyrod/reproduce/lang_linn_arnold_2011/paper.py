"""Numbers of the paper, and what they are numbers of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gyrod._check import Array
from gyrod.runs.formulations import Formulation

if TYPE_CHECKING:
    from gyrod._check import Data

#: The paper's five curvatures by the names they have here, and their generators (34).
CURVATURES = {"(i)": "sine", "(ii)": "half-sine", "(iii)": "tangent", "(iv)": "half-tangent", "(v)": "angle"}


GENERATORS: dict[str, Callable[[Array], Array]] = {
    "(i)": lambda phi: 2.0 * np.sin(phi / 2.0),
    "(ii)": lambda phi: 4.0 * np.sin(phi / 4.0),
    "(iii)": lambda phi: 2.0 * np.tan(phi / 2.0),
    "(iv)": lambda phi: 4.0 * np.tan(phi / 4.0),
    "(v)": lambda phi: phi,
}


FORMULAS = {
    "(i)": "2 sin(φ/2)",
    "(ii)": "4 sin(φ/4)",
    "(iii)": "2 tan(φ/2)",
    "(iv)": "4 tan(φ/4)",
    "(v)": "φ",
}


#: The paper's setting for counts; AbsTol = RelTol.
SETTING: Data = {
    "formulation": Formulation("absolute-quaternion", baumgarte=(100.0, 100.0)),
    "norm": "plain",
    "projection": "none",
    "dense": False,
}


#: Operators of Table 1 and the core's names of them.
OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "squares": "square", "√": "sqrt", "arccos": "atan2"}


#: Per segment: all of curvature (i), and what the others and the Baumgarte accelerations add.
TABLE_1 = {
    "(i)": (174, 111, 289, 3, 4, 0, 0),
    "(ii)": (11, 27, 36, 31, 0, 1, 0),
    "(iii)": (11, 15, 40, 30, 0, 0, 0),
    "(iv)": (10, 15, 39, 30, 0, 0, 0),
    "(v)": (37, 3, 72, 3, 1, 1, 1),
    "Baumgarte": (8, 1, 2, 0, 4, 0, 0),
}


#: "bdf" stands for DASPK, see `multistep`.
METHODS = ("radau5", "seulex", "rodas", "bdf", "dopri5")


TOLERANCES = tuple(10.0**-k for k in range(2, 9))


Printed = dict[str, tuple[tuple[int, int, int], ...]]


#: f, Jacobians, steps (accepted and rejected) at 1e-2 ... 1e-8, as printed.
TABLE_2: Printed = {
    "radau5": (
        (12089, 821, 1645), (12555, 877, 1714), (14679, 1071, 2050), (21187, 1507, 2910), (26285, 1809, 3354),
        (27463, 2020, 3224), (33829, 2584, 3813),
    ),
    "seulex": (
        (2725, 335, 453), (8882, 433, 584), (14066, 463, 487), (22311, 443, 473), (38742, 551, 628),
        (46864, 654, 659), (59751, 895, 899),
    ),
    "rodas": (
        (4050, 600, 688), (4764, 769, 799), (7242, 1202, 1208), (12990, 2165, 2165), (25440, 4240, 4240),
        (54588, 9098, 9098), (125382, 20897, 20897),
    ),
    "bdf": (
        (1408, 319, 478), (3358, 458, 1508), (4403, 427, 2299), (6075, 437, 3263), (7301, 438, 3948),
        (9659, 443, 5551), (12952, 471, 7703),
    ),
    "dopri5": (
        (331610, 0, 55268), (331610, 0, 55268), (331622, 0, 55270), (331694, 0, 55282), (332228, 0, 55371),
        (337184, 0, 56179), (364376, 0, 60729),
    ),
}  # fmt: skip


#: RODAS at 1e-5 is printed with 2918 steps, which its other two counts contradict (f = Jacobians + 5 steps).
TABLE_3: Printed = {
    "radau5": (
        (30804, 2096, 4210), (31355, 2146, 4323), (35087, 2296, 5007), (44426, 2985, 6715), (74581, 4218, 12075),
        (107035, 6915, 15972), (129280, 7853, 17272),
    ),
    "seulex": (
        (11450, 1539, 2667), (19073, 2136, 3062), (39904, 3669, 4190), (77994, 3374, 4428), (127326, 4247, 4342),
        (533384, 17868, 18010), (1720395, 57654, 57780),
    ),
    "rodas": (
        (10423, 1568, 1771), (15040, 2430, 2522), (24183, 3963, 4044), (47438, 7848, 2918), (153475, 25525, 25590),
        (449887, 74862, 75005), (1146392, 190917, 191095),
    ),
    "bdf": (
        (6810, 1670, 1865), (6450, 1973, 1697), (10019, 2544, 3499), (30288, 9144, 11417), (81948, 33502, 26983),
        (69220, 20244, 31517), (138874, 5961, 98652),
    ),
    "dopri5": (
        (9211232, 0, 1535205), (9211244, 0, 1535207), (9211256, 0, 1535209), (9211268, 0, 1535211),
        (9211298, 0, 1535216), (9211304, 0, 1535217), (9211310, 0, 1535218),
    ),
}  # fmt: skip


#: The text: shares of the CPU time in f and Jacobian, seconds of one evaluation, simulated over CPU time of RODAS.
SHARES = {"radau5": 0.38, "seulex": 0.43, "rodas": 0.61}


SECONDS = {"f": 1.06e-5, "Jacobian": 1.02e-4}


SPEED = {"rubber": 47, "steel": 17}


#: Pseudo-times of Figure 5.
SNAPSHOTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
