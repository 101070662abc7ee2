"""Text of a model file to plain data, with the place of everything: YAML 1.2 without what is dangerous or surprising.

Events of PyYAML's parser are put together here, without recursion and within limits. Scalars follow the core schema
of YAML 1.2: ``1e6`` is a number, ``yes`` and ``on`` are texts. JSON is read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import yaml

#: Limits of a file: bytes, nodes (an alias counts as all that it stands for), levels, characters of one text.
MOST_BYTES, MOST_NODES, DEEPEST, LONGEST = 10_000_000, 1_000_000, 32, 10_000

_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_PREFIXED = re.compile(r"0o[0-7]{1,18}|0x[0-9a-fA-F]{1,15}")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

#: Keys and places in lists that lead to a value.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One problem of a file: line and column (from 1; 0 if there are none), the path in the data, and a sentence."""

    line: int
    column: int
    path: Path
    sentence: str


def dotted(path: Path) -> str:
    """Text of a path: names joined by dots, places in lists in brackets."""
    return "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).removeprefix(".")


class ReadingError(Exception):
    """A text that holds no data; ``problem`` says why."""

    def __init__(self, sentence: str, line: int = 0, column: int = 0) -> None:
        self.problem = Problem(line, column, (), sentence)
        super().__init__(sentence)


class Node:
    """A value with its place; ``value`` is a scalar, a list of nodes, or a dictionary of nodes."""

    __slots__ = ("column", "count", "height", "keys", "line", "quoted", "value")

    def __init__(self, value: Any, mark: yaml.Mark, quoted: bool = False) -> None:
        self.value = value
        self.line, self.column = mark.line + 1, mark.column + 1
        #: Nodes in it, itself included, and the levels that they make.
        self.count = self.height = 1
        #: Places of the keys of a dictionary.
        self.keys: dict[str, tuple[int, int]] = {}
        self.quoted = quoted

    def add(self, child: Node) -> None:
        """Count what was put in."""
        self.count += child.count
        self.height = max(self.height, child.height + 1)


def locate(root: Node | None, path: Path, key: bool = False) -> tuple[int, int]:
    """Line and column of what a path leads to (of its key, if wanted), or of the nearest thing above it."""
    if root is None:
        return 0, 0
    node, place = root, (root.line, root.column)
    for i, part in enumerate(path):
        inside = node.value
        if isinstance(inside, dict) and part in inside:
            at_key = node.keys[str(part)]
            node = inside[part]
            place = at_key if key and i == len(path) - 1 else (node.line, node.column)
        elif isinstance(inside, list) and isinstance(part, int) and part < len(inside):
            node = inside[part]
            place = node.line, node.column
        else:
            break
    return place


def found(root: Node | None, path: Path) -> Node | None:
    """The node that a path leads to, if there is one."""
    node = root
    for part in path:
        inside = None if node is None else node.value
        if isinstance(inside, dict):
            node = inside.get(str(part))
        elif isinstance(inside, list) and isinstance(part, int) and part < len(inside):
            node = inside[part]
        else:
            return None
    return node


def plain(node: Node) -> Any:
    """The data without places; its depth is limited."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    return [plain(child) for child in node.value] if isinstance(node.value, list) else node.value


def decode(raw: bytes) -> str:
    """Text of a file's bytes."""
    if len(raw) > MOST_BYTES:
        raise ReadingError(f"the file has {len(raw)} bytes; at most {MOST_BYTES} are allowed.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ReadingError(
            f"the byte 0x{raw[error.start]:02x} is not UTF-8; save the file as text.", line, column
        ) from None


def compose(text: str) -> tuple[Node, list[Problem]]:
    """The data of a text, and the keys that occur twice in it."""
    import yaml

    if len(text) > MOST_BYTES:
        raise ReadingError(f"the text has {len(text)} characters; at most {MOST_BYTES} are allowed.")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    composer = _Composer()
    try:
        # Tabs are no indentation in YAML, but they may be in JSON.
        events = loader(text.replace("\t", " ") if text.lstrip()[:1] in ("{", "[") else text)
        try:
            for event in _events(events):
                composer.take(event, type(event).__name__)
        finally:
            events.dispose()
    except yaml.MarkedYAMLError as error:
        raise _syntax(error) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ReadingError("a character here cannot be part of a text file.", line, column) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ReadingError(f"it cannot be read: {' '.join(str(error).split())[:200]}.") from None
    if composer.root is None:
        raise ReadingError("it is empty; a model begins with 'gyrod: 1'.", 1, 1)
    return composer.root, composer.problems


