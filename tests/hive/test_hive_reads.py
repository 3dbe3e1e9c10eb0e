"""Tests that Hive reads what acidsql writes, in all its ways, and that its statements go on from
it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.hive.agreement import check_copy, rows_of_hive
from tests.hive.handover import hand_over
from tests.hive.hive import Hive
from tests.hive_values import Identified, Row, rows_with_ids
from tests.product.test_types import VALUES

pytestmark = [pytest.mark.hive, pytest.mark.spark]

LAYOUTS = {
    "plain": "",
    "partitioned": "PARTITIONED BY (p INT, q STRING)",
    "bucketed": "CLUSTERED BY (id) INTO 3 BUCKETS",
    "bucketed_partitioned": "PARTITIONED BY (p INT, q STRING) CLUSTERED BY (s, id) INTO 2 BUCKETS",
    "bucketed_as_in_hive_1": "CLUSTERED BY (s) INTO 3 BUCKETS",
}


class Shared:
    """Directory that is both a table of acidsql, ``t``, and of Hive, ``name``."""

    def __init__(
        self,
        hive: Hive,
        spark: SparkSession,
        name: str,
        columns: str,
        clauses: str = "",
        properties: str = "",
    ) -> None:
        self.hive, self.spark, self.name = hive, spark, name
        create = f"CREATE TABLE {{}} ({columns}) {clauses} STORED AS ORC "
        given = f"TBLPROPERTIES ('transactional'='true'{properties})"
        hive.run(create.format(name).replace("timestamp_ntz", "timestamp") + given)
        self.sql(create.format("t") + f"LOCATION '{hive.warehouse / name}' " + given)

    def sql(self, text: str) -> None:
        """Run a statement of acidsql."""
        acidsql.sql(self.spark, text)

    def agreed(self) -> list[Identified]:
        """Return the rows of ``t``; check that Hive reads the same."""
        hand_over(self.hive, AcidSession.of(self.spark).metastore, "t", self.name)
        frame = acidsql.table(self.spark, "t")
        ours = rows_with_ids(frame)
        assert self.theirs() == ours
        return ours

    def theirs(self) -> list[Identified]:
        """Return Hive's rows with their row ids."""
        types = [field.dataType for field in acidsql.table(self.spark, "t").schema.fields]
        return rows_of_hive(self.hive, self.name, types)


def _untouched(before: list[Identified], after: list[Identified], keys: set[int]) -> None:
    """Check that rows without these keys are the same, with the same row ids."""
    for found, other in ((before, after), (after, before)):
        assert {pair for pair in found if int(pair[1][0]) not in keys} <= set(other)


@pytest.mark.sample("bucketed_partitioned", "bucketed_as_in_hive_1")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hive_reads_changes_and_compacts_what_we_write(
    hive: Hive, empty: SparkSession, tmp_path: Path, layout: str
) -> None:
    partitioned = "PARTITIONED" in LAYOUTS[layout]
    columns = "id INT, s STRING, v BIGINT" + ("" if partitioned else ", p INT, q STRING")
    version = ", 'bucketing_version'='1'" if layout.endswith("hive_1") else ""
    table = Shared(hive, empty, f"ours_{layout}", columns, LAYOUTS[layout], version)
    select = "CAST(id AS INT) id, concat('s', id) s, id * 10 v, CAST(id % 3 AS INT) p, 'q/' q"
    table.sql(f"INSERT INTO t SELECT /*+ REPARTITION(3) */ {select} FROM range(40)")
    assert len(table.agreed()) == 40
    steps = (
        ("UPDATE t SET v = v + 1 WHERE id % 4 = 0", "DELETE FROM t WHERE id % 5 = 0"),
        (
            """MERGE INTO t USING (SELECT CAST(id AS INT) AS k FROM range(38, 44)) s ON t.id = s.k
           WHEN MATCHED AND s.k = 38 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1
           WHEN NOT MATCHED THEN INSERT (id, s, v, p, q) VALUES (s.k, 'new', 0, 7, 'r')""",
        ),
        ("ALTER TABLE t COMPACT 'minor'", "DELETE FROM t WHERE id = 43"),
        ("ALTER TABLE t COMPACT 'major'", "INSERT INTO t VALUES (50, 'fifty', 50, 1, 'q/')"),
        ("UPDATE t SET v = 0 WHERE id IN (1, 50)",),
    )
    for statements in steps:
        for statement in statements:
            table.sql(statement)
        before = table.agreed()
    name = table.name
    changed = {2, 50}
    hive.run(f"UPDATE {name} SET v = 99 WHERE id IN (2, 50)")
    after = table.theirs()
    _untouched(before, after, changed)
    assert {row[2] for _, row in after if int(row[0]) in changed} == {"99"}
    hive.run(f"DELETE FROM {name} WHERE id IN (3, 50)")
    before, after = after, table.theirs()
    _untouched(before, after, {3, 50})
    assert len(after) == len(before) - 2
    for kind in ("minor", "major"):
        hive.compact(name, kind, "p = 1, q = 'q/'" if partitioned else "")
        assert table.theirs() == after
    failed = {row[5:13] for row in hive.run("SHOW COMPACTIONS") if row[2] == name}
    assert {state for state, *_ in failed} == {"succeeded"}, failed
    acidsql.sql(empty, "ALTER TABLE t RENAME TO ours")
    check_copy(empty, hive, name, tmp_path)


