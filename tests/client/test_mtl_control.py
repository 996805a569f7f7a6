"""What does an MTL client say on the control flow? Against replies as they are in the vectors, and others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from fmqbus.client import sasl
from fmqbus.client.mtl_control import Control, Denied, Ended, Leased, Opened, State, Wish
from fmqbus.client.sasl import Login
from fmqbus.errors import PeerError, Refused
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    DataLease,
    Done,
    Failed,
    Open,
    Profile,
    Reader,
    Ready,
    Reply,
    Unauthorized,
    Writer,
)
from fmqbus.protocols.mtl.control_codec import decode_reply, encode_request
from tests.protocols.mtl.written import VECTORS, comparable

READY = Ready(("test", "Queue"))
LOGIN = sasl.password("guest", "guest")


def opened(login: Login | None = None) -> Control:
    """A control flow on which Open has been said, on this machine."""
    control = Control("test-env", login, is_private=True)
    control.open()
    assert control.take_request() == Open("test-env")
    return control


def ready() -> Control:
    """One that is let in."""
    control = opened()
    assert control.heard(READY) == [Opened()]
    return control


def wanting(*wishes: Wish) -> Control:
    """One that is let in, and asks for leases."""
    control = ready()
    for wish in wishes:
        control.want(wish)
    assert control.go_on() == []
    return control


def queue(flow: Reader | Writer | None = None) -> Wish:
    """A lease in the profile for queues."""
    return Wish("queue", flow or Reader())


def test_a_lease_is_asked_for_under_its_profile() -> None:
    """One request at a time, each when the last is answered (MTL, General Operation; reading 16)."""
    first, second = queue(Reader((b"a",))), Wish("test", Writer())
    control = wanting(first, second)
    assert control.take_request() == Profile("queue")
    assert control.take_request() is None
    assert control.heard(Done()) == []
    assert control.take_request() == Reader((b"a",))
    assert control.heard(DataLease(6000, b"one")) == [Leased(first, 6000, b"one")]
    assert control.take_request() == Profile("test")
    control.heard(Done())
    assert control.take_request() == Writer()
    assert control.heard(DataLease(6001, b"two")) == [Leased(second, 6001, b"two")]
    assert control.take_request() is None
    assert not control.is_waiting


def test_a_profile_that_the_bus_has_not_named_is_not_asked_for() -> None:
    """Case does not count (MTL, Selecting a Profile)."""
    control = ready()
    control.want(wish := Wish("vendor", Reader()))
    (denied,) = control.go_on()
    assert isinstance(denied, Denied)
    assert denied.wish is wish
    assert "it has test, queue" in str(denied.error)


@pytest.mark.parametrize("reply", [Failed(501, "Not implemented"), Failed(400, "Bad Request"), Failed(599, "?")])
def test_a_lease_that_is_refused_concerns_nobody_else(reply: Failed) -> None:
    """The next is asked for."""
    wish = queue()
    control = wanting(wish, queue())
    control.heard(Done())
    (denied,) = control.heard(reply)
    assert isinstance(denied, Denied)
    assert str(reply.code) in str(denied.error)
    assert control.take_request() == Profile("queue")


def test_what_is_not_wanted_any_more_is_not_asked_for() -> None:
    """And a lease that was under way is nobody's: not that of the next."""
    wish, other = queue(), queue(Writer())
    for replies in (0, 1, 2):
        control = wanting(wish, other)
        for reply in (Done(), DataLease(1, b"x"))[:replies]:
            control.heard(reply)
        control.withdraw(other)
        control.withdraw(wish)
        assert control.heard((Done(), DataLease(1, b"x"), Done())[replies]) == []
        assert control.state is State.IDLE
    control = wanting(wish, other)
    control.withdraw(wish)
    control.heard(Done())
    control.take_request()
    control.heard(Done())
    assert control.heard(DataLease(1, b"x")) == [Leased(other, 1, b"x")]


def test_a_session_that_the_bus_has_forgotten_is_opened_again() -> None:
    """Once; it ends those that are silent for long (reading 1), and answers 400 before Open (reading 6)."""
    wish = queue()
    control = wanting(wish)
    control.take_request()
    assert control.heard(Failed(400, "Bad Request")) == []
    assert control.take_request() == Open("test-env")
    assert control.heard(READY) == [Opened()]
    assert control.take_request() == Profile("queue")
    (denied,) = control.heard(Failed(400, "Bad Request"))
    assert isinstance(denied, Denied)


# logins


def vector(name: str) -> Reply:
    """What a broker says."""
    return decode_reply(VECTORS[name].parts, DEFAULT_LIMITS)


def test_a_login_as_the_vectors_have_it() -> None:
    """PLAIN in one step, which is for this machine (MTL, Client Authentication)."""
    control = opened(sasl.password("guest", "guest", mechanisms=["PLAIN"]))
    assert control.heard(vector("reply_401")) == []
    said = control.take_request()
    assert said == Authorize("PLAIN", b"\0guest\0guest")
    assert control.heard(READY) == [Opened()]


def test_requests_are_those_of_the_vectors() -> None:
    """As the broker's own tests read them; JSON is compared as JSON."""
    control = Control("test-env", None, is_private=True)
    said = []

    def say() -> None:
        request = control.take_request()
        assert request is not None
        said.append(comparable(encode_request(request)))

    control.open()
    say()
    (ready,) = VECTORS["open"].reply or ()
    control.heard(decode_reply(ready, DEFAULT_LIMITS))
    for wish in (Wish("test", Reader((b"resource",))), Wish("test", Writer())):
        control.want(wish)
        control.go_on()
        say()
        control.heard(Done())
        say()
        control.heard(DataLease(1, b"x"))
    names = ("open", "profile", "reader", "profile", "writer_any")
    assert said == [comparable(VECTORS[name].parts) for name in names]


