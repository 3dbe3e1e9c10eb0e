"""``AcidTable``, which has the methods of Delta Lake's Python API for ACID tables.

The examples run as those of ``acidsql.api``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.commands import write_frame
from acidsql.planning.name_resolution import acid_table
from acidsql.syntax.lexer import quote

Expression: TypeAlias = str | Column


def _text(spark: SparkSession, value: Expression) -> str:
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


def _optional(spark: SparkSession, keyword: str, condition: Expression | None) -> str:
    return "" if condition is None else f" {keyword} {_text(spark, condition)}"


def _values(
    spark: SparkSession, argument: str, given: Mapping[str, Expression] | None
) -> dict[str, str]:
    """Return columns with their values as SQL text."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{argument} is {given!r}: give a dict of columns and their values")
    return {_name(spark, column): _text(spark, value) for column, value in given.items()}


def _assignments(spark: SparkSession, given: Mapping[str, Expression] | None) -> str:
    return ", ".join(f"{column} = {v}" for column, v in _values(spark, "set", given).items())


def _name(spark: SparkSession, text: str) -> str:
    return ".".join(map(quote, bridge.parse_name(spark, text)))


def _check_frame(source: DataFrame) -> None:
    if not isinstance(source, DataFrame):
        raise TypeError(f"the source is {source!r}: give a DataFrame")


def _is_by_name(source: DataFrame, by: str) -> bool:
    _check_frame(source)
    if by not in ("name", "position"):
        raise TypeError(f"by is {by!r}: use 'name' or 'position'")
    return by == "name"


