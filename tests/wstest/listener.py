"""A WebSocket listener of the echo protocol, in a process of its own. It prints its port, and listens until killed."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.interfaces import IListeningPort

from fmqbus.interfaces import IUnitLink
from fmqbus.limits import Limits
from fmqbus.transports.carriers import carrier_for, tcp
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import Listener
from fmqbus.transports.websocket.framing import WebSocket
from fmqbus.transports.websocket.settings import read_settings
from fmqbus.turns import Turns
from tests.transports.echo import Echo, EchoPlug

LISTEN = "echo:tcp:0:interface=127.0.0.1"
PATH = "/echo"


class Parrot(Echo):
    """Only says everything back: it takes no orders, and notes nothing, for the suite sends gigabytes."""

    def text_arrived(self, text: bytes) -> None:
        self.link.send_texts([text])

    def binary_arrived(self, octets: bytes) -> None:
        self.link.send_binary(octets)

    def turn_over(self) -> None:
        pass


class ParrotPlug(EchoPlug):
    """Keeps no connection."""

    def begin(self, link: IUnitLink) -> Parrot:
        return Parrot(link)


def main() -> None:
    loop: Any = reactor
    # All that can be set is as for everybody, but compression, which is off unless somebody wants it.
    plug = ParrotPlug(Turns(loop), WebSocket(read_settings({"compression": True}, "echo.websocket", PATH), "echo"))
    carrier = carrier_for(loop, parse_listen_string(LISTEN), [tcp])
    router: Any = None  # a listener only hands it on
    listener = Listener(loop, plug, carrier, router, Limits(), {}, LISTEN, lambda interface: ())
    listener.startService()
    listener.when_listening().addCallback(_tell)
    loop.run()


def _tell(port: IListeningPort) -> None:
    print(port.getHost().port, flush=True)  # type: ignore[attr-defined]  # a port of TCP has one


if __name__ == "__main__":
    main()
