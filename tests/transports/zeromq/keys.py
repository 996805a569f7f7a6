"""Key files for tests, as an operator would have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fmqbus.transports.zeromq.keys import KeyPair


class Keys:
    """A server's key, and a folder with those of clients."""

    def __init__(self, folder: Path) -> None:
        self.server = KeyPair.new()
        self.server_file = folder / "server.key_secret"
        write(self.server_file, self.server.public, self.server.secret)
        self.clients = folder / "clients"
        self.clients.mkdir(mode=0o755)

    def client(self, name: str, is_allowed: bool = True) -> KeyPair:
        """A client's key, in the folder or not."""
        pair = KeyPair.new()
        if is_allowed:
            write(self.clients / f"{name}.key", pair.public)
        return pair

    def options(self, own: KeyPair, server: KeyPair | None = None) -> dict[str, Any]:
        """What a raw peer has to be given."""
        return {
            "curve_serverkey": (server or self.server).public.encode(),
            "curve_publickey": own.public.encode(),
            "curve_secretkey": own.secret.encode(),
        }


def write(path: Path, public: str, secret: str = "") -> None:
    """A file as pyzmq writes it."""
    lines = ["#   ZeroMQ CURVE Certificate", "metadata", "curve", f'    public-key = "{public}"']
    if secret:
        lines.append(f'    secret-key = "{secret}"')
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600 if secret else 0o644)
