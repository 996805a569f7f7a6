"""The whole bus as a tree of services, on one screen.

Made from a configuration and the installed parts; for an embedding application as for twistd. What belongs to a process
of its own (signals, exit codes, log formats) is `fmqbus.app.process`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from twisted.application.service import MultiService, Service
from twisted.internet.defer import Deferred, DeferredList, inlineCallbacks
from twisted.logger import Logger
from zope.interface import Interface

from fmqbus import names
from fmqbus.app.access import AccessPolicy
from fmqbus.app.bus_vitals import add_journal, add_listeners, add_logins, add_version
from fmqbus.app.config import Config
from fmqbus.app.plugs import Plugs
from fmqbus.app.readiness import WaitingCarrier
from fmqbus.app.users import make_logins, reload_users
from fmqbus.errors import ConfigError
from fmqbus.interfaces import (
    IBusProtocol,
    ICarrier,
    IForOperators,
    IMessageStoreMaker,
    IObserver,
    IRetainedStoreMaker,
    ISASLMechanism,
    IScheduleStoreMaker,
    IServiceTopic,
    ITransport,
    StopCallback,
)
from fmqbus.metrics.lag import LagMeter
from fmqbus.observers.journal.health import JournalHealth
from fmqbus.observers.journal.journal import Journal
from fmqbus.router.recovery import Recovery
from fmqbus.router.service import Router
from fmqbus.transports.carriers import carrier_for
from fmqbus.transports.listen_string import ListenString, parse_listen_string
from fmqbus.transports.listener import Listener


class Bus(MultiService):
    """Router and listeners. Starting it listens; stopping it closes the ports, then drains the router.

    Raises `ConfigError` where the configuration asks for what is not installed, or a part does not take its options.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        config: Config,
        plugs: Plugs,
        stop: StopCallback | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`stop` is what service topics may ask of the process; without it, they cannot end it. `wall` tells the time
        in POSIX seconds."""
        super().__init__()
        protocols: Mapping[str, IBusProtocol] = plugs.of(IBusProtocol)
        if not protocols:
            raise ConfigError("no protocol is installed; see `fmqbus plugins` for what was left out and why")
        transports = plugs.of(ITransport).values()
        places = places_of(config, plugs)
        options_of = {place.protocol: config.protocols.get(place.protocol, {}) for place in places}

        def store(maker: type[Interface], name: str) -> Any:
            return _installed(plugs, maker, name).make(reactor, config.limits, config.stores.get(name, {}))

        self._plugs = plugs
        self._check_protocol_names(config)
        self.config = config
        self.access = AccessPolicy(config.access, plugs)
        self.access.check(config.access)
        journal = config.journal.settings
        self.journal = None if journal is None else Journal(reactor, wall, journal)
        self.logins = make_logins(reactor, config, plugs.of(ISASLMechanism))
        self.router = Router(
            clock=reactor,
            wall=wall,
            as_of_now=None if self.logins is None else self.logins.as_of_now,
            authorizers=self.access.authorizers,
            retained=store(IRetainedStoreMaker, config.retained_store),
            message_store=store(IMessageStoreMaker, config.message_store) if config.message_store else None,
            schedule_store=store(IScheduleStoreMaker, config.schedule_store) if config.schedule_store else None,
            schedule_settings=config.schedules.settings,
            limits=config.limits,
            overflow=config.outbox.policy,
            overflow_rules=[(names.from_text(rule.pattern), rule.policy) for rule in config.outbox.rules],
            queue_settings=config.queues.settings,
            queue_rules=config.queues.settings_by_pattern,
            method_settings=config.calls.settings,
            method_rules=config.calls.settings_by_pattern,
            observers=[*plugs.parts(IObserver), *([] if self.journal is None else [self.journal])],
            service_topics=[
                *plugs.parts(IServiceTopic),
                *(topic for name, options in options_of.items() for topic in protocols[name].service_topics(options)),
                *([] if self.journal is None else [JournalHealth(self.journal)]),
            ],
            stop=stop,
            wildcards_reach_service=config.wildcards_reach_service,
        )
        self.listeners: Sequence[Listener] = [
            Listener(
                reactor,
                protocols[place.protocol],
                self._when_ready(protocols[place.protocol], carrier_for(reactor, place, transports)),
                self.router,
                config.limits,
                options_of[place.protocol],
                str(place),
                plugs.parts,
                self.logins,
            )
            for place in places
        ]
        self.lag = LagMeter(reactor, config.limits.lag_seconds)
        self._journal_opening = Recovery()
        self._add_vitals(places)
        self._hurry: Deferred[None] = Deferred()
        for service in (self.router, self.lag, *self.listeners):
            service.setServiceParent(self)

    def startService(self) -> None:
        """Listen, and let nobody in before `when_ready`."""
        if self.journal is not None:
            self._journal_opening.begin(self.journal.open())
        super().startService()

    @inlineCallbacks
    def when_ready(self) -> Generator[Deferred[None], Any, None]:
        """A new Deferred for each caller, fired when the stores have given back what they kept, and the journal goes
        on. Fails with `StoreFailed` if that cannot be."""
        if self.journal is not None:
            yield self._journal_opening.when_over()
        yield self.router.when_recovered()

    def _when_ready(self, protocol: IBusProtocol, carrier: ICarrier) -> ICarrier:
        """The carrier, which lets clients in once the bus is ready; operators at once."""
        return carrier if IForOperators.providedBy(protocol) else WaitingCarrier(carrier, self.when_ready)

    def _add_vitals(self, places: Sequence[ListenString]) -> None:
        vitals = self.router.vitals
        add_version(vitals)
        add_listeners(vitals, places, self.listeners)
        add_logins(vitals, self.logins)
        add_journal(vitals, self.journal, lambda: self._journal_opening.shortfall is None)
        vitals.add_figures(self.lag.metrics, self.lag.readings)
        vitals.alive.add("reactor", self.lag.check)

    @inlineCallbacks
    def stopService(self) -> Any:
        """FMQP's soft stop: accept no more clients, then let the router do the rest. Broken off by `stop_at_once`.
        Operators can look on until it is over."""
        Service.stopService(self)
        closed = self._close(lambda listener: not IForOperators.providedBy(listener.protocol))
        yield DeferredList([closed, self._hurry], fireOnOneCallback=True)
        try:
            if not self._hurry.called:
                drained = self.router.stopService()
                yield DeferredList([drained, self._hurry], fireOnOneCallback=True, fireOnOneErrback=True)
            if self.journal is not None:
                yield self.journal.close()
        finally:
            self.lag.stopService()
            closed = self._close(lambda listener: IForOperators.providedBy(listener.protocol))
        yield DeferredList([closed, self._hurry], fireOnOneCallback=True)

    def _close(self, is_meant: Callable[[Listener], bool]) -> Deferred[Any]:
        return DeferredList([listener.stopService() for listener in self.listeners if is_meant(listener)])

    def stop_at_once(self) -> None:
        """Do not wait for clients when the service stops, nor any longer if it is stopping. May be repeated."""
        self.router.halt()
        if not self._hurry.called:
            self._hurry.callback(None)

    def reload(self, config: Config) -> None:
        """Take over the rules of a new configuration and read its policy, certificates and users again; nobody is
        disconnected but those who act as a user of whom the file now says something else.

        A bad certificate is reported, and the old one stays; so do all rules where the policy file is bad, and the
        users where theirs is. What else has changed is reported too. Raises `ConfigError` for rules that cannot be
        meant; nothing has then changed.
        """
        self._check_protocol_names(config)
        self.access.check(config.access)
        for listener in self.listeners:
            try:
                listener.reload()
            except ConfigError as error:
                self._log.error(
                    "{listener.description} keeps its certificate or keys: {error}", listener=listener, error=error
                )
        if self.logins is not None:
            try:
                reload_users(self.logins, self.config)
            except ConfigError as error:
                self._log.error("the users stay as they were: {error}", error=error)
        if self.access.reload(config.access):
            self.router.policy_changed()
            count = len(self.access.file.rules) + len(self.access.rules.rules)
            self._log.info("the access rules are reloaded, {count} of them", count=count)
            self.warn_of_unknown_groups()
        if later := _changed_beyond_rules(self.config, config):
            self._log.warn("changes of {keys} wait for the next start", keys=", ".join(later))

    def warn_of_unknown_groups(self) -> None:
        """Log the groups that the policy speaks of and nobody knows: perhaps they are misspelt, and perhaps a mechanism
        of a vendor's will tell of them."""
        known = frozenset() if self.logins is None else self.logins.users.groups
        if unknown := [group for group in self.access.unknown_groups if group not in known]:
            self._log.warn("the policy speaks of groups that nobody knows: {groups}", groups=", ".join(unknown))

    def _check_protocol_names(self, config: Config) -> None:
        for name in config.protocols:
            _installed(self._plugs, IBusProtocol, name)


