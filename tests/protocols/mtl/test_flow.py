"""Is each command on a data flow done, answered or ignored as its leases say?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from fmqbus.errors import PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.mtl.codec import decode, encode
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reject,
    Response,
    Summon,
)
from fmqbus.protocols.mtl.flow import LEASED, VERDICTS, DataFlow, FlowState, Verdict
from fmqbus.protocols.mtl.leases import Grant, Kind, Leases
from fmqbus.protocols.mtl.statuses import Status
from tests.protocols.mtl.written import VECTORS

A, B = b"a", b"b"

KINDS: dict[FlowState, Sequence[Kind]] = {
    FlowState.UNLEASED: (),
    FlowState.READING: (Kind.READER,),
    FlowState.WRITING: (Kind.WRITER,),
    FlowState.BOTH: (Kind.WRITER, Kind.READER),
}


def grant(kind: Kind, *resources: bytes) -> Grant[str]:
    return Grant(owner="alice", kind=kind, profile="topic", resources=frozenset(resources))


def make_flow(state: FlowState, *resources: bytes) -> DataFlow[str]:
    flow: DataFlow[str] = DataFlow()
    for kind in KINDS[state]:
        assert flow.can_have(grant(kind))
        flow.lease(grant(kind, *resources))
    assert flow.state is state
    return flow


# the tables


def test_every_command_has_a_verdict_in_every_state() -> None:
    """None is forgotten."""
    for state in FlowState:
        assert VERDICTS[state].keys() == set(Command.__subclasses__())


@pytest.mark.parametrize(("state", "command"), list(product(FlowState, Command.__subclasses__())))
def test_each_command_in_each_state(state: FlowState, command: type[Command]) -> None:
    """Before a lease Summon and Dismiss get 403, contents are dropped, and a Ping is answered; on a writer's lease
    nothing can be summoned; who has no reader's lease has nothing to confirm. (readings 29, 41 and 50)"""
    reads, writes = Kind.READER in KINDS[state], Kind.WRITER in KINDS[state]
    if command in (Summon, Dismiss):
        expected = Verdict.DO if reads else Verdict.BAD_REQUEST if writes else Verdict.FORBIDDEN
    elif command in (Confirm, Reject):
        expected = Verdict.DO if reads else Verdict.IGNORE
    elif command is Content:
        expected = Verdict.DO if writes else Verdict.IGNORE
    elif command is Response:
        expected = Verdict.IGNORE
    else:
        assert command in (Lease, Ping, Pong)
        expected = Verdict.DO
    assert VERDICTS[state][command] is expected


@pytest.mark.parametrize(("state", "kind"), list(product(FlowState, Kind)))
def test_a_flow_has_one_lease_of_each_kind(state: FlowState, kind: Kind) -> None:
    """A reader's and a writer's may share it; a second of one kind is refused, and stays unused. (reading 28)"""
    flow = make_flow(state)
    assert flow.can_have(grant(kind)) == (kind not in KINDS[state]) == ((state, kind) in LEASED)
    assert not flow.can_have(None)
    if flow.can_have(grant(kind)):
        flow.lease(grant(kind, A))
        assert set(KINDS[flow.state]) == {*KINDS[state], kind}
        assert (flow.reader if kind is Kind.READER else flow.writer) == grant(kind, A)


# summoning


@pytest.mark.parametrize(("state", "name"), list(product(FlowState, [b"", A, B])))
def test_what_can_be_summoned(state: FlowState, name: bytes) -> None:
    """The resources of a reader's lease, which have names. (readings 29, 40 and 41)"""
    flow = make_flow(state, A)
    expected = {FlowState.UNLEASED: Status.FORBIDDEN, FlowState.WRITING: Status.BAD_REQUEST}.get(
        state, Status.OK if name == A else Status.BAD_REQUEST
    )
    assert flow.summon(name) is expected
    assert flow.summoned == ((A,) if expected is Status.OK else ())
    assert flow.dismiss(name) is expected


