"""What of eMQP messages that are none, of whoever sends them?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

import zmq

from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.emqp_bystanders import LISTENERS, STALL_MS, Bystanders
from tests.live.emqp_peers import ADMIN, BACKEND, FRONTEND, PUBIN, Peer, body_of

_VERSION = b"eMQP/1.0"
_DEEP = b"[" * 100_000

#: Parts that are no message, and the reason under which each is counted.
ENVELOPES: Sequence[tuple[Sequence[bytes], str]] = (
    ([b""], "parts"),
    ([b"", _VERSION], "parts"),
    ([b"", _VERSION, b"READY"], "parts"),
    ([_VERSION, b"READY", b"1"], "parts"),
    ([_VERSION, b"REQUEST", b"1", b"q", b"", body_of("f")], "no-empty-part"),
    ([b"x", _VERSION, b"READY", b"1"], "no-empty-part"),
    ([b"", b"eMQP/2.0", b"READY", b"1"], "version"),
    ([b"", b"", b"READY", b"1"], "version"),
    ([b"", b"\xff" * 1000, b"READY", b"1"], "version"),
    ([b"", _VERSION, b"", b"1"], "command"),
    ([b"", _VERSION, b"OBEY", b"1"], "command"),
    ([b"", _VERSION, b"\xff\xfe", b"1"], "command"),
    ([b"", _VERSION, b"READY", b"\xff\xfe"], "text"),
    ([b"", _VERSION, b"REQUEST", b"1", b"\xff", b"", body_of("f")], "text"),
    ([b"", _VERSION, b"REQUEST", b"1", b"q", b"\xc3\x28", body_of("f")], "text"),
    ([b"", _VERSION, b"REQUEST", b"1" * 100_000, b"q", b"", body_of("f")], "text"),
    ([b"", _VERSION, b"REQUEST", b"1", b"q", b"," * 1_000_000, body_of("f")], "text"),
    ([b"", _VERSION, b"REQUEST", b"1", b"q"], "parts"),
    ([b"", _VERSION, b"REPLY", b"1"], "parts"),
    ([b"", _VERSION, b"INFORM", b"1"], "parts"),
    ([b"", _VERSION, b"SCHEDULE", b"1", b"q", b"", b"5", body_of("f")], "parts"),
    ([b"", _VERSION, b"PUBLISH", b"1", b"t"], "parts"),
)

#: REQUESTs that are no jobs, or say what cannot be meant: queue, headers, body, and the reason.
REQUESTS: Sequence[tuple[bytes, bytes, bytes, str]] = (
    (b"q", b"", b"", "body"),
    (b"q", b"", b"\xff\xfe", "body"),
    (b"q", b"", b"{}", "body"),
    (b"q", b"", b'["run"]', "body"),
    (b"q", b"", b'["run", {"path": "os"}]', "body"),
    (b"q", b"", b'["run", {"path": 1, "callable": 2}]', "body"),
    (b"q", b"", b'["run", {"path": "a", "callable": "b", "args": {}}]', "body"),
    (b"q", b"", _DEEP, "body"),
    (b"q", b"", b'{"a":' * 100_000, "body"),
    (b"q", b"", b"9" * 100_000, "body"),
    (b"q", b"retry-count:2147483648", body_of("f"), "headers"),
    (b"q", b"retry-count:-1", body_of("f"), "headers"),
    (b"q", b"timeout:" + b"9" * 60_000, body_of("f"), "headers"),
    (b"q", b"timeout:x", body_of("f"), "headers"),
    (b"q", b"x," * 30_000, body_of("f"), "headers"),
    (b"q", b"{" * 60_000, body_of("f"), "headers"),
    (b"*", b"", body_of("f"), "queue-name"),
    (b"$/manage/queues", b"", body_of("f"), "queue-name"),
)

#: INFORMs: what follows the id, and whether there is an ACK.
INFORMS: Sequence[tuple[Sequence[bytes], bool]] = (
    ([b""], True),
    ([b"", b"worker"], True),
    ([b'[[10, "i"]]', b"worker"], True),
    ([b'["a", "b"]', b"worker"], True),
    ([b"[40, 'i'], [10, 'j']", b"worker"], True),
    ([b"i, j", b"worker", b"and", b"more"], True),
    ([b'[[99999999999999, "i"]]', b"worker"], True),
    ([b'[[10, "i"], [20, "i"]]', b"worker"], True),
    ([b"", b"scheduler"], True),
    ([b"", b"boss"], False),
    ([b"", b""], False),
    ([b"", b"\xff"], False),
    ([b"[[]]", b"worker"], False),
    ([b'[["i", 10]]', b"worker"], False),
    ([b'[[10, "i", 3]]', b"worker"], False),
    ([b'[[10.5, "i"]]', b"worker"], False),
    ([b'{"i": 10}', b"worker"], False),
    ([b"[40, 'i", b"worker"], False),
    ([b"[" * 60_000, b"worker"], False),
    ([b"[40, '" * 10_000, b"worker"], False),
    ([b'[[10, "*"]]', b"worker"], False),
    ([b'[[10, "$/x"]]', b"worker"], False),
    ([b'[[10, "\\ud800"]]', b"worker"], False),
    ([b'[[NaN, "i"]]', b"worker"], False),
)


@attack(
    "eMQP messages that are none, {times} times over, by peers without an identity and by binary ones",
    listen=LISTENERS,
    full=scale(memory_mib=48, stall_ms=STALL_MS, times=500),
    smoke=scale(memory_mib=32, times=10),
)
def emqp_envelopes(siege: Siege, times: int) -> str:
    """Each is counted, none is answered, whatever the socket."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        place = bystanders.place
        names = (FRONTEND, BACKEND, ADMIN, PUBIN)
        peers = [
            Peer(place.socket(name, identity))
            for name in names
            for identity in (None, b"\xff\xfe", bytes(range(1, 256)))
        ]
        said = 0
        for number in range(times):
            for parts, _ in ENVELOPES:
                peers[(said + number) % len(peers)].send(*parts)
                said += 1
        refused = bystanders.refused(said)
        assert all(peer.heard() == [] for peer in peers)
        bystanders.are_served()
        bystanders.noted(*{reason for _, reason in ENVELOPES})
        assert refused == said, f"{refused} of {said} are counted"
        return f"{said:,} counted, none answered"


