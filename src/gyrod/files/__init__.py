"""Models from files of other programs."""

from gyrod.files.urdf import read_urdf

__all__ = ["read_urdf"]
