"""Does a contract notice when a part breaks it? A suite that nothing fails is worth nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import Invalid, implementer

from fmqbus.errors import BusError
from fmqbus.interfaces import IAuthorizer, IScheduleStore, IServiceTopic
from fmqbus.limits import Limits
from fmqbus.model import Action, Decision, Message, PeerFacts, Principal, Publication
from fmqbus.protocols.fmqp.plug import FMQPPlug
from fmqbus.protocols.fmqp.service_topics import Clients
from fmqbus.protocols.fmqp.session import FMQPSession
from fmqbus.schedules.table import Schedule
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.testing.bus import LOCAL
from fmqbus.testing.contracts.authorizer import AuthorizerContract
from fmqbus.testing.contracts.message_store import MessageStoreContract
from fmqbus.testing.contracts.observer import ObserverContract
from fmqbus.testing.contracts.peer import PeerContract
from fmqbus.testing.contracts.protocol import BusProtocolContract
from fmqbus.testing.contracts.retained_store import RetainedStoreContract
from fmqbus.testing.contracts.schedule_store import ScheduleStoreContract
from fmqbus.testing.contracts.service_topic import ServiceTopicContract
from fmqbus.testing.links import MemoryLink
from fmqbus.testing.message_store import MemoryMessageStore
from fmqbus.testing.schedule_store import MemoryScheduleStore
from tests.testing.test_contracts import Onlooker


def is_noticed(test: Callable[[], Any]) -> bool:
    """Whether a test of a contract fails; one that waits must not have to."""
    try:
        outcome = test()
        if isinstance(outcome, Deferred):
            assert outcome.called
            failures: list[Any] = []
            outcome.addErrback(failures.append)
            return bool(failures)
    except (AssertionError, Invalid, BusError, pytest.fail.Exception):
        return True
    return False


class Forgetful(MemoryRetainedStore):
    """Loses a replaced message's place."""

    def matching(self, pattern: bytes) -> Sequence[Message]:
        return sorted(super().matching(pattern), key=lambda message: message.topic)


