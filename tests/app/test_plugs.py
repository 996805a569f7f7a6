"""Finding installed parts, by both ways, with good and broken ones."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from twisted.internet.task import Clock

from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.interfaces import IAuthorizer, IServiceTopic, ITransport
from fmqbus.router.service import Router
from fmqbus.stores.memory import MemoryRetainedStore
from tests.docs.blocks import blocks_of

PARTS = """
from zope.interface import implementer
from twisted.plugin import IPlugin
from fmqbus.interfaces import IAuthorizer, ITransport

@implementer(IPlugin, ITransport)
class Transport:
    summary = "for tests"
    def __init__(self, prefix):
        self.prefix = prefix
    def endpoint(self, reactor, arguments, options):
        raise NotImplementedError

@implementer(IPlugin, ITransport)
class WithoutEndpoint:
    prefix = summary = "half"

@implementer(IPlugin, IAuthorizer)
class Nobody:
    def decide(self, principal, action, name):
        raise NotImplementedError
"""

_numbers = itertools.count()

Find = Callable[[str], Plugs]


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """Finds the parts of a plugin module with this text after `PARTS`, in a package of plugins of its own."""
    # Each package has a new name: an import is remembered for the whole process.
    name = f"plugins_of_test_{next(_numbers)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def find(text: str) -> Plugs:
        (tmp_path / name / "vendor.py").write_text(PARTS + dedent(text))
        return find_plugs(importlib.import_module(name))

    return find


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Installs a distribution ``acme`` 1.2 whose entry point ``parts`` leads to a name in a module with this text."""
    module = f"acme_of_test_{next(_numbers)}"
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)

    def register(text: str, name: str) -> None:
        metadata = site / "acme-1.2.dist-info"
        metadata.mkdir(parents=True)
        (site / f"{module}.py").write_text(PARTS + dedent(text))
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(f"[fmqbus.plugins]\nparts = {module}:{name}\n")

    return register


def names(plugs: Plugs) -> list[str]:
    """The names of the transports that can be used."""
    return list(plugs.of(ITransport))


def test_a_part_in_a_plugin_module_is_found_with_its_file(find: Find, tmp_path: Path) -> None:
    """Under the name it gives itself."""
    (plug,) = [plug for plug in find("mine = Transport('pigeon')").found if plug.name == "pigeon"]
    assert plug.origin.startswith(str(tmp_path))
    assert plug.origin.endswith("vendor.py")


def test_a_part_that_has_no_name_goes_by_its_registration(find: Find) -> None:
    """An authorizer is called as the variable that holds it."""
    assert "nobody" in find("nobody = Nobody()").of(IAuthorizer)


def test_a_list_behind_an_entry_point_is_found_with_its_distribution(
    find: Find, register: Callable[[str, str], None]
) -> None:
    """One entry point can bring many parts; ``origin`` names the distribution and its version."""
    register("both = [Transport('one'), Transport('two')]", "both")
    plugs = find("")
    assert names(plugs) == ["one", "two"]
    assert {plug.origin for plug in plugs.found if plug.name in ("one", "two")} == {"acme 1.2"}


def test_a_module_that_cannot_be_imported_is_reported(find: Find) -> None:
    """With its name, its file and the reason."""
    (reject,) = find("import surely_not_installed").rejected
    assert reject.name.endswith(".vendor")
    assert reject.origin.endswith("vendor.py")
    assert "surely_not_installed" in reject.reason


def test_a_module_that_wants_to_exit_ends_nothing(find: Find) -> None:
    """SystemExit is one more way of failing."""
    (reject,) = find("raise SystemExit(3)").rejected
    assert reject.reason.startswith("SystemExit")


def test_a_part_that_does_not_keep_its_interface_is_reported(find: Find) -> None:
    """The others of its module stay."""
    plugs = find("good = Transport('good')\nbad = WithoutEndpoint()")
    assert names(plugs) == ["good"]
    assert [(reject.name, "endpoint" in reject.reason) for reject in plugs.rejected] == [("bad", True)]


@pytest.mark.parametrize("name", ["None", "''", "3"])
def test_a_part_whose_name_is_none_is_reported(find: Find, name: str) -> None:
    """It could never be asked for."""
    plugs = find(f"bad = Transport({name})")
    assert names(plugs) == []
    assert len(plugs.rejected) == 1


def test_of_two_parts_with_one_name_the_first_is_taken(find: Find, register: Callable[[str, str], None]) -> None:
    """The second is reported, with where the first is from."""
    register("mine = Transport('pigeon')", "mine")
    plugs = find("mine = Transport('pigeon')")
    assert names(plugs) == ["pigeon"]
    (reject,) = plugs.rejected
    assert reject.origin == "acme 1.2"
    assert "vendor.py" in reject.reason


def test_a_broken_part_in_a_list_leaves_the_others(find: Find, register: Callable[[str, str], None]) -> None:
    """Before it and after it."""
    register("parts = [Transport('one'), object(), WithoutEndpoint(), Transport('two')]", "parts")
    plugs = find("")
    assert names(plugs) == ["one", "two"]
    assert len(plugs.rejected) == 2


def test_an_entry_point_that_leads_nowhere_is_reported(find: Find, register: Callable[[str, str], None]) -> None:
    """With its name and distribution."""
    register("", "missing")
    (reject,) = find("").rejected
    assert (reject.name, reject.origin) == ("parts", "acme 1.2")


def test_the_part_that_the_documentation_shows_works(find: Find) -> None:
    """It is found, and speaks on a bus."""
    (example,) = [block.text for block in blocks_of("docs/plugs.md") if block.file]
    plugs = find(example)
    assert plugs.rejected == ()
    (notice,) = plugs.of(IServiceTopic).values()
    router = Router(Clock(), [], MemoryRetainedStore(), service_topics=[notice])
    router.startService()
    assert [value.payload for value in router.service_topics.matching(b"$/info/notice")] == [b"Welcome."]
