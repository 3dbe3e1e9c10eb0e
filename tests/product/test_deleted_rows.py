"""Tests of a scan that leaves deleted rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.session.acid_session import AcidSession

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("partitioned", ["", "p int"])
def test_rows_of_several_deletes_are_left_out(lab: Lab, partitioned: str) -> None:
    t = lab.create("id bigint" + ("" if partitioned else ", p int"), partitioned=partitioned)
    lab.sql(f"INSERT INTO {t} SELECT id, id % 2 FROM {{r}}", r=lab.spark.range(0, 40, 1, 2))
    lab.sql(f"DELETE FROM {t} WHERE id % 4 = 0")
    lab.sql(f"UPDATE {t} SET id = id + 1000 WHERE id % 10 = 7")
    lab.insert(t, "(100, 0)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1007")
    kept = [i for i in range(40) if i % 4 and i % 10 != 7]
    assert sorted(i for i, _ in lab.rows(t)) == [*kept, 100, 1017, 1027, 1037]
    ((plan,),) = lab.sql(f"EXPLAIN SELECT * FROM {t}")
    assert "Join" not in plan


@pytest.mark.repeated
def test_scans_of_other_partitions_have_delete_events_of_their_own(
    lab: Lab,
) -> None:
    """Check that Spark does not take two scans for the same, and reuse the rows of one."""
    t = lab.create("id bigint", partitioned="p int")
    for p in (1, 2, 3):
        lab.sql(f"INSERT INTO {t} SELECT id, {p} FROM {{r}}", r=lab.spark.range(9))
    lab.sql(f"DELETE FROM {t} WHERE id = p - 1")
    joined = f"SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.id WHERE b.p >= 2"
    assert lab.sql(joined) == [(2 * 2 + 2 * 1 + 2 * 1 + 6 * 3 * 2,)]
    assert lab.sql(f"{joined} AND a.p <= 2") == [(1 * 2 + 1 * 1 + 2 * 1 + 6 * 2 * 2,)]


@pytest.mark.slow
def test_no_condition_is_asked_of_deleted_rows(lab: Lab) -> None:
    """Check that a row on which a condition fails is not evaluated once it is deleted."""
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
def test_deletes_of_many_and_late_write_ids(lab: Lab, partitioned: str) -> None:
    session = AcidSession.of(lab.spark)
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
    lab.sql(f"DELETE FROM {t} WHERE id < 5")  # of a write id long before
    assert lab.rows(t, "*, row__id") == [row for row in rows if row[0] >= 5]
    session.metastore.seed_write_id("default", t, 2**31)
    lab.insert(t, "(300, 0), (301, 1)")
    lab.sql(f"DELETE FROM {t} WHERE id = 300")
    assert set(lab.rows(t)) == {row[:2] for row in rows if row[0] >= 5} | {(301, 1)}


def test_rows_are_left_out_without_a_program(lab: Lab) -> None:
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