class Boundless(MemoryRetainedStore):
    """Takes whatever comes."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()


class Literal(MemoryRetainedStore):
    """Knows no stars."""

    def matching(self, pattern: bytes) -> Sequence[Message]:
        return [message for message in super().matching(b"*") if message.topic == pattern]


def store_contract(make: Callable[[Limits], MemoryRetainedStore]) -> RetainedStoreContract:
    """The suite for such stores."""

    class Contract(RetainedStoreContract):
        def make_store(self, messages: int) -> Any:
            return make(Limits(retained_topics=messages))

    return Contract()


def test_stores_of_retained_values_that_break_their_contract_are_noticed() -> None:
    """Order, bounds, equivalence; and the sound one is not accused."""
    order, bounds, equivalence = (
        lambda c: c.test_messages_come_in_the_order_in_which_they_were_last_put,
        lambda c: c.test_it_is_bounded_and_a_refused_message_changes_nothing,
        lambda c: lambda: c.test_topics_are_found_by_equivalence(b"a/b", {b"a/b", b"a/*"}),
    )
    for broken, test in ((Forgetful, order), (Boundless, bounds), (Literal, equivalence)):
        assert is_noticed(test(store_contract(broken)))
        assert not is_noticed(test(store_contract(MemoryRetainedStore)))


def test_a_store_of_queues_that_forgets_is_noticed() -> None:
    """What was committed must be there after a restart, and after a crash."""

    class Contract(MessageStoreContract):
        def make_store(self) -> Any:
            return MemoryMessageStore()

        def reopen(self, store: Any) -> Any:
            return MemoryMessageStore()

        crash = reopen

    assert is_noticed(Contract().test_a_message_comes_back_as_it_was)
    assert is_noticed(Contract().test_a_crash_loses_nothing_that_was_committed)


def test_a_schedule_store_that_forgets_who_it_was_is_noticed() -> None:
    """Rights hang on it; and a store that keeps the first word on a key is noticed, too."""

    class Forgetful(MemoryScheduleStore):
        def put(self, schedule: Schedule) -> None:
            owner = Principal(schedule.what.owner.protocol, PeerFacts("memory"))
            order = replace(schedule.what, owner=owner)
            self.say(lambda: self.kept.setdefault(schedule.key, replace(schedule, what=order)))

    class Contract(ScheduleStoreContract):
        def make_store(self) -> IScheduleStore:
            return Forgetful()

        def reopen(self, store: IScheduleStore) -> IScheduleStore:
            assert isinstance(store, Forgetful)
            return Forgetful(store.kept)

        crash = reopen

    assert is_noticed(Contract().test_a_schedule_comes_back_as_it_was)
    assert is_noticed(Contract().test_schedules_come_back_by_key_the_last_word_on_each)
    assert is_noticed(Contract().test_a_crash_loses_nothing_that_was_committed)


@implementer(IPlugin, IAuthorizer)
class Moody:
    """Answers by mood, raises at long names, and looks at the port."""

    def __init__(self) -> None:
        self._asked = 0

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        if len(name) > 250:
            raise RecursionError
        self._asked += 1
        return Decision.ALLOW if self._asked % 2 or principal.facts.port == 1 else Decision.DENY


def test_an_authorizer_that_decides_by_mood_is_noticed() -> None:
    """Its answers are cached, so they must not change."""

    class Contract(AuthorizerContract):
        def make_authorizer(self) -> IAuthorizer:
            return Moody()

    for test in (
        Contract().test_it_decides_the_same_when_it_is_asked_again,
        lambda: Contract().test_it_has_a_decision_for_every_question(LOCAL),
    ):
        with pytest.raises((AssertionError, RecursionError)):
            test()


def test_an_observer_that_raises_or_meddles_is_noticed() -> None:
    """It would be removed, or change what others get."""

    class Raising(Onlooker):
        def dropped(self, session: Any, publication: Publication, reason: str) -> None:
            raise KeyError(reason)

    class Meddling(Onlooker):
        def published(self, session: Any, publication: Publication) -> None:
            publication._messages = (Message(b"a", b"meddled"),)

    def contract(observer: type[Onlooker]) -> ObserverContract:
        class Contract(ObserverContract):
            def make_observer(self) -> Any:
                return observer()

        return Contract()

    assert is_noticed(contract(Raising).test_it_bears_whatever_happens_on_a_bus)
    assert is_noticed(contract(Meddling).test_it_changes_nothing_of_what_passes)


def test_a_service_topic_whose_state_is_its_own_is_noticed() -> None:
    """Two buses in one process would get into each other's way."""

    class Shared(Clients):
        def start(self, context: Any) -> None:
            self.context = context
            self.call = context.clock.callLater(1.0, context.publish, b"x", False)

        def stop(self, context: Any) -> None:
            if self.call.active():
                self.call.cancel()

    class Contract(ServiceTopicContract):
        def make_topic(self) -> IServiceTopic:
            return Shared()

    assert is_noticed(Contract().test_it_serves_several_buses_at_once_and_apart)


@pytest.mark.parametrize("topic", [b"info/x", b"$/*", b"$", b"/$/x", b"$/x/"])
def test_a_service_topic_with_a_wrong_name_is_noticed(topic: bytes) -> None:
    """Nobody could ever publish to it."""

    class Misnamed(Clients):
        pass

    Misnamed.topic = topic

    class Contract(ServiceTopicContract):
        def make_topic(self) -> IServiceTopic:
            return Misnamed()

    with pytest.raises((AssertionError, BusError)):
        Contract().test_its_name_is_one_topic_below_the_dollar()


def test_a_protocol_that_ignores_a_wrong_option_or_listens_to_the_world_is_noticed() -> None:
    """Both are mistakes that an operator would find too late."""

    class Careless(FMQPPlug):
        default_listen = ("tcp:7700:interface=0.0.0.0",)

        def make_factory(self, router: Any, listener: Any, options: Any) -> Any:
            return super().make_factory(router, listener, {})

    class Contract(BusProtocolContract):
        def make_protocol(self) -> Any:
            return Careless()

    assert is_noticed(Contract().test_an_option_that_there_is_not_is_refused_by_name)
    assert is_noticed(Contract().test_by_default_it_listens_on_this_machine_only)


def test_a_peer_that_loses_deliveries_is_noticed() -> None:
    """What it does not send it does not count."""

    class Lossy(FMQPSession):
        def deliver(self, batch: Any) -> None:
            super().deliver(batch[:-1])

    class Contract(PeerContract):
        def attach(self, router: Any) -> Any:
            session = Lossy(router, LOCAL, MemoryLink())
            return session, session.bus

    assert is_noticed(Contract().test_it_takes_deliveries_of_every_kind_and_counts_them)
