"""How MTL's clients prove who they are, and what that does to what they have. (MTL, Client Authentication)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scramp import ScramClient
from twisted.internet.defer import Deferred

from fmqbus.auth.user_file import User
from fmqbus.model import Origin, PeerFacts
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    DataLease,
    Done,
    Open,
    Profile,
    Reader,
    Ready,
    Reply,
    Response,
    Summon,
    Unauthorized,
    Writer,
    declined,
)
from fmqbus.protocols.mtl.statuses import Status
from tests.auth.users import file_of, keys, write
from tests.protocols.mtl.memory_place import HERE, OK, REQ, STRANGER, Client, Place

PLAIN_ANNA, PLAIN_BO = Authorize("PLAIN", b"\0anna\0open sesame"), Authorize("PLAIN", b"\0bo\0tiger")
WRONG = Authorize("PLAIN", b"\0anna\0wrong")
MECHANISMS = ("SCRAM-SHA-256", "EXTERNAL", "PLAIN")
LOGIN_WANTED = Unauthorized(MECHANISMS)
READY = Ready(("queue", "test", "topic"))

RULE = '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["{}"]\nnames = ["{}/**"]\n'
RULES = "".join(RULE.format(f"identity:{name}", name) for name in ("anna", "bo"))


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The file."""
    return write(tmp_path / "users.json")


@pytest.fixture
def place(users: Path) -> Place:
    """Anna and Bo may do everything to topics and queues that begin with their names, and nobody else anything."""
    return make_place(users)


def make_place(users: Path, settings: str = "", sasl: str = "", limits: str = "") -> Place:
    """Rules come before what a configuration says of local peers, so there are only rules."""
    tables = (
        f'[users]\nfile = "{users}"\n[sasl]\n{sasl}\n[limits]\n{limits}\n[access]\nauthorizers = ["rules"]\n{RULES}'
    )
    return Place(settings, tables)


def scram_of(client: Client, name: str, password: str) -> list[Reply]:
    """All that is answered in an exchange by an independent implementation of the client's side."""
    scram = ScramClient(["SCRAM-SHA-256"], name, password)
    replies = [client.ask(Authorize("SCRAM-SHA-256", scram.get_client_first().encode()))]
    if isinstance(replies[0], Challenged):
        scram.set_server_first(replies[0].challenge.decode())
        replies.append(client.ask(Authorize("SCRAM-SHA-256", scram.get_client_final().encode())))
        if isinstance(replies[1], Challenged):
            scram.set_server_final(replies[1].challenge.decode())
            replies.append(client.ask(Authorize("SCRAM-SHA-256")))
    return replies


def logged_in(place: Place, authorize: Authorize = PLAIN_ANNA, identity: bytes = b"client") -> Client:
    """A client that has, in profile ``topic``."""
    client = place.client(identity)
    assert client.ask(Open()) == LOGIN_WANTED
    assert client.replies_to(authorize, Profile("topic")) == [READY, Done()]
    return client


def may_lease(client: Client, resource: bytes) -> bool:
    """Whether it is allowed to."""
    return isinstance(client.ask(Reader((resource,))), DataLease)


def test_who_opens_is_told_how_to_log_in(place: Place) -> None:
    """By 401, with the mechanisms, the best first. (MTL, Client Authentication; readings 6 and 11)"""
    client = place.client()
    assert client.ask(Profile("topic")) == LOGIN_WANTED
    assert client.ask(Open()) == LOGIN_WANTED
    for request in (Profile("topic"), Reader(), Writer()):
        assert client.ask(request) == LOGIN_WANTED


def test_plain_is_one_word(place: Place) -> None:
    """And then the client acts as that user. (MTL, Client Authentication; reading 11)"""
    client = logged_in(place)
    assert may_lease(client, b"anna/a")
    assert not may_lease(client, b"bo/a")


