"""MTL's messages: parts to what they say, whichever flow they belong to. (MTL, Control Flow; Data Command Encoding)

Both flows may share a socket. Then the parts tell them apart: what begins with an empty part belongs to the control
flow, for the header of a data command is never empty (reading 25). Identities are the carrier's, and not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus.limits import Limits
from fmqbus.protocols.mtl.commands import Command, Reply, Request
from fmqbus.protocols.mtl.control_codec import decode_reply, decode_request, encode_reply, encode_request
from fmqbus.protocols.mtl.data_codec import decode_command, encode_command


def is_control(parts: Sequence[bytes]) -> bool:
    """Whether a message belongs to the control flow, well-formed or not."""
    return bool(parts) and not parts[0]


def decode(parts: Sequence[bytes], limits: Limits) -> Request | Command:
    """Read what a client says. Raises `PeerError` for what is to be dropped, and `Declined` for what is to be answered;
    only on the control flow is there something to answer that was not read. Reasons as in `decode_request` and
    `decode_command`."""
    return decode_request(parts, limits) if is_control(parts) else decode_command(parts, limits)


def decode_from_broker(parts: Sequence[bytes], limits: Limits) -> Reply | Command:
    """The same for a client that has one socket for both flows. Raises `PeerError`, which nobody answers."""
    return decode_reply(parts, limits) if is_control(parts) else decode_command(parts, limits)


def encode(said: Request | Reply | Command) -> list[bytes]:
    """The parts of anything that can be said. Raises `LocalError` for a command whose fields have no place in it."""
    match said:
        case Command():
            return encode_command(said)
        case Reply():
            return encode_reply(said)
    return encode_request(said)
