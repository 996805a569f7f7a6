"""The program of docs/embedding.md, as it stands there, in a process of its own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fmqbus.protocols.fmqp.codec import CACHE, SUBSCRIPTION, encode

_PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"


def blocks() -> list[str]:
    """The page's programs."""
    return re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The page's first program as a file."""
    file = tmp_path / "thermometer.py"
    file.write_text(blocks()[0])
    return file


def test_users_of_the_application_may_do_what_the_rules_say() -> None:
    """As the page says that the program says."""
    _, program = blocks()
    told = re.search(r"^It says: (.*)$", _PAGE.read_text(), re.MULTILINE)
    assert told
    said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert said.stdout.splitlines() == re.findall(r"`(.*?)`", told[1])


def test_the_embedding_program_measures_only_for_somebody(program: Path) -> None:
    """It listens, feeds a subscriber, and ends in good order when told to."""
    with subprocess.Popen([sys.executable, program, "0"], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            port = int(child.stdout.readline().rpartition(" ")[2])
            with socket.create_connection(("127.0.0.1", port), 30) as client:
                client.sendall(encode(SUBSCRIPTION, b"room/temperature"))
                first = client.recv(6 + len("room/temperature") + 5, socket.MSG_WAITALL)
                assert first.startswith(encode(CACHE, b"room/temperature", b"21.00")[: 6 + len("room/temperature")])
            child.send_signal(signal.SIGTERM)
            assert child.wait(30) is not None
        finally:
            child.kill()
