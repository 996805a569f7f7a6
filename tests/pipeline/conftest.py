"""Journals, and one Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fmqbus.journal.samples import write_sample

#: What the sample journal has, in three segments, the last of them open.
ROWS = 3_000


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of `ROWS` rows that nobody writes any more."""
    root = tmp_path_factory.mktemp("sample")
    write_sample(root, ROWS, segment_rows=1_000, frame_rows=100, topics=20, run=10)
    return root


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores, as small and as soon there as it can be."""
    from fmqbus.pipeline.java import JavaMissing, find_java
    from fmqbus.pipeline.session import new_session

    try:
        find_java()
    except JavaMissing as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("spark")
    session = new_session(
        "tests",
        "local[2]",
        {
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            # small frames: compiling a query takes longer than it runs
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        },
    )
    yield session
    session.stop()
