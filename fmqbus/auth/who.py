"""Which peers does a rule speak of?

Each word of a rule's ``who`` looks at one thing that is known of a peer without its own saying so: what its
carrier vouches for, or what it has proved.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from fmqbus.errors import ConfigError
from fmqbus.model import PeerFacts, Principal

Test = Callable[[Principal], bool]


class Who:
    """A set of principals, as written in a rule."""

    __slots__ = ("_test", "reaches_out", "text")

    def __init__(self, text: str) -> None:
        """Read a word of `FORMS`; raises `ConfigError`."""
        self.text = text
        kind, _, value = text.partition(":")
        #: True if some peer on another machine can belong to the set.
        self.reaches_out = kind not in ("local", "uid")
        if text in _PLAIN:
            self._test = _PLAIN[text]
        elif kind in _NAMED and value:
            try:
                self._test = _NAMED[kind](value)
            except ValueError as error:
                raise ConfigError(f"{text!r}: {error}") from None
        else:
            raise ConfigError(f"{text!r} names nobody; write one of {', '.join(FORMS)}")

    def __repr__(self) -> str:
        return f"Who({self.text!r})"

    def includes(self, principal: Principal) -> bool:
        """Tell whether the principal belongs to the set."""
        return self._test(principal)


def _identity(name: str) -> Test:
    return lambda principal: principal.identity == name


def _group(name: str) -> Test:
    return lambda principal: name in principal.groups


def _certificate(fingerprint: str) -> Test:
    digits = fingerprint.replace(":", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise ValueError("a SHA-256 fingerprint has 64 hexadecimal digits")
    return lambda principal: principal.facts.certificate_fingerprint == digits


def _certificate_name(name: str) -> Test:
    kind, _, value = name.partition(":")
    if kind not in ("dns", "uri", "email") or not value:
        raise ValueError("write dns:NAME, uri:NAME or email:NAME after san:")
    if kind == "dns":
        # Host names have no case; a certificate may have any.
        folded = name.lower()
        return lambda principal: any(known.lower() == folded for known in principal.facts.certificate_names)
    return lambda principal: name in principal.facts.certificate_names


def _curve_key(key: str) -> Test:
    if not re.fullmatch(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}", key):
        raise ValueError("a CURVE key has 40 letters of Z85, as `fmqbus keys show` writes it")
    return lambda principal: principal.facts.curve_key == key


def _uid(number: str) -> Test:
    uid = int(number)
    return lambda principal: principal.facts.uid == uid


def _address(network_text: str) -> Test:
    network = ipaddress.ip_network(network_text)

    def is_inside(principal: Principal) -> bool:
        address = host_of_facts(principal.facts)
        return address is not None and address in network

    return is_inside


def host_of_facts(facts: PeerFacts) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that rules look at; None where there is none."""
    return _host(facts.address)


@lru_cache(4096)
def _host(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read once for all the rules that look at it, for it takes longer than all else."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:  # carriers without addresses, such as UNIX sockets
        return None
    # A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d; rules are written for a.b.c.d.
    return getattr(address, "ipv4_mapped", None) or address


_PLAIN: Mapping[str, Test] = {
    "*": lambda principal: True,
    "local": lambda principal: principal.facts.is_local,
    "remote": lambda principal: not principal.facts.is_local,
}

_NAMED: Mapping[str, Callable[[str], Test]] = {
    "identity": _identity,
    "group": _group,
    "cert": _certificate,
    "san": _certificate_name,
    "key": _curve_key,
    "uid": _uid,
    "address": _address,
}

#: All that may be written, for messages and documentation.
FORMS = (*_PLAIN, *(f"{kind}:..." for kind in _NAMED))
