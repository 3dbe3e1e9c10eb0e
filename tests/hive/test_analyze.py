"""Tests that Hive believes the statistics that acidsql computed, as long as they are true."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hive.conftest import Ours
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SESSION = "analysing"


def counted(hive: Hive, t: str, where: str = "") -> tuple[str | None, bool]:
    """Return Hive's number of rows, and whether it is from statistics."""
    for key in ("hive.stats.autogather", "hive.compute.query.using.stats"):
        hive.run(f"SET {key}=true", session=SESSION)
    text = f"SELECT count(*) FROM {t} {where}"
    ((answer,),) = hive.run(text, session=SESSION)
    plan = "\n".join(row[0] or "" for row in hive.run(f"EXPLAIN {text}", session=SESSION))
    return answer, "TableScan" not in plan


def described(hive: Hive, t: str, column: str) -> dict[str, str]:
    rows = hive.run(f"DESCRIBE FORMATTED {t} {column}", session=SESSION)
    return {str(row[0] or "").strip(): str(row[1] or "").strip() for row in rows}


def shown(ours: Ours, text: str) -> dict[str, Any]:
    return {str(row[0]): row[1] for row in ours.sql(f"DESCRIBE EXTENDED {text}")}


def test_hive_reads_ours_and_we_read_hives(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING, d DECIMAL(7,2), day DATE, b BOOLEAN) {ACID}")
    ours.sql(
        f"INSERT INTO {t} VALUES (1, 'abc', -1.5, DATE '2024-01-31', true),"
        " (7, NULL, 2.25, DATE '1969-12-31', false), (NULL, 'x', NULL, NULL, true)"
    )
    assert counted(hive, t) == ("3", False)
    ours.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS")
    assert counted(hive, t) == ("3", True)
    identity = described(hive, t, "id")
    assert (identity["min"], identity["max"], identity["num_nulls"]) == ("1", "7", "1")
    assert described(hive, t, "v")["max_col_len"] == "3"
    assert (described(hive, t, "d")["min"], described(hive, t, "d")["max"]) == ("-1.5", "2.25")
    assert described(hive, t, "day")["min"] == "1969-12-31"
    assert described(hive, t, "b")["num_trues"] == "2"
    ours.sql(f"DELETE FROM {t} WHERE id = 7")
    assert counted(hive, t) == ("2", False)
    hive.run(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS", session=SESSION)
    hive.run(f"ANALYZE TABLE {t} COMPUTE STATISTICS", session=SESSION)
    assert counted(hive, t) == ("2", True)
    assert shown(ours, t)["Statistics"].endswith(" bytes, 2 rows")
    assert (shown(ours, f"{t} id")["max"], shown(ours, f"{t} d")["min"]) == ("1", "-1.5")


def test_an_insert_between_scan_and_write(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) PARTITIONED BY (p INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 2)")
    ours.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS")
    assert counted(hive, t) == ("2", True)
    insert = f"INSERT INTO {t} VALUES (3, 1)"
    with ours.before_commit(lambda _: hive.run(insert, session=SESSION)):
        ours.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS id")
    assert counted(hive, t)[0] == "3"
    assert counted(hive, t, "WHERE p = 1") == ("2", False)
    # It is not reported which partitions others have written to.
    assert counted(hive, t, "WHERE p = 2") == ("1", False)
    ours.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS id")
    assert counted(hive, t) == ("3", True)
