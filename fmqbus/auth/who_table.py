"""Which of very many sets of principals does one belong to, without asking each?

What a `Who` looks at can be looked up: a name, a group, a certificate, a key, a UNIX user, or the network of an
address, one lookup for each length of a prefix that is in use. What is not known here is asked, as `Who` itself is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import TypeAlias

from fmqbus.auth.who import Who, host_of_facts
from fmqbus.model import Principal

_Key: TypeAlias = tuple[str, str | int]
_Network: TypeAlias = tuple[int, int]


class WhoTable:
    """Sets of principals, each with the bits that it stands for."""

    def __init__(self) -> None:
        self._by_key: dict[_Key, int] = {}
        #: Version and bits that do not count → what is left of the address → bits.
        self._by_network: dict[_Network, dict[int, int]] = {}
        self._others: dict[str, tuple[Who, int]] = {}

    def add(self, who: Who, bits: int) -> None:
        """Members of this set have these bits."""
        kind, _, value = who.text.partition(":")
        if kind == "address":
            network = ipaddress.ip_network(value)
            shift = network.max_prefixlen - network.prefixlen
            table = self._by_network.setdefault((network.version, shift), {})
            place = int(network.network_address) >> shift
            table[place] = table.get(place, 0) | bits
        elif (key := _key(kind, value)) is not None:
            self._by_key[key] = self._by_key.get(key, 0) | bits
        else:
            _, former = self._others.get(who.text, (who, 0))
            self._others[who.text] = who, former | bits

    def bits_of(self, principal: Principal) -> int:
        """Those of all sets that it belongs to."""
        found = 0
        if self._by_key:
            for key in _keys(principal):
                found |= self._by_key.get(key, 0)
        if self._by_network and (address := host_of_facts(principal.facts)) is not None:
            version, number = address.version, int(address)
            for (other, shift), table in self._by_network.items():
                if other == version:
                    found |= table.get(number >> shift, 0)
        for who, bits in self._others.values():
            if who.includes(principal):
                found |= bits
        return found


def _key(kind: str, value: str) -> _Key | None:
    match kind:
        case "identity" | "group" | "key" if value:
            return kind, value
        case "cert":
            return kind, value.replace(":", "").lower()
        case "san":
            return kind, value.lower() if value.startswith("dns:") else value
        case "uid":
            return kind, int(value)
    return None


def _keys(principal: Principal) -> Iterator[_Key]:
    facts = principal.facts
    if principal.identity is not None:
        yield "identity", principal.identity
    for group in principal.groups:
        yield "group", group
    if facts.certificate_fingerprint:
        yield "cert", facts.certificate_fingerprint
    for name in facts.certificate_names:
        yield "san", name.lower() if name.lower().startswith("dns:") else name
    if facts.curve_key:
        yield "key", facts.curve_key
    if facts.uid is not None:
        yield "uid", facts.uid
