"""Does a part keep what `ISASLMechanism` promises?"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TypeAlias

import pytest
from zope.interface.verify import verifyObject

from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import Challenge, Failed, Later, Proved, Step, Work
from fmqbus.model import PeerFacts, Principal

Proof: TypeAlias = Generator[bytes | None, bytes, None]

#: Responses of all kinds, that no mechanism takes for a proof.
NONSENSE = (
    b"",
    b"\0",
    b"\0\0",
    b"\0\0\0",
    b"\0anna\0",
    b"\0anna\0" + b"x" * 100_000,
    b"\xff" * 20,
    b"n,,",
    b"n,,n=anna,r=",
    b"anna " + b"0" * 32,
    b",",
    b"=" * 300,
    b"{}",
    b"a" * 100_000,
)
#: Clients near and far, whom nothing vouches for.
PEERS = (
    Principal("umq", PeerFacts("tcp", "127.0.0.1", is_local=True)),
    Principal("umq", PeerFacts("tcp", "192.0.2.1")),
    Principal("umq", PeerFacts("unix", is_local=True)),
)


class SASLMechanismContract:
    """Derive from this, and say how to make the mechanism, the users, and a client that proves who it is."""

    #: Some mechanism may take any words at all, since it proves nothing.
    proves_something = True
    #: Octets of the shortest last word that is none of a client which proves itself: 1 where nothing need be said.
    least_proof = 0
    #: Who proves it.
    peer = PEERS[0]

    def make_mechanism(self) -> ISASLMechanism:
        """Return the mechanism."""
        raise NotImplementedError

    def make_users(self) -> IUsers:
        """Return users; one of them proves itself in `proof`."""
        raise NotImplementedError

    def proof(self) -> Proof:
        """What a client says that proves itself: yields its responses, the first of which may be None, and is sent the
        challenges."""
        raise NotImplementedError

    def responses(self, exchange: ISASLExchange, cut: tuple[int, int] | None = None) -> tuple[list[bytes], Step]:
        """Let a client that proves itself and the exchange talk to their end; returns what the client has said, and how
        it ended. `cut` says which response is not whole, and how much there is of it."""
        proof = self.proof()
        said: list[bytes] = []
        response = next(proof)
        step: Step = Challenge(b"")
        while isinstance(step, Challenge):
            if cut is not None and cut[0] == len(said) and response is not None:
                response = response[: cut[1]]
            step = done(exchange.respond(response or b"", 1.0) if said else exchange.start(response, 0.0))
            said.append(response or b"")
            if isinstance(step, Challenge):
                response = proof.send(step.octets)
        return said, step

    def begin(self) -> ISASLExchange:
        """A new exchange with the client that proves itself."""
        return self.make_mechanism().begin(self.peer, self.make_users())

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that are called."""
        mechanism = self.make_mechanism()
        assert verifyObject(ISASLMechanism, mechanism)
        assert verifyObject(ISASLExchange, mechanism.begin(self.peer, self.make_users()))

    def test_its_name_can_be_written(self) -> None:
        """RFC 4422, section 3.1."""
        assert re.fullmatch(r"[A-Z0-9_-]{1,20}", self.make_mechanism().name)

    def test_who_proves_himself_is_known_at_the_end(self) -> None:
        """By the name that was claimed, if one was."""
        exchange = self.begin()
        _, step = self.responses(exchange)
        assert isinstance(step, Proved)
        assert (step.identity is not None) is self.proves_something
        assert exchange.claimed in (None, step.identity)

    def test_each_login_has_an_exchange_of_its_own(self) -> None:
        """Nothing of one is left for the other."""
        mechanism, users = self.make_mechanism(), self.make_users()
        for exchange in (mechanism.begin(self.peer, users), mechanism.begin(self.peer, users)):
            assert isinstance(self.responses(exchange)[1], Proved)

    @pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.facts.address or peer.facts.carrier)
    def test_nonsense_proves_nothing(self, peer: Principal) -> None:
        """At the beginning and later, whoever says it; nothing is raised."""
        for first in (None, *NONSENSE):
            for then in NONSENSE:
                exchange = self.make_mechanism().begin(peer, self.make_users())
                step = done(exchange.start(first, 0.0))
                if isinstance(step, Challenge):
                    step = done(exchange.respond(then, 1.0))
                assert isinstance(step, Challenge | Failed | Proved)
                if isinstance(step, Proved):
                    assert step.identity is None
                    assert not self.proves_something

    def test_a_proof_that_is_cut_short_proves_nothing(self) -> None:
        """Its last words, at each octet."""
        if self.proves_something:
            said, _ = self.responses(self.begin())
            for length in range(self.least_proof, len(said[-1])):
                _, step = self.responses(self.begin(), (len(said) - 1, length))
                assert isinstance(step, Failed), said[-1][:length]


def done(step: Step) -> Step:
    """Do the work, if there is any."""
    while isinstance(step, Work | Later):
        if isinstance(step, Work):
            step = step.run()
        else:
            answers: list[Step] = []
            step.ask().addCallback(answers.append)
            (step,) = answers
    return step
