"""Writing by ``format("acidsql")``: tasks stage rows, and the commit writes them in one
transaction.

A transaction belongs to the process that has opened it, and Spark plans and commits in different
ones. So nothing of the table is touched before the commit: then one process reads what was staged
and writes it as a streaming client does.
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
"""Begin of the names of directories in a table that tasks stage in; readers ignore them."""

_AGENT = 'format("acidsql")'
# A write that takes longer than this has ended without cleaning up.
_OLD_SECONDS = 7 * 86_400
assert is_hidden(STAGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Directory on the local disk, or one that all machines share, for the rows of a write."""

    directory: Path

    def create(self) -> None:
        """Create the directory."""
        self.directory.mkdir(exist_ok=True)

    def write(self, batches: Iterable[pa.RecordBatch]) -> Path | None:
        """Write the rows of a task to a file of its own; return None if there are none.

        Raises:
            FileNotFoundError: the directory is not there: the write has failed meanwhile.
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
        """Delete everything that was staged, also by tasks that failed."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def forget(self, paths: Iterable[Path]) -> None:
        """Delete files, and the directory if it is empty then."""
        for path in paths:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # tasks of another batch stage in it
            self.directory.rmdir()


def read_staged(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Read the rows of files one batch after the other."""
    for path in paths:
        with pa.memory_map(str(path)) as stream, pa.ipc.open_file(stream) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number)


def staging_for(options: SourceOptions, names: Sequence[str]) -> Staging:
    """Check that rows with some columns can be written to a table; return where they are staged.

    Args:
        options: the table.
        names: of the columns.

    Raises:
        AcidAnalysisError: COLUMN_NOT_FOUND, INCOMPATIBLE_DATA_FOR_TABLE; as
            ``acidsql.streaming.connect``.
    """
    with connection_to(options, None) as connection:
        table = connection.table
    _check_names(table, names)
    above = local_path(table.location)
    assert above is not None  # streaming connections write to no other tables
    _delete_old(above)
    return Staging(directory=above / f"{STAGING}{uuid4().hex}")


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
    """Delete what writes have left whose driver was killed."""
    for path in table.glob(f"{STAGING}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def connection_to(options: SourceOptions, stream: str | None) -> StreamingConnection:
    """Open a connection whose transactions have directories of their own."""
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
    """Write staged rows in one transaction; nothing is left of it if that fails.

    Raises:
        AcidAnalysisError: INVALID_RECORD, a value does not fit its column.
        LockTimeoutError: LOCK_TIMEOUT.
    """
    if not paths:
        return
    with connection_to(options, None) as connection, connection.transaction():
        connection.write_all(read_staged(paths))


def commit_batch(options: SourceOptions, paths: Sequence[Path], stream: str, batch: int) -> None:
    """Write the staged rows of a batch of a stream in one transaction, unless they are there.

    Args:
        options: the table.
        paths: of the files.
        stream: its name.
        batch: number of the batch, which counts up.

    Raises:
        TransactionStateError: STREAM_OFFSET_CHANGED, another process writes the same batch.
    """
    with connection_to(options, stream) as connection:
        if (connection.offset or 0) > batch:
            return
        with connection.transaction():
            connection.write_all(read_staged(paths))
            connection.commit(offset=batch + 1)
