"""What does the user see of a failure? Our own sentence, if there is one within Spark's; not a page of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

#: Our errors as Python's traceback ends with them, inside of what Spark passes on.
_OURS = re.compile(r"^(?:fmqbus|pyspark\.errors)[\w.]*\.(?:\w+): (.+)$", re.MULTILINE)
#: Any other error of Python's.
_PYTHONS = re.compile(r"^((?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception): .+)$", re.MULTILINE)


@contextmanager
def told() -> Iterator[None]:
    """End a command with the sentence that says why it failed. What is not understood comes out as it is."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise click.ClickException(sentence_in(str(error))) from error


def sentence_in(text: str) -> str:
    """Our own sentence in an error of Spark's; else the error of Python's that is in it; else its first line."""
    for errors in (_OURS, _PYTHONS):
        found = errors.findall(text)
        if found:
            return str(found[-1])
    return text.strip().splitlines()[0] if text.strip() else "Spark failed without saying why"
