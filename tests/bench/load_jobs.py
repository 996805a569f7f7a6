"""Put jobs on a broker as its users do in Python, and see their results: eMQP, rq or Celery.

It keeps so many jobs under way and waits for the oldest, or hands in one after the other at a rate. Prints one line of
JSON, as the load generators in C do. Runs in the Python that has the client, so it imports nothing else of ours.
"""

import argparse
import json
import os
import time
from collections import deque
from pathlib import Path

CALLED = ("tests.bench.jobs.plain", "noop")
PATIENCE_SECONDS = 60


class EMQP:
    """By pyzmq alone."""

    def __init__(self, port):
        import zmq

        self.socket = zmq.Context().socket(zmq.DEALER)
        self.socket.set(zmq.IDENTITY, b"client-%d" % os.getpid())
        self.socket.set(zmq.RCVTIMEO, PATIENCE_SECONDS * 1000)
        self.socket.connect(f"tcp://127.0.0.1:{port}")
        self.results = {}

    def hand_in(self, number):
        path, called = CALLED
        job_id = b"job-%d" % number
        members = {
            "callable": called,
            "path": path,
            "args": ["", 0],
            "kwargs": {},
            "class_args": [],
            "class_kwargs": {},
        }
        body = json.dumps(["run", members]).encode()
        self.socket.send_multipart([b"", b"eMQP/1.0", b"REQUEST", job_id, b"default", b"reply-requested", body])
        return job_id

    def result(self, job_id):
        while job_id not in self.results:
            _, _, word, _, body, *request = self.socket.recv_multipart()
            if word == b"REPLY":
                self.results[request[0]] = json.loads(body)
        return self.results.pop(job_id)["value"]


class RQ:
    """By rq's queue."""

    def __init__(self, port):
        from redis import Redis
        from rq import Queue

        self.queue = Queue("default", connection=Redis(port=port))

    def hand_in(self, number):
        return self.queue.enqueue(".".join(CALLED), "", 0)

    def result(self, job):
        return job.latest_result(timeout=PATIENCE_SECONDS).return_value


class Celery:
    """By a task's ``delay``."""

    def __init__(self, port):
        os.environ["BENCH_REDIS"] = f"redis://127.0.0.1:{port}/0"
        from tests.bench.jobs.celery_app import noop

        self.task = noop

    def hand_in(self, number):
        return self.task.delay("", 0)

    def result(self, waiting):
        return waiting.get(timeout=PATIENCE_SECONDS)


CLIENTS = {"emqp": EMQP, "rq": RQ, "celery": Celery}


def cpu_of(pid):
    """User and system seconds of a process and all that it has started."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_of, below))


def spent(pids):
    """Seconds: now, of this process, of those, of the machine."""
    busy = sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), time.process_time(), sum(map(cpu_of, pids)), busy


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--proto", choices=CLIENTS)
    arguments.add_argument("--port", type=int)
    arguments.add_argument("--pid", type=int, action="append", default=[])
    arguments.add_argument("--window", type=int, default=64)
    arguments.add_argument("--rate", type=float)
    arguments.add_argument("--warm", type=float, default=1)
    arguments.add_argument("--secs", type=float, default=5)
    arguments.add_argument("--setup-timeout")
    chosen = arguments.parse_args()

    client = CLIENTS[chosen.proto](chosen.port)
    bad = client.result(client.hand_in(0)) is not True  # whoever works may have to start first
    number, done, samples, under_way = 0, 0, [], deque()
    window = 1 if chosen.rate else chosen.window
    before, began = None, time.monotonic()
    while (now := time.monotonic()) < began + chosen.warm + chosen.secs:
        if before is None and now >= began + chosen.warm:
            before, done, samples = spent(chosen.pid), 0, []
        while len(under_way) < window:
            number += 1
            under_way.append((time.monotonic(), client.hand_in(number)))
        since, job = under_way.popleft()
        bad += client.result(job) is not True
        done += 1
        samples.append((time.monotonic() - since) * 1e6)
        if chosen.rate:
            time.sleep(max(since + 1 / chosen.rate - time.monotonic(), 0))
    seconds, own, brokers, machine = (b - a for a, b in zip(before, spent(chosen.pid), strict=True))
    bad += sum(client.result(job) is not True for _, job in under_way)
    samples.sort()
    figures = {
        "proto": chosen.proto,
        "window": window,
        "msgs_s": round(done / seconds),
        "lost": 0,
        "bad": bad,
        "rtt_p50": samples[len(samples) // 2],
        "rtt_p99": samples[len(samples) * 99 // 100],
        "lg_cpu": own / seconds,
        "broker_cpu_s": brokers,
        "other_cpu": (machine - own - brokers) / seconds,
    }
    print(json.dumps(figures))


main()
