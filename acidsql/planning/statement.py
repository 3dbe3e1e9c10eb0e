"""Plans in which ACID tables are scans of one snapshot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.insert_only import read
from acidsql.metastore.model import Table, TableType, TxnType
from acidsql.planning.name_resolution import CATALOG, find, names_temp_view
from acidsql.planning.placeholder_relations import placeholder
from acidsql.planning.pruning import EVERYTHING, Needs, Wanted, find_needs, placeholder_schema
from acidsql.scan.directories import is_larger
from acidsql.scan.plan import scan
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.storage.listings import Listings

_MICROSECONDS = 1_000_000
# A table that is no larger is scanned in less time than it takes to plan a statement twice.
_SMALL_BYTES = 4 * 1024 * 1024
# A larger table is not read twice in order to read fewer partitions of another one.
_LOOKED_UP_BYTES = 32 * 1024 * 1024
# Property of a view: the database in which the names of its text are looked up.
VIEW_DATABASE = "view.database"
# Property of a temporary view: the temporary views that its text names, a JSON list. Other names in
# the text of a view mean no temporary view, as in Spark, also if there is one by now.
VIEW_TEMPORARY = "view.temporary"


@dataclass(slots=True, kw_only=True)
class StatementSnapshot:
    """What all tables of one statement share: a snapshot of the transactions, and the listings.

    Attributes:
        expires: microseconds since 1970 after which the statement's plan refuses to run, or None.
        views: the views that were read, with all that they read: database (none if temporary) and
            name.
        lists: the write ids and transactions that are seen of a table, by its full name: those of
            the metastore, asked for once, or given from elsewhere.
        placeholders: the tables read so far, if the plan is one of placeholders, else None.
        needs: while a plan is made, what is needed of an occurrence of a table, by its number; all
            of the others.
        scans: the number of occurrences so far in the plan that is made.
        current: the current time, user and database, as all plans of the statement see them.
    """

    session: AcidSession
    txns: ValidTxnList
    listings: Listings
    expires: int | None = None
    snapshots: dict[tuple[str, Wanted | None], TableSnapshot] = field(default_factory=dict)
    views: set[tuple[str, str]] = field(default_factory=set)
    lists: dict[str, tuple[ValidWriteIdList, ValidTxnList]] = field(default_factory=dict)
    placeholders: list[Table] | None = None
    needs: Mapping[int, Needs] = field(default_factory=dict)
    scans: int = 0
    current: bridge.Current = field(init=False)

    def __post_init__(self) -> None:
        self.current = bridge.Current(self.session.spark)

    def snapshot(self, table: Table, wanted: Wanted | None = None) -> TableSnapshot:
        """The table, or the wanted partitions of it, as this statement sees it."""
        key = table.full_name, wanted
        if key not in self.snapshots:
            taken = take_snapshot(
                self.session.files,
                self.session.metastore,
                table,
                self.txns,
                self.listings,
                wanted,
                self.lists.get(table.full_name),
            )
            self.snapshots[key] = taken
            self.lists[table.full_name] = taken.write_ids, taken.txns
        return self.snapshots[key]

    def partitions(self, table: Table) -> list[tuple[str, ...]]:
        """The values of the partitions of a table that this statement looks into."""
        taken = (s for s in self.snapshots.values() if s.table.full_name == table.full_name)
        return sorted({partition.values for own in taken for partition in own.partitions})

    def relation(self, table: Table, alias: str | None = None) -> bridge.JavaObject:
        """A new plan of a table or view, under its own name or alias, with ``row__id`` hidden."""
        spark = self.session.spark
        name: tuple[str, ...] = (CATALOG, table.database, table.name)
        if alias is not None or not table.database:
            name = (alias or table.name,)
        if table.table_type is TableType.VIEW:
            return bridge.hide_columns(bridge.Draft.of(self._view(table)), 0, name)
        hidden = 0 if table.insert_only else 1
        if self.placeholders is not None:
            rows = placeholder(
                spark,
                placeholder_schema(spark, table),
                partition_schema(spark, table),
                len(self.placeholders),
            )
            self.placeholders.append(table)
            return bridge.hide_columns(rows, hidden, name)
        needs = self.needs.get(self.scans, EVERYTHING)
        self.scans += 1
        rows = self._rows(table, needs)
        if self.expires is not None:
            rows = rows.where(_not_expired(self.expires))
        return bridge.hide_columns(rows, hidden, name)

    def _rows(self, table: Table, needs: Needs) -> bridge.Draft:
        snapshot = self.snapshot(table, needs.partitions)
        if table.insert_only:
            return bridge.Draft.of(read.rows(self.session, snapshot))
        return scan(self.session, snapshot, needs)

    def _looked_up(self, table: Table, needs: Needs) -> bridge.Draft | None:
        """The rows of a table that are needed to tell which partitions of others a statement needs,
        if it is small or only its partition columns are asked.
        """
        snapshot = self.snapshot(table, needs.partitions)
        if not needs.once and is_larger(snapshot, _LOOKED_UP_BYTES):
            return None
        return self._rows(table, needs)

    def _view(self, view: Table) -> DataFrame:
        self.views.add((view.database, view.name.lower()))
        temporary = json.loads(view.properties.get(VIEW_TEMPORARY, "[]"))
        with _current_database(self.session, view.properties[VIEW_DATABASE]):
            found = look_up(self.session, str(view.view_text), temporary)
            frame = bridge.frame_of(self.session.spark, self.plan_of(found))
        return frame.toDF(*[c.name for c in view.columns]) if view.columns else frame

    def plan(
        self,
        statement: str | Found,
        made: Callable[[bridge.JavaObject], bridge.JavaObject] = lambda plan: plan,
    ) -> bridge.JavaObject:
        """Spark's plan of a statement, not analysed yet, with every ACID table replaced by a scan
        of the partitions and rows that the statement needs.

        Args:
            statement: its text, or what was looked up of it.
            made: makes of such a plan the one whose filters say what is needed.
        """
        found = look_up(self.session, statement) if isinstance(statement, str) else statement
        if any(map(self._is_worth_a_search, found.tables.values())):
            placeholders: list[Table] = []
            plan = made(replace(self, placeholders=placeholders, views=set()).plan_of(found))
            self.needs = find_needs(self.session, plan, placeholders, self.current, self._looked_up)
        self.scans = 0
        try:
            return self.plan_of(found)
        finally:
            self.needs = {}

    def run(self, statement: str | Found) -> DataFrame:
        """The DataFrame of a statement of Spark's; runs it if it is a command."""
        plan = self.current.resolve(self.plan(statement))
        return bridge.frame_of(self.session.spark, plan)

    def at_once(self, frame: DataFrame) -> DataFrame:
        """A DataFrame that was made of the plan of a statement, with this statement's current time,
        user and database.
        """
        analyzed = bridge.logical_plan(frame)
        fixed = self.current.put_into(analyzed)
        return frame if fixed is analyzed else bridge.frame_of(self.session.spark, fixed)

    def _is_worth_a_search(self, table: Table) -> bool:
        """Whether to find out what a statement needs of a table before it is scanned."""
        if table.partition_columns or table.view_text is not None:
            return True
        if table.insert_only:
            return False  # Spark itself pushes conditions down to its files
        return is_larger(self.snapshot(table), _SMALL_BYTES)

    def plan_of(self, found: Found) -> bridge.JavaObject:
        """The plan of a statement whose references were looked up, over the wanted partitions."""
        spark = self.session.spark
        ours = [r for r in found.references if r.parts in found.tables]
        text, renamed = _rename_repeated(found.text, ours)
        if renamed:
            tables: dict[tuple[str, ...], Table] = {
                (name,): found.tables[parts] for name, parts in renamed.items()
            }
            parsed = _parsed(self.session, text)
            found = replace(
                found,
                text=text,
                plan=parsed.plan,
                references=parsed.references,
                tables={**found.tables, **tables},
            )
        relations = [
            (r.node, self.relation(found.tables[r.parts], r.alias))
            for r in found.references
            if r.parts in found.tables
        ]
        for r in found.references:
            if r.parts not in found.tables and self._is_hidden(found, r):
                name = (CATALOG, spark.catalog.currentDatabase(), *r.parts)
                relations.append((r.node, bridge.renamed_reference(spark, r, name)))
        return bridge.replace_relations(spark, found.plan, relations)

    def _is_hidden(self, found: Found, reference: bridge.Reference) -> bool:
        """Whether Spark would take a table of its own for a temporary view of the same name."""
        if found.temporary is None or not names_temp_view(self.session, reference.parts):
            return False
        return not names_temp_view(self.session, reference.parts, found.temporary)


