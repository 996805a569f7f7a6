"""What do we say of how we keep a specification? A statement, made of the requirements and the tests that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.protocols.requirements import Requirement, requirements_of

#: The protocols that have a specification to keep to.
PROTOCOLS = ("fmqp", "micromsg2", "umq", "emqp", "mtl")

_KINDS = {
    "MUST, MUST NOT": ("MUST", "MUST NOT"),
    "SHOULD, SHOULD NOT": ("SHOULD", "SHOULD NOT"),
    "MAY": ("MAY",),
    "stated without such a word": ("",),
}


def statement(protocol: str) -> str:
    """The tables of a protocol's page."""
    requirements = requirements_of(protocol)
    return "\n".join((*_summary(requirements), "", *_table(requirements)))


def _summary(requirements: Sequence[Requirement]) -> Iterator[str]:
    yield "| the specification says | requirements | kept | tests |"
    yield "|---|--:|--:|--:|"
    for kind, levels in _KINDS.items():
        of_kind = [each for each in requirements if each.level in levels]
        if of_kind:
            yield _sums(kind, of_kind)
    yield _sums("in all", requirements)


def _sums(kind: str, requirements: Sequence[Requirement]) -> str:
    kept = sum(not each.departs for each in requirements)
    tests = {(each.folder, test) for each in requirements for test in each.tests}
    return f"| {kind} | {len(requirements)} | {kept} | {len(tests)} |"


def _table(requirements: Sequence[Requirement]) -> Iterator[str]:
    yield "| id | section | level | requirement, in our words | kept | tests |"
    yield "|---|---|---|---|---|---|"
    for each in requirements:
        tests = ", ".join(f"`{test}`" for test in each.tests)
        kept = f"**no**: {each.departs}" if each.departs else "yes"
        yield f"| {each.id} | {each.subject} | {each.level or '–'} | {each.says} | {kept} | {tests} |"
