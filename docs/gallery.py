"""Pictures and pages of the gallery, made by the examples: python docs/gallery.py WHAT [name ...].

WHAT is `plots` (the picture that each example draws, in the style of `motion.plot`), `pages` (each motion as a page of
the viewer, in `_pages/play`; `make docs` runs this), `cards` (a picture of each page) or `film` (the moving picture of
README and of the first page). The last two take pictures with Chromium and need `pages`.
"""

from __future__ import annotations

import io
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gyrod as gd

DOCS = Path(__file__).parent
EXAMPLES, IMAGES, PAGES = DOCS.parent / "examples", DOCS / "images", DOCS / "_pages" / "play"
LARGEST = {"plots": 70_000, "cards": 30_000, "film": 400_000}  # bytes
#: Plots that are not called as their example.
PLOTS = {"gyroscope_on_a_cable": "gyroscope_path.png"}

Names = dict[str, Any]
Shown = gd.Motion | gd.Rest


def _moving(make: str, t_end: float, *arguments: Any) -> Callable[[Names], Shown]:
    return lambda found: gd.simulate(found[make](*arguments), t_end, rtol=1e-6)


#: What the page of an example shows, from the names of its script.
SHOWN: dict[str, Callable[[Names], Shown]] = {
    "box_on_a_conveyor": lambda found: found["run"](),
    "brake_hose": lambda found: found["run"](0.33),
    "cable_on_a_crane": lambda found: found["run"](10.0)[0],
    "cable_over_two_pulleys": lambda found: found["run"]()(np.linspace(0.0, 2.0, 201)),
    "cable_tolerances": _moving("machine", 2.0),
    "chain_of_four_bars": _moving("linkage", 3.0),
    "coil_on_a_floor": lambda found: found["run"](4.0),
    "dress_pack": lambda found: found["run"](0.46),
    "flipping_ring": lambda found: found["flip"](),
    "flying_spaghetti": lambda found: found["run"](),
    "four_bar": lambda found: found["run"]()[1],
    "gyroscope_in_a_gimbal": _moving("gyroscope", 2.0),
    "gyroscope_on_a_cable": _moving("crane", 10.0),
    "hanging_cable": lambda found: next(reversed(found["run"]().values())),
    "harness": lambda found: found["run"](),
    "heavy_top": lambda _: gd.simulate(gd.problems.heavy_top().system, 10.0, rtol=1e-8),
    "hose_in_a_channel": lambda found: found["run"](),
    "identify_a_hose": _moving("hose", 1.5),
    "newtons_cradle": lambda found: found["run"]()(np.linspace(0.0, 2.0, 501)),
    "overhand_knot": lambda found: found["run"]()[1].motion,
    "post_buckling": lambda found: found["run"]().motion,
    "pulled_spring": lambda found: gd.equilibrium(found["spring"](segments=16, degree=3)),
    "rope_round_a_capstan": lambda found: found["run"]().motion,
    "slider_crank": lambda found: found["run"](),
    "soft_finger": lambda found: found["run"]().motion,
    "soft_gripper": lambda found: found["run"]().motion,
    "spin_up": lambda found: found["run"]()[0],
    "swinging_hose": lambda found: gd.simulate(found["hose"](40, "blended"), 3.0, rtol=1e-4),
    "tennis_racket": lambda found: found["simulate"](found["MOMENTS"]["medial"][1]),
    "tippe_top": lambda found: found["run"]()(np.linspace(0.0, 3.0, 1501)),
    "top_for_an_hour": _moving("top", 2.0),
}
#: How a card looks at it: what follows the # in the address of a page.
VIEWS = {
    "box_on_a_conveyor": "t=0.4&show=floor&view=-65,25,2.2",
    "brake_hose": "t=1.5&color=curvature&view=-50,20,1.1",
    "cable_on_a_crane": "t=9&color=force&view=-80,10,1",
    "cable_over_two_pulleys": "t=1.5&color=force&view=-65,15,1",
    "cable_tolerances": "t=0.5&color=curvature&view=-60,12,1.1",
    "chain_of_four_bars": "t=0.62&view=-70,12,1.6",
    "coil_on_a_floor": "t=20&color=curvature&view=-60,22,6.5,0,0,0.11",
    "dress_pack": "t=1&color=curvature&view=-60,18,1.8",
    "flipping_ring": "t=22.4&color=torque&view=-60,20,1.7",
    "flying_spaghetti": "t=4&color=curvature&view=-70,12,1.2",
    "four_bar": "t=0.3&view=-80,15,1.2",
    "gyroscope_in_a_gimbal": "t=0.5&view=-50,20,1.2",
    "gyroscope_on_a_cable": "t=6.2&color=moment&view=-60,12,1.3",
    "hanging_cable": "color=force&view=-65,12,0.75",
    "harness": "color=curvature&view=-80,8,1",
    "heavy_top": "t=2&show=joints,traces,floor&view=-60,25,1.5",
    "hose_in_a_channel": "t=1&color=curvature&view=-60,35,1.2",
    "identify_a_hose": "t=0.35&color=curvature&view=-30,15,1.2",
    "newtons_cradle": "t=0.35&view=-70,12,1.4",
    "overhand_knot": "t=1&color=curvature&view=-75,50,1.1",
    "post_buckling": "t=99&color=moment&view=-75,10,0.9",
    "pulled_spring": "color=torque&view=-60,10,1",
    "rope_round_a_capstan": "t=1&color=force&view=-60,15,0.85",
    "slider_crank": "t=0.25&view=-25,25,1.6",
    "soft_finger": "t=99&color=curvature&view=-75,10,0.9",
    "soft_gripper": "t=99&color=moment&view=-75,12,1",
    "spin_up": "t=5&color=moment&view=-75,35,1.7",
    "swinging_hose": "t=0.62&color=curvature&view=-20,12,1.2",
    "tennis_racket": "t=0.33&show=traces,frames,floor&view=-50,25,1",
    "tippe_top": "t=1.9&show=traces,floor&view=-60,20,1.6",
    "top_for_an_hour": "t=0.9&show=joints,traces,floor&view=-60,20,1.7",
}


