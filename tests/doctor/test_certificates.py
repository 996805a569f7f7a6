"""Will TLS take the certificates, and for how long?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fmqbus.doctor.certificates import SOON
from fmqbus.doctor.findings import Severity
from tests.doctor.patients import findings, problems, written
from tests.transports.certificates import issue


@pytest.fixture
def text(tmp_path: Path) -> str:
    """A configuration with one listener for TLS, whose files are in order."""
    key, certificate = issue("bus", valid=timedelta(days=365)).write(tmp_path)
    key.chmod(0o600)
    return f'listen = ["fmqp:ssl:0:privateKey={key}:certKey={certificate}"]'


def last_day(folder: Path) -> datetime:
    """When the certificate in this folder ends."""
    from cryptography.x509 import load_pem_x509_certificate

    return load_pem_x509_certificate((folder / "certificate.pem").read_bytes()).not_valid_after_utc


def test_files_in_order_are_well(tmp_path: Path, text: str) -> None:
    """That they fit, and until when."""
    now = datetime.now(UTC)
    found = [one for name, one in findings(written(tmp_path, text), now=now) if name == "certificates"]
    assert [one.severity for one in found] == [Severity.OK] * 2
    assert f"is valid until {last_day(tmp_path):%Y-%m-%d}" in found[1].text


def test_an_end_that_is_near_is_told_and_one_that_has_come_is_an_error(tmp_path: Path, text: str) -> None:
    """By the clock, to the second."""
    end = last_day(tmp_path)
    assert problems(tmp_path, text, "certificates", end - SOON - timedelta(seconds=1)) == []
    (finding,) = problems(tmp_path, text, "certificates", end - timedelta(days=3))
    assert finding.severity is Severity.WARNING
    assert "in 3 days" in finding.text
    (finding,) = problems(tmp_path, text, "certificates", end)
    assert finding.severity is Severity.ERROR
    assert "has expired on" in finding.text
    assert "openssl x509" in finding.cure


def test_one_that_is_not_yet_valid_is_an_error(tmp_path: Path, text: str) -> None:
    """Often it is the clock that is wrong."""
    (finding,) = problems(tmp_path, text, "certificates", datetime(2001, 1, 1, tzinfo=UTC))
    assert finding.severity is Severity.ERROR
    assert "only from" in finding.text


def test_a_key_that_others_can_read_is_told(tmp_path: Path, text: str) -> None:
    """With the command."""
    key = tmp_path / "key.pem"
    key.chmod(0o644)
    (finding,) = problems(tmp_path, text, "certificates", datetime.now(UTC))
    assert finding.cure == f"chmod 600 {key}"
    key.chmod(0o640)
    assert problems(tmp_path, text, "certificates", datetime.now(UTC)) == [], "a group may"


@pytest.mark.parametrize("damage", ["another key", "no key", "nonsense"])
def test_files_that_do_not_fit_are_told(tmp_path: Path, text: str, damage: str) -> None:
    """By name, beside the configuration, with which a bus would not start."""
    key = tmp_path / "key.pem"
    if damage == "another key":
        key.write_bytes(issue("other").key_pem)
    elif damage == "no key":
        key.unlink()
    else:
        key.write_text("nonsense")
    (finding,) = problems(tmp_path, text, "certificates")
    assert finding.severity is Severity.ERROR
    assert str(tmp_path) in finding.text
    (finding,) = problems(tmp_path, text, "configuration")
    assert finding.severity is Severity.ERROR


def test_one_below_a_proxy_is_found_too(tmp_path: Path, text: str) -> None:
    """And the authority of its clients, whose end is everybody's."""
    _, certificate = issue("bus").write(tmp_path)
    behind = text.replace("fmqp:ssl:0", "fmqp:haproxy:ssl:0:trust=127.0.0.1").replace(
        '"]', f':clientCA={certificate}"]'
    )
    (tmp_path / "key.pem").chmod(0o600)
    found = problems(tmp_path, behind, "certificates", last_day(tmp_path))
    assert [one.severity for one in found] == [Severity.ERROR]
