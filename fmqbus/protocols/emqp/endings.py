"""What becomes of a job when it ends, one way or another? (eMQP, Headers: retry-count, guarantee, timeout)

======== ============================================ =================================================
end      it is                                        what then
======== ============================================ =================================================
done     a REPLY with a result                        accepted; an exception in EventMQ's form is one
failed   a REPLY that says which exception            again, ``retry-count`` times; else a dead letter
late     a REPLY that says so, or none in its time    the same; if none, with ``guarantee`` as often as
                                                      the settings say
lost     its worker is there no more, and so are its  the same as late without a REPLY
         chances to reply; or it says so as it goes
======== ============================================ =================================================

A client that asked for a reply gets one, whatever the end; not before the last try.
"""

from __future__ import annotations

import enum

from fmqbus.model import Outcome
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.results import TIMEOUT, WORKER_LOST, Result


class End(enum.Enum):
    """How one try of a job has ended. The values are the reasons of dead letters."""

    DONE = "done"
    FAILED = "job-failed"
    LATE = "job-timeout"
    LOST = "worker-lost"


#: For whoever waits, where no worker has said anything.
LATE_RESULT = Result(TIMEOUT, TIMEOUT)
LOST_RESULT = Result("the worker is lost", WORKER_LOST)


def end_of(result: Result) -> End:
    """What a worker's REPLY says."""
    if result.is_timeout:
        return End.LATE
    if result.error == WORKER_LOST:
        return End.LOST
    return End.FAILED if result.error else End.DONE


def outcome_of(end: End, headers: Headers, tries: int, most_guaranteed: int, is_answered: bool) -> Outcome:
    """What becomes of the job, which was given out so often by now, and whose worker has replied or not.
    `most_guaranteed` is how often it may be given out if it has the guarantee."""
    if end is End.DONE:
        return Outcome.ACCEPT
    most = headers.retry_count + 1
    if headers.guarantee and (end is End.LOST or not is_answered):
        most = max(most, most_guaranteed)
    return Outcome.RELEASE if tries < most else Outcome.REJECT
