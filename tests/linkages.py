"""Linkages that move though a count of constraints says no: closed chains of hinges, with what is known of them."""

from __future__ import annotations

import numpy as np

import gyrod as gd
from gyrod.problems.mechanisms import _denavit

#: Moments of the links, about their middles.
INERTIA = (0.1, 0.12, 0.15)


def ring(points, axes, *, spin=0.0, drive=None, stiffness=0.0, gravity=(0.0, 0.0, -9.81)):
    """Hinges "h0", "h1", ... on links "l1", "l2", ..., the last link being ground; h0 turns with ``spin``."""
    n = len(points)
    names = ["ground", *(f"l{i}" for i in range(1, n)), "ground"]
    axes = [np.asarray(a, dtype=float) / np.linalg.norm(a) for a in axes]
    # Rates of the hinges: they add up to nothing.
    screws = np.array([[*np.cross(p, a), *a] for p, a in zip(points, axes, strict=True)]).T
    rates = np.linalg.svd(screws)[2][-1]
    rates *= spin / rates[0]
    bodies, twist = [], np.zeros(6)
    for i in range(1, n):
        twist = twist + screws[:, i - 1] * rates[i - 1]
        x = 0.5 * (points[i - 1] + points[i])
        v = twist[:3] + np.cross(twist[3:], x)
        bodies.append(gd.Body(f"l{i}", 1.0, INERTIA, position=x, velocity=v, angular_velocity=twist[3:]))
    joints = [
        gd.Revolute(names[i], names[i + 1], at=points[i], axis=axes[i], name=f"h{i}",
                    drive=drive if i == 0 else None, stiffness=stiffness if i == 0 else 0.0)
        for i in range(n)
    ]  # fmt: skip
    return gd.System(bodies, joints, gravity=gravity)


def chain(lengths, twists, angles):
    """Frames at the hinges, by the rules of Denavit and Hartenberg; the last must be the first again."""
    frames = [np.eye(4)]
    for row in zip(lengths, twists, angles, strict=True):
        frames.append(frames[-1] @ _denavit(*row))
    np.testing.assert_allclose(frames[-1], np.eye(4), atol=1e-12)
    return frames[:-1]


def of(frames, **options):
    return ring([f[:3, 3] for f in frames], [f[:3, 2] for f in frames], **options)


class Bennett:
    """a/sin(alpha) = b/sin(beta): tan(theta/2) tan(phi/2) stays what it is."""

    def __init__(self, ratio, twist):
        self.lengths, beta = (1.0, ratio) * 2, np.pi - np.arcsin(ratio * np.sin(twist))
        self.twists = (twist, beta) * 2
        self.product = np.sin(0.5 * (beta + twist)) / np.sin(0.5 * (beta - twist))

    def frames(self, theta):
        phi = 2.0 * np.arctan2(self.product * np.cos(0.5 * theta), np.sin(0.5 * theta))
        return chain(self.lengths, self.twists, (theta, phi, -theta, -phi))

    def angles(self, motion, theta):
        """Angles at the four hinges over time, in the sense of the chain, from the start at theta."""
        start = [theta, 2.0 * np.arctan2(self.product * np.cos(0.5 * theta), np.sin(0.5 * theta))]
        return [s + motion[f"h{i}"].coordinates[:, 0] for i, s in enumerate([start[0], start[1], -start[0], -start[1]])]


class Bricard:
    """Threefold symmetric: twists alpha and -alpha in turn, lengths 1, angles theta and phi in turn."""

    def __init__(self, alpha):
        self.alpha = alpha

    def relation(self, theta, phi):
        c, s = np.cos(self.alpha), np.sin(self.alpha)
        return (
            c * c + s * s * (np.cos(theta) + np.cos(phi)) + (1.0 + c * c) * np.cos(theta) * np.cos(phi)
            - 2.0 * c * np.sin(theta) * np.sin(phi)
        )  # fmt: skip

    def other(self, theta):
        """An angle phi that closes the chain; None if there is none."""
        c, s = np.cos(self.alpha), np.sin(self.alpha)
        a, b = s * s + (1.0 + c * c) * np.cos(theta), -2.0 * c * np.sin(theta)
        cosine = -(c * c + s * s * np.cos(theta)) / np.hypot(a, b)
        return None if abs(cosine) > 0.95 else np.arctan2(b, a) + np.arccos(cosine)

    def frames(self, theta):
        return chain((1.0,) * 6, (self.alpha, -self.alpha) * 3, (theta, self.other(theta)) * 3)


def line_symmetric(seed):
    """Bricard's line-symmetric linkage: any three hinges, and their images turned by half a turn about z."""
    rng = np.random.default_rng(seed)
    points, axes, turn = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), np.diag([-1.0, -1.0, 1.0])
    return np.concatenate([points, points @ turn]), np.concatenate([axes, axes @ turn])


def legs(count, theta):
    """Sarrus' platform "top" on legs of three parallel hinges each, "a0", "k0", "b0", ...; it rises straight up."""
    rise, out, up = np.sin(theta), np.cos(theta), np.array([0.0, 0.0, 1.0])
    bodies = [gd.Body("top", 2.0, (0.2, 0.2, 0.3), position=(0.0, 0.0, 2.0 * rise))]
    joints = []
    for i in range(count):
        # The legs are no mirror images of each other: two planes at right angles, or more of them.
        turn = 2.0 * np.pi * i / max(count, 4)
        e, across = np.array([np.cos(turn), np.sin(turn), 0.0]), (-np.sin(turn), np.cos(turn), 0.0)
        foot, knee, head = e, (1.0 + out) * e + rise * up, e + 2.0 * rise * up
        for name, x in ((f"low{i}", 0.5 * (foot + knee)), (f"high{i}", 0.5 * (knee + head))):
            bodies.append(gd.Body(name, 1.0, INERTIA, position=x))
        joints += [
            gd.Revolute("ground", f"low{i}", at=foot, axis=across, name=f"a{i}"),
            gd.Revolute(f"low{i}", f"high{i}", at=knee, axis=across, name=f"k{i}"),
            gd.Revolute(f"high{i}", "top", at=head, axis=across, name=f"b{i}"),
        ]
    return gd.System(bodies, joints)
