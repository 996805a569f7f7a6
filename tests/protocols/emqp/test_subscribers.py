"""What do ZeroMQ's subscribers want of the bus?"""

from __future__ import annotations

from fmqbus.model import PeerFacts
from fmqbus.protocols.emqp.subscribers import MOST_LEVELS, Subscribers
from tests.protocols.emqp.memory_place import MemorySocket, Place


def test_a_wish_that_was_refused_takes_nothing_from_another_when_it_goes() -> None:
    """Both are wishes for the same patterns; only one of them was counted. (eMQP, Publisher)"""
    place = Place(f"[limits]\nwildcards_per_peer = {MOST_LEVELS - 1}")
    socket = MemorySocket("pubout")
    subscribers = Subscribers(place.router, PeerFacts("tcp", "127.0.0.1", is_local=True), socket)
    publisher = place.bystander()
    subscribers.wished(b"\1other/x")
    subscribers.wished(b"\1topic/1")
    subscribers.wished(b"\0other/x")
    publisher.publish(b"topic/1", b"nobody")
    subscribers.wished(b"\1topic/2")
    subscribers.wished(b"\0topic/1")
    publisher.publish(b"topic/2", b"heard")
    place.wait()
    assert [message for _, message in socket.sent.get(b"", [])] == [b"heard"]
    subscribers.wished(b"\0topic/2")
    publisher.publish(b"topic/2", b"nobody")
    place.wait()
    assert len(socket.sent[b""]) == 1


def test_wishes_are_bounded() -> None:
    """By what one client may subscribe to, though they are for the same patterns; what is too much is counted, and its
    end ends nothing. (eMQP, Publisher)"""
    most = MOST_LEVELS + 4
    place = Place(f"[limits]\nsubscriptions_per_peer = {most}")
    socket = MemorySocket("pubout")
    subscribers = Subscribers(place.router, PeerFacts("tcp", "127.0.0.1", is_local=True), socket)
    for number in range(most + 1):
        subscribers.wished(b"\1topic/%d" % number)
    assert place.drops == {"overloaded": 1}
    subscribers.wished(b"\0topic/%d" % most)
    place.bystander().publish(b"topic/1", b"heard")
    place.wait()
    assert [message for _, message in socket.sent[b""]] == [b"heard"]
