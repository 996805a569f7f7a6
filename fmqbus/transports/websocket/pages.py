"""What a WebSocket listener answers to ordinary requests of HTTP: the client in JavaScript, and little else."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from typing import Any

from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site
from twisted.web.static import Data


def pages() -> Resource:
    """The pages of a listener: ``fmqbus.js`` and the modules that it needs."""
    root = Resource()
    for module in (files("fmqbus") / "client" / "js").iterdir():
        if module.name.endswith(".js"):
            root.putChild(module.name.encode(), Data(module.read_bytes(), "text/javascript; charset=utf-8"))
    return root


class PlainSite(Site):
    """Any pages, and a hint where there is a WebSocket among them."""

    def __init__(self, pages: IResource, path: bytes, clock: Any) -> None:
        super().__init__(pages, reactor=clock)
        self._path = path

    def getResourceFor(self, request: Request) -> Any:
        if request.path == self._path:
            return _UpgradeRequired()
        return super().getResourceFor(request)


class _UpgradeRequired(Resource):
    isLeaf = True

    def render_GET(self, request: Request) -> bytes:
        request.setResponseCode(HTTPStatus.UPGRADE_REQUIRED, b"Upgrade Required")
        request.setHeader(b"upgrade", b"websocket")
        request.setHeader(b"connection", b"upgrade")
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return b"Here is a WebSocket.\n"
