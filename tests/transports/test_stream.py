"""`fmqbus.transports.stream`: links over real sockets, told by a client that only knows the socket interface."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, DeferredQueue
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Factory
from twisted.internet.task import Clock
from twisted.internet.threads import deferToThread
from zope.interface import Interface, implementer
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IConnection, ILink, IListener
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.transports.facts import stream_facts
from fmqbus.transports.stream import GROWTH, LARGE_READ, LOOK_SECONDS, SMALL_READ, LinkState, StreamProtocol
from fmqbus.turns import SHARE_OCTETS, Turns

#: More than a loopback connection's two kernel buffers ever take.
MORE_THAN_BUFFERS = b"x" * (32 * 1024 * 1024)


@implementer(IListener)
@attrs.define(eq=False)
class OpenDoor:
    """A listener that admits everybody, or nobody."""

    limits: Limits = attrs.field(factory=lambda: Limits(linger_seconds=5.0))
    clock: Clock = attrs.field(factory=Clock)
    admits: bool = True
    open: int = 0
    held: int = 0
    held_at_most: int = 1_000_000
    logins: None = None

    def parts(self, interface: type[Interface]) -> Sequence[Any]:
        return ()

    def peer_facts(self, transport: Any) -> PeerFacts:
        return stream_facts(transport)

    def refused(self, reason: str, detail: str) -> None:
        """Streams let everybody in."""

    def opened(self, connection: IConnection, facts: PeerFacts) -> bool:
        self.open += self.admits
        return self.admits

    def closed(self, connection: IConnection, facts: PeerFacts) -> None:
        self.open -= 1

    def hold(self, octets: int) -> bool:
        if self.held + octets > self.held_at_most:
            return False
        self.held += octets
        return True


class Recorder(StreamProtocol):
    """The other half of a stream protocol, which notes what it is told."""

    def __init__(self, listener: IListener, made: DeferredQueue[Recorder]) -> None:
        super().__init__(listener, Turns(listener.clock))
        self._made = made
        self.told: DeferredQueue[str] = DeferredQueue()
        self.heard: DeferredQueue[bytes] = DeferredQueue()
        self.sent: Deferred[None] | None = None

    def link_made(self) -> None:
        self._made.put(self)

    def octets_arrived(self, data: bytes) -> None:
        self.heard.put(data)

    def link_full(self) -> None:
        self.told.put("full")

    def link_clear(self) -> None:
        self.told.put("clear")

    def link_lost(self, reason: str) -> None:
        self.told.put(f"lost: {reason}")

    def when_sent(self) -> Deferred[None]:
        if self.sent is not None:
            return self.sent
        done: Deferred[None] = Deferred()
        done.callback(None)
        return done


@attrs.define
class Pair:
    """A link and the client's end of it."""

    link: Recorder
    client: socket.socket
    door: OpenDoor

    def receive(self, octets: int) -> Deferred[bytes]:
        """Exactly so many octets, or what came before the end."""

        def read() -> bytes:
            data = bytearray()
            while len(data) < octets and (piece := self.client.recv(octets - len(data))):
                data += piece
            return bytes(data)

        return deferToThread(read)


Connect = Callable[..., Deferred[Pair]]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes connected pairs."""
    from twisted.internet import reactor

    ports, clients = [], []

    async def pair(door: OpenDoor) -> Pair:
        made: DeferredQueue[Recorder] = DeferredQueue()
        factory = Factory()
        factory.noisy = False
        factory.buildProtocol = lambda address: Recorder(door, made)  # type: ignore[method-assign]
        port = reactor.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[attr-defined]
        ports.append(port)
        client = await deferToThread(socket.create_connection, ("127.0.0.1", port.getHost().port), 10)
        clients.append(client)
        return Pair(await made.get(), client, door)

    yield lambda door=None: Deferred.fromCoroutine(pair(door or OpenDoor()))
    for client in clients:
        client.close()
    for port in ports:
        pytest_twisted.blockon(port.stopListening())


@pytest_twisted.ensureDeferred
async def test_a_link_provides_what_sessions_and_listeners_ask_of_it(connect: Connect) -> None:
    """The contracts ILink and IConnection hold."""
    pair = await connect()
    verifyObject(ILink, pair.link)


@pytest_twisted.ensureDeferred
async def test_what_is_written_leaves_at_once(connect: Connect) -> None:
    """No turn of the reactor passes between a write and its octets."""
    pair = await connect()
    pair.client.settimeout(5)
    pair.link.write([b"one", b"two"])
    assert pair.client.recv(6) == b"onetwo"


@pytest_twisted.ensureDeferred
async def test_a_client_that_does_not_read_fills_the_link_and_clears_it_by_reading(connect: Connect) -> None:
    """Back pressure is told both ways, and no octet is lost or out of order."""
    pair = await connect()
    pair.link.write([MORE_THAN_BUFFERS, b"the end"])
    assert await pair.link.told.get() == "full"
    received = await pair.receive(len(MORE_THAN_BUFFERS) + 7)
    assert received == MORE_THAN_BUFFERS + b"the end"
    assert await pair.link.told.get() == "clear"
    pair.link.write([b"more"])
    assert await pair.receive(4) == b"more"


@pytest_twisted.ensureDeferred
async def test_losing_waits_until_all_is_sent(connect: Connect) -> None:
    """The session's outbox empties first, then the client sees the end."""
    pair = await connect()
    pair.link.sent = Deferred()
    pair.link.lose("over")
    assert pair.link.state is LinkState.FINISHING
    pair.link.write([b"last words"])
    pair.link.sent.callback(None)
    assert await pair.receive(100) == b"last words"
    pair.client.close()
    assert await pair.link.told.get() == "lost: ConnectionDone"
    assert pair.door.open == 0


