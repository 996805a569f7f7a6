"""Calls among UMQ clients, and what the bus itself answers (UMQ, Commands C, B, R, E)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.calls import FailedAttachment, Parcel
from fmqbus.errors import CallFailed, Refused
from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.limits import Limits
from fmqbus.model import Action
from fmqbus.protocols.umq.methods.arguments import Arguments, Result
from fmqbus.testing.bus import MemoryClient, OpenPolicy
from tests.protocols.umq.clients import BUILT_IN, Client, greeted, make_bus


def server_of(bus: Any, method: str = "sum", **options: Any) -> Client:
    """A client that serves a method."""
    client = greeted(bus)
    assert client.ask("1", "serve", method, options) == ["R1:null"]
    return client


def test_a_call_goes_to_who_serves_it_and_its_result_comes_back() -> None:
    """As an array, method first; ids are each side's own (UMQ, Command C, Command R; reading 25)."""
    bus = make_bus()
    server, caller = server_of(bus), greeted(bus)
    assert caller.ask("5AX12", "sum", 1, 2, {"deep": [None, "ü"]}) == []
    assert server.heard() == ['C1:["sum",1,2,{"deep": [null, "\\u00fc"]}]']
    assert server.say("R1:3") == []
    assert caller.heard() == ["R5AX12:3"]


def test_attachments_pass_both_ways_also_those_that_failed() -> None:
    """UMQ, Command R, Command -; reading 15."""
    bus = make_bus()
    server, caller = server_of(bus, "file"), greeted(bus)
    caller.say('A2:C7:["file"]', b"\0\xff", "-:lost")
    assert server.heard() == ['A2:C1:["file"]', b"\0\xff", "-:lost"]
    server.say('A1:R1:"here"', b"duck")
    assert caller.heard() == ['A1:R7:"here"', b"duck"]


def test_a_servers_error_is_the_callers() -> None:
    """Its code and its text, or its text alone (UMQ, Command E; reading 27)."""
    bus = make_bus()
    server, caller = server_of(bus), greeted(bus)
    caller.ask("1", "sum")
    caller.ask("2", "sum")
    server.say("E1:418 I'm teapot", "E2:just text")
    assert caller.heard() == ["E1:418 I'm teapot", "E2:0 just text"]


def test_nobody_serves_it() -> None:
    """Code 7, at once (reading 23)."""
    (refused,) = greeted(make_bus()).ask("1", "no-such-method", 1)
    assert str(refused).startswith("E1:7 ")


def test_a_server_that_goes_fails_its_calls_and_a_caller_that_goes_harms_nobody() -> None:
    """Code 8; later results are ignored (reading 26)."""
    bus = make_bus()
    server, caller, other = server_of(bus), greeted(bus), greeted(bus)
    caller.ask("1", "sum")
    other.ask("1", "sum")
    other.session.link_lost("gone")
    server.heard()
    assert server.say("R2:late") == []
    server.session.link_lost("gone")
    (failed,) = caller.heard()
    assert str(failed).startswith("E1:8 ")


def test_a_call_has_a_deadline() -> None:
    """Its own or the method's; what is said after it is ignored."""
    clock = Clock()
    bus = make_bus(clock)
    server, caller = server_of(bus), greeted(bus)
    caller.ask("1", "call", "sum", [1], {"deadline": 2.5, "properties": {"key": "k"}})
    assert server.heard() == ['C1:["sum",1]']
    clock.advance(2.5)
    (failed,) = caller.heard()
    assert str(failed).startswith("E1:8 ")
    assert server.say("R1:late") == []
    assert caller.heard() == []


def test_a_server_that_left_calls_unanswered_gets_new_ones_and_the_old_are_forgotten() -> None:
    """Once the bus has given them up: then their answers are for nobody (reading 26)."""
    clock = Clock()
    bus = make_bus(clock, limits=Limits(calls_in_hand_per_peer=2))
    server, caller = server_of(bus), greeted(bus)
    for _ in range(3):
        caller.ask("1", "sum", 1)
        caller.ask("2", "sum", 2)
        assert len(server.heard()) == 2
        clock.advance(31)
        assert [str(unit)[:4] for unit in caller.heard()] == ["E1:8", "E2:8"]
    caller.ask("1", "sum", 3)
    server.say("R1:1", "R7:7")
    assert caller.heard() == ["R1:7"]


def test_servers_take_turns_and_each_has_a_window() -> None:
    """What is beyond the windows waits."""
    bus = make_bus()
    servers = [server_of(bus, window=1), server_of(bus, window=1)]
    caller = greeted(bus)
    for number in range(3):
        caller.ask(f"{number + 1}", "sum", number)
    assert [server.heard() for server in servers] == [['C1:["sum",0]'], ['C1:["sum",1]']]
    assert servers[1].say("R1:null") == ['C2:["sum",2]']


