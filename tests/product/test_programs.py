"""Tests that running a statement again makes Spark compile no new generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.session.acid_session import AcidSession

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Each is run on a table of 20,000 rows; every tenth is deleted. The first runs change how
# its rows lie: a scan of files that no delete concerns joins another one.
STATEMENTS = {
    "insert": "INSERT INTO {t} SELECT id, id FROM range(5000)",
    "insert values": "INSERT INTO {t} VALUES (1, 2)",
    "update one": "UPDATE {t} SET v = v + 1 WHERE id = 7",
    "update many": "UPDATE {t} SET v = v + 1 WHERE id % 10 = 3",
    "delete one": "DELETE FROM {t} WHERE id IN (SELECT min(id) FROM {t})",
    "delete many": "DELETE FROM {t} WHERE id IN (SELECT max(id) FROM {t} GROUP BY id % 1000)",
    "merge": "MERGE INTO {t} USING (SELECT id FROM range(5)) s ON {t}.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1)",
    "select": "SELECT max(v) FROM {t} WHERE id > 100",
    "count": "SELECT count(*) FROM {t}",
}


def programs(lab: Lab) -> int:
    """Return the number of generated programs that Spark has compiled."""
    source = "org.apache.spark.metrics.source.CodegenMetrics$"
    metrics = getattr(getattr(lab.spark._jvm, source), "MODULE$")
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.sample("insert")
@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_statement_that_runs_again_is_not_compiled_again(lab: Lab, kind: str) -> None:
    t = lab.create("id BIGINT, v BIGINT")
    lab.sql(f"INSERT INTO {t} SELECT id, id FROM range(20000)")
    lab.sql(f"DELETE FROM {t} WHERE id % 10 = 1")
    statement = STATEMENTS[kind].format(t=t)
    for _ in range(3):
        lab.sql(statement)
    before = programs(lab)
    lab.sql(statement)
    assert programs(lab) == before


@pytest.mark.slow
def test_the_write_ids_of_deleted_rows_are_no_part_of_a_program(lab: Lab) -> None:
    session = AcidSession.of(lab.spark)
    compiled = []
    for first in (1, 1, 50, 70_000):
        t = lab.create("id BIGINT, v BIGINT")
        session.metastore.seed_write_id("default", t, first)
        lab.sql(f"INSERT INTO {t} SELECT id, id FROM range(100)")
        lab.sql(f"DELETE FROM {t} WHERE id % 10 = 1")
        before = programs(lab)
        assert lab.sql(f"SELECT max(v) FROM {t} WHERE id > 10") == [(99,)]
        compiled.append(programs(lab) - before)
    assert compiled[1:] == [0, 0, 0]
