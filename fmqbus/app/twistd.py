"""The commands that ``twisted/plugins/fmqbus_services.py`` names: what each parses, and what it runs."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from fmqbus.app.options import BusOptions, OneProtocolOptions
from fmqbus.app.plugs import find_plugs
from fmqbus.app.process import BusProcess
from fmqbus.errors import ConfigError


@attrs.frozen
class Command:
    """What `twisted.application.service.ServiceMaker` looks for behind the name it is given."""

    Options: Callable[[], BusOptions]

    def makeService(self, options: BusOptions) -> BusProcess:
        """Return the service for twistd to run. Exits with one line if the configuration cannot be used."""
        from twisted.internet import reactor  # the place where the process's reactor is chosen

        try:
            return BusProcess(reactor, options.read_config, find_plugs(), options.log_file)
        except ConfigError as error:
            raise SystemExit(f"fmqbus: {error}") from None


bus = Command(BusOptions)
emqp = Command(lambda: OneProtocolOptions("emqp"))
fmqp = Command(lambda: OneProtocolOptions("fmqp"))
micromsg2 = Command(lambda: OneProtocolOptions("micromsg2"))
mtl = Command(lambda: OneProtocolOptions("mtl"))
umq = Command(lambda: OneProtocolOptions("umq"))
