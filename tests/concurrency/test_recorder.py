"""Tests of what is recorded of transactions with a statement that fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from tests.concurrency import recorder
from tests.concurrency.changes import Fail, Insert, Some, Table
from tests.concurrency.several import Several
from tests.concurrency.warehouses import LocalWarehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("all_fail", [False, True])
def test_a_transaction_does_not_see_its_own_write_ids(
    empty: SparkSession, tmp_path: Path, *, all_fail: bool
) -> None:
    """Also not that of a table where its only statement has failed."""
    a, b = (Table(name=f"recorded_{n}{int(all_fail)}") for n in "ab")
    for table in (a, b):
        for text in table.ddl():
            acidsql.sql(empty, text)
        acidsql.sql(empty, Insert(table=table, rows=((1, 1, 0),)).sql)
    metastore = tmp_path / "metastore.sqlite"
    before = recorder.last_commit(metastore)
    failing = Fail(table=b, where=Some(modulus=1, rest=0))
    first = Insert(table=a, rows=((2, 2, 0),))
    work = Several(parts=(failing, failing) if all_fail else (first, failing), read=(a, b))
    with recorder.recording(LocalWarehouse(tmp_path)):
        statement = recorder.run(empty, "writer", work, metastore)
    (commit,) = recorder.commits_after(metastore, before)
    assert commit.write_ids == ({b.name: 2} if all_fail else {a.name: 2, b.name: 2})
    assert commit.txn_id == statement.txn_id
    assert {(table, seen.sees(1), seen.sees(2)) for table, seen in statement.snapshots} == {
        (a.name, True, False),
        (b.name, True, False),
    }
    assert statement.writes.keys() == (set() if all_fail else {a.name})
