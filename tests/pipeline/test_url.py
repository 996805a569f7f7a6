"""A journal that a broker reads for us has the same rows as its folder, and what does not go well is told."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography import x509

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.samples import write_sample
from fmqbus.journal.sealing import SealSettings, seal
from fmqbus.pipeline.endpoint import MOST_OCTETS, Endpoint, NoEndpoint, endpoint_of
from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.reading import DataLost
from fmqbus.pipeline.remote import RemoteFile, RemoteJournal
from fmqbus.protocols.fmqp.codec import encode
from tests.live.broker import Broker
from tests.live.test_journal import wait_until
from tests.live.test_process import settle
from tests.pipeline.conftest import ROWS
from tests.pipeline.reading import offsets, read_from, stream_from
from tests.transports.certificates import issue

#: Long after all that is in a sample.
_LATER = 1e10


def broker_for(folder: Path, journal: Path, *lines: str, port: int = 0) -> Broker:
    """A broker that has a journal's pages; it need not write that journal."""
    config = folder / "bus.toml"
    config.write_text(
        f'listen = ["fmqp:tcp:0:interface=127.0.0.1", "http:tcp:{port}:interface=127.0.0.1"]\n'
        f'[protocols.http]\njournal = "{journal}"\n' + "\n".join(lines)
    )
    return Broker("--config", str(config))


def url_of(broker: Broker) -> str:
    """Of its journal."""
    return f"http://127.0.0.1:{broker.port_of('http')}/journal"