def test_scram_is_a_whole_exchange(place: Place) -> None:
    """A challenge is answered by a new Authorize, as often as it takes; what the server says last is one more
    challenge, whose answer is empty.
    (MTL, Client Authentication; reading 14)"""
    client = place.client()
    client.ask(Open())
    first, last, ready = scram_of(client, "anna", "open sesame")
    assert isinstance(first, Challenged)
    assert isinstance(last, Challenged)
    assert last.challenge.startswith(b"v=")
    assert ready == READY
    client.ask(Profile("topic"))
    assert may_lease(client, b"anna/a")


def test_what_the_server_says_last_is_answered_by_nothing(place: Place) -> None:
    """Whoever says something more has not logged in. (reading 14)"""
    client = place.client()
    client.ask(Open())
    scram = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    reply = client.ask(Authorize("SCRAM-SHA-256", scram.get_client_first().encode()))
    assert isinstance(reply, Challenged)
    scram.set_server_first(reply.challenge.decode())
    client.ask(Authorize("SCRAM-SHA-256", scram.get_client_final().encode()))
    assert client.ask(Profile("topic")) == LOGIN_WANTED
    assert client.ask(Authorize("SCRAM-SHA-256", b"x")) == LOGIN_WANTED


def test_an_empty_response_asks_the_server_to_begin(users: Path) -> None:
    """With a challenge, which is empty where the client has to begin after all. (reading 12)"""
    place = make_place(users, sasl='mechanisms = ["CRAM-MD5", "PLAIN"]')
    client = place.client()
    client.ask(Open())
    reply = client.ask(Authorize("CRAM-MD5"))
    assert isinstance(reply, Challenged)
    assert reply.challenge.startswith(b"<")
    assert client.ask(Authorize("PLAIN")) == Challenged("PLAIN", b"")
    assert client.ask(PLAIN_ANNA) == READY


@pytest.mark.parametrize(
    "authorize",
    [WRONG, Authorize("PLAIN", b"\0nobody\0x"), Authorize("PLAIN", b"x"), Authorize("X"), Authorize("ANONYMOUS")],
)
def test_a_login_that_fails_is_told_the_mechanisms_again(place: Place, authorize: Authorize) -> None:
    """And nothing about why; another may follow. (reading 13)"""
    client = place.client()
    client.ask(Open())
    assert client.ask(authorize) == LOGIN_WANTED
    assert client.ask(Profile("topic")) == LOGIN_WANTED
    assert client.ask(PLAIN_ANNA) == READY


def test_guessing_is_slowed_down(place: Place) -> None:
    """For a while even what is right is told no. (reading 13)"""
    client = place.client()
    client.ask(Open())
    for _ in range(6):
        assert client.ask(WRONG) == LOGIN_WANTED
    assert client.ask(PLAIN_ANNA) == LOGIN_WANTED
    assert place.drops["paused"] == 1
    place.wait(60)
    assert client.ask(PLAIN_ANNA) == READY


def test_an_exchange_has_an_end_in_time(users: Path) -> None:
    """Also before its very last word. (MTL, Client Authentication)"""
    place = make_place(users, limits="handshake_seconds = 5.0")
    client = place.client()
    client.ask(Open())
    scram = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    reply = client.ask(Authorize("SCRAM-SHA-256", scram.get_client_first().encode()))
    assert isinstance(reply, Challenged)
    scram.set_server_first(reply.challenge.decode())
    assert isinstance(client.ask(Authorize("SCRAM-SHA-256", scram.get_client_final().encode())), Challenged)
    place.wait(6)
    assert client.ask(Authorize("SCRAM-SHA-256")) == LOGIN_WANTED


def test_an_exchange_has_an_end_in_rounds(place: Place) -> None:
    """Empty answers to empty challenges do not go on for ever."""
    client = place.client()
    client.ask(Open())
    replies = [client.ask(Authorize("SCRAM-SHA-256")) for _ in range(30)]
    assert LOGIN_WANTED in replies


def test_another_mechanism_is_another_exchange(place: Place) -> None:
    """The one under way is over. (reading 11)"""
    client = place.client()
    client.ask(Open())
    scram = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    reply = client.ask(Authorize("SCRAM-SHA-256", scram.get_client_first().encode()))
    assert isinstance(reply, Challenged)
    scram.set_server_first(reply.challenge.decode())
    final = Authorize("SCRAM-SHA-256", scram.get_client_final().encode())
    assert client.ask(Authorize("PLAIN", b"x")) == LOGIN_WANTED
    assert client.ask(final) == LOGIN_WANTED


