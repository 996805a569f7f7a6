"""What does a REPLY say of a job's outcome?"""

from __future__ import annotations

from fmqbus.protocols.emqp.results import DONE, TIMEOUT, WORKER_LOST, Result, write_result, write_returned
from fmqbus.worker.outcome import Ending, Outcome


def report(outcome: Outcome) -> bytes:
    """The body, in the form of EventMQ, with the class of a failure beside its text.

    A job that returns nothing is answered with a True value. (eMQP, Headers, reply-requested)
    """
    match outcome.ending:
        case Ending.DONE if outcome.value == b"null":
            return write_result(DONE)
        case Ending.DONE:
            return write_returned(outcome.value)
        case Ending.TIMED_OUT:
            # the very word that brokers and clients of EventMQ look for
            return write_result(Result(TIMEOUT, TIMEOUT))
        case Ending.GIVEN_UP:
            return write_result(Result(outcome.text, WORKER_LOST))
        case _:
            return write_result(Result(outcome.text, outcome.kind))
