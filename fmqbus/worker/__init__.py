"""Runs jobs in processes of their own: what may be run, where, and for how long. Knows no protocol and no bus.

In an application's modules::

    from fmqbus.worker import job, progress

    @job(timeout=30.0)
    def resize(picture: str, width: int) -> str:
        progress(0.5, "read")
        ...

Whoever uses the application then calls ``resize.delay("me.png", 100)``, given a client (`fmqbus.client.emqp`,
`fmqbus.client.emqp_blocking`).
"""

from fmqbus.job_functions import job
from fmqbus.worker.child import progress

__all__ = ["job", "progress"]
