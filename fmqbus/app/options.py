"""What can be said on twistd's command line?

The installed parts are looked up when help is asked for, not when this file is imported: twistd's other commands pay
nothing for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import msgspec
from twisted.python import usage

from fmqbus.app.config import LOG_FORMATS, Config, read_config
from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, ITransport


def _log_format(word: str) -> str:
    if word not in LOG_FORMATS:
        raise ValueError(f"write one of {', '.join(LOG_FORMATS)}")
    return word


class BusOptions(usage.Options):
    """Options of ``twistd fmqbus``."""

    optParameters: ClassVar = [
        ["config", "c", None, "Configuration file (TOML). SIGHUP reads it again."],
        ["journal", None, None, "Keep what passes over the bus in this folder. [default: as the file says]"],
        ["log-format", None, None, "text, or json for one object a line. [default: text]", _log_format],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["listen"] = []

    def opt_listen(self, place: str) -> None:
        """Listen here, and not where the configuration file says: PROTOCOL:ENDPOINT, or PROTOCOL: for its default
        endpoints. May be repeated. [default: all protocols at their default endpoints]"""
        self["listen"].append(place)

    opt_l = opt_listen

    def postOptions(self) -> None:
        """Settle what the path means before twistd changes the directory."""
        if self["config"] is not None:
            self["config"] = Path(self["config"]).absolute()
        if self["journal"] is not None:
            self["journal"] = str(Path(self["journal"]).absolute())

    @property
    def log_file(self) -> str | None:
        """Where twistd itself was told to log; None leaves it to its default."""
        return None if self.parent is None else self.parent["logfile"]

    def read_config(self) -> Config:
        """The configuration file, if there is one, as overruled by the other options. Raises `ConfigError`."""
        config = Config() if self["config"] is None else read_config(self["config"])
        overruled: dict[str, Any] = {}
        if self["listen"]:
            overruled["listen"] = tuple(self["listen"])
        if self["journal"]:
            overruled["journal"] = msgspec.structs.replace(config.journal, path=self["journal"])
        if self["log-format"]:
            overruled["log_format"] = self["log-format"]
        return msgspec.structs.replace(config, **overruled)

    def getUsage(self, width: int | None = None) -> str:
        """The options, and what can be listened for."""
        return f"{super().getUsage(width)}\n{self.describe(find_plugs())}"

    def describe(self, plugs: Plugs) -> str:
        """The installed protocols and endpoints, as part of the help text."""
        protocols = "\n".join(
            f"  {name}: {part.summary}" + "".join(f"\n    default: {name}:{place}" for place in part.default_listen)
            for name, part in plugs.of(IBusProtocol).items()
        )
        endpoints = "\n".join(f"  {name}:{part.summary}" for name, part in plugs.of(ITransport).items())
        return f"Protocols:\n{protocols}\nEndpoints (and all others that Twisted knows):\n{endpoints}\n"


class OneProtocolOptions(BusOptions):
    """Options of a twistd command that runs one protocol alone; its places have no ``PROTOCOL:``."""

    def __init__(self, protocol: str) -> None:
        super().__init__()
        self.protocol = protocol

    def opt_listen(self, place: str) -> None:
        """Listen at this endpoint, and not where the configuration file says. May be repeated. [default: the
        protocol's default endpoints]"""
        self["listen"].append(f"{self.protocol}:{place}")

    opt_l = opt_listen

    def read_config(self) -> Config:
        """As for the whole bus; the file may not ask for other protocols."""
        config = super().read_config()
        for place in config.listen:
            if not place.startswith(f"{self.protocol}:"):
                raise ConfigError(f"{place!r} is not for {self.protocol}, which is to run alone")
        return msgspec.structs.replace(config, listen=config.listen or (f"{self.protocol}:",))
