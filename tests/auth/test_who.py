"""Which peers the words of a rule mean."""

from __future__ import annotations

import pytest

from fmqbus.auth.who import Who
from fmqbus.errors import ConfigError
from fmqbus.model import PeerFacts, Principal

FINGERPRINT = "0123456789abcdef" * 4

LOOPBACK = Principal("fmqp", PeerFacts("tcp", "127.0.0.1", is_local=True))
SOCKET = Principal("fmqp", PeerFacts("unix", is_local=True, uid=1000))
FAR = Principal("fmqp", PeerFacts("tcp", "10.1.2.3"))
MAPPED = Principal("fmqp", PeerFacts("tcp", "::ffff:10.1.2.3"))
CERTIFIED = Principal(
    "fmqp",
    PeerFacts(
        "tls", "192.0.2.1", certificate_names=("dns:Pump.Example", "email:Op@x"), certificate_fingerprint=FINGERPRINT
    ),
)
NAMED = Principal("fmqp", PeerFacts("tcp", "192.0.2.2"), identity="ada", groups=frozenset({"ops"}))
KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
KEYED = Principal("emqp", PeerFacts("curve", "192.0.2.3", curve_key=KEY))
ALL = [LOOPBACK, SOCKET, FAR, MAPPED, CERTIFIED, NAMED, KEYED]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("*", ALL),
        ("local", [LOOPBACK, SOCKET]),
        ("remote", [FAR, MAPPED, CERTIFIED, NAMED, KEYED]),
        ("identity:ada", [NAMED]),
        ("identity:Ada", []),
        ("group:ops", [NAMED]),
        (f"cert:{FINGERPRINT}", [CERTIFIED]),
        ("cert:" + ":".join(FINGERPRINT[i : i + 2].upper() for i in range(0, 64, 2)), [CERTIFIED]),
        ("san:dns:pump.example", [CERTIFIED]),
        ("san:email:Op@x", [CERTIFIED]),
        ("san:email:op@x", []),
        (f"key:{KEY}", [KEYED]),
        (f"key:{KEY.swapcase()}", []),
        ("uid:1000", [SOCKET]),
        ("uid:0", []),
        ("address:10.0.0.0/8", [FAR, MAPPED]),
        ("address:127.0.0.1", [LOOPBACK]),
        ("address:::/0", []),
    ],
)
def test_a_word_means_exactly_these_peers(text: str, meant: list[Principal]) -> None:
    """Each form, with peers it means and peers it does not."""
    who = Who(text)
    assert [peer for peer in ALL if who.includes(peer)] == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "anyone",
        "identity:",
        "cert:abc",
        "san:pump",
        "san:ip:10.0.0.1",
        "uid:root",
        "key:x",
        "address:10.0.0.1/8",
        "LOCAL",
    ],
)
def test_what_means_nobody_is_refused(text: str) -> None:
    """A slip is an error that repeats what was written."""
    with pytest.raises(ConfigError, match="^'" + text):
        Who(text)


@pytest.mark.parametrize(("text", "reaches_out"), [("local", False), ("uid:1", False), ("*", True), ("group:x", True)])
def test_a_word_tells_whether_it_can_mean_peers_elsewhere(text: str, reaches_out: bool) -> None:
    """What the warning about listeners that nobody may use is made from."""
    assert Who(text).reaches_out is reaches_out
