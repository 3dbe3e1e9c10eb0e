"""Fixtures of the tests of the whole product: tables, and their files as pyorc reads them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyorc
import pytest
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.format.names import OWNER_FILE
from acidsql.injection_points import Point
from acidsql.metastore.model import TxnState, TxnType
from acidsql.session.acid_session import AcidSession
from tests.injection import Plan, once

_numbers = itertools.count()
# operation, originalTransaction, bucket, rowId, currentTransaction
Event = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidFile:
    """Bucket file as another implementation of ORC reads it.

    Attributes:
        fields: names of the top-level columns.
        row_fields: names of the columns of ``row``.
        codec: name of the compression.
        metadata: the user metadata of the footer.
        stripes: the events of each stripe, without ``row``.
    """

    fields: tuple[str, ...]
    row_fields: tuple[str, ...]
    codec: str
    metadata: dict[str, str]
    stripes: tuple[tuple[Event, ...], ...]

    @property
    def events(self) -> list[Event]:
        """All events, in their order."""
        return [event for stripe in self.stripes for event in stripe]

    @property
    def keys(self) -> list[tuple[int, int, int]]:
        """Keys of all events, in their order."""
        return [event[1:4] for event in self.events]

    @property
    def expected_key_index(self) -> str:
        """Expected ``hive.acid.key.index``: the last key of each stripe."""
        lasts = [stripe[-1][1:4] for stripe in self.stripes]
        return "".join(f"{w},{b},{r};" for w, b, r in lasts)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """State of a table and its transactions, which a failed statement must not change."""

    rows: tuple[Any, ...]
    tree: tuple[str, ...]
    partitions: tuple[str, ...]
    locks: int
    open_writers: int


class Lab:
    """Statements, tables and files of one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @property
    def session(self) -> AcidSession:
        """``AcidSession`` of the Spark session."""
        return AcidSession.of(self.spark)

    def frame(self, text: str, **frames: Any) -> DataFrame:
        """Run a statement."""
        return acidsql.sql(self.spark, text, **frames)

    def sql(self, text: str, **frames: Any) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        return [tuple(row) for row in self.frame(text, **frames).collect()]

    def create(
        self,
        columns: str,
        *,
        partitioned: str = "",
        clustered: str = "",
        properties: Mapping[str, str] | None = None,
        values: str = "",
    ) -> str:
        """Create a table of a new name, with one INSERT of ``values`` if there are any."""
        name = f"t{next(_numbers)}"
        pairs = {"transactional": "true", **(properties or {})}
        self.sql(
            f"CREATE TABLE {name} ({columns})"
            + (f" PARTITIONED BY ({partitioned})" if partitioned else "")
            + (f" CLUSTERED BY {clustered}" if clustered else "")
            + " STORED AS ORC TBLPROPERTIES ("
            + ", ".join(f"'{k}'='{v}'" for k, v in pairs.items())
            + ")"
        )
        if values:
            self.insert(name, values)
        return name

    def insert(self, table: str, values: str) -> None:
        """Insert rows that make one file per directory."""
        # A few rows of VALUES are one file anyway, but in insert-only tables.
        self.sql(f"INSERT INTO {table} SELECT {self._one_task(table)} * FROM VALUES {values}")

    def _one_task(self, table: str) -> str:
        database, _, name = table.rpartition(".")
        database = database or self.spark.catalog.currentDatabase()
        insert_only = self.session.metastore.table(database, name).insert_only
        return "/*+ COALESCE(1) */" if insert_only else ""

    def compact(self, table: str, kind: str, partition: str = "") -> Any:
        """Compact a table that has no reader; the entry of SHOW COMPACTIONS."""
        acidsql.release(self.spark)
        part = f" PARTITION ({partition})" if partition else ""
        self.sql(f"ALTER TABLE {table}{part} COMPACT '{kind}'")
        return self.compaction(table)

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """Return the rows of a table, sorted by their text."""
        return sorted(self.sql(f"SELECT {columns} FROM {table}"), key=repr)

    def root(self, table: str) -> Path:
        """Return the directory of a table."""
        return Path(urlparse(acidsql.location(self.spark, table)).path)

    def tree(self, table: str) -> list[str]:
        """Return everything below a table's directory, but the file that says whose it is;
        directories end with a slash.
        """
        root = self.root(table)
        return sorted(
            str(path.relative_to(root)) + ("/" if path.is_dir() else "")
            for path in root.rglob("*")
            if path.name != OWNER_FILE
        )

    def directories(self, table: str) -> list[str]:
        """Return the names in the directory of a table, sorted, but the file that says whose it
        is.
        """
        names = (path.name for path in self.root(table).iterdir())
        return sorted(name for name in names if name != OWNER_FILE)

    def file(self, path: Path) -> AcidFile:
        """Look into a bucket file."""
        with path.open("rb") as stream:
            reader = pyorc.Reader(stream, column_indices=[0, 1, 2, 3, 4])
            fields = dict(reader.schema.fields)  # type: ignore[attr-defined]  # of a Struct
            with path.open("rb") as whole:
                fields = pyorc.Reader(whole).schema.fields  # type: ignore[attr-defined]
            return AcidFile(
                fields=tuple(fields),
                row_fields=tuple(fields["row"].fields),
                codec=reader.compression.name,
                metadata={k: v.decode() for k, v in reader.user_metadata.items()},
                stripes=tuple(
                    tuple(tuple(event[:5]) for event in stripe)
                    for stripe in (reader.read_stripe(i) for i in range(reader.num_of_stripes))
                ),
            )

    def files(self, table: str) -> dict[str, AcidFile]:
        """Return all bucket files of a table, by their relative paths."""
        root = self.root(table)
        return {
            str(path.relative_to(root)): self.file(path) for path in sorted(root.rglob("bucket_*"))
        }

    def state(self, table: str) -> State:
        """Return the present state of a table and its transactions."""
        acid = self.session
        definition = acid.metastore.table("default", table)
        partitions: Sequence[tuple[str, ...]] = (
            self.sql(f"SHOW PARTITIONS {table}") if definition.partition_columns else []
        )
        return State(
            rows=tuple(self.rows(table, "*, row__id")),
            tree=tuple(self.tree(table)),
            partitions=tuple(name for (name,) in partitions),
            locks=len(acid.metastore.locks()),
            open_writers=sum(
                txn.state is TxnState.OPEN and txn.type is not TxnType.READ_ONLY
                for txn in acid.metastore.open_txns()
            ),
        )

    def compaction(self, table: str) -> Any:
        """Return the newest entry of SHOW COMPACTIONS for a table."""
        return self.frame(f"SHOW COMPACTIONS {table}").collect()[0]

    @contextmanager
    def settings(self, **values: str) -> Iterator[None]:
        """Change Spark settings in the block; their dots are written as two underscores."""
        given = {key.replace("__", "."): value for key, value in values.items()}
        before = {key: self.spark.conf.get(key, None) for key in given}
        for key, value in given.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, old in before.items():
                if old is None:
                    self.spark.conf.unset(key)
                else:
                    self.spark.conf.set(key, old)


