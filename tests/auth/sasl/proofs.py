"""Clients that log in, of which those of SCRAM are an independent implementation."""

from __future__ import annotations

import hmac

from scramp import ScramClient

from fmqbus.testing.contracts.sasl_mechanism import Proof


def plain(name: str, password: str, wanted: str = "") -> Proof:
    """PLAIN, which says all at once."""
    yield f"{wanted}\0{name}\0{password}".encode()


def scram(name: str, password: str) -> Proof:
    """SCRAM-SHA-256; does not believe in a bus that does not know the secret."""
    client = ScramClient(["SCRAM-SHA-256"], name, password)
    challenge = yield client.get_client_first().encode()
    client.set_server_first(challenge.decode())
    yield client.get_client_final().encode()


def cram_md5(name: str, password: str) -> Proof:
    """CRAM-MD5, where the server begins (RFC 2195, section 2)."""
    challenge = yield None
    yield f"{name} {hmac.new(password.encode(), challenge, 'md5').hexdigest()}".encode()


def one(response: bytes | None) -> Proof:
    """A client that says this, and to whatever is asked then, nothing."""
    yield response
    yield b""
