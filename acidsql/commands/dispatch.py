"""Dispatch of a statement to its command, or to Spark if it is not acidsql's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import (
    alter_table,
    analyze,
    compact,
    convert_to_acid,
    create,
    databases_and_views,
    describe,
    events,
    insert,
    load,
    multi_insert,
    repair,
    result,
    row_level,
    show,
    show_transactions,
    truncate,
)
from acidsql.commands.protect_acid_tables import refuse_damage, refuse_location
from acidsql.errors import AcidAnalysisError
from acidsql.insert_only.write import refuse_row_changes
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import (
    acid_table,
    already_exists,
    find,
    find_acid_table,
    in_metastore,
)
from acidsql.planning.statement import (
    StatementSnapshot,
    leased_snapshot,
    parse_and_resolve,
    refers_to_acid,
)
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.syntax import alter_statements, parse
from acidsql.syntax import statements as ast
from acidsql.syntax.nodes import Name


def run(
    session: AcidSession, text: str, on_spark: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Run one statement.

    Args:
        on_spark: runs the statement if it has no ACID tables in it; by default Spark does.
    """
    statement = parse(text)
    command = _COMMANDS.get(type(statement))
    answer = command(session, statement) if command else None
    return run_on_spark(session, text, on_spark) if answer is None else answer


def run_on_spark(
    session: AcidSession, text: str, on_spark: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Run a statement in Spark, with scans of one snapshot in place of its ACID tables."""
    found = parse_and_resolve(session, text)
    refuse_damage(session, found.plan)
    created = bridge.created_table(found.plan)
    if created is not None and in_metastore(session, created[0]):
        if not created[1]:
            raise already_exists(created[0])
        return result.nothing(session.spark)
    if not found.tables:
        return _unchanged_on_spark(session, on_spark or (lambda: session.spark.sql(text)))
    with leased_snapshot(session) as snapshot:
        return snapshot.run(found)


def _unchanged_on_spark(session: AcidSession, run_it: Callable[[], DataFrame]) -> DataFrame:
    """Run a statement in Spark as it is.

    If Spark does not know its database and the metastore does, make it known to Spark and run
    again.
    """
    try:
        return run_it()
    except AnalysisException as error:
        name = _missing_schema(error)
        is_shared = session.metastore.capabilities.has_other_clients
        if name is None or not is_shared or not session.has_database(name):
            raise
    mirror_database(session, name)
    return run_it()


def _missing_schema(error: AnalysisException) -> str | None:
    """Return the database that Spark did not find, or None if the error is another one."""
    # PySpark 3.5 returns a Java map, whose get has no default.
    schema = (error.getMessageParameters() or {}).get("schemaName") or ""
    parts = re.findall(r"`([^`]+)`", schema)
    return parts[-1] if parts and "SCHEMA_NOT_FOUND" in str(error) else None


def _explain(session: AcidSession, statement: ast.Explain) -> DataFrame | None:
    """Run EXPLAIN; of a statement that writes, explain the plan of its events."""
    explained = statement.statement.of(statement.text)
    inner = parse(explained)
    table = None
    if isinstance(inner, ast.Update | ast.Delete | ast.Merge | ast.Insert):
        table = find_acid_table(session, inner.name)
    if table is None and not refers_to_acid(session, explained):
        return None
    with leased_snapshot(session) as snapshot:
        if table is None:
            frame = snapshot.run(explained)
        else:
            frame = _planned_events(events.write_schema_of(session, table), inner, snapshot)
        plan = bridge.explain(frame, statement.mode)
    return result.table(session.spark, [("plan", "STRING")], [(plan,)])


def _planned_events(
    shape: events.WriteSchema, statement: ast.Statement | None, snapshot: StatementSnapshot
) -> DataFrame:
    if isinstance(statement, ast.Insert):
        return insert.query(shape.session, shape, snapshot, statement)
    text = statement.text if statement else ""
    if isinstance(statement, ast.Update):
        return row_level.planned(row_level.update_events, shape, snapshot, text)
    if isinstance(statement, ast.Delete):
        return row_level.planned(row_level.delete_events, shape, snapshot, text)
    return row_level.merge_events(shape, row_level.merge_pieces(shape, snapshot, text))


def _target(session: AcidSession, name: Name) -> Table | None:
    """Return the transactional table that a statement writes, or None if the table is Spark's."""
    table = find(session, name)
    if table is not None and table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW", f"{'.'.join(name)} is a view: name the table to write to"
        )
    return table


def _update(session: AcidSession, statement: ast.Update) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is not None:
        refuse_row_changes(table, "UPDATE")
    return row_level.update(session, table, statement.text) if table else None


def _delete(session: AcidSession, statement: ast.Delete) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is not None:
        refuse_row_changes(table, "DELETE")
    return row_level.delete(session, table, statement.text) if table else None


