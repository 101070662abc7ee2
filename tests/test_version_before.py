"""Files of the version before open: a model, a result and the folder of a study; pickles are in test_motion.py.

They were written by that version, of the system in ``model.yaml``; this one must find in them what it computes itself.
"""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

import gyrod as gd
from gyrod import files

KEPT = Path(__file__).parent / "data" / "before"


@pytest.fixture(scope="module")
def file():
    return files.load_model(KEPT / "model.yaml")


def test_its_model_file(file):
    assert file.system.names == ("bob",)
    assert file.system.rod("hose").end.body == "bob"
    assert (file.run.until, file.run.method, file.run.rtol) == (0.02, "rodas", 1e-4)


def test_its_result(file, tmp_path):
    path = tmp_path / "motion.h5"
    path.write_bytes(gzip.decompress((KEPT / "motion.h5.gz").read_bytes()))
    kept, now = gd.open(path), gd.simulate(file.system, 0.02, method="rodas", rtol=1e-4)
    assert kept.status == "finished"
    assert kept.system == file.system
    times = np.array([0.0, 0.007, 0.02])
    for one, field in (("hose", "positions"), ("bob", "velocity"), ("hose", "start_force")):
        known = getattr(now(times)[one], field)
        np.testing.assert_allclose(getattr(kept(times)[one], field), known, rtol=0, atol=1e-3 * np.abs(known).max())
    np.testing.assert_array_equal(kept.sensors["place"], kept["bob"].position)


def test_its_study(file, tmp_path):
    folder = shutil.copytree(KEPT / "study", tmp_path / "study")
    kept = gd.open(folder)
    np.testing.assert_array_equal(kept["bob.mass"], [0.1, 0.2])
    heavier = [file.system.with_({"bob.mass": mass}) for mass in (0.1, 0.2)]
    known = [gd.simulate(system, 0.02, method="rodas", rtol=1e-4)["bob"].position[-1] for system in heavier]
    np.testing.assert_allclose(kept["place"], known, rtol=0, atol=1e-5)
    again = kept.motion(1)
    np.testing.assert_allclose(again["bob"].position[-1], kept["place"][1], rtol=0, atol=1e-5)