def test_passwords_are_not_shown_to_those_who_listen(place: Place) -> None:
    """PLAIN is offered where nobody can. (reading 11)"""
    assert place.client(origin=STRANGER).ask(Open()) == Unauthorized(("SCRAM-SHA-256", "EXTERNAL"))


def test_external_is_what_the_carrier_vouches_for(users: Path) -> None:
    """Where that is something: the text's time knew no such link. (reading 11)"""
    origin = Origin(PeerFacts("tcp", "127.0.0.1", is_local=True, certificate_names=("dns:pump.example",)), "REQ")
    place = make_place(users)
    for known, last in ((origin, READY), (REQ, LOGIN_WANTED)):
        client = place.client(origin=known)
        client.ask(Open())
        assert client.ask(Authorize("EXTERNAL")) == Challenged("EXTERNAL", b"")
        assert client.ask(Authorize("EXTERNAL")) == last


def test_nobody_has_to_log_in_where_it_is_optional(users: Path) -> None:
    """Then whoever does not is what his address makes of him; who tries and fails has to.
    (MTL, Client Authentication; reading 6)"""
    place = make_place(users, settings='login = "optional"')
    client = place.client()
    assert client.replies_to(Open(), Profile("topic")) == [READY, Done()]
    assert not may_lease(client, b"anna/a")
    assert client.ask(PLAIN_ANNA) == READY
    client.ask(Profile("topic"))
    assert may_lease(client, b"anna/a")
    assert client.ask(WRONG) == LOGIN_WANTED
    assert client.ask(Profile("topic")) == LOGIN_WANTED


def test_anonymous_is_somebody_where_it_is_configured(users: Path) -> None:
    """Nobody in particular. (reading 11)"""
    place = make_place(users, sasl='mechanisms = ["ANONYMOUS"]')
    client = place.client()
    assert client.ask(Open()) == Unauthorized(("ANONYMOUS",))
    assert client.replies_to(Authorize("ANONYMOUS", b"guest"), Profile("topic")) == [READY, Done()]
    assert not may_lease(client, b"anna/a")


def test_a_renewed_login_of_the_same_user_changes_nothing(place: Place) -> None:
    """Profile and leases survive it, and flows go on. The client MUST be able to at any time.
    (MTL, Client Authentication; reading 15)"""
    client, flow = logged_in(place), place.flow()
    flow.lease(client.lease(Reader((b"anna/a",))))
    flow.tell(Summon(1, b"anna/a"))
    unused = client.lease(Writer((b"anna/a",)))
    assert client.ask(PLAIN_ANNA) == READY
    assert may_lease(client, b"anna/b")
    flow.lease(unused)
    flow.write(b"1")
    assert flow.bodies() == [b"1"]


def test_another_user_begins_anew(place: Place) -> None:
    """With no profile; what was the former one's ends, and its leases are good for nothing. (reading 15)"""
    client, flow = logged_in(place), place.flow()
    flow.lease(client.lease(Reader((b"anna/a",))))
    flow.tell(Summon(1, b"anna/a"))
    unused = client.lease(Reader((b"anna/a",)))
    assert client.ask(PLAIN_BO) == READY
    assert client.ask(Reader()) == declined(Status.BAD_REQUEST)
    assert flow.tell(Summon(2, b"anna/b")) == [Response(2, 403)]
    place.flow(b"2").lease(unused, 403)
    client.ask(Profile("topic"))
    assert may_lease(client, b"bo/a")
    assert not may_lease(client, b"anna/a")


def test_a_lease_is_good_for_whoever_has_it(place: Place) -> None:
    """The flow acts as the client that got it, from wherever it is. (reading 30)"""
    client, flow = logged_in(place), place.flow(origin=STRANGER)
    flow.lease(client.lease(Reader((b"anna/a",))))
    assert flow.tell(Summon(1, b"anna/a")) == [Response(1, OK)]
    [session] = [each for each in place.router.sessions() if each.principal.identity]
    assert session.principal.identity == "anna"


