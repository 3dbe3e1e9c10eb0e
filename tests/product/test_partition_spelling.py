"""Partitions whose directories spell a value in another way than Hive and Spark do: p=01."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
)

from acidsql.commands import partition_normalization
from acidsql.errors import AcidSqlError
from tests.limits import set_limits
from tests.product.conftest import Lab

# Type, how it is spelled, how somebody else spelled it, and the value.
_SPELLED = [
    ("int", "1", "01", "1"),
    ("date", "2024-01-05", "2024-1-5", "DATE'2024-01-05'"),
    ("decimal(5,2)", "1.5", "1.50", "1.5"),
    ("double", "1.0", "1", "1.0D"),
    ("boolean", "true", "TRUE", "true"),
    ("timestamp", "2024-01-05 00%3A00%3A00", "2024-01-05", "TIMESTAMP'2024-01-05 00:00:00'"),
]


def _respelled(lab: Lab, kind: str, usual: str, other: str, value: str) -> str:
    t = lab.create("id int", partitioned=f"p {kind}, q string")
    lab.sql(f"INSERT INTO {t} SELECT id, {value}, 'a' FROM range(6)")
    lab.sql(f"INSERT INTO {t} VALUES (100, NULL, 'a')")
    root = lab.root(t)
    (root / f"p={usual}").rename(root / f"p={other}")
    lab.sql(f"MSCK REPAIR TABLE {t} SYNC PARTITIONS")
    return t


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.spark
@pytest.mark.parametrize(("kind", "usual", "other", "value"), _SPELLED)
def test_rows_are_deleted_where_they_lie(
    lab: Lab, kind: str, usual: str, other: str, value: str
) -> None:
    _delete_where_rows_lie(lab, kind, usual, other, value)


@pytest.mark.repeated
@pytest.mark.spark
def test_many_rows_are_deleted_where_they_lie(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, driver_events=0)
    set_limits(monkeypatch, driver_rows=0)
    _delete_where_rows_lie(lab, *_SPELLED[0])


def _delete_where_rows_lie(lab: Lab, kind: str, usual: str, other: str, value: str) -> None:
    t = _respelled(lab, kind, usual, other, value)
    assert lab.sql(f"DELETE FROM {t} WHERE id = 0") == [(1, 1)]
    assert lab.sql(f"UPDATE {t} SET id = 11 WHERE id = 1 AND p = {value}") == [(1, 1)]
    assert lab.sql(f"UPDATE {t} SET p = NULL WHERE id = 2") == [(1, 1)]
    merged = f"MERGE INTO {t} USING (SELECT 3 AS id UNION ALL SELECT 4) s ON {t}.id = s.id"
    merged += " WHEN MATCHED AND s.id = 3 THEN UPDATE SET id = 13 WHEN MATCHED THEN DELETE"
    assert lab.sql(merged) == [(2, 1, 1, 0)]
    left = [(2,), (5,), (11,), (13,), (100,)]
    assert sorted(lab.rows(t, "id")) == left
    assert lab.sql(f"SELECT count(*) FROM {t} WHERE p = {value}") == [(3,)]
    assert sorted(p.name for p in lab.root(t).glob("p=*")) == sorted(
        [f"p={other}", "p=__HIVE_DEFAULT_PARTITION__"]
    )
    lab.compact(t, "major", f"p = {value}, q = 'a'")
    assert sorted(lab.rows(t, "id")) == left
    (base,) = (lab.root(t) / f"p={other}" / "q=a").iterdir()
    assert base.name.startswith("base_")


@pytest.mark.slow
@pytest.mark.spark
def test_two_spellings_of_one_value(lab: Lab) -> None:
    t = _respelled(lab, "int", "1", "01", "1")
    lab.sql(f"INSERT INTO {t} VALUES (7, 1, 'a'), (8, 2, 'a')")  # as in Hive: into p=1
    before = lab.state(t)
    for statement in (
        f"DELETE FROM {t} WHERE id = 7",
        f"UPDATE {t} SET id = 9 WHERE id = 3",
        f"MERGE INTO {t} USING (SELECT 3 AS id) s ON {t}.id = s.id WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(AcidSqlError, match="p=01/q=a and p=1/q=a") as raised:
            lab.sql(statement)
        assert raised.value.getCondition() == "AMBIGUOUS_PARTITION"
        assert lab.state(t) == before
    assert lab.sql(f"DELETE FROM {t} WHERE id = 8") == [(1, 1)]  # where no other rows may lie
    # What the error says to do.
    lab.sql(f"ALTER TABLE {t} PARTITION (p = '01', q = 'a') RENAME TO PARTITION (p = 99, q = 'a')")
    assert lab.sql(f"UPDATE {t} SET p = 1 WHERE p = 99") == [(6, 6)]
    assert lab.sql(f"DELETE FROM {t} WHERE p = 1 AND id > 1") == [(5, 5)]
    assert set(lab.rows(t, "id, p")) == {(0, 1), (1, 1), (100, None)}


@pytest.mark.slow
@pytest.mark.spark
def test_a_partition_clause_names_what_is_spelled_so_or_has_that_value(lab: Lab) -> None:
    t = _respelled(lab, "int", "1", "01", "1")
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (p = 1)") == [("p=01/q=a",)]
    lab.sql(f"INSERT INTO {t} VALUES (7, 1, 'a')")
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (p = 1)") == [("p=1/q=a",)]
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (p = '01')") == [("p=01/q=a",)]
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (p = '001')") == [("p=1/q=a",)]
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = '01', q = 'a')")
    assert set(lab.rows(t, "id, p")) == {(7, 1), (100, None)}
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = '01')")
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (q = 'a')") == [
        ("p=1/q=a",),
        ("p=__HIVE_DEFAULT_PARTITION__/q=a",),
    ]
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p < 2)")
    assert set(lab.rows(t, "id, p")) == {(100, None)}


@pytest.mark.repeated
@pytest.mark.spark
def test_a_partition_clause_that_names_two(lab: Lab) -> None:
    t = _respelled(lab, "int", "1", "01", "1")
    lab.insert(t, "(7, 1, 'a')")
    (lab.root(t) / "p=1").rename(lab.root(t) / "p=001")
    lab.sql(f"MSCK REPAIR TABLE {t} SYNC PARTITIONS")
    before = lab.state(t)
    renamed = "RENAME TO PARTITION (p = 2, q = 'a')"
    with pytest.raises(AcidSqlError, match="p=001/q=a and p=01/q=a") as raised:
        lab.sql(f"ALTER TABLE {t} PARTITION (p = 1, q = 'a') {renamed}")
    assert raised.value.getCondition() == "AMBIGUOUS_PARTITION"
    assert lab.state(t) == before
    lab.sql(f"ALTER TABLE {t} PARTITION (p = '001', q = 'a') {renamed}")
    assert lab.sql(f"SELECT id FROM {t} WHERE p = 2") == [(7,)]
    lab.sql(f"ALTER TABLE {t} PARTITION (p = 1, q = 'a') RENAME TO PARTITION (p = 1, q = 'b')")
    assert lab.sql(f"SHOW PARTITIONS {t} PARTITION (q = 'b')") == [("p=1/q=b",)]


@pytest.mark.spark
def test_a_partition_that_is_spelled_otherwise_is_emptied(lab: Lab) -> None:
    t = _respelled(lab, "int", "1", "01", "1")
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1, q = 'a')")
    assert set(lab.rows(t, "id, p")) == {(100, None)}
    assert sorted(path.name for path in (lab.root(t) / "p=01" / "q=a").iterdir()) == [
        "base_0000004",
        "delta_0000001_0000001_0000",
    ]


@pytest.mark.parametrize(
    ("kind", "usual", "others"),
    [
        (
            IntegerType(),
            ["0", "-1", "10", "2147483647"],
            ["01", "-0", "+1", " 1", "2147483648", "a"],
        ),
        (ByteType(), ["-128", "127"], ["-129", "128"]),
        (DateType(), ["2024-02-29"], ["2024-2-29", "2023-02-29", "20240229", "2024-W01-1"]),
        (BooleanType(), ["true", "false"], ["TRUE", "1"]),
        (StringType(), ["", "01", "a"], []),
        (DoubleType(), [], ["1.0"]),  # Spark is asked
    ],
)
def test_what_is_certainly_spelled_as_usual(
    kind: DataType, usual: list[str], others: list[str]
) -> None:
    field = StructField("p", kind)
    for text in ("__HIVE_DEFAULT_PARTITION__", *usual):
        assert partition_normalization._is_usual(text, field), text
    for text in others:
        assert not partition_normalization._is_usual(text, field), text