def test_a_challenge_is_answered() -> None:
    """CRAM-MD5, where the bus begins (reading 12)."""
    control = opened(sasl.password("tim", "tanstaaftanstaaf", mechanisms=["CRAM-MD5"]))
    control.heard(Unauthorized(("CRAM-MD5",)))
    assert control.take_request() == Authorize("CRAM-MD5", b"")
    control.heard(Challenged("CRAM-MD5", b"<1896.697170952@postoffice.reston.mci.net>"))
    assert control.take_request() == Authorize("CRAM-MD5", b"tim b913a602c7eda7a495b4e6e7334d3890")
    assert control.heard(READY) == [Opened()]


def test_what_takes_long_is_handed_out() -> None:
    """Meanwhile nothing is said, and nothing is expected."""
    control = opened(LOGIN)
    control.heard(Unauthorized(("SCRAM-SHA-256",)))
    first = control.take_request()
    assert isinstance(first, Authorize)
    nonce = first.response.rpartition(b",")[2]
    control.heard(Challenged("SCRAM-SHA-256", nonce + b"x,s=QSXCR+Q6sek8bf92,i=4096"))
    assert (control.take_request(), control.is_waiting, control.state) == (None, False, State.COMPUTING)
    work = control.take_work()
    assert work is not None
    control.computed(work.run())
    last = control.take_request()
    assert isinstance(last, Authorize)
    assert last.response.startswith(b"c=")
    # the bus has not proved itself
    (ended,) = control.heard(READY)
    assert isinstance(ended, Ended)
    assert isinstance(ended.error, PeerError)


def test_who_has_a_login_uses_it_unasked() -> None:
    """Whoever wants to be somebody is not to be let in as nobody."""
    control = opened(LOGIN)
    assert control.heard(READY) == []
    said = control.take_request()
    assert isinstance(said, Authorize)
    assert said.mechanism == "SCRAM-SHA-256"
    assert control.heard(Unauthorized(("PLAIN",))) == []
    assert control.take_request() == Authorize("PLAIN", b"\0guest\0guest")
    assert control.heard(READY) == [Opened()]


def test_a_login_that_fails_is_the_end() -> None:
    """The bus offers its mechanisms again (reading 13); they would fail again."""
    control = opened(LOGIN)
    control.heard(Unauthorized(("PLAIN",)))
    (ended,) = control.heard(Unauthorized(("PLAIN",)))
    assert isinstance(ended, Ended)
    assert isinstance(ended.error, Refused)
    assert "failed" in str(ended.error)
    (ended,) = opened().heard(Unauthorized(("PLAIN",)))
    assert isinstance(ended, Ended)
    assert "we have none" in str(ended.error)


def test_a_login_that_is_wanted_again_is_made_again() -> None:
    """At any time; then what was asked for is asked for again (reading 15). Once. A broker that has forgotten us says
    the same, so the session is opened again first."""
    control = opened(sasl.anonymous())
    control.heard(Unauthorized(("ANONYMOUS",)))
    assert control.heard(READY) == [Opened()]
    control.want(wish := queue())
    control.go_on()
    control.heard(Unauthorized(("ANONYMOUS",)))
    assert control.take_request() == Open("test-env")
    control.heard(Unauthorized(("ANONYMOUS",)))
    assert control.take_request() == Authorize("ANONYMOUS", b"")
    assert control.heard(READY) == [Opened()]
    assert control.take_request() == Profile("queue")
    control.heard(Done())
    assert control.take_request() == Reader()
    (denied,) = control.heard(Unauthorized(("ANONYMOUS",)))
    assert isinstance(denied, Denied)
    assert denied.wish is wish


def test_an_exchange_without_end_is_ended() -> None:
    """And so is one in which the bus changes the mechanism."""
    control = opened(sasl.anonymous())
    control.heard(Unauthorized(("ANONYMOUS",)))
    for _ in range(sasl.MOST_ROUNDS):
        assert control.heard(Challenged("ANONYMOUS", b"")) == []
    (ended,) = control.heard(Challenged("ANONYMOUS", b""))
    assert isinstance(ended, Ended)
    control = opened(sasl.anonymous())
    control.heard(Unauthorized(("ANONYMOUS",)))
    (ended,) = control.heard(Challenged("PLAIN", b""))
    assert isinstance(ended, Ended)


# every state with every reply


def choosing() -> Control:
    """One that has named a profile."""
    return wanting(queue())


def leasing() -> Control:
    """One that has asked for a lease."""
    control = wanting(queue())
    control.heard(Done())
    return control


def authorizing() -> Control:
    """One that logs in."""
    control = opened(sasl.anonymous())
    control.heard(READY)
    return control


REPLIES = [
    Done(),
    READY,
    DataLease(1, b"x"),
    Unauthorized(("ANONYMOUS",)),
    Challenged("ANONYMOUS", b""),
    Failed(400, ""),
    Failed(501, ""),
]


@pytest.mark.parametrize(
    ("make", "reply"),
    list(product([opened, ready, choosing, leasing, authorizing], REPLIES)),
    ids=lambda part: str(part)[:30],
)
def test_whatever_is_answered_something_comes_of_it(make: Callable[[], Control], reply: Any) -> None:
    """No reply leaves the client waiting for nothing, and none is an error of ours."""
    control = make()
    control.take_request()
    try:
        events = control.heard(reply)
    except PeerError:
        assert control.state is State.IDLE
        return
    assert events or control.take_request() is not None or control.state is State.IDLE
    if control.state is State.ENDED:
        with pytest.raises(PeerError):
            control.heard(READY)
