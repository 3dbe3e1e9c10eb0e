"""``df.mergeInto`` of enabled sessions, for ACID tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame

from acidsql import bridge
from acidsql.acid_table import AcidTable
from acidsql.errors import AcidAnalysisError
from acidsql.merge_builder import MergeBuilder


class AcidMergeIntoWriter:
    """MERGE into an ACID table, with the methods of PySpark's ``MergeIntoWriter``."""

    def __init__(self, df: DataFrame, table: str, condition: Column) -> None:
        spark = df.sparkSession
        if bridge.alias_of(df) is None:
            name = bridge.qualifier_of(df)
            df = df if name is None else df.alias(name)
        self._merge = AcidTable.forName(spark, table).merge(df, condition)

    def whenMatched(self, condition: Column | None = None) -> _WhenMatched:  # noqa: N802
        """Begin a clause WHEN MATCHED [AND condition]."""
        return _WhenMatched(self, condition)

    def whenNotMatched(self, condition: Column | None = None) -> _WhenNotMatched:  # noqa: N802
        """Begin a clause WHEN NOT MATCHED [AND condition]."""
        return _WhenNotMatched(self, condition)

    def whenNotMatchedBySource(  # noqa: N802
        self, condition: Column | None = None
    ) -> _WhenNotMatchedBySource:
        """Begin a clause WHEN NOT MATCHED BY SOURCE [AND condition]."""
        return _WhenNotMatchedBySource(self, condition)

    def withSchemaEvolution(self) -> AcidMergeIntoWriter:  # noqa: N802
        """Add columns to the table that clauses name and that only the source has."""
        return self._with(lambda merge: merge.withSchemaEvolution())

    def merge(self) -> None:
        """Run the MERGE."""
        self._merge.execute()

    def _with(self, add: Callable[[MergeBuilder], MergeBuilder]) -> AcidMergeIntoWriter:
        self._merge = add(self._merge)
        return self


class _When:
    """WHEN clause without its action."""

    def __init__(self, writer: AcidMergeIntoWriter, condition: Column | None) -> None:
        self._writer = writer
        self._condition = condition


class _WhenMatched(_When):
    def updateAll(self) -> AcidMergeIntoWriter:  # noqa: N802
        """End the clause with UPDATE SET *."""
        return self._writer._with(lambda m: m.whenMatchedUpdateAll(self._condition))

    def update(self, assignments: Mapping[str, Column]) -> AcidMergeIntoWriter:
        """End the clause with UPDATE SET."""
        return self._writer._with(lambda m: m.whenMatchedUpdate(self._condition, assignments))

    def delete(self) -> AcidMergeIntoWriter:
        """End the clause with DELETE."""
        return self._writer._with(lambda m: m.whenMatchedDelete(self._condition))


class _WhenNotMatched(_When):
    def insertAll(self) -> AcidMergeIntoWriter:  # noqa: N802
        """End the clause with INSERT *."""
        return self._writer._with(lambda m: m.whenNotMatchedInsertAll(self._condition))

    def insert(self, assignments: Mapping[str, Column]) -> AcidMergeIntoWriter:
        """End the clause with INSERT (columns) VALUES (values)."""
        return self._writer._with(lambda m: m.whenNotMatchedInsert(self._condition, assignments))


class _WhenNotMatchedBySource(_When):
    def updateAll(self) -> AcidMergeIntoWriter:  # noqa: N802
        """Refuse UPDATE SET *, because this clause has no source row.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.UPDATE_ALL_NOT_MATCHED_BY_SOURCE.
        """
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.UPDATE_ALL_NOT_MATCHED_BY_SOURCE",
            "rows that the source does not match cannot be set to the source's values: use "
            "update({column: value})",
        )

    def update(self, assignments: Mapping[str, Column]) -> AcidMergeIntoWriter:
        """End the clause with UPDATE SET."""
        return self._writer._with(
            lambda m: m.whenNotMatchedBySourceUpdate(self._condition, assignments)
        )

    def delete(self) -> AcidMergeIntoWriter:
        """End the clause with DELETE."""
        return self._writer._with(lambda m: m.whenNotMatchedBySourceDelete(self._condition))
