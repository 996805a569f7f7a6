"""Does the journal tell what has happened on a bus, and only what it may, and what does it do when the disk cannot?"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs, formatEvent

from fmqbus.auth.name_pattern import NamePattern
from fmqbus.interfaces import IObserver, IServiceTopic
from fmqbus.journal.entries import FrameBuilder
from fmqbus.journal.errors import JournalError
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.log import Log
from fmqbus.limits import Limits
from fmqbus.model import Message, Outcome, PeerFacts, Principal, Publication
from fmqbus.observers.journal import writer as writer_module
from fmqbus.observers.journal.health import JournalHealth
from fmqbus.observers.journal.journal import PACKETS_FORMAT, Journal
from fmqbus.observers.journal.settings import JournalSettings, Keep, KeepRule, Sort, WhenBehind
from fmqbus.protocols.fmqp.codec import WIRE, Decoder, encode
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.contracts.observer import ObserverContract
from fmqbus.testing.contracts.service_topic import ServiceTopicContract
from fmqbus.testing.service_context import MemoryServiceContext

Steps = Generator[Deferred[Any], Any, None]

ANNA = Principal("umq", PeerFacts("tcp", "192.0.2.1", port=4711), "anna")


class TestJournal(ObserverContract):
    """As any observer."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self._path = tmp_path

    def make_observer(self) -> IObserver:
        return Journal(Clock(), lambda: 0.0, JournalSettings(path=self._path))


class TestHealth(ServiceTopicContract):
    """What is told of it."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self._path = tmp_path

    def make_topic(self) -> IServiceTopic:
        return JournalHealth(Journal(Clock(), lambda: 0.0, JournalSettings(path=self._path)))


class Stage:
    """A bus with a journal, whose time of day the test says."""

    def __init__(self, path: Path, limits: Limits | None = None, **settings: Any) -> None:
        self.path = path
        self.now = 1_000.0
        self.journal = Journal(reactor, lambda: self.now, JournalSettings(path=path, **settings))
        self.router: Router = make_router(observers=[self.journal], wall=lambda: self.now, limits=limits or Limits())
        self.decoder = Decoder(1_000)

    def client(self, principal: Principal = ANNA) -> MemoryClient:
        """A new client."""
        return MemoryClient(self.router, principal)

    def send(self, client: MemoryClient, *messages: tuple[bytes, bytes]) -> None:
        """One read of an FMQP client brings these."""
        data = b"".join(encode(0, topic, payload) for topic, payload in messages)
        for topic, _ in messages:
            client.session.routes[topic].rematch()
        for event in self.decoder.feed(data, client.session.routes):
            assert isinstance(event, Publication)
            client.session.dispatch(event)
        client.session.flush()

    @inlineCallbacks
    def rows(self, *columns: str) -> Generator[Deferred[Any], Any, list[Any]]:
        """Open and close the journal; what it then says, without clients' coming and going."""
        yield self.journal.open()
        yield self.journal.close()
        return self.written(*columns)

    def written(self, *columns: str) -> list[Any]:
        """What is on the disk."""
        folder = JournalFolder(self.path)
        table = pa.Table.from_batches(folder.read(0, 0, folder.end(0)), None)
        table.validate(full=True)
        rows = [row for row in table.to_pylist() if row["kind"] not in ("connect", "disconnect", "demand")]
        return [tuple(row[name] for name in columns) for row in rows]


@inlineCallbacks
def test_runs_and_single_messages_are_told_with_who_sent_them(tmp_path: Path) -> Steps:
    """And with how many they went to."""
    stage = Stage(tmp_path)
    stage.client().subscribe(b"a/*")
    sender = stage.client(Principal("fmqp", PeerFacts("tcp", "::1", port=9)))
    stage.send(sender, (b"a/b", b"\xff\0"), (b"a/b", b"22"), (b"x", b"333"), (b"a/c", b"4"))
    sender.publish(b"a/d", b"kept", retain=True)
    sender.session.publish(Message(b"x", b"p", properties={"k": "ü"}))
    rows = yield stage.rows("kind", "topic", "payload", "subscribers", "retain", "properties", "client", "protocol")
    who = ("[::1]:9", "fmqp")
    assert sorted(rows, key=lambda row: row[1]) == [
        ("publish", "a/b", b"\xff\0", 1, False, None, *who),
        ("publish", "a/b", b"22", 1, False, None, *who),
        ("publish", "a/c", b"4", 1, False, None, *who),
        ("publish", "a/d", b"kept", 1, True, None, *who),
        ("publish", "x", b"333", 0, False, None, *who),
        ("publish", "x", b"p", 0, False, [("k", "ü")], *who),
    ]


