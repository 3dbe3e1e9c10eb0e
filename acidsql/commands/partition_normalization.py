"""Partition values in a spelling that differs from that of Hive and Spark.

Both write ``p=1`` for the number 1. Another program may have written a directory ``p=01``, which
MSCK REPAIR TABLE then added. Its rows have the value 1 too, and their delete events belong there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.scan.columns import typed_values
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.staging import partition_text

Values = tuple[str, ...]
# Prefix of the columns of ``typed``. The table's names could equal the name of the number.
VALUE = "__value_"
_BITS = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")


def usual(session: AcidSession, table: Table, partitions: Sequence[Values]) -> list[Values]:
    """Return the values of partitions in the usual spelling, which Hive, Spark and acidsql use."""
    fields = partition_schema(session.spark, table).fields
    if all(
        _is_usual(text, field)
        for values in partitions
        for text, field in zip(values, fields, strict=True)
    ):
        return list(partitions)
    texts = [partition_text(f"{VALUE}{i}", field) for i, field in enumerate(fields)]
    rows = typed(session, table, partitions)
    texts_of_rows = bridge.select(rows, *texts, bridge.BARE_NUMBER).collect()
    spelled = {row[-1]: tuple(row[:-1]) for row in texts_of_rows}
    return [spelled[number] for number in range(len(partitions))]


def typed(session: AcidSession, table: Table, partitions: Sequence[Values]) -> DataFrame:
    """Return a row for each partition with its typed values.

    The columns are the position in the sequence (``bridge.BARE_NUMBER``), and ``VALUE`` followed by
    the position of the partition column.
    """
    values = typed_values(session, table, partitions, bridge.BARE_NUMBER).values()
    columns = [value.alias(f"{VALUE}{i}") for i, value in enumerate(values)]
    return session.spark.range(len(partitions)).select(bridge.BARE_NUMBER, *columns)


def _is_usual(text: str, field: StructField) -> bool:
    """Return whether a value is certainly in its usual spelling; False if only Spark can decide."""
    kind = type(field.dataType)
    if text == DEFAULT_PARTITION or kind is StringType:
        return True
    if kind in _BITS:
        bound = 1 << _BITS[kind] - 1
        return bool(_WHOLE_NUMBER.fullmatch(text)) and -bound <= int(text) < bound
    if kind is DateType:
        try:
            return date.fromisoformat(text).isoformat() == text
        except ValueError:
            return False
    return kind is BooleanType and text in ("true", "false")


def as_spelled(
    session: AcidSession, table: Table, partitions: Sequence[Values], deleted: Iterable[Values]
) -> Mapping[Values, Values]:
    """Map usual values of partitions to the values in the metastore, where they differ.

    Args:
        session: the session.
        table: the table.
        partitions: partitions that can contain rows.
        deleted: usual values of the partitions of deleted rows.

    Raises:
        AcidAnalysisError: several partitions can contain the deleted rows (AMBIGUOUS_PARTITION).
    """
    by_usual: dict[Values, list[Values]] = defaultdict(list)
    for values, usual_values in zip(partitions, usual(session, table, partitions), strict=True):
        by_usual[usual_values].append(values)
    for usual_values in deleted:
        if len(by_usual[usual_values]) > 1:
            names = " and ".join(sorted(table.partition_name(v) for v in by_usual[usual_values]))
            raise AcidAnalysisError(
                "AMBIGUOUS_PARTITION",
                f"{table.full_name} has partitions {names} with equal values: rename one of them "
                "to another value with ALTER TABLE … PARTITION … RENAME TO PARTITION, then "
                "UPDATE its rows to the old value",
            )
    return {
        usual_values: values[0]
        for usual_values, values in by_usual.items()
        if usual_values not in values
    }
