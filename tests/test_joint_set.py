"""Joints as readings see them: coordinates, rates, gradients and poses of every kind agree with one another."""

from __future__ import annotations

import numpy as np
import pytest

from gyrod import _core
from gyrod import rotations as rot
from gyrod.model import JOINTS
from gyrod.model.joints import Translational

KINDS = {kind.__name__.lower(): kind.coordinate_names for kind in (*JOINTS, Translational)}
H = 1e-5


def joint(kind, rng, parameter=0.3):
    frames = rot.matrix_from_rotation_vector(rng.normal(size=(1, 2, 3)))
    pairs = np.array([[0, 1]])
    at = rng.normal(size=(1, 2, 3))
    return _core.JointSet(kinds=[kind], pairs=pairs, at=at, frames=frames, parameters=np.array([parameter]))


def moved(bodies, s):
    """Two bodies after the time s, of constant v and Omega."""
    x, R, v, Omega = bodies
    return x + s * v, R @ rot.matrix_from_rotation_vector(s * Omega), v, Omega


def some(rng):
    v, Omega = rng.normal(size=(2, 1, 2, 3))
    return rng.normal(size=(1, 2, 3)), rot.matrix_from_rotation_vector(rng.normal(size=(1, 2, 3))), v, Omega


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_are_those_of_the_description(kind):
    rng = np.random.default_rng(1)
    assert joint(kind, rng).coordinates([0], *some(rng)).shape == (1, len(KINDS[kind]), 2)


@pytest.mark.parametrize("kind", [kind for kind, names in KINDS.items() if names])
def test_coordinates_lead_to_a_pose_and_back(kind):
    rng = np.random.default_rng(2)
    frames = np.array([np.eye(3)] * 2)[None]
    pairs, at = np.array([[-1, 0]]), np.zeros((1, 2, 3))
    joints = _core.JointSet(kinds=[kind], pairs=pairs, at=at, frames=frames, parameters=np.array([0.3]))
    q = rng.uniform(-1.0, 1.0, size=(5, len(KINDS[kind])))
    if kind == "distance":
        T, r = np.broadcast_to(np.eye(3), (5, 3, 3)), rng.normal(size=(5, 3))
        q = np.linalg.norm(r, axis=1)[:, None]
    else:
        T, r = joints.pose(0, q, np.eye(3), np.zeros(3))
    still = np.zeros((5, 1, 3))
    found = joints.coordinates([0], r[:, None], np.ascontiguousarray(T[:, None]), still, still)
    np.testing.assert_allclose(found[:, :, 0], q, atol=1e-14)


@pytest.mark.parametrize("kind", [kind for kind, names in KINDS.items() if names])
def test_rates_and_second_derivatives_are_those_of_coordinates(kind):
    rng = np.random.default_rng(3)
    joints = joint(kind, rng)
    x, R, v, Omega = some(rng)
    gradient = joints.gradients([0], x, R, v, Omega)
    rates = joints.coordinates([0], x, R, v, Omega)[0, :, 1]
    velocities = np.concatenate([v[0, 0], Omega[0, 0], v[0, 1], Omega[0, 1]])
    np.testing.assert_allclose(gradient[0, :, 1:] @ velocities, rates, rtol=1e-13, atol=1e-13)
    there = [joints.coordinates([0], *map(np.ascontiguousarray, moved((x, R, v, Omega), s)))[0] for s in (-H, H)]
    np.testing.assert_allclose((there[1][:, 1] - there[0][:, 1]) / (2 * H), gradient[0, :, 0], atol=1e-8)
    slides = [k for k, name in enumerate(KINDS[kind]) if not name.startswith("angle")]
    difference = (there[1][:, 0] - there[0][:, 0]) / (2 * H)
    np.testing.assert_allclose(difference[slides], rates[slides], atol=1e-8)


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar", "helical", "universal"])
def test_rates_of_angles_where_the_joint_holds(kind):
    rng = np.random.default_rng(4)
    frames, at = np.array([np.eye(3)] * 2)[None], np.zeros((1, 2, 3))
    joints = _core.JointSet(kinds=[kind], pairs=np.array([[-1, 0]]), at=at, frames=frames, parameters=np.array([0.3]))
    q, rates = rng.uniform(-1.0, 1.0, size=(2, len(KINDS[kind])))
    (T,), _ = joints.pose(0, q[None], np.eye(3), np.zeros(3))
    steps = q + H * np.array([[-1.0], [1.0]]) * rates
    turns, shifts = joints.pose(0, steps, np.eye(3), np.zeros(3))
    Omega = rot.log(rot.quaternion_from_matrix(turns[0].T @ turns[1])) / (2 * H)
    v = (shifts[1] - shifts[0]) / (2 * H)
    x = shifts.mean(axis=0)
    found = joints.coordinates([0], x[None, None], T[None, None], v[None, None], np.asarray(Omega)[None, None])
    np.testing.assert_allclose(found[0, :, 1], rates, atol=1e-9)


def test_kinds_and_sizes_that_do_not_fit_are_refused():
    rng = np.random.default_rng(5)
    with pytest.raises(ValueError, match="no joint 'hinge'"):
        joint("hinge", rng)
    hinge = joint("revolute", rng)
    x, R, v, Omega = some(rng)
    with pytest.raises(IndexError):
        hinge.coordinates([1], x, R, v, Omega)
    with pytest.raises(ValueError, match="other rows or bodies"):
        hinge.coordinates([0], x, R, v[:, :1], Omega)
    with pytest.raises(ValueError, match="not as many coordinates"):
        hinge.pose(0, np.zeros((1, 2)), np.eye(3), np.zeros(3))
