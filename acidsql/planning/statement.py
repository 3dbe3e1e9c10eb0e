"""Plans of statements that read ACID tables through scans of one snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.insert_only import read
from acidsql.limits import limits
from acidsql.metastore.model import Partition, Table, TableType
from acidsql.metastore.moments import Moment
from acidsql.metastore.names import name_of_temporary_table
from acidsql.planning.as_of import StatementVersions
from acidsql.planning.change_feed import StatementChanges
from acidsql.planning.deleted_rows import shows_deleted_rows, with_read_options
from acidsql.planning.name_resolution import CATALOG, names_temp_view
from acidsql.planning.parsed_statement import ParsedStatement, parse_and_resolve
from acidsql.planning.placeholder_relations import Occurrence, PlaceholderPass
from acidsql.planning.pruning import find_required_rows
from acidsql.planning.views import as_declared, make_database_known, qualify_functions
from acidsql.scan.columns import virtual_columns
from acidsql.scan.directories import is_larger
from acidsql.scan.plan import scan
from acidsql.scan.record import ScanRecord
from acidsql.scan.required_rows import ALL_ROWS, PartitionSet, RequiredRows
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.scan.versions import HeldVersion
from acidsql.session.acid_session import AcidSession
from acidsql.session.leases import not_expired
from acidsql.session.metrics import Phase, phase
from acidsql.storage.listings import Listings
from acidsql.transactions.current import current_transaction

# Property of a view: the database where the names in its text are looked up.
VIEW_DATABASE = "view.database"
# Property of a temporary view: a JSON list of the temporary views that its text refers to. As in
# Spark, no other name in the text refers to a temporary view, even to one that is created later.
VIEW_TEMPORARY = "view.temporary"


# Builds the relation of an occurrence of a table.
RelationOf = Callable[[Table, Occurrence], bridge.UnresolvedPlan]


@dataclass(slots=True, kw_only=True)
class StatementSnapshot:
    """Snapshot of the transactions for one statement, with the data that it has read.

    Attributes:
        session: the session.
        txns: transactions that are visible.
        listings: directories that were listed.
        finds_rows: whether the required rows of tables without partitions are found too.
        expires: microseconds since 1970 after which the statement's plan refuses to run, or None.
        snapshots: snapshots of the tables that were read, by full name, moment whose version is
            read and required partitions.
        scans: records of all scans that were built, including scans for pruning.
        views: database and name of the views that were read, directly or through other views; the
            database of a temporary view is empty.
        lists: visible write ids and transactions of the tables that are read as of now, by a
            table's full name. They are fetched from the metastore once, or set by the caller.
        repeatable: whether all statements of a transaction see ``txns``, even if compactions have
            been cleaned since.
        added: partitions that the transaction has created, by a table's full name and their values;
            the metastore may not know them yet.
        uncommitted: full names of the tables that the transaction has written. Plans over these
            tables read all results from files, so that they fail after a rollback.
        changed: full names of the tables that the statement changes. The statement reads no deleted
            rows of these tables, unless its text requests them.
        current: the current time, user and database for all plans of the statement.
        versions: old versions that are read.
        changes: changes of tables that are read.
    """

    session: AcidSession
    txns: ValidTxnList
    listings: Listings
    finds_rows: bool = False
    expires: int | None = None
    snapshots: dict[tuple[str, Moment | None, PartitionSet | None], TableSnapshot] = field(
        default_factory=dict
    )
    scans: list[ScanRecord] = field(default_factory=list)
    views: set[tuple[str, str]] = field(default_factory=set)
    lists: dict[str, tuple[ValidWriteIdList, ValidTxnList]] = field(default_factory=dict)
    repeatable: bool = False
    added: Mapping[str, Mapping[tuple[str, ...], Partition]] = field(default_factory=dict)
    uncommitted: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    current: bridge.CurrentValues = field(init=False)
    versions: StatementVersions = field(init=False)
    changes: StatementChanges = field(init=False)

    def __post_init__(self) -> None:
        self.current = bridge.CurrentValues(self.session.spark)
        self.versions = StatementVersions(self.session, self.current)
        several = current_transaction(self.session)
        txn_ids = {self.listings.txn_id, several.txn_id if several else None}
        self.changes = StatementChanges(
            session=self.session,
            txns=self.txns,
            own_txns=frozenset(txn_id for txn_id in txn_ids if txn_id is not None),
            listings=self.listings,
        )

    def snapshot(self, table: Table, wanted: PartitionSet | None = None) -> TableSnapshot:
        """Return the snapshot of a table, or of its partitions in ``wanted``.

        Each snapshot is taken once.
        """
        key = table.full_name, table.as_of, wanted
        if key not in self.snapshots:
            is_now = table.as_of is None
            with phase(Phase.SNAPSHOT):
                taken = take_snapshot(
                    self.session.files,
                    self.session.metastore,
                    table,
                    self.txns,
                    self.listings,
                    wanted,
                    self._lists(table),
                    self.added.get(table.full_name, {}) if is_now else {},
                )
            self.snapshots[key] = taken
            if is_now:
                self.lists[table.full_name] = taken.write_ids, taken.txns
        taken = self.snapshots[key]
        # The statement may be about to change the columns of the table.
        return taken if taken.table == table else replace(taken, table=table)

    def _lists(self, table: Table) -> tuple[ValidWriteIdList, ValidTxnList] | HeldVersion | None:
        """Return the lists that the snapshot of a table must use; None if it can take its own."""
        version = self.versions.held(table, self.listings.txn_id)
        return version or self.lists.get(table.full_name) or self._repeatable_lists(table)

    def _repeatable_lists(self, table: Table) -> tuple[ValidWriteIdList, ValidTxnList] | None:
        """Return the lists of a table for a snapshot that may be old.

        Returns:
            None if ``take_snapshot`` finds the same lists.
        """
        metastore, name = self.session.metastore, (table.database, table.name)
        txn_id = self.listings.txn_id
        if not self.repeatable or txn_id is None or not metastore.capabilities.is_id_authority:
            return None
        compacted = metastore.hold_back_cleaner(txn_id, *name, self.txns)
        return metastore.valid_write_ids(*name, self.txns), compacted

    def partitions(self, table: Table) -> list[tuple[str, ...]]:
        """Return the values of the partitions of a table that this statement has read, sorted."""
        read = table.full_name, table.as_of
        taken = (s for s in self.snapshots.values() if (s.table.full_name, s.table.as_of) == read)
        return sorted({partition.values for s in taken for partition in s.partitions})

    def relation(self, table: Table, partitions: PartitionSet | None = None) -> bridge.LogicalPlan:
        """Build the plan of a view, a table, or some partitions of a table.

        The plan has the name of the table or view, and hides the virtual columns. It contains no
        deleted rows, even if the properties of the table request them.
        """
        table = with_read_options(table, {}, live_only=True)
        if partitions is None:
            return self._relation(table, None, (0,), self._scan_all_rows)
        required = RequiredRows(partitions=partitions)
        return self._relation(table, None, (0,), lambda each, _: self._scan(each, required))

    def _relation(
        self, table: Table, alias: str | None, occurrence: Occurrence, relation_of: RelationOf
    ) -> bridge.LogicalPlan:
        name: tuple[str, ...] = (CATALOG, table.database, table.name)
        alias = alias or name_of_temporary_table(table.name)
        if alias is not None or not table.database:
            name = (alias or table.name,)
        if table.table_type is TableType.VIEW:
            view = self._view_or_cached(table, occurrence, relation_of)
            return bridge.hide_columns(view, 0, name)
        hidden = len(virtual_columns(table))
        return bridge.hide_columns(relation_of(table, occurrence), hidden, name)

    def _scan(self, table: Table, required: RequiredRows) -> bridge.UnresolvedPlan:
        rows = self._rows(table, required)
        if self.expires is None:
            return rows
        in_time = bridge.constant_condition(self.session.spark, not_expired(self.expires))
        return rows.filtered(in_time, is_resolved=True)

    def _scan_all_rows(self, table: Table, _: Occurrence) -> bridge.UnresolvedPlan:
        return self._scan_or_cached(table, ALL_ROWS)

    def _scan_or_cached(self, table: Table, required: RequiredRows) -> bridge.UnresolvedPlan:
        """Build the scan of a table, or return the plan of all its rows that CACHE TABLE keeps."""
        place = table.database, table.name
        if place not in self.session.cached_relations or not self._may_be_cached(table):
            return self._scan(table, required)
        return self.session.cached_relations.plan(
            place, self._key(table), lambda: self._scan(table, ALL_ROWS).frame()
        )

    def _may_be_cached(self, table: Table) -> bool:
        is_now = table.as_of is None and table.changes is None and not shows_deleted_rows(table)
        return is_now and table.full_name not in self.changed | self.uncommitted

    def _key(self, table: Table) -> object:
        """Return a key that is equal in two snapshots only if the table has the same rows there."""
        return table, str(self.snapshot(table).write_ids)

    def _rows(
        self, table: Table, required: RequiredRows, *, for_pruning: bool = False
    ) -> bridge.UnresolvedPlan:
        if table.changes is not None:
            return self.changes.plan(table, table.changes, required, self.scans)
        snapshot = self.snapshot(table, required.partitions)
        is_uncommitted = table.as_of is None and table.full_name in self.uncommitted
        shows_deleted = shows_deleted_rows(table)
        if is_uncommitted or shows_deleted:
            required = replace(required, count_only=False, distinct_partitions_only=False)
        record = ScanRecord(
            snapshot=snapshot,
            required=required,
            for_pruning=for_pruning,
            reads_deletes=is_uncommitted,
            shows_deleted=shows_deleted,
        )
        self.scans.append(record)
        if table.insert_only:
            return bridge.UnresolvedPlan.of(read.rows(self.session, record))
        return scan(self.session, record)

    def _rows_for_pruning(
        self, table: Table, required: RequiredRows
    ) -> bridge.UnresolvedPlan | None:
        """Build the plan of a table's required rows, for a query that prunes another table.

        Returns:
            None if the table is too large to be read twice.
        """
        if table.changes is not None:
            return None
        snapshot = self.snapshot(table, required.partitions)
        if not required.distinct_partitions_only and is_larger(
            snapshot, limits().pruning_table_bytes
        ):
            return None
        return self._rows(table, required, for_pruning=True)

    def _view_or_cached(
        self, view: Table, occurrence: Occurrence, relation_of: RelationOf
    ) -> bridge.UnresolvedPlan:
        """Build the plan of a view, or return the plan that CACHE TABLE keeps."""
        place = view.database, lowered(view.name)
        is_cached = place in self.session.cached_relations
        if not is_cached or isinstance(relation_of, PlaceholderPass):
            return bridge.UnresolvedPlan.of(self._view(view, occurrence, relation_of))
        read: list[Table] = []

        def note(table: Table, inner: Occurrence) -> bridge.UnresolvedPlan:
            read.append(table)
            return self._scan_all_rows(table, inner)

        frame = self._view(view, occurrence, note)
        if not all(map(self._may_be_cached, read)):
            return bridge.UnresolvedPlan.of(frame)
        key = view, tuple(self._key(table) for table in read)
        return self.session.cached_relations.plan(place, key, lambda: frame)

    def _view(self, view: Table, occurrence: Occurrence, relation_of: RelationOf) -> DataFrame:
        self.views.add((view.database, lowered(view.name)))
        temporary = json.loads(view.properties.get(VIEW_TEMPORARY, "[]"))
        database = view.properties[VIEW_DATABASE]
        make_database_known(self.session, database)
        text = qualify_functions(self.session, str(view.view_text), database)
        parsed = parse_and_resolve(self.session, text, temporary, database)
        frame = bridge.frame_of(self.session.spark, self.plan_over(parsed, relation_of, occurrence))
        return as_declared(frame, view.columns)

    def plan(self, statement: str | ParsedStatement) -> bridge.LogicalPlan:
        """Build Spark's unanalysed plan of a statement over scans of the required rows.

        A statement with a partitioned table is planned twice. The first plan is over placeholders.
        Once optimised, it shows which rows of each table are required. The second plan is over
        scans.

        Args:
            statement: the text, or the parsed statement.
        """
        parsed = statement
        if isinstance(parsed, str):
            parsed = parse_and_resolve(self.session, parsed)
        if not self._needs_two_passes(parsed):
            return self.plan_of(parsed)
        placeholders = PlaceholderPass(self.session.spark)
        plan = self.plan_over(parsed, placeholders)
        required = self._required(plan, placeholders.tables)

        def scan_required(table: Table, occurrence: Occurrence) -> bridge.UnresolvedPlan:
            return self._scan_or_cached(table, required.get(occurrence, ALL_ROWS))

        return self.plan_over(parsed, scan_required)

    def required_scans(
        self,
        parsed: ParsedStatement,
        placeholders: Mapping[Occurrence, Table],
        over_placeholders: Callable[[], bridge.LogicalPlan],
        *,
        whole_rows: bool,
    ) -> dict[Occurrence, bridge.LogicalPlan]:
        """Build the analysed scans of the rows that a statement requires of its tables.

        Args:
            parsed: the statement.
            placeholders: table of each placeholder.
            over_placeholders: builds the plan over placeholders whose required rows are found. For
                a MERGE, for example, this is the join.
            whole_rows: whether the statement uses more columns than that plan.
        """
        required: Mapping[Occurrence, RequiredRows] = {}
        if self._needs_two_passes(parsed):
            required = self._required(over_placeholders(), placeholders)
        scans = {}
        for occurrence, table in placeholders.items():
            rows = required.get(occurrence, ALL_ROWS)
            rows = replace(rows, columns=None) if whole_rows else rows
            scans[occurrence] = self._scan(table, rows).analyzed()
        return scans

    def _needs_two_passes(self, parsed: ParsedStatement) -> bool:
        return any(map(self._is_worth_two_passes, self._tables(parsed).values()))

    def _required(
        self, plan: bridge.LogicalPlan, tables: Mapping[Occurrence, Table]
    ) -> dict[Occurrence, RequiredRows]:
        """Find the rows that a plan requires of each placeholder."""
        return find_required_rows(
            self.session, plan, tables, self.current, self._rows_for_pruning, self.added
        )

    def run(self, statement: str | ParsedStatement) -> DataFrame:
        """Build the DataFrame of a statement that Spark executes; a command runs immediately."""
        with phase(Phase.PLAN):
            return bridge.frame_of(self.session.spark, self.resolved(statement))

    def resolved(self, statement: str | ParsedStatement) -> bridge.LogicalPlan:
        """Build the plan of a statement that Spark executes."""
        return self.current.resolve(self.plan(statement))

    def at_once(self, frame: DataFrame) -> DataFrame:
        """Put this statement's current time, user and database into the plan of a DataFrame."""
        analyzed = bridge.logical_plan(frame)
        fixed = self.current.put_into(analyzed)
        return frame if fixed is analyzed else bridge.frame_of(self.session.spark, fixed)

    def _is_worth_two_passes(self, table: Table) -> bool:
        """Return whether a statement over this table is planned over placeholders first."""
        if table.partition_columns or table.view_text is not None or table.changes is not None:
            return True
        return self.finds_rows and not table.insert_only

    def plan_of(self, parsed: ParsedStatement) -> bridge.LogicalPlan:
        """Build the plan of a statement over scans of all rows."""
        return self.plan_over(parsed, self._scan_all_rows)

    def plan_over(
        self, parsed: ParsedStatement, relation_of: RelationOf, within: Occurrence = ()
    ) -> bridge.LogicalPlan:
        """Replace a statement's references to tables of the metastore by relations.

        Args:
            relation_of: builds the relation of an occurrence of a table.
            within: occurrence of the view if the statement is a view's text, otherwise ().
        """
        spark = self.session.spark
        relations = []
        tables = self._tables(parsed)
        made: dict[tuple[int | None, tuple[str, ...]], bridge.LogicalPlan] = {}
        for position, r in enumerate(parsed.references):
            place = r.start, r.parts
            if r.start is not None and place in made:
                # A common table expression that is used twice is in the plan twice.
                relations.append((r.node, made[place]))
            elif position in tables:
                occurrence = (*within, position)
                table = tables[position]
                live_only = table.full_name in self.changed
                table = with_read_options(table, r.options, live_only=live_only)
                made[place] = self._relation(table, r.alias, occurrence, relation_of)
                relations.append((r.node, made[place]))
            elif self._is_of_database(parsed, r):
                name = (CATALOG, str(parsed.database), *r.parts)
                relations.append((r.node, bridge.renamed_reference(spark, r, name)))
        return bridge.replace_relations(spark, parsed.plan, relations)

    def _tables(self, parsed: ParsedStatement) -> dict[int, Table]:
        """Return the tables and views of a statement, by the positions of the references.

        Each table has the moment whose version is read.
        """
        return {
            position: self.versions.resolve(
                parsed.target if position == 0 and parsed.target else parsed.tables[r.parts], r
            )
            for position, r in enumerate(parsed.references)
            if r.parts in parsed.tables
        }

    def _is_of_database(self, parsed: ParsedStatement, reference: bridge.Reference) -> bool:
        """Return whether a name in a view must be looked up in the view's database.

        Spark would look it up in the session's current database, or find a temporary view that the
        view must not see. acidsql does not change the current database instead, because all
        threads of a session share it.
        """
        is_simple = parsed.database is not None and len(reference.parts) == 1
        return is_simple and not names_temp_view(self.session, reference.parts, parsed.temporary)
