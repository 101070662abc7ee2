"""Functions of one variable written as text: what a model file can hold where Python takes a function.

A small grammar, read by hand; nothing that is written in an expression can do anything but arithmetic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import NoReturn

import numpy as np

from gyrod._check import Array
from gyrod._words import suggests
from gyrod.model import expression_rules as rules
from gyrod.model.expression_rules import Function, Tree

#: Longest text, deepest nesting, deepest tree, and largest tree of a derivative.
LONGEST, DEEPEST, TALLEST, LARGEST = 1000, 64, 200, 20_000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|[-+*/^(),]))",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated: ``problem`` is the sentence, ``column`` counts from 1."""

    def __init__(self, text: str, problem: str, column: int | None = None) -> None:
        self.text, self.problem, self.column = text, problem, column
        super().__init__(text, problem, column)

    def __str__(self) -> str:
        sentence = f"{_named(self.text)}: {self.problem}"
        if self.column is None or len(self.text) > 100 or "\n" in self.text:
            return sentence
        return f"{sentence}\n    {self.text}\n    {' ' * (self.column - 1)}^"


@suggests
class Expression:
    """A function of one variable as text, with exact derivatives: ``Expression("0.1*sin(2*pi*t)")``.

    It can stand wherever the model takes a function of time t, or of the fraction s of a rod's length, and unlike a
    Python function it can be written to a file. A drive or a moving end that is given as one brings its derivatives.

    The grammar knows numbers, the variable, ``+ - * / ^`` (also ``**``), parentheses, ``pi``, ``tau`` = 2 pi, ``e``,
    and the functions

    - sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 sqrt abs sign min max;
    - ``ramp(x, x0, x1)``: from 0 to 1 between x0 and x1, with two continuous derivatives; ``ramp(x, x0, x1, k)`` is
      its derivative of order k;
    - ``step(x, x0)``: 0 before x0 and 1 after it; ``step(x, x0, width)`` rises as ``ramp(x, x0, x0 + width)``;
    - ``pulse(x, x0, x1)`` and ``pulse(x, x0, x1, width)``: ``step(x, x0, ...) - step(x, x1, ...)``.

    Parameters
    ----------
    text
        At most 1000 characters.
    variable
        "t", "s" or another name; by default "s" if the text has it, else "t".

    >>> f = Expression("0.1*sin(2*pi*t)")
    >>> f(0.25), f.derivative()
    (0.1, Expression('0.1*(2*pi*cos(2*pi*t))'))
    """

    __slots__ = ("_derivative", "_function", "_tree", "text", "variable")

    text: str
    variable: str
    _tree: Tree
    _function: Function
    _derivative: Expression | None

    def __init__(self, text: str, variable: str | None = None) -> None:
        if not isinstance(text, str):
            raise ValueError(f"text = {text!r} must be a text such as '0.1*sin(2*pi*t)'.")
        if len(text) > LONGEST:
            raise ExpressionError(text, f"it has {len(text)} characters; at most {LONGEST} are allowed.")
        if variable is not None and (
            not isinstance(variable, str) or not variable.isidentifier() or variable in rules.NAMES
        ):
            raise ValueError(f"variable = {variable!r} must be a name such as 't' that stands for nothing else.")
        self._fill(text.strip(), variable)

    def _fill(self, text: str, variable: str | None) -> None:
        if variable is None:
            variable = "s" if re.search(r"\bs\b", text) else "t"
        self._make(text, variable, _Reader(text, variable).read())

    def _make(self, text: str, variable: str, tree: Tree) -> None:
        try:
            function = rules.closure(tree)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionError(text, f"{_why(error)}.") from None
        values = {"text": text, "variable": variable, "_tree": tree, "_function": function, "_derivative": None}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an Expression is constant; {name} cannot be changed.")

    def __call__(self, x: float) -> float:
        """Value at x."""
        try:
            value = self._function(x)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionError(self.text, f"it has no value at {self.variable} = {x:.6g}: {_why(error)}.") from None
        if value - value != 0.0:
            raise ExpressionError(self.text, f"it has no finite value at {self.variable} = {x:.6g}.")
        return value

    @property
    def named(self) -> str:
        """What errors call it."""
        return _named(self.text)

    @property
    def constant(self) -> float | None:
        """Its value if the variable does not occur in it, else None."""
        return None if rules.depends(self._tree) else self(0.0)

    def derivative(self) -> Expression:
        """Derivative by the variable; that of a jump (``step`` without width, ``sign``) is 0."""
        if self._derivative is None:
            tree = rules.derivative(self._tree)
            if rules.size(tree, LARGEST) > LARGEST or rules.height(tree) > TALLEST:
                raise ExpressionError(self.text, "its derivative is too long; write it in fewer terms.")
            found = object.__new__(Expression)
            found._make(rules.text(tree, self.variable), self.variable, tree)
            object.__setattr__(self, "_derivative", found)
        assert self._derivative is not None
        return self._derivative

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return (self.text, self.variable) == (other.text, other.variable)

    def __hash__(self) -> int:
        return hash((self.text, self.variable))

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.text, self.variable)

    def __repr__(self) -> str:
        usual = "s" if re.search(r"\bs\b", self.text) else "t"
        return f"Expression({self.text!r}{'' if self.variable == usual else f', {self.variable!r}'})"


