"""Somebody who looks after a bus by requests."""

from __future__ import annotations

from typing import Any

import msgspec

from fmqbus.interfaces import IRouter
from fmqbus.testing.bus import MemoryClient


class Operator(MemoryClient):
    """Asks at one topic, and hears the answer."""

    def __init__(self, router: IRouter, topic: bytes) -> None:
        super().__init__(router)
        self._topic = topic

    def ask(self, **request: Any) -> Any:
        """Return what is answered; None if nothing is."""
        return self.say(msgspec.json.encode({"reply": "me", **request}))

    def say(self, octets: bytes) -> Any:
        """Send just these octets."""
        self.received.clear()
        self.subscribe(b"$/manage/reply/me")
        self.publish(self._topic, octets)
        return msgspec.json.decode(self.payloads[0]) if self.payloads else None