def _merge(session: AcidSession, statement: ast.Merge) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is not None:
        refuse_row_changes(table, "MERGE")
    if table and statement.schema_evolution:
        raise _unsupported(table, "MERGE WITH SCHEMA EVOLUTION", "leave WITH SCHEMA EVOLUTION out")
    return row_level.merge(session, table, statement.text) if table else None


def _insert(session: AcidSession, statement: ast.Insert) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is None:
        return None
    for clause in statement.unsupported:
        raise _unsupported(table, f"INSERT … {clause}", "use DELETE and INSERT INTO")
    return insert.insert(session, table, statement)


def _truncate(session: AcidSession, statement: ast.Truncate) -> DataFrame | None:
    table = _target(session, statement.name)
    return truncate.truncate(session, table, statement) if table else None


def _alter_table(session: AcidSession, statement: alter_statements.Alteration) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is None:
        if isinstance(statement, alter_statements.SetProperties):
            return convert_to_acid.convert(session, statement)
        return None
    return alter_table.alter_table(session, table, statement)


def _repair(session: AcidSession, statement: ast.MsckRepair) -> DataFrame | None:
    table = _target(session, statement.name)
    return repair.repair(session, table, statement) if table else None


def _load(session: AcidSession, statement: ast.LoadData) -> DataFrame | None:
    table = _target(session, statement.name)
    if table is None:
        refuse_location(session, statement.inpath)
        return None
    return load.load(session, table, statement)


def _multi_insert(session: AcidSession, statement: ast.MultiInsert) -> DataFrame | None:
    tables = {".".join(b.name): _target(session, b.name) for b in statement.branches}
    if not any(tables.values()):
        return None
    multi_insert.check_targets(tables, directories=statement.directories)
    branches = []
    for branch in statement.branches:
        table = tables[".".join(branch.name)]
        insert_one = parse(statement.insert(branch))
        if table is None or not isinstance(insert_one, ast.Insert):
            return None  # Spark raises the error
        branches.append((table, insert_one))
    return multi_insert.multi_insert(session, branches)


def _compact(session: AcidSession, statement: ast.Compact) -> DataFrame | None:
    return compact.compact(session, acid_table(session, statement.name), statement)


def _cache(session: AcidSession, statement: ast.CacheTable) -> DataFrame | None:
    table = find_acid_table(session, statement.name)
    query = statement.query.of(statement.text) if statement.query else None
    if table is not None or (query is not None and refers_to_acid(session, query)):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CACHE_TABLE",
            "CACHE TABLE over transactional tables is not supported, because later queries would "
            "read the old snapshot: use acidsql.sql(spark, 'SELECT …').cache()",
        )
    return None


def _abort(session: AcidSession, statement: ast.AbortTransactions) -> DataFrame:
    session.metastore.abort_txns(statement.ids)
    return result.nothing(session.spark)


def _unsupported(table: Table, feature: str, instead: str) -> AcidAnalysisError:
    condition = "UNSUPPORTED_FEATURE." + "_".join(w for w in feature.split() if w.isalpha())
    return AcidAnalysisError(
        condition,
        f"{feature} is not supported on the transactional table {table.full_name}: {instead}",
    )


_COMMANDS: Mapping[type, Callable[[AcidSession, Any], DataFrame | None]] = {
    ast.AbortTransactions: _abort,
    **dict.fromkeys(get_args(alter_statements.Alteration), _alter_table),
    ast.AnalyzeTable: analyze.analyze_table,
    ast.AnalyzeTables: analyze.analyze_tables,
    ast.CacheTable: _cache,
    ast.Compact: _compact,
    ast.CreateDatabase: databases_and_views.create_database,
    ast.CreateTable: create.create_table,
    ast.CreateView: databases_and_views.create_view,
    ast.Delete: _delete,
    ast.Describe: describe.describe,
    ast.DropDatabase: databases_and_views.drop_database,
    ast.DropTable: create.drop_table,
    ast.DropView: databases_and_views.drop_view,
    ast.Explain: _explain,
    ast.Insert: _insert,
    ast.LoadData: _load,
    ast.Merge: _merge,
    ast.MsckRepair: _repair,
    ast.MultiInsert: _multi_insert,
    ast.RefreshTable: lambda session, statement: (
        result.nothing(session.spark) if find_acid_table(session, statement.name) else None
    ),
    ast.ShowColumns: show.show_columns,
    ast.ShowCompactions: show_transactions.show_compactions,
    ast.ShowCreateTable: show.show_create_table,
    ast.ShowLocks: show_transactions.show_locks,
    ast.ShowPartitions: show.show_partitions,
    ast.ShowDatabases: show.show_databases,
    ast.ShowTables: show.show_tables,
    ast.ShowTblProperties: show.show_tbl_properties,
    ast.ShowTransactions: lambda session, _: show_transactions.show_transactions(session),
    ast.Truncate: _truncate,
    ast.Update: _update,
    ast.Use: databases_and_views.use,
}
