"""Statements that are refused over names, clauses, types and syntax; nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import AcidParseError
from tests.product.refusals import ACID, bad_tables, refused

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_MERGE = "MERGE INTO bad USING bad_source s ON bad.id = s.id"
_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_NO_COLUMN = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
_NO_PARTITIONS = "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"
_ASSIGNMENTS = "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"
_UNSAFE = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """Create the tables that the statements name."""
    with bad_tables(spark):
        yield


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(
            {
                "UPDATE nope SET id = 1": _NO_TABLE,
                "UPDATE nowhere.bad SET id = 1": _NO_TABLE,
                "DELETE FROM nope": _NO_TABLE,
                "DELETE FROM nowhere.bad": _NO_TABLE,
                "DELETE FROM bad WHERE id IN (SELECT id FROM nope)": _NO_TABLE,
                "MERGE INTO nope USING bad ON true WHEN MATCHED THEN DELETE": _NO_TABLE,
                "MERGE INTO bad USING nope ON true WHEN MATCHED THEN DELETE": _NO_TABLE,
                "MERGE INTO bad USING nowhere.s ON true WHEN MATCHED THEN DELETE": _NO_TABLE,
                "INSERT INTO nope VALUES (1)": _NO_TABLE,
                "INSERT INTO nowhere.bad VALUES (1)": _NO_TABLE,
                "INSERT INTO bad SELECT * FROM nope": _NO_TABLE,
                "ALTER TABLE nope COMPACT 'major'": _NO_TABLE,
                "ALTER TABLE nowhere.bad COMPACT 'minor'": _NO_TABLE,
                "OPTIMIZE TABLE nope REWRITE DATA": _NO_TABLE,
                "SHOW PARTITIONS nope": _NO_TABLE,
                "SHOW COLUMNS IN nope": _NO_TABLE,
                "SHOW CREATE TABLE nope": _NO_TABLE,
                "DESCRIBE nope": _NO_TABLE,
                "DESCRIBE nowhere.bad": _NO_TABLE,
                "DROP TABLE nope": _NO_TABLE,
                "SHOW TABLES IN nowhere": "SCHEMA_NOT_FOUND",
                "USE nowhere": "SCHEMA_NOT_FOUND",
                "DROP DATABASE nowhere": "SCHEMA_NOT_FOUND",
                f"CREATE TABLE nowhere.t (id int) {ACID}": "SCHEMA_NOT_FOUND",
            },
            id="no such table or database",
        ),
        pytest.param(
            {
                "UPDATE bad SET nope = 1": _NO_COLUMN,
                "UPDATE bad SET id = nope": _NO_COLUMN,
                "UPDATE bad SET id = 1 WHERE nope = 1": _NO_COLUMN,
                "UPDATE bad_parts SET r = 1": _NO_COLUMN,
                "DELETE FROM bad WHERE nope = 1": _NO_COLUMN,
                f"{_MERGE} AND s.nope = 1 WHEN MATCHED THEN DELETE": _NO_COLUMN,
                f"{_MERGE} WHEN MATCHED AND s.nope = 1 THEN DELETE": _NO_COLUMN,
                f"{_MERGE} WHEN MATCHED THEN UPDATE SET nope = 1": _NO_COLUMN,
                f"{_MERGE} WHEN MATCHED THEN UPDATE SET *": _NO_COLUMN,
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT *": _NO_COLUMN,
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (nope) VALUES (1)": _NO_COLUMN,
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id) VALUES (bad.id)": _NO_COLUMN,
                f"{_MERGE} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = s.id": _NO_COLUMN,
                "INSERT INTO bad SELECT nope FROM bad": _NO_COLUMN,
                "INSERT INTO bad (id, nope) VALUES (1, 2)": _NO_COLUMN,
                "DESCRIBE bad nope": "COLUMN_NOT_FOUND",
                "SELECT nope FROM bad": _NO_COLUMN,
            },
            id="no such column",
        ),
        pytest.param(
            {
                "INSERT INTO bad_parts PARTITION (r = 1, q = 'a') VALUES (1)": (
                    "PARTITIONS_NOT_FOUND"
                ),
                "INSERT INTO bad_parts PARTITION (v = 1) VALUES (1, 'a')": "PARTITIONS_NOT_FOUND",
                "INSERT INTO bad PARTITION (id = 1) VALUES ('a', 1, 1)": "PARTITIONS_NOT_FOUND",
                "ALTER TABLE bad_parts PARTITION (p = 9) COMPACT 'major'": "PARTITIONS_NOT_FOUND",
                "ALTER TABLE bad_parts PARTITION (r = 1) COMPACT 'major'": "PARTITIONS_NOT_FOUND",
                "ALTER TABLE bad PARTITION (id = 1) COMPACT 'major'": _NO_PARTITIONS,
                "ALTER TABLE bad COMPACT 'tiny'": "INVALID_COMPACTION_TYPE",
                "SHOW PARTITIONS bad_parts PARTITION (r = 1)": "PARTITIONS_NOT_FOUND",
                "SHOW PARTITIONS bad": _NO_PARTITIONS,
                "DESCRIBE bad_parts PARTITION (p = 9, q = 'a')": "PARTITIONS_NOT_FOUND",
            },
            id="no such partition",
        ),
        pytest.param(
            {
                "ALTER TABLE bad_plain COMPACT 'major'": "NOT_A_TRANSACTIONAL_TABLE",
                "OPTIMIZE TABLE bad_plain REWRITE DATA": "NOT_A_TRANSACTIONAL_TABLE",
                "UPDATE bad_plain SET id = 1": "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                "DELETE FROM bad_plain": "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                "MERGE INTO bad_plain USING bad ON true WHEN MATCHED THEN DELETE": (
                    "UNSUPPORTED_FEATURE.TABLE_OPERATION"
                ),
                "UPDATE bad_view SET id = 1": "EXPECT_TABLE_NOT_VIEW",
                "DELETE FROM bad_view": "EXPECT_TABLE_NOT_VIEW",
                "MERGE INTO bad_view USING bad ON true WHEN MATCHED THEN DELETE": (
                    "EXPECT_TABLE_NOT_VIEW"
                ),
                "INSERT INTO bad_view VALUES (1)": "EXPECT_TABLE_NOT_VIEW",
                "ALTER TABLE bad_view COMPACT 'major'": "EXPECT_TABLE_NOT_VIEW",
                "DROP TABLE bad_view": "EXPECT_TABLE_NOT_VIEW",
                "DROP VIEW bad": "EXPECT_VIEW_NOT_TABLE",
                f"CREATE TABLE bad (id int) {ACID}": "TABLE_OR_VIEW_ALREADY_EXISTS",
                f"CREATE TABLE bad_plain (id int) {ACID}": "TABLE_OR_VIEW_ALREADY_EXISTS",
            },
            id="not a transactional table",
        ),
        pytest.param(
            {
                "INSERT INTO bad VALUES (1, 'a')": (
                    "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
                ),
                "INSERT INTO bad VALUES (1, 'a', 1, 1, 1)": (
                    "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
                ),
                "INSERT INTO bad (id, v) VALUES (1)": (
                    "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
                ),
                "INSERT INTO bad (id, v) VALUES (1, 'a', 2)": (
                    "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
                ),
                "INSERT INTO bad (id, v, ID) VALUES (1, 'a', 2)": "COLUMN_ALREADY_EXISTS",
                "INSERT INTO bad_parts PARTITION (p = 1, q = 'a') VALUES (1, 1)": (
                    "INSERT_PARTITION_COLUMN_ARITY_MISMATCH"
                ),
                "UPDATE bad SET v = 'a', V = 'b'": _ASSIGNMENTS,
                f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = 'a', v = 'b'": _ASSIGNMENTS,
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)": _ASSIGNMENTS,
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1)": (
                    "MERGE_INSERT_VALUE_COUNT_MISMATCH"
                ),
                "UPDATE bad SET id = NULL": "NOT_NULL_ASSERT_VIOLATION",
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (v) VALUES ('a')": _ASSIGNMENTS,
            },
            id="wrong columns",
        ),
        pytest.param(
            {
                _MERGE: "MERGE_WITHOUT_WHEN",
                f"{_MERGE} WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'x'": (
                    "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"
                ),
                f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id) VALUES (1) "
                "WHEN NOT MATCHED AND s.id = 1 THEN INSERT (id) VALUES (2)": (
                    "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION"
                ),
                f"{_MERGE} WHEN NOT MATCHED BY SOURCE THEN DELETE "
                "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'x'": (
                    "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"
                ),
                f"{_MERGE} WHEN MATCHED THEN INSERT *": "PARSE_SYNTAX_ERROR",
                f"{_MERGE} WHEN NOT MATCHED THEN DELETE": "PARSE_SYNTAX_ERROR",
                f"{_MERGE} WHEN NOT MATCHED BY SOURCE THEN INSERT *": "PARSE_SYNTAX_ERROR",
                "MERGE INTO bad USING bad_source s WHEN MATCHED THEN DELETE": "PARSE_SYNTAX_ERROR",
                f"{_MERGE} AND rand() > 2 WHEN MATCHED THEN DELETE": (
                    "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC"
                ),
                f"{_MERGE} WHEN MATCHED AND max(s.id) = 1 THEN DELETE": (
                    "UNSUPPORTED_MERGE_CONDITION.AGGREGATE"
                ),
                f"{_MERGE} AND s.id IN (SELECT id FROM bad) WHEN MATCHED THEN DELETE": (
                    "UNSUPPORTED_MERGE_CONDITION.SUBQUERY"
                ),
                f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id) "
                "VALUES (1), (2)": "PARSE_SYNTAX_ERROR",
            },
            id="clauses of MERGE",
        ),
    ],
)
def test_refused_over_names_and_clauses(lab: Lab, cases: Mapping[str, str]) -> None:
    refused(lab, cases)


def assigning(value: str, column: str = "b") -> Iterator[str]:
    """Yield a statement of each kind that stores a value in a column of ``bad``."""
    yield f"INSERT INTO bad (id, {column}) SELECT 5, {value}"
    yield f"UPDATE bad SET {column} = {value}"
    yield f"{_MERGE} WHEN MATCHED THEN UPDATE SET {column} = {value}"
    yield f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id, {column}) VALUES (5, {value})"


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("policy", "values"),
    [
        (
            "ANSI",
            {
                "'text'": _UNSAFE,
                "DATE'2024-01-01'": _UNSAFE,
                "array(1)": _UNSAFE,
                "1000": "CAST_OVERFLOW_IN_TABLE_INSERT",
            },
        ),
        ("STRICT", {"'text'": _UNSAFE, "1000": _UNSAFE, "CAST(1 AS int)": _UNSAFE}),
        ("LEGACY", {"array(1)": "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"}),
    ],
)
def test_refused_over_types(lab: Lab, policy: str, values: Mapping[str, str]) -> None:
    cases = {text: condition for v, condition in values.items() for text in assigning(v)}
    with lab.settings(spark__sql__storeAssignmentPolicy=policy):
        refused(lab, cases)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("text", "place", "caret"),
    [
        ("ALTER TABLE bad COMPACT", (1, 24), "ALTER TABLE bad COMPACT\n" + " " * 23 + "^"),
        (
            "ALTER TABLE bad COMPACT major",
            (1, 25),
            "ALTER TABLE bad COMPACT major\n" + " " * 24 + "^",
        ),
        (
            "ALTER TABLE bad\n COMPACT 'major' NOW",
            (2, 18),
            " COMPACT 'major' NOW\n" + " " * 17 + "^",
        ),
        ("OPTIMIZE TABLE bad REWRITE", (1, 27), "OPTIMIZE TABLE bad REWRITE\n" + " " * 26 + "^"),
        ("SHOW TRANSACTIONS bad", (1, 19), "SHOW TRANSACTIONS bad\n" + " " * 18 + "^"),
        ("ABORT TRANSACTIONS all", (1, 20), "ABORT TRANSACTIONS all\n" + " " * 19 + "^"),
        ("SHOW LOCKS bad NOW", (1, 16), "SHOW LOCKS bad NOW\n" + " " * 15 + "^"),
        (
            "CREATE TRANSACTIONAL VIEW bad2 (id int)",
            (1, 22),
            "CREATE TRANSACTIONAL VIEW bad2 (id int)\n" + " " * 21 + "^",
        ),
        (
            "CREATE TABLE bad2 (id int)\nSTORE AS ORC TBLPROPERTIES ('transactional'='true')",
            (2, 1),
            "STORE AS ORC TBLPROPERTIES ('transactional'='true')\n^",
        ),
    ],
)
def test_malformed_texts_that_can_only_be_ours(
    lab: Lab, text: str, place: tuple[int, int], caret: str
) -> None:
    before = (lab.tree("bad"), lab.sql("SHOW TABLES"), lab.sql("SHOW TRANSACTIONS"))
    with pytest.raises(AcidParseError) as caught:
        lab.sql(text)
    assert caught.value.getCondition() == "PARSE_SYNTAX_ERROR"
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.context == caret
    assert str(caught.value).endswith(caret)
    assert (lab.tree("bad"), lab.sql("SHOW TABLES"), lab.sql("SHOW TRANSACTIONS")) == before


@pytest.mark.sample(1)
@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "wrapped", ["{}", "array<{}>", "map<string, {}>", "struct<a: struct<b: {}>>"]
)
def test_refused_types(lab: Lab, wrapped: str) -> None:
    types = ["interval day to second", "interval year to month", "void"]
    if int(lab.spark.version.split(".")[0]) >= 4:
        types.append("variant")
    kinds = [wrapped.format(kind) for kind in types]
    cases = {
        f"CREATE TABLE bad2 (id int, x {kind}) {ACID}": "UNSUPPORTED_DATATYPE" for kind in kinds
    }
    if wrapped == "{}":
        cases[f"CREATE TABLE bad2 (id int) PARTITIONED BY (x interval day) {ACID}"] = (
            "UNSUPPORTED_DATATYPE"
        )
        cases[f"CREATE TABLE bad2 {ACID} AS SELECT INTERVAL 1 DAY AS x"] = "UNSUPPORTED_DATATYPE"
        cases[f"CREATE TABLE bad2 {ACID} AS SELECT NULL AS x"] = "UNSUPPORTED_DATATYPE"
    refused(lab, cases)


@pytest.mark.usefixtures("tables")
def test_refused_columns_and_properties(lab: Lab) -> None:
    def create(columns: str = "id int", clauses: str = "", properties: str = "") -> str:
        extra = f", {properties}" if properties else ""
        return (
            f"CREATE TABLE bad2 ({columns}) {clauses} STORED AS ORC "
            f"TBLPROPERTIES ('transactional'='true'{extra})"
        )

    refused(
        lab,
        {
            create("id int, ID string"): "COLUMN_ALREADY_EXISTS",
            create(clauses="PARTITIONED BY (id int)"): "COLUMN_ALREADY_EXISTS",
            create(clauses="PARTITIONED BY (id)"): "MISSING_COLUMNS",
            create(clauses="PARTITIONED BY (p)"): "COLUMN_NOT_FOUND",
            create(clauses="PARTITIONED BY (p array<int>)"): "INVALID_PARTITION_COLUMN_DATA_TYPE",
            create(clauses="PARTITIONED BY (p binary)"): "INVALID_PARTITION_COLUMN_DATA_TYPE",
            create("id int, d int DEFAULT nope"): "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
            create("id nonsense"): "UNSUPPORTED_DATATYPE",
            create(properties="'orc.compress'='lzma'"): "INVALID_TABLE_PROPERTY",
            create(properties="'orc.mask'='nullify,id'"): "UNSUPPORTED_FEATURE.TABLE_PROPERTY",
            create(
                properties="'external.table.purge'='true'"
            ): "UNSUPPORTED_FEATURE.TABLE_PROPERTY",
            f"CREATE TABLE bad2 {ACID}": "MISSING_COLUMNS",
            f"CREATE TABLE a.b.c (id int) {ACID}": "REQUIRES_SINGLE_PART_NAMESPACE",
        },
    )
