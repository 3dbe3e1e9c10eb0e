"""Tables whose columns grow, over a server of Hive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.hive.column_history import PROPERTY
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def names(client: Client, text: str) -> list[str]:
    return list(acidsql.sql(client.spark, text).columns)


def test_columns_and_rows_come_together(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    ann.sql(f"CREATE TABLE g (id INT, s STRUCT<a: INT>) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO g VALUES (1, named_struct('a', 1), 1), (2, NULL, 2)")
    ann.sql(
        "MERGE WITH SCHEMA EVOLUTION INTO g USING "
        "(SELECT 1 AS id, named_struct('a', 2, 'b', 'x') AS s, 'n' AS n, 1 AS p "
        "UNION ALL SELECT 3, NULL, 'm', 3) s ON g.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = [(1, (2, "x"), "n", 1), (2, None, None, 2), (3, None, "m", 3)]
    assert ann.sql("SELECT * FROM g") == bob.sql("SELECT * FROM g") == rows
    bob.sql("INSERT WITH SCHEMA EVOLUTION INTO g SELECT 4, NULL, 'o', 5L AS z, 2")
    assert ann.sql("SELECT id, n, z FROM g WHERE p = 2") == [(2, None, None), (4, "o", 5)]
    ann.sql("ALTER TABLE g ADD COLUMN s.c DATE")
    ann.sql("ALTER TABLE g RENAME COLUMN n TO name")
    assert ann.sql("SELECT * FROM g VERSION AS OF 1") == [(1, (1,), 1), (2, None, 2)]
    assert ann.sql("SELECT * FROM g VERSION AS OF 2") == rows
    assert names(ann, "SELECT * FROM g VERSION AS OF 4") == ["id", "s", "n", "z", "p"]
    assert names(ann, "SELECT * FROM g VERSION AS OF 5") == ["id", "s", "name", "z", "p"]
    assert ann.sql("SELECT s.c FROM g WHERE id = 1") == [(None,)]
    ann.sql("RESTORE TABLE g TO VERSION AS OF 1")
    assert ann.sql("SELECT id, s.a, name FROM g") == [(1, 1, None), (2, None, None)]
    assert PROPERTY in {row[0] for row in ann.sql("SHOW TBLPROPERTIES g")}
    with pytest.raises(AcidAnalysisError) as caught:
        ann.sql("ALTER TABLE g ADD COLUMN q INT DEFAULT 5")
    assert caught.value.condition == "UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT"
    _, _, steps = str(caught.value).partition(": run ")
    for statement in steps.split("; "):
        ann.sql(statement)
    assert ann.sql("SELECT id, q FROM g") == [(1, 5), (2, 5)]
    assert ann.sql("SHOW LOCKS") == []


def test_a_statement_that_fails_leaves_no_column(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE h (id INT) {ACID}")
    with pytest.raises(Exception, match="no"):
        ann.sql(
            "INSERT WITH SCHEMA EVOLUTION INTO h "
            "SELECT 1, CAST(x AS INT) FROM VALUES ('no') AS v(x)"
        )
    assert names(ann, "SELECT * FROM h") == ["id"]
    assert ann.sql("SHOW LOCKS") == []
