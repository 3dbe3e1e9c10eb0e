"""``AcidTable``: Delta Lake's Python names for the same commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.schema import quote

Expression: TypeAlias = str | Column


def _text(spark: SparkSession, value: Expression) -> str:
    return value if isinstance(value, str) else bridge.column_sql(spark, value)


def _assignments(spark: SparkSession, values: Mapping[str, Expression]) -> str:
    return ", ".join(f"{column} = {_text(spark, v)}" for column, v in values.items())


@dataclass(frozen=True)
class AcidTable:
    """A transactional table; ``AcidTable.forName(spark, "t")`` finds it.

    Conditions and values are SQL text or columns that name their table (``"t.id = s.id"``).
    """

    spark: SparkSession
    name: str

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> AcidTable:  # noqa: N802 - Delta Lake's name
        """The table of this name.

        Raises:
            AcidAnalysisError: there is none, or it is not transactional.
        """
        api.location(spark, name)
        return cls(spark, ".".join(map(quote, bridge.parse_name(spark, name))))

    def toDF(self) -> DataFrame:  # noqa: N802 - Delta Lake's name
        """The rows, as of now."""
        return api.table(self.spark, self.name)

    def alias(self, name: str) -> _Aliased:
        """The table under another name, for ``merge``."""
        return _Aliased(self, name)

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
        where = "" if condition is None else f" WHERE {_text(self.spark, condition)}"
        text = f"UPDATE {self.name} SET {_assignments(self.spark, set or {})}{where}"
        return api.sql(self.spark, text)

    def delete(self, condition: Expression | None = None) -> DataFrame:
        """DELETE; returns one row of counts."""
        where = "" if condition is None else f" WHERE {_text(self.spark, condition)}"
        return api.sql(self.spark, f"DELETE FROM {self.name}{where}")

    def merge(self, source: DataFrame, condition: Expression) -> MergeBuilder:
        """Start a MERGE with a DataFrame, which keeps its alias (``df.alias("s")``)."""
        return self.alias(self.name.rpartition(".")[2].strip("`")).merge(source, condition)

    def optimize(self) -> OptimizeBuilder:
        """Start a compaction."""
        return OptimizeBuilder(self)


@dataclass(frozen=True)
class _Aliased:
    table: AcidTable
    name: str

    def merge(self, source: DataFrame, condition: Expression) -> MergeBuilder:
        """Start a MERGE with a DataFrame, which keeps its alias (``df.alias("s")``)."""
        return MergeBuilder(self.table, self.name, source, _text(self.table.spark, condition))


@dataclass(frozen=True)
class MergeBuilder:
    """The clauses of a MERGE, run by ``execute()``."""

    table: AcidTable
    target: str
    source: DataFrame
    condition: str
    clauses: tuple[str, ...] = ()

    def _with(self, when: str, condition: Expression | None, action: str) -> MergeBuilder:
        extra = "" if condition is None else f" AND {_text(self.table.spark, condition)}"
        return replace(self, clauses=(*self.clauses, f"WHEN {when}{extra} THEN {action}"))

    def whenMatchedUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """WHEN MATCHED THEN UPDATE SET."""
        values = _assignments(self.table.spark, set or {})
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
        given = values or {}
        texts = ", ".join(_text(self.table.spark, v) for v in given.values())
        return self._with("NOT MATCHED", condition, f"INSERT ({', '.join(given)}) VALUES ({texts})")

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """WHEN NOT MATCHED THEN INSERT *."""
        return self._with("NOT MATCHED", condition, "INSERT *")

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """WHEN NOT MATCHED BY SOURCE THEN UPDATE SET."""
        values = _assignments(self.table.spark, set or {})
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
        text = (
            f"MERGE INTO {self.table.name} AS {quote(self.target)} USING {{__source}}{named} "
            f"ON {_escaped(self.condition)} {_escaped(' '.join(self.clauses))}"
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
