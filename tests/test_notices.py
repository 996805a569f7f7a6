"""How often is said what happens very often?"""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from fmqbus.notices import NOTICE_SECONDS, Notices, goes_on


def test_the_first_is_told_at_once_and_the_others_are_counted() -> None:
    """Each line stands for itself and for those since the last one."""
    clock = Clock()
    notices = Notices(clock)
    assert notices.due("full") == 1
    assert [notices.due("full") for _ in range(3)] == [None] * 3
    clock.advance(NOTICE_SECONDS)
    assert notices.due("full") == 4
    assert notices.due("full") is None


def test_one_kind_does_not_hide_another() -> None:
    """Each has its own time."""
    notices = Notices(Clock())
    assert notices.due("full") == 1
    assert notices.due("failure") == 1


def test_what_goes_on_whatever_comes_of_it_tells_of_mistakes() -> None:
    """And ends well."""
    done: list[int] = []
    with capturedLogs() as logs:
        for act in (lambda: done.append(1), lambda: 1 / 0, lambda: done.append(2)):
            goes_on(act, "a round")()
    assert done == [1, 2]
    [log] = logs
    assert (log["what"], log["log_level"].name) == ("a round", "critical")
