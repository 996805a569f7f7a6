"""What twistd's command line is understood to mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.python.usage import UsageError

from fmqbus.app.config import Config
from fmqbus.app.options import BusOptions, OneProtocolOptions
from fmqbus.errors import ConfigError


def config(*arguments: str, options: BusOptions | None = None) -> Config:
    """The configuration that these arguments come to."""
    options = options or BusOptions()
    options.parseOptions(list(arguments))
    return options.read_config()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration file that says something about everything that options can overrule."""
    path = tmp_path / "bus.toml"
    path.write_text('listen = ["fmqp:tcp:1"]\nlog_format = "json"\n[limits]\nconnections = 3\n')
    return path


def test_no_arguments_mean_the_defaults() -> None:
    """All installed protocols, at their default places."""
    assert config() == Config()


def test_a_file_means_what_it_says(file: Path) -> None:
    """With nothing overruled."""
    assert config("--config", str(file)).listen == ("fmqp:tcp:1",)


def test_options_overrule_the_file(file: Path) -> None:
    """Places replace those of the file, and do not add to them."""
    told = config("-c", str(file), "--listen", "fmqp:tcp:2", "-l", "fmqp:", "--log-format", "text")
    assert told.listen == ("fmqp:tcp:2", "fmqp:")
    assert told.log_format == "text"
    assert told.limits.connections == 3


def test_the_file_is_found_again_from_another_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """twistd changes the directory when it becomes a daemon, and SIGHUP reads the file again."""
    monkeypatch.chdir(file.parent)
    options = BusOptions()
    options.parseOptions(["--config", file.name])
    monkeypatch.chdir("/")
    assert options.read_config().listen == ("fmqp:tcp:1",)


@pytest.mark.parametrize("arguments", [("--log-format", "xml"), ("--colour",), ("word",)])
def test_wrong_usage_is_refused(arguments: tuple[str, ...]) -> None:
    """twistd prints the help then."""
    with pytest.raises(UsageError):
        config(*arguments)


def test_one_protocol_alone_takes_places_without_its_name() -> None:
    """And listens at its default places if there are none."""
    assert config("--listen", "tcp:2", options=OneProtocolOptions("fmqp")).listen == ("fmqp:tcp:2",)
    assert config(options=OneProtocolOptions("fmqp")).listen == ("fmqp:",)


def test_one_protocol_alone_refuses_places_of_others(file: Path) -> None:
    """Rather than to leave them out in silence."""
    with pytest.raises(ConfigError, match="'fmqp:tcp:1' is not for umq"):
        config("--config", str(file), options=OneProtocolOptions("umq"))


def test_the_help_lists_what_is_installed() -> None:
    """Protocols with their default places, and kinds of endpoints."""
    text = str(BusOptions())
    assert "default: fmqp:tcp:7700:interface=127.0.0.1" in text
    assert "  unix:PATH" in text
