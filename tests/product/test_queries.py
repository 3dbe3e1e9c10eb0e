"""Queries over ACID tables; the oracle is Spark itself, over plain tables of the same rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.product.pairs import Pair, by_text, rows

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

TRANSACTIONAL = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
BUCKET = 536870912  # of the first writer, statement id 0
# Inserts, an update and a delete: a scan without a snapshot would find more rows, and older ones.
CHANGES = f"""
CREATE TABLE emp (id INT NOT NULL COMMENT 'key', name STRING COMMENT 'a name', dept INT, pay INT)
    {TRANSACTIONAL};
INSERT INTO emp SELECT /*+ COALESCE(1) */ * FROM VALUES
    (1, 'Ada', 10, 500), (2, 'Ben', 10, 100), (3, 'Cyd', 20, 900);
INSERT INTO emp SELECT /*+ COALESCE(1) */ * FROM VALUES
    (4, 'Dee', 20, 300), (5, 'Eve', NULL, 200), (6, 'emp', 30, 50);
UPDATE emp SET pay = 400 WHERE id = 2;
DELETE FROM emp WHERE id = 3;
CREATE TABLE dept (id INT, name STRING) PARTITIONED BY (place STRING) {TRANSACTIONAL};
INSERT INTO dept VALUES
    (10, 'Ops', 'north'), (20, 'dev', 'south'), (30, 'lab', 'north'), (99, 'old', 'south');
UPDATE dept SET place = 'west' WHERE id = 30;
DELETE FROM dept WHERE id = 99
"""
PLAIN = """
CREATE TABLE emp USING parquet AS SELECT * FROM VALUES (1, 'Ada', 10, 500), (2, 'Ben', 10, 400),
    (4, 'Dee', 20, 300), (5, 'Eve', NULL, 200), (6, 'emp', 30, 50) AS v(id, name, dept, pay);
CREATE TABLE dept USING parquet AS SELECT * FROM VALUES
    (10, 'Ops', 'north'), (20, 'dev', 'south'), (30, 'lab', 'west') AS v(id, name, place)
