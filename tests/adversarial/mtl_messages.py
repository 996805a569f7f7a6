"""What of MTL messages that are none, on either flow, of whoever sends them?"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import zmq

from fmqbus.errors import PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.mtl.data_codec import decode_command
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.mtl_bystanders import LISTENERS, PATIENT, STALL_MS, Bystanders
from tests.live.mtl_client import CONFIRM, CONTENT, DISMISS, LEASE, PING, REJECT, RESPONSE, SUMMON, named

_OPEN = b'{"protocol": {"name": "MTL", "version": 1}}'
_DEEP = b"[" * 30_000

#: Parts of requests that are none, after the delimiter, and the reason under which each is counted.
ILL_FORMED: Sequence[tuple[Sequence[bytes], str]] = (
    ([], "parts"),
    ([b"Connection.Open"], "parts"),
    ([b"Connection.Open", _OPEN, b""], "parts"),
    ([b""] * 60, "parts"),
    ([b"Connection.Open", b""], "json"),
    ([b"Connection.Open", _OPEN[:-1]], "json"),
    ([b"Connection.Open", b"\xff\xfe"], "json"),
    ([b"Connection.Reader", b'{"resources": ["\\ud800"]}'], "json"),
    ([b"Connection.Reader", _DEEP], "json"),
    ([b"Connection.Reader", b'{"resources":' * 4_000], "json"),
    ([b"x" * 60_000, b"{"], "json"),
)

#: Requests that are well-formed and cannot be had, and what each is answered.
INVALID: Sequence[tuple[Sequence[bytes], int]] = (
    ([b"Connection.Open", b"[]"], 400),
    ([b"Connection.Open", b"null"], 400),
    ([b"Connection.Open", b"{}"], 400),
    ([b"Connection.Open", b'{"protocol": {"name": "MTL", "version": 18446744073709551616}}'], 501),
    ([b"Connection.Open", b'{"protocol": {"name": "MTL", "version": 1e400}}'], 400),
    ([b"Connection.Open", b'{"protocol": {"name": ["MTL"], "version": 1}}'], 400),
    ([b"Connection.Authorize", b'{"mechanism": "PLAIN", "response": "!"}'], 400),
    ([b"Connection.Authorize", b'{"mechanism": "PLAIN", "response": "%s"}' % (b"A" * 60_000)], 400),
    ([b"Connection.Profile", b'{"profile": "%s"}' % (b"x" * 60_000)], 400),
    ([b"Connection.Reader", b'{"resources": [%s]}' % b",".join([b'""'] * 10_000)], 400),
    ([b"Connection.Reader", b'{"window": -1}'], 400),
    ([b"Connection.Writer", b"%s" % (b"9" * 100_000)], 400),
    ([b"__class__", b"{}"], 501),
    ([b"\xff\xfe", b"{}"], 501),
    ([b"", b"{}"], 501),
)


@attack(
    "MTL requests that are none, {times} times over, and those that cannot be had",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=500),
    smoke=scale(memory_mib=48, times=10),
)
def mtl_requests(siege: Siege, times: int) -> str:
    """The ones are dropped and counted, the others answered, each once."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        controls = [bystanders.place.control(zmq.DEALER, identity) for identity in (None, b"\xff\xfe", b"x" * 255)]
        for number in range(times):
            control = controls[number % len(controls)]
            for parts, _ in ILL_FORMED:
                control.say(*parts)
            for parts, code in INVALID:
                control.say(*parts)
                # before Open much is told so
                assert control.answer()[0] in (code, 400)
        dropped = times * (len(ILL_FORMED) + len(INVALID))
        refused = bystanders.refused(dropped)
        assert not any(control.socket.poll(0) for control in controls)
        bystanders.are_served()
        bystanders.noted(*{reason for _, reason in ILL_FORMED})
        assert refused == dropped, f"{refused} of {dropped} are counted"
        return f"{times * len(ILL_FORMED):,} dropped and counted, {times * len(INVALID):,} answered"


def _commands(sequence: int) -> Iterator[bytes]:
    """A header of each command, with everything that it can have."""
    for kind in (LEASE, SUMMON, DISMISS):
        yield named(kind, sequence, b"a/b/c")
    yield struct.pack(">BQ", RESPONSE, sequence)
    yield named(CONTENT, sequence, b"a") + struct.pack(">I", 6) + b"\x01ab\x01\x01b"
    yield struct.pack(">BQ?", CONFIRM, sequence, True)
    yield struct.pack(">BQ??", REJECT, sequence, True, True)
    yield bytes((PING,))


def _is_read(parts: Sequence[bytes]) -> bool:
    try:
        decode_command(parts, DEFAULT_LIMITS)
    except PeerError:
        return False
    return True


