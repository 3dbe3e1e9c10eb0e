"""Builders of MERGE, OPTIMIZE and CREATE TABLE, which the methods of ``AcidTable`` return.

The examples run as those of ``acidsql.api``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from acidsql import api, bridge
from acidsql.format.zorder import order_text
from acidsql.syntax.identity import Identity
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import property_list, quoted_string

Made = TypeVar("Made")

Expression: TypeAlias = str | Column


def expression_text(spark: SparkSession, value: Expression) -> str:
    """Return the SQL text of one expression; the newline ends a comment that may be in it.

    Raises:
        TypeError: it is neither SQL text nor a Column.
        ParseException: it is not one expression.
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
    """Return a clause with its condition, or nothing."""
    return "" if condition is None else f" {keyword} {expression_text(spark, condition)}"


def _values(
    spark: SparkSession, argument: str, given: Mapping[str, Expression] | None
) -> dict[str, str]:
    """Return columns with their values as SQL text."""
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
    """Return a name of several parts, each in backticks."""
    return ".".join(map(quote, bridge.parse_name(spark, text)))


@dataclass(frozen=True)
class MergeBuilder:
    """Builder of a MERGE, run by ``execute()``.

    Each method returns another builder with one clause more; clauses act in their order. A
    condition, where given, is the clause's ``AND``.

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
        """Add those columns to the table that only the source has and that clauses name.

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
            condition: which of the matched rows; all by default.
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
            condition: which of the source's rows; all by default.
            values: column → value; columns that are left out get their defaults.

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
            condition: which of them; all by default.
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


@dataclass(frozen=True)
class OptimizeBuilder:
    """Builder of a compaction, run by ``executeCompaction``.

    >>> AcidTable.forName(spark, "pet").optimize().executeCompaction("minor").collect()[0].type
    'minor'
    """

    spark: SparkSession
    name: str
    partition: str | None = None

    def where(self, partition: str) -> OptimizeBuilder:
        """Compact one partition only, given as in SQL's PARTITION clause: ``"p = 1, q = 'a'"``.

        >>> table = acidsql.sql(
        ...     spark,
        ...     "CREATE TABLE visit PARTITIONED BY (day) STORED AS ORC "
        ...     "TBLPROPERTIES ('transactional' = 'true') AS "
        ...     "SELECT * FROM VALUES (1, '2024-05-01'), (2, '2024-05-02') AS v (id, day)",
        ... )
        >>> compaction = AcidTable.forName(spark, "visit").optimize().where("day = '2024-05-01'")
        >>> [row.partname for row in compaction.executeCompaction().collect()]
        ['day=2024-05-01']
        """
        return replace(self, partition=partition)

    def executeCompaction(self, compaction_type: str = "major") -> DataFrame:  # noqa: N802
        """Compact now; return the entries of the queue, one for each partition.

        Args:
            compaction_type: ``major`` or ``minor``.

        >>> done = AcidTable.forName(spark, "pet").optimize().executeCompaction("major")
        >>> [row.state for row in done.collect()]
        ['succeeded']
        """
        part = f" PARTITION ({self.partition})" if self.partition else ""
        text = f"ALTER TABLE {self.name}{part} COMPACT '{compaction_type}' AND WAIT"
        return api.sql(self.spark, text)

    def executeZOrderBy(self, *columns: str) -> DataFrame:  # noqa: N802
        """Cluster the rows by some columns now; return the entries of the queue.

        >>> done = AcidTable.forName(spark, "pet").optimize().executeZOrderBy("id", "name")
        >>> [row.state for row in done.collect()]
        ['succeeded']
        """
        if self.partition is None:
            order = ", ".join(map(quote, columns))
            return api.sql(self.spark, f"OPTIMIZE {self.name} ZORDER BY ({order})")
        text = f"ALTER TABLE {self.name} PARTITION ({self.partition}) COMPACT 'rebalance' AND WAIT"
        return api.sql(self.spark, f"{text} ORDER BY {order_text(columns)}")


@dataclass(frozen=True)
class IdentityGenerator:
    """Numbers of the rows in an identity column, with Delta Lake's name.

    Attributes:
        start: number of the first row.
        step: from a number to the next; not 0.

    >>> acidsql.IdentityGenerator(start=10).step
    1
    """

    start: int = 1
    step: int = 1


