"""Which client waits for which job?

Clients choose their messages' ids, and some choose the same for all: so a job goes by its client's id only while no
other job does. Whatever the worker then says is told to the client under the id that it knows.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from fmqbus.errors import Overloaded
from fmqbus.protocols.emqp.presence import Peer


@attrs.frozen(slots=True)
class Submission:
    """A job that a client has handed in."""

    client: Peer
    #: As the client calls it.
    message_id: bytes
    #: The client asked to be told of the result; only then there is something to wait for.
    is_result_wanted: bool
    #: The client's socket takes one answer and no more (ZeroMQ's REQ).
    is_single_answer: bool = False


class Submissions:
    """The jobs that have not ended, by the ids under which the broker has them."""

    def __init__(self, most: int, make_id: Callable[[], bytes]) -> None:
        """`most` at a time; `make_id` gives ids that nobody else has."""
        self._most = most
        self._make_id = make_id
        self._submissions: dict[bytes, Submission] = {}

    def __len__(self) -> int:
        return len(self._submissions)

    def accept(self, submission: Submission) -> bytes:
        """Return the id under which the broker has the job. Raises `Overloaded` if there are too many."""
        if len(self._submissions) >= self._most:
            raise Overloaded(f"more than {self._most} jobs", "jobs")
        request_id = submission.message_id
        while not request_id or request_id in self._submissions:
            request_id = self._make_id()
        self._submissions[request_id] = submission
        return request_id

    def find(self, request_id: bytes) -> Submission | None:
        """Who handed the job in."""
        return self._submissions.get(request_id)

    def ended(self, request_id: bytes) -> Submission | None:
        """The job has ended. None if there was none of this id, or its end has been told."""
        return self._submissions.pop(request_id, None)
