"""``fmqbus work``: run the jobs of an application, in processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click
from twisted.logger import FilteringLogObserver, LogLevel, LogLevelFilterPredicate, globalLogBeginner
from twisted.logger import textFileLogObserver as text_log

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.errors import BusError
from fmqbus.protocols.emqp.addresses import DEFAULT_WORKER_ADDRESS
from fmqbus.worker.service import WorkerService, WorkerSettings
from fmqbus.worker.settings import PoolSettings

_POOL = PoolSettings()


@click.command(
    "work",
    epilog=EXIT_CODES,
    help="Run jobs of queues, as any eMQP broker gives them out.\n\n"
    "Only functions that are decorated with fmqbus.worker.job in the modules of --app, or named by --allow, are run; a "
    "name that merely comes in a message is not. Interrupted, it takes nothing more and lets what runs end.",
)
@click.option(
    "--broker",
    default=DEFAULT_WORKER_ADDRESS,
    show_default=True,
    help="Where it listens for workers; emqp://HOST?server-key=FILE&key=FILE with CURVE.",
)
@click.option(
    "--queues", default="default:10", show_default=True, help="And how gladly they are served: default:10,email:40."
)
@click.option("--app", "modules", multiple=True, help="A module or a package to load; may be repeated.")
@click.option("--allow", "allowed", multiple=True, help="module:function or module:Class.method; may be repeated.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=_POOL.processes,
    show_default=True,
    help="Jobs at the same time.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=_POOL.timeout,
    show_default=True,
    help="Seconds for a job that says nothing itself; 0 for no limit. It is killed then.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=_POOL.grace_seconds,
    show_default=True,
    help="Seconds for what runs when the worker stops.",
)
@click.option(
    "--jobs-per-process",
    type=click.IntRange(min=0),
    default=_POOL.jobs_per_process,
    show_default=True,
    help="After so many a process is replaced; 0 for never.",
)
@click.option(
    "--process-octets",
    type=click.IntRange(min=0),
    default=_POOL.process_octets,
    show_default=True,
    help="A process that is larger after a job is replaced; 0 for never.",
)
@click.option("--verbose", is_flag=True, help="Tell of each job.")
def command(
    broker: str,
    queues: str,
    modules: Sequence[str],
    allowed: Sequence[str],
    processes: int,
    timeout: float,
    grace: float,
    jobs_per_process: int,
    process_octets: int,
    verbose: bool,
) -> None:
    """Read the command line."""
    try:
        settings = WorkerSettings.told(
            broker=broker,
            queues=queues,
            modules=modules,
            allowed=allowed,
            processes=processes,
            timeout=timeout,
            grace_seconds=grace,
            jobs_per_process=jobs_per_process,
            process_octets=process_octets,
        )
    except BusError as error:
        raise click.UsageError(str(error)) from None
    level = LogLevel.debug if verbose else LogLevel.info
    run(lambda reactor: work(reactor, settings, level))


async def work(reactor: Any, settings: WorkerSettings, level: Any) -> None:
    """Work until interrupted, or until the broker tells us to stop."""
    levels = LogLevelFilterPredicate(LogLevel.warn)
    levels.setLogLevelForNamespace("fmqbus", level)
    observer = FilteringLogObserver(text_log(sys.stderr), [levels])
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
    worker = WorkerService(reactor, settings)
    worker.startService()
    try:
        await worker.when_dismissed()
    finally:
        await worker.stopService()