def weigh(file: Path, kind: str) -> None:
    """Print the size of a picture, refuse one that is too large."""
    size = file.stat().st_size
    print(f"{file}: {size} bytes")
    if size > LARGEST[kind]:
        raise SystemExit(f"{file} has {size} bytes, more than {LARGEST[kind]}.")


def plot(example: Path) -> None:
    """Run an example, keep the picture that it draws."""
    from matplotlib import cycler, rc_context
    from PIL import Image

    from gyrod.look.plots.style import COLOURS, STYLE

    with tempfile.TemporaryDirectory() as folder, rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        runpy.run_path(str(example))["main"](folder)
        picture = Image.open(Path(folder) / PLOTS.get(example.stem, f"{example.stem}.png"))
        file = IMAGES / f"gallery_{example.stem}.png"
        picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)  # a palette halves it
    weigh(file, "plots")


def page(example: Path) -> None:
    """The motion of an example as a page, unless it is newer than the example and gyrod."""
    file = PAGES / f"{example.stem}.html"
    sources = [example, *(DOCS.parent / "src" / "gyrod").rglob("*.*")]
    if file.exists() and file.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    PAGES.mkdir(parents=True, exist_ok=True)
    shown = SHOWN[example.stem](runpy.run_path(str(example)))
    title = example.stem.replace("_", " ").capitalize()
    shown.html(file, title=title)
    print(f"{file}: {file.stat().st_size} bytes")


#: A page that shows its 3D view and nothing else.
BARE = """<style>
header, footer, aside, #options, #bar, #triad { display: none !important }
#stage { height: 100vh !important }
</style></head>"""


def photograph(name: str, view: str, size: tuple[int, int]) -> Any:
    """The 3D view of a page as Chromium shows it, at twice the resolution and scaled down to `size`."""
    from PIL import Image

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("Pictures of pages need Chromium: none of chromium, chromium-browser, google-chrome is here.")
    text = (PAGES / f"{name}.html").read_text("utf-8")
    text = re.sub("<meta http-equiv=.Content-Security-Policy[^>]*>", "", text).replace("</head>", BARE, 1)
    with tempfile.TemporaryDirectory() as folder:
        bare, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        bare.write_text(text, "utf-8")
        command = [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--hide-scrollbars",
            "--enable-unsafe-swiftshader", "--virtual-time-budget=2000", "--force-device-scale-factor=2",
            f"--window-size={size[0]},{size[1]}", f"--user-data-dir={folder}/profile", f"--screenshot={shot}",
            f"{bare.as_uri()}#{view}&theme=light",
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        return Image.open(io.BytesIO(shot.read_bytes())).convert("RGB").resize(size, Image.Resampling.LANCZOS)


def card(example: Path) -> None:
    """A picture of the page of an example."""
    file = IMAGES / f"card_{example.stem}.webp"
    photograph(example.stem, VIEWS[example.stem], (640, 400)).save(file, quality=80, method=6)
    weigh(file, "cards")


def film(name: str = "flipping_ring") -> None:
    """The moving picture of README and of the first page."""
    view = VIEWS[name].partition("&")[2]
    frames = [photograph(name, f"t={t:.3f}&{view}", (600, 375)) for t in np.linspace(17.0, 26.0, 46)]
    file = IMAGES / f"{name}.webp"
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=80, loop=0, quality=60, method=6)
    weigh(file, "film")


def main(what: str = "", *names: str) -> None:
    """Make what is named for the examples that are named, or for all."""
    makers: dict[str, Callable[[Path], None]] = {"plots": plot, "pages": page, "cards": card}
    if what == "film":
        film(*names)
    elif what in makers:
        for example in sorted(EXAMPLES.glob("*.py")):
            if (not names or example.stem in names) and (what == "plots" or example.stem in SHOWN):
                makers[what](example)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
