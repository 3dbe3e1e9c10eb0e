"""``AcidTable``: Delta Lake's Python names for the same commands."""

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
    """The SQL text of one expression; the newline ends a comment that may stand in it."""
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
    """Columns and their values as SQL text."""
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
    """A transactional table; ``AcidTable.forName(spark, "t")`` finds it.

    Conditions and values are SQL text or columns that name their table (``"t.id = s.id"``).
    """

    spark: SparkSession
    name: str
    known_as: str | None = None

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> AcidTable:  # noqa: N802 - Delta Lake's name
        """The table of this name.

        Raises:
            AcidAnalysisError: there is none, or it is not transactional.
        """
        api.location(spark, name)
        return cls(spark, _name(spark, name))

    def toDF(self) -> DataFrame:  # noqa: N802 - Delta Lake's name
        """The rows, as of now."""
        rows = api.table(self.spark, self.name)
        return rows if self.known_as is None else rows.alias(self.known_as)

    def alias(self, name: str) -> AcidTable:
        """The table under another name."""
        return replace(self, known_as=name)

    @property
    def target(self) -> str:
        """The table's name and alias, as statements that write it name it."""
        return self.name if self.known_as is None else f"{self.name} AS {quote(self.known_as)}"

    def update(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002 - Delta Lake's name
    ) -> DataFrame:
        """UPDATE; returns one row of counts.

        Args:
            condition: which rows; all of them by default.
            set: column → new value.
        """
        where = _optional(self.spark, "WHERE", condition)
        text = f"UPDATE {self.target} SET {_assignments(self.spark, set)}{where}"
        return api.sql(self.spark, text)

    def delete(self, condition: Expression | None = None) -> DataFrame:
        """DELETE; returns one row of counts."""
        where = _optional(self.spark, "WHERE", condition)
        return api.sql(self.spark, f"DELETE FROM {self.target}{where}")

    def append(self, source: DataFrame, *, by: str = "name") -> DataFrame:
        """INSERT INTO; returns one row of counts.

        Args:
            source: the rows.
            by: how columns are matched: by ``name``, where columns that the DataFrame lacks get
                their defaults, or by ``position``.
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
        """INSERT OVERWRITE; returns one row of counts.

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
            AcidAnalysisError: NON_PARTITION_COLUMN, INVALID_PARTITION_OVERWRITE_MODE.
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
        """Start a MERGE with a DataFrame, which keeps its alias (``df.alias("s")``)."""
        _check_frame(source)
        return MergeBuilder(self, source, _text(self.spark, condition))

    def optimize(self) -> OptimizeBuilder:
        """Start a compaction."""
        return OptimizeBuilder(self)


@dataclass(frozen=True)
class MergeBuilder:
    """The clauses of a MERGE, run by ``execute()``."""

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
        """WHEN MATCHED THEN UPDATE SET."""
        values = _assignments(self.table.spark, set)
        return self._with("MATCHED", condition, f"UPDATE SET {values}")

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """WHEN MATCHED THEN UPDATE SET *."""
        return self._with("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """WHEN MATCHED THEN DELETE."""
        return self._with("MATCHED", condition, "DELETE")

    def whenNotMatchedInsert(  # noqa: N802
        self,
        condition: Expression | None = None,
        values: Mapping[str, Expression] | None = None,
    ) -> MergeBuilder:
        """WHEN NOT MATCHED THEN INSERT."""
        given = _values(self.table.spark, "values", values)
        columns, texts = ", ".join(given), ", ".join(given.values())
        return self._with("NOT MATCHED", condition, f"INSERT ({columns}) VALUES ({texts})")

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """WHEN NOT MATCHED THEN INSERT *."""
        return self._with("NOT MATCHED", condition, "INSERT *")

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """WHEN NOT MATCHED BY SOURCE THEN UPDATE SET."""
        values = _assignments(self.table.spark, set)
        return self._with("NOT MATCHED BY SOURCE", condition, f"UPDATE SET {values}")

    def whenNotMatchedBySourceDelete(  # noqa: N802
        self, condition: Expression | None = None
    ) -> MergeBuilder:
        """WHEN NOT MATCHED BY SOURCE THEN DELETE."""
        return self._with("NOT MATCHED BY SOURCE", condition, "DELETE")

    def execute(self) -> DataFrame:
        """Run the MERGE; returns one row of counts."""
        alias = bridge.alias_of(self.source)
        named = f" AS {quote(alias)}" if alias else ""
        clauses = " ".join(self.clauses)
        text = (
            f"{_escaped(f'MERGE INTO {self.table.target} USING ')}{{__source}}"
            f"{_escaped(f'{named} ON {self.condition} {clauses}')}"
        )
        return api.sql(self.table.spark, text, __source=self.source)


def _escaped(text: str) -> str:
    """Text in which braces mean themselves."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class OptimizeBuilder:
    """A compaction, run by one of the ``execute…`` methods."""

    table: AcidTable
    partition: str | None = None

    def where(self, partition: str) -> OptimizeBuilder:
        """Only one partition, given as in SQL's PARTITION clause: ``"p = 1, q = 'a'"``."""
        return replace(self, partition=partition)

    def executeCompaction(self, compaction_type: str = "major") -> DataFrame:  # noqa: N802
        """Compact now; returns the queue entries.

        Args:
            compaction_type: ``major`` or ``minor``.
        """
        part = f" PARTITION ({self.partition})" if self.partition else ""
        text = f"ALTER TABLE {self.table.name}{part} COMPACT '{compaction_type}' AND WAIT"
        return api.sql(self.table.spark, text)
