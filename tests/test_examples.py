"""Examples are tests, each pinned to one number."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from printed import assert_printed
from scipy.special import ellipkm1

import gyrod as gd

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    """What an example defines; what it computes is computed once, for the numbers here and the picture of `main`."""
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    for work in {"run", "solve"} & example.keys():
        example[work] = example["main"].__globals__[work] = cache(example[work])
    return example


def gallery(pattern, *values):
    """Hold values to a sentence of the gallery, in which # stands for a number."""
    assert_printed("docs/gallery.md", pattern, *values)


def test_gyro_attitude(tmp_path, capsys):
    example = load("gyro_attitude")
    _, outcomes = example["solve"]()
    assert outcomes["magnus6"].clean[-1] == pytest.approx(8.4e-8, rel=0.02)
    gallery(
        "`magnus6` is off by # rad, the midpoint rules by #.",
        *(outcomes[m].clean[-1] for m in ("magnus6", "midpoint-quaternion")),
    )
    example["main"](str(tmp_path))
    assert "gyro_attitude.png" in capsys.readouterr().out
    assert (tmp_path / "gyro_attitude.png").exists()


def test_heavy_top(tmp_path, capsys):
    example = load("heavy_top")
    outcomes = example["run"]()
    assert outcomes["nullspace-quaternion"].error == pytest.approx(8.0e-6, rel=0.05)
    assert outcomes["nullspace-quaternion"].evaluations == pytest.approx(19514, rel=0.02)
    for coordinates in ("quaternion", "directors"):
        null_space, absolute = (outcomes[f"{kind}-{coordinates}"] for kind in ("nullspace", "absolute"))
        assert null_space.energy < absolute.energy
    assert outcomes["nullspace-directors"].error < outcomes["absolute-directors"].error
    # Projected with Omega kept, the absolute quaternions are as accurate as the null-space form here.
    assert outcomes["absolute-quaternion"].error == pytest.approx(5.9e-6, rel=0.05)
    example["main"](str(tmp_path))
    assert "heavy_top.png" in capsys.readouterr().out
    assert (tmp_path / "heavy_top.png").exists()


def test_tennis_racket(tmp_path, capsys):
    example = load("tennis_racket")
    outcomes = example["run"]()
    reversals = outcomes["medial"].reversals
    assert len(reversals) == 6
    assert reversals[0] == pytest.approx(0.3441823, abs=1e-6)
    assert reversals[2] - reversals[0] == pytest.approx(1.562305, abs=1e-5)  # the trusted period
    gallery("The spin reverses at # s", reversals[0])
    assert outcomes["medial"].wobble > 170.0
    for stable in ("smallest", "largest"):
        assert outcomes[stable].reversals == ()
        assert outcomes[stable].wobble < 0.02
    example["main"](str(tmp_path))
    assert "tennis_racket.png" in capsys.readouterr().out
    assert (tmp_path / "tennis_racket.png").exists()


