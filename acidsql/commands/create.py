"""CREATE TABLE, also over a directory that holds an ACID table already, and DROP TABLE."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    MapType,
    StructType,
    VarcharType,
)

from acidsql import bridge
from acidsql.commands import events, result
from acidsql.commands.insert import write_query
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import is_hidden, parse_directory
from acidsql.format.partitions import unescape
from acidsql.format.selection import max_write_id
from acidsql.metastore.locking import wait_for_locks
from acidsql.metastore.protocol import Column, LockRequest, LockType, Operation, Partition, Table
from acidsql.resolution import find, known_to_spark, leased_snapshot, qualified
from acidsql.scan.plan import bucket_files
from acidsql.schema import ROW_ID_COLUMN, columns_of, quote, read_name
from acidsql.session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.tails import read_tail
from acidsql.syntax.statements import CreateTable, DropTable
from acidsql.transaction import write_transaction

_CODECS = ("none", "zlib", "snappy", "lz4", "zstd")
# Settings of ORC's writer that reach it from table properties.
_ORC_PROPERTIES = frozenset(
    {
        "orc.compress",
        "orc.stripe.size",
        "orc.row.index.stride",
        "orc.compress.size",
        "orc.block.size",
    }
)
_TABLE_SCHEMA_FIELD = 6  # ORC column id of ``row``


def create_table(session: AcidSession, statement: CreateTable) -> DataFrame | None:
    """Run CREATE TABLE."""
    name = qualified(session, statement.name)
    if name is None:
        raise AcidAnalysisError(
            "REQUIRES_SINGLE_PART_NAMESPACE",
            f"{'.'.join(statement.name)} does not name a table of spark_catalog: write "
            f"database.table",
        )
    database, table_name = name
    session.metastore.database_location(database)
    if find(session, (database, table_name)) or known_to_spark(session, (database, table_name)):
        if statement.if_not_exists:
            return result.nothing(session.spark)
        raise AcidAnalysisError(
            "TABLE_OR_VIEW_ALREADY_EXISTS",
            f"{database}.{table_name} exists already: use another name, IF NOT EXISTS, or drop it "
            f"first",
        )
    _refuse(statement)
    _check_properties(statement.properties)
    if statement.query is not None:
        return _create_as_select(session, statement, database, table_name)
    columns, partition_columns = _columns(session, statement)
    _create(session, statement, database, table_name, columns, partition_columns)
    return result.nothing(session.spark)


def _refuse(statement: CreateTable) -> None:
    """Say what is not supported, before anything is done."""
    refused = {
        "EXTERNAL": statement.external,
        "OR REPLACE": statement.or_replace,
        "SORTED BY": bool(statement.clustered_by and statement.clustered_by.sorted),
        "CLUSTERED BY": statement.clustered_by is not None,
    }
    reasons = {
        "EXTERNAL": "an external table cannot be transactional; leave EXTERNAL out, LOCATION may "
        "stay",
        "OR REPLACE": "drop the table first",
        "SORTED BY": "a transactional table is sorted by its row ids; leave SORTED BY out",
        "CLUSTERED BY": "buckets are not written yet; leave CLUSTERED BY out",
    }
    for clause, present in refused.items():
        if present:
            raise _unsupported(clause, reasons[clause])
    for clause in statement.unsupported:
        raise _unsupported(clause, "leave the clause out")
    stored_as = (statement.stored_as or statement.using or "").lower()
    if stored_as != "orc":
        raise _unsupported(
            f"STORED AS {stored_as}" if stored_as else "no STORED AS",
            "a transactional table needs STORED AS ORC",
            "STORED_AS",
        )


def _unsupported(feature: str, reason: str, condition: str | None = None) -> AcidAnalysisError:
    condition = "UNSUPPORTED_FEATURE." + (condition or feature.upper().replace(" ", "_"))
    return AcidAnalysisError(
        condition, f"{feature} is not supported for transactional tables: {reason}"
    )


def _check_properties(properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        lowered = key.lower()
        if lowered == "transactional_properties" and value.lower() != "default":
            raise _unsupported(
                f"transactional_properties {value}",
                "only full ACID tables ('default') are supported",
                "TRANSACTIONAL_PROPERTIES",
            )
        if lowered == "orc.compress" and value.lower() not in _CODECS:
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY",
                f"orc.compress is {value!r}: use one of {', '.join(_CODECS)}",
            )
        if lowered.startswith("orc.") and lowered not in _ORC_PROPERTIES:
            raise _unsupported(
                f"table property {key}",
                f"known are {', '.join(sorted(_ORC_PROPERTIES))}",
                "TABLE_PROPERTY",
            )
        if lowered in ("external", "external.table.purge"):
            raise _unsupported(
                f"table property {key}", "the table is a managed one", "TABLE_PROPERTY"
            )


def _columns(
    session: AcidSession, statement: CreateTable
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """The columns in files and the partition columns, which may be given with types or by name."""
    if statement.columns is None:
        raise AcidAnalysisError(
            "MISSING_COLUMNS", "CREATE TABLE has no columns: list them, or write AS SELECT"
        )
    columns = columns_of(
        session.spark, bridge.parse_columns(session.spark, statement.columns.of(statement.text))
    )
    partition_columns: tuple[Column, ...] = ()
    if statement.partitioned_by is not None:
        columns, partition_columns = _split(
            session, columns, statement.partitioned_by.of(statement.text)
        )
    _check_columns(session, columns, partition_columns)
    return columns, partition_columns


def _split(
    session: AcidSession, columns: tuple[Column, ...], text: str
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Partition columns given as ``p int`` are new; given as ``p`` they are among the columns."""
    names = bridge.parse_names(session.spark, text)
    if names is None:
        return columns, columns_of(session.spark, bridge.parse_columns(session.spark, text))
    by_name = {c.name.lower(): c for c in columns}
    missing = [n for n in names if n.lower() not in by_name]
    if missing:
        raise AcidAnalysisError(
            "COLUMN_NOT_FOUND",
            f"partition column {missing[0]} has no type: write {missing[0]} with its type",
        )
    chosen = tuple(by_name[n.lower()] for n in names)
    return tuple(c for c in columns if c not in chosen), chosen


