"""What of those who are not to be let in to ZeroMQ's sockets, and of those who are no longer?"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import zmq

from fmqbus.transports.preamble import PREAMBLE_PLACES, PREAMBLE_SECONDS
from fmqbus.transports.zeromq import passport
from fmqbus.transports.zeromq.key_writing import write_new_pair
from fmqbus.transports.zeromq.keys import KeyPair
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Crowd, wait_until
from tests.adversarial.emqp_bystanders import STALL_MS, Bystanders
from tests.auth.users import write as write_users
from tests.live.emqp_peers import LISTEN, Place, body_of, ports_of

CURVE = ("fmqp:tcp:0", f"{LISTEN}:curveKey=FOLDER/server.key_secret:curveClients=FOLDER/clients")
LOGIN = ("fmqp:tcp:0", f"{LISTEN}:login=plain")
USERS = '[users]\nfile = "FOLDER/users.json"\n'


def greeting(mechanism: bytes = b"CURVE") -> bytes:
    """How a peer begins (ZMTP 3.0, Greeting)."""
    return b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32)


#: What may follow the greeting, and leads to nothing.
LIES: Sequence[bytes] = (
    b"\x06" + (2**63 - 1).to_bytes(8, "big"),
    b"\x06" + (2**64 - 1).to_bytes(8, "big") + bytes(1000),
    b"\x06" + (15 * 1024 * 1024).to_bytes(8, "big") + bytes(100_000),
    b"\x04\xc8\x05HELLO" + bytes(194),
    b"\x04\x06\x05HELLO",
    b"\x04\xff\x08INITIATE" + bytes(246),
    b"\x04\x06\x05READY",
    b"\x04\x08\x07MESSAGE" + bytes(100),
    b"\x00\x05hello",
    b"\x01\x00" * 1000,
    b"\xff" * 1000,
)
#: What is no greeting of ours to begin with.
STRANGE: Sequence[bytes] = (
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(64),
    b"\xff" * 64,
    greeting(b"NULL"),
    greeting(b"PLAIN") + b"\x04\x0f\x05HELLO\x04anna\x01x",
    greeting(b"GSSAPI"),
    b"\xff" + bytes(8) + b"\x7f\x01\x05",
    b"\x01\x00",
)


def prepare_keys(folder: Path) -> None:
    """A server, one who is honest, and one who will have been."""
    (folder / "clients").mkdir()
    write_new_pair(folder, "server", KeyPair.new())
    for name in ("honest", "former"):
        public, _ = write_new_pair(folder, name, KeyPair.new())
        public.rename(folder / "clients" / public.name)


def shown_by(siege: Siege, name: str) -> passport.Passport:
    """What a client with a key shows."""
    return passport.curve(siege.folder / "server.key", siege.folder / f"{name}.key_secret")


@attack(
    "{connections:,} connections to a socket with CURVE stop in the middle of the handshake",
    listen=CURVE,
    prepare=prepare_keys,
    full=scale(memory_mib=160, stall_ms=STALL_MS, connections=5_000),
    smoke=scale(memory_mib=96, connections=1_500),
)
def curve_half_handshakes(siege: Siege, connections: int) -> str:
    """There are so many at a time, and each has its time; whoever has a key is let in meanwhile."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened, shown_by(siege, "honest"))
        bystanders.are_served()
        crowd = opened.enter_context(Crowd(ports_of(siege.broker)["frontend"], connections))
        crowd.send(greeting())
        another = opened.enter_context(Place(siege.broker, shown_by(siege, "honest")))
        another.client().submit("elsewhere", body_of("f"))
        bystanders.are_served()
        too_many = connections - PREAMBLE_PLACES
        wait_until(lambda: crowd.closed() >= too_many, "those that are too many are cut off")
        siege.broker.wait_for("too many handshakes at a time")
        begun = time.monotonic()
        wait_until(lambda: crowd.closed() == connections, "the time of the others is over")
        assert time.monotonic() - begun < 2 * PREAMBLE_SECONDS
        bystanders.are_served()
        return f"{PREAMBLE_PLACES:,} wait, the others are cut off at once, and these after {PREAMBLE_SECONDS:.0f} s"


