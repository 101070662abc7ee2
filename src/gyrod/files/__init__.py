"""Models in files: gyrod's own in YAML and JSON, URDF, meshes."""

from gyrod.files.building import ModelFileError
from gyrod.files.meshes import read_mesh
from gyrod.files.models import ModelFile, dumps, from_data, load, load_model, loads, save
from gyrod.files.options import RunOptions
from gyrod.files.schema import json_schema
from gyrod.files.urdf import read_urdf
from gyrod.files.writing import to_data

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
    "read_urdf",
    "save",
    "to_data",
]
