"""Builders of OPTIMIZE and CREATE TABLE, which the methods of ``AcidTable`` return.

The examples run in the same setting as those of ``acidsql.api``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from acidsql import api, bridge
from acidsql.format.zorder import order_text
from acidsql.merge_builder import quoted_parts
from acidsql.syntax.identity import Identity
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import property_list, quoted_string

Made = TypeVar("Made")


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
        """Compact only one partition, as in SQL's PARTITION clause: ``"p = 1, q = 'a'"``.

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
        """Compact now; return the queue entries, one for each partition.

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
        """Cluster the rows by some columns now; return the queue entries.

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
    """Generator of the numbers in an identity column; Delta Lake has a class of the same name.

    Attributes:
        start: number of the first row.
        step: difference between consecutive numbers; not 0.

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
    for_name: Callable[[SparkSession, str], Made]
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
            name: name of the column.
            dataType: type as SQL text, or a PySpark type.
            nullable: whether the column may be NULL.
            generatedAlwaysAs: SQL expression over other columns that computes the values, or an
                ``IdentityGenerator`` that gives each row a number.
            generatedByDefaultAs: ``IdentityGenerator`` that gives a number to rows without a value.
            comment: comment of the column.

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
        """Give the table a directory; if it contains an ACID table, the table is adopted.

        >>> AcidTable.create(spark).location("/lake/toy").path
        '/lake/toy'
        """
        return replace(self, path=location)

    def execute(self) -> Made:
        """Create or replace the table, and return it.

        Raises:
            TypeError: the table has no name.
            AcidAnalysisError: see CREATE TABLE.

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
        return self.for_name(self.spark, self.name)


def _declared(numbers: IdentityGenerator, *, always: bool) -> str:
    """Return the declaration of an identity column.

    Args:
        numbers: generator of the numbers.
        always: whether statements cannot specify values for the column.
    """
    return Identity(start=numbers.start, increment=numbers.step, always=always).text
