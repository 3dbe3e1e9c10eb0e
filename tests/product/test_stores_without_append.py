"""Tables on a store that says that it cannot append: a local disk behind ``viewfs``.

It knows nothing of S3, so what holds here holds by Hadoop's contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileSystem
from tests.scenario import core

pytestmark = pytest.mark.spark


@pytest.fixture
def viewed(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """Yield a session with a store that cannot append, ``viewfs://<name of tmp_path>/``."""
    session = spark.newSession()
    name = tmp_path.name.lower()
    (tmp_path / "data").mkdir()
    link = f"fs.viewfs.mounttable.{name}.link./data"
    session.conf.set(link, (tmp_path / "data").as_uri())
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
    session.conf.set("test.root", f"viewfs://{name}/data")
    yield session
    AcidSession.of(session).close()


def rows(spark: SparkSession, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in acidsql.sql(spark, text).collect())


@pytest.mark.slow
def test_a_table_is_written_and_compacted(
    viewed: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object) -> None:
        raise AssertionError("nothing is appended to or renamed")

    monkeypatch.setattr(FileSystem, "append", no)
    monkeypatch.setattr(FileSystem, "rename", no)
    root = viewed.conf.get("test.root")
    assert AcidSession.of(viewed).files.is_object_store(f"{root}/t")
    acidsql.sql(
        viewed,
        f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) STORED AS ORC "
        f"LOCATION '{root}/t' TBLPROPERTIES ('transactional' = 'true')",
    )
    acidsql.sql(viewed, "INSERT INTO t SELECT id, 'a', id % 2 FROM range(0, 300, 1, 2)")
    acidsql.sql(viewed, "UPDATE t SET v = 'b' WHERE id < 2")
    acidsql.sql(viewed, "DELETE FROM t WHERE id >= 100")
    counted = "SELECT count(*), sum(id), count_if(v = 'b') FROM t"
    assert rows(viewed, counted) == [(100, 4950, 2)]
    acidsql.release(viewed)
    for kind in ("minor", "major"):
        acidsql.sql(viewed, f"ALTER TABLE t PARTITION (p = 0) COMPACT '{kind}' AND WAIT")
        assert rows(viewed, counted) == [(100, 4950, 2)]
        acidsql.release(viewed)
    assert rows(viewed, "CHECK TABLE t FULL") == []
    files = AcidSession.of(viewed).files
    (base,) = files.names(f"{root}/t/p=0")
    assert base.startswith("base_0000003_v")
    assert not [name for name in files.names(f"{root}/t") if "staging" in name]
    acidsql.sql(viewed, "DROP TABLE t")
    assert not files.names(f"{root}/t")


@pytest.mark.repeated
def test_core_statements(viewed: SparkSession) -> None:
    core(viewed, viewed.conf.get("test.root"))
