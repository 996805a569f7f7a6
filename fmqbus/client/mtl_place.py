"""What does ``mtl://USER@HOST:PORT/VIRTUAL-HOST?profile=NAME`` say? (`fmqbus.client.url`)"""

from __future__ import annotations

from pathlib import Path

import attrs

from fmqbus.client import sasl
from fmqbus.client.credentials import first_line
from fmqbus.client.mtl_session import Place
from fmqbus.client.sasl import Login
from fmqbus.client.url import BusURL, InvalidURL, url_of
from fmqbus.errors import LocalError
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport, curve

#: By what a password is proved, unless something else is asked for.
_BY_PASSWORD = ("SCRAM-SHA-256", "PLAIN")


@attrs.frozen(kw_only=True)
class Settings:
    """Where a broker is, and how to speak to it."""

    place: Place
    #: In place of those for topics and for queues; empty if none is named.
    profile: str = ""
    is_confirmed: bool = True


def settings_of(target: str, login: Login | None = None, passport: Passport | None = None) -> Settings:
    """Read a URL; `login` and `passport` take the place of what it says of them. Raises `InvalidURL`."""
    url = url_of(target, "mtl")
    confirm = url.options.get("confirm", "full")
    if confirm not in ("none", "full"):
        raise InvalidURL(f"{target!r}: confirm is none or full")
    place = Place(
        host=url.host,
        port=url.port,
        virtual_host=url.virtual_host,
        login=login or login_of(url),
        passport=passport_of(url) if passport is None else passport,
    )
    return Settings(place=place, profile=url.options.get("profile", "").lower(), is_confirmed=confirm == "full")


def login_of(url: BusURL) -> Login | None:
    """Who a URL says that we are, if anybody. Raises `InvalidURL`."""
    mechanism, file = url.options.get("login", "").upper(), url.options.get("password-file", "")
    if not (url.user or mechanism or file):
        return None
    try:
        if mechanism == "ANONYMOUS" and not url.user and not file:
            return sasl.anonymous()
        if not file and mechanism in ("", "EXTERNAL"):
            return sasl.external(url.user)
        if not (url.user and file):
            raise LocalError("a password takes a user and a password-file")
        return sasl.password(url.user, first_line(file), mechanisms=[mechanism] if mechanism else _BY_PASSWORD)
    except (OSError, UnicodeDecodeError, LocalError) as error:
        raise InvalidURL(f"login of {url.user or 'nobody'}: {error}") from None


def passport_of(url: BusURL) -> Passport:
    """What a URL has us show to its sockets. Raises `InvalidURL`."""
    server_key, key = url.options.get("server-key"), url.options.get("key")
    if key and not server_key:
        raise InvalidURL("key needs server-key: without it, nobody knows whom the key is shown to")
    try:
        return curve(Path(server_key), Path(key) if key else None) if server_key else NO_PASSPORT
    except LocalError as error:
        raise InvalidURL(str(error)) from None
