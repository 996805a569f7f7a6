"""Does docs/life-of-a-message.md name the functions that are called, in the order in which they are?"""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks

from fmqbus.observers.journal.journal import Journal
from fmqbus.observers.journal.settings import JournalSettings
from fmqbus.protocols.emqp.commands import Reply
from tests.docs.names import find, names_on, read
from tests.docs.tracing import Trace
from tests.protocols.emqp.memory_place import Place
from tests.protocols.fmqp.packets import publication
from tests.protocols.micromsg2.memory_bus import MemoryBus
from tests.protocols.umq.clients import greeted

Steps = Generator[Deferred[Any], Any, None]

PAGE = read("life-of-a-message.md")


def steps_of(title: str) -> list[str]:
    """The functions of a part of the page; its steps are numbered from one."""
    part = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d+)\. `([\w.]+)`: ", part, re.MULTILINE)
    assert steps
    assert [int(number) for number, _ in steps] == [number for number, _ in zip(count(1), steps, strict=False)]
    return [name for _, name in steps]


@pytest.mark.parametrize("name", sorted(set(names_on(PAGE))))
def test_every_name_on_the_page_is_there(name: str) -> None:
    """Also what is mentioned beside the steps."""
    assert find(name) is not None


@inlineCallbacks
def test_a_publication_goes_as_the_page_says(tmp_path: Path) -> Steps:
    """From FMQP to MicroMsg2, to UMQ, and into the journal."""
    trace = Trace()
    bus = MemoryBus()
    journal = Journal(reactor, lambda: 0.0, JournalSettings(path=tmp_path))
    bus.router.observers.append(journal)
    reader, page = bus.connect(), greeted(bus.router)
    reader.subscribe("topic/room/*")
    page.ask("1", "subscribe", "room/*", "7")
    sensor = bus.connect_fmqp(publication(b"room/bed", b"20"))
    assert reader.payloads() == [b"20"]
    assert page.heard()
    with trace.running():
        sensor.say(publication(b"room/bed", b"21"), publication(b"room/bed", b"22"))
        yield journal.open()
        yield journal.close()
    assert reader.payloads() == [b"21", b"22"]
    assert len(page.heard()) == 2
    assert trace.missing(steps_of("A publication")) == []


def test_a_message_for_a_queue_goes_as_the_page_says(tmp_path: Path) -> None:
    """From UMQ to MicroMsg2, until it is settled."""
    trace = Trace()
    bus = MemoryBus()
    bus.router.observers.append(Journal(reactor, lambda: 0.0, JournalSettings(path=tmp_path)))
    consumer, page = bus.connect(), greeted(bus.router)
    consumer.subscribe("queue/orders")
    with trace.running():
        page.ask("1", "enqueue", "orders", "a bed")
        consumer.acknowledge(1)
    assert consumer.payloads() == [b"a bed"]
    assert not bus.router.peek(b"orders", 1, held=True)
    assert trace.missing(steps_of("A message for a queue")) == []


def test_a_job_goes_as_the_page_says() -> None:
    """From a client to a worker, and its result back."""
    trace = Trace()
    place = Place()
    worker, client = place.worker(credit=1), place.peer(b"client")
    with trace.running():
        client.request(headers=b"reply-requested")
        [request] = worker.heard()
        worker.say(Reply(b"r", b'{"value": 3}', request.message_id))
    _, reply = client.heard()
    assert isinstance(reply, Reply)
    assert reply.body == b'{"value": 3}'
    assert trace.missing(steps_of("A job")) == []


def test_a_trace_knows_what_was_not_called() -> None:
    """Neither what is called in another order."""
    trace = Trace()
    steps = steps_of("A job")
    with trace.running():
        Place().peer(b"client").request()
    assert trace.missing(steps) == steps[10:]
    assert trace.missing([steps[1], steps[0]]) == [steps[0]]
