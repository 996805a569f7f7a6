"""How is a broker asked for its journal? One short request after the other, over HTTP, from a socket that blocks.

Everything that comes back has a bound, in octets and in seconds. A broker that is busy, or is just being started anew,
is asked again for a while; an answer that breaks off is worth what has come of it. (The pages:
`fmqbus.protocols.http.journal`)
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs
import msgspec

from fmqbus.errors import LocalError
from fmqbus.journal.errors import JournalError
from fmqbus.limits import KIB, MIB

#: So many octets are asked for at once; a broker may give fewer.
MOST_OCTETS = 1 * MIB
#: Of an answer that is not octets of a file: a thousand files are told in a tenth of it.
_TOLD_OCTETS = 4 * MIB
#: Of an answer that says what is wrong.
_WORDS_OCTETS = 1 * KIB
#: A socket may be silent for so long; one answer may take so long.
_SILENT_SECONDS, _ANSWER_SECONDS = 10.0, 30.0
#: How long is waited before it is asked again, at first and at most.
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0
_READ_OCTETS = 64 * KIB
#: An answer that breaks off before it has so many has not brought us further.
_PROGRESS_OCTETS = 16 * KIB

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class NoEndpoint(LocalError):
    """A URL leads to no journal, or not for us. The text names it, and says what to do."""

    reason = "endpoint"


class _Later(Exception):
    """It may go well if it is asked again; the text says why it has not."""


@attrs.frozen
class Endpoint:
    """Where a journal is. May be pickled; files are those of the machine on which it is asked."""

    #: ``http://HOST:PORT/journal`` or ``https://...``, without a slash at the end.
    url: str
    #: For how long is asked again and again if there is no answer.
    patience: float = 60.0
    #: PEM: who the broker's certificate is from, if not those whom the system trusts; ours, with its key.
    ca_file: str | None = None
    certificate_file: str | None = None

    def ask(self, path: str, kind: type[Any]) -> Any:
        """What JSON says at a path below the URL. Raises `FileNotFoundError` where there is nothing, `NoEndpoint`, and
        `JournalError` where the journal cannot be read."""
        octets = self._patiently(lambda: self._once("GET", path, _TOLD_OCTETS)[1])
        try:
            return msgspec.json.decode(octets, type=kind)
        except msgspec.DecodeError as error:
            raise NoEndpoint(f"{self.url}{path} is no journal's page: {error}") from None

    def octets(self, path: str, begin: int, count: int) -> bytes:
        """Some octets of a file from `begin` on, `count` at most; none at its end. Raises as `ask`."""
        octets: bytes = self._patiently(lambda: self._range(path, begin, min(count, MOST_OCTETS)))
        return octets

    def tell(self, path: str) -> None:
        """Say what is in the path. Raises as `ask`."""
        self._patiently(lambda: self._once("PUT", path, _WORDS_OCTETS))

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + self.patience
        wait = _FIRST_WAIT
        while True:
            try:
                return attempt()
            except _Later as error:
                if time.monotonic() + wait > deadline:
                    raise NoEndpoint(
                        f"{self.url} has not answered for {self.patience:g} s: {error}; see whether the broker runs, "
                        "and listens there by http:"
                    ) from None
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _range(self, path: str, begin: int, count: int) -> bytes:
        headers = {"Range": f"bytes={begin}-{begin + count - 1}"}
        answer, octets = self._once("GET", path, count, headers)
        if answer.status == 416:
            return b""
        there = _RANGE.fullmatch(answer.getheader("Content-Range") or "")
        if answer.status != 206 or there is None or int(there[1]) != begin or int(there[2]) >= begin + count:
            raise NoEndpoint(
                f"{self.url}{path} has answered {answer.status}, {answer.getheader('Content-Range')}, when it was "
                f"asked for octets {begin} to {begin + count - 1}: it is no broker's journal, or a proxy changes it"
            )
        promised = int(there[2]) + 1 - begin
        if len(octets) < min(promised, _PROGRESS_OCTETS):
            raise _Later(f"of {promised} octets {len(octets)} have come")
        return octets[:promised]

    def _once(
        self, method: str, path: str, most: int, headers: Mapping[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One request. Raises `_Later` too."""
        parts = urlsplit(self.url)
        connection = self._connection(parts.scheme, parts.netloc)
        try:
            connection.request(method, parts.path + path, headers=dict(headers or {}))
            answer = connection.getresponse()
            octets = _body(answer, most if answer.status in (200, 206) else _WORDS_OCTETS)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, ssl.SSLCertVerificationError):
                raise NoEndpoint(f"{self.url}: {error}; option urlCaFile names who the certificate is from") from None
            raise _Later(f"{type(error).__name__}: {error}") from None
        finally:
            connection.close()
        self._look_at(answer.status, path, octets)
        return answer, octets

    def _connection(self, scheme: str, place: str) -> http.client.HTTPConnection:
        if scheme != "https":
            return http.client.HTTPConnection(place, timeout=_SILENT_SECONDS)
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file)
        except OSError as error:
            raise NoEndpoint(f"the files of urlCaFile and urlCertificateFile cannot be used: {error}") from None
        return http.client.HTTPSConnection(place, timeout=_SILENT_SECONDS, context=context)

    def _look_at(self, status: int, path: str, octets: bytes) -> None:
        """Raises what a status means, if it is not well."""
        if status in (200, 206, 416):
            return
        words = ascii(octets.decode("utf-8", "replace").strip())[1:-1]
        if status == 404:
            if path:
                raise FileNotFoundError(f"{self.url}{path}")
            raise NoEndpoint(
                f"there is no journal at {self.url}: has the broker the option journal in [protocols.http]? It says: "
                f"{words}"
            )
        if status == 403:
            raise NoEndpoint(f"{self.url} is not for us; the broker's rules of access say who may: {words}")
        if status == 503:
            raise _Later(words)
        if status == 500:
            raise JournalError(f"{self.url}{path}: {words}")
        raise NoEndpoint(f"{self.url}{path} has answered {status}: {words}")


