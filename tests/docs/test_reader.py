"""Does a page that has become false fail?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.docs.reader import Reader

TRUE = """# A page

```{code-block} text
:caption: notes/today.txt

milk
apples, 3
```

```console
$ export FRUIT=apples
$ grep "$FRUIT" notes/today.txt
..., 3
$ cat missing.txt || echo "exit code $?"
...
exit code 1
```
"""


def read(text: str, folder: Path) -> None:
    """Follow a page of this text."""
    (folder / "empty").mkdir()
    page = folder / "page.md"
    page.write_text(text)
    with Reader(str(page), folder / "empty") as reader:
        reader.read()


def test_a_page_that_is_true_passes(tmp_path: Path) -> None:
    """Its file is written, and its commands say what it says."""
    read(TRUE, tmp_path)
    assert (tmp_path / "empty/notes/today.txt").read_text() == "milk\napples, 3\n"


@pytest.mark.parametrize(
    ("true", "false", "complaint"),
    [
        ("..., 3", "..., 4", "it has not said"),
        ("..., 3", "..., 3\nmilk", "it has not said 'milk'"),
        ('"$FRUIT"', "pears", "it ends with 1"),
        ('|| echo "exit code $?"', "", "it ends with 1"),
        ("milk\napples, 3", "milk", "it ends with 1"),
    ],
)
def test_a_page_that_is_false_fails(tmp_path: Path, true: str, false: str, complaint: str) -> None:
    """Whatever is wrong: what is said, what comes of it, or the file."""
    assert true in TRUE
    with pytest.raises(AssertionError, match=complaint):
        read(TRUE.replace(true, false, 1), tmp_path)


def test_a_bus_that_does_not_start_fails_at_once(tmp_path: Path) -> None:
    """It is not waited for."""
    page = "```console\n$ twistd -n fmqbus --listen fmqp:nowhere\n... listens at ...\n```\n"
    with pytest.raises(AssertionError, match="it has not said"):
        read(page, tmp_path)


def test_blocks_are_what_a_reader_takes_for_such(tmp_path: Path) -> None:
    """Fenced or indented; not what is within a list, nor within another block."""
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    one\n\n    still one\n\n- a\n    list\n\n```toml\nx = 1\n\n    y\n```\n\n```\nbare\n```\n"
    )
    found = [(block.line, block.language, block.text) for block in blocks_of(str(page))]
    assert found == [(3, "text", "one\n\nstill one\n"), (10, "toml", "x = 1\n\n    y\n"), (16, "text", "bare\n")]
