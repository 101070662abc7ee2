"""Eigenvalues that several shapes share: all copies are found, and their shapes do not depend on rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gyrod as gd
from gyrod.solve import eigen, modal, statics

STEEL = gd.Material(young=2e11, poisson=0.3, density=7850.0)
NO_GRAVITY = (0.0, 0.0, 0.0)
AXES = ("(1, 0, 0)", "(0, 1, 0)", "(0, 0, 1)")


def rod(name: str = "rod", segments: int = 20, **options: Any) -> gd.Rod:
    return gd.Rod(name, 1.0, segments, gd.Circle(radius=5e-3), STEEL, **options)


def mixed(rows: Any, rng: np.random.Generator) -> Any:
    """The same span, by a random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((len(rows), len(rows))))[0] @ rows


@pytest.mark.parametrize("number", [complex, float])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_canonical_basis_is_that_of_the_span(k: int, number: Any) -> None:
    rng = np.random.default_rng(k)
    rows = rng.standard_normal((k, 40)) + (1j * rng.standard_normal((k, 40)) if number is complex else 0.0)
    first = rows @ rng.standard_normal((40, 4))
    T, chosen = eigen.canonical(rows, first)
    columns = np.hstack([first, rows])
    np.testing.assert_allclose((T @ columns)[:, chosen], np.eye(k), atol=1e-12)
    assert (chosen[: min(k, 4)] < 4).all()
    for _ in range(5):
        M = rng.standard_normal((k, k)) + 2.0 * np.eye(k)
        T_2, same = eigen.canonical(M @ rows, M @ first)
        np.testing.assert_array_equal(same, chosen)
        np.testing.assert_allclose(T_2 @ M @ rows, T @ rows, rtol=0, atol=1e-9)


def test_readings_that_say_nothing_are_left_out() -> None:
    rows = np.eye(2, 6) + 1e-9
    T, chosen = eigen.canonical(rows, 1e-9 * np.ones((2, 3)))
    np.testing.assert_array_equal(chosen, [3, 4])
    np.testing.assert_allclose(T @ rows, np.eye(2, 6), atol=1e-8)


@pytest.mark.parametrize("copies", [1, 2, 7])
def test_all_copies_of_an_eigenvalue_are_found(copies: int) -> None:
    """In exact arithmetic a single Krylov chain has one of each; rounding must not be what finds the others."""
    exact = 1.0 / np.repeat(np.arange(1.0, 301.0), copies)[:300] ** 2
    applied = 0

    def apply(v: Any) -> Any:
        nonlocal applied
        applied += 1
        return exact * v

    values, vectors = eigen.largest(apply, 300, 9, dense=60)
    np.testing.assert_allclose(values[:9].real, exact[:9], rtol=1e-8)
    assert np.linalg.matrix_rank(vectors[:, :9], tol=1e-6) == 9
    assert applied < 60 + 20 * copies


@pytest.mark.parametrize("copies", [0, 3, 90])
def test_what_lies_between_two_is_found_at_once(copies: int) -> None:
    """Many copies of one eigenvalue, a few larger ones, one a little smaller than all that is wanted."""
    rng, applied = np.random.default_rng(4), 0
    exact = np.concatenate([[-70.0, 30.0], np.full(copies, 10.0), [9.0], 1.0 / np.arange(1.0, 110.0)])
    basis = np.linalg.qr(rng.standard_normal((len(exact), len(exact))))[0]
    A = basis @ np.diag(exact) @ basis.T

    def apply(v: Any) -> Any:
        nonlocal applied
        applied += 1
        return A @ v

    found = eigen.between(apply, len(exact), 9.9, 10.1)
    assert found.shape == (copies, len(exact))
    wanted = basis[:, 2 : 2 + copies]
    np.testing.assert_allclose(found @ wanted @ wanted.T, found, atol=1e-5)
    assert applied < 12 * max(3 * copies, 16)


def test_groups_are_complete() -> None:
    exact = np.repeat([1.0, 2.0, 3.0, 4.0], [1, 3, 4, 92])

    def select(values: Any, vectors: Any) -> Any:
        order = np.argsort(-np.abs(values))
        return 1.0 / values.real[order], vectors[:, order].T

    for n, wanted in ((1, [1]), (2, [1, 3]), (5, [1, 3, 4]), (8, [1, 3, 4])):
        x, rows, groups = eigen.lowest(lambda v: v / exact, 100, n, select, near=0.0, dense=10)
        assert [len(g) for g in groups if g.start < n] == wanted
        assert len(x) == len(rows)


# --- what a user sees ------------------------------------------------------------------------------------------------


