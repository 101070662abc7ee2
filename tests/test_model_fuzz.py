"""Damaged model files: 200 of them, each gives a run or sentences, in time, and no file but Python's own is opened."""

from __future__ import annotations

import random
import re
import sys
import time
from pathlib import Path

import pytest

import gyrod as gd
from gyrod import files

STARTERS = Path(gd.__file__).parent / "cli" / "starters"
MODELS = [*sorted((Path(__file__).parent / "data" / "models").iterdir()), *sorted(STARTERS.glob("*.yaml"))]
TEXTS = {f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8") for path in MODELS}
COUNT, CHUNKS = 200, 8
#: Seconds of CPU that one file may take.
LONGEST = 5.0
#: Where Python keeps modules that are imported late.
OWN = tuple({str(Path(p).resolve()) for p in (sys.prefix, sys.base_prefix, Path(gd.__file__).parent, "/proc", "/sys")})

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
KEY = re.compile(r"\b[a-z_]\w*(?=:)")
VALUES = (
    "1e300", "-1", "0", "1e-300", ".nan", "-.inf", "1e99", "1e50", "-1e50", "'x'", "true", "null", "[1, 2]", "{a: 1}",
    "1000000", "99999999999999999999", "12 parsec", "3 kg", "1/0", "sin(t)", "1/t", "exp(1e9*t)", "log(-1 - t)",
    "t^t^t", "*a", "!!python/name:os.system", "__import__('os')", "../../etc/passwd", "!include /etc/passwd",
)  # fmt: skip


def flip(text, r):
    raw = bytearray(text.encode())
    for _ in range(r.randint(1, 6)):
        raw[r.randrange(len(raw))] = r.randrange(256)
    return raw.decode("utf-8", "replace")


def swap(text, r):
    tokens = re.findall(r"\w+|\s+|.", text)
    i, j = r.randrange(len(tokens)), r.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def drop_lines(text, r):
    lines = text.splitlines(keepends=True)
    for _ in range(r.randint(1, 3)):
        if lines:
            del lines[r.randrange(len(lines))]
    return "".join(lines)


def repeat_line(text, r):
    lines = text.splitlines(keepends=True)
    i = r.randrange(len(lines))
    return "".join([*lines[:i], *[lines[i]] * r.randint(2, 30), *lines[i + 1 :]])


def replace_number(text, r):
    for _ in range(r.randint(1, 3)):
        places = list(NUMBER.finditer(text))
        if places:
            at = r.choice(places)
            text = text[: at.start()] + r.choice(VALUES) + text[at.end() :]
    return text


def rename_key(text, r):
    at = r.choice(list(KEY.finditer(text)) or [re.search("", text)])
    new = r.choice([at[0] + "s", at[0][:-1], "name", "a", "at", "radius", "__class__", "", *KEY.findall(text)])
    return text[: at.start()] + new + text[at.end() :]


def nest(text, r):
    at = r.choice(list(NUMBER.finditer(text)) or [re.search("", text)])
    depth = r.choice([1, 2, 5, 40, 500])
    left, right = r.choice(["[]", "()", "{}"])
    return text[: at.start()] + left * depth + at[0] + right * depth + text[at.end() :]


def alias(text, r):
    keys = list(re.finditer(r": (?=\S)", text))
    if len(keys) < 2:
        return text
    i, j = sorted(r.sample(range(len(keys)), 2))
    end = re.compile(r"[,}\]\n]").search(text, keys[j].end())
    if end is None:
        return text
    return text[: keys[i].end()] + "&a " + text[keys[i].end() : keys[j].end()] + "*a" + text[end.start() :]


def indent(text, r):
    lines = text.splitlines(keepends=True)
    i = r.randrange(len(lines))
    lines[i] = r.choice([" ", "   ", "\t", "- "]) + lines[i] if r.random() < 0.6 else lines[i].lstrip()
    return "".join(lines)


def cut(text, r):
    return text[: r.randrange(len(text))]


MUTATIONS = (flip, swap, drop_lines, repeat_line, replace_number, replace_number, rename_key, nest, alias, indent, cut)


def mutated(i):
    """A damaged file, the same for the same number."""
    r = random.Random(i)
    name = r.choice(sorted(TEXTS))
    text = TEXTS[name]
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        text = r.choice(MUTATIONS)(text or " ", r)
    return name, text


class Watch:
    """Tells which files are opened while it is on; a hook of the interpreter cannot be taken away again."""

    def __init__(self):
        self.on = False
        self.seen = []
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if self.on and event in ("open", "os.system", "subprocess.Popen", "exec", "compile", "socket.connect"):
            if event == "exec" or (event == "compile" and not isinstance(arguments[0], str | bytes)):
                return  # of modules that are imported late
            place = arguments[0] if isinstance(arguments[0], str) else repr(arguments[0])
            if event != "open" or not str(Path(place).resolve()).startswith(OWN):
                self.seen.append((event, place))


WATCH = Watch()


@pytest.fixture
def few_steps(monkeypatch):
    """Runs end after some steps."""
    module = sys.modules["gyrod.solve.simulate"]
    usual = module.run_options
    monkeypatch.setattr(module, "run_options", lambda **given: usual(**{**given, "max_steps": 100}))


def outcome(name, text):
    """What becomes of a file: "refused", "failed" or "ran"; any other exception is a fault."""
    try:
        system = files.loads(text, source=name).system
    except gd.ModelError as error:
        return "refused" if all(x.strip() for x in error.problems) else "without a word"
    try:
        gd.simulate(system, 1e-4, method="rodas", rtol=1e-2, dense=False)
    except (ValueError, gd.SimulationError, gd.ForceError) as error:
        return "failed" if str(error).strip() else "without a word"
    return "ran"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damaged_files_give_a_run_or_sentences(chunk, few_steps):
    for path in MODELS:  # what is imported late is imported now
        outcome(path.name, path.read_text(encoding="utf-8"))
    WATCH.seen.clear()
    found = []
    for i in range(chunk, COUNT, CHUNKS):
        name, text = mutated(i)
        began = time.process_time()
        WATCH.on = True
        try:
            found.append(outcome(name, text))
        except Exception as error:
            pytest.fail(f"file {i}, of {name}: {type(error).__name__}: {error}")
        finally:
            WATCH.on = False
        assert time.process_time() - began < LONGEST, f"file {i}, of {name}"
    assert WATCH.seen == []
    assert "refused" in found
    assert set(found) <= {"refused", "failed", "ran"}


def test_the_damage_is_of_all_sorts():
    """The mutations do something, and the watch sees what it should."""
    texts = [mutated(i) for i in range(COUNT)]
    assert sum(text != TEXTS[name] for name, text in texts) > 0.95 * COUNT
    assert len({text for _, text in texts}) > 0.95 * COUNT
    assert {name for name, _ in texts} == set(TEXTS)
    WATCH.seen.clear()
    WATCH.on = True
    try:
        Path(__file__).read_bytes()
    finally:
        WATCH.on = False
    assert WATCH.seen == [("open", __file__)]
