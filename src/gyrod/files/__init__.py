"""Models in files: gyrod's own in YAML and JSON, URDF, meshes."""

from typing import TYPE_CHECKING

from gyrod._lazy import lazy

if TYPE_CHECKING:
    from gyrod.files.building import ModelFileError
    from gyrod.files.meshes import read_mesh
    from gyrod.files.models import ModelFile, dumps, from_data, load, load_model, loads, save
    from gyrod.files.options import RunOptions
    from gyrod.files.schema import json_schema
    from gyrod.files.series import read_samples
    from gyrod.files.urdf import read_urdf
    from gyrod.files.writing import to_data
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "building": "ModelFileError",
            "meshes": "read_mesh",
            "models": "ModelFile dumps from_data load load_model loads save",
            "options": "RunOptions",
            "schema": "json_schema",
            "series": "read_samples",
            "urdf": "read_urdf",
            "writing": "to_data",
        },
    )

__all__ = [
    "ModelFile",
    "ModelFileError",
    "RunOptions",
    "dumps",
    "from_data",
    "json_schema",
    "load",
    "load_model",
    "loads",
    "read_mesh",
    "read_samples",
    "read_urdf",
    "save",
    "to_data",
]
