"""What do two sides agree on? The three steps of the handshake, as functions. (MicroMsg2, Extension negotiation)

1. The client says what it requires and what it suggests: `request`.
2. The server repeats what the client requires, since the real client needs that (reading 12), adds what it requires
   itself, picks from the client's suggestions and adds its own: `answer`.
3. The client says what is really used: `conclude`. That is the truth for both (reading 14): `agree` numbers it.

An extension of the other side's that we do not have, or whose properties we cannot do, is no different from one
another: where it is required, there is no connection; where it is suggested, it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import attrs

from fmqbus.errors import ConfigError, PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.micromsg2.handshake import MAX_EXTENSIONS, Entries, Entry, Handshake


def _by_every_name(extensions: Iterable[IMicroMsg2Extension]) -> dict[str, IMicroMsg2Extension]:
    return {name: extension for extension in extensions for name in (extension.name, *extension.aliases)}


@attrs.frozen(kw_only=True)
class Offer:
    """What one side brings to its handshakes."""

    identity: bytes
    #: All that it is ready to speak, by every name. A client takes from a server's suggestions what is in here.
    extensions: Mapping[str, IMicroMsg2Extension] = attrs.field(converter=_by_every_name)
    required: Entries = ()
    suggested: Entries = ()
    limits: Limits = DEFAULT_LIMITS

    def __attrs_post_init__(self) -> None:
        """Raises `ConfigError` for an extension, or properties of it, that we would refuse ourselves."""
        for entry in (*self.required, *self.suggested):
            try:
                self.answered(entry)
            except PeerError as error:
                raise ConfigError(str(error)) from None

    def find(self, entry: Entry) -> IMicroMsg2Extension:
        """The extension that an entry means. Raises `PeerError` if we have none such."""
        extension = self.extensions.get(entry.name)
        if extension is None:
            raise PeerError(f"unsupported extension: {entry.name}", "extension")
        return extension

    def answered(self, entry: Entry) -> Entry:
        """The other side's entry with what of its properties we can do, otherwise as it wrote it. Raises `PeerError`
        if that is nothing."""
        changes = dict(self.find(entry).answer(properties_of(entry), self.limits))
        kept = [(name, changes.pop(name.lower(), value)) for name, value in entry.properties]
        return attrs.evolve(entry, properties=(*kept, *changes.items()))


@attrs.frozen
class Agreed:
    """An extension in use on a connection."""

    #: By which EXTENSION frames name it.
    index: int
    extension: IMicroMsg2Extension
    #: By name in lower case.
    properties: Mapping[str, str]


def request(offer: Offer) -> Handshake:
    """A client's first step."""
    return Handshake(identity=offer.identity, required=offer.required, optional=offer.suggested)


def answer(offer: Offer, request: Handshake) -> Handshake:
    """A server's step. Raises `PeerError` where there can be no connection; its text is for the ERROR."""
    check_version(request)
    lists = _Lists(offer)
    for entry in request.required:
        lists.require(offer.answered(entry))
    for entry in offer.required:
        lists.require(entry)
    for entry in request.optional:
        with suppress(PeerError):
            lists.suggest(offer.answered(entry))
    for entry in offer.suggested:
        lists.suggest(entry)
    return lists.handshake()


def conclude(offer: Offer, reply: Handshake) -> Handshake:
    """A client's last step. Raises `PeerError` as `answer` does."""
    check_version(reply)
    lists = _Lists(offer)
    replied = {offer.find(entry).name: offer.answered(entry) for entry in reply.required}
    for entry in offer.required:
        answered = replied.get(offer.find(entry).name)
        lists.require(answered if answered and answered.properties else entry)
    for entry in replied.values():
        lists.require(entry)
    for entry in reply.optional:
        with suppress(PeerError):
            lists.suggest(offer.answered(entry))
    return lists.handshake()


def agree(offer: Offer, reply: Handshake, final: Handshake) -> tuple[Agreed, ...]:
    """What is in use after the last step, on either side. Of extensions that are a choice it is the first (reading 20);
    the others have their index all the same. What the last step does not say of an extension, the server's said.

    Raises `PeerError` if the client names what we do not have, or leaves out what we required (reading 16).
    """
    check_version(final)
    said = {entry.name: properties_of(entry) for entry in (*reply.required, *reply.optional)}
    numbered: dict[str, Entry] = {}
    for entry in (*final.required, *final.optional):
        numbered.setdefault(entry.name, entry)
    if len(numbered) > MAX_EXTENSIONS:
        raise PeerError(f"more than {MAX_EXTENSIONS} extensions", "extensions")
    used = _Used()
    agreed = []
    for index, entry in enumerate(numbered.values(), 1):
        extension = offer.find(entry)
        if not used.is_chosen(extension) and used.add(extension):
            written = properties_of(entry)
            rest = {name: value for name, value in said.get(entry.name, {}).items() if name not in written}
            agreed.append(Agreed(index, extension, {**written, **rest}))
    there = {offer.find(entry).name for entry in numbered.values()}
    for entry in offer.required:
        if offer.find(entry).name not in there:
            raise PeerError(f"required extension is missing: {entry.name}", "extension")
    return tuple(agreed)


def check_version(handshake: Handshake) -> None:
    """The lower version is used, which is ours, 1.0, of all but a version 0 (reading 2). Raises `PeerError` for
    that."""
    if handshake.major == 0:
        raise PeerError(f"version {handshake.major}.{handshake.minor} is not spoken, but 1.0", "version")


def properties_of(entry: Entry) -> Mapping[str, str]:
    """By name in lower case."""
    return {name.lower(): value for name, value in entry.properties}


class _Used:
    """Extensions, each only once."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._choices: set[str] = set()

    def add(self, extension: IMicroMsg2Extension) -> bool:
        """Use an extension. Returns False if it is used already."""
        if extension.name in self._names:
            return False
        self._names.add(extension.name)
        self._choices.add(extension.choice)
        return True

    def is_chosen(self, extension: IMicroMsg2Extension) -> bool:
        """Whether the extension is a choice that has been made."""
        return bool(extension.choice) and extension.choice in self._choices


class _Lists:
    """The two lists of a handshake in the making."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._used = _Used()
        self._required: list[Entry] = []
        self._optional: list[Entry] = []

    def require(self, entry: Entry) -> None:
        if self._used.add(self._offer.find(entry)):
            self._required.append(entry)

    def suggest(self, entry: Entry) -> None:
        extension = self._offer.find(entry)
        if not self._used.is_chosen(extension) and self._used.add(extension):
            self._optional.append(entry)

    def handshake(self) -> Handshake:
        return Handshake(identity=self._offer.identity, required=tuple(self._required), optional=tuple(self._optional))
