"""What does the headers' part of a message say? (eMQP, Headers)

Zero to many values between commas, each a flag or ``name:number``. Names are compared exactly, outer spaces do not
count, and of a header that comes twice the last one holds. What is not known is kept, and handed on. A JSON object,
``{}`` and ``set()`` are read too: the specification once calls headers a dictionary, and Python prints an empty set so.

Three of them are not in the specification: EventMQ has ``run_count:N``; and ``interval:N`` or ``cron:EXPRESSION`` give
the specification's SCHEDULE a time. A cron expression may have commas in it, so ``cron:`` takes all that follows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

import attrs

from fmqbus.errors import PeerError

#: A year, and no more than what fits everywhere.
LONGEST_SECONDS = 366 * 86_400
MOST_RETRIES = 1_000
MOST_RUNS = 1_000_000_000
#: The specification has five.
MOST_HEADERS = 64
#: A program says the same ones with each of its jobs, so the last ones are remembered; each has Limits.control_octets.
REMEMBERED = 64


@attrs.frozen(slots=True, cache_hash=True)
class Headers:
    """The headers of one message, with the specification's defaults."""

    reply_requested: bool = False
    retry_count: int = 0
    #: In seconds; 0 is without limit by the specification, None where nothing is said.
    timeout: int | None = None
    guarantee: bool = False
    nohaste: bool = False
    #: How often a schedule runs in all, the first run that was not left out by `nohaste` included; None for ever.
    run_count: int | None = None
    #: In seconds.
    interval: int | None = None
    cron: str | None = None
    #: As written.
    others: tuple[str, ...] = ()


NO_HEADERS = Headers()

#: Of ours, in what the broker tells a worker: the number of the try, from the second on.
ATTEMPT = "attempt"
#: A flag of ours, among the others: the client wants to hear how far its job is.
PROGRESS = "progress"

_FLAGS = {"reply-requested": "reply_requested", "guarantee": "guarantee", "nohaste": "nohaste"}
#: Header → field, the least and the most that it can be.
_NUMBERS = {
    "retry-count": ("retry_count", 0, MOST_RETRIES),
    "timeout": ("timeout", 0, LONGEST_SECONDS),
    "run_count": ("run_count", 1, MOST_RUNS),
    "interval": ("interval", 1, LONGEST_SECONDS),
}
_CRON = "cron"


@lru_cache(REMEMBERED)
def parse_headers(octets: bytes) -> Headers:
    """Read the headers, which must be UTF-8. Raises `PeerError` with reason ``headers`` for what cannot be meant, or
    not be written again, and for more than `MOST_HEADERS` of them."""
    text = octets.decode().strip()
    if text in ("", "{}", "set()"):
        return NO_HEADERS
    values = list(islice(_from_json(text) if text.startswith("{") else _from_csv(text), MOST_HEADERS + 1))
    if len(values) > MOST_HEADERS:
        raise PeerError(f"more than {MOST_HEADERS} headers", "headers")
    return _read(values)


@lru_cache(REMEMBERED)
def write_headers(headers: Headers) -> bytes:
    """The same as CSV."""
    values = [name for name, field in _FLAGS.items() if getattr(headers, field)]
    for name, (field, _, _) in _NUMBERS.items():
        number, default = getattr(headers, field), getattr(NO_HEADERS, field)
        if number != default:
            values.append(f"{name}:{number}")
    values += headers.others
    if headers.cron is not None:
        values.append(f"{_CRON}:{headers.cron}")
    return ",".join(values).encode()


def _from_csv(text: str) -> Iterator[str]:
    at = 0
    # each value is cut out of the whole: a rest for each would cost the square of the length
    while at < len(text):
        end = text.find(",", at)
        end = len(text) if end < 0 else end
        value = text[at:end].strip()
        if value.startswith(f"{_CRON}:"):
            yield text[at:].strip()
            return
        if value:
            yield value
        at = end + 1


def _from_json(text: str) -> Iterator[str]:
    """``{"timeout": 5, "guarantee": true}`` as ``timeout:5`` and ``guarantee``."""
    try:
        pairs = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PeerError(f"headers: {error}", "headers") from None
    for name, value in pairs.items():
        if value is True:
            yield _writable(name, name)
        elif isinstance(value, int | str) and value is not False:
            yield _writable(name, f"{name}:{value}")
        elif value is not False and value is not None:
            raise PeerError(f"header {name[:20]!r}", "headers")


def _writable(name: str, value: str) -> str:
    """JSON can say what CSV cannot."""
    if ("," in value and name != _CRON) or not value.isprintable() or value != value.strip():
        raise PeerError(f"header {name[:20]!r}", "headers")
    return value


def _read(values: Iterable[str]) -> Headers:
    said: dict[str, bool | int | str] = {}
    others = []
    for value in values:
        name, colon, argument = value.partition(":")
        if value in _FLAGS:
            said[_FLAGS[value]] = True
        elif colon and name in _NUMBERS:
            field, least, most = _NUMBERS[name]
            said[field] = _number(value, argument, least, most)
        elif colon and name == _CRON:
            said[_CRON] = argument.strip()
        else:
            others.append(value)
    return Headers(**said, others=tuple(others))  # type: ignore[arg-type]  # each has the type of its field


def _number(header: str, text: str, least: int, most: int) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdecimal() and len(digits) <= len(str(most)) and least <= int(digits) <= most:
        return int(digits)
    raise PeerError(f"header {header[:40]!r}, {least} to {most} is expected", "headers")
