"""Forward contents and confirmations between MTL's flows, and know nothing of them: what Python and ZeroMQ can do at
most.

Whoever summons something gets every content; what he confirms goes to whoever wrote last. Nobody asks who may, nothing
is kept, counted or bounded. It uses pyzmq's lower layer, as fmqbus does: else it would be no ceiling.
"""

import sys

import zmq
from zmq.backend import Socket

MORE = int(zmq.SNDMORE)
LEASE, SUMMON, CONTENT = 1, 3, 5


def main():
    router = zmq.Context().socket(zmq.ROUTER)
    # nothing is thrown away: a slow reader makes the writer wait, and one that is gone is told of
    router.set(zmq.ROUTER_MANDATORY, 1)
    router.bind(f"tcp://127.0.0.1:{sys.argv[1]}")
    receive, send_part = Socket.recv, Socket.send

    def send(peer, header, body):
        send_part(router, peer, MORE)
        send_part(router, header, MORE)
        send_part(router, body)

    readers, writer = [], b""
    while True:
        peer, header, body = receive(router), receive(router), receive(router)
        kind = header[0]
        try:
            if kind == CONTENT:
                writer = peer
                for reader in readers:
                    send(reader, header, body)
            elif kind in (LEASE, SUMMON):
                if kind == SUMMON:
                    # those of the workload before are gone
                    readers = [peer] if writer else [*readers, peer]
                    writer = b""
                send(peer, b"\x02" + header[1:9], b"200")
            else:
                send(writer, header, body)
        except zmq.ZMQError:
            pass


main()
