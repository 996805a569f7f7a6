"""UMQ text messages: octets to commands and back. No I/O, no state. (UMQ, Text format)

A message is ``[A count :] letter id : payload``; count and id are numbers in base 36. Binary messages are attachments
and have no form of their own. Which carrier brings messages does not matter here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fmqbus.errors import PeerError

#: Codes of the commands F and E that this broker uses (readings 20, 23, 28).
REFUSED = 1
UNKNOWN_CALLBACK = 2
PROTOCOL_ERROR = 3
UNKNOWN_COMMAND = 4
VERSION_UNKNOWN = 5
UNKNOWN_METHOD = 7
UNAVAILABLE = 8

#: The command letters (UMQ, Commands).
ATTACHMENT_ERROR, HELLO, WELCOME, FATAL = b"-", b"H", b"W", b"F"
CALL, CALLBACK, RESULT, EXCEPTION = b"C", b"B", b"R", b"E"
TOPIC_UPDATE, TOPIC_CLOSE, UNSUBSCRIBE = b"T", b"D", b"U"
SET_ATTRIBUTE, UNSET_ATTRIBUTE = b"S", b"X"

COMMANDS = frozenset(
    (
        ATTACHMENT_ERROR,
        HELLO,
        WELCOME,
        FATAL,
        CALL,
        CALLBACK,
        RESULT,
        EXCEPTION,
        TOPIC_UPDATE,
        TOPIC_CLOSE,
        UNSUBSCRIBE,
        SET_ATTRIBUTE,
        UNSET_ATTRIBUTE,
    )
)
#: What a later peer of the specification's author sends for some exceptions; we never do (reading 22).
_OTHER_EXCEPTION = b"!"
#: Those that cannot have attachments (reading 10).
_BARE = frozenset((ATTACHMENT_ERROR, FATAL, EXCEPTION, TOPIC_CLOSE, UNSUBSCRIBE, UNSET_ATTRIBUTE))

_HEADER = re.compile(rb"(?:A([0-9A-Z]*):)?(.)([0-9A-Z]*):", re.DOTALL)
_CALLBACK = re.compile(rb"([0-9A-Z]*):")
_ID = re.compile(rb"[0-9A-Z]+")
#: Enough for 64 bits (reading 2); what is longer is not even converted.
_MOST_DIGITS = 13
_MOST_ID = 2**64 - 1
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Numbers are written two digits at a time, as each message to each subscriber has one.
_LAST_PAIRS = [(first + second).encode() for first in _DIGITS for second in _DIGITS]
_FIRST_PAIRS = [pair.lstrip(b"0") or b"0" for pair in _LAST_PAIRS]


class Fault(PeerError):
    """The other side said what ends the conversation; `code` is that of the F that tells it."""

    reason = "protocol"

    def __init__(self, detail: str, code: int = PROTOCOL_ERROR, reason: str = "") -> None:
        super().__init__(detail, reason)
        self.code = code


class Command(NamedTuple):
    """One text message."""

    letter: bytes
    id: int
    payload: bytes
    #: How many attachments it announces.
    attachments: int


def decode(text: bytes, most_attachments: int) -> Command:
    """Read a text message. Raises `Fault`."""
    header = _HEADER.match(text)
    if header is None:
        raise Fault("this is no command")
    count, letter, number = header.groups()
    attachments = decode_id(count) if count else 0
    if letter == _OTHER_EXCEPTION:
        letter = EXCEPTION
    if letter not in COMMANDS:
        # A within A is no command either (reading 9)
        raise Fault("unknown command", PROTOCOL_ERROR if letter == b"A" else UNKNOWN_COMMAND)
    if attachments:
        if letter in _BARE:
            raise Fault(f"{letter.decode()} cannot have attachments")
        if attachments > most_attachments:
            raise Fault("too many attachments", reason="attachments")
    return Command(letter, decode_id(number), text[header.end() :], attachments)


def encode(letter: bytes, id: int, payload: bytes = b"", attachments: int = 0) -> bytes:
    """Write a text message; an id of 0 is written as none (reading 1)."""
    number = encode_id(id) if id else b""
    if attachments:
        return b"A%b:%b%b:%b" % (encode_id(attachments), letter, number, payload)
    return letter + number + b":" + payload


def encode_fatal(code: int, text: str) -> bytes:
    """Write the last message of a conversation."""
    return b"F0:" + _with_code(code, text)


def encode_exception(id: int, code: int, text: str) -> bytes:
    """Write that a call has failed."""
    return encode(EXCEPTION, id, _with_code(code, text))


def decode_callback(payload: bytes) -> tuple[int, bytes]:
    """Read the id and the argument in the payload of a B. Raises `Fault` (reading 28)."""
    header = _CALLBACK.match(payload)
    if header is None:
        raise Fault("a callback has no id")
    return decode_id(header[1]), payload[header.end() :]


def decode_code(payload: bytes) -> tuple[int, str]:
    """Read ``CODE TEXT`` of an F or an E; the code is 0 where there is none (reading 27)."""
    code, _, text = payload.partition(b" ")
    if code.isdigit() and len(code) <= _MOST_DIGITS:
        return int(code), text.decode("utf-8", "replace")
    return 0, payload.decode("utf-8", "replace")


def encode_id(id: int) -> bytes:
    """Write a number in base 36."""
    digits = b""
    while id >= 1296:
        id, pair = divmod(id, 1296)
        digits = _LAST_PAIRS[pair] + digits
    return _FIRST_PAIRS[id] + digits


def decode_id(digits: bytes) -> int:
    """Read a number in base 36, of capital letters and digits only; nothing is 0. Raises `Fault` beyond 64 bits."""
    if len(digits) > _MOST_DIGITS:
        digits = digits.lstrip(b"0")
        if len(digits) > _MOST_DIGITS:
            raise Fault("a number is too large")
    number = int(digits, 36) if digits else 0
    if number > _MOST_ID:
        raise Fault("a number is too large")
    return number


def parse_id(text: str) -> int:
    """Read an id that came within a payload. Raises `PeerError`."""
    digits = text.encode("utf-8", "replace")
    if not _ID.fullmatch(digits):
        raise PeerError(f"{text[:20]!r} is no id", "arguments")
    return decode_id(digits)


def _with_code(code: int, text: str) -> bytes:
    return f"{code} {text}".encode("utf-8", "replace")
