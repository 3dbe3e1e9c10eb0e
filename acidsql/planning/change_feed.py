"""Plans of the changes of tables that a statement reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from acidsql import bridge
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Table
from acidsql.metastore.moments import ChangeRange, Moment
from acidsql.scan.change_form import COMMIT_TIMESTAMP, ChangeForm
from acidsql.scan.change_lists import ChangeLists
from acidsql.scan.change_plan import change_plan
from acidsql.scan.record import ScanRecord
from acidsql.scan.required_rows import RequiredRows
from acidsql.session.acid_session import AcidSession
from acidsql.storage.listings import Listings


class StatementChanges:
    """Changes of tables that one statement reads; each table's lists are looked up once.

    Args:
        session: the session.
        txns: transactions that are visible.
        own_txns: transactions of the statement, whose writes are not committed yet.
        listings: directories that the statement has listed.
    """

    def __init__(
        self, session: AcidSession, txns: ValidTxnList, own_txns: frozenset[int], listings: Listings
    ) -> None:
        self._session = session
        self._growing: dict[str, Table] = {}
        self._lists = ChangeLists(reader=session, txns=txns, own_txns=own_txns, listings=listings)

    @property
    def ends(self) -> Mapping[tuple[str, Moment | None, bool], ValidWriteIdList]:
        """Write ids that are visible at the end of the changes, see ``ChangeLists``."""
        return self._lists.ends

    def growing(self) -> list[tuple[Table, ValidWriteIdList]]:
        """Return the tables whose changes are read up to now, each with its visible write ids.

        Every later commit adds changes to these tables.
        """
        return [(table, self.ends[name, None, True]) for name, table in self._growing.items()]

    def plan(
        self,
        table: Table,
        wanted: ChangeRange,
        required: RequiredRows,
        records: list[ScanRecord],
    ) -> bridge.UnresolvedPlan:
        """Build the plan of a table's changes, and append records of its reads to ``records``.

        Raises:
            AcidAnalysisError: see ``ChangeLists.between``.
        """
        if wanted.last is None:
            self._growing[table.full_name] = table
            wanted = replace(wanted, includes_last=True)  # there is no end to leave out
        changed, snapshots = self._lists.between(table, wanted, required.partitions)
        form = ChangeForm(keys=wanted.keys, net=wanted.net or wanted.first is None)
        with_times = required.columns is None or COMMIT_TIMESTAMP in required.columns
        commits = self._lists.commits(table, changed, with_times=with_times)
        return change_plan(self._session, table, snapshots, required, form, commits, records)
