"""Tests of plain tables of a real metastore that become transactional."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.format.bucket_codec import encode
from acidsql.metastore.hive import catalog, conversions, partitions
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import RESERVED_WRITE_IDS, Column, Partition, Table
from tests.metastore.server.launcher import VERSIONS
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

TO_ACID = "ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true')"


def _make_plain(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str, *, partitioned: bool
) -> Table:
    """Create a table as Spark does with the metastore as its catalog, with files of Spark's."""
    database = str(client.spark.catalog.currentDatabase())
    metastore = client.session.metastore
    assert isinstance(metastore, HiveMetastore)
    table = Table(
        database=database,
        name=name,
        columns=(Column(name="id", type="int"), Column(name="v", type="string")),
        partition_columns=(Column(name="p", type="string"),) if partitioned else (),
    )
    with monkeypatch.context() as patched:
        patched.setattr(conversions, "_OF_NEW_TABLES", {"spark.sql.sources.provider": "orc"})
        metastore.create_table(table)
    plain = metastore.plain_table(database, name)
    assert plain is not None
    assert not plain.external
    place = plain.table.location
    rows = client.spark.sql("SELECT 1 AS id, 'a' AS v UNION ALL SELECT 2, 'b'").coalesce(1)
    rows.write.mode("append").orc(f"{place}/p=x" if partitioned else place)
    if partitioned:
        found = catalog.fetch_any(metastore.server, database, name)
        added = Partition(values=("x",), location=f"{place}/p=x")
        partitions.add(metastore.server, found, [added])
    return plain.table


@pytest.mark.sample("True-4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partitioned", [False, True])
def test_a_plain_table_becomes_transactional(
    client: Callable[..., Client], version: str, partitioned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = client(version)
    _make_plain(here, monkeypatch, "plain", partitioned=partitioned)
    here.sql(TO_ACID.format(t="plain"))
    found = here.sql("SELECT id, v, row__id FROM plain")
    assert [(i, v, tuple(r)) for i, v, r in found] == [  # type: ignore[arg-type]  # a Row
        (1, "a", (0, encode(0), 0)),
        (2, "b", (0, encode(0), 1)),
    ]
    assert not [k for k, _ in here.sql("SHOW TBLPROPERTIES plain") if str(k).startswith("spark.")]
    here.sql("UPDATE plain SET v = 'u' WHERE id = 2")
    metastore = here.session.metastore
    database = str(here.spark.catalog.currentDatabase())
    assert metastore.next_write_id(database, "plain") == RESERVED_WRITE_IDS + 2
    assert [row[:2] for row in here.sql("SELECT * FROM plain")] == [(1, "a"), (2, "u")]


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_table_of_other_files_is_refused(
    client: Callable[..., Client], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = client(version)
    table = _make_plain(here, monkeypatch, "strange", partitioned=False)
    here.session.files.write(f"{table.location}/sub/x", b"")
    with pytest.raises(AcidAnalysisError, match="strange/sub"):
        here.sql(TO_ACID.format(t="strange"))
    assert here.session.metastore.find_table(table.database, "strange") is None
    assert here.session.metastore.locks() == ()
