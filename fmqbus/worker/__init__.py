"""Runs jobs in processes of their own: what may be run, where, and for how long. Knows no protocol and no bus.

In an application's modules::

    from fmqbus.worker import job, progress

    @job(timeout=30.0)
    def resize(picture: str, width: int) -> str:
        progress(0.5, "read")
        ...
"""

from fmqbus.worker.child import progress
from fmqbus.worker.jobs import job

__all__ = ["job", "progress"]
