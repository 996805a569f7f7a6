"""What of MTL's clients that say what they may, far too often, or what is another's?"""

from __future__ import annotations

import struct
import time
from base64 import b64encode
from contextlib import ExitStack
from pathlib import Path

import zmq

from fmqbus.limits import DEFAULT_LIMITS
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import wait_until
from tests.adversarial.mtl_bystanders import LISTENERS, PATIENT, STALL_MS, Bystanders
from tests.auth.users import write
from tests.live.mtl_client import CONFIRM, DISMISS, LEASE, OPEN, PING, PONG, REJECT, RESPONSE, SUMMON, Flow, named


@attack(
    "{times:,} leases of MTL that are guessed, and others that are used again, too late, or by another",
    listen=LISTENERS,
    config=f"{PATIENT}[limits]\nlease_seconds = 1.0\n",
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=20_000),
    smoke=scale(memory_mib=48, times=500),
)
def mtl_leases(siege: Siege, times: int) -> str:
    """Each is good once, for whoever comes first, in its time."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        control = bystanders.control("topic")
        thief, owner, guesser = (bystanders.place.flow() for _ in range(3))
        lease = control.lease("Reader")
        for number in range(times):
            guess = (
                struct.pack(">Q", number).hex().encode() * 2 if number % 2 else lease[:-1] + b"%c" % (33 + number % 90)
            )
            guesser.say(named(LEASE, number, guess if guess != lease else b""))
        for number in range(times):
            assert guesser.hear(RESPONSE) == (struct.pack(">BQ", RESPONSE, number), b"403")
        late, crossed = (control.lease("Reader") for _ in range(2))
        assert thief.asked(LEASE, crossed) == 200
        assert owner.asked(LEASE, crossed) == 403
        assert owner.asked(SUMMON, b"a") == 403
        time.sleep(1.1)
        assert owner.asked(LEASE, late) == 403
        assert owner.asked(LEASE, control.lease("Reader")) == 200
        bystanders.are_served()
        return f"{times:,} guesses refused"


@attack(
    "{times:,} requests for leases of MTL, with up to {names:,} names each, that nobody uses",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=128, stall_ms=STALL_MS, times=2_000, names=1_000),
    smoke=scale(memory_mib=96, times=150, names=500),
)
def mtl_unused_leases(siege: Siege, times: int, names: int) -> str:
    """So many are given to one client, and no more."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        control = bystanders.control("queue")
        codes = [
            control.ask("Connection.Writer", resources=[f"{number}/{each}" for each in range(number % names)])[0]
            for number in range(times)
        ]
        assert codes.count(202) == DEFAULT_LIMITS.leases_per_peer
        assert set(codes) == {202, 400}
        bystanders.are_served()
        return f"{codes.count(202)} are given, {codes.count(400):,} are refused"


