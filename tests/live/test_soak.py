"""What ``tox -e soak`` believes: does its account of a campaign tell each broken promise, and bear what may be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tests.adversarial.client import wait_until
from tests.live.broker import Broker
from tests.soak.casts import CASTS
from tests.soak.config import write_config
from tests.soak.figures import Figures
from tests.soak.health import Sample, slope
from tests.soak.hearing import Hearing
from tests.soak.kept import kept_values
from tests.soak.ledger import Ledger, Life
from tests.soak.mail import KEPT, SAID, SECRET, Remark, Sender, remark_payload
from tests.soak.plan import What, plan
from tests.soak.troupe import Troupe

FIRST, SECOND, THIRD = Sender("umq-0", 1), Sender("micromsg2-0", 2), Sender("emqp-worker-0", 3)
TOLD = ["1.0\tsent\tq\t1", "1.1\tacked\tq\t1"]


class Stage:
    """A campaign in which three members have written these lines."""

    def __init__(self, folder: Path, *accounts: Sequence[str]) -> None:
        self.ledger = Ledger()
        self.lives: list[Life] = []
        for sender, lines in zip((FIRST, SECOND, THIRD), accounts, strict=False):
            account = folder / f"{sender}.account"
            account.write_text("".join(f"{line}\n" for line in lines))
            cast = sender.place.rpartition("-")[0]
            self.lives.append(self.ledger.begin(cast, sender, account, 0.0, has_to_beat=sender is THIRD))

    def close(self, kept: Mapping[str, Sequence[tuple[Sender, int]]] | None = None) -> list[str]:
        """The faults."""
        self.ledger.close(kept or {})
        return self.ledger.faults


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ([], "was acknowledged and is lost"),
        (["2.0\ttook\tq\tumq-0.1\t1\t0", "3.0\ttook\tq\tumq-0.1\t1\t0"], "came again and did not say so"),
        (["2.0\ttook\tq\tumq-0.1\t1\t0", "3.0\ttook\tq\tumq-0.1\t1\t1"], "came again 1.0 s after micromsg2-0.2"),
        (["2.0\ttook\tq\tumq-0.1\t2\t0", "3.0\ttook\tq\tumq-0.1\t1\t0"], "came behind 2"),
        (["2.0\tburied\tumq-0.1\t1\trejected: cannot be done"], "died of rejected: cannot be done"),
        (["2.0\tburied\tumq-0.1\t1\texpired"], "died of expired"),
        (["2.0\tlost"], "lost its connection 1 times"),
        (["2.0\tfault\tsome words"], "micromsg2-0.2: some words"),
    ],
)
def test_each_broken_promise_is_told(tmp_path: Path, told: Sequence[str], fault: str) -> None:
    """Of a message that was acknowledged to its sender, and what another member writes."""
    assert any(fault in each for each in Stage(tmp_path, TOLD, told).close())


@pytest.mark.parametrize(
    "told",
    [
        ["2.0\ttook\tq\tumq-0.1\t1\t0", "2.1\treleased\tumq-0.1\t1", "3.0\ttook\tq\tumq-0.1\t1\t1"],
        ["2.0\ttook\tq\tumq-0.1\t1\t0", "2.1\trejected\tumq-0.1\t1", "3\tburied\tumq-0.1\t1\trejected: cannot be done"],
        ["2.0\tburied\tumq-0.1\t1\trejected: worker-lost"],
        ["2.0\twhispered", "2.1\tlost", "2.2\ttook\tq\tumq-0.1\t1\t0"],
    ],
)
def test_what_may_be_is_borne(tmp_path: Path, told: Sequence[str]) -> None:
    """Given back, rejected, lost with a worker that must not do it twice, and a connection that was one's own fault."""
    assert Stage(tmp_path, TOLD, told).close() == []


def test_what_a_killed_member_had_may_come_again(tmp_path: Path) -> None:
    """To another, and with the mark."""
    stage = Stage(tmp_path, TOLD, ["2.0\ttook\tq\tumq-0.1\t1\t0"], ["4.0\ttook\tq\tumq-0.1\t1\t1"])
    stage.lives[1].ended = 3.0
    assert stage.close() == []


