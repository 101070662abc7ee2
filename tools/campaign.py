"""Thousands of damaged models and wrong calls: make campaign, or make campaign N=20000.

Each case must end in a result or in a sentence; what ends in anything else, crashes or takes too long is listed with
its seeds, the most frequent first. The cases are those of tests/hostile.py; seeds go on from those of the tests. The
report goes to build/campaign.md; the exit status is 1 if there are defects.
"""

from __future__ import annotations

import collections
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import hostile  # type: ignore[import-not-found]  # noqa: E402

#: Cases of a child process, and of a campaign unless it is said.
BATCH, CASES = 50, 4000
#: The first seed; the tests have those before.
FIRST = 1000


def alike(words: str) -> str:
    """Words of a defect without the numbers and values that differ from case to case."""
    return re.sub(r"'[^']*'|\d[\d.e+-]*", "_", words)[:160]


def report(found: list[tuple[str, int, str, str]], seconds: float) -> str:
    """How the cases ended, and each defect once."""
    lines = [
        f"# {len(found)} cases in {seconds:.0f} s",
        "",
        "| cases | result | sentence | defect |",
        "|---|---|---|---|",
    ]
    for kind in hostile.USES:
        ended = collections.Counter(verdict for name, _, verdict, _ in found if name == kind)
        lines.append(f"| {kind} | {ended['result']} | {ended['sentence']} | {ended['defect']} |")
    groups: dict[str, list[tuple[str, int, str]]] = collections.defaultdict(list)
    for kind, seed, verdict, words in found:
        if verdict == "defect":
            groups[alike(words)].append((kind, seed, words))
    for cases in sorted(groups.values(), key=len, reverse=True):
        kind, seed, words = cases[0]
        seeds = ", ".join(str(s) for _, s, _ in cases[:8])
        lines += ["", f"- {len(cases)} x {kind} (seeds {seeds}): {words}"]
    return "\n".join([*lines, ""])


def main(count: int = CASES) -> int:
    """Run the cases on all cores and write the report; 1 if there are defects."""
    began = time.monotonic()
    each = -(-count // len(hostile.USES))
    batches = [
        [(kind, seed) for seed in range(first, min(first + BATCH, FIRST + each))]
        for kind in hostile.USES
        for first in range(FIRST, FIRST + each, BATCH)
    ]
    found: list[tuple[str, int, str, str]] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(hostile.campaign, batches):
            found += done
            bad = sum(verdict == "defect" for _, _, verdict, _ in found)
            print(f"\r{len(found)} of {each * len(hostile.USES)} cases, {bad} defects", end="", flush=True)
    text = report(found, time.monotonic() - began)
    path = ROOT / "build" / "campaign.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"\n{text}\n{path.relative_to(ROOT)}")
    return int(any(verdict == "defect" for _, _, verdict, _ in found))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
