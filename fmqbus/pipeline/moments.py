"""When is "yesterday", and how long is "2h"? Times as operators write them, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import click

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def moment(text: str, now: datetime) -> datetime:
    """Read ``2026-11-27``, ``2026-11-27T09:30``, ``today``, ``yesterday``, ``now``, or ``2h``: so long ago.

    Raises `click.BadParameter`.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    words = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if text in words:
        return words[text]
    ago = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if ago is not None:
        return now - timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time: 2026-11-27, 2026-11-27T09:30, today, yesterday, now, or 90s, 30m, 2h, 7d ago; in UTC"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def milliseconds(when: datetime) -> str:
    """As the options of the data source have it; the next whole one, so that nothing before it is included."""
    since, one = when - datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
    return str(-(-since // one))