@pytest.fixture(scope="module")
def url(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the sample."""
    with broker_for(tmp_path_factory.mktemp("bus"), sample) as broker:
        yield url_of(broker)
        assert broker.stop() == 0
    assert "Traceback" not in broker.text


def rows(journal: Any, first: int, end: int) -> pa.Table:
    """Of shard 0."""
    return pa.Table.from_batches(journal.read(0, first, end)).combine_chunks()


def test_the_rows_are_those_of_the_folder(sample: Path, url: str) -> None:
    """All of them, and any range; in tasks too, to which a journal is sent."""
    remote, local = RemoteJournal(Endpoint(url)), JournalFolder(sample)
    assert (remote.shards(), remote.end(0), remote.earliest(0)) == ([0], ROWS, 0)
    assert [(p.first, p.end, p.octets) for p in remote.pieces(0)] == [
        (p.first, p.end, p.octets) for p in local.pieces(0)
    ]
    for first, end in ((0, ROWS), (17, 18), (990, 2_010), (ROWS - 1, ROWS)):
        assert rows(pickle.loads(pickle.dumps(remote)), first, end).equals(rows(local, first, end))
    middle = local.pieces(0)[1].earliest
    assert remote.offset_at(0, middle) == local.offset_at(0, middle)
    assert remote.end(7) == remote.earliest(7) == 0
    assert list(remote.pieces(7)) == []


def test_a_read_by_url_is_one_by_path(sample: Path, url: str) -> None:
    """With all options that choose rows, and in many tasks."""
    for options in (
        {},
        {"includeMetadata": True, "includeHeaders": True},
        {"subscribe": "jobs", "minPartitions": 7},
        {"startingOffsets": '{"0": 100}', "endingOffsets": '{"0": 2222}', "includeMetadata": True},
        {"startingTimestamp": "2026-01-01T00:00:00.2", "includeMetadata": True},
    ):
        assert read_from(url=url, **options).equals(read_from(path=sample, **options))


def test_sealed_tables_are_read_too(tmp_path: Path) -> None:
    """Also those that were segments when the reader began, and whole journals that have nothing else."""
    journal = tmp_path / "journal"
    write_sample(journal, 3_000, segment_rows=500, run=10, frame_rows=100)
    local = JournalFolder(journal)
    before = rows(local, 0, 3_000)
    with broker_for(tmp_path, journal) as broker:
        remote = RemoteJournal(Endpoint(url_of(broker)))
        batches = remote.read(0, 0, 3_000)
        begun = [next(batches)]
        assert seal(journal, SealSettings(wait_seconds=0, table_octets=1), _LATER).tables
        assert pa.Table.from_batches([*begun, *batches]).combine_chunks().equals(before)
        assert any(piece.is_table for piece in remote.pieces(0))
        assert rows(remote, 0, 3_000).equals(before)
        assert rows(remote, 777, 1_234).equals(before.slice(777, 457))
        assert broker.stop() == 0


def test_a_stream_by_url_is_one_by_path(sample: Path, url: str) -> None:
    """Batch after batch, with offsets that mean the same."""
    one = stream_from("offset", url=url, startingOffsets="earliest", maxOffsetsPerTrigger=700)
    other = stream_from("offset", path=sample, startingOffsets="earliest", maxOffsetsPerTrigger=700)
    start = one.initialOffset()
    assert start == other.initialOffset()
    limit = one.getDefaultReadLimit()
    while (end := one.latestOffset(start, limit)) != start:
        assert end == other.latestOffset(start, limit)
        found = [[batch for task in each.partitions(start, end) for batch in each.read(task)] for each in (one, other)]
        assert pa.Table.from_batches(found[0]).equals(pa.Table.from_batches(found[1]))
        start = end
    assert start == {"0": ROWS}


def test_what_the_broker_writes_is_there_at_once(tmp_path: Path) -> None:
    """And goes on after it was killed and started again, while a reader waits for it."""
    journal = tmp_path / "journal"
    mine = f'[journal]\npath = "{journal}"'
    with broker_for(tmp_path, journal, mine) as broker:
        url, port = url_of(broker), broker.port_of("http")
        with broker.connect("fmqp") as client:
            client.sendall(b"".join(encode(0, b"t", b"%d" % number) for number in range(100)))
            settle(client)
        remote = RemoteJournal(Endpoint(url))
        wait_until(lambda: remote.end(0) >= 100)
        written = remote.end(0)
        seen = rows(remote, 0, written)
        batches = remote.read(0, 0, written)
        broker.signal(signal.SIGKILL)
        broker.wait()
        again: list[pa.Table] = []
        reader = threading.Thread(target=lambda: again.append(pa.Table.from_batches(batches).combine_chunks()))
        reader.start()
        with broker_for(tmp_path, journal, mine, port=port) as second:
            reader.join()
            assert again[0].equals(seen)
            assert second.stop() == 0


def test_a_named_reader_is_known_to_the_broker(tmp_path: Path) -> None:
    """So nothing is trimmed away under it; what is no name, or no position, is refused."""
    journal = tmp_path / "journal"
    write_sample(journal, 2_000, segment_rows=500, run=10, frame_rows=100)
    place = journal / "readers" / "nightly.json"
    with broker_for(tmp_path, journal) as broker:
        url = url_of(broker)
        reader = stream_from(url=url, readerName="nightly", startingOffsets='{"0": 10}')
        reader.initialOffset()
        assert json.loads(place.read_bytes()) == {"0": 10}
        reader.commit({"0": 600})
        assert json.loads(place.read_bytes()) == {"0": 600}
        settings = SealSettings(wait_seconds=0, table_octets=1, keep_seconds=1, reader_seconds=2 * _LATER)
        seal(journal, settings, _LATER)
        assert 0 < JournalFolder(journal).earliest(0) <= 600
        for name in ("../evil", "..", "a/b", ".x", "a" * 101):
            with pytest.raises(NoEndpoint):
                RemoteJournal(Endpoint(url)).keep_position(name, {0: 1})
        with pytest.raises(NoEndpoint, match=r"more than .* takes"):
            RemoteJournal(Endpoint(url)).keep_position("many", dict.fromkeys(range(5_000), 1))
        assert os.listdir(place.parent) == ["nightly.json"]
        for number in range(1_000):
            (place.parent / f"other{number}.json").write_text("{}")
        with pytest.raises(NoEndpoint, match=r"507.*has 1000 readers, and takes no more"):
            RemoteJournal(Endpoint(url)).keep_position("late", {0: 1})
        reader.commit({"0": 700})
        assert json.loads(place.read_bytes()) == {"0": 700}
        assert broker.stop() == 0


def test_rows_that_are_gone_are_told_as_by_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Trimmed away, in a file that is missing, in one that is cut off, and beyond the end."""
    journal = tmp_path / "journal"
    write_sample(journal, 2_000, segment_rows=500, run=10, frame_rows=100)
    first, second, third, *_ = pieces = JournalFolder(journal).pieces(0)
    with broker_for(tmp_path, journal) as broker:
        url = url_of(broker)
        remote = RemoteJournal(Endpoint(url))
        os.truncate(third.found(), third.octets - 100)
        with pytest.raises(DamagedFrame, match=rf"http://.*/journal/0/log/{third.first}, frame at \d+: "):
            rows(remote, third.first, third.end)
        octets = bytearray(second.found().read_bytes())
        octets[-10] ^= 1
        second.found().write_bytes(octets)
        with pytest.raises(DamagedFrame, match="the body is not as it was written"):
            rows(remote, second.first, second.end)
        first.found().unlink()
        with pytest.raises(MissingRows, match=f"{url}: rows 0 to {first.end - 1} of shard 0 are not there: a file is"):
            rows(remote, 0, first.end)
        with pytest.raises(MissingRows, match=f"the journal ends at {pieces[-1].end}"):
            rows(remote, 9_000, 9_001)
        with pytest.raises(DataLost, match="rows are lost"):
            read_from(url=url)
        left = {"includeMetadata": True, "failOnDataLoss": False}
        found = offsets(read_from(url=url, **left))
        assert found == offsets(read_from(path=journal, **left))
        assert len(found) < pieces[-1].end - first.end
        assert f"{first.end} rows are lost, offsets 0 to {first.end - 1}" in caplog.text
        with pytest.raises(DataLost, match="beyond its end"):
            read_from(url=url, startingOffsets='{"0": 5000}')
        assert broker.stop() == 0


@pytest.mark.parametrize(
    "path",
    [
        "/0/log/../../manifest.jsonl",
        "/0/log/%2e%2e/head",
        "/../readers",
        "/0/log/head",
        "/0/log/0.fmqj",
        "/0/log/-1",
        "/0/log/1",
        "/0/table/0",
        "/9/log/0",
        "/00000/log/0",
        "//0/log/0",
        "/0/log/99999999999999999999",
        "/readers",
        "/readers/",
    ],
)
def test_files_have_no_names(url: str, path: str) -> None:
    """Nothing is there but what the journal tells of, by its first offset."""
    with pytest.raises(FileNotFoundError):
        Endpoint(url).octets(path, 0, 10)


def test_ranges_have_bounds(sample: Path, url: str) -> None:
    """Beyond the end there is nothing, and of a huge one a part comes; without a range, nothing does."""
    (piece, *_) = JournalFolder(sample).pieces(0)
    octets = piece.found().read_bytes()
    endpoint = Endpoint(url)
    path = f"/0/log/{piece.first}"
    assert endpoint.octets(path, 0, 10**15) == octets[:MOST_OCTETS]
    assert endpoint.octets(path, len(octets) - 5, 100) == octets[-5:]
    assert endpoint.octets(path, len(octets), 1) == endpoint.octets(path, 10**17, 1) == b""
    with RemoteFile(endpoint, path, len(octets)) as file:
        assert file.read() == octets
        assert (file.seek(-3, os.SEEK_END), file.read(10), file.read(10)) == (len(octets) - 3, octets[-3:], b"")
        file.seek(1)
        assert file.read(4) == octets[1:5]
    for answer in ("/0/pieces?first=x", "/0/pieces?first=1&first", "/0/pieces?last=1", "/0/log/0"):
        with pytest.raises(NoEndpoint, match="has answered 400: Ask "):
            endpoint.ask(answer, dict[str, Any])
    with pytest.raises(NoEndpoint, match="has answered 405"):
        endpoint.ask("/readers/a", dict[str, Any])


def test_options_that_do_not_fit_are_named(sample: Path) -> None:
    """Before anybody is asked."""
    for options, words in (
        ({"path": str(sample), "url": "http://h"}, "either path, .*, or url, .*, and not both"),
        ({"url": "ftp://h/x"}, "'ftp://h/x' is no URL of a broker's journal: http://HOST:7780/journal"),
        ({"url": "http://"}, "is no URL"),
        ({"url": "http://h:x"}, "http://h:x"),
        ({"url": "http://user:secret@h/"}, "is no URL"),
        ({"path": str(sample), "urlTimeout": "9"}, "go with url"),
        ({"url": "http://h", "urlTimeout": "soon"}, "urlTimeout is a whole number from 1"),
    ):
        with pytest.raises(WrongOption, match=words):
            read_from(**options)
    assert endpoint_of("http://h:1/", 5, None, None) == Endpoint("http://h:1/journal", 5)


def test_who_is_not_there_or_has_no_journal_is_told(tmp_path: Path) -> None:
    """With the URL and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/journal"
    with pytest.raises(NoEndpoint, match=f"{nobody} has not answered for 0.1 s: Conn.*refused.*see whether the broker"):
        Endpoint(nobody, patience=0.1).ask("", dict[str, Any])
    rule = '[access]\nauthorizers = ["rules"]'
    with broker_for(tmp_path, tmp_path / "none", rule) as broker:
        with pytest.raises(NoEndpoint, match=r"is not for us; .* the right to manage \$/http/journal/read\."):
            Endpoint(url_of(broker)).ask("", dict[str, Any])
        with pytest.raises(NoEndpoint, match=r"the right to manage \$/http/journal/readers/a\."):
            Endpoint(url_of(broker)).tell("/readers/a?0=1")
    words = r"there is no journal at .*: has the broker the option journal"
    with Broker("--listen", "http:tcp:0:interface=127.0.0.1") as broker, pytest.raises(NoEndpoint, match=words):
        Endpoint(f"http://127.0.0.1:{broker.port_of('http')}/journal").ask("", dict[str, Any])


def test_certificates_tell_who_is_there(sample: Path, tmp_path: Path) -> None:
    """The broker's, and the reader's, by which a rule knows him."""
    authority = issue("authority")
    for name in ("bus", "reader"):
        (tmp_path / name).mkdir()
    key, certificate = issue("bus", authority, [x509.DNSName("localhost")]).write(tmp_path / "bus")
    reader = issue("reader", authority)
    files = [path.read_text() for path in reader.write(tmp_path / "reader")]
    ca, mine, config = tmp_path / "ca.pem", tmp_path / "reader.pem", tmp_path / "bus.toml"
    ca.write_bytes(authority.certificate_pem)
    mine.write_text("".join(files))
    config.write_text(
        f'listen = ["http:ssl:0:interface=127.0.0.1:privateKey={key}:certKey={certificate}:clientCA={ca}"]\n'
        f'[protocols.http]\njournal = "{sample}"\n[access]\nauthorizers = ["rules"]\n'
        f'[[access.rules]]\neffect = "allow"\nactions = ["manage"]\n'
        f'who = ["cert:{reader.fingerprint}"]\nnames = ["$/http/journal/read"]\nprotocol = "http"\n'
    )
    with Broker("--config", str(config)) as broker:
        url = f"https://localhost:{broker.port_of('http')}/journal"
        known = {"urlCaFile": ca, "urlCertificateFile": mine}
        assert read_from(url=url, **known).equals(read_from(path=sample))
        with pytest.raises(NoEndpoint, match="option urlCaFile names who the certificate is from"):
            read_from(url=url)
        with pytest.raises(NoEndpoint, match="has not answered for 1 s"):
            read_from(url=url, urlCaFile=ca, urlTimeout=1)
        with pytest.raises(NoEndpoint, match="the files of urlCaFile and urlCertificateFile cannot be used"):
            read_from(url=url, urlCaFile=tmp_path / "none.pem")
        assert broker.stop() == 0


@contextmanager
def answering(*answers: Callable[[socket.socket], None] | bytes) -> Iterator[Endpoint]:
    """A server that is none of ours, and gives one of these answers to each connection, the last for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            left = list(answers)
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client, suppress(OSError):
                    client.recv(65_536)
                    answer = left.pop(0) if len(left) > 1 else left[0]
                    if callable(answer):
                        answer(client)
                    else:
                        client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Endpoint(f"http://127.0.0.1:{server.getsockname()[1]}/journal", patience=0.3)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def part(begin: int, body: bytes, told: int | None = None, length: int | None = None, size: int = 10**6) -> bytes:
    """An answer with octets of a file, which may say of itself what is not so."""
    last = begin + (len(body) if told is None else told) - 1
    return (
        f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {begin}-{last}/{size}\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    ).encode() + body


def test_an_answer_that_breaks_off_is_gone_on_with() -> None:
    """What has come of it is not asked for again, if it is worth it."""
    content = bytes(range(256)) * 400
    cut = part(0, content[:50_000], told=len(content), length=len(content))
    with answering(cut, b"", part(50_000, content[50_000:])) as endpoint:
        assert RemoteFile(endpoint, "/0/log/0", len(content)).read() == content


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "has not answered for 0.3 s: RemoteDisconnected"),
        (b"nonsense\r\n\r\n", "has not answered for 0.3 s: BadStatusLine"),
        (part(0, b"abc", told=90, length=90), "of 90 octets 3 have come"),
        (part(0, b"abc", told=90), "of 90 octets 3 have come"),
        (part(7, b"abc"), "when it was asked for octets 0 to 99: it is no broker's journal"),
        (part(0, b"a" * 200), "when it was asked for octets 0 to 99"),
        (part(0, b"abc").replace(b"Content-Range", b"X"), "None, when it was asked for"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "has answered 200"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///\r\nContent-Length: 0\r\n\r\n", "has answered 302"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\nnot \x1bnow\n", r"has not answered for 0.3 s: not \\x1bnow;"),
        (b"HTTP/1.1 418 No\r\n\r\n" + b"x" * 5_000_000, f"has answered 418: {'x' * 1_024}"),
    ],
)
def test_what_no_broker_answers_is_told(answer: bytes, words: str) -> None:
    """After a while where it may be better, else at once."""
    with answering(answer) as endpoint, pytest.raises(NoEndpoint, match=words):
        endpoint.octets("/0/log/0", 0, 100)


