"""Could a bus listen where it is to?"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path

from fmqbus.app.reach import is_loopback
from fmqbus.doctor.findings import Finding, Patient, error, ok, warning
from fmqbus.doctor.port_owner import owner_of
from fmqbus.model import SocketPlan
from fmqbus.transports.listen_string import ListenString
from fmqbus.transports.zeromq.places import places_of

#: Kinds of endpoint that are known here, and where each listens if nothing is said.
_INTERNET = {"tcp": "127.0.0.1", "tcp6": "::1", "ssl": "127.0.0.1", "tls": "::1"}
#: Kinds that stand before another one, which their first argument names.
_BEFORE_OTHERS = frozenset({"haproxy", "units"})
#: What a path of a UNIX socket has room for (unix(7)).
_MOST_PATH_OCTETS = 107


def ports(patient: Patient) -> Iterator[Finding]:
    """Each place where the bus would listen. Of ZeroMQ's none is looked at where the configuration cannot be used: what
    sockets a protocol has is then not known."""
    taken: dict[tuple[str, int], str] = {}
    for place, plans in zip_longest(patient.places, patient.sockets or ()):
        kind, arguments = bottom_of(place)
        if kind == "unix":
            yield _unix_socket(place, Path(place.options.get("path") or arguments[0]))
        elif kind == "zmq" or kind in _INTERNET:
            interface = place.options.get("interface", _INTERNET.get(kind, "127.0.0.1"))
            for port in _zeromq_ports(place, plans or ()) if kind == "zmq" else [_port(place, arguments)]:
                other = taken.setdefault((interface, port), str(place)) if port else str(place)
                subject = f"{place} port {port}" if kind == "zmq" else str(place)
                if other != str(place):
                    yield error(subject, f"the port is also that of {other}", "give one of them another port")
                else:
                    yield _internet(subject, interface, port)
        else:
            yield ok(str(place), "is of a kind that cannot be looked at from here")


def bottom_of(place: ListenString) -> tuple[str, Sequence[str]]:
    """The kind of endpoint that listens in the end, and its arguments."""
    kind, arguments = place.prefix, list(place.arguments)
    while kind in _BEFORE_OTHERS and arguments:
        kind, *arguments = arguments
    return kind, arguments


def reach(patient: Patient) -> Iterator[Finding]:
    """Whether others can come who are let do nothing."""
    if patient.may_let_in:
        return
    for place in patient.places:
        kind, _ = bottom_of(place)
        if kind != "unix" and not is_loopback(place.options.get("interface", "127.0.0.1")):
            yield warning(
                str(place),
                "can be reached from other machines, but no rule allows them anything",
                "write [[access.rules]] for them, or listen at 127.0.0.1",
            )


def _port(place: ListenString, arguments: Sequence[str]) -> int:
    return int(place.options.get("port") or arguments[0])


def _zeromq_ports(place: ListenString, plans: Sequence[SocketPlan]) -> Sequence[int]:
    first = int(place.arguments[0]) if place.arguments else None
    named = {plan.name: int(place.options[plan.name]) for plan in plans if plan.name in place.options}
    return [one.port for one in places_of(plans, first, named)]


def _internet(subject: str, interface: str, port: int) -> Finding:
    if port == 0:
        return ok(subject, "takes any free port")
    family = socket.AF_INET6 if ":" in interface else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Twisted does
            probe.bind((interface, port))
            probe.listen(1)
    except OSError as problem:
        return _cannot_bind(subject, interface, port, problem)
    return ok(subject, "is free")


def _cannot_bind(subject: str, interface: str, port: int, problem: OSError) -> Finding:
    if problem.errno == errno.EADDRINUSE:
        owner = owner_of(port)
        if owner is None:
            return error(subject, "is in use", f"sudo ss -tanp 'sport = :{port}' shows by whom")
        pid, command = owner
        if "fmqbus" in command or "twistd" in command:
            return warning(
                subject, f"is in use by a bus that runs, process {pid}", f"none if that is meant; kill {pid}"
            )
        return error(subject, f"is in use by process {pid}: {command}", f"kill {pid}, or listen elsewhere")
    if problem.errno in (errno.EACCES, errno.EPERM):
        return error(
            subject,
            "may not be opened by this user",
            "take a port from 1024 on, or a socket from systemd, or start twistd as root with --uid",
        )
    if problem.errno == errno.EADDRNOTAVAIL:
        return error(subject, f"this machine has no address {interface}", "ip address  shows those that it has")
    return error(subject, f"cannot be opened: {problem.strerror or problem}", "mend the listen string")


def _unix_socket(place: ListenString, path: Path) -> Finding:
    subject = str(place)
    folder = path.parent
    if len(os.fsencode(path)) > _MOST_PATH_OCTETS:
        return error(subject, f"its path has more than {_MOST_PATH_OCTETS} octets", "choose a shorter one")
    if not folder.is_dir():
        return error(subject, f"there is no folder {folder}", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        return error(subject, f"this user may not write in {folder}", "chown the folder, or start the bus as its owner")
    if not path.exists():
        return ok(subject, "is free")
    if not path.is_socket():
        return error(subject, "there is a file that is no socket", f"mv {path} {path}.old")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        with suppress(OSError):
            probe.connect(str(path))
            return warning(subject, "somebody listens there already", "none if that is a bus that is meant")
    return ok(subject, "was left by a process that is no more, and will be replaced")
