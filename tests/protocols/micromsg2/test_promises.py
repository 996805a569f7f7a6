"""Up to which message is a producer told that all are safe? (MicroMsg2, batch-ack)"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.protocols.micromsg2.promises import Promise, Promises


def test_what_is_safe_at_once_is_told_at_once() -> None:
    """Reading 39; as long as nothing waits."""
    promises = Promises()
    promises.is_safe(7)
    assert promises.safe == 7


def test_what_is_safe_waits_for_what_came_before_it() -> None:
    """Reading 39: an acknowledgement is for everything up to its number."""
    promises = Promises()
    first, second = promises.make(1), promises.make(2)
    promises.is_safe(3)
    promises.keep(second)
    assert promises.safe == 0
    promises.keep(first)
    assert promises.safe == 3


def test_a_promise_that_cannot_be_kept_is_the_end_when_its_turn_has_come() -> None:
    """What came before it is told first, and nothing that came after it ever."""
    promises = Promises()
    first, second, third = promises.make(1), promises.make(2), promises.make(3)
    promises.break_(second, "no")
    promises.keep(third)
    assert (promises.is_broken, promises.fault) == (True, "")
    promises.keep(first)
    assert (promises.safe, promises.fault) == (1, "no")


#: What may be said of a message: safe at once, safe later, or never.
FATES = st.sampled_from(["at once", "later", "never"])


@given(st.lists(FATES, max_size=12), st.randoms())
def test_the_account_is_that_of_a_plain_list(fates: list[str], random: object) -> None:
    """At any moment, whatever becomes safe in whichever order."""
    promises = Promises()
    states: list[str] = []
    waiting: list[tuple[int, Promise, str]] = []

    def check() -> None:
        expected = next((at for at, state in enumerate(states) if state != "safe"), len(states))
        assert promises.safe == expected
        assert bool(promises.fault) == (states[expected : expected + 1] == ["broken"])
        assert promises.is_broken == ("broken" in states)

    def settle_some() -> None:
        while waiting and random.random() < 0.4:  # type: ignore[attr-defined]
            at, promise, fate = waiting.pop(random.randrange(len(waiting)))  # type: ignore[attr-defined]
            states[at] = "safe" if fate == "later" else "broken"
            if fate == "later":
                promises.keep(promise)
            else:
                promises.break_(promise, "fault")
            check()

    for number, fate in enumerate(fates, 1):
        if fate == "at once":
            states.append("safe")
            promises.is_safe(number)
        else:
            states.append("waits")
            waiting.append((number - 1, promises.make(number), fate))
        check()
        settle_some()
