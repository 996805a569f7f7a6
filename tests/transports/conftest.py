"""Listeners over real sockets, started for a test and stopped with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_twisted
from twisted.internet import reactor

from fmqbus.transports.listener import Listener
from tests.transports.live import Links, Start, listen


@pytest_twisted.async_yield_fixture()
async def start() -> AsyncIterator[Start]:
    """Starts listeners at listen strings."""
    started: list[Listener] = []

    def start_one(text: str, **limits: Any) -> tuple[Listener, Links]:
        listener, links = listen(reactor, text, **limits)
        started.append(listener)
        return listener, links

    yield start_one
    for listener in started:
        await listener.stopService()
