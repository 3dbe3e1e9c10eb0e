"""Shared Spark session of all tests, in a warehouse of its own."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import hypothesis
import pytest
from pyspark.sql import SparkSession

from acidsql.session.acid_session import AcidSession
from tests import class_data
from tests.durations import recorder
from tests.java_tools import JavaSetupError
from tests.requirements import require_tools, unavailable
from tests.s3.jars import class_path

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for workers that run Python functions
os.environ.setdefault("SPARK_SUBMIT_OPTS", class_data.java_options())


# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    """Record how long tests take, where that is wanted."""
    recorder.register(config)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as repeated the parameters of a test that ``sample`` leaves out.

    It keeps those of the ids that it is given, or, given n, as many, evenly spread.
    """
    sampled: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            sampled[item.nodeid.partition("[")[0]].append(item)
    for cases in sampled.values():
        sample = cases[0].get_closest_marker("sample")
        assert sample is not None
        for case in _left_out(cases, *sample.args):
            case.add_marker(pytest.mark.repeated)


def _left_out(cases: Sequence[pytest.Item], *kept: int | str) -> list[pytest.Item]:
    if isinstance(kept[0], int):
        chosen = [cases[i * len(cases) // kept[0]] for i in range(kept[0])]
        return [case for case in cases if case not in chosen]
    return [
        case for case in cases if isinstance(case, pytest.Function) and case.callspec.id not in kept
    ]


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """Yield a local session whose warehouse and metastore are deleted with the test run."""
    class_data.use_archive()
    home: Path = tmp_path_factory.mktemp("spark")
    jars = ""
    if any(item.get_closest_marker("s3") for item in request.session.items):
        require_tools("mvn")
        try:
            jars = class_path()
        except JavaSetupError as error:
            unavailable(str(error))
    session = (
        SparkSession.builder.master("local[2]")
        .appName("acidsql-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        # Tests assert directories; those of maintenance switch it on.
        .config("spark.acidsql.compaction.auto", "off")
        .config("spark.acidsql.retries", "0")  # tests of conflicts want the first one
        .config("spark.sql.ansi.enabled", "true")  # the default from Spark 4 on
        .config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")  # as from Spark 4 on
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.acidsql.synchronous", "off")  # but in the tests of it
        .config("spark.driver.extraClassPath", jars)
        # A larger young generation than Java begins with is collected less often.
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home} -Xms768m -Xmn400m")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def empty(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """Yield a session with an empty metastore of its own, in UTC as the tests' Hive."""
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
    session.conf.set("spark.sql.session.timeZone", "UTC")
    yield session
    AcidSession.of(session).close()
