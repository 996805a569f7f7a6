"""Does the client in JavaScript work in a real browser, against a real broker?"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import fmqbus
from tests.live.broker import PATIENCE_SECONDS, Broker

PAGES = Path(__file__).parent / "browser"
SCRIPTS = Path(fmqbus.__file__).parent / "client" / "js"
_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript"}


@contextmanager
def site() -> Iterator[tuple[str, Queue[tuple[str, Any]]]]:
    """Serves the page and the client; yields its address, and what the page tells."""
    told: Queue[tuple[str, Any]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.partition("?")[0].rpartition("/")[2]
            file = (SCRIPTS if "/js/" in self.path else PAGES) / name
            self.send_response(200 if file.is_file() else 404)
            self.send_header("Content-Type", _TYPES.get(file.suffix, "text/plain"))
            self.end_headers()
            self.wfile.write(file.read_bytes() if file.is_file() else b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.put((self.path[1:], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """The test tells what is worth telling."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", told
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browser(profile: Path, address: str) -> Iterator[None]:
    """Chromium without a screen, on this page."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed")
    switches = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
    process = subprocess.Popen([program, *switches, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)


def free_port() -> int:
    """One that the kernel has just chosen; the bus has to come back at the same one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_a_page_uses_the_bus(tmp_path: Path) -> None:
    """Every step of `browser/page.js` passes, across a restart of the broker."""
    port = free_port()
    with site() as (address, told):
        configuration = tmp_path / "bus.toml"
        configuration.write_text(f'[protocols.umq.websocket]\norigins = ["{address}"]\n')

        def bus() -> Broker:
            listen = f"umq:tcp:{port}:interface=127.0.0.1"
            return Broker("--config", str(configuration), "--listen", listen).start()

        broker = bus()
        passed = []
        try:
            with browser(tmp_path / "profile", f"{address}/page.html?bus=ws://127.0.0.1:{port}/umq"):
                while (said := told.get(timeout=PATIENCE_SECONDS))[0] != "done":
                    word, what = said
                    if word == "restart-the-bus":
                        broker.__exit__(None, None, None)
                        broker = bus()
                    else:
                        assert word == "passed", what
                        passed.append(what)
        finally:
            broker.__exit__(None, None, None)
        assert len(passed) == said[1]
