"""What does a broker's word mean to what a client has asked? Each word in each state, without I/O."""

from __future__ import annotations

import gc

import pytest

from fmqbus.client.emqp_answers import Accepted, Answers, Asked, Ended, JobFailed, State, Told, value_of
from fmqbus.errors import Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Ack, Command, Heartbeat, Progress, Reply
from fmqbus.protocols.emqp.results import HowFar, Result

TOLD = b'{"fraction": 0.5}'

#: State → what comes → the event, the state afterwards, and whether it is counted as invalid.
TABLE: dict[State, dict[str, tuple[type | None, State, int]]] = {
    State.ASKED: {
        "ack": (Accepted, State.ACCEPTED, 0),
        "reply of EventMQ": (Accepted, State.ACCEPTED, 0),
        "result": (Ended, State.ENDED, 0),
        "failure": (Ended, State.ENDED, 0),
        "progress": (Told, State.ASKED, 0),
        "broken progress": (None, State.ASKED, 1),
        "another's": (None, State.ASKED, 1),
        "heartbeat": (None, State.ASKED, 1),
    },
    State.ACCEPTED: {
        "ack": (None, State.ACCEPTED, 0),
        "reply of EventMQ": (None, State.ACCEPTED, 0),
        "result": (Ended, State.ENDED, 0),
        "failure": (Ended, State.ENDED, 0),
        "progress": (Told, State.ACCEPTED, 0),
        "broken progress": (None, State.ACCEPTED, 1),
        "another's": (None, State.ACCEPTED, 1),
        "heartbeat": (None, State.ACCEPTED, 1),
    },
    State.ENDED: {
        "ack": (None, State.ENDED, 1),
        "reply of EventMQ": (None, State.ENDED, 1),
        "result": (None, State.ENDED, 1),
        "failure": (None, State.ENDED, 1),
        "progress": (None, State.ENDED, 1),
        "broken progress": (None, State.ENDED, 1),
        "another's": (None, State.ENDED, 1),
        "heartbeat": (None, State.ENDED, 1),
    },
}

WORDS: dict[str, Command] = {
    "ack": Ack(b"m", b"1"),
    "reply of EventMQ": Reply(b"m", b"1"),
    "result": Reply(b"m", b'{"value": 3}', b"1"),
    "failure": Reply(b"m", b'{"value": "no", "error": "ValueError"}', b"1"),
    "progress": Progress(b"m", TOLD, b"1"),
    "broken progress": Progress(b"m", b"", b"1"),
    "another's": Reply(b"m", b'{"value": 3}', b"2"),
    "heartbeat": Heartbeat(b"m"),
}

_TO: dict[State, list[str]] = {State.ASKED: [], State.ACCEPTED: ["ack"], State.ENDED: ["result"]}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("state", State)
def test_each_word_in_each_state(state: State, word: str) -> None:
    """Leads where the table says."""
    answers: Answers[Asked] = Answers(DEFAULT_LIMITS)
    asked = Asked(b"1")
    answers.expect(asked)
    for before in _TO[state]:
        answers.heard(encode(WORDS[before]))
    assert asked.state is state
    event = answers.heard(encode(WORDS[word]))
    kind, after, invalid = TABLE[state][word]
    assert (None if event is None else type(event), asked.state, answers.invalid) == (kind, after, invalid)
    assert event is None or event.asked is asked


def test_events_say_what_has_come() -> None:
    """Progress, and the result."""
    answers: Answers[Asked] = Answers(DEFAULT_LIMITS)
    asked = Asked(b"1")
    answers.expect(asked)
    assert answers.heard(encode(WORDS["progress"])) == Told(asked, HowFar(0.5))
    assert answers.heard(encode(WORDS["failure"])) == Ended(asked, Result("no", "ValueError"))
    assert len(answers) == 0


def test_a_result_that_is_none_is_a_failure() -> None:
    """The job has ended, whatever that says."""
    answers: Answers[Asked] = Answers(DEFAULT_LIMITS)
    asked = Asked(b"1")
    answers.expect(asked)
    event = answers.heard(encode(Reply(b"m", b"\xff", b"1")))
    assert isinstance(event, Ended)
    assert event.result.error == "PeerError"


def test_what_nobody_holds_on_to_is_forgotten() -> None:
    """Jobs that are never answered cost nothing in the end."""
    answers: Answers[Asked] = Answers(Limits(calls_per_peer=1))
    asked = Asked(b"1")
    answers.expect(asked)
    with pytest.raises(Overloaded):
        answers.expect(Asked(b"2"))
    del asked
    gc.collect()
    answers.expect(Asked(b"2"))


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (Result("no", "ValueError"), "ValueError"),
        (Result("TimeoutError"), "TimeoutError"),
        (Result("it took long", "TimeoutError"), "TimeoutError"),
    ],
)
def test_a_failure_has_the_class_of_the_exception(result: Result, kind: str) -> None:
    """Of EventMQ's own workers only one can be told from a result (section 3)."""
    with pytest.raises(JobFailed) as failed:
        value_of(result)
    assert failed.value.kind == kind
    assert str(failed.value).startswith(f"{kind}: ")


def test_other_results_are_what_was_returned() -> None:
    """Texts of exceptions too, if nobody says that they are."""
    assert value_of(Result("division by zero")) == "division by zero"
    assert value_of(Result(None)) is None
