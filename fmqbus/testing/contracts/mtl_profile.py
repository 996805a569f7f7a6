"""Does a part do what `IMTLProfile` promises?"""

from __future__ import annotations

from contextlib import suppress

import pytest
from zope.interface.verify import verifyObject

from fmqbus.errors import BusError
from fmqbus.interfaces import IMTLProfile, IMTLReader, IMTLWriter
from fmqbus.protocols.mtl.commands import Confirm
from fmqbus.protocols.mtl.field_table import write_table
from fmqbus.testing.mtl import MemoryPlace

_TABLE = write_table({"name": "x", "deep": {"a": [1, None]}, "raw": b"\xff"})
_BODIES = [b"%d" % number for number in range(5)]


class MTLProfileContract:
    """Derive from this, and say how to make the profile. Whoever reads a resource gets what is written to it then, in
    its order; what else becomes of contents is the profile's own."""

    #: One that there is, or comes to be.
    resource = b"a"

    def make_profile(self) -> IMTLProfile:
        """Return the profile."""
        raise NotImplementedError

    def place(self) -> MemoryPlace:
        """A bus with it."""
        return MemoryPlace(self.make_profile())

    def test_it_provides_the_interface(self) -> None:
        """And so does what acts for its flows."""
        place = self.place()
        assert verifyObject(IMTLProfile, place.profile)
        assert verifyObject(IMTLReader, place.reader().side._reader)
        assert verifyObject(IMTLWriter, place.writer().side._writer)

    def test_it_can_be_named(self) -> None:
        """Case does not count, so it is lower case; and people are told what it is."""
        profile = self.make_profile()
        assert profile.name == profile.name.lower().strip() != ""
        assert profile.summary

    def test_its_resources_can_be_leased(self) -> None:
        """All that it has, and the one of this test."""
        place = self.place()
        for resource in (*place.profile.resources, self.resource):
            for is_reader in (True, False):
                place.profile.demand(place.owner(), is_reader, resource)
        assert not place.profile.resources or self.resource in place.profile.resources

    def test_what_is_written_is_read(self) -> None:
        """In its order, octet by octet, by the name of its resource."""
        place = self.place()
        reader, writer = place.reader(self.resource), place.writer()
        writer.write(self.resource, *_BODIES, table=_TABLE)
        contents = reader.contents()
        assert [content.body for content in contents] == _BODIES
        assert {(content.resource, content.properties) for content in contents} == {(self.resource, _TABLE)}
        assert [content.sequence for content in contents] == [1, 2, 3, 4, 5]

    def test_what_is_safe_is_confirmed(self) -> None:
        """Where a writer may have confirmation."""
        place = self.place()
        if place.profile.confirms_writers:
            place.reader(self.resource)
            writer = place.writer(full=True)
            writer.write(self.resource, *_BODIES)
            assert writer.said() == [Confirm(5, multiple=True)]

    def test_nothing_is_sent_where_there_is_no_room(self) -> None:
        """And all of it, in its order, when there is."""
        place = self.place()
        reader, writer = place.reader(self.resource), place.writer()
        reader.fill()
        writer.write(self.resource, *_BODIES)
        assert reader.contents() == []
        reader.clear()
        assert [content.body for content in reader.contents()] == _BODIES

    def test_a_reader_that_confirms_has_a_window(self) -> None:
        """It is sent no more than it has room for, until it has confirmed."""
        place = self.place()
        if place.profile.confirms_readers:
            reader, writer = place.reader(self.resource, full=True, window=2), place.writer()
            writer.write(self.resource, *_BODIES)
            bodies = []
            for sequence in (2, 4, 5):
                contents = reader.contents()
                assert contents[-1].sequence == sequence
                bodies += [content.body for content in contents]
                reader.settle(Confirm(sequence, multiple=True))
            assert bodies == _BODIES
            assert reader.contents() == []

    def test_after_a_dismiss_nothing_comes(self) -> None:
        """Neither what waited; and it may be summoned again."""
        place = self.place()
        reader, writer = place.reader(self.resource), place.writer()
        reader.fill()
        writer.write(self.resource, b"waits")
        reader.dismiss(self.resource)
        reader.clear()
        writer.write(self.resource, b"missed")
        assert reader.contents() == []
        reader.side.summon(self.resource)
        place.turn()
        reader.contents()
        writer.write(self.resource, b"again")
        assert [content.body for content in reader.contents()] == [b"again"]

    def test_rights_are_asked_at_all_three_places(self) -> None:
        """Where nobody allows anything, there is no lease, nothing is summoned, and nothing is taken."""
        place = MemoryPlace(self.make_profile(), authorizers=[])
        for is_reader in (True, False):
            with pytest.raises(BusError):
                place.profile.demand(place.owner(), is_reader, self.resource)
        with pytest.raises(BusError):
            place.reader().side.summon(self.resource)
        with pytest.raises(BusError):
            place.writer().write(self.resource, b"1")

    @pytest.mark.parametrize("resource", [b"*", b"a/*", b"/", b"//", b"$/info/clients", b"$", b"x" * 255, "ä".encode()])
    def test_a_name_that_cannot_be_is_refused_and_nothing_worse(self, resource: bytes) -> None:
        """By a `BusError`, wherever it is said."""
        place = self.place()
        reader, writer = place.reader(), place.writer()
        for is_reader in (True, False):
            with suppress(BusError):
                place.profile.demand(place.owner(), is_reader, resource)
        with suppress(BusError):
            reader.side.summon(resource)
        with suppress(BusError):
            writer.write(resource, b"1")
        place.turn()
        assert not reader.has_ended
        assert not writer.has_ended

    def test_a_table_that_is_none_is_handed_on_all_the_same(self) -> None:
        """Nobody has looked into it."""
        place = self.place()
        reader, writer = place.reader(self.resource), place.writer()
        writer.write(self.resource, b"1", table=b"\xff no table")
        assert [content.properties for content in reader.contents()] == [b"\xff no table"]

    def test_flows_end_at_any_moment(self) -> None:
        """With something to read, to settle and to hand on; others go on."""
        place = self.place()
        is_confirmed = place.profile.confirms_readers
        goes, stays = (place.reader(self.resource, full=is_confirmed, window=2) for _ in range(2))
        writer = place.writer()
        writer.write(self.resource, *_BODIES)
        writer.end("silent")
        goes.end("silent")
        place.turn()
        stays.contents()
        stays.settle(Confirm(2, multiple=True))
        assert stays.contents() or not is_confirmed
        assert not stays.has_ended