def shaken(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Eigenvectors in any order of what is equal: each group of them is mixed before it is made canonical."""
    lowest, rng = eigen.lowest, np.random.default_rng(seed)

    def other(*arguments: Any, **options: Any) -> Any:
        x, rows, groups = lowest(*arguments, **options)
        rows = np.array(rows)
        for group in groups:
            rows[group] = mixed(rows[group], rng)
        return x, rows, groups

    for module in (statics, modal):
        monkeypatch.setattr(module, "lowest", other)


def pendulums() -> gd.System:
    """Three equal bodies that swing to both sides with one frequency, and turn about the vertical freely."""
    bodies = [gd.Body(n, mass=1.0, inertia=(0.1, 0.1, 0.2), position=(i, 0, -1)) for i, n in enumerate("abc")]
    joints = [gd.Spherical("ground", b.name, at=(b.position[0], 0, 0)) for b in bodies]
    return gd.System(bodies=bodies, joints=joints)


@pytest.mark.spread
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("ends", ["clamped", "free"])
def test_shapes_of_equal_frequencies_do_not_depend_on_rounding(
    ends: str, damped: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round rod bends to both sides with one frequency: first about y, then z, half of a pair like all of it."""
    options: dict[str, Any] = {"start": gd.Clamped("ground")} if ends == "clamped" else {}
    if damped:
        options["damping"] = gd.Damping(bending=1e-2)
    system = gd.System(rods=[rod(**options)], gravity=NO_GRAVITY)
    found = gd.modes(system, n=9)
    shaken(monkeypatch, seed)
    again = gd.modes(system, n=9)
    half = gd.modes(system, n=7)
    for k in range(9):
        np.testing.assert_allclose(again.shape(k, "rod"), found.shape(k, "rod"), atol=1e-5)
    for k in range(7):
        np.testing.assert_allclose(half.shape(k, "rod"), found.shape(k, "rod"), atol=1e-5)
    first = 0 if ends == "clamped" else 6
    for k, (this, other) in ((first, (2, 1)), (first + 1, (1, 2))):
        shape = np.abs(found.shape(k, "rod")).max(axis=0)
        assert shape[this] > 0.1
        assert shape[other] < 1e-5


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_free_is_said_in_the_same_words(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shaken(monkeypatch, seed)
    turns, moves = ([f"can {words} {axis}" for axis in AXES] for words in ("turn about", "move along"))
    loose = gd.System(rods=[rod("p"), rod("q", initial=gd.Straight((0, 2, 0), (0.6, 2, 0.8)))], gravity=NO_GRAVITY)
    assert gd.equilibrium(loose).free == tuple(f"rod {n!r} {words}" for n in "pq" for words in turns + moves)
    hinged = gd.System(rods=[rod(segments=40, start=gd.Hinged("ground"))], gravity=NO_GRAVITY)
    assert gd.equilibrium(hinged).free == tuple(f"rod 'rod' {words}" for words in turns)
    assert gd.equilibrium(pendulums()).free == tuple(f"body {n!r} {turns[2]}" for n in "abc")
    with pytest.raises(gd.EquilibriumError, match=r"rod 'p' can move along \(0, 0, 1\)"):
        gd.equilibrium(gd.System(rods=[rod("p"), rod("q")]))


def test_the_axis_of_a_cylindrical_joint() -> None:
    body = gd.Body("a", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(1, 0, 0))
    joint = gd.Cylindrical("ground", "a", at=(0, 0, 0), axis=(0, -3, 4))
    rest = gd.equilibrium(gd.System(bodies=[body], joints=[joint], gravity=NO_GRAVITY))
    assert rest.free == ("body 'a' can turn about (0, 0.6, -0.8)", "body 'a' can move along (0, 0.6, -0.8)")


@pytest.mark.parametrize("seed", [1, 2])
def test_equal_members_swing_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shaken(monkeypatch, seed)
    modes = gd.modes(pendulums(), n=9)
    np.testing.assert_allclose(modes.omega, [0.0] * 3 + [np.sqrt(9.81 / 1.1)] * 6, atol=1e-4)
    for k in range(6):
        moved = [np.abs(modes.shape(3 + k, name)).max() > 1e-6 for name in "abc"]
        assert moved == [k // 2 == i for i in range(3)]
    np.testing.assert_allclose(modes.shape(3, "a") / modes.shape(3, "a")[1], (0, 1, 0), atol=1e-6)  # about x


def test_damped_modes_of_many_segments() -> None:
    """Positions and velocities of fast modes differ by orders of magnitude: no eigenvalue comes from that."""
    damped = gd.modes(
        gd.System(rods=[rod(segments=1000, start=gd.Clamped("ground"), damping=gd.Damping(extension=3.0))])
    )
    plain = gd.modes(gd.System(rods=[rod(segments=1000, start=gd.Clamped("ground"))]))
    assert damped.unstable == 0
    np.testing.assert_allclose(damped.omega, plain.omega, rtol=1e-5)
