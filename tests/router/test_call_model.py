"""Do calls end as they must, whatever is done in whatever order?

Hypothesis plays callers, servers, strangers and time against the bus. The model is a plain list of calls, which is
searched each time. Which of several servers gets a call is the bus's choice; all else is not.
"""

from __future__ import annotations

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.task import Clock

from fmqbus.calls import Call, Choice, MethodSettings, Parcel, Service
from fmqbus.errors import BusError
from fmqbus.limits import Limits
from fmqbus.testing.bus import MemoryClient, make_router

METHODS = st.sampled_from((b"m", b"m", b"n"))
PICKS = st.integers(0, 11)
USUAL = 5.0
MOST_WAITING = 3
MOST_CALLS = 6


@attrs.define(eq=False)
class Known:
    """A client, what it offers, and how its calls should have ended."""

    client: MemoryClient
    services: list[Service] = attrs.field(factory=list)
    told: dict[int, bytes | str] = attrs.field(factory=dict)
    is_paused: bool = False
    #: How many of the calls that it was handed have been looked at.
    seen: int = 0


@attrs.define(eq=False)
class Plain:
    """A call, as the model knows it."""

    call: Call
    asker: Known
    deadline: float
    lets_go_at: float
    #: Who has got it, and by which service.
    server: Known | None = None
    service: Service | None = None
    #: Somebody waits for the answer.
    is_wanted: bool = True
    #: The server has answered, or need not any more.
    is_done: bool = False

    @property
    def waits(self) -> bool:
        return self.is_wanted and self.server is None

    @property
    def is_held(self) -> bool:
        return self.server is not None and not self.is_done


