"""``python -m fmqbus.pipeline``, and what ``spark-submit`` is given."""

from fmqbus.pipeline.main import main

if __name__ == "__main__":
    main(prog_name="fmqbus-pipeline")
