"""Tests of statistics of tables and partitions, and of how writes make them out of date."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.errors import AcidLookupError
from acidsql.metastore.catalog_changes import (
    CatalogChange,
    RecordStatistics,
    RecordWrites,
    RenameTable,
)
from acidsql.metastore.model import LockRequest, LockType, Operation, Partition
from acidsql.metastore.protocol import Metastore
from acidsql.metastore.table_statistics import ColumnStatistics, Statistics, merged

pytestmark = pytest.mark.usefixtures("tables")

ID = ColumnStatistics(
    name="id",
    nulls=1,
    distinct=9,
    minimum="-3",
    maximum="12",
    average_length=4.0,
    maximum_length=4,
)
NAME = ColumnStatistics(name="name", nulls=0, distinct=10, average_length=3.5, maximum_length=7)
COUNTED = Statistics(partition=None, size=700, files=2, rows=10, raw_size=240, columns=(ID, NAME))


class Writer:
    """Transaction that writes to a table."""

    def __init__(self, metastore: Metastore, table: str) -> None:
        self.metastore = metastore
        self.table = metastore.table("db", table)
        self.txn_id = metastore.open_txn("ann", "host")
        self.write_id = metastore.allocate_write_id(self.txn_id, "db", table)
        request = LockRequest(
            database="db",
            table=table,
            partition=None,
            type=LockType.SHARED_READ,
            operation=Operation.SELECT,
        )
        metastore.lock(self.txn_id, [request])
        seen = metastore.valid_write_ids("db", table, metastore.valid_txns())
        self.seen = seen.to_string()

    def commit(self, *changes: CatalogChange) -> None:
        self.metastore.prepare_commit(self.txn_id, changes)
        self.metastore.commit_txn(self.txn_id)

    def analyze(self, *computed: Statistics) -> None:
        """Keep statistics that were computed in the snapshot of this transaction."""
        own = tuple(replace(s, write_id=self.write_id, write_ids=self.seen) for s in computed)
        self.commit(RecordStatistics(table=self.table, computed=own))

    def write(self, *written: Partition) -> None:
        """Commit a write, which announces itself."""
        self.commit(
            RecordWrites(table=self.table, written=written or (Partition(values=(), location=""),))
        )


def kept(
    metastore: Metastore, table: str = "t", partition: tuple[str, ...] | None = None
) -> Statistics | None:
    return metastore.statistics(metastore.table("db", table), partition, ["id", "name"])


def comparable(found: Statistics | None) -> Statistics:
    """Leave out what only one of the metastores keeps."""
    assert found is not None
    columns = tuple(sorted(found.columns, key=lambda column: column.name))
    return replace(found, write_ids="", write_id=0, raw_size=None, columns=columns)


def test_nothing_is_known_of_a_table_that_was_not_analysed(metastore: Metastore) -> None:
    assert kept(metastore) is None
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.statistics(replace(metastore.table("db", "t"), name="gone"), None)


def test_what_was_computed_is_read_back(metastore: Metastore) -> None:
    writer = Writer(metastore, "t")
    writer.analyze(COUNTED)
    found = kept(metastore)
    assert comparable(found) == comparable(COUNTED)
    assert found is not None
    assert found.write_id in (writer.write_id, 0)
    alone = metastore.statistics(metastore.table("db", "t"), None, ["name"])
    assert comparable(alone).columns == (NAME,)
    assert comparable(metastore.statistics(metastore.table("db", "t"), None)).columns == ()


def test_a_write_makes_them_out_of_date_and_an_analysis_current(metastore: Metastore) -> None:
    Writer(metastore, "t").analyze(COUNTED)
    Writer(metastore, "t").write()
    found = kept(metastore)
    assert found is None or not found.is_current
    Writer(metastore, "t").analyze(replace(COUNTED, rows=11))
    assert comparable(kept(metastore)).rows == 11
    assert comparable(kept(metastore)).is_current


def test_a_write_that_the_snapshot_did_not_see(metastore: Metastore) -> None:
    """Check an INSERT that commits between the scan of an ANALYZE and its commit."""
    analysis = Writer(metastore, "t")
    Writer(metastore, "t").write()
    analysis.analyze(COUNTED)
    found = kept(metastore)
    assert found is None or not found.is_current


def test_a_write_that_was_open_and_commits_later(metastore: Metastore, kind: str) -> None:
    insert = Writer(metastore, "t")
    Writer(metastore, "t").analyze(COUNTED)
    # A server would notice it only of some writers, so acidsql is careful there.
    assert comparable(kept(metastore)).is_current is (kind == "embedded")
    insert.write()
    found = kept(metastore)
    assert found is None or not found.is_current


def test_partitions_are_out_of_date_one_by_one(metastore: Metastore) -> None:
    places = metastore.partitions("db", "p")
    own = [replace(COUNTED, partition=place.values) for place in places]
    Writer(metastore, "p").analyze(*own, replace(COUNTED, rows=10 * len(own)))
    assert all(comparable(kept(metastore, "p", p.values)).is_current for p in places)
    assert comparable(kept(metastore, "p")).rows == 10 * len(own)
    Writer(metastore, "p").write(places[0])
    changed = kept(metastore, "p", places[0].values)
    assert changed is None or not changed.is_current
    whole = kept(metastore, "p")
    assert whole is None or not whole.is_current
    assert comparable(kept(metastore, "p", places[1].values)) == comparable(own[1])


def test_a_dropped_partition_leaves_nothing(metastore: Metastore) -> None:
    place = metastore.partitions("db", "p")[0]
    Writer(metastore, "p").analyze(replace(COUNTED, partition=place.values))
    metastore.drop_partitions("db", "p", [place.values])
    metastore.add_partitions("db", "p", [place])
    assert kept(metastore, "p", place.values) is None


@pytest.mark.parametrize("table", ["t", "p"])
def test_a_renamed_table_keeps_them_and_a_new_one_has_none(
    metastore: Metastore, table: str
) -> None:
    before = metastore.table("db", table)
    places = metastore.partitions("db", table) if before.partition_columns else ()
    partition = places[0].values if places else None
    Writer(metastore, table).analyze(replace(COUNTED, partition=partition))
    place = f"{before.location}_renamed"
    renamed = RenameTable(table=before, database="db", name="renamed", location=place)
    Writer(metastore, table).commit(renamed)
    assert comparable(kept(metastore, "renamed", partition)).rows == 10
    metastore.create_table(replace(before, location=f"{before.location}_new"))
    metastore.add_partitions("db", table, places)
    assert kept(metastore, table, partition) is None


def test_merged_keeps_what_is_about_the_same_rows() -> None:
    measured = Statistics(partition=None, size=701, files=2)
    assert merged(COUNTED, measured) == replace(COUNTED, size=701)
    counted = Statistics(partition=None, size=1, files=1, rows=10, raw_size=5)
    assert merged(COUNTED, counted).columns == (ID, NAME)
    again = replace(ID, maximum="13")
    assert merged(COUNTED, replace(counted, columns=(again,))).columns == (NAME, again)
    assert merged(replace(COUNTED, is_current=False), measured) == measured
    assert merged(None, measured) == measured
