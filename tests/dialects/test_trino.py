from __future__ import annotations

import pytest

from acidsql import dialects
from acidsql.errors import AcidDialectError, AcidParseError

NOTHING_SET: dict[str, str] = {}


def trino(text: str) -> str:
    return dialects.translate(text, "trino", NOTHING_SET.get).text


WRITTEN = [
    ('SELECT "a b" FROM "t"', "SELECT `a b` FROM `t`"),
    ("SELECT 'it''s', 'a\\b'", "SELECT 'it\\'s', 'a\\\\b'"),
    ("SELECT day_of_week(d) FROM t", "SELECT (weekday(d) + 1) FROM t"),
    ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS LAST"),
    ("SELECT x.b[1] FROM x", "SELECT element_at(x.b, 1) FROM x"),
    ("SELECT CAST(a AS VARCHAR(3)) FROM t", "SELECT substr(CAST(a AS STRING), 1, 3) FROM t"),
    ("SELECT DECIMAL '1.50'", "SELECT 1.50"),
    (
        "SELECT id, x FROM t CROSS JOIN UNNEST(a) AS u (x)",
        "SELECT id, x FROM t LATERAL VIEW EXPLODE(a) u AS x",
    ),
    ('DROP TABLE IF EXISTS "t"', "DROP TABLE IF EXISTS `t`"),
    ("UPDATE t SET a = strpos(b, 'x') WHERE c = 1", "UPDATE t SET a = instr(b, 'x') WHERE c = 1"),
    ("DELETE FROM t WHERE length(a) = 1", "DELETE FROM t WHERE length(a) = 1"),
    ("INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1)"),
    (
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a "
        "WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a)",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a "
        "WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a)",
    ),
    ("CREATE TABLE u AS SELECT sum(a) AS n FROM t", "CREATE TABLE u AS SELECT sum(a) AS n FROM t"),
    ("SELECT a FROM t FETCH FIRST 1 ROW ONLY", "SELECT a FROM t LIMIT 1"),
    ("EXPLAIN SELECT count(*) FROM t", "EXPLAIN SELECT count(*) FROM t"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_it_is_written_for_spark(text: str, written: str) -> None:
    # Releases of sqlglot differ in the case of functions' names.
    assert trino(text).lower() == written.lower()


REFUSED = [
    ("SELECT a, i / 2 FROM t", "i / 2 divides integers and decimals as Spark does not", 13),
    ("SELECT approx_percentile(a, 0.5) FROM t", "approx_percentile() with 2 arguments", 8),
    ("SELECT my_function(a) FROM t", "Trino's my_function() with 1 argument is not", 8),
    ("SELECT date_add(unit, 1, d)", "date_add() with the unit unit is not carried over", 8),
    ("SELECT array_agg(a ORDER BY b) FROM t", "ORDER BY in array_agg() is not carried over", 8),
    ("SELECT a FROM t TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE", 17),
    ("SELECT CAST(a AS JSON)", "CAST AS JSON is not carried over", 8),
    ("CREATE VIEW w AS SELECT 1", "the query of a view is not carried over", 8),
    ("CREATE TABLE t (a INTEGER)", "CREATE TABLE of Trino is not carried over to Spark", 1),
    ("CALL system.sync()", "CALL SYSTEM of Trino is not carried over to Spark", 1),
    ("SELECT TIMESTAMP '2024-01-01 00:00:00 UTC'", "a timestamp with a time zone", 18),
]


@pytest.mark.parametrize(("text", "message", "column"), REFUSED)
def test_what_is_not_known_to_be_the_same_is_refused(text: str, message: str, column: int) -> None:
    with pytest.raises(AcidDialectError) as caught:
        trino(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_text_that_is_no_statement() -> None:
    with pytest.raises(AcidParseError) as caught:
        trino("SELECT a FROM t WHERE WHERE b")
    assert caught.value.line == 1
