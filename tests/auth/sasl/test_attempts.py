"""Who has to wait after he has failed to log in, and for how long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.auth.sasl.attempts import FREE_FAILURES, LONGEST_SECONDS, Attempts

HERE, THERE = "192.0.2.1", "192.0.2.2"


def after(failures: int, name: str | None = "anna", host: str = HERE, now: float = 0.0) -> Attempts:
    """When somebody has failed so often."""
    attempts = Attempts(100)
    for _ in range(failures):
        attempts.failed(name, host, now)
    return attempts


def test_some_failures_are_free() -> None:
    """People mistype."""
    assert after(FREE_FAILURES).pause("anna", HERE, 0.0) == 0.0
    assert after(FREE_FAILURES + 1).pause("anna", HERE, 0.0) == 1.0


def test_each_further_one_costs_twice_as_much() -> None:
    """Up to a minute; and there it stays."""
    attempts = after(FREE_FAILURES)
    pauses = [attempts.failed("anna", HERE, 0.0) for _ in range(20)]
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(pauses) == LONGEST_SECONDS
    assert attempts.pause("anna", HERE, LONGEST_SECONDS) <= 0.0


def test_a_host_waits_whatever_name_it_tries_and_a_name_wherever_it_is_tried() -> None:
    """Others do not."""
    attempts = after(FREE_FAILURES + 3)
    assert attempts.pause("bo", HERE, 0.0) > 0
    assert attempts.pause(None, HERE, 0.0) > 0
    assert attempts.pause("anna", THERE, 0.0) > 0
    assert attempts.pause("bo", THERE, 0.0) == 0


def test_who_has_proved_a_name_is_not_kept_out_by_others() -> None:
    """From where he did; what he fails at himself counts all the same."""
    attempts = Attempts(100)
    attempts.succeeded("anna", THERE)
    for _ in range(10):
        attempts.failed("anna", HERE, 0.0)
    assert attempts.pause("anna", THERE, 0.0) == 0
    for _ in range(10):
        attempts.failed("anna", THERE, 0.0)
    assert attempts.pause("anna", THERE, 0.0) > 0


def test_a_success_does_not_make_good_for_failures() -> None:
    """A guesser with a name of his own would go free."""
    attempts = after(FREE_FAILURES + 1)
    attempts.succeeded("mine", HERE)
    assert attempts.pause("anna", HERE, 0.0) > 0


def test_failures_are_forgotten_with_time() -> None:
    """One a minute."""
    attempts = after(FREE_FAILURES)
    assert attempts.failed("anna", HERE, 60.0) == 0.0
    assert attempts.failed("anna", HERE, 60.0) == 1.0
    assert attempts.failed("anna", HERE, 10_000.0) == 0.0


def test_this_machine_has_no_host() -> None:
    """Those behind a proxy here would else wait for each other."""
    attempts = after(FREE_FAILURES + 3, host="")
    assert attempts.pause("anna", "", 0.0) > 0
    assert attempts.pause("bo", "", 0.0) == 0
    attempts.succeeded("anna", "")
    assert attempts.pause("anna", "", 0.0) > 0


@given(st.lists(st.tuples(st.text(max_size=3), st.sampled_from([HERE, THERE, "", "x"])), max_size=50))
def test_no_more_is_remembered_than_allowed(said: list[tuple[str, str]]) -> None:
    """Whatever is tried; the newest is."""
    attempts = Attempts(3)
    for now, (name, host) in enumerate(said):
        attempts.failed(name, host, float(now))
        attempts.succeeded(name, host)
        assert len(attempts) <= 6
