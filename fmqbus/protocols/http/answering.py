"""Who may see which page?

Every request is put to the policy of the bus, as all that clients ask is: the action is ``manage``, the name
``$/http`` and the path behind it, or one that many pages have together. So whoever is on this machine may, and nobody
else until a rule says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

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
class Asked:
    """One request that may be made."""

    method: bytes
    #: Of the path, as it came: what stands behind the question mark.
    query: bytes
    #: The headers of these names; empty if there is none.
    accept: str
    range: str
    #: Fires when the connection has gone, and with it all that waited to be sent.
    gone: Deferred[None]


@attrs.frozen
class Answer:
    """What goes back."""

    status: HTTPStatus
    #: Of the body, as the header ``Content-Type`` has it.
    kind: str
    body: bytes
    #: Others that go with it.
    headers: Mapping[bytes, bytes] = attrs.field(factory=dict)


#: Makes an answer, now or later.
Page = Callable[[Asked], Answer | Deferred[Answer]]


@attrs.frozen
class Place:
    """A page with what is asked for at its path."""

    page: Page
    #: Of the right to manage it.
    name: bytes
    methods: Sequence[bytes] = METHODS
    #: Only programs come here, so a peer on this machine names it by its address: by a name that leads here, a page of
    #: the web can come.
    is_for_programs: bool = False


#: Finds the place of a path behind that of the branch; None if there is none.
Branch = Callable[[bytes], Place | None]


class Answering:
    """All pages of one listener. Takes requests as `twisted.web.http.Request` has them."""

    def __init__(self, router: IRouter, pages: Mapping[bytes, Page], branches: Mapping[bytes, Branch]) -> None:
        """`pages` are by path, `branches` by the one that all of theirs begin with."""
        self._router = router
        self._places = {path: Place(page, NAMES + path) for path, page in pages.items()}
        self._branches = branches

    def answer(self, request: Any, facts: PeerFacts) -> None:
        """Answer a request of a peer of whom this is known, now or a little later."""
        place = self._place(request.path)
        methods = METHODS if place is None else place.methods
        if request.method not in methods:
            request.setHeader(b"allow", b", ".join(methods))
            only = "look" if methods == METHODS else "say " + ", ".join(method.decode() for method in methods)
            _write(request, in_words(HTTPStatus.METHOD_NOT_ALLOWED, f"Here one can only {only}."))
        elif place is None:
            there_is = " ".join(sorted(path.decode() for path in [*self._places, *self._branches]))
            _write(request, in_words(HTTPStatus.NOT_FOUND, f"There is: {there_is}"))
        elif not self._is_allowed(request, facts, place):
            _write(request, in_words(HTTPStatus.FORBIDDEN, f"It takes the right to manage {place.name.decode()}."))
        else:
            self._show(place.page, request)

    def _place(self, path: bytes) -> Place | None:
        place = self._places.get(path)
        if place is None:
            for prefix, branch in self._branches.items():
                if path == prefix or path.startswith(prefix + b"/"):
                    return branch(path[len(prefix) :])
        return place

    def _is_allowed(self, request: Any, facts: PeerFacts, place: Place) -> bool:
        is_passed_on = any(request.requestHeaders.hasHeader(name) for name in _OF_PROXIES)
        if is_passed_on or (place.is_for_programs and not _names_an_address(request)):
            facts = attrs.evolve(facts, is_local=False)
        allowed: bool = self._router.authorize(Principal(PROTOCOL, facts), Action.MANAGE, place.name)
        return allowed

    def _show(self, page: Page, request: Any) -> None:
        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)

        def write(answer: Answer) -> None:
            if not gone:
                _write(request, answer)

        def explain(failure: Failure) -> Answer:
            _log.failure("the page {path} cannot be made", failure, path=request.path.decode())
            return in_words(HTTPStatus.INTERNAL_SERVER_ERROR, "The page cannot be made; the log tells why.")

        def header(name: str) -> str:
            return ",".join(request.requestHeaders.getRawHeaders(name, ()))

        query: bytes = request.uri.partition(b"?")[2]
        asked = Asked(request.method, query, header("accept"), header("range"), request.channel.gone)
        made: Deferred[Answer] = maybeDeferred(page, asked)  # type: ignore[call-overload]  # it is either
        made.addErrback(explain).addCallback(write).addErrback(
            lambda failure: _log.failure("an answer was not given", failure)
        )


def in_words(status: HTTPStatus, words: str, **headers: bytes) -> Answer:
    """An answer that people read; headers by their names with underscores."""
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return Answer(status, "text/plain; charset=utf-8", f"{words}\n".encode(), named)


def _names_an_address(request: Any) -> bool:
    """Whether the header ``Host`` has an address, or the one name that nobody else can have."""
    try:
        (host,) = request.requestHeaders.getRawHeaders("host", ())
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False


def _write(request: Any, answer: Answer) -> None:
    """The whole answer. To HEAD, Twisted sends all but the body."""
    request.setResponseCode(answer.status, answer.status.phrase.encode())
    request.setHeader(b"content-type", answer.kind.encode())
    request.setHeader(b"content-length", b"%d" % len(answer.body))
    request.setHeader(b"cache-control", b"no-store")
    request.setHeader(b"x-content-type-options", b"nosniff")
    for name, value in answer.headers.items():
        request.setHeader(name, value)
    request.write(answer.body)
    request.finish()
