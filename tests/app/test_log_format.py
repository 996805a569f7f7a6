"""Log events as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.logger import Logger, LogPublisher

from fmqbus.app.log_format import json_line, json_observer


def logged(emit: Any) -> dict[str, Any]:
    """What the one line says that comes of an event."""
    events: list[Any] = []
    emit(Logger(namespace="test", observer=events.append))
    line = json_line(events[0])
    assert line.count("\n") == 1
    assert line.endswith("\n")
    fields: dict[str, Any] = json.loads(line)
    return fields


def test_a_line_says_when_how_grave_where_and_what() -> None:
    """The text is the one a person would read."""
    fields = logged(lambda log: log.warn("{count} left", count=3))
    assert (fields["level"], fields["logger"], fields["text"]) == ("warn", "test", "3 left")
    assert fields["time"].endswith("+00:00")


def test_text_of_several_lines_stays_one_line() -> None:
    """A line feed in a peer's words makes no second record."""
    assert logged(lambda log: log.info("{what}", what='a\nb"'))["text"] == 'a\nb"'


def test_values_that_the_text_does_not_use_are_not_written() -> None:
    """They may be secrets."""
    assert "hunter2" not in json.dumps(logged(lambda log: log.info("a login", password="hunter2")))


def test_a_failure_brings_its_traceback() -> None:
    """As in the text form."""

    def emit(log: Logger) -> None:
        try:
            raise ValueError("wrong")
        except ValueError:
            log.failure("it failed")

    fields = logged(emit)
    assert fields["level"] == "critical"
    assert "ValueError: wrong" in fields["traceback"]


@pytest.mark.parametrize("path", [None, "-"])
def test_without_a_file_lines_go_to_stdout(path: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """As twistd's own do."""
    Logger(observer=LogPublisher(json_observer(path))).info("hello")
    assert json.loads(capsys.readouterr().out)["text"] == "hello"
