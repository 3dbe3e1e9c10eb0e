"""Partitions of staged delete events, which a column of the events identifies.

With a directory for each partition there would be as many files as partitions, each with a few
numbers in it. Creating a file takes longer than writing them. So the delete events of a task are in
one file. When they are finished they are read back anyway, and divided by partition.
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
    """Partitions that deleted rows may lie in.

    Attributes:
        partitions: their values as staging spells them; the position of a partition is its ordinal.
            They are sorted by their bytes, and unique.
    """

    partitions: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, partitions: Iterable[tuple[str, ...]]) -> DeletePlaces:
        """Return the places of partitions in any order.

        >>> DeletePlaces.of([("b", "1"), ("a", "1"), ("b", "1")]).partitions
        (('a', '1'), ('b', '1'))
        """
        unique = sorted(set(partitions), key=lambda values: _BETWEEN.join(values).encode())
        return cls(partitions=tuple(unique))

    def ordinal(self, spark: SparkSession, values: Sequence[str]) -> Column:
        """Build the ordinal of an event's partition, an INT; negative if it is none of these.

        Args:
            values: names of the columns with the values of the partition, at least one.
        """
        texts = [_BETWEEN.join(partition) for partition in self.partitions]
        return bridge.position_of_text(spark, texts, F.concat_ws(_BETWEEN, *map(F.col, values)))