def test_nothing_is_summoned_or_dismissed_twice() -> None:
    """Without the other between. (MTL, Summoning a Resource; Dismissing a Resource; reading 42)"""
    flow = make_flow(FlowState.READING)
    assert flow.dismiss(A) is Status.BAD_REQUEST
    for _ in range(2):
        assert flow.summon(A) is Status.OK
        assert flow.is_summoned(A)
        assert flow.summon(A) is Status.BAD_REQUEST
        assert flow.summon(B) is Status.OK
        assert flow.summoned == (A, B)
        assert flow.dismiss(A) is Status.OK
        assert not flow.is_summoned(A)
        assert flow.dismiss(A) is Status.BAD_REQUEST
        assert flow.dismiss(B) is Status.OK


def test_a_lease_without_resources_is_for_any_that_has_a_name() -> None:
    """(readings 19 and 40)"""
    flow = make_flow(FlowState.READING)
    assert flow.summon(b"whatever") is Status.OK
    assert flow.summon(b"") is Status.BAD_REQUEST


# contents


@pytest.mark.parametrize(
    ("resources", "name", "goes_to"),
    [
        ([A], A, A),
        ([A], b"", A),
        ([A], B, None),
        ([A, B], B, B),
        ([A, B], b"", None),
        ([], B, B),
        ([], b"", None),
    ],
)
def test_where_contents_go(resources: Sequence[bytes], name: bytes, goes_to: bytes | None) -> None:
    """Without a name, where there is only one; profile `test` puts its one resource in the place of none. What is
    invalid has no Response, so it is for the caller to reject or drop it.
    (MTL, Sending Content; readings 46 and 47)"""
    flow = make_flow(FlowState.WRITING, *resources)
    content = Content(1, name)
    if goes_to is not None:
        assert flow.resource_of(content) == goes_to
        return
    with pytest.raises(PeerError) as refused:
        flow.resource_of(content)
    assert refused.value.reason == ("resource" if name else "no-resource")


# the vectors


class Peer:
    """As much of a broker as answers the vectors: what the tables say, and nothing else."""

    def __init__(self) -> None:
        self.flow: DataFlow[str] = DataFlow()
        self.leases: Leases[str] = Leases(DEFAULT_LIMITS, lambda: b"K7Q2")
        self.leases.give(grant(Kind.READER, b"resource"), 0.0)

    def hear(self, parts: Sequence[bytes]) -> list[Any]:
        try:
            command = decode(parts, DEFAULT_LIMITS)
        except PeerError:
            return []
        assert isinstance(command, Command)
        verdict = self.flow.verdict(command)
        match command:
            case Ping():
                return [encode(Pong())]
            case Lease():
                grant = self.leases.find(command.lease, 0.0)
                status = Status.OK if self.flow.can_have(grant) else Status.FORBIDDEN
                if grant is not None and status is Status.OK:
                    self.leases.use(command.lease, 0.0)
                    self.flow.lease(grant)
            case Summon():
                status = self.flow.summon(command.resource)
            case Dismiss():
                status = self.flow.dismiss(command.resource)
            case _:
                assert verdict in (Verdict.DO, Verdict.IGNORE)
                return []
        return [encode(Response(command.sequence, status.value))]


#: What came before, on the same flow.
BEFORE = {
    "summon": ["lease"],
    "summon_twice": ["lease", "summon"],
    "summon_unknown": ["lease"],
    "dismiss": ["lease", "summon"],
    "dismiss_twice": ["lease", "summon", "dismiss"],
}


@pytest.mark.parametrize(
    "name",
    [name for name, vector in VECTORS.items() if vector.flow == "data" and vector.reply is not None],
)
def test_each_vector_is_answered_as_it_says(name: str) -> None:
    """With its sequence, whatever else was said meanwhile. (MTL, Initializing a Data Flow; reading 39)"""
    peer = Peer()
    for earlier in BEFORE.get(name, ()):
        peer.hear(VECTORS[earlier].parts)
    assert peer.hear(VECTORS[name].parts) == VECTORS[name].reply


def test_pipelined_commands_are_answered_each_by_its_sequence() -> None:
    """Which is the client's own, and may come again. (reading 39)"""
    peer = Peer()
    said: list[Command] = [Lease(5, b"K7Q2"), Summon(5, b"resource"), Summon(2**64 - 1, b"x"), Lease(0, b"K7Q2")]
    answers = [decode(answer, DEFAULT_LIMITS) for command in said for answer in peer.hear(encode(command))]
    assert answers == [Response(5, 200), Response(5, 200), Response(2**64 - 1, 400), Response(0, 403)]
