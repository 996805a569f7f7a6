"""Who hears the broker's own topics, and who can speak there? (FMQP, section Service topics and subscriptions)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from twisted.plugin import IPlugin
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.errors import Refused
from fmqbus.interfaces import IServiceContext, IServiceTopic
from fmqbus.model import Action, Message, Principal
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router

TOPIC = b"$/info/notice"


@implementer(IPlugin, IServiceTopic)
@attrs.define
class Notice:
    """A service topic that remembers what happens to it, and answers if a test gives it an answer."""

    topic: bytes = TOPIC
    summary: str = "for tests"
    events: list[str] = attrs.field(factory=list)
    context: Any = None
    answer: Callable[[], None] | None = None

    def start(self, context: IServiceContext) -> None:
        self.context = context
        self.events.append("start")

    def stop(self, context: IServiceContext) -> None:
        self.events.append("stop")

    def clients_changed(self, context: IServiceContext) -> None:
        self.events.append(f"clients {context.connected('memory')}")

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        self.events.append(f"received {message.payload.decode()}")
        if self.answer is not None:
            self.answer()


def running(notice: Notice, **options: Any) -> Router:
    """A started bus with this service topic."""
    router = make_router(service_topics=[notice], **options)
    router.startService()
    return router


@attrs.define
class Broken(Notice):
    """One that cannot start."""

    def start(self, context: IServiceContext) -> None:
        super().start(context)
        raise RuntimeError("a fault of the vendor")


def test_a_service_topic_that_cannot_start_is_not_there() -> None:
    """It is not told of anything any more, not even to stop."""
    broken = Broken()
    router = running(broken)
    client = MemoryClient(router)
    with pytest.raises(Refused):
        client.session.publish(Message(TOPIC, b"?"))
    router.stopService()
    assert broken.events == ["start"]


def test_a_service_topic_is_told_what_happens_on_its_bus() -> None:
    """Start, clients, what is published to it, stop; each once, and clients are counted when told."""
    notice = Notice()
    router = running(notice)
    client = MemoryClient(router)
    client.publish(TOPIC, b"hello")
    client.close()
    router.stopService()
    assert notice.events == ["start", "clients 1", "received hello", "clients 0", "stop"]


def test_the_context_is_what_a_service_topic_relies_on() -> None:
    """Router and clock, and a way to publish."""
    notice, clock = Notice(), Clock()
    router = running(notice, clock=clock)
    assert verifyObject(IServiceContext, notice.context)
    assert notice.context.router is router
    assert notice.context.clock is clock


def test_subscribers_get_what_the_broker_publishes_and_later_ones_the_cached_value() -> None:
    """The value comes before anything newer, and only if it was published as cached."""
    notice = Notice()
    router = running(notice)
    early, late = MemoryClient(router), MemoryClient(router)
    early.subscribe(TOPIC)
    notice.context.publish(b"1", cached=True)
    notice.context.publish(b"2", cached=False)
    late.subscribe(TOPIC)
    assert early.payloads == [b"1", b"2"]
    assert late.messages == [Message(TOPIC, b"1", retain=True)]


def test_what_a_client_publishes_there_is_neither_forwarded_nor_kept() -> None:
    """Only the broker speaks below ``$`` (reading 43)."""
    notice = Notice()
    router = running(notice)
    client = MemoryClient(router)
    client.subscribe(TOPIC)
    client.publish(TOPIC, b"x", retain=True)
    client.subscribe(TOPIC)
    assert client.received == []
    assert len(router.retained) == 0


@pytest.mark.parametrize("topic", [b"$", b"$/info", b"$/info/notice/x", b"$/info/*", b"$/*/*"])
def test_a_name_below_the_dollar_at_which_nobody_answers_is_refused(topic: bytes) -> None:
    """Nothing is forwarded, kept or told; a wildcard is the name of no service."""
    notice = Notice()
    router = running(notice)
    client = MemoryClient(router)
    client.subscribe(topic)
    with pytest.raises(Refused) as refusal:
        client.publish(topic, b"x", retain=True)
    assert refusal.value.reason == "service-topic"
    assert client.received == []
    assert notice.events == ["start", "clients 1"]


@pytest.mark.parametrize("topic", [b"$sys/a", b"a/$", b"*$/a"])
def test_a_dollar_anywhere_but_alone_in_the_first_level_is_ordinary(topic: bytes) -> None:
    """As reading 40 has it."""
    client = MemoryClient(make_router())
    client.subscribe(topic)
    client.publish(topic, b"x")
    assert client.payloads == [b"x"]


@pytest.mark.parametrize("topic", [b"*/info/notice", b"*/*/*"])
def test_a_wildcard_publication_never_reaches_a_service_topic(topic: bytes) -> None:
    """It triggers no service, and no subscriber there takes it for the broker's word: not live, not by a will, and not
    as a retained value (reading 42; architecture.md, section 8)."""
    notice = Notice()
    router = running(notice)
    early, writer, late = (MemoryClient(router) for _ in range(3))
    early.subscribe(TOPIC)
    early.subscribe(b"$/*/*")
    writer.set_will(topic, b"forged")
    writer.publish(topic, b"forged", retain=True)
    writer.close()
    late.subscribe(TOPIC)
    late.subscribe(b"$/*/*")
    assert early.received == late.received == []
    assert [event for event in notice.events if event.startswith("received")] == []
    late.subscribe(topic)
    assert late.payloads == [b"forged"]


@pytest.mark.parametrize("pattern", [b"*/info/notice", b"*/*/*"])
def test_a_wildcard_subscription_hears_the_broker_unless_that_is_switched_off(pattern: bytes) -> None:
    """By the letter a star is equivalent to ``$``; the option hides it, live and cached alike (reading 41)."""
    for reaches in (True, False):
        notice = Notice()
        router = running(notice, wildcards_reach_service=reaches)
        early, late = MemoryClient(router), MemoryClient(router)
        early.subscribe(pattern)
        notice.context.publish(b"x", cached=True)
        late.subscribe(pattern)
        assert early.payloads == late.payloads == ([b"x"] if reaches else [])


@pytest.mark.parametrize("pattern", [TOPIC, b"$/*/notice", b"$/*/*"])
def test_a_subscription_that_names_the_dollar_hears_the_broker_always(pattern: bytes) -> None:
    """The option is about patterns that begin with a star."""
    notice = Notice()
    router = running(notice, wildcards_reach_service=False)
    early, late = MemoryClient(router), MemoryClient(router)
    early.subscribe(pattern)
    notice.context.publish(b"x", cached=True)
    late.subscribe(pattern)
    assert early.payloads == late.payloads == [b"x"]


def test_speaking_to_a_service_takes_the_right_to_control_it() -> None:
    """Without it the service does not hear of it."""
    policy, notice = OpenPolicy(), Notice()
    policy.deny(Action.CONTROL, TOPIC)
    client = MemoryClient(running(notice, authorizers=[policy]))
    with pytest.raises(Refused):
        client.publish(TOPIC, b"x")
    assert notice.events == ["start", "clients 1"]


def test_a_will_speaks_to_a_service_as_its_client_could() -> None:
    """Service rules apply when it is published (reading 31)."""
    notice = Notice()
    client = MemoryClient(running(notice))
    client.set_will(TOPIC, b"bye")
    client.close()
    assert notice.events == ["start", "clients 1", "received bye", "clients 0"]


@pytest.mark.parametrize("soft", [True, False])
def test_a_service_can_end_the_broker_where_the_application_lets_it(soft: bool) -> None:
    """And does nothing where it does not."""
    asked: list[bool] = []
    for stop in (asked.append, None):
        notice = Notice()
        running(notice, stop=stop)
        notice.context.stop(soft)
    assert asked == [soft]


@pytest.fixture
def failures() -> Iterator[list[str]]:
    """What is logged with a traceback during the test."""
    found: list[str] = []

    def observe(event: Any) -> None:
        if "log_failure" in event:
            found.append(event["log_failure"].getErrorMessage())

    globalLogPublisher.addObserver(observe)
    yield found
    globalLogPublisher.removeObserver(observe)


def test_a_service_that_raises_is_reported_and_harms_nobody(failures: list[str]) -> None:
    """Neither the client that spoke to it, nor other services, nor the bus."""
    broken, sound = Notice(b"$/broken"), Notice()
    router = make_router(service_topics=[broken, sound])
    router.startService()
    client = MemoryClient(router)

    def fail() -> None:
        raise RuntimeError("out of order")

    broken.answer = fail
    client.publish(b"$/broken", b"x")
    client.publish(TOPIC, b"x")
    assert failures == ["out of order"]
    assert sound.events[-1] == "received x"


def test_one_that_raises_again_and_again_is_reported_once_until_it_goes_well(failures: list[str]) -> None:
    """Clients decide how often it is called; they must not fill the log."""
    broken = Notice(b"$/broken")
    router = make_router(service_topics=[broken])
    router.startService()
    client = MemoryClient(router)

    def fail() -> None:
        raise RuntimeError("out of order")

    for answer in (fail, fail, lambda: None, fail, fail):
        broken.answer = answer
        client.publish(b"$/broken", b"x")
    assert failures == ["out of order"] * 2


def test_before_the_start_and_after_the_stop_services_are_left_alone() -> None:
    """A client that comes early or goes late is none of their business."""
    notice = Notice()
    router = make_router(service_topics=[notice])
    client = MemoryClient(router)
    router.startService()
    router.stopService()
    client.close()
    assert notice.events == ["start", "stop"]


def test_a_topic_that_is_text_is_left_out_for_that() -> None:
    """Topics are octets."""
    told: list[Any] = []
    globalLogPublisher.addObserver(told.append)
    try:
        running(Notice(topic="$/acme/text"))  # type: ignore[arg-type]
    finally:
        globalLogPublisher.removeObserver(told.append)
    [told_of] = [event for event in told if event.get("topic") == "$/acme/text"]
    assert "it is to be bytes" in told_of["log_format"]