def places_of(config: Config, plugs: Plugs) -> Sequence[ListenString]:
    """Where a bus listens. Raises `ConfigError`."""
    for_clients = (name for name, protocol in plugs.of(IBusProtocol).items() if not IForOperators.providedBy(protocol))
    return list(_places(config.listen or [f"{name}:" for name in for_clients], plugs))


def _places(listen: Sequence[str], plugs: Plugs) -> Iterator[ListenString]:
    """Where to listen, with the default places of protocols that are given none."""
    for text in listen:
        place = parse_listen_string(text)
        protocol = _installed(plugs, IBusProtocol, place.protocol)
        if place.prefix:
            yield place
        else:
            yield from (parse_listen_string(f"{place.protocol}:{endpoint}") for endpoint in protocol.default_listen)


def _installed(plugs: Plugs, interface: type[Interface], name: str) -> Any:
    parts = plugs.of(interface)
    if name not in parts:
        known = ", ".join(parts) or "none"
        raise ConfigError(f"no {interface.__name__} {name!r} is installed (there is: {known}); see `fmqbus plugins`")
    return parts[name]


def _changed_beyond_rules(old: Config, new: Config) -> list[str]:
    """The keys that a running bus cannot take over."""
    fields = zip(Config.__struct_fields__, Config.__struct_encode_fields__, strict=True)
    changed = [key for field, key in fields if key != "access" and getattr(old, field) != getattr(new, field)]
    return changed if old.access.asked == new.access.asked else [*changed, "access"]
