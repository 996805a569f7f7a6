"""Whose keys are in a folder? Those of all who are let in.

A folder is read in the reactor's thread, at SIGHUP, and may have a thousand files. To read one takes some 100
microseconds, to see that it is as it was takes few. So what has not changed is not read again; whoever changes a file,
its owner or its mode, changes the time of its change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fmqbus.errors import ConfigError
from fmqbus.transports.zeromq.keys import OTHERS_CHANGE_IT, PUBLIC_SUFFIX, check_owner, read_public_keys

#: Where all have changed they take some 0.3 s, where none has some 30 ms. A file may have many keys.
MOST_FILES = 2_000

_Version = tuple[int, ...]


class KeyFolder:
    """The files ``NAME.key`` in a folder, and what they said when they were last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[_Version, list[str]]] = {}

    def read(self) -> Mapping[str, str]:
        """Return the public keys, each with the name of its file. Raises `ConfigError`, also for a key that two files
        have."""
        known: dict[str, tuple[_Version, list[str]]] = {}
        names: dict[str, str] = {}
        for file, version in self._files():
            former = self._known.get(file)
            path = self._folder / file
            keys = former[1] if former is not None and former[0] == version else read_public_keys(path)
            known[file] = version, keys
            name = file.removesuffix(PUBLIC_SUFFIX)
            for key in keys:
                if names.setdefault(key, name) != name:
                    raise ConfigError(f"{path}: has the same key as {names[key]}{PUBLIC_SUFFIX}")
        self._known = known
        return names

    def _files(self) -> Iterator[tuple[str, _Version]]:
        try:
            status = self._folder.stat()
            check_owner(self._folder, status, OTHERS_CHANGE_IT)
            with os.scandir(self._folder) as entries:
                files = sorted((entry.name, _version(entry)) for entry in entries if _is_key_file(entry.name))
        except OSError as error:
            raise ConfigError(f"{self._folder}: cannot be read: {error.strerror}") from None
        if len(files) > MOST_FILES:
            raise ConfigError(f"{self._folder}: has more than {MOST_FILES} keys")
        yield from files


def _is_key_file(name: str) -> bool:
    """What editors and mounts leave there begins with a dot."""
    return name.endswith(PUBLIC_SUFFIX) and not name.startswith(".")


def _version(entry: os.DirEntry[str]) -> _Version:
    status = entry.stat()
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size
