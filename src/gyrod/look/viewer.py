"""The viewer: one page without a network, as a file, from a small server on this computer, or live during a run."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html as entities
import json
import math
import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.look import scene as scenes
from gyrod.look.scene import FPS, Scene, scene
from gyrod.look.tracks import tracks
from gyrod.motion import Motion, of_rows
from gyrod.motion.envelopes import Envelope

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What the server answers: content type, headers, content.
Answer = tuple[str, dict[str, str], bytes]

#: Scripts of the page, in order.
SCRIPTS = ("math.js", "data.js", "gl.js", "plots.js", "world.js", "viewer.js")
#: A frame of a running simulation is due after so many seconds, or after this part of the whole run; the most kept.
LIVE_GAP, LIVE_PART, LIVE_FRAMES = 1.0 / 30.0, 1.0 / 600.0, 1500
#: Seconds in which a page that was still asking counts as open, and in which a browser may take to start.
LISTENING, STARTING = 3.0, 10.0
#: Seconds after which a connection that says nothing is closed, and connections that are served at the same time.
SILENCE, CONNECTIONS = 30.0, 64


# --- the page --------------------------------------------------------------------------------------------------------


def page(shown: Scene, live: Mapping[str, object] | None = None) -> str:
    """The page of a scene as one text: nothing in it is loaded from elsewhere.

    Names of the model are in it as JSON data without "<" and reach the page as text only; a policy in its head
    allows no script but its own, by its hash.
    """
    parts = resources.files("gyrod.look") / "page"
    script = "\n".join(["'use strict';", *(_trimmed((parts / name).read_text("utf-8")) for name in SCRIPTS)])
    style = _trimmed((parts / "viewer.css").read_text("utf-8"))
    network = "'self'" if live else "'none'"
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        f"img-src data:; connect-src {network}; base-uri 'none'; form-action 'none'"
    )
    static = json.dumps({**shown.static, "live": live}, separators=(",", ":"), allow_nan=False)
    filled = {
        "POLICY": policy,
        "TITLE": entities.escape(shown.static["title"]),
        "STYLE": style,
        "SCENE": static.replace("<", "\\u003c"),
        "FRAMES": base64.b64encode(shown.packed()).decode(),
        "SCRIPT": script,
    }
    # One piece after the other: what was filled in is not searched again.
    found, text = [], (parts / "viewer.html").read_text("utf-8")
    for key, value in filled.items():
        before, _, text = text.partition(f"@{key}@")
        found += [before, value]
    return "".join([*found, text])


def _trimmed(text: str) -> str:
    """A script or style without indentation and comments of whole lines."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def html(
    motion: Motion,
    file: str | os.PathLike[str],
    *,
    title: str | None = None,
    fps: float = FPS,
    envelope: Envelope | None = None,
) -> Path:
    """Write the page of a motion, which opens without a network, and return its path."""
    path = Path(file)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"file = {str(file)!r} must end in .html.")
    text = page(scene(motion, fps=fps, title=title, envelope=envelope))
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OSError(f"{path}: the page cannot be written ({error.strerror or error}).") from error
    return path


# --- the server ------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    """Answers questions of pages on this computer that know the address with its token, and of nobody else."""

    server: _Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # what has no version is answered with a status line, too
    timeout = SILENCE

    def do_GET(self) -> None:
        """The page, or frames."""
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self.send_error(400)
            return
        _, token, *rest = parts.path.split("/", 2) if parts.path.startswith("/") else ("", "")
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        if self.headers.get("Host", "").rsplit(":", 1)[0] not in ("127.0.0.1", "localhost") or not known:
            self.send_error(403)
            return
        answer = self.server.answers.get(f"/{rest[0]}" if rest else "")
        if answer is None:
            self.send_error(404)
            return
        kind, headers, content = answer(parse_qs(parts.query))
        self.send_response(200)
        fixed = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        fixed |= {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "frame-ancestors 'none'"}
        for key, value in {**fixed, **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


#: What a server of the standard library may be asked with.
Request = socket.socket | tuple[bytes, socket.socket]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answers: dict[str, Callable[[dict[str, list[str]]], Answer]]

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        #: Who does not know it may not read the page, as other users of this computer.
        self.token = secrets.token_urlsafe(16)
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: object) -> None:
        """Serve a connection in a thread of its own, or ask it to come again when too many are open."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.setblocking(False)
            request.send(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.shutdown_request(request)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        """The thread of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Request, client_address: object) -> None:
        """Pages come and go: what breaks off is ignored."""


