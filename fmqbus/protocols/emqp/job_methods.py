"""How do clients of other protocols call what eMQP's workers do? (docs/crossing.md)

Each queue that workers serve is a method too, ``job/QUEUE``. A call's payload is JSON: ``["module:function",
[argument, ...], {"name": argument}]``, of which only the first is needed, or a whole body as a REQUEST has it. It
becomes a job with ``reply-requested`` in the queue, and the worker's REPLY the answer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from math import ceil
from typing import Any

from fmqbus.calls import Call, Parcel, Service
from fmqbus.errors import BusError, ConfigError, PeerError, Refused
from fmqbus.interfaces import IRouter
from fmqbus.job_functions import Name
from fmqbus.model import Action, PeerFacts, Principal, Terms
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.job_message import job_message
from fmqbus.protocols.emqp.jobs import Job, parse_job, parse_json, write_job
from fmqbus.protocols.emqp.peers import PROTOCOL
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.results import Result
from fmqbus.protocols.quiet_peer import QuietPeer

#: Stands for a socket's name where a call waits for a job, and not a client.
CALL = "call"
_METHODS = b"job/"
#: To offer a method costs some 50 µs, to take it back some 10, and nobody is served meanwhile.
_OFFERED_AT_ONCE, _TAKEN_BACK_AT_ONCE = 100, 500
#: What a caller is told: its job was no job, and its job has failed.
_NO_JOB, _JOB_FAILED = 4, 8
#: So that protocols whose results are JSON do not take it for text.
_JSON = {"content-type": "application/json"}


class JobMethods(QuietPeer):
    """One for all workers at a place. What is in hand it knows itself; jobs that outlive the broker are called by
    nobody any more."""

    def __init__(self, router: IRouter, facts: PeerFacts, soon: Callable[[Callable[[], object]], None]) -> None:
        """`soon` does something when the bus is through with handing out."""
        super().__init__(router, Principal(PROTOCOL, facts))
        self._router = router
        self._soon = soon
        self._now = router.clock.seconds
        self._window = router.limits.calls_in_hand_per_peer
        self._services: dict[bytes, Service] = {}
        #: Before the numbers of calls: they begin anew with each run of the bus, and jobs may be older.
        self._run = secrets.token_hex(8).encode()
        self._calls: dict[bytes, Call] = {}
        #: Told when the bus has ended this session, and so all others.
        self.when_ended: Callable[[], None] = lambda: None

    def serve_only(self, queues: Iterable[bytes]) -> None:
        """Just these have workers now. Of very many changes some are made when it is called again."""
        wanted = set(queues)
        for queue in list(islice(self._services.keys() - wanted, _TAKEN_BACK_AT_ONCE)):
            self.bus.unserve(self._services.pop(queue))
        self.serve(wanted)

    def serve(self, queues: Iterable[bytes]) -> None:
        """These have workers, too; beyond so many they are offered when `serve_only` is called."""
        for queue in list(islice((queue for queue in queues if queue not in self._services), _OFFERED_AT_ONCE)):
            try:
                self._services[queue] = self.bus.serve(_METHODS + queue, self._window, tag=queue)
            except BusError as error:
                self.bus.count_refused(error.reason)

    def called(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._soon(partial(self._enqueue, call))

    def _enqueue(self, call: Call) -> None:
        assert call.service is not None, "a call comes by a service"
        queue, number = call.service.tag, self._number_of(call)
        left = max(call.deadline - self._now(), 1.0)
        try:
            # The broker puts it there for the caller, who must not get by it where he may not put anything himself.
            if not self._router.authorize(call.caller, Action.ENQUEUE, queue):
                raise Refused("enqueue is not allowed")
            request = Request(b"call-" + number, queue, b"", write_job(_job_of(call.parcel)))
            message = job_message(queue, request, Headers(reply_requested=True, timeout=ceil(left)), (CALL, number))
            waiting = self.bus.enqueue(queue, message, Terms(time_to_live=left))
        except (PeerError, RecursionError) as error:  # a job is one level deeper than what was just read
            self.bus.fail(call, _NO_JOB, str(error))
            return
        except BusError as error:
            self.bus.fail(call, _JOB_FAILED, str(error))
            return
        self._calls[number] = call
        if waiting is not None:
            waiting.addErrback(self._not_kept, number)

    def _number_of(self, call: Call) -> bytes:
        return b"%s-%d" % (self._run, call.number)

    def _not_kept(self, failure: Any, number: bytes) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            self.bus.fail(call, _JOB_FAILED, failure.getErrorMessage())

    def abandoned(self, calls: Sequence[Call]) -> None:
        """The job goes on; there is nobody to tell."""
        for call in calls:
            if self._calls.pop(self._number_of(call), None) is not None:
                self._soon(partial(self.bus.fail, call, _JOB_FAILED, "abandoned"))

    def ended(self, client: Peer, result: Result) -> None:
        """The job of a call has ended."""
        call = self._calls.pop(client[1], None)
        if call is None:
            return
        if result.error:
            self.bus.fail(call, _JOB_FAILED, f"{result.error}: {result.value}")
        else:
            self.bus.reply(call, Parcel(json.dumps(result.value).encode(), _JSON))

    def ending(self, reason: str) -> None:
        super().ending(reason)
        self.when_ended()

    def service_ended(self, service: Service, reason: str) -> None:
        self._services.pop(service.tag, None)


def _job_of(parcel: Parcel) -> Job:
    """Raises `PeerError` for what is no job."""
    match parse_json(parcel.payload):
        case [str(name)]:
            return _named(name)
        case [str(name), list(args)]:
            return _named(name, args)
        case [str(name), list(args), dict(kwargs)]:
            return _named(name, args, kwargs)
    return parse_job(parcel.payload)


def _named(text: str, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Job:
    try:
        name = Name.parse(text)
    except ConfigError:
        raise PeerError(
            f"{text[:40]!r} names no job: module:function or module:Class.method is expected", "body"
        ) from None
    return Job(name.path, name.callable, args, kwargs or {})
