"""Stores: chunk files that are whole or not there, folders that know their study, tables that are read when asked."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from study_models import RING, quick_block, same

import gyrod as gd
from gyrod.look.plots import study_panels as panels
from gyrod.studies import chunks, locks, members, store
from gyrod.studies.chunks import Chunk, ChunkFiles, DamagedChunk
from gyrod.studies.differences import differences
from gyrod.studies.plan import make_plan

WHAT = {
    "vary": {"ring.angular_velocity[1]": gd.Uniform(1.0, 2.0), "ring.mass": [1, 2]},
    "outputs": {"spin": "ring.Omega", "most": gd.Maximum("ring.Omega[2]"), "curve": gd.History("ring.Omega", 4)},
    "t_end": 0.1,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(members, "run_block", quick_block)


def study(folder=None, samples=50, **options):
    options = {"engine": "serial", "chunk": 8, **options}
    return gd.study(RING, **WHAT, samples=samples, folder=folder, **options)


def chunk_files(folder: Path) -> list[Path]:
    return sorted((folder / "chunks").glob("*/*.npz"))


# --- chunk files -----------------------------------------------------------------------------------------------------


def a_chunk(start: int = 16, stop: int = 24) -> Chunk:
    plan = make_plan(RING, **WHAT, samples=50)
    return Chunk(quick_block(plan, start, stop), plan.parameters(start, stop))


def test_chunks_come_back_to_the_last_bit():
    chunk = a_chunk()
    nan = np.array([0x7FF8DEADBEEF0001], dtype=np.uint64).view(float)[0]
    chunk.block.outputs["spin"][0, 1] = nan
    identity, found = chunks.decode(chunks.encode(chunk, "abc"))
    assert identity == "abc"
    assert found.block.same(chunk.block)
    assert np.array_equal(found.block.seconds, chunk.block.seconds)
    assert list(found.parameters) == list(chunk.parameters)
    for name, column in chunk.parameters.items():
        assert found.parameters[name].dtype == column.dtype
        assert np.array_equal(found.parameters[name], column)
    assert chunks.encode(found, "abc") == chunks.encode(chunk, "abc")


def test_a_chunk_file_opens_with_numpy(tmp_path):
    study(tmp_path / "x")
    with np.load(chunk_files(tmp_path / "x")[1]) as archive:
        rows = archive["rows"]
    assert rows.shape == (8,)
    assert rows["ring.mass"].tolist() == [1] * 8
    assert rows["curve"].shape == (8, 5, 3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_altered_chunk_files_are_seen(data):
    raw = chunks.encode(a_chunk(), "abc")
    where = data.draw(st.integers(0, len(raw) - 1))
    kind = data.draw(st.sampled_from(["cut", "flip", "more"]))
    bad = raw[:where]
    if kind == "flip":
        bad = raw[:where] + bytes([raw[where] ^ data.draw(st.integers(1, 255))]) + raw[where + 1 :]
    elif kind == "more":
        bad = data.draw(st.binary(max_size=200))
    try:
        identity, found = chunks.decode(bad)
    except DamagedChunk:
        return
    # A bit of the archive's own bookkeeping, such as a date, may change nothing.
    assert kind == "flip"
    assert found.block.same(a_chunk().block)
    assert identity == "abc"


def test_a_chunk_is_checked_against_its_place_and_study(tmp_path):
    files = ChunkFiles(tmp_path, "abc", 100, 8)
    (tmp_path / "study.json").write_text("{}")
    files.write(a_chunk())
    assert files.read(2).block.same(a_chunk().block)
    assert files.present().nonzero()[0].tolist() == [2]
    with pytest.raises(DamagedChunk, match="is of another study; resume=True"):
        ChunkFiles(tmp_path, "abd", 100, 8).read(2)
    files.path(2).rename(files.path(3))
    with pytest.raises(DamagedChunk, match="holds the runs 16 to 23"):
        files.read(3)
    files.path(3).write_bytes(b"PK")
    with pytest.raises(DamagedChunk, match="is cut or not a chunk of gyrod"):
        files.read(3)


def test_at_most_a_thousand_files_in_a_folder(tmp_path):
    files = ChunkFiles(tmp_path, "abc", 10**9, 100)
    assert files.path(42).parts[-3:] == ("chunks", "0000", "000000000042.npz")
    assert files.path(999).parent == files.path(0).parent != files.path(1000).parent
    assert files.count == 10**7


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_folder_holds_what_memory_holds(tmp_path):
    here, there = study(), study(tmp_path / "x")
    assert same(here, there)
    assert same(here, gd.open(tmp_path / "x"))
    assert len(chunk_files(tmp_path / "x")) == 13
    assert there.done == there.size == len(there) == 100


def test_a_finished_study_is_only_opened(tmp_path, monkeypatch):
    first = study(tmp_path / "x")
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "x").rglob("*") if p.name != "lock"}
    monkeypatch.setattr(members, "run_block", None)
    assert same(study(tmp_path / "x", resume=True), first)
    assert times == {p: p.stat().st_mtime_ns for p in (tmp_path / "x").rglob("*") if p.name != "lock"}


def test_resume_runs_what_is_missing_or_damaged(tmp_path, monkeypatch):
    whole = study(tmp_path / "x")
    files = chunk_files(tmp_path / "x")
    files[2].unlink()
    files[5].write_bytes(files[5].read_bytes()[:-100])
    files[7].write_bytes(files[6].read_bytes())
    (files[0].parent / ".000000000003.npz.77-abcd").write_bytes(b"left by a killed writer")
    ran = []
    monkeypatch.setattr(
        members, "run_block", lambda plan, a, b, tick=None: ran.append(a) or quick_block(plan, a, b, tick=tick)
    )
    with pytest.warns(RuntimeWarning, match=r"000000000005.npz' cannot be used: it is cut.*\(and 1 more\)"):
        again = study(tmp_path / "x", resume=True)
    assert ran == [16, 40, 56]
    assert same(again, whole)
    assert sorted(p.name for p in files[0].parent.iterdir()) == [p.name for p in files]


def test_resume_begins_where_there_is_nothing(tmp_path):
    assert study(tmp_path / "x", resume=True).done == 100
    (tmp_path / "y").mkdir()
    assert study(tmp_path / "y").done == 100


def test_a_folder_with_a_study_needs_resume(tmp_path):
    study(tmp_path / "x")
    with pytest.raises(gd.StudyError, match=r"there is a study already in .*x', with 100 of 100 runs; resume=True"):
        study(tmp_path / "x")


def test_the_chunks_of_a_folder_stay_as_they_are(tmp_path):
    study(tmp_path / "x")
    with pytest.raises(gd.StudyError, match="chunk = 24 is not the 8 with which the study"):
        study(tmp_path / "x", resume=True, chunk=24)
    assert study(tmp_path / "x", resume=True, chunk=None).done == 100


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_another_study_is_refused(tmp_path, resume):
    study(tmp_path / "x")
    before = {p: p.read_bytes() for p in chunk_files(tmp_path / "x")}
    with pytest.raises(gd.StudyError, match=r"is of another study: samples 50 there, 60 here. Choose another folder"):
        study(tmp_path / "x", samples=60, resume=resume)
    with pytest.raises(gd.StudyError, match=r"run.rtol missing there, 0.001 here"):
        study(tmp_path / "x", rtol=1e-3, resume=resume)
    heavy = RING.with_({"ring.inertia[2, 2]": 2.9})
    with pytest.raises(gd.StudyError, match=r"model.system.*inertia.* 3.* there, 2.9 here"):
        gd.study(heavy, **WHAT, samples=50, folder=tmp_path / "x", resume=resume)
    assert {p: p.read_bytes() for p in chunk_files(tmp_path / "x")} == before


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(gd.StudyError, match="holds other things, such as 'photos', and no study"):
        study(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lock", "photos"]
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match="is a file, or lies in one; a study needs a folder"):
        study(tmp_path / "file")
    with pytest.raises(OSError, match="is a file, or lies in one"):
        study(tmp_path / "file" / "x")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "study.json").write_text("{}")
    with pytest.raises(gd.StudyError, match="is not a manifest of a study"):
        study(tmp_path / "y")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nowhere"):
        gd.open(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"it has no study.json"):
        gd.open(tmp_path / "photos")


def test_a_folder_without_permission_is_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("root may write everywhere")
    with pytest.raises(OSError, match="cannot be written: permission denied"):
        study(tmp_path / "x")


def test_a_disk_that_is_full_from_the_start_is_a_sentence(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "write_atomic", full)
    with pytest.raises(OSError, match=r"the folder .*x' cannot be written: no space left on device\."):
        study(tmp_path / "x")


@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_a_disk_that_runs_full_keeps_what_is_there(tmp_path, monkeypatch, engine):
    def filling(path, data):
        if len(chunk_files(tmp_path / "x")) >= 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    write = chunks.write_whole
    with monkeypatch.context() as patch:
        patch.setattr(chunks, "write_whole", filling)
        with pytest.raises(
            gd.StudyError, match=r"No space left on device\. \d+ of 100 runs are kept .*resume"
        ) as caught:
            study(tmp_path / "x", engine=engine, workers=2)
        assert caught.value.study.done >= 32
    assert same(study(tmp_path / "x", resume=True), study())


@pytest.mark.spread
@pytest.mark.parametrize("what", ["folder", "manifest"])
@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_a_folder_that_vanishes_ends_the_study(tmp_path, monkeypatch, engine, what):
    def vanishing(self, k):
        if k >= 4 and what == "folder":
            shutil.rmtree(tmp_path / "x", ignore_errors=True)
        elif k >= 4:
            (tmp_path / "x" / "study.json").unlink(missing_ok=True)

    monkeypatch.setattr(store.Folder, "wrote", vanishing)
    with pytest.raises(gd.StudyError, match=r"x' has vanished, or study.json in it: nothing more is written\.") as told:
        study(tmp_path / "x", engine=engine, workers=2)
    assert "kept" not in str(told.value)
    assert not (tmp_path / "x" / "study.json").exists()


def test_an_interrupt_after_the_folder_vanished_promises_nothing(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        shutil.rmtree(tmp_path / "x")
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "run_block", interrupted)
    with pytest.raises(gd.StudyInterrupted, match=r"interrupted; the folder .*x' has vanished") as told:
        study(tmp_path / "x")
    assert "kept" not in str(told.value)


def test_a_damaged_chunk_leaves_the_others_readable(tmp_path):
    whole = study()
    study(tmp_path / "x")
    files = chunk_files(tmp_path / "x")
    files[5].write_bytes(files[5].read_bytes()[:-100])
    opened = gd.open(tmp_path / "x")
    bad = np.arange(100) // 8 == 5
    with pytest.warns(RuntimeWarning, match="000000000005.npz' cannot be used: it is cut.*resume=True") as told:
        text = str(opened)
    assert len(told) == 1
    spin = opened["spin"]
    assert opened.failed == {i: x for i, x in whole.failed.items() if not bad[i]}
    assert opened.dataset["most"].isnull().values.tolist() == (bad | np.isnan(whole["most"])).tolist()
    assert np.isnan(spin[bad]).all()
    assert np.array_equal(spin[~bad], whole["spin"][~bad], equal_nan=True)
    assert (opened["status"][bad] == "missing").all()
    assert np.array_equal(opened["ring.mass"], whole["ring.mass"])
    assert "8 missing" in text
    assert opened.done == 92
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        assert same(study(tmp_path / "x", resume=True), whole)


def test_entries_of_columns_and_names():
    found = gd.study(
        RING,
        {"ring.angular_velocity": [(0.0, 1.0, 2.0), (0.5, 1.0, 2.0)], "ring.mass": [1, 2]},
        WHAT["outputs"],
        0.1,
        engine="serial",
    )
    np.testing.assert_array_equal(found["spin[2]"], found["spin"][:, 2])
    np.testing.assert_array_equal(found["spin[-1]"], found["spin"][:, 2])
    np.testing.assert_array_equal(found["curve[4, 1]"], found["curve"][:, 4, 1])
    assert found["curve[4]"].shape == (4, 3)
    assert found["ring.angular_velocity[0]"].tolist() == [0.0, 0.0, 0.5, 0.5]
    for name, sentence in {
        "spin[3]": r"'spin\[3\]' is not an entry of a run: 'spin' has the shape \(3,\)",
        "spin[0, 0]": "has the shape",
        "most[0]": "'most' is a single number",
        "spun[0]": r"column = 'spun\[0\]' is unknown.*Did you mean",
        0: "column = 0 is unknown",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            found[name]
    names = ["ring.angular_velocity", "ring.mass", "spin", "most", "curve", "status", "error", "t"]
    assert list(found)[:8] == names
    assert "spin" in found
    assert "spun" not in found
    assert 0 not in found


@pytest.mark.filterwarnings("ignore:coordinate 'ring.inertia.0, 1.' has a space in its name")
def test_the_table_goes_to_netcdf_and_back(tmp_path):
    import xarray

    vary = {"ring.inertia[0, 1]": [0.0, 0.1], "ring.mass": [1, 2]}
    found = gd.study(RING, vary, WHAT["outputs"], 0.1, engine="serial")
    table = found.dataset
    assert table.attrs == {"parameters": "ring.inertia[0, 1], ring.mass", "outputs": "spin, most, curve"}
    table.to_netcdf(tmp_path / "x.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "x.nc", engine="scipy") as back:
        assert back.attrs == table.attrs
        for name in ("spin", "most", "curve", "ring.inertia[0, 1]", "ring.mass", "t"):
            np.testing.assert_array_equal(back[name], table[name])
        assert back["status"].values.tolist() == found["status"].tolist()
        # Pictures and indices take their names from it.
        assert panels.named(back, "parameters") == list(found.names)
        assert panels.named(back, "outputs") == list(found.outputs)


def test_a_study_of_another_version_goes_on_with_a_warning(tmp_path):
    study(tmp_path / "x")
    path = tmp_path / "x" / "study.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "gyrod": "0.0.1"}))
    with pytest.warns(RuntimeWarning, match=r"another version of gyrod \(0.0.1, here"):
        study(tmp_path / "x", resume=True)
    path.write_text(json.dumps({**data, "version": 99}))
    with pytest.raises(gd.StudyError, match="is of version 99, this gyrod reads 1"):
        study(tmp_path / "x", resume=True)


def test_differences_in_words():
    assert differences({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 2]}) == ""
    assert differences({"a": {"b": 1.0}}, {"a": {"b": 2.0}}) == "a.b 1.0 there, 2.0 here"
    assert differences({"b": [1, 2]}, {"b": [1, 3]}) == "b[1] 2 there, 3 here"
    assert differences({"b": [1, 2]}, {"b": [1]}) == "b has 2 entries there, 1 here"
    assert differences({"a": 1}, {"c": 1}) == "a 1 there, missing here; c missing there, 1 here"
    assert differences({"a": float("nan")}, {"a": float("nan")}) == ""
    many = differences(dict.fromkeys("abcdefg", 1), dict.fromkeys("abcdefg", 2))
    assert many.endswith("d 1 there, 2 here; and 3 more")


# --- locks and shards ------------------------------------------------------------------------------------------------


def test_a_second_driver_is_refused(tmp_path):
    def watch(at):
        with pytest.raises(gd.StudyError, match=rf"in use by process {os.getpid()} on .*; wait until that ends"):
            study(tmp_path / "x", resume=True)
        with pytest.raises(gd.StudyError, match=f"in use by process {os.getpid()}"):
            study(tmp_path / "x", shard="0/2", resume=True)
        seen.append(at)

    seen: list = []
    study(tmp_path / "x", progress=watch)
    assert seen
    assert study(tmp_path / "x", resume=True).done == 100


def test_the_lock_of_a_killed_driver_is_gone(tmp_path):
    code = f"""
        import sys, time
        from pathlib import Path
        from gyrod.studies.locks import FolderLock
        lock = FolderLock(Path({str(tmp_path)!r}))
        print("held", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(gd.StudyError, match=f"process {owner.pid} on "):
            locks.FolderLock(tmp_path)
        owner.kill()
        owner.wait()
    with locks.FolderLock(tmp_path) as lock:
        assert locks.sees(lock.file, lock.token)
        assert not locks.sees(lock.file, "other")
    assert not locks.sees(tmp_path / "nowhere", "other")


def test_shards_share_a_folder(tmp_path):
    whole = study()
    for i in (2, 0):
        study(tmp_path / "x", shard=f"{i}/3")
    part = gd.open(tmp_path / "x")
    mine = (np.arange(100) // 8) % 3 != 1
    assert part.done == mine.sum()
    assert np.array_equal(part["status"] != "missing", mine)
    assert np.isnan(part["spin"][~mine]).all()
    assert np.array_equal(part["ring.mass"], whole["ring.mass"])
    told: list[gd.StudyProgress] = []
    found = study(tmp_path / "x", shard="1/3", progress=told.append)
    assert same(found, whole)
    assert told[-1].done == told[-1].size == np.count_nonzero(~mine)
    assert same(study(tmp_path / "x", resume=True), whole)
    with pytest.raises(gd.StudyError, match="shard 1/3 has begun in"):
        study(tmp_path / "x", shard="1/3")


def test_shards_at_the_same_time(tmp_path):
    def watch(at):
        if "other" not in seen:
            seen["other"] = study(tmp_path / "x", shard="1/2")
            with pytest.raises(gd.StudyError, match="in use by process"):
                study(tmp_path / "x", shard="0/2", resume=True)
            with pytest.raises(gd.StudyError, match=r"in use by shard 0/2 \(process \d+ on .*\)"):
                study(tmp_path / "x", resume=True)
            with pytest.raises(gd.StudyError, match="shard 0/3 counts otherwise"):
                study(tmp_path / "x", shard="0/3", resume=True)

    seen: dict = {}
    assert same(study(tmp_path / "x", shard="0/2", progress=watch), study())


def test_shards_cut_alike_whatever_their_machine(tmp_path):
    cuts = {study(tmp_path / str(n), shard="0/4", chunk=None, workers=n)._store.chunk for n in (1, 2, 64)}
    assert len(cuts) == 1


@given(st.integers(1, 10**9), st.integers(1, 128), st.sampled_from([1, 4, 8, 16]), st.integers(1, 10**6))
@example(10**9, 1000, 8, 3)
@example(20, 16, 1, 3)
def test_default_chunks(size, workers, lanes, width):
    layout = store.Layout(size, {"a": ("<f8", ())}, {"b": (width,)}, {})
    chunk = store.default_chunk(layout, workers, lanes)
    assert chunk >= 1
    assert chunk % lanes == 0
    if layout.row * (size // 10_000 + 96) < 1 << 24:
        assert -(-size // chunk) <= max(10_100, 16 * workers)
    if chunk > max(8, lanes):
        assert chunk % 8 == 0
        assert chunk * layout.row <= (1 << 24) + 16 * layout.row
        assert -(-size // chunk) >= min(4 * workers, 5)
    elif lanes == 1:
        assert chunk <= 8


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "run_block", quick_block)
        folder = tmp_path_factory.mktemp("tables") / "x"
        return study(folder), study()


def test_the_dataset_of_a_folder_is_that_of_memory(written):
    xarray = pytest.importorskip("xarray")
    folder, memory = written
    lazy = gd.open(folder.folder).dataset
    assert lazy.drop_vars("seconds").load().identical(memory.dataset.drop_vars("seconds"))
    assert dict(lazy.sizes) == {"run": 100, "spin_0": 3, "curve_t": 5, "curve_0": 3}
    assert lazy.attrs == {"parameters": ", ".join(WHAT["vary"]), "outputs": "spin, most, curve"}
    assert lazy.curve_t.values == pytest.approx(np.linspace(0.0, 0.1, 5))
    assert set(lazy.coords) == {"run", "curve_t", *WHAT["vary"]}
    assert isinstance(lazy, xarray.Dataset)
    assert lazy.status.values[3] == "failed"
    assert lazy.error.values[3] == "run 3 fails — always"


def test_a_few_rows_read_a_few_chunks(written, monkeypatch):
    folder, memory = written
    opened = gd.open(folder.folder)
    read = []
    original = ChunkFiles.read
    monkeypatch.setattr(ChunkFiles, "read", lambda self, k: read.append(k) or original(self, k))
    lazy = opened.dataset
    assert read == []
    assert np.array_equal(lazy.spin[50:54], memory["spin"][50:54], equal_nan=True)
    assert read == [6]
    assert np.array_equal(lazy.spin[[3, 90, 4], 1], memory["spin"][[3, 90, 4], 1], equal_nan=True)
    assert read == [6, 0, 11]
    assert lazy.isel(run=99).most.item() == memory["most"][99]
    assert read == [6, 0, 11, 12]
    lazy.load()
    assert sorted(read) == list(range(13))  # each once: what was read is kept, up to a limit


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_index_reads_the_right_rows(written, data):
    folder, memory = written
    whole = memory["curve"]

    def index(n):
        ints, slices = (
            st.integers(-n, n - 1),
            st.slices(n).filter(lambda s: range(n)[s]),
        )  # xarray stumbles over no rows
        return data.draw(st.one_of(ints, slices, st.lists(ints, min_size=1, max_size=9)))

    runs, times = index(100), index(5)
    expected = memory.dataset.curve[runs][..., times, :] if isinstance(runs, int) else memory.dataset.curve[runs, times]
    found = folder.dataset.curve[runs][..., times, :] if isinstance(runs, int) else folder.dataset.curve[runs, times]
    assert np.array_equal(found.values, expected.values, equal_nan=True)
    by_hand = whole[runs]
    assert np.array_equal(folder.dataset.curve[runs].values, by_hand, equal_nan=True)


def test_little_is_kept_of_what_is_read(written, monkeypatch):
    folder, memory = written
    monkeypatch.setattr(store, "CACHE", 5000)
    opened = gd.open(folder.folder)
    assert np.array_equal(opened["curve"], memory["curve"], equal_nan=True)
    assert 1 <= len(opened._store._cache) <= 5


def test_datasets_travel_to_frames_and_files(written, tmp_path):
    folder, memory = written
    frame = folder.dataset[["most", "status"]].to_dataframe()
    assert np.array_equal(frame["most"], memory["most"], equal_nan=True)
    assert np.array_equal(frame["ring.mass"], memory["ring.mass"])
    again = pickle.loads(pickle.dumps(gd.open(folder.folder).dataset))
    assert np.array_equal(again.spin, memory["spin"], equal_nan=True)
    assert np.array_equal(pickle.loads(pickle.dumps(gd.open(folder.folder)))["t"], memory["t"])
    import xarray

    folder.dataset.drop_attrs().to_netcdf(tmp_path / "x.nc", engine="scipy")  # which has no lists of text

    with xarray.open_dataset(tmp_path / "x.nc", engine="scipy") as read:
        assert np.array_equal(read.spin, memory["spin"], equal_nan=True)
        assert read.error.values.tolist() == memory["error"].tolist()


def test_a_damaged_chunk_is_told_when_it_is_read(tmp_path):
    study(tmp_path / "x")
    path = chunk_files(tmp_path / "x")[4]
    path.write_bytes(path.read_bytes()[:50])
    opened = gd.open(tmp_path / "x")
    assert opened.dataset.most[:32].shape == (32,)
    with pytest.warns(
        RuntimeWarning, match=r"000000000004.npz' cannot be used: it is cut .* resume=True runs its runs again"
    ):
        opened.dataset.most.load()


# --- memory ----------------------------------------------------------------------------------------------------------

GROWTH = """
    import resource, sys
    import study_models
    import gyrod as gd
    from gyrod.studies import members
    members.run_block = study_models.quick_block
    outputs = {"spin": "ring.Omega", "curve": gd.History("ring.Omega[1]", 10)}
    found = gd.study(study_models.RING, {"ring.mass": gd.Uniform(1.0, 2.0)}, outputs, 0.1, samples=int(sys.argv[1]),
                     folder=sys.argv[2], engine="threads", workers=2)
    assert found.done == found.size == int(sys.argv[1])
    assert found.dataset.spin[500:510].shape == (10, 3)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_runs(tmp_path):
    def peak(runs: int) -> int:
        command = [sys.executable, "-c", textwrap.dedent(GROWTH), str(runs), str(tmp_path / str(runs))]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
        return int(done.stdout)

    assert peak(100_000) < 1.2 * peak(1_000)
