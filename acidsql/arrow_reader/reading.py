"""``read_arrow`` and ``arrow_batches``: read tables as Arrow tables, without Spark."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from acidsql.arrow_reader.cached_files import CachedFiles, local_source
from acidsql.arrow_reader.columns import columns_of
from acidsql.arrow_reader.data_files import data_files
from acidsql.arrow_reader.deleted_rows import DeletedRows
from acidsql.arrow_reader.filters import all_of, equal_to, row_filter
from acidsql.arrow_reader.partition_values import partition_scalars
from acidsql.arrow_reader.rows import FileStripe, RowReader, Wanted, partitions_of, stripes_of
from acidsql.errors import AcidAnalysisError, FormatError, TransactionStateError
from acidsql.limits import limits
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.model import FileFormat, Table, TableType, TxnType
from acidsql.metastore.names import METASTORE_FILE
from acidsql.metastore.tls import Tls
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.storage.listings import Listings
from acidsql.storage.local_disk import local_path
from acidsql.streaming.client import Client, open_client

logger = logging.getLogger(__name__)


class MetastoreOptions(NamedTuple):
    """Metastore, and options for its calls; see ``read_arrow``."""

    metastore: str | Path | None
    warehouse: str | Path | None
    user: str | None
    timeout: float
    txn_timeout: float
    kerberos: Kerberos | None
    tls: Tls | None


def read_arrow(  # noqa: PLR0913 - options have names
    table: str,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 - the name that pyarrow has for it
    metastore: str | Path | None = None,
    warehouse: str | Path | None = None,
    user: str | None = None,
    metastore_timeout: float = 60.0,
    txn_timeout: float = 300.0,
    kerberos: Kerberos | None = None,
    tls: Tls | None = None,
) -> pa.Table:
    """Read a table, or some of its columns and rows, in one snapshot.

    The function starts neither Spark nor a JVM. It returns the same values as Spark. A TIMESTAMP is
    a local time, so it has no time zone; its unit is microseconds. Values that cannot be read in
    this way are refused.

    Args:
        table: ``db.t``, or a name in the database ``default``.
        columns: names, in the order of the result; None for all columns. ``row__id`` is also
            allowed: a struct of write id, bucket property and row id.
        filter: condition on the rows: a pyarrow expression, or tuples in pyarrow's form, such as
            ``[("id", "=", 5)]``. Partitions, files and stripes that cannot have matching rows are
            skipped.
        metastore: path of the embedded metastore's file, or ``thrift://host:port`` of a Hive
            Metastore.
        warehouse: if ``metastore`` is not given: the directory next to which the embedded
            metastore's file is; by default ``spark-warehouse``.
        user: name of the user; by default the user of the process.
        metastore_timeout: seconds to wait for an answer of a Hive Metastore.
        txn_timeout: seconds without a heartbeat after which an embedded metastore aborts a
            transaction. All programs that use the metastore must have the same value.
        kerberos: principal of a Hive Metastore that requires Kerberos.
        tls: TLS settings of a Hive Metastore that uses TLS; ``Tls()`` trusts the certificates that
            the system trusts.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, COLUMN_NOT_FOUND,
            UNSUPPORTED_FEATURE.ARROW_TABLE, UNSUPPORTED_DATATYPE.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        FormatError: a file cannot be read; UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE,
            UNSUPPORTED_FEATURE.ARROW_VALUE.
        MetastoreError: METASTORE_UNAVAILABLE.

    >>> acidsql.read_arrow(
    ...     "examples.pet", filter=[("id", "=", 1)], metastore=metastore
    ... ).to_pylist()
    [{'id': 1, 'name': 'Rex'}]
    """
    options = MetastoreOptions(
        metastore, warehouse, user, metastore_timeout, txn_timeout, kerberos, tls
    )
    with _reading(table, columns, filter, options) as (schema, batches):
        return pa.Table.from_batches(batches, schema)


def arrow_batches(  # noqa: PLR0913 - options have names
    table: str,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 - the name that pyarrow has for it
    metastore: str | Path | None = None,
    warehouse: str | Path | None = None,
    user: str | None = None,
    metastore_timeout: float = 60.0,
    txn_timeout: float = 300.0,
    kerberos: Kerberos | None = None,
    tls: Tls | None = None,
) -> pa.RecordBatchReader:
    """Read a table batch by batch, in one snapshot; see ``read_arrow`` for arguments and errors.

    Cleaners retain the files of the snapshot until the reader reaches its end, or until nothing
    refers to the reader. Its ``close`` does nothing.

    Returns:
        A reader, which pandas, DuckDB, Polars and others accept; each batch has the rows of one
        stripe.

    >>> acidsql.arrow_batches(
    ...     "examples.pet", filter=[("id", "=", 1)], metastore=metastore
    ... ).read_all().to_pylist()
    [{'id': 1, 'name': 'Rex'}]
    """
    options = MetastoreOptions(
        metastore, warehouse, user, metastore_timeout, txn_timeout, kerberos, tls
    )
    batches = _batches(table, columns, filter, options)
    schema = next(batches)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(
    table: str, columns: Sequence[str] | None, given: Any, options: MetastoreOptions
) -> Iterator[Any]:
    """Yield the schema, then the batches."""
    with _reading(table, columns, given, options) as (schema, batches):
        yield schema
        yield from batches


@contextmanager
def _reading(
    name: str, columns: Sequence[str] | None, given: Any, options: MetastoreOptions
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """Yield the schema and the batches of a table; they can be read within the block."""
    with _client(options) as client:
        table = client.table(name)
        check_readable(table)
        wanted = wanted_of(table, columns, given)
        opened_at = time.time()
        with read_transaction(client) as txn_id:
            txns = client.metastore.valid_txns(txn_id)
            source = local_source()
            listings = Listings(source.files, txn_id, opened_at=opened_at)
            snapshot = take_snapshot(
                source.files,
                client.metastore,
                table,
                txns,
                listings,
                wanted_partitions(client, table, wanted),
            )
            with closing(batches_of(source, snapshot, wanted)) as batches:
                try:
                    yield wanted.schema, batches
                except FormatError as error:
                    raise _expired(client, txn_id, table) or error from error


def wanted_of(table: Table, columns: Sequence[str] | None, given: Any) -> Wanted:
    """Return the columns and the row filter for reading a table.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, COLUMN_NOT_FOUND,
            UNSUPPORTED_DATATYPE.
    """
    known = columns_of(table)
    return Wanted(columns=known, names=known.chosen(columns), rows=row_filter(given, known.schema))


def check_readable(table: Table) -> None:
    """Check that a table can be read without Spark.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ARROW_TABLE.
    """
    reason = None
    if table.table_type is not TableType.MANAGED:
        reason = "is a view"
    elif table.file_format is not FileFormat.ORC:
        reason = f"is stored as {table.file_format.value}"
    elif local_path(table.location) is None:
        reason = f"is not on the local disk but at {table.location}"
    if reason is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ARROW_TABLE",
            f"{table.full_name} {reason}, which is not read without Spark: read it with "
            "acidsql.table",
        )


@contextmanager
def _client(options: MetastoreOptions) -> Iterator[Client]:
    where = options.metastore
    if where is None:
        where = Path(options.warehouse or "spark-warehouse").resolve().parent / METASTORE_FILE
    client = open_client(
        where,
        user=options.user,
        timeout=options.timeout,
        txn_timeout=options.txn_timeout,
        synchronous=True,
        kerberos=options.kerberos,
        tls=options.tls,
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def read_transaction(client: Client) -> Iterator[int]:
    """Hold back cleaners during the block, by an open transaction with heartbeats."""
    txn_id = client.metastore.open_txn(client.user, client.host, TxnType.READ_ONLY)
    client.heartbeater.add(txn_id)
    try:
        yield txn_id
    finally:
        client.heartbeater.remove(txn_id)
        try:
            client.metastore.commit_txn(txn_id)
        except TransactionStateError as error:
            # The rows read until then are still correct, because published files never change.
            logger.warning("read txn %s: ended before the reading: %s", txn_id, error)


def wanted_partitions(client: Client, table: Table, wanted: Wanted) -> list[tuple[str, ...]] | None:
    """Return the values of the partitions that can have matching rows; None for all."""
    if not table.partition_columns or wanted.rows is None:
        return None
    names = wanted.columns.partition_names
    if not set(names) & set(wanted.rows.columns):
        return None
    every = client.metastore.partition_values(table.database, table.name)
    guarantees = [
        all_of(
            equal_to(name, value)
            for name, value in zip(
                names, partition_scalars(table, values, wanted.columns.partition_types), strict=True
            )
            if name in wanted.rows.columns
        )
        for values in every
    ]
    return [every[i] for i in wanted.rows.possible(guarantees)]


def batches_of(
    source: CachedFiles, snapshot: TableSnapshot, wanted: Wanted
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the matching rows of a snapshot: one batch for each stripe that has any."""
    partitions = partitions_of(snapshot, wanted)
    files = data_files(source, snapshot)
    stripes = stripes_of(files, wanted, partitions)
    reader = RowReader(
        source=source,
        wanted=wanted,
        deleted=DeletedRows(source, snapshot),
        write_ids=snapshot.write_ids,
        partitions=partitions,
    )
    if len(stripes) <= 1:
        yield from filter(None, map(reader.read, stripes))
        return
    with ThreadPoolExecutor(limits().arrow_stripes) as pool:
        yield from _in_order(pool, reader, stripes)


def _in_order(
    pool: ThreadPoolExecutor, reader: RowReader, stripes: Sequence[FileStripe]
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the batches of stripes in order, while other threads read the next stripes."""
    ahead: deque[Future[pa.RecordBatch | None]] = deque()
    waiting = iter(stripes)
    try:
        for _ in stripes:
            for stripe in waiting:
                ahead.append(pool.submit(reader.read, stripe))
                if len(ahead) >= limits().arrow_stripes:
                    break
            batch = ahead.popleft().result()
            if batch is not None:
                yield batch
    finally:
        for future in ahead:
            future.cancel()


def _expired(client: Client, txn_id: int, table: Table) -> TransactionStateError | None:
    """Return the error of a read transaction that has timed out; None if it has not."""
    if txn_id not in client.heartbeater.lost():
        return None
    return TransactionStateError(
        "TXN_ABORTED",
        f"the read transaction {txn_id} of {table.full_name} has timed out, while the process was "
        "suspended or the metastore could not be reached, and its files are gone: read the table "
        "again",
    )