@pytest_twisted.ensureDeferred
async def test_a_client_that_still_sends_reads_everything_before_the_end(connect: Connect) -> None:
    """Unread octets of the client cause no reset that would eat what it has not read yet."""
    pair = await connect()
    await deferToThread(pair.client.sendall, b"never read" * 100)
    pair.link.write([b"w" * 100_000])
    pair.link.lose("over")
    await deferToThread(pair.client.sendall, b"sent behind the end")
    assert await pair.receive(200_000) == b"w" * 100_000
    pair.client.close()
    assert await pair.link.told.get() == "lost: ConnectionDone"


@pytest_twisted.ensureDeferred
async def test_a_client_that_never_ends_is_cut_off_after_the_linger_time(connect: Connect) -> None:
    """The limit is `linger_seconds`, by the listener's clock."""
    pair = await connect()
    pair.link.lose("over")
    assert await pair.receive(1) == b""
    assert pair.link.state is LinkState.LINGERING
    pair.door.clock.advance(5.0)
    assert await pair.link.told.get() == "lost: ConnectionAborted"


@pytest_twisted.ensureDeferred
async def test_a_client_that_shuts_its_direction_still_gets_its_answer(connect: Connect) -> None:
    """Half-close: `printf ... | nc` reads what its octets brought about."""
    pair = await connect()
    pair.link.sent = Deferred()
    pair.client.sendall(b"question")
    pair.client.shutdown(socket.SHUT_WR)
    assert await pair.link.heard.get() == b"question"
    pair.link.write([b"answer"])
    pair.link.sent.callback(None)
    assert await pair.receive(100) == b"answer"
    assert await pair.link.told.get() == "lost: ConnectionDone"


@pytest_twisted.ensureDeferred
async def test_a_client_that_closes_is_lost_without_delay(connect: Connect) -> None:
    """No linger time passes when nobody is there to read."""
    pair = await connect()
    pair.client.close()
    assert await pair.link.told.get() == "lost: ConnectionDone"
    assert not _timers(pair.door.clock)


@pytest_twisted.ensureDeferred
async def test_a_reset_is_a_loss_like_any_other(connect: Connect) -> None:
    """Also when it shows on a direct send first."""
    pair = await connect()
    pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    pair.client.close()
    pair.link.write([b"into the void"])
    pair.link.write([b"once more"])
    told = [await pair.link.told.get()]
    while told[-1] == "full":
        told.append(await pair.link.told.get())
    assert told[-1].startswith("lost: Connection")
    pair.link.write([b"ignored"])


@pytest_twisted.ensureDeferred
async def test_an_abort_ends_at_once(connect: Connect) -> None:
    """Whatever is unsent."""
    pair = await connect()
    pair.link.write([MORE_THAN_BUFFERS])
    pair.link.abort("enough")
    assert await pair.link.told.get() == "full"
    assert await pair.link.told.get() == "lost: ConnectionAborted"


@pytest_twisted.ensureDeferred
async def test_a_deaf_link_discards_what_it_reads_but_still_sends(connect: Connect) -> None:
    """Soft stop, step 2: the client is not stopped from sending, it is just not heard."""
    pair = await connect()
    pair.link.stop_listening()
    pair.client.sendall(b"not heard")
    pair.client.shutdown(socket.SHUT_WR)
    pair.link.write([b"still told"])
    assert await pair.receive(100) == b"still told"
    await pair.link.told.get()
    assert pair.link.octets_received == len(b"not heard")
    assert not pair.link.heard.pending