@attack(
    "{times:,} eMQP messages of 2 to {parts:,} parts",
    listen=LISTENERS,
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=200, parts=10_000),
    smoke=scale(memory_mib=96, times=20, parts=10_000),
)
def emqp_parts(siege: Siege, times: int, parts: int) -> str:
    """Those that are too long are read to their end and thrown away; a few parts too many mean nothing."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        peer, long = bystanders.place.client(), 0
        for number in range(times):
            count = 2 + number * (parts - 2) // (times - 1)
            peer.send(b"", _VERSION, b"HEARTBEAT", b"1", *[b"x"] * (count - 4))
            long += count > 64
        bystanders.refused(long)
        assert peer.heard() == []
        bystanders.are_served()
        bystanders.noted("parts")
        return f"{long:,} thrown away and counted"


@attack(
    "eMQP: REQUESTs that are no jobs, {times} times over: deep, cut, of the wrong kind, with impossible headers",
    listen=LISTENERS,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=200),
    smoke=scale(memory_mib=32, times=5),
)
def emqp_requests(siege: Siege, times: int) -> str:
    """Who asked for a reply gets one that says so, and nobody else."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        asking, silent = bystanders.place.client(), bystanders.place.client()
        asked = 0
        for _ in range(times):
            for queue, headers, body, _ in REQUESTS:
                silent.say("REQUEST", queue, headers, body)
                if len(headers) < 50_000:
                    asking.say("REQUEST", queue, headers + b",reply-requested" if headers else b"reply-requested", body)
                    asked += 1
            assert silent.heard() == []
        for _ in range(asked):
            assert b'"error"' in asking.hear(b"REPLY")[2]
        refused = bystanders.refused(asked + times * len(REQUESTS))
        bystanders.are_served()
        bystanders.noted(*{reason for *_, reason in REQUESTS})
        assert "q" not in bystanders.status()["waiting_messages_by_queue"]
        return f"{refused:,} counted, {asked:,} clients told why"


