"""Plans of the rows of original files, as insert events (``scan.original_files``)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from acidsql import bridge
from acidsql.limits import limits
from acidsql.scan.columns import ORDINAL
from acidsql.scan.original_files import OriginalFile
from acidsql.schema.acid_file import read_name, row_of
from acidsql.schema.spark_limits import has_maps_of_nested
from acidsql.session.acid_session import AcidSession

_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_ROW_IN_TASK = (1 << 33) - 1  # mask: monotonically_increasing_id has the task above these bits


def original_events(
    session: AcidSession, files: Sequence[OriginalFile], row: StructType
) -> list[bridge.UnresolvedPlan]:
    """Build insert events of the rows of original files, with ``ORDINAL`` as the last column.

    Returns:
        A plan for each set of columns.
    """
    groups: dict[tuple[str, ...], list[OriginalFile]] = defaultdict(list)
    for file in files:
        groups[file.columns].append(file)
    return [bridge.UnresolvedPlan.of(_events(session, group, row)) for group in groups.values()]


def _events(session: AcidSession, files: Sequence[OriginalFile], row: StructType) -> DataFrame:
    scanned = [file.listing.scanned(file.name, ordinal) for ordinal, file in enumerate(files)]
    columns = files[0].columns
    fields = [
        StructField(read_name(name), field.dataType)
        for name, field in zip(columns, row.fields, strict=False)
    ]
    schema = StructType(fields)
    relation = bridge.orc_relation(
        session.spark,
        scanned,
        schema,
        _OPTIONS,
        split_bytes=limits().split_bytes,
        batches=False if has_maps_of_nested(schema) else None,
    )
    session.leases.watch(relation.index)
    file = F.expr(bridge.FILE_ORDINAL)
    split = (F.col("_metadata.file_block_start") / limits().split_bytes).cast("int")
    position = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_TASK))
    write_id = by_file([f.write_id for f in files], LongType(), file)
    first_row = F.get(
        by_file([list(f.first_row) for f in files], ArrayType(LongType()), file), split
    )
    values = [F.col(f"`{f.name}`") for f in fields]
    return relation.rows.frame().select(
        F.lit(0).alias("operation"),
        write_id.alias("originalTransaction"),
        by_file([f.bucket for f in files], IntegerType(), file).alias("bucket"),
        (first_row + position).alias("rowId"),
        write_id.alias("currentTransaction"),
        row_of(row, values).alias("row"),
        by_file([f.ordinal for f in files], IntegerType(), file).alias(ORDINAL),
    )


def by_file(values: Sequence[object], data_type: DataType, file: Column) -> Column:
    """Build a column with a value for each file: an element of a constant array.

    Args:
        values: one for each file.
        file: ordinal of the row's file.
    """
    constant = F.from_json(F.lit(json.dumps(values)), ArrayType(data_type))
    return F.get(constant, file)
