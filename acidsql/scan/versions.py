"""Old versions of a table: their protection from cleaners, and checks that they are complete.

Obsolete directories of a version exist until a cleaner removes them after a compaction, an INSERT
OVERWRITE or a TRUNCATE. Each of these operations leaves a base. A version is therefore complete
unless cleaning has followed a base with later rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from acidsql.errors import AcidAnalysisError
from acidsql.format.names import AcidDirectory
from acidsql.format.selection import AcidState, needs_row_filter
from acidsql.metastore.model import Table
from acidsql.metastore.moments import Moment, TableVersion
from acidsql.metastore.protocol import Metastore
from acidsql.metastore.version_failures import history_not_available


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldVersion:
    """Version of a table that is protected from cleaners, so that its existing files remain.

    Attributes:
        moment: moment that the version was looked up by.
        version: the version.
        removed: see ``Metastore.hold_history``.
    """

    moment: Moment
    version: TableVersion
    removed: Mapping[str | None, int] | None


def hold_version(
    metastore: Metastore, table: Table, moment: Moment, txn_id: int | None
) -> HeldVersion:
    """Find the version of a table at a moment, and hold it while a transaction is open.

    Args:
        metastore: metastore of the table.
        table: the table.
        moment: the moment.
        txn_id: the transaction; None if no rows are going to be read.

    Raises:
        AcidAnalysisError: see ``Metastore.find_version``.
    """
    version = metastore.find_version(table.database, table.name, moment)
    return held_version(metastore, table, moment, version, txn_id)


def held_version(
    metastore: Metastore, table: Table, moment: Moment, version: TableVersion, txn_id: int | None
) -> HeldVersion:
    """Hold a version of a table that is already known; see ``hold_version``."""
    removed: Mapping[str | None, int] | None = {}
    if txn_id is not None:
        removed = metastore.hold_history(txn_id, table.database, table.name, version)
    return HeldVersion(moment=moment, version=version, removed=removed)


def with_columns_of(table: Table, version: TableVersion) -> Table:
    """Return a table with the columns that it had at a version, if they are known."""
    if version.columns is None:
        return table
    old = {now.name: then.name for now, then in zip(table.columns, version.columns, strict=False)}
    buckets = tuple(old.get(name, name) for name in table.bucket_columns)
    return replace(table, columns=version.columns, bucket_columns=buckets)


def at_moment(metastore: Metastore, table: Table, moment: Moment | None) -> Table:
    """Return a table with the columns that it had at a moment, None for now.

    Raises:
        AcidAnalysisError: see ``Metastore.find_version``.
    """
    if moment is None:
        return table
    return with_columns_of(table, metastore.find_version(table.database, table.name, moment))


def check_version(
    metastore: Metastore, table: Table, held: HeldVersion, newest: Mapping[str | None, int]
) -> None:
    """Check that no directory of a version has been removed.

    Args:
        metastore: metastore of the table.
        table: the table.
        held: the version.
        newest: write ids of the newest bases, by the names of the partitions that are read, or
            None; LONG_MIN for a partition without a base.

    Raises:
        AcidAnalysisError: HISTORY_NOT_AVAILABLE.
    """
    after = newest if held.removed is None else held.removed
    least = held.version.complete_up_to
    lost = {name: after[name] for name in newest.keys() & after.keys() if after[name] > least}
    if not lost:
        return
    highest = max(lost.values())
    where = sorted(name for name in lost if name is not None)
    of = f" of {where[0]}" if where else ""
    is_recorded = held.removed is not None
    why = f"directories{of} were {'' if is_recorded else 'or may have been '}removed"
    oldest = metastore.oldest_version(table.database, table.name, highest)
    raise history_not_available(
        table.full_name,
        held.moment,
        f"{why} after write id {highest} had made them obsolete",
        oldest,
    )


def refuse_without_base(table: Table, held: HeldVersion, error: AcidAnalysisError) -> NoReturn:
    """Raise HISTORY_NOT_AVAILABLE for ACID_NOT_ENOUGH_HISTORY."""
    raise history_not_available(
        table.full_name, held.moment, "its directories were removed", None
    ) from error


def check_version_is_readable(table: Table, held: HeldVersion, states: Iterable[AcidState]) -> None:
    """Check that no directory of an insert-only table contains only some rows of the version.

    Such rows cannot be selected, because rows of insert-only tables have no write ids.

    Raises:
        AcidAnalysisError: HISTORY_NOT_AVAILABLE.
    """
    if not table.insert_only:
        return
    for state in states:
        for directory in state.directories:
            if needs_row_filter(directory, held.version.write_ids):
                raise history_not_available(
                    table.full_name, held.moment, _merged(directory), directory.max_write_id
                )


def _merged(directory: AcidDirectory) -> str:
    return (
        f"{directory.name} has rows of several write ids, and those of an insert-only table do not "
        "say which is theirs"
    )
