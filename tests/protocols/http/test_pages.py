"""What the pages show, to whom, and at what cost."""

from __future__ import annotations

import json

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse
from twisted.logger import capturedLogs

from fmqbus.auth.defaults import LocalPeers
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.policy import Rule, RulePolicy
from fmqbus.auth.who import Who
from fmqbus.model import Action, QueueSettings
from fmqbus.protocols.http.pages import FRESH_SECONDS
from fmqbus.testing.bus import MemoryClient
from fmqbus.vitals import Kind, Metric, Reading, Readings
from tests.protocols.http.client import FAR, Client, Server

LOADS = Metric("acme_loads_total", Kind.COUNTER, "Loads", ("truck",))


def series(page: str) -> dict[str, float]:
    """Each series of a page in the plain form, as NAME or NAME{label}."""
    return {
        f"{sample.name}{{{','.join(sample.labels.values())}}}" if sample.labels else sample.name: sample.value
        for family in parse(page)
        for sample in family.samples
    }


def test_the_numbers_of_the_bus_and_of_the_process_are_on_one_page() -> None:
    """In a form that Prometheus's own parser reads."""
    server = Server(queue_rules=[(b"orders/*", QueueSettings())])
    client = MemoryClient(server.router)
    client.session.count_received(7, 100)
    client.enqueue(b"orders/1", b"1")
    answer = server.get("/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert int(answer.headers["content-length"]) == len(answer.body.encode())
    told = series(answer.body)
    assert told["fmqbus_messages_received_total{memory}"] == 7
    assert told["fmqbus_queue_ready_messages{orders/*}"] == 1
    assert told["process_resident_memory_bytes"] > 1_000_000


def test_whoever_asks_for_openmetrics_gets_it() -> None:
    """Also there each name, unit and label is as it should be: its parser is strict."""
    server = Server()
    MemoryClient(server.router)
    answer = server.get("/metrics", "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1")
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert {family.name for family in parse_openmetrics(answer.body)} >= {"fmqbus_sessions", "process_open_fds"}


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "application/openmetrics-text-2", "text/plain;version=nonsense", ";;;,,,", "a" * 1000],
)
def test_whatever_else_is_accepted_gets_the_plain_form(accept: str) -> None:
    """Nothing of the header comes back."""
    answer = Server().get("/metrics", f"Accept: {accept}")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


@pytest.mark.parametrize(
    "accept", ["application/openmetrics-text;version=x", "APPLICATION/OpenMetrics-Text;escaping=x"]
)
def test_a_version_that_is_none_does_no_harm(accept: str) -> None:
    """Only the name of the form is read."""
    answer = Server().get("/metrics", f"Accept: {accept}")
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"


def test_a_part_of_a_vendor_is_on_the_page_and_can_break_nothing() -> None:
    """Odd labels are escaped, too many of them put together."""

    def read() -> Readings:
        for number in range(1_500):
            yield Reading(LOADS, 1, (f'"{number}"\n\\',))

    server = Server()
    server.router.vitals.add_figures([LOADS], read)
    told = series(server.get("/metrics").body)
    assert told['acme_loads_total{"0"\n\\}'] == 1
    assert told["acme_loads_total{(others)}"] == 500


def test_those_who_ask_together_or_soon_after_see_the_same() -> None:
    """However many they are, the parts are asked once in a while."""
    server, asked = Server(), []

    def read() -> Readings:
        asked.append(server.clock.seconds())
        yield None
        yield Reading(LOADS, len(asked), ("1",))

    server.router.vitals.add_figures([LOADS], read)
    for _ in range(100):
        assert "acme_loads_total" in server.get("/metrics").body
    assert len(asked) == 1
    server.clock.advance(FRESH_SECONDS)
    assert 'acme_loads_total{truck="1"} 2.0' in server.get("/metrics").body


def test_a_clock_that_is_set_back_keeps_no_numbers_alive() -> None:
    """The reactor's clock can be."""
    server = Server()
    server.clock.advance(1000.0)
    server.get("/metrics")
    server.clock.rightNow -= 500.0
    MemoryClient(server.router)
    assert "fmqbus_sessions_opened_total 1.0" in server.get("/metrics").body


def test_a_survey_that_takes_long_lets_others_have_their_turn() -> None:
    """All who came meanwhile get it in the end, whoever has gone."""
    server, turns = Server(), 5

    def read() -> Readings:
        for _ in range(turns):
            server.clock.rightNow += 0.01  # longer than the share of a turn
            yield None
        yield Reading(LOADS, 1, ("1",))

    server.router.vitals.add_figures([LOADS], read)
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        client.connection.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: bus\r\n\r\n")
    assert not any(client.said for client in clients)
    clients[0].lose()
    server.clock.pump([0.0] * 50)
    assert clients[0].said == b""
    assert [client.answer().status for client in clients[1:]] == [200, 200]


