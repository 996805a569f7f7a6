"""Does a part do what `IMicroMsg2Extension` promises?"""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from zope.interface.verify import verifyObject

from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.codec import encode_extension
from fmqbus.protocols.micromsg2.connection import State
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers
from fmqbus.testing.micromsg2 import BUILT_IN, Pair, messages_of


class MicroMsg2ExtensionContract:
    """Derive from this, and say how to make the extension."""

    #: What follows the extension's name in a handshake, as ``name=value,name=value``; empty for one without properties.
    properties = ""

    def make_extension(self) -> IMicroMsg2Extension:
        """Return the extension."""
        raise NotImplementedError

    def entry(self) -> str:
        """The extension as a list in a handshake names it."""
        name = self.make_extension().name
        return f"{name}:{self.properties}" if self.properties else name

    def pair(self) -> Pair:
        """Two ends that have agreed on the extension."""
        extension = self.make_extension()
        return Pair(self.entry(), [extension, *(part for part in BUILT_IN if part.name != extension.name)])

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that connections call."""
        assert verifyObject(IMicroMsg2Extension, self.make_extension())

    def test_its_name_can_be_written(self) -> None:
        """A FIELD, in lower case."""
        assert re.fullmatch(r"[a-z0-9-]+", self.make_extension().name)

    def test_both_ends_agree_on_it(self) -> None:
        """It has an index, and its properties suffice for it to begin."""
        pair = self.pair()
        for end in (pair.server, pair.client):
            assert end.connection.state is State.OPEN
            [agreed] = end.connection.agreed
            assert agreed.extension.name == self.make_extension().name

    def test_each_connection_has_hooks_of_its_own(self) -> None:
        """With what the limits allow."""
        extension = self.make_extension()
        assert isinstance(extension.activate({}, Numbers(), DEFAULT_LIMITS), Hooks)

    def test_it_keeps_to_what_it_has_answered(self) -> None:
        """Answered with its own answer, it changes nothing more."""
        extension = self.make_extension()
        pair = self.pair()
        properties = pair.server.connection.agreed[0].properties
        answered = {**properties, **extension.answer(properties, DEFAULT_LIMITS)}
        assert {**answered, **extension.answer(answered, DEFAULT_LIMITS)} == answered

    @pytest.mark.parametrize("value", ["", "0", "-1", "1000000000000000000000000", "\0", "ä", "%"])
    def test_properties_that_it_cannot_do_are_refused_and_nothing_worse(self, value: str) -> None:
        """By `PeerError`, whoever says them."""
        extension = self.make_extension()
        names = [pair.partition("=")[0].lower() for pair in self.properties.split(",") if pair]
        for name in [*names, "x-unheard-of"]:
            with suppress(PeerError):
                extension.answer({name: value}, DEFAULT_LIMITS)
            with suppress(PeerError):
                extension.activate({name: value}, Numbers(), DEFAULT_LIMITS)

    @pytest.mark.parametrize("payload", [b"", b"\0", b"\xff\xff", 300 * b"\xff"])
    def test_a_frame_that_means_nothing_ends_nothing(self, payload: bytes) -> None:
        """It may be refused; the connection goes on."""
        pair = self.pair()
        for end in (pair.server, pair.client):
            end.hear(b"".join(encode_extension(1, payload)))
            assert end.connection.state is State.OPEN

    def test_messages_pass_both_ways_as_they_are(self) -> None:
        """In their order, however the extension holds them up."""
        pair = self.pair()
        payloads = [b"%d" % number for number in range(50)]
        for end in (pair.server, pair.client):
            for payload in payloads:
                end.connection.send(b"queue/a", payload)
            arrived = [message.payload for message in messages_of(pair.talk())]
            assert arrived == payloads
            assert not end.connection.is_waiting
