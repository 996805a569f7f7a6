"""The job that does nothing, for whoever runs functions by their names.

It is imported by workers that have only this folder's parent and the standard library.
"""

import socket

_teller = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def noop(job_id: str, port: int) -> bool:
    """Do nothing."""
    return True


def told(job_id: str, port: int) -> bool:
    """Tell the load generator that the job has been done: EventMQ's router relays no results."""
    _teller.sendto(job_id.encode(), ("127.0.0.1", port))
    return True
