"""How does a client say who it is? What to give `fmqbus.client.umq.UMQClient` as `credentials` (docs/users.md).

A hello of UMQ has one answer, so these are the mechanisms that need no more; `fmqbus.client.sasl` has the others.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

from fmqbus.errors import LocalError


def plain(name: str, password: str) -> Mapping[str, str]:
    """A name and a password. The bus sees both, and takes them only where nobody else can listen: on this machine, and
    by TLS. Raises `LocalError` for what cannot be said."""
    if not name or not password or "\0" in name + password:
        raise LocalError("neither the name nor the password is empty, or has a NUL in it")
    return _said("PLAIN", f"\0{name}\0{password}")


def external(name: str = "") -> Mapping[str, str]:
    """What the carrier vouches for: our certificate, our UNIX user. A name is needed only where that may be several."""
    return _said("EXTERNAL", name)


def anonymous() -> Mapping[str, str]:
    """Nobody in particular."""
    return _said("ANONYMOUS", "")


def first_line(file: str) -> str:
    """The password that a file holds. Raises `OSError`, and `UnicodeDecodeError`."""
    return Path(file).read_bytes().split(b"\n", 1)[0].removesuffix(b"\r").decode()


def _said(mechanism: str, response: str) -> Mapping[str, str]:
    return {"mechanism": mechanism, "response": b64encode(response.encode()).decode()}
