"""How a MicroMsg2 client proves who it is, by the extension ``x-sasl`` (docs/protocols/micromsg2.md, Logging in)"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmqbus.auth.user_file import User
from fmqbus.protocols.micromsg2.extensions.sasl import Word, read_begin, write_begin
from fmqbus.testing.contracts.sasl_mechanism import Proof
from tests.auth.sasl.proofs import cram_md5, plain, scram
from tests.auth.users import keys, write
from tests.protocols.micromsg2.memory_bus import Client, MemoryBus
from tests.protocols.micromsg2.written import ERROR, EXTENSION, LARGE_PAYLOAD, error, extension

SASL = b"batch-ack:max-count=10;pubsub;x-sasl"
INDEX = 3

CONFIG = """
[users]
file = "{users}"
[sasl]
mechanisms = ["SCRAM-SHA-256", "PLAIN", "CRAM-MD5"]
[access]
authorizers = ["rules"]
[[access.rules]]
effect = "allow"
actions = "*"
who = ["identity:anna"]
names = ["anna"]
"""


@pytest.fixture
def bus(tmp_path: Path) -> MemoryBus:
    """One on which only anna may do anything."""
    return MemoryBus(CONFIG.format(users=write(tmp_path / "users.json")))


def said(payload: bytes) -> bytes:
    """An EXTENSION frame of the client's."""
    return extension(INDEX, payload, LARGE_PAYLOAD if len(payload) > 255 else 0)


def words(client: Client) -> list[tuple[int, bytes]]:
    """What the bus has said of logins; nothing else must have come."""
    frames = client.heard()
    assert all(frame[0] & EXTENSION and frame[1] == INDEX for frame in frames), frames
    return [(frame[3], frame[4:]) for frame in frames]


def log_in(client: Client, mechanism: str, proof: Proof) -> tuple[int, bytes]:
    """Log in, by a mechanism that needs no thread. Returns the bus's last word."""
    client.say(said(write_begin(mechanism, next(proof))))
    while True:
        [(word, octets)] = words(client)
        if word != Word.CHALLENGE:
            return word, octets
        try:
            response = proof.send(octets)
        except StopIteration:
            response = b""
        client.say(said(bytes([Word.RESPONSE]) + response))


def may(client: Client, topic: str) -> bool:
    """Whether the client may subscribe there."""
    client.subscribe(f"topic/{topic}")
    return not client.complaints()


@pytest.mark.parametrize(
    ("mechanism", "proof"),
    [("SCRAM-SHA-256", lambda: scram("anna", "open sesame")), ("CRAM-MD5", lambda: cram_md5("anna", "open sesame"))],
)
def test_who_logs_in_acts_as_himself(bus: MemoryBus, mechanism: str, proof: Callable[[], Proof]) -> None:
    """Whoever begins, and however many rounds it takes."""
    client = bus.connect(SASL)
    assert not may(client, "anna")
    assert log_in(client, mechanism, proof())[0] == Word.ADMITTED
    assert (may(client, "anna"), may(client, "bo")) == (True, False)
    assert [session.principal.identity for session in bus.router.sessions()] == ["anna"]


def test_who_does_not_succeed_stays_who_he_was(bus: MemoryBus) -> None:
    """And the connection goes on."""
    client = bus.connect(SASL)
    assert log_in(client, "SCRAM-SHA-256", scram("anna", "wrong")) == (Word.REFUSED, b"the login has failed")
    assert not may(client, "anna")
    assert log_in(client, "SCRAM-SHA-256", scram("anna", "open sesame"))[0] == Word.ADMITTED


