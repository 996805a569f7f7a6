"""Who imports whom? Drawings of what the source says, in the order that the contracts in setup.cfg give.

import-linter fails where an import breaks a contract; here the imports that there are can be looked at.
"""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import fmqbus

_SOURCE = Path(fmqbus.__file__).parent
_SETTINGS = Path(__file__).parents[2] / "setup.cfg"
#: The five protocols, in the order of their pages. (HTTP, for operators, is a protocol in the same sense.)
PROTOCOLS = ("fmqp", "micromsg2", "umq", "emqp", "mtl", "http")


@cache
def modules() -> Mapping[str, Path]:
    """All of them, by their dotted names."""
    found = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        parts = path.relative_to(_SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported_by(module: str) -> frozenset[str]:
    """The modules of ours that it names, for types too."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0, "our imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules() else node.module for name in names}
    return frozenset(found & modules().keys())


def _place_in(package: str, module: str) -> str:
    """Which part of a package a module belongs to; empty if to none."""
    return module.removeprefix(f"{package}.").partition(".")[0] if module.startswith(f"{package}.") else ""


def parts_of(package: str) -> set[str]:
    """The names of what is directly below a package."""
    return {name for module in modules() if (name := _place_in(package, module))}


def imports_within(package: str) -> dict[str, set[str]]:
    """Which of its parts each part imports."""
    found: dict[str, set[str]] = {name: set() for name in parts_of(package)}
    for module in modules():
        if name := _place_in(package, module):
            found[name] |= {place for each in imported_by(module) if (place := _place_in(package, each))} - {name}
    return found


def layers_of(contract: str) -> list[list[str]]:
    """The layers of a contract in setup.cfg, the highest first."""
    settings = configparser.ConfigParser()
    settings.read(_SETTINGS, encoding="utf-8")
    lines = settings[f"importlinter:contract:{contract}"]["layers"].split("\n")
    return [[name.strip(" ()") for name in line.replace(":", "|").split("|")] for line in lines if line.strip()]


def house() -> str:
    """The layers of the whole: a row and a column for each part, and a mark where the row imports the column."""
    layers = [["testing"], *layers_of("layers")]
    order = [name for layer in layers for name in layer]
    assert sorted(order) == sorted(parts_of("fmqbus")), "a contract names every part"
    return _fenced(_matrix(layers, order, imports_within("fmqbus")))


def _matrix(
    layers: Sequence[Sequence[str]],
    order: Sequence[str],
    imports: Mapping[str, set[str]],
) -> Iterator[str]:
    width = max(map(len, order))
    numbers = [f"{number:2}" for number in range(1, len(order) + 1)]
    for digit in range(2):
        yield f"{'':{width + 4}}{' '.join(number[digit] for number in numbers)}".rstrip()
    for layer in layers:
        yield f"   {'-' * (width + 2 * len(order))}"
        for name in layer:
            marks = ["x" if other in imports[name] else "\\" if other == name else "." for other in order]
            yield f"{numbers[order.index(name)]} {name:{width}} {' '.join(marks)}"


def protocol(name: str) -> str:
    """The layers within a protocol's folder, and which of those below each of its files imports."""
    package = f"fmqbus.protocols.{name}"
    layers, imports, parts = layers_of(name), imports_within(package), parts_of(package)
    ranks = {part: rank for rank, layer in enumerate(layers) for part in layer}
    assert sorted(ranks) == sorted(parts), "a contract names every part"
    width = max(map(len, parts)) + 2
    lines = []
    for part in sorted(parts, key=lambda part: (ranks[part], part)):
        below = ", ".join(sorted(imports[part], key=lambda other: (ranks[other], other)))
        lines.append(f"{ranks[part] + 1:2} {part:{width}}{f' -> {below}' if below else ''}".rstrip())
    return _fenced(lines)


def _fenced(lines: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(["```text", *lines, "```"])
