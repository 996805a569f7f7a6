"""Which extensions does the specification name? (MicroMsg2, Extensions)"""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.protocols.micromsg2.extensions.acknowledgement import ACK, BATCH_ACK
from fmqbus.protocols.micromsg2.extensions.dotnet import DOTNET
from fmqbus.protocols.micromsg2.extensions.pubsub import PUBSUB
from fmqbus.protocols.micromsg2.extensions.serializers import JSON, PROTOBUF, XML

BUILT_IN: Sequence[IMicroMsg2Extension] = (ACK, BATCH_ACK, PUBSUB, DOTNET, JSON, XML, PROTOBUF)
