"""Generated columns and Z-orders in a metastore that a real Hive uses too."""

from __future__ import annotations

import pytest

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.format.zorder import order_text
from acidsql.metastore.model import CompactionOptions, CompactionType
from tests.hive.conftest import Ours
from tests.hive.hive import Hive
from tests.product.listing import note_listings

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def test_hive_reads_generated_columns_and_we_go_on(
    ours: Ours, hive: Hive, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.sql(
        f"CREATE TABLE {t} (at TIMESTAMP, a INT, twice INT GENERATED ALWAYS AS (a * 2)) "
        "USING acidsql PARTITIONED BY (day DATE GENERATED ALWAYS AS (CAST(at AS DATE)))"
    )
    ours.sql(
        f"INSERT INTO {t} (at, a) VALUES (TIMESTAMP'2024-01-01 10:00:00', 1), "
        "(TIMESTAMP'2024-01-02 10:00:00', 2), (TIMESTAMP'2024-01-03 10:00:00', 3)"
    )
    rows = [
        ("2024-01-01 10:00:00", "1", "2", "2024-01-01"),
        ("2024-01-02 10:00:00", "2", "4", "2024-01-02"),
        ("2024-01-03 10:00:00", "3", "6", "2024-01-03"),
    ]
    assert ours.rows(t) == rows
    found = hive.run(f"SELECT a, twice FROM {t} WHERE day = DATE '2024-01-02'")
    assert [(int(a), int(b)) for a, b in found] == [(2, 4)]
    listed: list[str] = []
    with monkeypatch.context() as patched:
        note_listings(patched, listed.append)
        # The bound is not the day's end, so its day may have rows too.
        assert ours.sql(f"SELECT a FROM {t} WHERE at > TIMESTAMP'2024-01-02 11:00:00'") == [(3,)]
    days = {part for path in listed for part in path.split("/") if part.startswith("day=")}
    assert days == {"day=2024-01-02", "day=2024-01-03"}
    # Hive does not compute them: the one who writes by it gives the values.
    hive.run(f"INSERT INTO {t} PARTITION (day = '2024-01-04') VALUES ('2024-01-04 10:00:00', 4, 8)")
    acidsql.release(ours.spark)
    ours.sql(f"UPDATE {t} SET a = 5 WHERE a = 4")
    ours.sql(f"UPDATE {t} SET at = TIMESTAMP'2024-01-09 10:00:00' WHERE a = 1")
    assert ours.rows(t) == [
        *rows[1:],
        ("2024-01-04 10:00:00", "5", "10", "2024-01-04"),
        ("2024-01-09 10:00:00", "1", "2", "2024-01-09"),
    ]
    with pytest.raises(AcidSqlError, match="twice"):
        ours.sql(f"INSERT INTO {t} (at, a, twice) VALUES (TIMESTAMP'2024-01-01 10:00:00', 1, 3)")


def test_a_worker_of_hive_leaves_rows_of_a_z_order_as_they_are(
    ours: Ours, hive: Hive, t: str
) -> None:
    ours.sql(f"CREATE TABLE {t} (a INT, b STRING) {ACID}")
    ours.sql(f"INSERT INTO {t} SELECT CAST(id AS INT), concat('t', id) FROM range(50)")
    ours.sql(f"DELETE FROM {t} WHERE a = 7")
    before = ours.identified(t)
    metastore = ours.session.metastore
    entry = metastore.request_compaction(
        "default",
        t,
        None,
        CompactionType.REBALANCE,
        options=CompactionOptions(order_by=order_text(["a", "b"])),
    )
    hive.call("compactor", "worker")
    acidsql.release(ours.spark)
    found = [e for e in metastore.compactions() if e.compaction_id == entry.compaction_id]
    # Hive's worker fails the entry before it begins, unless it compacts by queries.
    assert [e.state.value for e in found] == ["failed"]
    assert "only supported in Tez" in str(found[0].error)
    assert ours.identified(t) == before
    ours.sql(f"OPTIMIZE {t} ZORDER BY (a, b)")
    assert [row for _, row in ours.identified(t)] != []
    assert sorted(ours.rows(t)) == sorted(row for _, row in before)
