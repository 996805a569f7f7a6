"""What does a worker say to a broker, and when? All in memory, with time as an argument."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.codec import VERSION, decode, encode
from fmqbus.protocols.emqp.commands import (
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Hello,
    Inform,
    Progress,
    Publish,
    Ready,
    Reply,
    Request,
    Schedule,
    ShowSchedulers,
    ShowWorkers,
    SpecifiedGoodbye,
    Status,
    Unschedule,
)
from fmqbus.protocols.emqp.jobs import Job, write_job
from fmqbus.protocols.emqp.presence import BEAT_SECONDS, SILENCE_SECONDS
from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.protocols.emqp.results import HowFar, Result, parse_result
from fmqbus.worker.conversation import (
    RETURN_SECONDS,
    Accepted,
    Assigned,
    Conversation,
    Dismissed,
    Event,
    Ignored,
    Restarted,
    State,
)

JOB = Job("my.jobs", "add", [1, 2])
RUN = write_job(JOB)


class End:
    """A worker's end of a conversation, with so many free places."""

    def __init__(self, free: int = 1, limits: Limits = DEFAULT_LIMITS) -> None:
        self.free = free
        self.now = 1000.0
        numbers = itertools.count(1)
        self.conversation = Conversation(
            [Weighted(10, b"default")],
            limits,
            lambda: self.free,
            make_id=lambda: b"%d" % next(numbers),
            posix_time=lambda: 1.5,
        )

    @property
    def state(self) -> State:
        """Where it is."""
        return self.conversation.state

    def hear(self, command: Command | Sequence[bytes]) -> Sequence[Event]:
        """Something comes."""
        parts = encode(command) if isinstance(command, Command) else command
        return self._taken(self.conversation.heard(parts, self.now))

    def _taken(self, events: Sequence[Event]) -> Sequence[Event]:
        self.free -= sum(isinstance(event, Assigned) for event in events)
        return events

    def said(self) -> list[Command]:
        """What is to be sent."""
        return [decode(parts, DEFAULT_LIMITS) for parts in self.conversation.take_messages()]

    def kinds(self) -> list[type[Command]]:
        """The words of what is to be sent."""
        return [type(command) for command in self.said()]

    def wait(self, seconds: float) -> Sequence[Event]:
        """Time passes, a second each."""
        events: list[Event] = []
        for _ in range(round(seconds)):
            self.now += 1.0
            events += self.conversation.tick(self.now)
        return events

    def end(self, ticket: int, body: bytes = b'{"value": 3}') -> None:
        """A job ends, and its place is free after that."""
        self.conversation.ended(ticket, body, self.now)
        self.free += 1
        self._taken(self.conversation.places_changed())

    def to(self, state: State, *, is_ours: bool = False) -> End:
        """Bring it there; what was said on the way is gone."""
        if state is State.OVER:
            self.conversation.leave(self.now)
        elif state is not State.SILENT:
            self.conversation.begin(self.now)
        if state in (State.SERVING, State.LEAVING, State.DESERTED):
            self.hear(Ack(b"a", b"1", is_ours))
        if state is State.LEAVING:
            self.conversation.leave(self.now)
        if state is State.DESERTED:
            self.hear(Goodbye(b"g"))
        assert self.state is state
        self.said()
        return self


def request(request_id: bytes = b"r", headers: bytes = b"reply-requested", body: bytes = RUN) -> Request:
    """A job for us."""
    return Request(request_id, b"default", headers, body)


def assigned(events: Sequence[Event]) -> Assigned:
    """The one job that is to be run."""
    (event,) = events
    assert isinstance(event, Assigned)
    return event


