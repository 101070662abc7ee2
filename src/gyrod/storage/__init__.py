"""Results in files: HDF5 that ParaView opens, written during a run, read lazily; checkpoints; exports."""

from gyrod.storage.between import Between, Kept
from gyrod.storage.checkpoint import checkpoint_path, load_checkpoint, save_checkpoint, write_atomic
from gyrod.storage.companions import keep_beside
from gyrod.storage.export import to_csv, to_npz, to_ode_result, to_xarray
from gyrod.storage.opening import open
from gyrod.storage.reading import ResultFile, info, open_motion, stored_motion, verify
from gyrod.storage.recorder import Recorder, hold, identity, keeps_dense, save

__all__ = [
    "Between",
    "Kept",
    "Recorder",
    "ResultFile",
    "checkpoint_path",
    "hold",
    "identity",
    "info",
    "keep_beside",
    "keeps_dense",
    "load_checkpoint",
    "open",
    "open_motion",
    "save",
    "save_checkpoint",
    "stored_motion",
    "to_csv",
    "to_npz",
    "to_ode_result",
    "to_xarray",
    "verify",
    "write_atomic",
]
