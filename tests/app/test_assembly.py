"""The tree of services that a configuration asks for, on a reactor in memory."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from zope.interface import implementer

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config, parse_config
from fmqbus.app.plugs import Plug, Plugs, find_plugs
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Overflow, PeerFacts, Principal
from fmqbus.protocols.emqp.plug import EMQP
from fmqbus.protocols.fmqp.plug import FMQP
from fmqbus.protocols.micromsg2.plug import MICROMSG2
from fmqbus.protocols.mtl.plug import MTL
from fmqbus.protocols.umq.plug import UMQ

LOCAL = Principal("fmqp", PeerFacts("tcp", "127.0.0.1", is_local=True))
FAR = Principal("fmqp", PeerFacts("tcp", "192.0.2.1"))
ONE_LISTENER = 'listen = ["fmqp:"]'


@pytest.fixture(scope="module")
def plugs() -> Plugs:
    """The parts that come with fmqbus."""
    return find_plugs()


def bus(plugs: Plugs, text: str = "", reactor: MemoryReactorClock | None = None) -> Bus:
    """The bus that a configuration file with this text asks for."""
    return Bus(reactor or MemoryReactorClock(), parse_config(text, "bus.toml"), plugs)


def test_all_that_comes_with_fmqbus_can_be_used(plugs: Plugs) -> None:
    """No part of ours is ever left out."""
    assert plugs.rejected == ()
    assert plugs.of(IAuthorizer).keys() >= {"local"}


def test_with_nothing_said_all_protocols_listen_at_their_default_places(plugs: Plugs) -> None:
    """Just as if they were named."""
    assert [listener.description for listener in bus(plugs).listeners] == [
        f"{protocol.name}:{place}"
        for protocol in (EMQP, FMQP, MICROMSG2, MTL, UMQ)
        for place in protocol.default_listen
    ]


def test_the_default_places_are_on_loopback(plugs: Plugs) -> None:
    """Those of TCP; ZeroMQ's sockets are no reactor's (tests/protocols/emqp/test_live.py)."""
    reactor = MemoryReactorClock()
    one = bus(plugs, 'listen = ["fmqp:", "micromsg2:", "umq:"]', reactor)
    one.privilegedStartService()
    one.startService()
    assert [(port, interface) for port, _, _, interface in reactor.tcpServers] == [
        (7700, "127.0.0.1"),
        (8334, "127.0.0.1"),
        (7702, "127.0.0.1"),
    ]


def test_a_protocol_alone_means_its_default_places(plugs: Plugs) -> None:
    """Beside others that are written out."""
    one = bus(plugs, 'listen = ["fmqp:tcp:1", "fmqp:"]')
    assert [listener.description for listener in one.listeners] == [
        "fmqp:tcp:1",
        *(f"fmqp:{place}" for place in FMQP.default_listen),
    ]


def test_the_router_is_told_what_the_file_says(plugs: Plugs) -> None:
    """Limits and outboxes."""
    router = bus(
        plugs,
        '[limits]\nconnections = 3\n[outbox]\npolicy = "pause"\nrules = [{ pattern = "/a/*", policy = "conflate" }]',
    ).router
    assert router.limits.connections == 3
    assert router.overflow_of(b"b") is Overflow.PAUSE
    assert router.overflow_of(b"a/b") is Overflow.CONFLATE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('listen = ["pigeon:tcp:0"]', "no IBusProtocol 'pigeon' is installed"),
        ('listen = ["fmqp:tcp:port"]', "fmqp:tcp:port"),
        ("[protocols.fmqp]\nsignal = true", r"protocols\.fmqp: .*`signal`"),
        ('[[access.rules]]\neffect = "deny"\nactions = "*"\nwho = ["*"]\nnames = ["**"]\nprotocol = "fqmp"', "'fqmp'"),
        ("[protocols.pigeon]\nloft = 1", "no IBusProtocol 'pigeon' is installed"),
        ('[access]\nauthorizers = ["rulez"]', "no IAuthorizer 'rulez' is installed"),
        ('retained_store = "papyrus"', "no IRetainedStoreMaker 'papyrus' is installed"),
        ('schedule_store = "papyrus"', "no IScheduleStoreMaker 'papyrus' is installed"),
        ("[stores.memory]\nsize = 1", r"stores\.memory\.size"),
    ],
)
def test_what_is_not_installed_cannot_be_asked_for(plugs: Plugs, text: str, complaint: str) -> None:
    """Above all no authorizer: a bus without one that was to deny would be open."""
    with pytest.raises(ConfigError, match=complaint):
        bus(plugs, text)


def test_a_bus_without_any_protocol_is_refused() -> None:
    """It could do nothing."""
    with pytest.raises(ConfigError, match="no protocol is installed"):
        bus(Plugs((), ()))


@implementer(IAuthorizer)
class Nobody:
    """Denies all."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.DENY


ALLOW_FAR = '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["remote"]\nnames = ["**"]\n'


