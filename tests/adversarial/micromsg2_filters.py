"""What of very many MicroMsg2 subscriptions, and of filters without measure?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from fmqbus.protocols.micromsg2.events import ErrorReceived
from tests.adversarial.attack import MICROMSG2, Siege, attack, scale
from tests.adversarial.measure import memory_of
from tests.adversarial.micromsg2_frames import end_of
from tests.adversarial.subscriptions import OWN_SUBSCRIPTIONS
from tests.adversarial.wildcards import overlapping
from tests.live.micromsg2_client import Client
from tests.protocols.micromsg2.written import LARGE_PAYLOAD, command, message

#: `Limits.filter_clauses`, `Limits.wildcards_per_peer`.
MOST_CLAUSES = 32
MOST_WILDCARDS = 1_000


def subscribe(topic: bytes, *filters: bytes) -> bytes:
    """The command, with filters that are percent-encoded already."""
    return command(b",".join([b"subscribe;topic=" + topic, *(b"filter=" + each for each in filters)]), LARGE_PAYLOAD)


_REFUSED = {
    "more than 32 filters": subscribe(b"a", *[b"p=N1"] * (MOST_CLAUSES + 1)),
    "more than 32 filters ": subscribe(b"a", *[b"p=N1"] * 5_000),
    "filters of more than 4096 octets": subscribe(b"a", b"p=T" + b"x" * 5_000),
    "not a filter: ": subscribe(b"a", b"((((((a+)+)+)+)+)+"),
    "not a filter: p": subscribe(b"a", b"p%20" * 1_000),
    "exactly one destination is needed": command(b"subscribe;topic=a,topic=b,queue=c"),
    "unknown command: ": command(b"\x00\x1b[2J;" + b"=" * 200),
}


@attack(
    "{times:,} subscriptions of each kind that cannot be, and 10,000 clauses",
    full=scale(memory_mib=16, times=200),
    smoke=scale(memory_mib=16, times=5),
)
def filters_out_of_measure(siege: Siege, times: int) -> str:
    """Each is told why, and the connection goes on; what is larger than any command is its end."""
    client = siege.micromsg2()
    client.hear()
    for _ in range(times):
        for complaint, said in _REFUSED.items():
            client.socket.sendall(said)
            told = client.hear()
            assert isinstance(told, ErrorReceived), complaint
            assert complaint.strip() in told.text, f"{told.text} is not {complaint}"
    siege.client().number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    with Client(siege.broker.connect(MICROMSG2)) as greedy:
        greedy.socket.sendall(subscribe(b"a", *[b"p=Tx"] * 10_000))
        assert end_of(greedy) == "larger than is allowed here"
    return f"{times * len(_REFUSED):,} refused with their reasons, the largest cut off"


@attack(
    "one MicroMsg2 client makes {subscriptions:,} subscriptions with filters, and goes",
    full=scale(memory_mib=250, subscriptions=100_000),
    smoke=scale(memory_mib=32, subscriptions=10_000),
)
def many_filtered_subscriptions(siege: Siege, subscriptions: int) -> str:
    """They cost memory in proportion and nobody's time, neither while they come nor when they end together."""
    observer, publisher = siege.client(), siege.micromsg2()
    client = siege.micromsg2()
    before, _ = memory_of(siege.broker)
    begun = time.monotonic()
    for begin in range(0, subscriptions, 1_000):
        numbers = range(begin, begin + 1_000)
        client.socket.sendall(b"".join(subscribe(b"many/%d" % n, b"n=N%d" % n, b"colour!=Tred") for n in numbers))
    client.heard()
    seconds = time.monotonic() - begun
    after, _ = memory_of(siege.broker)
    last = f"topic/many/{subscriptions - 1}".encode()
    publisher.send(last, b"no", {"n": "1"})
    publisher.send(last, b"yes", {"n": str(subscriptions - 1)})
    assert client.hear_message().payload == b"yes"
    client.close()
    observer.number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    each = (after - before) * 1024 * 1024 / subscriptions
    return f"{subscriptions / seconds:,.0f} a second, {each:,.0f} octets each"


def worst_subscriptions(depth: int) -> Iterator[bytes]:
    """All patterns that fit one topic, as many as may be, each with as many clauses, of which the last fails."""
    for pattern in overlapping(depth)[1 : MOST_WILDCARDS + 1]:
        yield subscribe(pattern, *[b"p%26Txx"] * (MOST_CLAUSES - 1), b"p%26Ty")


@attack(
    "{messages:,} messages, on each of which {wildcards:,} overlapping filters of 32 clauses are tried in vain",
    full=scale(memory_mib=64, messages=200, wildcards=MOST_WILDCARDS),
    smoke=scale(memory_mib=32, messages=20, wildcards=MOST_WILDCARDS),
)
def overlapping_filters(siege: Siege, messages: int, wildcards: int) -> str:
    """Done step by step, in the turns' shares: it takes its time, which is that of this one subscriber."""
    client, publisher = siege.micromsg2(), siege.micromsg2()
    for said in worst_subscriptions(depth=10):
        client.socket.sendall(said)
    client.heard()
    siege.watch.start_anew()
    topic = b"topic/" + b"/".join([b"a"] * 10)
    begun = time.monotonic()
    publisher.socket.sendall(b"".join(message(n, topic, b"no", b"p:Txxx") for n in range(1, messages + 1)))
    publisher.socket.sendall(message(messages + 1, topic, b"yes", b"p:Txxy"))
    # neither what is filtered out nor what passes waits for ever
    assert client.hear_message().payload == b"yes"
    each = (time.monotonic() - begun) / (messages * wildcards * MOST_CLAUSES)
    return f"{each * 1e9:.0f} ns a clause, in shares of 5 ms"


@attack(
    "{messages} messages with properties of 60,000 octets, which {wildcards:,} overlapping filters search",
    full=scale(memory_mib=64, messages=20, wildcards=MOST_WILDCARDS),
    smoke=scale(memory_mib=32, messages=1, wildcards=MOST_WILDCARDS),
)
def searching_filters(siege: Siege, messages: int, wildcards: int) -> str:
    """Each clause reads all of the text, and takes time in proportion."""
    client, publisher = siege.micromsg2(), siege.micromsg2()
    for said in worst_subscriptions(depth=10):
        client.socket.sendall(said)
    client.heard()
    siege.watch.start_anew()
    topic, text = b"topic/" + b"/".join([b"a"] * 10), b"x" * 60_000
    begun = time.monotonic()
    publisher.socket.sendall(b"".join(message(n, topic, b"no", b"p:T" + text) for n in range(1, messages + 1)))
    publisher.socket.sendall(message(messages + 1, topic, b"yes", b"p:Txx" + text + b"y"))
    assert client.hear_message().payload == b"yes"
    return f"searched {messages * wildcards * len(text) / 1e9:.1f} GB in {time.monotonic() - begun:.1f} s"
