"""Feed a decoder with ever new octets until the time is over or some are not borne.

Octets that were not borne are left in the current folder and named; give the file as an argument to see it again.
Atheris, where it is installed, is led by what the decoder's code does; otherwise Hypothesis varies the vectors.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

try:
    import atheris
except ImportError:
    atheris = None
else:
    with atheris.instrument_imports(include=["fmqbus.protocols.fmqp.codec"]):
        importlib.import_module("fmqbus.protocols.fmqp.codec")

from tests.fuzz.fmqp_decoder import SEEDS, check

#: Some 200 neighbours with the same header: enough to reach what the decoder does for long runs.
INPUT_OCTETS = 4096


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    arguments.add_argument("--seconds", type=int, default=60, help="how long to search (default: 60)")
    arguments.add_argument("inputs", nargs="*", type=Path, help="files to check instead of searching")
    chosen = arguments.parse_args()
    if chosen.inputs:
        for path in chosen.inputs:
            check(path.read_bytes())
    elif atheris:
        search_by_coverage(chosen.seconds)
    else:
        search_by_variation(chosen.seconds)


def search_by_coverage(seconds: int) -> None:
    """Let Atheris search; it ends the process, with a failure if it found something."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS):
            Path(corpus, f"seed-{number}").write_bytes(seed)
        options = [f"-max_total_time={seconds}", f"-max_len={INPUT_OCTETS}", "-artifact_prefix=fuzz-"]
        atheris.Setup([sys.argv[0], corpus, *options], check)
        atheris.Fuzz()


def search_by_variation(seconds: int) -> None:
    """Let Hypothesis search in rounds, each from a new seed."""
    print("Atheris is not installed: searching with Hypothesis", flush=True)
    streams = st.lists(st.sampled_from(SEEDS) | st.binary(max_size=64)).map(b"".join)
    round_of_checks = settings(max_examples=1000, deadline=None, database=None)(given(streams)(check))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        round_of_checks()


main()
