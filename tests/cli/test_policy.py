"""Which rule decides, as the command line tells; and whether a policy file is good."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fmqbus.cli.policy import command
from tests.app.test_config import POLICY_EXAMPLE
from tests.auth.users import write

POLICY = """\
[groups]
night = ["identity:bo"]

# for everybody
[[rules]]
effect = "deny"
actions = ["publish", "retain"]
who = ["*"]
names = ["plant/safety/**"]

[[rules]]
effect = "allow"
actions = "*"
who = ["group:ops", "group:night"]
names = ["plant/**", "home/{identity}"]

[[rules]]
effect = "defer"
actions = "*"
who = ["*"]
names = ["yard/**"]

[[rules]]
effect = "allow"
actions = "*"
who = ["*"]
names = ["hall"]
protocol = "umq"
"""
PAGE = Path(__file__).parents[2] / "docs" / "access.md"

CONFIG = """
[users]
file = "{users}"
[access]
policy = "policy.toml"
[[access.rules]]
effect = "allow"
actions = ["publish"]
who = ["address:10.0.0.0/8"]
names = ["yard/**"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration with users and a policy; anna is in the group ops."""
    (tmp_path / "policy.toml").write_text(POLICY)
    users = write(tmp_path / "users.json")
    (tmp_path / "bus.toml").write_text(CONFIG.format(users=users))
    return tmp_path / "bus.toml"


def explain(*words: str) -> list[str]:
    """Run ``fmqbus policy explain``; returns what it says."""
    result = CliRunner().invoke(command, ["explain", *words])
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def test_the_rule_that_decides_is_told_with_file_number_and_text(config: Path) -> None:
    """And what would be without any."""
    assert explain("anna", "publish", "plant/safety/1", "--config", str(config)) == [
        f"deny, by rule 1 of {config.parent / 'policy.toml'}, line 5",
        "    [[rules]]",
        '    effect = "deny"',
        '    actions = ["publish", "retain"]',
        '    who = ["*"]',
        '    names = ["plant/safety/**"]',
        "if no rule decided: deny, as nobody allows it",
    ]


def test_groups_of_users_and_of_the_policy_are_known(config: Path) -> None:
    """Others can be said; and a name is put into a pattern."""
    there = ("--config", str(config))
    assert explain("anna", "subscribe", "plant/1", *there)[0].startswith("allow, by rule 2 of ")
    assert explain("bo", "publish", "home/bo", *there)[0].startswith("allow, by rule 2 of ")
    assert explain("anna", "publish", "home/bo", *there) == ["deny, as nobody allows it"]
    assert explain("carl", "call", "plant/1", *there) == ["deny, as nobody allows it"]
    assert explain("carl", "call", "plant/1", "--group", "ops", *there)[0].startswith("allow, by rule 2 of ")
    assert explain("-", "call", "plant/1", *there) == ["deny, as nobody allows it"]


def test_where_it_comes_from_counts(config: Path) -> None:
    """A rule that leaves it to others is told too."""
    there = ("--config", str(config))
    lines = explain("-", "publish", "yard/1", "--address", "10.1.2.3", *there)
    assert lines[0] == f"allow, by rule 1 of {config}, line 6"
    assert f"left to the next, by rule 3 of {config.parent / 'policy.toml'}, line 17" in lines
    assert explain("-", "publish", "yard/1", *there)[0] == "deny, as nobody allows it"
    assert explain("-", "publish", "yard/1", "--address", "127.0.0.1", *there)[0] == "allow, by the authorizer local"
    assert explain("-", "publish", "yard/1", "--fact", "uid:7", *there)[0] == "allow, by the authorizer local"


def test_protocols_are_told_apart_only_where_they_differ(config: Path) -> None:
    """All are asked about unless one is named."""
    there = ("--config", str(config))
    lines = explain("-", "publish", "hall", *there)
    assert "umq: allow, by rule 4 of " in "\n".join(lines)
    (others,) = [line for line in lines if line.endswith(": deny, as nobody allows it") and "if no rule" not in line]
    assert {"emqp", "fmqp", "micromsg2"} <= set(others.partition(":")[0].split(", "))
    assert explain("-", "publish", "hall", "--protocol", "fmqp", *there) == ["deny, as nobody allows it"]


def test_programs_get_an_object(config: Path) -> None:
    """With all that was asked."""
    (line,) = explain("anna", "call", "plant/1", "--json", "--config", str(config))
    told = json.loads(line)
    assert told["allowed"]
    assert told["steps"][0]["rule"] == 2
    assert told["otherwise"] is None


def test_without_a_configuration_the_defaults_are_explained() -> None:
    """Of a bus that was told nothing."""
    assert explain("-", "publish", "a", "--address", "::1") == ["allow, by the authorizer local"]
    assert explain("-", "publish", "a") == ["deny, as nobody allows it"]


def check(file: Path) -> Result:
    """Run ``fmqbus policy check``."""
    return CliRunner().invoke(command, ["check", str(file)])


def test_a_good_file_is_told_from_a_bad_one(config: Path, tmp_path: Path) -> None:
    """With where it is bad."""
    file = config.parent / "policy.toml"
    result = check(file)
    assert (result.exit_code, result.stdout) == (0, "OK\n")
    assert "has no group 'ops'" in result.stderr
    file.write_text(POLICY.replace('"umq"', '"qmu"'))
    result = check(file)
    assert result.exit_code == 1
    assert "no protocol 'qmu' is installed" in result.stderr
    file.write_text(POLICY.replace("defer", "prefer"))
    assert f"Error: {file}, line 18: rules[2].effect: Invalid enum value 'prefer'" in check(file).stderr
    file.write_text("")
    assert check(file).exit_code == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("anna eat a", "'eat' is not one of"),
        ("anna call //", "NAME"),
        ("anna call a --protocol qmu", "no protocol 'qmu'"),
        ("anna call a --fact group:ops", "write one of"),
    ],
)
def test_wrong_words_are_told(words: str, complaint: str) -> None:
    """As wrong usage."""
    result = CliRunner().invoke(command, ["explain", *words.split()])
    assert result.exit_code == 2
    assert complaint in result.output


def test_the_page_shows_what_is_said(tmp_path: Path) -> None:
    """Of the policy that it shows."""
    (tmp_path / "policy.toml").write_text(POLICY_EXAMPLE)
    (tmp_path / "bus.toml").write_text('[access]\npolicy = "policy.toml"')
    shown = re.search(r"^\$ fmqbus policy (explain .*) --config \S+\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert shown
    said = CliRunner().invoke(command, [*shown[1].split(), "--config", str(tmp_path / "bus.toml")]).output
    assert said.replace(str(tmp_path), "/etc/fmqbus") == shown[2]
