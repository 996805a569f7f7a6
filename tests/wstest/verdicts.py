"""What does the report of ``wstest`` say of us, and is that good enough?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests import measured

#: The suite's categories, by the first number of a case.
CATEGORIES = {
    "1": "framing",
    "2": "pings and pongs",
    "3": "reserved bits",
    "4": "opcodes",
    "5": "fragmentation",
    "6": "UTF-8",
    "7": "closing",
    "9": "limits and performance",
    "10": "all else",
    "12": "compression, by what is sent",
    "13": "compression, by what is agreed on",
}

#: What the server did, and how it closed, in the words of the suite. To be informational is the case's own choice:
#: any server is, for there is no right or wrong.
GOOD = ("OK", "INFORMATIONAL")

Report = Mapping[str, Mapping[str, str]]


def not_passed(report: Report) -> list[str]:
    """The numbers of these cases."""
    return [case for case, said in report.items() if not _is_passed(said)]


def faults(report: Report) -> list[str]:
    """The cases that were not passed, in one line each. Where nothing was tried, nothing is proven."""
    if not report:
        return ["no case was run"]
    return [
        f"case {case}: {report[case]['behavior']}, closing {report[case]['behaviorClose']}"
        for case in not_passed(report)
    ]


def table(report: Report) -> str:
    """How many cases of each category there were, and what came of them."""
    by_category = {
        title: [said for case, said in report.items() if case.partition(".")[0] == number]
        for number, title in CATEGORIES.items()
    }
    rows = [(title, *_counts(said)) for title, said in by_category.items() if said]
    rows.append(("**together**", *_counts(list(report.values()))))
    return measured.table(("cases on", "run", "OK", "informational", "failed"), ("---", *["--:"] * 4), rows)


def _counts(cases: list[Mapping[str, str]]) -> tuple[str, ...]:
    passed = Counter(said["behavior"] for said in cases if _is_passed(said))
    return (str(len(cases)), *(str(passed[word]) for word in GOOD), str(len(cases) - passed.total()))


def _is_passed(said: Mapping[str, str]) -> bool:
    return said["behavior"] in GOOD and said["behaviorClose"] in GOOD