@suggests
class ExpressionVector:
    """Several expressions of the same variable as one function that returns an array, (n,).

    ``components`` are texts, expressions and numbers; a text without the variable is a number.

    >>> shaken = ExpressionVector((0, 0, "0.01*sin(50*t)"))
    >>> shaken(0.0).tolist(), shaken.derivative()
    ([0.0, 0.0, 0.0], ExpressionVector((0.0, 0.0, '0.01*(50*cos(50*t))')))
    """

    __slots__ = ("_derivative", "_functions", "components", "variable")

    components: tuple[float | Expression, ...]
    variable: str
    _functions: tuple[Callable[[float], float], ...]
    _derivative: ExpressionVector | None

    def __init__(self, components: Iterable[float | str | Expression], variable: str | None = None) -> None:
        try:
            listed = [] if isinstance(components, str) else list(components)
        except TypeError:
            listed = []
        if not listed:
            raise ValueError(f"components = {components!r} must be a list of texts and numbers.")
        if variable is None:
            texts = [x.text if isinstance(x, Expression) else x for x in listed if isinstance(x, (str, Expression))]
            variable = "s" if any(re.search(r"\bs\b", x) for x in texts) else "t"
        found = tuple(_component(i, x, variable) for i, x in enumerate(listed))
        functions = tuple(x if isinstance(x, Expression) else rules.always(x) for x in found)
        values = {"components": found, "variable": variable, "_functions": functions, "_derivative": None}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an ExpressionVector is constant; {name} cannot be changed.")

    def __call__(self, x: float) -> Array:
        """Values at x, (n,)."""
        return np.array([f(x) for f in self._functions])

    def __len__(self) -> int:
        return len(self.components)

    def derivative(self) -> ExpressionVector:
        """Derivatives of the components."""
        if self._derivative is None:
            slopes = [x.derivative() if isinstance(x, Expression) else 0.0 for x in self.components]
            object.__setattr__(self, "_derivative", ExpressionVector(slopes, self.variable))
        assert self._derivative is not None
        return self._derivative

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExpressionVector):
            return NotImplemented
        return (self.components, self.variable) == (other.components, other.variable)

    def __hash__(self) -> int:
        return hash((self.components, self.variable))

    def __reduce__(self) -> tuple[object, ...]:
        return ExpressionVector, (self.components, self.variable)

    def __repr__(self) -> str:
        shown = tuple(x.text if isinstance(x, Expression) else x for x in self.components)
        return f"ExpressionVector({shown!r})"


def _component(i: int, value: object, variable: str) -> float | Expression:
    try:
        made = Expression(value, variable) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"components[{i}]: {error}") from None
    if isinstance(made, Expression):
        if made.constant is not None:
            return made.constant
        if made.variable != variable:
            raise ValueError(f"components[{i}] = {made!r} is a function of {made.variable!r}, not of {variable!r}.")
        return made
    if isinstance(made, bool) or not isinstance(made, (int, float, np.integer, np.floating)):
        raise ValueError(f"components[{i}] = {value!r} must be a number, a text or an Expression.")
    number = float(made)
    if number - number != 0.0:
        raise ValueError(f"components[{i}] = {value!r} must be finite.")
    return number


def _restored(text: str, variable: str) -> Expression:
    """An expression of any length: derivatives may be longer than what is read."""
    made = object.__new__(Expression)
    made._fill(text, variable)
    return made


def _named(text: str) -> str:
    return f"Expression {_short(text)!r}"


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."


def _why(error: Exception) -> str:
    reason = str(error)
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, OverflowError):
        return "a value is too large"
    return "a function is outside of its domain" if "domain" in reason else reason


# --- from text to a tree ---------------------------------------------------------------------------------------------


