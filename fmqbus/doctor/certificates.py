"""Will TLS take the certificates, and for how long?"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fmqbus.doctor.findings import Finding, Patient, error, ok, warning
from fmqbus.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

#: So long before its end a certificate should be renewed; who renews by itself does it a month ahead.
SOON = timedelta(days=21)


def certificates(patient: Patient) -> Iterator[Finding]:
    """The files of each listener with TLS."""
    for place in patient.places:
        key = place.options.get("privateKey")
        if key is None:
            continue
        try:
            from fmqbus.transports.tls import CertificateFiles, ServerIdentity
        except ImportError as problem:
            yield error(str(place), f"TLS is not installed: {problem}", "pip install 'fmqbus[tls]'")
            return
        chain, authorities = (place.options.get(name) for name in ("extraCertChain", "clientCA"))
        files = CertificateFiles(
            private_key=Path(key),
            certificates=Path(place.options.get("certKey", key)),
            chain=Path(chain) if chain else None,
            client_authorities=Path(authorities) if authorities else None,
        )
        yield from _mode(files.private_key)
        try:
            ServerIdentity(files)
        except ConfigError as problem:
            yield error(
                str(place), str(problem), f"openssl x509 -in {files.certificates} -noout -text  shows what it is"
            )
            continue
        yield ok(str(place), "the certificate is for the key, and TLS takes both")
        for path in dict.fromkeys(filter(None, (files.certificates, files.chain, files.client_authorities))):
            yield from _dates(patient, path)


def _mode(path: Path) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return  # what reads it tells
    if mode & (stat.S_IWGRP | stat.S_IRWXO):
        yield warning(str(path), f"its mode is {mode:04o}, so others can read or change the key", f"chmod 600 {path}")


def _dates(patient: Patient, path: Path) -> Iterator[Finding]:
    from cryptography.x509 import load_pem_x509_certificates

    for certificate in load_pem_x509_certificates(path.read_bytes()):
        yield _date(patient, path, certificate)


def _date(patient: Patient, path: Path, certificate: Certificate) -> Finding:
    name = certificate.subject.rfc4514_string() or "the certificate"
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    renew = f"renew it, and send the bus SIGHUP; openssl x509 -in {path} -noout -dates  shows its dates"
    if patient.now < begin:
        return error(str(path), f"{name} is valid only from {begin:%Y-%m-%d %H:%M} UTC on", "date -u  shows the clock")
    if patient.now >= end:
        return error(str(path), f"{name} has expired on {end:%Y-%m-%d}", renew)
    if patient.now >= end - SOON:
        return warning(str(path), f"{name} expires on {end:%Y-%m-%d}, in {(end - patient.now).days} days", renew)
    return ok(str(path), f"{name} is valid until {end:%Y-%m-%d}")