#: One of each; those that a broker has no reason to say to a worker too.
ANY: dict[type[Command], Command] = {
    type(command): command
    for command in (
        Ack(b"m", b"1"),
        Reply(b"m", b"{}", b"r"),
        Heartbeat(b"m", b"1.5"),
        Disconnect(b"m"),
        Goodbye(b"m"),
        SpecifiedGoodbye(b"m"),
        request(),
        Schedule(b"m", b"q", b"", RUN),
        Unschedule(b"m", b"q", b"", RUN),
        Publish(b"m", b"t", b"x"),
        Inform(b"m", b""),
        Ready(b"m"),
        Progress(b"m", b"{}", b"r"),
        Hello(b"m"),
        Status(b"m"),
        ShowWorkers(b"m"),
        ShowSchedulers(b"m"),
    )
}

GOODBYES = [Goodbye, SpecifiedGoodbye]

#: State → command → the state afterwards, the events, and what is said. All that is not here is ignored.
TABLE: dict[State, dict[type[Command], tuple[State, list[type[Event]], list[type[Command]]]]] = {
    State.SILENT: {},
    State.INFORMED: {
        Ack: (State.SERVING, [Accepted], [Ready]),
        Heartbeat: (State.INFORMED, [], []),
        Request: (State.INFORMED, [Assigned], []),
        Goodbye: (State.DESERTED, [], []),
        SpecifiedGoodbye: (State.DESERTED, [], []),
        Disconnect: (State.LEAVING, [Dismissed], GOODBYES),
    },
    State.SERVING: {
        Ack: (State.SERVING, [], []),
        Heartbeat: (State.SERVING, [], []),
        Request: (State.SERVING, [Assigned], []),
        Goodbye: (State.DESERTED, [], []),
        SpecifiedGoodbye: (State.DESERTED, [], []),
        Disconnect: (State.LEAVING, [Dismissed], GOODBYES),
    },
    State.DESERTED: {
        Goodbye: (State.DESERTED, [], []),
        SpecifiedGoodbye: (State.DESERTED, [], []),
    },
    State.LEAVING: {
        Ack: (State.LEAVING, [], []),
        Heartbeat: (State.LEAVING, [], []),
        Request: (State.LEAVING, [Assigned], []),
        Goodbye: (State.LEAVING, [], []),
        SpecifiedGoodbye: (State.LEAVING, [], []),
        Disconnect: (State.LEAVING, [], []),
    },
    State.OVER: {
        Goodbye: (State.OVER, [], []),
        SpecifiedGoodbye: (State.OVER, [], []),
    },
}


def test_every_command_is_tried() -> None:
    """Also those that are still to be invented."""
    known = {*Command.__subclasses__(), SpecifiedGoodbye, Unschedule}
    assert ANY.keys() == known
    assert TABLE.keys() == set(State)


