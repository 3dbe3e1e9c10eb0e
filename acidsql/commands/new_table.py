"""New tables: their names and locations, and a transaction that fills them while invisible."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql.commands.adopt_table import check_location
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.names import is_hidden
from acidsql.metastore import catalog_changes, failures
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import (
    already_exists,
    in_metastore,
    known_to_spark,
    qualified,
)
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.storage.filesystem import child
from acidsql.storage.sync import make_directory
from acidsql.transactions.transaction import transaction
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import TableWrite, write_transactions


def new_table_name(
    session: AcidSession, parts: Sequence[str], *, if_not_exists: bool
) -> tuple[str, str] | None:
    """Return the database and the name of a table to create.

    Args:
        session: the session.
        parts: parts of the name.
        if_not_exists: whether to return None, rather than raise, if the table exists.

    Raises:
        AcidAnalysisError: REQUIRES_SINGLE_PART_NAMESPACE, INVALID_SCHEMA_OR_RELATION_NAME,
            TABLE_OR_VIEW_ALREADY_EXISTS.
        AcidLookupError: SCHEMA_NOT_FOUND.
    """
    name = qualified(session, parts)
    if name is None:
        raise AcidAnalysisError(
            "REQUIRES_SINGLE_PART_NAMESPACE",
            f"{'.'.join(parts)} does not name a table of spark_catalog: write database.table",
            {"identifier": quoted_name(parts)},
        )
    database, table_name = name
    failures.check_name(table_name)
    session.metastore.database_location(database)
    if in_metastore(session, name) or known_to_spark(session, name):
        if if_not_exists:
            return None
        raise already_exists(name)
    return name


def definition_like(
    session: AcidSession,
    source: Table,
    name: tuple[str, str],
    location: str | None,
    properties: Mapping[str, str],
) -> Table:
    """Return the definition of a new table that copies the definition of another table.

    Args:
        session: the session.
        source: the other table.
        name: database and name of the new table.
        location: location of the new table; None for the default location in its database.
        properties: properties that are added to those of ``source``, or replace them.
    """
    database, table_name = name
    place = location
    if place is None:
        place = child(session.database_location(database), table_name)
    table = replace(
        source,
        database=database,
        name=table_name,
        location=session.files.qualify(place),
        properties={**source.properties, **properties},
        owner=session.user,
        created=int(time.time()),
    )
    if location is not None or not session.metastore.capabilities.chooses_locations:
        check_location(session, table)
    return table


def check_empty(session: AcidSession, table: Table) -> None:
    """Refuse a location that contains files (LOCATION_ALREADY_EXISTS).

    Spark refuses it too, because rows in these files would become rows of the new table.
    """
    present = [name for name in session.files.names(table.location) if not is_hidden(name)]
    if present:
        raise AcidAnalysisError(
            "LOCATION_ALREADY_EXISTS",
            f"{table.full_name} would lie in {table.location}, which holds {present[0]}: move that "
            "away, or adopt the table there with CREATE TABLE … LOCATION",
            {"location": table.location, "identifier": quoted_name([table.database, table.name])},
        )


@contextmanager
def filling(
    session: AcidSession, table: Table, source: RecordedStatement, highest_write_id: int = 0
) -> Iterator[TableWrite]:
    """Create a table and yield a transaction that writes its first rows; the block must commit it.

    No other client sees the table before the commit (on a Hive Metastore, it sees the table without
    rows). If the block raises, nothing of the table remains.

    Args:
        session: the session.
        table: definition of the table.
        source: the statement.
        highest_write_id: the table's write ids begin above this write id.
    """
    with transaction(session) as opened:
        staged = session.metastore.stage_table(opened.txn_id, table, highest_write_id)
        current().known_as[staged.full_name] = table.full_name
        make_directory(session.files, table.location)
        with write_transactions(session, [insert_intent(staged, source)], opened) as (write,):
            write.changes.append(catalog_changes.ShowTable(staged=staged, name=table.name))
            yield write