def test_serving_ends_by_unserve_and_begins_anew() -> None:
    """What the client has in hand it still answers."""
    bus = make_bus()
    server, caller = server_of(bus), greeted(bus)
    caller.ask("1", "sum")
    server.heard()
    assert server.ask("2", "unserve", "sum") == ["R2:true"]
    assert server.ask("3", "unserve", "sum") == ["R3:false"]
    assert str(caller.ask("2", "sum")[0]).startswith("E2:7 ")
    server.say("R1:3")
    assert caller.heard() == ["R1:3"]
    assert server.ask("4", "serve", "sum") == ["R4:null"]
    assert caller.ask("3", "list") == ['R3:[{"method":"sum","servers":1}]']


def test_methods_that_may_not_be_called_are_not_told() -> None:
    """Their names are nobody else's business."""
    policy = OpenPolicy()
    bus = make_bus(authorizers=[policy])
    server = server_of(bus)
    server.ask("2", "serve", "secret")
    policy.deny(Action.CALL, b"secret")
    assert greeted(bus).ask("1", "list") == ['R1:[{"method":"sum","servers":1}]']


def test_serving_twice_is_serving_once() -> None:
    """The later word counts."""
    bus = make_bus()
    server = server_of(bus)
    server.ask("2", "serve", "sum", {"window": 1})
    assert greeted(bus).ask("1", "list") == ['R1:[{"method":"sum","servers":1}]']


def test_a_callback_brings_one_call_and_then_serves_no_more() -> None:
    """UMQ, Command B; readings 29 and 30."""
    bus = make_bus()
    server, caller = server_of(bus, callback="4454"), greeted(bus)
    caller.ask("1", "sum", 1)
    assert server.heard() == ['B1:4454:["sum",1]']
    assert str(caller.ask("2", "sum", 2)[0]).startswith("E2:7 ")
    server.say("R1:3")
    assert caller.heard() == ["R1:3"]
    assert server.ask("2", "serve", "sum", {"callback": "4455"}) == ["R2:null"]
    caller.ask("3", "sum", 3)
    assert server.heard() == ['B2:4455:["sum",3]']


def test_calls_that_wait_behind_a_callback_fail_when_it_is_called() -> None:
    """It is called once, and then nobody is there for them: they are told in the very turn (reading 29)."""
    bus = make_bus()
    server, caller = server_of(bus, callback="4454"), greeted(bus)
    heard = caller.say('C1:["sum",1]', 'C2:["sum",2]')
    assert server.heard() == ['B1:4454:["sum",1]']
    assert [str(each)[:5] for each in heard] == ["E2:7 "]


def test_results_are_taken_from_nobody_but_the_one_who_was_asked() -> None:
    """By whatever id another says one (reading 26); the caller gets the server's."""
    bus = make_bus()
    server, caller, forger = server_of(bus), greeted(bus), greeted(bus)
    caller.ask("A", "sum", 1)
    assert server.heard() == ['C1:["sum",1]']
    assert forger.say("R1:666", "RA:666", "E1:1 no", "EA:1 no", "A1:R1:666", b"666") == []
    assert caller.say("RA:666", "R1:666") == []
    server.say("R1:3")
    assert caller.heard() == ["RA:3"]


def test_callbacks_of_the_bus_are_unknown() -> None:
    """It registers none: E with code 2 (reading 28)."""
    (refused,) = greeted(make_bus()).say("B63:4454:work")
    assert str(refused).startswith("E63:2 ")


def test_calls_from_other_protocols_are_an_argument_or_an_attachment() -> None:
    """Text and octets as they are; nothing for nothing."""
    bus = make_bus()
    server, caller = server_of(bus), MemoryClient(bus)
    for payload in ("grüße".encode(), b"\xff", b""):
        caller.call(b"sum", payload)
    assert server.heard() == ['C1:["sum","grüße"]', 'A1:C2:["sum"]', b"\xff", 'C3:["sum"]']


@pytest.mark.parametrize(
    ("payload", "heard"),
    [(b"text", ['R1:"text"']), (b"\xff", ["A1:R1:null", b"\xff"]), (b"", ["R1:null"])],
)
def test_answers_from_other_protocols(payload: bytes, heard: list[str | bytes]) -> None:
    """As calls are."""
    bus = make_bus()
    server, caller = MemoryClient(bus), greeted(bus)
    server.serve(b"sum")
    caller.ask("1", "sum", 1)
    (call,) = server.asked
    server.session.reply(call, Parcel(payload))
    server.session.flush()
    assert caller.heard() == heard