@pytest.mark.parametrize("kind", ANY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("state", State)
def test_each_command_in_each_state(state: State, kind: type[Command]) -> None:
    """Leads where the table says, and says what it says. (eMQP, Heartbeating, DISCONNECT and KBAI; reading 65)"""
    end = End().to(state)
    after, events, said = TABLE[state].get(kind, (state, [Ignored], []))
    assert [type(event) for event in end.hear(ANY[kind])] == events
    assert (end.state, end.kinds()) == (after, said)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize(
    "parts", [[], [b""], [b"", b"eMQP/9", b"READY", b"1"], [b"", VERSION, b"\xff", b"1"], [b"", VERSION, b"ACK", b"1"]]
)
def test_what_cannot_be_read_is_ignored_in_each_state(state: State, parts: list[bytes]) -> None:
    """And counted by whoever runs the conversation."""
    end = End().to(state)
    (event,) = end.hear(parts)
    assert isinstance(event, Ignored)
    assert (end.state, end.said()) == (state, [])


#: State → the state after `leave`, and what is said.
LEAVES: dict[State, tuple[State, list[type[Command]]]] = {
    State.SILENT: (State.OVER, []),
    State.INFORMED: (State.LEAVING, GOODBYES),
    State.SERVING: (State.LEAVING, GOODBYES),
    State.DESERTED: (State.OVER, []),
    State.LEAVING: (State.LEAVING, []),
    State.OVER: (State.OVER, []),
}


@pytest.mark.parametrize("state", State)
def test_leaving_in_each_state(state: State) -> None:
    """Both words for goodbye, where one may be said. (eMQP, DISCONNECT and KBAI; reading 1)"""
    end = End().to(state)
    end.conversation.leave(end.now)
    assert (end.state, end.kinds()) == LEAVES[state]


#: State → after so long without a word, and whether that is the end of the conversation.
SILENCES: dict[State, float | None] = {
    State.SILENT: None,
    State.INFORMED: SILENCE_SECONDS,
    State.SERVING: SILENCE_SECONDS,
    State.DESERTED: RETURN_SECONDS,
    State.LEAVING: None,
    State.OVER: None,
}


@pytest.mark.parametrize("state", State)
def test_silence_in_each_state(state: State) -> None:
    """The conversation is begun anew where somebody should have spoken. (eMQP, Heartbeating)"""
    end = End().to(state)
    seconds = SILENCES[state]
    if seconds is None:
        assert end.wait(100) == []
        assert (end.state, end.said()) == (state, [])
        return
    assert end.wait(seconds - 1) == []
    end.said()
    (event,) = end.wait(1)
    assert isinstance(event, Restarted)
    assert (end.state, end.kinds()) == (State.INFORMED, [Inform])


#: States in which it is said how a job has ended; in the others that waits, or is never said.
TELLS = {State.SERVING, State.LEAVING}


@pytest.mark.parametrize("state", [State.INFORMED, State.SERVING, State.DESERTED, State.LEAVING, State.OVER])
def test_a_job_that_ends_in_each_state(state: State) -> None:
    """What is held back is told after the next ACK."""
    end = End()
    end.conversation.begin(end.now)
    job = assigned(end.hear(request()))
    if state is not State.INFORMED:
        end.hear(Ack(b"a", b"1"))
    if state in (State.DESERTED, State.OVER):
        end.hear(Goodbye(b"g"))
    if state in (State.LEAVING, State.OVER):
        end.conversation.leave(end.now)
    assert end.state is state
    end.said()
    end.conversation.ended(job.ticket, b'{"value": 3}', end.now)
    end.free += 1
    assert end.kinds() == ([Reply] if state in TELLS else [])
    if state in (State.INFORMED, State.DESERTED):
        end.wait(SILENCE_SECONDS)
        assert end.kinds() == [Inform]
        end.hear(Ack(b"a", b"1"))
        assert end.kinds() == [Reply, Ready]


def test_it_informs_with_its_queues_and_is_ready_for_each_free_place() -> None:
    """INFORM, ACK, READY. (eMQP, Worker)"""
    end = End(free=3)
    end.conversation.begin(end.now)
    assert end.said() == [Inform(b"1", b'[[10, "default"]]')]
    end.hear(Ack(b"a", b"1"))
    assert end.kinds() == [Ready] * 3


def test_a_job_is_run_reported_and_its_place_offered_again() -> None:
    """REPLY with what it was a reply to, then READY."""
    end = End().to(State.SERVING)
    job = assigned(end.hear(request(headers=b"reply-requested,timeout:7,attempt:2")))
    assert (job.job, job.timeout, job.request_id, job.attempt) == (JOB, 7, b"r", "2")
    assert end.said() == []
    end.end(job.ticket)
    reply, ready = end.said()
    assert isinstance(reply, Reply)
    assert isinstance(ready, Ready)
    assert (reply.body, reply.request) == (b'{"value": 3}', b"r")


@pytest.mark.parametrize(("is_ours", "count"), [(True, 1), (False, 0)])
def test_who_asks_for_no_reply_gets_none_unless_the_broker_is_ours(is_ours: bool, count: int) -> None:
    """EventMQ's workers say READY only; ours would like to know. (reading 66)"""
    end = End().to(State.SERVING, is_ours=is_ours)
    end.end(assigned(end.hear(request(headers=b""))).ticket)
    assert end.kinds() == [Reply] * count + [Ready]


@pytest.mark.parametrize(("headers", "timeout"), [(b"", None), (b"timeout:0", 0), (b"timeout:5", 5)])
def test_a_time_that_is_not_said_is_for_others_to_say(headers: bytes, timeout: float | None) -> None:
    """0 is without limit. (eMQP, Headers; reading 12)"""
    assert assigned(End().to(State.SERVING).hear(request(headers=headers))).timeout == timeout


@pytest.mark.parametrize(
    "command",
    [
        request(body=b"no json"),
        request(body=b"\xff"),
        request(body=b'["run", {"callable": "f"}]'),
        request(headers=b"timeout:x"),
    ],
)
def test_what_is_no_job_is_answered_as_a_failure(command: Request) -> None:
    """EventMQ's worker falls over it, and a broker that gives it again loops. (reading 63)"""
    end = End().to(State.SERVING)
    (event,) = end.hear(command)
    assert isinstance(event, Ignored)
    reply, ready = end.said()
    assert isinstance(reply, Reply)
    assert isinstance(ready, Ready)
    assert reply.request == b"r"
    assert parse_result(reply.body).error == "PeerError"


def test_what_comes_without_a_place_waits_for_one() -> None:
    """EventMQ's broker may give more than it was promised, and a process may be being replaced. (reading 64)"""
    end = End(free=1).to(State.SERVING)
    first = assigned(end.hear(request(b"1")))
    assert end.hear(request(b"2")) == []
    assert end.hear(request(b"2")) == [], "the same id may be another job"
    end.free += 1
    second = assigned(end._taken(end.conversation.places_changed()))
    assert second.request_id == b"2"
    assert second.ticket != first.ticket
    assert end.said() == [], "the place is taken, not promised"


def test_a_flood_without_places_is_refused() -> None:
    """With a reply each, so that nothing is lost in silence. (reading 64)"""
    end = End(free=0).to(State.SERVING)
    for number in range(1001):
        end.hear(request(b"%d" % number))
    (reply,) = end.said()
    assert isinstance(reply, Reply)
    assert (reply.request, parse_result(reply.body).error) == (b"1000", "Overloaded")


def test_promises_are_counted_once_whatever_happens() -> None:
    """Slots leaked, and there were too many after a restart. (reading 8)"""
    end = End(free=2).to(State.SERVING)
    end.conversation.places_changed()
    assert end.said() == [], "both are promised already"
    job = assigned(end.hear(request()))
    end.wait(SILENCE_SECONDS)
    end.said()
    end.hear(Ack(b"a", b"1"))
    assert end.kinds() == [Ready], "the other one is busy"
    end.end(job.ticket)
    assert end.kinds() == [Reply, Ready]


def test_it_beats_every_three_seconds_while_it_serves() -> None:
    """Also while it says other things: EventMQ's broker counts nothing else. (eMQP, Heartbeating; reading 15)"""
    end = End().to(State.SERVING)
    for _ in range(3):
        end.wait(BEAT_SECONDS - 1)
        assert end.said() == []
        end.wait(1)
        (beat,) = end.said()
        assert isinstance(beat, Heartbeat)
        assert beat.timestamp == b"1.500"
        end.hear(Heartbeat(b"h", b"1"))


def test_any_word_of_the_broker_keeps_the_conversation_going() -> None:
    """Even one that nobody understands. (eMQP, Heartbeating)"""
    end = End().to(State.SERVING)
    for parts in ([b"nonsense"], encode(Heartbeat(b"h")), encode(Ready(b"h")), []):
        assert end.wait(SILENCE_SECONDS - 1) == []
        end.hear(parts)
    assert end.state is State.SERVING


def test_who_never_acknowledges_is_informed_again_whatever_else_it_says() -> None:
    """Nothing but an ACK says that it knows us."""
    end = End().to(State.INFORMED)
    end.wait(10)
    end.hear(Heartbeat(b"h"))
    assert [type(event) for event in end.wait(5)] == [Restarted]


def test_what_was_told_to_a_broker_that_fell_silent_is_told_again() -> None:
    """Nobody knows whether it arrived; a second REPLY names a job that is in nobody's hands. (reading 37)"""
    end = End(free=2).to(State.SERVING)
    jobs = [assigned(end.hear(request(request_id))) for request_id in (b"sure", b"unsure")]
    end.end(jobs[0].ticket)
    end.wait(BEAT_SECONDS)
    end.hear(Heartbeat(b"h"))
    end.end(jobs[1].ticket)
    end.wait(SILENCE_SECONDS)
    end.said()
    end.hear(Ack(b"a", b"1"))
    assert [command.request for command in end.said() if isinstance(command, Reply)] == [b"unsure"]


def test_a_result_beyond_what_a_broker_takes_is_a_failure() -> None:
    """It would cut the connection instead."""
    end = End(limits=Limits(body_octets=100)).to(State.SERVING)
    end.end(assigned(end.hear(request())).ticket, b'{"value": "%s"}' % (b"x" * 100))
    reply = end.said()[0]
    assert isinstance(reply, Reply)
    assert parse_result(reply.body) == Result("what it returned is too large", "Overloaded")


def test_what_is_held_for_a_broker_that_has_gone_is_bounded() -> None:
    """The oldest is forgotten; the broker gives the job again if it keeps it."""
    limits = Limits(outbox_octets=250)
    end = End(free=5, limits=limits).to(State.SERVING)
    jobs = [assigned(end.hear(request(b"%d" % number))) for number in range(5)]
    end.hear(Goodbye(b"g"))
    for job in jobs:
        end.conversation.ended(job.ticket, b"x" * 100, end.now)
    end.wait(RETURN_SECONDS)
    end.said()
    end.hear(Ack(b"a", b"1"))
    assert [command.request for command in end.said() if isinstance(command, Reply)] == [b"3", b"4"]


@pytest.mark.parametrize(("is_ours", "said"), [(True, [Reply]), (False, [])])
def test_a_broker_of_ours_is_told_after_its_goodbye_how_its_jobs_end(is_ours: bool, said: list[type[Command]]) -> None:
    """It waits for them, and the worker for it as long as any of them runs; others are sent nothing.
    (eMQP, DISCONNECT and KBAI)"""
    end = End().to(State.SERVING, is_ours=is_ours)
    job = assigned(end.hear(request()))
    end.hear(Goodbye(b"g"))
    assert end.wait(SILENCE_SECONDS - 1) == []
    end.conversation.ended(job.ticket, b'{"value": 3}', end.now)
    assert end.kinds() == said
    assert len(end.wait(1)) == 1


def test_what_was_never_run_is_given_back_in_the_end() -> None:
    """Its broker need not wait for a worker that has gone."""
    end = End(free=0).to(State.SERVING)
    end.hear(request(b"1"))
    end.conversation.leave(end.now)
    end.said()
    end.conversation.give_up(end.now)
    (reply,) = end.said()
    assert isinstance(reply, Reply)
    assert parse_result(reply.body).error == "WorkerLost"


def test_progress_is_told_to_brokers_of_ours_only_and_not_too_often() -> None:
    """The others do not know the word. (reading 62)"""
    for is_ours in (True, False):
        end = End().to(State.SERVING, is_ours=is_ours)
        ticket = assigned(end.hear(request())).ticket
        for at, fraction in ((0.0, 0.1), (0.05, 0.2), (0.2, 0.3)):
            end.conversation.progressed(ticket, HowFar(fraction, "so far"), end.now + at)
        told = [command for command in end.said() if isinstance(command, Progress)]
        assert [one.body for one in told] == [
            b'{"fraction": %s, "note": "so far"}' % each for each in (b"0.1", b"0.3") if is_ours
        ]
        assert all(one.request == b"r" for one in told)


def test_a_broker_that_is_another_after_a_restart_is_told_no_progress() -> None:
    """Until it says that it knows the word. (reading 62)"""
    end = End().to(State.SERVING, is_ours=True)
    ticket = assigned(end.hear(request())).ticket
    end.wait(SILENCE_SECONDS)
    end.hear(Ack(b"a", b"1"))
    end.said()
    end.conversation.progressed(ticket, HowFar(0.5), end.now)
    assert end.said() == []
