"""What is on the pages. Nothing is reckoned that nobody asks for, and asking often changes little."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.metrics.collector import Survey
from fmqbus.metrics.exposition import ProcessFigures, form_of, written
from fmqbus.protocols.http.answering import Answer, Asked
from fmqbus.turns import Turns
from fmqbus.vitals import Checks, Vitals

#: So old may the numbers be that are shown: whoever asks a hundred times a second costs no more than two.
FRESH_SECONDS = 0.5


class HealthPage:
    """Whether all of some checks are well, and which are not: 200 or 503, in JSON."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def __call__(self, asked: Asked) -> Answer:
        results = self._checks.results()
        is_well = not any(results.values())
        checks = {
            name: {"ok": True} if reason is None else {"ok": False, "reason": reason}
            for name, reason in results.items()
        }
        return Answer(
            HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE,
            "application/json",
            msgspec.json.encode({"ok": is_well, "checks": checks}) + b"\n",
        )


class MetricsPage:
    """The vitals of a bus for Prometheus. They are gathered in the shares of the reactor's turns; all who come
    meanwhile, or soon afterwards, see the same."""

    def __init__(self, vitals: Vitals, turns: Turns, clock: Any) -> None:
        self._vitals = vitals
        self._turns = turns
        self._clock = clock
        self._process = ProcessFigures()
        self._waiting: list[tuple[str, Deferred[Answer]]] = []
        #: The last one, and how it was written so far.
        self._survey: Survey | None = None
        self._surveyed_at = 0.0
        self._pages: dict[str, bytes] = {}

    def __call__(self, asked: Asked) -> Answer | Deferred[Answer]:
        form = form_of(asked.accept)
        # a clock that was set back makes nothing fresh
        if self._survey is not None and 0 <= self._clock.seconds() - self._surveyed_at < FRESH_SECONDS:
            return self._answer(form, self._survey)
        waiting: Deferred[Answer] = Deferred()
        self._waiting.append((form, waiting))
        if len(self._waiting) == 1:
            self._turns.go_through(self._look(), lambda: None)
        return waiting

    def _look(self) -> Iterator[None]:
        try:
            survey = Survey(self._vitals)
            yield from survey.steps()
            self._survey, self._surveyed_at, self._pages = survey, self._clock.seconds(), {}
            answers: dict[str, Any] = {form: self._answer(form, survey) for form, _ in self._waiting}
        except Exception:
            self._survey = None
            answers = dict.fromkeys((form for form, _ in self._waiting), Failure())
        waiting, self._waiting = self._waiting, []
        for form, one in waiting:
            one.callback(answers[form])  # a Failure goes the errbacks' way

    def _answer(self, form: str, survey: Survey) -> Answer:
        if form not in self._pages:
            self._pages[form] = written(form, survey, self._process)
        return Answer(HTTPStatus.OK, form, self._pages[form])
