"""Do our own profiles keep the contract that a vendor's must keep?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fmqbus.interfaces import IMTLProfile
from fmqbus.protocols.mtl.profiles.queue import QUEUE
from fmqbus.protocols.mtl.profiles.test import RESOURCE, TEST
from fmqbus.protocols.mtl.profiles.topic import TOPIC, Topic, TopicReader, TopicWriter
from fmqbus.testing.contracts.mtl_profile import MTLProfileContract


class TestTopic(MTLProfileContract):
    """Resources are topics. (reading 17)"""

    def make_profile(self) -> IMTLProfile:
        return TOPIC


class TestQueue(MTLProfileContract):
    """Resources are queues. (reading 17)"""

    def make_profile(self) -> IMTLProfile:
        return QUEUE


class TestTest(MTLProfileContract):
    """The text's own. (MTL, The Test Profile)"""

    resource = RESOURCE

    def make_profile(self) -> IMTLProfile:
        return TEST


class _Careless(Topic):
    """Lets everybody have a lease."""

    def demand(self, client: Any, is_reader: bool, resource: bytes) -> None:
        """See above."""


class _Stubborn(Topic):
    """Goes on after a Dismiss."""

    def reader(self, flow: Any) -> TopicReader:
        class Reader(TopicReader):
            def dismiss(self, resource: bytes) -> None:
                """See above."""

        return Reader(flow)


class _Forgetful(Topic):
    """Hands on nothing but the last content of a turn."""

    def writer(self, flow: Any) -> TopicWriter:
        class Writer(TopicWriter):
            def turn_over(self) -> None:
                del self._run[:-1]
                super().turn_over()

        return Writer(flow)


class _Curious(Topic):
    """Writes tables anew."""

    def writer(self, flow: Any) -> TopicWriter:
        class Writer(TopicWriter):
            def write(self, resource: bytes, table: bytes, body: bytes) -> None:
                super().write(resource, b"", body)

        return Writer(flow)


@pytest.mark.parametrize(
    ("make", "notices"),
    [
        (_Careless, MTLProfileContract.test_rights_are_asked_at_all_three_places),
        (_Stubborn, MTLProfileContract.test_after_a_dismiss_nothing_comes),
        (_Forgetful, MTLProfileContract.test_what_is_written_is_read),
        (_Curious, MTLProfileContract.test_a_table_that_is_none_is_handed_on_all_the_same),
    ],
)
def test_the_contract_notices_profiles_that_break_it(
    make: Callable[[], IMTLProfile], notices: Callable[[MTLProfileContract], None]
) -> None:
    """A suite that nothing fails is worth nothing."""

    class Contract(MTLProfileContract):
        def make_profile(self) -> IMTLProfile:
            return make()

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        notices(Contract())