def latest_snapshot(session: AcidSession) -> StatementSnapshot:
    """What a statement sees that needs no lease, because its plan is not kept."""
    txns = session.metastore.valid_txns()
    return StatementSnapshot(session=session, txns=txns, listings=Listings(session.files, None))


@contextmanager
def leased_snapshot(session: AcidSession) -> Iterator[StatementSnapshot]:
    """What a query sees; the files stay for as long as a DataFrame made in the
    block can be reached.
    """
    session.leases.prune()
    txn_id = session.metastore.open_txn(session.user, session.host, TxnType.READ_ONLY)
    listings = Listings(session.files, txn_id)
    lease = session.leases.begin(txn_id, listings.delete_copies)
    try:
        yield StatementSnapshot(
            session=session,
            txns=session.metastore.valid_txns(txn_id),
            listings=listings,
            expires=int((lease.opened + session.leases.max_age) * _MICROSECONDS),
        )
    finally:
        session.leases.end_statement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A parsed statement, its references, and those of them that are the metastore's.

    ``temporary`` has the temporary views that its names may mean, None all.
    """

    text: str
    plan: bridge.JavaObject
    references: Sequence[bridge.Reference]
    tables: Mapping[tuple[str, ...], Table]
    temporary: Container[str] | None = None


def look_up(session: AcidSession, text: str, temporary: Container[str] | None = None) -> Found:
    """Parse a statement of Spark's, and find the tables and views of the metastore in it."""
    found = _parsed(session, bridge.substitute_variables(session.spark, text))
    names = {r.parts: find(session, r.parts, temporary) for r in found.references}
    tables = {parts: table for parts, table in names.items() if table}
    return replace(found, tables=tables, temporary=temporary)