@dataclass(frozen=True)
class TableBuilder(Generic[Made]):
    """Builder of a CREATE TABLE, run by ``execute()``; each method returns another builder.

    >>> builder = AcidTable.create(spark).tableName("toy").addColumn("id", "INT", nullable=False)
    >>> builder.addColumn("Name", "STRING", comment="of the toy").execute().toDF().columns
    ['id', 'name']
    """

    spark: SparkSession
    found: Callable[[SparkSession, str], Made]
    if_not_exists: bool = False
    head: str = "CREATE TABLE"
    name: str | None = None
    columns: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    path: str | None = None

    def tableName(self, name: str) -> TableBuilder[Made]:  # noqa: N802 - Delta Lake's name
        """Give the table a name, as in SQL.

        >>> AcidTable.create(spark).tableName("toy").name
        '`toy`'
        """
        return replace(self, name=quoted_parts(self.spark, name))

    def addColumn(  # noqa: N802
        self,
        name: str,
        dataType: str | DataType,  # noqa: N803
        *,
        nullable: bool = True,
        generatedAlwaysAs: str | IdentityGenerator | None = None,  # noqa: N803
        generatedByDefaultAs: IdentityGenerator | None = None,  # noqa: N803
        comment: str | None = None,
    ) -> TableBuilder[Made]:
        """Add a column.

        Args:
            name: of the column.
            dataType: as SQL, or a type of PySpark.
            nullable: whether it may be NULL.
            generatedAlwaysAs: SQL of other columns, from which its values are computed, or an
                ``IdentityGenerator`` that gives each row a number.
            generatedByDefaultAs: one that gives a number to rows without a value.
            comment: of the column.

        >>> AcidTable.create(spark).addColumn("id", "INT", nullable=False).columns
        ('`id` INT NOT NULL',)
        >>> AcidTable.create(spark).addColumn("twice", "INT", generatedAlwaysAs="id * 2").columns
        ('`twice` INT GENERATED ALWAYS AS (id * 2)',)
        >>> steps = acidsql.IdentityGenerator(start=10, step=5)
        >>> AcidTable.create(spark).addColumn("n", "BIGINT", generatedByDefaultAs=steps).columns
        ('`n` BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 10 INCREMENT BY 5)',)
        """
        kind = dataType if isinstance(dataType, str) else bridge.type_sql(self.spark, dataType)
        parts = [quote(name), kind, *([] if nullable else ["NOT NULL"])]
        if isinstance(generatedAlwaysAs, IdentityGenerator):
            parts.append(_declared(generatedAlwaysAs, always=True))
        elif generatedAlwaysAs is not None:
            parts.append(f"GENERATED ALWAYS AS ({generatedAlwaysAs})")
        if generatedByDefaultAs is not None:
            parts.append(_declared(generatedByDefaultAs, always=False))
        if comment is not None:
            parts.append(f"COMMENT {quoted_string(comment)}")
        return replace(self, columns=(*self.columns, " ".join(parts)))

    def addColumns(self, columns: StructType) -> TableBuilder[Made]:  # noqa: N802
        """Add the columns of a schema.

        >>> pets = acidsql.table(spark, "pet").schema
        >>> AcidTable.create(spark).addColumns(pets).columns
        ('`id` INT', '`name` STRING')
        """
        made = self
        for one in columns.fields:
            comment = one.metadata.get("comment")
            made = made.addColumn(one.name, one.dataType, nullable=one.nullable, comment=comment)
        return made

    def partitionedBy(self, *names: str) -> TableBuilder[Made]:  # noqa: N802
        """Make columns partition columns.

        >>> AcidTable.create(spark).addColumn("day", "DATE").partitionedBy("day").partitions
        ('day',)
        """
        return replace(self, partitions=(*self.partitions, *names))

    def property(self, key: str, value: str) -> TableBuilder[Made]:
        """Give the table a property.

        >>> AcidTable.create(spark).property("orc.compress", "ZLIB").properties
        {'orc.compress': 'ZLIB'}
        """
        return replace(self, properties={**self.properties, key: value})

    def comment(self, comment: str) -> TableBuilder[Made]:
        """Give the table a comment.

        >>> AcidTable.create(spark).comment("toys of the pets").text
        'toys of the pets'
        """
        return replace(self, text=comment)

    def location(self, location: str) -> TableBuilder[Made]:
        """Give the table a directory; one that holds an ACID table is adopted.

        >>> AcidTable.create(spark).location("/lake/toy").path
        '/lake/toy'
        """
        return replace(self, path=location)

    def execute(self) -> Made:
        """Create or replace the table, and return it.

        Raises:
            TypeError: the table has no name.
            AcidAnalysisError: as of CREATE TABLE.

        >>> builder = AcidTable.createIfNotExists(spark).tableName("toy").addColumn("id", "INT")
        >>> [builder.execute(), builder.execute()]
        [AcidTable(`toy`), AcidTable(`toy`)]
        """
        if self.name is None:
            raise TypeError("the table has no name: call tableName")
        clauses = [
            f"{self.head} {'IF NOT EXISTS ' if self.if_not_exists else ''}{self.name}",
            *([f"({', '.join(self.columns)})"] if self.columns else []),
            *(
                [f"PARTITIONED BY ({', '.join(map(quote, self.partitions))})"]
                * bool(self.partitions)
            ),
            *([] if self.text is None else [f"COMMENT {quoted_string(self.text)}"]),
            "STORED AS ORC",
            *([] if self.path is None else [f"LOCATION {quoted_string(self.path)}"]),
            f"TBLPROPERTIES ({property_list({**self.properties, 'transactional': 'true'})})",
        ]
        api.sql(self.spark, " ".join(clauses))
        return self.found(self.spark, self.name)


def _declared(numbers: IdentityGenerator, *, always: bool) -> str:
    """Return the declaration of an identity column.

    Args:
        numbers: of its rows.
        always: whether statements cannot give values of their own.
    """
    return Identity(start=numbers.start, increment=numbers.step, always=always).text