def _body(answer: http.client.HTTPResponse, most: int) -> bytes:
    """A whole body of `most` octets at most. Of a part of a file, and of what only people read, what comes of it."""
    is_all = answer.status == 200
    deadline = time.monotonic() + _ANSWER_SECONDS
    octets = bytearray()
    try:
        while len(octets) <= most:
            read = answer.read1(min(_READ_OCTETS, most + 1 - len(octets)))
            if not read:
                if answer.length:
                    raise http.client.IncompleteRead(b"", answer.length)
                return bytes(octets)
            octets += read
            if time.monotonic() > deadline:
                raise TimeoutError(f"an answer has taken longer than {_ANSWER_SECONDS:g} s")
    except (OSError, http.client.HTTPException):
        if is_all:
            raise
    if is_all:
        raise http.client.HTTPException(f"an answer has more than {most} octets")
    return bytes(octets)


def endpoint_of(url: str, patience: float | None, ca_file: str | None, certificate_file: str | None) -> Endpoint:
    """Raises `NoEndpoint` for what is no URL of one."""
    parts = urlsplit(url)
    if parts.scheme not in _CONNECTIONS or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise NoEndpoint(f"{url!r} is no URL of a broker's journal: http://HOST:7780/journal or https://...")
    try:
        parts.port  # noqa: B018  it raises
    except ValueError as error:
        raise NoEndpoint(f"{url!r}: {error}") from None
    if parts.path in ("", "/"):
        parts = parts._replace(path="/journal")
    return Endpoint(
        parts.geturl().rstrip("/"), **({} if patience is None else {"patience": patience}),
        ca_file=ca_file, certificate_file=certificate_file,
    )  # fmt: skip
