"""Versions of tables in the embedded metastore, and the remaining directories of old versions.

The commits of all tables are numbered in their order, so a version contains all commits up to the
number of its own commit. Every change that makes older versions unreadable is recorded before it
happens: changes of partitions in ``history_limits``, and removals of directories in
``cleaned_history``. ``column_history`` contains the columns of older versions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from acidsql.errors import TransactionStateError
from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.embedded import catalog, table_history, tags
from acidsql.metastore.embedded.table_history import LimitedBy
from acidsql.metastore.embedded.transactions import require_open, state_of
from acidsql.metastore.model import TxnState
from acidsql.metastore.moments import (
    MICROSECONDS_SQL,
    BeforeTransactionMoment,
    BeforeWriteMoment,
    Moment,
    TableVersion,
    TagMoment,
    TimeMoment,
    TransactionMoment,
    WriteIdMoment,
)
from acidsql.metastore.names import partition_name
from acidsql.metastore.tags import Tag
from acidsql.metastore.version_failures import (
    columns_changed,
    history_not_available,
    version_not_found,
)

_WHOLE_TABLE = ""
_WHY = {
    LimitedBy.COLUMNS: "its columns were changed later",
    LimitedBy.PARTITIONS: "a partition was dropped, renamed, moved or found later",
    LimitedBy.LOCATION: "the table was moved to another place later",
    LimitedBy.REPLACED: "the table was replaced by one with other columns or another layout later",
}


@dataclass(frozen=True, slots=True)
class _Writes:
    """Write ids of one table.

    Attributes:
        settled: value of ``settled_write_id``; see ``schema``.
        created: time at which the table was created, in seconds since 1970.
    """

    connection: sqlite3.Connection
    name: str
    table_id: int
    settled: int
    next_write_id: int
    created: int

    @classmethod
    def of(cls, connection: sqlite3.Connection, database: str, table: str) -> _Writes:
        table_id = catalog.table_id(connection, database, table)
        row = connection.execute(
            "SELECT settled_write_id, next_write_id, created FROM tables WHERE table_id = ?",
            (table_id,),
        ).fetchone()
        name = f"{lowered(database)}.{lowered(table)}"
        return cls(connection, name, table_id, row[0], row[1], row[2])

    def one(self, query: str, *values: object) -> int | None:
        """Return the only value of a query over the write ids of the table, with id ``:table``."""
        names = {f"v{i}": value for i, value in enumerate(values)}
        row = self.connection.execute(query, {"table": self.table_id, **names}).fetchone()
        return None if row is None else row[0]

    @property
    def highest_unallocated(self) -> int:
        """Highest write id that was read from directories, below all ids of this metastore."""
        first = self.one("SELECT min(write_id) FROM write_ids WHERE table_id = :table")
        return self.settled if first is None else min(self.settled, first - 1)


def find(
    connection: sqlite3.Connection, database: str, table: str, moment: Moment, now: float
) -> TableVersion:
    """Find the version of a table (``Metastore.find_version``)."""
    writes = _Writes.of(connection, database, table)
    version, number = _find(writes, moment, now)
    columns = table_history.columns_at(connection, writes.table_id, number)
    return version if columns is None else replace(version, columns=catalog.columns_of(columns))


def create_tag(
    connection: sqlite3.Connection,
    database: str,
    table: str,
    name: str,
    moment: Moment | None,
    now: float,
    expires: float | None,
) -> Tag:
    """Create a tag of a version (``Metastore.create_tag``)."""
    writes = _Writes.of(connection, database, table)
    if moment is None:
        number = connection.execute(
            "SELECT value FROM counters WHERE name = 'commit_number'"
        ).fetchone()[0]
        version = _at_number(writes, TagMoment(name=name), number)
    else:
        version, number = _find(writes, moment, now)
    return tags.create(connection, writes.table_id, name, version, number, now, expires)


def _find(writes: _Writes, moment: Moment, now: float) -> tuple[TableVersion, int]:
    """Find the version of a moment, and the number of its last commit."""
    match moment:
        case WriteIdMoment(write_id=write_id):
            version, number = _of_write_id(writes, moment, write_id)
        case BeforeWriteMoment(write_id=write_id):
            version, number = _before_write_id(writes, moment, write_id)
        case TransactionMoment(txn_id=txn_id):
            version, number = _of_transaction(writes, moment, txn_id)
        case BeforeTransactionMoment(txn_id=txn_id):
            version, number = _before_transaction(writes, moment, txn_id)
        case TimeMoment():
            version, number = _of_time(writes, moment, now)
        case TagMoment(name=name):
            tagged = tags.version_of(writes.connection, writes.table_id, name)
            if tagged is None:
                _refuse(writes, moment, "there is no tag of this name")
            version, number = tagged
    _check_limits(writes, moment, number)
    return version, number


def _of_write_id(writes: _Writes, moment: Moment, write_id: int) -> tuple[TableVersion, int]:
    """Return the version of a write id, and the number of its commit."""
    newest = writes.next_write_id - 1
    if write_id < 0:
        raise version_not_found(writes.name, moment, "versions are not negative", newest)
    if write_id > newest:
        raise version_not_found(writes.name, moment, "it was never written", newest)
    if write_id == 0:
        return _version(writes, 0, None, 0, 0), 0
    row = writes.connection.execute(
        "SELECT outcome, commit_number, ended FROM write_ids WHERE table_id = ? AND write_id = ?",
        (writes.table_id, write_id),
    ).fetchone()
    outcome, number, ended = row or (TxnState.COMMITTED.value, None, None)
    if outcome is None:
        raise version_not_found(writes.name, moment, "it is not committed yet", newest)
    if outcome == TxnState.ABORTED.value:
        raise version_not_found(writes.name, moment, "it was aborted", newest)
    if number is not None:
        highest = _highest(writes, number)
        return _version(writes, write_id, ended, number, max(highest, write_id)), number
    # The order of these commits is unknown. It counts as the order of the write ids.
    later = writes.one(
        "SELECT max(commit_number) FROM write_ids WHERE table_id = :table AND write_id <= :v0",
        write_id,
    )
    return _version(writes, write_id, ended, later or 0, write_id), later or 0


def _before_write_id(writes: _Writes, moment: Moment, write_id: int) -> tuple[TableVersion, int]:
    """Return the version before a write id's commit, and the number of the preceding commit."""
    if write_id == 0:
        raise version_not_found(
            writes.name, moment, "write ids begin with 1", writes.next_write_id - 1
        )
    _, last_number = _of_write_id(writes, moment, write_id)
    commit_number = writes.one(
        "SELECT commit_number FROM write_ids WHERE table_id = :table AND write_id = :v0", write_id
    )
    # Commits without a number count in the order of their write ids.
    number = last_number if commit_number is None else last_number - 1
    highest = write_id - 1 if commit_number is None else max(_highest(writes, number), write_id - 1)
    return _version(writes, write_id - 1, None, number, highest), number


