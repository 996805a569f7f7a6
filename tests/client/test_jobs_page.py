"""Does docs/jobs.md tell the truth? Its programs and commands are run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import fmqbus
from fmqbus.cli.work import command as work
from fmqbus.job_functions import JobOptions
from tests.live.broker import PATIENCE_SECONDS, Broker

PAGE = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
MODULE, SCRIPT, TWISTED, SCHEDULES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
WORK, ENQUEUE_AND_WAIT, ENQUEUE = re.findall(r"^    (fmqbus .+)$", PAGE, re.MULTILINE)
_COMMAND = "from fmqbus.cli.main import main; main()"


class Shop:
    """A folder with the application, and a broker and a worker that were started as the page says."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        (folder / "shop_jobs.py").write_text(MODULE, encoding="utf-8")
        said = broker.wait_for(r"eMQP has frontend=(\d+), backend=(\d+)")
        self._folder = folder
        self.url = f"emqp://127.0.0.1:{said[1]}"
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{Path(fmqbus.__file__).parents[1]}:{folder}",
            "FMQBUS_BROKER": self.url,
        }
        self.worker = self._start(*_program(WORK), "--broker", f"tcp://127.0.0.1:{said[2]}")

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines_of(self, *arguments: str) -> list[str]:
        """What a program prints."""
        with self._start(*arguments) as child:
            output, errors = child.communicate(timeout=2 * PATIENCE_SECONDS)
        assert (child.returncode, errors) == (0, "")
        return output.splitlines()


def _program(command: str) -> list[str]:
    _, *arguments = shlex.split(command)
    return ["-c", _COMMAND, *arguments]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Open."""
    listen = "zmq:frontend=0:backend=0:interface=127.0.0.1"
    with Broker("--listen", listen, command="emqp") as broker:
        shop = Shop(tmp_path, broker)
        yield shop
        shop.worker.terminate()
        shop.worker.communicate(timeout=PATIENCE_SECONDS)


def test_the_programs_and_commands_do_what_the_page_says(shop: Shop) -> None:
    """In its order."""
    assert shop.lines_of("-c", SCRIPT, shop.url) == [
        "3",
        "HowFar(fraction=0.5, note='rendered')",
        "invoice 7 is sent",
        "ValueError - ValueError: there is no invoice -1",
    ]
    assert shop.lines_of("-c", TWISTED, shop.url) == ["3", "invoice 7 is sent"]
    assert shop.lines_of(*_program(ENQUEUE_AND_WAIT)) == ["3"]
    assert len(shop.lines_of(*_program(ENQUEUE))) == 1
    assert shop.lines_of("-c", SCHEDULES, shop.url) == []


def test_every_option_is_explained() -> None:
    """Of the decorator, and of the worker."""
    words = [f"`{field.name}`" for field in attrs.fields(JobOptions)]
    words += [f"`{parameter.opts[0]}`" for parameter in work.params if parameter.opts[0] != "--verbose"]
    assert [word for word in words if word not in PAGE] == []
