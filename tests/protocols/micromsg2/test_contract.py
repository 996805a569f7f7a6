"""Do the extensions of the specification keep the contract that vendors' must keep? (MicroMsg2, Extensions)"""

from __future__ import annotations

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.protocols.micromsg2.extensions.acknowledgement import ACK, BATCH_ACK
from fmqbus.protocols.micromsg2.extensions.dotnet import DOTNET
from fmqbus.protocols.micromsg2.extensions.pubsub import PUBSUB
from fmqbus.protocols.micromsg2.extensions.serializers import JSON, PROTOBUF, XML
from fmqbus.testing.contracts.micromsg2_extension import MicroMsg2ExtensionContract


class TestAck(MicroMsg2ExtensionContract):
    """One message at a time."""

    def make_extension(self) -> IMicroMsg2Extension:
        return ACK


class TestAckAsTheRealClientWantsIt(MicroMsg2ExtensionContract):
    """Several at a time (reading 23)."""

    properties = "MessagesPerAck=10,AckExpireTime=1000"

    def make_extension(self) -> IMicroMsg2Extension:
        return ACK


class TestBatchAck(MicroMsg2ExtensionContract):
    """Up to a number."""

    properties = "max-count=7"

    def make_extension(self) -> IMicroMsg2Extension:
        return BATCH_ACK


class TestPubSub(MicroMsg2ExtensionContract):
    """Subscribing."""

    def make_extension(self) -> IMicroMsg2Extension:
        return PUBSUB


class TestDotNet(MicroMsg2ExtensionContract):
    """Types."""

    def make_extension(self) -> IMicroMsg2Extension:
        return DOTNET


class TestJSON(MicroMsg2ExtensionContract):
    """An agreement."""

    def make_extension(self) -> IMicroMsg2Extension:
        return JSON


class TestXML(MicroMsg2ExtensionContract):
    """An agreement."""

    def make_extension(self) -> IMicroMsg2Extension:
        return XML


class TestProtobuf(MicroMsg2ExtensionContract):
    """An agreement."""

    def make_extension(self) -> IMicroMsg2Extension:
        return PROTOBUF
