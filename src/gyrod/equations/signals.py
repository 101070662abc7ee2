"""Functions of time for the core: numbers, expressions, samples, inputs or functions of a model as its `Signal`.

The only place that knows the difference. Rules for a new source of numbers stand in cpp/gyrod/time/signal.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, _core
from gyrod._check import Array
from gyrod.model.errors import ModelError
from gyrod.model.expression_rules import PIECEWISE, RAMPS, ZERO, Tree, closure, depends
from gyrod.model.expressions import Expression, ExpressionVector
from gyrod.model.inputs import Input, Live, Recorded
from gyrod.model.samples import Samples

Instruction = tuple[str, float, float, int]
#: A function of time.
Function = Callable[[float], object]
#: Checks what a user's function returns: field and value -> value.
Check = Callable[..., object]
INPUTS = Input | Live | Recorded


class Differences(TypedDict, total=False):
    """How derivatives that are not given are found: by so many points, a step apart, of numbers or unit vectors."""

    points: int
    step: float
    unit: bool


class ForceError(RuntimeError):
    """A user's function (a force, an event) raised or returned something it must not; names it and the time."""


_core.raise_signal_errors_as(ForceError)


class Signals:
    """Makes the signals of a system. The same function is one source wherever it is taken: it is called once a time."""

    def __init__(self) -> None:
        #: Signals that call Python functions.
        self.functions: list[_core.Signal] = []
        #: Signals of inputs that lead, which change from step to step.
        self.led_by_inputs: list[_core.Signal] = []
        self._sources: dict[tuple[object, ...], tuple[object, object, _core.Source]] = {}

    @property
    def python(self) -> bool:
        """Whether Python functions are called."""
        return bool(self.functions)

    @property
    def led(self) -> bool:
        """Whether something is not constant."""
        return bool(self._sources)

    def signal(
        self, label: str, value: Any, size: int, *, turn: ArrayLike | None = None, read: Function | None = None,
        least: tuple[str, Check] | None = None, law: tuple[tuple[str, Function], ...] = (),
        **differences: Unpack[Differences],
    ) -> _core.Signal:  # fmt: skip
        """Numbers, or what gives ``size`` of them at a time, times the matrix ``turn``.

        ``read`` calls a Python function and checks what it returns, ``least`` is a field and the check of its number,
        `not_negative` or `positive`; ``law`` holds derivatives of the function, with their labels, as far as they are
        known, and ``differences`` says how the others are found.
        """
        if not callable(value):
            return _core.Signal.constant(np.ravel(value if turn is None else np.asarray(turn) @ value).astype(float))
        along = (value.source if isinstance(value, Live) else value).along if isinstance(value, INPUTS) else None
        key = (id(value), size, *(id(f) for _, f in law), *sorted(differences.items()))
        if key not in self._sources:
            source = _named(label, value, 1 if along is not None else size)
            source = source or _function(label, value, read or value, size, least, law, differences)
            self._sources[key] = (value, law, source)  # which are kept: nothing else gets their id meanwhile
        matrix = None if turn is None else np.asarray(turn, dtype=float)
        if along is not None:
            matrix = np.reshape(along if matrix is None else matrix @ along, (-1, 1))
        source = self._sources[key][2]
        made = _core.Signal.of(source, None if matrix is None else np.ascontiguousarray(matrix.ravel()))
        if least is not None:
            made.bound(least[1].__name__, least[0], label)
        if made.foreign:
            self.functions.append(made)
        elif isinstance(value, Live) and value.curve is not None:
            self.led_by_inputs.append(made)
        return made


def _named(label: str, value: object, size: int) -> _core.Source | None:
    """A source of which the core knows all; None for a Python function."""
    if (parts := _formulas(value)) is not None and len(parts) == size:
        code = [program(x._tree) if isinstance(x, Expression) else [_op("number", float(x))] for x in parts]
        return _core.Source.formulas(code, [x.named if isinstance(x, Expression) else "" for x in parts], label)
    if isinstance(value, Input | Live):
        now = np.array(value.value, dtype=float) if isinstance(value, Input) else value.array
        _require(value if isinstance(value, Input) else value.source, now.size, size)
        if isinstance(value, Live) and value.curve is not None:
            return _core.Source.cubics(value.curve)
        return _core.Source.slots(now.reshape(-1))
    if isinstance(value, Recorded):
        _require(value, value.values[0].size, size)
        if value.rates is not None:
            return _core.Source.samples(value.times, value.coefficients.ravel(), size, False, "held", label)
        return _core.Source.stairs(value.times, np.ascontiguousarray(value.values.ravel()))
    if isinstance(value, Samples):
        if value.size != size:
            raise ModelError(f"{label} = {value!r} gives {value.size} numbers where {size} are taken.")
        curve = value.curve
        return _core.Source.samples(curve.breaks, curve.coefficients.ravel(), size, value.turning, value.outside, label)
    return None


