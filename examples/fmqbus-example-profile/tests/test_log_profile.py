"""Do the last contents of a topic come to whoever summons it?"""

from __future__ import annotations

from fmqbus_log_profile import LAST, LogProfile

from fmqbus.interfaces import IMTLProfile
from fmqbus.protocols.mtl.commands import Confirm
from fmqbus.testing.contracts.mtl_profile import MTLProfileContract
from fmqbus.testing.mtl import MemoryPlace


class TestContract(MTLProfileContract):
    """What the bus expects of every profile."""

    def make_profile(self) -> IMTLProfile:
        return LogProfile()


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_the_last_contents_come_first() -> None:
    """And then what is new."""
    place = MemoryPlace(LogProfile())
    writer = place.writer()
    writer.write(b"a", *numbers(LAST + 5))
    writer.write(b"b", b"other")
    reader = place.reader(b"/a")
    writer.write(b"a", b"new")
    assert [content.body for content in reader.contents()] == [*numbers(LAST + 5)[5:], b"new"]


def test_they_wait_for_room() -> None:
    """As anything does."""
    place = MemoryPlace(LogProfile())
    place.writer().write(b"a", *numbers(3))
    reader = place.reader(b"a", full=True, window=2)
    assert len(reader.contents()) == 2
    reader.settle(Confirm(1))
    assert [content.body for content in reader.contents()] == [b"2"]


def test_a_part_may_serve_several_buses() -> None:
    """Each has its own."""
    profile = LogProfile()
    MemoryPlace(profile).writer().write(b"a", b"1")
    assert MemoryPlace(profile).reader(b"a").contents() == []
