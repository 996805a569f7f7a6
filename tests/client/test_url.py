"""`fmqbus.client.url`: where a URL leads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.endpoints import HostnameEndpoint, UNIXClientEndpoint
from twisted.internet.testing import MemoryReactorClock

from fmqbus.client.tls import HandshakeEndpoint
from fmqbus.client.url import BusURL, InvalidURL, endpoint_of, parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("fmqp://bus.example", BusURL("fmqp", "bus.example", 7700)),
        ("fmqp://bus.example:1234/", BusURL("fmqp", "bus.example", 1234)),
        ("FMQP://[::1]:0", BusURL("fmqp", "::1", 0)),
        ("fmqps://bus.example", BusURL("fmqps", "bus.example", 7701)),
        (
            "fmqps://bus.example?ca=/a%20b.pem&cert=c.pem&key=k.pem",
            BusURL("fmqps", "bus.example", 7701, ca="/a b.pem", cert="c.pem", key="k.pem"),
        ),
        ("fmqps://bus.example?insecure=1", BusURL("fmqps", "bus.example", 7701, insecure=True)),
        ("fmqps://bus.example?insecure=0", BusURL("fmqps", "bus.example", 7701)),
        ("fmqp+unix:///run/fmqbus%20a.sock", BusURL("fmqp+unix", path="/run/fmqbus a.sock")),
        ("micromsg2://bus.example", BusURL("micromsg2", "bus.example", 8334)),
        ("micromsg2s://bus.example?insecure=1", BusURL("micromsg2s", "bus.example", 8335, insecure=True)),
        ("micromsg2+unix:///run/a", BusURL("micromsg2+unix", path="/run/a")),
        ("ws://bus.example", BusURL("ws", "bus.example", 80, resource="/umq")),
        ("ws://bus.example:7702/elsewhere/", BusURL("ws", "bus.example", 7702, resource="/elsewhere/")),
        ("wss://bus.example/umq?ca=a.pem", BusURL("wss", "bus.example", 443, ca="a.pem")),
        ("ws+unix:///run/a", BusURL("ws+unix", path="/run/a")),
        ("umq+units://bus.example", BusURL("umq+units", "bus.example", 7712)),
        ("mtl://bus.example", BusURL("mtl", "bus.example", 5975)),
        (
            "mtl://an%20na@[::1]:1/test%2Fenv?profile=topic&password-file=/a%20b",
            BusURL(
                "mtl",
                "::1",
                1,
                user="an na",
                virtual_host="test/env",
                options={"profile": "topic", "password-file": "/a b"},
            ),
        ),
    ],
)
def test_what_a_url_says(text: str, url: BusURL) -> None:
    """Ports have defaults; paths are unescaped."""
    assert parse_url(text) == url


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "begins with none of"),
        ("localhost:7700", "begins with none of"),
        ("http://localhost", "begins with none of"),
        ("fmqp://", "no host"),
        ("fmqp://a:x", "[Pp]ort"),
        ("fmqp://a:99999", "[Pp]ort"),
        ("fmqp://[::1", "IPv6"),
        ("fmqp://user@a", "no user"),
        ("mtl://user@", "no host"),
        ("mtl://a?ca=x", "unknown option ca"),
        ("fmqp://a#b", "after #"),
        ("fmqp://a/room", "a path has no meaning"),
        ("fmqp://a?ca=x", "unknown option ca"),
        ("fmqps://a?c=x", "unknown option c"),
        ("fmqps://a?ca=x&ca=y", "twice"),
        ("fmqps://a?insecure=yes", "0 or 1"),
        ("fmqps://a?insecure=1&ca=x", "choose one"),
        ("fmqps://a?key=x", "a key without cert"),
        ("fmqp+unix://", "absolute path"),
        ("fmqp+unix://run/a", "absolute path"),
        ("fmqp+unix:///a?b=c", "unknown option b"),
        ("micromsg2://a?ca=x", "unknown option ca"),
        ("micromsg2+unix://a", "as in micromsg2\\+unix:///run"),
    ],
)
def test_a_wrong_url_is_refused_with_the_reason(text: str, complaint: str) -> None:
    """The text is in the complaint, since it may come from far away."""
    with pytest.raises(InvalidURL, match=complaint) as refusal:
        parse_url(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["mtl://user:secret@a", "fmqp://user:secret@a", "mtl://user:secret@a:99999"])
def test_a_password_in_a_url_is_refused_and_not_repeated(text: str) -> None:
    """Others may read what is said about it."""
    with pytest.raises(InvalidURL) as refusal:
        parse_url(text)
    assert "secret" not in str(refusal.value)


@given(st.text())
def test_any_text_is_a_url_or_refused(text: str) -> None:
    """Nothing else comes out."""
    for prefix in ("", "fmqp://", "fmqps://h?", "fmqp+unix:///", "mtl://", "mtl://h?"):
        try:
            parse_url(prefix + text)
        except InvalidURL:
            continue


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("fmqp://localhost", HostnameEndpoint),
        ("fmqps://localhost", HandshakeEndpoint),
        ("fmqps://localhost?insecure=1", HandshakeEndpoint),
        ("fmqp+unix:///run/a", UNIXClientEndpoint),
        ("micromsg2://localhost", HostnameEndpoint),
        ("micromsg2s://localhost", HandshakeEndpoint),
        ("micromsg2+unix:///run/a", UNIXClientEndpoint),
    ],
)
def test_each_scheme_has_its_endpoint(text: str, endpoint: type) -> None:
    """Made without connecting."""
    assert isinstance(parse_url(text).endpoint(MemoryReactorClock()), endpoint)


@pytest.mark.parametrize(("url", "protocol"), [("fmqps://a", "fmqp"), ("micromsg2+unix:///a", "micromsg2")])
def test_a_client_takes_urls_of_its_protocol_only(url: str, protocol: str) -> None:
    """And any endpoint."""
    reactor = MemoryReactorClock()
    endpoint = endpoint_of(url, protocol, reactor)
    assert endpoint_of(endpoint, "anything", reactor) is endpoint
    with pytest.raises(InvalidURL, match="this client speaks another"):
        endpoint_of(url, "another", reactor)


@pytest.mark.parametrize("option", ["ca", "cert"])
def test_unusable_certificate_files_are_refused(option: str, tmp_path: object) -> None:
    """With the file's name; nothing is taken for trusted instead."""
    missing, empty = f"{tmp_path}/missing", f"{tmp_path}/empty"
    with open(empty, "wb"):
        pass
    for path in (missing, empty):
        with pytest.raises(InvalidURL, match=path):
            parse_url(f"fmqps://a?{option}={path}").endpoint(MemoryReactorClock())
