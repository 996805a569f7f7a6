"""The parts that come with fmqbus, registered as a vendor would register his."""

from fmqbus.auth.defaults import LocalPeers
from fmqbus.management.queues import QUEUES as manage_queues
from fmqbus.protocols.fmqp.plug import FMQP as fmqp
from fmqbus.protocols.micromsg2.extensions.acknowledgement import ACK as ack
from fmqbus.protocols.micromsg2.extensions.acknowledgement import BATCH_ACK as batch_ack
from fmqbus.protocols.micromsg2.extensions.dotnet import DOTNET as dotnet
from fmqbus.protocols.micromsg2.extensions.pubsub import PUBSUB as pubsub
from fmqbus.protocols.micromsg2.extensions.serializers import JSON as json
from fmqbus.protocols.micromsg2.extensions.serializers import PROTOBUF as protobuf
from fmqbus.protocols.micromsg2.extensions.serializers import XML as xml
from fmqbus.stores.memory import MemoryStore
from fmqbus.stores.sqlite.plug import sqlite_messages, sqlite_retained
from fmqbus.transports.carriers import haproxy, ssl, systemd, tcp, tcp6, unix
from fmqbus.transports.zeromq.plug import zmq

local = LocalPeers()
memory = MemoryStore()

__all__ = [
    "ack",
    "batch_ack",
    "dotnet",
    "fmqp",
    "haproxy",
    "json",
    "local",
    "manage_queues",
    "memory",
    "protobuf",
    "pubsub",
    "sqlite_messages",
    "sqlite_retained",
    "ssl",
    "systemd",
    "tcp",
    "tcp6",
    "unix",
    "xml",
    "zmq",
]
