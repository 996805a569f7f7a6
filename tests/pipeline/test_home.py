"""Spark's own home has a zip that costs each of its Python processes a second; ours has all the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmqbus.pipeline.home import home_without_zip


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A PySpark with a Spark in it, as pip installs it."""
    for part in ("bin", "jars", "python/lib", "sql"):
        (tmp_path / "pyspark" / part).mkdir(parents=True)
    (tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip").touch()
    (tmp_path / "pyspark" / "bin" / "spark-submit").write_text("begin")
    return tmp_path / "pyspark"


def test_a_home_has_all_but_the_zip(package: Path, tmp_path: Path) -> None:
    """By links, so that an upgrade in place is seen; it is made once."""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    home = home_without_zip(package, environment)
    assert home is not None
    assert (home / "bin" / "spark-submit").read_text() == "begin"
    assert sorted(path.name for path in home.iterdir()) == ["bin", "jars"]
    assert home_without_zip(package, environment) == home


def test_a_link_that_leads_elsewhere_is_put_right(package: Path, tmp_path: Path) -> None:
    """Whatever has left it there."""
    environment = {"HOME": str(tmp_path)}
    home = home_without_zip(package, environment)
    assert home is not None
    (home / "jars").unlink()
    (home / "jars").symlink_to(tmp_path / "gone")
    assert home_without_zip(package, environment) == home
    assert (home / "jars").resolve() == package / "jars"


def test_where_none_can_be_made_there_is_none(package: Path, tmp_path: Path) -> None:
    """Spark then starts from its own, only slower."""
    assert home_without_zip(tmp_path, {"HOME": str(tmp_path)}) is None
    assert home_without_zip(package, {}) is None
    (tmp_path / "file").touch()
    assert home_without_zip(package, {"XDG_CACHE_HOME": str(tmp_path / "file")}) is None
