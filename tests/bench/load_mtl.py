"""Write contents to a broker of MTL and read them again, by pyzmq alone: topics without confirmations, a queue with.

One process writes, another reads, and tells it by shared memory how far it is, so that no more than so many contents
are under way. Prints one line of JSON, as the load generators in C do. With ``--proto bare`` there is no control flow,
for a forwarder that has none.
"""

import argparse
import json
import mmap
import os
import struct
import time
from functools import partial
from pathlib import Path

import zmq
from zmq.backend import Socket

LEASE, RESPONSE, SUMMON, CONTENT, CONFIRM, PING = 1, 2, 3, 5, 6, 8
PATIENCE_MS = 60_000
#: As many contents are confirmed together.
CONFIRMED = 50
#: The writer looks so often how far the readers are.
LOOKED = 32

#: pyzmq's lower layer: what is above it costs as much as to send. So whoever measures is less of a bound.
send_part, receive_part = Socket.send, Socket.recv
AT_ONCE, MORE = int(zmq.NOBLOCK), int(zmq.SNDMORE)

NAMED = struct.Struct(">BQB")
CONFIRMATION = struct.Struct(">BQB")
SEQUENCE = struct.Struct(">Q")
#: In shared memory: whether to stop, how many were written, and how many each reader has.
SHARED = struct.Struct("Q")
STOP, WRITTEN, READ = 0, 1, 2


class Shared:
    """Numbers that both processes see."""

    def __init__(self, count):
        self.memory = mmap.mmap(-1, count * SHARED.size)
        self.count = count

    def set(self, index, value):
        SHARED.pack_into(self.memory, index * SHARED.size, value)

    def get(self, index):
        return SHARED.unpack_from(self.memory, index * SHARED.size)[0]

    def least_read(self):
        return min(self.get(index) for index in range(READ, self.count))


def socket_of(context, kind, port):
    made = context.socket(kind)
    made.set(zmq.RCVTIMEO, PATIENCE_MS)
    made.set(zmq.SNDTIMEO, PATIENCE_MS)
    made.set(zmq.LINGER, 0)
    made.connect(f"tcp://127.0.0.1:{port}")
    return made


def lease(context, chosen, command):
    """A port, and what begins a flow there."""
    if chosen.proto == "bare":
        return chosen.port, b"none"
    control = socket_of(context, zmq.REQ, chosen.port)

    def ask(name, **members):
        control.send_multipart([f"Connection.{name}".encode(), json.dumps(members).encode()])
        code, body = control.recv_multipart()
        if code[:1] != b"2":
            raise SystemExit(f"Connection.{name} is answered by {code.decode()}")
        return json.loads(body)

    ask("Open", protocol={"name": "MTL", "version": 1})
    ask("Profile", profile=chosen.profile)
    granted = ask(command, resources=["bench"], confirm=chosen.confirm)
    control.close()
    return granted["port"], granted["lease"].encode()


def flow(context, chosen, command):
    """A data flow that is leased; a reader's is summoned too."""
    port, token = lease(context, chosen, command)
    made = socket_of(context, zmq.DEALER, port)
    said = [(LEASE, token)] + ([(SUMMON, b"bench")] if command == "Reader" else [])
    for sequence, (kind, name) in enumerate(said, 1):
        made.send_multipart([NAMED.pack(kind, sequence, len(name)) + name, b""])
        while (answer := made.recv_multipart())[0][0] != RESPONSE:
            pass
        if answer[1] != b"200":
            raise SystemExit(f"{kind} is answered by {answer[1].decode()}")
    return made


def write(chosen, shared):
    """Until it is told to stop."""
    made = flow(zmq.Context(), chosen, "Writer")
    rest = bytes(chosen.payload - SEQUENCE.size)
    tail = b"bench" + bytes(4)
    confirmed = number = 0
    is_confirmed = chosen.confirm == "full"
    while not shared.get(STOP):
        least = shared.least_read()
        while number - least >= chosen.under_way and not shared.get(STOP):
            time.sleep(0.0001)
            least = shared.least_read()
        for _ in range(LOOKED):
            number += 1
            send_part(made, NAMED.pack(CONTENT, number, 5) + tail, MORE)
            send_part(made, SEQUENCE.pack(number) + rest)
        shared.set(WRITTEN, number)
        while is_confirmed and (number - confirmed >= chosen.window or made.get(zmq.EVENTS) & zmq.POLLIN):
            header = made.recv_multipart()[0]
            if header[0] == CONFIRM:
                confirmed = max(confirmed, CONFIRMATION.unpack(header)[1])
    while is_confirmed and confirmed < number:
        header = made.recv_multipart()[0]
        if header[0] == CONFIRM:
            confirmed = max(confirmed, CONFIRMATION.unpack(header)[1])
    # nobody takes away what is under way
    while shared.get(STOP) < 2:
        time.sleep(0.01)


