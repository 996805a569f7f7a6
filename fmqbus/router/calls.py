"""The calls of a bus: from the one who asks to one who serves, and back.

- `asked`: where a call stands; here is what moves it
- `methods`: who serves what; `choices`, `line`: which server is next
- `call_user`: one client's part, as the one who asks and as the one who serves

A server is chosen at once, and the call goes through its outbox, so that it comes in order with all else that goes
there. If the link has filled up by the end of the turn, the call comes back and another server is chosen. If none has
room, it waits with its method: nothing ever waits for a slow server while a ready one is idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from fmqbus.calls import (
    ABANDONED,
    ENDING,
    EXPIRED,
    REPLIED,
    SERVER_LOST,
    UNSERVED,
    Answer,
    Call,
    MethodSettings,
    Parcel,
)
from fmqbus.errors import CallFailed, Overloaded
from fmqbus.router.asked import Asked, Stage
from fmqbus.router.methods import Method, MethodTable, Server
from fmqbus.router.schedule import Schedule
from fmqbus.router.slices import Slices

if TYPE_CHECKING:
    from fmqbus.router.call_user import CallUser
    from fmqbus.router.service import Router


class Calls:
    """All of it for one bus."""

    def __init__(self, router: Router, settings: MethodSettings, rules: Sequence[tuple[bytes, MethodSettings]]) -> None:
        self.methods = MethodTable(router.limits.methods, settings, rules)
        self._router = router
        self._longest = router.limits.call_seconds
        end_turn = partial(router.flush, None)
        slices = Slices(router.turns, end_turn)
        #: Deadlines; of orphaned calls, when they let go of their server's place.
        self._schedule = Schedule(router.clock, router.clock.seconds, slices, self._are_due, end_turn)
        self._numbers = count(1)
        self._has_stopped = False
        # of all methods, also those that nobody serves any more; see `fmqbus.calls.MethodStatus`
        self.called = self.refused = 0
        self.ended: Counter[str] = Counter()
        #: Since the last flush: what servers need not answer any more, and what observers do not know yet.
        self._abandoned: dict[CallUser, list[Call]] = {}
        self._asked: list[Call] = []
        self._answered: list[Answer] = []

    # what the caller says

    def ask(self, asker: CallUser, name: bytes, parcel: Parcel, seconds: float | None, tag: Any) -> Asked:
        """See `ISession.call`; the rights and the bounds of this client have been looked at."""
        if self._has_stopped:
            raise CallFailed("the bus ends", reason=ENDING)
        method = self.methods.find(name)
        if method is None:
            raise CallFailed("nobody serves this method", reason=UNSERVED)
        now = self._schedule.now()
        usual = min(method.settings.deadline, self._longest)
        wait = usual if seconds is None else min(seconds, self._longest)
        call = Asked(
            next(self._numbers),
            name,
            parcel,
            asker.session.principal,
            now + wait,
            tag,
            asker=asker,
            home=method,
            lets_go_at=now + max(wait, usual),
        )
        if not self._find_server(call):
            if len(method.waiting) >= method.settings.max_waiting:
                method.refused += 1
                self.refused += 1
                raise Overloaded("all servers of this method are busy", "busy")
            method.waiting.add(call.number, call)
        method.called += 1
        self.called += 1
        asker.has_asked(call)
        self._schedule.add(call.deadline, call)
        if self._router.observers:
            self._asked.append(call)
        return call

    def break_off(self, call: Asked, reason: str, detail: str = "") -> None:
        """A call that somebody waits for ends without its server."""
        stage, server = call.stage, call.service
        self._end(call, CallFailed(detail, reason=reason))
        if server is None:
            call.home.waiting.discard(call.number)
        elif stage is Stage.CHOSEN:
            self._release(call, server)
        else:
            self._abandoned.setdefault(server.user, []).append(call)
            call.stage = Stage.ORPHANED
            self._schedule.add(call.lets_go_at, call)

    # what the server says

    def serve(self, server: Server) -> None:
        """Calls may come to this one from now on. Raises `Overloaded`."""
        self._serve_waiting(self.methods.add(server))

    def unserve(self, server: Server) -> None:
        """No more calls come to this one; it keeps in hand what it got. Said once of each."""
        method = server.home
        assert method is not None, "it has served until now"
        self.methods.remove(server, method)
        if not len(method.servers):
            for call in list(method.waiting):
                self.break_off(call, UNSERVED, "nobody serves this method any more")

    def answer(self, call: Asked, server: Server, result: Parcel | CallFailed) -> bool:
        """The server has done with a call that it has in hand. False if nobody waits for the answer."""
        is_wanted = call.stage is Stage.HANDED
        if is_wanted:
            self._end(call, result)
        else:
            self._schedule.discard(call.lets_go_at, call)
            call.stage = Stage.ENDED
        self._release(call, server)
        return is_wanted

    def lose(self, call: Asked, server: Server) -> None:
        """The server, which has gone, will not answer this one."""
        if call.stage is Stage.CHOSEN:
            self.find_another(call, server)
        else:
            self.answer(call, server, CallFailed("the server went away", reason=SERVER_LOST))

    # on the way to a server

    def look_at(self, server: Server) -> None:
        """It may have room again."""
        method = server.home
        if method is not None:
            method.servers.look_at(server)
            self._serve_waiting(method)

    def hand_over(self, user: CallUser, calls: Sequence[Asked]) -> list[Asked]:
        """Which of the calls that have come to a client's link it is to be handed now: some may have ended on their
        way, or belong to somebody else by now."""
        handed: list[Asked] = []
        for call in calls:
            server = call.service
            if call.stage is not Stage.CHOSEN or server is None or server.user is not user:
                continue
            if server.home is None:
                self.find_another(call, server)
            else:
                call.stage = Stage.HANDED
                handed.append(call)
        return handed

    def find_another(self, call: Asked, server: Server) -> None:
        """The chosen server cannot be given the call."""
        call.stage, call.service = Stage.WAITING, None
        self._release(call, server)
        if not len(call.home.servers):
            self.break_off(call, UNSERVED, "nobody serves this method any more")
        elif not self._find_server(call):
            call.home.waiting.add(call.number, call)

    def _find_server(self, call: Asked) -> bool:
        """Choose a server, if one has room."""
        server = call.home.servers.choose(call.parcel)
        if server is None:
            return False
        call.stage, call.service = Stage.CHOSEN, server
        server.user.has_taken(call)
        return True

    def _serve_waiting(self, method: Method) -> None:
        waiting = method.waiting
        while waiting and self._find_server(waiting.peek(1)[0]):
            waiting.drop_first(1)

    # the end of a call

    def _end(self, call: Asked, result: Parcel | CallFailed) -> None:
        """The caller has its answer."""
        call.stage = Stage.ENDED
        self._schedule.discard(call.deadline, call)
        call.asker.has_ended(call)
        reason = result.reason if isinstance(result, CallFailed) else REPLIED
        call.home.ended[reason] += 1
        self.ended[reason] += 1
        answer = Answer(call, result)
        if reason != ABANDONED:
            call.asker.session.outbox.put(answer, (), None)
        if self._router.observers:
            self._answered.append(answer)

    def _release(self, call: Asked, server: Server) -> None:
        """The server has the call no longer."""
        server.in_hand -= 1
        server.user.has_let_go(call)
        self.look_at(server)

    def _are_due(self, due: Sequence[Asked]) -> None:
        for call in due:
            if call.stage is not Stage.ORPHANED:
                self.break_off(call, EXPIRED, "nobody answered in time")
            elif call.service is not None:
                call.stage = Stage.ENDED
                self._release(call, call.service)

    # the turn, and the end

    def flush(self) -> None:
        """The turn is over: tell servers what they need not answer any more, and observers what came and ended."""
        if self._abandoned:
            abandoned, self._abandoned = self._abandoned, {}
            for user, calls in abandoned.items():
                user.session.tell_peer("abandoned", calls)
        if self._asked:
            asked, self._asked = self._asked, []
            self._router.tell("asked", asked)
        if self._answered:
            answered, self._answered = self._answered, []
            self._router.tell("answered", answered)

    def stop(self) -> None:
        """Nobody's replies are heard any more: tell all who wait for one."""
        self._has_stopped = True
        self._schedule.stop()
        for session in self._router.sessions():
            session.break_off_calls(ENDING, "the bus ends")
