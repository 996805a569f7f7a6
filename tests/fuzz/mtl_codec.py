"""What must hold for MTL's codec, and for all that keeps account of a peer, whatever parts they are given?

They raise nothing but `PeerError`. What is read is read as the same again from what is written, each flow's messages
stay its own, and a peer is told of its leases and contents only what is so.
"""

from __future__ import annotations

from typing import Any

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.mtl.codec import decode, decode_from_broker, encode, is_control
from fmqbus.protocols.mtl.commands import Command, Confirm, Content, Dismiss, Lease, Reject, Request, Summon
from fmqbus.protocols.mtl.confirmations import Received, Sent
from fmqbus.protocols.mtl.conversation import Conversation
from fmqbus.protocols.mtl.field_table import FieldArray, FieldTable, write_table
from fmqbus.protocols.mtl.flow import DataFlow, Verdict
from fmqbus.protocols.mtl.leases import Grant, Kind, Leases
from fmqbus.protocols.mtl.statuses import Declined
from tests.protocols.mtl.written import VECTORS
from tests.vectors.zmtp import frames, messages

LIMITS = Limits(body_octets=2048, control_octets=1024, resources_per_lease=4, table_fields=50, table_depth=4)

#: What the search begins with: each vector, and all of them in one stream.
SEEDS = [frames(vector.parts) for vector in VECTORS.values()]
SEEDS.append(b"".join(SEEDS))


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever was raised, if the messages in these ZMTP frames are not borne."""
    peer = Peer()
    for parts in messages(octets):
        try:
            said = decode(parts, LIMITS)
        except Declined:
            assert is_control(parts)
        except PeerError:
            pass
        else:
            assert decode(encode(said), LIMITS) == said
            assert is_control(parts) == is_control(encode(said)) == isinstance(said, Request)
            peer.hear(said)
        try:
            heard = decode_from_broker(parts, LIMITS)
        except PeerError:
            continue
        assert decode_from_broker(encode(heard), LIMITS) == heard


class Peer:
    """Who has said it all, with leases that are in the vectors, and ten contents that were sent to it."""

    def __init__(self) -> None:
        self.conversation = Conversation(is_login_wanted=False)
        self.flow: DataFlow[str] = DataFlow()
        self.tokens = iter([b"K7Q2", b"nope"])
        self.leases: Leases[str] = Leases(LIMITS, lambda: next(self.tokens))
        for kind in (Kind.READER, Kind.WRITER):
            self.leases.give(Grant(owner="", kind=kind, profile="topic", resources=frozenset([b"resource"])), 0.0)
        self.sent: Sent[int] = Sent(True, 10)
        self.unsettled = {self.sent.next(number) for number in range(1, 11)}
        self.received = Received(5)

    def hear(self, said: Request | Command) -> None:
        """Keep account of it."""
        if isinstance(said, Request):
            self.conversation.asked(type(said))
            return
        if self.flow.verdict(said) is not Verdict.DO:
            return
        match said:
            case Lease():
                self.lease(said)
            case Summon():
                self.flow.summon(said.resource)
            case Dismiss():
                self.flow.dismiss(said.resource)
            case Content():
                self.take(said)
            case Confirm() | Reject():
                for number in self.sent.settle(said):
                    self.unsettled.remove(number)
        assert set(self.flow.summoned) <= {b"resource"}
        assert len(self.unsettled) == len(self.sent)

    def lease(self, said: Lease) -> None:
        grant = self.leases.find(said.lease, 0.0)
        if grant is not None and self.flow.can_have(grant):
            assert self.leases.use(said.lease, 0.0) is grant
            assert self.leases.use(said.lease, 0.0) is None
            self.flow.lease(grant)

    def take(self, content: Content) -> None:
        try:
            assert self.flow.resource_of(content) == b"resource"
            look_into(FieldTable(content.properties, LIMITS))
        except PeerError:
            self.received.refused(content.sequence, recycle=False)
        else:
            self.received.safe(self.received.came(content.sequence))
        assert len(self.received) == 0
        for one in self.received.to_say():
            assert one.sequence == content.sequence
            assert encode(one)


def look_into(table: FieldTable) -> None:
    """All of it, as deep as it goes. Raises `PeerError` where it is none."""
    plain = read_all(table)
    try:
        written = write_table(plain)
    except LocalError:
        # such as a name that became longer when it was made text
        return
    assert read_all(FieldTable(written)).keys() == plain.keys()


def read_all(value: Any) -> Any:
    match value:
        case FieldTable():
            return {name: read_all(item) for name, item in value.items()}
        case FieldArray():
            return [read_all(item) for item in value]
    return value
