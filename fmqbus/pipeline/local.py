"""A journal in a folder that this process can read, on its own disk or on one that a cluster shares."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.readers import write_position


class LocalJournal(JournalFolder):
    """A `fmqbus.pipeline.access.Journal`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        # Spark's own paths may be URLs
        super().__init__(Path(unquote(urlsplit(text).path) if text.startswith("file:") else text))

    def __reduce__(self) -> tuple[type[LocalJournal], tuple[Path]]:
        return LocalJournal, (self.path,)

    def keep_position(self, reader: str, offsets: Mapping[int, int]) -> None:
        """See `fmqbus.pipeline.access.Journal`."""
        write_position(self.path, reader, offsets)
