"""Methods that integrate angular velocity, and the unknowns that they may have."""

import numpy as np

#: Order of each method; the adaptive pairs by the solution they carry on.
ORDERS = {"magnus6": 6, "magnus4": 4, "midpoint-matrix": 2, "midpoint-quaternion": 2, "ode45": 5, "ode23": 3}
PARAMETRIZATIONS = ("quaternion", "rotation-vector", "tangential")
ADAPTIVE = ("ode45", "ode23")
#: Gauss points on [0, 1] (midpoint rules: the two ends).
NODES = {
    "magnus6": 0.5 + np.array([-1.0, 0.0, 1.0]) * np.sqrt(15.0) / 10.0,
    "magnus4": 0.5 + np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6.0,
    "midpoint-matrix": np.array([0.0, 1.0]),
    "midpoint-quaternion": np.array([0.0, 1.0]),
}
