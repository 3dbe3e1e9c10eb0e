"""Writing by ``format("acidsql")``: tasks stage rows, and the commit writes them.

A transaction belongs to the process that opened it, but Spark plans and commits in different
processes. Therefore a write does not change the table before the commit. At the commit, one process
reads the staged rows and writes them in one transaction, as a streaming client does.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from acidsql.datasource.options import SourceOptions
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.format.names import is_hidden
from acidsql.metastore.model import Table
from acidsql.storage.local_disk import local_path
from acidsql.streaming import connect
from acidsql.streaming.connection import StreamingConnection

STAGING = "_acidsql_datasource_"
"""Prefix of the names of staging directories in a table's directory; readers ignore them."""

_AGENT = 'format("acidsql")'
# A staging directory older than this belongs to a write that ended without cleaning up.
_OLD_SECONDS = 7 * 86_400
assert is_hidden(STAGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStaging:
    """Staging directory of a write, on the local disk or on a disk that all machines share."""

    directory: Path

    def create(self) -> None:
        """Create the directory."""
        self.directory.mkdir(exist_ok=True)

    def write(self, batches: Iterable[pa.RecordBatch]) -> Path | None:
        """Write the rows of a task to a new file; return None if the task has no rows.

        Raises:
            FileNotFoundError: the directory is missing, because the write has failed meanwhile.
        """
        path = self.directory / f"{uuid4().hex}.arrow"
        rows = 0
        writer: pa.RecordBatchFileWriter | None = None
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        try:
            for batch in batches:
                if writer is None:
                    writer = pa.ipc.new_file(str(path), batch.schema, options=options)
                writer.write_batch(batch)
                rows += len(batch)
        finally:
            if writer is not None:
                writer.close()
        return path if rows else None

    def delete(self) -> None:
        """Delete all staged files, including those of failed tasks."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def forget(self, paths: Iterable[Path]) -> None:
        """Delete files, then the directory if it is empty."""
        for path in paths:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # tasks of another batch stage in it
            self.directory.rmdir()


def read_staged(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Read the rows of staged files, batch by batch."""
    for path in paths:
        with pa.memory_map(str(path)) as stream, pa.ipc.open_file(stream) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number)


def staging_for(options: SourceOptions, names: Sequence[str]) -> SharedStaging:
    """Check that rows with some columns can be written to a table; return a staging directory.

    Args:
        options: the table.
        names: names of the columns.

    Raises:
        AcidAnalysisError: COLUMN_NOT_FOUND, INVALID_PARAMETER_VALUE; see also
            ``acidsql.streaming.connect``.
    """
    with connection_to(options, None) as connection:
        table = connection.table
    _check_names(table, names)
    above = local_path(table.location)
    assert above is not None  # without ``storage``, a connection writes only here
    _delete_old(above)
    return SharedStaging(directory=above / f"{STAGING}{uuid4().hex}")


def _check_names(table: Table, names: Sequence[str]) -> None:
    columns = (*table.columns, *table.partition_columns)
    known = {column.key for column in columns}
    given = {folded(name) for name in names}
    unknown = [name for name in names if folded(name) not in known]
    missing = [c.name for c in columns if c.default is not None and c.key not in given]
    if unknown:
        raise AcidAnalysisError(
            "COLUMN_NOT_FOUND",
            f"{table.full_name} has no column {', '.join(unknown)}: it has "
            f"{', '.join(column.name for column in columns)}",
            {"colName": unknown[0]},
        )
    if missing:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"the rows have no column {', '.join(missing)}, which has a DEFAULT that only a "
            "statement can compute: give its values, or use acidsql.sql",
            {"parameter": "columns"},
        )


def _delete_old(table: Path) -> None:
    """Delete the staging directories of writes whose driver was killed."""
    for path in table.glob(f"{STAGING}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def connection_to(options: SourceOptions, stream: str | None) -> StreamingConnection:
    """Open a connection that gives each transaction its own directories."""
    settings = options.settings
    return connect(
        metastore=settings.metastore,
        table=options.table,
        agent=_AGENT,
        transaction_batch_size=1,
        stream=stream,
        time_zone=options.zone.key,
        user=settings.user,
        lock_timeout=settings.lock_timeout,
        metastore_timeout=settings.metastore_timeout,
        txn_timeout=settings.txn_timeout,
        synchronous=settings.synchronous,
        kerberos=settings.kerberos,
        tls=settings.tls,
    )


def commit_staged(options: SourceOptions, paths: Sequence[Path]) -> None:
    """Write staged rows in one transaction; if it fails, the table is unchanged.

    Raises:
        AcidAnalysisError: INVALID_RECORD, a value does not fit its column.
        LockTimeoutError: LOCK_TIMEOUT.
    """
    if not paths:
        return
    with connection_to(options, None) as connection, connection.transaction():
        connection.write_all(read_staged(paths))


def commit_batch(options: SourceOptions, paths: Sequence[Path], stream: str, batch: int) -> None:
    """Write a stream's staged batch in one transaction, unless it was committed before.

    Args:
        options: the table.
        paths: paths of the staged files.
        stream: name of the stream.
        batch: number of the batch; numbers increase.

    Raises:
        TransactionStateError: STREAM_OFFSET_CHANGED, another process writes the same batch.
    """
    with connection_to(options, stream) as connection:
        if (connection.offset or 0) > batch:
            return
        with connection.transaction():
            connection.write_all(read_staged(paths))
            connection.commit(offset=batch + 1)
