"""Versions of tables on a Hive Metastore, which does not report the order of commits.

A version therefore contains all write ids up to its own. It is final when all transactions with
these write ids have ended.
"""

from __future__ import annotations

from acidsql.errors import AcidAnalysisError
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.hive import transactions
from acidsql.metastore.hive.server import Server
from acidsql.metastore.moments import (
    BeforeWriteMoment,
    Moment,
    TableVersion,
    TagMoment,
    TimeMoment,
    WriteIdMoment,
)
from acidsql.metastore.tags import tags_unsupported
from acidsql.metastore.version_failures import version_not_found


def find(server: Server, database: str, table: str, moment: Moment) -> TableVersion:
    """Find the version of a table (``Metastore.find_version``)."""
    if isinstance(moment, TagMoment):
        raise tags_unsupported(f"{database}.{table}")
    if not isinstance(moment, WriteIdMoment | BeforeWriteMoment):
        unreported = "times" if isinstance(moment, TimeMoment) else "the order"
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TIME_TRAVEL",
            f"{database}.{table} cannot be read as of {moment}, because a Hive Metastore does not "
            f"report {unreported} of commits: name a version, which is a write id",
        )
    txns = transactions.valid_txns(server, None)
    seen = transactions.valid_write_ids(server, database, table, txns)
    return version_of(seen, moment)


def version_of(seen: ValidWriteIdList, moment: WriteIdMoment | BeforeWriteMoment) -> TableVersion:
    """Return the version of a write id, or the version before; no lower write id may be open.

    Args:
        seen: write ids of the table that are visible now.
        moment: the version.

    Raises:
        AcidAnalysisError: VERSION_NOT_FOUND.
    """
    write_id, newest = moment.write_id, seen.high_water_mark
    is_open = sorted(w for w in seen.open if w <= write_id)
    is_before = isinstance(moment, BeforeWriteMoment)
    if is_before and write_id == 0:
        why = "write ids begin with 1"
    elif write_id < 0:
        why = "versions are not negative"
    elif write_id > newest:
        why = "it was never written"
    elif seen.is_aborted(write_id):
        why = "it was aborted"
    elif is_open:
        why = "it is not committed yet"
        if is_open[0] < write_id:
            why = (
                f"write id {is_open[0]} below it is still open, and a Hive Metastore does not "
                "report which of two commits was first"
            )
    else:
        highest = write_id - 1 if is_before else write_id
        write_ids = ValidWriteIdList(
            table=seen.table,
            high_water_mark=highest,
            aborted=frozenset(w for w in seen.aborted if w <= highest),
        )
        return TableVersion(write_id=highest, committed=None, write_ids=write_ids)
    raise version_not_found(seen.table, moment, why, newest)
