"""``connect``: the table, its partition and the options of a streaming connection."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from acidsql.errors import AcidAnalysisError, FormatError, invalid_setting
from acidsql.format.identifiers import folded
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.model import FileFormat, Table, TableType
from acidsql.metastore.tls import Tls
from acidsql.streaming.assignment import Rules, assign_objects, partition_texts
from acidsql.streaming.client import Client, open_client
from acidsql.streaming.column_types import parse_type
from acidsql.streaming.connection import StreamingConnection
from acidsql.streaming.files import no_appends, open_storage
from acidsql.streaming.options import OnError, Options
from acidsql.streaming.records import Rejection
from acidsql.streaming.refusals import Refused
from acidsql.streaming.writers import RecordWriter, RowWriter

_BATCH_SIZE = 10
_CODECS = ("none", "zlib", "snappy", "lz4", "zstd")


def connect(  # noqa: PLR0913 - options have names
    *,
    metastore: str | Path,
    table: str,
    partition: Mapping[str, Any] | Sequence[Any] | None = None,
    agent: str = "acidsql",
    transaction_batch_size: int | None = None,
    writer: RecordWriter | None = None,
    stream: str | None = None,
    on_error: Literal["abort_transaction", "reject_record"] = "abort_transaction",
    on_rejected: Callable[[Rejection], None] | None = None,
    time_zone: str | None = None,
    user: str | None = None,
    lock_timeout: float = 300.0,
    idle_timeout: float = 60.0,
    metastore_timeout: float = 60.0,
    txn_timeout: float = 300.0,
    synchronous: bool = True,
    kerberos: Kerberos | None = None,
    tls: Tls | None = None,
    storage: Any = None,
) -> StreamingConnection:
    """Connect to a table, to write rows to it continuously.

    The connection opens transactions in batches. The rows of a batch share one file for each
    partition and bucket. The rows of a transaction become visible when it commits.

    Args:
        metastore: path of the embedded metastore's file, or ``thrift://host:port`` of a Hive
            Metastore.
        table: ``db.t``, or a name in the database ``default``.
        partition: values of the one partition that all rows go to, by name or in the order of the
            partition columns; the connection creates the partition if it does not exist. None: each
            record contains the values of the partition columns too; in a tuple they come last.
        agent: name of the program, for the history of the table.
        transaction_batch_size: number of transactions in a batch; by default 10, or 1 if the
            storage cannot append to files.
        writer: form of the records; by default dicts and tuples (``RowWriter``). Arrow tables and
            batches can always be written.
        stream: name of the stream that the records come from. Each commit stores an offset of the
            stream (``commit(offset=…)``); a restarted program continues at it (``offset``). A
            metastore of Hive 3.1 stores no offsets.
        on_error: effect of a record that cannot be a row: abort the transaction, or skip the
            record.
        on_rejected: called with each record that is skipped.
        time_zone: time zone of the local times that the table's files store for TIMESTAMP columns;
            values with a time zone are converted to it. By default this machine's zone, as in
            Spark.
        user: name of the user; by default the user of the process.
        lock_timeout: longest wait in seconds for a lock.
        idle_timeout: seconds after which an unused batch is closed; 0: never.
        metastore_timeout: seconds to wait for an answer of a Hive Metastore.
        txn_timeout: seconds without a heartbeat after which an embedded metastore aborts a
            transaction. All programs that use the metastore must have the same value.
        synchronous: whether commits are synced to disk, so that they survive a machine failure.
        kerberos: principal of a Hive Metastore that requires Kerberos.
        tls: TLS settings of a Hive Metastore that uses TLS; ``Tls()`` trusts the certificates that
            the system trusts.
        storage: file system of a table that is not on the local disk: a client of the package
            ``hdfs`` (``InsecureClient("http://namenode:9870")``), or an
            ``S3FileSystem`` of pyarrow.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, UNSUPPORTED_FEATURE.STREAMING_TABLE,
            UNSUPPORTED_FEATURE.STREAMING_BATCH, UNSUPPORTED_FEATURE.STREAMING_CHECK,
            UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE,
            UNSUPPORTED_DATATYPE, PARTITION_VALUES_MISMATCH, UNSUPPORTED_FEATURE.STREAM_OFFSET.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        FormatError: STORAGE_UNAVAILABLE.
        MetastoreError: METASTORE_UNAVAILABLE.
    """
    if transaction_batch_size is not None and transaction_batch_size < 1:
        raise _invalid("transaction_batch_size", str(transaction_batch_size), "give 1 or more")
    if on_error not in tuple(OnError):
        raise _invalid("on_error", on_error, f"give one of {', '.join(OnError)}")
    zone = _zone(time_zone)
    client = open_client(
        metastore,
        user=user,
        timeout=metastore_timeout,
        txn_timeout=txn_timeout,
        synchronous=synchronous,
        kerberos=kerberos,
        tls=tls,
        storage=open_storage(storage),
    )
    try:
        target = _table(client, table)
        options = Options(
            agent=agent,
            stream=stream,
            transaction_batch_size=_batch_size(client, target, transaction_batch_size),
            on_error=OnError(on_error),
            on_rejected=on_rejected,
            time_zone=zone,
            lock_timeout=lock_timeout,
            idle_timeout=idle_timeout,
        )
        values = None if partition is None else _partition_values(target, partition, options)
        return StreamingConnection(client, target, values, writer or RowWriter(), options)
    except BaseException:
        client.close()
        raise


def _table(client: Client, name: str) -> Table:
    table = client.table(name)
    reason = None
    if table.table_type is not TableType.MANAGED:
        reason = "is a view"
    elif table.insert_only or table.file_format is not FileFormat.ORC:
        reason = "has no row ids: it is insert-only"
    elif not client.files.has(table.location):
        reason = f"is at {table.location}, which takes connect(storage=…) of that file system"
    elif table.properties.get("orc.compress", "ZLIB").lower() not in _CODECS:
        reason = f"is compressed with {table.properties['orc.compress']}"
    if reason is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.STREAMING_TABLE",
            f"{table.full_name} {reason}; or write to it by statements",
        )
    try:
        client.files.check(table.location)
    except OSError as error:
        raise FormatError(
            "STORAGE_UNAVAILABLE",
            f"the directory {table.location} of {table.full_name} cannot be reached ({error}): "
            "check the address and the user of connect(storage=…)",
        ) from error
    return table


def _batch_size(client: Client, table: Table, given: int | None) -> int:
    """Return the number of transactions of a batch.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.STREAMING_BATCH.
    """
    if client.files.appends(table.location):
        return _BATCH_SIZE if given is None else given
    if given is not None and given > 1:
        raise no_appends(table.location, given)
    return 1


def _partition_values(
    table: Table, partition: Mapping[str, Any] | Sequence[Any], options: Options
) -> tuple[str, ...]:
    """Return the values of a partition as Hive spells them."""
    columns = table.partition_columns
    given = partition
    if isinstance(partition, Mapping):
        by_key = {folded(str(name)): value for name, value in partition.items()}
        if by_key.keys() == {column.key for column in columns}:
            given = [by_key[column.key] for column in columns]
    if isinstance(given, Mapping | str) or len(given) != len(columns):
        raise AcidAnalysisError(
            "PARTITION_VALUES_MISMATCH",
            f"partition {partition!r} does not have one value for each of the {len(columns)} "
            f"partition columns of {table.full_name}: give one for each",
        )
    values = []
    for column, value in zip(columns, given, strict=True):
        rules = Rules(zone=options.time_zone, parses=True)
        try:
            typed = assign_objects([value], parse_type(column.type), rules)
        except Refused as error:
            raise _invalid(f"partition column {column.name}", str(value), str(error)) from error
        text = partition_texts(typed, options.time_zone)[0].as_py()
        values.append(text or DEFAULT_PARTITION)
    return tuple(values)


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or local_zone_name())
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise invalid_setting("time_zone", str(name), "give the name of a time zone") from error


def local_zone_name() -> str:
    """Return the name of this machine's time zone, as Java finds it."""
    given = os.environ.get("TZ", "").removeprefix(":")
    if given:
        return given
    _, directory, name = os.path.realpath("/etc/localtime").partition("zoneinfo/")
    return name if directory else "UTC"


def _invalid(name: str, value: str, instead: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE", f"{name} is {value!r}: {instead}", {"parameter": name}
    )
