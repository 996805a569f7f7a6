"""The file that says who may do what: what may stand in it, and that a broken one never opens anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from zope.interface import implementer

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config, parse_config, read_config
from fmqbus.app.plugs import Plug, Plugs, find_plugs
from fmqbus.app.policy_file import parse_policy, read_policy, text_of_rule
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, PeerFacts, Principal

HERE = PeerFacts("tcp", "127.0.0.1", is_local=True)
THERE = PeerFacts("tcp", "10.1.2.3")

POLICY = """\
[groups]
ops = ["identity:anna", "uid:7"]

# what nobody may
[[rules]]
effect = "deny"
actions = ["publish"]
who = ["*"]
names = ["plant/safety/**"]

[[rules]]
effect = "allow"
actions = "*"
who = ["group:ops"]
names = ["plant/**", "home/{identity}/**"]
from = ["address:10.0.0.0/8"]

[[rules]]
effect = "defer"
actions = "*"
who = ["local"]
names = ["open/**"]

[[rules]]
effect = "deny"
actions = "*"
who = ["*"]
names = ["**"]
"""


@pytest.fixture(scope="module")
def plugs() -> Plugs:
    """What is installed."""
    return find_plugs()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A configuration that names a policy, which is there."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "bus.toml").write_text('listen = ["fmqp:tcp:0"]\n[access]\npolicy = "policy.toml"\n')
    return read_config(tmp_path / "bus.toml")


def bus(config: Config, plugs: Plugs) -> Bus:
    """A bus that listens nowhere yet."""
    return Bus(MemoryReactorClock(), config, plugs)


def anna(facts: PeerFacts = THERE, identity: str = "anna") -> Principal:
    """One who has logged in."""
    return Principal("umq", facts, identity)


def test_its_rules_and_groups_decide(config: Config, plugs: Plugs) -> None:
    """In their order; the file stands beside the one that names it, wherever the bus was started."""
    may = bus(config, plugs).router.authorize
    assert may(anna(), Action.PUBLISH, b"plant/line/1")
    assert not may(anna(), Action.PUBLISH, b"plant/safety/1")
    assert may(anna(), Action.SUBSCRIBE, b"plant/safety/1")
    assert not may(anna(HERE), Action.PUBLISH, b"plant/line/1")
    assert may(anna(), Action.PUBLISH, b"home/anna/lamp")
    assert not may(anna(), Action.PUBLISH, b"home/bo/lamp")
    assert may(Principal("fmqp", HERE), Action.PUBLISH, b"open/a")
    assert not may(Principal("fmqp", THERE), Action.PUBLISH, b"open/a")
    assert not may(Principal("fmqp", HERE), Action.PUBLISH, b"a")


def test_groups_of_the_file_of_users_count_too(config: Config, plugs: Plugs) -> None:
    """A name in both is one group."""
    operator = Principal("umq", THERE, "bo", frozenset({"ops"}))
    assert bus(config, plugs).router.authorize(operator, Action.PUBLISH, b"home/bo/lamp")


@pytest.mark.parametrize(
    "identity", ["", "*", "a/b", "anna/", "/", "$", "a*", "$sys", "{identity}x/..", "\0", "a" * 300]
)
def test_a_name_that_could_mean_more_than_itself_is_never_put_in(identity: str, plugs: Plugs, tmp_path: Path) -> None:
    """Neither by its stars, its slashes, nor in place of the bus's own topics."""
    (tmp_path / "policy.toml").write_text(
        '[[rules]]\neffect = "allow"\nactions = "*"\nwho = ["*"]\nnames = ["{identity}/**", "home/{identity}"]'
    )
    one = bus(parse_config(f"[access]\npolicy = '{tmp_path / 'policy.toml'}'", ""), plugs)
    for name in (b"home/a", b"home/*", b"home/bo", b"$/signals/stop", b"a/b", b"*", b"home/{identity}", b"anna/x"):
        assert not one.router.authorize(anna(identity=identity), Action.PUBLISH, name)
        assert not one.router.authorize(anna(identity=identity), Action.SUBSCRIBE, name)