def test_authorizers_are_asked_in_the_order_of_the_file(plugs: Plugs) -> None:
    """The rules come first unless the file says otherwise, and those not named are not asked."""
    with_nobody = Plugs((*plugs.found, Plug(IAuthorizer, "nobody", "a vendor", Nobody())), ())
    assert bus(with_nobody, ALLOW_FAR).router.authorize(FAR, Action.PUBLISH, b"a")
    order = '[access]\nauthorizers = ["nobody", "rules"]\n'
    assert not bus(with_nobody, order + ALLOW_FAR).router.authorize(FAR, Action.PUBLISH, b"a")


def test_by_default_only_local_peers_may_do_anything(plugs: Plugs) -> None:
    """Also end the bus."""
    router = bus(plugs).router
    assert router.authorize(LOCAL, Action.CONTROL, b"$/signals/stop")
    assert not router.authorize(FAR, Action.SUBSCRIBE, b"a")


def test_no_authorizer_at_all_is_a_no_to_everybody(plugs: Plugs) -> None:
    """Nothing fails open."""
    router = bus(plugs, "[access]\nauthorizers = []").router
    assert not router.authorize(LOCAL, Action.PUBLISH, b"a")


def test_a_reload_takes_over_the_rules(plugs: Plugs) -> None:
    """And forgets answers given under the old ones."""
    one = bus(plugs)
    assert not one.router.authorize(FAR, Action.PUBLISH, b"a")
    one.reload(parse_config(ALLOW_FAR, "bus.toml"))
    assert one.router.authorize(FAR, Action.PUBLISH, b"a")


def test_a_reload_with_rules_that_cannot_be_meant_changes_nothing(plugs: Plugs) -> None:
    """The old rules stay."""
    one = bus(plugs, ALLOW_FAR)
    with pytest.raises(ConfigError, match="'fqmp'"):
        one.reload(parse_config(ALLOW_FAR.replace("allow", "deny") + 'protocol = "fqmp"', "bus.toml"))
    assert one.router.authorize(FAR, Action.PUBLISH, b"a")


def test_a_reload_without_rules_closes_again(plugs: Plugs) -> None:
    """An emptied file is a valid one, and opens nothing."""
    one = bus(plugs, ALLOW_FAR)
    one.reload(Config())
    assert not one.router.authorize(FAR, Action.PUBLISH, b"a")


class Order:
    """Writes down in which order a bus stops its parts, which take as long as the test wants."""

    def __init__(self, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.listener_done: Deferred[None] = Deferred()
        self.router_done: Deferred[None] = Deferred()
        (listener,) = bus.listeners
        monkeypatch.setattr(listener, "stopService", lambda: self._ask("listener", self.listener_done))
        monkeypatch.setattr(bus.router, "stopService", lambda: self._ask("router", self.router_done))

    def _ask(self, name: str, done: Deferred[None]) -> Deferred[None]:
        self.asked.append(name)
        return done


def test_the_bus_stops_accepting_before_it_drains(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    """FMQP, section Service topics, steps 1 and 2."""
    one = bus(plugs, ONE_LISTENER)
    order = Order(one, monkeypatch)
    stopped = one.stopService()
    assert order.asked == ["listener"]
    order.listener_done.callback(None)
    assert order.asked == ["listener", "router"]
    assert not stopped.called
    order.router_done.callback(None)
    assert stopped.called


def test_a_drain_can_be_broken_off(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever is in a hurry, as often as he likes."""
    one = bus(plugs, ONE_LISTENER)
    order = Order(one, monkeypatch)
    order.listener_done.callback(None)
    stopped = one.stopService()
    one.stop_at_once()
    one.stop_at_once()
    assert stopped.called


def test_a_stop_at_once_does_not_even_begin_to_drain(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    """But the ports are closed, for UNIX sockets leave files behind."""
    one = bus(plugs, ONE_LISTENER)
    order = Order(one, monkeypatch)
    order.listener_done.callback(None)
    one.stop_at_once()
    assert one.stopService().called
    assert order.asked == ["listener"]


def test_a_bad_certificate_does_not_keep_the_rules_from_a_reload(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported with its listener, which goes on with the old one."""
    one = bus(plugs, ONE_LISTENER)
    (listener,) = one.listeners

    def fail() -> None:
        raise ConfigError("cert.pem: no certificate in it")

    monkeypatch.setattr(listener, "reload", fail)
    with capturedLogs() as events:
        one.reload(parse_config(ALLOW_FAR, "bus.toml"))
    assert any("keeps its certificate or keys: cert.pem" in (formatEvent(event) or "") for event in events)
    assert one.router.authorize(FAR, Action.PUBLISH, b"a")


def test_a_changed_list_of_authorizers_waits_for_the_next_start(plugs: Plugs) -> None:
    """As the log says; until then those named at the start decide."""
    one = bus(plugs)
    with capturedLogs() as events:
        one.reload(parse_config("[access]\nauthorizers = []", "bus.toml"))
    assert any("changes of access wait" in (formatEvent(event) or "") for event in events)
    assert one.router.authorize(LOCAL, Action.PUBLISH, b"a")