@attack(
    "{times:,} Confirms and Rejects of MTL for what was never sent, over gaps, and again",
    listen=LISTENERS,
    config=f"{PATIENT}reader-window = 10\n",
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=50_000),
    smoke=scale(memory_mib=48, times=1_000),
)
def mtl_confirmations(siege: Siege, times: int) -> str:
    """They do nothing: neither is anything settled by them, nor is more sent than there is room for."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        reader = bystanders.flow("queue", "Reader", "q", confirm="full")
        assert reader.asked(SUMMON, b"q") == 200
        writer = bystanders.flow("queue", "Writer", "q", confirm="full")
        for number in range(1, 21):
            writer.content(number, b"%d" % number)
        bodies = [reader.next_content()[3] for _ in range(10)]
        for number in range(times):
            sequence = 11 + number if number % 3 else 2**64 - 1 - number
            if number % 2:
                reader.settle(CONFIRM, sequence, bool(number % 5))
            else:
                reader.settle(REJECT, sequence, bool(number % 5), bool(number % 7))
        reader.settle(CONFIRM, 0, True)
        assert reader.contents() == []
        # one, then all up to it over the gap, then both again
        for sequence, multiple in ((5, False), (5, True), (5, True), (5, False), (10, True), (10, True)):
            reader.settle(CONFIRM, sequence, multiple)
        bodies += [reader.next_content()[3] for _ in range(10)]
        assert bodies == [b"%d" % number for number in range(1, 21)]
        assert reader.contents() == []
        bystanders.are_served()
        return f"{times:,} are ignored"


@attack(
    "one flow of MTL summons {times:,} resources, then dismisses half of them, and goes",
    listen=LISTENERS,
    config=f"{PATIENT}[limits]\nsubscriptions_per_peer = 90000\n",
    full=scale(memory_mib=256, stall_ms=STALL_MS, times=100_000),
    smoke=scale(memory_mib=96, times=3_000),
)
def mtl_summons(siege: Siege, times: int) -> str:
    """As many as one client may have subscriptions; each is answered."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        flow = bystanders.flow("topic", "Reader")
        codes = _each(flow, SUMMON, times)
        most = min(times, 90_000)
        assert codes.count(b"200") == most
        assert codes.count(b"400") == times - most
        assert _each(flow, DISMISS, times // 2).count(b"200") == times // 2
        assert _each(flow, DISMISS, times // 2).count(b"400") == times // 2
        bystanders.are_served()
        return f"{most:,} are summoned, {times - most:,} are refused"


def _each(flow: Flow, kind: int, times: int) -> list[bytes]:
    """The codes of Responses to one command for each resource, which are said in bunches."""
    codes = []
    for begin in range(0, times, 500):
        end = min(begin + 500, times)
        for number in range(begin, end):
            flow.say(named(kind, number, b"s/%d" % number))
        codes += [flow.hear(RESPONSE)[1] for _ in range(begin, end)]
    return codes


@attack(
    "{peers:,} REQ sockets of MTL's that go between request and reply, and as many flows with their leases",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=96, stall_ms=STALL_MS, peers=2_000),
    smoke=scale(memory_mib=64, peers=100),
)
def mtl_vanishing(siege: Siege, peers: int) -> str:
    """The reply has nowhere to go, and that is all."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        writer = bystanders.flow("queue", "Writer", "q", confirm="full")
        for number in range(peers):
            if number % 50 == 0:
                # some leases are not used any more, and one client has only so many
                control = bystanders.control("queue")
            vanishing = bystanders.place.control()
            vanishing.say(b"Connection.Open", b'{"protocol": {"name": "MTL", "version": 1}}')
            vanishing.socket.close()
            flow = bystanders.place.flow()
            flow.say(named(LEASE, 1, control.lease("Reader", "q", confirm="full")))
            flow.say(named(SUMMON, 2, b"q"))
            if number % 2:
                flow.hear(RESPONSE)
            flow.socket.close()
        for number in range(1, 11):
            writer.content(number, b"%d" % number)
        last = bystanders.flow("queue", "Reader", "q", confirm="full")
        assert last.asked(SUMMON, b"q") == 200
        # those that have gone are found out when something is sent to them
        bodies = {last.next_content()[3] for _ in range(10)}
        assert bodies == {b"%d" % number for number in range(1, 11)}
        bystanders.are_served()
        return "what was for them comes to who is there"


@attack(
    "{peers:,} clients of MTL under one routing identity, on both flows",
    listen=LISTENERS,
    config=PATIENT,
    full=scale(memory_mib=64, stall_ms=STALL_MS, peers=1_000),
    smoke=scale(memory_mib=48, peers=50),
)
def mtl_identities(siege: Siege, peers: int) -> str:
    """Who comes last has it; an Open of another loses the login and the profile, and nobody else loses anything."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        for _ in range(peers):
            control = bystanders.place.control(zmq.DEALER, b"one").open("topic")
            flow = bystanders.place.flow(b"one")
            # the former one's flow may still be there, with a lease of either kind
            assert flow.asked(LEASE, control.lease("Reader")) in (200, 403)
            assert flow.asked(DISMISS, b"") == 400
            flow.say(bytes((PING,)))
            flow.hear(PONG)
            control.socket.close()
            flow.socket.close()
        bystanders.are_served()
        return "the others are served"


def _users(folder: Path) -> None:
    write(folder / "users.json")


@attack(
    "SASL in MTL: {times:,} answers without an end, and exchanges of {peers:,} clients that are left as they are",
    listen=LISTENERS,
    config=f'{PATIENT}login = "optional"\n[users]\nfile = "FOLDER/users.json"\n',
    prepare=_users,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=10_000, peers=500),
    smoke=scale(memory_mib=48, times=300, peers=50),
)
def mtl_logins(siege: Siege, times: int, peers: int) -> str:
    """An exchange has so many rounds and so much time, and failures make whoever fails wait."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        endless = bystanders.place.control()
        endless.ask("Connection.Open", **OPEN)
        codes = [endless.ask("Connection.Authorize", mechanism="SCRAM-SHA-256", response="")[0] for _ in range(times)]
        assert set(codes) == {401, 402}
        assert codes.count(401) >= times // 20
        said = [b"", b"n,,n=anna,r=x", b"\0anna\0wrong", b"\xff" * 1_000, b"=" * 4_000]
        for number in range(peers):
            control = bystanders.place.control()
            control.ask("Connection.Open", **OPEN)
            response = b64encode(said[number % len(said)]).decode()
            mechanism = ("SCRAM-SHA-256", "PLAIN", "EXTERNAL", "NONE")[number % 4]
            assert control.ask("Connection.Authorize", mechanism=mechanism, response=response)[0] in (401, 402)
            control.socket.close()
        bystanders.are_served()
        wait_until(lambda: bystanders.refused(1) > 0, "nothing is counted")
        return f"{codes.count(401):,} exchanges are told that they have failed"
