"""Check sums of result files: numbers that changed on the disk are refused, wherever they are read."""

import json
import shutil

import h5py
import numpy as np
import pytest

import gyrod as gd
from gyrod import problems, storage
from gyrod.cli import main
from gyrod.storage import layout

TOP = problems.get("lang-a").system


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("sums") / "run.h5"
    event = gd.Event(lambda t, m: m["top"].position[0], name="crossing")
    gd.simulate(TOP, 3.0, rtol=1e-8, save=path, events=[event])
    return path


def place(path, name, item=0):
    """Offset in the file of an item of a series."""
    with h5py.File(path) as file:
        data = file[f"gyrod/{name}"]
        chunk = data.id.get_chunk_info(item // data.chunks[0])
        return chunk.byte_offset + (item % data.chunks[0]) * data.dtype.itemsize * int(np.prod(data.shape[1:]))


def flip(path, name, item=0, bit=3):
    """Change one bit of an item."""
    raw = bytearray(path.read_bytes())
    raw[place(path, name, item) + bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(raw)


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copy(run, tmp_path / "run.h5") and tmp_path / "run.h5"


@pytest.mark.spread
@pytest.mark.parametrize("name", ["t", "y", "steps"])
@pytest.mark.parametrize("bit", [0, 30, 62])
def test_a_flipped_bit_is_refused_when_it_is_read(copied, name, bit):
    flip(copied, name, 5, bit)
    with pytest.raises(OSError, match=rf"is damaged: items \d+ to \d+ of /gyrod/{name} are not the numbers"):
        getattr(gd.open(copied), name)


def test_dense_output_is_checked_where_it_is_used(copied):
    whole = gd.open(copied)
    expected = whole(0.001).y
    flip(copied, "dense", 0, 40)
    with pytest.raises(OSError, match="of /gyrod/dense are not the numbers"):
        gd.open(copied)(0.001)
    flip(copied, "dense", 0, 40)
    assert np.array_equal(gd.open(copied)(0.001).y, expected)


@pytest.mark.parametrize("name", [*(n for n in layout.SERIES if n.startswith(("t", "y", "steps", "dense", "events")))])
def test_verify_names_what_changed(copied, name):
    count, damaged = storage.verify(copied)
    assert count >= 9
    assert damaged == []
    flip(copied, name, 0, 9)
    try:
        found = storage.verify(copied)[1]
    except OSError:  # a name that is no text any more
        assert name == "events/name"
    else:
        assert [text for text in found if f"/gyrod/{name}" in text]


def test_the_command_verifies(copied, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["info", str(copied), "--verify", "--json", "-"])
    assert json.loads(capsys.readouterr().out)["checked"] == storage.verify(copied)[0]
    flip(copied, "y", 7)
    with pytest.raises(SystemExit, match="1"):
        main(["info", str(copied), "--verify"])
    assert "of /gyrod/y" in capsys.readouterr().err


def interrupted(path, monkeypatch, closed):
    """A run that ended early, with its checkpoint; closed, or as a kill leaves it."""
    from gyrod.solve import recording

    monkeypatch.setattr(recording, "budget", lambda *_: 8)
    monkeypatch.setattr(recording, "FIRST", 8)
    with pytest.raises(gd.SimulationError):
        gd.simulate(TOP, 3.0, rtol=1e-8, save=path, max_steps=30)
    assert storage.checkpoint_path(path).exists()
    if not closed:
        with h5py.File(path, "r+") as file:
            file["gyrod"].attrs.modify("closed", np.int64(0))


@pytest.mark.parametrize("closed", [True, False])
def test_resume_refuses_damaged_rows_by_name(tmp_path, monkeypatch, closed):
    path = tmp_path / "run.h5"
    interrupted(path, monkeypatch, closed)
    flip(path, "y", 3, 40)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"is damaged: items \d+ to \d+ of /gyrod/y are not the .* start again"):
        gd.simulate(TOP, 3.0, rtol=1e-8, save=path, resume=True)
    assert path.read_bytes() == before
    flip(path, "y", 3, 40)
    resumed = gd.simulate(TOP, 3.0, rtol=1e-8, save=path, resume=True)
    assert np.array_equal(resumed.y, gd.simulate(TOP, 3.0, rtol=1e-8).y)
    count, damaged = storage.verify(path)
    assert (damaged, count > 20) == ([], True)


def test_a_run_that_is_copied_and_killed_again_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    interrupted(path, monkeypatch, False)
    kept = storage.checkpoint_path(path).read_bytes()
    with pytest.raises(gd.SimulationError):
        gd.simulate(TOP, 3.0, rtol=1e-8, save=path, resume=True, max_steps=31)
    storage.checkpoint_path(path).write_bytes(kept)  # the copy has other blocks than the checkpoint remembers
    assert gd.simulate(TOP, 3.0, rtol=1e-8, save=path, resume=True).status == "finished"
    assert storage.verify(path)[1] == []


def test_files_without_check_sums_open(copied, capsys):
    whole = gd.open(copied)
    y, dense = np.array(whole.y), whole(1.234).y
    with h5py.File(copied, "r+") as file:  # as it was before there were any
        del file["gyrod/checks"]
        counts = file["gyrod"].attrs["counts"]
        del file["gyrod"].attrs["counts"]
        file["gyrod"].attrs["counts"] = counts[: layout.COUNTERS.index("checks")]
    old = gd.open(copied)
    assert np.array_equal(old.y, y)
    assert np.array_equal(old(1.234).y, dense)
    assert storage.verify(copied) == (0, [])
    with pytest.raises(SystemExit, match="1"):
        main(["info", str(copied), "--verify"])
    assert "has no check sums" in capsys.readouterr().err
    old.save(copied)
    assert storage.verify(copied)[0] > 0


def test_every_item_is_under_one_check_sum(run):
    with h5py.File(run) as file:
        group = file["gyrod"]
        counts = layout.counted(group.attrs["counts"])
        table = group["checks"][: counts["checks"]]
    for name, (counter, _) in layout.SERIES.items():
        mine = table[table[:, 0] == layout.NUMBERS[name]]
        if name != "checks" and len(mine):
            assert mine[0, 1] == 0
            assert np.array_equal(mine[1:, 1], mine[:-1, 2])
            assert mine[-1, 2] == counts[counter]
        elif name != "checks":
            assert counts[counter] == 0
