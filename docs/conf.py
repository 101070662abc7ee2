"""Sphinx configuration: python -m sphinx -W -q -b html docs docs/_build/html."""

import sys
from pathlib import Path

from gyrod._version import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "gyrod"
author = "The gyrod developers"
copyright = author
version = release = __version__

extensions = ["sphinx.ext.autodoc", "mathml", "myst_parser", "numpydoc", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
default_role = "code"  # `name` in a docstring

exclude_patterns = ["_build"]

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"gyrod {version}"
html_static_path = ["_static"]
html_css_files = ["gyrod.css"]
# Motions that play in place: pages of the viewer by docs/gallery.py, which make docs runs before Sphinx.
if (Path(__file__).parent / "_pages").exists():
    html_extra_path = ["_pages"]
    html_js_files = ["play.js"]
html_show_sourcelink = False
html_copy_source = False


def absolute_values(*event):
    """Docstrings write |p| for a norm, which reStructuredText would read as a substitution."""
    lines = event[-1]
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = line.split("`")
            pieces[::2] = [piece.replace("|", "\\|") for piece in pieces[::2]]
            lines[i] = "`".join(pieces)


def setup(app):
    app.connect("autodoc-process-docstring", absolute_values, priority=900)  # after numpydoc
