"""eMQP messages as they are written on TCP, taken apart."""

from __future__ import annotations

from tests import vectors
from tests.vectors.zmtp import messages

#: Each vector's parts by its name.
VECTORS = {vector.name: next(messages(vector.octets)) for vector in vectors.load("emqp")}
