"""Large statements and definitions: what Spark can plan is done, the rest is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = [pytest.mark.spark, pytest.mark.repeated]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
MEGABYTE = "x" * 2**20


def test_texts_of_a_megabyte_are_kept(lab: Lab) -> None:
    t = lab.create(f"id INT COMMENT '{MEGABYTE}'", properties={"long": MEGABYTE}, values="(1)")
    view = f"{t}_view"
    lab.sql(f"CREATE VIEW {view} COMMENT '{MEGABYTE}' AS SELECT id, '{MEGABYTE}' AS x FROM {t}")
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('longer'='{MEGABYTE * 2}')")
    assert lab.sql(f"SELECT id, x = '{MEGABYTE}' FROM {view}") == [(1, True)]
    properties = dict(lab.session.metastore.table("default", t).properties)
    assert (properties["long"], properties["longer"]) == (MEGABYTE, MEGABYTE * 2)
    assert lab.session.metastore.table("default", t).columns[0].comment == MEGABYTE
    lab.sql(f"UPDATE {t} SET id = 2")
    assert lab.rows(t) == [(2,)]
    lab.sql(f"DROP VIEW {view}")


def test_two_thousand_columns(lab: Lab) -> None:
    t = lab.create(", ".join(f"c{i} INT" for i in range(2000)))
    lab.sql(f"INSERT INTO {t} SELECT {', '.join(map(str, range(2000)))}")
    lab.sql(f"INSERT INTO {t} SELECT {', '.join('NULL' for _ in range(2000))}")
    lab.sql(f"DELETE FROM {t} WHERE c1998 IS NULL")
    assert lab.sql(f"SELECT * FROM {t}") == [tuple(range(2000))]


def test_ten_thousand_partitions_in_one_statement(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="p INT")
    added = " ".join(f"PARTITION (p = {i})" for i in range(10_000))
    lab.sql(f"ALTER TABLE {t} ADD {added}")
    assert len(lab.sql(f"SHOW PARTITIONS {t}")) == 10_000
    lab.insert(t, "(1, 77), (2, 20000)")
    assert lab.sql(f"SELECT id, p FROM {t} WHERE p = 77") == [(1, 77)]
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p < 9999)")
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=20000",), ("p=9999",)]
    assert lab.rows(t) == [(2, 20000)]


def test_twenty_thousand_rows_of_values(lab: Lab) -> None:
    t = lab.create("id INT, s STRING")
    values = ", ".join(f"({i}, '{'v' * 40}{i}')" for i in range(20_000))
    assert len(values) > 2**20
    assert lab.sql(f"INSERT INTO {t} VALUES {values}") == [(20_000, 20_000)]
    query = f"SELECT count(*), sum(id), count(DISTINCT s) FROM {t}"
    assert lab.sql(query) == [(20_000, 199_990_000, 20_000)]


@pytest.mark.parametrize(
    ("opening", "closing", "depth"),
    # Where the first and last are nested more deeply, Spark's parser takes minutes or gigabytes.
    [("(", ")", 5_000), ("abs(", ")", 20_000), ("- ", "", 20_000), ("NOT (1 = ", ")", 2_000)],
)
def test_expressions_that_are_nested_too_deeply(
    lab: Lab, opening: str, closing: str, depth: int
) -> None:
    t = lab.create("id INT, s STRING", values="(1, 'a')")
    before = lab.state(t)
    nested = f"{opening * depth}id{closing * depth}"
    for text in (
        f"UPDATE {t} SET id = {nested}",
        f"DELETE FROM {t} WHERE 1 = {nested}",
        f"INSERT INTO {t} SELECT {nested}, 'b' FROM {t}",
        f"MERGE INTO {t} USING {t} s ON {t}.id = s.id WHEN MATCHED AND 1 = {nested} THEN DELETE",
        f"CREATE TABLE {t}_new {ACID} AS SELECT {nested} AS x FROM {t}",
        f"CREATE VIEW {t}_view AS SELECT {nested} AS x FROM {t}",
        f"SELECT {nested} FROM {t}",
    ):
        with pytest.raises(PySparkException) as caught:
            lab.sql(text)
        assert condition_of(caught.value) in ("FAILED_TO_PARSE_TOO_COMPLEX", "PARSE_SYNTAX_ERROR")
        assert lab.state(t) == before
    assert not lab.session.metastore.find_table("default", f"{t}_new")
    assert not lab.session.metastore.find_table("default", f"{t}_view")