class CallMachine(RuleBasedStateMachine):
    """The model, and the rules by which both are played."""

    @initialize(choice=st.sampled_from(Choice))
    def begin(self, choice: Choice) -> None:
        self.clock = Clock()
        self.router = make_router(
            self.clock,
            limits=Limits(calls_per_peer=MOST_CALLS),
            method_settings=MethodSettings(choice=choice, deadline=USUAL, max_waiting=MOST_WAITING),
        )
        self.known = [Known(MemoryClient(self.router)) for _ in range(3)]
        self.calls: list[Plain] = []
        self.serve(0, b"m", 2, 1)

    def pick(self, number: int) -> Known:
        return self.known[number % len(self.known)]

    # what can happen

    @rule()
    def connect(self) -> None:
        self.known.append(Known(MemoryClient(self.router)))

    @precondition(lambda self: len(self.known) > 1)
    @rule(who=PICKS)
    def close(self, who: int) -> None:
        known = self.pick(who)
        self.known.remove(known)
        for plain in self.calls:
            if plain.asker is known:
                plain.is_wanted = False
            if plain.server is known and plain.is_held:
                plain.is_done = True
                self.end(plain, "server-lost")
        known.client.close()
        known.services.clear()
        self.end_unserved()
        self.learn()

    @rule(who=PICKS, method=METHODS, window=st.sampled_from((1, 1, 2, 5)), weight=st.sampled_from((1, 3)))
    def serve(self, who: int, method: bytes, window: int, weight: int) -> None:
        known = self.pick(who)
        service = known.client.session.serve(method, window, weight)
        known.services.append(service)
        known.client.session.flush()
        self.learn()

    @precondition(lambda self: any(known.services for known in self.known))
    @rule(who=PICKS)
    def unserve(self, who: int) -> None:
        offers = [(known, service) for known in self.known for service in known.services]
        known, service = offers[who % len(offers)]
        known.services.remove(service)
        self.end_unserved()
        known.client.unserve(service)
        self.learn()

    @rule(who=PICKS)
    def pause(self, who: int) -> None:
        known = self.pick(who)
        known.is_paused = True
        known.client.pause()

    @rule(who=PICKS)
    def resume(self, who: int) -> None:
        known = self.pick(who)
        known.is_paused = False
        known.client.resume()
        self.learn()

    @rule(
        who=PICKS,
        method=METHODS,
        seconds=st.sampled_from((None, None, 2.0, 8.0)),
        key=st.sampled_from("abc"),
        times=st.integers(1, 3),
    )
    def call(self, who: int, method: bytes, seconds: float | None, key: str, times: int) -> None:
        """Some in one read."""
        known = self.pick(who)
        for _ in range(times):
            expected, refusal = self.why_not(known, method), None
            try:
                call = known.client.session.call(method, Parcel(b"", {"key": key}), seconds)
            except BusError as error:
                refusal = error.reason
            else:
                now, wait = self.clock.seconds(), USUAL if seconds is None else seconds
                self.calls.append(Plain(call, known, now + wait, now + max(wait, USUAL)))
            assert refusal == expected
        known.client.session.flush()
        self.learn()

    def why_not(self, known: Known, method: bytes) -> str | None:
        """Why this client cannot call now."""
        if sum(plain.asker is known and plain.is_wanted for plain in self.calls) >= MOST_CALLS:
            return "overloaded"
        offers = [(each, service) for each in self.known for service in each.services if service.method == method]
        if not offers:
            return "unserved"
        if any(service.in_hand < service.window and not each.is_paused for each, service in offers):
            return None
        # those on their way to a server are not yet in the model's hands
        waiting = [plain for plain in self.calls if plain.waits and plain.call.method == method]
        return "busy" if sum(plain.call.service is None for plain in waiting) >= MOST_WAITING else None

    @precondition(lambda self: self.calls)
    @rule(who=PICKS, which=PICKS, payload=st.sampled_from((b"yes", None)))
    def anybody_answers(self, who: int, which: int, payload: bytes | None) -> None:
        """Only the one who got it is heard, and once."""
        self.answer(self.pick(who), self.calls[-1 - which % len(self.calls)], payload)

    @precondition(lambda self: any(plain.is_held for plain in self.calls))
    @rule(which=PICKS, payload=st.sampled_from((b"yes", None)))
    def the_server_answers(self, which: int, payload: bytes | None) -> None:
        held = [plain for plain in self.calls if plain.is_held]
        plain = held[which % len(held)]
        assert plain.server is not None
        self.answer(plain.server, plain, payload)

    def answer(self, known: Known, plain: Plain, payload: bytes | None) -> None:
        client = known.client
        was_wanted = plain.is_held and plain.server is known and plain.is_wanted
        if plain.server is known:
            plain.is_done = True
            self.end(plain, "failed" if payload is None else payload)
        assert (client.fail(plain.call) if payload is None else client.reply(plain.call, payload)) == was_wanted
        self.learn()

    @precondition(lambda self: self.calls)
    @rule(who=PICKS, which=PICKS)
    def abandon(self, who: int, which: int) -> None:
        """Only the one who asked is heard."""
        known, plain = self.pick(who), self.calls[-1 - which % len(self.calls)]
        if plain.asker is known:
            plain.is_wanted = False
        known.client.abandon(plain.call)
        self.learn()

    @rule(seconds=st.sampled_from((0.5, 2.0, 5.0)))
    def time_passes(self, seconds: float) -> None:
        end = self.clock.seconds() + seconds
        while self.clock.seconds() < end:
            self.clock.advance(0.5)
            now = self.clock.seconds()
            for plain in sorted(self.calls, key=lambda plain: (plain.deadline, plain.call.number)):
                if plain.deadline <= now:
                    self.end(plain, "expired")
                if plain.lets_go_at <= now and not plain.is_wanted:
                    plain.is_done = True
            self.learn()

    # what the model makes of it

    def end(self, plain: Plain, how: bytes | str) -> None:
        if plain.is_wanted:
            plain.is_wanted = False
            plain.asker.told[plain.call.number] = how

    def end_unserved(self) -> None:
        """Calls that nobody has, of methods that nobody serves."""
        served = {service.method for known in self.known for service in known.services}
        for plain in self.calls:
            if plain.waits and plain.call.method not in served:
                self.end(plain, "unserved")

    def learn(self) -> None:
        """Look who has got what; each call goes to one server once, and older ones go first."""
        for known in self.known:
            for call in known.client.asked[known.seen :]:
                [plain] = [plain for plain in self.calls if plain.call is call]
                assert plain.waits
                assert call.service in known.services
                plain.server, plain.service = known, call.service
                older = [each for each in self.calls if each.waits and each.call.method == call.method]
                assert not known.is_paused
                assert all(each.call.number > call.number or each in self._just_asked(known) for each in older)
            known.seen = len(known.client.asked)

    def _just_asked(self, known: Known) -> list[Plain]:
        """Those that others of the same moment are handed."""
        return [
            plain
            for plain in self.calls
            for each in self.known
            if each is not known and plain.call in each.client.asked[each.seen :]
        ]

    # what must always be so

    @invariant()
    def callers_are_told_what_they_must_be_and_once(self) -> None:
        for known in getattr(self, "known", ()):
            if not known.is_paused:
                numbers = [answer.call.number for answer in known.client.answers]
                assert len(numbers) == len(known.told)
                assert dict(zip(numbers, known.client.replies, strict=True)) == known.told

    @invariant()
    def windows_hold_and_nobody_waits_for_nothing(self) -> None:
        for known in getattr(self, "known", ()):
            for service in known.services:
                held = [plain for plain in self.calls if plain.service is service and plain.is_held]
                assert len(held) == service.in_hand <= service.window
                if service.in_hand < service.window and not known.is_paused:
                    assert not any(plain.waits and plain.call.method == service.method for plain in self.calls)

    @invariant()
    def the_account_adds_up(self) -> None:
        for status in self.router.methods() if hasattr(self, "router") else ():
            waiting = [plain for plain in self.calls if plain.waits and plain.call.method == status.name]
            assert status.waiting == len(waiting)
            assert status.called == status.waiting + status.in_hand + sum(status.ended.values())

    def teardown(self) -> None:
        """Nothing is left when all have gone."""
        for known in list(getattr(self, "known", ())):
            known.client.close()
        if hasattr(self, "router"):
            assert self.router.methods() == []
            assert len(self.router.calling._schedule) == 0


TestCalls = CallMachine.TestCase
TestCalls.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
