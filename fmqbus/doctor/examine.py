"""All examinations, in the order in which one would ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
from twisted.logger import Logger

from fmqbus.app.assembly import Bus, places_of
from fmqbus.app.config import Config, read_config
from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.doctor.certificates import certificates
from fmqbus.doctor.files import journal, policy, store, users
from fmqbus.doctor.findings import Examination, Finding, Patient, error, ok
from fmqbus.doctor.installation import java, open_files, plugins
from fmqbus.doctor.ports import ports, reach
from fmqbus.errors import ConfigError

#: By name. A part that has something to look at of its own has its place here.
EXAMINATIONS: Mapping[str, Examination] = {
    "plugins": plugins,
    "ports": ports,
    "access": reach,
    "certificates": certificates,
    "policy": policy,
    "users": users,
    "store": store,
    "journal": journal,
    "system": open_files,
    "java": java,
}

_log = Logger()


def examine(
    reactor: Any, path: Path | None, plugs: Plugs | None = None, now: datetime | None = None
) -> Iterator[tuple[str, Finding]]:
    """Yield the name of an examination with each of its findings, as it comes to them.

    The configuration is the first to be looked at: without one that can be read nothing else has a meaning. `reactor`
    is not run.
    """
    try:
        config = Config() if path is None else read_config(path)
    except ConfigError as problem:
        yield "configuration", error(str(path), str(problem), f"edit {path}; fmqbus config check {path}")
        return
    plugs = find_plugs() if plugs is None else plugs
    patient = Patient(path=path, config=config, plugs=plugs, now=now or datetime.now(UTC))
    subject = "the defaults" if path is None else str(path)
    try:
        patient = attrs.evolve(patient, places=places_of(config, plugs))
        bus = Bus(reactor, config, plugs)
    except ConfigError as problem:
        check = "fmqbus plugins" if path is None else f"fmqbus config check {path}"
        yield "configuration", error(subject, str(problem), f"mend that, then {check}")
    else:
        sockets = [listener.sockets for listener in bus.listeners]
        patient = attrs.evolve(patient, sockets=sockets, may_let_in=bus.access.may_let_in)
        yield "configuration", ok(subject, "a bus would start with it")
    for name, look in EXAMINATIONS.items():
        try:
            for finding in look(patient):
                yield name, finding
        except Exception as problem:
            _log.failure("the examination {name} has failed", name=name)
            yield name, error(name, f"the examination itself has failed: {problem!r}", "tell those who make fmqbus")