@inlineCallbacks
def test_the_fate_of_a_queues_message_is_told_in_order(tmp_path: Path) -> Steps:
    """From its coming to its end, with the time that its consumer took."""
    stage = Stage(tmp_path)
    producer, worker = stage.client(), stage.client()
    producer.enqueue(b"q", b"job", priority=3, time_to_live=5.0)
    consumer = worker.consume(b"q")
    stage.now += 0.5
    worker.settle(consumer, outcome=Outcome.RELEASE)
    stage.now += 0.25
    worker.settle(consumer)
    producer.enqueue(b"q", b"bad")
    worker.settle(consumer, outcome=Outcome.REJECT)
    rows = yield stage.rows("kind", "topic", "payload", "size", "message_id", "deliveries", "outcome", "latency_us")
    assert rows == [
        ("enqueue", "q", b"job", 3, 1, 0, None, None),
        ("deliver", "q", None, 3, 1, 1, None, None),
        ("release", "q", None, 3, 1, 1, None, None),
        ("redeliver", "q", None, 3, 1, 2, None, None),
        ("settle", "q", None, 3, 1, 2, None, 250_000),
        ("enqueue", "q", b"bad", 3, 2, 0, None, None),
        ("deliver", "q", None, 3, 2, 1, None, None),
        ("give-up", "q", None, 3, 2, 1, "rejected", None),
        ("reject", "q", None, 3, 2, 1, None, None),
        ("enqueue", "dead", b"bad", 3, 3, 0, None, None),
    ]
    (priority, expires_at), *_ = stage.written("priority", "expires_at")
    assert (priority, expires_at.timestamp()) == (3, 1_005.0)


@inlineCallbacks
def test_a_call_is_told_from_its_beginning_to_its_end(tmp_path: Path) -> Steps:
    """However it ends."""
    stage = Stage(tmp_path)
    caller, server = stage.client(), stage.client()
    server.serve(b"m")
    call = caller.call(b"m", b"ask", key="k")
    stage.now += 0.002
    server.reply(call, b"answer")
    server.fail(caller.call(b"m"), 7, "no")
    rows = yield stage.rows("kind", "topic", "payload", "message_id", "outcome", "latency_us", "principal")
    assert rows == [
        ("call", "m", b"ask", 1, None, None, "anna"),
        ("serve", "m", None, 1, None, None, "anna"),
        ("reply", "m", b"answer", 1, "replied", 2_000, "anna"),
        ("call", "m", b"", 2, None, None, "anna"),
        ("serve", "m", None, 2, None, None, "anna"),
        ("reply", "m", None, 2, "failed", 0, "anna"),
    ]


@inlineCallbacks
def test_clients_and_demand_are_told(tmp_path: Path) -> Steps:
    """With how long a client was there, and why it went."""
    stage = Stage(tmp_path)
    client = stage.client()
    client.subscribe(b"a/*")
    stage.now += 2
    client.close("gone")
    yield stage.journal.open()
    yield stage.journal.close()
    folder = JournalFolder(tmp_path)
    table = pa.Table.from_batches(folder.read(0, 0, folder.end(0), None))
    names = ("kind", "session", "topic", "subscribers", "outcome", "latency_us")
    number = client.session.number
    assert [tuple(row[name] for name in names) for row in table.to_pylist()] == [
        ("connect", number, None, None, None, None),
        ("demand", None, "a/*", 1, None, None),
        ("demand", None, "a/*", 0, None, None),
        ("disconnect", number, None, None, "gone", 2_000_000),
    ]


@inlineCallbacks
def test_what_a_slow_subscriber_does_not_get_is_told(tmp_path: Path) -> Steps:
    """With the reason, and without the payload, which is there already."""
    stage = Stage(tmp_path, limits=Limits(outbox_octets=100))
    slow, sender = stage.client(), stage.client()
    slow.subscribe(b"a")
    slow.pause()
    for _ in range(2):
        stage.send(sender, (b"a", b"x" * 40), (b"a", b"x" * 40))
    rows = yield stage.rows("kind", "topic", "size", "payload", "outcome", "session")
    drops = [row for row in rows if row[0] == "drop"]
    assert drops == [("drop", "a", 40, None, "outbox-full", slow.session.number)] * slow.session.statistics.dropped
    assert drops


RULES = [
    KeepRule(NamePattern("secret/**"), Keep.OFF),
    KeepRule(NamePattern("large/*"), Keep.HEADS),
    KeepRule(NamePattern("q"), Keep.OFF, [Sort.QUEUE]),
    KeepRule(NamePattern("$/told"), Keep.FULL),
]


