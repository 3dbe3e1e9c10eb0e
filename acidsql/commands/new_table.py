"""New tables: their names and places, and a transaction that fills one before it is visible."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql.commands.adopt_table import check_location
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.names import is_hidden
from acidsql.metastore import changes, failures
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
    """Return database and name of a table that is to be created.

    Args:
        parts: parts of the name.
        if_not_exists: whether to return None if there is one, rather than to raise.

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
    """Return the definition of a new table that is like another one.

    Args:
        session: the session.
        source: the other table.
        name: database and name of the new one.
        location: its own, None for that below the database's.
        properties: that it has beside those of the other one, or in their place.
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
    """Refuse a directory with files in it (LOCATION_ALREADY_EXISTS).

    Spark refuses it too: rows that were left there would become rows of the new table.
    """
    found = [name for name in session.files.names(table.location) if not is_hidden(name)]
    if found:
        raise AcidAnalysisError(
            "LOCATION_ALREADY_EXISTS",
            f"{table.full_name} would lie in {table.location}, which holds {found[0]}: move that "
            "away, or adopt the table there with CREATE TABLE … LOCATION",
            {"location": table.location, "identifier": quoted_name([table.database, table.name])},
        )


@contextmanager
def filling(
    session: AcidSession, table: Table, source: RecordedStatement, highest_write_id: int = 0
) -> Iterator[TableWrite]:
    """Create a table for a transaction that writes its first rows, which the block must commit.

    No other client sees the table before the commit (on a server, its rows). Nothing is left of it
    if the block raises.

    Args:
        table: its definition.
        source: the statement.
        highest_write_id: write id above which those of the table begin.
    """
    with transaction(session) as opened:
        staged = session.metastore.stage_table(opened.txn_id, table, highest_write_id)
        current().known_as[staged.full_name] = table.full_name
        make_directory(session.files, table.location)
        with write_transactions(session, [insert_intent(staged, source)], opened) as (write,):
            write.changes.append(changes.ShowTable(staged=staged, name=table.name))
            yield write
