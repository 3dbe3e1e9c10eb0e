"""Builder of MERGE, which ``AcidTable.merge`` returns, and SQL texts of conditions and values.

The examples run in the same setting as those of ``acidsql.api``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.syntax.lexer import quote

Expression: TypeAlias = str | Column


def expression_text(spark: SparkSession, value: Expression) -> str:
    """Return the SQL text of one expression; its final newline ends a comment in the text.

    Raises:
        TypeError: the value is neither SQL text nor a Column.
        ParseException: the text is not a single expression.
    """
    if isinstance(value, Column):
        return bridge.column_sql(spark, value)
    if not isinstance(value, str):
        raise TypeError(
            f"{value!r} is neither SQL text nor a Column: write it as text, or use "
            "pyspark.sql.functions.lit"
        )
    bridge.check_expression(spark, value)
    return f"{value}\n"


def optional_clause(spark: SparkSession, keyword: str, condition: Expression | None) -> str:
    """Return a clause with its condition, or an empty text without a condition."""
    return "" if condition is None else f" {keyword} {expression_text(spark, condition)}"


def _values(
    spark: SparkSession, argument: str, given: Mapping[str, Expression] | None
) -> dict[str, str]:
    """Return columns, each with the SQL text of its value."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{argument} is {given!r}: give a dict of columns and their values")
    return {
        quoted_parts(spark, column): expression_text(spark, value)
        for column, value in given.items()
    }


def assignments(spark: SparkSession, given: Mapping[str, Expression] | None) -> str:
    """Return the assignments of a SET clause."""
    return ", ".join(f"{column} = {v}" for column, v in _values(spark, "set", given).items())


def quoted_parts(spark: SparkSession, text: str) -> str:
    """Return a multi-part name with each part in backticks."""
    return ".".join(map(quote, bridge.parse_name(spark, text)))


@dataclass(frozen=True)
class MergeBuilder:
    """Builder of a MERGE, run by ``execute()``.

    Each method returns a new builder with one more clause. Clauses apply in their order. A
    condition becomes the ``AND`` of its clause.

    >>> news = spark.createDataFrame([(1, None), (3, "Kim")], "id INT, name STRING")
    >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
    >>> merge = merge.whenMatchedDelete("s.name IS NULL").whenMatchedUpdateAll()
    >>> merge = merge.whenNotMatchedInsertAll()
    >>> merge.execute().collect()[0].num_affected_rows
    2
    >>> acidsql.table(spark, "pet").orderBy("id").collect()
    [Row(id=2, name='Tom'), Row(id=3, name='Kim')]
    """

    spark: SparkSession
    target: str
    source: DataFrame
    condition: str
    clauses: tuple[str, ...] = ()
    schema_evolution: bool = False

    def withSchemaEvolution(self) -> MergeBuilder:  # noqa: N802
        """Add columns to the table that clauses name and that only the source has.

        >>> news = spark.createDataFrame([(4, "Kim", 3)], "id INT, name STRING, age INT")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge = merge.withSchemaEvolution().whenNotMatchedInsertAll()
        >>> merge.execute().collect()[0].num_inserted_rows
        1
        >>> acidsql.table(spark, "pet").columns
        ['id', 'name', 'age']
        """
        return replace(self, schema_evolution=True)

    def _with(self, when: str, condition: Expression | None, action: str) -> MergeBuilder:
        extra = optional_clause(self.spark, "AND", condition)
        return replace(self, clauses=(*self.clauses, f"WHEN {when}{extra} THEN {action}"))

    def whenMatchedUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Add WHEN MATCHED THEN UPDATE SET.

        Args:
            condition: condition on the matched rows; all by default.
            set: column → new value.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenMatchedUpdate(set={"name": "s.name"}).execute().collect()[0].num_updated_rows
        1
        """
        values = assignments(self.spark, set)
        return self._with("MATCHED", condition, f"UPDATE SET {values}")

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Add ``WHEN MATCHED THEN UPDATE SET *``: every column gets the source's value.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenMatchedUpdateAll("s.id > 2").execute().collect()[0].num_updated_rows
        0
        """
        return self._with("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Add WHEN MATCHED THEN DELETE.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenMatchedDelete().execute().collect()[0].num_deleted_rows
        1
        """
        return self._with("MATCHED", condition, "DELETE")

    def whenNotMatchedInsert(  # noqa: N802
        self,
        condition: Expression | None = None,
        values: Mapping[str, Expression] | None = None,
    ) -> MergeBuilder:
        """Add WHEN NOT MATCHED THEN INSERT.

        Args:
            condition: condition on the source's rows; all by default.
            values: column → value; other columns get their defaults.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge = merge.whenNotMatchedInsert(values={"id": "s.id", "name": "upper(s.name)"})
        >>> merge.execute().collect()[0].num_inserted_rows
        1
        """
        given = _values(self.spark, "values", values)
        columns, texts = ", ".join(given), ", ".join(given.values())
        return self._with("NOT MATCHED", condition, f"INSERT ({columns}) VALUES ({texts})")

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Add ``WHEN NOT MATCHED THEN INSERT *``.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenNotMatchedInsertAll().execute().collect()[0].num_inserted_rows
        1
        """
        return self._with("NOT MATCHED", condition, "INSERT *")

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Add WHEN NOT MATCHED BY SOURCE THEN UPDATE SET, for rows that the source does not have.

        Args:
            condition: condition on these rows; all by default.
            set: column → new value, which uses only columns of the table.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge = merge.whenNotMatchedBySourceUpdate(set={"name": "concat(t.name, '?')"})
        >>> merge.execute().collect()[0].num_updated_rows
        1
        """
        values = assignments(self.spark, set)
        return self._with("NOT MATCHED BY SOURCE", condition, f"UPDATE SET {values}")

    def whenNotMatchedBySourceDelete(  # noqa: N802
        self, condition: Expression | None = None
    ) -> MergeBuilder:
        """Add WHEN NOT MATCHED BY SOURCE THEN DELETE.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenNotMatchedBySourceDelete().execute().collect()[0].num_deleted_rows
        1
        """
        return self._with("NOT MATCHED BY SOURCE", condition, "DELETE")

    def execute(self) -> DataFrame:
        """Run the MERGE; return one row of counts.

        Raises:
            CardinalityError: the source matches a row of the table twice.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenMatchedUpdateAll().execute().columns
        ['num_affected_rows', 'num_updated_rows', 'num_deleted_rows', 'num_inserted_rows']
        """
        alias = bridge.alias_of(self.source)
        named = f" AS {quote(alias)}" if alias else ""
        clauses = " ".join(self.clauses)
        evolution = " WITH SCHEMA EVOLUTION" if self.schema_evolution else ""
        text = (
            f"{_escaped(f'MERGE{evolution} INTO {self.target} USING ')}{{__source}}"
            f"{_escaped(f'{named} ON {self.condition} {clauses}')}"
        )
        return api.sql(self.spark, text, __source=self.source)


def _escaped(text: str) -> str:
    """Escape the braces of a text."""
    return text.replace("{", "{{").replace("}", "}}")
