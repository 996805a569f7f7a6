"""What is read, and on which Spark? The options that all commands of the pipeline share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import click

from fmqbus.errors import BusError
from fmqbus.pipeline import FORMAT
from fmqbus.pipeline.moments import milliseconds, moment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What a command is made of: a function that click calls.
Function = Callable[..., Any]


@attrs.frozen
class Asked:
    """What the command line said of where the rows come from."""

    source: str
    since: datetime | None
    until: datetime | None
    topics: str | None
    pattern: str | None
    fails_on_data_loss: bool
    master: str | None
    conf: Mapping[str, str]
    packages: str | None
    #: For a journal at an ``https`` URL, PEM files: who its certificate is from, and ours with its key.
    ca_file: str | None = None
    certificate_file: str | None = None

    def session(self, name: str, for_few_rows: bool = False) -> SparkSession:
        """Start Spark. Raises `click.ClickException` where it cannot be."""
        from fmqbus.pipeline.session import FOR_FEW_ROWS, is_local, new_session

        usual = FOR_FEW_ROWS if for_few_rows and is_local(self.master) else {}
        try:
            return new_session(f"fmqbus-pipeline {name}", self.master, {**usual, **self.conf}, self.packages)
        except BusError as error:
            raise click.ClickException(str(error)) from None

    @property
    def options(self) -> Mapping[str, str]:
        """As the data source has them."""
        options = {
            ("url" if self.source.startswith(("http://", "https://")) else "path"): self.source,
            "includeMetadata": "true",
            "failOnDataLoss": str(self.fails_on_data_loss).lower(),
        }
        if self.ca_file is not None:
            options["urlCaFile"] = self.ca_file
        if self.certificate_file is not None:
            options["urlCertificateFile"] = self.certificate_file
        if self.since is not None:
            options["startingTimestamp"] = milliseconds(self.since)
        if self.until is not None:
            options["endingTimestamp"] = milliseconds(self.until)
        if self.topics is not None:
            options["subscribe"] = self.topics
        if self.pattern is not None:
            options["subscribePattern"] = self.pattern
        return options

    def rows(self, spark: SparkSession, columns: Sequence[str], **more: str) -> DataFrame:
        """The rows with these columns alone, read once."""
        from fmqbus.pipeline.history import history

        return history(spark, {**self.options, **more}, columns)

    def stream(self, spark: SparkSession, columns: Sequence[str], **more: str) -> DataFrame:
        """The same, as they come: from the first that is there, unless told otherwise."""
        from fmqbus.pipeline.jobs.rows import schema_of

        options = {**self.options, **more}
        if "startingTimestamp" not in options:
            options["startingOffsets"] = "earliest"
        return spark.readStream.format(FORMAT).schema(schema_of(columns)).options(**options).load()


def _conf(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> Mapping[str, str]:
    settings = {}
    for value in values:
        key, equals, setting = value.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
        settings[key] = setting
    return settings


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else moment(value, datetime.now(UTC))


def asking(since: str | None = None, until: str | None = None) -> Callable[[Function], Function]:
    """Give a command what `Asked` has, with these times where none are said; it gets that as ``asked``."""

    def decorate(function: Function) -> Function:
        def call(
            source: str,
            since: datetime | None,
            until: datetime | None,
            topics: str | None,
            pattern: str | None,
            allow_data_loss: bool,
            master: str | None,
            conf: Mapping[str, str],
            packages: str | None,
            ca_file: str | None,
            certificate_file: str | None,
            **others: Any,
        ) -> Any:
            places = master, conf, packages, ca_file, certificate_file
            asked = Asked(source, since, until, topics, pattern, not allow_data_loss, *places)
            return function(asked=asked, **others)

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        call.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
        decorated: Function = call
        for option in reversed(
            (
                click.argument("source", metavar="JOURNAL"),
                click.option("--since", callback=_moment, default=since, metavar="TIME", show_default=True,
                             help="From then on: 2026-11-27T09:30, yesterday, or 2h for two hours ago. In UTC."),
                click.option("--until", callback=_moment, default=until, metavar="TIME", show_default=True,
                             help="Up to then."),
                click.option("--topic", "topics", metavar="TOPIC,...", help="These alone; wildcards as on the bus."),
                click.option("--pattern", metavar="REGEX", help="Topics that this fits."),
                click.option("--allow-data-loss", is_flag=True,
                             help="Leave out, and count, rows that are missing or damaged, rather than fail."),
                click.option("--master", metavar="URL", help="Spark's; without it, all cores of this machine."),
                click.option("--conf", multiple=True, callback=_conf, metavar="NAME=VALUE", help="A setting of Spark."),
                click.option("--packages", metavar="G:A:V,...", help="Maven packages for Spark."),
                click.option("--ca-file", metavar="PEM", help="Of an https JOURNAL: who its certificate is from."),
                click.option("--certificate-file", metavar="PEM", help="Of an https JOURNAL: ours, with its key."),
            )
        ):  # fmt: skip
            decorated = option(decorated)
        return decorated

    return decorate
