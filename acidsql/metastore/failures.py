"""Errors that every metastore raises with the same text."""

from __future__ import annotations

import re

from acidsql.errors import (
    AcidAnalysisError,
    AcidLookupError,
    FormatError,
    TableReplacedError,
    TransactionStateError,
    WriteConflictError,
    quoted_name,
)
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Operation, Table

# Condition of a call that the metastore did not receive, because it refused the authentication.
REQUEST_NOT_SENT = "METASTORE_AUTHENTICATION"
# File systems have names of 255 bytes, and the directory of a database ends with ".db".
_LONGEST_NAME = 255 - len(".db")


def check_name(name: str) -> None:
    """Check the name of a new database, table or view, which becomes the name of a directory.

    Spark (SessionCatalog.validateName) and Hive (MetaStoreUtils.validateName) have the same rule,
    but allow only English letters.

    Raises:
        AcidAnalysisError: INVALID_SCHEMA_OR_RELATION_NAME, also if the name is too long for a
            directory.
    """
    if len(name.encode(errors="replace")) > _LONGEST_NAME:
        problem = f"{name[:20] + '…'!r} is too long a name: use {_LONGEST_NAME} bytes at most"
    elif re.fullmatch(r"\w+", name) is None:
        problem = (
            f"{name!r} is not a valid name of a table or database: use only letters, digits "
            "and underscores"
        )
    else:
        return
    raise AcidAnalysisError(
        "INVALID_SCHEMA_OR_RELATION_NAME", problem, {"name": quoted_name([name])}
    )


def invalid_location(path: str, problem: str) -> AcidAnalysisError:
    """Return the error for a text that cannot be a path (INVALID_LOCATION).

    ``problem`` is a clause that follows "because".
    """
    return AcidAnalysisError(
        "INVALID_LOCATION",
        f"{path[:200]!r} cannot be the path of a file or directory, because {problem}: choose "
        "another one",
    )


def schema_not_found(name: str) -> AcidLookupError:
    """Return the error for a database that does not exist (SCHEMA_NOT_FOUND)."""
    return AcidLookupError(
        "SCHEMA_NOT_FOUND",
        f"database {lowered(name)!r} cannot be found; see SHOW DATABASES",
        {"schemaName": quoted_name([lowered(name)])},
    )


def schema_exists(name: str) -> AcidAnalysisError:
    """Return the error for a new database whose name is taken (SCHEMA_ALREADY_EXISTS)."""
    return AcidAnalysisError(
        "SCHEMA_ALREADY_EXISTS",
        f"database {lowered(name)!r} exists already; choose another name or add IF NOT EXISTS",
        {"schemaName": quoted_name([lowered(name)])},
    )


def schema_not_empty(name: str) -> AcidAnalysisError:
    """Return the error for dropping a database that still has tables (SCHEMA_NOT_EMPTY)."""
    return AcidAnalysisError(
        "SCHEMA_NOT_EMPTY",
        f"database {lowered(name)!r} has tables; drop them first (SHOW TABLES IN {lowered(name)})",
        {"schemaName": quoted_name([lowered(name)])},
    )


def default_schema_stays() -> AcidAnalysisError:
    """Return the error for dropping database ``default`` (UNSUPPORTED_FEATURE.DROP_DATABASE)."""
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.DROP_DATABASE",
        "database 'default' cannot be dropped; drop its tables",
    )


def table_not_found(database: str, name: str) -> AcidLookupError:
    """Return the error for a table or view that does not exist (TABLE_OR_VIEW_NOT_FOUND)."""
    return AcidLookupError(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"table or view '{lowered(database)}.{lowered(name)}' cannot be found; "
        f"check the name (SHOW TABLES IN {lowered(database)})",
        {"relationName": quoted_name([lowered(database), lowered(name)])},
    )


def table_exists(database: str, name: str) -> AcidAnalysisError:
    """Return the error for a new table whose name is taken (TABLE_OR_VIEW_ALREADY_EXISTS)."""
    return AcidAnalysisError(
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        f"table or view '{lowered(database)}.{lowered(name)}' exists already; "
        "choose another name or add IF NOT EXISTS",
        {"relationName": quoted_name([lowered(database), lowered(name)])},
    )


def table_replaced(table: Table) -> TableReplacedError:
    """Return the error for a table that was replaced since the statement or transaction began.

    The new table has other columns or another layout. The condition is TABLE_REPLACED.
    """
    return TableReplacedError(
        "TABLE_REPLACED",
        f"{table.full_name} was replaced by a table with other columns or another layout "
        "meanwhile, and this snapshot is older: run the statement, or the whole transaction, again",
        {"tableName": table.full_name},
    )


def location_in_use(location: str, other: Table) -> AcidAnalysisError:
    """Return the error for a new table whose directory overlaps another's (LOCATION_IN_USE)."""
    return AcidAnalysisError(
        "LOCATION_IN_USE",
        f"{location} belongs to {other.full_name}, which lies in {other.location}: "
        "choose another LOCATION, or drop that table first",
    )


