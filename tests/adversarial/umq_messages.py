"""What of UMQ messages that are none, that lie, that never end, or that nobody announced?"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from fmqbus.limits import KIB, MIB
from tests.adversarial.attack import UMQ, Siege, attack, scale
from tests.live.umq_client import Client, frame

_TEXT, _BINARY = 1, 2

#: Each is the end of a conversation, with the code of the F that tells it.
FATAL: Sequence[tuple[str | bytes, int]] = (
    ("", 3),
    ("C7", 3),
    ("C7a:x", 3),
    ("C 7:x", 3),
    ("H1:again", 3),
    ("A1:A1:C6:x", 3),
    ("A" + "ZZZZZZZZZZ:C6:x", 3),
    ("AZZZ:C6:x", 3),
    ("A1:U5:", 3),
    ("C" + "1" * 100_000 + ":x", 3),
    ("H1.0.0\nhello", 3),
    ("-:nobody asked", 3),
    (b"\0", 3),
    ("B1:4454", 3),
    ("S:key", 3),
    ("Q1:x", 4),
    ("c1:x", 4),
)


def words_until_closed(client: Client) -> list[bytes]:
    """The texts that still come before the broker closes."""
    words = []
    while client.closed_with is None:
        while (read := client._frame()) is None:
            client._fill()
        opcode, _, payload = read
        if opcode == _TEXT:
            words.append(payload)
        elif opcode == 8:
            client.closed_with = int.from_bytes(payload[:2], "big")
    return words


@attack(
    "UMQ messages that the protocol does not bear, {times} times over",
    full=scale(memory_mib=32, times=200),
    smoke=scale(memory_mib=16, times=2),
)
def umq_faults(siege: Siege, times: int) -> str:
    """Each is told by F, and closed; a neighbour's calls go on."""
    neighbour = siege.umq()
    for _ in range(times):
        for said, code in FATAL:
            client = Client(siege.broker.connect(UMQ))
            client.say(said)
            words = words_until_closed(client)
            assert words[-1].startswith(b"F0:%d " % code), (said, words)
            assert client.closed_with == 1002
            client.close()
    assert neighbour.call("list") == []
    return f"{times * len(FATAL):,} conversations ended by F"


@attack(
    "{times:,} UMQ calls that cannot be read: deep, cut, of the wrong kind",
    full=scale(memory_mib=64, times=2_000),
    smoke=scale(memory_mib=32, times=50),
)
def umq_unreadable(siege: Siege, times: int) -> str:
    """Each is answered by E, and the conversation goes on."""
    client = siege.umq()
    payloads = (
        "",
        "{}",
        "[]",
        "[1]",
        "[" * 100_000,
        '["publish"' + ",[" * 100_000,
        '["publish",1,2]',
        '["settle","A",[1],""]',
    )
    asked = 0
    for begin in range(0, times, len(payloads)):
        for payload in payloads:
            asked += 1
            client.say(f"CX{asked}:{payload}")
        assert client.call("list") == [], begin
    return f"{asked:,} answered by an error"


@attack(
    "{mib} MiB announced as attachments and sent in part, by {clients} clients",
    config="[limits]\nattachment_seconds = 1\nincomplete_octets_per_peer = 4_194_304\n",
    full=scale(memory_mib=100, clients=20, mib=64),
    smoke=scale(memory_mib=60, clients=5, mib=8),
)
def umq_half_attached(siege: Siege, clients: int, mib: int) -> str:
    """What waits is bounded for each client, and none waits for ever."""
    waiting = [siege.umq() for _ in range(clients)]
    for client in waiting:
        client.say('AA:C1:["publish","a"]')
    ended = 0
    for client in waiting:
        try:
            for _ in range(mib):
                client.say(bytes(MIB))
        except ConnectionError:
            pass
        ended += words_until_closed_or_reset(client)
    assert ended == clients
    return "all were told and closed"


def words_until_closed_or_reset(client: Client) -> bool:
    """Whether the broker has ended the conversation; a client that goes on sending may be reset."""
    try:
        words_until_closed(client)
    except (AssertionError, ConnectionError):
        return True
    return client.closed_with is not None


@attack(
    "compressed WebSocket messages that grow to {mib:,} MiB",
    config="[protocols.umq.websocket]\ncompression = true\n",
    full=scale(memory_mib=120, mib=1024),
    smoke=scale(memory_mib=120, mib=64),
)
def umq_bomb(siege: Siege, mib: int) -> str:
    """Inflated only up to the bound, then closed with 1009."""
    connection = siege.broker.connect(UMQ)
    connection.sendall(
        b"GET /umq HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    )
    said = b""
    while b"\r\n\r\n" not in said:
        said += connection.recv(4096)
    assert b"permessage-deflate" in said
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = b"".join(deflate.compress(bytes(MIB)) for _ in range(mib)) + deflate.flush(zlib.Z_SYNC_FLUSH)
    octets = frame(_BINARY, bomb.removesuffix(b"\0\0\xff\xff"))
    connection.sendall(bytes([octets[0] | 0x40]) + octets[1:])
    said = said.partition(b"\r\n\r\n")[2]
    while data := connection.recv(4096):
        said += data
    connection.close()
    assert said[:1] == b"\x88"
    assert int.from_bytes(said[2:4], "big") == 1009
    return f"{len(bomb) // KIB:,} KiB on the wire; closed with 1009"
