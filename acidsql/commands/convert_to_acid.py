"""ALTER TABLE … SET TBLPROPERTIES ('transactional'='true') on a plain ORC table.

The table becomes a full ACID table in its directory. Its files are not rewritten. They are renamed,
so that their names contain bucket ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.adopt_table import POSITIONAL_NAME, check_location
from acidsql.commands.definitions import (
    check_columns,
    check_properties,
    warn_of_retention,
    with_codec,
)
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.format.names import is_hidden, is_original_file, original_file_name, parse_directory
from acidsql.format.orc_tail import OrcTail
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import FileFormat, Partition, PlainTable, Table
from acidsql.planning.name_resolution import names_temp_view, qualified
from acidsql.scan.snapshot import with_nested_originals
from acidsql.schema.columns import columns_of, data_schema, has_local_time, has_timestamp
from acidsql.session.acid_session import AcidSession
from acidsql.session.table_owner import check_unowned
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.parallel import in_parallel
from acidsql.storage.sync import sync
from acidsql.storage.tails import read_tail
from acidsql.syntax import alter_statements as ast
from acidsql.transactions.transaction import exclusive_lock

_MILLISECONDS = 1000
_SAID_OTHERWISE = ("external", "transactional")


def convert(session: AcidSession, statement: ast.SetProperties) -> DataFrame | None:
    """Make a plain table of the metastore, or of Spark's catalog, transactional.

    Returns:
        None if the statement does not set ``transactional``, or does not name a plain table. Spark
        then runs the statement.

    Raises:
        AcidAnalysisError: the table cannot become transactional (CANNOT_CONVERT_TABLE,
            UNSUPPORTED_FEATURE, UNSUPPORTED_DATATYPE, LOCATION_IN_USE).
        FormatError: a file of the table is not an ORC file.
    """
    given = {key.lower(): value for key, value in statement.properties.items()}
    name = qualified(session, statement.name)
    if given.get("transactional", "").lower() != "true" or name is None:
        return None
    if names_temp_view(session, statement.name):
        return None
    registered = session.metastore.plain_table(*name)
    plain = registered or _of_spark(session, *name)
    if plain is None:
        return None
    if plain.external and given.get("external", "").upper() == "FALSE":
        plain = replace(plain, external=False)
    set_here = {k: v for k, v in statement.properties.items() if k.lower() not in _SAID_OTHERWISE}
    properties = {**plain.table.properties, **set_here, "transactional": "true"}
    properties.setdefault("transactional_properties", "default")
    plain = replace(plain, table=replace(plain.table, properties=properties))
    _check(session, plain, set_here, of_spark=registered is None)
    # Without a metastore server, no metastore has locks for plain tables.
    alone = exclusive_lock(session, plain.table) if registered else nullcontext()
    with alone, ExitStack() as undo:
        codec = _rename_files(session, plain, undo.callback, of_spark=registered is None)
        plain = replace(plain, table=with_codec(session, plain.table, codec))
        session.metastore.convert_table(plain)
        undo.pop_all()
        if registered is None:
            bridge.forget_table(session.spark, *name)
    return result.nothing(session.spark)


def _of_spark(session: AcidSession, database: str, name: str) -> PlainTable | None:
    """Return a table of Spark's catalog, or None."""
    entry = bridge.catalog_table(session.spark, database, name)
    if entry is None:
        return None
    if not session.metastore.capabilities.converts_spark_tables:
        raise _cannot(f"{database}.{name}", "it is a table of Spark's own catalog")
    if "orc" not in entry.provider:
        raise _cannot(f"{database}.{name}", f"its format is {entry.provider}, not ORC")
    if entry.bucketed:
        raise _cannot(f"{database}.{name}", "it has Spark's buckets, whose hash is not Hive's")
    columns = columns_of(session.spark, entry.schema)
    stored = len(columns) - len(entry.partition_columns)
    table = Table(
        database=database,
        name=name,
        columns=columns[:stored],
        partition_columns=columns[stored:],
        location=session.files.qualify(entry.location),
        properties={**entry.properties, **({"comment": entry.comment} if entry.comment else {})},
        owner=entry.owner or session.user,
        created=entry.created // _MILLISECONDS,
    )
    partitions = tuple(
        Partition(
            values=tuple(values.get(c) or DEFAULT_PARTITION for c in entry.partition_columns),
            location=session.files.qualify(location),
        )
        for values, location in entry.partitions
    )
    return PlainTable(table=table, partitions=partitions, external=entry.external, is_sorted=False)


def _check(
    session: AcidSession, plain: PlainTable, given: dict[str, str], *, of_spark: bool
) -> None:
    """Refuse a table that cannot become transactional (TransactionalValidationListener)."""
    table = plain.table
    if table.insert_only:
        raise _cannot(table.full_name, "its rows would be in no delta of an insert-only table")
    if table.file_format is not FileFormat.ORC:
        raise _cannot(table.full_name, f"its format is {table.file_format.value}, not ORC")
    if plain.external:
        raise _cannot(
            table.full_name, "it is external; add 'EXTERNAL'='FALSE' to take over its files"
        )
    if plain.is_sorted:
        raise _cannot(table.full_name, "it is SORTED BY columns")
    check_properties(given)
    warn_of_retention(session, given)
    check_columns(session, table.columns, table.partition_columns)
    if of_spark:
        check_location(session, table)
        check_unowned(session, table.location)
        _check_timestamps(session, table)