def test_one_may_become_another(bus: MemoryBus) -> None:
    """What the first may and the other may not has ended."""
    client = bus.connect(SASL)
    log_in(client, "SCRAM-SHA-256", scram("anna", "open sesame"))
    assert may(client, "anna")
    client.say(said(write_begin("PLAIN", next(plain("bo", "tiger")))))
    told, admitted = client.heard()
    assert (told[0] & ERROR, b"topic/anna" in told) == (ERROR, True)
    assert admitted == extension(INDEX, bytes([Word.ADMITTED]))
    assert not may(client, "anna")


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (bytes([Word.RESPONSE]) + b"x", b"no login awaits that"),
        (bytes([Word.CHALLENGE]) + b"x", b"no login awaits that"),
        (write_begin("EXTERNAL", b""), b"no such mechanism here; there is: SCRAM-SHA-256, PLAIN, CRAM-MD5"),
        (b"\1\xff\xfe\0", b"no such mechanism here; there is: SCRAM-SHA-256, PLAIN, CRAM-MD5"),
        (write_begin("SCRAM-SHA-256", b"nonsense"), b"the login cannot be read"),
        (write_begin("SCRAM-SHA-256", b"n,,n=anna,r=" + b"a" * 5_000), b"the login cannot be read"),
    ],
    ids=["no login", "the server's word", "not offered", "no name", "unreadable", "too long"],
)
def test_what_cannot_be_is_refused(bus: MemoryBus, payload: bytes, text: bytes) -> None:
    """Login by login; the connection goes on."""
    client = bus.connect(SASL)
    client.say(said(payload))
    assert words(client) == [(Word.REFUSED, text)]
    assert not may(client, "anna")


@pytest.mark.parametrize("payload", [b"", b"\0", b"\6x", b"\xff"])
def test_a_word_that_nobody_knows_is_an_error(bus: MemoryBus, payload: bytes) -> None:
    """As with any extension's nonsense."""
    client = bus.connect(SASL)
    client.say(said(payload))
    assert client.complaints() == ["x-sasl: a word that nobody knows"]
    assert not may(client, "anna")


def test_nobody_is_asked_where_nobody_is_known() -> None:
    """Without users and mechanisms, a client is what its address makes of it."""
    client = MemoryBus().connect(SASL)
    client.say(said(write_begin("PLAIN", b"\0anna\0open sesame")))
    assert words(client) == [(Word.REFUSED, b"nobody is asked who he is here")]
    assert may(client, "anna")


def test_without_the_extension_nothing_is_heard_of_logins(bus: MemoryBus) -> None:
    """Frames of an extension that was not agreed on are skipped (reading 65)."""
    client = bus.connect()
    client.say(said(write_begin("SCRAM-SHA-256", None)))
    assert client.heard() == []


def test_a_user_who_has_changed_is_ended(tmp_path: Path) -> None:
    """He has to log in anew, on a new connection."""
    users = tmp_path / "users.json"
    bus = MemoryBus(CONFIG.format(users=write(users)))
    client = bus.connect(SASL)
    log_in(client, "SCRAM-SHA-256", scram("anna", "open sesame"))
    write(users, anna=User((), keys("another")))
    bus.reload(CONFIG.format(users=users))
    assert client.heard() == [error(b"what is known of this user has changed")]
    bus.wait()
    assert not client.is_connected


def test_a_client_that_goes_is_forgotten(bus: MemoryBus) -> None:
    """In the middle of a login, and after it."""
    for proof in (None, scram("anna", "open sesame")):
        client = bus.connect(SASL)
        if proof is None:
            client.say(said(write_begin("CRAM-MD5", None)))
        else:
            log_in(client, "SCRAM-SHA-256", proof)
        client.close()
    assert list(bus.router.sessions()) == []


def test_a_login_that_is_begun_instead_ends_the_first(bus: MemoryBus) -> None:
    """What answers the first answers nothing any more."""
    client = bus.connect(SASL)
    client.say(said(write_begin("CRAM-MD5", None)))
    [(word, _)] = words(client)
    assert word == Word.CHALLENGE
    client.say(said(write_begin("PLAIN", next(plain("anna", "open sesame")))))
    client.say(said(bytes([Word.RESPONSE]) + b"anna 0"))
    assert words(client) == [(Word.ADMITTED, b""), (Word.REFUSED, b"no login awaits that")]
    assert may(client, "anna")


@pytest.mark.parametrize("response", [None, b"", b"\0a\0b"])
def test_what_begins_a_login_is_read_as_it_was_written(response: bytes | None) -> None:
    """No response is not an empty one."""
    assert read_begin(write_begin("PLAIN", response)[1:]) == ("PLAIN", response)