RULE = '[[rules]]\neffect = "allow"\nactions = "*"\nwho = ["*"]\nnames = ["**"]\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "policy.toml: is empty"),
        (" \n\n", "policy.toml: is empty"),
        ("# nothing yet\n", "policy.toml: Object missing required field `rules`"),
        ("rules = []", "policy.toml, line 1: rules: Expected `array` of length >= 1"),
        ("[groups]\n", "missing required field `rules`"),
        ("[[rules]", "policy.toml: "),
        (RULE[:-8], "policy.toml: "),
        (RULE.replace('who = ["*"]\n', ""), "line 1: rules[0]: Object missing required field `who`"),
        (RULE.replace("allow", "permit"), "line 2: rules[0].effect: Invalid enum value 'permit'"),
        (RULE + "prority = 1", "line 6: rules[0].prority: Object contains unknown field"),
        (RULE.replace("[[rules]]", "[[access.rules]]"), "Object contains unknown field `access`"),
        (RULE.replace("**", "a/{user}"), "line 5: rules[0].names[0]: 'a/{user}': a brace stands only in {identity}"),
        (RULE.replace("**", "a/x{identity}"), "a brace stands only in {identity}"),
        (RULE.replace('["*"]', '["anna"]'), "line 4: rules[0].who[0]: 'anna' names nobody"),
        (RULE + 'from = ["identity:anna"]', "rules[0]: from: 'identity:anna' is no place"),
        (RULE + '[groups]\nops = ["*"]', "group 'ops': '*' is nobody in particular"),
        (RULE + '[groups]\nops = ["group:staff"]', "group 'ops': 'group:staff' is nobody in particular"),
        (RULE + "[groups]\nops = []", "groups: Expected `array` of length >= 1"),
        (RULE + '[groups]\n" ops" = ["uid:1"]', "group ' ops': ' ops' is no name"),
        ("a = " + "[" * 5000 + "]" * 5000, "policy.toml: "),
    ],
)
def test_what_is_wrong_with_it_is_told(text: str, complaint: str) -> None:
    """With the line, where there is one; and no part of such a file counts."""
    with pytest.raises(ConfigError) as raised:
        parse_policy(text, "policy.toml")
    assert complaint in str(raised.value)


