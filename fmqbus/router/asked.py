"""Where does a call stand, from its beginning to its end?

========  =============================================  ========================================================
stage     what it means                                  what comes next
========  =============================================  ========================================================
waiting   no server has room                             chosen, or ended
chosen    on its way to a server, which has not got it   handed; ended; or waiting again, if it cannot be handed over
handed    in the hands of a server                       ended, or orphaned
orphaned  as handed, but nobody waits for the answer     ended
ended     over                                           nothing
========  =============================================  ========================================================

A server that has a call in hand works on it, whether somebody still wants the answer or not: few protocols can stop
one. So an orphaned call keeps its place in the server's window until the server answers, or has had the usual time.
Otherwise a caller that asks and goes, again and again, would give it more to do than it takes.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs

from fmqbus.calls import Call

if TYPE_CHECKING:
    from fmqbus.router.call_user import CallUser
    from fmqbus.router.methods import Method, Server


class Stage(enum.Enum):
    """See above."""

    WAITING = "waiting"
    CHOSEN = "chosen"
    HANDED = "handed"
    ORPHANED = "orphaned"
    ENDED = "ended"


@attrs.define(slots=True, eq=False)
class Asked(Call):
    """A call, as the bus knows it."""

    service: Server | None = None
    asker: CallUser = attrs.field(kw_only=True)
    #: Where it waits, or has been chosen a server of; also where it is counted.
    home: Method = attrs.field(kw_only=True)
    #: How long it may keep a server's place, by the clock; not before the deadline.
    lets_go_at: float = attrs.field(kw_only=True)
    stage: Stage = Stage.WAITING
