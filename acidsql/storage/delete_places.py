"""Partitions of staged delete events, which a column of the events identifies.

Directories for the partitions would lead to one file per partition with only a few numbers, and
creating a file takes longer than writing the numbers. All delete events of a task are therefore
staged in one file. Finalising reads them back anyway, and divides them by partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from acidsql import bridge

# NUL is in no partition value.
_BETWEEN = "\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlaces:
    """Partitions that can contain deleted rows.

    Attributes:
        partitions: unique values of the partitions as staging spells them, sorted by their bytes.
            The position of a partition is its ordinal.
    """

    partitions: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, partitions: Iterable[tuple[str, ...]]) -> DeletePlaces:
        """Build the places from partitions in any order.

        >>> DeletePlaces.of([("b", "1"), ("a", "1"), ("b", "1")]).partitions
        (('a', '1'), ('b', '1'))
        """
        unique = sorted(set(partitions), key=lambda values: _BETWEEN.join(values).encode())
        return cls(partitions=tuple(unique))

    def ordinal(self, spark: SparkSession, values: Sequence[str]) -> Column:
        """Build the ordinal of an event's partition, an INT; negative for an unknown partition.

        Args:
            values: names of the columns with the values of the partition, at least one.
        """
        texts = [_BETWEEN.join(partition) for partition in self.partitions]
        return bridge.position_of_text(spark, texts, F.concat_ws(_BETWEEN, *map(F.col, values)))