class View:
    """A page that is served on this computer until `close`; ``with`` does that too."""

    def __init__(self, answers: dict[str, Callable[[dict[str, list[str]]], Answer]], port: int = 0) -> None:
        if isinstance(port, bool) or not isinstance(port, (int, np.integer)) or not 0 <= port <= 65535:
            raise ValueError(f"port = {port!r} must be a whole number from 0 (any free one) to 65535.")
        try:
            self._server = _Server(("127.0.0.1", int(port)), _Handler)
        except OSError as error:
            reason = error.strerror or error
            raise OSError(f"port = {port} cannot be used ({reason}); give another one, or 0 for any.") from error
        self._server.answers = answers
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where a browser finds it; only with the token in it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{self._server.token}/"

    def open(self) -> bool:
        """Open it in a browser; False if none was found."""
        try:
            return webbrowser.open(self.address)
        except webbrowser.Error:
            return False

    def wait(self) -> None:
        """Serve until Ctrl-C, then close."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the server; pages that are open keep what they have."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} at {self.address}>"
            if self._thread.is_alive()
            else f"<closed {type(self).__name__}>"
        )


def view(
    motion: Motion,
    *,
    port: int = 0,
    browser: bool = True,
    block: bool | None = None,
    title: str | None = None,
    fps: float = FPS,
) -> View:
    """Show a motion in a browser; see `Motion.view`."""
    content = page(scene(motion, fps=fps, title=title)).encode()
    shown = View({"/": lambda _: ("text/html; charset=utf-8", {}, content)}, port)
    found = shown.open() if browser else False
    if _interactive() if block is None else not block:
        return shown
    print(f"{shown.address} shows the motion{'' if found else ': open it in a browser'}; Ctrl-C ends.", flush=True)
    shown.wait()
    return shown


def _interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "ipykernel" in sys.modules


# --- live ------------------------------------------------------------------------------------------------------------


class LiveView(View):
    """A page that follows a simulation while it runs.

    ``push`` takes rows (t, y) as they come and returns at once: it keeps one when a thirtieth of a second has passed,
    or a 600th of the whole run; beyond 1500 every second one is dropped. The server's thread makes frames of them when
    the page asks, with equations of its own, so that the core's are left to the run. Functions of time in the model
    are called by that thread.

    >>> from gyrod import problems
    >>> from gyrod.equations import compile_system
    >>> equations = compile_system(problems.get("lang-a").system)
    >>> with LiveView(equations, 1.0, browser=False) as live:
    ...     live.push(0.0, equations.y0)
    1
    """

    def __init__(
        self, compiled: Compiled, t_end: float, *, port: int = 0, browser: bool = True, title: str | None = None
    ) -> None:
        make, parts = compiled.__reduce__()
        self._compiled: Compiled = make(*parts)
        self.t_end = _check.number("t_end", t_end)
        self.title = title
        self._lock, self._busy = threading.Lock(), threading.Lock()
        self._rows: list[tuple[float, Array]] = []
        self._gap, self._spacing, self._last = LIVE_GAP, LIVE_PART * self.t_end, -math.inf
        self._generation, self._done, self._asked = 0, "", -math.inf
        self._final: Scene | None = None
        super().__init__({"/": self._page, "/frames": self._frames}, port)
        found = browser and self.open()
        self._opened = time.monotonic() if found else -math.inf
        if browser:  # what looks like a browser may show nothing
            told = "" if found else ": open it in a browser"
            print(f"{self.address} follows the run{told}.", file=sys.stderr, flush=True)

    @property
    def frames(self) -> int:
        """Number of frames that are kept."""
        return len(self._rows)

    def push(self, t: ArrayLike, y: ArrayLike) -> int:
        """Take a row, or rows (n,) and (n, N), in the order of time; return how many are kept."""
        now, times = time.monotonic(), np.atleast_1d(np.asarray(t, dtype=float))
        rows = np.asarray(y, dtype=float).reshape(len(times), -1)
        if rows.shape[1] != self._compiled.size:
            raise ValueError(f"y must have {self._compiled.size} columns, got the shape {np.shape(y)}.")
        with self._lock:
            before = len(self._rows)
            for at, row in zip(times.tolist(), rows, strict=True):
                last = self._rows[-1][0] if self._rows else -math.inf
                due = at - last >= self._spacing or at >= self.t_end or now - self._last >= self._gap
                if at > last and due:
                    self._rows.append((at, row.copy()))
                    self._last = now
            kept = len(self._rows) - before
            if len(self._rows) > LIVE_FRAMES:
                self._rows = self._rows[::2]
                self._gap, self._spacing = 2.0 * self._gap, 2.0 * self._spacing
                self._generation += 1
        return kept

    def finish(self, message: str = "finished", motion: Motion | None = None) -> None:
        """Tell the page that no more rows come; the whole ``motion``, if it is given, takes the place of the rows."""
        final = None if motion is None else scene(motion, title=self.title)
        with self._lock:
            if final is not None:
                self._final = final
                self._generation += 1
            self._done = " ".join(message.split()) or "finished"

    def close(self) -> None:
        """Finish, let an open page take the last frames, and end the server."""
        if not self._done:
            self.finish()
        while self._thread.is_alive() and self._waiting(time.monotonic()):
            time.sleep(0.02)
        super().close()

    def _waiting(self, now: float) -> bool:
        """Whether a page that was asking, or is about to be opened, does not know yet that the run is over."""
        return now - self._asked < LISTENING or now - self._opened < STARTING

    def _since(self, first: int) -> tuple[Scene | list[tuple[float, Array]], int, str]:
        """Rows from one on, or the whole motion once it is known; the generation, and how the run has ended."""
        with self._lock:
            if not self._rows:
                self._rows.append((0.0, self._compiled.y0))
            return self._final or self._rows[first:], self._generation, self._done

    def _scene(self, found: Scene | list[tuple[float, Array]]) -> Scene:
        if isinstance(found, Scene):
            return found
        t, y = np.array([t for t, _ in found]), np.array([y for _, y in found])
        with self._busy:  # one page at a time: the equations have one workspace
            static = scenes.describe(self._compiled, self.title)
            return Scene(static, tracks(of_rows(self._compiled, t, y), static))

    def _page(self, _: dict[str, list[str]]) -> Answer:
        found, generation = self._since(0)[:2]
        live = {"until": self.t_end, "generation": generation}
        return "text/html; charset=utf-8", {}, page(self._scene(found), live).encode()

    def _frames(self, query: dict[str, list[str]]) -> Answer:
        first, generation = (_whole(query.get(key, ["0"])[0]) for key in ("from", "generation"))
        found, now, done = self._since(first)
        if generation != now:
            found, now, done = self._since(0)
        elif isinstance(found, Scene):
            found = []
        content = self._scene(found).packed() if found else b""
        # A page that has all frames and hears that the run is over asks no more.
        self._opened = -math.inf
        self._asked = -math.inf if done and not content else time.monotonic()
        headers = {"X-Generation": str(now), **({"X-Done": done.encode("ascii", "replace").decode()} if done else {})}
        return "application/octet-stream", headers, content


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
