"""Does a part keep what `IAuthorizer` promises?"""

from __future__ import annotations

import pytest
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, PeerFacts, Principal

#: Clients of all kinds: near and far, known and unknown, with everything that a carrier can tell of them.
PRINCIPALS = (
    Principal("fmqp", PeerFacts("tcp", "127.0.0.1", is_local=True, port=40000)),
    Principal("fmqp", PeerFacts("tcp", "192.0.2.1")),
    Principal("fmqp", PeerFacts("tcp", "2001:db8::1")),
    Principal("fmqp", PeerFacts("unix", is_local=True, uid=0, gid=0, pid=1)),
    Principal("fmqp", PeerFacts("unix", is_local=True)),
    Principal("fmqp", PeerFacts("tls", "192.0.2.1", False, ("dns:client.example", "email:a@example"), "ab" * 32)),
    Principal("other", PeerFacts("memory"), identity="anna", groups=frozenset({"staff"})),
    Principal("other", PeerFacts("memory"), identity=""),
)
#: Names and patterns of all kinds, the longest and the deepest among them.
NAMES = (
    b"a",
    b"a/b",
    b"a//b",
    b"*",
    b"a/*",
    b"*/*",
    b"$",
    b"$/signals/stop",
    b"$/*/*",
    b"a*",
    "straße/日".encode(),
    b"x" * 255,
    b"/".join([b"a"] * 128),
    b"/".join([b"*"] * 128),
)


class AuthorizerContract:
    """Derive from this, and say how to make the authorizer."""

    def make_authorizer(self) -> IAuthorizer:
        """Return the authorizer."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signature that the router calls."""
        assert verifyObject(IAuthorizer, self.make_authorizer())

    @pytest.mark.parametrize(
        "principal",
        PRINCIPALS,
        ids=lambda principal: principal.identity or principal.facts.address or principal.facts.carrier,
    )
    def test_it_has_a_decision_for_every_question(self, principal: Principal) -> None:
        """Whoever asks for whatever: it allows, denies or defers, and raises nothing."""
        authorizer = self.make_authorizer()
        for action in Action:
            for name in NAMES:
                assert isinstance(authorizer.decide(principal, action, name), Decision)

    def test_it_decides_the_same_when_it_is_asked_again(self) -> None:
        """Answers are cached, so they must not depend on when, or after what, a question is asked."""
        authorizer = self.make_authorizer()
        questions = [(p, action, name) for p in PRINCIPALS for action in Action for name in NAMES]
        first = [authorizer.decide(*question) for question in questions]
        second = [authorizer.decide(*question) for question in reversed(questions)]
        assert first == second[::-1]

    def test_peers_that_differ_in_port_and_process_only_are_told_the_same(self) -> None:
        """They share one cache of answers."""
        authorizer = self.make_authorizer()
        for facts in (
            (PeerFacts("tcp", "192.0.2.1", port=port) for port in (1, 2)),
            (PeerFacts("unix", is_local=True, uid=1, pid=pid) for pid in (1, 2)),
        ):
            one, other = (Principal("fmqp", each) for each in facts)
            for action in Action:
                for name in NAMES:
                    assert authorizer.decide(one, action, name) is authorizer.decide(other, action, name)
