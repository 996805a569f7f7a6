"""What does a listen string say, and what is said about a wrong one?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import ConfigError
from fmqbus.transports.listen_string import ListenString, parse_listen_string

WORDS = st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(":=\\"), min_size=1)


def test_a_listen_string_is_a_protocol_and_a_twisted_endpoint() -> None:
    """The parts are those of the endpoint string that follows the protocol."""
    assert parse_listen_string("fmqp:tcp:7700:interface=127.0.0.1") == ListenString(
        "fmqp", "tcp", ("7700",), {"interface": "127.0.0.1"}
    )


def test_a_protocol_alone_asks_for_its_defaults() -> None:
    """``fmqp:`` has no endpoint."""
    assert parse_listen_string("fmqp:") == ListenString("fmqp")


def test_a_kind_of_endpoint_may_need_no_arguments() -> None:
    """A vendor's may know all by itself."""
    assert parse_listen_string("fmqp:tor") == ListenString("fmqp", "tor")


def test_haproxy_takes_another_endpoint_as_its_arguments() -> None:
    """The nested kind is its first argument; options are shared."""
    assert parse_listen_string("fmqp:haproxy:tcp:7700:trust=127.0.0.1,10.0.0.0/8") == ListenString(
        "fmqp", "haproxy", ("tcp", "7700"), {"trust": "127.0.0.1,10.0.0.0/8"}
    )


@pytest.mark.parametrize(
    ("text", "arguments", "options"),
    [
        (r"fmqp:unix:/run/a\:b", ("/run/a:b",), {}),
        (r"fmqp:unix:/run/a\=b", ("/run/a=b",), {}),
        (r"fmqp:unix:C\:\\run", (r"C:\run",), {}),
        ("fmqp:tcp6:7700:interface=\\:\\:1", ("7700",), {"interface": "::1"}),
        ("fmqp:ssl:1:privateKey=a=b", ("1",), {"privateKey": "a=b"}),
        ("fmqp:tcp::interface=", ("",), {"interface": ""}),
    ],
)
def test_a_backslash_makes_the_next_letter_ordinary(
    text: str, arguments: tuple[str, ...], options: dict[str, str]
) -> None:
    """As in Twisted; the second equals sign of an option needs none."""
    listen = parse_listen_string(text)
    assert (listen.arguments, listen.options) == (arguments, options)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a colon must follow"),
        ("fmqp", "a colon must follow"),
        (":tcp:7700", "begin with a protocol"),
        ("a=b:tcp:7700", "begin with a protocol"),
        ("fmqp::7700", "a kind of endpoint must follow"),
        ("fmqp:interface=127.0.0.1", "a kind of endpoint must follow"),
        ("fmqp:tcp:1:interface=a:interface=b", "interface= is given twice"),
        ("fmqp:tcp6:1:interface=::1", "'' follows an option; a colon within one is written"),
        ("fmqp:tcp:1\\", "nothing follows the last backslash"),
    ],
)
def test_a_wrong_listen_string_is_quoted_with_what_is_wrong(text: str, complaint: str) -> None:
    """Whoever typed it finds it again."""
    with pytest.raises(ConfigError, match=complaint) as caught:
        parse_listen_string(text)
    assert repr(text) in str(caught.value)


@given(
    st.builds(
        ListenString,
        WORDS.filter(lambda word: "=" not in word),
        WORDS,
        st.lists(WORDS).map(tuple),
        st.dictionaries(WORDS, st.text()),
    )
)
def test_every_listen_string_survives_being_written_and_read(listen: ListenString) -> None:
    """Whatever letters are in its parts."""
    assert parse_listen_string(str(listen)) == listen
