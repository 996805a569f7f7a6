"""Who may see which page?

Every request is put to the policy of the bus, as all that clients ask is: the action is ``manage``, the name
``$/http`` and the path behind it. So whoever is on this machine may, and nobody else until a rule says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.interfaces import IRouter
from fmqbus.model import Action, PeerFacts, Principal

PROTOCOL = "http"
NAMES = b"$/http"

METHODS = (b"GET", b"HEAD")
#: Of a request that a proxy has passed on: whoever is behind it is elsewhere, however near the proxy is.
_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

_log = Logger()


@attrs.frozen
class Answer:
    """What goes back."""

    status: HTTPStatus
    #: Of the body, as the header ``Content-Type`` has it.
    kind: str
    body: bytes


#: Makes an answer, now or later, for whoever accepts this (the header ``Accept``).
Page = Callable[[str], Answer | Deferred[Answer]]


class Answering:
    """All pages of one listener. Takes requests as `twisted.web.http.Request` has them."""

    def __init__(self, router: IRouter, pages: Mapping[bytes, Page]) -> None:
        """`pages` are by path."""
        self._router = router
        self._pages = pages

    def answer(self, request: Any, facts: PeerFacts) -> None:
        """Answer a request of a peer of whom this is known, now or a little later."""
        page = self._pages.get(request.path)
        if request.method not in METHODS:
            request.setHeader(b"allow", b", ".join(METHODS))
            _write(request, _in_words(HTTPStatus.METHOD_NOT_ALLOWED, "Here one can only look."))
        elif page is None:
            there_is = " ".join(sorted(path.decode() for path in self._pages))
            _write(request, _in_words(HTTPStatus.NOT_FOUND, f"There is: {there_is}"))
        elif not self._is_allowed(request, facts):
            name = (NAMES + request.path).decode()
            _write(request, _in_words(HTTPStatus.FORBIDDEN, f"It takes the right to manage {name}."))
        else:
            self._show(page, request)

    def _is_allowed(self, request: Any, facts: PeerFacts) -> bool:
        if any(request.requestHeaders.hasHeader(name) for name in _OF_PROXIES):
            facts = attrs.evolve(facts, is_local=False)
        allowed: bool = self._router.authorize(Principal(PROTOCOL, facts), Action.MANAGE, NAMES + request.path)
        return allowed

    def _show(self, page: Page, request: Any) -> None:
        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)

        def write(answer: Answer) -> None:
            if not gone:
                _write(request, answer)

        def explain(failure: Failure) -> Answer:
            _log.failure("the page {path} cannot be made", failure, path=request.path.decode())
            return _in_words(HTTPStatus.INTERNAL_SERVER_ERROR, "The page cannot be made; the log tells why.")

        accept = ",".join(request.requestHeaders.getRawHeaders("accept", ()))
        made: Deferred[Answer] = maybeDeferred(page, accept)  # type: ignore[call-overload]  # it is either
        made.addErrback(explain).addCallback(write).addErrback(
            lambda failure: _log.failure("an answer was not given", failure)
        )


def _in_words(status: HTTPStatus, words: str) -> Answer:
    return Answer(status, "text/plain; charset=utf-8", f"{words}\n".encode())


def _write(request: Any, answer: Answer) -> None:
    """The whole answer. To HEAD, Twisted sends all but the body."""
    request.setResponseCode(answer.status, answer.status.phrase.encode())
    request.setHeader(b"content-type", answer.kind.encode())
    request.setHeader(b"content-length", b"%d" % len(answer.body))
    request.setHeader(b"cache-control", b"no-store")
    request.setHeader(b"x-content-type-options", b"nosniff")
    request.write(answer.body)
    request.finish()
