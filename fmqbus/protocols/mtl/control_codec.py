"""What do requests and replies look like? (MTL, Control Flow)

A request is an empty part, which a REQ socket adds, a command's name and an object in JSON; a reply is an empty part,
three digits and an object. Frames that are missing or too many, and what is no JSON, are ill-formed; anything else that
is wrong is invalid (`fmqbus.protocols.mtl.statuses`).
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from fmqbus.errors import PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    DataLease,
    Done,
    Failed,
    Flow,
    Open,
    Profile,
    Reader,
    Ready,
    Reply,
    Request,
    Unauthorized,
    Writer,
)
from fmqbus.protocols.mtl.short_strings import LONGEST, check_short_string
from fmqbus.protocols.mtl.statuses import Declined, Status, read_code

PROTOCOL_NAME = "MTL"
VERSION = 1

PARTS = 3


def decode_request(parts: Sequence[bytes], limits: Limits) -> Request:
    """Read what a client asks for.

    Raises `PeerError` with reason ``parts`` or ``json`` for what is ill-formed, and `Declined` for what is invalid: 501
    with reason ``command`` or ``version`` for what a later broker may know, else 400 with reason ``size``, ``members``
    (no object, or another than the command has), ``protocol``, ``base64``, ``text`` or ``resources``.
    """
    name, body = _named_body(parts)
    if len(body) > limits.control_octets:
        # nobody looks whether it is JSON; but a client that was told nothing would wait for good
        raise _bad(f"{len(body)} octets, at most {limits.control_octets}", "size")
    members = _object(body)
    read = _READERS.get(name.lower())
    if read is None:
        raise Declined(Status.NOT_IMPLEMENTED, f"command {name[:40]!r}", "command")
    return read(members, limits)


def encode_request(request: Request) -> list[bytes]:
    """The parts of a request, with the empty one."""
    match request:
        case Open(virtual_host):
            members: Mapping[str, Any] = {
                "protocol": {"name": PROTOCOL_NAME, "version": VERSION},
                "virtual-host": virtual_host,
            }
        case Authorize(mechanism, response):
            members = {"mechanism": mechanism, "response": _to_base64(response)}
        case Profile(profile):
            members = {"profile": profile}
        case Flow(resources, is_confirmed):
            members = {
                "resources": [resource.decode() for resource in resources],
                "confirm": "full" if is_confirmed else "none",
            }
            if isinstance(request, Reader) and request.window:
                members = {**members, "window": request.window}
        case _:
            raise AssertionError("a request of a kind that is none")
    return [b"", request.command.encode(), msgspec.json.encode(members)]


def decode_reply(parts: Sequence[bytes], limits: Limits) -> Reply:
    """Read what a broker answers; any code that may be is borne. Raises `PeerError` with reason ``parts``, ``json``,
    ``code``, ``size``, ``members`` or ``base64``."""
    digits, body = _named_body(parts)
    if len(body) > limits.control_octets:
        raise PeerError(f"{len(body)} octets, at most {limits.control_octets}", "size")
    code = read_code(digits)
    members = _object(body)
    match code:
        case Status.OK.value:
            return Done()
        case Status.READY.value:
            return Ready(_convert(members, _ReadyMembers).profiles)
        case Status.DATA_LEASE.value:
            granted = _convert(members, _DataLeaseMembers)
            return DataLease(granted.port, _short_string(granted.lease))
        case Status.UNAUTHORIZED.value:
            return Unauthorized(_convert(members, _UnauthorizedMembers).mechanisms)
        case Status.CHALLENGED.value:
            challenged = _convert(members, _ChallengedMembers)
            return Challenged(challenged.mechanism, _from_base64(challenged.challenge))
    return Failed(code, _convert(members, _FailedMembers).status)


def encode_reply(reply: Reply) -> list[bytes]:
    """The parts of a reply, with the empty one. The body always has ``status`` (reading 9)."""
    members: dict[str, Any]
    match reply:
        case Failed(code, text):
            return _reply(code, {"status": text})
        case Ready(profiles):
            status, members = Status.READY, {"profiles": profiles}
        case DataLease(port, lease):
            status, members = Status.DATA_LEASE, {"port": port, "lease": lease.decode()}
        case Unauthorized(mechanisms):
            status, members = Status.UNAUTHORIZED, {"mechanisms": mechanisms}
        case Challenged(mechanism, challenge):
            status, members = Status.CHALLENGED, {"mechanism": mechanism, "challenge": _to_base64(challenge)}
        case _:
            status, members = Status.OK, {}
    return _reply(status.value, {"status": status.text, **members})


def _reply(code: int, members: Mapping[str, Any]) -> list[bytes]:
    return [b"", b"%d" % code, msgspec.json.encode(members)]


# requests


class _Protocol(msgspec.Struct):
    name: str = ""
    version: int = 0


class _OpenMembers(msgspec.Struct, rename="kebab"):
    protocol: _Protocol = msgspec.field(default_factory=_Protocol)
    virtual_host: str = ""


class _AuthorizeMembers(msgspec.Struct):
    mechanism: str
    response: str = ""


class _ProfileMembers(msgspec.Struct):
    profile: str


class _FlowMembers(msgspec.Struct):
    """Both may be missing (reading 21)."""

    resources: tuple[str, ...] = ()
    confirm: Literal["none", "full"] = "none"


class _ReaderMembers(_FlowMembers):
    window: Annotated[int, msgspec.Meta(ge=0)] = 0


def _open(members: object, limits: Limits) -> Open:
    said = _convert(members, _OpenMembers)
    if said.protocol.name != PROTOCOL_NAME:
        raise _bad(f"protocol {said.protocol.name[:40]!r}", "protocol")
    if said.protocol.version > VERSION:
        raise Declined(Status.NOT_IMPLEMENTED, "a later version", "version")
    if said.protocol.version != VERSION:
        raise _bad("no version, or one that never was", "protocol")
    return Open(said.virtual_host)


def _authorize(members: object, limits: Limits) -> Authorize:
    said = _convert(members, _AuthorizeMembers)
    return Authorize(said.mechanism, _from_base64(said.response))


def _profile(members: object, limits: Limits) -> Profile:
    return Profile(_convert(members, _ProfileMembers).profile.lower())


def _reader(members: object, limits: Limits) -> Reader:
    said = _convert(members, _ReaderMembers)
    return Reader(_resources(said, limits), said.confirm == "full", said.window)


def _writer(members: object, limits: Limits) -> Writer:
    said = _convert(members, _FlowMembers)
    return Writer(_resources(said, limits), said.confirm == "full")


def _resources(said: _FlowMembers, limits: Limits) -> tuple[bytes, ...]:
    resources = dict.fromkeys(said.resources)
    if len(resources) > limits.resources_per_lease:
        raise _bad(f"{len(resources)} resources, at most {limits.resources_per_lease}", "resources")
    if "" in resources:
        raise _bad("a resource without a name", "resources")
    return tuple(map(_short_string, resources))


#: By their names in lower case. Nothing else is looked up by what a peer says.
_READERS: Mapping[bytes, Callable[[object, Limits], Request]] = {
    Open.command.lower().encode(): _open,
    Authorize.command.lower().encode(): _authorize,
    Profile.command.lower().encode(): _profile,
    Reader.command.lower().encode(): _reader,
    Writer.command.lower().encode(): _writer,
}


# replies


class _ReadyMembers(msgspec.Struct):
    profiles: tuple[str, ...] = ()


class _DataLeaseMembers(msgspec.Struct):
    port: int
    lease: str


class _UnauthorizedMembers(msgspec.Struct):
    mechanisms: tuple[str, ...] = ()


class _ChallengedMembers(msgspec.Struct):
    mechanism: str
    challenge: str = ""


class _FailedMembers(msgspec.Struct):
    status: str = ""


# both


def _bad(detail: str, reason: str) -> Declined:
    return Declined(Status.BAD_REQUEST, detail, reason)


def _named_body(parts: Sequence[bytes]) -> tuple[bytes, bytes]:
    if len(parts) != PARTS or parts[0]:
        raise PeerError(f"{len(parts)} parts, {PARTS} with an empty first one are expected", "parts")
    return parts[1], parts[2]


def _object(body: bytes) -> object:
    """What may or may not be an object. Numbers that we have no place for are JSON all the same."""
    try:
        return msgspec.json.decode(body)
    except msgspec.ValidationError as error:
        raise _bad(str(error), "members") from None
    except (ValueError, RecursionError) as error:
        raise PeerError(f"no JSON: {error}", "json") from None


_Members = TypeVar("_Members")


def _convert(members: object, kind: type[_Members]) -> _Members:
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError as error:
        raise _bad(str(error), "members") from None


def _short_string(text: str) -> bytes:
    octets = text.encode()
    if len(octets) > LONGEST:
        raise _bad(f"{len(octets)} octets, at most {LONGEST}", "text")
    try:
        return check_short_string(octets)
    except PeerError as error:
        raise _bad(str(error), error.reason) from None


def _to_base64(octets: bytes) -> str:
    return binascii.b2a_base64(octets, newline=False).decode()


def _from_base64(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise _bad(f"no BASE64: {error}", "base64") from None
