"""A program that copies a journal with Spark: all rows into a table, and the orders among them onto the bus again.

It is to be killed while it does. Both streams go on from their checkpoints; the one that writes onto the bus is begun
again whenever the bus is gone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmqbus.pipeline.session import FOR_FEW_ROWS, new_session
from fmqbus.pipeline.streaming import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

ORDERS = "orders"
COPIES = "copies"
#: Below the program's folder.
TABLE, TABLE_CHECKPOINT, BUS_CHECKPOINT = "table", "table-checkpoint", "bus-checkpoint"

#: With the word ``finish`` it copies what there is, and ends.
FINISH = "finish"
_FOLLOW = {"processingTime": "500 milliseconds"}
_MOST_ROWS = "5000"
#: How often the streams are looked at, and a bus that is gone is tried again.
_LOOK_SECONDS = 0.2


def main(journal: str, url: str, folder: str, how: str) -> None:
    """Copy until killed, or to the end."""
    trigger: dict[str, Any] = {"availableNow": True} if how == FINISH else _FOLLOW
    spark = new_session("copying", "local[2]", {**FOR_FEW_ROWS, "spark.driver.memory": "1g"})
    table = start(
        _rows(spark, journal, includeMetadata="true"),
        "table",
        "append",
        str(Path(folder, TABLE_CHECKPOINT)),
        trigger,
        str(Path(folder, TABLE)),
        "parquet",
    )
    orders = _rows(spark, journal, subscribe=ORDERS).selectExpr("value", "CAST(offset AS string) AS key")
    writer = orders.writeStream.format("fmqbus").trigger(**trigger)
    writer = writer.options(url=url, queue=COPIES, checkpointLocation=str(Path(folder, BUS_CHECKPOINT)))
    _wait_for(table, writer.start)


def _rows(spark: SparkSession, journal: str, **options: str) -> Any:
    settings = {"path": journal, "startingOffsets": "earliest", "maxOffsetsPerTrigger": _MOST_ROWS, **options}
    return spark.readStream.format("fmqbus").options(**settings).load()


def _wait_for(table: StreamingQuery, begin: Callable[[], StreamingQuery]) -> None:
    """Until both have ended. Raises what one has failed with, unless it is that the bus is gone: then that one begins
    again. Whether the bus has had the batch that it was killed in, the bus knows."""
    orders = begin()
    while table.isActive or orders.isActive:
        time.sleep(_LOOK_SECONDS)
        if (failure := table.exception()) is not None:
            raise failure
        if (failure := orders.exception()) is not None:
            if "BatchNotTaken" not in str(failure):
                raise failure
            orders = begin()


if __name__ == "__main__":
    main(*sys.argv[1:])