def _events(loader: Any) -> Iterator[Any]:
    while loader.check_event():
        yield loader.get_event()


def _syntax(error: yaml.MarkedYAMLError) -> ReadingError:
    mark = error.problem_mark or error.context_mark
    context = f"{error.context}: " if error.context else ""
    sentence = f"{context}{error.problem or 'it cannot be read'}."
    if "'\\t'" in sentence or "a tab character" in sentence:
        sentence = "tabs cannot indent YAML; use spaces."
    return ReadingError(sentence, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0)


class _Composer:
    """Puts events together: a stack of what is open, and the names of what may be repeated."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self.open: list[tuple[Node, str | None]] = []
        #: The key that waits for its value, and those that wait for what is open.
        self.key: tuple[str, yaml.Mark] | None = None
        self.waiting: list[tuple[str, yaml.Mark] | None] = []
        self.anchors: dict[str, Node | None] = {}
        self.total = 0

    def take(self, event: Any, kind: str) -> None:
        mark = event.start_mark
        if kind == "DocumentStartEvent" and self.root is not None:
            self.fail("a file holds one model; '---' begins a second one.", mark)
        if kind == "AliasEvent":
            self.put(self.repeated(event, mark), mark, None)
            return
        if getattr(event, "tag", None) is not None:
            self.fail(f"{event.tag!r} is a tag; a model file has none.", mark)
        if kind == "ScalarEvent":
            self.scalar(event, mark)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if self.expects_key():
                self.fail("a key must be a name.", mark)
            if len(self.open) >= DEEPEST:
                self.fail(f"it is nested more than {DEEPEST} levels deep.", mark)
            if event.anchor is not None:
                self.anchors[event.anchor] = None
            self.open.append((Node({} if kind[0] == "M" else [], mark), event.anchor))
            self.waiting.append(self.key)
            self.key = None
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            node, anchor = self.open.pop()
            self.key = self.waiting.pop()
            self.put(node, mark, anchor)

    def scalar(self, event: yaml.ScalarEvent, mark: yaml.Mark) -> None:
        if len(event.value) > LONGEST:
            self.fail(f"a text of {len(event.value)} characters is too long; at most {LONGEST} are allowed.", mark)
        if self.expects_key():
            self.key = (event.value, mark)
            return
        quoted = not event.implicit[0]
        value = event.value if quoted else self.resolved(event.value, mark)
        self.put(Node(value, mark, quoted), mark, event.anchor)

    def resolved(self, text: str, mark: yaml.Mark) -> str | float | bool | None:
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        if _PREFIXED.fullmatch(text):
            return int(text, 0)
        if _NUMBER.fullmatch(text):
            value = float(text)
            if value - value != 0.0:
                self.fail(f"{text[:40]} is too large.", mark)
            return value
        if _NOT_FINITE.fullmatch(text):
            self.fail(f"{text} is not allowed in a model; numbers must be finite.", mark)
        return text

    def expects_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1][0].value, dict) and self.key is None

    def repeated(self, event: yaml.AliasEvent, mark: yaml.Mark) -> Node:
        if self.expects_key():
            self.fail("a key must be a name.", mark)
        if event.anchor not in self.anchors:
            self.fail(f"*{event.anchor} refers to nothing: no &{event.anchor} stands before it.", mark)
        node = self.anchors[event.anchor]
        if node is None:
            self.fail(f"*{event.anchor} refers to what it is part of.", mark)
        return node

    def put(self, node: Node, mark: yaml.Mark, anchor: str | None) -> None:
        """Place a complete value where it belongs."""
        if anchor is not None:
            self.anchors[anchor] = node
        self.total += 1
        if max(self.total, node.count) > MOST_NODES:
            self.fail(f"it holds more than {MOST_NODES} values, what aliases repeat included.", mark)
        if len(self.open) + node.height > DEEPEST:
            self.fail(f"it is nested more than {DEEPEST} levels deep.", mark)
        if not self.open:
            self.root = node
            return
        parent = self.open[-1][0]
        parent.add(node)
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        assert self.key is not None
        key, at = self.key
        self.key = None
        if key in parent.value:
            first = parent.keys[key][0]
            self.problems.append(
                Problem(at.line + 1, at.column + 1, (), f"the key {key!r} stands here and in line {first}; keep one.")
            )
            return
        parent.value[key] = node
        parent.keys[key] = (at.line + 1, at.column + 1)

    def fail(self, sentence: str, mark: yaml.Mark) -> NoReturn:
        raise ReadingError(sentence, mark.line + 1, mark.column + 1)
