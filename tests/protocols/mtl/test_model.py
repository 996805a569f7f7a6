"""Whatever clients say, in whatever order, and however full their links are: what MTL's broker promises holds."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.logger import capturedLogs

from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reader,
    Reject,
    Response,
    Summon,
    Writer,
)
from tests.protocols.mtl.memory_place import Flow, Place

#: The first is said most.
RESOURCES = [b"a", b"a", b"a", b"b", b"/a", b"a/*", b""]

_sequences = st.integers(0, 12) | st.sampled_from([2**63, 2**64 - 1])
_said = st.one_of(
    st.builds(Summon, _sequences, st.sampled_from(RESOURCES)),
    st.builds(Dismiss, _sequences, st.sampled_from(RESOURCES)),
    st.builds(Content, _sequences, st.sampled_from(RESOURCES), st.just(b""), st.binary(max_size=2)),
    st.builds(Confirm, _sequences, st.booleans()),
    st.builds(Reject, _sequences, st.booleans(), st.booleans()),
    st.sampled_from([Ping(), Pong(), Response(1, 200), Lease(1, b"none")]),
)
#: What happens beside what is said.
_happens = st.sampled_from(["lease a reader", "lease a writer", "stop reading", "read on", "wait", "vanish"])
_steps = st.lists(st.tuples(st.sampled_from([0, 0, 1, 2]), _said | _happens), max_size=60)

#: One that does not read dismisses what waits for it.
SLOW = [
    (0, "stop reading"),
    *[(1, Content(number, b"a", b"", b"x")) for number in range(1, 8)],
    (0, Dismiss(2, b"a")),
    (0, "read on"),
]


class Watched:
    """A flow, and what it may be sent."""

    def __init__(self, place: Place, profile: str, number: int, is_confirmed: bool) -> None:
        self.flow: Flow = place.flow(b"%d" % number)
        self._client = place.ready(profile, b"c%d" % number)
        self._is_confirmed = is_confirmed
        #: As far as Responses tell; a flow that has ended has summoned nothing.
        self._summoned: set[bytes] = set()
        self._last = 0

    def step(self, step: Command | str) -> None:
        """Let it happen, and look at what comes."""
        flow = self.flow
        match step:
            case "lease a reader":
                flow.say(Lease(7, self._client.lease(Reader((), self._is_confirmed, 3))))
            case "lease a writer":
                flow.say(Lease(7, self._client.lease(Writer((), self._is_confirmed))))
            case "stop reading":
                flow.stop_reading()
            case "read on":
                flow.read_on()
            case "vanish":
                flow.vanish()
                flow.place.wait(1)
                flow.socket.gone.discard(flow.identity)
            case "wait":
                flow.place.wait(1)
            case Command():
                flow.say(step)
                self._look(step)
                return
        self._look(None)

    def _look(self, step: Command | None) -> None:
        heard = self.flow.heard()
        responses = [each for each in heard if isinstance(each, Response)]
        if isinstance(step, Summon | Dismiss | Lease):
            assert [each.sequence for each in responses] == [step.sequence]
        elif step is not None:
            assert responses == []
        assert (Pong() in heard) == isinstance(step, Ping)
        for each in heard:
            if isinstance(each, Response) and each.code == 200 and isinstance(step, Summon):
                self._summoned.add(step.resource)
            elif isinstance(each, Response) and each.code == 200 and isinstance(step, Dismiss):
                self._summoned.discard(step.resource)
            elif isinstance(each, Content):
                assert each.resource in self._summoned or b"a/*" in self._summoned
                # each flow is a new count; within one, it is without a gap
                assert each.sequence in (1, self._last + 1)
                self._last = each.sequence
        assert all(each.code in (200, 400, 403) for each in responses)


@given(profile=st.sampled_from(["topic", "queue"]), is_confirmed=st.booleans(), steps=_steps)
@example(profile="topic", is_confirmed=False, steps=SLOW)
@example(profile="queue", is_confirmed=True, steps=SLOW)
@settings(deadline=None, max_examples=200)
def test_promises_hold_whatever_happens(profile: str, is_confirmed: bool, steps: Any) -> None:
    """Each command that is to be answered is, once; contents are counted without a gap; after a Dismiss none comes; no
    message of a queue is lost; nothing fails. (MTL, Data Flow; readings 39, 43 and 44)"""
    with capturedLogs() as log:
        place = Place(tables="[queues]\ndelivery_limit = 0")
        flows = [Watched(place, profile, number, is_confirmed) for number in range(3)]
        for flow in flows:
            for step in ("lease a reader", "lease a writer", Summon(1, b"a")):
                flow.step(step)
        for number, step in steps:
            flows[number].step(step)
        for _ in range(40):
            place.wait(1)
    assert not [event for event in log if "log_failure" in event]
    assert len(place.protocol._broker.flows) == 0, "they have all been silent for long"
    for name in (b"a", b"b"):
        queue = place.router.queue(name)
        if queue is not None:
            assert queue.unsettled == queue.consumers == 0
            assert queue.enqueued == queue.ready + queue.accepted + queue.dead_lettered
    assert all(session.principal.protocol == "mtl" for session in place.router.sessions())
    assert len(place.router.sessions()) == 1, "the broker's own"
