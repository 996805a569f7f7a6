"""Can the conformance statements be believed?"""

from __future__ import annotations

import re

import pytest

from tests.docs.conformance import PROTOCOLS
from tests.docs.names import read
from tests.protocols.requirements import LEVELS, Requirement, requirements_of


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_words_say_is_what_the_level_says(protocol: str) -> None:
    """Where a requirement's words have MUST or SHOULD in them, that is not counted as something weaker."""
    for each in requirements_of(protocol):
        assert each.level in LEVELS
        words = re.findall(r"\b(MUST|SHOULD|MAY)\b", each.says)
        assert not words or any(each.level.startswith(word) for word in words), each.id


@pytest.mark.parametrize(
    ("protocol", "each"),
    [(protocol, each) for protocol in PROTOCOLS for each in requirements_of(protocol) if each.departs],
    ids=lambda value: value.id if isinstance(value, Requirement) else value,
)
def test_what_is_not_kept_has_its_reason_on_the_page(protocol: str, each: Requirement) -> None:
    """It names the reading that gives it."""
    (number,) = re.findall(r"reading (\d+)", each.departs)
    assert f"| {number} | " in read(f"protocols/{protocol}.md")
