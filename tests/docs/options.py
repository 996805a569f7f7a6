"""What can stand in a configuration file? Every key, with what it takes and what holds without it; and every limit."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import msgspec
from msgspec import inspect

from fmqbus.app.config import Config
from fmqbus.calls import MethodSettings
from fmqbus.limits import Limits
from fmqbus.model import QueueSettings
from fmqbus.protocols.emqp.settings import EMQPSettings
from fmqbus.protocols.fmqp.plug import Options as FMQPOptions
from fmqbus.protocols.http.plug import Options as HTTPOptions
from fmqbus.protocols.micromsg2.plug import Options as MicroMsg2Options
from fmqbus.protocols.mtl.settings import MTLSettings
from fmqbus.protocols.umq.plug import PATH
from fmqbus.stores.sqlite.options import Options as SQLiteOptions
from fmqbus.transports.websocket.settings import WebSocketSettings

#: Tables that the parts read by themselves.
PARTS = {
    "protocols.fmqp": FMQPOptions,
    "protocols.micromsg2": MicroMsg2Options,
    "protocols.umq.websocket": WebSocketSettings,
    "protocols.emqp": EMQPSettings,
    "protocols.mtl": MTLSettings,
    "protocols.http": HTTPOptions,
    "stores.sqlite": SQLiteOptions,
}
#: The page that explains a table.
PAGES = {
    "": "configuration.md",
    "outbox": "reliability.md",
    "queues": "queues.md",
    "calls": "calls.md",
    "schedules": "schedules.md",
    "journal": "pipeline/journal.md",
    "access": "access.md",
    "users": "users.md",
    "sasl": "users.md",
    "protocols.fmqp": "protocols/fmqp.md",
    "protocols.micromsg2": "protocols/micromsg2.md",
    "protocols.umq.websocket": "websocket.md",
    "protocols.emqp": "protocols/emqp.md",
    "protocols.mtl": "protocols/mtl.md",
    "protocols.http": "observability.md",
    "stores.sqlite": "durability.md",
}
#: What holds where the struct's default only says that nothing was said.
_UNSAID = {
    ("", "listen"): "all protocols for clients, at their usual places",
    ("access", "authorizers"): "`policy` if a file is named, `rules`, and then `local`",
    ("sasl", "mechanisms"): "`SCRAM-SHA-256`, `EXTERNAL` and `PLAIN` if users are known, else none",
    ("protocols.umq.websocket", "path"): f'`"{PATH}"`',
}
#: Where the defaults of tables are that rules inherit from.
_INHERITED: Mapping[str, Any] = {"queues": QueueSettings, "calls": MethodSettings}


def limits() -> str:
    """All of them, with their reasons."""
    rows = (
        "| `{}` | {:,} | {unit} | {reason} |".format(limit.name, limit.default, **limit.metadata)
        for limit in attrs.fields(Limits)
    )
    return "\n".join(("| limit | default | unit | reason |", "|---|---:|---|---|", *rows))


def tables() -> str:
    """A table for each of the file."""
    return "\n\n".join("\n".join(lines) for lines in _tables())


def _tables() -> Iterator[list[str]]:
    yield _table("", Config)
    for field in inspect.type_info(Config).fields:
        if isinstance(field.type, inspect.StructType) and field.encode_name != "limits":
            yield _table(field.encode_name, field.type.cls)
    for name, struct in PARTS.items():
        yield _table(name, struct)


def _table(name: str, struct: type[msgspec.Struct]) -> list[str]:
    heading = f"## `[{name}]`" if name else "## At the top"
    lines = [heading, "", f"Explained under [{PAGES[name].removesuffix('.md')}]({PAGES[name]}).", ""]
    return [*lines, "| key | takes | without it |", "|---|---|---|", *_rows(name, struct)]


def _rows(name: str, struct: type[msgspec.Struct]) -> Iterator[str]:
    for field in inspect.type_info(struct).fields:
        if isinstance(field.type, inspect.StructType):
            continue
        if isinstance(field.type, inspect.VarTupleType) and isinstance(field.type.item_type, inspect.StructType):
            keys = ", ".join(f"`{each.encode_name}`" for each in field.type.item_type.fields)
            yield f"| `[[{name}.{field.encode_name}]]` | tables with {keys} | none |"
            continue
        yield f"| `{field.encode_name}` | {_kind(field.type)} | {_default(name, field)} |"


def _default(table: str, field: inspect.Field) -> str:
    if said := _UNSAID.get((table, field.encode_name)):
        return said
    value = attrs.fields_dict(_INHERITED[table])[field.name].default if table in _INHERITED else field.default
    if value is inspect.NODEFAULT:
        value = None if field.default_factory is inspect.NODEFAULT else field.default_factory()
    if value is None or value in ((), {}, b""):
        return "has to be there" if field.required else "none"
    return f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}" if value >= 10_000 else str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list | frozenset):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)


def _kind(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "`true` or `false`"
        case inspect.IntType() | inspect.FloatType():
            word = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
            least = "" if kind.ge is None else f", at least {kind.ge:,}"
            least = least if kind.gt is None else f", above {kind.gt:,}"
            most = "" if kind.le is None else f", at most {kind.le:,}"
            return f"{word}{least}{most}"
        case inspect.StrType():
            return "text"
        case inspect.EnumType(cls=cls):
            return ", ".join(f"`{_toml(each)}`" for each in cls)
        case inspect.LiteralType(values=values):
            return ", ".join(f"`{_toml(each)}`" for each in values)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item) | inspect.SetType(item_type=item):
            return f"a list, of {_kind(item)}"
        case inspect.DictType():
            return "a table"
        case inspect.UnionType(types=types):
            return ", or ".join(_kind(each) for each in types if not isinstance(each, inspect.NoneType))
        case _:
            return "text"
