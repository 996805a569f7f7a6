"""What of eMQP's workers, clients and schedulers that say what they may, far too often or at the wrong place?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack

from fmqbus.limits import DEFAULT_LIMITS, KIB
from fmqbus.protocols.emqp.queue_lists import MOST_QUEUES
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import wait_until
from tests.adversarial.emqp_bystanders import LISTENERS, STALL_MS, Bystanders
from tests.live.emqp_peers import BACKEND, FRONTEND, body_of, result

#: SCHEDULEs that cannot be meant: interval and cron.
SCHEDULES: Sequence[tuple[str, str]] = (
    ("0", ""),
    ("-5", ""),
    ("1000000000000", ""),
    ("1.5", ""),
    ("", ""),
    ("9" * 10_000, ""),
    ("5", "* * * * *"),
    ("-1", ""),
    ("-1", "* * * *"),
    ("-1", "61 * * * *"),
    ("-1", "* * 31 2 *"),
    ("-1", "*/0 * * * *"),
    ("-1", "1-2-3 * * * *"),
    ("-1", "x" * 10_000),
    ("-1", "," * 10_000),
)


@attack(
    "an eMQP worker says READY {times:,} times",
    listen=LISTENERS,
    full=scale(memory_mib=48, stall_ms=STALL_MS, times=1_000_000),
    smoke=scale(memory_mib=32, times=100_000),
)
def emqp_readies(siege: Siege, times: int) -> str:
    """So many count as a consumer may have in its window."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        worker = bystanders.place.worker(b"eager").inform([(10, "eager")])
        for _ in range(times // 1_000):
            worker.ready(1_000)
        bystanders.refused(times - DEFAULT_LIMITS.consumer_window)
        bystanders.are_served()
        admin = bystanders.place.peer("admin")
        admin.say("ROUTER_SHOW_WORKERS")
        slots = json.loads(admin.hear()[2])["connected_workers"]["eager"]["available_slots"]
        assert slots == DEFAULT_LIMITS.consumer_window
        bystanders.noted("ready")
        return f"{slots:,} count, the others are refused and counted"


@attack(
    "eMQP: {times:,} HEARTBEATs, READYs and REPLYs of strangers",
    listen=LISTENERS,
    full=scale(memory_mib=32, stall_ms=STALL_MS, times=20_000),
    smoke=scale(memory_mib=32, times=3_000),
)
def emqp_strangers(siege: Siege, times: int) -> str:
    """They are told nothing, and a job ends by its own worker's word and no other's."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        place = bystanders.place
        worker, client = place.worker().inform([(10, "watched")]).ready(), place.client()
        id = client.submit("watched", body_of("f"), "reply-requested")
        job = worker.job()
        strangers = [place.peer(name) for name in (FRONTEND, BACKEND, "admin", "pubin")]
        for number in range(times):
            stranger = strangers[number % len(strangers)]
            stranger.say("HEARTBEAT", "nan")
            stranger.say("READY")
            stranger.say("REPLY", result("forged"), job[1])
            stranger.say("REPLY", result("forged"))
            if number % 1_000 == 0:
                worker.say("HEARTBEAT")
        bystanders.refused(3 * times)
        assert all(stranger.heard() == [] for stranger in strangers)
        worker.reply(job, "true")
        assert client.result(id) == {"value": "true"}
        bystanders.are_served()
        bystanders.noted("not-informed", "reply")
        return f"{3 * times:,} refused and counted, nothing answered"


@attack(
    "eMQP: {times:,} REPLYs of a worker to jobs that nobody has, in every form",
    listen=LISTENERS,
    full=scale(memory_mib=32, stall_ms=STALL_MS, times=50_000),
    smoke=scale(memory_mib=32, times=2_000),
)
def emqp_replies(siege: Siege, times: int) -> str:
    """They end nothing; what is no result ends its own job as a failure."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        worker, client = bystanders.place.worker().inform([(10, "forged")]).ready(3), bystanders.place.client()
        for number in range(times):
            worker.say("REPLY", result(number), f"no-such-job-{number}")
        bystanders.refused(times)
        for body in (b"\xff", b"[" * 100_000, b"{}"):
            id = client.submit("forged", body_of("f"), "reply-requested")
            worker.reply(worker.job(), body)
            assert client.result(id)["error"] == "BadResult"
        bystanders.are_served()
        bystanders.noted("reply")
        return f"{times:,} refused and counted"


@attack(
    "eMQP: SCHEDULEs with impossible times, {times} times over, and UNSCHEDULEs of what is not scheduled",
    listen=LISTENERS,
    full=scale(memory_mib=48, stall_ms=STALL_MS, times=200),
    smoke=scale(memory_mib=32, times=5),
)
def emqp_schedules(siege: Siege, times: int) -> str:
    """Nothing is scheduled, neither by the bus nor by a scheduler that has INFORMed."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        client, scheduler = bystanders.place.client(), bystanders.place.peer(FRONTEND)
        for is_there in (False, True):
            if is_there:
                scheduler.say("INFORM", "", "scheduler")
                scheduler.hear(b"ACK")
            for _ in range(times):
                for interval, cron in SCHEDULES:
                    client.say("SCHEDULE", "never", "", interval, body_of("f"), cron)
                client.say("UNSCHEDULE", "never", "", "1", b"no job", "")
                assert client.heard() == []
        bystanders.refused(2 * times * (len(SCHEDULES) + 1))
        assert scheduler.heard() == []
        scheduler.say("KBYE")
        bystanders.are_served()
        bystanders.noted("when")
        assert "never" not in bystanders.status()["waiting_messages_by_queue"]
        return f"{2 * times * (len(SCHEDULES) + 1):,} refused and counted"


@attack(
    "one client of eMQP hands in {jobs:,} jobs as fast as it can",
    listen=LISTENERS,
    full=scale(memory_mib=120, stall_ms=STALL_MS, jobs=100_000),
    smoke=scale(memory_mib=48, jobs=3_000),
)
def emqp_flood(siege: Siege, jobs: int) -> str:
    """Nobody serves them; they wait, and others are served meanwhile."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        client = bystanders.place.client()
        bystanders.place.worker().inform([(10, "flooded")])
        body = body_of("f", "x" * 100)
        for number in range(jobs):
            client.request("flooded", body)
            if number % (jobs // 10) == 0:
                bystanders.are_served()
        wait_until(lambda: bystanders.status()["waiting_messages_by_queue"]["flooded"] == jobs, "all wait")
        bystanders.are_served()
        return f"all {jobs:,} wait in their queue"


@attack(
    "eMQP: a worker says READY {jobs:,} times and does not read {mib} MiB of jobs; a client does not read its results",
    listen=LISTENERS,
    config="[limits]\noutbox_octets = 4_194_304\ndrain_seconds = 1\n",
    full=scale(memory_mib=400, stall_ms=STALL_MS, jobs=10_000, mib=156),
    # ZeroMQ holds 1,000 on either side before anything waits in the broker
    smoke=scale(memory_mib=120, jobs=3_000, mib=46),
)
def emqp_deaf(siege: Siege, jobs: int, mib: int) -> str:
    """What waits for them is bounded, and the jobs that were not sent are another's."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        place = bystanders.place
        deaf = place.worker(b"deaf").inform([(10, "heavy")]).ready(jobs)
        assert deaf.heard() == []
        client, body = place.client(), body_of("f", "x" * 16 * KIB)
        for number in range(jobs):
            client.request("heavy", body, "reply-requested")
            if number % (jobs // 10) == 0:
                bystanders.are_served()
        other = place.worker(b"other").inform([(10, "heavy")]).ready(10)
        others = [other.job() for _ in range(10)]
        for job in others:
            other.reply(job, "x" * 16 * KIB)
        bystanders.are_served()
        deaf.close()
        return "bounded; another worker gets the rest"


@attack(
    "an eMQP worker INFORMs {times} times for as many queues as fit",
    listen=LISTENERS,
    full=scale(memory_mib=96, stall_ms=STALL_MS, times=50),
    smoke=scale(memory_mib=64, times=3),
)
def emqp_many_queues(siege: Siege, times: int) -> str:
    """Each time for others."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        worker = bystanders.place.worker()
        acknowledged = 0
        for number in range(times):
            names = [f"m/{number}/{index:x}" for index in range(MOST_QUEUES)]
            id = worker.say("INFORM", ",".join(names))
            acknowledged += any(said[0] == b"ACK" and said[2] == id for said in worker.heard())
        assert acknowledged == times
        refused = worker.say("INFORM", ",".join(f"m/{index:x}" for index in range(MOST_QUEUES + 1)))
        assert not any(said[2] == refused for said in worker.heard())
        bystanders.are_served()
        return f"{MOST_QUEUES} queues are acknowledged, and one more is not"


@attack(
    "a subscriber of eMQP wishes {wishes:,} prefixes, and goes",
    listen=LISTENERS,
    full=scale(memory_mib=96, stall_ms=STALL_MS, wishes=20_000),
    smoke=scale(memory_mib=48, wishes=500),
)
def emqp_wishes(siege: Siege, wishes: int) -> str:
    """All subscribers of the socket are one client of the bus, with the bounds of one."""
    with ExitStack() as opened:
        bystanders = Bystanders(siege, opened)
        subscriber = bystanders.place.subscriber()
        for number in range(wishes):
            subscriber.subscribe(b"%x/deep/er" % number)
        subscriber.subscribe(b"w")
        observer = siege.client()
        begun = observer.number(b"$/info/subscriptions", lambda number: number > 500)
        bystanders.are_served()
        subscriber.close()
        observer.number(b"$/info/subscriptions", lambda number: number < 100)
        return f"gone with their subscriber, {begun:,} of the bus's at least"
