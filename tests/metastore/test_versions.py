"""Versions of tables, as every metastore reports them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, Partition
from acidsql.metastore.moments import (
    BeforeTransactionMoment,
    BeforeWriteMoment,
    Moment,
    TimeMoment,
    TransactionMoment,
    WriteIdMoment,
)
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, only

pytestmark = pytest.mark.usefixtures("tables")


def opened(metastore: Metastore, table: str = "t") -> tuple[int, int]:
    txn_id = metastore.open_txn("ann", "host")
    return txn_id, metastore.allocate_write_id(txn_id, "db", table)


def written(metastore: Metastore, table: str = "t") -> int:
    txn_id, write_id = opened(metastore, table)
    metastore.commit_txn(txn_id)
    return write_id


def ids(metastore: Metastore, moment: Moment, table: str = "t") -> set[int]:
    write_ids = metastore.find_version("db", table, moment).write_ids
    assert write_ids.table == f"db.{table}"
    return {w for w in range(1, write_ids.high_water_mark + 1) if write_ids.is_valid(w)}


def version(number: int) -> WriteIdMoment:
    return WriteIdMoment(write_id=number)


def refused(
    metastore: Metastore, moment: Moment, condition: str, match: str = ".", table: str = "T"
) -> None:
    with pytest.raises(AcidAnalysisError, match=match) as caught:
        metastore.find_version("DB", table, moment)
    assert caught.value.condition == condition


def test_versions_leave_out_what_was_aborted_and_what_is_later(metastore: Metastore) -> None:
    written(metastore)
    txn_id, _ = opened(metastore)
    metastore.abort_txn(txn_id)
    written(metastore)
    written(metastore)
    assert [ids(metastore, version(n)) for n in (0, 1, 3, 4)] == [set(), {1}, {1, 3}, {1, 3, 4}]


def test_versions_that_never_were(metastore: Metastore) -> None:
    written(metastore)
    txn_id, _ = opened(metastore)
    metastore.abort_txn(txn_id)
    opened(metastore)
    for number, why in ((-1, "negative"), (2, "aborted"), (3, "not committed"), (4, "written")):
        refused(metastore, version(number), "VERSION_NOT_FOUND", why)


def test_a_lower_write_id_that_is_open(metastore: Metastore, kind: str) -> None:
    first, _ = opened(metastore)
    written(metastore)
    if kind == "embedded":
        assert ids(metastore, version(2)) == {2}
    else:
        refused(metastore, version(2), "VERSION_NOT_FOUND", "write id 1 below it is still open")
    metastore.commit_txn(first)
    assert ids(metastore, version(2)) == ({2} if kind == "embedded" else {1, 2})


def test_versions_before_a_write(metastore: Metastore, kind: str) -> None:
    def before(write_id: int) -> BeforeWriteMoment:
        return BeforeWriteMoment(write_id=write_id)

    written(metastore)
    aborted, _ = opened(metastore)
    metastore.abort_txn(aborted)
    slow, _ = opened(metastore)
    written(metastore)
    if kind != "embedded":
        refused(metastore, before(4), "VERSION_NOT_FOUND", "write id 3 below it is still open")
    metastore.commit_txn(slow)
    by_commits = [set(), {1, 4}, {1}]
    by_write_ids = [set(), {1}, {1, 3}]
    found = [ids(metastore, before(n)) for n in (1, 3, 4)]
    assert found == (by_commits if kind == "embedded" else by_write_ids)
    still_open, _ = opened(metastore)
    for number, why in ((0, "begin with 1"), (2, "aborted"), (5, "not committed"), (6, "written")):
        refused(metastore, before(number), "VERSION_NOT_FOUND", why)
    metastore.abort_txn(still_open)


def test_servers_know_write_ids_alone(metastore: Metastore, kind: str) -> None:
    written(metastore)
    if kind != "embedded":
        for moment in (TimeMoment(microseconds=0), TransactionMoment(txn_id=1)):
            refused(metastore, moment, "UNSUPPORTED_FEATURE.TIME_TRAVEL")


@only(*EMBEDDED)
def test_times(
    metastore: Metastore, advance: Callable[[float], None], at: Callable[[float], Any]
) -> None:
    def moment(seconds: float) -> TimeMoment:
        return TimeMoment(microseconds=round(at(seconds) * 1_000_000))

    advance(10)
    written(metastore)
    advance(10)
    written(metastore)
    assert [ids(metastore, moment(s)) for s in (9, 10, 15, 20)] == [set(), {1}, {1}, {1, 2}]
    refused(metastore, moment(21), "VERSION_NOT_FOUND", "future")
    metastore.drop_table("db", "t")
    metastore.create_table(
        replace(metastore.table("db", "p"), name="t", location="file:/t", created=int(at(20)))
    )
    refused(metastore, moment(15), "VERSION_NOT_FOUND", "created later")
    refused(metastore, version(1), "VERSION_NOT_FOUND", "never written")


@only(*EMBEDDED)
def test_transactions(metastore: Metastore) -> None:
    slow = metastore.open_txn("ann", "host")
    for table in "tp":
        metastore.allocate_write_id(slow, "db", table)
    written(metastore)
    metastore.commit_txn(slow)
    written(metastore, "p")
    of_slow = TransactionMoment(txn_id=slow)
    assert ids(metastore, of_slow) == {1, 2}
    assert ids(metastore, of_slow, "p") == {1}
    before_slow = BeforeTransactionMoment(txn_id=slow)
    assert ids(metastore, before_slow) == {2}
    assert ids(metastore, before_slow, "p") == set()
    aborted, _ = opened(metastore)
    still_open, _ = opened(metastore)
    metastore.abort_txn(aborted)
    idle = metastore.open_txn("ann", "host")
    metastore.commit_txn(idle)
    for txn_id, why in (
        (aborted, "aborted"),
        (still_open, "open"),
        (idle, "wrote to no table"),
        (idle + 1, "no such transaction"),
    ):
        for moment in (TransactionMoment(txn_id=txn_id), BeforeTransactionMoment(txn_id=txn_id)):
            refused(metastore, moment, "VERSION_NOT_FOUND", why)


@only(*EMBEDDED)
def test_changes_that_leave_no_way_back(metastore: Metastore) -> None:
    written(metastore)
    table = metastore.table("db", "t")
    metastore.alter_table(replace(table, properties={"a": "b"}))
    assert ids(metastore, version(1)) == {1}
    written(metastore, "p")
    (part,) = metastore.table("db", "p").partition_columns
    held = metastore.table("db", "p")
    metastore.alter_table(replace(held, partition_columns=(replace(part, type="bigint"),)))
    refused(metastore, version(1), "VERSION_HAS_OTHER_COLUMNS", "newer version", table="p")
    written(metastore, "p")
    refused(metastore, version(1), "VERSION_HAS_OTHER_COLUMNS", "is there is 2", table="p")
    assert ids(metastore, version(2), "p") == {1, 2}


@only(*EMBEDDED)
def test_versions_have_the_columns_that_they_had(metastore: Metastore) -> None:
    written(metastore)
    table = metastore.table("db", "t")
    first, *others = table.columns
    renamed = (replace(first, name="key"), *others)
    added = (*renamed, Column(name="n", type="int"))
    metastore.alter_table(replace(table, columns=renamed))
    metastore.alter_table(replace(table, columns=added))
    assert metastore.find_version("db", "t", version(1)).columns == table.columns
    written(metastore)
    assert metastore.find_version("db", "t", version(2)).columns is None
    metastore.alter_table(table)
    assert metastore.find_version("db", "t", version(1)).columns == table.columns
    assert metastore.find_version("db", "t", version(2)).columns == added


@only(*EMBEDDED)
@pytest.mark.parametrize("change", ["drop", "rename", "move"])
def test_changes_of_partitions_leave_no_way_back(metastore: Metastore, change: str) -> None:
    written(metastore, "p")
    (place,) = metastore.partitions("db", "p", [("1",)])
    other = Partition(values=("3",), location=place.location)
    if change == "drop":
        metastore.drop_partitions("db", "p", [("1",)])
    elif change == "rename":
        metastore.rename_partition("db", "p", ("1",), other)
    else:
        metastore.alter_partitions("db", "p", [replace(place, location="file:/elsewhere")])
    written(metastore, "p")
    with pytest.raises(AcidAnalysisError) as caught:
        metastore.find_version("db", "p", version(1))
    assert caught.value.condition == "HISTORY_NOT_AVAILABLE"
    assert caught.value.parameters["oldestVersion"] == "2"
    assert ids(metastore, version(2), "p") == {1, 2}
