"""Tests of OPTIMIZE … ZORDER BY: rows, row ids, how much conditions read, and what follows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.orc_tail import parse_tail
from acidsql.metastore.model import CompactionState, CompactionType
from tests.product.conditions import condition
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# ORC has row groups of no fewer rows.
_STRIDE = {"orc.row.index.stride": "1000"}
_BOTH = {"acidsql.zorder.columns": "a, S, nope", **_STRIDE}
# 16 row groups. ``a`` and ``s`` do not follow each other or the order of the rows; half of the
# rows have one text, some have none.
_ROWS = """SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS id,
  CAST(pmod(xxhash64(id), 16001) AS INT) AS a,
  CASE WHEN id % 50 = 0 THEN NULL WHEN id % 2 = 0 THEN 'often'
       ELSE concat('t', lpad(pmod(xxhash64(id, 7), 16001), 5, '0')) END AS s
FROM range(0, 16000, 1, 1)"""


@pytest.fixture
def own(empty: SparkSession) -> Lab:
    """Return a lab with a metastore of its own, which nothing compacts by itself."""
    return Lab(empty)


def clustered(lab: Lab, properties: dict[str, str]) -> str:
    t = lab.create("id INT, a INT, s STRING", properties=properties)
    lab.sql(f"INSERT INTO {t} {_ROWS}")
    return t


def shares(lab: Lab, table: str) -> dict[str, float]:
    (one,) = acidsql.health(lab.spark, table)
    return dict(one.point_read_shares)


@pytest.mark.slow
def test_rows_are_clustered_and_stay_the_same(own: Lab) -> None:
    t = clustered(own, _BOTH)
    own.sql(f"DELETE FROM {t} WHERE id = 3")
    before = sorted(own.rows(t), key=repr)
    scattered = shares(own, t)
    assert scattered["a"] > 0.9
    assert scattered["s"] > 0.9
    acidsql.release(own.spark)
    (row,) = own.frame(f"OPTIMIZE {t} ZORDER BY (a, s)").collect()
    assert (row.type, row.state) == ("rebalance", "succeeded")
    assert sorted(own.rows(t), key=repr) == before
    found = shares(own, t)
    # Of four times four ranges, a condition on one column reads about four. The condition on the
    # text that half of the rows have reads half of them.
    assert found["a"] < 0.45
    assert found["s"] < 0.55
    (health,) = own.frame(f"DESCRIBE HEALTH {t}").collect()
    assert health.pointReadShares == found
    ids = own.sql(f"SELECT row__id.writeid, row__id.rowid FROM {t}")
    assert len(set(ids)) == 15_999
    assert {write_id for write_id, _ in ids} == {2}
    own.sql(f"DELETE FROM {t} WHERE a < 8000")
    assert own.sql(f"SELECT count(*) FROM {t}") == [(sum(a >= 8000 for _, a, _ in before),)]


def test_every_kind_of_column_is_ordered(own: Lab) -> None:
    kinds = (
        "b BOOLEAN, i TINYINT, l BIGINT, d DOUBLE, n DECIMAL(20, 2), s STRING, c CHAR(3), "
        "bin BINARY, dt DATE, ts TIMESTAMP"
    )
    t = own.create(f"id INT, {kinds}")
    own.sql(
        f"""INSERT INTO {t} VALUES
        (1, true, 1, -9223372036854775808, double('NaN'), 1.5, "it's, ", 'a', X'00FF',
         DATE'0001-01-01',
         TIMESTAMP'1969-12-31 23:59:59.999999'),
        (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (3, false, -1, 9223372036854775807, double('-Infinity'), -1.5, '', 'b', X'',
         DATE'9999-12-31', TIMESTAMP'2024-01-01 00:00:00')"""
    )
    before = own.sql(f"SELECT * FROM {t} ORDER BY id")
    names = [part.split()[0] for part in kinds.replace("(20, 2)", "").split(", ")]
    for own_names in (names[:5], names[5:]):
        acidsql.release(own.spark)
        (row,) = own.frame(f"OPTIMIZE {t} ZORDER BY ({', '.join(own_names)})").collect()
        assert (row.state, row.errormessage) == ("succeeded", None)
        assert repr(own.sql(f"SELECT * FROM {t} ORDER BY id")) == repr(before)
    assert condition(own, f"OPTIMIZE {t} ZORDER BY ({', '.join(names[:6])})") == (
        "INVALID_SORT_ORDER"
    )


def test_partitions_of_a_condition_are_clustered(own: Lab) -> None:
    t = own.create("id INT, a INT", partitioned="p INT", values="(1, 9, 1), (2, 8, 1), (3, 7, 2)")
    acidsql.release(own.spark)
    found = own.frame(f"OPTIMIZE {t} WHERE p = 1 ZORDER BY `A`").collect()
    assert [(row.partname, row.type, row.state) for row in found] == [
        ("p=1", "rebalance", "succeeded")
    ]
    assert own.sql(f"SELECT id FROM {t} WHERE p = 1 ORDER BY row__id.rowid") == [(2,), (1,)]
    acidsql.release(own.spark)
    found = own.frame(f"OPTIMIZE {t} ZORDER BY (a, id)").collect()
    assert [row.partname for row in found] == ["p=1", "p=2"]
    assert len(own.rows(t)) == 3


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("(id, nope)", "nope is no column"),
        ("p", "p is a partition column"),
        ("(m)", "m is of the type map<string,int>"),
    ],
)
def test_columns_without_an_order_are_refused(own: Lab, columns: str, told: str) -> None:
    t = own.create("id INT, m MAP<STRING, INT>", partitioned="p INT")
    assert condition(own, f"OPTIMIZE {t} ZORDER BY {columns}") == "INVALID_SORT_ORDER"
    with pytest.raises(acidsql.AcidSqlError, match=told):
        own.sql(f"OPTIMIZE {t} ZORDER BY {columns}")


def test_maintenance_follows_the_property(own: Lab) -> None:
    t = own.create(
        "id INT, a INT",
        properties={
            "acidsql.zorder.columns": "a,id",
            "compactorthreshold.hive.compactor.delta.num.threshold": "2",
        },
    )
    for number in range(3):
        own.sql(f"INSERT INTO {t} VALUES ({number}, {3 - number})")
    acidsql.release(own.spark)
    done = acidsql.maintenance(own.spark)
    assert not done.failed
    (entry,) = own.session.metastore.compactions_of("default", t, None)
    assert (entry.type, entry.order_by) == (CompactionType.REBALANCE, "zorder(`a`, `id`)")
    assert entry.state is CompactionState.SUCCEEDED
    assert sorted(own.rows(t)) == [(0, 3), (1, 2), (2, 1)]


def test_optimize_follows_the_property_where_there_is_something_to_merge(own: Lab) -> None:
    t = own.create("id INT", properties={"acidsql.zorder.columns": "id"}, values="(2), (1)")
    own.sql(f"INSERT INTO {t} VALUES (0)")
    acidsql.release(own.spark)
    (row,) = own.frame(f"OPTIMIZE {t}").collect()
    assert (row.type, row.state) == ("rebalance", "succeeded")
    assert own.sql(f"SELECT id FROM {t} ORDER BY row__id.rowid") == [(0,), (1,), (2,)]
    acidsql.release(own.spark)
    (row,) = own.frame(f"OPTIMIZE {t}").collect()
    assert (row.type, row.state) == ("major", "refused")


def test_writers_that_kept_a_rebalance_from_being_done_get_a_major_compaction(own: Lab) -> None:
    t = own.create(
        "id INT",
        properties={
            "acidsql.zorder.columns": "id",
            "compactorthreshold.hive.compactor.delta.num.threshold": "1",
        },
        values="(2)",
    )
    own.sql(f"INSERT INTO {t} VALUES (1)")
    store = own.session.metastore
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "default", t)
    acidsql.release(own.spark)
    acidsql.maintenance(own.spark)
    own.sql(f"INSERT INTO {t} VALUES (3)")
    acidsql.maintenance(own.spark)
    entries = [(c.type, c.state) for c in store.compactions_of("default", t, None)]
    assert entries[-1] == (CompactionType.REBALANCE, CompactionState.REFUSED)
    assert entries[0][0] is CompactionType.MAJOR
    store.abort_txn(txn_id)
    assert sorted(own.rows(t)) == [(1,), (2,), (3,)]


def test_bloom_filters_leave_row_groups_out(own: Lab) -> None:
    """Damage the rows of a stripe: a value that its bloom filters have not is still not found."""
    properties = {"orc.bloom.filter.columns": "s", "orc.compress": "none", **_STRIDE}
    t = own.create("id INT, s STRING", properties=properties)
    own.sql(
        f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ CAST(id AS INT), md5(CAST(id AS STRING)) "
        "FROM range(0, 4000, 1, 1)"
    )
    (path,) = own.root(t).rglob("bucket_*")
    content = bytearray(path.read_bytes())
    tail = parse_tail(bytes(content), len(content))
    (stripe,) = tail.stripes
    start = stripe.offset + stripe.index_length
    content[start : start + stripe.data_length] = b"\xff" * stripe.data_length
    path.write_bytes(content)
    Path(path.parent, f".{path.name}.crc").unlink(missing_ok=True)
    # In the range of the texts of each row group, and in none of them.
    assert own.sql(f"SELECT id FROM {t} WHERE s = '7{'0' * 31}'") == []
    with pytest.raises(Exception, match="cannot be read|FAILED_READ_FILE|corrupt|Encountered"):
        own.sql(f"SELECT id FROM {t} WHERE s > '7{'0' * 31}'")
