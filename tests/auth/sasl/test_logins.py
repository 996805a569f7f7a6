"""Logins from their first word to their end, whatever the mechanism."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.auth.passwords import prepared
from fmqbus.auth.sasl.anonymous import ANONYMOUS
from fmqbus.auth.sasl.attempts import FREE_FAILURES
from fmqbus.auth.sasl.cram_md5 import CRAM_MD5
from fmqbus.auth.sasl.external import EXTERNAL
from fmqbus.auth.sasl.labour import THREADS, Labour
from fmqbus.auth.sasl.logins import MOST_ROUNDS, Logins
from fmqbus.auth.sasl.plain import PLAIN
from fmqbus.auth.sasl.scram import SCRAM_SHA_256
from fmqbus.auth.user_file import User
from fmqbus.errors import Overloaded, Refused
from fmqbus.interfaces import ILogin, ILogins, ISASLExchange, ISASLMechanism, IUsers
from fmqbus.limits import Limits
from fmqbus.logins import Admitted, Challenge, Failed, Proved, Step, Work
from fmqbus.model import PeerFacts, Principal
from fmqbus.testing.contracts.sasl_mechanism import Proof
from fmqbus.transports.facts import host_of
from tests.auth.sasl.proofs import cram_md5, plain, scram
from tests.auth.users import keys, users_of

NEAR = Principal("umq", PeerFacts("tcp", "127.0.0.1", is_local=True))
FAR = Principal("umq", PeerFacts("tcp", "192.0.2.1"))
ELSEWHERE = Principal("umq", PeerFacts("tcp", "198.51.100.1"))
BEHIND_TLS = Principal("umq", PeerFacts("tls", "192.0.2.1"))
ALL = (SCRAM_SHA_256, EXTERNAL, PLAIN, CRAM_MD5, ANONYMOUS)


def make_logins(*mechanisms: Any, clock: Any = None, anywhere: bool = False, **limits: Any) -> Logins:
    """Of the usual users."""
    return Logins(clock or Clock(), mechanisms or ALL, users_of(), Limits(**limits), host_of, anywhere)


def result(waiting: Deferred[Any]) -> Any:
    """What it has fired with, which may be a `Refused`."""
    outcomes: list[Any] = []
    waiting.addBoth(lambda outcome: outcomes.append(getattr(outcome, "value", outcome)))
    [outcome] = outcomes
    return outcome


def log_in(logins: Logins, mechanism: str, proof: Proof, peer: Principal = NEAR) -> Admitted | Refused:
    """Log in to the end."""
    login = logins.begin(mechanism, peer)
    outcome = result(login.answer(next(proof)))
    while isinstance(outcome, Challenge):
        outcome = result(login.answer(proof.send(outcome.octets)))
    assert isinstance(outcome, Admitted | Refused)
    return outcome


def test_it_provides_the_interfaces() -> None:
    """For protocols."""
    logins = make_logins()
    assert verifyObject(ILogins, logins)
    assert verifyObject(ILogin, logins.begin("PLAIN", NEAR))


@pytest.mark.parametrize(("mechanism", "client"), [("PLAIN", plain), ("SCRAM-SHA-256", scram), ("CRAM-MD5", cram_md5)])
def test_who_has_logged_in_acts_as_himself(mechanism: str, client: Callable[[str, str], Proof]) -> None:
    """With his groups, and with what is known of his link."""
    admitted = log_in(make_logins(), mechanism, client("anna", "open sesame"))
    assert isinstance(admitted, Admitted)
    assert admitted.principal == Principal("umq", NEAR.facts, "anna", frozenset({"ops", "staff"}))


def test_who_proves_nothing_is_nobody_also_where_he_was_somebody() -> None:
    """ANONYMOUS gives up what was proved before."""
    logins = make_logins()
    was = Principal("umq", NEAR.facts, "anna", frozenset({"ops"}))
    admitted = result(logins.begin("ANONYMOUS", was).answer(b""))
    assert admitted == Admitted(NEAR)


def test_passwords_are_shown_only_where_nobody_else_listens() -> None:
    """On this machine, and behind TLS; unless the operator wants it otherwise."""
    logins = make_logins()
    assert "PLAIN" in logins.offered(NEAR.facts)
    assert "PLAIN" in logins.offered(BEHIND_TLS.facts)
    assert "PLAIN" not in logins.offered(FAR.facts)
    with pytest.raises(Refused, match="there is: SCRAM-SHA-256, EXTERNAL, CRAM-MD5, ANONYMOUS"):
        logins.begin("PLAIN", FAR)
    assert "PLAIN" in make_logins(anywhere=True).offered(FAR.facts)


def test_only_what_is_configured_is_offered_and_in_that_order() -> None:
    """Nothing else can be begun, whatever is installed."""
    logins = make_logins(PLAIN, SCRAM_SHA_256)
    assert logins.offered(NEAR.facts) == ["PLAIN", "SCRAM-SHA-256"]
    for other in ("ANONYMOUS", "CRAM-MD5", "", "plain", "PLAIN "):
        with pytest.raises(Refused):
            logins.begin(other, NEAR)


def test_nobody_learns_from_a_refusal_who_there_is() -> None:
    """It says the same."""
    outcomes = {str(log_in(make_logins(), "PLAIN", plain(name, "wrong"))) for name in ("anna", "pump", "nobody")}
    assert outcomes == {"the login has failed"}


def test_those_who_fail_wait() -> None:
    """Also with the right password, which is not even looked at; then it is good again."""
    clock = Clock()
    logins = make_logins(clock=clock)
    for _ in range(FREE_FAILURES + 1):
        log_in(logins, "PLAIN", plain("anna", "wrong"))
    refused = log_in(logins, "PLAIN", plain("anna", "open sesame"))
    assert isinstance(refused, Refused)
    assert refused.reason == "paused"
    assert isinstance(log_in(logins, "PLAIN", plain("bo", "tiger")), Admitted)
    clock.advance(1.0)
    assert isinstance(log_in(logins, "PLAIN", plain("anna", "open sesame")), Admitted)


def test_who_there_is_not_has_to_wait_for_as_well() -> None:
    """Else a pause would tell."""
    logins = make_logins()
    for _ in range(FREE_FAILURES + 1):
        log_in(logins, "SCRAM-SHA-256", scram("nobody", "wrong"))
    refused = log_in(logins, "SCRAM-SHA-256", scram("nobody", "wrong"))
    assert isinstance(refused, Refused)
    assert refused.reason == "paused"


def test_a_host_that_fails_waits_and_is_told_of_once_a_pause() -> None:
    """With any name, by any mechanism; the log has a line for each pause, not for each guess."""
    logins = make_logins()
    with capturedLogs() as logs:
        for number in range(FREE_FAILURES + 20):
            log_in(logins, "SCRAM-SHA-256", scram(f"name{number}", "wrong"), FAR)
    assert [formatEvent(event) for event in logs] == [
        f"logins as 'name{FREE_FAILURES}' from 192.0.2.1 fail; none is tried for 1 s"
    ]
    assert isinstance(log_in(logins, "SCRAM-SHA-256", scram("anna", "open sesame"), FAR), Refused)
    assert isinstance(log_in(logins, "SCRAM-SHA-256", scram("anna", "open sesame"), ELSEWHERE), Admitted)


@pytest.mark.parametrize("length", [4097, 1_000_000])
def test_what_a_client_says_is_bounded(length: int) -> None:
    """Before anybody reads it."""
    refused = result(make_logins().begin("SCRAM-SHA-256", NEAR).answer(b"x" * length))
    assert refused.reason == "unreadable"


def test_a_login_does_not_take_for_ever() -> None:
    """From its beginning, however little there is between two answers."""
    clock = Clock()
    login = make_logins(clock=clock, handshake_seconds=5).begin("SCRAM-SHA-256", NEAR)
    assert result(login.answer(None)) == Challenge(b"")
    clock.advance(5.1)
    assert result(login.answer(b"n,,n=anna,r=abc")).reason == "time"


@implementer(ISASLExchange, ISASLMechanism)
class Vendors:
    """A mechanism that does as a test says."""

    name = "VENDOR"
    summary = "nothing"
    shows_password = needs_users = False
    claimed = None

    def __init__(self, do: Callable[[], Step]) -> None:
        self._do = do

    def begin(self, peer: Principal, users: IUsers) -> Vendors:
        return self

    def start(self, response: bytes | None, now: float) -> Step:
        return self._do()

    def respond(self, response: bytes, now: float) -> Step:
        return self._do()


def test_what_is_remembered_of_a_claim_is_bounded() -> None:
    """However long a mechanism lets a name become, as normalization does."""
    logins = make_logins()
    for _ in range(FREE_FAILURES + 1):
        log_in(logins, "PLAIN", plain("\ufdfa" * 80, "x"))
    assert logins.attempts.pause("\ufdfa" * 80, "", 0.0) <= 0
    assert logins.attempts.pause(prepared("\ufdfa" * 80)[:255], "", 0.0) > 0


def test_rounds_are_bounded() -> None:
    """A mechanism that never ends does."""
    login = make_logins(Vendors(lambda: Challenge(b"more"))).begin("VENDOR", NEAR)
    for _ in range(MOST_ROUNDS):
        assert result(login.answer(b"x")) == Challenge(b"more")
    assert result(login.answer(b"x")).reason == "unreadable"


@pytest.mark.parametrize("do", [lambda: 1 / 0, lambda: Work(lambda: 1 / 0), lambda: None, lambda: Work(lambda: None)])  # type: ignore[arg-type, return-value]
def test_a_mechanism_that_breaks_proves_nothing(do: Callable[[], Step]) -> None:
    """It is logged, and whoever made it break is told no more than others."""
    refused = result(make_logins(Vendors(do)).begin("VENDOR", NEAR).answer(b"x"))
    assert str(refused) == "the login has failed"


def test_a_mechanism_may_know_groups_and_users_of_its_own() -> None:
    """Besides those of the file."""
    logins = make_logins(Vendors(lambda: Proved("anna", groups=frozenset({"vip"}))))
    admitted = result(logins.begin("VENDOR", NEAR).answer(None))
    assert admitted.principal.groups == {"vip", "ops", "staff"}


# when the file is read again


def test_who_is_no_longer_as_he_was_has_to_log_in_anew() -> None:
    """If he was removed, or has another password or other groups; once, and nobody else has."""
    logins = make_logins()
    revoked: list[str] = []
    for name in ("anna", "bo", "pump"):
        logins.stand(Principal("umq", NEAR.facts, name), lambda name=name: revoked.append(name))  # type: ignore[misc]
    gone = logins.stand(Principal("umq", NEAR.facts, "anna"), lambda: revoked.append("gone"))
    gone()
    gone()
    others = {"bo": User((), keys("lion")), "pump": User(("devices",), external=("san:dns:pump.example", "uid:1000"))}
    logins.exchange_users(users_of(**others))
    logins.exchange_users(users_of())
    assert revoked == ["anna", "bo"]


def test_whom_the_bus_acts_for_is_who_the_file_says_by_now() -> None:
    """Also where he is not connected: for his wills and schedules."""
    logins = make_logins()
    former = Principal("umq", FAR.facts, "anna", frozenset({"gone"}))
    assert logins.as_of_now(FAR) == FAR
    assert logins.as_of_now(former) == Principal("umq", FAR.facts, "anna", frozenset({"ops", "staff"}))
    logins.exchange_users(users_of(bo=User((), keys("tiger"))))
    assert logins.as_of_now(former) is None


def test_whom_a_vendors_mechanism_vouches_for_stays_who_he_was() -> None:
    """Of those the file knows nothing."""
    logins = make_logins(Vendors(Failed))
    stranger = Principal("umq", FAR.facts, "carl", frozenset({"theirs"}))
    assert logins.as_of_now(stranger) == stranger


def test_a_login_that_began_before_does_not_end_well_after() -> None:
    """If it would be as somebody who is no longer there."""
    logins = make_logins()
    proof = scram("anna", "open sesame")
    login = logins.begin("SCRAM-SHA-256", NEAR)
    challenge = result(login.answer(next(proof)))
    logins.exchange_users(users_of(bo=User((), keys("tiger"))))
    assert result(login.answer(proof.send(challenge.octets))).reason == "changed"


# what takes long


@pytest_twisted.ensureDeferred
async def test_passwords_are_hashed_in_threads() -> None:
    """And not in the reactor's."""
    done_in: list[Any] = []

    def work() -> Step:
        done_in.append(current_thread())
        return Proved("anna")

    admitted = await make_logins(Vendors(lambda: Work(work)), clock=reactor).begin("VENDOR", NEAR).answer(None)
    assert isinstance(admitted, Admitted)
    assert done_in[0] is not main_thread()


