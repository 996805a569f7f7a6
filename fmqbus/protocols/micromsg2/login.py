"""How does a MicroMsg2 client log in, where `fmqbus.protocols.micromsg2.extensions.sasl` was agreed on?

The bus asks nobody who he is by itself: one that says nothing of it stays what its address makes of it, and so does one
whose login fails. What comes while a login is under way is done as who the client was before.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.errors import BusError, PeerError, Refused
from fmqbus.interfaces import ILogin, ILogins, ISession
from fmqbus.logins import Admitted, Challenge
from fmqbus.protocols.micromsg2.events import LoginSaid
from fmqbus.protocols.micromsg2.extensions.sasl import Word, read_begin

_log = Logger()


class LoggingIn:
    """The logins of one client, one at a time.

    `say` is called with a word and what goes with it; `revoked` when what is known of the user has changed.
    """

    __slots__ = ("_bus", "_is_challenged", "_leave", "_login", "_logins", "_revoked", "_say")

    def __init__(
        self, bus: ISession, logins: ILogins | None, say: Callable[[Word, bytes], None], revoked: Callable[[], None]
    ) -> None:
        self._bus = bus
        self._logins = logins
        self._say = say
        self._revoked = revoked
        self._login: ILogin | None = None
        #: It is the client's turn.
        self._is_challenged = False
        #: What to call when one that has logged in goes.
        self._leave: Callable[[], None] | None = None

    def heard(self, said: LoginSaid) -> None:
        """Act on the client's word; what comes of it is said now or later."""
        try:
            if said.word == Word.BEGIN:
                self._begin(*read_begin(said.octets))
            elif said.word == Word.RESPONSE and self._is_challenged:
                self._answer(said.octets)
            else:
                raise PeerError("no login awaits that", "login")
        except BusError as error:
            self._refuse(error)

    def leave(self) -> None:
        """The client has gone, or is somebody else from now on."""
        self._give_up()
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()

    def _give_up(self) -> None:
        login, self._login = self._login, None
        if login is not None:
            login.close()

    def _begin(self, mechanism: str, response: bytes | None) -> None:
        self._give_up()
        self._is_challenged = False
        if self._logins is None:
            raise Refused("nobody is asked who he is here", "login")
        self._login = self._logins.begin(mechanism, self._bus.principal)
        self._answer(response)

    def _answer(self, response: bytes | None) -> None:
        assert self._login is not None, "it has begun"
        self._is_challenged = False
        self._login.answer(response).addCallback(self._answered).addErrback(self._failed)

    def _answered(self, outcome: Challenge | Admitted) -> None:
        if isinstance(outcome, Challenge):
            self._is_challenged = True
            self._say(Word.CHALLENGE, outcome.octets)
            return
        assert self._logins is not None, "there has been a login"
        self._login = None
        self.leave()
        self._bus.become(outcome.principal)
        self._leave = self._logins.stand(outcome.principal, self._revoked)
        self._say(Word.ADMITTED, outcome.octets)

    def _failed(self, failure: Failure) -> None:
        self._login = None
        if isinstance(failure.value, BusError):
            self._refuse(failure.value)
        else:
            _log.failure("a login has failed", failure)
            self._refuse(Refused("the login has failed", "failed"))

    def _refuse(self, error: BusError) -> None:
        self._bus.count_refused(error.reason)
        self._say(Word.REFUSED, str(error).encode())
