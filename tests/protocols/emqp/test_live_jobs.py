"""Jobs from real clients to real workers. (eMQP, Client, Worker, Headers)"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import zmq

from tests.live.broker import Broker
from tests.live.emqp_peers import Place, args_of, body_of, result

Start = Callable[..., Broker]


def test_a_job_goes_to_a_worker_and_its_result_to_the_client(place: Place, queue: str) -> None:
    """REQUEST, ACK, REQUEST, REPLY, REPLY; the body and the id come through as they were."""
    client, worker = place.client(), place.worker().inform([(10, queue)]).ready()
    id = client.submit(queue, body_of("add", 1, 2), "reply-requested,colour:red")
    job = worker.job()
    assert job[1:3] == [id, queue.encode()]
    assert sorted(job[3].split(b",")) == [b"colour:red", b"reply-requested"]
    assert job[4] == body_of("add", 1, 2)
    worker.reply(job, 3)
    assert client.result(id) == {"value": 3}


def test_who_wants_no_result_is_told_that_the_job_is_taken_over_and_no_more(place: Place, queue: str) -> None:
    """As EventMQ's broker tells it; the worker is asked for a result all the same."""
    client, worker = place.client(), place.worker().inform([(10, queue)]).ready()
    client.submit(queue, body_of("add"))
    job = worker.job()
    assert job[3] == b"reply-requested"
    worker.reply(job, 1)
    worker.heard()
    assert client.heard() == []


def test_a_worker_is_given_as_many_jobs_as_it_has_said_ready(place: Place, queue: str) -> None:
    """A REPLY alone is no credit."""
    client, worker = place.client(), place.worker().inform([(10, queue)])
    for number in range(5):
        client.submit(queue, body_of("add", number))
    assert worker.heard() == []
    first, second = worker.ready(2).job(), worker.job()
    assert [args_of(first), args_of(second)] == [[0], [1]]
    worker.reply(first, None)
    assert worker.heard() == []
    assert args_of(worker.ready().job()) == [2]


def test_jobs_of_the_queue_with_the_higher_weight_come_first(place: Place, queue: str) -> None:
    """Whenever this worker can take one."""
    client, worker = place.client(), place.worker().inform([(10, f"{queue}/x"), (40, f"{queue}/email")])
    for name in ("x", "email", "x", "email"):
        client.submit(f"{queue}/{name}", body_of("add", name))
    assert [args_of(worker.ready().job()) for _ in range(4)] == [["email"], ["email"], ["x"], ["x"]]


def test_the_worker_with_the_higher_weight_comes_first_while_it_has_room(place: Place, queue: str) -> None:
    """Then the others, one after the other."""
    fond = place.worker(b"fond").inform([(40, queue)]).ready(2)
    others = [place.worker().inform([(10, queue)]).ready(2) for _ in range(2)]
    for one in (fond, *others):
        assert one.heard() == []
    client = place.client()
    for number in range(4):
        client.submit(queue, body_of("add", number))
    assert [args_of(fond.job()) for _ in range(2)] == [[0], [1]]
    assert sorted(args_of(one.job()) for one in others) == [[2], [3]]


@pytest.mark.parametrize("queues", ["[20, 'QUEUE']", '["QUEUE"]', "QUEUE", "[[20, 'QUEUE']]"])
def test_queues_are_understood_in_every_form(place: Place, queue: str, queues: str) -> None:
    """The specification's, EventMQ's and what others write."""
    name = f"forms/{'-'.join(f'{octet:x}' for octet in queues.encode())}"
    worker, client = place.worker().inform(queues.replace("QUEUE", name)).ready(), place.client()
    client.submit(name, body_of("add"))
    assert worker.job()[2] == name.encode()


def test_a_reply_of_the_specification_names_no_job_and_ends_the_oldest(place: Place, queue: str) -> None:
    """Five parts."""
    worker, client = place.worker().inform([(10, queue)]).ready(2), place.client()
    ids = [client.submit(queue, body_of("add"), "reply-requested") for _ in range(2)]
    worker.job()
    worker.say("REPLY", result("first"))
    assert client.result(ids[0]) == {"value": "first"}


def test_a_req_socket_gets_one_answer(place: Place, queue: str) -> None:
    """The result if it asked for it, else that the job was taken over."""
    worker = place.worker().inform([(10, queue)]).ready(2)
    asking, handing_in = place.client(kind=zmq.REQ), place.client(kind=zmq.REQ)
    id = asking.request(queue, body_of("add", 1), "reply-requested")
    worker.reply(worker.job(), "one")
    assert asking.result(id) == {"value": "one"}
    id = handing_in.request(queue, body_of("add", 2))
    assert handing_in.hear()[2] == id
    worker.reply(worker.job(), "two")
    # had it been told twice, it would take the second for the answer to this
    handing_in.say("ROUTER_SHOW_SCHEDULERS")
    assert json.loads(handing_in.hear()[2]) == {"connected_schedulers": {}}


def test_a_client_that_is_gone_a_millisecond_later_has_handed_in_its_job(place: Place, queue: str) -> None:
    """Its result is nobody's, and the worker goes on."""
    worker = place.worker().inform([(10, queue)]).ready(2)
    hasty = place.client()
    hasty.request(queue, body_of("add", "hasty"), "reply-requested")
    hasty.socket.close(1000)
    job = worker.job()
    assert args_of(job) == ["hasty"]
    worker.reply(job, 1)
    client = place.client()
    id = client.submit(queue, body_of("add"), "reply-requested")
    worker.reply(worker.job(), 2)
    assert client.result(id) == {"value": 2}


