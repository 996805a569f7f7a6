"""What can be said on the command lines of a worker?"""

from __future__ import annotations

import pytest
from twisted.python.usage import UsageError

from fmqbus.errors import ConfigError
from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.worker import twistd
from fmqbus.worker.served_queues import parse_served
from fmqbus.worker.settings import PoolSettings


def test_queues_have_weights_and_the_heaviest_comes_first() -> None:
    """10 where nothing is said, as EventMQ has it."""
    assert parse_served("default") == (Weighted(10, b"default"),)
    assert parse_served("default:10, email:40,x") == (
        Weighted(40, b"email"),
        Weighted(10, b"default"),
        Weighted(10, b"x"),
    )


@pytest.mark.parametrize("text", ["", ",", ":5", "a:", "a:x", "a:-1", "a:1001", "a:²", "a,a", "*", "$/x", "a:99999"])
def test_what_names_no_queue_is_refused(text: str) -> None:
    """With what is wrong."""
    with pytest.raises(ConfigError):
        parse_served(text)


def test_twistd_takes_the_same_options() -> None:
    """As ``fmqbus work``."""
    options = twistd.Options()
    words = "--broker emqp://host --queues a:1 --app one --app two --allow m:f --processes 2 --timeout 1.5 --grace 3"
    options.parseOptions(words.split())
    settings = options.settings()
    assert (settings.address, settings.queues) == ("tcp://host:47290", (Weighted(1, b"a"),))
    assert settings.pool == PoolSettings(
        modules=["one", "two"], allowed=["m:f"], processes=2, timeout=1.5, grace_seconds=3
    )


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--app a --broker nonsense",
        "--app a --queues *",
        "--app a --processes 0",
        "--app a --timeout -1",
        "--allow nonsense",
    ],
)
def test_twistd_refuses_what_could_never_work(words: str) -> None:
    """Before it becomes a daemon."""
    with pytest.raises(UsageError):
        twistd.Options().parseOptions(words.split())
