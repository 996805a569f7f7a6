"""The command line says what it wants, and what went wrong; without Spark but for one run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fmqbus.pipeline.asked import Asked
from fmqbus.pipeline.failing import sentence_in
from fmqbus.pipeline.main import main
from fmqbus.pipeline.moments import milliseconds, moment
from fmqbus.pipeline.streaming import progress_line, trigger_of
from fmqbus.pipeline.telling import cell

NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("yesterday", "2026-11-27T00:00:00+00:00"),
        ("today", "2026-11-28T00:00:00+00:00"),
        ("90m", "2026-11-28T08:00:00+00:00"),
        ("2026-11-01", "2026-11-01T00:00:00+00:00"),
        ("2026-11-01T12:00+02:00", "2026-11-01T10:00:00+00:00"),
    ],
)
def test_times_are_written_as_operators_do(text: str, when: str) -> None:
    """In UTC, unless said otherwise."""
    assert moment(text, NOW).astimezone(UTC).isoformat() == when


def test_what_is_no_time_is_told() -> None:
    """With what would be one."""
    with pytest.raises(click.BadParameter, match="'soon' is no time"):
        moment("soon", NOW)


def test_a_time_between_two_milliseconds_begins_at_the_next() -> None:
    """Nothing from before is read."""
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 500, tzinfo=UTC)) == "1001"
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == "1000"


@pytest.mark.parametrize("source", ["/var/lib/journal", "file:///var/lib/journal", "hdfs://h/x"])
def test_a_journal_is_a_folder_or_the_url_of_a_broker(source: str) -> None:
    """Which of both, its beginning tells."""

    def options(source: str, *files: str) -> Mapping[str, str]:
        return Asked(source, None, None, None, None, True, None, {}, None, *files).options

    usual = {"includeMetadata": "true", "failOnDataLoss": "true"}
    assert options(source) == {"path": source, **usual}
    assert options("http://h:7780/journal") == {"url": "http://h:7780/journal", **usual}
    files = {"urlCaFile": "ca.pem", "urlCertificateFile": "mine.pem"}
    assert options("https://h/journal", *files.values()) == {"url": "https://h/journal", **files, **usual}


def test_every_command_explains_itself() -> None:
    """Without starting Java; sealing comes with the journal."""
    run = CliRunner().invoke
    listed = run(main, ["--help"])
    assert listed.exit_code == 0
    for name in ("traffic", "demand", "jobs", "delivery", "slow", "sessions", "compact", "export", "report"):
        assert name in listed.output
        helped = run(main, [name, "--help"])
        assert helped.exit_code == 0, helped.output
        assert "JOURNAL" in helped.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["traffic"], "Missing argument 'JOURNAL'"),
        (["traffic", "/j", "--since", "soon"], "'soon' is no time"),
        (["traffic", "/j", "--stream"], "a stream needs --checkpoint"),
        (["traffic", "/j", "--stream", "--checkpoint", "c", "--trigger", "often"], "'often' is neither available-now"),
        (["traffic", "/j", "--conf", "x"], "'x' is not NAME=VALUE"),
        (["delivery", "/j", "--stuck", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], words: str) -> None:
    """Before Spark is started."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_missing_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no trace of Python's or of Java's."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["traffic", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: there is no Java in JAVA_HOME ({tmp_path}): ")
    assert result.output.count("\n") == 1


def test_our_own_sentence_is_found_in_what_spark_says() -> None:
    """Of a hundred lines of Java, one is of use."""
    text = "An error occurred\n  File x\nfmqbus.pipeline.reading.DataLost: 5 rows are lost\n\tat org.apache.spark"
    assert sentence_in(text) == "5 rows are lost"
    assert sentence_in("An exception was thrown\n  File x\nKeyError: 'a'\n\tat org") == "KeyError: 'a'"
    assert sentence_in("[TABLE_NOT_FOUND] there is none\n\tat org") == "[TABLE_NOT_FOUND] there is none"


def test_triggers_are_those_of_spark() -> None:
    """And one word for what is there now."""
    assert trigger_of("available-now") == {"availableNow": True}
    assert trigger_of("10 seconds") == {"processingTime": "10 seconds"}


def test_progress_is_one_line() -> None:
    """With what came too late, if anything did."""
    told = {"batchId": 3, "numInputRows": 5000, "processedRowsPerSecond": 1234.5}
    assert progress_line(told) == "batch 3: 5,000 rows, 1,234 a second"
    late = told | {"stateOperators": [{"numRowsDroppedByWatermark": 7}]}
    assert progress_line(late).endswith("7 came too late")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (True, "yes"), (1234567, "1,234,567"), (0.5, "0.5"), ("a\x1b[0m", "a\\x1b[0m"), (b"\xff", "\\xff")],
)
def test_values_do_nothing_to_a_terminal(value: object, text: str) -> None:
    """Whoever chose them."""
    assert cell(value) == text


@pytest.mark.spark
def test_a_stream_ends_with_its_batch_at_sigterm(spark: Any, sample: Path, tmp_path: Path) -> None:
    """In good order: what has begun is done, and its files are whole. The command takes the session that there is, for
    a Java of its own would take longer than all the rest."""
    out, commits = tmp_path / "out", tmp_path / "checkpoint" / "commits" / "0"
    is_over = threading.Event()

    def end() -> None:
        while not is_over.wait(0.1):
            if commits.exists():
                os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ending = threading.Thread(target=end)
    ending.start()
    try:
        result = CliRunner().invoke(
            main,
            [
                *("traffic", str(sample), "--stream", "--checkpoint", str(tmp_path / "checkpoint"), "--out", str(out)),
                *("--every", "20 milliseconds", "--trigger", "1 second", "--format", "json"),
            ],
        )
    finally:
        is_over.set()
        ending.join()
        signal.signal(signal.SIGTERM, before)
    assert (result.exit_code, result.exception) == (0, None), result.output
    assert (out / "batch=0" / "_SUCCESS").exists()
