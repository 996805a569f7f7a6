"""Where are mistakes made, and which tests should notice? Those that need no reactor."""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen
class Target:
    """Modules, and what tests them. Paths are those below the root."""

    title: str
    modules: Sequence[str]
    tests: Sequence[str]


def _codec(title: str, protocol: str, modules: Sequence[str], tests: Sequence[str]) -> Target:
    return Target(
        title,
        [f"fmqbus/protocols/{protocol}/{module}.py" for module in modules],
        [f"tests/protocols/{protocol}/test_{test}.py" for test in tests],
    )


_QUEUES = (
    "bounds",
    "consumers",
    "credit",
    "model",
    "order",
    "slices",
    "store",
)
_QUEUE_MODULES = ("queue", "queue_table", "queues", "queue_user", "settling", "dead_letters", "line", "consumers")
_TOPICS = (
    "access",
    "bounds",
    "choices",
    "interest",
    "model",
    "replays",
    "retained",
    "routes",
    "single_messages",
    "topics",
    "wills",
)

TARGETS: Sequence[Target] = (
    _codec("FMQP's codec", "fmqp", ["codec"], ["codec", "codec_runs", "vectors", "publications", "half_received"]),
    _codec(
        "MicroMsg2's codec",
        "micromsg2",
        ["codec", "frames", "fields", "numbers", "properties", "filters", "wire"],
        ["codec", "frames", "numbers", "properties", "filters", "sieve", "conversation", "receiving", "sending"],
    ),
    _codec(
        "UMQ's codec",
        "umq",
        ["codec", "attachments", "attributes"],
        ["codec", "vectors", "attachments", "peer", "conversation"],
    ),
    _codec(
        "eMQP's codec",
        "emqp",
        ["codec", "headers", "jobs", "results", "queue_lists"],
        ["codec", "headers", "jobs", "queue_lists", "endings", "job_message"],
    ),
    _codec(
        "MTL's codec",
        "mtl",
        ["codec", "control_codec", "data_codec", "field_table", "short_strings"],
        ["codec", "field_table"],
    ),
    Target(
        "queues",
        [f"fmqbus/router/{module}.py" for module in _QUEUE_MODULES],
        [*(f"tests/router/test_queue_{test}.py" for test in _QUEUES), "tests/router/test_dead_letters.py"],
    ),
    Target(
        "topics",
        [
            *(f"fmqbus/router/{module}.py" for module in ("routes", "choices", "replays", "interest", "wills")),
            "fmqbus/topic_index.py",
            "fmqbus/names.py",
        ],
        [
            *(f"tests/router/test_{test}.py" for test in _TOPICS),
            "tests/test_topic_index.py",
            "tests/test_names.py",
        ],
    ),
)
