"""Animations as MP4 or GIF: an orthographic drawing of our own, which is faster than matplotlib's in space."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.look.drawing import Stage
from gyrod.look.plots.style import STYLE, require_folder, require_matplotlib
from gyrod.motion import Motion
from gyrod.quantities import COLOURS

Bytes = NDArray[np.uint8]

#: Frames of a film at most, and frames a second of a GIF, whose times are hundredths of a second.
MOST_FRAMES, GIF_RATE = 20_000, 50.0
#: Colours of a GIF.
PALETTE = 96
ENDINGS = (".mp4", ".gif")


def animate(
    motion: Motion,
    file: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 480),
    view: str | tuple[float, float] | None = None,
    names: str | Sequence[str] | None = None,
    color: str | None = "moment",
    trail: bool = False,
    contacts: bool = False,
    progress: bool | Callable[[int, int], object] = False,
    **old: str | None,
) -> Path:
    """Write a film of a motion as MP4 or GIF and return its path; options as of `Motion.animate`."""
    color = _check.old_argument("animate", old, "colour", "color", color)
    target = _target(file)
    fps, speed = _check.positive("fps", fps), _check.positive("speed", speed)
    width, height = _pixels(size)
    if color is not None:
        _check.choice("color", color, COLOURS)
    if target.suffix.lower() == ".gif" and fps > GIF_RATE:
        raise ValueError(f"fps = {fps:g}: a GIF shows {GIF_RATE:g} frames a second at most; choose fewer, or .mp4.")
    require_matplotlib()
    writer = _gif if target.suffix.lower() == ".gif" else _mp4
    if writer is _mp4:
        _require_ffmpeg()
    frames = _resampled(motion, frame_times(motion, fps, speed))
    import matplotlib

    with matplotlib.rc_context(STYLE), _progress(progress, len(frames.t)) as tick, _beside(target) as part:
        stage = Stage(frames, (width, height), view, names, color, trail, contacts)

        def pictures() -> Iterator[Bytes]:
            for k in range(len(frames.t)):
                yield stage.frame(k)
                tick(k + 1, len(frames.t))

        writer(part, pictures(), (width, height), fps)
    return target


def frame_times(motion: Motion, fps: float, speed: float) -> Array:
    """Times of the frames, from the first time of the motion to the last that fits."""
    if np.ndim(motion.t) == 0 or len(motion.t) < 2:
        raise ValueError("an animation needs a motion with several times, and this one has a single one.")
    first, last = float(motion.t[0]), float(motion.t[-1])
    count = int(np.floor((last - first) / speed * fps * (1.0 + 1e-12) + 1e-9)) + 1
    if count < 2:
        better = (last - first) / 5.0
        raise ValueError(
            f"the motion lasts {last - first:g} s, which is a single frame at fps = {fps:g} and speed = {speed:g}; "
            f"speed = {better:.2g} makes a film of 5 s."
        )
    if count > MOST_FRAMES:
        raise ValueError(
            f"the motion lasts {last - first:g} s, which makes {count} frames at fps = {fps:g} and speed = {speed:g}, "
            f"more than {MOST_FRAMES}; take fewer fps or a larger speed."
        )
    return np.asarray(np.minimum(first + speed / fps * np.arange(count), last))


def _resampled(motion: Motion, times: Array) -> Motion:
    """The motion at the times of the frames; without dense output its rows that lie nearest."""
    if getattr(motion, "_dense", None) is not None:
        return motion(times)
    rows = np.searchsorted(0.5 * (motion.t[1:] + motion.t[:-1]), times)
    return motion.at_rows(rows)


# --- files ------------------------------------------------------------------------------------------------------------


def _target(file: str | os.PathLike[str]) -> Path:
    path = Path(file)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"file = {str(path)!r} must end in {' or '.join(ENDINGS)}.")
    require_folder(path)
    return path


def _pixels(size: Iterable[float]) -> tuple[int, int]:
    try:
        width, height = (int(x) for x in size)
        whole = (width, height) == tuple(size)
    except (TypeError, ValueError):
        whole, width, height = False, 0, 0
    if not whole or not all(x % 2 == 0 and 64 <= x <= 4096 for x in (width, height)):
        raise ValueError(f"size = {size!r} must be width and height in pixels, even numbers from 64 to 4096.")
    return width, height


def _require_ffmpeg() -> None:
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError:
        raise ImportError("MP4 needs imageio-ffmpeg: pip install 'gyrod[movie]'; a .gif needs nothing more.") from None


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its place when it is complete."""
    try:
        number, name = tempfile.mkstemp(suffix=target.suffix, prefix=f".{target.stem}-", dir=target.absolute().parent)
        os.close(number)
    except OSError as error:
        raise OSError(f"file = {str(target)!r} cannot be written: {error.strerror or error}.") from error
    part = Path(name)
    try:
        yield part
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except OSError as error:
        raise OSError(f"file = {str(target)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _mp4(file: Path, pictures: Iterator[Bytes], size: tuple[int, int], fps: float) -> None:
    import imageio_ffmpeg

    writer = imageio_ffmpeg.write_frames(
        str(file), size, fps=fps, codec="libx264", quality=None, macro_block_size=2, ffmpeg_log_level="error",
        output_params=["-crf", "20", "-preset", "veryfast", "-movflags", "+faststart"],
    )  # fmt: skip
    writer.send(None)
    try:
        for picture in pictures:
            writer.send(picture)
    finally:
        writer.close()


def _gif(file: Path, pictures: Iterator[Bytes], _: tuple[int, int], fps: float) -> None:
    from PIL import Image

    images = [Image.fromarray(picture) for picture in pictures]
    # One palette for all frames, from a few of them: nothing flickers, and what stands still costs nothing.
    some = images[:: max(len(images) // 8, 1)]
    sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
    for k, image in enumerate(some):
        sheet.paste(image, (0, k * image.height))
    palette = sheet.quantize(PALETTE, method=Image.Quantize.MEDIANCUT)
    table = np.array(palette.getpalette()).reshape(-1, 3)
    table[(table > 248).all(axis=1)] = 255  # paper stays white, and ink black
    table[np.argmin(table.sum(axis=1))] = 0
    palette.putpalette(table.astype(np.uint8).tobytes())
    flat = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    ends = np.round(100.0 / fps * np.arange(len(flat) + 1))  # hundredths of a second, without drift
    durations = (10 * np.diff(ends)).astype(int).tolist()
    flat[0].save(file, save_all=True, append_images=flat[1:], duration=durations, loop=0, optimize=False)


@contextmanager
def _progress(wanted: bool | Callable[[int, int], object], total: int) -> Iterator[Callable[[int, int], object]]:
    if callable(wanted):
        yield wanted
        return
    if not wanted:
        yield lambda done, total: None  # noqa: ARG005
        return
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task("frames", total=total)
        yield lambda done, _: bar.update(task, completed=done)
