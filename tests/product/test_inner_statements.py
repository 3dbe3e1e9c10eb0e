"""WITH RECURSIVE and session variables in changes; EXECUTE IMMEDIATE, scripts, SQL functions."""

from __future__ import annotations

import pyspark
import pytest

from tests.product.conditions import condition
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_with_recursive_before_changes(lab: Lab) -> None:
    if lab.spark.version < "4.1":
        pytest.skip("Spark has WITH RECURSIVE from 4.1 on")
    t = lab.create("id int, parent int, v string")
    lab.sql(f"INSERT INTO {t} VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 2, 'c'), (4, NULL, 'd')")
    tree = (
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL "
        f"SELECT c.id FROM r JOIN {t} AS c ON c.parent = r.n) "
    )

    def rows() -> list[tuple[int, str]]:
        return lab.sql(f"SELECT id, v FROM {t} ORDER BY id")

    lab.sql(
        f"{tree} UPDATE {t} SET v = (SELECT CAST(max(n) AS STRING) FROM r) WHERE id IN (FROM r)"
    )
    assert rows() == [(1, "3"), (2, "3"), (3, "3"), (4, "d")]
    merge = f"{tree} MERGE INTO {t} AS t USING {{}} ON t.id = s.n WHEN MATCHED THEN UPDATE SET v = "
    lab.sql(merge.format("(SELECT n FROM r WHERE n > 1) AS s") + "'m'")
    assert rows() == [(1, "3"), (2, "m"), (3, "m"), (4, "d")]
    lab.sql(merge.format("r AS s") + "concat(v, s.n)")
    assert rows() == [(1, "31"), (2, "m2"), (3, "m3"), (4, "d")]
    delete = f"{tree} DELETE FROM {t} WHERE id NOT IN (SELECT n FROM r)"
    assert f"Write default.{t} by DELETE" in lab.sql(f"EXPLAIN {delete}")[0][0].replace(
        lab.spark.catalog.currentDatabase(), "default"
    )
    lab.sql(delete)
    assert rows() == [(1, "31"), (2, "m2"), (3, "m3")]
    assert condition(lab, f"{tree} DELETE FROM {t} WHERE id IN (SELECT nope FROM r)") == (
        "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    )


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4", reason="variables of a session came with Spark 4")
def test_session_variables_in_values(lab: Lab) -> None:
    t = lab.create("id int, v string, s struct<a: int>", partitioned="p int")
    lab.sql("DECLARE OR REPLACE VARIABLE inner_k INT DEFAULT 2")
    lab.sql("DECLARE OR REPLACE VARIABLE inner_s STRING DEFAULT 'set'")
    lab.sql("DECLARE OR REPLACE VARIABLE inner_f STRUCT<a: INT> DEFAULT named_struct('a', 7)")
    lab.sql(f"INSERT INTO {t} VALUES (1, inner_s, NULL, 1), (inner_k, 'b', inner_f, 2)")
    lab.sql(f"UPDATE {t} SET v = concat(inner_s, v), s.a = inner_f.a WHERE id = inner_k")
    lab.sql(f"UPDATE {t} SET p = system.session.inner_k + p WHERE p = 1")
    lab.sql(
        f"MERGE INTO {t} AS t USING (SELECT id FROM VALUES (1), (9) AS x (id)) AS s "
        "ON t.id = s.id WHEN MATCHED AND t.id < inner_k THEN UPDATE SET v = session.inner_s "
        "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, inner_s, inner_k + 1)"
    )
    assert lab.sql(f"SELECT id, v, s.a, p FROM {t} ORDER BY id") == [
        (1, "set", None, 3),
        (2, "setb", 7, 2),
        (9, "set", None, 3),
    ]
    # A column goes before a variable, and what is neither is not found.
    lab.sql("DECLARE OR REPLACE VARIABLE v STRING DEFAULT 'variable'")
    lab.sql(f"UPDATE {t} SET v = v")
    assert lab.sql(f"SELECT count(*) FROM {t} WHERE v = 'variable'")[0][0] == 0
    assert condition(lab, f"UPDATE {t} SET v = inner_nope").startswith("UNRESOLVED_COLUMN")


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4", reason="EXECUTE IMMEDIATE came with Spark 4")
def test_execute_immediate(lab: Lab) -> None:
    t = lab.create("id int, v string")
    run = lab.sql
    run(f"EXECUTE IMMEDIATE 'INSERT INTO {t} VALUES (1, ?), (2, ?)' USING 'a', \"it's\"")
    run(f"EXECUTE IMMEDIATE 'UPDATE {t} SET v = :v WHERE id = :i' USING 'b' AS v, 1 AS i")
    run("DECLARE OR REPLACE VARIABLE inner_text STRING")
    run(f"SET VARIABLE inner_text = 'SELECT v FROM {t} ORDER BY id'")
    assert run("EXECUTE IMMEDIATE inner_text") == [("b",), ("it's",)]
    run("DECLARE OR REPLACE VARIABLE inner_n INT")
    run(f"EXECUTE IMMEDIATE 'SELECT max(id) FROM {t} WHERE id < ?' INTO inner_n USING 1 + 1")
    assert run("SELECT inner_n") == [(1,)]
    run(f"EXECUTE IMMEDIATE 'SELECT id FROM {t} WHERE id > 5' INTO inner_n")
    assert run("SELECT inner_n") == [(None,)]
    assert condition(lab, f"EXECUTE IMMEDIATE 'SELECT id FROM {t}' INTO inner_n") == (
        "ROW_SUBQUERY_TOO_MANY_ROWS"
    )
    assert run("EXECUTE IMMEDIATE 'SELECT ? + 1' USING 1") == [(2,)]
    run("START TRANSACTION")
    try:
        assert (
            condition(lab, f"EXECUTE IMMEDIATE 'DELETE FROM {t}'") == "NOT_ALLOWED_IN_TRANSACTION"
        )
    finally:
        run("ROLLBACK")
    assert run(f"SELECT count(*) FROM {t}")[0][0] == 2


def test_scripts_and_functions_are_refused_by_name(lab: Lab) -> None:
    if lab.spark.version < "4":
        pytest.skip("Spark has scripts and SQL functions from 4.0 on")
    t = lab.create("id int, v string")
    lab.sql(f"INSERT INTO {t} VALUES (1, 'a')")
    before = lab.state(t)
    script, function = "UNSUPPORTED_FEATURE.SQL_SCRIPT", "UNSUPPORTED_FEATURE.SQL_FUNCTION"
    create = "CREATE OR REPLACE TEMPORARY FUNCTION inner_top"
    refused = {
        f"BEGIN UPDATE {t} SET v = 'y'; END": script,
        f"BEGIN IF (SELECT count(*) FROM {t}) > 9 THEN DELETE FROM {t}; END IF; END": script,
        "BEGIN DECLARE n INT DEFAULT 1; WHILE n < 2 DO "
        f"INSERT INTO {t} VALUES (n, 'w'); SET n = n + 1; END WHILE; END": script,
        f"BEGIN SELECT 1; TRUNCATE TABLE {t}; END": "UNSUPPORTED_FEATURE.TRUNCATE_TABLE",
        f"{create}() RETURNS INT RETURN (SELECT max(id) FROM {t})": function,
        f"{create}(x INT) RETURNS INT RETURN x + (SELECT max(id) FROM {t})": function,
    }
    assert {text: condition(lab, text) for text in refused} == refused
    assert lab.state(t) == before
    assert lab.sql(f"{create}() RETURNS INT RETURN 5") == []
    assert lab.sql(f"SELECT id + inner_top() FROM {t}") == [(6,)]
