"""What mechanisms learn of users, and of those that are not there."""

from __future__ import annotations

from zope.interface.verify import verifyObject

from fmqbus.auth.users import Users
from fmqbus.interfaces import IUsers
from fmqbus.model import PeerFacts, Principal
from tests.auth.users import FINGERPRINT, users_of


def peer(facts: PeerFacts) -> Principal:
    """Somebody who has proved nothing yet."""
    return Principal("umq", facts)


def test_it_provides_the_interface() -> None:
    """For mechanisms."""
    assert verifyObject(IUsers, users_of())


def test_who_is_not_there_has_a_secret_like_others() -> None:
    """The same each time, also after a restart, of the same form and cost; so asking tells nobody who there is."""
    real, decoy, other = users_of().secret_of("anna"), users_of().secret_of("nobody"), users_of().secret_of("nobody2")
    assert users_of().secret_of("nobody") == decoy
    assert decoy.salt != other.salt
    assert (len(decoy.salt), decoy.iterations, len(decoy.stored_key), len(decoy.server_key)) == (
        len(real.salt),
        real.iterations,
        len(real.stored_key),
        len(real.server_key),
    )
    assert (real.is_real, decoy.is_real) == (True, False)


def test_who_has_no_password_is_like_one_who_is_not_there() -> None:
    """For mechanisms that ask for one."""
    assert not users_of().secret_of("pump").is_real
    assert users_of().password_of("bo") is None
    assert users_of().password_of("anna") == b"open sesame"


def test_groups() -> None:
    """Those of the file."""
    assert users_of().groups_of("anna") == {"ops", "staff"}
    assert users_of().groups_of("nobody") == frozenset()


def test_who_somebody_is_by_what_his_carrier_vouches_for() -> None:
    """A certificate's names, its fingerprint, a UNIX user; nothing of it is a user's name by itself."""
    users = users_of()
    certified = PeerFacts("tls", "192.0.2.1", certificate_names=("dns:pump.example", "dns:anna"))
    assert users.known_by(peer(certified)) == ["pump"]
    assert users.known_by(peer(PeerFacts("tls", "192.0.2.1", certificate_fingerprint=FINGERPRINT))) == ["valve"]
    assert users.known_by(peer(PeerFacts("unix", is_local=True, uid=1000))) == ["pump", "valve"]
    assert users.known_by(peer(PeerFacts("unix", is_local=True, uid=0))) == []
    assert users.known_by(peer(PeerFacts("tcp", "127.0.0.1", is_local=True))) == []


def test_without_a_file_there_is_nobody() -> None:
    """Whom no password fits."""
    assert not Users().secret_of("anna").is_real
