"""The parts that come with fmqbus, registered as a vendor would register his."""

from fmqbus.auth.defaults import LocalPeers
from fmqbus.protocols.fmqp.plug import FMQP as fmqp
from fmqbus.transports.carriers import haproxy, ssl, systemd, tcp, tcp6, unix

local = LocalPeers()

__all__ = ["fmqp", "haproxy", "local", "ssl", "systemd", "tcp", "tcp6", "unix"]
