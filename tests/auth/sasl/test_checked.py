"""Passwords that Twisted's checkers of credentials know (`twisted.cred`), beside the file of users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest
import pytest_twisted
from twisted.cred.checkers import ICredentialsChecker, InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from zope.interface import implementer

from fmqbus.app.config import parse_config
from fmqbus.app.plugs import find_plugs
from fmqbus.app.users import make_logins
from fmqbus.auth.sasl.attempts import FREE_FAILURES
from fmqbus.auth.sasl.checked import CheckedPlain, Checker, make_checkers
from fmqbus.auth.sasl.logins import Logins
from fmqbus.auth.users import Users
from fmqbus.errors import ConfigError, Refused
from fmqbus.interfaces import ISASLMechanism
from fmqbus.limits import Limits
from fmqbus.logins import Admitted
from fmqbus.model import PeerFacts, Principal
from fmqbus.testing.contracts.sasl_mechanism import Proof, SASLMechanismContract
from fmqbus.transports.facts import host_of
from tests.auth.sasl.proofs import plain
from tests.auth.sasl.test_logins import NEAR, log_in, result
from tests.auth.users import users_of, write

Answers = Callable[[bytes, bytes], Any]


@implementer(ICredentialsChecker)
class Vendors:
    """A checker that answers as a test says."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, answer: Answers) -> None:
        self._answer = answer
        self.asked: list[bytes] = []

    def requestAvatarId(self, credentials: Any) -> Any:
        assert current_thread() is main_thread()
        self.asked.append(credentials.username)
        return self._answer(credentials.username, credentials.password)


def knows(name: bytes, password: bytes) -> Answers:
    """One who knows one user."""
    return lambda *said: succeed(said[0]) if said == (name, password) else fail(UnauthorizedLogin())


def logins_of(*parts: Any, users: Users | None = None, clock: Any = None) -> Logins:
    """With checkers, and perhaps the usual users."""
    checked = CheckedPlain([part if isinstance(part, Checker) else Checker("", part) for part in parts], bool(users))
    return Logins(clock or Clock(), [checked], users or Users(), Limits(), host_of)


def outcome(logins: Logins, name: str, password: str) -> str | None:
    """Who has logged in, or why not."""
    ended = log_in(logins, "PLAIN", plain(name, password))
    return ended.principal.identity if isinstance(ended, Admitted) else f"! {ended.reason}"


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    """As Twisted's ``file:`` wants it."""
    file = tmp_path / "passwords"
    file.write_text("carl:mustard\nempty:\nanna:stolen\n")
    return file


class TestCheckedPlain(SASLMechanismContract):
    """It is a mechanism like others."""

    least_proof = 7

    def make_mechanism(self) -> ISASLMechanism:
        return CheckedPlain([Checker("", Vendors(knows(b"carl", b"mustard")))], has_users=True)

    def make_users(self) -> Users:
        return users_of()

    def proof(self) -> Proof:
        return plain("carl", "mustard")


def test_the_first_that_says_yes_decides(passwords: Path) -> None:
    """Those who block and those who do not, in any order; nobody is asked for more."""
    second = Vendors(knows(b"dora", b"x"))
    third = Vendors(knows(b"carl", b"other"))
    memory = InMemoryUsernamePasswordDatabaseDontUse(eve=b"apple")
    logins = logins_of(*make_checkers([f"file:{passwords}"]), second, memory, third)
    assert outcome(logins, "carl", "mustard") == "carl"
    assert second.asked == []
    assert outcome(logins, "dora", "x") == "dora"
    assert third.asked == []
    assert outcome(logins, "eve", "apple") == "eve"
    assert outcome(logins, "carl", "other") == "carl"
    assert outcome(logins, "carl", "wrong") == "! credentials"
    assert outcome(logins, "empty", "") == "! unreadable"


def test_names_of_the_file_of_users_are_its_own(passwords: Path) -> None:
    """Also of those who have no password there, and of what a checker makes of a name."""
    spy = Vendors(lambda name, password: succeed(b"bo"))
    logins = logins_of(*make_checkers([f"file:{passwords}"]), spy, users=users_of())
    assert outcome(logins, "anna", "open sesame") == "anna"
    assert outcome(logins, "anna", "stolen") == "! credentials"
    assert outcome(logins, "pump", "x") == "! credentials"
    assert spy.asked == []
    with capturedLogs():
        assert outcome(logins, "dora", "x") == "! credentials"
    assert spy.asked == [b"dora"]
    assert outcome(logins, "carl", "mustard") == "carl"


@pytest.mark.parametrize("avatar", [(), None, 7, b"", b"\xff", b"a\0b", b" x", b"x" * 256])
def test_who_cannot_be_a_name_is_nobody(avatar: object) -> None:
    """Such as Twisted's anonymous avatar."""
    with capturedLogs() as events:
        assert outcome(logins_of(Vendors(lambda name, password: succeed(avatar))), "carl", "x") == "! credentials"
    assert events


