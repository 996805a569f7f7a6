"""How a UMQ client says in its hello who it is (UMQ, Commands H, W, F)"""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.task import Clock

from fmqbus.app.users import USUAL
from fmqbus.auth.policy import RulePolicy
from fmqbus.auth.sasl.logins import Logins
from fmqbus.auth.user_file import User
from fmqbus.client import credentials
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.protocols.umq.codec import Fault
from fmqbus.protocols.umq.credentials import Credentials, read_credentials
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient
from fmqbus.transports.facts import host_of
from tests.auth.sasl.test_logins import ALL, make_logins
from tests.auth.test_policy import rule
from tests.auth.users import keys, users_of
from tests.protocols.umq.clients import Client, make_bus

UNIX = PeerFacts("unix", is_local=True, uid=1000)
FAR = PeerFacts("tcp", "192.0.2.1")


def hello(mechanism: str, response: bytes | None = None) -> str:
    """A hello that says who one is."""
    said: dict[str, Any] = {"mechanism": mechanism}
    if response is not None:
        said["response"] = b64encode(response).decode()
    return f"H1:{json.dumps(said)}"


def bus_of_rules() -> Router:
    """One on which only staff may publish, and only anna to her own topic."""
    rules = [rule("allow", "staff/*", who="group:staff"), rule("allow", "anna", who="identity:anna")]
    return make_bus(authorizers=[RulePolicy(rules)])


def may(client: Client, topic: str) -> bool:
    """Whether a client that was welcomed may publish there."""
    return client.ask("1", "publish", topic, "x") == ["R1:null"]


def test_who_logs_in_acts_as_himself() -> None:
    """As the user, and in his groups (reading 19)."""
    bus = bus_of_rules()
    anna, bo = (Client(bus, logins=make_logins()) for _ in range(2))
    assert anna.say(hello("PLAIN", b"\0anna\0open sesame")) == ["W1:"]
    assert bo.say(hello("PLAIN", b"\0bo\0tiger")) == ["W1:"]
    assert (may(anna, "staff/a"), may(anna, "anna")) == (True, True)
    assert (may(bo, "staff/a"), may(bo, "anna")) == (False, False)
    assert bus.sessions()[0].principal.identity == "anna"


@pytest.mark.parametrize("said", ["H1:", "H1:anna", 'H1:{"user":"anna"}', "H1:[1]", "H1:{", "H1:\x7f"])
def test_who_does_not_log_in_is_what_his_address_makes_of_him(said: str) -> None:
    """Whatever else the payload is (reading 19)."""
    bus = bus_of_rules()
    client = Client(bus, logins=make_logins())
    assert client.say(said) == ["W1:"]
    assert not may(client, "anna")
    assert bus.sessions()[0].principal.identity is None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (hello("PLAIN", b"\0anna\0wrong"), "the login has failed"),
        (hello("PLAIN", b"\0nobody\0wrong"), "the login has failed"),
        (hello("PLAIN", b"anna"), "the login cannot be read"),
        (hello("EXTERNAL", b""), "the login has failed"),
        (hello("NTLM", b""), "no such mechanism here"),
        (hello("ANONYMOUS", b""), "no such mechanism here"),
        (hello("SCRAM-SHA-256", b"n,,n=anna,r=abc"), "more to ask than a hello can answer"),
        (hello("PLAIN"), "more to ask than a hello can answer"),
    ],
)
def test_a_login_that_fails_is_the_end(said: str, text: str) -> None:
    """And not the welcome of somebody unknown (UMQ, Command F; reading 19)."""
    logins = Logins(Clock(), [each for each in ALL if each.name in USUAL], users_of(), Limits(), host_of)
    client = Client(make_bus(), logins=logins)
    (last,) = client.say(said)
    assert isinstance(last, str)
    assert last.startswith("F0:1 ")
    assert text in last
    assert client.link.calls[0].startswith("lose ")
    assert client.say('C1:["publish","a","x"]') == []


@pytest.mark.parametrize(
    "said",
    [
        'H1:{"mechanism":1}',
        'H1:{"mechanism":"PLAIN","response":1}',
        'H1:{"mechanism":"PLAIN","response":"?"}',
        'H1:{"mechanism":' + "[" * 50_000,
        'H1:{"mechanism":"PLAIN","a":' + "[" * 30_000 + "]" * 30_000 + "}",
        'H1:{"mechanism":"PLAIN","response":"AGFubmEA\\u00e9"}',
        'H1:{"mechanism":"PLAIN","response":"' + "A" * 100_000 + '"}',
    ],
)
def test_what_was_meant_for_a_login_and_is_none_is_the_end(said: str) -> None:
    """With code 3 (reading 19)."""
    client = Client(make_bus(), logins=make_logins())
    (last,) = client.say(said)
    assert str(last).startswith("F0:3 ")