@pytest.mark.parametrize(("moment", "is_borne"), [((2.5, 3.5), True), ((100.0, 101.0), False)])
def test_what_came_before_the_end_of_a_broker_may_come_again(
    tmp_path: Path, moment: tuple[float, float], is_borne: bool
) -> None:
    """But not what came behind it."""
    stage = Stage(tmp_path, TOLD, ["2.0\ttook\tq\tumq-0.1\t1\t0", "4.0\ttook\tq\tumq-0.1\t1\t1"])
    stage.ledger.ends.append((*moment, True))
    assert (stage.close() == []) is is_borne


def test_only_who_has_to_beat_loses_what_he_has_by_a_stall(tmp_path: Path) -> None:
    """As workers do."""
    lines = ["2.0\ttook\tq\tumq-0.1\t1\t0"], ["4.0\ttook\tq\tumq-0.1\t1\t1"]
    stage = Stage(tmp_path, TOLD, *lines)
    stage.lives[1].stalls.append((2.5, 3.5))
    assert len(stage.close()) == 1
    stage = Stage(tmp_path, TOLD, *reversed(lines))
    stage.lives[2].stalls.append((1.5, 3.5))
    assert stage.close() == []


def test_who_was_stalled_reads_late_what_others_have_by_now(tmp_path: Path) -> None:
    """It had come to him before."""
    stage = Stage(tmp_path, TOLD, ["2.0\ttook\tq\tumq-0.1\t1\t1"], ["30.0\ttook\t-\tumq-0.1\t1\t-"])
    stage.lives[2].stalls.append((1.5, 29.0))
    assert stage.close() == []


def test_a_connection_that_is_lost_by_a_stall_is_nobodys_fault_but_without_one(tmp_path: Path) -> None:
    """Of one who has to beat."""
    for stalls, faults in (([(1.0, 2.0)], 0), ([], 1)):
        stage = Stage(tmp_path, [], [], ["3.0\tlost"])
        stage.lives[2].stalls += stalls
        assert len(stage.close()) == faults


def test_what_is_written_while_others_are_read_waits_for_the_next_time(tmp_path: Path) -> None:
    """Somebody else may have written earlier, behind where he was read."""
    stage = Stage(tmp_path, TOLD, ["3.0\ttook\tq\tumq-0.1\t1\t1"])
    stage.ledger.read(2.5)
    with (tmp_path / f"{FIRST}.account").open("a") as account:
        account.write("2.0\ttook\tq\tumq-0.1\t1\t0\n2.1\treleased\tumq-0.1\t1\n")
    assert stage.close() == []


@pytest.mark.parametrize(("failed", "is_borne"), [((3, 4, 5), True), ((3, 5), False)])
def test_what_nobody_has_heard_is_borne_if_its_sender_was_told(
    tmp_path: Path, failed: Sequence[int], is_borne: bool
) -> None:
    """Of each message."""
    lines = [f"2.{number}\tfailed\t{SAID}/x\t{number}" for number in failed]
    stage = Stage(tmp_path, lines, [f"3.0\tmissed\t{SAID}/x\t{FIRST}\t3\t5"])
    assert (stage.close() == []) is is_borne


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({f"{KEPT}/x": [(FIRST, 5), (FIRST, 5)]}, ""),
        ({f"{KEPT}/x": [(SECOND, 1)]}, ""),
        ({f"{KEPT}/x": [(FIRST, 5), (FIRST, 6)]}, "values that differ"),
        ({f"{KEPT}/x": [(FIRST, 4)]}, "was told to keep"),
        ({}, "has no value any more"),
    ],
)
def test_what_is_kept_is_what_was_told_or_later(
    tmp_path: Path, values: Mapping[str, Sequence[tuple[Sender, int]]], fault: str
) -> None:
    """And the same in all protocols."""
    faults = Stage(tmp_path, [f"1.0\tkept\t{KEPT}/x\t5"]).close(values)
    assert [fault in each for each in faults] == ([True] if fault else [])


class Ear:
    """A member that has heard these numbers of one sender, one a second."""

    def __init__(self, is_gapless: bool = True) -> None:
        self.faults: list[str] = []
        self.now = 0.0
        self.hearing = Hearing(
            is_gapless, lambda: self.now, self.faults.append, lambda *missed: self.faults.append(str(missed))
        )

    def hear(self, *numbers: int, topic: str = f"{SAID}/umq-0", life: int = 1) -> list[str]:
        """Returns the faults up to now."""
        for number in numbers:
            self.now += 0.5
            self.hearing.heard(topic, remark_payload(Remark(Sender("umq-0", life), number), 10))
        return self.faults


