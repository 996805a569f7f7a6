"""Feed our readers of octets with ever new ones until the time is over or some are not borne.

Octets that were not borne are left in the current folder and named; give the file as an argument, with its target, to
see it again. Atheris, where it is installed, is led by what the code does; otherwise Hypothesis varies the vectors.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

try:
    import atheris
except ImportError:
    atheris = None

#: Modules beside this one, each with `SEEDS` to begin with and a `check` that raises for octets that are not borne.
TARGETS = ("fmqp_decoder", "micromsg2_decoder", "micromsg2_server", "umq_peer", "emqp_codec", "mtl_codec")

#: Some 200 neighbours with the same header: enough to reach what a decoder does for long runs.
INPUT_OCTETS = 4096


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    arguments.add_argument("--seconds", type=int, default=60, help="how long to search each target (default: 60)")
    arguments.add_argument("--target", choices=TARGETS, help="search only this one")
    arguments.add_argument("inputs", nargs="*", type=Path, help="files to check instead of searching")
    chosen = arguments.parse_args()
    if chosen.target is None:
        if chosen.inputs:
            arguments.error("to check files, name their target")
        search_all(chosen.seconds)
        return
    target = load(chosen.target)
    if chosen.inputs:
        for path in chosen.inputs:
            target.check(path.read_bytes())
    elif atheris:
        search_by_coverage(target, chosen.seconds, f"fuzz-{chosen.target}-")
    else:
        search_by_variation(target, chosen.seconds)


def load(name: str) -> Any:
    """Import a target, and with it what it is about, so that Atheris sees what that does."""
    module = f"tests.fuzz.{name}"
    if atheris is None:
        return importlib.import_module(module)
    with atheris.instrument_imports(include=["fmqbus.protocols"]):
        return importlib.import_module(module)


def search_all(seconds: int) -> None:
    """One target after the other, each in a process of its own, which Atheris ends. Fails where one did."""
    statuses = []
    for name in TARGETS:
        print(f"{name}:", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", "--target", name, "--seconds", str(seconds)]
        statuses.append(subprocess.run(command, check=False).returncode)
    sys.exit(any(statuses))


def search_by_coverage(target: Any, seconds: int, prefix: str) -> None:
    """Let Atheris search; it ends the process, with a failure if it found something."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(target.SEEDS):
            Path(corpus, f"seed-{number}").write_bytes(seed)
        options = [f"-max_total_time={seconds}", f"-max_len={INPUT_OCTETS}", f"-artifact_prefix={prefix}"]
        atheris.Setup([sys.argv[0], corpus, *options], target.check)
        atheris.Fuzz()


def search_by_variation(target: Any, seconds: int) -> None:
    """Let Hypothesis search in rounds, each from a new seed."""
    print("Atheris is not installed: searching with Hypothesis", flush=True)
    streams = st.lists(st.sampled_from(target.SEEDS) | st.binary(max_size=64)).map(b"".join)
    round_of_checks = settings(max_examples=1000, deadline=None, database=None)(given(streams)(target.check))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        round_of_checks()


main()
