"""What a WebSocket listener answers to ordinary requests of HTTP: the client in JavaScript, and little else."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from io import BytesIO
from typing import Any

from twisted.web.http import HTTPChannel
from twisted.web.pages import notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site


def pages() -> Resource:
    """The pages of a listener: ``fmqbus.js`` and the modules that it needs."""
    root = _Branch()
    for module in (files("fmqbus") / "client" / "js").iterdir():
        if module.name.endswith(".js"):
            root.putChild(module.name.encode(), _Page("text/javascript", module.read_bytes()))
    return root


class _SmallRequest(Request):
    """Twisted would open a file for what may be large; here nothing is, see `HTTP_OCTETS` of the opening."""

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()


class _OneRequest(HTTPChannel):
    """What one read can ask for would otherwise be kept until it is read, in hundreds of copies."""

    def checkPersistence(self, request: Request, version: bytes) -> bool:
        request.setHeader(b"connection", b"close")
        return False


class PlainSite(Site):
    """Any pages, and a hint at the place of the WebSocket among them."""

    protocol = _OneRequest  # type: ignore[assignment]  # Twisted means one that could speak HTTP/2 too
    requestFactory = _SmallRequest

    def __init__(self, pages: IResource, path: bytes, clock: Any) -> None:
        super().__init__(pages, reactor=clock)
        self._path = path

    def getResourceFor(self, request: Request) -> Any:
        if request.path == self._path:
            return _UpgradeRequired("text/plain", b"Here is a WebSocket.\n")
        return super().getResourceFor(request)


class _Branch(Resource):
    """Below it there is what was put there, and nothing else."""

    def getChild(self, path: bytes, request: Request) -> IResource:
        return notFound()


class _Page(_Branch):
    def __init__(self, kind: str, octets: bytes) -> None:
        super().__init__()
        self._kind = kind
        self._octets = octets

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"content-type", f"{self._kind}; charset=utf-8".encode())
        request.setHeader(b"x-content-type-options", b"nosniff")
        return self._octets


class _UpgradeRequired(_Page):
    def render_GET(self, request: Request) -> bytes:
        request.setResponseCode(HTTPStatus.UPGRADE_REQUIRED, b"Upgrade Required")
        request.setHeader(b"upgrade", b"websocket")
        request.setHeader(b"connection", b"upgrade, close")
        return super().render_GET(request)
