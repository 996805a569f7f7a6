"""Pages are followed side by side: each of them mostly waits for programs to start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509 import DNSName

from tests.docs.reader import Reader
from tests.transports.certificates import issue

#: Whose readers have a certificate at hand.
_WITH_CERTIFICATE = frozenset({"docs/secure.md"})
#: Each page has a bus or two, and a command besides.
_MOST_AT_ONCE = 4


@pytest.fixture(scope="session")
def follow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], None]]:
    """Wait until a page has been followed to its end; raises what went wrong. All pages of this run are under way from
    the first time on; they are what tests have as their parameter `page`."""
    pages = [item.callspec.params["page"] for item in request.session.items if "follow" in item.fixturenames]  # type: ignore[attr-defined]
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_AT_ONCE)) as pool:
        under_way = {page: pool.submit(_follow, page, tmp_path_factory.mktemp(Path(page).stem)) for page in pages}
        yield lambda page: under_way[page].result()
        for each in under_way.values():
            each.cancel()


def _follow(page: str, folder: Path) -> None:
    if page in _WITH_CERTIFICATE:
        authority = issue("authority")
        certificate = issue("localhost", authority, [DNSName("localhost")], valid=timedelta(days=365))
        (folder / "tls.key").write_bytes(certificate.key_pem)
        (folder / "tls.crt").write_bytes(certificate.certificate_pem)
        (folder / "ca.pem").write_bytes(authority.certificate_pem)
    with Reader(page, folder) as reader:
        reader.read()
