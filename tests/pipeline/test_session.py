"""The settings of a session fit the machine, and give way to what the user or a cluster says."""

from __future__ import annotations

import sys

import pytest

from fmqbus.pipeline.session import driver_gigabytes, is_local, prepare, settings_for


def test_a_session_on_one_machine_is_made_for_it() -> None:
    """No page of figures, few partitions, no host name that has to be looked up."""
    settings = settings_for("traffic")
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert int(settings["spark.sql.shuffle.partitions"]) <= 8


def test_what_the_user_sets_wins() -> None:
    """Even over what the source wants, in the end."""
    settings = settings_for("traffic", "local[2]", {"spark.ui.enabled": "true", "spark.driver.memory": "9g"}, "a:b:1")
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.driver.memory"] == "9g"
    assert settings["spark.jars.packages"] == "a:b:1"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host"])
def test_a_cluster_has_its_own_settings(master: str) -> None:
    """Where the driver is reached, and how much memory it has, is not ours to say there."""
    settings = settings_for("traffic", master)
    assert not is_local(master)
    assert settings["spark.master"] == master
    assert set(settings) == {
        "spark.app.name",
        "spark.master",
        "spark.sql.python.filterPushdown.enabled",
        "spark.sql.session.timeZone",
        "spark.ui.showConsoleProgress",
    }


def test_under_spark_submit_the_master_is_not_ours_to_name() -> None:
    """It was told on its own command line."""
    assert "spark.master" not in settings_for("traffic", is_submitted=True)
    assert "spark.driver.memory" not in settings_for("traffic", is_submitted=True)


def test_python_is_this_one_unless_told_otherwise() -> None:
    """Else Spark's Python processes are whatever python3 is."""
    environment: dict[str, str] = {}
    prepare(environment, None)
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    told = {"PYSPARK_PYTHON": "/opt/python"}
    prepare(told, "yarn")
    assert told["PYSPARK_PYTHON"] == "/opt/python"
    assert not {"SPARK_LOCAL_IP", "SPARK_HOME"}.intersection(told)


@pytest.mark.parametrize(("gigabytes", "driver"), [(2, 1), (8, 2), (24, 4), (512, 4)])
def test_the_driver_has_a_quarter_of_the_memory_within_bounds(gigabytes: int, driver: int) -> None:
    """Python's workers want theirs too."""
    assert driver_gigabytes(gigabytes << 30) == driver