def _of_transaction(writes: _Writes, moment: Moment, txn_id: int) -> tuple[TableVersion, int]:
    number = _commit_number(writes, moment, txn_id)
    return _at_number(writes, moment, number), number


def _before_transaction(writes: _Writes, moment: Moment, txn_id: int) -> tuple[TableVersion, int]:
    number = _commit_number(writes, moment, txn_id) - 1
    return _at_number(writes, moment, number), number


def _commit_number(writes: _Writes, moment: Moment, txn_id: int) -> int:
    """Return the commit number of the transaction that a moment names."""
    row = writes.connection.execute(
        "SELECT outcome, commit_number, ended FROM write_ids WHERE txn_id = ? LIMIT 1", (txn_id,)
    ).fetchone()
    if row is None:
        try:
            state = state_of(writes.connection, txn_id)
        except TransactionStateError:
            _refuse(writes, moment, "there was no such transaction")
        if state is TxnState.COMMITTED:
            _refuse(writes, moment, "it wrote to no table that is still there")
        _refuse(writes, moment, f"it is {state.value}")
    outcome, number, ended = row
    if outcome != TxnState.COMMITTED.value:
        _refuse(writes, moment, f"it is {outcome or TxnState.OPEN.value}")
    if number is None:
        raise history_not_available(
            writes.name, moment, "the order of the commits of its time is not known", None
        )
    if ended is not None and writes.created > ended:
        _refuse(writes, moment, "the table was created later")
    return int(number)


