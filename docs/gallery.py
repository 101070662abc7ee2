"""Draws the pictures of the gallery with the examples themselves: python docs/gallery.py [name ...].

Every example writes its picture; here they get the style of `motion.plot` and a palette of 8 bits, which halves them.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
from matplotlib import rc_context
from PIL import Image

from gyrod.look.plots.style import COLOURS, STYLE

DOCS = Path(__file__).parent
LARGEST = 70_000  # bytes
#: Pictures that are not called as their example.
PICTURES = {"gyroscope_on_a_cable": "gyroscope_path.png"}


def draw(example: Path, folder: Path) -> Path:
    """Run one example and put its picture into the folder of images."""
    cycle = matplotlib.cycler(color=COLOURS)
    with rc_context({**STYLE, "axes.prop_cycle": cycle}):
        runpy.run_path(str(example))["main"](str(folder))
    target = DOCS / "images" / f"gallery_{example.stem}.png"
    picture = Image.open(folder / PICTURES.get(example.stem, f"{example.stem}.png")).convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target} has {target.stat().st_size} bytes, more than {LARGEST}.")
    return target


def main(*names: str) -> None:
    """Draw those that are named, or all."""
    with tempfile.TemporaryDirectory() as folder:
        for example in sorted((DOCS.parent / "examples").glob("*.py")):
            if not names or example.stem in names:
                target = draw(example, Path(folder))
                print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
