"""Does our broker pass the probe, with its sockets apart and with one for all?

Most of the probe's time is waiting, so both run at the same time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.places import endpoints_of
from tests.interop.programs import python
from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN

_ROOT = Path(__file__).parents[2]
_SECONDS = 200.0

Probes = Mapping[str, "tuple[Broker, subprocess.Popen[str]]"]


@pytest.fixture(scope="module")
def probes() -> Iterator[Probes]:
    """A probe at work on each of two brokers."""
    with ExitStack() as opened:
        begun = {}
        for name, listen in (("apart", LISTEN), ("shared", _shared())):
            broker = opened.enter_context(Broker("--listen", listen))
            places = endpoints_of(broker)
            words = ["--scheduler", "--expect-result", "--frontend", places["frontend"], "--backend", places["backend"]]
            if name == "apart":
                words += ["--admin", places["admin"], "--pub-in", places["pubin"], "--pub-out", places["pubout"]]
            command = [python(), "-m", "tests.interop.probe", *words]
            process = subprocess.Popen(
                command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
            )
            begun[name] = broker, opened.enter_context(process)
            opened.callback(process.terminate)
        yield begun


def _shared() -> str:
    """Names with the same port share a socket."""
    with Broker("--listen", "fmqp:tcp:0") as other:
        return f"emqp:zmq:frontend={other.port}:backend={other.port}"


@pytest.mark.parametrize("name", ["apart", "shared"])
def test_a_broker_passes_the_probe(probes: Probes, name: str) -> None:
    """With scheduler and results; apart also administration and publications, which have sockets of their own."""
    broker, process = probes[name]
    printed, _ = process.communicate(timeout=_SECONDS)
    print(printed, file=sys.stderr)
    assert process.returncode == 0, printed
    assert broker.stop() == 0
    assert "Traceback" not in broker.text
