"""What does the data source ask of a journal, wherever that is? Of a folder, or of a broker that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from fmqbus.pipeline.options import Options, WrongOption
from fmqbus.pipeline.ranges import Extent


class Piece(Extent, Protocol):
    """A file of the journal: rows `first` to `end` (exclusive) of a shard. Times are POSIX microseconds."""

    @property
    def earliest(self) -> int: ...

    @property
    def latest(self) -> int: ...


class Journal(Protocol):
    """A journal that grows while it is read. Errors are those of `fmqbus.journal.errors`. May be pickled."""

    def shards(self) -> Sequence[int]:
        """The numbers of all shards that have, or had, rows."""

    def end(self, shard: int) -> int:
        """The offset that the shard's next row will have; cheap."""

    def earliest(self, shard: int) -> int:
        """The offset of the oldest row that is still there; `end` if there is none."""

    def pieces(self, shard: int, first: int = 0, end: int | None = None) -> Sequence[Piece]:
        """The files with rows of this range, in the order of offsets."""

    def offset_at(self, shard: int, time: int) -> int:
        """The offset of the first row at or after this time; `end` if there is none."""

    def read(self, shard: int, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield these rows. Raises `MissingRows` for the first that are not there, after those before them."""

    def after_damage(self, shard: int, offset: int) -> int:
        """The offset of the first row behind what is damaged at this one, as far as can be told."""

    def keep_position(self, reader: str, offsets: Mapping[int, int]) -> None:
        """From now on, nothing at or behind these offsets is trimmed away before this reader has read it."""


def journal_of(options: Options) -> Journal:
    """The journal that a read names. Raises `WrongOption` where there is none."""
    if options.url is not None:
        from fmqbus.pipeline.endpoint import NoEndpoint, endpoint_of
        from fmqbus.pipeline.remote import RemoteJournal

        try:
            endpoint = endpoint_of(options.url, options.url_patience, options.url_ca, options.url_certificate)
        except NoEndpoint as error:
            raise WrongOption(f"url: {error}") from None
        return RemoteJournal(endpoint)
    from fmqbus.pipeline.local import LocalJournal

    assert options.path is not None, "one of them is given"
    journal = LocalJournal(options.path)
    if not journal.path.is_dir():
        raise WrongOption(f"there is no folder {journal.path}: path is the folder that the broker's --journal names")
    return journal
