"""How does a log event look as a line of JSON?

For collectors that index logs: one object a line, with the same text that a person would read. Only that text and
where it came from are written, never the event's other values: they may hold what nobody meant to log.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from twisted.logger import FileLogObserver, LogLevel, formatEvent
from twisted.python.failure import Failure
from twisted.python.logfile import LogFile


def json_line(event: Mapping[str, Any]) -> str:
    """Return the event as one line: ``time`` (UTC), ``level``, ``logger``, ``text``, and ``traceback`` if it tells of
    a failure."""
    fields = {
        "time": datetime.fromtimestamp(event["log_time"], UTC).isoformat(timespec="milliseconds"),
        "level": event.get("log_level", LogLevel.info).name,
        "logger": event.get("log_namespace", "-"),
        "text": formatEvent(dict(event)),
    }
    failure = event.get("log_failure")
    if isinstance(failure, Failure):
        fields["traceback"] = failure.getTraceback()
    return json.dumps(fields, ensure_ascii=False) + "\n"


def json_observer(path: str | None) -> FileLogObserver:
    """Return an observer that writes to the file at `path`, rotated as twistd's own, or to stdout for None or ``-``."""
    file = sys.stdout if path in (None, "-") else LogFile.fromFullPath(path)
    return FileLogObserver(file, json_line)
