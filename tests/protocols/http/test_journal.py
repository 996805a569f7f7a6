"""The pages of a journal: who may see them, what they give at most, and how many at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import capturedLogs

from fmqbus.auth.defaults import LocalPeers
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.policy import Rule, RulePolicy
from fmqbus.auth.who import Who
from fmqbus.errors import ConfigError
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.samples import write_sample
from fmqbus.model import Action
from fmqbus.protocols.http.answering import Answering
from fmqbus.protocols.http.connection import ConnectionFactory
from fmqbus.protocols.http.journal import MOST_AT_ONCE, JournalBranch, Run
from fmqbus.protocols.http.plug import HTTP
from tests.protocols.http.client import FAR, Server

ROWS = 200
HERE = "Host: 127.0.0.1:7780"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one."""
    root = tmp_path_factory.mktemp("journal")
    write_sample(root, ROWS, segment_rows=50, frame_rows=10)
    return root


def server_of(journal: Path, run: Run = maybeDeferred, **options: Any) -> Server:
    """A bus with its pages; what blocks is called at once."""
    server = Server(**options)
    branches = {b"/journal": JournalBranch(journal, run).place}
    server.factory = ConnectionFactory(server.listener, Answering(server.router, {}, branches).answer)
    return server


def test_what_there_is_can_be_asked(journal: Path) -> None:
    """Step by step, as readers do."""
    server = server_of(journal)
    assert json.loads(server.get("/journal").body) == {"format": 1, "ends": {"0": ROWS}}
    assert json.loads(server.get("/journal/0").body) == {"first": 0, "end": ROWS}
    pieces = json.loads(server.get("/journal/0/pieces?first=60&end=150").body)["pieces"]
    assert [piece["first"] for piece in pieces] == [p.first for p in JournalFolder(journal).pieces(0, 60, 150)]
    (one,) = json.loads(server.get("/journal/0/pieces?first=60&most=1").body)["pieces"]
    assert one == pieces[0]
    assert server.get("/journal/1").status == 404


def test_octets_are_asked_for_by_range(journal: Path) -> None:
    """RFC 9110, section 14: one range; a part of it may come, and beyond the end there is none."""
    server = server_of(journal)
    octets = JournalFolder(journal).pieces(0)[0].found().read_bytes()
    client = server.connect()
    client.ask("/journal/0/log/0", "Range: bytes=4-11")
    assert client.said.endswith(b"\r\n\r\n" + octets[4:12])
    assert b"206 Partial Content" in client.said
    assert f"bytes 4-11/{len(octets)}".encode() in client.said
    beyond = server.get("/journal/0/log/0", f"Range: bytes={len(octets)}-")
    assert beyond.status == 400
    beyond = server.get("/journal/0/log/0", f"Range: bytes={len(octets)}-{len(octets) + 9}")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{len(octets)}")
    head = server.get("/journal/0/log/0", "Range: bytes=0-9", method="HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (206, "10", "")


@pytest.mark.parametrize("text", ["", "bytes=9-1", "bytes=0-1,3-4", "bytes=-5", "octets=0-1", "bytes=0-" + "9" * 30])
def test_a_range_that_is_none_is_refused(journal: Path, text: str) -> None:
    """As no range is: a file is too much for one answer."""
    answer = server_of(journal).get("/journal/0/log/0", *([f"Range: {text}"] if text else []))
    assert (answer.status, answer.body) == (400, "Ask for octets by the header Range: bytes=FIRST-LAST\n")


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/journal/0/log/head", "GET", 404),
        ("/journal/0/log/0/..", "GET", 404),
        ("/journal/%30", "GET", 404),
        ("/journalism", "GET", 404),
        ("/journal/", "GET", 404),
        ("/journal/0/pieces?first=-1", "GET", 400),
        ("/journal/0/pieces?first=1&first=2", "GET", 400),
        ("/journal/0/pieces?" + "&".join(f"a{n}=1" for n in range(2_001)), "GET", 400),
        ("/journal", "PUT", 405),
        ("/journal/readers/a", "GET", 405),
        ("/journal/readers/a", "PUT", 400),
        ("/journal/readers/a?0=x", "PUT", 400),
        ("/journal/readers/a?shard=1", "PUT", 400),
        ("/journal/readers/../a?0=1", "PUT", 405),
    ],
)
def test_what_makes_no_sense_changes_nothing(journal: Path, path: str, method: str, status: int) -> None:
    """And is answered in words."""
    with capturedLogs() as logs:
        assert server_of(journal).get(path, method=method).status == status
    assert not logs
    assert not (journal / "readers").exists()