@inlineCallbacks
def test_rules_say_what_is_kept(tmp_path: Path) -> Steps:
    """In runs of one topic, in those of several, and in single messages; nothing below ``$`` unless a rule says so."""
    stage = Stage(tmp_path, rules=RULES)
    sender = stage.client()
    for topic in (b"secret/a", b"large/a", b"open"):
        stage.send(sender, (topic, b"12"), (topic, b"34"))
        sender.publish(topic, b"5")
        sender.session.publish(Message(topic, b"6", properties={"k": "v"}))
    stage.send(sender, (b"secret/a", b"7"), (b"large/a", b"8"), (b"open", b"9"))
    sender.enqueue(b"q", b"no")
    stage.router.publish_service(Message(b"$/other", b"no"))
    stage.router.publish_service(Message(b"$/told", b"yes"))
    rows = yield stage.rows("topic", "payload", "size")
    assert rows == [
        ("large/a", None, 2),
        ("large/a", None, 2),
        ("large/a", None, 1),
        ("large/a", None, 1),
        ("open", b"12", 2),
        ("open", b"34", 2),
        ("open", b"5", 1),
        ("open", b"6", 1),
        ("large/a", None, 1),
        ("open", b"9", 1),
        ("$/told", b"yes", 3),
    ]


@inlineCallbacks
def test_heads_alone_can_be_kept_of_all(tmp_path: Path) -> Steps:
    """Of a run one head is enough, of shuffled messages each has its own."""
    stage = Stage(tmp_path, keep=Keep.HEADS)
    sender = stage.client()
    stage.send(sender, *[(b"a", b"%03d" % number) for number in range(100)])
    stage.send(sender, (b"a", b"1"), (b"b", b"22"), (b"a", b"333"))
    rows = yield stage.rows("topic", "payload", "size")
    assert rows == [("a", None, 3)] * 100 + [("a", None, 1), ("b", None, 2), ("a", None, 3)]


class Disk(Log):
    """A log whose commits wait, or fail, as the test says."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.error: OSError | None = None

    def commit(self, frames: Sequence[FrameBuilder]) -> None:
        """As the log does."""
        assert self.may_go_on.wait(30)
        if self.error is not None:
            raise self.error
        super().commit(frames)


MIB = 1024 * 1024


class SlowStage(Stage):
    """A bus whose journal's disk is at a standstill, and which holds 8 MiB at most."""

    def __init__(self, path: Path, when_behind: WhenBehind) -> None:
        super().__init__(path, when_behind=when_behind, waiting_octets=8 * MIB, commit_seconds=0.001)
        settings = JournalSettings(path=path)
        self.disk = Disk(path, 0, settings.segment_octets, settings.segment_seconds, lambda: self.now)
        self.journal.writer.log = self.disk
        self.disk.may_go_on.clear()

    def publish_mebibytes(self, client: MemoryClient, count: int) -> None:
        """Single messages of so much each."""
        for _ in range(count):
            client.publish(b"a", bytes(MIB))

    @inlineCallbacks
    def caught_up(self, is_so: Callable[[], bool]) -> Steps:
        """Wait for the thread, however long it takes; the reactor runs meanwhile."""
        while not is_so():
            yield deferLater(reactor, 0.001)


@inlineCallbacks
def test_producers_are_paused_while_the_disk_cannot_keep_up(tmp_path: Path) -> Steps:
    """Those whose messages are journaled; they go on when half of it is written, and nothing is lost."""
    stage = SlowStage(tmp_path, WhenBehind.PAUSE)
    sender, listener = stage.client(), stage.client()
    yield stage.journal.open()
    stage.publish_mebibytes(sender, 6)
    assert sender.calls == []
    stage.publish_mebibytes(sender, 8)
    assert (sender.calls, listener.calls) == (["pause_reading"], [])
    stage.disk.may_go_on.set()
    yield stage.caught_up(lambda: len(sender.calls) == 2)
    assert sender.calls == ["pause_reading", "resume_reading"]
    yield stage.journal.close()
    assert stage.written("kind", "size") == [("publish", MIB)] * 14


