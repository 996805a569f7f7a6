"""What can be set for MicroMsg2, and what is said of a slip?"""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.errors import ConfigError
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.plug import MICROMSG2
from fmqbus.testing.bus import make_router
from fmqbus.testing.links import MemoryListener


def make_factory(**options: Any) -> object:
    return MICROMSG2.make_factory(make_router(), MemoryListener(installed=BUILT_IN), options)


def test_everything_has_a_default() -> None:
    """No table is needed."""
    make_factory()


def test_lists_are_written_as_in_a_handshake() -> None:
    """With properties, and by any name that an extension has."""
    make_factory(required="batch-ack:max-count=100;json", suggested="pub-sub;xml;", default_queue="a/b", identity="")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"requires": ""}, r"protocols\.micromsg2: .*`requires`"),
        ({"required": ["json"]}, r"protocols\.micromsg2\.required: Expected `str`"),
        ({"required": "json;x-nope"}, r"protocols\.micromsg2\.required: unsupported extension: x-nope"),
        ({"suggested": "x-nope"}, r"protocols\.micromsg2\.suggested: unsupported extension: x-nope"),
        ({"suggested": "ack:count=0"}, r"protocols\.micromsg2\.suggested: not a window: 0"),
        ({"required": 256 * ";"}, r"protocols\.micromsg2\.required: "),
        ({"default_queue": "/"}, r"protocols\.micromsg2\.default_queue: no level between the slashes"),
        ({"default_queue": "a/*"}, r"protocols\.micromsg2\.default_queue: no wildcard"),
        ({"default_queue": "$/a"}, r"protocols\.micromsg2\.default_queue: no wildcard"),
        ({"identity": 64 * "x"}, r"protocols\.micromsg2\.identity: "),
    ],
)
def test_a_slip_is_told_with_its_key(options: dict[str, Any], complaint: str) -> None:
    """Before anybody is let in."""
    with pytest.raises(ConfigError, match=complaint):
        make_factory(**options)


def test_there_is_nothing_without_the_extensions_that_are_installed() -> None:
    """They are parts, found as any other (MicroMsg2, Extensions)."""
    with pytest.raises(ConfigError, match="unsupported extension: json"):
        MICROMSG2.make_factory(make_router(), MemoryListener(), {"required": "json"})
