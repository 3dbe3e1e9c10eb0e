"""Constraints that acidsql and Hive make for each other."""

from __future__ import annotations

import pytest

from acidsql.errors import WriteJobError
from tests.hive.conftest import Ours
from tests.hive.hive import Hive, HiveError

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def _text(hive: Hive, table: str) -> str:
    return "\n".join(" ".join(map(str, row)) for row in hive.run(f"DESCRIBE FORMATTED {table}"))


def test_hive_enforces_what_we_made(ours: Ours, hive: Hive, t: str) -> None:
    hive.run("SET hive.vectorized.execution.enabled=false")  # its error would not say why
    ours.sql(
        f"CREATE TABLE {t} (id INT, price INT CHECK (price > 0), CONSTRAINT {t}_small "
        f"CHECK (id < 100), CONSTRAINT {t}_key PRIMARY KEY (id) RELY) {ACID}"
    )
    shown = _text(hive, t)
    assert "price > 0" in shown
    assert f"{t}_small" in shown
    assert f"{t}_key" in shown
    hive.run(f"INSERT INTO {t} VALUES (1, 5), (2, NULL)")
    for text in (f"INSERT INTO {t} VALUES (3, 0)", f"UPDATE {t} SET id = 100 WHERE id = 1"):
        with pytest.raises(HiveError, match="CHECK"):
            hive.run(text)
    ours.sql(f"ALTER TABLE {t} DROP CONSTRAINT {t}_small")
    ours.sql(f"ALTER TABLE {t} ADD CONSTRAINT {t}_even CHECK (price IS NULL OR price <> 7)")
    with pytest.raises(HiveError, match="CHECK"):
        hive.run(f"INSERT INTO {t} VALUES (100, 7)")
    hive.run(f"INSERT INTO {t} VALUES (100, 8)")
    assert ours.sql(f"SELECT * FROM {t}") == [(1, 5), (100, 8), (2, None)]


def test_we_enforce_what_hive_made(ours: Ours, hive: Hive, t: str) -> None:
    hive.run(
        f"CREATE TABLE {t} (id INT CHECK (id > 0), v STRING, "
        f"CONSTRAINT {t}_known CHECK (v IN ('a', 'b')) ENABLE, "
        f"CONSTRAINT {t}_key PRIMARY KEY (id) DISABLE NOVALIDATE) {ACID}"
    )
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a')")
    for text in (
        f"INSERT INTO {t} VALUES (0, 'a')",
        f"UPDATE {t} SET v = 'c'",
        f"MERGE INTO {t} USING (SELECT 5 AS id) s ON {t}.id = s.id "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'c')",
    ):
        with pytest.raises(WriteJobError) as caught:
            ours.sql(text)
        assert caught.value.getCondition() == "CHECK_CONSTRAINT_VIOLATION", text
    assert ours.sql(f"SELECT * FROM {t}") == [(1, "a")]
