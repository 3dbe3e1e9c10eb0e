"""Tests of bucketed tables: every row is in the file of Hive's hash code."""

from __future__ import annotations

import pyarrow.orc as pa_orc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
    VarcharType,
)

import acidsql
from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.bucket_codec import decode_bucket
from tests.limits import set_limits
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Computed by Hive's own ObjectInspectorUtils.hashCodeMurmur.
CODES: list[tuple[str, DataType, int]] = [
    ("0", IntegerType(), 1362653161),
    ("1", IntegerType(), 1321152925),
    ("2", IntegerType(), -249917244),
    ("3", IntegerType(), 1183246022),
    ("7", IntegerType(), -970880120),
    ("-1", IntegerType(), 1626716813),
    ("true", BooleanType(), 1),
    ("-3Y", ByteType(), -3),
    ("-1S", ShortType(), -1220617012),
    ("1L", LongType(), -913662660),
    ("-1L", LongType(), -237789309),
    ("1.5F", FloatType(), -1009260869),
    ("1.5D", DoubleType(), 76905473),
    ("''", StringType(), -965378730),
    ("'a'", StringType(), 1086686554),
    ("'foo'", VarcharType(9), -849979058),
    ("'hello   '", CharType(8), 1321743225),
    ("'é'", StringType(), -527561221),
    ("1.00BD", DecimalType(9, 2), -1089647197),
    ("12.34BD", DecimalType(9, 2), 1616447396),
    ("-5.0BD", DecimalType(9, 2), -1283825982),
    ("DATE'1970-01-02'", DateType(), 1321152925),
    ("CAST(NULL AS STRING)", StringType(), 0),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_hash_codes_are_hives(lab: Lab, ansi: str) -> None:
    with lab.settings(spark__sql__ansi__enabled=ansi):
        rows = lab.spark.sql(
            "SELECT " + ", ".join(f"{t} c{i}" for i, (t, _, _) in enumerate(CODES))
        )
        codes = [
            bridge.murmur_hash(lab.spark, F.col(f"c{i}"), data_type)
            for i, (_, data_type, _) in enumerate(CODES)
        ]
        assert list(rows.select(*codes).head()) == [code for _, _, code in CODES]


def test_types_without_a_known_code_are_refused(spark: SparkSession) -> None:
    assert not bridge.can_hash(TimestampType())
    with pytest.raises(AcidAnalysisError) as caught:
        acidsql.sql(
            spark,
            "CREATE TABLE by_time (t TIMESTAMP) CLUSTERED BY (t) INTO 2 BUCKETS STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true')",
        )
    assert caught.value.condition == "UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE"


# The buckets of these numbers among two, by the codes above.
BUCKET_OF: dict[int | None, int] = {0: 1, 1: 1, 2: 0, 3: 0, 7: 0, -1: 1}
NUMBERS = "VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), (7, 'e'), (-1, 'f'), (NULL, 'g')"


def _buckets(lab: Lab, table: str) -> dict[int | None, int]:
    """Return the bucket of each id; check that its row id and its file agree."""
    root = lab.root(table)
    in_files = {}
    for path in root.rglob("delta_*/bucket_*"):
        if "delete_delta" not in str(path):
            for row in pa_orc.ORCFile(path).read().to_pylist():
                in_files[row["originalTransaction"], row["bucket"], row["rowId"]] = path.name
    found = {}
    for number, row_id in lab.sql(f"SELECT id, row__id FROM {table}"):
        bucket = decode_bucket(row_id.bucketid)
        assert in_files[tuple(row_id)] == f"bucket_{bucket:05d}"
        found[number] = bucket
    return found


@pytest.fixture(params=["one task", "many tasks", "many delete events"])
def tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose each way of writing.

    Small statements are written by one task, others after a shuffle, and more delete events than
    the driver takes by a job of their own.
    """
    if request.param != "one task":
        set_limits(monkeypatch, one_task_bytes=-1)
    if request.param == "many delete events":
        set_limits(monkeypatch, driver_events=0)
        set_limits(monkeypatch, driver_rows=0)


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.usefixtures("tasks")
@pytest.mark.parametrize("partitioned", ["", "p INT"])
def test_dml_keeps_every_row_in_its_bucket(lab: Lab, partitioned: str) -> None:
    table = lab.create("id INT, s STRING", partitioned=partitioned, clustered="(id) INTO 2 BUCKETS")
    part = ", id % 2" if partitioned else ""
    source = f"SELECT /*+ REPARTITION(3) */ *{part} FROM ({NUMBERS}) AS v (id, s)"
    lab.sql(f"INSERT INTO {table} {source}")
    expected = {**BUCKET_OF, None: 0}
    assert _buckets(lab, table) == expected
    counts = lab.sql(f"UPDATE {table} SET s = 'u', id = id + 2 WHERE id IN (0, 1)")
    assert counts == [(2, 2)]
    assert _buckets(lab, table) == {2: 0, 3: 0, 7: 0, -1: 1, None: 0}
    lab.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (7, 'm'), (1, 'n') AS v (id, s)) s "
        "ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT "
        f"VALUES (s.id, s.s{', 1' if partitioned else ''})"
    )
    assert _buckets(lab, table) == {1: 1, 2: 0, 3: 0, -1: 1, None: 0}
    rows = sorted((i, s) for i, s in lab.sql(f"SELECT id, s FROM {table} WHERE id IS NOT NULL"))
    assert rows == [(-1, "f"), (1, "n"), (2, "c"), (2, "u"), (3, "d"), (3, "u")]
    before = lab.rows(table, "id, s, row__id")
    for partition in ("p = 0", "p = 1") if partitioned else ("",):
        lab.compact(table, "minor", partition)
        lab.compact(table, "major", partition)
    assert lab.rows(table, "id, s, row__id") == before
    bases = [p.parent for p in lab.root(table).rglob("base_*/bucket_*")]
    assert len(bases) == (3 if partitioned else 2)


def test_a_bucket_has_one_file_in_each_directory(lab: Lab) -> None:
    table = lab.create("id INT", clustered="(id) INTO 3 BUCKETS")
    lab.sql(f"INSERT INTO {table} SELECT /*+ REPARTITION(5) */ id FROM range(300)")
    assert lab.tree(table) == [
        "delta_0000001_0000001_0000/",
        "delta_0000001_0000001_0000/_orc_acid_version",
        *[f"delta_0000001_0000001_0000/bucket_{i:05d}" for i in range(3)],
    ]
    assert lab.sql(f"SELECT count(*), sum(id) FROM {table}") == [(300, 299 * 150)]


def test_two_columns_are_combined_as_in_java(lab: Lab) -> None:
    """Check Hive's hash 31 * hash(1) + hash('a') = -907245731: the second of four buckets."""
    table = lab.create("s STRING, i INT", clustered="(i, s) INTO 4 BUCKETS", values="('a', 1)")
    assert lab.sql(f"SELECT shiftright(row__id.bucketid, 16) & 4095 FROM {table}") == [
        ((-907245731 & 0x7FFFFFFF) % 4,)
    ]


def test_bucketing_version_1_hashes_as_java_does(lab: Lab) -> None:
    table = lab.create(
        "i INT, s STRING",
        clustered="(i) INTO 8 BUCKETS",
        properties={"bucketing_version": "1"},
        values="(1, 'a'), (13, 'b'), (-1, 'c'), (NULL, 'd')",
    )
    found = dict(lab.sql(f"SELECT i, shiftright(row__id.bucketid, 16) & 4095 FROM {table}"))
    assert found == {1: 1, 13: 5, -1: 7, None: 0}


def test_statements_that_say_how_a_table_is_bucketed(lab: Lab) -> None:
    table = lab.create("id INT, s STRING", clustered="(S, id) INTO 5 BUCKETS")
    text = lab.sql(f"SHOW CREATE TABLE {table}")[0][0]
    assert "CLUSTERED BY (`s`, `id`) INTO 5 BUCKETS" in text
    assert "'bucketing_version' = '2'" in text
    described = {row[0]: row[1] for row in lab.sql(f"DESCRIBE EXTENDED {table}")}
    assert (described["Num Buckets"], described["Bucket Columns"]) == ("5", "[`s`, `id`]")
    lab.sql(f"DROP TABLE {table}")
    lab.sql(text)
    assert lab.session.metastore.table("default", table).num_buckets == 5


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("CLUSTERED BY (nope) INTO 2 BUCKETS", "COLUMN_NOT_FOUND"),
        ("CLUSTERED BY (p) INTO 2 BUCKETS", "COLUMN_NOT_FOUND"),
        ("CLUSTERED BY (id, ID) INTO 2 BUCKETS", "COLUMN_ALREADY_EXISTS"),
        ("CLUSTERED BY (id) INTO 0 BUCKETS", "INVALID_BUCKET_COUNT"),
        ("CLUSTERED BY (id) INTO 4097 BUCKETS", "INVALID_BUCKET_COUNT"),
        ("CLUSTERED BY (id) SORTED BY (id) INTO 2 BUCKETS", "UNSUPPORTED_FEATURE.SORTED_BY"),
    ],
)
def test_refused(lab: Lab, clause: str, condition: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(
            f"CREATE TABLE refused (id INT) PARTITIONED BY (p INT) {clause} STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true')"
        )
    assert caught.value.condition == condition
