"""Which addresses does ZeroMQ get?"""

from __future__ import annotations

import pytest

from fmqbus.errors import LocalError
from fmqbus.protocols.emqp.addresses import BACKEND_PORT, FRONTEND_PORT, zeromq_address


@pytest.mark.parametrize(
    ("text", "port", "address"),
    [
        ("emqp://127.0.0.1", FRONTEND_PORT, "tcp://127.0.0.1:47291"),
        ("emqp://broker", BACKEND_PORT, "tcp://broker:47290"),
        ("emqp://broker:5", BACKEND_PORT, "tcp://broker:5"),
        ("tcp://127.0.0.1:47291/", FRONTEND_PORT, "tcp://127.0.0.1:47291"),
        ("emqp://[::1]", FRONTEND_PORT, "tcp://[::1]:47291"),
    ],
)
def test_an_address_becomes_what_zeromq_takes(text: str, port: int, address: str) -> None:
    """With EventMQ's ports where none is said."""
    assert zeromq_address(text, port) == address


@pytest.mark.parametrize(
    "text", ["", "host:1", "tcp://host", "fmqp://host", "emqp://", "emqp://u@h", "emqp://h/p", "emqp://h:x", "emqp://["]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Before ZeroMQ sees it, which says little."""
    with pytest.raises(LocalError):
        zeromq_address(text, 1)
