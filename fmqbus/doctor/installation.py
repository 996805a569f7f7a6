"""Is what is installed here in order: parts, Java, and what the system allows a process?"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from importlib.util import find_spec

from fmqbus.doctor.findings import Finding, Patient, error, ok, warning
from fmqbus.pipeline.java import JavaMissing, find_java

#: Files that a bus has open beside its connections.
_OTHER_FILES = 64


def plugins(patient: Patient) -> Iterator[Finding]:
    """Parts that are installed and cannot be used."""
    for reject in patient.plugs.rejected:
        yield error(reject.name, f"of {reject.origin} is left out: {reject.reason}", "fmqbus plugins  lists all parts")
    yield ok("plugins", f"{len(patient.plugs.found)} parts can be used")


def open_files(patient: Patient) -> Iterator[Finding]:
    """Whether the system lets a process have as many connections as the bus would."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = patient.config.limits.connections
    wanted = connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        yield warning(
            "open files",
            f"a process may have {soft:,}, and limits.connections is {connections:,}",
            f"ulimit -n {wanted}, or LimitNOFILE={wanted} in the unit of systemd, or a lower limits.connections",
        )
    else:
        yield ok("open files", "the system allows as many as limits.connections asks for")


def java(patient: Patient) -> Iterator[Finding]:
    """What the pipeline runs on, if that is installed."""
    if find_spec("pyspark") is None:
        yield ok("java", "is not needed: the pipeline is not installed")
        return
    try:
        yield ok("java", f"the pipeline runs on {find_java()}")
    except JavaMissing as problem:
        text, _, cure = str(problem).rpartition(": ")
        yield error("java", text, cure)
