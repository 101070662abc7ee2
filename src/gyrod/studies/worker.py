"""What a worker does with a chunk, in whatever thread, process or machine; and the life of a worker process.

A worker process reads from standard input and writes to a copy of standard output, pickle after pickle: first its path,
then the plan, then chunk after chunk. It ends with its driver, whose end closes the pipes.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gyrod.studies import members
from gyrod.studies.chunks import Chunk, ChunkFiles

if TYPE_CHECKING:
    from typing import IO

    from gyrod.studies.plan import Plan

Tick = Callable[[int], object]

#: Seconds between two words of a worker process about how far it is.
PERIOD = 0.2
#: What a worker process is started with: it imports no script of the user, so that scripts need no guard.
BOOT = (
    "import pickle, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from gyrod.studies.worker import main; main()"
)


def run_chunk(plan: Plan, start: int, stop: int, tick: Tick | None = None) -> Chunk:
    """Run consecutive runs, and put their parameters beside the results."""
    block = members.run_block(plan, start, stop, tick=tick)
    return Chunk(block, plan.parameters(start, stop))


def main() -> None:
    """Serve one driver until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what functions of the user print must not come between the answers
    try:
        _serve(sys.stdin.buffer, answers, os.getppid())
    except (EOFError, BrokenPipeError, ConnectionError):
        pass
    finally:
        try:
            answers.close()
        except OSError:
            os._exit(0)


def _serve(tasks: IO[bytes], answers: IO[bytes], driver: int) -> None:
    def say(*words: object) -> None:
        pickle.dump(words, answers, protocol=5)
        answers.flush()

    files: ChunkFiles | None
    try:
        plan, files = pickle.loads(pickle.load(tasks))
    except EOFError:
        raise
    except Exception as error:
        say("refused", f"{type(error).__name__}: {error}")
        return
    say("ready")
    last = time.monotonic()

    def tick(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PERIOD:
            last = now
            if os.getppid() != driver:
                raise EOFError
            say("tick", done)

    while True:
        start, stop, keep = pickle.load(tasks)
        try:
            chunk = run_chunk(plan, start, stop, tick)
        except (EOFError, BrokenPipeError, ConnectionError):
            raise
        except Exception as error:
            say("raised", error if _travels(error) else RuntimeError(f"{type(error).__name__}: {error}"))
            continue
        if files is None or not keep:
            say("done", chunk.failed, chunk)
            continue
        try:
            files.write(chunk)
        except OSError as error:
            say("unwritten", error.strerror or str(error))
        else:
            say("done", chunk.failed, None)


def _travels(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True
