"""Derivatives that functions of time bring with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gyrod.model.expressions import Expression, ExpressionError, ExpressionVector
from gyrod.model.inputs import Input, Live, Recorded
from gyrod.model.samples import Samples


def slope(function: Any, order: int = 1) -> Callable[[float], Any] | None:
    """The derivative that a function brings with it, None if it brings none; of rotations the angular one."""
    if isinstance(function, Samples):
        return (function.velocity, function.acceleration)[order - 1]
    if isinstance(function, Input | Live | Recorded):
        return lambda t: function.derivative(t, order)
    for _ in range(order):
        if not isinstance(function, (Expression, ExpressionVector)):
            return None
        try:
            function = function.derivative()
        except ExpressionError:  # too long: differences do
            return None
    return function if isinstance(function, (Expression, ExpressionVector)) else None
