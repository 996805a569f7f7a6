"""Does what the documentation tells vendors of methods hold?"""

from __future__ import annotations

import re
from typing import Any

from zope.interface.verify import verifyObject

from fmqbus.interfaces import IUMQMethod
from tests.docs.blocks import blocks_of
from tests.protocols.pages import ROOT
from tests.protocols.umq.clients import BUILT_IN, greeted, make_bus

PAGE = (ROOT / "docs/extend/umq-method.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_is_a_method_that_clients_can_call() -> None:
    """As the page says it is called."""
    [program] = [block.text for block in blocks_of("docs/extend/umq-method.md") if block.file]
    module: dict[str, Any] = {"__name__": "acme"}
    exec(compile(program, "the page", "exec", dont_inherit=True), module)
    method = module["subscribe_all"]
    assert verifyObject(IUMQMethod, method)
    bus = make_bus()
    client, writer = greeted(bus, methods=[*BUILT_IN, method]), greeted(bus)
    [call] = re.findall(r"^    (C1:.*)$", PAGE, re.MULTILINE)
    assert client.say(call) == ["R1:2"]
    writer.ask("1", "publish", "a/x", "1")
    writer.ask("2", "publish", "b", "2")
    assert client.heard() == ['TA:{"topic":"a/x","text":"1"}', 'TB:{"topic":"b","text":"2"}']
    [refused] = client.ask("2", "acme/subscribe-all", ["a"], [])
    assert refused == "E2:3 one id for each pattern is expected"