@pytest_twisted.ensureDeferred
async def test_a_paused_client_is_not_read_until_it_is_resumed(connect: Connect) -> None:
    """Its octets stay in the socket, so that it has to wait."""
    pair = await connect()
    pair.link.pause_reading()
    sending = deferToThread(pair.client.sendall, MORE_THAN_BUFFERS)
    assert pair.link.octets_received == 0
    assert not sending.called
    pair.link.resume_reading()
    await sending
    assert (await pair.link.heard.get())[:1] == b"x"


@pytest.mark.parametrize("end", [socket.socket.close, lambda client: client.shutdown(socket.SHUT_WR)])
@pytest_twisted.ensureDeferred
async def test_a_paused_client_that_goes_is_read_to_its_end(
    connect: Connect, end: Callable[[socket.socket], None]
) -> None:
    """Else what it holds would not go back as long as it is paused. To pause it once more is in vain: what is left is
    bounded, and nobody sends more."""
    pair = await connect()
    pair.link.pause_reading()
    pair.client.sendall(b"its last words")
    end(pair.client)
    pair.door.clock.advance(LOOK_SECONDS)
    pair.link.pause_reading()
    assert await pair.link.heard.get() == b"its last words"
    assert await pair.link.told.get() == "lost: ConnectionDone"
    assert not _timers(pair.door.clock)


@pytest_twisted.ensureDeferred
async def test_a_paused_client_that_is_killed_is_lost(connect: Connect) -> None:
    """A reset takes its last words with it."""
    pair = await connect()
    pair.link.pause_reading()
    pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    pair.client.close()
    pair.door.clock.advance(LOOK_SECONDS)
    assert (await pair.link.told.get()).startswith("lost: Connection")


@pytest_twisted.ensureDeferred
async def test_a_paused_client_that_stays_is_looked_at_again_and_again(connect: Connect) -> None:
    """By one timer, however often it is paused; and by none when it is read."""
    pair = await connect()
    pair.link.pause_reading()
    pair.link.pause_reading()
    pair.client.sendall(b"still there")
    for _ in range(3):
        pair.door.clock.advance(LOOK_SECONDS)
        assert len(_timers(pair.door.clock)) == 1
    assert not pair.link.octets_received
    pair.link.resume_reading()
    assert await pair.link.heard.get() == b"still there"
    pair.door.clock.advance(LOOK_SECONDS)
    assert not _timers(pair.door.clock)


@pytest_twisted.ensureDeferred
async def test_a_paused_link_that_is_lost_is_looked_at_no_more(connect: Connect) -> None:
    """Its timer goes with it."""
    pair = await connect()
    pair.link.pause_reading()
    pair.link.abort("enough")
    assert (await pair.link.told.get()).startswith("lost: ")
    assert not _timers(pair.door.clock)


@pytest_twisted.ensureDeferred
async def test_one_connection_too_many_is_aborted_and_never_made() -> None:
    """The protocol's half hears nothing of it."""
    from twisted.internet import reactor

    door = OpenDoor(admits=False)
    made: DeferredQueue[Recorder] = DeferredQueue()
    factory = Factory()
    factory.noisy = False
    factory.buildProtocol = lambda address: Recorder(door, made)  # type: ignore[method-assign]
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[attr-defined]
    here = ("127.0.0.1", port.getHost().port)

    def knock() -> None:
        """The reset may come before the connection is known to be made."""
        with socket.create_connection(here, 10) as client:
            client.recv(1)

    with pytest.raises(ConnectionResetError):
        await deferToThread(knock)
    await port.stopListening()
    assert not made.pending
    assert door.open == 0


@pytest_twisted.ensureDeferred
async def test_full_reads_become_small_where_a_turn_brings_very_much(connect: Connect) -> None:
    """And grow again when it does not."""
    pair = await connect()
    sizes = []
    for _ in range(SHARE_OCTETS // LARGE_READ + 2):
        pair.link.dataReceived(bytes(pair.link.transport.bufferSize))  # type: ignore[union-attr]
        sizes.append(pair.link.transport.bufferSize)  # type: ignore[union-attr]
    assert sizes[:3] == [SMALL_READ * GROWTH, LARGE_READ, LARGE_READ]
    assert sizes[-1] == SMALL_READ
    pair.door.clock.advance(0)
    pair.link.dataReceived(bytes(SMALL_READ))
    assert pair.link.transport.bufferSize == SMALL_READ * GROWTH  # type: ignore[union-attr]


def _timers(clock: Clock) -> list[IDelayedCall]:
    """What waits for time to pass, and not just for the next turn."""
    return [call for call in clock.getDelayedCalls() if call.getTime() > clock.seconds()]
