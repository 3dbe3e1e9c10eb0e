"""Driver writer: writes the events of small statements, where a write job would take longer.

A plan runs with a limit on the number of events of each task. If a task reaches the limit, there
are too many events, and a write job computes them again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.errors import WriteJobError
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.schema.acid_file import KEYS
from acidsql.storage.delete_files import NO_KEYS, RowId
from acidsql.storage.staging import (
    TARGET,
    Target,
    bucket_file_schema,
    directory_columns,
    event_sql,
    old_part_columns,
    row_types,
)
from acidsql.storage.staging_place import StagedFile, StagingPlace

# Approximate bytes of a row id with its number and target, and of a partition value.
_KEY_BYTES, _VALUE_BYTES = 36, 24
# Spark's row number contains the number of the task above these bits.
_NUMBER, _NUMBER_BITS = "__number", 33
# Column with the directories of an event, and with its key if it deletes a row.
_TEXTS, _NUL = "__texts", "\0"
# Assumed upper bound of a table's average row size in bytes.
_ROW_BYTES = 16 * 1024


class EventDestination(NamedTuple):
    """Destination of events: the name of a target, and the values of a partition as text."""

    target: str
    values: tuple[str, ...]


# Tables of row ids by destination; the columns are named as in ``RowId``.
Keys = Mapping[EventDestination, pa.Table]


def collect_delete_keys(events: DataFrame, table: Table) -> Keys | None:
    """Collect the row ids of delete events; return None if there are too many for the driver.

    Args:
        events: all columns of an event except ``currentTransaction``.

    Raises:
        WriteJobError: the statement fails (see ``bridge.job_errors``).
    """
    most = most_keys(events, table)
    if most is None:
        return None
    parts = old_part_columns(table)
    numbered = bridge.select(
        events, TARGET, *KEYS, *parts, f"monotonically_increasing_id() AS {_NUMBER}"
    )
    # Spark's LIMIT is not used, because it would shuffle all rows to one task.
    number_mask = (1 << _NUMBER_BITS) - 1
    wanted = numbered.where(f"{_NUMBER} & {number_mask} < {most}")
    with bridge.job_errors():
        collected = bridge.arrow_table(wanted)
    if len(collected) >= limits().driver_events:
        return None
    numbers = pc.bit_wise_and(collected[_NUMBER], number_mask)
    if len(collected) and pc.max(numbers).as_py() == most - 1:
        return None
    return group_by_place(collected.drop_columns(_NUMBER), table)


def most_keys(events: DataFrame, table: Table) -> int | None:
    """Return the number of row ids of delete events that each task may send to the driver.

    Args:
        events: see ``collect_delete_keys``.

    Returns:
        None if the statement reads too much for the driver writer.
    """
    read = bridge.input_bytes(events)
    if read > limits().driver_read_bytes:
        return None
    size = _KEY_BYTES + _VALUE_BYTES * len(table.partition_columns)
    return max(1, min(limits().driver_events, bridge.rows_per_task(events, read, size)))


def may_stage_on_driver(events: DataFrame, most: int, likely: int | None = None) -> bool:
    """Return whether the driver tries to write the events of a plan.

    If there are too many events, they are computed twice, so the plan must be cheap. A large scan
    without a search argument probably finds many rows.

    Args:
        events: see ``stage_on_driver``.
        most: number of events from which on the driver does not write them (``most_rows``).
        likely: see ``stage_on_driver``.

    Raises:
        WriteJobError: Spark's optimizer failed to compute a value of the plan.
    """
    read = bridge.input_bytes(events)
    is_likely_small = likely is not None and likely < most
    if not is_likely_small and bridge.has_join(events):
        return read <= limits().driver_join_bytes
    if read > limits().driver_read_bytes:
        return False
    return (
        is_likely_small or read <= limits().driver_scan_bytes or bridge.has_search_argument(events)
    )


def group_by_place(row_ids: pa.Table, table: Table) -> Keys:
    """Group row ids by target and partition.

    Args:
        row_ids: columns with the name of the target, the parts of the row id, and the values of the
            partition.
    """
    parts = old_part_columns(table)
    order = [(name, "ascending") for name in (TARGET, *parts)]
    rows = row_ids.rename_columns([TARGET, *RowId._fields, *parts])
    # Arrow returns groups in no defined order.
    counted = rows.group_by([TARGET, *parts]).aggregate([([], "count_all")]).sort_by(order)
    ordered = rows.sort_by(order) if len(counted) > 1 else rows
    keys = {}
    first = 0
    for row in counted.to_pylist():
        place = EventDestination(row[TARGET], tuple(row[name] for name in parts))
        keys[place] = ordered.slice(first, row["count_all"]).select(RowId._fields)
        first += row["count_all"]
    return keys


def stage_on_driver(
    events: DataFrame,
    staging: StagingPlace,
    table: Table,
    write_id: int,
    rows: Sequence[Target],
    partitions: int = 0,
    likely: int | None = None,
) -> Keys | None:
    """Write the rows among events into staging, as one task of a write job would.

    Args:
        events: all columns of an event except ``currentTransaction``.
        rows: the targets that get rows.
        partitions: number of partitions that the statement reads.
        likely: estimated upper bound of the number of events, if one is known.

    Returns:
        The row ids of the delete events. None if there are too many events for the driver; then
            nothing was written.

    Raises:
        WriteJobError: the statement fails (see ``bridge.job_errors``).
    """
    most = most_rows(events, partitions)
    directories = [TARGET, *directory_columns(table)]
    old = old_part_columns(table)
    columns = event_sql(table, "0L", has_rows=bool(rows))
    # One text, because fetching each value is a call into the JVM.
    casts = ", ".join(f"CAST(`{name}` AS STRING)" for name in (*directories, *old, *KEYS))
    made = bridge.select(events, *columns, f"concat_ws(chr(0), {casts}) AS {_TEXTS}")
    limited = bridge.limit_per_task(made, most, len(table.columns))
    # Spark optimises this DataFrame once: for the decision, and to run it.
    if not may_stage_on_driver(limited, most, likely):
        return None
    with bridge.job_errors():
        collected = bridge.local_rows(limited)
    if collected is None or len(collected) >= most:
        return None
    inserts = {name: target for target in rows for name in (target.name, target.update_name)}
    keys: dict[EventDestination, list[RowId]] = defaultdict(list)
    files: dict[tuple[EventDestination, int], list[tuple[int, bridge.JavaObject]]] = defaultdict(
        list
    )
    # As in a task, one counter covers all partitions, so that row ids differ between them.
    numbers: Counter[tuple[str, int]] = Counter()
    values = slice(1, 1 + len(old))
    old_values = slice(len(directories), len(directories) + len(old))
    for row in collected:
        texts = bridge.text_of(row, len(columns)).split(_NUL)
        name = texts[0]
        if len(texts) != len(directories) + len(old) + len(KEYS):
            raise WriteJobError(
                "WRITE_JOB_FAILED",
                "a partition value has the character NUL, which no directory has in its name: use "
                "another value",
            )
        if name in inserts:
            target = inserts[name].name
            bucket = int(texts[len(directories) - 1]) if table.num_buckets else 0
            place = EventDestination(target, tuple(texts[values]))
            files[place, bucket].append((numbers[target, bucket], row))
            numbers[target, bucket] += 1
        if not name.startswith("i"):
            deleting = f"d{name[1:]}" if name in inserts else name
            place = EventDestination(deleting, tuple(texts[old_values]))
            keys[place].append(RowId(*map(int, texts[-len(KEYS) :])))
    if files:
        row_columns, named = row_types(made.schema, table)
        zone = bridge.session_time_zone(events.sparkSession)
        schema = bucket_file_schema(table, named, row_columns, zone=zone)
        with bridge.job_errors():
            encoder = bridge.BucketFileEncoder(events.sparkSession, schema)
            for (place, bucket), numbered_rows in files.items():
                bucket_property = inserts[place.target].bucket_property(bucket)
                content = encoder.encode(numbered_rows, write_id, bucket_property)
                staging.files.append(
                    StagedFile(
                        target=place.target,
                        values=place.values,
                        bucket=bucket,
                        rows=len(numbered_rows),
                        deletes=0,
                        size=len(content),
                        content=content,
                    )
                )
    return {
        place: pa.Table.from_pylist([k._asdict() for k in row_ids], NO_KEYS.schema)
        for place, row_ids in keys.items()
    }


def most_rows(events: DataFrame, partitions: int) -> int:
    """Return the number of events with all columns from which on the driver does not write them.

    Args:
        events: see ``stage_on_driver``.
        partitions: number of partitions that the statement reads.
    """
    always = limits().driver_rows
    wanted = min(always * partitions // limits().driver_rows_partitions, limits().most_driver_rows)
    if wanted <= always:
        return always
    fitting = bridge.rows_per_task(events, bridge.input_bytes(events), _ROW_BYTES)
    # Powers of two, because the number is part of the generated code: fewer programs are compiled.
    return max(always, min(1 << (wanted - 1).bit_length(), fitting))
