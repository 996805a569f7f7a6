"""Very many sets of principals, compared with a question to each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.auth.who import FORMS, Who
from fmqbus.auth.who_table import WhoTable
from fmqbus.model import PeerFacts, Principal
from tests.auth.users import FINGERPRINT

KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
COLONS = ":".join(FINGERPRINT[place : place + 2].upper() for place in range(0, 64, 2))

whos = st.sampled_from(
    [
        "*",
        "local",
        "remote",
        *(f"{kind}:{name}" for kind in ("identity", "group") for name in ("a", "b:c", "dns:a")),
        *(f"san:{name}" for name in ("dns:Pump.example", "uri:urn:A", "uri:urn:a", "email:a@b.example")),
        f"cert:{FINGERPRINT}",
        f"cert:{COLONS}",
        f"key:{KEY}",
        "uid:0",
        "uid:1000",
        *(f"address:{network}" for network in ("0.0.0.0/0", "10.0.0.0/8", "10.1.2.3", "::/0", "2001:db8::/32", "::1")),
    ]
).map(Who)
principals = st.builds(
    Principal,
    st.just("fmqp"),
    st.builds(
        PeerFacts,
        st.just("tcp"),
        st.sampled_from(["", "here", "10.1.2.3", "10.9.9.9", "192.0.2.1", "::ffff:10.1.2.3", "2001:db8::1", "::1"]),
        st.booleans(),
        st.sampled_from([(), ("dns:pump.EXAMPLE",), ("uri:urn:a", "email:a@b.example")]),
        st.sampled_from(["", FINGERPRINT]),
        st.sampled_from([None, 0, 1000]),
        curve_key=st.sampled_from(["", KEY]),
    ),
    st.sampled_from([None, "", "a", "b:c"]),
    st.sampled_from([frozenset(), frozenset({"a"}), frozenset({"dns:a", "b:c"})]),
)


@given(st.lists(whos, max_size=12), principals)
def test_the_table_says_what_each_says(sets: list[Who], principal: Principal) -> None:
    """Those that are there twice, too."""
    table = WhoTable()
    for number, who in enumerate(sets):
        table.add(who, 1 << number)
    assert table.bits_of(principal) == sum(1 << number for number, who in enumerate(sets) if who.includes(principal))


def test_every_form_is_tried() -> None:
    """One that is new is asked, as long as the table does not know better; here it should be tried."""
    tried = {"*", "local", "remote", "identity", "group", "san", "cert", "key", "uid", "address"}
    assert {form.partition(":")[0] for form in FORMS} == tried
