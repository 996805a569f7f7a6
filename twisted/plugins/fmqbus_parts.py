"""The parts that come with fmqbus, registered as a vendor would register his."""

from fmqbus.auth.defaults import LocalPeers
from fmqbus.auth.sasl.anonymous import ANONYMOUS as anonymous
from fmqbus.auth.sasl.cram_md5 import CRAM_MD5 as cram_md5
from fmqbus.auth.sasl.external import EXTERNAL as external
from fmqbus.auth.sasl.plain import PLAIN as plain
from fmqbus.auth.sasl.scram import SCRAM_SHA_256 as scram_sha_256
from fmqbus.management.queues import QUEUES as manage_queues
from fmqbus.management.schedules import SCHEDULES as manage_schedules
from fmqbus.management.status import STATUS as manage_status
from fmqbus.protocols.emqp.plug import EMQP as emqp
from fmqbus.protocols.fmqp.plug import FMQP as fmqp
from fmqbus.protocols.http.plug import HTTP as http
from fmqbus.protocols.micromsg2.extensions.acknowledgement import ACK as ack
from fmqbus.protocols.micromsg2.extensions.acknowledgement import BATCH_ACK as batch_ack
from fmqbus.protocols.micromsg2.extensions.dotnet import DOTNET as dotnet
from fmqbus.protocols.micromsg2.extensions.pubsub import PUBSUB as pubsub
from fmqbus.protocols.micromsg2.extensions.sasl import X_SASL as x_sasl
from fmqbus.protocols.micromsg2.extensions.serializers import JSON as json
from fmqbus.protocols.micromsg2.extensions.serializers import PROTOBUF as protobuf
from fmqbus.protocols.micromsg2.extensions.serializers import XML as xml
from fmqbus.protocols.micromsg2.plug import MICROMSG2 as micromsg2
from fmqbus.protocols.mtl.plug import MTL as mtl
from fmqbus.protocols.mtl.profiles.queue import QUEUE as queue_profile
from fmqbus.protocols.mtl.profiles.test import TEST as test_profile
from fmqbus.protocols.mtl.profiles.topic import TOPIC as topic_profile
from fmqbus.protocols.umq.methods.batches import put_batch
from fmqbus.protocols.umq.methods.calls import call, list_methods, serve, unserve
from fmqbus.protocols.umq.methods.queues import consume, enqueue, settle
from fmqbus.protocols.umq.methods.schedules import schedule, unschedule
from fmqbus.protocols.umq.methods.topics import publish, retain, subscribe, unsubscribe, watch, will
from fmqbus.protocols.umq.plug import UMQ as umq
from fmqbus.stores.memory import MemoryStore
from fmqbus.stores.sqlite.plug import sqlite_messages, sqlite_retained, sqlite_schedules
from fmqbus.transports.carriers import haproxy, ssl, systemd, tcp, tcp6, units, unix
from fmqbus.transports.zeromq.plug import zmq

local = LocalPeers()
memory = MemoryStore()

__all__ = [
    "ack",
    "anonymous",
    "batch_ack",
    "call",
    "consume",
    "cram_md5",
    "dotnet",
    "emqp",
    "enqueue",
    "external",
    "fmqp",
    "haproxy",
    "http",
    "json",
    "list_methods",
    "local",
    "manage_queues",
    "manage_schedules",
    "manage_status",
    "memory",
    "micromsg2",
    "mtl",
    "plain",
    "protobuf",
    "publish",
    "pubsub",
    "put_batch",
    "queue_profile",
    "retain",
    "schedule",
    "scram_sha_256",
    "serve",
    "settle",
    "sqlite_messages",
    "sqlite_retained",
    "sqlite_schedules",
    "ssl",
    "subscribe",
    "systemd",
    "tcp",
    "tcp6",
    "test_profile",
    "topic_profile",
    "umq",
    "units",
    "unix",
    "unschedule",
    "unserve",
    "unsubscribe",
    "watch",
    "will",
    "x_sasl",
    "xml",
    "zmq",
]
