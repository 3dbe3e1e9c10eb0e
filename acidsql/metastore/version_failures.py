"""Errors for table versions that cannot be read, which are the same for every metastore."""

from __future__ import annotations

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import Moment


def version_not_found(table: str, moment: Moment, why: str, newest: int) -> AcidAnalysisError:
    """Return the error for a moment at which a table had no version (VERSION_NOT_FOUND).

    Args:
        table: full name of the table.
        moment: the moment.
        why: a clause that follows "because".
        newest: highest write id of the table.
    """
    return AcidAnalysisError(
        "VERSION_NOT_FOUND",
        f"{table} has no {moment}, because {why}: its newest write id is {newest}; DESCRIBE "
        f"HISTORY {table} lists what was committed, and when",
        {"tableName": table, "version": str(moment)},
    )


def not_a_version(table: str, text: str) -> AcidAnalysisError:
    """Return the error for a text that cannot name a version (VERSION_NOT_FOUND)."""
    return AcidAnalysisError(
        "VERSION_NOT_FOUND",
        f"{table} has no version {text!r}: give a write id, as in VERSION AS OF 7, or a "
        "transaction, as in VERSION AS OF 'txn 17'",
        {"tableName": table, "version": text},
    )


def history_not_available(
    table: str, moment: Moment, why: str, oldest: int | None
) -> AcidAnalysisError:
    """Return the error for a version that can no longer be read (HISTORY_NOT_AVAILABLE).

    Args:
        table: full name of the table.
        moment: the moment.
        why: a clause that follows "because".
        oldest: the oldest version that can be read; None if it is unknown.
    """
    return AcidAnalysisError(
        "HISTORY_NOT_AVAILABLE",
        f"{table} cannot be read as of {moment}, because {why}: {_instead(oldest)}",
        {"tableName": table, "version": str(moment), "oldestVersion": _number(oldest)},
    )


def columns_changed(table: str, moment: Moment, oldest: int | None) -> AcidAnalysisError:
    """Return the error for a version that is older than a change of the table's columns.

    Its condition is VERSION_HAS_OTHER_COLUMNS.
    """
    return AcidAnalysisError(
        "VERSION_HAS_OTHER_COLUMNS",
        f"{table} cannot be read as of {moment}, because its columns were changed later, by an "
        f"older acidsql, which did not record what they were: {_instead(oldest)}",
        {"tableName": table, "version": str(moment), "oldestVersion": _number(oldest)},
    )


def _instead(oldest: int | None) -> str:
    if oldest is None:
        return "read a newer version"
    return f"the oldest version that is there is {oldest}"


def _number(version: int | None) -> str:
    return "" if version is None else str(version)
