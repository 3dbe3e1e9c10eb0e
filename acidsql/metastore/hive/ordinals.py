"""Ordinals of a table's rows, from which acidsql computes the values of identity columns.

A property of the table contains the number of reserved ordinals. Hive 4 changes it only if no
client has altered the table meanwhile. If a server cannot compare, the writers of tables with
identity columns wait for each other (``turn_of_writers``).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from acidsql.metastore.hive.alterations import send_altered
from acidsql.metastore.hive.conversions import ACCURATE, ORDINALS
from acidsql.metastore.hive.generated_columns import has_identity
from acidsql.metastore.hive.server import Server
from acidsql.metastore.hive.tables import ServerTables
from acidsql.metastore.model import LockRequest, LockType, Operation

_ADDS_ROWS = (Operation.INSERT, Operation.UPDATE)


def reserve(server: Server, existing: Any, count: int) -> int:
    """Reserve ordinals (``Metastore.reserve_ordinals``).

    Args:
        existing: the server's table, as it is now.

    Raises:
        WriteConflictError: CONCURRENT_WRITE, another client has altered the table since.
    """
    first = int((existing.parameters or {}).get(ORDINALS, "0").split()[0])
    if not count:
        return first
    altered = copy.deepcopy(existing)
    # The random word distinguishes this change from another client's with the same number.
    altered.parameters[ORDINALS] = f"{first + count} {uuid4().hex}"
    # Another writer may have marked the statistics as out of date since the table was fetched.
    altered.parameters.pop(ACCURATE, None)
    send_altered(server, existing, altered)
    return first


def turn_of_writers(
    server: Server, tables: ServerTables, requests: Sequence[LockRequest]
) -> list[LockRequest]:
    """Return the locks with which writers of tables with identity columns wait for each other.

    They are necessary only if two writers could otherwise reserve the same ordinals.
    """
    if server.compares_before_alter:
        return []
    names = {(r.database, r.table) for r in requests if r.operation in _ADDS_ROWS}
    return [
        LockRequest(
            database=database,
            table=table,
            partition=None,
            type=LockType.EXCL_WRITE,
            operation=Operation.SELECT,
        )
        for database, table in sorted(names)
        if has_identity(tables.remembered(database, table))
    ]