def _check_columns(
    session: AcidSession, columns: Sequence[Column], partition_columns: Sequence[Column]
) -> None:
    names = [c.name.lower() for c in [*columns, *partition_columns]]
    for name in names:
        if names.count(name) > 1:
            raise AcidAnalysisError(
                "COLUMN_ALREADY_EXISTS", f"column {name} is there twice: rename one"
            )
    if ROW_ID_COLUMN in names:
        raise AcidAnalysisError(
            "RESERVED_COLUMN_NAME",
            f"{ROW_ID_COLUMN} is the name of the row's identity: use another",
        )
    cut = [read_name(c.name.lower()) for c in columns]
    if "" in cut or len(set(cut)) < len(cut):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COLUMN_NAME",
            "these column names differ only after a backtick, or begin with one, and Spark's ORC "
            "reader cannot tell them apart: rename a column",
        )
    if not columns:
        raise AcidAnalysisError(
            "MISSING_COLUMNS",
            "all columns are partition columns: at least one must be stored in files",
        )
    for column in partition_columns:
        declared = bridge.parse_type(session.spark, column.type)
        if isinstance(declared, ArrayType | MapType | StructType | BinaryType):
            raise AcidAnalysisError(
                "INVALID_PARTITION_COLUMN_DATA_TYPE",
                f"partition column {column.name} has type {column.type}: use a primitive type",
            )
    for column in [*columns, *partition_columns]:
        if column.default is not None:
            _check_default(session, column)


def _check_default(session: AcidSession, column: Column) -> None:
    """A default must be an expression that Spark can evaluate by itself."""
    declared = bridge.parse_type(session.spark, column.type)
    cast = "STRING" if isinstance(declared, CharType | VarcharType) else column.type
    session.spark.sql(f"SELECT CAST(({column.default}) AS {cast})")


def _create(
    session: AcidSession,
    statement: CreateTable,
    database: str,
    name: str,
    columns: tuple[Column, ...],
    partition_columns: tuple[Column, ...],
) -> Table:
    """Enter the table in the metastore, with what its directory may hold already."""
    location = statement.location or child(session.database_location(database), name)
    properties = dict(statement.properties)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    table = Table(
        database=database,
        name=name,
        columns=columns,
        partition_columns=partition_columns,
        location=session.files.qualify(location),
        properties=properties,
        owner=session.user,
        created=int(time.time()),
    )
    partitions, highest, highest_txn = _existing(session, table)
    session.files.make_directory(table.location)
    session.metastore.create_table(table)
    session.metastore.add_partitions(database, name, partitions)
    if highest:
        session.metastore.seed_write_id(database, name, highest + 1)
    session.metastore.seed_txn_id(highest_txn + 1)
    return table


def _existing(session: AcidSession, table: Table) -> tuple[list[Partition], int, int]:
    """The partitions and the highest write id and compactor's transaction of an ACID table that
    lies there.

    Raises:
        AcidAnalysisError: its files have other columns (ADOPTED_SCHEMA_MISMATCH), or are no ACID
            files (UNSUPPORTED_ORIGINAL_FILES).
    """
    found: list[Partition] = []
    highest = highest_txn = 0
    for values, location in _places(session, table):
        names = session.files.names(location)
        directories = [d for d in map(parse_directory, names) if d]
        strangers = [n for n in names if not is_hidden(n) and not parse_directory(n)]
        if strangers:
            raise AcidAnalysisError(
                "UNSUPPORTED_ORIGINAL_FILES",
                f"{location} holds {strangers[0]}, which is no directory of an ACID table: choose "
                "an empty location or one with base and delta directories only",
            )
        if directories and values:
            found.append(Partition(values=values, location=location))
        for directory in directories:
            _check_files(session, table, child(location, directory.name))
        highest = max(highest, max_write_id(names))
        highest_txn = max([highest_txn, *(d.visibility_txn_id for d in directories)])
    return found, highest, highest_txn


