"""What is done about a client's REQUEST, and what is the client told? (eMQP, Client)

A job becomes a message of its queue. When it is as safe as the bus makes it, the client is told so, as the settings
say; a REQ socket takes one answer and no more, so there it is told only the result if it asked for that. The protocol
has no word for a refusal: whoever asked for a reply gets one that says why, and everybody else is counted.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.errors import BusError, Detached
from fmqbus.interfaces import ISession
from fmqbus.protocols.emqp.commands import Ack, Reply, Request
from fmqbus.protocols.emqp.headers import Headers, parse_headers
from fmqbus.protocols.emqp.job_message import job_message
from fmqbus.protocols.emqp.jobs import parse_job
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.queue_lists import DEFAULT_QUEUE, parse_queue
from fmqbus.protocols.emqp.results import Result, write_result
from fmqbus.protocols.emqp.settings import Submitted
from fmqbus.protocols.emqp.wire import Wire


class Requests:
    """The REQUESTs of all clients at one place."""

    def __init__(
        self,
        wire: Wire,
        submitted: Submitted,
        is_known: Callable[[bytes], bool],
        refused: Callable[[BusError], None],
    ) -> None:
        """Jobs for a queue that is not known go to ``default``. `refused` is told of all that is not accepted."""
        self._wire = wire
        self._submitted = submitted
        self._is_known = is_known
        self._refused = refused

    def request(self, bus: ISession, client: Peer, request: Request, is_single_answer: bool) -> None:
        """A client hands in a job. `is_single_answer` if its socket is a REQ."""
        try:
            headers = parse_headers(request.headers)
        except BusError as error:
            self.refuse(client, request, error)
            return
        try:
            waiting = self._accept(bus, client, request, headers)
        except BusError as error:
            self._refuse(client, request, error, headers.reply_requested)
            return
        if is_single_answer and headers.reply_requested:
            return
        if waiting is None:
            self._answer(client, request, headers)
        else:
            waiting.addCallbacks(
                lambda _: self._answer(client, request, headers),
                lambda failure: self._not_kept(client, request, headers, failure),
            )

    def refuse(self, client: Peer, request: Request, error: BusError) -> None:
        """The job is not taken over, whatever its headers are."""
        self._refuse(client, request, error, "reply-requested" in request.headers.decode())

    def _accept(self, bus: ISession, client: Peer, request: Request, headers: Headers) -> Deferred[None] | None:
        """Raises `BusError`."""
        queue = parse_queue(request.queue)
        parse_job(request.body)
        if not self._is_known(queue):
            queue = DEFAULT_QUEUE
        message = job_message(queue, request, headers, client if headers.reply_requested else None)
        return bus.enqueue(queue, message)

    def _answer(self, client: Peer, request: Request, headers: Headers) -> None:
        submitted = self._submitted
        if submitted is Submitted.NOTHING:
            return
        answer: Ack | Reply
        if submitted is Submitted.ACK or (submitted is Submitted.AUTO and headers.reply_requested):
            answer = Ack(self._wire.make_id(), request.message_id)
        else:
            answer = Reply(self._wire.make_id(), request.message_id)
        # who has gone already has handed in its job all the same
        self._wire.tell_soon(client, answer)

    def _not_kept(self, client: Peer, request: Request, headers: Headers, failure: Failure) -> None:
        error = failure.value if isinstance(failure.value, BusError) else Detached(failure.getErrorMessage())
        self._refuse(client, request, error, headers.reply_requested)

    def _refuse(self, client: Peer, request: Request, error: BusError, is_reply_wanted: bool) -> None:
        self._refused(error)
        if is_reply_wanted:
            body = write_result(Result(str(error), "Refused"))
            self._wire.tell(client, Reply(self._wire.make_id(), body, request.message_id))
