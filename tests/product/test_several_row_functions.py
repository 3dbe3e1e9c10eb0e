"""Functions of several rows, and values that are not deterministic, where no row has one of them.

The conditions are those of Spark 4.3 over a table of its own whose rows have ids; where Spark's
depend on the other clauses of a MERGE, one is for all.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from tests.product.conftest import Lab
from tests.product.refusals import bad_tables, explained, refused

pytestmark = pytest.mark.spark

_WINDOW = "row_number() OVER (ORDER BY {0}.id)"
_OVER_AGGREGATE = "sum(max({0}.id)) OVER ()"
_AGGREGATE = "1 + max({0}.id)"
_GENERATOR = "explode(array(1, 2))"
_UDF = "undetermined({0}.id)"
_RANDOM = "CAST(10 * rand() AS INT)"
_UNSUPPORTED = "UNSUPPORTED_EXPR_FOR_OPERATOR"
_OUTSIDE = "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"
_IN_WHERE = {
    _WINDOW: "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
    _OVER_AGGREGATE: "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
    _AGGREGATE: "INVALID_WHERE_CONDITION",
    _GENERATOR: _OUTSIDE,
    _RANDOM: "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
    _UDF: "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
    "(SELECT 10 * rand())": "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
}
_IN_MERGE_CONDITIONS = {
    _WINDOW: _UNSUPPORTED,
    _OVER_AGGREGATE: "UNSUPPORTED_MERGE_CONDITION.AGGREGATE",
    _AGGREGATE: "UNSUPPORTED_MERGE_CONDITION.AGGREGATE",
    _GENERATOR: _OUTSIDE,
    _RANDOM: "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC",
    "(SELECT 10 * rand())": "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC",
}
_IN_MERGE_VALUES = {
    _WINDOW: _UNSUPPORTED,
    _OVER_AGGREGATE: _UNSUPPORTED,
    _AGGREGATE: _UNSUPPORTED,
    _GENERATOR: _OUTSIDE,
}
_MERGE = "MERGE INTO bad USING bad_source s ON bad.id = s.id"
# A statement with a place for a number, the table whose columns may be named in it, and the
# conditions of what is refused there.
_PLACES = {
    "UPDATE bad SET b = {}": (
        "bad",
        {
            _WINDOW: _UNSUPPORTED,
            _OVER_AGGREGATE: "MISSING_GROUP_BY",
            _AGGREGATE: "MISSING_GROUP_BY",
            _GENERATOR: _OUTSIDE,
        },
    ),
    "UPDATE bad SET v = 'x' WHERE {} > 1": ("bad", _IN_WHERE),
    "DELETE FROM bad WHERE {} > 1": ("bad", _IN_WHERE),
    _MERGE + " AND {} > 1 WHEN MATCHED THEN DELETE": ("s", _IN_MERGE_CONDITIONS),
    _MERGE + " WHEN MATCHED AND {} > 1 THEN UPDATE SET v = 'x'": ("bad", _IN_MERGE_CONDITIONS),
    _MERGE + " WHEN NOT MATCHED AND {} > 1 THEN INSERT (id) VALUES (s.id)": (
        "s",
        _IN_MERGE_CONDITIONS,
    ),
    _MERGE + " WHEN NOT MATCHED BY SOURCE AND {} > 1 THEN DELETE": ("bad", _IN_MERGE_CONDITIONS),
    _MERGE + " WHEN MATCHED THEN UPDATE SET b = {}": ("bad", _IN_MERGE_VALUES),
    _MERGE + " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET b = {}": ("bad", _IN_MERGE_VALUES),
    _MERGE + " WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, {})": ("s", _IN_MERGE_VALUES),
}
# Values 9, 2 and 7. A scalar subquery has one value for a row, whatever functions are in it.
_AGGREGATED = "(SELECT max(id) FROM bad_source)"
_NUMBERED = "(SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY id) AS r FROM bad_source))"
_EXPLODED = "(SELECT sum(e) FROM (SELECT explode(array(3, 4)) AS e))"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """Create the tables that the statements name, and a function that is not deterministic."""
    spark.udf.register("undetermined", udf(lambda value: value, "int").asNondeterministic())
    with bad_tables(spark):
        yield


@pytest.mark.repeated  # test_limits has one of each
@pytest.mark.usefixtures("tables")
def test_functions_of_several_rows_are_refused_where_there_is_one(lab: Lab) -> None:
    cases = {
        place.format(function.format(table)): condition
        for place, (table, functions) in _PLACES.items()
        for function, condition in functions.items()
    }
    refused(lab, cases)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "text",
    [
        "UPDATE bad SET b = grouping(b)",
        "UPDATE bad SET v = nothing",
        "UPDATE bad SET v = (SELECT max(bad.id) FROM bad_source)",
        f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = nothing",
        f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = (SELECT max(bad.id) FROM bad_source)",
        "MERGE INTO bad USING bad_source s ON bad.id = s.nothing WHEN MATCHED THEN DELETE",
        f"{_MERGE} WHEN MATCHED AND nothing THEN DELETE",
        "SELECT nothing FROM bad JOIN bad_source s ON bad.id = s.id",
    ],
)
def test_messages_of_spark_show_no_columns_of_acidsql(lab: Lab, text: str) -> None:
    with pytest.raises(Exception, match=r"^\[\w") as caught:
        lab.sql(text)
    message = str(caught.value)
    assert explained(text, caught.value)
    assert "__" not in message
    assert "Project [" not in message


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_functions_of_several_rows_in_subqueries(lab: Lab) -> None:
    t = lab.create("id INT, v INT, w BIGINT", values="(1, 0, 0), (2, 0, 0), (9, 0, 0)")
    lab.sql(f"UPDATE {t} SET v = {_NUMBERED}, w = {_EXPLODED} WHERE id < {_AGGREGATED}")
    assert lab.rows(t) == [(1, 2, 7), (2, 2, 7), (9, 0, 0)]
    lab.sql(
        f"MERGE INTO {t} t USING (SELECT 3 AS id UNION ALL SELECT 1) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET v = {_AGGREGATED} "
        f"WHEN NOT MATCHED THEN INSERT VALUES (s.id, {_NUMBERED}, {_EXPLODED})"
    )
    assert lab.rows(t) == [(1, 9, 7), (2, 2, 7), (3, 2, 7), (9, 0, 0)]
    lab.sql(f"DELETE FROM {t} WHERE v = {_NUMBERED} AND w = {_EXPLODED}")
    assert lab.rows(t) == [(1, 9, 7), (9, 0, 0)]
