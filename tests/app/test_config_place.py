"""Lines of keys, in all the ways TOML can write them."""

from __future__ import annotations

import pytest

from fmqbus.app.config_place import KeyPath, line_of, parse_path

TEXT = '''\
a = 1
text = """
b = 2
[not.a.table]
"""
many = [
    1,  # one

    2,
]
inline = { x = 1, y = { z = 2 } }

[deep.er]
"quoted" = 1
dotted.key = 2
[[list]]
a = 1
[[list]]
# only a comment
[list.inner]
a = 2'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["a"], 1),
        (["text"], 2),
        (["b"], None),
        (["many"], 6),
        (["many", 1], 6),
        (["many", 2], None),
        (["inline", "y", "z"], 11),
        (["deep"], 13),
        (["deep", "er", "quoted"], 14),
        (["deep", "er", "dotted", "key"], 15),
        (["list", 0], 16),
        (["list", 1], 18),
        (["list", 1, "inner", "a"], 21),
        (["a", "b"], None),
        ([], None),
    ],
)
def test_a_key_stands_where_its_statement_begins(path: KeyPath, line: int | None) -> None:
    """Also in strings and lists of several lines, inline tables and dotted keys."""
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$.access.rules[1].who[0]", ["access", "rules", 1, "who", 0]),
        ("$.protocols[...].x", ["protocols"]),
        ("$", []),
        ("", []),
    ],
)
def test_paths_are_read_as_the_decoder_writes_them(text: str, path: KeyPath) -> None:
    """As far as the decoder tells the keys."""
    assert parse_path(text) == path
