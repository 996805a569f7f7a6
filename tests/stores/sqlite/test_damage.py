"""Is damage told, whatever is damaged? (threats, row 35)

The rule of all tests here: a file gives back exactly what was written, or says that it cannot. The one exception is the
last transaction of a log, which may be missing with a note: a power cut may have come before anybody was told of it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from fmqbus.errors import StoreFailed
from tests.stores.sqlite.samples import Change, Content, append, keep, read, remove, write

PAGE = 4096
RANDOM = Random(3)
#: Small rows and large ones, that fill pages of all kinds; what was removed leaves pages free.
GROUPS: list[list[Change]] = [
    [append(number, RANDOM.randbytes(RANDOM.choice((10, 100, 300, 6000)))) for number in range(begin, begin + 10)]
    + [keep(b"topic/%d" % number, RANDOM.randbytes(100)) for number in range(begin, begin + 20)]
    + [remove(number) for number in range(begin - 10, begin - 5)]
    for begin in range(10, 70, 10)
]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that was closed in good order."""
    path = tmp_path_factory.mktemp("closed") / "bus.db"
    write(path, GROUPS)
    return path


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, with its log, that nobody closed."""
    path = tmp_path_factory.mktemp("crashed") / "bus.db"
    write(path, GROUPS, in_order=False)
    return path


@pytest.fixture(scope="module")
def whole(closed: Path, tmp_path_factory: pytest.TempPathFactory) -> Content:
    """What the files keep."""
    return read(copy(closed, tmp_path_factory.mktemp("whole")))[0]


def copy(path: Path, folder: Path) -> Path:
    """The file and its log, in another folder that holds nothing else."""
    shutil.rmtree(folder)
    shutil.copytree(path.parent, folder)
    return folder / path.name


def flips(octets: bytes, times_a_page: int) -> Iterator[bytes]:
    """The octets, with one bit another in each: so many times in every page."""
    for page in range(0, len(octets), PAGE):
        for _ in range(times_a_page):
            place = page + RANDOM.randrange(min(PAGE, len(octets) - page))
            yield octets[:place] + bytes([octets[place] ^ 1 << RANDOM.randrange(8)]) + octets[place + 1 :]


def cuts(octets: bytes) -> Iterator[bytes]:
    """The octets, without their end: cut at every page, and within."""
    for page in range(0, len(octets), PAGE):
        yield octets[:page]
        yield octets[: page + RANDOM.randrange(1, PAGE)]


def outcomes(
    path: Path, folder: Path, name: str, damaged: Iterator[bytes], allowed: Callable[[Content, list[str]], bool]
) -> Counter[str]:
    """Put each of the damaged octets in the place of this file; what comes of it, counted."""
    found: Counter[str] = Counter()
    for octets in damaged:
        victim = copy(path, folder)
        (folder / name).write_bytes(octets)
        try:
            content, notes = read(victim)
        except StoreFailed:
            found["told"] += 1
            assert (folder / name).read_bytes() == octets, "what is refused stays as it is, to be looked at again"
        else:
            assert allowed(content, notes), notes
            found["noted" if notes else "harmless"] += 1
    return found


def test_a_flipped_bit_in_the_database_is_told_or_harmless(closed: Path, whole: Content, tmp_path: Path) -> None:
    """In every page of it. Harmless are those where nothing is written."""
    damaged = flips(closed.read_bytes(), 3)
    found = outcomes(closed, tmp_path, closed.name, damaged, lambda content, notes: content == whole)
    assert found["told"] > 10


def test_a_flipped_bit_in_the_log_is_told_or_takes_the_last_transaction(
    crashed: Path, whole: Content, tmp_path: Path
) -> None:
    """In every page of it. SQLite itself would give back what is before the bit, and say nothing."""
    log = Path(f"{crashed}-wal")

    def allowed(content: Content, notes: list[str]) -> bool:
        return content == whole or (bool(notes) and len(content[0]) >= len(whole[0]) - 10)

    found = outcomes(crashed, tmp_path, log.name, flips(log.read_bytes(), 1), allowed)
    assert found["told"] > found["noted"] > 0


def test_a_database_that_was_cut_is_told(closed: Path, whole: Content, tmp_path: Path) -> None:
    """At every page, and within: unless nothing was written there. Where nothing at all is left, it is noted."""

    def allowed(content: Content, notes: list[str]) -> bool:
        return content == whole or (content == ([], []) and notes == ["the file was there, and was empty"])

    found = outcomes(closed, tmp_path, closed.name, cuts(closed.read_bytes()), allowed)
    assert found["noted"] == 1
    assert found["told"] > 10 * found["harmless"]


@pytest.mark.parametrize("word", [b"messages", b"m\xffssages"], ids=["text", "no text"])
def test_a_damaged_schema_is_told(closed: Path, tmp_path: Path, word: bytes) -> None:
    """Also where SQLite cannot quote it."""
    damaged = closed.read_bytes().replace(b"CREATE TABLE messages", b"CREATE TABEL " + word)
    found = outcomes(closed, tmp_path, closed.name, iter([damaged]), lambda content, notes: False)
    assert found["told"] == 1


def test_an_empty_database_beside_a_log_is_told(crashed: Path, tmp_path: Path) -> None:
    """SQLite would take it for a new one, and throw the log away."""
    found = outcomes(crashed, tmp_path, crashed.name, iter([b""]), lambda content, notes: False)
    assert found["told"] == 1


@pytest.mark.parametrize(
    "octets", [b"listen = []\n", bytes(8192), b"SQLite format 3\0" + bytes(5000)], ids=["text", "zeros", "head"]
)
def test_what_is_no_database_is_told(closed: Path, tmp_path: Path, octets: bytes) -> None:
    """A file that the path points to by mistake is left alone."""
    found = outcomes(closed, tmp_path, closed.name, iter([octets]), lambda content, notes: False)
    assert found["told"] == 1


@pytest.mark.parametrize("damaged", ["refuse", "set-aside"])
def test_the_database_of_another_program_is_never_touched(tmp_path: Path, damaged: str) -> None:
    """Nor put aside: it is not damaged."""
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (name)")
    other.close()
    octets = path.read_bytes()
    with pytest.raises(StoreFailed, match="not one of fmqbus"):
        read(path, damaged=damaged)
    assert path.read_bytes() == octets
    assert list(tmp_path.iterdir()) == [path]


def break_rows(path: Path, statement: str) -> None:
    """Change rows behind the back of the store."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE messages SET payload = x'00' WHERE number = 16", "messages b'q' 16"),
        ("UPDATE messages SET number = 1000 WHERE number = 69", "messages b'q' 1000"),
        ("UPDATE messages SET expires_at = 1 WHERE number = 16", "messages b'q' 16"),
        ("UPDATE messages SET digest = x'' WHERE number = 16", "messages b'q' 16"),
        ("UPDATE messages SET properties = CAST(x'ff' AS TEXT) WHERE number = 16", "messages b'q' 16"),
        ("UPDATE retained SET topic = x'0a' WHERE topic = CAST('topic/10' AS BLOB)", r"retained b'\\n'"),
        ("UPDATE life SET is_open = 1", "life 0"),
    ],
)
def test_a_damaged_row_is_named(closed: Path, tmp_path: Path, statement: str, row: str) -> None:
    """Whichever of its columns is another; and nothing in a name can forge a line of the log."""
    path = copy(closed, tmp_path)
    break_rows(path, statement)
    with pytest.raises(StoreFailed, match=f"damaged: {row} "):
        read(path)


