"""Real Hive for the tests marked ``hive``, and sessions of acidsql beside it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.injection_points import Point, attached
from acidsql.session.acid_session import AcidSession
from acidsql.transactions.transaction import Transaction
from tests.hdfs.conftest import hdfs  # noqa: F401 - a fixture
from tests.hive.agreement import OPPOSITE_MODES, plain_rows_of_hive, rows_of_hive
from tests.hive.hive import Hive, running
from tests.hive_values import Identified, Row, rows, rows_with_ids
from tests.java_tools import TOOLS, JavaSetupError
from tests.requirements import require_tools, unavailable

_numbers = itertools.count()


@pytest.fixture(scope="session")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    """Yield one Hive for all tests, whose metastore listens on a port; tests use tables of their
    own.
    """
    require_tools(*TOOLS)
    with ExitStack() as stack:
        try:
            server = stack.enter_context(
                running(tmp_path_factory.mktemp("hive") / "home", serve=True)
            )
        except JavaSetupError as error:
            unavailable(f"a real Hive could not be provided: {error}")
        yield server


@pytest.fixture(autouse=True)
def default_settings(request: pytest.FixtureRequest) -> None:
    """Reset the settings of Hive's main session before each test."""
    if "hive" in request.fixturenames:
        server: Hive = request.getfixturevalue("hive")
        server.run("RESET")


class Ours:
    """Spark session that uses Hive's metastore."""

    def __init__(self, spark: SparkSession, hive: Hive) -> None:
        self.hive = hive
        self.spark = spark.newSession()
        self.spark.conf.set("spark.acidsql.metastore", hive.uri)
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")  # Hive's

    @property
    def session(self) -> AcidSession:
        """``AcidSession`` of the Spark session."""
        return AcidSession.of(self.spark)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run a statement; its rows, sorted."""
        found = acidsql.sql(self.spark, text).collect()
        return sorted((tuple(row) for row in found), key=str)

    def identified(self, table: str) -> list[Identified]:
        """Return the rows of a table with their row ids; check that Hive reads the same."""
        frame = acidsql.table(self.spark, table)
        types = [field.dataType for field in frame.schema.fields]
        found = rows_with_ids(frame)
        assert rows_of_hive(self.hive, table, types, OPPOSITE_MODES) == found
        return found

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table; check that Hive reads the same, with the same row ids."""
        return sorted((row for _, row in self.identified(table)), key=repr)

    def plain_rows(self, table: str) -> list[Row]:
        """Return the rows of an insert-only table; check that Hive reads the same."""
        frame = acidsql.table(self.spark, table)
        types = [field.dataType for field in frame.schema.fields]
        found = rows(frame)
        assert plain_rows_of_hive(self.hive, table, types, OPPOSITE_MODES) == found
        return found

    @contextmanager
    def before_commit(self, then: Callable[[int], object]) -> Iterator[None]:
        """Have something happen just before the next commit of a writer, with its transaction."""
        planned = [then]

        def act(transaction: Transaction) -> None:
            if planned:
                planned.pop()(transaction.txn_id)

        with attached(Point.BEFORE_COMMIT, act):
            yield


@pytest.fixture
def ours(spark: SparkSession, hive: Hive) -> Iterator[Ours]:
    """Yield a session of acidsql at the metastore of the tests' Hive."""
    made = Ours(spark, hive)
    yield made
    made.session.close()


@pytest.fixture
def t() -> str:
    """Return an unused name for a table."""
    return f"shared{next(_numbers)}"


@pytest.fixture(scope="module")
def shared(spark: SparkSession, hive: Hive) -> Iterator[SparkSession]:
    """Yield a session in UTC that uses Hive's metastore."""
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", hive.uri)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    yield session
    AcidSession.of(session).close()