@pytest.fixture
def lab(spark: SparkSession) -> Iterator[Lab]:
    """Yield the shared session, without leases of earlier tests."""
    acidsql.release(spark)
    yield Lab(spark)
    acidsql.release(spark)


@pytest.fixture
def on(lab: Lab) -> Iterator[Lab]:
    """Yield the shared session, enabled."""
    acidsql.enable(lab.spark)
    yield lab
    acidsql.disable(lab.spark)


@pytest.fixture
def new_lab(spark: SparkSession) -> Iterator[Callable[..., Lab]]:
    """Open another session over the same warehouse and metastore.

    Its settings are given by keyword, their dots written as two underscores.
    """
    sessions: list[SparkSession] = []

    def open_session(**settings: str) -> Lab:
        session = spark.newSession()
        sessions.append(session)
        for key, value in settings.items():
            session.conf.set(key.replace("__", "."), value)
        return Lab(session)

    yield open_session
    for session in sessions:
        AcidSession.of(session).close()


@pytest.fixture
def other(new_lab: Callable[..., Lab]) -> Lab:
    """Return a second session over the same warehouse and metastore."""
    return new_lab()


@pytest.fixture
def before_commit() -> Iterator[Plan]:
    """Do something once, when the next transaction has published and not yet committed."""
    with once(Point.BEFORE_COMMIT) as plan:
        yield plan
