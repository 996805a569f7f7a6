"""Does the sorted map do what a sorted dict would, at its ends, in its middle, and across its blocks?"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fmqbus.router.sorted_map import SortedMap

KEYS = st.integers(0, 5000)


class MapMachine(RuleBasedStateMachine):
    """A dict, sorted whenever it is looked at, beside the map."""

    def __init__(self) -> None:
        super().__init__()
        self.map: SortedMap[int, str] = SortedMap()
        self.model: dict[int, str] = {}

    @rule(begin=KEYS, count=st.integers(1, 700), step=st.integers(1, 3))
    def add_a_run(self, begin: int, count: int, step: int) -> None:
        for key in range(begin, begin + count * step, step):
            if key not in self.model:
                self.model[key] = str(key)
                self.map.add(key, str(key))

    @rule(begin=KEYS, count=st.integers(1, 700))
    def discard_a_run(self, begin: int, count: int) -> None:
        for key in range(begin, begin + count):
            assert self.map.discard(key) == self.model.pop(key, None)

    @rule(most=st.integers(1, 600))
    def take_from_the_front(self, most: int) -> None:
        shown = self.map.peek(most)
        expected = sorted(self.model)[: len(shown)]
        assert shown == [self.model.pop(key) for key in expected]
        assert bool(shown) == bool(self.map)
        if shown:
            self.map.drop_first(len(shown))

    @rule(key=st.integers(-10, 6000))
    def look_from(self, key: int) -> None:
        later = [each for each in self.model if each >= key]
        assert self.map.first_from(key) == (str(min(later)) if later else None)
        assert self.map.get(key) == self.model.get(key)

    @invariant()
    def it_has_what_the_model_has_in_order(self) -> None:
        assert list(self.map) == [self.model[key] for key in sorted(self.model)]
        assert len(self.map) == len(self.model)
        assert bool(self.map) == bool(self.model)
        if self.model:
            assert self.map.first_key == min(self.model)


TestMap = MapMachine.TestCase
TestMap.settings = settings(max_examples=50, stateful_step_count=20, deadline=None)