def test_rights_are_asked() -> None:
    """To call and to serve: code 1."""
    policy = OpenPolicy()
    policy.deny(Action.CALL, b"sum")
    policy.deny(Action.SERVE, b"mul")
    bus = make_bus(authorizers=[policy])
    server_of(bus)
    client = greeted(bus)
    assert str(client.ask("1", "sum")[0]).startswith("E1:1 ")
    assert str(client.ask("2", "serve", "mul")[0]).startswith("E2:1 ")


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "x",
        "{}",
        "[]",
        "[1]",
        '["publish"]',
        '["publish",1]',
        '["publish","a","x",{},"more"]',
        '["publish","a","x",{"retain":"yes"}]',
        '["publish","a","\\ud800"]',
        '["call"]',
        '["call","sum",{}]',
        '["call","sum",[1],{"deadline":0}]',
        '["serve","sum",{"window":0}]',
        '["serve","$/x"]',
        '["subscribe","a","-1"]',
        "[" * 100_000,
        '["no-such-method",' + "[" * 100_000,
        '["publish","a","x"',
    ],
)
def test_what_cannot_be_read_is_answered_by_an_error(payload: str) -> None:
    """Code 3, or 7 for a method that nobody serves, and never the end (reading 23)."""
    client = greeted(make_bus())
    (refused,) = client.say(f"C1:{payload}")
    assert str(refused).startswith(("E1:3 ", "E1:7 "))
    assert client.say("S:still=here") == []
    assert client.link.calls == []


class PriceArguments(Arguments, frozen=True):
    """What the vendor's method takes."""

    item: str


@implementer(IPlugin, IUMQMethod)
class Price:
    """A vendor's method."""

    name = "acme/price"
    summary = "what an item costs"
    arguments = PriceArguments

    def __init__(self) -> None:
        self.later: Deferred[Any] = Deferred()

    def call(self, caller: IUMQCaller, arguments: PriceArguments, attachments: Sequence[Any]) -> Any:
        answers = {
            "tea": 3.5,
            "picture": Result({"size": 1}, [b"\xff", FailedAttachment("lost")]),
            "later": self.later,
            "secret": {1, object()},
            "wrapped": Result(object(), ()),
        }
        if arguments.item == "gold":
            raise CallFailed("not for sale", 402)
        if arguments.item == "broken":
            raise RuntimeError("a fault of the vendor")
        if arguments.item == "attribute":
            return caller.attributes["name"].text
        return answers[arguments.item]


def test_a_vendors_method_is_called_as_the_buses_own() -> None:
    """It returns what JSON can say, attachments, or a Deferred; or raises."""
    price = Price()
    assert verifyObject(IUMQMethod, price)
    client = greeted(make_bus(), methods=[*BUILT_IN, price])
    assert client.ask("1", "acme/price", "tea") == ["R1:3.5"]
    assert client.ask("2", "acme/price", "picture") == ['A2:R2:{"size":1}', b"\xff", "-:lost"]
    assert client.ask("3", "acme/price", "gold") == ["E3:402 not for sale"]
    assert str(client.ask("4", "acme/price", "broken")[0]).startswith("E4:8 ")
    client.say("S:name=me")
    assert client.ask("5", "acme/price", "attribute") == ['R5:"me"']
    assert client.ask("6", "acme/price", "later") == []
    assert client.ask("7", "acme/price", "later") == []
    price.later.callback(1)
    assert client.heard() == ["R6:1", "R7:null"]


@pytest.mark.parametrize(
    ("error", "code"), [(Refused("no"), 1), (CallFailed("no", 9), 9), (RuntimeError("a fault"), 8)]
)
def test_a_vendors_method_may_fail_later(error: Exception, code: int) -> None:
    """What went wrong inside is not the caller's business."""
    price = Price()
    client = greeted(make_bus(), methods=[price])
    client.ask("1", "acme/price", "later")
    price.later.errback(error)
    (failed,) = client.heard()
    assert str(failed).startswith(f"E1:{code} ")


@pytest.mark.parametrize("item", ["secret", "wrapped", "later"])
def test_a_vendors_answer_that_json_cannot_say_is_a_failure_of_the_method(item: str) -> None:
    """Of that call alone: the client goes on."""
    price = Price()
    client = greeted(make_bus(), methods=[price])
    heard = client.ask("1", "acme/price", item)
    price.later.callback(object())
    (failed,) = heard or client.heard()
    assert str(failed).startswith("E1:8 ")
    assert client.ask("2", "acme/price", "tea") == ["R2:3.5"]


def test_the_methods_of_the_bus_keep_their_contract() -> None:
    """Those that come with fmqbus, as installed parts."""
    assert {method.name for method in BUILT_IN} == {
        *("publish", "retain", "will", "subscribe", "watch", "unsubscribe"),
        *("enqueue", "put_batch", "consume", "settle", "serve", "unserve", "call", "list", "schedule", "unschedule"),
    }
    assert all(verifyObject(IUMQMethod, method) for method in BUILT_IN)


def test_unanswered_calls_are_bounded() -> None:
    """Those that a client makes."""
    bus = make_bus(limits=Limits(calls_per_peer=1))
    server_of(bus)
    caller = greeted(bus)
    caller.ask("1", "sum")
    (refused,) = caller.ask("2", "sum")
    assert str(refused).startswith("E2:1 ")
