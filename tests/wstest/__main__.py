"""Put Autobahn's fuzzing client on a listener of ours, and write what came of it into docs/websocket.md.

Fails if a case was not passed. All 517 cases take half an hour, nearly all of it for compression.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import measured
from tests.wstest import listener, suite, verdicts

PAGE = Path(__file__).parents[2] / "docs" / "websocket.md"
_ALL = ["*"]
#: What takes a few seconds: all but long messages, and of compression one case of each kind.
_SMOKE = [*(f"{category}.*" for category in (1, 2, 3, 4, 5, 6, 7, 10)), "12.1.1", "13.1.1"]


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.wstest", description=__doc__)
    arguments.add_argument("--python", type=Path, help="a Python 2.7, if not the one that is found")
    arguments.add_argument("--smoke", action="store_true", help="the cases that take no time; writes no page")
    arguments.add_argument("--optional", action="store_true", help="without a Python 2.7, say so and do not fail")
    arguments.add_argument("cases", nargs="*", metavar="CASE", help="only these, as 6.*; writes no page")
    chosen = arguments.parse_args()
    cases = chosen.cases or (_SMOKE if chosen.smoke else _ALL)
    python = chosen.python or suite.find_python()
    if python is None:
        print(suite.MISSING)
        sys.exit(not chosen.optional)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = suite.install(python, folder / "python")
        with listening() as url:
            report = suite.run(program, url, cases, folder)
            if late := verdicts.not_passed(report):
                # many wait for half a second only, which can be too short on a busy machine; a mistake comes again
                print(f"tried again: {', '.join(late)}", flush=True)
                report |= suite.run(program, url, late, folder)
    account = verdicts.table(report)
    print(f"\n{account}")
    if faults := verdicts.faults(report):
        sys.exit("\n".join(["not passed:", *faults]))
    if cases == _ALL:
        measured.write(PAGE, "wstest", f"AutobahnTestsuite {suite.RELEASE}:\n\n{account}", "tox -e wstest")
        print(f"written to {PAGE}")


@contextmanager
def listening() -> Iterator[str]:
    """A listener in a process of its own; gives its URL."""
    command = [sys.executable, "-m", "tests.wstest.listener"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            assert port, "the listener has ended"
            yield f"ws://127.0.0.1:{port}{listener.PATH}"
        finally:
            process.terminate()


main()