def test_a_broker_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one that says it drop by drop."""
    monkeypatch.setattr("fmqbus.pipeline.endpoint._SILENT_SECONDS", 0.1)
    monkeypatch.setattr("fmqbus.pipeline.endpoint._ANSWER_SECONDS", 0.2)

    def drops(client: socket.socket) -> None:
        client.sendall(part(0, b"", told=90_000, length=90_000))
        while True:
            client.sendall(b"x")
            threading.Event().wait(0.02)

    def silence(client: socket.socket) -> None:
        client.recv(1)

    with answering(silence) as endpoint, pytest.raises(NoEndpoint, match="TimeoutError: timed out"):
        endpoint.octets("/0/log/0", 0, 100)
    with answering(drops) as endpoint, pytest.raises(NoEndpoint, match=r"of 90000 octets \d+ have come"):
        endpoint.octets("/0/log/0", 0, 90_000)


@pytest.mark.spark
def test_spark_reads_by_url_what_it_reads_by_path(spark: Any, sample: Path, url: str, tmp_path: Path) -> None:
    """A DataFrame, and a stream of several batches."""
    columns = {"includeMetadata": True, "includeHeaders": True}
    by_path = spark.read.format("fmqbus").options(path=str(sample), **columns).load().orderBy("offset").toArrow()
    by_url = spark.read.format("fmqbus").options(url=url, minPartitions=3, **columns).load().orderBy("offset")
    assert by_url.toArrow().equals(by_path)
    table = str(tmp_path / "table")
    rows = (
        spark.readStream.format("fmqbus")
        .options(url=url, startingOffsets="earliest", maxOffsetsPerTrigger=1_700, readerName="streamed", **columns)
        .load()
    )
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.option("path", table).trigger(availableNow=True).start().awaitTermination()
    assert spark.read.parquet(table).orderBy("offset").toArrow().to_pylist() == by_path.to_pylist()
    # Spark says that a batch is done when it begins the next one
    assert json.loads((sample / "readers" / "streamed.json").read_bytes()) == {"0": 1_700}
