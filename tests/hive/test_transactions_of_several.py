"""Hive reads and compacts what one transaction of several statements wrote."""

from __future__ import annotations

import pytest

import acidsql
from tests.hive.conftest import Ours
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
# Statements on the same rows: what one inserts, others update, delete and insert again.
STATEMENTS = (
    "INSERT INTO {t} SELECT CAST(id AS INT), 'new', {p} FROM range(100, 140)",
    "UPDATE {t} SET v = 'first' WHERE id % 4 = 0",
    "DELETE FROM {t} WHERE id % 7 = 0",
    "INSERT INTO {t} SELECT CAST(id * 7 AS INT), 'again', {p} FROM range(15, 20)",
    "UPDATE {t} SET v = concat(v, '+') WHERE id % 3 = 0",
    "MERGE INTO {t} AS t USING (SELECT CAST(id AS INT) AS k FROM range(0, 300, 5)) s ON t.id = s.k "
    "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' "
    "WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'found', {q})",
    "DELETE FROM {t} WHERE id BETWEEN 110 AND 112",
    "INSERT INTO {t} VALUES (110, 'once more', {q}), (111, 'once more', {q})",
    "UPDATE {t} SET v = concat(v, '!') WHERE id BETWEEN 100 AND 120",
    "UPDATE {t} SET v = concat(v, '?') WHERE id BETWEEN 110 AND 130",
    "DELETE FROM {t} WHERE v = 'found' AND id > 200",
    "INSERT INTO {t} VALUES (111, 'twice', {q})",
)


@pytest.mark.sample("False-True", "True-False")
@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("partitioned", [False, True])
def test_hive_reads_and_compacts_one_transaction(
    ours: Ours, hive: Hive, t: str, partitioned: bool, by_query: bool
) -> None:
    layout = "PARTITIONED BY (p INT)" if partitioned else ""
    columns = "id INT, v STRING" + ("" if partitioned else ", p INT")
    ours.sql(f"CREATE TABLE {t} ({columns}) {layout} {ACID}")
    part = "p = 1" if partitioned else ""
    # A base, so that the compaction below merges only the transaction.
    ours.sql(f"INSERT OVERWRITE {t} SELECT CAST(id AS INT), 'old', 1 FROM range(20)")
    with acidsql.transaction(ours.spark) as txn:
        for statement in STATEMENTS:
            txn.sql(statement.format(t=t, p=1, q=1))
        inside = sorted(map(tuple, txn.table(t).collect()), key=repr)
        assert ours.sql(f"SELECT count(*) FROM {t}") == [(len(inside),)]
        assert hive.run(f"SELECT count(*) FROM {t}") == [("20",)]
    before = ours.identified(t)
    assert len(before) == len(inside)
    assert {row_id[0] for row_id, _ in before} == {1, 2}
    acidsql.release(ours.spark)
    hive.run(f"SET hive.compactor.crud.query.based={str(by_query).lower()}")
    hive.compact(t, "minor", part)
    states = {row[5] for row in hive.run("SHOW COMPACTIONS") if row[2] == t}
    assert states == {"succeeded"}
    place = hive.warehouse / t / ("p=1" if partitioned else "")
    names = sorted(path.name.partition("_v")[0] for path in place.iterdir() if path.is_dir())
    assert names == [
        "base_0000001",
        "delete_delta_0000002_0000002",
        "delta_0000002_0000002",
    ]
    assert ours.identified(t) == before
    hive.run(f"UPDATE {t} SET v = 'hive' WHERE id = 111")
    assert ours.sql(f"SELECT v FROM {t} WHERE id = 111") == [("hive",), ("hive",)]