@dataclass(frozen=True)
class AcidTable:
    """Transactional table; ``AcidTable.forName(spark, "t")`` finds it.

    Conditions and values are SQL text or columns that name their table (``"t.id = s.id"``).

    Attributes:
        spark: the session.
        name: of the table, with backticks where needed.
        known_as: its alias, if it has one.

    >>> pets = AcidTable.forName(spark, "pet")
    >>> pets.update("id = 1", set={"name": "upper(name)"}).collect()
    [Row(num_affected_rows=1, num_updated_rows=1)]
    >>> pets.toDF().orderBy("id").collect()
    [Row(id=1, name='REX'), Row(id=2, name='Tom')]
    """

    spark: SparkSession
    name: str
    known_as: str | None = None

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> AcidTable:  # noqa: N802 - Delta Lake's name
        """Return the table of a name.

        Raises:
            AcidAnalysisError: there is none, or it is not transactional.

        >>> AcidTable.forName(spark, "pet").name
        '`pet`'
        """
        api.location(spark, name)
        return cls(spark, _name(spark, name))

    def toDF(self) -> DataFrame:  # noqa: N802 - Delta Lake's name
        """Return the rows, as of now.

        >>> AcidTable.forName(spark, "pet").toDF().count()
        2
        """
        rows = api.table(self.spark, self.name)
        return rows if self.known_as is None else rows.alias(self.known_as)

    def alias(self, name: str) -> AcidTable:
        """Return the table under another name, for conditions.

        >>> pets = AcidTable.forName(spark, "pet").alias("p")
        >>> pets.delete("p.id = 1").collect()
        [Row(num_affected_rows=1, num_deleted_rows=1)]
        """
        return replace(self, known_as=name)

    @property
    def target(self) -> str:
        """Name and alias of the table, as they are in statements that write it."""
        return self.name if self.known_as is None else f"{self.name} AS {quote(self.known_as)}"

    def update(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002 - Delta Lake's name
    ) -> DataFrame:
        """Run an UPDATE; return one row of counts.

        Args:
            condition: which rows; all of them by default.
            set: column → new value.

        >>> from pyspark.sql import functions as F
        >>> pets = AcidTable.forName(spark, "pet")
        >>> pets.update(F.col("id") == 2, set={"name": F.lit("Felix")}).collect()
        [Row(num_affected_rows=1, num_updated_rows=1)]
        """
        where = _optional(self.spark, "WHERE", condition)
        text = f"UPDATE {self.target} SET {_assignments(self.spark, set)}{where}"
        return api.sql(self.spark, text)

    def delete(self, condition: Expression | None = None) -> DataFrame:
        """Run a DELETE; return one row of counts.

        Args:
            condition: which rows; all of them by default.

        >>> AcidTable.forName(spark, "pet").delete("name LIKE 'T%'").collect()
        [Row(num_affected_rows=1, num_deleted_rows=1)]
        """
        where = _optional(self.spark, "WHERE", condition)
        return api.sql(self.spark, f"DELETE FROM {self.target}{where}")

    def append(self, source: DataFrame, *, by: str = "name") -> DataFrame:
        """Run an INSERT INTO; return one row of counts.

        Args:
            source: the rows.
            by: how columns are matched: by ``name``, where columns that the DataFrame lacks get
                their defaults, or by ``position``.

        >>> news = spark.createDataFrame([("Kim", 3)], "name STRING, id INT")
        >>> AcidTable.forName(spark, "pet").append(news).collect()
        [Row(num_affected_rows=1, num_inserted_rows=1)]
        """
        by_name = _is_by_name(source, by)
        with api.working(self.spark) as session:
            table = acid_table(session, bridge.parse_name(self.spark, self.name))
            return write_frame.append(session, table, source, by_name=by_name)

    def overwrite(
        self,
        source: DataFrame,
        partitions: Mapping[str, object] | None = None,
        *,
        partition_overwrite_mode: str | None = None,
        by: str = "name",
    ) -> DataFrame:
        """Run an INSERT OVERWRITE; return one row of counts.

        Args:
            source: the rows.
            partitions: values of partition columns, ``{"day": date(2024, 1, 1)}``: only these
                partitions are replaced, and ``source`` does not have these columns. All of the
                table by default.
            partition_overwrite_mode: ``static``: all that ``partitions`` names is replaced, also
                what gets no rows; ``dynamic``: the partitions that get rows. By default the
                session's ``spark.sql.sources.partitionOverwriteMode``, which is static if unset.
            by: see ``append``.

        Raises:
            AcidAnalysisError: NON_PARTITION_COLUMN, INVALID_PARTITION_OVERWRITE_MODE,
                STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> pets.overwrite(pets.toDF().where("id = 2")).collect()
        [Row(num_affected_rows=1, num_inserted_rows=1)]
        >>> pets.toDF().collect()
        [Row(id=2, name='Tom')]
        """
        by_name = _is_by_name(source, by)
        if partitions is not None and not partitions:
            raise TypeError("partitions is empty: give values, or None for the whole table")
        with api.working(self.spark) as session:
            table = acid_table(session, bridge.parse_name(self.spark, self.name))
            mode = partition_overwrite_mode or write_frame.overwrite_mode(session)
            return write_frame.overwrite(
                session, table, source, partitions=partitions, mode=mode, by_name=by_name
            )

    def merge(self, source: DataFrame, condition: Expression) -> MergeBuilder:
        """Start a MERGE with a DataFrame, which keeps its alias (``df.alias("s")``).

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute().show()
        +-----------------+----------------+----------------+-----------------+
        |num_affected_rows|num_updated_rows|num_deleted_rows|num_inserted_rows|
        +-----------------+----------------+----------------+-----------------+
        |                2|               1|               0|                1|
        +-----------------+----------------+----------------+-----------------+
        """
        _check_frame(source)
        return MergeBuilder(self, source, _text(self.spark, condition))

    def optimize(self) -> OptimizeBuilder:
        """Start a compaction.

        >>> done = AcidTable.forName(spark, "pet").optimize().executeCompaction()
        >>> [(row.type, row.state) for row in done.collect()]
        [('major', 'succeeded')]
        """
        return OptimizeBuilder(self)


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

    table: AcidTable
    source: DataFrame
    condition: str
    clauses: tuple[str, ...] = ()

    def _with(self, when: str, condition: Expression | None, action: str) -> MergeBuilder:
        extra = _optional(self.table.spark, "AND", condition)
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
        values = _assignments(self.table.spark, set)
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
        given = _values(self.table.spark, "values", values)
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
            set: column → new value, made of the table's columns alone.

        >>> news = spark.createDataFrame([(2, "Felix"), (3, "Kim")], "id INT, name STRING")
        >>> merge = AcidTable.forName(spark, "pet").alias("t").merge(news.alias("s"), "t.id = s.id")
        >>> merge = merge.whenNotMatchedBySourceUpdate(set={"name": "concat(t.name, '?')"})
        >>> merge.execute().collect()[0].num_updated_rows
        1
        """
        values = _assignments(self.table.spark, set)
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
        text = (
            f"{_escaped(f'MERGE INTO {self.table.target} USING ')}{{__source}}"
            f"{_escaped(f'{named} ON {self.condition} {clauses}')}"
        )
        return api.sql(self.table.spark, text, __source=self.source)


def _escaped(text: str) -> str:
    """Escape the braces of a text."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class OptimizeBuilder:
    """Builder of a compaction, run by ``executeCompaction``.

    >>> AcidTable.forName(spark, "pet").optimize().executeCompaction("minor").collect()[0].type
    'minor'
    """

    table: AcidTable
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
        text = f"ALTER TABLE {self.table.name}{part} COMPACT '{compaction_type}' AND WAIT"
        return api.sql(self.table.spark, text)
