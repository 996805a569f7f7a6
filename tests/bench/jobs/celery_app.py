"""The same job for Celery. Where Redis is, is in the environment."""

import os

from celery import Celery

from tests.bench.jobs import plain

app = Celery("bench", broker=os.environ["BENCH_REDIS"], backend=os.environ["BENCH_REDIS"])
noop = app.task(name="noop")(plain.noop)
