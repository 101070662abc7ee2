"""The viewer: its page as a file and from the server, live, and in a real browser."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from html.parser import HTMLParser
from importlib import resources
from urllib.parse import urlsplit

import numpy as np
import pytest

import gyrod as gd
from gyrod.look import packing, viewer
from gyrod.look.scene import scene

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
NASTY = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=2000",
]  # fmt: skip
browser = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on PATH")


def hose_with_bob(rod="hose", body="bob"):
    hose = gd.Rod(
        rod, 1.0, 12, gd.Circle(radius=0.02), RUBBER, initial=gd.Straight((0, 0, 0), (0, 1, 0)),
        start=gd.Clamped("ground"), end=gd.Hinged(body, at=(0, 0, 0.05)), damping=gd.Damping.ratio(0.1, 2.0),
    )  # fmt: skip
    bob = gd.Body(body, 0.5, (1e-3,) * 3, position=(0, 1.0, -0.05), shape=gd.Sphere(0.08), color="#aa3377")
    return gd.System([bob], rods=[hose])


@pytest.fixture(scope="module")
def motion():
    return gd.simulate(hose_with_bob(), 2.0, rtol=1e-3)


@pytest.fixture(scope="module")
def nasty():
    names = {"rod": "@SCRIPT@<script>document.title='owned'", "body": "<img src=x onerror=document.title='owned'>"}
    return gd.simulate(hose_with_bob(**names), 0.1, rtol=1e-2)


class Reader(HTMLParser):
    """Elements of a page, and what stands in its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = (tag, dict(attrs).get("id")) if tag in ("script", "style", "title") else None

    def handle_endtag(self, tag):  # noqa: ARG002
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] = self.texts.get(self.open, "") + data


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_file_holds_the_scene(motion, tmp_path):
    file = tmp_path / "hose.html"
    assert motion.html(file, title="A hose & a bob") == file
    page = Reader(file.read_text("utf-8"))
    assert page.texts["title", None] == "A hose & a bob"
    static = json.loads(page.texts["script", "scene"])
    assert static["title"] == "A hose & a bob"
    assert [rod["name"] for rod in static["rods"]] == ["hose"]
    tracks = packing.unpack(base64.b64decode(page.texts["script", "frames-data"]))
    np.testing.assert_allclose(tracks["x"], motion(tracks["t"].ravel())["bob"].position, atol=1e-6)


def test_the_page_loads_nothing_and_allows_no_foreign_script(motion):
    text = viewer.page(scene(motion))
    page = Reader(text)
    assert not [value for _, attrs in page.tags for key, value in attrs.items() if key in ("src", "srcset", "action")]
    assert [attrs["href"] for _, attrs in page.tags if "href" in attrs] == ["data:,"]
    assert not re.search(r"https?://|url\(|@import", text)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.texts[kind, None].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_names_cannot_leave_their_place(nasty):
    page = Reader(viewer.page(scene(nasty, title=NASTY)))
    assert page.texts["title", None] == NASTY
    assert json.loads(page.texts["script", "scene"])["title"] == NASTY
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    assert not any(tag == "img" for tag, _ in page.tags)


def test_the_page_never_makes_markup_of_text():
    parts = resources.files("gyrod.look") / "page"
    for name in viewer.SCRIPTS:
        text = (parts / name).read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


def test_controls_have_names(motion):
    page = Reader(viewer.page(scene(motion)))
    ids = {attrs.get("id"): (tag, attrs) for tag, attrs in page.tags}
    for name in ("play", "scrub", "speed", "color", "reset", "view"):
        assert ids[name][1].get("aria-label"), name