"""
# A table of Spark's in both databases.
CITY = """CREATE TABLE city USING parquet AS
    SELECT * FROM VALUES (10, 'Oslo'), (20, 'Rome'), (40, 'Pisa') AS v(dept, town)"""


@pytest.fixture(scope="module")
def pair(spark: SparkSession) -> Iterator[Pair]:
    both = Pair(acid=spark.newSession(), plain=spark.newSession())
    both.frames("CREATE DATABASE $db")
    both.frames("USE $db")
    # The oracle is asked often: few steps and no compilation make it quick.
    both.plain.conf.set("spark.sql.adaptive.enabled", "false")
    both.plain.conf.set("spark.sql.codegen.wholeStage", "false")
    for statement in CHANGES.split(";"):
        acidsql.sql(both.acid, statement)
    for statement in PLAIN.split(";"):
        both.plain.sql(statement)
    both.frames(CITY)
    yield both
    both.frames("USE default")
    both.frames("DROP DATABASE $db CASCADE")
    AcidSession.of(both.acid).close()


@pytest.mark.slow
def test_the_tables_hold_deltas_and_deletes(pair: Pair) -> None:
    directories = {name for name in pair.tree("emp") if "/" not in name and "bucket" not in name}
    inserted = {f"delta_{i:07}_{i:07}_0000" for i in (1, 2, 3)}
    assert directories == inserted | {f"delete_delta_{i:07}_{i:07}_0000" for i in (3, 4)}


QUERIES = {
    "joins": [
        "SELECT * FROM emp FULL JOIN dept ON emp.dept = dept.id AND dept.place <> 'south'",
        "SELECT * FROM emp JOIN city USING (dept)",
        "SELECT e.id, town, place FROM emp e, dept d, city c WHERE e.dept = d.id AND d.id = c.dept",
    ],
    "self-joins": [
        """SELECT a.name, b.name FROM emp a JOIN emp b ON a.dept = b.dept
           WHERE a.pay > 450 AND b.pay < 450""",
        "SELECT emp.name, b.name, c.id FROM emp JOIN emp b ON emp.id = b.id + 1 CROSS JOIN EMP c",
        """SELECT * FROM (SELECT id, pay FROM emp WHERE pay > 300) JOIN
           (SELECT id, name FROM $db.emp WHERE dept = 10) USING (id)""",
    ],
    "common table expressions": [
        """WITH rich AS (SELECT * FROM emp WHERE pay >= 400)
           SELECT a.name, b.name, d.name FROM rich a, rich b, dept d
           WHERE a.id < b.id AND d.id = a.dept""",
        "WITH dept AS (SELECT * FROM dept WHERE id > 10) SELECT * FROM dept",
        "WITH dept AS (SELECT 1 AS id) SELECT dept.id, d.* FROM Dept, $db.dept d",
        """WITH a AS (WITH dept AS (SELECT 7 AS seven) SELECT * FROM dept, emp)
           SELECT seven, a.id, place FROM a, dept WHERE a.dept = dept.id""",
        "WITH a(k) AS (SELECT dept FROM emp), b AS (SELECT max(k) AS k FROM a) TABLE b",
    ],
    "subqueries": [
        "SELECT name, (SELECT max(id) FROM dept) FROM emp WHERE pay = (SELECT max(pay) FROM emp)",
        "SELECT * FROM emp WHERE dept IN (SELECT id FROM dept WHERE place = 'north')",
        """SELECT * FROM emp e WHERE EXISTS (SELECT 1 FROM city WHERE city.dept = e.dept)
           AND NOT EXISTS (SELECT * FROM emp x WHERE x.pay > e.pay)""",
        "SELECT name, (SELECT sum(pay) FROM emp x WHERE x.dept = e.dept) FROM emp e",
        """SELECT d.name, l.m, t.town FROM dept d LEFT JOIN LATERAL
           (SELECT max(pay) AS m FROM emp WHERE dept = d.id) l ON true,
           LATERAL (SELECT town FROM city WHERE dept = d.id) t""",
        """SELECT dept, sum(pay) FROM emp GROUP BY dept
           HAVING sum(pay) > (SELECT avg(pay) FROM emp WHERE id IN (SELECT max(id) FROM emp))""",
    ],
    "set operations": [
        "SELECT id FROM emp UNION SELECT id FROM dept UNION SELECT id FROM emp",
        "SELECT dept FROM emp EXCEPT ALL (SELECT id FROM dept INTERSECT SELECT dept FROM city)",
        "(SELECT id FROM dept EXCEPT SELECT 10) UNION ALL (SELECT dept FROM emp LIMIT 0)",
    ],
    "names": [
        "SELECT emp.id, $db.emp.name, spark_catalog.$db.emp.pay FROM spark_catalog.$db.emp",
        "SELECT `emp`.`ID`, e.Name FROM `$db`.`emp` JOIN EMP AS e USING (id)",
        "SELECT $db.emp.id, x.id FROM $db.emp JOIN emp AS x ON x.id = $db.emp.id + 1",
        "SELECT emp.*, x.*, x.pay + 1 AS more FROM emp, emp AS x",
        "SELECT DISTINCT t.c, d > 1 FROM emp t(a, b, c, d)",
        "SELECT/**/id/* a /* nested */ one */FROM/* dept */emp -- dept\n WHERE id > 1 -- emp",
        "SELECT 'emp', \"dept\", `name` FROM emp WHERE name = 'emp' OR name = 'FROM dept';",
        "SELECT emp.emp, struct(emp.*).emp AS `from emp` FROM (SELECT name AS emp FROM emp) AS emp",
        "SELECT * FROM IDENTIFIER('$db.emp') e JOIN IDENTIFIER('emp') f ON e.id < f.id",
    ],
    "hints": [
        "SELECT /*+ BROADCAST(emp) */ emp.id, place FROM emp JOIN dept ON dept = dept.id",
        "SELECT /*+ MERGE(d), COALESCE(1) */ e.id, place FROM emp e JOIN dept d ON e.dept = d.id",
        "SELECT /*+ REPARTITION(3, dept), REBALANCE */ * FROM emp",
    ],
    "clauses": [
        """SELECT s.id, e.id FROM emp TABLESAMPLE (BUCKET 1 OUT OF 1) AS s
           JOIN emp TABLESAMPLE (100 PERCENT) REPEATABLE (1) e ON s.id < e.id""",
        "SELECT * FROM (SELECT dept, pay FROM emp) PIVOT (sum(pay) FOR dept IN (10 AS x, 20 AS y))",
        """SELECT name, rank() OVER (PARTITION BY dept ORDER BY pay), lag(name) OVER w FROM emp
           WINDOW w AS (ORDER BY id DESC)""",
        "SELECT dept, count(*), count(DISTINCT pay) FROM emp GROUP BY dept HAVING count(*) > 1",
    ],
    "other forms": [
        "TABLE emp",
        "FROM emp e JOIN dept d ON e.dept = d.id SELECT e.name, place",
        "SELECT * FROM VALUES (1, 'emp'), (2, 'dept') AS emp(id, name)",
        "SELECT * FROM range(3) r JOIN VALUES (10), (30) AS v(k) JOIN emp ON emp.id = r.id",
    ],
}
ORDERED = [
    "SELECT * FROM emp ORDER BY pay DESC, id LIMIT 3",
    "SELECT name FROM emp ORDER BY emp.dept NULLS LAST, id LIMIT 2 OFFSET 1",
    "SELECT id AS k FROM emp UNION ALL SELECT id FROM dept ORDER BY k DESC LIMIT 4 OFFSET 1",
]


@pytest.mark.slow
@pytest.mark.sample("joins")
@pytest.mark.parametrize("topic", QUERIES)
def test_queries_answer_as_over_plain_tables(pair: Pair, topic: str) -> None:
    for text in QUERIES[topic]:
        if "IDENTIFIER" not in text or pair.acid.version >= "4.1":
            pair.same(text)


@pytest.mark.slow
def test_order_limit_and_offset(pair: Pair) -> None:
    for text in ORDERED:
        assert pair.same(text, ordered=True), text


@pytest.mark.slow
def test_a_hint_names_a_table_or_its_alias(pair: Pair) -> None:
    for hint, source in {"emp": "emp", "e": "emp e", "$db.emp": "$db.emp"}.items():
        text = f"""EXPLAIN SELECT /*+ SHUFFLE_HASH({hint}) */ town
            FROM {source} JOIN city USING (dept)"""
        for frame in pair.frames(text):
            assert "ShuffledHashJoin" in frame.collect()[0][0], text


@pytest.mark.slow
def test_row_ids(pair: Pair) -> None:
    ids = [(1, 1, BUCKET, 0), (2, 3, BUCKET, 0), *((4 + i, 2, BUCKET, i) for i in range(3))]
    assert by_text(pair.rows("SELECT id, row__id.* FROM emp")) == ids
    assert pair.rows(
        f"""SELECT x.id FROM emp AS x WHERE x.row__id.writeid = 2 AND row__id.rowid > 0
            AND row__id.bucketid = {BUCKET} ORDER BY x.row__id DESC"""
    ) == [(6,), (5,)]
    assert pair.rows(
        """SELECT a.id, a.row__id.writeid, b.id, b.row__id.writeid FROM emp a JOIN emp b
           ON a.row__id.writeid < b.row__id.writeid AND a.dept = b.dept"""
    ) == [(1, 1, 2, 3)]
    assert pair.rows(
        """WITH c AS (SELECT *, row__id AS i FROM emp) SELECT i.rowid, d.row__id.writeid
           FROM c JOIN query_acid.dept d ON c.dept = d.id
           WHERE i.writeid = 2 AND i IN (SELECT row__id FROM query_acid.emp) ORDER BY i"""
    ) == [(0, 1), (2, 2)]
    # As Spark's own hidden columns are.
    joined = "FROM emp a JOIN emp b USING (id) WHERE a.id = 2"
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        pair.rows(f"SELECT a.row__id {joined}")
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        pair.plain.sql(f"SELECT a._metadata {joined}")
    with pytest.raises(PySparkException, match="AMBIGUOUS_REFERENCE"):
        pair.rows("SELECT row__id FROM emp JOIN dept ON dept = dept.id")


@pytest.mark.slow
def test_parameters(pair: Pair) -> None:
    text = """SELECT id, ':low', :name AS n FROM emp -- :name
              WHERE pay > :low AND name IN ('Ada', 'Ben') OR name = :name"""
    assert pair.same(text, {"low": 100, "name": "emp' --"})
    names = F.array(F.lit("Ada"), F.lit("Ben"))
    text = "SELECT id FROM emp WHERE array_contains(:names, name)"
    assert by_text(pair.rows(text, {"names": names})) == [(1,), (2,)]
    assert pair.same("SELECT name FROM emp WHERE dept = ? AND pay < ? OR name = '?'", [10, 450])
    text = "SELECT e.name, {s}.place FROM emp e JOIN {s} ON e.dept = {s}.id WHERE pay > {low}"
    for source in ("SELECT * FROM dept", "SELECT * FROM dept WHERE id > 10"):
        acid = pair.rows(text, s=acidsql.sql(pair.acid, source), low=200)
        plain = rows(pair.plain.sql(text, s=pair.plain.sql(source), low=200))
        assert by_text(acid) == by_text(plain)


@pytest.mark.repeated
def test_views_look_names_up_where_they_were_made(pair: Pair) -> None:
    pair.frames("CREATE VIEW rich (k, who) COMMENT 'x' AS SELECT id, name FROM emp WHERE pay > 300")
    pair.frames(
        """CREATE VIEW places AS WITH d AS (SELECT * FROM dept)
           SELECT a.who, d.place, town FROM rich a JOIN emp b ON a.k = b.id
           JOIN d ON b.dept = d.id JOIN d AS e ON d.id = e.id JOIN city ON city.dept = d.id"""
    )
    pair.frames("USE default")
    assert len(pair.same("SELECT x.* FROM $db.places x JOIN $db.places y USING (who)")) == 2
    pair.frames("USE $db")
    pair.frames("CREATE TEMPORARY VIEW dept AS SELECT 10 AS id, 'hidden' AS place")
    pair.frames("CREATE TEMPORARY VIEW city AS SELECT 10 AS dept, 'hidden' AS town")
    assert len(pair.same("SELECT * FROM places")) == 2
    for view in ("dept", "city", "places", "rich"):
        pair.frames(f"DROP VIEW {view}")
    pair.refuse("SELECT * FROM rich", "TABLE_OR_VIEW_NOT_FOUND")


@pytest.mark.slow
def test_temporary_views_come_before_tables(pair: Pair) -> None:
    pair.frames("CREATE TEMPORARY VIEW dept AS SELECT 1 AS one")
    assert pair.same("SELECT * FROM Dept") == [(1,)]
    assert len(pair.same("SELECT dept.one, d.id FROM dept, $db.dept d")) == 3
    pair.frames("CREATE OR REPLACE TEMPORARY VIEW dept AS SELECT id FROM $db.dept")
    assert len(pair.same("SELECT * FROM dept JOIN dept d USING (id)")) == 3
    pair.frames("CREATE TEMPORARY VIEW emp AS SELECT id FROM emp WHERE id > 1")
    assert len(pair.same("SELECT * FROM emp")) == 4
    pair.frames("CREATE TEMPORARY VIEW both AS SELECT dept.id, pay FROM dept, $db.emp")
    pair.frames("DROP VIEW emp")
    recursive = "CREATE OR REPLACE TEMPORARY VIEW dept AS SELECT * FROM both"
    pair.refuse(recursive, "RECURSIVE_VIEW")
    pair.refuse("CREATE VIEW kept AS SELECT pay FROM dept, emp", "INVALID_TEMP_OBJ_REFERENCE")
    twice = "CREATE TEMPORARY VIEW twice AS SELECT * FROM emp a, emp b"
    pair.refuse(twice, "COLUMN_ALREADY_EXISTS")
    for view in ("both", "dept"):
        pair.frames(f"DROP VIEW {view}")
    assert len(pair.same("SELECT * FROM dept, emp")) == 15


@pytest.mark.repeated
def test_queries_fill_new_tables(pair: Pair) -> None:
    query = "SELECT e.id, e.name, place FROM emp e LEFT JOIN dept d ON e.dept = d.id"
    pair.frames(f"CREATE TABLE copy USING parquet AS {query}")
    pair.frames(f"INSERT INTO copy {query} WHERE e.id > 2")
    assert rows(pair.acid.table("copy")) == pair.same("SELECT * FROM copy")
    assert len(pair.same("SELECT * FROM copy JOIN emp USING (id)")) == 8
    pair.frames("DROP TABLE copy")
    acidsql.sql(pair.acid, f"CREATE TABLE copy {TRANSACTIONAL} AS {query}")
    pair.plain.sql(f"CREATE TABLE copy USING parquet AS {query}")
    assert len(pair.same("SELECT * FROM copy")) == 5
    assert set(pair.rows("SELECT row__id.writeid FROM copy")) == {(1,)}
    pair.frames("DROP TABLE copy")


@pytest.mark.slow
def test_names_may_be_of_any_script(pair: Pair) -> None:
    acidsql.sql(
        pair.acid, f"CREATE TABLE `gr\u00f6\u00dfe` (`\u540d` STRING, n INT) {TRANSACTIONAL}"
    )
    acidsql.sql(pair.acid, "INSERT INTO `gr\u00f6\u00dfe` VALUES ('\U0001f40b', 1), ('b', 2)")
    acidsql.sql(pair.acid, "UPDATE `gr\u00f6\u00dfe` SET `\u540d` = '\u732b' WHERE n = 1")
    acidsql.sql(pair.acid, "DELETE FROM `gr\u00f6\u00dfe` WHERE n = 2")
    assert pair.rows(
        """SELECT '\U0001f40b', a.`\u540d`, b.row__id.writeid FROM `GR\u00d6\u00dfE` a
           JOIN query_acid.`gr\u00f6\u00dfe` b ON a.n = b.n"""
    ) == [("\U0001f40b", "\u732b", 2)]
    acidsql.sql(pair.acid, "DROP TABLE `gr\u00f6\u00dfe`")


@pytest.mark.slow
def test_a_statement_reads_one_snapshot(pair: Pair) -> None:
    for name in ("one", "two"):
        acidsql.sql(pair.acid, f"CREATE TABLE {name} (id INT) {TRANSACTIONAL}")
        acidsql.sql(pair.acid, f"INSERT INTO {name} VALUES (1), (2)")
    acidsql.sql(pair.acid, "CREATE VIEW ones AS SELECT * FROM one")
    text = """SELECT count(*), (SELECT count(*) FROM one b), (SELECT sum(id) FROM two),
        (SELECT count(*) FROM ones) FROM one"""
    before = acidsql.sql(pair.acid, text)
    for name in ("one", "two"):
        acidsql.sql(pair.acid, f"INSERT INTO {name} VALUES (9)")
        acidsql.sql(pair.acid, f"DELETE FROM {name} WHERE id = 1")
    assert rows(before) == [(2, 2, 3, 2)]
    assert pair.rows(text) == [(2, 2, 11, 2)]

    writer = threading.Thread(
        target=lambda: [acidsql.sql(pair.acid, f"INSERT INTO one VALUES ({i})") for i in range(3)]
    )
    writer.start()
    while writer.is_alive():
        ((first, second, _, third),) = pair.rows(text)
        assert first == second == third
    writer.join()
    assert pair.rows("SELECT count(*) FROM one") == [(5,)]
    for name in ("VIEW ones", "TABLE one", "TABLE two"):
        acidsql.sql(pair.acid, f"DROP {name}")


def test_table_is_select_all(pair: Pair) -> None:
    frame = acidsql.table(pair.acid, "emp")
    assert by_text(rows(frame)) == by_text(pair.same("SELECT * FROM emp"))
    assert frame.schema.fields == [
        StructField("id", IntegerType(), False, {"comment": "key"}),
        StructField("name", StringType(), True, {"comment": "a name"}),
        StructField("dept", IntegerType()),
        StructField("pay", IntegerType()),
    ]
    for name in ("query_acid.dept", "spark_catalog.query_acid.`dept`", "DEPT"):
        assert acidsql.table(pair.acid, name).schema.names == ["id", "name", "place"]
    assert rows(frame.where("row__id.writeid = 3")) == [(2, "Ben", 10, 400)]
    assert rows(frame.where(F.col("row__id.rowid") == 2)) == [(6, "emp", 30, 50)]


def test_explain_runs_nothing(pair: Pair) -> None:
    before = pair.tree("emp"), pair.same("SELECT * FROM emp")
    for text, words in {
        "EXPLAIN SELECT * FROM emp JOIN dept ON emp.dept = dept.id": ["Join", "BatchScan"],
        "EXPLAIN EXTENDED SELECT name FROM emp": ["Analyzed Logical Plan", "BatchScan"],
        "EXPLAIN FORMATTED UPDATE emp SET pay = 0 WHERE id = 1": ["BatchScan", "operation"],
        "EXPLAIN DELETE FROM emp": ["BatchScan"],
    }.items():
        ((plan,),) = pair.rows(text)
        assert all(word in plan for word in ["== Physical Plan ==", *words]), plan
    assert (pair.tree("emp"), pair.same("SELECT * FROM emp")) == before


def test_statements_of_sparks_own_go_through(pair: Pair) -> None:
    pair.frames("CREATE TEMPORARY VIEW numbers AS SELECT * FROM range(3)")
    pair.frames("SET spark.sql.acidsql.tests = emp")
    for text in [
        *("SELECT 1", "SELECT sum(id) FROM numbers", "SET spark.sql.acidsql.tests"),
        *("SHOW FUNCTIONS LIKE 'a*'", "DESCRIBE FUNCTION abs"),
        "SELECT '${spark.sql.acidsql.tests}', name FROM ${spark.sql.acidsql.tests}",
    ]:
        assert pair.same(text), text
    pair.frames("DROP VIEW numbers")


@pytest.mark.slow
def test_a_common_table_expression_is_never_taken_for_the_table_that_changes(lab: Lab) -> None:
    t = lab.create("a INT")
    for text, expected in (
        (f"WITH {t} AS (SELECT 9 AS a) UPDATE {t} SET a = (SELECT max(a) FROM {t})", [(9,), (9,)]),
        (f"WITH {t} AS (SELECT 9 AS a) UPDATE {t} AS x SET a = 5 WHERE x.a = 1", [(2,), (5,)]),
        (f"WITH {t} AS (SELECT 1 AS a) DELETE FROM {t} WHERE {t}.a IN (SELECT a FROM {t})", [(2,)]),
        (f"/* */ WITH x AS (SELECT 1), {t.upper()} AS (SELECT 2 AS a) DELETE FROM {t}", []),
        (
            f"WITH {t} AS (SELECT 1 AS a) MERGE INTO {t} USING (SELECT 1 AS a) s ON {t}.a = s.a"
            " WHEN MATCHED THEN DELETE",
            [(2,)],
        ),
        (
            f"WITH {t} AS (SELECT 1 AS a) MERGE INTO {t} USING {t} AS s ON {t}.a = s.a"
            " WHEN MATCHED THEN UPDATE SET a = 7",
            [(2,), (7,)],
        ),
        (f"WITH {t} AS (SELECT 8 AS a) INSERT INTO {t} SELECT a FROM {t}", [(1,), (2,), (8,)]),
    ):
        lab.sql(f"INSERT OVERWRITE {t} VALUES (1), (2)")
        lab.sql(text)
        assert lab.rows(t) == expected, text
