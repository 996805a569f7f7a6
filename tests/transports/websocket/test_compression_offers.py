"""RFC 7692, section 7.1: what clients offer, and what is agreed on. (Category 13 of the AutobahnTestsuite)"""

from __future__ import annotations

import pytest
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol

from tests.transports.websocket.client import Client, Server, masked

NAME = "permessage-deflate"

#: What an offer asks for beyond the name, and what the answer then says beyond that clients keep no context.
SOUND = {
    "": set(),
    "client_no_context_takeover": set(),
    "client_max_window_bits": set(),
    "client_max_window_bits=9": set(),
    "server_no_context_takeover": {"server_no_context_takeover"},
    "server_max_window_bits=9": {"server_max_window_bits=9"},
    "server_max_window_bits=15": {"server_max_window_bits=15"},
    'server_max_window_bits="12"': {"server_max_window_bits=12"},
    "server_no_context_takeover; server_max_window_bits=10; client_no_context_takeover; client_max_window_bits=11": {
        "server_no_context_takeover",
        "server_max_window_bits=10",
    },
}

UNSOUND = [
    "nonsense",
    "nonsense=1",
    "server_no_context_takeover=1",
    "client_no_context_takeover=x",
    "server_max_window_bits",
    "server_max_window_bits=",
    "server_max_window_bits=7",
    "server_max_window_bits=16",
    "server_max_window_bits=x",
    "client_max_window_bits=16",
    "client_max_window_bits; client_max_window_bits",
    # sound, but zlib has no window so small
    "server_max_window_bits=8",
    "client_max_window_bits=8",
]

#: Around the lengths from which and to which we compress, see `fmqbus.transports.websocket.link`.
MESSAGES = ["", "hello", "hellö " * 1000, "x" * 60_000, "y" * 200_000]


def connect(offer: str, compression: bool = True) -> Client:
    """An open connection of a client that offers this."""
    return Server(compression=compression).connect(Sec_WebSocket_Extensions=offer)


def agreed(client: Client) -> list[str]:
    """The parameters of the extension that was agreed on, behind its name."""
    _, begin, rest = client.answer.decode().partition("Sec-WebSocket-Extensions: ")
    return rest.partition("\r\n")[0].split("; ") if begin else []


def offering(parameters: str) -> str:
    """An offer with these parameters."""
    return f"{NAME}; {parameters}" if parameters else NAME


@pytest.mark.parametrize(("parameters", "answered"), SOUND.items())
def test_7_1_a_sound_offer_is_accepted_as_it_asks(parameters: str, answered: set[str]) -> None:
    """And messages come and go by it, as another implementation understands the answer."""
    client = connect(offering(parameters))
    name, *said = agreed(client)
    assert name == NAME
    assert set(said) - {"client_no_context_takeover"} == answered
    extension = PerMessageDeflate()
    extension.finalize("; ".join([name, *said]))
    client.frames = FrameProtocol(client=True, extensions=[extension])
    for message in MESSAGES * 2:
        assert client.ask(client.frames.send_data(message, fin=True)) == [message]
        assert client.ask(client.frames.send_data(message.encode(), fin=True)) == [message.encode()]


@pytest.mark.parametrize("parameters", UNSOUND)
def test_7_1_an_unsound_offer_is_declined(parameters: str) -> None:
    """It is as if there were none: the client is let in, and nothing is compressed."""
    client = connect(offering(parameters))
    assert agreed(client) == []
    assert client.ask(masked(0x81, b"hello")) == ["hello"]


@pytest.mark.parametrize("parameters", UNSOUND)
def test_7_1_of_several_offers_the_first_sound_one_is_accepted(parameters: str) -> None:
    """Clients offer what they like best first, and then what everybody knows."""
    client = connect(f"{offering(parameters)}, {NAME}; server_max_window_bits=10, {NAME}; server_max_window_bits=11")
    assert "server_max_window_bits=10" in agreed(client)


@pytest.mark.parametrize("parameters", [*SOUND, *UNSOUND])
def test_any_offer_is_declined_where_compression_is_off(parameters: str) -> None:
    """As it is by default."""
    client = connect(offering(parameters), compression=False)
    assert agreed(client) == []
    assert client.ask(masked(0x81, b"hello")) == ["hello"]
