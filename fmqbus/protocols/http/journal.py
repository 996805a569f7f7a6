"""A journal for who shares no disk with it: what it has, octets of its files, and how far its readers have come.

===========================================  =========================================================================
``/journal``                                 of each shard the offset that its next row will have
``/journal/SHARD``                           the oldest offset that is there, and the next one
``/journal/SHARD/pieces?first=F&end=E``      the files with rows of this range, with ``&most=N`` so many of them
``/journal/SHARD/log/FIRST``                 octets of a segment, by the header ``Range``
``/journal/SHARD/table/FIRST``               octets of a sealed table, in the same way
``/journal/readers/NAME?SHARD=OFFSET&...``   PUT: what is at and behind these offsets is not trimmed away
===========================================  =========================================================================

Whoever may read has the right to manage ``$/http/journal/read``, and for the last one ``$/http/journal/readers/NAME``;
a rule for the other pages, ``$/http/*``, speaks of neither. An answer has `ANSWER_OCTETS` at most, whatever is asked
for, and `MOST_AT_ONCE` of them are there at once. (RFC 9110, section 14)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from fmqbus.errors import Overloaded
from fmqbus.journal.errors import JournalError
from fmqbus.limits import MIB
from fmqbus.protocols.http.answering import NAMES, Answer, Asked, Page, Place, in_words
from fmqbus.protocols.http.journal_files import MOST_PIECES, JournalFiles

#: What one answer has of a file, which is read from the disk in one go; and how many answers are there at once, from
#: the question until nothing of them waits to be sent. So 32 MiB at most wait for slow readers.
ANSWER_OCTETS = 1 * MIB
MOST_AT_ONCE = 32

#: Of a whole number, and of the fields of a query.
_NUMBER = r"[0-9]{1,18}"
_MOST_FIELDS = 2_000

_PATH = re.compile(
    rf"/(?P<shard>[0-9]{{1,4}})(?:/(?P<pieces>pieces)|/(?P<form>log|table)/(?P<first>{_NUMBER}))?"
    r"|/readers/(?P<reader>[A-Za-z0-9][A-Za-z0-9._-]{0,99})"
)
_RANGE = re.compile(rf"bytes=({_NUMBER})-({_NUMBER})")
_JSON = "application/json"

#: Calls a function that blocks, elsewhere.
Run = Callable[..., Deferred[Any]]


class OneThread:
    """Runs what blocks, one call after the other. `clock` is an IReactorFromThreads."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._pool: ThreadPool | None = None

    def run(self, work: Callable[..., Any], *arguments: Any) -> Deferred[Any]:
        """Fires with what it returns."""
        if self._pool is None:
            self._pool = ThreadPool(1, 1, "http-journal")
            self._pool.start()
        return deferToThreadPool(self._clock, self._pool, work, *arguments)

    def stop(self) -> None:
        """No call comes after this one; waits for the one that is done now."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()


class JournalBranch:
    """The pages of one journal."""

    def __init__(self, root: Path, run: Run) -> None:
        self._files = JournalFiles(root)
        self._run = run
        self._in_hand = 0

    def place(self, path: bytes) -> Place | None:
        """See `fmqbus.protocols.http.answering.Branch`."""
        name = NAMES + b"/journal/read"
        if not path:
            return Place(self._within_bounds(self._ends), name, is_for_programs=True)
        found = _PATH.fullmatch(path.decode("ascii", "replace"))
        if found is None:
            return None
        if found["reader"]:
            page = self._within_bounds(partial(self._keep_position, found["reader"]))
            return Place(page, NAMES + b"/journal" + path, (b"PUT",), is_for_programs=True)
        shard = int(found["shard"])
        if found["form"]:
            read = partial(self._octets, shard, found["form"] == "table", int(found["first"]))
            return Place(self._within_bounds(read), name, is_for_programs=True)
        return Place(
            self._within_bounds(partial(self._pieces if found["pieces"] else self._bounds, shard)),
            name,
            is_for_programs=True,
        )

    def _within_bounds(self, page: Page) -> Page:
        """The same page, unless too many answers are there already."""

        def answer(asked: Asked) -> Answer | Deferred[Answer]:
            if self._in_hand >= MOST_AT_ONCE:
                words = f"{MOST_AT_ONCE} answers are under way; ask again soon."
                return in_words(HTTPStatus.SERVICE_UNAVAILABLE, words, retry_after=b"1")
            self._in_hand += 1
            asked.gone.addCallback(self._gone)
            return page(asked)

        return answer

    def _gone(self, _: None) -> None:
        self._in_hand -= 1

    def _ends(self, asked: Asked) -> Deferred[Answer]:
        return self._made(lambda ends: _json({"format": 1, "ends": ends}), self._files.ends)

    def _bounds(self, shard: int, asked: Asked) -> Deferred[Answer]:
        return self._made(lambda bounds: _json({"first": bounds[0], "end": bounds[1]}), self._files.bounds, shard)

    def _pieces(self, shard: int, asked: Asked) -> Answer | Deferred[Answer]:
        numbers = _numbers(asked.query, ("first", "end", "most"))
        if numbers is None:
            return in_words(HTTPStatus.BAD_REQUEST, "Ask by first=OFFSET&end=OFFSET&most=COUNT, or some of these.")
        first, end, most = numbers.get("first", 0), numbers.get("end"), numbers.get("most", MOST_PIECES)
        return self._made(lambda pieces: _json({"pieces": pieces}), self._files.pieces, shard, first, end, most)

    def _octets(self, shard: int, is_table: bool, first: int, asked: Asked) -> Answer | Deferred[Answer]:
        found = _RANGE.fullmatch(asked.range.strip())
        begin, last = (int(found[1]), int(found[2])) if found else (1, 0)
        if begin > last:
            return in_words(HTTPStatus.BAD_REQUEST, "Ask for octets by the header Range: bytes=FIRST-LAST")

        def answer(read: tuple[bytes, int]) -> Answer:
            octets, size = read
            if not octets:
                words = f"The file has {size} octets."
                return in_words(
                    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, words, content_range=f"bytes */{size}".encode()
                )
            there = f"bytes {begin}-{begin + len(octets) - 1}/{size}".encode()
            return Answer(HTTPStatus.PARTIAL_CONTENT, "application/octet-stream", octets, {b"content-range": there})

        count = min(last + 1 - begin, ANSWER_OCTETS)
        return self._made(answer, self._files.octets, shard, is_table, first, begin, count)

    def _keep_position(self, reader: str, asked: Asked) -> Answer | Deferred[Answer]:
        numbers = _numbers(asked.query)
        if not numbers or not all(re.fullmatch("[0-9]{1,4}", shard) for shard in numbers):
            return in_words(HTTPStatus.BAD_REQUEST, "Tell how far the reader is: SHARD=OFFSET&SHARD=OFFSET...")
        offsets = {int(shard): offset for shard, offset in numbers.items()}
        return self._made(lambda _: in_words(HTTPStatus.OK, "It is kept."), self._files.keep_position, reader, offsets)

    def _made(self, answer: Callable[[Any], Answer], work: Callable[..., Any], *arguments: Any) -> Deferred[Answer]:
        """The answer that is made of what is read from the disk."""
        return self._run(work, *arguments).addCallbacks(answer, _explained)


def _explained(failure: Failure) -> Answer:
    """What the reader can be told of; all else goes into the log."""
    if failure.check(FileNotFoundError):
        return in_words(HTTPStatus.NOT_FOUND, "The journal does not have that, or no more.")
    if failure.check(Overloaded):
        return in_words(HTTPStatus.INSUFFICIENT_STORAGE, failure.getErrorMessage())
    if failure.check(JournalError):
        return in_words(HTTPStatus.INTERNAL_SERVER_ERROR, f"The journal cannot be read: {failure.getErrorMessage()}")
    failure.raiseException()
    raise AssertionError("it is raised")


def _json(content: Any) -> Answer:
    return Answer(HTTPStatus.OK, _JSON, msgspec.json.encode(content) + b"\n")


def _numbers(query: bytes, keys: tuple[str, ...] | None = None) -> Mapping[str, int] | None:
    """What a query says, if it is whole numbers under these keys, each once; else None."""
    if not query:
        return {}
    try:
        fields = parse_qsl(query.decode("ascii"), strict_parsing=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    numbers = {key: int(value) for key, value in fields if re.fullmatch(_NUMBER, value)}
    if len(numbers) < len(fields) or not (keys is None or numbers.keys() <= set(keys)):
        return None
    return numbers
