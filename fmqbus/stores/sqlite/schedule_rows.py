"""How does a schedule become a row, and a row a schedule?

What has several parts is JSON in ASCII, which can carry any str. Of the owner all is kept that an authorizer looks at:
rights are asked again at each run.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from fmqbus.errors import PeerError, StoreFailed
from fmqbus.model import PeerFacts, Principal, Terms
from fmqbus.schedules.errands import Errand, Order
from fmqbus.schedules.table import Missed, Schedule
from fmqbus.schedules.timing import Cron, Every, Timing
from fmqbus.stores.sqlite.rows import SCHEDULES, Row, Statement, digest, message_columns, message_of

#: Of `PeerFacts`: an authorizer does not see them, and they mean nothing later.
_PASSING = ("pid", "port")


def schedule_row(schedule: Schedule) -> Row:
    """The row of a schedule whose `what` is an `Order`."""
    errand: Errand = schedule.what.errand
    columns = (
        schedule.key.encode(),
        float(schedule.due),
        schedule.runs_left,
        int(schedule.is_paused),
        schedule.missed.value.encode(),
        _json(_timing_parts(schedule.timing)),
        errand.queue,
        *message_columns(errand.message),
        _json(attrs.asdict(errand.terms)),
        _json(_owner_parts(schedule.what.owner)),
    )
    return (*columns, digest(*columns))


def schedule_of(row: Row) -> Schedule:
    """The schedule of a row. Raises `StoreFailed` where it cannot be meant any more."""
    key, due, runs_left, is_paused, missed, timing, queue, *message, terms, owner, _ = row
    try:
        when = _timing(*json.loads(timing))
    except PeerError as error:  # the system has forgotten a time zone
        raise StoreFailed(f"schedule {key.decode()!r}: {error}") from None
    errand = Errand(message_of(*message), queue, Terms(**json.loads(terms)))
    order = Order(errand, _owner(**json.loads(owner)))
    return Schedule(key.decode(), when, order, due, Missed(missed.decode()), runs_left, bool(is_paused))


def _json(parts: Any) -> bytes:
    return json.dumps(parts).encode()


def _timing_parts(timing: Timing) -> list[Any]:
    return ["every", timing.seconds] if isinstance(timing, Every) else ["cron", timing.text, timing.zone]


def _timing(kind: str, *parts: Any) -> Timing:
    return Every(*parts) if kind == "every" else Cron(*parts)


def _owner_parts(owner: Principal) -> dict[str, Any]:
    facts = {name: value for name, value in attrs.asdict(owner.facts).items() if name not in _PASSING}
    return {
        "protocol": owner.protocol,
        "facts": {**facts, "groups": sorted(owner.facts.groups)},
        "identity": owner.identity,
        "groups": sorted(owner.groups),
    }


def _owner(protocol: str, facts: dict[str, Any], identity: str | None, groups: list[str]) -> Principal:
    lists: dict[str, Any] = {
        "certificate_names": tuple(facts.pop("certificate_names")),
        "groups": frozenset(facts.pop("groups", ())),
    }
    return Principal(protocol, PeerFacts(**lists, **facts), identity, frozenset(groups))


PUT = Statement(SCHEDULES.insert, schedule_row)
END = Statement(SCHEDULES.delete, lambda key: (key.encode(),))
