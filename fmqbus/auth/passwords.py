"""What is kept of a password, and does one fit?

One secret serves all: the keys that SCRAM-SHA-256 needs. Where PLAIN brings the password itself, they are derived from
it again. A second hash beside them, even one of a better kind, would protect nothing: who has stolen the file tries
passwords against whichever of the two is cheaper.
"""

from __future__ import annotations

import secrets
from hmac import compare_digest

from scramp import ScramException, ScramMechanism
from scramp.utils import saslprep

from fmqbus.errors import LocalError
from fmqbus.logins import MOST_NAME_OCTETS, Secret

#: What guessing one password costs, and what PLAIN costs us: some 0.3 s. With SCRAM only the client pays.
DEFAULT_ITERATIONS = 600_000
#: What RFC 7677, section 4, asks for at least; and what keeps a thread busy for no more than some 2 s.
LEAST_ITERATIONS, MOST_ITERATIONS = 4_096, 4_000_000
MOST_PASSWORD_OCTETS = 1_024
SALT_OCTETS = 32

_MECHANISM = ScramMechanism("SCRAM-SHA-256")


def prepared(text: str) -> str:
    """A name or password in the one form in which it is compared (RFC 4013). Raises `LocalError` for what has none."""
    if text.isascii() and text.isprintable():
        return text  # as the table would have it; most are so, and it takes 0.1 ms
    try:
        return str(saslprep(text))
    except ScramException as error:
        raise LocalError(str(error)) from None


def check_name(name: str) -> None:
    """Raise `LocalError` for what cannot be a user's name, or that of a group."""
    octets = len(name.encode("utf-8", "surrogatepass"))
    if not 0 < octets <= MOST_NAME_OCTETS:
        raise LocalError(f"a name has 1 to {MOST_NAME_OCTETS} octets")
    if not name.isprintable() or prepared(name) != name or name != name.strip():
        raise LocalError(f"{name!a} is no name: it has to be printable, normalized, and without blanks around it")


def make_secret(password: str, iterations: int = DEFAULT_ITERATIONS) -> Secret:
    """What to keep of a password; salted anew each time, and slow. Raises `LocalError`."""
    check_password(password)
    salt = secrets.token_bytes(SALT_OCTETS)
    _, stored_key, server_key, _ = _MECHANISM.make_auth_info(password, iterations, salt)
    return Secret(salt, iterations, stored_key, server_key)


def check_password(password: str) -> None:
    """Raise `LocalError` for what cannot be a password."""
    if not prepared(password):
        raise LocalError("an empty password")
    if len(password.encode()) > MOST_PASSWORD_OCTETS:
        raise LocalError(f"a password has at most {MOST_PASSWORD_OCTETS} octets")


def fits(password: str, secret: Secret) -> bool:
    """Tell whether it is the password. Takes long, and as long whether it is or not. Raises `LocalError` for what
    cannot be one."""
    check_password(password)
    _, stored_key, _, _ = _MECHANISM.make_auth_info(password, secret.iterations, secret.salt)
    return compare_digest(stored_key, secret.stored_key) and secret.is_real