@pytest.mark.parametrize("numbers", [(1, 1), (2, 1), (1, 3)])
def test_what_is_heard_twice_or_out_of_order_or_not_at_all_is_told(numbers: tuple[int, int]) -> None:
    """Topic by topic, and sender by sender."""
    assert len(Ear().hear(*numbers)) == 1


def test_what_a_stalled_member_has_missed_is_counted() -> None:
    """There was no more room for it."""
    ear = Ear()
    ear.hear(1)
    ear.now += 20.0
    assert ear.hear(100) == []
    assert ear.hearing.counts["missed after a stall"] == 98


def test_where_a_protocol_promises_less_it_is_counted() -> None:
    """But its order holds."""
    ear = Ear(is_gapless=False)
    assert ear.hear(1, 3) == []
    assert ear.hearing.counts["missed by subscribers of eMQP"] == 1
    assert len(ear.hear(2)) == 1


def test_a_new_life_and_a_new_connection_begin_anew() -> None:
    """What is kept comes again."""
    ear = Ear()
    ear.hear(5)
    assert ear.hear(1, life=2) == []
    ear.hearing.came()
    assert ear.hear(1, life=2) == []
    assert len(ear.hear(9, life=1)) == 1


def test_what_no_rule_allows_is_heard_by_nobody() -> None:
    """Whatever its number."""
    assert Ear().hear(1, topic=f"{SECRET}/umq-0") == [f"heard what no rule allows: {SECRET}/umq-0"]


def test_the_slope_of_memory_is_seen_through_what_comes_and_goes() -> None:
    """Of one MiB in a minute, with a peak every now and then; a short life says nothing."""
    samples = [Sample(at, 80 + at / 60 + (30 if at % 7 else 0)) for at in range(0, 1200, 2)]
    assert slope(samples) == pytest.approx(60.0, rel=0.05)
    assert slope(samples[:150]) is None


def test_a_seed_chooses_all_that_happens() -> None:
    """Whoever is stalled is woken, and all are left in peace at the end."""
    places = ["fmqp-0", "umq-0"]
    deeds = plan(Random(4), 1000.0, places)
    assert deeds == plan(Random(4), 1000.0, places)
    assert {deed.what for deed in deeds} == set(What)
    stalls = [sum(deed.what is what for deed in deeds) for what in (What.STALL, What.WAKE)]
    assert stalls[0] == stalls[1] > 10
    assert deeds[-1].at <= 950.0


def test_members_of_every_cast_do_what_their_protocol_has_words_for(tmp_path: Path) -> None:
    """On one bus, and then go: what was acknowledged has been taken, and nothing of anybody is left."""
    ledger = Ledger()
    troupe = Troupe(tmp_path, ledger, Random(1))
    listens = list(dict.fromkeys(party.listens for party in CASTS.values()))

    def have_done(acts: int) -> bool:
        ledger.read()
        speaking = [life for life in ledger.lives if life.cast != "emqp-worker"]
        return all(life.counts.total() >= acts for life in speaking)

    def are_over() -> bool:
        ledger.read()
        return troupe.is_quiet and not ledger.open

    with Broker("--config", str(write_config(tmp_path, listens))) as broker, ExitStack() as opened:
        opened.callback(troupe.kill_all)
        before = Figures(broker).remains
        for cast, party in CASTS.items():
            troupe.enter(cast, f"{cast}-0", party.address(broker))
        wait_until(lambda: have_done(100), "all members at work")
        troupe.be_quiet()
        wait_until(are_over, "all members quiet, and all queues empty")
        kept = kept_values(broker, KEPT)
        troupe.leave()
        wait_until(lambda: not Figures(broker).remains.beyond(before), "a broker as at first")
        assert broker.stop() == 0
    ledger.close(kept)
    assert ledger.faults == []
    assert {"answered", "enqueued", "feedback", "heard", "published", "retained"} <= ledger.total().keys()
    assert ledger.taken > 20
