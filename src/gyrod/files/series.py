"""Samples from CSV files: columns by their names, with units."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from pathlib import Path

import numpy as np

from gyrod import _check
from gyrod._words import meant, suggests
from gyrod.files.quantities import QuantityError, unit
from gyrod.model.errors import Description, choice, name_of, positive, real, shown
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.samples import Samples
from gyrod.model.series import OUTSIDE

#: Largest file that is read, in bytes, and most rows.
MOST_BYTES, MOST_ROWS = 100_000_000, 1_000_000

#: A name in a header with its unit: "x [mm]", "x (mm)".
_TITLE = re.compile(r"\s*(.*?)\s*(?:[\[(]([^\])]*)[\])])?\s*")


@holds(form="names")
def _columns(field: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (tuple, list)) else ()
    if not names or not all(isinstance(x, str) and x.strip() for x in names):
        raise ValueError(f"{field} must be the name of a column, or a list of names, got {shown(value)}.")
    if len(names) not in (1, 3, 4, 9):
        raise ValueError(
            f"{field} must be 1 column for numbers, 3 for vectors, 4 for quaternions (scalar first) or 9 for matrices "
            f"(row by row), got {len(names)}."
        )
    return names


@holds(form="names")
def _units(field: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (tuple, list)) else ()
    if not names or not all(isinstance(x, str) for x in names):
        raise ValueError(f"{field} must be a unit such as 'mm', or a list of one for each column, got {shown(value)}.")
    for name in names:
        try:
            unit(name)
        except QuantityError as error:
            raise ValueError(f"{field}: {error}") from None
    return names


@holds(form="name")
def _unit(field: str, value: object) -> str:
    return _units(field, value if isinstance(value, str) else ())[0]


@description
class SampleFile(Description):
    """Samples from columns of a CSV file, which lies in the folder of the model or below it.

    Parameters
    ----------
    file
        Its name, seen from the model; comma, semicolon or tab separate its columns.
    columns
        Names of one column (a number), three (a vector), four (a quaternion, scalar first) or nine (a matrix, row by
        row).
    time
        Name of the column with the times.
    units
        Of the columns, one for all or one each, where the first line of the file does not name them: "x [mm]".
    time_units
        Those of the times, likewise.
    origin
        Time of the file that is t = 0 of the run.
    noise, outside
        As of `Samples`.
    """

    file: str = field(name_of("a CSV file"))
    columns: Kept[tuple[str, ...], object] = field(_columns)
    _: KW_ONLY
    time: str = field(name_of("a column"), default="t")
    units: Kept[tuple[str, ...] | None, object] = field(_units, default=None)
    time_units: str | None = field(_unit, default=None)
    origin: float = field(real, "s", default=0.0)
    noise: float | None = field(positive, default=None, units=None)
    outside: str = field(choice(OUTSIDE), default="refused")

    def read(self, folder: Path | None, wanted: tuple[str, ...] | None = None) -> Samples:
        """The samples of the file; ``wanted`` are units whose dimension its values must have, None for any."""
        if folder is None:
            raise ValueError(
                f"file = {self.file!r} can be read only by a model that is a file itself; give times and values in "
                "samples, or load the model from its file."
            )
        place = (folder / self.file).resolve()
        if not place.is_relative_to(folder.resolve()):
            raise ValueError(
                f"file = {self.file!r} lies outside of the folder of the model; put it there, or below it."
            )
        return self.of(place, wanted)

    def of(self, place: Path, wanted: tuple[str, ...] | None = None) -> Samples:
        """The samples of a file at a place."""
        label = f"file = {self.file!r}"
        titles, lines = _lines(place, label)
        named = {name: (i, told) for i, (name, told) in reversed(list(enumerate(titles)))}
        names = (self.time, *self.columns)
        missing = [name for name in names if name not in named]
        if missing:
            known = [name for name, _ in titles]
            raise ValueError(
                f"{label} has no column {missing[0]!r}; it has {', '.join(map(repr, known[:20]))}."
                f"{meant(missing[0], known)}"
            )
        twice = [name for name in names if [title for title, _ in titles].count(name) > 1]
        if twice:
            raise ValueError(f"{label} has several columns {twice[0]!r}; call them differently.")
        own = () if self.units is None else self.units
        if len(own) not in (0, 1, len(self.columns)):
            raise ValueError(f"units must be one, or one for each of {len(self.columns)} columns, got {len(own)}.")
        given = own * len(self.columns) if len(own) == 1 else own or (None,) * len(self.columns)
        times = named[self.time][1]
        factors = [_factor(label, self.time, times, self.time_units or (times or "s"), ("s",))]
        wanted = ("",) if len(self.columns) in (4, 9) else wanted  # rotations
        plain = wanted is not None and "" in wanted
        for name, told in zip(self.columns, given, strict=True):
            head = "" if plain and named[name][1] is None else named[name][1]
            factors.append(_factor(label, name, head, told, wanted))
            if wanted is None:  # all as the first one
                wanted = (head or told or "",)
        rows = np.array(list(_rows(lines, [named[name][0] for name in names], names, label)))
        if len(rows) < 2:
            raise ValueError(f"{label} has {len(rows)} rows of numbers; two or more are needed.")
        rows *= np.array(factors)
        values = rows[:, 1] if len(self.columns) == 1 else rows[:, 1:]
        if len(self.columns) == 9:
            values = values.reshape(-1, 3, 3)
        return Samples(rows[:, 0] - self.origin, values, noise=self.noise, outside=self.outside)


@suggests
def read_samples(
    path: str | os.PathLike[str], columns: str | Sequence[str], *, time: str = "t",
    units: str | Sequence[str] | None = None, time_units: str | None = None, origin: float = 0.0,
    noise: float | None = None, outside: str = "refused",
) -> Samples:  # fmt: skip
    """Samples from columns of a CSV file, by their names; see `gyrod.Samples`.

    Parameters
    ----------
    path
        The file; comma, semicolon or tab separate its columns, lines with # before them are skipped.
    columns
        One name (numbers), three (vectors), four (quaternions, scalar first) or nine (matrices, row by row).
    time
        Name of the column with the times.
    units, time_units
        Of the columns, one for all or one each, where the first line does not name them as in "x [mm]"; "" for numbers
        without. Times are in s unless something else is said.
    origin
        Time of the file that becomes t = 0, in s.
    noise, outside
        As of `Samples`, in SI units.
    """
    place = _check.path("path", path)
    what = SampleFile(
        str(path), columns, time=time, units=units, time_units=time_units, origin=origin, noise=noise, outside=outside
    )
    return what.of(place)


def _lines(place: Path, label: str) -> tuple[list[tuple[str, str | None]], Iterator[tuple[int, list[str]]]]:
    """Names and units of the columns, and the other lines with their numbers."""
    try:
        with place.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise ValueError(f"{label} {why}; it must be a CSV file with a line of names before the numbers.") from None
    if len(raw) > MOST_BYTES:
        raise ValueError(f"{label} has more than {MOST_BYTES // 1_000_000} MB; leave out rows or columns.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{label} is not a text in UTF-8; save it as CSV with that encoding.") from None
    kept = [(i, x) for i, x in enumerate(text.splitlines(), 1) if x.strip() and not x.lstrip().startswith("#")]
    if not kept:
        raise ValueError(f"{label} is empty; it must have a line of names before the numbers.")
    between = max(",;\t", key=kept[0][1].count)
    cells = csv.reader(io.StringIO("\n".join(x for _, x in kept)), delimiter=between)
    head = [_TITLE.fullmatch(x) for x in next(cells)]
    titles = [(m[1], m[2]) for m in head if m is not None]
    decimal = between == ";"
    numbered = zip((i for i, _ in kept[1:]), cells, strict=False)
    return titles, ((i, [x.replace(",", ".") for x in row] if decimal else row) for i, row in numbered)


def _rows(
    lines: Iterator[tuple[int, list[str]]], at: list[int], names: Sequence[str], label: str
) -> Iterator[list[float]]:
    for count, (number, cells) in enumerate(lines):
        if count == MOST_ROWS:
            raise ValueError(f"{label} has more than {MOST_ROWS} rows; leave some out.")
        row = []
        for i, name in zip(at, names, strict=True):
            cell = cells[i].strip() if i < len(cells) else ""
            try:
                row.append(float(cell))
            except ValueError:
                what = f"{cell[:40]!r} is not a number" if cell else "nothing stands"
                raise ValueError(
                    f"{label}, line {number}: {what} in column {name!r}; leave the row out: the curve goes on."
                ) from None
        yield row


def _factor(label: str, name: str, told: str | None, given: str | None, wanted: tuple[str, ...] | None) -> float:
    """What a column is multiplied by to be in SI."""
    if told is None and given is None:
        raise ValueError(
            f"{label}: the column {name!r} has no unit; write it in the first line as '{name} [mm]', or give units."
        )
    try:
        found = unit(told or given or "")
        if told and given and unit(given) != found:
            raise ValueError(f"{label}: the column {name!r} is in {told!r}, but units say {given!r}; drop one.")
    except QuantityError as error:
        raise ValueError(f"{label}: the column {name!r}: {error}") from None
    if wanted is not None and found.dimension not in {unit(u).dimension for u in wanted}:
        names = " or ".join(u or "a plain number" for u in wanted)
        raise ValueError(f"{label}: the column {name!r} is in {told or given!r}; {names} is expected.")
    return float(found.factor) * found.turn