def _of_time(writes: _Writes, moment: TimeMoment, now: float) -> tuple[TableVersion, int]:
    if moment.seconds > now:
        _refuse(writes, moment, "it is in the future")
    if moment.seconds < writes.created:
        _refuse(writes, moment, "the table was created later")
    # Use the commit numbers of all tables, so that a statement sees the same commits in each table,
    # and no commit without the earlier ones, even if the clock was set back.
    row = writes.connection.execute(
        f"SELECT max(commit_number) FROM write_ids WHERE {MICROSECONDS_SQL} <= ?",
        (moment.microseconds,),
    ).fetchone()
    number = row[0] or 0
    if not number and writes.one(
        "SELECT 1 FROM write_ids WHERE table_id = :table AND outcome = :v0"
        " AND commit_number IS NULL LIMIT 1",
        TxnState.COMMITTED.value,
    ):
        raise history_not_available(
            writes.name, moment, "the times of its first commits are not known", None
        )
    return _at_number(writes, moment, number), number


def _at_number(writes: _Writes, moment: Moment, number: int) -> TableVersion:
    """Return the version of a table after a commit number, which any table may have."""
    highest = max(_highest(writes, number), writes.highest_unallocated)
    recorded = writes.one(
        "SELECT count(*) FROM write_ids WHERE table_id = :table AND write_id > :v0"
        " AND write_id <= :v1",
        highest,
        writes.settled,
    )
    if writes.settled - highest > (recorded or 0):
        raise history_not_available(
            writes.name,
            moment,
            "others have written to its directories at unknown times; name a version",
            None,
        )
    row = writes.connection.execute(
        "SELECT write_id, ended FROM write_ids WHERE table_id = ? AND outcome = ?"
        " AND coalesce(commit_number, 0) <= ?"
        " ORDER BY coalesce(commit_number, 0) DESC, write_id DESC LIMIT 1",
        (writes.table_id, TxnState.COMMITTED.value, number),
    ).fetchone()
    write_id, ended = row or (writes.highest_unallocated, None)
    return _version(writes, write_id, ended, number, highest)


def _highest(writes: _Writes, number: int) -> int:
    """Return the highest write id with a commit number up to ``number``, 0 if there is none."""
    highest = writes.one(
        "SELECT max(write_id) FROM write_ids WHERE table_id = :table AND outcome = :v0"
        " AND coalesce(commit_number, 0) <= :v1",
        TxnState.COMMITTED.value,
        number,
    )
    return highest or 0


def _version(
    writes: _Writes, write_id: int, ended: float | None, number: int, highest: int
) -> TableVersion:
    """Return a version with the write ids up to ``highest`` that committed up to ``number``."""
    rows = writes.connection.execute(
        "SELECT write_id, outcome FROM write_ids WHERE table_id = :table AND write_id <= :highest"
        " AND cleaned = 0 AND (outcome IS NOT :committed OR commit_number > :number)",
        {
            "table": writes.table_id,
            "highest": highest,
            "committed": TxnState.COMMITTED.value,
            "number": number,
        },
    ).fetchall()
    aborted = frozenset(row[0] for row in rows if row[1] == TxnState.ABORTED.value)
    write_ids = ValidWriteIdList(
        table=writes.name,
        high_water_mark=highest,
        open=frozenset(row[0] for row in rows) - aborted,
        aborted=aborted,
    )
    return TableVersion(write_id=write_id, committed=ended, write_ids=write_ids)