def _function(
    label: str, value: Function, read: Function, size: int, least: tuple[str, Check] | None,
    law: tuple[tuple[str, Function], ...], differences: Differences,
) -> _core.Source:  # fmt: skip
    def call(t: float) -> object:
        return read(t) if least is None else least[1](least[0], read(t))

    def called(name: str, function: Function) -> Callable[[float], Array]:
        return lambda t: checked(name, t, lambda: function(t), (size,))

    rate, second = (*(called(*given) for given in law), None, None)[:2]
    return _core.Source.function(size, called(label, call), value, rate, second, **differences)


def _formulas(value: object) -> tuple[float | Expression, ...] | None:
    if isinstance(value, Expression):
        return (value,)
    return value.components if isinstance(value, ExpressionVector) else None


def _require(source: Input | Recorded, given: int, taken: int) -> None:
    if given == taken:
        return
    if given == 1:
        raise ModelError(
            f"Input {source.name!r}: it gives a number where a vector is taken; give it along = (x, y, z), or three "
            "numbers as value."
        )
    raise ModelError(f"Input {source.name!r}: it gives {given} numbers where one is taken; give it one as value.")


def checked(label: str, t: float, call: Callable[[], object], shape: tuple[int, ...]) -> Array:
    """What a user's function returns, as an array of that shape; raises a `ForceError` that names it and the time."""
    try:
        value = call()
    except Exception as error:
        raise ForceError(f"{label} raised {type(error).__name__} at t = {t:g}: {error}") from error
    if shape == (1,) and isinstance(value, float) and math.isfinite(value):
        return np.array([value])
    try:
        parts = [np.ravel(np.asarray(x, dtype=float)) for x in value] if isinstance(value, tuple) else None
        result = np.asarray(value, dtype=float) if parts is None else np.concatenate(parts)
        result = np.ascontiguousarray(result, dtype=float).reshape(shape)
    except (TypeError, ValueError, OverflowError):
        raise ForceError(
            f"{label} returned {_check.shown(value)} at t = {t:g}; it must return {np.prod(shape)} numbers."
        ) from None
    if not np.isfinite(result).all():
        raise ForceError(f"{label} returned {result} at t = {t:g}, which is not finite.")
    return result


# --- programs --------------------------------------------------------------------------------------------------------

_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "^": "power"}


def _op(name: str, a: float = 0.0, b: float = 0.0, c: int = 0) -> Instruction:
    return name, a, b, c


def program(tree: Tree) -> list[Instruction]:
    """An expression as the core's stack program."""
    code: list[Instruction] = []
    _write(tree, code)
    return code


def _write(tree: Tree, code: list[Instruction]) -> bool:
    """Append what leaves the value of a tree on the stack; whether its derivative is zero by form.

    That is what `expression_rules.derivative` simplifies to zero: the chain rule might find no number there.
    """
    if not depends(tree):
        code.append(_op("number", closure(tree)(0.0)))
        return True
    kind = tree[0]
    if kind == "variable":
        code.append(_op("variable"))
        return False
    still = _write_call(tree, code) if kind == "call" else _write_operation(kind, tree[1:], code)
    if still:
        code.append(_op("still"))
    return still


def _write_operation(kind: str, parts: Tree, code: list[Instruction]) -> bool:
    flags = [_write(part, code) for part in parts]
    if kind == "neg":
        code.append(_op("negate"))
        return flags[0]
    name, (a, b), (still_a, still_b) = _OPERATORS[kind], parts, flags
    if kind == "^" and still_b:
        name = "power_still"
    code.append(_op(name))
    if kind == "*":
        return (still_a or b == ZERO) and (still_b or a == ZERO)
    if kind == "/":
        return still_a and (still_b or a == ZERO)
    if kind == "^":
        return still_b and (still_a or b == ZERO)
    return still_a and still_b


def _write_call(tree: Tree, code: list[Instruction]) -> bool:
    _, name, *arguments = tree
    if name in PIECEWISE:
        still = _write(arguments[0], code)
        return _write_piecewise(name, [closure(x)(0.0) for x in arguments[1:]], code) or still
    if name in ("min", "max"):  # from behind, as the derivative takes them
        stills = [_write(arguments[-1], code)]
        for part in arguments[-2::-1]:
            stills.append(_write(part, code))
            code.append(_op(name))
        return all(stills)
    stills = [_write(part, code) for part in arguments]
    code.append(_op(name))
    if name == "atan2":
        (y, x), (still_y, still_x) = arguments, stills
        return (still_y or x == ZERO) and (still_x or y == ZERO)
    return stills[0] or name == "sign"


def _write_piecewise(name: str, values: list[float], code: list[Instruction]) -> bool:
    if name == "pulse":
        code.append(_op("copy"))
        still = _write_piecewise("step", [values[0], *values[2:]], code)
        code.append(_op("swap"))
        _write_piecewise("step", [values[1], *values[2:]], code)
        code.append(_op("subtract"))
        return still
    if name == "step" and len(values) == 1:
        code.append(_op("step", values[0]))
        return True
    start, end = values[:2]
    end = end + start if name == "step" else end
    order = int(values[2]) if name == "ramp" and len(values) == 3 else 0
    code.append(_op("ramp", start, end - start, order))
    return order + 1 >= RAMPS