@pytest.mark.parametrize("answer", [lambda *_: 1 / 0, lambda *_: fail(RuntimeError("broken"))])
def test_a_checker_that_fails_says_no(answer: Answers) -> None:
    """The next is asked, and the log knows."""
    with capturedLogs() as events:
        assert outcome(logins_of(Vendors(answer), Vendors(knows(b"carl", b"x"))), "carl", "x") == "carl"
    assert events


def test_who_guesses_waits_here_as_elsewhere() -> None:
    """And no checker is asked meanwhile."""
    checker = Vendors(knows(b"carl", b"x"))
    logins = logins_of(checker)
    for _ in range(FREE_FAILURES + 1):
        assert outcome(logins, "carl", "y") == "! credentials"
    assert outcome(logins, "carl", "x") == "! paused"
    assert len(checker.asked) == FREE_FAILURES + 1


def test_one_that_never_answers_is_not_waited_for_for_ever() -> None:
    """Nor does it keep others waiting."""
    clock = Clock()
    silent: list[Deferred[Any]] = []

    def answer(name: bytes, password: bytes) -> Deferred[Any]:
        silent.append(Deferred())
        return silent[-1] if name == b"carl" else succeed(name)

    logins = logins_of(Vendors(answer), clock=clock)
    waiting = logins.begin("PLAIN", NEAR).answer(b"\0carl\0x")
    assert not waiting.called
    assert outcome(logins, "dora", "x") == "dora"
    clock.advance(Limits().handshake_seconds)
    with capturedLogs():
        assert isinstance(result(waiting), Refused)


@pytest_twisted.ensureDeferred
async def test_what_blocks_is_asked_in_a_thread(passwords: Path) -> None:
    """And what does not, in the reactor's (as its own assertion says)."""
    threads: list[bool] = []
    (file,) = make_checkers([f"file:{passwords}"])
    inner = file.part.getUser

    def get_user(name: bytes) -> Any:
        threads.append(current_thread() is main_thread())
        return inner(name)

    file.part.getUser = get_user
    logins = logins_of(file, Vendors(knows(b"dora", b"x")), clock=reactor)
    for name, password in (("carl", "mustard"), ("dora", "x")):
        admitted = await logins.begin("PLAIN", NEAR).answer(f"\0{name}\0{password}".encode())
        assert isinstance(admitted, Admitted)
        assert admitted.principal.identity == name
    assert threads == [False, False]


def test_whom_a_checker_vouches_for_stays_who_he_was() -> None:
    """The file of users says nothing of him; but of those it knew before, it does."""
    logins = logins_of(Vendors(knows(b"carl", b"x")), users=users_of())
    carl, anna = (Principal("umq", PeerFacts("tcp", "192.0.2.1"), name) for name in ("carl", "anna"))
    assert logins.as_of_now(carl) == carl
    logins.exchange_users(Users())
    assert logins.as_of_now(carl) == carl
    assert logins.as_of_now(anna) is None


def configured(text: str) -> Logins | None:
    """The logins of a configuration."""
    return make_logins(Clock(), parse_config(text, "bus.toml"), find_plugs().of(ISASLMechanism))


def test_the_configuration_names_them(passwords: Path, tmp_path: Path) -> None:
    """Alone, for PLAIN; or beside a file of users."""
    alone = configured(f'[users]\ncheckers = ["file:{passwords}"]')
    assert alone is not None
    assert alone.offered(NEAR.facts) == ["PLAIN"]
    assert outcome(alone, "carl", "mustard") == "carl"
    both = configured(f'[users]\nfile = "{write(tmp_path / "users.json")}"\ncheckers = ["file:{passwords}"]')
    assert both is not None
    assert both.offered(NEAR.facts) == ["SCRAM-SHA-256", "EXTERNAL", "PLAIN"]
    assert outcome(both, "carl", "mustard") == "carl"
    assert outcome(both, "anna", "stolen") == "! credentials"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('checkers = ["ldap"]', "users.checkers: 'ldap': no checker can be made of it"),
        ('checkers = ["memory:secret"]', "'memory': no checker can be made of it"),
        ('checkers = ["anonymous"]', "'anonymous': it checks no passwords"),
        ('checkers = ["unix"]\n[sasl]\nmechanisms = ["ANONYMOUS"]', "they are for PLAIN"),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, complaint: str) -> None:
    """And no password that is in it."""
    with pytest.raises(ConfigError) as raised:
        configured(f"[users]\n{text}")
    assert complaint in str(raised.value)
    assert "secret" not in str(raised.value)


def test_accounts_of_the_machine_are_asked_as_twisted_asks_them() -> None:
    """By its own checker, which is one of those that block. Nobody has such a name."""
    (unix,) = make_checkers(["unix"])
    assert unix.blocks
    with capturedLogs():
        assert outcome(logins_of(unix), "no-such-account", "x") == "! credentials"
