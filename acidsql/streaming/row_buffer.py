"""Buffer for the rows of the open transaction, until they are written to files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from acidsql.errors import AcidAnalysisError
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.streaming.assignment import Rules
from acidsql.streaming.batch import BucketDestination
from acidsql.streaming.column_types import parse_type
from acidsql.streaming.hashing import check_bucket_columns
from acidsql.streaming.options import OnError, Options
from acidsql.streaming.records import Converter, RecordColumn, Rejection
from acidsql.streaming.routing import destinations
from acidsql.streaming.writers import RecordWriter

logger = logging.getLogger(__name__)

_QUOTED = 200  # characters of a record in a message
_ARROW = frozenset({pa.Table, pa.RecordBatch})


class RowBuffer:
    """Buffer of unconverted records, and of rows by destination.

    Args:
        table: the table.
        partition: values of the one partition; None if each record contains its partition values.
        writer: form of the records.
        options: options of the connection.
        spill: writes the rows to files, where no reader sees them yet. The buffer calls it when the
            rows take too much memory.

    Attributes:
        table: the table.
        position: number of records that were added since the connection was opened.
        rows: number of rows of the open transaction.
        rejected: number of records of the open transaction that were skipped.
    """

    def __init__(
        self,
        table: Table,
        partition: tuple[str, ...] | None,
        writer: RecordWriter,
        options: Options,
        spill: Callable[[], None],
    ) -> None:
        self._partition = partition
        self._writer = writer
        self._options = options
        self._spill = spill
        self._pending: list[Any] = []
        self._buffered: dict[BucketDestination, list[pa.Table]] = {}
        self._buffered_bytes = 0
        self.position = self.rows = self.rejected = 0
        self.bind(table)

    def bind(self, table: Table) -> None:
        """Prepare to convert records to the columns of a table.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.STREAMING_CHECK,
                UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE, UNSUPPORTED_DATATYPE.
        """
        _check_no_expressions(table)
        self.table = table
        self._types = [parse_type(column.type) for column in table.columns]
        check_bucket_columns(table, self._types)
        targets = [
            RecordColumn(column=column, type=declared)
            for column, declared in zip(table.columns, self._types, strict=True)
        ]
        if self._partition is None:
            targets += [
                RecordColumn(column=c, type=parse_type(c.type)) for c in table.partition_columns
            ]
        self._converter = Converter(targets, self._writer, self._options.time_zone)

    def add(self, record: Any) -> None:
        """Add a record, or an Arrow table or batch; the buffer may convert it later.

        Raises:
            AcidAnalysisError: INVALID_RECORD.
        """
        self.add_all((record,))

    def add_all(self, records: Sequence[Any]) -> None:
        """Add records, or Arrow tables and batches, in their order; see ``add``."""
        if _ARROW.isdisjoint(map(type, records)):
            self._add_objects(records)
            return
        for record in records:
            if isinstance(record, pa.Table | pa.RecordBatch):
                self.convert_pending()
                self._write_arrow(record)
            else:
                self._add_objects((record,))

    def _add_objects(self, records: Sequence[Any]) -> None:
        step = limits().streaming_records
        for start in range(0, len(records), step):
            some = records[start : start + step]
            self._pending.extend(some)
            self.position += len(some)
            if len(self._pending) >= step:
                self.convert_pending()

    def convert_pending(self) -> None:
        """Convert the records that were added and not converted yet."""
        records, self._pending = self._pending, []
        if records:
            first = self.position - len(records) + 1
            self._take(*self._converter.convert(records, first))

    def _write_arrow(self, rows: pa.Table | pa.RecordBatch) -> None:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        first = self.position + 1
        self.position += len(table)
        step = max(1, len(table) if not table.nbytes else self._rows_per_buffer(table))
        for start in range(0, len(table), step):
            part = table.slice(start, step)
            self._take(*self._converter.convert_arrow(part, first + start))

    def _rows_per_buffer(self, table: pa.Table) -> int:
        return int(len(table) * limits().streaming_buffer_bytes / table.nbytes) + 1

    def _take(self, rows: pa.Table, rejected: Sequence[Rejection]) -> None:
        """Buffer converted rows, report rejected records, and spill if the buffer is full."""
        for rejection in rejected:
            if self._options.on_error is OnError.ABORT_TRANSACTION:
                raise _invalid(rejection)
            self.rejected += 1
            logger.warning("%s: %s", self.table.full_name, rejection)
            if self._options.on_rejected is not None:
                self._options.on_rejected(rejection)
        if not len(rows):
            return
        rules = Rules(zone=self._options.time_zone)
        for place, part in destinations(rows, self.table, self._types, self._partition, rules):
            self._buffered.setdefault(place, []).append(part)
        self.rows += len(rows)
        self._buffered_bytes += rows.nbytes
        if self._buffered_bytes >= limits().streaming_buffer_bytes:
            self._spill()

    def take(self) -> Mapping[BucketDestination, Sequence[pa.Table]]:
        """Return the rows by destination, and remove them from the buffer."""
        buffered, self._buffered, self._buffered_bytes = self._buffered, {}, 0
        return buffered

    def clear(self) -> None:
        """Discard the records and rows of a transaction that has ended, and reset the counts."""
        self._pending.clear()
        self._buffered.clear()
        self._buffered_bytes = self.rows = self.rejected = 0


def _invalid(rejection: Rejection) -> AcidAnalysisError:
    parameters = {"position": str(rejection.position), "column": rejection.column or ""}
    return AcidAnalysisError(
        "INVALID_RECORD",
        f"{rejection}: {str(rejection.record)[:_QUOTED]!r}; the transaction was aborted. Correct "
        "the record, or leave such records out: on_error='reject_record', or --on-error "
        "reject_record",
        parameters,
    )


def _check_no_expressions(table: Table) -> None:
    """Refuse a table with constraints or columns that need SQL expressions, and so Spark."""
    has = [f"the constraint {c.name} {c.definition}" for c in table.enforced_constraints]
    has += [f"the generated column {c.name}" for c in table.generated_columns]
    has += [f"the identity column {c.name}" for c in table.identity_columns]
    if has:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.STREAMING_CHECK",
            f"{table.full_name} has {has[0]}, which needs Spark: write to it by statements, or "
            "stream with Structured Streaming",
        )
