"""How does a pool of processes behave?"""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen(kw_only=True)
class PoolSettings:
    """Times in seconds, sizes in octets."""

    #: Modules to load; what they register may be run.
    modules: Sequence[str] = ()
    #: What else may be run: ``module:function`` or ``module:Class.method``.
    allowed: Sequence[str] = ()
    #: Jobs at the same time.
    processes: int = 4
    #: What a job may take that says nothing itself; 0 for no limit.
    timeout: float = 300.0
    #: A process is replaced after so many jobs; 0 for never.
    jobs_per_process: int = 1024
    #: A process is replaced after a job that leaves it larger than this; 0 for never.
    process_octets: int = 512 * 1024 * 1024
    #: A process that has not loaded everything by then is killed.
    start_seconds: float = 60.0
    #: When the pool stops, what runs may go on so long.
    grace_seconds: float = 30.0
    #: What a job may return; one that returns more has failed.
    answer_octets: int = 16 * 1024 * 1024
