"""What code does a page of the documentation show, as a reader sees it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: What Sphinx itself runs, or takes from files that are tested where they are.
BUILT_BY_SPHINX = frozenset({"{toctree}", "{eval-rst}", "{literalinclude}", "{include}"})

_FENCE = "```"
_INDENT = "    "


@attrs.frozen
class Block:
    """One piece of it."""

    #: Where it stands; the path is relative to the root of the project.
    page: str
    line: int
    #: As the fence says; ``text`` where it says nothing, or where the block is only indented.
    language: str
    text: str
    #: The file that the block is, where the page says so in a caption.
    file: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """All of them, the README among them."""
    found = sorted(path.relative_to(ROOT) for path in DOCS.rglob("*.md"))
    return ["README.md", *(str(path) for path in found if "_build" not in path.parts)]


def blocks_of(page: str) -> list[Block]:
    """In the order of the page; but for what Sphinx sees to."""
    return [block for block in _read(page) if block.language not in BUILT_BY_SPHINX]


def _read(page: str) -> Iterator[Block]:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        begin = at
        if lines[at].startswith(_FENCE):
            at = lines.index(_FENCE, at + 1)
            yield _fenced(page, begin + 1, lines[begin].removeprefix(_FENCE), lines[begin + 1 : at])
        elif lines[at].startswith(_INDENT) and at and not lines[at - 1]:
            while at + 1 < len(lines) and (lines[at + 1].startswith(_INDENT) or _goes_on(lines, at + 1)):
                at += 1
            yield Block(page, begin + 1, "text", _joined(line.removeprefix(_INDENT) for line in lines[begin : at + 1]))
        at += 1


def _fenced(page: str, line: int, info: str, body: list[str]) -> Block:
    directive, _, argument = info.partition(" ")
    options = {}
    if directive.startswith("{"):
        while body and body[0].startswith(":"):
            name, _, value = body.pop(0)[1:].partition(": ")
            options[name] = value
        if body and not body[0]:
            del body[0]
    language = argument if directive == "{code-block}" else directive or "text"
    return Block(page, line, language, _joined(body), options.get("caption", ""))


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether an empty line is within an indented block."""
    return not lines[at] and at + 1 < len(lines) and lines[at + 1].startswith(_INDENT)


def _joined(lines: list[str] | Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
