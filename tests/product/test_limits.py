"""Tests of docs/limits.md: a statement for every row that says what is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import acidsql
from acidsql.errors import AcidSqlError
from tests.product.refusals import ACID, bad_tables, refused, unchanged

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """Create the tables that the statements name."""
    with bad_tables(spark):
        yield


def _features(**statements: str | tuple[str, ...]) -> dict[str, str]:
    """Return conditions by statement, from statements by condition without its prefix."""
    return {
        text: f"UNSUPPORTED_FEATURE.{name}"
        for name, texts in statements.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    }


def _create(clause: str, columns: str = "(id int)") -> str:
    return (
        f"CREATE TABLE bad2 {columns} {clause} STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )


# A case for each row of the tables in docs/limits.md, by the row's first cell.
_LIMITS = {
    "`CREATE EXTERNAL TABLE`": _features(EXTERNAL=f"CREATE EXTERNAL TABLE bad2 (id int) {ACID}"),
    "`CREATE OR REPLACE` and `REPLACE TABLE` with `CLONE`, `LIKE` or `IF NOT EXISTS`": _features(
        OR_REPLACE=(
            "CREATE OR REPLACE TABLE bad2 CLONE bad",
            "CREATE OR REPLACE TABLE bad2 LIKE bad",
            f"CREATE OR REPLACE TABLE IF NOT EXISTS bad (id int) {ACID}",
        ),
        REPLACE_TABLE=("REPLACE TABLE bad CLONE bad_parts", "REPLACE TABLE bad LIKE bad_parts"),
    ),
    "`CREATE OR REPLACE TABLE` with the `LOCATION` of another place than the table's": _features(
        REPLACE_LOCATION=f"CREATE OR REPLACE TABLE bad (id int) LOCATION '/elsewhere' {ACID}",
    ),
    "`SHALLOW CLONE`": _features(SHALLOW_CLONE="CREATE TABLE bad2 SHALLOW CLONE bad"),
    "`CLONE` of an insert-only table": _features(
        INSERT_ONLY_CLONE="CREATE TABLE bad2 CLONE bad_only"
    ),
    "`EXPORT … FOR REPLICATION`": _features(
        EXPORT_FOR_REPLICATION="EXPORT TABLE bad TO '{files}/new' FOR REPLICATION('1')"
    ),
    "`IMPORT EXTERNAL`": _features(EXTERNAL="IMPORT EXTERNAL TABLE bad2 FROM '{files}'"),
    "`CLUSTERED BY` a timestamp, bytes, an array, a map or a struct": _features(
        BUCKET_COLUMN_TYPE=_create("CLUSTERED BY (t) INTO 4 BUCKETS", "(id int, t timestamp)")
    ),
    "`SORTED BY`": _features(SORTED_BY=_create("CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS")),
    "a script (`BEGIN … END`) that changes ACID tables": _features(
        SQL_SCRIPT="BEGIN UPDATE bad SET id = 1; END"
    ),
    "an SQL function (`CREATE FUNCTION … RETURN`) that reads ACID tables": _features(
        SQL_FUNCTION="CREATE TEMPORARY FUNCTION bad_top() RETURNS INT RETURN (SELECT 1 FROM bad)"
    ),
    "`OPTIMIZE … ZORDER BY` of a bucketed or an insert-only table": _features(
        ZORDER_BY="OPTIMIZE bad_buckets ZORDER BY (id)"
    ),
    "`PARTITIONED BY (days(ts))` and other transforms": _features(
        PARTITION_TRANSFORM=_create("PARTITIONED BY (days(ts))", "(id int, ts timestamp)")
    ),
    "`VERSION` and `TIMESTAMP AS OF` of a view; a subquery after `TIMESTAMP AS OF`": _features(
        TIME_TRAVEL=(
            "SELECT * FROM bad_view VERSION AS OF 1",
            "SELECT * FROM bad TIMESTAMP AS OF (SELECT current_timestamp())",
        )
    ),
    "changes of a view or an insert-only table": _features(
        CHANGE_FEED=(
            "SELECT * FROM table_changes('bad_view', 1)",
            "SELECT * FROM table_changes('bad_only', 1)",
        )
    ),
    "any format but ORC, in an insert-only table but ORC, Parquet and text": _features(
        STORED_AS=(
            "CREATE TABLE bad2 (id int) STORED AS PARQUET TBLPROPERTIES ('transactional'='true')",
            "CREATE TABLE bad2 (id int) USING parquet TBLPROPERTIES ('transactional'='true')",
            "CREATE TRANSACTIONAL TABLE bad2 (id int) STORED AS TEXTFILE",
            "CREATE TABLE bad2 (id int) STORED AS AVRO TBLPROPERTIES ('transactional'='true', "
            "'transactional_properties'='insert_only')",
        )
    ),
    "`transactional_properties` other than `default` and `insert_only`": _features(
        TRANSACTIONAL_PROPERTIES="CREATE TABLE bad2 (id int) STORED AS ORC TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='hash')"
    ),
    "`CLUSTERED BY` of an insert-only table": _features(
        CLUSTERED_BY="CREATE TABLE bad2 (id int) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
    ),
    "`UPDATE`, `DELETE`, `MERGE`, `RESTORE` and `UNDO WRITE` of an insert-only table": _features(
        INSERT_ONLY_TABLE=(
            "UPDATE bad_only SET id = 1",
            "DELETE FROM bad_only",
            "MERGE INTO bad_only USING bad_source s ON bad_only.id = s.id WHEN MATCHED THEN DELETE",
        )
    ),
    "other names and types of columns of an insert-only table in ORC or Parquet": _features(
        INSERT_ONLY_COLUMNS="ALTER TABLE bad_only RENAME COLUMN id TO x"
    ),
    "nested and escaped values in an insert-only table in text": _features(
        TEXT_COLUMNS="CREATE TABLE bad2 (id array<int>) STORED AS TEXTFILE TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    ),
    "unknown `orc.` properties, `external`": _features(
        TABLE_PROPERTY=(
            "CREATE TABLE bad2 (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true', "
            "'orc.nope'='1')",
            "CREATE TABLE bad2 (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true', "
            "'EXTERNAL'='true')",
        )
    ),
    "`CREATE TABLE (columns) AS SELECT`": _features(
        CTAS_COLUMNS=f"CREATE TABLE bad2 (id int) {ACID} AS SELECT 1"
    ),
    "constraints in `PARTITIONED BY`": _features(
        TABLE_CONSTRAINT=_create("PARTITIONED BY (p int CHECK (p > 0))")
    ),
    "CHECK, a generated or identity column, in a `CREATE TABLE` that adopts files": _features(
        CHECK_OF_ADOPTED_TABLE=(
            _create(
                "LOCATION '{copy}'",
                "(id int, v string, n decimal(5,2), b tinyint, CHECK (id > 0))",
            ),
            _create(
                "LOCATION '{copy}'",
                "(id int, v string, n decimal(5,2), b tinyint, "
                "k bigint GENERATED ALWAYS AS IDENTITY)",
            ),
        )
    ),
    "`IMPORT` into a table with CHECK, generated, identity columns; `LOAD DATA`, if "
    "insert-only": _features(CHECK_OF_FILES="LOAD DATA INPATH '{files}' INTO TABLE bad_checked"),
    "an identity column that is a partition column, or in `PARTITIONED BY`": _features(
        IDENTITY_COLUMN=_create(
            "PARTITIONED BY (d)", "(id int, d bigint GENERATED ALWAYS AS IDENTITY)"
        )
    ),
    "`CREATE TEMPORARY TABLE` with `LOCATION`": _features(
        TEMPORARY_TABLE_LOCATION="CREATE TEMPORARY TABLE bad2 (id int) LOCATION '/x'"
    ),
    "`ALTER TABLE … RENAME` of a temporary table": _features(
        TEMPORARY_TABLE_RENAME="ALTER TABLE bad_temporary RENAME TO bad2"
    ),
    "`OPTIONS`, `ROW FORMAT`, `STORED BY`, `SKEWED BY`, `CLUSTER BY` and others in "
    "`CREATE TABLE`": _features(
        OPTIONS=_create("OPTIONS (a 'b')"),
        ROW_FORMAT=_create("ROW FORMAT SERDE 'x'"),
        STORED_BY="CREATE TABLE bad2 (id int) STORED BY 'x' TBLPROPERTIES ('transactional'='true')",
        SKEWED_BY=_create("SKEWED BY (id) ON (1)"),
        STORED_AS_DIRECTORIES=_create("STORED AS DIRECTORIES"),
        CLUSTER_BY=_create("CLUSTER BY (id)"),
        WITH_SERDEPROPERTIES=_create("WITH SERDEPROPERTIES ('a'='b')"),
        DEFAULT_COLLATION=_create("DEFAULT COLLATION UNICODE"),
    ),
    "subqueries, and `row__id`, in the condition of `INSERT … REPLACE WHERE`": _features(
        REPLACE_WHERE=(
            "INSERT INTO bad REPLACE WHERE id IN (SELECT 1) SELECT * FROM bad",
            "INSERT INTO bad REPLACE WHERE row__id.writeid = 1 SELECT * FROM bad",
        )
    ),
    "`INSERT … WITH (options)`; `WITH SCHEMA EVOLUTION` before `REPLACE`": _features(
        INSERT_OPTIONS="INSERT INTO bad WITH (a = 'b') SELECT * FROM bad",
        INSERT_WITH_SCHEMA_EVOLUTION=(
            "INSERT WITH SCHEMA EVOLUTION INTO bad REPLACE WHERE id = 1 SELECT * FROM bad"
        ),
    ),
    "`FROM … INSERT … INSERT …` into ACID tables and others, or directories": _features(
        MULTI_INSERT_MIXED=(
            "FROM bad_source INSERT INTO bad SELECT *, 1, 1 INSERT INTO bad_plain SELECT id",
            "FROM bad_source INSERT INTO bad SELECT *, 1, 1 INSERT OVERWRITE DIRECTORY '/x' "
            "SELECT id",
        )
    ),
    "`FROM … INSERT OVERWRITE … INSERT …` of one table without full `PARTITION` clauses": _features(
        MULTI_INSERT_OVERWRITE="FROM bad_source INSERT OVERWRITE bad SELECT *, 1, 1 "
        "INSERT INTO bad SELECT *, 1, 1"
    ),
    "`ALTER TABLE` with `SET SERDE`, `CLUSTER BY`, columns of one partition and others": _features(
        ALTER_TABLE=(
            "ALTER TABLE bad SET SERDE 'x'",
            "ALTER TABLE bad CLUSTER BY (id)",
            "ALTER TABLE bad_parts PARTITION (p = 1, q = 'a') REPLACE COLUMNS (v int)",
            "ALTER TABLE bad CONCATENATE",
        )
    ),
    "`CREATE OR REPLACE TABLE` of a table with tags, if columns or layout change": (
        _features(REPLACE_TAGGED="CREATE OR REPLACE TABLE bad_tagged (other int) USING acidsql")
    ),
    "`FIRST`, `AFTER`: columns have their positions in files": _features(
        COLUMN_POSITION=(
            "ALTER TABLE bad ADD COLUMNS (x int FIRST)",
            "ALTER TABLE bad ALTER COLUMN v AFTER n",
        )
    ),
    "`DROP COLUMN`, `REPLACE COLUMNS` with fewer columns": _features(
        DROP_COLUMNS=(
            "ALTER TABLE bad DROP COLUMN v",
            "ALTER TABLE bad REPLACE COLUMNS (id int, v string)",
        )
    ),
    "a new column with `NOT NULL` and no `DEFAULT`, or a `DEFAULT` [not possible "
    "there](#alter-table)": _features(
        ADD_COLUMN_NOT_NULL="ALTER TABLE bad ADD COLUMNS (x int NOT NULL)",
        ADD_COLUMN_DEFAULT=(
            "ALTER TABLE bad ADD COLUMNS (x timestamp DEFAULT TIMESTAMP'2024-01-01 00:00:00')",
            "ALTER TABLE bad ADD COLUMNS (x array<int> DEFAULT array(1))",
        ),
    ),
    "a new column that is generated, or an identity column": _features(
        ADD_COLUMN_GENERATED=(
            "ALTER TABLE bad ADD COLUMNS (x int GENERATED ALWAYS AS (id))",
            "ALTER TABLE bad ADD COLUMN x bigint GENERATED BY DEFAULT AS IDENTITY",
        )
    ),
    "a renamed field of a struct, a new one with `NOT NULL` or `DEFAULT`": _features(
        NESTED_COLUMN=(
            "ALTER TABLE bad RENAME COLUMN v.x TO y",
            "ALTER TABLE bad ADD COLUMN v.x int NOT NULL",
        )
    ),
    "`SET LOCATION`": _features(SET_LOCATION="ALTER TABLE bad SET LOCATION '/x'"),
    "changes of `transactional`, `transactional_properties`, `bucketing_version`": _features(
        TABLE_PROPERTY=(
            "ALTER TABLE bad SET TBLPROPERTIES ('transactional'='false')",
            "ALTER TABLE bad SET TBLPROPERTIES ('transactional_properties'='insert_only')",
            "ALTER TABLE bad SET TBLPROPERTIES ('bucketing_version'='1')",
            "ALTER TABLE bad UNSET TBLPROPERTIES ('transactional')",
        )
    ),
    "`ANALYZE TABLE … FOR COLUMNS` of arrays, maps, structs; of partition columns": _features(
        ANALYZE_UNSUPPORTED_COLUMN_TYPE=(
            "ANALYZE TABLE bad_buckets COMPUTE STATISTICS FOR COLUMNS a"
        ),
        ANALYZE_PARTITION_COLUMN="ANALYZE TABLE bad_parts COMPUTE STATISTICS FOR COLUMNS p",
    ),
    "`ANALYZE TABLE` of a view": _features(
        ANALYZE_VIEW="ANALYZE TABLE bad_view COMPUTE STATISTICS"
    ),
    "other commands of Spark's catalog, as `ALTER VIEW … RENAME` and `LIKE` a view": _features(
        LIKE="CREATE TRANSACTIONAL TABLE bad2 LIKE bad_source",
        RENAME_TABLE="ALTER VIEW bad_view RENAME TO bad2",
        CREATE_TABLE_LIKE="CREATE TABLE bad2 LIKE bad_view",
    ),
    "`DESCRIBE … column AS JSON`, which Spark refuses too": _features(
        DESC_TABLE_COLUMN_JSON="DESCRIBE EXTENDED bad id AS JSON"
    ),
    "`CREATE VIEW … PARTITIONED ON`": _features(
        CREATE_VIEW="CREATE VIEW bad2 PARTITIONED ON (id) AS SELECT * FROM bad"
    ),
    "`COMPACT` with `ORDER BY`, `CLUSTERED INTO` or `WITH OVERWRITE TBLPROPERTIES`": _features(
        COMPACT=(
            "ALTER TABLE bad COMPACT 'major' ORDER BY id",
            "ALTER TABLE bad COMPACT 'major' CLUSTERED INTO 2 BUCKETS",
            "ALTER TABLE bad COMPACT 'major' WITH OVERWRITE TBLPROPERTIES ('a'='b')",
        )
    ),
    "`DROP DATABASE default`": _features(DROP_DATABASE="DROP DATABASE default CASCADE"),
    "intervals, VOID, VARIANT, TIME; TIMESTAMP_NTZ and TIMESTAMP_LTZ in insert-only tables": {
        "CREATE TABLE bad2 (x timestamp_ntz) STORED AS ORC TBLPROPERTIES ('transactional'='true', "
        "'transactional_properties'='insert_only')": "UNSUPPORTED_DATATYPE",
        _create("", "(x interval day)"): "UNSUPPORTED_DATATYPE",
    },
    "writing a map with dates in its keys to an insert-only table in ORC": {
        "CREATE TABLE new STORED AS ORC TBLPROPERTIES ('transactional'='true', "
        "'transactional_properties'='insert_only') AS SELECT map(DATE'2024-01-01', 1) AS m": (
            "UNSUPPORTED_DATATYPE"
        )
    },
    "window functions, aggregates and generators in `UPDATE`, `DELETE` and the clauses of "
    "`MERGE`": {
        "UPDATE bad SET v = row_number() OVER (ORDER BY id)": "UNSUPPORTED_EXPR_FOR_OPERATOR",
        "UPDATE bad SET v = max(v)": "MISSING_GROUP_BY",
        "DELETE FROM bad WHERE row_number() OVER (ORDER BY id) = 1": (
            "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE"
        ),
        "DELETE FROM bad WHERE id = max(id)": "INVALID_WHERE_CONDITION",
        "MERGE INTO bad USING bad_source s ON bad.id = max(s.id) WHEN MATCHED THEN DELETE": (
            "UNSUPPORTED_MERGE_CONDITION.AGGREGATE"
        ),
        "UPDATE bad SET v = explode(array('a'))": "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
    },
    "`rand()` and the like in `WHERE`, `ON` and `WHEN` of these": {
        "UPDATE bad SET v = 'x' WHERE rand() < 2": "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
        "MERGE INTO bad USING bad_source s ON bad.id = s.id AND rand() < 2 WHEN MATCHED THEN "
        "DELETE": "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC",
    },
    "a `DEFAULT` that is not deterministic, is a subquery, or depends on rows": {
        _create("", "(id int, v string DEFAULT uuid())"): "INVALID_DEFAULT_VALUE.NON_DETERMINISTIC",
        _create("", "(id int DEFAULT (SELECT 1))"): "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION",
        _create("", "(id int DEFAULT max(1))"): "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
    },
    "a name with other characters than letters, digits, underscores, or over 252 bytes": {
        f"CREATE TABLE `../bad2` (id int) {ACID}": "INVALID_SCHEMA_OR_RELATION_NAME",
        f"CREATE VIEW {'n' * 253} AS SELECT * FROM bad": "INVALID_SCHEMA_OR_RELATION_NAME",
        "CREATE DATABASE `bad 2`": "INVALID_SCHEMA_OR_RELATION_NAME",
        "ALTER TABLE bad RENAME TO `a.b`": "INVALID_SCHEMA_OR_RELATION_NAME",
    },
    "a partition value whose directory name has over 255 bytes, or with NUL": {
        f"ALTER TABLE bad_parts ADD PARTITION (p = 1, q = '{'n' * 254}')": "INVALID_PARTITION_NAME",
        f"INSERT INTO bad_parts PARTITION (p = 1, q = '{'n' * 254}') VALUES (1)": (
            "INVALID_PARTITION_NAME"
        ),
        f"INSERT INTO bad_parts VALUES (1, 1, '{'n' * 254}')": "INVALID_PARTITION_NAME",
        r"INSERT INTO bad_parts VALUES (1, 1, 'a\0b')": "WRITE_JOB_FAILED",
    },
    "a `LOCATION` that is empty, the root, no path, or of an unknown scheme": {
        _create("LOCATION ''"): "INVALID_LOCATION",
        _create("LOCATION '/'"): "INVALID_LOCATION",
        _create("LOCATION 'hdfs:'"): "INVALID_LOCATION",
        "CREATE DATABASE bad2 LOCATION 'nosuch://host/bad2'": "INVALID_LOCATION",
    },
    "a column called `row__id` or `row__is__deleted`": {
        _create("", "(ROW__ID int)"): "RESERVED_COLUMN_NAME",
        _create("", "(row__is__deleted boolean)"): "RESERVED_COLUMN_NAME",
        _create("PARTITIONED BY (row__id int)"): "RESERVED_COLUMN_NAME",
    },
    "two columns, or fields of a struct, whose names differ only by case": {
        _create("", "(id int, ID int)"): "COLUMN_ALREADY_EXISTS",
        _create("", "(s struct<a: int, A: int>)"): "COLUMN_ALREADY_EXISTS",
    },
    "a file outside base and delta directories that has no name of Hive's": {
        _create("LOCATION '{files}'"): "INVALID_ORIGINAL_FILE_NAME"
    },
    "a type that cannot read old values, or another type of a bucket column": {
        "ALTER TABLE bad ALTER COLUMN v TYPE int": "NOT_SUPPORTED_CHANGE_COLUMN"
    },
    "`SET TBLPROPERTIES ('transactional'='true')` of what is no plain managed ORC table": {
        "ALTER TABLE bad_plain SET TBLPROPERTIES ('TRANSACTIONAL' = 'true')": (
            "CANNOT_CONVERT_TABLE"
        )
    },
    "a partition column in `ALTER TABLE`": {
        "ALTER TABLE bad_parts CHANGE p p bigint": "CANNOT_ALTER_PARTITION_COLUMN"
    },
    "`LOAD DATA` of ACID files, of other columns, of directories, of nothing": {
        "LOAD DATA INPATH '{copy}/delta_0000001_0000001_0000' INTO TABLE bad": (
            "LOAD_DATA_ACID_FILE"
        ),
        "LOAD DATA INPATH '{files}' INTO TABLE bad": "LOAD_DATA_SCHEMA_MISMATCH",
        "LOAD DATA INPATH '{copy}' INTO TABLE bad": "LOAD_DATA_DIRECTORY",
        "LOAD DATA INPATH '{files}/nowhere' INTO TABLE bad": "LOAD_DATA_PATH_NOT_EXISTS",
    },
    "`EXPORT` to a place that is not empty, `IMPORT` of other files": {
        "EXPORT TABLE bad TO '{files}'": "PATH_ALREADY_EXISTS",
        "IMPORT TABLE bad2 FROM '{files}'": "INVALID_ARCHIVE",
    },
    "`ADD PARTITION` over files": {
        "ALTER TABLE bad_parts ADD PARTITION (p = 5, q = 'x') LOCATION '{files}'": (
            "PARTITION_LOCATION_NOT_EMPTY"
        )
    },
    "a table or `INSERT OVERWRITE DIRECTORY` in, above or below an ACID table's directory": {
        _create("LOCATION '{bad}'"): "LOCATION_IN_USE",
        "INSERT OVERWRITE DIRECTORY '{bad}' USING orc SELECT 1 AS id": "LOCATION_IN_USE",
    },
    "adopting a table with other columns than its newest file": {
        _create("LOCATION '{copy}'"): "ADOPTED_SCHEMA_MISMATCH"
    },
    "another table format, or a plain table, where an ACID table is needed": {
        "ALTER TABLE bad_plain COMPACT 'major'": "NOT_A_TRANSACTIONAL_TABLE"
    },
}
# Rows that no statement by itself can be for; they have a test each below.
_NO_STATEMENT = {
    "a metastore that is neither a local SQLite file nor `thrift://`": {"UNSUPPORTED_METASTORE"},
    "a directory of a table of another metastore, also by a symbolic link": {
        "TABLE_OF_ANOTHER_METASTORE"  # test_table_owner
    },
    "a SQLite file on a network disk": {"METASTORE_NOT_LOCAL"},  # test_mounts
    "`CREATE TABLE` without `LOCATION`, or `AS SELECT`, where files are": {
        "LOCATION_ALREADY_EXISTS"  # test_catalog_safety
    },
    "on a Hive Metastore: a place, name or format that it refuses": {
        "LOCATION_OUTSIDE_WAREHOUSE",
        "INVALID_OBJECT",
        "UNSUPPORTED_FILE_FORMAT",
    },
    "deleted rows of a view, or of an insert-only table": {
        "UNSUPPORTED_FEATURE.DELETED_ROWS"  # test_deleted_rows_on_request
    },
    "`IMPORT` into a table with other columns or with rows, or an existing partition": {
        "IMPORT_SCHEMA_MISMATCH",  # test_archives
        "IMPORT_TARGET_NOT_EMPTY",
        "PARTITIONS_ALREADY_EXIST",
    },
    "a `Column` with a Python or lambda function, in `AcidTable` or as a parameter": {
        "UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT"
    },
    "a parameter that SQL has no literal for, as a UUID, `pandas.NA`, `pandas.NaT`": {
        "UNSUPPORTED_FEATURE.PARAMETER_TYPE"  # test_parameter_values
    },
}


def _cells_of_limits() -> Iterable[list[str]]:
    """Yield the cells of each row of the tables of refused statements."""
    text = (Path(__file__).parents[2] / "docs" / "limits.md").read_text("utf-8")
    section = text.partition("## Refused statements")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith("| statement or clause |"):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


def _rows_of_limits() -> Iterable[tuple[str, set[str]]]:
    """Yield the first cell and the conditions of each row."""
    for row, names, _ in _cells_of_limits():
        yield row, set(re.findall(r"`([A-Z_]+(?:\.[A-Z_]+)?)`", names))


def test_cells_of_limits_have_at_most_fifteen_words() -> None:
    for row, _, instead in _cells_of_limits():
        for cell in (row, instead):
            words = re.sub(r"\]\([^)]*\)", "]", cell).split()
            assert len(words) <= 15, cell


def test_each_row_of_limits_has_its_cases() -> None:
    cases = {row: set(texts.values()) for row, texts in _LIMITS.items()}
    cases |= _NO_STATEMENT
    assert cases == dict(_rows_of_limits())


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_rows_of_limits(lab: Lab, tmp_path: Path) -> None:
    lab.spark.range(1).write.orc(f"{tmp_path}/files")
    bad, copy = lab.root("bad"), tmp_path / "copy"
    shutil.copytree(bad, copy)
    places = {"{files}": f"{tmp_path}/files", "{bad}": str(bad), "{copy}": str(copy)}
    cases = {}
    for texts in _LIMITS.values():
        for text, condition in texts.items():
            placed = re.sub(r"\{(files|bad|copy)\}", lambda found: places[found[0]], text)
            unknown = condition.endswith("TABLE_CONSTRAINT") and lab.spark.version < "4.1"
            cases[placed] = "PARSE_SYNTAX_ERROR" if unknown else condition
    refused(lab, cases)


@pytest.mark.usefixtures("tables")
def test_columns_without_text_are_refused_as_parameters(lab: Lab) -> None:
    with unchanged(lab), pytest.raises(AcidSqlError) as caught:
        acidsql.sql(lab.spark, "DELETE FROM bad WHERE v = ?", [F.udf(lambda v: v)("v")])
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT"


def test_a_metastore_of_another_kind_is_refused(lab: Lab) -> None:
    session = lab.spark.newSession()
    session.conf.set("spark.acidsql.metastore", "mysql://localhost:3306/hive")
    with pytest.raises(AcidSqlError) as caught:
        acidsql.sql(session, "SHOW TABLES")
    assert caught.value.getCondition() == "UNSUPPORTED_METASTORE"
