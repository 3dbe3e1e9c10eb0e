"""Tests of the ways in which a scan leaves deleted rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.scan.deletes import plan
from acidsql.session.acid_session import AcidSession
from acidsql.storage.lru_cache import LruCache
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.mark.repeated
@pytest.mark.parametrize("partitioned", ["", "p int"])
def test_all_ways_of_leaving_out_deleted_rows_agree(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, partitioned: str
) -> None:
    monkeypatch.setattr(AcidSession.of(lab.spark), "delete_filters", LruCache(0))
    t = lab.create("id bigint" + ("" if partitioned else ", p int"), partitioned=partitioned)
    lab.sql(f"INSERT INTO {t} SELECT id, id % 2 FROM {{r}}", r=lab.spark.range(0, 40, 1, 2))
    lab.sql(f"DELETE FROM {t} WHERE id % 4 = 0")
    lab.sql(f"UPDATE {t} SET id = id + 1000 WHERE id % 10 = 7")
    lab.insert(t, "(100, 0)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1007")
    rows = lab.rows(t, "*, row__id")
    assert [row[0] for row in rows if row[0] >= 100] == [100, 1017, 1027, 1037]
    assert len(rows) == 30

    def explained() -> str:
        return str(lab.sql(f"EXPLAIN SELECT * FROM {t}")[0][0])

    assert "binarySearch" in explained()
    assert "Join" not in explained()
    set_limits(monkeypatch, bitmap_events=0)
    for join, events in (("BroadcastHashJoin", 1000), ("SortMergeJoin", 0)):
        set_limits(monkeypatch, broadcast_numbers=events)
        for bits, dense, keys in (
            (62, False, "[if ("),
            (62, True, "[shiftright(if ("),
            (0, True, "[originalTransaction#"),
        ):
            set_limits(monkeypatch, packed_bits=bits)
            set_limits(monkeypatch, events_per_word=0 if dense else 1000)
            assert f"{join} {keys}" in explained()
            assert lab.rows(t, "*, row__id") == rows
            with lab.settings(spark__sql__retainGroupColumns="false"):
                assert lab.rows(t, "*, row__id") == rows


_WAYS = ("bits", "words", "numbers", "parts")


def choose(monkeypatch: pytest.MonkeyPatch, lab: Lab, way: str) -> None:
    """Have deleted rows left out in one of the ways."""
    monkeypatch.setattr(AcidSession.of(lab.spark), "delete_filters", LruCache(0))
    if way != "bits":
        set_limits(monkeypatch, bitmap_events=0)
        set_limits(monkeypatch, events_per_word=0 if way == "words" else 1000)
        set_limits(monkeypatch, packed_bits=0 if way == "parts" else 62)


@pytest.mark.repeated
@pytest.mark.parametrize("way", _WAYS)
def test_scans_of_other_partitions_have_delete_events_of_their_own(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Check that Spark does not take two scans for the same, and reuse the rows of one."""
    choose(monkeypatch, lab, way)
    set_limits(monkeypatch, single_pass_bytes=0)
    t = lab.create("id bigint", partitioned="p int")
    for p in (1, 2, 3):
        lab.sql(f"INSERT INTO {t} SELECT id, {p} FROM {{r}}", r=lab.spark.range(9))
    lab.sql(f"DELETE FROM {t} WHERE id = p - 1")
    joined = f"SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.id WHERE b.p >= 2"
    assert lab.sql(joined) == [(2 * 2 + 2 * 1 + 2 * 1 + 6 * 3 * 2,)]
    assert lab.sql(f"{joined} AND a.p <= 2") == [(1 * 2 + 1 * 1 + 2 * 1 + 6 * 2 * 2,)]


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("way", _WAYS)
def test_no_condition_is_asked_of_deleted_rows(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Check that a row on which a condition fails is not evaluated once it is deleted."""
    choose(monkeypatch, lab, way)
    t = lab.create("a int, s string", values="(0, 'x'), (1, '1'), (2, '2'), (4, '4')")
    lab.sql(f"DELETE FROM {t} WHERE a = 0")
    with lab.settings(spark__sql__ansi__enabled="true"):
        assert lab.sql(f"SELECT a FROM {t} WHERE 4 / a = 4") == [(1,)]
        assert lab.sql(f"SELECT count(*) FROM {t} WHERE CAST(s AS INT) > 1") == [(2,)]
        assert lab.sql(f"SELECT sum(4 / a), sum(CAST(s AS INT)) FROM {t}") == [(7, 7)]
        joined = f"SELECT x.a, y.a FROM {t} x JOIN {t} y ON 8 div x.a = y.a ORDER BY 1"
        assert lab.sql(joined) == [(2, 4), (4, 2)]
        exists = f"SELECT a FROM {t} x WHERE EXISTS (SELECT 1 FROM {t} y WHERE 2 div y.a = x.a)"
        assert sorted(lab.sql(exists)) == [(1,), (2,)]
        assert lab.sql(f"UPDATE {t} SET a = 8 div a WHERE 4 / a = 2") == [(1, 1)]
        matched = f"MERGE INTO {t} USING (SELECT 8 AS k) s ON 8 div {t}.a = s.k"
        assert lab.sql(f"{matched} WHEN MATCHED THEN UPDATE SET a = 7") == [(1, 1, 0, 0)]
        assert lab.sql(f"DELETE FROM {t} WHERE 8 / a = 2") == [(2, 2)]
    assert lab.rows(t) == [(7, "1")]


@pytest.mark.repeated
@pytest.mark.parametrize("partitioned", ["", "p int"])
def test_deletes_of_many_and_late_write_ids(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, partitioned: str
) -> None:
    session = AcidSession.of(lab.spark)
    monkeypatch.setattr(session, "delete_filters", LruCache(0))
    t = lab.create("id bigint" + ("" if partitioned else ", p int"), partitioned=partitioned)
    lab.sql(f"INSERT INTO {t} SELECT id, id % 3 FROM {{r}}", r=lab.spark.range(0, 30, 1, 2))
    session.metastore.seed_write_id("default", t, 70_000)
    for number in range(6):
        lab.insert(t, f"({100 + number}, {number % 3}), ({200 + number}, 1)")
    lab.sql(f"DELETE FROM {t} WHERE id % 7 = 2 AND id >= 100")
    rows = lab.rows(t, "*, row__id")
    assert sorted(row[0] for row in rows if row[0] >= 100) == [
        *(n for n in range(100, 106) if n % 7 != 2),
        *(n for n in range(200, 206) if n % 7 != 2),
    ]
    assert "Join" not in str(lab.sql(f"EXPLAIN SELECT * FROM {t}")[0][0])
    lab.sql(f"DELETE FROM {t} WHERE id < 5")  # of a write id long before
    assert lab.rows(t, "*, row__id") == [row for row in rows if row[0] >= 5]
    session.metastore.seed_write_id("default", t, 2**31)
    lab.insert(t, "(300, 0), (301, 1)")
    lab.sql(f"DELETE FROM {t} WHERE id = 300")  # of one that has too many bits
    assert set(lab.rows(t)) == {row[:2] for row in rows if row[0] >= 5} | {(301, 1)}
    assert "Join" in str(lab.sql(f"EXPLAIN SELECT * FROM {t}")[0][0])


def test_filters_without_a_program(lab: Lab) -> None:
    t = lab.create("id bigint, s string")
    lab.sql(f"INSERT INTO {t} SELECT id, id FROM {{r}}", r=lab.spark.range(0, 300, 1, 2))
    lab.sql(f"DELETE FROM {t} WHERE id % 3 = 1")
    settings = {
        "spark__sql__codegen__wholeStage": "false",
        "spark__sql__codegen__factoryMode": "NO_CODEGEN",
    }
    with lab.settings(**settings):
        rows = lab.rows(t)
    assert sorted(rows) == [(i, str(i)) for i in range(300) if i % 3 != 1]


def test_a_query_of_the_same_snapshot_reads_no_delete_file(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id int", values="(1), (2), (3)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.rows(t) == [(2,), (3,)]

    def fail(*_: object) -> None:
        raise AssertionError("made again")

    with monkeypatch.context() as patch:
        patch.setattr(plan, "valid_keys", fail)
        assert lab.rows(t, "id") == [(2,), (3,)]
        assert lab.rows(t, "id + 1") == [(3,), (4,)]
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    assert lab.rows(t) == [(3,)]
