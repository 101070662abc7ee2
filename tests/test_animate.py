"""Animations: frames, durations, what is where in the picture, faces of solids, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod.look import drawing, faces, film, props
from gyrod.model.appearance import SOLIDS
from gyrod.quantities import COLOURS

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

SMALL = {"size": (160, 120)}


def ball(**options) -> gd.System:
    """A red ball thrown in the plane x-z."""
    shape = gd.Sphere(radius=0.1)
    return gd.System([gd.Body.solid("ball", shape, mass=1.0, velocity=(1.0, 0.0, 4.0), color="#ff0000", **options)])


@pytest.fixture(scope="module")
def throw():
    return gd.simulate(ball(), 0.8, rtol=1e-8)


@pytest.fixture(scope="module")
def swing():
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100.0)
    hose = gd.Rod("hose", 1.0, 8, gd.Circle(radius=5e-3), rubber, start=gd.Clamped("ground"),
                  end=gd.Hinged("bob", at=(0, 0, 0.05)), initial=gd.Straight((0, 0, 0), (0, 1, 0)))  # fmt: skip
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    return gd.simulate(gd.System([bob], rods=[hose]), 0.3, rtol=1e-3)


def seconds(image) -> float:
    total = 0
    for k in range(image.n_frames):
        image.seek(k)
        total += image.info["duration"]
    return 1e-3 * total


@pytest.mark.parametrize(("fps", "speed", "frames"), [(10.0, 1.0, 9), (30.0, 2.0, 13), (7.0, 0.5, 12)])
def test_gif_has_the_frames_and_the_time_that_were_asked_for(throw, tmp_path, fps, speed, frames):
    file = throw.animate(tmp_path / "throw.gif", fps=fps, speed=speed, **SMALL)
    assert file == tmp_path / "throw.gif"
    with Image.open(file) as image:
        assert (image.format, image.size, image.n_frames) == ("GIF", (160, 120), frames)
        assert seconds(image) == pytest.approx(frames / fps, abs=0.006)  # GIF counts hundredths


def test_mp4_has_the_frames_and_the_time_that_were_asked_for(throw, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = throw.animate(str(tmp_path / "throw.MP4"), fps=25, speed=0.8, **SMALL)
    count, time = ffmpeg.count_frames_and_secs(str(file))
    assert count == 26
    assert time == pytest.approx(26 / 25, abs=0.02)
    assert next(ffmpeg.read_frames(str(file)))["size"] == (160, 120)


def test_sixty_frames_of_a_rod_are_small(swing, tmp_path):
    file = swing.animate(tmp_path / "swing.gif", speed=0.15)
    with Image.open(file) as image:
        assert image.n_frames > 55
    assert file.stat().st_size < 1_000_000
    assert list(tmp_path.iterdir()) == [file]


def red(picture) -> np.ndarray:
    p = picture.astype(int)
    return np.argwhere((p[..., 0] > 120) & (p[..., 1] < 60) & (p[..., 2] < 60))


def test_things_are_where_they_are(throw):
    """The middle of the red pixels is the projected centre of the ball, and their number its area."""
    stage = drawing.Stage(throw, (320, 240))
    assert stage.eye.plane == "xz"
    for k in (0, len(throw.t) // 2, -1):
        rows, columns = red(stage.frame(k)).T
        x, z = throw["ball"].position[k, [0, 2]]
        column, row = stage.axes.transData.transform((x, z))
        assert columns.mean() + 0.5 == pytest.approx(column, abs=1.0)
        assert rows.mean() + 0.5 == pytest.approx(240.0 - row, abs=1.0)
        assert len(rows) * stage.pixel**2 == pytest.approx(np.pi * 0.1**2, rel=0.15)


def test_the_nearer_body_hides_the_farther_one():
    near = gd.Body.solid("near", gd.Box(size=(1, 1, 1)), mass=1.0, position=(0, -3, 0), color="#00ff00")
    far = gd.Body.solid("far", gd.Box(size=(0.5, 0.5, 0.5)), mass=1.0, position=(0, 3, 0), color="#ff0000")
    motion = gd.simulate(gd.System([far, near], gravity=(0, 0, 0)), 1.0)
    assert not len(red(drawing.Stage(motion, (160, 120), view="xz").frame(0)))
    assert len(red(drawing.Stage(motion, (160, 120), view=(90.0, 0.0)).frame(0))) > 50


def test_everything_stays_inside(swing):
    stage = drawing.Stage(swing, (200, 160), view=(30.0, 25.0))
    low, high = np.array([stage.axes.get_xlim(), stage.axes.get_ylim()]).T
    for x in (swing["hose"].positions, swing["bob"].position):
        flat = stage.eye.flat(x)
        assert (flat > low).all()
        assert (flat < high).all()
    box = stage.axes.get_window_extent()
    assert box.width / (high[0] - low[0]) == pytest.approx(box.height / (high[1] - low[1]), rel=1e-6)


def test_colours_tell_the_quantity(swing):
    stage = drawing.Stage(swing, (200, 160), color="force")
    scale, norm, table = stage.paint
    k = len(swing.t) // 2
    axial = swing["hose"].force[k, :, 2]
    np.testing.assert_allclose(stage._colours("hose", k, 8), table(norm(scale.factor * axial))[:, :3])
    assert drawing.Stage(swing, (200, 160), color=None).paint is None
    for colour in COLOURS:
        assert drawing.Stage(swing, (200, 160), color=colour).values["hose"].shape == (len(swing.t), 8)


@given(st.floats(-720.0, 720.0), st.floats(-90.0, 90.0))
def test_eyes_are_right_handed_frames(azimuth, elevation):
    eye = drawing.eye_of((azimuth, elevation), None)
    R = np.array([eye.right, eye.up, eye.back])
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert eye.up[2] >= -1e-12  # z is never upside down


def test_plane_motions_are_seen_from_the_side(swing):
    assert drawing.Stage(swing, (200, 160)).eye.plane == "yz"
    spun = gd.simulate(ball(angular_velocity=(3.0, 0.0, 0.0)), 0.1)  # turns out of its plane
    assert drawing.Stage(spun, (200, 160)).eye.plane is None


# --- faces ------------------------------------------------------------------------------------------------------------

CORNER = gd.Mesh(
    vertices=[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], faces=[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
)
EXAMPLES = {
    gd.Box: gd.Box(size=(1.0, 2.0, 3.0), offset=(0.3, 0.2, 0.1), orientation=(0.1, 0.2, 0.3)),
    gd.Sphere: gd.Sphere(radius=0.7, offset=(1.0, 0.0, 0.0)),
    gd.Cylinder: gd.Cylinder(radius=0.5, length=2.0, axis=(1, 1, 0)),
    gd.Cone: gd.Cone(radius=0.5, length=2.0, axis=(0, 1, 0), offset=(0, 0, 1)),
    gd.Capsule: gd.Capsule(radius=0.5, length=1.0, axis=(0, 1, 1), offset=(0, 0, 1)),
    gd.Mesh: CORNER,
}


@pytest.mark.parametrize("kind", SOLIDS, ids=lambda c: c.__name__)
def test_faces_enclose_the_solid(kind):
    """By the divergence theorem the faces have the volume of the solid: outward, closed, in place."""
    solid = EXAMPLES[kind]
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), shape=solid)
    found = faces.faces_of(body, 0.0)
    volume, moment = 0.0, np.zeros(3)
    for face in found:
        for i in range(1, len(face) - 1):
            a, b, c = face[0], face[i], face[i + 1]
            six = a @ np.cross(b, c)
            volume += six / 6.0
            moment += six / 24.0 * (a + b + c)
    true, centre, _ = solid.moments()
    exact = kind in (gd.Box, gd.Mesh)
    assert volume == pytest.approx(true, rel=1e-9 if exact else 0.05)
    np.testing.assert_allclose(moment / volume, centre, atol=1e-9 if exact else 0.01)


def test_a_body_without_shape_is_the_box_of_its_inertia():
    a, b, c, m = 0.4, 0.6, 1.0, 3.0
    body = gd.Body("b", mass=m, inertia=m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b]))
    corners = np.concatenate(faces.faces_of(body, 0.0))
    np.testing.assert_allclose(np.ptp(corners, axis=0), (a, b, c), rtol=1e-9)
    point = gd.Body("p", mass=1.0, inertia=(0, 0, 0))
    np.testing.assert_allclose(np.ptp(np.concatenate(faces.faces_of(point, 0.1)), axis=0), 0.1)


def test_springs_and_obstacles_are_drawn_in_place():
    steel = gd.Material(young=2e9, poisson=0.3, density=1000)
    beam = gd.Rod("beam", 1.0, 4, gd.Circle(radius=0.01), steel, start=gd.Clamped())
    disc = gd.Body("disc", mass=0.2, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, -1), angular_velocity=(0, 3, 0))
    contact = {"stiffness": 100.0, "smoothing": 0.01}
    normal = np.array([1.0, 2.0, 2.0]) / 3.0
    forces = [
        gd.SpringDamper("ground", "disc", at_a=(0, 0, 0), at_b=(0.1, 0, 0), stiffness=20.0, damping=0.1, length=1.0),
        gd.Cable("beam", "ground", at_a=0.6, at_b=(0, 0, 2), stiffness=1.0),
        gd.SphereObstacle((0, 5, 0), 0.2, **contact),
        gd.PlaneObstacle((0, 0, -3), normal, **contact),
        gd.CylinderObstacle((0, 0, -5), (0, 1, 0), 0.3, **contact),
    ]
    motion = gd.simulate(gd.System([disc], rods=[beam], forces=forces), 0.1, rtol=1e-3, output=np.linspace(0, 0.1, 5))
    spring, cable = props.lines(motion)
    track = motion["disc"]
    np.testing.assert_allclose(spring[:, 0], 0.0)
    np.testing.assert_allclose(spring[:, 1], track.position + 0.1 * track.matrix[:, :, 0], atol=1e-12)
    x = motion["beam"].positions
    np.testing.assert_allclose(cable[:, 0], 0.6 * x[:, 2] + 0.4 * x[:, 3], atol=1e-12)  # 0.6 = 0.5 + 0.4 * 0.25
    ball, plane, cylinder = (np.concatenate(f) for f in props.obstacles(motion.compiled.system, np.zeros(3), 2.0))
    assert np.linalg.norm(ball - (0, 5, 0), axis=1) == pytest.approx(0.2)
    assert ((plane - (0, 0, -3)) @ normal).max() == pytest.approx(0.0, abs=1e-12)
    assert ((plane - (0, 0, -3)) @ normal).min() > -0.01
    assert np.hypot(cylinder[:, 0], cylinder[:, 2] + 5.0) == pytest.approx(0.3)
    stage = drawing.Stage(motion, (160, 120))
    assert len(stage.actors) == 4
    assert stage.frame(2).shape == (120, 160, 3)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file": "a.avi"}, r"file = 'a.avi' must end in .mp4 or .gif"),
        ({"fps": 0}, "fps must be a positive finite number"),
        ({"speed": -1.0}, "speed must be a positive finite number"),
        ({"speed": 1e-9}, r"makes \d+ frames .* take fewer fps or a larger speed"),
        ({"speed": 100.0}, r"a single frame at fps = 30 and speed = 100; speed = 0.16 makes a film of 5 s"),
        ({"fps": 60}, "a GIF shows 50 frames a second at most"),
        ({"size": (161, 120)}, "even numbers from 64 to 4096"),
        ({"size": (100.5, 120)}, "even numbers"),
        ({"size": 640}, "even numbers"),
        ({"view": "xx"}, "view = 'xx' is unknown; it can be 'xy'"),
        ({"view": (0.0, 91.0)}, "the elevation from -90 to 90"),
        ({"view": 3}, "must be a plane .* or azimuth and elevation"),
        ({"names": ["bal"]}, "names = 'bal' is unknown; it can be 'ball'"),
        ({"names": []}, r"names = \[\] chooses nothing"),
        ({"color": "heat"}, "color = 'heat' is unknown"),
    ],
)
def test_bad_input_gets_a_sentence(throw, tmp_path, options, message):
    given = {"file": "a.gif"} | SMALL | options
    given["file"] = tmp_path / given["file"] if "avi" not in given["file"] else given["file"]
    with pytest.raises(ValueError, match=message):
        throw.animate(**given)
    assert not list(tmp_path.iterdir())


def test_a_single_time_does_not_move(throw, tmp_path):
    with pytest.raises(ValueError, match="needs a motion with several times"):
        throw(0.1).animate(tmp_path / "a.gif")


def test_a_film_that_fails_leaves_the_old_one(throw, tmp_path):
    file = tmp_path / "throw.gif"
    file.write_bytes(b"old")

    def stop(done, total):
        assert total == 25
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        throw.animate(file, progress=stop, **SMALL)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_without_dense_output_the_nearest_rows_are_shown(tmp_path):
    motion = gd.simulate(ball(), 0.8, output=np.linspace(0.0, 0.8, 41), dense=False)
    times = film.frame_times(motion, 10.0, 1.0)
    shown = film._resampled(motion, times)
    assert np.abs(shown.t - times).max() <= 0.0101
    with Image.open(motion.animate(tmp_path / "a.gif", fps=10, **SMALL)) as image:
        assert image.n_frames == 9


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1.0, 100.0), st.floats(1e-2, 1e2))
def test_frame_times(duration, fps, speed):
    class Lasting:
        t = np.array([0.0, duration])

    if not 1.0001 < duration / speed * fps < film.MOST_FRAMES - 2:
        if not 0.9999 < duration / speed * fps < film.MOST_FRAMES:
            with pytest.raises(ValueError, match="frame"):
                film.frame_times(Lasting, fps, speed)
        return
    times = film.frame_times(Lasting, fps, speed)
    assert times[0] == 0.0
    assert times[-1] <= duration
    assert duration - times[-1] < 1.001 * speed / fps
    np.testing.assert_allclose(np.diff(times), speed / fps, rtol=1e-6)