BROKEN: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_text(""),
    "cut short": lambda path: path.write_text(POLICY[:-10]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "no text": lambda path: path.write_bytes(b"\xff\xfe"),
    "everybody's": lambda path: path.chmod(0o666),
    "a protocol that is not there": lambda path: path.write_text(POLICY + 'protocol = "fqmp"\n'),
    "far too long": lambda path: path.write_text("#" * (5 * 1024 * 1024)),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_bus_does_not_start_with_a_broken_one(broken: str, config: Config, plugs: Plugs, tmp_path: Path) -> None:
    """It says which file is wrong."""
    BROKEN[broken](tmp_path / "policy.toml")
    with pytest.raises(ConfigError, match=r"access\.policy: .*policy\.toml"):
        bus(config, plugs)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_reload_of_a_broken_one_changes_nothing(broken: str, config: Config, plugs: Plugs, tmp_path: Path) -> None:
    """Neither do the rules of the configuration, which belong together with it; the log says why."""
    one = bus(config, plugs)
    BROKEN[broken](tmp_path / "policy.toml")
    (tmp_path / "bus.toml").write_text((tmp_path / "bus.toml").read_text() + RULE.replace("rules", "access.rules"))
    with capturedLogs() as events:
        one.reload(read_config(tmp_path / "bus.toml"))
    assert any("the policy stays as it was: access.policy:" in (formatEvent(event) or "") for event in events)
    assert one.router.authorize(anna(), Action.PUBLISH, b"plant/line/1")
    assert not one.router.authorize(Principal("fmqp", HERE), Action.PUBLISH, b"plant/safety/1")


def test_a_reload_takes_over_what_has_changed(config: Config, plugs: Plugs, tmp_path: Path) -> None:
    """Groups as well as rules, and another file too."""
    one = bus(config, plugs)
    (tmp_path / "policy.toml").write_text(POLICY.replace("identity:anna", "identity:bo"))
    one.reload(config)
    assert not one.router.authorize(anna(), Action.PUBLISH, b"plant/line/1")
    assert one.router.authorize(anna(identity="bo"), Action.PUBLISH, b"plant/line/1")
    (tmp_path / "other.toml").write_text(POLICY)
    one.reload(parse_config(f"listen = ['fmqp:tcp:0']\n[access]\npolicy = '{tmp_path / 'other.toml'}'", ""))
    assert one.router.authorize(anna(), Action.PUBLISH, b"plant/line/1")


def test_rules_may_move_into_a_file_while_the_bus_runs(config: Config, plugs: Plugs) -> None:
    """Nothing is open meanwhile: the file is asked from the beginning, whether there is one or not."""
    one = bus(parse_config("listen = ['fmqp:tcp:0']", ""), plugs)
    assert one.router.authorize(Principal("fmqp", HERE), Action.PUBLISH, b"a")
    one.reload(config)
    assert not one.router.authorize(Principal("fmqp", HERE), Action.PUBLISH, b"a")


def test_a_file_that_nobody_would_ask_is_refused(config: Config, plugs: Plugs, tmp_path: Path) -> None:
    """What it denies would be open. And so is one that is asked and not named."""
    path = tmp_path / "policy.toml"
    for text in (f"authorizers = ['rules']\npolicy = '{path}'", "authorizers = ['policy', 'rules']"):
        with pytest.raises(ConfigError, match=r"name a policy file if .policy. is one of the authorizers"):
            parse_config(f"[access]\n{text}", "bus.toml")


@implementer(IAuthorizer)
class Vendors:
    """Allows one topic, and leaves all others to others."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.ALLOW if name == b"open/vendor" else Decision.DEFER


def test_a_vendors_authorizer_is_asked_in_between(plugs: Plugs, tmp_path: Path) -> None:
    """What the policy leaves to others, and what it says nothing of; it is not asked about anything else."""
    (tmp_path / "policy.toml").write_text(POLICY)
    with_vendor = Plugs((*plugs.found, Plug(IAuthorizer, "acme", "a vendor", Vendors())), ())
    text = f'[access]\nauthorizers = ["policy", "acme", "local"]\npolicy = "{tmp_path / "policy.toml"}"'
    may = bus(parse_config(f"listen = ['fmqp:tcp:0']\n{text}", ""), with_vendor).router.authorize
    assert may(Principal("fmqp", HERE), Action.PUBLISH, b"open/vendor")
    assert may(Principal("fmqp", HERE), Action.PUBLISH, b"open/other")
    assert not may(Principal("fmqp", THERE), Action.PUBLISH, b"open/vendor")
    assert not may(Principal("fmqp", HERE), Action.PUBLISH, b"vendor")


@pytest.mark.parametrize("others", ["authorizers = ['rules']", "authorizers = []"])
def test_rules_wait_with_a_changed_list_of_authorizers(
    others: str, config: Config, plugs: Plugs, tmp_path: Path
) -> None:
    """Without its rules, the list that goes on could open what neither configuration would."""
    one = bus(config, plugs)
    with capturedLogs() as events:
        one.reload(parse_config(f"listen = ['fmqp:tcp:0']\n[access]\n{others}", ""))
    assert any("all rules stay as they were" in (formatEvent(event) or "") for event in events)
    assert not one.router.authorize(Principal("fmqp", HERE), Action.PUBLISH, b"plant/safety/1")
    assert one.router.authorize(anna(), Action.PUBLISH, b"plant/line/1")
    one = bus(parse_config("listen = ['fmqp:tcp:0']\n[access]\nauthorizers = ['local']", ""), plugs)
    with capturedLogs():
        one.reload(config)
    assert one.router.authorize(Principal("fmqp", HERE), Action.PUBLISH, b"plant/safety/1")


def test_groups_that_nobody_knows_are_told_of(config: Config, plugs: Plugs, tmp_path: Path) -> None:
    """Perhaps they are misspelt; a rule that denies them something would never fit."""
    (tmp_path / "policy.toml").write_text(POLICY.replace("group:ops", "group:opz"))
    one = bus(config, plugs)
    with capturedLogs() as events:
        one.warn_of_unknown_groups()
    assert ["groups that nobody knows: opz" in (formatEvent(event) or "") for event in events] == [True]


def test_a_rule_is_found_in_the_text(tmp_path: Path) -> None:
    """With the line at which it begins, and without what stands between it and the next."""
    (tmp_path / "policy.toml").write_text(POLICY)
    _, text = read_policy(tmp_path / "policy.toml")
    line, written = text_of_rule(text, ("rules",), 0)
    assert (line, written.split("\n")) == (5, POLICY.split("\n")[4:9])
    line, written = text_of_rule(text, ("rules",), 3)
    assert (line, written) == (24, RULE.replace("allow", "deny").strip())
