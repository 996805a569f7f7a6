"""What has a Deferred failed with?"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred


def failure_of(deferred: Deferred[Any]) -> BaseException:
    """The failure of a Deferred that has failed."""
    failures: list[BaseException] = []
    deferred.addErrback(lambda reason: failures.append(reason.value))
    (failure,) = failures
    return failure
