"""How does a client prove who it is? Against the bus's own mechanisms, which are other code, and the RFCs' examples."""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.auth.passwords import make_secret
from fmqbus.auth.sasl.cram_md5 import CRAM_MD5
from fmqbus.auth.sasl.plain import PLAIN
from fmqbus.auth.sasl.scram import SCRAM_SHA_256
from fmqbus.client import sasl
from fmqbus.client.sasl import Exchange, Login, Work
from fmqbus.errors import LocalError, PeerError, Refused
from fmqbus.interfaces import ISASLMechanism
from fmqbus.logins import Challenge, Failed, Proved, Secret, Step
from fmqbus.logins import Work as TheirWork

NAME, PASSWORD = "änne", "öpen sesame"


class Users:
    """Anna, and nobody else."""

    def secret_of(self, name: str) -> Secret:
        """Few rounds, so that the test is quick."""
        return make_secret(PASSWORD, 4096)

    def password_of(self, name: str) -> bytes | None:
        """For CRAM-MD5."""
        return PASSWORD.encode() if name == NAME else None

    def known_by(self, peer: Any) -> list[str]:
        """Nobody comes by that."""
        return []


def done(answer: bytes | Work) -> bytes:
    """What an answer is, once it is computed."""
    return answer.run() if isinstance(answer, Work) else answer


def log_in(exchange: Exchange, mechanism: ISASLMechanism) -> tuple[Step, Exchange]:
    """How a login with the bus's own mechanism ends."""
    bus = mechanism.begin(None, Users())  # type: ignore[arg-type]
    step = bus.start(exchange.first() or None, 0.0)
    while True:
        if isinstance(step, TheirWork):
            step = step.run()
        if isinstance(step, Proved) and step.octets:
            exchange.answer(step.octets)
        if not isinstance(step, Challenge):
            return step, exchange
        step = bus.respond(done(exchange.answer(step.octets)), 0.0)


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, PLAIN, CRAM_MD5], ids=lambda mechanism: mechanism.name)
def test_the_bus_knows_its_user(mechanism: ISASLMechanism) -> None:
    """By each mechanism that proves a password; a wrong one proves nothing."""
    login = sasl.password(NAME, PASSWORD, mechanisms=[mechanism.name])
    step, exchange = log_in(login.begin(mechanism.name), mechanism)
    assert isinstance(step, Proved)
    assert exchange.is_content
    wrong = sasl.password(NAME, "wrong", mechanisms=[mechanism.name])
    assert isinstance(log_in(wrong.begin(mechanism.name), mechanism)[0], Failed)


def test_cram_md5_signs_as_its_specification_has_it() -> None:
    """RFC 2195, section 2."""
    exchange = sasl.password("tim", "tanstaaftanstaaf", mechanisms=["CRAM-MD5"]).begin("CRAM-MD5")
    assert exchange.first() == b""
    challenge = b"<1896.697170952@postoffice.reston.mci.net>"
    assert exchange.answer(challenge) == b"tim b913a602c7eda7a495b4e6e7334d3890"


def test_one_word_is_said_whenever_it_is_asked() -> None:
    """Empty words look like the wish that the bus begins; then it asks, and they are said again."""
    for login, word in ((sasl.external("anna"), b"anna"), (sasl.external(), b""), (sasl.anonymous(), b"")):
        ((name, _),) = login.ways.items()
        exchange = login.begin(name)
        assert (exchange.first(), exchange.answer(b"")) == (word, word)


def test_a_bus_that_does_not_know_the_password_is_found_out() -> None:
    """It has asked for a proof, and cannot give its own (RFC 5802, section 3)."""
    exchange = sasl.password(NAME, PASSWORD).begin("SCRAM-SHA-256")
    bus = SCRAM_SHA_256.begin(None, Users())  # type: ignore[arg-type]
    step = bus.start(exchange.first(), 0.0)
    assert isinstance(step, Challenge)
    done(exchange.answer(step.octets))
    assert not exchange.is_content
    with pytest.raises(PeerError):
        exchange.answer(b"v=" + b"A" * 43 + b"=")
    assert not exchange.is_content


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"\xff",
        b"r=other,s=QSXCR+Q6sek8bf92,i=4096",
        b"{nonce}x,s=QSXCR+Q6sek8bf92,i=1",
        b"{nonce}x,s=QSXCR+Q6sek8bf92,i=2000000000",
        b"{nonce}x,s=QSXCR+Q6sek8bf92,i=many",
    ],
)
def test_what_a_bus_says_wrongly_ends_a_login(challenge: bytes) -> None:
    """Too few rounds would tell it the password, too many would never end; neither is begun."""
    exchange = sasl.password(NAME, PASSWORD).begin("SCRAM-SHA-256")
    nonce = exchange.first().rpartition(b",")[2]
    with pytest.raises(PeerError):
        exchange.answer(challenge.replace(b"{nonce}", nonce))


def test_a_bus_that_goes_on_after_the_last_message_is_wrong() -> None:
    """SCRAM has two."""
    exchange = sasl.password(NAME, PASSWORD).begin("SCRAM-SHA-256")
    _, exchange = log_in(exchange, SCRAM_SHA_256)
    with pytest.raises(PeerError):
        exchange.answer(b"")


ANNA = sasl.password("anna", "x")


@pytest.mark.parametrize(
    ("login", "offered", "is_private", "chosen"),
    [
        (ANNA, ["PLAIN", "SCRAM-SHA-256"], False, "SCRAM-SHA-256"),
        (ANNA, ["PLAIN"], True, "PLAIN"),
        (ANNA, None, False, "SCRAM-SHA-256"),
        (sasl.password("anna", "x", passwords_anywhere=True), ["PLAIN"], False, "PLAIN"),
        (sasl.external(), ["PLAIN", "EXTERNAL"], False, "EXTERNAL"),
    ],
)
def test_our_own_wish_decides_what_is_used(
    login: Login, offered: list[str] | None, is_private: bool, chosen: str
) -> None:
    """Of those that the bus has."""
    assert login.choose(offered, is_private) == chosen


def test_a_password_is_not_shown_where_others_may_listen() -> None:
    """Even if the bus, or whoever is in between, has nothing else. CRAM-MD5 has to be asked for."""
    for offered in (["PLAIN"], ["CRAM-MD5"], []):
        with pytest.raises(Refused, match="ours is by SCRAM-SHA-256"):
            ANNA.choose(offered, False)
    with pytest.raises(Refused, match="the login has failed"):
        ANNA.choose(["SCRAM-SHA-256"], False, tried=["SCRAM-SHA-256"])


def test_what_cannot_be_said_is_refused_at_once() -> None:
    """Before anybody connects."""
    for name, password in (("", "x"), ("anna", ""), ("an\0na", "x"), ("anna", "x\0")):
        with pytest.raises(LocalError):
            sasl.password(name, password)
    for mechanisms in ([], ["EXTERNAL"]):
        with pytest.raises(LocalError):
            sasl.password("anna", "x", mechanisms=mechanisms)


def test_nothing_tells_the_password_by_itself() -> None:
    """Logs and tracebacks show values."""
    assert "sesame" not in repr(sasl.password("anna", "open sesame"))
