"""How are the brokers of a soak set up? Each part that is to be on is a few lines here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.soak.figures import LISTEN
from tests.soak.mail import DEAD, JOBS, SECRET

_CONFIG = """\
listen = [{listen}]
message_store = "sqlite"
retained_store = "sqlite"
schedule_store = "sqlite"
[stores.sqlite]
path = "{folder}/bus.db"
[journal]
path = "{folder}/journal"
[queues]
delivery_limit = 0
[limits]
outbox_octets = 4194304
[access]
authorizers = ["policy"]
policy = "{folder}/policy.toml"
[protocols.emqp]
heartbeat = 1.0
silence = 6.0
grace = 2.0
guarantee = 1000
unknown-queue = "keep"
[protocols.mtl]
ping = 2.0
"""

#: Beside what is the soak's, what its clients and its witness need to know that they have been heard.
_POLICY = f"""\
[[rules]]
effect = "deny"
actions = ["publish", "retain", "will"]
who = ["*"]
names = ["{SECRET}/**"]
[[rules]]
effect = "allow"
actions = "*"
who = ["local"]
names = ["soak/**", "{SECRET}/**", "job/{JOBS}", "{DEAD}"]
[[rules]]
effect = "allow"
actions = "*"
who = ["local"]
names = ["witness/**", "echo/**", "the/broker/**", "mtl/**", "fmqbus-sync/**"]
[[rules]]
effect = "allow"
actions = ["subscribe", "manage"]
who = ["local"]
names = ["$/info/**", "$/http/*"]
"""


def write_config(folder: Path, listens: Sequence[str]) -> Path:
    """Write the files; returns that for ``--config``."""
    policy, config = folder / "policy.toml", folder / "bus.toml"
    policy.write_text(_POLICY)
    policy.chmod(0o600)
    listen = ", ".join(f'"{place}"' for place in (*listens, LISTEN))
    config.write_text(_CONFIG.format(listen=listen, folder=folder))
    return config
