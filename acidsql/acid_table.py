"""``AcidTable``: the methods of Delta Lake's Python API for ACID tables.

The examples run in the same setting as those of ``acidsql.api``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from html import escape

from pyspark.sql import DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.commands import write_frame
from acidsql.errors import AcidAnalysisError
from acidsql.merge_builder import (
    Expression,
    MergeBuilder,
    assignments,
    expression_text,
    optional_clause,
    quoted_parts,
)
from acidsql.planning.name_resolution import acid_table
from acidsql.syntax.lexer import quote
from acidsql.table_builders import OptimizeBuilder, TableBuilder


def _check_frame(source: DataFrame) -> None:
    if not isinstance(source, DataFrame):
        raise TypeError(f"the source is {source!r}: give a DataFrame")


def _is_by_name(source: DataFrame, by: str) -> bool:
    _check_frame(source)
    if by not in ("name", "position"):
        raise TypeError(f"by is {by!r}: use 'name' or 'position'")
    return by == "name"


# Error conditions which mean that a name is not a transactional table.
_NO_ACID_TABLE = ("EXPECT_TABLE_NOT_VIEW", "NOT_A_TRANSACTIONAL_TABLE", "TABLE_OR_VIEW_NOT_FOUND")


@dataclass(frozen=True, repr=False)
class AcidTable:
    """Transactional table; ``AcidTable.forName(spark, "t")`` finds it.

    Conditions and values are SQL text or columns that name their table (``"t.id = s.id"``).

    Attributes:
        spark: the session.
        name: name of the table, with backticks where needed.
        known_as: alias of the table, if it has one.

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
        """Return the table with a name.

        Raises:
            AcidAnalysisError: the table does not exist, or it is not transactional.

        >>> AcidTable.forName(spark, "pet").name
        '`pet`'
        """
        api.location(spark, name)
        return cls(spark, quoted_parts(spark, name))

    @classmethod
    def isAcidTable(cls, spark: SparkSession, name: str) -> bool:  # noqa: N802 - as Delta Lake's
        """Return whether a name belongs to a transactional table.

        >>> AcidTable.isAcidTable(spark, "pet"), AcidTable.isAcidTable(spark, "nothing")
        (True, False)
        """
        try:
            api.location(spark, name)
        except AcidAnalysisError as error:
            if error.getCondition() not in _NO_ACID_TABLE:
                raise
            return False
        return True

    @classmethod
    def create(cls, spark: SparkSession) -> TableBuilder[AcidTable]:
        """Return a builder of a new table.

        >>> toys = AcidTable.create(spark).tableName("toy").addColumn("id", "INT").execute()
        >>> toys
        AcidTable(`toy`)
        """
        return TableBuilder(spark, cls.forName)

    @classmethod
    def createIfNotExists(  # noqa: N802 - Delta Lake's name
        cls, spark: SparkSession
    ) -> TableBuilder[AcidTable]:
        """Return a builder of a new table; an existing table is left unchanged.

        >>> builder = AcidTable.createIfNotExists(spark).tableName("pet").addColumn("x", "INT")
        >>> builder.execute().toDF().columns
        ['id', 'name']
        """
        return TableBuilder(spark, cls.forName, if_not_exists=True)

    @classmethod
    def createOrReplace(  # noqa: N802 - Delta Lake's name
        cls, spark: SparkSession
    ) -> TableBuilder[AcidTable]:
        """Return a builder of a new table, which replaces an existing table.

        >>> builder = AcidTable.createOrReplace(spark).tableName("pet").addColumn("x", "INT")
        >>> builder.execute().toDF().collect()
        []
        """
        return TableBuilder(spark, cls.forName, head="CREATE OR REPLACE TABLE")

    @classmethod
    def replace(cls, spark: SparkSession) -> TableBuilder[AcidTable]:
        """Return a builder of a table that replaces a table, which must exist.

        >>> builder = AcidTable.replace(spark).tableName("pet").addColumn("id", "BIGINT")
        >>> builder.execute().toDF().columns
        ['id']
        """
        return TableBuilder(spark, cls.forName, head="REPLACE TABLE")

    def __repr__(self) -> str:
        return f"AcidTable({self.target})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def toDF(self) -> DataFrame:  # noqa: N802 - Delta Lake's name
        """Return the current rows.

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
        """Name and alias of the table, in the form for statements that write to it."""
        return self.name if self.known_as is None else f"{self.name} AS {quote(self.known_as)}"

    def update(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002 - Delta Lake's name
    ) -> DataFrame:
        """Run an UPDATE; return one row of counts.

        Args:
            condition: rows to update; all rows by default.
            set: column → new value.

        >>> from pyspark.sql import functions as F
        >>> pets = AcidTable.forName(spark, "pet")
        >>> pets.update(F.col("id") == 2, set={"name": F.lit("Felix")}).collect()
        [Row(num_affected_rows=1, num_updated_rows=1)]
        """
        where = optional_clause(self.spark, "WHERE", condition)
        text = f"UPDATE {self.target} SET {assignments(self.spark, set)}{where}"
        return api.sql(self.spark, text)

    def delete(self, condition: Expression | None = None) -> DataFrame:
        """Run a DELETE; return one row of counts.

        Args:
            condition: rows to delete; all rows by default.

        >>> AcidTable.forName(spark, "pet").delete("name LIKE 'T%'").collect()
        [Row(num_affected_rows=1, num_deleted_rows=1)]
        """
        where = optional_clause(self.spark, "WHERE", condition)
        return api.sql(self.spark, f"DELETE FROM {self.target}{where}")

    def append(
        self, source: DataFrame, *, by: str = "name", merge_schema: bool = False
    ) -> DataFrame:
        """Run an INSERT INTO; return one row of counts.

        Args:
            source: the rows.
            by: how columns are matched: by ``name`` or by ``position``. By name, columns that the
                DataFrame lacks get their defaults.
            merge_schema: whether to add the DataFrame's additional columns to the table, as WITH
                SCHEMA EVOLUTION does.

        >>> news = spark.createDataFrame([("Kim", 3)], "name STRING, id INT")
        >>> AcidTable.forName(spark, "pet").append(news).collect()
        [Row(num_affected_rows=1, num_inserted_rows=1)]
        """
        by_name = _is_by_name(source, by)
        with api.working(self.spark) as session:
            table = acid_table(session, bridge.parse_name(self.spark, self.name))
            return write_frame.append(
                session, table, source, by_name=by_name, merges_schema=merge_schema
            )

    def overwrite(
        self,
        source: DataFrame,
        partitions: Mapping[str, object] | None = None,
        *,
        partition_overwrite_mode: str | None = None,
        replace_where: Expression | None = None,
        by: str = "name",
    ) -> DataFrame:
        """Run an INSERT OVERWRITE, or INSERT … REPLACE WHERE; return one row of counts.

        Args:
            source: the rows.
            partitions: values of partition columns, ``{"day": date(2024, 1, 1)}``. Only these
                partitions are replaced, and ``source`` must not have these columns. By default the
                whole table is replaced.
            partition_overwrite_mode: ``static`` replaces all partitions that ``partitions`` names,
                also those that get no rows; ``dynamic`` replaces only partitions that get rows. By
                default the session's ``spark.sql.sources.partitionOverwriteMode``, which is static
                if unset.
            replace_where: condition on the rows to replace; each new row must meet it too. It is
                used instead of the two arguments before it.
            by: see ``append``.

        Raises:
            AcidAnalysisError: NON_PARTITION_COLUMN, INVALID_PARTITION_OVERWRITE_MODE,
                STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST, REPLACE_WHERE_MISMATCH.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> pets.overwrite(pets.toDF().where("id = 2")).collect()
        [Row(num_affected_rows=1, num_inserted_rows=1)]
        >>> pets.toDF().collect()
        [Row(id=2, name='Tom')]
        """
        by_name = _is_by_name(source, by)
        if partitions is not None and not partitions:
            raise TypeError("partitions is empty: give values, or None for the whole table")
        if replace_where is not None and (partitions or partition_overwrite_mode):
            raise TypeError("replace_where says what is replaced: leave the other argument out")
        with api.working(self.spark) as session:
            table = acid_table(session, bridge.parse_name(self.spark, self.name))
            if replace_where is not None:
                condition = expression_text(self.spark, replace_where)
                return write_frame.overwrite_where(
                    session, table, source, condition, checked=True, by_name=by_name
                )
            mode = partition_overwrite_mode or write_frame.overwrite_mode(session)
            return write_frame.overwrite(
                session, table, source, partitions=partitions, mode=mode, by_name=by_name
            )

    def merge(self, source: DataFrame, condition: Expression) -> MergeBuilder:
        """Start a MERGE with a DataFrame; its alias (``df.alias("s")``) is valid in the MERGE.

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
        return MergeBuilder(self.spark, self.target, source, expression_text(self.spark, condition))

    def optimize(self) -> OptimizeBuilder:
        """Start a compaction.

        >>> done = AcidTable.forName(spark, "pet").optimize().executeCompaction()
        >>> [(row.type, row.state) for row in done.collect()]
        [('major', 'succeeded')]
        """
        return OptimizeBuilder(self.spark, self.name)

    def history(self, limit: int | None = None) -> DataFrame:
        """Return the newest write ids and compactions of the table, as DESCRIBE HISTORY does.

        Args:
            limit: largest number of rows; by default all rows are returned.

        >>> deleted = AcidTable.forName(spark, "pet").delete("id = 1")
        >>> newest = AcidTable.forName(spark, "pet").history(2)
        >>> newest.select("writeId", "operation", "numInsertedRows", "numDeletedRows").show()
        +-------+---------+---------------+--------------+
        |writeId|operation|numInsertedRows|numDeletedRows|
        +-------+---------+---------------+--------------+
        |      3|   DELETE|              0|             1|
        |      2|   INSERT|              1|             0|
        +-------+---------+---------------+--------------+
        """
        most = "" if limit is None else f" LIMIT {int(limit)}"
        return api.sql(self.spark, f"DESCRIBE HISTORY {self.name}{most}")

    def addConstraint(self, name: str, check: Expression) -> DataFrame:  # noqa: N802
        """Run ADD CONSTRAINT … CHECK: from now on, the condition must not be false for any row.

        Args:
            name: name of the constraint.
            check: condition on the columns of the table.

        Raises:
            AcidAnalysisError: NEW_CHECK_CONSTRAINT_VIOLATION, it is false for an existing row;
                CONSTRAINT_ALREADY_EXISTS.

        >>> from pyspark.sql import functions as F
        >>> pets = AcidTable.forName(spark, "pet")
        >>> added = pets.addConstraint("positive", F.col("id") > 0)
        >>> try:
        ...     pets.update("id = 1", set={"id": "-1"})
        ... except acidsql.AcidSqlError as error:
        ...     error.getCondition()
        'CHECK_CONSTRAINT_VIOLATION'
        """
        condition = expression_text(self.spark, check)
        text = f"ALTER TABLE {self.name} ADD CONSTRAINT {quote(name)} CHECK ({condition})"
        return api.sql(self.spark, text)

    def dropConstraint(  # noqa: N802
        self, name: str, *, if_exists: bool = False
    ) -> DataFrame:
        """Run DROP CONSTRAINT on a CHECK or key constraint.

        Args:
            name: name of the constraint.
            if_exists: whether a missing constraint is no error.

        Raises:
            AcidAnalysisError: CONSTRAINT_DOES_NOT_EXIST.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> added = pets.addConstraint("positive", "id > 0")
        >>> dropped = pets.dropConstraint("positive")
        >>> pets.update("id = 1", set={"id": "-1"}).collect()
        [Row(num_affected_rows=1, num_updated_rows=1)]
        """
        maybe = "IF EXISTS " if if_exists else ""
        return api.sql(self.spark, f"ALTER TABLE {self.name} DROP CONSTRAINT {maybe}{quote(name)}")

    def createTag(  # noqa: N802 - as the methods beside it
        self,
        name: str,
        version: int | None = None,
        retain_days: int | None = None,
    ) -> DataFrame:
        """Run CREATE TAG: name a version, which cleaners retain from now on.

        Args:
            name: name of the tag.
            version: a write id; None for the current version.
            retain_days: days for which the version is retained; None: until the tag is dropped.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> made = pets.createTag("two", retain_days=30)
        >>> deleted = pets.delete("id = 1")
        >>> acidsql.table(spark, "pet", version="two").count()
        2
        """
        of = "" if version is None else f" AS OF VERSION {int(version)}"
        retained = "" if retain_days is None else f" RETAIN {int(retain_days)} DAYS"
        text = f"ALTER TABLE {self.name} CREATE TAG {quote(name)}{of}{retained}"
        return api.sql(self.spark, text)

    def dropTag(self, name: str) -> DataFrame:  # noqa: N802
        """Run DROP TAG.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> made = pets.createTag("two")
        >>> dropped = pets.dropTag("two")
        >>> pets.tags().count()
        0
        """
        return api.sql(self.spark, f"ALTER TABLE {self.name} DROP TAG {quote(name)}")

    def tags(self) -> DataFrame:
        """Run SHOW TAGS: the tags, and the number of bytes that each tag retains.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> made = pets.createTag("two")
        >>> pets.tags().select("tag", "version", "heldBytes").collect()
        [Row(tag='two', version=2, heldBytes=0)]
        """
        return api.sql(self.spark, f"SHOW TAGS IN {self.name}")

    def restoreToVersion(self, version: int) -> DataFrame:  # noqa: N802 - Delta Lake's name
        """Run RESTORE: restore the rows of a version; return one row of counts.

        Args:
            version: a write id.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> deleted = pets.delete("id = 1")
        >>> pets.restoreToVersion(2).collect()
        [Row(num_affected_rows=1, num_deleted_rows=0, num_inserted_rows=1)]
        >>> pets.toDF().count()
        2
        """
        return api.sql(self.spark, f"RESTORE TABLE {self.name} TO VERSION AS OF {int(version)}")

    def restoreToTimestamp(  # noqa: N802 - Delta Lake's name
        self, timestamp: datetime | date | str
    ) -> DataFrame:
        """Run RESTORE: restore the rows of a point in time; return one row of counts.

        Args:
            timestamp: the time; a text or a local time is in the session's time zone.

        >>> pets = AcidTable.forName(spark, "pet")
        >>> newest = pets.history(1).first()
        >>> deleted = pets.delete("id = 1")
        >>> pets.restoreToTimestamp(newest.timestamp).collect()
        [Row(num_affected_rows=1, num_deleted_rows=0, num_inserted_rows=1)]
        """
        moment = bridge.literal_sql(self.spark, timestamp)
        return api.sql(self.spark, f"RESTORE TABLE {self.name} TO TIMESTAMP AS OF {moment}")

    def detail(self) -> DataFrame:
        """Return one row about the table, as DESCRIBE DETAIL does.

        >>> AcidTable.forName(spark, "pet").detail().select("format", "numFiles").collect()
        [Row(format='orc', numFiles=2)]
        """
        return api.sql(self.spark, f"DESCRIBE DETAIL {self.name}")
