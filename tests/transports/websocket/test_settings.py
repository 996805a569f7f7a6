"""What can be set for WebSocket, and which origins are which."""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.errors import ConfigError
from fmqbus.transports.websocket.origins import is_welcome, normalised
from fmqbus.transports.websocket.settings import read_settings


def test_without_a_table_all_is_as_it_is_best_for_most() -> None:
    """No page from elsewhere, no compression, pings that keep proxies content."""
    settings = read_settings({}, "protocols.umq.websocket", "/umq")
    assert settings.path == "/umq"
    assert not settings.origins
    assert not settings.compression
    assert 0 < settings.ping_seconds < 60


def test_what_the_table_says_holds() -> None:
    """As TOML brings it."""
    table = {"path": "/bus", "origins": ["https://example.org", "null"], "compression": True, "ping_seconds": 0}
    settings = read_settings(table, "protocols.umq.websocket", "/umq")
    assert settings.path == "/bus"
    assert settings.origins == {"https://example.org", "null"}
    assert settings.compression
    assert settings.ping_seconds == 0


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("/umq", "a table"),
        ({"paths": "/umq"}, "paths"),
        ({"path": "umq"}, "'umq' is no path"),
        ({"path": "/umq?a"}, "no path"),
        ({"path": "/u mq"}, "no path"),
        ({"path": "/ümq"}, "no path"),
        ({"path": 1}, "path"),
        ({"origins": "https://example.org"}, "origins"),
        ({"origins": ["example.org"]}, "'example.org' is no origin"),
        ({"origins": ["https://example.org/"]}, "no origin"),
        ({"origins": ["https://*.example.org"]}, "no origin"),
        ({"origins": [""]}, "no origin"),
        ({"compression": "yes"}, "compression"),
        ({"ping_seconds": -1}, "ping_seconds"),
        ({"pong_seconds": 1e9}, "pong_seconds"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(table: Any, complaint: str) -> None:
    """With the place where it stands."""
    with pytest.raises(ConfigError, match=complaint) as error:
        read_settings(table, "protocols.umq.websocket", "/umq")
    assert str(error.value).startswith(("protocols.umq.websocket: ", "protocols.umq.websocket."))


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        ("https://Example.ORG", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:80", "http://example.org"),
        ("http://example.org:443", "http://example.org:443"),
        ("http://[::1]:7702", "http://[::1]:7702"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
    ],
)
def test_origins_are_compared_in_one_way_of_writing(origin: str, same: str) -> None:
    """Scheme and host without regard to case, without the port that goes without saying."""
    assert normalised(origin) == same


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "example.org",
        "//example.org",
        "http://",
        "http://a/b",
        "http://a?b",
        "http://a#b",
        "http://u@a",
        "http://a:x",
        "http://a:99999",
        "http://[::1",
        "file:///home",
        "http://*.example.org",
    ],
)
def test_what_is_no_origin_is_like_none(origin: str) -> None:
    """It never fits anything, and never raises."""
    assert normalised(origin) is None
    assert not is_welcome(origin, "127.0.0.1", ["https://example.org"])
    assert not is_welcome(origin, origin.removeprefix("http://"), [])


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:7702", "[::1]:7702", "localhost:7702", "a.localhost", "192.0.2.1"]
)
def test_a_page_got_here_by_address_or_as_localhost_is_welcome(host: str, scheme: str) -> None:
    """A proxy may have taken TLS away."""
    assert is_welcome(f"{scheme}://{host}", host, [])
    assert not is_welcome(f"{scheme}://{host}0", host, [])
    assert not is_welcome(f"ftp://{host}", host, [])


@pytest.mark.parametrize("host", ["bus.example:7702", "localhost.example", "127.0.0.1.example", "1.2.3"])
def test_a_page_got_here_by_name_is_not(host: str) -> None:
    """Unless it is listed."""
    assert not is_welcome(f"http://{host}", host, [])
    assert is_welcome(f"http://{host}", host, [f"http://{host.upper()}"])


@pytest.mark.parametrize("host", ["", ":", "]", "[", "a b", "127.0.0.1:x", "\xff"])
def test_a_strange_host_is_nobody_s(host: str) -> None:
    """The client writes it; nothing is raised."""
    assert not is_welcome("http://example.org", host, [])
    assert not is_welcome(f"http://{host}", host, [])