def _check_limits(writes: _Writes, moment: Moment, number: int) -> None:
    """Refuse a version that a later change of the table has made unreadable."""
    row = writes.connection.execute(
        "SELECT reason, commit_number FROM history_limits"
        " WHERE table_id = ? AND commit_number > ? ORDER BY commit_number DESC LIMIT 1",
        (writes.table_id, number),
    ).fetchone()
    if row is None:
        return
    reason, oldest = LimitedBy(row[0]), _first_from(writes, row[1])
    if reason is LimitedBy.COLUMNS:
        raise columns_changed(writes.name, moment, oldest)
    raise history_not_available(writes.name, moment, _WHY[reason], oldest)


def _first_from(writes: _Writes, number: int) -> int | None:
    """Return the first version with a commit number of at least ``number``, or None."""
    return writes.one(
        "SELECT write_id FROM write_ids WHERE table_id = :table AND commit_number >= :v0"
        " ORDER BY commit_number LIMIT 1",
        number,
    )


def _refuse(writes: _Writes, moment: Moment, why: str) -> NoReturn:
    raise version_not_found(writes.name, moment, why, writes.next_write_id - 1)


def hold(
    connection: sqlite3.Connection,
    txn_id: int,
    database: str,
    table: str,
    version: TableVersion,
    now: float,
) -> Mapping[str | None, int] | None:
    """Hold back cleaners, and return where they have removed directories.

    See ``Metastore.hold_history``.
    """
    require_open(connection, txn_id)
    table_id = catalog.table_id(connection, database, table)
    connection.execute(
        "INSERT INTO history_readers (txn_id, table_id, write_id) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (txn_id, table_id) DO UPDATE SET write_id = min(write_id, ?3)",
        (txn_id, table_id, version.complete_up_to),
    )
    if tags.is_kept(connection, table_id, version, now):
        return {}
    is_recorded = connection.execute(
        "SELECT cleaning_is_recorded FROM tables WHERE table_id = ?", (table_id,)
    ).fetchone()[0]
    if not is_recorded:
        return None
    rows = connection.execute(
        "SELECT partition_name, write_id FROM cleaned_history WHERE table_id = ?", (table_id,)
    )
    return {row[0] or None: row[1] for row in rows}


def start_removal(
    connection: sqlite3.Connection,
    database: str,
    table: str,
    partition: str | None,
    write_id: int,
    considered: Collection[int],
    now: float,
) -> bool:
    """Record that a cleaner is about to remove directories (``Metastore.start_removal``)."""
    table_id = catalog.table_id(connection, database, table)
    reader = connection.execute(
        "SELECT 1 FROM history_readers JOIN txns USING (txn_id)"
        " WHERE table_id = ? AND write_id < ? AND state = ? LIMIT 1",
        (table_id, write_id, TxnState.OPEN.value),
    ).fetchone()
    if reader is not None or tags.is_unconsidered(connection, table_id, considered, now):
        return False
    connection.execute(
        "INSERT INTO cleaned_history (table_id, partition_name, write_id) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (table_id, partition_name) DO UPDATE SET write_id = max(write_id, ?3)",
        (table_id, partition_name(partition) or _WHOLE_TABLE, write_id),
    )
    return True


def oldest_complete(
    connection: sqlite3.Connection, database: str, table: str, write_id: int
) -> int | None:
    """Return the oldest version that contains all committed write ids up to ``write_id``.

    See ``Metastore.oldest_version``.
    """
    writes = _Writes.of(connection, database, table)
    number = writes.one(
        "SELECT max(commit_number) FROM write_ids WHERE table_id = :table AND write_id <= :v0",
        write_id,
    )
    return write_id if number is None else _first_from(writes, number)
