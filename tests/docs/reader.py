"""Who does what a page says: writes its files, types its commands, and looks whether they say what the page says.

A block with a caption is a file of that name. A block of the language ``console`` is a terminal: lines that begin with
``$`` are typed, and those after each are what comes of it, in this order, where ``...`` stands for anything. What does
not end by itself is left running, in a terminal of its own, until all is read; what a block says before its first ``$``
appears in the first of these.

The folder is empty and the reader's own. Numbers from 7780 to 7799 are ports, and the reader takes others instead, that
are free on this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sysconfig
import threading
from pathlib import Path
from types import TracebackType

from tests.docs.blocks import Block, blocks_of
from tests.live.broker import PATIENCE_SECONDS, path_of_fmqbus

#: Installing a package may need the network.
_INSTALLING_SECONDS = 300.0
#: Commands that go on until somebody stops them.
_LASTING = re.compile(r"twistd -n |fmqbus (sub|watch) (?!.*--(count|timeout))")

_PORT = re.compile(r"\b77[89]\d\b")


class Reader:
    """A context manager; left, all that still runs is ended."""

    def __init__(self, page: str, folder: Path) -> None:
        self._page = page
        self._folder = folder
        self._ports: dict[str, str] = {}
        self._terminals: list[_Terminal] = []
        #: Those of them in which something goes on.
        self._lasting: list[_Terminal] = []
        #: What he installs, as if he had an environment of his own in which there is fmqbus already.
        self._site = folder / "site"
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]),
            "PYTHONPATH": os.pathsep.join([str(self._site), path_of_fmqbus()]),
            "PYTHONUNBUFFERED": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for terminal in reversed(self._terminals):
            terminal.kill()

    def read(self) -> None:
        """The page, from top to bottom."""
        for block in blocks_of(self._page):
            if block.file:
                self._write(block)
            elif block.language == "console":
                self._type(block)
        for terminal in self._lasting:
            terminal.must_have_said_all()
        for terminal in reversed(self._lasting):
            terminal.stop()

    def _write(self, block: Block) -> None:
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._placed(block.text), encoding="utf-8")

    def _type(self, block: Block) -> None:
        """Do all that is shown at a prompt. ``^C`` is typed in the terminal in which something was begun last."""
        appears, *all_typed = re.split(r"^\$ ", self._placed(block.text), flags=re.MULTILINE)
        if appears:
            self._lasting[0].must_say(appears.splitlines())
        for typed in all_typed:
            command, _, expected = typed.replace("\\\n", "").partition("\n")
            expected, interrupts, _ = expected.partition("^C\n")
            if exported := re.fullmatch(r"export (\w+)=(.*)", command):
                self._export(*exported.groups())
                continue
            command = command.replace("pip install ", f"python -m pip install --quiet --no-deps --target {self._site} ")
            terminal = _Terminal(command, expected.splitlines(), self._folder, self._environment)
            self._terminals.append(terminal)
            if _LASTING.match(command):
                self._lasting.append(terminal)
                if command.startswith("twistd"):
                    terminal.must_have_said_all()
            else:
                terminal.must_end_well(_INSTALLING_SECONDS if "pip " in command else PATIENCE_SECONDS)
            if interrupts:
                self._lasting.pop().stop()

    def _export(self, name: str, value: str) -> None:
        value = value.replace("$PWD", str(self._folder))
        self._environment[name] = f"{value}{os.pathsep}{path_of_fmqbus()}" if name == "PYTHONPATH" else value

    def _placed(self, text: str) -> str:
        return _PORT.sub(lambda found: self._ports.setdefault(found[0], _free_port()), text)


def _free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


class _Terminal:
    """One command, and what the page says that comes of it."""

    def __init__(self, command: str, expected: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._command = command
        self._expected = expected
        self._said: list[str] = []
        self._grown = threading.Condition()
        self._is_over = False
        self._process = subprocess.Popen(
            ["sh", "-c", f"exec {command}" if _is_single(command) else command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def must_say(self, more: list[str]) -> None:
        """Wait for this, after all that was expected before."""
        self._expected += more
        self.must_have_said_all()

    def must_have_said_all(self) -> None:
        """Wait for what the page says; fails where that does not come."""
        with self._grown:
            self._grown.wait_for(lambda: self._is_over or not self._missing(), PATIENCE_SECONDS)
            assert not self._missing(), self._complaint(f"it has not said {self._missing()[0]!r}")

    def must_end_well(self, patience: float) -> None:
        """Wait for the end; fails where it ends with another exit code than 0, or has not said what the page says."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(self._complaint("it does not end")) from None
        self._listener.join(PATIENCE_SECONDS)
        assert code == 0, self._complaint(f"it ends with {code}")
        self.must_have_said_all()

    def stop(self) -> None:
        """Control-C."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE_SECONDS)
        self._listener.join(PATIENCE_SECONDS)
        assert not any("Traceback" in line for line in self._said), self._complaint("it has failed within")

    def kill(self) -> None:
        """End it by force."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._listener.join(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _missing(self) -> list[str]:
        """Of what is expected, all from the first line that has not been said."""
        said = iter(list(self._said))
        for number, line in enumerate(self._expected):
            pattern = re.compile(".*".join(map(re.escape, re.split(r"\.\.\.", " ".join(line.split())))))
            if not any(pattern.fullmatch(" ".join(one.split())) for one in said):
                return self._expected[number:]
        return []

    def _complaint(self, what: str) -> str:
        return "\n".join([f"$ {self._command}", *self._said, f"-- {what}"])

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._grown:
                self._said.append(line.rstrip())
                self._grown.notify_all()
        with self._grown:
            self._is_over = True
            self._grown.notify_all()


def _is_single(command: str) -> bool:
    """Whether the shell can become this command, so that signals reach it."""
    return not {"|", "&&", ";", "||"} & set(shlex.split(command)) and "|" not in command
