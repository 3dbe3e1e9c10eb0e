"""Tables of very many columns."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

import acidsql

pytestmark = pytest.mark.spark

_COLUMNS = 2000
_TYPES = ("INT", "STRING", "DOUBLE", "TIMESTAMP", "CHAR(4)")


def _value(i: int) -> str:
    """Return SQL of a value of the column with a number."""
    return {0: f"{i}", 1: f"'s{i}'", 2: f"{i}.5D", 3: "TIMESTAMP '2020-01-02 03:04:05'"}.get(
        i % 5, f"'{i % 7}'"
    )


@pytest.mark.repeated
def test_two_thousand_columns(empty: SparkSession) -> None:
    kinds = [_TYPES[i % 5] for i in range(_COLUMNS)]
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    acidsql.sql(
        empty, f"CREATE TABLE t ({columns}) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    others = ", ".join(_value(i) for i in range(1, _COLUMNS))
    acidsql.sql(empty, f"INSERT INTO t VALUES (1, {others}), (2, {others}), (3, {others})")
    plain = [
        dict(row.asDict(), c0=number)
        for number in (1, 2, 3)
        for row in empty.sql(f"SELECT {', '.join(_typed(i) for i in range(_COLUMNS))}").collect()
    ]
    assert _rows(empty) == plain

    acidsql.sql(empty, "UPDATE t SET c1 = 'new', c1999 = 'z', c1998 = NULL WHERE c0 = 2")
    plain[1].update(c1="new", c1999="z   ", c1998=None)
    assert _rows(empty) == plain

    acidsql.sql(
        empty,
        "MERGE INTO t USING (SELECT 3 AS id, 'm' AS v UNION ALL SELECT 4, 'n') s ON t.c0 = s.id "
        "WHEN MATCHED THEN UPDATE SET c6 = v "
        "WHEN NOT MATCHED THEN INSERT (c0, c1996) VALUES (id, v)",
    )
    plain[2].update(c6="m")
    plain.append({**dict.fromkeys(plain[0]), "c0": 4, "c1996": "n"})
    assert _rows(empty) == plain

    acidsql.sql(empty, "DELETE FROM t WHERE c0 = 1")
    assert _rows(empty) == plain[1:]
    found = acidsql.sql(empty, "SELECT c0, c1999, row__id.rowid AS id FROM t WHERE c1 = 'new'")
    assert found.collect() == [Row(c0=2, c1999="z   ", id=0)]


def _typed(i: int) -> str:
    """Return SQL of the value that a column has when it is read."""
    value = _value(i)
    return f"rpad({value}, 4, ' ') AS c{i}" if i % 5 == 4 else f"{value} AS c{i}"


def _rows(spark: SparkSession) -> list[dict[str, object]]:
    found = acidsql.sql(spark, "SELECT * FROM t ORDER BY c0").collect()
    return [row.asDict() for row in found]