def test_passwords_are_not_taken_where_others_can_listen() -> None:
    """The bus cannot unsay what was said, but makes it useless to go on so."""
    (last,) = Client(make_bus(), FAR, logins=make_logins()).say(hello("PLAIN", b"\0anna\0open sesame"))
    assert str(last).startswith("F0:1 no such mechanism here; there is: SCRAM-SHA-256")


def test_who_comes_by_a_socket_may_say_which_of_several_he_is() -> None:
    """As the users' file has it."""
    bus = make_bus()
    assert Client(bus, UNIX, logins=make_logins()).say(hello("EXTERNAL", b"valve")) == ["W1:"]
    assert bus.sessions()[0].principal.identity == "valve"


def test_who_is_no_longer_who_he_was_is_told_and_closed() -> None:
    """At once, when the users are read again; whoever has gone before is not."""
    logins, bus = make_logins(), make_bus()
    anna, gone, nobody = (Client(bus, logins=logins) for _ in range(3))
    for client in (anna, gone):
        client.say(hello("PLAIN", b"\0anna\0open sesame"))
    nobody.say("H1:")
    gone.session.link_lost("gone")
    logins.exchange_users(users_of(bo=User(external=("uid:1",))))
    assert anna.heard() == ["F0:1 what is known of this user has changed"]
    assert gone.heard() == nobody.heard() == []
    assert anna.link.calls == ["lose revoked 1002"]


@pytest.mark.parametrize(("others", "wills"), [({"anna": User(("staff",), keys("new"))}, 1), ({}, 0)])
def test_who_is_removed_leaves_no_will(others: dict[str, User], wills: int) -> None:
    """He is ended because of that, and had the right to it until then; one with another password has it still
    (threats, row 15)."""
    logins = make_logins()
    policy = RulePolicy(
        [rule("allow", "staff/*", who="group:staff"), rule("allow", "**", who="local", protocol="memory")]
    )
    bus = make_bus(authorizers=[policy], as_of_now=logins.as_of_now)
    anna, witness = Client(bus, logins=logins), MemoryClient(bus)
    witness.subscribe(b"staff/a")
    anna.say(hello("PLAIN", b"\0anna\0open sesame"))
    assert anna.ask("1", "will", "staff/a", "bye") == ["R1:null"]
    logins.exchange_users(users_of(bo=User(), **others))
    anna.session.link_lost("revoked")
    assert witness.payloads == [b"bye"] * wills


@pytest_twisted.ensureDeferred
async def test_until_it_is_known_who_he_is_a_client_says_nothing() -> None:
    """Not even if he turns out to be somebody: it is his end; and one that has gone is not welcomed."""
    logins, bus = make_logins(clock=reactor), make_bus()
    hasty, wrong, gone, patient = (Client(bus, logins=logins) for _ in range(4))
    said = hello("PLAIN", b"\0anna\0open sesame")
    for client, first in ((hasty, said), (wrong, hello("PLAIN", b"\0anna\0wrong"))):
        (last,) = client.say(first, 'C1:["publish","a","x"]')
        assert str(last).startswith("F0:3 ")
    gone.say(said)
    gone.session.link_lost("gone")
    assert patient.say(said) == []
    while bus.sessions()[-1].principal.identity is None:
        # one more in the line: when it is done, so is what was before it
        await logins.begin("PLAIN", patient.session.bus.principal).answer(b"\0anna\0open sesame")
    assert patient.heard() == ["W1:"]
    assert hasty.heard() == wrong.heard() == gone.heard() == []
    assert wrong.link.calls == ["lose protocol 1002"]
    assert hasty.session.bus.principal.identity is None


@given(st.binary(max_size=200))
def test_a_payload_is_credentials_or_something_else_or_a_fault(payload: bytes) -> None:
    """Nothing else comes out."""
    with suppress(Fault):
        assert isinstance(read_credentials(payload, 100), Credentials | None)


@given(st.text(min_size=1), st.text(min_size=1))
def test_what_a_client_says_the_bus_reads(name: str, password: str) -> None:
    """Names and passwords of any letters."""
    if "\0" in name + password:
        return
    said = json.dumps(credentials.plain(name, password)).encode()
    read = read_credentials(said, 1_000_000)
    assert read is not None
    assert read.response == f"\0{name}\0{password}".encode()
    assert repr(read) == "<Credentials by 'PLAIN'>"
