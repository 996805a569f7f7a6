"""Are neighbours that go the same way one run, and exactly those? (the fast lane of `fmqbus.protocols.fmqp.codec`)

Frames of one header are found by comparing octets, long runs of them column by column. Here are the streams that could
mislead such a comparison.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.model import Publication, Route, Targets
from fmqbus.protocols.fmqp.codec import Decoder, Packet
from tests.fuzz import fmqp_decoder
from tests.fuzz.fmqp_decoder import ONE, OTHER
from tests.protocols.fmqp.packets import packet, publication, subscribe

TOPIC = b"room/temp2"
HEADER = publication(TOPIC, b"12345678")[:-8]
#: From here on a run of `HEADER` is compared by columns; see `_frames_alike`.
THRESHOLD = 4 * len(HEADER)


class OneReceiver(dict[bytes, Route]):
    """Every topic goes to the same receiver."""

    targets = Targets(((ONE, ()),))

    def __missing__(self, topic: bytes) -> Route:
        route = self[topic] = Route(topic, None, self.targets)
        return route


def runs_of(stream: bytes, routes: OneReceiver | None = None) -> list[Publication | Packet]:
    """What one read of the whole stream gives."""
    return list(Decoder(65_536).feed(stream, OneReceiver() if routes is None else routes))


def assert_one_run(frames: list[bytes], routes: OneReceiver) -> None:
    """All the frames are one run with its octets untouched, and rightly counted."""
    [run] = runs_of(b"".join(frames), routes)
    assert isinstance(run, Publication)
    assert run.data == b"".join(frames)
    assert run.count == len(frames)
    assert [packet(0, m.topic, m.payload) for m in run.messages] == frames
    assert sum(route.messages for route in routes.values()) == len(frames)
    assert sum(route.octets for route in routes.values()) == len(run.data)


@pytest.mark.parametrize(
    "length", [1, 2, 3, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, THRESHOLD + 2, 2 * THRESHOLD, 7 * THRESHOLD + 3, 3000]
)
@pytest.mark.parametrize("body", [b"12345678", b"x", HEADER, HEADER[1:], 3 * HEADER, HEADER[:1]])
def test_a_run_of_equal_headers_is_one_run_of_any_length(length: int, body: bytes) -> None:
    """Around every length at which the comparison changes, and with bodies that look like headers."""
    routes = OneReceiver()
    assert_one_run(length * [publication(TOPIC, body)], routes)
    assert set(routes) == {TOPIC}


@pytest.mark.parametrize(
    "length", [1, 2, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, 3 * THRESHOLD, 3 * THRESHOLD + 1, 1000]
)
@pytest.mark.parametrize("at", range(len(HEADER)))
def test_a_header_that_differs_in_one_octet_ends_the_run(length: int, at: int) -> None:
    """Wherever the octet stands: flags, lengths, topic; what follows is read from the right place."""
    like = publication(TOPIC, b"12345678")
    unlike = like[:at] + bytes([like[at] ^ 1]) + like[at + 1 :]
    stream = length * like + unlike + 3 * like
    read = list(fmqp_decoder.plain_reading(stream))
    assert fmqp_decoder.by_receiver(fmqp_decoder.decoded([stream])) == fmqp_decoder.by_receiver(read)
    assert read[:length] == length * [Packet(0, TOPIC, b"12345678")]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([TOPIC, b"room/tomp2", b"a", b"b"]),
            st.sampled_from([1, 2, 8]),
            st.sampled_from([1, 2, THRESHOLD + 1]),
        ),
        min_size=1,
    )
)
def test_neighbours_that_go_to_the_same_receivers_are_one_run_whatever_their_topics(
    blocks: list[tuple[bytes, int, int]],
) -> None:
    """Also where sizes change; each topic's route counts its own."""
    frames = [publication(topic, octets * b"x") for topic, octets, count in blocks for _ in range(count)]
    routes = OneReceiver()
    assert_one_run(frames, routes)
    for topic, route in routes.items():
        mine = [frame for frame in frames if frame[6 : 6 + frame[1]] == topic]
        assert (route.messages, route.octets) == (len(mine), sum(map(len, mine)))


def test_a_run_knows_its_route_if_it_has_only_one() -> None:
    """So that its losses can be counted for the topic."""
    routes = OneReceiver()
    [run] = runs_of(5 * publication(b"a", b"1"), routes)
    assert run.route is routes[b"a"]
    [run] = runs_of(publication(b"a", b"1") + publication(b"a", b"22"), routes)
    assert run.route is routes[b"a"]
    for topics in ((b"a", b"b"), (b"a", b"b", b"a")):
        [run] = runs_of(b"".join(publication(topic, b"1") for topic in topics), routes)
        assert run.route is None


def test_what_needs_a_look_of_its_own_parts_a_run() -> None:
    """A subscription in between may change where the rest goes, so nothing passes it."""
    before, after = 3 * publication(b"a", b"1"), 2 * publication(b"a", b"2")
    one, alone, two = runs_of(before + subscribe(b"a") + after)
    assert (one.data, alone, two.data) == (before, Packet(0x80, b"a", b""), after)


def test_shuffled_traffic_for_single_receivers_is_gathered_for_each() -> None:
    """Each gets all of its read at once, in order."""
    routes = OneReceiver()
    routes[b"other"] = Route(b"other", None, Targets(((OTHER, ()),)))
    mine, others = publication(b"a", b"1"), publication(b"other", b"2")
    one, two = runs_of(mine + others + mine + others + mine, routes)
    assert (one.data, one.count) == (3 * mine, 3)
    assert (two.data, two.count) == (2 * others, 2)


def test_what_is_for_several_receivers_lets_all_that_was_gathered_go_first() -> None:
    """Otherwise a receiver would see it before what came earlier."""
    routes = OneReceiver()
    routes[b"all"] = Route(b"all", None, Targets(((ONE, ()), (OTHER, ()))))
    mine, for_all = publication(b"a", b"1"), publication(b"all", b"2")
    assert [run.data for run in runs_of(mine + for_all + mine, routes)] == [mine, for_all, mine]


def test_a_receiver_that_is_told_which_subscriptions_matched_gets_everything_in_order() -> None:
    """Its targets differ from topic to topic, so nothing may be gathered over them."""
    routes = OneReceiver()
    subscription, another = object(), object()
    routes[b"a"] = Route(b"a", None, Targets(((ONE, (subscription,)),)))
    routes[b"b"] = Route(b"b", None, Targets(((ONE, (another,)),)))
    a, b = publication(b"a", b"1"), publication(b"b", b"2")
    assert [run.data for run in runs_of(a + b + a, routes)] == [a, b, a]
