"""What do two sides agree on, and when is there no connection? (MicroMsg2, Extension negotiation)"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from fmqbus.errors import ConfigError, PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2 import handshake
from fmqbus.protocols.micromsg2.extensions.acknowledgement import BATCH_ACK
from fmqbus.protocols.micromsg2.extensions.serializers import JSON
from fmqbus.protocols.micromsg2.handshake import Handshake, parse_entries, write_entries
from fmqbus.protocols.micromsg2.negotiation import Agreed, agree, answer, conclude, request
from fmqbus.testing.micromsg2 import BUILT_IN, offer
from tests import vectors

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2") if vector.name.startswith("hs_")}


def said(required: str = "", optional: str = "", major: int = 1, minor: int = 0) -> Handshake:
    """A step of the other side."""
    return Handshake(major=major, minor=minor, required=parse_entries(required), optional=parse_entries(optional))


def lists(handshake: Handshake) -> tuple[str, str]:
    """Both lists as they are written."""
    return write_entries(handshake.required).decode(), write_entries(handshake.optional).decode()


def names(agreed: Sequence[Agreed]) -> list[tuple[int, str]]:
    return [(each.index, each.extension.name) for each in agreed]


# the server's step


@pytest.mark.parametrize(
    ("ours", "theirs", "reply"),
    [
        # nothing on either side
        ((), ("", ""), ("", "")),
        # reading 12: what the client requires is repeated, then comes what we require
        ((), ("json;dotnet", ""), ("json;dotnet", "")),
        (("batch-ack", ""), ("json", ""), ("json;batch-ack", "")),
        (("json", ""), ("json;ack", ""), ("json;ack", "")),
        # reading 13: of the suggestions those that we have, then ours
        ((), ("", "x-nope;dotnet"), ("", "dotnet")),
        (("", "pubsub;dotnet"), ("", "dotnet;batch-ack"), ("", "dotnet;batch-ack;pubsub")),
        # one serializer only, the client's first; one kind of acknowledgement
        ((), ("", "xml;json;protobuf"), ("", "xml")),
        (("", "json"), ("", "xml"), ("", "xml")),
        ((), ("json", "xml"), ("json", "")),
        (("", "batch-ack"), ("ack", ""), ("ack", "")),
        # but what both are required is required
        ((), ("ack;batch-ack", ""), ("ack;batch-ack", "")),
        # an extension is named once
        ((), ("json;json", "json"), ("json", "")),
        # reading 24: other names of publish/subscribe, repeated as the client wrote them
        ((), ("pub/sub", "publish-subscribe"), ("pub/sub", "")),
        ((), ("", "pub-sub;pubsub"), ("", "pub-sub")),
        # reading 22: a window is made smaller, never larger; other properties stay as they are
        ((), ("batch-ack:max-count=100", ""), ("batch-ack:max-count=100", "")),
        ((), ("batch-ack:count=1000000000", ""), ("batch-ack:count=32767", "")),
        ((), ("ack:MessagesPerAck=40000,AckExpireTime=1", ""), ("ack:MessagesPerAck=32767,AckExpireTime=1", "")),
        # a suggestion that cannot be done is one that we do not have
        ((), ("", "batch-ack:count=0"), ("", "")),
    ],
)
def test_a_server_answers(ours: tuple[str, ...], theirs: tuple[str, str], reply: tuple[str, str]) -> None:
    """Readings 12, 13, 18, 22 and 24."""
    assert lists(answer(offer(b"", *ours), said(*theirs))) == reply


@pytest.mark.parametrize(
    ("required", "text"),
    [
        ("x-nope", "unsupported extension: x-nope"),
        ("json;X-Nope;x-more", "unsupported extension: x-nope"),
        ("batch-ack:count=0", "not a window: 0"),
        ("batch-ack:max-count=", "not a window: "),
        ("batch-ack:max-count=-1", "not a window: -1"),
        ("ack:MessagesPerAck=ten", "not a window: ten"),
        ("ack:batch-max=" + 21 * "1", "not a window: " + 21 * "1"),
    ],
)
def test_a_server_refuses_what_is_required_and_cannot_be(required: str, text: str) -> None:
    """Reading 17; MicroMsg2, Handshake: ERROR, then disconnect."""
    with pytest.raises(PeerError) as refusal:
        answer(offer(), said(required))
    assert str(refusal.value) == text


@pytest.mark.parametrize(("major", "minor"), [(1, 0), (1, 1), (1, 255), (2, 0), (3, 7), (255, 0)])
def test_the_lower_version_is_ours(major: int, minor: int) -> None:
    """MicroMsg2, Handshake; reading 2: any version from 1 on is answered with 1.0."""
    reply = answer(offer(), said(major=major, minor=minor))
    assert (reply.major, reply.minor) == (1, 0)


def test_version_0_is_refused_at_every_step() -> None:
    """Reading 2."""
    old = said(major=0, minor=9)
    for step in (lambda: answer(offer(), old), lambda: conclude(offer(), old), lambda: agree(offer(), said(), old)):
        with pytest.raises(PeerError, match=r"0\.9") as refusal:
            step()
        assert refusal.value.reason == "version"


# the client's last step


@pytest.mark.parametrize(
    ("ours", "reply", "final"),
    [
        ((), ("", ""), ("", "")),
        # what we require, whether the server repeats it or not
        (("json;dotnet", ""), ("", ""), ("json;dotnet", "")),
        (("json;dotnet", ""), ("dotnet;json", ""), ("json;dotnet", "")),
        # what the server requires, behind it
        (("json", ""), ("ack;json", ""), ("json;ack", "")),
        # of the suggestions what we have; not what only we suggested
        (("", "pubsub"), ("", "batch-ack"), ("", "batch-ack")),
        (("", "pubsub"), ("", "x-nope;pubsub"), ("", "pubsub")),
        (("json", ""), ("json", "xml;dotnet"), ("json", "dotnet")),
        # the server's window holds; ours if it names none
        (("batch-ack:max-count=500", ""), ("batch-ack:max-count=100", ""), ("batch-ack:max-count=100", "")),
        (("batch-ack:max-count=500", ""), ("batch-ack", ""), ("batch-ack:max-count=500", "")),
        (("", ""), ("", "batch-ack:max-count=100"), ("", "batch-ack:max-count=100")),
        (("", ""), ("", "batch-ack:max-count=99999"), ("", "batch-ack:max-count=32767")),
    ],
)
def test_a_client_concludes(ours: tuple[str, str], reply: tuple[str, str], final: tuple[str, str]) -> None:
    """MicroMsg2, End of handshake; readings 14 and 22."""
    assert lists(conclude(offer(b"", *ours), said(*reply))) == final


def test_a_client_refuses_what_the_server_requires_and_it_does_not_have() -> None:
    """MicroMsg2, Handshake, End of handshake: it must send an ERROR and disconnect."""
    with pytest.raises(PeerError, match="unsupported extension: x-nope"):
        conclude(offer(), said("x-nope"))


def test_a_client_takes_no_suggestion_that_it_does_not_want() -> None:
    """MicroMsg2, Negotiation of optional frames: what it is made ready to speak decides."""
    without_acknowledgements = offer(suggested="json", extensions=[JSON])
    assert lists(conclude(without_acknowledgements, said("", "json;ack;batch-ack"))) == ("", "json")


# what is agreed


@pytest.mark.parametrize(
    ("final", "agreed"),
    [
        (("json;dotnet", "batch-ack"), [(1, "json"), (2, "dotnet"), (3, "batch-ack")]),
        # reading 15: required before optional, the first occurrence counts
        (("dotnet;json;dotnet", "json;pubsub"), [(1, "dotnet"), (2, "json"), (3, "pubsub")]),
        # reading 20: of two kinds of acknowledgement the first; the second has an index all the same
        (("ack;batch-ack;dotnet", ""), [(1, "ack"), (3, "dotnet")]),
        (("batch-ack;ack", ""), [(1, "batch-ack")]),
        (("json;xml", "pubsub"), [(1, "json"), (3, "pubsub")]),
        # reading 14: an extension that nobody has named before, but that we have
        (("", "protobuf"), [(1, "protobuf")]),
        (("pub/sub;pubsub;json", ""), [(1, "pubsub"), (3, "json")]),
        (("", ""), []),
    ],
)
def test_the_last_step_is_the_truth(final: tuple[str, str], agreed: list[tuple[int, str]]) -> None:
    """MicroMsg2, Handshake completed; readings 14, 15 and 20."""
    assert names(agree(offer(), said(), said(*final))) == agreed


@pytest.mark.parametrize("final", [("", ""), ("json", "pubsub"), ("batch-ack;x-nope", ""), ("batch-ack", "x-nope")])
def test_a_last_step_without_what_we_require_or_with_what_we_do_not_have_is_refused(final: tuple[str, str]) -> None:
    """Reading 16."""
    with pytest.raises(PeerError) as refusal:
        agree(offer(required="batch-ack"), said("batch-ack"), said(*final))
    assert refusal.value.reason == "extension"


@pytest.mark.parametrize(
    ("reply", "final", "properties"),
    [
        ("batch-ack:max-count=100", "batch-ack", {"max-count": "100"}),
        ("batch-ack:max-count=100", "batch-ack:Max-Count=5", {"max-count": "5"}),
        ("batch-ack:max-count=100", "batch-ack:count=5", {"count": "5", "max-count": "100"}),
        ("", "batch-ack:count=5", {"count": "5"}),
        ("", "batch-ack", {}),
    ],
)
def test_what_the_last_step_does_not_say_the_reply_has_said(reply: str, final: str, properties: dict[str, str]) -> None:
    """Reading 22; what the last step says comes first."""
    [agreed] = agree(offer(), said(optional=reply), said(optional=final))
    assert list(agreed.properties.items()) == list(properties.items())


def test_more_extensions_than_have_an_index_are_refused() -> None:
    """An index has one octet, and 0 is none."""

    @attrs.frozen
    class Numbered:
        name: str
        aliases: Sequence[str] = ()
        choice: str = ""

    many = [Numbered(f"x-{number}") for number in range(256)]
    final = Handshake(
        required=parse_entries(";".join(each.name for each in many[:200])),
        optional=parse_entries(";".join(each.name for each in many[200:255])),
    )
    ready = offer(extensions=many)  # type: ignore[arg-type]
    assert agree(ready, said(), final)[-1].index == 255
    one_more = attrs.evolve(final, optional=(*final.optional, *parse_entries("x-255")))
    with pytest.raises(PeerError):
        agree(ready, said(), one_more)


# vectors


def test_the_reply_to_the_real_client_is_the_vector() -> None:
    """Reading 12: octet for octet, in its own spelling."""
    decoded = handshake.decode(VECTORS["hs_real_client"].octets)
    assert decoded is not None
    reply = answer(offer(b"fmqbus"), decoded[0])
    assert handshake.encode(reply) == VECTORS["hs_reply_echo"].octets


def test_the_examples_of_the_specification_are_what_a_client_says() -> None:
    """MicroMsg2, Complete handshake example, with the length put right (reading 1)."""
    ours = offer(b"hulk", "json;dotnet")
    decoded = handshake.decode(VECTORS["hs_reply_example"].octets)
    assert decoded is not None
    assert handshake.encode(request(ours)) == VECTORS["hs_json_dotnet"].octets
    assert handshake.encode(conclude(ours, decoded[0])) == VECTORS["hs_final_example"].octets


@pytest.mark.parametrize(
    ("name", "window"),
    [("hs_count", "10"), ("hs_max_count", "10"), ("hs_max_count_colon", "100"), ("hs_real_client", "10")],
)
def test_every_spelling_of_the_window_is_understood(name: str, window: str) -> None:
    """Readings 8 and 9; microauth, which we do not have, is left out."""
    decoded = handshake.decode(VECTORS[name].octets)
    assert decoded is not None
    reply = answer(offer(suggested=""), decoded[0])
    acknowledgement = (reply.required + reply.optional)[0]
    assert acknowledgement.properties[0][1] == window
    assert "microauth" not in [entry.name for entry in reply.optional]


def test_an_offer_finds_extensions_by_all_their_names() -> None:
    """Reading 19: ``x-`` is only a rule for names; unknown is unknown."""
    ready = offer()
    for extension in BUILT_IN:
        for name in (extension.name, *extension.aliases):
            [entry] = parse_entries(name)
            assert ready.find(entry) is extension
    with pytest.raises(PeerError):
        ready.find(parse_entries("x-json")[0])


@pytest.mark.parametrize("entry", ["x-nope", "batch-ack:count=0", "ack:max-count=many"])
def test_an_offer_of_what_we_would_refuse_ourselves_is_a_mistake_of_ours(entry: str) -> None:
    """It is told when the bus starts, not to each client."""
    for brought in ({"required": entry}, {"suggested": entry}):
        with pytest.raises(ConfigError):
            offer(**brought)


def test_the_limit_on_windows_is_the_bus_s() -> None:
    """`Limits.window`."""
    small = offer(extensions=[BATCH_ACK], limits=attrs.evolve(DEFAULT_LIMITS, window=5))
    assert lists(answer(small, said("batch-ack:count=6"))) == ("batch-ack:count=5", "")
