"""Properties of messages, and filters that look at them."""

from __future__ import annotations

import pytest

from fmqbus.model import NO_PROPERTIES
from tests.crossing.conftest import CELLS, Join
from tests.crossing.speakers import Heard, Speaker

SAID = {"colour": "red", "weight": "7.5", "note": 'ä; b: "c"'}

#: To whoever can filter.
FILTERED = [cell for cell in CELLS if cell.values[0][1].has_filters]


def publish(speaker: Speaker, topic: bytes, retain: bool = False) -> None:
    """With properties, if there are such."""
    speaker.publish(topic, b"1", retain=retain, properties=SAID if speaker.has_properties else NO_PROPERTIES)


def test_properties_arrive_where_both_sides_have_them(pair: tuple[Speaker, Speaker], topic: bytes) -> None:
    """Elsewhere the message arrives without."""
    speaker, listener = pair
    listener.subscribe(topic)
    publish(speaker, topic)
    both = speaker.has_properties and listener.has_properties
    assert listener.heard() == [Heard(topic, b"1", SAID if both else NO_PROPERTIES)]


def test_properties_are_retained_with_their_message(pair: tuple[Speaker, Speaker], topic: bytes) -> None:
    """Whether or not somebody hears it meanwhile whose protocol has none."""
    speaker, listener = pair
    publish(speaker, topic, retain=True)
    listener.subscribe(topic)
    (message,) = listener.heard()
    both = speaker.has_properties and listener.has_properties
    assert message.properties.items() >= (SAID if both else NO_PROPERTIES).items()


@pytest.mark.parametrize("cell", FILTERED)
@pytest.mark.parametrize(
    ("clause", "passes_with", "passes_without"),
    [
        ("colour=Tred", True, False),
        ("colour!=Tred", False, True),
        ("weight>N7", True, False),
        ("weight>N8", False, False),
        ("note~Tc", False, True),
        ("note&Tc", True, False),
    ],
)
def test_filters_look_at_messages_of_all_protocols(
    join: Join,
    cell: tuple[type[Speaker], type[Speaker]],
    topic: bytes,
    clause: str,
    passes_with: bool,
    passes_without: bool,
) -> None:
    """One that has no such property passes only what excludes something."""
    speaker, listener = map(join, cell)
    listener.subscribe(topic, clause)
    publish(speaker, topic)
    passes = passes_with if speaker.has_properties else passes_without
    assert len(listener.heard()) == passes