@attack(
    "eMQP: INFORM in {shapes} shapes, {times} times over",
    listen=LISTENERS,
    full=scale(memory_mib=64, stall_ms=STALL_MS, times=50, shapes=len(INFORMS)),
    smoke=scale(memory_mib=32, times=3, shapes=len(INFORMS)),
)
def emqp_informs(siege: Siege, times: int, shapes: int) -> str:
    """What can be understood is acknowledged, and what cannot is not."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        peer = bystanders.place.peer(BACKEND)
        expected = [known for _, known in INFORMS]
        for _ in range(times):
            for fields, is_known in INFORMS:
                id = peer.say("INFORM", *fields)
                told = [(said[0], said[2]) for said in peer.heard()]
                assert told == ([(b"ACK", id)] if is_known else []), (fields, told)
        # as a worker of what is not in question, or it would still serve some of these
        peer.say("DISCONNECT")
        peer.hear(b"KBAI")
        bystanders.are_served()
        return f"{times * sum(expected):,} acknowledged, {times * (shapes - sum(expected)):,} not"


@attack(
    "eMQP: jobs named os.system, eval and the like, {times} times over",
    listen=LISTENERS,
    full=scale(memory_mib=48, stall_ms=STALL_MS, times=2_000),
    smoke=scale(memory_mib=32, times=50),
)
def emqp_names(siege: Siege, times: int) -> str:
    """To the broker they are text: they wait for a worker, who is to know better."""
    proof = siege.folder / "proof"
    jobs = [
        body_of("system", f"touch {proof}", path="os"),
        body_of("eval", f"open({str(proof)!r}, 'w')", path="builtins"),
        body_of("__import__", "antigravity", path="builtins"),
        body_of("Popen", ["touch", str(proof)], path="subprocess:Popen"),
    ]
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        peer, taker = bystanders.place.client(), bystanders.place.worker().inform([(10, "names")])
        for _ in range(times):
            for job in jobs:
                peer.request("names", job)
            peer.heard()
        taken = taker.ready(len(jobs))
        assert [taken.job()[4] for _ in jobs] == jobs
        bystanders.are_served()
        assert bystanders.status()["waiting_messages_by_queue"]["names"] >= (times - 1) * len(jobs)
        assert not proof.exists()
        return f"{times * len(jobs):,} handed on as text"


@attack(
    "{peers:,} eMQP peers under one identity, and {peers:,} under their own, each with half a word",
    listen=LISTENERS,
    full=scale(memory_mib=64, stall_ms=STALL_MS, peers=1_000),
    smoke=scale(memory_mib=48, peers=50),
)
def emqp_identities(siege: Siege, peers: int) -> str:
    """Who comes last under an identity has it; nobody else loses anything."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        context.set(zmq.MAX_SOCKETS, 4 * peers + 16)
        endpoint = f"tcp://127.0.0.1:{bystanders.place.ports[FRONTEND]}"
        for begin in range(0, 2 * peers, 100):
            sockets = []
            for number in range(begin, min(begin + 100, 2 * peers)):
                socket = context.socket(zmq.DEALER)
                socket.linger = 0
                socket.identity = b"one" if number % 2 else b"\xff%d" % number
                socket.connect(endpoint)
                socket.send_multipart([b"", _VERSION, b"INFORM"])
                sockets.append(socket)
            time.sleep(0.05)
            for socket in sockets:
                socket.close()
        context.term()
        bystanders.are_served()
        return "the others are served"
