"""Who may do what over FMQP, which has no login: what lies below it tells. (FMQP, section Authentication)"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from cryptography.x509 import DNSName

from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.fmqp_client import Client
from tests.protocols.fmqp.packets import publication, subscribe
from tests.transports.certificates import issue

RULES = """
[access]
authorizers = ["rules"]

[[access.rules]]
effect = "allow"
actions = ["publish", "subscribe"]
who = ["*"]
names = ["the/**", "hall/*"]

[[access.rules]]
effect = "allow"
actions = ["publish", "control"]
who = ["san:dns:pump.example"]
names = ["pump/*", "$/signals/stop"]

[[access.rules]]
effect = "allow"
actions = ["subscribe"]
who = ["*"]
names = ["pump/*"]
"""


def test_a_certificate_tells_what_a_client_may_publish_and_whether_it_may_end_the_broker(tmp_path: Path) -> None:
    """FMQP, section Authentication and access control; reading 44."""
    authority = issue("authority")
    key, certificate = issue("broker", authority).write(tmp_path)
    trusted = tmp_path / "authority.pem"
    trusted.write_bytes(authority.certificate_pem)
    config = tmp_path / "bus.toml"
    listen = f"fmqp:ssl:0:privateKey={key}:certKey={certificate}:clientCA={trusted}"
    config.write_text(f'listen = ["{listen}"]\n{RULES}')

    def connect(broker: Broker, name: str) -> Client:
        folder = tmp_path / name
        folder.mkdir()
        own_key, own_certificate = issue(name, authority, [DNSName(name)]).write(folder)
        context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
        context.check_hostname = False
        context.load_cert_chain(own_certificate, own_key)
        return Client(context.wrap_socket(socket.create_connection(("127.0.0.1", broker.port), PATIENCE_SECONDS)))

    with Broker("--config", str(config)) as broker, connect(broker, "pump.example") as pump:
        other = connect(broker, "other.example")
        other.say(subscribe(b"*/*"), publication(b"pump/1", b"forged"), publication(b"$/signals/stop", b"!"))
        assert other.heard() == []
        pump.say(publication(b"pump/1", b"real"), publication(b"secret/1", b"?"))
        assert pump.heard() == []
        other.say(publication(b"hall/1", b"open"))
        assert other.heard() == [publication(b"pump/1", b"real"), publication(b"hall/1", b"open")]
        pump.say(publication(b"$/signals/stop", b"!"))
        assert broker.wait() == 0
        other.close()
