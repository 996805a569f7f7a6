"""How does a client prove who it is, answer by answer? The client's side of SASL's mechanisms (RFC 4422).

For protocols that carry a whole exchange, as MTL does: `fmqbus.client.credentials` has what fits into one word. No I/O;
what takes long is handed back as `Work`, to be done in a thread.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from typing import Protocol as Contract

import attrs
from scramp import ScramClient, ScramException

from fmqbus.auth.passwords import prepared
from fmqbus.errors import LocalError, PeerError, Refused

#: Answers of one login; SCRAM takes three. Who asks for more will never be content.
MOST_ROUNDS = 8


@attrs.frozen
class Work:
    """The answer takes long: call this in a thread. Raises `PeerError`."""

    run: Callable[[], bytes] = attrs.field(repr=False)


class Exchange(Contract):
    """One login by one mechanism. What the bus says wrongly raises `PeerError`."""

    #: Whether the bus has proved to us what it has to, so that its success may be believed.
    is_content: bool

    def first(self) -> bytes:
        """What is said together with the mechanism's name; empty to have the bus begin."""

    def answer(self, challenge: bytes) -> bytes | Work:
        """What is said to this."""


class _OneWord:
    """PLAIN, EXTERNAL, ANONYMOUS: whenever it is asked, the client says the same."""

    is_content = True

    def __init__(self, word: str) -> None:
        self._word = word.encode()

    def first(self) -> bytes:
        return self._word

    def answer(self, challenge: bytes) -> bytes:
        return self._word


class _CramMD5:
    """The password's signature under what the bus says first (RFC 2195)."""

    is_content = True

    def __init__(self, name: str, password: str) -> None:
        self._name, self._password = name.encode(), password.encode()

    def first(self) -> bytes:
        return b""

    def answer(self, challenge: bytes) -> bytes:
        return self._name + b" " + hmac.new(self._password, challenge, "md5").hexdigest().encode()


class _Scram:
    """SCRAM-SHA-256 (RFC 5802, RFC 7677). Not content before the bus has shown that it knows the password, too."""

    def __init__(self, name: str, password: str) -> None:
        self.is_content = False
        self._client: Any = ScramClient(["SCRAM-SHA-256"], name, password)
        self._steps = iter((self._final, self._last))

    def first(self) -> bytes:
        said: str = self._client.get_client_first()
        return said.encode()

    def answer(self, challenge: bytes) -> bytes | Work:
        step = next(self._steps, None)
        if step is None:
            raise PeerError("the bus goes on after SCRAM's last message", "login")
        try:
            return step(challenge.decode())
        except (ScramException, UnicodeDecodeError) as error:
            raise PeerError(f"what the bus says is not SCRAM's, or not from who knows the password: {error}") from None

    def _final(self, message: str) -> Work:
        # the library bounds the iterations: too few would tell a false bus the password, too many would never end
        self._client.set_server_first(message)
        return Work(lambda: str(self._client.get_client_final()).encode())

    def _last(self, message: str) -> bytes:
        self._client.set_server_final(message)
        self.is_content = True
        return b""


@attrs.frozen
class Way:
    """One mechanism, as far as a client can go by it."""

    begin: Callable[[], Exchange] = attrs.field(repr=False)
    #: The bus, and whoever listens, sees the password.
    shows_password: bool = False


@attrs.frozen
class Login:
    """Who a client is, and by which mechanisms it may prove that; the first is the one it likes best."""

    ways: Mapping[str, Way]
    #: Mechanisms that show the password are used even where others may listen.
    is_shown_anywhere: bool = False

    def choose(self, offered: Sequence[str] | None, is_private: bool, tried: Sequence[str] = ()) -> str:
        """The mechanism to try, of those that the bus offers; None if it has not said. `is_private` tells whether
        nobody else can listen. Raises `Refused` if none is left."""
        fit = [name for name, way in self.ways.items() if self._is_fit(way, is_private)]
        for name in fit:
            if name not in tried and (offered is None or name in offered):
                return name
        if tried:
            raise Refused("the login has failed")
        raise Refused(f"the bus wants a login by {', '.join(offered or ()) or 'nothing'}; ours is by {', '.join(fit)}")

    def begin(self, mechanism: str) -> Exchange:
        """One of its mechanisms, from the beginning."""
        return self.ways[mechanism].begin()

    def _is_fit(self, way: Way, is_private: bool) -> bool:
        return is_private or self.is_shown_anywhere or not way.shows_password


def password(
    name: str,
    password: str,
    *,
    mechanisms: Sequence[str] = ("SCRAM-SHA-256", "PLAIN"),
    passwords_anywhere: bool = False,
) -> Login:
    """A name and a password, by the first of these mechanisms that the bus has.

    PLAIN shows the password to the bus, and is used only where nobody else can listen, unless `passwords_anywhere`.
    ``CRAM-MD5`` has to be asked for: nothing tells the client there whom it talks to. Raises `LocalError` for what
    cannot be said, and for other mechanisms.
    """
    if not name or not password or "\0" in name + password:
        raise LocalError("neither the name nor the password is empty, or has a NUL in it")
    name, password = prepared(name), prepared(password)
    known = {
        "SCRAM-SHA-256": Way(lambda: _Scram(name, password)),
        "PLAIN": Way(lambda: _OneWord(f"\0{name}\0{password}"), shows_password=True),
        "CRAM-MD5": Way(lambda: _CramMD5(name, password)),
    }
    if not mechanisms or not known.keys() >= set(mechanisms):
        raise LocalError(f"by a password one logs in with {', '.join(known)}")
    return Login({each: known[each] for each in mechanisms}, passwords_anywhere)


def external(name: str = "") -> Login:
    """What the carrier vouches for, such as a key. A name is needed only where that may be several."""
    return Login({"EXTERNAL": Way(lambda: _OneWord(name))})


def anonymous() -> Login:
    """Nobody in particular."""
    return Login({"ANONYMOUS": Way(lambda: _OneWord(""))})
