"""`fmqbus.cli.stdin`: lines of a descriptor, when somebody wants them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet import reactor

from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.stdin import LineReader


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test may have closed it
            os.close(end)


@pytest_twisted.ensureDeferred
async def test_lines_come_as_they_are_written(pipe: tuple[int, int]) -> None:
    """However they are cut; the last may lack its end."""
    reading, writing = pipe
    lines = LineReader(reactor, reading, 100).lines()
    os.write(writing, b"one\ntw")
    assert await anext(lines) == b"one"
    os.write(writing, b"o\n\nthree")
    assert [await anext(lines), await anext(lines)] == [b"two", b""]
    os.close(writing)
    assert [line async for line in lines] == [b"three"]


@pytest_twisted.ensureDeferred
async def test_a_file_can_be_read_too(tmp_path: Path) -> None:
    """Though no file is ever not ready, and epoll knows none."""
    path = tmp_path / "lines"
    path.write_bytes(b"x\n" * 20_000)
    with path.open("rb") as file:
        assert len([line async for line in LineReader(reactor, file.fileno(), 100).lines()]) == 20_000


@pytest_twisted.ensureDeferred
async def test_too_long_a_line_is_an_error(pipe: tuple[int, int]) -> None:
    """Nothing is published of it."""
    reading, writing = pipe
    os.write(writing, b"x" * 101)
    with pytest.raises(CommandFailed, match="more than 100 octets"):
        await anext(LineReader(reactor, reading, 100).lines())