class _Reader:
    """Recursive descent: sum, product, sign, power, atom."""

    def __init__(self, text: str, variable: str) -> None:
        self.text, self.variable = text, variable
        self.tokens = self._tokens()
        self.place = self.depth = 0

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        raise ExpressionError(self.text, problem, (self.tokens[self.place][2] if at is None else at) + 1)

    def _tokens(self) -> list[tuple[str, str, int]]:
        found, end = [], 0
        while (start := _after_space(self.text, end)) < len(self.text):
            match = _TOKEN.match(self.text, end)
            if match is None or match.lastgroup is None:
                raise ExpressionError(
                    self.text, f"{self.text[start]!r} at column {start + 1} has no meaning here.", start + 1
                )
            found.append((match.lastgroup, match[match.lastgroup], start))
            end = match.end()
        return [*found, ("end", "", len(self.text))]

    def read(self) -> Tree:
        if len(self.tokens) == 1:
            raise ExpressionError(self.text, "it is empty; it must be a formula such as 'sin(t)'.")
        tree = self.sum()
        kind, token, start = self.tokens[self.place]
        if kind != "end":
            hint = "; a product is written with *" if kind in ("name", "number") or token == "(" else ""
            self.fail(f"{token!r} at column {start + 1} follows what is complete{hint}.")
        if rules.height(tree) > TALLEST:
            raise ExpressionError(self.text, f"it has more than {TALLEST} operations one after another; write less.")
        return tree

    def taken(self, *operators: str) -> str | None:
        kind, token, _ = self.tokens[self.place]
        if kind == "op" and token in operators:
            self.place += 1
            return "^" if token == "**" else token
        return None

    def sum(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} parentheses are open.")
        tree = self.product()
        while op := self.taken("+", "-"):
            tree = (op, tree, self.product())
        self.depth -= 1
        return tree

    def product(self) -> Tree:
        tree = self.sign()
        while op := self.taken("*", "/"):
            tree = (op, tree, self.sign())
        return tree

    def sign(self) -> Tree:
        negative = False
        while op := self.taken("+", "-"):
            negative ^= op == "-"
        tree = self.power()
        return ("neg", tree) if negative else tree

    def power(self) -> Tree:
        tree = self.atom()
        if not self.taken("^", "**"):
            return tree
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} powers are nested.")
        exponent = self.sign()
        self.depth -= 1
        return ("^", tree, exponent)

    def atom(self) -> Tree:
        kind, token, start = self.tokens[self.place]
        if kind == "number":
            self.place += 1
            value = float(token)
            if math.isinf(value):
                self.fail(f"{_short(token)} at column {start + 1} is too large.", start)
            return ("number", value)
        if kind == "name":
            self.place += 1
            return self.named(token, start)
        if self.taken("("):
            tree = self.sum()
            if not self.taken(")"):
                self.fail(f"the parenthesis of column {start + 1} is not closed.")
            return tree
        missing = f"{token!r} at column {start + 1}" if token else "the end"
        return self.fail(f"a number, a name or a parenthesis is missing before {missing}.")

    def named(self, name: str, start: int) -> Tree:
        if name == self.variable:
            return ("variable",)
        if name in rules.CONSTANTS:
            return ("constant", name)
        if name not in rules.FUNCTIONS:
            known = [self.variable, *rules.CONSTANTS, *rules.FUNCTIONS]
            near = get_close_matches(name, known, n=1, cutoff=0.5) if len(name) > 1 else []
            hint = f" Did you mean {near[0]!r}?" if near else f" It can be {', '.join(known)}."
            self.fail(f"{name!r} at column {start + 1} is unknown.{hint}", start)
        if not self.taken("("):
            self.fail(f"{name} at column {start + 1} is a function; its argument in parentheses is missing.", start)
        arguments = [self.sum()]
        while self.taken(","):
            arguments.append(self.sum())
        if not self.taken(")"):
            self.fail(f"the parenthesis of {name} at column {start + 1} is not closed.")
        fewest, most = rules.FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < 99 else f"at least {fewest}"
            self.fail(f"{name} at column {start + 1} takes {wanted} arguments, got {len(arguments)}.", start)
        if name in rules.PIECEWISE:
            self.require_constants(name, arguments, start)
        return ("call", name, *arguments)

    def require_constants(self, name: str, arguments: Sequence[Tree], start: int) -> None:
        if any(rules.depends(x) for x in arguments[1:]):
            self.fail(f"the places of {name} at column {start + 1} must not depend on {self.variable}.", start)
        try:
            rules.closure(("call", name, *arguments))
        except (ArithmeticError, ValueError) as error:
            self.fail(f"{name} at column {start + 1}: {_why(error)}.", start)


def _after_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start
