"""Who has sent this, and which of his messages is it? Names, and the payloads that carry them."""

from __future__ import annotations

import json
from typing import NamedTuple

from tests.live.emqp_peers import body_of

#: Queues that all consume, and the one for jobs that are calls and for what is scheduled: only workers serve it.
QUEUES = ("soak/work/a", "soak/work/b")
JOBS = "soak/jobs"
DEAD = "dead"
#: What members say of messages that they reject.
UNDOABLE = "cannot be done"
#: A method that is served by who can.
METHOD = "soak/echo"

#: Topics, below which each sender has its own; retained values are kept.
SAID, KEPT, LARGE, CHURNED = "soak/said", "soak/kept", "soak/large", "soak/churned"
#: What nobody may publish, or ever hear.
SECRET = "secret"
#: A message for the subscribers of everybody's topic.
ALL = "soak/said/*"

#: The module of the jobs that these are, and their names.
MODULE = "tests.soak.jobs"


class Sender(NamedTuple):
    """One life of a member: its place in the troupe, and which life it is, of all members."""

    place: str
    life: int

    def __str__(self) -> str:
        return f"{self.place}.{self.life}"

    @classmethod
    def parse(cls, text: str) -> Sender:
        """Read what `str` writes."""
        place, _, life = text.rpartition(".")
        return cls(place, int(life))


class Mail(NamedTuple):
    """A message of a queue, as its sender calls it."""

    sender: str
    number: int


class Remark(NamedTuple):
    """A message of a topic: its number counts in each life of a sender, topic by topic."""

    sender: Sender
    number: int


def mail_payload(mail: Mail) -> bytes:
    """A job, so that workers can have it too."""
    return body_of("take", *mail, path=MODULE)


def read_mail(payload: bytes) -> Mail | None:
    """None for what is scheduled, which has no sender. Raises whatever it raises for what is no such payload."""
    said = json.loads(payload)[1]
    return Mail(*said["args"]) if said["callable"] == "take" else None


def remark_payload(remark: Remark, octets: int) -> bytes:
    """So long at least."""
    return f"{remark.sender} {remark.number} ".encode().ljust(octets, b".")


def read_remark(payload: bytes) -> Remark:
    """Raises `ValueError` for what is no such payload."""
    sender, number, _ = payload.split(b" ", 2)
    return Remark(Sender.parse(sender.decode()), int(number))
