"""EventMQ's client as a program: ``python -m tests.interop.real_client ENDPOINT``.

Each line of its input is a call of a function of `eventmq.client.messages`, in JSON: the name, and keyword arguments.
It prints one JSON object a line: ``{"sent": ID}`` for each call, ``{"heard": [PART, ...]}`` for each message.
"""

from __future__ import annotations

import json
import sys
import threading
from queue import Empty, SimpleQueue

from eventmq.client import messages
from eventmq.sender import Sender

_POLL_MILLISECONDS = 20


def _tell(what: str, value: object) -> None:
    print(json.dumps({what: value}), flush=True)


def main(endpoint: str) -> None:
    """Until the input ends."""
    sender = Sender()
    sender.connect(endpoint)
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        while sender.zsocket.poll(_POLL_MILLISECONDS):
            _tell("heard", [part.decode() for part in sender.zsocket.recv_multipart()])
        try:
            line = lines.get_nowait()
        except Empty:
            continue
        if not line:
            return
        name, arguments = json.loads(line)
        _tell("sent", getattr(messages, name)(sender, **arguments))


if __name__ == "__main__":
    main(sys.argv[1])
