"""``python -m fmqbus.pipeline``, and what ``spark-submit`` is given."""

from fmqbus.pipeline.main import main

main(prog_name="fmqbus-pipeline")
