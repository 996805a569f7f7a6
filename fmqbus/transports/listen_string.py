"""What does a listen string such as ``fmqp:tcp:7700:interface=127.0.0.1`` say?

Only its grammar: ``PROTOCOL:PREFIX:ARGUMENT:OPTION=VALUE...``, where all after the protocol is an endpoint string as
Twisted's, with the same escapes: a backslash before a colon, an equals sign or a backslash makes it an ordinary
letter. Stricter than Twisted's, arguments come before options: ``interface=::1`` without escapes would otherwise be an
empty interface, hence all of them. Which protocols and prefixes there are, and what they take, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from twisted.internet.endpoints import quoteStringArgument

from fmqbus.errors import ConfigError


@attrs.frozen
class ListenString:
    """A protocol and where it is to listen. Its text is a listen string again."""

    protocol: str
    #: The kind of endpoint; empty where only ``PROTOCOL:`` was given, which asks for the protocol's defaults.
    prefix: str = ""
    arguments: Sequence[str] = ()
    options: Mapping[str, str] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return f"{quoteStringArgument(self.protocol)}:{endpoint_string(self.prefix, self.arguments, self.options)}"


def parse_listen_string(text: str) -> ListenString:
    """Take a listen string apart. Raises `ConfigError` with the whole text in it."""
    fields = _fields(text)
    if len(fields) < 2:
        raise ConfigError(f"listen string {text!r}: a colon must follow the protocol's name, as in 'fmqp:tcp:7700'")
    (protocol, *value), (prefix, *prefix_value), *rest = fields
    if not protocol or value:
        raise ConfigError(f"listen string {text!r}: it must begin with a protocol's name")
    if prefix_value or (rest and not prefix):
        raise ConfigError(f"listen string {text!r}: a kind of endpoint must follow the protocol, as in 'fmqp:tcp:7700'")
    arguments: list[str] = []
    options: dict[str, str] = {}
    for field in rest:
        match field:
            case [argument] if options:
                raise ConfigError(
                    f"listen string {text!r}: {argument!r} follows an option; a colon within one is written \\:"
                )
            case [argument]:
                arguments.append(argument)
            case [key, _] if key in options:
                raise ConfigError(f"listen string {text!r}: {key}= is given twice")
            case [key, option]:
                options[key] = option
    return ListenString(protocol, prefix, tuple(arguments), options)


def endpoint_string(prefix: str, arguments: Sequence[str], options: Mapping[str, str]) -> str:
    """The endpoint string that means just this, as Twisted would read it."""
    words = [_quoted(word) for word in (prefix, *arguments)]
    return ":".join([*words, *(f"{_quoted(key)}={quoteStringArgument(value)}" for key, value in options.items())])


def _quoted(word: str) -> str:
    """Twisted quotes what stands after an equals sign; before one, the sign itself needs it too."""
    return str(quoteStringArgument(word)).replace("=", "\\=")


def _fields(text: str) -> list[list[str]]:
    """The fields between colons, unescaped: ``[word]``, or ``[key, value]`` parted at the first equals sign."""
    fields = [[""]]
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, None)
            if escaped is None:
                raise ConfigError(f"listen string {text!r}: nothing follows the last backslash")
            fields[-1][-1] += escaped
        elif letter == ":":
            fields.append([""])
        elif letter == "=" and len(fields[-1]) == 1:
            fields[-1].append("")
        else:
            fields[-1][-1] += letter
    return fields
