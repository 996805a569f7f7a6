"""Is a case that was not passed told, whatever the suite's word for it?"""

from __future__ import annotations

import pytest

from tests.wstest.verdicts import faults, table


def said(behavior: str, closing: str = "OK") -> dict[str, str]:
    """What the report says of a case."""
    return {"behavior": behavior, "behaviorClose": closing}


def test_what_is_right_and_what_cannot_be_wrong_is_passed() -> None:
    """Informational cases are so for every server."""
    assert faults({"1.1.1": said("OK"), "7.1.6": said("INFORMATIONAL", "INFORMATIONAL")}) == []


@pytest.mark.parametrize("word", ["FAILED", "NON-STRICT", "UNIMPLEMENTED", "WRONG CODE", "UNCLEAN", "anything new"])
def test_any_other_word_is_a_fault(word: str) -> None:
    """Also where only the closing is not as it should be."""
    assert faults({"6.4.1": said(word)}) == [f"case 6.4.1: {word}, closing OK"]
    assert faults({"6.4.1": said("OK", word)}) == [f"case 6.4.1: OK, closing {word}"]


def test_a_report_without_cases_proves_nothing() -> None:
    """As one of a server that could not be reached."""
    assert faults({}) == ["no case was run"]


def test_cases_are_counted_by_their_first_number() -> None:
    """10.1.1 is not one of 1; categories that were not run have no row."""
    report = {"1.1.1": said("OK"), "1.2.1": said("FAILED"), "7.1.6": said("INFORMATIONAL"), "10.1.1": said("OK")}
    assert table(report).splitlines()[2:] == [
        "| framing | 2 | 1 | 0 | 1 |",
        "| closing | 1 | 0 | 1 | 0 |",
        "| all else | 1 | 1 | 0 | 0 |",
        "| **together** | 4 | 2 | 1 | 1 |",
    ]
