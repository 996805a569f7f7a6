"""Can an operator do what the pages for operators say? They are followed to the letter."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509 import DNSName

from tests.docs.reader import Reader
from tests.transports.certificates import issue


@pytest.mark.parametrize("page", ["operate", "plugs", "secure"])
def test_what_the_page_shows_can_be_done(page: str, tmp_path: Path) -> None:
    """In its order, on a bus of its own, where a certificate is at hand."""
    authority = issue("authority")
    certificate = issue("localhost", authority, [DNSName("localhost")], valid=timedelta(days=365))
    (tmp_path / "tls.key").write_bytes(certificate.key_pem)
    (tmp_path / "tls.crt").write_bytes(certificate.certificate_pem)
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    with Reader(f"docs/{page}.md", tmp_path) as reader:
        reader.read()