def test_many_damaged_rows_are_counted(closed: Path, tmp_path: Path) -> None:
    """The first are named."""
    path = copy(closed, tmp_path)
    break_rows(path, "UPDATE retained SET payload = x'00'")
    with pytest.raises(StoreFailed, match=r"retained b'topic/10'; .* and 60 more"):
        read(path)


def test_what_is_whole_of_a_damaged_file_can_be_gone_on_with(closed: Path, whole: Content, tmp_path: Path) -> None:
    """The damaged file is put aside as it is, and the note counts what is saved and names what is not."""
    path = copy(closed, tmp_path)
    break_rows(path, "UPDATE messages SET payload = x'00' WHERE number = 16")
    octets = path.read_bytes()
    content, notes = read(path, damaged="set-aside")
    messages, retained = whole
    assert content == ([message for message in messages if message[1] != 16], retained)
    (aside,) = tmp_path.glob("bus.db.damaged-*")
    assert aside.read_bytes() == octets
    assert aside.stat().st_mode & 0o777 == path.stat().st_mode & 0o777 == 0o600
    assert notes == [
        f"damaged, and put aside as {aside}: messages b'q' 16. {len(messages) + len(retained) - 1} rows are saved"
    ]
    assert read(path)[0] == content, "from then on the file is like any other"
    assert sorted(tmp_path.iterdir()) == [path, aside]


