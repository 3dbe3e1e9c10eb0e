"""Versions at a time, from the files of a table, for a metastore that records no times."""

from __future__ import annotations

import time

from acidsql.metastore.history import COMPACT
from acidsql.metastore.model import Table, TxnState
from acidsql.metastore.moments import Moment, TimeMoment, WriteIdMoment, microseconds
from acidsql.metastore.version_failures import history_not_available, version_not_found
from acidsql.scan.file_history import history_of_files
from acidsql.scan.history_reader import HistoryReader


def write_id_at(reader: HistoryReader, table: Table, moment: TimeMoment) -> int:
    """Return the newest write id whose files were last changed before a moment.

    The last change of a file is shortly before the commit, by the clock of the file system.

    Returns:
        The write id, or 0 if all write ids are later.

    Raises:
        AcidAnalysisError: VERSION_NOT_FOUND, the moment is in the future, or before the table was
            created; HISTORY_NOT_AVAILABLE, a compaction has merged files that would show the time.
    """
    name = table.full_name
    newest = reader.metastore.next_write_id(table.database, table.name) - 1
    if moment.seconds > time.time():
        raise version_not_found(name, moment, "it is in the future", newest)
    if moment.seconds < table.created:
        raise version_not_found(name, moment, "the table was created later", newest)
    entries = history_of_files(reader, table, below=None, most=None)
    written = [
        (e.write_id, e.ended)
        for e in entries
        if e.operation != COMPACT and e.state is TxnState.COMMITTED and e.ended is not None
    ]
    at = moment.microseconds
    newest_then = max((w for w, ended in written if microseconds(ended) <= at), default=0)
    first_later = min((w for w, _ in written if w > newest_then), default=newest + 1)
    for entry in entries:
        lowest, end = max(entry.first_write_id, newest_then + 1), entry.write_id + 1
        merged = range(lowest, min(end, first_later))
        if entry.operation == COMPACT and merged:
            why = f"a compaction has merged the files of write ids {merged[0]} to {merged[-1]}"
            raise history_not_available(
                name, moment, f"{why}, which showed their times", merged[-1]
            )
    return newest_then


def version_by_files(reader: HistoryReader, table: Table, moment: Moment) -> Moment:
    """Resolve a time to a version by the times of files if the metastore records no times.

    Other moments are returned unchanged.
    """
    if not isinstance(moment, TimeMoment) or reader.metastore.capabilities.keeps_history:
        return moment
    return WriteIdMoment(write_id=write_id_at(reader, table, moment))