def test_bad_files(motion, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.html"):
        motion.html(tmp_path / "hose.txt")
    with pytest.raises(OSError, match="cannot be written"):
        motion.html(tmp_path / "nowhere" / "hose.html")


# --- the server ------------------------------------------------------------------------------------------------------


def ask(address, host=None):
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    return urllib.request.urlopen(request, timeout=5)


def test_a_motion_is_served_to_this_computer_only(motion):
    with motion.view(browser=False, block=False, title="served") as shown:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/", shown.address)
        with ask(shown.address) as answer:
            assert "served" in answer.read().decode()
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for path, host, code in (("", "evil.example", 403), ("../pyproject.toml", None, 404), ("frames", None, 404)):
            with pytest.raises(urllib.error.HTTPError) as error:
                ask(shown.address + path, host)
            assert error.value.code == code
            error.value.close()
        port = urlsplit(shown.address).port
        with pytest.raises(OSError, match=f"port = {port} cannot be used"):
            motion.view(port=port, browser=False, block=False)
    with pytest.raises(urllib.error.URLError):
        ask(shown.address)
    assert "closed" in repr(shown)


def raw(address, text, end=True):
    """What the server answers to bytes."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as line:
        line.sendall(text.replace("TOKEN", parts.path.strip("/")).encode())
        if end:
            line.shutdown(socket.SHUT_WR)
        found = b""
        while part := line.recv(65536):
            found += part
    return found.decode("latin-1")


def test_without_the_token_nobody_reads_the_page(motion):
    with motion.view(browser=False, block=False) as shown, motion.view(browser=False, block=False) as other:
        parts, foreign = urlsplit(shown.address), urlsplit(other.address)
        assert parts.path != foreign.path
        for path in ("/", "/frames", "//", f"{parts.path[:-2]}/", foreign.path, parts.path.swapcase(), "/%00/", "*"):
            answer = raw(shown.address, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403 "), path
            assert "<canvas" not in answer


def test_bad_requests_are_answered(motion):
    with motion.view(browser=False, block=False) as shown:
        for line, code in (("GET http://[", 400), ("nonsense", 400), ("GET / HTTP/9.9.9", 400), ("POST /TOKEN/", 501)):
            line = line if "HTTP" in line or line == "nonsense" else f"{line} HTTP/1.1"
            assert f" {code} " in raw(shown.address, f"{line}\r\nHost: localhost\r\n\r\n").splitlines()[0]


def test_head_and_the_headers(motion):
    with motion.view(browser=False, block=False) as shown:
        asked = "HEAD /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        head, _, body = raw(shown.address, asked).partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 ")
        assert body == ""
        assert "Content-Security-Policy: frame-ancestors 'none'" in head
        with ask(shown.address) as answer:
            assert f"Content-Length: {len(answer.read())}" in head


def test_silent_connections_end_and_are_bounded(motion, monkeypatch):
    monkeypatch.setattr(viewer._Handler, "timeout", 0.3)
    monkeypatch.setattr(viewer, "CONNECTIONS", 3)
    with motion.view(browser=False, block=False) as shown:
        parts = urlsplit(shown.address)
        silent = [socket.create_connection((parts.hostname, parts.port), timeout=5) for _ in range(3)]
        try:
            assert raw(shown.address, "", end=False).startswith("HTTP/1.1 503 ")
            assert [line.recv(100) for line in silent] == [b"", b"", b""]  # closed by the server
        finally:
            for line in silent:
                line.close()
        assert viewer.SILENCE == 30.0
        for _ in range(5):  # their places are free again
            with ask(shown.address) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("port", [-1, 70000, 1.5, "80", True])
def test_bad_ports(motion, port):
    with pytest.raises(ValueError, match="port"):
        motion.view(port=port, browser=False, block=False)


def test_a_rest_is_shown_too(tmp_path):
    rest = gd.equilibrium(hose_with_bob())
    assert "at rest" in (resources.files("gyrod.look") / "page" / "viewer.js").read_text("utf-8")
    text = rest.html(tmp_path / "rest.html").read_text("utf-8")
    tracks = packing.unpack(base64.b64decode(Reader(text).texts["script", "frames-data"]))
    np.testing.assert_allclose(tracks["x"][0], rest["bob"].position, atol=1e-6)
    with rest.view(browser=False, block=False) as shown, ask(shown.address) as answer:
        assert answer.status == 200


# --- live ------------------------------------------------------------------------------------------------------------


def frames(live, first, generation=0):
    with ask(f"{live.address}frames?from={first}&generation={generation}") as answer:
        content = answer.read()
        found = packing.unpack(content) if content else {}
        return found, int(answer.headers["X-Generation"]), answer.headers["X-Done"]


def test_live_frames_are_those_that_were_pushed(motion, monkeypatch):
    monkeypatch.setattr(viewer, "LIVE_GAP", 0.0)
    with viewer.LiveView(motion.compiled, 2.0, browser=False) as live:
        with ask(live.address) as answer:
            static = json.loads(Reader(answer.read().decode()).texts["script", "scene"])
        assert static["live"] == {"until": 2.0, "generation": 0}
        assert live.frames == 1  # where it starts
        times = np.linspace(0.1, 1.0, 10)
        for t in times:
            assert live.push(t, motion(t).y)
        assert not live.push(0.5, motion(0.5).y)  # not in order
        found, generation, done = frames(live, 1)
        np.testing.assert_array_equal(found["t"].ravel(), times)
        np.testing.assert_allclose(found["x"], motion(times)["bob"].position, atol=1e-6)
        assert (generation, done) == (0, None)
        assert frames(live, 11)[0] == {}
        live.finish("finished: 12 steps", motion)
        found, generation, done = frames(live, 11)
        assert (generation, done) == (1, "finished: 12 steps")
        assert len(found["t"]) == 121  # the whole motion in place of the rows
        assert frames(live, 121, 1)[0] == {}


def test_live_frames_are_thinned_out(motion, monkeypatch):
    monkeypatch.setattr(viewer, "LIVE_FRAMES", 10)
    monkeypatch.setattr(viewer, "LISTENING", 0.0)
    monkeypatch.setattr(viewer, "LIVE_GAP", 0.0)
    with viewer.LiveView(motion.compiled, 2.0, browser=False) as live:
        for t in np.linspace(0.0, 1.0, 16):
            live.push(t, motion.y[0])
        assert 5 <= live.frames <= 10
        found, generation, _ = frames(live, 11, 0)
        assert generation == 2  # halved twice
        assert len(found["t"]) == live.frames  # everything anew
        with pytest.raises(ValueError, match="columns"):
            live.push(1.5, [1.0])


def test_pushing_is_rare_and_quick(motion):
    with viewer.LiveView(motion.compiled, 1e9, browser=False) as live:
        start = time.monotonic()
        kept = sum(live.push(1e-5 * k, motion.y[0]) for k in range(1, 20001))
        assert kept <= 2 + (time.monotonic() - start) / viewer.LIVE_GAP
    start = time.monotonic()
    live.close()  # nobody was asking: no need to wait
    assert time.monotonic() - start < 1.0


def test_quick_runs_are_shown_evenly(motion, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr(viewer.time, "monotonic", lambda: now)  # no time passes
    times = np.linspace(0.0, 2.0, 20001)[1:]
    with viewer.LiveView(motion.compiled, 2.0, browser=False) as live:
        for block in np.split(times, 20):
            live.push(block, np.tile(motion.y[0], (len(block), 1)))
        kept = [t for t, _ in live._rows]
        assert kept[-1] == 2.0
        assert len(kept) == pytest.approx(600, abs=15)
        np.testing.assert_allclose(np.diff(kept)[:-1], 2.0 / 600, rtol=0.05)


def test_a_browser_that_starts_is_waited_for(motion, monkeypatch):
    monkeypatch.setattr(viewer.webbrowser, "open", lambda _: True)
    monkeypatch.setattr(viewer, "STARTING", 0.5)
    live = viewer.LiveView(motion.compiled, 1.0)
    start = time.monotonic()
    live.close()
    assert 0.3 < time.monotonic() - start < 5.0


def test_questions_of_strangers_do_no_harm(motion, monkeypatch):
    monkeypatch.setattr(viewer, "LISTENING", 0.0)
    with viewer.LiveView(motion.compiled, 1.0, browser=False) as live:
        for query in ("from=-5", "from=x&generation=y", "from=99999999999999999999", "from=%00", ""):
            with ask(f"{live.address}frames?{query}") as answer:
                assert answer.status == 200


# --- a real browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return tmp_path_factory.mktemp("profile")


def run(address, profile, *more):
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *more, address]
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "GPU stall" not in line]
    assert not told, told
    return done.stdout


def shot(address, profile, size="800,500"):
    image = profile / "shot.png"
    run(address, profile, f"--window-size={size}", f"--screenshot={image}")
    pixels = pytest.importorskip("matplotlib.image").imread(image)
    return pixels[40:440, :520, :3]  # the view alone


def like(pixels, color, slack=0.12):
    """Which pixels have about the hue of a colour, whatever its light."""
    wanted = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    bright = pixels.max(axis=-1, keepdims=True)
    near = np.abs(pixels / np.maximum(bright, 1e-3) - wanted / wanted.max()) < slack
    return near.all(-1) & (bright[..., 0] > 0.3)


@browser
def test_the_file_in_a_browser(motion, tmp_path, profile):
    file = motion.html(tmp_path / "hose.html")
    page = run(f"{file.as_uri()}#t=1.5&show=joints,forces,traces,frames,names,floor", profile, "--dump-dom")
    assert 'data-ready="true"' in page
    assert re.search(r'id="time"[^>]*>1\.50 / 2 s<', page)
    for text in ("curvature", "energy", "hose: end forces", "bob: position", "longest arrow", "kinetic"):
        assert text in page
    assert re.search(r"<span[^>]*>hose</span>", page)  # its label
    assert re.search(r'id="trouble"[^>]*hidden', page)


@browser
def test_the_picture_moves(motion, tmp_path, profile):
    page = motion.html(tmp_path / "hose.html").as_uri()
    start = shot(f"{page}#t=0&show=floor&color=&theme=light&options=closed", profile)
    later = shot(f"{page}#t=0.6&show=floor&color=moment&theme=dark&options=closed", profile)
    assert later.mean() < 0.25 < 0.8 < start.mean()
    # The bob swings from the right to the left and down.
    (y0, x0), (y1, x1) = (np.argwhere(like(pixels, "#aa3377")).mean(axis=0) for pixels in (start, later))
    assert min(like(pixels, "#aa3377").sum() for pixels in (start, later)) > 100
    assert x0 - x1 > 50
    assert y1 - y0 > 50
    # The rod is plain at first, and from blue to yellow with its moment.
    assert like(start, "#ee7733").sum() > 100
    assert like(later, "#fde725", 0.25).sum() > 5


@browser
def test_names_do_nothing_in_a_browser(nasty, profile):
    with nasty.view(browser=False, block=False, title=NASTY) as shown:
        page = run(f"{shown.address}#t=0&show=names,joints", profile, "--dump-dom")
    assert 'data-ready="true"' in page
    assert "<img" not in page
    assert "owned" in page
    assert not re.search(r"<title>owned", page)


@browser
def test_a_running_simulation_in_a_browser(motion, profile, monkeypatch):
    monkeypatch.setattr(viewer, "LIVE_GAP", 0.0)
    with viewer.LiveView(motion.compiled, 2.0, browser=False) as live:
        for t in np.linspace(0.0, 1.0, 12):
            live.push(t, motion(t).y)
        late = threading.Timer(0.5, lambda: (live.push(2.0, motion(2.0).y), live.finish("finished", motion)))
        late.start()
        # Of two such flags the last one counts: two seconds of the page's clock may pass before it is answered.
        page = run(f"{live.address}#flat", profile, "--dump-dom", "--virtual-time-budget=20000")
        late.join()
    assert re.search(r'id="about"[^>]*>(finished|running: [12][^<]* s of 2 s)<', page)
    assert "no WebGL2" in page  # asked for: plots and timeline work without
    assert "kinetic" in page
