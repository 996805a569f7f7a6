"""A program that copies messages of a journal into a queue of a bus, as a stream; to be killed while it does."""

from __future__ import annotations

import sys


def main(journal: str, url: str, checkpoint: str) -> None:
    """Copy what there is, in small batches, and end."""
    from fmqbus.pipeline.session import FOR_FEW_ROWS, new_session

    spark = new_session("copying", "local[1]", {**FOR_FEW_ROWS, "spark.driver.memory": "1g"})
    rows = (
        spark.readStream.format("fmqbus")
        .options(path=journal, startingOffsets="earliest", maxOffsetsPerTrigger="200")
        .load()
    )
    # of some messages the journal has no payload
    messages = rows.selectExpr("coalesce(value, X'') AS value", "CAST(offset AS string) AS key")
    writer = messages.writeStream.format("fmqbus").options(url=url, queue="copies", checkpointLocation=checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