@pytest_twisted.ensureDeferred
async def test_the_line_is_bounded_and_its_places_can_be_given_up() -> None:
    """So many work at a time, so many wait; who has gone meanwhile is left out."""
    go_on, ran = Event(), []
    labour = Labour(reactor, 2)

    def work(name: str) -> Callable[[], Step]:
        def run() -> Step:
            go_on.wait(30)
            ran.append(name)
            return Failed()

        return run

    try:
        working = [labour.do(work("first"), lambda: None) for _ in range(THREADS)]
        gone, waits = (labour.do(work(name), lambda: None) for name in ("gone", "waits"))
        with pytest.raises(Overloaded):
            labour.do(work("too many"), lambda: None)
        labour.give_up(gone)
        assert labour.waiting == 1
        refused = labour.do(work("refused"), lambda: Failed("paused"))
    finally:
        go_on.set()
    for each in (*working, waits):
        assert await each == Failed()
    assert await refused == Failed("paused")
    assert sorted(ran) == ["first"] * THREADS + ["waits"]  # one thread may be done before the other has begun


@pytest_twisted.ensureDeferred
async def test_a_guess_counts_also_where_nobody_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessers who do not stay are counted like others, and are told nothing."""
    logins = make_logins(clock=reactor)
    counted: Deferred[tuple[Any, ...]] = Deferred()
    monkeypatch.setattr(logins.attempts, "failed", lambda *failure: counted.callback(failure))
    login = logins.begin("PLAIN", BEHIND_TLS)
    answered = login.answer(b"\0anna\0wrong")
    login.close()
    name, host, _ = await counted
    assert (name, host) == ("anna", "192.0.2.1")
    assert not answered.called
