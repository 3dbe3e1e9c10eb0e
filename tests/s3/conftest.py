"""S3 for the tests marked ``s3``: a server on loopback, and sessions with S3A."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.s3.store import BUCKET, Store, opened


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    """Start S3 on loopback."""
    with opened() as made:
        yield made


class Client:
    """Spark session with tables on S3, and an embedded metastore of its own."""

    def __init__(self, spark: SparkSession, store: Store, metastore: str) -> None:
        self.store = store
        self.metastore = metastore
        self.spark = spark.newSession()
        for key, value in store.settings().items():
            self.spark.conf.set(key, value)
        self.spark.conf.set("spark.acidsql.metastore", metastore)

    @property
    def session(self) -> AcidSession:
        """``AcidSession`` of the Spark session."""
        return AcidSession.of(self.spark)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run a statement; its rows."""
        return [tuple(row) for row in acidsql.sql(self.spark, text).collect()]

    def create(self, name: str, columns: str, *, partitioned: str = "", **properties: str) -> None:
        """Create a table in the directory of its name."""
        by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
        given = {
            "transactional": "true",
            **{k.replace("__", "."): v for k, v in properties.items()},
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        self.sql(
            f"CREATE TABLE {name} ({columns}) {by} STORED AS ORC LOCATION 's3a://{BUCKET}/{name}' "
            f"TBLPROPERTIES ({listed})"
        )


@pytest.fixture
def client(spark: SparkSession, store: Store, tmp_path: Path) -> Iterator[Client]:
    """Yield a session; the bucket is emptied after it."""
    made = Client(spark, store, str(tmp_path / "metastore.sqlite"))
    yield made
    made.session.close()
    store.delete("")
