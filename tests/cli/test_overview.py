"""`fmqbus.cli.overview` and `fmqbus.cli.top_view`: from what a bus tells to what fits on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from fmqbus.cli.overview import DropLine, Observation, PeerLine, ProtocolLine, QueueLine
from fmqbus.cli.top_view import Section, Shown, plain_lines, rows_for, screen
from fmqbus.cli.traffic import Rate, Sample

QUEUE = dict.fromkeys(("ready", "unsettled", "delayed", "octets", "consumers", "enqueued", "delivered", "accepted"), 0)


def protocol(sessions: int = 1, messages: int = 0, **drops: dict[str, int]) -> dict[str, Any]:
    """As the bus tells of one."""
    return {
        "sessions": sessions,
        "messages_in": messages,
        "messages_out": 2 * messages,
        "octets_in": 10 * messages,
        "octets_out": 20 * messages,
        "lost": {},
        "refused": {},
        **drops,
    }


def peer(number: int, messages: int = 0, **others: Any) -> dict[str, Any]:
    """As the bus tells of one."""
    return {
        "number": number,
        "protocol": "fmqp",
        "carrier": "tcp",
        "address": "192.0.2.1",
        "port": 5000,
        "uid": None,
        "identity": None,
        "subscriptions": 1,
        "messages_in": messages,
        "messages_out": 0,
        "kept_octets": 0,
        "lost": 0,
        "is_slow": False,
        **others,
    }


def answer(**parts: Any) -> dict[str, Any]:
    """As the bus answers."""
    return {
        "version": "1",
        "subscriptions": 3,
        "checks": {"router": None},
        "protocols": {},
        "sessions": [],
        "queues": [],
        **parts,
    }


def test_rates_are_since_the_answer_before() -> None:
    """Of each protocol, peer and queue; at first there are none."""
    observation = Observation()
    first = answer(
        protocols={"fmqp": protocol(messages=10)},
        sessions=[peer(1, 10)],
        queues=[{**QUEUE, "name": "q", "enqueued": 5}],
    )
    assert observation.look(first, 0.0).protocols == [ProtocolLine("fmqp", 1, 0.0, 0.0, 0.0, 0.0)]
    second = answer(
        protocols={"fmqp": protocol(messages=30)},
        sessions=[peer(1, 14)],
        queues=[{**QUEUE, "name": "q", "enqueued": 9}],
    )
    overview = observation.look(second, 2.0)
    assert overview.protocols == [ProtocolLine("fmqp", 1, 10.0, 20.0, 100.0, 200.0)]
    assert overview.peers == [PeerLine("fmqp", "192.0.2.1:5000", 1, 2.0, 0.0, 0, 0, False)]
    assert overview.queues == [QueueLine("q", 0, 0, 0, 0, 2.0, 0.0)]


def test_what_was_not_there_before_has_no_rate_and_none_is_negative() -> None:
    """A queue may have gone and come again."""
    observation = Observation()
    observation.look(answer(queues=[{**QUEUE, "name": "q", "enqueued": 100}]), 0.0)
    again = answer(queues=[{**QUEUE, "name": "q", "enqueued": 3}, {**QUEUE, "name": "r", "enqueued": 7}])
    assert [queue.enqueued_per_second for queue in observation.look(again, 1.0).queues] == [0.0, 0.0]


def test_what_is_lost_now_comes_before_what_was_lost_once() -> None:
    """Each reason of each protocol."""
    observation = Observation()
    observation.look(answer(protocols={"fmqp": protocol(lost={"outbox-full": 1}, refused={"refused": 1000})}), 0.0)
    now = answer(protocols={"fmqp": protocol(lost={"outbox-full": 5}, refused={"refused": 1000})})
    assert observation.look(now, 2.0).drops == [
        DropLine("fmqp", "lost", "outbox-full", 5, 2.0),
        DropLine("fmqp", "refused", "refused", 1000, 0.0),
    ]


@pytest.mark.parametrize(
    ("others", "name"),
    [
        ({}, "192.0.2.1:5000"),
        ({"address": "2001:db8::1"}, "[2001:db8::1]:5000"),
        ({"identity": "ann"}, "ann at 192.0.2.1:5000"),
        ({"carrier": "unix", "address": "", "port": None, "uid": 1000}, "unix uid 1000"),
        ({"carrier": "memory", "address": "", "port": None}, "memory"),
    ],
)
def test_a_peer_is_named_by_where_and_who_it_is(others: dict[str, Any], name: str) -> None:
    """As far as that is known."""
    assert Observation().look(answer(sessions=[peer(1, **others)]), 0.0).peers[0].peer == name


def shown(peers: int = 0, topics: int = 0, **parts: Any) -> Shown:
    """A moment with so many of each."""
    parts.setdefault("sessions", [peer(number) for number in range(peers)])
    rates = [Rate(f"topic/{number}", 1.0, 1.0, 1, 1) for number in range(topics)]
    return Shown(Sample({"clients": 7}, rates), Observation().look(answer(**parts), 0.0))


def drawn(moment: Shown, width: int, height: int) -> list[str]:
    """What stands on a terminal of that size."""
    output = io.StringIO()
    console = Console(file=output, width=width, height=height, force_terminal=True, no_color=True)
    console.print(screen(moment, console))
    return output.getvalue().splitlines()


@pytest.mark.parametrize("height", [1, 2, 3, 5, 8, 13, 24, 100])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_it_fits_on_a_terminal_of_any_size(width: int, height: int) -> None:
    """No line is broken in two, and none is beyond the last."""
    moment = shown(peers=50, topics=50, protocols={"fmqp": protocol()}, queues=[{**QUEUE, "name": "q" * 300}])
    lines = drawn(moment, width, height)
    assert 1 <= len(lines) <= max(height, 1)


def test_each_section_has_its_share_of_a_small_terminal() -> None:
    """A heading and a row at least, from the first on; what one does not need goes to the others."""
    few, many, none = (Section(("a",), [("x",)] * rows) for rows in (1, 100, 0))
    assert rows_for([few, none, many], 10) == [1, 0, 7]
    assert rows_for([many, many, few], 5) == [2, 1, 0]
    assert rows_for([many], 1) == [0]
    assert rows_for([few, few], 100) == [1, 1]


def test_what_is_not_well_stands_above_all() -> None:
    """In the words of the bus."""
    lines = drawn(shown(checks={"router": None, "message_store": "the disk is full"}), 80, 24)
    assert "message_store: the disk is full" in lines[0]


def test_what_is_said_above_all_is_said_to_its_end() -> None:
    """On more lines, where the terminal is narrow."""
    lines = drawn(shown(checks={"message_store": "the disk is full " + "again " * 20 + "and to the end"}), 40, 24)
    assert "to the end" in lines[3] + lines[4]


def test_a_slow_peer_is_marked() -> None:
    """In a word, not by colour alone."""
    moment = shown(sessions=[peer(1, is_slow=True, kept_octets=1234567)])
    (line,) = (line for line in drawn(moment, 120, 24) if "192.0.2.1" in line)
    assert "slow" in line
    assert "1,234,567" in line


def test_names_do_nothing_to_a_terminal() -> None:
    """They are the peers' to choose."""
    evil = "\x1b[2Jgone\n\x07"
    moment = shown(
        sessions=[peer(1, identity=evil)],
        queues=[{**QUEUE, "name": evil}],
        protocols={evil: protocol(lost={evil: 1})},
        checks={evil: evil},
    )
    moment = Shown(Sample({evil: 1}, [Rate(evil, 1.0, 1.0, 1, 1)]), moment.overview, evil)
    assert "\x1b[2J" not in "".join(drawn(moment, 200, 50))
    assert "\x1b" not in plain_lines(moment)
    assert "\x07" not in plain_lines(moment)


def test_where_the_bus_does_not_tell_the_rest_is_shown() -> None:
    """With the reason."""
    moment = Shown(Sample({"clients": 7}, [Rate("a", 1.0, 1.0, 1, 1)]), None, "Peers and queues are not shown: ...")
    assert plain_lines(moment).splitlines() == [
        "Peers and queues are not shown: ...",
        "clients 7",
        "topic\tmessages/s\toctets/s\tmessages\toctets",
        "a\t1.0\t1\t1\t1",
    ]
