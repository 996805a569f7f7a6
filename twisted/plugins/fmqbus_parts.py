"""The parts that come with fmqbus, registered as a vendor would register his."""

from fmqbus.auth.defaults import LocalPeers
from fmqbus.protocols.fmqp.plug import FMQP as fmqp
from fmqbus.stores.memory import MemoryStore
from fmqbus.transports.carriers import haproxy, ssl, systemd, tcp, tcp6, unix

local = LocalPeers()
memory = MemoryStore()

__all__ = ["fmqp", "haproxy", "local", "memory", "ssl", "systemd", "tcp", "tcp6", "unix"]