def _places(session: AcidSession, table: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    """The directories that may hold ACID directories: the location, or its partitions'."""
    places: list[tuple[tuple[str, ...], str]] = [((), table.location)]
    for column in table.partition_columns:
        deeper = []
        for values, location in places:
            for name in session.files.names(location):
                key, equals, value = name.partition("=")
                if equals and unescape(key).lower() == column.name.lower():
                    deeper.append(((*values, unescape(value)), child(location, name)))
                elif not is_hidden(name):
                    raise AcidAnalysisError(
                        "UNEXPECTED_PARTITION_DIRECTORY",
                        f"{child(location, name)} is no partition of column {column.name}: check "
                        "PARTITIONED BY and LOCATION",
                    )
        places = deeper
    yield from places


def _check_files(session: AcidSession, table: Table, path: str) -> None:
    """Compare the columns of a directory's first file with the table's; files of
    a directory share them.
    """
    for name in bucket_files(session.files.names(path))[:1]:
        tail = read_tail(session.files, child(path, name))
        present = [field.lower() for field, _ in tail.struct_fields(_TABLE_SCHEMA_FIELD)]
        expected = [c.name.lower() for c in table.columns]
        if present != expected:
            raise AcidAnalysisError(
                "ADOPTED_SCHEMA_MISMATCH",
                f"{child(path, name)} has the columns {', '.join(present)}, the statement "
                f"{', '.join(expected)}: create the table with the columns of its files",
            )


def _create_as_select(
    session: AcidSession, statement: CreateTable, database: str, name: str
) -> DataFrame:
    """Create the table with the query's columns and insert its rows; if that fails,
    the table goes again.
    """
    if statement.columns is not None or statement.query is None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CTAS_COLUMNS",
            "CREATE TABLE … AS SELECT takes its columns from the query",
        )
    with leased_snapshot(session) as snapshot:
        plan = snapshot.plan(statement.query.of(statement.text))
        rows = bridge.frame_of(session.spark, plan)
    columns = columns_of(session.spark, rows.schema)
    columns = tuple(_nullable(c) for c in columns)
    partition_columns: tuple[Column, ...] = ()
    if statement.partitioned_by is not None:
        columns, partition_columns = _split(
            session, columns, statement.partitioned_by.of(statement.text)
        )
    _check_columns(session, columns, partition_columns)
    table = _create(session, statement, database, name, columns, partition_columns)
    try:
        with write_transaction(session, table, Operation.INSERT) as transaction:
            shape = events.shape_of(session, table)
            ordered = rows.select(*[quote(c.name) for c in [*columns, *partition_columns]])
            static = None if partition_columns else ()
            outcome = write_query(transaction, shape, ordered, static)
            transaction.commit(events.changes(outcome, [(Operation.INSERT, [0], False)]))
    except BaseException:
        session.metastore.drop_table(database, name)
        session.files.delete(table.location)
        raise
    inserted = outcome.events(deletes=False)
    return result.counts(session.spark, affected=inserted, inserted=inserted)


def _nullable(column: Column) -> Column:
    return Column(name=column.name, type=column.type, comment=column.comment)


def drop_table(session: AcidSession, statement: DropTable) -> DataFrame | None:
    """Run DROP TABLE of a transactional table: forget it, then delete its files."""
    table = find(session, statement.name)
    if table is None:
        return None
    if table.table_type.value != "MANAGED_TABLE":
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW", f"{table.full_name} is a view: use DROP VIEW"
        )
    with exclusive(session, table):
        session.metastore.drop_table(table.database, table.name)
    session.files.delete(table.location)
    return result.nothing(session.spark)


@contextmanager
def exclusive(session: AcidSession, table: Table) -> Iterator[None]:
    """Wait until nobody else writes the table, and keep others away."""
    metastore = session.metastore
    txn_id = metastore.open_txn(session.user, session.host)
    session.heartbeater.add(txn_id)
    try:
        request = LockRequest(
            database=table.database,
            table=table.name,
            partition=None,
            type=LockType.EXCLUSIVE,
            operation=Operation.SELECT,
        )
        wait_for_locks(metastore, txn_id, [request], session.settings.lock_timeout)
        yield
        metastore.commit_txn(txn_id)
    except BaseException:
        metastore.abort_txn(txn_id)
        raise
    finally:
        session.heartbeater.remove(txn_id)
