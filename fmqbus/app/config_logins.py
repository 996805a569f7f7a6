"""What may stand below ``[users]`` and ``[sasl]``?"""

from __future__ import annotations

from typing import Annotated

import msgspec

#: Of clients for whom users are named: what shows no password first. And of those that only checkers know.
USUAL = ("SCRAM-SHA-256", "EXTERNAL", "PLAIN")
USUAL_CHECKED = ("PLAIN",)


class UsersTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[users]``: who there is."""

    #: Made by ``fmqbus user``. Without one, nobody is.
    file: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    #: Who else knows users and their passwords: strings as `twisted.cred.strcred` reads them, asked in this order.
    checkers: tuple[str, ...] = ()


class SASLTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[sasl]``: how clients prove who they are."""

    #: Names of installed `fmqbus.interfaces.ISASLMechanism`, the best first. None is `USUAL` if there are users.
    mechanisms: tuple[str, ...] | None = None
    #: Those that show the password are offered on any link, and not only where nobody else can listen.
    passwords_anywhere: bool = False

    def __post_init__(self) -> None:
        if len(set(self.mechanisms or ())) < len(self.mechanisms or ()):
            raise ValueError("a mechanism is named twice")