@attack(
    "MTL's data commands cut at every octet, with octets behind them, of all types, {times} times over",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=200),
    smoke=scale(memory_mib=48, times=5),
)
def mtl_headers(siege: Siege, times: int) -> str:
    """By a flow with both leases, and by one with none. What is ill-formed is not answered."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        headers = [
            header[:end]
            for sequence in (0, 2**63, 2**64 - 1)
            for header in _commands(sequence)
            for end in range(len(header) + 1)
        ]
        headers += [header + b"\0" for header in _commands(1)] + [bytes((kind,)) * 20 for kind in range(256)]
        ill_formed = [header for header in headers if not _is_read([header, b"200"])]
        flows = [bystanders.flow("topic", "Reader"), bystanders.place.flow()]
        for number in range(times):
            for header in ill_formed:
                flows[number % 2].say(header, b"200")
        refused = bystanders.refused(times * len(ill_formed))
        assert all(flow.contents() == [] and not flow.waiting for flow in flows)
        for parts in ([b"\x08"], [b"\x08", b"", b""], [b"\x08"] * 60):
            flows[0].socket.send_multipart(parts)
        bystanders.refused(refused + 3)
        assert flows[0].contents() == []
        bystanders.are_served()
        return f"{times * len(ill_formed):,} dropped and counted, none answered"


@attack(
    "MTL commands with sequences of 0, 2^63 and 2^64-1, {times} times over",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=2_000),
    smoke=scale(memory_mib=48, times=50),
)
def mtl_integers(siege: Siege, times: int) -> str:
    """Responses echo them; contents are confirmed each by itself; confirmations of what was never sent do nothing."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        reader = bystanders.flow("topic", "Reader", "a", confirm="full")
        writer = bystanders.flow("topic", "Writer", "a", confirm="full")
        ends = (0, 2**63, 2**64 - 1)
        for _ in range(times):
            for sequence in ends:
                for kind, code in ((SUMMON, b"200"), (SUMMON, b"400"), (DISMISS, b"200"), (DISMISS, b"400")):
                    reader.say(named(kind, sequence, b"a"))
                    assert reader.hear(RESPONSE) == (struct.pack(">BQ", RESPONSE, sequence), code)
                reader.settle(CONFIRM, sequence, True)
                reader.settle(REJECT, sequence, True, True)
                writer.content(sequence, b"")
                assert writer.hear(CONFIRM)[0] == struct.pack(">BQ?", CONFIRM, sequence, False)
        bystanders.are_served()
        return f"{times * len(ends) * 5:,} answered with their own sequence"


def _tables() -> Iterator[bytes]:
    """Entries that are deep, many, cut, or lie about their lengths."""
    deep = b""
    for _ in range(5_000):
        deep = b"\x01aF" + struct.pack(">I", len(deep)) + deep
    yield deep
    yield b"".join(b"\x01\x61t\x01" for _ in range(16_000))
    yield b"\x01aA" + struct.pack(">I", 60_000) + b"V" * 60_000
    yield b"\x01aS" + struct.pack(">I", 2**32 - 1) + b"x"
    yield b"\xff" * 1_000
    yield bytes(1_000)
    yield b"\x06retainF" + struct.pack(">I", 2**31)
    yield b"\x08prioritys\xff\xff\x03ttld\x7f\xf8" + bytes(6) + b"\x05delayd\x7f\xf0" + bytes(6)
    yield b"\x15micromsg2:propertiesS" + struct.pack(">I", 3) + b"a:b"
    yield b"\x0emtl:propertiesS" + struct.pack(">I", 3) + b"a:b"


@attack(
    "MTL contents with field tables that are deep, long, cut or lying, {times} times over",
    listen=(*LISTENERS, "micromsg2:tcp:0"),
    config=PATIENT,
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=100),
    smoke=scale(memory_mib=64, times=3),
)
def mtl_tables(siege: Siege, times: int) -> str:
    """Handed on octet by octet if their length fits, to readers of topics and queues; a filter of another protocol
    finds nothing in them."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        filters = siege.micromsg2()
        filters.subscribe(b"topic/a", "colour=Tred")
        for profile in ("topic", "queue"):
            reader = bystanders.flow(profile, "Reader", "a", confirm="full")
            assert reader.asked(SUMMON, b"a") == 200
            writer = bystanders.flow(profile, "Writer", "a", confirm="full")
            sequence = 0
            for _ in range(times):
                for table in _tables():
                    sequence += 1
                    written = struct.pack(">I", len(table)) + table
                    writer.content(sequence, b"x", table=written)
                    header, _ = writer.hear_any()
                    assert header[0] == CONFIRM
                    assert reader.next_content() == (sequence, b"a", written, b"x")
                    reader.settle(CONFIRM, sequence, False)
        bystanders.are_served()
        return f"{2 * sequence:,} handed on as they were"