def test_top_for_an_hour(tmp_path, capsys):
    example = load("top_for_an_hour")
    outcomes = example["run"](180.0)
    tenths = {
        name: [abs(part).max() for part in (o.energy[: len(o.t) // 10], o.energy[-(len(o.t) // 10) :])]
        for name, o in outcomes.items()
    }
    assert tenths["variational"] == pytest.approx([8.4e-7, 8.4e-7], rel=0.02)
    assert tenths["variational, directors"] == pytest.approx([3.1e-5, 3.1e-5], rel=0.02)
    assert max(tenths["energy-momentum"]) < 1e-12
    for name, o in outcomes.items():
        constant = o.steps == 50_000
        assert constant == (name.split(",")[0] in ("variational", "energy-momentum"))
        assert abs(o.momentum).max() < 1e-11 if constant else tenths[name][1] > 5.0 * tenths[name][0]
    example["main"](str(tmp_path), 36.0)
    assert "top_for_an_hour.png" in capsys.readouterr().out
    assert (tmp_path / "top_for_an_hour.png").exists()


def test_swinging_hose(tmp_path, capsys):
    example = load("swinging_hose")
    outcomes = example["run"]()
    assert outcomes["blended", 20][0] == pytest.approx(1.2e-3, rel=0.1)
    assert outcomes["blended", 20][0] < outcomes["lumped", 40][0]
    example["main"](str(tmp_path))
    assert "swinging_hose.png" in capsys.readouterr().out
    assert (tmp_path / "swinging_hose.png").exists()


def test_pulled_spring(tmp_path, capsys):
    example = load("pulled_spring")
    exact, errors = example["run"]()
    assert exact == pytest.approx(0.0615556, abs=1e-7)
    segments, elements = errors["segments"], errors["elements"]
    # Both discretisations tend to the same, with the orders two and six.
    assert 4.0 * segments[240] - segments[120] == pytest.approx(0.0, abs=3e-7)
    assert np.log2(segments[120] / segments[240]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(elements[8] / elements[16]) == pytest.approx(6.0, abs=0.3)
    errors = (elements[8], segments[120], elements[16], segments[240])
    gallery(
        "is # mm high under 20 N. Eight elements (25 nodes) are off by # mm, 120 segments by # mm; twice the elements "
        "by # mm, twice the segments by # mm.",
        *(1e3 * abs(x) for x in (exact, *errors)),
    )
    example["main"](str(tmp_path))
    assert "pulled_spring.png" in capsys.readouterr().out
    assert (tmp_path / "pulled_spring.png").exists()


def test_four_bar(tmp_path, capsys):
    example = load("four_bar")
    system, motion = example["run"]()
    left = system.mobility()
    assert (left.freedoms, left.redundant) == (0, 3)
    assert motion["coupler"].position[-1] == pytest.approx(motion["coupler"].position[0], abs=1e-9)  # a whole turn
    assert motion["bearing"].force[0, [0, 2]] == pytest.approx([4.32, -23.18], abs=0.01)
    gallery("the motor gives # N m at the start", -motion["motor"].torque[0, 1])
    example["main"](str(tmp_path))
    assert "0 degrees of freedom" in capsys.readouterr().out
    assert (tmp_path / "four_bar.png").exists()


def test_hanging_cable(tmp_path, capsys):
    example = load("hanging_cable")
    cables = example["run"]()
    wire, rod, hose = cables.values()
    plain = example["catenary"](1.0)[1]  # which depends on the lengths alone
    assert rod.start_force[2] == pytest.approx(0.5 * 7850 * 9.81 * 3.14159265 * 5e-3**2 * 10.0, rel=1e-8)
    stretched = example["catenary"](1100 * 9.81 * 3.14159265 * 1e-4 * 10.0, 5e6 * 3.14159265 * 1e-4)[1]
    gallery(
        "The wire sags by # m, # mm more than the catenary; the hose by # m, # mm more than the elastic catenary.",
        wire.sag, 1e3 * (wire.sag - plain), hose.sag, 1e3 * (hose.sag - stretched),
    )  # fmt: skip
    for name, cable in cables.items():
        row = cable.sag, plain, float(np.linalg.norm(cable.start_force))
        assert_printed("docs/statics.md", f"| {name} | # | # | {2.0351 if cable is hose else 1.90711:.5f} | # |", *row)
    example["main"](str(tmp_path))
    assert "hanging_cable.png" in capsys.readouterr().out
    assert (tmp_path / "hanging_cable.png").exists()


def test_coning_gyro():
    example = load("coning_gyro")
    _, summed, error = example["run"]()
    assert summed[-1] == pytest.approx(-example["TURNS"] * example["solid_angle"](), rel=1e-9)
    gallery("20 turns at 5°: # rad here", abs(summed[-1]))
    assert error.max() == pytest.approx(7.1e-11, rel=0.1)


def test_slider_crank():
    example = load("slider_crank")
    motion = example["run"]()
    for t, trusted in example["TRUSTED"].items():
        assert motion(t)["slider"].position[0] == pytest.approx(trusted, abs=2e-8)
    known = gd.problems.get("slider-crank").reference
    assert example["TRUSTED"] == {t: known[t]["slider"]["position"][0] for t in example["TRUSTED"]}
    gallery("independent code has # m.", example["TRUSTED"][5.0])
    assert example["mechanism"]().mobility().freedoms == 1


def test_chain_of_four_bars():
    example = load("chain_of_four_bars")
    motion = example["run"]()
    assert np.abs(example["angle"](motion) - example["pendulum"](motion.t)).max() < 5e-6
    gallery("solved by SciPy, has #.", example["pendulum"](motion.t)[-1])
    # The trusted place of the first upright's tip, from independent code.
    assert 2.0 * motion["upright 0"].position[-1, :2] == pytest.approx([0.1805122266867, 0.9835727405823], abs=1e-6)
    assert motion.drift.position.max() < 1e-12


def test_gyroscope_in_a_gimbal():
    example = load("gyroscope_in_a_gimbal")
    (precession, nutation), expected = example["run"](), example["expected"]()
    assert precession == pytest.approx(expected[0], rel=5e-5)
    assert nutation == pytest.approx(expected[1], rel=1e-8)
    gallery(
        "Precession # rad/s (# by the formula for small tilts), nutation # rad/s", *(precession, expected[0], nutation)
    )


def test_guitar_string():
    example = load("guitar_string")
    frequencies, shapes = example["run"]()
    assert len(frequencies) == 12
    n = np.arange(1, 13)
    assert frequencies == pytest.approx(example["stiff_string"](n), rel=3e-5)
    sharp = 1200.0 * np.log2(frequencies[4] / (5 * example["PITCH"]))
    gallery(
        "The fifth partial is at # Hz, # by the formula; it is # cents sharp.",
        *(frequencies[4], example["stiff_string"](n)[4], sharp),
    )
    nodes = np.linalg.norm(shapes[3], axis=1)[[0, 24, 48, 72, 96]]
    assert nodes.max() < 1e-6 * np.abs(shapes[3]).max()


def test_post_buckling():
    example = load("post_buckling")
    path = example["run"]()
    alpha = example["end_angle"](path)
    gallery("Stability is lost at # of Euler's load;", path.events[0].value)
    bent = alpha > 0.1
    assert bent.sum() > 5
    assert path.value[bent] == pytest.approx(example["elastica"](alpha[bent]), rel=1e-6)


def test_soft_finger():
    example = load("soft_finger")
    path = example["run"]()
    found, expected = example["curvature"](path), example["expected"](example["PULL"] * path.value)
    assert found[1:] == pytest.approx(expected[1:], rel=1e-3)
    gallery("At 10 N the curvature is # 1/m, # by the formula", found[-1], expected[-1])
    assert found[1] == pytest.approx(expected[1], rel=1e-5)  # the formula is that of small bulges


def test_flipping_ring():
    example = load("flipping_ring")
    gallery("loses its stability at # of Michell's value", example["run"]())
    motion, twist = example["flip"](), 1.1 * example["MICHELL"]
    stored = motion.energy.bending_torsion
    assert stored[0] == pytest.approx(example["energy"](twist), rel=1e-6)
    gallery(
        "After the flip it stores # J; a ring with two turns less has $\\pi EI + GJ\\,(\\tau - 4\\pi)^2/4\\pi$ = # J",
        *(stored[-1], example["energy"](twist - 4.0 * np.pi)),
    )


def test_brake_hose(tmp_path):
    example = load("brake_hose")
    kept, made = np.loadtxt(example["SERIES"], delimiter=",", skiprows=1), example["series"]()
    np.testing.assert_allclose(kept, made, atol=1e-4)
    radii, best = example["solve"]()
    k = int(np.argmax(radii > example["LIMIT"]))
    gallery("A hose of # mm keeps # mm in the worst of nine poses", 1e3 * best, 1e3 * radii[k])
    gallery("320 mm are too short for it, with # mm", 1e3 * radii[k - 1])
    motion = example["run"](best)
    gallery("Driven, its smallest bend radius is # mm.", 1e3 * motion["hose"].bend_radius.min())
    # Slowly as the wheel moves, the hose is nearly where it would be at rest.
    k = int(np.argmin(motion["hose"].bend_radius.min(axis=1)))
    rest = gd.equilibrium(motion.system, t=float(motion.t[k]), guess=motion(motion.t[k]))
    assert motion["hose"].bend_radius[k].min() == pytest.approx(rest["hose"].bend_radius.min(), rel=0.1)
    example["main"](str(tmp_path))
    assert (tmp_path / "brake_hose.png").stat().st_size > 10_000


def test_dress_pack():
    example = load("dress_pack")
    kept = np.loadtxt(example["SERIES"], delimiter=",", skiprows=1)
    np.testing.assert_allclose(kept, example["series"](), atol=1e-3)
    runs = example["solve"]()
    short, near, best = runs.values()
    assert example["chosen"](runs) == example["LOOPS"][2]
    pulls = [np.linalg.norm(one.motion["forearm clip"].force, axis=1).max() for one in (short, best)]
    gallery(
        "A piece of 460 mm keeps # mm from the links and a bend radius of # mm; with 430 mm the hose comes as "
        "near as # mm",
        *(1e3 * x for x in (best.gaps.minimum, best.radius.min(), near.gaps.minimum)),
    )
    gallery("A piece of 400 mm is drawn through the wrist, and the last clip holds # N in place of # N.", *pulls)
    assert short.gaps.minimum < 0.0
    motion = best.motion
    angles = np.column_stack([motion[name].coordinates[:, 0] for name in example["JOINTS"]])
    poses = [np.interp(motion.t, kept[:, 0], column) for column in kept[:, 1:].T]
    np.testing.assert_allclose(np.rad2deg(angles), np.column_stack(poses), atol=0.05)
    # At the start it hangs: ends and clips hold its weight.
    hose = motion["hose"]
    held = hose.start_force[0] + hose.end_force[0] + sum(clip.force[0] for clip in motion.clips.values())
    section = example["HOSE"]["section"]
    weight = np.pi * (section.radius**2 - section.inner**2) * 1150.0 * motion.system.rods[0].length * 9.81
    np.testing.assert_allclose(held, (0.0, 0.0, weight), atol=0.02 * weight)


def test_harness():
    example = load("harness")
    drawn, rest = example["run"](False), example["run"]()
    assert drawn.stable
    assert rest.stable
    before, after = example["sharpness"](drawn), example["sharpness"](rest)
    _, made = example["solve"]()
    assert [name for name in before if before[name] < 1.0] == ["lamp", "horn"]
    assert min(after.values()) > 1.1
    gallery(
        "As it is drawn, the branch of the lamp has # and that of the horn # of the least bend radius.",
        *(before[name] for name in ("lamp", "horn")),
    )
    clips = rest.motion.clips
    assert len(clips) == 12
    largest = max(np.linalg.norm(clip.force) for clip in clips.values())
    assert made["lamp"] == made["horn"] == example["CHANGES"][0]
    gallery(
        "Cut by 20 mm each they have # and #; the largest force of a clip is # N.",
        *(after["lamp"], after["horn"], largest),
    )
    # All that holds the harness holds its weight.
    plugs = sum(rest[name].end_force for name in example["BRANCHES"])
    held = rest["trunk"].start_force + plugs + sum(clip.force for clip in clips.values())
    weight = sum(rod.length * rod.inertia_at([0.5])[0, 0] for rod in rest.system.rods) * 9.81
    np.testing.assert_allclose(held, (0.0, 0.0, weight), atol=1e-4 * weight)


def test_cable_on_a_crane():
    example = load("cable_on_a_crane")
    omega, bessel = example["swing_rate"]()
    assert omega == pytest.approx(bessel, rel=1e-7)
    gallery("The period is # s by `gd.modes` and by the Bessel functions", 2.0 * np.pi / omega)
    for periods in (1.5, 2.0):
        ramp = periods * 2.0 * np.pi / omega
        motion, behind = example["run"](ramp)
        left = np.abs(behind[motion.t > ramp]).max()
        if periods == 1.5:
            gallery(
                "a swing of # m is left (# by the formula for small swings)", left, example["left_over"](ramp, omega)
            )
        else:
            assert left < 1e-4


def test_newtons_cradle(tmp_path, capsys):
    example = load("newtons_cradle")
    found = example["impact"](example["run"]())
    assert found == pytest.approx(example["chain"](), abs=5e-6)
    assert found[2:] == pytest.approx([-0.014464, 0.127045, 0.988777], abs=1e-5)
    gallery("the balls have #, #, #, # and # of the speed of the first", *found)
    example["main"](str(tmp_path))
    assert "newtons_cradle.png" in capsys.readouterr().out


def test_tippe_top():
    example = load("tippe_top")
    motion = example["run"]()
    kept = example["jellett"](motion)
    assert kept == pytest.approx(np.full_like(kept, kept[0]), rel=1e-3)
    assert example["inclination"](motion)[-1] > 165.0
    assert motion["ball"].omega[-1, 2] == pytest.approx(example["final_spin"](), rel=0.01)
    energy = motion.energy
    assert energy.total + energy.dissipated == pytest.approx(np.full_like(energy.total, energy.total[0]), rel=1e-4)
    gallery("about the vertical, # rad/s by that number", example["final_spin"]())


def test_box_on_a_conveyor(tmp_path, capsys):
    example = load("box_on_a_conveyor")
    motion = example["run"]()
    lags = example["lags"](motion)[:, -1]
    assert lags == pytest.approx(example["expected"](), rel=2e-4)
    assert motion.energy.dissipated[-1] == pytest.approx(3.0, rel=1e-4)
    gallery("They lag by #, # and # mm", *(1e3 * lags))
    example["main"](str(tmp_path))
    assert "box_on_a_conveyor.png" in capsys.readouterr().out


def test_rope_round_a_capstan():
    example = load("rope_round_a_capstan")
    path = example["run"]()
    pulls = example["pulls"](path)
    there, back = example["held"]()
    assert pulls.max() == pytest.approx(there, rel=1e-3)
    assert pulls[-1] == pytest.approx(back, rel=2.5e-3)
    assert pulls[0] == pytest.approx(pulls[-1], rel=0.02)  # the loop closes
    pulled = pulls[np.abs(np.asarray(path.value) - 1.0).argmin()]
    gallery("half a turn holds # N when it is pulled, and # N when it is let go", pulled, pulls[-1])


def test_cable_over_two_pulleys():
    example = load("cable_over_two_pulleys")
    motion = example["run"]()(np.linspace(1.0, 2.0, 501))
    load_side, winch = example["pulls"](motion)
    assert load_side.mean() == pytest.approx(example["MASS"] * 9.81, rel=1e-3)
    assert winch.mean() / load_side.mean() == pytest.approx(example["expected"](), rel=5e-3)
    gallery("times the tension at the load, # by the formula", example["expected"]())


def test_overhand_knot(tmp_path, capsys):
    example = load("overhand_knot")
    loose, path = example["run"]()
    pull, radius = example["pull"], example["radius"]
    bare = 2.0 * pull(loose) * radius(loose) ** 2 / example["BENDING"]
    assert bare == pytest.approx(1.0, rel=0.05)
    pulls = np.array([pull(rest) for rest in path.rests])
    pressed = 0.5 * sum(rest.contacts["knot"].normal for rest in (path.rests[10], path.rests[-1]))
    width, coulomb = pulls[10:21].mean() - pulls[-1], 2.0 * example["FRICTION"] * pressed
    assert width == pytest.approx(coulomb, rel=0.1)
    assert pulls[-1] < 0.3 * pull(loose) < 1.5 * pull(loose) < pulls[20]
    assert np.ptp(pulls[10:21]) < 0.03 * pulls[20]  # it slips, and becomes little stiffer
    gallery("is #; tightening asks for # N more than loosening, and", bare, width)
    gallery(r"$2\mu P$ is # N.", coulomb)
    example["main"](str(tmp_path))
    assert "overhand_knot.png" in capsys.readouterr().out


def test_hose_in_a_channel(tmp_path, capsys):
    example = load("hose_in_a_channel")
    motion = example["run"]()
    walls = [motion.contacts[name].normal[-1] for name in ("left", "right")]
    assert walls[0] == pytest.approx(walls[1], rel=1e-6)
    gives = -sum(motion.contacts[name].gap[-1] for name in ("left", "right"))
    stiffness = 48.0 * example["BENDING"] / example["LENGTH"] ** 3
    assert walls[0] == pytest.approx(example["beam"]() - stiffness * gives, rel=5e-3)
    gallery("The middle presses with # N, # N by the beam", walls[0], example["beam"]())
    example["main"](str(tmp_path))
    assert "hose_in_a_channel.png" in capsys.readouterr().out


def test_coil_on_a_floor():
    example = load("coil_on_a_floor")
    wanted = example["UNIT"] * example["steady"]()[0]
    assert example["radius"](example["run"](1.5)) == pytest.approx(wanted, rel=0.01)
    gallery("= # mm the coils have a radius of", 1e3 * example["UNIT"])
    gallery("mm, # mm by the boundary value problem", 1e3 * wanted)


@pytest.mark.slow
def test_ten_coils_on_a_floor(tmp_path, capsys):
    example = load("coil_on_a_floor")
    found = example["radius"](example["run"]())
    assert found == pytest.approx(example["UNIT"] * example["steady"]()[0], rel=0.01)
    gallery("the coils have a radius of # mm", 1e3 * found)
    example["main"](str(tmp_path))
    assert "coil_on_a_floor.png" in capsys.readouterr().out


def test_soft_gripper(tmp_path, capsys):
    example = load("soft_gripper")
    tension, found = example["grip"](example["run"]())
    open_ = tension < 0.99 * example["closes"]()
    assert found[open_].max() < 1e-3
    shut = tension > 1.05 * example["closes"]()
    assert found[shut] == pytest.approx([example["pressed"](T) for T in tension[shut]], rel=0.01)
    gallery(
        "Tendons close the fingers at # N; at # N each presses with # N", example["closes"](), tension[-1], found[-1]
    )
    gallery("N, # N by a circular beam", example["pressed"](tension[-1]))
    example["main"](str(tmp_path))
    assert "soft_gripper.png" in capsys.readouterr().out


def test_flying_spaghetti():
    example = load("flying_spaghetti")
    motion = example["run"]()
    alone = motion.t > example["LOADED"]
    assert motion.momentum[-1] == pytest.approx([50.0, 0.0, 0.0], abs=1e-4)
    assert np.ptp(motion.energy.total[alone]) < 1e-4
    assert np.ptp(motion.angular_momentum[alone], axis=0).max() < 1e-3
    gallery("the impulse of the force, to 3e-5; # J", motion.energy.total[-1])
    assert motion["rod"].positions[-1, -1] == pytest.approx([23.518, -0.395, 8.581], abs=2e-3)


def test_spin_up():
    example = load("spin_up")
    motion, end = example["run"]()
    late = end[motion.t > example["RISE"]]
    gallery(
        "The largest lag is # m; at full speed the rod is longer by # m on the mean, # m by the closed form",
        *(-end[:, 1].min(), late[:, 0].mean() - example["LENGTH"], example["extension"]()),
    )
    assert example["extension"]() == pytest.approx(5.143174550e-4, rel=1e-9)


def test_identify_a_hose():
    example = load("identify_a_hose")
    found = example["run"]()
    for path, value in example["TRUTH"].items():
        assert found.values[path] == pytest.approx(value, rel=0.01)
        assert found.intervals[path][0] <= value <= found.intervals[path][1]
    assert found.values["hose.material.young"] == pytest.approx(5.0006e6, rel=1e-4)
    assert found.standard_errors["hose.damping.factor"] == pytest.approx(6.1e-5, rel=0.02)


def test_cable_tolerances():
    example = load("cable_tolerances")
    study = example["run"](32, engine="serial")
    assert not study.failed
    assert np.median(study["reach"]) == pytest.approx(0.1402, abs=1e-4)
    assert np.median(study["radius"]) == pytest.approx(0.0937, abs=4e-4)
    indices = study.sobol()
    assert indices["reach"]["damper"] > 0.8
    assert indices["reach"]["length"] < 0.2
    assert indices["radius"]["young"] > 0.8
    # What the study kept of a run is what a finer simulation of that cable has.
    k = int(study["reach"].argmax())
    motion = gd.simulate(example["machine"](**study.parameters(k)), example["DURATION"], rtol=1e-5)
    fine = motion(np.linspace(0.0, example["DURATION"], 2001))
    assert study["reach"][k] == pytest.approx(example["reach"](fine).max(), abs=2e-4)
    assert study["radius"][k] == pytest.approx(example["tightest"](fine).min(), abs=1e-4)


def test_flip_time():
    example = load("flip_time")
    ladder, thrown = example["ladder"](), example["throws"](50)
    flip, epsilon = ladder["flip"], ladder["handle.angular_velocity[0]"]
    (I1, I2, I3), spin = example["MOMENTS"], example["SPIN"]
    q = I1 * (I3 - I1) / (I2 * (I3 - I2)) * (epsilon / spin) ** 2
    # For a disturbance about one axis the closed form of the example is a quarter of a period.
    closed = ellipkm1(q / (1.0 + q)) / (example["rate"]() * np.sqrt(1.0 + q))
    assert example["exact"](example["started"](ladder)) == pytest.approx(closed, rel=1e-12)
    assert flip == pytest.approx(closed, abs=2e-11)
    assert flip[0] == pytest.approx(1.597395553, abs=1e-9)
    small = epsilon < 1e-3
    assert flip[small] == pytest.approx(example["logarithm"](epsilon[small]), abs=1e-8)
    assert thrown["flip"] == pytest.approx(example["exact"](example["started"](thrown)), abs=2e-11)


def test_every_example_is_in_the_gallery():
    text = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    tests = Path(__file__).read_text(encoding="utf-8")
    for example in EXAMPLES.glob("*.py"):
        assert f"../examples/{example.name}" in text
        assert f"images/gallery_{example.stem}.png" in text
        assert (EXAMPLES.parent / "docs" / "images" / f"gallery_{example.stem}.png").stat().st_size < 70_000
        assert f"def test_{example.stem}(" in tests
    assert set(re.findall(r"gallery_(\w+)\.png", text)) == {example.stem for example in EXAMPLES.glob("*.py")}


def test_gyroscope_on_a_cable(tmp_path):
    example = load("gyroscope_on_a_cable")
    motion = example["run"](tmp_path, 1.5)
    # From a run with rtol = 1e-8.
    assert motion["wheel"].position[-1] == pytest.approx([-0.2323769, 0.0038227, -1.1709391], abs=2e-7)
    missing = example["balance"](motion)["missing"]
    assert np.abs(missing).max() < 1e-5 * np.ptp(motion.energy.total)
    assert motion.drift.position.max() < 1e-14
    assert motion.sensors["pull"][-1, 2] == pytest.approx(27.751, abs=5e-3)
    assert motion.html(tmp_path / "page.html").stat().st_size < 400_000
