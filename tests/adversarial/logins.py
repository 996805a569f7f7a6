"""What of clients that guess passwords, all at once, under names that there are and that there are not?"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from scramp import ScramClient

from fmqbus.auth.passwords import make_secret
from fmqbus.auth.user_file import Keys, User
from fmqbus.protocols.micromsg2.extensions.sasl import Word, write_begin
from tests.adversarial.attack import MICROMSG2, UMQ, Siege, attack, scale
from tests.adversarial.umq_messages import words_until_closed
from tests.auth.users import write
from tests.live.umq_client import Client
from tests.protocols.micromsg2.written import LARGE_PAYLOAD, extension, handshake

_LOGINS = """
[users]
file = "FOLDER/users.json"
[limits]
logins_waiting = 16
"""
_SASL = 2 * handshake(b"x-sasl")


def _users(folder: Path) -> None:
    """Of what a real file costs."""
    write(folder / "users.json", anna=User((), Keys.of(make_secret("open sesame"))))


def _frame(payload: bytes) -> bytes:
    return extension(1, payload, LARGE_PAYLOAD if len(payload) > 255 else 0)


def _plain(name: str) -> bytes:
    return f"\0{name}\0guess".encode()


def _log_in_anna(siege: Siege) -> None:
    """By SCRAM, which no hash of the bus's holds up."""
    connection = siege.broker.connect(MICROMSG2)
    client = ScramClient(["SCRAM-SHA-256"], "anna", "open sesame")
    connection.sendall(_SASL + _frame(write_begin("SCRAM-SHA-256", client.get_client_first().encode())))
    heard = b""
    reply = handshake(b"x-sasl", b"", b"fmqbus")
    while len(heard) < len(reply) + 4 or len(heard) < len(reply) + 3 + heard[len(reply) + 2]:
        heard += connection.recv(4096)
    client.set_server_first(heard[len(reply) + 4 :].decode())
    connection.sendall(_frame(bytes([Word.RESPONSE]) + client.get_client_final().encode()))
    heard = connection.recv(4096)
    assert heard[3] == Word.ADMITTED, heard
    client.set_server_final(heard[4:].decode())
    connection.close()


@attack(
    "{clients:,} clients of MicroMsg2 that guess passwords at once, {times} times each, under as many names",
    config=_LOGINS,
    prepare=_users,
    full=scale(memory_mib=32, clients=200, times=60),
    smoke=scale(memory_mib=16, clients=50, times=4),
)
def guessed_passwords(siege: Siege, clients: int, times: int) -> str:
    """Few are hashed at a time and few wait; the others are told so at once. Whoever knows his password gets in by
    SCRAM meanwhile."""
    crowd = siege.crowd(clients, MICROMSG2)
    crowd.send(_SASL)
    for round in range(times):
        crowd.send(_frame(write_begin("PLAIN", _plain(f"nobody{round}"))))
        _log_in_anna(siege)
    return f"{clients * times:,} guesses, and {times} logins meanwhile"


@attack(
    "{hellos:,} hellos of UMQ with wrong passwords, with names that cannot be, and with proofs that are none",
    config=_LOGINS,
    prepare=_users,
    full=scale(memory_mib=32, hellos=2_000),
    smoke=scale(memory_mib=16, hellos=60),
)
def guessed_hellos(siege: Siege, hellos: int) -> str:
    """Each is the end of its conversation, with the one text or that of a pause, and no client gets in."""
    proofs = (b"\0anna\0guess", b"\0anna\0", b"\0\0", b"", b"\xff" * 300, b"\0" + b"a" * 2_000 + b"\0x", b"\0a\0b\0c")
    told: dict[bytes, int] = {}
    for number in range(hellos):
        hello = {"mechanism": "PLAIN", "response": b64encode(proofs[number % len(proofs)]).decode()}
        client = Client(siege.broker.connect(UMQ), is_greeting=False)
        client.say(f"H1:{json.dumps(hello)}")
        (word,) = words_until_closed(client)
        assert word.startswith(b"F"), word
        text = word.partition(b":")[2]
        told[text] = told.get(text, 0) + 1
        client.close()
    return ", ".join(f"{count:,} told {text.decode()!r}" for text, count in told.items())