def test_a_damaged_log_is_put_aside_with_its_file(crashed: Path, whole: Content, tmp_path: Path) -> None:
    """Before SQLite throws away what it cannot read."""
    path = copy(crashed, tmp_path)
    log = Path(f"{path}-wal")
    octets = bytearray(log.read_bytes())
    octets[len(octets) // 2] ^= 1
    log.write_bytes(octets)
    content, _ = read(path, damaged="set-aside")
    assert 0 < len(content[1]) < len(whole[1])
    (aside,) = tmp_path.glob("bus.db.damaged-*-wal")
    assert aside.read_bytes() == octets


def test_the_log_of_a_file_that_cannot_be_read_is_put_aside_too(crashed: Path, tmp_path: Path) -> None:
    """The new file must not take it for its own."""
    path = copy(crashed, tmp_path)
    path.write_bytes(b"text")
    log = Path(f"{path}-wal")
    octets = b"\0" + log.read_bytes()[1:]
    log.write_bytes(octets)
    assert read(path, damaged="set-aside")[0] == ([], [])
    (aside,) = tmp_path.glob("bus.db.damaged-*-wal")
    assert aside.read_bytes() == octets
    assert sorted(tmp_path.iterdir()) == [path, aside.with_name(aside.name.removesuffix("-wal")), aside]


def test_a_damaged_file_that_another_program_looks_at_is_not_put_aside(closed: Path, tmp_path: Path) -> None:
    """When that closes it, SQLite would throw away the log of the new file, which has the same name."""
    path = copy(closed, tmp_path)
    break_rows(path, "UPDATE messages SET payload = x'00' WHERE number = 16")
    other = sqlite3.connect(path)
    other.execute("SELECT 1 FROM life").fetchall()
    with pytest.raises(StoreFailed, match="another program has it open"):
        read(path, damaged="set-aside")
    other.close()
    _, notes = read(path, damaged="set-aside")
    assert len(notes) == 1


def test_whatever_is_damaged_can_be_put_aside(closed: Path, whole: Content, tmp_path: Path) -> None:
    """What the bus goes on with was all written so, and the note tells."""
    refusals: set[str] = set()
    for octets in (b"text", bytes(8192), *flips(closed.read_bytes(), 1), *cuts(closed.read_bytes())):
        path = copy(closed, tmp_path)
        path.write_bytes(octets)
        try:
            content, notes = read(path, damaged="set-aside")
        except StoreFailed as error:
            refusals.add(str(error))  # it may not be ours
            continue
        assert set(content[0]) <= set(whole[0])
        assert all(message in whole[1] for message in content[1])
        assert content == whole or notes
        assert read(path) == (content, [])
    assert all("not one of fmqbus" in refusal or "later fmqbus" in refusal for refusal in refusals)