def test_a_position_is_written(tmp_path: Path) -> None:
    """In the place of the one before."""
    server = server_of(tmp_path)
    assert server.get("/journal/readers/nightly?0=5&12=7", method="PUT").status == 200
    assert server.get("/journal/readers/nightly?0=6", method="PUT").status == 200
    assert json.loads((tmp_path / "readers" / "nightly.json").read_bytes()) == {"0": 6}


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """It is said that there is none."""
    server = server_of(tmp_path / "none")
    assert server.get("/journal").status == 404
    assert server.get("/journal/readers/nightly?0=5", method="PUT").status == 404
    assert not (tmp_path / "none").exists()


def test_others_see_it_by_a_rule_alone(journal: Path) -> None:
    """To read and to keep a position are two rights; and who names this machine by another name is not on it."""
    server = server_of(journal, authorizers=[LocalPeers()])
    assert server.get("/journal", "X: y").status == 403, "the name bus may lead anywhere"
    for near in (HERE, "Host: localhost:7780", "Host: [::1]:7780"):
        client = server.connect()
        client.say(f"GET /journal HTTP/1.1\r\n{near}\r\n\r\n".encode())
        assert client.answer().status == 200, near
    for other in ("Host: evil.example", "Host: ", "Host: [", "X: y", "Host: 127.0.0.1.example"):
        client = server.connect()
        client.say(f"GET /journal HTTP/1.1\r\n{other}\r\n\r\n".encode())
        assert client.answer().status == 403, other
    far = (Who("address:192.0.2.0/24"),)
    scraper = Rule("allow", (Action.MANAGE,), far, (NamePattern("$/http/*"),), "http")
    assert server_of(journal, authorizers=[RulePolicy([scraper])]).get("/journal", facts=FAR).status == 403
    rule = Rule("allow", (Action.MANAGE,), far, (NamePattern("$/http/journal/read"),), "http")
    server = server_of(journal, authorizers=[RulePolicy([rule])])
    assert server.get("/journal/0", facts=FAR).status == 200
    assert server.get("/journal").status == 403
    answer = server.get("/journal/readers/a?0=1", method="PUT", facts=FAR)
    assert (answer.status, answer.body) == (403, "It takes the right to manage $/http/journal/readers/a.\n")


def test_there_are_not_too_many_answers_at_once(journal: Path) -> None:
    """One counts until it has gone; whoever comes meanwhile is told to come again."""
    waiting: list[Deferred[Any]] = []

    def run(work: Any, *arguments: Any) -> Deferred[Any]:
        waiting.append(Deferred())
        return waiting[-1].addCallback(lambda _: work(*arguments))

    server = server_of(journal, run)
    clients = [server.connect() for _ in range(MOST_AT_ONCE)]
    for client in clients:
        client.ask("/journal")
    late = server.get("/journal")
    assert (late.status, late.headers["retry-after"]) == (503, "1")
    for deferred in waiting:
        deferred.callback(None)
    assert all(client.answer().status == 200 for client in clients)
    assert server.get("/journal").status == 503, "their answers may still wait to be sent"
    clients[0].lose()
    client = server.connect()
    client.ask("/journal")
    assert client.said == b""


def test_a_journal_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """What is wrong with it to the reader, what is wrong with the disk to the log."""
    write_sample(tmp_path, 10)
    (tmp_path / "manifest.jsonl").write_text("{}\n")
    answer = server_of(tmp_path).get("/journal")
    assert answer.status == 500
    assert "manifest.jsonl, line 1" in answer.body

    def fail(*arguments: Any) -> Deferred[Any]:
        return maybeDeferred(Path("/proc/self/mem").read_bytes)

    with capturedLogs() as logs:
        assert "the log tells why" in server_of(tmp_path, fail).get("/journal").body
    assert [log["log_level"].name for log in logs] == ["critical"]


def test_the_option_is_a_folder() -> None:
    """There is no other."""
    for options, words in (
        ({"journal": True}, r"^protocols\.http\.journal: Expected"),
        ({"journals": "x"}, "^protocols.http: .*`journals`"),
    ):
        with pytest.raises(ConfigError, match=words):
            HTTP.service_topics(options)
    server = Server()
    factory = HTTP.make_factory(server.router, server.listener, {"journal": "somewhere"})
    factory.stopFactory()
