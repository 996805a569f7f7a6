"""The mechanisms that come with fmqbus: who proves what by them, and who does not."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient, ScramException

from fmqbus.auth.sasl.anonymous import ANONYMOUS
from fmqbus.auth.sasl.cram_md5 import CRAM_MD5
from fmqbus.auth.sasl.external import EXTERNAL
from fmqbus.auth.sasl.plain import PLAIN, parse
from fmqbus.auth.sasl.scram import SCRAM_SHA_256
from fmqbus.auth.user_file import User
from fmqbus.errors import LocalError
from fmqbus.interfaces import ISASLMechanism, IUsers
from fmqbus.logins import Challenge, Failed, Proved, Step, Work
from fmqbus.model import PeerFacts, Principal
from fmqbus.testing.contracts.sasl_mechanism import Proof, SASLMechanismContract, done
from tests.auth.sasl.proofs import cram_md5, one, plain, scram
from tests.auth.users import keys, users_of

FAR = Principal("umq", PeerFacts("tcp", "192.0.2.1"))
PUMP = Principal("umq", PeerFacts("tls", "192.0.2.1", certificate_names=("dns:pump.example",)))
USERS = users_of()


class Contract(SASLMechanismContract):
    """Of one that comes with fmqbus."""

    mechanism: ISASLMechanism

    def make_mechanism(self) -> ISASLMechanism:
        return self.mechanism

    def make_users(self) -> IUsers:
        return USERS


class TestAnonymous(Contract):
    """RFC 4505"""

    mechanism = ANONYMOUS
    proves_something = False

    def proof(self) -> Proof:
        return one(b"sirhc")


class TestPlain(Contract):
    """RFC 4616"""

    mechanism = PLAIN

    def proof(self) -> Proof:
        return plain("anna", "open sesame")


class TestScram(Contract):
    """RFC 5802, RFC 7677"""

    mechanism = SCRAM_SHA_256

    def proof(self) -> Proof:
        return scram("anna", "open sesame")


class TestExternal(Contract):
    """RFC 4422, appendix A"""

    mechanism = EXTERNAL
    peer = PUMP
    least_proof = 1

    def proof(self) -> Proof:
        return one(b"pump")


class TestCramMD5(Contract):
    """RFC 2195"""

    mechanism = CRAM_MD5

    def proof(self) -> Proof:
        return cram_md5("anna", "open sesame")


def talk(mechanism: ISASLMechanism, proof: Proof, peer: Principal = FAR, users: IUsers = USERS) -> Step:
    """How a login ends."""
    exchange = mechanism.begin(peer, users)
    step = done(exchange.start(next(proof), 0.0))
    while isinstance(step, Challenge):
        step = done(exchange.respond(proof.send(step.octets) or b"", 1.0))
    return step


@pytest.mark.parametrize(("mechanism", "client"), [(PLAIN, plain), (SCRAM_SHA_256, scram), (CRAM_MD5, cram_md5)])
@pytest.mark.parametrize(
    ("name", "password"),
    [("anna", "open sesam"), ("anna", "tiger"), ("nobody", "tiger"), ("pump", "tiger"), ("Anna", "open sesame")],
)
def test_a_wrong_password_proves_nothing(mechanism: ISASLMechanism, client: object, name: str, password: str) -> None:
    """Nor does any for who is not there, or has none. All end alike, after as many steps."""
    assert talk(mechanism, client(name, password)) == Failed("credentials")  # type: ignore[operator]


def test_names_and_passwords_are_compared_normalized() -> None:
    """However a client writes them (RFC 4616, section 2; RFC 5802, section 5.1)."""
    users = users_of(**{"j\u00fcrgen,=": User((), keys("p\u00e5ss"))})
    for mechanism, client in ((PLAIN, plain), (SCRAM_SHA_256, scram)):
        step = talk(mechanism, client("ju\u0308rgen,=", "pa\u030ass"), users=users)
        assert isinstance(step, Proved)
        assert step.identity == "j\u00fcrgen,="


def test_plain_lets_nobody_act_as_somebody_else() -> None:
    """Whoever that is; as oneself is allowed (RFC 4616, section 2)."""
    assert isinstance(talk(PLAIN, plain("anna", "open sesame", "anna")), Proved)
    assert talk(PLAIN, plain("anna", "open sesame", "bo")) == Failed("unreadable")


@pytest.mark.parametrize("name", ["anna", "bo", "nobody", "pump"])
def test_plain_works_as_long_for_whom_there_is_not(name: str) -> None:
    """One hash of the same cost, in a thread, whatever the name."""
    step = PLAIN.begin(FAR, USERS).start(f"\0{name}\0wrong".encode(), 0.0)
    assert isinstance(step, Work)
    *_, secret = step.run.args  # type: ignore[attr-defined]
    assert secret.iterations == USERS.secret_of("anna").iterations


@given(st.binary(max_size=400))
def test_a_response_of_plain_is_a_name_and_a_password_or_an_error(response: bytes) -> None:
    """Whatever it is; a password is never empty."""
    try:
        name, password = parse(response)
    except LocalError:
        return
    assert password
    assert response.endswith(b"\0" + password.encode())
    assert "\0" not in name + password


@given(st.text(min_size=1, max_size=60).filter(lambda text: "\0" not in text), st.text(min_size=1, max_size=60))
def test_what_plain_says_is_what_was_meant(name: str, password: str) -> None:
    """If it can be said."""
    try:
        said = parse(f"\0{name}\0{password}".encode())
    except (LocalError, UnicodeEncodeError):
        return
    assert said[1] == password


@given(st.sampled_from([PLAIN, SCRAM_SHA_256, EXTERNAL, CRAM_MD5]), st.lists(st.binary(max_size=200), max_size=3))
def test_octets_prove_nothing(mechanism: ISASLMechanism, responses: list[bytes]) -> None:
    """In whatever order they come."""
    exchange = mechanism.begin(FAR, USERS)
    step = exchange.start(responses[0] if responses else None, 0.0)
    for response in responses[1:]:
        if not isinstance(step, Challenge):
            break
        step = exchange.respond(response, 1.0)
    assert not isinstance(step, Proved)


def test_scram_proves_the_bus_to_the_client_too() -> None:
    """By its last words (RFC 5802, section 3)."""
    client = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    exchange = SCRAM_SHA_256.begin(FAR, USERS)
    first = exchange.start(client.get_client_first().encode(), 0.0)
    assert isinstance(first, Challenge)
    client.set_server_first(first.octets.decode())
    last = exchange.respond(client.get_client_final().encode(), 1.0)
    assert isinstance(last, Proved)
    client.set_server_final(last.octets.decode())


def test_scram_asks_first_where_nothing_is_said() -> None:
    """By an empty challenge (RFC 4422, section 5)."""
    exchange = SCRAM_SHA_256.begin(FAR, USERS)
    assert exchange.start(None, 0.0) == Challenge(b"")
    assert exchange.claimed is None


def test_what_was_overheard_of_scram_is_of_no_use_again() -> None:
    """Each login has a nonce of the bus's own (RFC 5802, section 5.1)."""
    client = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    first, exchange = client.get_client_first().encode(), SCRAM_SHA_256.begin(FAR, USERS)
    step = exchange.start(first, 0.0)
    assert isinstance(step, Challenge)
    client.set_server_first(step.octets.decode())
    last = client.get_client_final().encode()
    assert isinstance(exchange.respond(last, 1.0), Proved)
    again = SCRAM_SHA_256.begin(FAR, USERS)
    assert isinstance(again.start(first, 2.0), Challenge)
    assert again.respond(last, 3.0) == Failed("credentials")