def partition_not_found(database: str, name: str, values: tuple[str, ...]) -> AcidLookupError:
    """Return the error for a partition that does not exist (PARTITION_NOT_FOUND)."""
    return AcidLookupError(
        "PARTITION_NOT_FOUND",
        f"table '{lowered(database)}.{lowered(name)}' has no partition {values!r}; "
        "see SHOW PARTITIONS",
    )


def partition_exists(database: str, name: str, values: tuple[str, ...]) -> AcidAnalysisError:
    """Return the error for a new or renamed partition whose values are taken.

    The condition is PARTITION_ALREADY_EXISTS.
    """
    return AcidAnalysisError(
        "PARTITION_ALREADY_EXISTS",
        f"table '{lowered(database)}.{lowered(name)}' has a partition {values!r} "
        "already; drop it first or choose other values",
    )


def partition_values_mismatch(
    database: str, name: str, values: tuple[str, ...], columns: int
) -> AcidAnalysisError:
    """Return the error for a partition without exactly one value for each partition column.

    The condition is PARTITION_VALUES_MISMATCH; ``columns`` is the number of partition columns.
    """
    return AcidAnalysisError(
        "PARTITION_VALUES_MISMATCH",
        f"partition {values!r} does not have one value for each of the "
        f"{columns} partition columns of '{lowered(database)}.{lowered(name)}'; give one for each",
    )


def txn_aborted(txn_id: int, cause: str) -> TransactionStateError:
    """Return the error for an aborted transaction (TXN_ABORTED).

    ``cause`` is a clause that follows "was aborted:".
    """
    return TransactionStateError(
        "TXN_ABORTED",
        f"transaction {txn_id} was aborted: {cause}; "
        "nothing of it is visible, run the statement again",
        {"txnId": str(txn_id)},
    )


def txn_committed(txn_id: int) -> TransactionStateError:
    """Return the error for a transaction that is committed already (TXN_COMMITTED)."""
    return TransactionStateError(
        "TXN_COMMITTED",
        f"transaction {txn_id} is committed already; begin a new transaction, or undo it by a new "
        "statement",
        {"txnId": str(txn_id)},
    )


def too_many_statements(txn_id: int, table: Table, most: int) -> FormatError:
    """Return the error for a transaction without free statement ids (TOO_MANY_STATEMENTS)."""
    return FormatError(
        "TOO_MANY_STATEMENTS",
        f"transaction {txn_id} has used all {most} statement ids for {table.full_name}: write to "
        "it in several transactions",
        {"txnId": str(txn_id)},
    )


def no_such_txn(txn_id: int) -> TransactionStateError:
    """Return the error for a transaction id that was never allocated (NO_SUCH_TXN)."""
    return TransactionStateError(
        "NO_SUCH_TXN",
        f"transaction {txn_id} was never opened in this metastore; begin a new transaction",
        {"txnId": str(txn_id)},
    )


def write_id_refused(txn_id: int, reason: str) -> TransactionStateError:
    """Return the error for a transaction that may not write (WRITE_ID_REFUSED).

    ``reason`` is the end of the sentence that begins "gets no write id, because it".
    """
    return TransactionStateError(
        "WRITE_ID_REFUSED",
        f"transaction {txn_id} gets no write id, because it {reason}; begin a new transaction",
        {"txnId": str(txn_id)},
    )


_VERBS = {Operation.UPDATE: "update", Operation.DELETE: "delete"}


def write_conflict(
    txn_id: int,
    operation_of_loser: Operation | None,
    where: str,
    winner: int | str,
    operation_of_winner: Operation | None,
) -> WriteConflictError:
    """Return the error for a transaction that has lost a conflict (CONCURRENT_WRITE).

    Args:
        txn_id: the transaction.
        operation_of_loser: operation of this transaction, None if it is not known.
        where: the table or partition that both changed.
        winner: the transaction that committed first.
        operation_of_winner: operation of that transaction, None if it is not known.
    """
    verbs = [
        _VERBS.get(operation, "change") if operation else "change"
        for operation in (operation_of_loser, operation_of_winner)
    ]
    return WriteConflictError(
        "CONCURRENT_WRITE",
        f"transaction {txn_id} was aborted: its {verbs[0]} of {where} conflicts with the "
        f"{verbs[1]} by transaction {winner}, which committed first; run the statement "
        "again, or have that done more often (spark.acidsql.retries)",
        {"txnId": str(txn_id), "winnerTxnId": str(winner), "object": where},
    )


def stream_offset_changed(
    stream: str, expected: int | None, current: int | None
) -> TransactionStateError:
    """Return the error for a stream that another client has advanced (STREAM_OFFSET_CHANGED)."""
    return TransactionStateError(
        "STREAM_OFFSET_CHANGED",
        f"the offset of stream {stream!r} is {current}, and this client went on from {expected}: "
        "another client writes the same stream; end one of them",
        {"stream": stream},
    )
