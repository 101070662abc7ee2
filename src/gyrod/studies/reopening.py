"""From the description of a study in its folder back to what can be made of it without its script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gyrod import files
from gyrod.model import ModelError, System
from gyrod.runs.options import folded
from gyrod.studies.design import DISTRIBUTIONS, Design, make_design

if TYPE_CHECKING:
    from gyrod._check import Data
    from gyrod.studies.plan import Described


def sampled(description: Described) -> list[str]:
    """Parameters that have a distribution, in their order."""
    return [name for name, x in description.get("vary", {}).items() if isinstance(x, dict)]


def design_of(description: Described) -> Design | None:
    """The design of a study; None if it has distributions that cannot be made again."""
    try:
        vary = {name: _values(x) for name, x in description["vary"].items()}
        plain: dict[str, Any] = {**description}
        options = {key: plain[key] for key in ("samples", "sampler", "seed") if key in plain}
        found = make_design(vary, layout=plain["design"], **options)
        same = found.describe() == {key: plain[key] for key in ("vary", "design", *options)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if same else None


def _values(data: object) -> Any:
    if not isinstance(data, dict):
        return data
    name = data["distribution"]
    for kind in DISTRIBUTIONS:
        if kind.__name__ == name:
            return kind(**{key: x for key, x in data.items() if key != "distribution"})
    import scipy.stats

    return getattr(scipy.stats, name.removeprefix("scipy.stats."))(*data["args"], **data["kwds"])


def system_of(description: Described) -> System | None:
    """The model of a study; None if it has functions."""
    data = description.get("model", {}).get("system")
    try:
        return files.from_data(data) if isinstance(data, dict) else None
    except (ModelError, ValueError, KeyError, TypeError):
        return None


def options_of(description: Described) -> Data | None:
    """The options of its runs; None if there are functions among them."""
    options = folded(description.get("run", {}))
    return options if all(_plain(x) for x in options.values()) else None


def _plain(value: object) -> bool:
    if isinstance(value, dict):
        return "type" not in value and "module" not in value and all(map(_plain, value.values()))
    return all(map(_plain, value)) if isinstance(value, list) else True
