"""Where is Spark, so that its Python processes start fast?

Spark has them import PySpark from a zip of sources in its home, and each of them compiles it anew: a second and a half
of a processor, for the ten or so that a query begins with. On a busy machine they are then not there within the ten
seconds that Spark waits. The same modules are installed, compiled, beside that zip. So Spark is given a home that has
all of the package but the zip, by links; its processes then find what is installed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

#: What programs that are started from a home look for in it.
_PARTS = ("bin", "sbin", "jars", "data", "licenses", "conf", "RELEASE")


def home_without_zip(package: Path, environment: Mapping[str, str]) -> Path | None:
    """Such a home for the `package` pyspark, in the user's folder for caches; made if it is not there.

    None where there is none: the package has no Spark in it, or the folder cannot be written.
    """
    user, caches = environment.get("HOME"), environment.get("XDG_CACHE_HOME")
    if not (package / "jars").is_dir() or not (user or caches):
        return None
    # one for each environment; when that is upgraded, the links are still right
    home = Path(caches or f"{user}/.cache", "fmqbus", f"spark-{hashlib.sha256(os.fsencode(package)).hexdigest()[:16]}")
    try:
        home.mkdir(0o700, parents=True, exist_ok=True)
        for part in _PARTS:
            if (package / part).exists():
                _link(home / part, package / part)
    except OSError:
        return None
    return home


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    # another process may do the same at the same time
    fresh = link.with_name(f"{link.name}.{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(link)
