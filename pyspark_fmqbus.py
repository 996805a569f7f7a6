"""Spark finds our data source by this module: it imports every top-level one whose name begins so.

One such module that cannot be imported makes Spark find none at all, those of others included. So where this one cannot
have what the source needs, it has no source.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        try:
            from fmqbus.pipeline.source import FMQBusSource
        except ImportError as error:
            raise AttributeError(f"the source fmqbus needs more than is installed: {error}") from error
        return FMQBusSource
    raise AttributeError(name)