def test_what_was_overheard_of_cram_md5_is_of_no_use_again() -> None:
    """Each login has a challenge of its own (RFC 2195, section 2)."""
    proof = cram_md5("anna", "open sesame")
    next(proof)
    exchange = CRAM_MD5.begin(FAR, USERS)
    step = exchange.start(None, 0.0)
    assert isinstance(step, Challenge)
    overheard = proof.send(step.octets)
    assert overheard is not None
    assert isinstance(exchange.respond(overheard, 1.0), Proved)
    again = CRAM_MD5.begin(FAR, USERS)
    again.start(None, 2.0)
    assert again.respond(overheard, 3.0) == Failed("credentials")


def test_scram_for_whom_there_is_not_asks_as_for_others() -> None:
    """The same salt and cost each time."""

    def asked(name: str) -> str:
        client = ScramClient(["SCRAM-SHA-256"], name, "x", c_nonce="abc")
        step = SCRAM_SHA_256.begin(FAR, USERS).start(client.get_client_first().encode(), 0.0)
        assert isinstance(step, Challenge)
        return step.octets.decode().split(",", 1)[1]

    assert asked("nobody") == asked("nobody")
    assert asked("nobody") != asked("nobody else")
    assert len(asked("nobody")) == len(asked("anna"))


def test_scram_binds_no_channel_and_says_so() -> None:
    """A client that demands it is refused, one that merely could is not (RFC 5802, section 6)."""
    assert SCRAM_SHA_256.begin(FAR, USERS).start(b"p=tls-unique,,n=anna,r=abc", 0.0) == Failed("unreadable")
    assert isinstance(SCRAM_SHA_256.begin(FAR, USERS).start(b"y,,n=anna,r=abc", 0.0), Challenge)
    assert SCRAM_SHA_256.begin(FAR, USERS).start(b"n,a=bo,n=anna,r=abc", 0.0) == Failed("unreadable")


def test_a_client_of_scram_does_not_believe_in_a_bus_that_changes_its_nonce() -> None:
    """The independent implementation minds, so what the tests above show is not for nothing."""
    client = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    client.get_client_first()
    with pytest.raises(ScramException):
        client.set_server_first(f"r=abc,s={b64encode(bytes(16)).decode()},i=4096")


def test_external_needs_a_name_only_where_there_are_several() -> None:
    """And lets nobody be whom nothing vouches for."""
    unix = Principal("umq", PeerFacts("unix", is_local=True, uid=1000))
    assert talk(EXTERNAL, one(b""), PUMP) == Proved("pump")
    assert talk(EXTERNAL, one(b""), unix) == Failed()
    assert talk(EXTERNAL, one(b"valve"), unix) == Proved("valve")
    assert talk(EXTERNAL, one(b"anna"), unix) == Failed()
    assert talk(EXTERNAL, one(b""), FAR) == Failed()
    assert talk(EXTERNAL, one(b"pump"), FAR) == Failed()


def test_a_certificate_that_calls_itself_anna_is_not_anna() -> None:
    """Only what the operator has written down says who comes by what."""
    claims = Principal("umq", PeerFacts("tls", "192.0.2.1", certificate_names=("dns:anna", "email:anna")))
    assert talk(EXTERNAL, one(b"anna"), claims) == Failed()
