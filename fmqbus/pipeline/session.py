"""How does a Spark session come about that fits this machine, and knows our data source?

The settings are those that were measured to do well on a small machine. What the user sets wins, and so does what
``spark-submit`` was told: a program that it starts gets a session from here that differs only in what the source needs.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmqbus.errors import LocalError
from fmqbus.pipeline import register
from fmqbus.pipeline.home import home_without_zip
from fmqbus.pipeline.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"

#: What the driver may use of the machine's memory, and its bounds: a stream is at ease with 1 GB, jobs over ten
#: million rows with 4. Python's workers need theirs beside it.
_SHARE_OF_MEMORY = 1 / 4
_LEAST_GIGABYTES, _MOST_GIGABYTES = 1, 4

#: Of every session: the source cannot be asked without the first, and is not to be read differently in each time zone.
_ALWAYS: Mapping[str, str] = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}

#: Of one on this machine.
_ON_ONE_MACHINE: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Duser.timezone=UTC",
    # The usual one begins a program, chmod, for each file that a batch leaves in its checkpoint: a third of a short
    # batch's time. Both write beside it and rename.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


#: Of one that is to look at few rows, on this machine: to compile a query takes longer there than to run it.
FOR_FEW_ROWS: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC",
}


class PySparkMissing(LocalError):
    """PySpark is not installed, or too old. The text is one sentence, with the command that changes that."""

    reason = "pyspark"


def new_session(
    name: str,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    packages: str | None = None,
    environment: Any = os.environ,
) -> SparkSession:
    """Return a session with our source in it; the one that runs already if there is one.

    `master` None means this machine, all of its cores, or what ``spark-submit`` was told. `conf` are Spark's own
    settings and win over ours. `packages` are Maven coordinates, separated by commas, and fetched by Spark.

    Raises `JavaMissing` and `PySparkMissing`. Sets the environment variables that Spark reads, where they are not set.
    """
    require_pyspark()
    is_submitted = "PYSPARK_GATEWAY_PORT" in environment
    if not is_submitted:
        find_java(environment)
    prepare(environment, master, is_submitted)
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    settings = settings_for(name, master, conf, packages, is_submitted)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    if "spark.log.level" not in settings:
        spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def require_pyspark() -> None:
    """Raise `PySparkMissing` if what the pipeline needs cannot be imported; does not import it."""
    missing = [module for module in ("pyspark", "pyarrow", "pandas") if importlib.util.find_spec(module) is None]
    if missing:
        raise PySparkMissing(f"the pipeline needs {', '.join(missing)}: pip install 'fmqbus[pipeline]'")
    from pyspark import __version__

    if tuple(int(part) for part in __version__.split(".")[:2]) < (4, 2):
        raise PySparkMissing(
            f"the pipeline needs PySpark 4.2, and this is {__version__}: pip install 'fmqbus[pipeline]'"
        )


def prepare(environment: Any, master: str | None, is_submitted: bool = False) -> None:
    """Set what Spark reads from the environment, unless it is set.

    Without the first two its Python processes are whatever ``python3`` on PATH is, which may lack what they import.
    """
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not is_submitted and is_local(master):
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # who names a Spark of his own has that
        if "SPARK_HOME" not in environment and (home := home_without_zip(_package(), environment)) is not None:
            environment["SPARK_HOME"] = str(home)


def _package() -> Path:
    """Where PySpark is installed; here, if it is not."""
    found = importlib.util.find_spec("pyspark")
    return Path(__file__ if found is None or found.origin is None else found.origin).parent


def settings_for(
    name: str,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    packages: str | None = None,
    is_submitted: bool = False,
) -> Mapping[str, str]:
    """All settings of a session, the user's included."""
    settings = {"spark.app.name": name, **_ALWAYS}
    if not is_submitted or master is not None:
        settings["spark.master"] = master or LOCAL
    if not is_submitted and is_local(master):
        cores = os.cpu_count() or 1
        settings |= {
            **_ON_ONE_MACHINE,
            "spark.driver.memory": f"{driver_gigabytes(_memory_octets())}g",
            # the usual 200 cost a stream more than its rows do; it keeps the number that it first began with
            "spark.sql.shuffle.partitions": str(min(max(cores, 2), 8)),
        }
    if not is_submitted:
        settings["spark.ui.showConsoleProgress"] = "true" if sys.stderr.isatty() else "false"
    if packages:
        settings["spark.jars.packages"] = packages
    return {**settings, **(conf or {})}


def is_local(master: str | None) -> bool:
    """Whether all of Spark runs on this machine, in one JVM."""
    return master is None or master == "local" or master.startswith("local[")


def driver_gigabytes(memory_octets: int) -> int:
    """How much memory the driver's JVM may have on a machine with so much."""
    return max(_LEAST_GIGABYTES, min(_MOST_GIGABYTES, int(memory_octets * _SHARE_OF_MEMORY) >> 30))


def _memory_octets() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
