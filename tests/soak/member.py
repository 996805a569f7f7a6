"""One member of the troupe: ``python -m tests.soak.member CAST PLACE LIFE SEED ADDRESS``, until it is told otherwise.

SIGTERM has it go; a file ``quiet`` beside its account, which the environment variable `FILE` names, has it say nothing
more.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from random import Random

from twisted.internet import reactor
from twisted.logger import LogLevel, globalLogBeginner, textFileLogObserver

from tests.soak.account import FILE, QUIET, Account
from tests.soak.casts import CASTS
from tests.soak.mail import Sender
from tests.soak.traffic import Traffic


def main(cast: str, place: str, life: str, seed: str, address: str) -> None:
    write = textFileLogObserver(sys.stdout)
    observer = lambda event: write(event) if event["log_level"] >= LogLevel.warn else None  # noqa: E731
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
    sender = Sender(place, int(life))
    file = Path(os.environ[FILE])
    account = Account(file)
    party = CASTS[cast](address, str(sender), reactor)
    traffic = Traffic(party, sender, account, file.with_name(QUIET), Random(seed), reactor)

    def gone(result: object) -> None:
        account.write("gone", result or "")
        reactor.stop()  # type: ignore[attr-defined]

    def go() -> None:
        traffic.end().addBoth(gone)

    call = reactor.callFromThread  # type: ignore[attr-defined]
    reactor.callWhenRunning(traffic.begin)  # type: ignore[attr-defined]
    # the reactor's own are there by then, and that for children has to stay
    reactor.callWhenRunning(signal.signal, signal.SIGTERM, lambda *_: call(go))  # type: ignore[attr-defined]
    reactor.run()  # type: ignore[attr-defined]


main(*sys.argv[1:])
