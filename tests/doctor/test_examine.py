"""Which examinations there are, and that none of them hides another or changes anything."""

from __future__ import annotations

import resource
from pathlib import Path

import attrs
import pytest
from twisted.logger import capturedLogs

from fmqbus.app.plugs import Reject
from fmqbus.doctor import examine as module
from fmqbus.doctor import installation
from fmqbus.doctor.findings import Severity
from tests.doctor.patients import PLUGS, findings, problems, written


def test_without_a_configuration_the_defaults_are_looked_at() -> None:
    """As a bus has them that is told nothing."""
    found = list(findings(None))
    assert found[0][1].subject == "the defaults"
    places = [finding.subject for name, finding in found if name == "ports"]
    assert any(place.startswith("fmqp:tcp:7700") for place in places)
    assert sum(place.startswith("emqp:zmq") for place in places) == 5
    assert not any(place.startswith("http") for place in places)


def test_a_file_that_cannot_be_read_is_all_that_is_told(tmp_path: Path) -> None:
    """With the line, as `fmqbus config check` tells it."""
    path = written(tmp_path, "[limits]\nconections = 3")
    ((name, finding),) = findings(path)
    assert (name, finding.severity) == ("configuration", Severity.ERROR)
    assert "line 2: limits.conections" in finding.text
    assert finding.cure.endswith(f"fmqbus config check {path}")


def test_what_a_bus_would_not_start_with_is_told_beside_all_else(tmp_path: Path) -> None:
    """One mistake hides no other."""
    text = 'listen = ["fmqp:tcp:0", "emqp:zmq"]\nretained_store = "papyrus"\n[users]\nfile = "/nowhere/users.json"'
    told = list(findings(written(tmp_path, text)))
    assert [finding.subject for name, finding in told if name == "ports"] == ["fmqp:tcp:0"]
    found = {name: finding for name, finding in told if finding.severity is Severity.ERROR}
    assert "'papyrus'" in found["configuration"].text or "users" in found["configuration"].text
    assert "cannot be read" in found["users"].text


def test_a_part_that_is_left_out_is_told() -> None:
    """With where it is from, and why."""
    plugs = attrs.evolve(PLUGS, rejected=(Reject("notice", "acme 1.0", "ImportError: no module"),))
    (finding,) = (one for name, one in findings(None, plugs) if name == "plugins" and one.severity is Severity.ERROR)
    assert (finding.subject, finding.text) == ("notice", "of acme 1.0 is left out: ImportError: no module")


def test_an_examination_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a finding itself."""

    def broken(patient: object) -> object:
        raise ZeroDivisionError

    examinations = {"broken": broken, **module.EXAMINATIONS}
    monkeypatch.setattr(module, "EXAMINATIONS", examinations)
    with capturedLogs() as logs:
        found = dict(findings(None))
    assert found["broken"].severity is Severity.ERROR
    assert found["java"]
    assert any("broken" in str(log.get("name")) for log in logs)


def test_each_problem_says_what_to_do_about_it(tmp_path: Path) -> None:
    """And what is well says nothing."""
    text = 'listen = ["fmqp:tcp:1", "fmqp:unix:/nowhere/x"]\n[users]\nfile = "/nowhere/users.json"'
    for _, finding in findings(written(tmp_path, text)):
        assert bool(finding.cure) == (finding.severity is not Severity.OK)


def test_a_system_that_allows_fewer_files_than_connections_is_told(tmp_path: Path) -> None:
    """With the number that it takes."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert problems(tmp_path, "[limits]\nconnections = 10\n", "system") == []
    (finding,) = problems(tmp_path, f"[limits]\nconnections = {soft}\n", "system")
    assert f"ulimit -n {soft + 64}" in finding.cure


JAVA = "#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n"


@pytest.mark.parametrize(
    ("version", "severity", "words"),
    [
        ("17.0.9", Severity.OK, "runs on"),
        ("21", Severity.OK, "runs on"),
        ("1.8.0_392", Severity.ERROR, "is Java 8"),
        ("11.0.2", Severity.ERROR, "is Java 11"),
        ("nonsense", Severity.ERROR, "does not say"),
        (None, Severity.ERROR, "there is none"),
    ],
)
def test_java_is_looked_for_where_the_pipeline_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, severity: Severity, words: str
) -> None:
    """The one that it would use."""
    monkeypatch.setattr(installation, "find_spec", lambda name: object())
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if version is not None:
        java = tmp_path / "java"
        java.write_text(JAVA.format(version=version))
        java.chmod(0o755)
    (finding,) = (one for name, one in findings(None) if name == "java")
    assert finding.severity is severity
    assert words in finding.text


def test_without_the_pipeline_no_java_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run."""
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    (finding,) = (one for name, one in findings(None) if name == "java")
    assert (finding.severity, finding.text) == (Severity.OK, "is not needed: the pipeline is not installed")