def test_who_is_no_longer_known_has_to_log_in_anew(users: Path) -> None:
    """Told by 401 at the next request, whenever that is; what acts for him ends at once, and unused leases wait until
    he has.
    (MTL, Client Authentication; reading 15)"""
    place = make_place(users)
    client, flow = logged_in(place), place.flow()
    bo = logged_in(place, PLAIN_BO, b"bo")
    flow.lease(client.lease(Reader((b"anna/a",))))
    flow.tell(Summon(1, b"anna/a"))
    unused = client.lease(Reader((b"anna/a",)))
    known = file_of().users
    write(users, **{**known, "anna": User(("ops",), keys("new"))})
    place.reload(f'[users]\nfile = "{users}"\n[access]\nauthorizers = ["rules"]\n{RULES}')
    assert flow.tell(Summon(2, b"anna/b")) == [Response(2, 403)]
    place.flow(b"2").lease(unused, 403)
    assert client.ask(Reader()) == LOGIN_WANTED
    assert client.ask(PLAIN_ANNA) == LOGIN_WANTED
    assert client.ask(Authorize("PLAIN", b"\0anna\0new")) == READY
    assert may_lease(client, b"anna/a")
    place.flow(b"3").lease(unused)
    assert may_lease(bo, b"bo/a")


class _Slow:
    """Logins whose hashes take until they are let go."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waiting: list[tuple[Deferred[Any], Any]] = []

        def do(work: Any, instead: Any) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            self.waiting.append((done, work))
            return done

        logins: Any = place.protocol.factory.listener.logins
        monkeypatch.setattr(logins.labour, "do", do)
        monkeypatch.setattr(logins.labour, "give_up", lambda done: None)

    def finish(self) -> None:
        """All of them."""
        waiting, self.waiting = self.waiting, []
        for done, work in waiting:
            done.callback(work())


def test_an_answer_comes_when_the_hash_is_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reactor goes on meanwhile. (reading 13)"""
    slow = _Slow(place, monkeypatch)
    client = place.client()
    client.ask(Open())
    assert client.replies_to(PLAIN_ANNA) == []
    assert place.client(b"other").ask(Open()) == LOGIN_WANTED
    slow.finish()
    assert client.heard() == [READY]


def test_who_does_not_wait_for_it_gets_one_reply_to_each_request(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not logged in by it. (MTL, General Operation; reading 13)"""
    slow = _Slow(place, monkeypatch)
    client = place.client()
    client.ask(Open())
    assert client.replies_to(PLAIN_ANNA, Profile("topic")) == [LOGIN_WANTED, LOGIN_WANTED]
    slow.finish()
    assert client.heard() == []
    assert client.ask(Profile("topic")) == LOGIN_WANTED
    assert client.replies_to(PLAIN_ANNA, Open()) == [LOGIN_WANTED, LOGIN_WANTED]
    slow.finish()
    assert client.ask(Profile("topic")) == LOGIN_WANTED


def test_a_login_does_not_follow_an_identity(place: Place) -> None:
    """It is where it was proved. (readings 1 and 15)"""
    client = logged_in(place)
    elsewhere = place.client(origin=Origin(PeerFacts("tcp", "198.51.100.7"), "DEALER"))
    assert isinstance(elsewhere.ask(Reader((b"anna/a",))), Unauthorized)
    assert may_lease(client, b"anna/a")
    assert HERE.is_local


def test_who_has_logged_in_to_the_carrier_need_not_do_so_again(place: Place) -> None:
    """He is that user already. (reading 6)"""
    known = Origin(PeerFacts("curve", "192.0.2.1", user="anna", groups=frozenset({"ops"})), "REQ")
    client = place.client(origin=known)
    assert client.replies_to(Open(), Profile("topic")) == [READY, Done()]
    assert may_lease(client, b"anna/a")
    assert not may_lease(client, b"bo/a")
