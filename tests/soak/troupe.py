"""The processes of the members, and what is done to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random

import attrs

from tests.live.broker import PATIENCE_SECONDS, path_of_tests
from tests.soak.account import FILE, QUIET
from tests.soak.casts import CASTS
from tests.soak.ledger import Ledger, Life
from tests.soak.mail import Sender


@attrs.define(eq=False)
class Member:
    """One process, which leads a group: a worker has others in it."""

    life: Life
    process: subprocess.Popen[bytes]
    is_stalled: bool = False

    def signal(self, number: signal.Signals, is_for_all: bool = False) -> None:
        """To it, or to all that it has started too."""
        with suppress(ProcessLookupError):
            if is_for_all:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)


class Troupe:
    """So many members of each cast, each at a place of its own where one follows the other."""

    def __init__(self, folder: Path, ledger: Ledger, random: Random) -> None:
        self._folder = folder
        self._ledger = ledger
        self._random = random
        self._lives = count(1)
        #: Place → who has it now.
        self.members: dict[str, Member] = {}
        #: Told to go, and not gone yet → until when they have time.
        self._leaving: list[tuple[Member, float]] = []
        self.killed = self.gone = self.stalled = 0

    def enter(self, cast: str, place: str, address: str) -> None:
        """One takes a place."""
        sender = Sender(place, next(self._lives))
        account = self._folder / f"{sender}.account"
        environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": path_of_tests(), FILE: str(account)}
        said = [cast, place, str(sender.life), str(self._random.random()), address]
        with (self._folder / "members.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.member", *said],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.members[place] = Member(
            self._ledger.begin(cast, sender, account, time.monotonic(), CASTS[cast].has_to_beat), process
        )

    def kill(self, place: str) -> str:
        """Kill who has the place, every other time with all that he has started; returns the cast."""
        member = self.members.pop(place)
        member.life.ended = time.monotonic()
        member.signal(signal.SIGKILL, is_for_all=bool(self._random.randrange(2)))
        member.process.wait(PATIENCE_SECONDS)
        self.killed += 1
        return member.life.cast

    def send_away(self, place: str) -> str:
        """Let him go in good order, which nobody waits for; returns the cast."""
        member = self.members.pop(place)
        self._wake(member)
        member.life.ended = time.monotonic()
        member.signal(signal.SIGTERM)
        self._leaving.append((member, time.monotonic() + PATIENCE_SECONDS))
        self.gone += 1
        return member.life.cast

    def reap(self) -> bool:
        """See who has gone of those who were told to; True if all have."""
        still: list[tuple[Member, float]] = []
        for member, until in self._leaving:
            if (code := member.process.poll()) is not None:
                # whoever has not even begun knows no better way to go
                if code not in (0, -signal.SIGTERM):
                    self._ledger.faults.append(f"{member.life.sender} ended with code {code}")
            elif time.monotonic() < until:
                still.append((member, until))
            else:
                self._ledger.faults.append(f"{member.life.sender} does not go")
                member.signal(signal.SIGKILL, is_for_all=True)
                member.process.wait(PATIENCE_SECONDS)
        self._leaving = still
        return not still

    def stall(self, place: str) -> None:
        """He does nothing any more until he is woken: neither reads nor says a word."""
        member = self.members[place]
        member.life.stalls.append((time.monotonic(), float("inf")))
        member.is_stalled = True
        member.signal(signal.SIGSTOP)
        self.stalled += 1

    def wake(self, place: str) -> None:
        """As if nothing had been. May be repeated, and the place may have become free."""
        if place in self.members:
            self._wake(self.members[place])

    def be_quiet(self) -> None:
        """All wake up, and nobody says anything any more."""
        for member in self.members.values():
            self._wake(member)
        (self._folder / QUIET).touch()

    @property
    def is_quiet(self) -> bool:
        """Whether all have understood that."""
        return all(member.life.is_quiet for member in self.members.values())

    def leave(self) -> None:
        """All go; returns when they have gone."""
        for place in list(self.members):
            self.send_away(place)
        while not self.reap():
            time.sleep(0.1)

    def kill_all(self) -> None:
        """Whatever has happened, nobody stays."""
        for member in (*self.members.values(), *(member for member, _ in self._leaving)):
            member.signal(signal.SIGKILL, is_for_all=True)
            member.process.wait(PATIENCE_SECONDS)

    def dead(self) -> list[str]:
        """Places whose members have ended, which nobody asked for."""
        return [place for place, member in self.members.items() if member.process.poll() is not None]

    def _wake(self, member: Member) -> None:
        if member.is_stalled:
            member.is_stalled = False
            member.life.stalls[-1] = (member.life.stalls[-1][0], time.monotonic())
            member.signal(signal.SIGCONT)