def _parsed(session: AcidSession, text: str) -> Found:
    plan = bridge.substitute_ctes(session.spark, bridge.parse(session.spark, text))
    references = bridge.references(session.spark, plan)
    return Found(text=text, plan=plan, references=references, tables={})


def refers_to_acid(session: AcidSession, text: str) -> bool:
    """Whether a statement refers to a table or view of the metastore."""
    return bool(look_up(session, text).tables)


def _rename_repeated(
    text: str, references: Sequence[bridge.Reference]
) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Give each occurrence of a name that stands more than once a name of its own.

    Every occurrence needs a scan of its own: a self-join has two filters, and two ``row__id``s. The
    scan's plan is named after the table, so that qualified columns are found all the same.

    Returns:
        The new text, and the old name of every new one.
    """
    counts = Counter(r.parts for r in references)
    places = {
        (r.start, r.end): r.parts
        for r in references
        if counts[r.parts] > 1 and r.start is not None and r.end is not None
    }
    renamed = {}
    for number, ((start, end), parts) in enumerate(sorted(places.items(), reverse=True)):
        name = f"__acidsql_{number}"
        text = f"{text[:start]}{name}{text[end:]}"
        renamed[name] = parts
    return text, renamed


@contextmanager
def _current_database(session: AcidSession, database: str) -> Iterator[None]:
    """Names are looked up in this database."""
    catalog = session.spark.catalog
    before = catalog.currentDatabase()
    if before == database:
        yield
        return
    if session.metastore.served and session.has_database(database):
        mirror_database(session, database)
    catalog.setCurrentDatabase(database)
    try:
        yield
    finally:
        catalog.setCurrentDatabase(before)


def _not_expired(expires: int) -> str:
    """A condition that Spark folds away when it plans a run in time, and fails on when it is late.

    It is folded as a whole, so that a late run fails before it looks for files that are gone;
    ``raise_error`` would be left to the tasks. An impossible conversion is the foldable expression
    whose error shows a text of ours in all Spark versions and settings. The time is a text's, as no
    function that gives it stays in the plan (``Current``).
    """
    message = (
        "[SNAPSHOT_EXPIRED] the snapshot of this DataFrame is older than "
        "spark.acidsql.snapshot.maxAge: run the statement again"
    )
    late = f"unix_micros(CAST('now' AS TIMESTAMP)) > {expires}L"
    return f"IF({late}, to_binary('{message}', 'hex') IS NULL, true)"