def test_values_of_every_type_agree(hive: Hive, empty: SparkSession) -> None:
    # The files where a task of Hive leaves its answer do not distinguish array(NULL) from NULL.
    values_of = {k: [v for v in values if v != "array(NULL)"] for k, values in VALUES.items()}
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(values_of))
    table = Shared(hive, empty, "ours_every_type", f"id INT, {columns}")
    count = max(map(len, values_of.values()))
    for i in range(count + 1):
        row = ", ".join(
            f"CAST({values[i] if i < len(values) else 'NULL'} AS {kind})"
            for kind, values in values_of.items()
        )
        table.sql(f"INSERT INTO t SELECT {i}, {row}")
    table.agreed()
    table.sql("UPDATE t SET id = id + 10 WHERE id % 2 = 0")
    before = table.agreed()
    table.sql("ALTER TABLE t COMPACT 'major'")
    assert table.agreed() == before
    hive.run(f"UPDATE {table.name} SET id = id - 10 WHERE id >= 10")
    after = table.theirs()
    assert sorted(map(_values, after), key=repr) == sorted(map(_values, before), key=repr)
    hive.compact(table.name, "major")
    assert table.theirs() == after


def test_local_times_agree_in_three_zones(hive: Hive, empty: SparkSession) -> None:
    """The first zone has no such time, in the last it comes twice."""
    table = Shared(hive, empty, "ours_local_times", "id INT, n timestamp_ntz, ts TIMESTAMP")
    zones = {
        "Europe/Berlin": "2024-03-31 02:30:00.000001",
        "UTC": "0001-01-01 00:00:00",
        "America/New_York": "2024-11-03 01:30:00",
    }
    own = str(empty.conf.get("spark.sql.session.timeZone"))
    try:
        for number, (zone, wall) in enumerate(zones.items()):
            empty.conf.set("spark.sql.session.timeZone", zone)
            noon = "TIMESTAMP'2024-07-01 12:00:00'"
            table.sql(f"INSERT INTO t VALUES ({number}, TIMESTAMP_NTZ'{wall}', {noon})")
            table.sql(f"UPDATE t SET id = id + 10 WHERE n = TIMESTAMP_NTZ'{wall}'")
        table.agreed()
        hive.run(
            f"INSERT INTO {table.name} VALUES (13, '2024-03-10 02:30:00', '2024-07-01 12:00:00')"
        )
        hive.run(f"UPDATE {table.name} SET id = 20 WHERE n = '2024-03-31 02:30:00.000001'")
        walls = [*enumerate(zones.values(), 10), (13, "2024-03-10 02:30:00")]
        expected = [(20 if i == 10 else i, wall, "2024-07-01 12:00:00") for i, wall in walls]
        for zone in zones:
            empty.conf.set("spark.sql.session.timeZone", zone)
            found = acidsql.sql(empty, "SELECT id, CAST(n AS STRING), CAST(ts AS STRING) FROM t")
            assert sorted(map(tuple, found.collect())) == sorted(expected)
    finally:
        empty.conf.set("spark.sql.session.timeZone", own)


def _values(pair: Identified) -> Row:
    return pair[1][1:]


@pytest.mark.sample("zlib", "zstd")
@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_many_stripes_of_each_codec_agree(hive: Hive, empty: SparkSession, codec: str) -> None:
    small = ", 'orc.stripe.size'='65536', 'orc.row.index.stride'='1000', 'orc.compress'="
    table = Shared(
        hive, empty, f"ours_{codec}", "id INT, s STRING", properties=f"{small}'{codec.upper()}'"
    )
    table.sql(
        "INSERT INTO t SELECT /*+ COALESCE(1) */ CAST(id AS INT), sha2(CAST(id AS STRING), 512) "
        "FROM range(20000)"
    )
    table.sql("DELETE FROM t WHERE id % 7 = 0 OR id BETWEEN 4000 AND 9000")
    table.sql("UPDATE t SET s = 'u' WHERE id % 100 = 1")
    before = table.agreed()
    assert len(before) == sum(n % 7 != 0 and not 4000 <= n <= 9000 for n in range(20000))
    hive.compact(table.name, "minor")
    assert table.theirs() == before
    hive.compact(table.name, "major")
    assert table.theirs() == before
