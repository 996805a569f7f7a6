"""The reactor's side of the log: rows gather in frames, and a thread writes group after group.

A frame is due when it is full, or when its first row has waited for `commit_seconds`. While one group is written, the
next one gathers, so that the disk decides how much a commit is for. What waits is bounded: beyond the bound, producers
are paused or rows are left out, as the settings say. A group that cannot be written is tried again, for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from fmqbus.journal.entries import RECORDS, Client, FrameBuilder, Record
from fmqbus.journal.errors import JournalError
from fmqbus.journal.frames import Octets
from fmqbus.journal.kinds import Kind
from fmqbus.journal.log import Log
from fmqbus.observers.journal.settings import JournalSettings, WhenBehind

_log = Logger()

#: How long after a failure the group is tried again.
RETRY_SECONDS = 1.0


class Writer:
    """One shard's log, as it grows. `clock` is an IReactorTime and IReactorFromThreads, `now` tells the POSIX time."""

    def __init__(self, clock: Any, now: Callable[[], float], settings: JournalSettings) -> None:
        #: Why nothing is written now, in words; None while all is well.
        self.failure: str | None = None
        #: Rows left out since the start.
        self.lost = 0
        #: Called when producers may go on that `is_behind` has stopped, and when what `status` says has changed.
        self.on_caught_up: Callable[[], None] = lambda: None
        self.on_status: Callable[[], None] = lambda: None
        self.log = Log(settings.path, settings.shard, settings.segment_octets, settings.segment_seconds, now)
        self._clock = clock
        self._now = now
        self._settings = settings
        self._boot = int(now() * 1_000_000)
        self._frame = self._new_frame()
        self._spare: list[FrameBuilder] = []
        self._full: list[FrameBuilder] = []
        self._in_flight: list[FrameBuilder] = []
        #: What `_full` and `_in_flight` hold.
        self._waiting = 0
        #: Rows left out since the last that was taken; while there are any, none is taken before there is room.
        self._gap = 0
        #: More waits than may, and less than half of it has been written since.
        self.is_behind = False
        self._is_open = False
        self._is_due = False
        #: Until the frame is due, until a failed group is tried again, until the segment may be too old.
        self._timer: Any = None
        self._retry: Any = None
        self._roll: Any = None
        self._idle: Deferred[None] | None = None
        self._thread: ThreadPool | None = None

    @property
    def is_losing(self) -> bool:
        """Rows are left out now."""
        return self._gap > 0

    # rows

    def add(
        self,
        kind: Kind,
        layout: int,
        client: Client | None,
        rows: int,
        data: Octets,
        subscribers: int = 0,
        outcome: str = "",
    ) -> None:
        """Journal these rows, now."""
        frame = self._frame
        if self._gap or not frame.has_room(len(data)):
            if not self._make_room():
                self.leave_out(rows)
                return
            frame = self._frame
        frame.add(kind, layout, client, int(self._now() * 1_000_000), rows, data, subscribers, outcome)
        if self._timer is None and not self._is_due:
            self._begin_waiting()

    def leave_out(self, rows: int) -> None:
        """These cannot be journaled: a row will say so."""
        self._gap += rows
        self.lost += rows

    def _begin_waiting(self) -> None:
        self._timer = self._clock.callLater(self._settings.commit_seconds, self._due)

    def encoded(self, records: list[Record]) -> bytes:
        """The octets of records, for `add`."""
        return self._frame.encoded(records)

    def _make_room(self) -> bool:
        """The frame is full, or rows are being left out: begin another one, if that may be."""
        most = self._settings.waiting_octets
        if self._gap:
            if self._waiting > most // 2:
                return False
            gap, self._gap = self._gap, 0
            _log.warn("{rows} rows of the journal were left out; it goes on", rows=gap)
            if not self._frame.has_room(0):
                self._turn_over()
            data = self.encoded([Record(lost=gap)])
            self._frame.add(Kind.GAP, RECORDS, None, int(self._now() * 1_000_000), 1, data)
            if self._timer is None and not self._is_due:
                self._begin_waiting()
            self.on_status()
            return True
        limit = most if self._settings.when_behind is WhenBehind.GAP else 2 * most
        if self._waiting + self._frame.octets > limit:
            _log.critical("the journal cannot keep up with the bus: rows are left out")
            self.on_status()
            return False
        self._turn_over()
        return True

    def _turn_over(self) -> None:
        """The frame goes to those that wait for the disk."""
        frame = self._frame
        if frame.rows:
            self._full.append(frame)
            self._waiting += frame.octets
            self._frame = self._spare.pop() if self._spare else self._new_frame()
            if self._waiting > self._settings.waiting_octets and not self.is_behind:
                self.is_behind = True
                self.on_status()
        self._go()

    def _new_frame(self) -> FrameBuilder:
        return FrameBuilder(self._settings.shard, self._boot)

    # groups

    def open(self) -> Deferred[None]:
        """Open the log. Fails with `JournalError`; rows may be added before."""
        return self._in_thread(self.log.open).addCallbacks(self._opened, self._cannot_open)

    def _cannot_open(self, failure: Failure) -> None:
        if not failure.check(JournalError, OSError):
            _log.failure("this is a mistake of ours", failure)
        self.failure = f"the journal cannot be opened: {failure.getErrorMessage()}"
        _log.critical("{failure}", failure=self.failure)
        raise JournalError(self.failure)

    def _opened(self, _: None) -> None:
        for note in self.log.notes:
            _log.warn("journal: {note}", note=note)
        _log.info("journal: shard {shard} goes on at {next}", shard=self._settings.shard, next=self.log.next)
        self._is_open = True
        self._roll = self._clock.callLater(self._settings.segment_seconds, self._may_roll)
        self._go()
        self._look_at_frame()

    def _due(self) -> None:
        """The first row has waited long enough. While the disk is busy, the frame may as well go on growing: a stalled
        disk would else be waited for by a frame for each moment."""
        self._timer = None
        self._is_due = True
        self._look_at_frame()

    def _look_at_frame(self) -> None:
        if self._is_due and self._is_open and not self._in_flight and not self._full:
            self._is_due = False
            self._turn_over()

    def _go(self) -> None:
        if self._is_open and self._full and not self._in_flight and self._retry is None:
            self._in_flight, self._full = self._full, []
            self._in_thread(self.log.commit, self._in_flight).addCallbacks(self._committed, self._failed)

    def _may_roll(self) -> None:
        """Without rows, a segment is closed too: somebody waits for it."""
        self._roll = self._clock.callLater(self._settings.segment_seconds, self._may_roll)
        if not self._in_flight and self.failure is None:
            self._in_thread(self.log.commit, []).addErrback(lambda failure: _log.failure("journal", failure))

    def _committed(self, _: None) -> None:
        written, self._in_flight = self._in_flight, []
        self._waiting -= sum(frame.octets for frame in written)
        most = self._settings.waiting_octets
        for frame in written:
            frame.clear()
            if len(self._spare) < 4:
                self._spare.append(frame)
        if self.failure is not None:
            self.failure = None
            _log.info("journal: writing goes on")
            self.on_status()
        if self.is_behind and self._waiting <= most // 2:
            self.is_behind = False
            self.on_caught_up()
            self.on_status()
        if self._gap:
            self._make_room()
        self._go()
        self._look_at_frame()
        self._tell_idle()

    def _failed(self, failure: Failure) -> None:
        self._full, self._in_flight = self._in_flight + self._full, []
        if not failure.check(OSError):
            _log.failure("this is a mistake of ours", failure)
        reason = failure.getErrorMessage()
        if self.failure is None:
            _log.critical("journal: {reason}; it is tried again", reason=reason)
        has_changed, self.failure = self.failure != reason, reason
        if has_changed:
            self.on_status()
        self._retry = self._clock.callLater(RETRY_SECONDS, self._try_again)
        self._tell_idle()

    def _try_again(self) -> None:
        self._retry = None
        self._go()

    def _tell_idle(self) -> None:
        if self._idle is not None and not self._in_flight and (self.failure is not None or not self._full):
            idle, self._idle = self._idle, None
            idle.callback(None)

    @inlineCallbacks
    def close(self) -> Generator[Deferred[Any], Any, None]:
        """Write out what there is, and close the log. Never fails; what could not be written is told by log."""
        if self._thread is None:
            return
        self._cancel_timers()
        for _ in range(2):  # a gap may end by the first
            self._turn_over()
            if self._in_flight:
                self._idle = Deferred()
                yield self._idle
        self._cancel_timers()
        left = sum(frame.rows for frame in self._full) + self._gap
        if left:
            _log.critical("journal: the last {rows} rows could not be written", rows=left)
        yield self._in_thread(self.log.close).addErrback(lambda failure: _log.failure("journal", failure))
        self._thread.stop()
        self._thread = None

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._retry, self._roll):
            if timer is not None and timer.active():
                timer.cancel()
        self._timer = self._retry = self._roll = None

    # the thread

    def _in_thread(self, work: Callable[..., None], *arguments: Any) -> Deferred[None]:
        if self._thread is None:
            self._thread = ThreadPool(1, 1, "journal")
            self._thread.start()
        return deferToThreadPool(self._clock, self._thread, work, *arguments)