@pytest.mark.parametrize("when_behind", WhenBehind)
@inlineCallbacks
def test_what_there_is_no_room_for_is_left_out_and_counted(tmp_path: Path, when_behind: WhenBehind) -> Steps:
    """Paused producers may still have much under way. A row says how many are not there, and where."""
    stage = SlowStage(tmp_path, when_behind)
    sender = stage.client()
    yield stage.journal.open()
    stage.publish_mebibytes(sender, 40)
    assert (stage.journal.writer.lost > 0, sender.calls) == (
        True,
        ["pause_reading"] if when_behind is WhenBehind.PAUSE else [],
    )
    stage.disk.may_go_on.set()
    yield stage.caught_up(lambda: not stage.journal.writer._waiting)
    stage.publish_mebibytes(sender, 1)
    yield stage.journal.close()
    rows = stage.written("kind", "lost")
    gaps = [number for number, (kind, _) in enumerate(rows) if kind == "gap"]
    assert len(gaps) == 1
    kept = [row for row in rows if row[0] == "publish"]
    assert rows[gaps[0]][1] + len(kept) == 41
    assert 0 < gaps[0] < len(rows) - 1


@inlineCallbacks
def test_a_disk_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The failure is told once, and that it is over; every row comes to the disk in its order."""
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.01)
    stage = SlowStage(tmp_path, WhenBehind.PAUSE)
    sender = stage.client()
    stage.disk.error = OSError(28, "No space left on device")
    stage.disk.may_go_on.set()
    yield stage.journal.open()
    health, context = JournalHealth(stage.journal), MemoryServiceContext()
    health.start(context)
    with capturedLogs() as logged:
        for number in range(3):
            sender.publish(b"a", b"%d" % number)
        yield stage.caught_up(lambda: stage.journal.writer.failure is not None)
        context.clock.advance(0)
        stage.disk.error = None
        yield stage.caught_up(lambda: stage.journal.writer.failure is None)
    told = [text for event in logged if "journal" in (text := formatEvent(event))]
    assert told == [
        "journal: [Errno 28] No space left on device; it is tried again",
        "journal: writing goes on",
    ]
    context.clock.advance(0)
    assert [json.loads(payload)["state"] for payload, _ in context.published] == ["well", "failing", "well"]
    assert "No space left" in json.loads(context.published[1][0])["failure"]
    yield stage.journal.close()
    assert stage.written("payload") == [(b"0",), (b"1",), (b"2",)]


@inlineCallbacks
def test_a_stalled_disk_is_waited_for_by_one_frame_that_grows(tmp_path: Path) -> Steps:
    """And not by one for each moment, for they would take more memory than the rows do."""
    stage = SlowStage(tmp_path, WhenBehind.PAUSE)
    sender = stage.client()
    yield stage.journal.open()
    writer = stage.journal.writer
    for number in range(20):
        sender.publish(b"a", b"%d" % number)
        yield stage.caught_up(lambda: writer._is_due or bool(writer._in_flight))
        yield deferLater(reactor, 0.002)
    assert (len(writer._in_flight), len(writer._full)) == (1, 0)
    stage.disk.may_go_on.set()
    yield stage.journal.close()
    assert stage.written("payload") == [(b"%d" % number,) for number in range(20)]


@inlineCallbacks
def test_a_journal_that_cannot_be_opened_says_why(tmp_path: Path) -> Steps:
    """Another broker has it."""
    first, second = Stage(tmp_path), Stage(tmp_path)
    yield first.journal.open()
    with pytest.raises(JournalError, match="another broker writes it"):
        yield second.journal.open()
    yield second.journal.close()
    yield first.journal.close()


@inlineCallbacks
def test_what_cannot_be_told_is_counted_and_the_rest_is_told(tmp_path: Path) -> Steps:
    """A mistake of ours, or of a vendor's protocol, must not make rows be missing in silence."""
    stage = Stage(tmp_path)
    sender = stage.client()
    sender.publish(b"a", b"1")
    with capturedLogs() as logged:
        sender.session.publish(Message(b"a", b"2", properties={"k": "\ud800"}))
    assert ["cannot tell" in formatEvent(event) for event in logged] == [True]
    sender.publish(b"a", b"3")
    assert stage.router.observers == [stage.journal]
    rows = yield stage.rows("kind", "payload", "lost")
    assert rows == [("publish", b"1", None), ("gap", None, 1), ("publish", b"3", None)]


def test_what_is_said_by_a_session_after_its_end_leaves_nothing_behind(tmp_path: Path) -> None:
    """Nobody would ever take it away."""
    stage = Stage(tmp_path)
    client = stage.client()
    client.close()
    stage.journal.published(client.session, Publication.of(Message(b"a", b"b")))
    assert not stage.journal._clients


def test_the_wire_format_that_is_taken_as_it_is_is_fmqps() -> None:
    """The journal knows it by its name alone, since it may not know protocols."""
    assert WIRE.name == PACKETS_FORMAT
