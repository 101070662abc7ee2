"""Result files as VTK reads them: the reader that ParaView has, with rods and bodies moving."""

from __future__ import annotations

import subprocess
import sys

import h5py
import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as ro
from gyrod import storage
from gyrod.storage.frames import MESH, Scene

pytest.importorskip("vtkmodules.vtkIOHDF")  # all of vtk takes a second

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)


@pytest.fixture(scope="module")
def motion():
    hose = gd.Rod(
        "hose", 1.0, 8, gd.Circle(radius=5e-3), RUBBER, start=gd.Clamped(), end=gd.Hinged("bob", at=(0, 0, 0.05)),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    other = gd.Rod("other", 0.5, 4, gd.Ring(radius=0.01, inner=0.005), RUBBER, start=gd.Hinged())
    bob = gd.Body(
        "bob", mass=0.2, inertia=(1e-4, 2e-4, 2e-4), position=(0, 1, -0.05), angular_velocity=(0, 0, 3),
        shape=gd.Box((0.1, 0.2, 0.3)),
    )  # fmt: skip
    stone = gd.Body("stone", mass=1.0, inertia=(1, 2, 3), velocity=(1, 0, 0), angular_velocity=(0.1, 1, 2))
    sensors = [gd.PointSensor("tip", "bob", quantity="position")]
    return gd.simulate(gd.System([bob, stone], rods=[hose, other], sensors=sensors), 0.3, rtol=1e-4)


class Read:
    """A file in vtkHDFReader."""

    def __init__(self, file) -> None:
        self.reader = vtkHDFReader()
        assert self.reader.CanReadFile(str(file))
        self.reader.SetFileName(str(file))
        self.reader.UpdateInformation()
        info, key = self.reader.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
        self.times = np.array([info.Get(key, i) for i in range(info.Length(key))])

    def at(self, step: int):
        self.reader.UpdateTimeStep(self.times[step])
        return self.reader.GetOutputDataObject(0)


def array(data, name: str) -> np.ndarray:
    return vtk_to_numpy(data.GetArray(name))


def points(data) -> np.ndarray:
    return vtk_to_numpy(data.GetPoints().GetData())


def test_rods_and_bodies_move(motion, tmp_path):
    motion.save(tmp_path / "run.h5", frames=10_000)
    file, n = Read(tmp_path / "run.h5"), len(motion.t)
    assert file.reader.GetNumberOfSteps() == n
    assert np.array_equal(file.times, motion.t)
    moved = 0.0
    for step in (0, 1, n // 2, n - 1, 3):
        data = file.at(step)
        assert (data.GetNumberOfLines(), data.GetNumberOfVerts(), data.GetNumberOfPolys()) == (2, 2, 12)
        expected = np.concatenate(
            [motion["hose"].positions[step], motion["other"].positions[step], [motion["bob"].position[step]],
             [motion["stone"].position[step]]]
        )  # fmt: skip
        assert points(data).dtype == np.float32
        assert np.abs(points(data)[: 9 + 5 + 2] - expected).max() < 1e-6
        moved = max(moved, np.abs(expected[8] - motion["hose"].positions[0, 8]).max())
        assert [data.GetCell(2 + k).GetPointId(0) for k in range(2)] == [0, 9]
        assert [data.GetCell(2 + k).GetNumberOfPoints() for k in range(2)] == [9, 5]
    assert moved > 0.05


def test_what_is_known_at_the_points(motion, tmp_path):
    motion.save(tmp_path / "run.h5", frames=10_000)
    step = len(motion.t) // 2
    data = Read(tmp_path / "run.h5").at(step).GetPointData()
    hose, bob = motion["hose"], motion["bob"]
    F = hose.force[step]
    for name, expected in {
        "velocity": hose.velocities[step],
        "moment": hose.moment[step],
        "curvature": hose.curvature[step],
        "force": np.concatenate([F[:1], 0.5 * (F[1:] + F[:-1]), F[-1:]]),
        "d3": ro.matrix_from_quaternion(hose.vertex_quaternions[step])[:, :, 2],
    }.items():
        found, scale = array(data, name)[:9], np.abs(expected).max()
        assert np.abs(found - expected).max() < 1e-6 * max(scale, 1e-30), name
        assert scale > 0.0
    assert np.abs(array(data, "velocity")[14] - bob.velocity[step]).max() < 1e-6
    assert np.abs(array(data, "d2")[14] - bob.matrix[step][:, 1]).max() < 1e-6
    assert np.abs(array(data, "moment")[14:]).max() == 0.0
    assert array(data, "object").tolist() == [0] * 9 + [1] * 5 + [2, 3] + [2] * 8 + [3] * 8
    assert array(data, "radius")[:14] == pytest.approx([5e-3] * 9 + [0.01] * 5)


def test_shapes_move_with_their_bodies(motion, tmp_path):
    motion.save(tmp_path / "run.h5", frames=10_000)
    step = len(motion.t) - 1
    data, bob = Read(tmp_path / "run.h5").at(step), motion["bob"]
    corners = (points(data)[16:24] - bob.position[step]) @ bob.matrix[step]  # back into the body's axes
    assert np.abs(np.abs(corners) - [0.05, 0.1, 0.15]).max() < 1e-6
    assert len(np.unique(np.sign(corners), axis=0)) == 8
    assert len(np.unique(points(data)[24:32].round(6), axis=0)) == 8  # the stone: the box of its inertia
    velocity = bob.velocity[step] + np.cross(bob.omega[step], corners @ bob.matrix[step].T)
    assert np.abs(array(data.GetPointData(), "velocity")[16:24] - velocity).max() < 1e-5
    # faces are seen from outside: their normals point away from the centre
    for k in range(4, 10):
        cell = data.GetCell(k)
        at = [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
        x = points(data)[at]
        assert np.cross(x[1] - x[0], x[2] - x[1]) @ (x.mean(axis=0) - bob.position[step]) > 0.0
    assert array(data.GetCellData(), "object").tolist() == [2, 3, 0, 1] + [2] * 6 + [3] * 6


def test_energies_and_sensors_belong_to_the_whole(motion, tmp_path):
    motion.save(tmp_path / "run.h5", frames=10_000)
    file = Read(tmp_path / "run.h5")
    for step in (0, 7):
        data = file.at(step).GetFieldData()
        assert array(data, "total energy")[0] == motion.energy.total[step]
        assert array(data, "kinetic energy")[0] == motion.energy.kinetic[step]
        assert np.array_equal(array(data, "sensor tip").ravel(), motion.sensors["tip"][step])


def test_cells_are_written_once_and_points_for_each_frame(motion, tmp_path):
    motion.save(tmp_path / "run.h5", frames=10_000)
    with h5py.File(tmp_path / "run.h5") as file:
        group, n, P = file["VTKHDF"], len(motion.t), 32
        assert group["Points"].shape == (n * P, 3)
        assert group["Lines/Connectivity"].shape == (14,)
        assert group["Polygons/Connectivity"].shape == (48,)
        assert group["PointData/radius"].shape == (P,)
        assert not group["Steps/CellOffsets"][:].any()
        assert np.array_equal(group["Steps/PointOffsets"], P * np.arange(n))


def test_about_so_many_frames_evenly_spread(motion, tmp_path):
    times = np.linspace(0.0, 0.3, 3001)
    long = motion(times)
    long.save(tmp_path / "run.h5", frames=30)
    file = Read(tmp_path / "run.h5")
    assert 30 <= len(file.times) <= 32
    assert file.times[0] == 0.0
    assert file.times[-1] == 0.3
    assert np.diff(file.times).max() < 1.01 * 0.01
    row = int(np.searchsorted(times, file.times[20]))
    assert np.abs(points(file.at(20))[:9] - long["hose"].positions[row]).max() < 1e-6
    long.save(tmp_path / "none.h5", frames=0)
    with h5py.File(tmp_path / "none.h5") as none:
        assert list(none) == ["gyrod"]
    assert np.array_equal(gd.open(tmp_path / "none.h5").y, long.y)


def test_a_file_that_was_never_closed_is_read(motion, tmp_path):
    file = tmp_path / "run.h5"
    target = storage.Recorder(file, motion.compiled, t_end=0.3)
    for k in range(0, 40, 5):
        target.append(motion.t[k : k + 5], motion.y[k : k + 5])
    # a copy as a kill would leave it: the reader of this process would see what is still in memory
    (tmp_path / "killed.h5").write_bytes(file.read_bytes())
    target.close()
    read = Read(tmp_path / "killed.h5")
    assert len(read.times) >= 30
    step = len(read.times) - 1
    row = int(np.searchsorted(motion.t, read.times[step]))
    assert np.abs(points(read.at(step))[:9] - motion["hose"].positions[row]).max() < 1e-6


@pytest.mark.parametrize("kind", ["rods", "bodies"])
def test_systems_of_one_kind(kind, tmp_path):
    if kind == "rods":
        rod = gd.Rod("hose", 1.0, 5, gd.Circle(radius=5e-3), RUBBER, start=gd.Hinged())
        system = gd.System(rods=[rod])
    else:
        system = gd.problems.get("lang-a").system
    motion = gd.simulate(system, 0.1, rtol=1e-4)
    motion.save(tmp_path / "run.h5")
    read = Read(tmp_path / "run.h5")
    data = read.at(len(read.times) - 1)
    expected = motion["hose"].positions[-1] if kind == "rods" else motion["top"].position[-1:]
    assert np.abs(points(data)[: len(expected)] - expected).max() < 1e-6
    assert (data.GetPointData().GetArray("moment") is None) == (kind == "bodies")


def test_a_shape_of_too_many_corners_is_a_point():
    big = gd.Sphere(0.1)
    many = [
        gd.Body(f"b{i}", mass=1.0, inertia=(1, 1, 1), position=(i, 0, 0), shape=big if i % 2 else None)
        for i in range(60)
    ]
    scene = Scene(gd.simulate(gd.System(many), 0.01).compiled)
    assert len(scene.owner) <= MESH
    assert len(scene.cells["Vertices"]) == 60
    assert 0 < len(set(scene.owner.tolist())) < 60
    assert all(face.max() < scene.points for face in scene.cells["Polygons"])


def test_vtk_reads_in_a_fresh_process(motion, tmp_path):
    """Two libraries of HDF5 live in one process here; ParaView has one."""
    motion.save(tmp_path / "run.vtkhdf")
    code = (
        "import sys; from vtkmodules.vtkIOHDF import vtkHDFReader as R; r = R(); r.SetFileName(sys.argv[1]); "
        "r.Update(); print(r.GetNumberOfSteps(), r.GetOutputDataObject(0).GetNumberOfPoints())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run.vtkhdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        assert done.stdout.split() == [str(file["VTKHDF/Steps"].attrs["NSteps"]), "32"]