def test_two_clients_may_have_equal_ids(place: Place, queue: str) -> None:
    """Each gets its own result, under its own id; the worker can tell the jobs apart."""
    worker = place.worker().inform([(10, queue)]).ready(2)
    clients = [place.client(), place.client()]
    for number, client in enumerate(clients):
        client.submit(queue, body_of("add", number), "reply-requested", id=b"uuid")
    jobs = [worker.job(), worker.job()]
    assert jobs[0][1] != jobs[1][1]
    for job in reversed(jobs):
        worker.reply(job, args_of(job))
    for number, client in enumerate(clients):
        assert client.result(b"uuid") == {"value": [number]}


def test_a_result_waits_for_a_client_that_comes_back(broker: Broker, place: Place, queue: str) -> None:
    """Under the same identity, within a minute."""
    worker = place.worker().inform([(10, queue)]).ready()
    with Place(broker) as elsewhere:
        id = elsewhere.client(b"comes-back").submit(queue, body_of("add"), "reply-requested")
    job = worker.job()
    # its connection is closed, and what the broker's ZeroMQ is asked now, it does after it has seen that
    worker.heard()
    worker.reply(job, "late")
    worker.heard()
    assert place.client(b"comes-back").result(id) == {"value": "late"}


def test_binary_identities_are_identities(place: Place, queue: str) -> None:
    """Those that ZeroMQ makes up, and any others."""
    worker = place.worker(b"\xff\xfe\x01").inform([(10, queue)]).ready()
    client = place.client(bytes(range(1, 255)))
    id = client.submit(queue, body_of("add"), "reply-requested")
    worker.reply(worker.job(), 1)
    assert client.result(id) == {"value": 1}
    (entry,) = [
        one
        for one in json.loads(_asked(place, "ROUTER_SHOW_WORKERS"))["connected_workers"].values()
        if one["queues"] == [[10, queue]]
    ]
    assert entry["available_slots"] == 0


def _asked(place: Place, word: str) -> bytes:
    admin = place.peer("admin")
    admin.say(word)
    return admin.hear()[2]


def test_a_worker_that_dies_has_its_job_done_by_another(start: Start) -> None:
    """`retry-count` times, after the grace; it is told as one that died only to the client that asked."""
    with Place(start("silence = 1.0\ngrace = 0.1")) as place:
        dying, client = place.worker().inform([(40, "q")]).ready(), place.client()
        id = client.submit("q", body_of("add", 1), "reply-requested,retry-count:1")
        dying.job()
        dying.close()
        living = place.worker().inform([(10, "q")]).ready()
        living.reply(living.job(), "done")
        assert client.result(id) == {"value": "done"}


def test_a_job_that_cannot_be_tried_again_is_a_dead_letter_and_a_failure(start: Start) -> None:
    """Nothing vanishes without a word."""
    with Place(start("silence = 1.0\ngrace = 0.1", '[queues]\ndead_letter = "dead"')) as place:
        dying, client = place.worker().inform([(40, "q")]).ready(), place.client()
        id = client.submit("q", body_of("add", 1), "reply-requested")
        dying.job()
        dying.close()
        assert client.result(id) == {"value": "the worker is lost", "error": "WorkerLost"}
        undertaker = place.worker().inform([(10, "dead")]).ready()
        assert args_of(undertaker.job()) == [1]


def test_a_job_that_takes_too_long_is_given_up_by_the_broker_too(start: Start) -> None:
    """Its worker should have been the first to know."""
    with Place(start("timeout-grace = 0.0")) as place:
        worker, client = place.worker().inform([(10, "q")]).ready(), place.client()
        id = client.submit("q", body_of("add"), "reply-requested,timeout:1")
        job = worker.job()
        assert client.result(id)["value"] == "TimeoutError"
        worker.reply(job, "too late")
        assert client.heard() == []


def test_the_end_waits_for_jobs_under_way(start: Start) -> None:
    """And tells their results; what comes meanwhile is refused."""
    broker = start()
    with Place(broker) as place:
        worker, client = place.worker().inform([(10, "q")]).ready(), place.client()
        id = client.submit("q", body_of("add"), "reply-requested")
        job = worker.job()
        admin = place.peer("admin")
        asked = admin.say("DISCONNECT")
        assert admin.hear()[::2] == [b"ACK", asked]
        assert {worker.hear()[0], worker.hear()[0]} == {b"KBYE", b"KBAI"}
        refused = client.request("q", body_of("add"), "reply-requested")
        assert client.result(refused)["error"] == "Refused"
        worker.reply(job, "in the end")
        assert client.result(id) == {"value": "in the end"}
        assert broker.wait() == 0


def test_the_end_comes_though_a_job_does_not(start: Start) -> None:
    """After `drain_seconds`."""
    broker = start(tables="[limits]\ndrain_seconds = 0.2")
    with Place(broker) as place:
        worker, client = place.worker().inform([(10, "q")]).ready(), place.client()
        client.submit("q", body_of("add"), "reply-requested")
        worker.job()
        assert broker.stop() == 0