def _check_timestamps(session: AcidSession, table: Table) -> None:
    """Refuse TIMESTAMP_NTZ, and timestamps from another time zone than the session's.

    Spark wrote a TIMESTAMP as a local time in the JVM's time zone; acidsql would read it as a local
    time in the session's time zone. Spark wrote a TIMESTAMP_NTZ as a number.
    """
    for column in table.columns:
        if has_local_time(column):
            raise _cannot(
                table.full_name,
                f"Spark wrote {column.name} as numbers, which TIMESTAMP_NTZ is not in Hive; "
                "create a transactional table AS SELECT from it",
            )
    if session.time_zone == session.jvm_time_zone:
        return
    for field in data_schema(session.spark, table).fields:
        if has_timestamp(field.dataType):
            raise _cannot(
                table.full_name,
                f"Spark wrote the timestamps of {field.name} in the JVM's time zone, "
                f"{session.jvm_time_zone}, and the session's is {session.time_zone}; set "
                f"spark.sql.session.timeZone to {session.jvm_time_zone} for this statement",
            )


def _rename_files(
    session: AcidSession,
    plain: PlainTable,
    undo: Callable[..., object],
    *,
    of_spark: bool,
) -> str | None:
    """Check all files of a table, then rename them to names of original files.

    Args:
        session: the session.
        plain: the table.
        undo: receives the function that renames a file back, and its arguments.
        of_spark: whether the table is in Spark's catalog.

    Returns:
        The codec of the newest file with rows; None if there is none.
    """
    listings = Listings(session.files, None)
    table = plain.table
    places = [p.location for p in plain.partitions] if table.partition_columns else [table.location]
    names_by_place = {place: _files(session, listings, table, place) for place in places}
    paths = [child(place, name) for place, names in names_by_place.items() for name in names]

    def tail_of(path: str) -> OrcTail | None:
        return read_tail(session.files, path) if session.files.size(path) else None

    tails = zip(paths, in_parallel(tail_of, paths), strict=True)
    with_rows = {path: tail for path, tail in tails if tail is not None}
    for path, tail in with_rows.items():
        _check_columns(table, path, tail, of_spark=of_spark)
    newest = max(with_rows, key=lambda path: _modified(listings, path), default=None)
    for place, names in names_by_place.items():
        # Delete Spark's marker of a finished job, which Hive 3.1 would read as a data file.
        session.files.delete(child(place, "_SUCCESS"))
        for old, new in new_names(names):
            source, target = child(place, old), child(place, new)
            session.files.rename(source, target)
            undo(session.files.rename, target, source)
    sync(session.files, list(names_by_place))
    return newest and with_rows[newest].compression


def _modified(listings: Listings, path: str) -> int:
    """Return the modification time of a file, in milliseconds."""
    directory, _, name = path.rpartition("/")
    return listings.get(directory).files[name].modified


def _files(session: AcidSession, listings: Listings, table: Table, place: str) -> list[str]:
    names = [
        name
        for name in with_nested_originals(session.files, listings, place)
        if not is_hidden(name)
    ]
    for name in names:
        path = child(place, name)
        strange = "/" in name and not is_original_file(name.rpartition("/")[2])
        if parse_directory(name) or strange or session.files.is_directory(path):
            raise _cannot(
                table.full_name, f"{path} is not one of its files; move it to another directory"
            )
    return names


def new_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each file that is not named like an original file with a new name, sorted by old name.

    >>> new_names(["000000_0", "part-b", "part-a"])
    [('part-a', '000001_0'), ('part-b', '000002_0')]
    """
    taken = set(names)
    renamed = []
    number = 0
    for old in sorted(n for n in names if not is_original_file(n.rpartition("/")[2])):
        while original_file_name(number) in taken:
            number += 1
        renamed.append((old, original_file_name(number)))
        taken.add(original_file_name(number))
    return renamed


def _check_columns(table: Table, path: str, tail: OrcTail, *, of_spark: bool) -> None:
    """Refuse a file with its columns in another order than the table's columns.

    Spark finds columns by name. Readers of transactional tables find them by position.
    """
    names = [lowered(name) for name, _ in tail.struct_fields()]
    if all(map(POSITIONAL_NAME.fullmatch, names)):
        return
    expected = [column.stored_name for column in table.columns]
    for position, name in enumerate(names):
        at = expected.index(name) if name in expected else None
        if at != position and (at is not None or of_spark):
            raise _cannot(
                table.full_name,
                f"{path} has the columns {', '.join(names)}, the table {', '.join(expected)}",
            )


def _cannot(name: str, reason: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "CANNOT_CONVERT_TABLE",
        f"{name} cannot become transactional where it lies: {reason}. Another table can be made of "
        "its rows: CREATE TABLE … STORED AS ORC TBLPROPERTIES ('transactional'='true') AS SELECT …",
    )
