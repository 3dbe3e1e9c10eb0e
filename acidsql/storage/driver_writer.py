"""Driver writer: writes the events of small statements, for which a write job would take longer.

A plan is run with a limit on the number of events of each task. If a task reaches the limit, the
events are too many, and a write job computes them again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.format.partitions import escape
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.schema.acid_file import KEYS
from acidsql.storage.delete_files import NO_KEYS, RowId
from acidsql.storage.filesystem import child
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    TARGET,
    Target,
    directory_columns,
    final_columns,
    named_sql,
    part_columns,
    writer_options,
)

# Approximate bytes of a row id with its number and target, and of a partition value.
_KEY_BYTES, _VALUE_BYTES = 36, 24
# Spark's row number has the number of the task above these bits.
_NUMBER, _NUMBER_BITS = "__number", 33
# Positions of the key among the columns of a file.
_WRITE_ID, _BUCKET, _ROW_ID = 1, 2, 3


class Place(NamedTuple):
    """Destination of events: the name of a target, and the values of a partition as text."""

    target: str
    values: tuple[str, ...]


# Tables of row ids by destination; the columns are named as in ``RowId``.
Keys = Mapping[Place, pa.Table]


def collect_delete_keys(events: DataFrame, table: Table) -> Keys | None:
    """Collect the row ids of delete events; None if they are too many for the driver.

    Args:
        events: all columns of an event except ``currentTransaction``.

    Raises:
        WriteJobError: the statement fails (see ``bridge.job_errors``).
    """
    most = most_keys(events, table)
    if most is None:
        return None
    parts = part_columns(table)
    numbered = bridge.select(
        events, TARGET, *KEYS, *parts, f"monotonically_increasing_id() AS {_NUMBER}"
    )
    # Not Spark's LIMIT, which would shuffle all rows to one task.
    own_number = (1 << _NUMBER_BITS) - 1
    wanted = numbered.where(f"{_NUMBER} & {own_number} < {most}")
    with bridge.job_errors():
        found = bridge.arrow_table(wanted)
    if len(found) >= limits().driver_events:
        return None
    numbers = pc.bit_wise_and(found[_NUMBER], own_number)
    if len(found) and pc.max(numbers).as_py() == most - 1:
        return None
    return group_by_place(found.drop_columns(_NUMBER), table)


def most_keys(events: DataFrame, table: Table) -> int | None:
    """Return the number of row ids of delete events that each task may send to the driver; None if
    the driver writes none of a statement that reads as much.

    Args:
        events: see ``collect_delete_keys``.
    """
    read = bridge.input_bytes(events)
    if read > limits().driver_read_bytes:
        return None
    size = _KEY_BYTES + _VALUE_BYTES * len(part_columns(table))
    return max(1, min(limits().driver_events, bridge.rows_per_task(events, read, size)))


def may_stage_on_driver(events: DataFrame) -> bool:
    """Return whether a plan of events reads so little that the driver writes them, if they are few.

    If the events are too many they are computed twice, so the plan must be cheap.
    """
    joined = bridge.has_join(events)
    most = limits().driver_join_bytes if joined else limits().driver_read_bytes
    return bridge.input_bytes(events) <= most


def group_by_place(found: pa.Table, table: Table) -> Keys:
    """Group row ids by target and partition.

    Args:
        found: columns with the name of the target, the parts of the row id, and the values of the
            partition.
    """
    parts = part_columns(table)
    order = [(name, "ascending") for name in (TARGET, *parts)]
    rows = found.rename_columns([TARGET, *RowId._fields, *parts])
    # Arrow returns groups in no certain order.
    counted = rows.group_by([TARGET, *parts]).aggregate([([], "count_all")]).sort_by(order)
    ordered = rows.sort_by(order) if len(counted) > 1 else rows
    keys = {}
    first = 0
    for row in counted.to_pylist():
        place = Place(row[TARGET], tuple(row[name] for name in parts))
        keys[place] = ordered.slice(first, row["count_all"]).select(RowId._fields)
        first += row["count_all"]
    return keys


def stage_on_driver(
    events: DataFrame, staging: str, table: Table, write_id: int, rows: Sequence[Target]
) -> Keys | None:
    """Write the rows among events into staging, as one task of a write job would.

    Args:
        events: all columns of an event except ``currentTransaction``.
        rows: the targets that get rows.

    Returns:
        The row ids of the delete events; None if there are too many events for the driver, and then
            nothing was written.

    Raises:
        WriteJobError: the statement fails (see ``bridge.job_errors``).
    """
    if not may_stage_on_driver(events):
        return None
    directories = directory_columns(table)
    writer = f"`{BUCKET_COLUMN}`" if table.num_buckets else "0"
    columns = final_columns(table, rows, write_id, writer, new_row_id="0L")
    made = bridge.select(events, *named_sql(columns), *directories)
    with bridge.job_errors():
        found = bridge.local_rows(bridge.limit_per_task(made, limits().driver_rows))
    if len(found) >= limits().driver_rows:
        return None
    inserts = {target.name for target in rows}
    keys: dict[Place, list[RowId]] = defaultdict(list)
    files: dict[tuple[Place, int], list[bridge.JavaObject]] = defaultdict(list)
    # As in a task, one counter runs through all partitions: row ids differ between them.
    numbers: Counter[tuple[str, int]] = Counter()
    first = len(columns)
    for row in found:
        target, *values = (
            bridge.text_of(row, first + i) for i in range(1 + len(table.partition_columns))
        )
        place = Place(target, tuple(values))
        if target in inserts:
            last = first + len(directories) - 1
            bucket = bridge.int_of(row, last) if table.num_buckets else 0
            bridge.set_long(row, _ROW_ID, numbers[target, bucket])
            numbers[target, bucket] += 1
            files[place, bucket].append(row)
        else:
            write_id, row_id = (bridge.long_of(row, column) for column in (_WRITE_ID, _ROW_ID))
            keys[place].append(RowId(write_id, bridge.int_of(row, _BUCKET), row_id))
    schema = StructType(made.schema.fields[:first])
    for (place, bucket), own in files.items():
        path = child(staging, *_directories(table, place, bucket), "part-00000-0.orc")
        with bridge.job_errors():
            bridge.write_orc(events.sparkSession, path, schema, own, writer_options(table))
    return {
        place: pa.Table.from_pylist([k._asdict() for k in own], NO_KEYS.schema)
        for place, own in keys.items()
    }


def _directories(table: Table, place: Place, bucket: int) -> list[str]:
    """Return the names of the directories below staging into which a job would write events."""
    parts = zip(part_columns(table), place.values, strict=True)
    buckets = [f"{BUCKET_COLUMN}={bucket}"] if table.num_buckets else []
    return [f"{TARGET}={place.target}", *(f"{n}={escape(v)}" for n, v in parts), *buckets]