class Reader:
    """One flow, and what came on it."""

    def __init__(self, context, chosen, shared, index):
        self.socket = flow(context, chosen, "Reader")
        self.receive = partial(receive_part, self.socket)
        self.is_confirmed = chosen.confirm == "full"
        self.shared, self.index = shared, READ + index
        self.number = self.read = self.confirmed = self.disorder = self.bad = self.sequence = 0
        self.octets = chosen.payload

    def drain(self):
        """What is there."""
        receive = self.receive
        while True:
            try:
                header = receive(AT_ONCE)
            except zmq.Again:
                break
            body = receive(AT_ONCE)
            if header[0] != CONTENT:
                if header[0] == PING:
                    self.socket.send_multipart([b"\x09", b""])
                continue
            number = SEQUENCE.unpack_from(body)[0]
            if number != self.number + 1:
                self.disorder += 1
            if len(body) != self.octets:
                self.bad += 1
            self.number = number
            self.read += 1
            if self.is_confirmed:
                self.sequence = SEQUENCE.unpack_from(header, 1)[0]
                if self.read - self.confirmed >= CONFIRMED:
                    self.confirm()
        self.shared.set(self.index, self.read)
        if self.is_confirmed and self.read > self.confirmed:
            self.confirm()

    def confirm(self):
        self.confirmed = self.read
        self.socket.send_multipart([CONFIRMATION.pack(CONFIRM, self.sequence, 1), b""])


def cpu_of(pid):
    """User and system seconds of a process, all its threads included."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def spent(pids):
    """Seconds: now, of these processes each, and of the machine."""
    busy = sum(map(int, Path("/proc/stat").read_text().split()[1:4])) / os.sysconf("SC_CLK_TCK")
    return [time.monotonic(), *map(cpu_of, pids), busy]


def bound(*processes):
    """How busy what they have is: one of them is one thread of Python, and all together have only so many cores."""
    return max(*processes, sum(processes) / len(os.sched_getaffinity(0)))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--proto", choices=["mtl", "bare"])
    arguments.add_argument("--port", type=int)
    arguments.add_argument("--pid", type=int, action="append", default=[])
    arguments.add_argument("--profile", default="topic")
    arguments.add_argument("--confirm", default="none")
    arguments.add_argument("--subs", type=int, default=1)
    arguments.add_argument("--payload", type=int, default=128)
    arguments.add_argument("--under-way", type=int, default=2000)
    arguments.add_argument("--window", type=int, default=1000)
    arguments.add_argument("--warm", type=float, default=1)
    arguments.add_argument("--secs", type=float, default=5)
    arguments.add_argument("--setup-timeout")
    chosen = arguments.parse_args()

    shared = Shared(READ + chosen.subs)
    ready, go = os.pipe()
    writer = os.fork()
    if not writer:
        os.read(ready, 1)  # the readers are there
        write(chosen, shared)
        os._exit(0)

    context = zmq.Context()
    readers = [Reader(context, chosen, shared, index) for index in range(chosen.subs)]
    poller = zmq.Poller()
    of = {}
    for reader in readers:
        poller.register(reader.socket, zmq.POLLIN)
        of[reader.socket] = reader
    os.write(go, b"g")

    pids = [os.getpid(), writer, *chosen.pid]
    before, began, counted = None, time.monotonic(), 0
    while (now := time.monotonic()) < began + chosen.warm + chosen.secs:
        if before is None and now >= began + chosen.warm:
            before, counted = spent(pids), sum(reader.read for reader in readers)
        for ready_socket, _ in poller.poll(100):
            of[ready_socket].drain()
    after, counted = spent(pids), sum(reader.read for reader in readers) - counted
    seconds, own, writers, *brokers, machine = (b - a for a, b in zip(before, after, strict=True))

    shared.set(STOP, 1)
    deadline, previous = time.monotonic() + 10, -1
    while time.monotonic() < deadline and (
        shared.least_read() < shared.get(WRITTEN) or previous != shared.get(WRITTEN)
    ):
        previous = shared.get(WRITTEN)
        for ready_socket, _ in poller.poll(100):
            of[ready_socket].drain()
    shared.set(STOP, 2)
    _, status = os.waitpid(writer, 0)
    figures = {
        "proto": chosen.proto,
        "msgs_s": round(counted / seconds),
        "lost": sum(shared.get(WRITTEN) - reader.read for reader in readers),
        "disorder": sum(reader.disorder for reader in readers),
        "bad": sum(reader.bad for reader in readers) + bool(status),
        "lg_cpu": bound(own, writers) / seconds,
        "broker_cpu_s": sum(brokers),
        "other_cpu": (machine - own - writers - sum(brokers)) / seconds,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
