"""CREATE, DROP, SHOW and DESCRIBE of tables; Spark's plain tables are the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import acidsql
from tests.product.conditions import condition_of as condition_of_error

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PARTITION_SCHEMA_IS_EMPTY = "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"
COLUMNS = (
    "id INT NOT NULL COMMENT 'the \\'id\\'', v STRING DEFAULT 'a;b' COMMENT 'x', "
    "n DECIMAL(10,2) DEFAULT 1 + 2, c CHAR(3), s VARCHAR(5), "
    "st STRUCT<Aa: INT, b: ARRAY<STRING>>, m MAP<STRING, DATE>, p INT COMMENT 'part', q STRING"
)


def condition_of(run: Callable[[str], DataFrame], text: str) -> str:
    """Run a statement that must fail; return its condition."""
    with pytest.raises(Exception, match=".") as caught:
        run(text).collect()
    return condition_of_error(caught.value)


def answer(frame: DataFrame) -> tuple[str, list[tuple[Any, ...]]]:
    """Return the columns with their types, and the rows in their order."""
    return frame.schema.simpleString(), [tuple(row) for row in frame.collect()]


@pytest.fixture(scope="module")
def pair(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Yield an ACID table and a plain table of Spark's with the same columns, comments and rows."""
    names = "catalog_acid", "catalog_plain"
    acidsql.sql(spark, f"CREATE TABLE {names[0]} ({COLUMNS}) PARTITIONED BY (p, q) {ACID}")
    spark.sql(f"CREATE TABLE {names[1]} ({COLUMNS}) USING orc PARTITIONED BY (p, q)")
    values = (
        "(1, DEFAULT, DEFAULT, 'abc', 's', NULL, NULL, 1, 'x'), "
        "(2, DEFAULT, 5, 'd', NULL, NULL, NULL, 2, 'a/b=c %'), "
        "(3, 'z', DEFAULT, NULL, NULL, NULL, NULL, 10, ''), "
        "(4, 'z', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    for name, run in zip(names, (lambda t: acidsql.sql(spark, t), spark.sql), strict=True):
        run(f"INSERT INTO {name} VALUES {values}")
    yield names
    for name in names:
        acidsql.sql(spark, f"DROP TABLE {name}")


SAME_AS_SPARK = [
    "SELECT * FROM {t} ORDER BY id",
    "DESCRIBE {t}",
    "DESC TABLE {t}",
    "DESCRIBE {t} id",
    "DESCRIBE {t} ID",
    "DESCRIBE {t} c",
    "DESCRIBE {t} st",
    "DESCRIBE {t} p",
    "DESCRIBE EXTENDED {t} v",
    "DESCRIBE FORMATTED {t} m",
    "DESCRIBE {t} PARTITION (p = 1, q = 'x')",
    "SHOW COLUMNS IN {t}",
    "SHOW COLUMNS FROM {t} IN default",
    "SHOW COLUMNS FROM default.{t}",
    "SHOW PARTITIONS {t}",
    "SHOW PARTITIONS {t} PARTITION (p = 1)",
    "SHOW PARTITIONS {t} PARTITION (p = 2, q = 'a/b=c %')",
    "SHOW PARTITIONS {t} PARTITION (q = 'a/b=c %')",
    "SHOW PARTITIONS {t} PARTITION (p = NULL)",
    "SHOW PARTITIONS {t} PARTITION (p = 99)",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", SAME_AS_SPARK)
def test_the_answer_equals_sparks_for_an_equal_plain_table(
    lab: Lab, pair: tuple[str, str], text: str
) -> None:
    acid, plain = pair
    assert answer(lab.frame(text.format(t=acid))) == answer(lab.spark.sql(text.format(t=plain)))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("DESCRIBE {t} no_such_column", "COLUMN_NOT_FOUND"),
        ("DESCRIBE {t} PARTITION (p = 9, q = 'x')", "PARTITIONS_NOT_FOUND"),
        ("CREATE TABLE {t} (id INT) USING parquet", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TABLE {t} USING parquet AS SELECT 1 AS id", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE VIEW {t} AS SELECT 1 AS id", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TABLE {t} LIKE catalog_plain", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("DROP TABLE {t}_missing", "TABLE_OR_VIEW_NOT_FOUND"),
        ("DROP VIEW {t}_missing", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SHOW TABLES IN {t}_missing", "SCHEMA_NOT_FOUND"),
        ("USE {t}_missing", "SCHEMA_NOT_FOUND"),
        ("DROP DATABASE {t}_missing", "SCHEMA_NOT_FOUND"),
    ],
)
def test_the_condition_equals_sparks_for_an_equal_plain_table(
    lab: Lab, pair: tuple[str, str], text: str, condition: str
) -> None:
    acid, plain = pair
    assert condition_of(lab.frame, text.format(t=acid)) == condition
    sparks = condition_of(lab.spark.sql, text.format(t=plain))
    assert sparks == condition or sparks.startswith("_LEGACY")  # Spark 3.5 has some without a name


def test_partitions_that_a_statement_cannot_mean(lab: Lab, pair: tuple[str, str]) -> None:
    acid, _ = pair
    for text in ("SHOW PARTITIONS {t} PARTITION (r = 1)", "DESCRIBE {t} PARTITION (p = 1)"):
        assert condition_of(lab.frame, text.format(t=acid)) == "PARTITIONS_NOT_FOUND"
    t = lab.create("id int")
    lab.spark.sql(f"CREATE TABLE {t}_plain (id INT) USING orc")
    assert condition_of(lab.frame, f"SHOW PARTITIONS {t}") == PARTITION_SCHEMA_IS_EMPTY
    if not lab.spark.version.startswith("3."):
        plain = condition_of(lab.spark.sql, f"SHOW PARTITIONS {t}_plain")
        assert plain == PARTITION_SCHEMA_IS_EMPTY
    lab.spark.sql(f"DROP TABLE {t}_plain")


def test_describe_extended_tells_of_the_table_or_the_partition(
    lab: Lab, pair: tuple[str, str]
) -> None:
    acid, plain = pair
    columns, defaults = _parts(lab.spark.sql(f"DESCRIBE {plain}"))
    for mode in ("EXTENDED", "FORMATTED"):
        rows = [tuple(row) for row in lab.frame(f"DESCRIBE {mode} {acid}").collect()]
        assert rows[: len(columns)] == columns
        assert rows[-len(defaults) :] == defaults
        details = {name: value for name, value, _ in rows[len(columns) : -len(defaults)]}
        created = lab.session.metastore.table("default", acid)
        assert details.pop("Created Time").endswith(" UTC")
        assert details == {
            "": "",
            "# Detailed Table Information": "",
            "Catalog": "spark_catalog",
            "Database": "default",
            "Table": acid,
            "Owner": created.owner,
            "Type": "MANAGED_TABLE",
            "Provider": "acidsql (ORC, full ACID)",
            "Location": created.location,
            "Table Properties": "[orc.compress=ZSTD, transactional=true]",
            "Not Null": "id",
        }
    place = f"{acidsql.location(lab.spark, acid)}/p=1/q=x"
    rows = lab.sql(f"DESCRIBE EXTENDED {acid} PARTITION (p = 1, q = 'x')")
    assert rows == [
        *columns,
        ("", "", ""),
        ("# Detailed Partition Information", "", ""),
        ("Database", "default", ""),
        ("Table", acid, ""),
        ("Partition Values", "[p=1, q=x]", ""),
        ("Location", place, ""),
        *defaults,
    ]


def _parts(described: DataFrame) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return the rows of DESCRIBE before the defaults, and the others with their blank row."""
    rows = [tuple(row) for row in described.collect()]
    place = rows.index(("# Column Default Values", "", "")) - 1
    return rows[:place], rows[place:]


@pytest.mark.slow
def test_create_table_keeps_every_clause(lab: Lab, tmp_path: Path) -> None:
    place = tmp_path / "it's here"
    location = str(place).replace("'", "\\'")
    lab.sql(
        "CREATE TABLE every_clause (id INT NOT NULL COMMENT 'c', v STRING DEFAULT upper('d')) "
        f"PARTITIONED BY (p DATE COMMENT 'day') STORED AS ORC LOCATION '{location}' "
        "COMMENT 'a \\\\ table' TBLPROPERTIES ('transactional'='true', 'k'='it\\'s\\nv')"
    )
    table = lab.session.metastore.table("default", "every_clause")
    assert [(c.name, c.type, c.nullable, c.default, c.comment) for c in table.columns] == [
        ("id", "INT", False, None, "c"),
        ("v", "STRING", True, "upper('d')", None),
    ]
    assert [(c.name, c.type, c.comment) for c in table.partition_columns] == [("p", "DATE", "day")]
    assert lab.root("every_clause") == place
    assert place.is_dir()
    assert lab.sql("SHOW TBLPROPERTIES every_clause") == [
        ("comment", "a \\ table"),
        ("k", "it's\nv"),
        ("orc.compress", "ZSTD"),
        ("transactional", "true"),
    ]
    assert lab.sql("SHOW TBLPROPERTIES every_clause ('k')") == [("k", "it's\nv")]
    assert lab.sql("SHOW TBLPROPERTIES every_clause (other)") == [
        ("other", "Table spark_catalog.default.every_clause does not have property: other")
    ]
    lab.sql("INSERT INTO every_clause (id, p) VALUES (1, DATE'2024-02-29')")
    assert condition_of(lab.frame, "INSERT INTO every_clause (v) VALUES ('no id')")
    names = {path.name for path in place.iterdir()}
    assert names == {"p=2024-02-29", "_acidsql_owner"}
    columns = lab.frame("SELECT id, v, CAST(p AS STRING) AS p FROM every_clause")
    assert [tuple(row) for row in columns.collect()] == [(1, "D", "2024-02-29")]
    lab.sql("DROP TABLE every_clause")
    assert not place.exists()


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_properties_are_shown_as_they_are(lab: Lab, escaped: str) -> None:
    t = lab.create("id int")
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('home'='${{env:HOME}}', 'place'='C:\\\\x')")
    with lab.settings(spark__sql__parser__escapedStringLiterals=escaped):
        shown = dict(lab.sql(f"SHOW TBLPROPERTIES {t}"))
    assert (shown["home"], shown["place"]) == ("${env:HOME}", "C:\\x")


def test_partition_columns_by_name_come_last(lab: Lab) -> None:
    t = lab.create("p INT, id INT, q STRING", partitioned="q, p", values="(1, 'x', 2)")
    assert lab.frame(f"SELECT * FROM {t}").schema.simpleString() == (
        "struct<id:int,q:string,p:int>"
    )
    assert lab.rows(t) == [(1, "x", 2)]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("q=x/p=2",)]


def test_a_table_that_exists_is_left_alone(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    tree = lab.tree(t)
    for head in ("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"):
        for body in (
            f"(other STRING) {ACID}",
            f"{ACID} AS SELECT 'x' AS other",
            "(o INT) USING orc",
        ):
            text = f"{head} {t} {body}"
            if "EXISTS" in head:
                assert answer(lab.frame(text)) == ("struct<>", [])
            else:
                assert condition_of(lab.frame, text) == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert (lab.rows(t), lab.tree(t)) == ([(1,)], tree)
    assert not lab.spark.catalog.tableExists(t)


@pytest.mark.sample(1)
@pytest.mark.parametrize("partitioned", [False, True])
def test_create_table_as_select(lab: Lab, partitioned: bool) -> None:
    t = lab.create("id INT, v STRING, n DECIMAL(5,2)", values="(1, 'a', 1.5), (2, NULL, NULL)")
    clause = "PARTITIONED BY (w)" if partitioned else ""
    created = lab.sql(
        f"CREATE TABLE {t}_copy {clause} {ACID} "
        f"AS WITH c AS (SELECT * FROM {t}) SELECT id, v AS w, n * 2 AS n2 FROM c"
    )
    assert created == [(2, 2)]
    schema = lab.frame(f"SELECT * FROM {t}_copy").schema.simpleString()
    if partitioned:
        assert schema == "struct<id:int,n2:decimal(7,2),w:string>"
        names = [("w=__HIVE_DEFAULT_PARTITION__",), ("w=a",)]
        assert sorted(lab.sql(f"SHOW PARTITIONS {t}_copy")) == names
    else:
        assert schema == "struct<id:int,w:string,n2:decimal(7,2)>"
    rows = lab.rows(f"{t}_copy", "id, w, CAST(n2 AS STRING)")
    assert rows == [(1, "a", "3.00"), (2, None, None)]
    lab.sql(f"DROP TABLE {t}_copy")


def test_defaults_are_used_by_insert_and_update(lab: Lab) -> None:
    t = lab.create("id INT, v STRING DEFAULT 'd', n INT DEFAULT 40 + 2, o INT")
    lab.sql(f"INSERT INTO {t} (id) VALUES (1)")
    lab.sql(f"INSERT INTO {t} VALUES (2, DEFAULT, 0, DEFAULT), (3, 'x', DEFAULT, 3)")
    assert lab.rows(t) == [(1, "d", 42, None), (2, "d", 0, None), (3, "x", 42, 3)]
    lab.sql(f"UPDATE {t} SET v = DEFAULT, n = DEFAULT, o = DEFAULT WHERE id > 1")
    assert lab.rows(t) == [(1, "d", 42, None), (2, "d", 42, None), (3, "d", 42, None)]


def test_drop_table_removes_the_directory_and_the_entry(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="p INT", values="(1, 1)")
    root = lab.root(t)
    assert root.is_dir()
    assert answer(lab.frame(f"DROP TABLE {t}")) == ("struct<>", [])
    assert not root.exists()
    assert lab.session.metastore.find_table("default", t) is None
    assert lab.sql(f"SHOW TABLES LIKE '{t}'") == []
    assert condition_of(lab.frame, f"SELECT * FROM {t}") == "TABLE_OR_VIEW_NOT_FOUND"
    assert lab.sql(f"DROP TABLE IF EXISTS {t}") == []
    assert condition_of(lab.frame, f"DROP TABLE {t}") == "TABLE_OR_VIEW_NOT_FOUND"
    lab.sql(f"CREATE TABLE {t} (name STRING) {ACID}")
    assert lab.rows(t) == []
    lab.insert(t, "('anew')")
    assert lab.rows(t, "row__id.writeid, name") == [(1, "anew")]


def test_a_table_that_is_not_transactional_is_sparks(lab: Lab) -> None:
    t = lab.create("id int")
    plain = f"{t}_plain"
    lab.sql(f"CREATE TABLE {plain} (id INT) USING parquet")
    assert lab.session.metastore.find_table("default", plain) is None
    assert lab.spark.catalog.tableExists(plain)
    lab.sql(f"INSERT INTO {plain} VALUES (1)")
    assert [tuple(row) for row in lab.spark.table(plain).collect()] == lab.rows(plain) == [(1,)]
    beside = [("default", t, False), ("default", plain, False)]
    assert lab.sql(f"SHOW TABLES LIKE '{t}|{plain}'") == beside
    condition = condition_of(lab.frame, f"CREATE TABLE {plain} (id INT) {ACID}")
    assert condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    lab.sql(f"DROP TABLE {plain}")
    assert lab.sql(f"SHOW TABLES LIKE '{t}|{plain}'") == beside[:1]
    assert not lab.spark.catalog.tableExists(plain)


def test_show_tables_has_sparks_columns_order_and_patterns(lab: Lab) -> None:
    plain = "CREATE TABLE listed_plain.{name} (id INT) USING orc"
    acid = f"CREATE TABLE listed_acid.{{name}} (id INT) {ACID}"
    for database in ("listed_plain", "listed_acid"):
        lab.sql(f"CREATE DATABASE {database}")
    for name in ("Pa", "pb", "x_p", "q1"):
        lab.spark.sql(plain.format(name=name))
        lab.sql(acid.format(name=name))
    lab.spark.sql("CREATE TEMPORARY VIEW pz AS SELECT 1")
    for pattern in ("", "LIKE 'p*'", "'P*|q.'", "LIKE '?1'", "LIKE ' p* | q1 '", "'[pq].|(|x*'"):
        shown = lab.frame(f"SHOW TABLES IN listed_acid {pattern}")
        expected = answer(lab.spark.sql(f"SHOW TABLES IN listed_plain {pattern}"))
        rows = [("listed_acid" if n else "", *rest) for n, *rest in expected[1]]
        assert answer(shown) == (expected[0], rows), pattern
    lab.spark.catalog.dropTempView("pz")
    for database in ("listed_plain", "listed_acid"):
        lab.sql(f"DROP DATABASE {database} CASCADE")


def test_show_views_has_those_of_the_metastore_and_of_spark(lab: Lab) -> None:
    lab.sql("CREATE DATABASE viewed")
    lab.sql(f"CREATE TABLE viewed.t (id INT) {ACID}")
    lab.sql("CREATE VIEW viewed.over_acid AS SELECT * FROM viewed.t")
    lab.sql("CREATE VIEW viewed.plain AS SELECT 1 AS one")
    both = [("viewed", "over_acid", False), ("viewed", "plain", False)]
    shown = lab.frame("SHOW VIEWS IN viewed")
    assert shown.columns == lab.spark.sql("SHOW VIEWS IN viewed").columns
    assert [tuple(row) for row in shown.collect()] == both
    assert lab.sql("SHOW VIEWS FROM viewed LIKE 'o*'") == both[:1]
    lab.sql("DROP DATABASE viewed CASCADE")


def test_show_create_table_makes_an_equal_table(lab: Lab, tmp_path: Path) -> None:
    columns = COLUMNS.replace("q STRING", "`q ``x` STRING DEFAULT 'it\\'s'")
    lab.sql(
        f"CREATE TABLE shown ({columns}) PARTITIONED BY (p) STORED AS ORC COMMENT 'it\\'s \\\\ 1' "
        "TBLPROPERTIES ('transactional'='true', 'orc.compress'='snappy', 'a\\'b'='c\\nd')"
    )

    def state(name: str) -> tuple[Any, ...]:
        table = lab.session.metastore.table("default", name)
        frame = lab.frame(f"SELECT * FROM {name}")
        properties = lab.sql(f"SHOW TBLPROPERTIES {name}")
        described = lab.sql(f"DESCRIBE {name}")
        return table.columns, table.partition_columns, properties, described, frame.schema

    ((text,),) = lab.sql("SHOW CREATE TABLE shown")
    before = state("shown")
    lab.sql("DROP TABLE shown")
    lab.sql(text)
    assert lab.sql("SHOW CREATE TABLE shown") == [(text,)]
    assert ("Comment", "it's \\ 1", "") in lab.sql("DESCRIBE EXTENDED shown")
    assert state("shown") == before
    other = text.replace("`shown`", "`shown_again`").replace(
        acidsql.location(lab.spark, "shown"), (tmp_path / "again").as_uri().replace("///", "/")
    )
    lab.sql(other)
    assert lab.sql("SHOW CREATE TABLE shown_again") == [(other,)]
    assert state("shown_again") == before
    for name in ("shown", "shown_again"):
        lab.sql(f"DROP TABLE {name}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("place", ["", "/p=1", "/.."])
def test_two_tables_share_no_directory(lab: Lab, tmp_path: Path, place: str) -> None:
    first = tmp_path / "tables" / "first"
    lab.sql(f"CREATE TABLE first (id INT) PARTITIONED BY (p INT) {ACID} LOCATION '{first}'")
    lab.sql("INSERT INTO first VALUES (1, 1)")
    other = (first / place.lstrip("/")).resolve()
    text = f"CREATE TABLE second (id INT) {ACID} LOCATION '{other}'"
    assert condition_of(lab.frame, text) == "LOCATION_IN_USE"
    assert lab.rows("first") == [(1, 1)]
    lab.sql(f"CREATE TABLE second (id INT) {ACID} LOCATION '{first}_2'")
    lab.sql("DROP TABLE second")
    lab.sql("DROP TABLE first")


def test_a_default_that_does_not_fit_is_refused(lab: Lab) -> None:
    text = f"CREATE TABLE unfit (id INT DEFAULT 'x') {ACID}"
    assert condition_of(lab.frame, text) == "CAST_INVALID_INPUT"
    assert ("default", "unfit", False) not in lab.sql("SHOW TABLES")