@attack(
    "{times:,} handshakes of CURVE with lengths that lie, commands at the wrong time, other mechanisms, or none",
    listen=CURVE,
    prepare=prepare_keys,
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=5_700),
    smoke=scale(memory_mib=64, times=380),
)
def curve_lies(siege: Siege, times: int) -> str:
    """None comes to anything."""
    beginnings = [*(greeting() + lie for lie in LIES), *STRANGE]
    port = ports_of(siege.broker)["frontend"]
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened, shown_by(siege, "honest"))
        for _ in range(times // (10 * len(beginnings))):
            for beginning in beginnings:
                with Crowd(port, 10) as crowd:
                    crowd.send(beginning)
            bystanders.are_served()
        siege.broker.wait_for(r"does not let in whoever cannot finish a handshake")
        return "nothing comes of any"


@attack(
    "{times:,} strangers with keys of their own, half of whom take the broker for another one",
    listen=CURVE,
    prepare=prepare_keys,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=1_000),
    smoke=scale(memory_mib=64, times=100),
)
def curve_strangers(siege: Siege, times: int) -> str:
    """They are told no, and that is all they are told."""
    write_new_pair(siege.folder, "wrong", KeyPair.new())
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened, shown_by(siege, "honest"))
        for number in range(times):
            server = "wrong" if number % 2 else "server"
            with Place(siege.broker, passport.curve(siege.folder / f"{server}.key")) as place:
                client = place.client()
                client.socket.sndtimeo = 0
                client.request("strange", body_of("f"))
                if number % 100 == 0:
                    assert not client.socket.poll(100)
                    bystanders.are_served()
        siege.broker.wait_for(r"the key \S+ is not known")
        bystanders.are_served()
        assert "strange" not in bystanders.status()["waiting_messages_by_queue"]
        return "none is heard"


@attack(
    "a key is taken away and given back {times} times while its owner sends without a pause",
    listen=CURVE,
    prepare=prepare_keys,
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=50),
    smoke=scale(memory_mib=64, times=5),
)
def curve_key_taken_away(siege: Siege, times: int) -> str:
    """From the reload on nothing of it is heard; the others notice nothing."""
    key, hidden = siege.folder / "clients" / "former.key", siege.folder / "former.key"
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened, shown_by(siege, "honest"))
        bystanders.place.worker().inform([(10, "former")])
        for number in range(times):
            with Place(siege.broker, shown_by(siege, "former")) as place:
                former = place.client()
                before = _waiting(bystanders)
                former.request("former", body_of("f"))
                wait_until(lambda before=before: _waiting(bystanders) > before, "it is heard")  # type: ignore[misc]
                key.rename(hidden)
                _reload(siege, 2 * number + 1)
                taken = _waiting(bystanders)
                _send_for(0.1, former.socket)
                assert _waiting(bystanders) == taken, "it is heard no more"
                bystanders.are_served()
                hidden.rename(key)
                _reload(siege, 2 * number + 2)
        return "it is out and in at once each time"


def _waiting(bystanders: Bystanders) -> int:
    return int(bystanders.status()["waiting_messages_by_queue"].get("former", 0))


def _reload(siege: Siege, count: int) -> None:
    siege.broker.signal(signal.SIGHUP)
    siege.broker.wait_for("access rules are reloaded", count)


def _send_for(seconds: float, socket: zmq.Socket[bytes]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.send_multipart([b"", b"eMQP/1.0", b"REQUEST", b"id", b"former", b"", body_of("f")], zmq.NOBLOCK)
        except zmq.Again:
            time.sleep(0.01)


@attack(
    "{times:,} guesses at a user's password by ZeroMQ's handshakes",
    listen=LOGIN,
    config=USERS,
    prepare=lambda folder: (write_users(folder / "users.json"), None)[1],
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=3_000),
    smoke=scale(memory_mib=64, times=200),
)
def plain_guesses(siege: Siege, times: int) -> str:
    """Few are even looked at; another user comes and goes."""
    anna = passport.plain("anna", "open sesame")
    port = ports_of(siege.broker)["frontend"]
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened, anna)
        for batch in range(10):
            with ExitStack() as batch_opened:
                crowd = batch_opened.enter_context(zmq.Context())
                for number in range(times // 10):
                    guesser = batch_opened.enter_context(crowd.socket(zmq.DEALER))
                    guesser.linger = 0
                    passport.plain("bo", f"guess {batch} {number}").give(guesser)
                    guesser.connect(f"tcp://127.0.0.1:{port}")
                with Place(siege.broker, anna) as place:
                    place.client().submit("elsewhere", body_of("f"))
                bystanders.are_served()
        siege.broker.wait_for("logins as 'bo' from this machine fail; none is tried for")
        siege.broker.wait_for(r"does not let in 127\.0\.0\.1: too many logins have failed; wait \(paused, 1 by now\)")
        return "slowed down as any guesses; others log in meanwhile"
