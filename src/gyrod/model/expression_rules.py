"""Trees of expressions: how they are evaluated, differentiated and written.

A tree is ``("number", x)``, ``("constant", name)``, ``("variable",)``, ``("neg", a)``, ``(op, a, b)`` with one of
``+ - * / ^``, or ``("call", name, *arguments)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Tree = tuple[Any, ...]
Function = Callable[[float], float]

CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}
#: Functions, with the fewest and most arguments that they take.
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), (1, 1)),
    **dict.fromkeys(("exp", "log", "log10", "sqrt", "abs", "sign"), (1, 1)),
    "atan2": (2, 2), "min": (2, 99), "max": (2, 99), "ramp": (3, 4), "step": (2, 3), "pulse": (3, 4),
}  # fmt: skip
#: Those whose arguments but the first are constant.
PIECEWISE = ("ramp", "step", "pulse")
NAMES = frozenset({*CONSTANTS, *FUNCTIONS})

ZERO, ONE, TWO = ("number", 0.0), ("number", 1.0), ("number", 2.0)

#: 10 s³ - 15 s⁴ + 6 s⁵ and its derivatives, lowest power first.
_RAMP: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 10.0, -15.0, 6.0)]
for _ in range(5):
    _RAMP.append(tuple(k * c for k, c in enumerate(_RAMP[-1]))[1:])


#: How many of them there are; those of a higher order are zero.
RAMPS = len(_RAMP)


def depends(tree: Tree) -> bool:
    """Whether the variable occurs."""
    return tree[0] == "variable" or any(depends(x) for x in tree if isinstance(x, tuple))


def height(tree: Tree) -> int:
    """Levels of the tree; found without recursion, for that is what it guards."""
    deepest, stack = 0, [(tree, 1)]
    while stack:
        here, level = stack.pop()
        deepest = max(deepest, level)
        if deepest > 2000:
            break
        stack += [(x, level + 1) for x in here if isinstance(x, tuple)]
    return deepest


def size(tree: Tree, most: int) -> int:
    """Number of nodes, counted until there are more than ``most``."""
    count, stack = 0, [tree]
    while stack and count <= most:
        count += 1
        stack += [x for x in stack.pop() if isinstance(x, tuple)]
    return count


# --- values ----------------------------------------------------------------------------------------------------------


def always(value: float) -> Function:
    """The function that is constant."""
    return lambda _x: value


def closure(tree: Tree) -> Function:
    """The tree as nested functions; what is constant is computed here."""
    return _built(tree)[0]


def _built(tree: Tree) -> tuple[Function, bool]:
    """The function of a tree, and whether it depends on the variable."""
    kind = tree[0]
    if kind == "variable":
        return (lambda x: x), True
    if kind == "number":
        return always(tree[1]), False
    if kind == "constant":
        return always(CONSTANTS[tree[1]]), False
    name, parts = (tree[1], tree[2:]) if kind == "call" else (kind, tree[1:])
    inner = [_built(part) for part in parts]
    moves = any(moving for _, moving in inner)
    functions = [f for f, _ in inner]
    made = _call(name, functions) if kind == "call" else _operation(kind, parts, functions, [m for _, m in inner])
    return (made if moves else always(made(0.0))), moves


def _operation(kind: str, parts: Tree, functions: list[Function], moves: list[bool]) -> Function:
    f = functions[0]
    if kind == "neg":
        return lambda x: -f(x)
    g = functions[1]
    if kind == "*" and not moves[0]:
        a = f(0.0)
        return (lambda x: a * x) if parts[1] == ("variable",) else (lambda x: a * g(x))
    if kind == "^" and not moves[1]:
        b = g(0.0)
        return lambda x: math.pow(f(x), b)
    return {
        "+": lambda x: f(x) + g(x),
        "-": lambda x: f(x) - g(x),
        "*": lambda x: f(x) * g(x),
        "/": lambda x: f(x) / g(x),
        "^": lambda x: math.pow(f(x), g(x)),
    }[kind]


def _call(name: str, inner: list[Function]) -> Function:
    f = inner[0]
    if name in PIECEWISE:
        return _piecewise(name, f, [g(0.0) for g in inner[1:]])
    if name in ("min", "max"):
        chosen = {"min": min, "max": max}[name]
        return lambda x: chosen([g(x) for g in inner])
    if name == "atan2":
        return lambda x: math.atan2(f(x), inner[1](x))
    if name == "sign":
        return lambda x: _sign(f(x))
    function = abs if name == "abs" else getattr(math, name)
    return lambda x: function(f(x))


def _sign(x: float) -> float:
    return 0.0 if x == 0.0 else math.copysign(1.0, x)


def _piecewise(name: str, f: Function, values: list[float]) -> Function:
    if name == "pulse":
        if values[1] <= values[0]:
            raise ValueError("a pulse must end after it begins")
        up, down = (_piecewise("step", f, [edge, *values[2:]]) for edge in values[:2])
        return lambda x: up(x) - down(x)
    if name == "step" and len(values) == 1:
        edge = values[0]
        return lambda x: 1.0 if f(x) >= edge else 0.0
    start, end = values[:2]
    order = 0.0
    if name == "step":
        end += start
        if not values[1] > 0.0:
            raise ValueError("the width of a step must be > 0")
    elif len(values) == 3:
        order = values[2]
    if not end > start:
        raise ValueError("a ramp must end after it begins")
    if order not in range(100):
        raise ValueError("the order of a derivative must be 0, 1, 2, ...")
    return _ramp(f, start, end, int(order))


def _ramp(f: Function, start: float, end: float, order: int) -> Function:
    width = end - start
    coefficients = tuple(c / width**order for c in reversed(_RAMP[order])) if order < len(_RAMP) else (0.0,)
    after = 1.0 if order == 0 else 0.0

    def value(x: float) -> float:
        s = (f(x) - start) / width
        if s <= 0.0:
            return 0.0
        if s >= 1.0:
            return after
        total = 0.0
        for c in coefficients:
            total = total * s + c
        return total

    return value


# --- derivatives -----------------------------------------------------------------------------------------------------


def _number(tree: Tree) -> float | None:
    return tree[1] if tree[0] == "number" else None


def add(a: Tree, b: Tree) -> Tree:
    """a + b."""
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    return ("-", a, b[1]) if b[0] == "neg" else ("+", a, b)


def subtract(a: Tree, b: Tree) -> Tree:
    """a - b."""
    if b == ZERO:
        return a
    return negative(b) if a == ZERO else ("-", a, b)


def negative(a: Tree) -> Tree:
    """-a."""
    if a == ZERO:
        return a
    return a[1] if a[0] == "neg" else ("neg", a)


def multiply(a: Tree, b: Tree) -> Tree:
    """a·b."""
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    if b == ONE:
        return a
    x, y = _number(a), _number(b)
    return ("number", x * y) if x is not None and y is not None else ("*", a, b)


def divide(a: Tree, b: Tree) -> Tree:
    """a / b."""
    return a if a == ZERO or b == ONE else ("/", a, b)


def power(a: Tree, b: Tree) -> Tree:
    """a to the b."""
    return ONE if b == ZERO else a if b == ONE else ("^", a, b)


def call(name: str, *arguments: Tree) -> Tree:
    """A function of arguments."""
    return ("call", name, *arguments)


def square(a: Tree) -> Tree:
    """a²."""
    return ("^", a, TWO)


#: Derivative of a function of one argument u, as a tree of u.
_SLOPES: dict[str, Callable[[Tree], Tree]] = {
    "sin": lambda u: call("cos", u),
    "cos": lambda u: negative(call("sin", u)),
    "tan": lambda u: add(ONE, square(call("tan", u))),
    "asin": lambda u: divide(ONE, call("sqrt", subtract(ONE, square(u)))),
    "acos": lambda u: negative(divide(ONE, call("sqrt", subtract(ONE, square(u))))),
    "atan": lambda u: divide(ONE, add(ONE, square(u))),
    "sinh": lambda u: call("cosh", u),
    "cosh": lambda u: call("sinh", u),
    "tanh": lambda u: subtract(ONE, square(call("tanh", u))),
    "exp": lambda u: call("exp", u),
    "log": lambda u: divide(ONE, u),
    "log10": lambda u: divide(ONE, multiply(call("log", ("number", 10.0)), u)),
    "sqrt": lambda u: divide(("number", 0.5), call("sqrt", u)),
    "abs": lambda u: call("sign", u),
    "sign": lambda _u: ZERO,
}


def derivative(tree: Tree) -> Tree:
    """Derivative by the variable, simplified where a factor is 0 or 1."""
    kind = tree[0]
    if kind == "variable":
        return ONE
    if kind in ("number", "constant"):
        return ZERO
    if kind == "call":
        return _slope_of_call(tree)
    if kind == "neg":
        return negative(derivative(tree[1]))
    _, a, b = tree
    if kind == "^":
        return _slope_of_power(a, b)
    da, db = derivative(a), derivative(b)
    if kind == "+":
        return add(da, db)
    if kind == "-":
        return subtract(da, db)
    if kind == "*":
        return add(multiply(da, b), multiply(a, db))
    if db == ZERO:
        return divide(da, b)
    return subtract(divide(da, b), divide(multiply(a, db), square(b)))


def _slope_of_power(a: Tree, b: Tree) -> Tree:
    da, db = derivative(a), derivative(b)
    n = _number(b)
    less = ("number", n - 1.0) if n is not None else subtract(b, ONE)
    steep = multiply(multiply(b, power(a, less)), da)
    return steep if db == ZERO else add(multiply(multiply(db, call("log", a)), ("^", a, b)), steep)


def _slope_of_call(tree: Tree) -> Tree:
    _, name, *arguments = tree
    u = arguments[0]
    if name in _SLOPES:
        return multiply(derivative(u), _SLOPES[name](u))
    if name == "atan2":
        y, x = arguments
        numerator = subtract(multiply(x, derivative(y)), multiply(y, derivative(x)))
        return divide(numerator, add(square(x), square(y)))
    if name in ("min", "max"):
        rest = arguments[1] if len(arguments) == 2 else call(name, *arguments[1:])
        du, dv = derivative(u), derivative(rest)
        jump = multiply(call("sign", ("-", u, rest)), subtract(du, dv))
        both = add(du, dv)
        return multiply(("number", 0.5), subtract(both, jump) if name == "min" else add(both, jump))
    if name == "pulse":
        _, start, end, *width = arguments
        return subtract(derivative(call("step", u, start, *width)), derivative(call("step", u, end, *width)))
    if name == "step":
        if len(arguments) == 2:
            return ZERO
        _, start, width = arguments
        return multiply(derivative(u), call("ramp", u, start, ("+", start, width), ONE))
    order = closure(arguments[3])(0.0) if len(arguments) == 4 else 0.0
    if order + 1 >= len(_RAMP):
        return ZERO
    return multiply(derivative(u), call("ramp", *arguments[:3], ("number", order + 1.0)))


# --- text ------------------------------------------------------------------------------------------------------------

_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "^": 4}


def text(tree: Tree, variable: str) -> str:
    """The tree as text that reads back as the same tree."""
    return _text(tree, variable, 0)


def _text(tree: Tree, variable: str, least: int) -> str:
    """Text in parentheses if the operation binds less than ``least``."""
    kind = tree[0]
    if kind == "variable":
        return variable
    if kind == "number":
        plain = str(int(tree[1])) if tree[1] == int(tree[1]) and abs(tree[1]) < 1e15 else repr(tree[1])
        return f"({plain})" if tree[1] < 0.0 and least > 1 else plain
    if kind == "constant":
        return str(tree[1])
    if kind == "call":
        return f"{tree[1]}({', '.join(_text(x, variable, 0) for x in tree[2:])})"
    level = _LEVELS[kind]
    if kind == "neg":
        made = f"-{_text(tree[1], variable, level + 1)}"
        level = 1  # beside another operator it stands in parentheses
    else:
        left, right = (level + 1, 3) if kind == "^" else (level, level + 1)
        made = f"{_text(tree[1], variable, left)}{kind}{_text(tree[2], variable, right)}"
    return f"({made})" if level < least else made