def test_a_page_that_cannot_be_made_is_told() -> None:
    """And the next try is a new one."""
    server = Server()
    bad = Metric("", Kind.GAUGE, "Its name is none")
    server.router.vitals.add_figures([bad], lambda: iter([]))
    with capturedLogs() as logs:
        assert server.get("/metrics").status == 500
        assert server.get("/metrics").status == 500
    assert [log["log_level"].name for log in logs] == ["critical"] * 2
    assert server.get("/healthz").status == 200


def checks_of(server: Server, path: str) -> tuple[int, dict[str, str | None]]:
    """The status of a health page, and the reason of each check that is not well."""
    answer = server.get(path)
    content = json.loads(answer.body)
    assert content["ok"] is (answer.status == 200)
    assert all(check["ok"] is ("reason" not in check) for check in content["checks"].values())
    return answer.status, {name: check.get("reason") for name, check in content["checks"].items()}


def test_a_bus_is_ready_once_it_runs_and_until_it_drains() -> None:
    """Each check tells by its name what is amiss."""
    server = Server()
    status, checks = checks_of(server, "/readyz")
    assert (status, checks["router"]) == (503, "what the stores keep is not yet back")
    server.router.startService()
    assert checks_of(server, "/readyz") == (
        200,
        dict.fromkeys(("router", "message_store", "retained_store", "schedule_store")),
    )
    server.router.drain()
    status, checks = checks_of(server, "/readyz")
    assert (status, checks["router"]) == (503, "the bus is draining")


def test_parts_can_add_checks() -> None:
    """As a journal does."""
    server = Server()
    server.router.startService()
    server.router.vitals.ready.add("journal", lambda: "the disk is full")
    assert checks_of(server, "/readyz")[1]["journal"] == "the disk is full"
    assert checks_of(server, "/healthz") == (200, {})
    server.router.vitals.alive.add("reactor", lambda: "the reactor was 9.0 s late")
    assert checks_of(server, "/healthz") == (503, {"reactor": "the reactor was 9.0 s late"})


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
def test_without_a_rule_others_see_nothing(path: str) -> None:
    """By the policy of the bus, as everywhere."""
    server = Server(authorizers=[LocalPeers()])
    server.router.startService()
    assert server.get(path).status == 200
    answer = server.get(path, facts=FAR)
    assert (answer.status, answer.body) == (403, f"It takes the right to manage $/http{path}.\n")


@pytest.mark.parametrize("header", ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "Via: x", "X-Real-IP: x"])
def test_who_comes_by_a_proxy_is_not_here(header: str) -> None:
    """However near the proxy is."""
    assert Server(authorizers=[LocalPeers()]).get("/metrics", header).status == 403


def test_a_rule_can_open_a_page_to_others() -> None:
    """Just that one."""
    rule = Rule("allow", (Action.MANAGE,), (Who("address:192.0.2.0/24"),), (NamePattern("$/http/healthz"),), "http")
    server = Server(authorizers=[RulePolicy([rule])])
    assert server.get("/healthz", facts=FAR).status == 200
    assert server.get("/metrics", facts=FAR).status == 403
    assert server.get("/healthz").status == 403, "no rule for those on this machine"


@pytest.mark.parametrize(
    "path", ["/", "/metrics/", "//metrics", "/%6detrics", "/metrics%00", "*", "/../metrics", "metrics"]
)
def test_what_is_not_there_is_told(path: str) -> None:
    """With what is; a path is not interpreted."""
    answer = Server().get(path)
    assert (answer.status, answer.body) == (404, "There is: /healthz /metrics /readyz\n")


def test_a_query_makes_no_difference() -> None:
    """Some probes add one."""
    assert Server().get("/healthz?verbose=1").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "NONSENSE"])
def test_one_can_only_look(method: str) -> None:
    """RFC 9110, section 15.5.6: with what can be done."""
    answer = Server().get("/metrics", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/nope"])
def test_head_is_get_without_the_body(path: str) -> None:
    """RFC 9110, section 9.3.2."""
    server = Server()
    got, head = server.get(path), server.get(path, method="HEAD")
    assert (head.status, head.headers, head.body) == (got.status, got.headers, "")


def test_an_answer_tells_no_more_than_it_has_to() -> None:
    """Not what it was made with; and nobody is to keep it, or to take it for something else."""
    headers = Server().get("/healthz").headers
    assert headers.keys() == {"connection", "content-type", "content-length", "cache-control", "x-content-type-options"}
    assert (headers["connection"], headers["cache-control"]) == ("close", "no-store")


def test_one_who_has_gone_is_not_answered() -> None:
    """Nor is that an error."""
    server = Server()
    server.router.vitals.add_figures([LOADS], lambda: iter([None, Reading(LOADS, 1, ("1",))]))
    client = Client(server)
    client.lose()
    with capturedLogs() as logs:
        server.clock.pump([0.0] * 10)
    assert logs == []
